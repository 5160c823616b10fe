//! Searching in a conversation: a line of the log, the places that have the marked words, their
//! number, and the way between them.

use super::{Conversation, Layer, Viewport};
use crate::core::log::Message;
use crate::core::log::turn::{TurnItem, turns};
use crate::tui::widget::emphasis::MarkedWords;
use crate::tui::widget::list::Move;

impl Conversation {
    /// Sets the words to mark. If they can only be where the last ones were, only those places
    /// are looked at.
    pub fn mark(&mut self, words: MarkedWords, narrows: bool, viewport: Viewport<'_>) {
        self.words = words;
        let places = if narrows {
            std::mem::take(&mut self.matches)
        } else {
            self.pieces.iter().map(|piece| piece.item).collect()
        };
        self.matches = places
            .into_iter()
            .filter(|item| self.has_words(*item))
            .collect();
        self.laid.clear();
        self.lay_out(viewport);
    }

    /// Looks for the words again, after the pieces have changed.
    pub(super) fn find_matches(&mut self) {
        let items = self.pieces.iter().map(|piece| piece.item);
        self.matches = items.filter(|item| self.has_words(*item)).collect();
    }

    fn has_words(&self, item: TurnItem) -> bool {
        let (first, second) = match item {
            TurnItem::Tool { call, result } => (call, result),
            item => (Some(item.message()), None),
        };
        let matches = |at: Option<usize>| at.is_some_and(|at| self.words.all_in(self.text(at)));
        matches(first) || matches(second)
    }

    /// Returns the number of the place under the cursor, 0 if it is none, and the number of
    /// places; `None` if no words are marked.
    pub fn match_count(&self) -> Option<(usize, usize)> {
        if self.words.is_empty() {
            return None;
        }
        let here = self.pieces.get(self.selected).map(|piece| piece.item);
        let at = self.matches.iter().position(|item| Some(*item) == here);
        Some((at.map_or(0, |at| at + 1), self.matches.len()))
    }

    /// Goes to the next or previous place that has the words; returns whether there is one.
    pub fn next_match(&mut self, step: Move, viewport: Viewport<'_>) -> bool {
        let here = self.selected_message();
        let count = self.matches.len();
        let found = match step {
            Move::Up => {
                let before = self.matches.partition_point(|item| item.message() < here);
                (before + count).checked_sub(1)
            }
            _ => Some(self.matches.partition_point(|item| item.message() <= here)),
        };
        let found = found.and_then(|at| self.matches.get(at.checked_rem(count)?).copied());
        self.go_to_match(found, viewport)
    }

    /// Goes to the first place that has the words, from a message on; returns whether there is one.
    pub fn first_match(&mut self, from: usize, viewport: Viewport<'_>) -> bool {
        let at = self.matches.partition_point(|item| item.message() < from);
        let found = self.matches.get(at).or(self.matches.first()).copied();
        self.go_to_match(found, viewport)
    }

    /// The index of the message under the cursor.
    pub fn selected_message(&self) -> usize {
        let piece = self.pieces.get(self.selected);
        piece.map_or(0, |piece| piece.item.message())
    }

    fn go_to_match(&mut self, found: Option<TurnItem>, viewport: Viewport<'_>) -> bool {
        let message = match found {
            None => return false,
            Some(TurnItem::Tool {
                call: Some(call),
                result: Some(result),
            }) if !self.words.all_in(self.text(call)) => result,
            Some(item) => item.message(),
        };
        self.seek(message, viewport);
        true
    }

    /// Returns the input and the result of the tool call under the cursor.
    pub fn selected_call(&self) -> Option<(&str, &str)> {
        match self.pieces.get(self.selected)?.item {
            TurnItem::Tool { call, result } => {
                let text = |at: Option<usize>| at.map_or("", |at| self.text(at));
                Some((text(call), text(result)))
            }
            _ => None,
        }
    }

    /// Goes to the record at `line` of the log, and marks these words there.
    pub fn go_to(&mut self, line: u64, words: MarkedWords, viewport: Viewport<'_>) {
        self.words = words;
        self.find_matches();
        let messages = &self.transcript.messages;
        let of_line = |message: &&Message| message.line == line;
        let best = messages.iter().filter(of_line);
        let best = best
            .clone()
            .find(|message| self.words.all_in(&message.text))
            .or_else(|| messages.iter().find(of_line));
        let Some(best) = best else {
            return self.lay_out(viewport);
        };
        let at = messages
            .iter()
            .position(|message| std::ptr::eq(message, best));
        self.seek(at.unwrap_or(0), viewport);
    }

    /// Selects the piece with a message, showing it if it is hidden.
    pub fn seek(&mut self, message: usize, viewport: Viewport<'_>) {
        let all = turns(&self.transcript.messages);
        let holds = |item: &TurnItem| match *item {
            TurnItem::Tool { call, result } => call == Some(message) || result == Some(message),
            item => item.message() == message,
        };
        let item = all
            .iter()
            .flat_map(|turn| &turn.items)
            .copied()
            .find(|i| holds(i));
        let layer = match item {
            Some(TurnItem::Thinking(_)) => Some(Layer::Thinking),
            Some(TurnItem::Injected(_)) => Some(Layer::Injected),
            _ => None,
        };
        if let Some(layer) = layer.filter(|layer| !self.has(*layer)) {
            self.layers.push(layer);
            self.split_pieces();
        }
        let found = self.pieces.iter().position(|piece| holds(&piece.item));
        self.selected = found.unwrap_or(0);
        if let Some(item @ TurnItem::Tool { .. }) = item
            && !self.is_open(item)
        {
            self.toggled.insert(item.message());
            self.laid.remove(&self.selected);
        }
        // The first third of the screen shows the context before the match.
        self.top = (self.selected, 0);
        self.lay_out(viewport);
        let line = self.match_line(viewport);
        let selected = self.selected;
        self.top = (selected, line);
        self.scroll(-((viewport.height / 3) as isize), viewport);
        self.selected = selected;
    }

    /// Returns the line of the selected piece with the match.
    fn match_line(&mut self, viewport: Viewport<'_>) -> usize {
        self.height(self.selected, viewport);
        let laid = self.laid.get(&self.selected);
        laid.and_then(|laid| self.words.best_line(&laid.lines))
            .unwrap_or(0)
    }
}
