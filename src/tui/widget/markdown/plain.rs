//! One line of Markdown as plain text, for lists.

use pulldown_cmark::{Event, Parser};

/// Returns the text of a line without its Markdown marks; a line of marks alone stays.
pub fn plain_line(line: &str) -> String {
    let mut text = String::new();
    for event in Parser::new(line.trim()) {
        match event {
            Event::Text(part) | Event::Code(part) | Event::Html(part) | Event::InlineHtml(part) => {
                text.push_str(&part);
            }
            Event::SoftBreak | Event::HardBreak => text.push(' '),
            _ => {}
        }
    }
    match text.trim() {
        "" => line.trim().to_owned(),
        text => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_left_out_and_words_stay() {
        for (line, expected) in [
            ("## Decision", "Decision"),
            ("- **Token**: `15` minutes", "Token: 15 minutes"),
            ("see [the plan](plan.md) now", "see the plan now"),
            (
                "fn a_refund_never_exceeds<T>()",
                "fn a_refund_never_exceeds<T>()",
            ),
            ("---", "---"),
            ("", ""),
            ("数据库 is *up*", "数据库 is up"),
        ] {
            assert_eq!(plain_line(line), expected);
        }
    }
}
