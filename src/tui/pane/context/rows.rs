//! The rows of the context: a row for each piece, and below it remarks about its limit and its
//! cut.

use std::path::PathBuf;

use crate::core::insight::context::AgentContext;
use crate::tui::widget::list::Row;

/// A row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ContextRow {
    /// The number of its piece.
    pub(super) piece: usize,
    pub(super) kind: RowKind,
    /// The file of the piece, and which of its pieces it is.
    path: PathBuf,
    nth: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowKind {
    Piece,
    /// How much of the agent's limit the piece uses.
    Limit,
    /// What of the piece is not sent.
    Cut,
}

impl Row for ContextRow {
    fn is_same(&self, other: &Self) -> bool {
        let key = |row: &Self| (row.kind, row.nth);
        key(self) == key(other) && self.path == other.path
    }

    fn is_passed(&self) -> bool {
        self.kind != RowKind::Piece
    }
}

/// Returns the rows of a context.
pub(super) fn rows(context: &AgentContext) -> Vec<ContextRow> {
    let mut rows = Vec::new();
    for (at, piece) in context.pieces.iter().enumerate() {
        let before = context.pieces[..at].iter();
        let nth = before.filter(|before| before.path == piece.path).count();
        let limit = piece.limit.map(|_| RowKind::Limit);
        let cut = piece.cut.as_ref().map(|_| RowKind::Cut);
        let kinds = [Some(RowKind::Piece), limit, cut].into_iter().flatten();
        rows.extend(kinds.map(|kind| ContextRow {
            piece: at,
            kind,
            path: piece.path.clone(),
            nth,
        }));
    }
    rows
}
