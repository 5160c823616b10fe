//! The command line: parses the arguments, calls the core, prints text or JSON.
//!
//! [`args`] defines every verb once; help, completions and man page are generated from it. Each
//! verb is a file. Only `world` reads the environment, the home directory and the clock.
//! Exit status: 0 done, 1 nothing found or check failed, 2 error.

pub mod args;
mod change;
mod completions;
mod context;
mod corpus;
mod curate;
mod doctor;
mod find;
mod guard;
mod history;
mod hook;
mod index;
mod keep;
mod ledger;
mod list;
mod log;
mod logs;
mod mcp;
mod merge;
mod pick;
mod print;
mod promote;
mod read;
mod recall;
mod rehome;
mod resume;
mod review;
mod select;
mod serve;
mod setup;
mod stats;
mod stores;
mod sync;
mod timeline;
mod topics;
mod trust;
mod ui;
mod undo;
mod why;
mod world;
mod write;

use std::io;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory as _, FromArgMatches as _};

use crate::core::Error;
use crate::core::disk::fault::hide_expected_panics;
use crate::core::disk::process::report_size_limits;
use crate::core::memory::layout::Layout;

use args::{Args, Common, HookArgs, Verb};
use print::Printer;
use world::World;

/// How a verb ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// It succeeded.
    Done,
    /// Nothing was found, or a check failed.
    Nothing,
}

impl Outcome {
    /// Done if something was found.
    fn found(is_found: bool) -> Self {
        if is_found { Self::Done } else { Self::Nothing }
    }
}

/// Why a verb failed.
#[derive(Debug, thiserror::Error)]
enum Failure {
    /// An error of the core, formatted as the layout documents it where one is given.
    #[error("{}", format_error(.0, *.1))]
    Core(Error, Option<Layout>),
    /// The arguments are incomplete or invalid.
    #[error("{0}")]
    Usage(String),
    /// The output could not be written.
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
}

impl Failure {
    fn usage(text: impl Into<String>) -> Self {
        Self::Usage(text.into())
    }

    /// Returns it as an error of the core, for a server that the core knows nothing of.
    fn into_error(self) -> Error {
        match self {
            Self::Core(error, _) => error,
            other => Error::refused("tome", other.to_string()),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Core(error, None)
    }
}

fn format_error(error: &Error, layout: Option<Layout>) -> String {
    match layout {
        Some(layout) => layout.rules().format_error(error),
        None => error.to_string(),
    }
}

type CommandResult = Result<Outcome, Failure>;

/// Prints what is wrong with the arguments, and how words that look like an option are passed.
fn exit_with(error: &clap::Error) -> ! {
    let takes_query = error.to_string().contains("QUERY");
    // Where it cannot be printed, the exit code tells it.
    drop(error.print());
    if takes_query && error.kind() == ErrorKind::UnknownArgument {
        print::print_error(
            "a query that begins with - goes behind --: tome teleport --all -- '--x or --y'",
        );
    }
    std::process::exit(error.exit_code())
}

/// Runs the program with the process's own arguments and environment.
pub fn run() -> ExitCode {
    hide_expected_panics();
    report_size_limits();
    let matches = match Args::command().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => {
            let words = std::env::args_os().skip(1);
            let words: Vec<String> = words
                .map(|word| word.to_string_lossy().into_owned())
                .collect();
            // Many agents stop when a hook fails, so `tome hook` never does.
            if error.use_stderr() && words.iter().any(|word| word == "hook") {
                hook::print_empty_reply(&words);
                return ExitCode::SUCCESS;
            }
            exit_with(&error)
        }
    };
    let args = match Args::from_arg_matches(&matches) {
        Ok(args) => args,
        Err(error) => error.exit(),
    };
    if let Some(Verb::Hook(hook_args)) = &args.verb {
        return run_hook(hook_args, &args.common);
    }
    let world = match World::from_process(&args.common) {
        Ok(world) => world.with_verb(matches.subcommand_name()),
        Err(failure) => {
            print::print_error(&failure.to_string());
            return ExitCode::from(2);
        }
    };
    // The terminal UI and `doctor` show the warnings themselves.
    if !matches!(args.verb, None | Some(Verb::Doctor)) {
        for warning in &world.warnings {
            print::print_error(&format!("warning: {warning}"));
        }
    }
    let mut printer = Printer::from_process(&args.common, &world.settings);
    match dispatch(&args, &world, &mut printer).and_then(|ended| {
        printer.flush()?;
        Ok(ended)
    }) {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Nothing) => ExitCode::from(1),
        // The reader of the pipe closed it early, such as `head`.
        Err(Failure::Output(e)) if e.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(failure) => {
            if let Failure::Core(Error::Conflict(conflict), _) = &failure {
                // The error text follows, whether or not this can be written.
                drop(printer.conflict(conflict));
            }
            print::print_error(&failure.to_string());
            ExitCode::from(2)
        }
    }
}

/// Runs `tome hook`, which always exits with 0.
fn run_hook(args: &HookArgs, common: &Common) -> ExitCode {
    match World::from_process(common) {
        Ok(world) => hook::run(args, &world),
        Err(_) => hook::print_empty_reply(std::slice::from_ref(&args.agent)),
    }
    ExitCode::SUCCESS
}

fn dispatch(args: &Args, world: &World, printer: &mut Printer) -> CommandResult {
    let Some(verb) = &args.verb else {
        return ui::run(args.path.as_deref(), world);
    };
    let report = match verb {
        Verb::Stores => stores::run(world),
        Verb::List => list::run(world),
        Verb::View(args) => context::view(args, world),
        Verb::Read(args) => read::run(args, world),
        Verb::Context(args) => context::run(args, world),
        Verb::Write(args) => write::write(args, world),
        Verb::Append(args) => write::append(args, world),
        Verb::Patch(args) => write::patch(args, world),
        Verb::Delete(args) => write::delete(args, world),
        Verb::Rename(args) => write::rename(args, world),
        Verb::Merge(args) => merge::run(args, world),
        Verb::Generalize(args) => merge::generalize(args, world),
        Verb::Rehome(args) => rehome::run(args, world),
        Verb::Index(args) => index::run(args, world),
        Verb::Review(args) => review::run(args, world),
        Verb::Why(args) => why::run(args, world),
        Verb::Curate(args) => curate::run(args, world),
        Verb::Ledger(args) => ledger::run(args, world),
        Verb::Guard(args) => guard::run(args, world),
        Verb::History(args) => history::run(args, world),
        Verb::Undo(args) => undo::undo(args, world),
        Verb::Redo(args) => undo::redo(args, world),
        Verb::Restore(args) => undo::restore(args, world),
        Verb::Recall(args) => recall::run(args, world),
        Verb::Find(args) => find::run(args, world),
        Verb::Pick(args) => return pick::run(args, world, printer),
        Verb::Logs(args) => logs::run(args, world),
        Verb::Log(args) => log::run(args, world),
        Verb::Resume(args) => resume::run(args, world),
        Verb::Keep(args) => keep::run(args, world),
        Verb::Stats(args) => stats::run(args, world),
        Verb::Toc(args) => timeline::toc(args, world),
        Verb::Events(args) => timeline::events(args, world),
        Verb::Grip(args) => timeline::grip(args, world),
        Verb::Teleport(args) => timeline::teleport(args, world),
        Verb::Topics(args) => topics::run(args, world),
        Verb::Promote(args) => promote::run(args, world),
        Verb::Setup(args) => return setup::run(args, world, printer),
        Verb::Sync(args) => sync::run(args, world),
        Verb::Trust(args) => trust::run(args, world),
        Verb::Doctor => doctor::run(world),
        // Unreachable: `run` handles hooks before it dispatches.
        Verb::Hook(args) => {
            hook::run(args, world);
            return Ok(Outcome::Done);
        }
        Verb::Mcp(args) => return mcp::run(args, world),
        Verb::Serve(args) => return serve::run(args, world, printer),
        Verb::Completions(args) => return completions::run(args, printer),
        Verb::Man => return completions::man(printer),
    };
    printer.report(report?)
}
