//! Completion at the end of a query that is being typed.

use std::ops::Range;

use super::Filter;

/// A proposed completion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// The part of the query that it replaces, in bytes.
    pub span: Range<usize>,
    /// The text to insert.
    pub text: String,
    /// A short description; empty if the text needs none.
    pub meaning: &'static str,
}

/// Returns the filters and values that complete the word before `cursor`.
///
/// `known` returns the values of filters that take any text: types, stores, projects.
pub fn complete(
    query: &str,
    cursor: usize,
    known: &dyn Fn(Filter) -> Vec<String>,
) -> Vec<Completion> {
    let Some(typed) = query.get(..cursor) else {
        return Vec::new();
    };
    let start = typed
        .char_indices()
        .rfind(|(_, c)| c.is_whitespace())
        .map_or(0, |(at, c)| at + c.len_utf8());
    let word = &typed[start..];
    if let Some((name, value)) = word.split_once(':') {
        let Some(filter) = Filter::named(name) else {
            return Vec::new();
        };
        let mut values: Vec<String> = filter.values().into_iter().map(str::to_owned).collect();
        values.extend(known(filter));
        values.retain(|text| text.starts_with(value) && text != value);
        values.dedup();
        let span = cursor - value.len()..cursor;
        let completed = values.into_iter().map(|text| Completion {
            span: span.clone(),
            text,
            meaning: "",
        });
        return completed.collect();
    }
    if word.is_empty() {
        return Vec::new();
    }
    Filter::ALL
        .into_iter()
        .filter(|filter| filter.name().starts_with(word))
        .map(|filter| Completion {
            span: start..cursor,
            text: format!("{}:", filter.name()),
            meaning: filter.meaning(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(query: &str) -> Vec<String> {
        let known = |filter| match filter {
            Filter::Store => vec!["shop".to_owned(), "shoes".to_owned()],
            _ => Vec::new(),
        };
        let found = complete(query, query.len(), &known);
        found
            .into_iter()
            .map(|completion| completion.text)
            .collect()
    }

    #[test]
    fn names_and_values_of_filters_go_on_with_what_is_typed() {
        assert_eq!(texts("x s"), ["store:", "since:"]);
        assert_eq!(texts("role:a"), ["assistant"]);
        assert_eq!(texts("store:sho"), ["shop", "shoes"]);
        assert_eq!(texts("in:t"), ["tools"]);
        assert_eq!(texts("in:tools"), Vec::<String>::new());
        assert_eq!(texts("http:"), Vec::<String>::new());
        assert_eq!(texts(""), Vec::<String>::new());
    }

    #[test]
    fn only_the_word_at_the_cursor_is_replaced() {
        let found = complete("é ro b", 5, &|_| Vec::new());
        assert_eq!(found[0].span, 3..5);
        assert!(complete("é", 1, &|_| Vec::new()).is_empty());
    }
}
