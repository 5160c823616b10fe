//! Aider: one Markdown file per project, `.aider.chat.history.md`, with all chats in order. Each
//! chat is a session.
//!
//! Lines that begin with `#### ` are the user's, those with `> ` the program's, all others
//! the model's, including headings with one `#` that do not start a chat.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io::{self, BufRead, Read};
use std::path::{Path, PathBuf};

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::decode::Decode;
use super::sink::{Carry, RecordStamp, Sink};
use super::{
    Agent, Format, Head, LogFile, LogLocations, LogStart, Message, Origin, Resume, Role, location,
};
use crate::core::disk::foreign::{LONGEST_RECORD, Line, next_line};
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

/// How deep below [`LogLocations::aider`] chats are looked for.
const DEPTH: usize = 4;
/// The number of directories that are looked at.
const FOLDERS: usize = 10_000;
/// Directories that hold many others and no project of the user.
const PASSED_OVER: &[&str] = &[
    "Library",
    "node_modules",
    "snap",
    "target",
    "vendor",
    "venv",
];

fn locate(locations: &LogLocations) -> Vec<LogFile> {
    let elsewhere = locations.aider.iter().flat_map(|root| projects_below(root));
    let projects = locations.projects.iter().cloned().chain(elsewhere);
    let projects: BTreeSet<PathBuf> = projects.collect();
    projects
        .iter()
        .filter_map(|project| {
            let id = location::name(project);
            location::found(Agent::Aider, project.join(FILE), id)
        })
        .flat_map(chats)
        .collect()
}

/// Returns the directories below `root` that have a file of chats; links are not followed.
fn projects_below(root: &Path) -> Vec<PathBuf> {
    let is_passed_over = |entry: &walkdir::DirEntry| {
        let name = entry.file_name().to_string_lossy();
        entry.depth() > 0 && (name.starts_with('.') || PASSED_OVER.contains(&name.as_ref()))
    };
    walkdir::WalkDir::new(root)
        .max_depth(DEPTH)
        .into_iter()
        .filter_entry(|entry| entry.file_type().is_dir() && !is_passed_over(entry))
        .flatten()
        .take(FOLDERS)
        .map(walkdir::DirEntry::into_path)
        .filter(|folder| {
            let file = fs::symlink_metadata(folder.join(FILE));
            file.is_ok_and(|file| file.is_file())
        })
        .collect()
}

/// Returns the chats of a file; the whole file if it cannot be read or no chat begins in it.
fn chats(file: LogFile) -> Vec<LogFile> {
    let Ok(reader) = location::open(&file.path) else {
        return vec![file];
    };
    let mut reader = CountingReader { reader, count: 0 };
    let mut chats: Vec<LogFile> = Vec::new();
    let mut ids: HashMap<String, usize> = HashMap::new();
    let mut at = LogStart::default();
    let mut line = Vec::new();
    while let Ok(Line::Whole | Line::TooLong) = next_line(&mut reader, &mut line, LONGEST_RECORD) {
        if let Some(started) = line.strip_prefix(START.as_bytes()) {
            let started = String::from_utf8_lossy(started).trim().to_owned();
            let name = format!(
                "{}-{}",
                file.id,
                started.replace(' ', "T").replace(':', "-")
            );
            let count = ids.entry(name.clone()).or_default();
            *count += 1;
            chats.push(LogFile {
                id: match *count {
                    1 => name,
                    count => format!("{name}-{count}"),
                },
                // Only the last chat can still change.
                modified: time(&started).or(file.modified),
                start: at,
                ..file.clone()
            });
        }
        at.bytes = reader.count;
        at.lines += 1;
    }
    let mut end = file.size.max(at.bytes);
    for chat in chats.iter_mut().rev() {
        chat.size = end - chat.start.bytes;
        end = chat.start.bytes;
    }
    match chats.last_mut() {
        Some(last) => {
            last.modified = file.modified;
            chats
        }
        None => vec![file],
    }
}

/// Counts the bytes that are read.
struct CountingReader<R> {
    reader: R,
    count: u64,
}

impl<R: BufRead> Read for CountingReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = self.reader.read(into)?;
        self.count += length as u64;
        Ok(length)
    }
}

impl<R: BufRead> BufRead for CountingReader<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.reader.fill_buf()
    }

    fn consume(&mut self, length: usize) {
        self.count += length as u64;
        self.reader.consume(length);
    }
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
    /// Whether lines were left out, because the text would be too long.
    is_cut: bool,
}

fn whole(log: &LogFile, take: &mut dyn FnMut(Message)) -> Result<Carry> {
    let mut reader = location::open_at(&log.path, log.start.bytes)?;
    let mut carry = Carry::new(log);
    carry.head.session = Some(log.id.clone());
    carry.head.cwd = log.path.parent().map(|path| path.display().to_string());
    let mut messages = Vec::new();
    let mut sink = Sink::new(&mut carry, &mut messages, 0);
    let mut turn = PendingMessage::default();
    let mut chat = RecordStamp::default();
    let mut bytes = Vec::new();
    let mut has_begun = false;
    for number in log.start.lines + 1.. {
        let read = next_line(&mut reader, &mut bytes, LONGEST_RECORD);
        match read.map_err(|error| Error::io(&log.path, error))? {
            Line::None => break,
            Line::TooLong => {
                sink.carry.skipped.too_long += 1;
                continue;
            }
            Line::Whole => {}
        }
        if std::str::from_utf8(&bytes).is_err() {
            sink.carry.skipped.not_utf8 += 1;
        }
        let line = String::from_utf8_lossy(&bytes);
        let line = line.trim_end_matches(['\n', '\r']);
        if let Some(started) = line.strip_prefix(START) {
            if has_begun {
                // The next chat is a session of its own.
                break;
            }
            has_begun = true;
            turn.finish(&chat, &mut sink);
            chat.time = time(started.trim());
            sink.head().extend_span(chat.time);
        } else {
            turn.add(number, line, |turn| turn.finish(&chat, &mut sink));
        }
        sink.drain(take);
    }
    turn.finish(&chat, &mut sink);
    sink.drain(take);
    Ok(carry)
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
        if self.text.len() + text.len() > LONGEST_RECORD {
            self.is_cut = true;
            return;
        }
        self.text.push_str(text);
        if role == Role::Assistant {
            self.text.push('\n');
        }
    }

    /// Adds the lines so far to the sink as a message, and clears them.
    fn finish(&mut self, chat: &RecordStamp, sink: &mut Sink<'_>) {
        let Self {
            role,
            line,
            text,
            is_cut,
        } = std::mem::take(self);
        sink.carry.skipped.too_long += u64::from(is_cut);
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
        let ids: Vec<_> = logs.iter().map(|log| log.id.as_str()).collect();
        assert_eq!(
            ids,
            ["repo-2026-08-01T10-00-00", "repo-2026-08-02T11-00-00"]
        );
        let transcript = read(&logs[0]).expect("it is there");
        assert_eq!(
            describe_messages(&transcript.messages),
            [
                "4 system notice*: Aider v0.80\nModel: opus",
                "7 user text: add a test\nfor the parser",
                "10 assistant text: Sure.\n\n# Plan\n\n```rust\nlet a = 1;\n```",
                "18 system notice*: Applied edit",
            ]
        );
        assert_eq!(transcript.messages[0].time, Some(1_785_578_400_000));
        assert_eq!(transcript.head.turns, 1);
        let last = read(&logs[1]).expect("it is there");
        assert_eq!(describe_messages(&last.messages), ["22 user text: again"]);
        assert_eq!(last.messages[0].time, Some(1_785_668_400_000));
        let size = fs::metadata(&logs[0].path).map_or(0, |file| file.len());
        assert_eq!(logs[0].start.bytes + logs[0].size, logs[1].start.bytes);
        assert_eq!(logs[1].start.bytes + logs[1].size, size);
        let resume = logs[0]
            .resume(&transcript.head)
            .expect("it can be continued");
        assert_eq!(resume.cwd, Some(home.path().join("repo")));
    }

    #[test]
    fn chats_are_found_below_a_directory_and_not_through_links() {
        let home = Home::new();
        let chat = "# aider chat started at 2026-01-01 10:00:00\n\n#### hi\n";
        home.write(&format!("src/shop/{FILE}"), chat);
        home.write(&format!("src/.hidden/{FILE}"), chat);
        home.write(&format!("a/b/c/d/e/{FILE}"), chat);
        home.write("src/linked/README.md", "");
        #[cfg(unix)]
        std::os::unix::fs::symlink(
            home.path().join("src/shop").join(FILE),
            home.path().join("src/linked").join(FILE),
        )
        .expect("a link");
        let locations = LogLocations {
            aider: vec![home.path().to_owned()],
            ..LogLocations::default()
        };
        let ids: Vec<_> = locate(&locations).into_iter().map(|log| log.id).collect();
        assert_eq!(ids, ["shop-2026-01-01T10-00-00"]);
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

    #[test]
    fn a_turn_that_is_too_long_is_cut_and_counted() {
        let home = Home::new();
        let line = "x".repeat(1 << 20);
        let lines = LONGEST_RECORD / line.len() + 2;
        let text = format!(
            "#### first\n{}#### last\n",
            format!("{line}\n").repeat(lines)
        );
        home.write(&format!("repo/{FILE}"), text);
        let locations = LogLocations {
            projects: vec![home.path().join("repo")],
            ..LogLocations::default()
        };
        let transcript = read(&locate(&locations)[0]).expect("it is there");
        let lengths: Vec<usize> = transcript.messages.iter().map(|m| m.text.len()).collect();
        assert_eq!(lengths.len(), 3);
        assert!(lengths[1] <= LONGEST_RECORD && lengths[1] > LONGEST_RECORD / 2);
        assert_eq!(transcript.skipped.too_long, 1);
    }

    #[test]
    fn messages_that_are_too_many_for_a_transcript_are_counted() {
        let home = Home::new();
        let turns = super::super::MOST_MESSAGES / 2 + 5;
        home.write(&format!("repo/{FILE}"), "#### a\nb\n".repeat(turns));
        let locations = LogLocations {
            projects: vec![home.path().join("repo")],
            ..LogLocations::default()
        };
        let log = &locate(&locations)[0];
        let transcript = read(log).expect("it is there");
        assert_eq!(transcript.messages.len(), super::super::MOST_MESSAGES);
        assert_eq!(transcript.skipped.left_out, 10);
        let mut count = 0;
        let all = super::super::read_each(log, &mut |_| count += 1);
        let (_, skipped) = all.expect("it is there");
        assert_eq!((count, skipped.left_out), (2 * turns, 0));
    }
}
