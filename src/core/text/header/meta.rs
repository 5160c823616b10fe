//! The META comment of a detail file: `# Title`, then a comment whose first line is `META:`, with
//! `created` and `keywords`, each on a line with or without a dash before it.

use std::ops::Range;

use super::lines;

/// The header of a detail file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Meta {
    /// The first heading, without `#`.
    pub title: Option<String>,
    /// When the note was created, as written.
    pub created: Option<String>,
    /// The keywords.
    pub keywords: Vec<String>,
    /// The range of the whole comment, if there is one.
    pub comment: Option<Range<usize>>,
    /// Where the content after heading and comment starts.
    pub body: usize,
}

impl Meta {
    /// Parses the header of `text`; missing values stay empty.
    pub fn parse(text: &str) -> Self {
        let mut meta = Self::default();
        for line in lines(text, 0) {
            let bare = line.text.trim_start_matches('\u{feff}').trim();
            if let Some(title) = bare.strip_prefix("# ")
                && meta.title.is_none()
            {
                meta.title = Some(title.trim().to_owned());
                meta.body = line.end;
            } else if bare.starts_with("<!--") {
                meta.read_comment(text, line.span.start);
                break;
            } else if !bare.is_empty() {
                break;
            }
        }
        meta
    }

    fn read_comment(&mut self, text: &str, start: usize) {
        let open = start + text[start..].find("<!--").unwrap_or(0);
        let inside = open + "<!--".len();
        let Some(length) = text[inside..].find("-->") else {
            return;
        };
        let comment = &text[inside..inside + length];
        let mut meta_lines = comment.lines().map(str::trim).filter(|l| !l.is_empty());
        if !meta_lines
            .next()
            .is_some_and(|first| first.starts_with("META:"))
        {
            return;
        }
        for line in meta_lines {
            let line = line.strip_prefix('-').unwrap_or(line).trim();
            match line.split_once(':') {
                Some(("created", value)) => self.created = Some(value.trim().to_owned()),
                Some(("keywords", value)) => self.keywords = keywords(value.trim()),
                _ => {}
            }
        }
        let end = inside + length + "-->".len();
        self.comment = Some(open..end);
        let rest = &text[end..];
        self.body = end + (rest.len() - rest.trim_start_matches([' ', '\r', '\n']).len());
    }
}

/// A JSON array or, leniently, words separated by commas.
fn keywords(value: &str) -> Vec<String> {
    serde_json::from_str(value).unwrap_or_else(|_| {
        value
            .trim_matches(['[', ']'])
            .split(',')
            .map(|word| word.trim().trim_matches(['"', '\'']).to_owned())
            .filter(|word| !word.is_empty())
            .collect()
    })
}

/// An existing comment with other keywords; the rest of it is unchanged.
pub fn with_keywords(comment: &str, keywords: &[String]) -> String {
    let value = serde_json::Value::from(keywords.to_vec()).to_string();
    for line in lines(comment, 0) {
        let bare = line.text.trim_start();
        let bare = bare.strip_prefix('-').unwrap_or(bare).trim_start();
        if let Some(rest) = bare.strip_prefix("keywords:") {
            let start = line.span.end - rest.len();
            return super::splice(comment, start..line.span.end, &format!(" {value}"));
        }
    }
    let end = comment.rfind("-->").unwrap_or(comment.len());
    super::splice(comment, end..end, &format!("- keywords: {value}\n"))
}

/// The header of a new detail file, up to and including the blank line before its content.
pub fn format_head(title: &str, created: &str, keywords: &[String]) -> String {
    let keywords = serde_json::Value::from(keywords.to_vec());
    format!("# {title}\n\n<!--\nMETA:\n- created: {created}\n- keywords: {keywords}\n-->\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_dialects_are_read() {
        for text in [
            "# Auth\n\n<!-- META:\n- created: 2026-01-02T03:04:05Z\n- keywords: [\"a\",\"b c\"]\n-->\n\nBody\n",
            "# Auth\n<!--\nMETA:\ncreated: 2026-01-02T03:04:05Z\nkeywords: [\"a\", \"b c\"]\n-->\nBody\n",
            "\u{feff}# Auth\r\n<!-- META:\r\n  created: 2026-01-02T03:04:05Z\r\n  keywords: a, b c\r\n-->\r\nBody\n",
        ] {
            let meta = Meta::parse(text);
            assert_eq!(meta.title.as_deref(), Some("Auth"));
            assert_eq!(meta.created.as_deref(), Some("2026-01-02T03:04:05Z"));
            assert_eq!(meta.keywords, ["a", "b c"]);
            assert_eq!(&text[meta.body..], "Body\n");
        }
    }

    #[test]
    fn an_indented_comment_is_found_where_it_stands() {
        let text = "# T\n\n  <!-- META:\n- created: x\n- keywords: 'a',, \"b\" ,\n-->\n\nBody\n";
        let meta = Meta::parse(text);
        assert_eq!(meta.created.as_deref(), Some("x"));
        assert_eq!(meta.keywords, ["a", "b"]);
        let comment = &text[meta.comment.expect("a comment")];
        assert!(
            comment.starts_with("<!-- META:") && comment.ends_with("\n-->"),
            "{comment}"
        );
        assert_eq!(&text[meta.body..], "Body\n");
    }

    #[test]
    fn other_comments_and_plain_text_are_body() {
        for (text, title) in [
            ("# T\n<!-- a note -->\nx", Some("T")),
            ("text\n# T\n", None),
            ("<!-- META:\n never closed", None),
            ("", None),
        ] {
            let meta = Meta::parse(text);
            assert_eq!(meta.title.as_deref(), title, "{text:?}");
            assert_eq!(meta.comment, None, "{text:?}");
        }
    }

    #[test]
    fn other_keys_of_a_comment_stay() {
        let comment =
            "<!-- META:\n- created: x\n- keywords: [\"a\"]\n- source: messages.jsonl#L4\n-->";
        assert_eq!(
            with_keywords(comment, &["b".to_owned()]),
            comment.replace("[\"a\"]", "[\"b\"]")
        );
        assert_eq!(
            with_keywords("<!-- META:\n-->", &["b".to_owned()]),
            "<!-- META:\n- keywords: [\"b\"]\n-->"
        );
    }

    #[test]
    fn a_written_head_reads_back() {
        let head = format_head(
            "T",
            "2026-01-02T03:04:05Z",
            &["x".to_owned(), "y \"q\"".to_owned()],
        );
        let meta = Meta::parse(&head);
        assert_eq!(meta.title.as_deref(), Some("T"));
        assert_eq!(meta.keywords, ["x", "y \"q\""]);
        assert_eq!(meta.body, head.len());
    }
}
