//! The rows of the findings: grouped by rule, worst first.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::core::insight::curate::waiver::Waiver;
use crate::core::insight::curate::{Finding, RULES};
use crate::core::memory::library::{Library, StoreSnapshot};
use crate::core::memory::store::StoreId;
use crate::tui::widget::list::Row;

/// A finding and the store that it is about; `None` if it is about no store.
#[derive(Debug, Clone)]
pub(super) struct Located {
    pub(super) store: Option<StoreId>,
    pub(super) finding: Finding,
}

impl Located {
    /// Whether nobody has waived it.
    pub(super) fn is_open(&self) -> bool {
        self.finding.waived.is_none()
    }

    /// The store that it is about.
    pub(super) fn snapshot<'a>(&self, library: &'a Library) -> Option<&'a Arc<StoreSnapshot>> {
        library.store_by_id(self.store.as_ref()?)
    }

    /// Whether both are about the same memory.
    pub(super) fn is_about_same(&self, other: &Self) -> bool {
        self.store == other.store && self.finding.path == other.finding.path
    }
}

/// A row of the list.
#[derive(Debug, Clone)]
pub(super) enum FindingRow {
    /// The rule of the findings below, and their number.
    Heading { rule: &'static str, count: usize },
    Finding {
        rule: &'static str,
        id: String,
        /// Its number.
        at: usize,
    },
}

impl FindingRow {
    pub(super) fn rule(&self) -> &'static str {
        let (Self::Heading { rule, .. } | Self::Finding { rule, .. }) = self;
        rule
    }

    /// The id of a finding; `None` for a heading.
    fn id(&self) -> Option<&str> {
        match self {
            Self::Heading { .. } => None,
            Self::Finding { id, .. } => Some(id),
        }
    }

    pub(super) fn is_heading(&self) -> bool {
        self.id().is_none()
    }
}

impl Row for FindingRow {
    fn is_same(&self, other: &Self) -> bool {
        self.rule() == other.rule() && self.id() == other.id()
    }
}

/// Which findings have a row.
#[derive(Debug, Default)]
pub(super) struct Shown {
    /// The rules whose findings are folded.
    pub(super) folded: BTreeSet<&'static str>,
    /// Whether waived findings are listed, too.
    pub(super) waived: bool,
}

/// All findings, worst first.
#[derive(Debug, Default)]
pub(super) struct Findings {
    all: Vec<Located>,
    pub(super) has_several_stores: bool,
}

impl Findings {
    pub(super) fn new(mut all: Vec<Located>) -> Self {
        all.sort_by_cached_key(|located| {
            let finding = &located.finding;
            let rule = RULES.iter().position(|rule| rule.id == finding.rule);
            let place = (located.store.clone(), finding.path.clone(), finding.line);
            (Reverse(finding.severity), rule, place)
        });
        let stores: BTreeSet<&Option<StoreId>> = all.iter().map(|one| &one.store).collect();
        Self {
            has_several_stores: stores.len() > 1,
            all,
        }
    }

    /// The rows of what is shown, grouped by rule.
    pub(super) fn rows(&self, shown: &Shown) -> Vec<FindingRow> {
        let mut rows = Vec::new();
        let mut first = 0;
        let same = |a: &Located, b: &Located| a.finding.rule == b.finding.rule;
        for group in self.all.chunk_by(same) {
            let rule = group[0].finding.rule;
            let visible = (first..).zip(group);
            let visible = visible.filter(|(_, located)| shown.waived || located.is_open());
            let findings = visible.map(|(at, located)| FindingRow::Finding {
                rule,
                id: located.finding.id.clone(),
                at,
            });
            let findings: Vec<FindingRow> = findings.collect();
            first += group.len();
            if findings.is_empty() {
                continue;
            }
            let count = findings.len();
            rows.push(FindingRow::Heading { rule, count });
            if !shown.folded.contains(rule) {
                rows.extend(findings);
            }
        }
        rows
    }

    pub(super) fn get(&self, at: usize) -> Option<&Located> {
        self.all.get(at)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Located> {
        self.all.iter()
    }

    /// The same findings and these.
    pub(super) fn with(mut self, more: impl Iterator<Item = Located>) -> Self {
        self.all.extend(more);
        Self::new(self.all)
    }

    /// The findings without those for which `is_gone` holds.
    pub(super) fn without(mut self, is_gone: impl Fn(&Located) -> bool) -> Self {
        self.all.retain(|located| !is_gone(located));
        Self::new(self.all)
    }

    /// Notes what was decided about a finding.
    pub(super) fn set_waived(&mut self, id: &str, waived: Option<Waiver>) {
        for located in self.all.iter_mut().filter(|other| other.finding.id == id) {
            located.finding.waived.clone_from(&waived);
        }
    }
}
