//! The finder without a terminal, for benchmarks: the program's own workers search logs, and the
//! time from a key to the frame with its results is measured.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use jiff::tz::TimeZone;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{Event as Input, KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::Size;

use super::measured_app;
use crate::core::change::Author;
use crate::core::change::history::History;
use crate::core::insight::context::{AgentContext, Draft, KnownAgent};
use crate::core::log::Agent;
use crate::core::memory::config::CurateSettings;
use crate::core::memory::discover::Environment;
use crate::core::search::catalog::LogCatalog;
use crate::core::search::find::SearchState;
use crate::core::{Error, Result};
use crate::tui::app::App;
use crate::tui::effect::{Effect, LibraryJob, TranscriptJob};
use crate::tui::event::Event;
use crate::tui::worker::{WorkerContext, Workers};
use crate::tui::{Clock, ContextSource, CurateSetup, StoreSource};

/// The finder shows no contexts of agents.
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

/// The finder over logs, with its workers and without a terminal.
pub struct HeadlessFinder {
    app: App,
    terminal: Terminal<TestBackend>,
    workers: Workers,
    inbox: Receiver<Event>,
    clock: Clock,
    /// The generation of the newest search.
    generation: u64,
    /// Transcripts to read after the next frame.
    transcripts: Vec<TranscriptJob>,
}

impl std::fmt::Debug for HeadlessFinder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HeadlessFinder").finish_non_exhaustive()
    }
}

impl HeadlessFinder {
    /// Opens the finder on the logs of a catalog, and waits until they are read. `data` is a
    /// directory for the program's own files.
    pub fn open(
        catalog: LogCatalog,
        data: &Path,
        clock: Clock,
        (width, height): (u16, u16),
    ) -> io::Result<Self> {
        let (events, inbox) = mpsc::channel();
        let outside = WorkerContext {
            source: StoreSource::Named(Vec::new()),
            contexts: Box::new(NoContexts),
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
                environment: Environment {
                    cwd: data.to_owned(),
                    home: data.to_owned(),
                    claude: data.to_owned(),
                    claude_project: None,
                    codex: data.to_owned(),
                    gemini: data.to_owned(),
                    data: data.to_owned(),
                },
                project: None,
                git: PathBuf::from("git"),
                settings: CurateSettings::default(),
                cache: None,
            },
        };
        let workers = Workers::start(outside, &events)?;
        let mut app = measured_app();
        app.resize(Size::new(width, height));
        let Ok(terminal) = Terminal::new(TestBackend::new(width, height));
        let mut finder = Self {
            app,
            terminal,
            workers,
            inbox,
            clock,
            generation: 0,
            transcripts: Vec::new(),
        };
        finder.workers.read(LibraryJob::Load);
        // One is for the stores, one for the logs; both may come at once.
        let mut changed = 0;
        while changed < 2 {
            let is_changed = |event: &Event| matches!(event, Event::SearchSourcesChanged);
            changed += finder.next(|event| is_changed(event).then_some(()))?.len();
        }
        finder.press(KeyCode::Char('/'))?;
        Ok(finder)
    }

    /// Presses a key, and waits until it is answered and nothing else is going on, as between
    /// the keys of a person.
    pub fn press(&mut self, key: KeyCode) -> io::Result<KeyTimes> {
        let start = Instant::now();
        let before = self.generation;
        let input = Input::Key(KeyEvent::new(key, KeyModifiers::NONE));
        self.take(Event::Input(vec![input]));
        self.draw();
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
            self.take(event);
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
        let mut seen = Vec::new();
        for event in events {
            seen.extend(see(&event));
            self.take(event);
        }
        self.draw();
        Ok(seen)
    }

    fn take(&mut self, event: Event) {
        for effect in self.app.update(event) {
            match effect {
                Effect::Library(job) => self.workers.read(job),
                Effect::Write(job) => self.workers.write(job),
                Effect::Unsaved(job) => self.workers.keep(job),
                Effect::Logs(job) => self.workers.refresh_logs(job),
                Effect::Search(job) => {
                    self.generation = job.generation;
                    self.workers.search(job);
                }
                Effect::Transcript(job) => self.transcripts.push(job),
                Effect::Why(job) => self.workers.explain(job),
                Effect::Curate(job) => self.workers.curate(job),
                Effect::Timeline(job) => self.workers.ask_timeline(job),
                // There is no terminal.
                Effect::Terminal(_) => {}
            }
        }
    }

    fn draw(&mut self) {
        let Ok(_) = self.terminal.draw(|frame| self.app.view(frame));
        for job in self.transcripts.drain(..) {
            self.workers.read_transcript(job);
        }
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
    use crate::core::search::catalog::LogScope;
    use crate::core::text::time::Moment;

    #[test]
    fn a_key_is_answered_by_the_workers_of_the_program() {
        let home = tempfile::tempdir().expect("a directory");
        let folder = home.path().join(".claude/projects/-shop");
        fs::create_dir_all(&folder).expect("folders");
        let said = r#"{"type":"user","uuid":"u1","timestamp":"2026-01-02T03:04:05Z","cwd":"/shop","sessionId":"s1","message":{"role":"user","content":"rotate the certificate"}}"#;
        fs::write(folder.join("s1.jsonl"), format!("{said}\n")).expect("a log");
        let catalog = LogCatalog {
            locations: LogLocations::of_home(home.path()),
            kept: None,
            cache: home.path().join("cache"),
            scope: LogScope::All,
            timeline: crate::core::memory::config::TimelineSettings::default(),
        };
        let clock: Clock = || Moment {
            time: jiff::Timestamp::UNIX_EPOCH,
            today: jiff::civil::date(1970, 1, 1),
        };
        let mut finder = HeadlessFinder::open(catalog, home.path(), clock, (100, 30))
            .expect("the workers start");
        for letter in "certi".chars() {
            let times = finder.press(KeyCode::Char(letter)).expect("answered");
            assert!(times.first <= times.complete && times.words <= times.complete);
        }
        let screen = finder.screen();
        assert!(screen.contains("rotate the certificate"), "{screen}");
        assert!(screen.contains("1 found"), "{screen}");
    }
}
