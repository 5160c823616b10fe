//! `tome pick`: the finder alone, which prints the picked hits for a shell.

use super::args::{PickArgs, PrintArg};
use super::print::Printer;
use super::world::World;
use super::{CommandResult, Outcome, ui};
use crate::tui::{Exit, Pick, Print};

/// Opens the finder on the terminal and prints the picked hits.
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
    Ok(Outcome::found(!picked.is_empty()))
}
