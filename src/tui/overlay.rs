//! Dialogs: panes drawn over the others until they are closed.

pub(crate) mod chooser;
pub(crate) mod combine;
pub(crate) mod form;
pub(crate) mod help;
pub(crate) mod merge;
pub(crate) mod note;
pub(crate) mod palette;
pub(crate) mod prompt;
pub(crate) mod reader;
pub(crate) mod recover;
pub(crate) mod review;

use ratatui::crossterm::event::{MouseEvent, MouseEventKind};
use ratatui::layout::Rect;

use super::action::Action;
use super::model::PaneContext;
use super::pane::Step;

/// A dialog with a text that scrolls.
trait ScrolledDialog {
    /// Its area, with the border.
    fn area(&self, cx: &PaneContext<'_>) -> Rect;

    /// Scrolls by so many lines.
    fn scroll_by(&mut self, lines: isize, cx: &PaneContext<'_>) -> Vec<Step>;

    /// Carries out an action that scrolls; `None` for any other.
    fn movement(&mut self, action: Action, cx: &PaneContext<'_>) -> Option<Vec<Step>> {
        let page = isize::try_from(self.area(cx).height.saturating_sub(3)).unwrap_or(1);
        let lines = match action {
            Action::Up => -1,
            Action::Down => 1,
            Action::PageUp => -page,
            Action::PageDown => page,
            Action::Top => isize::MIN,
            Action::Bottom => isize::MAX,
            _ => return None,
        };
        Some(self.scroll_by(lines, cx))
    }

    /// Scrolls by the wheel.
    fn wheel(&mut self, mouse: MouseEvent, cx: &PaneContext<'_>) -> Vec<Step> {
        match mouse.kind {
            MouseEventKind::ScrollDown => self.scroll_by(3, cx),
            MouseEventKind::ScrollUp => self.scroll_by(-3, cx),
            _ => Vec::new(),
        }
    }
}

/// Scrolls a text of so many lines in a dialog, at most to its last screen.
fn scroll_text(scroll: &mut usize, by: isize, lines: usize, area: Rect) {
    let most = lines.saturating_sub(usize::from(area.height.saturating_sub(2)));
    *scroll = scroll.saturating_add_signed(by).min(most);
}
