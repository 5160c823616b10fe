//! Aider: one Markdown file per project, `.aider.chat.history.md`, with all chats in order.
//!
//! Lines that begin with `#### ` are the user's, those with `> ` the program's, all others
//! the model's, including headings with one `#` that do not start a chat.

use std::io::BufRead;
use std::path::PathBuf;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::decode::Decode;
use super::sink::{Carry, RecordStamp, Sink};
use super::{
    Agent, Format, Head, LogFile, LogLocations, Origin, Resume, Role, Transcript, location,
};
use crate::core::{Error, Result};

pub(super) const FORMAT: Format = Format {
    agent: Agent::Aider,
    name: "aider",
    locate,
    decode: Decode::Whole(whole),
    resume,
};

const FILE: &str = ".aider.chat.history.md";
const START: &str = "# aider chat started at ";

fn locate(locations: &LogLocations) -> Vec<LogFile> {
    locations
        .projects
        .iter()
        .filter_map(|project| {
            let id = location::name(project);
            location::found(Agent::Aider, project.join(FILE), id)
        })
        .collect()
}

fn resume(log: &LogFile, _: &Head) -> Option<Resume> {
    Some(Resume {
        program: "aider",
        args: vec!["--restore-chat-history".to_owned()],
        cwd: log.path.parent().map(PathBuf::from),
    })
}

/// The lines of one speaker so far.
#[derive(Default)]
struct PendingMessage {
    role: Option<Role>,
    line: u64,
    text: String,
}

fn whole(log: &LogFile) -> Result<Transcript> {
    let mut reader = location::open(&log.path)?;
    let mut carry = Carry::new(log);
    carry.head.cwd = log.path.parent().map(|path| path.display().to_string());
    let mut messages = Vec::new();
    let mut sink = Sink::new(&mut carry, &mut messages, 0);
    let mut turn = PendingMessage::default();
    let mut chat = RecordStamp::default();
    let mut bytes = Vec::new();
    for number in 1.. {
        bytes.clear();
        let read = reader.read_until(b'\n', &mut bytes);
        if read.map_err(|error| Error::io(&log.path, error))? == 0 {
            break;
        }
        if std::str::from_utf8(&bytes).is_err() {
            sink.carry.skipped.not_utf8 += 1;
        }
        let line = String::from_utf8_lossy(&bytes);
        let line = line.trim_end_matches(['\n', '\r']);
        if let Some(started) = line.strip_prefix(START) {
            turn.finish(&chat, &mut sink);
            chat.time = time(started.trim());
            chat.session = Some(started.trim().to_owned());
            sink.head().extend_span(chat.time);
        } else {
            turn.add(number, line, |turn| turn.finish(&chat, &mut sink));
        }
    }
    turn.finish(&chat, &mut sink);
    Ok(carry.into_transcript(messages))
}

impl PendingMessage {
    /// Adds a line; calls `finish` first if the speaker changes.
    fn add(&mut self, number: u64, line: &str, finish: impl FnOnce(&mut Self)) {
        let (role, text) = speaker(line);
        // A blank line does not change the speaker.
        if line.trim().is_empty() {
            if self.role == Some(Role::Assistant) {
                self.text.push('\n');
            }
            return;
        }
        if self.role != Some(role) {
            finish(self);
            self.role = Some(role);
            self.line = number;
        } else if !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.text.push_str(text);
        if role == Role::Assistant {
            self.text.push('\n');
        }
    }

    /// Adds the lines so far to the sink as a message, and clears them.
    fn finish(&mut self, chat: &RecordStamp, sink: &mut Sink<'_>) {
        let Self { role, line, text } = std::mem::take(self);
        sink.turn_to(line);
        sink.stamp = chat.clone();
        let text = text.trim().to_owned();
        match role {
            Some(Role::User) => sink.prompt(text),
            Some(Role::System) => sink.notice(text),
            Some(role) => sink.say(role, Origin::Written, text),
            None => {}
        }
    }
}

/// Returns the role of a line, and the line without its marker.
fn speaker(line: &str) -> (Role, &str) {
    if let Some(text) = line.strip_prefix("#### ") {
        (Role::User, text.trim_end())
    } else if let Some(text) = line.strip_prefix("> ") {
        (Role::System, text.trim_end())
    } else if line == ">" {
        (Role::System, "")
    } else {
        (Role::Assistant, line)
    }
}

/// Returns the time of a start line, which has no time zone and is read as UTC.
fn time(text: &str) -> Option<i64> {
    let moment: DateTime = text.parse().ok()?;
    let moment = moment.to_zoned(TimeZone::UTC).ok()?;
    Some(moment.timestamp().as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{Home, describe_messages};
    use super::super::{locate, read};
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_link_out_of_the_project_is_no_log_unless_it_is_trusted() {
        let home = Home::new();
        home.write("shop/README.md", "");
        home.write(
            "secret",
            "# aider chat started at 2026-01-01 10:00:00\n\n#### hi\n",
        );
        let secret = home.path().join("secret");
        let project = home.path().join("shop");
        std::os::unix::fs::symlink(&secret, project.join(FILE)).expect("a link");
        let mut locations = LogLocations {
            projects: vec![project],
            ..LogLocations::default()
        };
        assert_eq!(locate(&locations), []);
        locations.trusted = vec![secret];
        assert_eq!(locate(&locations).len(), 1);
    }

    #[test]
    fn chats_are_cut_into_what_person_program_and_model_said() {
        let home = Home::new();
        home.write(
            &format!("repo/{FILE}"),
            "\n# aider chat started at 2026-08-01 10:00:00\n\n> Aider v0.80  \n> Model: opus  \n\n\
             #### add a test  \n#### for the parser  \n\nSure.\n\n# Plan\n\n```rust\nlet a = 1;\n```\n\n\
             > Applied edit  \n\n# aider chat started at 2026-08-02 11:00:00\n\n#### again\n",
        );
        let locations = LogLocations {
            projects: vec![home.path().join("repo")],
            ..LogLocations::default()
        };
        let logs = locate(&locations);
        let transcript = read(&logs[0]).expect("it is there");
        assert_eq!(
            describe_messages(&transcript.messages),
            [
                "4 system notice*: Aider v0.80\nModel: opus",
                "7 user text: add a test\nfor the parser",
                "10 assistant text: Sure.\n\n# Plan\n\n```rust\nlet a = 1;\n```",
                "18 system notice*: Applied edit",
                "22 user text: again",
            ]
        );
        assert_eq!(transcript.messages[0].time, Some(1_785_578_400_000));
        let session = transcript.messages[4].session.as_deref();
        assert_eq!(session, Some("2026-08-02 11:00:00"));
        assert_eq!(transcript.head.turns, 2);
        let resume = logs[0]
            .resume(&transcript.head)
            .expect("it can be continued");
        assert_eq!(resume.cwd, Some(home.path().join("repo")));
    }

    #[test]
    fn bytes_that_are_not_utf8_are_replaced_and_counted() {
        let home = Home::new();
        home.write(&format!("repo/{FILE}"), b"#### caf\xe9\n");
        let locations = LogLocations {
            projects: vec![home.path().join("repo")],
            ..LogLocations::default()
        };
        let transcript = read(&locate(&locations)[0]).expect("it is there");
        assert_eq!(
            describe_messages(&transcript.messages),
            ["1 user text: caf\u{fffd}"]
        );
        assert_eq!(transcript.skipped.not_utf8, 1);
    }
}
