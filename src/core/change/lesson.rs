//! Lessons that grow: adding to a lesson, and deriving a principle from several.

use super::PlannedFiles;
use crate::core::memory::citation::{Citation, CitedPart};
use crate::core::memory::layout::{Fields, FileView as _, Layout, Operation, WriteInput};
use crate::core::memory::stem;
use crate::core::text::header::Entry;
use crate::core::text::header::label::{EntryAddition, entries, extend_entry};
use crate::core::text::link::relative_target;
use crate::core::text::one_line;
use crate::core::{Error, Result};

/// A lesson with its file and the file's text.
struct FoundLesson {
    file: String,
    text: String,
    entry: Entry,
}

impl PlannedFiles<'_> {
    /// Adds to one lesson.
    pub(super) fn extend(
        &mut self,
        lesson: &Citation,
        content: &str,
        fields: &Fields,
    ) -> Result<String> {
        let file = self.target(Operation::Patch, &lesson.path)?;
        self.read_expected(&file)?;
        let found = self.lesson(lesson)?;
        let more = EntryAddition {
            content,
            description: fields.description.as_deref(),
            today: &self.moment.today.to_string(),
            tags: &fields.tags,
        };
        let text = extend_entry(&found.text, &found.entry, more);
        self.set(&found.file, Some(text.into_bytes()))?;
        Ok(format!(
            "Memory updated: {}",
            self.reference_of(&found.file)
        ))
    }

    /// Writes a principle, and links it and the lessons to each other.
    pub(super) fn generalize(
        &mut self,
        path: &str,
        content: &str,
        fields: &Fields,
        from: &[Citation],
    ) -> Result<String> {
        const FEWEST: usize = 2;
        if self.store.layout() != Layout::Coder {
            return Err(Error::refused(
                path,
                format!(
                    "principles come from lessons, and the layout {} has none; write it as a memory that links to the others",
                    self.store.layout()
                ),
            ));
        }
        let file = self.target(Operation::Append, path)?;
        if from.len() < FEWEST {
            return Err(Error::refused(
                path,
                "a principle comes from two or more lessons; name them",
            ));
        }
        let own = entries(content);
        let named = fields.name.as_deref().map(one_line);
        let named = named.or_else(|| own.first().map(|entry| one_line(&entry.title)));
        let named = named.filter(|title| !title.is_empty());
        let title = named.unwrap_or_else(|| stem(&file).to_owned());
        let mut links: Vec<String> = Vec::new();
        for lesson in from {
            let found = self.lesson(lesson)?;
            if found.file == file || !found.file.starts_with("episodic/") {
                return Err(Error::refused(
                    lesson.to_string(),
                    "principles come from what happened: name lessons below episodic/",
                ));
            }
            let link =
                |title: &str, at: &str, to: &str| format!("[{title}]({})", relative_target(at, to));
            let note = format!("Generalized in {}.", link(&title, &found.file, &file));
            let more = EntryAddition {
                content: &note,
                ..EntryAddition::default()
            };
            let text = extend_entry(&found.text, &found.entry, more);
            links.push(link(&found.entry.title, &file, &found.file));
            self.set(&found.file, Some(text.into_bytes()))?;
        }
        let old = self.read_expected(&file)?;
        let from = format!("From {}.", links.join(", "));
        let content = &match own.first() {
            Some(entry) => {
                let more = EntryAddition {
                    content: &from,
                    ..EntryAddition::default()
                };
                extend_entry(content, entry, more)
            }
            None => format!("{}\n\n{from}", content.trim_end()),
        };
        let input = WriteInput {
            file: &file,
            content,
            fields,
            old: old.as_deref(),
        };
        let text = self.store.rules().append(self, &input)?;
        self.set(&file, Some(text.into_bytes()))?;
        Ok(format!("Memory updated: {}", self.reference_of(&file)))
    }

    /// The cited lesson, as planned so far: the named entry, or the only one of the file.
    fn lesson(&self, lesson: &Citation) -> Result<FoundLesson> {
        let file = self.target(Operation::Patch, &lesson.path)?;
        let missing = || Error::not_found(lesson.to_string());
        let text = self.text(&file)?.ok_or_else(missing)?;
        let mut all = entries(&text);
        let entry = match &lesson.part {
            CitedPart::Entry(slug) => all.into_iter().find(|entry| entry.slug == *slug),
            _ if all.len() > 1 => {
                let slugs: Vec<String> = all.iter().map(|entry| entry.slug.clone()).collect();
                return Err(Error::refused(
                    lesson.to_string(),
                    format!(
                        "there are several lessons; say {0}#NAME, where NAME is one of {1}",
                        lesson.path,
                        slugs.join(", ")
                    ),
                ));
            }
            _ => all.pop(),
        };
        let entry = entry.ok_or_else(missing)?;
        Ok(FoundLesson { file, text, entry })
    }
}
