//! `tome context`: what an agent reads of the stores when a session starts; with an agent, all that
//! it loads by itself. And `tome view`: a store as its agent sees it.

use std::env;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::args::{ContextArgs, ViewArgs};
use super::print::{Cell, Json, Printer, Report, Reported, TextStyle};
use super::setup::{homes, program};
use super::world::{World, agent_named};
use super::{Failure, Outcome};
use crate::core::insight::context::{
    AGENTS, AgentContext, CHARACTERS_PER_TOKEN, Draft, KnownAgent, Piece, PieceKind, Start, pieces,
};
use crate::core::log::Agent;
use crate::core::memory::store::Store;
use crate::core::text::display::format_size;
use crate::core::text::hidden::without_hidden;
use crate::core::{self, Error};
use crate::hook::HookMemory as _;
use crate::setup::{Actions, SetupMode, SetupRequest, SetupScope, plan};
use crate::tui::ContextSource;

pub(super) fn run(args: &ContextArgs, world: &World) -> Reported<'static> {
    if let Some(name) = &args.agent {
        let agent = agent_named(name, AGENTS.into_iter())?;
        return effective(agent, args.cwd.as_deref(), world);
    }
    ViewReport::of(world, |store| store.rules().context(store))
}

pub(super) fn view(args: &ViewArgs, world: &World) -> Reported<'static> {
    ViewReport::of(world, |store| store.rules().view(store, args.target))
}

/// One text per store.
struct ViewReport(Vec<(Store, String)>);

impl ViewReport {
    /// Returns the texts of the selected stores that are not empty.
    fn of(world: &World, text: impl Fn(&Store) -> core::Result<String>) -> Reported<'static> {
        let mut views = Vec::new();
        for store in world.memory_stores()? {
            let text = text(&store).map_err(|error| Failure::Core(error, Some(store.layout())))?;
            if !text.is_empty() {
                views.push((store, text));
            }
        }
        Ok(Box::new(Self(views)))
    }
}

impl Report for ViewReport {
    fn json(&self) -> Result<Json<'_>, Failure> {
        let views = self.0.iter().map(
            |(store, text)| json!({ "store": store.name(), "layout": store.layout(), "text": text }),
        );
        Ok(Json::list("views", views))
    }

    /// Prints the texts; several of them each get a heading with the store's name.
    fn print(&self, printer: &mut Printer) -> io::Result<()> {
        let several = self.0.len() > 1;
        for (at, (store, text)) in self.0.iter().enumerate() {
            if several {
                if at > 0 {
                    printer.line("")?;
                }
                let heading = format!("── {} ({})", store.name(), store.layout());
                printer.painted_line(TextStyle::Strong, &heading)?;
            }
            printer.line(text)?;
        }
        Ok(())
    }

    fn outcome(&self) -> Outcome {
        Outcome::found(!self.0.is_empty())
    }
}

/// Shows everything that an agent loads when it starts in a directory.
fn effective(agent: Agent, cwd: Option<&Path>, world: &World) -> Reported<'static> {
    let mut world = world.clone();
    if let Some(cwd) = cwd {
        // Agents see the real path of their working directory.
        let real = world.environment.cwd.join(cwd).canonicalize();
        world.environment.cwd = real.map_err(|e| Error::io(cwd, e))?;
    }
    let context = WorldContexts(world).read(agent, None)?;
    Ok(Box::new(context))
}

impl Report for AgentContext {
    fn json(&self) -> Result<Json<'_>, Failure> {
        let pieces: Vec<Value> = self.pieces.iter().map(as_json).collect();
        let json = json!({
            "agent": self.agent.name(),
            "cwd": self.cwd.to_string_lossy(),
            "pieces": pieces,
            "tokens": self.tokens(),
        });
        Ok(json.into())
    }

    /// Prints a line for each piece: kind, file, size, tokens, what is cut off.
    fn print(&self, printer: &mut Printer) -> io::Result<()> {
        let heading = format!(
            "{} in {}: {}, {} tokens at {CHARACTERS_PER_TOKEN} characters each",
            self.agent.name(),
            self.name_of(&self.cwd),
            format_size(self.bytes() as u64),
            self.tokens(),
        );
        printer.painted_line(TextStyle::Strong, &heading)?;
        let rows: Vec<Vec<Cell>> = self.pieces.iter().map(|piece| row(self, piece)).collect();
        printer.table(&rows)
    }

    fn outcome(&self) -> Outcome {
        Outcome::found(!self.pieces.is_empty())
    }
}

/// Reads what agents load in the working directory of a world.
#[derive(Debug)]
pub(super) struct WorldContexts(pub(super) World);

impl ContextSource for WorldContexts {
    fn agents(&self) -> Vec<KnownAgent> {
        let dirs = homes(&self.0);
        let known = AGENTS.into_iter().map(|agent| KnownAgent {
            agent,
            is_installed: match agent {
                Agent::ClaudeCode => dirs.claude.is_dir(),
                Agent::Codex => dirs.codex.is_dir(),
                Agent::Gemini => dirs.gemini.is_dir(),
                Agent::Opencode => dirs.opencode.is_dir(),
                _ => dirs.copilot.is_dir(),
            },
        });
        let mut known: Vec<KnownAgent> = known.collect();
        known.sort_by_key(|known| !known.is_installed);
        known
    }

    fn read(&self, agent: Agent, draft: Option<&Draft>) -> core::Result<AgentContext> {
        let world = &self.0;
        let dirs = homes(world);
        let utf8 = |(name, value): (OsString, OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        let variables: Vec<(String, String)> = env::vars_os().filter_map(utf8).collect();
        let start = Start {
            environment: &world.environment,
            settings: &world.settings,
            managed: Path::new(MANAGED),
            copilot: &dirs.copilot,
            variables: &variables,
            draft,
        };
        let mut pieces = pieces(agent, &start)?;
        pieces.extend(of_hook(agent, world));
        Ok(AgentContext {
            agent,
            cwd: world.environment.cwd.clone(),
            home: world.environment.home.clone(),
            pieces,
        })
    }
}

/// Claude Code's directory of instructions for every user of the machine.
const MANAGED: &str = if cfg!(target_os = "macos") {
    "/Library/Application Support/ClaudeCode"
} else {
    "/etc/claude-code"
};

/// Returns what tome's hook adds, if it is registered with the agent.
fn of_hook(agent: Agent, world: &World) -> Option<Piece> {
    let (dirs, program) = (homes(world), program());
    let is_registered = |scope: SetupScope| {
        let request = SetupRequest {
            agent,
            scope,
            mode: SetupMode::Remove,
            program: &program,
            actions: Actions::default(),
        };
        plan(&dirs, request).is_ok_and(|plan| !plan.steps.is_empty())
    };
    let is_on = world.settings.hook.context
        && [SetupScope::User, SetupScope::Project]
            .into_iter()
            .any(is_registered);
    let text = is_on.then(|| world.context(&world.environment.cwd, agent, ""))?;
    let text = without_hidden(&text).to_string();
    let name = PathBuf::from(format!("tome hook {}", agent.name()));
    let size = text.len() as u64;
    (!text.is_empty()).then(|| Piece::whole(name, PieceKind::Hook, size, text))
}

fn as_json(piece: &Piece) -> Value {
    json!({
        "path": piece.path.to_string_lossy(),
        "kind": piece.kind.name(),
        "bytes": piece.bytes,
        "loaded_bytes": piece.text.len(),
        "tokens": piece.tokens(),
        "cut": piece.cut,
        "text": piece.text,
    })
}

fn row(context: &AgentContext, piece: &Piece) -> Vec<Cell> {
    let rest = if piece.is_continued() {
        ", continued"
    } else {
        ""
    };
    let cut = piece.cut.as_ref().map(|cut| {
        if piece.text.is_empty() {
            cut.clone()
        } else {
            format!("cut off: {cut}")
        }
    });
    let name = format!("{}{rest}", context.name_of(&piece.path));
    vec![
        Cell::plain(piece.kind.name()),
        Cell::new(TextStyle::Strong, name),
        Cell::number(TextStyle::Plain, format_size(piece.text.len() as u64)),
        Cell::number(TextStyle::Plain, piece.tokens().to_string()),
        Cell::new(TextStyle::Attention, cut.unwrap_or_default()),
    ]
}
