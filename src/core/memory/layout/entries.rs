//! entries: Markdown files without an index, each with one memory or many, as Codex, Hermes,
//! OpenClaw, Letta and the memory tool of VS Code keep them.
//!
//! The file is the truth; an entry is a range of its bytes.

use std::path::Path;

use super::{FileLimit, FileView, Operation, Rules, TouchedFile, WriteInput, append_entry, note};
use crate::core::disk::foreign::{LARGEST_SETTINGS, read_capped};
use crate::core::disk::sandbox::Root;
use crate::core::log::memory_database;
use crate::core::memory::store::Store;
use crate::core::memory::{FileKind, Memory, stem};
use crate::core::text::header::frontmatter::{Frontmatter, scalar};
use crate::core::text::header::section::{by_heading, by_mark, heading};
use crate::core::text::header::{Entry, fitted, newline, prose, summary};
use crate::core::text::one_line;
use crate::core::{Error, Result};

/// The layout of files with entries.
#[derive(Debug)]
pub struct Entries;

/// What Codex writes into its directory of memories, one of which is always there.
const OF_CODEX: [&str; 3] = ["memory_summary.md", "raw_memories.md", "rollout_summaries"];

/// How many bytes of its summary Codex sends: its start and its end.
pub(in crate::core) const CODEX_SUMMARY: usize = 10_000;

/// How the names of OpenClaw's workspaces begin.
pub(in crate::core) const WORKSPACE: &str = "workspace";

/// The folder of what OpenClaw makes of its notes at night, before it keeps some of it.
const DREAMING: &str = "memory/dreaming/";

/// Whether the directory is Codex's: by where it lies, or by what is in it. Other tools, too, have
/// `memories` beside a `config.toml`, so that this tells it only with groups as Codex writes them.
pub(in crate::core) fn is_codex(root: &Root) -> bool {
    let [summary, raw, rollouts] = OF_CODEX;
    let home = root.path().parent();
    let home = home.filter(|_| {
        ["memories", "memories_v2"]
            .iter()
            .any(|name| root.path().ends_with(name))
    });
    let is_grouped = || {
        let text = root.read("MEMORY.md").ok().flatten();
        text.is_some_and(|text| has_groups(&String::from_utf8_lossy(&text)))
    };
    let is_home = |home: &Path| {
        home.ends_with(".codex")
            || memory_database(home).is_some()
            || (home.join("config.toml").is_file() && is_grouped())
    };
    home.is_some_and(is_home) || root.has(summary) || root.has(raw) || root.is_dir(rollouts)
}

/// The workspace of an editor whose memory of Copilot's this is. Copilot reads there what is in
/// `repo/`, and in a folder for each session.
pub(in crate::core) fn copilot_workspace(root: &Path) -> Option<&Path> {
    let above = root.ancestors().nth(3)?;
    root.ends_with("GitHub.copilot-chat/memory-tool/memories")
        .then_some(above)
}

/// Whether this is the memory of Copilot in an editor for all projects. Copilot reads there only the
/// files of the directory itself.
fn is_of_copilot_user(root: &Path) -> bool {
    root.ends_with("globalStorage/github.copilot-chat/memory-tool/memories")
}

/// Whether the directory is a workspace of OpenClaw: by its name, or by what is in it where the
/// person chose another one.
pub(in crate::core) fn is_workspace(root: &Root) -> bool {
    let name = root.path().file_name();
    name.is_some_and(|name| name.to_string_lossy().starts_with(WORKSPACE))
        || (root.has("SOUL.md") && limit(root, "MEMORY.md").is_none())
        || (root.has("MEMORY.md") && root.is_dir("memory"))
}

/// Whether the agent of the directory makes one of memories that say the same, by itself.
pub(in crate::core) fn is_merged(root: &Root) -> bool {
    is_codex(root) || is_workspace(root)
}

/// Whether a text has groups of Codex.
fn has_groups(text: &str) -> bool {
    let is_group = |title: &str| title.starts_with("Task Group");
    prose(text).any(|(_, line)| matches!(heading(line.text), Some((1, title)) if is_group(title)))
}

/// The entries of a file: groups and tasks of Codex, texts between lines `§`, or sections.
fn entries(text: &str) -> Vec<Entry> {
    if has_groups(text) {
        return by_heading(text, 1..=2);
    }
    match by_mark(text) {
        none if none.is_empty() => by_heading(text, 2..=2),
        marked => marked,
    }
}

/// Whether the agent keeps memories at this path of the directory. OpenClaw's workspace also holds
/// files of other kinds, a README tells of the directory, and skills are none anywhere.
fn is_memory(root: &Root, path: &str) -> bool {
    let folder = path.split_once('/').map(|(folder, _)| folder);
    match folder {
        Some("skills") => false,
        Some("extensions") => path.starts_with(note::FOLDER),
        _ if is_workspace(root) => {
            folder == Some("memory") || matches!(path, "MEMORY.md" | "DREAMS.md")
        }
        _ => !matches!(path, "phase2_workspace_diff.md" | "README.md"),
    }
}

/// The files that an agent keeps many memories in, and reads as they are.
const FILES_OF_ENTRIES: [&str; 3] = ["MEMORY.md", "USER.md", "DREAMS.md"];

/// Whether the directory is the memory of a Letta agent.
fn is_of_letta(root: &Root) -> bool {
    let agents = root.path().ancestors().nth(2);
    agents.is_some_and(|agents| agents.ends_with("agents"))
}

/// Whether a file is a block of a Letta agent, which has a description in its header.
fn is_block(root: &Root, file: &str) -> bool {
    is_of_letta(root) && (file.starts_with("system/") || file.starts_with("reference/"))
}

/// Whether the header of a text has a description.
fn is_described(text: &str) -> bool {
    let head = Frontmatter::parse(text);
    let description = head.as_ref().and_then(|head| head.get("description"));
    description.is_some_and(|description| !description.is_empty())
}

/// The content of a new file, with the description in a header and the name as its title. Letta takes
/// no other field in a header, and other agents read either as text.
fn with_fields(input: &WriteInput<'_>) -> String {
    let fields = input.fields;
    let description = fields.description.as_deref().map(one_line);
    let description = description.filter(|description| !description.is_empty());
    let head = description.map(|said| format!("---\ndescription: {}\n---\n\n", scalar(&said)));
    let is_own = |name: &String| {
        let is_given = !name.is_empty() && *name != stem(input.file);
        is_given && summary::title(input.content).is_none()
    };
    let name = fields.name.as_deref().map(one_line).filter(is_own);
    let title = name.map(|name| format!("# {name}\n\n"));
    format!(
        "{}{}{}",
        head.unwrap_or_default(),
        title.unwrap_or_default(),
        input.content
    )
}

/// Where a new memory goes in the directory: a folder, a file that it is added to, or `""` for a
/// file of its own in the directory itself.
pub(in crate::core) fn places(root: &Root) -> &'static [&'static str] {
    if is_codex(root) {
        &[note::FOLDER]
    } else if limit(root, "MEMORY.md").is_some() {
        &["MEMORY.md", "USER.md"]
    } else if copilot_workspace(root.path()).is_some() {
        &["repo"]
    } else if is_memory(root, "new.md") {
        &[""]
    } else {
        &["MEMORY.md", "memory"]
    }
}

/// What the agent that owns the directory puts before its model by itself, in a sentence; empty if
/// that is not known.
pub fn put_before(root: &Root) -> &'static str {
    if is_codex(root) {
        "Codex puts the beginning and the end of memory_summary.md before its model, if its memories are on."
    } else if limit(root, "MEMORY.md").is_some() {
        "Hermes puts MEMORY.md and USER.md before its model."
    } else if is_workspace(root) {
        "OpenClaw puts MEMORY.md and the notes of these days before its model."
    } else if is_of_letta(root) {
        "Letta puts the blocks below system/ before its model."
    } else if is_of_copilot_user(root.path()) {
        "Copilot puts the first 200 lines of these files before its model."
    } else {
        ""
    }
}

/// How many characters Hermes keeps in a file at most, as its settings say.
fn limit(root: &Root, file: &str) -> Option<usize> {
    let (key, usual) = match file {
        "MEMORY.md" => ("memory_char_limit:", 2_200),
        "USER.md" => ("user_char_limit:", 1_375),
        _ => return None,
    };
    let home = root
        .path()
        .parent()
        .filter(|_| root.path().ends_with("memories"))?;
    let is_profile = home
        .parent()
        .is_some_and(|above| above.ends_with(".hermes/profiles"));
    if !home.join("state.db").exists() && !home.ends_with(".hermes") && !is_profile {
        return None;
    }
    let settings = read_capped(&home.join("config.yaml"), LARGEST_SETTINGS).unwrap_or_default();
    let settings = String::from_utf8_lossy(&settings);
    let mut values = settings
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix(key));
    let value = values.find_map(|value| value.split_whitespace().next()?.parse().ok());
    Some(value.unwrap_or(usual))
}

/// Returns an error if the header of a memory protects it, as Letta protects some.
fn check_protected(file: &str, text: &str) -> Result<()> {
    let head = Frontmatter::parse(text);
    let value = head.as_ref().and_then(|head| head.get("read_only"));
    if value.is_some_and(|value| value.eq_ignore_ascii_case("true")) {
        return Err(Error::refused(
            file,
            "its header says read_only: its agent is not to lose it, so it is changed only where the agent is set up",
        ));
    }
    Ok(())
}

impl Rules for Entries {
    fn takes_sections(&self, root: &Root, file: &str, old: Option<&str>) -> bool {
        limit(root, file).is_none() && old.is_none_or(|old| by_mark(old).is_empty())
    }

    fn allow(&self, _operation: Operation, file: &str, root: &Root) -> Result<()> {
        let is_place = |place: &&str| match *place {
            "" => true,
            place => file == place || file.starts_with(&format!("{place}/")),
        };
        let bytes = root.read(file).ok().flatten().unwrap_or_default();
        check_protected(file, &String::from_utf8_lossy(&bytes))?;
        if is_of_copilot_user(root.path()) && file.contains('/') && !root.has(file) {
            let reason = "Copilot reads the files of this directory and none of its folders, 200 lines in all; leave the folder out of the name";
            return Err(Error::refused(file, reason));
        }
        let places = places(root);
        let is_read = file.ends_with(".md") && is_memory(root, file);
        if is_read && (root.has(file) || places.iter().any(is_place)) {
            return Ok(());
        }
        let places: Vec<&&str> = places.iter().filter(|place| !place.is_empty()).collect();
        let reason = if places.is_empty() {
            "memories here are Markdown files; end the name in .md".to_owned()
        } else {
            let names: Vec<String> = places.iter().map(|place| (**place).to_owned()).collect();
            format!(
                "the agent reads no memory there; new ones go to {}",
                names.join(" or ")
            )
        };
        Err(Error::refused(file, reason))
    }

    fn searched(&self) -> Option<(&'static str, usize)> {
        Some(("", 4))
    }

    fn is_listed(&self, root: &Root, file: &str) -> bool {
        is_memory(root, file)
    }

    fn rank(&self, file: &str) -> u8 {
        u8::from(file.contains('/'))
    }

    fn read(&self, file: &str, text: &str) -> Memory {
        let mut memory = Memory::bare(file, text.len() as u64);
        memory.kind = self.kind(file);
        memory.entries = entries(text);
        memory.category = file.split_once('/').map(|(folder, _)| folder.to_owned());
        if let Some(head) = Frontmatter::parse(text) {
            let field = |key: &str| head.get_anywhere(key).filter(|value| !value.is_empty());
            memory.updated = field("updated").map(str::to_owned);
            memory.summary = field("description").unwrap_or_default().to_owned();
            memory.body = head.body()..text.len();
        }
        if let Some(title) = summary::title(text).filter(|_| memory.entries.is_empty()) {
            title.clone_into(&mut memory.title);
        }
        if memory.summary.is_empty() {
            // The first line of Codex's summary is its version.
            let is_said =
                |line: &str| !matches!(line.trim(), "" | "v1" | "§") && heading(line).is_none();
            let body = &text[memory.body.clone()];
            let first = prose(body).find(|(_, line)| is_said(line.text));
            memory.summary = first
                .map(|(_, line)| one_line(line.text))
                .unwrap_or_default();
        }
        memory
    }

    fn compose(&self, _planned: &dyn FileView, input: &WriteInput<'_>) -> Result<String> {
        let has_header = Frontmatter::parse(input.content).is_some();
        if let Some(old) = input.old {
            let head = Frontmatter::parse(old).filter(|_| !has_header);
            let head = head.map(|head| &old[..head.body()]);
            return Ok(match head {
                Some(head) => format!("{head}{}", fitted(head, input.content)),
                None => input.content.to_owned(),
            });
        }
        let is_of_its_own = !FILES_OF_ENTRIES.contains(&input.file);
        let text = if has_header || !is_of_its_own {
            input.content.to_owned()
        } else {
            with_fields(input)
        };
        Ok(text)
    }

    fn append(&self, planned: &dyn FileView, input: &WriteInput<'_>) -> Result<String> {
        let old = input.old.unwrap_or_default();
        let nl = newline(old);
        let end = if old.ends_with('\n') || old.is_empty() {
            ""
        } else {
            nl
        };
        let content = input.content.trim_end_matches(['\r', '\n']);
        let is_of_hermes = limit(planned.root(), input.file).is_some();
        if !by_mark(old).is_empty() || (is_of_hermes && !old.trim().is_empty()) {
            // An entry here is named by its first words.
            let name = input.fields.name.as_deref().map(one_line);
            let name = name.filter(|name| !one_line(content).starts_with(name.as_str()));
            let title = name.map_or(String::new(), |name| format!("{name}{nl}"));
            return Ok(format!("{old}{end}§{nl}{title}{}", fitted(old, content)));
        }
        let entry = match &input.fields.name {
            Some(name) => format!("## {}{nl}{nl}{}{nl}", one_line(name), fitted(old, content)),
            None => return Ok(append_entry(old, input.content)),
        };
        let gap = if old.is_empty() { "" } else { nl };
        Ok(format!("{old}{end}{gap}{entry}"))
    }

    fn limits(&self, root: &Root) -> Vec<FileLimit> {
        let of = |file, most, unit| FileLimit { file, most, unit };
        if is_codex(root) {
            return vec![of(OF_CODEX[0], CODEX_SUMMARY, "bytes")];
        }
        if is_of_copilot_user(root.path()) {
            return vec![of("all files", 200, "lines")];
        }
        if copilot_workspace(root.path()).is_some() {
            return vec![of("a session's files", 14, "days")];
        }
        let files = ["MEMORY.md", "USER.md"].into_iter();
        let of_hermes = files.filter_map(|file| Some(of(file, limit(root, file)?, "characters")));
        of_hermes.collect()
    }

    fn most_characters(&self, root: &Root, file: &str) -> Option<usize> {
        limit(root, file)
    }

    fn check(&self, root: &Root, file: &str, old: Option<&str>, text: &str) -> Result<()> {
        check_protected(file, old.unwrap_or_default())?;
        if is_block(root, file) && !is_described(text) && old.is_none_or(is_described) {
            return Err(Error::refused(
                file,
                "Letta takes a block only with a description in its header; give one",
            ));
        }
        let length = |text: &str| text.chars().count();
        let is_over = |most: &usize| length(text) > *most && length(text) > old.map_or(0, length);
        match limit(root, file).filter(is_over) {
            Some(most) => Err(Error::refused(
                file,
                format!(
                    "Hermes keeps at most {most} characters here and this would be {}; shorten or delete an entry first",
                    length(text)
                ),
            )),
            None => Ok(()),
        }
    }

    fn last_step(&self, root: &Root) -> &'static str {
        if is_of_letta(root) {
            "; Letta sees it once it is committed in the git of its memory"
        } else {
            ""
        }
    }

    /// In Codex's directory, a note that asks its consolidation to keep the change: files are made
    /// again from what it has in its database.
    fn companion(
        &self,
        planned: &dyn FileView,
        touched: &[TouchedFile],
    ) -> Result<Option<(String, String)>> {
        if is_codex(planned.root()) {
            note::about(planned, touched)
        } else {
            Ok(None)
        }
    }

    fn contents(&self, _store: &Store) -> Result<String> {
        // The agent that owns the files reads them by itself.
        Ok(String::new())
    }

    fn kind(&self, file: &str) -> FileKind {
        let [_, raw, rollouts] = OF_CODEX;
        let is_made = file.split('/').next() == Some(rollouts) || file.starts_with(DREAMING);
        if file == raw || is_made {
            FileKind::Source
        } else {
            FileKind::Memory
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_groups_and_tasks_or_marked_texts_or_sections() {
        let titles = |text: &str| -> Vec<String> {
            let entries = entries(text).into_iter();
            entries.map(|entry| entry.title).collect()
        };
        assert_eq!(
            titles("# Task Group: shop\nscope: x\n## Task 1: a\n### keywords\n- k\n## Task 2: b\n"),
            ["Task Group: shop", "Task 1: a", "Task 2: b"]
        );
        assert_eq!(
            titles("Likes tabs.\n§\nUses zsh.\n"),
            ["Likes tabs.", "Uses zsh."]
        );
        let long = "記".repeat(200);
        assert_eq!(titles(&format!("{long}\n§\n"))[0], "記".repeat(80));
        assert_eq!(
            titles("# Day\n\n## One\nx\n### sub\n## Two\n"),
            ["One", "Two"]
        );
        assert_eq!(titles("# Day\n\ntext\n"), [""; 0]);
    }

    #[test]
    fn only_what_codex_writes_is_of_codex() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        for (file, text, expected) in [
            ("tool/config.toml", "", false),
            (
                "tool/memories/MEMORY.md",
                "# Memory\n\n## Facts\nx\n",
                false,
            ),
            ("tool/memories/MEMORY.md", "# Task Group: shop\nx\n", true),
            ("other/memories_1.sqlite", "", true),
            (".codex/config.toml", "", true),
        ] {
            let home = temp.path().join(file.split_once('/').expect("a folder").0);
            std::fs::create_dir_all(home.join("memories")).expect("folders");
            std::fs::write(temp.path().join(file), text).expect("writes");
            let root = Root::open(&home.join("memories")).expect("opens");
            assert_eq!(is_codex(&root), expected, "{file}: {text}");
        }
    }

    #[test]
    fn a_new_memory_of_copilot_is_one_of_the_repository() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let place = "workspaceStorage/w1/GitHub.copilot-chat/memory-tool/memories";
        let folder = temp.path().join(place);
        std::fs::create_dir_all(folder.join("s1")).expect("folders");
        std::fs::write(folder.join("s1/old.md"), "x\n").expect("writes");
        let root = Root::open(&folder).expect("opens");
        let allowed = |file: &str| Entries.allow(Operation::Write, file, &root);
        for file in ["repo/new.md", "s1/old.md"] {
            assert!(allowed(file).is_ok(), "{file}");
        }
        for file in ["new.md", "invented/new.md", "s1/new.md"] {
            let refused = allowed(file).expect_err(file).to_string();
            assert!(refused.ends_with("new ones go to repo"), "{refused}");
        }
        assert_eq!(places(&root), ["repo"]);
    }

    #[test]
    fn a_new_memory_of_copilot_for_all_projects_is_in_no_folder() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let place = "globalStorage/github.copilot-chat/memory-tool/memories";
        let folder = temp.path().join(place);
        std::fs::create_dir_all(folder.join("sub")).expect("folders");
        std::fs::write(folder.join("sub/old.md"), "x\n").expect("writes");
        let root = Root::open(&folder).expect("opens");
        for file in ["new.md", "sub/old.md"] {
            assert!(
                Entries.allow(Operation::Write, file, &root).is_ok(),
                "{file}"
            );
        }
        let refused = Entries.allow(Operation::Write, "sub/new.md", &root);
        let refused = refused.expect_err("refused").to_string();
        assert!(
            refused.contains("none of its folders, 200 lines"),
            "{refused}"
        );
    }

    #[test]
    fn what_each_agent_puts_before_its_model_is_known() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        for (folder, said) in [
            (".codex/memories", "memory_summary.md"),
            (".hermes/memories", "Hermes puts MEMORY.md and USER.md"),
            (".openclaw/workspace", "OpenClaw puts MEMORY.md"),
            (".letta/agents/a/memory", "system/"),
            (
                "globalStorage/github.copilot-chat/memory-tool/memories",
                "200 lines",
            ),
        ] {
            let folder = temp.path().join(folder);
            std::fs::create_dir_all(&folder).expect("creates");
            let root = Root::open(&folder).expect("opens");
            assert!(put_before(&root).contains(said), "{folder:?}");
        }
        let root = Root::open(temp.path()).expect("opens");
        assert_eq!(put_before(&root), "");
    }

    #[test]
    fn the_limits_of_copilot_are_known() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        for (folder, most, unit) in [
            ("globalStorage/github.copilot-chat", 200, "lines"),
            ("workspaceStorage/a1/GitHub.copilot-chat", 14, "days"),
        ] {
            let folder = temp.path().join(folder).join("memory-tool/memories");
            std::fs::create_dir_all(&folder).expect("creates");
            let limits = Entries.limits(&Root::open(&folder).expect("opens"));
            assert_eq!((limits[0].most, limits[0].unit), (most, unit));
        }
    }

    #[test]
    fn a_memory_that_its_header_protects_is_not_changed() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let protected = "---\ndescription: d\nread_only: true\n---\nx\n";
        std::fs::write(temp.path().join("a.md"), protected).expect("writes");
        std::fs::write(temp.path().join("b.md"), protected.replace("true", "false"))
            .expect("writes");
        let root = Root::open(temp.path()).expect("opens");
        for operation in [Operation::Write, Operation::Patch, Operation::Delete] {
            let refused = Entries
                .allow(operation, "a.md", &root)
                .expect_err("refused");
            assert!(refused.to_string().contains("read_only"), "{refused}");
            assert!(Entries.allow(operation, "b.md", &root).is_ok());
        }
        assert!(Entries.check(&root, "a.md", Some(protected), "y").is_err());
    }
}
