//! Changes of one entry of a file, which a caller names as `FILE#entry`.
//!
//! Every change is a splice inside the entry: all other bytes of the file stay.

use std::ops::{Range, RangeInclusive};

use super::PlannedFiles;
use super::transfer::category;
use crate::core::memory::layout::{
    Fields, FileView as _, INDEX, Layout, Operation, WriteInput, append_section,
};
use crate::core::text::header::section::{heading, own_span, removal_span};
use crate::core::text::header::{Entry, fitted, lines, newline, splice};
use crate::core::text::one_line;
use crate::core::{Error, Result};

/// An entry of a file, as planned so far.
pub(super) struct NamedEntry {
    /// The file below the root.
    pub(super) file: String,
    /// The text of the file; a byte that is no text is a [stand-in](with_stand_ins).
    pub(super) text: String,
    pub(super) entry: Entry,
}

impl NamedEntry {
    /// The entry's text as it goes elsewhere. A section needs no separator: one at its end is of its
    /// text.
    fn whole(&self) -> &str {
        let all = &self.text[self.entry.span.clone()];
        match lines(all, 0).next() {
            Some(first) if heading(first.text).is_some() => all.trim_end(),
            _ => &self.text[own_span(&self.text, &self.entry)],
        }
    }

    /// The entry's text without its heading or title line.
    pub(super) fn body(&self) -> &str {
        let own = self.whole();
        match lines(own, 0).next() {
            Some(first) if heading(first.text).is_some() => own[first.end..].trim_start(),
            _ => own,
        }
    }
}

impl PlannedFiles<'_> {
    /// The entry that a path names, as in `MEMORY.md#facts`; `None` if it names a file.
    pub(super) fn entry_at(&self, path: &str) -> Result<Option<NamedEntry>> {
        let is_file = |path: &str| {
            let file = self.store.rules().file_of(path);
            self.contains(&file)
        };
        let Some((path_of_file, slug)) = path.rsplit_once('#').filter(|_| !is_file(path)) else {
            return Ok(None);
        };
        if self.store.layout() == Layout::Events {
            return Ok(None);
        }
        let file = self.target(Operation::Patch, path_of_file)?;
        self.check_expected(&file)?;
        let bytes = self.bytes(&file)?;
        let text = with_stand_ins(&bytes.ok_or_else(|| Error::not_found(path_of_file))?);
        let memory = self.store.rules().read(&file, &text);
        let entry = memory.entries.into_iter().find(|entry| entry.slug == slug);
        let entry = entry.ok_or_else(|| Error::not_found(path))?;
        Ok(Some(NamedEntry { file, text, entry }))
    }

    /// Sets the text of a file whose entry was changed.
    pub(super) fn set_text(&mut self, at: &NamedEntry, text: String) -> Result<()> {
        let text = self.store.rules().normalize(Some(&at.text), text);
        self.set(&at.file, Some(without_stand_ins(&text)))
    }

    /// Adds a text to the end of an entry.
    pub(super) fn append_to_entry(&mut self, at: &NamedEntry, content: &str) -> Result<()> {
        let end = own_span(&at.text, &at.entry).end;
        let content = with_stand_ins(content.trim_end_matches(['\r', '\n']).as_bytes());
        let added = format!("{}{}", newline(&at.text), fitted(&at.text, &content));
        self.set_text(at, splice(&at.text, end..end, &added))
    }

    /// Gives an entry another title.
    pub(super) fn retitle(&mut self, at: &NamedEntry, title: &str) -> Result<()> {
        let title = with_stand_ins(one_line(title).as_bytes());
        let line = lines(&at.text, 0).nth(at.entry.line.saturating_sub(1));
        let old = at.entry.title.as_str();
        let place = line.filter(|line| !old.is_empty() && line.text.contains(old));
        let is_title = |line: &str| heading(line).is_some() || line.contains("**Title");
        let Some(line) = place.filter(|line| is_title(line.text)) else {
            return Err(Error::refused(
                format!("{}#{}", self.reference_of(&at.file), at.entry.slug),
                "it is named by its first words; change its text instead",
            ));
        };
        let start = line.span.start + line.text.rfind(old).unwrap_or_default();
        let text = splice(&at.text, start..start + old.len(), &title);
        self.set_text(at, text)
    }

    /// Adds an entry to the file at `path` of this store, which is created if it is missing.
    pub(super) fn receive_entry(
        &mut self,
        from: Layout,
        at: &NamedEntry,
        path: &str,
    ) -> Result<String> {
        let index = self.store.rules().file_of(path);
        // An index has sections, too.
        let is_index = self.store.layout() == Layout::Index && index == INDEX;
        let is_there = is_index && self.contains(&index);
        let operation = if is_there {
            Operation::Patch
        } else {
            Operation::Append
        };
        let file = self.target(operation, path)?;
        let old = self.bytes(&file)?.map(|bytes| with_stand_ins(&bytes));
        let is_episode = |file: &str| file.starts_with("episodes/");
        // Sections of a text are told apart by their headings, and an episode has its own fields.
        let keeps_form = match self.store.layout() {
            Layout::Instructions => true,
            Layout::Facts if is_episode(&file) => from == Layout::Facts && is_episode(&at.file),
            Layout::Index | Layout::Facts => old.is_some(),
            Layout::Entries => {
                let first = at.whole().lines().next().unwrap_or_default();
                let rules = self.store.rules();
                heading(first).is_some()
                    && rules.takes_sections(self.store.root(), &file, old.as_deref())
            }
            _ => false,
        };
        if keeps_form {
            let text = append_section(&old.unwrap_or_default(), at.whole());
            self.set(&file, Some(without_stand_ins(&text)))?;
            return Ok(file);
        }
        let fields = Fields {
            name: Some(at.entry.title.clone()),
            description: Some(at.entry.summary.clone()).filter(|summary| !summary.is_empty()),
            category: category(self.store, &None),
            tags: at.entry.tags.clone(),
            ..Fields::default()
        };
        let input = WriteInput {
            file: &file,
            content: at.body(),
            fields: &fields,
            old: old.as_deref(),
        };
        let text = self.store.rules().append(self, &input)?;
        self.set(&file, Some(without_stand_ins(&text)))?;
        Ok(file)
    }

    /// Takes entries out of their files. Entries are named as the files are before.
    pub(super) fn remove_entries(&mut self, mut entries: Vec<NamedEntry>) -> Result<()> {
        entries.sort_by(|a, b| a.file.cmp(&b.file));
        for of_file in entries.chunk_by(|a, b| a.file == b.file) {
            let Some(first) = of_file.first() else {
                continue;
            };
            let spans = of_file.iter().map(|at| removal_span(&at.text, &at.entry));
            let mut text = first.text.clone();
            for span in joined(spans.collect()).into_iter().rev() {
                text = splice(&text, span, "");
            }
            self.set_text(first, text)?;
        }
        Ok(())
    }
}

/// The characters that stand for bytes from 128 to 255 that are no text, in a private plane.
const STAND_INS: RangeInclusive<char> = '\u{10ff80}'..='\u{10ffff}';

/// Bytes as text in which every byte that is no UTF-8 is replaced by a character that stands for
/// it, so that [`without_stand_ins`] returns the same bytes.
pub(super) fn with_stand_ins(bytes: &[u8]) -> String {
    let stand_in = |byte: &u8| char::from_u32(0x10_ff00 + u32::from(*byte));
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for char in chunk.valid().chars() {
            if STAND_INS.contains(&char) {
                text.extend(char.to_string().as_bytes().iter().filter_map(stand_in));
            } else {
                text.push(char);
            }
        }
        text.extend(chunk.invalid().iter().filter_map(stand_in));
    }
    text
}

fn without_stand_ins(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    for char in text.chars() {
        if STAND_INS.contains(&char) {
            bytes.push((u32::from(char) & 0xff) as u8);
        } else {
            bytes.extend(char.to_string().as_bytes());
        }
    }
    bytes
}

/// The ranges in order; those that overlap are one.
fn joined(mut spans: Vec<Range<usize>>) -> Vec<Range<usize>> {
    spans.sort_by_key(|span| span.start);
    let mut out: Vec<Range<usize>> = Vec::new();
    for span in spans {
        match out.last_mut() {
            Some(last) if span.start < last.end => last.end = last.end.max(span.end),
            _ => out.push(span),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::core::change::{
        BrokenLinks, Change, ChangeContext, ChangeRequest, Transfer, plan, plan_moves,
    };
    use crate::core::memory::layout::{Matching, Patch};
    use crate::core::memory::store::Store;
    use crate::core::text::time::Moment;

    const REGISTRY: &str = "# Task Group: shop\nscope: x\n\n## Task 1: pay\n- cents\n\n\
        ## Task 2: ship\n- boxes\n\n# Task Group: blog\n\n## Task 1: pay\n- none\n";

    fn store(at: &Path, layout: Layout, files: &[(&str, &str)]) -> Store {
        for (file, text) in files {
            let path = at.join(file);
            fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
            fs::write(path, text).expect("writes");
        }
        Store::open("s", at, Some(layout)).expect("opens")
    }

    fn context() -> ChangeContext {
        ChangeContext {
            moment: Moment {
                time: jiff::Timestamp::from_second(1_790_000_000).expect("a time"),
                today: jiff::civil::date(2026, 9, 21),
            },
            ..ChangeContext::test()
        }
    }

    fn after(change: &Change, file: &str) -> String {
        let edit = change.edits.iter().find(|edit| edit.path == file);
        let bytes = edit.and_then(|edit| edit.after.clone());
        String::from_utf8(bytes.expect("is written")).expect("text")
    }

    #[test]
    fn an_entry_is_changed_and_every_other_byte_stays() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let files = [("notes.md", REGISTRY)];
        let store = store(temp.path(), Layout::Entries, &files);
        let changed = |request: ChangeRequest| {
            let change = plan(&store, &request, &context()).expect("planned");
            after(&change, "notes.md")
        };
        let path = |slug: &str| format!("notes.md#{slug}");
        let fields = Fields::default();
        assert_eq!(
            changed(ChangeRequest::Write {
                path: path("task-1-pay-2"),
                content: "- all\n".to_owned(),
                fields: fields.clone(),
            }),
            REGISTRY.replace("- none", "- all")
        );
        assert_eq!(
            changed(ChangeRequest::Append {
                path: path("task-1-pay"),
                entry: "- euro\n".to_owned(),
                fields,
            }),
            REGISTRY.replace("- cents\n", "- cents\n- euro\n")
        );
        assert_eq!(
            changed(ChangeRequest::Patch {
                path: path("task-group-blog"),
                patches: vec![Patch {
                    old: "pay".to_owned(),
                    new: "write".to_owned(),
                }],
                matching: Matching::Unique,
            }),
            REGISTRY.replace("## Task 1: pay\n- none", "## Task 1: write\n- none")
        );
        assert_eq!(
            changed(ChangeRequest::Rename {
                from: path("task-2-ship"),
                to: "Task 2: post".to_owned(),
            }),
            REGISTRY.replace("ship", "post")
        );
        assert_eq!(
            changed(ChangeRequest::Delete {
                paths: vec![path("task-1-pay-2"), path("task-1-pay")],
            }),
            REGISTRY
                .replace("## Task 1: pay\n- cents\n\n", "")
                .replace("## Task 1: pay\n- none\n", "")
        );
        assert_eq!(
            changed(ChangeRequest::Delete {
                paths: vec![path("task-group-shop"), path("task-2-ship")],
            }),
            "# Task Group: blog\n\n## Task 1: pay\n- none\n"
        );
        let missing = ChangeRequest::Delete {
            paths: vec![path("task-9")],
        };
        assert!(matches!(
            plan(&store, &missing, &context()),
            Err(Error::NotFound { .. })
        ));
    }

    #[test]
    fn an_entry_of_a_file_with_bytes_that_are_no_text_is_changed() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let store = store(temp.path(), Layout::Entries, &[("raw_memories.md", "")]);
        let odd = b"# Task Group: a\xff\xe2\x82\nx \xf4\x8f\xbe\x80\n\n# Task Group: b\nold\n";
        fs::write(temp.path().join("notes.md"), odd).expect("writes");
        let request = ChangeRequest::Write {
            path: "notes.md#task-group-b".to_owned(),
            content: "new\n".to_owned(),
            fields: Fields::default(),
        };
        let change = plan(&store, &request, &context()).expect("planned");
        let edit = change.edits.iter().find(|edit| edit.path == "notes.md");
        let after = edit.and_then(|edit| edit.after.clone()).expect("written");
        assert_eq!(after, [&odd[..odd.len() - 4], b"new\n"].concat());
    }

    #[test]
    fn an_entry_moves_into_a_memory_of_its_own() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let (from, to) = (temp.path().join("from"), temp.path().join("to"));
        let from = store(&from, Layout::Entries, &[("notes.md", REGISTRY)]);
        let to = store(
            &to,
            Layout::Index,
            &[("MEMORY.md", "# Memory\n\n(empty)\n")],
        );
        let transfer = Transfer {
            source: &from,
            path: "notes.md#task-2-ship",
            place: "ship.md".to_owned(),
        };
        let change = plan_moves(&[transfer], &to, BrokenLinks::Follow, &context());
        let change = change.expect("planned");
        assert_eq!(
            after(&change, "notes.md"),
            REGISTRY.replace("## Task 2: ship\n- boxes\n\n", "")
        );
        let memory = after(&change, "ship.md");
        assert!(
            memory.starts_with("---\nname: \"Task 2: ship\"\n"),
            "{memory}"
        );
        assert!(memory.ends_with("---\n\n- boxes\n"), "{memory}");
        assert!(after(&change, "MEMORY.md").contains("(ship.md)"));
    }

    #[test]
    fn a_section_of_an_index_becomes_a_memory_that_the_index_lists() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let index = "# Memory\n\n- [A](a.md) — one\n\n## Staging\n\nOn quokka17.\n\n## Last\nx\n";
        let a = "---\nname: A\ndescription: one\ntype: user\n---\n\nx\n";
        let files = [("MEMORY.md", index), ("a.md", a)];
        let store = store(temp.path(), Layout::Index, &files);
        let request = ChangeRequest::Rename {
            from: "MEMORY.md#staging".to_owned(),
            to: "staging.md".to_owned(),
        };
        let change = plan(&store, &request, &context()).expect("planned");
        assert!(after(&change, "staging.md").ends_with("---\n\nOn quokka17.\n"));
        let index = after(&change, "MEMORY.md");
        assert!(index.contains("(staging.md)"), "{index}");
        assert!(!index.contains("## Staging"), "{index}");
        assert!(index.ends_with("## Last\nx\n"), "{index}");
    }

    #[test]
    fn an_entry_that_moves_beside_others_keeps_its_form() {
        let temp = tempfile::tempdir().expect("a directory");
        for (layout, from, to, moved) in [
            (
                Layout::Instructions,
                ("CLAUDE.md", "# P\n\n## Test\n\nrun it\n"),
                ("AGENTS.md", "## One\n\nx\n"),
                "## One\n\nx\n\n## Test\n\nrun it\n",
            ),
            (
                Layout::Index,
                ("MEMORY.md", "# M\n\n## Test\n\nrun it\n"),
                ("a.md", "---\nname: a\n---\n\n## One\nx"),
                "---\nname: a\n---\n\n## One\nx\n\n## Test\n\nrun it\n",
            ),
            (
                Layout::Facts,
                (
                    "episodes/01.md",
                    "# Episodes 01\n\n## Test\n- Summary: b\n- Date: 2026-01-02\n\nrun it\n",
                ),
                ("episodes/02.md", "# Episodes 02\n"),
                "# Episodes 02\n\n## Test\n- Summary: b\n- Date: 2026-01-02\n\nrun it\n",
            ),
            (
                Layout::Entries,
                ("MEMORY.md", "# M\n\n## Test\nrun it\n"),
                ("memory/2026-01-02.md", "## One\nx\n"),
                "## One\nx\n\n## Test\nrun it\n",
            ),
            (
                Layout::Entries,
                ("MEMORY.md", "# M\n\n## Test\nrun it\n\n---\n\n## Last\n"),
                ("memory/2026-01-03.md", "## One\nx\n"),
                "## One\nx\n\n## Test\nrun it\n\n---\n",
            ),
        ] {
            let dir = temp.path().join(layout.to_string());
            let store = store(&dir, layout, &[from, to]);
            let request = ChangeRequest::Rename {
                from: format!("{}#test", from.0),
                to: to.0.to_owned(),
            };
            let change = plan(&store, &request, &context()).expect("it moves");
            assert_eq!(after(&change, to.0), moved);
        }
    }

    #[test]
    fn a_section_of_an_index_moves_into_another_one() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let section = "## Staging\nOn quokka17.\n";
        let from = format!("# Memory\n\n{section}");
        let from = store(
            &temp.path().join("from"),
            Layout::Index,
            &[("MEMORY.md", &from)],
        );
        let index = "# Memory\n\n## User\n- [a](a.md) - a\n";
        let a = (
            "a.md",
            "---\nname: a\ndescription: a\ntype: user\n---\n\na\n",
        );
        let to = store(
            &temp.path().join("to"),
            Layout::Index,
            &[("MEMORY.md", index), a],
        );
        let transfer = Transfer {
            source: &from,
            path: "MEMORY.md#staging",
            place: "MEMORY.md".to_owned(),
        };
        let change = plan_moves(&[transfer], &to, BrokenLinks::Follow, &context());
        let edits = change.expect("planned").edits;
        let after = |store: &Store| {
            let root = store.root().path();
            let edit = edits.iter().find(|edit| edit.root == root);
            edit.and_then(|edit| edit.after.clone()).expect("written")
        };
        assert_eq!(after(&to), format!("{index}\n{section}").into_bytes());
        assert_eq!(after(&from), b"# Memory\n\n");
    }

    #[test]
    fn codex_is_told_of_a_change_by_a_note_of_its_own_form() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let files = [("MEMORY.md", REGISTRY), ("raw_memories.md", "")];
        let by_place = temp.path().join(".codex/memories");
        let by_place = store(&by_place, Layout::Entries, &files[..1]);
        let store = store(temp.path(), Layout::Entries, &files);
        let request = ChangeRequest::Delete {
            paths: vec!["MEMORY.md#task-2-ship".to_owned()],
        };
        let change = plan(&store, &request, &context()).expect("planned");
        let note = "extensions/ad_hoc/notes/2026-09-21T14-13-20-memory.md";
        let same = plan(&by_place, &request, &context()).expect("planned");
        assert_eq!(after(&same, note), after(&change, note));
        let text = after(&change, note);
        assert!(text.contains("deleted this from MEMORY.md"), "{text}");
        assert!(text.contains("> ## Task 2: ship\n> - boxes"), "{text}");
        // Another change of the same second has a note of its own.
        let notes = temp.path().join("extensions/ad_hoc/notes");
        std::fs::create_dir_all(&notes).expect("creates");
        std::fs::write(notes.join("2026-09-21T14-13-20-memory.md"), "x").expect("writes");
        let again = plan(&store, &request, &context()).expect("planned");
        let second = "extensions/ad_hoc/notes/2026-09-21T14-13-20-change-2.md";
        assert_eq!(after(&again, second), text);
        let elsewhere = ChangeRequest::Write {
            path: "new.md".to_owned(),
            content: "x".to_owned(),
            fields: Fields::default(),
        };
        let refused = plan(&store, &elsewhere, &context()).expect_err("Codex does not read it");
        assert!(
            refused.to_string().contains("extensions/ad_hoc/notes"),
            "{refused}"
        );
    }

    #[test]
    fn a_note_to_codex_masks_what_was_taken_out_and_has_all_that_was_put_in() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let token = format!("ghp_{}", "a1B2c3D4".repeat(5).split_off(4));
        let registry = REGISTRY.replace("- cents", &format!("- cents with {token} and more"));
        let files = [("MEMORY.md", registry.as_str()), ("raw_memories.md", "")];
        let store = store(temp.path(), Layout::Entries, &files);
        let note = "extensions/ad_hoc/notes/2026-09-21T14-13-20-memory.md";
        let told = |request: ChangeRequest| {
            let change = plan(&store, &request, &context()).expect("planned");
            after(&change, note)
        };
        let path = "MEMORY.md#task-1-pay".to_owned();
        let patches = vec![Patch {
            old: token.clone(),
            new: "the token of the vault".to_owned(),
        }];
        let rules: String = (0..80)
            .map(|at| format!("- rule {at}: the person said this at some length\n"))
            .collect();
        let written = told(ChangeRequest::Write {
            path: path.clone(),
            content: rules.clone(),
            fields: Fields::default(),
        });
        for rule in rules.lines() {
            assert!(written.contains(&format!("> {rule}\n")), "{written}");
        }
        let matching = Matching::Unique;
        for text in [
            written,
            told(ChangeRequest::Delete {
                paths: vec![path.clone()],
            }),
            told(ChangeRequest::Patch {
                path,
                patches,
                matching,
            }),
        ] {
            assert!(!text.contains(&token[4..]), "{text}");
            assert!(
                text.contains("> - cents with ghp_‹masked› and more\n"),
                "{text}"
            );
        }
    }

    #[test]
    fn hermes_takes_no_more_than_it_keeps() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let home = temp.path().join(".hermes/memories");
        let text = format!("{}\n§\nsecond", "x".repeat(2_150));
        let store = store(&home, Layout::Entries, &[("MEMORY.md", &text)]);
        let append = |entry: String| ChangeRequest::Append {
            path: "MEMORY.md".to_owned(),
            entry,
            fields: Fields::default(),
        };
        let change = plan(&store, &append("third".to_owned()), &context()).expect("fits");
        assert_eq!(after(&change, "MEMORY.md"), format!("{text}\n§\nthird"));
        let refused = plan(&store, &append("y".repeat(60)), &context()).expect_err("too long");
        assert!(refused.to_string().contains("2200 characters"), "{refused}");
        let settings = "memory:\n  memory_char_limit: 3000 # more\n";
        fs::write(temp.path().join(".hermes/config.yaml"), settings).expect("writes");
        plan(&store, &append("y".repeat(60)), &context()).expect("fits");
        // What is named by its first words keeps its title there.
        let instructions = Layout::Instructions;
        let file = ("CLAUDE.md", "# P\r\n\r\n## Fridays\r\n\r\nnever\r\n");
        let from = self::store(&temp.path().join("p"), instructions, &[file]);
        let transfer = Transfer {
            source: &from,
            path: "CLAUDE.md#fridays",
            place: "MEMORY.md".to_owned(),
        };
        let change = plan_moves(&[transfer], &store, BrokenLinks::Follow, &context());
        let moved = after(&change.expect("planned"), "MEMORY.md");
        assert_eq!(moved, format!("{text}\n§\nFridays\nnever"));
        // The first entry has no mark after it yet.
        fs::write(home.join("MEMORY.md"), "first\n").expect("writes");
        let change = plan(&store, &append("second".to_owned()), &context()).expect("fits");
        assert_eq!(after(&change, "MEMORY.md"), "first\n§\nsecond");
        fs::write(home.join("MEMORY.md"), &text).expect("writes");
        let delete = ChangeRequest::Delete {
            paths: vec!["MEMORY.md#second".to_owned()],
        };
        let change = plan(&store, &delete, &context()).expect("planned");
        assert_eq!(
            after(&change, "MEMORY.md"),
            format!("{}\n", "x".repeat(2_150))
        );
    }
}
