//! The places of the program, and the keys that lead to them.

use crate::Result;
use crate::stage::TerminalSession;

pub(crate) const ENTER: &str = "\r";
pub(crate) const ESCAPE: &str = "\u{1b}";
pub(crate) const SAVE: &str = "\u{13}";
pub(crate) const END_OF_LINE: &str = "\u{1b}[F";

/// A place: its name, and the keys that lead to it.
pub(crate) struct Place {
    pub(crate) name: &'static str,
    pub(crate) play: fn(&mut TerminalSession) -> Result<()>,
}

const fn place(name: &'static str, play: fn(&mut TerminalSession) -> Result<()>) -> Place {
    Place { name, play }
}

pub(crate) const PLACES: [Place; 25] = [
    place("browse", browse),
    place("preview", preview),
    place("filter", filter),
    place("find", find),
    place("find-newest", find_newest),
    place("find-nothing", find_nothing),
    place("edit", edit),
    place("save", save),
    place("conflict", conflict),
    place("log", log),
    place("log-find", log_find),
    place("history", history),
    place("delete", delete),
    place("prune", prune),
    place("review", review),
    place("why", why),
    place("curate", curate),
    place("timeline", timeline),
    place("context", context),
    place("palette", palette),
    place("help", help),
    place("rename", rename),
    place("new", new),
    place("move", move_to),
    place("start", start),
];

/// Returns the place of this name.
pub(crate) fn by_name(name: &str) -> Result<&'static Place> {
    let place = PLACES.iter().find(|place| place.name == name);
    place.ok_or_else(|| format!("no place '{name}'").into())
}

/// Selects a memory by its name with the filter, then clears the filter.
fn go_to(stage: &mut TerminalSession, name: &str, then: &str) -> Result<()> {
    stage.see("memories")?;
    stage.press("f", "filter ❯")?;
    stage.press(name, name)?;
    stage.send(ENTER)?;
    stage.send("G")?;
    stage.see(then)?;
    stage.press(ESCAPE, "memories")?;
    stage.gone("filter ❯")
}

const AUTH: &str = "Use JWT with refresh token rotation.";

pub(crate) fn browse(stage: &mut TerminalSession) -> Result<()> {
    stage.see("9 sessions")?;
    // Row by row, so that the top of the tree stays visible.
    stage.press(&"j".repeat(22), AUTH)
}

fn find(stage: &mut TerminalSession) -> Result<()> {
    stage.see("memories")?;
    stage.see("9 sessions")?;
    stage.press("/", "find ❯")?;
    stage.press("refresh rot", "Auth Refactor")
}

fn edit(stage: &mut TerminalSession) -> Result<()> {
    browse(stage)?;
    stage.press("e", "edit · auth_refactor.md")?;
    // Ctrl-G moves to a line.
    stage.send("\u{7}")?;
    stage.press("13", "13")?;
    stage.send(ENTER)?;
    stage.send(END_OF_LINE)?;
    stage.press(", then a new login", "rotated on use, then a new login")
}

fn save(stage: &mut TerminalSession) -> Result<()> {
    edit(stage)?;
    stage.send("\u{7}")?;
    stage.press("3", "3")?;
    stage.send(ENTER)?;
    stage.send(END_OF_LINE)?;
    stage.press(", then login", "10 s, then login")?;
    stage.press(SAVE, "save 2 files")
}

fn conflict(stage: &mut TerminalSession) -> Result<()> {
    edit(stage)?;
    stage.change("shop/.memory/auth_refactor.md", |text| {
        text.replace("7 days, rotated on use", "14 days, rotated on use")
    })?;
    stage.press(SAVE, "was changed outside")
}

fn log(stage: &mut TerminalSession) -> Result<()> {
    stage.see("memories")?;
    stage.see("9 sessions")?;
    stage.press("/", "find ❯")?;
    stage.press("two tabs agent:claude-code", "log people out on two tabs")?;
    stage.press(ENTER, "J turn")?;
    stage.press("g", "why does refresh rotation")
}

fn history(stage: &mut TerminalSession) -> Result<()> {
    save(stage)?;
    stage.press(ENTER, "Memory saved")?;
    go_to(stage, "Search Index", "Product search is")?;
    stage.press("d", "delete 1 memory")?;
    stage.press("y", "Memory deleted")?;
    // All changes: what is gone has none of its own.
    stage.press("H", "2 changes")?;
    stage.see("Product search is")?;
    stage.press("j", "10 s, then")
}

fn help(stage: &mut TerminalSession) -> Result<()> {
    browse(stage)?;
    stage.press("?", "help · tree")
}

/// The first frame after everything is read.
fn start(stage: &mut TerminalSession) -> Result<()> {
    stage.see("9 sessions")
}

fn preview(stage: &mut TerminalSession) -> Result<()> {
    browse(stage)?;
    stage.press("\t", "follow")?;
    stage.press("+", AUTH)
}

fn filter(stage: &mut TerminalSession) -> Result<()> {
    stage.see("9 sessions")?;
    stage.press("f", "filter ❯")?;
    stage.press("test", "Testing Conventions")
}

fn find_newest(stage: &mut TerminalSession) -> Result<()> {
    stage.see("9 sessions")?;
    stage.press("/", "newest first")
}

fn find_nothing(stage: &mut TerminalSession) -> Result<()> {
    stage.see("9 sessions")?;
    stage.press("/", "newest first")?;
    stage.press("\"no such words\"", "nothing found")
}

fn log_find(stage: &mut TerminalSession) -> Result<()> {
    log(stage)?;
    stage.press("/", "Enter go on")?;
    stage.press("token", "token  1/")
}

fn delete(stage: &mut TerminalSession) -> Result<()> {
    browse(stage)?;
    stage.send(" j ")?;
    stage.press("d", "delete 2")
}

fn prune(stage: &mut TerminalSession) -> Result<()> {
    stage.see("9 sessions")?;
    stage.press("S", "oldest first")?;
    stage.press("jVjjj", "marked")
}

fn review(stage: &mut TerminalSession) -> Result<()> {
    stage.see("9 sessions")?;
    stage.change("shop/.memory/testing_conventions.md", |text| {
        format!("{text}\nSnapshots are reviewed by a second person.\n")
    })?;
    stage.change("shop/.memory/auth_refactor.md", |text| {
        text.replace("7 days, rotated on use", "30 days, rotated on use")
    })?;
    stage.see("2 to review")?;
    stage.press("R", "30 days, rotated on use")
}

/// The session behind each line of a memory.
fn why(stage: &mut TerminalSession) -> Result<()> {
    browse(stage)?;
    stage.press("W", "claude-code 11d")?;
    // On to the line that the session wrote.
    stage.press("jjjjjj", "Fix refresh rotation")
}

/// What the rules found.
fn curate(stage: &mut TerminalSession) -> Result<()> {
    stage.see("memories")?;
    stage.press("c", "dead-path")?;
    stage.see("broken-link")?;
    stage.gone(" rules")
}

/// What happened, and a calendar of it.
fn timeline(stage: &mut TerminalSession) -> Result<()> {
    stage.see("memories")?;
    stage.press("t", "what happened")?;
    stage.see("Asked")
}

/// What an agent loads at its start.
fn context(stage: &mut TerminalSession) -> Result<()> {
    stage.see("memories")?;
    stage.press("a", "CLAUDE.md")?;
    stage.see("tokens")
}

fn palette(stage: &mut TerminalSession) -> Result<()> {
    browse(stage)?;
    stage.press(":", "❯")?;
    stage.press("re", "rename")
}

fn rename(stage: &mut TerminalSession) -> Result<()> {
    browse(stage)?;
    stage.press("r", "rename")
}

fn new(stage: &mut TerminalSession) -> Result<()> {
    browse(stage)?;
    stage.press("n", "new memory")
}

fn move_to(stage: &mut TerminalSession) -> Result<()> {
    browse(stage)?;
    stage.press("M", "move")
}
