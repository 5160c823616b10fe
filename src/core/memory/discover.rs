//! Discovery of the stores for a working directory.
//!
//! Each location is a rule of its own below, and each store carries the reason why it was
//! found. Directories are read, memories are not opened.

mod agents;
mod captured;
mod claude;
mod first;
pub(in crate::core) mod gemini;
mod instruction;
mod project;
mod searched;

use std::collections::HashSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use crate::core::disk::foreign::open_regular;
use crate::core::disk::sandbox::Root;
use crate::core::disk::trust::{Refusal, TrustBoundary, real_path};
use crate::core::log::LogLocations;
use crate::core::memory::config::{Settings, expand};
use crate::core::memory::layout::{Layout, session};
use crate::core::memory::store::Store;
use crate::core::{Error, Result};

pub use agents::copilot_project;
use captured::captured_events;
pub use captured::{events_root, session_events_root};
pub use claude::{ClaudeStore, claude_memory_root, claude_slug, claude_stores};
pub use first::{first_store, is_first};
pub use gemini::gemini_roots;
use project::Project;
pub use project::{linked_to, project_border, project_folders};
pub use searched::{SearchedPlace, searched_places};

/// The working directory and the directories of agents; provided by the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Environment {
    /// The working directory.
    pub cwd: PathBuf,
    /// The home directory.
    pub home: PathBuf,
    /// Claude Code's directory.
    pub claude: PathBuf,
    /// The name for the project's directory that Claude Code is configured with.
    pub claude_project: Option<String>,
    /// Codex's directory.
    pub codex: PathBuf,
    /// Gemini CLI's directory.
    pub gemini: PathBuf,
    /// Further directories with memories of Claude Code.
    pub claude_stores: Vec<ClaudeStore>,
    /// OpenCode's directory of settings and instructions.
    pub opencode: PathBuf,
    /// Qwen Code's directories.
    pub qwen: Vec<PathBuf>,
    /// Hermes' homes.
    pub hermes: Vec<PathBuf>,
    /// OpenClaw's directories.
    pub openclaw: Vec<PathBuf>,
    /// Letta's directories.
    pub letta: Vec<PathBuf>,
    /// The user directories of VS Code and its relatives.
    pub editors: Vec<PathBuf>,
    /// tome's own data directory.
    pub data: PathBuf,
}

impl Environment {
    /// The directories of Codex's memories, the newer form first.
    pub fn codex_memories(&self) -> [PathBuf; 2] {
        ["memories_v2", "memories"].map(|name| self.codex.join(name))
    }

    /// Whether Qwen Code keeps the memories of this directory, whose index it makes by itself.
    pub fn is_of_qwen(&self, root: &Path) -> bool {
        let mut homes = self.qwen.iter();
        root.ends_with(".qwen/team-memory") || homes.any(|home| root.starts_with(real_path(home)))
    }

    /// Whether OpenClaw keeps memories in this directory, as its settings may say.
    pub fn is_of_openclaw(&self, root: &Path) -> bool {
        let is_one = |place: &Path| root.starts_with(real_path(place));
        let mut homes = self.openclaw.iter();
        homes.any(|home| {
            let places = agents::workspaces(home, self);
            is_one(home) || places.iter().any(|(_, place)| is_one(place))
        })
    }

    /// The environment of a home in which agents keep their files where they do by default.
    pub fn of_home(home: &Path, cwd: PathBuf, data: PathBuf) -> Self {
        let LogLocations {
            qwen,
            hermes,
            openclaw,
            editors,
            ..
        } = LogLocations::of_home(home);
        Self {
            claude_stores: Vec::new(),
            letta: vec![home.join(".letta")],
            qwen,
            hermes,
            openclaw,
            editors,
            cwd,
            home: home.to_owned(),
            claude: home.join(".claude"),
            claude_project: None,
            codex: home.join(".codex"),
            gemini: home.join(".gemini"),
            opencode: home.join(".config/opencode"),
            data,
        }
    }
}

/// Which stores are discovered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiscoveryScope {
    /// Stores of the current project.
    Project,
    /// All stores.
    Everything,
}

/// A directory that may be a store.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Candidate {
    name: String,
    root: PathBuf,
    layout: Option<Layout>,
    why: String,
    /// Whether a failure to open it is reported.
    is_explicit: bool,
    origin: Origin,
}

impl Candidate {
    /// A directory that may be missing.
    fn new(
        name: impl Into<String>,
        root: PathBuf,
        layout: Option<Layout>,
        why: impl Into<String>,
    ) -> Self {
        Self {
            name: name.into(),
            root,
            layout,
            why: why.into(),
            is_explicit: false,
            origin: Origin::Home,
        }
    }

    fn of(self, origin: Origin) -> Self {
        Self { origin, ..self }
    }
}

/// The source of a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// The content of the project, which may not lead outside of it.
    Project,
    /// The home directory, the environment or the user's own settings.
    Home,
}

/// A discovered store, and why it was found.
#[derive(Debug)]
pub struct FoundStore {
    /// The store.
    pub store: Store,
    /// The rule that found the store, in a few words.
    pub why: String,
}

/// A candidate that could not be opened.
#[derive(Debug)]
pub struct Problem {
    /// The directory.
    pub root: PathBuf,
    /// What is wrong.
    pub error: Error,
}

/// The result of discovery.
#[derive(Debug, Default)]
pub struct Discovered {
    /// The stores, each with a unique name.
    pub stores: Vec<FoundStore>,
    /// Candidates that could not be opened.
    pub problems: Vec<Problem>,
    /// Paths that are not used, because they lead out of the project.
    pub refusals: Vec<Refusal>,
    /// Stores that would be created with their first memory.
    pub firsts: Vec<FoundStore>,
}

/// Discovers the stores.
pub fn discover(
    environment: &Environment,
    settings: &Settings,
    scope: DiscoveryScope,
) -> Discovered {
    let mut found = Discovered::default();
    let mut roots = HashSet::new();
    let mut names = HashSet::new();
    let project = Project::of(&environment.cwd);
    let looking = Discovery {
        environment,
        settings,
        border: project.border(environment, settings),
        project,
        scope,
    };
    for candidate in looking.candidates(&mut found.refusals) {
        let checked = match (candidate.origin, candidate.is_explicit) {
            (Origin::Home, _) => Ok(()),
            (Origin::Project, true) => looking.border.check(&candidate.root),
            (Origin::Project, false) => looking.border.check_present(&candidate.root),
        };
        if let Err(refusal) = checked {
            found.refusals.push(refusal);
            continue;
        }
        if !candidate.is_explicit && !candidate.root.is_dir() {
            continue;
        }
        match open_candidate(&candidate) {
            // The directory may have been replaced by a link after the check.
            Ok(store)
                if candidate.origin == Origin::Project
                    && !looking.border.allows(store.root().path()) => {}
            Ok(store) => {
                let key = (store.root().path().to_owned(), store.layout());
                if roots.insert(key) {
                    let name = unique(&candidate.name, &mut names);
                    found.stores.push(FoundStore {
                        store: store.with_name(name),
                        why: candidate.why,
                    });
                }
            }
            Err(error) if candidate.is_explicit || is_ambiguous(&candidate) => {
                found.problems.push(Problem {
                    root: candidate.root,
                    error,
                });
            }
            Err(_) => {}
        }
    }
    instruction::list_once(&mut found.stores);
    found.refusals.dedup();
    for layout in [Layout::Index, Layout::Coder] {
        let stores: Vec<&Store> = found.stores.iter().map(|found| &found.store).collect();
        if is_first(layout, &stores)
            && let Ok(Some(first)) = first_store(environment, settings, layout)
        {
            let name = unique(first.store.name(), &mut names);
            found.firsts.push(FoundStore {
                store: first.store.with_name(name),
                why: first.why,
            });
        }
    }
    found
}

/// Opens a candidate. A store that is listed in the settings may be missing or empty.
fn open_candidate(candidate: &Candidate) -> Result<Store> {
    let layout = match candidate.layout {
        None if candidate.is_explicit && is_empty(&candidate.root) => Some(Layout::Index),
        layout => layout,
    };
    Store::open(&candidate.name, &candidate.root, layout)
}

/// Whether a directory is missing or empty.
pub fn is_empty(path: &Path) -> bool {
    match fs::read_dir(path) {
        Ok(mut entries) => entries.next().is_none(),
        Err(e) => e.kind() == std::io::ErrorKind::NotFound,
    }
}

/// Whether more than one layout matches: that is reported, because the user must decide.
fn is_ambiguous(candidate: &Candidate) -> bool {
    Root::open(&candidate.root).is_ok_and(|root| Layout::detect(&root).len() > 1)
}

fn unique(name: &str, taken: &mut HashSet<String>) -> String {
    // The name is part of citations: `name:path`.
    let plain = |c: char| {
        if c.is_alphanumeric() || "-_.@".contains(c) {
            c
        } else {
            '-'
        }
    };
    let name: String = name.chars().map(plain).collect();
    let name = if name.chars().count() > 1 {
        name
    } else {
        format!("store-{name}")
    };
    let mut unique = name.clone();
    let mut number = 2;
    while !taken.insert(unique.clone()) {
        unique = format!("{name}-{number}");
        number += 1;
    }
    unique
}

/// The inputs of discovery.
struct Discovery<'a> {
    environment: &'a Environment,
    settings: &'a Settings,
    project: Project,
    border: TrustBoundary,
    scope: DiscoveryScope,
}

impl Discovery<'_> {
    fn candidates(&self, refused: &mut Vec<Refusal>) -> Vec<Candidate> {
        let (environment, settings, project) = (self.environment, self.settings, &self.project);
        let mut found: Vec<Candidate> = settings
            .stores
            .iter()
            .map(|store| {
                let (root, origin) = named_in_settings(environment, &store.path);
                Candidate {
                    is_explicit: true,
                    origin,
                    ..Candidate::new(&store.name, root, store.layout, "named in the settings")
                }
            })
            .collect();
        if settings.discover_project {
            for folder in &project.folders {
                self.in_folder(folder, &mut found, refused);
            }
        }
        if settings.discover_home {
            claude::claude_memory(environment, project, &self.border, &mut found, refused);
            let folder = environment.claude.join("agent-memory");
            let why = "a subagent's memory, for all projects";
            agents_in(&folder, "user-agent", why, Origin::Home, &mut found);
            sessions(environment, project, self.scope, &mut found);
            lessons(environment, settings, &mut found);
            codex_memories(environment, &mut found);
            gemini::gemini_memory(environment, project, self.scope, &mut found);
            self.memories_of_agents(&mut found);
            captured_events(environment, self.scope, &mut found);
            if self.scope == DiscoveryScope::Everything {
                claude::all_claude_memories(environment, &mut found);
            }
        }
        if settings.discover_project {
            for folder in &project.folders {
                instruction::project_instructions(folder, &self.border, &mut found, refused);
            }
        }
        if settings.discover_home {
            let places = [
                (&environment.claude, "claude-instructions"),
                (&environment.codex, "codex-instructions"),
                (&environment.gemini, "gemini-instructions"),
                (&environment.opencode, "opencode-instructions"),
                (&environment.home, "home-instructions"),
            ];
            let qwen = environment
                .qwen
                .iter()
                .map(|home| (home, "qwen-instructions"));
            for (folder, name) in places.into_iter().chain(qwen) {
                instruction::home_instructions(folder, name, &mut found);
            }
        }
        found
    }

    fn in_folder(&self, folder: &Path, found: &mut Vec<Candidate>, refused: &mut Vec<Refusal>) {
        let root = real_path(folder);
        for (place, name) in PROJECT_PLACES {
            // The notes of an OpenClaw workspace are listed with it.
            if place == "memory" && self.environment.is_of_openclaw(&root) {
                continue;
            }
            let why = format!("{place}/ of this project");
            let root = folder.join(place);
            found.push(Candidate::new(name, root, None, why).of(Origin::Project));
        }
        for place in OF_SUBAGENTS {
            let folder = folder.join(".claude").join(place);
            let why = "a subagent's memory, for this project";
            // A refused folder is reported once, not for each folder below it.
            match self.border.check_present(&folder) {
                Ok(()) => agents_in(&folder, "agent", why, Origin::Project, found),
                Err(refusal) => refused.push(refusal),
            }
        }
        // The log is read elsewhere, without refusals; so the refusal is reported here.
        let log = folder.join(AIDER_LOG);
        refused.extend(self.border.check_present(&log).err());
    }
}

/// The locations of stores in each folder of a project, and their names.
const PROJECT_PLACES: [(&str, &str); 5] = [
    (".memory", ".memory"),
    ("memory", "memory"),
    ("data/memory", "data-memory"),
    (".claude/memory", "claude-memory"),
    (".qwen/team-memory", "qwen-team"),
];

/// The folders of a project's `.claude` with memories of Claude Code's subagents.
const OF_SUBAGENTS: [&str; 2] = ["agent-memory", "agent-memory-local"];

/// Whether the store belongs to a subagent of Claude Code, which reads it by itself.
pub fn is_of_subagent(store: &Store) -> bool {
    let folder = store.root().path().parent().and_then(Path::file_name);
    folder.is_some_and(|folder| OF_SUBAGENTS.iter().any(|name| folder == *name))
}

/// The log that Aider writes in the project itself.
const AIDER_LOG: &str = ".aider.chat.history.md";

/// The place of a path in the settings. A relative one is relative to the current project.
fn named_in_settings(environment: &Environment, path: &str) -> (PathBuf, Origin) {
    let is_of_home = expand(path, &environment.home, Path::new("")).is_absolute();
    let origin = if is_of_home {
        Origin::Home
    } else {
        Origin::Project
    };
    let root = expand(path, &environment.home, &environment.cwd);
    (root, origin)
}

fn agents_in(folder: &Path, prefix: &str, why: &str, origin: Origin, found: &mut Vec<Candidate>) {
    for agent in subfolders(folder) {
        found.push(
            Candidate::new(
                format!("{prefix}-{}", name_of(&agent)),
                agent,
                Some(Layout::Index),
                why,
            )
            .of(origin),
        );
    }
}

/// Adds the sessions of the project's folders; with `Everything`, all sessions.
fn sessions(
    environment: &Environment,
    project: &Project,
    scope: DiscoveryScope,
    found: &mut Vec<Candidate>,
) {
    let all = environment.home.join(".ai/sessions");
    let mut push = |session: PathBuf, why: &str| {
        found.push(Candidate::new(
            format!("session-{}", name_of(&session)),
            session,
            None,
            why,
        ));
    };
    for folder in &project.folders {
        for session in subfolders(&all.join(session_slug(folder))) {
            // Different paths share a slug; the log's first line has the real path.
            if session_cwd(&session).is_none_or(|cwd| Path::new(&cwd) == folder) {
                push(session, "a session held in this project");
            }
        }
    }
    if scope == DiscoveryScope::Everything {
        for folder in subfolders(&all) {
            for session in subfolders(&folder) {
                push(session, "a session held elsewhere");
            }
        }
    }
}

/// Returns the directory name for the sessions of a working directory.
pub fn session_slug(cwd: &Path) -> String {
    let path = cwd.to_string_lossy();
    let path = path.strip_prefix('/').unwrap_or(&path);
    format!("--{}--", path.replace(['/', '\\', ':'], "-"))
}

fn session_cwd(session: &Path) -> Option<String> {
    const LONGEST_HEADER: u64 = 64 << 10;
    let file = open_regular(&session.join(session::MESSAGES)).ok()?;
    let mut line = String::new();
    let mut reader = BufReader::new(file.take(LONGEST_HEADER));
    reader.read_line(&mut line).ok()?;
    let header: serde_json::Value = serde_json::from_str(&line).ok()?;
    Some(header.get("cwd")?.as_str()?.to_owned())
}

/// Returns where lessons are kept: at the path of the settings, or in the skill that keeps them if
/// only that is there.
pub fn lessons_root(environment: &Environment, settings: &Settings) -> PathBuf {
    let named = expand(&settings.coder_path, &environment.home, &environment.cwd);
    let skill = environment.claude.join(LESSONS_SKILL);
    if named.is_dir() || !skill.is_dir() {
        named
    } else {
        skill
    }
}

/// A skill that keeps lessons beside its instructions, in Claude Code's directory.
const LESSONS_SKILL: &str = "skills/coder-memory-store";

fn lessons(environment: &Environment, settings: &Settings, found: &mut Vec<Candidate>) {
    let places = [
        named_in_settings(environment, &settings.coder_path),
        (environment.claude.join(LESSONS_SKILL), Origin::Home),
    ];
    for (root, origin) in places {
        found.push(
            Candidate::new(
                "lessons",
                root,
                Some(Layout::Coder),
                "the coder's own lessons",
            )
            .of(origin),
        );
    }
}

fn codex_memories(environment: &Environment, found: &mut Vec<Candidate>) {
    let [newer, older] = environment.codex_memories();
    let before = if newer.is_dir() {
        "codex-before"
    } else {
        "codex"
    };
    for (name, root) in [("codex", newer), (before, older)] {
        // Codex itself refuses a linked directory here.
        if root.is_symlink() {
            continue;
        }
        found.push(Candidate::new(
            name,
            root,
            Some(Layout::Entries),
            "Codex's memories",
        ));
    }
}

/// Returns the part of an agent's name for a project that tells it from others: without the home
/// directory.
fn project_of_slug(home: &Path, slug: &str) -> String {
    let home = claude_slug(home);
    let rest = slug.strip_prefix(&home).unwrap_or(slug);
    rest.trim_start_matches('-').to_owned()
}

fn name_of(path: &Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

/// Returns the folders in a folder that are not hidden, sorted.
fn subfolders(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.is_dir() && !name_of(path).starts_with('.'))
        .collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::fixture::Home;

    impl Home {
        fn environment(&self, cwd: &str) -> Environment {
            let home = self.path();
            let cwd = home.join(cwd);
            fs::create_dir_all(&cwd).expect("folders");
            Environment::of_home(&home, cwd, home.join("data"))
        }

        fn names(&self, cwd: &str, scope: DiscoveryScope) -> Vec<String> {
            let found = discover(&self.environment(cwd), &Settings::default(), scope);
            found
                .stores
                .iter()
                .map(|found| found.store.name().to_owned())
                .collect()
        }
    }

    #[test]
    fn the_instructions_of_an_agents_directory_are_listed_in_one_store() {
        let home = Home::new();
        home.write(".claude/CLAUDE.md", "# Mine\n");
        let listed = |cwd: &str| -> Vec<String> {
            let environment = home.environment(cwd);
            let found = discover(
                &environment,
                &Settings::default(),
                DiscoveryScope::Everything,
            );
            let paths = |store: &Store| -> Vec<String> {
                let listed = store.list().expect("lists").into_iter();
                listed
                    .map(|memory| format!("{}:{}", store.name(), memory.path))
                    .collect()
            };
            let stores = found.stores.iter();
            stores.flat_map(|found| paths(&found.store)).collect()
        };
        for cwd in ["", "p"] {
            assert_eq!(listed(cwd), ["claude-instructions:CLAUDE.md"], "{cwd}");
        }
        home.write("CLAUDE.md", "# Of the home\n");
        let mut here = listed("");
        here.sort();
        assert!(here[1].ends_with("-instructions:CLAUDE.md"), "{here:?}");
        assert_eq!(here.len(), 2, "{here:?}");
        home.write("p/.claude/CLAUDE.md", "# Of the project\n");
        assert!(listed("p").contains(&"p-instructions:.claude/CLAUDE.md".to_owned()));
    }

    #[test]
    fn memories_of_other_agents_are_found_by_themselves() {
        let home = Home::new();
        let cwd = home.environment("p").cwd;
        let slug = claude_slug(&cwd);
        home.write(
            &format!(".qwen/projects/{slug}/memory/MEMORY.md"),
            "# Memory\n",
        );
        home.write(".qwen/projects/-elsewhere-x/memory/MEMORY.md", "# Memory\n");
        home.write(".qwen/memories/MEMORY.md", "# Memory\n");
        home.write("p/.qwen/team-memory/MEMORY.md", "# Memory\n");
        home.write(".hermes/memories/MEMORY.md", "one\n§\ntwo\n");
        home.write(".openclaw/workspace/MEMORY.md", "# M\n");
        home.write(".openclaw/workspace/AGENTS.md", "# no memory\n");
        home.write(".openclaw/workspace/memory/2026-02-01.md", "# Day\n");
        home.write(
            ".letta/agents/agent-1/memory/system/human.md",
            "---\ndescription: d\n---\n",
        );
        home.write(
            ".letta/agents/agent-1/memory/skills/x/SKILL.md",
            "# no memory\n",
        );
        home.write(".codex/memories/raw_memories.md", "## Thread `a`\n");
        let copilot = ".config/Code/User";
        let tool = "memory-tool/memories";
        home.write(
            &format!("{copilot}/globalStorage/github.copilot-chat/{tool}/a.md"),
            "x\n",
        );
        let folder = format!("{{\"folder\": \"file://{}\"}}", cwd.display());
        let others = ["Code - Insiders", "VSCodium"].map(|name| format!(".config/{name}/User"));
        let [insiders, codium] = &others;
        for (editor, id, workspace) in [
            (copilot, "w1", folder.as_str()),
            (copilot, "w2", "{\"folder\": \"file:///o\"}"),
            (insiders, "w3", &folder),
            (codium, "w4", "{\"folder\": \"file:///o\"}"),
        ] {
            let place = format!("{editor}/workspaceStorage/{id}");
            home.write(&format!("{place}/workspace.json"), workspace);
            home.write(
                &format!("{place}/GitHub.copilot-chat/{tool}/repo/b.md"),
                "x\n",
            );
        }
        let own = [
            "qwen-team",
            "codex",
            "qwen",
            "qwen-user",
            "hermes",
            "openclaw",
            "letta@agent-1",
            "copilot-user",
            "copilot",
            "copilot-insiders",
        ];
        assert_eq!(home.names("p", DiscoveryScope::Project), own);
        let all = home.names("p", DiscoveryScope::Everything);
        assert!(all.contains(&"qwen@elsewhere-x".to_owned()), "{all:?}");
        for name in ["copilot@o", "copilot-vscodium@o"] {
            assert!(all.contains(&name.to_owned()), "{all:?}");
        }
        let found = discover(
            &home.environment("p"),
            &Settings::default(),
            DiscoveryScope::Project,
        );
        let paths = |name: &str| -> Vec<String> {
            let found = found.stores.iter().find(|found| found.store.name() == name);
            let listed = found.expect("found").store.list().expect("lists");
            listed.into_iter().map(|memory| memory.path).collect()
        };
        assert_eq!(paths("openclaw"), ["MEMORY.md", "memory/2026-02-01.md"]);
        assert_eq!(paths("letta@agent-1"), ["system/human.md"]);
        assert_eq!(paths("copilot"), ["repo/b.md"]);
    }

    #[test]
    fn workspaces_of_openclaw_and_profiles_of_hermes_are_found_where_they_are() {
        let home = Home::new();
        home.write(".hermes/profiles/work/memories/MEMORY.md", "one\n");
        home.write(".hermes/profiles/work/memories/SOUL.md", "# no workspace\n");
        home.write(".hermes/profiles/work/memories/USER.md", "two\n");
        home.write("claw/MEMORY.md", "# M\n");
        home.write("claw/SOUL.md", "# no memory\n");
        home.write("ops/MEMORY.md", "# M\n");
        home.write("ops/memory/2026-02-01.md", "# Day\n");
        home.write("other/README.md", "# no workspace\n");
        home.write(
            ".openclaw/openclaw.json",
            "{agents: {defaults: {workspace: '~/claw'}, // mine\n list: [{id: 'ops', workspace: \
             '~/ops'}, {id: 'x', workspace: '~/other'}, {id: 'main'}]}}",
        );
        let found = home.names("p", DiscoveryScope::Project);
        assert_eq!(found, ["hermes@work", "openclaw", "openclaw@ops"]);
        let environment = home.environment("p");
        let found = discover(&environment, &Settings::default(), DiscoveryScope::Project);
        let listed = |number: usize| -> Vec<String> {
            let listed = found.stores[number].store.list().expect("lists");
            listed.into_iter().map(|memory| memory.path).collect()
        };
        assert_eq!(listed(0), ["MEMORY.md", "SOUL.md", "USER.md"]);
        assert_eq!(listed(1), ["MEMORY.md"]);
        for (folder, expected) in [
            ("claw", true),
            (".openclaw/workspace", true),
            ("other", false),
        ] {
            let root = real_path(&environment.home).join(folder);
            assert_eq!(environment.is_of_openclaw(&root), expected, "{folder}");
        }
        let inside = home.names("ops", DiscoveryScope::Project);
        assert_eq!(inside, ["hermes@work", "openclaw", "openclaw@ops"]);
        let limits = found.stores[0]
            .store
            .rules()
            .limits(found.stores[0].store.root());
        assert_eq!(limits.len(), 2);
    }

    #[test]
    fn the_notes_of_an_openclaw_workspace_are_no_second_store() {
        let home = Home::new();
        home.write(".openclaw/workspace/memory/MEMORY.md", "# M\n");
        let found = home.names(".openclaw/workspace", DiscoveryScope::Project);
        assert_eq!(found, ["openclaw"]);
    }

    #[test]
    fn stores_of_the_project_are_found_up_to_the_git_root() {
        let home = Home::new();
        home.write("work/shop/.git/HEAD", "");
        home.write("work/shop/.memory/MEMORY.md", "# Memory\n");
        home.write("work/shop/data/memory/facts/user.md", "# U\n");
        home.write("work/shop/memory/main.rs", "not a store");
        home.write("work/shop/CLAUDE.md", "# Shop\n");
        home.write("work/shop/.claude/agent-memory/reviewer/MEMORY.md", "# M\n");
        home.write("work/.memory/MEMORY.md", "above the git root");
        assert_eq!(
            home.names("work/shop/src/deep", DiscoveryScope::Project),
            [
                ".memory",
                "data-memory",
                "agent-reviewer",
                "shop-instructions"
            ]
        );
    }

    #[test]
    fn claude_memory_is_keyed_by_the_main_worktree_and_that_of_qwen_by_either() {
        let home = Home::new();
        let main = home.path().join("repo");
        let note = home.path().join("trees/fix/.git");
        home.write(
            "repo/.git/worktrees/fix/gitdir",
            format!("{}\n", note.display()),
        );
        home.write(
            "trees/fix/.git",
            format!("gitdir: {}/.git/worktrees/fix\n", main.display()),
        );
        let slug = claude_slug(&main);
        home.write(
            &format!(".claude/projects/{slug}/memory/MEMORY.md"),
            "# M\n",
        );
        let own = claude_slug(&home.path().join("trees/fix"));
        for slug in [&slug, &own] {
            home.write(&format!(".qwen/projects/{slug}/memory/MEMORY.md"), "# M\n");
        }
        assert_eq!(
            home.names("trees/fix/src", DiscoveryScope::Project),
            ["claude", "qwen", "qwen-2"]
        );
        assert_eq!(
            home.names("repo", DiscoveryScope::Project),
            ["claude", "qwen"]
        );
        assert_eq!(home.names("other", DiscoveryScope::Project), [""; 0]);
        assert_eq!(
            home.names("other", DiscoveryScope::Everything),
            ["qwen@repo", "qwen@trees-fix", "claude@repo"]
        );
    }

    #[test]
    fn the_setting_of_claude_code_moves_its_memory() {
        let home = Home::new();
        home.write("repo/.git/HEAD", "");
        home.write(
            ".claude/settings.json",
            "{\"autoMemoryDirectory\": \"~/notes\"}",
        );
        home.write("notes/MEMORY.md", "# M\n");
        assert_eq!(home.names("repo", DiscoveryScope::Project), ["claude"]);
    }

    #[test]
    fn sessions_that_share_a_slug_are_told_apart_by_their_log() {
        let home = Home::new();
        let mine = home.path().join("my-app");
        let slug = session_slug(&mine);
        home.write(
            &format!(".ai/sessions/{slug}/one/messages.jsonl"),
            format!("{{\"type\":\"session\",\"cwd\":\"{}\"}}\n", mine.display()),
        );
        home.write(
            &format!(".ai/sessions/{slug}/two/messages.jsonl"),
            "{\"type\":\"session\",\"cwd\":\"/elsewhere\"}\n",
        );
        home.write(
            &format!(".ai/sessions/{slug}/three/working-memory/overview.md"),
            "# W\n",
        );
        assert_eq!(
            home.names("my-app", DiscoveryScope::Project),
            ["session-one", "session-three"]
        );
        assert_eq!(home.names("my-app", DiscoveryScope::Everything).len(), 3);
    }

    #[test]
    fn slugs_are_as_the_agents_make_them() {
        assert_eq!(
            session_slug(Path::new("/Users/genius/project/myapp")),
            "--Users-genius-project-myapp--"
        );
        assert_eq!(session_slug(Path::new("/")), "----");
        assert_eq!(claude_slug(Path::new("/a/b.c_d")), "-a-b-c-d");
    }

    #[test]
    fn a_store_that_could_be_two_things_is_reported_not_guessed() {
        let home = Home::new();
        home.write("p/.memory/MEMORY.md", "# M\n");
        home.write("p/.memory/facts/user.md", "# U\n");
        let found = discover(
            &home.environment("p"),
            &Settings::default(),
            DiscoveryScope::Project,
        );
        assert!(found.stores.is_empty());
        let message = found.problems[0].error.to_string();
        assert!(message.contains("index or facts"), "{message}");
    }

    #[test]
    fn the_private_memory_that_gemini_keeps_of_a_project_is_found() {
        let home = Home::new();
        home.write(".gemini/tmp/shop/memory/MEMORY.md", "# Project Memory\n");
        home.write(".gemini/tmp/other/memory/MEMORY.md", "# Project Memory\n");
        let project = home.environment("p").cwd;
        let known = serde_json::json!({"projects": {project.to_str().expect("a path"): "shop"}});
        home.write(".gemini/projects.json", known.to_string());
        assert_eq!(home.names("p", DiscoveryScope::Project), ["gemini"]);
        assert_eq!(
            home.names("p", DiscoveryScope::Everything),
            ["gemini", "gemini@other"]
        );
    }

    #[test]
    fn both_forms_of_codex_memories_are_found() {
        let home = Home::new();
        home.write(".codex/memories_v2/MEMORY.md", "# Task Group: x\n");
        assert_eq!(home.names("p", DiscoveryScope::Project), ["codex"]);
        home.write(".codex/memories/MEMORY.md", "# Task Group: y\n");
        assert_eq!(
            home.names("p", DiscoveryScope::Project),
            ["codex", "codex-before"]
        );
    }

    #[test]
    fn lessons_codex_and_instructions_of_the_home_are_found() {
        let home = Home::new();
        home.write(".sonph-code-memory/semantic/semantic.md", "**Title:** t\n");
        home.write(".codex/memories/MEMORY.md", "# Task Group: x\n");
        home.write(".codex/AGENTS.md", "# A\n");
        home.write(".gemini/GEMINI.md", "# G\n");
        home.write(".config/opencode/AGENTS.md", "# O\n");
        home.write(".qwen/QWEN.md", "# Q\n");
        assert_eq!(
            home.names("p", DiscoveryScope::Project),
            [
                "lessons",
                "codex",
                "codex-instructions",
                "gemini-instructions",
                "opencode-instructions",
                "qwen-instructions"
            ]
        );
    }
}
