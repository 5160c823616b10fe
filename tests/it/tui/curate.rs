//! Findings in the terminal: fixed, waived, merged and taken back.

use std::fs;

use super::{ENTER, ESCAPE, SAVE, Tty, files, memory, shop};
use crate::support::{Home, has, lacks};

/// The shop with an invisible character in a memory, and a line of the index that leads nowhere.
fn untidy() -> Home {
    let home = shop();
    let text = memory("Pay", "project", "Pay the in\u{200b}voice.");
    home.file("project/.memory/pay.md", text);
    let index = home.read("project/.memory/MEMORY.md");
    let lines = "- [Pay](pay.md) - about Pay\n- [Gone](gone.md) - about Gone\n";
    home.file("project/.memory/MEMORY.md", format!("{index}{lines}"));
    home
}

#[test]
fn findings_are_fixed_and_waived_and_every_byte_comes_back() {
    let home = untidy();
    let before = files(&home);
    let tty = Tty::seeing(&home, "5 memories");
    tty.press("c", "hidden-text");
    tty.see("index-dangling");
    tty.gone(" rules");
    tty.see("2 findings · 2 fixable");
    // The worst is selected: its fix is shown first.
    tty.press("f", "fix 1 finding");
    assert_eq!(files(&home), before);
    tty.press(ENTER, "Fixed 1 finding");
    tty.see("1 finding · 1 fixable");
    has(home.read("project/.memory/pay.md"), ["the invoice."]);
    tty.press("w", "why");
    tty.press("it comes next week", "next week");
    tty.press(ENTER, "1 finding is waived");
    // One undo each, the newest first.
    tty.press("u", "index-dangling");
    tty.press("u", "hidden-text");
    tty.until("as before", |_| files(&home) == before);
    tty.send("g");
    tty.press("e", "edit · pay.md");
    tty.press(ESCAPE, "2 findings · 2 fixable");
    // What another program corrects is not listed any more.
    let index = home.read("project/.memory/MEMORY.md");
    let index = index.replace("- [Gone](gone.md) - about Gone\n", "");
    home.file("project/.memory/MEMORY.md", index);
    tty.gone("index-dangling");
    tty.press(ESCAPE, "5 memories");
    tty.quit();
}

#[test]
fn marked_memories_are_merged_side_by_side_edited_and_taken_apart_again() {
    let home = shop();
    let path = home.project().join(".memory/build.md");
    let text = memory(
        "Build",
        "project",
        "Use JWT.\n\nUse cargo.\n\nSee [d](deploy.md).",
    );
    fs::write(&path, text).expect("writes");
    let before = files(&home);
    let tty = Tty::seeing(&home, "4 memories");
    tty.press("G", "about Deploy");
    tty.press("kk", "about Auth");
    tty.press("  k", "2 marked");
    // Build is under the cursor: it stays.
    tty.see("about Build");
    tty.press("m", "merge into build.md · 1 to decide");
    tty.press("b", "everything is decided");
    tty.press(ENTER, "merge · build.md");
    tty.see("Tokens live for 15 minutes.");
    tty.press(SAVE, "merge 2 memories");
    tty.press(ENTER, "merged into build.md: auth.md");
    tty.see("3 memories");
    let text = home.read("project/.memory/build.md");
    assert_eq!(text.matches("Use JWT.").count(), 1, "{text}");
    has(&text, ["Use cargo.", "15 minutes."]);
    has(home.read("project/.memory/deploy.md"), ["[auth](build.md)"]);
    lacks(home.read("project/.memory/MEMORY.md"), ["auth.md"]);
    tty.press("u", "4 memories");
    tty.until("as before", |_| files(&home) == before);
    tty.quit();
}

#[test]
fn a_principle_is_derived_from_marked_lessons_and_links_both_ways() {
    let home = Home::new();
    for (file, title) in [("one", "First flake"), ("two", "Second flake")] {
        let text = format!(
            "**Title:** {title}\n**Description:** d\n\n**Content:** It failed once.\n\n**Tags:** #failure\n"
        );
        home.file(&format!("project/lessons/episodic/{file}.md"), text);
    }
    let tty = Tty::open(&home, &["--store", "./lessons", "--layout", "coder"]);
    tty.see("2 memories");
    tty.press("P", "Mark two or more lessons");
    // The whole store is marked at once.
    tty.press("g ", "2 marked");
    tty.press("P", "principle");
    tty.press("Inject clocks", "Inject clocks");
    tty.press(ENTER, "principle · semantic/");
    tty.press("Clocks are passed in.", "Clocks are passed in.");
    tty.press(SAVE, "derive a principle from 2 lessons");
    tty.press(ENTER, "3 memories");
    let principle = home.read("project/lessons/semantic/inject-clocks.md");
    has(
        &principle,
        ["[First flake](../episodic/one.md)", "Clocks are passed in."],
    );
    let lesson = home.read("project/lessons/episodic/two.md");
    let back = "Generalized in [Inject clocks](../semantic/inject-clocks.md).";
    has(&lesson, [back, "It failed once."]);
    tty.quit();
}
