//! The six memory layouts, and the instruction files.
//!
//! A layout defines which files are memories, how they are parsed and composed, which operations
//! are allowed, and how its index is updated. It works on texts: only [`crate::core::change`]
//! writes files.

pub mod coder;
pub mod entries;
pub mod events;
pub mod facts;
pub mod index;
pub mod instructions;
pub mod listing;
pub mod note;
pub mod session;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::core::disk::sandbox::{FoundFile, Root};
use crate::core::memory::store::Store;
use crate::core::memory::{FileKind, Memory};
use crate::core::text::header::{self, section::heading};
use crate::core::text::time::Moment;
use crate::core::{Error, Result};

/// The name of the index file.
pub const INDEX: &str = "MEMORY.md";

/// The format of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// Overview, detail notes and the raw conversation of one session.
    Session,
    /// Facts by topic and episodes by month.
    Facts,
    /// `MEMORY.md` and typed files.
    Index,
    /// Lessons in a tree of READMEs.
    Coder,
    /// Append-only events.
    Events,
    /// Files with many memories each, without an index.
    Entries,
    /// Files of standing instructions: `CLAUDE.md`, `AGENTS.md` and the like.
    Instructions,
}

impl Layout {
    /// Every layout, in the order in which stores are listed.
    pub const ALL: [Self; 7] = [
        Self::Index,
        Self::Session,
        Self::Facts,
        Self::Coder,
        Self::Events,
        Self::Entries,
        Self::Instructions,
    ];

    /// The name in settings, arguments and output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Facts => "facts",
            Self::Index => "index",
            Self::Coder => "coder",
            Self::Events => "events",
            Self::Entries => "entries",
            Self::Instructions => "instructions",
        }
    }

    /// The layouts that match the content of `root`; if there are several, the user has to choose.
    pub fn detect(root: &Root) -> Vec<Self> {
        let has = |name: &str| root.has(name);
        let mut found = Vec::new();
        if has(session::MESSAGES) || root.is_dir(session::WORKING) {
            found.push(Self::Session);
        }
        if entries::is_codex(root) {
            found.push(Self::Entries);
        } else if has(INDEX) {
            found.push(Self::Index);
        }
        if root.is_dir("facts") || root.is_dir("episodes") {
            found.push(Self::Facts);
        }
        if coder::TYPES.iter().any(|folder| root.is_dir(folder)) {
            found.push(Self::Coder);
        }
        if has(events::EVENTS) {
            found.push(Self::Events);
        }
        if found.is_empty() && index::has_typed_file(root) {
            found.push(Self::Index);
        }
        found
    }

    /// The layout of a store whose first file is `path`: the one that would then be detected.
    pub fn of_first_file(path: &str) -> Option<Self> {
        let path = path.trim_start_matches("./");
        match path.split_once('/') {
            Some(("facts" | "episodes", _)) => Some(Self::Facts),
            Some(("detail" | session::WORKING, _)) => Some(Self::Session),
            Some((folder, _)) if coder::TYPES.contains(&folder) => Some(Self::Coder),
            None if path == session::OVERVIEW => Some(Self::Session),
            None if path == events::EVENTS => Some(Self::Events),
            None if path.ends_with(".md") => Some(Self::Index),
            _ => None,
        }
    }

    /// The rules of this layout.
    pub fn rules(self) -> &'static dyn Rules {
        match self {
            Self::Session => &session::Session,
            Self::Facts => &facts::Facts,
            Self::Index => &index::Index,
            Self::Coder => &coder::Coder,
            Self::Events => &events::Events,
            Self::Entries => &entries::Entries,
            Self::Instructions => &instructions::Instructions,
        }
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Layout {
    type Err = UnknownLayout;

    fn from_str(text: &str) -> Result<Self, UnknownLayout> {
        Self::ALL
            .into_iter()
            .find(|layout| layout.name() == text)
            .ok_or_else(|| UnknownLayout(text.to_owned()))
    }
}

/// A name that is not a layout.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no layout '{0}'; the layouts are session, facts, index, coder, events and entries")]
pub struct UnknownLayout(String);

/// An operation on a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Create a file or replace its whole content.
    Write,
    /// Replace a part.
    Patch,
    /// Add to the end.
    Append,
    /// Remove the file.
    Delete,
    /// Rename the file.
    Rename,
    /// Take the file in as it is in another store of the layout.
    Receive,
}

/// The fields that a caller may give with the content.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fields {
    /// The name or title.
    pub name: Option<String>,
    /// The description. In a facts store: the summary of the entry that `name` names, or of the
    /// file if there is no name.
    pub description: Option<String>,
    /// The summary of the file, in a facts store.
    pub summary: Option<String>,
    /// The type.
    pub category: Option<String>,
    /// Tags or keywords.
    pub tags: Vec<String>,
}

/// A replacement of one text by another.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Patch {
    /// The text to replace.
    #[serde(rename = "oldText", alias = "old_str", alias = "old_text")]
    pub old: String,
    /// The new text.
    #[serde(rename = "newText", alias = "new_str", alias = "new_text")]
    pub new: String,
}

/// How the text to replace is matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Matching {
    /// It must occur exactly once.
    Unique,
    /// The first occurrence is replaced, if the layout allows that.
    First,
}

/// A view of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// The index as the agent sees it.
    Index,
    /// A line for each file.
    Files,
}

/// What the plan does to a file, for updating the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TouchedFile {
    /// A new file.
    Added(String),
    /// A file with new content.
    Edited(String),
    /// A deleted file.
    Removed(String),
    /// A renamed file.
    Renamed {
        /// The old name.
        from: String,
        /// The new name.
        to: String,
    },
}

/// How thoroughly an index is updated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexUpdate {
    /// A generated index is generated again; in a hand-written one only wrong lines change.
    Repair,
    /// The index is replaced by a generated one.
    Rewrite,
}

/// How much an agent reads or keeps of a file, or for how long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileLimit {
    /// The file.
    pub file: &'static str,
    /// The most.
    pub most: usize,
    /// What is counted: lines, bytes, characters or days.
    pub unit: &'static str,
}

/// The files of a store as a change would leave them. What the rules write are generated files.
pub trait FileView {
    /// The time of the plan.
    fn moment(&self) -> &Moment;

    /// The directory of the store.
    fn root(&self) -> &Root;

    /// The text of a file, planned edits included; an error if it is not UTF-8.
    fn text(&self, file: &str) -> Result<Option<String>>;

    /// The same for showing it, whatever its bytes are; empty if there is no such file.
    fn shown_text(&self, file: &str) -> Result<String>;

    /// Whether the file exists, planned edits included.
    fn contains(&self, file: &str) -> bool;

    /// Whether a change by which tome generated this file is the one meant. Its texts before and
    /// after such changes are tried, newest first, as far as they are known.
    fn was_generated(&self, file: &str, is_it: &mut dyn FnMut(&str, &str) -> bool) -> bool;

    /// The name on disk of a file that the plan renames.
    fn renamed_from(&self, file: &str) -> Option<&str>;

    /// Sets the content of a generated file, such as an index.
    fn set_derived(&mut self, file: &str, text: String) -> Result<()>;

    /// Removes a generated file.
    fn remove_derived(&mut self, file: &str) -> Result<()>;

    /// The memories as they are on disk.
    fn memories_before(&self) -> Result<&[Memory]>;

    /// The memories, planned edits included.
    fn memories_after(&self) -> Result<Vec<Memory>>;

    /// One memory as it is on disk.
    fn memory_before(&self, file: &str) -> Result<Memory>;

    /// One memory, planned edits included.
    fn memory_after(&self, file: &str) -> Result<Memory>;
}

/// The rules of a layout. Files are named by their path below the root; callers name them by
/// reference, which differs only in the session layout.
pub trait Rules: Sync {
    /// The file at a caller's path.
    fn file_of(&self, path: &str) -> String {
        path.to_owned()
    }

    /// The reference of a file.
    fn reference_of(&self, file: &str) -> String {
        file.to_owned()
    }

    /// Whether a file of the root may be read by a name that somebody gives.
    fn is_readable(&self, _file: &str) -> bool {
        true
    }

    /// Returns an error if `operation` is not allowed on `file`, a resolved path.
    fn allow(&self, operation: Operation, file: &str, root: &Root) -> Result<()>;

    /// The folder and the depth in which [`Rules::files`] finds the Markdown files; `None` if it
    /// looks for certain names only.
    fn searched(&self) -> Option<(&'static str, usize)> {
        None
    }

    /// Whether a Markdown file in that folder is one of the store.
    fn is_listed(&self, _root: &Root, _file: &str) -> bool {
        true
    }

    /// The files of the store, in any order.
    fn files(&self, root: &Root) -> Result<Vec<FoundFile>> {
        let (folder, depth) = self.searched().unwrap_or_default();
        let mut found = root.markdown(folder, depth)?;
        found.retain(|file| self.is_listed(root, &file.path));
        Ok(found)
    }

    /// The rank of a file in listings; files of equal rank are sorted by path.
    fn rank(&self, _file: &str) -> u8 {
        0
    }

    /// Parses one file.
    fn read(&self, file: &str, text: &str) -> Memory;

    /// The role of a file, by its name.
    fn kind(&self, _file: &str) -> FileKind {
        FileKind::Memory
    }

    /// The whole text of a written file.
    fn compose(&self, planned: &dyn FileView, input: &WriteInput<'_>) -> Result<String>;

    /// The text of a file with an entry added.
    fn append(&self, planned: &dyn FileView, input: &WriteInput<'_>) -> Result<String> {
        match input.old {
            Some(old) => Ok(append_entry(old, input.content)),
            None => self.compose(planned, input),
        }
    }

    /// The text of a file with the patches applied, all or none.
    fn patch(
        &self,
        _planned: &dyn FileView,
        file: &str,
        text: &str,
        patches: &[Patch],
        _matching: Matching,
    ) -> Result<String> {
        patched(&self.reference_of(file), text, patches, Matching::Unique)
    }

    /// A text that a user saved in place of `old`, with its derived parts updated.
    fn normalize(&self, _old: Option<&str>, text: String) -> String {
        text
    }

    /// The limits of the agent that are known; none where they differ between its versions or depend
    /// on its other files.
    fn limits(&self, _root: &Root) -> Vec<FileLimit> {
        Vec::new()
    }

    /// How many characters the agent keeps in a file at most, if it has a limit.
    fn most_characters(&self, _root: &Root, _file: &str) -> Option<usize> {
        None
    }

    /// Whether a section of another file can stand in this one as it is.
    fn takes_sections(&self, _root: &Root, _file: &str, _old: Option<&str>) -> bool {
        false
    }

    /// Returns an error if the agent would not take `text` as the new content of a file.
    fn check(&self, _root: &Root, _file: &str, _old: Option<&str>, _text: &str) -> Result<()> {
        Ok(())
    }

    /// What is to be done after a change so that the agent sees it, as the end of a sentence.
    fn last_step(&self, _root: &Root) -> &'static str {
        ""
    }

    /// A file to write with a change so that the agent keeps it: its path and its text.
    fn companion(
        &self,
        _planned: &dyn FileView,
        _touched: &[TouchedFile],
    ) -> Result<Option<(String, String)>> {
        Ok(None)
    }

    /// Whether the index on disk is generated by tome and contains no other text.
    fn is_index_generated(&self, _planned: &dyn FileView) -> Result<bool> {
        Ok(false)
    }

    /// The text of a memory without its header, for writing it in another layout.
    fn body(&self, text: &str, memory: &Memory) -> String {
        text[memory.body.clone()]
            .trim_start_matches(['\r', '\n'])
            .to_owned()
    }

    /// Updates the generated files after planned files were touched.
    fn update_index(&self, _planned: &mut dyn FileView, _touched: &[TouchedFile]) -> Result<()> {
        Ok(())
    }

    /// Repairs or rewrites the index, if the layout has one.
    fn rebuild_index(&self, _planned: &mut dyn FileView, _how: IndexUpdate) -> Result<()> {
        Ok(())
    }

    /// One of the two views of the store; a layout without an index has one only.
    fn view(&self, store: &Store, _view: View) -> Result<String> {
        format_files(store)
    }

    /// How a store of this layout is used, as an agent is told at the start of a session. It is the
    /// same for all of them.
    fn guide(&self) -> String {
        String::new()
    }

    /// What a store has, as an agent is told at the start of a session; empty if there is nothing
    /// to tell.
    fn contents(&self, store: &Store) -> Result<String>;

    /// The text that an agent reads at the start of a session about one store.
    fn context(&self, store: &Store) -> Result<String> {
        let (guide, contents) = (self.guide(), self.contents(store)?);
        Ok(if guide.is_empty() || contents.is_empty() {
            contents
        } else {
            format!("{guide}\n\n{contents}")
        })
    }

    /// The text of an error in this layout.
    fn format_error(&self, error: &Error) -> String {
        error.to_string()
    }
}

/// The input for writing a file.
#[derive(Debug, Clone, Copy)]
pub struct WriteInput<'a> {
    /// The file below the root.
    pub file: &'a str,
    /// The content as the caller gave it.
    pub content: &'a str,
    /// The fields that the caller gave.
    pub fields: &'a Fields,
    /// The current content of the file.
    pub old: Option<&'a str>,
}

/// Appends `entry` to `old`, on a line of its own; one that begins with a heading is a section.
/// `entry` gets the line endings of `old`.
pub fn append_entry(old: &str, entry: &str) -> String {
    if entry
        .lines()
        .next()
        .is_some_and(|line| heading(line).is_some())
    {
        return append_section(old, entry);
    }
    let nl = match old {
        "" => "",
        old if old.ends_with('\n') => "",
        old => header::newline(old),
    };
    format!("{old}{nl}{}", header::fitted(old, entry))
}

/// Appends a section to `old`, after a blank line and with an end of its last line.
pub fn append_section(old: &str, section: &str) -> String {
    let nl = header::newline(old);
    let is_apart = old.trim().is_empty() || old.ends_with("\n\n") || old.ends_with("\r\n\r\n");
    let missing = if is_apart {
        0
    } else {
        2 - usize::from(old.ends_with('\n'))
    };
    let gap = nl.repeat(missing);
    let end = if section.ends_with('\n') { "" } else { "\n" };
    let old = format!("{old}{gap}");
    let section = format!("{section}{end}");
    format!("{old}{}", header::fitted(&old, &section))
}

/// Applies the patches to the text of a file, one after the other. If the file has CRLF line
/// endings, they are also used in the patches.
pub fn patched(path: &str, text: &str, patches: &[Patch], matching: Matching) -> Result<String> {
    let is_crlf = header::is_crlf(text);
    let fitted = |given: &str| {
        if is_crlf {
            header::in_crlf(given)
        } else {
            given.to_owned()
        }
    };
    let mut text = text.to_owned();
    for patch in patches {
        let (old, new) = (fitted(&patch.old), fitted(&patch.new));
        let at = match (occurrences(&text, &old), matching) {
            ((None, _), _) => return Err(Error::TextMissing { path: path.into() }),
            ((Some(_), true), Matching::Unique) => {
                return Err(Error::TextRepeated { path: path.into() });
            }
            ((Some(at), _), _) => at,
        };
        text.replace_range(at..at + old.len(), &new);
    }
    Ok(text)
}

/// The first occurrence of `needle`, and whether it occurs again, overlapping or not.
fn occurrences(text: &str, needle: &str) -> (Option<usize>, bool) {
    if needle.is_empty() {
        return (None, false);
    }
    let Some(at) = text.find(needle) else {
        return (None, false);
    };
    let step = needle.chars().next().map_or(1, char::len_utf8);
    (Some(at), text[at + step..].contains(needle))
}

/// A line for each file of a store: path, summary and size; and for each of its entries.
fn format_files(store: &Store) -> Result<String> {
    let mut rows = Vec::new();
    for m in store.list()? {
        rows.push(format!(
            "{}  {}  ({})",
            m.path,
            m.summary,
            format_size(m.size)
        ));
        let entries = store.shown_entries(&m).iter();
        rows.extend(
            entries.map(|entry| format!("{}#{}", "  ".repeat(entry.depth + 1), entry.slug)),
        );
    }
    Ok(rows.join("\n"))
}

/// A readable size: `500B`, `1.2KB`, `68.7MB`.
pub fn format_size(bytes: u64) -> String {
    if bytes < 1024 {
        return format!("{bytes}B");
    }
    let mut tenths = (bytes.saturating_mul(10) + 512) / 1024;
    let mut unit = "KB";
    for larger in ["MB", "GB", "TB"] {
        if tenths < 10 * 1024 {
            break;
        }
        tenths = (tenths + 512) / 1024;
        unit = larger;
    }
    format!("{}.{}{unit}", tenths / 10, tenths % 10)
}

/// The error for editing a file that tome generates.
fn generated_file_error(file: &str) -> Error {
    Error::refused(
        file,
        "tome generates this file; change the memories it lists, or use `tome index`",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patches(pairs: &[(&str, &str)]) -> Vec<Patch> {
        pairs
            .iter()
            .map(|(old, new)| Patch {
                old: (*old).to_owned(),
                new: (*new).to_owned(),
            })
            .collect()
    }

    #[test]
    fn a_patch_needs_its_text_exactly_once_at_its_turn() {
        let apply = |text: &str, pairs: &[(&str, &str)]| {
            patched("f.md", text, &patches(pairs), Matching::Unique)
        };
        assert_eq!(
            apply("a b", &[("a", "$&"), ("$&", "x")]).expect("applies"),
            "x b"
        );
        assert!(matches!(
            apply("a b", &[("c", "x")]),
            Err(Error::TextMissing { .. })
        ));
        assert!(matches!(
            apply("a b", &[("", "x")]),
            Err(Error::TextMissing { .. })
        ));
        assert!(matches!(
            apply("aaa", &[("aa", "x")]),
            Err(Error::TextRepeated { .. })
        ));
        assert!(matches!(
            apply("éé", &[("é", "x")]),
            Err(Error::TextRepeated { .. })
        ));
        let first = patched("f.md", "x x", &patches(&[("x", "y")]), Matching::First);
        assert_eq!(first.expect("applies"), "y x");
    }

    #[test]
    fn a_patch_of_lines_fits_a_file_of_crlf_lines() {
        let apply = |text: &str, old: &str, new: &str| {
            patched("f.md", text, &patches(&[(old, new)]), Matching::Unique)
        };
        for (old, new) in [("a\nb", "c\nd"), ("a\r\nb", "c\nd")] {
            assert_eq!(
                apply("a\r\nb\r\n", old, new).expect("applies"),
                "c\r\nd\r\n"
            );
        }
        assert_eq!(
            apply("a\r\nb\n", "a", "x\ny").expect("applies"),
            "x\ny\r\nb\n"
        );
    }

    #[test]
    fn sizes_have_one_decimal_from_a_kilobyte_on() {
        for (bytes, text) in [
            (0, "0B"),
            (1023, "1023B"),
            (1024, "1.0KB"),
            (1229, "1.2KB"),
            (72_000_000, "68.7MB"),
            (1 << 30, "1.0GB"),
        ] {
            assert_eq!(format_size(bytes), text);
        }
    }

    #[test]
    fn an_entry_goes_on_a_line_of_its_own() {
        assert_eq!(append_entry("", "x"), "x");
        assert_eq!(append_entry("a", "x"), "a\nx");
        assert_eq!(append_entry("a\n", "x"), "a\nx");
        assert_eq!(append_entry("a\r\nb", "x"), "a\r\nb\r\nx");
        assert_eq!(append_entry("a\r\n", "x\ny\n"), "a\r\nx\r\ny\r\n");
        assert_eq!(append_entry("- a\n", "# G"), "- a\n\n# G\n");
        assert_eq!(append_entry("a\r\n", "## G\nx"), "a\r\n\r\n## G\r\nx\r\n");
        assert_eq!(append_entry("a\n\n", "#tag"), "a\n\n#tag");
    }

    #[test]
    fn the_first_file_of_a_store_says_its_layout() {
        for (path, layout) in [
            ("facts/a.md", Some(Layout::Facts)),
            ("./episodes/2026-01.md", Some(Layout::Facts)),
            ("detail/a.md", Some(Layout::Session)),
            ("working-memory/overview.md", Some(Layout::Session)),
            ("overview.md", Some(Layout::Session)),
            ("semantic/a.md", Some(Layout::Coder)),
            ("episodic/a/b.md", Some(Layout::Coder)),
            ("events.jsonl", Some(Layout::Events)),
            ("a.md", Some(Layout::Index)),
            ("MEMORY.md", Some(Layout::Index)),
            ("a.txt", None),
            ("other/a.md", None),
        ] {
            assert_eq!(Layout::of_first_file(path), layout, "{path}");
        }
    }

    #[test]
    fn a_text_of_several_bytes_a_character_is_found_once() {
        let once = patched("f.md", "aé b", &patches(&[("é", "e")]), Matching::Unique);
        assert_eq!(once.expect("applies"), "ae b");
        assert!(matches!(
            patched("f.md", "ab ab", &patches(&[("ab", "x")]), Matching::Unique),
            Err(Error::TextRepeated { .. })
        ));
    }

    #[test]
    fn every_layout_name_reads_back() {
        for layout in Layout::ALL {
            assert_eq!(layout.name().parse(), Ok(layout));
            assert_eq!(layout.to_string(), layout.name());
        }
    }
}
