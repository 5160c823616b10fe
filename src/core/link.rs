//! Links in Markdown text: `](file.md#part)` and `[[name]]`, by position.

use std::borrow::Cow;
use std::ops::Range;

/// How a link is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `[text](target)`.
    Inline,
    /// `[[target]]`.
    Wiki,
}

/// One link of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link<'a> {
    /// How it is written.
    pub form: Form,
    /// The target without `#part`, title and `|label`, percent signs decoded.
    pub target: Cow<'a, str>,
    /// Where the target is in the text.
    pub span: Range<usize>,
    /// Where the link ends, its closing brackets included.
    pub end: usize,
}

/// The links of `text`, in order.
pub fn links(text: &str) -> Vec<Link<'_>> {
    let mut links = Vec::new();
    let mut at = 0;
    while let Some(found) = text[at..].find(['[', ']']) {
        let here = at + found;
        let rest = &text[here..];
        let link = if rest.starts_with("[[") {
            wiki(text, here + 2)
        } else if rest.starts_with("](") {
            inline(text, here + 2)
        } else {
            None
        };
        at = link.as_ref().map_or(here + 1, |link| link.end);
        links.extend(link);
    }
    links
}

/// The link whose target starts at `start`, after `[[`.
fn wiki(text: &str, start: usize) -> Option<Link<'_>> {
    let line = line_from(text, start);
    let length = line.find("]]")?;
    let inside = &line[..length];
    let target = inside.split(['#', '|']).next().unwrap_or(inside);
    (!target.is_empty()).then(|| Link {
        form: Form::Wiki,
        target: Cow::Borrowed(target),
        span: start..start + target.len(),
        end: start + length + 2,
    })
}

/// The link whose target starts at `start`, after `](`; parentheses in it are balanced, blanks
/// are part of it, and `<…>` around it is not.
fn inline(text: &str, start: usize) -> Option<Link<'_>> {
    let line = line_from(text, start);
    let mut depth = 0_usize;
    let length = line.char_indices().find_map(|(at, c)| {
        match c {
            '(' => depth += 1,
            ')' if depth == 0 => return Some(at),
            ')' => depth -= 1,
            _ => {}
        }
        None
    })?;
    let inside = &line[..length];
    let (offset, target) = match inside
        .strip_prefix('<')
        .and_then(|rest| rest.split_once('>'))
    {
        Some((target, _)) => (1, target),
        None => (0, inside.split(" \"").next().unwrap_or(inside).trim_end()),
    };
    let target = target.split('#').next().unwrap_or(target);
    (!target.is_empty()).then(|| Link {
        form: Form::Inline,
        target: decoded(target),
        span: start + offset..start + offset + target.len(),
        end: start + length + 1,
    })
}

fn line_from(text: &str, start: usize) -> &str {
    let rest = &text[start..];
    &rest[..rest.find('\n').unwrap_or(rest.len())]
}

/// `a%20b` as `a b`; what is no such code stays.
fn decoded(target: &str) -> Cow<'_, str> {
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

/// The path that `target` means when it stands in `file`: relative to the file's folder, with
/// `.` and `..` taken out; `None` for addresses and for paths that leave the store.
pub fn resolved(file: &str, target: &str) -> Option<String> {
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

/// How `file` writes a link to `to`: relative to the file's folder.
pub fn relative(file: &str, to: &str) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_target_is_relative_to_its_file() {
        assert_eq!(
            resolved("detail/a.md", "b.md").as_deref(),
            Some("detail/b.md")
        );
        assert_eq!(
            resolved("detail/x/a.md", "../b.md").as_deref(),
            Some("detail/b.md")
        );
        assert_eq!(resolved("a.md", "../b.md"), None);
        assert_eq!(resolved("a.md", "https://x"), None);
        assert_eq!(relative("detail/x/a.md", "detail/b.md"), "../b.md");
        assert_eq!(relative("a.md", "sub/b.md"), "sub/b.md");
        assert_eq!(relative("s/a.md", "s/b.md"), "b.md");
    }
}
