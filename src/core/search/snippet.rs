//! One line of a text around a match.

use crate::core::text::clip;

/// The maximum number of characters of a snippet, dots included.
pub(in crate::core) const LONGEST: usize = 300;

/// How many characters before the match are kept if the beginning is cut off.
const BEFORE: usize = 60;

/// Returns the text around byte `at` on one line: newlines become blanks, and `...` replaces
/// text that does not fit.
pub(in crate::core) fn around(text: &str, at: usize) -> String {
    const DOTS: &str = "...";
    let text = text.trim_end();
    let skipped = text.len() - text.trim_start().len();
    let (text, at) = (&text[skipped..], at.saturating_sub(skipped));
    let at = clip(text, at).len();
    let fits = text.chars().nth(LONGEST).is_none();
    let shown_from_start = LONGEST - BEFORE - DOTS.len();
    let is_near_start = text[..at].chars().nth(shown_from_start - 1).is_none();
    let (start, dots) = if fits || is_near_start {
        (0, "")
    } else {
        let wanted = text[..at].char_indices().rev().nth(BEFORE - 1);
        let start = wanted.map_or(0, |(start, _)| start);
        // Starts at a word if one begins before the match.
        let mut nearby = text[start..at].char_indices();
        let blank = nearby.find(|(_, char)| char.is_whitespace());
        let skipped = blank.map_or(0, |(blank, char)| blank + char.len_utf8());
        (start + skipped, DOTS)
    };
    let rest = &text[start..];
    let room = LONGEST - dots.len();
    let mut line: String = dots.to_owned();
    match rest.chars().nth(room) {
        None => line.push_str(rest),
        Some(_) => {
            line.extend(rest.chars().take(room - DOTS.len()));
            line.push_str(DOTS);
        }
    }
    line.replace(['\n', '\r', '\t'], " ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_short_text_is_shown_whole_on_one_line() {
        assert_eq!(around("  a\nb\r\nc  ", 5), "a b  c");
        assert_eq!(around("", 9), "");
        let full = "é".repeat(LONGEST);
        assert_eq!(around(&full, 5), full);
    }

    #[test]
    fn a_long_text_is_cut_around_the_match() {
        let text = format!("{} needle {}", "word ".repeat(200), "more ".repeat(200));
        let at = text.find("needle").expect("it is there");
        let line = around(&text, at);
        assert!(line.starts_with("...word "), "{line}");
        assert!(line.contains(" needle more") && line.ends_with("..."));
        assert!(around(&text, 3).starts_with("word word"));
    }

    proptest! {
        #[test]
        fn no_snippet_is_too_long_and_none_leaves_its_match_out(
            text in "(\\PC|[a-z\n ]){0,900}",
            at in 0usize..2000,
        ) {
            let line = around(&text, at);
            prop_assert!(line.chars().count() <= LONGEST);
            prop_assert!(!line.contains('\n'));
            if let Some(char) = text.get(at..).and_then(|rest| rest.chars().next()) {
                prop_assert!(char.is_whitespace() || line.contains(char));
            }
        }
    }
}
