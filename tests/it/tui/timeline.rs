//! From the timeline to the lines of a log and to a memory of them, on a real terminal.

use std::fs;

use super::finding::talk;
use super::{ENTER, ESCAPE, SAVE, Tty, files, shop};

#[test]
fn a_day_is_opened_down_to_the_log_and_escape_leads_back_to_the_tree() {
    let home = shop();
    talk(&home);
    let tty = Tty::open(&home, &[]);
    tty.see("1 session");
    tty.press("t", "Friday, 2 January");
    tty.see("timeline   2026 ▸ January ▸ Week 1 ▸ Fri 2");
    tty.see("03:04");
    tty.see("keep a grace window");
    // Down to the first bullet: it shows its lines, and then its log.
    tty.send("jj");
    tty.press(ENTER, "│ you");
    tty.press(ENTER, "log   ");
    tty.press(ESCAPE, "what happened");
    tty.send(ESCAPE);
    tty.see("4 memories");
    tty.gone("what happened");
    tty.send("q");
    assert!(tty.end().0.success());
}

#[test]
fn the_calendar_and_last_week_are_places_to_go_to() {
    let home = shop();
    talk(&home);
    let tty = Tty::sized(&home, &[], (80, 24), &[]);
    tty.see("1 session");
    tty.press("t", "Friday, 2 January");
    tty.press("w", "Last week");
    // Nothing happened there: the nearest day is shown.
    tty.press("\u{1b}[B\u{1b}[B\u{1b}[B\r", "Nothing happened in");
    tty.see("Friday, 2 January");
    tty.press("\tg", "2 January 2026");
    tty.press(ENTER, "Fri 2");
    tty.send(ESCAPE);
    tty.see("4 memories");
    tty.send("q");
    assert!(tty.end().0.success());
}

#[test]
fn a_message_is_promoted_through_the_editor_and_a_diff_and_one_undo_takes_it_back() {
    let home = shop();
    let log = talk(&home);
    let before = files(&home);
    let tty = Tty::open(&home, &[]);
    tty.see("1 session");
    tty.press("/", "find ❯");
    tty.send("grace window of ten");
    tty.see("1 found");
    tty.press(ENTER, "turn 26/26");
    tty.press("p", "promote to a memory");
    // The name is proposed; Enter goes on to the editor.
    tty.press(ENTER, "> keep a grace window of ten seconds");
    tty.see("<!-- grip:");
    tty.press(SAVE, "save 2 files");
    tty.press(ENTER, "Memory saved");
    let after = files(&home);
    assert_eq!(after.len(), before.len() + 1);
    let (name, text) = after
        .iter()
        .find(|(name, _)| before.iter().all(|(known, _)| known != name))
        .expect("a new file");
    let text = String::from_utf8(text.clone()).expect("text");
    assert!(text.contains("#L50 "), "{text}");
    let grip = text
        .split_whitespace()
        .find(|word| word.starts_with("grip:"));
    let grip = grip.expect("a grip").to_owned();
    tty.press(ESCAPE, "find ❯");
    tty.press(ESCAPE, "5 memories");
    tty.send("q");
    assert!(tty.end().0.success());
    assert!(home.ok(&["recall", "grace window"]).contains(name.as_str()));
    fs::remove_file(log).expect("the log is deleted");
    let shown = home.ok(&["grip", &grip]);
    assert!(
        shown.contains("keep a grace window of ten seconds"),
        "{shown}"
    );
    assert!(shown.contains("The log is gone"), "{shown}");
    home.ok(&["undo"]);
    assert_eq!(files(&home), before);
}
