//! Finds and masks secrets in text that leaves the machine or is stored a second time.
//!
//! Three tables define what a secret is: `TOKENS` has secrets with a fixed start, `NAMES` the names
//! whose values are secrets, `CONTEXTS` everything else, such as a password in a URL. Each row has
//! an example and a similar text that is not a secret. One kind has neither a start nor a name, and
//! is known by its letters alone. Other secrets are not found.
//!
//! The work is linear in the length of the text. Two automata pass over it once and find where a
//! row may apply; the row then examines a bounded number of bytes, and more only of what it masks.

mod bare;
mod context;
mod names;
mod scan;
#[cfg(test)]
mod tests;
mod tokens;
mod value;

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use rustc_hash::FxHashSet;

use context::CONTEXTS;
use names::NAMES;
pub use names::is_secret_key;
use scan::Scan;
use tokens::{INFIXES, TOKENS};

/// The replacement for a secret.
pub const MASKED: &str = "‹masked›";

/// A secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret {
    /// The kind of secret, in a few words.
    pub rule: &'static str,
    /// The byte range, without the part that only identifies the kind (`ghp_`, `PASSWORD=`).
    pub span: Range<usize>,
}

/// Returns `text` with every secret in it masked.
pub fn mask(text: &str) -> String {
    let found = find(text);
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for secret in found {
        out.push_str(&text[from..secret.span.start]);
        out.push_str(MASKED);
        from = secret.span.end;
    }
    out.push_str(&text[from..]);
    out
}

/// The secrets of some texts. A part of such a text may lack what a secret is recognized by, or end
/// within it.
#[derive(Debug, Default)]
pub struct KnownSecrets {
    /// Sorted.
    all: Vec<String>,
    /// How they begin. An automaton of a hundred thousand secrets would take 200 MB.
    starts: FxHashSet<[u8; SHORTEST_PART]>,
}

/// The length from which a part of a known secret is masked.
const SHORTEST_PART: usize = 6;

impl KnownSecrets {
    /// Returns the secrets of the texts; those of several lines line by line. A password that is an
    /// ordinary word is masked only where it stands as a secret: elsewhere it is that word.
    pub fn of<'a>(texts: impl Iterator<Item = &'a str>) -> Self {
        let mut all: Vec<String> = Vec::new();
        for text in texts {
            for secret in find(text) {
                let lines = text[secret.span].lines().map(str::trim);
                let lines = lines.filter(|line| line.len() >= SHORTEST_PART && !is_word(line));
                all.extend(lines.map(str::to_owned));
            }
        }
        all.sort_unstable();
        all.dedup();
        let starts = all.iter().filter_map(|secret| start_of(secret));
        Self {
            starts: starts.collect(),
            all,
        }
    }

    /// Returns a part of the texts, or words about them, with every secret masked.
    pub fn mask(&self, text: &str) -> String {
        let text = mask(text);
        if self.all.is_empty() {
            return text;
        }
        let mut masked = String::with_capacity(text.len());
        let mut rest = &*text;
        while let Some(first) = rest.chars().next() {
            match self.longest_at_start(rest) {
                Some(length) => {
                    masked.push_str(MASKED);
                    rest = &rest[length..];
                }
                None => {
                    masked.push(first);
                    rest = &rest[first.len_utf8()..];
                }
            }
        }
        let cut = masked.trim_end_matches(['…', '.', ' ']).len();
        if let Some(part) = self.part_at_end(&masked[..cut]) {
            masked.replace_range(cut - part..cut, MASKED);
        }
        masked
    }

    /// The length of the longest secret that a text begins with.
    fn longest_at_start(&self, text: &str) -> Option<usize> {
        let mut whole = text;
        while self.starts.contains(&start_of(whole)?) {
            let after = self.all.partition_point(|secret| secret.as_str() <= whole);
            let nearest = &self.all[after.checked_sub(1)?];
            if whole.starts_with(nearest.as_str()) {
                return Some(nearest.len());
            }
            // A shorter one can only be what both have in common.
            let both = nearest.chars().zip(whole.chars());
            let common = both.take_while(|(a, b)| a == b);
            whole = &whole[..common.map(|(c, _)| c.len_utf8()).sum()];
        }
        None
    }

    /// How much of the beginning of a secret a text ends with; `None` if it is too little to matter.
    fn part_at_end(&self, text: &str) -> Option<usize> {
        let mut ends = text.char_indices().map(|(at, _)| &text[at..]);
        let is_part = |end: &&str| {
            let is_start = start_of(end).is_some_and(|start| self.starts.contains(&start));
            let at = self.all.partition_point(|secret| secret.as_str() < *end);
            let secret = self.all.get(at).filter(|_| is_start);
            secret.is_some_and(|secret| secret.starts_with(end))
        };
        ends.find(is_part).map(str::len)
    }
}

/// Whether a text could be a word: letters, of which at most the first or all are capitals.
fn is_word(text: &str) -> bool {
    const LONGEST: usize = 15;
    let mut letters = text.chars();
    let is_capital = letters.next().is_some_and(char::is_uppercase);
    text.chars().count() <= LONGEST
        && text.chars().all(char::is_alphabetic)
        && (letters.clone().all(|c| !c.is_uppercase())
            || (is_capital && letters.all(char::is_uppercase)))
}

/// The first bytes of a text; `None` if it is shorter.
fn start_of(text: &str) -> Option<[u8; SHORTEST_PART]> {
    text.as_bytes().first_chunk().copied()
}

/// Returns the secrets in `text`, in order; none overlaps another.
pub fn find(text: &str) -> Vec<Secret> {
    let mut scan = Scan::new(text);
    for hit in WORDS.find_iter(text) {
        if hit.start() < scan.masked_to() {
            continue;
        }
        let (at, row) = (hit.span(), hit.pattern().as_usize());
        match row.checked_sub(NAMES.len()) {
            None => NAMES[row].find(&mut scan, at.start, at.end),
            Some(row) => (CONTEXT_WORDS[row].1)(&mut scan, at.start, at.end),
        }
    }
    let named = scan.finish();
    let mut scan = Scan::new(text);
    let mut later = named.iter().peekable();
    // Overlapping, because the `n` of an escaped line break may be the first letter of a start.
    for hit in STARTS.find_overlapping_iter(text) {
        while later
            .next_if(|secret| secret.span.end <= hit.start())
            .is_some()
        {}
        let is_masked = later
            .peek()
            .is_some_and(|secret| secret.span.start <= hit.start());
        if is_masked || hit.start() < scan.masked_to() {
            continue;
        }
        let row = hit.pattern().as_usize();
        match row.checked_sub(TOKENS.len()) {
            None => TOKENS[row].find(&mut scan, hit.start(), hit.end()),
            Some(row) => INFIXES[row].find(&mut scan, hit.start(), hit.end()),
        }
    }
    let mut found = merged(named, scan.finish());
    for key in bare::KEYS {
        let mut scan = Scan::new(text);
        key.find(&mut scan);
        found = merged(found, scan.finish());
    }
    found
}

/// Merges both lists in order; a secret that overlaps an earlier one is merged into it.
fn merged(a: Vec<Secret>, b: Vec<Secret>) -> Vec<Secret> {
    let mut all = [a, b].concat();
    all.sort_by_key(|secret| (secret.span.start, secret.span.end));
    let mut merged: Vec<Secret> = Vec::with_capacity(all.len());
    for secret in all {
        match merged.last_mut() {
            Some(last) if secret.span.start < last.span.end => {
                last.span.end = last.span.end.max(secret.span.end);
            }
            _ => merged.push(secret),
        }
    }
    merged
}

/// Examines the text around a word of a context; gets the start and the end of the word.
type Look = fn(&mut Scan<'_>, usize, usize);

/// The words of all contexts and hints, each with its function.
static CONTEXT_WORDS: LazyLock<Vec<(&str, Look)>> = LazyLock::new(|| {
    let words = CONTEXTS
        .iter()
        .flat_map(|context| context.words.iter().map(|word| (*word, context.find)));
    words.chain(context::HINTS.iter().copied()).collect()
});

/// Finds the words of names and contexts, ignoring case.
static WORDS: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let names = NAMES.iter().map(|name| name.word);
    AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostLongest)
        .ascii_case_insensitive(true)
        .kind(Some(AhoCorasickKind::DFA))
        .build(names.chain(CONTEXT_WORDS.iter().map(|(word, _)| *word)))
        .expect("a few words make an automaton")
});

/// Finds the starts of tokens and the middles of infixes. There are so many that a faster automaton
/// would take as long to make as a quick program runs.
static STARTS: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let starts = TOKENS.iter().map(|token| token.start);
    AhoCorasick::builder()
        .kind(Some(AhoCorasickKind::ContiguousNFA))
        .build(starts.chain(INFIXES.iter().map(|infix| infix.middle)))
        .expect("a few hundred short words make an automaton")
});
