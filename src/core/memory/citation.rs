//! Citations: `[store:]path[#part]`, as all interfaces accept and print them; that of a message of a log
//! has a mark of its text behind the line, by which it is known in a log that was rewritten.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use crate::core::memory::Memory;
use crate::core::memory::layout::Layout;
use crate::core::text::clip;
use crate::core::text::header::lines;
use crate::core::text::header::section::by_heading;

/// A reference to a file or a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Citation {
    /// The store, if one is named.
    pub store: Option<String>,
    /// The path inside the store.
    pub path: String,
    /// The cited part.
    pub part: CitedPart,
    /// The mark of the text on the cited line of a log; see [`text_mark`].
    pub mark: Option<String>,
}

/// Returns the mark of a message: a hash of how it begins.
pub fn text_mark(text: &str) -> String {
    const BEGINNING: usize = 256;
    let hash = blake3::hash(clip(text, BEGINNING).as_bytes()).to_hex();
    hash[..MARK].to_owned()
}

/// The length of a mark.
const MARK: usize = 6;

/// A part of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CitedPart {
    /// The whole file.
    Whole,
    /// Lines, from 1.
    Lines(RangeInclusive<usize>),
    /// The entry whose title has this slug.
    Entry(String),
}

impl FromStr for Citation {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (store, rest) = match text.split_once(':') {
            Some((name, rest)) if is_store_name(name) && !rest.is_empty() => {
                (Some(name.to_owned()), rest)
            }
            _ => (None, text),
        };
        Ok(Self {
            store,
            ..Self::of_path(rest)
        })
    }
}

impl Citation {
    /// The citation of a text that names no store: what looks like one belongs to the path.
    pub fn of_path(text: &str) -> Self {
        let (text, mark) = match text.rsplit_once('@') {
            Some((cited, mark)) if is_mark(cited, mark) => (cited, Some(mark.to_owned())),
            _ => (text, None),
        };
        let (path, part) = match text.rsplit_once('#') {
            Some((path, part)) if !path.is_empty() => {
                let Ok(part) = part.parse::<CitedPart>();
                (path, part)
            }
            _ => (text, CitedPart::Whole),
        };
        Self {
            store: None,
            path: path.to_owned(),
            part,
            mark,
        }
    }

    /// The citation of a file whose name looks like that of a part.
    #[must_use]
    pub fn as_file(&self) -> Self {
        let named = Self {
            store: None,
            ..self.clone()
        };
        Self {
            store: self.store.clone(),
            path: named.to_string(),
            part: CitedPart::Whole,
            mark: None,
        }
    }
}

/// Whether a text is a mark, which only stands behind the line of a log.
fn is_mark(cited: &str, text: &str) -> bool {
    let is_line = |(_, part): (&str, &str)| {
        let line = part.strip_prefix('L');
        line.is_some_and(|line| line.parse::<usize>().is_ok())
    };
    text.len() == MARK
        && text.bytes().all(|byte| byte.is_ascii_hexdigit())
        && cited.rsplit_once('#').is_some_and(is_line)
}

/// Returns whether this is a store name. Names have few special characters, so that a path
/// with a colon is not mistaken for one.
pub(in crate::core) fn is_store_name(name: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '@' | '~');
    // `a:b.md` is a path.
    name.chars().count() > 1 && name.chars().all(plain)
}

impl FromStr for CitedPart {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let lines = text.strip_prefix('L').and_then(|numbers| {
            let (from, to) = numbers.split_once('-').unwrap_or((numbers, numbers));
            let from = from.parse::<usize>().ok()?;
            let to = to.trim_start_matches('L').parse::<usize>().ok()?;
            (from >= 1 && to >= from).then_some(from..=to)
        });
        Ok(match lines {
            Some(lines) => Self::Lines(lines),
            None => Self::Entry(text.to_owned()),
        })
    }
}

impl fmt::Display for Citation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(store) = &self.store {
            write!(f, "{store}:")?;
        }
        f.write_str(&self.path)?;
        match &self.part {
            CitedPart::Whole => {}
            CitedPart::Lines(lines) if lines.start() == lines.end() => {
                write!(f, "#L{}", lines.start())?;
            }
            CitedPart::Lines(lines) => write!(f, "#L{}-{}", lines.start(), lines.end())?,
            CitedPart::Entry(slug) => write!(f, "#{slug}")?,
        }
        match &self.mark {
            Some(mark) => write!(f, "@{mark}"),
            None => Ok(()),
        }
    }
}

impl CitedPart {
    /// Returns the text of this part; `None` if the file has no such part.
    pub fn of<'a>(&self, text: &'a str, memory: &Memory, layout: Layout) -> Option<&'a str> {
        match self {
            Self::Whole => Some(text),
            Self::Lines(wanted) => {
                let mut wanted_lines = lines(text, 0)
                    .enumerate()
                    .filter(|(at, _)| wanted.contains(&(at + 1)));
                let (_, first) = wanted_lines.next()?;
                let end = wanted_lines.last().map_or(first.end, |(_, last)| last.end);
                Some(&text[first.span.start..end])
            }
            Self::Entry(slug) => {
                let entry = memory.entries.iter().find(|entry| entry.slug == *slug);
                match entry {
                    Some(entry) => Some(&text[entry.span.clone()]),
                    None if layout == Layout::Events => None,
                    None => section(text, slug),
                }
            }
        }
    }
}

/// Returns the section below the first heading whose title has this slug.
fn section<'a>(text: &'a str, slug: &str) -> Option<&'a str> {
    let sections = by_heading(text, 1..=6).into_iter();
    let mut found = sections.filter(|section| section.slug == slug);
    found.next().map(|section| &text[section.span])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_reads_back() {
        for text in [
            "detail/x.md#L10",
            "detail/x.md#L10-12",
            "messages.jsonl#L45",
            "facts/user.md",
            "episodes/2026-02.md#logger-stdout-leak-fix",
            "shop:user_prefs.md",
            ".memory:a.md#L1",
            "codex:id@0123abcd#L10@0a1b2c",
        ] {
            let citation: Citation = text.parse().expect("never fails");
            assert_eq!(citation.to_string(), text);
        }
    }

    #[test]
    fn a_colon_in_a_path_is_not_a_store() {
        for text in ["a/b:c.md", "C:x.md", "a b:c.md", "name:"] {
            let citation: Citation = text.parse().expect("never fails");
            assert_eq!(citation.store, None, "{text}");
        }
    }

    #[test]
    fn parts_are_lines_entries_or_sections() {
        let text = "# A\nx\n## B b\ny\nz\n### C\nc\n## D\n";
        let memory = Memory::bare("a.md", text.len() as u64);
        let part = |part: &str| {
            let part: CitedPart = part.parse().expect("never fails");
            part.of(text, &memory, Layout::Index)
        };
        assert_eq!(part("L2"), Some("x\n"));
        assert_eq!(part("L2-3"), Some("x\n## B b\n"));
        assert_eq!(part("L99"), None);
        assert_eq!(part("b-b"), Some("## B b\ny\nz\n### C\nc\n"));
        assert_eq!(part("d"), Some("## D\n"));
        assert_eq!(part("none"), None);
    }
}
