//! The steps of a change to the files of a root.
//!
//! A new text is staged in a temporary file beside its target and then takes the target's name in
//! one step. The displaced file gets the temporary name, so that it can be compared and restored;
//! it is removed only after the change is recorded.

use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::time::{Duration, SystemTime};

use cap_std::fs::{Dir, OpenOptions};

use super::{Error, Result, Root, is_absent, without_waiting};
use crate::core::text::file_name;

/// The attributes of a file that changes preserve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Attributes {
    /// Unix mode bits.
    pub mode: Option<u32>,
    /// When the content was last changed, in nanoseconds since 1970.
    pub modified: Option<i64>,
}

/// Where the displaced file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Displaced {
    /// Under the temporary name.
    Kept,
    /// Gone: the file system supports neither exchanging names nor hard links.
    Lost,
}

impl Root {
    /// The folders above `path` that do not exist yet, outermost first; `""` is the root itself.
    pub fn missing_folders(&self, path: &str) -> Vec<String> {
        let Some(dir) = self.dir() else {
            let inner = path.match_indices('/').map(|(at, _)| &path[..at]);
            return [""].into_iter().chain(inner).map(str::to_owned).collect();
        };
        path.match_indices('/')
            .map(|(at, _)| &path[..at])
            .filter(|folder| !dir.is_dir(folder))
            .map(str::to_owned)
            .collect()
    }

    /// Creates the folders above `path`.
    pub fn make_folders(&self, path: &str) -> Result<()> {
        self.create()?;
        for folder in self.missing_folders(path) {
            match self.handle()?.create_dir(&folder) {
                Err(e) if e.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(self.path_error(&folder, e));
                }
                _ => self.flush_folder(&folder)?,
            }
        }
        Ok(())
    }

    /// The mode and modification time of a file; empty if it does not exist.
    pub fn attributes(&self, path: &str) -> Attributes {
        let meta = self.handle().ok().and_then(|dir| dir.metadata(path).ok());
        meta.map_or_else(Attributes::default, |meta| Attributes {
            mode: Some(super::mode_of(&meta)),
            modified: meta
                .modified()
                .ok()
                .and_then(|time| nanoseconds(time.into_std())),
        })
    }

    /// Returns an error if the folder of a file is not writable.
    pub fn folder_writable(&self, path: &str) -> Result<()> {
        let folder = folder_name(path);
        if !self.is_dir(folder) {
            return Ok(());
        }
        let dir = self.handle()?;
        check_writable(&dir, folder).map_err(|e| self.path_error(path, e))
    }

    /// Writes `bytes` to a new file `temp`, which [`Self::flush_files`] flushes. The file is never
    /// more accessible than `attributes` allow.
    pub fn stage(&self, temp: &str, bytes: &[u8], attributes: &Attributes) -> Result<()> {
        let dir = self.handle()?;
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        if let Some(mode) = attributes.mode {
            set_creation_mode(&mut options, mode);
        }
        let written = dir.open_with(temp, &options).and_then(|file| {
            let mut file = file.into_std();
            file.write_all(bytes)?;
            if let Some(mode) = attributes.mode {
                set_mode(&file, mode)?;
            }
            match attributes.modified.and_then(time_of) {
                Some(time) => file.set_modified(time),
                None => Ok(()),
            }
        });
        written.map_err(|e| {
            // Remove the incomplete file; the error to report is `e`.
            drop(dir.remove_file(temp));
            self.path_error(temp, e)
        })
    }

    /// Flushes files to disk. Of many, the system flushes their disk as a whole where it can: a flush
    /// of each takes ten times as long.
    pub fn flush_files(&self, paths: &[String]) -> Result<()> {
        const FEW: usize = 32;
        let dir = self.handle()?;
        if paths.len() > FEW {
            let folders: BTreeSet<&str> = paths.iter().map(|path| folder_name(path)).collect();
            let flushed = flush_disks(&dir, &folders);
            if flushed.map_err(|e| self.path_error("", e))? {
                return Ok(());
            }
        }
        let mut options = OpenOptions::new();
        options.read(true);
        without_waiting(&mut options);
        for path in paths {
            let flushed = dir.open_with(path, &options);
            let flushed = flushed.and_then(|file| file.sync_all());
            flushed.map_err(|e| self.path_error(path, e))?;
        }
        Ok(())
    }

    /// Renames the staged file to `path`, which must not exist.
    pub fn place(&self, temp: &str, path: &str) -> Result<()> {
        let (dir, temp_name) = self.folder_of(temp)?;
        rename_without_replacing(&dir, temp_name, file_name(path))
            .map_err(|e| self.path_error(path, e))
    }

    /// Renames the file to `temp`, which must not exist.
    pub fn set_aside(&self, path: &str, temp: &str) -> Result<()> {
        let (dir, name) = self.folder_of(path)?;
        rename_without_replacing(&dir, name, file_name(temp)).map_err(|e| self.path_error(path, e))
    }

    /// Exchanges the staged file and the one at `path`, in one step.
    pub fn exchange(&self, temp: &str, path: &str) -> Result<Displaced> {
        let (dir, temp_name) = self.folder_of(temp)?;
        let name = file_name(path);
        if dir.is_dir(name) {
            return Err(Error::io(
                self.absolute(path),
                io::ErrorKind::IsADirectory.into(),
            ));
        }
        let displaced = exchange_names(&dir, temp_name, name).and_then(|is_done| {
            if is_done {
                Ok(Displaced::Kept)
            } else {
                replace_in_two_steps(&dir, temp_name, name)
            }
        });
        displaced.map_err(|e| self.path_error(path, e))
    }

    /// Removes a file; a missing file is ignored.
    pub fn remove(&self, path: &str) -> Result<()> {
        let dir = self.handle()?;
        match dir.remove_file(path) {
            Err(e) if !is_absent(&e) => Err(self.path_error(path, e)),
            _ => Ok(()),
        }
    }

    /// Removes a folder if it is empty; `""` is the root itself.
    pub fn remove_folder(&self, path: &str) {
        // Fails for a folder that is not empty.
        if path.is_empty() {
            drop(std::fs::remove_dir(self.path()));
        } else if let Some(dir) = self.dir() {
            drop(dir.remove_dir(path));
        }
    }

    /// Flushes the folder of `path` to disk.
    pub fn flush_folder(&self, path: &str) -> Result<()> {
        let folder = folder_name(path);
        if !self.is_dir(folder) {
            return Ok(());
        }
        let mut options = OpenOptions::new();
        options.read(true);
        // A pipe may have taken the place of the folder.
        without_waiting(&mut options);
        self.handle()?
            .open_with(folder, &options)
            .and_then(|folder| folder.sync_all())
            .map_err(|e| self.path_error(folder, e))
    }

    /// Opens the folder of a file; returns it and the file's name. A link that later replaces the
    /// folder has no effect.
    fn folder_of<'p>(&self, path: &'p str) -> Result<(Dir, &'p str)> {
        let folder = folder_name(path);
        let dir = self
            .handle()?
            .open_dir(folder)
            .map_err(|e| self.path_error(folder, e))?;
        Ok((dir, file_name(path)))
    }
}

/// Flushes the disks that folders are on; `false` if the system cannot.
#[cfg(target_os = "linux")]
fn flush_disks(dir: &Dir, folders: &BTreeSet<&str>) -> io::Result<bool> {
    let mut options = OpenOptions::new();
    options.read(true);
    // A pipe may have taken the place of a folder.
    without_waiting(&mut options);
    let mut flushed = BTreeSet::new();
    for folder in folders {
        let folder = dir.open_with(folder, &options)?;
        if flushed.insert(rustix::fs::fstat(&folder)?.st_dev) {
            rustix::fs::syncfs(&folder)?;
        }
    }
    Ok(true)
}

#[cfg(not(target_os = "linux"))]
fn flush_disks(_: &Dir, _: &BTreeSet<&str>) -> io::Result<bool> {
    Ok(false)
}

/// The folder of a file, `.` for the root.
fn folder_name(path: &str) -> &str {
    path.rsplit_once('/').map_or(".", |(folder, _)| folder)
}

fn nanoseconds(time: SystemTime) -> Option<i64> {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    i64::try_from(since.as_nanos()).ok()
}

fn time_of(nanoseconds: i64) -> Option<SystemTime> {
    let since = Duration::from_nanos(u64::try_from(nanoseconds).ok()?);
    SystemTime::UNIX_EPOCH.checked_add(since)
}

/// Exchanges two names in a folder; `false` if the file system does not support it.
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn exchange_names(dir: &Dir, one: &str, other: &str) -> io::Result<bool> {
    use rustix::fs::{RenameFlags, renameat_with};
    use rustix::io::Errno;
    match renameat_with(dir, one, dir, other, RenameFlags::EXCHANGE) {
        Ok(()) => Ok(true),
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => Ok(false),
        Err(e) => Err(e.into()),
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn exchange_names(_: &Dir, _: &str, _: &str) -> io::Result<bool> {
    Ok(false)
}

/// As [`exchange_names`], for file systems without it: a hard link keeps the replaced file.
fn replace_in_two_steps(dir: &Dir, temp: &str, name: &str) -> io::Result<Displaced> {
    let second = format!("{temp}.old");
    let linked = dir.hard_link(name, dir, &second).is_ok();
    dir.rename(temp, dir, name)?;
    if !linked {
        return Ok(Displaced::Lost);
    }
    dir.rename(&second, dir, temp)?;
    Ok(Displaced::Kept)
}

/// Renames a file within its folder; the new name must not exist.
fn rename_without_replacing(dir: &Dir, from: &str, to: &str) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    {
        use rustix::fs::{RenameFlags, renameat_with};
        use rustix::io::Errno;
        match renameat_with(dir, from, dir, to, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
            done => return done.map_err(io::Error::from),
        }
    }
    check_and_rename(dir, from, to)
}

/// As [`rename_without_replacing`], for systems that cannot check and rename in one step.
fn check_and_rename(dir: &Dir, from: &str, to: &str) -> io::Result<()> {
    if dir.symlink_metadata(to).is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    dir.rename(from, dir, to)
}

fn check_writable(dir: &Dir, folder: &str) -> io::Result<()> {
    use rustix::fs::{Access, AtFlags, accessat};
    accessat(
        dir,
        folder,
        Access::WRITE_OK | Access::EXEC_OK,
        AtFlags::EACCESS,
    )?;
    Ok(())
}

fn set_creation_mode(options: &mut OpenOptions, mode: u32) {
    use cap_std::fs::OpenOptionsExt as _;
    options.mode(mode);
}

fn set_mode(file: &std::fs::File, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.set_permissions(std::fs::Permissions::from_mode(mode))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use cap_std::ambient_authority;

    use super::*;

    fn folder(files: &[(&str, &str)]) -> (tempfile::TempDir, Dir) {
        let temp = tempfile::tempdir().expect("a temporary directory");
        for (name, text) in files {
            fs::write(temp.path().join(name), text).expect("written");
        }
        let dir = Dir::open_ambient_dir(temp.path(), ambient_authority()).expect("opens");
        (temp, dir)
    }

    fn files(temp: &tempfile::TempDir) -> Vec<(String, String)> {
        let entries = fs::read_dir(temp.path()).expect("readable").flatten();
        let mut files: Vec<(String, String)> = entries
            .map(|entry| {
                let text = fs::read_to_string(entry.path()).expect("text");
                (entry.file_name().to_string_lossy().into_owned(), text)
            })
            .collect();
        files.sort();
        files
    }

    fn named(all: &[(&str, &str)]) -> Vec<(String, String)> {
        let owned = |(name, text): &(&str, &str)| ((*name).to_owned(), (*text).to_owned());
        all.iter().map(owned).collect()
    }

    #[test]
    fn either_way_of_replacing_keeps_the_old_file_under_the_temporary_name() {
        let exchanged = named(&[("a.md", "new"), ("a.tmp", "old")]);
        let (temp, _dir) = folder(&[("a.md", "old"), ("a.tmp", "new")]);
        let root = Root::open(temp.path()).expect("opens");
        let displaced = root.exchange("a.tmp", "a.md").expect("exchanged");
        assert_eq!(
            (displaced, files(&temp)),
            (Displaced::Kept, exchanged.clone())
        );
        let (temp, dir) = folder(&[("a.md", "old"), ("a.tmp", "new")]);
        let displaced = replace_in_two_steps(&dir, "a.tmp", "a.md").expect("replaced");
        assert_eq!((displaced, files(&temp)), (Displaced::Kept, exchanged));
    }

    #[test]
    fn what_cannot_get_a_second_name_is_replaced_and_said_to_be_lost() {
        let (temp, dir) = folder(&[("a.md", "old"), ("a.tmp", "new"), ("a.tmp.old", "other")]);
        let displaced = replace_in_two_steps(&dir, "a.tmp", "a.md").expect("replaced");
        assert_eq!(displaced, Displaced::Lost);
        assert_eq!(
            files(&temp),
            named(&[("a.md", "new"), ("a.tmp.old", "other")])
        );
    }

    #[test]
    fn neither_way_of_renaming_replaces_a_file() {
        for rename in [rename_without_replacing, check_and_rename] {
            let both = [("a.md", "a"), ("b.md", "b")];
            let (temp, dir) = folder(&both);
            let error = rename(&dir, "a.md", "b.md").expect_err("not free");
            assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
            assert_eq!(files(&temp), named(&both));
            rename(&dir, "a.md", "c.md").expect("free");
            assert_eq!(files(&temp), named(&[("b.md", "b"), ("c.md", "a")]));
        }
    }

    #[test]
    fn a_folder_is_not_exchanged_for_a_file() {
        let (temp, _dir) = folder(&[("a.tmp", "new")]);
        fs::create_dir(temp.path().join("a.md")).expect("a folder");
        let root = Root::open(temp.path()).expect("opens");
        let error = root.exchange("a.tmp", "a.md").expect_err("a folder");
        assert!(error.to_string().contains("a.md"), "{error}");
        assert!(temp.path().join("a.md").is_dir());
    }

    #[test]
    fn few_files_and_many_are_flushed() {
        let names: Vec<String> = (0..99).map(|n| format!("{n}.md")).collect();
        let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
        let (temp, _dir) = folder(&files);
        fs::create_dir(temp.path().join("sub")).expect("a folder");
        fs::write(temp.path().join("sub/a.md"), "").expect("written");
        let root = Root::open(temp.path()).expect("opens");
        for count in [1, 99] {
            let inner = ["sub/a.md".to_owned()];
            let paths = [&names[..count], &inner].concat();
            root.flush_files(&paths).expect("flushed");
        }
        let gone = ["gone.md".to_owned()];
        assert!(root.flush_files(&gone).is_err());
    }

    #[test]
    fn times_are_kept_to_the_nanosecond() {
        for at in [0, 1, 1_600_000_000_123_456_789] {
            assert_eq!(time_of(at).and_then(nanoseconds), Some(at));
        }
        assert_eq!(time_of(-1), None);
    }
}
