//! Builds the program and runs it in a pseudo-terminal, on the unpacked sample.

use std::fs;
use std::io::{self, Read as _, Write};
use std::num::NonZeroU16;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

use tome::core::memory::demo::{Demo, unpack};
use tome::core::text::time::Moment;

use crate::Result;

/// The size of a terminal: columns and rows.
pub(crate) type Size = (u16, u16);

/// The timeout for anything, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// The time without output after which the screen counts as final.
const STILL: Duration = Duration::from_millis(400);

/// The running program with its input and output.
pub(crate) struct TerminalSession {
    child: Box<dyn Child + Send + Sync>,
    master: Box<dyn MasterPty + Send>,
    keys: Arc<Mutex<Box<dyn Write + Send>>>,
    seen: Arc<(Mutex<Output>, Condvar)>,
    /// The unpacked sample.
    demo: Demo,
}

/// The output so far.
struct Output {
    parser: vt100::Parser,
    last: Instant,
    ended: bool,
}

impl TerminalSession {
    /// Starts the program on the sample, in a terminal with this `COLORFGBG` and size.
    pub(crate) fn open(program: &Path, colours: &str, size: Size) -> Result<Self> {
        Self::prepare(program, colours, size, |_| Ok(()))
    }

    /// As [`TerminalSession::open`], after something was done with the sample.
    pub(crate) fn prepare(
        program: &Path,
        colours: &str,
        (columns, rows): Size,
        prepare: impl FnOnce(&Demo) -> Result<()>,
    ) -> Result<Self> {
        let demo = unpacked()?;
        prepare(&demo)?;
        let pty = native_pty_system().openpty(pty_size((columns, rows)))?;
        let mut command = CommandBuilder::new(program);
        command.cwd(&demo.project);
        command.env_clear();
        command.env("HOME", &demo.home);
        command.env("TERM", "xterm-256color");
        command.env("COLORTERM", "truecolor");
        command.env("COLORFGBG", colours);
        command.env("TZ", "UTC");
        let child = pty.slave.spawn_command(command)?;
        drop(pty.slave);
        let mut output = pty.master.try_clone_reader()?;
        let keys = Arc::new(Mutex::new(pty.master.take_writer()?));
        let seen = Arc::new((
            Mutex::new(Output {
                parser: vt100::Parser::new(cells(rows)?, cells(columns)?, 0),
                last: Instant::now(),
                ended: false,
            }),
            Condvar::new(),
        ));
        let (shared, answers) = (Arc::clone(&seen), Arc::clone(&keys));
        std::thread::spawn(move || {
            let mut bytes = [0; 8192];
            while let Ok(read @ 1..) = output.read(&mut bytes) {
                // A program that takes the terminal back asks where the cursor is.
                if bytes[..read].windows(4).any(|window| window == b"\x1b[6n") {
                    let mut keys = answers.lock().expect("nobody panics with it");
                    drop(keys.write_all(b"\x1b[1;1R"));
                }
                let mut seen = shared.0.lock().expect("nobody panics with it");
                seen.parser.process(&bytes[..read]);
                seen.last = Instant::now();
                shared.1.notify_all();
            }
            shared.0.lock().expect("nobody panics with it").ended = true;
            shared.1.notify_all();
        });
        Ok(Self {
            child,
            master: pty.master,
            keys,
            seen,
            demo,
        })
    }

    /// The unpacked sample.
    pub(crate) fn demo(&self) -> &Demo {
        &self.demo
    }

    /// Whether the program has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.seen.0.lock().expect("nobody panics with it").ended
    }

    /// The resident memory of the program in KB, where the system tells it.
    pub(crate) fn resident(&self) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.process_id()?));
        let status = status.ok()?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
        line.split_whitespace().nth(1)?.parse().ok()
    }

    /// Sends keys.
    pub(crate) fn send(&mut self, keys: &str) -> Result<()> {
        let mut writer = self.keys.lock().expect("nobody panics with it");
        writer.write_all(keys.as_bytes())?;
        Ok(writer.flush()?)
    }

    /// Gives the terminal another size.
    pub(crate) fn resize(&mut self, (columns, rows): Size) -> Result<()> {
        let mut seen = self.seen.0.lock().expect("nobody panics with it");
        let screen = seen.parser.screen_mut();
        screen.set_size(cells(rows)?, cells(columns)?);
        drop(seen);
        Ok(self.master.resize(pty_size((columns, rows)))?)
    }

    /// Sends keys, and waits for a text on the screen.
    pub(crate) fn press(&mut self, keys: &str, then: &str) -> Result<()> {
        self.send(keys)?;
        self.see(then)
    }

    /// Waits for a text on the screen.
    pub(crate) fn see(&self, text: &str) -> Result<()> {
        self.until(&format!("'{text}'"), |screen| screen.contains(text))
    }

    /// Waits until a text is no longer on the screen.
    pub(crate) fn gone(&self, text: &str) -> Result<()> {
        self.until(&format!("the end of '{text}'"), |screen| {
            !screen.contains(text)
        })
    }

    fn until(&self, what: &str, is: impl Fn(&str) -> bool) -> Result<()> {
        let until = Instant::now() + PATIENCE;
        let mut seen = self.seen.0.lock().expect("nobody panics with it");
        loop {
            let screen = seen.parser.screen().contents();
            if is(&screen) {
                return Ok(());
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || seen.ended {
                return Err(format!("never saw {what} on this screen:\n{screen}").into());
            }
            let waited = self.seen.1.wait_timeout(seen, left);
            seen = waited.expect("nobody panics with it").0;
        }
    }

    /// Returns the screen after the output has stopped.
    pub(crate) fn still(&self) -> vt100::Screen {
        let until = Instant::now() + PATIENCE;
        loop {
            let seen = self.seen.0.lock().expect("nobody panics with it");
            let quiet = seen.last.elapsed();
            if quiet >= STILL || Instant::now() > until {
                return seen.parser.screen().clone();
            }
            drop(seen);
            std::thread::sleep(STILL - quiet);
        }
    }

    /// Changes a file in the sample's home directory while the program runs, as an agent would.
    pub(crate) fn change(&self, path: &str, how: impl Fn(&str) -> String) -> Result<()> {
        let path = self.demo.home.join(path);
        let before = fs::read_to_string(&path)?;
        let after = how(&before);
        if before == after {
            return Err(format!("{}: nothing was changed", path.display()).into());
        }
        Ok(fs::write(&path, after)?)
    }

    /// Ends the program, and removes the sample.
    pub(crate) fn leave(mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(fs::remove_dir_all(root())?)
    }
}

/// Returns the folder of the sample.
fn pty_size((cols, rows): Size) -> PtySize {
    PtySize {
        rows,
        cols,
        pixel_width: 0,
        pixel_height: 0,
    }
}

fn cells(number: u16) -> Result<NonZeroU16> {
    Ok(NonZeroU16::new(number).ok_or("a terminal has cells")?)
}

fn root() -> PathBuf {
    std::env::temp_dir().join("tome-pictures")
}

/// Unpacks the sample after removing an earlier one.
fn unpacked() -> Result<Demo> {
    match fs::remove_dir_all(root()) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e.into()),
        _ => {}
    }
    fs::create_dir(root())?;
    let now = jiff::Zoned::now();
    let moment = Moment {
        time: now.timestamp(),
        today: now.date(),
    };
    Ok(unpack(&root(), &moment)?)
}

/// Builds the program beside the example of this name, and returns its path.
pub(crate) fn built(example: &str) -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    let folder = own.ancestors().nth(2).ok_or("no folder of programs")?;
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // With the example, so that shared dependencies have the same features and are not rebuilt.
    cargo.args(["build", "--quiet", "--bin", "tome", "--example", example]);
    if folder.ends_with("release") {
        cargo.arg("--release");
    }
    let built = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).status()?;
    let program = folder.join(format!("tome{}", std::env::consts::EXE_SUFFIX));
    if built.success() && program.is_file() {
        Ok(program)
    } else {
        Err(format!("{}: the program could not be built", program.display()).into())
    }
}
