//! Why a file says what it says: the calls in the logs that read, wrote or deleted it, and the
//! user's words before them.

use std::collections::{HashMap, HashSet};
use std::path::{Component, Path, PathBuf};

use crate::core::insight::timeline::{cited_line, log_named_by};
use crate::core::log::touch::{FileTouch, FileUse, TextEdit, file_touches, text_edit};
use crate::core::log::{MessageKind, Origin, Role, call_mark};
use crate::core::memory::layout::Operation;
use crate::core::memory::store::Store;
use crate::core::search::index::{
    Corpus, CorpusMessage, Log, MessageAt, MessageFilter, Part, WantedWord, index_words,
};
use crate::core::search::query::Filters;
use crate::core::text::secret::mask;

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
    /// What it did to the file's text, if it wrote it.
    pub edit: TextEdit,
}

/// The calls that touched the file at this path, oldest first; copies in other logs count once.
pub fn calls_touching(corpus: &Corpus, file: &Path) -> Vec<TouchingCall> {
    calls_touching_any(corpus, &[file.to_owned()])
}

/// The calls that touched any of these files, oldest first. The logs are gone through once.
pub(super) fn calls_touching_any(corpus: &Corpus, files: &[PathBuf]) -> Vec<TouchingCall> {
    let logs = vec![true; corpus.logs().len()];
    let filter = MessageFilter {
        logs: &logs,
        filters: &Filters::default(),
    };
    // A call that touches a file has the words of its name.
    let names = files.iter().filter_map(|file| file.file_name()?.to_str());
    let mut candidates: Vec<MessageAt> = names
        .flat_map(|name| {
            let wanted = [WantedWord::Phrase(index_words(name))];
            let found = corpus.look_up(&wanted, &[Part::Calls]);
            corpus.with_all(&found, filter, usize::MAX).first
        })
        .collect();
    candidates.sort_unstable();
    candidates.dedup();
    let mut known = KnownFiles::of(files);
    let mut meant = |touch: &FileTouch, log: &Log<'_>| {
        let meant = known.meant(touch, log);
        meant.into_iter().map(|at| files[at].clone()).collect()
    };
    calls(corpus, candidates, &mut meant)
}

/// Files that calls may mean, also by the way of a link.
#[derive(Debug)]
pub struct KnownFiles<'a> {
    files: &'a [PathBuf],
    known: HashMap<PathBuf, usize>,
    folders: HashMap<PathBuf, Option<PathBuf>>,
}

impl<'a> KnownFiles<'a> {
    /// Knows these files.
    pub fn of(files: &'a [PathBuf]) -> Self {
        let mut known = HashMap::new();
        for (at, file) in files.iter().enumerate() {
            known.extend(file.canonicalize().map(|real| (real, at)));
            known.insert(file.clone(), at);
        }
        Self {
            files,
            known,
            folders: HashMap::new(),
        }
    }

    /// Returns those that a call of a session means.
    pub fn meant(&mut self, touch: &FileTouch, log: &Log<'_>) -> Vec<usize> {
        let all = self.files.iter().enumerate();
        let path = touch.path.as_str();
        if touch.is_in_store {
            let inside = all.filter(|(_, file)| is_store_of(file, path, log));
            return inside.map(|(at, _)| at).collect();
        }
        if let Some(below) = path.strip_prefix("~/") {
            let of_home = all.filter(|(_, file)| is_below_home(file, below, log));
            return of_home.map(|(at, _)| at).collect();
        }
        let path = absolute(path, log.cwd());
        let known = self.known.get(&path).copied();
        let file = known.or_else(|| self.real(&path));
        file.into_iter().collect()
    }

    /// Returns the file that a path leads to.
    fn real(&mut self, path: &Path) -> Option<usize> {
        let (folder, name) = (path.parent()?, path.file_name()?);
        let real = self.folders.entry(folder.to_owned());
        let real = real.or_insert_with(|| folder.canonicalize().ok());
        self.known.get(&real.as_ref()?.join(name)).copied()
    }
}

/// Whether a memory tool of a session means this file by a path below its store. The store of a
/// project is not that of sessions elsewhere.
fn is_store_of(file: &Path, below: &str, log: &Log<'_>) -> bool {
    let Some(root) = before(file, below) else {
        return false;
    };
    let Some(project) = root.parent() else {
        return true;
    };
    let is_hidden = |part: Component<'_>| part.as_os_str().as_encoded_bytes().starts_with(b".");
    let cwd = log.cwd().map(Path::new);
    cwd.is_none_or(|cwd| cwd.starts_with(project))
        || log.path().starts_with(project)
        || project.components().any(is_hidden)
}

/// Whether a file is at this path below the home of the user of a session, who worked there or has
/// its log there.
fn is_below_home(file: &Path, below: &str, log: &Log<'_>) -> bool {
    let cwd = log.cwd().map(Path::new);
    before(file, below).is_some_and(|home| {
        log.path().starts_with(home) || cwd.is_some_and(|cwd| cwd.starts_with(home))
    })
}

/// The folder in which a file has this path.
fn before<'a>(file: &'a Path, below: &str) -> Option<&'a Path> {
    let depth = Path::new(below).components().count();
    file.ends_with(below).then(|| file.ancestors().nth(depth))?
}

/// The calls of one log that touched a memory of any of these stores, oldest first.
pub fn calls_of_log(corpus: &Corpus, log: usize, stores: &[&Store]) -> Vec<TouchingCall> {
    let mut meant = |touch: &FileTouch, log: &Log<'_>| {
        let memory = memory_meant(touch, log.cwd(), stores);
        memory.into_iter().collect()
    };
    calls(corpus, corpus.messages(log, &[Part::Calls]), &mut meant)
}

/// The memory that a call of a session in this directory means, if it is one of these stores'. The
/// path that a memory tool is given is below its store, and stays so if none has it.
pub fn memory_meant(touch: &FileTouch, cwd: Option<&str>, stores: &[&Store]) -> Option<PathBuf> {
    if touch.is_in_store {
        let files = stores.iter().filter_map(|store| {
            let file = store.rules().file_of(&touch.path);
            store
                .root()
                .has(&file)
                .then(|| store.root().absolute(&file))
        });
        let is_near = |file: &PathBuf| {
            let project = before(file, &touch.path).and_then(Path::parent);
            cwd.zip(project)
                .is_some_and(|(cwd, project)| Path::new(cwd).starts_with(project))
        };
        return files
            .max_by_key(is_near)
            .or_else(|| Some(PathBuf::from(&touch.path)));
    }
    let path = absolute(&touch.path, cwd);
    let mut stores = stores.iter();
    let is_memory = stores.any(|store| {
        let below = path
            .strip_prefix(store.root().path())
            .ok()
            .and_then(Path::to_str);
        below.is_some_and(|file| {
            let may = |operation| store.rules().allow(operation, file, store.root()).is_ok();
            may(Operation::Patch) || may(Operation::Delete)
        })
    });
    is_memory.then_some(path)
}

/// Returns the files that a call of a session means, of those that are wanted.
type FileFilter<'a> = &'a mut dyn FnMut(&FileTouch, &Log<'_>) -> Vec<PathBuf>;

/// Reads calls and returns what they did to the files that are wanted, oldest first. Those that
/// failed or were refused did nothing.
fn calls(
    corpus: &Corpus,
    candidates: impl IntoIterator<Item = MessageAt>,
    meant: FileFilter<'_>,
) -> Vec<TouchingCall> {
    let mut facts: HashMap<usize, LogFacts> = HashMap::new();
    let mut found: Vec<(Option<u64>, TouchingCall)> = Vec::new();
    for at in candidates {
        // A damaged message is recorded by the corpus.
        let _ = corpus.message(at, |message| {
            let tool = message.tool.unwrap_or_default();
            let Some(log) = corpus.log(message.log) else {
                return;
            };
            for touch in file_touches(tool, message.text) {
                for path in meant(&touch, &log) {
                    let facts = facts.entry(message.log);
                    let facts = facts.or_insert_with(|| LogFacts::of(&log));
                    if facts.has_failed(message) {
                        return;
                    }
                    let edit = match touch.usage {
                        FileUse::Write => text_edit(tool, message.text, &touch.path),
                        FileUse::Read | FileUse::Delete => TextEdit::Unknown,
                    };
                    found.push((
                        message.identity,
                        TouchingCall {
                            log: message.log,
                            line: message.line,
                            time: message.time,
                            tool: tool.to_owned(),
                            path,
                            usage: touch.usage,
                            edit,
                        },
                    ));
                }
            }
        });
    }
    // Of a call and its copies, that in the session which is no copy comes first.
    let place = |call: &TouchingCall| {
        let facts = facts.get(&call.log);
        let is_copy = facts.is_some_and(|facts| facts.fork_of.is_some());
        let end = corpus.log(call.log).and_then(|log| log.span());
        (is_copy, end.map(|(_, end)| end), call.log, call.line)
    };
    found.sort_by_key(|(_, call)| place(call));
    let is_forked = |one: usize, other: usize| {
        let of = facts.get(&one).and_then(|facts| facts.fork_of.as_deref());
        of.is_some_and(|of| {
            facts
                .get(&other)
                .is_some_and(|other| other.ids.contains(of))
        })
    };
    let mut kept: HashMap<(u64, PathBuf), Vec<LogTime>> = HashMap::new();
    found.retain(|(identity, call)| {
        let Some(identity) = identity else {
            return true;
        };
        let others = kept.entry((*identity, call.path.clone())).or_default();
        let is_copy = others.iter().any(|(log, time)| {
            *log != call.log
                && (*time == call.time || is_forked(call.log, *log) || is_forked(*log, call.log))
        });
        others.push((call.log, call.time));
        !is_copy
    });
    let mut found: Vec<TouchingCall> = found.into_iter().map(|(_, call)| call).collect();
    found.sort_by_key(|call| (call.time, call.log, call.line));
    found
}

/// A log, and a time in it.
type LogTime = (usize, Option<i64>);

/// What the calls of a log are judged by.
struct LogFacts {
    /// The ids of the session.
    ids: HashSet<String>,
    /// The session of which this one is a copy.
    fork_of: Option<String>,
    /// See [`call_mark`].
    failed: HashSet<u64>,
}

impl LogFacts {
    fn of(log: &Log<'_>) -> Self {
        let (head, _) = log.facts().unwrap_or_default();
        let ids = head.session.into_iter().chain([log.id().to_owned()]);
        Self {
            ids: ids.collect(),
            fork_of: head.fork_of,
            failed: head.failed.into_iter().collect(),
        }
    }

    fn has_failed(&self, call: &CorpusMessage<'_>) -> bool {
        self.failed.contains(&call_mark(call.line, call.text))
    }
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

/// The user's words before a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserWords {
    /// The message.
    pub citation: String,
    /// What it says, with secrets masked.
    pub text: String,
}

/// The user's last words before a message that is cited, such as `codex:ID#L12`, with secrets masked.
pub fn words_before_message(corpus: &Corpus, citation: &str) -> Option<String> {
    let (log, line) = cited_line(corpus, citation)?;
    words_before(corpus, log, line).map(|words| words.text)
}

/// The user's last words before a line of a log. Before what a subagent did, they are in the session
/// that started it.
pub(super) fn words_before(corpus: &Corpus, log: usize, line: u64) -> Option<UserWords> {
    // A subagent may be started by a subagent; logs may name each other.
    const DEEPEST: usize = 8;
    let own = last_words(corpus, log, |at| corpus.line(at) < line);
    own.or_else(|| {
        let mut log = log;
        for _ in 0..DEEPEST {
            let of = corpus.log(log)?;
            let (head, _) = of.facts()?;
            let (start, _) = of.span()?;
            log = log_named_by(corpus, of.agent()?, &head.parent?)?;
            let is_before = |at| {
                let time = corpus.outline(at).and_then(|(time, _)| time);
                time.is_some_and(|time| time <= start)
            };
            let words = last_words(corpus, log, is_before);
            if words.is_some() {
                return words;
            }
        }
        None
    })
}

/// The last message of a log that the user wrote, of those that count.
fn last_words(
    corpus: &Corpus,
    log: usize,
    counts: impl Fn(MessageAt) -> bool,
) -> Option<UserWords> {
    let said = corpus.messages(log, &[Part::Words]).into_iter();
    let last = said.filter(|at| counts(*at)).rfind(|at| {
        let marks = corpus.outline(*at).map(|(_, marks)| marks);
        marks == Some((Role::User, MessageKind::Text, Origin::Written))
    });
    let log = corpus.log(log)?;
    let (agent, id) = (log.agent()?.name(), log.cited_id());
    corpus.message(last?, |message| UserWords {
        citation: format!("{agent}:{id}#L{}", message.line),
        text: mask(message.text),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
