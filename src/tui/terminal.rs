//! The terminal: raw mode and alternate screen, signals, clipboard and background.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, IsTerminal as _, Write, stdout};
use std::panic::{self, PanicHookInfo};
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use ratatui::Terminal;
use ratatui::backend::{Backend as _, ClearType, CrosstermBackend};
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{
    DisableBracketedPaste, DisableFocusChange, DisableMouseCapture, EnableBracketedPaste,
    EnableFocusChange, EnableMouseCapture, Event as Input, KeyCode, KeyEvent, KeyModifiers,
};
use ratatui::crossterm::terminal::{
    BeginSynchronizedUpdate, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
    disable_raw_mode, enable_raw_mode,
};
use ratatui::crossterm::{execute, queue};
use ratatui::layout::Size;
use signal_hook::consts::{SIGCONT, SIGHUP, SIGTERM, SIGTSTP};
use signal_hook::iterator::Signals;

use super::app::App;
use super::event::{Event, EventSender};
use super::panics::{Drawing, drawing};
use super::theme::Background;
use crate::core::disk::fault::is_panic_expected;
use crate::core::log::Resume;

/// The terminal in raw mode on the alternate screen; dropping it restores the terminal.
pub(crate) struct Screen {
    terminal: Terminal<CrosstermBackend<NextFrame>>,
    next: NextFrame,
    device: Box<dyn Write>,
}

/// The output of the next frame. Flushing does nothing: ratatui flushes in the middle of a frame,
/// and half a frame would be seen. `Screen::draw` sends it as a whole.
#[derive(Clone, Default)]
struct NextFrame(Rc<RefCell<Vec<u8>>>);

impl Write for NextFrame {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl NextFrame {
    /// Sends the frame to a terminal, which shows it when all of it has arrived.
    fn send(&self, device: &mut dyn Write) -> io::Result<()> {
        let frame = self.0.take();
        if frame.is_empty() {
            return Ok(());
        }
        let mut whole = Vec::new();
        queue!(whole, BeginSynchronizedUpdate)?;
        whole.extend_from_slice(&frame);
        queue!(whole, EndSynchronizedUpdate)?;
        device.write_all(&whole)?;
        device.flush()
    }
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
        let next = NextFrame::default();
        let terminal = Terminal::new(CrosstermBackend::new(next.clone())).inspect_err(|_| {
            // The first error is returned; a second one would not help.
            drop(give_back());
        })?;
        Ok(Self {
            terminal,
            next,
            device,
        })
    }

    /// Returns the size in cells.
    pub(crate) fn size(&self) -> io::Result<Size> {
        self.terminal.size()
    }

    pub(crate) fn draw(&mut self, app: &mut App) -> io::Result<()> {
        self.terminal.draw(|frame| app.draw(frame))?;
        self.next.send(&mut *self.device)
    }

    /// Draws everything again in the next frame, also what something else drew over.
    ///
    /// `Terminal::clear` would ask the terminal for its cursor, and fail if the answer comes late.
    pub(crate) fn repaint(&mut self) -> io::Result<()> {
        self.terminal.backend_mut().clear_region(ClearType::All)?;
        // So that the next frame is compared with an empty one.
        self.terminal.swap_buffers();
        Ok(())
    }

    /// Restores the terminal for another program.
    pub(crate) fn leave(&mut self) -> io::Result<()> {
        give_back()
    }

    /// Takes the terminal again and redraws everything in the next frame.
    pub(crate) fn enter(&mut self) -> io::Result<()> {
        take()?;
        self.repaint()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // A failure cannot be reported here.
        drop(give_back());
    }
}

/// Returns the output to draw on: standard output, or `/dev/tty` if that is redirected.
pub(super) fn device() -> io::Result<Box<dyn Write>> {
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

/// Restores the terminal before a panic of this thread is printed. Panics of other threads, and
/// while a frame is drawn, are passed to `report`.
fn restore_on_panic(report: impl Fn(&PanicHookInfo<'_>) + Send + Sync + 'static) {
    let ours = thread::current().id();
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if is_panic_expected() {
            return;
        }
        let is_ours = thread::current().id() == ours;
        if is_ours && drawing() == Drawing::Again {
            return;
        }
        if is_ours && drawing() == Drawing::No {
            // The panic matters more than a failure to restore.
            drop(give_back());
            before(info);
        } else {
            report(info);
        }
    }));
}

/// Turns signals into events.
pub(crate) fn listen(events: EventSender) -> io::Result<()> {
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
                events.send(event);
            }
        })
        .map(drop)
}

/// Suspends the process until SIGCONT.
pub(crate) fn stop() -> io::Result<()> {
    signal_hook::low_level::emulate_default_handler(SIGTSTP)
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
///
/// What was typed meanwhile is returned, too: it is input, not part of the reply.
pub fn background() -> (Option<Background>, Vec<u8>) {
    if !io::stdin().is_terminal() || enable_raw_mode().is_err() {
        return (None, Vec::new());
    }
    let mut answer = Vec::new();
    let is_answered = ask(&mut answer).is_some();
    drop(disable_raw_mode());
    let text = String::from_utf8_lossy(&answer);
    let background = light_or_dark(&text).filter(|_| is_answered);
    (background, typed(&answer))
}

/// Returns the bytes that are not part of a terminal's replies.
fn typed(answer: &[u8]) -> Vec<u8> {
    let replies =
        regex::bytes::Regex::new(r"(?-u)\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[\?[0-9;]*c");
    match replies {
        Ok(replies) => replies.replace_all(answer, &b""[..]).into_owned(),
        Err(_) => Vec::new(),
    }
}

/// Returns typed bytes as keys. Sequences of rarely used keys are left out.
pub(crate) fn typed_keys(bytes: &[u8]) -> Vec<Input> {
    let text = String::from_utf8_lossy(bytes);
    let mut rest = text.as_ref();
    let mut keys = Vec::new();
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        let code = match c {
            '\u{1b}' if rest.starts_with(['[', 'O']) => {
                let end = rest[1..].find(|c: char| c.is_ascii_alphabetic() || c == '~');
                let end = end.map_or(rest.len(), |end| end + 2);
                let (sequence, behind) = rest.split_at(end);
                rest = behind;
                match &sequence[1..] {
                    "A" => KeyCode::Up,
                    "B" => KeyCode::Down,
                    "C" => KeyCode::Right,
                    "D" => KeyCode::Left,
                    _ => continue,
                }
            }
            '\u{1b}' => KeyCode::Esc,
            '\r' | '\n' => KeyCode::Enter,
            '\t' => KeyCode::Tab,
            '\u{7f}' => KeyCode::Backspace,
            '\u{1}'..='\u{1a}' => {
                let letter = char::from(b'a' + c as u8 - 1);
                let key = KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL);
                keys.push(Input::Key(key));
                continue;
            }
            c if c.is_control() => continue,
            c => KeyCode::Char(c),
        };
        keys.push(Input::Key(KeyEvent::from(code)));
    }
    keys
}

fn ask(answer: &mut Vec<u8>) -> Option<()> {
    let mut out = device().ok()?;
    write!(out, "\u{1b}]11;?\u{7}\u{1b}[c").ok()?;
    out.flush().ok()?;
    let stdin = io::stdin();
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
        let text = String::from_utf8_lossy(answer);
        let reply = text.rsplit_once("\u{1b}[?");
        if read == 0 || reply.is_some_and(|(_, reply)| reply.contains('c')) {
            return Some(());
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
    fn what_is_typed_before_the_first_frame_is_kept() {
        let answer = b"/re\x1b]11;rgb:1c1c/1f1f/2828\x1b\\f\x1b[?62;cr\x1b[A\r\x03";
        let left = typed(answer);
        assert_eq!(left, b"/refr\x1b[A\r\x03");
        let keys = typed_keys(&left);
        let codes: Vec<KeyCode> = keys
            .iter()
            .filter_map(|key| key.as_key_event().map(|key| key.code))
            .collect();
        let typed = "/refr".chars().map(KeyCode::Char);
        let others = [KeyCode::Up, KeyCode::Enter, KeyCode::Char('c')];
        assert_eq!(codes, typed.chain(others).collect::<Vec<_>>());
    }

    #[test]
    fn a_frame_is_sent_once_and_whole() {
        let mut next = NextFrame::default();
        let mut device = Vec::new();
        next.send(&mut device).expect("sent");
        assert!(device.is_empty());
        for half in ["one ", "frame"] {
            write!(next, "{half}").expect("kept");
            next.flush().expect("kept");
        }
        next.send(&mut device).expect("sent");
        next.send(&mut device).expect("sent");
        assert_eq!(device, b"\x1b[?2026hone frame\x1b[?2026l");
    }

    #[test]
    fn a_terminal_says_how_bright_it_is() {
        let answer = "\u{1b}]11;rgb:ffff/fafa/f0f0\u{7}\u{1b}[?62;c";
        assert_eq!(light_or_dark(answer), Some(Background::Light));
        let answer = "\u{1b}]11;rgb:1c1c/1f1f/2828\u{1b}\\\u{1b}[?62;c";
        assert_eq!(light_or_dark(answer), Some(Background::Dark));
        assert_eq!(light_or_dark("\u{1b}[?62;c"), None);
    }
}
