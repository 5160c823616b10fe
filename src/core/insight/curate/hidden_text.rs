//! Characters that a person does not see and an agent reads.

use std::ops::Range;

use super::document::Document;
use super::fix::Fix;
use super::{Collection, Evidence, Found, Report, Rule, Severity};
use crate::core::text::hidden::is_hidden;

pub(super) const RULE: Rule = Rule {
    id: "hidden-text",
    severity: Severity::Error,
    about: "invisible characters, or characters that change the reading direction",
    check,
};

fn check(collection: &Collection<'_>, report: &mut Report<'_>) {
    for (number, store) in collection.stores.iter().enumerate() {
        for document in &store.documents {
            let text = &document.text;
            let hidden = text
                .char_indices()
                .filter(|(at, c)| is_unwanted(document, *at, *c));
            let hidden: Vec<(usize, char)> = hidden.collect();
            let Some((first, _)) = hidden.first() else {
                continue;
            };
            let mut kinds: Vec<char> = hidden.iter().map(|(_, c)| *c).collect();
            kinds.sort_unstable();
            kinds.dedup();
            let names: Vec<String> = kinds
                .iter()
                .take(4)
                .map(|c| format!("U+{:04X}", u32::from(*c)))
                .collect();
            let line = document.line_at(*first);
            let mut evidence = Evidence::line(store, document, line);
            evidence.text = shown(&evidence.text);
            let edits = hidden
                .iter()
                .map(|(at, c)| Some((removable(text, *at, *c)?, String::new())));
            let edits: Option<Vec<_>> = edits.collect();
            let fix = edits.map(|edits| {
                let words = "removes the hidden characters".to_owned();
                Fix::replace(&document.memory.path, edits, words)
            });
            let found = Found {
                line: Some(line),
                subject: names.join(" "),
                message: format!(
                    "has {} hidden characters ({}): an agent reads what a person does not see",
                    hidden.len(),
                    names.join(", ")
                ),
                evidence: vec![evidence],
                fix,
            };
            report.add(number, &document.memory.path, found);
        }
    }
}

/// What can go with a hidden character so that plain text is left: itself, or the whole sequence for a
/// terminal. Other controls are what is left of text in another encoding, which a person must look
/// at, and without a separator two lines become one.
fn removable(text: &str, at: usize, c: char) -> Option<Range<usize>> {
    if c == '\u{1b}' {
        let sequence = text[at..].strip_prefix("\u{1b}[")?;
        let end = sequence.find(|c: char| c.is_ascii_alphabetic())?;
        let is_plain = |c: char| c.is_ascii_digit() || c == ';' || c == '?';
        return sequence[..end]
            .chars()
            .all(is_plain)
            .then(|| at..at + 3 + end);
    }
    let is_other = c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{fff0}'..='\u{fffb}');
    (!is_other).then(|| at..at + c.len_utf8())
}

/// Whether a character is hidden and has no reason to be there: a byte order mark at the start has
/// one, and so have single soft hyphens and the marks of scripts that are written from right to left.
fn is_unwanted(document: &Document, at: usize, c: char) -> bool {
    if !is_hidden(c) || matches!(c, '\n' | '\r' | '\t') || at == 0 && c == '\u{feff}' {
        return false;
    }
    const SOFT_HYPHEN: char = '\u{ad}';
    if c == SOFT_HYPHEN {
        let (before, after) = (&document.text[..at], &document.text[at + c.len_utf8()..]);
        return before.ends_with(SOFT_HYPHEN) || after.starts_with(SOFT_HYPHEN);
    }
    if is_in_flag(&document.text, at, c) {
        return false;
    }
    let is_mark = matches!(c, '\u{200e}' | '\u{200f}' | '\u{61c}');
    let mut line = document.line_text(document.line_at(at)).chars();
    !is_mark || !line.any(is_right_to_left_letter)
}

/// Whether a tag character is a part of the flag of a region, such as Scotland's: a black flag,
/// the tags of a short code, and the end tag.
fn is_in_flag(text: &str, at: usize, c: char) -> bool {
    /// The most letters of a region's code.
    const LONGEST: usize = 6;
    let is_tag = |c: char| matches!(c, '\u{e0020}'..='\u{e007f}');
    if !is_tag(c) {
        return false;
    }
    let before = text[..at].chars().rev().take(LONGEST + 1);
    let is_after_flag = before.clone().find(|c| !is_tag(*c)) == Some('\u{1f3f4}');
    let mut after = text[at..]
        .chars()
        .take(LONGEST + 1)
        .take_while(|c| is_tag(*c));
    is_after_flag && after.any(|c| c == '\u{e007f}')
}

/// A letter of Hebrew, Arabic, Syriac, Thaana or N'Ko.
fn is_right_to_left_letter(c: char) -> bool {
    matches!(c, '\u{590}'..='\u{7ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}')
        && c.is_alphabetic()
}

/// The line with hidden characters spelled out.
fn shown(line: &str) -> String {
    let mut out = String::new();
    for c in line.chars() {
        if is_hidden(c) && c != '\t' {
            out.push_str(&format!("‹U+{:04X}›", u32::from(c)))
        } else {
            out.push(c)
        }
    }
    out
}
