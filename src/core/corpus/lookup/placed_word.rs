//! What the lists of a span say: words at places, sorted by place.

/// What a list says: a place of a span, the number of a word, and how often it occurs there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PlacedWord(u64);

/// Memory for the occurrences of a span, which the next span uses again.
#[derive(Debug, Default)]
pub struct OccurrenceList {
    pub(super) all: Vec<PlacedWord>,
    pub(super) others: Vec<PlacedWord>,
    pub(super) next: Vec<u32>,
}

impl PlacedWord {
    /// How often it occurs is at most this.
    const MOST_TIMES: u32 = u16::MAX as u32;

    #[inline]
    pub(super) fn new(place: u32, number: u16, times: u32) -> Self {
        let times = times.min(Self::MOST_TIMES);
        Self(u64::from(place) << 32 | u64::from(number) << 16 | u64::from(times))
    }

    #[inline]
    pub(super) fn place(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Returns the number that was given to the word.
    #[inline]
    pub fn number(self) -> u16 {
        (self.0 >> 16) as u16
    }

    /// Returns how often it occurs.
    #[inline]
    pub fn times(self) -> u32 {
        self.0 as u32 & Self::MOST_TIMES
    }
}

/// Sorts the occurrences of several words by place; those of one place stay in their order. `None`
/// if one has no such place. `sorted` and `next` are memory that is used again.
pub(super) fn by_place(
    places: usize,
    (all, sorted): (&mut Vec<PlacedWord>, &mut Vec<PlacedWord>),
    next: &mut Vec<u32>,
) -> Option<()> {
    if all.len() < places / 8 {
        // The places of each word are in order, so this merges a few sorted lists.
        all.sort_by_key(|one| one.place());
        return Some(());
    }
    next.clear();
    next.resize(places, 0);
    for one in &*all {
        *next.get_mut(one.place() as usize)? += 1;
    }
    let mut sum = 0;
    for count in &mut *next {
        sum += std::mem::replace(count, sum);
    }
    sorted.clear();
    sorted.resize(all.len(), PlacedWord::default());
    for one in &*all {
        let to = &mut next[one.place() as usize];
        sorted[*to as usize] = *one;
        *to += 1;
    }
    std::mem::swap(all, sorted);
    Some(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn occurrences_are_sorted_by_place_and_those_of_one_place_stay_in_their_order(
            lists in prop::collection::vec(prop::collection::btree_set(0u32..90, 0..60), 0..6),
            places in prop_oneof![Just(90usize), Just(2000), 1usize..90],
        ) {
            let lists = lists.iter().enumerate();
            let all = lists.flat_map(|(word, list)| {
                list.iter().map(move |place| PlacedWord::new(*place, 9 - word as u16, 1))
            });
            let all: Vec<PlacedWord> = all.collect();
            let (mut sorted, mut others) = (all.clone(), vec![PlacedWord::new(7, 7, 7); 3]);
            let mut next = vec![1; 5];
            let result = by_place(places, (&mut sorted, &mut others), &mut next);
            let is_sound = all.iter().all(|one| (one.place() as usize) < places);
            if all.len() >= places / 8 {
                prop_assert_eq!(result.is_some(), is_sound);
            }
            if result.is_some() {
                let mut expected = all;
                expected.sort_by_key(|one| one.place());
                prop_assert_eq!(sorted, expected);
            }
        }
    }
}
