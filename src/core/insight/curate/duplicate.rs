//! Memories of which one can go because the other says the same, in one store or in two, or because
//! an instruction file says it. Records of what was done, and memories that link to each other, tell
//! different things about one matter.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::LazyLock;

use regex::Regex;

use super::claim::is_record;
use super::document::Document;
use super::passage::{Piece, Pieces, shared_passages};
use super::{Collection, CuratedStore, Evidence, Found, Report, Rule, Severity};
use crate::core::memory::{FileKind, stem};
use crate::core::text::header::slug;
use crate::core::text::link::{LinkSyntax, links};

pub(super) const RULE: Rule = Rule {
    id: "duplicate",
    severity: Severity::Warning,
    about: "two memories that say the same",
    check,
};

/// The score from which two texts say the same.
const ALIKE: f64 = 0.525;

/// How much of a memory another text must have so that it can go: most of it; less if their names and
/// descriptions say that they are about the same, or if two agents wrote them in their own words.
fn needed_share(collection: &Collection<'_>, pieces: &Pieces, [a, b]: [&Piece; 2]) -> f64 {
    if a.is_instruction || b.is_instruction || are_profiles(collection, [a, b]) {
        MOST
    } else if a.store != b.store {
        0.25
    } else if pieces.head_likeness(a, b) >= 0.4 {
        0.4
    } else {
        MOST
    }
}

/// Whether two stores are of two profiles of one agent, neither of which reads the other's.
fn are_profiles(collection: &Collection<'_>, pieces: [&Piece; 2]) -> bool {
    let names = pieces.map(|piece| collection.stores[piece.store].store.name());
    let [a, b] = names.map(|name| name.split_once('@').map(|(agent, _)| agent));
    a.is_some() && a == b && names[0] != names[1]
}

/// The share of a text that is most of it.
const MOST: f64 = 0.6;

fn is_of_record(collection: &Collection<'_>, piece: &Piece) -> bool {
    let document = &collection.stores[piece.store].documents[piece.document];
    is_record(document, piece.range.start)
}

fn check(collection: &Collection<'_>, report: &mut Report<'_>) {
    let same = same_texts(collection, report);
    let pieces = collection.pieces();
    let mut groups = Groups::new(pieces.all.len());
    for likeness in &pieces.alike {
        if likeness.score < ALIKE {
            break;
        }
        let (a, b) = (&pieces.all[likeness.a], &pieces.all[likeness.b]);
        if a.is_instruction && b.is_instruction
            || same.contains(&(a.store, a.document)) && same.contains(&(b.store, b.document))
            || are_told_apart(collection, pieces, [a, b])
            || [a, b].iter().any(|piece| is_of_record(collection, piece))
            || pieces.share(a, b) < needed_share(collection, pieces, [a, b])
            // In a group that says the same, each memory is reported once.
            || !groups.join(likeness.a, likeness.b)
        {
            continue;
        }
        // A memory is reported, not the instructions that say the same.
        let (first, second) = if b.is_instruction { (b, a) } else { (a, b) };
        add(collection, report, first, second);
    }
}

/// Reports memories with the same body, and returns them. Many copies of one store in another, or in
/// itself, are one finding: what becomes of them is one decision.
fn same_texts(collection: &Collection<'_>, report: &mut Report<'_>) -> HashSet<(usize, usize)> {
    let mut first_of: HashMap<&str, (usize, usize)> = HashMap::new();
    let mut pairs: BTreeMap<(usize, usize), Vec<(usize, usize)>> = BTreeMap::new();
    for (number, store) in collection.stores.iter().enumerate() {
        for (at, document) in store.documents.iter().enumerate() {
            let body = document.body().trim();
            if body.len() < SHORTEST || document.memory.kind != FileKind::Memory {
                continue;
            }
            match first_of.entry(body) {
                Entry::Vacant(place) => {
                    place.insert((number, at));
                }
                Entry::Occupied(first) => {
                    let (first_store, first) = *first.get();
                    pairs
                        .entry((first_store, number))
                        .or_default()
                        .push((first, at));
                }
            }
        }
    }
    for ((from, to), pairs) in &pairs {
        let all = if pairs.len() > MANY { 1 } else { pairs.len() };
        for (first, at) in &pairs[..all] {
            let (stores, number) = (&collection.stores, *to);
            let (other, document) = (
                &stores[*from].documents[*first],
                &stores[number].documents[*at],
            );
            let subject = reference(collection, *from, other, number);
            let more = match pairs.len() - all {
                0 => String::new(),
                more => format!(", and {more} more memories say what others say there"),
            };
            let found = Found {
                line: None,
                message: format!("says word for word what {subject} says{more}"),
                subject,
                evidence: vec![
                    first_line(&stores[*from], other),
                    first_line(&stores[number], document),
                ],
                fix: None,
            };
            report.add(number, &document.memory.path, found);
        }
    }
    let each = pairs.iter().flat_map(|((from, to), pairs)| {
        let both = |(first, at): &(usize, usize)| [(*from, *first), (*to, *at)];
        pairs.iter().flat_map(both)
    });
    each.collect()
}

/// The line with which the body of a memory begins.
fn first_line(store: &CuratedStore<'_>, document: &Document) -> Evidence {
    let start = document.offset_of(document.body().trim_start());
    Evidence::line(store, document, document.line_at(start))
}

/// As many copies are told one by one.
const MANY: usize = 3;

/// Bodies that are shorter are often the same by chance.
const SHORTEST: usize = 40;

/// Reports that the second piece says what the first says.
fn add(collection: &Collection<'_>, report: &mut Report<'_>, first: &Piece, second: &Piece) {
    let stores = &collection.stores;
    let first_document = &stores[first.store].documents[first.document];
    let document = &stores[second.store].documents[second.document];
    let passages = shared_passages((first_document, &first.range), (document, &second.range));
    let mut evidence = Vec::new();
    for (a, b) in &passages {
        let line = first_document.line_at(*a);
        evidence.push(Evidence::line(&stores[first.store], first_document, line));
        let line = document.line_at(*b);
        evidence.push(Evidence::line(&stores[second.store], document, line));
    }
    if evidence.is_empty() {
        // Texts that share words and no sentence are related, not the same.
        return;
    }
    let mut subject = reference(collection, first.store, first_document, second.store);
    if first.range.len() < first_document.text.len()
        && let Some(entry) = first_document.entry_at(first_document.line_at(first.range.start))
    {
        subject = format!("{subject}#{}", entry.slug);
    }
    let share = collection.pieces().share(first, second) * 100.0;
    let found = Found {
        line: passages.first().map(|(_, b)| document.line_at(*b)),
        message: format!(
            "says what {subject} says: they share {share:.0} % of the words of the shorter one"
        ),
        subject,
        evidence,
        fix: None,
    };
    report.add(second.store, &document.memory.path, found);
}

/// The reference to a memory of `store` in a finding about the store `from`.
pub(super) fn reference(
    collection: &Collection<'_>,
    store: usize,
    document: &Document,
    from: usize,
) -> String {
    let path = &document.memory.path;
    if store == from {
        path.clone()
    } else {
        format!("{}:{path}", collection.stores[store].store.name())
    }
}

static DISTINCT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?i)\b(distinct|different|differs?|unlike|inverse|separate|opposite|not the same|contrast|anders als|unterscheidet|à la différence|contrairement|distinto|diferente|отличается|в отличие)\b|와 다른|与.{0,12}不同|とは異なる|とは違",
    )
    .expect("a valid pattern")
});

/// Whether two memories know of each other: one says that they differ, or links to the other, which does
/// not have most of it.
fn are_told_apart(collection: &Collection<'_>, pieces: &Pieces, [a, b]: [&Piece; 2]) -> bool {
    let document = |piece: &Piece| &collection.stores[piece.store].documents[piece.document];
    let (first, second) = (document(a), document(b));
    let sentences = [links_to(first, second), links_to(second, first)].concat();
    !sentences.is_empty() && pieces.share(a, b) < MOST
        || sentences.iter().any(|sentence| DISTINCT.is_match(sentence))
}

/// The sentences of a memory that link to another one, or name its file.
fn links_to<'a>(from: &'a Document, to: &Document) -> Vec<&'a str> {
    let name = slug(stem(&to.memory.path));
    let linked = links(&from.text).into_iter().filter(|link| {
        link.form == LinkSyntax::Wiki && *link.target == *to.memory.title
            || slug(stem(&link.target)) == name
    });
    let linked = linked.map(|link| link.start..link.end);
    let file = to.memory.path.as_str();
    let named = from.text.match_indices(file);
    let named = named.map(|(at, file)| at..at + file.len());
    linked
        .chain(named)
        .map(|range| from.sentence(&range))
        .collect()
}

/// Groups of pieces that say the same.
struct Groups(Vec<usize>);

impl Groups {
    fn new(size: usize) -> Self {
        Self((0..size).collect())
    }

    fn root(&mut self, mut at: usize) -> usize {
        while self.0[at] != at {
            self.0[at] = self.0[self.0[at]];
            at = self.0[at];
        }
        at
    }

    /// Joins the groups of two pieces; `false` if they are one already.
    fn join(&mut self, a: usize, b: usize) -> bool {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a] = b;
        a != b
    }
}
