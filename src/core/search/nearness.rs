//! How near the words of a query are to each other in a text.

use super::needle::NeedleMatch;
use crate::core::text::words;

/// The distance in words beyond which two words are not near each other.
const FAR: usize = 10;
/// The most bytes of text in which words are counted.
const FAR_BYTES: usize = 400;
/// The weight of words in the reverse order.
const REVERSED: f32 = 0.75;

/// Returns the nearness of each of so many words of a query to the next one: 1 if they stand side by
/// side, less the further they are apart and if their order is reversed. `places` is sorted by
/// position.
pub(super) fn nearness(text: &str, places: &[NeedleMatch], words: usize) -> Vec<f32> {
    let mut nearness = vec![0.0; words.saturating_sub(1)];
    // Where each word was met last.
    let mut last: Vec<Option<usize>> = vec![None; words];
    for place in places {
        let NeedleMatch { at, needle, .. } = *place;
        let from = |other: usize| distance(text, (*last.get(other)?)?, at);
        let before = needle.checked_sub(1);
        if let Some((before, steps)) = before.and_then(|before| Some((before, from(before)?))) {
            nearness[before] = f32::max(nearness[before], 1.0 / steps as f32);
        }
        if let Some(steps) = from(needle + 1) {
            let reversed = REVERSED / (steps as f32 + 1.0);
            nearness[needle] = f32::max(nearness[needle], reversed);
        }
        last[needle] = Some(at);
    }
    nearness
}

/// Returns the distance in words from one word to a later one; `None` if they are far apart.
fn distance(text: &str, from: usize, to: usize) -> Option<usize> {
    let between = text.get(from..to).filter(|text| text.len() <= FAR_BYTES)?;
    let steps = words(between).count();
    (1..=FAR).contains(&steps).then_some(steps)
}

#[cfg(test)]
mod tests {
    use super::super::needle::Needles;
    use super::*;
    use crate::core::search::query::{Query, noon};

    fn near(query: &str, text: &str) -> f32 {
        let needles = Needles::of(&Query::of_prose(query, &noon()));
        let near = nearness(text, &needles.places(text), needles.all.len());
        near.iter().sum()
    }

    #[test]
    fn words_side_by_side_and_in_order_are_nearest() {
        let texts = [
            "we retry tokens here",
            "we retry the tokens here",
            "we rotate tokens, then retry",
            "retry it as often as it takes to get one of the new tokens",
            "retry",
            "nothing of it",
        ];
        let scores = texts.map(|text| near("retry tokens", text));
        assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
        assert!(scores[0] > scores[1] && scores[1] > scores[2] && scores[2] > 0.0);
        assert_eq!(scores[3..], [0.0; 3]);
    }

    #[test]
    fn the_nearest_of_many_places_counts() {
        let apart = "retry and ".repeat(40) + "x y z tokens";
        let near_once = apart.clone() + " retry tokens";
        assert!(near("retry tokens", &near_once) > near("retry tokens", &apart));
        assert_eq!(near("retry", "retry retry"), 0.0);
        assert_eq!(near("é retry", "é retry"), near("retry x", "retry x"));
    }
}
