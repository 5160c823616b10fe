//! facts: what is known by topic, and episodes by month, one folder deep.

use super::{Act, Layout, Matching, Patch, Rules, Upkeep, View, Writing, appended, patched, size};
use crate::core::change::Draft;
use crate::core::header::{newline, summary};
use crate::core::memory::{Memory, one_line, stem};
use crate::core::sandbox::{Found, Root};
use crate::core::store::Store;
use crate::core::{Error, Result};

/// The facts layout.
#[derive(Debug)]
pub struct Facts;

impl Rules for Facts {
    fn allow(&self, _act: Act, file: &str, _root: &Root) -> Result<()> {
        let one_deep = file.matches('/').count() == 1;
        if one_deep && file.ends_with(".md") && !file.contains("/.") && !file.starts_with('.') {
            return Ok(());
        }
        Err(Error::refused(
            file,
            "files here are one folder deep and end in .md, such as facts/user.md or episodes/2026-02.md",
        ))
    }

    fn files(&self, root: &Root) -> Result<Vec<Found>> {
        let mut found = root.markdown("", 1)?;
        found.retain(|file| file.path.contains('/'));
        Ok(found)
    }

    fn rank(&self, file: &str) -> u8 {
        match file.split('/').next() {
            Some("facts") => 0,
            Some("episodes") => 1,
            _ => 2,
        }
    }

    fn read(&self, file: &str, text: &str) -> Memory {
        let mut memory = Memory::bare(file, text.len() as u64);
        if let Some(title) = summary::title(text) {
            title.clone_into(&mut memory.title);
        }
        if let Some(found) = summary::find(text) {
            memory.summary = found.text;
            memory.body = found.end..text.len();
        }
        let updated = text
            .lines()
            .find_map(|line| summary::keyed(line, "Updated"));
        memory.entries = summary::entries(text);
        let last = memory
            .entries
            .iter()
            .filter_map(|e| e.date.as_deref())
            .max();
        memory.updated = updated.or(last).map(str::to_owned);
        memory.category = file.split('/').next().map(str::to_owned);
        memory
    }

    fn compose(&self, _draft: &Draft<'_>, writing: &Writing<'_>) -> Result<String> {
        no_type(writing)?;
        let text = match &writing.fields.name {
            Some(name) if summary::title(writing.content).is_none() => {
                format!("# {name}\n\n{}", writing.content)
            }
            _ => writing.content.to_owned(),
        };
        let fields = writing.fields;
        let given = given(&fields.summary).or(given(&fields.description));
        // What is written is written as it is.
        Ok(given.map_or_else(|| text.clone(), |given| summary::set(&text, given)))
    }

    fn append(&self, draft: &Draft<'_>, writing: &Writing<'_>) -> Result<String> {
        no_type(writing)?;
        let fields = writing.fields;
        let old = writing.old.unwrap_or_default();
        let (text, given) = match given(&fields.name) {
            Some(title) => {
                let entry = entry(draft, writing, title);
                (with_entry(writing, &entry), given(&fields.summary))
            }
            None => (
                appended(old, writing.content),
                given(&fields.summary).or(given(&fields.description)),
            ),
        };
        Ok(match given {
            Some(given) => summary::set(&text, given),
            None => summary::followed(writing.old, &text),
        })
    }

    fn patch(
        &self,
        _draft: &Draft<'_>,
        (file, text): (&str, &str),
        patches: &[Patch],
        _matching: Matching,
    ) -> Result<String> {
        let new = patched((file, text), patches, Matching::Unique)?;
        Ok(summary::followed(Some(text), &new))
    }

    fn body(&self, text: &str, _memory: &Memory) -> String {
        summary::without_head(text)
    }

    fn settle(&self, old: Option<&str>, text: String) -> String {
        summary::followed(old, &text)
    }

    fn keep_index(&self, draft: &mut Draft<'_>, how: Upkeep) -> Result<()> {
        let paths: Vec<String> = draft
            .memories_before()?
            .iter()
            .map(|memory| memory.path.clone())
            .collect();
        for file in paths {
            let Ok(Some(text)) = draft.text(&file) else {
                continue;
            };
            if how == Upkeep::Rewrite || summary::is_made(&text) {
                draft.derive(&file, summary::regenerated(&text))?;
            }
        }
        Ok(())
    }

    fn view(&self, store: &Store, view: View) -> Result<String> {
        match view {
            View::Index => self.context(store),
            View::Files => Ok(rows(&store.list()?).join("\n")),
        }
    }

    fn context(&self, store: &Store) -> Result<String> {
        let memories = store.list()?;
        if memories.is_empty() {
            return Ok(String::new());
        }
        Ok(format!(
            "Available memory:\n{}\n\nUse memory_read to load relevant files before responding.",
            rows(&memories).join("\n")
        ))
    }
}

fn rows(memories: &[Memory]) -> Vec<String> {
    memories
        .iter()
        .map(|m| format!("- {} ({}): {}", m.path, size(m.size), m.summary))
        .collect()
}

/// A field that says something; an empty one was not given.
fn given(field: &Option<String>) -> Option<&str> {
    field.as_deref().filter(|text| !text.trim().is_empty())
}

/// The `##` entry that the caller asks for.
fn entry(draft: &Draft<'_>, writing: &Writing<'_>, title: &str) -> String {
    let first = writing.content.lines().find(|line| !line.trim().is_empty());
    let described = given(&writing.fields.description).or(first);
    summary::entry(
        title,
        &one_line(described.unwrap_or(title)),
        &draft.moment().today.to_string(),
        &writing.fields.tags,
        writing.content,
    )
}

/// The file with an entry at its end, a blank line before it; a new file gets its title.
fn with_entry(writing: &Writing<'_>, entry: &str) -> String {
    let Some(old) = writing.old.filter(|old| !old.trim().is_empty()) else {
        let title = match writing.file.strip_prefix("episodes/") {
            Some(_) => format!("Episodes {}", stem(writing.file)),
            None => stem(writing.file).to_owned(),
        };
        return format!("# {title}\n\n{entry}");
    };
    let nl = newline(old);
    let is_apart = old.ends_with("\n\n") || old.ends_with("\r\n\r\n");
    let gap = match (is_apart, old.ends_with('\n')) {
        (true, _) => String::new(),
        (false, true) => nl.to_owned(),
        (false, false) => format!("{nl}{nl}"),
    };
    appended(&format!("{old}{gap}"), entry)
}

fn no_type(writing: &Writing<'_>) -> Result<()> {
    if writing.fields.category.is_some() {
        return Err(Error::refused(
            writing.file,
            format!(
                "a {} store has no types; the folder says what a file is ({} here)",
                Layout::Facts,
                writing.file.split('/').next().unwrap_or_default()
            ),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_gives_title_summary_date_and_entries() {
        let text = "# Episodes 2026-02\n\n> Summary: fix, move\n\n## Logger leak\n- Summary: fix\n- Date: 2026-02-03\n\n## Move\n- Summary: move\n- Date: 2026-02-09\n";
        let memory = Facts.read("episodes/2026-02.md", text);
        assert_eq!(memory.title, "Episodes 2026-02");
        assert_eq!(memory.summary, "fix, move");
        assert_eq!(memory.updated.as_deref(), Some("2026-02-09"));
        assert_eq!(memory.entries[0].slug(), "logger-leak");
    }
}
