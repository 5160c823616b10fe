//! Crush: sessions in the database `crush.db` of each project's data directory.
//!
//! `~/.local/share/crush/projects.json` lists the projects with their data directories, which are
//! `.crush` in the project, or what `options.data_directory` in the project's `crush.json` says. Known
//! from the program's own source and from public readers of its database (tables `sessions` and
//! `messages`, a message's parts as an array of JSON).

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
use crate::core::disk::foreign::{LARGEST_SETTINGS, read_capped};

pub(super) const FORMAT: Format = Format {
    agent: Agent::Crush,
    name: "crush",
    locate,
    decode: Decode::Into(read),
    resume: |log, head| Resume::by_id("crush", "--session", log, head),
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
            .flat_map(|root| own_databases(root)),
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

/// Returns the databases in a project. A link may lead anywhere, and so may what the project's
/// settings say.
fn own_databases(project: &Path) -> Vec<PathBuf> {
    let is_inside = |database: &PathBuf| {
        let inside = database.strip_prefix(project).ok();
        let real = fs::canonicalize(project).ok().zip(inside);
        let real = real.map(|(project, inside)| project.join(inside));
        real.is_some_and(|real| fs::canonicalize(database).is_ok_and(|found| found == real))
    };
    let databases = data_folders(project).into_iter();
    let databases = databases.map(|data| data.join("crush.db"));
    databases.filter(is_inside).collect()
}

/// Returns where the sessions of a project may be.
fn data_folders(project: &Path) -> Vec<PathBuf> {
    let set = ["crush.json", ".crush.json"].map(|name| {
        let bytes = read_capped(&project.join(name), LARGEST_SETTINGS).ok()?;
        let (settings, _) = json::object(bytes.trim_ascii()).ok()?;
        let folder = settings.object("options")?.text("data_directory")?;
        Some(project.join(folder).components().collect())
    });
    let usual = project.join(".crush");
    std::iter::once(usual)
        .chain(set.into_iter().flatten())
        .collect()
}

/// Returns the databases of the listed projects.
fn projects(list: &Path) -> Vec<PathBuf> {
    let bytes = location::bytes(list).unwrap_or_default();
    let Ok((list, _)) = json::object(bytes.trim_ascii()) else {
        return Vec::new();
    };
    let projects = list.objects("projects");
    projects
        .filter_map(|project| {
            let root = PathBuf::from(project.text("path").unwrap_or_default());
            Some(root.join(project.text("data_dir")?).join("crush.db"))
        })
        .collect()
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

/// Returns the project with this database, whose data directory is in it.
fn project_of(path: &Path) -> Option<String> {
    let data = path.parent()?;
    let mut above = data.ancestors().skip(1);
    let project = above.find(|above| data_folders(above).iter().any(|folder| folder == data))?;
    Some(project.display().to_string())
}

fn message(row: &Row<'_>, sink: &mut Sink<'_>) {
    let id = text(row, "id");
    sink.stamp = RecordStamp::of_reply(time(row, "created_at"), id);
    let model = text(row, "model").filter(|model| !model.is_empty());
    sink.head().note_model(model);
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
