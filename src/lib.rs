//! tome: see, search, fix and prune what coding agents remember.
//!
//! The agents' own files are the only source of truth. One core reads and changes them. The doors
//! are the interfaces to it: the command line ([`cli`]), the terminal UI ([`tui`]), the MCP server
//! ([`mcp`]), the agents' hooks ([`hook`]), [`setup`], which registers tome with an agent, and, with
//! the feature of that name, the gRPC server (`grpc`). A door turns a user's or an agent's request
//! into a call of the core and formats the result. Only [`core::change`] writes memory files, and
//! nothing writes logs.
//!
//! # Direction
//!
//! Dependencies point one way: `main → cli → {tui, mcp, grpc, hook, setup} → core`. The core depends on
//! no terminal, no argument parser and no protocol. It does not read the environment, the home
//! directory or the clock, and it does not print: a door passes these in as values. Doors do not
//! depend on each other; an operation that two doors need is a function of the core.
//! `tests/it/rules.rs` checks this.
//!
//! # Rooms of the core
//!
//! Each room uses only those before it, and files of different folders do not import each other in
//! a circle; `tests/it/rules.rs` checks both.
//!
//! - [`core::text`]: pure text. Words and stems; [`core::text::header`] parses and splices the
//!   headers of memories, [`core::text::link`] their links; [`core::text::secret`] masks secrets and
//!   [`core::text::hidden`] finds invisible characters before a text leaves the machine.
//! - [`core::disk`]: files and threads. [`core::disk::foreign`] opens files that other programs
//!   wrote, [`core::disk::sandbox`] confines every access to a store's root,
//!   [`core::disk::trust`] decides where a project may point to, [`core::disk::private`] creates
//!   tome's own files, `core/disk/mapped.rs` maps them, [`core::disk::watch`] reports changes, [`core::disk::fault`] records errors of
//!   tome itself.
//! - [`core::log`]: agents' conversations, one module for each agent; [`core::log::reader`] reads on
//!   where a log has grown, [`core::log::keep`] copies logs before their agent deletes them.
//! - [`core::memory`]: what a memory is and where. [`core::memory::layout`] has the rules of the
//!   layouts, [`core::memory::store`] opens one store, [`core::memory::discover`] finds all,
//!   [`core::memory::library`] is a snapshot of stores and logs, [`core::memory::catalog`] selects
//!   the logs, [`core::memory::texts`] reads the memories, [`core::memory::citation`] names their
//!   parts, [`core::memory::config`] holds the settings.
//! - [`core::change`]: from a request to bytes and back. It plans and writes,
//!   [`core::change::history`] records changes and keeps every version, [`core::change::combine`]
//!   makes one text of two, `change/undo.rs` takes changes back, [`core::change::events`] appends
//!   what hooks captured.
//! - [`core::search`]: from a query to hits. [`core::search::index`] indexes the messages of logs
//!   with tantivy, [`core::search::query`] parses, [`core::search::recall`] and
//!   [`core::search::find`] find, [`core::search::format`] formats hits for agents.
//! - [`core::insight`]: what follows. [`core::insight::curate`] finds what is stale, doubled or dead,
//!   one rule a file; [`core::insight::sessions`] lists logs as sessions, [`core::insight::semantic`]
//!   finds by meaning; [`core::insight::review`] records writes of agents and keeps what a person
//!   accepted; [`core::insight::timeline`] divides logs into segments and summarizes these, their
//!   days, weeks, months and years; [`core::insight::promote`] turns their lines into memories;
//!   [`core::insight::context`] lists what an agent loads at its start;
//!   [`core::insight::correction`] finds where a person corrects an agent, and
//!   [`core::insight::ledger`] counts how each memory was used and said again;
//!   [`core::insight::guard`] finds what a person is asked about before an action;
//!   [`core::insight::rehome`] gathers the memories of a project that moved;
//!   [`core::insight::sync`] shares stores with other machines by a git remote.
//!
//! # Where a change begins
//!
//! - A store of another agent: `core/memory/discover/agents.rs`.
//! - A log format: a file in `core/log/`, a row of `FORMATS` in `core/log.rs`, and cases in
//!   `tests/fixtures/logs/`.
//! - A curate rule: a file in `core/insight/curate/` named like its id, and a row of `RULES` in
//!   `core/insight/curate.rs`; cases in `tests/fixtures/curate/`.
//! - A kind of secret: `core/text/secret/tokens.rs`.
//! - What a guard looks for: `core/insight/guard/check.rs`.
//! - What the ledger counts: `Account` in `core/insight/ledger.rs`.
//! - A setting: `core/memory/config.rs`, then `assets/config.toml`.
//! - A key: the action in `tui/action.rs`, then `assets/keymap.toml`.
//! - A colour: the role in `tui/theme.rs`, then `assets/theme.toml`.
//! - A verb of the command line: `cli/args.rs`, and a file in `cli/` named like it.
//! - An MCP tool: a row of `TOOLS` in `mcp/table.rs`; a gRPC method: `assets/timeline.proto`.
//! - An event of a hook: `hook/payload.rs`; an agent to register with: `AGENTS` in `setup.rs`.
//!
//! # The way of a query
//!
//! [`core::search::search`] reads the memories as they are on the disk and opens the corpus. That
//! lists the logs, compares size and time of each with the table of the last commit, reads what has
//! changed, and commits the new documents with a new table (`search/index/refresh.rs`).
//!
//! A question goes to [`core::search::recall`]. Its words without stop words are the needles
//! (`search/needle.rs`). The dictionary of the index has their forms, and their postings are gone
//! through once: they give each message a score, and of the best, how often these and the messages
//! around them have each needle (`search/index/lookup.rs`). Lines of memories are counted in
//! their text. Both are scored in the same way: BM25, neighbours, the conversation of the day,
//! coverage (`search/score.rs`). The texts of the best are read for the nearness of words,
//! phrases and questions. The messages of a session are scored together, copies in other sessions
//! are dropped, and the first hits are cut out.
//!
//! What somebody types goes to [`core::search::find`]. Each word is a range of the dictionary, or a
//! phrase. They are counted in the same way; the messages that have all, the newest first, are read
//! batch by batch; their lines are tested and scored (`search/find/term.rs`). If there are few, words
//! with a slip follow, and if there are none, letters in their order, ranked by nucleo.
//!
//! # Front door
//!
//! A program that uses this library discovers the stores, and loads a [`core::memory::library`] or reads
//! single stores. Here with the embedded sample:
//!
//! ```
//! use tome::core::change::history::{Author, History};
//! use tome::core::change::{
//!     ChangeContext, ChangeRequest, Direction, plan, plan_and_commit, replay,
//! };
//! use tome::core::memory::config::Settings;
//! use tome::core::memory::demo::unpack;
//! use tome::core::memory::discover::{DiscoveryScope, Environment, discover};
//! use tome::core::memory::layout::Fields;
//! use tome::core::memory::library::Library;
//! use tome::core::memory::texts::MemoryTexts;
//! use tome::core::search::query::Query;
//! use tome::core::search::recall::{RecallRequest, Scope, recall};
//! use tome::core::search::Sources;
//! use tome::core::text::time::Moment;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! let now = jiff::Zoned::now();
//! let moment = Moment { time: now.timestamp(), today: now.date() };
//! let sample = unpack(folder.path(), &moment)?;
//! let data = folder.path().join("data");
//!
//! // Open and list.
//! let environment = Environment::of_home(&sample.home, sample.project, data.clone());
//! let found = discover(&environment, &Settings::default(), DiscoveryScope::Project);
//! let library = Library::load(found);
//! let snapshot = library.store(".memory").ok_or("the sample has this store")?;
//! assert!(snapshot.memories.iter().any(|memory| memory.path == "auth_refactor.md"));
//!
//! // Recall. The logs would be searched, too, if `corpus` were given.
//! let store = snapshot.store.as_ref();
//! let texts = MemoryTexts::read([store])?;
//! let sources = Sources { memories: &texts, corpus: None };
//! let query = Query::of_prose("refresh token rotation", &now);
//! let request = RecallRequest { query: &query, scope: Scope::All, limit: 5, without: None };
//! assert_eq!(recall(sources, request).hits[0].path, "auth_refactor.md");
//!
//! // Write. What a change would do can be looked at before: `plan(…)?.diff()`.
//! let history = History::open(&data.join("history"));
//! let author = Author { who: "you".into(), door: "example".into() };
//! let request = ChangeRequest::Write {
//!     path: "style.md".into(),
//!     content: "Prefer plain words.\n".into(),
//!     fields: Fields {
//!         name: Some("Style".into()),
//!         description: Some("how we write".into()),
//!         category: Some("feedback".into()),
//!         ..Fields::default()
//!     },
//! };
//! let context = ChangeContext { moment: moment.clone(), expected: None, history: Some(history.clone()) };
//! let roots = [store.root().path()];
//! plan_and_commit(&history, &roots, &author, &moment, || plan(store, &request, &context))?;
//! assert!(store.read("style.md")?.lossy().ends_with("Prefer plain words.\n"));
//!
//! // Undo.
//! let record = history.undoable(&roots)?.ok_or("a change was recorded")?;
//! plan_and_commit(&history, &roots, &author, &moment, || {
//!     replay(&history, &record, Direction::Back, &moment)
//! })?;
//! assert!(store.read("style.md").is_err());
//! # Ok(())
//! # }
//! ```
//!
//! # Words
//!
//! A **store** is a root directory with one **layout**. A **memory** is one curated entry in it. A
//! **log** is a raw conversation, made of **messages**, and read-only. The **library** is a
//! snapshot of all stores and logs. The **corpus** is the indexed text of all logs. A **query** is
//! what is searched for; a **hit** is one result. A **revision** is a content hash. A **change** is
//! a planned edit; the **history** records the changes that were made. A **citation** points at any
//! of these. An **item** of the review is a file that others changed since the person accepted it.
//! A **correction** is a message of a person that corrects an agent; an **account** of the ledger is
//! what is known about the use of a memory. A **finding** is something to curate, with evidence. A
//! **segment** is a part of a log between two pauses; a **node** of the timeline summarizes a
//! segment, a session or a span of time in bullets; a **grip** links a bullet to the lines that
//! support it.

#[cfg(not(unix))]
compile_error!("tome needs a Unix system");

pub mod cli;
pub mod core;
#[cfg(feature = "grpc")]
pub mod grpc;
pub mod hook;
pub mod mcp;
pub mod setup;
pub mod tui;
