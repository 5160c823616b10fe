//! The door for agents' hooks: an event in, what that agent expects out.
//!
//! Whatever happens, the agent goes on: what cannot be understood is not stored, what cannot be
//! stored is not waited for, and the answer is then the one that changes nothing.
//! `document` knows when all of it was read, `payload` what each agent sends, `reply` what it
//! expects, `turn` what has happened in the turn so far.

mod document;
mod payload;
mod reply;
mod turn;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::core::change::Moment;
use crate::core::config::HookSettings;
use crate::core::discover::events_root;
use crate::core::history::{History, Lock};
use crate::core::layout::Layout;
use crate::core::layout::coder::GUIDES;
use crate::core::layout::events::{self, Event, Identity};
use crate::core::log::Agent;
use crate::core::secret::mask;
use crate::core::store::Store;
use crate::core::{Error, Result, private};

pub use document::Document;
use payload::{Heard, Stage};
use turn::{Offer, Touched, Turn};

/// What a hook is told of the outside world.
pub struct Hooking<'a> {
    /// The agent that calls.
    pub agent: Agent,
    /// What happened, where the agent's payload does not say.
    pub event: Option<&'a str>,
    /// tome's data directory.
    pub data: &'a Path,
    /// The history, whose locks are used.
    pub history: &'a History,
    /// What time it is.
    pub moment: &'a Moment,
    /// What is wanted.
    pub settings: HookSettings,
    /// Until when a lock is waited for.
    pub until: Instant,
    /// Where memory is found.
    pub memory: &'a dyn Memory,
}

/// What a hook asks of the stores; whoever starts it knows where they are.
pub trait Memory {
    /// What the stores have for a session in this directory, and for this agent.
    fn context(&self, cwd: &Path, agent: Agent) -> String;

    /// Where the coder's lessons are, or would be.
    fn lessons(&self) -> PathBuf;
}

/// What an agent expects to read when there is nothing to say.
pub fn nothing(agent: Option<Agent>) -> String {
    reply::nothing(agent)
}

/// Hears what an agent has to tell, and answers.
pub fn answer(input: &[u8], hooking: &Hooking<'_>) -> String {
    let heard = payload::read(input, hooking.agent, hooking.event);
    let Some(heard) = heard else {
        return nothing(Some(hooking.agent));
    };
    // Without a place to count in, there is nothing to remind of.
    let offer = record(&heard, hooking).unwrap_or(Offer::Nothing);
    let told = match (&heard.stage, offer) {
        (Stage::Start, _) if hooking.settings.context && !heard.is_replayed => {
            bounded(&hooking.memory.context(&heard.cwd, hooking.agent))
        }
        (_, Offer::Nothing) => String::new(),
        _ if !hooking.settings.reminders => String::new(),
        (_, Offer::Recall) => recall_pointer(&hooking.memory.lessons()),
        (_, Offer::Store(touched)) => store_pointer(&hooking.memory.lessons(), &touched),
    };
    reply::worded(hooking.agent, &heard, &told)
}

/// Keeps the event and counts it into its turn; says what is to be offered.
fn record(heard: &Heard, hooking: &Hooking<'_>) -> Result<Offer> {
    let root = events_root(hooking.data, &heard.cwd);
    // What was said is nobody else's business, whichever of tome's files comes first.
    for folder in [root.parent().unwrap_or(&root), &root] {
        private::create_dir(folder).map_err(|e| Error::io(folder, e))?;
    }
    let store = Store::open("events", &root, Some(Layout::Events))?;
    let event = hooking.settings.capture.then(|| event(heard, hooking));
    let Some(lock) = lock(&store, hooking)? else {
        if let Some(event) = &event {
            events::set_aside(&store, event)?;
        }
        return Ok(Offer::Nothing);
    };
    if let Some(event) = &event {
        let file = root.join(events::EVENTS);
        private::open_append(&file).map_err(|e| Error::io(&file, e))?;
        events::append_locked(&store, &lock, event, Identity::Fresh)?;
        events::collect_locked(&store, &lock, FEW)?;
    }
    Turn::count(&root, heard)
}

/// How many events that were set aside one agent waits for.
const FEW: usize = 8;

/// The lock, unless others hold it for longer than an agent should wait.
fn lock(store: &Store, hooking: &Hooking<'_>) -> Result<Option<Lock>> {
    const PAUSE: Duration = Duration::from_millis(2);
    loop {
        let lock = hooking.history.try_lock(&[store.root().path()])?;
        if lock.is_some() || Instant::now() >= hooking.until {
            return Ok(lock);
        }
        std::thread::sleep(PAUSE);
    }
}

fn event(heard: &Heard, hooking: &Hooking<'_>) -> Event {
    Event {
        event_id: ulid::Ulid::from_datetime(hooking.moment.time.into()).to_string(),
        session_id: heard.session.clone(),
        timestamp: hooking.moment.time.as_millisecond(),
        event_type: heard.event_type.clone(),
        role: heard.role.to_owned(),
        // Secrets are not kept in a second place.
        text: mask(&heard.text),
        metadata: heard.metadata.clone(),
        agent: hooking.agent.name().to_owned(),
        more: serde_json::Map::new(),
    }
}

/// At most what Claude Code takes in one piece, cut between lines.
fn bounded(text: &str) -> String {
    const MOST: usize = 9_500;
    let mut length = 0;
    for (at, c) in text.char_indices() {
        length += c.len_utf16();
        if length > MOST {
            let end = text[..at].rfind('\n').unwrap_or(at);
            let left = text[end..].trim().lines().count();
            return format!("{}\n\n... ({left} lines truncated)", &text[..end]);
        }
    }
    text.to_owned()
}

fn recall_pointer(lessons: &Path) -> String {
    format!(
        "This plan has more than five steps. {}\n\nWith recalled memory, please replan if needed",
        pointer(lessons, 0, "recalled")
    )
}

fn store_pointer(lessons: &Path, touched: &Touched) -> String {
    format!(
        "{}{}\n\nWhere nothing in it would help in another project, there is nothing to store.",
        worked(touched),
        pointer(lessons, 1, "stored")
    )
}

/// What the session did, for whoever is to say what it taught.
fn worked(touched: &Touched) -> String {
    let tools = match touched.tools {
        1 => "one tool was used".to_owned(),
        tools => format!("{tools} tools were used"),
    };
    let files = match (touched.files.as_slice(), touched.more) {
        ([], _) => String::new(),
        (files, 0) => format!("; files changed: {}", files.join(", ")),
        (files, more) => format!("; files changed: {} and {more} more", files.join(", ")),
    };
    format!("This session did real work: {tools}{files}. ")
}

/// Where the guide is; the guide itself, where the store has none yet.
fn pointer(lessons: &Path, guide: usize, done: &str) -> String {
    let (name, text) = GUIDES[guide];
    let file = lessons.join(name);
    let place = lessons.display();
    match file.is_file() {
        true => format!(
            "Lessons from earlier work are kept in {place}; {} says how they are {done}.",
            file.display()
        ),
        false => {
            format!("Lessons from earlier work are kept in {place}. How they are {done}:\n\n{text}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_is_cut_between_lines() {
        let line = "é".repeat(99);
        let long: String = (0..200).map(|_| format!("{line}\n")).collect();
        let cut = bounded(&long);
        assert!(cut.encode_utf16().count() < 10_000);
        assert!(
            cut.ends_with("... (105 lines truncated)"),
            "{}",
            &cut[cut.len() - 40..]
        );
        assert_eq!(bounded("short"), "short");
    }
}
