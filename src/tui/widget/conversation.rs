//! A conversation: speakers and times, tool calls folded to one line, thinking and injected text
//! hidden until their layer is switched on.
//!
//! Only pieces near the screen are laid out, because a log can be very long. The scroll position
//! is a piece and a line of that piece, so the total number of lines is never computed.

mod matches;
mod piece;
mod scroll;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use jiff::tz::TimeZone;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::emphasis::MarkedWords;
use super::list::Move;
use super::markdown::RenderOptions;
use crate::core::log::turn::{Speaker, TurnItem, turns};
use crate::core::log::{Agent, Message, Transcript};
use crate::core::text::display::{format_size, safe};
use crate::tui::theme::Role;
use piece::Piece;

/// How many pieces above and below the screen stay laid out.
const NEAR: usize = 100;

/// The area that a conversation is laid out for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Viewport<'a> {
    /// Theme, syntaxes and width in columns.
    pub options: RenderOptions<'a>,
    /// Height in rows.
    pub height: usize,
}

/// A kind of content that can be shown or hidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layer {
    /// Tool inputs and results, in full.
    Tools,
    /// The model's reasoning.
    Thinking,
    /// Text that the agent's program injected.
    Injected,
}

/// Where a conversation was left, and what of it was shown. Messages are counted, not pieces, of
/// which a layer hides some.
#[derive(Debug)]
pub(crate) struct LeftPlace {
    layers: Vec<Layer>,
    toggled: HashSet<usize>,
    selected: usize,
    top: (usize, usize),
}

/// The agent of a conversation, and the time zone of displayed times.
#[derive(Debug, Clone)]
pub(crate) struct ConversationInfo {
    pub agent: Agent,
    pub zone: TimeZone,
}

/// A conversation with its cursor and scroll position.
#[derive(Debug)]
pub(crate) struct Conversation {
    info: ConversationInfo,
    transcript: Arc<Transcript>,
    pieces: Vec<Piece>,
    /// The number of turns of the user.
    turns: usize,
    layers: Vec<Layer>,
    /// Tool calls whose fold state differs from the `Tools` layer, by their first message.
    toggled: HashSet<usize>,
    words: MarkedWords,
    /// Whether only what was said is searched for them, as where they were found.
    says_only: bool,
    /// The line that Find showed of them.
    found: Option<MessageLine>,
    /// The lines that have the words, in order.
    matches: Vec<MatchPlace>,
    /// The line that was gone to last.
    current: Option<MatchPlace>,
    selected: usize,
    /// The first piece on the screen, and its first line there.
    top: (usize, usize),
    laid: BTreeMap<usize, LaidOutPiece>,
    /// What happened in it, shown above the first piece: a title, then bullets.
    summary: Vec<String>,
}

/// A line of the text of a message: the index of the message, and the line from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct MessageLine {
    message: usize,
    line: usize,
}

/// A line that has the words, ordered as it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct MatchPlace {
    /// The first message of its piece.
    piece: usize,
    at: MessageLine,
}

#[derive(Debug, Clone, Default)]
struct LaidOutPiece {
    lines: Vec<Line<'static>>,
    /// What each of them shows.
    source: Vec<MessageLine>,
    /// How many of them precede the piece itself: an empty line, and the day.
    above: usize,
}

impl Conversation {
    /// Creates a conversation with the cursor at its beginning.
    pub(crate) fn new(info: ConversationInfo, transcript: Arc<Transcript>) -> Self {
        let mut conversation = Self {
            info,
            transcript,
            pieces: Vec::new(),
            turns: 0,
            layers: Vec::new(),
            toggled: HashSet::new(),
            words: MarkedWords::default(),
            says_only: false,
            found: None,
            matches: Vec::new(),
            current: None,
            selected: 0,
            top: (0, 0),
            laid: BTreeMap::new(),
            summary: Vec::new(),
        };
        conversation.split_pieces();
        conversation
    }

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
        if !self.words.is_empty() {
            self.find_matches();
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

    /// Returns the text of a message with secrets masked and control characters removed.
    fn display_text(&self, at: usize) -> String {
        safe(self.text(at))
    }

    /// Returns the beginning of that text, at most 64 KiB, so that drawing stays fast.
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

    /// Shows a title and bullets above the first piece. What is on the screen stays there.
    pub(crate) fn set_summary(&mut self, summary: Vec<String>, viewport: Viewport<'_>) {
        if self.summary != summary {
            self.summary = summary;
            self.laid.remove(&0);
            self.lay_out(viewport);
        }
    }

    /// Whether there is nothing to show.
    pub(crate) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Replaces the transcript by a newer one; a cursor at the end stays at the end when it has grown.
    pub(crate) fn refresh(&mut self, transcript: Arc<Transcript>, viewport: Viewport<'_>) {
        let has_grown = transcript.messages.len() > self.transcript.messages.len();
        let is_last = has_grown && self.selected + 1 >= self.pieces.len();
        let left = self.place();
        self.transcript = transcript;
        self.return_to(left, viewport);
        if is_last {
            self.step(Move::Last, viewport);
        }
    }

    /// Returns where the cursor and the screen are.
    pub(crate) fn place(&self) -> LeftPlace {
        let message = |piece: usize| self.pieces.get(piece).map_or(0, |p| p.item.message());
        LeftPlace {
            layers: self.layers.clone(),
            toggled: self.toggled.clone(),
            selected: message(self.selected),
            top: (message(self.top.0), self.top.1),
        }
    }

    pub(crate) fn return_to(&mut self, left: LeftPlace, viewport: Viewport<'_>) {
        (self.layers, self.toggled) = (left.layers, left.toggled);
        self.split_pieces();
        self.selected = self.piece_of(left.selected);
        self.top = (self.piece_of(left.top.0), left.top.1);
        self.lay_out_selected(viewport);
    }

    /// Returns the piece of a message, or the one before it.
    fn piece_of(&self, message: usize) -> usize {
        let after = self.pieces.partition_point(|p| p.item.message() <= message);
        after.saturating_sub(1)
    }

    pub(crate) fn message(&self) -> Option<&Message> {
        let piece = self.pieces.get(self.selected)?;
        self.transcript.messages.get(piece.item.message())
    }

    /// Returns the text under the cursor, with tool results and without secrets.
    pub(crate) fn selected_text(&self) -> Option<String> {
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

    /// Returns the number of the user's turn at the cursor, and the number of such turns.
    pub(crate) fn turn(&self) -> (usize, usize) {
        let turn = self.pieces.get(self.selected).map_or(0, |piece| piece.turn);
        (turn, self.turns)
    }

    pub(crate) fn has(&self, layer: Layer) -> bool {
        self.layers.contains(&layer)
    }

    pub(crate) fn toggle(&mut self, layer: Layer, viewport: Viewport<'_>) {
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
            self.selected = self.piece_of(message);
        }
        // The selected piece stays at its row of the screen.
        let selected = self.selected;
        self.top = (selected, 0);
        self.scroll(-(row as isize), viewport);
        self.selected = selected;
    }

    /// Unfolds or folds the tool call under the cursor; returns whether there is one.
    pub(crate) fn fold(&mut self, viewport: Viewport<'_>) -> bool {
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

    /// Returns the number of lines of a piece, laying it out if necessary.
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

    /// Lays out the pieces on the screen, and drops those far from it.
    pub(crate) fn lay_out(&mut self, viewport: Viewport<'_>) {
        if self.pieces.is_empty() {
            return;
        }
        let height = self.height(self.top.0, viewport);
        self.top.1 = self.top.1.min(height.saturating_sub(1));
        let (first, last) = self.window(viewport);
        let near = first.saturating_sub(NEAR)..=last + NEAR;
        self.laid.retain(|piece, _| near.contains(piece));
    }

    /// Lays everything out again, for another size or theme.
    pub(crate) fn resize(&mut self, viewport: Viewport<'_>) {
        self.laid.clear();
        self.lay_out_selected(viewport);
    }

    fn lay_out_selected(&mut self, viewport: Viewport<'_>) {
        self.lay_out(viewport);
        // In a smaller window it may be below.
        if self.window(viewport).1 < self.selected {
            self.reveal(viewport);
        }
    }

    /// Draws the laid-out lines; `cursor` is the style of the mark beside the selected piece.
    pub(crate) fn view(
        &self,
        area: Rect,
        buffer: &mut Buffer,
        cursor: Option<ratatui::style::Style>,
    ) {
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

    /// Returns the label of a speaker, and its role in the theme.
    fn name(&self, speaker: Speaker) -> (&'static str, Role) {
        match speaker {
            Speaker::Person => ("you", Role::You),
            Speaker::Agent => (self.info.agent.short_name(), Role::Agent),
            Speaker::Program => ("program", Role::Muted),
            Speaker::OtherAgent => ("agent", Role::Agent),
        }
    }
}

#[cfg(test)]
mod tests;
