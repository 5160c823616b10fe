//! The terminal UI.
//!
//! [`run()`] draws a frame, waits for an event, passes it to `App::update`, carries out the
//! effects that it returns, and draws again. The input reader, the watchers and the workers are
//! threads that send events. There is no timer tick, so an idle program uses no CPU.

mod action;
mod app;
mod cells;
mod chrome;
mod clipboard;
#[cfg(test)]
mod dump;
mod effect;
mod event;
pub mod highlight;
pub mod keymap;
#[cfg(test)]
mod keys;
mod layout;
#[doc(hidden)]
pub mod measure;
mod model;
mod overlay;
mod pane;
mod panics;
mod reader;
mod run;
mod terminal;
pub mod theme;
pub mod widget;
mod worker;

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::tz::TimeZone;

use theme::Theme;

use crate::core::Result;
use crate::core::change::Author;
use crate::core::change::history::History;
use crate::core::insight::context::{AgentContext, Draft, KnownAgent};
use crate::core::insight::curate::git::Git;
use crate::core::insight::ledger::Contexts;
use crate::core::log::Agent;
use crate::core::memory::catalog::LogCatalog;
use crate::core::memory::config::{CurateSettings, EditorKeys, Settings, Warning};
use crate::core::memory::discover::{DiscoveryScope, Environment, SearchedPlace};
use crate::core::memory::layout::Layout;
use crate::core::text::time::Moment;

/// Returns the current time; the caller of [`run()`] supplies it.
pub type Clock = fn() -> Moment;

/// Everything that the UI gets from its caller: paths, settings, clock and theme.
#[derive(Debug)]
pub struct Setup {
    /// How the stores are found.
    pub source: StoreSource,
    /// Where findings come from, apart from the stores.
    pub curate: CurateSetup,
    /// Set to show the finder alone and print the choice.
    pub pick: Option<Pick>,
    /// What agents load by themselves.
    pub contexts: Arc<dyn ContextSource>,
    /// The log files, and how they are found.
    pub catalog: LogCatalog,
    /// The history that changes are recorded in.
    pub history: History,
    /// The directory for unsaved texts.
    pub unsaved: PathBuf,
    /// The file that panics are logged to.
    pub faults: PathBuf,
    /// The author recorded with every change.
    pub author: Author,
    /// Returns the current time.
    pub clock: Clock,
    /// The user's time zone.
    pub zone: TimeZone,
    /// The key bindings of the editor: readline or vi.
    pub editor_keys: EditorKeys,
    /// The style of every role.
    pub theme: Theme,
    /// The path and text of the user's keymap file.
    pub keymap: Option<(PathBuf, String)>,
    /// The command of `$VISUAL` or `$EDITOR`.
    pub editor: Option<String>,
    /// The programs that may copy to the clipboard, best first; none to ask the terminal.
    pub clipboard: Vec<ClipboardCommand>,
    /// A short name for the current scope, displayed in the title line.
    pub title: String,
    /// The directories that are searched for stores and logs.
    pub searched_places: Vec<SearchedPlace>,
    /// What was typed while the terminal was asked what it can do.
    pub typed: Vec<u8>,
    /// Problems in the settings and the theme.
    pub warnings: Vec<Warning>,
    /// Whether to panic after the first frame, so that tests can check the terminal afterwards.
    pub panics: bool,
}

/// Where findings come from, apart from the stores.
#[derive(Debug, Clone)]
pub struct CurateSetup {
    /// The directories of the user and of the agents.
    pub environment: Environment,
    /// The root of the current project.
    pub project: Option<PathBuf>,
    /// The program that reads git histories.
    pub git: Git,
    /// Which rules are off, and the limits of the others.
    pub settings: CurateSettings,
    /// The folder of cached git histories.
    pub cache: Option<PathBuf>,
}

/// Reads what agents load by themselves when they start here; the caller of [`run()`] supplies it,
/// since it knows what tome's hooks add.
pub trait ContextSource: Contexts + fmt::Debug + Send {
    /// Returns the agents whose rules are known, those that are installed first.
    fn agents(&self) -> Vec<KnownAgent>;

    /// Returns what an agent loads, with a text in place of its file.
    fn read(&self, agent: Agent, draft: Option<&Draft>) -> Result<AgentContext>;
}

/// How the stores are found.
#[derive(Debug, Clone)]
pub enum StoreSource {
    /// By discovery.
    Discover {
        /// The environment to search in.
        environment: Box<Environment>,
        /// The settings that control the search.
        settings: Box<Settings>,
        /// Which stores are included.
        scope: DiscoveryScope,
    },
    /// The caller lists them.
    Named(Vec<NamedStore>),
}

/// A store that the caller lists.
#[derive(Debug, Clone)]
pub struct NamedStore {
    /// The name of the store.
    pub name: String,
    /// The root directory.
    pub root: PathBuf,
    /// The layout; `None` to detect it from the files.
    pub layout: Option<Layout>,
}

pub use clipboard::ClipboardCommand;
pub use pane::find::Print;
pub use run::run;
pub use terminal::background;

/// The options of the finder when it runs alone.
#[derive(Debug)]
pub struct Pick {
    /// What is printed for each picked hit.
    pub print: Print,
    /// The initial query.
    pub query: String,
}

/// Why the UI ended with an error.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The terminal failed.
    #[error(transparent)]
    Terminal(#[from] io::Error),
    /// A change requested just before the exit was not made.
    #[error("the last change was not made: {0}; open tome and repeat it")]
    Unwritten(String),
}

/// Why the UI ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exit {
    /// The user quit.
    Done,
    /// The user picked hits; the lines to print.
    Picked(Vec<String>),
    /// The user asked for the demo.
    Demo,
}
