//! session: an overview that is always in the agent's context, detail notes, and the raw
//! conversation.
//!
//! Callers name files below `working-memory/` (`detail/x.md`, `overview.md`); the conversation
//! is `messages.jsonl` in the root and is never edited.

use serde::Deserialize;

use super::{Operation, Rules, TouchedFile, View, WriteInput};
use crate::core::disk::sandbox::Root;
use crate::core::memory::layout::FileView;
use crate::core::memory::store::Store;
use crate::core::memory::{FileKind, Memory, stem};
use crate::core::text::header::{meta, summary};
use crate::core::text::one_line;
use crate::core::{Error, Result};

/// The raw conversation.
pub const MESSAGES: &str = "messages.jsonl";

/// The folder of the curated files.
pub const WORKING: &str = "working-memory";

/// The overview, as callers name it.
pub const OVERVIEW: &str = "overview.md";

/// The overview, below the root.
pub const OVERVIEW_FILE: &str = "working-memory/overview.md";

/// The overview of a new session.
pub const NEW_OVERVIEW: &str = "\
# Working Memory

## Current Task
<!-- What did the user ask you to do? How far is it? -->

## Key Decisions
<!-- What important decisions did you make? Why? -->

## Known Context
<!-- Project structure, technologies, key files and so on -->

## Pending Issues
<!-- Problems to solve, and what blocks -->

## Recent Operations
<!-- What the last steps did (optional, for a quick look back) -->
";

/// The session layout.
#[derive(Debug)]
pub struct Session;

impl Rules for Session {
    fn file_of(&self, path: &str) -> String {
        let path = path.trim_start_matches("./");
        if path == MESSAGES || path.starts_with("working-memory/") {
            path.to_owned()
        } else {
            format!("{WORKING}/{path}")
        }
    }

    fn reference_of(&self, file: &str) -> String {
        file.strip_prefix("working-memory/")
            .unwrap_or(file)
            .to_owned()
    }

    fn allow(&self, operation: Operation, file: &str, _root: &Root) -> Result<()> {
        let refused = |reason: &str| Err(Error::refused(self.reference_of(file), reason));
        if file == MESSAGES {
            return refused(
                "the raw conversation is never edited; store what matters under detail/",
            );
        }
        if file == OVERVIEW_FILE {
            return match operation {
                Operation::Delete | Operation::Rename => {
                    refused("the overview is always in the agent's context; empty it instead")
                }
                Operation::Write | Operation::Patch | Operation::Append | Operation::Receive => {
                    Ok(())
                }
            };
        }
        if file.starts_with("working-memory/detail/") && file.ends_with(".md") {
            return Ok(());
        }
        refused("files here are overview.md and detail/**/*.md")
    }

    fn searched(&self) -> Option<(&'static str, usize)> {
        Some((WORKING, 8))
    }

    fn is_listed(&self, _root: &Root, file: &str) -> bool {
        file == OVERVIEW_FILE || file.starts_with("working-memory/detail/")
    }

    fn rank(&self, file: &str) -> u8 {
        u8::from(file != OVERVIEW_FILE)
    }

    fn kind(&self, file: &str) -> FileKind {
        match file {
            OVERVIEW_FILE => FileKind::Overview,
            MESSAGES => FileKind::Log,
            _ => FileKind::Memory,
        }
    }

    fn read(&self, file: &str, text: &str) -> Memory {
        let mut memory = Memory::bare(&self.reference_of(file), text.len() as u64);
        memory.kind = self.kind(file);
        let head = meta::Meta::parse(text);
        let first = text[head.body..]
            .lines()
            .map(str::trim)
            .find(|line| !line.is_empty() && !line.starts_with("<!--") && !line.starts_with('#'));
        memory.summary = first
            .unwrap_or_default()
            .trim_start_matches("- ")
            .to_owned();
        memory.created = head.created;
        memory.tags = head.keywords;
        memory.body = head.body..text.len();
        if let Some(title) = head.title {
            memory.title = title;
        }
        memory
    }

    fn compose(&self, planned: &dyn FileView, input: &WriteInput<'_>) -> Result<String> {
        let fields = input.fields;
        if fields.category.is_some() {
            return Err(Error::refused(
                self.reference_of(input.file),
                "a session store has no types; leave it out",
            ));
        }
        let given = meta::Meta::parse(input.content);
        if input.file == OVERVIEW_FILE || given.comment.is_some() {
            return Ok(input.content.to_owned());
        }
        let old = input.old.map(meta::Meta::parse).unwrap_or_default();
        let title = fields.name.as_deref().map(one_line);
        let title = title
            .or(given.title)
            .or(old.title)
            .unwrap_or_else(|| stem(input.file).to_owned());
        let head = match (input.old, old.comment) {
            (Some(text), Some(comment)) => {
                let comment = &text[comment];
                let comment = match fields.tags.as_slice() {
                    [] => comment.to_owned(),
                    tags => meta::with_keywords(comment, tags),
                };
                format!("# {title}\n\n{comment}\n\n")
            }
            _ => {
                let now = planned.moment().time.strftime("%Y-%m-%dT%H:%M:%SZ");
                meta::format_head(&title, &now.to_string(), &fields.tags)
            }
        };
        let content = match summary::title(input.content) {
            Some(_) if given.body > 0 => {
                input.content[given.body..].trim_start_matches(['\r', '\n'])
            }
            _ => input.content,
        };
        let end = if content.is_empty() || content.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        Ok(format!("{head}{content}{end}"))
    }

    fn update_index(&self, planned: &mut dyn FileView, touched: &[TouchedFile]) -> Result<()> {
        let adds = touched
            .iter()
            .any(|touch| matches!(touch, TouchedFile::Added(_)));
        if adds && !planned.contains(OVERVIEW_FILE) {
            planned.set_derived(OVERVIEW_FILE, NEW_OVERVIEW.to_owned())?;
        }
        Ok(())
    }

    fn view(&self, store: &Store, view: View) -> Result<String> {
        if view == View::Index {
            return self.context(store);
        }
        let rows: Vec<String> = store
            .list()?
            .iter()
            .map(|m| format!("{}  {}  ({})", m.path, m.title, super::format_size(m.size)))
            .collect();
        Ok(rows.join("\n"))
    }

    fn contents(&self, store: &Store) -> Result<String> {
        let text = store.text(OVERVIEW_FILE)?;
        let text = text.unwrap_or_else(|| NEW_OVERVIEW.to_owned());
        let text = text.trim_end();
        Ok(match replies_since_overview(store.root()) {
            replies if replies > MOST_REPLIES => format!(
                "{text}\n\n<!--\nWORKING MEMORY UPDATE NEEDED\n\nThis overview is {replies} replies old. \
                 Bring Current Task up to date, drop what no longer holds, and move details to detail/.\n-->"
            ),
            _ => text.to_owned(),
        })
    }
}

/// After how many replies an agent is reminded to update its overview.
const MOST_REPLIES: usize = 10;

/// How many replies of the agent are in the log since the overview was last written.
fn replies_since_overview(root: &Root) -> usize {
    #[derive(Deserialize)]
    struct Record {
        timestamp: String,
        message: Said,
    }
    #[derive(Deserialize)]
    struct Said {
        role: String,
    }
    let [Some(log), Some(overview)] = [MESSAGES, OVERVIEW_FILE].map(|file| root.find_file(file))
    else {
        return 0;
    };
    let mut replies = 0;
    if log.modified > overview.modified {
        let counted = root.each_line(MESSAGES, &mut |line| {
            let may_be = line.contains("\"assistant\"");
            let record = may_be.then(|| serde_json::from_str::<Record>(line).ok());
            let is_reply = |record: Record| {
                let time = record.timestamp.parse::<jiff::Timestamp>();
                let is_later = time.is_ok_and(|time| time.as_millisecond() > overview.modified);
                is_later && record.message.role == "assistant"
            };
            replies += usize::from(record.flatten().is_some_and(is_reply));
        });
        // A log that cannot be read gives no reminder.
        drop(counted);
    }
    replies
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::change::PlannedFiles;

    #[test]
    fn callers_name_files_below_the_working_memory() {
        for (path, file) in [
            ("detail/a.md", "working-memory/detail/a.md"),
            ("overview.md", "working-memory/overview.md"),
            ("working-memory/detail/a.md", "working-memory/detail/a.md"),
            ("messages.jsonl", "messages.jsonl"),
        ] {
            assert_eq!(Session.file_of(path), file);
        }
        assert_eq!(
            Session.reference_of("working-memory/detail/a.md"),
            "detail/a.md"
        );
    }

    #[test]
    fn the_overview_comes_first_and_notes_are_what_may_go() {
        assert!(Session.rank(OVERVIEW_FILE) < Session.rank("working-memory/detail/a.md"));
        let home = tempfile::tempdir().expect("a temporary directory");
        for (path, text) in [
            (MESSAGES, "{}\n"),
            (OVERVIEW_FILE, "# W\n"),
            ("working-memory/detail/b/c.md", "# C\n"),
            ("working-memory/other.md", "# O\n"),
        ] {
            let path = home.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            std::fs::write(path, text).expect("written");
        }
        let store = Store::open("s", home.path(), None).expect("a store");
        let listed = store.list().expect("lists");
        let paths: Vec<&str> = listed.iter().map(|memory| memory.path.as_str()).collect();
        assert_eq!(paths, ["overview.md", "detail/b/c.md"]);
        assert_eq!(
            Session.view(&store, View::Files).expect("lists"),
            "overview.md  W  (4B)\ndetail/b/c.md  C  (4B)"
        );
        assert_eq!(Session.view(&store, View::Index).expect("lists"), "# W");
        let allowed =
            |operation: Operation, path: &str| Session.allow(operation, path, store.root()).is_ok();
        for operation in [
            Operation::Write,
            Operation::Patch,
            Operation::Append,
            Operation::Delete,
            Operation::Rename,
        ] {
            let keeps = !matches!(operation, Operation::Delete | Operation::Rename);
            assert_eq!(allowed(operation, OVERVIEW_FILE), keeps, "{operation:?}");
            assert!(
                allowed(operation, "working-memory/detail/b/c.md"),
                "{operation:?}"
            );
            assert!(
                !allowed(operation, "working-memory/detail/c.txt"),
                "{operation:?}"
            );
            assert!(
                !allowed(operation, "working-memory/other.md"),
                "{operation:?}"
            );
            assert!(!allowed(operation, MESSAGES), "{operation:?}");
        }
    }

    #[test]
    fn a_note_that_is_written_again_keeps_its_head() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let store = Store::open(
            "s",
            home.path(),
            Some(crate::core::memory::layout::Layout::Session),
        );
        let store = store.expect("a store");
        let moment = crate::core::text::time::Moment::test();
        let planned = PlannedFiles::new(&store, &moment);
        let head = "# Old\n\n<!-- META:\n- created: then\n- keywords: [\"a\"]\n-->\n\n";
        let old = format!("{head}old text\n");
        let compose = |content: &str, old: Option<&str>, tags: &[&str]| {
            let fields = crate::core::memory::layout::Fields {
                tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
                ..Default::default()
            };
            let input = WriteInput {
                file: "working-memory/detail/note.md",
                content,
                fields: &fields,
                old,
            };
            Session.compose(&planned, &input).expect("composes")
        };
        assert_eq!(compose("new", Some(&old), &[]), format!("{head}new\n"));
        assert_eq!(
            compose("# New\n\nnew\n", Some(&old), &["b"]),
            head.replace("Old", "New").replace("\"a\"", "\"b\"") + "new\n"
        );
        assert_eq!(
            compose("text", None, &[]),
            "# note\n\n<!--\nMETA:\n- created: 1970-01-01T00:00:00Z\n- keywords: []\n-->\n\ntext\n"
        );
        assert_eq!(compose(&old, None, &["b"]), old, "a head of its own stays");
        let text = "\ntext\n\n# Later\n";
        assert!(compose(text, None, &[]).ends_with(&format!("-->\n\n{text}")));
    }

    #[test]
    fn an_overview_that_is_many_replies_old_comes_with_a_reminder() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let overview = home.path().join(OVERVIEW_FILE);
        std::fs::create_dir_all(overview.parent().expect("a folder")).expect("made");
        std::fs::write(&overview, "# W\n").expect("written");
        let log = |replies: usize, day: &str| {
            let reply = format!(
                r#"{{"type":"message","timestamp":"{day}T10:00:00Z","message":{{"role":"assistant","content":[]}}}}"#
            );
            let log = format!("{reply}\n").repeat(replies);
            let log_file = home.path().join(MESSAGES);
            std::fs::write(&log_file, log).expect("written");
            let later = std::time::SystemTime::now() + std::time::Duration::from_secs(60);
            let file = std::fs::File::options().append(true).open(log_file);
            file.and_then(|file| file.set_modified(later))
                .expect("a time");
        };
        let store = Store::open("s", home.path(), None).expect("a store");
        let told = || Session.context(&store).expect("reads");
        log(10, "2999-01-01");
        assert_eq!(told(), "# W");
        log(20, "1999-01-01");
        assert_eq!(told(), "# W", "replies before the overview do not count");
        log(11, "2999-01-01");
        assert!(
            told().contains("This overview is 11 replies old."),
            "{}",
            told()
        );
    }

    #[test]
    fn a_detail_note_gives_title_keywords_and_first_line() {
        let memory = Session.read(
            "working-memory/detail/a.md",
            "# Auth\n<!-- META:\n- created: 2026-01-02T00:00:00Z\n- keywords: [\"jwt\"]\n-->\n\n## Decision\n- Use JWT.\n",
        );
        assert_eq!(memory.path, "detail/a.md");
        assert_eq!(memory.title, "Auth");
        assert_eq!(memory.summary, "Use JWT.");
        assert_eq!(memory.tags, ["jwt"]);
        let memory = Session.read(
            "working-memory/detail/a.md",
            "\n<!-- a comment -->\n\n## Part\n\nThe first line.\n",
        );
        assert_eq!(memory.summary, "The first line.");
    }
}
