//! A model: three machines write, rename, delete, decide, sync and die in any order, with wrong
//! clocks and without a network. Whatever happens, all have the same in the end, nothing goes that
//! nobody took away, and no delete is without a tombstone.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;

use tome::core::change::recover_interrupted;
use tome::core::insight::review::{Item, ItemChange};
use tome::core::memory::config::IncomingMode::{Accept, Review};

use super::machine::{Killed, Machine, Remote};
use crate::support::report;

/// Numbers that look random and are the same for the same seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides.max(1) as u64) as usize
    }
}

/// The words that somebody wrote, each once in the world.
fn words(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    words
        .filter(|word| word.starts_with("w0"))
        .map(str::to_owned)
        .collect()
}

fn all_words(files: &BTreeMap<String, String>) -> BTreeSet<String> {
    files.values().flat_map(|text| words(text)).collect()
}

struct World {
    dice: Dice,
    remote: Remote,
    machines: Vec<Machine>,
    count: usize,
    /// The words that came into a file.
    written: BTreeSet<String>,
    /// The words that somebody took away knowingly.
    given_up: BTreeSet<String>,
    /// The words that a machine had before it was killed.
    open: [BTreeSet<String>; 3],
    is_online: bool,
    kills: usize,
    /// How many syncs failed because git was killed.
    git_kills: usize,
    syncs: usize,
    conflicts: usize,
}

impl World {
    fn new(seed: u64) -> Self {
        let remote = Remote::new();
        let modes = [
            ("one", Accept, 0),
            ("two", Review, 3 * 86_400),
            ("three", Accept, -400 * 86_400),
        ];
        let machines = modes.map(|(name, mode, skew)| {
            let mut machine = Machine::new(&remote, name, mode);
            machine.skew = skew;
            machine
        });
        Self {
            dice: Dice(seed | 1),
            remote,
            machines: machines.into(),
            count: 0,
            written: BTreeSet::new(),
            given_up: BTreeSet::new(),
            open: Default::default(),
            is_online: true,
            kills: 0,
            git_kills: 0,
            syncs: 0,
            conflicts: 0,
        }
    }

    fn word(&mut self) -> String {
        self.count += 1;
        format!("w0{}", self.count)
    }

    /// One thing that happens.
    fn happen(&mut self) {
        let at = self.dice.roll(self.machines.len());
        match self.dice.roll(20) {
            0..=2 => self.create(at),
            3..=6 => self.edit(at),
            7 => self.delete(at),
            8 => self.rename(at),
            9 => self.index(at),
            10 => self.decide(at),
            11 if self.dice.roll(4) == 0 => {
                // Away for a while.
                if self.is_online {
                    self.remote.hide()
                } else {
                    self.remote.show()
                }
                self.is_online = !self.is_online;
            }
            _ => self.sync(at),
        }
    }

    fn some_file(&mut self, at: usize) -> Option<String> {
        let names: Vec<String> = self.machines[at].files().into_keys().collect();
        let pick = self.dice.roll(names.len());
        names.into_iter().nth(pick)
    }

    fn create(&mut self, at: usize) {
        let word = self.word();
        // Few names, so that two machines make the same one.
        let name = format!("m{}.md", self.dice.roll(14));
        if !self.machines[at].has(&name) {
            self.written.insert(word.clone());
            self.machines[at].write(&name, &format!("head {word}\n1\n2\n3\n4\n5\n6\n7\n8\n"));
        }
    }

    fn edit(&mut self, at: usize) {
        let Some(name) = self.some_file(at) else {
            return;
        };
        let text = self.machines[at].read(&name);
        let word = self.word();
        let mut lines: Vec<&str> = text.lines().collect();
        let line = self.dice.roll(lines.len());
        let added = format!("line {word}");
        if self.dice.roll(3) == 0 && line < lines.len() {
            self.given_up.extend(words(lines[line]));
            lines[line] = &added;
        } else {
            lines.insert(line, &added);
        }
        self.written.insert(word.clone());
        self.machines[at].write(&name, &(lines.join("\n") + "\n"));
    }

    fn delete(&mut self, at: usize) {
        let Some(name) = self.some_file(at) else {
            return;
        };
        self.given_up.extend(words(&self.machines[at].read(&name)));
        if self.dice.roll(2) == 0 {
            self.machines[at].delete(&name);
        } else {
            fs::remove_file(self.machines[at].root().join(&name)).expect("removed");
            self.machines[at].observe();
        }
    }

    fn rename(&mut self, at: usize) {
        let Some(name) = self.some_file(at) else {
            return;
        };
        let root = self.machines[at].root();
        let new = format!("r{}.md", self.dice.roll(9));
        if !root.join(&new).exists() {
            fs::rename(root.join(&name), root.join(&new)).expect("renamed");
            self.machines[at].observe();
        }
    }

    /// Somebody writes the index by hand.
    fn index(&mut self, at: usize) {
        let word = self.word();
        let text = self.machines[at].read("MEMORY.md");
        self.written.insert(word.clone());
        let text = text.replacen("# Memory\n", "# Mine\n", 1);
        self.machines[at].write("MEMORY.md", &format!("{text}\nFact {word}.\n"));
    }

    /// What a person sees of an item and agrees to.
    fn agree(&mut self, item: &Item, sign: char) {
        for hunk in &item.hunks {
            let lines = hunk.text.lines().filter(|line| line.starts_with(sign));
            self.given_up.extend(lines.flat_map(words));
        }
    }

    fn decide(&mut self, at: usize) {
        let items = self.machines[at].items();
        let pick = self.dice.roll(items.len());
        let Some(item) = items.get(pick) else { return };
        let rejects = self.dice.roll(3) == 0;
        self.agree(item, if rejects { '+' } else { '-' });
        if rejects {
            self.machines[at].reject_ids(item.ids());
        } else {
            self.machines[at].accept_ids(item.ids());
        }
    }

    /// Accepts everything, as a person who looked at it.
    fn accept(&mut self, at: usize) {
        for item in self.machines[at].items() {
            self.conflicts += usize::from(item.sent.as_ref().is_some_and(|sent| sent.is_conflict));
            self.agree(&item, '-');
            if item.change == ItemChange::Deleted {
                let text = self.machines[at].read(&item.path);
                self.given_up.extend(words(&text));
            }
        }
        self.machines[at].accept();
    }

    fn sync(&mut self, at: usize) {
        let before = self.machines[at].files();
        let paths = if self.is_online {
            self.remote.paths()
        } else {
            Vec::new()
        };
        let is_killed = self.dice.roll(4) == 0;
        let fuse = if is_killed { 1 + self.dice.roll(36) } else { 0 };
        let is_git_killed = !is_killed && self.dice.roll(6) == 0;
        let life = if is_git_killed {
            2 + self.dice.roll(20)
        } else {
            0
        };
        self.machines[at].kill_git_after(life);
        let machine = &self.machines[at];
        machine.fuse.store(fuse, Ordering::SeqCst);
        let ended = catch_unwind(AssertUnwindSafe(|| machine.try_sync()));
        machine.fuse.store(0, Ordering::SeqCst);
        let mut known = all_words(&before);
        known.append(&mut self.open[at]);
        match ended {
            Ok(report) if is_git_killed && self.is_online && report.failure.is_some() => {
                self.git_kills += 1;
                self.remote.unlock();
                self.open[at] = known;
                return;
            }
            Ok(report) => {
                self.syncs += 1;
                let failure = report.failure;
                assert_eq!(failure.is_none(), self.is_online, "{failure:?}");
            }
            Err(why) => {
                assert!(why.is::<Killed>(), "a panic");
                self.kills += 1;
                recover_interrupted(&machine.history, &[&machine.root()]).expect("recovered");
                // A rename may be half made; the next sync must end it.
                self.open[at] = known;
                return;
            }
        }
        // Nothing goes that nobody took away: it is in a file, or waits with both texts. Nothing is
        // deleted without a tombstone.
        let after = machine.files();
        let hunks = machine.items().into_iter().flat_map(|item| item.hunks);
        let waiting: BTreeSet<String> = hunks.flat_map(|hunk| words(&hunk.text)).collect();
        let left = all_words(&after);
        let lost: Vec<&String> = known
            .difference(&left)
            .filter(|word| !self.given_up.contains(*word) && !waiting.contains(*word))
            .collect();
        assert_eq!(lost, [""; 0], "lost on {}", machine.name);
        if !self.is_online {
            assert_eq!(before, after);
            return;
        }
        let there = self.remote.paths();
        let is_gone = |name: &&String| !after.contains_key(*name);
        for name in before.keys().filter(|name| is_gone(name)) {
            assert!(
                there
                    .iter()
                    .any(|path| path.ends_with(&format!("/.deleted/{name}"))),
                "{name}"
            );
        }
        let memories = paths.iter().filter(|path| !path.contains("/."));
        for path in memories.filter(|path| !there.contains(path)) {
            let name = path.rsplit('/').next().expect("a name");
            assert!(
                there
                    .iter()
                    .any(|path| path.ends_with(&format!("/.deleted/{name}"))),
                "{path}"
            );
        }
    }

    /// In the end all have the same.
    fn converge(&mut self) {
        for machine in &mut self.machines {
            machine.kill_git_after(0);
        }
        if !self.is_online {
            self.remote.show();
            self.is_online = true;
        }
        for round in 0..12 {
            let mut is_still = true;
            let mut told = Vec::new();
            for at in 0..self.machines.len() {
                let report = self.machines[at].sync_allowing("deletes");
                let items = self.machines[at].items();
                is_still &= report.stores[0].motions.is_empty() && items.is_empty();
                let items: Vec<_> = items
                    .iter()
                    .map(|item| (item.path.clone(), item.what()))
                    .collect();
                told.push((report.stores[0].clone(), items));
                self.accept(at);
            }
            if is_still {
                break;
            }
            assert!(round < 11, "they never agree: {told:#?}");
        }
        let files = self.machines[0].files();
        let index = self.machines[0].read("MEMORY.md");
        for machine in &self.machines[1..] {
            assert_eq!(machine.files(), files, "{}", machine.name);
            assert_eq!(machine.read("MEMORY.md"), index, "{}", machine.name);
        }
        // Every word is in a file, or somebody took it away; then a version still has it.
        let left = all_words(&files);
        let hand_written = words(&index);
        for number in 1..=self.count {
            let word = format!("w0{number}");
            let is_there = left.contains(&word) || hand_written.contains(&word);
            if !is_there && self.given_up.contains(&word) {
                continue;
            }
            let is_kept = || {
                self.machines
                    .iter()
                    .any(|machine| machine.has_version_with(&word))
            };
            let is_written = self.written.contains(&word);
            assert!(is_there || !is_written || is_kept(), "{word} is lost");
        }
    }
}

fn run(seed: u64, rounds: usize) {
    let mut world = World::new(seed);
    for _ in 0..rounds {
        world.happen();
    }
    world.converge();
    report(&format!(
        "sync: {rounds} rounds of seed {seed}, {} syncs, {} kills, {} of git, {} conflicts",
        world.syncs, world.kills, world.git_kills, world.conflicts
    ));
}

#[test]
fn whatever_happens_all_machines_agree_and_nothing_is_lost() {
    let rounds = std::env::var("TOME_SYNC_ROUNDS").ok();
    let rounds = rounds.and_then(|rounds| rounds.parse().ok()).unwrap_or(160);
    let seeds = std::env::var("TOME_SYNC_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    match seeds {
        Some(seed) => run(seed, rounds),
        // Worlds of a hundred rounds, as many as the rounds are.
        None => {
            (0..rounds.div_ceil(80)).for_each(|n| run(7_777_777 + n as u64 * 7919, rounds.min(80)))
        }
    }
}
