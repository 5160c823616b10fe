//! index: `MEMORY.md` and typed files beside it, as Claude Code keeps its own memory.
//!
//! The index is loaded into every prompt. A generated index is generated again at every change; a
//! hand-written one is edited line by line.

pub mod hand_written;
mod limit;
mod page;
mod typed;

use std::path::Path;

use super::{
    FileLimit, IndexUpdate, Matching, Operation, Patch, Rules, TouchedFile, View, WriteInput,
    append_entry, patched,
};
use crate::core::disk::sandbox::{FoundFile, Root};
use crate::core::memory::layout::FileView;
use crate::core::memory::layout::listing::{EMPTY_INDEX, own_lines};
use crate::core::memory::store::Store;
use crate::core::memory::{FileKind, Memory, stem};
use crate::core::text::header::frontmatter::{Frontmatter, scalar};
use crate::core::text::header::section::by_heading;
use crate::core::text::header::{Entry, lines, newline};
use crate::core::text::one_line;
use crate::core::{Error, Result};

use limit::cut;
pub use limit::{growth_warning, lines_seen, newly_unseen, unseen};
pub use page::{
    NamedMemories, SECTIONS, generate_index, is_generated, is_line_made, is_list, line_after,
    with_former_line, with_lines_for,
};
use page::{regenerated, repair_index, update_index_line, with_unread};
pub(super) use typed::has_typed_file;

pub use super::INDEX;

/// The types that an agent may use, each with a description.
pub const TYPES: [(&str, &str); 4] = [
    ("user", "who the user is: role, preferences, knowledge"),
    ("feedback", "how the user wants the work done, and why"),
    (
        "project",
        "goals, decisions and state that the code does not show",
    ),
    ("reference", "where to find things outside the project"),
];

/// How many lines of the index an agent reads.
pub const BUDGET_LINES: usize = 200;

/// How many bytes of the index an agent reads.
pub const BUDGET_BYTES: usize = 25_000;

const HAND_WRITTEN: &str =
    "it is written by hand and not replaced as a whole; append to it or patch a part";

const NOT_RENAMABLE: &str = "agents look for the index by this name; it cannot be another";

const NOT_DELETABLE: &str = "the index cannot be deleted; delete the memories it lists";

/// The index layout.
#[derive(Debug)]
pub struct Index;

impl Rules for Index {
    fn allow(&self, operation: Operation, file: &str, root: &Root) -> Result<()> {
        if file.eq_ignore_ascii_case(INDEX) {
            // A missing index is generated.
            let text = root.read(INDEX).ok().flatten().unwrap_or_default();
            let is_own = !text.is_empty() && !is_generated(&String::from_utf8_lossy(&text));
            return match operation {
                Operation::Patch => Ok(()),
                Operation::Append if is_own => Ok(()),
                Operation::Write if is_own => Err(Error::refused(file, HAND_WRITTEN)),
                Operation::Delete => Err(Error::refused(file, NOT_DELETABLE)),
                Operation::Rename => Err(Error::refused(file, NOT_RENAMABLE)),
                Operation::Write | Operation::Append | Operation::Receive => {
                    Err(super::generated_file_error(file))
                }
            };
        }
        if !file.ends_with(".md") {
            return Err(Error::refused(
                file,
                "memories here are Markdown files; end the name in .md",
            ));
        }
        if is_skill_draft(root.path(), file) {
            return Err(Error::refused(
                file,
                "this is a skill that Gemini drafted; `tome review` accepts or rejects it",
            ));
        }
        let is_kept = matches!(operation, Operation::Delete | Operation::Receive);
        // Some agents sort their memories into folders; no others are made.
        let folder = file.rfind('/').map(|at| &file[..=at]);
        let is_new = |folder| {
            !self
                .files(root)
                .is_ok_and(|files| has_folder(&files, folder))
        };
        if !is_kept && folder.is_some_and(is_new) {
            return Err(Error::refused(
                file,
                format!(
                    "this layout keeps new memories in one folder; write {} instead",
                    file.replace('/', "_")
                ),
            ));
        }
        Ok(())
    }

    fn searched(&self) -> Option<(&'static str, usize)> {
        Some(("", 4))
    }

    fn is_listed(&self, root: &Root, file: &str) -> bool {
        file != INDEX && !is_skill_draft(root.path(), file)
    }

    fn limits(&self, root: &Root) -> Vec<FileLimit> {
        if !is_read_in_part(root.path()) {
            return Vec::new();
        }
        let of_index = |most, unit| FileLimit {
            file: INDEX,
            most,
            unit,
        };
        vec![
            of_index(BUDGET_LINES, "lines"),
            of_index(BUDGET_BYTES, "characters"),
        ]
    }

    fn rank(&self, file: &str) -> u8 {
        u8::from(file.contains('/'))
    }

    fn kind(&self, file: &str) -> FileKind {
        match file {
            INDEX => FileKind::Index,
            _ => FileKind::Memory,
        }
    }

    fn read(&self, file: &str, text: &str) -> Memory {
        let mut memory = Memory::bare(file, text.len() as u64);
        memory.kind = self.kind(file);
        if memory.kind == FileKind::Index {
            memory.entries = own_sections(text);
        }
        let Some(head) = Frontmatter::parse(text) else {
            memory.problem = unclosed(text).then(|| UNCLOSED.to_owned());
            return memory;
        };
        let field = |key: &str| {
            let value = head.get(key).filter(|value| !value.is_empty());
            value.map(str::to_owned)
        };
        let said_anywhere = |key: &str| {
            let value = head.get_anywhere(key).filter(|value| !value.is_empty());
            value.map(str::to_owned)
        };
        if let Some(name) = field("name") {
            memory.title = name;
        }
        memory.summary = field("description").unwrap_or_default();
        memory.category = said_anywhere("type");
        memory.created = said_anywhere("created");
        memory.updated = said_anywhere("updated").or_else(|| said_anywhere("modified"));
        memory.body = head.body()..text.len();
        memory
    }

    fn compose(&self, planned: &dyn FileView, input: &WriteInput<'_>) -> Result<String> {
        let fields = input.fields;
        let category = fields.category.as_deref().map(str::trim);
        if let Some(given) = category
            && !TYPES.iter().any(|(name, _)| *name == given)
        {
            return Err(bad_type(given));
        }
        let given = [
            ("name", fields.name.as_deref()),
            ("description", fields.description.as_deref()),
            ("type", category),
        ];
        for text in [Some(input.content), input.old].into_iter().flatten() {
            if unclosed(text) {
                return Err(Error::Invalid {
                    path: input.file.into(),
                    line: 1,
                    message: UNCLOSED.to_owned(),
                });
            }
        }
        let today = planned.moment().today.to_string();
        if Frontmatter::parse(input.content).is_some_and(|head| !head.is_empty()) {
            return Ok(with_fields(input.content, &given, None));
        }
        if let Some(old) = input.old
            && let Some(head) = Frontmatter::parse(old)
        {
            let stamp = head.get_anywhere("modified").is_none() || head.get("updated").is_some();
            let whole = with_fields(old, &given, stamp.then_some(&today));
            let end = Frontmatter::parse(&whole).map_or(0, |head| head.body());
            let nl = newline(old);
            let body = input.content.trim_end_matches(['\r', '\n']);
            let body = body.replace("\r\n", "\n").replace('\n', nl);
            return Ok(format!("{}{nl}{body}{nl}", &whole[..end]));
        }
        let Some(category) = category else {
            return Err(Error::refused(
                input.file,
                "a memory without a header needs a type: user, feedback, project or reference",
            ));
        };
        let name = fields.name.as_deref().unwrap_or(stem(input.file));
        let first = lines(input.content, 0).find(|line| !line.text.trim().is_empty());
        let first = first.map_or("", |line| line.text.trim_start_matches(['#', ' ']));
        let description = fields.description.as_deref().unwrap_or(first);
        Ok(format!(
            "---\nname: {}\ndescription: {}\ntype: {category}\nupdated: {today}\n---\n\n{}\n",
            scalar(&one_line(name)),
            scalar(&one_line(description)),
            input.content.strip_suffix('\n').unwrap_or(input.content),
        ))
    }

    fn append(&self, planned: &dyn FileView, input: &WriteInput<'_>) -> Result<String> {
        match input.old {
            Some(old) => Ok(with_updated_today(
                append_entry(old, input.content),
                planned,
            )),
            None => self.compose(planned, input),
        }
    }

    fn patch(
        &self,
        planned: &dyn FileView,
        file: &str,
        text: &str,
        patches: &[Patch],
        matching: Matching,
    ) -> Result<String> {
        let text = patched(file, text, patches, matching)?;
        Ok(match file {
            INDEX => text,
            _ => with_updated_today(text, planned),
        })
    }

    fn is_index_generated(&self, planned: &dyn FileView) -> Result<bool> {
        let text = planned.text(INDEX)?;
        Ok(text.is_none_or(|text| is_generated(&text)))
    }

    fn update_index(&self, planned: &mut dyn FileView, touched: &[TouchedFile]) -> Result<()> {
        let itself = [TouchedFile::Added, TouchedFile::Edited].map(|how| how(INDEX.to_owned()));
        if touched.iter().any(|touch| itself.contains(touch)) {
            // What the index itself was made is taken as it is; a new memory gets its line.
            let added = touched
                .iter()
                .filter(|touch| matches!(touch, TouchedFile::Added(file) if file != INDEX));
            for touch in added {
                let text = planned.text(INDEX)?.unwrap_or_default();
                let text = update_index_line(planned, text, touch)?;
                planned.set_derived(INDEX, text)?;
            }
            return Ok(());
        }
        let after = planned.memories_after()?;
        let Some(mut text) = planned.text(INDEX)? else {
            return planned.set_derived(INDEX, generate_index(&after));
        };
        if let Some(made) = regenerated(planned, &text, &after)? {
            return planned.set_derived(INDEX, made);
        }
        for touch in touched {
            text = update_index_line(planned, text, touch)?;
        }
        planned.set_derived(INDEX, text)
    }

    fn rebuild_index(&self, planned: &mut dyn FileView, how: IndexUpdate) -> Result<()> {
        let memories = planned.memories_before()?.to_vec();
        let text = planned.text(INDEX)?;
        let kept = match (how, text) {
            (_, None) if memories.is_empty() => EMPTY_INDEX.to_owned(),
            (_, None) => generate_index(&memories),
            (IndexUpdate::Rewrite, Some(text)) => {
                generate_index(&with_unread(planned, &text, &memories))
            }
            (IndexUpdate::Repair, Some(text)) if text == EMPTY_INDEX && memories.is_empty() => text,
            (IndexUpdate::Repair, Some(text)) => match regenerated(planned, &text, &memories)? {
                Some(made) => made,
                None => repair_index(&text, &memories, planned)?,
            },
        };
        planned.set_derived(INDEX, kept)
    }

    fn view(&self, store: &Store, view: View) -> Result<String> {
        if view == View::Index {
            let text = store.text(INDEX)?.unwrap_or_else(|| EMPTY_INDEX.to_owned());
            return Ok(cut(&text, BUDGET_LINES, usize::MAX));
        }
        let rows: Vec<String> = store.described()?.iter().map(row).collect();
        Ok(if rows.is_empty() {
            "(no memory files yet)".to_owned()
        } else {
            rows.join("\n")
        })
    }

    fn guide(&self) -> String {
        let types: Vec<String> = TYPES
            .iter()
            .map(|(name, meaning)| format!("- {name}: {meaning}"))
            .collect();
        format!("{PROTOCOL}\n\nMemory types:\n{}", types.join("\n"))
    }

    fn contents(&self, store: &Store) -> Result<String> {
        let text = store.text(INDEX)?.unwrap_or_else(|| EMPTY_INDEX.to_owned());
        let text = cut(&text, BUDGET_LINES, BUDGET_BYTES);
        Ok(format!("Current memory index:\n\n{text}"))
    }

    fn format_error(&self, error: &Error) -> String {
        match error {
            Error::NotFound { path } => format!("Error: Memory file '{path}' not found."),
            Error::TextMissing { path } => format!("Error: Text not found in {path}"),
            Error::BadType { .. } => format!("Error: {error}"),
            Error::Refused { reason, .. } if reason == NOT_DELETABLE => {
                "Error: Cannot delete the index file.".to_owned()
            }
            other => other.to_string(),
        }
    }
}

/// The folder of the skills that Gemini CLI drafts beside its memories of a project.
pub(in crate::core) const SKILL_DRAFTS: &str = "skills";

/// Whether Gemini CLI keeps its memories of a project in this directory: `.gemini/tmp/PROJECT/memory`.
fn is_of_gemini(root: &Path) -> bool {
    let above = root.ancestors().nth(2);
    above.is_some_and(|tmp| tmp.ends_with(".gemini/tmp"))
}

/// Whether only so much of the index of this directory is read at the start of a session: by Claude
/// Code and Qwen Code, and by what tome tells. Gemini CLI reads all of its own.
pub fn is_read_in_part(root: &Path) -> bool {
    !is_of_gemini(root)
}

/// Whether a file is of a skill that Gemini CLI drafted, and no memory.
pub(in crate::core) fn is_skill_draft(root: &Path, file: &str) -> bool {
    let below = file.strip_prefix(SKILL_DRAFTS);
    below.is_some_and(|below| below.starts_with('/')) && is_of_gemini(root)
}

/// The sections of an index that say more than which memories there are.
fn own_sections(text: &str) -> Vec<Entry> {
    let own = own_lines(text);
    let mut sections = by_heading(text, 2..=2);
    sections.retain(|section| own.iter().any(|at| section.span.contains(at)));
    sections
}

const PROTOCOL: &str = "\
Persistent memory is kept in files that outlive this conversation:
1. The index below lists every memory with a one-line description.
2. A memory's file holds the detail; it is read when its line bears on the task at hand.
3. A lasting fact about the user, their feedback, the project or a reference is stored as a memory of that type.
4. A memory that covers the subject already is updated; a second one is not made.
5. A memory that turns out wrong or outdated is corrected or deleted.";

const UNCLOSED: &str = "the frontmatter that starts here is never closed; add a line --- after it";

/// Whether the frontmatter is never closed, so that it cannot be separated from the body.
fn unclosed(text: &str) -> bool {
    let first = lines(text.trim_start_matches('\u{feff}'), 0).next();
    first.is_some_and(|line| line.text.trim_end() == "---") && Frontmatter::parse(text).is_none()
}

fn bad_type(given: &str) -> Error {
    let allowed: Vec<&str> = TYPES.iter().map(|(name, _)| *name).collect();
    Error::BadType {
        given: given.to_owned(),
        allowed: allowed.join(", "),
    }
}

/// `text` with the given fields set, and `updated` if a date is given.
fn with_fields(text: &str, fields: &[(&str, Option<&str>)], updated: Option<&String>) -> String {
    let stamp = ("updated", updated.map(String::as_str));
    let mut text = text.to_owned();
    for (key, value) in fields.iter().copied().chain([stamp]) {
        if let Some(value) = value
            && let Some(head) = Frontmatter::parse(&text)
        {
            text = head.set(&text, key, value);
        }
    }
    text
}

/// `text` with today's date in the header, if it has an `updated` field.
fn with_updated_today(text: String, planned: &dyn FileView) -> String {
    match Frontmatter::parse(&text) {
        Some(head) if head.get("updated").is_some() => {
            head.set(&text, "updated", &planned.moment().today.to_string())
        }
        _ => text,
    }
}

/// A line of the list of files.
fn row(memory: &Memory) -> String {
    let category = memory.category.as_deref().unwrap_or("unknown");
    let updated = memory.updated.as_deref().unwrap_or("unknown");
    let day = updated.split('T').next().unwrap_or(updated);
    let description = match one_line(&memory.summary) {
        none if none.is_empty() => "(no description)".to_owned(),
        said => said,
    };
    format!(
        "  {}  [{category}]  {description}  (updated: {day})",
        memory.path
    )
}

/// The memories that a hand-written index without a list does not link to, so that agents do not
/// learn of them. tome does not add lines to such an index.
pub fn unlisted(store: &Store) -> Result<Vec<Memory>> {
    let Some(text) = store.text(INDEX)?.filter(|text| !is_list(text)) else {
        return Ok(Vec::new());
    };
    if is_generated(&text) {
        return Ok(Vec::new());
    }
    let memories = store.list()?;
    let missing = page::unlinked(&text, &memories).into_iter();
    Ok(missing.cloned().collect())
}

/// The paths of the memories that the text of an index does not name, so that agents do not
/// learn of them.
pub fn missing(text: &str, memories: &[Memory]) -> Vec<String> {
    let unlinked = page::unlinked(text, memories).into_iter();
    let missing = unlinked.filter(|memory| has_header(memory));
    missing.map(|memory| memory.path.clone()).collect()
}

/// Whether a file has a memory's header. Codex, for example, keeps other files beside its index.
pub fn has_header(memory: &Memory) -> bool {
    memory.category.is_some() || !memory.summary.is_empty()
}

/// Whether some of the files are in this folder.
fn has_folder(files: &[FoundFile], folder: &str) -> bool {
    files.iter().any(|file| file.path.starts_with(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_memory_may_be_in_a_folder_that_has_some() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        for folder in ["feedback", ".git", "empty"] {
            std::fs::create_dir(temp.path().join(folder)).expect("a folder");
        }
        std::fs::write(temp.path().join("feedback/a.md"), "a").expect("writes");
        let root = Root::open(temp.path()).expect("opens");
        let is_allowed = |file: &str| Index.allow(Operation::Rename, file, &root).is_ok();
        assert!(is_allowed("feedback/b.md") && is_allowed("b.md"));
        for file in ["feed/b.md", "feedback/x/b.md", ".git/b.md", "empty/b.md"] {
            assert!(!is_allowed(file), "{file}");
        }
    }

    fn memory(path: &str, text: &str) -> Memory {
        Index.read(path, text)
    }

    #[test]
    fn the_index_is_no_memory_and_memories_beside_it_come_first() {
        assert_eq!(memory(INDEX, "# Memory\n").kind, FileKind::Index);
        assert_eq!(memory("a.md", "text").kind, FileKind::Memory);
        assert!(Index.rank("z.md") < Index.rank("a/b.md"));
        let with = |head: &str| has_header(&memory("a.md", &format!("---\n{head}\n---\n")));
        assert!(with("type: user") && with("description: d"));
        assert!(!with("other: x"));
    }

    #[test]
    fn the_generated_index_groups_by_type_and_falls_back_to_the_stem() {
        let memories = [
            memory(
                "a.md",
                "---\nname: A\ndescription: da\ntype: project\n---\n",
            ),
            memory("b.md", "no header"),
            memory(
                "c.md",
                "---\nname: C\ndescription: dc\nmetadata:\n  type: user\n---\n",
            ),
            memory("d.md", "---\nname: D\ntype: handoff\n---\n"),
            memory("sub/e.md", "---\nname: E\ntype: user\n---\n"),
        ];
        assert_eq!(
            generate_index(&memories),
            "# Memory\n\n## User\n- [C](c.md) - dc\n\n## Project\n- [A](a.md) - da\n\n## Other\n- [b](b.md) - b\n- [D](d.md) - d\n"
        );
        assert_eq!(generate_index(&[]), "# Memory\n");
    }
}
