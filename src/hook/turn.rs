//! What has happened in a session's turn so far, stored between calls.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::payload::{Payload, Stage};
use crate::core::disk::foreign::{LARGEST_SETTINGS, read_capped};
use crate::core::disk::private;
use crate::core::disk::revision::Revision;
use crate::core::log::Agent;
use crate::core::{Error, Result};

/// The reminder to give to the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reminder {
    Nothing,
    /// The context of the session, for an agent that takes it with the first prompt.
    Context,
    /// The guide for recalling lessons.
    Recall,
    /// The guide for storing a lesson, with the work of the session.
    Store(SessionWork),
}

/// The work of a session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct SessionWork {
    /// The number of tools used.
    pub(super) tools: usize,
    /// The first changed files.
    pub(super) files: Vec<String>,
    /// The number of further changes to other files.
    pub(super) more: usize,
}

/// A plan with more steps than this triggers the reminder to recall lessons.
const SHORT_PLAN: usize = 5;

/// A session that used this many tools and changed a file triggers the reminder to store.
const REAL_WORK: usize = 10;

/// How many changed files are stored by name.
const MOST_FILES: usize = 12;

/// How many events are known again.
const MOST_RECENT: usize = 16;

/// An event that comes again within this many milliseconds comes from a second registration of the
/// hook.
const REPEATED: i64 = 5_000;

/// How an agent can be told something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Manner {
    /// Whether its context comes with the first prompt instead of at the start.
    pub(super) context_with_prompt: bool,
    /// Whether the end of a turn is known not to be the end of the run, so that the agent can be
    /// asked for more; else a reminder waits for the next prompt.
    pub(super) can_prolong: bool,
}

/// What has happened so far.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct TurnState {
    /// The tasks created in this turn.
    #[serde(default)]
    tasks: usize,
    /// Whether this turn has a long plan.
    #[serde(default)]
    planned: bool,
    /// Whether the reminder to store was given in this turn.
    #[serde(default)]
    reminded: bool,
    /// The tools used in the session.
    #[serde(default)]
    tools: usize,
    /// Whether the session changed a file.
    #[serde(default)]
    edited: bool,
    /// The first changed files.
    #[serde(default)]
    files: Vec<String>,
    /// The number of further changes to other files.
    #[serde(default)]
    more: usize,
    /// Whether the reminder to store was given in the session.
    #[serde(default)]
    offered: bool,
    /// Whether the reminder to store waits for the next prompt.
    #[serde(default)]
    waiting: bool,
    /// Whether the session has its context.
    #[serde(default)]
    has_context: bool,
    /// The transcript of a turn whose answer is not stored yet.
    #[serde(default)]
    unanswered: Option<String>,
    /// The last events, as hashes, with the times they came in milliseconds since 1970.
    #[serde(default)]
    recent: Vec<(String, i64)>,
}

/// The state of a session's turn, and the file it is stored in.
pub(super) struct Turn {
    file: PathBuf,
    before: TurnState,
    now: TurnState,
}

impl Turn {
    /// Reads the state; the caller holds the store's lock until [`Self::save`].
    pub(super) fn load(root: &Path, session: &str) -> Self {
        let file = file(root, session);
        let before: TurnState = read_capped(&file, LARGEST_SETTINGS)
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default();
        Self {
            now: before.clone(),
            before,
            file,
        }
    }

    /// Whether the event came before, a moment ago: the hook is registered twice.
    pub(super) fn is_repeat(&mut self, payload: &Payload, agent: Agent, now: i64) -> bool {
        let call = payload.metadata.get("tool_use_id").cloned();
        let own_time = || Some(payload.time?.as_millisecond().to_string());
        let identity = call.or_else(own_time);
        let parts = [
            agent.name(),
            &payload.event_type,
            &format!("{:?}", payload.stage),
            &payload.text,
            identity.as_deref().unwrap_or_default(),
            payload.turn.as_deref().unwrap_or_default(),
        ];
        let hash = Revision::of(parts.join("\0").as_bytes()).to_string()[..16].to_owned();
        let is_same = |known: &(String, i64)| known.0 == hash && now - known.1 <= REPEATED;
        let is_tool = payload.metadata.contains_key("tool_name");
        let is_repeat = match &identity {
            Some(_) => self.now.recent.iter().any(is_same),
            // If nothing tells two events apart, the same call may well be made twice in a row.
            None => !is_tool && self.now.recent.last().is_some_and(is_same),
        };
        if !is_repeat {
            self.now.recent.push((hash, now));
            let over = self.now.recent.len().saturating_sub(MOST_RECENT);
            self.now.recent.drain(..over);
        }
        is_repeat
    }

    /// Sets the transcript in which the answer of the turn will be; returns the one before.
    pub(super) fn set_unanswered(&mut self, transcript: Option<String>) -> Option<String> {
        std::mem::replace(&mut self.now.unanswered, transcript)
    }

    /// Counts an event; returns the reminder to give.
    pub(super) fn count(&mut self, payload: &Payload, manner: Manner) -> Reminder {
        if payload.stage == Stage::Start {
            self.now.has_context = payload.is_replayed;
        }
        self.now.step(&payload.stage, manner)
    }

    /// Stores the state. Of a session that ended, only what tells a repeat of its end is kept.
    pub(super) fn save(mut self, stage: &Stage) -> Result<()> {
        if *stage == Stage::End {
            self.now = TurnState {
                recent: self
                    .now
                    .recent
                    .split_off(self.now.recent.len().saturating_sub(1)),
                ..TurnState::default()
            };
        }
        if *stage == Stage::Start {
            self.remove_old();
        }
        if self.now == self.before {
            return Ok(());
        }
        if let Some(folder) = self.file.parent() {
            private::create_dir(folder).map_err(|e| Error::io(folder, e))?;
        }
        let bytes = serde_json::to_vec(&self.now).map_err(|e| Error::io(&self.file, e.into()))?;
        private::create_file(&self.file)
            .and_then(|mut open| open.write_all(&bytes))
            .map_err(|e| Error::io(&self.file, e))
    }

    /// Removes the states of sessions of which nothing was heard for a month.
    fn remove_old(&self) {
        const MONTH: Duration = Duration::from_secs(30 * 24 * 60 * 60);
        let Some(Ok(files)) = self.file.parent().map(fs::read_dir) else {
            return;
        };
        for file in files.flatten() {
            let changed = file.metadata().and_then(|known| known.modified());
            let is_old = changed.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > MONTH));
            if is_old {
                // Another hook may have removed it.
                drop(fs::remove_file(file.path()));
            }
        }
    }
}

impl TurnState {
    fn step(&mut self, stage: &Stage, manner: Manner) -> Reminder {
        match stage {
            Stage::Prompt => {
                (self.tasks, self.planned, self.reminded) = (0, false, false);
                if manner.context_with_prompt && !self.has_context {
                    self.has_context = true;
                    return Reminder::Context;
                }
                if self.waiting {
                    self.waiting = false;
                    return Reminder::Store(self.work());
                }
                Reminder::Nothing
            }
            Stage::Plan(steps) => {
                self.tools += 1;
                self.plan(*steps)
            }
            Stage::Tasks(count) => {
                self.tools += 1;
                self.tasks += count;
                self.plan(self.tasks)
            }
            Stage::Edit(files) => {
                self.tools += 1;
                self.edited = true;
                for file in files {
                    if self.files.contains(file) {
                        continue;
                    }
                    match self.files.len() {
                        0..MOST_FILES => self.files.push(file.clone()),
                        _ => self.more += 1,
                    }
                }
                Reminder::Nothing
            }
            Stage::Tool => {
                self.tools += 1;
                Reminder::Nothing
            }
            Stage::Stop => {
                let real = self.edited && self.tools >= REAL_WORK && !self.offered;
                if (self.planned && !self.reminded) || real {
                    (self.reminded, self.offered) = (true, true);
                    if manner.can_prolong {
                        return Reminder::Store(self.work());
                    }
                    self.waiting = true;
                }
                Reminder::Nothing
            }
            Stage::Start | Stage::Call | Stage::StopAgain | Stage::End | Stage::Other => {
                Reminder::Nothing
            }
        }
    }

    fn work(&self) -> SessionWork {
        SessionWork {
            tools: self.tools,
            files: self.files.clone(),
            more: self.more,
        }
    }

    fn plan(&mut self, steps: usize) -> Reminder {
        if steps > SHORT_PLAN && !self.planned {
            self.planned = true;
            return Reminder::Recall;
        }
        Reminder::Nothing
    }
}

const FOLDER: &str = "turns";

fn file(root: &Path, session: &str) -> PathBuf {
    let name = Revision::of(session.as_bytes()).to_string();
    root.join(FOLDER).join(format!("{}.json", &name[..16]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASKED: Manner = Manner {
        context_with_prompt: false,
        can_prolong: true,
    };

    fn offers(stages: &[Stage]) -> Vec<Reminder> {
        told(stages, ASKED)
    }

    fn told(stages: &[Stage], manner: Manner) -> Vec<Reminder> {
        let mut turn = TurnState::default();
        stages
            .iter()
            .map(|stage| turn.step(stage, manner))
            .collect()
    }

    #[test]
    fn where_a_turn_cannot_be_prolonged_the_reminder_comes_with_the_next_prompt() {
        use Stage::{Plan, Prompt, Stop};
        let manner = Manner {
            context_with_prompt: true,
            can_prolong: false,
        };
        let told = told(&[Prompt, Plan(6), Stop, Prompt, Stop, Prompt], manner);
        let work = SessionWork {
            tools: 1,
            ..SessionWork::default()
        };
        assert_eq!(
            told,
            [
                Reminder::Context,
                Reminder::Recall,
                Reminder::Nothing,
                Reminder::Store(work),
                Reminder::Nothing,
                Reminder::Nothing
            ]
        );
    }

    #[test]
    fn six_steps_are_a_long_plan_and_five_are_not() {
        use Stage::{Plan, Prompt, Stop, StopAgain};
        assert_eq!(
            offers(&[Prompt, Plan(5), Stop]),
            [Reminder::Nothing, Reminder::Nothing, Reminder::Nothing]
        );
        assert_eq!(
            offers(&[Prompt, Plan(6), Plan(7), Stop, StopAgain, Stop]),
            [
                Reminder::Nothing,
                Reminder::Recall,
                Reminder::Nothing,
                Reminder::Store(SessionWork {
                    tools: 2,
                    ..SessionWork::default()
                }),
                Reminder::Nothing,
                Reminder::Nothing
            ]
        );
        assert_eq!(offers(&[Plan(6), Prompt, Plan(6)])[2], Reminder::Recall);
    }

    #[test]
    fn the_sixth_task_of_a_turn_counts() {
        let mut stages = vec![Stage::Prompt];
        stages.extend(vec![Stage::Tasks(1); 7]);
        let offered = offers(&stages);
        assert_eq!(offered[6], Reminder::Recall);
        assert_eq!(
            offered
                .iter()
                .filter(|offer| **offer == Reminder::Recall)
                .count(),
            1
        );
        assert!(
            !offers(&[
                Stage::Tasks(1),
                Stage::Tasks(1),
                Stage::Tasks(1),
                Stage::Prompt,
                Stage::Tasks(1),
                Stage::Tasks(1),
                Stage::Tasks(1)
            ])
            .contains(&Reminder::Recall)
        );
    }

    #[test]
    fn real_work_is_reminded_of_once_in_a_session() {
        let edit = |number: usize| Stage::Edit(vec![format!("{number}.rs"), "a.rs".to_owned()]);
        let mut stages: Vec<Stage> = (0..14).map(edit).collect();
        stages.extend([Stage::Stop, Stage::Prompt, edit(0), Stage::Stop]);
        let stored: Vec<SessionWork> = offers(&stages)
            .into_iter()
            .filter_map(|offer| match offer {
                Reminder::Store(touched) => Some(touched),
                _ => None,
            })
            .collect();
        let [touched] = stored.as_slice() else {
            panic!("offered once: {stored:?}");
        };
        assert_eq!((touched.tools, touched.more), (14, 3));
        assert_eq!(touched.files[..3], ["0.rs", "a.rs", "1.rs"]);
        assert_eq!(
            offers(&vec![Stage::Tool; 12]).last(),
            Some(&Reminder::Nothing)
        );
    }
}
