//! Candidates: hits whose text has not been cut out yet, and their order.

use super::HitSource;
use super::exact::{CopyKey, ExactMatch};
use super::ranked::Holder;
use super::walker::MessagePosition;
use crate::core::corpus::Part;
use crate::core::text::{NumberMap, NumberSet};

/// A hit whose text has not been cut out yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct HitCandidate {
    /// Whether it is among the texts that were ranked by the nearness of their words.
    pub(super) is_in_pool: bool,
    /// Whether it contains the whole query as a phrase.
    pub(super) tier: bool,
    pub(super) score: f32,
    pub(super) source: HitSource,
    pub(super) holder: Holder,
    pub(super) at: MessagePosition,
    pub(super) line: u64,
    pub(super) copy: Option<CopyKey>,
    /// The number of copies that it stands for.
    pub(super) copies: usize,
    /// The byte offset of the match, if it is known already.
    pub(super) offset: Option<usize>,
}

/// The place of a candidate in the order of all; see [`HitCandidate::place`].
pub(super) type CandidatePlace = (u64, u64, u64);

/// Sorts the candidates so that those of a session are together, best first, and returns the
/// sessions. Lines of memories are none.
pub(super) fn by_session(
    candidates: &mut [HitCandidate],
) -> impl Iterator<Item = &mut [HitCandidate]> {
    candidates.sort_by(|a, b| {
        let order = |candidate: &HitCandidate| (key(candidate.holder), !candidate.is_in_pool);
        order(a)
            .cmp(&order(b))
            .then(b.score.total_cmp(&a.score))
            .then(a.line.cmp(&b.line))
    });
    candidates
        .chunk_by_mut(|a, b| key(a.holder) == key(b.holder))
        .filter(|session| matches!(session[0].holder, Holder::Log(..)))
}

/// Counts the candidates without all but the first line of each memory, and without messages that
/// were listed before or are copies of such. A session keeps its places: the next of its messages
/// moves up. The candidates are sorted, best first. Also returns the first `most` that are left, and
/// behind them the first of the other source if it is not among them.
pub(super) fn distinct(sorted: &[HitCandidate], most: usize) -> (usize, Vec<HitCandidate>) {
    let mut holders: NumberMap<(bool, usize), usize> = NumberMap::default();
    let mut next_of = vec![u32::MAX; sorted.len()];
    // The number of each candidate's holder, and the next candidate of each holder.
    let mut holder_of: Vec<u32> = Vec::with_capacity(sorted.len());
    let mut queues: Vec<u32> = Vec::new();
    let mut last: Vec<u32> = Vec::new();
    for (number, candidate) in (0..).zip(sorted) {
        let holder = *holders.entry(key(candidate.holder)).or_insert(last.len());
        if holder == last.len() {
            queues.push(number);
            last.push(number);
        } else {
            next_of[last[holder] as usize] = number;
            last[holder] = number;
        }
        holder_of.push(holder as u32);
    }
    let mut lines = NumberSet::default();
    let mut copies = NumberSet::default();
    lines.reserve(sorted.len());
    copies.reserve(sorted.len());
    let mut is_new = |candidate: &HitCandidate, holder: u32| {
        let line = match candidate.holder {
            Holder::Memory(_) => 0,
            Holder::Log(..) => candidate.line,
        };
        candidate.copy.is_none_or(|copy| copies.insert(copy)) && lines.insert((holder, line))
    };
    let mut total = 0;
    let mut kept: Vec<HitCandidate> = Vec::new();
    let mut has_both = false;
    for (place, holder) in sorted.iter().zip(&holder_of) {
        let queue = &mut queues[*holder as usize];
        // A message without the phrase does not take the place of one with it.
        while let Some(next) = sorted.get(*queue as usize)
            && next.tier == place.tier
        {
            *queue = next_of[*queue as usize];
            if is_new(next, *holder) {
                total += 1;
                let is_other = kept
                    .first()
                    .is_some_and(|first| first.source != next.source);
                if kept.len() < most || (is_other && !has_both) {
                    has_both |= is_other;
                    kept.push(HitCandidate {
                        score: place.score,
                        ..*next
                    });
                }
                break;
            }
        }
    }
    count_copies(sorted, &holder_of, &mut kept);
    (total, kept)
}

/// Counts for each of the kept candidates how many other holders have a copy of it.
fn count_copies(sorted: &[HitCandidate], holder_of: &[u32], kept: &mut [HitCandidate]) {
    let copies = kept.iter().filter_map(|candidate| candidate.copy);
    let mut holders: NumberMap<CopyKey, Vec<u32>> = copies.map(|copy| (copy, Vec::new())).collect();
    for (candidate, holder) in sorted.iter().zip(holder_of) {
        if let Some(copy) = candidate.copy
            && let Some(holders) = holders.get_mut(&copy)
            && !holders.contains(holder)
        {
            holders.push(*holder);
        }
    }
    for candidate in kept {
        let holders = candidate.copy.and_then(|copy| holders.get(&copy));
        candidate.copies = holders.map_or(0, |holders| holders.len().saturating_sub(1));
    }
}

/// Moves the first candidate of the second source to the second place, if it is behind it.
pub(super) fn both_sources_first(candidates: &mut [HitCandidate]) {
    let Some(first) = candidates.first().map(|candidate| candidate.source) else {
        return;
    };
    let other = candidates
        .iter()
        .position(|candidate| candidate.source != first);
    if let Some(other) = other {
        candidates[1..=other].rotate_right(1);
    }
}

impl HitCandidate {
    /// The bits of [`HitCandidate::order`].
    const ORDER_BITS: u32 = 35;

    /// Returns a number that orders candidates: those of the pool first, then those with the phrase,
    /// by descending score, and by source.
    pub(super) fn order(&self) -> u64 {
        const SIGN: u32 = 1 << 31;
        let bits = self.score.to_bits();
        // Like `f32::total_cmp`; scores are never NaN.
        let ascending = if bits & SIGN == 0 { bits | SIGN } else { !bits };
        let source = match self.source {
            HitSource::Detail => 0,
            HitSource::Messages => 1,
        };
        u64::from(!self.is_in_pool) << 34
            | u64::from(!self.tier) << 33
            | u64::from(!ascending) << 1
            | source
    }

    /// Returns numbers that order candidates: by [`HitCandidate::order`], by the rank of their path,
    /// by line, and by position. They are small, because there can be many to sort.
    pub(super) fn place(&self, rank: usize) -> CandidatePlace {
        const RANK_BITS: u32 = u64::BITS - HitCandidate::ORDER_BITS;
        let rank = (rank as u64).min((1 << RANK_BITS) - 1);
        let (part, (block, message)) = position(self.holder, self.at);
        let position = (part.number() as u64) << 62 | (block as u64) << 24 | message as u64;
        (self.order() << RANK_BITS | rank, self.line, position)
    }

    /// Sets what was found in its text: the offset of the match, and whether it stands alone.
    pub(super) fn read(&mut self, found: Option<(usize, bool)>) {
        if let Some((offset, is_whole)) = found {
            self.offset = Some(offset);
            self.tier = is_whole;
            self.score = score_of(is_whole);
        }
    }
}

fn score_of(is_whole: bool) -> f32 {
    if is_whole { 2.0 } else { 1.0 }
}

pub(super) fn candidate_of(exact_match: ExactMatch, holder: Holder) -> HitCandidate {
    HitCandidate {
        is_in_pool: true,
        tier: exact_match.is_whole,
        score: score_of(exact_match.is_whole),
        source: match holder {
            Holder::Memory(_) => HitSource::Detail,
            Holder::Log(..) => HitSource::Messages,
        },
        holder,
        at: exact_match.at,
        line: exact_match.line,
        copy: exact_match.copy,
        copies: 0,
        offset: exact_match.offset,
    }
}

pub(super) fn key(holder: Holder) -> (bool, usize) {
    match holder {
        Holder::Memory(number) => (false, number),
        Holder::Log(log, _) => (true, log),
    }
}

/// Returns the part and the position of a message, or of a line of a memory.
pub(super) fn position(holder: Holder, at: MessagePosition) -> (Part, MessagePosition) {
    match holder {
        Holder::Log(_, part) => (part, at),
        Holder::Memory(_) => (Part::Words, at),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(log: usize, line: u64, score: f32, copy: Option<u64>) -> HitCandidate {
        HitCandidate {
            is_in_pool: true,
            tier: false,
            score,
            source: HitSource::Messages,
            holder: Holder::Log(log, Part::Words),
            at: (log, line as usize),
            line,
            copy: copy.and_then(CopyKey::new),
            copies: 0,
            offset: None,
        }
    }

    fn places(candidates: &[HitCandidate]) -> Vec<(usize, u64, f32)> {
        let place = |candidate: &HitCandidate| (candidate.at.0, candidate.line, candidate.score);
        candidates.iter().map(place).collect()
    }

    #[test]
    fn a_session_whose_message_is_a_copy_keeps_its_place_with_its_next_message() {
        let sorted = vec![
            message(1, 10, 9.0, Some(7)),
            message(2, 10, 8.0, Some(7)),
            message(3, 1, 7.0, None),
            message(2, 20, 6.0, None),
            message(1, 10, 5.0, None),
        ];
        let (total, kept) = distinct(&sorted, 9);
        assert_eq!(places(&kept), [(1, 10, 9.0), (2, 20, 8.0), (3, 1, 7.0)]);
        assert_eq!((total, kept[0].copies), (3, 1));
        let (total, first) = distinct(&sorted, 2);
        assert_eq!((total, places(&first)), (3, places(&kept[..2])));
    }

    #[test]
    fn a_memory_gives_one_candidate() {
        let line = |line: u64, score: f32| HitCandidate {
            source: HitSource::Detail,
            holder: Holder::Memory(4),
            ..message(4, line, score, None)
        };
        let sorted = [line(8, 3.0), message(1, 1, 2.0, None), line(2, 1.0)];
        let (total, kept) = distinct(&sorted, 9);
        assert_eq!((total, places(&kept)), (2, vec![(4, 8, 3.0), (1, 1, 2.0)]));
    }

    #[test]
    fn the_first_of_the_other_source_is_kept_however_far_it_is() {
        let mut sorted: Vec<HitCandidate> =
            (1..9).map(|line| message(1, line, 1.0, None)).collect();
        for at in [5, 7] {
            sorted[at].source = HitSource::Detail;
            sorted[at].holder = Holder::Memory(at);
        }
        let (total, kept) = distinct(&sorted, 2);
        let lines = kept.iter().map(|one| one.line).collect::<Vec<u64>>();
        assert_eq!((total, lines), (8, vec![1, 2, 6]));
    }

    #[test]
    fn a_higher_score_goes_first_unless_another_is_in_the_pool_or_has_the_phrase() {
        let scores = [9.5, 1.0, 0.0, -0.5, -7.0];
        let orders = scores.map(|score| message(1, 1, score, None).order());
        assert!(orders.is_sorted_by(|a, b| a < b));
        let with = |is_in_pool, tier| HitCandidate {
            is_in_pool,
            tier,
            ..message(1, 1, -7.0, None)
        };
        assert!(with(true, true).order() < orders[0]);
        assert!(with(false, true).order() > orders[4]);
        let memory = HitCandidate {
            source: HitSource::Detail,
            ..message(1, 1, 1.0, None)
        };
        assert!(memory.order() < orders[1] && memory.order() > orders[0]);
    }

    #[test]
    fn the_first_two_are_of_both_sources() {
        let mut all: Vec<HitCandidate> = (1..5).map(|line| message(1, line, 1.0, None)).collect();
        both_sources_first(&mut all);
        assert_eq!(
            all.iter().map(|one| one.line).collect::<Vec<u64>>(),
            [1, 2, 3, 4]
        );
        all[3].source = HitSource::Detail;
        both_sources_first(&mut all);
        assert_eq!(
            all.iter().map(|one| one.line).collect::<Vec<u64>>(),
            [1, 4, 2, 3]
        );
    }
}
