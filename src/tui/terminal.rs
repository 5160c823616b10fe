//! The terminal: raw mode and alternate screen, signals, clipboard and background.

use std::fs::File;
use std::io::{self, IsTerminal as _, Write, stdout};
use std::panic::{self, PanicHookInfo};
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{
    DisableBracketedPaste, DisableFocusChange, DisableMouseCapture, EnableBracketedPaste,
    EnableFocusChange, EnableMouseCapture,
};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::layout::Size;
use signal_hook::consts::{SIGCONT, SIGHUP, SIGTERM, SIGTSTP};
use signal_hook::iterator::Signals;

use super::app::App;
use super::event::Event;
use super::theme::Background;
use crate::core::log::Resume;

/// The terminal in raw mode on the alternate screen; dropping it restores the terminal.
pub(crate) struct Screen {
    terminal: Terminal<CrosstermBackend<Box<dyn Write>>>,
}

impl Screen {
    /// Opens the screen, and installs a panic hook that restores the terminal. A panic of
    /// another thread is passed to `report`.
    pub(crate) fn open(
        report: impl Fn(&PanicHookInfo<'_>) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        restore_on_panic(report);
        let device = device()?;
        take()?;
        let terminal = Terminal::new(CrosstermBackend::new(device)).inspect_err(|_| {
            // The first error is returned; a second one would not help.
            drop(give_back());
        })?;
        Ok(Self { terminal })
    }

    /// Returns the size in cells.
    pub(crate) fn size(&self) -> io::Result<Size> {
        self.terminal.size()
    }

    pub(crate) fn draw(&mut self, app: &App) -> io::Result<()> {
        self.terminal.draw(|frame| app.view(frame)).map(drop)
    }

    /// Restores the terminal for another program.
    pub(crate) fn leave(&mut self) -> io::Result<()> {
        give_back()
    }

    /// Takes the terminal again and redraws everything in the next frame.
    pub(crate) fn enter(&mut self) -> io::Result<()> {
        take()?;
        self.terminal.clear()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // A failure cannot be reported here.
        drop(give_back());
    }
}

/// Returns the output to draw on: standard output, or `/dev/tty` if that is redirected.
fn device() -> io::Result<Box<dyn Write>> {
    if stdout().is_terminal() {
        return Ok(Box::new(stdout()));
    }
    let terminal = File::options().write(true).open("/dev/tty");
    let terminal = terminal.map_err(|e| io::Error::new(e.kind(), format!("no terminal: {e}")))?;
    Ok(Box::new(terminal))
}

fn take() -> io::Result<()> {
    enable_raw_mode()?;
    execute!(
        device()?,
        EnterAlternateScreen,
        EnableMouseCapture,
        EnableBracketedPaste,
        EnableFocusChange
    )
}

fn give_back() -> io::Result<()> {
    let written = execute!(
        device()?,
        DisableFocusChange,
        DisableBracketedPaste,
        DisableMouseCapture,
        LeaveAlternateScreen,
        Show
    );
    disable_raw_mode().and(written)
}

/// Restores the terminal before a panic of this thread is printed. Panics of other threads are
/// passed to `report`.
fn restore_on_panic(report: impl Fn(&PanicHookInfo<'_>) + Send + Sync + 'static) {
    let ours = thread::current().id();
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if thread::current().id() == ours {
            // The panic matters more than a failure to restore.
            drop(give_back());
            before(info);
        } else {
            report(info);
        }
    }));
}

/// Turns signals into events.
pub(crate) fn listen(events: Sender<Event>) -> io::Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGHUP, SIGTSTP, SIGCONT])?;
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            for signal in signals.forever() {
                let event = match signal {
                    SIGTSTP => Event::Stopped,
                    SIGCONT => Event::Resumed,
                    _ => Event::Terminated,
                };
                if events.send(event).is_err() {
                    return;
                }
            }
        })
        .map(drop)
}

/// Suspends the process until SIGCONT.
pub(crate) fn stop() -> io::Result<()> {
    signal_hook::low_level::emulate_default_handler(SIGTSTP)
}

/// Copies a text to the clipboard through the terminal (OSC 52). Whether the terminal does it is
/// not known.
pub(crate) fn copy(text: &str) -> io::Result<()> {
    let mut out = device()?;
    write!(out, "\u{1b}]52;c;{}\u{7}", BASE64_STANDARD.encode(text))?;
    out.flush()
}

/// Runs an editor command, which may have arguments, on a file.
pub(crate) fn edit(command: &str, file: &Path) -> io::Result<ExitStatus> {
    Command::new("sh")
        .arg("-c")
        .arg(format!("{command} \"$1\""))
        .arg("sh")
        .arg(file)
        .status()
}

/// Runs an agent that goes on with a session, in its directory; returns why it failed, if it did.
pub(crate) fn resume(resume: &Resume) -> Option<String> {
    let program = resume.program;
    if let Some(cwd) = resume.cwd.as_ref().filter(|cwd| !cwd.is_dir()) {
        let cwd = cwd.display();
        return Some(format!("its directory is not there any more: {cwd}"));
    }
    let mut command = Command::new(program);
    command.args(&resume.args);
    if let Some(cwd) = &resume.cwd {
        command.current_dir(cwd);
    }
    match command.status() {
        Ok(status) if status.success() => None,
        Ok(status) => Some(format!("{program}: {status}")),
        Err(error) => Some(format!("{program}: {error}; is it installed?")),
    }
}

/// How long to wait for the terminal to report its background.
const ANSWER_LIMIT: Duration = Duration::from_millis(200);

/// Queries the terminal for its background (OSC 11). A second query (DA1), which every terminal
/// answers, avoids the wait on terminals that do not support the first.
pub fn background() -> Option<Background> {
    if !io::stdin().is_terminal() {
        return None;
    }
    enable_raw_mode().ok()?;
    let answer = ask();
    drop(disable_raw_mode());
    light_or_dark(&answer?)
}

fn ask() -> Option<String> {
    let mut out = device().ok()?;
    write!(out, "\u{1b}]11;?\u{7}\u{1b}[c").ok()?;
    out.flush().ok()?;
    let stdin = io::stdin();
    let mut answer = Vec::new();
    let until = Instant::now() + ANSWER_LIMIT;
    loop {
        let left = until.checked_duration_since(Instant::now())?;
        let left = rustix::event::Timespec::try_from(left).ok()?;
        let mut waiting = [rustix::event::PollFd::new(
            &stdin,
            rustix::event::PollFlags::IN,
        )];
        if rustix::event::poll(&mut waiting, Some(&left)).ok()? == 0 {
            return None;
        }
        let mut bytes = [0; 256];
        let read = rustix::io::read(&stdin, &mut bytes).ok()?;
        answer.extend_from_slice(bytes.get(..read)?);
        let text = String::from_utf8_lossy(&answer);
        if read == 0 || text.contains("\u{1b}[?") && text.ends_with('c') {
            return Some(text.into_owned());
        }
    }
}

/// Parses `rgb:RRRR/GGGG/BBBB` in the answer.
fn light_or_dark(answer: &str) -> Option<Background> {
    let rgb = answer.split("rgb:").nth(1)?;
    let mut parts = rgb.split(|c: char| !c.is_ascii_hexdigit());
    let mut part = || {
        let digits = parts.next()?.get(..2)?;
        u32::from_str_radix(digits, 16).ok()
    };
    let (red, green, blue) = (part()?, part()?, part()?);
    let brightness = (299 * red + 587 * green + 114 * blue) / 1000;
    Some(if brightness > 127 {
        Background::Light
    } else {
        Background::Dark
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_says_how_bright_it_is() {
        let answer = "\u{1b}]11;rgb:ffff/fafa/f0f0\u{7}\u{1b}[?62;c";
        assert_eq!(light_or_dark(answer), Some(Background::Light));
        let answer = "\u{1b}]11;rgb:1c1c/1f1f/2828\u{1b}\\\u{1b}[?62;c";
        assert_eq!(light_or_dark(answer), Some(Background::Dark));
        assert_eq!(light_or_dark("\u{1b}[?62;c"), None);
    }
}
