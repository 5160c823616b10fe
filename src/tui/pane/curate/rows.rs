//! The rows of the findings: grouped by rule, worst first.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::core::insight::curate::waiver::Waiver;
use crate::core::insight::curate::{Finding, RULES};
use crate::core::memory::library::{Library, StoreSnapshot};
use crate::core::memory::store::StoreId;

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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Row {
    /// The rule of the findings below, and their number.
    Heading { rule: &'static str, count: usize },
    /// A finding, by its number.
    Finding(usize),
}

/// What stays the same about a row when the memories are checked again.
pub(super) type RowKey = (&'static str, Option<String>);

/// Which findings have a row.
#[derive(Debug, Default)]
pub(super) struct Shown {
    /// The rules whose findings are folded.
    pub(super) folded: BTreeSet<&'static str>,
    /// Whether waived findings are listed, too.
    pub(super) waived: bool,
}

/// The findings and their rows.
#[derive(Debug, Default)]
pub(super) struct FindingList {
    /// All findings, worst first.
    all: Vec<Located>,
    pub(super) rows: Vec<Row>,
    pub(super) has_several_stores: bool,
}

impl FindingList {
    pub(super) fn new(all: Vec<Located>, shown: &Shown) -> Self {
        let mut list = Self {
            all,
            ..Self::default()
        };
        list.all.sort_by_cached_key(|located| {
            let finding = &located.finding;
            let rule = RULES.iter().position(|rule| rule.id == finding.rule);
            let place = (located.store.clone(), finding.path.clone(), finding.line);
            (Reverse(finding.severity), rule, place)
        });
        let stores = list.all.iter().map(|located| &located.store);
        let stores: BTreeSet<&Option<StoreId>> = stores.collect();
        list.has_several_stores = stores.len() > 1;
        list.lay_out(shown);
        list
    }

    /// Makes the rows again after what is shown has changed.
    pub(super) fn lay_out(&mut self, shown: &Shown) {
        self.rows.clear();
        let mut first = 0;
        let same = |a: &Located, b: &Located| a.finding.rule == b.finding.rule;
        for group in self.all.chunk_by(same) {
            let visible = |at: &usize| shown.waived || self.all[*at].is_open();
            let findings: Vec<usize> = (first..first + group.len()).filter(visible).collect();
            first += group.len();
            if findings.is_empty() {
                continue;
            }
            let (rule, count) = (group[0].finding.rule, findings.len());
            self.rows.push(Row::Heading { rule, count });
            if !shown.folded.contains(rule) {
                self.rows.extend(findings.into_iter().map(Row::Finding));
            }
        }
    }

    pub(super) fn get(&self, at: usize) -> Option<&Located> {
        self.all.get(at)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Located> {
        self.all.iter()
    }

    /// The same findings and these.
    pub(super) fn with(mut self, more: Vec<Located>, shown: &Shown) -> Self {
        self.all.extend(more);
        Self::new(self.all, shown)
    }

    /// The findings without those for which `is_gone` holds.
    pub(super) fn without(mut self, is_gone: impl Fn(&Located) -> bool, shown: &Shown) -> Self {
        self.all.retain(|located| !is_gone(located));
        Self::new(self.all, shown)
    }

    /// Notes what was decided about a finding.
    pub(super) fn set_waived(&mut self, id: &str, waived: Option<Waiver>) {
        for located in self.all.iter_mut().filter(|other| other.finding.id == id) {
            located.finding.waived.clone_from(&waived);
        }
    }

    pub(super) fn keys(&self) -> Vec<RowKey> {
        let key = |row: &Row| match *row {
            Row::Heading { rule, .. } => (rule, None),
            Row::Finding(at) => {
                let finding = &self.all[at].finding;
                (finding.rule, Some(finding.id.clone()))
            }
        };
        self.rows.iter().map(key).collect()
    }
}
