//! Candidates: hits whose text has not been cut out yet, and their order.

use super::HitSource;
use super::exact::{CopyKey, ExactMatch};
use super::ranked::{Holder, Ranked};
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

/// A score that can be sorted; scores are never NaN.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct OrderedScore(pub(super) f32);

impl Eq for OrderedScore {}

impl PartialOrd for OrderedScore {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for OrderedScore {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

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

/// Removes all but the first line of each memory, and messages that were listed before or are
/// copies of such. A session keeps its places: the next of its messages moves up. The
/// candidates are sorted, best first.
pub(super) fn distinct(sorted: Vec<HitCandidate>) -> Vec<HitCandidate> {
    let mut holders: NumberMap<(bool, usize), usize> = NumberMap::default();
    let mut next_of = vec![usize::MAX; sorted.len()];
    // The number of each candidate's holder, and the next candidate of each holder.
    let mut holder_of = Vec::with_capacity(sorted.len());
    let mut queues: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = Vec::new();
    for (number, candidate) in sorted.iter().enumerate() {
        let holder = *holders.entry(key(candidate.holder)).or_insert(last.len());
        if holder == last.len() {
            queues.push(number);
            last.push(number);
        } else {
            next_of[last[holder]] = number;
            last[holder] = number;
        }
        holder_of.push(holder);
    }
    let mut lines = NumberSet::default();
    let mut copies = NumberSet::default();
    let mut is_new = |candidate: &HitCandidate, holder: usize| {
        let line = match candidate.holder {
            Holder::Memory(_) => 0,
            Holder::Log(..) => candidate.line,
        };
        candidate.copy.is_none_or(|copy| copies.insert(copy)) && lines.insert((holder, line))
    };
    let mut others: NumberMap<CopyKey, usize> = NumberMap::default();
    let mut known = NumberSet::default();
    for (candidate, holder) in sorted.iter().zip(&holder_of) {
        if let Some(copy) = candidate.copy
            && known.insert((copy, *holder))
        {
            *others.entry(copy).or_default() += 1;
        }
    }
    let mut kept = Vec::new();
    for (place, holder) in sorted.iter().zip(&holder_of) {
        // A message without the phrase does not take the place of one with it.
        while let Some(next) = sorted.get(queues[*holder])
            && next.tier == place.tier
        {
            queues[*holder] = next_of[queues[*holder]];
            if is_new(next, *holder) {
                kept.push(HitCandidate {
                    score: place.score,
                    copies: next.copy.map_or(0, |copy| others[&copy] - 1),
                    ..*next
                });
                break;
            }
        }
    }
    kept
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

/// Returns the part and the position of a message.
pub(super) fn position(ranked: &Ranked) -> (Part, MessagePosition) {
    match ranked.holder {
        Holder::Log(_, part) => (part, ranked.at),
        Holder::Memory(_) => (Part::Words, ranked.at),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::log::MessageKind;

    fn message(log: usize, line: u64, score: f32, copy: Option<u64>) -> HitCandidate {
        HitCandidate {
            is_in_pool: true,
            tier: false,
            score,
            source: HitSource::Messages,
            holder: Holder::Log(log, Part::Words),
            at: (log, line as usize),
            line,
            copy: copy.map(|id| (id, MessageKind::Text, 9)),
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
        let kept = distinct(sorted);
        assert_eq!(places(&kept), [(1, 10, 9.0), (2, 20, 8.0), (3, 1, 7.0)]);
    }

    #[test]
    fn a_memory_gives_one_candidate() {
        let line = |line: u64, score: f32| HitCandidate {
            source: HitSource::Detail,
            holder: Holder::Memory(4),
            ..message(4, line, score, None)
        };
        let kept = distinct(vec![line(8, 3.0), message(1, 1, 2.0, None), line(2, 1.0)]);
        assert_eq!(places(&kept), [(4, 8, 3.0), (1, 1, 2.0)]);
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
