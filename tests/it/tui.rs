//! The terminal UI on a real pty with real keys and files. Every step waits for the expected
//! screen, never for a fixed time.

mod begin;
mod context;
mod curate;
mod editing;
mod finding;
mod review;
mod timeline;
#[allow(dead_code)] // some of it is for the pictures
mod tty;
mod waiting;

use std::fs;
use std::path::Path;

use portable_pty::CommandBuilder;

use self::tty::{Size, Tty};
use crate::support::{Home, coverage, ends, has, lacks, tree};

impl Tty {
    /// Opens the program in the project of a home.
    fn open(home: &Home, args: &[&str]) -> Self {
        Self::sized(home, args, (100, 30), &[])
    }

    /// Opens the program, and waits for a text on its screen.
    #[track_caller]
    fn seeing(home: &Home, text: &str) -> Self {
        let tty = Self::open(home, &[]);
        tty.see(text);
        tty
    }

    fn sized(home: &Home, args: &[&str], size: Size, env: &[(&str, &str)]) -> Self {
        let words = [&[env!("CARGO_BIN_EXE_tome")], args].concat();
        Self::program(home, &words, size, env)
    }

    /// Runs another program on a terminal.
    fn program(home: &Home, words: &[&str], size: Size, env: &[(&str, &str)]) -> Self {
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
        Self::start(command, size)
    }

    fn signal(&self, name: &str) {
        let mut kill = std::process::Command::new("kill");
        let sent = kill
            .args([format!("-{name}"), self.id().to_string()])
            .status();
        assert!(sent.expect("kill runs").success());
    }

    /// Leaves the program, which must succeed.
    #[track_caller]
    fn quit(self) {
        self.send("q");
        assert!(self.end().0.success());
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
    let tty = Tty::seeing(&home, "4 memories");
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
    tty.press(ENTER, "Memory saved: auth.md");
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
    tty.quit();
}

#[test]
fn three_marked_are_deleted_and_undo_brings_them_back() {
    let home = shop();
    let before = files(&home);
    let tty = Tty::seeing(&home, "4 memories");
    tty.press("G", "about Deploy");
    tty.press("kk", "about Auth");
    tty.press("   ", "3 marked");
    tty.press("d", "delete 3 memories");
    tty.see("deploy.md");
    tty.see("y delete 3 memories");
    tty.press("y", "1 memory ");
    assert_eq!(files(&home).len(), 2);
    tty.press("u", "Undone");
    tty.see("4 memories");
    assert_eq!(files(&home), before);
    tty.quit();
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
    tty.press(SAVE, "save 1 file");
    tty.press(ENTER, "Memory saved: auth.md");
    let text = fs::read_to_string(&path).expect("text");
    has(&text, ["Use PASETO.", "Mine."]);
    // Again, in the same line: now the user must choose.
    go_to(&tty, "Auth");
    tty.press("e", "edit · auth.md");
    tty.send(END);
    tty.press("One.", "One.");
    let text = fs::read_to_string(&path).expect("text");
    fs::write(&path, text.replace("Mine.", "Mine.Two.")).expect("writes");
    tty.press(SAVE, "was changed outside");
    tty.press("b", "everything is decided");
    tty.press(ENTER, "save 1 file");
    tty.send(ENTER);
    tty.until("both in the file", |_| {
        let text = fs::read_to_string(&path).expect("text");
        text.contains("One.") && text.contains("Two.")
    });
    tty.gone("edit · ");
    tty.quit();
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
        tty.press(ENTER, "edit · ");
        tty.press("Tag it.", "Tag it.");
        tty.press(SAVE, "Enter save");
        tty.press(ENTER, "Memory saved");
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
    lacks(home.read("project/.memory/auth.md"), ["Precious."]);
    let tty = Tty::seeing(&home, "unsaved text");
    tty.press(ENTER, "Precious.");
    tty.press(SAVE, "save 1 file");
    tty.press(ENTER, "Memory saved: auth.md");
    has(home.read("project/.memory/auth.md"), ["Precious."]);
    tty.quit();
    let tty = Tty::open(&home, &[]);
    let screen = tty.see("4 memories");
    lacks(&screen, ["unsaved text"]);
    tty.quit();
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
    tty.press("E", "say: ");
    tty.press("and sccache\r", "save 1 file");
    tty.press(ENTER, "Memory saved: build.md");
    ends(home.read("project/.memory/build.md"), "and sccache\n");
    tty.quit();
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
        tty.quit();
    }
    let tty = Tty::sized(&home, &[], (120, 40), &[]);
    tty.see("4 memories");
    go_to(&tty, "Auth");
    tty.press("e", "edit · auth.md");
    tty.send(END);
    tty.send("before");
    tty.resize((70, 20));
    tty.press("after", "beforeafter");
    tty.resize((120, 40));
    tty.see("beforeafter");
    tty.press("\u{11}", "if pressed again");
    tty.press("\u{11}", "4 memories");
    tty.quit();
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
    tty.quit();
}

#[test]
fn a_store_that_goes_and_comes_back_is_shown_as_it_is() {
    let home = shop();
    let tty = Tty::seeing(&home, "4 memories");
    let (store, away) = (home.project().join(".memory"), home.path().join("away"));
    fs::rename(&store, &away).expect("renamed");
    tty.gone("Deploy");
    fs::rename(&away, &store).expect("renamed");
    tty.see("Deploy");
    // It is watched again.
    home.file("project/.memory/new.md", memory("Newcomer", "project", "x"));
    tty.see("Newcomer");
    tty.quit();
}

#[test]
fn what_changes_outside_appears() {
    let home = shop();
    let tty = Tty::seeing(&home, "4 memories");
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
    tty.quit();
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
    let output = home.run("");
    assert_eq!(output.code, 2);
    has(&output.err, ["needs a terminal"]);
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
    tty.quit();
    assert!(
        tree(&home.project()).keys().all(|path| path == ".git/"),
        "nothing is left of the sample"
    );
}

#[test]
fn a_repaint_asks_the_terminal_nothing() {
    let home = shop();
    let tty = Tty::seeing(&home, "4 memories");
    tty.send("\u{c}");
    tty.press("/", "find ❯");
    tty.send(ESCAPE);
    tty.gone("find ❯");
    tty.send("q");
    let (status, raw) = tty.end();
    assert!(status.success());
    // An answer that comes late would end the program.
    lacks(&raw, ["\u{1b}[6n"]);
}
