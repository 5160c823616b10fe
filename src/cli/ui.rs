//! `tome` without a verb: starts the terminal UI and detects what the terminal can do.

use std::env;
use std::io::{self, IsTerminal as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::context::WorldContexts;
use super::world::{World, now};
use super::{CommandResult, Failure, Outcome};
use crate::core::Error;
use crate::core::change::Author;
use crate::core::disk::foreign::{LARGEST_SETTINGS, read_text};
use crate::core::disk::sandbox::Root;
use crate::core::memory::config::{Color, Settings, Warning};
use crate::core::memory::discover::{project_folders, searched_places};
use crate::core::memory::layout::Layout;
use crate::tui::theme::{Background, ColorDepth, Terminal, Theme, ThemeFile};
use crate::tui::{self, ClipboardCommand, CurateSetup, Exit, NamedStore, Pick, Setup, StoreSource};

/// Opens the terminal UI, at `path` if given.
pub(super) fn run(path: Option<&Path>, world: &World) -> CommandResult {
    if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        return Err(Failure::usage(
            "the terminal UI needs a terminal; `tome list` and `tome --help` work without one",
        ));
    }
    world.sweep();
    if open(path, None, world)? == Exit::Demo {
        open(None, None, &World::for_demo(&world.common)?)?;
    }
    Ok(Outcome::Done)
}

/// Opens the UI, or with `pick` only the finder; returns why it ended.
pub(super) fn open(
    path: Option<&Path>,
    pick: Option<Pick>,
    world: &World,
) -> Result<Exit, Failure> {
    let (source, title) = source(path, world)?;
    let curate = curate_setup(&source, world);
    let (terminal, typed) = terminal(&world.settings);
    let mut warnings = world.warnings.clone();
    let theme_file = read("theme.toml", world, &mut warnings);
    let file = theme_file
        .as_ref()
        .map(|(path, text)| ThemeFile { path, text });
    let (theme, of_theme) = Theme::load(terminal, file);
    warnings.extend(of_theme);
    let keymap = read("keymap.toml", world, &mut warnings);
    let mut here = world.clone();
    if let StoreSource::Discover { environment, .. } = &source {
        here.environment.clone_from(environment);
    }
    let left = tui::run(Setup {
        source,
        curate,
        contexts: Arc::new(WorldContexts(here)),
        pick,
        // Printing on standard error would corrupt the screen.
        history: world
            .history
            .clone()
            .with_wait_observer(Arc::new(|_| ControlFlow::Continue(()))),
        unsaved: world.data_dir.join("unsaved"),
        faults: world.data_dir.join("errors.log"),
        author: Author {
            door: "tui".to_owned(),
            ..world.author()
        },
        clock: now,
        zone: world.now.time_zone().clone(),
        catalog: world.log_catalog()?,
        editor_keys: world.settings.editor_keys,
        theme,
        keymap,
        editor: ["VISUAL", "EDITOR"].into_iter().find_map(|name| {
            let set = env::var(name).ok();
            set.filter(|command| !command.trim().is_empty())
        }),
        clipboard: clipboard_commands(|name| {
            env::var_os(name).is_some_and(|value| !value.is_empty())
        })
        .into_iter()
        .filter_map(|mut command| {
            let program = world.program(command.first()?)?;
            command[0] = program.to_str()?.to_owned();
            Some(command)
        })
        .collect(),
        title,
        searched_places: searched_places(&world.environment, &world.settings, &world.locations),
        typed,
        warnings,
        panics: cfg!(debug_assertions) && env::var_os(super::world::PANIC).is_some(),
    });
    left.map_err(|failure| match failure {
        tui::Failure::Terminal(error) => error.into(),
        unwritten @ tui::Failure::Unwritten(_) => Failure::Usage(unwritten.to_string()),
    })
}

/// Returns the programs that may reach a clipboard here, given which variables are set.
fn clipboard_commands(is_set: impl Fn(&str) -> bool) -> Vec<ClipboardCommand> {
    let mut commands: Vec<&[&str]> = Vec::new();
    if is_set("WAYLAND_DISPLAY") {
        commands.push(&["wl-copy"]);
    }
    if is_set("DISPLAY") {
        commands.push(&["xclip", "-selection", "clipboard"]);
        commands.push(&["xsel", "--clipboard", "--input"]);
    }
    if cfg!(target_os = "macos") {
        commands.push(&["pbcopy"]);
    }
    if is_set("TMUX") {
        commands.push(&["tmux", "load-buffer", "-w", "-"]);
    }
    let words = |words: &&[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    commands.iter().map(words).collect()
}

/// Reads a file of the settings directory; `None` if it does not exist or cannot be read.
fn read(name: &str, world: &World, warnings: &mut Vec<Warning>) -> Option<(PathBuf, String)> {
    let path = world.config_dir.join(name);
    match read_text(&path, LARGEST_SETTINGS) {
        Ok(text) => text.map(|text| (path, text)),
        Err(error) => {
            warnings.push(Warning {
                place: name.to_owned(),
                message: format!("not used, the default applies: {error}"),
            });
            None
        }
    }
}

/// Returns where the stores come from, and the title of the UI.
fn source(path: Option<&Path>, world: &World) -> Result<(StoreSource, String), Failure> {
    if !world.common.store.is_empty() {
        let stores = world.stores()?;
        let title = stores.first().map(|store| store.name().to_owned());
        let named = stores
            .iter()
            .map(|store| NamedStore {
                name: store.name().to_owned(),
                root: store.root().path().to_owned(),
                layout: Some(store.layout()),
            })
            .collect();
        return Ok((StoreSource::Named(named), title.unwrap_or_default()));
    }
    let mut environment = world.environment.clone();
    if let Some(path) = path {
        let there = environment.cwd.join(path);
        if !there.is_dir() {
            return Err(Failure::Usage(format!(
                "{}: no such directory or command; see `tome --help`",
                path.display()
            )));
        }
        let there = there.canonicalize().map_err(|e| Error::io(path, e))?;
        if let Some(named) = store_at(&there, world) {
            let title = named.name.clone();
            return Ok((StoreSource::Named(vec![named]), title));
        }
        environment.cwd = there;
    }
    let title = name(&environment.cwd);
    let source = StoreSource::Discover {
        environment: Box::new(environment),
        settings: Box::new(world.settings.clone()),
        scope: world.scope(),
    };
    Ok((source, title))
}

/// Returns where findings come from in the project that the UI is about.
fn curate_setup(source: &StoreSource, world: &World) -> CurateSetup {
    let environment = match source {
        StoreSource::Discover { environment, .. } => (**environment).clone(),
        StoreSource::Named(_) => world.environment.clone(),
    };
    CurateSetup {
        project: project_folders(&environment.cwd).pop(),
        environment,
        git: world.git().clone(),
        settings: world.settings.curate.clone(),
        cache: Some(world.curate_cache()),
    }
}

/// Returns the directory as a store, if it is one.
fn store_at(path: &Path, world: &World) -> Option<NamedStore> {
    let root = Root::open(path).ok()?;
    let layout = world
        .common
        .layout
        .or_else(|| match Layout::detect(&root).as_slice() {
            [one] => Some(*one),
            _ => None,
        })?;
    Some(NamedStore {
        name: name(path),
        root: PathBuf::from(path),
        layout: Some(layout),
    })
}

fn name(path: &Path) -> String {
    path.file_name().map_or_else(
        || path.display().to_string(),
        |name| name.to_string_lossy().into_owned(),
    )
}

/// Determines colour depth and background of the terminal, from variables and its own reply.
/// Returns what was typed meanwhile, too.
pub(super) fn terminal(settings: &Settings) -> (Terminal, Vec<u8>) {
    let says = |name: &str| env::var(name).unwrap_or_default();
    let no_color = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let depth = match settings.color {
        Color::Never => ColorDepth::Plain,
        Color::Auto if no_color => ColorDepth::Plain,
        _ if says("TERM") == "dumb" => ColorDepth::Plain,
        _ if matches!(says("COLORTERM").as_str(), "truecolor" | "24bit") => ColorDepth::True,
        _ => ColorDepth::Ansi,
    };
    let (background, typed) = match from_colorfgbg(&says("COLORFGBG")) {
        Some(background) => (Some(background), Vec::new()),
        None => tui::background(),
    };
    let background = background.unwrap_or_default();
    (Terminal { background, depth }, typed)
}

/// Parses `COLORFGBG`: `15;0` is white on black.
fn from_colorfgbg(value: &str) -> Option<Background> {
    let background: u8 = value.rsplit(';').next()?.parse().ok()?;
    Some(match background {
        7 | 9..=15 => Background::Light,
        _ => Background::Dark,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_background_is_the_last_number() {
        for (value, expected) in [
            ("15;0", Some(Background::Dark)),
            ("0;15", Some(Background::Light)),
            ("0;default;15", Some(Background::Light)),
            ("", None),
            ("default", None),
        ] {
            assert_eq!(from_colorfgbg(value), expected, "{value}");
        }
    }
}
