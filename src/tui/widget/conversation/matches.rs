//! Searching in a conversation: finds and counts the lines with the marked words, moves between them,
//! and goes to a line of the log.

use ratatui::text::Line;

use super::{Conversation, Layer, MatchPlace, MessageLine, Viewport};
use crate::core::log::MessageKind;
use crate::core::log::turn::{TurnItem, turns};
use crate::tui::widget::emphasis::MarkedWords;
use crate::tui::widget::list::Move;

impl Conversation {
    pub(crate) fn mark(&mut self, words: MarkedWords, viewport: Viewport<'_>) {
        self.words = words;
        self.found = None;
        self.says_only = false;
        self.find_matches();
        self.show_marks(viewport);
    }

    /// Sets the words to mark, which can only be in messages that have the present ones: no others
    /// are searched.
    pub(crate) fn mark_narrower(&mut self, words: MarkedWords, viewport: Viewport<'_>) {
        self.words = words;
        let places = self.matches.iter();
        let mut messages: Vec<(usize, usize)> = places
            .map(|place| (place.piece, place.at.message))
            .collect();
        messages.dedup();
        self.matches = self.places_in(messages);
        self.show_marks(viewport);
    }

    fn show_marks(&mut self, viewport: Viewport<'_>) {
        self.current = None;
        self.laid.clear();
        self.lay_out(viewport);
    }

    /// Looks for the words again, after the pieces have changed.
    pub(super) fn find_matches(&mut self) {
        let items: Vec<TurnItem> = if self.says_only {
            // Hidden ones, too, as Find does; going there shows them.
            let all = turns(&self.transcript.messages).into_iter();
            let said = all.flat_map(|turn| turn.items);
            said.filter(|item| !matches!(item, TurnItem::Tool { .. }))
                .collect()
        } else {
            self.pieces.iter().map(|piece| piece.item).collect()
        };
        let messages = items.into_iter().flat_map(|item| {
            let (first, second) = match item {
                TurnItem::Tool { call, result } => (call, result),
                item => (Some(item.message()), None),
            };
            let both = first.into_iter().chain(second);
            both.map(move |message| (item.message(), message))
        });
        self.matches = self.places_in(messages);
    }

    /// Returns the lines with the words in some messages; each message comes after the first one of its
    /// piece.
    fn places_in(&self, messages: impl IntoIterator<Item = (usize, usize)>) -> Vec<MatchPlace> {
        let mut places = Vec::new();
        for (piece, message) in messages {
            let mut lines = self.words.lines_in(self.text(message));
            // Where they stand on different lines only, the one that Find showed is the place.
            if let Some(found) = self.found.filter(|found| found.message == message)
                && let [only] = lines.as_mut_slice()
                && !self.words.all_in(self.line(MessageLine {
                    message,
                    line: *only,
                }))
            {
                *only = found.line;
            }
            places.extend(lines.into_iter().map(|line| MatchPlace {
                piece,
                at: MessageLine { message, line },
            }));
        }
        places
    }

    fn line(&self, at: MessageLine) -> &str {
        self.text(at.message)
            .lines()
            .nth(at.line)
            .unwrap_or_default()
    }

    /// The line that was gone to, if the cursor is still there.
    fn here(&self) -> Option<MatchPlace> {
        let piece = self.selected_message();
        self.current.filter(|place| place.piece == piece)
    }

    /// Returns the number of the line with the words that was gone to, or else of the first one of
    /// the piece under the cursor, 0 if there is none, and how many there are; `None` if no words
    /// are marked.
    pub(crate) fn match_count(&self) -> Option<(usize, usize)> {
        if self.words.is_empty() {
            return None;
        }
        let piece = self.selected_message();
        let number = match self.here() {
            Some(here) => self.matches.partition_point(|place| *place <= here),
            None => {
                let first = self.matches.iter().position(|place| place.piece == piece);
                first.map_or(0, |at| at + 1)
            }
        };
        Some((number, self.matches.len()))
    }

    /// Goes to the next or previous line that has the words; returns whether there is one.
    pub(crate) fn next_match(&mut self, step: Move, viewport: Viewport<'_>) -> bool {
        let piece = self.selected_message();
        let count = self.matches.len();
        let before = match self.here() {
            Some(here) => self.matches.partition_point(|place| *place < here),
            None => self.matches.partition_point(|place| place.piece < piece),
        };
        let is_there = self.here().is_some() && self.matches.get(before).copied() == self.here();
        let found = match step {
            Move::Up => (before + count).checked_sub(1),
            _ => Some(before + usize::from(is_there)),
        };
        let found = found.and_then(|at| self.matches.get(at.checked_rem(count)?).copied());
        self.go_to_match(found, viewport)
    }

    /// Goes to the first line that has the words, from a message on; returns whether there is one.
    pub(crate) fn first_match(&mut self, from: usize, viewport: Viewport<'_>) -> bool {
        let at = self.matches.partition_point(|place| place.piece < from);
        let found = self.matches.get(at).or(self.matches.first()).copied();
        self.go_to_match(found, viewport)
    }

    pub(crate) fn selected_message(&self) -> usize {
        let piece = self.pieces.get(self.selected);
        piece.map_or(0, |piece| piece.item.message())
    }

    fn go_to_match(&mut self, found: Option<MatchPlace>, viewport: Viewport<'_>) -> bool {
        if let Some(found) = found {
            self.seek_line(found.at, viewport);
        }
        found.is_some()
    }

    /// Returns the input and the result of the tool call under the cursor.
    pub(crate) fn selected_call(&self) -> Option<(&str, &str)> {
        match self.pieces.get(self.selected)?.item {
            TurnItem::Tool { call, result } => {
                let text = |at: Option<usize>| at.map_or("", |at| self.text(at));
                Some((text(call), text(result)))
            }
            _ => None,
        }
    }

    /// Goes to the record at `line` of the log, and there to line `within` of its text, or else to
    /// the first one with these words, which are marked. Where a tool did not say it, what tools said
    /// is not searched for them.
    pub(crate) fn go_to(
        &mut self,
        line: u64,
        within: Option<usize>,
        words: MarkedWords,
        viewport: Viewport<'_>,
    ) {
        self.words = words;
        let messages = self.transcript.messages.iter().enumerate();
        let of_line: Vec<(usize, &str)> = messages
            .filter(|(_, message)| message.line == line)
            .map(|(at, message)| (at, message.text.as_str()))
            .collect();
        let is_shown = |at: usize| {
            within.is_none_or(|within| self.words.lines_in(self.text(at)).contains(&within))
        };
        let best = of_line
            .iter()
            .find(|(at, text)| self.words.all_in(text) && is_shown(*at))
            .or_else(|| of_line.iter().find(|(_, text)| self.words.all_in(text)))
            .or_else(|| of_line.first());
        let kind = best.map(|(at, _)| self.transcript.messages[*at].kind);
        let at = best.map(|(message, text)| MessageLine {
            message: *message,
            line: within
                .or(self.words.lines_in(text).first().copied())
                .unwrap_or(0),
        });
        let is_tools = |kind| matches!(kind, MessageKind::ToolCall | MessageKind::ToolResult);
        self.says_only = kind.is_some_and(|kind| !is_tools(kind));
        self.found = at;
        self.find_matches();
        let Some(at) = at else {
            return self.lay_out(viewport);
        };
        self.seek_line(at, viewport);
    }

    /// Selects the piece with a message, showing it if it is hidden.
    pub(crate) fn seek(&mut self, message: usize, viewport: Viewport<'_>) {
        self.seek_line(MessageLine { message, line: 0 }, viewport);
    }

    /// Selects the piece with a line of a message, showing it if it is hidden, and scrolls there.
    fn seek_line(&mut self, at: MessageLine, viewport: Viewport<'_>) {
        let all = turns(&self.transcript.messages);
        let message = at.message;
        let holds = |item: &TurnItem| match *item {
            TurnItem::Tool { call, result } => call == Some(message) || result == Some(message),
            item => item.message() == message,
        };
        let item = all.iter().flat_map(|turn| &turn.items).copied().find(holds);
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
        }
        let piece = item.map_or(message, TurnItem::message);
        self.current = Some(MatchPlace { piece, at });
        // The line that was current loses its mark.
        self.laid.clear();
        self.top = (self.selected, 0);
        self.lay_out(viewport);
        let line = self.match_line(at, viewport);
        let selected = self.selected;
        self.top = (selected, line);
        // The first third of the screen shows the context before the match.
        self.scroll(-((viewport.height / 3) as isize), viewport);
        self.selected = selected;
    }

    /// Returns the row of the selected piece that shows a line of a message.
    fn match_line(&mut self, at: MessageLine, viewport: Viewport<'_>) -> usize {
        self.height(self.selected, viewport);
        let laid = self.laid.get(&self.selected);
        laid.map_or(0, |laid| {
            let (lines, source) = (&laid.lines[laid.above..], &laid.source[laid.above..]);
            laid.above + self.row_of(at, lines, source)
        })
    }

    /// Returns which of these rows shows a line of a message, or the match in it.
    pub(super) fn row_of(
        &self,
        at: MessageLine,
        rows: &[Line<'_>],
        source: &[MessageLine],
    ) -> usize {
        // A text that begins on these rows may be wrapped onto the next ones.
        const MORE: usize = 2;
        let last = source.partition_point(|row| *row <= at).saturating_sub(1);
        let Some(shown) = source.get(last) else {
            return 0;
        };
        let start = source.partition_point(|row| row < shown).min(last);
        let end = rows.len().min(last + 1 + MORE);
        let near = rows.get(start..end).unwrap_or_default();
        self.words
            .best_line(near)
            .map_or(start, |line| start + line)
    }
}
