//! What an agent writes while the program runs: counted, shown, reverted, brought back.

use std::fs;

use super::{ENTER, ESCAPE, Tty, files, shop};

use crate::support::lacks;

const REVIEW: &str = "R";

#[test]
fn what_an_agent_writes_waits_is_reverted_and_waits_again_after_undo() {
    let home = shop();
    let before = files(&home);
    let tty = Tty::seeing(&home, "4 memories");
    // The first sight of a store is no news, and what is written before it would be part of it.
    let seen = home.path().join(".local/share/tome/history/review");
    tty.until("the store was seen", |_| {
        fs::read_dir(&seen).is_ok_and(|mut files| files.next().is_some())
    });
    let path = home.project().join(".memory/auth.md");
    let text = fs::read_to_string(&path).expect("text");
    let theirs = text.replace("15 minutes", "30 days");
    fs::write(&path, &theirs).expect("writes");
    tty.see("1 to review · 4 memories");
    tty.press(REVIEW, "another program");
    tty.see("Tokens live for 30 days.");
    tty.press("J", "hunk 1 of 1");
    tty.press("r", "revert 1 file");
    tty.press(ENTER, "Nothing waits for review.");
    assert_eq!(files(&home), before);
    tty.press("u", "~ auth.md");
    tty.see("Tokens live for 30 days.");
    assert_eq!(fs::read_to_string(&path).expect("text"), theirs);
    tty.press("a", "Accepted; u takes it back");
    tty.see("Nothing waits for review.");
    tty.press("u", "~ auth.md");
    tty.see("Undone: Accepted: auth.md");
    tty.press("a", "Accepted; u takes it back");
    tty.see("Nothing waits for review.");
    tty.send(ESCAPE);
    tty.gone("Nothing waits");
    let screen = tty.see("4 memories");
    lacks(&screen, ["to review"]);
    assert_eq!(fs::read_to_string(&path).expect("text"), theirs);
    tty.quit();
    let counted = home.run(&["review", "--count"]);
    assert_eq!((counted.code, counted.out.as_str()), (0, "0\n"));
}

#[test]
fn what_was_written_since_the_last_time_is_counted_when_the_program_opens() {
    let home = shop();
    home.run(&["review"]);
    let path = home.project().join(".memory/new.md");
    fs::write(&path, super::memory("New", "project", "Said an agent.")).expect("writes");
    fs::remove_file(home.project().join(".memory/tea.md")).expect("deletes");
    let tty = Tty::seeing(&home, "2 to review");
    tty.press(REVIEW, "+ new.md");
    tty.see("− tea.md");
    tty.press("G", "to review");
    tty.press("A", "Nothing waits for review.");
    tty.send("qq");
    assert!(tty.end().0.success());
    assert_eq!(home.run(&["review", "--count"]).out, "0\n");
    assert!(path.exists());
}

#[test]
fn a_proposal_that_cannot_be_accepted_is_told() {
    let home = shop();
    home.file(".gemini/tmp/shop/memory/MEMORY.md", "# Project Memory\n");
    let known = serde_json::json!({ "projects": { home.project().display().to_string(): "shop" } });
    home.file(".gemini/projects.json", known.to_string());
    let at = home.file("project/.gemini/skills/own/SKILL.md", "- one\n");
    let at = at.display();
    let patch = format!("--- {at}\n+++ {at}\n@@ -1,1 +1,1 @@\n-- one\n+- two\n");
    home.file(".gemini/tmp/shop/memory/skills/own.patch", patch);
    let tty = Tty::seeing(&home, "memories");
    tty.press(REVIEW, "is left alone");
    tty.send(ESCAPE);
    tty.gone("Nothing waits");
    tty.quit();
}
