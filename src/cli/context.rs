//! `tome context`: what an agent reads of the stores when a session starts.

use serde_json::{Value, json};

use super::print::{Printer, TextStyle};
use super::world::World;
use super::{CommandResult, Failure, Outcome};
use crate::core::store::Store;

pub(super) fn run(world: &World, printer: &mut Printer) -> CommandResult {
    let mut blocks = Vec::new();
    for store in world.memory_stores()? {
        let text = store.rules().context(&store);
        let text = text.map_err(|error| Failure::Core(error, Some(store.layout())))?;
        blocks.push((store, text));
    }
    show(blocks, printer)
}

/// Prints one text per store; several texts each get a heading with the store's name.
pub(super) fn show(mut blocks: Vec<(Store, String)>, printer: &mut Printer) -> CommandResult {
    blocks.retain(|(_, text)| !text.is_empty());
    if printer.is_json() {
        let views: Vec<Value> = blocks
            .iter()
            .map(|(store, text)| {
                json!({ "store": store.name(), "layout": store.layout(), "text": text })
            })
            .collect();
        printer.object(json!({ "views": views }))?;
    } else {
        let several = blocks.len() > 1;
        for (at, (store, text)) in blocks.iter().enumerate() {
            if several {
                if at > 0 {
                    printer.line("")?;
                }
                let heading = format!("── {} ({})", store.name(), store.layout());
                let heading = printer.paint(TextStyle::Strong, &heading);
                printer.styled_line(&heading)?;
            }
            printer.line(text)?;
        }
    }
    Ok(if blocks.is_empty() {
        Outcome::Nothing
    } else {
        Outcome::Done
    })
}
