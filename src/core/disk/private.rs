//! Files and folders that only their owner can read.
//!
//! Everything in tome's own data and cache directories is created with these functions, because
//! it contains private conversations. Existing files with a wider mode are restricted when they
//! are written. Memory files are not created here: they keep the modes that their owner gave
//! them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::core::disk::foreign::{open_regular, without_waiting};
use crate::core::{Error, Result};

/// Creates a folder and its missing parents, for their owner only.
pub fn create_dir(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)?;
    if let Ok(found) = fs::metadata(path) {
        tighten(&found, |mode| fs::set_permissions(path, mode));
    }
    Ok(())
}

/// Creates a folder with a unique name below `dir`, for its owner only.
pub fn create_unique_dir(dir: &Path, prefix: &str) -> io::Result<PathBuf> {
    create_dir(dir)?;
    loop {
        let path = dir.join(format!("{prefix}{}", unique()));
        let mut builder = fs::DirBuilder::new();
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        match builder.create(&path) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made.map(|()| path),
        }
    }
}

/// Makes an existing file accessible to its owner only.
pub fn restrict(path: &Path) -> io::Result<()> {
    let found = fs::metadata(path)?;
    tighten(&found, |mode| fs::set_permissions(path, mode));
    Ok(())
}

/// Opens a file for reading and appending; creates it if it is missing.
pub fn open_append(path: &Path) -> io::Result<File> {
    open(path, options().read(true).append(true).create(true))
}

/// Opens a file for reading and writing without truncating it; creates it if it is missing.
pub fn open_write(path: &Path) -> io::Result<File> {
    let mut options = options();
    open(
        path,
        options.read(true).write(true).create(true).truncate(false),
    )
}

/// Creates an empty file, or truncates an existing one.
pub fn create_file(path: &Path) -> io::Result<File> {
    let mut options = options();
    open(path, options.write(true).create(true).truncate(true))
}

/// Creates a file that must not exist yet.
pub fn create_new(path: &Path) -> io::Result<File> {
    options().read(true).write(true).create_new(true).open(path)
}

/// Writes and flushes a file atomically.
pub fn write_whole(dir: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    let path = dir.join(name);
    replace(&path, |file| file.write_all(bytes)).map_err(|e| Error::io(&path, e))
}

/// Replaces `path` atomically by the content that `fill` writes, flushed.
pub fn replace(path: &Path, fill: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    replace_by(path, create_new, |file| {
        fill(file)?;
        file.sync_all()
    })?;
    flush_dir(path.parent().unwrap_or(Path::new(".")))
}

/// As [`replace`], but not flushed: for what can be made again.
pub fn replace_unflushed(
    path: &Path,
    fill: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    replace_by(path, create_new, fill)
}

/// As [`replace`], for a file that is not tome's own: a new file has the mode that the user's new
/// files have, and `fill` sets the mode of one that exists.
pub fn replace_foreign(
    path: &Path,
    fill: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    let create = if path.exists() {
        create_new
    } else {
        |path: &Path| File::create_new(path)
    };
    replace_by(path, create, |file| {
        fill(file)?;
        file.sync_all()
    })
}

fn replace_by(
    path: &Path,
    create: fn(&Path) -> io::Result<File>,
    fill: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    let (temp, mut file) = temporary(path, create)?;
    let dir = path.parent().unwrap_or(Path::new("."));
    if begins_sweep(dir)
        && let Ok(meta) = file.metadata()
        && let Ok(now) = meta.modified()
    {
        sweep(dir, now);
    }
    let written = fill(&mut file).and_then(|()| fs::rename(&temp, path));
    if written.is_err() {
        // Removes the incomplete file; `written` has the error that matters.
        drop(fs::remove_file(&temp));
    }
    written
}

/// The number of characters of a checksum.
const CHECKSUM: usize = 16;

/// Returns a value as a line of a cache: JSON behind a checksum. Nobody notices a wrong letter of a
/// text otherwise.
pub fn to_cache_line(value: &impl Serialize) -> Option<String> {
    let json = serde_json::to_string(value).ok()?;
    Some(format!("{} {json}", checksum(&json)))
}

/// Returns the value in a line of a cache, if the line is as it was written.
pub fn of_cache_line<T: DeserializeOwned>(line: &str) -> Option<T> {
    let (found, json) = line.split_once(' ')?;
    if found != checksum(json) {
        return None;
    }
    serde_json::from_str(json).ok()
}

fn checksum(line: &str) -> String {
    blake3::hash(line.as_bytes()).to_hex()[..CHECKSUM].to_owned()
}

/// Replaces a file of a cache. What cannot be written is made again the next time.
pub fn replace_cache(path: &Path, text: &str) {
    drop(replace_unflushed(path, |file| {
        file.write_all(text.as_bytes())
    }));
}

/// Flushes the entries of a folder to disk.
pub fn flush_dir(dir: &Path) -> io::Result<()> {
    open_dir(dir)?.sync_all()
}

/// Opens a folder, to flush or to lock it.
pub fn open_dir(dir: &Path) -> io::Result<File> {
    File::open(dir)
}

/// The ending of temporary files.
const TEMPORARY: &str = ".tome.tmp";

/// The age from which a temporary file that nobody has locked was left by a killed process. A file
/// is locked right after it is created.
const STALE: Duration = Duration::from_secs(60);

/// Returns the size of the temporary files in a folder.
pub fn temporary_bytes(dir: &Path) -> u64 {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let temporary = entries.filter(|entry| {
        entry
            .file_name()
            .as_encoded_bytes()
            .ends_with(TEMPORARY.as_bytes())
    });
    let sizes = temporary.filter_map(|entry| Some(entry.metadata().ok()?.len()));
    sizes.sum()
}

/// A number that is unique on this machine, or nearly so: callers try another if it is taken.
fn unique() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{}-{count}", std::process::id())
}

/// Creates a new file beside `path`, with a unique name, and locks it.
fn temporary(path: &Path, create: fn(&Path) -> io::Result<File>) -> io::Result<(PathBuf, File)> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    loop {
        let temp = path.with_file_name(format!("{name}.{}{TEMPORARY}", unique()));
        match create(&temp) {
            // A process that died had the same id.
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            made => {
                let file = made?;
                // Without locks, the file's age alone protects it.
                drop(file.try_lock());
                return Ok((temp, file));
            }
        }
    }
}

/// Removes the temporary files in a folder that killed processes left. Failures are ignored: the
/// next write to the folder tries again.
pub fn sweep(dir: &Path, now: SystemTime) {
    for path in leftovers(dir, now) {
        drop(fs::remove_file(path));
    }
}

/// Whether a folder is to be swept now, which is noted. If each of many writes swept it, each would list
/// the whole folder, and find nothing that has become stale meanwhile.
fn begins_sweep(dir: &Path) -> bool {
    static SWEPT: Mutex<Option<(PathBuf, Instant)>> = Mutex::new(None);
    let mut swept = SWEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let last = swept.as_ref().filter(|(last, _)| last == dir);
    let is_due = last.is_none_or(|(_, at)| at.elapsed() > STALE);
    if is_due {
        *swept = Some((dir.to_owned(), Instant::now()));
    }
    is_due
}

/// Returns the temporary files in a folder that killed processes left.
pub fn leftovers(dir: &Path, now: SystemTime) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let left = entries.filter(|entry| {
        let is_stale =
            |meta: fs::Metadata| io::Result::Ok(meta.is_file() && is_stale(meta.modified()?, now));
        is_temporary(&entry.file_name().to_string_lossy())
            && entry.metadata().and_then(is_stale).unwrap_or(false)
            && open_regular(&entry.path()).is_ok_and(|file| file.try_lock().is_ok())
    });
    left.map(|entry| entry.path()).collect()
}

/// Whether what was made then, and nobody has locked, was left by a killed process.
pub fn is_stale(made: SystemTime, now: SystemTime) -> bool {
    now.duration_since(made).is_ok_and(|age| age > STALE)
}

/// Whether a name is one that [`temporary`] gives.
fn is_temporary(name: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let numbers = name
        .strip_suffix(TEMPORARY)
        .and_then(|name| name.rsplit_once('.'))
        .and_then(|(_, numbers)| numbers.split_once('-'));
    numbers.is_some_and(|(pid, count)| is_number(pid) && is_number(count))
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    without_waiting(&mut options);
    options
}

/// Opens a regular file, or creates one.
fn open(path: &Path, options: &OpenOptions) -> io::Result<File> {
    // As in `foreign`: a device is not opened at all, and a file may be replaced in between.
    if let Ok(found) = fs::metadata(path) {
        check_regular(&found)?;
    }
    let file = options.open(path)?;
    let found = file.metadata()?;
    check_regular(&found)?;
    tighten(&found, |mode| file.set_permissions(mode));
    Ok(file)
}

fn check_regular(found: &fs::Metadata) -> io::Result<()> {
    match found {
        found if found.is_file() => Ok(()),
        found if found.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        _ => Err(io::Error::other("not a regular file; move it away")),
    }
}

/// Removes the permissions of others. If the system does not allow that, the file belongs to
/// another user, and `tome doctor` reports it.
fn tighten(found: &fs::Metadata, set: impl FnOnce(fs::Permissions) -> io::Result<()>) {
    use std::os::unix::fs::PermissionsExt as _;
    if is_open(found) {
        let mode = found.permissions().mode() & 0o700;
        drop(set(fs::Permissions::from_mode(mode)));
    }
}

/// Whether other users may read, write or enter the file or folder.
pub fn is_open(found: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    found.permissions().mode() & 0o077 != 0
}

/// Returns every file and folder from `top` downwards that others may access, by path.
pub fn open_below(top: &Path) -> Vec<PathBuf> {
    let entries = walkdir::WalkDir::new(top).sort_by_file_name();
    let entries = entries.into_iter().flatten();
    entries
        // The target of a link does not belong to tome.
        .filter(|entry| !entry.file_type().is_symlink())
        .filter(|entry| entry.metadata().is_ok_and(|found| is_open(&found)))
        .map(walkdir::DirEntry::into_path)
        .collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn mode(path: &Path) -> u32 {
        let found = fs::metadata(path).expect("it is there");
        found.permissions().mode() & 0o777
    }

    #[test]
    fn what_is_made_is_for_its_owner_alone_and_what_is_wider_is_tightened() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let top = temp.path().join("top");
        create_dir(&top.join("deep")).expect("makes");
        assert_eq!((mode(&top), mode(&top.join("deep"))), (0o700, 0o700));
        for (name, wide) in [("a", 0o644), ("b", 0o666), ("c", 0o640), ("d", 0o604)] {
            fs::write(top.join(name), "x").expect("a file");
            fs::set_permissions(top.join(name), fs::Permissions::from_mode(wide)).expect("set");
        }
        assert_eq!(open_below(&top).len(), 4);
        drop(open_append(&top.join("a")).expect("opens"));
        drop(open_write(&top.join("b")).expect("opens"));
        drop(create_file(&top.join("c")).expect("opens"));
        write_whole(&top, "d", b"y").expect("writes");
        drop(open_append(&top.join("e")).expect("opens"));
        for name in ["a", "b", "c", "d", "e"] {
            assert_eq!(mode(&top.join(name)), 0o600, "{name}");
        }
        fs::set_permissions(&top, fs::Permissions::from_mode(0o755)).expect("set");
        assert_eq!(open_below(&top), std::slice::from_ref(&top));
        create_dir(&top).expect("is there");
        assert!(open_below(&top).is_empty());
    }

    #[test]
    fn two_writers_of_one_name_do_not_share_a_temporary_file() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let path = temp.path().join("x.json");
        replace(&path, |file| {
            file.write_all(b"outer")?;
            replace(&path, |file| file.write_all(b"inner, which is longer"))
        })
        .expect("written");
        assert_eq!(fs::read(&path).expect("reads"), b"outer");
        let left: Vec<_> = fs::read_dir(temp.path()).expect("reads").collect();
        assert_eq!(left.len(), 1, "nothing else is left");
    }

    #[test]
    fn what_killed_processes_left_is_swept_and_nothing_else() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let old = SystemTime::now() - 2 * STALE;
        let put = |name: &str, time: SystemTime| {
            let file = File::create(temp.path().join(name)).expect("a file");
            file.set_modified(time).expect("a time");
            file
        };
        drop(put("a.json.7-0.tome.tmp", old));
        drop(put("b.json.7-1.tome.tmp", SystemTime::now()));
        let held = put("c.json.7-2.tome.tmp", old);
        held.lock().expect("locks");
        for name in [
            "d.tmp",
            ".tome-01J-abc.tmp",
            "e.7-x.tome.tmp",
            "f.json",
            ".tome.tmp",
        ] {
            drop(put(name, old));
        }
        write_whole(temp.path(), "new.json", b"x").expect("writes");
        let entries = fs::read_dir(temp.path()).expect("reads").flatten();
        let mut left: Vec<String> = entries
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        left.sort();
        assert_eq!(
            left,
            [
                ".tome-01J-abc.tmp",
                ".tome.tmp",
                "b.json.7-1.tome.tmp",
                "c.json.7-2.tome.tmp",
                "d.tmp",
                "e.7-x.tome.tmp",
                "f.json",
                "new.json",
            ]
        );
    }

    #[test]
    fn folders_made_for_one_use_are_unique() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let made = [(); 3].map(|()| create_unique_dir(temp.path(), "x-").expect("made"));
        assert!(made[0] != made[1] && made[1] != made[2]);
        assert!(made.iter().all(|dir| mode(dir) == 0o700));
    }

    #[test]
    fn a_pipe_or_a_device_is_no_file_of_tomes_own() {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        let temp = tempfile::tempdir().expect("a temporary directory");
        let pipe = temp.path().join("pipe");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
        let null = temp.path().join("null");
        std::os::unix::fs::symlink("/dev/null", &null).expect("a link");
        for path in [&pipe, &null, &temp.path().to_owned()] {
            for open in [open_append, open_write, create_file] {
                assert!(open(path).is_err(), "{}", path.display());
            }
        }
    }
}
