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

use super::{Error, Result};

/// Creates a folder and its missing parents, for their owner only.
pub fn create_dir(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)?;
    if let Ok(found) = fs::metadata(path) {
        tighten(&found, |mode| fs::set_permissions(path, mode));
    }
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
    open(path, options().read(true).write(true).create_new(true))
}

/// Writes and flushes a file atomically.
pub fn write_whole(dir: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    let path = dir.join(name);
    replace(&path, |file| file.write_all(bytes)).map_err(|e| Error::io(&path, e))
}

/// Replaces `path` atomically by the content that `fill` writes, flushed.
pub fn replace(path: &Path, fill: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let (temp, mut file) = temporary(path)?;
    let written = fill(&mut file)
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&temp, path))
        .and_then(|()| flush_dir(path.parent().unwrap_or(Path::new("."))));
    if written.is_err() {
        // Removes the incomplete file; `written` has the error that matters.
        drop(fs::remove_file(&temp));
    }
    written
}

/// Flushes the entries of a folder to disk.
pub fn flush_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

/// Creates a new file beside `path`, with a unique name.
fn temporary(path: &Path) -> io::Result<(PathBuf, File)> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    loop {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let temp = path.with_file_name(format!("{name}.{}-{count}.tmp", std::process::id()));
        match create_new(&temp) {
            // A process that died had the same id.
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            made => return Ok((temp, made?)),
        }
    }
}

fn options() -> OpenOptions {
    #[cfg_attr(not(unix), allow(unused_mut))]
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

fn open(path: &Path, options: &OpenOptions) -> io::Result<File> {
    let file = options.open(path)?;
    let found = file.metadata()?;
    tighten(&found, |mode| file.set_permissions(mode));
    Ok(file)
}

/// Removes the permissions of others. If the system does not allow that, the file belongs to
/// another user, and `tome doctor` reports it.
#[cfg(unix)]
fn tighten(found: &fs::Metadata, set: impl FnOnce(fs::Permissions) -> io::Result<()>) {
    use std::os::unix::fs::PermissionsExt as _;
    if is_open(found) {
        let mode = found.permissions().mode() & 0o700;
        drop(set(fs::Permissions::from_mode(mode)));
    }
}

#[cfg(not(unix))]
fn tighten(_: &fs::Metadata, _: impl FnOnce(fs::Permissions) -> io::Result<()>) {}

/// Whether other users may read, write or enter the file or folder.
#[cfg(unix)]
pub fn is_open(found: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    found.permissions().mode() & 0o077 != 0
}

/// Returns `false`: elsewhere a home directory is private as a whole.
#[cfg(not(unix))]
pub fn is_open(_: &fs::Metadata) -> bool {
    false
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

#[cfg(all(test, unix))]
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
}
