//! Memories about which a newer memory, a commit or the calendar says otherwise.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::path::Path;

use aho_corasick::AhoCorasick;
use jiff::civil::Date;

use super::claim::{is_past, is_record};
use super::count::{CountedFiles, by_file};
use super::document::Document;
use super::duplicate::reference;
use super::git::ProjectHistory;
use super::supersession::{
    DateKind, DatedStatement, Renaming, Stated, dated, mentions, renaming_of_commit, renamings,
    stated, written,
};
use super::{Collection, CuratedStore, Evidence, Found, Report, Rule, Severity};
use crate::core::memory::stem;
use crate::core::text::link::{Link, LinkSyntax, links, resolve_target};

pub(super) const RULE: Rule = Rule {
    id: "superseded",
    severity: Severity::Warning,
    about: "a memory about which a newer memory, a commit or the calendar says otherwise",
    check,
};

fn check(collection: &Collection<'_>, report: &mut Report<'_>) {
    let mut files = CountedFiles::default();
    let names: Vec<_> = collection
        .stores
        .iter()
        .map(CuratedStore::by_name)
        .collect();
    let mut commits = CommitsSince::default();
    for (number, store) in collection.stores.iter().enumerate() {
        for document in &store.documents {
            by_statement(collection, report, &names, (number, document));
            by_date(collection, report, (number, document), &mut commits);
            by_file(collection, report, number, document, &mut files);
        }
    }
    by_renaming(collection, report);
}

/// Reports what a memory states about one that it links to.
fn by_statement(
    collection: &Collection<'_>,
    report: &mut Report<'_>,
    names: &[HashMap<&str, &Document>],
    (number, document): (usize, &Document),
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
        let Some((other_number, other)) = linked(collection, names, (number, document), &link)
        else {
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
    collection: &Collection<'_>,
    names: &[HashMap<&str, &'a Document>],
    (number, document): (usize, &Document),
    link: &Link<'_>,
) -> Option<(usize, &'a Document)> {
    let here = &collection.stores[number];
    if link.form == LinkSyntax::Inline {
        let file = here.store.rules().file_of(&document.memory.path);
        let path = resolve_target(&file, &link.target)?;
        let found = names[number].get(&*path)?;
        return (found.memory.path == path).then_some((number, *found));
    }
    let stores = collection.stores.iter().enumerate();
    let mut near = stores.filter(|(other, store)| *other == number || same_project(here, store));
    near.find_map(|(other, _)| Some((other, *names[other].get(&*link.target)?)))
}

fn same_project(a: &CuratedStore<'_>, b: &CuratedStore<'_>) -> bool {
    a.project_root.is_some() && a.project_root == b.project_root
}

/// Reports statements of a memory whose own date has passed.
fn by_date<'a>(
    collection: &'a Collection<'_>,
    report: &mut Report<'_>,
    (number, document): (usize, &Document),
    commits: &mut CommitsSince<'a>,
) {
    let store = &collection.stores[number];
    for statement in dated(document) {
        let outdated = outdated(collection, store, &statement, commits);
        let Some((subject, message, mut evidence)) = outdated else {
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

/// How many commits each project has after each date.
#[derive(Default)]
struct CommitsSince<'a>(HashMap<(&'a Path, Date), usize>);

impl<'a> CommitsSince<'a> {
    fn count(&mut self, project: &'a ProjectHistory, date: Date) -> usize {
        *self.0.entry((&project.root, date)).or_insert_with(|| {
            let since = date.to_string();
            let commits = project.commits().iter();
            commits.take_while(|commit| commit.date > since).count()
        })
    }
}

/// What is wrong with a dated statement today, if something is.
fn outdated<'a>(
    collection: &Collection<'_>,
    store: &'a CuratedStore<'_>,
    statement: &DatedStatement,
    commits: &mut CommitsSince<'a>,
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
            let newer = commits.count(project, date);
            let newest = project.commits().first().filter(|_| newer > 0)?;
            Some((
                format!("as of {date}"),
                format!("says what was so on {date}, {days} days and {newer} commits ago"),
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
    let mut projects: Vec<&Path> = Vec::new();
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
    let by_old = by_old_name(collection, all);
    let Ok(names) = AhoCorasick::new(by_old.keys()) else {
        return;
    };
    let by_old: Vec<&Vec<StatedRenaming<'_>>> = by_old.values().collect();
    for (number, store) in collection.stores.iter().enumerate() {
        for document in store.memories() {
            let named = names.find_overlapping_iter(&document.text);
            let named: BTreeSet<usize> = named.map(|name| name.pattern().as_usize()).collect();
            if named.is_empty() {
                continue;
            }
            let using = Using {
                number,
                document,
                date: written(document, collection.today),
                own: renamings(document),
            };
            for stated in named.iter().take(MOST_NAMES).flat_map(|at| by_old[*at]) {
                if let Some(found) = old_name(collection, stated, &using) {
                    report.add(number, &document.memory.path, found);
                }
            }
        }
    }
}

/// How many old names of one memory are looked at, and how many statements about one name.
const MOST_NAMES: usize = 100;
const MOST_STATEMENTS: usize = 8;

/// The renamings by the old names, the newest statement first; the same of one project once.
fn by_old_name<'a>(
    collection: &Collection<'_>,
    mut all: Vec<StatedRenaming<'a>>,
) -> BTreeMap<String, Vec<StatedRenaming<'a>>> {
    all.sort_by_key(|stated| std::cmp::Reverse(stated.date));
    let mut by_old: BTreeMap<String, Vec<StatedRenaming<'a>>> = BTreeMap::new();
    for stated in all {
        let known = by_old.entry(stated.renaming.old.clone()).or_default();
        let is_same = |known: &StatedRenaming<'_>| {
            let stores = [&known.by, &stated.by].map(|by| match by {
                Source::Memory(store, _) | Source::Commit(store, _) => *store,
            });
            let [a, b] = stores.map(|store| &collection.stores[store]);
            known.renaming.new == stated.renaming.new
                && (stores[0] == stores[1] || same_project(a, b))
        };
        if known.len() < MOST_STATEMENTS && !known.iter().any(is_same) {
            known.push(stated);
        }
    }
    by_old
}

/// A memory that has the old name of a renaming.
struct Using<'a> {
    /// The number of its store.
    number: usize,
    document: &'a Document,
    /// When it was written.
    date: Option<Date>,
    /// The renamings that it states itself.
    own: Vec<Renaming>,
}

const USES: &str = "uses the name ";
const NOW: &str = ", which is ";

/// The old name and the new one that the message of a finding tells, if it is about a renaming.
pub(super) fn told_names(message: &str) -> Option<(&str, &str)> {
    let (old, rest) = message.strip_prefix(USES)?.split_once(NOW)?;
    Some((old, rest.split_once(" now, as ")?.0))
}

/// The finding that a memory uses the old name of a renaming, if it does.
fn old_name(
    collection: &Collection<'_>,
    stated: &StatedRenaming<'_>,
    using: &Using<'_>,
) -> Option<Found> {
    let (number, document) = (using.number, using.document);
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
    let is_old = |document: &Document| stem(&document.memory.path) == old;
    if store.documents.iter().any(is_old) {
        return None;
    }
    if store
        .project
        .as_ref()
        .is_some_and(|project| project.has(old))
    {
        return None;
    }
    let is_later = using.date > stated.date;
    let uses = mentions(&document.text, old);
    if uses.is_empty() || is_later && stated.date.is_some() {
        return None;
    }
    let knows_new = !mentions(&document.text, new).is_empty();
    if knows_new && (uses.len() < 2 || using.own.iter().any(|own| own.old == *old)) {
        return None;
    }
    let unaware = uses.iter().filter(|range| {
        let sentence = document.sentence(range);
        !sentence.contains(new.as_str())
            && !is_past(document, range)
            && !is_record(document, range.start)
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
        message: format!("{USES}{old}{NOW}{new} now, as {subject} says"),
        subject,
        evidence,
        fix: None,
    })
}
