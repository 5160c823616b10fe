//! The query of the finder: words in the input, and filters, which become pills.

use std::collections::BTreeSet;

use ratatui::crossterm::event::{KeyCode, KeyEvent};

use crate::core::memory::library::Library;
use crate::core::search::query::Filter;
use crate::core::search::query::complete::{Completion, complete};
use crate::tui::widget::input::{Input, InputOutcome};

/// The input and the filters beside it.
#[derive(Debug)]
pub(super) struct QueryInput {
    pub(super) input: Input,
    /// Complete filters, such as `type:project`.
    pub(super) pills: Vec<String>,
}

impl QueryInput {
    pub(super) fn new(query: &str) -> Self {
        let mut typed = Self {
            input: Input::new(query),
            pills: Vec::new(),
        };
        typed.extract_filters();
        typed
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

    /// Handles a key. Backspace at the start turns the last pill into text again.
    pub(super) fn key(&mut self, key: KeyEvent) -> InputOutcome {
        if key.code == KeyCode::Backspace
            && self.input.cursor() == 0
            && let Some(pill) = self.pills.pop()
        {
            let text = format!("{pill}{}", self.input.text());
            self.input = Input::new(&text);
            return InputOutcome::Changed;
        }
        self.input.key(key)
    }

    /// Turns filters that are followed by a blank into pills.
    pub(super) fn extract_filters(&mut self) {
        let text = self.input.text();
        if !text.contains(':') || text.contains('"') {
            return;
        }
        let mut rest = String::new();
        let mut pills = Vec::new();
        for word in text.split_inclusive(' ') {
            match word.strip_suffix(' ') {
                Some(whole) if is_filter(whole) => pills.push(whole.to_owned()),
                _ => rest.push_str(word),
            }
        }
        if !pills.is_empty() {
            self.pills.extend(pills);
            self.input = Input::of_typed(rest);
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

    /// Applies a completion.
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
