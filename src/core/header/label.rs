//! The label block of a lesson: `**Title:**`, `**Description:**`, `**Content:**`,
//! `**Tags:**`, with `---` between the entries of a file.
//!
//! Whatever stands before, between or after the labels belongs to the entry it
//! follows, so that cutting a file into entries loses nothing.

use std::ops::Range;

use super::super::memory::{Entry, one_line};
use super::{lines, newline, splice};

/// The entries of a file, in order.
pub fn entries(text: &str) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut gap = 0;
    let mut label = "";
    for (number, line) in lines(text, 0).enumerate() {
        let found = labelled(line.text);
        if let Some(("Title", title)) = found {
            if let Some(last) = entries.last_mut() {
                last.span.end = gap.max(last.span.start);
            }
            let start = if entries.is_empty() {
                line.span.start
            } else {
                gap
            };
            entries.push(Entry {
                title: title.to_owned(),
                line: number + 1,
                span: start..text.len(),
                ..Entry::default()
            });
        }
        if line.text.trim_end() == "---" || found.is_some() {
            label = found.map_or("", |(label, _)| label);
            gap = line.end;
        }
        if let Some(entry) = entries.last_mut() {
            take(entry, label, found.map_or(line.text, |(_, value)| value));
        }
        if found.is_none() && line.text.trim_end() != "---" && label == "Tags" {
            // A note after the tags stays with its entry.
            gap = line.end;
        }
    }
    for entry in &mut entries {
        entry.content.truncate(entry.content.trim_end().len());
    }
    entries
}

/// Adds a line's text to the field of `entry` that its label names.
fn take(entry: &mut Entry, label: &str, value: &str) {
    match label {
        "Description" if entry.summary.is_empty() => value.trim().clone_into(&mut entry.summary),
        "Content" => {
            if !entry.content.is_empty() {
                entry.content.push('\n');
            }
            entry.content.push_str(value);
        }
        "Tags" => {
            let tags = value.split_whitespace().filter_map(|w| w.strip_prefix('#'));
            for tag in tags.filter(|tag| !tag.is_empty()) {
                let tag = tag.trim_end_matches(',').to_owned();
                if !entry.tags.contains(&tag) {
                    entry.tags.push(tag);
                }
            }
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

/// Whether `text` is made of entries already.
pub fn is_labelled(text: &str) -> bool {
    lines(text, 0).any(|line| matches!(labelled(line.text), Some(("Title", _))))
}

/// A new entry as it stands in a file.
pub fn written(title: &str, description: &str, content: &str, tags: &[String]) -> String {
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

/// What is added to an entry.
#[derive(Debug, Clone, Copy)]
pub struct More<'a> {
    /// What the content is to say, too.
    pub content: &'a str,
    /// The new description; what the old one said goes into the content.
    pub description: Option<&'a str>,
    /// Tags that the entry is to have, too.
    pub tags: &'a [String],
}

/// `text` with more in one of its entries; what is said there already is not said twice, and
/// nothing that is there goes.
pub fn extended(text: &str, entry: &Entry, more: More<'_>) -> String {
    let nl = newline(text);
    let within = lines(text, entry.span.start).take_while(|line| line.span.start < entry.span.end);
    // Where the description and the tags stand, and where the content and the entry end.
    let (mut described, mut tagged, mut end) = (None, None, entry.span.start);
    let (mut told, mut label) = (None, "");
    for line in within.filter(|line| !line.text.trim().is_empty() && line.text.trim_end() != "---")
    {
        label = labelled(line.text).map_or(label, |(label, _)| label);
        end = line.span.end;
        match label {
            "Description" if described.is_none() => described = Some(line.span.clone()),
            "Tags" if tagged.is_none() => tagged = Some(line.span.end),
            "Content" => told = Some(line.span.end),
            _ => {}
        }
    }
    let has = |said: &str| one_line(&entry.content).contains(&one_line(said));
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
            added.push(entry.summary.clone());
        }
    }
    let content = more.content.trim();
    if !content.is_empty() && !has(content) {
        added.push(content.to_owned());
    }
    let tags = more.tags.iter().map(|tag| tag.trim_start_matches('#'));
    let new: Vec<String> = tags
        .filter(|tag| !tag.is_empty() && !entry.tags.iter().any(|known| known == tag))
        .map(|tag| format!(" #{tag}"))
        .collect();
    let new = new.concat();
    // What ends a line stands before what begins another one at the same place.
    if let Some(at) = tagged.filter(|_| !new.is_empty()) {
        edits.push((at..at, new.clone()));
    }
    if !added.is_empty() {
        let added = added.join("\n\n").replace('\n', nl);
        edits.push(match told {
            Some(at) => (at..at, format!("{nl}{nl}{added}")),
            None => (end..end, format!("{nl}{nl}**Content:** {added}")),
        });
    }
    if tagged.is_none() && !new.is_empty() {
        edits.push((end..end, format!("{nl}{nl}**Tags:**{new}")));
    }
    edits.sort_by_key(|(at, _)| at.start);
    // The last ones first, so that the places of the others hold.
    let mut out = text.to_owned();
    for (at, with) in edits.into_iter().rev() {
        out = splice(&out, at, &with);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let text = written("T", "D", "C\n\nmore\n", &["a".into(), "#success".into()]);
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
            let more = More {
                content,
                description,
                tags: &tags,
            };
            extended(text, &entries(text)[0], more)
        };
        assert_eq!(more("one two", None, &["x"]), text);
        assert_eq!(
            more("three", Some("new"), &["#y", "x"]),
            "# E\n\n**Title:** A\n**Description:** new\n\n**Content:** one\ntwo\n\nda\n\nthree\n\n**Tags:** #x #y\n\n---\n\n**Title:** B\n"
        );
        let bare = extended(
            text,
            &entries(text)[1],
            More {
                content: "c",
                description: Some("d"),
                tags: &["z".to_owned()],
            },
        );
        assert_eq!(
            bare,
            format!(
                "{}\n\n**Content:** d\n\nc\n\n**Tags:** #z\n",
                text.trim_end()
            )
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
        let more = More {
            content: "",
            description: Some("third"),
            tags: &[String::new(), "y".to_owned(), "w".to_owned()],
        };
        assert_eq!(
            extended(text, &found[0], more),
            "**Title:** A\n**Description:** third\n**Description:** second\n**Tags:** #x, # #x #y #w\n#z words\n\n**Content:** first\n"
        );
    }

    #[test]
    fn what_is_added_keeps_its_place_whatever_order_the_labels_have() {
        let more = More {
            content: "new",
            description: Some("said"),
            tags: &["y".to_owned()],
        };
        for (before, after) in [
            (
                "**Title:** A\n**Tags:** #x\n",
                "**Title:** A\n**Tags:** #x #y\n\n**Content:** said\n\nnew\n",
            ),
            (
                "**Title:** A\n**Tags:** #x\n**Content:** c\n**Description:** d\n",
                "**Title:** A\n**Tags:** #x #y\n**Content:** c\n\nd\n\nnew\n**Description:** said\n",
            ),
        ] {
            let set = extended(before, &entries(before)[0], more);
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
