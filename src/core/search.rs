//! Search over memories and logs: [`query`] parses what is asked, [`recall`] ranks hits for a
//! question, [`find`] matches while the user types, [`lesson`] recalls the coder's lessons,
//! and [`mod@format`] writes hits for agents.
//!
//! Memories are read at the time of the search, so the result is never stale; logs are
//! searched in the [`Corpus`] of [`index`], which keeps itself up to date.

mod current;
pub mod find;
#[cfg(test)]
pub(crate) mod fixture;
pub mod format;
pub mod index;
pub mod lesson;
mod nearness;
pub(in crate::core) mod needle;
pub mod query;
pub mod recall;
mod recent;
pub(in crate::core) mod score;
pub(in crate::core) mod snippet;

use std::path::PathBuf;

use crate::core::log::{Agent, Role};
use crate::core::memory::citation::{Citation, CitedPart, text_mark};
use crate::core::memory::layout::session::MESSAGES;
use crate::core::memory::texts::{MemoryText, MemoryTexts};
use crate::core::search::index::{Corpus, CorpusMessage, Log};
use crate::core::search::query::{Filters, SearchArea};
use crate::core::text::display::safe;

pub use current::{ScopedCorpus, SearchOutcome, read_corpus, search};
pub use recent::{Recent, recent};

/// The kind of source of a hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HitSource {
    /// A curated memory.
    Detail,
    /// A log.
    Messages,
}

/// A line of a memory, a message or a conversation that matches a query.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The kind of source.
    pub source: HitSource,
    /// The store's name; for a log outside any store, the agent's.
    pub store: String,
    /// The reference inside the store; for a log outside any store, the file.
    pub path: String,
    /// The line, from 1.
    pub line: u64,
    /// The line of the message's text with the match, from 0; `None` if that is not known.
    pub within: Option<usize>,
    /// The title of the memory or the conversation.
    pub title: String,
    /// The text around the match, one line of at most 300 characters.
    pub text: String,
    /// The argument for `tome read` or `tome log`.
    pub citation: Citation,
    /// The relevance; comparable within one result only.
    pub score: f32,
    /// The type of the memory.
    pub category: Option<String>,
    /// The role of the message's author.
    pub role: Option<Role>,
    /// The agent that wrote the log.
    pub agent: Option<Agent>,
    /// The session's id.
    pub session: Option<String>,
    /// The time of the message, in milliseconds since 1970 UTC.
    pub time: Option<i64>,
    /// The log's file, and the session's id in it.
    pub log: Option<(PathBuf, String)>,
    /// The number of copies of the message in other logs, for which this hit stands too.
    pub copies: usize,
    /// The working directory of the session.
    pub project: Option<String>,
}

impl HitSource {
    /// Returns the name used in output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Detail => "detail",
            Self::Messages => "messages",
        }
    }
}

/// The memories and logs that are searched.
#[derive(Debug, Clone, Copy)]
pub struct Sources<'a> {
    /// The memories.
    pub memories: &'a MemoryTexts,
    /// The logs, if there are any.
    pub corpus: Option<&'a Corpus>,
}

impl Sources<'_> {
    /// Returns whether there is a log to search.
    pub fn has_logs(&self) -> bool {
        self.corpus.is_some_and(|corpus| corpus.logs().len() > 0)
    }

    /// Returns the hit for a line of a memory.
    pub(in crate::core) fn line(
        &self,
        memory_text: &MemoryText,
        line: usize,
        (text, score): (String, f32),
    ) -> Hit {
        Hit {
            source: HitSource::Detail,
            store: memory_text.store.clone(),
            path: memory_text.memory.path.clone(),
            line: line as u64,
            within: None,
            title: memory_text.memory.title.clone(),
            text,
            citation: Citation {
                store: self.memories.prefix(&memory_text.store),
                path: memory_text.memory.path.clone(),
                part: CitedPart::Lines(line..=line),
                mark: None,
            },
            score,
            category: memory_text.memory.category.clone(),
            role: None,
            agent: None,
            session: None,
            time: memory_text.time,
            log: None,
            copies: 0,
            project: None,
        }
    }

    /// Returns the hit for a message; its text is free of control characters and secrets.
    fn message(
        &self,
        log: Log<'_>,
        message: &CorpusMessage<'_>,
        (text, score): (String, f32),
    ) -> Hit {
        let line = usize::try_from(message.line).unwrap_or(usize::MAX).max(1);
        let mut hit = self.log(log, (safe(&text), score));
        hit.line = message.line;
        hit.citation.part = CitedPart::Lines(line..=line);
        // The line of a store's file is cited as that of any file.
        if hit.citation.path != hit.path {
            hit.citation.mark = Some(text_mark(message.text));
        }
        hit.role = Some(message.role);
        hit.time = message.time;
        if let Some(session) = message.session {
            hit.session = Some(session.to_owned());
        }
        hit
    }

    /// Returns the hit for a whole conversation, with `text` as its excerpt.
    pub(in crate::core) fn log(&self, log: Log<'_>, (text, score): (String, f32)) -> Hit {
        let file = log.path();
        let agent = log.agent();
        let part = CitedPart::Whole;
        let home = file.parent().and_then(|root| self.memories.store_at(root));
        let (store, path, citation) = match home {
            Some(store) => {
                let name = file.file_name().map(|name| name.to_string_lossy());
                let path = name.as_deref().unwrap_or(MESSAGES).to_owned();
                let citation = Citation {
                    store: self.memories.prefix(store),
                    path: path.clone(),
                    part,
                    mark: None,
                };
                (store.to_owned(), path, citation)
            }
            None => {
                let name = agent.map_or("log", Agent::name);
                let citation = Citation {
                    store: Some(name.to_owned()),
                    path: log.cited_id(),
                    part,
                    mark: None,
                };
                (name.to_owned(), file.display().to_string(), citation)
            }
        };
        Hit {
            source: HitSource::Messages,
            store,
            path,
            line: 1,
            within: None,
            title: log.shown_title(),
            text,
            citation,
            score,
            category: None,
            role: None,
            agent,
            session: Some(log.id().to_owned()),
            time: Some(log.last_activity()).filter(|time| *time > 0),
            log: Some((file, log.id().to_owned())),
            copies: 0,
            project: log.cwd().map(str::to_owned),
        }
    }
}

/// Returns whether the filters admit a memory.
pub fn allows_memory(filters: &Filters, memory_text: &MemoryText) -> bool {
    let any = |wanted: &[String], is: &dyn Fn(&String) -> bool| {
        wanted.is_empty() || wanted.iter().any(is)
    };
    filters.wants(SearchArea::Memories)
        && filters.agents.is_empty()
        && filters.roles.is_empty()
        && filters.projects.is_empty()
        && any(&filters.stores, &|store| *store == memory_text.store)
        && any(&filters.types, &|kind| {
            memory_text.memory.category.as_ref() == Some(kind)
        })
        && filters.allows_time(memory_text.time)
}

/// Returns for each log whether the filters admit it, in the corpus's order.
pub fn allowed_logs(filters: &Filters, sources: Sources<'_>) -> Vec<bool> {
    let Some(corpus) = sources.corpus else {
        return Vec::new();
    };
    let is_wanted = |log: Log<'_>| {
        let agent = filters.agents.is_empty()
            || log
                .agent()
                .is_some_and(|agent| filters.agents.contains(&agent));
        let project = filters.projects.is_empty()
            || log.cwd().is_some_and(|cwd| {
                filters
                    .projects
                    .iter()
                    .any(|part| cwd.contains(part.as_str()))
            });
        let store = filters.stores.is_empty() || {
            let path = log.path();
            let store = path
                .parent()
                .and_then(|root| sources.memories.store_at(root));
            store.is_some_and(|store| filters.stores.iter().any(|wanted| wanted == store))
        };
        agent && project && store && filters.types.is_empty()
    };
    corpus.logs().map(is_wanted).collect()
}
