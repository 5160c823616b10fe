//! Draws the screenshots of the README: the real program in a pseudo-terminal, cell by cell.
//!
//! Run: `cargo run --example pictures`, which writes `screenshots/*.png`; with names after
//! it (`… --example pictures find-dark help-dark`) only those. The program is built first.
//!
//! The screenshots show the sample of `tome --demo` in a fixed folder, so that paths are the
//! same in all of them. Ages are those of the sample; dates and times are of the day on which
//! the screenshots were made.
//!
//! The font is JetBrains Mono if it is installed (`fonts-jetbrains-mono` in Debian), else DejaVu
//! Sans Mono; `TOME_PICTURE_FONT` sets another directory or file, see `font.rs`.

mod font;
mod paint;
mod shape;
mod stage;

use std::error::Error;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use font::Fonts;
use paint::Colours;
use stage::TerminalSession;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const ENTER: &str = "\r";
const ESCAPE: &str = "\u{1b}";
const SAVE: &str = "\u{13}";
const END_OF_LINE: &str = "\u{1b}[F";

/// A screenshot: its name, the colours of the terminal, and the keys that lead to it.
struct Picture {
    name: &'static str,
    colours: Colours,
    play: fn(&mut TerminalSession) -> Result<()>,
}

const PICTURES: [Picture; 10] = [
    Picture {
        name: "browse-dark",
        colours: paint::DARK,
        play: browse,
    },
    Picture {
        name: "browse-light",
        colours: paint::LIGHT,
        play: browse,
    },
    Picture {
        name: "find-dark",
        colours: paint::DARK,
        play: find,
    },
    Picture {
        name: "find-light",
        colours: paint::LIGHT,
        play: find,
    },
    Picture {
        name: "edit-dark",
        colours: paint::DARK,
        play: edit,
    },
    Picture {
        name: "save-dark",
        colours: paint::DARK,
        play: save,
    },
    Picture {
        name: "conflict-dark",
        colours: paint::DARK,
        play: conflict,
    },
    Picture {
        name: "log-dark",
        colours: paint::DARK,
        play: log,
    },
    Picture {
        name: "history-dark",
        colours: paint::DARK,
        play: history,
    },
    Picture {
        name: "help-dark",
        colours: paint::DARK,
        play: help,
    },
];

fn main() -> Result<()> {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    if let Some(unknown) = asked
        .iter()
        .find(|name| PICTURES.iter().all(|picture| picture.name != **name))
    {
        let known: Vec<&str> = PICTURES.iter().map(|picture| picture.name).collect();
        return Err(format!("no picture '{unknown}'; there are {}", known.join(", ")).into());
    }
    let fonts = Fonts::find()?;
    let program = built()?;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("screenshots");
    std::fs::create_dir_all(&folder)?;
    for picture in PICTURES {
        if !asked.is_empty() && !asked.iter().any(|name| name == picture.name) {
            continue;
        }
        let mut stage = TerminalSession::open(&program, picture.colours.says)?;
        (picture.play)(&mut stage).map_err(|error| format!("{}: {error}", picture.name))?;
        let screen = stage.still();
        let png = paint::png(&screen, &fonts, &picture.colours)?;
        let path = folder.join(format!("{}.png", picture.name));
        std::fs::write(&path, &png)?;
        say(&format!("{} ({} KB)", path.display(), png.len() / 1024));
        stage.leave()?;
    }
    Ok(())
}

/// Builds the program beside this one, and returns its path.
fn built() -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    let folder = own.ancestors().nth(2).ok_or("no folder of programs")?;
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // With the example, so that shared dependencies have the same features and are not rebuilt.
    cargo.args(["build", "--quiet", "--bin", "tome", "--example", "pictures"]);
    if folder.ends_with("release") {
        cargo.arg("--release");
    }
    let built = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).status()?;
    let program = folder.join(format!("tome{}", std::env::consts::EXE_SUFFIX));
    match built.success() && program.is_file() {
        true => Ok(program),
        false => Err(format!("{}: the program could not be built", program.display()).into()),
    }
}

fn say(line: &str) {
    // An error means that standard output is closed.
    drop(writeln!(std::io::stdout(), "{line}"));
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

fn browse(stage: &mut TerminalSession) -> Result<()> {
    stage.see("9 sessions")?;
    // Row by row, so that the top of the tree stays visible.
    stage.press(&"j".repeat(16), AUTH)
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
    stage.press(ENTER, "Fix refresh rotation")?;
    stage.press("g", "why does refresh rotation")
}

fn history(stage: &mut TerminalSession) -> Result<()> {
    save(stage)?;
    stage.press(ENTER, "Memory saved")?;
    go_to(stage, "Search Index", "Product search is")?;
    stage.press("d", "delete")?;
    stage.send(ENTER)?;
    stage.gone("Product search is")?;
    stage.press("H", "changes")?;
    stage.see("Product search is")?;
    stage.press("j", ", then a new login")
}

fn help(stage: &mut TerminalSession) -> Result<()> {
    browse(stage)?;
    stage.press("?", "keys · tree")
}
