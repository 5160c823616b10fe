//! The label block of a lesson: `**Title:**`, `**Description:**`, `**Content:**`,
//! `**Tags:**`, with `---` between the entries of a file. In an older dialect an entry is a heading
//! `## 2025-10-30: Title`, `## Workflow: Name` or `## Pattern: Name` with free text below it.
//!
//! Text before, between or after the labels belongs to the entry it follows, so that splitting a
//! file into entries loses nothing.

use std::collections::HashSet;
use std::ops::Range;

use super::section::with_slugs;
use super::{Line, lines, newline, prose, replaced};
use crate::core::text::header::Entry;
use crate::core::text::one_line;

/// The entries of a file, in order.
pub fn entries(text: &str) -> Vec<Entry> {
    let all: Vec<Line<'_>> = lines(text, 0).collect();
    let outside_of_code: HashSet<usize> = prose(text).map(|(number, _)| number - 1).collect();
    let mut entries: Vec<Entry> = Vec::new();
    let mut gap = 0;
    let mut label = "";
    for (number, line) in all.iter().enumerate() {
        let is_code = !outside_of_code.contains(&number);
        let found = labelled(line.text).filter(|_| !is_code);
        let headed = headed(line.text).filter(|_| !is_code && !is_before_title(&all[number + 1..]));
        let start = match (&found, &headed) {
            (Some(("Title", _)), _) if entries.is_empty() => Some(line.span.start),
            (Some(("Title", _)), _) => Some(gap),
            (_, Some(_)) => Some(line.span.start),
            _ => None,
        };
        if let Some(start) = start {
            if let Some(last) = entries.last_mut() {
                last.span.end = start.max(last.span.start);
            }
            let (date, title) = headed.unwrap_or(("", found.map_or("", |(_, title)| title)));
            entries.push(Entry {
                title: title.to_owned(),
                date: (!date.is_empty()).then(|| date.to_owned()),
                line: number + 1,
                span: start..text.len(),
                ..Entry::default()
            });
        }
        let is_rule = line.text.trim_end() == "---" && !is_code;
        if headed.is_some() {
            (label, gap) = (FREE, line.end);
            continue;
        }
        if is_rule || found.is_some() {
            label = found.map_or("", |(label, _)| label);
            gap = line.end;
        }
        if let Some(entry) = entries.last_mut() {
            add_field(entry, label, found.map_or(line.text, |(_, value)| value));
        }
        if matches!(label, "Tags" | FREE) {
            // A note after the tags stays with its entry.
            gap = line.end;
        }
    }
    for entry in &mut entries {
        finish(text, entry);
    }
    with_slugs(entries)
}

/// The label of text below the heading of an entry, which has none of its own.
const FREE: &str = "free text";

/// What the headings of entries that have no date begin with.
const KINDS: [&str; 4] = ["Workflow", "Pattern", "Principle", "Pattern/Principle"];

/// The date, if there is one, and the title of the heading of an entry in the older dialect.
fn headed(line: &str) -> Option<(&str, &str)> {
    let heading = line.strip_prefix("## ")?.trim_start();
    let (date, title) = heading.split_once(": ")?;
    if KINDS.contains(&date.trim()) && !title.trim().is_empty() {
        return Some(("", title.trim()));
    }
    let date = date.trim().trim_start_matches('[').trim_end_matches(']');
    let mut parts = date.split(['-', '/']);
    let is_number = |part: Option<&str>, digits: usize| {
        part.is_some_and(|p| p.len() == digits && p.bytes().all(|b| b.is_ascii_digit()))
    };
    let is_month = is_number(parts.next(), 4) && is_number(parts.next(), 2);
    let day = parts.next();
    let is_day = day.is_none() || is_number(day, 2);
    let is_date = is_month && is_day && parts.next().is_none();
    (is_date && !title.trim().is_empty()).then(|| (date, title.trim()))
}

/// Whether a labelled entry starts before the next heading or rule; the heading above it is then
/// only decoration.
fn is_before_title(below: &[Line<'_>]) -> bool {
    below
        .iter()
        .take_while(|line| !line.text.starts_with('#') && line.text.trim_end() != "---")
        .any(|line| matches!(labelled(line.text), Some(("Title", _))))
}

fn finish(text: &str, entry: &mut Entry) {
    let mut seen = HashSet::new();
    entry.tags.retain(|tag| seen.insert(tag.clone()));
    entry.content.truncate(entry.content.trim_end().len());
    let first = lines(text, entry.span.start).next();
    let is_free = first.is_some_and(|line| headed(line.text).is_some());
    if is_free && entry.summary.is_empty() {
        let first = entry.content.lines().find(|line| !line.trim().is_empty());
        entry.summary = first.map(one_line).unwrap_or_default();
    }
}

/// Adds a line's text to the field of `entry` with this label.
fn add_field(entry: &mut Entry, label: &str, value: &str) {
    match label {
        "Description" if entry.summary.is_empty() => value.trim().clone_into(&mut entry.summary),
        "Content" | FREE => {
            if !entry.content.is_empty() {
                entry.content.push('\n');
            }
            entry.content.push_str(value);
        }
        "Tags" => {
            let tags = value.split_whitespace().filter_map(|w| w.strip_prefix('#'));
            let tags = tags.map(|tag| tag.trim_end_matches(',').to_owned());
            entry.tags.extend(tags.filter(|tag| !tag.is_empty()));
        }
        _ => {}
    }
}

/// The label and the value of a line such as `**Title:** t`.
fn labelled(line: &str) -> Option<(&'static str, &str)> {
    let line = line.trim_start();
    ["Title", "Description", "Content", "Tags"]
        .into_iter()
        .find_map(|label| {
            let rest = line.strip_prefix("**")?.strip_prefix(label)?;
            let value = rest
                .strip_prefix(":**")
                .or_else(|| rest.strip_prefix("**:"))?;
            Some((label, value.trim()))
        })
}

/// Whether `text` already consists of entries.
pub fn is_labelled(text: &str) -> bool {
    lines(text, 0).any(|line| matches!(labelled(line.text), Some(("Title", _))))
}

/// Formats a new entry.
pub fn format_entry(title: &str, description: &str, content: &str, tags: &[String]) -> String {
    let tags: Vec<String> = tags
        .iter()
        .map(|tag| format!("#{}", tag.trim_start_matches('#')))
        .collect();
    let tags = if tags.is_empty() {
        String::new()
    } else {
        format!(" {}", tags.join(" "))
    };
    format!(
        "**Title:** {}\n**Description:** {}\n\n**Content:** {}\n\n**Tags:**{tags}\n",
        one_line(title),
        one_line(description),
        content.trim_end_matches('\n'),
    )
}

/// An addition to an entry.
#[derive(Debug, Clone, Copy, Default)]
pub struct EntryAddition<'a> {
    /// Content to add.
    pub content: &'a str,
    /// The new description; the old one is moved into the content, as the approach before.
    pub description: Option<&'a str>,
    /// The day, for the marks of what is moved and added with a new description.
    pub today: &'a str,
    /// Tags to add.
    pub tags: &'a [String],
}

/// The positions of an entry's fields, and the ends of the content and of the entry.
struct Parts {
    described: Option<Range<usize>>,
    tagged: Option<usize>,
    content: Option<usize>,
    end: usize,
}

impl Parts {
    fn of(text: &str, entry: &Entry) -> Self {
        let mut parts = Self {
            described: None,
            tagged: None,
            content: None,
            end: entry.span.start,
        };
        let mut label = "";
        let within =
            lines(text, entry.span.start).take_while(|line| line.span.start < entry.span.end);
        let addition =
            within.filter(|line| !line.text.trim().is_empty() && line.text.trim_end() != "---");
        for line in addition {
            label = labelled(line.text).map_or(label, |(label, _)| label);
            parts.end = line.span.end;
            match label {
                "Description" if parts.described.is_none() => parts.described = Some(line.span),
                "Tags" if parts.tagged.is_none() => parts.tagged = Some(line.span.end),
                "Content" => parts.content = Some(line.span.end),
                _ => {}
            }
        }
        parts
    }
}

/// `text` with an addition to one of its entries. Nothing is removed, and what the entry already
/// contains is not repeated.
pub fn extend_entry(text: &str, entry: &Entry, more: EntryAddition<'_>) -> String {
    let nl = newline(text);
    let Parts {
        described,
        tagged,
        content,
        end,
    } = Parts::of(text, entry);
    let addition = one_line(&entry.content);
    let has = |more: &str| addition.contains(&one_line(more));
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    let mut added: Vec<String> = Vec::new();
    if let Some(description) = more.description.map(one_line)
        && !description.is_empty()
        && description != entry.summary
    {
        match described {
            Some(span) => edits.push((span, format!("**Description:** {description}"))),
            None => added.push(description),
        }
        if !entry.summary.is_empty() && !has(&entry.summary) {
            let before = &entry.summary;
            added.push(format!("**Previous approach ({}):** {before}", more.today));
        }
    }
    let given = more.content.trim();
    if !given.is_empty() && !has(given) {
        added.push(match more.description {
            Some(_) => format!("**Updated {}:** {given}", more.today),
            None => given.to_owned(),
        });
    }
    let new = new_tags(entry, more.tags);
    // At the same position, the end of a line must precede the start of the next.
    if let Some(at) = tagged.filter(|_| !new.is_empty()) {
        edits.push((at..at, new.clone()));
    }
    if !added.is_empty() {
        let added = added.join("\n\n").replace('\n', nl);
        edits.push(match content {
            Some(at) => (at..at, format!("{nl}{nl}{added}")),
            None => (end..end, format!("{nl}{nl}**Content:** {added}")),
        });
    }
    if tagged.is_none() && !new.is_empty() {
        edits.push((end..end, format!("{nl}{nl}**Tags:**{new}")));
    }
    // Sort by position: the labels may be in any order.
    edits.sort_by_key(|(span, _)| span.start);
    replaced(text, &edits)
}

/// The tags that an entry does not have yet, formatted for appending to its tags.
fn new_tags(entry: &Entry, tags: &[String]) -> String {
    tags.iter()
        .map(|tag| tag.trim_start_matches('#'))
        .filter(|tag| !tag.is_empty() && !entry.tags.iter().any(|known| known == tag))
        .map(|tag| format!(" #{tag}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TODAY: &str = "2026-01-02";

    #[test]
    fn entries_are_told_apart_by_title_and_keep_every_byte() {
        let text = "# Errors\n\n**Title:** A\n**Description:** da\n\n**Content:** one\ntwo\n\n**Tags:** #x #success\n\n---\n\n**Title:** B\n**Description:** db\n\n**Content:** c\n\n**Tags:** #y\nA note.\n**Title:** C\n**Tags:** #z\n";
        let found = entries(text);
        let titles: Vec<&str> = found.iter().map(|e| e.title.as_str()).collect();
        assert_eq!(titles, ["A", "B", "C"]);
        assert_eq!(found[0].summary, "da");
        assert_eq!(found[0].content, "one\ntwo");
        assert_eq!(found[0].tags, ["x", "success"]);
        assert!(text[found[1].span.clone()].contains("A note."));
        assert_eq!(found[2].span.end, text.len());
        for pair in found.windows(2) {
            assert_eq!(pair[0].span.end, pair[1].span.start);
        }
    }

    #[test]
    fn a_written_entry_reads_back() {
        let text = format_entry("T", "D", "C\n\nmore\n", &["a".into(), "#success".into()]);
        assert_eq!(
            text,
            "**Title:** T\n**Description:** D\n\n**Content:** C\n\nmore\n\n**Tags:** #a #success\n"
        );
        let found = entries(&text);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].content, "C\n\nmore");
        assert_eq!(found[0].tags, ["a", "success"]);
    }

    #[test]
    fn an_entry_is_extended_where_it_says_something_new() {
        let text = "# E\n\n**Title:** A\n**Description:** da\n\n**Content:** one\ntwo\n\n**Tags:** #x\n\n---\n\n**Title:** B\n";
        let more = |content, description, tags: &[&str]| {
            let tags: Vec<String> = tags.iter().map(|tag| (*tag).to_owned()).collect();
            let more = EntryAddition {
                content,
                description,
                today: TODAY,
                tags: &tags,
            };
            extend_entry(text, &entries(text)[0], more)
        };
        assert_eq!(more("one two", None, &["x"]), text);
        assert_eq!(
            more("three", Some("new"), &["#y", "x"]),
            "# E\n\n**Title:** A\n**Description:** new\n\n**Content:** one\ntwo\n\n**Previous approach (2026-01-02):** da\n\n**Updated 2026-01-02:** three\n\n**Tags:** #x #y\n\n---\n\n**Title:** B\n"
        );
        let bare = extend_entry(
            text,
            &entries(text)[1],
            EntryAddition {
                content: "c",
                description: Some("d"),
                today: TODAY,
                tags: &["z".to_owned()],
            },
        );
        assert_eq!(
            bare,
            format!(
                "{}\n\n**Content:** d\n\n**Updated 2026-01-02:** c\n\n**Tags:** #z\n",
                text.trim_end()
            )
        );
    }

    #[test]
    fn a_dated_heading_is_an_entry_of_the_older_dialect() {
        let text = "# Episodes\n\n## 2025-10-30: Flaky pool\n**Context:** CI\nIt leaked.\n\n**Tags:** #db #failure\n\n## [2025-11-02]: Second\ntext\n\n## Notes\nmore\n";
        let found = entries(text);
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[0].title, "Flaky pool");
        assert_eq!(found[0].date.as_deref(), Some("2025-10-30"));
        assert_eq!(found[0].summary, "**Context:** CI");
        assert_eq!(found[0].content, "**Context:** CI\nIt leaked.");
        assert_eq!(found[0].tags, ["db", "failure"]);
        assert_eq!(found[0].span.end, found[1].span.start);
        assert!(text[found[1].span.clone()].ends_with("## Notes\nmore\n"));
    }

    #[test]
    fn workflows_and_patterns_of_the_older_dialect_are_entries() {
        let text = "# Steps\n\n## Workflow: Release\n\n**When to use**: on Friday\n**Steps**:\n1. tag\n\n**Tags**: #git\n\n## Pattern/Principle: Retry\nWait.\n\n## Notes: none\nmore\n";
        let found = entries(text);
        let titles: Vec<&str> = found.iter().map(|e| e.title.as_str()).collect();
        assert_eq!(titles, ["Release", "Retry"]);
        assert_eq!(found[0].summary, "**When to use**: on Friday");
        assert_eq!(
            (&found[0].tags[..], &found[0].date),
            (&["git".to_owned()][..], &None)
        );
        assert!(text[found[1].span.clone()].ends_with("## Notes: none\nmore\n"));
    }

    #[test]
    fn a_dated_heading_above_a_labelled_entry_is_its_decoration() {
        let text = "## 2025-10-30: A\n**Title:** A\n**Description:** d\n\n## 2025-11-02: B\nold\n\n---\n\n**Title:** C\n";
        let titles: Vec<String> = entries(text).into_iter().map(|e| e.title).collect();
        assert_eq!(titles, ["A", "B", "C"]);
        assert!(entries("## Time: money\n## 2025-1: x\n## 12025-01: y\n").is_empty());
    }

    #[test]
    fn words_above_a_title_belong_to_it_from_the_rule_on() {
        let text = "**Title:** A\n**Tags:** #x\nnote of A\n\n---\n\n# Of B\n\n**Title:** B\n";
        let found = entries(text);
        assert!(text[found[0].span.clone()].ends_with("note of A\n\n---\n"));
        assert!(text[found[1].span.clone()].starts_with("\n# Of B\n\n**Title:** B\n"));
    }

    #[test]
    fn the_first_entry_starts_at_its_title_and_has_only_what_it_says() {
        let text = "# E\n\n**Title:** A\n**Content:** da and more\n";
        let found = entries(text);
        assert_eq!(found[0].span, 5..text.len());
        assert_eq!((found[0].summary.as_str(), &found[0].date), ("", &None));
    }

    #[test]
    fn an_old_description_that_the_content_has_is_not_added() {
        let text = "**Title:** A\n**Description:** da\n**Content:** da and more\n";
        let more = EntryAddition {
            content: "",
            description: Some("new"),
            today: TODAY,
            tags: &[],
        };
        assert_eq!(
            extend_entry(text, &entries(text)[0], more),
            text.replace("** da\n", "** new\n")
        );
    }

    #[test]
    fn what_is_added_to_an_entry_ends_before_the_next_one() {
        let text = "**Title:** A\n**Tags:** #x\n**Title:** B\n";
        let more = EntryAddition {
            content: "new",
            description: None,
            today: TODAY,
            tags: &[],
        };
        assert_eq!(
            extend_entry(text, &entries(text)[0], more),
            "**Title:** A\n**Tags:** #x\n\n**Content:** new\n**Title:** B\n"
        );
    }

    #[test]
    fn an_entry_knows_its_line() {
        let text = "# E\n\n**Title:** A\n**Tags:** #x\n\n---\n\n**Title:** B\n";
        let found: Vec<usize> = entries(text).iter().map(|entry| entry.line).collect();
        assert_eq!(found, [3, 8]);
    }

    #[test]
    fn the_first_description_and_each_tag_once_are_the_entrys() {
        let text = "**Title:** A\n**Description:** first\n**Description:** second\n**Tags:** #x, # #x #y\n#z words\n";
        let found = entries(text);
        assert_eq!(found[0].summary, "first");
        assert_eq!(found[0].tags, ["x", "y", "z"]);
        let more = EntryAddition {
            content: "",
            description: Some("third"),
            today: TODAY,
            tags: &[String::new(), "y".to_owned(), "w".to_owned()],
        };
        assert_eq!(
            extend_entry(text, &found[0], more),
            "**Title:** A\n**Description:** third\n**Description:** second\n**Tags:** #x, # #x #y #w\n#z words\n\n**Content:** **Previous approach (2026-01-02):** first\n"
        );
    }

    #[test]
    fn what_is_added_keeps_its_place_whatever_order_the_labels_have() {
        let more = EntryAddition {
            content: "new",
            description: Some("said"),
            today: TODAY,
            tags: &["y".to_owned()],
        };
        for (before, after) in [
            (
                "**Title:** A\n**Tags:** #x\n",
                "**Title:** A\n**Tags:** #x #y\n\n**Content:** said\n\n**Updated 2026-01-02:** new\n",
            ),
            (
                "**Title:** A\n**Tags:** #x\n**Content:** c\n**Description:** d\n",
                "**Title:** A\n**Tags:** #x #y\n**Content:** c\n\n**Previous approach (2026-01-02):** d\n\n**Updated 2026-01-02:** new\n**Description:** said\n",
            ),
        ] {
            let set = extend_entry(before, &entries(before)[0], more);
            assert_eq!(set, after);
            assert_eq!(entries(&set)[0].tags, ["x", "y"]);
        }
    }

    #[test]
    fn text_without_labels_has_no_entries() {
        assert_eq!(entries("# Notes\n\nplain **bold** text\n---\n"), []);
        assert!(!is_labelled("**Tags:** #a"));
    }
}
