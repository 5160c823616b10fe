//! The history: its size after many changes, damage, pruning, and waiting for locks.

use std::fs;
use std::path::{Path, PathBuf};

use tome::core::change::history::History;
use tome::core::change::{Author, commit, plan};
use tome::core::memory::layout::Layout;
use tome::core::memory::store::Store;

use crate::store::{change_context, patch};
use crate::support::{Home, ends, has, json_of, not_run, report, starts, tree};

/// A store of many memories with a large index, and changes of one line each.
struct Large {
    dir: tempfile::TempDir,
    memories: usize,
}

/// Words that differ from line to line and compress about as well as prose.
fn words(seed: usize) -> String {
    const WORDS: [&str; 24] = [
        "token", "rotation", "breaks", "when", "two", "tabs", "share", "the", "session", "deploy",
        "needs", "a", "warm", "cache", "before", "traffic", "moves", "ask", "about", "tests",
        "first", "never", "squash", "commits",
    ];
    let hash = *blake3::hash(&seed.to_le_bytes()).as_bytes();
    let words = hash[..12]
        .iter()
        .map(|byte| WORDS[usize::from(*byte) % WORDS.len()]);
    words.collect::<Vec<_>>().join(" ")
}

impl Large {
    fn new(memories: usize) -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let store = dir.path().join("store");
        fs::create_dir(&store).expect("a folder");
        let mut index = "# Memory\n\n".to_owned();
        for number in 0..memories {
            let hook = words(number);
            index.push_str(&format!(
                "- [Memory {number}](memory_{number}.md) — {hook}\n"
            ));
            let body = words(number + 1_000_000);
            let text = format!(
                "---\nname: Memory {number}\ndescription: {hook}\ntype: project\n---\n\n{body}\n"
            );
            fs::write(store.join(format!("memory_{number}.md")), text).expect("a file");
        }
        fs::write(store.join("MEMORY.md"), index).expect("an index");
        Self { dir, memories }
    }

    /// Makes changes of one line each, which change a line of the index as well.
    fn change(&self, from: usize, to: usize) {
        let store = Store::open("s", &self.dir.path().join("store"), Some(Layout::Index));
        let store = store.expect("opens");
        let history = History::open(&self.dir.path().join("history"));
        let author = Author {
            who: "claude-code".to_owned(),
            door: "mcp".to_owned(),
        };
        for edit in from..to {
            let name = format!("memory_{}.md", edit * 7 % self.memories);
            let text = fs::read_to_string(store.root().absolute(&name)).expect("text");
            let old = text.lines().find(|line| line.starts_with("description: "));
            let context = change_context();
            let index = fs::read(store.root().absolute("MEMORY.md")).expect("an index");
            let request = patch(
                &name,
                old.expect("a line"),
                &format!("description: {}", words(2_000_000 + edit)),
            );
            let change = plan(&store, &request, &context).expect("plans");
            commit(&history, &change, &author, &context.moment).expect("made");
            let after = fs::read(store.root().absolute("MEMORY.md")).expect("an index");
            assert_ne!(index, after, "the index follows");
        }
    }

    /// The size of the history on disk.
    fn size(&self) -> u64 {
        on_disk(&self.dir.path().join("history"))
    }
}

fn on_disk(path: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    let meta = fs::symlink_metadata(path).expect("there");
    let own = meta.blocks() * 512;
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    own + entries.map(|entry| on_disk(&entry.path())).sum::<u64>()
}

#[test]
fn a_change_of_a_line_takes_as_much_room_as_the_compressed_index() {
    let large = Large::new(300);
    large.change(0, 30);
    let start = large.size();
    large.change(30, 130);
    let each = (large.size() - start) / 100;
    assert!(each < 10_000, "{each} bytes for a change");
}

/// Takes minutes: `cargo test --test it ten_thousand -- --ignored --nocapture`.
#[test]
#[ignore = "takes minutes"]
fn ten_thousand_changes_among_fifteen_hundred_memories_take_less_than_half_a_gigabyte() {
    let large = Large::new(1500);
    for thousand in 0..10 {
        let since = std::time::Instant::now();
        large.change(thousand * 1000, (thousand + 1) * 1000);
        report(&format!(
            "{} changes: {} KB, {} ms for each of the last thousand",
            (thousand + 1) * 1000,
            large.size() / 1024,
            since.elapsed().as_millis() / 1000,
        ));
    }
    let since = std::time::Instant::now();
    let history = History::open(&large.dir.path().join("history"));
    assert_eq!(history.health().expect("looks").damaged, []);
    let looked = since.elapsed();
    let last = history.records().expect("reads").pop().expect("a change");
    let since = std::time::Instant::now();
    let fresh = History::open(&large.dir.path().join("history"));
    for revision in last.revisions() {
        fresh.version(&revision).expect("reads");
    }
    let read = since.elapsed();
    report(&format!(
        "looked at in {looked:?}, a version read in {read:?}"
    ));
    assert!(large.size() < 512 << 20, "{} bytes", large.size());
}

fn store(home: &Home) {
    home.memory("MEMORY.md", "# Memory\n");
    home.ok("write a.md --type user --content one");
    home.ok("write a.md --content two");
    home.ok("write a.md --content three");
}

fn data(home: &Home) -> PathBuf {
    home.path().join(".local/share/tome/history")
}

#[test]
fn a_damaged_version_is_never_written_into_a_memory() {
    let home = Home::new();
    store(&home);
    let stored = data(&home).join("versions.bin");
    let sound = fs::read(&stored).expect("versions");
    let before = tree(&home.project());
    let (mut refused, mut undone) = (0, 0);
    for at in (0..sound.len()).step_by(sound.len() / 40) {
        let mut damaged = sound.clone();
        damaged[at] ^= 0xff;
        fs::write(&stored, &damaged).expect("written");
        let output = home.run("undo");
        match output.code {
            0 => {
                undone += 1;
                assert!(home.read_memory("a.md").contains("two"), "byte {at}");
                // Reset for the next case.
                fs::write(data(&home).join("journal.jsonl"), "").expect("emptied");
                fs::remove_dir_all(data(&home)).expect("removed");
                fs::remove_dir_all(home.project()).expect("removed");
                fs::create_dir_all(home.project().join(".git")).expect("made");
                store(&home);
                assert_eq!(tree(&home.project()), before);
                let again = fs::read(&stored).expect("versions");
                assert_eq!(
                    again.len(),
                    sound.len(),
                    "the same is stored in the same way"
                );
            }
            _ => {
                refused += 1;
                assert_eq!(output.code, 2, "{output:?}");
                assert_eq!(tree(&home.project()), before, "byte {at}: {output:?}");
                has(&output.err, ["version"]);
            }
        }
        fs::write(&stored, &sound).expect("written");
    }
    assert!(
        refused > 0 && undone > 0,
        "{refused} refused, {undone} undone"
    );
}

#[test]
fn pruning_tells_what_goes_and_what_stays_can_be_undone() {
    let home = Home::new();
    store(&home);
    let before = tree(&data(&home));
    let dry = home.json("history --prune --max-size 1600 --dry-run");
    assert_eq!(dry["dry_run"], true);
    let gone = dry["pruned"]["changes"].as_u64().expect("a number");
    assert!((1..3).contains(&gone), "{dry}");
    let without_locks = |mut files: std::collections::BTreeMap<String, Vec<u8>>| {
        files.retain(|path, _| !path.starts_with("locks"));
        files
    };
    assert_eq!(without_locks(tree(&data(&home))), without_locks(before));
    let real = home.json("history --prune --max-size 1600");
    assert_eq!(real["pruned"], dry["pruned"]);
    assert_eq!(real["bytes_after"], dry["bytes_after"]);
    let left = home.json("history");
    assert_eq!(
        left["changes"].as_array().map(Vec::len),
        real["kept"]["changes"]
            .as_u64()
            .map(|n| usize::try_from(n).expect("small"))
    );
    home.ok("undo");
    has(home.read_memory("a.md"), ["two"]);
    home.ok("redo");
    has(home.read_memory("a.md"), ["three"]);
    assert_eq!(
        home.ok("doctor --json").matches("\"damaged\":[]").count(),
        1
    );
    let out = home.ok("history --prune --older-than 90d");
    starts(&out, "0 changes were removed");
    for (wrong, told) in [("--older-than soon", "90d"), ("--max-size big", "50MB")] {
        has(home.fails(&format!("history --prune {wrong}")), [told]);
    }
    let output = home.run("history --dry-run");
    assert_eq!(output.code, 2, "only with --prune: {output:?}");
}

#[test]
fn the_doctor_tells_of_damaged_versions_and_of_the_oldest_change() {
    let home = Home::new();
    store(&home);
    let report = home.json("doctor");
    assert_eq!(report["history"]["changes"], 3);
    assert!(report["history"]["oldest"].is_string());
    assert!(
        report["history"]["bytes"]
            .as_u64()
            .is_some_and(|bytes| bytes > 500)
    );
    let out = home.ok("doctor");
    has(&out, ["3 changes, the oldest"]);
    let stored = data(&home).join("versions.bin");
    let mut bytes = fs::read(&stored).expect("versions");
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&stored, bytes).expect("written");
    let output = home.finds_nothing("doctor --json");
    let report = json_of(&output.out);
    assert_eq!(
        report["history"]["damaged"].as_array().map(Vec::len),
        Some(1)
    );
    let place = report["problems"][0]["place"].as_str().expect("a place");
    ends(place, "versions.bin");
}

#[test]
fn whoever_waits_for_a_store_says_for_whom() {
    if !cfg!(debug_assertions) {
        not_run("only a debug build can be stopped at a step");
        return;
    }
    let home = Home::new();
    store(&home);
    let paused = home.paused_at("write a.md --content four", 1);
    let paused = paused.expect("it takes the lock");
    let mut child = home
        .command("append a.md --content five")
        .stderr(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("runs");
    let mut told = std::io::BufReader::new(child.stderr.take().expect("piped"));
    let mut line = String::new();
    std::io::BufRead::read_line(&mut told, &mut line).expect("reads");
    starts(&line, "tome: waiting for tome write (pid ");
    assert_eq!(paused.go_on().0, Some(0));
    assert_eq!(child.wait().expect("ends").code(), Some(0));
    let text = home.read_memory("a.md");
    has(&text, ["four", "five"]);
}

#[test]
fn a_memory_of_any_size_is_deleted_and_comes_back() {
    let home = Home::new();
    let line = "a line of a memory that nobody needs\n";
    let text = format!(
        "---\nname: Huge\ntype: project\n---\n\n{}",
        line.repeat(480_000)
    );
    home.memory("huge.md", &text);
    home.memory("MEMORY.md", "# Memory\n\n- [Huge](huge.md)\n");
    let file = home.project().join(".memory/huge.md");
    assert!(fs::metadata(&file).expect("there").len() > 16 << 20);
    let gone = home.run("delete huge.md");
    assert_eq!(gone.code, 0, "{}", gone.err);
    assert!(!file.exists());
    let back = home.run("undo");
    assert_eq!(back.code, 0, "{}", back.err);
    assert_eq!(fs::read(&file).expect("there"), text.as_bytes());
    let again = home.run("redo");
    assert_eq!(again.code, 0, "{}", again.err);
    assert!(!file.exists());
}
