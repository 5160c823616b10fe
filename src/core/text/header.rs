//! The headers of memories, in the four formats that exist on disk.
//!
//! Readers are tolerant: anything that cannot be parsed is text. Writers splice: they replace the
//! bytes of one value and leave every other byte unchanged.

pub mod frontmatter;
pub mod label;
pub mod meta;
pub mod section;
pub mod summary;

use std::borrow::Cow;
use std::ops::Range;

/// One of several entries in a file: an episode, a lesson, a section.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Entry {
    /// The title as written.
    pub title: String,
    /// The one-line summary or description.
    pub summary: String,
    /// The first text of the body, if the format separates it.
    pub content: String,
    /// The date as written.
    pub date: Option<String>,
    /// Tags without `#`.
    pub tags: Vec<String>,
    /// The fragment after `#` in a reference to this entry, unique in its file.
    pub slug: String,
    /// How many entries of the file contain it.
    pub depth: usize,
    /// The line of the title, from 1.
    pub line: usize,
    /// The range of the whole entry in the file's text.
    pub span: Range<usize>,
}

/// A title as used in a reference: lower case, words joined by `-`.
pub fn slug(title: &str) -> String {
    let mut slug = String::with_capacity(title.len());
    for c in title.chars() {
        if c.is_alphanumeric() {
            slug.extend(c.to_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.truncate(slug.trim_end_matches('-').len());
    slug
}

/// The line ending of a text; if it mixes them, that of its first line.
pub fn newline(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// `text` with the bytes of `span` replaced.
pub fn splice(text: &str, span: Range<usize>, with: &str) -> String {
    let mut out = String::with_capacity(text.len() + with.len());
    out.push_str(&text[..span.start]);
    out.push_str(with);
    out.push_str(&text[span.end..]);
    out
}

/// `text` with each span replaced; the spans are sorted and do not overlap.
pub fn replaced(text: &str, edits: &[(Range<usize>, String)]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for (span, with) in edits {
        out.push_str(&text[at..span.start]);
        out.push_str(with);
        at = span.end;
    }
    out.push_str(&text[at..]);
    out
}

/// Whether the text has line endings and all of them are CRLF.
pub fn is_crlf(text: &str) -> bool {
    let mut ends = text.match_indices('\n').map(|(at, _)| at).peekable();
    ends.peek().is_some() && ends.all(|at| text[..at].ends_with('\r'))
}

/// `text` with CRLF at the end of every line.
pub fn in_crlf(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

/// `added` with the line endings of `text`, if that has only one kind.
pub fn fitted<'a>(text: &str, added: &'a str) -> Cow<'a, str> {
    if added.contains('\n') && is_crlf(text) {
        Cow::Owned(in_crlf(added))
    } else if added.contains('\r') && text.contains('\n') && !text.contains('\r') {
        Cow::Owned(added.replace("\r\n", "\n"))
    } else {
        Cow::Borrowed(added)
    }
}

/// A line of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line<'a> {
    /// The text without `\n` or `\r\n`.
    pub text: &'a str,
    /// The range of the text.
    pub span: Range<usize>,
    /// The end of the line, its line ending included.
    pub end: usize,
}

/// The lines of `text` that are not inside a fenced block or a comment of several lines, each with
/// its number from 1.
pub fn prose(text: &str) -> impl Iterator<Item = (usize, Line<'_>)> {
    const COMMENT: &str = "<!--";
    let mut hidden_by: Option<&str> = None;
    lines(text, 0).enumerate().filter_map(move |(at, line)| {
        let bare = line.text.trim_start();
        let opened = match bare.starts_with(COMMENT) {
            true => Some(COMMENT),
            false => fence(bare),
        };
        match hidden_by {
            Some(mark) => {
                let is_end = match mark {
                    COMMENT => bare.contains("-->"),
                    // A closing fence is at least as long, and nothing stands behind it.
                    fence => {
                        bare.starts_with(fence)
                            && bare.trim_end().trim_matches(['`', '~']).is_empty()
                    }
                };
                hidden_by = Some(mark).filter(|_| !is_end);
                None
            }
            None if opened == Some(COMMENT) && bare.contains("-->") => Some((at + 1, line)),
            None => {
                hidden_by = opened;
                opened.is_none().then_some((at + 1, line))
            }
        }
    })
}

/// The signs with which a line opens a fenced block. Behind backticks there is none: a line that has
/// more of them has code within it.
fn fence(line: &str) -> Option<&str> {
    let sign = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let rest = line.trim_start_matches(sign);
    let signs = &line[..line.len() - rest.len()];
    (signs.len() >= 3 && !(sign == '`' && rest.contains(sign))).then_some(signs)
}

/// The lines of `text` from byte `from` on.
pub fn lines(text: &str, from: usize) -> impl Iterator<Item = Line<'_>> {
    let mut at = from;
    std::iter::from_fn(move || {
        if at >= text.len() {
            return None;
        }
        let start = at;
        let end = text[start..]
            .find('\n')
            .map_or(text.len(), |found| start + found + 1);
        at = end;
        let line = &text[start..end];
        let bare = line.strip_suffix('\n').unwrap_or(line);
        let bare = bare.strip_suffix('\r').unwrap_or(bare);
        Some(Line {
            text: bare,
            span: start..start + bare.len(),
            end,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slug_keeps_letters_and_digits_of_any_script() {
        for (title, expected) in [
            ("Logger stdout leak fix", "logger-stdout-leak-fix"),
            ("  C++ / Rust: FFI!  ", "c-rust-ffi"),
            ("버전 형식 2", "버전-형식-2"),
            ("***", ""),
        ] {
            assert_eq!(slug(title), expected);
        }
    }

    #[test]
    fn lines_know_their_places_whatever_ends_them() {
        let text = "x\none\r\n\ntwo";
        let found: Vec<(&str, Range<usize>, usize)> = lines(text, 2)
            .map(|line| (line.text, line.span, line.end))
            .collect();
        assert_eq!(found, [("one", 2..5, 7), ("", 7..7, 8), ("two", 8..11, 11)]);
        assert_eq!(lines(text, text.len()).count(), 0);
    }

    #[test]
    fn a_fence_is_closed_by_its_own_mark() {
        let text = "a\n```\nin\n~~~\nin\n```\nb\n  ~~~\n```\n~~~\nc\n";
        let found: Vec<(usize, &str)> = prose(text)
            .map(|(number, line)| (number, line.text))
            .collect();
        assert_eq!(found, [(1, "a"), (7, "b"), (11, "c")]);
    }

    #[test]
    fn the_first_line_says_how_lines_end() {
        for (text, ending) in [
            ("", "\n"),
            ("a", "\n"),
            ("a\nb\r\n", "\n"),
            ("a\r\nb\n", "\r\n"),
            ("\r\n", "\r\n"),
        ] {
            assert_eq!(newline(text), ending, "{text:?}");
        }
    }
}
