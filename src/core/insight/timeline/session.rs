//! The nodes of sessions as wholes.

use std::sync::Arc;

use super::event::LogEvents;
use super::record::{LogRecord, Source};
use super::{Node, Timeline, stamp, tree};
use crate::core::insight::sessions::{CapturedSession, captured_sessions};
use crate::core::log::Agent;
use crate::core::search::index::Corpus;

impl Timeline {
    /// Returns the nodes of the sessions, in the order of the logs.
    pub fn sessions(&self) -> Vec<Node> {
        let whole = |log: &Arc<LogRecord>| tree::whole(log, &self.zone);
        self.records().filter_map(whole).collect()
    }

    /// Returns the node of a session; `None` if it is not known or nothing happened in it.
    pub fn session(&self, agent: Agent, id: &str) -> Option<Node> {
        let is_it = |log: &&Arc<LogRecord>| log.agent == agent && log.id == id;
        let found = self.records().find(is_it);
        found.and_then(|log| tree::whole(log, &self.zone))
    }

    /// Returns the node of a session of which only hooks tell: by its id, or the only one whose id
    /// starts with this.
    pub fn captured_session(&self, corpus: &Corpus, id: &str) -> Option<Node> {
        let stores = corpus.logs().enumerate();
        let stores = stores.filter(|(_, log)| log.agent() == Some(Agent::Events));
        let sessions = stores.flat_map(|(number, log)| {
            let sessions = captured_sessions(corpus, &log).into_iter();
            sessions.map(move |session| (number, session))
        });
        let mut sessions: Vec<_> = sessions
            .filter(|(_, session)| session.id.starts_with(id))
            .collect();
        sessions.sort_by_key(|(_, session)| session.id.len());
        let is_clear = |(_, session): &&(usize, _)| {
            let session: &CapturedSession = session;
            sessions.len() == 1 || session.id == id
        };
        let (number, session) = sessions.first().filter(is_clear)?;
        let log = corpus.log(*number)?;
        let source = Source {
            agent: Agent::Events,
            id: log.id(),
            cwd: session.cwd.as_deref().or(log.cwd()),
            stamp: stamp(&log),
            summarizer: self.summarizer.as_ref(),
        };
        let events = LogEvents::of(corpus, *number).of_session(&session.id);
        let node = tree::whole(&LogRecord::make(source, &events, None), &self.zone)?;
        Some(Node {
            id: format!("log:{}:{}", session.agent, session.id),
            ..node
        })
    }
}
