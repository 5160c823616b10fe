//! The thread that reads keys and mouse events, one batch at a time.
//!
//! It reads only after the loop has handled the last batch, so that a program started by a key,
//! such as `$EDITOR`, gets every key typed from then on.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use ratatui::crossterm::event::{self, Event as Input, MouseEventKind};

use super::event::{Event, EventSender};

/// The loop's handle of the reader thread.
#[derive(Debug)]
pub(crate) struct InputReader {
    turns: Sender<()>,
    /// Whether a read was requested whose input has not arrived yet.
    reading: bool,
}

impl InputReader {
    /// Starts the thread, which waits for the first call of `allow_read`.
    pub(crate) fn start(events: EventSender) -> io::Result<Self> {
        let (turns, turn) = mpsc::channel();
        std::thread::Builder::new()
            .name("reader".to_owned())
            .spawn(move || {
                let read = AssertUnwindSafe(|| read(&turn, &events));
                if catch_unwind(read).is_err() {
                    // Without keys, the user could not leave the program.
                    events.send(Event::Terminated);
                }
            })?;
        Ok(Self {
            turns,
            reading: false,
        })
    }

    /// Requests a batch, unless one is already requested.
    pub(crate) fn allow_read(&mut self) {
        if !self.reading {
            self.reading = true;
            // A reader that has ended has sent `Event::Terminated`.
            let _ = self.turns.send(());
        }
    }

    /// Clears the request when its input arrives.
    pub(crate) fn note_event(&mut self, event: &Event) {
        if matches!(event, Event::Input(_)) {
            self.reading = false;
        }
    }
}

fn read(turn: &Receiver<()>, events: &EventSender) {
    while turn.recv().is_ok() {
        events.send(match batch() {
            Ok(inputs) => Event::Input(inputs),
            // A terminal that cannot be read is closed.
            Err(_) => Event::Terminated,
        });
    }
}

/// Reads one key, or all pending mouse movements.
fn batch() -> io::Result<Vec<Input>> {
    let mut inputs = vec![event::read()?];
    while inputs.last().is_some_and(can_be_batched) && event::poll(Duration::ZERO)? {
        inputs.push(event::read()?);
    }
    Ok(inputs)
}

fn can_be_batched(input: &Input) -> bool {
    match input {
        Input::Resize(..) => true,
        Input::Mouse(mouse) => matches!(
            mouse.kind,
            MouseEventKind::Moved
                | MouseEventKind::Drag(_)
                | MouseEventKind::ScrollDown
                | MouseEventKind::ScrollUp
        ),
        _ => false,
    }
}
