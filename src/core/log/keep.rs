//! Copies of logs that an agent would delete, kept in tome's data directory.
//!
//! Claude Code deletes its logs after thirty days. A kept log is an exact copy of its files, with the
//! names of the folders above them; what only the place of a log or the files beside it tell (title,
//! project, session) is in a description. It is read and searched like the original, and replaces it
//! after the original is deleted.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::core::disk::foreign::{
    LARGEST_LOG, LARGEST_SETTINGS, open_capped, open_regular, read_capped,
};
use crate::core::disk::private;
use crate::core::log::{
    Agent, Head, LogFile, Skipped, Transcript, cursor, database, location, opencode, openhands,
    probe, read, session,
};
use crate::core::{Error, Result};

/// The log that a copy was made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Original {
    /// Its path.
    pub path: PathBuf,
    /// Its id; an earlier copy has another.
    pub id: String,
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
    /// When it was made, in milliseconds since 1970 UTC.
    kept: Option<i64>,
    /// The bytes of its files.
    bytes: u64,
}

/// The folder of the descriptions; those of the copies are called like agents.
const DESCRIPTIONS: &str = "descriptions";

/// How the name of a folder begins that is not a whole copy yet.
const UNFINISHED: &str = ".unfinished-";

/// How the id of an earlier copy of a session begins.
const EARLIER: &str = "kept-";

/// Copies `log` and those of its subagents to `dir`; adds their ids and the copies. What is a copy
/// already stays, and a log of a subagent without messages is left out. One that cannot be kept holds
/// up no other; the first error is returned.
pub fn keep_session(
    dir: &Path,
    log: &LogFile,
    all: &[LogFile],
    copies: &mut Vec<(String, PathBuf)>,
) -> Result<()> {
    let mut others: Vec<(Option<String>, &LogFile)> = all
        .iter()
        .filter(|other| other.agent == log.agent && other.id != log.id)
        .map(|other| (probe::parent(other), other))
        .collect();
    // A subagent may have subagents.
    let mut session = vec![log];
    let mut at = 0;
    while let Some(parent) = session.get(at).map(|log| &log.id) {
        let own = others.extract_if(.., |(of, _)| of.as_ref() == Some(parent));
        session.extend(own.map(|(_, log)| log));
        at += 1;
    }
    let says_nothing = |log: &LogFile| {
        let read = read(log);
        read.is_ok_and(|read| read.messages.is_empty() && read.skipped == Skipped::default())
    };
    let mut done = Ok(());
    for (number, log) in session.into_iter().enumerate() {
        let copy = if log.path.starts_with(dir) {
            Ok(log.path.clone())
        } else {
            keep(dir, log)
        };
        match copy {
            Ok(copy) => copies.push((log.id.clone(), copy)),
            Err(_) if number > 0 && says_nothing(log) => {}
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
    let tail = location::tail(&log.path);
    let failed = |e| Error::io(&agent, e);
    let part = private::create_unique_dir(&agent, UNFINISHED).map_err(failed)?;
    // While it is locked no other process removes it.
    let lock = private::open_dir(&part).map_err(failed)?;
    drop(lock.try_lock());
    let begun = lock.metadata().map_err(failed)?;
    if let Ok(now) = begun.modified() {
        unfinished(dir, now)
            .iter()
            .for_each(|dead| drop(fs::remove_dir_all(dead)));
    }
    let made = copy_log(log, &part, &tail)
        .and_then(|()| check_copy(log, &original, &part.join(&tail)))
        .and_then(|texts| {
            let folder = private::create_unique_dir(&agent, &format!("{}-", safe_name(log)));
            let folder = folder.map_err(failed)?;
            fs::rename(&part, &folder).map_err(failed)?;
            private::flush_dir(&agent).map_err(failed)?;
            Ok((folder, texts))
        });
    if made.is_err() {
        drop(fs::remove_dir_all(&part));
    }
    let (folder, texts) = made?;
    let beside = &free_place(dir, log, &texts);
    let description = Description {
        log: LogFile {
            title: log.title.clone().or(original.head.title.clone()),
            ..log.clone()
        },
        head: original.head,
        copy: Path::new(&location::name(&folder)).join(&tail),
        // Later than every other copy of it, also of the same moment.
        kept: location::modified(&begun).max(last_kept(dir, log).map(|last| last + 1)),
        bytes: bytes_of(&folder),
    };
    let text = serde_json::to_vec(&description).map_err(|e| Error::io(beside, e.into()))?;
    // From now on the new copy counts, and until now the earlier one: neither is ever without a
    // description.
    let written = private::replace(beside, |file| file.write_all(&text));
    written.map_err(|e| Error::io(beside, e))?;
    remove_strays(dir, log, &texts, &part);
    Ok(agent.join(description.copy))
}

/// Returns the path of the description: the first that is free, or that of an earlier copy whose
/// messages the new one has.
fn free_place(dir: &Path, log: &LogFile, texts: &[String]) -> PathBuf {
    let usual = format!("{}-{}", log.agent.name(), safe_name(log));
    let place_of = |name: String| dir.join(DESCRIPTIONS).join(name + ".json");
    let further = (2..).map(|number| format!("{usual}-{number}"));
    let mut places = std::iter::once(usual.clone()).chain(further).map(place_of);
    let is_free = |place: &PathBuf| {
        described(dir, place).is_none_or(|Kept { log: copy, .. }| is_in(&copy, texts))
    };
    places.find(is_free).unwrap_or_default()
}

/// Removes copies of a log without a description, as a kill leaves them, and the one whose description
/// now tells of a newer one: those whose messages that has. `part` is where they go before.
fn remove_strays(dir: &Path, log: &LogFile, texts: &[String], part: &Path) {
    let begin = safe_name(log) + "-";
    let strays = strays(dir).into_iter();
    for stray in strays.filter(|stray| location::name(stray).starts_with(&begin)) {
        let copy = LogFile {
            path: stray.join(location::tail(&log.path)),
            ..log.clone()
        };
        // Who is making it holds its lock.
        let is_left = private::open_dir(&stray).is_ok_and(|folder| folder.try_lock().is_ok());
        if is_left && is_in(&copy, texts) {
            // What a kill leaves of it is no copy.
            drop(fs::rename(&stray, part));
            drop(fs::remove_dir_all(part));
        }
    }
}

/// Whether these texts begin with those of a copy.
fn is_in(copy: &LogFile, texts: &[String]) -> bool {
    read(copy).is_ok_and(|copied| texts.starts_with(&texts_of(&copied)))
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

/// Returns the kept logs whose originals are not among `found`, and earlier copies of all: such of
/// which the newest copy, or the original itself, has lost messages.
pub fn kept(dir: &Path, found: &[LogFile]) -> Vec<LogFile> {
    let mut all = all_of(dir);
    if all.is_empty() {
        return Vec::new();
    }
    // A database has many sessions.
    let there: HashMap<(&Path, &str), u64> = found
        .iter()
        .map(|log| ((log.path.as_path(), log.id.as_str()), log.size))
        .collect();
    all.sort_by_key(|copy| copy.at);
    let session = |copy: &Kept| {
        (
            copy.log.agent,
            copy.original.path.clone(),
            copy.log.id.clone(),
        )
    };
    let newest: HashMap<_, usize> = all.iter().map(session).zip(0..).collect();
    let mut kept = Vec::new();
    for (number, copy) in all.into_iter().enumerate() {
        let is_newest = newest[&session(&copy)] == number;
        let mut log = copy.log;
        let mut original = copy.original;
        let now = there.get(&(original.path.as_path(), log.id.as_str()));
        if !is_newest || now.is_some_and(|size| *size < log.size) {
            let when = copy
                .at
                .and_then(|at| jiff::Timestamp::from_millisecond(at).ok());
            let when = when.map_or(String::new(), |when| {
                when.strftime("%Y%m%dT%H%M%S%.3fZ-").to_string()
            });
            original.head.fork_of = Some(log.id.clone());
            log.id = format!("{EARLIER}{when}{}", log.id);
        } else if now.is_some() {
            continue;
        }
        log.original = Some(Box::new(original));
        kept.push(log);
    }
    kept.sort_by(|a, b| a.path.cmp(&b.path));
    kept
}

/// Whether a log is the copy of a session that was kept again later, when it had other messages.
pub fn is_earlier_copy(id: &str, head: &Head) -> bool {
    let of = head.fork_of.as_deref();
    of.is_some_and(|of| id.starts_with(EARLIER) && id.ends_with(of))
}

/// A copy, from its description.
struct Kept {
    log: LogFile,
    original: Original,
    /// See [`Description::kept`].
    at: Option<i64>,
    /// The folder of its files.
    folder: PathBuf,
    /// The bytes that they had.
    bytes: u64,
}

/// When a log was kept last.
fn last_kept(dir: &Path, log: &LogFile) -> Option<i64> {
    let of_log = all_of(dir).into_iter().filter(|copy| {
        copy.log.agent == log.agent && copy.log.id == log.id && copy.original.path == log.path
    });
    of_log.filter_map(|copy| copy.at).max()
}

fn all_of(dir: &Path) -> Vec<Kept> {
    let descriptions = location::entries(&dir.join(DESCRIPTIONS)).into_iter();
    let all = descriptions.filter_map(|description| described(dir, &description));
    all.collect()
}

/// Returns what a description tells. What a kill left of writing one is none.
fn described(dir: &Path, description: &Path) -> Option<Kept> {
    location::stem(description, ".json")?;
    let description: Description =
        serde_json::from_slice(&read_capped(description, LARGEST_SETTINGS).ok()?).ok()?;
    let agent = dir.join(description.log.agent.name());
    let path = agent.join(&description.copy);
    let size = fs::metadata(&path).ok()?.len();
    let original = Original {
        path: description.log.path.clone(),
        id: description.log.id.clone(),
        head: description.head,
    };
    Some(Kept {
        log: LogFile {
            path,
            size,
            ..description.log
        },
        original,
        at: description.kept,
        folder: agent.join(description.copy.iter().next()?),
        bytes: description.bytes,
    })
}

/// Returns the copies of which bytes are gone, each with how many are left and how many there were.
pub fn cut(dir: &Path) -> Vec<(LogFile, u64, u64)> {
    let all = all_of(dir).into_iter();
    let cut = all.filter_map(|copy| {
        let left = bytes_of(&copy.folder);
        (left < copy.bytes).then_some((copy.log, left, copy.bytes))
    });
    cut.collect()
}

/// Returns the length of a file without NULs at its end, which are all that a crash may leave of it.
fn written(path: &Path) -> io::Result<u64> {
    let mut file = open_regular(path).map_err(io::Error::other)?;
    let mut end = file.metadata()?.len();
    let mut buffer = [0; 4096];
    while end > 0 {
        let start = end.saturating_sub(buffer.len() as u64);
        let block = &mut buffer[..(end - start) as usize];
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(block)?;
        if let Some(last) = block.iter().rposition(|byte| *byte != 0) {
            return Ok(start + last as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

/// Returns the bytes of the files below a folder, see [`written`].
fn bytes_of(folder: &Path) -> u64 {
    let entries = location::entries(folder).into_iter();
    let bytes = entries.map(|entry| match fs::symlink_metadata(&entry) {
        Ok(found) if found.is_dir() => bytes_of(&entry),
        Ok(found) if found.is_file() => written(&entry).unwrap_or(0),
        _ => 0,
    });
    bytes.sum()
}

/// Returns what killed processes left of making or removing copies.
pub fn unfinished(dir: &Path, now: SystemTime) -> Vec<PathBuf> {
    let folders = location::entries(dir).into_iter();
    let entries = folders.flat_map(|folder| location::entries(&folder));
    let is_dead = |entry: &PathBuf| {
        is_unfinished(entry)
            && private::open_dir(entry).is_ok_and(|folder| {
                let made = folder.metadata().and_then(|found| found.modified());
                made.is_ok_and(|made| private::is_stale(made, now)) && folder.try_lock().is_ok()
            })
    };
    entries.filter(is_dead).collect()
}

fn is_unfinished(folder: &Path) -> bool {
    location::name(folder).starts_with(UNFINISHED)
}

/// Returns what is in the folder of copies and is none, as an earlier version may have left it, and the
/// descriptions of copies that are gone.
pub fn strays(dir: &Path) -> Vec<PathBuf> {
    let copies: Vec<PathBuf> = all_of(dir).into_iter().map(|copy| copy.folder).collect();
    let descriptions = location::entries(&dir.join(DESCRIPTIONS)).into_iter();
    let idle = descriptions.filter(|description| described(dir, description).is_none());
    let folders = location::entries(dir).into_iter();
    let folders = folders.filter(|folder| location::name(folder) != DESCRIPTIONS);
    let entries = folders.flat_map(|folder| location::entries(&folder));
    let others = entries.filter(|entry| !is_unfinished(entry) && !copies.contains(entry));
    idle.chain(others).collect()
}

#[cfg(test)]
mod tests;
