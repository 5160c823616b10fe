//! `tome find`: what the UI's find would show.

use super::args::FindArgs;
use super::print::Printer;
use super::world::World;
use super::{Ended, Outcome};

pub(super) fn run(_args: &FindArgs, _world: &World, _printer: &mut Printer) -> Ended {
    Ok(Outcome::Nothing)
}
