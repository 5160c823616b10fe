//! Read access to the logs of the corpus.

use std::path::PathBuf;

use super::table::LogRow;
use super::{Corpus, Part};
use crate::core::log::{Agent, Head, Role, Skipped, is_named, marked_id};
use crate::core::text::display::safe_line;

/// A log of the corpus.
#[derive(Debug, Clone, Copy)]
pub struct Log<'a> {
    corpus: &'a Corpus,
    row: &'a LogRow,
}

impl<'a> Log<'a> {
    pub(super) fn new(corpus: &'a Corpus, row: &'a LogRow) -> Self {
        Self { corpus, row }
    }

    /// Returns the agent or layout of the log.
    pub fn agent(&self) -> Option<Agent> {
        Agent::all().find(|agent| *agent as u32 == self.row.agent)
    }

    /// Returns the file, or the database that holds it.
    pub fn path(&self) -> PathBuf {
        self.row.path()
    }

    /// Returns the session's id, from the file's name or the database's key.
    pub fn id(&self) -> &'a str {
        self.row.id()
    }

    /// Returns what a citation calls the log: its id, with a mark if another log has the same.
    pub fn cited_id(&self) -> String {
        if self.corpus.has_shared(self.row.agent, self.id()) {
            marked_id(self.id(), &self.path())
        } else {
            self.id().to_owned()
        }
    }

    /// Whether a citation's name of a log is this one's.
    pub fn is_named(&self, name: &str) -> bool {
        name.starts_with(self.id()) && is_named(name, self.id(), &self.path())
    }

    /// Whether it is the log of this session: some agents name their files otherwise than the session.
    pub fn is_session(&self, id: &str) -> bool {
        let own = || self.facts().and_then(|(head, _)| head.session);
        self.id() == id || own().as_deref() == Some(id)
    }

    /// Returns the working directory; if the log has only its hash, that of another log with it.
    pub fn cwd(&self) -> Option<&'a str> {
        self.row.cwd().or_else(|| match self.agent()? {
            agent @ Agent::Gemini => self.corpus.projects().project(agent, &self.path()),
            _ => None,
        })
    }

    /// Returns the title: the log's own, or that of an index beside it.
    pub fn title(&self) -> Option<&'a str> {
        self.row.title()
    }

    /// Returns the earliest and the latest time of any message.
    pub fn span(&self) -> Option<(i64, i64)> {
        self.row.span
    }

    /// Returns the time of the last message, or else of the last change of its file.
    pub fn last_activity(&self) -> i64 {
        let last_message = self.span().map(|(_, last)| last);
        last_message.or(self.modified()).unwrap_or(0)
    }

    /// Returns what the log is called, with secrets masked; see [`Head::name`].
    pub fn shown_title(&self) -> String {
        if let Some(title) = self.title() {
            return safe_line(title);
        }
        let head = self.facts().map(|(head, _)| head).unwrap_or_default();
        safe_line(head.name(None).unwrap_or_default())
    }

    /// Returns the number of prompts that the user wrote.
    pub fn turns(&self) -> u64 {
        self.row.turns
    }

    /// Returns the size that it was listed with, in bytes.
    pub fn size(&self) -> u64 {
        self.row.size
    }

    /// Returns the modification time that it was listed with.
    pub fn modified(&self) -> Option<i64> {
        self.row.modified
    }

    /// Returns by what a change of it is noticed: its size and its times as it was listed.
    pub fn listed(&self) -> (u64, Option<i64>, Option<i64>) {
        self.row.listed()
    }

    /// Returns the size of its text in a part, in bytes.
    pub fn text_bytes(&self, part: Part) -> u64 {
        self.row.content.text[part.number()]
    }

    /// Returns how many messages of this role it has.
    pub fn messages_of(&self, role: Role) -> u64 {
        self.row.content.roles[role as usize]
    }

    /// Returns the metadata of the log and the counts of skipped lines; `None` if damaged.
    pub fn facts(&self) -> Option<(Head, Skipped)> {
        let facts = self.row.facts();
        if facts.is_none() {
            self.corpus.report_damage();
        }
        facts
    }
}
