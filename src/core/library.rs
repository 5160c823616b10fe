//! The library: every store with its memories, and the logs, at one moment.
//!
//! Immutable: what changed on the disk gives a new library, which shares with the old one
//! everything that did not change.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::discover::{self, Discovered};
use super::layout::{Layout, index, instructions};
use super::log::{Agent, Head, LogFile, Resume};
use super::memory::Memory;
use super::store::{Store, StoreId};

/// Everything at one moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Library {
    /// The stores, in the order in which they were found.
    pub stores: Vec<Arc<StoreSnapshot>>,
    /// The logs, by agent and project; empty until somebody hands them in.
    pub logs: Arc<Vec<LogGroup>>,
    /// What could not be opened, in words.
    pub problems: Vec<String>,
    /// Stores that the first memory of their kind would make; each is empty.
    pub firsts: Vec<Arc<StoreSnapshot>>,
}

/// A store and what was in it.
#[derive(Debug)]
pub struct StoreSnapshot {
    /// The store.
    pub store: Arc<Store>,
    /// Why it is here, in a few words.
    pub why: String,
    /// The memories, in the layout's order.
    pub memories: Vec<Memory>,
    /// The health of the index that agents load, where the layout has one.
    pub index: Option<Budget>,
    /// Why the store could not be listed, where that is so.
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
            && self.failure == other.failure
    }
}

/// How much of an index there is, and how much of it an agent reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Its lines.
    pub lines: usize,
    /// Its bytes.
    pub bytes: usize,
}

impl Budget {
    /// The most that an agent reads.
    pub const MOST: Self = Self {
        lines: index::BUDGET_LINES,
        bytes: index::BUDGET_BYTES,
    };

    /// The budget that a text takes.
    pub fn of(text: &str) -> Self {
        Self {
            lines: text.lines().count(),
            bytes: text.len(),
        }
    }

    /// How full it is in percent, by whichever limit is nearer; over 100 something is cut.
    pub fn percent(self) -> usize {
        let part = |is: usize, most: usize| is * 100 / most;
        part(self.lines, Self::MOST.lines).max(part(self.bytes, Self::MOST.bytes))
    }
}

/// The logs of one agent in one project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogGroup {
    /// Whose they are.
    pub agent: Agent,
    /// The project's directory, or the name that the agent gives it.
    pub project: String,
    /// The logs, newest first.
    pub logs: Vec<LogSummary>,
}

/// A log with what a list says of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSummary {
    /// The log.
    pub file: LogFile,
    /// Its title: what the agent or the person called it, or how it began.
    pub title: String,
    /// When it was last spoken in, in milliseconds since 1970; 0 when unknown.
    pub time: i64,
    /// How many prompts a person wrote.
    pub turns: u64,
    /// The working directory.
    pub cwd: Option<String>,
    /// The session's id as its records give it.
    pub session: Option<String>,
    /// Where in its group the log is that started this one as a subagent.
    pub parent: Option<usize>,
}

impl LogSummary {
    /// The agent's own command that continues the session, where it has one.
    pub fn resume(&self) -> Option<Resume> {
        self.file.resume(&Head {
            cwd: self.cwd.clone(),
            session: self.session.clone(),
            ..Head::default()
        })
    }
}

impl Library {
    /// Reads everything that was found.
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

    /// Logs, each given with its project, grouped by agent and project. The logs of subagents
    /// come behind the one that started them.
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

    /// The library with these logs.
    pub fn with_logs(&self, logs: Arc<Vec<LogGroup>>) -> Self {
        Self {
            logs,
            ..self.clone()
        }
    }

    /// The log at this file with this id.
    pub fn log(&self, path: &Path, id: &str) -> Option<&LogSummary> {
        let mut logs = self.logs.iter().flat_map(|log_group| &log_group.logs);
        logs.find(|log| log.file.path == path && log.file.id == id)
    }

    /// The library after something happened at `paths`: only their stores are looked at again,
    /// and of those only the files that changed are read.
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

    /// The store of that name, or the one that the first memory would make.
    pub fn store(&self, name: &str) -> Option<&Arc<StoreSnapshot>> {
        let mut all = self.stores.iter().chain(&self.firsts);
        all.find(|snapshot| snapshot.store.name() == name)
    }

    /// The store with this id, whatever it is called now.
    pub fn store_by_id(&self, id: &StoreId) -> Option<&Arc<StoreSnapshot>> {
        let mut all = self.stores.iter().chain(&self.firsts);
        all.find(|snapshot| snapshot.store.id() == id)
    }

    /// How many memories there are, instruction files not counted.
    pub fn memories(&self) -> usize {
        self.stores
            .iter()
            .filter(|snapshot| snapshot.store.layout() != Layout::Instructions)
            .map(|snapshot| snapshot.memories.len())
            .sum()
    }

    /// How many conversations there are, those of subagents not counted.
    pub fn sessions(&self) -> usize {
        let logs = self.logs.iter().flat_map(|log_group| &log_group.logs);
        logs.filter(|log| log.parent.is_none()).count()
    }

    /// The directories to watch, and whether what is below them matters too.
    pub fn watched(&self) -> Vec<(PathBuf, WatchDepth)> {
        let mut all = Vec::new();
        for snapshot in &self.stores {
            let root = snapshot.store.root().path().to_owned();
            if snapshot.store.layout() == Layout::Instructions {
                // Such a root is a whole project or a home directory: only its surface matters.
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

/// The logs, newest first, each followed by those that it started.
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
        match log.file.parent.clone().filter(|id| ids.contains(id)) {
            Some(parent) if parent != log.file.id => started.entry(parent).or_default().push(log),
            _ => heads.push(log),
        }
    }
    let mut sorted = Vec::new();
    for head in heads {
        push_with_children(head, None, &mut started, &mut sorted);
    }
    // Whoever claims to have started each other still is shown.
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

/// How deep a directory is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WatchDepth {
    /// Its own files.
    Surface,
    /// Everything below it.
    All,
}

impl StoreSnapshot {
    fn read(store: Arc<Store>, why: String) -> Self {
        let (memories, failure) = match store.list() {
            Ok(memories) => (memories, None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        Self {
            index: budget(&store),
            store,
            why,
            memories,
            failure,
        }
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
            Ok(memories) => Self {
                index: budget(&store),
                store,
                why: self.why.clone(),
                memories,
                failure: None,
            },
            Err(_) => Self::read(store, self.why.clone()),
        }
    }

    /// The memory with this reference.
    pub fn memory(&self, path: &str) -> Option<&Memory> {
        self.memories.iter().find(|memory| memory.path == path)
    }

    /// How many memories cannot be read as they should.
    pub fn broken(&self) -> usize {
        let broken = |memory: &&Memory| memory.problem.is_some();
        self.memories.iter().filter(broken).count()
    }
}

fn budget(store: &Store) -> Option<Budget> {
    if store.layout() != Layout::Index {
        return None;
    }
    let text = store.text(index::INDEX).ok()??;
    Some(Budget::of(&text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::discover::FoundStore;
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
        // A change of which nobody tells is not seen while size and time stay as they are.
        fs::write(root.join("b.md"), "---\nname: C\n---\n").expect("writes");
        fs::write(root.join("MEMORY.md"), "# Memory\n").expect("writes");
        let after = before.refresh(&[root.join("b.md"), root.join("MEMORY.md")]);
        assert_eq!(titles(&after), ["A", "C"]);
        assert_eq!(titles(&before), ["A", "B"]);
        assert_eq!(after.stores[0].index, Some(Budget { lines: 1, bytes: 9 }));
        let same = after.refresh(&[PathBuf::from("/elsewhere/x.md")]);
        assert!(Arc::ptr_eq(&same.stores[0], &after.stores[0]));
    }

    #[test]
    fn subagents_come_behind_who_started_them() {
        let log = |id: &str, parent: Option<&str>, time: i64| {
            let file = LogFile {
                agent: Agent::ClaudeCode,
                path: PathBuf::from(id),
                id: id.to_owned(),
                parent: parent.map(str::to_owned),
                title: None,
                size: 1,
                modified: None,
            };
            let listed = LogSummary {
                file,
                title: id.to_owned(),
                time,
                turns: 1,
                cwd: None,
                session: None,
                parent: None,
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
        assert_eq!(
            Budget {
                lines: 100,
                bytes: 100
            }
            .percent(),
            50
        );
        assert_eq!(
            Budget {
                lines: 10,
                bytes: 30_000
            }
            .percent(),
            120
        );
    }
}
