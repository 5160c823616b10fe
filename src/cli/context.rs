//! `tome context`: what an agent reads of the stores when a session starts; with an agent, all that
//! it loads by itself.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::args::ContextArgs;
use super::print::{Cell, Printer, TextStyle};
use super::setup::{homes, program};
use super::world::World;
use super::{CommandResult, Failure, Outcome};
use crate::core::insight::context::{
    AGENTS, AgentContext, CHARACTERS_PER_TOKEN, Draft, KnownAgent, Piece, PieceKind, Start, pieces,
};
use crate::core::log::Agent;
use crate::core::memory::store::Store;
use crate::core::text::display::format_size;
use crate::core::text::hidden::without_hidden;
use crate::core::{self, Error};
use crate::hook::start_context;
use crate::setup::{SetupMode, SetupRequest, SetupScope, plan};
use crate::tui::ContextSource;

pub(super) fn run(args: &ContextArgs, world: &World, printer: &mut Printer) -> CommandResult {
    if let Some(name) = &args.agent {
        let agent = Agent::named(name).filter(|agent| AGENTS.contains(agent));
        let agent = agent.ok_or_else(|| {
            let known: Vec<&str> = AGENTS.iter().map(|agent| agent.name()).collect();
            Failure::Usage(format!(
                "no agent '{name}'; known agents: {}",
                known.join(", ")
            ))
        })?;
        return effective(agent, args.cwd.as_deref(), world, printer);
    }
    let mut blocks = Vec::new();
    for store in world.memory_stores()? {
        let text = store.rules().context(&store);
        let text = text.map_err(|error| Failure::Core(error, Some(store.layout())))?;
        blocks.push((store, text));
    }
    show(blocks, printer)
}

/// Prints one text per store; several texts each get a heading with the store's name.
pub(super) fn show(mut blocks: Vec<(Store, String)>, printer: &mut Printer) -> CommandResult {
    blocks.retain(|(_, text)| !text.is_empty());
    if printer.is_json() {
        let views: Vec<Value> = blocks
            .iter()
            .map(|(store, text)| {
                json!({ "store": store.name(), "layout": store.layout(), "text": text })
            })
            .collect();
        printer.list("views", views)?;
    } else {
        let several = blocks.len() > 1;
        for (at, (store, text)) in blocks.iter().enumerate() {
            if several {
                if at > 0 {
                    printer.line("")?;
                }
                let heading = format!("── {} ({})", store.name(), store.layout());
                let heading = printer.paint(TextStyle::Strong, &heading);
                printer.styled_line(&heading)?;
            }
            printer.line(text)?;
        }
    }
    Ok(if blocks.is_empty() {
        Outcome::Nothing
    } else {
        Outcome::Done
    })
}

/// Shows everything that an agent loads when it starts in a directory.
fn effective(
    agent: Agent,
    cwd: Option<&Path>,
    world: &World,
    printer: &mut Printer,
) -> CommandResult {
    let mut world = world.clone();
    if let Some(cwd) = cwd {
        // Agents see the real path of their working directory.
        let real = world.environment.cwd.join(cwd).canonicalize();
        world.environment.cwd = real.map_err(|e| Error::io(cwd, e))?;
    }
    let context = WorldContexts(world).read(agent, None)?;
    if printer.is_json() {
        let pieces: Vec<Value> = context.pieces.iter().map(as_json).collect();
        printer.object(json!({
            "agent": agent.name(),
            "cwd": context.cwd,
            "pieces": pieces,
            "tokens": context.tokens(),
        }))?;
    } else {
        list(&context, printer)?;
    }
    Ok(if context.pieces.is_empty() {
        Outcome::Nothing
    } else {
        Outcome::Done
    })
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
        let start = Start {
            environment: &world.environment,
            settings: &world.settings,
            managed: Path::new(MANAGED),
            opencode: &dirs.opencode,
            copilot: &dirs.copilot,
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
const MANAGED: &str = match cfg!(target_os = "macos") {
    true => "/Library/Application Support/ClaudeCode",
    false if cfg!(windows) => "C:\\Program Files\\ClaudeCode",
    false => "/etc/claude-code",
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
        };
        plan(&dirs, request).is_ok_and(|plan| !plan.steps.is_empty())
    };
    let is_on = world.settings.hook.context
        && [SetupScope::User, SetupScope::Project]
            .into_iter()
            .any(is_registered);
    let text = is_on.then(|| start_context(world, &world.environment.cwd, (agent, "")))?;
    let text = without_hidden(&text).to_string();
    let name = PathBuf::from(format!("tome hook {}", agent.name()));
    let size = text.len() as u64;
    (!text.is_empty()).then(|| Piece::whole(name, PieceKind::Hook, size, text))
}

fn as_json(piece: &Piece) -> Value {
    json!({
        "path": piece.path,
        "kind": piece.kind.name(),
        "bytes": piece.bytes,
        "loaded_bytes": piece.text.len(),
        "tokens": piece.tokens(),
        "cut": piece.cut,
        "text": piece.text,
    })
}

/// Prints a line for each piece: kind, file, size, tokens, what is cut off.
fn list(context: &AgentContext, printer: &mut Printer) -> Result<(), Failure> {
    let heading = printer.paint(
        TextStyle::Strong,
        &format!(
            "{} in {}: {}, {} tokens at {CHARACTERS_PER_TOKEN} characters each",
            context.agent.name(),
            context.name_of(&context.cwd),
            format_size(context.bytes() as u64),
            context.tokens(),
        ),
    );
    printer.styled_line(&heading)?;
    let rows: Vec<Vec<Cell>> = context
        .pieces
        .iter()
        .map(|piece| {
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
        })
        .collect();
    printer.table(&rows)?;
    Ok(())
}
