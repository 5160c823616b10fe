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
use crate::core::layout::events::{self, CapturedEvent, Identity};
use crate::core::log::Agent;
use crate::core::secret::mask;
use crate::core::store::Store;
use crate::core::{Error, Result, private};

pub use document::DocumentScanner;
use payload::{Payload, Stage};
use turn::{Reminder, SessionWork, TurnState};

/// What a hook is told of the outside world.
pub struct HookContext<'a> {
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
    pub memory: &'a dyn HookMemory,
}

/// What a hook asks of the stores; whoever starts it knows where they are.
pub trait HookMemory {
    /// What the stores have for a session in this directory, and for this agent.
    fn context(&self, cwd: &Path, agent: Agent) -> String;

    /// Where the coder's lessons are, or would be.
    fn lessons(&self) -> PathBuf;
}

/// What an agent expects to read when there is nothing to say.
pub fn empty_reply(agent: Option<Agent>) -> String {
    reply::empty_reply(agent)
}

/// Hears what an agent has to tell, and answers.
pub fn answer(input: &[u8], hook: &HookContext<'_>) -> String {
    let payload = payload::read(input, hook.agent, hook.event);
    let Some(payload) = payload else {
        return empty_reply(Some(hook.agent));
    };
    // Without a place to count in, there is nothing to remind of.
    let offer = record(&payload, hook).unwrap_or(Reminder::Nothing);
    let text = match (&payload.stage, offer) {
        (Stage::Start, _) if hook.settings.context && !payload.is_replayed => {
            truncate_context(&hook.memory.context(&payload.cwd, hook.agent))
        }
        (_, Reminder::Nothing) => String::new(),
        _ if !hook.settings.reminders => String::new(),
        (_, Reminder::Recall) => recall_pointer(&hook.memory.lessons()),
        (_, Reminder::Store(touched)) => store_pointer(&hook.memory.lessons(), &touched),
    };
    reply::reply_with(hook.agent, &payload, &text)
}

/// Keeps the event and counts it into its turn; says what is to be offered.
fn record(payload: &Payload, hook: &HookContext<'_>) -> Result<Reminder> {
    let root = events_root(hook.data, &payload.cwd);
    // What was said is nobody else's business, whichever of tome's files comes first.
    for folder in [root.parent().unwrap_or(&root), &root] {
        private::create_dir(folder).map_err(|e| Error::io(folder, e))?;
    }
    let store = Store::open("events", &root, Some(Layout::Events))?;
    let event = hook.settings.capture.then(|| event(payload, hook));
    let Some(lock) = lock(&store, hook)? else {
        if let Some(event) = &event {
            events::set_aside(&store, event)?;
        }
        return Ok(Reminder::Nothing);
    };
    if let Some(event) = &event {
        let file = root.join(events::EVENTS);
        private::open_append(&file).map_err(|e| Error::io(&file, e))?;
        events::append_locked(&store, &lock, event, Identity::Fresh)?;
        events::collect_locked(&store, &lock, FEW)?;
    }
    TurnState::count(&root, payload)
}

/// How many events that were set aside one agent waits for.
const FEW: usize = 8;

/// The lock, unless others hold it for longer than an agent should wait.
fn lock(store: &Store, hook: &HookContext<'_>) -> Result<Option<Lock>> {
    const PAUSE: Duration = Duration::from_millis(2);
    loop {
        let lock = hook.history.try_lock(&[store.root().path()])?;
        if lock.is_some() || Instant::now() >= hook.until {
            return Ok(lock);
        }
        std::thread::sleep(PAUSE);
    }
}

fn event(payload: &Payload, hook: &HookContext<'_>) -> CapturedEvent {
    CapturedEvent {
        event_id: ulid::Ulid::from_datetime(hook.moment.time.into()).to_string(),
        session_id: payload.session.clone(),
        timestamp: hook.moment.time.as_millisecond(),
        event_type: payload.event_type.clone(),
        role: payload.role.to_owned(),
        // Secrets are not kept in a second place.
        text: mask(&payload.text),
        metadata: payload.metadata.clone(),
        agent: hook.agent.name().to_owned(),
        more: serde_json::Map::new(),
    }
}

/// At most what Claude Code takes in one piece, cut between lines.
fn truncate_context(text: &str) -> String {
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

fn store_pointer(lessons: &Path, touched: &SessionWork) -> String {
    format!(
        "{}{}\n\nWhere nothing in it would help in another project, there is nothing to store.",
        describe_work(touched),
        pointer(lessons, 1, "stored")
    )
}

/// What the session did, for whoever is to say what it taught.
fn describe_work(touched: &SessionWork) -> String {
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
        let cut = truncate_context(&long);
        assert!(cut.encode_utf16().count() < 10_000);
        assert!(
            cut.ends_with("... (105 lines truncated)"),
            "{}",
            &cut[cut.len() - 40..]
        );
        assert_eq!(truncate_context("short"), "short");
    }
}
