//! Memories that cannot be reached from the index over links of any number of memories, and that it
//! does not name otherwise: in code, or with a pattern such as `p6-*`…`p16-*`.

use std::collections::{HashSet, VecDeque};

use super::document::Document;
use super::fix::Fix;
use super::{Collection, CuratedStore, Evidence, Found, Report, Rule, Severity};
use crate::core::memory::layout::index::{INDEX, NamedMemories, has_header, is_generated, is_list};
use crate::core::text::link::{LinkSyntax, links, resolve_target};

pub(super) const RULE: Rule = Rule {
    id: "index-orphan",
    severity: Severity::Warning,
    about: "a memory that the index does not lead to",
    check,
};

fn check(collection: &Collection<'_>, report: &mut Report<'_>) {
    for (number, store) in collection.stores.iter().enumerate() {
        let Some(index) = store.index() else {
            continue;
        };
        if is_generated(&index.text) || store.is_index_remade {
            continue;
        }
        let reached = reachable(store, index);
        let paths = store.memories().map(|document| &*document.memory.path);
        let left: Vec<&str> = paths.filter(|path| !reached.contains(path)).collect();
        let named = NamedMemories::of(&index.text, &left);
        let count = store.memories().count();
        let has_list = is_list(&index.text);
        for document in store.memories().filter(|d| has_header(&d.memory)) {
            let path = &document.memory.path;
            if reached.contains(path.as_str()) || named.has(path) {
                continue;
            }
            let fix =
                has_list.then(|| Fix::list(path, format!("adds a line for {path} to the index")));
            let found = Found {
                line: None,
                subject: path.clone(),
                message: format!("neither {INDEX} nor a memory that it leads to links to {path}"),
                evidence: vec![Evidence::words(format!(
                    "{} of {count} memories are reached from {INDEX}",
                    reached.len(),
                ))],
                fix,
            };
            report.add(number, path, found);
        }
    }
}

/// The memories that the index leads to, over the whole graph of links.
fn reachable<'a>(store: &'a CuratedStore<'_>, index: &'a Document) -> HashSet<&'a str> {
    let by_name = store.by_name();
    let mut reached: HashSet<&str> = HashSet::new();
    let mut open: VecDeque<&Document> = VecDeque::from([index]);
    while let Some(document) = open.pop_front() {
        let file = store.store.rules().file_of(&document.memory.path);
        for link in links(&document.text) {
            let name = match link.form {
                LinkSyntax::Wiki => Some(link.target.to_string()),
                LinkSyntax::Inline => resolve_target(&file, &link.target),
            };
            let Some(next) = name.and_then(|name| by_name.get(name.as_str()).copied()) else {
                continue;
            };
            if reached.insert(&next.memory.path) {
                open.push_back(next);
            }
        }
    }
    reached
}
