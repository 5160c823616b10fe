//! Divides a message into clauses, and tells what each of them is about by its words.

use std::sync::LazyLock;

use regex::Regex;

use super::PointKind;
use crate::core::insight::timeline::event::begin;
use crate::core::text::display::safe;
use crate::core::text::{fold, is_common};

/// How much of a message is read, in bytes: the rest of a longer one is mostly pasted.
const READ: usize = 6_000;

/// The most words of a clause; the rest of a longer one is cut off.
const MOST_WORDS: usize = 24;

/// The fewest words of the part of a sentence that stands for it.
const LEAST_WORDS: usize = 6;

/// Compiles a pattern of this module; a pattern that is wrong fails the tests. Borders of words are
/// those of ASCII, which are found much faster in text that has other characters.
fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a valid pattern")
}

/// Placeholders of images, and the targets of links.
static DROPPED: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\[image[^\]\n]*\]|\]\([^)\s]*\)|https?://\S+"));

/// The end of a sentence.
static END: LazyLock<Regex> = LazyLock::new(|| pattern(r#"[.!?…]["')]?\s+"#));

/// Where a long sentence can be ended.
static BREAK: LazyLock<Regex> = LazyLock::new(|| pattern(r"; |:? [—–-] |: | \("));

/// Abbreviations before a full stop that ends no sentence.
const ABBREVIATIONS: [&str; 5] = ["e.g", "i.e", "etc", "vs", "cf"];

/// The marks of headings, lists and quotations.
static MARK: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^(?:[#>*•-]+|\d+[.)])\s+(?:\[[ x]\]\s+)?"));

/// The name of a speaker before what is said.
static SPEAKER: LazyLock<Regex> = LazyLock::new(|| pattern(r"^([\p{Lu}][\w.'-]{1,30}): "));

/// Words that open a sentence and say nothing.
static LEAD: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?x)^(?:wow|yeah|yep|yes|oh|hey|hi|hello|thanks|thank\ you|thanks\ so\ much|awesome|great
        |cool|nice|well|so|and|but|sure|absolutely|definitely|totally|also|actually|honestly|btw
        |by\ the\ way|anyway|no|ok|okay|haha|aww|woah|whoa|for\ sure|of\ course|glad|good|perfect
        |that's\ (?:awesome|great|cool)|(?-i:\p{Lu}\p{Ll}+))(?:,?\ (?-i:\p{Lu}\p{Ll}+))?[,!.]+\ +",
    )
});

/// Words before a request.
static REQUEST: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi)^(?:please|can\ (?:you|we)|could\ (?:you|we)|would\ you|(?:i|we)\ (?:want|need|would\ like)
        (?:\ you)?\ to|i'd\ like\ (?:you\ )?to|let's|let\ us|let\ me|now|ok(?:ay)?|yes|and|then|also|so|hey|hi)[,\ ]+",
    )
});

/// What a user says who wants nothing new.
static CONSENT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi)^(?:(?:yes|yep|ok(?:ay)?|sure|please|and|then)[,.\ ]+)*(?:go\ ahead|continue|proceed|carry\ on|keep\ going
        |(?:sounds|looks)\ good|lgtm|do\ it|try\ again|agreed?)(?-u:\b)",
    )
});

/// What an agent says about its next step, which is seen in the step itself.
static CHATTER: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi)(?:^|,\ )(?:now\ )?let\ me(?-u:\b)
        |^(?:(?:now\ |next,?\ )?i(?:'|’)?(?:ll|m)(?-u:\b)|i\ (?:will|am)(?-u:\b)|i\ won(?:'|’)t|now\ (?:i|the|let)(?-u:\b)
        |(?:i\ )?(?:now\ )?have\ (?:the|all|exact|everything|enough|what)(?-u:\b)|got\ it|understood|ok(?:ay)?(?-u:\b)
        |next(?-u:\b)|checking|looking|running|reading|searching|waiting|still\ (?:running|waiting)|good(?-u:\b)|great(?-u:\b)
        |perfect(?-u:\b)|you(?:'|’)re\ right|here(?:'|’)s)",
    )
});

static PROBLEM: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi)(?-u:\b)(?:root\ cause|the\ (?:problem|cause)|bug|fail(?:s|ed|ing|ure)?|broken?|broke
        |crash(?:es|ed)?|regression|error|panic(?:s|ked)?|wrong|missing|flaky|leak(?:s|ed)?)(?-u:\b)",
    )
});

static DECISION: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi)(?-u:\b)(?:decid(?:e|ed|es|ing)|decision|chose|choose|agreed?|instead|rather\ than|go(?:ing)?\ with|prefer(?:red)?
        |recommend(?:ed|ation)?|should|must|keep|use\ the|switch(?:ed)?\ to|better)(?-u:\b)",
    )
});

static OPEN: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?xi)(?-u:\b)(?:not\ (?:pushed|yet|run|tested|committed|verified|done)|remaining|remains|still\ (?:need|fail|open|to)\w*
        |left\ (?:to|for|open)|to-?do|next\ steps?|follow-?ups?|open\ questions?|pending|want\ me\ to|would\ you\ like
        |let\ me\ know|blocked|unresolved|wait(?:s|ing)\ for|needs?\ (?:a|your|to\ be))(?-u:\b)",
    )
});

static FIRST_PERSON: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)(?-u:\b)(?:i|my|me|we|our|us|mine|myself|ours)(?-u:\b)"));

static SECOND_PERSON: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)(?-u:\b)(?:you|your|yours|u)(?-u:\b)"));

/// A clause of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Clause {
    /// The text, on one line, without marks and secrets.
    pub(super) text: String,
    /// Whether it asks.
    pub(super) is_question: bool,
}

/// Returns the name that stands before what is said, and the rest.
pub(super) fn speaker(text: &str) -> (Option<&str>, &str) {
    match SPEAKER.captures(text) {
        Some(found) => {
            let name = found.get(1).map_or("", |name| name.as_str());
            (Some(name), &text[found[0].len()..])
        }
        None => (None, text),
    }
}

/// Returns the clauses of a message, without code, tables and quoted output.
pub(super) fn clauses(text: &str) -> Vec<Clause> {
    let text = safe(begin(text, READ));
    let text = DROPPED.replace_all(&text, "");
    let mut found = Vec::new();
    let mut is_code = false;
    for line in text.lines() {
        let line = line.trim();
        if line.starts_with("```") || line.starts_with("~~~") {
            is_code = !is_code;
        } else if !is_code && !line.starts_with(['|', '<', '{', '+', '@']) && is_prose(line) {
            let line = MARK.replace(line, "");
            let plain: String = line
                .chars()
                .filter(|c| !matches!(c, '`' | '*' | '[' | ']'))
                .collect();
            found.extend(sentences(&plain));
        }
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

fn sentences(line: &str) -> Vec<Clause> {
    let mut found = Vec::new();
    let mut from = 0;
    let is_end = |end: &regex::Match<'_>| {
        let before = &line[..end.start()];
        !ABBREVIATIONS.iter().any(|short| before.ends_with(short))
    };
    let ends = END.find_iter(line).filter(is_end).map(|end| end.end());
    for end in ends.chain([line.len()]) {
        found.extend(clause(&line[from..end]));
        from = end;
    }
    found
}

/// Returns a sentence as a clause; of a long one the part before a dash, a colon or the like, or
/// else its beginning.
fn clause(text: &str) -> Option<Clause> {
    let text = text.trim();
    let is_question = text.ends_with('?');
    let count = |text: &str| text.split_whitespace().count();
    let text = if count(text) > MOST_WORDS {
        let parts = BREAK.find_iter(text).map(|end| &text[..end.start()]);
        let fitting = parts.filter(|part| (LEAST_WORDS..=MOST_WORDS).contains(&count(part)));
        match fitting.last() {
            Some(part) => part.to_owned(),
            None => {
                let words: Vec<&str> = text.split_whitespace().take(MOST_WORDS).collect();
                format!("{}…", words.join(" "))
            }
        }
    } else {
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let text = text.trim_end_matches([';', ',', ' ']);
    (!text.is_empty()).then(|| Clause {
        text: text.to_owned(),
        is_question,
    })
}

/// Returns a clause of a talk without the words that open it and say nothing.
pub(super) fn without_lead(mut text: &str) -> &str {
    while let Some(lead) = LEAD.find(text) {
        text = &text[lead.end()..];
    }
    text
}

/// Returns a request without the words before it.
pub(super) fn without_request(mut text: &str) -> &str {
    while let Some(lead) = REQUEST.find(text) {
        text = &text[lead.end()..];
    }
    text
}

/// Returns how much a clause of work reads like a sentence: a fragment, a list of names or the
/// announcement of a list says little by itself.
pub(super) fn prose_weight(text: &str) -> f64 {
    let (mut common, mut all, mut plain) = (0, 0, 0);
    for word in text.split_whitespace() {
        all += 1;
        let bare = word.trim_matches(|c: char| c.is_ascii_punctuation());
        common += usize::from(is_common(&fold(bare)));
        plain += usize::from(bare.chars().all(|c| c.is_alphabetic() || "-'’".contains(c)));
    }
    let mut weight = 1.0;
    if common * 8 < all {
        weight *= 0.5;
    }
    if plain * 4 < all * 3 {
        weight *= 0.6;
    }
    if text.ends_with(':') {
        weight *= 0.3;
    }
    weight
}

/// Returns how much a clause of a talk says about its speaker.
pub(super) fn statement_weight(clause: &Clause) -> f64 {
    if clause.is_question {
        return 0.02;
    }
    let is_first = FIRST_PERSON.is_match(&clause.text);
    let is_second = SECOND_PERSON.is_match(&clause.text);
    match (is_first, is_second) {
        (true, false) => 3.0,
        (true, true) => 2.0,
        (false, true) => 0.45,
        (false, false) => 1.0,
    }
}

/// Returns how much a clause of a request asks for.
pub(super) fn request_weight(text: &str) -> f64 {
    if CONSENT.is_match(text) { 0.2 } else { 1.0 }
}

/// Returns what a clause of an agent's answer is about, and how much it says.
pub(super) fn answer_kind(text: &str) -> (PointKind, f64) {
    let weight = if CHATTER.is_match(text) { 0.15 } else { 1.0 };
    let kind = if OPEN.is_match(text) {
        PointKind::Open
    } else if PROBLEM.is_match(text) {
        PointKind::Problem
    } else if DECISION.is_match(text) {
        PointKind::Decided
    } else {
        PointKind::Done
    };
    (kind, weight)
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
                    | a | b |\n```\nlet x = 1;\n```\n1. Tests pass: All of them.\n{\"a\":1}\n";
        assert_eq!(
            texts(text),
            [
                "What shipped",
                "Added retry to the client.",
                "It waits — at most 5 s.",
                "Tests pass: All of them.",
            ]
        );
        assert!(texts("").is_empty());
        assert_eq!(texts("Why? [image: a dog]"), ["Why?"]);
        assert_eq!(
            texts("Use a lock, e.g. a file; "),
            ["Use a lock, e.g. a file"]
        );
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

    #[test]
    fn openings_are_left_out() {
        assert_eq!(without_lead("Hey Mel! Wow, I moved."), "I moved.");
        assert_eq!(without_lead("Sofia moved."), "Sofia moved.");
        assert_eq!(without_request("can you please fix it"), "fix it");
        assert_eq!(speaker("Ann: hello"), (Some("Ann"), "hello"));
        assert_eq!(speaker("note: hello"), (None, "note: hello"));
    }

    #[test]
    fn a_sentence_says_more_than_a_fragment() {
        let sentence = prose_weight("The lock is removed when the process ends.");
        for fragment in [
            "Pusher fragility (push.go:32)",
            "Parser rewrite tests",
            "This is what was changed in the parser:",
        ] {
            assert!(prose_weight(fragment) < sentence, "{fragment}");
        }
    }

    #[test]
    fn an_answer_is_known_by_its_words() {
        for (text, kind) in [
            ("The root cause is a stale lock", PointKind::Problem),
            ("We go with a queue instead of a lock", PointKind::Decided),
            ("Committed on next, not pushed", PointKind::Open),
            ("Added a retry to the client", PointKind::Done),
        ] {
            assert_eq!(answer_kind(text).0, kind, "{text}");
        }
        for (consent, is_it) in [
            ("go ahead with the plan", true),
            ("Yes, please continue with that", true),
            ("Yes, start with the parser", false),
            ("continuous ramps are wanted", false),
        ] {
            assert_eq!(request_weight(consent) < 1.0, is_it, "{consent}");
        }
        for chatter in [
            "Let me check the file",
            "While they work, let me look at the parser",
            "Have exact code now.",
            "I won’t merge until it passes.",
        ] {
            assert!(answer_kind(chatter).1 < answer_kind("Added it").1);
        }
    }
}
