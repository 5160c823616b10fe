//! Makes logged text safe to print and to pass to an agent.
//!
//! Logs contain third-party text: it may hold escape sequences that move the cursor, set the
//! window's title or write to the clipboard, and invisible characters that an agent reads.

use crate::core::text::hidden::is_hidden;

/// Returns `text` without escape sequences, control characters other than newline and
/// tab, and characters that are invisible or change the reading direction. Unicode line
/// breaks become newlines.
pub fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut cleaning = Cleaning {
        text,
        at: 0,
        stop: None,
    };
    while let Some(char) = cleaning.next() {
        match char {
            '\n' | '\t' | ' '..='~' => out.push(char),
            '\u{2028}' | '\u{2029}' => out.push('\n'),
            '\x1b' => cleaning.skip_sequence(),
            '\u{9b}' => cleaning.skip_control(),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => cleaning.skip_string(),
            char if is_hidden(char) => {}
            char => out.push(char),
        }
    }
    out
}

/// The length in bytes from which a string sequence counts as text without a terminator.
const STRING: usize = 4096;

/// A text that is being cleaned.
struct Cleaning<'a> {
    text: &'a str,
    /// The offset of the next character.
    at: usize,
    /// The end of the next string sequence, as last found.
    stop: Option<Stop>,
}

/// Where a string sequence ends.
#[derive(Debug, Clone, Copy)]
struct Stop {
    /// Where the search for it began.
    from: usize,
    /// The offset of the terminator, or of the line break or the end of the text before it.
    at: usize,
    /// The offset after the terminator; `None` if there is none on the line.
    end: Option<usize>,
}

impl Cleaning<'_> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let char = self.peek()?;
        self.at += char.len_utf8();
        Some(char)
    }

    fn next_if(&mut self, fits: impl Fn(char) -> bool) -> bool {
        let does_fit = self.peek().is_some_and(fits);
        if does_fit {
            self.next();
        }
        does_fit
    }

    /// Skips the rest of an escape sequence, after the escape character.
    fn skip_sequence(&mut self) {
        match self.peek() {
            Some('[') => {
                self.next();
                self.skip_control();
            }
            Some(']' | 'P' | 'X' | '^' | '_') => {
                self.next();
                self.skip_string();
            }
            Some(' '..='/') => {
                while self.next_if(|char| (' '..='/').contains(&char)) {}
                self.next_if(|char| ('0'..='~').contains(&char));
            }
            Some('0'..='~') => drop(self.next()),
            _ => {}
        }
    }

    /// Skips the parameters and the final character of a control sequence.
    fn skip_control(&mut self) {
        while self.next_if(|char| (' '..='?').contains(&char)) {}
        self.next_if(|char| ('@'..='~').contains(&char));
    }

    /// Skips a string sequence with its terminator; one without a terminator is kept as text.
    fn skip_string(&mut self) {
        let stop = match self.stop {
            // All sequences that start before it end there: no second search is needed.
            Some(stop) if stop.from <= self.at && self.at <= stop.at => stop,
            _ => self.next_stop(),
        };
        self.stop = Some(stop);
        if let Some(end) = stop.end
            && stop.at - self.at < STRING
        {
            self.at = end;
        }
    }

    fn next_stop(&mut self) -> Stop {
        let from = self.at;
        let mut chars = self.text[from..].char_indices().peekable();
        while let Some((offset, char)) = chars.next() {
            let at = from + offset;
            let end = match char {
                '\x07' | '\u{9c}' => Some(at + char.len_utf8()),
                '\x1b' if chars.peek().is_some_and(|(_, next)| *next == '\\') => Some(at + 2),
                '\n' => None,
                _ => continue,
            };
            return Stop { from, at, end };
        }
        Stop {
            from,
            at: self.text.len(),
            end: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::core::text::clean::*;

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
        let text = "naïve 日本語 עברית 👩‍💻 ❤\u{fe0f}";
        assert_eq!(clean(text), text);
        assert_eq!(clean("a\u{2028}b"), "a\nb");
    }

    #[test]
    fn characters_that_nobody_sees_go() {
        let tags: String = "ignore all"
            .chars()
            .filter_map(|c| char::from_u32(0xe0000 + u32::from(c)))
            .collect();
        let hidden = "\u{ad}\u{61c}\u{180e}\u{200b}\u{2060}\u{3164}\u{feff}\u{e0001}\u{e0100}";
        assert_eq!(clean(&format!("a{tags}{hidden}b")), "ab");
    }
}
