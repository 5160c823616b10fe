//! Reads the output of `git log -z --name-status` into a history.

use std::collections::{HashMap, HashSet};

use super::bounds::Budget;
use super::{Commit, GonePath, ProjectHistory, folders_of};
use crate::core::text::file_name;

/// The start of a commit in the output of the log.
const MARK: char = '\u{1}';

/// The most paths with the same name that are kept, the newest: a search for a name looks at all of
/// them.
pub(super) const MOST_OF_A_NAME: usize = 1000;

/// Reads a log, newest commit first.
pub(super) struct LogReader<'a> {
    /// The tracked files.
    tracked: HashSet<&'a str>,
    /// The folders that are there, and those that are known to be gone.
    folders: HashSet<&'a str>,
    /// The gone paths that are known.
    seen: HashSet<&'a str>,
    /// The name now of each path that was renamed later.
    renamed: HashMap<&'a str, &'a str>,
    budget: Budget,
}

impl<'a> LogReader<'a> {
    /// A reader for a project with these tracked files and their folders.
    pub(super) fn new(
        tracked: HashSet<&'a str>,
        folders: HashSet<&'a str>,
        budget: Budget,
    ) -> Self {
        Self {
            tracked,
            folders,
            seen: HashSet::new(),
            renamed: HashMap::new(),
            budget,
        }
    }

    /// Adds a log to a history; `None` if it does not fit into the budget or ends within a commit.
    pub(super) fn read(&mut self, log: &'a str, history: &mut ProjectHistory) -> Option<()> {
        for part in log.split(MARK).skip(1) {
            let mut fields = part.split('\0');
            let mut next = || fields.next().unwrap_or_default().trim_start_matches('\n');
            let (hash, date, subject) = (next(), next(), next());
            self.hold(hash.len() + date.len())?;
            self.hold(subject.len())?;
            let number = history.commits.len();
            history.commits.push(Commit {
                hash: hash.to_owned(),
                date: date.to_owned(),
                subject: subject.to_owned(),
            });
            loop {
                let status = next();
                match status.as_bytes().first() {
                    None => break,
                    Some(b'R') => {
                        let (from, to) = (next(), Some(next()).filter(|to| !to.is_empty())?);
                        self.add_changed(history, to, number)?;
                        let now = self.renamed.get(to).copied().unwrap_or(to);
                        self.add_gone(history, from, Some(now), number)?;
                        if !self.renamed.contains_key(from) {
                            self.hold(0)?;
                            self.renamed.insert(from, now);
                        }
                    }
                    Some(b'C') => {
                        next();
                        self.add_changed(history, next(), number)?;
                    }
                    Some(b'D') => self.add_gone(history, next(), None, number)?,
                    Some(_) => self.add_changed(history, next(), number)?,
                }
            }
        }
        Some(())
    }

    fn hold(&mut self, length: usize) -> Option<()> {
        self.budget.hold(length).then_some(())
    }

    /// Adds a change of a tracked file; only the first one, which is the newest, is kept.
    fn add_changed(
        &mut self,
        history: &mut ProjectHistory,
        path: &str,
        commit: usize,
    ) -> Option<()> {
        if self.tracked.contains(path) && !history.changed.contains_key(path) {
            self.hold(path.len())?;
            history.changed.insert(path.to_owned(), commit);
        }
        Some(())
    }

    /// Adds a path that was removed or renamed, and its name now; only the first change, which is the
    /// newest, is kept.
    fn add_gone(
        &mut self,
        history: &mut ProjectHistory,
        path: &'a str,
        now: Option<&str>,
        commit: usize,
    ) -> Option<()> {
        if path.is_empty() || self.tracked.contains(path) || self.seen.contains(path) {
            return Some(());
        }
        self.hold(0)?;
        self.seen.insert(path);
        for folder in folders_of(path) {
            // The folders above one that is there or known are there or known.
            if !self.folders.insert(folder) {
                break;
            }
            self.hold(0)?;
            self.add(&mut history.gone_folders, folder, None, commit)?;
        }
        let now = now.filter(|now| self.tracked.contains(now));
        self.add(&mut history.gone, path, now, commit)
    }

    fn add(
        &mut self,
        all: &mut HashMap<String, Vec<GonePath>>,
        path: &str,
        now: Option<&str>,
        commit: usize,
    ) -> Option<()> {
        let name = file_name(path);
        let known = all.get(name).map_or(0, Vec::len);
        if known == MOST_OF_A_NAME {
            return Some(());
        }
        if known == 0 {
            // The list of a name begins with room for four paths.
            self.hold(name.len() + 4 * size_of::<GonePath>())?;
        }
        self.hold(path.len() + now.map_or(0, str::len))?;
        all.entry(name.to_owned()).or_default().push(GonePath {
            path: path.to_owned(),
            commit,
            now: now.map(str::to_owned),
        });
        Some(())
    }
}
