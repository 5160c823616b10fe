//! Text that reads like orders to the agent that are not the user's: to ignore its instructions,
//! to hide something from the user, to send data away, to run what it downloads.
//!
//! Memories are full of instructions ("never push to main"); those are what they are for. What is
//! reported takes the agent away from its user. Text that speaks about such attacks is not one.

mod patterns;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use aho_corasick::AhoCorasick;
use regex::{Regex, RegexBuilder};

use super::document::Document;
use super::{Collection, Evidence, Found, Report, Rule, Severity};
use patterns::PATTERNS;

pub(super) const RULE: Rule = Rule {
    id: "orders",
    severity: Severity::Error,
    about: "text that reads like orders to the agent against its user",
    check,
};

/// The regular expression for `~`: up to six words of one sentence.
const FEW: &str = r"(?:[ \t\r\n]*(?:[^\s!?;]*[^\s.!?;][ \t\r\n]+){0,6}?)";

/// The regular expression of a pattern, in which `_` stands for blanks and `~` for a few words.
fn expanded(pattern: &str) -> String {
    let blanks = r"(?:[ \t\r\n]+)";
    let mut out = String::new();
    let mut in_class = false;
    let mut escaped = false;
    for c in pattern.chars() {
        match c {
            '[' if !escaped => in_class = true,
            ']' if !escaped => in_class = false,
            _ => {}
        }
        match c {
            '_' if !in_class && !escaped => out.push_str(blanks),
            '~' if !in_class && !escaped => out.push_str(FEW),
            c => out.push(c),
        }
        escaped = c == '\\' && !escaped;
    }
    out
}

/// Each pattern, compiled when one of its words is seen for the first time.
static COMPILED: [OnceLock<Regex>; PATTERNS.len()] = [const { OnceLock::new() }; PATTERNS.len()];

fn compiled(number: usize) -> &'static Regex {
    COMPILED[number].get_or_init(|| {
        RegexBuilder::new(&expanded(PATTERNS[number].pattern))
            .case_insensitive(true)
            .size_limit(64 << 20)
            .build()
            .expect("a valid pattern")
    })
}

/// The words of all patterns, and the numbers of the patterns of each.
struct Words {
    finder: AhoCorasick,
    patterns: Vec<Vec<usize>>,
}

static WORDS: LazyLock<Words> = LazyLock::new(|| {
    let mut patterns: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (number, pattern) in PATTERNS.iter().enumerate() {
        for word in pattern.words {
            patterns.entry(word).or_default().push(number);
        }
    }
    Words {
        finder: AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .build(patterns.keys())
            .expect("a few hundred short words make an automaton"),
        patterns: patterns.into_values().collect(),
    }
});

/// How far an order reaches on each side of one of its words, in bytes.
const REACH: usize = 300;

/// The parts of a text in which each pattern may find something, by its number.
fn windows(text: &str) -> BTreeMap<usize, Vec<Range<usize>>> {
    let mut found: BTreeMap<usize, Vec<Range<usize>>> = BTreeMap::new();
    for word in WORDS.finder.find_overlapping_iter(text) {
        let mut start = word.start().saturating_sub(REACH);
        while !text.is_char_boundary(start) {
            start -= 1;
        }
        let mut end = (word.end() + REACH).min(text.len());
        while !text.is_char_boundary(end) {
            end += 1;
        }
        for number in &WORDS.patterns[word.pattern().as_usize()] {
            let known = found.entry(*number).or_default();
            match known.last_mut() {
                Some(last) if start <= last.end => {
                    *last = last.start.min(start)..last.end.max(end);
                }
                _ => known.push(start..end),
            }
        }
    }
    found
}

/// Words of text that speaks about attacks instead of being one.
static ABOUT: LazyLock<Regex> = LazyLock::new(|| {
    RegexBuilder::new(
        r"\b(?:prompt[ -]?injections?|jailbreaks?|attack(?:s|er|ers)?|malicious|adversar\w+|phishing|red[ -]team\w*|payloads?|exploits?|untrusted|sanitiz\w+|detect(?:s|ed|ion|ing)?|scanner|blocklist|refus(?:e|es|ed|al|als)|evaluat(?:es?|ion)|filters?|flag(?:s|ged)|must be blocked|injected|threat|reject(?:s|ed)?|poison(?:ed|ing)?|owasp|such as|for example|e\.g\.|test(?:s|ed|ing)? (?:case|that|for)|fixture|regex|pattern)\b|注入|攻击|인젝션|공격|インジェクション|攻撃",
    )
    .case_insensitive(true)
    .build()
    .expect("a valid pattern")
});

/// A word that turns "without asking" into its opposite: "never push without asking".
static NEGATED: LazyLock<Regex> = LazyLock::new(|| {
    RegexBuilder::new(
        r"\b(?:never|not|don't|don’t|no|nothing|nobody|avoid|nie|niemals|nicht|kein\w*|jamais|pas|nunca|mai|non|não|nooit|niet|nigdy)\b|不|勿",
    )
    .case_insensitive(true)
    .build()
    .expect("a valid pattern")
});

/// "Without" in the languages of the patterns.
static WITHOUT: LazyLock<Regex> = LazyLock::new(|| {
    RegexBuilder::new(r"^(?:without|ohne|sans|sin|senza|sem|zonder|bez)\b")
        .case_insensitive(true)
        .build()
        .expect("a valid pattern")
});

fn check(collection: &Collection<'_>, report: &mut Report<'_>) {
    for (number, store) in collection.stores.iter().enumerate() {
        for document in &store.documents {
            for (what, at) in orders(document) {
                let line = document.line_at(at);
                let found = Found {
                    line: Some(line),
                    subject: what.to_owned(),
                    message: format!("{what}: it may not be the user who wrote this"),
                    evidence: vec![Evidence::line(store, document, line)],
                    fix: None,
                };
                report.add(number, &document.memory.path, found);
            }
        }
    }
}

/// The orders in a text, each kind once, with its offset.
fn orders(document: &Document) -> Vec<(&'static str, usize)> {
    let text = &document.text;
    let mut found: Vec<(&'static str, usize)> = Vec::new();
    for (number, parts) in windows(text) {
        let what = PATTERNS[number].does;
        let mut orders = parts.iter().flat_map(|part| {
            let found = compiled(number).find_iter(&text[part.clone()]);
            found.map(|order| part.start + order.start()..part.start + order.end())
        });
        let order = orders.find(|order| {
            let sentence = document.sentence(order);
            let quoted = is_quoted(text, order.start) || document.is_code(order.start);
            let at = order.start.saturating_sub(document.offset_of(sentence));
            let before = sentence.get(..at).unwrap_or_default();
            // A quotation needs the words near it; plain text that speaks of attacks names them
            // before the order.
            let is_about = ABOUT.is_match(before)
                || quoted && (ABOUT.is_match(sentence) || ABOUT.is_match(lead(text, order.start)));
            let is_negated = WITHOUT.is_match(&text[order.clone()]) && NEGATED.is_match(before);
            !is_about && !is_negated
        });
        if let Some(order) = order
            && !found.iter().any(|(known, _)| *known == what)
        {
            found.push((what, order.start));
        }
    }
    found
}

/// How far before a quotation the words may be that say what it is, in bytes.
const LEAD: usize = 240;

/// The text before the byte `at` that may introduce a quotation.
fn lead(text: &str, at: usize) -> &str {
    let mut start = at.saturating_sub(LEAD);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..at]
}

/// Whether a quotation mark precedes the byte `at` on its line.
fn is_quoted(text: &str, at: usize) -> bool {
    let line = text[..at].rsplit('\n').next().unwrap_or_default();
    let open = ['"', '“', '«', '‘', '「'].iter();
    open.map(|mark| line.matches(*mark).count()).sum::<usize>() % 2 == 1
        || line.trim_start().starts_with('>')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::memory::Memory;

    fn found(text: &str) -> Vec<&'static str> {
        let document = Document::new(Memory::bare("a.md", 0), text.to_owned());
        orders(&document)
            .into_iter()
            .map(|(what, _)| what)
            .collect()
    }

    #[test]
    fn orders_against_the_user_are_found_and_text_about_them_is_not() {
        use super::super::tests::poison::{BAD, GOOD};
        let missed: Vec<&&str> = BAD.iter().filter(|text| found(text).is_empty()).collect();
        let documents = [
            include_str!("../../../../README.md"),
            include_str!("../../../../CHANGELOG.md"),
            include_str!("../../../../assets/guides/memory-store-guide.md"),
            include_str!("../../../../assets/guides/memory-recall-guide.md"),
        ];
        let paragraphs = documents.iter().flat_map(|text| text.split("\n\n"));
        let good = GOOD.iter().copied().chain(paragraphs);
        let wrong: Vec<&str> = good.filter(|text| !found(text).is_empty()).collect();
        assert!(
            missed.is_empty() && wrong.is_empty(),
            "{missed:#?} {wrong:#?}"
        );
    }
}
