//! The rows of the context: a row for each piece, and below it remarks about its limit and its
//! cut.

use std::path::PathBuf;

use crate::core::insight::context::AgentContext;

/// A row, with the number of its piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Row {
    Piece(usize),
    /// How much of the agent's limit the piece uses.
    Limit(usize),
    /// What of the piece is not sent.
    Cut(usize),
}

impl Row {
    pub(super) fn piece(&self) -> usize {
        let (Self::Piece(at) | Self::Limit(at) | Self::Cut(at)) = self;
        *at
    }
}

/// Returns the rows of a context.
pub(super) fn rows(context: &AgentContext) -> Vec<Row> {
    let mut rows = Vec::new();
    for (at, piece) in context.pieces.iter().enumerate() {
        rows.push(Row::Piece(at));
        rows.extend(piece.limit.map(|_| Row::Limit(at)));
        rows.extend(piece.cut.as_ref().map(|_| Row::Cut(at)));
    }
    rows
}

/// Returns what stays the same about each row when the context is read again: the file, which of
/// its pieces it is, and what the row says.
pub(super) fn keys(context: &AgentContext) -> Vec<(PathBuf, usize, u8)> {
    let key = |row: Row| {
        let at = row.piece();
        let path = &context.pieces[at].path;
        let before = context.pieces[..at].iter();
        let nth = before.filter(|piece| piece.path == *path).count();
        let what = match row {
            Row::Piece(_) => 0,
            Row::Limit(_) => 1,
            Row::Cut(_) => 2,
        };
        (path.clone(), nth, what)
    };
    rows(context).into_iter().map(key).collect()
}
