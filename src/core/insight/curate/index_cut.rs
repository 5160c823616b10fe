//! What agents do not read of an index, and files beyond the limit of their agent.

use super::{Collection, CuratedStore, Evidence, Found, Report, Rule, Severity};
use crate::core::memory::layout::index::{
    BUDGET_BYTES, BUDGET_LINES, INDEX, is_read_in_part, lines_seen, unseen,
};
use crate::core::memory::layout::listing::bullets;

pub(super) const RULE: Rule = Rule {
    id: "index-cut",
    severity: Severity::Error,
    about: "a part of an index that the agent does not read, or a file beyond its agent's limit",
    check,
};

fn check(collection: &Collection<'_>, report: &mut Report<'_>) {
    for (number, store) in collection.stores.iter().enumerate() {
        if store.index().is_some() {
            cut(store)
                .into_iter()
                .for_each(|found| report.add(number, INDEX, found));
            continue;
        }
        for limit in store.store.rules().limits(store.store.root()) {
            let Some(document) = store.document(limit.file) else {
                continue;
            };
            let count = match limit.unit {
                "characters" => document.text.trim().chars().count(),
                "bytes" => document.text.trim().len(),
                _ => continue,
            };
            let Some(more @ 1..) = count.checked_sub(limit.most) else {
                continue;
            };
            let counted = format!("{count} {}", limit.unit);
            let found = Found {
                line: None,
                subject: limit.file.to_owned(),
                message: format!(
                    "has {counted}, {more} beyond its agent's limit of {}",
                    limit.most
                ),
                evidence: vec![Evidence::words(counted)],
                fix: None,
            };
            report.add(number, limit.file, found);
        }
    }
}

/// What is not read of the index.
fn cut(store: &CuratedStore<'_>) -> Option<Found> {
    let document = store.index()?;
    let text = &document.text;
    let read = lines_seen(text);
    let rest = text.lines().enumerate().skip(read);
    let mut unread = rest.filter(|(_, line)| !line.trim().is_empty());
    let first = unread.next().map(|(at, _)| at + 1)?;
    if !is_read_in_part(store.store.root().path()) {
        return None;
    }
    let count = 1 + unread.count();
    let mut message = format!(
        "agents read only {BUDGET_LINES} lines and {} KB of {INDEX}; {count} {} from line {first} on {} not read",
        BUDGET_BYTES / 1000,
        if count == 1 { "line" } else { "lines" },
        if count == 1 { "is" } else { "are" },
    );
    let (lost, all) = (unseen(text), bullets(text));
    let bullets = all[all.len() - lost.len()..].iter();
    let mut lines: Vec<usize> = bullets
        .map(|bullet| document.line_at(bullet.line.start))
        .collect();
    match lost.first() {
        Some(name) => message.push_str(&format!(
            "; {} of its {} entries are lost, from {name} on",
            lost.len(),
            all.len()
        )),
        None => lines.push(first),
    }
    let evidence = lines
        .iter()
        .map(|line| Evidence::line(store, document, *line));
    Some(Found {
        line: lines.first().copied(),
        subject: INDEX.to_owned(),
        message,
        evidence: evidence.collect(),
        fix: None,
    })
}
