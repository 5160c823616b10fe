//! The process environment as values: directories, variables, settings, the clock.

use std::env;
use std::fs;
#[cfg(debug_assertions)]
use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use directories::{BaseDirs, ProjectDirs};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use super::Failure;
use super::args::Common;
use super::print::print_error;
use crate::core::change::Author;
use crate::core::change::history::{History, Wait};
use crate::core::disk::foreign::{LARGEST_SETTINGS, read_text};
use crate::core::disk::trust::program_in;
use crate::core::insight::curate::git::Git;
use crate::core::log::{Agent, LogLocations};
use crate::core::memory::config::{KEYS, Settings, Warning, allowed_by, expand, variable};
use crate::core::memory::demo::{Demo, unpack};
use crate::core::memory::discover::{DiscoveryScope, Environment, claude_stores, project_folders};
use crate::core::memory::store::Store;
use crate::core::text::time::Moment;
use crate::core::{Error, Result};

/// The process environment, passed to the core as values.
#[derive(Debug, Clone)]
pub(super) struct World {
    pub(super) environment: Environment,
    pub(super) settings: Settings,
    /// Where each setting with a single value comes from.
    pub(super) setting_sources: Vec<(&'static str, String)>,
    pub(super) warnings: Vec<Warning>,
    pub(super) history: History,
    /// Where agents keep their logs.
    pub(super) locations: LogLocations,
    /// The program that reads git histories, once it was looked for.
    git: OnceLock<Git>,
    /// The directory of kept copies of logs.
    pub(super) kept: PathBuf,
    /// The directory of the corpus cache.
    pub(super) cache: PathBuf,
    /// The local time, which dates such as "yesterday" are relative to.
    pub(super) now: Zoned,
    pub(super) moment: Moment,
    pub(super) common: Common,
    /// The directory of the user's own settings, theme and keymap.
    pub(super) config_dir: PathBuf,
    /// The directory of the history and of unsaved texts.
    pub(super) data_dir: PathBuf,
    /// The directory of sockets.
    #[cfg(feature = "grpc")]
    pub(super) runtime_dir: PathBuf,
    /// The sample's directory, which is removed on drop.
    _demo: Option<Arc<tempfile::TempDir>>,
}

/// The variable that names further stores of Claude Code.
const CLAUDE_STORES: &str = "CLAUDE_MEMORY_STORES";

/// Variables that are not settings.
const OTHER_VARIABLES: [&str; 3] = ["TOME_CONFIG", PAUSE, PANIC];

/// In debug builds: the number of the step of a commit at which to wait for a line on standard
/// input. Tests kill or disturb the process there.
const PAUSE: &str = "TOME_PAUSE_AT";

/// In debug builds: panics in the terminal UI. Tests check that the terminal is restored.
pub(super) const PANIC: &str = "TOME_PANIC";

impl World {
    pub(super) fn from_process(common: &Common) -> Result<Self, Failure> {
        if common.demo {
            return Self::for_demo(common);
        }
        let none = || Failure::usage("no home directory; set HOME");
        let base = BaseDirs::new().ok_or_else(none)?;
        let dirs = ProjectDirs::from("", "", "tome").ok_or_else(none)?;
        let cwd = env::current_dir().map_err(|e| Error::io(".", e))?;
        let home = base.home_dir().to_owned();
        let from = |variable: &str, folder: &str| {
            let set = env::var_os(variable).filter(|value| !value.is_empty());
            set.map_or_else(|| home.join(folder), PathBuf::from)
        };
        let mut environment = Environment {
            claude: from("CLAUDE_CONFIG_DIR", ".claude"),
            claude_project: env::var("CLAUDE_CODE_PROJECT_DIR_NAME").ok(),
            codex: from("CODEX_HOME", ".codex"),
            // The variable names the directory above.
            gemini: from("GEMINI_CLI_HOME", "").join(".gemini"),
            opencode: from("XDG_CONFIG_HOME", ".config").join("opencode"),
            ..Environment::of_home(&home, cwd, dirs.data_dir().to_owned())
        };
        let (mut settings, setting_sources, mut warnings) = settings(common, &dirs)?;
        let model = &mut settings.timeline.model;
        if let Some(named) = model.to_str().filter(|named| !named.is_empty()) {
            *model = expand(named, &environment.home, &environment.cwd);
        }
        let mut locations = locations(&base, &environment);
        environment.qwen.clone_from(&locations.qwen);
        environment.hermes.clone_from(&locations.hermes);
        environment.openclaw.clone_from(&locations.openclaw);
        let named = env::var_os(CLAUDE_STORES).unwrap_or_default();
        match claude_stores(&named.to_string_lossy()) {
            Ok(stores) => environment.claude_stores = stores,
            Err(message) => warnings.push(Warning {
                place: CLAUDE_STORES.to_owned(),
                message,
            }),
        }
        locations.trusted = allowed_by(&settings, &environment.home);
        let now = local_now();
        settings.timeline.zone = now.time_zone().clone();
        Ok(Self {
            environment,
            settings,
            setting_sources,
            warnings,
            history: history(dirs.data_dir().join("history"))
                .with_wait_observer(Arc::new(print_wait)),
            locations,
            git: OnceLock::new(),
            kept: dirs.data_dir().join("kept"),
            cache: dirs.cache_dir().join("corpus"),
            moment: moment(&now),
            now,
            common: common.clone(),
            config_dir: dirs.config_dir().to_owned(),
            data_dir: dirs.data_dir().to_owned(),
            #[cfg(feature = "grpc")]
            runtime_dir: dirs.runtime_dir().unwrap_or(dirs.data_dir()).to_owned(),
            _demo: None,
        })
    }

    /// Returns the world of the embedded sample, which reads nothing of the real home.
    pub(super) fn for_demo(common: &Common) -> Result<Self, Failure> {
        let temp = tempfile::Builder::new().prefix("tome-demo-").tempdir();
        let temp = temp.map_err(|e| Error::io(env::temp_dir(), e))?;
        let now = local_now();
        let moment = moment(&now);
        let Demo { home, project } = unpack(temp.path(), &moment)?;
        let data = temp.path().join("data");
        let environment = Environment::of_home(&home, project, data.clone());
        let mut locations = LogLocations::of_home(&home);
        locations.projects = project_folders(&environment.cwd);
        Ok(Self {
            environment,
            settings: Settings::default(),
            setting_sources: KEYS.map(|key| (key, "default".to_owned())).to_vec(),
            warnings: Vec::new(),
            history: history(data.join("history")).with_wait_observer(Arc::new(print_wait)),
            locations,
            git: OnceLock::new(),
            kept: data.join("kept"),
            cache: temp.path().join("cache"),
            moment,
            now,
            common: common.clone(),
            config_dir: temp.path().join("config"),
            data_dir: data,
            #[cfg(feature = "grpc")]
            runtime_dir: temp.path().join("run"),
            _demo: Some(Arc::new(temp)),
        })
    }

    /// Sets the verb that other processes show while they wait for a lock of this one.
    pub(super) fn with_verb(mut self, verb: Option<&str>) -> Self {
        let name = verb.map_or_else(|| "tome".to_owned(), |verb| format!("tome {verb}"));
        self.history = self.history.named(&name);
        self
    }

    /// Returns the program that reads git histories.
    pub(super) fn git(&self) -> &Git {
        self.git.get_or_init(|| {
            let found = self.program("git");
            Git::at(found.unwrap_or_else(|| PathBuf::from("/usr/bin/git")))
                .without_variables(env::vars_os().map(|(name, _)| name))
        })
    }

    /// Returns a program of the system, which is never one of the project.
    pub(super) fn program(&self, name: &str) -> Option<PathBuf> {
        let path = env::var_os("PATH").unwrap_or_default();
        let project = self.locations.projects.last().map(PathBuf::as_path);
        program_in(env::split_paths(&path), name, project)
    }

    pub(super) fn author(&self) -> Author {
        Author {
            who: self.settings.author.clone(),
            door: "cli".to_owned(),
        }
    }

    pub(super) fn scope(&self) -> DiscoveryScope {
        if self.common.all {
            DiscoveryScope::Everything
        } else {
            DiscoveryScope::Project
        }
    }
}

/// Returns the agent of this name, if it is one of these.
pub(super) fn agent_named(
    name: &str,
    known: impl Iterator<Item = Agent> + Clone,
) -> Result<Agent, Failure> {
    let found = Agent::named(name).filter(|agent| known.clone().any(|one| one == *agent));
    found.ok_or_else(|| {
        let known: Vec<&str> = known.map(Agent::name).collect();
        let known = known.join(", ");
        Failure::Usage(format!("no agent '{name}'; known agents: {known}"))
    })
}

/// Returns what was read of a store; `None` with a warning for one that is left out.
pub(super) fn or_left_out<T>(store: &Store, read: Result<T>) -> Result<Option<T>> {
    match read {
        Err(error @ Error::Refused { .. }) => {
            print_error(&format!("warning: {}: {error}", store.name()));
            Ok(None)
        }
        read => read.map(Some),
    }
}

/// Returns the current time.
pub(super) fn now() -> Moment {
    moment(&local_now())
}

/// Returns the current time in the time zone of the machine.
fn local_now() -> Zoned {
    let zone = machine_zone().unwrap_or_else(TimeZone::system);
    Timestamp::now().to_zoned(zone)
}

/// Returns the time zone of the machine, if its file tells it. Asking jiff lists all time zones of the
/// world first, which takes as long as everything else that a hook does.
fn machine_zone() -> Option<TimeZone> {
    const FILE: &str = "/etc/localtime";
    if env::var_os("TZ").is_some() {
        return None;
    }
    let link = fs::read_link(FILE).ok()?;
    let (_, name) = link.to_str()?.split_once("/zoneinfo/")?;
    TimeZone::tzif(name, &fs::read(FILE).ok()?).ok()
}

fn moment(now: &Zoned) -> Moment {
    Moment {
        time: now.timestamp(),
        today: now.date(),
    }
}

/// Returns where agents keep their logs, respecting the agents' own variables.
fn locations(base: &BaseDirs, environment: &Environment) -> LogLocations {
    let mut locations = LogLocations::of_home(&environment.home);
    let set = |name: &str| {
        env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    if set("CLAUDE_CONFIG_DIR").is_some() {
        locations.claude = vec![environment.claude.clone()];
    }
    locations.codex = vec![environment.codex.clone()];
    if set("GEMINI_CLI_HOME").is_some() {
        locations.gemini = vec![environment.gemini.clone()];
    }
    if let Some(home) = set("COPILOT_HOME") {
        locations.copilot = vec![home];
    }
    if let Some(home) = set("QWEN_RUNTIME_DIR").or_else(|| set("QWEN_HOME")) {
        locations.qwen = vec![home];
    }
    for name in ["KIMI_SHARE_DIR", "KIMI_CODE_HOME"] {
        locations.kimi.extend(set(name));
    }
    if let Some(home) = set("GOOSE_PATH_ROOT") {
        locations.goose = vec![home.join("data")];
    }
    if let Some(data) = set("CRUSH_GLOBAL_DATA") {
        locations.crush = vec![data];
    }
    if let Some(home) = set("HERMES_HOME") {
        locations.hermes = vec![home];
    }
    if let Some(home) = set("VIBE_HOME") {
        locations.vibe = vec![home];
    }
    if let Some(home) = set("OPENHANDS_PERSISTENCE_DIR") {
        locations.openhands = vec![home];
    }
    if let Some(state) = set("OPENCLAW_STATE_DIR") {
        locations.openclaw = vec![state];
    }
    let data = base.data_dir();
    let of_system = [
        (&mut locations.opencode, "opencode"),
        (&mut locations.goose, "goose"),
        (&mut locations.crush, "crush"),
        (&mut locations.kiro_data, "kiro-cli"),
        (&mut locations.zed, "zed"),
    ];
    for (known, name) in of_system {
        let place = data.join(name);
        if !known.contains(&place) {
            known.push(place);
        }
    }
    locations.opencode_databases.extend(set("OPENCODE_DB"));
    locations.projects = project_folders(&environment.cwd);
    locations
}

/// The settings, where each one comes from, and what was not understood.
type Layers = (Settings, Vec<(&'static str, String)>, Vec<Warning>);

/// Reads the settings: defaults, then the file, then variables. Flags are applied where used.
fn settings(common: &Common, dirs: &ProjectDirs) -> Result<Layers, Failure> {
    let mut settings = Settings::default();
    let mut warnings = Vec::new();
    let path = common.config.clone();
    let named = path.is_some();
    let path = path.unwrap_or_else(|| dirs.config_dir().join("config.toml"));
    match read_text(&path, LARGEST_SETTINGS)? {
        Some(text) => warnings.extend(settings.read_file(&path, &text)),
        None if named => return Err(Error::not_found(path.display().to_string()).into()),
        None => {}
    }
    let variables: Vec<(String, String)> = env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| name.starts_with("TOME_"))
        .filter(|(name, _)| !OTHER_VARIABLES.contains(&name.as_str()))
        .collect();
    let pairs = variables
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()));
    let (default, of_file) = (Settings::default(), settings.clone());
    warnings.extend(settings.read_variables(pairs));
    let source = |key: &&'static str| {
        let [default, of_file, now] = [&default, &of_file, &settings].map(|one| one.value(key));
        let source = if now != of_file {
            variable(key)
        } else if of_file != default {
            path.display().to_string()
        } else {
            "default".to_owned()
        };
        (*key, source)
    };
    let sources = KEYS.iter().map(source).collect();
    Ok((settings, sources, warnings))
}

/// Prints on standard error that a lock is awaited, at once and then every few seconds.
fn print_wait(wait: &Wait) -> ControlFlow<()> {
    if wait.waited.as_secs().is_multiple_of(3) {
        super::print::print_error(&wait.to_string());
    }
    ControlFlow::Continue(())
}

#[cfg(not(debug_assertions))]
fn history(dir: PathBuf) -> History {
    History::open(&dir)
}

#[cfg(debug_assertions)]
fn history(dir: PathBuf) -> History {
    use std::sync::atomic::{AtomicUsize, Ordering};

    let Some(stop) = env::var(PAUSE).ok().and_then(|at| at.parse::<usize>().ok()) else {
        return History::open(&dir);
    };
    let step = AtomicUsize::new(0);
    let observer = move |what: &str| {
        if step.fetch_add(1, Ordering::SeqCst) + 1 == stop {
            super::print::print_error(&format!("paused: {what}"));
            let mut line = String::new();
            // A line or the end of the input continues.
            drop(io::stdin().read_line(&mut line));
        }
        Ok(())
    };
    History::with_observer(&dir, Arc::new(observer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_zone_of_the_machine_is_the_one_that_jiff_finds() {
        let found = TimeZone::system();
        let own = machine_zone().unwrap_or_else(|| found.clone());
        assert_eq!(own.iana_name(), found.iana_name());
        for day in [0, 190] {
            let time = Timestamp::UNIX_EPOCH + jiff::SignedDuration::from_hours(24 * day);
            assert_eq!(own.to_offset(time), found.to_offset(time));
        }
    }
}
