//! A command, script, flag or symbol of the project that a memory names, that the project defined,
//! and has no longer. Reported as `dead-path`, with the commit that removed the definition.
//!
//! Only what stands in code is a name, and only a definition that git shows as removed proves it.
//! A memory that was written after that commit knows of it.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;
use std::sync::{Arc, LazyLock};

use jiff::civil::Date;
use regex::Regex;

use super::document::Document;
use super::git::ProjectHistory;
use super::git::removed::{LostDefinition, NameKind, ProjectName};
use super::past::is_past;
use super::supersession::{renamings, written};
use super::{Collection, CuratedStore, Evidence, Found, Report};

/// The uses of one name, by the numbers of the store and the memory.
type Uses = BTreeMap<(usize, usize), Vec<Range<usize>>>;

pub(super) fn check(collection: &Collection<'_>, report: &mut Report<'_>) {
    let mut projects: Vec<&Arc<ProjectHistory>> = Vec::new();
    for project in collection.stores.iter().filter_map(|s| s.project.as_ref()) {
        if !projects.iter().any(|known| Arc::ptr_eq(known, project)) {
            projects.push(project);
        }
    }
    for project in projects {
        let mut named: BTreeMap<ProjectName, Uses> = BTreeMap::new();
        for (number, store) in collection.stores.iter().enumerate() {
            let is_about = |own: &Arc<ProjectHistory>| Arc::ptr_eq(own, project);
            if !store.project.as_ref().is_some_and(is_about) {
                continue;
            }
            for (at, document) in store.documents.iter().enumerate() {
                for (name, range) in names(document) {
                    let uses = named.entry(name).or_default();
                    uses.entry((number, at)).or_default().push(range);
                }
            }
        }
        // What a memory says about a name is told by `superseded`.
        let renamed = renamed(collection, project);
        named.retain(|name, _| !renamed.contains(&name.text));
        let wanted: BTreeSet<ProjectName> = named.keys().cloned().collect();
        let gone = project.gone_names(&wanted);
        for (name, uses) in &named {
            let Some(lost) = gone.get(name) else { continue };
            for ((number, at), ranges) in uses {
                let store = &collection.stores[*number];
                let document = &store.documents[*at];
                let commit = project.commit_of(lost);
                let known: Option<Date> = commit.and_then(|commit| commit.date.parse().ok());
                let is_later = written(document, collection.today)
                    .is_some_and(|date| known.is_some_and(|known| date > known));
                if is_later || ranges.iter().any(|range| is_past(document, range)) {
                    continue;
                }
                if let Some(found) = found((store, document), project, (name, lost), ranges) {
                    report.add(*number, &document.memory.path, found);
                }
            }
        }
    }
}

/// The names that a memory about the project says were changed.
fn renamed(collection: &Collection<'_>, project: &Arc<ProjectHistory>) -> HashSet<String> {
    let is_about = |store: &&CuratedStore<'_>| {
        let own = store.project.as_ref();
        own.is_some_and(|own| Arc::ptr_eq(own, project))
    };
    let stores = collection.stores.iter().filter(is_about);
    let stated = stores.flat_map(|store| store.memories().flat_map(renamings));
    stated.map(|renaming| renaming.old).collect()
}

fn found(
    (store, document): (&CuratedStore<'_>, &Document),
    project: &ProjectHistory,
    (name, lost): (&ProjectName, &LostDefinition),
    ranges: &[Range<usize>],
) -> Option<Found> {
    let commit = project.commit_of(lost)?;
    let what = match name.kind {
        NameKind::Symbol => "the name",
        NameKind::Flag => "the flag",
        NameKind::Script => "the script",
        NameKind::Target => "the target",
        NameKind::Recipe => "the recipe",
    };
    let mut lines: Vec<usize> = ranges.iter().map(|r| document.line_at(r.start)).collect();
    lines.dedup();
    let removed = Evidence {
        text: format!("- {}", lost.line),
        ..Evidence::commit(&lost.path, commit)
    };
    let mut evidence = vec![Evidence::commit(&lost.path, commit), removed];
    let places = lines
        .iter()
        .map(|line| Evidence::line(store, document, *line));
    evidence.extend(places);
    Some(Found {
        line: lines.first().copied(),
        subject: name.text.clone(),
        message: format!(
            "{what} {} is gone from the project since {commit}; it was in {}",
            name.text, lost.path
        ),
        evidence,
        fix: None,
    })
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
