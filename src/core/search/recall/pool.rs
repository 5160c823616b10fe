//! The pool: the texts with the best scores, which are read and ranked by the nearness of
//! their words.

use std::collections::HashSet;

use super::super::HitSource;
use super::super::candidate::{HitCandidate, position};
use super::super::exact;
use super::super::needle::{Haystack, NeedleMatch, Needles};
use super::super::proximity::proximity;
use super::super::ranked::{Holder, Occurrences, Ranked, Ranking};
use super::super::score::{session_score, worth};
use super::super::walker::{MessagePosition, message_worth};
use super::phrase::Phrase;
use super::{FEW, Search};
use crate::core::corpus::Part;
use crate::core::parallel::with_on_all_cores;
use crate::core::text::Stems;

/// How many of the best texts of each source are read and ranked by the nearness of their
/// words.
const POOL: usize = 200;
/// How many sessions have their best messages among these, at least.
pub(super) const POOL_SESSIONS: usize = 30;
/// The weight of the nearness of words.
pub(super) const PROXIMITY: f32 = 0.2;

/// The candidates of a ranked query.
pub(super) struct Candidates {
    pub(super) needles: Needles,
    pub(super) phrase: Phrase,
    pub(super) all: Vec<HitCandidate>,
    /// How many texts contain a word of the query, if not all of them are candidates.
    pub(super) more: Option<usize>,
}

/// Memory for what is found in a text, which the next text uses again.
#[derive(Default)]
struct Scratch {
    stems: Stems,
    places: Vec<NeedleMatch>,
    /// The texts whose memory has not been released.
    read: Vec<HitCandidate>,
}

/// Completes a candidate by its text and the text's worth, and tells whether it is kept.
type Keeps<'a> = dyn Fn(&mut Scratch, &mut HitCandidate, &str, f32) -> bool + Sync + 'a;

impl Search<'_> {
    /// Finds and scores the texts that contain words of the query, enough for `limit` hits and
    /// for this many sessions; `None` if the query has no words.
    pub(super) fn candidates(&self, limit: usize, sessions: usize) -> Option<Candidates> {
        let needles = Needles::of(self.request.query);
        if needles.is_empty() {
            return None;
        }
        let with = (&needles, &self.limits);
        let mut occurrences = Occurrences::in_memories(self.sources, with, &self.texts);
        let corpus = self.corpus();
        if let Some(corpus) = corpus {
            let (first, then) = self.parts();
            occurrences.search_logs(corpus, first);
            if occurrences.count() < FEW {
                occurrences.search_logs(corpus, then);
            }
        }
        let total = occurrences.count();
        let wants = |ranked: &Ranked| self.is_wanted(ranked);
        let most = POOL.max(limit.saturating_mul(2));
        let ranking = occurrences.rank(corpus, (most, sessions), &wants);
        let more = (ranking.messages.len() >= most || ranking.lines.len() > POOL).then_some(total);
        let phrase = Phrase::of(self.request.query, &needles);
        let keeps =
            |scratch: &mut Scratch, candidate: &mut HitCandidate, text: &str, worth: f32| {
                let Scratch { stems, places, .. } = scratch;
                places.clear();
                needles.find(Haystack::of_words(text), stems, places);
                places.sort_unstable();
                let phrase = phrase.find(text, places);
                candidate.tier = phrase.is_some_and(|(_, is_whole)| is_whole);
                if candidate.is_in_pool {
                    let nearness = PROXIMITY * proximity(text, places, &ranking.rarity);
                    candidate.score += nearness * worth;
                }
                needles.has_phrases(text)
            };
        let all = self.read_texts(&self.best_candidates(&ranking, sessions), &keeps);
        Some(Candidates {
            needles,
            phrase,
            all,
            more,
        })
    }

    fn is_wanted(&self, ranked: &Ranked) -> bool {
        let Holder::Log(log, part) = ranked.holder else {
            return true;
        };
        let is_allowed = self.logs.get(log).copied().unwrap_or(false);
        let is_plain = self.filters.admit_all_messages();
        let table = || self.sources.corpus?.block(part, ranked.at.0)?.table();
        let sketch = || table()?.summary(ranked.at.1);
        is_allowed
            && (is_plain
                || sketch().is_some_and(|sketch| self.allows(log, (sketch.role, sketch.time))))
    }

    /// Returns the best candidates of each source and of this many sessions, whose texts have
    /// not been read yet, in the order of reading.
    fn best_candidates(&self, ranking: &Ranking, of_sessions: usize) -> Vec<HitCandidate> {
        let mut lines: Vec<&Ranked> = ranking.lines.iter().collect();
        lines.sort_unstable_by(|a, b| Ranked::compare(a, b));
        let mut candidates: Vec<HitCandidate> = Vec::new();
        let mut take = |source: HitSource, ranked: &Ranked, is_in_pool: bool| {
            candidates.push(HitCandidate {
                is_in_pool,
                tier: false,
                score: ranked.score,
                source,
                holder: ranked.holder,
                at: ranked.at,
                line: ranked.at.1 as u64,
                copy: None,
                copies: 0,
                offset: None,
            });
        };
        for (place, ranked) in lines.into_iter().enumerate() {
            take(HitSource::Detail, ranked, place < POOL);
        }
        let mut pool: HashSet<(Part, MessagePosition)> = HashSet::new();
        let mut sessions: Vec<(f32, &[Ranked])> = ranking
            .sessions
            .iter()
            .map(|best| {
                let own = best.iter().map(|ranked| ranked.score);
                (session_score(own), best.as_slice())
            })
            .collect();
        sessions.sort_unstable_by(|a, b| {
            b.0.total_cmp(&a.0)
                .then_with(|| Ranked::compare(&a.1[0], &b.1[0]))
        });
        let best = sessions
            .iter()
            .take(of_sessions)
            .flat_map(|(_, best)| *best);
        let first = ranking.messages.iter().take(POOL).chain(best);
        for ranked in first {
            if pool.insert(position(ranked.holder, ranked.at)) {
                take(HitSource::Messages, ranked, true);
            }
        }
        for ranked in ranking.messages.iter().skip(POOL) {
            if pool.insert(position(ranked.holder, ranked.at)) {
                take(HitSource::Messages, ranked, false);
            }
        }
        candidates.sort_unstable_by_key(|candidate| {
            (candidate.source, position(candidate.holder, candidate.at))
        });
        candidates
    }

    /// Reads the text of each candidate, with its worth, and returns those that `keeps` keeps, in
    /// the same order.
    fn read_texts(&self, candidates: &[HitCandidate], keeps: &Keeps<'_>) -> Vec<HitCandidate> {
        /// How many texts a thread takes at a time.
        const TOGETHER: usize = 12;
        /// How many texts a thread reads before the memory of their outlines is released.
        const HELD: usize = 48;
        let parts: Vec<&[HitCandidate]> = candidates.chunks(TOGETHER).collect();
        let kept = with_on_all_cores(parts.len(), Scratch::default, |scratch, number| {
            let mut kept = parts[number].to_vec();
            kept.retain_mut(|candidate| self.is_kept(candidate, scratch, keeps));
            scratch.read.extend(parts[number]);
            if scratch.read.len() >= HELD {
                self.release(&scratch.read);
                scratch.read.clear();
            }
            kept
        });
        self.release(candidates);
        kept.concat()
    }

    /// Reads the text of a candidate; returns whether it is kept.
    fn is_kept(
        &self,
        candidate: &mut HitCandidate,
        scratch: &mut Scratch,
        keeps: &Keeps<'_>,
    ) -> bool {
        let part = match candidate.holder {
            Holder::Memory(number) => {
                let text = self.memory_line(number, candidate.at.1);
                return keeps(scratch, candidate, text, worth(text));
            }
            Holder::Log(_, part) => part,
        };
        let is_kept = self.message(part, candidate.at, |message| {
            candidate.line = message.line;
            candidate.copy = exact::copy_key(message);
            !self.is_left_out(message)
                && keeps(scratch, candidate, message.text, message_worth(message))
        });
        is_kept.unwrap_or(false)
    }

    /// Releases the memory of the outlines of the blocks that hold these candidates.
    fn release(&self, candidates: &[HitCandidate]) {
        let Some(corpus) = self.sources.corpus else {
            return;
        };
        for part in Part::ALL {
            let of_part = candidates.iter().filter_map(|candidate| {
                let is_in = matches!(candidate.holder, Holder::Log(_, found) if found == part);
                is_in.then_some(candidate.at.0)
            });
            if let Some((first, last)) = of_part.clone().min().zip(of_part.max()) {
                corpus.release_outlines(part, first..last + 1);
            }
        }
    }
}
