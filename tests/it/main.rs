//! Integration tests: they run the program and check the files.

mod bad_input;
mod begin;
mod careful;
mod cli;
mod concurrency;
mod crash;
mod doctor;
mod faults;
mod history;
mod hook;
mod hostile;
mod indexes;
mod layouts;
mod logs;
mod mcp;
mod odd_files;
mod private;
mod properties;
mod recall;
mod rules;
mod sandbox;
mod sessions;
mod setup;
mod support;
mod tui;
mod whole;
