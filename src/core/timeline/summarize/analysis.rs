//! What the summarizer knows about the text of an event. It is computed once, although an event is
//! part of its segment and of its session, and each is summarized.

use std::sync::{Arc, OnceLock};

use super::PointKind;
use super::choose::{length, terms};
use super::clause::{self, Clause, clauses};
use super::heading::telling_words;
use crate::core::log::Role;
use crate::core::text::Term;
use crate::core::timeline::event::{Event, begin};

/// How much of a message counts for the frequencies of words, in bytes.
const READ: usize = 6_000;

/// The parts are computed when they are first asked for. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct TextAnalysis(Arc<Parts>);

#[derive(Debug, Default)]
struct Parts {
    terms: OnceLock<Vec<Term>>,
    words: OnceLock<Vec<(Term, String)>>,
    clauses: OnceLock<Vec<KnownClause>>,
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
    /// What it is about if an agent says it, and how much it says.
    pub(super) answer: (PointKind, f64),
    /// How much it reads like a sentence.
    pub(super) prose: f64,
}

/// Returns the distinct terms of the beginning of an event's text.
pub(super) fn terms_of<'e>(event: &'e Event<'_>) -> &'e [Term] {
    let parts = &event.analysis.0;
    parts.terms.get_or_init(|| terms(begin(&event.text, READ)))
}

/// Returns the words of the beginning of an event's text that may be keywords, with their terms.
pub(super) fn words_of<'e>(event: &'e Event<'_>) -> &'e [(Term, String)] {
    let parts = &event.analysis.0;
    parts
        .words
        .get_or_init(|| telling_words(begin(&event.text, READ)))
}

/// Returns the clauses of an event's text.
pub(super) fn clauses_of<'e>(event: &'e Event<'_>) -> &'e [KnownClause] {
    let known = |found: Clause| KnownClause {
        terms: terms(&found.text),
        length: length(&found.text).max(1),
        answer: match event.role {
            Role::User => (PointKind::Asked, 1.0),
            _ => clause::answer_kind(&found.text),
        },
        prose: clause::prose_weight(&found.text),
        clause: found,
    };
    let parts = &event.analysis.0;
    parts
        .clauses
        .get_or_init(|| clauses(&event.text).into_iter().map(known).collect())
}
