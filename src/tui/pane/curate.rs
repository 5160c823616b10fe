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
use self::rows::{FindingList, Located, Row, RowKey, Shown};
use self::visit::Visit;
use super::list_text::{ListWithText, list_height};
use super::{Handled, Pane, Step, Toast};
use crate::core::memory::library::{Library, StoreSnapshot};
use crate::tui::action::Action;
use crate::tui::chrome::count;
use crate::tui::effect::{CurateJob, Effect, UndoDirection};
use crate::tui::event::{CurateStep, Event};
use crate::tui::keymap::KeyContext;
use crate::tui::layout::{Arrangement, Divider, Focus, Visibility};
use crate::tui::model::PaneContext;
use crate::tui::widget::list::{Cursor, Move};

/// The list of findings, and the evidence of the selected one.
#[derive(Debug)]
pub(crate) struct CuratePane {
    list: FindingList,
    shown: Shown,
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
    cursor: Cursor,
    /// Whether the user has moved the cursor.
    is_moved: bool,
    /// The ids of the marked findings.
    marks: BTreeSet<String>,
    /// The first visible line of the evidence.
    scroll: usize,
    /// Whether the pane is set aside and sees no events.
    is_parked: bool,
    visit: Visit,
}

impl CuratePane {
    /// Opens the pane and starts a check.
    pub(crate) fn open(cx: &PaneContext<'_>) -> Vec<Step> {
        let mut pane = Self {
            list: FindingList::default(),
            shown: Shown::default(),
            is_loaded: false,
            generation: 0,
            progress: None,
            found: Vec::new(),
            stores: Vec::new(),
            cursor: Cursor::default(),
            is_moved: false,
            marks: BTreeSet::new(),
            scroll: 0,
            is_parked: false,
            visit: Visit::default(),
        };
        let check = pane.check(cx);
        vec![Step::Push(Box::new(pane)), check]
    }

    /// Starts a check of the current stores.
    fn check(&mut self, cx: &PaneContext<'_>) -> Step {
        // The time tells the checks of two visits apart.
        let now = u64::try_from(cx.now).unwrap_or(0);
        self.generation = now.max(self.generation + 1);
        self.progress = Some((0, 0));
        self.found.clear();
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

    fn row(&self) -> Option<Row> {
        self.list.rows.get(self.cursor.selected).copied()
    }

    /// The finding under the cursor.
    fn selected(&self) -> Option<&Located> {
        match self.row()? {
            Row::Finding(at) => self.list.get(at),
            Row::Heading { .. } => None,
        }
    }

    /// The findings of a rule that are listed or folded.
    fn group(&self, rule: &'static str) -> impl Iterator<Item = &Located> {
        self.list.iter().filter(move |located| {
            located.finding.rule == rule && (self.shown.waived || located.is_open())
        })
    }

    /// The marked findings, or else the one under the cursor, or all below its heading.
    fn chosen(&self) -> Vec<&Located> {
        let is_marked = |located: &&Located| self.marks.contains(&located.finding.id);
        let marked: Vec<&Located> = self.list.iter().filter(is_marked).collect();
        match (marked.is_empty(), self.row()) {
            (false, _) => marked,
            (true, Some(Row::Heading { rule, .. })) => self.group(rule).collect(),
            (true, _) => self.selected().into_iter().collect(),
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
                match self.is_loaded {
                    true => self.found.extend(located),
                    // The first check fills the list as it goes.
                    false if findings.is_empty() => {}
                    false => {
                        let more = located.collect();
                        self.replace(|list, shown| list.with(more, shown), cx);
                    }
                }
                Vec::new()
            }
            CurateStep::Finished(Ok(())) => {
                self.progress = None;
                if std::mem::replace(&mut self.is_loaded, true) {
                    let found = std::mem::take(&mut self.found);
                    self.replace(|_, shown| FindingList::new(found, shown), cx);
                }
                Vec::new()
            }
            CurateStep::Finished(Err(error)) => {
                self.progress = None;
                self.is_loaded = true;
                vec![Step::Toast(Toast::trouble(error.to_string()))]
            }
        }
    }

    /// Shows another list, with the cursor on the same finding, or on its neighbour.
    fn replace(
        &mut self,
        make: impl FnOnce(FindingList, &Shown) -> FindingList,
        cx: &PaneContext<'_>,
    ) {
        let before = self.list.keys();
        self.list = make(std::mem::take(&mut self.list), &self.shown);
        let is_there = |id: &String| self.list.iter().any(|other| other.finding.id == *id);
        let marks: BTreeSet<String> = self
            .marks
            .iter()
            .filter(|id| is_there(id))
            .cloned()
            .collect();
        self.marks = marks;
        self.follow(&before, cx);
    }

    /// Makes the rows again, with the cursor on the same finding, or on its neighbour.
    fn lay_out(&mut self, cx: &PaneContext<'_>) {
        let before = self.list.keys();
        self.list.lay_out(&self.shown);
        self.follow(&before, cx);
    }

    /// Places the cursor after the rows have changed.
    fn follow(&mut self, before: &[RowKey], cx: &PaneContext<'_>) {
        let was = before.get(self.cursor.selected).cloned();
        let after = self.list.keys();
        if self.is_moved {
            self.cursor.follow(before, &after);
        } else {
            // Until then it stays on the worst finding.
            self.cursor = Cursor::default();
        }
        let was_finding = was.as_ref().is_none_or(|key| key.1.is_some());
        let is_heading = matches!(self.row(), Some(Row::Heading { .. }));
        if was_finding && is_heading {
            let at = self.cursor.selected;
            let is_finding = |at: &usize| matches!(self.list.rows.get(*at), Some(Row::Finding(_)));
            let near = [at + 1, at.wrapping_sub(1)].into_iter().find(is_finding);
            self.cursor.selected = near.unwrap_or(at);
        }
        self.cursor.fit(list_height(cx), self.list.rows.len());
        if was.as_ref() != after.get(self.cursor.selected) {
            self.scroll = 0;
        }
        self.scroll_by(0, cx);
    }

    /// Folds the group of the row under the cursor, or unfolds it.
    fn fold(&mut self, is_folded: bool, cx: &PaneContext<'_>) -> Vec<Step> {
        let rule = match self.row() {
            Some(Row::Heading { rule, .. }) => rule,
            Some(Row::Finding(at)) => match self.list.get(at) {
                Some(located) => located.finding.rule,
                None => return Vec::new(),
            },
            None => return Vec::new(),
        };
        self.is_moved = true;
        if is_folded {
            self.shown.folded.insert(rule)
        } else {
            self.shown.folded.remove(rule)
        };
        self.list.lay_out(&self.shown);
        let is_heading =
            |row: &Row| matches!(row, Row::Heading { rule: other, .. } if *other == rule);
        let heading = self.list.rows.iter().position(is_heading);
        if is_folded && let Some(at) = heading {
            self.cursor.selected = at;
        }
        self.scroll = 0;
        self.cursor.fit(list_height(cx), self.list.rows.len());
        Vec::new()
    }

    /// Marks the finding under the cursor, or a whole group; or takes the mark away.
    fn mark(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        self.is_moved = true;
        match self.row() {
            Some(Row::Heading { rule, .. }) => {
                let ids = self.group(rule).map(|located| located.finding.id.clone());
                let ids: Vec<String> = ids.collect();
                if ids.iter().all(|id| self.marks.contains(id)) {
                    self.marks.retain(|id| !ids.contains(id));
                } else {
                    self.marks.extend(ids);
                }
                Vec::new()
            }
            Some(Row::Finding(_)) => {
                let id = self.selected().map(|located| located.finding.id.clone());
                let id = id.unwrap_or_default();
                if !self.marks.remove(&id) {
                    self.marks.insert(id);
                }
                self.moved(Move::Down, cx)
            }
            None => Vec::new(),
        }
    }

    fn invert_marks(&mut self) -> Vec<Step> {
        let listed = self.list.iter();
        let listed = listed.filter(|located| self.shown.waived || located.is_open());
        let ids = listed.map(|located| located.finding.id.clone());
        let unmarked = ids.filter(|id| !self.marks.contains(id));
        self.marks = unmarked.collect();
        Vec::new()
    }

    fn show_waived(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        let waived = self.list.iter().filter(|located| !located.is_open());
        let waived = count(waived.count(), "waived finding", "waived findings");
        self.shown.waived = !self.shown.waived;
        self.lay_out(cx);
        let text = if self.shown.waived {
            format!("With {waived}")
        } else {
            format!("Without {waived}")
        };
        vec![Step::Toast(Toast::done(text))]
    }

    fn back(&mut self) -> Vec<Step> {
        if self.marks.is_empty() {
            vec![Step::Close]
        } else {
            self.marks.clear();
            Vec::new()
        }
    }
}

impl ListWithText for CuratePane {
    fn cursor(&self) -> Cursor {
        self.cursor
    }

    fn rows(&self) -> usize {
        self.list.rows.len()
    }

    fn text_lines(&self, cx: &PaneContext<'_>) -> usize {
        self.lines(cx).len()
    }

    fn scroll(&mut self) -> &mut usize {
        &mut self.scroll
    }

    fn moved(&mut self, to: Move, cx: &PaneContext<'_>) -> Vec<Step> {
        let before = self.cursor.selected;
        self.cursor.step(to, list_height(cx), self.list.rows.len());
        // The worst is a finding, not the heading above it.
        if to == Move::First && matches!(self.list.rows.get(1), Some(Row::Finding(_))) {
            self.cursor.selected = 1;
        }
        self.is_moved = true;
        if self.cursor.selected != before {
            self.scroll = 0;
        }
        Vec::new()
    }

    /// Selects the row; a heading that is clicked again is folded or unfolded.
    fn row_clicked(&mut self, row: usize, cx: &PaneContext<'_>) -> Vec<Step> {
        let is_again = row == self.cursor.selected && self.is_moved;
        self.cursor.selected = row;
        (self.is_moved, self.scroll) = (true, 0);
        match self.row() {
            Some(Row::Heading { rule, .. }) if is_again => {
                self.fold(!self.shown.folded.contains(rule), cx)
            }
            _ => Vec::new(),
        }
    }
}

impl Pane for CuratePane {
    fn key_context(&self) -> KeyContext {
        KeyContext::Curate
    }

    fn act(&mut self, action: Action, cx: &PaneContext<'_>) -> Handled {
        if let Some(steps) = self.movement(action, cx) {
            return Handled::Used(steps);
        }
        Handled::Used(match action {
            Action::Left => self.fold(true, cx),
            Action::Right => self.fold(false, cx),
            Action::Mark => self.mark(cx),
            Action::MarkInvert => self.invert_marks(),
            Action::MarkNone => {
                self.marks.clear();
                Vec::new()
            }
            Action::Fix => self.fix(),
            Action::Edit => self.edit(cx),
            Action::Delete => self.delete(cx),
            Action::Merge => self.merge(cx),
            Action::Waive => self.waive(),
            Action::Pin => self.pin(),
            Action::ShowWaived => self.show_waived(cx),
            Action::Open => match self.row() {
                Some(Row::Heading { rule, .. }) => self.fold(!self.shown.folded.contains(rule), cx),
                _ => self.open_memory(cx),
            },
            Action::Undo => self.visit.replay(UndoDirection::Undo),
            Action::Redo => self.visit.replay(UndoDirection::Redo),
            Action::Back => self.back(),
            _ => return Handled::Unused,
        })
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
            // What happened while the pane was set aside was not seen.
            Event::SearchSourcesChanged if std::mem::take(&mut self.is_parked) => {
                match self.progress {
                    Some(_) => vec![self.check(cx)],
                    None => self.check_changed(cx.library, cx),
                }
            }
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
                    self.list.set_waived(&finding.id, waiver.clone());
                    self.marks.remove(&finding.id);
                }
                self.lay_out(cx);
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    fn resize(&mut self, cx: &PaneContext<'_>) {
        self.cursor.fit(list_height(cx), self.list.rows.len());
    }

    fn arrangement(&self) -> Option<Arrangement> {
        Some(Arrangement {
            preview: Visibility::Shown,
            focus: Focus::Tree,
            divider: Divider::default(),
        })
    }

    fn title(&self, _cx: &PaneContext<'_>) -> Option<String> {
        Some("curate".to_owned())
    }

    fn facts(&self) -> Option<String> {
        let open: Vec<&Located> = self.list.iter().filter(|one| one.is_open()).collect();
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
            Action::Fix => has(|located| located.is_open() && located.finding.fix.is_some()),
            Action::Edit => self.selected().is_some(),
            Action::Down | Action::Mark => !self.list.rows.is_empty(),
            Action::Merge => !self.marks.is_empty() || has(names_another),
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
