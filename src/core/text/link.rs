//! Links in Markdown text: `[text](file.md#part)` and `[[name]]`, by position.
//!
//! Parsing is linear in the text, whatever it contains: no failed search is repeated over the
//! same bytes.

use std::borrow::Cow;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::core::text::header::{Line, lines, replaced};

/// The syntax of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkSyntax {
    /// `[text](target)`.
    Inline,
    /// `[[target]]`.
    Wiki,
}

/// One link of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link<'a> {
    /// The syntax.
    pub form: LinkSyntax,
    /// The target without `#part`, title and `|label`, percent-decoded.
    pub target: Cow<'a, str>,
    /// The offset of the first bracket.
    pub start: usize,
    /// The range of the label.
    pub label: Range<usize>,
    /// The range of the target.
    pub span: Range<usize>,
    /// The offset behind the closing brackets.
    pub end: usize,
    /// `#part` after the target, or empty.
    part: &'a str,
    /// Whether `<…>` encloses the address.
    in_angles: bool,
}

impl Link<'_> {
    /// Returns the edit that makes the link point to the file `target` and keeps its `#part`.
    pub fn pointed_at(&self, target: &str) -> (Range<usize>, String) {
        if self.form == LinkSyntax::Wiki {
            return (self.span.clone(), target.to_owned());
        }
        let written = format!("{}{}", encoded(target), self.part);
        let range = self.span.start..self.span.end + self.part.len();
        if needs_angles(&written) && !self.in_angles {
            (range, format!("<{written}>"))
        } else {
            (range, written)
        }
    }
}

/// Returns a file as the address of a link: in `<…>` if it has blanks or parentheses,
/// percent-encoded where a character would end the address or the line.
pub fn address(target: &str) -> String {
    let written = encoded(target);
    if needs_angles(&written) {
        format!("<{written}>")
    } else {
        written
    }
}

fn needs_angles(address: &str) -> bool {
    address.contains([' ', '(', ')'])
}

fn encoded(target: &str) -> String {
    let mut out = String::with_capacity(target.len());
    for (at, c) in target.char_indices() {
        let is_code = || {
            let code = target.as_bytes().get(at + 1..at + 3);
            code.is_some_and(|code| code.iter().all(u8::is_ascii_hexdigit))
        };
        let breaks = c.is_control() || matches!(c, '<' | '>' | '#' | '\\');
        if breaks || (c == '%' && is_code()) {
            let mut bytes = [0; 4];
            for byte in c.encode_utf8(&mut bytes).bytes() {
                out.push_str(&format!("%{byte:02X}"));
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// Returns the links of `text`, in order.
pub fn links(text: &str) -> Vec<Link<'_>> {
    let mut scan = Scan {
        text,
        found: Vec::new(),
        open: Vec::new(),
    };
    for line in lines(text, 0) {
        scan.line(&line);
    }
    scan.found
}

/// The state of a scan for links.
struct Scan<'a> {
    text: &'a str,
    found: Vec<Link<'a>>,
    /// The open brackets of this paragraph.
    open: Vec<usize>,
}

/// The next occurrence of a byte in a line, such that every byte is examined once.
struct NextByte {
    byte: u8,
    from: usize,
    found: Option<usize>,
}

impl NextByte {
    fn of(byte: u8, from: usize) -> Self {
        Self {
            byte,
            from,
            found: None,
        }
    }
}

impl<'a> Scan<'a> {
    fn line(&mut self, line: &Line<'a>) {
        if line.text.trim().is_empty() {
            self.open.clear();
            return;
        }
        let closing = self.parentheses(line);
        let mut angle = NextByte::of(b'>', line.span.start);
        let mut close = NextByte::of(b')', line.span.start);
        let end = line.span.end;
        let mut at = line.span.start;
        while let Some(here) = self.bracket(at..end) {
            at = here + 1;
            if self.is_escaped(here) {
                continue;
            }
            let rest = &self.text[here..end];
            if rest.starts_with("[[")
                && let Some(closed) = self.bracket(here + 2..end)
                && self.text[closed..end].starts_with("]]")
            {
                self.wiki(here, closed);
                at = closed + 2;
            } else if rest.starts_with('[') {
                self.open.push(here);
            } else {
                let start = self.open.pop().unwrap_or(here);
                let label = (start + 1).min(here)..here;
                if rest.starts_with("](<")
                    && let Some(angle) = self.next(&mut angle, here + 3, end)
                    && let Some(closed) = self.next(&mut close, angle, end)
                {
                    self.inline((start, label), here + 3..angle, closed);
                    at = closed + 1;
                } else if let Ok(found) =
                    closing.binary_search_by_key(&(here + 1), |(opened, _)| *opened)
                {
                    let closed = closing[found].1;
                    self.inline((start, label), here + 2..closed, closed);
                    at = closed + 1;
                }
            }
        }
    }

    /// Returns the parentheses of a line that follow a bracket, each with its closing one, in order.
    fn parentheses(&self, line: &Line<'_>) -> Vec<(usize, usize)> {
        let mut closing = Vec::new();
        if !line.text.contains("](") {
            return closing;
        }
        let mut open: Vec<(usize, bool)> = Vec::new();
        let mut last = 0;
        for (at, byte) in line.text.bytes().enumerate() {
            let at = line.span.start + at;
            match byte {
                b'(' => open.push((at, last == b']')),
                b')' => {
                    if let Some((opened, true)) = open.pop() {
                        closing.push((opened, at));
                    }
                }
                _ => {}
            }
            last = byte;
        }
        closing.sort_unstable();
        closing
    }

    fn bracket(&self, range: Range<usize>) -> Option<usize> {
        let start = range.start;
        let found = self.text.get(range.clone())?.find(['[', ']']);
        found.map(|found| start + found)
    }

    fn next(&self, next: &mut NextByte, from: usize, end: usize) -> Option<usize> {
        if next.found.is_some_and(|found| found >= from) {
            return next.found;
        }
        let from = from.max(next.from);
        let found = self.text.as_bytes()[from..end]
            .iter()
            .position(|byte| *byte == next.byte)
            .map(|found| from + found);
        next.found = found;
        next.from = found.unwrap_or(end);
        found
    }

    /// Whether the bracket is escaped: an odd number of backslashes precedes it.
    fn is_escaped(&self, at: usize) -> bool {
        let before = self.text.as_bytes()[..at].iter().rev();
        let backslashes = before.take_while(|byte| **byte == b'\\').count();
        backslashes % 2 == 1
    }

    /// Adds the link between `[[` at `start` and `]]` at `closed`.
    fn wiki(&mut self, start: usize, closed: usize) {
        let inside = &self.text[start + 2..closed];
        let target = inside.split(['#', '|']).next().unwrap_or(inside);
        let label = inside.split_once('|').map_or(target, |(_, label)| label);
        let label_start = match inside.split_once('|') {
            Some(_) => closed - label.len(),
            None => start + 2,
        };
        if !target.is_empty() {
            self.found.push(Link {
                form: LinkSyntax::Wiki,
                target: Cow::Borrowed(target),
                start,
                label: label_start..label_start + label.len(),
                span: start + 2..start + 2 + target.len(),
                end: closed + 2,
                part: "",
                in_angles: false,
            });
        }
    }

    /// Adds the link with this address that ends with `)` at `closed`. Blanks are part of the
    /// address; a title after it is not.
    fn inline(
        &mut self,
        (start, label): (usize, Range<usize>),
        address: Range<usize>,
        closed: usize,
    ) {
        let in_angles = address.end < closed;
        let given = &self.text[address.clone()];
        let (from, bare) = if in_angles {
            (address.start, given)
        } else {
            let untitled = given.split(" \"").next().unwrap_or(given);
            let bare = untitled.trim();
            let blanks = untitled.len() - untitled.trim_start().len();
            (address.start + blanks, bare)
        };
        let target = bare.split('#').next().unwrap_or(bare);
        if !target.is_empty() {
            self.found.push(Link {
                form: LinkSyntax::Inline,
                target: percent_decode(target),
                start,
                label,
                span: from..from + target.len(),
                end: closed + 1,
                part: &bare[target.len()..],
                in_angles,
            });
        }
    }
}

/// Encodes `a b` to `a%20b`, for the path of a URI.
pub fn percent_encode(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                out.push(char::from(byte));
            }
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

/// Decodes `a%20b` to `a b`; invalid codes stay.
pub fn percent_decode(target: &str) -> Cow<'_, str> {
    if !target.contains('%') {
        return Cow::Borrowed(target);
    }
    let bytes = target.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let code = target
            .get(at + 1..at + 3)
            .filter(|_| bytes[at] == b'%')
            .and_then(|code| u8::from_str_radix(code, 16).ok());
        match code {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8(out).map_or(Cow::Borrowed(target), Cow::Owned)
}

/// Resolves `target` relative to the folder of `file`, with `.` and `..` removed; `None` for
/// URLs and for paths that leave the store.
pub fn resolve_target(file: &str, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with(['/', '#']) || target.starts_with("mailto:") {
        return None;
    }
    let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut parts: Vec<&str> = folder.split('/').filter(|p| !p.is_empty()).collect();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Resolves `target` relative to the folder of the file at this absolute path, wherever it leads;
/// `None` for URLs and absolute targets.
pub fn resolve_path(file: &Path, target: &str) -> Option<PathBuf> {
    let root = Path::new("/");
    let file = file.strip_prefix(root).ok()?.to_str()?;
    Some(root.join(resolve_target(file, target)?))
}

/// Returns the path of `to` relative to the folder of `file`.
pub fn relative_target(file: &str, to: &str) -> String {
    let from: Vec<&str> = file.split('/').collect();
    let target: Vec<&str> = to.split('/').collect();
    let folders = from.len() - 1;
    let shared = from[..folders]
        .iter()
        .zip(&target[..target.len() - 1])
        .take_while(|(a, b)| a == b)
        .count();
    let mut parts = vec![".."; folders - shared];
    parts.extend(&target[shared..]);
    parts.join("/")
}

/// A text whose links lead to new targets; `None` keeps one as it is.
pub fn relinked(text: &str, new_target: impl Fn(&Link<'_>) -> Option<String>) -> String {
    let edits: Vec<_> = links(text)
        .iter()
        .filter_map(|found| {
            let target = new_target(found)?;
            (target != found.target).then(|| found.pointed_at(&target))
        })
        .collect();
    replaced(text, &edits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_out_of_a_store_leads_to_a_path() {
        let resolve = |target| resolve_path(Path::new("/a/one/x.md"), target);
        assert_eq!(resolve("../two/y.md"), Some(PathBuf::from("/a/two/y.md")));
        assert_eq!(resolve("y.md"), Some(PathBuf::from("/a/one/y.md")));
        assert_eq!(resolve("https://x/y.md"), None);
        assert_eq!(resolve("../../../../y.md"), None);
    }

    #[test]
    fn both_forms_are_found_with_their_spans() {
        let text = "see [A](a.md#L3) and [[topic-2|label]], [x](http://e/y), [broken](\n[[open\n![i](pic.png \"t\")";
        let found: Vec<(String, &str)> = links(text)
            .into_iter()
            .map(|link| (link.target.into_owned(), &text[link.span]))
            .collect();
        let same = |target: &'static str| (target.to_owned(), target);
        assert_eq!(
            found,
            [
                same("a.md"),
                same("topic-2"),
                same("http://e/y"),
                same("pic.png")
            ]
        );
    }

    #[test]
    fn blanks_parentheses_and_codes_belong_to_the_target() {
        for (text, target) in [
            ("[x](a b.md)", "a b.md"),
            ("[x](<a b.md>)", "a b.md"),
            ("[x](a%20b.md#L1)", "a b.md"),
            ("[x](a(1).md)", "a(1).md"),
            ("[x](100%.md)", "100%.md"),
            ("[[WIP] y](z.md)", "z.md"),
        ] {
            let found = links(text);
            assert_eq!(found.len(), 1, "{text}");
            assert_eq!(found[0].target, target, "{text}");
            assert_eq!(found[0].end, text.len(), "{text}");
        }
    }

    #[test]
    fn a_link_is_known_from_bracket_to_parenthesis() {
        let text = "a [b [c] d](e.md#f \"t\"), [[g|h]] \\[i](j.md) [k](<l m.md#n>)";
        let found: Vec<(&str, &str, String)> = links(text)
            .into_iter()
            .map(|link| {
                let whole = &text[link.start..link.end];
                (whole, &text[link.label.clone()], link.target.into_owned())
            })
            .collect();
        let link = |whole, label, target: &str| (whole, label, target.to_owned());
        assert_eq!(
            found[..2],
            [
                link("[b [c] d](e.md#f \"t\")", "b [c] d", "e.md"),
                link("[[g|h]]", "h", "g")
            ]
        );
        assert_eq!(found[3], link("[k](<l m.md#n>)", "k", "l m.md"));
    }

    #[test]
    fn any_file_name_is_found_again_in_its_address() {
        for name in [
            " a .md",
            "a.md",
            "new name.md",
            "a(1).md",
            "a).md",
            "c#.md",
            "a%20b.md",
            "100%.md",
            "a<b>.md",
            "two\nlines.md",
            "tab\t.md",
            "back\\slash.md",
            "é ß.md",
        ] {
            let text = format!("see [x]({}) and more", address(name));
            let found = links(&text);
            assert_eq!(found.len(), 1, "{text}");
            assert_eq!(found[0].target, name, "{text}");
            assert_eq!(lines(&text, 0).count(), 1, "{text:?}");
        }
    }

    #[test]
    fn a_link_led_elsewhere_keeps_its_part_and_its_title() {
        for (text, to, expected) in [
            ("[x](a.md)", "b.md", "[x](b.md)"),
            ("[x](a.md#L3 \"t\")", "b c.md", "[x](<b c.md#L3> \"t\")"),
            ("[x](<a b.md#L3>)", "c.md", "[x](<c.md#L3>)"),
            ("[x](a b.md)", "c d.md", "[x](<c d.md>)"),
            ("[[a|label]]", "b", "[[b|label]]"),
        ] {
            let (range, with) = links(text)[0].pointed_at(to);
            let mut out = text.to_owned();
            out.replace_range(range, &with);
            assert_eq!(out, expected);
        }
    }

    #[test]
    fn a_target_is_relative_to_its_file() {
        assert_eq!(
            resolve_target("detail/a.md", "b.md").as_deref(),
            Some("detail/b.md")
        );
        assert_eq!(
            resolve_target("detail/x/a.md", "../b.md").as_deref(),
            Some("detail/b.md")
        );
        assert_eq!(resolve_target("a.md", "../b.md"), None);
        assert_eq!(resolve_target("a.md", "https://x"), None);
        assert_eq!(relative_target("detail/x/a.md", "detail/b.md"), "../b.md");
        assert_eq!(relative_target("a.md", "sub/b.md"), "sub/b.md");
        assert_eq!(relative_target("s/a.md", "s/b.md"), "b.md");
    }
}
