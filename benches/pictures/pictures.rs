//! Draws screenshots: the real program in a pseudo-terminal, cell by cell.
//!
//! Run: `cargo run --example pictures`, which writes those of the README to `screenshots/*.png`;
//! with names after it (`… --example pictures find-dark help-dark`) only those. With
//! `-- --all DIRECTORY` it draws every place in both themes and three sizes, to be looked at; with
//! names of places after that only those. The program is built first.
//!
//! `… --example pictures demo` records the README's demo, which is made with the screenshots:
//! `screenshots/demo.svg`, animated, and `demo.cast`, which `asciinema play` shows in a terminal.
//!
//! The screenshots show the sample of `tome --demo` in a fixed folder, so that paths are the
//! same in all of them. Ages are those of the sample; dates and times are of the day on which
//! the screenshots were made.
//!
//! The font is JetBrains Mono if it is installed (`fonts-jetbrains-mono` in Debian), else DejaVu
//! Sans Mono; `TOME_PICTURE_FONT` sets another directory or file, see `font.rs`.

mod demo;
mod film;
mod font;
mod paint;
mod place;
mod shape;
#[allow(dead_code)] // some of it is for the soak
mod stage;

use std::error::Error;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use font::Fonts;
use paint::{Colours, DARK, LIGHT};
use place::{PLACES, Play};
use stage::{Size, TerminalSession};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The size of the README's screenshots.
const SIZE: Size = (120, 36);

/// The screenshots of the README: the place, and the theme.
const README: [(&str, &str); 14] = [
    ("browse", "dark"),
    ("browse", "light"),
    ("find", "dark"),
    ("find", "light"),
    ("edit", "dark"),
    ("save", "dark"),
    ("conflict", "dark"),
    ("log", "dark"),
    ("review", "dark"),
    ("curate", "dark"),
    ("timeline", "dark"),
    ("context", "dark"),
    ("history", "dark"),
    ("help", "dark"),
];

/// The name of the recorded demo.
const DEMO: &str = "demo";

const THEMES: [(&str, Colours); 2] = [("dark", DARK), ("light", LIGHT)];

/// The sizes of `--all`.
const SIZES: [Size; 3] = [(80, 24), SIZE, (200, 60)];

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.split_first() {
        Some((all, rest)) if all == "--all" => {
            let (folder, names) = rest.split_first().ok_or("--all needs a directory")?;
            draw_all(Path::new(folder), names)
        }
        _ => draw_readme(&args),
    }
}

/// Draws the README's screenshots, or those of these names.
fn draw_readme(names: &[String]) -> Result<()> {
    let pictures = README.map(|(place, theme)| (format!("{place}-{theme}"), place, theme));
    let known = pictures.iter().map(|(name, ..)| name.as_str());
    refuse_unknown(names, known.chain([DEMO]))?;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("screenshots");
    let painter = Painter::new(&folder)?;
    for (name, place, theme) in &pictures {
        if names.is_empty() || names.contains(name) {
            let known = PLACES.iter().find(|(known, _)| known == place);
            let (_, play) = known.ok_or("no such place")?;
            painter.draw(*play, theme, SIZE, name)?;
        }
    }
    if names.is_empty() || names.iter().any(|name| name == DEMO) {
        painter.record()
    } else {
        Ok(())
    }
}

/// Draws every place, or those of these names, in every theme and size.
fn draw_all(folder: &Path, names: &[String]) -> Result<()> {
    refuse_unknown(names, PLACES.iter().map(|(place, _)| *place))?;
    let painter = Painter::new(folder)?;
    let mut failures = Vec::new();
    for (place, play) in PLACES {
        if !names.is_empty() && !names.iter().any(|name| name == place) {
            continue;
        }
        for (theme, _) in &THEMES {
            for size in SIZES {
                let (columns, rows) = size;
                let name = format!("{place}-{theme}-{columns}x{rows}");
                // One that fails does not keep the others from being drawn, and has said why.
                let draw = || painter.draw(play, theme, size, &name).is_ok();
                if !catch_unwind(AssertUnwindSafe(draw)).unwrap_or(false) {
                    failures.push(name);
                }
            }
        }
    }
    if failures.is_empty() {
        Ok(())
    } else {
        Err(format!("not drawn: {}", failures.join(", ")).into())
    }
}

fn refuse_unknown<'a>(names: &[String], known: impl Iterator<Item = &'a str>) -> Result<()> {
    let known: Vec<&str> = known.collect();
    match names.iter().find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(format!("no picture '{name}'; there are {}", known.join(", ")).into()),
        None => Ok(()),
    }
}

/// Draws places into a directory.
struct Painter<'a> {
    folder: &'a Path,
    fonts: Fonts,
    program: PathBuf,
}

impl<'a> Painter<'a> {
    fn new(folder: &'a Path) -> Result<Self> {
        std::fs::create_dir_all(folder)?;
        Ok(Self {
            folder,
            fonts: Fonts::find()?,
            program: stage::built("pictures")?,
        })
    }

    fn draw(&self, play: Play, theme: &str, size: Size, name: &str) -> Result<()> {
        let (_, colours) = THEMES
            .iter()
            .find(|(known, _)| *known == theme)
            .ok_or("no such theme")?;
        let stage = TerminalSession::open(&self.program, colours.says, size, |_| Ok(()))?;
        play(&stage);
        let png = paint::png(&stage.still(), &self.fonts, colours)?;
        stage.leave()?;
        self.write(&format!("{name}.png"), &png)
    }

    /// Records the demo.
    fn record(&self) -> Result<()> {
        let stage = TerminalSession::open(&self.program, DARK.says, demo::SIZE, |_| Ok(()))?;
        let frames = demo::play(&stage);
        stage.leave()?;
        let svg = film::svg(&frames, &DARK, demo::TITLE);
        self.write(&format!("{DEMO}.svg"), svg.as_bytes())?;
        let cast = film::cast(&frames, demo::TITLE);
        self.write(&format!("{DEMO}.cast"), cast.as_bytes())
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let path = self.folder.join(name);
        std::fs::write(&path, bytes)?;
        say(&format!("{} ({} KB)", path.display(), bytes.len() / 1024));
        Ok(())
    }
}

fn say(line: &str) {
    // An error means that standard output is closed.
    drop(writeln!(std::io::stdout(), "{line}"));
}
