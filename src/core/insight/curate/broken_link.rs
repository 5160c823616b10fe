//! Links of memories to memories that do not exist. What is in code is not a link.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

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
        let files = OnceCell::new();
        for document in store.memories() {
            let mut all = links(&document.text);
            all.retain(|link| !document.is_code(link.start));
            let mut of_target: HashMap<&str, Vec<&Link<'_>>> = HashMap::new();
            for link in &all {
                of_target.entry(&link.target).or_default().push(link);
            }
            for link in &all {
                let is_file = || {
                    let project = store.project.as_ref();
                    link.form == LinkSyntax::Wiki
                        && project.is_some_and(|project| {
                            let own = store.store.root().path();
                            let own = own.strip_prefix(&project.root).unwrap_or(own);
                            let files = files.get_or_init(|| project.names_outside(own));
                            files.has_start(&link.target)
                        })
                };
                let is_broken = of_target.contains_key(&*link.target)
                    && leads_nowhere(store, document, &names, link)
                    && !is_file();
                if is_broken && let Some(same) = of_target.remove(&*link.target) {
                    let meant = names.candidate(store, document, link);
                    let found = broken(store, document, &same, meant);
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

/// The finding about the links of a memory to one target, which may mean another memory.
fn broken(
    store: &CuratedStore<'_>,
    document: &Document,
    same: &[&Link<'_>],
    meant: Option<String>,
) -> Found {
    let link = same[0];
    let line = document.line_at(link.start);
    let fix = meant.as_ref().map(|meant| {
        let edits = same.iter().map(|other| other.pointed_at(meant)).collect();
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

/// The names by which `[[name]]` can refer to a memory of the store or of one beside it.
pub(super) struct Names<'a> {
    all: HashSet<&'a str>,
    /// The paths of the store's own memories by their names without case, `-` and `_`; `None` where
    /// several have one.
    near: HashMap<String, Option<&'a str>>,
}

impl<'a> Names<'a> {
    pub(super) fn of(collection: &'a Collection<'_>, number: usize) -> Self {
        let here = &collection.stores[number];
        let beside = collection.stores.iter().filter(|other| {
            other.project_root.is_some() && other.project_root == here.project_root
        });
        let all = beside.chain([here]).flat_map(|store| store.memories());
        let names = all.flat_map(|document| {
            let memory = &document.memory;
            let entries = memory.entries.iter().map(|entry| entry.title.as_str());
            let own = [&*memory.title, stem(&memory.path), &*memory.path];
            own.into_iter().chain(entries)
        });
        let mut near = HashMap::new();
        for path in here.memories().map(|document| &*document.memory.path) {
            let known = near.entry(slug(stem(path)));
            known.and_modify(|one| *one = None).or_insert(Some(path));
        }
        Self {
            all: names.collect(),
            near,
        }
    }

    /// What a link that leads nowhere means: the only memory whose name differs from the target in
    /// case, `-` and `_` alone, the name that git gave the file, or the only file of the project with
    /// that name.
    pub(super) fn candidate(
        &self,
        store: &CuratedStore<'_>,
        document: &Document,
        link: &Link<'_>,
    ) -> Option<String> {
        let rules = store.store.rules();
        let file = rules.file_of(&document.memory.path);
        if let Some(one) = self.near.get(&slug(stem(&link.target))) {
            return one.map(|one| match link.form {
                LinkSyntax::Wiki => stem(one).to_owned(),
                LinkSyntax::Inline => relative_target(&file, &rules.file_of(one)),
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
}

/// Whether a link leads to a memory that does not exist.
pub(super) fn leads_nowhere(
    store: &CuratedStore<'_>,
    document: &Document,
    names: &Names<'_>,
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
            let is_known = names.all.contains(target)
                || names.all.contains(target.trim())
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
