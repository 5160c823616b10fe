//! A filter of rows that is typed: only those with all its words are shown.

use ratatui::text::{Line, Span};

use super::input::Input;
use crate::tui::action::Action;
use crate::tui::keymap::KeyContext;
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
    /// Whether keys go to the filter.
    pub(crate) fn is_typing(&self) -> bool {
        self.is_typing
    }

    /// Whether there is a filter, even one without words.
    pub(crate) fn is_set(&self) -> bool {
        self.input.is_some()
    }

    /// The context of the keys: that of a prompt while it is typed.
    pub(crate) fn key_context(&self, otherwise: KeyContext) -> KeyContext {
        if self.is_typing {
            KeyContext::Prompt
        } else {
            otherwise
        }
    }

    /// The line that is typed in.
    pub(crate) fn input(&mut self) -> Option<&mut Input> {
        self.input.as_mut().filter(|_| self.is_typing)
    }

    /// Carries out an action that begins a filter, ends typing it or takes it away. Returns whether
    /// other rows are shown; `None` for any other action.
    pub(crate) fn act(&mut self, action: Action) -> Option<bool> {
        match action {
            Action::Filter => {
                self.input = Some(Input::default());
                self.is_typing = true;
                Some(true)
            }
            Action::Open if self.is_typing => {
                self.accept();
                Some(false)
            }
            Action::Back if self.is_set() => {
                self.clear();
                Some(true)
            }
            _ => None,
        }
    }

    /// Ends typing; the filter stays if it has words.
    pub(crate) fn accept(&mut self) {
        self.is_typing = false;
        self.input.take_if(|input| input.text().trim().is_empty());
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// The words, in lower case.
    pub(crate) fn words(&self) -> Vec<String> {
        let text = self.input.as_ref().map_or("", Input::text);
        text.split_whitespace().map(str::to_lowercase).collect()
    }

    /// Whether a row with this text is shown.
    pub(crate) fn shows(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        self.words().iter().all(|word| text.contains(word))
    }

    /// What is typed in so many columns, and the column of the cursor.
    pub(crate) fn line(&self, theme: &Theme, room: u16) -> Option<(Line<'static>, u16)> {
        Some(self.input.as_ref()?.line(theme, room))
    }

    /// The filter as a title behind this label.
    pub(crate) fn title(
        &self,
        label: &'static str,
        theme: &Theme,
        room: u16,
    ) -> Option<Line<'static>> {
        let (typed, _) = self.line(theme, room)?;
        let mut title = vec![theme.span(label, Role::Accent)];
        title.extend(typed.spans);
        title.push(Span::raw(" "));
        Some(Line::from(title))
    }
}
