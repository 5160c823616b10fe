//! OpenCode's tree of files: one per session, per message and per part.

use std::fs;
use std::path::{Path, PathBuf};

use super::super::sink::Sink;
use super::super::{Agent, LogFile, TitleSource, json, location};
use crate::core::Result;

/// Returns the sessions of the tree in a data directory.
pub(super) fn locate(data: &Path) -> Vec<LogFile> {
    let storage = data.join("storage");
    location::entries(&storage.join("session"))
        .iter()
        .flat_map(|project| location::entries(project))
        .filter_map(|path| {
            let id = location::stem(&path, ".json")?;
            let mut log = location::found(Agent::Opencode, path, id)?;
            // The session's own file may be older than its last message.
            let messages = fs::metadata(storage.join("message").join(&log.id)).ok();
            log.modified = log
                .modified
                .max(messages.as_ref().and_then(location::modified));
            let bytes = location::bytes(&log.path).ok()?;
            if let Ok((info, _)) = json::object(bytes.trim_ascii()) {
                log.parent = info.text("parentID");
                log.title = info.text("title");
            }
            Some(log)
        })
        .collect()
}

/// Reads a session and all its messages.
pub(super) fn read(log: &LogFile, sink: &mut Sink<'_>) -> Result<()> {
    let bytes = location::bytes(&log.path)?;
    match json::object(bytes.trim_ascii()) {
        Ok((info, _)) => {
            let head = sink.head();
            head.session = info.text("id");
            head.cwd = info.text("directory");
            head.version = info.text("version");
            head.parent = info.text("parentID");
            head.set_title(TitleSource::Ai, info.text("title").unwrap_or_default());
        }
        Err(_) => sink.carry.skipped.broken += 1,
    }
    let storage = storage(log);
    for (ordinal, path) in (1..).zip(json_files(&storage.join("message").join(&log.id))) {
        sink.turn_to(ordinal);
        read_message(storage, &path, sink);
    }
    Ok(())
}

/// Returns `storage` of `storage/session/<project>/<session>.json`.
fn storage(log: &LogFile) -> &Path {
    log.path.ancestors().nth(3).unwrap_or(Path::new(""))
}

/// Returns the files of a session's messages and of their parts.
pub(super) fn files(log: &LogFile) -> Vec<PathBuf> {
    let storage = storage(log);
    let messages = json_files(&storage.join("message").join(&log.id));
    let parts = messages.iter().flat_map(|message| {
        let id = location::stem(message, ".json").unwrap_or_default();
        json_files(&storage.join("part").join(id))
    });
    parts.chain(messages.iter().cloned()).collect()
}

/// Adds a message and its parts; missing and broken files are counted and skipped.
fn read_message(storage: &Path, path: &Path, sink: &mut Sink<'_>) {
    let id = location::stem(path, ".json").unwrap_or_default();
    let bytes = location::bytes(path).unwrap_or_default();
    let Ok((info, _)) = json::object(bytes.trim_ascii()) else {
        sink.carry.skipped.broken += 1;
        return;
    };
    let parts = json_files(&storage.join("part").join(&id));
    let role = super::message(id, &info, sink);
    for path in parts {
        let bytes = location::bytes(&path).unwrap_or_default();
        match json::object(bytes.trim_ascii()) {
            Ok((part, _)) => super::part(&part, role, sink),
            Err(_) => sink.carry.skipped.broken += 1,
        }
    }
}

/// Returns the JSON files of a directory, sorted by name, which is by time.
fn json_files(directory: &Path) -> Vec<PathBuf> {
    let mut paths = location::entries(directory);
    paths.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "json")
    });
    paths
}
