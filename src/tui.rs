//! The terminal door: what a person sees and types.
//!
//! [`run`] is the loop: draw, wait for something to happen, tell `App::update`, have the
//! effects carried out, draw again. The reader of keys, the watchers and the desks of `worker` are
//! threads that send events; nothing ticks, so that an idle program costs nothing.

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
mod reader;
mod terminal;
pub mod theme;
pub mod widget;
mod worker;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use jiff::tz::TimeZone;

use app::{App, Given};
use effect::Effect;
use event::Event;
use keymap::Keymap;
use reader::Reader;
use terminal::Screen;
use theme::Theme;
use worker::Worker;
use worker::archivist::{self, Archivist};
use worker::desk::Desk;
use worker::finder::{self, Finder};
use worker::scribe::{self, Scribe};

use crate::core::archive::Archive;
use crate::core::change::{Author, Moment};
use crate::core::config::{EditorKeys, Settings, Warning};
use crate::core::discover::{Looked, Reach, Surroundings};
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
    /// Whether something is to be picked, and nothing else.
    pub pick: Option<Pick>,
    /// Where the logs are.
    pub archive: Archive,
    /// The history that changes go to.
    pub history: History,
    /// The directory for unsaved texts.
    pub unsaved: PathBuf,
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
    pub looked: Vec<Looked>,
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

pub use pane::find::Print;
pub use terminal::background;

/// The finder alone.
#[derive(Debug)]
pub struct Pick {
    /// What is printed of the choice.
    pub print: Print,
    /// What to look for at first.
    pub query: String,
}

/// What a person left the UI for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Left {
    /// They are done.
    Done,
    /// They picked something.
    Picked(Vec<String>),
    /// They want to see the sample.
    ForDemo,
}

/// Runs the terminal UI until the person leaves it; answers what for. Only the terminal itself
/// can fail.
pub fn run(setup: Setup) -> io::Result<Left> {
    let (events, inbox) = mpsc::channel();
    let changed = events.clone();
    let watch = Watch::start(move |paths| drop(changed.send(Event::Changed(paths))));
    let mut keymap = Keymap::new();
    let mut warnings = setup.warnings;
    if let Some((path, text)) = &setup.keymap {
        warnings.extend(keymap.read(&path.display().to_string(), text));
    }
    let newest = Arc::new(AtomicU64::new(0));
    let leaving = Arc::new(AtomicBool::new(false));
    let time = (setup.clock, setup.zone.clone());
    let finder = Finder::new(events.clone(), time, Arc::clone(&newest));
    let finder = Desk::open("finder", finder)?;
    let scribe = Scribe {
        events: events.clone(),
    };
    let spoken = events.clone();
    let archivist = Archivist {
        archive: setup.archive,
        watch: Watch::start(move |paths| drop(spoken.send(Event::Spoken(paths)))).ok(),
        finder: finder.slot(),
        events: events.clone(),
        leaving: Arc::clone(&leaving),
        told: Vec::new(),
    };
    let archivist = Desk::open("archivist", archivist)?;
    let worker = Worker {
        source: setup.source,
        history: setup.history,
        drawer: Drawer::open(&setup.unsaved),
        author: setup.author,
        clock: setup.clock,
        library: Arc::new(Library::default()),
        watch: watch.ok(),
        events: events.clone(),
        archivist: archivist.slot(),
        finder: finder.slot(),
        // Whoever picks something wants just that.
        offers: setup.pick.is_none(),
    };
    let desks = Desks {
        worker: Desk::open("worker", worker)?,
        archivist,
        finder,
        scribe: Desk::open("scribe", scribe)?,
        newest,
        leaving,
    };
    let screen = Screen::open()?;
    terminal::listen(events.clone())?;
    let given = Given {
        title: setup.title,
        zone: setup.zone,
        editor_keys: setup.editor_keys,
    };
    let mut running = Loop {
        app: App::new(setup.theme, keymap, given),
        screen,
        reader: Reader::start(events)?,
        desks,
        clock: setup.clock,
        loans: setup.unsaved,
        editor: setup.editor,
        toast: None,
        left: Left::Done,
        panics: setup.panics,
    };
    running.app.looked(setup.looked);
    if let Some(pick) = setup.pick {
        running.app.only_pick(pick);
    }
    running.app.warn(&warnings);
    let ended = running.run(&inbox);
    // The screen goes back before the last texts are kept: nobody waits in front of it.
    drop(running.screen);
    running.desks.finish();
    ended.map(|()| running.left)
}

/// The desks, and what the loop says to them besides jobs.
struct Desks {
    worker: Desk<Effect>,
    archivist: Desk<archivist::Job>,
    finder: Desk<finder::Job>,
    scribe: Desk<scribe::Job>,
    /// The newest request to the finder.
    newest: Arc<AtomicU64>,
    /// Whether the program is about to end.
    leaving: Arc<AtomicBool>,
}

impl Desks {
    /// Hands an effect to whoever does it.
    fn hand(&self, effect: Effect) {
        match effect {
            Effect::Find { generation, text } => {
                self.newest.store(generation, Ordering::Relaxed);
                self.finder.hand(finder::Job::Find { generation, text });
            }
            Effect::Open { file, asker } => self.scribe.hand((file, asker)),
            Effect::Relook => self.archivist.hand(archivist::Job::Again),
            job => self.worker.hand(job),
        }
    }

    /// Waits for what must be done, and gives up the rest.
    fn finish(self) {
        self.leaving.store(true, Ordering::Relaxed);
        self.newest.store(u64::MAX, Ordering::Relaxed);
        self.worker.finish();
        // The others write nothing that could be cut in two. They may be waiting for somebody
        // else's lock, or be in the middle of a long log: nobody waits for that.
        const PATIENCE: Duration = Duration::from_millis(300);
        let until = Instant::now() + PATIENCE;
        self.archivist.leave(until);
        self.finder.leave(until);
        self.scribe.leave(until);
    }
}

struct Loop {
    app: App,
    screen: Screen,
    reader: Reader,
    desks: Desks,
    clock: Clock,
    loans: PathBuf,
    editor: Option<String>,
    /// The toast that is up, and until when.
    toast: Option<(u64, Instant)>,
    /// What the person leaves for.
    left: Left,
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
        self.desks.hand(Effect::Load);
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
            Effect::Pick(lines) => {
                self.left = Left::Picked(lines);
                return Ok(Next::End);
            }
            Effect::Demo => {
                self.left = Left::ForDemo;
                return Ok(Next::End);
            }
            Effect::Copy(text) => terminal::copy(&text)?,
            Effect::Suspend => {
                self.screen.leave()?;
                terminal::stop()?;
                self.screen.enter()?;
            }
            Effect::Lend(subject) => {
                let result = self.lend(&subject.path, &subject.text)?;
                for effect in self.app.update(Event::Lent { subject, result }) {
                    self.desks.hand(effect);
                }
            }
            job => self.desks.hand(job),
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
