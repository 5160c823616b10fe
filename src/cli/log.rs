//! `tome log`: one conversation, as text, Markdown or JSON.

use std::collections::{BTreeSet, HashMap};
use std::io;

use serde_json::{Value, json};

use super::args::LogArgs;
use super::print::{
    Json, Printer, Report, Reported, TextStyle, exact_time, print_error, short_time, shortened,
};
use super::world::World;
use super::{Failure, Outcome};
use crate::core::Error;
use crate::core::insight::sessions::captured_events;
use crate::core::log::{
    Agent, Head, LogFile, Message, MessageKind, Origin, Role, Transcript, read, says_something,
};
use crate::core::search::index::LONGEST_MESSAGE;
use crate::core::text::display::format_size;
use crate::core::text::embed::{embedded, embedded_line, fenced, with_line_feeds};
use crate::core::text::secret::mask;
use crate::core::text::{clean, one_line};

impl World {
    /// Returns the log with this id; see [`LogCatalog::log_named`].
    ///
    /// [`LogCatalog::log_named`]: crate::core::memory::catalog::LogCatalog::log_named
    pub(super) fn log_named(&self, id: &str) -> Result<LogFile, Failure> {
        Ok(self.log_catalog()?.log_named(id)?)
    }
}

/// Returns the session with this id of which only hooks tell, or the only one whose id starts with it:
/// its store as the log of its agent.
fn captured(id: &str, world: &World) -> Result<Option<(LogFile, Transcript)>, Failure> {
    let files = world.log_files()?.into_iter();
    for file in files.filter(|file| file.agent == Agent::Events) {
        let mut transcript = read(&file)?;
        let sessions = transcript.messages.iter();
        let sessions = sessions.filter_map(|message| message.session.as_deref());
        let sessions: BTreeSet<&str> = sessions.filter(|one| one.starts_with(id)).collect();
        let only = sessions.first().filter(|_| sessions.len() == 1);
        let Some(session) = sessions.get(id).or(only).map(|one| (*one).to_owned()) else {
            continue;
        };
        let events = captured_events(&file.path).into_iter();
        let mut own = events.filter(|(_, event)| event.session_id == session);
        let agent = own.find_map(|(_, event)| Agent::named(&event.agent));
        let is_own = |message: &Message| message.session.as_deref() == Some(&session);
        transcript.messages.retain(is_own);
        let messages = transcript.messages.iter();
        let times = messages.clone().filter_map(|message| message.time);
        let said_by = |role| {
            let is_said = move |message: &&Message| {
                message.role == role
                    && message.kind == MessageKind::Text
                    && message.origin == Origin::Written
            };
            messages.clone().filter(is_said)
        };
        let prompts = said_by(Role::User);
        transcript.head = Head {
            session: Some(session.clone()),
            cwd: transcript.head.cwd,
            first: times.clone().min(),
            last: times.max(),
            first_prompt: prompts
                .clone()
                .find(|prompt| says_something(&prompt.text))
                .or_else(|| prompts.clone().next())
                .map(|prompt| prompt.text.clone()),
            last_prompt: prompts
                .clone()
                .next_back()
                .map(|prompt| prompt.text.clone()),
            turns: prompts.count() as u64,
            replies: said_by(Role::Assistant).count() as u64,
            ..Head::default()
        };
        let file = LogFile {
            agent: agent.unwrap_or(file.agent),
            id: session,
            ..file
        };
        return Ok(Some((file, transcript)));
    }
    Ok(None)
}

pub(super) fn run<'a>(args: &'a LogArgs, world: &World) -> Reported<'a> {
    let (file, transcript) = match world.log_named(&args.id) {
        Ok(file) => (file.clone(), read(&file)?),
        Err(unknown @ Failure::Core(Error::NotFound { .. }, _)) => {
            captured(&args.id, world)?.ok_or(unknown)?
        }
        Err(failure) => return Err(failure),
    };
    if let Some(why) = transcript.skipped.over_limits() {
        print_error(&format!("warning: {}: {why}", file.path.display()));
    }
    let results = transcript.messages.iter();
    let subagents =
        results.filter_map(|message| message.call.clone().zip(message.subagent.clone()));
    Ok(Box::new(LogReport {
        args,
        file,
        subagents: subagents.collect(),
        transcript,
    }))
}

/// A conversation, and how the arguments ask to print it.
struct LogReport<'a> {
    args: &'a LogArgs,
    file: LogFile,
    /// The logs of subagents, by the ids of the calls that started them.
    subagents: HashMap<String, String>,
    transcript: Transcript,
}

impl LogReport<'_> {
    fn shown(&self) -> impl Iterator<Item = &Message> {
        let messages = self.transcript.messages.iter();
        messages.filter(|message| is_shown(message, self.args))
    }
}

impl Report for LogReport<'_> {
    fn json(&self) -> Result<Json<'_>, Failure> {
        let head = &self.transcript.head;
        let mut shown = json!(self.safe_head(head));
        for (name, time) in [("first", head.first), ("last", head.last)] {
            shown[name] = json!(time.and_then(exact_time));
        }
        let about = json!({
            "agent": self.file.agent.name(),
            "id": self.exact(&self.file.id),
            "path": self.exact(&self.file.path.to_string_lossy()),
            "head": shown,
            "skipped": self.transcript.skipped,
        });
        let messages = self.shown().map(|message| self.message_json(message));
        Ok(Json::from(about).with_list("messages", messages))
    }

    fn print(&self, printer: &mut Printer) -> io::Result<()> {
        if self.args.markdown {
            printer.content(self.markdown().as_bytes())
        } else {
            self.plain(printer)
        }
    }

    fn outcome(&self) -> Outcome {
        Outcome::found(self.shown().next().is_some())
    }
}

fn is_shown(message: &Message, args: &LogArgs) -> bool {
    args.role.is_none_or(|role| role == message.role)
        && (args.injected || message.origin != Origin::Injected)
        && match message.kind {
            MessageKind::Thinking => args.thinking,
            // Without `--tools`, only the line of the call is printed.
            MessageKind::ToolResult => args.tools,
            MessageKind::Text | MessageKind::ToolCall | MessageKind::Notice => true,
        }
}

impl LogReport<'_> {
    /// Makes a text safe for a terminal and masks secrets, unless `--unmasked` is given.
    fn safe(&self, text: &str) -> String {
        let text = clean(text);
        if self.args.unmasked {
            text
        } else {
            mask(&text)
        }
    }

    /// Like [`Self::safe`] for JSON, whose printer writes out what is not safe: `--unmasked` gives
    /// the text as it is.
    fn exact(&self, text: &str) -> String {
        if self.args.unmasked {
            text.to_owned()
        } else {
            self.safe(text)
        }
    }

    fn text(&self, message: &Message) -> String {
        self.safe(&message.text)
    }

    fn tool(&self, message: &Message) -> Option<String> {
        message
            .tool
            .as_deref()
            .map(|tool| one_line(&self.safe(tool)))
    }

    /// Returns the head of the log with its texts made safe for JSON.
    fn safe_head(&self, head: &Head) -> Head {
        let safe = |text: &Option<String>| text.as_deref().map(|text| self.exact(text));
        Head {
            session: safe(&head.session),
            title: safe(&head.title),
            cwd: safe(&head.cwd),
            branch: safe(&head.branch),
            model: safe(&head.model),
            version: safe(&head.version),
            parent: safe(&head.parent),
            fork_of: safe(&head.fork_of),
            first_prompt: safe(&head.first_prompt),
            opening: safe(&head.opening),
            last_prompt: safe(&head.last_prompt),
            ..head.clone()
        }
    }

    /// Returns the id of the log of the subagent that the message's call started.
    fn subagent(&self, message: &Message) -> Option<String> {
        let call = message.call.as_deref();
        let known = call.and_then(|call| self.subagents.get(call));
        let subagent = known.or(message.subagent.as_ref())?;
        Some(one_line(&self.safe(subagent)))
    }

    /// Formats a tool call on one line.
    fn call(&self, message: &Message) -> String {
        /// The most characters of the input.
        const LONGEST_INPUT: usize = 100;
        let input = shortened(&one_line(&self.text(message)), LONGEST_INPUT);
        format!("{} {input}", self.title(message))
    }

    /// Formats the tool of a call or a result, and the log of the subagent that it started.
    fn title(&self, message: &Message) -> String {
        let mark = match message.kind {
            MessageKind::ToolResult => '◂',
            _ => '▸',
        };
        let tool = self.tool(message);
        let tool = tool.as_deref().unwrap_or("tool");
        match self.subagent(message) {
            Some(log) => format!("{mark} {tool} (log {log})"),
            None => format!("{mark} {tool}"),
        }
    }

    /// Returns the line that says how much of a long message is searched, if not all of it is.
    fn search_limit(message: &Message) -> Option<String> {
        (message.text.len() > LONGEST_MESSAGE).then(|| {
            let searched = format_size(LONGEST_MESSAGE as u64);
            format!("(only the first {searched} of this message can be searched)")
        })
    }

    fn is_one_line(&self, message: &Message) -> bool {
        message.kind == MessageKind::ToolCall && !self.args.tools
    }

    fn message_json(&self, message: &Message) -> Value {
        json!({
            "line": message.line,
            "role": message.role,
            "kind": message.kind,
            "origin": message.origin,
            "time": message.time.and_then(exact_time),
            "text": self.exact(&message.text),
            "searchable_bytes": message.text.len().min(LONGEST_MESSAGE),
            "tool": message.tool.as_deref().map(|tool| self.exact(tool)),
            "call": message.call.as_deref().map(|call| self.exact(call)),
            "subagent": self.subagent(message),
            "id": message.id,
        })
    }

    fn plain(&self, printer: &mut Printer) -> io::Result<()> {
        let file = &self.file;
        let mut before: Option<&Message> = None;
        for message in self.shown() {
            if before.is_none_or(|before| speaker(file, before) != speaker(file, message)) {
                if before.is_some() {
                    printer.line("")?;
                }
                let who = printer.paint(TextStyle::Strong, speaker(file, message));
                let when = message.time.and_then(short_time).unwrap_or_default();
                let when = printer.paint(TextStyle::Quiet, &when);
                printer.styled_line(format!("{who}  {when}").trim_end())?;
            }
            if self.is_one_line(message) {
                printer.painted_line(TextStyle::Quiet, &format!("  {}", self.call(message)))?;
            } else {
                if is_tool(message) {
                    printer.painted_line(TextStyle::Quiet, &self.title(message))?;
                }
                printer.line(self.text(message).trim_end())?;
            }
            if let Some(limit) = Self::search_limit(message) {
                printer.painted_line(TextStyle::Quiet, &limit)?;
            }
            before = Some(message);
        }
        Ok(())
    }

    fn markdown(&self) -> String {
        let (file, transcript) = (&self.file, &self.transcript);
        let title = transcript.head.name(file.title.as_deref());
        let title = one_line(&self.safe(title.unwrap_or(&file.id)));
        let mut out = format!("# {}\n", embedded_line(&title));
        let mut before: Option<&Message> = None;
        for message in self.shown() {
            if before.is_none_or(|before| speaker(file, before) != speaker(file, message)) {
                let when = message.time.and_then(short_time).unwrap_or_default();
                let heading = format!("{} {when}", speaker(file, message));
                out.push_str(&format!("\n## {}\n", heading.trim_end()));
            }
            let text = self.safe(&with_line_feeds(&message.text));
            out.push_str(&match message.kind {
                _ if self.is_one_line(message) => {
                    format!("\n`{}`\n", self.call(message).replace('`', "'"))
                }
                MessageKind::ToolCall | MessageKind::ToolResult => {
                    let title = self.title(message).replace('`', "'");
                    format!("\n`{title}`\n\n{}\n", fenced(&text))
                }
                MessageKind::Thinking => format!("\n> {}\n", embedded(&text).replace('\n', "\n> ")),
                MessageKind::Text | MessageKind::Notice => format!("\n{}\n", embedded(&text)),
            });
            if let Some(limit) = Self::search_limit(message) {
                out.push_str(&format!("\n{limit}\n"));
            }
            before = Some(message);
        }
        out
    }
}

fn is_tool(message: &Message) -> bool {
    matches!(
        message.kind,
        MessageKind::ToolCall | MessageKind::ToolResult
    )
}

fn speaker(file: &LogFile, message: &Message) -> &'static str {
    match (message.role, message.origin) {
        (_, Origin::Agent) => "agent",
        (Role::User, _) => "you",
        (Role::Assistant, _) => file.agent.name(),
        (Role::System, _) if message.kind == MessageKind::Text => "injected",
        (Role::System, _) => "notice",
        (Role::Tool, _) => "tool",
    }
}
