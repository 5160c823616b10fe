//! A command, script, flag or symbol of the project that a memory names, that the project defined,
//! and has no longer. Reported as `dead-path`, with the commit that removed the definition.
//!
//! Only what stands in code is a name, and only a definition that git shows as removed proves it.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;
use std::sync::{Arc, LazyLock};

use jiff::civil::Date;
use regex::Regex;

use super::dead_path::Mention;
use super::document::Document;
use super::git::ProjectHistory;
use super::git::removed::{NameKind, ProjectName};
use super::supersession::{renamings, written};
use super::{Collection, CuratedStore};

/// The uses of names in the memories about a project that it defined and has no longer.
pub(super) fn uses<'a>(
    collection: &'a Collection<'_>,
    project: &Arc<ProjectHistory>,
) -> Vec<Mention<'a>> {
    let is_about = |store: &CuratedStore<'_>| {
        let own = store.project.as_ref();
        own.is_some_and(|own| Arc::ptr_eq(own, project))
    };
    let mut named: BTreeMap<(ProjectName, usize, usize), Vec<Range<usize>>> = BTreeMap::new();
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
    named.retain(|(name, ..), _| !renamed.contains(&name.text));
    let wanted: BTreeSet<ProjectName> = named.keys().map(|(name, ..)| name.clone()).collect();
    let gone = project.gone_names(&wanted);
    let uses = named.into_iter().filter_map(|((name, store, at), ranges)| {
        let lost = gone.get(&name)?;
        let document = &collection.stores[store].documents[at];
        let commit = project.commit_of(lost)?;
        let date: Option<Date> = project.commit(commit).date.parse().ok();
        // A memory that was written after that commit knows of it.
        let is_later = written(document, collection.today)
            .is_some_and(|written| date.is_some_and(|date| written > date));
        let what = match name.kind {
            NameKind::Symbol => "the name",
            NameKind::Flag => "the flag",
            NameKind::Script => "the script",
            NameKind::Target => "the target",
            NameKind::Recipe => "the recipe",
        };
        (!is_later).then(|| Mention {
            store,
            document,
            ranges,
            name: format!("{what} {}", name.text),
            path: lost.path.clone(),
            commit,
            now: None,
            definition: Some(lost.line.clone()),
        })
    });
    uses.collect()
}

/// A command that runs a script, a target or a recipe.
static COMMAND: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?:^|[\s`;&|(])(?:(?P<npm>(?:npm|bun) run|(?:pnpm|yarn)(?: run)?)|(?P<make>make)|(?P<just>just)) +(?P<name>[A-Za-z][\w:./-]*)",
    )
    .expect("a valid pattern")
});

static FLAG: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?:^|[\s`(\[|])(--[a-z][a-z0-9-]{2,})").expect("a valid pattern")
});

/// A symbol that is alone in a code span: `load_all`, `Store::load_all()`, `loadAll(x)`.
static SYMBOL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"`&?(?:[A-Za-z_]\w*(?:::|\.|#))*([A-Za-z_]\w{4,})(?:\([^`()\n]{0,40}\))?!?`")
        .expect("a valid pattern")
});

/// Programs whose flags are their own.
const OTHERS: [&str; 32] = [
    "git", "gh", "npm", "npx", "pnpm", "yarn", "bun", "cargo", "rustc", "rustup", "go", "python",
    "python3", "pip", "uv", "pytest", "docker", "podman", "kubectl", "helm", "curl", "wget", "ssh",
    "rsync", "node", "deno", "dotnet", "java", "mvn", "gradle", "claude", "codex",
];

/// The names in the code of a document, with their ranges.
pub(super) fn names(document: &Document) -> Vec<(ProjectName, Range<usize>)> {
    let text = &document.text;
    let mut found = Vec::new();
    let mut add = |kind: NameKind, name: regex::Match<'_>| {
        if document.is_code(name.start()) {
            let text = name
                .as_str()
                .trim_end_matches(['.', ':', '/', '-'])
                .to_owned();
            found.push((ProjectName { kind, text }, name.range()));
        }
    };
    let has_command = ["npm", "yarn", "bun", "make", "just"]
        .iter()
        .any(|program| text.contains(program));
    let commands = has_command.then(|| COMMAND.captures_iter(text));
    for parts in commands.into_iter().flatten() {
        let Some(name) = parts.name("name") else {
            continue;
        };
        let kind = match (parts.name("npm"), parts.name("make")) {
            (Some(_), _) => NameKind::Script,
            (None, Some(_)) => NameKind::Target,
            (None, None) => NameKind::Recipe,
        };
        add(kind, name);
    }
    let flags = text.contains("--").then(|| FLAG.captures_iter(text));
    for parts in flags.into_iter().flatten() {
        if let Some(flag) = parts.get(1)
            && !is_of_another(document, flag.start())
        {
            add(NameKind::Flag, flag);
        }
    }
    for parts in SYMBOL.captures_iter(text) {
        if let Some(name) = parts.get(1).filter(|name| is_distinct(name.as_str())) {
            add(NameKind::Symbol, name);
        }
    }
    found
}

/// Whether the flag at this byte belongs to another program: the first word of its command.
fn is_of_another(document: &Document, at: usize) -> bool {
    let before = &document.text[..at];
    let start = before
        .rfind(['`', '\n', ';', '|', '&'])
        .map_or(0, |at| at + 1);
    let words = before[start..].split_whitespace();
    let mut words = words.skip_while(|word| *word == "$" || *word == "sudo" || word.contains('='));
    words.next().is_some_and(|word| OTHERS.contains(&word))
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
        let text = "Run `make lint-all`, `npm run build:web`, `pnpm dev` or `just ship`; make sure. \
            `tome --old-flag x`, `git push --force-now`, `Store::load_all()`, `loadAll(x)`, \
            `plain`, `APP_HOME`, load_some and `a b_c_d_e`.";
        let document = Document::new(Memory::bare("a.md", 0), text.to_owned());
        let mut told: Vec<String> = names(&document)
            .into_iter()
            .map(|(name, range)| {
                assert!(text[range].starts_with(&name.text));
                format!("{:?} {}", name.kind, name.text)
            })
            .collect();
        told.sort();
        assert_eq!(
            told,
            [
                "Flag --old-flag",
                "Recipe ship",
                "Script build:web",
                "Script dev",
                "Symbol APP_HOME",
                "Symbol loadAll",
                "Symbol load_all",
                "Target lint-all",
            ]
        );
    }
}
