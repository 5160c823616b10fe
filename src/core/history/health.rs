//! What is kept, and what may be wrong with it: lines that nobody can read, versions that are
//! damaged or gone.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::History;
use super::journal::Line;
use super::versions::{Key, Packs, key};
use crate::core::memory::Revision;
use crate::core::{Error, Result};

/// What a look at a history found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Health {
    /// How many changes the journal has.
    pub changes: usize,
    /// When the oldest of them was made, in milliseconds since 1970.
    pub oldest: Option<i64>,
    /// How many versions they went from or to.
    pub versions: usize,
    /// How many bytes all of the history has.
    pub bytes: u64,
    /// How many lines of the journal cannot be read.
    pub broken_lines: usize,
    /// The versions that cannot be brought back.
    pub damaged: Vec<Damage>,
}

/// A version that cannot be brought back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The version.
    pub revision: Revision,
    /// The file that it is in, or where it should be.
    pub place: PathBuf,
    /// The memory that it is a version of.
    pub memory: PathBuf,
    /// The last change that went from or to it.
    pub change: String,
}

impl History {
    /// How many lines of the journal cannot be read: a dying machine or another program broke them.
    pub fn broken_lines(&self) -> Result<usize> {
        let mut broken = 0;
        self.each_line(|line, _| broken += usize::from(matches!(line, Line::Broken)))?;
        Ok(broken)
    }

    /// Looks at all that is kept. Versions are checked as they are stored, without unpacking them.
    pub fn health(&self) -> Result<Health> {
        let mut health = Health {
            bytes: size_of(&self.dir),
            ..Health::default()
        };
        let mut records = Vec::new();
        self.each_line(|line, _| match line {
            Line::Change(record) => records.push(*record),
            Line::Broken => health.broken_lines += 1,
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

    /// Where a version should be that is not sound in the packs; `None` where a blob has it.
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

/// Which entries of the packs are sound: their bytes are, and what they build on is.
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

    /// The entry by which a version can be read.
    pub(super) fn entry(&mut self, key: &Key) -> Option<usize> {
        let packs = self.packs;
        packs.entries_of(key).find(|at| self.is_sound(*at))
    }

    fn is_sound(&mut self, at: usize) -> bool {
        if let Some(known) = self.known.get(&at) {
            return *known;
        }
        // What builds on itself is not sound.
        self.known.insert(at, false);
        let base = self.packs.entry(at).header.base;
        let is_sound = base.is_none_or(|base| self.has(&base)) && self.packs.stored(at).is_some();
        self.known.insert(at, is_sound);
        is_sound
    }
}

/// How large the files below a directory are together.
pub(super) fn size_of(dir: &Path) -> u64 {
    let files = walkdir::WalkDir::new(dir).into_iter().flatten();
    let files = files.filter(|entry| entry.file_type().is_file());
    files
        .filter_map(|entry| Some(entry.metadata().ok()?.len()))
        .sum()
}
