//! Recall of the coder's lessons: the three that fit best, in full, and why.

use super::Shelf;
use super::needle::{Hay, Needles, Place};
use crate::core::citation::{Citation, Part as CitedPart};
use crate::core::layout::Layout;
use crate::core::memory::Entry;
use crate::core::query::Query;
use crate::core::text::Stems;

/// What is said when no lesson fits.
pub const NONE: &str = "No universal patterns matched your query in coder memory.";

/// How many lessons are recalled.
const MOST: usize = 3;

/// A lesson that fits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lesson {
    /// The type: episodic, procedural or semantic.
    pub category: String,
    /// Where it is.
    pub citation: Citation,
    /// The title.
    pub title: String,
    /// Why it fits, such as `title: retry; tags: http`.
    pub why: String,
    /// All of it.
    pub text: String,
}

/// Where a word of the query may be, and what it counts there.
const FIELDS: [(&str, u32); 5] = [
    ("title", 8),
    ("tags", 6),
    ("description", 3),
    ("README", 2),
    ("content", 1),
];

/// Returns the lessons that fit best: by titles and tags, then by what the READMEs of their
/// folders say of them, then by what they say themselves.
pub fn lessons(shelf: &Shelf, query: &Query) -> Vec<Lesson> {
    let needles = Needles::of(query);
    let mut found: Vec<(u32, Lesson)> = Vec::new();
    for sheet in shelf
        .sheets
        .iter()
        .filter(|sheet| sheet.layout == Layout::Coder)
    {
        let told = shelf.told_of(sheet);
        for entry in &sheet.memory.entries {
            let (score, why) = fit(&needles, entry, &told);
            if score == 0 {
                continue;
            }
            let lesson = Lesson {
                category: sheet.memory.category.clone().unwrap_or_default(),
                citation: Citation {
                    store: shelf.prefix(&sheet.store),
                    path: sheet.memory.path.clone(),
                    part: CitedPart::Entry(entry.slug()),
                },
                title: entry.title.clone(),
                why,
                text: body(&sheet.text[entry.span.clone()]).to_owned(),
            };
            found.push((score, lesson));
        }
    }
    found.sort_by(|(a, _), (b, _)| b.cmp(a));
    found.truncate(MOST);
    found.into_iter().map(|(_, lesson)| lesson).collect()
}

/// Returns how well an entry fits, and the words that say so.
fn fit(needles: &Needles, entry: &Entry, told: &str) -> (u32, String) {
    let tags = entry.tags.join(" ");
    let texts = [&entry.title, &tags, &entry.summary, told, &entry.content];
    let mut best = vec![0; needles.all.len()];
    let mut why = Vec::new();
    for ((name, weight), text) in FIELDS.into_iter().zip(texts) {
        let mut places: Vec<Place> = Vec::new();
        needles.find(Hay::of_words(text), &mut Stems::default(), &mut places);
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
    // Two words in the body say more than one of them twice.
    (covered * best.iter().sum::<u32>(), why.join("; "))
}

/// Returns an entry without the line that parts it from the next.
fn body(entry: &str) -> &str {
    let entry = entry.trim();
    let entry = entry.strip_suffix("---").unwrap_or(entry);
    entry.strip_prefix("---").unwrap_or(entry).trim()
}
