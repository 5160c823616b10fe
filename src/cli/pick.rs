//! `tome pick`: the finder alone, which prints the picked hits for a shell.

use super::args::PickArgs;
use super::print::Printer;
use super::world::World;
use super::{CommandResult, Outcome, ui};
use crate::tui::{Exit, Pick};

/// Opens the finder on the terminal and prints the picked hits.
pub(super) fn run(args: &PickArgs, world: &World, printer: &mut Printer) -> CommandResult {
    let pick = Pick {
        print: args.print,
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
