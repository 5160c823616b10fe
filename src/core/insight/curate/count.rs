//! Numbers in memories that a file of the project gives otherwise.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use super::claim::is_record;
use super::dead_path::tokens;
use super::document::Document;
use super::git::ProjectHistory;
use super::supersession::{counts, declared_counts};
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
    if document.memory.kind != FileKind::Memory {
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
    if files.is_empty() || files.len() > MOST_FILES {
        return;
    }
    let said = counts(&document.text);
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

/// The line of a number in a memory, with the number and the word behind it marked.
fn counted_words(store: &CuratedStore<'_>, document: &Document, at: usize) -> Evidence {
    let words = document.text[at..].split_inclusive(char::is_whitespace);
    let length: usize = words.take(2).map(str::len).sum();
    Evidence::words_of(store, document, &(at..at + length))
}
