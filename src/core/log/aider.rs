//! Aider: one Markdown file per project, `.aider.chat.history.md`, with all chats in order. Each
//! chat is a session.
//!
//! Lines that begin with `#### ` are sent to the model, those with `> ` are the program's, all others
//! the model's, including headings with one `#` that do not start a chat. What is sent to the model is
//! mostly what the user typed, but the program also sends errors, documentation and an architect's
//! plan there, and a model's own headings look the same.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io::{self, BufRead, Read};
use std::path::{Path, PathBuf};

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::decode::Decode;
use super::origin::Speaker;
use super::sink::{RecordStamp, Sink};
use super::{Agent, Format, Head, LogFile, LogLocations, LogStart, Origin, Resume, Role, location};
use crate::core::disk::foreign::{LONGEST_RECORD, Line, next_line};
use crate::core::{Error, Result};

pub(super) const FORMAT: Format = Format {
    agent: Agent::Aider,
    name: "aider",
    locate,
    decode: Decode::Into(read),
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

/// Returns the chats of a file; the whole file if it cannot be read or no chat begins in it. What stands
/// before the first beginning is a chat whose beginning was cut off.
fn chats(file: LogFile) -> Vec<LogFile> {
    let Ok(reader) = location::open(&file.path) else {
        return vec![file];
    };
    let mut reader = CountingReader { reader, count: 0 };
    let mut chats: Vec<LogFile> = Vec::new();
    let mut ids: HashMap<String, usize> = HashMap::new();
    let mut at = LogStart::default();
    let mut line = Vec::new();
    let mut has_text = false;
    while let Ok(Line::Whole | Line::TooLong) = next_line(&mut reader, &mut line, LONGEST_RECORD) {
        if let Some(started) = line.strip_prefix(START.as_bytes()) {
            let started = String::from_utf8_lossy(started).trim().to_owned();
            let name = format!(
                "{}-{}",
                file.id,
                started.replace(' ', "T").replace(':', "-")
            );
            if chats.is_empty() && has_text {
                chats.push(LogFile {
                    modified: time(&started).or(file.modified),
                    ..file.clone()
                });
            }
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
        has_text |= !line.trim_ascii().is_empty();
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

/// Beginnings of what the program sends to the model.
const SENT: &[&str] = &[
    "# Fix any errors below, if possible.",
    "# Question: ",
    "<blank>",
    "Find the \"AI\" comments below",
    "Fix any errors below, if possible.",
    "I ran this command:",
    "The LLM did not conform to the edit format.",
];
/// What a question of the program has, which early versions wrote with the user's answer.
const QUESTION: &str = "(Y)es/(N)o";
/// How a program's line begins that follows a reply.
const TOKENS: &str = "Tokens: ";
/// The ending of lines as the program writes them.
const LINE_END: &str = "  ";
/// The number of letters from which a text that stands in the last reply is an echo of it.
const ECHO: usize = 40;

/// The lines of one speaker so far.
#[derive(Default)]
struct PendingMessage {
    role: Option<Role>,
    line: u64,
    text: String,
    /// Whether lines were left out, because the text would be too long.
    is_cut: bool,
    /// Whether the last line ended as the program writes it.
    is_ended: bool,
    /// Whether a blank line follows.
    is_apart: bool,
}

/// What of a chat so far tells who said its next lines.
#[derive(Default)]
struct Chat {
    stamp: RecordStamp,
    /// Whether something was sent to the model.
    has_asked: bool,
    /// Whether the program ends its lines in [`LINE_END`].
    is_marked: bool,
    /// Whether the program counts the tokens of each reply.
    counts_tokens: bool,
    /// The letters of what the model said since the last question.
    reply: String,
    /// The arguments of the last command.
    arguments: String,
}

fn read(log: &LogFile, sink: &mut Sink<'_>) -> Result<()> {
    let mut reader = location::open_at(&log.path, log.start.bytes)?;
    sink.head().session = Some(log.id.clone());
    sink.head().cwd = log.path.parent().map(|path| path.display().to_string());
    let mut turn = PendingMessage::default();
    let mut chat = Chat::default();
    let mut bytes = Vec::new();
    let mut has_text = false;
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
            if has_text {
                // The next chat is a session of its own.
                break;
            }
            chat.stamp.time = time(started.trim());
            sink.head().extend_span(chat.stamp.time);
        } else {
            turn.add(number, line, &mut chat, sink);
        }
        has_text |= !line.trim().is_empty();
    }
    turn.finish(&mut chat, sink);
    Ok(())
}

impl PendingMessage {
    /// Adds a line; finishes the message before it if the speaker changes.
    fn add(&mut self, number: u64, line: &str, chat: &mut Chat, sink: &mut Sink<'_>) {
        // A blank line does not change the speaker.
        if line.trim().is_empty() {
            self.is_apart = true;
            if self.role == Some(Role::Assistant) {
                self.text.push('\n');
            }
            return;
        }
        let (role, text) = chat.speaker(self.role, line);
        if self.role != Some(role) || role == Role::User && self.is_before_another(text) {
            self.finish(chat, sink);
            self.role = Some(role);
            self.line = number;
        } else if role == Role::User || !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.is_apart = false;
        self.is_ended = line.ends_with(LINE_END);
        if self.text.len() + text.len() > LONGEST_RECORD {
            self.is_cut = true;
            return;
        }
        self.text.push_str(text);
        if role == Role::Assistant {
            self.text.push('\n');
        }
    }

    /// Whether a line for the model begins another text than the one so far. Aider puts a blank line
    /// before each; formatters put blank lines anywhere.
    fn is_before_another(&self, line: &str) -> bool {
        let is_command = |text: &str| text.starts_with('/');
        let is_sent = |text: &str| SENT.iter().any(|begin| text.starts_with(begin));
        // What the program sends may have lines that look like commands.
        let is_other = || {
            !is_sent(&self.text) && (is_command(&self.text) || is_command(line) || is_sent(line))
        };
        self.is_apart && (self.is_ended || is_other())
    }

    /// Adds the lines so far to the sink as a message, and clears them.
    fn finish(&mut self, chat: &mut Chat, sink: &mut Sink<'_>) {
        let Self {
            role,
            line,
            text,
            is_cut,
            ..
        } = std::mem::take(self);
        sink.carry.skipped.too_long += u64::from(is_cut);
        sink.turn_to(line);
        sink.stamp = chat.stamp.clone();
        let text = text.trim().to_owned();
        match role {
            Some(Role::User) => match chat.asker(&text) {
                Speaker::Person => sink.prompt(text),
                other => sink.add(other, text),
            },
            Some(Role::System) => sink.notice(text),
            // Before the first question, the lines of a long command are the program's.
            Some(_) if !chat.has_asked => sink.notice(text),
            Some(role) => {
                chat.reply.extend(letters(&text));
                sink.say(role, Origin::Written, text);
            }
            None => {}
        }
    }
}

impl Chat {
    /// Returns the role of a line after one of role `last`, and the line without its marker.
    fn speaker<'a>(&mut self, last: Option<Role>, line: &'a str) -> (Role, &'a str) {
        let is_ended = line.ends_with(LINE_END);
        let said = line.strip_prefix("> ").or((line == ">").then_some(""));
        if let Some(text) = said {
            self.is_marked |= is_ended;
            self.counts_tokens |= text.starts_with(TOKENS);
            return (Role::System, text.trim_end());
        }
        let asked = line
            .strip_prefix("#### ")
            .or((line == "####").then_some(""));
        match asked {
            // A heading in a reply, after which a line of the program would come.
            Some(_) if last == Some(Role::Assistant) && self.is_heading(is_ended) => {
                (Role::Assistant, line)
            }
            Some(text) => (Role::User, text.trim_end()),
            None => (Role::Assistant, line),
        }
    }

    fn is_heading(&self, is_ended: bool) -> bool {
        self.has_asked && !is_ended && (self.is_marked || self.counts_tokens)
    }

    /// Returns who said a text that was sent to the model.
    fn asker(&mut self, text: &str) -> Speaker {
        self.has_asked = true;
        let asked: String = letters(text).collect();
        let is_sent = SENT.iter().any(|begin| text.starts_with(begin))
            || text.contains(QUESTION) && !text.contains('\n');
        // A command with arguments is followed by the arguments alone.
        let is_repeated = !text.is_empty() && text == self.arguments;
        self.arguments.clear();
        if is_sent || is_repeated {
            return Speaker::Program;
        }
        // An architect's plan is sent to the model that edits.
        if asked.len() >= ECHO && self.reply.contains(&asked) {
            return Speaker::Agent;
        }
        let command = text.strip_prefix('/');
        if let Some((_, arguments)) =
            command.and_then(|command| command.split_once(char::is_whitespace))
        {
            arguments.trim().clone_into(&mut self.arguments);
        }
        self.reply.clear();
        Speaker::Person
    }
}

/// Returns what of a text stays the same however it is formatted.
fn letters(text: &str) -> impl Iterator<Item = char> {
    text.chars().filter(|c| c.is_alphanumeric())
}

/// Returns the time of a start line, which has no time zone and is read as UTC.
fn time(text: &str) -> Option<i64> {
    let moment: DateTime = text.parse().ok()?;
    let moment = moment.to_zoned(TimeZone::UTC).ok()?;
    Some(moment.timestamp().as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::super::fixture::describe_messages;
    use super::super::{locate, read};
    use super::*;
    use crate::core::fixture::Home;

    #[test]
    fn a_link_out_of_the_project_is_no_log_unless_it_is_trusted() {
        let home = Home::new();
        home.write("secret", "#### hi\n");
        home.link(&format!("shop/{FILE}"), "../secret");
        let secret = home.path().join("secret");
        let mut locations = LogLocations {
            projects: vec![home.path().join("shop")],
            ..LogLocations::default()
        };
        assert_eq!(locate(&locations), []);
        locations.trusted = vec![secret];
        assert_eq!(locate(&locations).len(), 1);
    }

    /// Finds the chats of a project with this file.
    fn chats(home: &Home, text: impl AsRef<[u8]>) -> Vec<LogFile> {
        home.write(&format!("repo/{FILE}"), text);
        locate(&LogLocations {
            projects: vec![home.path().join("repo")],
            ..LogLocations::default()
        })
    }

    #[test]
    fn chats_are_found_below_a_directory_and_not_through_links() {
        let home = Home::new();
        let chat = "# aider chat started at 2026-01-01 10:00:00\n\n#### hi\n";
        home.write(&format!("src/shop/{FILE}"), chat);
        home.write(&format!("src/.hidden/{FILE}"), chat);
        home.write(&format!("a/b/c/d/e/{FILE}"), chat);
        home.link(&format!("src/linked/{FILE}"), &format!("../shop/{FILE}"));
        let locations = LogLocations {
            aider: vec![home.path()],
            ..LogLocations::default()
        };
        let ids: Vec<_> = locate(&locations).into_iter().map(|log| log.id).collect();
        assert_eq!(ids, ["shop-2026-01-01T10-00-00"]);
    }

    #[test]
    fn bytes_that_are_not_utf8_are_replaced_and_counted() {
        let home = Home::new();
        let chats = chats(&home, b"#### caf\xe9\n");
        let transcript = read(&chats[0]).expect("it is there");
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
        let transcript = read(&chats(&home, text)[0]).expect("it is there");
        let lengths: Vec<usize> = transcript.messages.iter().map(|m| m.text.len()).collect();
        assert_eq!(lengths.len(), 3);
        assert!(lengths[1] <= LONGEST_RECORD && lengths[1] > LONGEST_RECORD / 2);
        assert_eq!(transcript.skipped.too_long, 1);
    }

    #[test]
    fn messages_that_are_too_many_for_a_transcript_are_counted() {
        let home = Home::new();
        let turns = super::super::MOST_MESSAGES / 2 + 5;
        let log = &chats(&home, "#### a\nb\n".repeat(turns))[0];
        let transcript = read(log).expect("it is there");
        assert_eq!(transcript.messages.len(), super::super::MOST_MESSAGES);
        assert_eq!(transcript.skipped.left_out, 10);
        let mut count = 0;
        let all = super::super::read_each(log, &mut |_| count += 1);
        let (_, skipped) = all.expect("it is there");
        assert_eq!((count, skipped.left_out), (2 * turns, 0));
    }
}
