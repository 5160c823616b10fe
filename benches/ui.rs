//! The terminal UI: a frame with 10,000 memories, a key press in a text of 10,000 lines, a key in
//! the finder with 1 GB of logs, and the load while idle. Run: `cargo bench --bench ui`.
//!
//! A frame is the update and the drawing after a key or a worker's result, measured without a terminal. The key press
//! is compared with ratatui-textarea, the usual text area of such programs, which has no
//! highlighting. A key in the finder is measured until its results are drawn, with the
//! program's own workers: until the first rows, until memories, conversations and, if those have
//! nothing, tool text were searched for the words as they are typed, and until similar words and
//! letters were, too. Each letter is typed and deleted again; a deleted letter mostly brings back
//! what was found before. The finder is compared with nucleo, the usual matcher of such programs, on the
//! same lines, which are loaded before, and without drawing. The logs are synthetic, created once
//! in the temporary directory. The idle load is the processor time of the real program on a pty.

#[path = "support/synthetic.rs"]
mod synthetic;
#[allow(dead_code)]
#[path = "../tests/it/tui/tty.rs"]
mod tty;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nucleo::pattern::{CaseMatching, Normalization};
use nucleo::{Config, Nucleo};
use portable_pty::CommandBuilder;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::Size;
use ratatui_textarea::TextArea;
use tome::core::log::LogLocations;
use tome::core::memory::catalog::{LogCatalog, LogScope};
use tome::core::search::index::{Corpus, Part};
use tome::core::text::time::Moment;
use tome::tui::measure::{HeadlessApp, HeadlessSetup};
use tome::tui::{NamedStore, StoreSource};
use tty::Tty;

const MEMORIES: usize = 10_000;
/// The length of a long line.
const LINE_BYTES: usize = 216_000;

/// The size of the logs that are searched.
const LOGS: u64 = 1_000_000_000;
/// What is typed into the finder, letter by letter, and deleted again: words that few, many and
/// most messages have, beginnings, a phrase, slips, and what is nowhere.
const TYPED: [&str; 9] = [
    "certificate",
    "rollback certif",
    "staging database migration",
    "test code file error",
    "subgepagetion",
    "\"migration of\"",
    "certifcate",
    "rolback databse",
    "xylophone",
];

const LINES: usize = 10_000;
const SIZE: Size = Size {
    width: 120,
    height: 40,
};
const NONE: KeyModifiers = KeyModifiers::NONE;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let home = tempfile::tempdir()?;
    let store = home.path().join("project/.memory");
    fs::create_dir_all(&store)?;
    for n in 0..MEMORIES {
        let kind = ["user", "feedback", "project", "reference"][n % 4];
        let body = "A sentence about what was decided, and *why*. ".repeat(4 + n % 13);
        let text = format!(
            "---\nname: Memory {n}\ndescription: what memory {n} is about\ntype: {kind}\n---\n\n## Part\n{body}\n\n- a point\n- `code`\n"
        );
        fs::write(store.join(format!("memory_{n:05}.md")), text)?;
    }
    fs::write(store.join("MEMORY.md"), "# Memory\n")?;
    let browse = frames(&store)?;
    let long = home.path().join("long");
    fs::create_dir(&long)?;
    let text = long_text();
    fs::write(long.join("long.md"), &text)?;
    fs::write(long.join("MEMORY.md"), "- [long](long.md) - long\n")?;
    let letter = letters(&long)?;
    let wide = home.path().join("wide");
    fs::create_dir(&wide)?;
    let line = "some words of one endless line, ".repeat(LINE_BYTES / 32);
    let head = "---\nname: Wide\ndescription: one long line\ntype: project\n---\n\n";
    fs::write(wide.join("wide.md"), format!("{head}{line}\n"))?;
    fs::write(wide.join("MEMORY.md"), "- [wide](wide.md) - wide\n")?;
    let wide_letter = letters(&wide)?;
    let peer = peer_letters(&text);
    let idle = idle(home.path())?;
    let finder = finder_keys(home.path())?;

    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{:<44} {:>9} {:>9}",
        "update + draw, 120×40", "p50", "p99"
    )?;
    writeln!(
        out,
        "{:<44} {}",
        "10,000 memories: moving, folding, filtering",
        both(&browse)
    )?;
    writeln!(
        out,
        "{:<44} {}",
        "a letter in 10,000 lines of Markdown",
        both(&letter)
    )?;
    writeln!(
        out,
        "{:<44} {}",
        "a letter in a line of 216 KB",
        both(&wide_letter)
    )?;
    writeln!(
        out,
        "{:<44} {}",
        "  ratatui-textarea, not highlighted",
        both(&peer)
    )?;
    let ratio = peer.1.as_secs_f64() / letter.1.as_secs_f64();
    writeln!(
        out,
        "  tome is {ratio:.1} times as fast at the 99th percentile"
    )?;
    writeln!(out, "find, a key to the drawn list, 1 GB of logs")?;
    for (name, times) in [
        ("first rows", &finder.first),
        (
            "everything searched for the words, best drawn",
            &finder.words,
        ),
        (
            "  the same, without keys that delete a letter",
            &finder.typed,
        ),
        ("similar words and letters, too", &finder.complete),
        ("  nucleo, the same lines in memory", &finder.peer),
    ] {
        writeln!(out, "{name:<44} {}", both(times))?;
    }
    let slowest: Vec<String> = finder
        .slowest
        .iter()
        .map(|(time, text)| format!("{text} {:.1} ms", time.as_secs_f64() * 1000.0))
        .collect();
    writeln!(out, "  slowest for the words: {}", slowest.join(", "))?;
    writeln!(
        out,
        "idle for 3 s with 10,000 memories: {idle:.1?} of processor time"
    )?;
    Ok(())
}

/// The median and the 99th percentile.
type Both = (Duration, Duration);

fn spread(mut frames: Vec<Duration>) -> Both {
    frames.sort_unstable();
    let at = |part: usize| frames[(frames.len() - 1) * part / 100];
    (at(50), at(99))
}

fn both((middle, high): &Both) -> String {
    let ms = |time: &Duration| format!("{:>6.2} ms", time.as_secs_f64() * 1000.0);
    format!("{} {}", ms(middle), ms(high))
}

/// The app with one store and no logs.
fn stage(store: &Path) -> std::io::Result<HeadlessApp> {
    let named = NamedStore {
        name: "store".to_owned(),
        root: store.to_owned(),
        layout: None,
    };
    let data = store.with_extension("data");
    HeadlessApp::open(HeadlessSetup {
        source: StoreSource::Named(vec![named]),
        catalog: catalog(LogLocations::default(), data.join("cache")),
        data: &data,
        clock: now,
        size: SIZE,
    })
}

fn now() -> Moment {
    Moment {
        time: jiff::Timestamp::now(),
        today: jiff::Zoned::now().date(),
    }
}

fn catalog(locations: LogLocations, cache: PathBuf) -> LogCatalog {
    LogCatalog {
        locations,
        kept: None,
        cache,
        timeline: tome::core::memory::config::TimelineSettings::default(),
        scope: LogScope::All,
    }
}

fn frames(store: &Path) -> std::io::Result<Both> {
    let mut stage = stage(store)?;
    stage.press(KeyCode::Char('z'))?;
    stage.take_frames();
    for round in 0..400 {
        let key = match round % 10 {
            8 => KeyCode::PageDown,
            9 => KeyCode::Char('s'),
            _ => KeyCode::Down,
        };
        stage.press(key)?;
    }
    for letter in "fmemory 77".chars() {
        stage.press(KeyCode::Char(letter))?;
    }
    stage.press(KeyCode::Esc)?;
    for _ in 0..20 {
        stage.press(KeyCode::Char('Z'))?;
        stage.press(KeyCode::Char('z'))?;
    }
    Ok(spread(stage.take_frames()))
}

fn long_text() -> String {
    let mut text = "---\nname: Long\ndescription: a long text\ntype: project\n---\n\n".to_owned();
    for n in 0..LINES {
        text.push_str(&match n % 40 {
            0 => format!("## Part {n}\n"),
            10 => "```rust\n".to_owned(),
            11..=14 => format!("let value_{n} = compute({n}, \"text\");\n"),
            15 => "```\n".to_owned(),
            _ => format!("Line {n} says *something* about [a thing](thing.md) and `code`.\n"),
        });
    }
    text
}

fn letters(store: &Path) -> std::io::Result<Both> {
    let mut stage = stage(store)?;
    stage.press(KeyCode::Char('G'))?;
    stage.press(KeyCode::Char('e'))?;
    for _ in 0..120 {
        stage.press(KeyCode::PageDown)?;
    }
    stage.take_frames();
    for n in 0..400 {
        let key = match n % 40 {
            20 => KeyCode::Enter,
            30 => KeyCode::Char('`'),
            _ => KeyCode::Char('x'),
        };
        stage.press(key)?;
    }
    Ok(spread(stage.take_frames()))
}

fn peer_letters(text: &str) -> Both {
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut area = TextArea::new(lines);
    area.set_line_number_style(ratatui::style::Style::new());
    let Ok(mut terminal) = Terminal::new(TestBackend::new(SIZE.width, SIZE.height));
    let page = Event::Key(KeyEvent::new(KeyCode::PageDown, NONE));
    for _ in 0..120 {
        area.input(page.clone());
        let Ok(_) = terminal.draw(|frame| frame.render_widget(&area, frame.area()));
    }
    let mut frames = Vec::new();
    for n in 0..400 {
        let key = match n % 40 {
            20 => KeyCode::Enter,
            _ => KeyCode::Char('x'),
        };
        let start = Instant::now();
        area.input(Event::Key(KeyEvent::new(key, NONE)));
        let Ok(_) = terminal.draw(|frame| frame.render_widget(&area, frame.area()));
        frames.push(start.elapsed());
    }
    spread(frames)
}

/// The times of keys in the finder.
struct FinderKeys {
    first: Both,
    words: Both,
    typed: Both,
    complete: Both,
    peer: Both,
    /// The slowest for the words, with the text that was there afterwards.
    slowest: Vec<(Duration, String)>,
}

fn finder_keys(data: &Path) -> Result<FinderKeys, Box<dyn std::error::Error>> {
    let logs = synthetic::home(&std::env::temp_dir(), LOGS)?;
    let mut cache = logs.clone().into_os_string();
    cache.push("-ui-cache");
    let catalog = catalog(LogLocations::of_home(&logs), cache.into());
    let corpus = catalog.corpus(&catalog.files(), &())?;
    let peer = peer_keys(&corpus);
    drop(corpus);
    let mut finder = HeadlessApp::open(HeadlessSetup {
        source: StoreSource::Named(Vec::new()),
        catalog,
        data,
        clock: now,
        size: SIZE,
    })?;
    finder.press(KeyCode::Char('/'))?;
    let (mut first, mut words, mut complete) = (Vec::new(), Vec::new(), Vec::new());
    let mut typed = Vec::new();
    let mut slowest = Vec::new();
    for text in TYPED {
        let letters = text.chars().map(KeyCode::Char);
        let deleted = text.chars().map(|_| KeyCode::Backspace);
        let mut shown = String::new();
        for key in letters.chain(deleted) {
            let times = finder.press(key)?;
            match key {
                KeyCode::Char(letter) => {
                    shown.push(letter);
                    typed.push(times.words);
                }
                _ => drop(shown.pop()),
            }
            first.push(times.first);
            words.push(times.words);
            complete.push(times.complete);
            slowest.push((times.words, shown.clone()));
        }
    }
    slowest.sort_by(|a, b| b.cmp(a));
    slowest.truncate(5);
    Ok(FinderKeys {
        first: spread(first),
        words: spread(words),
        typed: spread(typed),
        complete: spread(complete),
        peer,
        slowest,
    })
}

/// Returns the times of the same keys in nucleo, until it has matched all lines.
fn peer_keys(corpus: &Corpus) -> Both {
    let mut nucleo: Nucleo<String> = Nucleo::new(Config::DEFAULT, Arc::new(|| {}), None, 1);
    let injector = nucleo.injector();
    for log in 0..corpus.logs().len() {
        for at in corpus.messages(log, &[Part::Words]) {
            corpus.message(at, |message| {
                for line in message.text.lines() {
                    injector.push(line.to_owned(), |line, columns| {
                        columns[0] = line.as_str().into();
                    });
                }
            });
        }
    }
    while nucleo.tick(1000).running {}
    let mut times = Vec::new();
    for text in TYPED {
        let ends: Vec<usize> = text
            .char_indices()
            .map(|(at, c)| at + c.len_utf8())
            .collect();
        let deleted = ends.iter().rev().skip(1).copied().chain([0]);
        let mut last = 0;
        for end in ends.iter().copied().chain(deleted) {
            let start = Instant::now();
            let (smart, is_longer) = (Normalization::Smart, end > last);
            let pattern = &mut nucleo.pattern;
            pattern.reparse(0, &text[..end], CaseMatching::Smart, smart, is_longer);
            while nucleo.tick(1000).running {}
            times.push(start.elapsed());
            last = end;
        }
    }
    spread(times)
}

/// Returns the processor time that the real program uses while idle.
fn idle(home: &Path) -> Result<Duration, Box<dyn std::error::Error>> {
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_tome"));
    command.cwd(home.join("project"));
    command.env("HOME", home);
    command.env("TERM", "xterm-256color");
    command.env("COLORFGBG", "15;0");
    let tty = Tty::start(command, (SIZE.width, SIZE.height));
    std::thread::sleep(Duration::from_secs(3));
    let before = processor_time(tty.id())?;
    std::thread::sleep(Duration::from_secs(3));
    let spent = processor_time(tty.id())? - before;
    tty.send("q");
    tty.end();
    Ok(spent)
}

/// Returns the processor time of all threads of a process, from `/proc`.
fn processor_time(id: u32) -> Result<Duration, Box<dyn std::error::Error>> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat"))?;
    let after = stat.rsplit(')').next().ok_or("no stat")?;
    let fields: Vec<&str> = after.split_whitespace().collect();
    let ticks = |at: usize| -> Option<u64> { fields.get(at)?.parse().ok() };
    let ticks = ticks(11).zip(ticks(12)).ok_or("no times")?;
    // A tick is a hundredth of a second on all current Linux systems.
    Ok(Duration::from_millis((ticks.0 + ticks.1) * 10))
}
