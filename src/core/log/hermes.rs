//! Hermes: sessions in the database `state.db` of its home.
//!
//! `~/.hermes/state.db` and `~/.hermes/profiles/*/state.db`, with the tables `sessions` and `messages`. Known from the source of
//! version 0.19. Content of several parts is JSON after a mark.

use std::iter;
use std::path::PathBuf;

use rusqlite::Row;

use super::content::{self, Speaker};
use super::database::{self, text, time};
use super::decode::Decode;
use super::json::{self, Raw};
use super::location::entries;
use super::sink::{RecordStamp, Sink, ToolUse};
use super::{Agent, Format, Head, LogFile, LogLocations, Origin, Resume, Role, TitleSource};
use crate::core::Result;

pub(super) const FORMAT: Format = Format {
    agent: Agent::Hermes,
    name: "hermes",
    locate,
    decode: Decode::Into(read),
    resume,
};

/// The folder of the homes of profiles, in the home.
const PROFILES: &str = "profiles";

/// The mark before content that is JSON.
const JSON: &str = "\0json:";

fn locate(locations: &LogLocations) -> Vec<LogFile> {
    let sessions = "SELECT id, parent_session_id AS parent, title, COALESCE((SELECT MAX(timestamp) FROM messages WHERE session_id = sessions.id), started_at) AS modified FROM sessions";
    let profiles = |home: &PathBuf| entries(&home.join(PROFILES));
    let homes = locations.hermes.iter();
    let homes = homes.flat_map(|home| iter::once(home.clone()).chain(profiles(home)));
    homes
        .map(|home| home.join("state.db"))
        .flat_map(|path| database::sessions(Agent::Hermes, &path, sessions))
        .collect()
}

fn resume(log: &LogFile, head: &Head) -> Option<Resume> {
    let home = log.path.parent()?;
    let profile = home
        .file_name()
        .filter(|_| home.parent().is_some_and(|above| above.ends_with(PROFILES)));
    let profile = profile.map(|name| super::option("--profile", &name.to_string_lossy()));
    let session = super::option("--resume", &log.id);
    let args = profile.into_iter().flatten().chain(session);
    Some(Resume::by("hermes", args, head))
}

fn read(log: &LogFile, sink: &mut Sink<'_>) -> Result<()> {
    let queries = [
        "SELECT * FROM sessions WHERE id = ?1",
        "SELECT * FROM messages WHERE session_id = ?1 ORDER BY id",
    ];
    database::read_session(log, sink, queries, describe, message)
}

fn describe(row: &Row<'_>, head: &mut Head) {
    head.session = text(row, "id");
    head.cwd = text(row, "cwd");
    head.branch = text(row, "git_branch");
    head.model = text(row, "model");
    let title = text(row, "title").unwrap_or_default();
    head.set_title(TitleSource::Ai, title);
}

fn message(row: &Row<'_>, sink: &mut Sink<'_>) {
    sink.stamp = RecordStamp::new(time(row, "timestamp"), None);
    let content = text(row, "content").unwrap_or_default();
    match text(row, "role").as_deref() {
        Some("user") if is_of_job(sink) => take(content, Speaker::Program, sink),
        Some("user") => match after_quotation(&content) {
            Some((quoted, typed)) => {
                sink.add(Speaker::Program, quoted.to_owned());
                take(typed.to_owned(), Speaker::Person, sink);
            }
            None => take(content, Speaker::Person, sink),
        },
        Some("assistant") => {
            let reasoning = text(row, "reasoning").filter(|text| !text.is_empty());
            let reasoning = reasoning.or_else(|| text(row, "reasoning_content"));
            sink.think(reasoning.unwrap_or_default());
            take(content, Speaker::Model, sink);
            let calls = text(row, "tool_calls").unwrap_or_default();
            match json::value(calls.trim().as_bytes()) {
                Ok((calls, _)) => {
                    let calls = calls.items().filter_map(Raw::object);
                    calls.for_each(|call| sink.call_tool(ToolUse::of_function(&call)));
                }
                Err(_) => sink.carry.skipped.broken += u64::from(!calls.trim().is_empty()),
            }
        }
        Some("tool") => {
            let tool = text(row, "tool_name").filter(|name| !name.is_empty());
            sink.tool_result(ToolUse::new(text(row, "tool_call_id"), tool, content));
        }
        Some("system") => sink.say(Role::System, Origin::Injected, content),
        _ => sink.carry.skipped.unknown += 1,
    }
}

/// Whether a job began the session at its time: no person is there.
fn is_of_job(sink: &mut Sink<'_>) -> bool {
    let session = sink.head().session.as_deref();
    session.is_some_and(|id| id.starts_with("cron_"))
}

/// Splits a message behind the earlier one that it answers, which a chat puts before it.
fn after_quotation(content: &str) -> Option<(&str, &str)> {
    const END: &str = "\"]\n";
    let end = content
        .starts_with("[Replying to: \"")
        .then(|| content.find(END))?;
    Some(content.split_at(end? + END.len()))
}

fn take(content: String, speaker: Speaker, sink: &mut Sink<'_>) {
    let Some(parts) = content.strip_prefix(JSON) else {
        return match speaker {
            Speaker::Person => sink.prompt(content),
            speaker => sink.add(speaker, content),
        };
    };
    match json::value(parts.as_bytes()) {
        Ok((parts, _)) => content::take(parts, speaker, sink),
        Err(_) => sink.carry.skipped.broken += 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_of_profiles_are_found_and_continued_there() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        for home in [".hermes", ".hermes/profiles/work"] {
            let home = temp.path().join(home);
            std::fs::create_dir_all(&home).expect("folders");
            let database = rusqlite::Connection::open(home.join("state.db")).expect("opens");
            let tables = "CREATE TABLE sessions (id TEXT, parent_session_id TEXT, title TEXT, started_at REAL);
                CREATE TABLE messages (session_id TEXT, timestamp REAL);
                INSERT INTO sessions VALUES ('h1', NULL, 'T', 1.0);";
            database.execute_batch(tables).expect("makes");
        }
        let logs = locate(&LogLocations::of_home(temp.path()));
        let resumed = logs.iter().filter_map(|log| resume(log, &Head::default()));
        let resumed: Vec<String> = resumed.map(|command| command.command_line()).collect();
        let expected = ["hermes --resume h1", "hermes --profile work --resume h1"];
        assert_eq!(resumed, expected);
    }
}
