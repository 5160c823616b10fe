//! The time of recall and find, compared with ripgrep, fzf and fast-resume on the same text.
//!
//! `cargo bench --bench search -- [--logs HOME] [100MB|1GB|6GB]...`, each size in turn: generated
//! logs, or copies of the real logs in HOME, under other ids, until they are as large. A recall is a
//! process of its own that checks the logs for changes, with a warm cache; a search alone opens the
//! index in this process, answers and reads the texts of the hits; a find is the work for one
//! keystroke, with an open corpus. Growth is that relative to a tenth of the size. A program that is
//! not installed is reported and left out.

#[path = "support/synthetic.rs"]
mod synthetic;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, io};

use tome::core::log::{self, LogLocations};
use tome::core::memory::texts::MemoryTexts;
use tome::core::search::Sources;
use tome::core::search::find::{FindRequest, find};
use tome::core::search::index::{Corpus, ReadResults};
use tome::core::search::query::Query;
use tome::core::search::recall::{RecallRequest, Scope, recall};

use synthetic::dice::Dice;

/// The number of runs; the median counts. The speed of a machine changes from second to second, so
/// the programs that are compared run in turn.
const RUNS: usize = 15;
/// The number of runs of what takes seconds.
const SLOW_RUNS: usize = 3;
/// The number of lines for fuzzy search.
const LINES: usize = 1_000_000;
const LINES_A_MESSAGE: usize = 50;

/// The words of the lines, frequent ones first.
const WORDS: &str = "the to of and a in is it that for this we on with be as not are you can file test code \
    error line change function build server client request response database migration schema index \
    query cache token session memory agent prompt thread lock channel deploy staging production cluster \
    container pipeline branch commit merge conflict review release rollback latency timeout retry backoff \
    queue worker scheduler parser compiler module package dependency config environment secret certificate \
    permission policy account invoice payment webhook stream dashboard metric benchmark buffer socket \
    connection transaction isolation snapshot restore compress validate render layout keyboard terminal";

/// Queries by cost: words that few, many, most and no messages contain. If no message
/// matches, all tool text is searched.
const RECALLS: [(&str, &str); 5] = [
    ("one word", "certificate"),
    ("selective words", "rollback certificate"),
    (
        "a question",
        "how did we fix the migration of the staging database",
    ),
    ("frequent words", "test code file error"),
    ("no such word", NOWHERE),
];
const NOWHERE: &str = "xylophone";

fn main() -> ExitCode {
    let mut args: Vec<String> = env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let mut logs = None;
    if let Some(at) = args.iter().position(|arg| arg == "--logs")
        && at + 1 < args.len()
    {
        logs = args.drain(at..at + 2).nth(1).map(PathBuf::from);
    }
    let sizes = if args.is_empty() {
        vec!["100MB".to_owned()]
    } else {
        args
    };
    let sizes: Option<Vec<u64>> = sizes.iter().map(|size| bytes(size)).collect();
    let result = match sizes {
        Some(sizes) => sizes
            .into_iter()
            .try_for_each(|size| recalls(size, logs.as_deref()))
            .and_then(|()| fuzzy()),
        None => Err(io::Error::other("a size is like 100MB or 1GB")),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("bench: {error}"));
            ExitCode::from(2)
        }
    }
}

fn recalls(bytes: u64, logs: Option<&Path>) -> io::Result<()> {
    let small = BenchHome::new(bytes / 10, logs)?;
    let large = BenchHome::new(bytes, logs)?;
    say(&format!(
        "recall over {} MB, warm; processor time in ms, ratios are tome's to the other's",
        bytes / 1_000_000
    ));
    say(&format!(
        "{:<18}{:>9}{:>9}{:>13}{:>8}{:>9}{:>13}{:>8}{:>8}{:>10}{:>7}",
        "",
        "command",
        "wall",
        "fast-resume",
        "ratio",
        "alone",
        "no refresh",
        "ratio",
        "10x",
        "rg -i ms",
        "MB"
    ));
    for (name, query) in RECALLS {
        let (mut tome, mut alone, mut before) = (Runs::default(), Vec::new(), Vec::new());
        let (mut peer, mut unrefreshed) = (Runs::default(), Runs::default());
        for _ in 0..RUNS {
            tome.add(|| large.recall(query))?;
            peer.add(|| large.peer("fr", &["--json", query])).ok();
            let without = ["--json", "--no-refresh", query];
            unrefreshed.add(|| large.peer("fr", &without)).ok();
            alone.push(large.search_alone(query)?);
            before.push(small.search_alone(query)?);
        }
        let longest = query
            .split(' ')
            .max_by_key(|word| word.len())
            .unwrap_or(query);
        let mut rg = Runs::default();
        for _ in 0..SLOW_RUNS {
            let args = ["-uu", "-i", "-c", longest, "."];
            rg.add(|| large.peer("rg", &args)).ok();
        }
        let alone = middle(alone).unwrap_or_default();
        let growth = alone / middle(before).unwrap_or_default();
        let of_peer = |runs: &Runs, own: f64| match runs.ms() {
            Some(_) => (
                format!("{:.1}", 1e3 * runs.processor()),
                format!("{:.2}", own / runs.processor()),
            ),
            None => ("-".to_owned(), "-".to_owned()),
        };
        let (with_refresh, ratio) = of_peer(&peer, tome.processor());
        let (without, ratio_alone) = of_peer(&unrefreshed, alone);
        say(&format!(
            "{name:<18}{:>9.1}{:>9.1}{with_refresh:>13}{ratio:>8}{:>9.1}{without:>13}{ratio_alone:>8}{growth:>7.1}x{:>10}{:>7}",
            1e3 * tome.processor(),
            tome.ms().unwrap_or_default(),
            1e3 * alone,
            rg.ms().map_or("-".to_owned(), |rg| format!("{rg:.0}")),
            large.peak(query)? / 1024,
        ));
    }
    first_runs(&large)?;
    let cache = large.cache_bytes()?;
    say(&format!(
        "cache: {} MB, {:.1} % of the logs",
        cache / 1_000_000,
        100.0 * cache as f64 / bytes as f64
    ));
    for (program, name) in [("rg", "ripgrep"), ("fr", "fast-resume")] {
        if Command::new(program).arg("--version").output().is_err() {
            say(&format!("{name} is not installed: left out"));
        }
    }
    Ok(())
}

/// Measures the processor time of reading the logs for the first time: of the first query, which
/// does not need the results of tools, and of the first that does.
fn first_runs(site: &BenchHome) -> io::Result<()> {
    let (mut tome, mut peer) = (Runs::default(), Runs::default());
    for _ in 0..SLOW_RUNS {
        fs::remove_dir_all(&site.cache)?;
        tome.add(|| site.recall(RECALLS[0].1))?;
        peer.add(|| site.peer("fr", &["--json", "warm"])).ok();
    }
    let comparison = peer.ms().map_or_else(String::new, |_| {
        let ratio = tome.processor() / peer.processor();
        format!(", fast-resume {:.2} s, ratio {ratio:.2}", peer.processor())
    });
    say(&format!(
        "first run, processor time: tome {:.2} s{comparison}",
        tome.processor()
    ));
    let mut results = Runs::default();
    results.add(|| site.recall(NOWHERE))?;
    say(&format!(
        "first search of results, processor time: {:.2} s",
        results.processor()
    ));
    first_timeline(site, tome.processor() + results.processor())
}

/// Measures the processor time of summarizing all logs for the first time, with the corpus at
/// hand, compared with that of the corpus.
fn first_timeline(site: &BenchHome, corpus: f64) -> io::Result<()> {
    let timeline = |level: &str| -> io::Result<f64> {
        let before = children_time();
        let peak = site.peak_of(&["--all", "toc", "--level", level])?;
        let time = children_time() - before;
        say(&format!(
            "timeline by {level}, processor time: {time:.2} s, {:.2} of the corpus, {} MB",
            time / corpus,
            peak / 1024
        ));
        Ok(time)
    };
    say("for the first time:");
    timeline("year")?;
    say("from its cache:");
    timeline("year")?;
    Ok(())
}

/// The runs of one program.
#[derive(Default)]
struct Runs {
    times: Vec<Duration>,
    /// The processor time of each, in seconds.
    processor: Vec<f64>,
}

impl Runs {
    fn add(&mut self, run: impl FnOnce() -> io::Result<Duration>) -> io::Result<()> {
        let before = children_time();
        self.times.push(run()?);
        self.processor.push(children_time() - before);
        Ok(())
    }

    /// Returns the median time in milliseconds; `None` if there were no runs.
    fn ms(&self) -> Option<f64> {
        let times = self.times.iter().map(Duration::as_secs_f64).collect();
        middle(times).map(|time| 1e3 * time)
    }

    /// Returns the median processor time in seconds.
    fn processor(&self) -> f64 {
        middle(self.processor.clone()).unwrap_or_default()
    }
}

fn middle(mut figures: Vec<f64>) -> Option<f64> {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied()
}

/// Returns the processor time of all ended children in seconds.
fn children_time() -> f64 {
    processor_time(libc::RUSAGE_CHILDREN)
}

/// Returns the processor time of this process in seconds.
fn own_time() -> f64 {
    processor_time(libc::RUSAGE_SELF)
}

fn processor_time(who: libc::c_int) -> f64 {
    // Sound: the structure is valid for this call, which fills it.
    #[allow(unsafe_code)]
    let usage = unsafe {
        let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
        libc::getrusage(who, usage.as_mut_ptr());
        usage.assume_init()
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + 1e-6 * time.tv_usec as f64;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// Makes a home with copies of real logs, each under another id, until they have this size; if it is
/// there already, it is used again.
fn copies(logs: &Path, bytes: u64) -> io::Result<PathBuf> {
    let home = env::temp_dir().join(format!("tome-bench-copies-{bytes}"));
    let files: Vec<PathBuf> = walkdir::WalkDir::new(logs)
        .into_iter()
        .flatten()
        .filter(|entry| entry.file_type().is_file())
        .map(walkdir::DirEntry::into_path)
        .collect();
    if home.exists() {
        return Ok(home);
    }
    if files.is_empty() {
        return Err(io::Error::other(format!("{}: no logs", logs.display())));
    }
    let mut written = 0;
    for copy in 0_u32.. {
        for file in &files {
            if written >= bytes {
                return Ok(home);
            }
            let text = fs::read(file)?;
            let inside = file.strip_prefix(logs).map_err(io::Error::other)?;
            let name = inside.to_string_lossy().into_owned();
            // The id of a session is at the end of its file's name.
            let stem = name
                .rsplit_once('.')
                .map_or(name.as_str(), |(stem, _)| stem);
            let id = &stem[stem.len().saturating_sub(12)..];
            let other = format!("{copy:04x}{}", &id[4.min(id.len())..]);
            let text = String::from_utf8_lossy(&text).replace(id, &other);
            let path = home.join(name.replace(id, &other));
            fs::create_dir_all(path.parent().unwrap_or(&home))?;
            fs::write(path, &text)?;
            written += text.len() as u64;
        }
    }
    Ok(home)
}

/// A home with logs, and its cache.
struct BenchHome {
    home: PathBuf,
    cache: PathBuf,
}

impl BenchHome {
    fn new(bytes: u64, logs: Option<&Path>) -> io::Result<Self> {
        let home = match logs {
            Some(logs) => copies(logs, bytes)?,
            None => synthetic::home(&env::temp_dir(), bytes)?,
        };
        let mut cache = home.clone().into_os_string();
        cache.push("-search-cache");
        let site = Self {
            home,
            cache: cache.into(),
        };
        // A word that no log has is searched in the results, too, so that all text is read.
        site.recall(NOWHERE)?;
        // The other program builds its index in its first run.
        drop(site.peer("fr", &["--json", "warm"]));
        Ok(site)
    }

    /// Returns the size of the cache of the logs, in bytes.
    fn cache_bytes(&self) -> io::Result<u64> {
        let files = walkdir::WalkDir::new(self.corpus()).into_iter();
        let sizes = files.map(|file| Ok(file?.metadata()?.len()));
        sizes.sum()
    }

    fn corpus(&self) -> PathBuf {
        self.cache.join("tome/corpus")
    }

    /// Returns the processor time of opening the index and of a query, in seconds.
    fn search_alone(&self, query: &str) -> io::Result<f64> {
        let before = own_time();
        let corpus = Corpus::open(&self.corpus());
        let corpus = corpus.ok_or_else(|| io::Error::other("there is no corpus"))?;
        let memories = MemoryTexts::default();
        let sources = Sources {
            memories: &memories,
            corpus: Some(&corpus),
        };
        let query = Query::of_prose(query, &jiff::Zoned::default());
        let request = RecallRequest {
            query: &query,
            scope: Scope::All,
            limit: 5,
            without: None,
        };
        std::hint::black_box(recall(sources, request));
        Ok(own_time() - before)
    }

    /// Returns the time of a recall.
    fn recall(&self, query: &str) -> io::Result<Duration> {
        self.timed(tome().args(["--all", "recall", query]))
    }

    /// Returns the time of another program.
    fn peer(&self, program: &str, args: &[&str]) -> io::Result<Duration> {
        self.timed(Command::new(program).args(args))
    }

    fn timed(&self, command: &mut Command) -> io::Result<Duration> {
        let command = self.prepared(command);
        let started = Instant::now();
        command.status()?;
        Ok(started.elapsed())
    }

    /// Returns the peak memory of a recall in KB.
    fn peak(&self, query: &str) -> io::Result<u64> {
        self.peak_of(&["--all", "recall", query])
    }

    /// Returns the peak memory in KB. Reading it again and again takes time of a core, so this is
    /// measured in a run of its own.
    fn peak_of(&self, args: &[&str]) -> io::Result<u64> {
        let mut child = self.prepared(tome().args(args)).spawn()?;
        let status = PathBuf::from(format!("/proc/{}/status", child.id()));
        let mut peak = 0;
        // The last value before the end counts; it never shrinks.
        while child.try_wait()?.is_none() {
            peak = peak.max(high_water(&status));
            std::thread::sleep(Duration::from_micros(200));
        }
        Ok(peak)
    }

    fn prepared<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command
            .current_dir(&self.home)
            .env("HOME", &self.home)
            .env("XDG_CACHE_HOME", &self.cache)
            .env("XDG_DATA_HOME", self.cache.join("data"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
    }
}

fn tome() -> Command {
    Command::new(env!("CARGO_BIN_EXE_tome"))
}

fn high_water(status: &Path) -> u64 {
    let status = fs::read_to_string(status).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok())
        .unwrap_or(0)
}

fn fuzzy() -> io::Result<()> {
    let home = env::temp_dir().join("tome-bench-lines");
    let (store, text) = (home.join("store"), home.join("lines.txt"));
    if !text.exists() {
        write_lines(&store, &text)?;
    }
    let locations = LogLocations {
        stores: vec![store],
        ..LogLocations::default()
    };
    let logs = log::locate(&locations);
    let corpus = Corpus::refresh(&home.join("cache"), &logs, ReadResults::Now, &())
        .map_err(io::Error::other)?;
    let memories = MemoryTexts::default();
    let sources = Sources {
        memories: &memories,
        corpus: Some(&corpus),
    };
    let now = jiff::Zoned::default();
    say(&format!("find over {LINES} lines, corpus open"));
    say(&format!(
        "{:<18}{:>9}{:>10}{:>13}{:>13}",
        "", "ms", "lines", "fzf ms", "fzf / tome"
    ));
    for text_of_query in ["to", "conf", "migra", "certif roll", "retry backoff"] {
        let query = Query::parse(text_of_query, &now).map_err(io::Error::other)?;
        let request = FindRequest {
            query: &query,
            limit: 100,
        };
        let mut total = 0;
        let (mut tome, mut fzf) = (Runs::default(), Runs::default());
        for _ in 0..RUNS {
            tome.add(|| {
                let started = Instant::now();
                total = find(sources, request, &()).total;
                Ok(started.elapsed())
            })?;
        }
        for _ in 0..SLOW_RUNS {
            let run = fzf.add(|| {
                let started = Instant::now();
                Command::new("fzf")
                    .args(["--filter", text_of_query])
                    .stdin(fs::File::open(&text)?)
                    .stdout(Stdio::null())
                    .status()?;
                Ok(started.elapsed())
            });
            if run.is_err() {
                break;
            }
        }
        let tome = tome.ms().unwrap_or_default();
        let (theirs, ratio) = match fzf.ms() {
            Some(fzf) => (format!("{fzf:.0}"), format!("{:.1}x", fzf / tome)),
            None => ("absent".to_owned(), "-".to_owned()),
        };
        say(&format!(
            "{text_of_query:<18}{tome:>9.1}{total:>10}{theirs:>13}{ratio:>13}"
        ));
    }
    Ok(())
}

/// Writes the same lines as a log of many messages and as plain text.
fn write_lines(store: &Path, text: &Path) -> io::Result<()> {
    fs::create_dir_all(store)?;
    let mut dice = Dice(7);
    let words: Vec<&str> = WORDS.split_whitespace().collect();
    let mut log = io::BufWriter::new(fs::File::create(store.join("messages.jsonl"))?);
    let mut plain = io::BufWriter::new(fs::File::create(text)?);
    let mut message = String::new();
    for number in 0..LINES {
        let mut line = String::new();
        while line.len() < 110 {
            // Lower indices are drawn more often, as frequent words are.
            let word = dice.below(words.len()).min(dice.below(words.len()));
            write!(line, "{} ", words[word]).map_err(io::Error::other)?;
        }
        writeln!(plain, "{line}")?;
        write!(message, "{line}\\n").map_err(io::Error::other)?;
        if (number + 1) % LINES_A_MESSAGE == 0 {
            writeln!(log, "{{\"role\":\"user\",\"content\":\"{message}\"}}")?;
            message.clear();
        }
    }
    log.flush()?;
    plain.flush()
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

#[allow(clippy::print_stdout)] // A benchmark prints its results.
fn say(words: &str) {
    println!("{words}");
}
