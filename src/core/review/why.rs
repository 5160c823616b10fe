//! Why a file says what it says: the calls in the logs that read, wrote or deleted it, and the
//! user's words before them.

use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};

use memchr::memmem;

use super::queue::{Item, ItemChange};
use crate::core::corpus::{Corpus, Log, Part};
use crate::core::history::{History, Origin as HistoryOrigin, Record};
use crate::core::log::touch::{FileTouch, FileUse, file_touches};
use crate::core::log::{MessageKind, Origin, Role};
use crate::core::{Result, diff};

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
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let is_it = |touch: &FileTouch, cwd: Option<&str>| {
        let is_same = match touch.is_in_store {
            true => file.ends_with(&touch.path),
            false => absolute(&touch.path, cwd) == file,
        };
        is_same.then(|| file.to_owned())
    };
    calls(corpus, Some(name.as_bytes()), &is_it, &|_| true)
}

/// The calls of one log that touched a file below any of these directories, oldest first.
pub fn calls_of_log(corpus: &Corpus, log: usize, roots: &[&Path]) -> Vec<TouchingCall> {
    let is_below = |touch: &FileTouch, cwd: Option<&str>| {
        if touch.is_in_store {
            return Some(PathBuf::from(&touch.path));
        }
        let path = absolute(&touch.path, cwd);
        roots
            .iter()
            .any(|root| path.starts_with(root))
            .then_some(path)
    };
    calls(corpus, None, &is_below, &|number| number == log)
}

/// Returns the file that a call of a session in this directory means, if it is wanted.
type FileFilter<'a> = &'a dyn Fn(&FileTouch, Option<&str>) -> Option<PathBuf>;

fn calls(
    corpus: &Corpus,
    name: Option<&[u8]>,
    wanted: FileFilter<'_>,
    is_searched: &dyn Fn(usize) -> bool,
) -> Vec<TouchingCall> {
    let logs: Vec<Log<'_>> = corpus.logs().collect();
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for block in corpus.blocks(Part::Calls) {
        if !block.logs().any(is_searched) {
            continue;
        }
        let Some(content) = block.read() else {
            continue;
        };
        let has_name =
            |text: &str| name.is_none_or(|name| memmem::find(text.as_bytes(), name).is_some());
        if !has_name(content.text()) {
            continue;
        }
        for (_, message) in content.messages() {
            if !is_searched(message.log) || !has_name(message.text) {
                continue;
            }
            let tool = message.tool.unwrap_or_default();
            let cwd = logs.get(message.log).and_then(|log| log.cwd());
            for touch in file_touches(tool, message.text) {
                let Some(path) = wanted(&touch, cwd) else {
                    continue;
                };
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
    }
    found.sort_by_key(|call| (call.time, call.log, call.line));
    found
}

/// The absolute path of a file that a session in this directory names.
fn absolute(given: &str, cwd: Option<&str>) -> PathBuf {
    normal(&Path::new(cwd.unwrap_or_default()).join(given))
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

/// The first of the writing calls whose input has this line: the one that brought it in.
pub fn introduced_by<'a>(calls: &'a [TouchingCall], line: &str) -> Option<&'a TouchingCall> {
    /// A shorter line is in many texts by chance.
    const SHORTEST: usize = 6;
    let line = line.trim().trim_start_matches(['-', '*', '>', '#', ' ']);
    if line.len() < SHORTEST {
        return None;
    }
    let mut writing = calls.iter().filter(|call| call.usage == FileUse::Write);
    writing.find(|call| call.input.contains(line))
}

/// Sets the author and the conversation of the items of which a log shows them: a call of a
/// session that wrote the file with one of the item's new lines, or that deleted it.
pub fn attribute(corpus: &Corpus, root: &Path, items: &mut [Item]) {
    for item in items.iter_mut().filter(|item| item.origin.is_none()) {
        let calls = calls_touching(corpus, &root.join(&item.file));
        let has_line = |call: &&TouchingCall| {
            let added = item.hunks.iter().flat_map(|hunk| hunk.text.lines());
            let mut added = added.filter_map(|line| line.strip_prefix('+'));
            added.any(|line| introduced_by(std::slice::from_ref(call), line).is_some())
        };
        let mut newest = calls.iter().rev();
        let found = match item.change {
            ItemChange::Deleted => newest.find(|call| call.usage == FileUse::Delete),
            _ => newest.find(has_line),
        };
        let Some(call) = found else { continue };
        let Some((log, agent)) = corpus
            .log(call.log)
            .and_then(|log| Some((log, log.agent()?)))
        else {
            continue;
        };
        item.author.who = agent.name().to_owned();
        item.origin = Some(HistoryOrigin {
            session: log.id().to_owned(),
            citation: Some(format!("{}:{}#L{}", agent.name(), log.id(), call.line)),
        });
    }
}

/// The user's last words before a line of a log, with their line.
pub fn words_before(corpus: &Corpus, log: usize, line: u64) -> Option<(u64, String)> {
    let mut last: Option<(u64, String)> = None;
    for block in corpus.blocks(Part::Words) {
        if !block.logs().any(|number| number == log) {
            continue;
        }
        let Some(content) = block.read() else {
            continue;
        };
        for (_, message) in content.messages() {
            let is_said = message.log == log
                && message.line < line
                && message.role == Role::User
                && message.origin == Origin::Written
                && message.kind == MessageKind::Text;
            if is_said && last.as_ref().is_none_or(|(at, _)| *at < message.line) {
                last = Some((message.line, message.text.to_owned()));
            }
        }
    }
    last
}

/// The change in the history that brought a line into a file; `None` if it was there before.
pub fn recorded_change(
    history: &History,
    (root, path): (&Path, &str),
    line: &str,
) -> Result<Option<Record>> {
    let has_line = |bytes: &[u8]| {
        let wanted = line.trim_end().as_bytes();
        diff::lines(bytes)
            .iter()
            .any(|one| one.trim_ascii_end() == wanted)
    };
    for record in history.records()?.into_iter().rev() {
        let mut files = record.files.iter();
        let Some(file) = files.find(|file| file.root == root && file.path == path) else {
            continue;
        };
        let version = |revision: Option<_>| match revision {
            Some(revision) => history.version(&revision),
            None => Ok(Vec::new()),
        };
        // A version that pruning or damage took away says nothing.
        let (Ok(before), Ok(after)) = (version(file.before), version(file.after)) else {
            continue;
        };
        if has_line(&after) && !has_line(&before) {
            return Ok(Some(record));
        }
    }
    Ok(None)
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
        let found = introduced_by(&calls, "- use nextest for tests\n");
        assert_eq!(found.and_then(|call| call.time), Some(2));
        assert_eq!(introduced_by(&calls, "something else entirely"), None);
        assert_eq!(introduced_by(&calls, "---"), None);
    }

    #[test]
    fn a_relative_path_is_resolved_from_where_the_session_ran() {
        let file = Path::new("/repo/.memory/a.md");
        assert_eq!(absolute("/repo/.memory/a.md", None), file);
        assert_eq!(absolute(".memory/a.md", Some("/repo")), file);
        assert_eq!(absolute("../.memory/./a.md", Some("/repo/src")), file);
        assert_ne!(absolute("a.md", Some("/repo")), file);
    }
}
