//! Amp: one JSON file per thread, `~/.local/share/amp/threads/T-<id>.json`.
//!
//! Known from public readers and their tests. Later versions keep threads on their server alone.

use super::content::{self, Speaker};
use super::decode::Decode;
use super::json::{self, JsonItem, Object};
use super::sink::{RecordStamp, Sink, ToolUse};
use super::{Agent, Format, LogFile, LogLocations, Resume, TitleSource, location};
use crate::core::Result;

pub(super) const FORMAT: Format = Format {
    agent: Agent::Amp,
    name: "amp",
    locate,
    decode: Decode::Into(read),
    resume: |log, head| Some(Resume::by("amp", ["threads", "continue", &log.id], head)),
};

fn locate(locations: &LogLocations) -> Vec<LogFile> {
    let roots = locations.amp.iter().map(|root| root.join("threads"));
    roots
        .flat_map(|root| location::entries(&root))
        .filter_map(|path| {
            let id = location::stem(&path, ".json").filter(|id| id.starts_with("T-"))?;
            location::found(Agent::Amp, path, id)
        })
        .collect()
}

fn read(log: &LogFile, sink: &mut Sink<'_>) -> Result<()> {
    let bytes = location::bytes(&log.path)?;
    let bytes = bytes.trim_ascii();
    let Ok((thread, _)) = json::object(bytes) else {
        sink.carry.skipped.broken += u64::from(!bytes.is_empty());
        return Ok(());
    };
    let head = sink.head();
    head.session = thread.text("id").or_else(|| Some(log.id.clone()));
    head.set_title(TitleSource::Ai, thread.text("title").unwrap_or_default());
    head.extend_span(thread.time("created"));
    let start = thread.object("env").and_then(|env| env.object("initial"));
    let start = start.unwrap_or_default();
    let mut trees = start.objects("trees");
    head.cwd = trees.find_map(|tree| location::path_of_uri(&tree.text("uri")?));
    for (ordinal, item) in (1..).zip(thread.items("messages").opened()) {
        sink.turn_to(ordinal);
        match item {
            JsonItem::Object(message) => take_message(&message, sink),
            JsonItem::Other(_) => sink.carry.skipped.not_object += 1,
        }
    }
    Ok(())
}

fn take_message(message: &Object<'_>, sink: &mut Sink<'_>) {
    let meta = message.object("meta").unwrap_or_default();
    sink.stamp = RecordStamp::new(meta.time("sentAt"), None);
    let usage = message.object("usage").unwrap_or_default();
    sink.head().note_model(usage.text("model"));
    let speaker = match message.word("role") {
        Some("assistant") => Speaker::Model,
        Some("user") => Speaker::Person,
        _ => Speaker::Program,
    };
    for item in message.items("content") {
        match item
            .object()
            .filter(|block| block.is("type", "tool_result"))
        {
            Some(result) => take_result(&result, sink),
            None => content::take(item, speaker, sink),
        }
    }
}

fn take_result(result: &Object<'_>, sink: &mut Sink<'_>) {
    let run = result.object("run").unwrap_or_default();
    let output = run.get("result").or_else(|| run.get("error"));
    let output = content::flat(output);
    let id = result.text("toolUseID");
    let has_failed = run.get("status").is_some_and(|status| !status.is("done"));
    sink.tool_result(ToolUse::new(id, None, output).failing(has_failed));
}
