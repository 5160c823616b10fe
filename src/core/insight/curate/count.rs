//! Numbers in memories that a file of the project, or another memory, gives otherwise.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use super::claim::is_record;
use super::dead_path::tokens;
use super::document::Document;
use super::duplicate::reference;
use super::git::ProjectHistory;
use super::supersession::{Counts, counts, declared_counts, written};
use super::{Collection, CuratedStore, Evidence, Found, Report};
use crate::core::memory::FileKind;

/// What files of the project count, each read once.
#[derive(Default)]
pub(super) struct CountedFiles(HashMap<PathBuf, BTreeMap<String, CountInFile>>);

/// The only number that a file gives for a word.
struct CountInFile {
    value: u64,
    line: usize,
    text: String,
}

impl CountedFiles {
    fn of(&mut self, project: &ProjectHistory, file: &str) -> &BTreeMap<String, CountInFile> {
        self.0.entry(project.root.join(file)).or_insert_with(|| {
            let Some(text) = project.text_of(file, LARGEST_FILE) else {
                return BTreeMap::new();
            };
            // A file that gives several numbers for a word does not say which one is current.
            let single = |(word, values): (String, BTreeMap<u64, usize>)| {
                let (value, at) = values.first_key_value().filter(|_| values.len() == 1)?;
                let line = text[..*at].matches('\n').count() + 1;
                let shown = text.lines().nth(line - 1).unwrap_or_default().trim();
                let count = CountInFile {
                    value: *value,
                    line,
                    text: shown.to_owned(),
                };
                Some((word, count))
            };
            let declared = declared_counts(&text).into_iter();
            declared.filter_map(single).collect()
        })
    }
}

/// Reports counts in a memory of the store `number` that a file of the project gives otherwise: one of
/// the few that the memory is about.
pub(super) fn by_file(
    collection: &Collection<'_>,
    report: &mut Report<'_>,
    number: usize,
    document: &Document,
    counted: &mut CountedFiles,
) {
    let store = &collection.stores[number];
    let Some(project) = &store.project else {
        return;
    };
    let said = counts(&document.text);
    if said.is_empty() || document.memory.kind != FileKind::Memory {
        return;
    }
    let mut files: Vec<&str> = tokens(&document.text)
        .into_iter()
        .map(|token| &document.text[token])
        .filter(|token| token.contains('/') && project.tracks(token))
        // A document says what was true when it was written.
        .filter(|token| !token.ends_with(".md"))
        .collect();
    files.sort_unstable();
    files.dedup();
    if files.len() > MOST_FILES {
        return;
    }
    for file in files {
        let place = project.root.join(file);
        if !collection.probes.exists(&place) {
            continue;
        }
        for (word, now) in counted.of(project, file) {
            let Some(values) = said.get(word) else {
                continue;
            };
            let last = values.last_key_value();
            let Some((value, offset)) = last.filter(|_| !values.contains_key(&now.value)) else {
                continue;
            };
            if is_record(document, *offset) {
                continue;
            }
            let line = document.line_at(*offset);
            let found = Found {
                line: Some(line),
                subject: file.to_owned(),
                message: format!("says {value} where {file} says {}", now.value),
                evidence: vec![
                    counted_words(store, document, *offset),
                    Evidence {
                        text: now.text.clone(),
                        path: Some(file.to_owned()),
                        line: Some(now.line),
                        commit: project.changed(file).map(ToString::to_string),
                        marks: vec![now.value.to_string()],
                        citation: None,
                    },
                ],
                fix: None,
            };
            report.add(number, &document.memory.path, found);
        }
    }
}

/// A memory that names more files is about none of them; and how large they may be.
const MOST_FILES: usize = 3;
const LARGEST_FILE: u64 = 1 << 20;

/// Two memories about the same thing that count it differently.
pub(super) struct Disagreement<'a> {
    /// The stores and memories, with the offsets of the numbers.
    pub(super) sides: [(usize, &'a Document, usize); 2],
    pub(super) values: [u64; 2],
    /// Which of the two is newer, if their dates say so.
    pub(super) newer: Option<usize>,
}

/// The score from which two texts are about the same thing.
const ABOUT_THE_SAME: f64 = 0.3;

/// The pairs of memories that count the same thing differently.
pub(super) fn disagreements<'a>(collection: &'a Collection<'_>) -> Vec<Disagreement<'a>> {
    let pieces = collection.pieces();
    let mut known: HashMap<(usize, usize), Counts> = HashMap::new();
    let mut found = Vec::new();
    for likeness in &pieces.alike {
        if likeness.score < ABOUT_THE_SAME {
            break;
        }
        let two = [likeness.a, likeness.b].map(|piece| &pieces.all[piece]);
        if two.iter().any(|piece| piece.is_instruction) {
            continue;
        }
        let [a, b] = two.map(|piece| (piece.store, piece.document));
        if a == b {
            continue;
        }
        for key in [a, b] {
            let document = &collection.stores[key.0].documents[key.1];
            known.entry(key).or_insert_with(|| counts(&document.text));
        }
        let shared = known[&a].iter().find_map(|(word, of_a)| {
            let of_b = known[&b].get(word)?;
            let is_disjoint = of_a.keys().all(|value| !of_b.contains_key(value));
            // A memory with several counts of one thing describes how it changed.
            let is_one = of_a.len() == 1 && of_b.len() == 1;
            (is_disjoint && is_one).then_some((of_a, of_b))
        });
        let Some((of_a, of_b)) = shared else { continue };
        let (Some(x), Some(y)) = (of_a.iter().next_back(), of_b.iter().next_back()) else {
            continue;
        };
        let document = |key: (usize, usize)| &collection.stores[key.0].documents[key.1];
        // A record says what was so on its day.
        if is_record(document(a), *x.1) || is_record(document(b), *y.1) {
            continue;
        }
        let dates = [a, b].map(|key| written(document(key), collection.today));
        let newer = match dates {
            [Some(a), Some(b)] if a > b => Some(0),
            [Some(a), Some(b)] if b > a => Some(1),
            _ => None,
        };
        found.push(Disagreement {
            sides: [(a.0, document(a), *x.1), (b.0, document(b), *y.1)],
            values: [*x.0, *y.0],
            newer,
        });
    }
    found
}

/// The line of a number in a memory, with the number and the word behind it marked.
fn counted_words(store: &CuratedStore<'_>, document: &Document, at: usize) -> Evidence {
    let words = document.text[at..].split_inclusive(char::is_whitespace);
    let length: usize = words.take(2).map(str::len).sum();
    Evidence::words_of(store, document, &(at..at + length))
}

impl Disagreement<'_> {
    /// The lines of both sides.
    pub(super) fn evidence(&self, collection: &Collection<'_>) -> Vec<Evidence> {
        let sides = self.sides.iter();
        let words = |(store, document, at): &(usize, &Document, usize)| {
            counted_words(&collection.stores[*store], document, *at)
        };
        sides.map(words).collect()
    }

    /// Reports the older of the two.
    pub(super) fn add(&self, collection: &Collection<'_>, report: &mut Report<'_>, newer: usize) {
        let (by, by_document, _) = self.sides[newer];
        let (number, document, at) = self.sides[1 - newer];
        let subject = reference(collection, by, by_document, number);
        let found = Found {
            line: Some(document.line_at(at)),
            message: format!(
                "says {} where {subject}, which is newer, says {}",
                self.values[1 - newer],
                self.values[newer]
            ),
            subject,
            evidence: self.evidence(collection),
            fix: None,
        };
        report.add(number, &document.memory.path, found);
    }
}
