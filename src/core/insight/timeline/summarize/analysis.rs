//! What the summarizer knows about the text of an event. It is computed once, although an event is
//! part of its segment and of its session, and each is summarized.

use std::sync::{Arc, OnceLock};

use super::choose::{length, terms};
use super::clause::{Clause, clauses};
use super::heading::names;
use super::{PointKind, report, request};
use crate::core::insight::timeline::event::Event;
use crate::core::log::touch::{CommitAct, FileUse, commit_acts, file_touches, staged_files};
use crate::core::log::{MessageKind, Role};
use crate::core::text::{Term, clip};

/// How much of a message counts for the frequencies of words, in bytes.
const READ: usize = 6_000;

/// The parts are computed when they are first asked for. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct TextAnalysis(Arc<Parts>);

#[derive(Debug, Default)]
struct Parts {
    terms: OnceLock<Vec<Term>>,
    names: OnceLock<Vec<(String, usize)>>,
    clauses: OnceLock<Vec<KnownClause>>,
    changes: OnceLock<Vec<(String, bool)>>,
    commit_acts: OnceLock<Vec<CommitAct>>,
}

/// It follows from the text, which is compared itself.
impl PartialEq for TextAnalysis {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for TextAnalysis {}

/// A clause with what its worth depends on.
#[derive(Debug)]
pub(super) struct KnownClause {
    pub(super) clause: Clause,
    pub(super) terms: Vec<Term>,
    /// The number of its words, as they are read.
    pub(super) length: usize,
    /// What it says, by who says it; `None` if it is no fact.
    pub(super) kind: Option<PointKind>,
}

/// Returns the distinct terms of the beginning of an event's text.
pub(super) fn terms_of(event: &Event) -> &[Term] {
    let parts = &event.analysis.0;
    parts.terms.get_or_init(|| terms(clip(&event.text, READ)))
}

/// Returns the names in the beginning of an event's text, each with how often it stands there.
pub(super) fn names_of(event: &Event) -> &[(String, usize)] {
    let parts = &event.analysis.0;
    parts.names.get_or_init(|| names(clip(&event.text, READ)))
}

/// Returns the clauses of an event's text.
pub(super) fn clauses_of(event: &Event) -> &[KnownClause] {
    let known = |found: Clause| KnownClause {
        terms: terms(&found.text),
        length: length(&found.text).max(1),
        kind: match event.role {
            Role::User => Some(request::request_kind(&found)),
            _ => report::report_kind(&found),
        },
        clause: found,
    };
    let parts = &event.analysis.0;
    parts
        .clauses
        .get_or_init(|| clauses(&event.text).into_iter().map(known).collect())
}

/// Returns what a call does to the commits of a repository.
pub(in crate::core::insight::timeline) fn commit_acts_of(event: &Event) -> &[CommitAct] {
    let parts = &event.analysis.0;
    parts.commit_acts.get_or_init(|| match event.kind {
        MessageKind::ToolCall => {
            commit_acts(event.tool.as_deref().unwrap_or_default(), &event.text)
        }
        _ => Vec::new(),
    })
}

/// Returns the files that a call writes, deletes or adds to a commit, as it names them; and whether
/// each is there afterwards.
pub(in crate::core::insight::timeline) fn changes_of(event: &Event) -> &[(String, bool)] {
    let parts = &event.analysis.0;
    parts.changes.get_or_init(|| {
        if event.kind != MessageKind::ToolCall {
            return Vec::new();
        }
        let tool = event.tool.as_deref().unwrap_or_default();
        let touched = file_touches(tool, &event.text).into_iter();
        let changed = touched.filter(|touch| touch.usage != FileUse::Read);
        let changed = changed.map(|touch| (touch.path, touch.usage == FileUse::Write));
        let staged = staged_files(tool, &event.text).into_iter();
        changed.chain(staged.map(|path| (path, true))).collect()
    })
}
