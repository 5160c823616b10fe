//! Links of memories to memories that do not exist. What is in code is not a link.

use std::collections::HashSet;

use super::document::Document;
use super::fix::Fix;
use super::{Collection, CuratedStore, Evidence, Found, Report, Rule, Severity};
use crate::core::memory::layout::Layout;
use crate::core::memory::{FileKind, stem};
use crate::core::text::file_name;
use crate::core::text::header::slug;
use crate::core::text::link::{Link, LinkSyntax, links, relative_target, resolve_target};

pub(super) const RULE: Rule = Rule {
    id: "broken-link",
    severity: Severity::Warning,
    about: "a link to a memory that does not exist",
    check,
};

fn check(collection: &Collection<'_>, report: &mut Report<'_>) {
    for (number, store) in collection.stores.iter().enumerate() {
        if !has_links(store.store.layout()) {
            continue;
        }
        let names = Names::of(collection, number);
        for document in store.memories() {
            let mut seen = HashSet::new();
            for link in links(&document.text) {
                let is_file = || {
                    let project = store.project.as_ref();
                    link.form == LinkSyntax::Wiki
                        && project.is_some_and(|project| {
                            let own = store.store.root().path();
                            let own = own.strip_prefix(&project.root).unwrap_or(own);
                            project.has_file_named(&link.target, own)
                        })
                };
                let is_broken = !document.is_code(link.start)
                    && leads_nowhere(store, document, &names, &link)
                    && !is_file()
                    && seen.insert(link.target.to_string());
                if is_broken {
                    let found = broken(store, document, &link);
                    report.add(number, &document.memory.path, found);
                }
            }
        }
    }
}

fn has_links(layout: Layout) -> bool {
    matches!(
        layout,
        Layout::Index | Layout::Facts | Layout::Session | Layout::Coder
    )
}

fn broken(store: &CuratedStore<'_>, document: &Document, link: &Link<'_>) -> Found {
    let line = document.line_at(link.start);
    let meant = candidate(store, document, link);
    let fix = meant.as_ref().map(|meant| {
        let edits = links(&document.text)
            .iter()
            .filter(|other| other.target == link.target && !document.is_code(other.start))
            .map(|other| other.pointed_at(meant))
            .collect();
        let words = format!("links to {meant}");
        Fix::replace(&document.memory.path, edits, words)
    });
    let hint = meant.map(|meant| format!("; {meant} may be meant"));
    Found {
        line: Some(line),
        subject: link.target.to_string(),
        message: format!(
            "links to {}, which does not exist{}",
            link.target,
            hint.unwrap_or_default()
        ),
        evidence: vec![Evidence::line(store, document, line)],
        fix,
    }
}

/// What a link that leads nowhere means: the only memory whose name differs from the target in case,
/// `-` and `_` alone, the name that git gave the file, or the only file of the project with that name.
pub(super) fn candidate(
    store: &CuratedStore<'_>,
    document: &Document,
    link: &Link<'_>,
) -> Option<String> {
    let rules = store.store.rules();
    let file = rules.file_of(&document.memory.path);
    let wanted = slug(stem(&link.target));
    let mut near = store
        .memories()
        .filter(|other| slug(stem(&other.memory.path)) == wanted);
    if let Some(one) = near.next() {
        return near.next().is_none().then(|| match link.form {
            LinkSyntax::Wiki => stem(&one.memory.path).to_owned(),
            LinkSyntax::Inline => relative_target(&file, &rules.file_of(&one.memory.path)),
        });
    }
    let project = store.project.as_ref()?;
    let root = store.store.root().path();
    let own = root.strip_prefix(&project.root).ok()?.to_str()?;
    let in_project = |file: &str| format!("{own}/{file}").trim_start_matches('/').to_owned();
    if link.form == LinkSyntax::Wiki {
        let gone = project.gone(&in_project(&format!("{}.md", link.target)))?;
        let now = gone.now.as_deref()?.strip_prefix(&in_project(""))?;
        return Some(stem(now).to_owned());
    }
    let meant = in_project(&resolve_target(&file, &link.target)?);
    let moved = project.gone(&meant).and_then(|gone| gone.now.as_deref());
    let now = moved.or_else(|| project.only_file_named(file_name(&meant)))?;
    Some(relative_target(&in_project(&file), now))
}

/// The names by which `[[name]]` can refer to a memory of the store or of one beside it.
pub(super) struct Names(HashSet<String>);

impl Names {
    pub(super) fn of(collection: &Collection<'_>, number: usize) -> Self {
        let here = &collection.stores[number];
        let beside = collection.stores.iter().filter(|other| {
            other.project_root.is_some() && other.project_root == here.project_root
        });
        let all = beside.chain([here]).flat_map(|store| store.memories());
        let names = all.flat_map(|document| {
            let memory = &document.memory;
            let entries = memory.entries.iter().map(|entry| entry.title.clone());
            let own = [
                memory.title.clone(),
                stem(&memory.path).to_owned(),
                memory.path.clone(),
            ];
            own.into_iter().chain(entries)
        });
        Self(names.collect())
    }
}

/// Whether a link leads to a memory that does not exist.
pub(super) fn leads_nowhere(
    store: &CuratedStore<'_>,
    document: &Document,
    names: &Names,
    link: &Link<'_>,
) -> bool {
    let target = &*link.target;
    let file = store.store.rules().file_of(&document.memory.path);
    let root = store.store.root();
    match link.form {
        LinkSyntax::Wiki => {
            // `[[ -f x ]]` and `[[…]]` are no names.
            let is_name = target.chars().any(char::is_alphanumeric)
                && !target.starts_with([' ', '-', '!', '$', '"', ':'])
                && !target.contains(['$', '=', '"', '<', '*', '(']);
            let is_known = names.0.contains(target)
                || names.0.contains(target.trim())
                || root.has(target)
                || root.has(&format!("{target}.md"));
            is_name && !is_known
        }
        LinkSyntax::Inline => {
            let Some(meant) = resolve_target(&file, target) else {
                return false;
            };
            // The agent works at the root of the project.
            let is_in_project = || {
                let project = store.project.as_ref();
                project.is_some_and(|project| project.tracks(target))
            };
            // `../` of a memory outside the project is not followed.
            meant.ends_with(".md")
                && document.memory.kind != FileKind::Guide
                && !target.contains(['*', '<', '{', '…'])
                && !root.has(&meant)
                && !store.store.holds(target)
                && !is_in_project()
        }
    }
}
