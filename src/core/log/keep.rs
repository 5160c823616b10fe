//! Copies of logs that an agent would delete, kept in tome's data directory.
//!
//! Claude Code deletes its logs after thirty days. A kept log is an exact copy of the file,
//! with a description beside it; it is read and searched like the original, and replaces it
//! after the original is deleted.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::core::disk::foreign::{LARGEST_LOG, LARGEST_SETTINGS, open_capped, read_capped};
use crate::core::disk::private;
use crate::core::log::LogFile;
use crate::core::{Error, Result};

/// The description beside the copy of a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Description {
    /// The log as it was found, with the path of the original.
    #[serde(flatten)]
    log: LogFile,
    /// The file name of the copy.
    copy: String,
}

/// Copies `log` to `dir`; an earlier copy is replaced.
pub fn keep(dir: &Path, log: &LogFile) -> Result<PathBuf> {
    if log.size == 0 && !log.path.is_file() {
        return Err(not_a_file(log));
    }
    let folder = dir.join(log.agent.name());
    for path in [dir, &folder] {
        private::create_dir(path).map_err(|e| Error::io(path, e))?;
    }
    let ending = log.path.file_name().and_then(|name| {
        let name = name.to_str()?;
        Some(name[name.find('.')?..].to_owned())
    });
    let copy = format!("{}{}", safe_name(log), ending.unwrap_or_default());
    let path = folder.join(&copy);
    let mut original = open_capped(&log.path, LARGEST_LOG)?;
    let copied = private::replace(&path, |file| io::copy(&mut original, file).map(drop));
    copied.map_err(|e| Error::io(&log.path, e))?;
    let description = Description {
        log: log.clone(),
        copy,
    };
    let beside = folder.join(format!("{}.json", safe_name(log)));
    let text = serde_json::to_vec(&description).map_err(|e| Error::io(&beside, e.into()))?;
    let written = private::replace(&beside, |file| file.write_all(&text));
    written.map_err(|e| Error::io(&beside, e))?;
    Ok(path)
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
    let folders = fs::read_dir(dir).into_iter().flatten().flatten();
    let all: Vec<(PathBuf, LogFile)> = folders
        .flat_map(|folder| fs::read_dir(folder.path()).into_iter().flatten().flatten())
        .filter(|file| file.path().extension().is_some_and(|e| e == "json"))
        .filter_map(|file| described(&file.path()))
        .collect();
    if all.is_empty() {
        return Vec::new();
    }
    let there: HashSet<&Path> = found.iter().map(|log| log.path.as_path()).collect();
    let mut kept: Vec<LogFile> = all
        .into_iter()
        .filter(|(original, _)| !there.contains(original.as_path()))
        .map(|(_, log)| log)
        .collect();
    kept.sort_by(|a, b| a.path.cmp(&b.path));
    kept
}

/// Returns the original's path, and the copy as a log, from its description.
fn described(beside: &Path) -> Option<(PathBuf, LogFile)> {
    let description: Description =
        serde_json::from_slice(&read_capped(beside, LARGEST_SETTINGS).ok()?).ok()?;
    let path = beside.parent()?.join(&description.copy);
    let size = fs::metadata(&path).ok()?.len();
    let original = description.log.path.clone();
    let log = LogFile {
        path,
        size,
        ..description.log
    };
    Some((original, log))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::log::{Agent, LogStart, read};

    fn log(path: PathBuf) -> LogFile {
        LogFile {
            agent: Agent::Session,
            size: fs::metadata(&path).map_or(0, |meta| meta.len()),
            path,
            id: "one/../two".to_owned(),
            parent: None,
            title: None,
            modified: Some(5),
            start: LogStart::default(),
        }
    }

    #[test]
    fn a_kept_log_stands_in_for_its_original_once_that_is_gone() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let original = temp.path().join("messages.jsonl");
        fs::write(&original, "{\"role\":\"user\",\"content\":\"keep this\"}\n").expect("a file");
        let found = [log(original.clone())];
        let dir = temp.path().join("kept");
        let copy = keep(&dir, &found[0]).expect("kept");
        assert!(copy.starts_with(&dir));
        assert_eq!(kept(&dir, &found), []);
        fs::remove_file(&original).expect("swept");
        let stand_ins = kept(&dir, &[]);
        assert_eq!(stand_ins.len(), 1);
        let transcript = read(&stand_ins[0]).expect("reads");
        assert_eq!(transcript.messages[0].text, "keep this");
        assert_eq!(stand_ins[0].id, "one/../two");
    }

    #[test]
    fn a_session_in_a_database_is_refused() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let error = keep(temp.path(), &log(temp.path().join("absent.db"))).expect_err("refused");
        assert!(error.to_string().contains("no file of its own"), "{error}");
    }
}
