//! Both automata find the same.

use super::super::*;
use super::SECRETS;

#[test]
fn the_same_is_found_in_the_first_texts_and_in_later_ones() {
    let mut all = String::new();
    let mut compare = |text: &str| {
        assert_eq!(scan_with(text, 0), scan_with(text, usize::MAX), "{text}");
        all.push_str(text);
        all.push('\n');
    };
    for (before, secret) in SECRETS {
        compare(&format!("{before}{secret}"));
    }
    for token in TOKENS {
        compare(&format!(
            "{}{} {}",
            token.start, token.example, token.innocent
        ));
    }
    for name in NAMES {
        compare(&format!(
            "{}{} {}",
            name.example.0, name.example.1, name.innocent
        ));
    }
    for context in CONTEXTS {
        compare(&format!(
            "{} {}",
            context.example.concat(),
            context.innocent
        ));
    }
    assert_eq!(scan_with(&all, 0), scan_with(&all, usize::MAX));
}
