//! Antigravity, Google's editor and command line (`agy`): a transcript of steps per conversation.
//!
//! `~/.gemini/antigravity-cli/brain/<id>/.system_generated/logs/transcript_full.jsonl`, or
//! `transcript.jsonl`, in which long texts are cut; the editor has `antigravity` or
//! `antigravity-ide` in place of `antigravity-cli`. `history.jsonl` tells a conversation's
//! directory. Known from public readers and the lines that they quote. Calls have no ids: a step of
//! the model that is not a reply is the result of the call before it. The conversations' databases
//! beside them are not read.

use std::path::{Path, PathBuf};

use super::asked::take_asked;
use super::decode::{Decode, Recognized};
use super::json::{self, Object, Raw};
use super::sink::{RecordStamp, Sink};
use super::{
    Agent, Format, Head, LogFile, LogLocations, Origin, Role, content, location, no_resume,
};

pub(super) const FORMAT: Format = Format {
    agent: Agent::Antigravity,
    name: "antigravity",
    locate,
    decode: Decode::Described(describe, record),
    resume: no_resume,
};

/// The directories of the command line and of the editor in Gemini's home.
const PROGRAMS: [&str; 3] = ["antigravity-cli", "antigravity", "antigravity-ide"];
/// The tag around what the user wrote.
const ASKED: &[&str] = &["USER_REQUEST"];

/// Returns the directories of conversations.
pub(super) fn roots(locations: &LogLocations) -> Vec<PathBuf> {
    let homes = locations.gemini.iter();
    homes
        .flat_map(|home| PROGRAMS.map(|program| home.join(program).join("brain")))
        .collect()
}

fn locate(locations: &LogLocations) -> Vec<LogFile> {
    roots(locations)
        .iter()
        .flat_map(|root| location::entries(root))
        .filter_map(|conversation| {
            let id = location::name(&conversation);
            let logs = conversation.join(".system_generated/logs");
            let files = ["transcript_full.jsonl", "transcript.jsonl"];
            files
                .iter()
                .find_map(|file| location::found(Agent::Antigravity, logs.join(file), id.clone()))
        })
        .collect()
}

/// Sets the directory from `history.jsonl`, which has a line for each prompt.
fn describe(log: &LogFile, head: &mut Head) {
    head.session = Some(log.id.clone());
    // `<program>/brain/<id>/.system_generated/logs/<file>`
    let Some(program) = log.path.ancestors().nth(5) else {
        return;
    };
    let history = location::bytes(&program.join("history.jsonl")).unwrap_or_default();
    let lines = history.split(|byte| *byte == b'\n');
    head.cwd = lines
        .filter_map(|line| json::object(line.trim_ascii()).ok())
        .find(|(prompt, _)| prompt.is("conversationId", &log.id))
        .and_then(|(prompt, _)| prompt.text("workspace"))
        .filter(|workspace| Path::new(workspace).is_absolute());
}

fn record(step: &Object<'_>, sink: &mut Sink<'_>) -> Recognized {
    sink.stamp = RecordStamp::new(step.time("created_at"), None);
    let text = || content::flat(step.get("content"));
    match (step.word("source"), step.word("type")) {
        (_, Some("USER_INPUT")) => prompt(text(), sink),
        (_, Some("PLANNER_RESPONSE")) => {
            sink.think(step.text("thinking").unwrap_or_default());
            sink.say(Role::Assistant, Origin::Written, text());
            for call in step.objects("tool_calls") {
                tool_call(&call, sink);
            }
        }
        (_, Some("ERROR_MESSAGE")) => sink.notice(text()),
        (Some("MODEL"), Some(kind)) => sink.result(Some(kind.to_lowercase()), text()),
        (Some("SYSTEM"), Some(_)) => sink.say(Role::System, Origin::Injected, text()),
        _ => return Recognized::Unknown,
    }
    Recognized::Known
}

fn prompt(text: String, sink: &mut Sink<'_>) {
    // The change of a setting tells the model's name.
    let change = text.split_once("`Model Selection` from ");
    let model = change.and_then(|(_, change)| change.split_once(" to "));
    if let Some((_, rest)) = model {
        let end = rest
            .find(". ")
            .or_else(|| rest.find(".\n"))
            .or_else(|| rest.find('\n'));
        let name = rest[..end.unwrap_or(rest.len())]
            .trim()
            .trim_end_matches('.');
        sink.head().model = Some(name.to_owned());
    }
    if !take_asked(&text, ASKED, sink) {
        sink.prompt(text);
    }
}

fn tool_call(call: &Object<'_>, sink: &mut Sink<'_>) {
    let input = call.object("args").unwrap_or_default();
    let directory = input.get("Cwd").map(plain);
    let head = sink.head();
    head.cwd = head
        .cwd
        .take()
        .or(directory.filter(|path| Path::new(path).is_absolute()));
    let lines: Vec<String> = input
        .fields()
        .map(|(name, value)| format!("{}: {}", String::from_utf8_lossy(name), plain(value)))
        .collect();
    sink.call(call.text("name"), lines.join("\n"));
}

/// Returns an argument as text; strings are encoded twice in most versions.
fn plain(value: Raw<'_>) -> String {
    let Some(text) = value.text() else {
        return value.outline();
    };
    let encoded = text.starts_with('"').then(|| json::value(text.as_bytes()));
    match encoded {
        Some(Ok((inner, []))) => inner.text().unwrap_or(text),
        _ => text,
    }
}
