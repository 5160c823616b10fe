//! The message under the cursor, or the marked lines: cited, and promoted to a memory.

use super::{LogPane, copy_to_clipboard};
use crate::core::memory::citation::{Citation, CitedPart};
use crate::tui::effect::{Effect, TimelineJob};
use crate::tui::pane::Step;

impl LogPane {
    pub(super) fn cite(&self) -> Vec<Step> {
        copy_to_clipboard(self.citation().to_string())
    }

    fn line(&self) -> Option<u64> {
        let message = self.conversation.as_ref()?.message()?;
        Some(message.line)
    }

    /// The message under the cursor, or the marked lines.
    pub(super) fn citation(&self) -> Citation {
        let place = |line: u64| usize::try_from(line).unwrap_or(1).max(1);
        let lines = self.line().map(|line| {
            let other = self.marked.unwrap_or(line);
            place(line.min(other))..=place(line.max(other))
        });
        Citation {
            store: Some(self.file.agent.name().to_owned()),
            path: self.file.id.clone(),
            part: lines.map_or(CitedPart::Whole, CitedPart::Lines),
        }
    }

    /// Marks from here to where the cursor moves, or nothing any more.
    pub(super) fn mark(&mut self) -> Vec<Step> {
        self.marked = match self.marked {
            Some(_) => None,
            None => self.line(),
        };
        Vec::new()
    }

    /// Proposes a memory for the message under the cursor, or the marked lines.
    pub(super) fn promote(&mut self) -> Vec<Step> {
        let citation = self.citation();
        self.marked = None;
        match citation.part {
            CitedPart::Lines(_) => {
                vec![Step::Effect(Effect::Timeline(TimelineJob::Propose(vec![
                    citation.to_string(),
                ])))]
            }
            _ => Vec::new(),
        }
    }
}
