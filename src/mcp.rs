//! The door for agents: the stores as an MCP server on standard input and output.
//!
//! `table` says which tools there are; a file for each layout holds its own, and `memory` the
//! command set of Anthropic's memory tool over any store. Every write goes through
//! [`crate::core::change`], signed with the client's name. `server` is the only room that knows the
//! protocol. Standard output carries protocol and nothing else.

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

/// What is served, and what the server is told of the outside world.
pub struct ServerSetup {
    /// The stores, each with a name of its own.
    pub stores: Vec<Store>,
    /// How many of the stores, at the end, are not there yet; each is made by its first memory.
    pub firsts: usize,
    /// Where changes are recorded.
    pub history: History,
    /// The conversations that can be searched.
    pub logs: Box<dyn LogProvider>,
    /// What time it is.
    pub clock: fn() -> Moment,
    /// What clients may do.
    pub access: Access,
}

impl ServerSetup {
    /// How many stores were there from the start.
    fn there(&self) -> usize {
        self.stores.len().saturating_sub(self.firsts)
    }

    /// The stores that are there by now.
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
    /// Read; the tools that change are not offered.
    ReadOnly,
}

/// The conversations that can be searched: whoever starts the server knows where they are.
pub trait LogProvider: Send + Sync {
    /// Where they are now: stores that hold one come and go.
    fn log_catalog(&self) -> Result<LogCatalog>;
}

/// Serves until the client closes standard input.
pub fn serve(setup: ServerSetup) -> io::Result<()> {
    server::serve(setup)
}
