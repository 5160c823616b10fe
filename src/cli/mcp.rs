//! `tome mcp`: the stores that are meant, served to an agent.

use super::args::McpArgs;
use super::world::{World, now};
use super::{Ended, Failure, Outcome};
use crate::core::archive::Archive;
use crate::core::layout::Layout;
use crate::core::{Error, Result};
use crate::mcp::{Access, Logs, Serving, serve};

pub(super) fn run(args: &McpArgs, world: &World) -> Ended {
    let mut stores = world.memory_stores()?;
    if world.common.store.is_empty() {
        // What hooks captured is in the agents' own logs, too, which are searched anyway.
        stores.retain(|store| store.layout() != Layout::Events);
    }
    let serving = Serving {
        stores,
        history: world.history.clone(),
        clock: now,
        access: match args.read_only {
            true => Access::ReadOnly,
            false => Access::Full,
        },
        logs: Box::new(world.clone()),
    };
    serve(serving)?;
    Ok(Outcome::Done)
}

impl Logs for World {
    fn archive(&self) -> Result<Archive> {
        self.archive().map_err(|failure| match failure {
            Failure::Core(error, _) => error,
            other => Error::refused("logs", other.to_string()),
        })
    }
}
