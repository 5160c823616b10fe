//! The terminal door: what a person sees and types.
//!
//! [`run()`] draws, waits for something to happen, tells `App::update`, has the effects carried
//! out, and draws again. The reader of keys, the watchers and the workers are threads that send
//! events; nothing ticks, so that an idle program costs nothing.

mod action;
mod app;
pub mod cells;
mod chrome;
#[cfg(test)]
pub mod dump;
mod effect;
mod event;
pub mod highlight;
pub mod keymap;
#[cfg(test)]
pub mod keys;
mod layout;
#[doc(hidden)]
pub mod measure;
mod overlay;
mod pane;
mod panics;
mod reader;
mod run;
mod terminal;
pub mod theme;
pub mod widget;
mod worker;

use std::io;
use std::path::PathBuf;

use jiff::tz::TimeZone;

use theme::Theme;

use crate::core::catalog::LogCatalog;
use crate::core::change::{Author, Moment};
use crate::core::config::{EditorKeys, Settings, Warning};
use crate::core::discover::{DiscoveryScope, Environment, SearchedPlace};
use crate::core::history::History;
use crate::core::layout::Layout;

/// Tells the time; handed in by the door.
pub type Clock = fn() -> Moment;

/// What the terminal door is told of the outside world.
#[derive(Debug)]
pub struct Setup {
    /// Where the stores come from.
    pub source: StoreSource,
    /// Whether something is to be picked, and nothing else.
    pub pick: Option<Pick>,
    /// Where the logs are.
    pub catalog: LogCatalog,
    /// The history that changes go to.
    pub history: History,
    /// The directory for unsaved texts.
    pub unsaved: PathBuf,
    /// The file that errors inside tome are written to.
    pub faults: PathBuf,
    /// Who makes the changes.
    pub author: Author,
    /// The time.
    pub clock: Clock,
    /// The time zone that the person is in.
    pub zone: TimeZone,
    /// Whose keys the editor understands.
    pub editor_keys: EditorKeys,
    /// How things look.
    pub theme: Theme,
    /// The user's keymap file and what it says.
    pub keymap: Option<(PathBuf, String)>,
    /// The command of `$VISUAL` or `$EDITOR`.
    pub editor: Option<String>,
    /// Where the person stands, in a word.
    pub title: String,
    /// Where stores and logs are looked for.
    pub searched_places: Vec<SearchedPlace>,
    /// What was wrong in the settings and the theme.
    pub warnings: Vec<Warning>,
    /// Whether to panic after the first frame: tests look at what is left of the terminal.
    pub panics: bool,
}

/// Where the stores come from.
#[derive(Debug, Clone)]
pub enum StoreSource {
    /// They are looked for.
    Discover {
        /// From where.
        environment: Box<Environment>,
        /// By which settings.
        settings: Box<Settings>,
        /// How far.
        scope: DiscoveryScope,
    },
    /// Somebody named them.
    Named(Vec<NamedStore>),
}

/// A store that was named.
#[derive(Debug, Clone)]
pub struct NamedStore {
    /// Its name.
    pub name: String,
    /// Its root.
    pub root: PathBuf,
    /// Its layout, where the files do not tell.
    pub layout: Option<Layout>,
}

pub use pane::find::Print;
pub use run::run;
pub use terminal::background;

/// The finder alone.
#[derive(Debug)]
pub struct Pick {
    /// What is printed of the choice.
    pub print: Print,
    /// What to look for at first.
    pub query: String,
}

/// Why the UI ended otherwise than it should.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The terminal failed.
    #[error(transparent)]
    Terminal(#[from] io::Error),
    /// A change that was asked for just before leaving was not made.
    #[error("the last change was not made: {0}; open tome and repeat it")]
    Unwritten(String),
}

/// What a person left the UI for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exit {
    /// They are done.
    Done,
    /// They picked something.
    Picked(Vec<String>),
    /// They want to see the sample.
    Demo,
}
