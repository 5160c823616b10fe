//! What the user's program said about days, weeks, months and years, kept in the cache by what it was
//! asked: the bullets of their parts.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::event::Event;
use super::grip::Grip;
use super::node::{Level, NodeId};
use super::summarize::{Point, PointKind, Summarizer};
use super::tree::Tree;
use super::{Records, Timeline};
use crate::core::disk::foreign::{LARGEST_LOG, read_text};
use crate::core::disk::parallel::on_all_cores;
use crate::core::disk::private;
use crate::core::log::Role;

/// The file of the cache.
const FILE: &str = "rollups.jsonl";

/// The most answers that are kept.
const MOST: usize = 10_000;

/// The answers, by the hashes of the questions.
#[derive(Debug, Clone, Default)]
pub(super) struct RollUps {
    /// The name of the summarizer; empty for the one that is not asked.
    pub(super) summarizer: String,
    made: HashMap<String, RollUp>,
    /// The order in which they were made.
    order: Vec<String>,
}

/// An answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct RollUp {
    key: String,
    /// What was said; nothing if the program failed.
    pub(super) points: Vec<(Point, Grip)>,
    pub(super) keywords: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) note: Option<String>,
}

/// A question that has no answer yet.
pub(super) struct Question {
    pub(super) id: NodeId,
    pub(super) key: String,
    /// What the parts of the node say.
    pub(super) points: Vec<(Point, Grip)>,
}

impl RollUps {
    /// Those of a summarizer that was not asked yet.
    pub(super) fn none(summarizer: &str) -> Self {
        Self {
            summarizer: summarizer.to_owned(),
            ..Self::default()
        }
    }

    /// Reads those of a cache.
    pub(super) fn load(cache: &Path, summarizer: &str) -> Self {
        let mut found = Self::none(summarizer);
        if summarizer.is_empty() {
            return found;
        }
        let text = read_text(&cache.join(FILE), LARGEST_LOG).ok().flatten();
        let text = text.unwrap_or_default();
        let answers = text.lines().filter_map(private::of_cache_line);
        answers.for_each(|answer| found.add(answer));
        found
    }

    /// Writes them. What cannot be written is asked again the next time.
    pub(super) fn save(&self, cache: &Path) {
        let last = &self.order[self.order.len().saturating_sub(MOST)..];
        let kept = last.iter().filter_map(|key| self.made.get(key));
        let lines = kept.filter_map(private::to_cache_line);
        let text: String = lines.map(|line| line + "\n").collect();
        private::replace_cache(&cache.join(FILE), &text);
    }

    pub(super) fn add(&mut self, answer: RollUp) {
        let key = answer.key.clone();
        if self.made.insert(key.clone(), answer).is_none() {
            self.order.push(key);
        }
    }

    pub(super) fn get(&self, key: &str) -> Option<&RollUp> {
        self.made.get(key)
    }

    /// Returns the hash of a question: who is asked about which points.
    pub(super) fn key(&self, id: &NodeId, points: &[(&Point, &Grip)]) -> String {
        let mut hasher = blake3::Hasher::new();
        let id = id.to_string();
        let said = points
            .iter()
            .flat_map(|(point, grip)| [point.text.as_str(), grip.id.as_str()]);
        for text in [self.summarizer.as_str(), id.as_str()]
            .into_iter()
            .chain(said)
        {
            hasher.update(text.as_bytes());
            hasher.update(b"\0");
        }
        hasher.finalize().to_hex()[..32].to_owned()
    }
}

impl Timeline {
    /// Asks the summarizer about the days, weeks, months and years, as far as it sums these up and has
    /// not been asked; until `is_late`, and no more than once about the same bullets.
    pub fn roll_up(&mut self, records: Records, is_late: impl Fn() -> bool + Sync) {
        let summarizer = self.summarizer.name();
        if summarizer.is_empty() {
            return;
        }
        let mut rollups = match records {
            Records::Use => RollUps::clone(&self.rollups),
            Records::Rebuild => RollUps::none(&summarizer),
        };
        let mut is_new = false;
        for level in [Level::Day, Level::Week, Level::Month, Level::Year] {
            let records = self.records().map(Arc::as_ref);
            let questions = Tree::of(records, &rollups, &self.zone).questions(level);
            let answers = on_all_cores(questions.len(), |at| {
                let question = (!is_late()).then(|| &questions[at])?;
                question.ask(self.summarizer.as_ref())
            });
            for answer in answers.into_iter().flatten() {
                is_new = true;
                rollups.add(answer);
            }
        }
        if is_new {
            rollups.save(&self.cache);
        }
        self.rollups = Arc::new(rollups);
    }
}

impl Question {
    /// Asks a summarizer. What it says is tied to the grips of the points that it names.
    pub(super) fn ask(&self, summarizer: &dyn Summarizer) -> Option<RollUp> {
        let events: Vec<Event> = self
            .points
            .iter()
            .zip(1..)
            .map(|((point, grip), number)| {
                let role = match point.kind {
                    PointKind::Asked => Role::User,
                    _ => Role::Assistant,
                };
                Event::said(number, grip.timestamp, role, &point.text)
            })
            .collect();
        let title = self.id.title().unwrap_or_default();
        let level = self.id.level().name();
        let (points, keywords, note) = match summarizer.roll_up(level, &title, &events)? {
            Ok(said) => {
                let tied = said.points.into_iter();
                let tied =
                    tied.filter_map(|(point, at)| Some((point, self.points.get(at)?.1.clone())));
                (tied.collect(), said.keywords, None)
            }
            Err(note) => (Vec::new(), Vec::new(), Some(note)),
        };
        Some(RollUp {
            key: self.key.clone(),
            points,
            keywords,
            note,
        })
    }
}
