//! The system's clipboard, through the programs that serve it or through the terminal.

use std::io::{self, Write as _};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::event::{Event, EventSender};
use super::terminal::device;
use crate::core::disk::process::wait_until;
use crate::core::text::file_name;

/// How long a program may take. One that cannot reach its display may wait for ever.
const LIMIT: Duration = Duration::from_secs(2);

/// A program that copies its input to the clipboard, with its arguments.
pub type ClipboardCommand = Vec<String>;

/// Copies a text through the first of `commands` that succeeds, on a thread of its own, and sends
/// [`Event::Copied`] or [`Event::NotCopied`].
pub(crate) fn copy(
    commands: Vec<ClipboardCommand>,
    text: String,
    events: EventSender,
) -> io::Result<()> {
    let copy = move || {
        let by = commands.iter().find_map(|command| {
            let (program, args) = command.split_first()?;
            run(program, args, &text).ok()?;
            Some(file_name(program).to_owned())
        });
        let event = match by {
            Some(by) => Event::Copied { text, by },
            None => Event::NotCopied(text),
        };
        events.send(event);
    };
    let named = thread::Builder::new().name("clipboard".to_owned());
    named.spawn(copy).map(drop)
}

/// Copies a text through the terminal (OSC 52). Whether the terminal does it is not known.
pub(crate) fn copy_by_terminal(text: &str) -> io::Result<()> {
    let mut out = device()?;
    write!(out, "\u{1b}]52;c;{}\u{7}", BASE64_STANDARD.encode(text))?;
    out.flush()
}

/// Runs a program with `text` as its input and waits for it.
fn run(program: &str, args: &[String], text: &str) -> io::Result<()> {
    let mut child = Command::new(program)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let (until, text) = (Instant::now() + LIMIT, text.to_owned());
    if let Some(mut input) = child.stdin.take() {
        // A program that does not read fails when it is ended.
        thread::spawn(move || drop(input.write_all(text.as_bytes())));
    }
    match wait_until(&mut child, until)? {
        Some(status) if status.success() => Ok(()),
        _ => Err(io::Error::other(format!("{program} failed"))),
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn the_first_program_that_works_is_told_and_none_is_told_too() {
        let command = |words: &[&str]| -> ClipboardCommand {
            words.iter().map(|word| (*word).to_owned()).collect()
        };
        let missing = command(&["a-program-that-nobody-has"]);
        let failing = command(&["false"]);
        let working = command(&["cat"]);
        let result = |commands: Vec<ClipboardCommand>| {
            let (events, told) = EventSender::new();
            copy(commands, "text".to_owned(), events).expect("starts");
            told.recv().expect("told")
        };
        let copied = result(vec![missing.clone(), failing.clone(), working]);
        assert!(
            matches!(&copied, Event::Copied { text, by } if text == "text" && by == "cat"),
            "{copied:?}"
        );
        let failed = result(vec![missing, failing]);
        assert!(
            matches!(&failed, Event::NotCopied(text) if text == "text"),
            "{failed:?}"
        );
    }
}
