//! Recall of the coder's lessons: the three best, in full, with the reason of each.

use super::needle::Needles;
use crate::core::memory::FileKind;
use crate::core::memory::citation::{Citation, CitedPart};
use crate::core::memory::layout::Layout;
use crate::core::memory::texts::{MemoryText, MemoryTexts};
use crate::core::search::query::Query;
use crate::core::text::grip_comment::without_grips;

/// The answer if no lesson matches.
pub const NONE: &str = "No universal patterns matched your query in coder memory.";

/// The maximum number of lessons.
const MOST: usize = 3;

/// A lesson that matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lesson {
    /// The type: episodic, procedural or semantic.
    pub category: String,
    /// The citation of the lesson.
    pub citation: Citation,
    /// The lesson's title.
    pub title: String,
    /// The words that match, such as `title: retry; tags: http`.
    pub why: String,
    /// The whole text.
    pub text: String,
}

/// The fields that are searched, and the weight of a word in each.
const FIELDS: [(&str, u32); 6] = [
    ("title", 8),
    ("tags", 6),
    ("description", 3),
    ("README", 2),
    ("path", 2),
    ("content", 1),
];

/// Returns the lessons that match best: by titles and tags, then by the lines of READMEs
/// about them, then by their content. A line of a README that says something else is recalled by
/// itself.
pub fn lessons(memories: &MemoryTexts, query: &Query) -> Vec<Lesson> {
    let needles = Needles::of(query);
    let indexes = memories.indexes();
    let mut found: Vec<(u32, Lesson)> = Vec::new();
    let texts = memories.texts.iter();
    let mut texts: Vec<&MemoryText> = texts.filter(|text| text.layout == Layout::Coder).collect();
    // Of those that match equally well, lessons go before lines of READMEs.
    texts.sort_by_key(|text| text.memory.kind == FileKind::Index);
    for memory_text in texts {
        let readme = memory_text.readme_text(&indexes);
        let pieces = match memory_text.memory.kind {
            FileKind::Memory => pieces(memory_text, &readme),
            FileKind::Index => readme_lines(memory_text),
            _ => continue,
        };
        for piece in pieces {
            let (score, why) = score_entry(&needles, &piece);
            if score == 0 {
                continue;
            }
            let lesson = Lesson {
                category: memory_text.memory.category.clone().unwrap_or_default(),
                citation: Citation {
                    store: memories.prefix(&memory_text.store),
                    path: memory_text.memory.path.clone(),
                    part: piece.part,
                    mark: None,
                },
                title: match piece.title {
                    "" => memory_text.memory.title.clone(),
                    title => title.to_owned(),
                },
                why,
                text: without_grips(body(piece.text)),
            };
            found.push((score, lesson));
        }
    }
    found.sort_by(|(a, _), (b, _)| b.cmp(a));
    found.truncate(MOST);
    found.into_iter().map(|(_, lesson)| lesson).collect()
}

/// A text that is recalled by itself: a lesson, a file without lessons, the text of a file before
/// its first lesson, or a line of a README.
struct RecallableText<'a> {
    part: CitedPart,
    title: &'a str,
    tags: &'a [String],
    summary: &'a str,
    /// The text of the READMEs about it, and the path.
    around: [&'a str; 2],
    text: &'a str,
}

/// Splits a file into the texts that are recalled by themselves; `readme` is about all of it.
fn pieces<'a>(memory_text: &'a MemoryText, readme: &'a str) -> Vec<RecallableText<'a>> {
    let memory = &memory_text.memory;
    // A path describes its only lesson, but not each of several.
    let path = match memory.entries.len() {
        0 | 1 => memory.path.as_str(),
        _ => "",
    };
    let around = [readme, path];
    let lessons = memory.entries.iter().map(|entry| RecallableText {
        part: CitedPart::Entry(entry.slug.clone()),
        title: &entry.title,
        tags: &entry.tags,
        summary: &entry.summary,
        around,
        text: &memory_text.text[entry.span.clone()],
    });
    let whole = RecallableText {
        part: CitedPart::Whole,
        title: &memory.title,
        tags: &[],
        summary: &memory.summary,
        around,
        text: &memory_text.text,
    };
    let rest = match memory.entries.first() {
        None => whole,
        // Title, README and path describe the lessons.
        Some(first) => RecallableText {
            title: "",
            summary: "",
            around: [""; 2],
            text: &memory_text.text[..first.span.start],
            ..whole
        },
    };
    lessons.chain([rest]).collect()
}

/// Returns the lines of a README that say more than the lessons do.
fn readme_lines(readme: &MemoryText) -> Vec<RecallableText<'_>> {
    let lines = readme.lines();
    let lines = lines.filter(|(_, span)| !readme.is_repeat(span.start));
    let pieces = lines.map(|(line, span)| RecallableText {
        part: CitedPart::Lines(line..=line),
        title: "",
        tags: &[],
        summary: "",
        around: [&readme.text[span.clone()], ""],
        text: &readme.text[span],
    });
    pieces.collect()
}

/// Returns the text without the labels that mark its parts.
fn unlabelled(text: &str) -> String {
    let mut text = text.to_owned();
    for label in ["Title", "Description", "Content", "Tags"] {
        text = text.replace(&format!("**{label}:**"), "");
    }
    text
}

/// Returns the score of a piece, and the words that match.
fn score_entry(needles: &Needles, piece: &RecallableText<'_>) -> (u32, String) {
    let (tags, words) = (piece.tags.join(" "), unlabelled(piece.text));
    let [readme, path] = piece.around;
    let texts = [piece.title, &tags, piece.summary, readme, path, &words];
    let mut best = vec![0; needles.all.len()];
    let mut why = Vec::new();
    for ((name, weight), text) in FIELDS.into_iter().zip(texts) {
        let places = needles.places(text);
        let mut words: Vec<usize> = places.iter().map(|place| place.needle).collect();
        words.sort_unstable();
        words.dedup();
        words.retain(|word| best[*word] == 0);
        words.iter().for_each(|word| best[*word] = weight);
        let words: Vec<&str> = words
            .iter()
            .map(|word| needles.all[*word].word.as_str())
            .collect();
        if !words.is_empty() {
            why.push(format!("{name}: {}", words.join(", ")));
        }
    }
    let covered = best.iter().filter(|weight| **weight > 0).count() as u32;
    // Two different words in the body count more than one word twice.
    (covered * best.iter().sum::<u32>(), why.join("; "))
}

/// Returns an entry without the separator line before or after it.
fn body(entry: &str) -> &str {
    let entry = entry.trim();
    let entry = entry.strip_suffix("---").unwrap_or(entry);
    entry.strip_prefix("---").unwrap_or(entry).trim()
}
