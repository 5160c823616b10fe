//! The time to build, open and scan the corpus, compared with ripgrep on the same logs.
//!
//! `cargo bench --bench logs -- [100MB|1GB]`. The logs are created once, in the temporary
//! directory, and are the same everywhere. Each measurement is a process of its own; CPU time
//! and resident memory come from `/proc` and are absent without it.

#[path = "support/synthetic.rs"]
mod synthetic;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};
use std::{env, fs, io};

use tome::core::log::{self, LogFile, LogLocations};
use tome::core::search::index::{Corpus, MessageFilter, Part, ReadResults, WantedWord};
use tome::core::search::query::Filters;

/// The word to search: a rare one, which some messages contain.
const WORD: &str = "subgepagetion";
/// The number of runs; the best counts, since other processes only slow a run down.
const RUNS: usize = 7;

/// One measurement: time and memory.
#[derive(Debug, Clone, Default)]
struct Measurement {
    name: String,
    wall: Duration,
    cpu: Option<Duration>,
    /// Peak resident memory, and the part of it that is not files, in KB.
    peak: Option<u64>,
    anonymous: Option<u64>,
    note: String,
}

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let result = match args.first().map(String::as_str) {
        Some("--child") => child(&args[1..]),
        size => match bytes(size.unwrap_or("100MB")) {
            Some(bytes) => parent(bytes),
            None => Err(io::Error::other("a size is like 100MB or 1GB")),
        },
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("bench: {error}"));
            ExitCode::from(2)
        }
    }
}

fn parent(bytes: u64) -> io::Result<()> {
    let home = synthetic::home(&env::temp_dir(), bytes)?;
    let logs = log::locate(&LogLocations::of_home(&home));
    let total: u64 = logs.iter().map(|log| log.size).sum();
    say(&format!(
        "{} logs, {} MB, in {}",
        logs.len(),
        total / 1_000_000,
        home.display()
    ));
    let mut figures = Vec::new();
    for task in ["cold", "open", "warm", "grown", "word", "said", "results"] {
        figures.push(best(|| request(task, &home))?);
    }
    let insensitive = match ripgrep(&home, &["-c", WORD])? {
        None => {
            say("rg is not installed: no comparison");
            None
        }
        Some(sensitive) => {
            figures.push(sensitive);
            let figure = ripgrep(&home, &["-i", "-c", WORD])?.unwrap_or_default();
            figures.push(figure.clone());
            Some(figure.wall)
        }
    };
    table(&figures, insensitive, total);
    fs::remove_dir_all(cache(&home))
}

/// Runs one task in a process of its own and reads its measurement.
fn request(task: &str, home: &Path) -> io::Result<Measurement> {
    let out = Command::new(env::current_exe()?)
        .args(["--child", task])
        .arg(home)
        .output()?;
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let mut fields = text.trim_end().split('\t');
    let mut number = || fields.next().and_then(|field| field.parse::<u64>().ok());
    let wall = number().ok_or_else(|| io::Error::other(format!("{task}: {text}")))?;
    Ok(Measurement {
        wall: Duration::from_nanos(wall),
        cpu: number().map(Duration::from_nanos),
        peak: number(),
        anonymous: number(),
        name: fields.next().unwrap_or_default().to_owned(),
        note: fields.next().unwrap_or_default().to_owned(),
    })
}

/// Runs one task and prints its measurement.
fn child(args: &[String]) -> io::Result<()> {
    let [task, home] = args else {
        return Err(io::Error::other("a task and a home are needed"));
    };
    let home = PathBuf::from(home);
    let cache = cache(&home);
    let locations = LogLocations::of_home(&home);
    if task == "cold" && cache.exists() {
        fs::remove_dir_all(&cache)?;
    }
    let mut logs = log::locate(&locations);
    let grown = match task.as_str() {
        "grown" => Some(grow(&cache, &mut logs)?),
        _ => None,
    };
    let started = Instant::now();
    let cpu = used();
    let (name, note) = match task.as_str() {
        "cold" => ("cold build", build(&cache, &logs)?),
        "open" => ("open, logs listed before", build(&cache, &logs)?),
        "warm" => (
            "list the logs and open",
            build(&cache, &log::locate(&locations))?,
        ),
        "grown" => ("open, one log grown by a line", build(&cache, &logs)?),
        "word" => ("open, look up a word", look_up(&cache)?),
        "said" => ("open, read all that was said", read(&cache, Part::Words)?),
        _ => ("open, read all results", read(&cache, Part::Results)?),
    };
    let wall = started.elapsed().as_nanos();
    let cpu = used().zip(cpu).map_or(String::new(), |(after, before)| {
        (after - before).as_nanos().to_string()
    });
    if let Some(grown) = grown {
        fs::remove_file(grown)?;
    }
    let peak = status("VmHWM").map_or(String::new(), |kb| kb.to_string());
    let anonymous = status("RssAnon").map_or(String::new(), |kb| kb.to_string());
    say(&format!(
        "{wall}\t{cpu}\t{peak}\t{anonymous}\t{name}\t{note}"
    ));
    Ok(())
}

fn build(cache: &Path, logs: &[LogFile]) -> io::Result<String> {
    let corpus = Corpus::refresh(cache, logs, ReadResults::Now, &()).map_err(io::Error::other)?;
    let text = |part| corpus.logs().map(|log| log.text_bytes(part)).sum::<u64>() / 1_000_000;
    Ok(format!(
        "{} MB words, {} MB tools",
        text(Part::Words),
        text(Part::Results) + text(Part::Calls)
    ))
}

/// Appends a line to a copy of a log after the corpus was built; returns the copy's path.
fn grow(cache: &Path, logs: &mut Vec<LogFile>) -> io::Result<PathBuf> {
    let mut log = logs[logs.len() / 2].clone();
    let bytes = fs::read(&log.path)?;
    log.path = cache.join("grown.jsonl");
    let cut = bytes[..bytes.len() - 1]
        .iter()
        .rposition(|byte| *byte == b'\n');
    fs::write(&log.path, &bytes[..cut.map_or(0, |cut| cut + 1)])?;
    log.size = cut.map_or(0, |cut| cut as u64 + 1);
    logs.push(log.clone());
    Corpus::refresh(cache, logs, ReadResults::Now, &()).map_err(io::Error::other)?;
    let mut file = fs::OpenOptions::new().append(true).open(&log.path)?;
    io::Write::write_all(&mut file, &bytes[cut.map_or(0, |cut| cut + 1)..])?;
    if let Some(last) = logs.last_mut() {
        last.size = bytes.len() as u64;
    }
    Ok(log.path)
}

fn open(cache: &Path) -> io::Result<Corpus> {
    Corpus::open(cache).ok_or_else(|| io::Error::other("there is no corpus"))
}

fn look_up(cache: &Path) -> io::Result<String> {
    let corpus = open(cache)?;
    let logs = vec![true; corpus.logs().len()];
    let filter = MessageFilter {
        logs: &logs,
        filters: &Filters::default(),
    };
    let wanted = [WantedWord::Any(vec![WORD.to_owned()])];
    let count = |part| {
        let found = corpus.look_up(&wanted, &[part]);
        corpus.with_all(&found, filter, 1).total
    };
    let (said, results) = (count(Part::Words), count(Part::Results));
    Ok(format!("{said} messages, {results} results"))
}

fn read(cache: &Path, part: Part) -> io::Result<String> {
    let corpus = open(cache)?;
    let mut messages = 0;
    for log in 0..corpus.logs().len() {
        for at in corpus.messages(log, &[part]) {
            let has_word = corpus.message(at, |message| message.text.contains(WORD));
            messages += usize::from(has_word == Some(true));
        }
    }
    Ok(format!("{messages} messages have the word"))
}

/// Runs ripgrep over the logs; `None` if it is not installed.
fn ripgrep(home: &Path, args: &[&str]) -> io::Result<Option<Measurement>> {
    if Command::new("rg").arg("--version").output().is_err() {
        return Ok(None);
    }
    let mut figure = best(|| {
        let before = used_by_children();
        let started = Instant::now();
        let out = Command::new("rg")
            .arg("-uu")
            .args(args)
            .arg(home)
            .output()?;
        let files = out.stdout.iter().filter(|byte| **byte == b'\n').count();
        Ok(Measurement {
            wall: started.elapsed(),
            cpu: used_by_children()
                .zip(before)
                .map(|(after, before)| after - before),
            note: format!("{files} logs hold it"),
            ..Measurement::default()
        })
    })?;
    figure.name = format!("rg {}", args.join(" "));
    Ok(Some(figure))
}

fn best(mut run: impl FnMut() -> io::Result<Measurement>) -> io::Result<Measurement> {
    let mut figures = (0..RUNS)
        .map(|_| run())
        .collect::<io::Result<Vec<Measurement>>>()?;
    figures.sort_by_key(|figure| figure.wall);
    Ok(figures.swap_remove(0))
}

fn table(figures: &[Measurement], insensitive: Option<Duration>, total: u64) {
    say(&format!(
        "{:<36}{:>10}{:>10}{:>9}{:>9}{:>9}{:>9}  note",
        "", "wall ms", "CPU s", "MB/s", "peak MB", "anon MB", "of rg -i"
    ));
    for figure in figures {
        let absent = || "-".to_owned();
        let wall = figure.wall.as_secs_f64();
        let cpu = figure
            .cpu
            .map_or_else(absent, |cpu| format!("{:.2}", cpu.as_secs_f64()));
        let megabytes = |kb: Option<u64>| kb.map_or_else(absent, |kb| format!("{}", kb / 1024));
        let ratio = insensitive.map_or_else(absent, |rg| format!("{:.3}", wall / rg.as_secs_f64()));
        say(&format!(
            "{:<36}{:>10.2}{:>10}{:>9.0}{:>9}{:>9}{:>9}  {}",
            figure.name,
            wall * 1e3,
            cpu,
            total as f64 / 1e6 / wall,
            megabytes(figure.peak),
            megabytes(figure.anonymous),
            ratio,
            figure.note
        ));
    }
}

fn cache(home: &Path) -> PathBuf {
    home.join("cache")
}

/// Parses a size like `100MB` or `1GB`.
fn bytes(size: &str) -> Option<u64> {
    let at = size.find(|char: char| !char.is_ascii_digit())?;
    let number: u64 = size[..at].parse().ok()?;
    match &size[at..] {
        "MB" => Some(number * 1_000_000),
        "GB" => Some(number * 1_000_000_000),
        _ => None,
    }
}

/// Returns the CPU time of this process so far.
fn used() -> Option<Duration> {
    ticks(13)
}

/// Returns the CPU time of the processes that this one started and waited for.
fn used_by_children() -> Option<Duration> {
    ticks(15)
}

/// Adds two neighbouring fields of `/proc/self/stat`, which are in hundredths of a second.
fn ticks(field: usize) -> Option<Duration> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the process, the second field, may contain blanks.
    let fields: Vec<&str> = stat[stat.rfind(')')? + 2..].split(' ').collect();
    let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some(Duration::from_millis(
        10 * (number(field - 2)? + number(field - 1)?),
    ))
}

/// Returns a field of `/proc/self/status`, in KB.
fn status(field: &str) -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with(field))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

#[allow(clippy::print_stdout)] // A benchmark prints its results.
fn say(words: &str) {
    println!("{words}");
}
