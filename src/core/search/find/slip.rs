//! Slips of the keyboard: the words of the searched texts that are one or two letters away from
//! a typed word. The typed word is compared with the words of the index, of memories and of titles.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::core::search::Sources;
use crate::core::search::index::{Corpus, Part, Spelling, WantedWord};
use crate::core::search::query::{Atom, MatchMode, Polarity};
use crate::core::text::{fold, words};

/// The words that are searched.
pub(super) struct Spellings<'a> {
    sources: Sources<'a>,
    /// The folded words of memories and titles, which no index has, and how often each occurs.
    unindexed: HashMap<String, u64>,
}

/// A word that may have been meant.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Meant {
    word: String,
    distance: usize,
    count: u64,
}

/// The length of the shortest words that are kept: shorter ones resemble too many others.
const SHORTEST: usize = 3;
/// The most words that may have been meant by one.
const MOST: usize = 12;

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

impl<'a> Spellings<'a> {
    pub(super) fn new(sources: Sources<'a>) -> Self {
        let memories = sources.memories.texts.iter();
        let memories =
            memories.flat_map(|memory| [memory.text.as_str(), memory.memory.title.as_str()]);
        let sessions = sources.corpus.into_iter().flat_map(Corpus::logs);
        let titles = sessions.filter_map(|log| log.title());
        let mut unindexed: HashMap<String, u64> = HashMap::new();
        for word in memories.chain(titles).flat_map(words) {
            if word.text.len() >= SHORTEST {
                *unindexed.entry(fold(word.text).into_owned()).or_default() += 1;
            }
        }
        Self { sources, unindexed }
    }

    /// Returns the regular expression of an atom and of what may have been meant by it, and the words
    /// that a message must have; `None` if that is only the atom itself.
    pub(super) fn correct(
        &self,
        atom: &Atom,
        correction: Correction,
    ) -> Option<(String, Vec<WantedWord<'static>>)> {
        // What stands between two words of an atom, such as the hyphen of `load-bearing`.
        const BETWEEN: &str = "[^A-Za-z0-9\\n]{0,3}";
        if atom.mode != MatchMode::Fuzzy || atom.polarity != Polarity::Wanted {
            return None;
        }
        let mut patterns: Vec<String> = Vec::new();
        let mut wanted = Vec::new();
        let mut is_corrected = false;
        for word in words(&atom.text) {
            let folded = fold(word.text).into_owned();
            let meant = self.meant(&folded, correction);
            is_corrected |= !meant.is_empty();
            let mut texts = vec![regex::escape(word.text)];
            texts.extend(meant.iter().map(|word| accepting_accents(word)));
            patterns.push(format!("(?:{})", texts.join("|")));
            wanted.push(WantedWord::Any([vec![folded], meant].concat()));
        }
        is_corrected.then(|| (patterns.join(BETWEEN), wanted))
    }

    /// Returns the words that may have been meant by a folded one.
    fn meant(&self, typed: &str, correction: Correction) -> Vec<String> {
        /// How many times as frequent a word must be to be meant by another that occurs.
        const FREQUENT: u64 = 10;
        let count = self.count(typed);
        if correction == Correction::Unknown && count > 0 {
            return Vec::new();
        }
        let mut found = self.near(typed);
        match correction {
            Correction::Rare => found.retain(|one| {
                one.distance <= 1
                    && typed.chars().count() > 4
                    && one.count >= count.saturating_mul(FREQUENT)
            }),
            Correction::Unknown => {
                let nearest = found.first().map_or(0, |one| one.distance);
                found.retain(|one| one.distance == nearest);
            }
            Correction::Any => {}
        }
        found.into_iter().map(|one| one.word).collect()
    }

    /// Returns how often words occur that begin with this folded text, or have it in them.
    fn count(&self, text: &str) -> u64 {
        let unindexed = self
            .unindexed
            .iter()
            .filter(|(word, _)| word.contains(text));
        let count: u64 = unindexed.map(|(_, count)| count).sum();
        let corpus = self.sources.corpus;
        count + corpus.map_or(0, |corpus| corpus.count_beginning(text, Part::Words))
    }

    /// Returns the words that a folded one may stand for, the nearest and then the most
    /// frequent first. The beginning of a longer word counts, too.
    fn near(&self, typed: &str) -> Vec<Meant> {
        let length = typed.chars().count();
        let most = allowed(length);
        if most == 0 {
            return Vec::new();
        }
        let unindexed = self.unindexed.iter().map(|(word, count)| Spelling {
            word: word.clone(),
            count: *count,
        });
        let corpus = self.sources.corpus.into_iter();
        let of_logs = corpus.flat_map(|corpus| corpus.spelled_like(typed, Part::Words, most as u8));
        let mut found: HashMap<String, Meant> = HashMap::new();
        for Spelling { word, count } in unindexed.chain(of_logs) {
            if word == typed || word.len() < SHORTEST {
                continue;
            }
            let begun = || prefix_distance(typed, &word, most.min(allowed(length - 1)));
            if let Some(distance) = distance(typed, &word, most).or_else(begun) {
                let known = found.entry(word.clone()).or_insert(Meant {
                    word,
                    distance,
                    count: 0,
                });
                known.count += count;
            }
        }
        let first = typed.chars().next();
        let mut found: Vec<Meant> = found.into_values().collect();
        found.sort_by(|a, b| {
            let key = |one: &Meant| {
                let is_other = one.word.chars().next() != first;
                (one.distance, is_other, std::cmp::Reverse(one.count))
            };
            key(a).cmp(&key(b)).then_with(|| a.word.cmp(&b.word))
        });
        found.truncate(MOST);
        found
    }
}

/// The Latin letters with accents, by the letters without.
static ACCENTED: LazyLock<HashMap<char, String>> = LazyLock::new(|| {
    let mut letters: HashMap<char, String> = HashMap::new();
    for accented in '\u{c0}'..='\u{24f}' {
        let plain = nucleo::chars::normalize(accented);
        if plain.is_ascii_alphabetic() {
            letters.entry(plain).or_default().push(accented);
        }
    }
    letters
});

/// Returns a regular expression for a word: one without accents is found with and without them.
pub(super) fn accepting_accents(word: &str) -> String {
    if !word.is_ascii() {
        return regex::escape(word);
    }
    let letter = |letter: char| match ACCENTED.get(&letter) {
        Some(accented) => format!("[{letter}{accented}]"),
        None => regex::escape(letter.encode_utf8(&mut [0; 4])),
    };
    word.chars().map(letter).collect()
}

/// Returns how many letters of a word of this length may be wrong.
fn allowed(length: usize) -> usize {
    match length {
        0..4 => 0,
        4..6 => 1,
        _ => 2,
    }
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
    use crate::core::memory::texts::MemoryTexts;

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
        let text = "the changelog of a release, released; verify load-bearing claims";
        let memories = MemoryTexts::default();
        let spellings = Spellings {
            sources: Sources {
                memories: &memories,
                corpus: None,
            },
            unindexed: words(text).map(|word| (word.text.to_owned(), 1)).collect(),
        };
        let first = |typed: &str| {
            let found = spellings.near(typed);
            found.first().map(|one| (one.word.clone(), one.distance))
        };
        let some = |text: &str, distance| Some((text.to_owned(), distance));
        assert_eq!(first("chnagelog"), some("changelog", 1));
        assert_eq!(first("relase"), some("release", 1));
        assert_eq!(first("laod"), some("load", 1));
        assert_eq!(first("chnagel"), some("changelog", 1), "typed half-way");
        assert_eq!(first("teh"), None, "too short to tell");
        assert_eq!(first("release"), some("released", 1));
        assert_eq!(spellings.count("leas"), 2);
    }
}
