//! Marks of rows: single ones, groups, and an open range.

use std::collections::BTreeSet;

/// The keys of the marked rows, and where an open range starts.
#[derive(Debug, Clone)]
pub(crate) struct Marks<K> {
    keys: BTreeSet<K>,
    range: Option<K>,
}

impl<K> Default for Marks<K> {
    fn default() -> Self {
        Self {
            keys: BTreeSet::new(),
            range: None,
        }
    }
}

impl<K: Ord + Clone> Marks<K> {
    /// The marked keys, without those of an open range.
    pub(crate) fn keys(&self) -> &BTreeSet<K> {
        &self.keys
    }

    pub(crate) fn range(&self) -> Option<&K> {
        self.range.as_ref()
    }

    /// Starts a range, unless one is open.
    pub(crate) fn begin_range(&mut self, start: Option<K>) {
        self.range = self.range.take().or(start);
    }

    /// Ends the range, if one is open; `keys` are those in it.
    pub(crate) fn end_range(&mut self, keys: impl IntoIterator<Item = K>) {
        if self.range.take().is_some() {
            self.keys.extend(keys);
        }
    }

    /// Marks these, or takes their marks away if all have one.
    pub(crate) fn toggle(&mut self, keys: Vec<K>) {
        if keys.iter().all(|key| self.keys.contains(key)) {
            self.keys.retain(|key| !keys.contains(key));
        } else {
            self.keys.extend(keys);
        }
    }

    /// Marks those of `all` that are not marked, and no others.
    pub(crate) fn invert(&mut self, all: impl IntoIterator<Item = K>) {
        let unmarked = all.into_iter().filter(|key| !self.keys.contains(key));
        self.keys = unmarked.collect();
    }

    pub(crate) fn extend(&mut self, keys: impl IntoIterator<Item = K>) {
        self.keys.extend(keys);
    }

    pub(crate) fn retain(&mut self, is_left: impl Fn(&K) -> bool) {
        self.keys.retain(&is_left);
        self.range = self.range.take().filter(is_left);
    }

    pub(crate) fn drop_range(&mut self) {
        self.range = None;
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}
