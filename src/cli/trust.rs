//! `tome trust`: allows links and settings of projects to point to a path outside them, by an
//! entry in the user's own settings.

use std::path::Path;

use serde_json::json;

use super::args::TrustArgs;
use super::print::{Answer, Reported, Text, print_note};
use super::world::World;
use super::{Failure, Outcome};
use crate::core::Error;
use crate::core::disk::foreign::{LARGEST_SETTINGS, read_text};
use crate::core::disk::trust::{Trust, real_path, with_trusted};
use crate::core::memory::config::expand;
use crate::setup::{FileStep, replace};

pub(super) fn run(args: &TrustArgs, world: &World) -> Reported<'static> {
    let asked = expand(&args.path, &world.environment.home, &world.environment.cwd);
    let real = real_path(&asked);
    let trust = if args.remove {
        Trust::Take
    } else {
        Trust::Give
    };
    if trust == Trust::Give && !real.exists() {
        let what = format!("{}: no such file or directory", asked.display());
        return Err(Failure::Usage(what));
    }
    let name = real.to_str().ok_or_else(|| {
        let what = "the path is not UTF-8; the settings cannot name it";
        Error::refused(real.display().to_string(), what)
    })?;
    let is_it = |known: &&String| {
        real_path(&expand(known, &world.environment.home, Path::new("/"))) == real
    };
    // The settings may write the path differently, such as ~/notes.
    let known = world.settings.trusted.iter().find(is_it);
    let own = world.config_dir.join("config.toml");
    let path = world.common.config.clone().unwrap_or(own);
    let before = read_text(&path, LARGEST_SETTINGS)?;
    let text = before.as_deref().unwrap_or_default();
    let edited = match (trust, known) {
        (Trust::Give, Some(_)) => None,
        (_, known) => with_trusted(text, known.map_or(name, String::as_str), trust)
            .map_err(|what| Error::refused(path.display().to_string(), what))?,
    };
    let Some(after) = edited else {
        let (what, outcome) = match trust {
            Trust::Give => ("is trusted already", Outcome::Done),
            Trust::Take => ("is not trusted", Outcome::Nothing),
        };
        let json = json!({ "path": real, "settings": path.to_string_lossy(), "diff": "" });
        let line = format!("{} {what}", world.short_path(&real));
        return Answer::ending(outcome, json, Text::Line(line));
    };
    let step = FileStep {
        path: path.clone(),
        before,
        after: Some(after),
    };
    if !args.dry_run {
        replace(&path, step.after.as_deref().unwrap_or_default())?;
        if trust == Trust::Give {
            print_note(&format!("tome trust {} --remove undoes this", args.path));
        }
    }
    let json = json!({ "path": real, "settings": path.to_string_lossy(), "diff": step.diff() });
    Answer::done(json, Text::Diff(step.diff()))
}
