//! The app without a terminal, for benchmarks: it takes keys and measures the time of every
//! frame. Work of the workers runs between the frames and is not measured.

mod finder;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::tz::TimeZone;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{Event as Input, KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::Size;

use super::app::App;
use super::effect::{Effect, LibraryJob, Target};
use super::event::Event;
use super::keymap::Keymap;
use super::theme::Theme;
use crate::core::memory::config::EditorKeys;
use crate::core::memory::discover::{Discovered, FoundStore};
use crate::core::memory::library::Library;
use crate::core::memory::store::Store;
use crate::core::{Error, Result};
use crate::tui::model::UserContext;

pub use finder::{HeadlessFinder, KeyTimes};

/// An app with one store and no terminal.
#[derive(Debug)]
pub struct HeadlessApp {
    app: App,
    library: Arc<Library>,
    terminal: Terminal<TestBackend>,
    frames: Vec<Duration>,
}

impl HeadlessApp {
    /// Opens the store at `root` on a screen of this size.
    pub fn open(root: &Path, (width, height): (u16, u16)) -> Result<Self> {
        let found = FoundStore {
            store: Store::open("store", root, None)?,
            why: "measured".to_owned(),
        };
        let library = Arc::new(Library::load(Discovered {
            stores: vec![found],
            ..Discovered::default()
        }));
        let mut app = measured_app();
        app.resize(Size::new(width, height));
        let terminal = Terminal::new(TestBackend::new(width, height));
        let Ok(terminal) = terminal;
        let mut stage = Self {
            app,
            library: Arc::clone(&library),
            terminal,
            frames: Vec::new(),
        };
        stage.send(Event::Indexed(library))?;
        Ok(stage)
    }

    /// Presses a key and draws the next frame.
    pub fn press(&mut self, key: KeyCode, modifiers: KeyModifiers) -> Result<()> {
        let input = Input::Key(KeyEvent::new(key, modifiers));
        self.send(Event::Input(vec![input]))
    }

    /// Returns the time of every frame since the last call, update and drawing together.
    pub fn take_frames(&mut self) -> Vec<Duration> {
        std::mem::take(&mut self.frames)
    }

    fn send(&mut self, event: Event) -> Result<()> {
        let start = Instant::now();
        let effects = self.app.update(event);
        let drawn = self.terminal.draw(|frame| self.app.view(frame));
        let Ok(_) = drawn;
        self.frames.push(start.elapsed());
        for effect in effects {
            if let Effect::Library(LibraryJob::Read {
                generation, target, ..
            }) = effect
            {
                let result = self.read(&target);
                self.send(Event::Read {
                    generation,
                    target,
                    result,
                })?;
            }
        }
        Ok(())
    }

    fn read(&self, target: &Target) -> Result<crate::core::memory::store::Document> {
        match target {
            Target::File { store, path } => {
                let snapshot = self.library.store_by_id(store);
                let missing = || Error::not_found(store.root().display().to_string());
                let snapshot = snapshot.ok_or_else(missing)?;
                snapshot.store.read(path)
            }
            Target::Context { store } => Err(Error::not_found(store.root().display().to_string())),
        }
    }
}

fn measured_app() -> App {
    let user = UserContext {
        title: "measured".to_owned(),
        zone: TimeZone::UTC,
        editor_keys: EditorKeys::Readline,
        scope: Some(crate::core::memory::discover::DiscoveryScope::Project),
        agents: Vec::new(),
    };
    App::new(Theme::default(), Keymap::new(), user)
}
