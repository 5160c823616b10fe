//! Memories that cannot be reached from the index over links of any number of memories, and that it
//! does not name otherwise: in code, or with a pattern such as `p6-*`…`p16-*`.

use std::collections::{HashMap, HashSet, VecDeque};

use super::document::Document;
use super::fix::Fix;
use super::{Collection, CuratedStore, Evidence, Found, Report, Rule, Severity};
use crate::core::memory::layout::index::{INDEX, has_header, is_generated, is_list, with_line_for};
use crate::core::memory::stem;
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
        if is_generated(&index.text) {
            continue;
        }
        let reached = reachable(store, index);
        let named = NamesInCode::of(&index.text);
        let count = store.memories().count();
        for document in store.memories().filter(|d| has_header(&d.memory)) {
            let path = &document.memory.path;
            let is_named = || index.text.contains(path.as_str()) || named.has(stem(path));
            if reached.contains(path.as_str()) || is_named() {
                continue;
            }
            let fix = is_list(&index.text).then(|| {
                let after = with_line_for(&index.text, &document.memory);
                let words = format!("adds a line for {path} to the index");
                Fix::rewrite(INDEX, (&index.text, &after), words)
            });
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
    let mut by_name: HashMap<&str, &Document> = HashMap::new();
    for document in store.memories() {
        let memory = &document.memory;
        for name in [memory.path.as_str(), &memory.title, stem(&memory.path)] {
            by_name.entry(name).or_insert(document);
        }
    }
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

/// What an index names in code: memories, patterns of their names, and ranges of patterns.
struct NamesInCode<'a> {
    names: Vec<&'a str>,
    /// The first and the last of some patterns with an ellipsis between them.
    ranges: Vec<[&'a str; 2]>,
}

impl<'a> NamesInCode<'a> {
    fn of(text: &'a str) -> Self {
        let parts: Vec<&str> = text.split('`').collect();
        let names = parts.iter().skip(1).step_by(2).copied();
        let is_range = |three: &[&str]| matches!(three[1].trim(), "…" | "..." | ".." | "–" | "to");
        let ranges = parts.windows(3).skip(1).step_by(2);
        Self {
            names: names.collect(),
            ranges: ranges
                .filter(|three| is_range(three))
                .map(|three| [three[0], three[2]])
                .collect(),
        }
    }

    fn has(&self, name: &str) -> bool {
        let is_one = |pattern: &&str| match pattern.split_once('*') {
            Some((start, end)) if !start.is_empty() => {
                name.starts_with(start) && name.ends_with(end.trim_end_matches(".md"))
            }
            _ => *pattern == name,
        };
        let is_between = |[first, last]: &[&str; 2]| {
            let [first, last] = [first, last].map(|pattern| pattern.trim_end_matches(['*', '-']));
            let key = natural(name);
            natural(first) <= key && (key <= natural(last) || name.starts_with(last))
        };
        self.names.iter().any(|pattern| is_one(pattern)) || self.ranges.iter().any(is_between)
    }
}

/// A key by which `p6-x` is before `p16-x`: the letters and the numbers of a name in turn.
fn natural(name: &str) -> Vec<(u64, &str)> {
    let is_digit = |c: char| c.is_ascii_digit();
    let mut rest = name;
    let mut key = Vec::new();
    while !rest.is_empty() {
        let letters = rest.find(is_digit).unwrap_or(rest.len());
        let (word, after) = rest.split_at(letters);
        let digits = after.find(|c| !is_digit(c)).unwrap_or(after.len());
        let (number, after) = after.split_at(digits);
        key.push((0, word));
        if !number.is_empty() {
            key.push((number.parse().unwrap_or(u64::MAX), ""));
        }
        rest = after;
    }
    key
}
