//! Entries of a file that are sections below headings, or that lines `§` separate; and the bytes
//! that an edit or a removal of an entry concerns.

use std::collections::HashMap;
use std::ops::{Range, RangeInclusive};

use super::{Entry, Line, lines, prose, slug};

/// The line between two entries of a file without headings.
const MARK: &str = "§";

/// The level and the title of a heading.
pub fn heading(line: &str) -> Option<(usize, &str)> {
    let level = line.len() - line.trim_start_matches('#').len();
    let title = line[level..].strip_prefix([' ', '\t'])?;
    (1..=6).contains(&level).then(|| (level, title.trim()))
}

/// The sections below headings of these levels. One of a higher level contains those below it.
pub fn by_heading(text: &str, levels: RangeInclusive<usize>) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut open: Vec<(usize, usize)> = Vec::new();
    for (number, line) in prose(text) {
        let Some((level, title)) = heading(line.text) else {
            continue;
        };
        while let Some((_, at)) = open.pop_if(|(outer, _)| *outer >= level) {
            entries[at].span.end = line.span.start;
        }
        if levels.contains(&level) {
            open.push((level, entries.len()));
            entries.push(Entry {
                title: title.to_owned(),
                depth: open.len() - 1,
                line: number,
                span: line.span.start..text.len(),
                ..Entry::default()
            });
        }
    }
    with_slugs(entries)
}

/// The texts between lines `§`, each named by its first line; none if there is no such line.
pub fn by_mark(text: &str) -> Vec<Entry> {
    let marks: Vec<Line<'_>> = lines(text, 0).filter(|line| is_mark(line.text)).collect();
    if marks.is_empty() {
        return Vec::new();
    }
    let starts = std::iter::once(0).chain(marks.iter().map(|mark| mark.end));
    let ends = marks.iter().map(|mark| mark.span.start);
    let spans = starts.zip(ends.chain([text.len()]));
    let entries = spans.filter_map(|(start, end)| {
        let said = text[start..end].trim_matches(BLANK);
        let first = said.lines().next().filter(|line| !line.is_empty())?;
        let at = start + text[start..end].find(first)?;
        Some(Entry {
            title: beginning(first),
            line: text[..at].matches('\n').count() + 1,
            span: at..end,
            ..Entry::default()
        })
    });
    with_slugs(entries.collect())
}

fn is_mark(line: &str) -> bool {
    line.trim() == MARK
}

/// The first words of a line, of which a script without blanks has few: so many characters at most.
fn beginning(line: &str) -> String {
    const MOST_WORDS: usize = 8;
    const MOST_CHARACTERS: usize = 80;
    let words: Vec<&str> = line.split_whitespace().take(MOST_WORDS).collect();
    words.join(" ").chars().take(MOST_CHARACTERS).collect()
}

const BLANK: [char; 5] = ['\u{feff}', '\r', '\n', ' ', '\t'];

/// The entries with the fragments that refer to them; equal titles are numbered.
pub(super) fn with_slugs(mut entries: Vec<Entry>) -> Vec<Entry> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    for entry in &mut entries {
        let name = slug(&entry.title);
        let times = seen.entry(name.clone()).or_default();
        *times += 1;
        entry.slug = match *times {
            1 => name,
            again => format!("{name}-{again}"),
        };
    }
    entries
}

/// The innermost entry that has this byte.
pub fn entry_at(entries: &[Entry], at: usize) -> Option<&Entry> {
    let mut entries = entries.iter().rev();
    entries.find(|entry| entry.span.contains(&at))
}

/// The bytes of an entry without the blank lines and the separator after it.
pub fn own_span(text: &str, entry: &Entry) -> Range<usize> {
    let mut end = entry.span.end;
    loop {
        let kept = text[entry.span.start..end].trim_end_matches(BLANK);
        match separator(kept).filter(|at| *at > 0) {
            Some(at) => end = entry.span.start + at,
            None => return entry.span.start..entry.span.start + kept.len(),
        }
    }
}

/// The bytes to take out with an entry: its own, and one of the separators beside it.
pub fn removal_span(text: &str, entry: &Entry) -> Range<usize> {
    let span = entry.span.clone();
    if let Some(next) = lines(text, span.end).next()
        && is_mark(next.text)
    {
        return span.start..next.end;
    }
    // A heading needs no separator before it: what looks like one is of the text above.
    let is_section = lines(text, span.start)
        .next()
        .is_some_and(|line| heading(line.text).is_some());
    let is_last = text[span.end..].trim_matches(BLANK).is_empty();
    let before = text[..span.start].trim_end_matches(BLANK);
    match separator(before) {
        Some(at) if is_last && !is_section => at..span.end,
        _ => span,
    }
}

/// Where the last line of a text starts, if it separates entries. Right below a text, `---` makes a
/// heading of it or ends a header.
fn separator(text: &str) -> Option<usize> {
    let last = text.rfind('\n').map_or(0, |at| at + 1);
    let is_apart = || {
        text[..last]
            .lines()
            .next_back()
            .is_none_or(|line| line.trim().is_empty())
    };
    match text[last..].trim() {
        MARK => Some(last),
        "---" if is_apart() => Some(last),
        _ => None,
    }
}

/// `text` with an entry replaced. The heading stays if the new text does not begin with one.
pub fn replace_entry(text: &str, entry: &Entry, with: &str) -> String {
    let mut span = own_span(text, entry);
    let first = lines(text, span.start).next();
    let with = with.trim_matches(['\r', '\n']);
    let level = |line: &str| heading(line).map(|(level, _)| level);
    if let Some(first) = first
        && let Some(old) = level(first.text)
        && level(with.lines().next().unwrap_or_default()) != Some(old)
    {
        let body = text[first.end..span.end.max(first.end)].trim_start_matches(['\r', '\n']);
        span.start = span.end.max(first.end) - body.len();
        if body.is_empty() {
            let nl = super::newline(text);
            let ended = text[..first.end].ends_with('\n');
            let gap = if ended { nl.to_owned() } else { nl.repeat(2) };
            return super::splice(
                text,
                first.end..first.end,
                &format!("{gap}{}{nl}", super::fitted(text, with)),
            );
        }
    }
    super::splice(text, span, &super::fitted(text, with))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn slugs(entries: &[Entry]) -> Vec<&str> {
        entries.iter().map(|entry| entry.slug.as_str()).collect()
    }

    #[test]
    fn sections_contain_those_below_them_and_equal_titles_are_numbered() {
        let text = "# Task Group: a\nscope: x\n\n## Task 1: t\nbody\n\n```\n## no\n```\n\
                    <!--\n## no\n-->\n## User preferences\n- p\n\n# Task Group: b\n\n## Task 1: t\nz\n";
        let entries = by_heading(text, 1..=2);
        assert_eq!(
            slugs(&entries),
            [
                "task-group-a",
                "task-1-t",
                "user-preferences",
                "task-group-b",
                "task-1-t-2"
            ]
        );
        assert_eq!(
            entries.iter().map(|e| e.depth).collect::<Vec<_>>(),
            [0, 1, 1, 0, 1]
        );
        assert!(text[entries[0].span.clone()].ends_with("- p\n\n"));
        assert!(text[entries[1].span.clone()].ends_with("-->\n"));
        assert_eq!(entries[4].line, 18);
    }

    #[test]
    fn a_removed_entry_takes_one_separator_with_it() {
        let removed = |text: &str, at: usize| {
            let entries = by_mark(text);
            super::super::splice(text, removal_span(text, &entries[at]), "")
        };
        let text = "one\nmore\n§\ntwo\n§\nthree\n";
        assert_eq!(removed(text, 0), "two\n§\nthree\n");
        assert_eq!(removed(text, 1), "one\nmore\n§\nthree\n");
        assert_eq!(removed(text, 2), "one\nmore\n§\ntwo\n");
        assert!(by_mark("no mark\n").is_empty());
    }

    #[test]
    fn a_removed_section_takes_nothing_of_the_text_above() {
        let removed = |text: &str| {
            let entries = by_heading(text, 2..=2);
            let last = entries.last().expect("a section");
            super::super::splice(text, removal_span(text, last), "")
        };
        for above in [
            "---\ndescription: d\n---\n\n",
            "Some text\n---\n\n",
            "## A\nx\n\n---\n\n",
        ] {
            assert_eq!(removed(&format!("{above}## Only\nfoo\n")), above);
        }
        let text = "## A\nSome text\n---\n\n## B\n";
        let entries = by_heading(text, 2..=2);
        assert_eq!(&text[own_span(text, &entries[0])], "## A\nSome text\n---");
    }

    #[test]
    fn a_fence_ends_with_as_many_signs_as_it_began() {
        for text in [
            "## A\n````\n```\n## no\n```\n## no\n````\n## B\n",
            "## A\n```sh\n## no\n```sh\n## no\n```\n## B\n",
            "## A\n~~~\n```\n## no\n~~~ \n## B\n",
            "## A\n```code``` in a line\n## B\n",
        ] {
            assert_eq!(slugs(&by_heading(text, 2..=2)), ["a", "b"], "{text}");
        }
    }

    #[test]
    fn a_replaced_entry_keeps_its_heading_unless_another_is_given() {
        let text = "# T\n\n## A\n\nold\n\n## B\nb\n";
        let entries = by_heading(text, 2..=2);
        let replaced = |at: usize, with: &str| replace_entry(text, &entries[at], with);
        assert_eq!(replaced(0, "new\n"), "# T\n\n## A\n\nnew\n\n## B\nb\n");
        assert_eq!(replaced(0, "## C\nnew"), "# T\n\n## C\nnew\n\n## B\nb\n");
        assert_eq!(replaced(1, "new"), "# T\n\n## A\n\nold\n\n## B\nnew\n");
        let bare = "## A\n## B";
        let entries = by_heading(bare, 2..=2);
        assert_eq!(replace_entry(bare, &entries[0], "x"), "## A\n\nx\n## B");
        assert_eq!(replace_entry(bare, &entries[1], "x"), "## A\n## B\n\nx\n");
    }

    proptest! {
        #[test]
        fn an_edit_of_an_entry_leaves_every_byte_outside_it(
            parts in prop::collection::vec("(# a|## b|### c|§|---|```|<!--|-->|text é|\r|)\n?", 0..14),
            at in any::<prop::sample::Index>(),
        ) {
            let text = parts.concat();
            for entries in [by_heading(&text, 1..=2), by_heading(&text, 2..=3), by_mark(&text)] {
                if entries.is_empty() {
                    continue;
                }
                let entry = &entries[at.index(entries.len())];
                let own = own_span(&text, entry);
                prop_assert!(entry.span.start <= own.start && own.end <= entry.span.end);
                let changed = replace_entry(&text, entry, "new text");
                prop_assert!(changed.starts_with(&text[..entry.span.start]));
                prop_assert!(changed.ends_with(&text[entry.span.end..]));
                let removal = removal_span(&text, entry);
                prop_assert!(removal.start <= entry.span.start && entry.span.end <= removal.end);
                prop_assert!(text.is_char_boundary(removal.start) && text.is_char_boundary(removal.end));
            }
        }
    }
}
