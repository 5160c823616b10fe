//! Maps a caller's path to a file inside the root, or to an error.
//!
//! Memory files are read and written only through [`Root`]. A path is first checked lexically (not
//! absolute, no NUL, no `..` that leaves the root) and then resolved link by link. Every access
//! goes through a directory handle that the operating system confines to the root, so a link that
//! is swapped in between check and use cannot lead out either.
//!
//! A root keeps no handle open: each operation opens the directory again, so that a directory that
//! was replaced or created later is used. Only a change, which is about one directory, holds it.

mod lines;
mod resolve;
mod write;
mod writers;

use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, OnceLock};

use cap_std::fs::{Dir, File, Metadata, OpenOptions};

use crate::core::disk::foreign::{is_link, open_directory};
use crate::core::{Error, Result};

pub(in crate::core) use lines::missing_newline;
pub use resolve::check;
pub use write::{Attributes, Displaced};

/// The largest file that is opened as a memory.
pub const LARGEST_MEMORY: u64 = 16 << 20;

/// The size of the largest file that can be deleted, and brought back.
const LARGEST_KEPT: u64 = 1 << 30;

/// A directory to which all access is confined.
#[derive(Debug, Clone)]
pub struct Root {
    path: PathBuf,
    /// The opened directory, for a root that holds it.
    held: Option<Arc<OnceLock<Arc<Dir>>>>,
}

/// Counts the entries of a directory and of those in it; false once there are too many.
fn counts_down(dir: &Dir, depth: usize, left: &mut usize) -> bool {
    for entry in dir.entries().into_iter().flatten().flatten() {
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        let Some(fewer) = left.checked_sub(1) else {
            return false;
        };
        *left = fewer;
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_dir
            && depth > 0
            && let Ok(sub) = entry.open_dir()
            && !counts_down(&sub, depth - 1, left)
        {
            return false;
        }
    }
    true
}

/// The most files of a directory that are listed: a listing of them takes a second, and 200 MB.
pub const MOST_FILES: usize = 100_000;

/// A file or folder found in a [`Root`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundFile {
    /// The path relative to the root, with `/`.
    pub path: String,
    /// The target of the path, if it is a link.
    pub target: Option<String>,
    /// The size in bytes.
    pub size: u64,
    /// When the content was last changed, in milliseconds since 1970.
    pub modified: i64,
}

impl FoundFile {
    fn of(path: String, target: Option<String>, meta: &Metadata) -> Option<Self> {
        meta.is_file().then(|| Self {
            path,
            target,
            size: meta.len(),
            modified: modified(meta),
        })
    }
}

impl Root {
    /// Opens the directory at `path`, which need not exist yet.
    ///
    /// A relative or linked `path` is made canonical, so that each directory has one name in the
    /// history.
    pub fn open(path: &Path) -> Result<Self> {
        let canonical = match path.canonicalize() {
            Ok(canonical) => canonical,
            Err(e) if e.kind() == io::ErrorKind::NotFound => missing_root(path)?,
            Err(e) => return Err(Error::io(path, e)),
        };
        match open_directory(&canonical) {
            Ok(_) => {}
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(Error::io(&canonical, e)),
        }
        Ok(Self {
            path: canonical,
            held: None,
        })
    }

    /// The same directory, which is opened once for all that follows.
    pub fn holding(self) -> Self {
        Self {
            held: Some(Arc::default()),
            ..self
        }
    }

    /// The canonical path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the directory exists.
    pub fn exists(&self) -> bool {
        self.dir().is_some()
    }

    /// Creates the directory if it is missing.
    pub fn create(&self) -> Result<()> {
        if self.exists() {
            return Ok(());
        }
        std::fs::create_dir_all(&self.path).map_err(|e| Error::io(&self.path, e))
    }

    /// Whether there are more than `most` files and folders in the directory, hidden ones left out,
    /// down to `depth` folders. It takes no longer for a million.
    pub fn has_more_than(&self, most: usize, depth: usize) -> bool {
        let mut left = most;
        self.dir()
            .is_some_and(|dir| !counts_down(&dir, depth, &mut left))
    }

    /// The absolute path of a file in this root, for messages and editors.
    pub fn absolute(&self, path: &str) -> PathBuf {
        self.path.join(path)
    }

    /// Whether `path` is a directory inside the root.
    pub fn is_dir(&self, path: &str) -> bool {
        self.dir().is_some_and(|dir| dir.is_dir(path))
    }

    /// Whether `path` itself is a link.
    pub fn is_link(&self, path: &str) -> bool {
        let meta = self.dir().map(|dir| dir.symlink_metadata(path));
        meta.is_some_and(|meta| meta.is_ok_and(|meta| meta.is_symlink()))
    }

    /// Whether anything exists at `path`.
    pub fn has(&self, path: &str) -> bool {
        self.dir()
            .is_some_and(|dir| dir.symlink_metadata(path).is_ok())
    }

    /// The content of a file; `None` if it does not exist.
    pub fn read(&self, path: &str) -> Result<Option<Vec<u8>>> {
        self.read_at_most(path, LARGEST_MEMORY)
    }

    /// The content of a file that was found. It may be gone or a pipe now.
    pub fn read_found(&self, found: &FoundFile) -> Result<Vec<u8>> {
        let path = found.target.as_deref().unwrap_or(&found.path);
        self.read(path)?.ok_or_else(|| Error::not_found(path))
    }

    /// The content of a file that may be too large for a memory; `None` if it does not exist.
    pub fn read_whole(&self, path: &str) -> Result<Option<Vec<u8>>> {
        self.read_at_most(path, LARGEST_KEPT)
    }

    /// The content of a file that was displaced, when programs that have it open have written;
    /// `None` if it does not exist.
    pub fn read_displaced(&self, path: &str) -> Result<Option<Vec<u8>>> {
        if let Some((file, _)) = self.open_file(path)? {
            writers::wait_for_writers(&file);
        }
        self.read_whole(path)
    }

    fn read_at_most(&self, path: &str, most: u64) -> Result<Option<Vec<u8>>> {
        let open = self.open_file(path)?;
        open.map(|open| self.read_open(path, open, most))
            .transpose()
    }

    /// The content of an open file of this size, which may have grown since.
    fn read_open(&self, path: &str, (file, size): (File, u64), most: u64) -> Result<Vec<u8>> {
        if size > most {
            return Err(too_large(path, size));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1);
        let mut file = file.take(most + 1);
        file.read_to_end(&mut bytes)
            .map_err(|e| self.path_error(path, e))?;
        match bytes.len() as u64 {
            size if size > most => Err(too_large(path, size)),
            _ => Ok(bytes),
        }
    }

    /// Opens a regular file; returns it and its size, or `None` if it does not exist.
    fn open_file(&self, path: &str) -> Result<Option<(File, u64)>> {
        let dir = match self.handle() {
            Ok(dir) => dir,
            Err(Error::Io { source, .. }) if is_absent(&source) => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut options = OpenOptions::new();
        options.read(true);
        // Opening a pipe would wait for a writer.
        without_waiting(&mut options);
        let opened = dir.open_with(path, &options);
        let kind = opened.and_then(|file| Ok((file.metadata()?, file)));
        match kind {
            Ok((meta, file)) if meta.is_file() => Ok(Some((file, meta.len()))),
            Ok((meta, _)) if meta.is_dir() => Err(Error::io(
                self.absolute(path),
                io::ErrorKind::IsADirectory.into(),
            )),
            Ok(_) => Err(not_regular(path)),
            Err(e) if is_absent(&e) => Ok(None),
            // A socket cannot be opened at all.
            Err(e) => match dir.metadata(path) {
                Ok(meta) if !meta.is_file() && !meta.is_dir() => Err(not_regular(path)),
                _ => Err(self.path_error(path, e)),
            },
        }
    }

    /// Returns an error if the file is read-only.
    ///
    /// Replacing a file needs only a writable folder, so without this check the file's mode would
    /// be silently ignored.
    pub fn writable(&self, path: &str) -> Result<()> {
        let Some(dir) = self.dir() else {
            return Ok(());
        };
        match dir.metadata(path) {
            Ok(meta) if meta.is_dir() => Err(Error::io(
                self.absolute(path),
                io::ErrorKind::IsADirectory.into(),
            )),
            Ok(meta) if meta.permissions().readonly() => Err(Error::refused(
                path,
                "the file is read-only; chmod u+w lets you change it",
            )),
            Ok(_) => Ok(()),
            Err(e) if is_absent(&e) => Ok(()),
            Err(e) => Err(self.path_error(path, e)),
        }
    }

    /// Every visible file below `folder` (`""` for all) whose name ends in `.md`, sorted by path;
    /// at most `depth` folders deep.
    pub fn markdown(&self, folder: &str, depth: usize) -> Result<Vec<FoundFile>> {
        self.files(folder, ".md", depth)
    }

    /// As [`Root::markdown`], for names that end in `suffix`. More than [`MOST_FILES`] are refused: a
    /// part of them would be taken for all.
    pub fn files(&self, folder: &str, suffix: &str, depth: usize) -> Result<Vec<FoundFile>> {
        let mut found = Vec::new();
        let dir = match self.handle() {
            Ok(dir) => Some(dir),
            Err(Error::Io { source, .. }) if is_absent(&source) => None,
            Err(error) => return Err(error),
        };
        if let Some(dir) = dir {
            if folder.is_empty() {
                self.walk((&dir, ""), (suffix, depth), &mut found)?;
            } else if dir.is_dir(folder) {
                let sub = dir
                    .open_dir(folder)
                    .map_err(|e| self.path_error(folder, e))?;
                let prefix = format!("{folder}/");
                self.walk((&sub, &prefix), (suffix, depth), &mut found)?;
            }
        }
        if found.len() > MOST_FILES {
            return Err(Error::refused(
                self.path.display().to_string(),
                format!("more than {MOST_FILES} files; they are left out, move some elsewhere"),
            ));
        }
        found.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(found)
    }

    fn walk(
        &self,
        (dir, prefix): (&Dir, &str),
        (suffix, depth): (&str, usize),
        found: &mut Vec<FoundFile>,
    ) -> Result<()> {
        let entries = dir.entries().map_err(|e| self.path_error(prefix, e))?;
        for entry in entries {
            if found.len() > MOST_FILES {
                break;
            }
            let entry = entry.map_err(|e| self.path_error(prefix, e))?;
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            if name.starts_with('.') {
                continue;
            }
            let path = format!("{prefix}{name}");
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            if kind.is_dir() && depth > 0 {
                // A folder that cannot be read is skipped.
                if let Ok(sub) = entry.open_dir() {
                    let below = format!("{path}/");
                    drop(self.walk((&sub, &below), (suffix, depth - 1), found));
                }
            } else if name.ends_with(suffix) && !kind.is_dir() {
                let file = if kind.is_symlink() {
                    self.find_file(&path)
                } else {
                    entry
                        .metadata()
                        .ok()
                        .and_then(|meta| FoundFile::of(path, None, &meta))
                };
                found.extend(file);
            }
        }
        Ok(())
    }

    /// The metadata of one file; `None` if it does not exist.
    pub fn find_file(&self, path: &str) -> Option<FoundFile> {
        let target = self.resolve(path).ok()?;
        let meta = self.dir()?.metadata(&target).ok()?;
        let target = (target != path).then_some(target);
        FoundFile::of(path.to_owned(), target, &meta)
    }

    /// The directory, opened for one operation; `None` if it cannot be opened.
    fn dir(&self) -> Option<Arc<Dir>> {
        self.handle().ok()
    }

    /// The directory, opened for one operation.
    fn handle(&self) -> Result<Arc<Dir>> {
        let held = self.held.as_ref();
        if let Some(dir) = held.and_then(|held| held.get()) {
            return Ok(Arc::clone(dir));
        }
        let opened = open_directory(&self.path)
            .map(|file| Arc::new(Dir::from_std_file(file)))
            .map_err(|e| {
                if is_link(&e) {
                    Error::refused(
                        self.path.display().to_string(),
                        "a link has taken the place of this directory; start again to follow it",
                    )
                } else {
                    Error::io(&self.path, e)
                }
            })?;
        Ok(match held {
            Some(held) => Arc::clone(held.get_or_init(|| opened)),
            None => opened,
        })
    }

    /// The error for `path`; an attempt to leave the root becomes [`Error::Escapes`].
    fn path_error(&self, path: &str, error: io::Error) -> Error {
        // cap-std creates its own error for an escape; errors of the system have a number.
        if error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none() {
            return Error::Escapes { path: path.into() };
        }
        Error::io(self.absolute(path), error)
    }
}

/// The canonical path that a directory will have once it is created.
fn missing_root(path: &Path) -> Result<PathBuf> {
    let absolute = std::path::absolute(path).map_err(|e| Error::io(path, e))?;
    let mut missing = Vec::new();
    let mut there = absolute.as_path();
    loop {
        if let Ok(canonical) = there.canonicalize() {
            return Ok(missing
                .iter()
                .rev()
                .fold(canonical, |at, name| at.join(name)));
        }
        match there.components().next_back() {
            Some(Component::Normal(name)) => missing.push(name.to_owned()),
            _ => return Ok(absolute),
        }
        match there.parent() {
            Some(parent) => there = parent,
            None => return Ok(absolute.clone()),
        }
    }
}

const NOT_REGULAR: &str = "not a regular file; tome leaves it alone";

fn not_regular(path: &str) -> Error {
    Error::refused(path, NOT_REGULAR)
}

fn too_large(path: &str, size: u64) -> Error {
    Error::refused(
        path,
        format!(
            "{} MB is too large for a memory ({} MB at most); cut it down or move it out of the store",
            size >> 20,
            LARGEST_MEMORY >> 20
        ),
    )
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

fn modified(meta: &Metadata) -> i64 {
    meta.modified()
        .ok()
        .and_then(|time| {
            let since = time.into_std().duration_since(std::time::UNIX_EPOCH).ok()?;
            i64::try_from(since.as_millis()).ok()
        })
        .unwrap_or(0)
}

fn without_waiting(options: &mut OpenOptions) {
    use cap_std::fs::OpenOptionsExt as _;
    options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
}

fn mode_of(meta: &Metadata) -> u32 {
    use cap_std::fs::PermissionsExt as _;
    meta.permissions().mode() & 0o7777
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root() -> (tempfile::TempDir, Root) {
        let temp = tempfile::tempdir().expect("a temporary directory");
        std::fs::create_dir(temp.path().join("sub")).expect("sub");
        std::fs::write(temp.path().join("MEMORY.md"), "# Memory\n").expect("file");
        std::fs::write(temp.path().join("sub/a.md"), "a\n").expect("file");
        let root = Root::open(temp.path()).expect("opens");
        (temp, root)
    }

    #[test]
    fn a_root_that_cannot_be_opened_is_not_taken_for_an_absent_one() {
        let (temp, _) = root();
        let path = temp.path().join("later");
        let root = Root::open(&path).expect("opens");
        assert_eq!(root.read("a.md").expect("absent"), None);
        std::os::unix::fs::symlink(&path, &path).expect("a link to itself");
        assert!(root.read("a.md").is_err());
        assert!(root.markdown("", 0).is_err());
    }

    #[test]
    fn a_file_that_cannot_be_looked_at_is_not_taken_for_a_new_one() {
        let (temp, root) = root();
        root.writable("new.md").expect("absent");
        let path = temp.path().join("loop.md");
        std::os::unix::fs::symlink("loop.md", &path).expect("a link to itself");
        assert!(root.writable("loop.md").is_err());
    }

    #[test]
    fn a_file_that_grows_while_it_is_read_is_refused_and_not_cut() {
        let (_temp, root) = root();
        // It has no length of its own, and no end.
        let endless = std::fs::File::open("/dev/zero").expect("opens");
        let read = root.read_open("a.md", (File::from_std(endless), 0), LARGEST_MEMORY);
        let error = read.expect_err("endless").to_string();
        assert!(error.contains("too large"), "{error}");
    }

    #[test]
    fn a_path_that_leaves_the_root_is_refused() {
        let (_temp, root) = root();
        for path in [
            "/etc/passwd",
            "../x",
            "sub/../../x",
            "a\0b",
            "..",
            "",
            ".",
            "sub/..",
            "MEMORY.md/../x",
            "nowhere/../x.md",
            "\\x",
        ] {
            assert!(
                matches!(root.resolve(path), Err(Error::Escapes { .. })),
                "{path:?} gave {:?}",
                root.resolve(path)
            );
        }
    }

    #[test]
    fn a_path_inside_is_made_plain() {
        let (_temp, root) = root();
        for (path, plain) in [
            ("sub/../MEMORY.md", "MEMORY.md"),
            ("./sub//a.md", "sub/a.md"),
            ("new/deep/x.md", "new/deep/x.md"),
        ] {
            assert_eq!(root.resolve(path).expect(path), plain);
        }
    }

    #[test]
    fn a_name_that_no_file_system_takes_is_refused() {
        let (_temp, root) = root();
        let error = root.resolve(&"x".repeat(300)).expect_err("too long");
        assert!(error.to_string().contains("too long"), "{error}");
    }

    #[test]
    fn a_link_is_followed_inside_and_refused_outside() {
        use std::os::unix::fs::symlink;
        let (temp, root) = root();
        let outside = tempfile::tempdir().expect("outside");
        symlink("sub/a.md", temp.path().join("in.md")).expect("link");
        symlink(root.path().join("sub"), temp.path().join("folder")).expect("link");
        symlink(outside.path(), temp.path().join("out")).expect("link");
        symlink("../x", temp.path().join("up.md")).expect("link");
        symlink("loop.md", temp.path().join("loop.md")).expect("link");
        assert_eq!(root.resolve("in.md").expect("inside"), "sub/a.md");
        assert_eq!(root.resolve("folder/b.md").expect("inside"), "sub/b.md");
        for path in ["out/x.md", "out", "up.md", "loop.md"] {
            assert!(
                matches!(root.resolve(path), Err(Error::Escapes { .. })),
                "{path}"
            );
        }
        assert!(matches!(root.read("out/x.md"), Err(Error::Escapes { .. })));
    }

    #[test]
    fn a_link_in_a_folder_leads_up_or_to_an_absolute_place_inside() {
        use std::os::unix::fs::symlink;
        let (temp, root) = root();
        symlink("../MEMORY.md", temp.path().join("sub/up.md")).expect("link");
        symlink(root.path().join("sub/a.md"), temp.path().join("sub/abs.md")).expect("link");
        symlink("../../x", temp.path().join("sub/out.md")).expect("link");
        assert_eq!(root.resolve("sub/up.md").expect("inside"), "MEMORY.md");
        assert_eq!(root.resolve("sub/abs.md").expect("inside"), "sub/a.md");
        assert!(matches!(
            root.resolve("sub/out.md"),
            Err(Error::Escapes { .. })
        ));
        let found = root.find_file("sub/up.md").expect("there");
        assert_eq!(found.target.as_deref(), Some("MEMORY.md"));
        assert_eq!(root.read_found(&found).expect("reads"), b"# Memory\n");
    }

    #[test]
    fn a_missing_root_below_a_link_has_the_name_that_it_will_have() {
        use std::os::unix::fs::symlink;
        let (temp, there) = root();
        symlink("sub", temp.path().join("link")).expect("link");
        let missing = Root::open(&temp.path().join("link/not/yet")).expect("opens");
        assert_eq!(missing.path(), there.path().join("sub/not/yet"));
        missing.create().expect("created");
        assert_eq!(
            missing.path().canonicalize().expect("there"),
            missing.path()
        );
    }

    #[test]
    fn a_pipe_and_a_socket_are_left_alone() {
        let (temp, root) = root();
        let socket = temp.path().join("socket.md");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).expect("bound");
        let made = std::process::Command::new("mkfifo")
            .arg(temp.path().join("pipe.md"))
            .status();
        assert!(made.expect("runs").success());
        for name in ["socket.md", "pipe.md"] {
            let error = root.read(name).expect_err("no file");
            assert!(error.to_string().contains("not a regular file"), "{error}");
        }
        let error = root.read("sub").expect_err("a folder");
        assert!(matches!(error, Error::Io { .. }), "{error:?}");
    }

    #[test]
    fn a_path_may_lead_through_forty_links() {
        use std::os::unix::fs::symlink;
        let (temp, root) = root();
        symlink("MEMORY.md", temp.path().join("1.md")).expect("link");
        for number in 2..=41 {
            let before = format!("{}.md", number - 1);
            symlink(before, temp.path().join(format!("{number}.md"))).expect("link");
        }
        assert_eq!(root.resolve("40.md").expect("inside"), "MEMORY.md");
        assert!(matches!(root.resolve("41.md"), Err(Error::Escapes { .. })));
    }

    #[test]
    fn a_link_swapped_in_after_the_check_leads_nowhere() {
        use std::os::unix::fs::symlink;
        let (temp, root) = root();
        let outside = tempfile::tempdir().expect("outside");
        let path = root.resolve("sub/new.md").expect("inside");
        std::fs::remove_dir_all(temp.path().join("sub")).expect("removed");
        symlink(outside.path(), temp.path().join("sub")).expect("link");
        assert!(root.stage(&path, b"x", &Attributes::default()).is_err());
        assert_eq!(
            std::fs::read_dir(outside.path()).expect("read").count(),
            0,
            "nothing may appear outside"
        );
    }

    #[test]
    fn a_directory_that_was_replaced_is_the_one_that_is_used() {
        let (temp, root) = root();
        std::fs::remove_dir_all(temp.path()).expect("removed");
        assert!(!root.exists());
        assert_eq!(root.read("MEMORY.md").expect("reads"), None);
        std::fs::create_dir(temp.path()).expect("made again");
        std::fs::write(temp.path().join("b.md"), "b\n").expect("file");
        assert!(root.exists());
        assert_eq!(root.markdown("", 1).expect("lists").len(), 1);
        assert_eq!(root.read("b.md").expect("reads"), Some(b"b\n".to_vec()));
        root.stage("c.md", b"c\n", &Attributes::default())
            .expect("staged");
        assert_eq!(
            std::fs::read(temp.path().join("c.md")).expect("reads"),
            b"c\n"
        );
    }

    #[test]
    fn a_link_that_took_the_place_of_the_root_is_not_followed() {
        use std::os::unix::fs::symlink;
        let (temp, root) = root();
        let outside = tempfile::tempdir().expect("outside");
        std::fs::write(outside.path().join("x.md"), "x").expect("file");
        let aside = temp.path().with_extension("aside");
        std::fs::rename(temp.path(), &aside).expect("moved");
        symlink(outside.path(), temp.path()).expect("link");
        assert!(root.read("x.md").is_err());
        assert!(root.stage("y.md", b"y", &Attributes::default()).is_err());
        assert!(!outside.path().join("y.md").exists());
        std::fs::remove_file(temp.path()).expect("removed");
        std::fs::rename(&aside, temp.path()).expect("moved back");
    }

    #[test]
    fn a_missing_root_is_the_first_missing_folder_and_can_be_taken_away_again() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let root = Root::open(&temp.path().join("new")).expect("opens");
        assert_eq!(root.missing_folders("a/b.md"), ["", "a"]);
        root.make_folders("a/b.md").expect("made");
        assert_eq!(root.missing_folders("a/b.md"), [""; 0]);
        root.remove_folder("");
        assert!(root.exists(), "it is not empty");
        root.remove_folder("a");
        root.remove_folder("");
        assert!(!root.exists());
    }

    #[test]
    fn visible_notes_are_listed_as_deep_as_asked() {
        let (temp, root) = root();
        std::fs::create_dir_all(temp.path().join("sub/deep")).expect("a folder");
        std::fs::create_dir(temp.path().join(".hidden")).expect("a folder");
        for name in ["sub/deep/b.md", "sub/b.txt", ".c.md", ".hidden/d.md"] {
            std::fs::write(temp.path().join(name), "x").expect("written");
        }
        let listed = |folder: &str, depth: usize| -> Vec<String> {
            let found = root.markdown(folder, depth).expect("lists");
            found.into_iter().map(|file| file.path).collect()
        };
        assert_eq!(listed("", 0), ["MEMORY.md"]);
        assert_eq!(listed("", 1), ["MEMORY.md", "sub/a.md"]);
        assert_eq!(listed("", 2), ["MEMORY.md", "sub/a.md", "sub/deep/b.md"]);
        assert_eq!(listed("sub", 0), ["sub/a.md"]);
        assert_eq!(listed("sub", 1), ["sub/a.md", "sub/deep/b.md"]);
        assert!(listed("none", 1).is_empty());
    }

    #[test]
    fn what_is_known_of_a_file_is_its_size_and_time() {
        let (temp, root) = root();
        let mut options = std::fs::File::options();
        let file = options.write(true).open(temp.path().join("sub/a.md"));
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_millis(1_600_000_000_123);
        file.expect("opens").set_modified(time).expect("set");
        let found = root.find_file("sub/a.md").expect("there");
        assert_eq!((found.size, found.modified), (2, 1_600_000_000_123));
        assert_eq!(root.find_file("sub"), None);
        assert_eq!(root.find_file("none.md"), None);
    }

    #[test]
    fn the_largest_memory_is_read_whole_and_a_larger_one_is_refused() {
        let (temp, root) = root();
        let path = temp.path().join("large.md");
        let file = std::fs::File::create(&path).expect("made");
        file.set_len(LARGEST_MEMORY).expect("a size");
        let read = root.read("large.md").expect("reads").expect("there");
        assert_eq!(read.len() as u64, LARGEST_MEMORY);
        file.set_len(LARGEST_MEMORY + 1).expect("a size");
        let error = root.read("large.md").expect_err("too large");
        assert!(error.to_string().contains("too large"), "{error}");
        std::fs::write(&path, "").expect("written");
        assert_eq!(root.read("large.md").expect("reads"), Some(Vec::new()));
    }

    #[test]
    fn the_longest_name_is_taken_and_a_longer_one_is_not() {
        let (_temp, root) = root();
        let longest = format!("sub/{}.md", "x".repeat(252));
        assert_eq!(root.resolve(&longest).expect("fits"), longest);
        assert!(
            root.resolve(&format!("sub/{}.md", "x".repeat(253)))
                .is_err()
        );
    }

    #[test]
    fn folders_are_not_made_below_a_file() {
        let (_temp, root) = root();
        assert_eq!(root.missing_folders("sub/x/y/z.md"), ["sub/x", "sub/x/y"]);
        root.make_folders("sub/x/y/z.md").expect("made");
        assert!(root.is_dir("sub/x/y"));
        let error = root.make_folders("MEMORY.md/x/y.md").expect_err("a file");
        assert!(error.to_string().contains("MEMORY.md/x"), "{error}");
    }

    #[test]
    fn a_missing_root_has_no_files_and_a_stable_name() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let root = Root::open(&temp.path().join("not/yet")).expect("opens");
        assert!(!root.exists());
        assert_eq!(root.markdown("", 3).expect("lists"), []);
        assert_eq!(root.read("x.md").expect("reads"), None);
        let named = root.path().to_owned();
        root.create().expect("created");
        assert_eq!(named.canonicalize().expect("canonical"), named);
    }
}
