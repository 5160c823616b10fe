//! The right line at the right moment: the one line of a memory that is about what an agent is about
//! to do, or nothing.
//!
//! [`unit`] divides memories into the statements that can be said, [`relevance`] weighs one against a
//! call or a prompt by the commands, files and names in both; no model and no index is asked. A line is
//! said once in a session, and few are said in one; what was said is kept in tome's data directory.

mod relevance;
pub(in crate::core::insight) mod unit;

use std::collections::{HashSet, VecDeque};
use std::fs;
use std::io::Write as _;
use std::path::Path;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::act::Act;
use crate::core::disk::foreign::read_text;
use crate::core::disk::private;
use crate::core::memory::FileKind;
use crate::core::memory::layout::Layout;
use crate::core::memory::layout::instructions::NAMES as INSTRUCTIONS;
use crate::core::memory::store::Store;
use crate::core::text::secret::mask;
use crate::core::text::{clip, one_line};
use crate::core::{Error, Result};
use relevance::Relevance;
use unit::units;

/// What a line is looked for.
#[derive(Debug, Clone, Copy)]
pub enum Cue<'a> {
    /// A call that is about to be made.
    Act(&'a Act),
    /// A prompt.
    Prompt(&'a str),
}

/// A line of a memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryLine {
    /// The store's name.
    pub store: String,
    /// The memory's path in it.
    pub path: String,
    /// The number of the line, from 1.
    pub line: usize,
    /// What it says, on one line.
    pub text: String,
}

/// The most that is read of the memories of a project, in files and in bytes: a hook must be quick.
const MOST_FILES: usize = 400;
const MOST_BYTES: usize = 2 << 20;

/// How many files of one that has instructions are read with it.
const MOST_LINKED: usize = 20;

/// The longest text that is said.
const LONGEST: usize = 600;

/// The line that is about the cue, if one plainly is and was not said yet.
pub fn line_for(
    stores: &[Store],
    cwd: Option<&Path>,
    cue: &Cue<'_>,
    said: &Said,
) -> Option<MemoryLine> {
    if said.is_enough() {
        return None;
    }
    let mut relevance = Relevance::new(cue, cwd)?;
    let (mut files, mut bytes) = (0, 0);
    for store in stores {
        if matches!(store.layout(), Layout::Events | Layout::Session) {
            continue;
        }
        let rules = store.rules();
        let said = |path: &String| {
            let kind = rules.kind(path);
            matches!(
                kind,
                FileKind::Memory | FileKind::Overview | FileKind::Instructions
            )
        };
        let found = rules.files(store.root()).unwrap_or_default();
        let paths = found.into_iter().map(|file| file.path).filter(said);
        let mut paths: VecDeque<String> = paths.collect();
        let mut seen: HashSet<String> = paths.iter().cloned().collect();
        while let Some(path) = paths.pop_front() {
            if files == MOST_FILES || bytes > MOST_BYTES {
                break;
            }
            let Ok(Some(text)) = store.text(&path) else {
                continue;
            };
            (files, bytes) = (files + 1, bytes + text.len());
            // Instructions may be an index of guides.
            if INSTRUCTIONS.contains(&path.as_str()) {
                paths.extend(linked(&text).filter(|path| seen.insert(path.clone())));
            }
            let reference = rules.reference_of(&path);
            for unit in units(&text) {
                relevance.weigh(&unit, || MemoryLine {
                    store: store.name().to_owned(),
                    path: reference.clone(),
                    line: unit.line,
                    text: clip(&unit.said(), LONGEST).to_owned(),
                });
            }
        }
    }
    relevance.best(|line| !said.has(line))
}

/// The Markdown files of the project that instructions link to.
fn linked(text: &str) -> impl Iterator<Item = String> {
    let targets = text
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next());
    let files = targets.filter_map(|target| target.split('#').next());
    let is_here =
        |path: &&str| path.ends_with(".md") && !path.contains(':') && !path.contains("..");
    let files = files
        .map(|path| path.trim_start_matches("./"))
        .filter(is_here);
    files.take(MOST_LINKED).map(str::to_owned)
}

/// The file of what was said in the data directory. The ledger reads it, too.
const FILE: &str = "moments.jsonl";

/// When the file is larger, its older half is dropped.
const LARGEST: u64 = 1 << 20;

/// How many lines are said in a session at most.
const MOST_SAID: usize = 8;

/// What was said in a session.
#[derive(Debug, Clone, Default)]
pub struct Said {
    session: String,
    lines: Vec<Record>,
}

/// A line that was said, as it is kept.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Record {
    time: String,
    session: String,
    agent: String,
    store: String,
    path: String,
    line: usize,
    text: String,
    command: String,
}

impl Said {
    /// Reads what was said in a session.
    pub fn load(data: &Path, session: &str) -> Self {
        let text = read_text(&data.join(FILE), 2 * LARGEST).ok().flatten();
        let text = text.unwrap_or_default();
        // Most lines are of other sessions and need no parsing.
        let own = text.lines().filter(|line| line.contains(session));
        let own = own.filter_map(|line| serde_json::from_str::<Record>(line).ok());
        Self {
            session: session.to_owned(),
            lines: own.filter(|record| record.session == session).collect(),
        }
    }

    fn is_enough(&self) -> bool {
        self.lines.len() >= MOST_SAID
    }

    fn has(&self, line: &MemoryLine) -> bool {
        let text = mask(&line.text);
        self.lines
            .iter()
            .any(|said| said.path == line.path && said.text == text)
    }

    /// Keeps that a line is said now.
    pub fn record(
        &self,
        data: &Path,
        time: Timestamp,
        agent: &str,
        line: &MemoryLine,
        cue: &Cue<'_>,
    ) -> Result<()> {
        let command = match cue {
            Cue::Act(act) => act.summary(),
            Cue::Prompt(text) => one_line(text),
        };
        let record = Record {
            time: time.to_string(),
            session: self.session.clone(),
            agent: agent.to_owned(),
            store: line.store.clone(),
            path: line.path.clone(),
            line: line.line,
            text: mask(&line.text),
            command: mask(clip(&command, LONGEST)),
        };
        let path = data.join(FILE);
        let failed = |e| Error::io(&path, e);
        private::create_dir(data).map_err(failed)?;
        let is_large = fs::metadata(&path).is_ok_and(|known| known.len() > LARGEST);
        if is_large && let Some(text) = read_text(&path, 2 * LARGEST)? {
            let half = &text[clip(&text, text.len() / 2).len()..];
            let kept = half.split_once('\n').map_or("", |(_, kept)| kept);
            private::replace_unflushed(&path, |file| file.write_all(kept.as_bytes()))
                .map_err(failed)?;
        }
        let mut line = serde_json::to_string(&record).map_err(|e| failed(e.into()))?;
        line.push('\n');
        // One write, so that lines of two hooks do not mix.
        private::open_append(&path)
            .and_then(|mut file| file.write_all(line.as_bytes()))
            .map_err(failed)
    }
}
