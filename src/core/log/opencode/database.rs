//! OpenCode's database.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, Row};

use super::super::sink::{Carry, Sink};
use super::super::{
    Agent, LogFile, LogLocations, LogStart, TitleSource, Transcript, json, location,
};
use crate::core::{Error, Result};

/// Returns the databases in the data directories (one per release channel) and in other places.
pub(super) fn paths(locations: &LogLocations) -> Vec<PathBuf> {
    let in_data = locations
        .opencode
        .iter()
        .flat_map(|root| location::entries(root))
        .filter(|path| {
            location::stem(path, ".db").is_some_and(|stem| stem.starts_with("opencode"))
        });
    in_data
        .chain(locations.opencode_databases.iter().cloned())
        .filter(|path| path.is_file())
        .collect()
}

/// Returns the sessions in a database; empty if it cannot be read.
pub(super) fn locate(path: &Path) -> Vec<LogFile> {
    let sessions = |connection: Connection| {
        let mut query = connection
            .prepare("SELECT id, parent_id, title, time_updated FROM session ORDER BY id")?;
        let rows = query.query_map([], |row| {
            Ok(LogFile {
                agent: Agent::Opencode,
                path: path.to_owned(),
                id: row.get(0)?,
                parent: row.get(1)?,
                title: row.get(2)?,
                size: 0,
                modified: row.get(3)?,
                start: LogStart::default(),
            })
        })?;
        rows.collect::<rusqlite::Result<Vec<LogFile>>>()
    };
    open(path).and_then(sessions).unwrap_or_default()
}

/// Reads a session and all its messages.
pub(super) fn read(log: &LogFile) -> Result<Transcript> {
    if !log.path.is_file() {
        return Err(Error::not_found(log.path.display().to_string()));
    }
    let mut carry = Carry::new(log);
    let mut messages = Vec::new();
    let connection = open(&log.path).map_err(|error| database_error(&log.path, error))?;
    head(&connection, &mut carry).map_err(|error| database_error(&log.path, error))?;
    let to_error = |error| database_error(&log.path, error);
    let mut parts = connection
        .prepare("SELECT data FROM part WHERE message_id = ?1 ORDER BY id")
        .map_err(to_error)?;
    let rows = rows(&connection, &log.id).map_err(to_error)?;
    for (ordinal, (id, info)) in (1..).zip(rows) {
        let mut sink = Sink::new(&mut carry, &mut messages, ordinal);
        let Ok((info, _)) = json::object(info.trim_ascii()) else {
            sink.carry.skipped.broken += 1;
            continue;
        };
        let role = super::message(id.clone(), &info, &mut sink);
        let data = parts
            .query_map([id], |row| bytes(row, 0))
            .map_err(to_error)?;
        for part in data.flatten() {
            match json::object(part.trim_ascii()) {
                Ok((part, _)) => super::part(&part, role, &mut sink),
                Err(_) => sink.carry.skipped.broken += 1,
            }
        }
    }
    Ok(carry.into_transcript(messages))
}

fn head(connection: &Connection, carry: &mut Carry) -> rusqlite::Result<()> {
    let mut query = connection
        .prepare("SELECT directory, title, version, parent_id FROM session WHERE id = ?1")?;
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
    Ok(())
}

/// Returns the id and the record of each message of the session.
fn rows(connection: &Connection, session: &str) -> rusqlite::Result<Vec<(String, Vec<u8>)>> {
    let mut query = connection
        .prepare("SELECT id, data FROM message WHERE session_id = ?1 ORDER BY time_created, id")?;
    let rows = query.query_map([session], |row| Ok((row.get(0)?, bytes(row, 1)?)))?;
    rows.collect()
}

/// Returns the bytes of a text or blob column.
fn bytes(row: &Row<'_>, column: usize) -> rusqlite::Result<Vec<u8>> {
    let value = row.get_ref(column)?;
    Ok(value.as_bytes_or_null()?.unwrap_or_default().to_vec())
}

/// Opens the database read-only.
///
/// If there is a write-ahead log, it holds the last messages, and a normal read-only
/// connection reads it. Otherwise the database is opened as immutable, because a normal
/// connection would create a write-ahead log.
fn open(path: &Path) -> rusqlite::Result<Connection> {
    let mut wal = path.as_os_str().to_owned();
    wal.push("-wal");
    let has_wal = fs::metadata(wal).is_ok_and(|wal| wal.len() > 0);
    let mode = if has_wal {
        "mode=ro"
    } else {
        "mode=ro&immutable=1"
    };
    let uri = format!("file:{}?{mode}", escape(path));
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(uri, flags)
}

/// Escapes the characters that have a meaning in a URI.
fn escape(path: &Path) -> String {
    let text = path.to_string_lossy();
    text.replace('%', "%25")
        .replace('?', "%3f")
        .replace('#', "%23")
}

fn database_error(path: &Path, error: rusqlite::Error) -> Error {
    Error::io(path, io::Error::other(error))
}
