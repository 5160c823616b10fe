//! Values that the app, its panes, dialogs and workers pass to each other.

use std::sync::Arc;

use jiff::tz::TimeZone;

use super::highlight::Syntaxes;
use super::keymap::Keymap;
use super::layout::Areas;
use super::theme::Theme;
use crate::core::change::MergeTexts;
use crate::core::disk::revision::Revision;
use crate::core::insight::context::KnownAgent;
use crate::core::insight::ledger::Ledger;
use crate::core::memory::config::EditorKeys;
use crate::core::memory::discover::{DiscoveryScope, SearchedPlace};
use crate::core::memory::library::Library;
use crate::core::memory::store::StoreId;
use crate::core::search::Hit;
use crate::core::search::find::{Closeness, SearchState, Term};
use crate::core::search::query::QueryError;

/// What the app knows about the user.
#[derive(Debug, Clone)]
pub(crate) struct UserContext {
    /// A short name for the current scope, displayed in the title line.
    pub(crate) title: String,
    pub(crate) zone: TimeZone,
    pub(crate) editor_keys: EditorKeys,
    /// Which stores and logs are shown; `None` if the caller listed the stores.
    pub(crate) scope: Option<DiscoveryScope>,
    /// The agents of which is known what they load.
    pub(crate) agents: Vec<KnownAgent>,
    /// The directories that were searched for stores and logs.
    pub(crate) searched_places: Vec<SearchedPlace>,
}

/// What a pane can read.
#[derive(Clone, Copy)]
pub(crate) struct PaneContext<'a> {
    pub(crate) library: &'a Arc<Library>,
    /// How the memories were used.
    pub(crate) ledger: &'a Arc<Ledger>,
    pub(crate) areas: &'a Areas,
    pub(crate) theme: &'a Theme,
    pub(crate) keymap: &'a Keymap,
    pub(crate) syntaxes: &'a Arc<Syntaxes>,
    pub(crate) user: &'a UserContext,
    /// The queries of this run, oldest first.
    pub(crate) queries: &'a [String],
    /// How much of the logs has been read, in percent; `None` when no reading is in progress.
    pub(crate) reading: Option<u64>,
    /// Whether this pane is on top: no dialog covers it.
    pub(crate) is_top: bool,
    /// The time in milliseconds since 1970.
    pub(crate) now: i64,
}

/// Memories that are to become one, and their texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MergeTask {
    /// The memory that stays.
    pub(crate) into: (StoreId, String),
    pub(crate) others: Vec<(StoreId, String)>,
    pub(crate) texts: MergeTexts,
}

/// A memory that goes when the merged text is saved, as it was read.
pub(crate) type MergedAway = (StoreId, String, Revision);

impl MergeTask {
    /// The other memories with the revisions that were read.
    pub(crate) fn merged_away(&self) -> Vec<MergedAway> {
        let revisions = self.texts.revisions.iter();
        let others = self.others.iter().zip(revisions);
        others
            .map(|((store, path), revision)| (store.clone(), path.clone(), *revision))
            .collect()
    }
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct FindResults {
    pub(crate) rows: Vec<HitRow>,
    /// The number of matching lines, including those not in `rows`.
    pub(crate) total: usize,
    /// Whether the query has no words: everything that its filters allow is listed, newest first.
    pub(crate) is_newest_first: bool,
    pub(crate) progress: SearchState,
    /// The error in the query, if it has one.
    pub(crate) wrong: Option<QueryError>,
    /// If nothing was found: the filters without each of which something would be, and how much.
    pub(crate) without: Vec<(String, usize)>,
    /// The texts that the rows of each closeness match, to be marked where a row is opened.
    pub(crate) terms: Vec<(Closeness, Vec<Term>)>,
}

/// A hit, prepared for display.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HitRow {
    pub(crate) hit: Hit,
    /// The store of a memory, by id because names of stores can change; `None` for a hit in a
    /// log.
    pub(crate) store: Option<StoreId>,
    /// The text of the hit as it is displayed, without Markdown marks.
    pub(crate) text: String,
    /// How closely the hit matches.
    pub(crate) closeness: Closeness,
    /// The other matching lines of the same memory or session, best first.
    pub(crate) others: Vec<HitRow>,
    /// How many other lines match, including those not in `others`.
    pub(crate) more: usize,
    /// How many other sessions have a copy of this line.
    pub(crate) copies: usize,
    /// The indices of the characters of the title that match.
    pub(crate) title_letters: Vec<u32>,
    /// The indices of the characters of `text` that match.
    pub(crate) letters: Vec<u32>,
}
