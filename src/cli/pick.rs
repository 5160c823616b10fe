//! `tome pick`: the finder alone, for a shell that wants one thing back.

use super::args::{PickArgs, PrintArg};
use super::print::Printer;
use super::world::World;
use super::{CommandResult, Outcome, ui};
use crate::tui::{Exit, Pick, Print};

/// Lets a person pick, on the terminal itself, and prints what was picked.
pub(super) fn run(args: &PickArgs, world: &World, printer: &mut Printer) -> CommandResult {
    let pick = Pick {
        print: match args.print {
            PrintArg::Citation => Print::Citation,
            PrintArg::Text => Print::Text,
            PrintArg::Path => Print::Path,
            PrintArg::Resume => Print::Resume,
        },
        query: args.query.join(" "),
    };
    let Exit::Picked(picked) = ui::open(None, Some(pick), world)? else {
        return Ok(Outcome::Nothing);
    };
    for line in &picked {
        printer.line(line)?;
    }
    Ok(if picked.is_empty() {
        Outcome::Nothing
    } else {
        Outcome::Done
    })
}
