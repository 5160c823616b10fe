//! What was done since the pane was opened: the lines and tokens that it freed, and what `u` takes
//! back.

use crate::core::Result;
use crate::core::change::Edit;
use crate::core::change::history::Record;
use crate::core::insight::context::tokens;
use crate::core::insight::curate::Finding;
use crate::tui::chrome::count;
use crate::tui::effect::{Effect, LibraryJob, Request, UndoDirection, WaiveJob, WriteJob};
use crate::tui::pane::{Step, latest, perform};

#[derive(Debug, Default)]
pub(super) struct Visit {
    /// How many lines and tokens the stores have less than before; negative if more.
    lines: i64,
    tokens: i64,
    /// The ids of the changes whose edits are not counted yet.
    uncounted: Vec<String>,
    /// What was done, newest last.
    done: Vec<Done>,
    /// What was taken back, newest last.
    undone: Vec<Done>,
    /// Whether the next decision to be recorded replays one that is known.
    is_replay: bool,
}

/// Something that can be taken back.
#[derive(Debug, Clone)]
enum Done {
    /// A change, which the history knows.
    Change,
    /// Findings were waived, or opened again.
    Waived {
        findings: Vec<Finding>,
        /// Why they were waived; `None` if they were opened again.
        words: Option<String>,
        /// The reason to record to take it back.
        back: Option<String>,
    },
}

impl Visit {
    /// Notes a change and asks for its edits.
    pub(super) fn committed(&mut self, request: &Request, record: &Record) -> Vec<Step> {
        match request {
            Request::Latest(UndoDirection::Undo) => {
                self.undone.extend(self.done.pop());
            }
            Request::Latest(UndoDirection::Redo) => {
                self.done.extend(self.undone.pop());
            }
            _ => self.do_new(Done::Change),
        }
        self.uncounted.push(record.id.clone());
        self.count_next()
    }

    fn do_new(&mut self, done: Done) {
        self.done.push(done);
        self.undone.clear();
    }

    /// Asks for the edits of a change that is not counted yet.
    fn count_next(&self) -> Vec<Step> {
        let next = self.uncounted.last().cloned();
        let compare = next.map(|id| Step::Effect(Effect::Library(LibraryJob::Compare { id })));
        compare.into_iter().collect()
    }

    /// Counts the edits of a change. A request that a newer one has superseded is made again.
    pub(super) fn compared(&mut self, id: &str, result: &Result<Vec<Edit>>) -> Vec<Step> {
        let Some(at) = self.uncounted.iter().position(|known| known == id) else {
            return Vec::new();
        };
        self.uncounted.remove(at);
        for edit in result.as_ref().map_or(&[][..], Vec::as_slice) {
            let (lines_before, tokens_before) = measured(edit.before.as_deref());
            let (lines_after, tokens_after) = measured(edit.after.as_deref());
            self.lines += lines_before - lines_after;
            self.tokens += tokens_before - tokens_after;
        }
        self.count_next()
    }

    /// The lines and tokens that were freed, if any.
    pub(super) fn freed(&self) -> Option<String> {
        let lines = usize::try_from(self.lines).unwrap_or(0);
        let tokens = usize::try_from(self.tokens).unwrap_or(0);
        if lines + tokens == 0 {
            return None;
        }
        let lines = count(lines, "line", "lines");
        Some(format!(
            "freed {lines}, {}",
            count(tokens, "token", "tokens")
        ))
    }

    /// Notes a decision about findings.
    pub(super) fn waived(&mut self, job: &WaiveJob) {
        if std::mem::take(&mut self.is_replay) {
            return;
        }
        let waiver = job.findings.first().and_then(|one| one.waived.as_ref());
        let back = waiver.filter(|_| job.words.is_none());
        self.do_new(Done::Waived {
            findings: job.findings.clone(),
            words: job.words.clone(),
            back: back.map(|waiver| waiver.words.clone()),
        });
    }

    /// Takes the last thing back, or makes the last one again that was taken back.
    pub(super) fn replay(&mut self, direction: UndoDirection) -> Vec<Step> {
        let (from, to) = match direction {
            UndoDirection::Undo => (&mut self.done, &mut self.undone),
            UndoDirection::Redo => (&mut self.undone, &mut self.done),
        };
        let Some(Done::Waived {
            findings,
            words,
            back,
        }) = from.last().cloned()
        else {
            return latest(direction);
        };
        to.extend(from.pop());
        self.is_replay = true;
        match direction {
            UndoDirection::Undo => waive(findings, back),
            UndoDirection::Redo => waive(findings, words),
        }
    }
}

/// Waives findings, or takes that back.
pub(super) fn waive(findings: Vec<Finding>, words: Option<String>) -> Vec<Step> {
    let job = WaiveJob { findings, words };
    perform(Effect::Write(WriteJob::Waive(job)))
}

/// The lines and tokens of a file.
fn measured(bytes: Option<&[u8]>) -> (i64, i64) {
    let text = String::from_utf8_lossy(bytes.unwrap_or_default());
    let number = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    (number(text.lines().count()), number(tokens(&text)))
}
