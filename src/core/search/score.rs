//! The score of a line or a message: BM25 that takes neighbours into account.
//!
//! For each word of the query a passage gets the highest contribution of itself and its
//! neighbours, where a neighbour counts less the further away it is: an answer seldom
//! repeats the words of the question before it. The best contribution in the whole
//! conversation adds a little, and covering many of the query's words adds more. A passage
//! without any of the words has no score. Words that stand near each other add to it, where the text
//! is read.
//!
//! [`session_scores`] then scores the messages of one session together: a session that has
//! several good messages goes before one that has a single one.

use std::collections::HashMap;

/// How soon repetitions of a word stop adding to the score (BM25's k1).
const SATURATION: f32 = 0.6;
/// How much a long text is penalised (BM25's b).
const LENGTH: f32 = 0.3;
/// The length of a typical text, in words and in bytes.
const ORDINARY_WORDS: f32 = 20.0;
const ORDINARY_BYTES: f32 = 160.0;
/// The shares that a passage gets of the contributions of those before it, nearest first.
pub(in crate::core) const FROM_BEFORE: [f32; 4] = [0.6, 0.4, 0.25, 0.15];
/// The shares that a passage gets of the contributions of those after it, nearest first.
pub(in crate::core) const FROM_AFTER: [f32; 3] = [0.4, 0.2, 0.1];
/// The share that each passage gets of the best contributions in its conversation.
const CONVERSATION: f32 = 0.15;
/// The part of the score that depends on how many of the words are covered.
const COVERAGE: f32 = 0.3;
/// The weight of another form of a word.
const OTHER_FORM: f32 = 0.85;
/// The exponent of the inverse document frequency: below 1, one rare word counts less.
const RARE: f32 = 0.8;
/// The weight of the nearness of words.
const NEARNESS: f32 = 0.2;
/// The weights of a session's best message and of those after it: what was done in a session is
/// seldom said in one message.
const SESSION: [f32; 8] = [1.0, 0.9, 0.9, 0.8, 0.8, 0.7, 0.7, 0.6];
/// How much less each further message of a session counts, so that the first hits are not all
/// of one session.
const FURTHER: f32 = 0.9;
/// The time in milliseconds beyond which messages are not neighbours.
const PAUSE: i64 = 60 * 60 * 1000;
const DAY: i64 = 24 * PAUSE;

/// How rare each word of a query is: its inverse document frequency.
#[derive(Debug, Clone)]
pub(in crate::core) struct Rarity {
    each: Vec<f32>,
    sum: f32,
}

/// How often a text has a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WordCount {
    /// How often it has any form.
    pub times: u32,
    /// Whether it has the word as it was asked for.
    pub is_exact: bool,
}

/// A line or a message, as it is scored.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::core) struct Passage {
    pub(in crate::core) time: Option<i64>,
    /// The number of words of the text.
    pub(in crate::core) words: u32,
    /// For each word of the query, how often the text has it.
    pub(in crate::core) counts: Vec<WordCount>,
}

impl Rarity {
    /// Computes the rarity of words from the number of texts with each, and the number of bytes of
    /// all texts.
    pub(in crate::core) fn new(texts_with: &[u64], bytes: u64) -> Self {
        let of = |with: &u64| {
            if *with == 0 {
                return 0.0;
            }
            let with = *with as f32;
            let all = (bytes as f32 / ORDINARY_BYTES).max(with);
            (1.0 + (all - with + 0.5) / (with + 0.5)).ln().powf(RARE)
        };
        let each: Vec<f32> = texts_with.iter().map(of).collect();
        Self {
            sum: each.iter().sum(),
            each,
        }
    }

    /// Returns what a word of the query weighs, written as there or not.
    pub(in crate::core) fn weight(&self, word: usize, is_exact: bool) -> f32 {
        self.each[word] * if is_exact { 1.0 } else { OTHER_FORM }
    }

    /// Returns what each word contributes to a text with so many words.
    fn each_of<'c>(
        &'c self,
        counts: &'c [WordCount],
        words: u32,
    ) -> impl Iterator<Item = f32> + use<'c> {
        let counts = counts.iter().enumerate();
        counts.map(move |(word, count)| match count.times {
            0 => 0.0,
            times => self.weight(word, count.is_exact) * saturation(times, words),
        })
    }

    /// Returns what the words of a text weigh, each once.
    pub(in crate::core) fn sum_once(&self, counts: &[WordCount]) -> f32 {
        let words = counts
            .iter()
            .enumerate()
            .filter(|(_, count)| count.times > 0);
        words
            .map(|(word, count)| self.weight(word, count.is_exact))
            .sum()
    }

    /// Returns what all words contribute to a text with so many words.
    pub(in crate::core) fn sum_of(&self, counts: &[WordCount], words: u32) -> f32 {
        self.each_of(counts, words).sum()
    }

    /// Scores the passages of one log or memory: runs of passages that are neighbours. A passage
    /// without any word of the query has the score 0.
    pub(in crate::core) fn scores(&self, runs: &[Vec<&Passage>]) -> Vec<Vec<f32>> {
        let words = self.each.len();
        // What each word of the query contributes to each passage by itself.
        let contributions = runs.iter().map(|run| {
            let each = run
                .iter()
                .flat_map(|passage| self.each_of(&passage.counts, passage.words));
            each.collect()
        });
        let contributions: Vec<Vec<f32>> = contributions.collect();
        // The best contributions to the conversation of each day.
        let mut days: HashMap<Option<i64>, Vec<f32>> = HashMap::new();
        for (run, own) in runs.iter().zip(&contributions) {
            for (passage, own) in run.iter().zip(own.chunks_exact(words)) {
                let best = days.entry(day_of(passage.time));
                keep_max(best.or_insert_with(|| vec![0.0; words]), own, 1.0);
            }
        }
        let days: HashMap<Option<i64>, f32> = days
            .into_iter()
            .map(|(day, best)| (day, best.iter().sum()))
            .collect();
        let mut best = Vec::with_capacity(words);
        let scored = runs.iter().zip(&contributions).map(|(run, own)| {
            let own: Vec<&[f32]> = own.chunks_exact(words).collect();
            let scored = (0..run.len()).map(|at| {
                if run[at].counts.iter().all(|count| count.times == 0) {
                    return 0.0;
                }
                best.clear();
                best.extend_from_slice(own[at]);
                add_neighbours(&mut best, run, &own, at);
                let conversation = days.get(&day_of(run[at].time)).copied().unwrap_or(0.0);
                best.iter().sum::<f32>() * self.coverage(&best) + CONVERSATION * conversation
            });
            scored.collect()
        });
        scored.collect()
    }

    /// Returns what the nearness of words to each other is worth: of two words, the rarity of the more
    /// frequent one counts.
    pub(in crate::core) fn nearness(&self, nearness: &[f32]) -> f32 {
        let pairs = self.each.windows(2).zip(nearness);
        NEARNESS
            * pairs
                .map(|(pair, near)| pair[0].min(pair[1]) * near)
                .sum::<f32>()
    }

    /// Returns what covering these words is worth: 1 for all of them.
    fn coverage(&self, best: &[f32]) -> f32 {
        let covered = self.each.iter().zip(best).filter(|(_, best)| **best > 0.0);
        let covered: f32 = covered.map(|(rarity, _)| rarity).sum();
        1.0 - COVERAGE + COVERAGE * covered / self.sum.max(f32::MIN_POSITIVE)
    }
}

/// Returns how much a word counts that a text with so many words has so many times.
pub(in crate::core) fn saturation(times: u32, words: u32) -> f32 {
    let length = words as f32 / ORDINARY_WORDS;
    let dampening = SATURATION * (1.0 - LENGTH + LENGTH * length);
    let times = times as f32;
    times * (SATURATION + 1.0) / (times + dampening)
}

/// Adds what neighbours contribute to a passage, where that is more than its own.
fn add_neighbours(best: &mut [f32], run: &[&Passage], own: &[&[f32]], at: usize) {
    let are_apart = |from: usize, to: usize| {
        let times = run[from].time.zip(run[to].time);
        times.is_some_and(|(from, to)| (to - from).abs() > PAUSE)
    };
    for (step, share) in FROM_BEFORE.iter().enumerate() {
        let Some(from) = at.checked_sub(step + 1) else {
            break;
        };
        if are_apart(from, from + 1) {
            break;
        }
        keep_max(best, own[from], *share);
    }
    for (step, share) in FROM_AFTER.iter().enumerate() {
        let from = at + step + 1;
        if from >= run.len() || are_apart(from - 1, from) {
            break;
        }
        keep_max(best, own[from], *share);
    }
}

/// Keeps the higher of each two contributions; the others count by a share.
fn keep_max(best: &mut [f32], others: &[f32], share: f32) {
    for (best, other) in best.iter_mut().zip(others) {
        *best = best.max(other * share);
    }
}

/// Returns the day of a message: a conversation is the messages of one log on one day.
fn day_of(time: Option<i64>) -> Option<i64> {
    time.map(|time| time.div_euclid(DAY))
}

/// Returns the scores of the messages of one session, whose own scores are given, best first.
/// They are in the same order, and at most the own scores.
pub(in crate::core) fn session_scores(own: &[f32]) -> Vec<f32> {
    let mut share = 1.0;
    (0..own.len())
        .map(|number| {
            let score = share * session_score(own[number..].iter().copied());
            share *= FURTHER;
            score
        })
        .collect()
}

/// Returns the scores of the lines of one memory, whose own scores are given, best first: each
/// further line counts less, so that the first hits are not all of one memory.
pub(in crate::core) fn further_scores(own: &[f32]) -> Vec<f32> {
    let mut share = 1.0;
    let scores = own.iter().map(|own| {
        let score = share * own;
        share *= FURTHER;
        score
    });
    scores.collect()
}

/// Returns the score of a session, from the own scores of its messages, best first.
pub(in crate::core) fn session_score(own: impl Iterator<Item = f32>) -> f32 {
    let all: f32 = SESSION.iter().sum();
    let own = own.zip(SESSION).map(|(own, weight)| own * weight);
    own.sum::<f32>() / all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passage(time: Option<i64>, words: &[usize]) -> Passage {
        let mut counts = vec![WordCount::default(); 2];
        for word in words {
            counts[*word] = WordCount {
                times: 1,
                is_exact: true,
            };
        }
        Passage {
            time,
            words: 4,
            counts,
        }
    }

    fn scores(run: &[Passage]) -> Vec<f32> {
        Rarity::new(&[1, 3], 100_000)
            .scores(&[run.iter().collect()])
            .concat()
    }

    /// The scores of passages that all have the second word, where one has the first, too.
    fn beside(one_with_first: usize, times: &[Option<i64>]) -> Vec<f32> {
        let passages = times.iter().enumerate().map(|(number, time)| {
            let words: &[usize] = if number == one_with_first {
                &[0, 1]
            } else {
                &[1]
            };
            passage(*time, words)
        });
        scores(&passages.collect::<Vec<Passage>>())
    }

    #[test]
    fn neighbours_earn_less_the_further_they_are() {
        let scores = beside(5, &[Some(0); 12]);
        assert!(scores[5] > scores[6] && scores[6] > scores[4] && scores[6] > scores[7]);
        assert!(scores[9] > scores[10] && scores[2] > scores[1]);
        assert_eq!((scores[0], scores[11]), (scores[1], scores[10]));
    }

    #[test]
    fn a_passage_without_any_word_has_no_score() {
        let run = [&[][..], &[0, 1], &[]].map(|words| passage(Some(0), words));
        let scores = scores(&run);
        assert!(scores[0] == 0.0 && scores[1] > 0.0 && scores[2] == 0.0);
    }

    #[test]
    fn a_conversation_is_a_day_of_a_log() {
        let alone = scores(&[passage(Some(0), &[1])])[0];
        let with = |time: i64| {
            let runs = [passage(Some(0), &[1]), passage(Some(time), &[0])];
            let runs = runs.each_ref().map(|passage| vec![passage]);
            Rarity::new(&[1, 3], 100_000).scores(&runs)[0][0]
        };
        assert!(with(DAY - 1) > alone);
        assert_eq!(with(DAY), alone);
    }

    #[test]
    fn a_session_with_several_good_messages_goes_before_one_with_a_single_one() {
        let (several, single) = (
            session_scores(&[9.0, 8.0, 8.0, 1.0]),
            session_scores(&[9.5]),
        );
        assert!(several[0] > single[0]);
        assert!(several.is_sorted_by(|a, b| a > b));
        assert!(several[0] <= 9.0 && session_scores(&[]).is_empty());
        assert!(further_scores(&[2.0, 2.0, 1.0]).is_sorted_by(|a, b| a > b));
    }

    #[test]
    fn nobody_hears_across_a_pause() {
        let heard = beside(0, &[Some(0), Some(PAUSE), None]);
        assert!(heard[1] > heard[2]);
        let scores = beside(0, &[Some(0), Some(PAUSE + 1), Some(PAUSE + 1)]);
        assert_eq!(scores[1], scores[2]);
    }

    #[test]
    fn rarer_words_and_more_words_earn_more() {
        let one = |words: &[usize]| scores(&[passage(None, words)])[0];
        let (rare, frequent) = (one(&[0]), one(&[1]));
        assert!(rare > frequent);
        assert!(one(&[0, 1]) > rare + frequent);
    }
}
