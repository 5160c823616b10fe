//! Searching in a conversation: a line of the log, or words.

use super::{Conversation, Layer, Viewport};
use crate::core::log::Message;
use crate::core::log::turn::{TurnItem, turns};
use crate::tui::widget::emphasis::MarkedWords;

impl Conversation {
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
