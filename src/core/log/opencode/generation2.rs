//! The messages of OpenCode 2.x: one row each in `session_message`, with its type in a column, its
//! order in `seq` and its content as JSON; see [`super::database`] for what is known of them.

use rusqlite::Connection;

use super::super::json::{self, Object};
use super::super::sink::{RecordStamp, Sink};
use super::super::{Origin, Role, content};
use super::database::bytes;

/// A row of `session_message`.
pub(super) struct MessageRow {
    pub(super) id: String,
    kind: String,
    created: Option<i64>,
    data: Vec<u8>,
}

/// Returns the messages of a session, in order.
pub(super) fn rows(connection: &Connection, session: &str) -> rusqlite::Result<Vec<MessageRow>> {
    let mut query = connection.prepare(
        "SELECT id, type, time_created, data FROM session_message WHERE session_id = ?1 ORDER BY seq",
    )?;
    let rows = query.query_map([session], |row| {
        Ok(MessageRow {
            id: row.get(0)?,
            kind: row.get(1)?,
            created: row.get(2)?,
            data: bytes(row, 3)?,
        })
    })?;
    rows.collect()
}

/// Decodes a message.
pub(super) fn message(row: &MessageRow, sink: &mut Sink<'_>) {
    let Ok((data, _)) = json::object(row.data.trim_ascii()) else {
        sink.carry.skipped.broken += 1;
        return;
    };
    let times = data.object("time").unwrap_or_default();
    let time = times.time("created").or(row.created);
    sink.stamp = RecordStamp::of_reply(time, Some(row.id.clone()));
    let text = || data.text("text").unwrap_or_default();
    match row.kind.as_str() {
        "user" => sink.prompt(text()),
        "assistant" => reply(&data, sink),
        "synthetic" | "system" | "skill" => sink.say(Role::System, Origin::Injected, text()),
        "shell" => shell(&data, sink),
        "compaction" => sink.notice(data.text("summary").unwrap_or_default()),
        "model-switched" => sink.head().model = model(&data),
        "agent-switched" | "location-switched" | "idle" => {}
        _ => sink.carry.skipped.unknown += 1,
    }
}

fn reply(data: &Object<'_>, sink: &mut Sink<'_>) {
    sink.head().note_model(model(data));
    if let Some(error) = data.object("error") {
        let text = error.text("message").or_else(|| error.text("type"));
        sink.notice(text.unwrap_or_default());
    }
    for part in data.objects("content") {
        super::part(&part, Role::Assistant, sink);
    }
}

/// Adds a shell command that the user typed, and its output.
fn shell(data: &Object<'_>, sink: &mut Sink<'_>) {
    let command = data.text("command").unwrap_or_default();
    sink.say(Role::User, Origin::Written, format!("! {command}"));
    let output = content::flat(data.get("output"));
    sink.result(Some("shell".to_owned()), output);
}

fn model(data: &Object<'_>) -> Option<String> {
    let model = data.object("model")?;
    model.text("id").or_else(|| model.text("modelID"))
}
