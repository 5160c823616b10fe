//! A filter of rows that is typed: only those with all its words are shown.

use ratatui::crossterm::event::KeyEvent;
use ratatui::text::{Line, Span};

use super::input::{Input, InputOutcome};
use crate::tui::theme::{Role, Theme};

/// What a list says if its filter leaves no row.
pub(crate) const FILTERED: &str = "Nothing here has these words. Esc shows everything again.";

/// The words of a filter, if there is one.
#[derive(Debug, Default)]
pub(crate) struct RowFilter {
    input: Option<Input>,
    is_typing: bool,
}

impl RowFilter {
    /// Starts typing a new filter.
    pub(crate) fn open(&mut self) {
        self.input = Some(Input::default());
        self.is_typing = true;
    }

    /// Whether keys go to the filter.
    pub(crate) fn is_typing(&self) -> bool {
        self.is_typing
    }

    /// Takes a key while typing; returns whether other rows are shown.
    pub(crate) fn key(&mut self, key: KeyEvent) -> bool {
        self.typed(|input| input.key(key))
    }

    /// Takes a pasted text while typing; returns whether other rows are shown.
    pub(crate) fn paste(&mut self, text: &str) -> bool {
        self.typed(|input| input.paste(text))
    }

    fn typed(&mut self, take: impl FnOnce(&mut Input) -> InputOutcome) -> bool {
        let input = self.input.as_mut().filter(|_| self.is_typing);
        input.map(take) == Some(InputOutcome::Changed)
    }

    /// Ends typing; the filter stays if it has words.
    pub(crate) fn accept(&mut self) {
        self.is_typing = false;
        self.input.take_if(|input| input.text().trim().is_empty());
    }

    /// Takes the filter away; returns whether there was one.
    pub(crate) fn clear(&mut self) -> bool {
        self.is_typing = false;
        self.input.take().is_some()
    }

    /// Whether a row with this text is shown.
    pub(crate) fn shows(&self, text: &str) -> bool {
        let Some(input) = &self.input else {
            return true;
        };
        let text = text.to_lowercase();
        let words = input.text().to_lowercase();
        words.split_whitespace().all(|word| text.contains(word))
    }

    /// The filter as a title behind this label.
    pub(crate) fn title(
        &self,
        label: &'static str,
        theme: &Theme,
        room: u16,
    ) -> Option<Line<'static>> {
        let (typed, _) = self.input.as_ref()?.line(theme, room);
        let mut title = vec![theme.span(label, Role::Accent)];
        title.extend(typed.spans);
        title.push(Span::raw(" "));
        Some(Line::from(title))
    }
}
