//! The library: a snapshot of every store with its memories, and of the logs.
//!
//! Immutable: a change on disk gives a new library, which shares everything unchanged with
//! the old one.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::core::disk::watch::WatchDepth;
use crate::core::log::{Agent, Head, LogFile, Resume};
use crate::core::memory::Memory;
use crate::core::memory::discover::{self, Discovered};
use crate::core::memory::layout::{Layout, index, instructions};
use crate::core::memory::store::{Store, StoreId};

/// A snapshot of all stores and logs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Library {
    /// The stores, in the order of discovery.
    pub stores: Vec<Arc<StoreSnapshot>>,
    /// The logs, by agent and project; empty until [`Library::with_logs`].
    pub logs: Arc<Vec<LogGroup>>,
    /// Messages about stores that could not be opened.
    pub problems: Vec<String>,
    /// Stores that would be created with their first memory; each is empty.
    pub firsts: Vec<Arc<StoreSnapshot>>,
}

/// A store and its memories at one moment.
#[derive(Debug)]
pub struct StoreSnapshot {
    /// The store.
    pub store: Arc<Store>,
    /// Why the store was discovered, in a few words.
    pub why: String,
    /// The memories, in the layout's order; before them the index file, if it says more than which
    /// memories there are.
    pub memories: Vec<Memory>,
    /// The size of the index that agents load, if the layout has one.
    pub index: Option<Budget>,
    /// The memories that the index does not name, so that agents do not learn of them.
    pub unlisted: Vec<String>,
    /// Why the store could not be listed, if that failed.
    pub failure: Option<String>,
}

impl PartialEq for StoreSnapshot {
    fn eq(&self, other: &Self) -> bool {
        let shown = |snapshot: &Self| {
            (
                snapshot.store.name().to_owned(),
                snapshot.store.id().clone(),
            )
        };
        shown(self) == shown(other)
            && self.why == other.why
            && self.memories == other.memories
            && self.index == other.index
            && self.unlisted == other.unlisted
            && self.failure == other.failure
    }
}

/// The size of an index, compared with what an agent reads of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// The number of lines.
    pub lines: usize,
    /// The number of characters, as UTF-16 counts them: so do the agents.
    pub characters: usize,
}

impl Budget {
    /// The most that an agent reads.
    pub const MOST: Self = Self {
        lines: index::BUDGET_LINES,
        characters: index::BUDGET_BYTES,
    };

    /// Returns the size of a text, without the blanks around it.
    pub fn of(text: &str) -> Self {
        let text = text.trim();
        Self {
            lines: text.lines().count(),
            characters: text.encode_utf16().count(),
        }
    }

    /// Returns the share of the limit in percent, the higher one of lines and characters; above 100
    /// the agent cuts the text.
    pub fn percent(self) -> usize {
        let (used, most, _) = self.measured_as(self);
        (used * 100).div_ceil(most)
    }

    /// How much is used, of how much, in the unit in which `other` is nearer to its limit.
    pub fn measured_as(self, other: Self) -> (usize, usize, &'static str) {
        let most = Self::MOST;
        if other.characters * most.lines > other.lines * most.characters {
            (self.characters, most.characters, "characters")
        } else {
            (self.lines, most.lines, "lines")
        }
    }
}

/// The logs of one agent in one project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogGroup {
    /// The agent that wrote the logs.
    pub agent: Agent,
    /// The project's directory, or the agent's name for it.
    pub project: String,
    /// The logs, newest first.
    pub logs: Vec<LogSummary>,
}

/// A log as it is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSummary {
    /// The log.
    pub file: LogFile,
    /// The title given by the agent or the user, or else the first prompt.
    pub title: String,
    /// The time of the last message, in milliseconds since 1970; 0 if unknown.
    pub time: i64,
    /// The number of prompts by the user.
    pub turns: u64,
    /// The working directory.
    pub cwd: Option<String>,
    /// The session's id in its records.
    pub session: Option<String>,
    /// The index in the group of the log that this one belongs to: that of the session that
    /// started it as a subagent, or the newest copy of the session.
    pub parent: Option<usize>,
    /// The id of that log, whether it is in the group or not.
    pub below: Option<String>,
    /// Why it is not listed as a session; `None` if it is.
    pub unlisted: Option<Unlisted>,
}

/// Why a log is not listed as a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unlisted {
    /// Another agent started it.
    Subagent,
    /// Nobody says anything in it.
    Empty,
    /// There is a newer copy of the session, as made by a fork or by resuming it.
    Copy,
}

impl Unlisted {
    /// Returns the name used in output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Subagent => "subagent",
            Self::Empty => "empty",
            Self::Copy => "copy",
        }
    }
}

impl LogSummary {
    /// Whether it has a row: as a session, or below the log that it belongs to.
    pub fn has_row(&self) -> bool {
        match self.unlisted {
            None => true,
            Some(Unlisted::Empty) => false,
            Some(_) => self.parent.is_some(),
        }
    }

    /// Returns the agent's command that resumes the session, if it has one.
    pub fn resume(&self) -> Option<Resume> {
        self.file.resume(&Head {
            cwd: self.cwd.clone(),
            session: self.session.clone(),
            ..Head::default()
        })
    }
}

impl Library {
    /// Reads all discovered stores.
    pub fn load(found: Discovered) -> Self {
        let problems = found
            .problems
            .iter()
            .map(|problem| problem.error.to_string());
        let refusals = found.refusals.iter().map(ToString::to_string);
        let read = |found: discover::FoundStore| {
            let store = Arc::new(found.store);
            Arc::new(StoreSnapshot::read(store, found.why))
        };
        Self {
            problems: problems.chain(refusals).collect(),
            stores: found.stores.into_iter().map(read).collect(),
            firsts: found.firsts.into_iter().map(read).collect(),
            logs: Arc::default(),
        }
    }

    /// Groups logs, each given with its project, by agent and project. The logs of subagents
    /// follow the log that started them.
    pub fn group_logs(logs: impl IntoIterator<Item = (String, LogSummary)>) -> Vec<LogGroup> {
        let mut groups: BTreeMap<(Agent, String), Vec<LogSummary>> = BTreeMap::new();
        for (project, log) in logs {
            groups
                .entry((log.file.agent, project))
                .or_default()
                .push(log);
        }
        let mut log_groups: Vec<LogGroup> = groups
            .into_iter()
            .map(|((agent, project), logs)| LogGroup {
                agent,
                project,
                logs: order_by_parent(logs),
            })
            .collect();
        let newest = |log_group: &LogGroup| log_group.logs.first().map_or(0, |log| log.time);
        log_groups.sort_by(|a, b| {
            a.agent
                .cmp(&b.agent)
                .then_with(|| newest(b).cmp(&newest(a)))
                .then_with(|| a.project.cmp(&b.project))
        });
        log_groups
    }

    /// Returns the library with these logs.
    pub fn with_logs(&self, logs: Arc<Vec<LogGroup>>) -> Self {
        Self {
            logs,
            ..self.clone()
        }
    }

    /// Returns the log in this file with this id.
    pub fn log(&self, path: &Path, id: &str) -> Option<&LogSummary> {
        let mut logs = self.logs.iter().flat_map(|log_group| &log_group.logs);
        logs.find(|log| log.file.path == path && log.file.id == id)
    }

    /// Returns the library after changes at `paths`: only their stores are listed again, and
    /// only changed files are read.
    pub fn refresh(&self, paths: &[PathBuf]) -> Self {
        let stores = self
            .stores
            .iter()
            .map(|snapshot| {
                let root = snapshot.store.root().path();
                let touched: Vec<&Path> = paths
                    .iter()
                    .filter_map(|path| path.strip_prefix(root).ok())
                    .filter(|path| snapshot.may_contain(path))
                    .collect();
                if touched.is_empty() {
                    Arc::clone(snapshot)
                } else {
                    Arc::new(snapshot.reread(&touched))
                }
            })
            .collect();
        Self {
            stores,
            ..self.clone()
        }
    }

    /// Returns the store of that name, including those that do not exist yet.
    pub fn store(&self, name: &str) -> Option<&Arc<StoreSnapshot>> {
        let mut all = self.stores.iter().chain(&self.firsts);
        all.find(|snapshot| snapshot.store.name() == name)
    }

    /// Returns the store with this id, whatever its current name.
    pub fn store_by_id(&self, id: &StoreId) -> Option<&Arc<StoreSnapshot>> {
        let mut all = self.stores.iter().chain(&self.firsts);
        all.find(|snapshot| snapshot.store.id() == id)
    }

    /// Returns the number of memories, without instruction files.
    pub fn memories(&self) -> usize {
        self.stores
            .iter()
            .filter(|snapshot| snapshot.store.layout() != Layout::Instructions)
            .map(|snapshot| snapshot.memories.len())
            .sum()
    }

    /// Returns the number of sessions that are listed.
    pub fn sessions(&self) -> usize {
        let logs = self.logs.iter().flat_map(|log_group| &log_group.logs);
        logs.filter(|log| log.unlisted.is_none()).count()
    }

    /// Returns the directories to watch, and how deep.
    pub fn watched(&self) -> Vec<(PathBuf, WatchDepth)> {
        let mut all = Vec::new();
        for snapshot in &self.stores {
            let root = snapshot.store.root().path().to_owned();
            if snapshot.store.layout() == Layout::Instructions {
                // Such a root is a whole project or a home directory: only its own files matter.
                let inner = root.join(".claude");
                if inner.is_dir() {
                    all.push((inner, WatchDepth::Surface));
                }
                all.push((root, WatchDepth::Surface));
            } else {
                all.push((root, WatchDepth::All));
            }
        }
        all
    }
}

/// Sorts logs, newest first, each followed by those that it started.
fn order_by_parent(mut logs: Vec<LogSummary>) -> Vec<LogSummary> {
    logs.sort_by(|a, b| {
        b.time
            .cmp(&a.time)
            .then_with(|| a.file.path.cmp(&b.file.path))
    });
    let ids: HashSet<String> = logs.iter().map(|log| log.file.id.clone()).collect();
    let mut started: HashMap<String, Vec<LogSummary>> = HashMap::new();
    let mut heads = Vec::new();
    for log in logs {
        match log.below.clone().filter(|id| ids.contains(id)) {
            Some(parent) if parent != log.file.id => started.entry(parent).or_default().push(log),
            _ => heads.push(log),
        }
    }
    let mut sorted = Vec::new();
    for head in heads {
        push_with_children(head, None, &mut started, &mut sorted);
    }
    // Logs that claim to have started each other are listed, too.
    sorted.extend(started.into_values().flatten());
    sorted
}

fn push_with_children(
    head: LogSummary,
    parent: Option<usize>,
    started: &mut HashMap<String, Vec<LogSummary>>,
    sorted: &mut Vec<LogSummary>,
) {
    let children = started.remove(&head.file.id).unwrap_or_default();
    sorted.push(LogSummary { parent, ..head });
    let at = sorted.len() - 1;
    for child in children {
        push_with_children(child, Some(at), started, sorted);
    }
}

impl StoreSnapshot {
    fn read(store: Arc<Store>, why: String) -> Self {
        let (memories, failure) = match store.list() {
            Ok(memories) => (memories, None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        Self {
            failure,
            ..Self::of(store, why, memories)
        }
    }

    fn of(store: Arc<Store>, why: String, mut memories: Vec<Memory>) -> Self {
        let (index, unlisted) = index_of(&store, &memories);
        memories.splice(0..0, store.index_memory());
        Self {
            index,
            unlisted,
            store,
            why,
            memories,
            failure: None,
        }
    }

    /// Returns where the store belongs in a list: first the agents' own memory of the project,
    /// then what else agents keep, then other stores. Discovery names them after the agents.
    pub fn rank(&self) -> u8 {
        const AGENTS: [&str; 3] = ["claude", "codex", "gemini"];
        let name = self.store.name();
        match self.store.layout() {
            Layout::Index if name == AGENTS[0] => 0,
            Layout::Index | Layout::Entries
                if AGENTS.iter().any(|agent| name.starts_with(agent)) =>
            {
                1
            }
            _ => 2,
        }
    }

    /// Whether it is a store of the current project, and not of a subagent, of another project or of
    /// captured events. Discovery names them.
    pub fn is_of_project(&self) -> bool {
        let name = self.store.name();
        let is_subagent = name.starts_with("agent-") || name.starts_with("user-agent-");
        !(is_subagent || name.contains('@') || self.store.layout() == Layout::Events)
    }

    /// The size of the index, if only so much of it is read at the start of a session.
    pub fn budget(&self) -> Option<Budget> {
        let is_limited = index::is_read_in_part(self.store.root().path());
        self.index.filter(|_| is_limited)
    }

    /// Whether a path below the root can be a file of this store.
    fn may_contain(&self, path: &Path) -> bool {
        self.store.layout() != Layout::Instructions
            || instructions::NAMES
                .iter()
                .any(|name| path == Path::new(name))
    }

    fn reread(&self, touched: &[&Path]) -> Self {
        let store = Arc::clone(&self.store);
        let changed = |file: &str| touched.iter().any(|path| *path == Path::new(file));
        match store.list_again(&self.memories, changed) {
            Ok(memories) => Self::of(store, self.why.clone(), memories),
            Err(_) => Self::read(store, self.why.clone()),
        }
    }

    /// Returns the memory with this reference.
    pub fn memory(&self, path: &str) -> Option<&Memory> {
        self.memories.iter().find(|memory| memory.path == path)
    }

    /// Returns the number of memories with a problem.
    pub fn broken(&self) -> usize {
        let broken = |memory: &&Memory| memory.problem.is_some();
        self.memories.iter().filter(broken).count()
    }
}

/// Returns the size of the store's index, if it has one, and the memories that it does not name.
fn index_of(store: &Store, memories: &[Memory]) -> (Option<Budget>, Vec<String>) {
    let text = match store.layout() {
        Layout::Index => store.text(index::INDEX).ok().flatten(),
        _ => None,
    };
    match text {
        Some(text) => (Some(Budget::of(&text)), index::missing(&text, memories)),
        None => (None, Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::memory::discover::FoundStore;
    use std::fs;

    fn library(root: &Path) -> Library {
        let store = Store::open("s", root, Some(Layout::Index)).expect("opens");
        Library::load(Discovered {
            stores: vec![FoundStore {
                store,
                why: "test".to_owned(),
            }],
            ..Discovered::default()
        })
    }

    fn titles(library: &Library) -> Vec<&str> {
        let memories = library.stores[0].memories.iter();
        memories.map(|memory| memory.title.as_str()).collect()
    }

    #[test]
    fn a_refresh_reads_what_changed_and_shares_the_rest() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let root = temp.path().canonicalize().expect("canonical");
        fs::write(root.join("a.md"), "---\nname: A\n---\n").expect("writes");
        fs::write(root.join("b.md"), "---\nname: B\n---\n").expect("writes");
        let before = library(&root);
        assert_eq!(titles(&before), ["A", "B"]);
        // A change that is not reported is not seen while size and time stay the same.
        fs::write(root.join("b.md"), "---\nname: C\n---\n").expect("writes");
        fs::write(root.join("MEMORY.md"), "# Memory\n").expect("writes");
        let after = before.refresh(&[root.join("b.md"), root.join("MEMORY.md")]);
        assert_eq!(titles(&after), ["A", "C"]);
        assert_eq!(titles(&before), ["A", "B"]);
        assert_eq!(
            after.stores[0].index,
            Some(Budget {
                lines: 1,
                characters: 8
            })
        );
        let same = after.refresh(&[PathBuf::from("/elsewhere/x.md")]);
        assert!(Arc::ptr_eq(&same.stores[0], &after.stores[0]));
    }

    #[test]
    fn subagents_come_behind_who_started_them() {
        let log = |id: &str, parent: Option<&str>, time: i64| {
            let file = LogFile::new(Agent::ClaudeCode, id, id);
            let listed = LogSummary {
                file,
                title: id.to_owned(),
                time,
                turns: 1,
                cwd: None,
                session: None,
                parent: None,
                below: parent.map(str::to_owned),
                unlisted: None,
            };
            ("/shop".to_owned(), listed)
        };
        let log_groups = Library::group_logs([
            log("old", None, 1),
            log("sub-of-old", Some("old"), 9),
            log("new", None, 5),
            log("sub-of-gone", Some("gone"), 3),
            log("sub-of-sub", Some("sub-of-old"), 2),
            log("a", Some("b"), 1),
            log("b", Some("a"), 1),
        ]);
        let titles: Vec<(&str, Option<usize>)> = log_groups[0]
            .logs
            .iter()
            .map(|log| (log.title.as_str(), log.parent))
            .take(5)
            .collect();
        assert_eq!(
            titles,
            [
                ("new", None),
                ("sub-of-gone", None),
                ("old", None),
                ("sub-of-old", Some(2)),
                ("sub-of-sub", Some(3)),
            ]
        );
        assert_eq!(log_groups[0].logs.len(), 7, "nobody is lost");
    }

    #[test]
    fn a_budget_is_as_full_as_its_nearer_limit() {
        let told = |lines, characters| {
            let budget = Budget { lines, characters };
            (budget.measured_as(budget), budget.percent())
        };
        assert_eq!(told(100, 100), ((100, 200, "lines"), 50));
        assert_eq!(told(13, 1_906), ((1_906, 25_000, "characters"), 8));
        assert_eq!(told(10, 30_000), ((30_000, 25_000, "characters"), 120));
    }
}
