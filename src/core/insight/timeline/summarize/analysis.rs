//! What the summarizer knows about the text of an event. It is computed once, although an event is
//! part of its segment and of its session, and each is summarized.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::PointKind;
use super::choose::{length, terms};
use super::clause::{self, Clause, clauses};
use super::word::for_each_word;
use crate::core::insight::timeline::event::{Event, begin};
use crate::core::log::touch::{FileUse, file_touches, staged_files};
use crate::core::log::{MessageKind, Role};
use crate::core::text::Term;

/// How much of a message counts for the frequencies of words, in bytes.
const READ: usize = 6_000;

/// The parts are computed when they are first asked for. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct TextAnalysis(Arc<Parts>);

#[derive(Debug, Default)]
struct Parts {
    terms: OnceLock<Vec<Term>>,
    words: OnceLock<Vec<(Term, Range<usize>)>>,
    clauses: OnceLock<Vec<KnownClause>>,
    changes: OnceLock<Vec<(String, bool)>>,
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
    /// What it is about, by who says it, and how much it says.
    pub(super) answer: (PointKind, f64),
    /// How much it reads like a sentence.
    pub(super) prose: f64,
}

/// Returns the distinct terms of the beginning of an event's text.
pub(super) fn terms_of(event: &Event) -> &[Term] {
    let parts = &event.analysis.0;
    parts.terms.get_or_init(|| terms(begin(&event.text, READ)))
}

/// Returns the words of the beginning of an event's text that may be keywords: their terms and
/// their places in the text.
pub(super) fn words_of(event: &Event) -> &[(Term, Range<usize>)] {
    let parts = &event.analysis.0;
    parts.words.get_or_init(|| {
        let mut found = Vec::new();
        for_each_word(begin(&event.text, READ), |word, facts| {
            if facts.may_be_keyword {
                found.push((facts.stem, word.at..word.at + word.text.len()));
            }
        });
        found
    })
}

/// Returns the clauses of an event's text.
pub(super) fn clauses_of(event: &Event) -> &[KnownClause] {
    let known = |found: Clause| KnownClause {
        terms: terms(&found.text),
        length: length(&found.text).max(1),
        answer: match event.role {
            Role::User => (PointKind::Asked, clause::request_weight(&found.text)),
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
