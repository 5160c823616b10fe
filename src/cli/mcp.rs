//! `tome mcp`: serves the selected stores to an agent.

use super::args::McpArgs;
use super::print::print_error;
use super::world::{World, now};
use super::{CommandResult, Failure, Outcome};
use crate::core::catalog::LogCatalog;
use crate::core::layout::Layout;
use crate::core::store::Store;
use crate::core::{Error, Result};
use crate::mcp::{Access, LogProvider, ServerSetup, serve};

pub(super) fn run(args: &McpArgs, world: &World) -> CommandResult {
    let (mut stores, mut firsts) = (Vec::new(), Vec::new());
    if world.common.store.is_empty() {
        let found = world.discovered()?;
        for problem in &found.problems {
            print_error(&problem.error.to_string());
        }
        // Captured events are in the agents' own logs as well, which are searched anyway.
        let is_served =
            |store: &Store| !matches!(store.layout(), Layout::Instructions | Layout::Events);
        stores.extend(found.stores.into_iter().map(|found| found.store));
        stores.retain(is_served);
        if !args.read_only {
            firsts.extend(found.firsts.into_iter().map(|found| found.store));
        }
    } else {
        stores = world.memory_stores()?;
    }
    let count = firsts.len();
    stores.append(&mut firsts);
    let setup = ServerSetup {
        stores,
        firsts: count,
        history: world.history.clone(),
        clock: now,
        access: match args.read_only {
            true => Access::ReadOnly,
            false => Access::Full,
        },
        logs: Box::new(world.clone()),
    };
    serve(setup)?;
    Ok(Outcome::Done)
}

impl LogProvider for World {
    fn log_catalog(&self) -> Result<LogCatalog> {
        self.log_catalog().map_err(|failure| match failure {
            Failure::Core(error, _) => error,
            other => Error::refused("logs", other.to_string()),
        })
    }
}
