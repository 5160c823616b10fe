//! `tome index`: updates the index, or checks it; and the warning of every verb about memories that
//! an agent does not see in it.

use std::io;

use serde_json::{Value, json};

use super::args::IndexArgs;
use super::print::{Answer, Json, Printer, Report, Reported, print_error};
use super::world::World;
use super::{Failure, Outcome};
use crate::core::Error;
use crate::core::change::{Change, ChangeRequest, plan, plan_and_commit};
use crate::core::memory::Memory;
use crate::core::memory::layout::{IndexUpdate, Layout, index};
use crate::core::memory::store::Store;
use crate::core::text::display::first_few;

/// How many files a warning names.
pub(super) const FEW: usize = 5;

pub(super) fn run<'a>(args: &'a IndexArgs, world: &World) -> Reported<'a> {
    let stores = world.memory_stores()?;
    if stores.is_empty() {
        return Answer::silent(Outcome::Nothing);
    }
    let mut report = IndexReport {
        args,
        stores: Vec::new(),
        failure: None,
    };
    for store in stores {
        match IndexResult::of(args, world, &store) {
            Ok(result) => report.stores.push((store, result)),
            Err(error) => {
                report.failure = Some(Failure::Core(error, Some(store.layout())));
                break;
            }
        }
    }
    Ok(Box::new(report))
}

struct IndexReport<'a> {
    args: &'a IndexArgs,
    stores: Vec<(Store, IndexResult)>,
    failure: Option<Failure>,
}

impl Report for IndexReport<'_> {
    fn json(&self) -> Result<Json<'_>, Failure> {
        let stores = self.stores.iter();
        let indexes = stores.map(|(store, result)| result.as_json(self.args, store));
        Ok(json!({ "indexes": indexes.collect::<Vec<Value>>() }).into())
    }

    fn print(&self, printer: &mut Printer) -> io::Result<()> {
        for (store, result) in &self.stores {
            result.print(self.args, store, printer)?;
        }
        Ok(())
    }

    fn outcome(&self) -> Outcome {
        let differs = self.stores.iter().any(|(_, result)| result.differs());
        Outcome::found(!(self.args.check && differs))
    }

    fn failure(&mut self) -> Option<Failure> {
        self.failure.take()
    }
}

/// The change of the index of a store, made or planned.
struct IndexResult {
    change: Change,
    /// Memories whose lines are past the part of the index that an agent reads.
    unseen: Vec<String>,
    /// Memories that an index without a list does not link to.
    unlisted: Vec<Memory>,
}

impl IndexResult {
    fn of(args: &IndexArgs, world: &World, store: &Store) -> Result<Self, Error> {
        let how = if args.rewrite {
            IndexUpdate::Rewrite
        } else {
            IndexUpdate::Repair
        };
        let context = world.change_context(None);
        let planned = || plan(store, &ChangeRequest::Index(how), &context);
        let change = if is_shown_only(args) {
            planned()?
        } else {
            let (history, roots) = (&world.history, [store.root().path()]);
            plan_and_commit(history, &roots, &world.author(), &world.moment, planned)?.change
        };
        let mut result = Self {
            change,
            unseen: Vec::new(),
            unlisted: Vec::new(),
        };
        if store.layout() == Layout::Index {
            let mut edits = result.change.edits.iter();
            let text = match edits.find(|edit| edit.path == index::INDEX) {
                Some(edit) => edit.after.clone(),
                None => store.root().read(index::INDEX)?,
            };
            let text = text.filter(|_| index::is_read_in_part(store.root().path()));
            result.unseen = index::unseen(&String::from_utf8_lossy(&text.unwrap_or_default()));
            if result.change.is_empty() {
                result.unlisted = index::unlisted(store)?;
            }
        }
        Ok(result)
    }

    fn differs(&self) -> bool {
        !self.change.is_empty() || self.unlisted.iter().any(index::has_header)
    }

    fn state(&self, args: &IndexArgs) -> String {
        let state = if self.change.is_empty() {
            "up to date"
        } else if !is_shown_only(args) {
            "updated"
        } else if args.rewrite {
            "would be rewritten"
        } else {
            "out of date"
        };
        match self.unlisted.len() {
            0 => state.to_owned(),
            1 => "1 file is not linked: MEMORY.md has no list".to_owned(),
            number => format!("{number} files are not linked: MEMORY.md has no list"),
        }
    }

    fn as_json(&self, args: &IndexArgs, store: &Store) -> Value {
        let mut answer = json!({
            "store": store.name(),
            "state": self.state(args),
            "diff": self.change.diff(),
        });
        let unlisted = self.unlisted.iter().map(|memory| memory.path.clone());
        let lists = [
            ("unseen", self.unseen.clone()),
            ("unlinked", unlisted.collect()),
        ];
        for (key, files) in lists {
            if !files.is_empty() {
                answer[key] = json!(files);
            }
        }
        answer
    }

    fn print(&self, args: &IndexArgs, store: &Store, printer: &mut Printer) -> io::Result<()> {
        let state = self.state(args);
        if is_shown_only(args) {
            printer.diff(&self.change.diff())?;
            print_error(&format!("index of {}: {state}", store.name()));
        } else {
            printer.line(&format!("Index of {}: {state}", store.name()))?;
        }
        if self.unlisted.iter().any(index::has_header) {
            print_error(
                "add a first line such as `- [name](file.md)` to it; `tome index` adds the others",
            );
        }
        warn_of_unseen(&self.unseen);
        Ok(())
    }
}

fn is_shown_only(args: &IndexArgs) -> bool {
    args.check || args.dry_run
}

/// Warns about memories that an agent does not see in the index.
pub(super) fn warn_of_unseen(unseen: &[String]) {
    if let Some(words) = unseen_in_words(unseen) {
        print_error(&format!("warning: {words}"));
    }
}

/// Formats the memories that an agent does not see in the index; `None` if there are none.
pub(super) fn unseen_in_words(unseen: &[String]) -> Option<String> {
    (!unseen.is_empty()).then(|| {
        format!(
            "agents read only {} lines and {} KB of {}; they do not see: {}",
            index::BUDGET_LINES,
            index::BUDGET_BYTES / 1000,
            index::INDEX,
            first_few(FEW, unseen)
        )
    })
}
