//! Text made safe for a screen.
//!
//! What agents logged is third-party text: it may hold sequences that move the cursor,
//! set the window's title or write to the clipboard of whoever looks at it.

/// Returns `text` without escape sequences, control characters other than newline and
/// tab, and characters that change the direction of what follows.
pub fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\n' | '\t' => out.push(char),
            '\x1b' => skip_sequence(&mut chars),
            '\u{9b}' => skip_control(&mut chars),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => skip_string(&mut chars),
            char if char.is_control() || turns(char) => {}
            char => out.push(char),
        }
    }
    out
}

type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// How long a string sequence may be before it is taken for text that lost its end.
const STRING: usize = 4096;

/// Tells whether the character overrides or isolates the direction of text.
fn turns(char: char) -> bool {
    matches!(
        char,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    )
}

/// Skips what follows an escape character.
fn skip_sequence(chars: &mut Chars<'_>) {
    match chars.peek() {
        Some('[') => {
            chars.next();
            skip_control(chars);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            chars.next();
            skip_string(chars);
        }
        Some(' '..='/') => {
            while chars.next_if(|char| (' '..='/').contains(char)).is_some() {}
            chars.next_if(|char| ('0'..='~').contains(char));
        }
        Some('0'..='~') => drop(chars.next()),
        _ => {}
    }
}

/// Skips the parameters and the final character of a control sequence.
fn skip_control(chars: &mut Chars<'_>) {
    while chars.next_if(|char| (' '..='?').contains(char)).is_some() {}
    chars.next_if(|char| ('@'..='~').contains(char));
}

/// Skips a string up to its terminator; one without an end is not skipped.
fn skip_string(chars: &mut Chars<'_>) {
    let mut ahead = chars.clone();
    for _ in 0..STRING {
        match ahead.next() {
            Some('\x07' | '\u{9c}') => {}
            Some('\x1b') if ahead.peek() == Some(&'\\') => drop(ahead.next()),
            Some('\n') | None => return,
            Some(_) => continue,
        }
        *chars = ahead;
        return;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_go_and_the_words_around_them_stay() {
        let cases = [
            ("\x1b[2mCompacted\x1b[22m now", "Compacted now"),
            ("\x1b[38;5;196mred\x1b[0m", "red"),
            ("\x1b]0;title\x07after", "after"),
            ("\x1b]8;;https://a.example\x1b\\link\x1b]8;;\x1b\\", "link"),
            ("\x1b]52;c;cm0gLXJm\x07", ""),
            ("\x1bP1$q\x1b\\after", "after"),
            ("\x1b(Bplain\x1b=\x1b7", "plain"),
            ("\u{9b}31mred", "red"),
            ("\u{9d}0;title\u{9c}after", "after"),
            ("cut\x1b", "cut"),
            ("cut\x1b[12;", "cut"),
        ];
        for (given, expected) in cases {
            assert_eq!(clean(given), expected, "{given:?}");
        }
    }

    #[test]
    fn a_string_sequence_without_an_end_takes_no_text_with_it() {
        assert_eq!(clean("\x1b]0;lost\nnext line"), "0;lost\nnext line");
    }

    #[test]
    fn control_characters_go_but_newline_and_tab_stay() {
        assert_eq!(clean("a\0b\x08c\r\n\td\x7fe\u{85}f"), "abc\n\tdef");
    }

    #[test]
    fn characters_that_turn_text_around_go() {
        assert_eq!(clean("a\u{202e}b\u{2066}c\u{2069}\u{200f}d"), "abcd");
    }

    #[test]
    fn other_scripts_and_pictures_stay() {
        let text = "naïve 日本語 עברית 👩‍💻 \u{2028}";
        assert_eq!(clean(text), text);
    }
}
