//! Qwen Code: one file of lines per session, with the parts of Gemini's API in its messages.
//!
//! `~/.qwen/projects/<project>/chats/<session>.jsonl`, in older versions `~/.qwen/tmp/…`, and before
//! that one object per session as Gemini CLI writes it. Known from sessions that version 0.15 and
//! earlier ones wrote, and from the program itself.

use super::decode::{Decode, Recognized, nothing_beside};
use super::gemini;
use super::json::Object;
use super::sink::{RecordStamp, Sink, ToolUse};
use super::{
    Agent, Format, LogFile, LogLocations, Origin, Resume, Role, TitleSource, content, location,
};

pub(super) const FORMAT: Format = Format {
    agent: Agent::Qwen,
    name: "qwen",
    locate,
    decode: Decode::Mixed(nothing_beside, record, gemini::read),
    resume: |log, head| {
        let is_lines = log.path.extension().is_some_and(|end| end == "jsonl");
        is_lines.then(|| Resume::by("qwen", super::option("--resume", &log.id), head))
    },
};

fn locate(locations: &LogLocations) -> Vec<LogFile> {
    let homes = locations.qwen.iter();
    let roots = homes.flat_map(|home| ["projects", "tmp"].map(|folder| home.join(folder)));
    roots
        .flat_map(|root| location::entries(&root))
        .flat_map(|project| location::entries(&project.join("chats")))
        .filter_map(|path| {
            let id = location::stem(&path, ".jsonl").or_else(|| location::stem(&path, ".json"))?;
            location::found(Agent::Qwen, path, id)
        })
        .collect()
}

fn record(record: &Object<'_>, sink: &mut Sink<'_>) -> Recognized {
    let id = record.text("uuid");
    sink.stamp = RecordStamp::of_reply(record.time("timestamp"), id);
    let head = sink.head();
    head.session = record.text("sessionId").or(head.session.take());
    head.cwd = head.cwd.take().or_else(|| record.text("cwd"));
    head.branch = record.text("gitBranch").or(head.branch.take());
    head.version = record.text("version").or(head.version.take());
    head.note_model(record.text("model"));
    let role = match record.word("type") {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("tool_result") => Role::Tool,
        Some("system") => return system(record, sink),
        _ => return Recognized::Unknown,
    };
    let message = record.object("message").unwrap_or_default();
    let parts: Vec<Object<'_>> = message.objects("parts").collect();
    if role == Role::User {
        // A file that a prompt names stands in parts of its own, between lines that tell it.
        let texts: Vec<String> = parts.iter().filter_map(|part| part.text("text")).collect();
        let text = texts.join("\n");
        let (files, typed) = behind_files(&text);
        sink.say(Role::System, Origin::Injected, files.to_owned());
        sink.prompt(typed.to_owned());
    }
    for part in &parts {
        take_part(part, role, sink);
    }
    Recognized::Known
}

/// Splits a prompt behind the files that are open in VS Code: its extension writes each on a line and
/// leaves a line empty below.
fn behind_files(text: &str) -> (&str, &str) {
    let is_file = |line: &str| {
        // Folders may have blanks in their names; a sentence goes on behind the name of the file.
        let name = line.rsplit('\\').next().unwrap_or(line);
        let last = name.rsplit('.').next().unwrap_or(name);
        let is_windows = line.as_bytes().get(1..3) == Some(b":\\") && !last.contains(' ');
        let is_rooted = line.starts_with('/') && line[1..].contains('/') && !line.contains(' ');
        let number = line.strip_prefix("Untitled-");
        let is_new = number.is_some_and(|number| number.parse::<u32>().is_ok());
        is_windows || is_rooted || is_new
    };
    match text.split_once("\n\n") {
        Some((files, typed)) if files.lines().all(is_file) => (files, typed),
        _ => ("", text),
    }
}

fn take_part(part: &Object<'_>, role: Role, sink: &mut Sink<'_>) {
    if let Some(call) = part.object("functionCall") {
        let input = content::outline(call.get("args"));
        sink.call_tool(ToolUse::new(call.text("id"), call.text("name"), input));
    } else if let Some(response) = part.object("functionResponse") {
        let output = response.get("response");
        sink.tool_result(
            ToolUse::new(
                response.text("id"),
                response.text("name"),
                content::flat(output),
            )
            .failing(output.is_some_and(gemini::is_error)),
        );
    } else if part.get("inlineData").is_some() {
        sink.show(role, content::IMAGE);
    } else {
        let text = part.text("text").unwrap_or_default();
        match role {
            _ if part.is_true("thought") => sink.think(text),
            Role::User => {}
            Role::Tool => sink.result(None, text),
            role => sink.say(role, Origin::Written, text),
        }
    }
}

fn system(record: &Object<'_>, sink: &mut Sink<'_>) -> Recognized {
    let payload = record.object("systemPayload").unwrap_or_default();
    match record.word("subtype") {
        Some("custom_title") => {
            let naming = if payload.is("titleSource", "auto") {
                TitleSource::Ai
            } else {
                TitleSource::Custom
            };
            let title = payload.text("customTitle").unwrap_or_default();
            sink.head().set_title(naming, title);
        }
        Some("chat_compression") => sink.notice("Conversation compacted".to_owned()),
        Some("slash_command") if payload.is("phase", "invocation") => {
            // A command without arguments is not worth searching for.
            let command = payload.text("rawCommand").unwrap_or_default();
            if command.trim().contains(char::is_whitespace) {
                sink.say(Role::User, Origin::Written, command);
            }
        }
        Some("slash_command" | "at_command" | "ui_telemetry" | "attribution_snapshot")
        | Some("rewind") => {}
        _ => return Recognized::Unknown,
    }
    Recognized::Known
}

#[cfg(test)]
mod tests {
    use super::behind_files;

    #[test]
    fn a_sentence_that_begins_with_a_file_is_the_persons() {
        let (files, typed) = ("C:\\my code\\app.py\nUntitled-2", "why?");
        assert_eq!(behind_files(&format!("{files}\n\n{typed}")), (files, typed));
        for text in [
            "C:\\proj\\app.py crashes when I save\n\nTraceback",
            "D:\\ is full, what can I delete?\n\nAnything?",
        ] {
            assert_eq!(behind_files(text), ("", text));
        }
    }
}
