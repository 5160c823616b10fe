//! The rows of the tree: which parts of the library are displayed, their order and folding.
//!
//! Rows refer to the library by index, which keeps large trees cheap. State that outlives a
//! library (selection, marks, folds) refers to it by [`Key`].

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use crate::core::insight::ledger::Ledger;
use crate::core::memory::layout::{Layout, index};
use crate::core::memory::library::{Library, LogGroup, LogSummary, StoreSnapshot};
use crate::core::memory::store::StoreId;
use crate::core::memory::{FileKind, Memory};

/// Stores with more memories than this start with their groups folded; the agent's own store of the
/// project is what most come for.
const MANY: usize = 60;
const MANY_OWN: usize = 200;

/// What a row represents, as indices into the library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Node {
    Store(usize),
    /// A group of a store; the second index is into [`Tree::groups`].
    Group(usize, usize),
    /// A memory: store and memory.
    Memory(usize, usize),
    /// An entry of a memory.
    Entry(usize, usize, usize),
    /// All instruction files.
    Instructions,
    /// All logs.
    Sessions,
    /// The logs of an agent; the index is that of its first log group.
    Agent(usize),
    /// The logs of an agent in a project.
    LogGroup(usize),
    Log(usize, usize),
}

/// What a row represents, independent of the version of the library.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Key {
    Store(StoreId),
    Group(StoreId, String),
    Memory(StoreId, String),
    Entry(StoreId, String, String),
    Instructions,
    Sessions,
    Agent(String),
    LogGroup(String, String),
    /// Path and session id.
    Log(PathBuf, String),
}

/// Whether the rows below a row are displayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fold {
    Open,
    Closed,
}

impl Fold {
    /// Returns the opposite state.
    pub(crate) fn toggled(self) -> Self {
        match self {
            Self::Open => Self::Closed,
            Self::Closed => Self::Open,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TreeRow {
    pub(crate) node: Node,
    pub(crate) depth: u16,
    /// The state of a row that can be folded.
    pub(crate) fold: Option<Fold>,
    /// The number of memories or logs below it.
    pub(crate) count: usize,
}

/// The order of memories in their group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Sort {
    #[default]
    Name,
    Age,
    Size,
}

impl Sort {
    pub(crate) fn next(self) -> Self {
        match self {
            Self::Name => Self::Age,
            Self::Age => Self::Size,
            Self::Size => Self::Name,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Age => "age",
            Self::Size => "size",
        }
    }
}

/// The order of one list of all memories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    Oldest,
    Largest,
    Newest,
    Unread,
    Corrected,
}

impl Order {
    /// Returns the next order in the cycle; `None` is the tree.
    pub(crate) fn next(order: Option<Self>) -> Option<Self> {
        match order {
            None => Some(Self::Oldest),
            Some(Self::Oldest) => Some(Self::Largest),
            Some(Self::Largest) => Some(Self::Newest),
            Some(Self::Newest) => Some(Self::Unread),
            Some(Self::Unread) => Some(Self::Corrected),
            Some(Self::Corrected) => None,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Oldest => "oldest first",
            Self::Largest => "largest first",
            Self::Newest => "newest first",
            Self::Unread => "never read first, then longest ago",
            Self::Corrected => "most corrected first",
        }
    }
}

/// The user's choices about the tree.
#[derive(Debug, Clone, Default)]
pub(crate) struct TreeOptions {
    /// Rows that the user has folded or unfolded.
    pub(crate) folds: HashMap<Key, Fold>,
    /// Lower-case words that every row must contain.
    pub(crate) filter: Vec<String>,
    pub(crate) sort: Sort,
    /// Set to show one list of the memories of all stores instead of the tree.
    pub(crate) order: Option<Order>,
    /// How the memories were used.
    pub(crate) ledger: Arc<Ledger>,
}

/// The rows, and the groups that they refer to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tree {
    pub(crate) rows: Vec<TreeRow>,
    pub(crate) groups: Vec<Group>,
}

/// A group of memories: an index section, a type, a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) label: String,
    /// The whole path of a folder; otherwise the label.
    pub(crate) path: String,
    /// The type, if the group is one.
    pub(crate) category: Option<String>,
}

impl Tree {
    pub(crate) fn of(library: &Library, options: &TreeOptions) -> Self {
        let is_own = |snapshot: &Arc<StoreSnapshot>| {
            snapshot.store.layout() != Layout::Instructions && snapshot.is_of_project()
        };
        let mut building = TreeBuilder {
            library,
            options,
            opens_own: library.stores.iter().any(is_own),
            tree: Self::default(),
        };
        if let Some(order) = options.order {
            building.one_list(order);
            return building.tree;
        }
        let mut stores: Vec<(usize, &StoreSnapshot)> = library
            .stores
            .iter()
            .enumerate()
            .map(|(at, snapshot)| (at, &**snapshot))
            .filter(|(_, snapshot)| snapshot.store.layout() != Layout::Instructions)
            .collect();
        stores.sort_by_key(|(_, snapshot)| snapshot.rank());
        for (at, snapshot) in stores {
            building.store(at, snapshot);
        }
        building.instructions();
        building.sessions();
        building.tree
    }

    pub(crate) fn key(&self, library: &Library, row: &TreeRow) -> Key {
        let store = |at: usize| library.stores[at].store.id().clone();
        let memory = |at: usize, of: usize| library.stores[at].memories[of].path.clone();
        match row.node {
            Node::Store(at) => Key::Store(store(at)),
            Node::Group(at, group) => Key::Group(store(at), self.groups[group].path.clone()),
            Node::Memory(at, of) => Key::Memory(store(at), memory(at, of)),
            Node::Entry(at, of, entry) => {
                let slug = library.stores[at].memories[of].entries[entry].slug.clone();
                Key::Entry(store(at), memory(at, of), slug)
            }
            Node::Instructions => Key::Instructions,
            Node::Sessions => Key::Sessions,
            Node::Agent(first) => Key::Agent(library.logs[first].agent.name().to_owned()),
            Node::LogGroup(at) => Key::LogGroup(
                library.logs[at].agent.name().to_owned(),
                library.logs[at].project.clone(),
            ),
            Node::Log(at, log) => {
                let file = &library.logs[at].logs[log].file;
                Key::Log(file.path.clone(), file.id.clone())
            }
        }
    }

    pub(crate) fn find(&self, library: &Library, key: &Key) -> Option<usize> {
        self.rows.iter().position(|row| self.is(library, row, key))
    }

    /// Whether a row has this key; compares without allocating, since a tree has many rows.
    fn is(&self, library: &Library, row: &TreeRow, key: &Key) -> bool {
        let store = |at: usize, id: &StoreId| library.stores[at].store.id() == id;
        let memory = |at: usize, of: usize| library.stores[at].memories[of].path.as_str();
        match (row.node, key) {
            (Node::Store(at), Key::Store(id)) => store(at, id),
            (Node::Group(at, group), Key::Group(id, path)) => {
                store(at, id) && self.groups[group].path == *path
            }
            (Node::Memory(at, of), Key::Memory(id, path)) => {
                memory(at, of) == path && store(at, id)
            }
            (Node::Entry(at, of, _), Key::Entry(_, path, _)) if memory(at, of) != path => false,
            (Node::Memory(..) | Node::Store(_) | Node::Group(..), _) => false,
            _ => self.key(library, row) == *key,
        }
    }
}

/// A group and the folders above it, outermost first, each with its whole path.
pub(super) fn folders(layout: Layout, path: &str) -> Vec<String> {
    if matches!(layout, Layout::Index | Layout::Entries) {
        return vec![path.to_owned()];
    }
    let ends = path.match_indices('/').map(|(end, _)| end);
    let ends = ends.chain([path.len()]);
    ends.map(|end| path[..end].to_owned()).collect()
}

struct TreeBuilder<'a> {
    library: &'a Library,
    options: &'a TreeOptions,
    /// Whether the project has stores of its own, so that the others are folded.
    opens_own: bool,
    tree: Tree,
}

impl TreeBuilder<'_> {
    fn push(&mut self, node: Node, depth: u16) -> usize {
        self.tree.rows.push(TreeRow {
            node,
            depth,
            fold: None,
            count: 0,
        });
        self.tree.rows.len() - 1
    }

    /// Makes a row foldable; returns whether it is open.
    fn foldable(&mut self, at: usize, count: usize, unless_said: Fold) -> bool {
        let row = self.tree.rows[at];
        let fold = if self.options.filter.is_empty() {
            let key = self.tree.key(self.library, &row);
            let explicit = self.options.folds.get(&key).copied();
            explicit.unwrap_or(unless_said)
        } else {
            Fold::Open
        };
        let row = &mut self.tree.rows[at];
        row.fold = Some(fold);
        row.count = count;
        fold == Fold::Open
    }

    /// The memories of a store that match the filter, sorted.
    fn members(&self, snapshot: &StoreSnapshot) -> Vec<usize> {
        let memories = &snapshot.memories;
        let mut members: Vec<usize> = (0..memories.len())
            .filter(|at| matches_filter(snapshot, &memories[*at], &self.options.filter))
            .collect();
        let time = |at: &usize| {
            let ledger = &self.options.ledger;
            ledger.last_change(snapshot.store.id(), &memories[*at])
        };
        match self.options.sort {
            Sort::Name => members.sort_by_cached_key(|at| memories[*at].title.to_lowercase()),
            Sort::Age => members.sort_by_cached_key(|at| std::cmp::Reverse(time(at))),
            Sort::Size => members.sort_by_key(|at| std::cmp::Reverse(memories[*at].size)),
        }
        members
    }

    /// Adds the memories of all stores as one list.
    fn one_list(&mut self, order: Order) {
        let stores = self.library.stores.iter().enumerate();
        let stores = stores.filter(|(_, snapshot)| {
            !matches!(
                snapshot.store.layout(),
                Layout::Instructions | Layout::Events
            )
        });
        let mut all: Vec<(usize, usize)> = stores
            .flat_map(|(at, snapshot)| self.members(snapshot).into_iter().map(move |of| (at, of)))
            .collect();
        let memory = |(at, of): &(usize, usize)| &self.library.stores[*at].memories[*of];
        let store = |one: &(usize, usize)| self.library.stores[one.0].store.id();
        let ledger = &self.options.ledger;
        let account = |one: &(usize, usize)| ledger.account(store(one), &memory(one).path, None);
        let time = |one: &(usize, usize)| ledger.last_change(store(one), memory(one));
        match order {
            Order::Oldest => all.sort_by_cached_key(time),
            Order::Largest => all.sort_by_key(|one| std::cmp::Reverse(memory(one).size)),
            Order::Newest => all.sort_by_cached_key(|one| std::cmp::Reverse(time(one))),
            Order::Unread => all.sort_by_cached_key(|one| {
                let used = account(one).map(|account| (account.uses() > 0, account.last_use));
                (used.unwrap_or_default(), time(one))
            }),
            Order::Corrected => all.sort_by_cached_key(|one| {
                let corrected = account(one).map(|account| account.corrected.len());
                std::cmp::Reverse((corrected.unwrap_or_default(), time(one)))
            }),
        }
        for one in all {
            self.memory(one, 0);
        }
    }

    fn store(&mut self, at: usize, snapshot: &StoreSnapshot) {
        let members = self.members(snapshot);
        if members.is_empty() && !self.options.filter.is_empty() {
            return;
        }
        let row = self.push(Node::Store(at), 0);
        let usual = if self.opens_own && !snapshot.is_of_project() {
            Fold::Closed
        } else {
            Fold::Open
        };
        if !self.foldable(row, members.len(), usual) {
            return;
        }
        let most = if snapshot.rank() == 0 { MANY_OWN } else { MANY };
        let groups = if snapshot.memories.len() > most {
            Fold::Closed
        } else {
            Fold::Open
        };
        let mut grouped: BTreeMap<(usize, String), Vec<usize>> = BTreeMap::new();
        for of in members {
            let memory = &snapshot.memories[of];
            match group_of(snapshot.store.layout(), memory) {
                Some(group) => grouped.entry(group).or_default().push(of),
                None => self.memory((at, of), 1),
            }
        }
        let mut totals: HashMap<String, usize> = HashMap::new();
        for ((_, path), members) in &grouped {
            for folder in folders(snapshot.store.layout(), path) {
                *totals.entry(folder).or_default() += members.len();
            }
        }
        let mut open: Vec<(String, bool)> = Vec::new();
        for ((_, path), members) in grouped {
            let depth = self.folder(at, &path, &totals, groups, &mut open);
            if let Some(depth) = depth {
                for of in members {
                    self.memory((at, of), depth);
                }
            }
        }
    }

    /// Adds rows for a group and for missing folders above it; returns the depth of its members
    /// if it is open.
    fn folder(
        &mut self,
        at: usize,
        path: &str,
        totals: &HashMap<String, usize>,
        unless_said: Fold,
        open: &mut Vec<(String, bool)>,
    ) -> Option<u16> {
        let layout = self.library.stores[at].store.layout();
        let mut depth = 1;
        for above in folders(layout, path) {
            let known = open.iter().find(|(known, _)| *known == above);
            let is_open = match known {
                Some((_, is_open)) => *is_open,
                None => {
                    let is_index = layout == Layout::Index;
                    let name = above.rsplit('/').next().filter(|_| !is_index);
                    let label = name.unwrap_or(&above).to_owned();
                    self.tree.groups.push(Group {
                        category: is_index.then(|| label.to_lowercase()),
                        label,
                        path: above.clone(),
                    });
                    let group = self.tree.groups.len() - 1;
                    let row = self.push(Node::Group(at, group), depth);
                    let count = totals.get(&above).copied().unwrap_or_default();
                    let is_open = self.foldable(row, count, unless_said);
                    open.push((above.clone(), is_open));
                    is_open
                }
            };
            if !is_open {
                return None;
            }
            depth += 1;
        }
        Some(depth)
    }

    fn memory(&mut self, (at, of): (usize, usize), depth: u16) {
        let row = self.push(Node::Memory(at, of), depth);
        let entries = &self.library.stores[at].memories[of].entries;
        if entries.len() < 2 {
            return;
        }
        let filtered = !self.options.filter.is_empty();
        if self.foldable(row, entries.len(), Fold::Closed) && !filtered {
            for (number, entry) in entries.iter().enumerate() {
                let below = u16::try_from(entry.depth).unwrap_or_default();
                self.push(Node::Entry(at, of, number), depth + 1 + below);
            }
        } else if filtered {
            let key = self.tree.key(self.library, &self.tree.rows[row]);
            let explicit = self.options.folds.get(&key).copied();
            self.tree.rows[row].fold = Some(explicit.unwrap_or(Fold::Closed));
        }
    }

    fn instructions(&mut self) {
        let mut files: Vec<(usize, usize)> = Vec::new();
        for (at, snapshot) in self.library.stores.iter().enumerate() {
            if snapshot.store.layout() == Layout::Instructions {
                files.extend(self.members(snapshot).into_iter().map(|of| (at, of)));
            }
        }
        if files.is_empty() {
            return;
        }
        let row = self.push(Node::Instructions, 0);
        if self.foldable(row, files.len(), Fold::Closed) {
            for file in files {
                self.memory(file, 1);
            }
        }
    }

    fn sessions(&mut self) {
        let shown = |at: usize| -> Vec<usize> {
            let LogGroup {
                agent,
                project,
                logs,
            } = &self.library.logs[at];
            let has = |log: &LogSummary, word: &String| {
                [agent.name(), project, &log.title]
                    .iter()
                    .any(|text| contains(text, word))
            };
            let words = &self.options.filter;
            (0..logs.len())
                .filter(|log| logs[*log].has_row())
                .filter(|log| words.iter().all(|word| has(&logs[*log], word)))
                .collect()
        };
        let log_groups: Vec<(usize, Vec<usize>)> = (0..self.library.logs.len())
            .map(|at| (at, shown(at)))
            .filter(|(_, logs)| !logs.is_empty())
            .collect();
        // Only sessions are counted, not what hangs below them.
        let own = |(at, logs): &(usize, Vec<usize>)| -> usize {
            let all = &self.library.logs[*at].logs;
            let is_own = |log: &&usize| all[**log].unlisted.is_none();
            logs.iter().filter(is_own).count()
        };
        let count =
            |log_groups: &[(usize, Vec<usize>)]| -> usize { log_groups.iter().map(own).sum() };
        if log_groups.is_empty() {
            return;
        }
        // All of them are shown if the tree has no other rows.
        let fold = if self.tree.rows.is_empty() {
            Fold::Open
        } else {
            Fold::Closed
        };
        let row = self.push(Node::Sessions, 0);
        if !self.foldable(row, count(&log_groups), fold) {
            return;
        }
        let agent = |at: usize| self.library.logs[at].agent;
        for same in log_groups.chunk_by(|a, b| agent(a.0) == agent(b.0)) {
            let row = self.push(Node::Agent(same[0].0), 1);
            if !self.foldable(row, count(same), fold) {
                continue;
            }
            for group in same {
                let (at, logs) = group;
                // A single project gets no row.
                if same.len() == 1 {
                    self.logs(*at, logs, 2);
                    continue;
                }
                let row = self.push(Node::LogGroup(*at), 2);
                if self.foldable(row, own(group), fold) {
                    self.logs(*at, logs, 3);
                }
            }
        }
    }

    /// Adds the logs of a group, subagents below the log that started them.
    fn logs(&mut self, at: usize, shown: &[usize], depth: u16) {
        let all = &self.library.logs[at].logs;
        let is_shown = |log: &usize| shown.binary_search(log).is_ok();
        let mut children: HashMap<usize, usize> = HashMap::new();
        for parent in shown.iter().filter_map(|log| all[*log].parent) {
            *children.entry(parent).or_default() += 1;
        }
        // The depth of the subagent rows of each open log.
        let mut open: HashMap<usize, u16> = HashMap::new();
        for log in shown {
            let depth = match all[*log].parent.filter(is_shown) {
                None => depth,
                Some(parent) => match open.get(&parent) {
                    Some(depth) => *depth,
                    None => continue,
                },
            };
            let row = self.push(Node::Log(at, *log), depth);
            let children = children.get(log).copied().unwrap_or(0);
            if children > 0 && self.foldable(row, children, Fold::Closed) {
                open.insert(*log, depth + 1);
            }
        }
    }
}

/// Whether a memory has every word of the filter, in its own text or in the name of its store.
pub(super) fn matches_filter(snapshot: &StoreSnapshot, memory: &Memory, words: &[String]) -> bool {
    let has_word = |word: &String| {
        let has = |text: &str| contains(text, word);
        has(&memory.title)
            || has(&memory.path)
            || has(&memory.summary)
            || has(snapshot.store.name())
            || memory.category.as_deref().is_some_and(has)
            || memory.entries.iter().any(|entry| has(&entry.title))
    };
    words.iter().all(has_word)
}

/// Whether `text` contains the lower-case `word`, ignoring case.
fn contains(text: &str, word: &str) -> bool {
    if text.is_ascii() && word.is_ascii() {
        let (text, word) = (text.as_bytes(), word.as_bytes());
        return word.is_empty()
            || text
                .windows(word.len())
                .any(|window| window.eq_ignore_ascii_case(word));
    }
    text.to_lowercase().contains(word)
}

/// Returns the group of a memory and its rank; `None` for memories directly below the store.
pub(super) fn group_of(layout: Layout, memory: &Memory) -> Option<(usize, String)> {
    match layout {
        _ if memory.kind == FileKind::Index => None,
        Layout::Index => {
            if let Some((folder, _)) = memory.path.rsplit_once('/') {
                return Some((index::TYPES.len() + 1, format!("{folder}/")));
            }
            let category = memory.category.as_deref().unwrap_or_default();
            let known = index::TYPES.iter().position(|(name, _)| *name == category);
            Some(match known {
                Some(at) => (at, capitalize(index::TYPES[at].0)),
                None => (index::TYPES.len(), "Other".to_owned()),
            })
        }
        _ if !matches!(memory.kind, FileKind::Memory | FileKind::Source) => None,
        _ => {
            let (folder, _) = memory.path.rsplit_once('/')?;
            let rules = layout.rules();
            let rank = rules.rank(&rules.file_of(&memory.path));
            Some((usize::from(rank), folder.to_owned()))
        }
    }
}

fn capitalize(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::pane::browse::fixture;

    fn lines(library: &Library, options: &TreeOptions) -> Vec<String> {
        let tree = Tree::of(library, options);
        tree.rows
            .iter()
            .map(|row| {
                let fold = match row.fold {
                    Some(Fold::Open) => "▾",
                    Some(Fold::Closed) => "▸",
                    None => "·",
                };
                let key = match tree.key(library, row) {
                    Key::Store(id) => {
                        let snapshot = library.store_by_id(&id).expect("a store");
                        snapshot.store.name().to_owned()
                    }
                    Key::Agent(name) => name,
                    Key::Group(_, path) | Key::Memory(_, path) => path,
                    Key::Entry(_, _, slug) => format!("#{slug}"),
                    other => format!("{other:?}").to_lowercase(),
                };
                format!("{}{fold}{key}", "  ".repeat(usize::from(row.depth)))
            })
            .collect()
    }

    #[test]
    fn every_layout_has_its_groups() {
        let home = fixture::home();
        let library = fixture::library(home.path());
        assert_eq!(
            lines(&library, &TreeOptions::default()),
            [
                "▾claude",
                "  ▾User",
                "    ·user_prefs.md",
                "  ▾Project",
                "    ·auth.md",
                "    ·release.md",
                "▾session",
                "  ·overview.md",
                "  ▾detail",
                "    ·detail/auth-design.md",
                "▾facts",
                "  ▾facts",
                "    ·facts/user.md",
                "  ▾episodes",
                "    ▸episodes/2026-02.md",
                "▸instructions",
            ]
        );
    }

    #[test]
    fn a_folder_counts_what_is_in_the_folders_below_it() {
        let home = fixture::home();
        let deep = home.path().join("session/working-memory/detail/tokens");
        std::fs::create_dir_all(&deep).expect("folders");
        std::fs::write(deep.join("rotation.md"), "# Rotation\n\nText.\n").expect("a file");
        let library = fixture::library(home.path());
        let tree = Tree::of(&library, &TreeOptions::default());
        let count = |path: &str| {
            let is = |row: &&TreeRow| match row.node {
                Node::Group(_, group) => tree.groups[group].path == path,
                _ => false,
            };
            tree.rows.iter().find(is).map(|row| row.count)
        };
        assert_eq!(count("detail"), Some(2));
        assert_eq!(count("detail/tokens"), Some(1));
    }

    #[test]
    fn a_filter_opens_what_it_finds_and_hides_the_rest() {
        let home = fixture::home();
        let library = fixture::library(home.path());
        let options = TreeOptions {
            filter: vec!["auth".to_owned()],
            ..TreeOptions::default()
        };
        assert_eq!(
            lines(&library, &options),
            [
                "▾claude",
                "  ▾Project",
                "    ·auth.md",
                "▾session",
                "  ▾detail",
                "    ·detail/auth-design.md",
            ]
        );
    }

    #[test]
    fn folds_hold_and_rows_are_found_again() {
        let home = fixture::home();
        let library = fixture::library(home.path());
        let mut options = TreeOptions::default();
        let id = |name: &str| library.store(name).expect("a store").store.id().clone();
        let group = Key::Group(id("claude"), "Project".to_owned());
        options.folds.insert(group.clone(), Fold::Closed);
        let month = Key::Memory(id("facts"), "episodes/2026-02.md".to_owned());
        options.folds.insert(month, Fold::Open);
        let tree = Tree::of(&library, &options);
        assert!(lines(&library, &options).contains(&"  ▸Project".to_owned()));
        assert!(lines(&library, &options).contains(&"      ·#logger-leak".to_owned()));
        for (at, row) in tree.rows.iter().enumerate() {
            let key = tree.key(&library, row);
            assert_eq!(tree.find(&library, &key), Some(at), "{key:?}");
        }
    }
}
