//! Copies of one message in several logs, as forks, resumed sessions and subagents make them: one
//! hit stands for all of them.

use std::collections::HashMap;
use std::hash::Hash;

/// Keeps the first of the items that share a key, and adds to it the number of the others. Items
/// without a key are all kept.
pub(super) fn collapse<T, K: Hash + Eq>(
    items: Vec<T>,
    key: impl Fn(&T) -> Option<K>,
    copies: impl Fn(&mut T) -> &mut usize,
) -> Vec<T> {
    let mut kept: Vec<T> = Vec::with_capacity(items.len());
    let mut at: HashMap<K, usize> = HashMap::new();
    for item in items {
        let Some(key) = key(&item) else {
            kept.push(item);
            continue;
        };
        match at.get(&key) {
            Some(first) => *copies(&mut kept[*first]) += 1,
            None => {
                at.insert(key, kept.len());
                kept.push(item);
            }
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_the_copies_stays_and_counts_the_others() {
        let items = vec![
            ("a", Some(1), 0),
            ("b", None, 0),
            ("c", Some(1), 0),
            ("d", None, 0),
            ("e", Some(2), 0),
        ];
        let kept = collapse(items, |item| item.1, |item| &mut item.2);
        assert_eq!(
            kept,
            [
                ("a", Some(1), 1),
                ("b", None, 0),
                ("d", None, 0),
                ("e", Some(2), 0)
            ]
        );
    }
}
