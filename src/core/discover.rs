//! From where somebody stands to the stores that matter there.
//!
//! Each place that is looked at is a rule of its own below, and each store that is found
//! carries the reason why. Reads directories; opens no memory.

mod captured;
mod looked;

use std::collections::HashSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use super::config::{Settings, expand};
use super::layout::{Layout, instructions, session};
use super::sandbox::Root;
use super::store::Store;
use super::{Error, Result};

use captured::captured;
pub use captured::events_root;
pub use looked::{Looked, looked};

/// Where somebody stands and where agents keep their things; handed in by a door.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Surroundings {
    /// The working directory.
    pub cwd: PathBuf,
    /// The home directory.
    pub home: PathBuf,
    /// Claude Code's directory.
    pub claude: PathBuf,
    /// The name that Claude Code was told to give the project's directory.
    pub claude_project: Option<String>,
    /// Codex's directory.
    pub codex: PathBuf,
    /// Gemini CLI's directory.
    pub gemini: PathBuf,
    /// tome's own data directory.
    pub data: PathBuf,
}

/// How far to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// What belongs to the current project.
    Project,
    /// Every store that can be found.
    Everything,
}

/// A place that may be a store.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Candidate {
    name: String,
    root: PathBuf,
    layout: Option<Layout>,
    why: String,
    /// Whether it is worth a word when it turns out not to be one.
    meant: bool,
}

/// A store that was found, and why.
#[derive(Debug)]
pub struct Found {
    /// The store.
    pub store: Store,
    /// The rule that found it, in a few words.
    pub why: String,
}

/// A place that looked like a store and could not be opened.
#[derive(Debug)]
pub struct Problem {
    /// The place.
    pub root: PathBuf,
    /// What is wrong.
    pub error: Error,
}

/// Everything that was found.
#[derive(Debug, Default)]
pub struct Discovered {
    /// The stores, each with a name of its own.
    pub stores: Vec<Found>,
    /// What could not be opened.
    pub problems: Vec<Problem>,
}

/// Finds the stores.
pub fn discover(around: &Surroundings, settings: &Settings, reach: Reach) -> Discovered {
    let mut found = Discovered::default();
    let mut roots = HashSet::new();
    let mut names = HashSet::new();
    for candidate in candidates(around, settings, reach) {
        if !candidate.meant && !candidate.root.is_dir() {
            continue;
        }
        match opened(&candidate) {
            Ok(store) => {
                let key = (store.root().path().to_owned(), store.layout());
                if !roots.insert(key) {
                    continue;
                }
                let name = unique(&candidate.name, &mut names);
                let layout = Some(store.layout());
                match Store::open(&name, &candidate.root, layout) {
                    Ok(store) => found.stores.push(Found {
                        store,
                        why: candidate.why,
                    }),
                    Err(error) => found.problems.push(Problem {
                        root: candidate.root,
                        error,
                    }),
                }
            }
            Err(error) if candidate.meant || is_doubt(&candidate) => {
                found.problems.push(Problem {
                    root: candidate.root,
                    error,
                });
            }
            Err(_) => {}
        }
    }
    found
}

fn opened(candidate: &Candidate) -> Result<Store> {
    if !candidate.root.is_dir() {
        return Err(Error::not_found(candidate.root.display().to_string()));
    }
    Store::open(&candidate.name, &candidate.root, candidate.layout)
}

/// Whether more than one layout fits: that is for a person to settle, so they must hear of it.
fn is_doubt(candidate: &Candidate) -> bool {
    Root::open(&candidate.root).is_ok_and(|root| Layout::detect(&root).len() > 1)
}

fn unique(name: &str, taken: &mut HashSet<String>) -> String {
    // The name stands in references: `name:path`.
    let plain = |c: char| {
        if c.is_alphanumeric() || "-_.".contains(c) {
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

fn candidates(around: &Surroundings, settings: &Settings, reach: Reach) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = settings
        .stores
        .iter()
        .map(|store| Candidate {
            name: store.name.clone(),
            root: expand(&store.path, &around.home, &around.cwd),
            layout: store.layout,
            why: "named in the settings".to_owned(),
            meant: true,
        })
        .collect();
    let project = Project::of(&around.cwd);
    if settings.discover_project {
        for folder in &project.folders {
            in_folder(folder, &mut found);
        }
    }
    if settings.discover_home {
        claude_memory(around, &project, &mut found);
        agents_in(
            &around.claude.join("agent-memory"),
            "user-agent",
            "a subagent's memory, for all projects",
            &mut found,
        );
        sessions(around, &project, reach, &mut found);
        lessons(around, settings, &mut found);
        codex_memories(around, &mut found);
        captured(around, reach, &mut found);
        if reach == Reach::Everything {
            all_claude_memories(around, &mut found);
        }
    }
    if settings.discover_project {
        for folder in &project.folders {
            let name = instructions_name(folder);
            instructions_in(folder, &name, "instructions of this project", &mut found);
        }
    }
    if settings.discover_home {
        let places = [
            (&around.claude, "claude-instructions"),
            (&around.codex, "codex-instructions"),
            (&around.gemini, "gemini-instructions"),
            (&around.home, "home-instructions"),
        ];
        for (folder, name) in places {
            instructions_in(folder, name, "instructions for all projects", &mut found);
        }
    }
    found
}

/// The project around a working directory.
struct Project {
    /// The working directory and the folders above it, up to the git root.
    folders: Vec<PathBuf>,
    /// The root that worktrees share, by which Claude Code keys its memory.
    shared_root: PathBuf,
}

impl Project {
    fn of(cwd: &Path) -> Self {
        let git_root = cwd.ancestors().find(|folder| folder.join(".git").exists());
        let folders = match git_root {
            Some(root) => cwd
                .ancestors()
                .take_while(|folder| folder.starts_with(root))
                .map(Path::to_owned)
                .collect(),
            None => vec![cwd.to_owned()],
        };
        let root = git_root.unwrap_or(cwd);
        Self {
            folders,
            shared_root: main_worktree(root).unwrap_or_else(|| root.to_owned()),
        }
    }
}

/// The working directory and the folders above it that belong to the same project.
pub fn project_folders(cwd: &Path) -> Vec<PathBuf> {
    Project::of(cwd).folders
}

/// The main work tree, when `root` is a linked one: its `.git` is a file that points there.
fn main_worktree(root: &Path) -> Option<PathBuf> {
    let pointer = fs::read_to_string(root.join(".git")).ok()?;
    let gitdir = root.join(pointer.strip_prefix("gitdir:")?.trim());
    let worktrees = gitdir.parent().filter(|dir| dir.ends_with("worktrees"))?;
    let main = worktrees.parent()?.parent()?;
    main.canonicalize().ok()
}

fn in_folder(folder: &Path, found: &mut Vec<Candidate>) {
    let here = [
        (".memory", ".memory"),
        ("memory", "memory"),
        ("data/memory", "data-memory"),
    ];
    for (place, name) in here {
        found.push(Candidate {
            name: name.to_owned(),
            root: folder.join(place),
            layout: None,
            why: format!("{place}/ of this project"),
            meant: false,
        });
    }
    for place in ["agent-memory", "agent-memory-local"] {
        let folder = folder.join(".claude").join(place);
        agents_in(
            &folder,
            "agent",
            "a subagent's memory, for this project",
            found,
        );
    }
}

fn agents_in(folder: &Path, prefix: &str, why: &str, found: &mut Vec<Candidate>) {
    for agent in subfolders(folder) {
        found.push(Candidate {
            name: format!("{prefix}-{}", name_of(&agent)),
            root: agent,
            layout: Some(Layout::Index),
            why: why.to_owned(),
            meant: false,
        });
    }
}

/// Claude Code's own memory of the project.
fn claude_memory(around: &Surroundings, project: &Project, found: &mut Vec<Candidate>) {
    let mut push = |root: PathBuf, why: &str| {
        found.push(Candidate {
            name: "claude".to_owned(),
            root,
            layout: Some(Layout::Index),
            why: why.to_owned(),
            meant: false,
        });
    };
    if let Some(elsewhere) = auto_memory_directory(around, project) {
        push(elsewhere, "autoMemoryDirectory of Claude Code");
    }
    let projects = around.claude.join("projects");
    let why = "Claude Code's memory of this project";
    if let Some(name) = &around.claude_project {
        push(projects.join(name).join("memory"), why);
    }
    let slug = claude_slug(&project.shared_root);
    if slug.len() <= LONGEST_SLUG {
        push(projects.join(slug).join("memory"), why);
        return;
    }
    // A long name is cut and ends in a hash of Claude Code's own making.
    let start = &slug[..LONGEST_SLUG];
    for folder in subfolders(&projects) {
        if name_of(&folder).starts_with(start) {
            push(folder.join("memory"), why);
        }
    }
}

const LONGEST_SLUG: usize = 200;

/// The name that Claude Code gives a project's directory.
pub fn claude_slug(path: &Path) -> String {
    let path = path.to_string_lossy();
    path.chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect()
}

/// The `autoMemoryDirectory` of Claude Code's settings; the most particular file wins.
fn auto_memory_directory(around: &Surroundings, project: &Project) -> Option<PathBuf> {
    let root = project.folders.last()?;
    let files = [
        root.join(".claude/settings.local.json"),
        root.join(".claude/settings.json"),
        around.claude.join("settings.json"),
    ];
    files.iter().find_map(|file| {
        let text = fs::read_to_string(file).ok()?;
        let settings: serde_json::Value = serde_json::from_str(&text).ok()?;
        let path = settings.get("autoMemoryDirectory")?.as_str()?;
        Some(expand(path, &around.home, root))
    })
}

fn all_claude_memories(around: &Surroundings, found: &mut Vec<Candidate>) {
    for folder in subfolders(&around.claude.join("projects")) {
        found.push(Candidate {
            name: format!("claude{}", name_of(&folder)),
            root: folder.join("memory"),
            layout: Some(Layout::Index),
            why: "Claude Code's memory of another project".to_owned(),
            meant: false,
        });
    }
}

/// The sessions that were held in the project's folders.
fn sessions(around: &Surroundings, project: &Project, reach: Reach, found: &mut Vec<Candidate>) {
    let all = around.home.join(".ai/sessions");
    let mut push = |session: PathBuf, why: &str| {
        found.push(Candidate {
            name: format!("session-{}", name_of(&session)),
            root: session,
            layout: None,
            why: why.to_owned(),
            meant: false,
        });
    };
    for folder in &project.folders {
        for session in subfolders(&all.join(session_slug(folder))) {
            // Different paths share a slug; the log's first line says which one is meant.
            if session_cwd(&session).is_none_or(|cwd| Path::new(&cwd) == folder) {
                push(session, "a session held in this project");
            }
        }
    }
    if reach == Reach::Everything {
        for folder in subfolders(&all) {
            for session in subfolders(&folder) {
                push(session, "a session held elsewhere");
            }
        }
    }
}

/// The directory name under which the sessions of a working directory are kept.
pub fn session_slug(cwd: &Path) -> String {
    let path = cwd.to_string_lossy();
    let path = path.strip_prefix('/').unwrap_or(&path);
    format!("--{}--", path.replace(['/', '\\', ':'], "-"))
}

fn session_cwd(session: &Path) -> Option<String> {
    const LONGEST_HEADER: u64 = 64 << 10;
    let file = fs::File::open(session.join(session::MESSAGES)).ok()?;
    let mut line = String::new();
    let mut reader = BufReader::new(file.take(LONGEST_HEADER));
    reader.read_line(&mut line).ok()?;
    let header: serde_json::Value = serde_json::from_str(&line).ok()?;
    Some(header.get("cwd")?.as_str()?.to_owned())
}

fn lessons(around: &Surroundings, settings: &Settings, found: &mut Vec<Candidate>) {
    let places = [
        expand(&settings.coder_path, &around.home, &around.cwd),
        around.claude.join("skills/coder-memory-store"),
    ];
    for root in places {
        found.push(Candidate {
            name: "lessons".to_owned(),
            root,
            layout: Some(Layout::Coder),
            why: "the coder's own lessons".to_owned(),
            meant: false,
        });
    }
}

fn codex_memories(around: &Surroundings, found: &mut Vec<Candidate>) {
    let root = around.codex.join("memories");
    // Codex itself refuses a linked directory here.
    if !root.is_symlink() {
        found.push(Candidate {
            name: "codex".to_owned(),
            root,
            layout: Some(Layout::Index),
            why: "Codex's memories".to_owned(),
            meant: false,
        });
    }
}

fn instructions_in(folder: &Path, name: &str, why: &str, found: &mut Vec<Candidate>) {
    if instructions::NAMES
        .iter()
        .any(|name| folder.join(name).is_file())
    {
        found.push(Candidate {
            name: name.to_owned(),
            root: folder.to_owned(),
            layout: Some(Layout::Instructions),
            why: why.to_owned(),
            meant: false,
        });
    }
}

fn instructions_name(folder: &Path) -> String {
    format!("{}-instructions", name_of(folder))
}

fn name_of(path: &Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

/// The visible folders of a folder, sorted.
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

    struct Home(tempfile::TempDir);

    impl Home {
        fn new() -> Self {
            Self(tempfile::tempdir().expect("a temporary directory"))
        }

        fn path(&self) -> PathBuf {
            self.0.path().canonicalize().expect("canonical")
        }

        fn file(&self, path: &str, text: &str) {
            let path = self.path().join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
            fs::write(path, text).expect("a file");
        }

        fn around(&self, cwd: &str) -> Surroundings {
            let home = self.path();
            let cwd = home.join(cwd);
            fs::create_dir_all(&cwd).expect("folders");
            Surroundings {
                cwd,
                claude: home.join(".claude"),
                claude_project: None,
                codex: home.join(".codex"),
                gemini: home.join(".gemini"),
                data: home.join("data"),
                home,
            }
        }

        fn names(&self, cwd: &str, reach: Reach) -> Vec<String> {
            let found = discover(&self.around(cwd), &Settings::default(), reach);
            found
                .stores
                .iter()
                .map(|found| found.store.name().to_owned())
                .collect()
        }
    }

    #[test]
    fn stores_of_the_project_are_found_up_to_the_git_root() {
        let home = Home::new();
        home.file("work/shop/.git/HEAD", "");
        home.file("work/shop/.memory/MEMORY.md", "# Memory\n");
        home.file("work/shop/data/memory/facts/user.md", "# U\n");
        home.file("work/shop/memory/main.rs", "not a store");
        home.file("work/shop/CLAUDE.md", "# Shop\n");
        home.file("work/shop/.claude/agent-memory/reviewer/MEMORY.md", "# M\n");
        home.file("work/.memory/MEMORY.md", "above the git root");
        assert_eq!(
            home.names("work/shop/src/deep", Reach::Project),
            [
                ".memory",
                "data-memory",
                "agent-reviewer",
                "shop-instructions"
            ]
        );
    }

    #[test]
    fn claude_memory_is_keyed_by_the_main_worktree() {
        let home = Home::new();
        home.file("repo/.git/worktrees/fix/HEAD", "");
        let main = home.path().join("repo");
        home.file(
            "trees/fix/.git",
            &format!("gitdir: {}/.git/worktrees/fix\n", main.display()),
        );
        let slug = claude_slug(&main);
        home.file(
            &format!(".claude/projects/{slug}/memory/MEMORY.md"),
            "# M\n",
        );
        assert_eq!(home.names("trees/fix/src", Reach::Project), ["claude"]);
        assert_eq!(home.names("repo", Reach::Project), ["claude"]);
        assert_eq!(home.names("other", Reach::Project), [""; 0]);
        assert_eq!(
            home.names("other", Reach::Everything),
            [format!("claude{slug}")]
        );
    }

    #[test]
    fn the_setting_of_claude_code_moves_its_memory() {
        let home = Home::new();
        home.file("repo/.git/HEAD", "");
        home.file(
            ".claude/settings.json",
            "{\"autoMemoryDirectory\": \"~/notes\"}",
        );
        home.file("notes/MEMORY.md", "# M\n");
        assert_eq!(home.names("repo", Reach::Project), ["claude"]);
    }

    #[test]
    fn sessions_that_share_a_slug_are_told_apart_by_their_log() {
        let home = Home::new();
        let mine = home.path().join("my-app");
        let slug = session_slug(&mine);
        home.file(
            &format!(".ai/sessions/{slug}/one/messages.jsonl"),
            &format!("{{\"type\":\"session\",\"cwd\":\"{}\"}}\n", mine.display()),
        );
        home.file(
            &format!(".ai/sessions/{slug}/two/messages.jsonl"),
            "{\"type\":\"session\",\"cwd\":\"/elsewhere\"}\n",
        );
        home.file(
            &format!(".ai/sessions/{slug}/three/working-memory/overview.md"),
            "# W\n",
        );
        assert_eq!(
            home.names("my-app", Reach::Project),
            ["session-one", "session-three"]
        );
        assert_eq!(home.names("my-app", Reach::Everything).len(), 3);
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
        home.file("p/.memory/MEMORY.md", "# M\n");
        home.file("p/.memory/facts/user.md", "# U\n");
        let found = discover(&home.around("p"), &Settings::default(), Reach::Project);
        assert!(found.stores.is_empty());
        let told = found.problems[0].error.to_string();
        assert!(told.contains("index or facts"), "{told}");
    }

    #[test]
    fn lessons_codex_and_instructions_of_the_home_are_found() {
        let home = Home::new();
        home.file(".sonph-code-memory/semantic/semantic.md", "**Title:** t\n");
        home.file(".codex/memories/MEMORY.md", "# Task Group: x\n");
        home.file(".codex/AGENTS.md", "# A\n");
        home.file(".gemini/GEMINI.md", "# G\n");
        assert_eq!(
            home.names("p", Reach::Project),
            [
                "lessons",
                "codex",
                "codex-instructions",
                "gemini-instructions"
            ]
        );
    }
}
