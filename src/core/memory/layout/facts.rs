//! The facts layout: facts by topic and episodes by month, one folder deep.

use super::{
    IndexUpdate, Layout, Matching, Operation, Patch, Rules, View, WriteInput, append_entry,
    append_section, format_size, patched,
};
use crate::core::disk::sandbox::Root;
use crate::core::memory::layout::FileView;
use crate::core::memory::store::Store;
use crate::core::memory::{Memory, stem};
use crate::core::text::header::summary;
use crate::core::text::one_line;
use crate::core::{Error, Result};

/// The facts layout.
#[derive(Debug)]
pub struct Facts;

impl Rules for Facts {
    fn allow(&self, _act: Operation, file: &str, _root: &Root) -> Result<()> {
        let one_deep = file.matches('/').count() == 1;
        if one_deep && file.ends_with(".md") && !file.contains("/.") && !file.starts_with('.') {
            return Ok(());
        }
        Err(Error::refused(
            file,
            "files here are one folder deep and end in .md, such as facts/user.md or episodes/2026-02.md",
        ))
    }

    fn searched(&self) -> Option<(&'static str, usize)> {
        Some(("", 1))
    }

    fn is_listed(&self, _root: &Root, file: &str) -> bool {
        file.contains('/')
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
            .find_map(|line| summary::key_value(line, "Updated"));
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

    fn compose(&self, _planned: &dyn FileView, input: &WriteInput<'_>) -> Result<String> {
        refuse_type(input)?;
        let text = match &input.fields.name {
            Some(name) if summary::title(input.content).is_none() => {
                format!("# {name}\n\n{}", input.content)
            }
            _ => input.content.to_owned(),
        };
        let fields = input.fields;
        let given = given(&fields.summary).or(given(&fields.description));
        // A text that has its summary is written unchanged.
        Ok(match given {
            Some(given) => summary::set(&text, given),
            None => summary::completed(&text),
        })
    }

    fn append(&self, planned: &dyn FileView, input: &WriteInput<'_>) -> Result<String> {
        refuse_type(input)?;
        let fields = input.fields;
        let old = input.old.unwrap_or_default();
        let (text, given) = match given(&fields.name) {
            Some(title) => {
                let entry = entry(planned, input, title);
                (with_entry(input, &entry), given(&fields.summary))
            }
            None => (
                append_entry(old, input.content),
                given(&fields.summary).or(given(&fields.description)),
            ),
        };
        Ok(match given {
            Some(given) => summary::set(&text, given),
            None => summary::followed(input.old, &text),
        })
    }

    fn patch(
        &self,
        _planned: &dyn FileView,
        file: &str,
        text: &str,
        patches: &[Patch],
        _matching: Matching,
    ) -> Result<String> {
        let new = patched(file, text, patches, Matching::Unique)?;
        Ok(summary::followed(Some(text), &new))
    }

    fn body(&self, text: &str, _memory: &Memory) -> String {
        summary::without_head(text)
    }

    fn normalize(&self, old: Option<&str>, text: String) -> String {
        summary::followed(old, &text)
    }

    fn rebuild_index(&self, planned: &mut dyn FileView, how: IndexUpdate) -> Result<()> {
        let paths: Vec<String> = planned
            .memories_before()?
            .iter()
            .map(|memory| memory.path.clone())
            .collect();
        for file in paths {
            let Ok(Some(text)) = planned.text(&file) else {
                continue;
            };
            if how == IndexUpdate::Rewrite || summary::is_made(&text) {
                planned.set_derived(&file, summary::regenerate(&text))?;
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

    fn guide(&self) -> String {
        "Use memory_read to load relevant files before responding.".to_owned()
    }

    fn contents(&self, store: &Store) -> Result<String> {
        let memories = store.list()?;
        if memories.is_empty() {
            return Ok(String::new());
        }
        Ok(format!("Available memory:\n{}", rows(&memories).join("\n")))
    }

    fn context(&self, store: &Store) -> Result<String> {
        let contents = self.contents(store)?;
        Ok(if contents.is_empty() {
            contents
        } else {
            format!("{contents}\n\n{}", self.guide())
        })
    }
}

fn rows(memories: &[Memory]) -> Vec<String> {
    memories
        .iter()
        .map(|m| format!("- {} ({}): {}", m.path, format_size(m.size), m.summary))
        .collect()
}

/// A field, if it is not blank.
fn given(field: &Option<String>) -> Option<&str> {
    field.as_deref().filter(|text| !text.trim().is_empty())
}

/// The `##` entry for the given title and content.
fn entry(planned: &dyn FileView, input: &WriteInput<'_>, title: &str) -> String {
    let first = input.content.lines().find(|line| !line.trim().is_empty());
    let described = given(&input.fields.description).or(first);
    summary::entry(
        title,
        &one_line(described.unwrap_or(title)),
        &planned.moment().today.to_string(),
        &input.fields.tags,
        input.content,
    )
}

/// The file with the entry appended after a blank line; a new file gets a title.
fn with_entry(input: &WriteInput<'_>, entry: &str) -> String {
    let Some(old) = input.old.filter(|old| !old.trim().is_empty()) else {
        let title = match input.file.strip_prefix("episodes/") {
            Some(_) => format!("Episodes {}", stem(input.file)),
            None => stem(input.file).to_owned(),
        };
        return format!("# {title}\n\n{entry}");
    };
    append_section(old, entry)
}

fn refuse_type(input: &WriteInput<'_>) -> Result<()> {
    if input.fields.category.is_some() {
        return Err(Error::refused(
            input.file,
            format!(
                "a {} store has no types; the folder says what a file is ({} here)",
                Layout::Facts,
                input.file.split('/').next().unwrap_or_default()
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
        assert_eq!(memory.entries[0].slug, "logger-leak");
    }
}
