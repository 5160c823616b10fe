//! Which actions the row under the cursor offers, and listing in the index what it leaves out.

use super::BrowsePane;
use super::tree::Key;
use crate::core::change::ChangeRequest;
use crate::core::memory::layout::IndexUpdate;
use crate::tui::action::Action;
use crate::tui::effect::Request;
use crate::tui::layout::Focus;
use crate::tui::pane::{Step, Toast};

impl BrowsePane {
    /// Adds the memories to the store's index that it does not name.
    pub(super) fn list_in_index(&self) -> Vec<Step> {
        let Some(snapshot) = self.selected_store() else {
            return vec![Step::Toast(Toast::done("Go to a store, or into one"))];
        };
        if snapshot.unlisted.is_empty() {
            return vec![Step::Toast(Toast::done("Its index leaves nothing out"))];
        }
        vec![Step::Plan(Box::new(Request::Change {
            store: snapshot.store.id().clone(),
            change_request: ChangeRequest::Index(IndexUpdate::Repair),
        }))]
    }

    /// Whether an action can be run on the row under the cursor.
    pub(super) fn can_run(&self, action: Action) -> bool {
        match action {
            Action::Edit => match self.selected() {
                Some(Key::Memory(..) | Key::Entry(..)) => true,
                Some(Key::Store(_)) => self.selected_store().is_some_and(|s| s.index.is_some()),
                _ => false,
            },
            Action::Delete => !self.marks.is_empty() || self.selected_memory().is_some(),
            Action::Rename | Action::Duplicate => self.selected_memory().is_some(),
            Action::Resume => self.selected_log().is_some(),
            Action::Review => !self.to_review.is_empty(),
            Action::Why => self.selected_memory().is_some() || self.selected_log().is_some(),
            Action::ListInIndex => self
                .selected_store()
                .is_some_and(|s| !s.unlisted.is_empty()),
            Action::Open | Action::NextLink if self.focus == Focus::Preview => {
                self.selected_log().is_some() || self.preview.page.links() > 0
            }
            _ => true,
        }
    }
}
