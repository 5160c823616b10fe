//! Which files of the index are known to be whole.
//!
//! tantivy writes the checksum of each file at its end, but does not compare it when it reads. A file
//! is compared once, when it is new, and again if its size, its time or its place on the disk are no
//! longer those that were noted.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use tantivy::Index;

use super::index_folder;
use super::table::{encode, load, with_checksum};
use crate::core::disk::private;

/// The name of the file with what was noted.
const NAME: &str = "checked";

/// What tells that a file is the one that was compared.
type FileStamp = (u64, i64, u64);

/// Returns whether all files of an index are whole; compares the checksums of those of which it is
/// not known.
pub(super) fn are_whole(cache: &Path, index: &Index) -> tantivy::Result<bool> {
    let known: BTreeMap<PathBuf, FileStamp> = load(&cache.join(NAME)).unwrap_or_default();
    let mut checked: BTreeMap<PathBuf, FileStamp> = BTreeMap::new();
    let mut is_new = false;
    let segments = index.searchable_segment_ids()?;
    let segments: HashSet<String> = segments.iter().map(|id| id.uuid_string()).collect();
    for entry in fs::read_dir(index_folder(cache))?.flatten() {
        let file = PathBuf::from(entry.file_name());
        let stem = file.file_stem().and_then(|stem| stem.to_str());
        // Others are of older or newer commits.
        let is_used = stem.is_some_and(|stem| segments.contains(&stem[..stem.len().min(32)]));
        let Some(stamp) = stamp_of(&entry.path()).filter(|_| is_used) else {
            continue;
        };
        if known.get(&file) != Some(&stamp) {
            is_new = true;
            if !index.directory().validate_checksum(&file)? {
                return Ok(false);
            }
        }
        checked.insert(file, stamp);
    }
    if is_new {
        // What cannot be noted is compared again the next time.
        drop(save(cache, &checked));
    }
    Ok(true)
}

fn save(cache: &Path, checked: &BTreeMap<PathBuf, FileStamp>) -> std::io::Result<()> {
    let bytes = with_checksum(encode(checked)?);
    private::replace_unflushed(&cache.join(NAME), |file| file.write_all(&bytes))
}

/// Returns the size of a file, its time and its place on the disk.
fn stamp_of(path: &Path) -> Option<FileStamp> {
    let metadata = fs::metadata(path).ok()?;
    let (time, place) = {
        use std::os::unix::fs::MetadataExt as _;
        let nanoseconds = metadata.ctime().wrapping_mul(1_000_000_000);
        (
            nanoseconds.wrapping_add(metadata.ctime_nsec()),
            metadata.ino(),
        )
    };
    Some((metadata.len(), time, place))
}
