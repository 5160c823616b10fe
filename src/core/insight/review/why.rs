//! Why a file says what it says: the calls in the logs that read, wrote or deleted it, and the
//! user's words before them.

use std::collections::{HashMap, HashSet};
use std::path::{Component, Path, PathBuf};

use super::queue::{Item, ItemChange};
use crate::core::change::history::Origin as HistoryOrigin;
use crate::core::log::touch::{FileTouch, FileUse, file_touches};
use crate::core::log::{MessageKind, Origin, Role};
use crate::core::search::index::{Corpus, MessageAt, MessageFilter, Part, WantedWord, index_words};

/// A call in a log that touched a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TouchingCall {
    /// The log's index in the corpus.
    pub log: usize,
    /// The line of the call in the log.
    pub line: u64,
    /// When it was made, in milliseconds since 1970.
    pub time: Option<i64>,
    /// The tool.
    pub tool: String,
    /// The file.
    pub path: PathBuf,
    /// What it did to the file.
    pub usage: FileUse,
    /// Its input.
    pub input: String,
}

/// The calls that touched the file at this path, oldest first; copies in other logs count once.
pub fn calls_touching(corpus: &Corpus, file: &Path) -> Vec<TouchingCall> {
    calls_touching_any(corpus, &[file.to_owned()])
}

/// The calls that touched any of these files, oldest first. The logs are gone through once.
fn calls_touching_any(corpus: &Corpus, files: &[PathBuf]) -> Vec<TouchingCall> {
    let logs = vec![true; corpus.logs().len()];
    let filter = MessageFilter {
        logs: &logs,
        allows: None,
    };
    // A call that touches a file has the words of its name.
    let names = files.iter().filter_map(|file| file.file_name()?.to_str());
    let mut candidates: Vec<MessageAt> = names
        .flat_map(|name| {
            let wanted = WantedWord::Phrase(index_words(name));
            corpus
                .with_words(&[wanted], Part::Calls, filter, usize::MAX)
                .first
        })
        .collect();
    candidates.sort_unstable();
    candidates.dedup();
    let known: HashSet<&Path> = files.iter().map(PathBuf::as_path).collect();
    let meant = |touch: &FileTouch, cwd: Option<&str>| {
        if touch.is_in_store {
            let inside = files.iter().filter(|file| file.ends_with(&touch.path));
            return inside.cloned().collect();
        }
        let path = absolute(&touch.path, cwd);
        if known.contains(path.as_path()) {
            vec![path]
        } else {
            Vec::new()
        }
    };
    calls(corpus, candidates, &meant)
}

/// The calls of one log that touched a file below any of these directories, oldest first.
pub fn calls_of_log(corpus: &Corpus, log: usize, roots: &[&Path]) -> Vec<TouchingCall> {
    let meant = |touch: &FileTouch, cwd: Option<&str>| {
        let below = file_below(touch, cwd, roots);
        below.into_iter().collect()
    };
    calls(corpus, corpus.messages(log, &[Part::Calls]), &meant)
}

/// The file that a call of a session in this directory means, if it is below one of these
/// directories. The path that a memory tool is given stays relative to its store.
pub fn file_below(touch: &FileTouch, cwd: Option<&str>, roots: &[&Path]) -> Option<PathBuf> {
    if touch.is_in_store {
        return Some(PathBuf::from(&touch.path));
    }
    let path = absolute(&touch.path, cwd);
    let mut roots = roots.iter();
    roots.any(|root| path.starts_with(root)).then_some(path)
}

/// Returns the files that a call of a session in this directory means, of those that are wanted.
type FileFilter<'a> = &'a dyn Fn(&FileTouch, Option<&str>) -> Vec<PathBuf>;

/// Reads calls and returns what they did to the files that are wanted, oldest first.
fn calls(
    corpus: &Corpus,
    candidates: impl IntoIterator<Item = MessageAt>,
    meant: FileFilter<'_>,
) -> Vec<TouchingCall> {
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for at in candidates {
        // A damaged message is recorded by the corpus.
        let _ = corpus.message(at, |message| {
            let tool = message.tool.unwrap_or_default();
            let log = corpus.log(message.log);
            let cwd = log.and_then(|log| log.cwd());
            for touch in file_touches(tool, message.text) {
                for path in meant(&touch, cwd) {
                    let is_new = message
                        .identity
                        .is_none_or(|id| seen.insert((id, path.clone())));
                    if is_new {
                        found.push(TouchingCall {
                            log: message.log,
                            line: message.line,
                            time: message.time,
                            tool: tool.to_owned(),
                            path,
                            usage: touch.usage,
                            input: message.text.to_owned(),
                        });
                    }
                }
            }
        });
    }
    found.sort_by_key(|call| (call.time, call.log, call.line));
    found
}

/// The absolute path of a file that a session in this directory names.
fn absolute(given: &str, cwd: Option<&str>) -> PathBuf {
    let cwd = Path::new(cwd.unwrap_or_default());
    match given.strip_prefix("~/") {
        Some(below) => normal(&home_above(cwd).join(below)),
        None => normal(&cwd.join(given)),
    }
}

/// The home of the user who worked in a directory, where homes commonly are.
fn home_above(cwd: &Path) -> PathBuf {
    let is_root = cwd.starts_with("/root");
    let depth = if is_root { 2 } else { 3 };
    cwd.components().take(depth).collect()
}

/// A path without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    let mut made = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(made.pop()),
            other => made.push(other),
        }
    }
    made
}

/// A shorter text is in many others by chance.
const SHORTEST: usize = 6;

/// Calls that wrote a file, oldest first, with the texts that they replaced.
pub(super) struct WritingCalls<'a>(Vec<(&'a TouchingCall, Vec<(String, String)>)>);

impl<'a> WritingCalls<'a> {
    /// Those of the calls that wrote.
    pub(super) fn of(calls: &'a [TouchingCall]) -> Self {
        let writing = calls.iter().filter(|call| call.usage == FileUse::Write);
        Self(writing.map(|call| (call, edits(&call.input))).collect())
    }

    /// The call that brought a line in: the first one whose input has it, or else the last one that
    /// put a part of it in place of another text.
    pub(super) fn introducing(&self, line: &str) -> Option<&'a TouchingCall> {
        let line = line.trim().trim_start_matches(['-', '*', '>', '#', ' ']);
        if line.len() < SHORTEST {
            return None;
        }
        let puts_part = |(old, new): &(String, String)| has_part_of(new, line, old);
        let mut calls = self.0.iter();
        let whole = calls.find(|(call, _)| call.input.contains(line));
        let mut newest = self.0.iter().rev();
        let found = whole.or_else(|| newest.find(|(_, edits)| edits.iter().any(puts_part)));
        found.map(|(call, _)| *call)
    }

    /// Whether one of the calls took away lines that a hunk shows as removed: by replacing a part
    /// of one, by a patch, or by writing the lines around one without it.
    fn remove_from(&self, hunk: &str) -> bool {
        let marked = |mark: char| {
            let lines = hunk.lines().filter_map(move |line| line.strip_prefix(mark));
            lines.map(str::trim).filter(|line| line.len() >= SHORTEST)
        };
        self.0.iter().any(|(call, edits)| {
            let input = call.input.as_str();
            let is_patched = |removed: &str| {
                let mut patched = input.lines().filter_map(|line| line.strip_prefix('-'));
                patched.any(|line| line.trim() == removed)
            };
            let is_left_out = |removed: &str| {
                let keeps_others = || marked(' ').any(|line| input.contains(line));
                edits.is_empty() && !input.contains(removed) && keeps_others()
            };
            marked('-').any(|removed| {
                let is_replaced = |(old, new): &(String, String)| has_part_of(old, removed, new);
                edits.iter().any(is_replaced) || is_patched(removed) || is_left_out(removed)
            })
        })
    }
}

/// Whether a line of `text` is a part of `line` that `other` does not have.
fn has_part_of(text: &str, line: &str, other: &str) -> bool {
    let mut parts = text.lines().map(str::trim);
    parts.any(|part| part.len() >= SHORTEST && line.contains(part) && !other.contains(part))
}

/// The texts that an editing call replaces, each with the new one.
fn edits(input: &str) -> Vec<(String, String)> {
    const OLD: [&str; 6] = [
        "old_string",
        "old_str",
        "oldString",
        "oldText",
        "old_text",
        "old",
    ];
    const NEW: [&str; 6] = [
        "new_string",
        "new_str",
        "newString",
        "newText",
        "new_text",
        "new",
    ];
    const OTHERS: [&str; 8] = [
        "file_path",
        "path",
        "filename",
        "replace_all",
        "allow_multiple",
        "instruction",
        "edits",
        "patches",
    ];
    /// What a line of the input belongs to.
    enum Part {
        Old,
        New,
        Other,
    }
    let mut found: Vec<(String, String)> = Vec::new();
    let mut part = Part::Other;
    for line in input.lines() {
        let start = line.trim_start_matches([' ', '-']);
        let value = |names: &[&str]| {
            let (name, value) = start.split_once(':')?;
            names.contains(&name).then(|| value.trim_start())
        };
        if let Some(old) = value(&OLD) {
            found.push((old.to_owned(), String::new()));
            part = Part::Old;
        } else if let Some(new) = value(&NEW) {
            if let Some((_, last)) = found.last_mut() {
                new.clone_into(last);
                part = Part::New;
            }
        } else if value(&OTHERS).is_some() {
            part = Part::Other;
        } else if let Some((old, new)) = found.last_mut() {
            let text = match part {
                Part::Old => old,
                Part::New => new,
                Part::Other => continue,
            };
            text.push('\n');
            text.push_str(line);
        }
    }
    found
}

/// Sets the author, the session and the message of the items of which a log shows them: a call of
/// a session that wrote the file with one of the item's new lines, or without one of those that are
/// gone, or that deleted it. Where the session is known, from a hook, only its own calls count.
pub fn attribute(corpus: &Corpus, root: &Path, items: &mut [Item]) {
    let unknown = items.iter().filter(|item| !item.has_message());
    let files: Vec<PathBuf> = unknown.map(|item| root.join(&item.file)).collect();
    if files.is_empty() {
        return;
    }
    let mut by_file: HashMap<PathBuf, Vec<TouchingCall>> = HashMap::new();
    for call in calls_touching_any(corpus, &files) {
        by_file.entry(call.path.clone()).or_default().push(call);
    }
    for item in items.iter_mut().filter(|item| !item.has_message()) {
        let calls = by_file.get(&root.join(&item.file));
        let session = item.origin.as_ref().map(|origin| origin.session.as_str());
        let is_of_session = |call: &TouchingCall| {
            let log = corpus.log(call.log);
            session.is_none_or(|session| log.is_some_and(|log| log.id() == session))
        };
        let found = calls.and_then(|calls| author_of(item, calls, &is_of_session));
        let log = found.and_then(|call| corpus.log(call.log));
        if let (Some(call), Some(log)) = (found, log)
            && let Some(agent) = log.agent()
        {
            item.author.who = agent.name().to_owned();
            item.origin = Some(HistoryOrigin {
                session: log.id().to_owned(),
                citation: Some(format!("{}:{}#L{}", agent.name(), log.id(), call.line)),
            });
        }
    }
}

/// The newest of the calls that wrote what an item shows, or else of those that removed some of it.
fn author_of<'a>(
    item: &Item,
    calls: &'a [TouchingCall],
    is_meant: &dyn Fn(&TouchingCall) -> bool,
) -> Option<&'a TouchingCall> {
    let newest = || calls.iter().rev().filter(|call| is_meant(call));
    if item.change == ItemChange::Deleted {
        return newest().find(|call| call.usage == FileUse::Delete);
    }
    let adds = |call: &&TouchingCall| {
        let added = item.hunks.iter().flat_map(|hunk| hunk.text.lines());
        let mut added = added.filter_map(|line| line.strip_prefix('+'));
        let call = WritingCalls::of(std::slice::from_ref(call));
        added.any(|line| call.introducing(line).is_some())
    };
    let removes = |call: &&TouchingCall| {
        let call = WritingCalls::of(std::slice::from_ref(call));
        item.hunks.iter().any(|hunk| call.remove_from(&hunk.text))
    };
    newest().find(adds).or_else(|| newest().find(removes))
}

/// The user's last words before a line of a log, with their line.
pub(super) fn words_before(corpus: &Corpus, log: usize, line: u64) -> Option<(u64, String)> {
    let said = corpus.messages(log, &[Part::Words]).into_iter();
    let last = said.filter(|at| corpus.line(*at) < line).rfind(|at| {
        let marks = corpus.outline(*at).map(|(_, marks)| marks);
        marks == Some((Role::User, MessageKind::Text, Origin::Written))
    });
    corpus.message(last?, |message| (message.line, message.text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(time: i64, usage: FileUse, input: &str) -> TouchingCall {
        TouchingCall {
            log: 0,
            line: 1,
            time: Some(time),
            tool: "Write".to_owned(),
            path: PathBuf::from("/m/a.md"),
            usage,
            input: input.to_owned(),
        }
    }

    #[test]
    fn the_first_writing_call_with_a_line_brought_it_in() {
        let calls = [
            call(1, FileUse::Read, "use nextest for tests"),
            call(2, FileUse::Write, "content: - use nextest for tests"),
            call(3, FileUse::Write, "old_string: use nextest for tests"),
        ];
        let found = WritingCalls::of(&calls).introducing("- use nextest for tests\n");
        assert_eq!(found.and_then(|call| call.time), Some(2));
        assert_eq!(
            WritingCalls::of(&calls).introducing("something else entirely"),
            None
        );
        assert_eq!(WritingCalls::of(&calls).introducing("---"), None);
    }

    #[test]
    fn an_edit_of_a_part_of_a_line_brought_the_line_in() {
        let edit = |time, old: &str, new: &str| {
            let input = format!(
                "file_path: /m/a.md\nold_string: {old}\nnew_string: {new}\nreplace_all: false"
            );
            call(time, FileUse::Write, &input)
        };
        let calls = [
            edit(1, "enclosure 7", "enclosure 12"),
            edit(2, "the zebra", "the zebra\nand more"),
            edit(3, "enclosure 11", "enclosure 12"),
        ];
        let time = |line: &str| {
            WritingCalls::of(&calls)
                .introducing(line)
                .and_then(|call| call.time)
        };
        assert_eq!(time("The zebra lives in enclosure 12."), Some(3));
        assert_eq!(time("and more of the zebra"), Some(2));
        assert_eq!(time("only the zebra was there before"), None);
        let several = "path: a.md\nedits:\n- old_string: one hundred\n  new_string: two hundred\n- old_string: x\n  new_string: y";
        let calls = [call(1, FileUse::Write, several)];
        assert!(
            WritingCalls::of(&calls)
                .introducing("all of the two hundred")
                .is_some()
        );
    }

    #[test]
    fn a_call_took_lines_away_by_an_edit_a_patch_or_by_writing_the_rest() {
        let hunk = " - deploy with make\n-- only on Tuesdays, at noon\n-\n-- x\n";
        for (input, is_it) in [
            ("old_string: only on Tuesdays\nnew_string: ", true),
            ("old_string: with make\nnew_string: with just", false),
            (
                "*** Update File: a.md\n-- only on Tuesdays, at noon\n",
                true,
            ),
            ("*** Update File: a.md\n-- on other days\n", false),
            ("content: - deploy with make\n", true),
            (
                "content: - deploy with make\n- only on Tuesdays, at noon",
                false,
            ),
            ("content: something else", false),
        ] {
            let calls = [call(1, FileUse::Write, input)];
            let calls = WritingCalls::of(&calls);
            assert_eq!(calls.remove_from(hunk), is_it, "{input}");
        }
    }

    #[test]
    fn a_relative_path_is_resolved_from_where_the_session_ran() {
        let file = Path::new("/repo/.memory/a.md");
        assert_eq!(absolute("/repo/.memory/a.md", None), file);
        assert_eq!(absolute(".memory/a.md", Some("/repo")), file);
        assert_eq!(absolute("../.memory/./a.md", Some("/repo/src")), file);
        assert_ne!(absolute("a.md", Some("/repo")), file);
        let home = Path::new("/home/ann/.claude/CLAUDE.md");
        assert_eq!(
            absolute("~/.claude/CLAUDE.md", Some("/home/ann/src/x")),
            home
        );
        let root = Path::new("/root/a.md");
        assert_eq!(absolute("~/a.md", Some("/root/src/x")), root);
    }
}
