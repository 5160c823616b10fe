//! Why a line is in a memory: the call that brought it in, with its session and the user's words
//! before it, or else the change in the history.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::replay::{Replay, Step, lines_of};
use super::state::State;
use super::why::{TouchingCall, UserWords, calls_touching, words_before};
use crate::core::Result;
use crate::core::change::history::{ChangeVerb, History, Record};
use crate::core::disk::revision::Revision;
use crate::core::log::touch::FileUse;
use crate::core::memory::store::Store;

use crate::core::search::index::Corpus;

/// A call that touched a file, as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// The agent.
    pub agent: &'static str,
    /// The id of the log, as a citation has it.
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
    /// The user's words before it.
    pub words: Option<UserWords>,
}

impl Reason {
    /// What is shown of a call.
    pub fn of(corpus: &Corpus, call: &TouchingCall) -> Self {
        let log = corpus.log(call.log);
        let agent = log.and_then(|log| log.agent());
        Self {
            agent: agent.map_or("", |agent| agent.name()),
            session: log.map(|log| log.cited_id()).unwrap_or_default(),
            title: log.map(|log| log.shown_title()).unwrap_or_default(),
            line: call.line,
            time: call.time,
            tool: call.tool.clone(),
            usage: call.usage,
            file: call.path.clone(),
            words: words_before(corpus, call.log, call.line),
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

/// What brought each of these lines into the file at `path` of a store, whose text they are;
/// `None` where neither a log nor the history tells it.
pub fn line_sources(
    corpus: Option<&Corpus>,
    history: &History,
    store: &Store,
    path: &str,
    lines: &[&str],
) -> Result<Vec<Option<Arc<LineSource>>>> {
    let root = store.root().path();
    let calls = corpus.map(|corpus| calls_touching(corpus, &root.join(path)));
    let calls = calls.unwrap_or_default();
    let records = history.records()?;
    let changes = changes_of(history, &records, root, path);
    let state = State::load(history, store.id())?;
    let seen = state.and_then(|(state, _)| version_lines(history, state.revision(path)));
    let replay = Replay::new(&calls, changes, seen);
    // Many lines have one source, which is made once.
    let mut calls_shown: HashMap<(usize, u64), Arc<LineSource>> = HashMap::new();
    let mut changes_shown: HashMap<&str, Arc<LineSource>> = HashMap::new();
    let sources = replay
        .sources(lines)
        .into_iter()
        .map(|step| match (step?, corpus) {
            (Step::Call(call), Some(corpus)) => {
                let reason = || Arc::new(LineSource::Call(Reason::of(corpus, call)));
                let known = calls_shown.entry((call.log, call.line));
                Some(Arc::clone(known.or_insert_with(reason)))
            }
            (Step::Change(record, _), _) => {
                let change = || Arc::new(LineSource::Change((*record).clone()));
                let known = changes_shown.entry(record.id.as_str());
                Some(Arc::clone(known.or_insert_with(change)))
            }
            _ => None,
        });
    Ok(sources.collect())
}

/// The lines of a version. One that pruning or damage took away says nothing.
fn version_lines(history: &History, revision: Option<Revision>) -> Option<Vec<String>> {
    let bytes = history.version(&revision?).ok()?;
    Some(lines_of(&String::from_utf8_lossy(&bytes)))
}

/// The recorded changes of a file, with the lines before and after each.
pub(super) fn changes_of<'a>(
    history: &History,
    records: &'a [Record],
    root: &Path,
    path: &str,
) -> Vec<(&'a Record, Vec<String>, Vec<String>)> {
    let lines = |revision: Option<Revision>| match revision {
        Some(_) => version_lines(history, revision),
        None => Some(Vec::new()),
    };
    // An acceptance leaves the files as they are.
    let made = records
        .iter()
        .filter(|record| record.verb != ChangeVerb::Accept);
    let mut changes: Vec<_> = made
        .filter_map(|record| {
            let mut files = record.files.iter();
            let file = files.find(|file| file.root == root && file.path == path)?;
            let is_change = file.before != file.after;
            is_change.then_some((record, lines(file.before)?, lines(file.after)?))
        })
        .collect();
    changes.sort_by_key(|(record, ..)| record.time);
    changes
}
