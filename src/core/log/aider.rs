//! Aider: one Markdown file per project, `.aider.chat.history.md`, with all chats in order. Each
//! chat is a session.
//!
//! Lines that begin with `#### ` are the user's, those with `> ` the program's, all others
//! the model's, including headings with one `#` that do not start a chat.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io::BufRead;
use std::path::{Path, PathBuf};

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::decode::Decode;
use super::sink::{Carry, RecordStamp, Sink};
use super::{
    Agent, Format, Head, LogFile, LogLocations, LogStart, Origin, Resume, Role, Transcript,
    location,
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
    let Ok(mut reader) = location::open(&file.path) else {
        return vec![file];
    };
    let mut chats: Vec<LogFile> = Vec::new();
    let mut ids: HashMap<String, usize> = HashMap::new();
    let mut at = LogStart::default();
    let mut line = Vec::new();
    while let Ok(length @ 1..) = reader.read_until(b'\n', &mut line) {
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
        at.bytes += length as u64;
        at.lines += 1;
        line.clear();
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
}
