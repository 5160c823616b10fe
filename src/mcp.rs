//! The MCP server: serves the stores to agents on standard input and output.
//!
//! `table` lists the tools and decides which are served; `read` and `file` define those for memory
//! files, `recall` and `timeline` those that search and browse the logs, `coder` and `events` those
//! of their layouts, and `memory` the command set of Anthropic's memory tool over any store. `call`
//! finds the store of a call. `prompt` and `resource` serve the guides and the memories by URI;
//! `subscription` notifies clients of changes. Every write goes through [`crate::core::change`], with
//! the client's name as its author. Only `server` knows the protocol. Standard output carries the
//! protocol and nothing else.

mod answer;
mod call;
mod coder;
mod events;
mod file;
mod prompt;
mod read;
mod recall;
mod resource;
#[expect(
    deprecated,
    reason = "clients of the protocol versions in use log and subscribe this way"
)]
mod server;
mod subscription;
mod table;
mod timeline;

use std::fmt;
use std::io;

use crate::core::change::history::History;
use crate::core::log::Agent;
use crate::core::memory::catalog::LogProvider;
use crate::core::memory::layout::Layout;
use crate::core::memory::store::Store;
use crate::core::text::time::Moment;

/// What is served, and the history, logs and clock that the server uses.
pub struct ServerSetup {
    /// The stores, with unique names.
    pub stores: Vec<ServedStore>,
    /// The layouts that can be used. They decide which tools are served.
    pub layouts: Vec<Layout>,
    /// Where changes are recorded.
    pub history: History,
    /// The logs to search.
    pub logs: Box<dyn LogProvider>,
    /// Returns the current time.
    pub clock: fn() -> Moment,
    /// What clients may do.
    pub access: Access,
    /// How many results a recall has where the client does not say.
    pub recall_limit: usize,
    /// How many bytes clients may keep in `facts/`; 0 is any number.
    pub facts_budget: u64,
    /// The id of the session that started the server, if it says so.
    pub session: Option<String>,
    /// When the server was started.
    pub started: jiff::Timestamp,
}

/// A store that is served.
#[derive(Debug)]
pub struct ServedStore {
    /// The store.
    pub store: Store,
    /// What it is for.
    pub purpose: StorePurpose,
}

/// What a store is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StorePurpose {
    /// Memories for every client.
    Shared,
    /// The memory that an agent loads by itself; it is left out of that agent's tools.
    Own(Agent),
    /// A memory of an agent that new memories do not belong in, such as a subagent's.
    Aside(Agent),
    /// A past session: searched and read, not written unless it is named.
    Session,
    /// Does not exist yet; its first memory creates it.
    First,
}

impl StorePurpose {
    /// Returns the agent that loads the store by itself.
    fn owner(self) -> Option<Agent> {
        match self {
            Self::Own(agent) | Self::Aside(agent) => Some(agent),
            Self::Shared | Self::Session | Self::First => None,
        }
    }
}

impl ServedStore {
    fn is_present(&self) -> bool {
        self.purpose != StorePurpose::First || self.store.root().exists()
    }
}

impl ServerSetup {
    /// Returns the stores that exist now.
    fn present(&self) -> Vec<&Store> {
        let present = self.stores.iter().filter(|served| served.is_present());
        present.map(|served| &served.store).collect()
    }
}

impl fmt::Debug for ServerSetup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerSetup")
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

/// Serves until the client closes standard input.
pub fn serve(setup: ServerSetup) -> io::Result<()> {
    server::serve(setup)
}

#[cfg(test)]
mod tests;
