//! Calls of the server's tools, with mutated names and arguments.

use std::fs;
use std::path::{Path, PathBuf};

use super::target::moment;
use super::{Scene, texts};
use crate::core::Result;
use crate::core::change::history::History;
use crate::core::log::LogLocations;
use crate::core::memory::config::TimelineSettings;
use crate::core::memory::layout::Layout;
use crate::core::memory::store::Store;
use crate::core::search::catalog::{LogCatalog, LogScope};
use crate::mcp::{self, Access, LogProvider, ServedStore, ServerSetup, StorePurpose};

/// The files of the stores, and one outside of them.
const FILES: [(&str, &str); 6] = [
    ("index/MEMORY.md", "- [a](a.md) — x\n"),
    (
        "index/a.md",
        "---\nname: a\ndescription: x\ntype: user\n---\n\none\ntwo\n",
    ),
    (
        "facts/memory/facts/user.md",
        "# User\n> Summary: s\n\n## A\n\nt\n",
    ),
    (
        "facts/memory/episodes/2026-02.md",
        "# 2026-02\n\n## A\n\nt\n",
    ),
    ("coder/README.md", "# Lessons\n"),
    ("outside.md", "theirs\n"),
];

/// A call of each tool.
pub(super) fn calls() -> Vec<Vec<u8>> {
    texts(&[
        r#"{"name":"recall_memory","arguments":{"query":"one two","scope":"all","limit":5}}"#,
        r#"{"name":"memory_view","arguments":{"target":"files","store":"index"}}"#,
        r#"{"name":"memory_list","arguments":{"store":"facts","offset":0}}"#,
        r#"{"name":"memory_read","arguments":{"filename":"index:a.md#L1-2"}}"#,
        r#"{"name":"memory_write","arguments":{"filename":"b.md","name":"b","description":"d","type":"user","content":"see [a](a.md)\n"}}"#,
        r#"{"name":"memory_write","arguments":{"store":"facts","path":"facts/team.md","content":"Kim leads."}}"#,
        r#"{"name":"memory_update","arguments":{"filename":"a.md","old_text":"one","new_text":"1","expected_revision":"00"}}"#,
        r#"{"name":"memory_patch","arguments":{"filename":"a.md","patches":[{"oldText":"one","newText":"1"},{"oldText":"two","newText":""}]}}"#,
        r#"{"name":"memory_append","arguments":{"path":"facts/user.md","entry":"more","summary":"s"}}"#,
        r#"{"name":"memory_delete","arguments":{"filename":"a.md"}}"#,
        r#"{"name":"coder_memory_recall","arguments":{"query":"a lesson"}}"#,
        r#"{"name":"coder_memory_store","arguments":{"type":"episodic","title":"T","description":"d","content":"c","tags":["x"],"topic":"build/tools","decision":"create","into":"README.md#T","from":["a"]}}"#,
        r#"{"name":"get_events","arguments":{"from":"2026-01-01","to":"today","limit":3}}"#,
        r#"{"name":"get_toc_root","arguments":{}}"#,
        r#"{"name":"get_node","arguments":{"node_id":"toc:week:2026:W30"}}"#,
        r#"{"name":"browse_toc","arguments":{"parent":"toc:year:2026","limit":2,"token":"1"}}"#,
        r#"{"name":"expand_grip","arguments":{"grip_id":"grip:1700000000000-01abc","before":1,"after":1}}"#,
        r#"{"name":"teleport_query","arguments":{"query":"why"}}"#,
        r#"{"name":"memory","arguments":{"command":"str_replace","path":"/memories/index/a.md","old_str":"one","new_str":"1"}}"#,
        r#"{"name":"memory","arguments":{"command":"rename","old_path":"/memories/index/a.md","new_path":"/memories/index/c.md"}}"#,
        r#"{"name":"memory","arguments":{"command":"insert","path":"/memories/index/a.md","insert_line":1,"insert_text":"x","view_range":[1,2]}}"#,
    ])
}

/// No logs, with a cache in this directory.
struct NoLogs(PathBuf);

impl LogProvider for NoLogs {
    fn log_catalog(&self) -> Result<LogCatalog> {
        Ok(LogCatalog {
            locations: LogLocations::default(),
            kept: None,
            cache: self.0.clone(),
            scope: LogScope::All,
            timeline: TimelineSettings::default(),
        })
    }
}

fn store(name: &str, layout: Layout, dir: &Path) -> ServedStore {
    ServedStore {
        store: Store::open(name, &dir.join(name), Some(layout)).expect("a store"),
        purpose: StorePurpose::Shared,
    }
}

/// Answers a call. Nothing is written beside the stores.
pub(super) fn answer_call(bytes: &[u8], scene: &Scene) {
    answer(bytes, scene);
}

/// As [`answer_call`]; returns the answer, or `None` if it is not a call.
fn answer(bytes: &[u8], scene: &Scene) -> Option<String> {
    let dir = scene.dir.path().join("served");
    drop(fs::remove_dir_all(&dir));
    for (name, text) in FILES {
        scene.file(&format!("served/{name}"), text.as_bytes());
    }
    let data = scene.dir.path().join("data");
    let setup = ServerSetup {
        stores: vec![
            store("index", Layout::Index, &dir),
            store("facts", Layout::Facts, &dir),
            store("coder", Layout::Coder, &dir),
        ],
        layouts: vec![Layout::Index, Layout::Facts, Layout::Coder, Layout::Events],
        history: History::open(&data.join("history")),
        logs: Box::new(NoLogs(data.join("cache"))),
        clock: moment,
        access: Access::Full,
        session: None,
        started: moment().time,
    };
    let answer = mcp::call(setup, bytes);
    let mut names: Vec<String> = fs::read_dir(&dir)
        .expect("the directory is there")
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    assert_eq!(names, ["coder", "facts", "index", "outside.md"]);
    let outside = fs::read_to_string(dir.join("outside.md"));
    assert_eq!(outside.expect("it is there"), "theirs\n");
    // One history for every run would grow.
    drop(fs::remove_dir_all(&data));
    answer
}

#[test]
fn what_is_mutated_are_calls_of_tools_that_are_served() {
    let scene = Scene::new();
    for call in calls() {
        let text = String::from_utf8_lossy(&call);
        let answer = answer(&call, &scene).expect("it is a call");
        assert!(answer.starts_with("Ok"), "{text}: {answer}");
    }
}
