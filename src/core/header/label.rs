//! The label block of a lesson: `**Title:**`, `**Description:**`, `**Content:**`,
//! `**Tags:**`, with `---` between the entries of a file.
//!
//! Whatever stands before, between or after the labels belongs to the entry it
//! follows, so that cutting a file into entries loses nothing.

use super::super::memory::{Entry, one_line};
use super::lines;

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
    fn text_without_labels_has_no_entries() {
        assert_eq!(entries("# Notes\n\nplain **bold** text\n---\n"), []);
        assert!(!is_labelled("**Tags:** #a"));
    }
}
