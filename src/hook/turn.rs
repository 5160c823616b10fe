//! What has happened in a session's turn so far, stored between calls.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::payload::{Payload, Stage};
use crate::core::foreign::{LARGEST_SETTINGS, read_capped};
use crate::core::memory::Revision;
use crate::core::{Error, Result, private};

/// The reminder to give to the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reminder {
    Nothing,
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
}

impl TurnState {
    /// Counts an event in its session; the caller holds the store's lock.
    pub(super) fn count(root: &Path, payload: &Payload) -> Result<Reminder> {
        let file = file(root, &payload.session);
        let before: Self = read_capped(&file, LARGEST_SETTINGS)
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default();
        if payload.stage == Stage::End {
            // The file is missing if nothing was counted.
            drop(fs::remove_file(&file));
            return Ok(Reminder::Nothing);
        }
        let mut turn = before.clone();
        let offer = turn.step(&payload.stage);
        if turn != before {
            let folder = root.join(FOLDER);
            private::create_dir(&folder).map_err(|e| Error::io(&folder, e))?;
            let bytes = serde_json::to_vec(&turn).map_err(|e| Error::io(&file, e.into()))?;
            private::create_file(&file)
                .and_then(|mut open| open.write_all(&bytes))
                .map_err(|e| Error::io(&file, e))?;
        }
        Ok(offer)
    }

    fn step(&mut self, stage: &Stage) -> Reminder {
        match stage {
            Stage::Prompt => {
                (self.tasks, self.planned, self.reminded) = (0, false, false);
                Reminder::Nothing
            }
            Stage::Plan(steps) => {
                self.tools += 1;
                self.plan(*steps)
            }
            Stage::Task => {
                self.tools += 1;
                self.tasks += 1;
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
                    return Reminder::Store(SessionWork {
                        tools: self.tools,
                        files: self.files.clone(),
                        more: self.more,
                    });
                }
                Reminder::Nothing
            }
            Stage::Start | Stage::StopAgain | Stage::End | Stage::Other => Reminder::Nothing,
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

    fn offers(stages: &[Stage]) -> Vec<Reminder> {
        let mut turn = TurnState::default();
        stages.iter().map(|stage| turn.step(stage)).collect()
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
        stages.extend(vec![Stage::Task; 7]);
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
                Stage::Task,
                Stage::Task,
                Stage::Task,
                Stage::Prompt,
                Stage::Task,
                Stage::Task,
                Stage::Task
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
