//! The main loop of the terminal UI.

use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use ratatui::crossterm::event::Event as Input;

use super::app::App;
use super::effect::{Effect, LibraryJob, TerminalJob, TranscriptJob};
use super::event::{Event, EventSender};
use super::keymap::Keymap;
use super::reader::InputReader;
use super::terminal::{self, Screen};
use super::worker::{WorkerContext, Workers};
use super::{ClipboardCommand, Clock, Exit, Failure, Setup, StoreSource, clipboard, panics};
use crate::core::disk::allocator::share_pools;
use crate::core::disk::fault::FaultLog;
use crate::core::memory::unsaved::EditorCopy;
use crate::tui::model::UserContext;

/// How long a toast is visible.
const TOAST: Duration = Duration::from_secs(6);

/// Runs the terminal UI until the user leaves it; returns why.
pub fn run(setup: Setup) -> Result<Exit, Failure> {
    share_pools();
    let (events, inbox) = EventSender::new();
    let mut keymap = Keymap::new();
    let mut warnings = setup.warnings;
    if let Some((path, text)) = &setup.keymap {
        warnings.extend(keymap.read(path, text));
    }
    let scope = match &setup.source {
        StoreSource::Discover { scope, .. } => Some(*scope),
        StoreSource::Named(_) => None,
    };
    let agents = setup.contexts.agents();
    let outside = WorkerContext {
        source: setup.source,
        contexts: setup.contexts,
        catalog: setup.catalog,
        curate: setup.curate,
        history: setup.history,
        unsaved: &setup.unsaved,
        author: setup.author,
        clock: setup.clock,
        zone: setup.zone.clone(),
        // A pick does not need the offers of unsaved texts.
        offers: setup.pick.is_none(),
    };
    let workers = Workers::start(outside, &events)?;
    let faults = FaultLog::new(&setup.faults);
    let panicked = events.clone();
    // The receiver is gone when the program is about to end.
    let report_panic = move |report| panicked.send(Event::Panicked(report));
    let screen = Screen::open(panics::reporter(faults, setup.clock, report_panic))?;
    terminal::listen(events.clone())?;
    let given = UserContext {
        title: setup.title,
        zone: setup.zone,
        editor_keys: setup.editor_keys,
        scope,
        agents,
        searched_places: setup.searched_places,
    };
    let mut running = Loop {
        app: App::new(setup.theme, keymap, given),
        screen,
        reader: InputReader::start(events.clone())?,
        events,
        workers,
        clock: setup.clock,
        editor_copies: setup.unsaved,
        editor: setup.editor,
        clipboard: setup.clipboard,
        transcripts: Vec::new(),
        toast: None,
        panics: setup.panics,
    };
    if let Some(pick) = setup.pick {
        running.app.start_pick(pick);
    }
    running.app.warn(&warnings);
    let ended = running.run(&inbox, terminal::typed_keys(&setup.typed));
    // Restore the terminal before the last texts are kept, so that the user does not wait.
    drop(running.screen);
    let is_written = running.workers.finish();
    let left = ended?;
    match unwritten(&inbox, is_written) {
        Some(why) => Err(Failure::Unwritten(why)),
        None => Ok(left),
    }
}

/// Returns why a change requested just before the exit was not made, if one was not.
fn unwritten(inbox: &Receiver<Event>, is_written: bool) -> Option<String> {
    let refused = inbox.try_iter().find_map(|event| match event {
        Event::Committed { result, .. } => result.err().map(|error| error.to_string()),
        _ => None,
    });
    let waiting = "another process is changing the store".to_owned();
    refused.or_else(|| (!is_written).then_some(waiting))
}

struct Loop {
    app: App,
    screen: Screen,
    reader: InputReader,
    events: EventSender,
    workers: Workers,
    clock: Clock,
    editor_copies: PathBuf,
    editor: Option<String>,
    clipboard: Vec<ClipboardCommand>,
    /// Transcripts to read after the next frame, which would be delayed by that.
    transcripts: Vec<TranscriptJob>,
    /// The number of the visible toast, and when it expires.
    toast: Option<(u64, Instant)>,
    panics: bool,
}

impl Loop {
    /// Runs until the user leaves.
    fn run(&mut self, inbox: &Receiver<Event>, typed: Vec<Input>) -> io::Result<Exit> {
        self.app.update(Event::Woke(self.now()));
        self.app.resize(self.screen.size()?);
        self.screen.draw(&mut self.app)?;
        assert!(!self.panics, "a panic was asked for");
        self.workers.read(LibraryJob::Load);
        if let Some(left) = self.take(Event::Input(typed))? {
            return Ok(left);
        }
        self.draw()?;
        loop {
            self.reader.allow_read();
            let Some(first) = self.next(inbox) else {
                return Ok(Exit::Done);
            };
            self.app.update(Event::Woke(self.now()));
            for event in std::iter::once(first).chain(inbox.try_iter()) {
                self.reader.note_event(&event);
                if matches!(event, Event::Resumed) {
                    self.screen.enter()?;
                }
                if let Some(left) = self.take(event)? {
                    return Ok(left);
                }
            }
            self.draw()?;
        }
    }

    fn draw(&mut self) -> io::Result<()> {
        self.screen.draw(&mut self.app)?;
        for job in self.transcripts.drain(..) {
            self.workers.read_transcript(job);
        }
        Ok(())
    }

    fn now(&self) -> i64 {
        (self.clock)().time.as_millisecond()
    }

    /// Waits for the next event; `None` when all senders are gone.
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
            Err(RecvTimeoutError::Timeout) => Some(Event::ToastExpired),
            Err(RecvTimeoutError::Disconnected) => None,
        }
    }

    /// Passes an event to the app and carries out its effects; returns why the UI ends, if it does.
    fn take(&mut self, event: Event) -> io::Result<Option<Exit>> {
        for effect in self.app.update(event) {
            if let Some(left) = self.perform(effect)? {
                return Ok(Some(left));
            }
        }
        Ok(None)
    }

    fn perform(&mut self, effect: Effect) -> io::Result<Option<Exit>> {
        match effect {
            Effect::Transcript(job) => self.transcripts.push(job),
            Effect::Terminal(job) => return self.perform_here(job),
            effect => self.workers.start_job(effect),
        }
        Ok(None)
    }

    fn perform_here(&mut self, job: TerminalJob) -> io::Result<Option<Exit>> {
        match job {
            TerminalJob::Leave(left) => return Ok(Some(left)),
            TerminalJob::Copy(text) if !self.clipboard.is_empty() => {
                clipboard::copy(self.clipboard.clone(), text, self.events.clone())?;
            }
            TerminalJob::Copy(text) | TerminalJob::CopyByTerminal(text) => {
                clipboard::copy_by_terminal(&text)?;
                let by = "the terminal (OSC 52)".to_owned();
                return self.take(Event::Copied { text, by });
            }
            TerminalJob::Resume(resume) => {
                self.screen.leave()?;
                let trouble = terminal::resume(&resume);
                self.screen.enter()?;
                let program = resume.program.to_owned();
                return self.take(Event::ResumeEnded { program, trouble });
            }
            TerminalJob::Repaint => self.screen.repaint()?,
            TerminalJob::Suspend => {
                self.screen.leave()?;
                terminal::stop()?;
                self.screen.enter()?;
            }
            TerminalJob::EditOutside(subject) => {
                let (written, trouble) = self.edit_outside(&subject.path, &subject.text)?;
                return self.take(Event::EditedOutside {
                    subject,
                    written,
                    trouble,
                });
            }
        }
        Ok(None)
    }

    /// Edits a text in `$EDITOR`. The input reader does not read meanwhile, so every key goes to
    /// that program. Returns what it wrote, and why it failed, if it did.
    fn edit_outside(
        &mut self,
        name: &str,
        text: &str,
    ) -> io::Result<(Option<String>, Option<String>)> {
        let Some(editor) = &self.editor else {
            let trouble = "set EDITOR or VISUAL to your editor's command";
            return Ok((None, Some(trouble.to_owned())));
        };
        let copy = match EditorCopy::create(&self.editor_copies, name, text) {
            Ok(copy) => copy,
            Err(error) => return Ok((None, Some(error.to_string()))),
        };
        self.screen.leave()?;
        let ended = terminal::edit(editor, copy.path());
        self.screen.enter()?;
        let trouble = match ended {
            Ok(status) if status.success() => None,
            Ok(status) => Some(format!("{editor}: {status}")),
            Err(error) => Some(format!("{editor}: {error}")),
        };
        Ok(match copy.text() {
            Ok(written) => (Some(written), trouble),
            Err(error) => {
                let kept = copy.keep();
                let trouble = format!("{error}; the file is kept: {}", kept.display());
                (None, Some(trouble))
            }
        })
    }
}
