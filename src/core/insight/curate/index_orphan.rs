//! Memories that cannot be reached from the index over links of any number of memories, and that it
//! does not name otherwise: in code, or with a pattern such as `p6-*`…`p16-*`.

use std::collections::{HashSet, VecDeque};

use super::claim::{has_date, is_record_file, is_retired};
use super::document::Document;
use super::fix::Fix;
use super::{Collection, CuratedStore, Evidence, Found, Report, Rule, Severity};
use crate::core::memory::Memory;
use crate::core::memory::layout::index::{
    INDEX, NamedMemories, has_header, is_generated, is_list, missing,
};
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
        if is_generated(&index.text) || store.is_index_remade || is_retired(&index.text) {
            continue;
        }
        let reached = reachable(store, index);
        let paths = store.memories().map(|document| &*document.memory.path);
        let left: Vec<&str> = paths.filter(|path| !reached.contains(path)).collect();
        let named = NamedMemories::of(&index.text, &left);
        let memories: Vec<Memory> = store.memories().map(|one| one.memory.clone()).collect();
        let is_left = |path: &String| !reached.contains(path.as_str()) && !named.has(path);
        // A record of a day or in an archive is found by its name.
        let is_kept_apart = |memory: &Memory| is_record_file(memory) || has_date(&memory.path);
        let orphans = memories.iter().filter(|memory| has_header(memory));
        let orphans = orphans.filter(|memory| !is_kept_apart(memory));
        let orphans: Vec<&String> = orphans
            .map(|memory| &memory.path)
            .filter(|path| is_left(path))
            .collect();
        let unlisted = missing(&index.text, &memories).into_iter();
        let mut told = format!(
            "{} of {} memories are not reached from {INDEX}",
            orphans.len(),
            memories.len()
        );
        match unlisted.filter(|path| !is_left(path)).count() {
            0 => {}
            others => told.push_str(&format!(
                "; {others} more are not in it, but in memories that it leads to"
            )),
        }
        let has_list = is_list(&index.text);
        for path in orphans {
            let fix =
                has_list.then(|| Fix::list(path, format!("adds a line for {path} to the index")));
            let found = Found {
                line: None,
                subject: path.clone(),
                message: format!("neither {INDEX} nor a memory that it leads to links to {path}"),
                evidence: vec![Evidence::words(told.clone())],
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
