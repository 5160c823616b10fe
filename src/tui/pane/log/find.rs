//! Finding words in a log: at every letter the nearest place is shown, with its number.

use super::LogPane;
use crate::tui::model::PaneContext;
use crate::tui::pane::{Step, say};
use crate::tui::widget::emphasis::MarkedWords;
use crate::tui::widget::input::{Input, InputOutcome};
use crate::tui::widget::list::Move;

#[derive(Debug)]
pub(super) struct LogSearch {
    pub(super) input: Input,
    /// The message at which the search started, to go back to on Escape.
    origin: usize,
    /// The text that the marked words come from.
    marked: String,
}

impl LogPane {
    pub(super) fn open_search(&mut self) -> Vec<Step> {
        let conversation = self.conversation.as_ref();
        self.search = Some(LogSearch {
            input: Input::default(),
            origin: conversation.map_or(0, |conversation| conversation.selected_message()),
            marked: String::new(),
        });
        Vec::new()
    }

    pub(super) fn on_search(&mut self, outcome: InputOutcome, cx: &PaneContext<'_>) -> Vec<Step> {
        let viewport = Self::viewport(cx);
        let (Some(search), Some(conversation)) = (&mut self.search, &mut self.conversation) else {
            // What is typed before the log is read is found once it is.
            if outcome == InputOutcome::Cancelled {
                self.search = None;
            }
            return Vec::new();
        };
        match outcome {
            InputOutcome::Cancelled => {
                conversation.mark(MarkedWords::default(), viewport);
                conversation.seek(search.origin, viewport);
                self.search = None;
            }
            InputOutcome::Accepted => {
                let is_found = conversation
                    .match_count()
                    .is_none_or(|(_, count)| count > 0);
                self.is_searched = is_found && !search.input.is_empty();
                self.search = None;
                if !is_found {
                    return say("Not in this conversation");
                }
            }
            InputOutcome::Changed => {
                let text = search.input.text().to_owned();
                let words = MarkedWords::new([text.as_str()]);
                if !search.marked.is_empty() && text.starts_with(&search.marked) {
                    conversation.mark_narrower(words, viewport);
                } else {
                    conversation.mark(words, viewport);
                }
                search.marked = text;
                if !conversation.first_match(search.origin, viewport) {
                    conversation.seek(search.origin, viewport);
                }
            }
            InputOutcome::Moved | InputOutcome::Unused => {}
        }
        Vec::new()
    }

    /// Goes to the next or previous place that has the words.
    pub(super) fn matching(&mut self, step: Move, cx: &PaneContext<'_>) -> Vec<Step> {
        let viewport = Self::viewport(cx);
        let found = self
            .conversation
            .as_mut()
            .is_some_and(|conversation| conversation.next_match(step, viewport));
        if found {
            Vec::new()
        } else {
            say("Not in this conversation")
        }
    }

    /// Takes the marks of a search away.
    pub(super) fn unmark(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        if let Some(conversation) = &mut self.conversation {
            conversation.mark(MarkedWords::default(), Self::viewport(cx));
        }
        Vec::new()
    }

    /// The number of the line under the cursor and of all: `3/17`, or of all alone while the cursor is
    /// at none; empty without words.
    pub(super) fn match_label(&self) -> String {
        let conversation = self.conversation.as_ref();
        match conversation.and_then(|conversation| conversation.match_count()) {
            Some((0, count)) if count > 0 => count.to_string(),
            Some((at, count)) => format!("{at}/{count}"),
            None => String::new(),
        }
    }
}
