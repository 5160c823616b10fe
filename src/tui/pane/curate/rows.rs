//! The rows of the findings: grouped by rule, worst first, or by file.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::core::insight::curate::waiver::Waiver;
use crate::core::insight::curate::{Finding, RULES};
use crate::core::memory::library::{Library, StoreSnapshot};
use crate::core::memory::store::StoreId;
use crate::tui::widget::filter::RowFilter;
use crate::tui::widget::list::Row;

/// A finding and the store that it is about.
#[derive(Debug, Clone)]
pub(super) struct Located {
    pub(super) store: StoreId,
    pub(super) finding: Finding,
}

impl Located {
    /// Whether nobody has waived it.
    pub(super) fn is_open(&self) -> bool {
        self.finding.waived.is_none()
    }

    pub(super) fn snapshot<'a>(&self, library: &'a Library) -> Option<&'a Arc<StoreSnapshot>> {
        library.store_by_id(&self.store)
    }

    pub(super) fn is_about_same(&self, other: &Self) -> bool {
        self.store == other.store && self.finding.path == other.finding.path
    }
}

/// What the findings below one heading have in common.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::tui::pane) enum Group {
    Rule(&'static str),
    File(StoreId, String),
}

#[derive(Debug, Clone)]
pub(in crate::tui::pane) enum FindingRow {
    /// What the findings below have in common, and their number.
    Heading { group: Group, count: usize },
    Finding {
        group: Group,
        id: String,
        /// Its number.
        at: usize,
    },
}

impl FindingRow {
    pub(super) fn group(&self) -> &Group {
        let (Self::Heading { group, .. } | Self::Finding { group, .. }) = self;
        group
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
        match (self.id(), other.id()) {
            (None, None) => self.group() == other.group(),
            (one, other) => one == other,
        }
    }

    fn mark_key(&self) -> Option<&str> {
        self.id()
    }
}

/// Which findings have a row, and how they are grouped.
#[derive(Debug, Default)]
pub(super) struct Shown {
    pub(super) folded: BTreeSet<Group>,
    pub(super) waived: bool,
    pub(super) by_file: bool,
    pub(super) filter: RowFilter,
}

impl Shown {
    pub(super) fn group(&self, located: &Located) -> Group {
        if self.by_file {
            Group::File(located.store.clone(), located.finding.path.clone())
        } else {
            Group::Rule(located.finding.rule)
        }
    }

    /// Whether a finding is listed, or folded.
    pub(super) fn lists(&self, located: &Located) -> bool {
        let finding = &located.finding;
        let text = || {
            let evidence = finding.evidence.iter().map(|piece| piece.text.as_str());
            let own = [
                finding.rule,
                &finding.path,
                &finding.subject,
                &finding.message,
            ];
            own.into_iter()
                .chain(evidence)
                .collect::<Vec<_>>()
                .join("\n")
        };
        (self.waived || located.is_open()) && self.filter.shows(&text())
    }
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
        let stores: BTreeSet<&StoreId> = all.iter().map(|one| &one.store).collect();
        Self {
            has_several_stores: stores.len() > 1,
            all,
        }
    }

    /// The rows of what is shown, each group where its worst finding is.
    pub(super) fn rows(&self, shown: &Shown) -> Vec<FindingRow> {
        let mut groups: Vec<(Group, Vec<FindingRow>)> = Vec::new();
        let mut places: BTreeMap<Group, usize> = BTreeMap::new();
        for (at, located) in self.all.iter().enumerate() {
            if !shown.lists(located) {
                continue;
            }
            let group = shown.group(located);
            let place = *places.entry(group.clone()).or_insert_with(|| {
                groups.push((group.clone(), Vec::new()));
                groups.len() - 1
            });
            groups[place].1.push(FindingRow::Finding {
                group,
                id: located.finding.id.clone(),
                at,
            });
        }
        let mut rows = Vec::new();
        for (group, findings) in groups {
            let is_folded = shown.folded.contains(&group);
            let count = findings.len();
            rows.push(FindingRow::Heading { group, count });
            if !is_folded {
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
