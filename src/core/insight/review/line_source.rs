//! Why a line is in a memory: the call that brought it in, with its session and the user's words
//! before it, or else the change in the history.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::why::{TouchingCall, WritingCalls, calls_touching, words_before};
use crate::core::change::history::{History, Record};
use crate::core::disk::revision::Revision;
use crate::core::log::touch::FileUse;
use crate::core::search::catalog::log_title;
use crate::core::search::index::Corpus;
use crate::core::text::diff;
use crate::core::text::secret::mask;
use crate::core::{Error, Result};

/// A call that touched a file, as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// The agent.
    pub agent: &'static str,
    /// The id of the log.
    pub session: String,
    /// The title of the session.
    pub title: String,
    /// The line of the call in the log.
    pub line: u64,
    /// When it was made, in milliseconds since 1970.
    pub time: Option<i64>,
    /// The tool.
    pub tool: String,
    /// What it did to the file.
    pub usage: FileUse,
    /// The file.
    pub file: PathBuf,
    /// The line of the user's words before it, and the words, with secrets masked.
    pub words: Option<(u64, String)>,
}

impl Reason {
    /// What is shown of a call.
    pub fn of(corpus: &Corpus, call: &TouchingCall) -> Self {
        let log = corpus.log(call.log);
        let agent = log.and_then(|log| log.agent());
        Self {
            agent: agent.map_or("", |agent| agent.name()),
            session: log.map(|log| log.id().to_owned()).unwrap_or_default(),
            title: log.map(|log| log_title(&log)).unwrap_or_default(),
            line: call.line,
            time: call.time,
            tool: call.tool.clone(),
            usage: call.usage,
            file: call.path.clone(),
            words: words_before(corpus, call.log, call.line)
                .map(|(line, words)| (line, mask(&words))),
        }
    }

    /// The citation of a line of the log.
    pub fn cite(&self, line: u64) -> String {
        format!("{}:{}#L{line}", self.agent, self.session)
    }
}

/// What brought a line into a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineSource {
    /// A call in a log.
    Call(Reason),
    /// A change in the history.
    Change(Record),
}

/// What brought each of these lines into the file at `path` below `root`; `None` where neither a
/// log nor the history tells it.
pub fn line_sources(
    corpus: Option<&Corpus>,
    history: &History,
    root: &Path,
    path: &str,
    lines: &[&str],
) -> Result<Vec<Option<Arc<LineSource>>>> {
    let calls = corpus.map(|corpus| calls_touching(corpus, &root.join(path)));
    let calls = calls.unwrap_or_default();
    let writing = WritingCalls::of(&calls);
    let mut reasons: HashMap<(usize, u64), Arc<LineSource>> = HashMap::new();
    let mut changes: Option<FileChanges> = None;
    let mut found = Vec::new();
    for line in lines {
        let call = writing.introducing(line);
        found.push(match (corpus, call) {
            (Some(corpus), Some(call)) => {
                let reason = || Arc::new(LineSource::Call(Reason::of(corpus, call)));
                let known = reasons.entry((call.log, call.line));
                Some(Arc::clone(known.or_insert_with(reason)))
            }
            _ if line.trim().is_empty() => None,
            _ => {
                let changes = match &changes {
                    Some(changes) => changes,
                    None => changes.insert(FileChanges::load(history, root, path)?),
                };
                changes.introducing(line)
            }
        });
    }
    Ok(found)
}

/// A recorded change of a file, with the lines before and after it.
struct ChangedLines {
    change: Arc<LineSource>,
    before: HashSet<Vec<u8>>,
    after: HashSet<Vec<u8>>,
}

/// The recorded changes of a file, the newest first.
struct FileChanges(Vec<ChangedLines>);

impl FileChanges {
    fn load(history: &History, root: &Path, path: &str) -> Result<Self> {
        let lines = |revision: Option<Revision>| {
            let bytes = revision.map(|revision| history.version(&revision));
            let bytes = bytes.transpose()?.unwrap_or_default();
            let lines = diff::lines(&bytes).into_iter();
            Ok::<_, Error>(lines.map(|line| line.trim_ascii_end().to_vec()).collect())
        };
        let mut changes = Vec::new();
        for record in history.records()?.into_iter().rev() {
            let mut files = record.files.iter();
            let file = files.find(|file| file.root == root && file.path == path);
            let Some(file) = file.filter(|file| file.before != file.after) else {
                continue;
            };
            // A version that pruning or damage took away says nothing.
            if let (Ok(before), Ok(after)) = (lines(file.before), lines(file.after)) {
                changes.push(ChangedLines {
                    change: Arc::new(LineSource::Change(record)),
                    before,
                    after,
                });
            }
        }
        Ok(Self(changes))
    }

    /// The last change that brought a line in; `None` if it was there before all of them.
    fn introducing(&self, line: &str) -> Option<Arc<LineSource>> {
        let line = line.trim_end().as_bytes();
        let mut changes = self.0.iter();
        let found = changes.find(|one| one.after.contains(line) && !one.before.contains(line));
        found.map(|one| Arc::clone(&one.change))
    }
}
