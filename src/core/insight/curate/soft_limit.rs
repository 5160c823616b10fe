//! What a layout recommends: the length of summaries, lessons and files.

use super::document::Document;
use super::{Collection, CuratedStore, Evidence, Found, Report, Rule, Severity};
use crate::core::memory::layout::Layout;
use crate::core::text::header::Entry;

pub(super) const RULE: Rule = Rule {
    id: "soft-limit",
    severity: Severity::Note,
    about: "a summary, a lesson or a file outside the length that its layout recommends",
    check,
};

/// The most words of a summary in a facts store.
const SUMMARY_WORDS: usize = 10;

/// The most lessons and bytes of a file in a coder store.
const LESSONS: usize = 10;
const LESSON_BYTES: u64 = 8 << 10;

fn check(collection: &Collection<'_>, report: &mut Report<'_>) {
    for (number, store) in collection.stores.iter().enumerate() {
        for document in store.memories() {
            let told = match store.store.layout() {
                Layout::Facts => long_summary(store, document).into_iter().collect(),
                Layout::Coder => lessons(store, document),
                _ => Vec::new(),
            };
            for found in told {
                report.add(number, &document.memory.path, found);
            }
        }
    }
}

fn long_summary(store: &CuratedStore<'_>, document: &Document) -> Option<Found> {
    let summary = &document.memory.summary;
    // The sign that something was left out is no word.
    let words = summary.split_whitespace().filter(|word| *word != "…");
    let words = words.count();
    if words <= SUMMARY_WORDS {
        return None;
    }
    let line = document.line_at(document.text.find(summary.as_str()).unwrap_or(0));
    Some(Found {
        line: Some(line),
        subject: "summary".to_owned(),
        message: format!("the summary has {words} words, more than {SUMMARY_WORDS}"),
        evidence: vec![Evidence::line(store, document, line)],
        fix: None,
    })
}

fn lessons(store: &CuratedStore<'_>, document: &Document) -> Vec<Found> {
    let memory = &document.memory;
    let mut told = Vec::new();
    let count = memory.entries.len();
    if count > LESSONS || memory.size > LESSON_BYTES {
        told.push(Found {
            line: None,
            subject: "file".to_owned(),
            message: format!(
                "has {count} lessons and {} bytes; a file holds at most {LESSONS} and 8 KB, and `tome rename {}#LESSON OTHER.md` moves one",
                memory.size, memory.path
            ),
            evidence: vec![Evidence::words(format!(
                "{count} lessons, {} bytes",
                memory.size
            ))],
            fix: None,
        });
    }
    for entry in &memory.entries {
        told.extend(lesson(store, document, entry));
    }
    told
}

fn lesson(store: &CuratedStore<'_>, document: &Document, entry: &Entry) -> Option<Found> {
    let sentences = sentences(&entry.content);
    let is_tagged = entry
        .tags
        .iter()
        .any(|tag| tag.eq_ignore_ascii_case("success") || tag.eq_ignore_ascii_case("failure"));
    let mut wrong = Vec::new();
    if !(3..=5).contains(&sentences) {
        wrong.push(format!("{sentences} sentences instead of 3 to 5"));
    }
    if !is_tagged {
        wrong.push("no tag #success or #failure".to_owned());
    }
    (!wrong.is_empty()).then(|| Found {
        line: Some(entry.line),
        subject: entry.slug.clone(),
        message: format!("the lesson \"{}\" has {}", entry.title, wrong.join(" and ")),
        evidence: vec![Evidence::line(store, document, entry.line)],
        fix: None,
    })
}

/// The number of sentences; an item of a list counts as one.
fn sentences(text: &str) -> usize {
    let mut count = 0;
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let ends = line
            .char_indices()
            .filter(|(at, c)| {
                let rest = &line[at + c.len_utf8()..];
                matches!(c, '.' | '!' | '?') && rest.starts_with(' ')
                    || matches!(c, '。' | '！' | '？') && !rest.is_empty()
            })
            .count();
        let is_item = line.starts_with(['-', '*', '+']);
        let is_closed = line.ends_with(['.', '!', '?', '。', '！', '？', ':']);
        count += ends + usize::from(is_item || is_closed);
    }
    count.max(usize::from(!text.trim().is_empty()))
}
