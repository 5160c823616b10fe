//! The score of a line or a message: BM25 that takes neighbours into account.
//!
//! For each word of the query a message gets the highest contribution of itself and its
//! neighbours, where a neighbour counts less the further away it is: an answer seldom
//! repeats the words of the question before it. The best contribution in the whole
//! conversation adds a little, and covering many of the query's words adds more. A message
//! without any of the words has no score.
//!
//! [`session_scores`] then scores the messages of one session together: a session that has
//! several good messages goes before one that has a single one.

use std::collections::HashMap;
use std::ops::Range;

use super::needle::NeedleMatch;
use crate::core::corpus::Part;
use crate::core::text::is_question;

/// How soon repetitions of a word stop adding to the score (BM25's k1).
const SATURATION: f32 = 0.6;
/// How much a long text is penalised (BM25's b).
const LENGTH: f32 = 0.3;
/// The length of a typical text, in bytes.
pub(super) const ORDINARY: f32 = 160.0;
/// The shares that a message gets of the contributions of those before it, nearest first.
pub(super) const FROM_BEFORE: [f32; 4] = [0.6, 0.4, 0.25, 0.15];
/// The shares that a message gets of the contributions of those after it, nearest first.
pub(super) const FROM_AFTER: [f32; 3] = [0.4, 0.2, 0.1];
/// The share that each message gets of the best contributions in its conversation.
const CONVERSATION: f32 = 0.15;
/// The part of the score that depends on how many of the words are covered.
const COVERAGE: f32 = 0.4;
/// The other part of it.
pub(super) const UNCOVERED: f32 = 1.0 - COVERAGE;
/// The weight of another form of a word.
const OTHER_FORM: f32 = 0.85;
/// The exponent of the inverse document frequency: below 1, one rare word counts less.
const RARE: f32 = 0.9;
/// The weight of a question, since answers are more useful.
const QUESTION: f32 = 0.8;
/// The weights of a session's best message and of those after it: what was done in a session is
/// seldom said in one message.
pub(super) const SESSION: [f32; 8] = [1.0, 0.9, 0.9, 0.8, 0.8, 0.7, 0.7, 0.6];
/// How much less each further message of a session counts, so that the first hits are not all
/// of one session.
const FURTHER: f32 = 0.9;
/// The time in milliseconds beyond which messages are not neighbours.
const PAUSE: i64 = 60 * 60 * 1000;
const DAY: i64 = 24 * PAUSE;

/// The inverse document frequency of each needle.
#[derive(Debug, Clone)]
pub(super) struct Rarity {
    /// For another form of the needle, and as it is written in the query.
    each: Vec<[f32; 2]>,
    /// What the coverage of a passage gains by each needle.
    shares: Vec<f32>,
}

/// A message or line, as it is scored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Passage {
    /// The part of the log; [`Part::Words`] for a line of a memory.
    pub(super) part: Part,
    /// The position: a block or file, and the number in it.
    pub(super) at: (usize, usize),
    pub(super) time: Option<i64>,
    /// The length of the text, in bytes.
    pub(super) length: usize,
    /// The weight compared with others that have the same words.
    pub(super) worth: f32,
}

/// How often a needle occurs in a passage.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Count {
    /// The passage's index in its group.
    pub(super) passage: usize,
    pub(super) needle: usize,
    pub(super) times: u32,
    pub(super) is_exact: bool,
}

/// Neighbours in a conversation or a file, and the needles in them.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct PassageGroup {
    pub(super) passages: Vec<Passage>,
    /// Sorted by passage.
    pub(super) counts: Vec<Count>,
    /// Whether the passages are no neighbours, so that none contributes to another.
    pub(super) are_apart: bool,
    /// How many passages at the start and at the end only contribute to others: they are scored
    /// with the group before and with the group after this one.
    pub(super) shared: (usize, usize),
}

impl Rarity {
    /// Computes the rarity of needles from the number of texts with each, and all texts' bytes.
    pub(super) fn new(texts_with: &[usize], bytes: u64) -> Self {
        let of = |with: &usize| {
            if *with == 0 {
                return 0.0;
            }
            let with = *with as f32;
            let all = (bytes as f32 / ORDINARY).max(with);
            (1.0 + (all - with + 0.5) / (with + 0.5)).ln().powf(RARE)
        };
        let each: Vec<f32> = texts_with.iter().map(of).collect();
        let sum: f32 = each.iter().sum();
        let share = |rarity: &f32| COVERAGE * rarity / sum;
        Self {
            shares: each.iter().map(share).collect(),
            each: each.iter().map(|each| [each * OTHER_FORM, *each]).collect(),
        }
    }

    /// Returns the number of needles.
    pub(super) fn count(&self) -> usize {
        self.each.len()
    }

    /// Returns the rarity of a needle.
    pub(super) fn of(&self, needle: usize) -> f32 {
        self.each.get(needle).map_or(0.0, |[_, exact]| *exact)
    }

    /// Returns the contribution of a passage for a needle, written as in the query or not, by how
    /// much it is [`saturated`].
    #[inline]
    pub(super) fn offer(&self, needle: usize, is_exact: bool, saturated: f32) -> f32 {
        self.each[needle][usize::from(is_exact)] * saturated
    }

    fn offer_of(&self, count: &Count, passage: &Passage) -> f32 {
        let saturated = saturated(count.times, dampening(passage.length));
        self.offer(count.needle, count.is_exact, saturated)
    }

    /// Returns the score of a passage of full worth: `best` are the contributions to it for each
    /// needle, and `talk` those to its conversation.
    #[inline]
    pub(super) fn total(&self, best: &[f32], talk: f32) -> f32 {
        let covered = best
            .iter()
            .zip(&self.shares)
            .filter(|(best, _)| **best > 0.0);
        let coverage = covered.fold(UNCOVERED, |all, (_, share)| all + share);
        covering(best.iter().sum::<f32>() * coverage, talk)
    }

    /// Returns what the coverage of a passage gains by a needle; it starts with [`UNCOVERED`].
    #[inline]
    pub(super) fn share(&self, needle: usize) -> f32 {
        self.shares[needle]
    }

    /// Adds the contributions of a group to the best ones in its conversations.
    pub(super) fn add(&self, group: &PassageGroup, talks: &mut Conversations) {
        for count in &group.counts {
            let passage = &group.passages[count.passage];
            let offer = self.offer_of(count, passage);
            talks.open(passage.time).raise(count.needle, offer);
        }
    }

    /// Scores the passages of a group, after all groups of the log or file have been added to its
    /// conversations; passages without a needle are left out.
    pub(super) fn score(
        &self,
        group: &PassageGroup,
        talks: &Conversations,
        found: &mut Vec<(f32, Passage)>,
    ) {
        let needles = self.each.len();
        let mut best = Vec::new();
        self.best(group, &mut best);
        let own = group.shared.0..group.passages.len() - group.shared.1;
        let mut with_needle: Vec<usize> = group.counts.iter().map(|c| c.passage).collect();
        with_needle.dedup();
        with_needle.retain(|number| own.contains(number));
        let mut talks = talks.sums();
        for number in with_needle {
            let passage = &group.passages[number];
            let best = &best[number * needles..(number + 1) * needles];
            if best.iter().all(|best| *best <= 0.0) {
                continue;
            }
            let talk = talks.of_day(day_of(passage.time));
            found.push((self.total(best, talk) * passage.worth, *passage));
        }
    }

    /// Computes the best contribution to each passage for each needle, from itself and its
    /// neighbours.
    fn best(&self, group: &PassageGroup, best: &mut Vec<f32>) {
        let needles = self.each.len();
        let passages = &group.passages;
        best.clear();
        best.resize(passages.len() * needles, 0.0);
        let apart = |from: usize, to: usize| are_apart(passages[from].time, passages[to].time);
        for count in &group.counts {
            let offer = self.offer_of(count, &passages[count.passage]);
            let mut lend = |passage: usize, share: f32| {
                let best = &mut best[passage * needles + count.needle];
                *best = best.max(offer * share);
            };
            lend(count.passage, 1.0);
            if group.are_apart {
                continue;
            }
            for (step, share) in FROM_BEFORE.iter().enumerate() {
                let to = count.passage + step + 1;
                if to >= passages.len() || apart(to - 1, to) {
                    break;
                }
                lend(to, *share);
            }
            for (step, share) in FROM_AFTER.iter().enumerate() {
                let Some(to) = count
                    .passage
                    .checked_sub(step + 1)
                    .filter(|to| !apart(*to, to + 1))
                else {
                    break;
                };
                lend(to, *share);
            }
        }
    }
}

/// Returns how much the length of a text, in bytes, lowers the contributions of its words.
#[inline]
pub(super) fn dampening(length: usize) -> f32 {
    const SHORT: f32 = SATURATION * (1.0 - LENGTH);
    const EACH: f32 = SATURATION * LENGTH / ORDINARY;
    SHORT + EACH * length as f32
}

/// Returns how much a word counts that a text has so many times, by its [`dampening`].
#[inline]
pub(super) fn saturated(times: u32, dampening: f32) -> f32 {
    let times = times as f32;
    times * (SATURATION + 1.0) / (times + dampening)
}

/// Returns the score of a passage of full worth that covers all needles, from the sum of the
/// contributions to it.
#[inline]
pub(super) fn covering(sum: f32, talk: f32) -> f32 {
    sum + CONVERSATION * talk
}

impl PassageGroup {
    /// Adds the needles that were found in the passage with this index, sorted by needle.
    pub(super) fn count(&mut self, passage: usize, needles: &[(usize, u32, bool)]) {
        let counts = needles.iter().map(|(needle, times, is_exact)| Count {
            passage,
            needle: *needle,
            times: *times,
            is_exact: *is_exact,
        });
        self.counts.extend(counts);
    }
}

/// Returns the scores of the messages of one session, whose own scores are given, best first.
/// They are in the same order, and at most the own scores.
pub(super) fn session_scores(own: &[f32]) -> Vec<f32> {
    let mut share = 1.0;
    (0..own.len())
        .map(|number| {
            let score = share * session_score(own[number..].iter().copied());
            share *= FURTHER;
            score
        })
        .collect()
}

/// Returns the score of a session, from the own scores of its messages, best first.
#[inline]
pub(super) fn session_score(own: impl Iterator<Item = f32>) -> f32 {
    let all: f32 = SESSION.iter().sum();
    let own = own.zip(SESSION).map(|(own, weight)| own * weight);
    own.sum::<f32>() / all
}

/// Counts the matches in one text by needle.
pub(super) fn counted(places: &[NeedleMatch]) -> Vec<(usize, u32, bool)> {
    let mut counts: Vec<(usize, u32, bool)> = Vec::new();
    for place in places {
        match counts
            .iter_mut()
            .find(|(needle, ..)| *needle == place.needle)
        {
            Some((_, times, is_exact)) => {
                *times += 1;
                *is_exact |= place.is_exact;
            }
            None => counts.push((place.needle, 1, place.is_exact)),
        }
    }
    counts
}

/// Returns the weight of a text as an answer.
pub(super) fn worth(text: &str) -> f32 {
    worth_of(is_question(text))
}

/// Returns the weight of a question, or of another text, as an answer.
#[inline]
pub(super) fn worth_of(is_question: bool) -> f32 {
    match is_question {
        true => QUESTION,
        false => 1.0,
    }
}

/// The best contributions in the conversations of one log or file.
#[derive(Debug)]
pub(super) struct Conversations {
    needles: usize,
    /// The day of each.
    days: Vec<Option<i64>>,
    /// For each conversation, for each needle.
    best: Vec<f32>,
    places: HashMap<Option<i64>, usize>,
    /// The one that was used last, which mostly is the next one, too, and the times that are
    /// known to be of it.
    last: usize,
    of_last: Range<i64>,
}

/// One of the [`Conversations`].
pub(super) struct Conversation<'a> {
    pub(super) number: usize,
    /// Times that are known to be of it.
    times: Range<i64>,
    /// The best contribution for each needle.
    best: &'a mut [f32],
}

/// The sums of the best contributions to conversations; the last one is remembered.
pub(super) struct TalkSums<'a> {
    talks: &'a Conversations,
    last: Option<(usize, f32)>,
}

impl TalkSums<'_> {
    /// Returns the sum of a conversation.
    #[inline]
    pub(super) fn of(&mut self, conversation: usize) -> f32 {
        match self.last {
            Some((known, sum)) if known == conversation => sum,
            _ => {
                let sum = self.talks.sum(conversation);
                self.last.insert((conversation, sum)).1
            }
        }
    }

    /// Returns the sum of the conversation of a day.
    fn of_day(&mut self, day: Option<i64>) -> f32 {
        self.of(self.talks.places.get(&day).copied().unwrap_or(0))
    }
}

impl Conversation<'_> {
    /// Whether it is known to be that of a message with this time.
    #[inline]
    pub(super) fn has(&self, time: Option<i64>) -> bool {
        time.is_some_and(|time| self.times.contains(&time))
    }

    /// Adds a contribution for a needle.
    #[inline]
    pub(super) fn raise(&mut self, needle: usize, offer: f32) {
        let best = &mut self.best[needle];
        if offer > *best {
            *best = offer;
        }
    }
}

impl Conversations {
    /// How many days of one log are told apart; the first stands for those beyond them.
    const MOST: usize = 10_000;

    pub(super) fn new(needles: usize) -> Self {
        Self {
            needles,
            days: Vec::new(),
            best: Vec::new(),
            places: HashMap::new(),
            last: 0,
            of_last: 0..0,
        }
    }

    /// Forgets all conversations, for the next log.
    pub(super) fn clear(&mut self) {
        self.days.clear();
        self.best.clear();
        self.places.clear();
        self.last = 0;
        self.of_last = 0..0;
    }

    /// Returns the conversation of a message with this time.
    #[inline]
    pub(super) fn open(&mut self, time: Option<i64>) -> Conversation<'_> {
        if time.is_none_or(|time| !self.of_last.contains(&time)) {
            self.enter_day(day_of(time));
        }
        let from = self.last * self.needles;
        Conversation {
            number: self.last,
            times: self.of_last.clone(),
            best: &mut self.best[from..from + self.needles],
        }
    }

    fn enter_day(&mut self, day: Option<i64>) {
        if self.days.get(self.last).is_none_or(|last| *last != day) {
            self.last = self.find(day);
        }
        self.of_last = day.map_or(0..0, |day| {
            day.saturating_mul(DAY)..(day + 1).saturating_mul(DAY)
        });
    }

    fn find(&mut self, day: Option<i64>) -> usize {
        // Many logs are of one day, for which no place has to be remembered.
        if self.days.is_empty() {
            self.add(day);
            return 0;
        }
        if self.days[0] == day {
            return 0;
        }
        match self.places.get(&day) {
            Some(place) => *place,
            None if self.days.len() < Self::MOST => {
                self.places.insert(day, self.days.len());
                self.add(day);
                self.days.len() - 1
            }
            None => 0,
        }
    }

    fn add(&mut self, day: Option<i64>) {
        self.days.push(day);
        self.best.resize(self.days.len() * self.needles, 0.0);
    }

    /// Returns the sum of the best contributions to a conversation.
    fn sum(&self, conversation: usize) -> f32 {
        let from = conversation * self.needles;
        let best = self.best.get(from..from + self.needles);
        best.map_or(0.0, |best| best.iter().sum())
    }

    pub(super) fn sums(&self) -> TalkSums<'_> {
        TalkSums {
            talks: self,
            last: None,
        }
    }
}

/// Returns the day of a message: a conversation is the messages of one log on one day.
#[inline]
pub(super) fn day_of(time: Option<i64>) -> Option<i64> {
    time.map(|time| time.div_euclid(DAY))
}

/// Whether there is a pause between two messages that follow each other.
#[inline]
pub(super) fn are_apart(from: Option<i64>, to: Option<i64>) -> bool {
    from.zip(to)
        .is_some_and(|(from, to)| (to - from).abs() > PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passage(number: usize, time: Option<i64>) -> Passage {
        Passage {
            part: Part::Words,
            at: (0, number),
            time,
            length: 100,
            worth: 1.0,
        }
    }

    fn scored(group: PassageGroup) -> Vec<(f32, usize)> {
        let mut found = Vec::new();
        let rarity = Rarity::new(&[1, 3], 100_000);
        let mut talks = Conversations::new(rarity.count());
        rarity.add(&group, &mut talks);
        rarity.score(&group, &talks, &mut found);
        found
            .into_iter()
            .map(|(score, passage)| (score, passage.at.1))
            .collect()
    }

    fn one(passage: usize, needle: usize) -> Count {
        Count {
            passage,
            needle,
            times: 1,
            is_exact: true,
        }
    }

    /// The scores of passages that all have the second needle, where one has the first, too.
    fn beside(one_with_first: usize, times: &[Option<i64>]) -> Vec<f32> {
        let passages = times.iter().enumerate();
        let passages = passages.map(|(number, time)| passage(number, *time));
        let mut counts: Vec<Count> = (0..times.len()).map(|number| one(number, 1)).collect();
        counts.insert(one_with_first, one(one_with_first, 0));
        let found = scored(PassageGroup {
            passages: passages.collect(),
            counts,
            ..PassageGroup::default()
        });
        let numbers: Vec<usize> = found.iter().map(|(_, number)| *number).collect();
        assert_eq!(numbers, (0..times.len()).collect::<Vec<usize>>());
        found.into_iter().map(|(score, _)| score).collect()
    }

    #[test]
    fn messages_of_one_day_are_one_conversation() {
        let mut talks = Conversations::new(1);
        let times = [5, DAY - 1, DAY, 7, -1, i64::MIN + 1, i64::MAX, DAY + 3];
        let mut number = |time| {
            let mut talk = talks.open(time);
            talk.raise(0, 1.0);
            assert!(!talk.has(Some(8)) || talk.number == 0);
            assert!(!talk.has(None));
            talk.number
        };
        let numbers = times.map(|time| number(Some(time)));
        assert_eq!(numbers, [0, 0, 1, 0, 2, 3, 4, 1]);
        assert_eq!((number(None), number(None)), (5, 5));
        assert!(talks.open(Some(9)).has(Some(DAY - 2)));
        talks.clear();
        assert_eq!(
            (talks.open(None).number, talks.open(Some(5)).number),
            (0, 1)
        );
    }

    #[test]
    fn neighbours_earn_less_the_further_they_are() {
        let scores = beside(5, &[Some(0); 12]);
        assert!(scores[5] > scores[6] && scores[6] > scores[4] && scores[6] > scores[7]);
        assert!(scores[9] > scores[10] && scores[2] > scores[1]);
        assert_eq!((scores[0], scores[11]), (scores[1], scores[10]));
    }

    #[test]
    fn a_passage_without_any_needle_has_no_score() {
        let passages: Vec<Passage> = (0..3).map(|number| passage(number, Some(0))).collect();
        let counts = vec![one(1, 0), one(1, 1)];
        let found = scored(PassageGroup {
            passages,
            counts,
            ..PassageGroup::default()
        });
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].1, 1);
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
        let group = |counts: Vec<Count>| {
            scored(PassageGroup {
                passages: vec![passage(0, None)],
                counts,
                ..PassageGroup::default()
            })[0]
                .0
        };
        let (rare, frequent) = (group(vec![one(0, 0)]), group(vec![one(0, 1)]));
        assert!(rare > frequent);
        assert!(group(vec![one(0, 0), one(0, 1)]) > rare + frequent);
    }
}
