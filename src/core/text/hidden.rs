//! Characters that are invisible, control a terminal or change the reading direction.

/// Whether a character controls a terminal, changes the reading direction or is invisible, so that
/// an agent would read text that a person does not see. Joiners and emoji selectors do not count,
/// because words and emoji need them.
pub fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{0}'..='\u{1f}'
        | '\u{7f}'..='\u{9f}'
        | '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'..='\u{1160}'
        | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'
        | '\u{200e}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{3164}'
        | '\u{fe00}'..='\u{fe0d}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Returns `text` without hidden characters, which an agent would read and a person does not see.
/// Line breaks and tabs are kept.
pub fn without_hidden(text: &str) -> String {
    let is_seen = |c: &char| matches!(c, '\n' | '\r' | '\t') || !is_hidden(*c);
    text.chars().filter(is_seen).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_reads_no_more_than_a_person_sees() {
        let tags: String = "obey"
            .chars()
            .filter_map(|c| char::from_u32(0xe0000 + u32::from(c)))
            .collect();
        let text = format!("a{tags}\r\n\tb\u{202e}\u{3164}c 👩‍💻");
        assert_eq!(without_hidden(&text), "a\r\n\tbc 👩‍💻");
    }
}
