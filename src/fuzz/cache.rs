//! Caches of the logs with mutated files: a search answers as if they were whole.

use std::fs;
use std::path::{Path, PathBuf};

use super::Scene;
use crate::core::log::LogLocations;
use crate::core::memory::config::TimelineSettings;
use crate::core::search::catalog::{LogCatalog, LogScope};
use crate::core::search::query::{Query, noon};
use crate::core::search::recall::{RecallRequest, RecallResult, Scope, recall};
use crate::core::search::search;

/// The words that are searched: of messages, of a call, of a result, and of none.
const QUERIES: [&str; 4] = ["rotate tokens", "cargo test", "\"test result\"", "absent"];

/// A log with a message of each part, and a long one.
fn log() -> String {
    let long = "the tokens rotate, ".repeat(600);
    format!(
        r#"{{"type":"message","id":"1","message":{{"role":"user","content":"how do we rotate tokens?"}}}}
{{"type":"message","id":"2","message":{{"role":"assistant","content":[{{"type":"text","text":"{long}"}},{{"type":"toolCall","id":"c","name":"bash","arguments":{{"command":"cargo test tokens"}}}}]}}}}
{{"type":"message","id":"3","message":{{"role":"toolResult","toolCallId":"c","toolName":"bash","content":[{{"type":"text","text":"test result: ok, rotate"}}]}}}}
"#
    )
}

/// Searches the logs in `dir` with the cache of this name.
fn answers(dir: &Path, cache: &str) -> Vec<RecallResult> {
    let catalog = LogCatalog {
        locations: LogLocations {
            stores: vec![dir.join("session")],
            ..LogLocations::default()
        },
        kept: None,
        cache: dir.join(cache),
        scope: LogScope::All,
        timeline: TimelineSettings::default(),
    };
    let answer = |words: &&str| {
        let query = Query::of_prose(words, &noon());
        let request = RecallRequest {
            query: &query,
            scope: Scope::All,
            limit: 5,
            without: None,
        };
        let found = search(&[], Some(&catalog), &(), |sources| recall(sources, request));
        found.expect("the logs are read").answer
    };
    QUERIES.iter().map(answer).collect()
}

/// Makes the whole cache, if it is not there yet, and returns its answers.
fn whole(scene: &Scene) -> Vec<RecallResult> {
    let log_file = "session/messages.jsonl";
    if !scene.dir.path().join(log_file).exists() {
        scene.file(log_file, log().as_bytes());
    }
    answers(scene.dir.path(), "whole")
}

/// The files of a cache, each with its name before it.
pub(super) fn files() -> Vec<Vec<u8>> {
    let scene = Scene::new();
    whole(&scene);
    let root = scene.dir.path().join("whole");
    let named = |path: PathBuf| {
        let name = path.strip_prefix(&root).expect("it is in the cache");
        let bytes = fs::read(&path).expect("a file");
        [format!("{}\n", name.display()).as_bytes(), &bytes].concat()
    };
    cache_files(&root).into_iter().map(named).collect()
}

/// Returns the files of a cache, in order.
fn cache_files(root: &Path) -> Vec<PathBuf> {
    let files = walkdir::WalkDir::new(root).sort_by_file_name();
    let files = files.into_iter().flatten();
    let files = files.filter(|entry| entry.file_type().is_file());
    files.map(walkdir::DirEntry::into_path).collect()
}

/// Searches with a cache one of whose files has these bytes.
pub(super) fn search_damaged(bytes: &[u8], scene: &Scene) {
    let expected = whole(scene);
    let Some(at) = bytes.iter().position(|byte| *byte == b'\n') else {
        return;
    };
    let (name, content) = (String::from_utf8_lossy(&bytes[..at]), &bytes[at + 1..]);
    let mut is_file_of_cache = false;
    let dir = scene.dir.path();
    drop(fs::remove_dir_all(dir.join("damaged")));
    let whole = dir.join("whole");
    for path in cache_files(&whole) {
        let file = path.strip_prefix(&whole).expect("it is in the cache");
        is_file_of_cache |= file == Path::new(&*name);
        let copy = dir.join("damaged").join(file);
        fs::create_dir_all(copy.parent().expect("a folder")).expect("created");
        fs::copy(&path, copy).expect("copied");
    }
    if is_file_of_cache {
        fs::write(dir.join("damaged").join(&*name), content).expect("written");
        assert_eq!(answers(dir, "damaged"), expected);
    }
}

#[test]
fn the_words_of_every_part_are_found() {
    let totals = whole(&Scene::new())
        .iter()
        .map(|answer| answer.total)
        .collect::<Vec<_>>();
    assert_eq!(totals, [3, 2, 1, 0]);
}
