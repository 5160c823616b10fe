//! The statements of a memory: items of lists, paragraphs, and groups of lines in code blocks.

use crate::core::text::one_line;

/// A statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::core::insight) struct Unit<'a> {
    /// The number of its first line, from 1.
    pub(in crate::core::insight) line: usize,
    /// Its text, with its line breaks.
    pub(in crate::core::insight) text: &'a str,
    /// Whether it stands in a code block.
    pub(in crate::core::insight) is_code: bool,
}

/// The statements of a text. Headings, rows of tables and the header of the file are none.
pub(in crate::core::insight) fn units(text: &str) -> Vec<Unit<'_>> {
    let mut found: Vec<Unit<'_>> = Vec::new();
    let (mut is_fenced, mut is_open) = (false, false);
    let mut at = header_end(text);
    let mut number = text[..at].matches('\n').count();
    while at < text.len() {
        let line = text[at..].lines().next().unwrap_or_default();
        let start = at;
        at += line.len();
        at += text[at..].find('\n').map_or(0, |end| end + 1);
        number += 1;
        let said = line.trim();
        if said.starts_with("```") || said.starts_with("~~~") {
            (is_fenced, is_open) = (!is_fenced, false);
            continue;
        }
        let is_heading = !is_fenced && said.starts_with('#');
        let is_none = said.is_empty() || is_heading || !is_fenced && said.starts_with('|');
        if is_none || said == "---" {
            is_open = false;
            continue;
        }
        let begins = !is_fenced && is_item(said);
        match found.last_mut().filter(|_| is_open && !begins) {
            Some(open) => {
                let from = open.text.as_ptr() as usize - text.as_ptr() as usize;
                open.text = text[from..start + line.len()].trim_end();
            }
            None => found.push(Unit {
                line: number,
                text: said,
                is_code: is_fenced,
            }),
        }
        is_open = true;
    }
    found
}

impl Unit<'_> {
    /// What it says, on one line and without the sign of its item.
    pub(in crate::core::insight) fn said(&self) -> String {
        let bare = self.text.strip_prefix(['-', '*', '+']);
        let bare = bare.and_then(|rest| rest.strip_prefix(' '));
        one_line(bare.unwrap_or(self.text))
    }
}

/// Where the header of a file ends.
fn header_end(text: &str) -> usize {
    let Some(rest) = text.strip_prefix("---\n") else {
        return 0;
    };
    rest.find("\n---\n").map_or(0, |end| 4 + end + 5)
}

/// Whether a line begins an item of a list.
fn is_item(line: &str) -> bool {
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let rest = &line[digits..];
    match digits {
        0 => rest.starts_with(['-', '*', '+']) && rest[1..].starts_with(' '),
        _ => rest.starts_with(". ") || rest.starts_with(") "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_paragraphs_and_groups_of_code_are_statements() {
        let text = "---\nname: x\n---\n# Title\n\nOne\ntwo.\n- item\n  goes on\n- next\n\n| a | b |\n\n```sh\n# from src/\ngo test\n\nnpm ci\n```\n1. first\n";
        let found: Vec<(usize, &str, bool)> = units(text)
            .into_iter()
            .map(|unit| (unit.line, unit.text, unit.is_code))
            .collect();
        assert_eq!(
            found,
            [
                (6, "One\ntwo.", false),
                (8, "- item\n  goes on", false),
                (10, "- next", false),
                (15, "# from src/\ngo test", true),
                (18, "npm ci", true),
                (20, "1. first", false),
            ]
        );
        assert_eq!(units("").len() + units("---\nname: x\n").len(), 1);
    }
}
