//! What a log tells about itself: its metadata, and what of it could not be read.

use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};

use crate::core::disk::foreign::LONGEST_RECORD;

/// Where a title comes from, in ascending order of priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TitleSource {
    /// There is no title.
    #[default]
    None,
    /// A summary made by the agent.
    Summary,
    /// A title made by the agent.
    Ai,
    /// A title given by the user.
    Custom,
}

/// The metadata of a log, from its records.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Head {
    /// The session's id as its records give it.
    pub session: Option<String>,
    /// The best title so far.
    pub title: Option<String>,
    /// Where the title comes from.
    pub naming: TitleSource,
    /// The working directory.
    pub cwd: Option<String>,
    /// The git branch.
    pub branch: Option<String>,
    /// The model of the last reply.
    pub model: Option<String>,
    /// The agent's version.
    pub version: Option<String>,
    /// The session that started this one as a subagent.
    pub parent: Option<String>,
    /// The session of which this one is a copy.
    pub fork_of: Option<String>,
    /// The earliest time of any message.
    pub first: Option<i64>,
    /// The latest time of any message.
    pub last: Option<i64>,
    /// The beginning of the first prompt that says something, or else of the first: the user's, or in
    /// a subagent's log its task.
    pub first_prompt: Option<String>,
    /// The beginning of the agent's first words, if the prompts so far say nothing.
    #[serde(default)]
    pub opening: Option<String>,
    /// The beginning of the last prompt that the user wrote.
    pub last_prompt: Option<String>,
    /// The number of prompts that the user wrote.
    pub turns: u64,
    /// The number of texts and tool calls by the model.
    #[serde(default)]
    pub replies: u64,
    /// The calls that failed or were refused, so that they wrote nothing; see
    /// [`call_mark`](super::call_mark).
    #[serde(default)]
    pub failed: Vec<u64>,
}

/// The numbers of lines and records that gave no message, by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Skipped {
    /// Blank lines.
    pub blank: u64,
    /// Lines that are not JSON, or on which a record was cut short by another.
    pub broken: u64,
    /// Records longer than [`LONGEST_RECORD`].
    #[serde(default)]
    pub too_long: u64,
    /// Messages that are left out of a log that is too large: those after the first
    /// [`MOST_MESSAGES`](super::MOST_MESSAGES) of a transcript, and records that do not fit in memory.
    #[serde(default)]
    pub left_out: u64,
    /// Lines with a JSON value that is not an object.
    pub not_object: u64,
    /// Lines with bytes that are not UTF-8; the text is kept, with U+FFFD in their place.
    pub not_utf8: u64,
    /// Records of an unknown type.
    pub unknown: u64,
    /// Lines of NUL bytes only, as left by a crash.
    pub nul: u64,
    /// A last line without a line break that is not a complete record yet.
    pub partial: u64,
}

impl Skipped {
    /// Returns how many lines or records gave no message.
    pub fn total(&self) -> u64 {
        self.blank
            + self.broken
            + self.too_long
            + self.left_out
            + self.not_object
            + self.unknown
            + self.nul
            + self.partial
    }

    /// Says which content a limit kept out; `None` if none did.
    pub fn over_limits(&self) -> Option<String> {
        let mut parts = Vec::new();
        if self.too_long > 0 {
            parts.push(format!(
                "{} of its records {} longer than {} MB and skipped",
                self.too_long,
                if self.too_long == 1 { "is" } else { "are" },
                LONGEST_RECORD >> 20
            ));
        }
        if self.left_out > 0 {
            parts.push(format!(
                "it is too large: {} of its messages are left out",
                self.left_out
            ));
        }
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

impl Head {
    /// Sets the title unless it is blank or the current one has a higher priority.
    pub fn set_title(&mut self, naming: TitleSource, title: String) {
        if naming >= self.naming && !is_placeholder(&title) {
            self.naming = naming;
            self.title = Some(title);
        }
    }

    /// Returns the title: the log's own, or else `listed`, that of an index beside it.
    pub fn entitled<'a>(&'a self, listed: Option<&'a str>) -> Option<&'a str> {
        let own = self.title.as_deref();
        own.or_else(|| listed.filter(|title| !is_placeholder(title)))
    }

    /// Returns what a session is called everywhere: by its title, or else by its first prompt, or, if
    /// that says nothing, by the agent's first words.
    pub fn name<'a>(&'a self, listed: Option<&'a str>) -> Option<&'a str> {
        let title = self.entitled(listed).or(self.opening.as_deref());
        title.or(self.first_prompt.as_deref())
    }

    /// Whether neither the user nor the model has said anything.
    pub fn is_empty(&self) -> bool {
        self.turns == 0 && self.replies == 0
    }

    /// Keeps the model of the last reply that names one.
    pub(super) fn note_model(&mut self, model: Option<String>) {
        self.model = model.or(self.model.take());
    }

    /// Extends the time span of the log to include `time`.
    pub fn extend_span(&mut self, time: Option<i64>) {
        let Some(time) = time else { return };
        self.first = Some(self.first.map_or(time, |first| first.min(time)));
        self.last = Some(self.last.map_or(time, |last| last.max(time)));
    }
}

/// Whether a prompt tells what a session is about: not an answer such as `y`, nor a command or the
/// mark of an image alone, nor what only carries work on.
pub fn says_something(prompt: &str) -> bool {
    static CARRIES_ON: LazyLock<Regex> = LazyLock::new(|| {
        let words = r"go|on|ahead|continue|proceed|resume|keep|going|carry|ok|okay|sure|yes|yeah|yep|no|please|do|it|that|this|so|and|then|now|next|again|thanks?|you|great|good|nice|weiter|bitte|danke|continua|continúa|继续|繼續|続けて|계속";
        Regex::new(&format!(r"(?i)^(?:\b(?:{words})\b|\W)*$")).expect("a valid pattern")
    });
    static IMAGE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\[[Ii]mage[^\]\n]*\]").expect("a valid pattern"));
    /// The number of letters from which a prompt does.
    const LETTERS: usize = 5;
    let prompt = prompt.trim();
    let said = match prompt.strip_prefix('/') {
        Some(command) => match command.split_once(char::is_whitespace) {
            Some((_, said)) if said.trim().contains(char::is_whitespace) => said,
            _ => return false,
        },
        None => prompt,
    };
    // A letter of a script without spaces says as much as several of another.
    let weight = |c: char| match c {
        '\u{2e80}'.. if c.is_alphanumeric() => 3,
        _ => usize::from(c.is_alphanumeric()),
    };
    let said = IMAGE.replace_all(said, "");
    let mut letters = 0;
    let has_letters = said.chars().any(|c| {
        letters += weight(c);
        letters >= LETTERS
    });
    has_letters && !CARRIES_ON.is_match(&said)
}

/// Whether a title is blank, or the one that an agent gives to every new session.
pub(super) fn is_placeholder(title: &str) -> bool {
    let title = title.trim().to_lowercase();
    // OpenCode adds the time to its own.
    let is_dated = |name: &str| {
        let after = title.strip_prefix(name);
        after.is_some_and(|after| after.is_empty() || after.starts_with(" - 20"))
    };
    title.is_empty()
        || title == "untitled"
        || ["new session", "child session"]
            .iter()
            .any(|name| is_dated(name))
}
