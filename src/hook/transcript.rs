//! What the transcript of a session tells that its hook events do not.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::core::disk::foreign::open_regular;

/// How much of the beginning is read: the first line names the program that started the session.
const HEAD: u64 = 4 << 10;

/// How much of the end is read.
const TAIL: u64 = 256 << 10;

/// Whether the transcript is one of `codex exec`, which runs without a user.
pub(super) fn is_codex_exec(transcript: &Path) -> bool {
    let Ok(file) = open_regular(transcript) else {
        return false;
    };
    let mut head = Vec::new();
    drop(file.take(HEAD).read_to_end(&mut head));
    let head = String::from_utf8_lossy(&head);
    let first = head.lines().next().unwrap_or_default();
    first.contains("\"originator\":\"codex_exec\"") || first.contains("\"source\":\"exec\"")
}

/// What may follow the last answer in a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    /// Nothing that anybody says: the turn has just ended.
    Nothing,
    /// The next prompt.
    Prompt,
}

/// The answer that ends a turn in a transcript of Copilot CLI, whose events do not contain it. It is
/// written a little after the event, so it is waited for.
pub(super) fn last_answer(transcript: &Path, after: After, until: Instant) -> Option<String> {
    const PAUSE: Duration = Duration::from_millis(5);
    loop {
        let answer = answer_at_end(transcript, after);
        if answer.is_some() || Instant::now() >= until {
            return answer;
        }
        std::thread::sleep(PAUSE);
    }
}

fn answer_at_end(transcript: &Path, after: After) -> Option<String> {
    let mut file = open_regular(transcript).ok()?;
    let size = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(size.saturating_sub(TAIL))).ok()?;
    let mut tail = Vec::new();
    file.take(TAIL).read_to_end(&mut tail).ok()?;
    let tail = String::from_utf8_lossy(&tail);
    let record = |line: &str| serde_json::from_str::<Value>(line).ok();
    let is_said = |record: &Value| {
        let kind = record.get("type").and_then(Value::as_str);
        let is_prompt = kind == Some("user.message") && after == After::Nothing;
        kind == Some("assistant.message") || is_prompt
    };
    // Subagents have their records in the transcript of their session.
    let is_main = |record: &Value| record.get("agentId").is_none();
    // What comes before a prompt or a call of a tool is not the answer to it.
    let mut records = tail.lines().rev().filter_map(record).filter(is_main);
    let last = records.find(is_said)?;
    let data = last.get("data")?;
    let calls = data.get("toolRequests").and_then(Value::as_array);
    let is_answer = last.get("type")?.as_str()? == "assistant.message";
    let content = data.get("content")?.as_str()?;
    (is_answer && calls.is_none_or(Vec::is_empty)).then(|| content.to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_session_without_a_user_is_told_by_its_first_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("t.jsonl");
        for (origin, expected) in [("codex_exec", true), ("codex-tui", false)] {
            let first = format!(
                "{{\"type\":\"session_meta\",\"payload\":{{\"originator\":\"{origin}\"}}}}\n"
            );
            fs::write(
                &file,
                format!("{first}{{\"said\":\"\\\"originator\\\":\\\"codex_exec\\\"\"}}\n"),
            )
            .expect("written");
            assert_eq!(is_codex_exec(&file), expected, "{origin}");
        }
        assert!(!is_codex_exec(&folder.path().join("none")));
    }

    #[test]
    fn the_answer_is_what_ends_the_transcript() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("events.jsonl");
        let said = |who: &str, text: &str, calls: &str| {
            format!(
                "{{\"type\":\"{who}.message\",\"data\":{{\"content\":\"{text}\",\"toolRequests\":[{calls}]}}}}\n"
            )
        };
        let other = format!(
            "{{\"type\":\"hook.end\",\"data\":\"{}\"}}\n",
            "x".repeat(3_000)
        );
        let first = said("assistant", "first", "");
        for (text, expected) in [
            (
                format!("{first}{other}{}{other}", said("assistant", "last", "")),
                Some("last"),
            ),
            (format!("{first}{}", said("user", "next", "")), None),
            (
                format!("{first}{}", said("assistant", "let me look", "{}")),
                None,
            ),
            (String::new(), None),
            (
                format!(
                    "{}{}",
                    said("assistant", "let me ask", "{}"),
                    first.replace("{\"type\"", "{\"agentId\":\"a\",\"type\"")
                ),
                None,
            ),
        ] {
            fs::write(&file, text).expect("written");
            let found = last_answer(&file, After::Nothing, Instant::now());
            assert_eq!(found.as_deref(), expected);
        }
        fs::write(&file, format!("{first}{}", said("user", "next", ""))).expect("written");
        let found = last_answer(&file, After::Prompt, Instant::now());
        assert_eq!(found.as_deref(), Some("first"));
    }

    #[test]
    fn an_answer_that_is_written_late_is_waited_for() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("events.jsonl");
        let later = file.clone();
        let writer = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            fs::write(
                later,
                "{\"type\":\"assistant.message\",\"data\":{\"content\":\"late\"}}\n",
            )
        });
        let found = last_answer(
            &file,
            After::Nothing,
            Instant::now() + Duration::from_secs(60),
        );
        assert_eq!(found.as_deref(), Some("late"));
        writer.join().expect("ended").expect("written");
    }
}
