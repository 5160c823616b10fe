//! The two prompts: recall and store.

use super::ServerSetup;
use super::call::names;
use crate::core::memory::layout::Layout;
use crate::core::memory::layout::coder::GUIDES;
use crate::core::memory::store::Store;

/// A prompt that a user can choose in the client.
pub(super) struct Prompt {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) argument: &'static str,
    pub(super) argument_about: &'static str,
    guide: &'static str,
}

pub(super) const PROMPTS: [Prompt; 2] = [
    Prompt {
        name: "recall",
        about: "Look up what is remembered about something before continuing",
        argument: "query",
        argument_about: "What it is about",
        guide: include_str!("../../assets/guides/recall.md"),
    },
    Prompt {
        name: "store",
        about: "Store what was learned as a memory",
        argument: "note",
        argument_about: "What to store; without it, what this conversation taught",
        guide: include_str!("../../assets/guides/store.md"),
    },
];

/// The most bytes of facts that a prompt contains.
const MOST_FACTS: usize = 15_000;

/// Returns the facts of a store in full, as far as they fit, and a line for each file of episodes.
fn known_facts(store: &Store) -> String {
    let mut text = format!("\nWhat {} has already:\n", store.name());
    let mut left = MOST_FACTS;
    for memory in store.list().unwrap_or_default() {
        let line = format!("- {}: {}\n", memory.path, memory.summary);
        let is_fact = memory.path.starts_with("facts/");
        let whole = store.text(&memory.path).ok().flatten();
        match whole.filter(|whole| is_fact && whole.len() <= left) {
            Some(whole) => {
                left -= whole.len();
                text.push_str(&format!("\n{}:\n\n{}\n\n", memory.path, whole.trim_end()));
            }
            None => text.push_str(&line),
        }
    }
    text
}

/// Returns the text of a prompt for these stores.
pub(super) fn text(prompt: &Prompt, given: Option<&str>, setup: &ServerSetup) -> String {
    let mut text = prompt.guide.to_owned();
    if setup.layouts.contains(&Layout::Coder) {
        let guide = GUIDES.iter().find(|(name, _)| name.contains(prompt.name));
        text.push('\n');
        text.push_str(guide.map_or("", |(_, guide)| guide));
    }
    let present = setup.present();
    let lasting = |store: &&Store| store.layout() != Layout::Session;
    let present: Vec<&Store> = present.into_iter().filter(lasting).collect();
    if !present.is_empty() {
        text.push_str(&format!("\nStores here: {}.\n", names(&present)));
    }
    if prompt.name == "store" {
        let facts = present
            .iter()
            .filter(|store| store.layout() == Layout::Facts);
        for store in facts {
            text.push_str(&known_facts(store));
        }
    }
    if let Some(given) = given.filter(|given| !given.trim().is_empty()) {
        text.push_str(&format!("\n{}: {}\n", prompt.argument, given.trim()));
    }
    text
}
