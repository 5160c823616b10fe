//! Presses random keys over a home that another writer changes all the time.
//!
//! Run: `cargo run --release --example soak -- [SECONDS [SEED]]`; without numbers ten minutes. A third of
//! the time each is for a terminal of 80×24, 120×40 and 200×60, with more memories each time.
//!
//! Every second action is followed by another size of the terminal, from 9×3 to 200×60.
//!
//! It ends with an error if the program ends by itself, if the screen and the files disagree about how
//! many memories there are, if the history or a store is not well, or if memory grows. The keys
//! so far are in a file, whose name is printed, so that a run can be looked at.

#[allow(dead_code)]
#[path = "../support/dice.rs"]
mod dice;
#[allow(dead_code)]
#[path = "../pictures/stage.rs"]
mod stage;

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use dice::Dice;
use stage::{Size, TerminalSession};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The terminals, and how many memories are added to those of the sample.
const SCENES: [(Size, usize); 3] = [((80, 24), 0), ((120, 40), 300), ((200, 60), 3_000)];

/// The sizes that a terminal gets for a moment, and how many actions there are for each change.
const OTHER_SIZES: [Size; 6] = [(120, 36), (100, 20), (80, 24), (40, 10), (200, 60), (9, 3)];
const ACTIONS_A_RESIZE: usize = 2;

/// The store whose memories are written and counted.
const STORE: &str = ".memory";

/// How long keys are pressed between two looks at the files.
const BETWEEN_LOOKS: Duration = Duration::from_secs(20);

/// What a person does, and how often. Nothing here leaves the program, or the tree with its stores.
const ACTIONS: &[(usize, &str)] = &[
    (30, "j"),
    (20, "k"),
    (10, "\r"),
    (15, "\u{1b}"),
    (6, "\t"),
    (5, "l"),
    (5, "h"),
    (4, " "),
    (2, "G"),
    (2, "g"),
    (2, "\u{4}"),
    (2, "z"),
    (1, "Z"),
    (4, "/refresh\r"),
    (3, "/\"one commit\"\r"),
    (2, "/tokne rotaton"),
    (1, "/é日本"),
    (3, "eA random line\u{13}\r"),
    (2, "e\u{7}3\rabc\u{13}\r"),
    (1, "eunsaved\u{1b}"),
    (3, "dy"),
    (1, "d\u{1b}"),
    (4, "u"),
    (2, "\u{12}"),
    (2, "rnew-name\r"),
    (1, "Dcopy-of-it\r"),
    (1, "ntitle of it\r"),
    (1, "Vjjj"),
    (1, "*"),
    (1, "U"),
    (1, "M\u{1b}"),
    (2, "fpay\r"),
    (1, "f\u{15}\r"),
    (2, "s"),
    (3, "R"),
    (2, "a"),
    (1, "A"),
    (2, "H"),
    (2, "c"),
    (2, "t"),
    (1, "p\u{1b}"),
    (1, "-"),
    (1, "i"),
    (1, "W"),
    (1, "C"),
    (1, "v"),
    (1, "+"),
    (1, "L"),
    (1, "y"),
    (1, "n"),
    (1, "N"),
    (1, "T"),
    (1, "I"),
    (1, ":undo\u{1b}"),
    (1, ":history\r"),
    (1, "?"),
    (1, "\u{c}"),
    (1, "\u{1b}[15~"),
    (2, "\u{1b}[B\u{1b}[B"),
    (1, "\u{1b}[6~"),
    (1, "\u{1b}[<0;10;5M\u{1b}[<0;10;5m"),
    (1, "\u{1b}[<65;10;5M"),
    (1, "\u{1b}[200~pasted\nlines\u{1b}[201~"),
];

fn main() -> Result<()> {
    let mut numbers = std::env::args().skip(1).map(|number| number.parse());
    let seconds: u64 = numbers.next().transpose()?.unwrap_or(600);
    let seed: u64 = numbers.next().transpose()?.unwrap_or(1);
    let program = stage::built("soak")?;
    for (number, (size, memories)) in (0..).zip(SCENES) {
        let time = Duration::from_secs(seconds / SCENES.len() as u64);
        let mut soak = Soak::open(&program, size, memories)?;
        let figures = soak.run(&mut Dice(seed + number), time)?;
        say(&format!(
            "{}×{}, {memories} memories more: {figures}",
            size.0, size.1
        ));
        soak.close()?;
    }
    Ok(())
}

/// A program under random keys.
struct Soak<'a> {
    program: &'a Path,
    stage: TerminalSession,
    /// The size at which the screen is compared with the files.
    size: Size,
    writer: Writer,
    /// Everything that was pressed.
    pressed: String,
}

impl<'a> Soak<'a> {
    fn open(program: &'a Path, size: Size, memories: usize) -> Result<Self> {
        let stage = TerminalSession::open(program, "15;0", size, |demo| {
            let folder = demo.project.join(".memory");
            for number in 0..memories {
                let text = format!(
                    "---\nname: added-{number}\ndescription: one of many\ntype: project\n---\n\nbody {number}\n"
                );
                fs::write(folder.join(format!("added_{number}.md")), text)?;
            }
            Ok(())
        })?;
        stage.see("memories");
        let writer = Writer::start(&stage.demo.project, &stage.demo.home);
        Ok(Self {
            program,
            stage,
            writer,
            size,
            pressed: String::new(),
        })
    }

    /// Presses keys for a while, and looks at the files now and then.
    fn run(&mut self, dice: &mut Dice, time: Duration) -> Result<String> {
        let until = Instant::now() + time;
        let total: usize = ACTIONS.iter().map(|(weight, _)| weight).sum();
        let (mut actions, mut resizes, mut looks) = (0_u64, 0_u64, 0_u64);
        let mut memory = Vec::new();
        while Instant::now() < until {
            let pause = Instant::now() + BETWEEN_LOOKS;
            while Instant::now() < pause.min(until) {
                let mut at = dice.below(total);
                let action = ACTIONS.iter().find(|(weight, _)| {
                    let is_it = at < *weight;
                    at = at.saturating_sub(*weight);
                    is_it
                });
                let keys = action.map_or("j", |(_, keys)| keys);
                writeln!(self.pressed, "{keys:?}")?;
                if self.stage.has_ended() {
                    return Err(self.failure("the program has ended"));
                }
                self.stage.send(keys);
                actions += 1;
                if dice.below(ACTIONS_A_RESIZE) == 0 {
                    let size = OTHER_SIZES[dice.below(OTHER_SIZES.len())];
                    writeln!(self.pressed, "{size:?}")?;
                    self.stage.resize(size);
                    resizes += 1;
                }
                // Bursts as well as pauses.
                std::thread::sleep(Duration::from_millis(dice.below(4) as u64 * 10));
            }
            self.look()?;
            looks += 1;
            memory.extend(self.stage.resident());
        }
        let (first, last) = (memory.first().copied(), memory.last().copied());
        if let (Some(first), Some(last)) = (first, last)
            && last > first * 2 + 50_000
        {
            return Err(self.failure(&format!("memory grew from {first} to {last} KB")));
        }
        let written = self.writer.written.load(Ordering::Relaxed);
        Ok(format!(
            "{actions} actions, {resizes} resizes, {written} writes of others, {looks} looks, {} → {} KB resident",
            first.unwrap_or_default(),
            last.unwrap_or_default()
        ))
    }

    /// Leaves whatever is open, and compares the screen with what the files are.
    fn look(&mut self) -> Result<()> {
        self.writer.is_paused.store(true, Ordering::SeqCst);
        self.stage.resize(self.size);
        std::thread::sleep(Duration::from_millis(300));
        // Out of every place; questions about unsaved text are answered with "keep".
        for _ in 0..12 {
            self.stage.send("\u{1b}");
            std::thread::sleep(Duration::from_millis(60));
        }
        let deadline = Instant::now() + Duration::from_secs(60);
        let mut shown = None;
        loop {
            if shown.is_none() {
                // A program that was kept waiting takes several of them as one.
                self.stage.send("\u{1b}");
                self.stage.still();
                // Everything is read again and folded, so that each store is a row with its number.
                self.stage.send("\u{1b}[15~");
                self.stage.send("Zg");
            }
            let screen = self.stage.still().contents();
            if self.stage.has_ended() {
                return Err(self.failure("the program has ended"));
            }
            shown = shown_count(&screen);
            let listed = self.listed_count()?;
            if shown == Some(listed) {
                break;
            }
            if Instant::now() > deadline {
                let counts =
                    format!("the screen says {shown:?} memories of {STORE}, the files {listed}");
                return Err(self.failure(&counts));
            }
        }
        self.writer.is_paused.store(false, Ordering::SeqCst);
        Ok(())
    }

    /// The number of memories of the store that the command line lists.
    fn listed_count(&self) -> Result<usize> {
        let listed = self.command(&["list", "--json"])?;
        let listed: serde_json::Value = serde_json::from_slice(&listed.stdout)?;
        let memories = listed["memories"].as_array().ok_or("no list")?;
        Ok(memories
            .iter()
            .filter(|memory| memory["store"] == STORE)
            .count())
    }

    fn command(&self, args: &[&str]) -> Result<std::process::Output> {
        let demo = &self.stage.demo;
        let mut command = Command::new(self.program);
        command.args(args).current_dir(&demo.project).env_clear();
        Ok(command.env("HOME", &demo.home).output()?)
    }

    /// Describes a failure, with the screen and the file of the keys.
    fn failure(&self, what: &str) -> Box<dyn Error> {
        let file = std::env::temp_dir().join("tome-soak-keys");
        let kept = fs::write(&file, &self.pressed);
        let kept = kept.map_or_else(|error| error.to_string(), |()| file.display().to_string());
        format!("{what}\nkeys: {kept}\n{}", self.stage.still().contents()).into()
    }

    /// Ends the program and checks what it leaves.
    fn close(self) -> Result<()> {
        self.writer.stop();
        let history = self.command(&["history", "--json", "--limit", "1"])?;
        if !history.status.success() {
            return Err(self.failure(&String::from_utf8_lossy(&history.stderr)));
        }
        let doctor = String::from_utf8(self.command(&["doctor"])?.stdout)?;
        if doctor.contains("unfinished") || doctor.contains("damaged") {
            return Err(self.failure(&doctor));
        }
        self.stage.leave()
    }
}

/// The number at the end of the store's row in the tree.
fn shown_count(screen: &str) -> Option<usize> {
    let row = screen
        .lines()
        .find(|row| row.contains(&format!("▸ {STORE} ")))?;
    let tree = row.trim_start_matches('│').split('│').next()?;
    tree.split_whitespace().last()?.parse().ok()
}

/// Another program that writes memories and logs, with and without care.
struct Writer {
    is_paused: Arc<AtomicBool>,
    is_stopped: Arc<AtomicBool>,
    written: Arc<AtomicU64>,
    thread: std::thread::JoinHandle<()>,
}

impl Writer {
    fn start(project: &Path, home: &Path) -> Self {
        let is_paused = Arc::new(AtomicBool::new(false));
        let is_stopped = Arc::new(AtomicBool::new(false));
        let written = Arc::new(AtomicU64::new(0));
        let (paused, stopped, count) = (
            Arc::clone(&is_paused),
            Arc::clone(&is_stopped),
            Arc::clone(&written),
        );
        let (folder, logs) = (project.join(".memory"), home.join(".claude/projects"));
        let thread = std::thread::spawn(move || {
            let mut dice = Dice(7);
            while !stopped.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(20 + dice.below(150) as u64));
                // A file may be gone or renamed at any moment: the next one is tried.
                if !paused.load(Ordering::SeqCst)
                    && write_something(&folder, &logs, &mut dice).is_ok()
                {
                    count.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        Self {
            is_paused,
            is_stopped,
            written,
            thread,
        }
    }

    fn stop(&self) {
        self.is_stopped.store(true, Ordering::SeqCst);
        while !self.thread.is_finished() {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Appends to, replaces, makes or removes a memory, or appends to a log.
fn write_something(folder: &Path, logs: &Path, dice: &mut Dice) -> Result<()> {
    let any = |dice: &mut Dice, folder: &Path, ending: &str| -> Result<PathBuf> {
        let files = walkdir::WalkDir::new(folder)
            .into_iter()
            .filter_map(|entry| Some(entry.ok()?.into_path()));
        let files: Vec<PathBuf> = files
            .filter(|path| path.to_string_lossy().ends_with(ending))
            .collect();
        files
            .get(dice.below(files.len()))
            .cloned()
            .ok_or_else(|| "no file".into())
    };
    match dice.below(10) {
        0 => {
            let number = dice.below(50);
            let text = format!(
                "---\nname: agent-{number}\ndescription: written by an agent\ntype: project\n---\n\nnote\n"
            );
            fs::write(folder.join(format!("agent_{number}.md")), text)?;
        }
        1 => {
            let path = any(dice, folder, ".md")?;
            if path.to_string_lossy().contains("agent_") {
                fs::remove_file(path)?;
            }
        }
        2 | 3 => {
            // As editors and most agents do: a new file under the old name.
            let path = any(dice, folder, ".md")?;
            let text = fs::read_to_string(&path)?.replace("the", "a");
            let other = path.with_extension("tmp");
            fs::write(&other, text)?;
            fs::rename(other, path)?;
        }
        4..=6 => {
            let path = any(dice, folder, ".md")?;
            let mut file = fs::OpenOptions::new().append(true).open(path)?;
            writeln!(file, "A line that an agent added.")?;
        }
        _ => {
            let path = any(dice, logs, ".jsonl")?;
            let mut file = fs::OpenOptions::new().append(true).open(path)?;
            writeln!(
                file,
                r#"{{"type":"user","message":{{"role":"user","content":"one more question"}},"timestamp":"2026-10-20T10:00:00Z"}}"#
            )?;
        }
    }
    Ok(())
}

fn say(line: &str) {
    let mut out = std::io::stdout();
    drop(writeln!(out, "{line}"));
}
