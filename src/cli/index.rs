//! `tome index`: bring the index up to date, or check it.

use serde_json::{Value, json};

use super::args::IndexArgs;
use super::print::{Printer, complain};
use super::world::World;
use super::{Ended, Failure, Outcome};
use crate::core::change::{Asking, Wish, make, plan};
use crate::core::layout::Upkeep;

pub(super) fn run(args: &IndexArgs, world: &World, printer: &mut Printer) -> Ended {
    let how = if args.rewrite {
        Upkeep::Rewrite
    } else {
        Upkeep::Mend
    };
    let asking = Asking {
        moment: world.moment.clone(),
        expected: None,
    };
    let mut answers: Vec<Value> = Vec::new();
    let mut differs = false;
    let stores = world.memory_stores()?;
    if stores.is_empty() {
        return Ok(Outcome::Nothing);
    }
    for store in stores {
        let worded = |error| Failure::Core(error, Some(store.layout()));
        let change = plan(&store, &Wish::Index(how), &asking).map_err(worded)?;
        differs |= !change.is_empty();
        let only_show = args.check || args.dry_run;
        if only_show && !printer.is_json() {
            printer.diff(&change.diff())?;
        }
        if !only_show {
            let again = || plan(&store, &Wish::Index(how), &asking);
            let by = (&world.author(), &world.moment);
            make(&world.history, &[store.root().path()], by, again).map_err(worded)?;
        }
        let state = match (change.is_empty(), only_show) {
            (true, _) => "up to date",
            (false, true) if args.rewrite => "would be rewritten",
            (false, true) => "not what it should be",
            (false, false) => "brought up to date",
        };
        if printer.is_json() {
            answers.push(json!({ "store": store.name(), "state": state, "diff": change.diff() }));
        } else if only_show {
            complain(&format!("index of {}: {state}", store.name()));
        } else {
            printer.line(&format!("Index of {}: {state}", store.name()))?;
        }
    }
    if printer.is_json() {
        printer.object(json!({ "indexes": answers }))?;
    }
    Ok(if args.check && differs {
        Outcome::Nothing
    } else {
        Outcome::Done
    })
}
