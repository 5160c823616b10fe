//! The app without a terminal, for benchmarks: it takes keys and has the program's own workers. The
//! time of every frame is measured, and the time from a key to the frame with its results.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use jiff::tz::TimeZone;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{Event as Input, KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::Size;

use super::app::App;
use super::effect::{Effect, LibraryJob, TranscriptJob};
use super::event::{Event, EventSender};
use super::keymap::Keymap;
use super::model::UserContext;
use super::theme::Theme;
use super::worker::{WorkerContext, Workers};
use super::{Clock, ContextSource, CurateSetup, StoreSource};
use crate::core::change::Author;
use crate::core::change::history::History;
use crate::core::insight::context::{AgentContext, Draft, KnownAgent, Piece};
use crate::core::insight::curate::git::Git;
use crate::core::insight::ledger::Contexts;
use crate::core::log::Agent;
use crate::core::memory::catalog::LogCatalog;
use crate::core::memory::config::{CurateSettings, EditorKeys};
use crate::core::memory::discover::{DiscoveryScope, Environment};
use crate::core::search::find::SearchState;
use crate::core::{Error, Result};

/// No contexts of agents are shown.
#[derive(Debug)]
struct NoContexts;

impl ContextSource for NoContexts {
    fn agents(&self) -> Vec<KnownAgent> {
        Vec::new()
    }

    fn read(&self, agent: Agent, _draft: Option<&Draft>) -> Result<AgentContext> {
        Err(Error::not_found(agent.name()))
    }
}

impl Contexts for NoContexts {
    fn pieces(&self, _agent: Agent, _cwd: &Path) -> Vec<Piece> {
        Vec::new()
    }
}

/// How long a key took to be answered.
#[derive(Debug, Clone, Copy)]
pub struct KeyTimes {
    /// Until the first rows were drawn, or it was known that there are none.
    pub first: Duration,
    /// Until everything was searched for the words as they are typed, and the best were drawn.
    pub words: Duration,
    /// Until everything was searched and drawn, less close matches too.
    pub complete: Duration,
}

/// What is shown.
#[derive(Debug)]
pub struct HeadlessSetup<'a> {
    /// The stores.
    pub source: StoreSource,
    /// The logs.
    pub catalog: LogCatalog,
    /// A directory for the program's own files.
    pub data: &'a Path,
    /// The clock.
    pub clock: Clock,
    /// The size of the screen.
    pub size: Size,
}

/// The app with its workers and without a terminal.
pub struct HeadlessApp {
    app: App,
    terminal: Terminal<TestBackend>,
    workers: Workers,
    inbox: Receiver<Event>,
    clock: Clock,
    /// The generation of the newest search.
    generation: u64,
    /// Transcripts to read after the next frame.
    transcripts: Vec<TranscriptJob>,
    frames: Vec<Duration>,
}

impl std::fmt::Debug for HeadlessApp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HeadlessApp").finish_non_exhaustive()
    }
}

impl HeadlessApp {
    /// Opens the stores and waits until they and the logs are read.
    pub fn open(setup: HeadlessSetup<'_>) -> io::Result<Self> {
        let HeadlessSetup {
            source,
            catalog,
            data,
            clock,
            size,
        } = setup;
        let (events, inbox) = EventSender::new();
        let outside = WorkerContext {
            source,
            contexts: Arc::new(NoContexts),
            catalog,
            history: History::open(&data.join("history")),
            unsaved: &data.join("unsaved"),
            author: Author {
                who: "you".to_owned(),
                door: "tui".to_owned(),
            },
            clock,
            zone: TimeZone::UTC,
            offers: false,
            curate: CurateSetup {
                environment: Environment::of_home(data, data.to_owned(), data.to_owned()),
                project: None,
                git: Git::at("git"),
                settings: CurateSettings::default(),
                cache: None,
            },
        };
        let workers = Workers::start(outside, &events)?;
        let user = UserContext {
            title: "measured".to_owned(),
            zone: TimeZone::UTC,
            editor_keys: EditorKeys::Readline,
            scope: Some(DiscoveryScope::Project),
            agents: Vec::new(),
            searched_places: Vec::new(),
        };
        let mut app = App::new(Theme::default(), Keymap::new(), user);
        app.resize(size);
        let Ok(terminal) = Terminal::new(TestBackend::new(size.width, size.height));
        let mut headless = Self {
            app,
            terminal,
            workers,
            inbox,
            clock,
            generation: 0,
            transcripts: Vec::new(),
            frames: Vec::new(),
        };
        headless.workers.read(LibraryJob::Load);
        // One is for the stores, one for the logs; both may come at once.
        let mut changed = 0;
        while changed < 2 {
            let is_changed = |event: &Event| matches!(event, Event::SearchSourcesChanged);
            changed += headless
                .next(|event| is_changed(event).then_some(()))?
                .len();
        }
        Ok(headless)
    }

    /// Presses a key, and waits until it is answered and nothing else is going on, as between
    /// the keys of a person.
    pub fn press(&mut self, key: KeyCode) -> io::Result<KeyTimes> {
        let start = Instant::now();
        let before = self.generation;
        let input = Input::Key(KeyEvent::new(key, KeyModifiers::NONE));
        self.frame(vec![Event::Input(vec![input])]);
        let (mut first, mut words, mut complete) = (None, None, None);
        let generation = self.generation;
        while generation != before && complete.is_none() {
            let answers = self.next(|event| match event {
                Event::Found {
                    generation: of,
                    found,
                } if *of == generation => Some((found.progress, found.rows.is_empty())),
                _ => None,
            })?;
            let now = start.elapsed();
            for (progress, is_empty) in answers {
                if !is_empty || progress == SearchState::Complete {
                    first.get_or_insert(now);
                }
                if progress != SearchState::Looking {
                    words.get_or_insert(now);
                }
                if progress == SearchState::Complete {
                    complete.get_or_insert(now);
                }
            }
        }
        let now = start.elapsed();
        const PAUSE: Duration = Duration::from_millis(40);
        while let Ok(event) = self.inbox.recv_timeout(PAUSE) {
            self.frame(vec![event]);
        }
        Ok(KeyTimes {
            first: first.unwrap_or(now),
            words: words.unwrap_or(now),
            complete: complete.unwrap_or(now),
        })
    }

    /// Waits for events, handles all that there are, and draws; returns what `see` makes of them.
    fn next<T>(&mut self, see: impl Fn(&Event) -> Option<T>) -> io::Result<Vec<T>> {
        let first = self.inbox.recv().map_err(io::Error::other)?;
        let now = (self.clock)().time.as_millisecond();
        self.app.update(Event::Woke(now));
        let events: Vec<Event> = std::iter::once(first)
            .chain(self.inbox.try_iter())
            .collect();
        let seen = events.iter().filter_map(see).collect();
        self.frame(events);
        Ok(seen)
    }

    /// Handles events and draws.
    fn frame(&mut self, events: Vec<Event>) {
        let start = Instant::now();
        for event in events {
            self.take(event);
        }
        let Ok(_) = self.terminal.draw(|frame| self.app.draw(frame));
        self.frames.push(start.elapsed());
        for job in self.transcripts.drain(..) {
            self.workers.read_transcript(job);
        }
    }

    fn take(&mut self, event: Event) {
        for effect in self.app.update(event) {
            match effect {
                Effect::Transcript(job) => self.transcripts.push(job),
                // There is no terminal.
                Effect::Terminal(_) => {}
                effect => {
                    if let Effect::Search(job) = &effect {
                        self.generation = job.generation;
                    }
                    self.workers.start_job(effect);
                }
            }
        }
    }

    /// Returns the time of every frame since the last call, update and drawing together.
    pub fn take_frames(&mut self) -> Vec<Duration> {
        std::mem::take(&mut self.frames)
    }

    /// Returns the drawn screen as text.
    pub fn screen(&self) -> String {
        self.terminal.backend().to_string()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::core::log::LogLocations;
    use crate::core::memory::catalog::LogScope;
    use crate::core::memory::config::TimelineSettings;
    use crate::core::text::time::Moment;
    use crate::tui::NamedStore;

    fn open(home: &Path, stores: Vec<NamedStore>) -> HeadlessApp {
        let opened = HeadlessApp::open(HeadlessSetup {
            source: StoreSource::Named(stores),
            catalog: LogCatalog {
                locations: LogLocations::of_home(home),
                kept: None,
                cache: home.join("cache"),
                scope: LogScope::All,
                timeline: TimelineSettings::default(),
            },
            data: home,
            clock: || Moment {
                time: jiff::Timestamp::UNIX_EPOCH,
                today: jiff::civil::date(1970, 1, 1),
            },
            size: Size::new(100, 30),
        });
        opened.expect("the workers start")
    }

    #[test]
    fn a_key_is_answered_by_the_workers_of_the_program() {
        let home = tempfile::tempdir().expect("a directory");
        let folder = home.path().join(".claude/projects/-shop");
        fs::create_dir_all(&folder).expect("folders");
        let said = r#"{"type":"user","uuid":"u1","timestamp":"2026-01-02T03:04:05Z","cwd":"/shop","sessionId":"s1","message":{"role":"user","content":"rotate the certificate"}}"#;
        fs::write(folder.join("s1.jsonl"), format!("{said}\n")).expect("a log");
        let mut headless = open(home.path(), Vec::new());
        for letter in "/certi".chars() {
            let times = headless.press(KeyCode::Char(letter)).expect("answered");
            assert!(times.first <= times.complete && times.words <= times.complete);
        }
        let screen = headless.screen();
        assert!(screen.contains("rotate the certificate"), "{screen}");
        assert!(screen.contains("1 found"), "{screen}");
    }

    #[test]
    fn every_frame_is_measured_where_there_are_no_logs() {
        let home = tempfile::tempdir().expect("a directory");
        let root = home.path().join("store");
        fs::create_dir(&root).expect("a folder");
        fs::write(root.join("MEMORY.md"), "- [a](a.md) - what a is\n").expect("an index");
        fs::write(root.join("a.md"), "some words\n").expect("a memory");
        let named = NamedStore {
            name: "store".to_owned(),
            root,
            layout: None,
        };
        let mut headless = open(home.path(), vec![named]);
        headless.take_frames();
        headless.press(KeyCode::Char('G')).expect("answered");
        assert!(!headless.take_frames().is_empty());
        let screen = headless.screen();
        assert!(screen.contains("some words"), "{screen}");
    }
}
