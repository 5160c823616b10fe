//! A list, and with it the text of its selected row: the movement, the mouse and the drawing of the
//! panes that are divided like that (review, curate, context, history).

use ratatui::Frame;
use ratatui::crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Margin, Position, Rect};
use ratatui::text::Line;
use ratatui::widgets::Block;

use super::{Pane, Step};
use crate::tui::action::Action;
use crate::tui::chrome::{KeyFocus, bordered, draw_lines, shown_lines, title_span};
use crate::tui::layout::inside;
use crate::tui::model::PaneContext;
use crate::tui::theme::{Role, Theme};
use crate::tui::widget::filter::RowFilter;
use crate::tui::widget::list::{List, Move, Row, WHEEL};

/// The two parts of such a pane, with their borders.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parts {
    pub(super) list: Rect,
    pub(super) text: Rect,
}

impl Parts {
    /// The usual parts: those of the tree and the preview.
    pub(super) fn of(cx: &PaneContext<'_>) -> Self {
        Self {
            list: cx.areas.tree,
            text: cx.areas.preview,
        }
    }

    /// The rows of the list, inside its border.
    pub(super) fn rows(&self) -> Rect {
        inside(self.list)
    }

    /// The number of rows that are visible, at least one.
    pub(super) fn height(&self) -> usize {
        usize::from(self.rows().height).max(1)
    }

    /// The text, inside its border and margins.
    pub(super) fn inner_text(&self) -> Rect {
        inside(self.text).inner(Margin::new(1, 0))
    }

    /// Scrolls a text of so many lines, at most to its last screen.
    pub(super) fn scroll(&self, scroll: &mut usize, by: isize, lines: usize) {
        let last = lines.saturating_sub(usize::from(self.inner_text().height));
        *scroll = scroll.saturating_add_signed(by).min(last);
    }
}

/// The border of a list, with its title and what it is filtered by.
pub(super) fn list_border(
    keys: KeyFocus,
    title: &str,
    filter: &RowFilter,
    area: Rect,
    theme: &Theme,
) -> Block<'static> {
    let block = bordered(theme, keys).title(title_span(theme, title));
    match filter.title(" filter ❯ ", theme, area.width / 2) {
        Some(filter) => block.title(filter.right_aligned()),
        None => block,
    }
}

/// The text of a row, with what its border says.
pub(super) struct RowText {
    pub(super) title: String,
    /// A remark at the right end of the border.
    pub(super) remark: String,
    pub(super) keys: KeyFocus,
    pub(super) lines: Vec<Line<'static>>,
    pub(super) scroll: usize,
}

impl RowText {
    pub(super) fn draw(self, frame: &mut Frame<'_>, parts: Parts, cx: &PaneContext<'_>) {
        let theme = cx.theme;
        let text = parts.inner_text();
        let remark = theme.span(self.remark, Role::Muted);
        let mut block = bordered(theme, self.keys)
            .title(title_span(theme, &self.title))
            .title(Line::from(remark).right_aligned());
        if let Some(place) = shown_lines(self.scroll, text.height, self.lines.len(), theme) {
            block = block.title_bottom(place);
        }
        frame.render_widget(block, parts.text);
        draw_lines(frame, text, self.lines.into_iter().skip(self.scroll));
    }
}

/// A pane with a list and the text of the selected row.
pub(super) trait ListWithText: Pane {
    type Row: Row;

    fn list(&mut self) -> &mut List<Self::Row>;

    /// Shows the text of the selected row, which is another one than before.
    fn selected_other(&mut self, cx: &PaneContext<'_>) -> Vec<Step>;

    fn parts(cx: &PaneContext<'_>) -> Parts {
        Parts::of(cx)
    }

    fn moved(&mut self, to: Move, cx: &PaneContext<'_>) -> Vec<Step> {
        if self.list().step(to, Self::parts(cx).height()) {
            self.selected_other(cx)
        } else {
            Vec::new()
        }
    }

    fn wheeled(&mut self, to: Move, cx: &PaneContext<'_>) -> Vec<Step> {
        self.moved(to, cx)
    }

    fn row_clicked(&mut self, row: usize, cx: &PaneContext<'_>) -> Vec<Step> {
        self.list().select(row, Move::Down);
        self.selected_other(cx)
    }

    fn text_clicked(&mut self, _at: Position, _cx: &PaneContext<'_>) -> Vec<Step> {
        Vec::new()
    }

    /// Carries out an action on the list, its text or its filter; `None` for any other.
    fn act_on_list(&mut self, action: Action, cx: &PaneContext<'_>) -> Option<Vec<Step>> {
        Some(match Move::of(action) {
            Some(to @ (Move::Up | Move::Down | Move::First | Move::Last)) => self.moved(to, cx),
            Some(page) => {
                let height = Self::parts(cx).inner_text().height;
                self.scroll_by(page.lines(height.saturating_sub(1)), cx)
            }
            None => return self.act_on_filter(action, cx),
        })
    }

    /// Handles the mouse: the wheel scrolls what it is over, a click selects.
    fn list_mouse(&mut self, mouse: MouseEvent, cx: &PaneContext<'_>) -> Vec<Step> {
        let at = Position::new(mouse.column, mouse.row);
        let parts = Self::parts(cx);
        let is_over_text = parts.text.contains(at);
        match mouse.kind {
            MouseEventKind::ScrollDown if is_over_text => self.scroll_by(WHEEL, cx),
            MouseEventKind::ScrollUp if is_over_text => self.scroll_by(-WHEEL, cx),
            MouseEventKind::ScrollDown => self.wheeled(Move::Down, cx),
            MouseEventKind::ScrollUp => self.wheeled(Move::Up, cx),
            MouseEventKind::Down(MouseButton::Left) if is_over_text => self.text_clicked(at, cx),
            MouseEventKind::Down(MouseButton::Left) => match self.list().row_at(at, parts.rows()) {
                Some(row) => self.row_clicked(row, cx),
                None => Vec::new(),
            },
            _ => Vec::new(),
        }
    }
}
