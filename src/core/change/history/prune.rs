//! Pruning: removes changes that are too old or too many, and the versions that only they need.
//!
//! The remaining changes can be undone, redone and restored as before. The new pack is written
//! beside the old ones, then the journal is replaced in one step, then unused files are removed.
//! So after a crash at any point either the old or the new journal exists, and every version that
//! it refers to.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::health::{SoundEntries, size_of};
use super::journal::{Line, Summary, first_line};
use super::versions::{Header, Key, MAGIC, Packs, encode, key, pack_path, place_after};
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
    /// changes stay too. Versions in plain files are moved into a pack.
    pub fn prune(&self, what: &PruneOptions, run: RunMode) -> Result<Pruned> {
        if !self.dir.exists() {
            return Ok(Pruned::default());
        }
        let _all = self.lock_all()?;
        let _journal = self.lock_own("journal")?;
        let _versions = self.lock_own("versions")?;
        self.check_schema()?;
        let mut packs = self.packs();
        packs.refresh(&self.dir)?;
        packs.check_format()?;
        let journal = Journal::read(self)?;
        let mut keeper = RetentionPlan::new(self, &packs, &journal)?;
        let bytes_before = size_of(&self.dir);
        let old = keeper.old_bytes();
        // Locks and intents stay as they are.
        let other = bytes_before.saturating_sub(old);
        let plan = keeper.plan(what, other)?;
        let pruned = Pruned {
            changes: journal.records.len() - plan.kept.len(),
            kept: plan.kept.len(),
            versions: keeper.versions() - plan.pieces.len(),
            bytes_before,
            bytes_after: plan.bytes + other,
        };
        if run == RunMode::Dry || (pruned.changes == 0 && plan.bytes == old) {
            return Ok(pruned);
        }
        self.step("pruning").map_err(|e| Error::io(&self.dir, e))?;
        let pack = keeper.pack(&plan)?;
        if pack.len() > MAGIC.len() {
            let folder = self.folder("versions")?;
            let path = pack_path(&folder, packs.next_number());
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            private::write_whole(&folder, &name, &pack)?;
        }
        self.step("packed").map_err(|e| Error::io(&self.dir, e))?;
        private::write_whole(&self.dir, "journal.jsonl", &journal.without(&plan.kept)?)?;
        self.step("journal replaced")
            .map_err(|e| Error::io(&self.dir, e))?;
        remove(packs.paths())?;
        remove(keeper.spent.iter().map(PathBuf::as_path))?;
        remove_empty(&self.dir.join("blobs"));
        self.step("pruned").map_err(|e| Error::io(&self.dir, e))?;
        packs.forget();
        Ok(pruned)
    }

    /// The versions that unfinished changes need: every hash in a JSON file of the history.
    fn named_elsewhere(&self) -> Result<HashSet<Revision>> {
        let mut named = HashSet::new();
        for entry in walkdir::WalkDir::new(&self.dir) {
            let entry = entry.map_err(|e| Error::io(&self.dir, e.into()))?;
            let path = entry.path();
            if path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            // A file that cannot be read may name any version, so nothing is pruned then.
            let text = read_capped(path, LARGEST_WHOLE)?;
            let words = text.split(|byte| !byte.is_ascii_hexdigit());
            let words = words.filter_map(|word| std::str::from_utf8(word).ok());
            named.extend(words.filter_map(|word| word.parse::<Revision>().ok()));
        }
        Ok(named)
    }
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
    fn without(&self, kept: &HashSet<usize>) -> Result<Vec<u8>> {
        let mut summary = self.summary.clone();
        let gone = self.records.iter().enumerate();
        for (_, (record, _)) in gone.filter(|(at, _)| !kept.contains(at)) {
            summary.pruned += 1;
            summary.tombstones.extend(record.graves());
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

    /// The changes that remain after the first `limit` and those made before `time` are removed.
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

/// Where the bytes of a version come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// An entry of a pack, copied unchanged.
    Entry(usize),
    /// A plain file, encoded for the pack.
    Blob,
    /// Either, encoded without a base because its base is not kept.
    Whole,
}

/// What is kept, and its size.
struct Plan {
    kept: HashSet<usize>,
    pieces: Vec<(Revision, Source)>,
    /// The size of the journal and the pack in bytes.
    bytes: u64,
}

type Encoded = (Header, Vec<u8>);

/// Decides which versions are kept.
struct RetentionPlan<'a> {
    history: &'a History,
    packs: &'a Packs,
    journal: &'a Journal,
    sound: SoundEntries<'a>,
    /// The versions that unfinished changes need.
    named: HashSet<Revision>,
    /// Every version that is a sound plain file and in no pack, in the order of encoding.
    blobs: Vec<Revision>,
    encoded: HashMap<Key, Encoded>,
    /// Versions that were encoded without a base.
    whole: HashMap<Revision, Encoded>,
    /// Files that are not needed once the new pack exists.
    spent: Vec<PathBuf>,
}

impl<'a> RetentionPlan<'a> {
    fn new(history: &'a History, packs: &'a Packs, journal: &'a Journal) -> Result<Self> {
        let mut keeper = Self {
            history,
            packs,
            journal,
            sound: SoundEntries::new(packs),
            named: history.named_elsewhere()?,
            blobs: Vec::new(),
            encoded: HashMap::new(),
            whole: HashMap::new(),
            spent: Vec::new(),
        };
        keeper.encode_blobs()?;
        Ok(keeper)
    }

    /// Encodes the versions in plain files, each as a difference from the previous one.
    fn encode_blobs(&mut self) -> Result<()> {
        let mut there = blobs(&self.history.dir.join("blobs"));
        let journal = self.journal;
        let files = journal.records.iter().flat_map(|(record, _)| &record.files);
        let mut wanted: Vec<(Revision, Option<Revision>)> = Vec::new();
        let mut last: HashMap<(&Path, &str), Revision> = HashMap::new();
        for file in files {
            let place = (file.root.as_path(), file.path.as_str());
            for revision in [file.before, file.after].into_iter().flatten() {
                wanted.push((revision, last.insert(place, revision)));
            }
        }
        wanted.extend(self.named.iter().map(|named| (*named, None)));
        for (revision, base) in wanted {
            let Some(path) = there.remove(&revision) else {
                continue;
            };
            if self.sound.has(&key(&revision)) {
                self.spent.push(path);
                continue;
            }
            // A damaged file stays where it is, so that it can still be repaired.
            let Ok(Some(bytes)) = self.history.blob(&revision) else {
                continue;
            };
            let encoded = self.encode_after(&bytes, base)?;
            self.encoded.insert(key(&revision), encoded);
            self.blobs.push(revision);
            self.spent.push(path);
        }
        // No change refers to the remaining files.
        self.spent.extend(there.into_values());
        Ok(())
    }

    fn encode_after(&self, bytes: &[u8], base: Option<Revision>) -> Result<Encoded> {
        let header = |key: &Key| Some(self.encoded.get(key)?.0);
        let place = base.and_then(|base| place_after(&base, header));
        let base = place.and_then(|place| {
            let bytes = self.history.blob(&place.base).ok()??;
            Some((place, bytes))
        });
        let base = base.as_ref().map(|(place, base)| (*place, base.as_slice()));
        encode(bytes, base).map_err(|e| Error::io(self.history.pack_folder(), e))
    }

    /// The number of versions.
    fn versions(&self) -> usize {
        self.packs.revisions().count() + self.blobs.len()
    }

    /// The size of the files that the new pack and journal replace.
    fn old_bytes(&self) -> u64 {
        let spent = self.spent.iter().map(PathBuf::as_path);
        let own = [self.journal.path.as_path()];
        let files = self.packs.paths().chain(spent).chain(own);
        files
            .filter_map(|path| Some(fs::metadata(path).ok()?.len()))
            .sum()
    }

    /// Plans to keep as much as the options allow, beside `other` bytes that always stay.
    fn plan(&mut self, what: &PruneOptions, other: u64) -> Result<Plan> {
        let plan = self.plan_from(0, what.before)?;
        let most = what.most_bytes.map(|most| most.saturating_sub(other));
        let Some(most) = most.filter(|most| plan.bytes > *most) else {
            return Ok(plan);
        };
        // Search for the smallest number of oldest changes to remove.
        let (mut too_few, mut enough) = (0, self.journal.records.len());
        let mut best = self.plan_from(enough, what.before)?;
        while too_few + 1 < enough {
            let middle = usize::midpoint(too_few, enough);
            let plan = self.plan_from(middle, what.before)?;
            if plan.bytes <= most {
                (enough, best) = (middle, plan)
            } else {
                too_few = middle
            }
        }
        Ok(best)
    }

    fn plan_from(&mut self, limit: usize, time: Option<i64>) -> Result<Plan> {
        let journal = self.journal;
        let kept = journal.kept(limit, time);
        let mut needed = self.named.clone();
        needed.extend(
            kept.iter()
                .flat_map(|at| journal.records[*at].0.revisions()),
        );
        let keys: HashSet<Key> = needed.iter().map(key).collect();
        let mut plan = Plan {
            bytes: journal.without(&kept)?.len() as u64,
            pieces: Vec::new(),
            kept,
        };
        let in_packs: Vec<Revision> = self.packs.revisions().collect();
        for revision in in_packs.iter().filter(|revision| needed.contains(revision)) {
            let sound = self.sound.entry(&key(revision));
            // A damaged version is copied unchanged, so that it is still reported.
            let at = sound.or_else(|| self.packs.entries_of(&key(revision)).next());
            let Some(at) = at else { continue };
            let base = self.packs.entry(at).header.base;
            let has_base = base.is_none_or(|base| keys.contains(&base) && self.sound.has(&base));
            let source = if has_base || sound.is_none() {
                Source::Entry(at)
            } else {
                Source::Whole
            };
            plan.bytes += self.length(revision, source)?;
            plan.pieces.push((*revision, source));
        }
        let blobs = self.blobs.clone();
        for revision in blobs.iter().filter(|revision| needed.contains(revision)) {
            let base = self.encoded[&key(revision)].0.base;
            let source = if base.is_none_or(|base| keys.contains(&base)) {
                Source::Blob
            } else {
                Source::Whole
            };
            plan.bytes += self.length(revision, source)?;
            plan.pieces.push((*revision, source));
        }
        if !plan.pieces.is_empty() {
            plan.bytes += MAGIC.len() as u64;
        }
        Ok(plan)
    }

    fn length(&mut self, revision: &Revision, source: Source) -> Result<u64> {
        Ok(match source {
            Source::Entry(at) => self.packs.entry(at).header.length(),
            Source::Blob => self.encoded[&key(revision)].0.length(),
            Source::Whole => {
                if !self.whole.contains_key(revision) {
                    let whole = self.encode_whole(revision)?;
                    self.whole.insert(*revision, whole);
                }
                self.whole[revision].0.length()
            }
        })
    }

    fn encode_whole(&self, revision: &Revision) -> Result<Encoded> {
        let bytes = if self.encoded.contains_key(&key(revision)) {
            self.history.blob(revision)?
        } else {
            self.packs.bytes(revision)
        };
        let gone = || Error::not_found(format!("version {revision}"));
        let bytes = bytes.ok_or_else(gone)?;
        encode(&bytes, None).map_err(|e| Error::io(self.history.pack_folder(), e))
    }

    /// The content of the new pack.
    fn pack(&self, plan: &Plan) -> Result<Vec<u8>> {
        let mut pack = MAGIC.to_vec();
        for (revision, source) in &plan.pieces {
            match source {
                Source::Entry(at) => {
                    let copied = self.packs.copy(*at);
                    pack.extend(copied.map_err(|e| Error::io(self.packs.path_of(*at), e))?);
                }
                Source::Blob => extend(&mut pack, &self.encoded[&key(revision)]),
                Source::Whole => extend(&mut pack, &self.whole[revision]),
            }
        }
        Ok(pack)
    }
}

fn extend(pack: &mut Vec<u8>, (header, stored): &Encoded) {
    pack.extend(header.encode());
    pack.extend(stored);
}

/// The versions in plain files, with their paths.
fn blobs(folder: &Path) -> HashMap<Revision, PathBuf> {
    let files = walkdir::WalkDir::new(folder).min_depth(2).max_depth(2);
    let files = files.into_iter().flatten();
    files
        .filter_map(|file| {
            let name = file.file_name().to_str()?;
            let start = file.path().parent()?.file_name()?.to_str()?;
            let revision = format!("{start}{name}").parse().ok()?;
            Some((revision, file.into_path()))
        })
        .collect()
}

fn remove<'a>(paths: impl Iterator<Item = &'a Path>) -> Result<()> {
    for path in paths {
        fs::remove_file(path).map_err(|e| Error::io(path, e))?;
    }
    Ok(())
}

/// Removes a folder and its subfolders if they are empty.
fn remove_empty(folder: &Path) {
    let folders = walkdir::WalkDir::new(folder).contents_first(true);
    let folders = folders.into_iter().flatten();
    for folder in folders.filter(|entry| entry.file_type().is_dir()) {
        // Fails for a folder that is not empty.
        drop(fs::remove_dir(folder.path()));
    }
}

#[cfg(test)]
mod tests;
