//! Editing, copying and resuming, on a real terminal with real programs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::finding::talk;
use super::{ENTER, ESCAPE, SAVE, Tty, go_to, shop};
use crate::support::{Home, ends, has};

/// Puts a program into a directory and returns a PATH that begins with it.
fn program(home: &Home, name: &str, script: &str) -> String {
    let text = home.file(&format!("bin/{name}.txt"), format!("#!/bin/sh\n{script}\n"));
    // A file that this process writes may still be open in a process that another test starts at the
    // same moment, and cannot be run then. So another process writes the program.
    let copied = std::process::Command::new("cp")
        .arg(&text)
        .arg(text.with_extension(""))
        .status();
    assert!(
        copied.is_ok_and(|status| status.success()),
        "{name} is copied"
    );
    let path = text.with_extension("");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("is made executable");
    let old = std::env::var("PATH").unwrap_or_default();
    format!("{}:{old}", home.path().join("bin").display())
}

#[test]
fn vi_repeats_a_change_and_saves_both() {
    let home = shop();
    home.file(".config/tome/config.toml", "[editor]\nkeys = \"vi\"\n");
    let text = super::memory("Auth", "project", "one\ntwo\nthree \"old words\" end");
    home.file("project/.memory/auth.md", text);
    let tty = Tty::seeing(&home, "4 memories");
    go_to(&tty, "Auth");
    tty.press("e", "normal");
    tty.send("dd.");
    tty.gone("two");
    tty.press("ci\"", "insert");
    tty.press("new", "\"new\" end");
    tty.press(ESCAPE, "normal");
    tty.press(":w\r", "save 1 file");
    tty.press(ENTER, "Memory saved: auth.md");
    let text = home.read("project/.memory/auth.md");
    ends(&text, "---\n\nthree \"new\" end\n");
    tty.quit();
}

#[test]
fn an_editor_that_fails_loses_nothing() {
    let home = shop();
    let script = home.file("editor.sh", "printf 'Precious.\\n' >> \"$1\"\nexit 3\n");
    let editor = format!("sh {}", script.display());
    let tty = Tty::sized(&home, &[], (120, 30), &[("EDITOR", &editor)]);
    tty.see("4 memories");
    go_to(&tty, "Build");
    tty.press("E", "what was written is here");
    tty.see("Precious.");
    tty.press(SAVE, "save 1 file");
    tty.press(ENTER, "Memory saved: build.md");
    ends(home.read("project/.memory/build.md"), "Precious.\n");
    tty.quit();
}

#[test]
fn a_citation_is_copied_by_the_program_of_the_system_and_it_is_named() {
    let home = shop();
    let copied = home.path().join("copied");
    let path = program(&home, "xclip", &format!("cat > {}", copied.display()));
    let env = [("PATH", path.as_str()), ("DISPLAY", ":9")];
    let tty = Tty::sized(&home, &[], (100, 30), &env);
    tty.see("4 memories");
    go_to(&tty, "Build");
    tty.press("y", "build.md · xclip");
    let text = fs::read_to_string(&copied).expect("copied");
    ends(&text, ":build.md");
    tty.quit();
    // Without a program the terminal is asked.
    let tty = Tty::seeing(&home, "4 memories");
    go_to(&tty, "Build");
    tty.press("y", "the terminal (OSC 52)");
    tty.send("q");
    has(&tty.end().1, ["\u{1b}]52;c;"]);
}

#[test]
fn a_copied_name_acts_on_no_terminal() {
    let home = shop();
    let name = "o\u{1b}]0;pwned\u{7}\u{202e}dd.md";
    home.file(
        &format!("project/.memory/{name}"),
        super::memory("Odd", "project", "Odd."),
    );
    let copied = home.path().join("copied");
    let path = program(&home, "xclip", &format!("cat > {}", copied.display()));
    let env = [("PATH", path.as_str()), ("DISPLAY", ":9")];
    let tty = Tty::sized(&home, &[], (100, 30), &env);
    tty.see("5 memories");
    tty.press("f", "filter ❯");
    tty.press("Odd", "filter ❯ Odd");
    tty.send(ENTER);
    tty.send("G");
    tty.press("y", "· xclip");
    let text = fs::read_to_string(&copied).expect("copied");
    assert!(text.contains("dd.md"), "{text:?}");
    assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{text:?}");
    tty.send("q");
    assert!(!tty.end().1.contains("]0;pwned\u{7}"));
}

#[test]
fn a_program_of_the_project_is_not_taken_for_the_clipboard() {
    let home = shop();
    program(&home, "xclip", "touch \"$HOME/was-run\"");
    let own = home.project().join("xclip");
    fs::rename(home.path().join("bin/xclip"), own).expect("moved");
    let path = format!("{}:.:/usr/bin:/bin", home.project().display());
    let env = [("PATH", path.as_str()), ("DISPLAY", ":9")];
    let tty = Tty::sized(&home, &[], (100, 30), &env);
    tty.see("4 memories");
    go_to(&tty, "Build");
    tty.press("y", "build.md · ");
    tty.send("q");
    assert!(tty.end().0.success());
    assert!(!home.path().join("was-run").exists());
}

#[test]
fn marks_do_not_pile_up_in_a_cell() {
    let home = shop();
    let pile = format!("z{} zalgo", "\u{301}".repeat(100_000));
    home.file(
        "project/.memory/build.md",
        super::memory("Build", "project", &pile),
    );
    let tty = Tty::open(&home, &[]);
    tty.see("4 memories");
    go_to(&tty, "Build");
    tty.see("zalgo");
    tty.press("e", "edit · build.md");
    tty.send(ESCAPE);
    tty.gone("edit · build.md");
    tty.send("q");
    let drawn = tty.end().1.matches('\u{301}').count();
    assert!(drawn < 1_000, "{drawn} marks are drawn");
}

#[test]
fn a_session_goes_on_in_its_agent_on_the_same_terminal() {
    let home = shop();
    talk(&home);
    let script = "printf 'agent in %s: %s %s\\n' \"$PWD\" \"$1\" \"$2\"\nread line\nprintf 'heard %s\\n' \"$line\"\nread line";
    let path = program(&home, "claude", script);
    let tty = Tty::sized(&home, &[], (120, 30), &[("PATH", &path)]);
    tty.see("4 memories");
    tty.see("1 session");
    tty.press("/", "find ❯");
    tty.press("grace window", "1 found");
    tty.press(ENTER, "log   ");
    tty.press("o", "agent in ");
    tty.press("hello\r", "heard hello");
    tty.press("\r", "claude has ended");
    tty.see("keep a grace window");
    tty.press(ESCAPE, "find ❯");
    tty.send(ESCAPE);
    tty.gone("find ❯");
    tty.quit();
}

#[test]
fn a_session_that_is_kept_with_a_key_outlives_its_agents_log() {
    let home = shop();
    let log = talk(&home);
    let tty = Tty::seeing(&home, "1 session");
    tty.press("/", "find ❯");
    tty.press("grace window", "1 found");
    tty.press(ENTER, "log   ");
    tty.press("C", "tome has a copy");
    tty.press(ESCAPE, "find ❯");
    tty.send(ESCAPE);
    tty.gone("find ❯");
    tty.quit();
    fs::remove_file(&log).expect("swept away");
    has(home.ok(&["find", "grace window"]), ["grace window of ten"]);
}
