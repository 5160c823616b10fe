//! Finds out whether files and folders are unchanged, by their sizes and times alone.

use cap_std::fs::Dir;
use rustix::fs::{AtFlags, FileType, Stat, fstat, statat};
use serde::{Deserialize, Serialize};

use crate::core::disk::parallel::on_all_cores;
use crate::core::disk::sandbox::Root;

/// A folder, and when its entries were last added, removed or renamed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FolderStamp(
    /// The path below the root.
    pub String,
    /// The time of the last change of the inode, in nanoseconds since 1970; no program can set it.
    pub i64,
);

/// Tells whether the file with this path has this size and time.
pub type StampCheck<'a> = dyn Fn(&str, (u64, i64)) -> bool + 'a;

impl Root {
    /// The root and the folders that [`Root::markdown`] reads, as they are before they are
    /// read; `None` if one of them cannot be examined.
    pub fn folder_stamps(&self, folder: &str, depth: usize) -> Option<Vec<FolderStamp>> {
        let dir = self.dir()?;
        let mut found = Vec::new();
        if folder.is_empty() {
            stamp_folders(&dir, "", depth, &mut found)?;
        } else {
            found.push(FolderStamp(String::new(), changed(&fstat(&dir).ok()?)?));
            if dir.is_dir(folder) {
                stamp_folders(&dir.open_dir(folder).ok()?, folder, depth, &mut found)?;
            }
        }
        Some(found)
    }

    /// The files that do not have the sizes and times any more that `files` names, in milliseconds
    /// since 1970; `None` if the folders do not have the same entries as at their stamps. No file is
    /// opened.
    ///
    /// `files` is called on each of `threads` threads, which share the files among them. It returns
    /// those of its share that the check refuses, or `None` if it cannot tell.
    pub fn changed_files(
        &self,
        folders: &[FolderStamp],
        threads: usize,
        files: impl Fn(&StampCheck<'_>) -> Option<Vec<String>> + Sync,
    ) -> Option<Vec<String>> {
        let dir = &self.dir()?;
        let is_same_folder = |FolderStamp(path, time): &FolderStamp| {
            let path = if path.is_empty() { "." } else { path };
            let stat = statat(dir, path, AtFlags::SYMLINK_NOFOLLOW).ok();
            stat.and_then(|stat| changed(&stat)) == Some(*time)
        };
        if !folders.iter().all(is_same_folder) {
            return None;
        }
        let changed = on_all_cores(threads, |_| {
            // Each thread opens the root itself: threads that share a handle wait for each
            // other in the system.
            let dir = self.dir()?;
            files(&|path, stamp| self.stamp_in(&dir, path) == Some(stamp))
        });
        let changed: Vec<Vec<String>> = changed.into_iter().collect::<Option<_>>()?;
        Some(changed.concat())
    }

    /// The size and time of a file. Its folders are not checked to be in the root: if a link
    /// took the place of one, the time of the folder above it is another.
    fn stamp_in(&self, dir: &Dir, path: &str) -> Option<(u64, i64)> {
        let stat = statat(dir, path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
            let found = self.find_file(path)?;
            return Some((found.size, found.modified));
        }
        let size = u64::try_from(stat.st_size).ok()?;
        let time = nanoseconds(stat.st_mtime.into(), stat.st_mtime_nsec.into())?;
        Some((size, time.max(0) / 1_000_000))
    }
}

fn stamp_folders(dir: &Dir, path: &str, depth: usize, found: &mut Vec<FolderStamp>) -> Option<()> {
    found.push(FolderStamp(path.to_owned(), changed(&fstat(dir).ok()?)?));
    if depth == 0 {
        return Some(());
    }
    for entry in dir.entries().ok()? {
        let entry = entry.ok()?;
        let name = entry.file_name().into_string();
        let Some(name) = name.ok().filter(|name| !name.starts_with('.')) else {
            continue;
        };
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let below = match path {
            "" => name.clone(),
            _ => format!("{path}/{name}"),
        };
        match entry.open_dir() {
            Ok(sub) => stamp_folders(&sub, &below, depth - 1, found)?,
            // A folder that cannot be opened is not listed either; a change of its mode changes
            // its time.
            Err(_) => {
                let stat = statat(dir, &name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
                found.push(FolderStamp(below, changed(&stat)?));
            }
        }
    }
    Some(())
}

fn changed(stat: &Stat) -> Option<i64> {
    nanoseconds(stat.st_ctime.into(), stat.st_ctime_nsec.into())
}

/// A time in nanoseconds since 1970; `None` after the year 2262.
fn nanoseconds(seconds: i128, rest: i128) -> Option<i64> {
    i64::try_from(seconds * 1_000_000_000 + rest).ok()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Mutex;
    use std::time::{Duration, SystemTime};

    use super::*;

    #[test]
    fn every_change_of_a_name_or_a_file_is_told() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let at = |name: &str| temp.path().join(name);
        fs::create_dir_all(at("sub/deep")).expect("creates");
        fs::create_dir(at(".hidden")).expect("creates");
        fs::write(at("a.md"), "one\n").expect("writes");
        fs::write(at("sub/b.md"), "two\n").expect("writes");
        std::os::unix::fs::symlink("sub/b.md", at("link.md")).expect("links");
        let root = Root::open(temp.path()).expect("opens");
        let look = || {
            let folders = root.folder_stamps("", 4).expect("has stamps");
            let files: Vec<(String, (u64, i64))> = ["a.md", "link.md", "sub/b.md"]
                .iter()
                .filter_map(|name| root.find_file(name))
                .map(|file| (file.path, (file.size, file.modified)))
                .collect();
            (folders, files)
        };
        type Look = (Vec<FolderStamp>, Vec<(String, (u64, i64))>);
        let changed = |(folders, files): &Look| {
            let rest = Mutex::new(files.iter());
            let take = || rest.lock().expect("no thread panicked").next();
            let compare = |check: &StampCheck<'_>| {
                let differs = |(path, stamp): &&(String, (u64, i64))| !check(path, *stamp);
                let changed = std::iter::from_fn(take).filter(differs);
                Some(changed.map(|(path, _)| path.clone()).collect())
            };
            root.changed_files(folders, 2, compare)
        };
        let names: Vec<String> = look().0.into_iter().map(|stamp| stamp.0).collect();
        assert_eq!(names, ["", "sub", "sub/deep"]);
        let old = SystemTime::now() - Duration::from_secs(100);
        // What is done, and the files that are written by it if no name came or went.
        type Step<'a> = (&'a str, Option<&'a [&'a str]>, &'a dyn Fn());
        let steps: [Step<'_>; 6] = [
            ("edited in place", Some(&["link.md", "sub/b.md"]), &|| {
                fs::write(at("sub/b.md"), "2\n").expect("writes");
            }),
            ("touched", Some(&["a.md"]), &|| {
                let file = fs::File::open(at("a.md")).expect("opens");
                file.set_modified(old).expect("touches");
            }),
            ("a new file below", None, &|| {
                fs::write(at("sub/deep/c.md"), "three\n").expect("writes");
            }),
            ("a new file, and the folder's time set back", None, &|| {
                let folder = fs::File::open(at("sub")).expect("opens");
                let time = folder.metadata().and_then(|meta| meta.modified());
                fs::write(at("sub/d.md"), "four\n").expect("writes");
                folder.set_modified(time.expect("a time")).expect("sets");
            }),
            ("renamed", None, &|| {
                fs::rename(at("a.md"), at("e.md")).expect("renames");
            }),
            ("deleted", None, &|| {
                fs::remove_file(at("e.md")).expect("removes")
            }),
        ];
        for (what, files, step) in steps {
            // The times of a file system advance in steps of some milliseconds.
            std::thread::sleep(Duration::from_millis(20));
            let before = look();
            assert_eq!(changed(&before), Some(vec![]), "before: {what}");
            step();
            let found = changed(&before).map(|mut found| {
                found.sort();
                found
            });
            let expected = files.map(|files| files.iter().map(|&file| file.to_owned()).collect());
            assert_eq!(found, expected, "{what}");
        }
    }
}
