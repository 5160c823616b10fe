//! From the timeline to the lines of a log and to a memory of them, on a real terminal.

use std::fs;

use super::finding::talk;
use super::{ENTER, ESCAPE, SAVE, Tty, files, shop};

use crate::support::has;

#[test]
fn a_day_is_opened_down_to_the_log_and_escape_leads_back_to_the_tree() {
    let home = shop();
    talk(&home);
    let tty = Tty::seeing(&home, "1 session");
    tty.press("t", "Tuesday, 3 February");
    tty.see("timeline   2026 ▸ February ▸ Week 6 ▸ Tue 3");
    tty.see("10:00");
    tty.see("keep a grace window");
    // Down to the first bullet: it shows its lines, and then its log.
    tty.send("jj");
    tty.press(ENTER, "│ you");
    tty.press(ENTER, "log   ");
    tty.press(ESCAPE, "what happened");
    tty.press(ESCAPE, "4 memories");
    tty.gone("what happened");
    tty.quit();
}

#[test]
fn a_message_is_promoted_through_the_editor_and_a_diff_and_one_undo_takes_it_back() {
    let home = shop();
    let log = talk(&home);
    let before = files(&home);
    let tty = Tty::seeing(&home, "1 session");
    tty.press("/", "find ❯");
    tty.press("grace window of ten", "1 found");
    // The preview of Find tells the turn, too.
    tty.press(ENTER, "T tools");
    tty.see("turn 26/26");
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
    has(&text, ["#L50 "]);
    let grip = text
        .split_whitespace()
        .find(|word| word.starts_with("grip:"));
    let grip = grip.expect("a grip").to_owned();
    tty.press(ESCAPE, "find ❯");
    tty.press(ESCAPE, "5 memories");
    tty.quit();
    has(home.ok(&["recall", "grace window"]), [name.as_str()]);
    fs::remove_file(log).expect("the log is deleted");
    let shown = home.ok(&["grip", &grip]);
    has(
        &shown,
        ["keep a grace window of ten seconds", "The log is gone"],
    );
    home.ok(&["undo"]);
    assert_eq!(files(&home), before);
}
