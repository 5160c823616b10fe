//! `tome view`: a store as its agent sees it.

use super::args::{ViewArgs, ViewTarget};
use super::context::show;
use super::print::Printer;
use super::world::World;
use super::{CommandResult, Failure};
use crate::core::memory::layout::View;

pub(super) fn run(args: &ViewArgs, world: &World, printer: &mut Printer) -> CommandResult {
    let view = match args.target {
        ViewTarget::Index => View::Index,
        ViewTarget::Files => View::Files,
    };
    let mut views = Vec::new();
    for store in world.memory_stores()? {
        let text = store.rules().view(&store, view);
        let text = text.map_err(|error| Failure::Core(error, Some(store.layout())))?;
        views.push((store, text));
    }
    show(views, printer)
}
