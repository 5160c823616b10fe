//! `tome mcp`: the stores that are meant, served to an agent.

use super::args::McpArgs;
use super::print::complain;
use super::world::{World, now};
use super::{Ended, Failure, Outcome};
use crate::core::archive::Archive;
use crate::core::layout::Layout;
use crate::core::store::Store;
use crate::core::{Error, Result};
use crate::mcp::{Access, Logs, Serving, serve};

pub(super) fn run(args: &McpArgs, world: &World) -> Ended {
    let (mut stores, mut firsts) = (Vec::new(), Vec::new());
    if world.common.store.is_empty() {
        let found = world.discovered()?;
        for problem in &found.problems {
            complain(&problem.error.to_string());
        }
        // What hooks captured is in the agents' own logs, too, which are searched anyway.
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
    let serving = Serving {
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
