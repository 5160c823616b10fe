//! Warp's agent: conversations in the database `warp.sqlite` of its state directory, each of tasks that
//! are protocol buffers.
//!
//! Known from the program's own source and its published schema (`multi_agent/v1/task.proto`). Tasks
//! below another one are subagents'.

use super::database::{self, bytes};
use super::decode::Decode;
use super::origin::Speaker;
use super::protobuf::{Value, at, fields, text};
use super::sink::{RecordStamp, Sink, ToolUse};
use super::{Agent, Format, LogFile, LogLocations, Origin, Role, TitleSource, content};
use crate::core::Result;

pub(super) const FORMAT: Format = Format {
    agent: Agent::Warp,
    name: "warp",
    locate,
    decode: Decode::Into(read),
    // The terminal cannot be started with a conversation.
    resume: |_, _| None,
};

/// The fields of a task.
const TASK_ID: u64 = 1;
const DESCRIPTION: u64 = 2;
const PARENT: &[u64] = &[3, 1];
const MESSAGES: u64 = 5;
/// The directory in the context of a question or of a result.
const DIRECTORY: &[u64] = &[1, 1];

/// What a tool's call or result has: names of arguments and the paths of their fields.
type Parts = &'static [(&'static str, &'static [u64])];

/// Tools by the number of their field in a call.
const TOOLS: &[(u64, &str, Parts)] = &[
    (2, "run_shell_command", &[("command", &[1])]),
    (3, "search_codebase", &[("query", &[1]), ("path", &[3])]),
    (5, "read_file", &[("path", &[1, 1])]),
    (
        6,
        "apply_file_diffs",
        &[
            ("summary", &[1]),
            ("file_path", &[2, 1]),
            ("old_string", &[2, 2]),
            ("new_string", &[2, 3]),
            ("file_path", &[3, 1]),
            ("content", &[3, 2]),
            ("deleted", &[4, 1]),
            ("file_path", &[5, 1]),
            ("old_string", &[5, 3, 3]),
            ("new_string", &[5, 3, 4]),
        ],
    ),
    (9, "grep", &[("queries", &[1]), ("path", &[2])]),
    (10, "file_glob", &[("patterns", &[1]), ("path", &[2])]),
    (11, "read_mcp_resource", &[("uri", &[1])]),
    (12, "call_mcp_tool", &[("name", &[1])]),
    (13, "write_to_command", &[("input", &[1])]),
    (15, "file_glob", &[("patterns", &[1]), ("path", &[2])]),
    (19, "subagent", &[("payload", &[2])]),
    (
        21,
        "edit_documents",
        &[
            ("id", &[1, 1]),
            ("old_string", &[1, 2]),
            ("new_string", &[1, 3]),
        ],
    ),
    (
        22,
        "create_documents",
        &[("title", &[1, 2]), ("content", &[1, 1])],
    ),
    (26, "read_skill", &[("name", &[3]), ("path", &[1])]),
    (29, "start_agent", &[("name", &[1]), ("prompt", &[2])]),
    (
        30,
        "send_message_to_agent",
        &[("subject", &[2]), ("message", &[3])],
    ),
];

/// The paths of the texts of a result, by the number of its field.
const RESULTS: &[(u64, &[&[u64]])] = &[
    (2, &[&[5, 1], &[4, 1], &[1]]),
    (3, &[&[1, 1, 1], &[2, 1]]),
    (4, &[&[1]]),
    (5, &[&[1, 1, 2], &[3, 1, 6, 2], &[2, 1]]),
    (6, &[&[1, 2, 1, 1], &[1, 3, 1], &[2, 1]]),
    (9, &[&[1, 1, 1], &[2, 1]]),
    (10, &[&[1, 1], &[2, 1]]),
    (15, &[&[1, 1, 2, 1], &[2, 1]]),
    (16, &[&[1, 1, 1, 1], &[2, 1]]),
    (17, &[&[2, 1], &[1, 1]]),
    (19, &[&[1, 1, 1], &[2, 1]]),
    (23, &[&[1]]),
    (27, &[&[3, 1], &[2, 1]]),
    (30, &[&[1, 1, 2], &[2, 1]]),
];
/// Results that have an error in their field 2.
const WITH_ERRORS: &[u64] = &[3, 5, 6, 9, 10, 15, 16, 19, 24, 25, 26, 28, 30, 32, 33, 34];
/// The field of a result that was cancelled.
const CANCEL: u64 = 14;
/// The field of the id in a call and in a result.
const CALL_ID: u64 = 1;
/// The field of the context in a result.
const CONTEXT: u64 = 11;

fn locate(locations: &LogLocations) -> Vec<LogFile> {
    let conversations = "SELECT conversation_id AS id,
            CASE WHEN json_valid(conversation_data) THEN conversation_data ->> 'parent_conversation_id' END AS parent,
            CAST(unixepoch(last_modified_at, 'subsec') * 1000 AS INTEGER) AS modified
        FROM agent_conversations";
    let roots = locations.warp.iter();
    let databases =
        roots.flat_map(|root| ["warp.sqlite", "tui/warp.sqlite"].map(|name| root.join(name)));
    databases
        .flat_map(|path| database::sessions(Agent::Warp, &path, conversations))
        .collect()
}

fn read(log: &LogFile, sink: &mut Sink<'_>) -> Result<()> {
    sink.head().session = Some(log.id.clone());
    let connection = database::connect(&log.path)?;
    let query = "SELECT task FROM agent_tasks WHERE conversation_id = ?1 ORDER BY id";
    let mut tasks = Vec::new();
    database::rows(&log.path, &connection, query, &log.id, &mut |row| {
        tasks.extend(bytes(row, "task"));
    })?;
    tasks.sort_by_key(|task| is_below(task));
    let mut ordinal = 0;
    for task in &tasks {
        sink.carry.skipped.broken += u64::from(at(task, &[TASK_ID]).is_empty());
        let sender = if is_below(task) {
            Speaker::Agent
        } else {
            let title = text(task, &[DESCRIPTION]);
            sink.head().set_title(TitleSource::Ai, title);
            sink.sender()
        };
        for message in at(task, &[MESSAGES]) {
            ordinal += 1;
            sink.turn_to(ordinal);
            take_message(message, sender, sink);
        }
    }
    Ok(())
}

/// Whether a task is of a subagent.
fn is_below(task: &[u8]) -> bool {
    at(task, PARENT).iter().any(|parent| !parent.is_empty())
}

fn take_message(message: &[u8], sender: Speaker, sink: &mut Sink<'_>) {
    sink.stamp = RecordStamp::new(
        at(message, &[14])
            .first()
            .and_then(|time| milliseconds(time)),
        Some(text(message, &[1])).filter(|id| !id.is_empty()),
    );
    for (number, value) in fields(message) {
        let Value::Bytes(inside) = value else {
            continue;
        };
        match number {
            2 => take_query(inside, sender, sink),
            3 => sink.say(Role::Assistant, Origin::Written, text(inside, &[1])),
            4 => take_call(inside, sink),
            5 => take_result(inside, sink),
            // What the program asks by itself: a mend of an error, a new project, a summary.
            9 => [1, 5, 7]
                .iter()
                .for_each(|kind| sink.add(Speaker::Program, text(inside, &[*kind, 1]))),
            15 => sink.think(text(inside, &[1])),
            16 => sink.notice(text(inside, &[1, 1])),
            23 => at(inside, &[2])
                .iter()
                .for_each(|query| take_query(query, sender, sink)),
            24 => sink.add(Speaker::Agent, text(inside, &[1, 5])),
            25 => sink.head().model = Some(text(inside, &[1])).filter(|model| !model.is_empty()),
            // Ids, state of the server, to-dos, reviews, searches, artifacts, events.
            1 | 6..=8 | 10..=14 | 17..=22 | 26 => {}
            _ => sink.carry.skipped.unknown += 1,
        }
    }
}

/// Returns the time of a timestamp: seconds, and nanoseconds behind them.
fn milliseconds(time: &[u8]) -> Option<i64> {
    let number = |wanted| {
        fields(time).find_map(|(field, value)| match value {
            Value::Number(number) if field == wanted => i64::try_from(number).ok(),
            _ => None,
        })
    };
    let seconds = number(1)?.checked_mul(1000)?;
    seconds.checked_add(number(2).unwrap_or_default() / 1_000_000)
}

fn take_query(query: &[u8], sender: Speaker, sink: &mut Sink<'_>) {
    note_folder(at(query, &[2]), sink);
    sink.prompt_by(sender, text(query, &[1]));
    at(query, &[2, 7])
        .iter()
        .for_each(|_| sink.show(Role::User, content::IMAGE));
}

fn note_folder(contexts: Vec<&[u8]>, sink: &mut Sink<'_>) {
    let mut folders = contexts.iter().map(|context| text(context, DIRECTORY));
    let head = sink.head();
    head.cwd = head
        .cwd
        .take()
        .or_else(|| folders.find(|folder| !folder.is_empty()));
}

/// Returns the field of a call's or a result's tool, and what is in it.
fn tool_of<'a>(message: &'a [u8], others: &[u64]) -> Option<(u64, &'a [u8])> {
    fields(message).find_map(|(number, value)| match value {
        Value::Bytes(inside) if !others.contains(&number) => Some((number, inside)),
        _ => None,
    })
}

fn take_call(call: &[u8], sink: &mut Sink<'_>) {
    let id = Some(text(call, &[CALL_ID]));
    let Some((number, inside)) = tool_of(call, &[CALL_ID]) else {
        return;
    };
    let known = TOOLS.iter().find(|(known, ..)| *known == number);
    let (_, name, parts) = known.copied().unwrap_or((number, "tool", &[]));
    let lines = parts.iter().flat_map(|(key, path)| {
        let values = at(inside, path).into_iter().map(String::from_utf8_lossy);
        values.map(move |value| format!("{key}: {value}"))
    });
    let input = lines.collect::<Vec<_>>().join("\n");
    sink.call_tool(ToolUse::new(id, Some(name.to_owned()), input));
}

fn take_result(result: &[u8], sink: &mut Sink<'_>) {
    let id = Some(text(result, &[CALL_ID]));
    note_folder(at(result, &[CONTEXT]), sink);
    let Some((number, inside)) = tool_of(result, &[CALL_ID, CONTEXT]) else {
        return;
    };
    let known = RESULTS.iter().find(|(known, _)| *known == number);
    let paths = known.map_or(&[][..], |(_, paths)| paths);
    let texts = paths.iter().map(|path| text(inside, path));
    let texts: Vec<String> = texts.filter(|text| !text.is_empty()).collect();
    let has_error = WITH_ERRORS.contains(&number) && !at(inside, &[2]).is_empty();
    let output = ToolUse::new(id, None, texts.join("\n"));
    sink.tool_result(output.failing(has_error || number == CANCEL));
}
