//! The outside world as values: directories, variables, settings, the clock.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use directories::{BaseDirs, ProjectDirs};

use super::Failure;
use super::args::Common;
use crate::core::Error;
use crate::core::change::{Author, Moment};
use crate::core::config::{Settings, Warning};
use crate::core::discover::{Reach, Surroundings};
use crate::core::history::History;
use crate::core::log::{LogFile, Places, locate};
use crate::core::store::Store;

/// What the core is told of the outside world.
#[derive(Debug)]
pub(super) struct World {
    pub(super) around: Surroundings,
    pub(super) settings: Settings,
    pub(super) warnings: Vec<Warning>,
    pub(super) history: History,
    pub(super) now: jiff::Zoned,
    pub(super) moment: Moment,
    /// Where what can be made again is kept.
    pub(super) cache: PathBuf,
    pub(super) common: Common,
}

/// Variables that are not settings.
const OTHER_VARIABLES: [&str; 2] = ["TOME_CONFIG", PAUSE];

/// In debug builds: the number of the step of a commit at which to wait for a line on standard
/// input. Tests kill or disturb the process there.
const PAUSE: &str = "TOME_PAUSE_AT";

impl World {
    pub(super) fn of_process(common: &Common) -> Result<Self, Failure> {
        let none = || Failure::Asked("no home directory; set HOME".to_owned());
        let base = BaseDirs::new().ok_or_else(none)?;
        let dirs = ProjectDirs::from("", "", "tome").ok_or_else(none)?;
        let cwd = env::current_dir().map_err(|e| Error::io(".", e))?;
        let home = base.home_dir().to_owned();
        let from = |variable: &str, folder: &str| {
            let set = env::var_os(variable).filter(|value| !value.is_empty());
            set.map_or_else(|| home.join(folder), PathBuf::from)
        };
        let around = Surroundings {
            claude: from("CLAUDE_CONFIG_DIR", ".claude"),
            codex: from("CODEX_HOME", ".codex"),
            gemini: from("GEMINI_CLI_HOME", ".gemini"),
            cwd,
            home,
        };
        let (settings, warnings) = settings(common, &dirs)?;
        let now = jiff::Zoned::now();
        Ok(Self {
            around,
            settings,
            warnings,
            history: history(dirs.data_dir().join("history")),
            cache: dirs.cache_dir().to_owned(),
            moment: Moment {
                time: now.timestamp(),
                today: now.date(),
            },
            now,
            common: common.clone(),
        })
    }

    pub(super) fn author(&self) -> Author {
        Author {
            who: self.settings.author.clone(),
            door: "cli".to_owned(),
        }
    }

    /// Where agents keep their logs here.
    pub(super) fn places(&self) -> Places {
        let set = |variable: &str| {
            let value = env::var_os(variable).filter(|value| !value.is_empty());
            value.map(PathBuf::from)
        };
        let mut places = Places::of_home(&self.around.home);
        if set("CLAUDE_CONFIG_DIR").is_some() {
            places.claude = vec![self.around.claude.clone()];
        } else if let Some(config) = set("XDG_CONFIG_HOME") {
            places.claude.push(config.join("claude"));
        }
        places.codex = vec![self.around.codex.clone()];
        // The variable names the home that `.gemini` is in, but people point it at that.
        places.gemini = vec![
            self.around.gemini.clone(),
            self.around.gemini.join(".gemini"),
        ];
        if let Some(home) = set("COPILOT_HOME") {
            places.copilot = vec![home];
        }
        if let Some(data) = set("XDG_DATA_HOME") {
            places.opencode.push(data.join("opencode"));
        }
        places.opencode_databases.extend(set("OPENCODE_DB"));
        places.projects = vec![self.project().to_owned()];
        places
    }

    /// The logs of the stores that were asked for; without `--store`, all that can be found.
    ///
    /// Which of these belong to the project is known once they have been read: see
    /// [`World::is_of_project`].
    pub(super) fn logs(&self, stores: &[Store]) -> Vec<LogFile> {
        let roots = stores.iter().map(|store| store.root().path().to_owned());
        let places = match self.common.store.as_slice() {
            [] => Places {
                stores: roots.collect(),
                ..self.places()
            },
            _ => Places {
                stores: roots.collect(),
                ..Places::default()
            },
        };
        let mut logs = locate(&places);
        let mut seen = std::collections::HashSet::new();
        logs.retain(|log| seen.insert((log.path.clone(), log.id.clone())));
        logs
    }

    /// Whether a log that was made in this directory, or lies in it, is to be looked at.
    pub(super) fn is_of_project(&self, cwd: Option<&str>, path: &Path) -> bool {
        let project = self.project();
        self.common.all
            || !self.common.store.is_empty()
            || cwd.is_some_and(|cwd| Path::new(cwd).starts_with(project))
            || path.starts_with(project)
    }

    /// The git root above the working directory, or that directory.
    fn project(&self) -> &Path {
        let cwd = &self.around.cwd;
        let root = cwd.ancestors().find(|folder| folder.join(".git").exists());
        root.unwrap_or(cwd)
    }

    pub(super) fn reach(&self) -> Reach {
        if self.common.all {
            Reach::Everything
        } else {
            Reach::Project
        }
    }
}

/// Defaults, then the file, then variables; flags are looked at where they matter.
fn settings(common: &Common, dirs: &ProjectDirs) -> Result<(Settings, Vec<Warning>), Failure> {
    let mut settings = Settings::default();
    let mut warnings = Vec::new();
    let path = common.config.clone();
    let named = path.is_some();
    let path = path.unwrap_or_else(|| dirs.config_dir().join("config.toml"));
    match fs::read_to_string(&path) {
        Ok(text) => warnings.extend(settings.read_file(&path, &text)),
        Err(e) if e.kind() == io::ErrorKind::NotFound && !named => {}
        Err(e) => return Err(Error::io(path, e).into()),
    }
    let variables: Vec<(String, String)> = env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| name.starts_with("TOME_"))
        .filter(|(name, _)| !OTHER_VARIABLES.contains(&name.as_str()))
        .collect();
    let pairs = variables
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()));
    warnings.extend(settings.read_variables(pairs));
    Ok((settings, warnings))
}

#[cfg(not(debug_assertions))]
fn history(dir: PathBuf) -> History {
    History::open(&dir)
}

#[cfg(debug_assertions)]
fn history(dir: PathBuf) -> History {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    let Some(stop) = env::var(PAUSE).ok().and_then(|at| at.parse::<usize>().ok()) else {
        return History::open(&dir);
    };
    let step = AtomicUsize::new(0);
    let observer = move |what: &str| {
        if step.fetch_add(1, Ordering::SeqCst) + 1 == stop {
            super::print::complain(&format!("paused: {what}"));
            let mut line = String::new();
            // Whatever comes, a line or the end of the input, means: go on.
            drop(io::stdin().read_line(&mut line));
        }
    };
    History::observed(&dir, Arc::new(observer))
}
