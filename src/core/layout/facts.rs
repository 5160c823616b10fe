//! facts: what is known by topic, and episodes by month, one folder deep.

use super::{Act, Layout, Patch, Rules, Upkeep, View, Writing, appended, patched_once, size};
use crate::core::change::Draft;
use crate::core::header::summary;
use crate::core::memory::Memory;
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
        Ok(settled(&text, writing))
    }

    fn append(&self, _draft: &Draft<'_>, writing: &Writing<'_>) -> Result<String> {
        no_type(writing)?;
        let text = appended(writing.old.unwrap_or_default(), writing.content);
        Ok(settled(&text, writing))
    }

    fn patch(
        &self,
        _draft: &Draft<'_>,
        file: &str,
        text: &str,
        patches: &[Patch],
    ) -> Result<String> {
        patched_once(file, text, patches).map(|text| summary::regenerated(&text))
    }

    fn body(&self, text: &str, _memory: &Memory) -> String {
        summary::without_head(text)
    }

    fn settle(&self, text: String) -> String {
        summary::regenerated(&text)
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
            // A summary that stands there may be one that somebody gave.
            let given = summary::find(&text).is_some_and(|found| !found.text.is_empty());
            if how == Upkeep::Rewrite || !given {
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

/// The text with the summary that the caller gave, or else the one its entries give.
fn settled(text: &str, writing: &Writing<'_>) -> String {
    match &writing.fields.description {
        Some(given) => summary::set(text, given),
        None => summary::regenerated(text),
    }
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
