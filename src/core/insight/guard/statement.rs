//! The statements of a memory: items of lists, paragraphs, and groups of lines in code blocks.

use std::ops::Range;

use crate::core::text::one_line;

/// The statements of a part of a memory, each on one line and without the sign of its item. Headings,
/// rows of tables and the header of the file are none.
pub fn statements(text: &str) -> Vec<String> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let (mut is_fenced, mut is_open) = (false, false);
    let mut at = header_end(text);
    for line in text[at..].split_inclusive('\n') {
        let start = at;
        at += line.len();
        let said = line.trim();
        if said.starts_with("```") || said.starts_with("~~~") {
            (is_fenced, is_open) = (!is_fenced, false);
            continue;
        }
        let is_text = is_fenced || !said.starts_with(['#', '|']);
        if said.is_empty() || said == "---" || !is_text {
            is_open = false;
            continue;
        }
        let begins = !is_fenced && is_item(said);
        match found.last_mut().filter(|_| is_open && !begins) {
            Some(open) => open.end = at,
            None => found.push(start..at),
        }
        is_open = true;
    }
    found.into_iter().map(|range| bare(&text[range])).collect()
}

fn bare(statement: &str) -> String {
    let statement = statement.trim();
    let bare = statement.strip_prefix(['-', '*', '+']);
    let bare = bare.and_then(|rest| rest.strip_prefix(' '));
    one_line(bare.unwrap_or(statement))
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
        assert_eq!(
            statements(text),
            [
                "One two.",
                "item goes on",
                "next",
                "# from src/ go test",
                "npm ci",
                "1. first"
            ]
        );
        assert_eq!(statements("").len() + statements("---\nname: x\n").len(), 1);
    }
}
