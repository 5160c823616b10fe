//! Slips of the keyboard: the words of the searched texts that are one or two letters away from
//! a typed word. The typed word is compared with the vocabulary, not with the texts.

use std::collections::HashMap;

use super::super::runs::{self, Runs};
use super::super::{Sources, on_all_cores};
use crate::core::corpus::Part;
use crate::core::query::{Atom, MatchMode, Polarity};
use crate::core::text::{fold, words};

/// The words of the memories and of the conversations, and how often each occurs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Vocabulary {
    words: Vec<VocabularyWord>,
    /// The size of the texts that it was made from, in bytes.
    bytes: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct VocabularyWord {
    /// The word in small letters, as it is searched.
    text: Box<str>,
    /// The word without accents, if it has any.
    plain: Option<Box<str>>,
    letters: u32,
    count: u32,
}

/// A word that may have been meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) text: String,
    pub(super) distance: usize,
    pub(super) count: u32,
}

/// The lengths of words that are kept: shorter ones resemble too many others, longer ones are
/// no words.
const SHORTEST: usize = 3;
const LONGEST: usize = 30;
/// The most words that may have been meant by one.
const MOST: usize = 12;

impl VocabularyWord {
    fn new((text, count): (Box<str>, u32)) -> Self {
        let plain = (!text.is_ascii())
            .then(|| fold(&text).into())
            .filter(|plain| *plain != text);
        Self {
            letters: letters_of(plain.as_deref().unwrap_or(&text)),
            plain,
            text,
            count,
        }
    }

    /// The word without accents.
    fn plain(&self) -> &str {
        self.plain.as_deref().unwrap_or(&self.text)
    }
}

impl Vocabulary {
    /// Reads all words.
    pub(super) fn of(sources: Sources<'_>) -> Self {
        const TOGETHER: usize = 64;
        let mut counts: HashMap<Box<str>, u32> = HashMap::new();
        for memory_text in &sources.memories.texts {
            count_words(&memory_text.memory.title, &mut counts);
            count_words(&memory_text.text, &mut counts);
        }
        if let Some(corpus) = sources.corpus {
            let blocks = corpus.blocks(Part::Words).len();
            let parts = on_all_cores(blocks.div_ceil(TOGETHER), |at| {
                let mut counts = HashMap::new();
                let numbers = at * TOGETHER..blocks.min((at + 1) * TOGETHER);
                for number in numbers.clone() {
                    let block = corpus.block(Part::Words, number);
                    if let Some(content) = block.and_then(|block| block.read()) {
                        count_words(content.text(), &mut counts);
                    }
                }
                corpus.release(Part::Words, numbers);
                counts
            });
            for part in parts {
                for (word, count) in part {
                    *counts.entry(word).or_default() += count;
                }
            }
        }
        let words = counts.into_iter().map(VocabularyWord::new);
        Self {
            words: words.collect(),
            bytes: size(sources),
        }
    }

    /// Whether it is about as large as one of these sources would be. A word that was written
    /// since can be missing.
    pub(super) fn fits(&self, sources: Sources<'_>) -> bool {
        let bytes = size(sources);
        bytes.abs_diff(self.bytes) <= self.bytes / 50
    }

    /// Returns how often words occur that contain this folded text.
    pub(super) fn count(&self, text: &str) -> u32 {
        let letters = letters_of(text);
        let has =
            |word: &&VocabularyWord| letters & !word.letters == 0 && word.plain().contains(text);
        self.words
            .iter()
            .filter(has)
            .fold(0, |sum, word| sum.saturating_add(word.count))
    }

    /// Returns the words that a folded one may stand for, the nearest and then the most
    /// frequent first. The beginning of a longer word counts, too.
    pub(super) fn candidates(&self, typed: &str) -> Vec<Candidate> {
        let length = typed.chars().count();
        let most = allowed(length);
        if most == 0 {
            return Vec::new();
        }
        let letters = letters_of(typed);
        let first = typed.chars().next();
        let mut found: Vec<(usize, bool, &VocabularyWord)> = Vec::new();
        for word in &self.words {
            // Each wrong letter adds at most one letter that the word does not have.
            if (letters & !word.letters).count_ones() as usize > most || &*word.text == typed {
                continue;
            }
            let whole = distance(typed, word.plain(), most);
            let begun = || prefix_distance(typed, word.plain(), most.min(allowed(length - 1)));
            if let Some(distance) = whole.or_else(begun) {
                found.push((distance, word.plain().chars().next() != first, word));
            }
        }
        found.sort_by(|a, b| {
            let key = |one: &(usize, bool, &VocabularyWord)| {
                (one.0, one.1, std::cmp::Reverse(one.2.count))
            };
            key(a).cmp(&key(b)).then(a.2.text.cmp(&b.2.text))
        });
        found.truncate(MOST);
        found
            .into_iter()
            .map(|(distance, _, word)| Candidate {
                text: word.text.to_string(),
                distance,
                count: word.count,
            })
            .collect()
    }
}

/// Which words of a query are replaced by words near them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Correction {
    /// Words that occur much less often than one with another letter.
    Rare,
    /// Words that do not occur, by the nearest ones.
    Unknown,
    /// All words, by all that are near enough.
    Any,
}

/// Returns the regular expression of an atom and of what may have been meant by it, with what is
/// inside words of every text that it matches; `None` if that is only the atom itself.
pub(super) fn pattern(
    vocabulary: &Vocabulary,
    atom: &Atom,
    correction: Correction,
) -> Option<(String, Runs)> {
    // What stands between two words of an atom, such as the hyphen of `load-bearing`.
    const BETWEEN: &str = "[^A-Za-z0-9\\n]{0,3}";
    if atom.form != MatchMode::Fuzzy || atom.sense != Polarity::Wanted {
        return None;
    }
    let mut pattern = String::new();
    let mut runs = Runs::new();
    let mut is_corrected = false;
    for word in words(&atom.text) {
        if !pattern.is_empty() {
            pattern.push_str(BETWEEN);
        }
        let meant = meant(vocabulary, &fold(word.text), correction);
        is_corrected |= !meant.is_empty();
        let texts = std::iter::once(word.text).chain(meant.iter().map(String::as_str));
        let folded: Vec<String> = texts.clone().map(|text| fold(text).into_owned()).collect();
        let texts: Vec<String> = texts.map(regex::escape).collect();
        pattern.push_str(&format!("(?:{})", texts.join("|")));
        if folded.iter().all(|text| text.len() >= runs::SHORTEST) {
            runs.push(folded);
        }
    }
    is_corrected.then_some((pattern, runs))
}

/// Returns the words that may have been meant by a folded one.
fn meant(vocabulary: &Vocabulary, typed: &str, correction: Correction) -> Vec<String> {
    /// How many times as frequent a word must be to be meant by another that occurs.
    const FREQUENT: u32 = 10;
    let count = vocabulary.count(typed);
    if correction == Correction::Unknown && count > 0 {
        return Vec::new();
    }
    let mut found = vocabulary.candidates(typed);
    match correction {
        Correction::Rare => found.retain(|one| {
            one.distance == 0
                || one.distance == 1
                    && typed.chars().count() > 4
                    && one.count >= count.saturating_mul(FREQUENT)
        }),
        Correction::Unknown => {
            let nearest = found.first().map_or(0, |one| one.distance);
            found.retain(|one| one.distance == nearest);
        }
        Correction::Any => {}
    }
    found.into_iter().map(|one| one.text).collect()
}

/// Returns how many letters of a word of this length may be wrong.
fn allowed(length: usize) -> usize {
    match length {
        0..4 => 0,
        4..6 => 1,
        _ => 2,
    }
}

fn size(sources: Sources<'_>) -> usize {
    let memories = sources.memories.texts.iter().map(|text| text.text.len());
    let blocks = sources
        .corpus
        .into_iter()
        .flat_map(|corpus| corpus.blocks(Part::Words))
        .map(|block| block.text_bytes());
    memories.chain(blocks).sum()
}

fn count_words(text: &str, counts: &mut HashMap<Box<str>, u32>) {
    for word in words(text) {
        let has_length = (SHORTEST..=LONGEST).contains(&word.text.len());
        // Hashes and other numbers are not mistyped from memory.
        let digits = word.text.bytes().filter(u8::is_ascii_digit).take(3).count();
        if !has_length || digits > 2 {
            continue;
        }
        let small = match word.text.is_ascii() {
            true => fold(word.text),
            false => word.text.to_lowercase().into(),
        };
        match counts.get_mut(small.as_ref()) {
            Some(count) => *count = count.saturating_add(1),
            None => drop(counts.insert(small.into(), 1)),
        }
    }
}

/// Returns the set of the letters of a word, as bits; letters beyond ASCII share them.
fn letters_of(word: &str) -> u32 {
    word.chars()
        .fold(0, |set, c| set | 1 << (u32::from(c) % 32))
}

/// Returns how many letters differ: wrong, missing, one too many, or two swapped; `None` if
/// more than `most`.
pub(super) fn distance(a: &str, b: &str, most: usize) -> Option<usize> {
    rows(a, b, most, |row| row.last().copied())
}

/// Like [`distance`], of the beginning of `b` that is nearest to `a`.
fn prefix_distance(a: &str, b: &str, most: usize) -> Option<usize> {
    if most == 0 || b.len() <= a.len() {
        return None;
    }
    rows(a, b, most, |row| row.iter().copied().min())
}

/// Fills the table of the optimal string alignment distance, and returns the number that `pick`
/// takes from its last row.
fn rows(a: &str, b: &str, most: usize, pick: impl Fn(&[usize]) -> Option<usize>) -> Option<usize> {
    const CELLS: usize = 64;
    let (mut a_chars, mut b_chars) = (['\0'; CELLS], ['\0'; CELLS]);
    let a = fill(a, &mut a_chars)?;
    let b = fill(b, &mut b_chars)?;
    if a.len() > b.len() + most {
        return None;
    }
    let width = b.len() + 1;
    let mut before = [0; CELLS + 1];
    let mut last = [0; CELLS + 1];
    let mut row = [0; CELLS + 1];
    for (at, cell) in last[..width].iter_mut().enumerate() {
        *cell = at;
    }
    for (i, x) in a.iter().enumerate() {
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let mut cell = (last[j] + usize::from(x != y))
                .min(last[j + 1] + 1)
                .min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                cell = cell.min(before[j - 1] + 1);
            }
            row[j + 1] = cell;
        }
        if row[..width].iter().all(|cell| *cell > most) {
            return None;
        }
        before = last;
        last = row;
    }
    pick(&last[..width]).filter(|distance| *distance <= most)
}

/// Copies the letters of a word; `None` if there are too many.
fn fill<'a>(word: &str, to: &'a mut [char]) -> Option<&'a [char]> {
    let mut count = 0;
    for c in word.chars() {
        *to.get_mut(count)? = c;
        count += 1;
    }
    Some(&to[..count])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vocabulary(text: &str) -> Vocabulary {
        let mut counts = HashMap::new();
        count_words(text, &mut counts);
        let words = counts.into_iter().map(VocabularyWord::new);
        Vocabulary {
            words: words.collect(),
            bytes: text.len(),
        }
    }

    #[test]
    fn wrong_missing_doubled_and_swapped_letters_are_counted() {
        for (a, b, expected) in [
            ("load", "load", Some(0)),
            ("laod", "load", Some(1)),
            ("clams", "claims", Some(1)),
            ("verrify", "verify", Some(1)),
            ("chnagelgo", "changelog", Some(2)),
            ("abc", "xyz", None),
            ("größe", "große", Some(1)),
        ] {
            assert_eq!(distance(a, b, 2), expected, "{a} {b}");
        }
        assert_eq!(distance(&"a".repeat(90), "a", 2), None);
    }

    #[test]
    fn a_typed_word_stands_for_its_neighbours_and_for_what_it_begins() {
        let known = vocabulary("the changelog of a release, released; verify load-bearing claims");
        let first = |typed: &str| {
            let found = known.candidates(typed);
            found.first().map(|one| (one.text.clone(), one.distance))
        };
        let some = |text: &str, distance| Some((text.to_owned(), distance));
        assert_eq!(first("chnagelog"), some("changelog", 1));
        assert_eq!(first("relase"), some("release", 1));
        assert_eq!(first("laod"), some("load", 1));
        assert_eq!(first("chnagel"), some("changelog", 1), "typed half-way");
        assert_eq!(first("teh"), None, "too short to tell");
        assert_eq!(
            first("release").map(|one| one.0),
            Some("released".to_owned())
        );
        assert_eq!(known.count("leas"), 2);
    }
}
