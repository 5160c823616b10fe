//! The journal: a line for each committed change.
//!
//! The first line gives the schema of the journal and of the versions. After pruning, one line
//! replaces the removed changes: their number and the memories that they deleted.

use std::collections::HashSet;
use std::io::{BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::position::FilePosition;
use super::{ChangeVerb, DeletedMemory, History, Record};
use crate::core::disk::foreign::{
    self, LARGEST_LOG, LARGEST_WHOLE, next_line, open_capped, open_regular,
};
use crate::core::disk::private;
use crate::core::disk::sandbox::missing_newline;
use crate::core::{Error, Result};

/// The schema of the lines written here.
pub(super) const SCHEMA: u32 = 1;

/// The first line of a journal.
#[derive(Debug, Serialize, Deserialize)]
struct Schema {
    schema: u32,
}

/// The line that replaces pruned changes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Summary {
    /// How many changes were pruned.
    pub(super) pruned: usize,
    /// What they deleted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) tombstones: Vec<DeletedMemory>,
}

/// A line of a journal.
#[derive(Debug)]
pub(super) enum Line {
    Schema,
    Change(Box<Record>),
    Summary(Summary),
    Empty,
    /// It cannot be parsed; a crash or another program broke it.
    Broken,
    /// It is longer than [`LARGEST_WHOLE`] and was not read.
    TooLong,
}

impl Line {
    fn read(bytes: &[u8]) -> Self {
        if bytes.len() as u64 > LARGEST_WHOLE {
            return Self::TooLong;
        }
        if bytes.trim_ascii().is_empty() {
            return Self::Empty;
        }
        if let Ok(record) = serde_json::from_slice(bytes) {
            return Self::Change(Box::new(record));
        }
        if let Ok(summary) = serde_json::from_slice(bytes) {
            return Self::Summary(summary);
        }
        match serde_json::from_slice::<Schema>(bytes) {
            Ok(_) => Self::Schema,
            Err(_) => Self::Broken,
        }
    }
}

impl History {
    /// Appends a change to the journal and flushes it.
    pub(in crate::core) fn record(&self, record: &Record) -> Result<()> {
        self.record_all(std::slice::from_ref(record))
    }

    /// Appends changes to the journal and flushes them together.
    pub(in crate::core) fn record_all(&self, records: &[Record]) -> Result<()> {
        let path = self.journal_path();
        let _lock = self.lock_own("journal")?;
        self.check_schema()?;
        let mut lines = Vec::new();
        for record in records {
            lines.extend(encode(record, &path)?);
            lines.push(b'\n');
        }
        let written = private::open_append(&path).and_then(|mut file| {
            let is_new = file.metadata()?.len() == 0;
            if is_new {
                lines.splice(..0, first_line());
            }
            // After a crash the last line may be cut off; the new lines must not continue it.
            let end = missing_newline(&mut file)?;
            file.write_all(end.as_bytes())?;
            file.write_all(&lines)?;
            file.sync_all()?;
            if is_new {
                private::flush_dir(&self.dir)
            } else {
                Ok(())
            }
        });
        written.map_err(|e| Error::io(&path, e))
    }

    /// Returns an error if the journal has the schema of a later version of tome.
    pub(super) fn check_schema(&self) -> Result<()> {
        /// An upper bound for the length of a schema line.
        const MOST: u64 = 4096;
        let path = self.journal_path();
        let mut start = Vec::new();
        let file = match open_regular(&path) {
            Ok(file) => file,
            Err(Error::NotFound { .. }) => return Ok(()),
            Err(e) => return Err(e),
        };
        let read = file.take(MOST).read_to_end(&mut start);
        read.map_err(|e| Error::io(&path, e))?;
        let line = start.split(|byte| *byte == b'\n').next();
        match serde_json::from_slice::<Schema>(line.unwrap_or_default()) {
            Ok(Schema { schema }) if schema > SCHEMA => Err(Error::refused(
                path.display().to_string(),
                format!(
                    "a later tome wrote this journal (schema {schema}); update tome to change memories here"
                ),
            )),
            _ => Ok(()),
        }
    }

    pub(in crate::core::change) fn journal_path(&self) -> PathBuf {
        self.dir.join("journal.jsonl")
    }

    /// Calls `show` with every line of the journal and its bytes; a line that is too long comes
    /// without bytes.
    pub(super) fn each_line(&self, mut show: impl FnMut(Line, Vec<u8>)) -> Result<()> {
        let path = self.journal_path();
        let mut reader = match open_capped(&path, LARGEST_LOG) {
            Ok(file) => BufReader::new(file),
            Err(Error::NotFound { .. }) => return Ok(()),
            Err(e) => return Err(e),
        };
        let mut line = Vec::new();
        loop {
            let read = next_line(&mut reader, &mut line, LARGEST_WHOLE as usize);
            match read.map_err(|e| Error::io(&path, e))? {
                foreign::Line::None => return Ok(()),
                foreign::Line::TooLong => show(Line::TooLong, Vec::new()),
                foreign::Line::Whole => {
                    let bytes = line.strip_suffix(b"\n").unwrap_or(&line);
                    show(Line::read(bytes), bytes.to_vec());
                }
            }
        }
    }

    /// Every change, oldest first; lines that cannot be read are skipped.
    pub fn records(&self) -> Result<Vec<Record>> {
        let mut records = Vec::new();
        self.each_line(|line, _| {
            if let Line::Change(record) = line {
                records.push(*record);
            }
        })?;
        Ok(records)
    }

    /// How many bytes the journal has after `position`; all of them if it was cut since.
    pub(in crate::core) fn bytes_since(&self, position: FilePosition) -> Result<u64> {
        let path = self.journal_path();
        let length = match open_regular(&path) {
            Ok(file) => file.metadata().map_err(|e| Error::io(&path, e))?.len(),
            Err(Error::NotFound { .. }) => 0,
            Err(e) => return Err(e),
        };
        Ok(length.checked_sub(position.offset).unwrap_or(length))
    }

    /// The changes after `position`, oldest first, and the position after them. If the journal was
    /// replaced since, as pruning does, all changes are returned.
    pub(in crate::core) fn records_since(
        &self,
        position: FilePosition,
    ) -> Result<(Vec<Record>, FilePosition)> {
        let path = self.journal_path();
        let mut file = match open_capped(&path, LARGEST_LOG) {
            Ok(file) => file,
            Err(Error::NotFound { .. }) => return Ok(Default::default()),
            Err(e) => return Err(e),
        };
        let read = position.is_in(&file).and_then(|is_in| {
            let start = if is_in { position.offset } else { 0 };
            let mut bytes = Vec::new();
            file.seek(SeekFrom::Start(start))?;
            file.read_to_end(&mut bytes)?;
            // A line without its end is still being written.
            let end = memchr::memrchr(b'\n', &bytes).map_or(0, |at| at + 1);
            bytes.truncate(end);
            let after = FilePosition::at(&file, start + end as u64)?;
            Ok((bytes, after))
        });
        let (bytes, after) = read.map_err(|e| Error::io(&path, e))?;
        let records = bytes.split(|byte| *byte == b'\n').map(Line::read);
        let records = records.filter_map(|line| match line {
            Line::Change(record) => Some(*record),
            _ => None,
        });
        Ok((records.collect(), after))
    }

    /// The deleted memories, oldest first, those of pruned changes included, but not those of undone
    /// ones.
    pub fn deleted_memories(&self) -> Result<Vec<DeletedMemory>> {
        let mut deleted: Vec<(String, DeletedMemory)> = Vec::new();
        let mut undone: HashSet<String> = HashSet::new();
        self.each_line(|line, _| match line {
            Line::Change(record) => {
                match (&record.of, record.verb) {
                    (Some(of), ChangeVerb::Undo) => drop(undone.insert(of.clone())),
                    (Some(of), ChangeVerb::Redo) => drop(undone.remove(of)),
                    _ => {}
                }
                let own = record.deleted_memories();
                deleted.extend(own.map(|gone| (record.id.clone(), gone)));
            }
            Line::Summary(summary) => {
                let own = summary.tombstones.into_iter();
                deleted.extend(own.map(|gone| (String::new(), gone)));
            }
            _ => {}
        })?;
        deleted.retain(|(id, _)| !undone.contains(id));
        Ok(deleted.into_iter().map(|(_, gone)| gone).collect())
    }

    /// The change with this id, or with the only id that starts or ends with it.
    pub fn find(&self, id: &str) -> Result<Record> {
        /// A shorter part of an id may soon be that of another change, too.
        const SHORTEST_ID: usize = 4;
        let wanted = id.to_ascii_uppercase();
        let mut found: Vec<Record> = self
            .records()?
            .into_iter()
            .filter(|r| r.id.starts_with(&wanted) || r.id.ends_with(&wanted))
            .collect();
        match found.len() {
            0 => Err(Error::not_found(format!("change {id}"))),
            1 if wanted.len() >= SHORTEST_ID => Ok(found.remove(0)),
            _ => Err(Error::refused(
                id,
                "more than one change could be meant; give more of its id",
            )),
        }
    }
}

/// The first line of a new journal.
pub(super) fn first_line() -> Vec<u8> {
    format!("{{\"schema\":{SCHEMA}}}\n").into_bytes()
}

pub(super) fn encode(record: &Record, path: &Path) -> Result<Vec<u8>> {
    serde_json::to_vec(record).map_err(|e| Error::io(path, e.into()))
}

#[cfg(test)]
pub(in crate::core::change) mod tests {
    use std::fs;

    use super::*;
    use crate::core::change::history::{Author, ChangeVerb, FileChange};
    use crate::core::memory::layout::Layout;

    pub(in crate::core::change) fn record(id: &str, verb: ChangeVerb, of: Option<&str>) -> Record {
        Record {
            id: id.to_owned(),
            time: 0,
            author: Author::test(),
            verb,
            message: String::new(),
            of: of.map(str::to_owned),
            files: vec![FileChange::new(Path::new("/r"), Layout::Index, "a.md")],
            origin: None,
            tombstones: Vec::new(),
        }
    }

    #[test]
    fn a_journal_that_cannot_be_opened_is_not_taken_for_an_empty_one() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let history = History::open(temp.path());
        assert_eq!(history.records().expect("none yet"), []);
        let path = history.journal_path();
        std::os::unix::fs::symlink(&path, &path).expect("a link to itself");
        let error = history.records().expect_err("no journal").to_string();
        assert!(error.contains("journal.jsonl"), "{error}");
    }

    #[test]
    fn a_broken_line_hides_itself_alone() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let history = History::open(temp.path());
        history
            .record(&record("AAA1", ChangeVerb::Write, None))
            .expect("records");
        let journal = temp.path().join("journal.jsonl");
        let mut bytes = fs::read(&journal).expect("reads");
        bytes.extend(b"{\"id\":\"torn");
        fs::write(&journal, bytes).expect("writes");
        history
            .record(&record("BBB1", ChangeVerb::Write, None))
            .expect("records");
        let ids: Vec<String> = history
            .records()
            .expect("reads")
            .into_iter()
            .map(|r| r.id)
            .collect();
        assert_eq!(ids, ["AAA1", "BBB1"]);
    }

    #[test]
    fn a_journal_of_a_later_schema_is_read_and_never_written() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let history = History::open(temp.path());
        let old = record("AAA1", ChangeVerb::Write, None);
        history.record(&old).expect("records");
        let journal = temp.path().join("journal.jsonl");
        let text = fs::read_to_string(&journal).expect("reads");
        assert!(text.starts_with("{\"schema\":1}\n"), "{text}");
        let later = text.replace("\"schema\":1", "\"schema\":2,\"more\":[]");
        fs::write(&journal, &later).expect("writes");
        assert_eq!(
            history.records().expect("reads"),
            std::slice::from_ref(&old)
        );
        for refused in [
            history.record(&old).map(drop),
            history.record_intent(&old),
            history.keep(b"x").map(drop),
        ] {
            let error = refused.expect_err("refused");
            assert!(error.to_string().contains("later tome"), "{error}");
        }
        assert_eq!(fs::read_to_string(&journal).expect("reads"), later);
        assert!(!history.versions_path().exists());
    }

    #[test]
    fn broken_lines_are_counted_and_pass_nothing_on() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let history = History::open(temp.path());
        history
            .record(&record("AAA1", ChangeVerb::Write, None))
            .expect("records");
        let journal = temp.path().join("journal.jsonl");
        let text = fs::read_to_string(&journal).expect("reads");
        fs::write(&journal, format!("{text}{{broken\n\n{{\"id\":3\n")).expect("writes");
        assert_eq!(history.broken_lines().expect("reads"), 2);
        let health = history.health().expect("looks");
        assert_eq!((health.changes, health.broken_lines), (1, 2));
        assert_eq!(health.oldest, Some(0));
    }

    #[test]
    fn a_journal_that_cannot_be_read_is_an_error() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let history = History::open(temp.path());
        assert!(history.records().expect("none yet").is_empty());
        fs::create_dir(temp.path().join("journal.jsonl")).expect("a folder");
        let error = history.records().expect_err("no file");
        assert!(error.to_string().contains("journal.jsonl"), "{error}");
    }

    #[test]
    fn a_record_is_read_back_as_it_was_written() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let history = History::open(temp.path());
        let mut made = record("AAA1", ChangeVerb::Write, None);
        for file in &mut made.files {
            (file.added, file.removed) = (3, 2);
            (file.mode, file.modified) = (Some(0o600), Some(5));
        }
        assert!(!made.files.is_empty());
        history.record(&made).expect("records");
        assert_eq!(history.records().expect("reads"), [made]);
    }

    #[test]
    fn a_change_is_found_by_part_of_its_id() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let history = History::open(temp.path());
        for id in ["01AAAA", "01BBBB"] {
            history
                .record(&record(id, ChangeVerb::Write, None))
                .expect("records");
        }
        assert_eq!(history.find("aaaa").expect("found").id, "01AAAA");
        assert!(matches!(history.find("01"), Err(Error::Refused { .. })));
        assert!(matches!(history.find("AAA"), Err(Error::Refused { .. })));
        assert!(matches!(history.find("zzzz"), Err(Error::NotFound { .. })));
    }
}
