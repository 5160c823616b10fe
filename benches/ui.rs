//! The terminal UI: a frame with 10,000 memories, a key press in a text of 10,000 lines, and the
//! load while idle. Run: `cargo bench --bench ui`.
//!
//! A frame is the update and the drawing after a key, measured without a terminal. The key press
//! is compared with ratatui-textarea, the usual text area of such programs, which has no
//! highlighting. The idle load is the processor time of the real program on a pty.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use ratatui_textarea::TextArea;
use tome::tui::measure::HeadlessApp;

const MEMORIES: usize = 10_000;
/// The length of a long line.
const LINE_BYTES: usize = 216_000;

const LINES: usize = 10_000;
const SIZE: (u16, u16) = (120, 40);
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

fn frames(store: &Path) -> tome::core::Result<Both> {
    let mut stage = HeadlessApp::open(store, SIZE)?;
    stage.press(KeyCode::Char('z'), NONE)?;
    stage.take_frames();
    for round in 0..400 {
        let key = match round % 10 {
            8 => KeyCode::PageDown,
            9 => KeyCode::Char('s'),
            _ => KeyCode::Down,
        };
        stage.press(key, NONE)?;
    }
    for letter in "fmemory 77".chars() {
        stage.press(KeyCode::Char(letter), NONE)?;
    }
    stage.press(KeyCode::Esc, NONE)?;
    for _ in 0..20 {
        stage.press(KeyCode::Char('Z'), NONE)?;
        stage.press(KeyCode::Char('z'), NONE)?;
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

fn letters(store: &Path) -> tome::core::Result<Both> {
    let mut stage = HeadlessApp::open(store, SIZE)?;
    stage.press(KeyCode::Char('G'), NONE)?;
    stage.press(KeyCode::Char('e'), NONE)?;
    for _ in 0..120 {
        stage.press(KeyCode::PageDown, NONE)?;
    }
    stage.take_frames();
    for n in 0..400 {
        let key = match n % 40 {
            20 => KeyCode::Enter,
            30 => KeyCode::Char('`'),
            _ => KeyCode::Char('x'),
        };
        stage.press(key, NONE)?;
    }
    Ok(spread(stage.take_frames()))
}

fn peer_letters(text: &str) -> Both {
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut area = TextArea::new(lines);
    area.set_line_number_style(ratatui::style::Style::new());
    let (width, height) = SIZE;
    let Ok(mut terminal) = Terminal::new(TestBackend::new(width, height));
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

/// Returns the processor time that the real program uses while idle.
fn idle(home: &Path) -> Result<Duration, Box<dyn std::error::Error>> {
    let pty = native_pty_system().openpty(PtySize {
        rows: SIZE.1,
        cols: SIZE.0,
        pixel_width: 0,
        pixel_height: 0,
    })?;
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_tome"));
    command.cwd(home.join("project"));
    command.env("HOME", home);
    command.env("TERM", "xterm-256color");
    command.env("COLORFGBG", "15;0");
    let mut child = pty.slave.spawn_command(command)?;
    drop(pty.slave);
    let mut output = pty.master.try_clone_reader()?;
    std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        while matches!(output.read(&mut bytes), Ok(1..)) {}
    });
    let id = child.process_id().ok_or("the program runs")?;
    std::thread::sleep(Duration::from_secs(3));
    let before = processor_time(id)?;
    std::thread::sleep(Duration::from_secs(3));
    let spent = processor_time(id)? - before;
    pty.master.take_writer()?.write_all(b"q")?;
    child.wait()?;
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
