//! The journal: a line for each change that was made, and what it says about undo and redo.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};

use super::lock::lock_file;
use super::{Direction, History, Record, Verb};
use crate::core::sandbox::missing_newline;
use crate::core::{Error, Result};

impl History {
    /// Adds a change to the journal, flushed.
    pub(in crate::core) fn record(&self, record: &Record) -> Result<()> {
        let path = self.journal_path();
        let lock = lock_file(&self.folder("locks")?.join("journal"))?;
        lock.lock().map_err(|e| Error::io(&path, e))?;
        let mut line = encoded(record, &path)?;
        line.push(b'\n');
        let written = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(&path)
            .and_then(|mut file| {
                // A line that a dying machine broke off must not swallow this one.
                let end = missing_newline(&mut file)?;
                file.write_all(end.as_bytes())?;
                file.write_all(&line)?;
                file.sync_all()
            });
        written.map_err(|e| Error::io(&path, e))
    }

    pub(super) fn journal_path(&self) -> PathBuf {
        self.dir.join("journal.jsonl")
    }

    /// Every change, oldest first; lines that cannot be read are passed over.
    pub fn records(&self) -> Result<Vec<Record>> {
        let path = self.journal_path();
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(Error::io(&path, e)),
        };
        let mut records = Vec::new();
        for line in BufReader::new(file).split(b'\n') {
            let line = line.map_err(|e| Error::io(&path, e))?;
            records.extend(serde_json::from_slice::<Record>(&line).ok());
        }
        Ok(records)
    }

    /// The change with this id, or with the only id that starts or ends with it.
    pub fn find(&self, id: &str) -> Result<Record> {
        let wanted = id.to_ascii_uppercase();
        let mut found: Vec<Record> = self
            .records()?
            .into_iter()
            .filter(|r| r.id.starts_with(&wanted) || r.id.ends_with(&wanted))
            .collect();
        match (found.pop(), found.is_empty()) {
            (Some(record), true) if wanted.len() >= 4 => Ok(record),
            (Some(_), _) => Err(Error::refused(
                id,
                "more than one change could be meant; give more of its id",
            )),
            (None, _) => Err(Error::not_found(format!("change {id}"))),
        }
    }

    /// What taking `record` back means: of an undo, making its change again.
    pub fn reversal(&self, record: Record) -> Result<(Record, Direction)> {
        let (mut record, mut way) = (record, Direction::Back);
        while let (Verb::Undo | Verb::Redo, Some(of)) = (record.verb, record.of.clone()) {
            if record.verb == Verb::Undo {
                way = way.opposite();
            }
            record = self.find(&of)?;
        }
        Ok((record, way))
    }

    /// The last change of `roots` that was not taken back.
    pub fn undoable(&self, roots: &[&Path]) -> Result<Option<Record>> {
        Ok(self.stacks(roots)?.0.pop())
    }

    /// The last change of `roots` that was taken back, unless others were made since.
    pub fn redoable(&self, roots: &[&Path]) -> Result<Option<Record>> {
        Ok(self.stacks(roots)?.1.pop())
    }

    /// The changes of `roots` that stand, and those that were taken back.
    fn stacks(&self, roots: &[&Path]) -> Result<(Vec<Record>, Vec<Record>)> {
        let (mut done, mut undone): (Vec<Record>, Vec<Record>) = (Vec::new(), Vec::new());
        let take = |list: &mut Vec<Record>, id: Option<&str>| {
            let at = list
                .iter()
                .position(|record| Some(record.id.as_str()) == id)?;
            Some(list.remove(at))
        };
        let all = self.records()?;
        for record in all.iter().filter(|record| record.touches(roots)) {
            let of = record.of.as_deref();
            match record.verb {
                Verb::Undo => undone.extend(take(&mut done, of)),
                Verb::Redo => {
                    // It may have been taken back before other changes were made.
                    drop(take(&mut undone, of));
                    let original = all.iter().find(|record| Some(record.id.as_str()) == of);
                    if done.iter().all(|record| Some(record.id.as_str()) != of) {
                        done.extend(original.cloned());
                    }
                }
                _ => {
                    undone.clear();
                    done.push(record.clone());
                }
            }
        }
        Ok((done, undone))
    }
}

pub(super) fn encoded(record: &Record, path: &Path) -> Result<Vec<u8>> {
    serde_json::to_vec(record).map_err(|e| Error::io(path, e.into()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::core::history::{Author, Touch};
    use crate::core::layout::Layout;

    fn record(id: &str, verb: Verb, of: Option<&str>) -> Record {
        Record {
            id: id.to_owned(),
            time: 0,
            author: Author {
                who: "you".to_owned(),
                door: "test".to_owned(),
            },
            verb,
            message: String::new(),
            of: of.map(str::to_owned),
            files: vec![Touch {
                root: PathBuf::from("/r"),
                layout: Layout::Index,
                path: "a.md".to_owned(),
                before: None,
                after: None,
                derived: false,
                folders: Vec::new(),
                emptied: Vec::new(),
                modified: None,
                mode: None,
                added: 0,
                removed: 0,
            }],
            tombstones: Vec::new(),
        }
    }

    #[test]
    fn undo_and_redo_walk_the_stack() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let history = History::open(temp.path());
        let roots = [Path::new("/r")];
        let top = |history: &History| {
            let id = |r: Option<Record>| r.map(|r| r.id).unwrap_or_default();
            (
                id(history.undoable(&roots).expect("reads")),
                id(history.redoable(&roots).expect("reads")),
            )
        };
        let steps: &[(&str, Verb, Option<&str>, &str, &str)] = &[
            ("AAA1", Verb::Write, None, "AAA1", ""),
            ("BBB1", Verb::Patch, None, "BBB1", ""),
            ("CCC1", Verb::Undo, Some("BBB1"), "AAA1", "BBB1"),
            ("DDD1", Verb::Undo, Some("AAA1"), "", "AAA1"),
            ("EEE1", Verb::Redo, Some("AAA1"), "AAA1", "BBB1"),
            ("FFF1", Verb::Write, None, "FFF1", ""),
        ];
        for (id, verb, of, undo, redo) in steps {
            history.record(&record(id, *verb, *of)).expect("records");
            assert_eq!(
                top(&history),
                ((*undo).to_owned(), (*redo).to_owned()),
                "{id}"
            );
        }
        assert_eq!(
            history.undoable(&[Path::new("/other")]).expect("reads"),
            None
        );
    }

    #[test]
    fn a_broken_line_hides_itself_alone() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let history = History::open(temp.path());
        history
            .record(&record("AAA1", Verb::Write, None))
            .expect("records");
        let journal = temp.path().join("journal.jsonl");
        let mut bytes = fs::read(&journal).expect("reads");
        bytes.extend(b"{\"id\":\"torn");
        fs::write(&journal, bytes).expect("writes");
        history
            .record(&record("BBB1", Verb::Write, None))
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
    fn a_change_is_found_by_part_of_its_id() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let history = History::open(temp.path());
        for id in ["01AAAA", "01BBBB"] {
            history
                .record(&record(id, Verb::Write, None))
                .expect("records");
        }
        assert_eq!(history.find("aaaa").expect("found").id, "01AAAA");
        assert!(matches!(history.find("01"), Err(Error::Refused { .. })));
        assert!(matches!(history.find("zzzz"), Err(Error::NotFound { .. })));
    }
}
