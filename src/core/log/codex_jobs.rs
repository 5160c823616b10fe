//! What Codex has not yet made of sessions for its memory, from its database.

use std::path::{Path, PathBuf};

use super::database;
use crate::core::Result;

/// A job of Codex's memory that is not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryJob {
    /// What it does: reads one session, or gathers all.
    pub kind: String,
    /// The session, or `global`.
    pub key: String,
    /// `pending`, `running` or `error`.
    pub status: String,
    /// Why it failed the last time.
    pub error: Option<String>,
    /// Whether Codex has given it up: it has no more tries.
    pub is_given_up: bool,
}

/// The databases of Codex's memory in its directory, the newer form first.
const DATABASES: [&str; 2] = ["memories_v2_1.sqlite", "memories_1.sqlite"];

/// The database of Codex's memory, if there is one.
pub fn memory_database(codex: &Path) -> Option<PathBuf> {
    let mut paths = DATABASES.iter().map(|name| codex.join(name));
    paths.find(|path| path.exists())
}

/// Returns the jobs in a database of Codex's memory that are not done.
pub fn memory_jobs(path: &Path) -> Result<Vec<MemoryJob>> {
    let connection = database::connect(path)?;
    let query = "SELECT * FROM jobs WHERE status <> 'done' ORDER BY kind, job_key";
    let mut jobs = Vec::new();
    database::rows(path, &connection, query, "", &mut |row| {
        let text = |column: &str| database::text(row, column);
        jobs.push(MemoryJob {
            kind: text("kind").unwrap_or_default(),
            key: text("job_key").unwrap_or_default(),
            status: text("status").unwrap_or_default(),
            error: text("last_error").filter(|error| !error.is_empty()),
            is_given_up: database::value::<i64>(row, "retry_remaining") == Some(0),
        });
    })?;
    Ok(jobs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_of_the_memory_that_are_not_done_are_known() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        assert_eq!(memory_database(temp.path()), None);
        let path = temp.path().join(DATABASES[1]);
        let connection = rusqlite::Connection::open(&path).expect("a database");
        connection
            .execute_batch(
                "CREATE TABLE jobs (kind TEXT, job_key TEXT, status TEXT, last_error TEXT,
                     retry_remaining INTEGER);
                 INSERT INTO jobs VALUES ('memory_stage1', 'a', 'done', NULL, 3);
                 INSERT INTO jobs VALUES ('memory_stage1', 'b', 'error', 'no model', 0);
                 INSERT INTO jobs VALUES ('memory_consolidate_global', 'global', 'pending', '', 3);",
            )
            .expect("rows");
        assert_eq!(memory_database(temp.path()).as_ref(), Some(&path));
        let jobs = memory_jobs(&path).expect("readable");
        let given_up: Vec<bool> = jobs.iter().map(|job| job.is_given_up).collect();
        assert_eq!(given_up, [false, true]);
        let told: Vec<(&str, &str, Option<&str>)> = jobs
            .iter()
            .map(|job| (job.key.as_str(), job.status.as_str(), job.error.as_deref()))
            .collect();
        assert_eq!(
            told,
            [
                ("global", "pending", None),
                ("b", "error", Some("no model"))
            ]
        );
        std::fs::write(&path, "no database").expect("writes");
        assert!(memory_jobs(&path).is_err());
    }
}
