//! OpenCode's database, in its two generations of tables.
//!
//! Versions 1.2 to 1.x have `session`, `message` and `part`. Versions 2.x have `session_v2` and
//! `session_message` in the same file, and leave the old tables as they were at the upgrade: a
//! session that was continued has its first messages there. The new tables are known from the
//! schema in OpenCode's source (`packages/schema/src/session-message.ts`) and from public reports
//! on databases of 2.0.3 to 2.0.12; they were tried on databases made by tests only.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, Row};

use super::super::sink::{Carry, Sink};
use super::super::{Agent, LogFile, LogLocations, TitleSource, fork, json, location};
use super::generation2;
use crate::core::disk::foreign::{LARGEST_LOG, open_capped};
use crate::core::{Error, Result};

/// Returns the databases in the data directories (one per release channel) and in other places.
pub(super) fn paths(locations: &LogLocations) -> Vec<PathBuf> {
    let forks = fork::homes_of(locations, Agent::Opencode);
    let roots = locations.opencode.iter().chain(&forks);
    let is_channel = |stem: &String| stem.starts_with("opencode") || stem.starts_with("kilo");
    let in_data = roots
        .flat_map(|root| location::entries(root))
        .filter(|path| location::stem(path, ".db").as_ref().is_some_and(is_channel));
    in_data
        .chain(locations.opencode_databases.iter().cloned())
        .filter(|path| path.is_file())
        .collect()
}

/// Returns the sessions in a database, those of the newer tables last; empty if it cannot be read.
/// One that is too large is returned as a log itself, so that whoever reads the logs is told.
pub(super) fn locate(path: &Path) -> Vec<LogFile> {
    if check(path).is_err() {
        let found = location::found(Agent::Opencode, path.to_owned(), location::name(path));
        return found.into_iter().collect();
    }
    let sessions = |connection: Connection| {
        let mut sessions = Vec::new();
        for table in TABLES.iter().filter(|table| table.is_in(&connection)) {
            let mut query = connection.prepare(&format!(
                "SELECT id, parent_id, title, time_updated FROM {} ORDER BY id",
                table.sessions
            ))?;
            let rows = query.query_map([], |row| {
                Ok(LogFile {
                    parent: row.get(1)?,
                    title: row.get(2)?,
                    modified: row.get(3)?,
                    ..LogFile::new(Agent::Opencode, path, row.get::<_, String>(0)?)
                })
            })?;
            let counts = table.counts(&connection)?;
            let mut own = rows.collect::<rusqlite::Result<Vec<LogFile>>>()?;
            let mut newest: Vec<_> = own.iter().map(|row| row.modified).collect();
            newest.sort_unstable_by(|a, b| b.cmp(a));
            for row in &mut own {
                row.changed = counts.get(&row.id).copied();
                if newest
                    .iter()
                    .take(WATCHED)
                    .any(|time| *time == row.modified)
                {
                    let changes = table.changes(&connection, &row.id);
                    row.changed = row.changed.map(|count| count.wrapping_add(changes));
                }
            }
            sessions.append(&mut own);
        }
        Ok(sessions)
    };
    open(path).and_then(sessions).unwrap_or_default()
}

/// Returns why the sessions of a database cannot be listed; `None` if they can.
pub(super) fn problem(path: &Path) -> Option<String> {
    let tables = |connection: Connection| {
        let mut query = connection
            .prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")?;
        let names = query.query_map([], |row| row.get::<_, String>(0))?;
        names.collect::<rusqlite::Result<Vec<String>>>()
    };
    let names = match open(path).and_then(tables) {
        Ok(names) => names,
        Err(error) => return Some(format!("it cannot be read as a database: {error}")),
    };
    let has = |name: &str| names.iter().any(|known| known == name);
    let is_known = |table: &Table| has(table.sessions) && has(table.messages);
    // A database that was just made has no tables.
    if names.is_empty() || TABLES.iter().any(is_known) {
        return None;
    }
    let theirs = names
        .iter()
        .filter(|name| name.contains("session") || name.contains("message"));
    let theirs: Vec<&str> = theirs.map(String::as_str).collect();
    Some(match theirs.as_slice() {
        [] => "it has no tables of sessions".to_owned(),
        theirs => format!(
            "its tables are of an unknown version: {}",
            theirs.join(", ")
        ),
    })
}

/// The tables of one generation.
struct Table {
    sessions: &'static str,
    messages: &'static str,
    /// The table of parts of messages, if they have one.
    parts: Option<&'static str>,
}

const FIRST: Table = Table {
    sessions: "session",
    messages: "message",
    parts: Some("part"),
};

const SECOND: Table = Table {
    sessions: "session_v2",
    messages: "session_message",
    parts: None,
};

const TABLES: [Table; 2] = [FIRST, SECOND];

impl Table {
    fn is_in(&self, connection: &Connection) -> bool {
        let count = connection.query_row(
            "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN (?1, ?2)",
            [self.sessions, self.messages],
            |row| row.get::<_, i64>(0),
        );
        count.is_ok_and(|count| count == 2)
    }

    /// Counts the rows of each session, because the session's own time may not have moved.
    fn counts(&self, connection: &Connection) -> rusqlite::Result<HashMap<String, i64>> {
        let mut counts = HashMap::new();
        for table in std::iter::once(self.messages).chain(self.parts) {
            let query = format!("SELECT session_id, count(*) FROM {table} GROUP BY session_id");
            let Ok(mut query) = connection.prepare(&query) else {
                continue;
            };
            let rows = query.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get(1)?)))?;
            for row in rows {
                let (session, count): (String, i64) = row?;
                *counts.entry(session).or_default() += count;
            }
        }
        Ok(counts)
    }

    /// Returns a number that changes when a row of a session is changed in place.
    fn changes(&self, connection: &Connection, session: &str) -> i64 {
        let tables = std::iter::once(self.messages).chain(self.parts);
        let columns = ["octet_length(data)", "time_updated"];
        let sums = tables.flat_map(|table| columns.map(|column| (table, column)));
        let sums = sums.filter_map(|(table, column)| {
            let query = format!("SELECT sum({column}) FROM {table} WHERE session_id = ?1");
            let sum = connection.query_row(&query, [session], |row| row.get(0));
            sum.ok().flatten()
        });
        sums.fold(0, i64::wrapping_add)
    }
}

/// How many sessions of a database, those that were continued last, are looked at for rows that were
/// changed in place: looking at all would take as long as reading the database.
const WATCHED: usize = 8;

/// Reads a session and all its messages.
pub(super) fn read(log: &LogFile, sink: &mut Sink<'_>) -> Result<()> {
    check(&log.path)?;
    let read = open(&log.path).and_then(|connection| read_messages(&connection, sink));
    read.map_err(|error| database_error(&log.path, error))
}

fn read_messages(connection: &Connection, sink: &mut Sink<'_>) -> rusqlite::Result<()> {
    let session = sink.carry.id.clone();
    let [is_first, is_second] = TABLES.map(|table| table.is_in(connection));
    if is_first {
        head(connection, &FIRST, "NULL", sink.carry)?;
    }
    let mut second = Vec::new();
    if is_second {
        head(connection, &SECOND, "fork_session_id", sink.carry)?;
        second = generation2::rows(connection, &session)?;
    }
    let mut ordinal = 0;
    if is_first || !is_second {
        // What was copied to the new tables is read there.
        let copied: HashSet<&str> = second.iter().map(|row| row.id.as_str()).collect();
        let mut records = connection.prepare(
            "SELECT id, data FROM message WHERE session_id = ?1 ORDER BY time_created, id",
        )?;
        let mut parts =
            connection.prepare("SELECT data FROM part WHERE message_id = ?1 ORDER BY id")?;
        let rows = records.query_map([&session], |row| Ok((row.get(0)?, bytes(row, 1)?)))?;
        for row in rows {
            let (id, info): (String, Vec<u8>) = row?;
            if copied.contains(id.as_str()) {
                continue;
            }
            ordinal += 1;
            sink.turn_to(ordinal);
            let Ok((info, _)) = json::object(info.trim_ascii()) else {
                sink.carry.skipped.broken += 1;
                continue;
            };
            let role = super::message(id.clone(), &info, sink);
            let data = parts.query_map([id], |row| bytes(row, 0))?;
            for part in data.flatten() {
                match json::object(part.trim_ascii()) {
                    Ok((part, _)) => super::part(&part, role, sink),
                    Err(_) => sink.carry.skipped.broken += 1,
                }
            }
        }
    }
    for row in &second {
        ordinal += 1;
        sink.turn_to(ordinal);
        generation2::message(row, sink);
    }
    Ok(())
}

/// Returns an error unless the database is a regular file that is not too large.
pub(in crate::core::log) fn check(path: &Path) -> Result<()> {
    open_capped(path, LARGEST_LOG).map(drop)
}

/// Reads the metadata of a session; `origin` is the column of the session that it is a copy of.
fn head(
    connection: &Connection,
    table: &Table,
    origin: &str,
    carry: &mut Carry,
) -> rusqlite::Result<()> {
    let mut query = connection.prepare(&format!(
        "SELECT directory, title, version, parent_id, {origin} FROM {} WHERE id = ?1",
        table.sessions
    ))?;
    let mut rows = query.query([&carry.id])?;
    let Some(row) = rows.next()? else {
        return Ok(());
    };
    let head = &mut carry.head;
    head.session = Some(carry.id.clone());
    head.cwd = row.get(0)?;
    head.set_title(
        TitleSource::Ai,
        row.get::<_, Option<String>>(1)?.unwrap_or_default(),
    );
    head.version = row.get(2)?;
    head.parent = row.get(3)?;
    head.fork_of = row.get(4)?;
    Ok(())
}

/// Returns the bytes of a text or blob column.
pub(super) fn bytes(row: &Row<'_>, column: usize) -> rusqlite::Result<Vec<u8>> {
    let value = row.get_ref(column)?;
    Ok(value.as_bytes_or_null()?.unwrap_or_default().to_vec())
}

/// Opens the database read-only, without creating or changing a file.
///
/// Without a write-ahead log the database is opened as immutable, because a normal connection would
/// create one. With one, which holds the last messages, there are two cases. If its index exists,
/// a process may be using the database, and a normal connection reads it. If not, a process
/// crashed and left the log: a normal connection would create the index, so this one keeps it in
/// memory, which requires that nothing is locked and nothing is written when it is closed.
pub(in crate::core::log) fn open(path: &Path) -> rusqlite::Result<Connection> {
    let has_file = |ending: &str| {
        let mut beside = path.as_os_str().to_owned();
        beside.push(ending);
        fs::metadata(beside).is_ok_and(|found| found.is_file() && found.len() > 0)
    };
    let has_log = has_file("-wal");
    let is_left = has_log && !has_file("-shm");
    let mode = if !has_log {
        "mode=ro&immutable=1"
    } else if is_left {
        "mode=ro&vfs=unix-none"
    } else {
        // Readers note in the index how far they read; this one does without.
        "mode=ro&readonly_shm=1"
    };
    let uri = format!("file:{}?{mode}", escape(path));
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(uri, flags)?;
    if is_left {
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    }
    Ok(connection)
}

/// Escapes the characters that have a meaning in a URI.
fn escape(path: &Path) -> String {
    let text = path.to_string_lossy();
    text.replace('%', "%25")
        .replace('?', "%3f")
        .replace('#', "%23")
}

/// Creates a database where there is none.
pub(in crate::core::log) fn create(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(path, flags)
}

/// Returns the error that names the database.
pub(in crate::core::log) fn database_error(path: &Path, error: rusqlite::Error) -> Error {
    Error::io(path, io::Error::other(error))
}
