//! The terminal UI on a real pty with real keys and files. Every step waits for the expected
//! screen, never for a fixed time.

mod begin;
mod context;
mod curate;
mod editing;
mod finding;
mod review;
mod timeline;
mod waiting;

use std::fs;
use std::io::{Read as _, Write};
use std::num::NonZeroU16;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, ExitStatus, MasterPty, PtySize, native_pty_system};

use crate::support::{Home, coverage, tree};

/// The timeout of every step, for a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// The program on its own terminal.
struct Tty {
    master: Box<dyn MasterPty + Send>,
    child: Box<dyn Child + Send + Sync>,
    keys: Arc<Mutex<Box<dyn Write + Send>>>,
    seen: Arc<(Mutex<Output>, Condvar)>,
}

/// The output of the terminal.
struct Output {
    parser: vt100::Parser,
    raw: Vec<u8>,
    ended: bool,
}

impl Output {
    /// Whether a frame has begun and is not yet complete: it may arrive in several parts.
    fn is_frame_partial(&self) -> bool {
        let last = |mark| memchr::memmem::rfind(&self.raw, mark);
        last(b"\x1b[?2026h") > last(b"\x1b[?2026l")
    }
}

fn size(width: u16, height: u16) -> PtySize {
    PtySize {
        rows: height,
        cols: width,
        pixel_width: 0,
        pixel_height: 0,
    }
}

fn cells(number: u16) -> NonZeroU16 {
    NonZeroU16::new(number).expect("a terminal has cells")
}

impl Tty {
    fn open(home: &Home, args: &[&str]) -> Self {
        Self::sized(home, args, (100, 30), &[])
    }

    fn sized(home: &Home, args: &[&str], size: (u16, u16), env: &[(&str, &str)]) -> Self {
        let words = [&[env!("CARGO_BIN_EXE_tome")], args].concat();
        Self::started(home, &words, size, env)
    }

    /// Runs another program on a terminal.
    fn program(home: &Home, words: &[&str], env: &[(&str, &str)]) -> Self {
        Self::started(home, words, (100, 30), env)
    }

    fn started(
        home: &Home,
        words: &[&str],
        (width, height): (u16, u16),
        env: &[(&str, &str)],
    ) -> Self {
        let pty = native_pty_system()
            .openpty(size(width, height))
            .expect("a pty");
        let mut command = CommandBuilder::new(words[0]);
        command.args(&words[1..]);
        command.cwd(home.project());
        command.env_clear();
        command.env("HOME", home.path());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("TERM", "xterm-256color");
        // Gives the background colour, so that the terminal is not queried.
        command.env("COLORFGBG", "15;0");
        command.env("TZ", "UTC");
        if let Some((name, value)) = coverage() {
            command.env(name, value);
        }
        for (name, value) in env {
            command.env(name, value);
        }
        let child = pty.slave.spawn_command(command).expect("the program runs");
        drop(pty.slave);
        let mut output = pty.master.try_clone_reader().expect("a reader");
        let keys = Arc::new(Mutex::new(pty.master.take_writer().expect("a writer")));
        let seen = Arc::new((
            Mutex::new(Output {
                parser: vt100::Parser::new(cells(height), cells(width), 0),
                raw: Vec::new(),
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
                if chunk.windows(4).any(|window| window == b"\x1b[6n") {
                    let mut keys = answers.lock().expect("not poisoned");
                    keys.write_all(b"\x1b[1;1R").expect("answered");
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

    fn send(&self, keys: &str) {
        let mut writer = self.keys.lock().expect("not poisoned");
        writer.write_all(keys.as_bytes()).expect("keys are read");
        writer.flush().expect("keys are read");
    }

    /// Waits until the screen satisfies the condition; returns the screen.
    fn until(&self, what: &str, is: impl Fn(&str) -> bool) -> String {
        let until = Instant::now() + PATIENCE;
        let mut seen = self.seen.0.lock().expect("not poisoned");
        loop {
            let screen = seen.parser.screen().contents();
            if !seen.is_frame_partial() && is(&screen) {
                return screen;
            }
            let left = until.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "never saw {what}:\n{screen}");
            assert!(!seen.ended, "ended before {what}:\n{screen}");
            // The condition may depend on files, whose changes do not wake this thread.
            let left = left.min(Duration::from_millis(100));
            seen = self
                .seen
                .1
                .wait_timeout(seen, left)
                .expect("not poisoned")
                .0;
        }
    }

    /// Waits for a text on the screen.
    fn see(&self, text: &str) -> String {
        self.until(text, |screen| screen.contains(text))
    }

    fn gone(&self, text: &str) -> String {
        self.until(&format!("no {text}"), |screen| !screen.contains(text))
    }

    /// Sends keys and waits for `then` on the screen.
    fn press(&self, keys: &str, then: &str) -> String {
        self.send(keys);
        self.see(then)
    }

    fn resize(&self, width: u16, height: u16) {
        let mut seen = self.seen.0.lock().expect("not poisoned");
        seen.parser
            .screen_mut()
            .set_size(cells(height), cells(width));
        drop(seen);
        self.master.resize(size(width, height)).expect("resized");
    }

    fn signal(&self, name: &str) {
        let id = self.child.process_id().expect("it runs").to_string();
        let sent = std::process::Command::new("kill")
            .args([&format!("-{name}"), &id])
            .status();
        assert!(sent.expect("kill runs").success());
    }

    /// Waits for the end; returns the exit status and the whole output.
    fn end(mut self) -> (ExitStatus, String) {
        let until = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("it ends") {
                break status;
            }
            if Instant::now() > until {
                self.child.kill().expect("it can be killed");
                let screen = self.until("any screen", |_| true);
                panic!("it does not end:\n{screen}");
            }
            std::thread::yield_now();
            std::thread::park_timeout(Duration::from_millis(5));
        };
        let mut seen = self.seen.0.lock().expect("not poisoned");
        while !seen.ended && Instant::now() < until {
            let wait = Duration::from_millis(200);
            seen = self
                .seen
                .1
                .wait_timeout(seen, wait)
                .expect("not poisoned")
                .0;
        }
        (status, String::from_utf8_lossy(&seen.raw).into_owned())
    }
}

const ENTER: &str = "\r";
const ESCAPE: &str = "\u{1b}";
const SAVE: &str = "\u{13}";
const END: &str = "\u{1b}[1;5F";

fn memory(name: &str, kind: &str, body: &str) -> String {
    format!("---\nname: {name}\ndescription: about {name}\ntype: {kind}\n---\n\n{body}\n")
}

/// A project with a store of four memories.
fn shop() -> Home {
    let home = Home::new();
    for (file, name, body) in [
        ("auth.md", "Auth", "Use JWT.\n\nTokens live for 15 minutes."),
        ("build.md", "Build", "Use cargo."),
        ("deploy.md", "Deploy", "By hand. See [auth](auth.md)."),
    ] {
        let text = memory(name, "project", body);
        home.file(&format!("project/.memory/{file}"), text);
    }
    home.file("project/.memory/tea.md", memory("Tea", "user", "Green."));
    home.file("project/.memory/MEMORY.md", "");
    fs::remove_file(home.path().join("project/.memory/MEMORY.md")).expect("there");
    home.ok(&["--store", "./.memory", "--layout", "index", "index"]);
    home
}

/// The files of the store; a displaced file stays under a temporary name for a moment.
fn files(home: &Home) -> Vec<(String, Vec<u8>)> {
    let files = tree(&home.project().join(".memory")).into_iter();
    files.filter(|(path, _)| !path.contains(".tome-")).collect()
}

/// Selects a memory by typing a part of its name into the filter.
fn go_to(tty: &Tty, name: &str) {
    tty.press("f", "filter ❯");
    tty.send(name);
    tty.until("one row", |screen| {
        screen.contains(name) && screen.contains("filter ❯ ")
    });
    tty.send(ENTER);
    tty.send("G");
    tty.see(&format!("about {name}"));
}

/// Opens the memory "Auth" in the editor.
fn edit_auth(home: &Home) -> Tty {
    let tty = Tty::open(home, &[]);
    tty.see("4 memories");
    go_to(&tty, "Auth");
    tty.press("e", "edit · auth.md");
    tty
}

#[test]
fn open_browse_and_preview() {
    let home = shop();
    let tty = Tty::open(&home, &[]);
    tty.see("4 memories");
    go_to(&tty, "Deploy");
    tty.see("By hand.");
    tty.send("q");
    let (status, raw) = tty.end();
    assert!(status.success());
    assert!(raw.ends_with("\u{1b}[?25h") || raw.contains("\u{1b}[?1049l"));
}

#[test]
fn an_edited_word_is_saved_through_a_diff_and_nothing_else_changes() {
    let home = shop();
    let before = files(&home);
    let tty = edit_auth(&home);
    // The description is in the third line: the index is updated with it.
    tty.send("\u{7}");
    tty.press("3", "3");
    tty.send(ENTER);
    tty.send("\u{1b}[F");
    tty.press(" and JWT", "about Auth and JWT");
    tty.press(SAVE, "save 2 files");
    tty.see("MEMORY.md");
    tty.send(ENTER);
    tty.see("Memory saved: auth.md");
    let expected: Vec<(String, Vec<u8>)> = before
        .into_iter()
        .map(|(path, bytes)| {
            let text = String::from_utf8(bytes).expect("text");
            let text = match path.as_str() {
                "auth.md" | "MEMORY.md" => text.replace("about Auth", "about Auth and JWT"),
                _ => text,
            };
            (path, text.into_bytes())
        })
        .collect();
    assert_eq!(files(&home), expected);
    tty.send("q");
    assert!(tty.end().0.success());
}

#[test]
fn three_marked_are_deleted_and_undo_brings_them_back() {
    let home = shop();
    let before = files(&home);
    let tty = Tty::open(&home, &[]);
    tty.see("4 memories");
    tty.send("G");
    tty.see("about Deploy");
    tty.send("kk");
    tty.see("about Auth");
    tty.send("   ");
    tty.see("3 marked");
    tty.press("d", "delete 3 memories");
    tty.see("deploy.md");
    tty.see("y delete 3 memories");
    tty.send("y");
    tty.see("1 memory ");
    assert_eq!(files(&home).len(), 2);
    tty.press("u", "Undone");
    tty.see("4 memories");
    assert_eq!(files(&home), before);
    tty.send("q");
    assert!(tty.end().0.success());
}

#[test]
fn an_outside_edit_meets_ours_and_both_survive() {
    let home = shop();
    let tty = edit_auth(&home);
    tty.send(END);
    tty.press("Mine.", "Mine.");
    let path = home.project().join(".memory/auth.md");
    let theirs = fs::read_to_string(&path)
        .expect("text")
        .replace("Use JWT.", "Use PASETO.");
    fs::write(&path, &theirs).expect("writes");
    tty.send(SAVE);
    tty.see("save 1 file");
    tty.send(ENTER);
    tty.see("Memory saved: auth.md");
    let text = fs::read_to_string(&path).expect("text");
    assert!(
        text.contains("Use PASETO.") && text.contains("Mine."),
        "{text}"
    );
    // Again, in the same line: now the user must choose.
    go_to(&tty, "Auth");
    tty.press("e", "edit · auth.md");
    tty.send(END);
    tty.press("One.", "One.");
    let text = fs::read_to_string(&path).expect("text");
    fs::write(&path, text.replace("Mine.", "Mine.Two.")).expect("writes");
    tty.send(SAVE);
    tty.see("was changed outside");
    tty.send("b");
    tty.see("everything is decided");
    tty.send(ENTER);
    tty.see("save 1 file");
    tty.send(ENTER);
    tty.until("both in the file", |_| {
        let text = fs::read_to_string(&path).expect("text");
        text.contains("One.") && text.contains("Two.")
    });
    tty.gone("edit · ");
    tty.send("q");
    assert!(tty.end().0.success());
}

#[test]
fn a_new_memory_of_each_layout() {
    for (layout, seed, file) in [
        ("index", ("a.md", "x"), "release_day.md"),
        ("facts", ("facts/a.md", "# A\n"), "facts/release-day.md"),
        (
            "coder",
            ("episodic/a.md", "**Title:** A\n"),
            "episodic/release-day.md",
        ),
        (
            "session",
            ("working-memory/overview.md", "# Working Memory\n"),
            "working-memory/detail/release-day.md",
        ),
    ] {
        let home = Home::new();
        home.file(&format!("project/.memory/{}", seed.0), seed.1);
        let tty = Tty::open(&home, &["--store", "./.memory", "--layout", layout]);
        tty.see("1 memory");
        tty.press("n", "new memory");
        tty.press("Release day", "release");
        tty.send(ENTER);
        tty.see("edit · ");
        tty.press("Tag it.", "Tag it.");
        tty.press(SAVE, "Enter save");
        tty.send(ENTER);
        tty.see("Memory saved");
        let text = home.read(&format!("project/.memory/{file}"));
        assert!(text.contains("Tag it."), "{layout}: {text}");
        tty.send("q");
        assert!(tty.end().0.success(), "{layout}");
    }
}

#[test]
fn text_that_was_not_saved_is_offered_again_after_a_crash() {
    let home = shop();
    let tty = edit_auth(&home);
    tty.send(END);
    tty.press("Precious.", "Precious.");
    let drawer = home.path().join(".local/share/tome/unsaved");
    // A temporary file does not count: a crash would leave the previous text.
    tty.until("the text on the disk", |_| {
        tree(&drawer).iter().any(|(name, bytes)| {
            name.ends_with(".json") && String::from_utf8_lossy(bytes).contains("Precious.")
        })
    });
    tty.signal("KILL");
    assert!(!tty.end().0.success());
    assert!(!home.read("project/.memory/auth.md").contains("Precious."));
    let tty = Tty::open(&home, &[]);
    tty.see("unsaved text");
    tty.send(ENTER);
    tty.see("Precious.");
    tty.press(SAVE, "save 1 file");
    tty.send(ENTER);
    tty.see("Memory saved: auth.md");
    assert!(home.read("project/.memory/auth.md").contains("Precious."));
    tty.send("q");
    assert!(tty.end().0.success());
    let tty = Tty::open(&home, &[]);
    let screen = tty.see("4 memories");
    assert!(!screen.contains("unsaved text"), "{screen}");
    tty.send("q");
    assert!(tty.end().0.success());
}

#[test]
fn the_terminal_is_lent_to_the_editor_and_comes_back() {
    let home = shop();
    let script = home.file(
        "editor.sh",
        "#!/bin/sh\nprintf 'say: '\nread line\nprintf '%s\\n' \"$line\" >> \"$1\"\n",
    );
    let editor = format!("sh {}", script.display());
    let tty = Tty::sized(&home, &[], (100, 30), &[("EDITOR", &editor)]);
    tty.see("4 memories");
    go_to(&tty, "Build");
    // The answer is typed before the editor asks: every key after E goes to the editor.
    tty.send("E");
    tty.see("say: ");
    tty.send("and sccache\r");
    tty.see("save 1 file");
    tty.send(ENTER);
    tty.see("Memory saved: build.md");
    assert!(
        home.read("project/.memory/build.md")
            .ends_with("and sccache\n")
    );
    tty.send("q");
    assert!(tty.end().0.success());
}

#[test]
fn every_size_and_a_resize_while_typing() {
    let home = shop();
    for wide in [(80, 24), (200, 60), (60, 16)] {
        let tty = Tty::sized(&home, &[], wide, &[]);
        tty.see("4 memories");
        tty.press("?", "help · tree");
        tty.send(ESCAPE);
        tty.gone("help · tree");
        tty.send("q");
        assert!(tty.end().0.success());
    }
    let tty = Tty::sized(&home, &[], (120, 40), &[]);
    tty.see("4 memories");
    go_to(&tty, "Auth");
    tty.press("e", "edit · auth.md");
    tty.send(END);
    tty.send("before");
    tty.resize(70, 20);
    tty.send("after");
    tty.see("beforeafter");
    tty.resize(120, 40);
    tty.see("beforeafter");
    tty.press("\u{11}", "if pressed again");
    tty.send("\u{11}");
    tty.see("4 memories");
    tty.send("q");
    assert!(tty.end().0.success());
}

#[test]
fn a_mouse_journey() {
    let home = shop();
    let tty = Tty::sized(&home, &[], (120, 40), &[]);
    tty.see("4 memories");
    let click = |tty: &Tty, screen: &str, text: &str| {
        let (row, line) = screen
            .lines()
            .enumerate()
            .find(|(_, line)| line.contains(text))
            .expect("it is there");
        let before: String = line.split(text).next().unwrap_or_default().to_owned();
        let column = before.chars().count() + 1;
        tty.send(&format!(
            "\u{1b}[<0;{column};{}M\u{1b}[<0;{column};{}m",
            row + 1,
            row + 1
        ));
    };
    let screen = tty.see("Deploy");
    click(&tty, &screen, "Deploy");
    tty.see("By hand.");
    // The wheel moves the tree under the pointer.
    tty.send("\u{1b}[<64;5;5M\u{1b}[<64;5;5M");
    let screen = tty.see("Build");
    click(&tty, &screen, "Build");
    tty.see("Use cargo.");
    // So do the hints of a dialog, into which a text of several lines can be pasted.
    tty.press("n", "new memory");
    tty.send("\u{1b}[200~two\nlines\u{7}\u{1b}[201~");
    let screen = tty.see("two_lines.md");
    click(&tty, &screen, "about ");
    tty.press("a paste", "a paste");
    click(&tty, &screen, "Esc back");
    tty.gone("new memory");
    tty.send("q");
    assert!(tty.end().0.success());
}

#[test]
fn a_store_that_goes_and_comes_back_is_shown_as_it_is() {
    let home = shop();
    let tty = Tty::open(&home, &[]);
    tty.see("4 memories");
    let (store, away) = (home.project().join(".memory"), home.path().join("away"));
    fs::rename(&store, &away).expect("renamed");
    tty.gone("Deploy");
    fs::rename(&away, &store).expect("renamed");
    tty.see("Deploy");
    // It is watched again.
    home.file("project/.memory/new.md", memory("Newcomer", "project", "x"));
    tty.see("Newcomer");
    tty.send("q");
    assert!(tty.end().0.success());
}

#[test]
fn what_changes_outside_appears() {
    let home = shop();
    let tty = Tty::open(&home, &[]);
    tty.see("4 memories");
    go_to(&tty, "Build");
    tty.see("Use cargo.");
    let path = home.project().join(".memory/build.md");
    fs::write(&path, memory("Build", "project", "Use bazel.")).expect("writes");
    tty.see("Use bazel.");
    tty.send(ESCAPE);
    home.file("project/.memory/zeta.md", memory("Zeta", "user", "New."));
    tty.see("5 memories");
    tty.see("Zeta");
    // The selection stays.
    tty.see("Use bazel.");
    tty.send("q");
    assert!(tty.end().0.success());
}

fn is_restored(raw: &str) {
    for code in [
        "\u{1b}[?1049l",
        "\u{1b}[?1006l",
        "\u{1b}[?2004l",
        "\u{1b}[?25h",
    ] {
        let off = raw.rfind(code);
        assert!(off.is_some(), "{code:?} is missing");
    }
    let entered = raw.rfind("\u{1b}[?1049h");
    assert!(raw.rfind("\u{1b}[?1049l") > entered);
}

#[test]
fn the_terminal_is_given_back_whatever_ends_the_program() {
    let home = shop();
    for ending in ["q", "TERM", "HUP", "panic"] {
        let env: &[(&str, &str)] = match ending {
            "panic" => &[("TOME_PANIC", "1")],
            _ => &[],
        };
        let tty = Tty::sized(&home, &[], (100, 30), env);
        match ending {
            "q" => {
                tty.see("4 memories");
                tty.send("q");
            }
            "panic" => {}
            signal => {
                tty.see("4 memories");
                tty.signal(signal);
            }
        }
        let (status, raw) = tty.end();
        assert_eq!(status.success(), ending != "panic", "{ending}: {status:?}");
        is_restored(&raw);
    }
}

#[test]
fn without_a_terminal_it_says_so() {
    let home = shop();
    let output = home.run(&[]);
    assert_eq!(output.code, 2);
    assert!(output.err.contains("needs a terminal"), "{output:?}");
    assert!(Path::new(&home.project()).exists());
}

#[test]
fn with_nothing_found_it_says_where_it_looked_and_opens_the_sample() {
    let home = Home::new();
    let tty = Tty::open(&home, &[]);
    for expected in [
        "No agent remembers",
        "~/.claude/projects",
        "~/.codex/memories",
        "cursor",
    ] {
        tty.see(expected);
    }
    tty.press("x", "User Preferences");
    tty.send("q");
    assert!(tty.end().0.success());
    assert!(
        tree(&home.project()).keys().all(|path| path == ".git/"),
        "nothing is left of the sample"
    );
}

#[test]
fn a_repaint_asks_the_terminal_nothing() {
    let home = shop();
    let tty = Tty::open(&home, &[]);
    tty.see("4 memories");
    tty.send("\u{c}");
    tty.press("/", "find ❯");
    tty.send(ESCAPE);
    tty.gone("find ❯");
    tty.send("q");
    let (status, raw) = tty.end();
    assert!(status.success());
    // An answer that comes late would end the program.
    assert!(!raw.contains("\u{1b}[6n"));
}
