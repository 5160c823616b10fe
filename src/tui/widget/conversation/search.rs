//! Searching in a conversation: a line of the log, or words.

use super::{Conversation, Layer, Viewport};
use crate::core::log::Message;
use crate::core::log::turn::{TurnItem, turns};
use crate::tui::widget::emphasis::MarkedWords;
use crate::tui::widget::list::Move;

impl Conversation {
    /// Goes to the record at `line` of the log, and marks these words there.
    pub fn go_to(&mut self, line: u64, words: MarkedWords, viewport: Viewport<'_>) {
        self.words = words;
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
    fn seek(&mut self, message: usize, viewport: Viewport<'_>) {
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
        }
        self.split_pieces();
        let found = self.pieces.iter().position(|piece| holds(&piece.item));
        self.selected = found.unwrap_or(0);
        if let Some(item @ TurnItem::Tool { .. }) = item
            && !self.is_open(item)
        {
            self.toggled.insert(item.message());
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

    /// Sets the words to mark.
    pub fn mark(&mut self, words: MarkedWords, viewport: Viewport<'_>) {
        self.words = words;
        self.laid.clear();
        self.lay_out(viewport);
    }

    /// Goes to the next or previous piece that has the marked words; returns whether there is one.
    pub fn next_match(&mut self, step: Move, viewport: Viewport<'_>) -> bool {
        let count = self.pieces.len();
        let has = |at: &usize| {
            let (first, second) = match self.pieces[*at].item {
                TurnItem::Tool { call, result } => (call, result),
                item => (Some(item.message()), None),
            };
            let matches = |at: Option<usize>| at.is_some_and(|at| self.words.all_in(self.text(at)));
            matches(first) || matches(second)
        };
        let from = self.selected;
        let found = match step {
            Move::Up => (1..=count).map(|n| (from + count - n) % count).find(has),
            _ => (1..=count).map(|n| (from + n) % count).find(has),
        };
        let Some(found) = found else { return false };
        let message = match self.pieces[found].item {
            TurnItem::Tool {
                call: Some(call),
                result: Some(result),
            } if !self.words.all_in(self.text(call)) => result,
            item => item.message(),
        };
        self.seek(message, viewport);
        true
    }
}
