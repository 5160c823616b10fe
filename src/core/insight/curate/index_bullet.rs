//! Memories that an index lists twice, or with words that disagree with the memory.

use std::collections::HashMap;

use super::fix::Fix;
use super::{Collection, Evidence, Found, Report, Rule, Severity};
use crate::core::memory::layout::index::{INDEX, is_generated};
use crate::core::memory::layout::listing::{Bullet, bullets, whole_item};
use crate::core::text::link::{LinkSyntax, resolve_target};

pub(super) const RULE: Rule = Rule {
    id: "index-bullet",
    severity: Severity::Note,
    about: "a memory that the index lists twice",
    check,
};

fn check(collection: &Collection<'_>, report: &mut Report<'_>) {
    for (number, store) in collection.stores.iter().enumerate() {
        let Some(document) = store.index() else {
            continue;
        };
        let text = &document.text;
        if is_generated(text) {
            continue;
        }
        let all = bullets(text);
        let mut first_of: HashMap<String, &Bullet> = HashMap::new();
        for bullet in &all {
            let file = match bullet.form {
                LinkSyntax::Inline => resolve_target(INDEX, &bullet.target),
                LinkSyntax::Wiki => Some(bullet.target.clone()),
            };
            let Some(file) = file else { continue };
            let Some(first) = first_of.get(&file) else {
                first_of.insert(file, bullet);
                continue;
            };
            let lines = [first, bullet].map(|bullet| document.line_at(bullet.line.start));
            let disagree = first.hook(text).trim() != bullet.hook(text).trim();
            // Which of two different lines is right is a decision of a person.
            let fix = (!disagree).then(|| {
                let edit = (whole_item(text, bullet), String::new());
                let words = format!("removes the second line of {file}");
                Fix::replace(INDEX, vec![edit], words)
            });
            let how = if disagree {
                ", with different words"
            } else {
                ""
            };
            let found = Found {
                line: Some(lines[1]),
                subject: file.clone(),
                message: format!(
                    "the index lists {file} on the lines {} and {}{how}",
                    lines[0], lines[1]
                ),
                evidence: lines
                    .map(|line| Evidence::line(store, document, line))
                    .to_vec(),
                fix,
            };
            report.add(number, INDEX, found);
        }
    }
}
