//! Sessions of Cursor's editor: `<User>/globalStorage/state.vscdb`.
//!
//! Known from public readers of this database and their tests. The table `cursorDiskKV` has a JSON object
//! for each session under `composerData:<id>`, with the order of its messages, and one for each message
//! under `bubbleId:<id>:<message>`. Early versions have the messages in the session's object. No other
//! key and no other table is read: some hold credentials.

use std::path::Path;

use super::super::json::{self, Object, Raw};
use super::super::opencode::database::{create, database_error};
use super::super::sink::{RecordStamp, Sink, ToolUse};
use super::super::{
    Agent, LogFile, LogLocations, Origin, Role, TitleSource, content, database, location,
};
use crate::core::Result;

/// The name of the database.
pub(super) const FILE: &str = "state.vscdb";
/// The beginning of the key of a session.
const SESSION: &str = "composerData:";
/// The kinds of messages.
const BY_USER: &str = "1";

/// Returns the sessions of the editors.
pub(super) fn locate(locations: &LogLocations) -> Vec<LogFile> {
    let editors = locations.editors.iter();
    let databases = editors.map(|user| user.join("globalStorage").join(FILE));
    databases
        .filter(|path| path.is_file())
        .flat_map(|path| sessions(&path))
        .collect()
}

/// Lists the sessions without reading them: the length of a session's object changes with it.
fn sessions(path: &Path) -> Vec<LogFile> {
    let query = format!(
        "SELECT key, octet_length(value) AS length FROM cursorDiskKV
         WHERE key > '{SESSION}' AND key < 'composerData;' ORDER BY key"
    );
    let mut found = Vec::new();
    let listed = database::connect(path).and_then(|connection| {
        database::rows(path, &connection, &query, "", &mut |row| {
            let key = database::text(row, "key").unwrap_or_default();
            let Some(id) = key.strip_prefix(SESSION) else {
                return;
            };
            found.push(LogFile {
                changed: database::value(row, "length"),
                ..LogFile::new(Agent::Cursor, path, id)
            });
        })
    });
    // The database of another editor has no such table.
    drop(listed);
    found
}

/// Reads a session.
pub(super) fn read(log: &LogFile, sink: &mut Sink<'_>) -> Result<()> {
    let path = &log.path;
    let connection = database::connect(path)?;
    let value = |key: String| -> Result<Option<Vec<u8>>> {
        let mut found = None;
        let query = "SELECT value FROM cursorDiskKV WHERE key = ?1";
        database::rows(path, &connection, query, &key, &mut |row| {
            found = database::bytes(row, "value");
        })?;
        Ok(found)
    };
    let bytes = value(format!("{SESSION}{}", log.id))?.unwrap_or_default();
    let Ok((session, _)) = json::object(bytes.trim_ascii()) else {
        sink.carry.skipped.broken += u64::from(!bytes.is_empty());
        return Ok(());
    };
    let head = sink.head();
    head.session = Some(log.id.clone());
    head.set_title(TitleSource::Ai, session.text("name").unwrap_or_default());
    head.extend_span(session.time("createdAt"));
    let model = session.object("modelConfig").unwrap_or_default();
    head.model = model.text("modelName");
    head.cwd = folder(&session, path);
    let headers = session.items("fullConversationHeadersOnly");
    let own = session.objects("conversation");
    let own: Vec<Object<'_>> = own.collect();
    let mut ordinal = 0;
    for id in headers
        .filter_map(Raw::object)
        .map(|header| header.text("bubbleId"))
    {
        let Some(id) = id else { continue };
        ordinal += 1;
        sink.turn_to(ordinal);
        let bytes = value(format!("bubbleId:{}:{id}", log.id))?.unwrap_or_default();
        match json::object(bytes.trim_ascii()) {
            Ok((message, _)) => take_message(Some(id), &message, sink),
            Err(_) => sink.carry.skipped.broken += 1,
        }
    }
    if ordinal == 0 {
        for message in own {
            ordinal += 1;
            sink.turn_to(ordinal);
            take_message(message.text("bubbleId"), &message, sink);
        }
    }
    Ok(())
}

/// Returns the folder of a session: its own, or that of its workspace's storage.
fn folder(session: &Object<'_>, path: &Path) -> Option<String> {
    let workspace = session.object("workspaceIdentifier")?;
    let uri = workspace.object("uri").unwrap_or_default();
    let own = uri.text("fsPath").or_else(|| uri.text("path"));
    own.or_else(|| {
        let user = path.parent()?.parent()?;
        let id = workspace.text("id")?;
        // An id is one name.
        let is_name = Path::new(&id).components().count() == 1;
        let storage = user.join("workspaceStorage").join(&id);
        let is_folder = is_name && id != "..";
        is_folder.then(|| location::folder_of_workspace(&storage))?
    })
}

fn take_message(id: Option<String>, message: &Object<'_>, sink: &mut Sink<'_>) {
    let timing = message.object("timingInfo").unwrap_or_default();
    let time = message.time("createdAt");
    sink.stamp = RecordStamp::of_reply(time.or_else(|| timing.time("clientStartTime")), id);
    let head = sink.head();
    let model = message.object("modelInfo").unwrap_or_default();
    head.note_model(model.text("modelName"));
    if head.cwd.is_none() {
        let folders = message.items("workspaceUris").filter_map(Raw::text);
        head.cwd = folders.filter_map(|uri| location::path_of_uri(&uri)).next();
    }
    let text = message.text("text").unwrap_or_default();
    if message
        .get("type")
        .is_some_and(|kind| kind.bytes() == BY_USER.as_bytes())
    {
        sink.prompt(text);
        return;
    }
    let thought = message.get("thinking").map(|thought| {
        let inside = thought.object().and_then(|thought| thought.text("text"));
        inside.or_else(|| thought.text()).unwrap_or_default()
    });
    sink.think(thought.unwrap_or_default());
    sink.say(Role::Assistant, Origin::Written, text);
    let Some(call) = message.object("toolFormerData") else {
        return;
    };
    // A placeholder has no name.
    let Some(tool) = call.text("name") else {
        return;
    };
    let id = call.text("toolCallId");
    let is_filled = |value: &Raw<'_>| !matches!(content::outline(*value).trim(), "" | "{}");
    let input = ["rawArgs", "params"]
        .iter()
        .find_map(|key| call.get(key).filter(is_filled));
    let input = content::outline(input);
    sink.call_tool(ToolUse::new(id.clone(), Some(tool.clone()), input));
    if let Some(result) = call.get("result") {
        let has_failed = call.is("status", "error") || call.is("userDecision", "rejected");
        let result = ToolUse::new(id, Some(tool), content::outline(result));
        sink.tool_result(result.failing(has_failed));
    }
}

/// Copies the rows of a session into a new database, and nothing else.
pub(super) fn copy(log: &LogFile, to: &Path) -> Result<()> {
    let from = &log.path;
    let known = database::connect(from)?;
    let mut rows: Vec<(String, Vec<u8>)> = Vec::new();
    let query = "SELECT key, value FROM cursorDiskKV
         WHERE key = 'composerData:' || ?1
         OR key > 'bubbleId:' || ?1 || ':' AND key < 'bubbleId:' || ?1 || ';'";
    database::rows(from, &known, query, &log.id, &mut |row| {
        let key = database::text(row, "key");
        rows.extend(key.zip(database::bytes(row, "value")));
    })?;
    let written = || -> rusqlite::Result<()> {
        let mut copy = create(to)?;
        copy.execute_batch("CREATE TABLE cursorDiskKV (key TEXT UNIQUE, value BLOB)")?;
        let change = copy.transaction()?;
        for (key, value) in &rows {
            change.execute("INSERT INTO cursorDiskKV VALUES (?1, ?2)", (key, value))?;
        }
        change.commit()
    };
    written().map_err(|error| database_error(to, error))?;
    database::flush_copy(to)
}

#[cfg(test)]
mod tests {
    use super::super::super::{keep, read};
    use crate::core::fixture::Case;

    #[test]
    fn a_session_of_the_editor_is_kept_without_credentials() {
        let home = Case::named("logs/cursor/sessions_of_the_editor_are_read").home;
        let log = &home.locate()[0];
        let transcript = read(log).expect("it can be read");
        let copies = home.path().join("kept");
        let copy = keep::keep(&copies, log).expect("kept");
        let bytes = std::fs::read(copy).expect("a copy");
        assert!(memchr::memmem::find(&bytes, b"credential").is_none());
        std::fs::remove_file(&log.path).expect("deleted");
        let kept = read(&keep::kept(&copies, &[])[0]).expect("it can be read");
        assert_eq!(kept.messages, transcript.messages);
        assert_eq!(kept.head.cwd.as_deref(), Some("/repo"));
    }
}
