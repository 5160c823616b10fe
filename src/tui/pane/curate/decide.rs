//! What is done about the marked findings, or about the one under the cursor.

use std::collections::{BTreeMap, BTreeSet};

use super::CuratePane;
use super::rows::Located;
use super::visit::waive;
use crate::core::insight::curate::Finding;
use crate::core::log::Agent;
use crate::core::memory::FileKind;
use crate::core::memory::citation::Citation;
use crate::core::memory::library::Library;
use crate::core::memory::store::StoreId;
use crate::tui::action::Action;
use crate::tui::effect::{Effect, LibraryJob, Request};
use crate::tui::model::PaneContext;
use crate::tui::overlay::note::{NotePrompt, NotePurpose};
use crate::tui::pane::browse::tree::Key;
use crate::tui::pane::log::{LogPane, cited_log, keep};
use crate::tui::pane::why::WhyPane;
use crate::tui::pane::{
    Step, can_merge, edit_file, perform, plan, push, read_in_tree, reveal, say,
};
use crate::tui::widget::emphasis::MarkedWords;

/// The reason of a finding that is waived because its memory is pinned.
const PINNED: &str = "pinned: the memory stays as it is";

impl CuratePane {
    /// Plans the fixes of the chosen findings as one change.
    pub(super) fn fix(&self) -> Vec<Step> {
        let chosen = self.chosen();
        let open = chosen.iter().filter(|located| located.is_open());
        let fixable: Vec<&&Located> = open
            .filter(|located| located.finding.fix.is_some())
            .collect();
        if fixable.is_empty() {
            return say("This needs a decision: edit, delete or waive it");
        }
        let mut stores: BTreeMap<StoreId, Vec<Finding>> = BTreeMap::new();
        for located in &fixable {
            let findings = stores.entry(located.store.clone()).or_default();
            findings.push(located.finding.clone());
        }
        let request = Request::Fix(stores.into_iter().collect());
        plan(request)
    }

    /// Keeps the session that the finding is about.
    pub(super) fn keep_session(&self, cx: &PaneContext<'_>) -> Vec<Step> {
        let subject = self.selected().map(|located| &located.finding.subject);
        match subject.and_then(|subject| cited_log(cx.library, subject)) {
            Some((log, _)) => keep(&log.file),
            None => say("Go to a finding about a session to keep a copy of it"),
        }
    }

    /// Shows what wrote the line of the finding.
    pub(super) fn explain(&self) -> Vec<Step> {
        match self.selected() {
            Some(Located { store, finding }) => {
                let line = finding.line.map_or(0, |line| line.saturating_sub(1));
                WhyPane::open(store.clone(), finding.path.clone(), line)
            }
            None => say("Go to a finding to see what wrote its line"),
        }
    }

    pub(super) fn edit(&self, cx: &PaneContext<'_>) -> Vec<Step> {
        let Some(located) = self.selected() else {
            return say("Go to a finding to edit its memory");
        };
        let line = located.finding.line;
        match memory_key(located, cx.library) {
            Some(key) => vec![reveal(key, line, Some(Action::Edit))],
            None => edit_file(&located.store, &located.finding.path, line),
        }
    }

    /// Plans the deletion of the memories of the chosen findings as one change.
    pub(super) fn delete(&self, cx: &PaneContext<'_>) -> Vec<Step> {
        let mut stores: BTreeMap<StoreId, BTreeSet<String>> = BTreeMap::new();
        for located in self.chosen() {
            if let Some(Key::Memory(store, path)) = memory_key(located, cx.library) {
                stores.entry(store).or_default().insert(path);
            }
        }
        if stores.is_empty() {
            return say("The index is no memory: edit or fix it");
        }
        let stores = stores.into_iter();
        let stores = stores.map(|(store, paths)| (store, paths.into_iter().collect()));
        plan(Request::Delete(stores.collect()))
    }

    /// Merges the memories of the marked findings into the one under the cursor, or the memory of
    /// the finding with the others that its evidence names.
    pub(super) fn merge(&self, cx: &PaneContext<'_>) -> Vec<Step> {
        let mut memories: Vec<(StoreId, String)> = Vec::new();
        let mut add = |key: Option<Key>| match key {
            Some(Key::Memory(store, path))
                if can_merge(&store) && !memories.contains(&(store.clone(), path.clone())) =>
            {
                memories.push((store, path));
            }
            _ => {}
        };
        let marked = self.marked();
        if let Some(here) = self.selected()
            && (marked.is_empty() || marked.iter().any(|one| one.finding.id == here.finding.id))
        {
            add(memory_key(here, cx.library));
        }
        for located in &marked {
            add(memory_key(located, cx.library));
        }
        if let Some(here) = self.selected().filter(|_| marked.is_empty()) {
            for (store, path) in others_of(here, cx.library) {
                add(Some(Key::Memory(store, path)));
            }
        }
        if memories.len() < 2 {
            return say("No other memory is named here: mark the findings whose memories to merge");
        }
        let gather = LibraryJob::Gather(memories);
        perform(Effect::Library(gather))
    }

    /// Asks why the chosen findings are kept; opens them again if all are waived.
    pub(super) fn waive(&self) -> Vec<Step> {
        let chosen = self.chosen();
        let open = chosen.iter().filter(|located| located.is_open());
        let open: Vec<Finding> = open.map(|located| located.finding.clone()).collect();
        match open.as_slice() {
            [] => {
                let findings = chosen.iter().map(|located| located.finding.clone());
                waive(findings.collect(), None)
            }
            [one] => self.ask(one.message.clone(), open),
            several => self.ask(format!("{} findings", several.len()), open),
        }
    }

    fn ask(&self, about: String, findings: Vec<Finding>) -> Vec<Step> {
        let prompt = NotePrompt::new(about, NotePurpose::Waive(findings));
        push(prompt)
    }

    /// Waives everything about the memories of the chosen findings.
    pub(super) fn pin(&self) -> Vec<Step> {
        let chosen = self.chosen();
        let is_pinned = |located: &&Located| {
            located.is_open() && chosen.iter().any(|one| one.is_about_same(located))
        };
        let pinned = self.findings.iter().filter(is_pinned);
        let pinned: Vec<Finding> = pinned.map(|located| located.finding.clone()).collect();
        if pinned.is_empty() {
            say("Everything about it is waived")
        } else {
            waive(pinned, Some(PINNED.to_owned()))
        }
    }

    /// Opens the memory in the tree at the line, or without one the first message that is cited;
    /// leaving it comes back to the list.
    pub(super) fn open_memory(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        let Some(located) = self.selected() else {
            return Vec::new();
        };
        let Some(key) = memory_key(located, cx.library) else {
            let mut cited = located.finding.evidence.iter();
            let log = cited.find_map(|one| cited_log(cx.library, one.citation.as_ref()?));
            return match log {
                Some((log, start)) => LogPane::open(log, start),
                None => self.edit(cx),
            };
        };
        let finding = &located.finding;
        read_in_tree(key, finding.line, MarkedWords::new(finding.marks())).into()
    }

    /// Removes what a change has corrected, before the next check is finished.
    pub(super) fn forget(&mut self, request: &Request, cx: &PaneContext<'_>) {
        self.is_moved = true;
        match request {
            Request::Fix(stores) => {
                let findings = stores.iter().flat_map(|(_, findings)| findings);
                let ids: BTreeSet<&str> = findings.map(|one| one.id.as_str()).collect();
                let is_fixed = |located: &Located| ids.contains(located.finding.id.as_str());
                self.replace(|findings| findings.without(is_fixed), cx);
            }
            Request::Delete(stores) => {
                let is_deleted = |located: &Located| {
                    stores.iter().any(|(store, paths)| {
                        *store == located.store && paths.contains(&located.finding.path)
                    })
                };
                self.replace(|findings| findings.without(is_deleted), cx);
            }
            Request::Merge { others, .. } => {
                let is_merged = |located: &Located| {
                    others.iter().any(|(store, path, _)| {
                        *store == located.store && *path == located.finding.path
                    })
                };
                self.replace(|findings| findings.without(is_merged), cx);
            }
            _ => {}
        }
    }
}

/// Whether the evidence cites more than one file.
pub(super) fn names_another(located: &Located) -> bool {
    let citations = citations(located);
    let files: BTreeSet<(Option<&str>, &str)> = citations
        .iter()
        .map(|citation| (citation.store.as_deref(), citation.path.as_str()))
        .collect();
    files.len() > 1
}

fn citations(located: &Located) -> Vec<Citation> {
    let evidence = located.finding.evidence.iter();
    let texts = evidence.filter_map(|piece| piece.citation.as_ref());
    let all = texts.filter_map(|text| text.parse().ok());
    let of_session = |one: &Citation| one.store.as_deref().and_then(Agent::named).is_some();
    all.filter(|one| !of_session(one) || one.path.contains('.'))
        .collect()
}

/// The other memories that the evidence of a finding cites.
fn others_of(located: &Located, library: &Library) -> Vec<(StoreId, String)> {
    let mut others = Vec::new();
    for citation in citations(located) {
        let snapshot = citation
            .store
            .as_deref()
            .and_then(|name| library.store(name));
        let memory = snapshot.and_then(|snapshot| {
            let memory = snapshot.memory(&citation.path)?;
            Some((snapshot.store.id().clone(), memory.path.clone()))
        });
        let is_own = |(store, path): &(StoreId, String)| {
            *store == located.store && *path == located.finding.path
        };
        others.extend(memory.filter(|memory| !is_own(memory)));
    }
    others
}

/// The memory of a finding; `None` if it is about an index, or if the memory is gone.
fn memory_key(located: &Located, library: &Library) -> Option<Key> {
    let store = &located.store;
    let memory = library.store_by_id(store)?.memory(&located.finding.path)?;
    (memory.kind != FileKind::Index).then_some(())?;
    Some(Key::Memory(store.clone(), memory.path.clone()))
}
