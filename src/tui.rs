//! The terminal door: what a person sees and types.
//!
//! [`run`] is the loop: draw, wait for something to happen, tell `App::update`, have the
//! effects carried out, draw again. The reader, the watcher and the worker are threads
//! that send events; nothing ticks, so that an idle program costs nothing.

mod action;
mod app;
pub mod cells;
mod chrome;
#[cfg(test)]
pub mod dump;
mod effect;
mod event;
pub mod highlight;
mod keymap;
#[cfg(test)]
pub mod keys;
mod layout;
mod overlay;
mod pane;
mod reader;
mod terminal;
pub mod theme;
pub mod widget;
mod worker;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use app::App;
use effect::Effect;
use event::Event;
use keymap::Keymap;
use reader::Reader;
use terminal::Screen;
use theme::Theme;
use worker::{Running, Worker};

use crate::core::change::{Author, Moment};
use crate::core::config::{Settings, Warning};
use crate::core::discover::{Reach, Surroundings};
use crate::core::history::History;
use crate::core::layout::Layout;
use crate::core::library::Library;
use crate::core::unsaved::{Drawer, Loan};
use crate::core::watch::Watch;

/// Tells the time; handed in by the door.
pub type Clock = fn() -> Moment;

/// How long a toast stays.
const TOAST: Duration = Duration::from_secs(6);

/// What the terminal door is told of the outside world.
#[derive(Debug)]
pub struct Setup {
    /// Where the stores come from.
    pub source: Source,
    /// The history that changes go to.
    pub history: History,
    /// The directory for unsaved texts.
    pub unsaved: PathBuf,
    /// Who makes the changes.
    pub author: Author,
    /// The time.
    pub clock: Clock,
    /// How things look.
    pub theme: Theme,
    /// The user's keymap file and what it says.
    pub keymap: Option<(PathBuf, String)>,
    /// The command of `$VISUAL` or `$EDITOR`.
    pub editor: Option<String>,
    /// Where the person stands, in a word.
    pub title: String,
    /// What was wrong in the settings and the theme.
    pub warnings: Vec<Warning>,
    /// Whether to panic after the first frame: tests look at what is left of the terminal.
    pub panics: bool,
}

/// Where the stores come from.
#[derive(Debug, Clone)]
pub enum Source {
    /// They are looked for.
    Around {
        /// From where.
        around: Box<Surroundings>,
        /// By which settings.
        settings: Box<Settings>,
        /// How far.
        reach: Reach,
    },
    /// Somebody named them.
    Named(Vec<Named>),
}

/// A store that was named.
#[derive(Debug, Clone)]
pub struct Named {
    /// Its name.
    pub name: String,
    /// Its root.
    pub root: PathBuf,
    /// Its layout, where the files do not tell.
    pub layout: Option<Layout>,
}

pub use terminal::background;

/// Runs the terminal UI until the person leaves it. Only the terminal itself can fail.
pub fn run(setup: Setup) -> io::Result<()> {
    let (events, inbox) = mpsc::channel();
    let changed = events.clone();
    let watch = Watch::start(move |paths| drop(changed.send(Event::Changed(paths))));
    let mut keymap = Keymap::new();
    let mut warnings = setup.warnings;
    if let Some((path, text)) = &setup.keymap {
        warnings.extend(keymap.read(&path.display().to_string(), text));
    }
    let worker = Worker {
        source: setup.source,
        history: setup.history,
        drawer: Drawer::open(&setup.unsaved),
        author: setup.author,
        clock: setup.clock,
        library: Arc::new(Library::default()),
        watch: watch.ok(),
        events: events.clone(),
    };
    let screen = Screen::open()?;
    terminal::listen(events.clone())?;
    let mut running = Loop {
        app: App::new(setup.theme, keymap, setup.title),
        screen,
        reader: Reader::start(events)?,
        worker: worker.start()?,
        clock: setup.clock,
        loans: setup.unsaved,
        editor: setup.editor,
        toast: None,
        panics: setup.panics,
    };
    running.app.warn(&warnings);
    let ended = running.run(&inbox);
    // The screen goes back before the last texts are kept: nobody waits in front of it.
    drop(running.screen);
    running.worker.finish();
    ended
}

struct Loop {
    app: App,
    screen: Screen,
    reader: Reader,
    worker: Running,
    clock: Clock,
    loans: PathBuf,
    editor: Option<String>,
    /// The toast that is up, and until when.
    toast: Option<(u64, Instant)>,
    panics: bool,
}

/// Whether to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Go,
    End,
}

impl Loop {
    fn run(&mut self, inbox: &Receiver<Event>) -> io::Result<()> {
        self.app.update(Event::Woke(self.now()));
        self.app.resize(self.screen.size()?);
        self.screen.draw(&self.app)?;
        assert!(!self.panics, "a panic was asked for");
        self.worker.hand(Effect::Load);
        loop {
            self.reader.turn();
            let Some(first) = self.next(inbox) else {
                return Ok(());
            };
            self.app.update(Event::Woke(self.now()));
            for event in std::iter::once(first).chain(inbox.try_iter()) {
                self.reader.noticed(&event);
                if matches!(event, Event::Resumed) {
                    self.screen.enter()?;
                }
                for effect in self.app.update(event) {
                    if self.perform(effect)? == Next::End {
                        return Ok(());
                    }
                }
            }
            self.screen.draw(&self.app)?;
        }
    }

    fn now(&self) -> i64 {
        (self.clock)().time.as_millisecond()
    }

    /// Waits for something to happen; `None` when nothing ever will.
    fn next(&mut self, inbox: &Receiver<Event>) -> Option<Event> {
        let Some(toast) = self.app.toast() else {
            self.toast = None;
            return inbox.recv().ok();
        };
        let until = match self.toast {
            Some((up, until)) if up == toast => until,
            _ => Instant::now() + TOAST,
        };
        self.toast = Some((toast, until));
        match inbox.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(event) => Some(event),
            Err(RecvTimeoutError::Timeout) => Some(Event::Elapsed),
            Err(RecvTimeoutError::Disconnected) => None,
        }
    }

    fn perform(&mut self, effect: Effect) -> io::Result<Next> {
        match effect {
            Effect::Quit => return Ok(Next::End),
            Effect::Copy(text) => terminal::copy(&text)?,
            Effect::Suspend => {
                self.screen.leave()?;
                terminal::stop()?;
                self.screen.enter()?;
            }
            Effect::Lend(subject) => {
                let result = self.lend(&subject.path, &subject.text)?;
                for effect in self.app.update(Event::Lent { subject, result }) {
                    self.worker.hand(effect);
                }
            }
            job => self.worker.hand(job),
        }
        Ok(Next::Go)
    }

    /// Lets another program edit a text. The reader is not reading meanwhile: every key is
    /// that program's.
    fn lend(&mut self, name: &str, text: &str) -> io::Result<Result<String, String>> {
        let Some(editor) = &self.editor else {
            return Ok(Err(
                "set EDITOR or VISUAL to your editor's command".to_owned()
            ));
        };
        let loan = match Loan::make(&self.loans, name, text) {
            Ok(loan) => loan,
            Err(error) => return Ok(Err(error.to_string())),
        };
        self.screen.leave()?;
        let ended = terminal::edit(editor, loan.path());
        self.screen.enter()?;
        Ok(match ended {
            Ok(status) if status.success() => loan.text().map_err(|error| error.to_string()),
            Ok(status) => Err(format!("{editor}: {status}; nothing was changed")),
            Err(error) => Err(format!("{editor}: {error}")),
        })
    }
}
