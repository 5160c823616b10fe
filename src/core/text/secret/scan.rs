//! A pass over a text, with the secrets found.

use std::ops::Range;

use super::Secret;

/// A pass over a text. Rows of the tables read the text through it.
pub(super) struct Scan<'a> {
    text: &'a str,
    found: Vec<Secret>,
    seen: Seen,
    /// Where the last search for the end of a key began, and its result.
    fence: Option<(usize, Option<usize>)>,
}

/// Where the last hints ended.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Seen {
    pub(super) curl: Option<usize>,
    pub(super) login: Option<usize>,
    pub(super) password_command: Option<usize>,
    pub(super) redis: Option<usize>,
}

impl<'a> Scan<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            found: Vec::new(),
            seen: Seen::default(),
            fence: None,
        }
    }

    /// Returns the end of the last secret.
    pub(super) fn masked_to(&self) -> usize {
        self.found.last().map_or(0, |secret| secret.span.end)
    }

    /// Returns the secrets.
    pub(super) fn finish(self) -> Vec<Secret> {
        self.found
    }

    /// Adds a secret, without the part that overlaps the last one.
    pub(super) fn accept(&mut self, rule: &'static str, span: Range<usize>) {
        let span = self.whole(span.start.max(self.masked_to())..span.end);
        if !span.is_empty() {
            self.found.push(Secret { rule, span });
        }
    }

    pub(super) fn seen(&mut self) -> &mut Seen {
        &mut self.seen
    }

    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    pub(super) fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    pub(super) fn byte_before(&self, at: usize) -> Option<u8> {
        self.byte(at.checked_sub(1)?)
    }

    /// Returns the text of a span, widened to whole characters.
    pub(super) fn slice(&self, span: Range<usize>) -> &'a str {
        &self.text[self.whole(span)]
    }

    /// Returns the span, widened to whole characters.
    fn whole(&self, span: Range<usize>) -> Range<usize> {
        let (mut start, mut end) = (span.start.min(self.len()), span.end.min(self.len()));
        while !self.text.is_char_boundary(start) {
            start -= 1;
        }
        while !self.text.is_char_boundary(end) {
            end += 1;
        }
        start..end
    }

    /// Whether the text has these bytes at `at`, ignoring case.
    pub(super) fn has(&self, at: usize, word: &str) -> bool {
        let bytes = self.text.as_bytes().get(at..at + word.len());
        bytes.is_some_and(|bytes| bytes.eq_ignore_ascii_case(word.as_bytes()))
    }

    /// Returns the next end of a key from `at` on. No part of the text is searched twice.
    pub(super) fn next_fence(&mut self, at: usize) -> Option<usize> {
        if let Some((from, fence)) = self.fence
            && from <= at
            && fence.is_none_or(|fence| at <= fence)
        {
            return fence;
        }
        let rest = self.text.as_bytes().get(at..)?;
        let found = memchr::memmem::find(rest, b"-----END ");
        let fence = found.map(|found| at + found);
        self.fence = Some((at, fence));
        fence
    }

    /// Returns the end of the matching bytes from `at` on, at most `most` of them.
    pub(super) fn run(&self, at: usize, most: usize, mut fits: impl FnMut(u8) -> bool) -> usize {
        let bytes = self.text.as_bytes();
        let limit = at.saturating_add(most).min(bytes.len());
        let mut end = at.min(limit);
        while end < limit && fits(bytes[end]) {
            end += 1;
        }
        end
    }

    /// Returns the start of the matching bytes before `at`, at most `most` of them.
    pub(super) fn run_back(&self, at: usize, most: usize, fits: impl Fn(u8) -> bool) -> usize {
        let bytes = self.text.as_bytes();
        let limit = at.saturating_sub(most);
        let mut start = at;
        while start > limit && fits(bytes[start - 1]) {
            start -= 1;
        }
        start
    }

    /// Whether a word starts here. An escaped line break (`\n`) before it ends in a letter but does
    /// not belong to it, and `__` separates the parts of a tool's name.
    pub(super) fn starts_word(&self, at: usize) -> bool {
        let Some(before) = self.byte_before(at) else {
            return true;
        };
        let is_escape =
            matches!(before, b'n' | b'r' | b't') && self.byte_before(at - 1) == Some(b'\\');
        let is_separator = before == b'_' && self.byte_before(at - 1) == Some(b'_');
        is_escape || is_separator || !(before.is_ascii_alphanumeric() || before == b'_')
    }
}

/// Whether the byte is a space or a tab.
pub(super) fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

pub(super) fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'`')
}
