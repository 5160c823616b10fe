//! A program on a terminal of its own: keys go in, and every step waits for the expected screen. For
//! the tests, and for the pictures and the soak in `benches/`.

use std::io::{Read as _, Write};
use std::num::NonZeroU16;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, ExitStatus, MasterPty, PtySize, native_pty_system};

/// The timeout of every step, for a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// The size of a terminal: columns and rows.
pub(crate) type Size = (u16, u16);

/// The program on its own terminal.
pub(crate) struct Tty {
    master: Box<dyn MasterPty + Send>,
    child: Box<dyn Child + Send + Sync>,
    keys: Arc<Mutex<Box<dyn Write + Send>>>,
    seen: Arc<(Mutex<Output>, Condvar)>,
}

/// The output of the terminal.
struct Output {
    parser: vt100::Parser,
    raw: Vec<u8>,
    /// When something came last.
    last: Instant,
    ended: bool,
}

impl Output {
    /// Whether a frame has begun and is not yet complete: it may arrive in several parts.
    fn is_frame_partial(&self) -> bool {
        let last = |mark| memchr::memmem::rfind(&self.raw, mark);
        last(b"\x1b[?2026h") > last(b"\x1b[?2026l")
    }
}

fn pty_size((cols, rows): Size) -> PtySize {
    PtySize {
        rows,
        cols,
        pixel_width: 0,
        pixel_height: 0,
    }
}

fn cells(number: u16) -> NonZeroU16 {
    NonZeroU16::new(number).expect("a terminal has cells")
}

impl Tty {
    /// Starts a program on a terminal of this size.
    pub(crate) fn start(command: CommandBuilder, size: Size) -> Self {
        let (columns, rows) = size;
        let pty = native_pty_system().openpty(pty_size(size)).expect("a pty");
        let child = pty.slave.spawn_command(command).expect("the program runs");
        drop(pty.slave);
        let mut output = pty.master.try_clone_reader().expect("a reader");
        let keys = Arc::new(Mutex::new(pty.master.take_writer().expect("a writer")));
        let seen = Arc::new((
            Mutex::new(Output {
                parser: vt100::Parser::new(cells(rows), cells(columns), 0),
                raw: Vec::new(),
                last: Instant::now(),
                ended: false,
            }),
            Condvar::new(),
        ));
        let (shared, answers) = (Arc::clone(&seen), Arc::clone(&keys));
        std::thread::spawn(move || {
            let mut bytes = [0; 8192];
            while let Ok(read @ 1..) = output.read(&mut bytes) {
                let chunk = &bytes[..read];
                let mut seen = shared.0.lock().expect("not poisoned");
                seen.parser.process(chunk);
                seen.raw.extend_from_slice(chunk);
                seen.last = Instant::now();
                // A program that takes the terminal back asks where the cursor is.
                if chunk.windows(4).any(|window| window == b"\x1b[6n") {
                    let mut keys = answers.lock().expect("not poisoned");
                    drop(keys.write_all(b"\x1b[1;1R"));
                }
                shared.1.notify_all();
            }
            shared.0.lock().expect("not poisoned").ended = true;
            shared.1.notify_all();
        });
        Self {
            master: pty.master,
            child,
            keys,
            seen,
        }
    }

    fn output(&self) -> MutexGuard<'_, Output> {
        self.seen.0.lock().expect("not poisoned")
    }

    /// Waits for more output, for at most so long.
    fn wait<'a>(&self, seen: MutexGuard<'a, Output>, most: Duration) -> MutexGuard<'a, Output> {
        let waited = self.seen.1.wait_timeout(seen, most);
        waited.expect("not poisoned").0
    }

    pub(crate) fn send(&self, keys: &str) {
        let mut writer = self.keys.lock().expect("not poisoned");
        writer.write_all(keys.as_bytes()).expect("keys are read");
        writer.flush().expect("keys are read");
    }

    /// Waits until the screen satisfies the condition; returns the screen.
    #[track_caller]
    pub(crate) fn until(&self, what: &str, is: impl Fn(&str) -> bool) -> String {
        let until = Instant::now() + PATIENCE;
        let mut seen = self.output();
        loop {
            let screen = seen.parser.screen().contents();
            if !seen.is_frame_partial() && is(&screen) {
                return screen;
            }
            let left = until.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "never saw {what}:\n{screen}");
            assert!(!seen.ended, "ended before {what}:\n{screen}");
            // The condition may depend on files, whose changes do not wake this thread.
            seen = self.wait(seen, left.min(Duration::from_millis(100)));
        }
    }

    /// Waits for a text on the screen.
    #[track_caller]
    pub(crate) fn see(&self, text: &str) -> String {
        self.until(text, |screen| screen.contains(text))
    }

    /// Waits until a text is no longer on the screen.
    #[track_caller]
    pub(crate) fn gone(&self, text: &str) -> String {
        self.until(&format!("no {text}"), |screen| !screen.contains(text))
    }

    /// Sends keys and waits for `then` on the screen.
    #[track_caller]
    pub(crate) fn press(&self, keys: &str, then: &str) -> String {
        self.send(keys);
        self.see(then)
    }

    /// Returns the screen after the output has stopped.
    pub(crate) fn still(&self) -> vt100::Screen {
        const STILL: Duration = Duration::from_millis(400);
        let until = Instant::now() + PATIENCE;
        loop {
            let seen = self.output();
            let quiet = seen.last.elapsed();
            if quiet >= STILL || Instant::now() > until {
                return seen.parser.screen().clone();
            }
            drop(seen);
            std::thread::sleep(STILL - quiet);
        }
    }

    /// Whether the program has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.output().ended
    }

    /// Gives the terminal another size.
    pub(crate) fn resize(&self, (columns, rows): Size) {
        let mut seen = self.output();
        let screen = seen.parser.screen_mut();
        screen.set_size(cells(rows), cells(columns));
        drop(seen);
        let resized = self.master.resize(pty_size((columns, rows)));
        resized.expect("resized");
    }

    /// The number of the program's process.
    pub(crate) fn id(&self) -> u32 {
        self.child.process_id().expect("it runs")
    }

    /// Kills the program.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it ends");
    }

    /// Waits for the end; returns the exit status and the whole output.
    #[track_caller]
    pub(crate) fn end(mut self) -> (ExitStatus, String) {
        let until = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("it ends") {
                break status;
            }
            if Instant::now() > until {
                self.kill();
                let screen = self.output().parser.screen().contents();
                panic!("it does not end:\n{screen}");
            }
            std::thread::park_timeout(Duration::from_millis(5));
        };
        let mut seen = self.output();
        while !seen.ended && Instant::now() < until {
            seen = self.wait(seen, Duration::from_millis(200));
        }
        (status, String::from_utf8_lossy(&seen.raw).into_owned())
    }
}
