//! A conversation as it reads: who spoke and when, tool calls folded to a line, thoughts and
//! injected text out of sight until they are asked for.
//!
//! Only what is near the screen is laid out, since a log may be longer than a book. The place in
//! it is a piece and a line of that piece; how long all of it is, nobody has to know.

mod piece;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use jiff::tz::TimeZone;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::emphasis::Words;
use super::list::Step;
use super::markdown::Look;
use crate::core::log::turn::{Item, Speaker, turns};
use crate::core::log::{Agent, Message, Transcript, clean, mask};
use crate::tui::theme::Role;
use piece::Piece;

/// How far from the screen laid out lines are kept.
const NEAR: usize = 100;

/// Where a conversation is drawn.
#[derive(Debug, Clone, Copy)]
pub struct Room<'a> {
    /// The looks, and how wide.
    pub look: Look<'a>,
    /// How high.
    pub height: usize,
}

/// What can be shown or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    /// What tools were given and gave back, in full.
    Tools,
    /// The model's reasoning.
    Thinking,
    /// What the program put into the conversation.
    Injected,
}

/// Whose conversation, and in which time zone it is told.
#[derive(Debug, Clone)]
pub struct Telling {
    /// The agent.
    pub agent: Agent,
    /// Where the person is.
    pub zone: TimeZone,
}

/// A conversation and the place in it.
#[derive(Debug)]
pub struct Conversation {
    telling: Telling,
    transcript: Arc<Transcript>,
    pieces: Vec<Piece>,
    /// How often a person spoke.
    turns: usize,
    layers: Vec<Layer>,
    /// Tool calls that were unfolded or folded against the rule, by their first message.
    turned: HashSet<usize>,
    words: Words,
    selected: usize,
    /// The first piece on the screen, and its first line there.
    top: (usize, usize),
    laid: BTreeMap<usize, Laid>,
}

/// The lines of a piece.
#[derive(Debug, Clone, Default)]
struct Laid {
    lines: Vec<Line<'static>>,
    /// How many of them stand above it: air, and the day.
    above: usize,
}

impl Conversation {
    /// A conversation, seen from its beginning.
    pub fn new(telling: Telling, transcript: Arc<Transcript>) -> Self {
        let mut conversation = Self {
            telling,
            transcript,
            pieces: Vec::new(),
            turns: 0,
            layers: Vec::new(),
            turned: HashSet::new(),
            words: Words::default(),
            selected: 0,
            top: (0, 0),
            laid: BTreeMap::new(),
        };
        conversation.cut();
        conversation
    }

    /// Cuts the conversation into the pieces that are shown.
    fn cut(&mut self) {
        let all = turns(&self.transcript.messages);
        self.pieces.clear();
        self.turns = 0;
        let mut day = None;
        for turn in all {
            let mut starts = true;
            for item in turn.items {
                if !self.shows(item) {
                    continue;
                }
                let message = &self.transcript.messages[item.message()];
                let at = message.time.or(turn.time).and_then(|ms| {
                    let time = jiff::Timestamp::from_millisecond(ms).ok()?;
                    Some(time.to_zoned(self.telling.zone.clone()))
                });
                let date = at.as_ref().map(jiff::Zoned::date);
                let new_day = starts && date.is_some() && date != day;
                if new_day {
                    day = date;
                }
                self.turns += usize::from(starts && turn.speaker == Speaker::Person);
                self.pieces.push(Piece {
                    item,
                    speaker: turn.speaker,
                    time: at,
                    starts,
                    turn: self.turns,
                    new_day,
                });
                starts = false;
            }
        }
        self.laid.clear();
        self.selected = self.selected.min(self.pieces.len().saturating_sub(1));
        self.top.0 = self.top.0.min(self.selected);
    }

    fn shows(&self, item: Item) -> bool {
        match item {
            Item::Thinking(at) => {
                self.layers.contains(&Layer::Thinking) && !self.text(at).trim().is_empty()
            }
            Item::Injected(_) => self.layers.contains(&Layer::Injected),
            Item::Text(at) | Item::Notice(at) => !self.text(at).trim().is_empty(),
            Item::Tool { .. } => true,
        }
    }

    fn text(&self, at: usize) -> &str {
        self.transcript
            .messages
            .get(at)
            .map_or("", |message| message.text.as_str())
    }

    /// Whether there is nothing to see.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Takes what was said since; whoever was at the end stays there.
    pub fn refresh(&mut self, transcript: Arc<Transcript>, room: Room<'_>) {
        let message = self.pieces.get(self.selected).map(|p| p.item.message());
        let is_last = self.selected + 1 >= self.pieces.len();
        let top = self.pieces.get(self.top.0).map(|p| p.item.message());
        self.transcript = transcript;
        self.cut();
        let place = |of: Option<usize>| {
            of.map_or(0, |of| {
                let after = self.pieces.partition_point(|p| p.item.message() <= of);
                after.saturating_sub(1)
            })
        };
        let (selected, top) = (place(message), place(top));
        self.top = (top, self.top.1);
        self.selected = selected;
        if is_last {
            self.step(Step::Last, room);
        } else {
            self.lay_out(room);
        }
    }

    /// The message under the cursor.
    pub fn message(&self) -> Option<&Message> {
        let piece = self.pieces.get(self.selected)?;
        self.transcript.messages.get(piece.item.message())
    }

    /// What is under the cursor, as text: what tools gave back included, secrets not.
    pub fn selected_text(&self) -> Option<String> {
        let piece = self.pieces.get(self.selected)?;
        let told = |at: usize| mask(&clean(self.text(at)));
        Some(match piece.item {
            Item::Tool {
                call: Some(call),
                result: Some(result),
            } => format!("{}\n\n{}", told(call), told(result)),
            item => told(item.message()),
        })
    }

    /// How often a person had spoken at the cursor, and in all.
    pub fn turn(&self) -> (usize, usize) {
        let turn = self.pieces.get(self.selected).map_or(0, |piece| piece.turn);
        (turn, self.turns)
    }

    /// Whether a layer is shown.
    pub fn has(&self, layer: Layer) -> bool {
        self.layers.contains(&layer)
    }

    /// Shows or hides a layer.
    pub fn toggle(&mut self, layer: Layer, room: Room<'_>) {
        match self.layers.iter().position(|shown| *shown == layer) {
            Some(at) => drop(self.layers.remove(at)),
            None => self.layers.push(layer),
        }
        if layer == Layer::Tools {
            self.turned.clear();
        }
        let message = self.pieces.get(self.selected).map(|p| p.item.message());
        let row = self.row(room);
        self.cut();
        if let Some(message) = message {
            let after = self.pieces.partition_point(|p| p.item.message() <= message);
            self.selected = after.saturating_sub(1);
        }
        // What one looks at stays where it is on the screen.
        let selected = self.selected;
        self.top = (selected, 0);
        self.scroll(-(row as isize), room);
        self.selected = selected;
    }

    /// Unfolds or folds the tool call under the cursor; answers whether there is one.
    pub fn fold(&mut self, room: Room<'_>) -> bool {
        let Some(piece) = self.pieces.get(self.selected) else {
            return false;
        };
        let is_tool = matches!(piece.item, Item::Tool { .. });
        if is_tool {
            let message = piece.item.message();
            if !self.turned.remove(&message) {
                self.turned.insert(message);
            }
            self.laid.remove(&self.selected);
            self.lay_out(room);
        }
        is_tool
    }

    fn is_open(&self, item: Item) -> bool {
        self.has(Layer::Tools) != self.turned.contains(&item.message())
    }

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

    /// Moves the cursor.
    pub fn step(&mut self, step: Step, room: Room<'_>) {
        let last = self.pieces.len().saturating_sub(1);
        let half = (room.height / 2).max(1) as isize;
        let page = room.height.saturating_sub(2).max(1) as isize;
        match step {
            Step::Down if self.reaches_below(room) => self.scroll(1, room),
            Step::Up if self.reaches_above() => self.scroll(-1, room),
            Step::Down => {
                self.selected = (self.selected + 1).min(last);
                self.reveal(room);
            }
            Step::Up => {
                self.selected = self.selected.saturating_sub(1);
                self.reveal_end(room);
            }
            Step::HalfDown => self.scroll(half, room),
            Step::HalfUp => self.scroll(-half, room),
            Step::PageDown => self.scroll(page, room),
            Step::PageUp => self.scroll(-page, room),
            Step::First => {
                self.selected = 0;
                self.top = (0, 0);
                self.lay_out(room);
            }
            Step::Last => {
                self.selected = last;
                self.top = self.with_end_of(last, room);
                self.lay_out(room);
            }
        }
    }

    /// Goes to the next turn, or to the one before.
    pub fn step_turn(&mut self, step: Step, room: Room<'_>) {
        let starts = |at: &usize| self.pieces[*at].starts;
        let found = match step {
            Step::Up => (0..self.selected).rev().find(starts),
            _ => (self.selected + 1..self.pieces.len()).find(starts),
        };
        if let Some(found) = found {
            self.selected = found;
            self.top = (found, 0).min(self.last_top(room));
            self.lay_out(room);
        }
    }

    /// Scrolls by lines; the cursor stays on the screen.
    pub fn scroll(&mut self, rows: isize, room: Room<'_>) {
        let (mut piece, line) = self.top;
        let mut line = line as isize + rows;
        while line < 0 && piece > 0 {
            piece -= 1;
            line += self.height(piece, room) as isize;
        }
        let mut line = line.max(0) as usize;
        while piece + 1 < self.pieces.len() && line >= self.height(piece, room) {
            line -= self.height(piece, room);
            piece += 1;
        }
        self.top = (piece, line).min(self.last_top(room));
        self.lay_out(room);
        let (first, last) = self.window(room);
        self.selected = self.selected.clamp(first, last);
    }

    /// Selects what is at a line of the screen.
    pub fn click(&mut self, row: usize, room: Room<'_>) {
        let mut left = row + self.top.1;
        let mut piece = self.top.0;
        while piece < self.pieces.len() {
            let height = self.height(piece, room);
            if left < height {
                self.selected = piece;
                return;
            }
            left -= height;
            piece += 1;
        }
    }

    /// The line of the screen at which the selected piece begins.
    fn row(&mut self, room: Room<'_>) -> usize {
        let above = self.top.0..self.selected;
        let rows: usize = above.map(|piece| self.height(piece, room)).sum();
        rows.saturating_sub(self.top.1).min(room.height)
    }

    /// Whether the selected piece goes on below the screen.
    fn reaches_below(&mut self, room: Room<'_>) -> bool {
        let mut rows = 0;
        for piece in self.top.0..=self.selected.min(self.top.0 + room.height) {
            rows += self.height(piece, room);
        }
        rows.saturating_sub(self.top.1) > room.height && self.top.0 <= self.selected
    }

    /// Whether the selected piece begins above the screen.
    fn reaches_above(&self) -> bool {
        self.top.0 == self.selected && self.top.1 > 0
    }

    /// Shows the selected piece: all of it if there is room, else how it begins.
    fn reveal(&mut self, room: Room<'_>) {
        let start = (self.selected, 0);
        let end = self.with_end_of(self.selected, room);
        if self.top > start {
            self.top = start;
        } else if self.top < end {
            self.top = end.min(start);
        }
        self.lay_out(room);
    }

    /// Shows the selected piece: all of it if there is room, else how it ends.
    fn reveal_end(&mut self, room: Room<'_>) {
        let start = (self.selected, 0);
        let end = self.with_end_of(self.selected, room);
        if self.top > start {
            self.top = start.max(end);
        } else if self.top < end {
            self.top = end;
        }
        self.lay_out(room);
    }

    /// The top at which the last line of a piece is the last of the screen.
    fn with_end_of(&mut self, piece: usize, room: Room<'_>) -> (usize, usize) {
        let mut at = piece;
        let mut rows = self.height(at, room);
        while rows < room.height && at > 0 {
            at -= 1;
            rows += self.height(at, room);
        }
        (at, rows.saturating_sub(room.height))
    }

    /// The furthest that can be scrolled.
    fn last_top(&mut self, room: Room<'_>) -> (usize, usize) {
        let last = self.pieces.len().saturating_sub(1);
        self.with_end_of(last, room)
    }

    /// The first and the last piece of which something is on the screen.
    fn window(&mut self, room: Room<'_>) -> (usize, usize) {
        let mut last = self.top.0;
        let mut rows = self.height(last, room).saturating_sub(self.top.1);
        while rows < room.height && last + 1 < self.pieces.len() {
            last += 1;
            rows += self.height(last, room);
        }
        (self.top.0, last)
    }

    /// How many lines a piece has; lays it out if need be.
    fn height(&mut self, piece: usize, room: Room<'_>) -> usize {
        if let Some(lines) = self.laid.get(&piece) {
            return lines.lines.len();
        }
        let Some(which) = self.pieces.get(piece) else {
            return 0;
        };
        let laid = self.lay(which, piece, room.look);
        let height = laid.lines.len();
        self.laid.insert(piece, laid);
        height
    }

    /// Lays out what is on the screen, and forgets what is far from it.
    pub fn lay_out(&mut self, room: Room<'_>) {
        if self.pieces.is_empty() {
            return;
        }
        let height = self.height(self.top.0, room);
        self.top.1 = self.top.1.min(height.saturating_sub(1));
        let (first, last) = self.window(room);
        let near = first.saturating_sub(NEAR)..=last + NEAR;
        self.laid.retain(|piece, _| near.contains(piece));
    }

    /// Lays everything out anew, for another width or other looks.
    pub fn resize(&mut self, room: Room<'_>) {
        self.laid.clear();
        self.lay_out(room);
    }

    /// Draws what was laid out; `cursor` is how the selected piece is pointed at.
    pub fn view(&self, area: Rect, buffer: &mut Buffer, cursor: Option<ratatui::style::Style>) {
        let (mut piece, mut line) = self.top;
        let mut y = area.top();
        while y < area.bottom() && piece < self.pieces.len() {
            let Some(laid) = self.laid.get(&piece) else {
                break;
            };
            for (number, drawn) in laid.lines.iter().enumerate().skip(line) {
                if y >= area.bottom() {
                    break;
                }
                buffer.set_line(area.x, y, drawn, area.width);
                let is_here = piece == self.selected && number >= laid.above;
                if let Some(style) = cursor.filter(|_| is_here) {
                    buffer.set_string(area.x, y, "▌", style);
                }
                y += 1;
            }
            piece += 1;
            line = 0;
        }
    }

    /// Who spoke, in a word.
    fn name(&self, speaker: Speaker) -> (&'static str, Role) {
        match speaker {
            Speaker::Person => ("you", Role::You),
            Speaker::Agent => {
                let name = self.telling.agent.name();
                (name.split('-').next().unwrap_or(name), Role::Agent)
            }
            Speaker::Program => ("program", Role::Muted),
        }
    }
}

#[cfg(test)]
mod tests;
