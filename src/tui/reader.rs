//! The thread that reads keys and mouse, one turn at a time.
//!
//! It reads only after the loop is done with what it read last: a program that a key
//! starts, such as `$EDITOR`, gets every key that is typed from then on.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use ratatui::crossterm::event::{self, Event as Input, MouseEventKind};

use super::event::Event;

/// The reader as the loop sees it.
#[derive(Debug)]
pub(crate) struct InputReader {
    turns: Sender<()>,
    /// Whether a turn was given that nothing came of yet.
    reading: bool,
}

impl InputReader {
    /// Starts the thread; it waits for its first turn.
    pub(crate) fn start(events: Sender<Event>) -> io::Result<Self> {
        let (turns, turn) = mpsc::channel();
        std::thread::Builder::new()
            .name("reader".to_owned())
            .spawn(move || {
                let read = AssertUnwindSafe(|| read(&turn, &events));
                if catch_unwind(read).is_err() {
                    // Nobody could leave a program that hears no key.
                    drop(events.send(Event::Terminated));
                }
            })?;
        Ok(Self {
            turns,
            reading: false,
        })
    }

    /// Lets it read, unless it is about to.
    pub(crate) fn allow_read(&mut self) {
        if !self.reading {
            self.reading = true;
            // A reader that is gone has told why.
            let _ = self.turns.send(());
        }
    }

    /// Notes whether an event is what its turn came to.
    pub(crate) fn note_event(&mut self, event: &Event) {
        if matches!(event, Event::Input(_)) {
            self.reading = false;
        }
    }
}

fn read(turn: &Receiver<()>, events: &Sender<Event>) {
    while turn.recv().is_ok() {
        let event = match batch() {
            Ok(inputs) => Event::Input(inputs),
            // A terminal that cannot be read is gone.
            Err(_) => Event::Terminated,
        };
        if events.send(event).is_err() {
            return;
        }
    }
}

/// One key, or the movements that have piled up.
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
