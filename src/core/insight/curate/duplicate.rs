//! Memories that say the same, in one store or in two, or what an instruction file says.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use regex::Regex;

use super::document::Document;
use super::passage::{Piece, shared_passages};
use super::{Collection, Evidence, Found, Report, Rule, Severity};
use crate::core::memory::{FileKind, stem};
use crate::core::text::link::{LinkSyntax, links};

pub(super) const RULE: Rule = Rule {
    id: "duplicate",
    severity: Severity::Warning,
    about: "two memories that say the same",
    check,
};

/// The score from which two texts say the same.
const ALIKE: f64 = 0.525;

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
            || are_told_apart(collection, a, b)
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

/// Reports memories with the same body, and returns them.
fn same_texts(collection: &Collection<'_>, report: &mut Report<'_>) -> HashSet<(usize, usize)> {
    let mut first_of: HashMap<&str, (usize, usize)> = HashMap::new();
    let mut same = HashSet::new();
    for (number, store) in collection.stores.iter().enumerate() {
        for (at, document) in store.documents.iter().enumerate() {
            let body = document.body().trim();
            if body.len() < SHORTEST || document.memory.kind != FileKind::Memory {
                continue;
            }
            let Some(first) = first_of.get(body) else {
                first_of.insert(body, (number, at));
                continue;
            };
            let first_store = &collection.stores[first.0];
            let other = &first_store.documents[first.1];
            let subject = reference(collection, first.0, other, number);
            let line = document.line_at(document.memory.body.start) + 1;
            let found = Found {
                line: None,
                message: format!("says word for word what {subject} says"),
                subject,
                evidence: vec![
                    Evidence::line(
                        first_store,
                        other,
                        other.line_at(other.memory.body.start) + 1,
                    ),
                    Evidence::line(store, document, line),
                ],
                fix: None,
            };
            report.add(number, &document.memory.path, found);
            same.extend([*first, (number, at)]);
        }
    }
    same
}

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
    let subject = reference(collection, first.store, first_document, second.store);
    let found = Found {
        line: passages.first().map(|(_, b)| document.line_at(*b)),
        message: format!("says what {subject} says"),
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

/// Whether one of two memories links to the other and says that they differ.
fn are_told_apart(collection: &Collection<'_>, a: &Piece, b: &Piece) -> bool {
    let document = |piece: &Piece| &collection.stores[piece.store].documents[piece.document];
    let says = |from: &Document, to: &Document| {
        links(&from.text).iter().any(|link| {
            let is_meant = match link.form {
                LinkSyntax::Wiki => {
                    link.target == to.memory.title || link.target == stem(&to.memory.path)
                }
                LinkSyntax::Inline => stem(&link.target) == stem(&to.memory.path),
            };
            is_meant && DISTINCT.is_match(from.sentence(&(link.start..link.end)))
        })
    };
    says(document(a), document(b)) || says(document(b), document(a))
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
