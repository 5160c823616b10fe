//! The findings of the rules, worst first, with their evidence, and what is done about them.
//!
//! The memories are checked by a worker, rule by rule, when the pane opens and whenever a store
//! changes. Until a later check is finished, the findings of the one before stay.

mod decide;
mod rows;
mod view;
mod visit;

use std::collections::BTreeSet;
use std::sync::Arc;

use ratatui::Frame;
use ratatui::crossterm::event::MouseEvent;

use self::decide::names_another;
use self::rows::{FindingRow, Findings, Group, Located, Shown};
use self::visit::Visit;
use super::list_text::{ListWithText, Parts};
use super::{Pane, Step, push, say, say_range, say_trouble};
use crate::core::memory::library::{Library, StoreSnapshot};
use crate::tui::action::Action;
use crate::tui::chrome::count;
use crate::tui::effect::{CurateJob, Effect, UndoDirection};
use crate::tui::event::{CurateStep, Event};
use crate::tui::keymap::KeyContext;
use crate::tui::layout::{Arrangement, Focus};
use crate::tui::model::PaneContext;
use crate::tui::widget::filter::RowFilter;
use crate::tui::widget::list::{List, Move, Row as _};

/// The list of findings, and the evidence of the selected one.
#[derive(Debug, Default)]
pub(crate) struct CuratePane {
    findings: Findings,
    shown: Shown,
    list: List<FindingRow>,
    /// Whether a check was finished.
    is_loaded: bool,
    /// The generation of the newest check.
    generation: u64,
    /// How many of how many rules the running check has done; `None` when none is running.
    progress: Option<(usize, usize)>,
    /// What a later check has found so far.
    found: Vec<Located>,
    /// The stores that the newest check is about.
    stores: Vec<Arc<StoreSnapshot>>,
    is_moved: bool,
    /// The first visible line of the evidence.
    scroll: usize,
    visit: Visit,
}

impl CuratePane {
    pub(crate) fn open() -> Vec<Step> {
        push(Self::default())
    }

    /// Starts a check of the current stores.
    fn check(&mut self, cx: &PaneContext<'_>) -> Step {
        // The time tells the checks of two visits apart.
        let now = u64::try_from(cx.now).unwrap_or(0);
        self.generation = now.max(self.generation + 1);
        self.progress = Some((0, 0));
        self.found.clear();
        // What a check that did not end had found is found again.
        if !self.is_loaded {
            self.findings = Findings::default();
        }
        self.stores.clone_from(&cx.library.stores);
        Step::Effect(Effect::Curate(CurateJob {
            generation: self.generation,
        }))
    }

    /// Starts a check if a store has changed since the last one.
    fn check_changed(&mut self, library: &Library, cx: &PaneContext<'_>) -> Vec<Step> {
        let same = |(a, b): (&Arc<StoreSnapshot>, &Arc<StoreSnapshot>)| Arc::ptr_eq(a, b);
        let is_same = library.stores.len() == self.stores.len()
            && library.stores.iter().zip(&self.stores).all(same);
        if is_same {
            Vec::new()
        } else {
            vec![self.check(cx)]
        }
    }

    /// The finding under the cursor.
    fn selected(&self) -> Option<&Located> {
        match self.list.selected()? {
            FindingRow::Finding { at, .. } => self.findings.get(*at),
            FindingRow::Heading { .. } => None,
        }
    }

    /// The findings of a group that are listed or folded.
    fn group(&self, group: &Group) -> impl Iterator<Item = &Located> {
        let findings = self.findings.iter();
        findings.filter(move |one| self.shown.group(one) == *group && self.shown.lists(one))
    }

    /// The marked findings, or else the one under the cursor, or all below its heading.
    fn chosen(&self) -> Vec<&Located> {
        let marked = self.marked();
        match self.list.selected() {
            _ if !marked.is_empty() => marked,
            Some(FindingRow::Heading { group, .. }) => self.group(group).collect(),
            _ => self.selected().into_iter().collect(),
        }
    }

    /// Takes a check's next step.
    fn curated(&mut self, step: &CurateStep, cx: &PaneContext<'_>) -> Vec<Step> {
        match step {
            CurateStep::Found { findings, done, of } => {
                self.progress = Some((*done, *of));
                let located = findings.iter().map(|(store, finding)| Located {
                    store: store.clone(),
                    finding: finding.clone(),
                });
                if self.is_loaded {
                    self.found.extend(located);
                } else if !findings.is_empty() {
                    // The first check fills the list as it goes.
                    self.replace(|findings| findings.with(located), cx);
                }
                Vec::new()
            }
            CurateStep::Finished(Ok(())) => {
                self.progress = None;
                if std::mem::replace(&mut self.is_loaded, true) {
                    let found = std::mem::take(&mut self.found);
                    self.replace(|_| Findings::new(found), cx);
                }
                Vec::new()
            }
            CurateStep::Finished(Err(error)) => {
                self.progress = None;
                self.is_loaded = true;
                say_trouble(error.to_string())
            }
        }
    }

    /// Shows other findings, with the cursor on the same one, or on its neighbour.
    fn replace(&mut self, make: impl FnOnce(Findings) -> Findings, cx: &PaneContext<'_>) {
        self.findings = make(std::mem::take(&mut self.findings));
        let ids = self.findings.iter().map(|located| &located.finding.id);
        let ids: BTreeSet<&String> = ids.collect();
        self.list.marks.retain(|id| ids.contains(id));
        self.lay_out(cx);
    }

    /// Makes the rows again, with the cursor on the same finding, or on its neighbour.
    fn lay_out(&mut self, cx: &PaneContext<'_>) {
        let was = self.list.selected().cloned();
        if !self.is_moved {
            // A cursor that was never moved stays on the worst finding.
            self.list = List::default();
        }
        let height = Parts::of(cx).height();
        self.list.replace(self.findings.rows(&self.shown), height);
        let is_heading = |row: &FindingRow| row.is_heading();
        if !was.as_ref().is_some_and(is_heading) && self.list.selected().is_some_and(is_heading) {
            let at = self.list.position();
            let rows = self.list.rows();
            let is_finding = |at: &usize| rows.get(*at).is_some_and(|row| !row.is_heading());
            let near = [at + 1, at.wrapping_sub(1)].into_iter().find(is_finding);
            self.list.select(near.unwrap_or(at), Move::Down);
            self.list.fit(height);
        }
        if !matches!((was, self.list.selected()), (Some(was), Some(is)) if is.is_same(&was)) {
            self.scroll = 0;
        }
        self.scroll_by(0, cx);
    }

    /// Folds the group of the row under the cursor, or unfolds it.
    fn fold(&mut self, is_folded: bool, cx: &PaneContext<'_>) -> Vec<Step> {
        let Some(group) = self.list.selected().map(|row| row.group().clone()) else {
            return Vec::new();
        };
        self.is_moved = true;
        let is_heading = |row: &FindingRow| row.is_heading() && *row.group() == group;
        if is_folded && let Some(at) = self.list.rows().iter().position(is_heading) {
            self.list.select(at, Move::Down);
        }
        if is_folded {
            self.shown.folded.insert(group)
        } else {
            self.shown.folded.remove(&group)
        };
        let rows = self.findings.rows(&self.shown);
        self.list.replace(rows, Parts::of(cx).height());
        self.scroll = 0;
        Vec::new()
    }

    /// Folds the group of the heading under the cursor if it is unfolded, or unfolds it.
    fn toggle_fold(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        let group = self.list.selected().map(FindingRow::group);
        let is_folded = group.is_some_and(|group| self.shown.folded.contains(group));
        self.fold(!is_folded, cx)
    }

    /// Groups by file instead of by rule, or the other way round.
    fn regroup(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        self.shown.by_file = !self.shown.by_file;
        self.lay_out(cx);
        say(if self.shown.by_file {
            "Grouped by file"
        } else {
            "Grouped by rule"
        })
    }

    fn marked(&self) -> Vec<&Located> {
        let marked = self.list.marked();
        let is_marked = |located: &&Located| marked.contains(&located.finding.id);
        self.findings.iter().filter(is_marked).collect()
    }

    /// Carries out an action on the marks, of which a heading stands for all below it.
    fn act_on_marks(&mut self, action: Action, cx: &PaneContext<'_>) -> Option<Vec<Step>> {
        let ids = |findings: &mut dyn Iterator<Item = &Located>| -> Vec<String> {
            findings.map(|located| located.finding.id.clone()).collect()
        };
        let before = self.list.position();
        let is_range = match (action, self.list.selected()) {
            (Action::Mark, Some(FindingRow::Heading { group, .. })) => {
                let below = ids(&mut self.group(group));
                self.list.marks.toggle(below);
                false
            }
            (Action::MarkInvert, _) => {
                let shown = &self.shown;
                let listed = ids(&mut self.findings.iter().filter(|one| shown.lists(one)));
                self.list.marks.invert(listed);
                false
            }
            _ => self.list.act_on_marks(action, Parts::of(cx).height())?,
        };
        self.is_moved = true;
        if self.list.position() != before {
            self.scroll = 0;
        }
        Some(if is_range { say_range() } else { Vec::new() })
    }

    fn show_waived(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        let waived = self.findings.iter().filter(|located| !located.is_open());
        let waived = count(waived.count(), "waived finding", "waived findings");
        self.shown.waived = !self.shown.waived;
        self.lay_out(cx);
        let text = if self.shown.waived {
            format!("With {waived}")
        } else {
            format!("Without {waived}")
        };
        say(text)
    }
}

impl ListWithText for CuratePane {
    type Row = FindingRow;

    fn list(&mut self) -> &mut List<FindingRow> {
        &mut self.list
    }

    fn selected_other(&mut self, _cx: &PaneContext<'_>) -> Vec<Step> {
        self.scroll = 0;
        Vec::new()
    }

    fn moved(&mut self, to: Move, cx: &PaneContext<'_>) -> Vec<Step> {
        let before = self.list.position();
        self.list.step(to, Parts::of(cx).height());
        // The worst is a finding, not the heading above it.
        if to == Move::First && self.list.rows().get(1).is_some_and(|row| !row.is_heading()) {
            self.list.select(1, to);
        }
        self.is_moved = true;
        if self.list.position() != before {
            self.scroll = 0;
        }
        Vec::new()
    }

    /// Selects the row; a heading that is clicked again is folded or unfolded.
    fn row_clicked(&mut self, row: usize, cx: &PaneContext<'_>) -> Vec<Step> {
        let is_again = row == self.list.position() && self.is_moved;
        self.list.select(row, Move::Down);
        (self.is_moved, self.scroll) = (true, 0);
        match self.list.selected() {
            Some(FindingRow::Heading { .. }) if is_again => self.toggle_fold(cx),
            _ => Vec::new(),
        }
    }
}

impl Pane for CuratePane {
    fn key_context(&self) -> KeyContext {
        self.shown.filter.key_context(KeyContext::Curate)
    }

    fn scroll_by(&mut self, lines: isize, cx: &PaneContext<'_>) -> Vec<Step> {
        let count = self.lines(cx).len();
        Parts::of(cx).scroll(&mut self.scroll, lines, count);
        Vec::new()
    }

    fn act(&mut self, action: Action, cx: &PaneContext<'_>) -> Option<Vec<Step>> {
        if let Some(steps) = self.act_on_list(action, cx) {
            return Some(steps);
        }
        if let Some(steps) = self.act_on_marks(action, cx) {
            return Some(steps);
        }
        Some(match action {
            Action::Sort => self.regroup(cx),
            Action::Left => self.fold(true, cx),
            Action::Right => self.fold(false, cx),
            Action::Fix => self.fix(),
            Action::Edit => self.edit(cx),
            Action::Delete => self.delete(cx),
            Action::Merge => self.merge(cx),
            Action::Why => self.explain(),
            Action::Keep => self.keep_session(cx),
            Action::Waive => self.waive(),
            Action::Pin => self.pin(),
            Action::ShowWaived => self.show_waived(cx),
            Action::Open => match self.list.selected() {
                Some(FindingRow::Heading { .. }) => self.toggle_fold(cx),
                _ => self.open_memory(cx),
            },
            Action::Undo => self.visit.replay(UndoDirection::Undo),
            Action::Redo => self.visit.replay(UndoDirection::Redo),
            Action::Back => vec![Step::Close],
            _ => return None,
        })
    }

    fn filter(&mut self) -> Option<&mut RowFilter> {
        Some(&mut self.shown.filter)
    }

    fn filtered(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        self.lay_out(cx);
        Vec::new()
    }

    fn mouse(&mut self, mouse: MouseEvent, cx: &PaneContext<'_>) -> Vec<Step> {
        self.list_mouse(mouse, cx)
    }

    fn on_event(&mut self, event: &Event, cx: &PaneContext<'_>) -> Vec<Step> {
        match event {
            Event::Curated { generation, step } if *generation == self.generation => {
                self.curated(step, cx)
            }
            Event::Indexed(library) => self.check_changed(library, cx),
            Event::Kept(Ok(true)) => vec![self.check(cx)],
            Event::Committed {
                request,
                result: Ok(Some(record)),
            } => {
                self.forget(request, cx);
                self.visit.committed(request, record)
            }
            Event::Compared { id, result } => self.visit.compared(id, result),
            Event::Waived {
                job,
                result: Ok(waivers),
            } => {
                self.visit.waived(job);
                for (finding, waiver) in job.findings.iter().zip(waivers) {
                    self.findings.set_waived(&finding.id, waiver.clone());
                    self.list.marks.retain(|id| *id != finding.id);
                }
                self.lay_out(cx);
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    fn identity(&self) -> Option<String> {
        Some("curate".to_owned())
    }

    /// What was done is of one visit.
    fn rest(&mut self) {
        self.visit = Visit::default();
    }

    fn resume(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        if self.is_loaded && self.progress.is_none() {
            self.check_changed(cx.library, cx)
        } else {
            vec![self.check(cx)]
        }
    }

    fn resize(&mut self, cx: &PaneContext<'_>) {
        self.list.fit(Parts::of(cx).height());
        self.scroll_by(0, cx);
    }

    fn arrangement(&self) -> Option<Arrangement> {
        Some(Arrangement::of(Focus::Tree))
    }

    fn title(&self, _cx: &PaneContext<'_>) -> Option<String> {
        Some("curate".to_owned())
    }

    fn facts(&self) -> Option<String> {
        let open: Vec<&Located> = self.findings.iter().filter(|one| one.is_open()).collect();
        let fixable = open.iter().filter(|located| located.finding.fix.is_some());
        let mut facts = Vec::new();
        facts.extend(match self.progress {
            Some((0, _)) => Some("reading".to_owned()),
            Some((done, of)) => Some(format!("{done} of {of} rules")),
            None => None,
        });
        facts.push(count(open.len(), "finding", "findings"));
        facts.push(format!("{} fixable", fixable.count()));
        facts.extend(self.visit.freed());
        Some(facts.join(" · "))
    }

    fn offers(&self, action: Action) -> bool {
        let has = |test: fn(&Located) -> bool| self.chosen().into_iter().any(test);
        match action {
            Action::Keep => {
                let here = self.selected();
                here.is_some_and(|located| located.finding.rule == "swept-soon")
            }
            Action::Fix => has(|located| located.is_open() && located.finding.fix.is_some()),
            Action::Edit | Action::Why => self.selected().is_some(),
            Action::Down | Action::Mark => !self.list.rows().is_empty(),
            Action::Merge => !self.list.marked().is_empty() || has(names_another),
            Action::Delete | Action::Waive | Action::Pin | Action::Open => has(|_| true),
            _ => true,
        }
    }

    fn is_fullscreen(&self) -> bool {
        true
    }

    fn view(&self, frame: &mut Frame<'_>, cx: &PaneContext<'_>) {
        self.draw(frame, cx);
    }
}
