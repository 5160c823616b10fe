//! A symbol that a memory names, that the project defined, and has no longer. Reported as `dead-path`,
//! with the commit that removed the definition.
//!
//! Only what stands in code is a name, and only a definition that git shows as removed proves it.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;
use std::sync::{Arc, LazyLock};

use jiff::civil::Date;
use regex::Regex;

use super::document::Document;
use super::git::ProjectHistory;
use super::supersession::{renamings, written};
use super::{Collection, CuratedStore};

/// A name that the project lost, and where a memory uses it.
pub(super) struct Mention<'a> {
    /// The number of the store.
    pub(super) store: usize,
    pub(super) document: &'a Document,
    pub(super) ranges: Vec<Range<usize>>,
    /// The name, as the memory writes it first, with what it is if it is no path.
    pub(super) name: String,
    /// The path, or the file that had the name.
    pub(super) path: String,
    /// The number of the commit in which it went.
    pub(super) commit: usize,
    /// The path that it has now.
    pub(super) now: Option<String>,
    /// The line that defined the name.
    pub(super) definition: Option<String>,
}

impl<'a> Mention<'a> {
    /// The name as the memory writes it first.
    pub(super) fn written(&self) -> &'a str {
        &self.document.text[self.ranges[0].clone()]
    }
}

/// The uses of names in the memories about a project that it defined and has no longer.
pub(super) fn uses<'a>(
    collection: &'a Collection<'_>,
    project: &Arc<ProjectHistory>,
) -> Vec<Mention<'a>> {
    let is_about = |store: &CuratedStore<'_>| {
        let own = store.project.as_ref();
        own.is_some_and(|own| Arc::ptr_eq(own, project))
    };
    let mut named: BTreeMap<(&str, usize, usize), Vec<Range<usize>>> = BTreeMap::new();
    let stores = collection.stores.iter().enumerate();
    for (number, store) in stores.filter(|(_, store)| is_about(store)) {
        for (at, document) in store.documents.iter().enumerate() {
            for (name, range) in names(document) {
                named.entry((name, number, at)).or_default().push(range);
            }
        }
    }
    // What a memory says about a name is told by `superseded`.
    let stores = collection.stores.iter().filter(|store| is_about(store));
    let stated = stores.flat_map(|store| store.memories().flat_map(renamings));
    let renamed: HashSet<String> = stated.map(|renaming| renaming.old).collect();
    named.retain(|(name, ..), _| !renamed.contains(*name));
    let wanted: BTreeSet<String> = named.keys().map(|(name, ..)| (*name).to_owned()).collect();
    let gone = project.gone_names(&wanted);
    let uses = named.into_iter().filter_map(|((name, store, at), ranges)| {
        let lost = gone.get(name)?;
        let document = &collection.stores[store].documents[at];
        let commit = project.commit_of(lost)?;
        let date: Option<Date> = project.commit(commit).date.parse().ok();
        // A memory that was written after that commit knows of it.
        let is_later = written(document, collection.today)
            .is_some_and(|written| date.is_some_and(|date| written > date));
        (!is_later).then(|| Mention {
            store,
            document,
            ranges,
            name: format!("the name {name}"),
            path: lost.path.clone(),
            commit,
            now: None,
            definition: Some(lost.line.clone()),
        })
    });
    uses.collect()
}

/// A symbol that is alone in a code span: `load_all`, `Store::load_all()`, `loadAll(x)`.
static SYMBOL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"`&?(?:[A-Za-z_]\w*(?:::|\.|#))*([A-Za-z_]\w{4,})(?:\([^`()\n]{0,40}\))?!?`")
        .expect("a valid pattern")
});

/// The symbols in the code of a document, with their ranges.
pub(super) fn names(document: &Document) -> impl Iterator<Item = (&str, Range<usize>)> {
    let found = SYMBOL.captures_iter(&document.text);
    let names = found.filter_map(|parts| parts.get(1));
    let names =
        names.filter(move |name| document.is_code(name.start()) && is_distinct(name.as_str()));
    names.map(|name| (name.as_str(), name.range()))
}

/// Whether a symbol is more than a word: with `_`, or with a capital inside.
fn is_distinct(name: &str) -> bool {
    let inner = name.trim_matches('_');
    let has_hump = inner
        .as_bytes()
        .windows(2)
        .any(|two| two[0].is_ascii_lowercase() && two[1].is_ascii_uppercase());
    inner.len() >= 6 && (inner.contains('_') || has_hump)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::memory::Memory;

    #[test]
    fn names_are_those_in_code_that_may_be_of_the_project() {
        let text = "Run `Store::load_all()`, `loadAll(x)`, `plain`, `APP_HOME`, load_some and `a b_c_d_e`.";
        let document = Document::new(Memory::bare("a.md", 0), text.to_owned());
        let told: Vec<&str> = names(&document).map(|(name, _)| name).collect();
        assert_eq!(told, ["load_all", "loadAll", "APP_HOME"]);
    }
}
