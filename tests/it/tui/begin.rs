//! How the UI begins on a real terminal: with the first memory of a project that has none, and with
//! settings that cannot be read.

use super::{ENTER, ESCAPE, SAVE, Tty};
use crate::support::{Home, has};

#[test]
fn the_first_memory_is_written_where_nothing_is_and_taken_back_with_its_folder() {
    let home = Home::new();
    let root = home.project().join(".memory");
    let tty = Tty::seeing(&home, "No agent remembers");
    tty.see("write the first memory");
    tty.press("n", "will be made");
    tty.press("Release day", "/.memory/release_day.md");
    tty.press(ENTER, "edit · ");
    tty.press("Tag it.", "Tag it.");
    tty.press(SAVE, "Enter save");
    assert!(!root.exists(), "it is shown before it is made");
    tty.press(ENTER, "Memory saved");
    let text = home.read("project/.memory/release_day.md");
    has(&text, ["Tag it."]);
    tty.see("1 memory");
    tty.press("u", "Undone");
    assert!(!root.exists(), "the folder is gone again");
    tty.see("No agent remembers");
    tty.quit();
}

#[test]
fn instructions_alone_do_not_stand_in_the_way_of_the_first_memory() {
    let home = Home::new();
    home.file("project/CLAUDE.md", "# Shop\n");
    let tty = Tty::seeing(&home, "CLAUDE.md");
    tty.press("n", "will be made");
    tty.see(".memory · index");
    tty.send(ESCAPE);
    tty.until("the form to close", |screen| {
        !screen.contains("will be made")
    });
    tty.quit();
}

#[test]
fn a_theme_or_keymap_that_cannot_be_read_is_told_and_the_default_applies() {
    let home = Home::new();
    home.file("project/.memory/MEMORY.md", "- [a](a.md)\n");
    home.file("project/.memory/a.md", "Deploys go out on Thursdays.\n");
    for name in ["theme.toml", "keymap.toml"] {
        let path = home.path().join(".config/tome").join(name);
        std::fs::create_dir_all(path).expect("a folder in its place");
    }
    let tty = Tty::seeing(&home, "theme.toml");
    tty.see("the default applies");
    tty.send(ESCAPE);
    tty.until("the warnings to close", |screen| {
        !screen.contains("theme.toml")
    });
    tty.see("1 memory");
    tty.quit();
}
