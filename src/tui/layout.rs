//! The areas of the screen, computed from its size and the arrangement.
//!
//! Computed when one of them changes; drawing and mouse handling only read the result.

use ratatui::layout::{Constraint, Layout, Margin, Position, Rect};

/// The maximum width of text that is comfortable to read, in columns.
pub(crate) const MEASURE: u16 = 88;

/// The minimum width for a preview beside the tree.
const WIDE: u16 = 100;

/// The minimum height for a preview below the tree.
const TALL: u16 = 22;

/// How the user divides the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Arrangement {
    /// Whether the preview is displayed beside or below the tree.
    pub(crate) preview: Visibility,
    /// Which of the two gets the keys.
    pub(crate) focus: Focus,
    /// Where the user has dragged the divider.
    pub(crate) divider: Divider,
}

impl Arrangement {
    /// Both parts, divided as usual.
    pub(crate) fn of(focus: Focus) -> Self {
        Self {
            focus,
            ..Self::default()
        }
    }
}

/// The position of the divider between tree and preview: the size of the tree's part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Divider {
    /// The width of the tree when they are side by side; `None` for the default.
    pub(crate) columns: Option<u16>,
    /// The height of the tree when the preview is below it; `None` for the default.
    pub(crate) rows: Option<u16>,
}

/// The minimum size of either part when dragging.
const LEAST_COLUMNS: u16 = 24;
const LEAST_ROWS: u16 = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Visibility {
    #[default]
    Shown,
    Hidden,
}

/// Which of the two parts gets the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Focus {
    #[default]
    Tree,
    Preview,
}

/// The parts of the screen. A hidden part has an empty area.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Areas {
    pub(crate) whole: Rect,
    pub(crate) title: Rect,
    /// Everything between the title line and the status line.
    pub(crate) body: Rect,
    pub(crate) tree: Rect,
    pub(crate) preview: Rect,
    pub(crate) status: Rect,
    /// Whether one pane has the whole screen.
    pub(crate) is_zoomed: bool,
}

impl Areas {
    pub(crate) fn of(whole: Rect, arrangement: Arrangement) -> Self {
        let [title, body, status] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Min(1),
            Constraint::Length(1),
        ])
        .areas(whole);
        let (tree, preview) = split(body, arrangement);
        Self {
            whole,
            title,
            body,
            tree,
            preview,
            status,
            is_zoomed: false,
        }
    }

    /// Returns the areas with one of the two parts on the whole screen.
    pub(crate) fn zoomed(self, part: Focus) -> Self {
        let (tree, preview) = match part {
            Focus::Tree => (self.body, Rect::default()),
            Focus::Preview => (Rect::default(), self.body),
        };
        Self {
            tree,
            preview,
            is_zoomed: true,
            ..self
        }
    }

    /// Whether a cell is on the divider between tree and preview.
    pub(crate) fn on_divider(&self, at: Position) -> bool {
        if self.tree.area() == 0 || self.preview.area() == 0 {
            return false;
        }
        let both = [self.tree, self.preview];
        if self.tree.y == self.preview.y {
            let edge = self.preview.x;
            (edge.saturating_sub(1)..=edge).contains(&at.x) && self.body.contains(at)
        } else {
            let edge = self.preview.y;
            (edge.saturating_sub(1)..=edge).contains(&at.y)
                && both.iter().any(|area| area.contains(at))
        }
    }

    /// Returns the divider after dragging it to a cell.
    pub(crate) fn dragged(&self, divider: Divider, to: Position) -> Divider {
        if self.tree.y == self.preview.y {
            Divider {
                columns: Some(to.x.saturating_sub(self.body.x)),
                ..divider
            }
        } else {
            Divider {
                rows: Some(to.y.saturating_sub(self.body.y)),
                ..divider
            }
        }
    }

    /// The rows of the tree, inside its border.
    pub(crate) fn tree_rows(&self) -> Rect {
        inside(self.tree)
    }

    /// The text of the preview: inside its border and margins, at most [`MEASURE`] wide.
    pub(crate) fn preview_text(&self) -> Rect {
        let mut text = inside(self.preview).inner(Margin::new(1, 0));
        text.width = text.width.min(MEASURE);
        text
    }
}

fn split(body: Rect, arrangement: Arrangement) -> (Rect, Rect) {
    let none = Rect::default();
    if arrangement.preview == Visibility::Shown && body.width >= WIDE {
        let tree = match arrangement.divider.columns {
            Some(columns) => columns.clamp(LEAST_COLUMNS, body.width - LEAST_COLUMNS),
            // What a comfortable preview does not need goes to the tree.
            None => (body.width * 2 / 5)
                .clamp(40, 64)
                .max(body.width.saturating_sub(MEASURE + 4).min(body.width / 2)),
        };
        let [tree, preview] =
            Layout::horizontal([Constraint::Length(tree), Constraint::Min(1)]).areas(body);
        return (tree, preview);
    }
    if arrangement.preview == Visibility::Shown && body.height + 2 >= TALL {
        let tree = match arrangement.divider.rows {
            Some(rows) => Constraint::Length(rows.clamp(LEAST_ROWS, body.height - LEAST_ROWS)),
            None => Constraint::Percentage(50),
        };
        let [tree, preview] = Layout::vertical([tree, Constraint::Min(1)]).areas(body);
        return (tree, preview);
    }
    match arrangement.focus {
        Focus::Tree => (body, none),
        Focus::Preview => (none, body),
    }
}

/// Returns the inside of a bordered area.
pub(crate) fn inside(area: Rect) -> Rect {
    area.inner(Margin::new(1, 1))
}

/// Returns a centred area of this size, or smaller if the screen is too small. It is as wide as
/// the screen if only strips of the panes behind it would be left at its sides, and then as high
/// if only such strips would be left above and below it.
pub(crate) fn centred(whole: Rect, width: u16, height: u16) -> Rect {
    const STRIP: u16 = 5;
    const ROWS: u16 = 2;
    let width = if width.saturating_add(2 * STRIP) >= whole.width {
        whole.width
    } else {
        width
    };
    let most = whole.height.saturating_sub(2);
    let is_nearly_all = height.saturating_add(2 * ROWS) >= most;
    let height = if is_nearly_all && width == whole.width && height > most / 2 {
        most
    } else {
        height.min(most)
    };
    Rect {
        x: whole.x + (whole.width - width) / 2,
        y: whole.y + (whole.height - height) / 2,
        width,
        height,
    }
}

/// Returns a large centred area for reading a text.
pub(crate) fn reading_area(whole: Rect) -> Rect {
    let width = (whole.width * 9 / 10).min(110);
    let height = whole
        .height
        .saturating_sub(if whole.height > 30 { 6 } else { 2 });
    centred(whole, width, height)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn areas(width: u16, height: u16, focus: Focus) -> Areas {
        let arrangement = Arrangement {
            preview: Visibility::Shown,
            focus,
            divider: Divider::default(),
        };
        Areas::of(Rect::new(0, 0, width, height), arrangement)
    }

    #[test]
    fn the_preview_is_beside_below_or_a_key_away() {
        let wide = areas(120, 40, Focus::Tree);
        assert_eq!((wide.tree.width, wide.preview.width), (48, 72));
        let wider = areas(200, 60, Focus::Tree);
        assert_eq!((wider.tree.width, wider.preview.width), (100, 100));
        let narrow = areas(80, 24, Focus::Tree);
        assert_eq!(narrow.tree.height + narrow.preview.height, 22);
        assert_eq!(narrow.tree.width, 80);
        let small = areas(60, 16, Focus::Tree);
        assert_eq!(small.preview, Rect::default());
        let small = areas(60, 16, Focus::Preview);
        assert_eq!(small.tree, Rect::default());
        assert_eq!(small.preview.width, 60);
    }

    #[test]
    fn a_dialog_leaves_no_strips_of_what_is_behind_it() {
        let whole = Rect::new(0, 0, 80, 24);
        assert_eq!(centred(whole, 72, 10), Rect::new(0, 7, 80, 10));
        assert_eq!(centred(whole, 64, 10), Rect::new(8, 7, 64, 10));
        assert_eq!(centred(whole, 200, 60), Rect::new(0, 1, 80, 22));
    }

    #[test]
    fn nothing_is_outside_of_the_screen() {
        for width in [1, 2, 10, 59, 60, 99, 100, 300] {
            for height in [1, 2, 3, 5, 16, 24, 90] {
                let areas = areas(width, height, Focus::Preview);
                for part in [
                    areas.title,
                    areas.tree,
                    areas.preview,
                    areas.status,
                    areas.preview_text(),
                    centred(areas.whole, 60, 10),
                    reading_area(areas.whole),
                ] {
                    let inside = part.intersection(areas.whole);
                    assert!(part.area() == 0 || inside == part, "{width}×{height}");
                }
            }
        }
    }

    #[test]
    fn a_dialog_leaves_no_strips_above_and_below_it() {
        let small = Rect::new(0, 0, 80, 24);
        assert_eq!(
            centred(small, 72, 20),
            Rect::new(0, 1, 80, 22),
            "nearly all"
        );
        assert_eq!(centred(small, 72, 6), Rect::new(0, 9, 80, 6), "a few rows");
        assert_eq!(
            centred(small, 60, 20),
            Rect::new(10, 2, 60, 20),
            "room beside it"
        );
        let large = Rect::new(0, 0, 200, 60);
        assert_eq!(centred(large, 104, 20), Rect::new(48, 20, 104, 20));
    }
}
