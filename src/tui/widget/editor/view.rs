//! Drawing the editor: line numbers, highlighted text, selection, matches, cursor, prompt.

use ratatui::buffer::Buffer as Cells;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use super::screen::{ScreenRow, column_in};
use super::{Editor, TextPosition};
use crate::tui::cells;
use crate::tui::theme::{Role, Theme};

#[derive(Debug, Clone, Copy)]
pub(crate) struct EditorView<'a> {
    editor: &'a Editor,
    theme: &'a Theme,
}

impl Editor {
    /// Returns the editor as a widget, to draw in an area of the size given to [`Editor::resize`].
    pub(crate) fn view<'a>(&'a self, theme: &'a Theme) -> EditorView<'a> {
        EditorView {
            editor: self,
            theme,
        }
    }

    /// Returns the width of the line numbers, including the blanks around them.
    pub(crate) fn gutter(&self) -> u16 {
        let digits = self.lines().len().to_string().len().max(3);
        u16::try_from(digits + 2).unwrap_or(u16::MAX)
    }

    /// Returns the cell of the cursor when the editor is drawn in `area`; `None` if not visible.
    pub(crate) fn caret(&self, area: Rect) -> Option<Position> {
        if let Some(prompt) = &self.prompt {
            let label = u16::try_from(cells::width(prompt.words().0)).ok()?;
            let (_, column) = prompt
                .input
                .line(&Theme::default(), area.width.saturating_sub(label + 1));
            return Some(Position::new(
                area.x + 1 + label + column,
                area.bottom().saturating_sub(1),
            ));
        }
        let seen = self.screen.visible_rows(&self.buffer);
        let y = seen.iter().rposition(|seen| {
            seen.line == self.cursor.row && seen.row.range.start <= self.cursor.at
        })?;
        let seen = &seen[y];
        let line = &self.lines()[seen.line];
        let column = column_in(line, &seen.row, self.cursor.at);
        // Blanks at the end of a wrapped row extend past the edge, where the cursor then stays.
        let x = u16::try_from(column).ok()?.saturating_add(self.gutter());
        let x = area.x + x.min(area.width.saturating_sub(1));
        Some(Position::new(x, area.y + u16::try_from(y).ok()?))
    }
}

impl Widget for EditorView<'_> {
    fn render(self, area: Rect, cells: &mut Cells) {
        if area.is_empty() {
            return;
        }
        let seen = self.editor.screen.visible_rows(&self.editor.buffer);
        let lines = seen.chunk_by(|a, b| a.line == b.line);
        let mut y = area.top();
        for rows in lines {
            let layers = self.layers(rows[0].line);
            for row in rows.iter().take(usize::from(area.bottom() - y)) {
                let line = Rect::new(area.x, y, area.width, 1);
                self.row(row, &layers, line, cells);
                y += 1;
            }
        }
        self.prompt(area, cells);
    }
}

/// The first and the last byte of a part of a line, and its style.
type StyleLayer = (usize, usize, Style);

impl EditorView<'_> {
    fn row(&self, row: &ScreenRow, layers: &[StyleLayer], area: Rect, cells: &mut Cells) {
        let editor = self.editor;
        let is_current = row.line == editor.cursor.row;
        if is_current {
            cells.set_style(area, self.theme.style(Role::CursorLine));
        } else if editor
            .highlighter
            .as_ref()
            .is_some_and(|h| h.is_code(row.line))
        {
            cells.set_style(area, self.theme.style(Role::CodeBlock));
        }
        let gutter = editor.gutter();
        let number = match row.nth {
            0 => (row.line + 1).to_string(),
            _ => "·".to_owned(),
        };
        let role = if is_current {
            Role::GutterCurrent
        } else {
            Role::Gutter
        };
        let width = usize::from(gutter) - 2;
        let number = self.theme.span(format!("{number:>width$}"), role);
        cells.set_span(area.x, area.y, &number, gutter);
        let text = Rect {
            x: area.x + gutter.min(area.width),
            width: area.width.saturating_sub(gutter),
            ..area
        };
        self.text(row, layers, text, cells);
    }

    fn text(&self, seen: &ScreenRow, layers: &[StyleLayer], area: Rect, cells: &mut Cells) {
        let line = &self.editor.lines()[seen.line];
        let row = &seen.row;
        let left = row.column;
        let right = left + usize::from(area.width);
        let is_here = |(from, to, _): &&StyleLayer| *from < row.range.end && *to > row.range.start;
        let layers: Vec<&StyleLayer> = layers.iter().filter(is_here).collect();
        for cell in cells::cells_in(line, row.range.clone(), row.column) {
            if cell.column < left {
                continue;
            }
            if cell.column + cell.width > right {
                break;
            }
            let style = layers
                .iter()
                .filter(|(from, to, _)| (*from..*to).contains(&cell.at))
                .fold(Style::new(), |style, (_, _, layer)| style.patch(*layer));
            let x = area.x + u16::try_from(cell.column - left).unwrap_or(0);
            cells.set_stringn(x, area.y, cell.symbol(), cell.width, style);
        }
        // A selected newline is shown as a cell, so that a selected empty line is visible.
        let ends = row.range.end == line.len();
        let selected = self.editor.selection().is_some_and(|range| {
            (range.start..range.end).contains(&TextPosition::new(seen.line, line.len()))
        });
        if !ends || !selected {
            return;
        }
        let column = row.column + column_in(line, row, line.len());
        if (left..right).contains(&column) {
            let x = area.x + u16::try_from(column - left).unwrap_or(0);
            cells.set_style(
                Rect::new(x, area.y, 1, 1),
                self.theme.style(Role::Selection),
            );
        }
    }

    /// Returns the styles of a line by byte range, later ones over earlier ones.
    fn layers(&self, row: usize) -> Vec<StyleLayer> {
        let editor = self.editor;
        let line = &editor.lines()[row];
        let mut layers = Vec::new();
        if let Some(highlighter) = &editor.highlighter {
            layers.extend(highlighter.paints(row).iter().map(|paint| {
                (
                    paint.range.start,
                    paint.range.end,
                    self.theme.style(paint.role),
                )
            }));
        }
        if let Some(needle) = &editor.needle {
            layers.extend(needle.matches(line).map(|range| {
                let here = row == editor.cursor.row && range.start == editor.cursor.at;
                let role = if here {
                    Role::MatchCurrent
                } else {
                    Role::MatchLine
                };
                (range.start, range.end, self.theme.style(role))
            }));
        }
        if let Some(range) = editor.selection()
            && (range.start.row..=range.end.row).contains(&row)
        {
            let from = if range.start.row == row {
                range.start.at
            } else {
                0
            };
            let to = if range.end.row == row {
                range.end.at
            } else {
                line.len()
            };
            layers.push((from, to, self.theme.style(Role::Selection)));
        }
        layers
    }

    fn prompt(&self, area: Rect, cells: &mut Cells) {
        let Some(prompt) = &self.editor.prompt else {
            return;
        };
        let row = Rect {
            y: area.bottom() - 1,
            height: 1,
            ..area
        };
        for x in row.left()..row.right() {
            cells[(x, row.y)].reset();
        }
        let (label, keys) = prompt.words();
        let mut line = Line::from(vec![Span::raw(" "), self.theme.span(label, Role::Accent)]);
        let width = u16::try_from(line.width()).unwrap_or(0);
        let (input, _) = prompt
            .input
            .line(self.theme, row.width.saturating_sub(width));
        line.extend(input);
        let taken = line.width();
        (&line).render(row, cells);
        let room = usize::from(row.width).saturating_sub(taken + 3);
        if keys.len() <= room {
            let x = row.right() - u16::try_from(keys.len() + 1).unwrap_or(0);
            let keys = self.theme.span(keys, Role::Muted);
            cells.set_span(x, row.y, &keys, row.width);
        }
    }
}
