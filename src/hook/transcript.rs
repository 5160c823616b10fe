//! What the transcript of a session tells that its hook events do not.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use serde_json::Value;

use crate::core::foreign::open_regular;

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

/// The last answer in a transcript of Copilot CLI, whose events do not contain it.
pub(super) fn last_answer(transcript: &Path) -> Option<String> {
    let mut file = open_regular(transcript).ok()?;
    let size = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(size.saturating_sub(TAIL))).ok()?;
    let mut tail = Vec::new();
    file.take(TAIL).read_to_end(&mut tail).ok()?;
    let tail = String::from_utf8_lossy(&tail);
    let answer = |line: &str| -> Option<String> {
        let record: Value = serde_json::from_str(line).ok()?;
        if record.get("type")?.as_str()? != "assistant.message" {
            return None;
        }
        let content = record.get("data")?.get("content")?.as_str()?;
        (!content.is_empty()).then(|| content.to_owned())
    };
    tail.lines().rev().find_map(answer)
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
    fn the_last_answer_is_found_at_the_end() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("events.jsonl");
        let said = |text: &str| {
            format!("{{\"type\":\"assistant.message\",\"data\":{{\"content\":\"{text}\"}}}}\n")
        };
        let other = format!(
            "{{\"type\":\"tool.execution_complete\",\"data\":\"{}\"}}\n",
            "x".repeat(300_000)
        );
        fs::write(
            &file,
            format!("{}{other}{}{}", said("first"), said("last"), said("")),
        )
        .expect("written");
        assert_eq!(last_answer(&file).as_deref(), Some("last"));
        fs::write(&file, "").expect("written");
        assert_eq!(last_answer(&file), None);
    }
}
