//! Sessions in agents' databases, which are opened read-only and leave no file behind.

use std::path::Path;

use rusqlite::types::{FromSql, ValueRef};
use rusqlite::{Connection, Row};

use super::opencode::database::{check, database_error, open};
use super::sink::Sink;
use super::{Agent, Head, LogFile};
use crate::core::disk::private;
use crate::core::{Error, Result};

/// Opens a database.
pub(super) fn connect(path: &Path) -> Result<Connection> {
    check(path)?;
    open(path).map_err(|error| database_error(path, error))
}

/// Writes a copy of a database, with what its writer has not put into its file yet.
pub(super) fn copy(path: &Path, copy: &Path) -> Result<()> {
    let connection = connect(path)?;
    let to = copy.to_string_lossy();
    let copied = connection.execute("VACUUM INTO ?1", [to.as_ref()]);
    copied.map_err(|error| database_error(path, error))?;
    flush_copy(copy)
}

/// Writes a copy to the disk, for its owner alone.
pub(super) fn flush_copy(copy: &Path) -> Result<()> {
    let flushed = private::restrict(copy)
        .and_then(|()| private::open_write(copy))
        .and_then(|file| file.sync_all());
    flushed.map_err(|error| Error::io(copy, error))
}

/// Calls `each` with every row that `query` gives for `key`.
pub(super) fn rows(
    path: &Path,
    connection: &Connection,
    query: &str,
    key: &str,
    each: &mut dyn FnMut(&Row<'_>),
) -> Result<()> {
    let mut read = || -> rusqlite::Result<()> {
        let mut statement = connection.prepare(query)?;
        let has_key = statement.parameter_count() > 0;
        let mut rows = if has_key {
            statement.query([key])?
        } else {
            statement.query([])?
        };
        while let Some(row) = rows.next()? {
            each(row);
        }
        Ok(())
    };
    read().map_err(|error| database_error(path, error))
}

/// Reads a session: calls `describe` with the row about it, which the first query gives for its id,
/// and `message` with each of its messages, which the second one gives.
pub(super) fn read_session(
    log: &LogFile,
    sink: &mut Sink<'_>,
    [about, messages]: [&str; 2],
    describe: fn(&Row<'_>, &mut Head),
    message: fn(&Row<'_>, &mut Sink<'_>),
) -> Result<()> {
    let path = &log.path;
    let connection = connect(path)?;
    rows(path, &connection, about, &log.id, &mut |row| {
        describe(row, sink.head());
    })?;
    let mut ordinal = 0;
    rows(path, &connection, messages, &log.id, &mut |row| {
        ordinal += 1;
        sink.turn_to(ordinal);
        message(row, sink);
    })
}

/// Returns the sessions that `query` lists; none if the database cannot be read. Its columns may be
/// `id`, `parent`, `title` or `name`, and `modified`.
pub(super) fn sessions(agent: Agent, path: &Path, query: &str) -> Vec<LogFile> {
    let mut found = Vec::new();
    let listed = connect(path).and_then(|connection| {
        rows(path, &connection, query, "", &mut |row| {
            let Some(id) = text(row, "id") else { return };
            let title = text(row, "title").or_else(|| text(row, "name"));
            found.push(LogFile {
                parent: text(row, "parent"),
                title: title.filter(|title| !title.trim().is_empty()),
                modified: time(row, "modified"),
                ..LogFile::new(agent, path, id)
            });
        })
    });
    // What is no database, or one of another program, has no sessions.
    drop(listed);
    found
}

/// Returns a column's value; `None` if the column is missing, null or of another type.
pub(super) fn value<T: FromSql>(row: &Row<'_>, column: &str) -> Option<T> {
    row.get::<_, Option<T>>(column).ok().flatten()
}

/// Returns the text of a column.
pub(super) fn text(row: &Row<'_>, column: &str) -> Option<String> {
    bytes(row, column).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the bytes of a text or blob column.
pub(super) fn bytes(row: &Row<'_>, column: &str) -> Option<Vec<u8>> {
    match row.get_ref(column).ok()? {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(bytes.to_vec()),
        _ => None,
    }
}

/// Returns the time in a column of seconds or milliseconds, in milliseconds since 1970 UTC.
pub(super) fn time(row: &Row<'_>, column: &str) -> Option<i64> {
    /// Smaller numbers are seconds: they reach this in 5138, milliseconds did in 1973.
    const SECONDS: u64 = 100_000_000_000;
    match row.get_ref(column).ok()? {
        ValueRef::Integer(number) if number.unsigned_abs() < SECONDS => Some(number * 1000),
        ValueRef::Integer(number) => Some(number),
        ValueRef::Real(seconds) if seconds.abs() < SECONDS as f64 => {
            Some((seconds * 1000.0) as i64)
        }
        ValueRef::Real(number) if number.abs() < 9e15 => Some(number as i64),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::log;
    use super::super::read;
    use super::*;
    use crate::core::fixture::Home;

    #[test]
    fn columns_of_any_type_are_read_and_missing_ones_are_none() {
        let home = Home::new();
        let path = home.path().join("a.db");
        Connection::open(&path)
            .and_then(|connection| {
                connection.execute_batch(
                    "CREATE TABLE s (id, title, modified);
                     INSERT INTO s VALUES ('one', 'first', 1785578400);
                     INSERT INTO s VALUES ('two', ' ', 1785578400123);
                     INSERT INTO s VALUES (x'ff41', NULL, 'never');
                     INSERT INTO s VALUES ('real', 'third', 1785578400.5);
                     INSERT INTO s VALUES (7, 'no text as its id', 1);",
                )
            })
            .expect("a database");
        let found = sessions(Agent::Goose, &path, "SELECT * FROM s ORDER BY rowid");
        let told: Vec<_> = found
            .iter()
            .map(|log| (log.id.as_str(), log.title.as_deref(), log.modified))
            .collect();
        assert_eq!(
            told,
            [
                ("one", Some("first"), Some(1_785_578_400_000)),
                ("two", None, Some(1_785_578_400_123)),
                ("\u{fffd}A", None, None),
                ("real", Some("third"), Some(1_785_578_400_500)),
            ]
        );
        assert_eq!(sessions(Agent::Goose, &path, "SELECT * FROM other"), []);
        let error = connect(&home.path().join("b.db")).expect_err("there is none");
        assert!(error.to_string().contains("b.db"), "{error}");
    }

    /// What the formats read from databases: a table, and columns for every one of them.
    const TABLES: &str = "CREATE TABLE sessions (id TEXT, name TEXT, title TEXT, parent_session_id TEXT, updated_at INTEGER, working_dir TEXT, model_config_json TEXT);
        CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content_json BLOB, parts BLOB, created_at INTEGER, metadata_json BLOB);
        CREATE TABLE conversations_v2 (key TEXT, conversation_id TEXT, value BLOB, updated_at INTEGER);
        CREATE TABLE meta (key TEXT, value BLOB);
        CREATE TABLE blobs (id TEXT, data BLOB);
        INSERT INTO sessions (id) VALUES ('log');";

    proptest::proptest! {
        #![proptest_config(proptest::test_runner::Config::with_cases(16))]
        #[test]
        fn no_content_of_a_database_makes_a_reader_panic(
            bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..40),
            at in 0usize..200,
        ) {
            let home = Home::new();
            let content = r#"{"history":[{"user":{"content":{"ToolUseResults":{"tool_use_results":[{"content":[{"Text":"a"}]}]}}},"assistant":{"ToolUse":{"content":"b","tool_uses":[{"id":"c"}]}}}],"role":"assistant","content":[{"type":"tool-call","args":{}}]}"#;
            let mut object = content.as_bytes().to_vec();
            object.splice(at..at, bytes.iter().copied());
            let parts = r#"[{"type":"toolRequest","id":"a","toolCall":{"value":{"name":"b"}}},{"type":"toolResponse","toolResult":{"value":{"content":[]}}},{"type":"tool_call","data":{"input":"{}"}},{"type":"text","text":"c","data":{"text":"d"}}]"#;
            let mut array = parts.as_bytes().to_vec();
            array.splice(at..at, bytes);
            for (agent, name) in [
                (Agent::Goose, "a.db"),
                (Agent::Crush, "b.db"),
                (Agent::Kiro, "c.sqlite3"),
                (Agent::Cursor, "store.db"),
                (Agent::Opencode, "opencode.db"),
            ] {
                let path = home.path().join(name);
                let connection = Connection::open(&path).expect("a database");
                connection.execute_batch(TABLES).expect("tables");
                for role in ["user", "assistant", "tool"] {
                    let row = (role, &array, &array, &object);
                    let message = "INSERT INTO messages (session_id, role, content_json, parts, metadata_json) VALUES ('log', ?1, ?2, ?3, ?4)";
                    connection.execute(message, row).expect("a message");
                }
                let conversation = "INSERT INTO conversations_v2 VALUES ('/a', 'log', ?1, 1)";
                connection.execute(conversation, [&object]).expect("a conversation");
                connection.execute("INSERT INTO blobs VALUES ('1', ?1)", [&object]).expect("a blob");
                connection.execute("INSERT INTO meta VALUES ('0', ?1)", [&array]).expect("a value");
                drop(connection);
                // Whether it can be read depends on the tables; that it returns is what counts.
                drop(read(&log(agent, &path)));
            }
        }
    }
}
