//! Editing a piece of what an agent loads. It goes on with the text that was left unsaved, which is
//! kept here.

use std::sync::Arc;

use super::BrowsePane;
use crate::core::insight::context::AgentContext;
use crate::core::memory::unsaved::Unsaved;
use crate::tui::model::PaneContext;
use crate::tui::pane::Step;
use crate::tui::pane::editor::EditorPane;

impl BrowsePane {
    /// Opens the editor with the file of a piece.
    pub(super) fn edit_piece(
        &mut self,
        (context, at): (&Arc<AgentContext>, usize),
        subject: &Unsaved,
        cx: &PaneContext<'_>,
    ) -> Vec<Step> {
        let Some(piece) = context.pieces.get(at) else {
            return Vec::new();
        };
        let editor = match self.take_unsaved(subject) {
            Some(left) => EditorPane::reopen(left, 0, cx),
            None => EditorPane::open(subject.clone(), 0, cx),
        };
        let (editor, ask) = editor.with_context(context, &piece.path);
        vec![Step::Push(Box::new(editor)), ask]
    }
}
