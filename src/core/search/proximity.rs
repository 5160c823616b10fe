//! How near the words of a query are to each other in a text.

use super::needle::NeedleMatch;
use super::score::Rarity;
use crate::core::text::words;

/// The distance in words beyond which two words are not near each other.
const FAR: usize = 10;
/// The most bytes of text in which words are counted.
const FAR_BYTES: usize = 400;
/// The weight of words in the reverse order.
const REVERSED: f32 = 0.75;

/// Returns the sum of the nearness of each two consecutive words of the query: for words side
/// by side the rarity of the more frequent one, less the further they are apart and if their
/// order is reversed. `places` is sorted by position.
pub(super) fn proximity(text: &str, places: &[NeedleMatch], rarity: &Rarity) -> f32 {
    let mut sum = 0.0;
    for first in 0..rarity.count().saturating_sub(1) {
        let second = first + 1;
        let mut best: f32 = 0.0;
        let mut before: Option<&NeedleMatch> = None;
        let both = places
            .iter()
            .filter(|place| place.needle == first || place.needle == second);
        for place in both {
            if let Some(before) = before.filter(|before| before.needle != place.needle)
                && let Some(steps) = distance(text, before.at, place.at)
            {
                let steps = steps as f32;
                best = best.max(match place.needle == second {
                    true => 1.0 / steps,
                    false => REVERSED / (steps + 1.0),
                });
            }
            before = Some(place);
        }
        sum += best * rarity.of(first).min(rarity.of(second));
    }
    sum
}

/// Returns the distance in words from one word to a later one; `None` if they are far apart.
fn distance(text: &str, from: usize, to: usize) -> Option<usize> {
    let between = text.get(from..to).filter(|text| text.len() <= FAR_BYTES)?;
    let steps = words(between).count();
    (1..=FAR).contains(&steps).then_some(steps)
}

#[cfg(test)]
mod tests {
    use super::super::needle::{Haystack, Needles};
    use super::*;
    use crate::core::query::{Query, noon};
    use crate::core::text::Stems;

    fn near(query: &str, text: &str) -> f32 {
        let needles = Needles::of(&Query::of_prose(query, &noon()));
        let mut places = Vec::new();
        needles.find(Haystack::of_words(text), &mut Stems::default(), &mut places);
        places.sort_unstable();
        let rarity = Rarity::new(&vec![2; needles.all.len()], 100_000);
        proximity(text, &places, &rarity)
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
