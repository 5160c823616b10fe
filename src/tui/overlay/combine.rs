//! Memories that become one, one after the other: each place where two differ is taken from the one
//! that stays, from the other, from both or from neither. The result is edited before it is saved.

use crate::core::change::combine::{Combination, Take};
use crate::core::memory::stem;
use crate::core::memory::unsaved::Unsaved;
use crate::tui::effect::SaveKind;
use crate::tui::model::{MergeTask, PaneContext};
use crate::tui::pane::editor::EditorPane;
use crate::tui::widget::merge::{Choice, Merge};

#[derive(Debug)]
pub(super) struct Combining {
    task: MergeTask,
    /// The body of what was combined so far.
    body: String,
    /// The index in `task.texts.bodies` of the body that is combined with it.
    next: usize,
    combination: Combination,
}

impl Combining {
    /// Returns it with the places of the first two memories.
    pub(super) fn new(task: MergeTask) -> (Self, Merge) {
        let body = task.texts.bodies.first().cloned().unwrap_or_default();
        let (combination, places) = compared(&task, &body, 1);
        let combining = Self {
            task,
            body,
            next: 1,
            combination,
        };
        (combining, places)
    }

    /// Takes the choices; returns the places of the next memory, if there is another.
    pub(super) fn take(&mut self, choices: Vec<Choice>) -> Option<Merge> {
        let takes: Vec<Take> = choices.into_iter().map(take).collect();
        self.body = self.combination.text(&takes);
        self.next += 1;
        if self.next >= self.task.texts.bodies.len() {
            return None;
        }
        let (combination, places) = compared(&self.task, &self.body, self.next);
        self.combination = combination;
        Some(places)
    }

    /// Returns an editor with the result.
    pub(super) fn editor(&self, cx: &PaneContext<'_>) -> EditorPane {
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
        EditorPane::open(text, 0, cx).saving(kind)
    }

    /// Says which memories are merged.
    pub(super) fn title(&self) -> String {
        let which = match self.task.others.len() {
            1 => String::new(),
            others => format!(" {} of {others}", self.next),
        };
        format!("merge{which} into {}", self.task.into.1)
    }
}

/// Compares a body with the one at `next` of the task's bodies.
fn compared(task: &MergeTask, body: &str, next: usize) -> (Combination, Merge) {
    let other = task.texts.bodies.get(next).map_or("", String::as_str);
    let combination = Combination::new(task.texts.layout, body, other);
    // The first body is that of the memory that stays, which is not among the others.
    let path = next.checked_sub(1).and_then(|at| task.others.get(at));
    let path = path.map_or("", |(_, path)| path.as_str());
    let names = [stem(&task.into.1).to_owned(), stem(path).to_owned()];
    let places = Merge::of_memories(combination.parts(), names);
    (combination, places)
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
