//! A store that another process is changing: only a change of that store waits.

use std::fs;
use std::time::{Duration, Instant};

use super::{END, ESCAPE, Tty, go_to, shop};
use crate::support::{Home, Paused, has, not_run};

/// A process that holds the lock of the shop's store until it is resumed; `None` if it cannot be
/// paused.
fn holding(home: &Home) -> Option<Paused> {
    if !cfg!(debug_assertions) {
        not_run("only a debug build can be stopped at a step");
        return None;
    }
    let patch = ["patch", "tea.md", "--old", "Green.", "--new", "Black."];
    // Every step of a change runs under the lock.
    Some(home.paused_at(&patch, 1).expect("it stops"))
}

#[test]
fn reading_and_typing_go_on_while_a_change_waits_for_its_store() {
    let home = shop();
    let Some(other) = holding(&home) else { return };
    let tty = Tty::seeing(&home, "4 memories");
    go_to(&tty, "Build");
    tty.press("d", "delete 1 memory");
    tty.press("y", "waiting for tome patch (pid ");
    // Reading, changes from outside and typing do not wait.
    tty.send(ESCAPE);
    tty.gone("filter ❯");
    go_to(&tty, "Deploy");
    tty.see("By hand.");
    let path = home.project().join(".memory/deploy.md");
    let text = fs::read_to_string(&path).expect("text");
    fs::write(&path, text.replace("By hand.", "By robots.")).expect("writes");
    tty.see("By robots.");
    tty.press("e", "edit · deploy.md");
    tty.send(END);
    tty.press("Precious.", "Precious.");
    let drawer = home.path().join(".local/share/tome/unsaved");
    tty.until("the text on the disk", |_| {
        let kept = crate::support::tree(&drawer);
        let mut kept = kept.values().map(|bytes| String::from_utf8_lossy(bytes));
        kept.any(|text| text.contains("Precious."))
    });
    assert!(home.project().join(".memory/build.md").exists());
    assert_eq!(other.go_on().0, Some(0));
    tty.see("Memory deleted: build.md");
    tty.gone("waiting for");
    assert!(!home.project().join(".memory/build.md").exists());
    has(home.read("project/.memory/tea.md"), ["Black."]);
    tty.send(ESCAPE);
    tty.gone("edit · ");
    tty.quit();
}

#[test]
fn quitting_does_not_wait_for_a_store_and_says_what_was_not_done() {
    let home = shop();
    let Some(other) = holding(&home) else { return };
    let tty = Tty::seeing(&home, "4 memories");
    go_to(&tty, "Build");
    tty.press("d", "delete 1 memory");
    tty.press("y", "waiting for tome patch (pid ");
    let start = Instant::now();
    tty.send("q");
    let (status, raw) = tty.end();
    assert!(start.elapsed() < Duration::from_secs(5), "it waited");
    assert!(!status.success());
    let told = raw.contains("tome: the last change was not made");
    assert!(told, "{}", raw.escape_debug());
    assert_eq!(other.go_on().0, Some(0));
    assert!(home.project().join(".memory/build.md").exists());
}
