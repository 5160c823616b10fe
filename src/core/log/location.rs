//! The directories of logs, and functions to list and open the files in them.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use super::{Agent, LogFile, LogStart};
use crate::core::trust::TrustBoundary;
use crate::core::{Error, Result};

/// The directories to search; the caller sets them from home, environment and settings.
///
/// Each is a list, because an agent may have been moved. Missing directories are ignored.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogLocations {
    /// Claude Code's configuration directories, e.g. `~/.claude`.
    pub claude: Vec<PathBuf>,
    /// Codex's homes, e.g. `~/.codex`.
    pub codex: Vec<PathBuf>,
    /// Gemini CLI's homes, e.g. `~/.gemini`.
    pub gemini: Vec<PathBuf>,
    /// Copilot CLI's homes, e.g. `~/.copilot`.
    pub copilot: Vec<PathBuf>,
    /// OpenCode's data directories, e.g. `~/.local/share/opencode`.
    pub opencode: Vec<PathBuf>,
    /// OpenCode databases in other places.
    pub opencode_databases: Vec<PathBuf>,
    /// pi's directories, e.g. `~/.pi/agent`.
    pub pi: Vec<PathBuf>,
    /// Factory's directories, e.g. `~/.factory`.
    pub factory: Vec<PathBuf>,
    /// Cursor's directories, e.g. `~/.cursor`.
    pub cursor: Vec<PathBuf>,
    /// Directories of the session layout, e.g. `~/.ai/sessions`.
    pub sessions: Vec<PathBuf>,
    /// Roots of single stores that may hold a `messages.jsonl` or an `events.jsonl`.
    pub stores: Vec<PathBuf>,
    /// Projects that Aider may have been used in: the working directory and the folders above it,
    /// the project's root last.
    pub projects: Vec<PathBuf>,
    /// Directories below which chats of Aider are looked for.
    pub aider: Vec<PathBuf>,
    /// Directories that a link to a log in a project or a store may point into.
    pub trusted: Vec<PathBuf>,
}

impl LogLocations {
    /// Returns the default directories under `home`.
    pub fn of_home(home: &Path) -> Self {
        let one = |path: &str| vec![home.join(path)];
        Self {
            claude: vec![home.join(".claude"), home.join(".config/claude")],
            codex: one(".codex"),
            gemini: one(".gemini"),
            copilot: one(".copilot"),
            opencode: one(".local/share/opencode"),
            pi: one(".pi/agent"),
            factory: one(".factory"),
            cursor: one(".cursor"),
            sessions: one(".ai/sessions"),
            ..Self::default()
        }
    }

    /// Whether a log may be read. One in a project or a store must really be there or in a trusted
    /// directory, because a link in a repository must not turn any file into a log.
    pub(super) fn trusts(&self, log: &LogFile) -> bool {
        let Some(folder) = log.path.parent() else {
            return true;
        };
        let is_here = |place: &&PathBuf| *place == folder;
        let mut theirs = self.projects.iter().chain(&self.stores);
        if !theirs.any(|place| is_here(&place)) {
            return true;
        }
        let root = self.projects.last().map_or(folder, PathBuf::as_path);
        let store = self.stores.iter().find(is_here).cloned();
        let allowed = self.trusted.iter().cloned().chain(store);
        TrustBoundary::environment(root, allowed)
            .check(&log.path)
            .is_ok()
    }

    /// Returns the directories under which new logs appear, for watching.
    ///
    /// Directories of databases are left out: reading a database changes files beside it, which
    /// would be reported as a new log.
    pub fn roots(&self) -> Vec<PathBuf> {
        let below = |homes: &[PathBuf], folders: &[&str]| -> Vec<PathBuf> {
            let pairs = homes
                .iter()
                .flat_map(|home| folders.iter().map(|folder| home.join(folder)));
            pairs.collect()
        };
        [
            below(&self.claude, &["projects"]),
            below(&self.codex, &["sessions", "archived_sessions"]),
            below(&self.gemini, &["tmp"]),
            below(&self.copilot, &["session-state"]),
            below(&self.opencode, &["storage"]),
            below(&self.pi, &["sessions"]),
            below(&self.factory, &["sessions"]),
            below(&self.cursor, &["projects"]),
            self.sessions.clone(),
        ]
        .concat()
    }
}

/// The file name ending of a compressed log.
const COMPRESSED: &str = ".zst";

/// Whether the file is compressed.
pub(super) fn is_compressed(path: &Path) -> bool {
    path.as_os_str().to_string_lossy().ends_with(COMPRESSED)
}

/// Opens a log for reading from its beginning, compressed or not.
///
/// Codex compresses and restores its logs in place, so a missing file is looked for in its
/// other form.
pub(super) fn open(path: &Path) -> Result<Box<dyn BufRead>> {
    let (path, file) = match File::open(path) {
        Ok(file) => (path.to_owned(), file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let twin = other_form(path);
            let file = File::open(&twin).map_err(|_| missing(path))?;
            (twin, file)
        }
        Err(error) => return Err(Error::io(path, error)),
    };
    if is_compressed(&path) {
        let plain = zstd::Decoder::new(file).map_err(|error| Error::io(&path, error))?;
        return Ok(Box::new(BufReader::with_capacity(BUFFER, plain)));
    }
    Ok(Box::new(BufReader::with_capacity(BUFFER, file)))
}

/// Opens a log that is not compressed for reading from an offset in bytes.
pub(super) fn open_at(path: &Path, offset: u64) -> Result<Box<dyn BufRead>> {
    if offset == 0 {
        return open(path);
    }
    let file = File::open(path).and_then(|mut file| {
        file.seek(SeekFrom::Start(offset))?;
        Ok(file)
    });
    match file {
        Ok(file) => Ok(Box::new(BufReader::with_capacity(BUFFER, file))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(missing(path)),
        Err(error) => Err(Error::io(path, error)),
    }
}

/// Buffer size in bytes; large enough for most records.
const BUFFER: usize = 128 * 1024;

/// Reads a whole file.
pub(super) fn bytes(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => missing(path),
        _ => Error::io(path, error),
    })
}

/// Returns the entries of a directory, sorted; empty if it cannot be read.
pub(super) fn entries(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// Returns every file under a directory; links are not followed.
pub(super) fn files_under(directory: &Path) -> Vec<PathBuf> {
    walkdir::WalkDir::new(directory)
        .into_iter()
        .flatten()
        .filter(|entry| entry.file_type().is_file())
        .map(walkdir::DirEntry::into_path)
        .collect()
}

/// Returns the name of the file or directory; empty if the path has none.
pub(super) fn name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// Returns the file's name without `ending`, if it has that ending.
pub(super) fn stem(path: &Path, ending: &str) -> Option<String> {
    name(path).strip_suffix(ending).map(str::to_owned)
}

/// Describes the file at `path`; `None` if there is none.
pub(super) fn found(agent: Agent, path: PathBuf, id: String) -> Option<LogFile> {
    let metadata = fs::metadata(&path).ok().filter(fs::Metadata::is_file)?;
    Some(LogFile {
        agent,
        path,
        id,
        parent: None,
        title: None,
        size: metadata.len(),
        modified: modified(&metadata),
        start: LogStart::default(),
    })
}

/// Returns the modification time, in milliseconds since 1970 UTC.
pub(super) fn modified(metadata: &fs::Metadata) -> Option<i64> {
    let since = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok()
}

/// Returns the other form of a log: compressed for plain, plain for compressed.
fn other_form(path: &Path) -> PathBuf {
    if is_compressed(path) {
        return path.with_extension("");
    }
    let mut text = path.as_os_str().to_owned();
    text.push(COMPRESSED);
    PathBuf::from(text)
}

fn missing(path: &Path) -> Error {
    Error::not_found(path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::super::fixture::Home;
    use super::*;

    #[test]
    fn only_files_are_found_and_their_size_and_time_are_known() {
        let home = Home::new();
        home.write("a/log.jsonl", "12345");
        let path = home.path().join("a/log.jsonl");
        let log = found(Agent::Pi, path, "log".to_owned()).expect("it is there");
        assert_eq!(log.size, 5);
        assert!(
            log.modified
                .is_some_and(|modified| modified > 1_600_000_000_000)
        );
        assert_eq!(found(Agent::Pi, home.path().join("a"), String::new()), None);
        assert_eq!(found(Agent::Pi, home.path().join("b"), String::new()), None);
    }

    #[test]
    fn the_other_form_of_a_log_is_beside_it() {
        let plain = Path::new("/a/rollout.jsonl");
        let packed = Path::new("/a/rollout.jsonl.zst");
        assert_eq!(other_form(plain), packed);
        assert_eq!(other_form(packed), plain);
    }

    #[test]
    fn names_end_as_asked() {
        assert_eq!(
            stem(Path::new("/a/b.jsonl"), ".jsonl").as_deref(),
            Some("b")
        );
        assert_eq!(stem(Path::new("/a/b.json"), ".jsonl"), None);
        assert_eq!(name(Path::new("/")), "");
    }
}
