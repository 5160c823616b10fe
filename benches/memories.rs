//! The time of `tome list` and `tome write` with 10,000 memories in one store, compared with
//! similar work of other programs. Run: `cargo bench --bench memories`.
//!
//! `list` is compared with `grep` for the description lines of the same files; `write`, which
//! is atomic, recorded and undoable, with `git add` and `git commit` of one file in a
//! repository of the same files; `review --count` with `git status`. What watching others' writes
//! costs when a store is opened is the ratio of listing with and without it, in one process.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

#[path = "support/side_by_side.rs"]
mod side_by_side;

use side_by_side::{git, median, memory_text, succeed};
use tome::core::change::history::History;
use tome::core::insight::review::observe;
use tome::core::memory::Memory;
use tome::core::memory::layout::Layout;
use tome::core::memory::store::Store;
use tome::core::text::time::Moment;

const MEMORIES: usize = 10_000;
const RUNS: usize = 9;

fn main() -> std::io::Result<()> {
    let home = tempfile::tempdir()?;
    let store = home.path().join("store");
    fs::create_dir(&store)?;
    for n in 0..MEMORIES {
        let path = store.join(format!("memory_{n:05}.md"));
        fs::write(path, memory_text(n, ""))?;
    }
    let tome = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tome"));
        command
            .args(["--store", "./store", "--layout", "index"])
            .args(args);
        command.current_dir(home.path()).env("HOME", home.path());
        command
    };
    succeed(&mut tome(&["index"]));
    git(&store, &["init", "-q"]);
    git(&store, &["add", "-A"]);
    git(&store, &["commit", "-q", "-m", "start"]);

    let list = median(RUNS, |_| succeed(&mut tome(&["list", "--json"])));
    let grep = median(RUNS, |_| {
        let mut command = Command::new("grep");
        command
            .args(["-r", "-h", "-m1", "--include=*.md", "^description:", "."])
            .current_dir(&store);
        succeed(&mut command);
    });
    let write = median(RUNS, |n| {
        let content = format!("Run {n}.");
        succeed(&mut tome(&[
            "write",
            "memory_05000.md",
            "--description",
            &content,
            "--content",
            &content,
        ]));
    });
    let commit = median(RUNS, |n| {
        fs::write(store.join("memory_05001.md"), format!("Run {n}.\n")).expect("written");
        git(&store, &["add", "memory_05001.md"]);
        git(&store, &["commit", "-q", "-m", "run"]);
    });
    succeed(&mut tome(&["review", "--accept", "all"]));
    // What was written just now is read again, since it may change without another time.
    std::thread::sleep(std::time::Duration::from_secs(3));
    succeed(&mut tome(&["review", "--count"]));
    let count = median(RUNS, |_| succeed(&mut tome(&["review", "--count"])));
    let status = median(RUNS, |_| git(&store, &["status", "--porcelain"]));
    let (listing, observing) = observing(&store, home.path())?;
    let history = home.path().join(".local/share/tome/history/journal.jsonl");
    let journal = fs::read_to_string(history)?;
    let last = journal.lines().last().unwrap_or_default();
    let last: serde_json::Value = serde_json::from_str(last)?;
    let touched = last["files"].as_array().map_or(0, Vec::len);

    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{MEMORIES} memories, median of {RUNS} runs, processes started anew"
    )?;
    row(
        &mut out,
        "tome list --json",
        list,
        "grep -r -m1 ^description:",
        grep,
    )?;
    row(
        &mut out,
        "tome write (memory and index)",
        write,
        "git add, git commit",
        commit,
    )?;
    row(
        &mut out,
        "tome review --count",
        count,
        "git status --porcelain",
        status,
    )?;
    row(
        &mut out,
        "listing and observing, in process",
        observing,
        "listing alone",
        listing,
    )?;
    writeln!(out, "a write replaced {touched} of {} files", MEMORIES + 1)
}

/// The time of listing a store, alone and with the record of what others wrote.
fn observing(store: &Path, home: &Path) -> std::io::Result<(Duration, Duration)> {
    let history = History::open(&home.join("observed"));
    let store = Store::open("store", store, Some(Layout::Index)).expect("a store");
    let moment = Moment {
        // Files that were changed just now are read again.
        time: jiff::Timestamp::now() + jiff::SignedDuration::from_mins(1),
        today: jiff::civil::date(2026, 1, 1),
    };
    let list = || store.list().expect("listed");
    let observed = |memories: &[Memory]| {
        let observed = observe(&history, &store, memories, &moment).expect("observed");
        assert_eq!(observed.waiting, 0);
    };
    let start = Instant::now();
    observed(&list());
    let mut out = std::io::stdout().lock();
    writeln!(out, "first sight of the store: {:.1?}", start.elapsed())?;
    let alone = median(RUNS, |_| drop(list()));
    Ok((alone, median(RUNS, |_| observed(&list()))))
}

fn row(
    out: &mut impl std::io::Write,
    name: &str,
    time: Duration,
    peer: &str,
    theirs: Duration,
) -> std::io::Result<()> {
    let ratio = time.as_secs_f64() / theirs.as_secs_f64();
    writeln!(
        out,
        "{name:32} {time:>10.1?}   {peer:28} {theirs:>10.1?}   ratio {ratio:.2}"
    )
}
