//! A pass over a text: what has been found, and how much was looked at.

use std::ops::Range;

use super::Secret;

/// A pass over a text. Rows of the tables look at the text through it, so that what they look at is
/// counted.
pub(super) struct Scan<'a> {
    text: &'a str,
    found: Vec<Secret>,
    /// How many bytes were looked at.
    work: usize,
    seen: Seen,
    /// Where the end of a key was last looked for, and where it is.
    fence: Option<(usize, Option<usize>)>,
}

/// Where words were last seen that say what a later word means.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Seen {
    pub(super) curl: Option<usize>,
    pub(super) login: Option<usize>,
    pub(super) password_command: Option<usize>,
}

impl<'a> Scan<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            found: Vec::new(),
            work: 0,
            seen: Seen::default(),
            fence: None,
        }
    }

    /// The end of what was found last.
    pub(super) fn masked_to(&self) -> usize {
        self.found.last().map_or(0, |secret| secret.span.end)
    }

    /// What was found, and how many bytes were looked at.
    pub(super) fn finish(self) -> (Vec<Secret>, usize) {
        (self.found, self.work)
    }

    /// Takes a secret in.
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

    /// The text of a span, widened to whole characters.
    pub(super) fn slice(&mut self, span: Range<usize>) -> &'a str {
        self.work += span.len();
        &self.text[self.whole(span)]
    }

    /// The span, widened to whole characters.
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

    /// Whether the text has these bytes at `at`, whatever their case.
    pub(super) fn has(&mut self, at: usize, word: &str) -> bool {
        self.work += word.len();
        let bytes = self.text.as_bytes().get(at..at + word.len());
        bytes.is_some_and(|bytes| bytes.eq_ignore_ascii_case(word.as_bytes()))
    }

    /// Where the next end of a key is, from `at` on. It is looked for once in each stretch of text.
    pub(super) fn next_fence(&mut self, at: usize) -> Option<usize> {
        if let Some((from, fence)) = self.fence
            && from <= at
            && fence.is_none_or(|fence| at <= fence)
        {
            return fence;
        }
        let rest = self.text.as_bytes().get(at..)?;
        let found = memchr::memmem::find(rest, b"-----END ");
        self.work += found.unwrap_or(rest.len());
        let fence = found.map(|found| at + found);
        self.fence = Some((at, fence));
        fence
    }

    /// The end of the bytes from `at` on that fit, of `most` at most.
    pub(super) fn run(
        &mut self,
        at: usize,
        most: usize,
        mut fits: impl FnMut(u8) -> bool,
    ) -> usize {
        let bytes = self.text.as_bytes();
        let limit = at.saturating_add(most).min(bytes.len());
        let mut end = at.min(limit);
        while end < limit && fits(bytes[end]) {
            end += 1;
        }
        self.work += end - at.min(end) + 1;
        end
    }

    /// The start of the bytes before `at` that fit, of `most` at most.
    pub(super) fn run_back(&mut self, at: usize, most: usize, fits: impl Fn(u8) -> bool) -> usize {
        let bytes = self.text.as_bytes();
        let limit = at.saturating_sub(most);
        let mut start = at;
        while start > limit && fits(bytes[start - 1]) {
            start -= 1;
        }
        self.work += at - start + 1;
        start
    }

    /// Whether a word starts here: nothing before it belongs to it. A written line break (`\n`) ends
    /// in a letter and still ends a word.
    pub(super) fn starts_word(&self, at: usize) -> bool {
        let Some(before) = self.byte_before(at) else {
            return true;
        };
        let is_escape =
            matches!(before, b'n' | b'r' | b't') && self.byte_before(at - 1) == Some(b'\\');
        is_escape || !(before.is_ascii_alphanumeric() || before == b'_')
    }
}

/// A blank within a line.
pub(super) fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

pub(super) fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'`')
}
