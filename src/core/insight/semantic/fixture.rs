//! A model of few words, for tests.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::Model;

/// A model to which the words of a group mean the same, and which counts the texts that it embeds.
#[derive(Debug, Clone, Default)]
pub(crate) struct TestModel {
    pub(crate) groups: Vec<Vec<&'static str>>,
    pub(crate) embedded: Arc<AtomicUsize>,
}

impl TestModel {
    pub(crate) fn new(groups: &[&'static str]) -> Self {
        let groups = groups.iter().map(|group| group.split(' ').collect());
        Self {
            groups: groups.collect(),
            ..Self::default()
        }
    }
}

impl Model for TestModel {
    fn id(&self) -> [u8; 32] {
        *blake3::hash(format!("{:?}", self.groups).as_bytes()).as_bytes()
    }

    fn embed(&self, text: &str) -> Vec<f32> {
        if !text.is_empty() {
            self.embedded.fetch_add(1, Ordering::Relaxed);
        }
        let text = text.to_lowercase();
        let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).collect();
        let count = |group: &Vec<&str>| words.iter().filter(|word| group.contains(word)).count();
        self.groups
            .iter()
            .map(|group| count(group) as f32)
            .collect()
    }
}
