//! `tome sync`: shares chosen stores with other machines by a git remote.

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::args::SyncArgs;
use super::print::{Answer, Reported, Text, counted, print_error, print_note};
use super::world::World;
use super::{Failure, Outcome};
use crate::core::disk::foreign::read_text;
use crate::core::insight::sync::{Mode, Motion, Standing, StoreReport, Sync, SyncReport, choose};
use crate::core::memory::config::{IncomingMode, OutgoingMode};
use crate::core::memory::discover::{DiscoveryScope, claude_memory_root, discover};
use crate::core::memory::layout::Layout;
use crate::core::memory::store::Store;
use crate::core::text::display::format_ago;

pub(super) fn run(args: &SyncArgs, world: &World) -> Reported<'static> {
    if !args.quiet {
        return sync(args, world);
    }
    // A hook must neither wait nor fail because a remote does; `--status` tells how it went.
    if std::env::var_os(IN_BACKGROUND).is_some() || start_in_background().is_err() {
        drop(sync(args, world));
    }
    Answer::silent(Outcome::Done)
}

/// Set for the process that syncs while the one that a hook started has ended.
const IN_BACKGROUND: &str = "TOME_SYNC_IN_BACKGROUND";

/// Starts this program once more with the same arguments, in a group of its own, so that it outlives
/// the agent.
fn start_in_background() -> std::io::Result<()> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(std::env::args_os().skip(1));
    command.env(IN_BACKGROUND, "1").process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(Stdio::null()).spawn().map(drop)
}

fn sync(args: &SyncArgs, world: &World) -> Reported<'static> {
    let dir = world.sync_dir();
    let sync = Sync {
        dir: &dir,
        git: world.git(),
        history: &world.history,
        environment: &world.environment,
        settings: &world.settings,
        moment: &world.moment,
    };
    let mut lines = Vec::new();
    if args.stop {
        let line = if sync.stop()? {
            "Sync is off; the stores and the clone stay as they are"
        } else {
            "Sync was not on"
        };
        return Answer::done(json!({ "url": null }), Text::Line(line.to_owned()));
    }
    if let Some(url) = &args.init {
        let machine = args.machine.clone().unwrap_or_else(|| world.host_name());
        let standing = sync.init(url, &machine)?;
        let Standing {
            url,
            branch,
            machine,
            ..
        } = &standing;
        lines.push(format!("Syncing with {url} (branch {branch}) as {machine}"));
    }
    for (names, is_on) in [(&args.add, true), (&args.drop, false)] {
        for name in names {
            let store = world.store_to_share(name)?;
            choose(&dir, &store, is_on, args.project.as_deref())?;
            let word = if is_on { "shared" } else { "no longer shared" };
            lines.push(format!("{} is {word}", store.name()));
        }
    }
    if !lines.is_empty() {
        let next = if args.init.is_some() && args.add.is_empty() {
            "tome sync --add STORE chooses a store, or [[agent]] in the settings; then tome sync"
        } else {
            "tome sync shares them now; --dry-run tells what it would do"
        };
        print_note(next);
        let standing = sync.standing()?;
        return Answer::done(
            json!({ "sync": standing.map(|one| standing_json(&one)) }),
            Text::Lines(lines),
        );
    }
    let Some(standing) = sync.standing()? else {
        let line = "no remote is set; `tome sync --init URL` sets one";
        return Answer::ending(
            Outcome::Nothing,
            json!({ "sync": null }),
            Text::Error(line.to_owned()),
        );
    };
    if args.status {
        let report = sync.status()?;
        return told(world, &standing, &report, State::Status);
    }
    let (mode, state) = match (args.dry_run, args.quiet) {
        (true, _) => (Mode::Dry, State::Dry),
        (false, true) => (Mode::Real, State::Quiet),
        (false, false) => (Mode::Real, State::Done),
    };
    let report = sync.run(mode, &args.allow)?;
    told(world, &standing, &report, state)
}

/// Of what a report tells.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Status,
    Dry,
    Done,
    /// What was to be sent is still to be, and what came is not known.
    Failed,
    /// Nothing is printed.
    Quiet,
}

fn told(
    world: &World,
    standing: &Standing,
    report: &SyncReport,
    state: State,
) -> Reported<'static> {
    let elsewhere = report.elsewhere.iter();
    let elsewhere = elsewhere.map(|(key, about)| json!({ "key": key, "about": about }));
    let json = json!({
        "sync": standing_json(standing),
        "stores": report.stores.iter().map(store_json).collect::<Vec<Value>>(),
        "notes": report.notes,
        "elsewhere": elsewhere.collect::<Vec<Value>>(),
        "commit": report.commit,
        "failure": report.failure,
    });
    let outcome = Outcome::found(report.failure.is_none());
    let is_plan = matches!(state, State::Status | State::Dry);
    let state = match (state, &report.failure) {
        (State::Done, Some(_)) => State::Failed,
        _ => state,
    };
    let mut lines = Vec::new();
    if state == State::Status {
        lines.push(format!(
            "{} (branch {}) as {}",
            standing.url, standing.branch, standing.machine
        ));
        if let Some(last) = &standing.last {
            let age = format_ago(last.time, world.moment.time.as_millisecond());
            let how = last.failure.as_deref().unwrap_or("done");
            lines.push(format!("last sync {age}: {how}"));
        }
    }
    for store in &report.stores {
        let mut same = report.stores.iter().filter(|one| one.name == store.name);
        let name = match same.nth(1) {
            Some(_) if state != State::Status => {
                format!("{} ({})", store.name, world.short_path(&store.root))
            }
            _ => store.name.clone(),
        };
        lines.extend(store_lines(store, &name, world, state));
    }
    if report.stores.is_empty() && report.failure.is_none() {
        lines.push(
            "no store is shared; tome sync --add STORE, or [[agent]] sync = true in the settings"
                .to_owned(),
        );
    }
    lines.extend(report.notes.iter().cloned());
    if is_plan {
        let elsewhere = report.elsewhere.iter();
        let named = elsewhere.map(|(key, about)| about.as_ref().unwrap_or(key));
        lines.extend(named.map(|name| format!("not on this machine: {name}")));
    }
    if let Some(failure) = report.failure.as_ref().filter(|_| state != State::Quiet) {
        print_error(failure);
    }
    Answer::ending(outcome, json, Text::Lines(lines))
}

fn store_lines(store: &StoreReport, name: &str, world: &World, state: State) -> Vec<String> {
    const SHOWN: usize = 40;
    let mut lines = Vec::new();
    let (incoming, outgoing) = modes(store);
    let mut counts: Vec<String> = Vec::new();
    for (motion, _) in &store.motions {
        let name = motion_name(store, *motion);
        if !counts.iter().any(|count| count.ends_with(name)) {
            let count = store
                .motions
                .iter()
                .filter(|(other, _)| other == motion)
                .count();
            counts.push(format!("{count} {name}"));
        }
    }
    let what = match (state, counts.is_empty()) {
        (State::Status, _) => format!(
            "{}  {} shared, incoming {incoming}, outgoing {outgoing}",
            world.short_path(&store.root),
            counted(store.files, "file")
        ),
        (State::Failed, true) => "nothing to send".to_owned(),
        (_, true) => "up to date".to_owned(),
        (State::Dry | State::Failed, false) => format!("would be: {}", counts.join(", ")),
        (State::Done | State::Quiet, false) => counts.join(", "),
    };
    if store.key.is_empty() {
        lines.push(format!("{name}: not shared"));
    } else {
        lines.push(format!("{name}: {what}"));
    }
    for (motion, path) in store.motions.iter().take(SHOWN) {
        let name = match state {
            State::Status => motion.planned(),
            _ => motion_name(store, *motion),
        };
        lines.push(format!("  {name:<15} {path}"));
    }
    if store.motions.len() > SHOWN {
        lines.push(format!("  and {} more", store.motions.len() - SHOWN));
    }
    for held in &store.held_back {
        let way = if held.is_outgoing {
            "not sent"
        } else {
            "not taken in"
        };
        let (path, why, id) = (&held.path, &held.why, &held.id);
        lines.push(format!(
            "  held back       {path}: {why}, so it is {way}; tome sync --allow {id} lets it pass"
        ));
    }
    lines.extend(store.notes.iter().map(|note| format!("  {note}")));
    lines
}

/// What happens to a file, in words.
fn motion_name(store: &StoreReport, motion: Motion) -> &'static str {
    match (store.modes.1, motion) {
        (OutgoingMode::Branch, Motion::Sent) => "proposed",
        (OutgoingMode::Branch, Motion::SentDelete) => "to be deleted",
        _ => motion.name(),
    }
}

fn modes(store: &StoreReport) -> (&'static str, &'static str) {
    let incoming = match store.modes.0 {
        IncomingMode::Review => "review",
        IncomingMode::Accept => "accept",
    };
    let outgoing = match store.modes.1 {
        OutgoingMode::Push => "push",
        OutgoingMode::Branch => "branch",
    };
    (incoming, outgoing)
}

fn standing_json(standing: &Standing) -> Value {
    let last = standing.last.as_ref();
    json!({
        "url": standing.url,
        "branch": standing.branch,
        "machine": standing.machine,
        "last": last.map(|last| json!({
            "time": last.time,
            "failure": last.failure,
            "held": last.held_back.values().sum::<usize>(),
        })),
    })
}

fn store_json(store: &StoreReport) -> Value {
    let (incoming, outgoing) = modes(store);
    let files = store.motions.iter();
    let files =
        files.map(|(motion, path)| json!({ "path": path, "what": motion_name(store, *motion) }));
    let held = store.held_back.iter().map(|held| {
        json!({ "id": held.id, "path": held.path, "why": held.why, "outgoing": held.is_outgoing })
    });
    json!({
        "store": store.name,
        "root": store.root.to_string_lossy(),
        "key": store.key,
        "incoming": incoming,
        "outgoing": outgoing,
        "shared": store.files,
        "files": files.collect::<Vec<Value>>(),
        "held": held.collect::<Vec<Value>>(),
        "notes": store.notes,
    })
}

impl World {
    /// Returns the store of this name, which may have no file yet.
    fn store_to_share(&self, name: &str) -> Result<Store, Failure> {
        let found = discover(
            &self.environment,
            &self.settings,
            DiscoveryScope::Everything,
        );
        let mut stores = found
            .stores
            .into_iter()
            .chain(found.firsts)
            .map(|found| found.store);
        if let Some(store) = stores.find(|store| store.name() == name) {
            return Ok(store);
        }
        let claude = claude_memory_root(&self.environment, &self.settings);
        match claude.filter(|_| name == "claude") {
            Some(root) => Ok(Store::open(name, &root, Some(Layout::Index))?),
            None => self.store_named(name, Some("MEMORY.md")),
        }
    }

    /// The name of this machine, as the system has it.
    fn host_name(&self) -> String {
        let set = ["HOSTNAME", "COMPUTERNAME"]
            .iter()
            .find_map(|name| std::env::var(name).ok());
        let kept = || {
            read_text(Path::new("/proc/sys/kernel/hostname"), 1024)
                .ok()
                .flatten()
        };
        let asked = || {
            let program = self.program("hostname")?;
            let told = Command::new(program).output().ok()?;
            String::from_utf8(told.stdout).ok()
        };
        let name = set.or_else(kept).or_else(asked).unwrap_or_default();
        name.trim().split('.').next().unwrap_or_default().to_owned()
    }

    /// The directory of sync: the clone, and what was chosen.
    pub(super) fn sync_dir(&self) -> PathBuf {
        self.data_dir.join("sync")
    }
}
