//! The health of the history: unreadable lines, and versions that are damaged or missing.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::History;
use super::journal::Line;
use super::versions::{Key, Packs, key};
use crate::core::disk::revision::Revision;
use crate::core::{Error, Result};

/// The result of checking a history.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Health {
    /// The number of changes in the journal.
    pub changes: usize,
    /// When the oldest change was made, in milliseconds since 1970.
    pub oldest: Option<i64>,
    /// The number of versions that the changes refer to.
    pub versions: usize,
    /// The size of the whole history in bytes.
    pub bytes: u64,
    /// The number of lines in the journal that cannot be read.
    pub broken_lines: usize,
    /// The versions that cannot be restored.
    pub damaged: Vec<Damage>,
}

/// A version that cannot be restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The version.
    pub revision: Revision,
    /// The file that contains it, or the folder where it should be.
    pub place: PathBuf,
    /// The memory that it is a version of.
    pub memory: PathBuf,
    /// The id of the last change that refers to it.
    pub change: String,
}

impl History {
    /// The number of lines in the journal that cannot be read, broken by a crash or another
    /// program.
    pub fn broken_lines(&self) -> Result<usize> {
        let mut broken = 0;
        self.each_line(|line, _| {
            broken += usize::from(matches!(line, Line::Broken | Line::TooLong))
        })?;
        Ok(broken)
    }

    /// Checks the whole history. Versions are checked as stored, without decompressing them.
    pub fn health(&self) -> Result<Health> {
        let mut health = Health {
            bytes: size_of(&self.dir),
            ..Health::default()
        };
        let mut records = Vec::new();
        self.each_line(|line, _| match line {
            Line::Change(record) => records.push(*record),
            Line::Broken | Line::TooLong => health.broken_lines += 1,
            _ => {}
        })?;
        health.changes = records.len();
        health.oldest = records.iter().map(|record| record.time).min();
        let mut packs = self.packs();
        packs.refresh(&self.dir)?;
        let mut sound = SoundEntries::new(&packs);
        let mut seen = HashSet::new();
        records.extend(self.intents().into_iter().map(|intent| intent.record));
        for record in records.iter().rev() {
            for file in &record.files {
                for revision in [file.before, file.after].into_iter().flatten() {
                    if !seen.insert(revision) || sound.has(&key(&revision)) {
                        continue;
                    }
                    if let Some(place) = self.trouble(&packs, &revision) {
                        health.damaged.push(Damage {
                            revision,
                            place,
                            memory: file.root.join(&file.path),
                            change: record.id.clone(),
                        });
                    }
                }
            }
        }
        health.versions = seen.len();
        Ok(health)
    }

    /// Where an unreadable version should be; `None` if it is stored as a plain file.
    fn trouble(&self, packs: &Packs, revision: &Revision) -> Option<PathBuf> {
        let in_pack = packs.entries_of(&key(revision)).next();
        let in_pack = in_pack.map(|at| packs.path_of(at).to_owned());
        match self.blob(revision) {
            Ok(Some(_)) => None,
            Ok(None) => Some(in_pack.unwrap_or_else(|| self.pack_folder())),
            Err(Error::Damaged { path, .. } | Error::Io { path, .. }) => Some(path),
            Err(_) => Some(self.blob_path(revision)),
        }
    }
}

/// Which entries of the packs are sound: their checksum matches, and their base is sound.
pub(super) struct SoundEntries<'a> {
    packs: &'a Packs,
    known: HashMap<usize, bool>,
}

impl<'a> SoundEntries<'a> {
    pub(super) fn new(packs: &'a Packs) -> Self {
        Self {
            packs,
            known: HashMap::new(),
        }
    }

    /// Whether a version can be read.
    pub(super) fn has(&mut self, key: &Key) -> bool {
        self.entry(key).is_some()
    }

    /// A sound entry of a version.
    pub(super) fn entry(&mut self, key: &Key) -> Option<usize> {
        let packs = self.packs;
        packs.entries_of(key).find(|at| self.is_sound(*at))
    }

    fn is_sound(&mut self, at: usize) -> bool {
        if let Some(known) = self.known.get(&at) {
            return *known;
        }
        // An entry that depends on itself is not sound.
        self.known.insert(at, false);
        let base = self.packs.entry(at).header.base;
        let is_sound = base.is_none_or(|base| self.has(&base)) && self.packs.stored(at).is_some();
        self.known.insert(at, is_sound);
        is_sound
    }
}

/// The total size of the files below a directory.
pub(super) fn size_of(dir: &Path) -> u64 {
    let files = walkdir::WalkDir::new(dir).into_iter().flatten();
    let files = files.filter(|entry| entry.file_type().is_file());
    files
        .filter_map(|entry| Some(entry.metadata().ok()?.len()))
        .sum()
}
