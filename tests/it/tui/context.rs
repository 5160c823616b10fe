//! What an agent loads: shown, edited with the meter in sight, and taken back.

use std::fs;

use super::{ENTER, ESCAPE, SAVE, Tty, shop};

use crate::support::has;

#[test]
fn a_file_that_an_agent_loads_is_edited_and_its_meter_is_seen_before_it_is_saved() {
    let home = shop();
    home.file(".claude/CLAUDE.md", "Be brief.\n");
    let path = home.file("project/CLAUDE.md", "# Shop\n\nBe kind.\n@docs/tests.md\n");
    home.file("project/docs/tests.md", "Run the tests.\n");
    home.file("project/AGENTS.md", "For Codex.\n");
    let before = fs::read_to_string(&path).expect("text");
    let tty = Tty::seeing(&home, "memories");
    tty.press("i", "context · claude-code in ~/project");
    let screen = tty.see("15 tokens");
    has(&screen, ["import  docs/tests.md"]);
    // What tome does not edit is shown.
    tty.press("jj", "Run the tests.");
    tty.press(
        ENTER,
        "Read only: tome edits memories and instruction files",
    );
    tty.send(ESCAPE);
    tty.gone("Read only");
    tty.press("k", "Be kind.");
    tty.press(ENTER, "claude-code 15 tokens");
    tty.press("Always and to everyone. ", "claude-code 15 → 21 tokens");
    tty.press(SAVE, "save 1 file");
    tty.press(ENTER, "context · claude-code");
    tty.see("21 tokens");
    let saved = fs::read_to_string(&path).expect("text");
    assert_ne!(saved, before);
    has(&saved, ["Always and to everyone."]);
    tty.press("u", "15 tokens");
    assert_eq!(fs::read_to_string(&path).expect("text"), before);
    tty.press("\t", "context · codex in ~/project");
    tty.see("For Codex.");
    tty.press(ESCAPE, "memories");
    tty.quit();
}
