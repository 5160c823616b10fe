//! Crush: sessions in the database `crush.db` of each project's data directory.
//!
//! `~/.local/share/crush/projects.json` lists the projects with their data directories, which are
//! `.crush` in the project by default. Known from the program's own source and from public readers
//! of its database (tables `sessions` and `messages`, a message's parts as an array of JSON).

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Row;

use super::database::{self, text, time, value};
use super::decode::Decode;
use super::json::{self, Object, Raw};
use super::sink::{RecordStamp, Sink, ToolUse};
use super::{
    Agent, Format, Head, LogFile, LogLocations, Origin, Resume, Role, TitleSource, content,
    location,
};
use crate::core::Result;

pub(super) const FORMAT: Format = Format {
    agent: Agent::Crush,
    name: "crush",
    locate,
    decode: Decode::Into(read),
    resume,
};

fn locate(locations: &LogLocations) -> Vec<LogFile> {
    let mut databases: Vec<PathBuf> = locations
        .crush
        .iter()
        .flat_map(|root| projects(&root.join("projects.json")))
        .collect();
    databases.extend(
        locations
            .projects
            .iter()
            .filter_map(|root| own_database(root)),
    );
    databases.sort();
    databases.dedup();
    let sessions =
        "SELECT id, parent_session_id AS parent, title, updated_at AS modified FROM sessions";
    databases
        .iter()
        .flat_map(|path| database::sessions(Agent::Crush, path, sessions))
        .collect()
}

/// Returns the database in a project; a link may lead anywhere.
fn own_database(project: &Path) -> Option<PathBuf> {
    let data = project.join(".crush");
    let database = data.join("crush.db");
    let is_folder = fs::symlink_metadata(data).is_ok_and(|data| data.is_dir());
    let is_file = fs::symlink_metadata(&database).is_ok_and(|file| file.is_file());
    (is_folder && is_file).then_some(database)
}

/// Returns the databases of the listed projects.
fn projects(list: &Path) -> Vec<PathBuf> {
    let bytes = location::bytes(list).unwrap_or_default();
    let Ok((list, _)) = json::object(bytes.trim_ascii()) else {
        return Vec::new();
    };
    let projects = list.items("projects").filter_map(Raw::object);
    projects
        .filter_map(|project| {
            let root = PathBuf::from(project.text("path").unwrap_or_default());
            Some(root.join(project.text("data_dir")?).join("crush.db"))
        })
        .collect()
}

fn resume(log: &LogFile, head: &Head) -> Option<Resume> {
    if log.parent.is_some() {
        return None;
    }
    Some(Resume::by(
        "crush",
        super::option("--session", &log.id),
        head,
    ))
}

fn read(log: &LogFile, sink: &mut Sink<'_>) -> Result<()> {
    let head = sink.head();
    head.session = Some(log.id.clone());
    head.cwd = project_of(&log.path);
    let queries = [
        "SELECT title FROM sessions WHERE id = ?1",
        "SELECT * FROM messages WHERE session_id = ?1 ORDER BY created_at, rowid",
    ];
    let describe = |row: &Row<'_>, head: &mut Head| {
        head.set_title(TitleSource::Ai, text(row, "title").unwrap_or_default());
    };
    database::read_session(log, sink, queries, describe, message)
}

/// Returns the project with the database `<project>/.crush/crush.db`.
fn project_of(path: &Path) -> Option<String> {
    let data = path.parent()?;
    if location::name(data) != ".crush" {
        return None;
    }
    Some(data.parent()?.display().to_string())
}

fn message(row: &Row<'_>, sink: &mut Sink<'_>) {
    let id = text(row, "id");
    sink.stamp = RecordStamp {
        time: time(row, "created_at"),
        reply: id.clone(),
        id,
        ..RecordStamp::default()
    };
    let model = text(row, "model").filter(|model| !model.is_empty());
    let head = sink.head();
    head.model = model.or(head.model.take());
    let parts = database::bytes(row, "parts").unwrap_or_default();
    let Ok((parts, _)) = json::value(parts.trim_ascii()) else {
        sink.carry.skipped.broken += 1;
        return;
    };
    let role = match text(row, "role").as_deref() {
        _ if value(row, "is_summary_message") == Some(true) => Role::System,
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("tool") => Role::Tool,
        _ => Role::System,
    };
    for part in parts.items().filter_map(Raw::object) {
        take_part(&part, role, sink);
    }
}

fn take_part(part: &Object<'_>, role: Role, sink: &mut Sink<'_>) {
    let data = part.object("data").unwrap_or_default();
    let text = |key| data.text(key).unwrap_or_default();
    match part.word("type") {
        Some("text") => match role {
            Role::User => sink.prompt(text("text")),
            Role::System => sink.notice(text("text")),
            role => sink.say(role, Origin::Written, text("text")),
        },
        Some("reasoning") => sink.think(text("thinking")),
        Some("tool_call") => sink.call_tool(ToolUse::new(
            data.text("id"),
            data.text("name"),
            content::outline(data.get("input")),
        )),
        Some("tool_result") => sink.tool_result(
            ToolUse::new(
                data.text("tool_call_id"),
                data.text("name").filter(|name| !name.is_empty()),
                content::flat(data.get("content")),
            )
            .failing(data.is_true("is_error")),
        ),
        Some("image_url" | "binary") => sink.show(role, content::IMAGE),
        Some("finish") => {
            let message = text("message");
            let details = text("details");
            sink.notice(format!("{message}\n{details}").trim().to_owned());
        }
        _ => sink.carry.skipped.unknown += 1,
    }
}
