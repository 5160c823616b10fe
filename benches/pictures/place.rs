//! The places of the program, and the keys that lead to them.

use crate::stage::TerminalSession;

pub(crate) const ENTER: &str = "\r";
pub(crate) const ESCAPE: &str = "\u{1b}";
pub(crate) const SAVE: &str = "\u{13}";
pub(crate) const END_OF_LINE: &str = "\u{1b}[F";

/// The keys that lead to a place.
pub(crate) type Play = fn(&TerminalSession);

/// The places, by their names.
pub(crate) const PLACES: [(&str, Play); 25] = [
    ("browse", browse),
    ("preview", preview),
    ("filter", filter),
    ("find", find),
    ("find-newest", find_newest),
    ("find-nothing", find_nothing),
    ("edit", edit),
    ("save", save),
    ("conflict", conflict),
    ("log", log),
    ("log-find", log_find),
    ("history", history),
    ("delete", delete),
    ("prune", prune),
    ("review", review),
    ("why", why),
    ("curate", curate),
    ("timeline", timeline),
    ("context", context),
    ("palette", palette),
    ("help", help),
    ("rename", rename),
    ("new", new),
    ("move", move_to),
    ("start", start),
];

/// Selects a memory by its name with the filter, then clears the filter.
fn go_to(stage: &TerminalSession, name: &str, then: &str) {
    stage.see("memories");
    stage.press("f", "filter ❯");
    stage.press(name, name);
    stage.send(ENTER);
    stage.send("G");
    stage.see(then);
    stage.press(ESCAPE, "memories");
    stage.gone("filter ❯");
}

const AUTH: &str = "Use JWT with refresh token rotation.";

pub(crate) fn browse(stage: &TerminalSession) {
    stage.see("9 sessions");
    // Row by row, so that the top of the tree stays visible.
    stage.press(&"j".repeat(22), AUTH);
}

fn find(stage: &TerminalSession) {
    stage.see("memories");
    stage.see("9 sessions");
    stage.press("/", "find ❯");
    stage.press("refresh rot", "Auth Refactor");
}

fn edit(stage: &TerminalSession) {
    browse(stage);
    stage.press("e", "edit · auth_refactor.md");
    // Ctrl-G moves to a line.
    stage.send("\u{7}");
    stage.press("13", "13");
    stage.send(ENTER);
    stage.send(END_OF_LINE);
    stage.press(", then a new login", "rotated on use, then a new login");
}

fn save(stage: &TerminalSession) {
    edit(stage);
    stage.send("\u{7}");
    stage.press("3", "3");
    stage.send(ENTER);
    stage.send(END_OF_LINE);
    stage.press(", then login", "10 s, then login");
    stage.press(SAVE, "save 2 files");
}

fn conflict(stage: &TerminalSession) {
    edit(stage);
    stage.change("shop/.memory/auth_refactor.md", |text| {
        text.replace("7 days, rotated on use", "14 days, rotated on use")
    });
    stage.press(SAVE, "was changed outside");
}

fn log(stage: &TerminalSession) {
    stage.see("memories");
    stage.see("9 sessions");
    stage.press("/", "find ❯");
    stage.press("two tabs agent:claude-code", "log people out on two tabs");
    stage.press(ENTER, "J turn");
    stage.press("g", "why does refresh rotation");
}

fn history(stage: &TerminalSession) {
    save(stage);
    stage.press(ENTER, "Memory saved");
    go_to(stage, "Search Index", "Product search is");
    stage.press("d", "delete 1 memory");
    stage.press("y", "Memory deleted");
    // All changes: what is gone has none of its own.
    stage.press("H", "2 changes");
    stage.see("Product search is");
    stage.press("j", "10 s, then");
}

fn help(stage: &TerminalSession) {
    browse(stage);
    stage.press("?", "help · tree");
}

/// The first frame after everything is read.
fn start(stage: &TerminalSession) {
    stage.see("9 sessions");
}

fn preview(stage: &TerminalSession) {
    browse(stage);
    stage.press("\t", "follow");
    stage.press("+", AUTH);
}

fn filter(stage: &TerminalSession) {
    stage.see("9 sessions");
    stage.press("f", "filter ❯");
    stage.press("test", "Testing Conventions");
}

fn find_newest(stage: &TerminalSession) {
    stage.see("9 sessions");
    stage.press("/", "newest first");
}

fn find_nothing(stage: &TerminalSession) {
    stage.see("9 sessions");
    stage.press("/", "newest first");
    stage.press("\"no such words\"", "nothing found");
}

fn log_find(stage: &TerminalSession) {
    log(stage);
    stage.press("/", "Enter go on");
    stage.press("token", "token  1/");
}

fn delete(stage: &TerminalSession) {
    browse(stage);
    stage.send(" j ");
    stage.press("d", "delete 2");
}

fn prune(stage: &TerminalSession) {
    stage.see("9 sessions");
    stage.press("S", "oldest first");
    stage.press("jVjjj", "marked");
}

fn review(stage: &TerminalSession) {
    stage.see("9 sessions");
    stage.change("shop/.memory/testing_conventions.md", |text| {
        format!("{text}\nSnapshots are reviewed by a second person.\n")
    });
    stage.change("shop/.memory/auth_refactor.md", |text| {
        text.replace("7 days, rotated on use", "30 days, rotated on use")
    });
    stage.see("2 to review");
    stage.press("R", "30 days, rotated on use");
}

/// The session behind each line of a memory.
fn why(stage: &TerminalSession) {
    browse(stage);
    stage.press("W", "tells who wrote this line");
    // On to the line that the session wrote.
    stage.press("jjjjjj", "Fix refresh rotation");
}

/// What the rules found.
fn curate(stage: &TerminalSession) {
    stage.see("memories");
    stage.press("c", "dead-path");
    stage.see("broken-link");
    stage.gone(" rules");
}

/// What happened, and a calendar of it.
fn timeline(stage: &TerminalSession) {
    stage.see("memories");
    stage.press("t", "what happened");
    stage.see("Asked");
}

/// What an agent loads at its start.
fn context(stage: &TerminalSession) {
    stage.see("memories");
    stage.press("i", "CLAUDE.md");
    stage.see("tokens");
}

fn palette(stage: &TerminalSession) {
    browse(stage);
    stage.press(":", "❯");
    stage.press("re", "rename");
}

fn rename(stage: &TerminalSession) {
    browse(stage);
    stage.press("r", "rename");
}

fn new(stage: &TerminalSession) {
    browse(stage);
    stage.press("n", "new memory");
}

fn move_to(stage: &TerminalSession) {
    browse(stage);
    stage.press("M", "move");
}
