//! Finding in a conversation: a line of the log, or words.

use super::{Conversation, Layer, Room};
use crate::core::log::Message;
use crate::core::log::turn::{Item, turns};
use crate::tui::widget::emphasis::Words;
use crate::tui::widget::list::Step;

impl Conversation {
    /// Goes to the record at `line` of the log, and marks these words there.
    pub fn go_to(&mut self, line: u64, words: Words, room: Room<'_>) {
        self.words = words;
        let messages = &self.transcript.messages;
        let of_line = |message: &&Message| message.line == line;
        let best = messages.iter().filter(of_line);
        let best = best
            .clone()
            .find(|message| self.words.are_in(&message.text))
            .or_else(|| messages.iter().find(of_line));
        let Some(best) = best else {
            return self.lay_out(room);
        };
        let at = messages
            .iter()
            .position(|message| std::ptr::eq(message, best));
        self.seek(at.unwrap_or(0), room);
    }

    /// Selects the piece with a message, showing it if it is hidden.
    fn seek(&mut self, message: usize, room: Room<'_>) {
        let all = turns(&self.transcript.messages);
        let holds = |item: &Item| match *item {
            Item::Tool { call, result } => call == Some(message) || result == Some(message),
            item => item.message() == message,
        };
        let item = all
            .iter()
            .flat_map(|turn| &turn.items)
            .copied()
            .find(|i| holds(i));
        let layer = match item {
            Some(Item::Thinking(_)) => Some(Layer::Thinking),
            Some(Item::Injected(_)) => Some(Layer::Injected),
            _ => None,
        };
        if let Some(layer) = layer.filter(|layer| !self.has(*layer)) {
            self.layers.push(layer);
        }
        self.cut();
        let found = self.pieces.iter().position(|piece| holds(&piece.item));
        self.selected = found.unwrap_or(0);
        if let Some(item @ Item::Tool { .. }) = item
            && !self.is_open(item)
        {
            self.turned.insert(item.message());
        }
        // A little of what came before gives the match its sense.
        self.top = (self.selected, 0);
        self.lay_out(room);
        let word = self.first_word(room);
        self.top = (self.selected, word);
        self.scroll(-((room.height / 3) as isize), room);
    }

    /// The line of the selected piece that has one of the words.
    fn first_word(&mut self, room: Room<'_>) -> usize {
        self.height(self.selected, room);
        let laid = self.laid.get(&self.selected);
        laid.and_then(|laid| laid.lines.iter().position(|line| self.words.touch(line)))
            .unwrap_or(0)
    }

    /// Marks these words from now on.
    pub fn mark(&mut self, words: Words, room: Room<'_>) {
        self.words = words;
        self.laid.clear();
        self.lay_out(room);
    }

    /// Goes to the next piece that has the marked words, or to the one before; answers whether
    /// there is one.
    pub fn next_match(&mut self, way: Step, room: Room<'_>) -> bool {
        let count = self.pieces.len();
        let has = |at: &usize| {
            let (first, second) = match self.pieces[*at].item {
                Item::Tool { call, result } => (call, result),
                item => (Some(item.message()), None),
            };
            let said = |at: Option<usize>| at.is_some_and(|at| self.words.are_in(self.text(at)));
            said(first) || said(second)
        };
        let from = self.selected;
        let found = match way {
            Step::Up => (1..=count).map(|n| (from + count - n) % count).find(has),
            _ => (1..=count).map(|n| (from + n) % count).find(has),
        };
        let Some(found) = found else { return false };
        let message = match self.pieces[found].item {
            Item::Tool {
                call: Some(call),
                result: Some(result),
            } if !self.words.are_in(self.text(call)) => result,
            item => item.message(),
        };
        self.seek(message, room);
        true
    }
}
