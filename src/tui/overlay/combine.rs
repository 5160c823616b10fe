//! The dialog in which memories become one: where they differ, each place is taken from the one
//! that stays, from the other, from both or from neither. The result is edited before it is saved.

use ratatui::Frame;
use ratatui::crossterm::event::MouseEvent;

use super::merge::{MergePlaces, undecided};
use crate::core::change::combine::{Combination, Take};
use crate::core::memory::stem;
use crate::core::memory::unsaved::Unsaved;
use crate::tui::action::Action;
use crate::tui::chrome::Dialog;
use crate::tui::effect::SaveKind;
use crate::tui::keymap::KeyContext;
use crate::tui::model::{MergeTask, PaneContext};
use crate::tui::pane::editor::EditorPane;
use crate::tui::pane::{Pane, Step};
use crate::tui::widget::merge::{Choice, Merge};

/// Combines the texts, one memory after the other.
#[derive(Debug)]
pub(crate) struct CombineDialog {
    task: MergeTask,
    /// The body of what was combined so far.
    body: String,
    /// The index in `task.texts.bodies` of the body that is combined with it.
    next: usize,
    combination: Combination,
    places: MergePlaces,
}

impl CombineDialog {
    pub(crate) fn new(task: MergeTask) -> Self {
        let body = task.texts.bodies.first().cloned().unwrap_or_default();
        let (combination, places) = compared(&task, &body, 1);
        Self {
            task,
            body,
            next: 1,
            combination,
            places,
        }
    }

    /// Takes the choices; then shows the next memory, or the result in the editor.
    fn confirm(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        let Some(choices) = self.places.widget.choices() else {
            return undecided();
        };
        let takes: Vec<Take> = choices.into_iter().map(take).collect();
        self.body = self.combination.text(&takes);
        self.next += 1;
        if self.next < self.task.texts.bodies.len() {
            (self.combination, self.places) = compared(&self.task, &self.body, self.next);
            return Vec::new();
        }
        let (store, path) = &self.task.into;
        let text = Unsaved {
            root: store.root().to_owned(),
            layout: store.layout(),
            path: path.clone(),
            base: Some(self.task.texts.base.clone()),
            text: self.task.texts.text(&self.body),
            time: cx.now,
        };
        let kind = SaveKind::Merge(self.task.merged_away());
        let editor = EditorPane::open(text, 0, cx).saving(kind);
        vec![Step::Close, Step::Push(Box::new(editor))]
    }
}

/// Compares a body with the one at `next` of the task's bodies.
fn compared(task: &MergeTask, body: &str, next: usize) -> (Combination, MergePlaces) {
    let other = task.texts.bodies.get(next).map_or("", String::as_str);
    let combination = Combination::new(task.texts.layout, body, other);
    // The first body is that of the memory that stays, which is not among the others.
    let path = next.checked_sub(1).and_then(|at| task.others.get(at));
    let path = path.map_or("", |(_, path)| path.as_str());
    let names = [stem(&task.into.1).to_owned(), stem(path).to_owned()];
    let widget = Merge::of_memories(combination.parts(), names);
    (combination, MergePlaces::new(widget, KeyContext::Combine))
}

fn take(choice: Choice) -> Take {
    match choice {
        Choice::Mine => Take::Left,
        Choice::Theirs => Take::Right,
        Choice::Both => Take::Both,
        // Two memories have no base, so nothing is taken.
        Choice::Base => Take::Neither,
    }
}

impl Pane for CombineDialog {
    fn key_context(&self) -> KeyContext {
        KeyContext::Combine
    }

    fn act(&mut self, action: Action, cx: &PaneContext<'_>) -> Option<Vec<Step>> {
        self.places.act(action, cx);
        Some(match action {
            Action::Open => {
                let steps = self.confirm(cx);
                self.places.reveal(cx);
                steps
            }
            Action::Back => vec![Step::Close],
            _ => Vec::new(),
        })
    }

    fn mouse(&mut self, mouse: MouseEvent, cx: &PaneContext<'_>) -> Vec<Step> {
        self.places.mouse(mouse, cx);
        Vec::new()
    }

    fn resize(&mut self, cx: &PaneContext<'_>) {
        self.places.reveal(cx);
    }

    fn dialog(&self, cx: &PaneContext<'_>) -> Option<Dialog> {
        let which = match self.task.others.len() {
            1 => String::new(),
            others => format!(" {} of {others}", self.next),
        };
        let left = match self.places.widget.open() {
            0 => "everything is decided".to_owned(),
            open => format!("{open} to decide"),
        };
        let title = format!("merge{which} into {} · {left}", self.task.into.1);
        Some(self.places.dialog(title, cx))
    }

    fn view(&self, frame: &mut Frame<'_>, cx: &PaneContext<'_>) {
        self.places.draw(frame, cx);
    }
}
