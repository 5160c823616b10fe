//! `tome log`: one conversation, as text, Markdown or JSON.

use serde_json::{Value, json};

use super::args::LogArgs;
use super::print::{Printer, TextStyle as Paint};
use super::world::World;
use super::{CommandResult, Failure, Outcome};
use crate::core::Error;
use crate::core::log::{
    Head, LogFile, Message, MessageKind, Origin, Role, Transcript, clean, read,
};
use crate::core::memory::one_line;
use crate::core::secret::mask;

impl World {
    /// Returns the log with this id, or the only one whose id starts with it.
    pub(super) fn log_named(&self, id: &str) -> Result<LogFile, Failure> {
        let files = self.log_files()?;
        if let Some(exact) = files.iter().find(|log| log.id == id) {
            return Ok(exact.clone());
        }
        let mut found = files.into_iter().filter(|log| log.id.starts_with(id));
        match (found.next(), found.next()) {
            (Some(log), None) => Ok(log),
            (Some(first), Some(second)) => Err(Failure::Usage(format!(
                "more than one log starts with {id}: {}, {}; give more of the id",
                first.id, second.id
            ))),
            (None, _) => Err(Error::not_found(format!("log {id}")).into()),
        }
    }
}

pub(super) fn run(args: &LogArgs, world: &World, printer: &mut Printer) -> CommandResult {
    let file = world.log_named(&args.id)?;
    let transcript = read(&file)?;
    let shown: Vec<&Message> = transcript
        .messages
        .iter()
        .filter(|message| is_shown(message, args))
        .collect();
    let formatter = MessageFormatter { args };
    if printer.is_json() {
        let messages: Vec<Value> = shown
            .iter()
            .map(|message| formatter.json(message))
            .collect();
        printer.object(json!({
            "agent": file.agent.name(),
            "id": formatter.safe(&file.id),
            "path": formatter.safe(&file.path.to_string_lossy()),
            "head": formatter.head(&transcript.head),
            "skipped": transcript.skipped,
            "messages": messages,
        }))?;
    } else if args.markdown {
        let text = formatter.markdown(&file, &transcript, &shown);
        printer.content(text.as_bytes())?;
    } else {
        formatter.plain(printer, &file, &shown)?;
    }
    Ok(if shown.is_empty() {
        Outcome::Nothing
    } else {
        Outcome::Done
    })
}

fn is_shown(message: &Message, args: &LogArgs) -> bool {
    args.role
        .is_none_or(|role| Role::from(role) == message.role)
        && (args.injected || message.origin != Origin::Injected)
        && match message.kind {
            MessageKind::Thinking => args.thinking,
            // Without `--tools`, only the line of the call is printed.
            MessageKind::ToolResult => args.tools,
            MessageKind::Text | MessageKind::ToolCall | MessageKind::Notice => true,
        }
}

/// Formats messages as the arguments request.
struct MessageFormatter<'a> {
    args: &'a LogArgs,
}

impl MessageFormatter<'_> {
    /// Makes a text safe for a terminal and masks secrets, unless `--unmasked` is given.
    fn safe(&self, text: &str) -> String {
        let text = clean(text);
        if self.args.unmasked {
            text
        } else {
            mask(&text)
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

    /// Returns the head of the log with its texts made safe.
    fn head(&self, head: &Head) -> Head {
        let safe = |text: &Option<String>| text.as_deref().map(|text| self.safe(text));
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
            last_prompt: safe(&head.last_prompt),
            ..head.clone()
        }
    }

    /// Formats a tool call on one line.
    fn call(&self, message: &Message) -> String {
        const LONGEST: usize = 100;
        let text = one_line(&self.text(message));
        let mut short: String = text.chars().take(LONGEST).collect();
        if short.len() < text.len() {
            short.push('…');
        }
        let tool = self.tool(message);
        format!("▸ {} {short}", tool.as_deref().unwrap_or("tool"))
    }

    fn is_one_line(&self, message: &Message) -> bool {
        message.kind == MessageKind::ToolCall && !self.args.tools
    }

    fn json(&self, message: &Message) -> Value {
        json!({
            "line": message.line,
            "role": message.role,
            "kind": message.kind,
            "origin": message.origin,
            "time": message.time.and_then(stamp),
            "text": self.text(message),
            "tool": self.tool(message),
            "id": message.id,
        })
    }

    fn plain(
        &self,
        printer: &mut Printer,
        file: &LogFile,
        shown: &[&Message],
    ) -> Result<(), Failure> {
        let mut before: Option<&Message> = None;
        for message in shown {
            if before.is_none_or(|before| speaker(file, before) != speaker(file, message)) {
                if before.is_some() {
                    printer.line("")?;
                }
                let who = printer.paint(Paint::Strong, speaker(file, message));
                let when = message.time.and_then(stamp).unwrap_or_default();
                let when = printer.paint(Paint::Quiet, &when);
                printer.styled_line(format!("{who}  {when}").trim_end())?;
            }
            if self.is_one_line(message) {
                let line = printer.paint(Paint::Quiet, &format!("  {}", self.call(message)));
                printer.styled_line(&line)?;
            } else {
                printer.line(self.text(message).trim_end())?;
            }
            before = Some(message);
        }
        Ok(())
    }

    fn markdown(&self, file: &LogFile, transcript: &Transcript, shown: &[&Message]) -> String {
        let title = transcript.head.title.as_deref().or(file.title.as_deref());
        let mut out = format!("# {}\n", one_line(&self.safe(title.unwrap_or(&file.id))));
        let mut before: Option<&Message> = None;
        for message in shown {
            if before.is_none_or(|before| speaker(file, before) != speaker(file, message)) {
                let when = message.time.and_then(stamp).unwrap_or_default();
                let heading = format!("{} {when}", speaker(file, message));
                out.push_str(&format!("\n## {}\n", heading.trim_end()));
            }
            let text = self.text(message);
            out.push_str(&match message.kind {
                _ if self.is_one_line(message) => {
                    format!("\n`{}`\n", self.call(message).replace('`', "'"))
                }
                MessageKind::ToolCall | MessageKind::ToolResult => format!("\n{}\n", fenced(&text)),
                MessageKind::Thinking => format!("\n> {}\n", text.trim_end().replace('\n', "\n> ")),
                MessageKind::Text | MessageKind::Notice => format!("\n{}\n", text.trim_end()),
            });
            before = Some(message);
        }
        out
    }
}

/// Formats a code block whose fence is longer than any in the text.
fn fenced(text: &str) -> String {
    let runs = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(runs.max(2) + 1);
    format!("{fence}\n{}\n{fence}", text.trim_end())
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

fn stamp(ms: i64) -> Option<String> {
    let time = jiff::Timestamp::from_millisecond(ms).ok()?;
    Some(time.strftime("%Y-%m-%d %H:%M").to_string())
}
