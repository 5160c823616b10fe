//! `tome review`: lists what agents and other programs wrote and nobody accepted yet; accepts it,
//! reverts it or adds a note.

use std::io;

use serde_json::{Value, json};

use super::args::ReviewArgs;
use super::change::{ChangeOptions, carry_out, record_json};
use super::print::{
    Answer, Json, Printer, Report, Reported, Text, TextStyle, exact_time, print_error, print_note,
};
use super::world::{World, or_left_out};
use super::{Failure, Outcome};
use crate::core::Error;
use crate::core::insight::review::{
    Acceptance, Item, Selection, accept, accepted_memories, annotate, attributed, attributions,
    here_before, left_alone, observe, observe_store, plan_reverts, queue,
};
use crate::core::memory::Memory;
use crate::core::memory::store::Store;
use crate::core::text::display::format_ago;

pub(super) fn run<'a>(args: &ReviewArgs, world: &'a World) -> Reported<'a> {
    let (mut stores, mut count) = (Vec::new(), 0);
    for store in world.stores()? {
        let observed = observe_store(&world.history, &store, &world.moment);
        if let Some(observed) = or_left_out(&store, observed)? {
            count += observed.waiting;
            stores.push(store);
        }
    }
    let outcome = Outcome::found(count == 0);
    if args.count {
        let json = json!({ "count": count });
        return Answer::ending(outcome, json, Text::Line(count.to_string()));
    }
    let mut waiting: Vec<Waiting> = Vec::new();
    for store in stores {
        for line in left_alone(&store) {
            print_error(&format!("{}: {line}", store.name()));
        }
        let items = queue(&world.history, &store)?;
        waiting.push(Waiting { store, items });
    }
    let before = waiting
        .iter()
        .map(|waiting| here_before(&world.history, waiting.store.id()));
    let before = before.sum::<Result<usize, Error>>()?;
    if count > 0 {
        world.attribute(&mut waiting);
    }
    if let [id, text] = args.note.as_slice() {
        return note(world, &waiting, id, text);
    }
    if !args.accept.is_empty() {
        let chosen = selection(&args.accept, &waiting)?;
        return accept_chosen(world, &waiting, &chosen);
    }
    if !args.revert.is_empty() {
        let chosen = selection(&args.revert, &waiting)?;
        return revert_chosen(world, &waiting, &chosen, args.dry_run);
    }
    Ok(Box::new(ReviewReport {
        world,
        outcome,
        waiting,
        here_before: before,
    }))
}

/// What waits for review in a store.
struct Waiting {
    store: Store,
    items: Vec<Item>,
}

/// The selection with these ids, if each of them names something that waits.
fn selection(ids: &[String], waiting: &[Waiting]) -> Result<Selection, Failure> {
    if ids.iter().any(|id| id == "all") {
        return Ok(Selection::All);
    }
    let items: Vec<Item> = waiting
        .iter()
        .flat_map(|waiting| waiting.items.clone())
        .collect();
    let named = Selection::Ids(ids.to_vec());
    match named.unknown(&items).first() {
        // The writer of an item may be known only from the logs, so that its hunks stand for it.
        None => {
            let own = items.iter().filter(|item| named.contains(item));
            let own = own.flat_map(Item::ids);
            let hunks = ids.iter().filter(|id| id.contains('.')).cloned();
            Ok(Selection::Ids(own.chain(hunks).collect()))
        }
        Some(id) => {
            let owner = |id: &str| id.split(['-', '.']).next().map(str::to_owned);
            let is_newer = items.iter().any(|item| owner(&item.id) == owner(id));
            let why = if is_newer {
                "it was written to since then; look at it again with `tome review`"
            } else {
                "`tome review` lists the ids"
            };
            Err(Error::not_found(format!("what waits for review with the id {id} ({why})")).into())
        }
    }
}

fn accept_chosen(world: &World, waiting: &[Waiting], chosen: &Selection) -> Reported<'static> {
    let stores: Vec<&Store> = waiting.iter().map(|waiting| &waiting.store).collect();
    let (author, moment) = (&world.author(), &world.moment);
    let Acceptance { records, left } = accept(&world.history, &stores, chosen, author, moment)?;
    let changes: Vec<Value> = records.iter().map(record_json).collect();
    let items = waiting.iter().flat_map(|waiting| &waiting.items);
    let mut not_accepted: Vec<String> = left.iter().map(Error::to_string).collect();
    for Item { path, id, .. } in
        items.filter(|item| *chosen == Selection::All && item.is_conflict())
    {
        not_accepted.push(format!(
            "{path} is a conflict: tome review --accept {id} takes what was sent, --revert {id} keeps yours"
        ));
    }
    if records.is_empty() && not_accepted.is_empty() && *chosen != Selection::All {
        not_accepted
            .push("it was changed meanwhile; look at it again with `tome review`".to_owned());
    }
    for line in &not_accepted {
        print_error(&format!("not accepted: {line}"));
    }
    match records.len() {
        0 if not_accepted.is_empty() => print_note("nothing waits for review"),
        0 => {}
        1 => print_note("tome undo takes it back"),
        number => print_note(&format!("tome undo takes it back, in {number} steps")),
    }
    let is_done = !records.is_empty() || not_accepted.is_empty();
    Answer::ending(
        Outcome::found(is_done),
        json!({
            "success": is_done,
            "accepted": accepted_memories(&records),
            "not_accepted": not_accepted,
            "changes": changes,
        }),
        Text::Lines(records.into_iter().map(|record| record.message).collect()),
    )
}

fn revert_chosen(
    world: &World,
    waiting: &[Waiting],
    chosen: &Selection,
    dry_run: bool,
) -> Reported<'static> {
    let stores: Vec<&Store> = waiting
        .iter()
        .filter(|waiting| waiting.items.iter().any(|item| chosen.touches(item)))
        .map(|waiting| &waiting.store)
        .collect();
    if stores.is_empty() {
        print_note("nothing waits for review");
        return Answer::silent(Outcome::Done);
    }
    // What was sent waits in a folder of its own.
    let planned = plan_reverts(&world.history, &stores, chosen, &world.moment)?;
    let roots = planned.roots();
    let options = ChangeOptions {
        dry_run,
        ..ChangeOptions::default()
    };
    carry_out(world, options, &roots, || {
        plan_reverts(&world.history, &stores, chosen, &world.moment)
    })
}

fn note(world: &World, waiting: &[Waiting], id: &str, text: &str) -> Reported<'static> {
    let chosen = selection(&[id.to_owned()], waiting)?;
    for Waiting { store, .. } in waiting {
        annotate(&world.history, store, &chosen, text, &world.moment)?;
    }
    let json = json!({ "success": true });
    Answer::done(json, Text::Line(format!("Noted: {text}")))
}

struct ReviewReport<'a> {
    world: &'a World,
    outcome: Outcome,
    waiting: Vec<Waiting>,
    here_before: usize,
}

impl ReviewReport<'_> {
    /// Everything that waits, with its store.
    fn items(&self) -> impl Iterator<Item = (&Store, &Item)> {
        let waiting = self.waiting.iter();
        waiting.flat_map(|waiting| waiting.items.iter().map(|item| (&waiting.store, item)))
    }
}

impl Report for ReviewReport<'_> {
    fn json(&self) -> Result<Json<'_>, Failure> {
        let items = self.items().map(|(store, item)| item_json(store, item));
        let items: Vec<Value> = items.collect();
        Ok(json!({ "items": items, "here_before": self.here_before }).into())
    }

    fn print(&self, printer: &mut Printer) -> io::Result<()> {
        let mut items: Vec<(&Store, &Item)> = self.items().collect();
        items.sort_by_key(|(_, item)| std::cmp::Reverse(item.time));
        let now = self.world.moment.time.as_millisecond();
        for (number, (store, item)) in items.iter().enumerate() {
            if number > 0 {
                printer.line("")?;
            }
            let name = format!("{}:{}", store.name(), item.path);
            print_item(printer, &name, item, now)?;
        }
        if self.here_before > 0 && items.is_empty() {
            let files = match self.here_before {
                1 => "1 file was".to_owned(),
                count => format!("{count} files were"),
            };
            print_note(&format!(
                "{files} here before tome, and nobody reviewed them; tome review --accept all takes them as they are"
            ));
        }
        print_note(if items.is_empty() {
            "nothing waits for review"
        } else {
            "tome review --accept ID… or all, --revert ID… (an item or a hunk), --note ID TEXT"
        });
        Ok(())
    }

    fn outcome(&self) -> Outcome {
        self.outcome
    }
}

fn item_json(store: &Store, item: &Item) -> Value {
    let hunks: Vec<Value> = item
        .hunks
        .iter()
        .map(|hunk| {
            json!({
                "id": hunk.id,
                "old_start": first_line(&hunk.old),
                "old_lines": hunk.old.len(),
                "new_start": first_line(&hunk.new),
                "new_lines": hunk.new.len(),
                "text": hunk.text,
                "entry": hunk.entry,
            })
        })
        .collect();
    let origin = item.origin.as_ref();
    json!({
        "id": item.id,
        "store": store.name(),
        "path": item.path,
        "change": item.change,
        "renamed_from": item.renamed_from,
        "time": exact_time(item.time).unwrap_or_default(),
        "author": {
            "agent": item.author.who,
            "session": origin.map(|origin| &origin.session),
            "citation": origin.and_then(|origin| origin.citation.as_ref()),
        },
        "deleted_before": item.deleted_before.and_then(exact_time),
        "proposal": item.proposal,
        "sent": item.sent,
        "misfit": item.misfit,
        "notes": item.notes.iter().map(|note| &note.text).collect::<Vec<_>>(),
        "hunks": hunks,
    })
}

/// The first line of a range in the header of a unified diff; an empty range names the line before.
fn first_line(range: &std::ops::Range<usize>) -> usize {
    if range.is_empty() {
        range.start
    } else {
        range.start + 1
    }
}

fn print_item(printer: &mut Printer, name: &str, item: &Item, now: i64) -> io::Result<()> {
    let heading = format!(
        "{}  {}  {}",
        printer.paint(TextStyle::Quiet, &item.id),
        printer.paint(TextStyle::Strong, name),
        printer.paint(TextStyle::Quiet, &summary(item, now)),
    );
    printer.styled_line(&heading)?;
    if let Some(misfit) = &item.misfit {
        printer.painted_line(TextStyle::Attention, misfit)?;
    }
    for note in &item.notes {
        printer.painted_line(TextStyle::Attention, &format!("note: {}", note.text))?;
    }
    for hunk in &item.hunks {
        let entry = hunk.entry.as_ref().map(|entry| format!(" #{entry}"));
        printer.diff(&format!(
            "@@ -{},{} +{},{} @@ {}{}\n{}",
            first_line(&hunk.old),
            hunk.old.len(),
            first_line(&hunk.new),
            hunk.new.len(),
            hunk.id,
            entry.unwrap_or_default(),
            hunk.text
        ))?;
    }
    Ok(())
}

/// What happened, who did it and when, on one line.
fn summary(item: &Item, now: i64) -> String {
    let session = item
        .origin
        .as_ref()
        .map(|origin| format!(", session {}", origin.session));
    let returned = item
        .deleted_before
        .map(|time| format!("; you deleted one like it {}", format_ago(time, now)));
    format!(
        "{} by {}{}, {}{}",
        item.what(),
        item.by(),
        session.unwrap_or_default(),
        format_ago(item.time, now),
        returned.unwrap_or_default()
    )
}

impl World {
    /// Gives each item the session that wrote it, if the logs show it.
    fn attribute(&self, waiting: &mut [Waiting]) {
        let found = self.read_whole_corpus(|logs| {
            let items = waiting.iter().map(|Waiting { store, items }| {
                let root = store.root().path();
                let found = attributions(&logs.corpus, &self.history, root, items);
                attributed(items.clone(), &found)
            });
            items.collect::<Vec<Vec<Item>>>()
        });
        // If the logs cannot be read, the items stay as they are.
        for (waiting, found) in waiting.iter_mut().zip(found.unwrap_or_default()) {
            waiting.items = found;
        }
    }

    /// Records what other programs wrote into a store, given a listing of it, and returns how many
    /// files wait for review; none if that fails, because the caller does not depend on it.
    pub(super) fn observe(&self, store: &Store, memories: &[Memory]) -> usize {
        let observed = observe(&self.history, store, memories, &self.moment);
        observed.map_or(0, |observed| observed.waiting)
    }
}
