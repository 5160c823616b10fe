//! Every door, from outside: the program is run, files are looked at.

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
mod private;
mod properties;
mod recall;
mod rules;
mod sandbox;
mod setup;
mod support;
mod tui;
mod whole;
