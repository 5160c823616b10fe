//! A conversation as it reads: who spoke and when, tool calls folded to a line, thoughts and
//! injected text out of sight until they are asked for.
//!
//! Only what is near the screen is laid out, since a log may be longer than a book. The place in
//! it is a piece and a line of that piece; how long all of it is, nobody has to know.

mod piece;
mod scroll;
mod search;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use jiff::tz::TimeZone;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::emphasis::MarkedWords;
use super::list::Move;
use super::markdown::RenderOptions;
use crate::core::display::format_size;
use crate::core::display::safe;
use crate::core::log::turn::{Speaker, TurnItem, turns};
use crate::core::log::{Agent, Message, Transcript};
use crate::tui::theme::Role;
use piece::Piece;

/// How far from the screen laid out lines are kept.
const NEAR: usize = 100;

/// Where a conversation is drawn.
#[derive(Debug, Clone, Copy)]
pub struct Viewport<'a> {
    /// The looks, and how wide.
    pub options: RenderOptions<'a>,
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
pub struct ConversationInfo {
    /// The agent.
    pub agent: Agent,
    /// Where the person is.
    pub zone: TimeZone,
}

/// A conversation and the place in it.
#[derive(Debug)]
pub struct Conversation {
    info: ConversationInfo,
    transcript: Arc<Transcript>,
    pieces: Vec<Piece>,
    /// How often a person spoke.
    turns: usize,
    layers: Vec<Layer>,
    /// Tool calls that were unfolded or folded against the rule, by their first message.
    toggled: HashSet<usize>,
    words: MarkedWords,
    selected: usize,
    /// The first piece on the screen, and its first line there.
    top: (usize, usize),
    laid: BTreeMap<usize, LaidOutPiece>,
}

/// The lines of a piece.
#[derive(Debug, Clone, Default)]
struct LaidOutPiece {
    lines: Vec<Line<'static>>,
    /// How many of them stand above it: air, and the day.
    above: usize,
}

impl Conversation {
    /// A conversation, seen from its beginning.
    pub fn new(info: ConversationInfo, transcript: Arc<Transcript>) -> Self {
        let mut conversation = Self {
            info,
            transcript,
            pieces: Vec::new(),
            turns: 0,
            layers: Vec::new(),
            toggled: HashSet::new(),
            words: MarkedWords::default(),
            selected: 0,
            top: (0, 0),
            laid: BTreeMap::new(),
        };
        conversation.split_pieces();
        conversation
    }

    /// Cuts the conversation into the pieces that are shown.
    fn split_pieces(&mut self) {
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
                    Some(time.to_zoned(self.info.zone.clone()))
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

    fn shows(&self, item: TurnItem) -> bool {
        match item {
            TurnItem::Thinking(at) => {
                self.layers.contains(&Layer::Thinking) && !self.text(at).trim().is_empty()
            }
            TurnItem::Injected(_) => self.layers.contains(&Layer::Injected),
            TurnItem::Text(at) | TurnItem::Notice(at) => !self.text(at).trim().is_empty(),
            TurnItem::Tool { .. } => true,
        }
    }

    fn text(&self, at: usize) -> &str {
        self.transcript
            .messages
            .get(at)
            .map_or("", |message| message.text.as_str())
    }

    /// The text of a message, fit to be shown: without secrets, and nothing in it that acts.
    fn display_text(&self, at: usize) -> String {
        safe(self.text(at))
    }

    /// As much of it as anybody reads on a screen: more would keep the screen waiting.
    fn display_beginning(&self, at: usize) -> String {
        const MOST: usize = 64 * 1024;
        let text = self.text(at);
        if text.len() <= MOST {
            return self.display_text(at);
        }
        let mut end = MOST;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let left = format_size((text.len() - end) as u64);
        format!("{}\n\n… {left} more", safe(&text[..end]))
    }

    /// Whether there is nothing to see.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Takes what was said since; whoever was at the end stays there.
    pub fn refresh(&mut self, transcript: Arc<Transcript>, viewport: Viewport<'_>) {
        let message = self.pieces.get(self.selected).map(|p| p.item.message());
        let is_last = self.selected + 1 >= self.pieces.len();
        let top = self.pieces.get(self.top.0).map(|p| p.item.message());
        self.transcript = transcript;
        self.split_pieces();
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
            self.step(Move::Last, viewport);
        } else {
            self.lay_out(viewport);
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
        let text_of = |at: usize| self.display_text(at);
        Some(match piece.item {
            TurnItem::Tool {
                call: Some(call),
                result: Some(result),
            } => format!("{}\n\n{}", text_of(call), text_of(result)),
            item => text_of(item.message()),
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
    pub fn toggle(&mut self, layer: Layer, viewport: Viewport<'_>) {
        match self.layers.iter().position(|shown| *shown == layer) {
            Some(at) => drop(self.layers.remove(at)),
            None => self.layers.push(layer),
        }
        if layer == Layer::Tools {
            self.toggled.clear();
        }
        let message = self.pieces.get(self.selected).map(|p| p.item.message());
        let row = self.row(viewport);
        self.split_pieces();
        if let Some(message) = message {
            let after = self.pieces.partition_point(|p| p.item.message() <= message);
            self.selected = after.saturating_sub(1);
        }
        // What one looks at stays where it is on the screen.
        let selected = self.selected;
        self.top = (selected, 0);
        self.scroll(-(row as isize), viewport);
        self.selected = selected;
    }

    /// Unfolds or folds the tool call under the cursor; answers whether there is one.
    pub fn fold(&mut self, viewport: Viewport<'_>) -> bool {
        let Some(piece) = self.pieces.get(self.selected) else {
            return false;
        };
        let is_tool = matches!(piece.item, TurnItem::Tool { .. });
        if is_tool {
            let message = piece.item.message();
            if !self.toggled.remove(&message) {
                self.toggled.insert(message);
            }
            self.laid.remove(&self.selected);
            self.lay_out(viewport);
        }
        is_tool
    }

    fn is_open(&self, item: TurnItem) -> bool {
        self.has(Layer::Tools) != self.toggled.contains(&item.message())
    }

    /// How many lines a piece has; lays it out if need be.
    fn height(&mut self, piece: usize, viewport: Viewport<'_>) -> usize {
        if let Some(lines) = self.laid.get(&piece) {
            return lines.lines.len();
        }
        let Some(which) = self.pieces.get(piece) else {
            return 0;
        };
        let laid = self.lay_out_piece(which, piece, viewport.options);
        let height = laid.lines.len();
        self.laid.insert(piece, laid);
        height
    }

    /// Lays out what is on the screen, and forgets what is far from it.
    pub fn lay_out(&mut self, viewport: Viewport<'_>) {
        if self.pieces.is_empty() {
            return;
        }
        let height = self.height(self.top.0, viewport);
        self.top.1 = self.top.1.min(height.saturating_sub(1));
        let (first, last) = self.window(viewport);
        let near = first.saturating_sub(NEAR)..=last + NEAR;
        self.laid.retain(|piece, _| near.contains(piece));
    }

    /// Lays everything out anew, for another width or other looks.
    pub fn resize(&mut self, viewport: Viewport<'_>) {
        self.laid.clear();
        self.lay_out(viewport);
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
            Speaker::Agent => (self.info.agent.short_name(), Role::Agent),
            Speaker::Program => ("program", Role::Muted),
        }
    }
}

#[cfg(test)]
mod tests;
