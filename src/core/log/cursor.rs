//! Cursor: transcripts of its agent, which have no times, working directory or ids.

use std::path::Path;

use super::content::{self, Speaker};
use super::decode::{Decode, Recognized};
use super::json::Object;
use super::sink::Sink;
use super::{Agent, Format, LogFile, LogLocations, Origin, Role, location, no_resume, origin};

pub(super) const FORMAT: Format = Format {
    agent: Agent::Cursor,
    name: "cursor",
    locate,
    decode: Decode::Records(record),
    resume: no_resume,
};

/// The tag around the text that the user wrote.
const QUERY: &str = "user_query";

fn locate(locations: &LogLocations) -> Vec<LogFile> {
    let mut logs = Vec::new();
    for root in &locations.cursor {
        for project in location::entries(&root.join("projects")) {
            let transcripts = project.join("agent-transcripts");
            for path in location::files_under(&transcripts) {
                let Some(id) = location::stem(&path, ".jsonl") else {
                    continue;
                };
                let parent = parent(&path);
                let log = location::found(Agent::Cursor, path, id);
                logs.extend(log.map(|log| LogFile { parent, ..log }));
            }
        }
    }
    logs
}

/// Returns the session of `…/<session>/subagents/<log>`.
fn parent(path: &Path) -> Option<String> {
    let directory = path.parent()?;
    if location::name(directory) != "subagents" {
        return None;
    }
    directory.parent().map(location::name)
}

fn record(record: &Object<'_>, sink: &mut Sink<'_>) -> Recognized {
    let message = record.object("message");
    let content = message.as_ref().unwrap_or(record).get("content");
    let Some(content) = content else {
        return Recognized::Unknown;
    };
    match record.word("role") {
        Some("assistant") => content::take(content, Speaker::Model, sink),
        Some("user") => {
            let text = content::flat(content);
            match origin::inside(&text, QUERY) {
                Some(written) => ask(&text, written.to_owned(), sink),
                None => content::take(content, Speaker::Person, sink),
            }
        }
        Some("tool") => sink.result(None, content::flat(content)),
        Some("system") => sink.notice(content::flat(content)),
        _ => return Recognized::Unknown,
    }
    Recognized::Known
}

/// Adds a prompt, split into the query and the injected text around it.
fn ask(text: &str, written: String, sink: &mut Sink<'_>) {
    let open = format!("<{QUERY}>");
    let close = format!("</{QUERY}>");
    let before = text.split_once(&open).map_or("", |(before, _)| before);
    let after = text.rsplit_once(&close).map_or("", |(_, after)| after);
    sink.say(Role::User, Origin::Injected, before.trim().to_owned());
    sink.prompt(written);
    sink.say(Role::User, Origin::Injected, after.trim().to_owned());
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{Home, describe_messages};
    use super::super::read;

    const TRANSCRIPTS: &str = ".cursor/projects/repo/agent-transcripts";

    #[test]
    fn the_query_is_written_and_what_surrounds_it_injected() {
        let home = Home::new();
        home.write(
            &format!("{TRANSCRIPTS}/c1/c1.jsonl"),
            [
                r#"{"role":"user","message":{"content":[{"type":"text","text":"<timestamp>now</timestamp>\n<user_query>\nfix it\n</user_query>\n<rules>r</rules>"}]}}"#,
                r#"{"role":"assistant","message":{"content":[{"type":"text","text":"ok"},{"type":"tool_use","name":"Read","input":{"path":"a"}}]}}"#,
                r#"{"role":"user","message":{"content":[{"type":"text","text":"plain"}]}}"#,
                r#"{"type":"novel"}"#,
            ]
            .join("\n"),
        );
        let transcript = home.read();
        assert_eq!(
            describe_messages(&transcript.messages),
            [
                "1 system text*: <timestamp>now</timestamp>",
                "1 user text: fix it",
                "1 system text*: <rules>r</rules>",
                "2 assistant text: ok",
                "2 assistant tool-call Read: path: a",
                "3 user text: plain",
            ]
        );
        assert_eq!(transcript.skipped.unknown, 1);
    }

    #[test]
    fn both_layouts_and_subagents_are_found() {
        let home = Home::new();
        home.write(&format!("{TRANSCRIPTS}/flat.jsonl"), "");
        home.write(&format!("{TRANSCRIPTS}/c1/c1.jsonl"), "");
        home.write(&format!("{TRANSCRIPTS}/c1/subagents/d1.jsonl"), "");
        home.write(&format!("{TRANSCRIPTS}/old.txt"), "");
        let logs = home.locate();
        let found: Vec<_> = logs
            .iter()
            .map(|log| (log.id.as_str(), log.parent.as_deref()))
            .collect();
        assert_eq!(found, [("c1", None), ("d1", Some("c1")), ("flat", None)]);
        let head = read(&logs[1]).expect("it is there").head;
        assert_eq!(head.parent.as_deref(), Some("c1"));
    }
}
