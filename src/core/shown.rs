//! How values read, the same behind every door.

/// Text with control characters made visible, so that none of them acts on a terminal.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => out.push(c),
            '\r' => {}
            '\u{0}'..='\u{1f}' => {
                out.push(char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{fffd}'));
            }
            '\u{7f}' => out.push('\u{2421}'),
            // C1 controls, and marks that turn the direction of the text around them.
            '\u{80}'..='\u{9f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                out.push('\u{fffd}');
            }
            c => out.push(c),
        }
    }
    out
}

/// How long ago something was, in a few letters.
pub fn age(then: i64, now: i64) -> String {
    let seconds = (now - then).max(0) / 1000;
    match seconds {
        0..60 => "now".to_owned(),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..86_400 => format!("{}h", seconds / 3_600),
        86_400..2_592_000 => format!("{}d", seconds / 86_400),
        2_592_000..31_536_000 => format!("{}mo", seconds / 2_592_000),
        _ => format!("{}y", seconds / 31_536_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown_not_sent() {
        assert_eq!(
            visible("a\u{1b}[31mb\u{9b}c\u{202e}d\n\t\0\r"),
            "a␛[31mb\u{fffd}c\u{fffd}d\n\t␀"
        );
    }

    #[test]
    fn ages_are_short() {
        let day = 86_400_000;
        for (ago, text) in [
            (0, "now"),
            (120_000, "2m"),
            (7_200_000, "2h"),
            (3 * day, "3d"),
            (65 * day, "2mo"),
            (800 * day, "2y"),
        ] {
            assert_eq!(age(0, ago), text);
        }
    }
}
