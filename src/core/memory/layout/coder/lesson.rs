//! Finds lessons that are similar to a new one: by title and tags first, then by description and
//! body. Recalling lessons is in [`crate::core::search::lesson`].

use std::collections::BTreeSet;

use super::TYPES;
use crate::core::Result;
use crate::core::memory::store::Store;
use crate::core::text::header::{Entry, label};
use crate::core::text::{fold, stem, words};

/// A similar lesson, and why it matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimilarLesson {
    /// The file.
    pub path: String,
    /// The entry in the file.
    pub entry: Entry,
    /// The words that it shares with the query, best field first.
    pub why: String,
    score: usize,
}

impl SimilarLesson {
    /// The type.
    pub fn category(&self) -> &str {
        self.path.split('/').next().unwrap_or_default()
    }

    /// The citation of the lesson.
    pub fn citation(&self) -> String {
        format!("{}#{}", self.path, self.entry.slug.clone())
    }

    /// Whether a lesson with this title and content would repeat this one.
    pub fn repeats(&self, title: &str, content: &str) -> bool {
        let same = |ours: &str, theirs: &str| {
            let (ours, theirs) = (stems(ours), stems(theirs));
            let shared = ours.intersection(&theirs).count();
            let all = ours.union(&theirs).count();
            // Two thirds of all words are shared.
            all > 0 && shared * 3 >= all * 2
        };
        same(&self.entry.title, title) || same(&self.entry.content, content)
    }

    /// The lesson on one line.
    pub fn one_line(&self) -> String {
        format!("- {}: {} ({})", self.citation(), self.entry.title, self.why)
    }
}

/// The lessons of a store that share words with the title and the tags of a new one, best first.
pub fn similar_lessons(store: &Store, title: &str, tags: &[String]) -> Result<Vec<SimilarLesson>> {
    let wanted = stems(&format!("{title} {}", topics(tags)));
    let mut found = Vec::new();
    for memory in store.list()? {
        let Ok(Some(text)) = store.text(&memory.path) else {
            continue;
        };
        for entry in label::entries(&text) {
            found.extend(score_lesson(&memory.path, entry, &wanted));
        }
    }
    found.sort_by(|a, b| b.score.cmp(&a.score).then_with(|| a.path.cmp(&b.path)));
    Ok(found)
}

fn score_lesson(path: &str, entry: Entry, wanted: &BTreeSet<String>) -> Option<SimilarLesson> {
    let places = [
        ("title", format!("{} {path}", entry.title), 4),
        ("tags", topics(&entry.tags), 3),
        ("description", entry.summary.clone(), 2),
        ("body", entry.content.clone(), 1),
    ];
    let mut score = 0;
    let mut reasons = Vec::new();
    let mut left = wanted.clone();
    for (place, words, weight) in places {
        let words = stems(&words);
        let shared: Vec<String> = left.intersection(&words).cloned().collect();
        if !shared.is_empty() {
            score += weight * shared.len();
            reasons.push(format!("{place}: {}", shared.join(", ")));
            left.retain(|word| !shared.contains(word));
        }
    }
    // One or two words of a long query in the body alone are not enough.
    let met = wanted.len() - left.len();
    let enough = met > 0 && (score > met || met * 2 >= wanted.len());
    enough.then(|| SimilarLesson {
        path: path.to_owned(),
        entry,
        why: reasons.join("; "),
        score,
    })
}

/// The tags that say what a lesson is about. Lessons about anything share the others.
fn topics(tags: &[String]) -> String {
    let tags = tags.iter().map(|tag| tag.trim_start_matches('#'));
    let about: Vec<&str> = tags
        .filter(|tag| !["success", "failure"].contains(tag) && !TYPES.contains(tag))
        .collect();
    about.join(" ")
}

fn stems(text: &str) -> BTreeSet<String> {
    const SHORTEST: usize = 3;
    words(text)
        .map(|word| fold(word.text).into_owned())
        .filter(|word| !word.is_ascii() || word.len() >= SHORTEST)
        .filter(|word| !STOP.contains(&word.as_str()))
        .map(|word| stem(&word).into_owned())
        .collect()
}

/// Words that are ignored.
const STOP: [&str; 24] = [
    "and", "are", "but", "can", "does", "for", "from", "has", "have", "how", "into", "not", "that",
    "the", "them", "then", "this", "was", "what", "when", "where", "why", "with", "you",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::text::header::slug;

    fn lesson(title: &str, tags: &[&str], description: &str, content: &str) -> Entry {
        Entry {
            title: title.to_owned(),
            slug: slug(title),
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
            summary: description.to_owned(),
            content: content.to_owned(),
            ..Entry::default()
        }
    }

    #[test]
    fn words_in_the_body_alone_must_be_half_of_the_query() {
        let entry = || lesson("Pool", &[], "", "retry with jitter");
        let fits = |query: &str| score_lesson("semantic/x.md", entry(), &stems(query)).is_some();
        assert!(fits("retry"));
        assert!(fits("retry deadlock"));
        assert!(!fits("retry deadlock timeout"));
        assert!(fits("retry jitter deadlock timeout"));
        assert!(
            fits("pool deadlock timeout"),
            "a word of the title is enough"
        );
        assert!(!fits("deadlock"));
        assert!(!fits("the with"), "words that say nothing");
        assert!(!fits(""));
    }

    #[test]
    fn outcome_and_type_make_no_lessons_similar() {
        let entry = || lesson("Pool", &["pools", "failure", "episodic"], "", "");
        let fits = |title: &str, tags: &[&str]| {
            let tags: Vec<String> = tags.iter().map(|tag| (*tag).to_owned()).collect();
            let wanted = stems(&format!("{title} {}", topics(&tags)));
            score_lesson("semantic/x.md", entry(), &wanted).is_some()
        };
        assert!(!fits("Charset of a header", &["#failure", "episodic"]));
        assert!(!fits("A failure of the printer", &[]));
        assert!(fits("Charset of a header", &["failure", "pools"]));
    }

    #[test]
    fn a_lesson_says_why_it_fits_best_place_first() {
        let entry = lesson("Retry pool", &["jitter"], "backoff", "deadlock");
        let wanted = stems("deadlock backoff jitter retry");
        let found = score_lesson("semantic/x.md", entry, &wanted).expect("fits");
        assert_eq!(
            found.why,
            "title: retri; tags: jitter; description: backoff; body: deadlock"
        );
        assert_eq!(found.score, 4 + 3 + 2 + 1);
        assert_eq!(
            found.one_line(),
            format!("- semantic/x.md#retry-pool: Retry pool ({})", found.why)
        );
        let both = lesson("Retry pool", &[], "", "of it");
        let both = score_lesson("semantic/x.md", both, &stems("retry pool of it"));
        assert_eq!(both.expect("fits").score, 8, "short words do not count");
        assert_eq!(found.category(), "semantic");
        assert_eq!(found.citation(), "semantic/x.md#retry-pool");
    }

    #[test]
    fn most_of_the_words_of_both_say_the_same() {
        let entry = lesson("Retry with jitter", &[], "", "Wait before each try.");
        let found = score_lesson("semantic/x.md", entry, &stems("jitter")).expect("fits");
        assert!(found.repeats("Retry with jitter", "else"));
        assert!(found.repeats("jitter retry", "else"));
        assert!(!found.repeats("jitter", "else"), "one of two words");
        assert!(found.repeats("else", "wait before each try"));
        assert!(!found.repeats("", ""));
        let entry = lesson("alpha beta gamma delta", &[], "", "");
        let found = score_lesson("semantic/x.md", entry, &stems("alpha")).expect("fits");
        assert!(
            !found.repeats("alpha beta gamma omega", ""),
            "three of five"
        );
        assert!(
            found.repeats("alpha beta gamma delta omega", ""),
            "four of five"
        );
    }
}
