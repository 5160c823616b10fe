//! What hooks captured: the events of a store, and its sessions.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use crate::core::disk::foreign::{LARGEST_LOG, read_capped};
use crate::core::log::says_something;
use crate::core::memory::layout::events::CapturedEvent;
use crate::core::search::index::{Corpus, Log};
use crate::core::text::display::safe_line;

/// A session of which only hooks tell: no log of its own is in the corpus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapturedSession {
    /// Its id.
    pub id: String,
    /// The name of the agent.
    pub agent: String,
    /// Where it ran.
    pub cwd: Option<String>,
    /// The beginnings of the first and of the last prompt.
    pub prompts: Option<(String, String)>,
    /// The number of prompts.
    pub turns: u64,
    /// The bytes of its texts.
    pub size: u64,
    /// The time of the first event.
    pub first: i64,
    /// The time of the last event.
    pub last: i64,
}

/// Returns the events of a store's file with their lines; none if it cannot be read.
pub fn captured_events(store: &Path) -> Vec<(u64, CapturedEvent)> {
    let text = read_capped(store, LARGEST_LOG).unwrap_or_default();
    let lines = (1..).zip(text.split(|byte| *byte == b'\n'));
    let events = lines.filter_map(|(line, text)| Some((line, serde_json::from_slice(text).ok()?)));
    events.collect()
}

/// Returns the sessions of a store of events, in the order of their first events, without those that
/// have a log of their own.
pub fn captured_sessions(corpus: &Corpus, log: &Log<'_>) -> Vec<CapturedSession> {
    let mut found: Vec<CapturedSession> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut seen = HashSet::new();
    for (_, event) in captured_events(&log.path()) {
        if corpus.has_log_of(&event.session_id) || !seen.insert(event.event_id.clone()) {
            continue;
        }
        let at = *places
            .entry(event.session_id.clone())
            .or_insert(found.len());
        if at == found.len() {
            found.push(CapturedSession {
                id: event.session_id.clone(),
                agent: event.agent.clone(),
                cwd: None,
                prompts: None,
                turns: 0,
                size: 0,
                first: event.timestamp,
                last: event.timestamp,
            });
        }
        found[at].add(event);
    }
    found
}

impl CapturedSession {
    fn add(&mut self, mut event: CapturedEvent) {
        const LONGEST: usize = 400;
        self.first = self.first.min(event.timestamp);
        self.last = self.last.max(event.timestamp);
        self.size += event.text.len() as u64;
        self.cwd = self.cwd.take().or_else(|| event.metadata.remove("cwd"));
        if event.event_type == "user_message" && event.role == "user" {
            let prompt: String = safe_line(&event.text).chars().take(LONGEST).collect();
            let first = self.prompts.take().map(|(first, _)| first);
            let first = first.filter(|first| says_something(first) || !says_something(&prompt));
            let first = first.unwrap_or_else(|| prompt.clone());
            self.prompts = Some((first, prompt));
            self.turns += 1;
        }
    }
}
