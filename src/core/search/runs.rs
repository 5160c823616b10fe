//! Runs: texts that are inside one word of every message that matches, so that the index says which
//! messages these are.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::needle::MOST;
use super::on_all_cores;
use crate::core::corpus::{Corpus, LISTS_ONLY, Part, TextOccurrence};

/// A single letter is inside nearly all messages, so that reading all text is faster.
pub(super) const SHORTEST: usize = 2;

/// Lists of folded texts; a message that matches has one of each inside a word.
pub(super) type Runs = Vec<Vec<String>>;

/// Returns the runs of ASCII letters and digits of a text, without single letters. Two letters are
/// inside many words, so they are looked up only if there is nothing longer.
pub(super) fn runs_of(text: &str) -> Runs {
    let runs = text.split(|char: char| !char.is_ascii_alphanumeric());
    let runs = runs.filter(|run| run.len() >= SHORTEST);
    let has_longer = runs.clone().any(|run| run.len() > SHORTEST);
    let kept = runs.filter(|run| run.len() > SHORTEST || !has_longer);
    kept.take(MOST)
        .map(|run| vec![run.to_ascii_lowercase()])
        .collect()
}

/// Returns what `of` makes of the messages of a part that may have all runs, in order and each
/// once; `None` if there are more than `most`, or if so many words have a run that there probably
/// are. Of results, the blocks are known.
pub(super) fn look_up<T: Ord + Send>(
    corpus: &Corpus,
    (part, runs): (Part, &Runs),
    most: usize,
    of: impl Fn(&TextOccurrence) -> T + Sync,
) -> Option<Vec<T>> {
    let lists = corpus.words_with(part, runs);
    // Mostly, two words of a message have the same run at most.
    if runs.len() == 1 && lists.bytes() > most.saturating_mul(2) {
        return None;
    }
    let count = AtomicUsize::new(0);
    let slices = lists.slices(LISTS_ONLY);
    let found = on_all_cores(slices.len(), |slice| {
        let mut mine = Vec::new();
        lists.messages((slices[slice].clone(), runs.len()), &mut |found| {
            let one = of(&found);
            if count.load(Ordering::Relaxed) <= most && mine.last() != Some(&one) {
                count.fetch_add(1, Ordering::Relaxed);
                mine.push(one);
            }
        });
        mine
    });
    if count.into_inner() > most {
        return None;
    }
    let mut found: Vec<T> = found.into_iter().flatten().collect();
    // Each span has its blocks in order.
    found.sort();
    Some(found)
}
