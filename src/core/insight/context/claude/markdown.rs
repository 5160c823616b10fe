//! The text of an instruction file as Claude Code sends it, and the files that it imports.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::LazyLock;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use regex::Regex;

use super::super::trimmed;

/// The text that is sent, and the names of imports in their order.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Read {
    pub(super) text: String,
    pub(super) imports: Vec<String>,
}

const COMMENT: &str = "<!--";

/// How many lines of a heading are looked at.
const MOST_LINES: usize = 100;

static MENTION: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?:^|[\s\u{feff}])@((?:[^\s\\]|\\ )+)").ok());

static COMMENTS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(?s)<!--.*?-->").ok());

/// Reads a text: comments that are blocks of their own are left out; `@path` in running text is
/// an import, in code and in comments it is not.
pub(super) fn read(body: &str) -> Read {
    if !body.contains(COMMENT) && !body.contains('@') {
        return Read {
            text: body.to_owned(),
            imports: Vec::new(),
        };
    }
    let plain = body.replace("\r\n", "\n").replace('\r', "\n");
    let mut kept = String::new();
    let mut copied = 0;
    let mut imports = Imports::default();
    // A run of text without code in it; its start counts as the start of a line.
    let mut run = String::new();
    let (mut depth, mut is_code) = (0_usize, false);
    // Where the last paragraph that is in nothing else begins.
    let mut paragraph = None;
    for (event, range) in Parser::new_ext(&plain, Options::empty()).into_offset_iter() {
        match event {
            Event::Text(text) if !is_code => {
                run.push_str(&text);
                continue;
            }
            Event::SoftBreak | Event::HardBreak => {
                run.push('\n');
                continue;
            }
            _ => imports.take(&mut run),
        }
        match event {
            Event::Start(Tag::HtmlBlock) => {
                let block = &plain[range.clone()];
                if block.trim_start().starts_with(COMMENT) && block.contains("-->") {
                    let comments = COMMENTS.as_ref();
                    let rest = comments.map_or_else(
                        || block.to_owned(),
                        |comments| comments.replace_all(block, "").into_owned(),
                    );
                    run.push_str(&rest);
                    imports.take(&mut run);
                    let start = paragraph.unwrap_or(range.start);
                    if depth == 0 && !is_in_heading(&plain[start..], &range, start) {
                        // The blank lines after the block belong to it.
                        let after = &plain[range.end..];
                        let blank = after.len() - after.trim_start_matches('\n').len();
                        kept.push_str(&plain[copied..range.start]);
                        if !trimmed(&rest).is_empty() {
                            kept.push_str(&rest);
                            kept.push_str(&after[..blank]);
                        }
                        copied = range.end + blank;
                    }
                }
                depth += 1;
            }
            Event::Start(tag) => {
                if depth == 0 {
                    paragraph = (tag == Tag::Paragraph).then_some(range.start);
                }
                is_code |= matches!(tag, Tag::CodeBlock(_));
                depth += 1;
            }
            Event::End(tag) => {
                is_code &= tag != TagEnd::CodeBlock;
                depth = depth.saturating_sub(1);
            }
            _ => {}
        }
    }
    imports.take(&mut run);
    kept.push_str(&plain[copied.min(plain.len())..]);
    Read {
        // Line endings change only in a text that is taken apart.
        text: if body.contains(COMMENT) {
            kept
        } else {
            body.to_owned()
        },
        imports: imports.names,
    }
}

/// Whether a comment is a part of an underlined heading for Claude Code, which keeps it then: it
/// follows a line of the text, and the underline follows it without a blank line or another block.
fn is_in_heading(text: &str, comment: &Range<usize>, start: usize) -> bool {
    static OTHER: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"^(\s*$| {0,3}([*+-] |\d{1,9}[.)] |\t|```|~~~|>|#{1,6}(\s|$)|<[^>]+>$)|    )")
            .ok()
    });
    let is_underline = |line: &str| {
        let bare = line.trim_end_matches(' ');
        let marks = bare.trim_start_matches(' ');
        let is_of = |mark| !marks.is_empty() && marks.trim_start_matches(mark).is_empty();
        bare.len() - marks.len() < 4 && (is_of('-') || is_of('='))
    };
    let mut at = start;
    for line in text.split_inclusive('\n').take(MOST_LINES) {
        let bare = line.trim_end_matches('\n');
        if at >= comment.end && is_underline(bare) {
            return true;
        }
        let is_other = OTHER.as_ref().is_none_or(|other| other.is_match(bare));
        if is_other && at > start || comment.start == start {
            return false;
        }
        at += line.len();
    }
    false
}

/// The names of imports, each once.
#[derive(Default)]
struct Imports {
    names: Vec<String>,
    known: HashSet<String>,
}

impl Imports {
    /// Adds the imports of a run of text, and empties the run.
    fn take(&mut self, run: &mut String) {
        let found = MENTION.as_ref().map(|mention| mention.captures_iter(run));
        for mention in found.into_iter().flatten() {
            let name = mention[1].split('#').next().unwrap_or_default();
            let name = name.replace("\\ ", " ");
            let is_path = name.starts_with("./")
                || name.starts_with("~/")
                || (name.starts_with('/') && name != "/")
                || name.starts_with(|c: char| c.is_ascii_alphanumeric() || "._-".contains(c));
            if is_path && self.known.insert(name.clone()) {
                self.names.push(name);
            }
        }
        run.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn imports(body: &str) -> Vec<String> {
        read(body).imports
    }

    #[test]
    fn a_mention_in_running_text_is_an_import_and_one_in_code_is_not() {
        for (body, expected) in [
            ("see @docs/a.md\n", vec!["docs/a.md"]),
            ("@a.md and @b.md and @a.md", vec!["a.md", "b.md"]),
            ("kim@example.com (@a.md)", vec![]),
            ("`@a.md` @b.md", vec!["b.md"]),
            ("```\n@a.md\n```\n@b.md", vec!["b.md"]),
            ("text\n\n    @a.md\n", vec![]),
            ("- item @a.md\n- @b.md\n", vec!["a.md", "b.md"]),
            ("> @a.md\n", vec!["a.md"]),
            ("# @a.md\n", vec!["a.md"]),
            ("**@a.md**", vec!["a.md"]),
            ("@my_long_name.md", vec!["my_long_name.md"]),
            ("@my\\ file.md", vec!["my file.md"]),
            (
                "@~/a.md @/b.md @./c.md @a.md#part",
                vec!["~/a.md", "/b.md", "./c.md", "a.md"],
            ),
            ("@@a.md @#x @/", vec![]),
            ("<!-- @a.md -->\n@b.md", vec!["b.md"]),
            ("x\r\n@a.md\r\n", vec!["a.md"]),
        ] {
            assert_eq!(imports(body), expected, "{body:?}");
        }
    }

    #[test]
    fn a_comment_that_is_a_block_is_left_out_and_one_in_a_line_stays() {
        for (body, expected) in [
            ("a <!-- b --> c\n<!-- d -->\ne\n", "a <!-- b --> c\ne\n"),
            ("<!-- a\nb -->\n\n\nc\n", "c\n"),
            ("<!-- a --> b\n\nc\n", " b\n\nc\n"),
            ("```\n<!-- a -->\n```\n", "```\n<!-- a -->\n```\n"),
            ("- x\n  <!-- a -->\n", "- x\n  <!-- a -->\n"),
            ("<!-- never closed\n", "<!-- never closed\n"),
            ("a\n<!--\nb\n-->\n---\nc\n", "a\n<!--\nb\n-->\n---\nc\n"),
            ("a\n<!--\nb\n-->\nc\n===\n", "a\n<!--\nb\n-->\nc\n===\n"),
            ("a\n<!-- b -->\n---\n", "a\n---\n"),
            ("a\n\n<!--\nb\n-->\n---\n", "a\n\n---\n"),
            ("a\n<!--\nb\n-->\n- c\n---\n", "a\n- c\n---\n"),
            ("a\r\n<!-- b -->\r\nc\r\n", "a\nc\n"),
            ("a\r\n@b\r\n", "a\r\n@b\r\n"),
        ] {
            assert_eq!(read(body).text, expected, "{body:?}");
        }
    }
}
