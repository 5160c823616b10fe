//! Text of others inside a Markdown document: it stays as it was written, and can neither end the place
//! that it stands in nor look like a part of the document.

/// A code block that a text has opened.
struct OpenBlock {
    mark: char,
    length: usize,
    indent: usize,
}

/// Returns a text in which every line break is a line feed: Markdown also breaks lines at others.
pub fn with_line_feeds(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// Formats a text of one line, such as a heading, whose beginnings of HTML are escaped.
pub fn embedded_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    escape_html(text, &mut false, &mut out);
    out
}

/// Adds a line with its beginnings of HTML escaped, except in a code span that begins and ends on it.
/// In a paragraph that `has_open` marks nobody knows where a span ends, and all are escaped, as on a
/// line that may be a row of a table, whose cells end spans. A heading of the document's own kind and
/// the definition of a link are escaped even in a list or a quote.
fn escape_html(line: &str, has_open: &mut bool, out: &mut String) {
    let mut rest = line;
    let mut is_escaped = false;
    let inner = line.trim_start_matches(|c: char| " \t>*+-.)".contains(c) || c.is_ascii_digit());
    if defines_link(inner) || is_heading(inner) {
        out.push_str(&line[..line.len() - inner.len()]);
        out.push('\\');
        rest = inner;
    }
    while let Some(c) = rest.chars().next() {
        let ticks = run(rest, '`');
        if ticks > 0 && !*has_open {
            let after = &rest[ticks..];
            match closing(after, ticks).filter(|_| !is_escaped && !line.contains('|')) {
                Some(end) => {
                    out.push_str(&rest[..ticks + end]);
                    rest = &after[end..];
                    continue;
                }
                None => *has_open = true,
            }
        }
        if begins_html(rest) && !is_escaped {
            out.push('\\');
        }
        is_escaped = c == '\\' && !is_escaped;
        out.push(c);
        rest = &rest[c.len_utf8()..];
    }
}

/// Returns where the span ends that so many marks have begun before this text.
fn closing(text: &str, ticks: usize) -> Option<usize> {
    let mut at = 0;
    while let Some(found) = text[at..].find('`') {
        let length = run(&text[at + found..], '`');
        at += found + length;
        if length == ticks {
            return Some(at);
        }
    }
    None
}

/// Whether a line may begin the definition of a link, which is not shown.
fn defines_link(line: &str) -> bool {
    let Some(label) = line.strip_prefix('[') else {
        return false;
    };
    let mut is_escaped = false;
    let end = label.find(|c| {
        let is_end = c == ']' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        is_end
    });
    end.is_none_or(|end| label[end..].starts_with("]:"))
}

fn begins_html(text: &str) -> bool {
    text.strip_prefix('<')
        .is_some_and(|tag| tag.starts_with(|c: char| c.is_ascii_alphabetic() || "/!?".contains(c)))
}

/// Formats a code block whose fence is longer than any in the text.
pub fn fenced(text: &str) -> String {
    let runs = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(runs.max(2) + 1);
    format!("{fence}\n{}\n{fence}", text.trim_end())
}

/// Formats a text as a part of a document whose own headings have one or two marks: such headings and
/// the beginnings of HTML are escaped, and a code block that is left open is closed. A text whose code
/// blocks may end elsewhere than they seem to, as in a list, is a code block as a whole.
pub fn embedded(text: &str) -> String {
    let text = &with_line_feeds(text);
    let mut out = String::with_capacity(text.len() + 16);
    let mut has_open = false;
    let mut open: Option<OpenBlock> = None;
    let mut is_after_text = false;
    for line in text.trim_end().lines() {
        let bare = line.trim_start_matches(' ');
        let indent = line.len() - bare.len();
        match &open {
            Some(block) if block.ends_at(indent, bare) => open = None,
            Some(block) if indent < block.indent && !bare.is_empty() => return fenced(text),
            Some(_) => {}
            None => {
                open = OpenBlock::begun_by(indent, bare);
                // Some take it as the head of a table.
                if open.is_some() && bare.contains('|') {
                    return fenced(text);
                }
                if open.is_none() {
                    has_open &= !is_blank(bare);
                    let inner = line.trim_start_matches([' ', '\t', '>']);
                    out.push_str(&line[..line.len() - inner.len()]);
                    if is_after_text && is_underline(inner) {
                        out.push('\\');
                    }
                    escape_html(inner, &mut has_open, &mut out);
                    out.push('\n');
                    is_after_text = !bare.is_empty();
                    continue;
                }
            }
        }
        is_after_text = !bare.is_empty();
        out.push_str(line);
        out.push('\n');
    }
    match open {
        Some(block) if block.indent > 0 => fenced(text),
        Some(block) => {
            out.extend(std::iter::repeat_n(block.mark, block.length));
            out
        }
        None => out.trim_end().to_owned(),
    }
}

impl OpenBlock {
    /// Returns the block that a line begins.
    fn begun_by(indent: usize, line: &str) -> Option<Self> {
        let mark = line
            .chars()
            .next()
            .filter(|mark| matches!(mark, '`' | '~'))?;
        let length = run(line, mark);
        let is_fence = indent < 4 && length >= 3 && !(mark == '`' && line[length..].contains('`'));
        is_fence.then_some(Self {
            mark,
            length,
            indent,
        })
    }

    fn ends_at(&self, indent: usize, line: &str) -> bool {
        let length = run(line, self.mark);
        indent < 4 && length >= self.length && is_blank(&line[length..])
    }
}

/// Returns how many of these marks a line begins with.
fn run(line: &str, mark: char) -> usize {
    line.chars().take_while(|c| *c == mark).count()
}

/// Whether Markdown takes a text as blank.
fn is_blank(text: &str) -> bool {
    text.trim_matches([' ', '\t']).is_empty()
}

/// Whether a line is a heading of the document's own kind.
fn is_heading(line: &str) -> bool {
    let marks = run(line, '#');
    (1..=2).contains(&marks) && line[marks..].chars().next().is_none_or(char::is_whitespace)
}

/// Whether a line below text makes a heading of it.
fn is_underline(line: &str) -> bool {
    let underlines = |mark| {
        let length = run(line, mark);
        length > 0 && is_blank(&line[length..])
    };
    underlines('=') || underlines('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cannot_forge_a_part_of_the_document() {
        for (text, expected) in [
            (
                "plain\n\n### deep\n- a\n\n---\n",
                "plain\n\n### deep\n- a\n\n---",
            ),
            ("## you\nhi", "\\## you\nhi"),
            ("  # you", "  \\# you"),
            ("#hash and ##", "#hash and ##"),
            ("you\n---", "you\n\\---"),
            ("<h2>you</h2>", "\\<h2>you\\</h2>"),
            ("<!-- hidden", "\\<!-- hidden"),
            ("a < b", "a < b"),
            ("so <details> and <!-- it", "so \\<details> and \\<!-- it"),
            ("is \\<b> \\\\<b>", "is \\<b> \\\\\\<b>"),
            ("a `Vec<u8>` and ``a`<b>``", "a `Vec<u8>` and ``a`<b>``"),
            (
                "an open ` here\n`<b>`\n\n`<b>`",
                "an open ` here\n`\\<b>`\n\n`<b>`",
            ),
            ("\\`<b>`", "\\`\\<b>`"),
            ("    <b>\n> <b>", "    \\<b>\n> \\<b>"),
            ("a\r## you\r\nb", "a\n\\## you\nb"),
            (
                "[a]: hidden\n> - [b\nc]: d",
                "\\[a]: hidden\n> - \\[b\nc]: d",
            ),
            ("- [ ] do\n[a\\]b](c)", "- [ ] do\n[a\\]b](c)"),
            ("```sh\n## kept\n```", "```sh\n## kept\n```"),
            ("````\n```\n## kept", "````\n```\n## kept\n````"),
            ("~~~\nopen", "~~~\nopen\n~~~"),
            ("1. a\n   ```\n   b\n   ```", "1. a\n   ```\n   b\n   ```"),
            // The list may have ended, so that the second fence opens a block.
            ("- a\n  ```\nb\n  ```", "````\n- a\n  ```\nb\n  ```\n````"),
            ("- ```\n  a\n  ```\n", "````\n- ```\n  a\n  ```\n````"),
            // Only spaces and tabs are blank.
            (
                "```\na\n```\u{3000}\n## b",
                "```\na\n```\u{3000}\n## b\n```",
            ),
            ("```\na\n``` \t\n## b", "```\na\n``` \t\n\\## b"),
            ("a `\n\u{a0}\n`<b>`", "a `\n\u{a0}\n`\\<b>`"),
            ("~~~a|b\n-|-\n~~~", "```\n~~~a|b\n-|-\n~~~\n```"),
            ("| `a | <b> ` |", "| `a | \\<b> ` |"),
            ("| `a | \\\\<b> ` |", "| `a | \\\\\\<b> ` |"),
            (
                "- ## a\n\n      # b\n> 1. # c",
                "- \\## a\n\n      \\# b\n> 1. \\# c",
            ),
            (
                "> you\n> ===\n\n- you\n\t---",
                "> you\n> \\===\n\n- you\n\t\\---",
            ),
        ] {
            assert_eq!(embedded(text), expected, "{text}");
        }
    }
}
