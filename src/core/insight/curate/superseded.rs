//! Memories about which a newer memory, a commit or the calendar says otherwise.

use std::collections::BTreeSet;
use std::ops::Range;

use aho_corasick::AhoCorasick;
use jiff::civil::Date;

use super::claim::{is_past, is_record};
use super::count::{CountedFiles, by_file};
use super::document::Document;
use super::duplicate::reference;
use super::supersession::{
    DateKind, DatedStatement, Renaming, Stated, dated, mentions, renaming_of_commit, renamings,
    stated, written,
};
use super::{Collection, CuratedStore, Evidence, Found, Report, Rule, Severity};
use crate::core::memory::stem;
use crate::core::text::link::{LinkSyntax, links, resolve_target};

pub(super) const RULE: Rule = Rule {
    id: "superseded",
    severity: Severity::Warning,
    about: "a memory about which a newer memory, a commit or the calendar says otherwise",
    check,
};

fn check(collection: &Collection<'_>, report: &mut Report<'_>) {
    let mut files = CountedFiles::default();
    for (number, store) in collection.stores.iter().enumerate() {
        for document in &store.documents {
            by_statement(collection, report, number, document);
            by_date(collection, report, number, document);
            by_file(collection, report, number, document, &mut files);
        }
    }
    by_renaming(collection, report);
}

/// Reports what a memory states about one that it links to.
fn by_statement(
    collection: &Collection<'_>,
    report: &mut Report<'_>,
    number: usize,
    document: &Document,
) {
    let store = &collection.stores[number];
    for link in links(&document.text) {
        let range = link.start..link.end;
        if document.is_code(link.start) {
            continue;
        }
        let Some(stated) = stated(document, &range) else {
            continue;
        };
        let Some((other_number, other)) = linked(collection, number, document, &link) else {
            continue;
        };
        if std::ptr::eq(other, document) || document.is_index() {
            continue;
        }
        let evidence = vec![Evidence::line(
            store,
            document,
            document.line_at(link.start),
        )];
        let (old_store, old, new_store, new) = match stated {
            Stated::Linked => (other_number, other, number, document),
            Stated::Linking => (number, document, other_number, other),
        };
        let subject = reference(collection, new_store, new, old_store);
        let found = Found {
            line: None,
            message: format!("{subject} supersedes it, or a part of it"),
            subject,
            evidence,
            fix: None,
        };
        report.add(old_store, &old.memory.path, found);
    }
}

/// The memory that a link means, in its own store or in one of the same project.
fn linked<'a>(
    collection: &'a Collection<'_>,
    number: usize,
    document: &Document,
    link: &crate::core::text::link::Link<'_>,
) -> Option<(usize, &'a Document)> {
    let here = &collection.stores[number];
    let file = here.store.rules().file_of(&document.memory.path);
    let stores = collection.stores.iter().enumerate();
    let mut near = stores.filter(|(other, store)| *other == number || same_project(here, store));
    near.find_map(|(other, store)| {
        let mut documents = store.memories();
        let found = documents.find(|document| {
            let memory = &document.memory;
            match link.form {
                LinkSyntax::Wiki => {
                    link.target == memory.title || link.target == stem(&memory.path)
                }
                LinkSyntax::Inline => {
                    other == number
                        && resolve_target(&file, &link.target).as_deref()
                            == Some(memory.path.as_str())
                }
            }
        });
        Some((other, found?))
    })
}

fn same_project(a: &CuratedStore<'_>, b: &CuratedStore<'_>) -> bool {
    a.project_root.is_some() && a.project_root == b.project_root
}

/// Reports statements of a memory whose own date has passed.
fn by_date(
    collection: &Collection<'_>,
    report: &mut Report<'_>,
    number: usize,
    document: &Document,
) {
    let store = &collection.stores[number];
    for statement in dated(document) {
        let Some((subject, message, mut evidence)) = outdated(collection, store, &statement) else {
            continue;
        };
        let is_past = || match statement.kind {
            // What is in progress may be so in order to remove something.
            DateKind::Progress => false,
            // A date in passing dates one sentence; one that heads a passage dates all of it.
            DateKind::AsOf => !document.heads_passage(statement.range.start),
            DateKind::Until => is_past(document, &statement.range),
        };
        if is_past() || is_record(document, statement.range.start) {
            continue;
        }
        let line = document.line_at(statement.range.start);
        evidence.insert(0, Evidence::words_of(store, document, &statement.range));
        let found = Found {
            line: Some(line),
            subject,
            message,
            evidence,
            fix: None,
        };
        report.add(number, &document.memory.path, found);
    }
}

/// What is wrong with a dated statement today, if something is.
fn outdated(
    collection: &Collection<'_>,
    store: &CuratedStore<'_>,
    statement: &DatedStatement,
) -> Option<(String, String, Vec<Evidence>)> {
    let date = statement.date;
    let days = (collection.today - date).get_days();
    let is_old = i64::from(days) > collection.settings.pending_days;
    match statement.kind {
        DateKind::Until if date < collection.today => Some((
            format!("until {date}"),
            format!("holds until {date}, which is {days} days ago"),
            Vec::new(),
        )),
        DateKind::Progress if is_old => Some((
            format!("in progress {date}"),
            format!("something was in progress on {date}, {days} days ago"),
            Vec::new(),
        )),
        DateKind::AsOf if is_old => {
            let project = store.project.as_ref()?;
            let since = date.to_string();
            let commits = project.commits().iter();
            let newer: Vec<_> = commits.take_while(|commit| commit.date > since).collect();
            let newest = newer.first()?;
            Some((
                format!("as of {date}"),
                format!(
                    "says what was so on {date}, {days} days and {} commits ago",
                    newer.len()
                ),
                vec![Evidence {
                    text: newest.subject.clone(),
                    commit: Some(newest.to_string()),
                    ..Evidence::default()
                }],
            ))
        }
        _ => None,
    }
}

/// Who states a renaming, and when.
struct StatedRenaming<'a> {
    renaming: Renaming,
    /// The store and the memory, or the commit.
    by: Source<'a>,
    date: Option<Date>,
}

#[derive(Clone, Copy)]
enum Source<'a> {
    Memory(usize, &'a Document),
    Commit(usize, &'a super::git::Commit),
}

/// Reports memories that use a name which has been changed since.
fn by_renaming(collection: &Collection<'_>, report: &mut Report<'_>) {
    let mut all: Vec<StatedRenaming<'_>> = Vec::new();
    let mut projects: Vec<&std::path::Path> = Vec::new();
    for (number, store) in collection.stores.iter().enumerate() {
        for document in store.memories() {
            let date = written(document, collection.today);
            all.extend(
                renamings(document)
                    .into_iter()
                    .map(|renaming| StatedRenaming {
                        renaming,
                        by: Source::Memory(number, document),
                        date,
                    }),
            );
        }
        if let Some(project) = &store.project
            && !projects.contains(&project.root.as_path())
        {
            projects.push(&project.root);
            for commit in project.commits() {
                if let Some((old, new)) = renaming_of_commit(&commit.subject) {
                    all.push(StatedRenaming {
                        renaming: Renaming {
                            old,
                            new,
                            range: 0..0,
                        },
                        by: Source::Commit(number, commit),
                        date: commit.date.parse().ok(),
                    });
                }
            }
        }
    }
    let all = once_each(collection, all);
    let names = all.iter().map(|stated| &stated.renaming.old);
    let Ok(names) = AhoCorasick::new(names) else {
        return;
    };
    for (number, store) in collection.stores.iter().enumerate() {
        for document in store.memories() {
            let named = names.find_overlapping_iter(&document.text);
            let named: BTreeSet<usize> = named.map(|name| name.pattern().as_usize()).collect();
            for stated in named.iter().map(|at| &all[*at]) {
                if let Some(found) = old_name(collection, stated, number, document) {
                    report.add(number, &document.memory.path, found);
                }
            }
        }
    }
}

/// The renamings of each project, each as its newest statement says it.
fn once_each<'a>(
    collection: &Collection<'_>,
    mut all: Vec<StatedRenaming<'a>>,
) -> Vec<StatedRenaming<'a>> {
    all.sort_by_key(|stated| std::cmp::Reverse(stated.date));
    let mut kept: Vec<StatedRenaming<'a>> = Vec::new();
    for stated in all {
        let is_same = |known: &StatedRenaming<'_>| {
            let stores = [&known.by, &stated.by].map(|by| match by {
                Source::Memory(store, _) | Source::Commit(store, _) => *store,
            });
            let [a, b] = stores.map(|store| &collection.stores[store]);
            known.renaming.old == stated.renaming.old
                && known.renaming.new == stated.renaming.new
                && (stores[0] == stores[1] || same_project(a, b))
        };
        if !kept.iter().any(is_same) {
            kept.push(stated);
        }
    }
    kept
}

/// The finding that a memory uses the old name of a renaming, if it does.
fn old_name(
    collection: &Collection<'_>,
    stated: &StatedRenaming<'_>,
    number: usize,
    document: &Document,
) -> Option<Found> {
    let store = &collection.stores[number];
    let Renaming { old, new, range } = &stated.renaming;
    let from = match stated.by {
        Source::Memory(from, by) if !std::ptr::eq(by, document) => from,
        Source::Memory(..) => return None,
        Source::Commit(from, _) => from,
    };
    if from != number && !same_project(store, &collection.stores[from]) {
        return None;
    }
    // A name that the project still has, or has again, was not renamed.
    if store
        .project
        .as_ref()
        .is_some_and(|project| project.has(old))
    {
        return None;
    }
    let is_later = written(document, collection.today) > stated.date;
    let uses = mentions(&document.text, old);
    if uses.is_empty() || is_later && stated.date.is_some() {
        return None;
    }
    let knows_new = !mentions(&document.text, new).is_empty();
    let own = renamings(document);
    if knows_new && (uses.len() < 2 || own.iter().any(|own| own.old == *old)) {
        return None;
    }
    let unaware = uses.iter().filter(|range| {
        let sentence = document.sentence(range);
        !sentence.contains(new.as_str()) && !is_past(document, range)
    });
    let mut unaware: Vec<&Range<usize>> = unaware.collect();
    let first = document.line_at(unaware.first()?.start);
    unaware.dedup_by_key(|range| document.line_at(range.start));
    let (subject, statement) = match stated.by {
        Source::Memory(from, by) => (
            reference(collection, from, by, number),
            Evidence::words_of(&collection.stores[from], by, range),
        ),
        Source::Commit(_, commit) => (commit.to_string(), Evidence::commit(old, commit)),
    };
    let mut evidence = vec![statement];
    evidence.extend(
        unaware
            .into_iter()
            .take(5)
            .map(|range| Evidence::words_of(store, document, range)),
    );
    Some(Found {
        line: Some(first),
        message: format!("uses the name {old}, which is {new} now, as {subject} says"),
        subject,
        evidence,
        fix: None,
    })
}
