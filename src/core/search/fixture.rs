//! A session store with notes and conversations, and a cache, for tests of search.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use crate::core::log::{self, LogFile, LogLocations};
use crate::core::memory::layout::Layout;
use crate::core::memory::store::Store;
use crate::core::memory::texts::MemoryTexts;
use crate::core::search::index::{Corpus, ReadResults};

/// The notes are of the first session; each conversation is a session of its own.
pub(in crate::core) struct TestHome {
    root: TempDir,
}

impl TestHome {
    pub(in crate::core) fn new(details: &[(&str, &str)], logs: &[Vec<String>]) -> Self {
        let root = TempDir::new().expect("a temporary directory");
        let home = Self { root };
        for (name, text) in details {
            home.write(&format!("s0/working-memory/detail/{name}"), text);
        }
        for (number, messages) in logs.iter().enumerate() {
            let line = |(at, text): (usize, &String)| {
                let time = 1_700_000_000_000_i64 + 60_000 * at as i64;
                let role = if at % 2 == 0 { "user" } else { "assistant" };
                let id = format!("{number}-{at}");
                let content = serde_json::json!([{"type": "text", "text": text}]);
                let message = serde_json::json!({"role": role, "content": content});
                serde_json::json!({"type": "message", "id": id, "timestamp": time, "message": message})
                    .to_string()
            };
            let lines: Vec<String> = messages.iter().enumerate().map(line).collect();
            let log = format!("s{number}/messages.jsonl");
            home.write(&log, &(lines.join("\n") + "\n"));
        }
        home
    }

    pub(in crate::core) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        fs::write(path, text).expect("a file");
    }

    pub(in crate::core) fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    pub(in crate::core) fn logs(&self) -> Vec<LogFile> {
        let stores = (0..99).map(|number| self.path(&format!("s{number}")));
        log::locate(&LogLocations {
            claude: vec![self.path("claude")],
            stores: stores.filter(|path| path.exists()).collect(),
            ..LogLocations::default()
        })
    }

    pub(in crate::core) fn corpus(&self) -> Corpus {
        let cache = self.path("cache");
        Corpus::refresh(&cache, &self.logs(), ReadResults::Now, &()).expect("a corpus")
    }

    pub(in crate::core) fn memories(&self) -> MemoryTexts {
        let path = self.path("s0");
        let store = Store::open("store", &path, Some(Layout::Session)).expect("a store");
        MemoryTexts::read([&store]).expect("readable")
    }
}

pub(in crate::core) fn conversation(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| (*line).to_owned()).collect()
}
