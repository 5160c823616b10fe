//! Copies of logs that an agent would delete, kept in tome's data directory.
//!
//! Claude Code deletes its logs after thirty days. A kept log is an exact copy of its files, with the
//! names of the folders above them; what only the place of a log or the files beside it tell (title,
//! project, session) is in a description. It is read and searched like the original, and replaces it
//! after the original is deleted.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::core::disk::foreign::{LARGEST_LOG, LARGEST_SETTINGS, open_capped, read_capped};
use crate::core::disk::private;
use crate::core::log::{
    Agent, Head, LogFile, Transcript, cursor, database, location, opencode, openhands, read,
    session,
};
use crate::core::{Error, Result};

/// The log that a copy was made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Original {
    /// Its path.
    pub path: PathBuf,
    /// Its metadata, which its place and the files beside it may have told.
    pub head: Head,
}

/// The description of the copy of a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Description {
    /// The log as it was found, with the path of the original.
    #[serde(flatten)]
    log: LogFile,
    /// The metadata of the original.
    #[serde(default)]
    head: Head,
    /// The path of the copy in the folder of its agent.
    copy: PathBuf,
}

/// The folder of the descriptions; those of the copies are called like agents.
const DESCRIPTIONS: &str = "descriptions";

/// How many folders above a log are named in the path of its copy; the formats look no further up.
const FOLDERS: usize = 3;

/// Copies `log` and those of its subagents to `dir`; adds their ids and the copies. What is a copy
/// already is left out, and so is an empty log of a subagent. One that cannot be kept holds up no
/// other; the first error is returned.
pub fn keep_session(
    dir: &Path,
    log: &LogFile,
    all: &[LogFile],
    copies: &mut Vec<(String, PathBuf)>,
) -> Result<()> {
    let belongs = |other: &&LogFile| {
        other.agent == log.agent && other.parent.as_deref() == Some(log.id.as_str())
    };
    let subagents = all.iter().filter(belongs).filter(|log| log.size > 0);
    let mut done = Ok(());
    for log in std::iter::once(log).chain(subagents) {
        if log.path.starts_with(dir) {
            continue;
        }
        match keep(dir, log) {
            Ok(copy) => copies.push((log.id.clone(), copy)),
            Err(error) => done = done.and(Err(error)),
        }
    }
    done
}

/// Copies `log` to `dir`. A copy counts only if it was read back and has every message of the
/// original. An earlier copy is replaced, unless it has messages that the log no longer has.
pub fn keep(dir: &Path, log: &LogFile) -> Result<PathBuf> {
    if log.size == 0 && !log.path.is_file() {
        return Err(not_a_file(log));
    }
    let agent = dir.join(log.agent.name());
    let descriptions = dir.join(DESCRIPTIONS);
    for path in [dir, &agent, &descriptions] {
        private::create_dir(path).map_err(|e| Error::io(path, e))?;
    }
    let original = read(log)?;
    let tail = tail(&log.path);
    let folder = private::create_unique_dir(&agent, &format!("{}-", safe_name(log)));
    let folder = folder.map_err(|e| Error::io(&agent, e))?;
    let made = copy_log(log, &folder, &tail)
        .and_then(|()| check_copy(log, &original, &folder.join(&tail)))
        .and_then(|texts| {
            private::flush_dir(&agent).map_err(|e| Error::io(&agent, e))?;
            Ok(texts)
        });
    if made.is_err() {
        // A folder without a description is not read.
        drop(fs::remove_dir_all(&folder));
    }
    let place = free_place(dir, log, &made?);
    let description = Description {
        log: LogFile {
            title: log.title.clone().or(original.head.title.clone()),
            ..log.clone()
        },
        head: original.head,
        copy: Path::new(&location::name(&folder)).join(&tail),
    };
    let beside = &place.description;
    let text = serde_json::to_vec(&description).map_err(|e| Error::io(beside, e.into()))?;
    // From now on the new copy counts, and until now the earlier one: neither is ever without a
    // description.
    let written = private::replace(beside, |file| file.write_all(&text));
    written.map_err(|e| Error::io(beside, e))?;
    if let Some(earlier) = place.earlier {
        // What is left is named by doctor.
        drop(fs::remove_dir_all(agent.join(earlier)));
    }
    Ok(agent.join(description.copy))
}

/// Where the description of a copy goes.
struct DescriptionPlace {
    description: PathBuf,
    /// The folder of the earlier copy that it described.
    earlier: Option<PathBuf>,
}

/// Returns the first place that is free, or that of an earlier copy whose messages the new one has.
fn free_place(dir: &Path, log: &LogFile, texts: &[String]) -> DescriptionPlace {
    let usual = format!("{}-{}", log.agent.name(), safe_name(log));
    let place_of = |name: String| dir.join(DESCRIPTIONS).join(name + ".json");
    let further = (2..).map(|number| format!("{usual}-{number}"));
    let mut description = place_of(usual.clone());
    for next in further {
        let Some((_, copy)) = described(dir, &description) else {
            break;
        };
        if read(&copy).is_ok_and(|copied| texts.starts_with(&texts_of(&copied))) {
            let inside = copy.path.strip_prefix(dir.join(log.agent.name())).ok();
            let first = inside.and_then(|inside| match inside.components().next()? {
                Component::Normal(name) => Some(PathBuf::from(name)),
                _ => None,
            });
            return DescriptionPlace {
                description,
                earlier: first,
            };
        }
        description = place_of(next);
    }
    DescriptionPlace {
        description,
        earlier: None,
    }
}

/// Returns the name of a file and of the folders above it.
fn tail(path: &Path) -> PathBuf {
    let names = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name),
        _ => None,
    });
    let names: Vec<_> = names.collect();
    names[names.len().saturating_sub(FOLDERS + 1)..]
        .iter()
        .collect()
}

fn texts_of(transcript: &Transcript) -> Vec<String> {
    let messages = transcript.messages.iter();
    messages.map(|message| message.text.clone()).collect()
}

/// Copies the files of a log, or a database with what its writer has not put into its file yet.
fn copy_log(log: &LogFile, folder: &Path, tail: &Path) -> Result<()> {
    let copy = folder.join(tail);
    let above = copy.parent().unwrap_or(folder);
    private::create_dir(above).map_err(|e| Error::io(above, e))?;
    if log.agent == Agent::Cursor && cursor::is_editors(log) {
        return cursor::copy(log, &copy);
    }
    if is_database(&log.path) {
        return database::copy(&log.path, &copy);
    }
    copy_file(&log.path, &copy)?;
    if matches!(log.agent, Agent::Session | Agent::Pi) {
        for (place, bytes) in session::notes(log) {
            write_below(&above.join(place), |file| file.write_all(&bytes))?;
        }
    }
    let files = match log.agent {
        Agent::Opencode => opencode::files(log),
        Agent::Openhands => openhands::files(log),
        _ => Vec::new(),
    };
    // Other files of the log stand in folders beside the one that both paths begin with.
    let depth = tail.components().count();
    let (Some(root), Some(copied)) = (
        log.path.ancestors().nth(depth - 1),
        copy.ancestors().nth(depth - 1),
    ) else {
        return Ok(());
    };
    for file in files {
        if let Ok(place) = file.strip_prefix(root) {
            copy_file(&file, &copied.join(place))?;
        }
    }
    Ok(())
}

fn copy_file(path: &Path, copy: &Path) -> Result<()> {
    let mut original = open_capped(path, LARGEST_LOG)?;
    write_below(copy, |file| io::copy(&mut original, file).map(drop))
}

/// Makes a file of a copy and the folders above it.
fn write_below(path: &Path, fill: impl FnOnce(&mut fs::File) -> io::Result<()>) -> Result<()> {
    let made = path.parent().map_or(Ok(()), private::create_dir);
    let written = made.and_then(|()| private::replace(path, fill));
    written.map_err(|e| Error::io(path, e))
}

/// Checks that a copy has what the original had when it was read before; returns its texts.
fn check_copy(log: &LogFile, original: &Transcript, copy: &Path) -> Result<Vec<String>> {
    let copied = read(&LogFile {
        path: copy.to_owned(),
        ..log.clone()
    })?;
    let (wanted, found) = (texts_of(original), texts_of(&copied));
    let refused = |why: String| Err(Error::refused(log.path.display().to_string(), why));
    if wanted.is_empty() {
        return refused("it has no messages; nothing was kept".to_owned());
    }
    if found.len() < wanted.len() {
        return refused(format!(
            "a copy of this file has {} of its {} messages, the others are elsewhere; nothing was kept",
            found.len(),
            wanted.len()
        ));
    }
    // A session that goes on may have got further messages.
    if !found.starts_with(&wanted) {
        return refused("it was changed meanwhile; keep it again".to_owned());
    }
    Ok(found)
}

/// Whether a file is a database of SQLite.
fn is_database(path: &Path) -> bool {
    const MAGIC: &[u8] = b"SQLite format 3\0";
    let mut begin = [0; MAGIC.len()];
    let read = open_capped(path, LARGEST_LOG).map(|mut file| file.read_exact(&mut begin));
    matches!(read, Ok(Ok(()))) && begin == MAGIC
}

fn not_a_file(log: &LogFile) -> Error {
    Error::refused(
        log.path.display().to_string(),
        "this session is no file of its own; its agent's database keeps it",
    )
}

/// Returns a name for the copy: the session's id, and a hash of its path to make it unique.
fn safe_name(log: &LogFile) -> String {
    let plain = |c: char| {
        if c.is_alphanumeric() || c == '-' {
            c
        } else {
            '_'
        }
    };
    let id: String = log.id.chars().map(plain).collect();
    let place = blake3::hash(log.path.as_os_str().as_encoded_bytes()).to_hex();
    format!("{id}-{}", &place[..8])
}

/// Returns the kept logs whose originals are not among `found`.
pub fn kept(dir: &Path, found: &[LogFile]) -> Vec<LogFile> {
    let descriptions = location::entries(&dir.join(DESCRIPTIONS));
    let all: Vec<(PathBuf, LogFile)> = descriptions
        .iter()
        .filter_map(|description| described(dir, description))
        .collect();
    if all.is_empty() {
        return Vec::new();
    }
    // A database has many sessions.
    let there: HashSet<(&Path, &str)> = found
        .iter()
        .map(|log| (log.path.as_path(), log.id.as_str()))
        .collect();
    let mut kept: Vec<LogFile> = all
        .into_iter()
        .filter(|(original, log)| !there.contains(&(original.as_path(), log.id.as_str())))
        .map(|(_, log)| log)
        .collect();
    kept.sort_by(|a, b| a.path.cmp(&b.path));
    kept
}

/// Returns the original's path, and the copy as a log, from its description. What a kill left of
/// writing one is none.
fn described(dir: &Path, description: &Path) -> Option<(PathBuf, LogFile)> {
    location::stem(description, ".json")?;
    let description: Description =
        serde_json::from_slice(&read_capped(description, LARGEST_SETTINGS).ok()?).ok()?;
    let path = dir
        .join(description.log.agent.name())
        .join(description.copy);
    let size = fs::metadata(&path).ok()?.len();
    let original = Original {
        path: description.log.path.clone(),
        head: description.head,
    };
    let log = LogFile {
        path,
        size,
        original: Some(Box::new(original)),
        ..description.log
    };
    Some((log.original.as_ref()?.path.clone(), log))
}

/// Returns what is in the folder of copies and is none, as an earlier version may have left it, and the
/// descriptions of copies that are gone.
pub fn strays(dir: &Path) -> Vec<PathBuf> {
    let mut copies = Vec::new();
    let mut strays = Vec::new();
    for description in location::entries(&dir.join(DESCRIPTIONS)) {
        match described(dir, &description) {
            Some((_, copy)) => copies.push(copy.path),
            None => strays.push(description),
        }
    }
    let folders = location::entries(dir).into_iter();
    let folders = folders.filter(|folder| location::name(folder) != DESCRIPTIONS);
    let entries = folders.flat_map(|folder| location::entries(&folder));
    strays.extend(entries.filter(|entry| !copies.iter().any(|copy| copy.starts_with(entry))));
    strays
}

#[cfg(test)]
mod tests;
