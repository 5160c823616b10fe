//! Whether two texts say the same: by the words that they share, weighted by how rare these are in
//! the logs, as those of a query are.

use std::cell::RefCell;
use std::collections::HashMap;

use super::needle::Needles;
use super::score::Rarity;
use crate::core::search::index::{Corpus, Part};
use crate::core::text::{Term, fold, is_common, stem, words};

/// The most distinct words of a text that are compared.
const MOST_WORDS: usize = 64;

/// Weighs words by the logs of a corpus.
pub struct Sayings<'a> {
    corpus: &'a Corpus,
    bytes: u64,
    /// What a word of a single message weighs.
    rarest: f32,
    known: RefCell<HashMap<Term, f32>>,
}

impl std::fmt::Debug for Sayings<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sayings").finish_non_exhaustive()
    }
}

/// The words of a text with their weights, each stem once.
#[derive(Debug, Clone, Default)]
pub struct Saying {
    words: Vec<(Term, f32)>,
    sum: f32,
}

/// What two texts share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shared {
    /// How many words.
    pub words: usize,
    /// What these weigh together; a word of a single message weighs 1.
    pub weight: f32,
    /// Their part of all words of the text that has less.
    pub part: f32,
}

impl<'a> Sayings<'a> {
    /// Weighs words by this corpus.
    pub fn of(corpus: &'a Corpus) -> Self {
        let bytes = corpus.logs().map(|log| log.text_bytes(Part::Words)).sum();
        Self {
            corpus,
            bytes,
            rarest: Rarity::new(&[1], bytes).weight(0, true),
            known: RefCell::default(),
        }
    }

    /// Returns the words of a text.
    pub fn saying(&self, text: &str) -> Saying {
        let mut saying = Saying::default();
        for word in words(text) {
            let folded = fold(word.text);
            if is_common(&folded) || saying.words.len() >= MOST_WORDS {
                continue;
            }
            let term = Term::of(&stem(&folded));
            if saying.words.iter().all(|(known, _)| *known != term) {
                let weight = self.weight(term, &folded);
                saying.words.push((term, weight));
                saying.sum += weight;
            }
        }
        saying
    }

    /// Returns what a word weighs, compared with one of a single message; so does one that no log has.
    fn weight(&self, term: Term, folded: &str) -> f32 {
        if let Some(known) = self.known.borrow().get(&term) {
            return *known;
        }
        let needle = Needles::of_word(folded);
        let forms = needle.ask(|wanted| self.corpus.forms(wanted, &[Part::Words]));
        let count = forms.counts.iter().sum::<u64>().max(1);
        let weight = Rarity::new(&[count], self.bytes).weight(0, true) / self.rarest;
        self.known.borrow_mut().insert(term, weight);
        weight
    }
}

impl Saying {
    /// Returns what it shares with another text.
    pub fn shared(&self, other: &Self) -> Shared {
        let mine = self.words.iter();
        let both = mine.filter(|(term, _)| other.words.iter().any(|(known, _)| known == term));
        let (mut words, mut weight) = (0, 0.0);
        for (_, one) in both {
            words += 1;
            weight += one;
        }
        let least = self.sum.min(other.sum);
        Shared {
            words,
            weight,
            part: if least > 0.0 { weight / least } else { 0.0 },
        }
    }
}
