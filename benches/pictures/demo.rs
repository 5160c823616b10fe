//! The recorded demo: what it shows, key by key.

use std::time::Duration;

use tome::core::memory::discover::claude_slug;

use crate::film::Frame;
use crate::place::{END_OF_LINE, ENTER, ESCAPE, SAVE, browse};
use crate::stage::{Size, TerminalSession};

pub(crate) const SIZE: Size = (100, 28);

pub(crate) const TITLE: &str = "tome: see, search, fix and prune what coding agents remember";

/// The time that a typed letter stays.
const LETTER: u64 = 90;

/// The program, and the frames so far.
struct Recorder<'a> {
    stage: &'a TerminalSession,
    frames: Vec<Frame>,
    caption: (&'static str, &'static str),
}

impl Recorder<'_> {
    /// Keeps the screen as it is now for this many milliseconds.
    fn keep(&mut self, milliseconds: u64) {
        self.frames.push(Frame {
            screen: self.stage.still(),
            caption: self.caption,
            hold: Duration::from_millis(milliseconds),
        });
    }

    /// Presses a key that the caption names, waits for a text, and keeps the screen.
    fn key(
        &mut self,
        keys: &str,
        caption: (&'static str, &'static str),
        then: &str,
        milliseconds: u64,
    ) {
        self.caption = caption;
        self.stage.press(keys, then);
        self.keep(milliseconds);
    }

    /// Types a text letter by letter.
    fn text(&mut self, text: &str, then: &str, milliseconds: u64) {
        let mut letters = text.chars().peekable();
        while let Some(letter) = letters.next() {
            self.stage.send(letter.encode_utf8(&mut [0; 4]));
            if letters.peek().is_some() {
                self.keep(LETTER);
            }
        }
        self.stage.see(then);
        self.keep(milliseconds);
    }
}

/// A session in which an agent changes a memory: its record, then the file.
fn change_as_agent(stage: &TerminalSession) {
    const BEFORE: &str = "- refresh token: 7 days, rotated on use";
    const AFTER: &str = "- refresh token: 30 days, rotated on use";
    let demo = &stage.demo;
    let session = "7d2e9f40-5c1b-4a83-b6d4-0e9f8a7b6c5d";
    let record = |kind: &str, id: &str, content: serde_json::Value| {
        let record = serde_json::json!({
            "type": kind, "uuid": id, "timestamp": jiff::Timestamp::now().to_string(), "cwd": demo.project,
            "sessionId": session, "message": { "role": kind, "content": content },
        });
        format!("{record}\n")
    };
    let call = serde_json::json!([{ "type": "tool_use", "id": "edit", "name": "Edit", "input": {
        "file_path": demo.project.join(".memory/auth_refactor.md"),
        "old_string": BEFORE, "new_string": AFTER,
    } }]);
    let prompt = serde_json::json!("people should stay logged in longer");
    let log = demo.home.join(format!(
        ".claude/projects/{}/{session}.jsonl",
        claude_slug(&demo.project)
    ));
    let records = record("user", "u1", prompt) + &record("assistant", "u2", call);
    std::fs::write(log, records).expect("a log");
    stage.see("10 sessions");
    stage.change("shop/.memory/auth_refactor.md", |text| {
        text.replace(BEFORE, AFTER)
    });
}

/// Plays the demo; returns its frames.
pub(crate) fn play(stage: &TerminalSession) -> Vec<Frame> {
    browse(stage);
    stage.still();
    change_as_agent(stage);
    stage.see("1 to review");
    let mut play = Recorder {
        stage,
        frames: Vec::new(),
        caption: ("", "an agent just changed a memory"),
    };
    play.keep(2500);
    let caption = ("R", "review what agents wrote, and why");
    play.key("R", caption, "claude-code in “", 3500);
    play.key("r", ("r", "take it back?"), "revert 1 file", 2200);
    play.key(ENTER, ("Enter", "taken back"), "7 days", 200);
    play.stage.gone("revert 1 file");
    play.keep(1800);
    play.stage.press(ESCAPE, "sessions");
    play.key("/", ("/", "find, in memories and logs"), "find ❯", 700);
    play.text("token rot", "Use JWT", 2200);
    let caption = ("Ctrl-E", "edit the memory at the match");
    play.key("\u{5}", caption, "edit · auth_refactor.md", 1200);
    play.stage.send(END_OF_LINE);
    play.text(" See rotate.rs.", "rotate.rs.", 1000);
    let caption = ("Ctrl-S", "see what would change");
    play.key(SAVE, caption, "save 1 file", 3000);
    play.key(ENTER, ("Enter", "write it"), "Memory saved", 2000);
    play.key("\u{1b}u", ("Alt-U", "undo"), "ndone", 2500);
    play.stage.press(ESCAPE, "sessions");
    play.key("t", ("t", "what happened, day by day"), "Asked", 3500);
    play.frames
}
