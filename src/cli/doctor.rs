//! `tome doctor`: checks tome's files, settings, stores, logs and terminal, and reports problems
//! with their remedies. Changes nothing.

mod memory;
mod show;

use std::env;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::corpus::roots_with_logs;
use super::print::Reported;
use super::setup::{homes, program};
use super::ui::terminal;
use super::world::World;
use crate::core::Error;
use crate::core::change::history::{Health, Unfinished};
use crate::core::change::interrupted;
use crate::core::disk::foreign::{LARGEST_SETTINGS, open_regular, read_text};
use crate::core::disk::private::open_below;
use crate::core::insight::checkup::{CacheState, Folder, is_writable};
use crate::core::insight::sync::{Standing, standing_in};
use crate::core::log::{
    Agent, LogFile, LogLocations, keep, memory_database, memory_jobs, not_understood,
};
use crate::core::memory::catalog::LogScope;
use crate::core::memory::discover::{Discovered, DiscoveryScope, discover};
use crate::core::memory::layout::Layout;
use crate::core::memory::store::Store;
use crate::core::memory::unsaved::UnsavedStore;
use crate::core::text::display::{first_few, format_ago, safe_line};
use crate::setup::{AGENTS, Actions, SetupMode, SetupRequest, SetupScope, plan};
use crate::tui;
use crate::tui::theme::{Background, ColorDepth, Terminal, Theme, ThemeFile};

pub(super) fn run(world: &World) -> Reported<'_> {
    Ok(Box::new(Checkup::of(world)))
}

/// A problem with its remedy.
#[derive(Debug)]
struct Problem {
    /// The file, with its line if known, or another name for what has the problem.
    place: String,
    what: String,
    remedy: String,
}

/// The result of every check.
struct Checkup<'a> {
    world: &'a World,
    /// The terminal's colours and background, queried once.
    known: Terminal,
    /// tome's directories, by purpose.
    folders: Vec<(&'static str, Folder)>,
    history: Health,
    /// tome's own files and folders that other users have access to.
    open: Vec<PathBuf>,
    cache: CacheState,
    agents: Vec<AgentRow>,
    stores: Vec<StoreRow>,
    terminal: Vec<(&'static str, String)>,
    /// Remarks that are not problems.
    notes: Vec<String>,
    problems: Vec<Problem>,
}

/// One agent: its logs, and whether tome is registered with it.
struct AgentRow {
    agent: Agent,
    logs: usize,
    bytes: u64,
    newest: Option<i64>,
    registered: Option<Registered>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Registered {
    Yes,
    No,
    /// In part, or as another program.
    Partly,
    /// Its settings cannot be read.
    Unknown,
}

impl Registered {
    fn name(self) -> &'static str {
        match self {
            Self::Yes => "registered",
            Self::No => "not registered",
            Self::Partly => "registered otherwise",
            Self::Unknown => "unknown",
        }
    }
}

struct StoreRow {
    name: String,
    layout: Layout,
    root: std::path::PathBuf,
    memories: usize,
}

impl<'a> Checkup<'a> {
    fn of(world: &'a World) -> Self {
        let on_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
        let mut checkup = Self {
            world,
            known: if on_terminal {
                terminal(&world.settings).0
            } else {
                Terminal::default()
            },
            folders: Vec::new(),
            history: Health::default(),
            open: Vec::new(),
            cache: CacheState::at(&world.cache),
            agents: Vec::new(),
            stores: Vec::new(),
            terminal: Vec::new(),
            notes: Vec::new(),
            problems: Vec::new(),
        };
        checkup.check_folders(world);
        checkup.check_history(world);
        checkup.check_settings(world);
        // `World::discovered` would recover interrupted changes before they are reported.
        let found = discover(&world.environment, &world.settings, world.scope());
        checkup.check_agents(world, &found);
        checkup.check_stores(world, memory::stores_to_check(world, found));
        checkup.check_former_homes(world);
        checkup.check_sync(world);
        checkup.check_terminal();
        checkup
    }

    fn add_problem(&mut self, place: impl Into<String>, what: &str, remedy: impl Into<String>) {
        self.problems.push(Problem {
            place: place.into(),
            what: what.to_owned(),
            remedy: remedy.into(),
        });
    }

    fn check_folders(&mut self, world: &World) {
        let history = world.history.dir();
        for (name, path) in [
            ("config", world.config_dir.as_path()),
            ("data", &world.data_dir),
            ("history", history),
            ("cache", &world.cache),
        ] {
            let folder = Folder::at(path);
            // Settings are read, never written.
            let matters = name != "config" || folder.state.name() != "read-only";
            if let Some(what) = folder.state.problem().filter(|_| matters) {
                let remedy = "check the owner and mode of it and of the directories above";
                self.add_problem(world.short_path(path), what, remedy);
            }
            self.folders.push((name, folder));
        }
        self.look_at_modes(world);
        for path in world.leftovers() {
            let what = "a process that was killed left this temporary file";
            let remedy = "tome, or tome setup, removes it at its next start";
            self.add_problem(world.short_path(&path), what, remedy);
        }
        if self.cache == CacheState::Useless {
            let note = "the cache is damaged or from another version; the next search rebuilds it";
            self.notes.push(note.to_owned());
        }
    }

    /// Reports the remote, and a last sync that failed or held something back.
    fn check_sync(&mut self, world: &World) {
        let place = world.short_path(&world.sync_dir());
        let standing = match standing_in(&world.sync_dir()) {
            Ok(standing) => standing,
            Err(error) => {
                let remedy = "tome sync --init URL makes it again";
                return self.add_problem(place, &error.to_string(), remedy);
            }
        };
        let Some(Standing {
            url,
            branch,
            machine,
            last,
        }) = standing
        else {
            return;
        };
        let now = world.moment.time.as_millisecond();
        let when = last.as_ref().map(|last| format_ago(last.time, now));
        let when = when.unwrap_or_else(|| "never".to_owned());
        self.notes.push(format!(
            "sync: {url} (branch {branch}) as {machine}, last {when}"
        ));
        if let Some(failure) = last.as_ref().and_then(|last| last.failure.clone()) {
            self.add_problem(
                place,
                &format!("the last sync failed: {failure}"),
                "tome sync tries again",
            );
        }
        let held_back = last.iter().flat_map(|last| last.held_back.values());
        let held_back: usize = held_back.sum();
        if held_back > 0 {
            self.notes.push(format!(
                "sync: {held_back} held back; tome sync --status tells what"
            ));
        }
    }

    /// Reports files in tome's own directories that other users have access to.
    fn look_at_modes(&mut self, world: &World) {
        for top in [&world.data_dir, &world.cache] {
            let found = open_below(top);
            if !found.is_empty() {
                let names = found.iter().map(|path| world.short_path(path));
                let names = first_few(3, &names.collect::<Vec<String>>());
                let what = format!("other users have access to {names}");
                let top = world.short_path(top);
                let remedy = format!("chmod -R go= {top}");
                self.add_problem(top, &what, remedy);
            }
            self.open.extend(found);
        }
    }

    fn check_history(&mut self, world: &World) {
        let place = world.short_path(world.history.dir());
        match world.history.health() {
            Ok(health) => self.history = health,
            Err(error) => self.add_problem(place.clone(), &error.to_string(), "make it readable"),
        }
        if self.history.broken_lines > 0 {
            let broken = self.history.broken_lines;
            self.notes.push(format!(
                "{place}/journal.jsonl: unreadable lines, which are ignored: {broken}"
            ));
        }
        for damage in self.history.damaged.clone() {
            let memory = world.short_path(&damage.memory);
            let revision = damage.revision.to_string();
            let what = format!(
                "version {} of {memory} is damaged or missing",
                &revision[..12]
            );
            let remedy = format!(
                "restore the file from a backup; until then change {} cannot be undone or restored",
                damage.change
            );
            self.add_problem(world.short_path(&damage.place), &what, remedy);
        }
        match interrupted(&world.history) {
            Ok(records) => {
                for Unfinished { record, problems } in records {
                    let root = record.files.first().map(|file| file.root.as_path());
                    let root = world.short_path(root.unwrap_or(Path::new(".")));
                    let mut what =
                        format!("{} was interrupted ({})", record.verb.name(), record.id);
                    let mut remedy = format!("tome list --store {root} undoes it");
                    if !problems.is_empty() {
                        what.push_str(&format!(" and cannot be undone: {}", problems.join("; ")));
                        remedy = format!("fix that, then {remedy}; every version is kept");
                    }
                    self.add_problem(root, &what, remedy);
                }
            }
            Err(error) => self.add_problem(place, &error.to_string(), "make it writable"),
        }
        let unsaved = world.data_dir.join("unsaved");
        if unsaved.is_dir() {
            for text in UnsavedStore::open(&unsaved).abandoned() {
                let path = world.short_path(&text.root.join(&text.path));
                let note = format!("{path} has unsaved text; `tome` offers to restore it");
                self.notes.push(note);
            }
        }
    }

    fn check_settings(&mut self, world: &World) {
        let mut warnings = world.warnings.clone();
        let known = self.known;
        let mut read = |name: &str| {
            let path = world.config_dir.join(name);
            match read_text(&path, LARGEST_SETTINGS) {
                Ok(text) => text.map(|text| (path, text)),
                Err(e) => {
                    let place = world.short_path(&path);
                    self.add_problem(place, &e.to_string(), "make it readable, or remove it");
                    None
                }
            }
        };
        if let Some((path, text)) = read("theme.toml") {
            let file = ThemeFile {
                path: &path,
                text: &text,
            };
            warnings.extend(Theme::load(known, Some(file)).1);
        }
        if let Some((path, text)) = read("keymap.toml") {
            warnings.extend(tui::keymap::check(&path, &text));
        }
        for warning in warnings {
            let place = world.short_path(Path::new(&warning.place));
            let remedy = "correct it; until then the default applies";
            self.add_problem(place, &warning.message, remedy);
        }
    }

    fn check_agents(&mut self, world: &World, found: &Discovered) {
        let locations = LogLocations {
            stores: roots_with_logs(found.stores.iter().map(|found| &found.store)),
            ..world.locations.clone()
        };
        let catalog = world.catalog_in(locations, LogScope::All);
        let logs = catalog.files();
        for log in &logs {
            if let Err(e) = open_regular(&log.path) {
                let place = world.short_path(&log.path);
                self.add_problem(place, &e.to_string(), "check its owner and mode");
            }
        }
        for unknown in not_understood(&catalog.locations, &logs) {
            let place = world.short_path(&unknown.path);
            let name = unknown.agent.name();
            let what = format!("this log of {name} is not understood: {}", unknown.why);
            self.add_problem(place, &what, "a newer tome may read it");
        }
        for dead in keep::unfinished(&world.kept, SystemTime::from(world.moment.time)) {
            let what = "a process that was killed left this unfinished copy";
            let remedy = "the next tome keep removes it";
            self.add_problem(world.short_path(&dead), what, remedy);
        }
        for (log, left, bytes) in keep::cut(&world.kept) {
            let id = safe_line(&log.id);
            let what = format!("of the {bytes} bytes of this kept copy of {id}, {left} are left");
            let remedy = format!(
                "tome keep {id} makes it again if its agent still has the log; else put it back from a backup"
            );
            self.add_problem(world.short_path(&log.path), &what, remedy);
        }
        for stray in keep::strays(&world.kept) {
            let what = "it is among the kept logs, and none of them";
            let remedy = "if its agent still has the log, tome keep of that removes it when it has all of this; else look at it and delete it";
            self.add_problem(world.short_path(&stray), what, remedy);
        }
        self.check_codex_memory(world);
        for agent in Agent::all() {
            let own: Vec<&LogFile> = logs.iter().filter(|log| log.agent == agent).collect();
            let registered = AGENTS
                .contains(&agent)
                .then(|| self.registered(world, agent));
            self.agents.push(AgentRow {
                agent,
                logs: own.len(),
                bytes: own.iter().map(|log| log.size).sum(),
                newest: own.iter().filter_map(|log| log.modified).max(),
                registered,
            });
        }
    }

    /// Reports what Codex has not yet made of sessions for its memory.
    fn check_codex_memory(&mut self, world: &World) {
        let Some(database) = memory_database(&world.environment.codex) else {
            return;
        };
        let place = world.short_path(&database);
        let jobs = match memory_jobs(&database) {
            Ok(jobs) => jobs,
            Err(error) => {
                let remedy = "Codex makes it again when it is moved away";
                self.add_problem(place, &error.to_string(), remedy);
                return;
            }
        };
        let (failed, waiting): (Vec<_>, Vec<_>) =
            jobs.iter().partition(|job| job.status == "error");
        if let Some(first) = failed.first() {
            let why = first.error.as_deref().unwrap_or("it does not say why");
            let what = format!(
                "jobs of Codex's memory: {} failed, {} wait; the first says: {}",
                failed.len(),
                waiting.len(),
                safe_line(why)
            );
            let given_up = failed.iter().filter(|job| job.is_given_up).count();
            let remedy = match failed.len() - given_up {
                0 => "Codex has no more tries for them: those sessions stay out of its memory",
                _ if given_up > 0 => {
                    "Codex tries some again when it starts, and has no more tries for others: those sessions stay out of its memory"
                }
                _ => {
                    "Codex tries again when it starts; until then those sessions are not in its memory"
                }
            };
            self.add_problem(place, &what, remedy);
        }
    }

    /// Returns whether tome is registered with an agent for the user: setup would change nothing.
    fn registered(&mut self, world: &World, agent: Agent) -> Registered {
        let dirs = homes(world);
        let program = program();
        let planned = |mode: SetupMode, actions: Actions| {
            let request = SetupRequest {
                agent,
                scope: SetupScope::User,
                mode,
                program: &program,
                actions,
            };
            plan(&dirs, request).map(|plan| plan.steps.is_empty() && plan.command.is_none())
        };
        // It may be registered with any of the flags.
        let is_whole = |actions| planned(SetupMode::Install, actions).is_ok_and(|is| is);
        let installed = if Actions::all().any(is_whole) {
            Ok(true)
        } else {
            planned(SetupMode::Install, Actions::default())
        };
        match (installed, planned(SetupMode::Remove, Actions::default())) {
            (Ok(true), Ok(_)) => Registered::Yes,
            (Ok(false), Ok(true)) => Registered::No,
            (Ok(false), Ok(false)) => {
                let what = "tome is registered in part, or as another program";
                let remedy = format!("tome setup {} registers this program", agent.name());
                self.add_problem(agent.name(), what, remedy);
                Registered::Partly
            }
            (Err(error), _) | (_, Err(error)) => {
                let what = format!("its settings cannot be read: {error}");
                self.add_problem(agent.name(), &what, "correct them");
                Registered::Unknown
            }
        }
    }

    fn check_stores(&mut self, world: &World, found: Discovered) {
        for refusal in &found.refusals {
            let place = world.short_path(&refusal.place);
            self.add_problem(place, &refusal.reason(), refusal.remedy());
        }
        for problem in found.problems {
            let place = world.short_path(&problem.root);
            let remedy =
                "tome --layout LAYOUT opens it; a [[store]] in the settings makes it permanent";
            self.add_problem(place, &problem.error.to_string(), remedy);
        }
        for found in found.stores {
            let store = found.store;
            let memories = self.check_store(world, &store);
            self.stores.push(StoreRow {
                name: store.name().to_owned(),
                layout: store.layout(),
                root: store.root().path().to_owned(),
                memories,
            });
        }
        if self.stores.is_empty() {
            let how = match world.scope() {
                DiscoveryScope::Project => "; `tome doctor --all` checks every project",
                DiscoveryScope::Everything => "",
            };
            let note = format!("no store was found; `tome stores` lists the places searched{how}");
            self.notes.push(note);
        }
    }

    fn check_store(&mut self, world: &World, store: &Store) -> usize {
        let root = store.root().path();
        if !is_writable(root) {
            let remedy = "check its owner and mode; until then it can only be read";
            self.add_problem(world.short_path(root), "cannot be written", remedy);
        }
        let memories = match store.list() {
            Ok(memories) => memories,
            Err(error) => {
                let place = world.short_path(root);
                self.add_problem(place, &error.to_string(), "check the directory");
                return 0;
            }
        };
        for memory in &memories {
            if let Some(problem) = &memory.problem {
                let place = world.short_path(&root.join(&memory.path));
                let bytes = store.root().read(&store.rules().file_of(&memory.path));
                let remedy = match bytes {
                    Ok(Some(bytes)) if std::str::from_utf8(&bytes).is_err() => {
                        "correct that byte, or convert the file from the encoding that it has with `iconv -f ENCODING -t UTF-8`; until then only its entries can be edited, each as FILE#ENTRY"
                    }
                    Ok(_) => "correct it: `e` on it in `tome` edits it",
                    Err(Error::Io { source, .. })
                        if source.kind() == io::ErrorKind::PermissionDenied =>
                    {
                        "let the user who runs tome read it"
                    }
                    Err(_) => "see what it is",
                };
                self.add_problem(place, problem, remedy);
            }
        }
        self.check_memories(world, store);
        memories.len()
    }

    fn check_terminal(&mut self) {
        let is = |yes: bool| if yes { "a terminal" } else { "no terminal" };
        let (input, output) = (io::stdin().is_terminal(), io::stdout().is_terminal());
        self.terminal.push(("input", is(input).to_owned()));
        self.terminal.push(("output", is(output).to_owned()));
        for name in ["TERM", "COLORTERM", "COLORFGBG", "NO_COLOR", "LANG"] {
            let set = env::var(name).unwrap_or_else(|_| "not set".to_owned());
            self.terminal.push((name, set));
        }
        let colours = match self.known.depth {
            ColorDepth::Plain => "none",
            ColorDepth::Ansi => "16",
            ColorDepth::True => "all",
        };
        let ground = match self.known.background {
            Background::Dark => "dark",
            Background::Light => "light",
        };
        if input && output {
            self.terminal.push(("colours", colours.to_owned()));
            self.terminal.push(("background", ground.to_owned()));
        }
        let term = env::var("TERM").unwrap_or_default();
        if output && (term.is_empty() || term == "dumb") {
            let remedy = "set it to the type of your terminal, such as xterm-256color";
            self.add_problem("TERM", "is not set, or is dumb", remedy);
        }
    }
}
