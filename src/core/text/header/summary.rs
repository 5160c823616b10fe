//! The Summary line of a facts or episodes file, and the `##` entries below it.

use std::ops::Range;

use super::{Line, lines, newline, prose, splice};
use crate::core::text::header::Entry;
use crate::core::text::header::section::by_heading;
use crate::core::text::one_line;

/// The Summary line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// The text after `Summary:`, trimmed.
    pub text: String,
    /// The bytes of the line after `Summary:`, line ending excluded.
    span: Range<usize>,
    /// The end of the line, its line ending included.
    pub end: usize,
}

/// The first line that is `>`, blanks, `Summary:`.
pub fn find(text: &str) -> Option<Summary> {
    prose(text).find_map(|(_, line)| {
        let quoted = line.text.trim_start_matches('\u{feff}').strip_prefix('>')?;
        let value = quoted.trim_start().strip_prefix("Summary:")?;
        Some(Summary {
            text: value.trim().to_owned(),
            span: line.span.end - value.len()..line.span.end,
            end: line.end,
        })
    })
}

/// The first heading, without `#`.
pub fn title(text: &str) -> Option<&str> {
    heading(text).map(|line| line.text.trim_start_matches(['\u{feff}', '#']).trim())
}

fn heading(text: &str) -> Option<Line<'_>> {
    let mut found = prose(text).map(|(_, line)| line);
    found.find(|line| line.text.trim_start_matches('\u{feff}').starts_with("# "))
}

/// `text` with its Summary line replaced, or inserted below the first heading.
pub fn set(text: &str, summary: &str) -> String {
    let summary = one_line(summary);
    let value = if summary.is_empty() {
        String::new()
    } else {
        format!(" {summary}")
    };
    if let Some(found) = find(text) {
        return splice(text, found.span, &value);
    }
    let nl = newline(text);
    let line = format!("> Summary:{value}{nl}");
    let Some(heading) = heading(text) else {
        let bom = text.len() - text.trim_start_matches('\u{feff}').len();
        return splice(text, bom..bom, &format!("{line}{nl}"));
    };
    let at = heading.end;
    let ended = text[..at].ends_with('\n');
    let before = if ended {
        nl.to_owned()
    } else {
        format!("{nl}{nl}")
    };
    // A blank line after the heading is also the one after the summary.
    let after = match lines(text, at).next() {
        Some(next) if next.text.trim().is_empty() => "",
        Some(_) => nl,
        None => "",
    };
    splice(text, at..at, &format!("{before}{line}{after}"))
}

/// The `## title` entries with their `- Summary:` and `- Date:`.
pub fn entries(text: &str) -> Vec<Entry> {
    let mut entries = by_heading(text, 2..=2);
    for entry in &mut entries {
        let below = &text[entry.span.clone()];
        let first = |key: &str| prose(below).find_map(|(_, line)| key_value(line.text, key));
        entry.summary = first("Summary").unwrap_or_default().to_owned();
        entry.date = first("Date").map(str::to_owned);
    }
    entries
}

/// The value of a `- Key: value` line.
pub fn key_value<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let rest = line.trim_start().strip_prefix('-')?.trim_start();
    Some(rest.strip_prefix(key)?.strip_prefix(':')?.trim())
}

/// `text` without its title and its Summary line.
pub fn without_head(text: &str) -> String {
    let summary = find(text).map(|found| {
        let start = text[..found.span.start].rfind('\n').map_or(0, |at| at + 1);
        start..found.end
    });
    let title = heading(text).map(|line| line.span.start..line.end);
    let mut spans: Vec<Range<usize>> = summary.into_iter().chain(title).collect();
    spans.sort_by_key(|span| std::cmp::Reverse(span.start));
    let mut out = text.to_owned();
    for span in spans {
        let blank =
            text[span.end..].len() - text[span.end..].trim_start_matches(['\r', '\n']).len();
        out.replace_range(span.start..span.end + blank, "");
    }
    out
}

/// The maximum number of words in a Summary line that tome generates.
const MOST_WORDS: usize = 10;

/// `text` with the Summary line generated from its entries' summaries; unchanged if there are none.
pub fn regenerate(text: &str) -> String {
    let summaries = summaries(text);
    if summaries.is_empty() {
        return text.to_owned();
    }
    let made = joined(&summaries);
    match find(text) {
        Some(found) if found.text == made => text.to_owned(),
        _ => set(text, &made),
    }
}

/// `text` with a Summary line, if it has none: of its entries' summaries or, without entries, of the
/// keys of its facts.
pub fn completed(text: &str) -> String {
    let keys = || joined(&keys(text));
    match (find(text), summaries(text).is_empty()) {
        (Some(_), _) => text.to_owned(),
        (None, false) => regenerate(text),
        (None, true) if keys().is_empty() => text.to_owned(),
        (None, true) => set(text, &keys()),
    }
}

/// The keys of the facts of a file, which stand before any entry.
fn keys(text: &str) -> Vec<String> {
    let end = entries(text)
        .first()
        .map_or(text.len(), |first| first.span.start);
    let facts = prose(&text[..end]).filter_map(|(_, line)| {
        let (key, value) = line.text.strip_prefix("- ")?.split_once(": ")?;
        let is_fact = !key.trim().is_empty() && !value.trim().is_empty() && key != "Updated";
        is_fact.then(|| one_line(key))
    });
    facts.collect()
}

/// `new` with its Summary line generated again, if the line was not changed and was missing or
/// generated from `old`; otherwise `new` unchanged.
pub fn followed(old: Option<&str>, new: &str) -> String {
    let line = |text: &str| find(text).map(|found| found.text).unwrap_or_default();
    let before = old.map(line).unwrap_or_default();
    let now = line(new);
    let is_made = now.is_empty() || old.is_some_and(|old| is_made_of(old, &now));
    let is_of_keys = |old: &str| !now.is_empty() && now == joined(&keys(old));
    // A line that was changed or removed stays so.
    if now != before {
        new.to_owned()
    } else if old.is_some_and(is_of_keys) && summaries(new).is_empty() {
        set(new, &joined(&keys(new)))
    } else if is_made {
        regenerate(new)
    } else {
        new.to_owned()
    }
}

/// Whether the Summary line of `text` was generated by tome, so that it may be generated again.
pub fn is_made(text: &str) -> bool {
    let line = find(text).map(|found| found.text).unwrap_or_default();
    line.is_empty() || is_made_of(text, &line)
}

/// Whether tome generated `line` from the entries of `text` or from the first ones; other programs
/// may have added entries since.
fn is_made_of(text: &str, line: &str) -> bool {
    let summaries = summaries(text);
    (1..=summaries.len()).any(|end| joined(&summaries[..end]) == line)
}

fn summaries(text: &str) -> Vec<String> {
    let all = entries(text).into_iter().map(|entry| entry.summary);
    all.filter(|summary| !summary.is_empty()).collect()
}

/// The summaries on one line; if they have too many words, the newest that fit.
fn joined(summaries: &[String]) -> String {
    let words = |summary: &String| summary.split_whitespace().count();
    let mut left = MOST_WORDS;
    let fitting = summaries.iter().rev().take_while(|summary| {
        let fits = words(summary) <= left;
        left = left.saturating_sub(words(summary));
        fits
    });
    let first = summaries.len() - fitting.count();
    match (first, &summaries[first..]) {
        (0, all) => all.join(", "),
        (_, []) => {
            let newest = summaries.last().map(String::as_str).unwrap_or_default();
            let start: Vec<&str> = newest.split_whitespace().take(MOST_WORDS).collect();
            let before = if summaries.len() > 1 { "… " } else { "" };
            format!("{before}{}…", start.join(" "))
        }
        (_, newest) => format!("… {}", newest.join(", ")),
    }
}

/// A new entry: its heading, summary, date, tags and content.
pub fn entry(title: &str, summary: &str, date: &str, tags: &[String], content: &str) -> String {
    let mut entry = format!(
        "## {}\n- Summary: {}\n- Date: {date}\n",
        one_line(title),
        one_line(summary)
    );
    if !tags.is_empty() {
        entry.push_str(&format!("- Tags: {}\n", tags.join(", ")));
    }
    let content = content.trim_matches(['\r', '\n']);
    if !content.is_empty() {
        entry.push_str(&format!("{content}\n"));
    }
    entry
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_quoted_summary_line_is_the_files() {
        for (text, summary) in [
            ("# T\n\n> Summary: a b\n\nx", Some("a b")),
            ("# T\n>Summary:a\n", Some("a")),
            ("# T\n> Summary:\nnext line\n", Some("")),
            ("# T\n- Summary: entry's\n", None),
            ("# T\r\n> Summary: crlf\r\nx", Some("crlf")),
            (
                "> quoted\n>   Summary: later\n> Summary: third",
                Some("later"),
            ),
        ] {
            assert_eq!(find(text).map(|s| s.text).as_deref(), summary, "{text:?}");
        }
    }

    #[test]
    fn setting_replaces_the_line_or_inserts_it_under_the_heading() {
        for (before, after) in [
            ("# T\n\n> Summary: a\n\nx", "# T\n\n> Summary: new\n\nx"),
            ("# T\n\n> Summary:\n\nx", "# T\n\n> Summary: new\n\nx"),
            ("# T\n\nx\n", "# T\n\n> Summary: new\n\nx\n"),
            ("# T\nx\n", "# T\n\n> Summary: new\n\nx\n"),
            ("# T\r\nx\r\n", "# T\r\n\r\n> Summary: new\r\n\r\nx\r\n"),
            ("# T", "# T\n\n> Summary: new\n"),
            ("x\n", "> Summary: new\n\nx\n"),
            ("", "> Summary: new\n\n"),
        ] {
            assert_eq!(set(before, "new"), after, "{before:?}");
        }
    }

    #[test]
    fn what_stands_in_a_fence_is_neither_heading_nor_summary() {
        let text = "## Install\n- Summary: setup\n\n```bash\n# deps\n> Summary: no\n```\n";
        assert_eq!(title(text), None);
        assert_eq!(find(text), None);
        assert_eq!(regenerate(text), format!("> Summary: setup\n\n{text}"));
    }

    #[test]
    fn the_body_is_what_is_beside_title_and_summary() {
        assert_eq!(
            without_head("# T\n\nIntro.\n\n> Summary: s\n\nbody\n"),
            "Intro.\n\nbody\n"
        );
        assert_eq!(without_head("plain\n"), "plain\n");
    }

    #[test]
    fn entries_carry_summary_date_and_span() {
        let text = "# T\n\n## One\n- Summary: s1\n- Date: 2026-02-01\n- Why: x\n\n## Two\nfree\n```\n## not one\n```\n";
        let found = entries(text);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].summary, "s1");
        assert_eq!(found[0].date.as_deref(), Some("2026-02-01"));
        assert_eq!(found[0].line, 3);
        assert!(text[found[0].span.clone()].ends_with("- Why: x\n\n"));
        assert_eq!(found[1].summary, "");
        assert_eq!(found[1].span.end, text.len());
    }

    #[test]
    fn a_line_of_whole_summaries_was_made_and_a_part_of_one_was_not() {
        let (one, two) = ("a b c d e f g h", "i j k l m n o p");
        let text = |line: &str| {
            format!("# T\n> Summary: {line}\n\n## A\n- Summary: {one}\n\n## B\n- Summary: {two}\n")
        };
        for line in [one.to_owned(), String::new()] {
            assert!(is_made(&text(&line)), "{line}");
        }
        for line in ["a b c", "mine", "a b c d e f g h,"] {
            assert!(!is_made(&text(line)), "{line}");
        }
    }

    #[test]
    fn a_summary_that_says_the_same_keeps_its_spacing() {
        let text = "# T\n>   Summary:s1\n\n## A\n- Summary: s1\n";
        assert_eq!(regenerate(text), text);
    }

    #[test]
    fn the_first_summary_and_date_of_an_entry_count() {
        let text = "## One\n- Summary: s1\n- Summary: s2\n- Date: d1\n- Date: d2\n-Date:d3\n";
        let found = entries(text);
        assert_eq!(found[0].summary, "s1");
        assert_eq!(found[0].date.as_deref(), Some("d1"));
        assert_eq!(key_value("  -  Date: d ", "Date"), Some("d"));
        for line in ["Date: d", "- Dated: d", "- Date d", "- date: d"] {
            assert_eq!(key_value(line, "Date"), None, "{line}");
        }
    }

    #[test]
    fn an_empty_summary_leaves_no_blank_and_a_mark_before_the_text_stays_first() {
        assert_eq!(set("# T\n> Summary: a\n", " "), "# T\n> Summary:\n");
        assert_eq!(set("\u{feff}x\n", "new"), "\u{feff}> Summary: new\n\nx\n");
        assert_eq!(title("\u{feff}# T \n"), Some("T"));
        assert_eq!(without_head("> Summary: s\n# T\nbody\n"), "body\n");
    }

    #[test]
    fn regeneration_joins_the_entries_summaries_or_leaves_the_line() {
        let text = "# T\n\n> Summary: old\n\n## A\n- Summary: s1\n\n## B\n- Summary: s2\n";
        assert_eq!(
            regenerate(text),
            "# T\n\n> Summary: s1, s2\n\n## A\n- Summary: s1\n\n## B\n- Summary: s2\n"
        );
        for kept in [
            "# T\n\n> Summary: mine\n\n- Key: v\n",
            "# T\n## A\nno summary\n",
        ] {
            assert_eq!(regenerate(kept), kept);
        }
    }

    fn file(summary: &str, entries: &[&str]) -> String {
        let mut text = format!("# T\n\n> Summary: {summary}\n");
        for entry in entries {
            text.push_str(&format!("\n## E\n- Summary: {entry}\n"));
        }
        text
    }

    fn summary_of(text: &str) -> String {
        find(text).expect("a summary").text
    }

    #[test]
    fn a_summary_that_somebody_gave_is_kept() {
        let theirs = file("their own words", &["s1"]);
        let grown = file("their own words", &["s1", "s2"]);
        assert_eq!(followed(Some(&theirs), &grown), grown);
        // Given in this change, in place of a generated one.
        let made = file("s1", &["s1"]);
        let given = file("their own words", &["s1"]);
        assert_eq!(followed(Some(&made), &given), given);
        // Removed.
        let none = made.replace("> Summary: s1\n", "");
        assert_eq!(followed(Some(&made), &none), none);
        // A new file.
        assert_eq!(followed(None, &theirs), theirs);
    }

    #[test]
    fn a_summary_that_tome_made_follows_the_entries() {
        for (old, new) in [
            (file("s1", &["s1"]), file("s1", &["s1", "s2"])),
            (file("s1, x", &["s1", "x"]), file("s1, x", &["s1", "s2"])),
            // The second entry was added by another program.
            (file("s1", &["s1", "x"]), file("s1", &["s1", "s2"])),
            (file("", &["s1"]), file("", &["s1", "s2"])),
        ] {
            assert_eq!(summary_of(&followed(Some(&old), &new)), "s1, s2");
        }
        let old = "# T\n\n## E\n- Summary: s1\n";
        assert_eq!(summary_of(&followed(None, old)), "s1");
    }

    #[test]
    fn a_file_without_a_summary_gets_one_of_its_entries_or_keys() {
        for (text, made) in [
            ("# T\n\n## A\n- Summary: s1\n", "s1"),
            (
                "# T\n\n- Name: Kim\n- Role: dev\n- Updated: 2026-01-02\n- see: \n",
                "Name, Role",
            ),
        ] {
            assert_eq!(summary_of(&completed(text)), made);
        }
        for kept in ["# T\n> Summary:\n- Name: Kim\n", "# T\n\nprose\n"] {
            assert_eq!(completed(kept), kept);
        }
        let old = completed("# T\n\n- Name: Kim\n");
        let grown = format!("{old}- Role: dev\n");
        assert_eq!(summary_of(&followed(Some(&old), &grown)), "Name, Role");
        let none = "# T\n\n- Name: Kim\n";
        assert_eq!(
            followed(Some(none), none),
            none,
            "a line is not added later"
        );
    }

    #[test]
    fn a_made_summary_has_ten_words_at_most_the_newest_last() {
        for (entries, made) in [
            (vec!["a b c", "d e f g h i j"], "a b c, d e f g h i j"),
            (
                vec!["a b c d", "e f g h i j", "k l m"],
                "… e f g h i j, k l m",
            ),
            (
                vec!["a", "1 2 3 4 5 6 7 8 9 10 11"],
                "… 1 2 3 4 5 6 7 8 9 10…",
            ),
            (vec!["1 2 3 4 5 6 7 8 9 10 11"], "1 2 3 4 5 6 7 8 9 10…"),
        ] {
            let text = regenerate(&file("", &entries));
            assert_eq!(summary_of(&text), made);
            assert!(is_made(&text));
        }
    }
}
