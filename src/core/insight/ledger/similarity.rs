//! Whether two texts say the same: by the words that they share, weighted by how rare these are in
//! the logs, as those of a query are.

use std::cell::RefCell;
use std::collections::HashMap;

use crate::core::search::index::{Corpus, Part};
use crate::core::search::needle::Needles;
use crate::core::search::score::Rarity;
use crate::core::text::{Term, fold, is_common, stem, words};

/// The most distinct words of a text that are compared.
const MOST_WORDS: usize = 64;

/// The words of a text without stop words, each stem once.
#[derive(Debug, Clone, Default)]
pub(super) struct WordSet(Vec<(Term, String)>);

/// What two texts share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SharedWords {
    /// How many words.
    pub(super) words: usize,
    /// What these weigh together; a word of a single message weighs 1.
    pub(super) weight: f32,
    /// Their share of the weight of all words of the text that weighs less.
    pub(super) part: f32,
}

impl WordSet {
    /// Returns the words of a text.
    pub(super) fn of(text: &str) -> Self {
        let mut found: Vec<(Term, String)> = Vec::new();
        for word in words(text) {
            let folded = fold(word.text);
            if is_common(&folded) || found.len() >= MOST_WORDS {
                continue;
            }
            let term = Term::of(&stem(&folded));
            if found.iter().all(|(known, _)| *known != term) {
                found.push((term, folded.into_owned()));
            }
        }
        Self(found)
    }
}

/// Texts, found by the words that they share with another one.
#[derive(Debug, Default)]
pub(super) struct WordSetIndex {
    texts: Vec<WordSet>,
    /// The numbers of the texts that have a word.
    with: HashMap<Term, Vec<usize>>,
}

impl WordSetIndex {
    /// Adds a text.
    pub(super) fn push(&mut self, words: WordSet) {
        for (term, _) in &words.0 {
            self.with.entry(*term).or_default().push(self.texts.len());
        }
        self.texts.push(words);
    }

    /// Returns a text by its number, in the order in which they were added.
    pub(super) fn get(&self, number: usize) -> &WordSet {
        &self.texts[number]
    }

    /// Returns the numbers of the texts that share at least so many words with this one.
    pub(super) fn sharing(&self, words: &WordSet, least: usize) -> Vec<usize> {
        let mut counts: HashMap<usize, usize> = HashMap::new();
        let with = words.0.iter().filter_map(|(term, _)| self.with.get(term));
        for number in with.flatten() {
            *counts.entry(*number).or_default() += 1;
        }
        let enough = counts.into_iter().filter(|(_, count)| *count >= least);
        let mut found: Vec<usize> = enough.map(|(number, _)| number).collect();
        found.sort_unstable();
        found
    }
}

/// Weighs words by the logs of a corpus.
pub(super) struct WordWeights<'a> {
    corpus: &'a Corpus,
    bytes: u64,
    /// What a word of a single message weighs.
    rarest: f32,
    known: RefCell<HashMap<Term, f32>>,
}

impl std::fmt::Debug for WordWeights<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WordWeights").finish_non_exhaustive()
    }
}

impl<'a> WordWeights<'a> {
    /// Weighs words by this corpus.
    pub(super) fn of(corpus: &'a Corpus) -> Self {
        let bytes = corpus.logs().map(|log| log.text_bytes(Part::Words)).sum();
        Self {
            corpus,
            bytes,
            rarest: Rarity::new(&[1], bytes).weight(0, true),
            known: RefCell::default(),
        }
    }

    /// Returns what two texts share.
    pub(super) fn shared(&self, one: &WordSet, other: &WordSet) -> SharedWords {
        let weight = |(term, word): &(Term, String)| self.weight(*term, word);
        let sum = |words: &WordSet| words.0.iter().map(weight).sum::<f32>();
        let is_shared =
            |(term, _): &&(Term, String)| other.0.iter().any(|(known, _)| known == term);
        let both = || one.0.iter().filter(is_shared);
        let (shared, least) = (both().map(weight).sum::<f32>(), sum(one).min(sum(other)));
        SharedWords {
            words: both().count(),
            weight: shared,
            part: if least > 0.0 { shared / least } else { 0.0 },
        }
    }

    /// Returns what a word weighs; one that no log has, as much as one of a single message.
    fn weight(&self, term: Term, folded: &str) -> f32 {
        if let Some(known) = self.known.borrow().get(&term) {
            return *known;
        }
        let needle = Needles::of_word(folded);
        let wanted = needle.wanted();
        let forms = self.corpus.look_up(&wanted, &[Part::Words]);
        let count = forms.counts.iter().sum::<u64>().max(1);
        let weight = Rarity::new(&[count], self.bytes).weight(0, true) / self.rarest;
        self.known.borrow_mut().insert(term, weight);
        weight
    }
}
