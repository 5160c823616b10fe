//! The directories of logs, and functions to list and open the files in them.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Component, Path, PathBuf};
use std::time::UNIX_EPOCH;

use super::json::{self, Object};
use super::{Agent, LogFile, antigravity, fork};
use crate::core::disk::foreign::{LARGEST_LOG, LARGEST_WHOLE, open_capped, read_capped};
use crate::core::disk::trust::TrustBoundary;
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
    /// The `User` directories of VS Code and of editors made from it, e.g. `~/.config/Code/User`.
    pub editors: Vec<PathBuf>,
    /// Cline's directories, e.g. `~/.cline`.
    pub cline: Vec<PathBuf>,
    /// Qwen Code's directories, e.g. `~/.qwen`.
    pub qwen: Vec<PathBuf>,
    /// Kiro's directories, e.g. `~/.kiro`.
    pub kiro: Vec<PathBuf>,
    /// Directories of Kiro's database, e.g. `~/.local/share/kiro-cli`.
    pub kiro_data: Vec<PathBuf>,
    /// Directories of Kimi Code and Kimi CLI, e.g. `~/.kimi-code`.
    pub kimi: Vec<PathBuf>,
    /// Goose's data directories, e.g. `~/.local/share/goose`.
    pub goose: Vec<PathBuf>,
    /// Crush's data directories, e.g. `~/.local/share/crush`.
    pub crush: Vec<PathBuf>,
    /// OpenClaw's directories, e.g. `~/.openclaw`.
    pub openclaw: Vec<PathBuf>,
    /// Hermes' homes, e.g. `~/.hermes`.
    pub hermes: Vec<PathBuf>,
    /// Vibe's homes, e.g. `~/.vibe`.
    pub vibe: Vec<PathBuf>,
    /// Grok's homes, e.g. `~/.grok`.
    pub grok: Vec<PathBuf>,
    /// Amp's data directories, e.g. `~/.local/share/amp`.
    pub amp: Vec<PathBuf>,
    /// OpenHands' directories, e.g. `~/.openhands`.
    pub openhands: Vec<PathBuf>,
    /// Zed's data directories, e.g. `~/.local/share/zed`.
    pub zed: Vec<PathBuf>,
    /// Warp's state directories, e.g. `~/.local/state/warp-terminal`.
    pub warp: Vec<PathBuf>,
    /// Homes of agents that write the logs of another one.
    pub forks: Vec<(Agent, PathBuf)>,
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
        let all = |paths: &[&str]| paths.iter().map(|path| home.join(path)).collect();
        Self {
            claude: vec![home.join(".claude"), home.join(".config/claude")],
            codex: one(".codex"),
            gemini: one(".gemini"),
            copilot: one(".copilot"),
            opencode: one(".local/share/opencode"),
            pi: one(".pi/agent"),
            factory: one(".factory"),
            cursor: one(".cursor"),
            editors: editors(home),
            cline: one(".cline"),
            qwen: one(".qwen"),
            kiro: one(".kiro"),
            kiro_data: all(&[
                ".local/share/kiro-cli",
                "Library/Application Support/kiro-cli",
            ]),
            kimi: all(&[".kimi-code", ".kimi"]),
            goose: one(".local/share/goose"),
            crush: one(".local/share/crush"),
            openclaw: all(&[".openclaw", ".clawdbot", ".moltbot"]),
            hermes: one(".hermes"),
            vibe: one(".vibe"),
            grok: one(".grok"),
            amp: one(".local/share/amp"),
            openhands: one(".openhands"),
            zed: all(&[
                ".local/share/zed",
                ".var/app/dev.zed.Zed/data/zed",
                "Library/Application Support/Zed",
            ]),
            warp: all(&[
                ".local/state/warp-terminal",
                ".local/state/warp-terminal-preview",
                "Library/Application Support/dev.warp.Warp-Stable",
                "Library/Group Containers/2BBY89MBSN.dev.warp/Library/Application Support/dev.warp.Warp-Stable",
            ]),
            forks: fork::homes(home),
            sessions: one(".ai/sessions"),
            ..Self::default()
        }
    }

    /// Removes the logs that may not be read. One in a project or a store must really be there or in
    /// a trusted directory, because a link in a repository must not turn any file into a log.
    pub(super) fn remove_untrusted(&self, logs: &mut Vec<LogFile>) {
        let theirs = self.projects.iter().chain(&self.stores);
        let theirs: HashSet<&Path> = theirs.map(PathBuf::as_path).collect();
        logs.retain(|log| {
            let is_theirs = log
                .path
                .parent()
                .is_some_and(|place| theirs.contains(place));
            !is_theirs || self.trusts(&log.path)
        });
    }

    /// Whether a log in a project or a store may be read.
    fn trusts(&self, log: &Path) -> bool {
        let store = self.stores.iter();
        let store = store.filter(|store| log.parent() == Some(store)).take(1);
        let root = self.projects.last().map(PathBuf::as_path);
        let Some(root) = root.or_else(|| log.parent()) else {
            return false;
        };
        let allowed = self.trusted.iter().chain(store).cloned();
        TrustBoundary::of_project(root, allowed).check(log).is_ok()
    }

    /// Returns the directories under which new logs appear, for watching.
    ///
    /// Directories of databases are left out: reading a database changes files beside it, which
    /// would be reported as a new log.
    pub fn roots(&self) -> Vec<PathBuf> {
        let forks = [
            (fork::homes_of(self, Agent::ClaudeCode), "projects"),
            (fork::homes_of(self, Agent::Codex), "sessions"),
            (fork::homes_of(self, Agent::Pi), "sessions"),
        ];
        let further = [
            (&self.codex, "archived_sessions"),
            (&self.opencode, "storage"),
            (&self.cline, "data/tasks"),
        ];
        let own = self.places().into_iter().filter(|place| place.3);
        let all = own.map(|(_, homes, folder, _)| (homes, folder));
        let all = all.chain(further);
        let all = all.chain(forks.iter().map(|(homes, folder)| (homes, *folder)));
        let below = |(homes, folder): (&Vec<PathBuf>, &str)| -> Vec<PathBuf> {
            homes.iter().map(|home| home.join(folder)).collect()
        };
        let mut roots: Vec<PathBuf> = all.flat_map(below).collect();
        roots.extend(antigravity::roots(self));
        roots.extend(self.sessions.iter().cloned());
        roots
    }

    /// The homes of each agent, the folder in them that its logs are below, and whether new ones appear
    /// there as files.
    pub(in crate::core) fn places(&self) -> [(Agent, &Vec<PathBuf>, &'static str, bool); 24] {
        [
            (Agent::ClaudeCode, &self.claude, "projects", true),
            (Agent::Codex, &self.codex, "sessions", true),
            (Agent::Gemini, &self.gemini, "tmp", true),
            (Agent::Copilot, &self.copilot, "session-state", true),
            (Agent::Opencode, &self.opencode, "", false),
            (Agent::Pi, &self.pi, "sessions", true),
            (Agent::Factory, &self.factory, "sessions", true),
            (Agent::Cursor, &self.cursor, "projects", true),
            (Agent::CopilotChat, &self.editors, "workspaceStorage", false),
            (
                Agent::Antigravity,
                &self.gemini,
                "antigravity-cli/brain",
                false,
            ),
            (Agent::Cline, &self.cline, "data/sessions", true),
            (Agent::Qwen, &self.qwen, "projects", true),
            (Agent::Kiro, &self.kiro, "sessions", true),
            (Agent::Kimi, &self.kimi, "sessions", true),
            (Agent::Goose, &self.goose, "sessions", false),
            (Agent::Crush, &self.crush, "", false),
            (Agent::Openclaw, &self.openclaw, "agents", true),
            (Agent::Hermes, &self.hermes, "", false),
            (Agent::Vibe, &self.vibe, "logs/session", true),
            (Agent::Grok, &self.grok, "sessions", true),
            (Agent::Amp, &self.amp, "threads", true),
            (Agent::Openhands, &self.openhands, "conversations", true),
            (Agent::Zed, &self.zed, "threads", false),
            (Agent::Warp, &self.warp, "", false),
        ]
    }
}

/// Returns where VS Code and the editors made from it keep their data, on any system.
fn editors(home: &Path) -> Vec<PathBuf> {
    const PLACES: [&str; 2] = [".config", "Library/Application Support"];
    const NAMES: [&str; 6] = [
        "Code",
        "Code - Insiders",
        "VSCodium",
        "Cursor",
        "Windsurf",
        "Kiro",
    ];
    const SERVERS: [&str; 3] = [
        ".vscode-server",
        ".vscode-server-insiders",
        ".cursor-server",
    ];
    let local = PLACES
        .iter()
        .flat_map(|place| NAMES.map(|name| home.join(place).join(name).join("User")));
    let remote = SERVERS.map(|server| home.join(server).join("data/User"));
    local.chain(remote).collect()
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
    let (path, file) = match open_capped(path, LARGEST_LOG) {
        Ok(file) => (path.to_owned(), file),
        Err(Error::NotFound { .. }) => {
            let twin = other_form(path);
            let file = open_capped(&twin, LARGEST_LOG).map_err(|error| match error {
                Error::NotFound { .. } => missing(path),
                error => error,
            })?;
            (twin, file)
        }
        Err(error) => return Err(error),
    };
    if is_compressed(&path) {
        let plain = zstd::Decoder::new(file).map_err(|error| Error::io(&path, error))?;
        // A small file can decompress to any length; what is cut off ends in a partial record.
        let plain = plain.take(LARGEST_LOG);
        return Ok(Box::new(BufReader::with_capacity(BUFFER, plain)));
    }
    Ok(Box::new(BufReader::with_capacity(BUFFER, file)))
}

/// Opens a log that is not compressed for reading from an offset in bytes.
pub(super) fn open_at(path: &Path, offset: u64) -> Result<Box<dyn BufRead>> {
    if offset == 0 {
        return open(path);
    }
    let mut file = open_capped(path, LARGEST_LOG).map_err(|error| match error {
        Error::NotFound { .. } => missing(path),
        error => error,
    })?;
    let sought = file.seek(SeekFrom::Start(offset));
    sought.map_err(|error| Error::io(path, error))?;
    Ok(Box::new(BufReader::with_capacity(BUFFER, file)))
}

/// Buffer size in bytes; large enough for most records.
const BUFFER: usize = 128 * 1024;

/// Reads a whole file of at most [`LARGEST_WHOLE`] bytes.
pub(super) fn bytes(path: &Path) -> Result<Vec<u8>> {
    read_capped(path, LARGEST_WHOLE)
}

/// Calls `read` with the JSON object in a small file; `None` if there is none.
pub(super) fn with_object<T>(path: &Path, read: impl FnOnce(&Object<'_>) -> T) -> Option<T> {
    let bytes = bytes(path).ok()?;
    let (object, _) = json::object(bytes.trim_ascii()).ok()?;
    Some(read(&object))
}

/// Returns the folder that an editor has open, whose storage for it is in this directory.
pub(in crate::core) fn folder_of_workspace(storage: &Path) -> Option<String> {
    let folder = |workspace: &Object<'_>| path_of_uri(&workspace.text("folder")?);
    with_object(&storage.join("workspace.json"), folder)?
}

/// Returns the entries of a directory, sorted; empty if it cannot be read.
pub(super) fn entries(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else {
        return Vec::new();
    };
    // Names are compared faster than paths, and have the same order.
    let mut names: Vec<OsString> = entries.flatten().map(|entry| entry.file_name()).collect();
    names.sort_unstable();
    names.iter().map(|name| directory.join(name)).collect()
}

/// Returns the logs in a directory, each with what is before `ending` in its name as its id, and
/// the paths of all other entries; both are sorted by name.
pub(super) fn logs_in(
    directory: &Path,
    agent: Agent,
    ending: &str,
) -> (Vec<LogFile>, Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(directory) else {
        return Default::default();
    };
    let mut others = Vec::new();
    let mut logs = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name();
        if !name.as_encoded_bytes().ends_with(ending.as_bytes()) {
            others.push(name);
            continue;
        }
        // Asking the open directory is faster than asking for the path, but does not follow links.
        let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
        let metadata = if is_link {
            fs::metadata(entry.path())
        } else {
            entry.metadata()
        };
        if let Ok(metadata) = metadata
            && metadata.is_file()
        {
            logs.push((name, metadata));
        }
    }
    others.sort_unstable();
    logs.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
    let logs = logs.into_iter().map(|(name, metadata)| {
        let path = directory.join(&name);
        let mut id = name
            .into_string()
            .unwrap_or_else(|name| name.to_string_lossy().into_owned());
        id.truncate(id.len() - ending.len());
        described(agent, path, id, &metadata)
    });
    let others = others.iter().map(|name| directory.join(name));
    (logs.collect(), others.collect())
}

/// Describes the logs under a directory: the files to whose names `id_of` gives an id. Links are not
/// followed.
pub(super) fn logs_under(
    agent: Agent,
    directory: PathBuf,
    id_of: &dyn Fn(&str) -> Option<String>,
) -> Vec<LogFile> {
    let mut logs = Vec::new();
    let mut directories = vec![directory];
    while let Some(directory) = directories.pop() {
        let Ok(entries) = fs::read_dir(&directory) else {
            continue;
        };
        for entry in entries.flatten() {
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            let name = entry.file_name();
            if kind.is_dir() {
                directories.push(directory.join(&name));
            } else if kind.is_file()
                && let Some(id) = id_of(&name.to_string_lossy())
                && let Ok(metadata) = entry.metadata()
            {
                logs.push(described(agent, directory.join(&name), id, &metadata));
            }
        }
    }
    logs
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

/// How many folders above a log tell its place; the formats look no further up.
const FOLDERS: usize = 3;

/// Returns the name of a file and of the folders above it, which a kept copy has, too.
pub(super) fn tail(path: &Path) -> PathBuf {
    let names = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name),
        _ => None,
    });
    let names: Vec<_> = names.collect();
    names[names.len().saturating_sub(FOLDERS + 1)..]
        .iter()
        .collect()
}

/// Describes the file at `path`; `None` if there is none.
pub(super) fn found(agent: Agent, path: PathBuf, id: String) -> Option<LogFile> {
    let metadata = fs::metadata(&path).ok().filter(fs::Metadata::is_file)?;
    Some(described(agent, path, id, &metadata))
}

fn described(agent: Agent, path: PathBuf, id: String, metadata: &fs::Metadata) -> LogFile {
    LogFile {
        size: metadata.len(),
        modified: modified(metadata),
        changed: changed(metadata),
        ..LogFile::new(agent, path, id)
    }
}

/// Returns the path of a `file:` URI; `None` for any other text.
pub(super) fn path_of_uri(uri: &str) -> Option<String> {
    let path = uri.strip_prefix("file://")?;
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        let digits = after
            .get(..2)
            .and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match (byte, escaped) {
            (b'%', Some(escaped)) => {
                bytes.push(escaped);
                rest = &after[2..];
            }
            _ => {
                bytes.push(*byte);
                rest = after;
            }
        }
    }
    let path = String::from_utf8_lossy(&bytes).into_owned();
    path.starts_with('/').then_some(path)
}

/// Returns the modification time, in milliseconds since 1970 UTC.
pub(super) fn modified(metadata: &fs::Metadata) -> Option<i64> {
    let since = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok()
}

/// Returns when the file system noted a change of a file, in nanoseconds.
fn changed(metadata: &fs::Metadata) -> Option<i64> {
    use std::os::unix::fs::MetadataExt as _;
    const SECOND: i64 = 1_000_000_000;
    metadata
        .ctime()
        .checked_mul(SECOND)?
        .checked_add(metadata.ctime_nsec())
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
    use super::*;
    use crate::core::fixture::Home;

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
    fn the_logs_in_a_directory_are_those_that_are_found_one_by_one() {
        let home = Home::new();
        for file in [
            "b.jsonl",
            "a.jsonl",
            "a-1.jsonl",
            "c.json",
            "d/e.jsonl",
            "f.jsonl/g",
        ] {
            home.write(&format!("logs/{file}"), file);
        }
        let directory = home.path().join("logs");
        for (link, to) in [("link.jsonl", "d/e.jsonl"), ("gone.jsonl", "nothing")] {
            std::os::unix::fs::symlink(directory.join(to), directory.join(link)).expect("a link");
        }
        let (logs, others) = logs_in(&directory, Agent::Pi, ".jsonl");
        let expected = entries(&directory).into_iter().filter_map(|path| {
            let id = stem(&path, ".jsonl")?;
            found(Agent::Pi, path, id)
        });
        assert_eq!(logs, expected.collect::<Vec<LogFile>>());
        let ids = logs.iter().map(|log| log.id.as_str());
        assert_eq!(ids.collect::<Vec<_>>(), ["a-1", "a", "b", "link"]);
        assert_eq!(others, [directory.join("c.json"), directory.join("d")]);
        assert_eq!(
            logs_in(&home.path().join("none"), Agent::Pi, ".jsonl"),
            (vec![], vec![])
        );
    }

    #[test]
    fn the_other_form_of_a_log_is_beside_it() {
        let plain = Path::new("/a/rollout.jsonl");
        let packed = Path::new("/a/rollout.jsonl.zst");
        assert_eq!(other_form(plain), packed);
        assert_eq!(other_form(packed), plain);
    }

    #[test]
    fn a_uri_of_a_file_is_a_path() {
        let cases = [
            ("file:///home/kim/a%20shop", Some("/home/kim/a shop")),
            ("file:///a%zz%", Some("/a%zz%")),
            ("vscode-remote://ssh/repo", None),
            ("file://", None),
        ];
        for (uri, path) in cases {
            assert_eq!(path_of_uri(uri).as_deref(), path, "{uri}");
        }
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
