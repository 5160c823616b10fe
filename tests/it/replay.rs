//! A history of a store, replayed as outside writes: every difference is shown exactly once, every
//! revert restores the bytes, whatever is decided, written with tome or killed in between.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use crate::support::{Home, json_of};

/// The texts of the memories, by name.
type Files = BTreeMap<String, String>;

/// Pseudo-random numbers, the same in every run.
struct Dice(u64);

impl Dice {
    /// A number below `sides`.
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % sides
    }
}

struct Replay {
    home: Home,
    dice: Dice,
    /// What the user accepted.
    accepted: Files,
    hunks: usize,
}

impl Replay {
    fn new(seed: u64) -> Self {
        let home = Home::new();
        for name in ["a", "b", "c"] {
            let text: String = (0..24).map(|n| format!("{name} says {n}\n")).collect();
            home.memory(&format!("facts/{name}.md"), text);
        }
        home.ok("list");
        let mut replay = Self {
            home,
            dice: Dice(seed),
            accepted: Files::new(),
            hunks: 0,
        };
        replay.accepted = replay.files();
        replay
    }

    fn files(&self) -> Files {
        let dir = self.home.project().join(".memory/facts");
        let entries = fs::read_dir(dir).expect("lists").flatten();
        entries
            .map(|entry| {
                let name = format!("facts/{}", entry.file_name().to_string_lossy());
                (name, fs::read_to_string(entry.path()).expect("reads"))
            })
            .collect()
    }

    /// One commit: some lines of a file are others, or a file comes or goes.
    fn write_outside(&mut self, number: usize) {
        let files = self.files();
        let at = self.dice.roll(files.len());
        let (name, text) = files.iter().nth(at).expect("a file");
        let path = self.home.project().join(".memory").join(name);
        match self.dice.roll(8) {
            0 if files.len() > 2 => fs::remove_file(path).expect("removes"),
            1 => {
                let new = format!("project/.memory/facts/new{number}.md");
                self.home.file(&new, format!("new {number}\nand more\n"));
            }
            _ => {
                let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
                for edit in 0..=self.dice.roll(3) {
                    let at = self.dice.roll(lines.len() + 1);
                    match self.dice.roll(3) {
                        0 if at < lines.len() => drop(lines.remove(at)),
                        1 if at < lines.len() => lines[at] = format!("changed {number}.{edit}"),
                        _ => lines.insert(at, format!("added {number}.{edit}")),
                    }
                }
                fs::write(path, lines.join("\n") + "\n").expect("writes");
            }
        }
    }

    /// What waits; checks that it is exactly what differs from what was accepted.
    fn items(&mut self) -> Vec<Value> {
        let output = self.home.run("review --json");
        let value = json_of(&output.out);
        let items = value["items"].as_array().expect("items").clone();
        let current = self.files();
        let mut shown: Files = self.accepted.clone();
        for item in &items {
            let path = item["path"].as_str().expect("a path").to_owned();
            let from = item["renamed_from"].as_str().unwrap_or(&path).to_owned();
            let old = shown.remove(&from).unwrap_or_default();
            let hunks = item["hunks"].as_array().expect("hunks");
            self.hunks += hunks.len();
            let new = apply(&old, hunks);
            if item["change"] != "deleted" {
                shown.insert(path, new);
            }
        }
        assert_eq!(shown, current);
        items
    }

    /// Decides about some of it as a person does.
    fn decide(&mut self, items: &[Value]) {
        let ids = |item: &Value| item["id"].as_str().expect("an id").to_owned();
        match self.dice.roll(6) {
            0 => {
                self.home.ok("review --accept all");
                self.accepted = self.files();
            }
            1 => {
                self.home.ok("review --revert all");
                assert_eq!(self.files(), self.accepted);
                self.home.ok("undo");
                self.items();
            }
            2 => {
                self.home.ok("review --revert all");
                assert_eq!(self.files(), self.accepted);
            }
            3 => {
                // Accepted and taken back: as if nothing had happened.
                self.home.ok(&["review", "--accept", &ids(&items[0])]);
                self.home.ok("undo");
                self.items();
            }
            _ if items[0]["change"] == "changed" => {
                let hunks = items[0]["hunks"].as_array().expect("hunks");
                let hunk = &hunks[self.dice.roll(hunks.len())];
                let path = items[0]["path"].as_str().expect("a path").to_owned();
                let text = apply(&self.accepted[&path], std::slice::from_ref(hunk));
                self.home.ok(&["review", "--accept", &ids(hunk)]);
                self.accepted.insert(path, text);
                self.items();
            }
            _ => {}
        }
    }

    /// The person changes a file that does not wait.
    fn write_with_tome(&mut self, number: usize) {
        let current = self.files();
        let same = |(name, text): &(&String, &String)| self.accepted.get(*name) == Some(text);
        let Some((name, text)) = current.iter().find(same) else {
            return;
        };
        let line = text.lines().next().expect("a line").to_owned();
        let new = format!("mine {number}");
        let args = ["patch", name.as_str(), "--old", &line, "--new", &new];
        if self.home.run(&args).code == 0 {
            let text = self.files()[name].clone();
            self.accepted.insert(name.clone(), text);
        }
    }
}

/// A text with hunks made, which are in order.
fn apply(old: &str, hunks: &[Value]) -> String {
    let lines: Vec<&str> = old.split_inclusive('\n').collect();
    let (mut made, mut at) = (String::new(), 0);
    for hunk in hunks {
        let number =
            |key: &str| usize::try_from(hunk[key].as_u64().expect("a number")).expect("fits");
        let count = number("old_lines");
        let start = number("old_start") - usize::from(count > 0);
        made.push_str(&lines[at..start].concat());
        let text = hunk["text"].as_str().expect("a text");
        let mut old = lines[start..start + count].iter();
        for line in text.split_inclusive('\n') {
            let (sign, rest) = line.split_at(1);
            if sign != "+" {
                assert_eq!(old.next(), Some(&rest));
            }
            if sign != "-" {
                made.push_str(rest);
            }
        }
        at = start + count;
    }
    made.push_str(&lines[at..].concat());
    made
}

#[test]
fn a_replayed_history_is_shown_exactly_once_whatever_happens_in_between() {
    for seed in [3, 8] {
        let mut replay = Replay::new(seed);
        for number in 0..14 {
            replay.write_outside(number);
            if replay.dice.roll(3) == 0 {
                let step = 1 + replay.dice.roll(3);
                if let Some(paused) = replay.home.paused_at(&["review"], step) {
                    paused.kill();
                }
            }
            let items = replay.items();
            if !items.is_empty() {
                replay.decide(&items);
            }
            if replay.dice.roll(3) == 0 {
                replay.write_with_tome(number);
                replay.items();
            }
        }
        let files = replay.files();
        replay.home.run("review --accept all");
        assert_eq!(replay.home.run("review --count").out, "0\n");
        assert_eq!(replay.files(), files);
        assert!(replay.hunks > 10, "{} hunks", replay.hunks);
    }
}
