//! Dialogs: panes drawn over the others until they are closed.

pub(crate) mod chooser;
mod combine;
pub(crate) mod form;
pub(crate) mod help;
pub(crate) mod merge;
pub(crate) mod note;
pub(crate) mod palette;
pub(crate) mod prompt;
pub(crate) mod reader;
pub(crate) mod recover;
pub(crate) mod review;

use ratatui::layout::Rect;

use super::action::Action;
use super::widget::list::Move;

/// The lines by which an action scrolls a text in a dialog; `None` for any other action.
fn scrolled_lines(action: Action, area: Rect) -> Option<isize> {
    Some(Move::of(action)?.lines(area.height.saturating_sub(3)))
}

/// Scrolls a text of so many lines in a dialog, at most to its last screen.
fn scroll_text(scroll: &mut usize, by: isize, lines: usize, area: Rect) {
    let most = lines.saturating_sub(usize::from(area.height.saturating_sub(2)));
    *scroll = scroll.saturating_add_signed(by).min(most);
}
