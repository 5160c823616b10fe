//! Many processes at once: every change is applied or reported, none is lost.

use crate::support::{Home, json_of};

const WORKERS: usize = 8;
const ROUNDS: usize = 50;

#[test]
fn eight_processes_patching_one_file_lose_nothing() {
    let home = Home::new();
    let counters: String = (0..WORKERS)
        .map(|w| format!("- worker {w}: 0.\n"))
        .collect();
    home.file(
        "project/data/memory/facts/count.md",
        format!("# Count\n\n{counters}"),
    );
    let (applied, conflicts): (usize, usize) = std::thread::scope(|scope| {
        let home = &home;
        let workers: Vec<_> = (0..WORKERS)
            .map(|worker| scope.spawn(move || work(home, worker)))
            .collect();
        let done = workers
            .into_iter()
            .map(|worker| worker.join().expect("no worker fails"));
        done.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    });
    assert_eq!(applied + conflicts, WORKERS * ROUNDS);
    let text = home.read("project/data/memory/facts/count.md");
    let counted: usize = text
        .lines()
        .filter_map(|line| {
            line.split(": ")
                .nth(1)?
                .trim_end_matches('.')
                .parse::<usize>()
                .ok()
        })
        .sum();
    assert_eq!(counted, applied, "{text}");
    let history = home.json("history --limit 1000");
    assert_eq!(history["changes"].as_array().map(Vec::len), Some(applied));
}

/// Increments one line repeatedly; returns how often it was applied and how often it conflicted.
fn work(home: &Home, worker: usize) -> (usize, usize) {
    let (mut applied, mut conflicts) = (0, 0);
    for _ in 0..ROUNDS {
        let old = format!("worker {worker}: {applied}.");
        let new = format!("worker {worker}: {}.", applied + 1);
        let output = home.run(&["patch", "facts/count.md", "--old", &old, "--new", &new]);
        match output.code {
            0 => applied += 1,
            2 if output.err.contains("has changed since it was read") => conflicts += 1,
            _ => panic!("{output:?}"),
        }
    }
    (applied, conflicts)
}

#[test]
fn events_of_many_processes_are_all_there() {
    let home = Home::new();
    home.memory("events.jsonl", "");
    std::thread::scope(|scope| {
        for worker in 0..WORKERS {
            let home = &home;
            scope.spawn(move || {
                for round in 0..10 {
                    home.ok(&format!("append events.jsonl --content {worker}-{round}"));
                }
            });
        }
    });
    let text = home.read_memory("events.jsonl");
    let mut texts: Vec<String> = text
        .lines()
        .map(|line| json_of(line)["text"].as_str().expect("text").to_owned())
        .collect();
    texts.sort();
    texts.dedup();
    assert_eq!(texts.len(), WORKERS * 10);
}

#[test]
fn two_writers_leave_an_index_that_needs_no_mending() {
    two_writers(20);
}

/// As above, repeated twenty times.
#[test]
#[ignore = "takes minutes"]
fn two_writers_of_a_hundred_memories_leave_an_index_that_needs_no_mending_twenty_times() {
    for _ in 0..20 {
        two_writers(100);
    }
}

fn two_writers(count: usize) {
    let home = Home::new();
    home.memory("MEMORY.md", "# Memory\n\n(empty)\n");
    std::thread::scope(|scope| {
        for (writer, kind) in ["user", "project"].into_iter().enumerate() {
            let home = &home;
            scope.spawn(move || {
                for number in 0..count {
                    let path = format!("w{writer}-{number}.md");
                    home.ok(&["write", &path, "--type", kind, "--content", "text"]);
                }
            });
        }
    });
    let output = home.run("index --check");
    assert_eq!(output.code, 0, "{output:?}");
    let index = home.read_memory("MEMORY.md");
    let listed = index.lines().filter(|line| line.starts_with("- [")).count();
    assert_eq!(listed, 2 * count, "{index}");
}
