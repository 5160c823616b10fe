//! Pruning: removes the oldest changes, by date or until the history is small enough, and the
//! versions that only they need.
//!
//! The remaining changes can be undone, redone and restored as before. The new versions are written,
//! then the journal is replaced in one step, then the versions. So after a crash at any point, or on
//! a full disk, either the old or the new journal exists, and every version that it refers to.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use super::health::size_of;
use super::journal::{Line, Summary, first_line};
use super::versions::StoredVersion;
use super::{ChangeVerb, History, Record};
use crate::core::disk::foreign::{LARGEST_WHOLE, read_capped};
use crate::core::disk::private;
use crate::core::disk::revision::Revision;
use crate::core::{Error, Result};

/// Which changes are removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PruneOptions {
    /// Changes made before this time, in milliseconds since 1970.
    pub before: Option<i64>,
    /// The oldest changes, until the history is no larger than this.
    pub most_bytes: Option<u64>,
}

/// Whether to do something, or only to report what would be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunMode {
    /// Do it.
    Real,
    /// Only report.
    Dry,
}

/// What pruning did, or would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pruned {
    /// The number of removed changes.
    pub changes: usize,
    /// The number of remaining changes.
    pub kept: usize,
    /// The number of removed versions.
    pub versions: usize,
    /// The size of the history before.
    pub bytes_before: u64,
    /// The size of the history after.
    pub bytes_after: u64,
}

impl History {
    /// Removes changes from the history, and the versions that no other change needs. A change
    /// stays if a remaining one undid or redid it; tombstones and the versions of unfinished
    /// changes stay too.
    pub fn prune(&self, options: &PruneOptions, run: RunMode) -> Result<Pruned> {
        if !self.dir.exists() {
            return Ok(Pruned::default());
        }
        let _all = self.lock_all()?;
        let _journal = self.lock_own("journal")?;
        let _versions = self.lock_own("versions")?;
        self.check_schema()?;
        let journal = Journal::read(self)?;
        let mut named = self.named_elsewhere()?;
        // A line that cannot be read now may be repaired by hand.
        named.extend(journal.broken.iter().flat_map(|line| revisions_in(line)));
        let inventory = Inventory {
            journal,
            versions: self.stored_versions()?,
            named,
        };
        let bytes_before = size_of(&self.dir);
        let old = size_of(&self.journal_path()) + size_of(&self.versions_path());
        // Locks and intents stay as they are. What a killed process left is removed soon, and must
        // not be made room for by removing changes.
        let other = bytes_before.saturating_sub(old + private::temporary_bytes(&self.dir));
        let plan = inventory.plan(options, other)?;
        let pruned = Pruned {
            changes: inventory.journal.records.len() - plan.kept.len(),
            kept: plan.kept.len(),
            versions: inventory.versions.len() - plan.versions.len(),
            bytes_before,
            bytes_after: plan.bytes + other,
        };
        if run == RunMode::Dry || (pruned.changes == 0 && plan.bytes == old) {
            return Ok(pruned);
        }
        let step = |what: &str| self.step(what).map_err(|e| Error::io(&self.dir, e));
        step("pruning")?;
        let journal = inventory.journal.with_only(&plan.kept)?;
        self.replace_versions(&plan.versions, || {
            private::write_whole(&self.dir, "journal.jsonl", &journal)?;
            step("journal replaced")
        })?;
        step("pruned")?;
        Ok(pruned)
    }

    /// The versions that unfinished changes and the review need: every hash in their files, which
    /// end in `.json`.
    fn named_elsewhere(&self) -> Result<HashSet<Revision>> {
        let mut named = HashSet::new();
        for entry in walkdir::WalkDir::new(&self.dir) {
            let entry = entry.map_err(|e| Error::io(&self.dir, e.into()))?;
            let path = entry.path();
            if path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            // A file that cannot be read may name any version, so nothing is pruned then.
            named.extend(revisions_in(&read_capped(path, LARGEST_WHOLE)?));
        }
        Ok(named)
    }
}

/// Returns the revisions that a text names.
fn revisions_in(text: &[u8]) -> impl Iterator<Item = Revision> {
    let words = text.split(|byte| !byte.is_ascii_hexdigit());
    let words = words.filter_map(|word| std::str::from_utf8(word).ok());
    words.filter_map(|word| word.parse().ok())
}

/// The journal, line by line.
struct Journal {
    /// The lines that cannot be read; they are kept.
    broken: Vec<Vec<u8>>,
    /// The changes with their lines.
    records: Vec<(Record, Vec<u8>)>,
    summary: Summary,
    path: PathBuf,
}

impl Journal {
    fn read(history: &History) -> Result<Self> {
        let mut journal = Self {
            broken: Vec::new(),
            records: Vec::new(),
            summary: Summary::default(),
            path: history.journal_path(),
        };
        let mut is_too_long = false;
        history.each_line(|line, bytes| match line {
            Line::TooLong => is_too_long = true,
            Line::Change(record) => journal.records.push((*record, bytes)),
            Line::Summary(summary) => {
                journal.summary.pruned += summary.pruned;
                journal.summary.tombstones.extend(summary.tombstones);
            }
            Line::Broken => journal.broken.push(bytes),
            Line::Schema | Line::Empty => {}
        })?;
        if is_too_long {
            return Err(Error::refused(
                journal.path.display().to_string(),
                "a line is too long to be read and would be lost; remove it to prune the rest",
            ));
        }
        Ok(journal)
    }

    /// The journal with only the changes in `kept`.
    fn with_only(&self, kept: &HashSet<usize>) -> Result<Vec<u8>> {
        let mut summary = self.summary.clone();
        let records = self.records.iter().enumerate();
        for (_, (record, _)) in records.filter(|(at, _)| !kept.contains(at)) {
            summary.pruned += 1;
            summary.tombstones.extend(record.deleted_memories());
        }
        let mut bytes = first_line();
        let mut add = |line: &[u8]| {
            bytes.extend(line);
            bytes.push(b'\n');
        };
        if summary.pruned > 0 {
            let line = serde_json::to_vec(&summary);
            add(&line.map_err(|e| Error::io(&self.path, e.into()))?);
        }
        self.broken.iter().for_each(|line| add(line));
        let lines = self.records.iter().enumerate();
        let lines = lines.filter(|(at, _)| kept.contains(at));
        lines.for_each(|(_, (_, line))| add(line));
        Ok(bytes)
    }

    /// The changes that stay if the first `limit` and those made before `time` are removed: the
    /// others, and each change that one of them undoes or redoes.
    fn kept(&self, limit: usize, time: Option<i64>) -> HashSet<usize> {
        let place: HashMap<&str, usize> = self
            .records
            .iter()
            .enumerate()
            .map(|(at, (record, _))| (record.id.as_str(), at))
            .collect();
        let stays = |(at, (record, _)): (usize, &(Record, Vec<u8>))| {
            let is_young = time.is_none_or(|time| record.time >= time);
            (at >= limit && is_young).then_some(at)
        };
        let mut open: Vec<usize> = self.records.iter().enumerate().filter_map(stays).collect();
        let mut kept = HashSet::new();
        while let Some(at) = open.pop() {
            let record = &self.records[at].0;
            if kept.insert(at) && matches!(record.verb, ChangeVerb::Undo | ChangeVerb::Redo) {
                let of = record.of.as_deref();
                open.extend(of.and_then(|of| place.get(of)));
            }
        }
        kept
    }
}

/// What stays, and its size.
struct Plan {
    /// The indexes of the changes.
    kept: HashSet<usize>,
    versions: Vec<StoredVersion>,
    /// The size of the journal and the versions in bytes.
    bytes: u64,
}

/// What there is before pruning.
struct Inventory {
    journal: Journal,
    versions: Vec<StoredVersion>,
    /// The versions that unfinished changes and the review need.
    named: HashSet<Revision>,
}

impl Inventory {
    /// Plans to keep as much as the options allow, beside `other` bytes that always stay.
    fn plan(&self, options: &PruneOptions, other: u64) -> Result<Plan> {
        let plan = self.plan_from(0, options.before)?;
        let most = options.most_bytes.map(|most| most.saturating_sub(other));
        let Some(most) = most.filter(|most| plan.bytes > *most) else {
            return Ok(plan);
        };
        // Search for the smallest number of oldest changes to remove.
        let (mut too_few, mut enough) = (0, self.journal.records.len());
        let mut best = self.plan_from(enough, options.before)?;
        while too_few + 1 < enough {
            let middle = usize::midpoint(too_few, enough);
            let plan = self.plan_from(middle, options.before)?;
            if plan.bytes <= most {
                (enough, best) = (middle, plan)
            } else {
                too_few = middle
            }
        }
        Ok(best)
    }

    /// Plans to remove the first `limit` changes and those made before `time`.
    fn plan_from(&self, limit: usize, time: Option<i64>) -> Result<Plan> {
        let kept = self.journal.kept(limit, time);
        let records = kept.iter().map(|at| &self.journal.records[*at].0);
        let mut needed = self.named.clone();
        needed.extend(records.flat_map(Record::revisions));
        let versions = self.versions.iter();
        let versions: Vec<StoredVersion> = versions
            .filter(|version| needed.contains(&version.revision()))
            .copied()
            .collect();
        let journal = self.journal.with_only(&kept)?.len() as u64;
        let stored: u64 = versions.iter().map(StoredVersion::length).sum();
        Ok(Plan {
            kept,
            versions,
            bytes: journal + stored,
        })
    }
}

#[cfg(test)]
mod tests;
