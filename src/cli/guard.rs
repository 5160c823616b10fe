//! `tome guard`: makes rules from memories, lists them, tries them on the logs, removes them.

use serde_json::{Value, json};

use super::args::GuardArgs;
use super::corpus::LogCorpus;
use super::print::{Answer, Reported, Text, print_note};
use super::world::World;
use super::{Failure, Outcome};
use crate::core::insight::guard::check::{Check, Checker};
use crate::core::insight::guard::{
    self, Backtest, Guard, GuardState, Trial, backtest, forbidden, statements,
};
use crate::core::memory::store::Store;
use crate::core::search::index::Corpus;
use crate::core::text::one_line;
use crate::core::text::secret::mask;

/// How many calls of a trial are shown for each guard.
const MOST_SHOWN: usize = 20;

pub(super) fn run<'a>(args: &'a GuardArgs, world: &'a World) -> Reported<'a> {
    let guards = guard::load(&world.data_dir)?;
    match (&args.reference, args.backtest, args.remove) {
        (reference, true, _) => try_on_logs(reference.as_deref(), guards, world),
        (Some(reference), _, true) => remove(reference, guards, world),
        (Some(reference), ..) => make(reference, args, guards, world),
        (None, ..) => list(&guards, world),
    }
}

/// Makes guards from a memory, by its words or as the arguments say.
fn make(
    reference: &str,
    args: &GuardArgs,
    mut guards: Vec<Guard>,
    world: &World,
) -> Reported<'static> {
    let (store, citation) = world.store_holding(reference)?;
    let document = store.read(&citation.path)?;
    let file = store.rules().file_of(&citation.path);
    let text = document.lossy();
    let memory = store.rules().read(&file, &text);
    let part = citation.part.of(&text, &memory, store.layout());
    let part = part.ok_or_else(|| Failure::Usage(format!("{citation}: no such part")))?;
    let statements = statements(part);
    let given = given(args);
    let mut made: Vec<Guard> = Vec::new();
    if given.is_empty() {
        for words in &statements {
            // What is said twice is one rule.
            for check in forbidden(words) {
                if !made.iter().any(|known| known.check == check) {
                    made.push(Guard::new(&store, &file, words, check));
                }
            }
        }
    } else {
        let words = statements
            .first()
            .cloned()
            .unwrap_or_else(|| one_line(part));
        let new = given
            .into_iter()
            .map(|check| Guard::new(&store, &file, &words, check));
        made.extend(new);
    }
    for new in &made {
        Checker::new(&new.check, &world.environment.home)?;
    }
    if made.is_empty() {
        let what = format!(
            "{citation} forbids nothing that can be seen in a call; say what to look for: tome guard {reference} --command WORDS, --path GLOB, --read GLOB, --package NAME or --edit REGEX"
        );
        return Answer::ending(Outcome::Nothing, json!({ "guards": [] }), Text::Error(what));
    }
    for new in &mut made {
        match guards.iter().find(|known| known.id == new.id) {
            Some(known) => new.tried = known.tried,
            None => guards.push(new.clone()),
        }
    }
    guard::save(&world.data_dir, &guards)?;
    if made.iter().any(|new| new.tried.is_none()) {
        print_note("a guard asks once it was tried on the logs: tome guard --backtest");
    }
    list(&made, world)
}

/// What the arguments say to look for.
fn given(args: &GuardArgs) -> Vec<Check> {
    let commands = args.command.iter().cloned().map(Check::Command);
    let paths = args.path.iter().cloned().map(Check::Path);
    let reads = args.read.iter().cloned().map(Check::Read);
    let packages = args.package.iter().cloned().map(Check::Package);
    let edits = args.edit.iter().cloned().map(Check::Edit);
    let files = paths.chain(reads);
    commands.chain(files).chain(packages).chain(edits).collect()
}

fn remove(reference: &str, guards: Vec<Guard>, world: &World) -> Reported<'static> {
    let ids = chosen(reference, &guards, world)?;
    let (removed, kept): (Vec<Guard>, Vec<Guard>) = guards
        .into_iter()
        .partition(|guard| ids.contains(&guard.id));
    guard::save(&world.data_dir, &kept)?;
    let json = json!({ "removed": removed.iter().map(|guard| &guard.id).collect::<Vec<_>>() });
    let lines = removed
        .iter()
        .map(|guard| format!("removed {}", rule(guard)));
    Answer::ending(
        Outcome::found(!removed.is_empty()),
        json,
        Text::Lines(lines.collect()),
    )
}

/// Returns the ids of the guards that a reference means: the one with this id, or those of a memory.
fn chosen(reference: &str, guards: &[Guard], world: &World) -> Result<Vec<String>, Failure> {
    if guards.iter().any(|guard| guard.id == reference) {
        return Ok(vec![reference.to_owned()]);
    }
    let (store, citation) = world.store_holding(reference)?;
    let file = store.rules().file_of(&citation.path);
    let of_memory = |guard: &&Guard| guard.root == store.root().path() && guard.path == file;
    let found = guards.iter().filter(of_memory);
    Ok(found.map(|guard| guard.id.clone()).collect())
}

fn list(guards: &[Guard], world: &World) -> Reported<'static> {
    if guards.is_empty() {
        let none = "there is no guard; tome guard MEMORY makes one of what a memory forbids";
        let none = Text::Error(none.to_owned());
        return Answer::ending(Outcome::Nothing, json!({ "guards": [] }), none);
    }
    let stores = world.stores()?;
    let rows: Vec<(Value, String)> = guards
        .iter()
        .map(|guard| {
            let state = state(guard, &stores);
            let tried = guard.tried.map_or_else(String::new, |tried| {
                format!(
                    ", would have asked about {} of {} calls",
                    tried.stopped, tried.calls
                )
            });
            let state = match state {
                None => "of another project".to_owned(),
                Some(GuardState::Changed) => "off: the memory says something else now".to_owned(),
                Some(GuardState::Untried) => "off: not tried yet".to_owned(),
                Some(GuardState::On) => "on".to_owned(),
            };
            let line = format!("{}  {state}{tried}", rule(guard));
            let words = format!("          {}: {}", guard.path, mask(&guard.words));
            (as_json(guard, &stores), format!("{line}\n{words}"))
        })
        .collect();
    let json = json!({ "guards": rows.iter().map(|(json, _)| json).collect::<Vec<_>>() });
    let lines = rows
        .iter()
        .flat_map(|(_, text)| text.lines().map(str::to_owned));
    Answer::ending(
        Outcome::found(!guards.is_empty()),
        json,
        Text::Lines(lines.collect()),
    )
}

/// Whether a guard asks in this project; `None` if it is not of this project.
fn state(guard: &Guard, stores: &[Store]) -> Option<GuardState> {
    let store = stores
        .iter()
        .find(|store| store.root().path() == guard.root)?;
    let text = store.text(&guard.path).ok().flatten();
    Some(guard.state(text.as_deref()))
}

fn rule(guard: &Guard) -> String {
    format!("{}  {}", guard.id, mask(&guard.check.to_string()))
}

fn as_json(guard: &Guard, stores: &[Store]) -> Value {
    json!({
        "id": guard.id,
        "root": guard.root.to_string_lossy(),
        "path": guard.path,
        "words": mask(&guard.words),
        "rule": guard.check,
        "state": state(guard, stores).map(GuardState::name),
        "tried": guard.tried,
    })
}

fn try_on_logs(
    reference: Option<&str>,
    mut guards: Vec<Guard>,
    world: &World,
) -> Reported<'static> {
    let ids = match reference {
        Some(reference) => chosen(reference, &guards, world)?,
        None => guards.iter().map(|guard| guard.id.clone()).collect(),
    };
    let tried: Vec<usize> = (0..guards.len())
        .filter(|at| ids.contains(&guards[*at].id))
        .collect();
    let home = &world.environment.home;
    let checks = tried
        .iter()
        .map(|at| Checker::new(&guards[*at].check, home));
    let checks: Vec<Checker> = checks.collect::<Result<_, _>>()?;
    let (found, cited) = world.read_whole_corpus(|LogCorpus { corpus, .. }| {
        let found = backtest(corpus, &checks, home);
        let cited: Vec<String> = found.stops.iter().map(|stop| cite(corpus, stop)).collect();
        (found, cited)
    })?;
    let (mut lines, mut objects) = (Vec::new(), Vec::new());
    for (number, at) in tried.iter().enumerate() {
        let stops = found.stops.iter().zip(&cited);
        let stops: Vec<_> = stops.filter(|(stop, _)| stop.guard == number).collect();
        let trial = Trial {
            time: world.moment.time.as_millisecond(),
            calls: found.calls[number],
            stopped: stops.len(),
        };
        let guard = &mut guards[*at];
        guard.tried = Some(trial).filter(|trial| trial.calls > 0);
        lines.push(format!("{}  {}", rule(guard), share(&found, number, trial)));
        for (stop, citation) in stops.iter().rev().take(MOST_SHOWN) {
            lines.push(format!("  {citation}  {}", mask(&stop.what)));
        }
        if stops.len() > MOST_SHOWN {
            lines.push(format!("  and {} more", stops.len() - MOST_SHOWN));
        }
        objects.push(json!({
            "id": guard.id,
            "rule": guard.check,
            "tried": trial,
            "stops": stops.iter().map(|(stop, citation)| {
                json!({ "citation": citation, "what": mask(&stop.what) })
            }).collect::<Vec<_>>(),
        }));
    }
    guard::save(&world.data_dir, &guards)?;
    let json = json!({ "guards": objects });
    Answer::ending(Outcome::found(!tried.is_empty()), json, Text::Lines(lines))
}

fn share(found: &Backtest, number: usize, trial: Trial) -> String {
    let calls = found.calls[number];
    if calls == 0 {
        return "off: the logs have no call to try it on".to_owned();
    }
    let percent = 100.0 * trial.stopped as f64 / calls as f64;
    format!(
        "would have asked about {} of {calls} calls ({percent:.2} %)",
        trial.stopped
    )
}

fn cite(corpus: &Corpus, stop: &guard::Stop) -> String {
    let log = corpus.log(stop.log);
    let agent = log.as_ref().and_then(|log| log.agent());
    let id = log.as_ref().map_or("", |log| log.id());
    format!(
        "{}:{id}#L{}",
        agent.map_or("", |agent| agent.name()),
        stop.line
    )
}
