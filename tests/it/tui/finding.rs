//! Find, logs and `tome pick`, on a real terminal.

use std::fs;
use std::io::Write as _;

use super::{ENTER, ESCAPE, SAVE, Tty, files, shop};
use crate::support::{Home, ends, starts};

/// A conversation in the project, as Claude Code logs it.
pub(super) fn talk(home: &Home) -> std::path::PathBuf {
    let mut said = vec![
        ("user", "why do two tabs log each other out?".to_owned()),
        (
            "assistant",
            "Both present the same refresh token.".to_owned(),
        ),
    ];
    for number in 3..50 {
        let role = if number % 2 == 1 { "user" } else { "assistant" };
        said.push((role, format!("step {number} of the long way")));
    }
    said.push(("user", "keep a grace window of ten seconds".to_owned()));
    home.claude_log("s1", &said)
}

#[test]
fn a_memory_found_by_its_letters_is_edited_and_nothing_else_changes() {
    let home = shop();
    let before = files(&home);
    let tty = Tty::seeing(&home, "4 memories");
    tty.press("/", "find ❯");
    tty.see("newest first");
    tty.press("tkns lve", "1 found");
    tty.see("Tokens live for 15 minutes.");
    // Ctrl-E opens the editor at the hit.
    tty.press("\u{5}", "edit · auth.md");
    tty.press("All ", "All Tokens live");
    tty.press(SAVE, "save 1 file");
    tty.press(ENTER, "Memory saved: auth.md");
    let expected: Vec<(String, Vec<u8>)> = before
        .into_iter()
        .map(|(path, bytes)| {
            let text = String::from_utf8(bytes).expect("text");
            let text = text.replace("Tokens live", "All Tokens live");
            (path, text.into_bytes())
        })
        .collect();
    assert_eq!(files(&home), expected);
    // Find is there again with its query, and its message names a key that works there.
    tty.see("❯ tkns lve");
    tty.see("Alt-u undoes it");
    tty.press("\u{1b}u", "Undone");
    tty.send(ESCAPE);
    tty.gone("find ❯");
    tty.quit();
}

#[test]
fn a_raw_log_is_found_opened_at_the_line_and_grows_on_the_screen() {
    let home = shop();
    let log = talk(&home);
    let before = fs::read(&log).expect("there");
    let tty = Tty::seeing(&home, "1 session");
    tty.press("/", "find ❯");
    tty.press("\"grace window\"", "you · why do");
    tty.send(ENTER);
    let screen = tty.until("the reader", |screen| {
        // The last line is drawn last.
        screen.contains("J turn")
            && screen.contains("keep a grace window")
            && !screen.contains("reading…")
    });
    assert!(
        !screen.contains("Both present"),
        "not at the beginning: {screen}"
    );
    tty.press("g", "Both present the same refresh token.");
    tty.press("G", "keep a grace window");
    let mut file = fs::OpenOptions::new()
        .append(true)
        .open(&log)
        .expect("opens");
    let more = r#"{"type":"assistant","uuid":"u51","timestamp":"2026-01-02T03:05:00Z","message":{"role":"assistant","content":"Said while you were looking."}}"#;
    writeln!(file, "{more}").expect("writes");
    drop(file);
    tty.see("Said while you were looking.");
    let after = fs::read(&log).expect("there");
    assert_eq!(after[..before.len()], before[..], "logs are never written");
    assert_eq!(after.len(), before.len() + more.len() + 1);
    tty.press(ESCAPE, "find ❯");
    tty.press(ESCAPE, "4 memories");
    tty.quit();
}

#[test]
fn what_is_typed_before_the_first_frame_is_kept() {
    let home = shop();
    // The terminal is asked for its background, and does not answer.
    let tty = Tty::sized(&home, &[], (100, 30), &[("COLORFGBG", "")]);
    tty.press("/minutes", "❯ minutes");
    tty.see("Tokens live for 15 minutes.");
    tty.press(ESCAPE, "4 memories");
    tty.quit();
}

#[test]
fn the_scope_is_switched_inside() {
    let home = shop();
    let tty = Tty::seeing(&home, "4 memories");
    tty.press("A", "tome   everything");
    tty.press("A", "tome   project");
    tty.quit();
}

/// Runs `tome pick` with its output redirected to a file, as in a shell's `$(…)`.
fn pick(home: &Home, args: &str) -> Tty {
    let script = format!("exec \"$TOME\" pick {args} > \"$HOME/picked\"");
    let tome = env!("CARGO_BIN_EXE_tome");
    Tty::program(home, &["sh", "-c", &script], (100, 30), &[("TOME", tome)])
}

fn picked(home: &Home) -> String {
    fs::read_to_string(home.path().join("picked")).expect("it was made")
}

#[test]
fn what_is_picked_is_printed_and_the_terminal_is_only_drawn_on() {
    let home = shop();
    talk(&home);
    for (args, typed, expected) in [
        ("", "15 minutes", "auth.md#L9\n"),
        (
            "--print text",
            "15 minutes",
            "Tokens live for 15 minutes.\n",
        ),
        ("grace --print citation", "", "claude-code:s1#L50@677a15\n"),
    ] {
        let tty = pick(&home, args);
        tty.see("find ❯");
        tty.send(typed);
        tty.see("1 found");
        tty.send(ENTER);
        let (status, raw) = tty.end();
        assert!(status.success(), "{args}");
        super::is_restored(&raw);
        assert_eq!(picked(&home), expected, "{args}");
    }
    let tty = pick(&home, "grace --print resume");
    tty.see("1 found");
    tty.send(ENTER);
    assert!(tty.end().0.success());
    let line = picked(&home);
    starts(&line, "cd ");
    ends(&line, "claude --resume s1\n");
}

#[test]
fn nothing_picked_prints_nothing() {
    let home = shop();
    let tty = pick(&home, "");
    tty.see("newest first");
    tty.send(ESCAPE);
    let (status, _) = tty.end();
    assert_eq!(status.exit_code(), 1);
    assert_eq!(picked(&home), "");
}

#[test]
fn the_divider_is_dragged() {
    let home = shop();
    let tty = Tty::sized(&home, &[], (120, 30), &[]);
    // The upper border, which ends in the corner of the tree.
    let edge = |screen: &str| -> Option<usize> {
        let line = screen.lines().nth(1)?;
        line.chars().position(|c| c == '╮')
    };
    tty.see("4 memories");
    let screen = tty.until("a border", |screen| edge(screen).is_some());
    let before = edge(&screen).expect("it was seen");
    let (from, to) = (before + 1, before + 21);
    tty.send(&format!(
        "\u{1b}[<0;{from};5M\u{1b}[<32;{to};5M\u{1b}[<0;{to};5m"
    ));
    tty.until("a wider tree", |screen| {
        edge(screen).is_some_and(|edge| edge > before + 15)
    });
    tty.quit();
}

#[test]
fn the_first_log_of_an_agent_that_is_new_here_is_listed_at_once() {
    let home = shop();
    talk(&home);
    let tty = Tty::seeing(&home, "1 session");
    let id = "0199aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee";
    let cwd = home.project();
    home.file(
        &format!(".codex/sessions/2026/02/11/rollout-2026-02-11T10-00-00-{id}.jsonl"),
        format!(
            "{{\"timestamp\":\"2026-02-11T10:00:00.000Z\",\"type\":\"session_meta\",\"payload\":{{\"id\":\"{id}\",\"cwd\":\"{}\"}}}}\n{{\"timestamp\":\"2026-02-11T10:00:01.000Z\",\"type\":\"event_msg\",\"payload\":{{\"type\":\"user_message\",\"message\":\"which tea is it?\"}}}}\n",
            cwd.display()
        ),
    );
    tty.see("2 sessions");
    tty.quit();
}
