//! The text of an instruction file as Claude Code sends it, and the files that it imports.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::LazyLock;

use pulldown_cmark::{Event, Options, Parser, Tag};
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
    LazyLock::new(|| Regex::new(r"(?:^|\s)@((?:[^\s\\]|\\ )+)").ok());

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
    // A byte order mark is a blank for Claude Code; this one has as many bytes.
    let blank = plain.replace('\u{feff}', "\u{2003}");
    let parser = Parser::new_ext(&blank, Options::empty());
    let definitions = parser.reference_definitions().iter();
    let mut definitions: Vec<Range<usize>> = definitions.map(|(_, to)| to.span.clone()).collect();
    let mut scan = Scan::default();
    let mut cuts = Vec::new();
    // Where the last block that is in nothing else and no HTML begins and ends, and whether it is a
    // paragraph.
    let (mut last, mut is_paragraph) = (0..0, false);
    for (event, range) in parser.into_offset_iter() {
        let is_outermost = scan.open.is_empty();
        if is_outermost {
            definitions.retain(|span| !range.contains(&span.start));
        }
        if is_outermost && event == Event::Start(Tag::HtmlBlock) {
            let start = line_start(&plain, range.start);
            let block = &plain[start..range.end];
            // A comment that is indented goes on with the paragraph before it.
            let goes_on = is_paragraph && start < range.start && last.end == start;
            let before = if is_paragraph { last.start } else { start };
            if is_comment(block)
                && !goes_on
                && !is_in_heading(&plain[before..], &(start..range.end), before)
            {
                // The blank lines after the block belong to it.
                let end = after_breaks(&plain, range.end);
                let rest = without_comments(block);
                let is_blank = trimmed(&rest).is_empty();
                let rest = if is_blank { String::new() } else { rest };
                let after = if is_blank { end } else { range.end };
                cuts.push((start..end, rest + &plain[after..end]));
            }
        }
        if is_outermost && matches!(&event, Event::Start(tag) if *tag != Tag::HtmlBlock) {
            is_paragraph = event == Event::Start(Tag::Paragraph);
            last = range.clone();
        }
        scan.read(&blank, event, range);
    }
    scan.end_block(&blank);
    // A definition of a link that is in nothing else is left out, with the blank lines after it.
    cuts.extend(definitions.into_iter().map(|span| {
        let end =
            span.end + plain[span.end..].len() - plain[span.end..].trim_start_matches(' ').len();
        (
            line_start(&plain, span.start)..after_breaks(&plain, end),
            String::new(),
        )
    }));
    Read {
        // Line endings and definitions change only in a text that is taken apart.
        text: if body.contains(COMMENT) {
            replaced(&plain, cuts)
        } else {
            body.to_owned()
        },
        imports: scan.imports.names,
    }
}

fn is_comment(html: &str) -> bool {
    html.trim_start().starts_with(COMMENT) && html.contains("-->")
}

fn without_comments(html: &str) -> String {
    let comments = COMMENTS.as_ref();
    comments.map_or_else(
        || html.to_owned(),
        |comments| comments.replace_all(html, "").into_owned(),
    )
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |end| end + 1)
}

fn after_breaks(text: &str, at: usize) -> usize {
    text.len() - text[at..].trim_start_matches('\n').len()
}

/// Puts other texts in the place of ranges.
fn replaced(text: &str, mut cuts: Vec<(Range<usize>, String)>) -> String {
    cuts.sort_by_key(|(range, _)| range.start);
    let (mut kept, mut copied) = (String::new(), 0);
    for (range, other) in cuts {
        kept.push_str(text.get(copied..range.start).unwrap_or_default());
        kept.push_str(&other);
        copied = range.end.max(copied);
    }
    kept.push_str(&text[copied..]);
    kept
}

/// Looks for imports in the events of a text.
#[derive(Default)]
struct Scan<'t> {
    /// What is open around the place that is read.
    open: Vec<Tag<'t>>,
    /// A run of text without code in it; its start counts as the start of a line.
    run: String,
    /// The runs of the block that is read.
    runs: Vec<String>,
    /// The text of an item of a list. It is read as it stands, code included, before its runs.
    in_item: Option<Range<usize>>,
    imports: Imports,
}

impl<'t> Scan<'t> {
    fn read(&mut self, plain: &str, event: Event<'t>, range: Range<usize>) {
        let is_within = match &event {
            Event::Start(tag) => is_inline(tag),
            Event::End(_) => self.open.last().is_some_and(is_inline),
            event => !matches!(event, Event::Html(_) | Event::Rule),
        };
        // A character behind a backslash is no text.
        let is_escaped = matches!(event, Event::Text(_)) && plain[..range.start].ends_with('\\');
        if !is_within {
            self.end_block(plain);
        } else if self.is_in_item() {
            let start = range.start - usize::from(is_escaped);
            let start = self.in_item.as_ref().map_or(start, |text| text.start);
            self.in_item = Some(start..range.end);
        }
        match event {
            Event::Text(text) => {
                let escaped = text.chars().next().filter(|_| is_escaped);
                if escaped.is_some() {
                    self.end_run();
                }
                self.run
                    .push_str(&text[escaped.map_or(0, char::len_utf8)..]);
            }
            Event::SoftBreak | Event::HardBreak => self.run.push('\n'),
            Event::Start(tag) => {
                self.end_run();
                if tag == Tag::HtmlBlock && is_comment(&plain[range.clone()]) {
                    self.runs.push(without_comments(&plain[range]));
                }
                self.open.push(tag);
            }
            Event::End(_) => {
                self.end_run();
                self.open.pop();
            }
            _ => self.end_run(),
        }
    }

    fn is_in_item(&self) -> bool {
        let mut blocks = self.open.iter().rev();
        let block = blocks.find(|tag| !is_inline(tag) && **tag != Tag::Paragraph);
        matches!(block, Some(Tag::Item))
    }

    /// Ends a run; the text of code and of pictures is none.
    fn end_run(&mut self) {
        let run = std::mem::take(&mut self.run);
        let is_silent = |tag: &Tag<'_>| matches!(tag, Tag::CodeBlock(_) | Tag::Image { .. });
        if !self.open.iter().any(is_silent) {
            self.runs.push(run);
        }
    }

    fn end_block(&mut self, plain: &str) {
        self.end_run();
        if let Some(text) = self.in_item.take() {
            self.imports.take(&plain[text]);
        }
        for run in self.runs.drain(..) {
            self.imports.take(&run);
        }
    }
}

fn is_inline(tag: &Tag<'_>) -> bool {
    matches!(
        tag,
        Tag::Emphasis | Tag::Strong | Tag::Link { .. } | Tag::Image { .. }
    )
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
    /// Adds the imports of a text.
    fn take(&mut self, text: &str) {
        let found = MENTION.as_ref().map(|mention| mention.captures_iter(text));
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
            ("\u{feff}**@a.md**", vec!["a.md"]),
            ("\\@a.md \\\\@b.md", vec!["b.md"]),
            ("![x @a.md](u) [x @b.md](u)", vec!["b.md"]),
            // The text of an item is looked through as it stands, and then its parts are.
            (
                "- `x @a.md y`\n- **@b.md** @c.md\n",
                vec!["a.md", "c.md", "b.md"],
            ),
            ("- \\@a.md\n\n  ![x @b.md c](u)\n", vec!["b.md"]),
            ("- x\n\n  > `y @a.md z`\n", vec![]),
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
            (
                "a\n<!--\nb\n-->\n<!--\nc\n-->\n---\n",
                "a\n<!--\nb\n-->\n<!--\nc\n-->\n---\n",
            ),
            ("a\n<!-- b -->\n---\n", "a\n---\n"),
            ("a\n\n<!--\nb\n-->\n---\n", "a\n\n---\n"),
            ("a\n<!--\nb\n-->\n- c\n---\n", "a\n- c\n---\n"),
            ("a\r\n<!-- b -->\r\nc\r\n", "a\nc\n"),
            ("# a\n  <!-- b -->\nc\n", "# a\nc\n"),
            ("# a\n  <!-- b --> c\n", "# a\n   c\n"),
            ("a\n  <!-- b -->\nc\n", "a\n  <!-- b -->\nc\n"),
            ("<!-- a -->\n[b]: c\n\nd [b]\n", "d [b]\n"),
            ("<!-- a -->\n- [b]: c\n", "- [b]: c\n"),
            ("[a]: b\n", "[a]: b\n"),
            ("a\r\n@b\r\n", "a\r\n@b\r\n"),
        ] {
            assert_eq!(read(body).text, expected, "{body:?}");
        }
    }
}
