//! Agents' hooks: reads an event, stores it, and replies in the format that the agent expects.
//!
//! A hook never blocks the agent: input that cannot be parsed is not stored, a lock is waited for
//! only briefly, and on any failure the reply is the one that changes nothing.
//! `document` detects the end of the input, `payload` parses what each agent sends, `event_text`
//! decides what of it is stored, `reply` formats the reply, `turn` counts what has happened in the
//! turn so far, and `transcript` reads what events do not contain. The reminders begin with words of
//! [`crate::core::log::origin`], which recognizes them in logs. `action` is asked before a tool is
//! called, and says a line of a memory or asks the user, where this was set up.

mod action;
mod document;
mod event_text;
mod payload;
mod reply;
mod transcript;
mod turn;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use jiff::Timestamp;

use crate::core::Result;
use crate::core::change::events::{self, Identity};
use crate::core::change::history::{History, Lock};
use crate::core::disk::foreign::read_text;
use crate::core::disk::private;
use crate::core::insight::timeline::event::stable_id;
use crate::core::log::Agent;
use crate::core::log::origin::{PLAN_REMINDER, WORK_REMINDER};
use crate::core::memory::config::HookSettings;
use crate::core::memory::discover::{events_root, session_events_root};
use crate::core::memory::layout::coder::GUIDES;
use crate::core::memory::layout::events::{CapturedEvent, is_possible_time};
use crate::core::memory::store::Store;
use crate::core::text::clean;
use crate::core::text::secret::mask;
use crate::core::text::time::Moment;

pub use action::ActionOptions;
pub use document::DocumentScanner;
use payload::{Payload, Stage};
use transcript::{After, last_answer};
use turn::{Manner, Reminder, SessionWork, Turn};

/// The environment of a hook.
pub struct HookContext<'a> {
    /// The agent whose format the hook speaks.
    pub agent: Agent,
    /// The agent that calls; another one may run the hooks of `agent`.
    pub caller: Agent,
    /// Whether a user may be there, as far as the caller's environment tells.
    pub is_attended: bool,
    /// The name of the event, if the agent's payload does not contain it.
    pub event: Option<&'a str>,
    /// tome's data directory.
    pub data: &'a Path,
    /// The user's home directory.
    pub home: &'a Path,
    /// The history, whose locks are used.
    pub history: &'a History,
    /// The current time.
    pub moment: &'a Moment,
    /// Which parts of the hook are enabled.
    pub settings: HookSettings,
    /// What the hook does before an action.
    pub actions: ActionOptions,
    /// When to stop waiting for a lock.
    pub until: Instant,
    /// Access to the stores.
    pub memory: &'a dyn HookMemory,
}

/// Access to the stores; implemented by the caller, which knows where they are.
pub trait HookMemory {
    /// The context from the stores for this session of an agent in a directory.
    fn context(&self, cwd: &Path, agent: Agent, session: &str) -> String;

    /// The stores of a directory's project.
    fn stores(&self, cwd: &Path) -> Vec<Store>;

    /// The stores of all projects.
    fn all_stores(&self) -> Vec<Store>;

    /// The directory of the coder's lessons, which may not exist.
    fn lessons(&self) -> PathBuf;

    /// Records in the history what was written into the stores of a directory.
    fn observe(&self, cwd: &Path, written: &Written<'_>);
}

/// What is known about writes into stores.
pub enum Written<'a> {
    /// A session of this agent wrote these files, named as the agent names them.
    By {
        /// The agent.
        agent: Agent,
        /// The id of the session.
        session: &'a str,
        /// The files.
        files: &'a [String],
    },
    /// Anybody may have written anything.
    Unknown,
}

/// The reply to an agent when there is nothing to report.
pub fn empty_reply(agent: Option<Agent>) -> String {
    reply::empty_reply(agent)
}

/// Handles an agent's event and returns the reply.
pub fn answer(input: &[u8], hook: &HookContext<'_>) -> String {
    let payload = payload::read(input, hook.caller, hook.event);
    let Some(mut payload) = payload else {
        return empty_reply(Some(hook.agent));
    };
    if is_noise(&payload, hook.caller) {
        return empty_reply(Some(hook.agent));
    }
    if payload.session.is_empty() {
        payload.session = derived_session(&payload, hook);
    }
    // What a call does is kept once it was made; where nothing is done before it, the event is kept,
    // too, as somebody registered it.
    if let Some((tool, input)) = &payload.call
        && hook.actions != ActionOptions::default()
    {
        return action::answer(&payload, tool, input, hook);
    }
    let transcript = payload.metadata.get("transcript_path").map(PathBuf::from);
    if hook.caller == Agent::Copilot && payload.role == "assistant" && payload.text.is_empty() {
        let until = hook.until + ANSWER_LIMIT;
        let said = transcript.and_then(|path| last_answer(&path, After::Nothing, until));
        payload.text = said.unwrap_or_default();
    }
    if let Some(cwd) = &payload.cwd {
        observe(cwd, &payload, hook);
    }
    // Without a store to count in, there is no reminder.
    let reminder = record(&payload, hook).unwrap_or(Some(Reminder::Nothing));
    let Some(reminder) = reminder else {
        return empty_reply(Some(hook.agent));
    };
    let is_start = payload.stage == Stage::Start && !manner(&payload, hook).context_with_prompt;
    let reminder = if is_start && !payload.is_replayed {
        Reminder::Context
    } else {
        reminder
    };
    let reminds = || hook.settings.reminders && is_attended(&payload, hook);
    let text = match (reminder, &payload.cwd) {
        (Reminder::Context, Some(cwd)) if hook.settings.context => {
            hook.memory.context(cwd, hook.caller, &payload.session)
        }
        (Reminder::Recall, _) if reminds() => recall_pointer(&hook.memory.lessons()),
        (Reminder::Store(touched), _) if reminds() => {
            store_pointer(&hook.memory.lessons(), &touched)
        }
        _ => String::new(),
    };
    reply::reply_with(hook.agent, &payload, &text)
}

/// The session of an event that names none, as those of Copilot CLI may: that of its transcript, or
/// else one that is named at the start of a session in the directory and holds until the next.
fn derived_session(payload: &Payload, hook: &HookContext<'_>) -> String {
    const LONGEST: u64 = 1 << 10;
    let transcript = payload.metadata.get("transcript_path").map(Path::new);
    let folder = transcript.and_then(|path| match path.file_name()?.to_str()? {
        "events.jsonl" => path.parent()?.file_name()?.to_str(),
        _ => path.file_stem()?.to_str(),
    });
    if let Some(id) = folder {
        return id.to_owned();
    }
    let Some(cwd) = &payload.cwd else {
        return String::new();
    };
    let root = events_root(hook.data, cwd);
    let file = root.join(format!("{}.session", hook.caller.name()));
    let known = read_text(&file, LONGEST).ok().flatten();
    match known.filter(|_| payload.stage != Stage::Start) {
        Some(known) => known,
        None => {
            let time = event_time(payload, hook.moment.time).as_millisecond();
            let id = stable_id(time, &cwd.to_string_lossy());
            let id = format!("{}-{id}", hook.caller.name());
            for folder in [root.parent().unwrap_or(&root), &root] {
                drop(private::create_dir(folder));
            }
            // Where it cannot be written, each event is a session of its own.
            drop(private::replace_unflushed(&file, |file| {
                file.write_all(id.as_bytes())
            }));
            id
        }
    }
}

/// Whether an event says nothing: Gemini CLI announces a compression before every request, whether
/// or not there is one, and Copilot CLI the end of a subagent's turn before the end of the subagent.
fn is_noise(payload: &Payload, caller: Agent) -> bool {
    let is_subagent = payload.metadata.contains_key("agent_id");
    caller == Agent::Gemini && payload.name == "PreCompress"
        || payload.event_type == "assistant_stop" && is_subagent
}

/// Records in the history what was written into the stores until now.
fn observe(cwd: &Path, payload: &Payload, hook: &HookContext<'_>) {
    match &payload.stage {
        // What others wrote until now is not this session's.
        Stage::Start => hook.memory.observe(cwd, &Written::Unknown),
        Stage::Edit(files) => {
            let written = Written::By {
                agent: hook.caller,
                session: &payload.session,
                files,
            };
            hook.memory.observe(cwd, &written);
        }
        _ => {}
    }
}

/// Whether a user may be there to see what a reminder leads to.
fn is_attended(payload: &Payload, hook: &HookContext<'_>) -> bool {
    let transcript = payload.metadata.get("transcript_path");
    let is_exec = || {
        let transcript = transcript.filter(|_| hook.caller == Agent::Codex);
        transcript.is_some_and(|path| transcript::is_codex_exec(Path::new(path)))
    };
    hook.is_attended && !is_exec()
}

/// How the agent can be told something.
fn manner(payload: &Payload, hook: &HookContext<'_>) -> Manner {
    Manner {
        // Gemini CLI puts the context of a start before the first prompt, and loses both when the
        // session is resumed.
        context_with_prompt: hook.agent == Agent::Gemini,
        // Nothing tells whether Gemini CLI and Copilot CLI end with this turn; what they say last
        // is what they print. OpenCode takes it with the next request.
        can_prolong: match hook.caller {
            Agent::Gemini | Agent::Copilot => false,
            _ => payload.stage != Stage::Stop || is_attended(payload, hook),
        },
    }
}

/// Stores the event and counts it in its turn; returns the reminder to give, or `None` for an event
/// that was stored before.
fn record(payload: &Payload, hook: &HookContext<'_>) -> Result<Option<Reminder>> {
    let root = match &payload.cwd {
        Some(cwd) => events_root(hook.data, cwd),
        None => session_events_root(hook.data, &payload.session),
    };
    let store = events::open_captured(&root)?;
    let event = hook.settings.capture.then(|| event(payload, hook));
    let Some(lock) = lock(&store, hook)? else {
        if let Some(event) = &event {
            events::set_aside(&store, event)?;
        }
        return Ok(Some(Reminder::Nothing));
    };
    let mut turn = Turn::load(&root, &payload.session);
    if turn.is_repeat(payload, hook.caller, hook.moment.time.as_millisecond()) {
        return Ok(None);
    }
    if let Some(event) = &event {
        if let Some(answer) = late_answer(&mut turn, payload, hook) {
            let answer = CapturedEvent {
                event_id: ulid::Ulid::from_datetime(hook.moment.time.into()).to_string(),
                event_type: "assistant_message".to_owned(),
                role: "assistant".to_owned(),
                text: mask(&clean(&answer)),
                ..event.clone()
            };
            events::capture_locked(&store, &lock, &answer, Identity::Fresh)?;
        }
        events::capture_locked(&store, &lock, event, Identity::Fresh)?;
    }
    let reminder = turn.count(payload, manner(payload, hook));
    turn.save(&payload.stage)?;
    Ok(Some(reminder))
}

/// The answer of the last turn of Copilot CLI, if it was not written yet when the turn ended.
fn late_answer(turn: &mut Turn, payload: &Payload, hook: &HookContext<'_>) -> Option<String> {
    if hook.caller != Agent::Copilot {
        return None;
    }
    let after = match payload.stage {
        Stage::Stop | Stage::StopAgain => {
            let transcript = payload.metadata.get("transcript_path").cloned();
            turn.set_unanswered(transcript.filter(|_| payload.text.is_empty()));
            return None;
        }
        Stage::End => After::Nothing,
        Stage::Prompt => After::Prompt,
        _ => return None,
    };
    let transcript = turn.set_unanswered(None)?;
    last_answer(Path::new(&transcript), after, hook.until)
}

/// How much longer than for a lock to wait for an answer. Copilot CLI writes its transcript some
/// 100 ms after it told of the end of the turn, when the answer has been shown already.
const ANSWER_LIMIT: Duration = Duration::from_millis(500);

/// The store's lock, or `None` if it is not free in time.
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
    let time = event_time(payload, hook.moment.time);
    CapturedEvent {
        event_id: ulid::Ulid::from_datetime(time.into()).to_string(),
        session_id: payload.session.clone(),
        timestamp: time.as_millisecond(),
        event_type: payload.event_type.clone(),
        role: payload.role.to_owned(),
        text: clean(&payload.text),
        metadata: payload.metadata.clone(),
        agent: hook.caller.name().to_owned(),
        more: serde_json::Map::new(),
    }
    .masked()
}

/// When an event happened: when the agent says, unless its clock is wrong, or now.
fn event_time(payload: &Payload, now: Timestamp) -> Timestamp {
    let is_possible =
        |time: &Timestamp| is_possible_time(time.as_millisecond(), now.as_millisecond());
    payload.time.filter(is_possible).unwrap_or(now)
}

fn recall_pointer(lessons: &Path) -> String {
    format!(
        "{PLAN_REMINDER}{}\n\nWith recalled memory, please replan if needed",
        pointer(lessons, 0, "recalled")
    )
}

fn store_pointer(lessons: &Path, touched: &SessionWork) -> String {
    format!(
        "{}What only this project needs (decisions and why, how the user wants the work done, what failed) goes into its memory with memory_write, unless it is there. {}\n\nWhere nothing in it would help another time, there is nothing to store.",
        describe_work(touched),
        pointer(lessons, 1, "stored")
    )
}

/// The work of a session, as text for the agent.
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
    format!("{WORK_REMINDER}{tools}{files}. ")
}

/// Points to the guide, or contains it if the store has none yet.
fn pointer(lessons: &Path, guide: usize, done: &str) -> String {
    let (name, text) = GUIDES[guide];
    let file = lessons.join(name);
    let place = lessons.display();
    if file.is_file() {
        format!(
            "Lessons from earlier work are kept in {place}; {} says how they are {done}.",
            file.display()
        )
    } else {
        format!("Lessons from earlier work are kept in {place}. How they are {done}:\n\n{text}")
    }
}
