//! tome: see, search, fix and prune what coding agents remember.
//!
//! The truth is the agents' own files. One core reads and changes them; doors
//! (the command line, the terminal UI, [`mcp`] and [`hook`] for agents, [`setup`] that registers
//! them) turn a person's or an agent's request into a call of the core and its answer into words.
//! Nothing but [`core::change`] writes a memory
//! file, and logs are never written at all.
//!
//! # Direction
//!
//! `main → cli → {tui, mcp, hook, setup} → core`. The core knows no terminal, no argument parser and no
//! protocol; it reads no environment, no home directory and no clock, and prints
//! nothing: all of these are values that a door hands in. Doors do not know each
//! other. An operation that two doors need is a core function.
//! `tests/it/rules.rs` checks this.
//!
//! # Rooms of the core
//!
//! From a directory to memories: [`core::discover`] finds, [`core::trust`] says where a project may
//! lead, [`core::foreign`] opens what others wrote, [`core::sandbox`] confines,
//! [`core::layout`] and [`core::header`] understand, [`core::store`] opens, [`core::library`]
//! holds all of it at one moment. From a request to bytes: [`core::change`] plans and writes,
//! [`core::history`] remembers, [`core::unsaved`] keeps what is not written yet. From logs to
//! text: [`core::log`] reads one agent a file, [`core::corpus`] caches, [`core::catalog`] knows
//! which of them are searched. From a question to an answer: [`core::query`] understands, [`core::search`]
//! finds, [`core::format`] formats it for agents. [`core::watch`] hears of what others change,
//! [`core::fault`] keeps errors of tome itself.
//! Before text leaves the machine: [`core::secret`] masks secrets, [`core::hidden`] knows the
//! characters that nobody sees.
//!
//! # Words
//!
//! A **store** is a root directory with one **layout**; a **memory** is one curated
//! entry in it; a **log** is a raw conversation, made of **messages**, and
//! read-only; the **corpus** is the cached text of all logs. A **query** is what somebody
//! looks for, a **hit** what was found. A **revision** is a content hash. A **change** is a planned edit; the
//! **history** is what changes did. A **citation** points at any of these.

pub mod cli;
pub mod core;
pub mod hook;
pub mod mcp;
pub mod setup;
pub mod tui;
