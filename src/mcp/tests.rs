//! Calls of the server's tools, with arguments that no agent would give.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

use super::*;
use crate::core::Result;
use crate::core::log::LogLocations;
use crate::core::memory::catalog::{LogCatalog, LogScope};
use crate::core::memory::config::TimelineSettings;

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
const CALLS: [&str; 18] = [
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
];

fn moment() -> Moment {
    Moment {
        time: jiff::Timestamp::UNIX_EPOCH,
        today: jiff::civil::date(2026, 1, 1),
    }
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

/// The answer to a call. Nothing is written beside the stores.
fn answer(call: &Value) -> String {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let (dir, data) = (temp.path().join("served"), temp.path().join("data"));
    for (name, text) in FILES {
        let path = dir.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("created");
        fs::write(path, text).expect("written");
    }
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
        recall_limit: 5,
        facts_budget: 0,
        session: None,
        started: moment().time,
    };
    let request = serde_json::from_value(call.clone()).expect("a call");
    let answer = server::call(setup, &request);
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
    answer
}

/// A value in the place of an argument.
fn odd_value() -> impl Strategy<Value = Value> {
    let path = prop::sample::select(vec![
        "..",
        "/",
        "",
        "a.md",
        "../outside.md",
        "/memories/../outside.md",
        "index:a.md#L9-1",
        "facts/\0",
        "~",
        "MEMORY.md",
        "b.md/c.md",
        "2026-13-45",
        "toc:week:2026:W99",
        "a\0b",
        "-rf",
        "con\r\nvict.md",
        "\u{202e}gpj.md",
        "%2e%2e/x.md",
        "---\nname: x\n---\n",
        "a.md#L1-99999999999999999999",
    ]);
    let deep = (0..100).fold(json!(1), |value, _| json!([value]));
    prop_oneof![
        path.prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        Just(deep),
        Just(json!({ "a": { "b": [] } })),
        Just(json!("x".repeat(100_000))),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
        any::<Vec<String>>().prop_map(Value::from),
        any::<String>().prop_map(|text| json!([{ "oldText": text, "newText": "" }])),
    ]
}

proptest! {
    #[test]
    fn no_arguments_cause_a_panic_or_a_write_beside_the_stores(
        tool in any::<Index>(),
        like in any::<Index>(),
        odd in prop::collection::vec((any::<Index>(), odd_value()), 0..4),
    ) {
        let call = |at: Index| -> Value {
            serde_json::from_str(CALLS[at.index(CALLS.len())]).expect("JSON")
        };
        let mut request = call(tool);
        // Sometimes the arguments of another tool.
        if like.index(4) == 0 {
            request["arguments"] = call(like)["arguments"].take();
        }
        let arguments = request["arguments"].as_object_mut().expect("arguments");
        let names: Vec<String> = arguments.keys().cloned().collect();
        for (at, value) in odd {
            if !names.is_empty() {
                arguments.insert(at.get(&names).clone(), value);
            }
        }
        answer(&request);
    }
}

#[test]
fn the_calls_are_of_tools_that_are_served() {
    for call in CALLS {
        let answer = answer(&serde_json::from_str(call).expect("JSON"));
        assert!(answer.starts_with("Ok"), "{call}: {answer}");
    }
}
