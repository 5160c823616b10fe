//! The MCP server: serves the stores to agents on standard input and output.
//!
//! `table` lists the tools; each layout defines its own tools in a file, and `memory` the command
//! set of Anthropic's memory tool over any store. Every write goes through
//! [`crate::core::change`], with the client's name as its author. Only `server` knows the
//! protocol. Standard output carries the protocol and nothing else.

mod answer;
mod call;
mod coder;
mod events;
mod facts;
mod general;
mod index;
mod memory;
mod prompt;
mod recall;
mod resource;
mod server;
mod table;

use std::fmt;
use std::io;

use crate::core::Result;
use crate::core::catalog::LogCatalog;
use crate::core::change::Moment;
use crate::core::history::History;
use crate::core::store::Store;

/// What is served, and the history, logs and clock that the server uses.
pub struct ServerSetup {
    /// The stores, with unique names.
    pub stores: Vec<Store>,
    /// How many stores, at the end of the list, do not exist yet; the first memory creates each.
    pub firsts: usize,
    /// Where changes are recorded.
    pub history: History,
    /// The logs to search.
    pub logs: Box<dyn LogProvider>,
    /// Returns the current time.
    pub clock: fn() -> Moment,
    /// What clients may do.
    pub access: Access,
}

impl ServerSetup {
    /// Returns how many stores existed from the start.
    fn there(&self) -> usize {
        self.stores.len().saturating_sub(self.firsts)
    }

    /// Returns the stores that exist now.
    fn present(&self) -> Vec<&Store> {
        let all = self.stores.iter().enumerate();
        all.filter(|(at, store)| *at < self.there() || store.root().exists())
            .map(|(_, store)| store)
            .collect()
    }
}

impl fmt::Debug for ServerSetup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Serving")
            .field("stores", &self.stores)
            .field("access", &self.access)
            .finish_non_exhaustive()
    }
}

/// What clients may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Read and change.
    Full,
    /// Read only; tools that change memories are not offered.
    ReadOnly,
}

/// Provides the logs to search, which the caller of [`serve`] locates.
pub trait LogProvider: Send + Sync {
    /// Returns the current catalog, because stores with logs can appear and disappear.
    fn log_catalog(&self) -> Result<LogCatalog>;
}

/// Serves until the client closes standard input.
pub fn serve(setup: ServerSetup) -> io::Result<()> {
    server::serve(setup)
}
