//! The query of the finder: words in the input, and filters, which become pills.

use std::collections::BTreeSet;

use ratatui::crossterm::event::KeyEvent;

use crate::core::memory::library::Library;
use crate::core::search::query::Filter;
use crate::core::search::query::complete::{Completion, complete};
use crate::core::text::one_line;
use crate::tui::widget::input::{Input, InputOutcome};
use crate::tui::widget::readline::{self, Command, Motion};

/// The input and the filters beside it.
#[derive(Debug, Default)]
pub(super) struct QueryInput {
    pub(super) input: Input,
    /// Complete filters, such as `type:project`.
    pub(super) pills: Vec<String>,
    /// Whether all of it is selected: what is typed replaces it.
    pub(super) is_selected: bool,
}

impl QueryInput {
    pub(super) fn new(query: &str) -> Self {
        let mut typed = Self {
            // What is complete ends in a blank.
            input: Input::of_typed(format!("{} ", one_line(query))),
            pills: Vec::new(),
            is_selected: false,
        };
        typed.extract_filters();
        typed.input = Input::new(typed.input.text());
        typed
    }

    /// A query of before, which the next letter replaces.
    pub(super) fn selected(query: &str) -> Self {
        Self {
            is_selected: !query.is_empty(),
            ..Self::new(query)
        }
    }

    /// The whole query as text.
    pub(super) fn query(&self) -> String {
        let mut query = self.pills.join(" ");
        if !query.is_empty() {
            query.push(' ');
        }
        query.push_str(self.input.text());
        query
    }

    fn replace_selected(&mut self) {
        if std::mem::take(&mut self.is_selected) {
            *self = Self::new("");
        }
    }

    pub(super) fn paste(&mut self, text: &str) -> InputOutcome {
        self.replace_selected();
        self.input.paste(text)
    }

    /// Handles a key. The pills are in front of the text: what goes back over its start makes text
    /// of the last one, and what deletes all before the cursor deletes them, too.
    pub(super) fn key(&mut self, key: KeyEvent) -> InputOutcome {
        let command = readline::command(key);
        match command {
            Some(Command::Insert(_)) => self.replace_selected(),
            Some(Command::Delete(_) | Command::Kill(_)) if self.is_selected => {
                self.replace_selected();
                return InputOutcome::Changed;
            }
            Some(Command::Kill(Motion::LineStart) | Command::Delete(Motion::LineStart))
                if !self.pills.is_empty() =>
            {
                self.pills.clear();
                self.input.key(key);
                return InputOutcome::Changed;
            }
            _ => self.is_selected = false,
        }
        let goes_back = matches!(
            command,
            Some(Command::Move(Motion::Left | Motion::WordLeft))
                | Some(
                    Command::Delete(Motion::Left | Motion::WordLeft)
                        | Command::Kill(Motion::Left | Motion::WordLeft)
                )
        );
        if goes_back
            && self.input.cursor() == 0
            && let Some(pill) = self.pills.pop()
        {
            let blank = if self.input.is_empty() { "" } else { " " };
            let text = format!("{pill}{blank}{}", self.input.text());
            self.input = Input::with_cursor(text, pill.len());
            return InputOutcome::Changed;
        }
        self.input.key(key)
    }

    /// Turns filters that are followed by a blank into pills, except where the cursor is.
    pub(super) fn extract_filters(&mut self) {
        let text = self.input.text();
        if !text.contains(':') || text.contains('"') {
            return;
        }
        let cursor = self.input.cursor();
        let (mut rest, mut start, mut taken) = (String::new(), 0, 0);
        let mut pills = Vec::new();
        for word in text.split_inclusive(' ') {
            let end = start + word.len();
            match word.strip_suffix(' ') {
                Some(whole) if is_filter(whole) && !(start..end).contains(&cursor) => {
                    pills.push(whole.to_owned());
                    taken += if end <= cursor { word.len() } else { 0 };
                }
                _ => rest.push_str(word),
            }
            start = end;
        }
        if !pills.is_empty() {
            self.pills.extend(pills);
            self.input = Input::with_cursor(rest, cursor - taken);
        }
    }

    /// The completion of the word at the cursor.
    pub(super) fn completion(&self, library: &Library) -> Option<Completion> {
        let text = self.input.text();
        if self.input.cursor() != text.len() {
            return None;
        }
        let known = |filter: Filter| known(library, filter);
        complete(text, text.len(), &known).into_iter().next()
    }

    pub(super) fn complete(&mut self, completion: &Completion) {
        let mut text = self.input.text().to_owned();
        let before = &text[..completion.span.start];
        let start = before.rfind(' ').map_or(0, |blank| blank + 1);
        text.replace_range(completion.span.clone(), &completion.text);
        if !completion.text.ends_with(':') {
            // With its value, the filter is complete.
            self.pills.push(text.split_off(start));
        }
        self.input = Input::of_typed(text);
    }
}

/// Whether a word is a filter with a value.
fn is_filter(word: &str) -> bool {
    word.split_once(':')
        .is_some_and(|(name, value)| Filter::named(name).is_some() && !value.is_empty())
}

/// Returns the values that a filter can have in this library.
fn known(library: &Library, filter: Filter) -> Vec<String> {
    let stores = library.stores.iter();
    let values: BTreeSet<String> = match filter {
        Filter::Store => stores
            .map(|snapshot| snapshot.store.name().to_owned())
            .collect(),
        Filter::Type => stores
            .flat_map(|snapshot| &snapshot.memories)
            .filter_map(|memory| memory.category.clone())
            .collect(),
        Filter::Project => library
            .logs
            .iter()
            .filter_map(|log_group| log_group.project.rsplit('/').next())
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect(),
        _ => BTreeSet::new(),
    };
    // A filter value ends at a blank, so values with blanks cannot be typed.
    values
        .into_iter()
        .filter(|value| !value.contains(' '))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::keys::keys;

    fn typed(text: &str) -> QueryInput {
        let mut typed = QueryInput::new("");
        for key in keys(text) {
            if typed.key(key) == InputOutcome::Changed {
                typed.extract_filters();
            }
        }
        typed
    }

    #[test]
    fn a_filter_becomes_a_pill_and_comes_back_by_backspace() {
        let mut found = typed("t y p e : u s e r");
        assert_eq!((found.pills.len(), found.input.text()), (0, "type:user"));
        found = typed("t y p e : u s e r <space> t e a");
        assert_eq!(found.pills, ["type:user"]);
        assert_eq!(found.query(), "type:user tea");
        found = typed("i n : l o g s <space> <bs>");
        assert_eq!((found.pills.len(), found.input.text()), (0, "in:logs"));
    }

    #[test]
    fn pills_are_edited_as_the_text_that_they_are() {
        let mut found = QueryInput::new("in:logs");
        assert_eq!(
            (found.pills.as_slice(), found.input.text()),
            (&["in:logs".to_owned()][..], "")
        );
        let press = |found: &mut QueryInput, text: &str| {
            for key in keys(text) {
                if found.key(key) == InputOutcome::Changed {
                    found.extract_filters();
                }
            }
        };
        press(&mut found, "e r r o r");
        assert_eq!(found.query(), "in:logs error");
        press(&mut found, "<home> <left> <bs> <bs> <bs> <bs> t o o l s");
        assert_eq!(
            (found.pills.len(), found.query().as_str()),
            (0, "in:tools error")
        );
        press(&mut found, "<end> s");
        assert_eq!(
            (found.pills.len(), found.query().as_str()),
            (1, "in:tools errors")
        );
        press(&mut found, "<c-u>");
        assert_eq!(found.query(), "", "pills go with the text");
    }

    #[test]
    fn a_letter_replaces_what_is_selected_and_a_move_keeps_it() {
        let mut found = QueryInput::selected("in:logs error");
        assert!(found.is_selected);
        found.key(keys("x")[0]);
        assert_eq!((found.query().as_str(), found.is_selected), ("x", false));
        let mut found = QueryInput::selected("in:logs error");
        found.key(keys("<end>")[0]);
        found.key(keys("s")[0]);
        assert_eq!(found.query(), "in:logs errors");
        let mut found = QueryInput::selected("error");
        assert_eq!(found.key(keys("<bs>")[0]), InputOutcome::Changed);
        assert_eq!(found.query(), "");
    }

    #[test]
    fn what_is_typed_after_a_filter_does_not_join_the_word_before_it() {
        let found = typed("t e a <space> i n : l o g s <space> r o l e : u s e r <space> c u p");
        assert_eq!(found.pills, ["in:logs", "role:user"]);
        assert_eq!(found.input.text(), "tea cup");
        let mut found = typed("t e a <space> a g e n t : c o d");
        let completion = found.completion(&Library::default()).expect("an agent");
        found.complete(&completion);
        for key in keys("c u p") {
            found.key(key);
        }
        assert_eq!(found.query(), "agent:codex tea cup");
    }

    #[test]
    fn what_only_looks_like_a_filter_is_typed_on() {
        let found = typed("h t t p : / / x <space> y");
        assert_eq!(found.query(), "http://x y");
        let found = QueryInput::new("\"type:user x\" type: 'whole ^start !not");
        assert!(found.pills.is_empty());
    }
}
