//! The command summarizer: a program of the user's own settings, which gets the events as JSON on
//! its standard input and prints a summary as JSON.
//!
//! In: `{"level":"segment","title":null,"cwd":…,"context":[…],"events":[{"line","time","role","kind",
//! "tool","text"}]}`, without secrets; `context` are the last events of the segment before. The events
//! of a day, week, month or year are the bullets of its parts, numbered. Out: `{"title":…,"bullets":
//! [{"text":…,"lines":[12]}],"keywords":[…]}`, alone, fenced or between other words. A bullet may be a
//! text alone, which is then tied to the event that has most of its words. What it prints is checked and
//! shortened. If it fails twice, the offline summarizer is used, and the node says so.

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Offline, Point, PointKind, Summarizer, Summary, SummaryInput, terms};
use crate::core::disk::process::wait_until;
use crate::core::insight::timeline::event::{Event, Texts};
use crate::core::log::MessageKind;
use crate::core::text::clip;
use crate::core::text::display::{safe, safe_line};

/// How often the program is started for one summary.
const TRIES: usize = 2;

/// After so many summaries in a row that failed, the program is not started again.
const GIVE_UP: usize = 3;

/// The most bytes of a text that it gets, and of all of them.
const TEXT_BYTES: usize = 4_000;
const INPUT_BYTES: usize = 400_000;

/// The most bytes of its answer that are read, and the most places in it where JSON may begin.
const OUTPUT_BYTES: u64 = 64 * 1024;
const BEGINNINGS: usize = 64;

/// The most characters of a title, a bullet and a keyword.
const TITLE: usize = 120;
const BULLET: usize = 300;
const KEYWORD: usize = 40;

/// The most bullets, and the fewest and most keywords.
const BULLETS: usize = 5;
const KEYWORDS: (usize, usize) = (3, 7);

/// A program that summarizes.
#[derive(Debug)]
pub struct CommandSummarizer {
    /// The program and its arguments.
    argv: Vec<String>,
    /// How long it may take.
    timeout: Duration,
    /// How many summaries in a row have failed, and why the last one did.
    failed: Mutex<(usize, String)>,
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    title: Option<String>,
    bullets: Vec<AnswerBullet>,
    #[serde(default)]
    keywords: Vec<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum AnswerBullet {
    Text(String),
    Tied {
        text: String,
        #[serde(default)]
        lines: Vec<u64>,
    },
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
        let (context, own) = input.events.split_at(input.own);
        let request = json!({
            "level": input.level, "title": null, "cwd": input.cwd,
            "context": rows(context), "events": rows(own),
        });
        let offline = Offline.summarize(input);
        match self.answer(&request, own) {
            Ok(said) => {
                let points = said.points.into_iter();
                let few = KEYWORDS.0.saturating_sub(said.keywords.len());
                let keywords = offline.keywords.into_iter();
                let more = keywords.filter(|word| !said.keywords.contains(word));
                let more: Vec<String> = more.take(few).collect();
                Summary {
                    title: if said.title.is_empty() {
                        offline.title
                    } else {
                        said.title
                    },
                    points: points.map(|(point, at)| (point, at + input.own)).collect(),
                    keywords: [said.keywords, more].concat(),
                    ..offline
                }
            }
            Err(note) => Summary {
                note: Some(note),
                ..offline
            },
        }
    }

    fn roll_up(
        &self,
        level: &str,
        title: &str,
        points: &[Event],
    ) -> Option<Result<Summary, String>> {
        let request = json!({
            "level": level, "title": title, "cwd": null, "context": [], "events": rows(points),
        });
        Some(self.answer(&request, points))
    }
}

impl CommandSummarizer {
    /// Returns the summarizer of a program with its arguments, which may take so long.
    pub fn new(argv: Vec<String>, timeout: Duration) -> Self {
        Self {
            argv,
            timeout,
            failed: Mutex::default(),
        }
    }

    /// Asks the program about events. A failure is told with its name and the reason.
    fn answer(&self, request: &Value, events: &[Event]) -> Result<Summary, String> {
        let failed = || self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        let (failures, mut problem) = failed().clone();
        if failures < GIVE_UP {
            let request = request.to_string();
            for _ in 0..TRIES {
                match self.ask(&request).and_then(|text| parse(&text, events)) {
                    Ok(summary) => {
                        *failed() = Default::default();
                        return Ok(summary);
                    }
                    Err(why) => problem = why,
                }
            }
            let mut failed = failed();
            *failed = (failed.0 + 1, problem.clone());
        }
        let program = self.argv.first().map_or("", String::as_str);
        let note = format!("summarized offline: {program}: {problem}");
        Err(safe_line(&note))
    }

    /// Runs the program; returns what it printed.
    fn ask(&self, request: &str) -> Result<String, String> {
        let [program, arguments @ ..] = &self.argv[..] else {
            return Err("no program is named".to_owned());
        };
        let until = Instant::now() + self.timeout;
        let mut child = Command::new(program)
            .args(arguments)
            // An agent that summarizes is no session to be captured.
            .env("TOME_HOOK_CAPTURE", "false")
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
        let is_whole = matches!(&text, Ok(Ok(text)) if text.len() as u64 <= OUTPUT_BYTES);
        // One that has closed its output may still run.
        let until = if is_whole { until } else { Instant::now() };
        let status = wait_until(&mut child, until).map_err(|error| error.to_string())?;
        let late = || format!("no answer in {} s", self.timeout.as_secs_f32());
        let text = match text {
            Err(_) => return Err(late()),
            Ok(Err(error)) => return Err(error.to_string()),
            Ok(Ok(text)) => text,
        };
        if text.len() as u64 > OUTPUT_BYTES {
            return Err(format!("it printed more than {OUTPUT_BYTES} bytes"));
        }
        let status = status.ok_or_else(late)?;
        if !status.success() {
            return Err(status.to_string());
        }
        String::from_utf8(text).map_err(|_| "it printed no UTF-8".to_owned())
    }
}

/// Returns the events for the program; of long ones the beginnings.
fn rows(events: &[Event]) -> Vec<Value> {
    let mut left = INPUT_BYTES;
    let mut rows = Vec::new();
    for event in events {
        let text = safe(clip(&event.text, TEXT_BYTES.min(left)));
        left = left.saturating_sub(text.len());
        let kind = match event.kind {
            MessageKind::Text => "text",
            MessageKind::Thinking => "thinking",
            MessageKind::ToolCall => "call",
            MessageKind::ToolResult => "result",
            MessageKind::Notice => "notice",
        };
        rows.push(json!({
            "line": event.line, "time": event.time, "role": event.role, "kind": kind,
            "tool": event.tool, "text": text,
        }));
        if left == 0 {
            break;
        }
    }
    rows
}

/// Finds the summary in what was printed: all of it, or what begins with a brace and reads as one.
fn find(text: &str) -> Result<Answer, String> {
    let whole = text.trim();
    let mut problem = None;
    let braces = whole.match_indices('{').map(|(at, _)| at);
    for at in braces.take(BEGINNINGS) {
        let mut values = serde_json::Deserializer::from_str(&whole[at..]).into_iter::<Answer>();
        match values.next() {
            Some(Ok(answer)) => return Ok(answer),
            Some(Err(error)) => problem = problem.or(Some(error)),
            None => {}
        }
    }
    Err(match problem {
        Some(error) => format!("not a summary: {error}"),
        None => "not a summary: it has no JSON".to_owned(),
    })
}

/// Checks and shortens an answer about events. The title may be empty.
fn parse(text: &str, events: &[Event]) -> Result<Summary, String> {
    let answer = find(text)?;
    let points = answer.bullets.iter().take(BULLETS).filter_map(|bullet| {
        let (text, lines) = match bullet {
            AnswerBullet::Text(text) => (text, &[][..]),
            AnswerBullet::Tied { text, lines } => (text, &lines[..]),
        };
        let text = line(text, BULLET);
        // A bullet about no line of the events is one that was made up.
        let at = match lines {
            [] => closest(&text, events),
            lines => events.iter().position(|event| lines.contains(&event.line)),
        }?;
        (!text.is_empty()).then(|| (Point::new(PointKind::Said, text), at))
    });
    let mut points: Vec<(Point, usize)> = points.collect();
    points.sort_by_key(|(_, at)| *at);
    if points.is_empty() {
        return Err("not a summary: no bullet is about a line of the events".to_owned());
    }
    let keywords = answer.keywords.iter().map(|word| line(word, KEYWORD));
    let keywords = keywords.filter(|word| !word.is_empty()).take(KEYWORDS.1);
    Ok(Summary {
        title: line(&answer.title.unwrap_or_default(), TITLE),
        points,
        keywords: keywords.collect(),
        ..Summary::default()
    })
}

/// Returns the first of the events that have most words of a text; `None` if none has one.
fn closest(text: &str, events: &[Event]) -> Option<usize> {
    let wanted = terms(text);
    let shared = events.iter().map(|event| {
        let own = terms(clip(&event.text, TEXT_BYTES));
        let shared = wanted.iter().filter(|term| own.binary_search(term).is_ok());
        shared.count()
    });
    let first = |(at, shared): &(usize, usize)| (*shared, std::cmp::Reverse(*at));
    let (at, most) = shared.enumerate().max_by_key(first)?;
    (most > 0).then_some(at)
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
    use crate::core::log::Role;

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
        summarize(&program(script, timeout), 0)
    }

    fn program(script: &str, timeout: u64) -> CommandSummarizer {
        let argv = ["sh", "-c", script].map(str::to_owned).to_vec();
        CommandSummarizer::new(argv, Duration::from_millis(timeout))
    }

    fn summarize(summarizer: &CommandSummarizer, own: usize) -> Summary {
        let words = SegmentWords::default();
        summarizer.summarize(SummaryInput {
            level: "segment",
            events: &events(),
            own,
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
            (r#"echo '{"title":"a"}'"#, 20_000, "missing field"),
            ("exec >&-; sleep 60", 300, "no answer in 0.3 s"),
            (
                r#"echo '{"title":"a","bullets":[{"text":"made up","lines":[99]}]}'"#,
                20_000,
                "is about a line",
            ),
            (
                r#"echo '{"title":"a","bullets":["zebras graze elsewhere"]}'"#,
                20_000,
                "is about a line",
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
        let argv = vec!["no-such-program-anywhere".to_owned()];
        let found = summarize(&CommandSummarizer::new(argv, Duration::from_secs(5)), 0);
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
        let found = parse(&answer, &events()).expect("a summary");
        assert_eq!(found.points.len(), BULLETS);
        assert_eq!(found.keywords.len(), KEYWORDS.1);
        assert!(found.title.chars().count() <= TITLE + 1);
        for (point, _) in &found.points {
            assert!(point.text.chars().count() <= BULLET + 1);
            assert!(!point.text.contains("AKIAIOSFODNN7EXAMPLE1"));
        }
    }
    #[test]
    fn an_answer_may_be_fenced_stand_in_prose_and_have_texts_for_bullets() {
        let table = [
            format!("```json\n{GOOD}\n```"),
            format!("Sure {{here}} it is:\n\n{GOOD}\n\nAnything else?"),
            r#"{"bullets":["The root cause was the lock"]}"#.to_owned(),
            r#"{"title":null,"bullets":[{"text":"the root cause"}],"more":1}"#.to_owned(),
        ];
        for text in table {
            let found = parse(&text, &events()).expect(&text);
            let [(_, at)] = &found.points[..] else {
                panic!("{text}: {:?}", found.points);
            };
            assert_eq!(*at, 1, "{text}");
        }
        assert!(parse(&"{".repeat(60_000), &events()).is_err());
    }

    #[test]
    fn what_an_answer_lacks_is_the_offline_summary_s() {
        let script = r#"echo '{"bullets":["found the lock"],"keywords":["mended"]}'"#;
        let found = summary(script, 20_000);
        let offline = summary("exit 1", 20_000);
        assert_eq!(found.note, None);
        assert_eq!(found.title, offline.title);
        assert!(!found.title.is_empty());
        assert_eq!(found.keywords[0], "mended");
        assert_eq!(found.keywords.len(), 3.min(1 + offline.keywords.len()));
    }

    #[test]
    fn the_last_events_of_the_segment_before_are_context() {
        let folder = tempfile::tempdir().expect("a folder");
        let seen = folder.path().join("seen");
        let script = format!("cat > {}; echo '{GOOD}'", seen.display());
        let found = summarize(&program(&script, 20_000), 1);
        assert_eq!(
            found.points[0].1, 1,
            "an own event, counted with the context"
        );
        let text = std::fs::read_to_string(&seen).expect("what it got");
        let input: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(input["level"], "segment");
        assert_eq!(input["context"][0]["line"], 1);
        assert_eq!(input["events"][0]["line"], 2);
        assert_eq!(input["events"].as_array().map(Vec::len), Some(1));
        let made_up = r#"echo '{"bullets":[{"text":"of the context","lines":[1]}]}'"#;
        assert!(summarize(&program(made_up, 20_000), 1).note.is_some());
    }

    #[test]
    fn a_program_that_goes_on_failing_is_not_started_for_ever() {
        let folder = tempfile::tempdir().expect("a folder");
        let tries = folder.path().join("tries");
        let program = program(&format!("echo x >> {}; exit 3", tries.display()), 20_000);
        for _ in 0..GIVE_UP + 2 {
            let note = summarize(&program, 0).note.unwrap_or_default();
            assert!(note.contains("exit status: 3"), "{note}");
        }
        let tried = std::fs::read_to_string(&tries).expect("counted");
        assert_eq!(tried.lines().count(), GIVE_UP * TRIES);
    }
}
