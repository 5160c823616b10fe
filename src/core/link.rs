//! Links in Markdown text: `](file.md#part)` and `[[name]]`, by position.

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
    /// The target without `#part` and without `|label`.
    pub target: &'a str,
    /// Where the target is in the text.
    pub span: Range<usize>,
}

/// The links of `text`, in order.
pub fn links(text: &str) -> Vec<Link<'_>> {
    let mut links = Vec::new();
    let mut at = 0;
    while let Some(found) = text[at..].find(['[', ']']) {
        let here = at + found;
        let rest = &text[here..];
        let (form, open, close) = if rest.starts_with("[[") {
            (Form::Wiki, 2, "]]")
        } else if rest.starts_with("](") {
            (Form::Inline, 2, ")")
        } else {
            at = here + 1;
            continue;
        };
        let start = here + open;
        let line_end = text[start..].find('\n').map_or(text.len(), |n| start + n);
        let Some(length) = text[start..line_end].find(close) else {
            at = start;
            continue;
        };
        let inside = &text[start..start + length];
        let end = inside.find(['#', '|', ' ', '"']).unwrap_or(length);
        let end = match form {
            Form::Wiki => inside.find(['#', '|']).unwrap_or(length),
            Form::Inline => end,
        };
        let target = &inside[..end];
        if !target.is_empty() {
            links.push(Link {
                form,
                target,
                span: start..start + end,
            });
        }
        at = start + length;
    }
    links
}

/// The path that `target` means when it stands in `file`: relative to the file's folder, with
/// `.` and `..` taken out; `None` for addresses and for paths that leave the store.
pub fn resolved(file: &str, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with(['/', '#']) {
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
        let found: Vec<(&str, &str)> = links(text)
            .into_iter()
            .map(|link| (link.target, &text[link.span]))
            .collect();
        assert_eq!(
            found,
            [
                ("a.md", "a.md"),
                ("topic-2", "topic-2"),
                ("http://e/y", "http://e/y"),
                ("pic.png", "pic.png")
            ]
        );
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
