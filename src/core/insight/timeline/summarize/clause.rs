//! Divides a message into clauses.

use std::sync::LazyLock;

use regex::Regex;

use crate::core::text::clip;
use crate::core::text::display::safe;

/// How much of a message is read, in bytes: the rest of a longer one is mostly pasted.
const READ: usize = 6_000;

/// The most words of a clause; the rest of a longer one is cut off.
const MOST_WORDS: usize = 24;

/// The fewest words of the part of a sentence that stands for it.
const LEAST_WORDS: usize = 6;

/// Compiles a pattern of the summarizer; a pattern that is wrong fails the tests. Borders of words are
/// those of ASCII, which are found much faster in text that has other characters.
pub(super) fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a valid pattern")
}

/// Placeholders of images, links with their texts, and addresses.
static LINK: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?x)\[[Ii]mage[^\]\n]*\] | \[(?P<text>[^\]\n]*)\]\([^)\s]*\) | https?://(?P<address>[^\s)>]+)",
    )
});

/// Returns the text of a link, or the last two parts of an address, which tell most.
fn told(link: &regex::Captures<'_>) -> String {
    if let Some(text) = link.name("text") {
        return text.as_str().to_owned();
    }
    let address = link.name("address").map_or("", |address| address.as_str());
    // With a name of a user it is what the message is about.
    if address.contains('@') {
        return link[0].to_owned();
    }
    let mut parts: Vec<&str> = address.trim_end_matches('/').rsplit('/').take(2).collect();
    parts.reverse();
    parts.join("/")
}

/// The end of a sentence.
static END: LazyLock<Regex> = LazyLock::new(|| pattern(r#"[.!?…]["')]?\s+|[。！？]"#));

/// Where a long sentence can be ended.
static BREAK: LazyLock<Regex> = LazyLock::new(|| pattern(r"; |:? [—–-] |: |, (?:so|but|which)\b"));

/// Abbreviations before a full stop that ends no sentence.
const ABBREVIATIONS: [&str; 5] = ["e.g", "i.e", "etc", "vs", "cf"];

/// The marks of headings, lists and quotations.
static MARK: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^(?:[#>*•-]+|\d+[.)])\s+(?:\[[ x]\]\s+)?"));

/// The heading of a section of proposals, or of what is left to do.
static LATER: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi)(?-u:\b)(?:next|remaining|open|todo|follow-?ups?|left|plan(?:ned)?|proposal|proposed|options?|recommend\w*|suggest\w*|would|could|should|if|to\ do|paths?
        |approach(?:es)?|how\ (?:to|it|this|they)|tried|attempt(?:s|ed)|structure|contents|layout|background|what\ they|example|trade-?offs?|questions?|alternatives?|experiments?|outcomes?|ideas?|steps|test\ plan|want|not\ (?:done|fixed|changed|in\ scope))(?-u:\b)",
    )
});

/// A clause of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Clause {
    /// The text, on one line, without marks and secrets.
    pub(super) text: String,
    /// Whether it asks.
    pub(super) is_question: bool,
    /// Whether its sentence goes on.
    pub(super) is_cut: bool,
    /// The line of the message on which it begins, from 1.
    pub(super) line: usize,
    /// Whether it stands among proposals, or what is left to do.
    pub(super) is_later: bool,
}

/// Returns the clauses of a message, without code, tables and quoted output. A line that ends with a
/// colon announces what follows and is none.
pub(super) fn clauses(text: &str) -> Vec<Clause> {
    let text = safe(clip(text, READ));
    let text = LINK.replace_all(&text, told);
    let mut found: Vec<Clause> = Vec::new();
    let mut is_later = false;
    let mut is_code = false;
    // A sentence that goes on in the next line, and the line on which it begins.
    let mut open: Option<(String, usize)> = None;
    for (line, number) in text.lines().zip(1..) {
        let line = line.trim();
        let is_fence = line.starts_with("```") || line.starts_with("~~~");
        is_code ^= is_fence;
        let is_pasted = line.starts_with(['|', '<', '{', '}', '+', '@', '$', '❯', '%', '>', ':']);
        let is_text = !is_fence && !is_code && !is_pasted && is_prose(line);
        let is_next = is_text && line.starts_with(char::is_lowercase);
        let has_ended = |begun: &str| begun.ends_with(['.', '!', '?']);
        if let Some((begun, at)) = open.take_if(|(begun, _)| !is_next || has_ended(begun)) {
            found.extend(sentences(&begun, at, is_later));
        }
        if !is_text {
            continue;
        }
        let bare = MARK.replace(line, "");
        let plain: String = bare.chars().filter(|c| !matches!(c, '`' | '*')).collect();
        let is_bold = line.starts_with("**") && line.ends_with("**");
        if line.starts_with('#') || plain.ends_with([':', '：']) || is_bold {
            is_later = LATER.is_match(&plain);
            if !line.starts_with('#') && !is_bold {
                // The sentences before the announcement.
                let end = END.find_iter(&plain).last().map_or(0, |end| end.end());
                found.extend(sentences(&plain[..end], number, false));
            }
            continue;
        }
        match &mut open {
            Some((begun, _)) => {
                begun.push(' ');
                begun.push_str(&plain);
            }
            None => open = Some((plain, number)),
        }
    }
    if let Some((begun, at)) = open {
        found.extend(sentences(&begun, at, is_later));
    }
    found
}

/// Whether a line consists mostly of words.
fn is_prose(line: &str) -> bool {
    let (mut letters, mut all) = (0, 0);
    for c in line.chars() {
        all += 1;
        letters += usize::from(c.is_alphabetic() || c == ' ');
    }
    all > 0 && letters * 10 >= all * 7
}

fn sentences(text: &str, line: usize, is_later: bool) -> Vec<Clause> {
    let mut found = Vec::new();
    let mut from = 0;
    let is_end = |end: &regex::Match<'_>| {
        let before = &text[..end.start()];
        !ABBREVIATIONS.iter().any(|short| before.ends_with(short))
    };
    let ends = END.find_iter(text).filter(is_end).map(|end| end.end());
    for end in ends.chain([text.len()]) {
        found.extend(clause(&text[from..end], line, is_later));
        from = end;
    }
    found
}

/// Returns a sentence as a clause; of a long one the part before a dash, a colon or the like, or
/// else its beginning.
fn clause(text: &str, line: usize, is_later: bool) -> Option<Clause> {
    let text = text.trim();
    let is_question = text.ends_with(['?', '？']);
    let count = |text: &str| text.split_whitespace().count();
    let mut is_cut = false;
    let text = if count(text) > MOST_WORDS {
        let parts = BREAK.find_iter(text).map(|end| &text[..end.start()]);
        let fitting = parts.filter(|part| (LEAST_WORDS..=MOST_WORDS).contains(&count(part)));
        match fitting.last() {
            Some(part) => part.to_owned(),
            None => {
                is_cut = true;
                let words: Vec<&str> = text.split_whitespace().take(MOST_WORDS).collect();
                format!("{}…", words.join(" "))
            }
        }
    } else {
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let text = text.trim_end_matches([';', ',', ' ', ':', '—', '–']);
    (!text.is_empty()).then(|| Clause {
        text: text.to_owned(),
        is_question,
        is_cut,
        line,
        is_later,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        clauses(text).into_iter().map(|found| found.text).collect()
    }

    #[test]
    fn a_message_is_divided_at_sentences_without_code_tables_and_marks() {
        let text = "## What shipped\n\n- **Added** `retry` to [the client](src/a.rs:3). It waits — at most 5 s.\n\
                    | a | b |\n```\nlet x = 1;\n```\nThis is it. The rest:\n1. Tests pass: All of them.\n{\"a\":1}\n";
        assert_eq!(
            texts(text),
            [
                "Added retry to the client.",
                "It waits — at most 5 s.",
                "This is it.",
                "Tests pass: All of them.",
            ]
        );
        assert!(texts("").is_empty());
        assert_eq!(texts("Why? [image: a dog]"), ["Why?"]);
        assert_eq!(
            texts("Use a lock, e.g. a file; "),
            ["Use a lock, e.g. a file"]
        );
        assert_eq!(texts("a line that\ngoes on"), ["a line that goes on"]);
        assert_eq!(
            texts("첫째 문장。둘째 문장。"),
            ["첫째 문장。", "둘째 문장。"]
        );
        let see = "see https://example.org/o/r/pull/66 for it";
        assert_eq!(texts(see), ["see pull/66 for it"]);
        let user = "check for https://user@example.com/r.git too";
        assert_eq!(texts(user), [user]);
    }

    #[test]
    fn a_clause_knows_its_line() {
        let lines: Vec<usize> = clauses("One is here.\n\n- Two. Three.\nand\nmore")
            .iter()
            .map(|found| found.line)
            .collect();
        assert_eq!(lines, [1, 3, 3, 4]);
    }

    #[test]
    fn a_long_clause_is_cut_and_says_so() {
        let found = texts(&"word ".repeat(50));
        assert_eq!(found.len(), 1);
        assert!(found[0].ends_with("word…"), "{found:?}");
        assert_eq!(found[0].split(' ').count(), MOST_WORDS);
        let found = texts(&format!(
            "The lock is removed when it ends — {}",
            "word ".repeat(30)
        ));
        assert_eq!(found, ["The lock is removed when it ends"]);
    }

    #[test]
    fn a_secret_is_masked_before_its_message_is_divided() {
        let found = texts("Use ghp_16C7e42F292c6912E7710c838347Ae178B4a. Done.").join(" ");
        assert!(!found.contains("16C7e42F292c6912"), "{found}");
        assert!(found.contains("Done."), "{found}");
    }
}
