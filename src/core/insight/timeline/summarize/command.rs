//! The command summarizer: a program of the user's own settings, which gets the events as JSON on
//! its standard input and prints a summary as JSON.
//!
//! In: `{"level":"segment","agent":…,"events":[{"line","time","role","kind","tool","text"}]}`,
//! without secrets. Out: `{"title":…,"bullets":[{"text":…,"lines":[12]}],"keywords":[…]}`. What it
//! prints is checked and shortened. If it fails twice, the offline summarizer is used, and the node
//! says so.

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;

use super::{Offline, Point, PointKind, Summarizer, Summary, SummaryInput};
use crate::core::insight::timeline::event::{Texts, begin};
use crate::core::log::{MessageKind, Role};
use crate::core::text::display::{safe, safe_line};

/// How often the program is started for one summary.
const TRIES: usize = 2;

/// The most bytes of a text that it gets, and of all of them.
const TEXT_BYTES: usize = 4_000;
const INPUT_BYTES: usize = 400_000;

/// The most bytes of its answer that are read.
const OUTPUT_BYTES: u64 = 64 * 1024;

/// The most characters of a title, a bullet and a keyword.
const TITLE: usize = 120;
const BULLET: usize = 300;
const KEYWORD: usize = 40;

/// The most bullets and keywords.
const BULLETS: usize = 5;
const KEYWORDS: usize = 7;

/// A program that summarizes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandSummarizer {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// How long it may take.
    pub timeout: Duration,
}

#[derive(Deserialize)]
struct Answer {
    title: String,
    #[serde(default)]
    bullets: Vec<AnswerBullet>,
    #[serde(default)]
    keywords: Vec<String>,
}

#[derive(Deserialize)]
struct AnswerBullet {
    text: String,
    #[serde(default)]
    lines: Vec<u64>,
}

impl Summarizer for CommandSummarizer {
    fn name(&self) -> String {
        let hash = blake3::hash(self.argv.join("\0").as_bytes());
        format!("command {}", &hash.to_hex()[..16])
    }

    fn texts(&self) -> Texts {
        Texts::All
    }

    fn summarize(&self, input: SummaryInput<'_>) -> Summary {
        let request = request(input);
        let mut problem = String::new();
        for _ in 0..TRIES {
            match self.ask(&request).and_then(|text| parse(&text, input)) {
                Ok(summary) => {
                    let offline = Offline.summarize(input);
                    return Summary {
                        files: offline.files,
                        commits: offline.commits,
                        ..summary
                    };
                }
                Err(why) => problem = why,
            }
        }
        let program = self.argv.first().map_or("", String::as_str);
        Summary {
            note: Some(safe_line(&format!(
                "summarized offline: {program}: {problem}"
            ))),
            ..Offline.summarize(input)
        }
    }
}

impl CommandSummarizer {
    /// Runs the program; returns what it printed.
    fn ask(&self, request: &str) -> Result<String, String> {
        let [program, arguments @ ..] = &self.argv[..] else {
            return Err("no program is named".to_owned());
        };
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| error.to_string())?;
        let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("it has no standard input and output".to_owned());
        };
        let request = request.to_owned();
        let (answered, answer) = mpsc::channel();
        std::thread::spawn(move || {
            // A program that does not read its input may still answer.
            drop(stdin.write_all(request.as_bytes()));
        });
        std::thread::spawn(move || {
            let mut text = Vec::new();
            let read = stdout.take(OUTPUT_BYTES + 1).read_to_end(&mut text);
            drop(answered.send(read.map(|_| text)));
        });
        let text = answer.recv_timeout(self.timeout);
        if !matches!(&text, Ok(Ok(text)) if text.len() as u64 <= OUTPUT_BYTES) {
            drop(child.kill());
        }
        // Its output is closed, or it was killed: it ends.
        let status = child.wait().map_err(|error| error.to_string())?;
        let text = match text {
            Err(_) => return Err(format!("no answer in {} s", self.timeout.as_secs_f32())),
            Ok(Err(error)) => return Err(error.to_string()),
            Ok(Ok(text)) => text,
        };
        if text.len() as u64 > OUTPUT_BYTES {
            return Err(format!("it printed more than {OUTPUT_BYTES} bytes"));
        }
        if !status.success() {
            return Err(status.to_string());
        }
        String::from_utf8(text).map_err(|_| "it printed no UTF-8".to_owned())
    }
}

/// Returns the events as JSON; of long ones the beginnings.
fn request(input: SummaryInput<'_>) -> String {
    let mut left = INPUT_BYTES;
    let mut events = Vec::new();
    for event in input.own_events() {
        let text = safe(begin(&event.text, TEXT_BYTES.min(left)));
        left = left.saturating_sub(text.len());
        let kind = match event.kind {
            MessageKind::Text => "text",
            MessageKind::Thinking => "thinking",
            MessageKind::ToolCall => "call",
            MessageKind::ToolResult => "result",
            MessageKind::Notice => "notice",
        };
        events.push(json!({
            "line": event.line, "time": event.time, "role": event.role, "kind": kind,
            "tool": event.tool, "text": text,
        }));
        if left == 0 {
            break;
        }
    }
    json!({ "level": "segment", "cwd": input.cwd, "events": events }).to_string()
}

/// Checks and shortens an answer.
fn parse(text: &str, input: SummaryInput<'_>) -> Result<Summary, String> {
    let answer: Answer =
        serde_json::from_str(text.trim()).map_err(|error| format!("not a summary: {error}"))?;
    let title = line(&answer.title, TITLE);
    if title.is_empty() {
        return Err("not a summary: the title is empty".to_owned());
    }
    let points = answer.bullets.iter().take(BULLETS).filter_map(|bullet| {
        let text = line(&bullet.text, BULLET);
        // A bullet about no line of the events is one that was made up.
        let mut own = input.events.iter().enumerate().skip(input.own);
        let (at, event) = own.find(|(_, event)| bullet.lines.contains(&event.line))?;
        let kind = match event.role {
            Role::User => PointKind::Asked,
            _ => PointKind::Done,
        };
        (!text.is_empty()).then(|| (Point::new(kind, text), at))
    });
    let mut points: Vec<(Point, usize)> = points.collect();
    points.sort_by_key(|(_, at)| *at);
    if points.is_empty() {
        return Err("not a summary: no bullet names a line of the events".to_owned());
    }
    let keywords = answer.keywords.iter().map(|word| line(word, KEYWORD));
    let keywords = keywords.filter(|word| !word.is_empty()).take(KEYWORDS);
    Ok(Summary {
        title,
        points,
        keywords: keywords.collect(),
        files: Vec::new(),
        commits: 0,
        note: None,
    })
}

/// Returns a text as one line without secrets, cut to so many characters.
fn line(text: &str, longest: usize) -> String {
    let line = safe_line(text.trim());
    match line.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line,
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::super::SegmentWords;
    use super::*;
    use crate::core::insight::timeline::event::Event;

    fn events() -> [Event; 2] {
        [
            Event::test(1, Role::User, "please fix the stale lock of the client"),
            Event::test(
                2,
                Role::Assistant,
                "The root cause is a lock; the key is AKIAIOSFODNN7EXAMPLE1 in the log.",
            ),
        ]
    }

    fn summary(script: &str, timeout: u64) -> Summary {
        let summarizer = CommandSummarizer {
            argv: ["sh", "-c", script].map(str::to_owned).to_vec(),
            timeout: Duration::from_millis(timeout),
        };
        let words = SegmentWords::default();
        summarizer.summarize(SummaryInput {
            events: &events(),
            own: 0,
            seen: &words,
            cwd: None,
        })
    }

    const GOOD: &str = r#"{"title":"Lock mended","bullets":[{"text":"found the lock","lines":[2]}],"keywords":["lock"]}"#;

    #[test]
    fn what_the_program_prints_is_the_summary() {
        let found = summary(&format!("cat > /dev/null; echo '{GOOD}'"), 20_000);
        assert_eq!((found.title.as_str(), found.note), ("Lock mended", None));
        let [(point, at)] = &found.points[..] else {
            panic!("{:?}", found.points);
        };
        assert_eq!((point.text.as_str(), *at), ("found the lock", 1));
        assert_eq!(found.keywords, ["lock"]);
    }

    #[test]
    fn it_gets_the_events_without_secrets_and_need_not_read_them() {
        let folder = tempfile::tempdir().expect("a folder");
        let seen = folder.path().join("seen");
        summary(&format!("cat > {}; echo '{GOOD}'", seen.display()), 20_000);
        let text = std::fs::read_to_string(&seen).expect("what it got");
        let input: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(input["events"][0]["line"], 1);
        assert!(!text.contains("AKIAIOSFODNN7EXAMPLE1"), "{text}");
        assert_eq!(summary(&format!("echo '{GOOD}'"), 20_000).note, None);
    }

    #[test]
    fn one_that_fails_is_tried_again_and_then_done_without() {
        let folder = tempfile::tempdir().expect("a folder");
        let tries = folder.path().join("tries");
        let count = format!("echo x >> {}; ", tries.display());
        for (script, timeout, why) in [
            ("exit 1", 20_000, "exit status: 1"),
            ("sleep 60", 200, "no answer in 0.2 s"),
            ("echo garbage", 20_000, "not a summary"),
            ("head -c 200000 /dev/zero", 20_000, "printed more than"),
            ("yes '{'", 20_000, "printed more than"),
            (r#"echo '{"title":" "}'"#, 20_000, "title is empty"),
            (
                r#"echo '{"title":"a","bullets":[{"text":"made up","lines":[99]}]}'"#,
                20_000,
                "names a line",
            ),
        ] {
            std::fs::write(&tries, "").expect("written");
            let found = summary(&format!("{count}{script}"), timeout);
            let note = found.note.unwrap_or_default();
            assert!(note.starts_with("summarized offline: sh: "), "{note}");
            assert!(note.contains(why), "{script}: {note}");
            assert!(!found.points.is_empty(), "the offline summary is there");
            let tried = std::fs::read_to_string(&tries).expect("counted");
            assert_eq!(tried.lines().count(), TRIES, "{script}");
        }
    }

    #[test]
    fn a_program_that_does_not_exist_is_named() {
        let summarizer = CommandSummarizer {
            argv: vec!["no-such-program-anywhere".to_owned()],
            timeout: Duration::from_secs(5),
        };
        let words = SegmentWords::default();
        let found = summarizer.summarize(SummaryInput {
            events: &events(),
            own: 0,
            seen: &words,
            cwd: None,
        });
        let note = found.note.unwrap_or_default();
        assert!(note.contains("no-such-program-anywhere"), "{note}");
    }

    #[test]
    fn an_answer_is_masked_and_shortened() {
        let long = "word ".repeat(200);
        let bullet = format!(r#"{{"text":"key AKIAIOSFODNN7EXAMPLE1 {long}","lines":[1]}}"#);
        let bullets = vec![bullet; 9].join(",");
        let answer = format!(
            r#"{{"title":"{long}","bullets":[{bullets}],"keywords":["a","b","c","d","e","f","g","h"]}}"#
        );
        let words = SegmentWords::default();
        let input = SummaryInput {
            events: &events(),
            own: 0,
            seen: &words,
            cwd: None,
        };
        let found = parse(&answer, input).expect("a summary");
        assert_eq!(found.points.len(), BULLETS);
        assert_eq!(found.keywords.len(), KEYWORDS);
        assert!(found.title.chars().count() <= TITLE + 1);
        for (point, _) in &found.points {
            assert!(point.text.chars().count() <= BULLET + 1);
            assert!(!point.text.contains("AKIAIOSFODNN7EXAMPLE1"));
        }
    }
}
