//! A drawn buffer as text with its styles named, for tests of the drawing.

use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;
use ratatui::widgets::Widget;
use unicode_width::UnicodeWidthStr;

use super::theme::{Role, Theme};

pub(crate) fn draw(widget: impl Widget, width: u16, height: u16) -> Buffer {
    let area = Rect::new(0, 0, width, height);
    let mut buffer = Buffer::empty(area);
    widget.render(area, &mut buffer);
    buffer
}

pub(crate) fn text(buffer: &Buffer) -> String {
    rows(buffer)
        .map(|row| {
            let line: String = row.iter().map(|cell| cell.symbol()).collect();
            line.trim_end().to_owned() + "\n"
        })
        .collect()
}

/// Returns the text of a buffer with every styled run named by its role, such as
/// `⟨accent⟩here⟨/⟩`. Of several roles with the same style, the first in the theme file is used.
pub(crate) fn styled(buffer: &Buffer, theme: &Theme) -> String {
    rows(buffer)
        .map(|row| {
            let cells = row
                .iter()
                .map(|cell| (cell.symbol().to_owned(), style_of(cell)));
            runs(cells, theme) + "\n"
        })
        .collect()
}

pub(crate) fn styled_lines(lines: &[Line<'_>], theme: &Theme) -> String {
    lines
        .iter()
        .map(|line| {
            let spans = line
                .spans
                .iter()
                .map(|span| (span.content.to_string(), line.style.patch(span.style)));
            runs(spans, theme) + "\n"
        })
        .collect()
}

fn rows(buffer: &Buffer) -> impl Iterator<Item = Vec<&Cell>> {
    let area = buffer.area;
    (area.top()..area.bottom()).map(move |y| {
        let mut row = Vec::new();
        let mut x = area.left();
        while x < area.right() {
            let cell = &buffer[(x, y)];
            row.push(cell);
            // Skip the cells that a wide character covers.
            x += u16::try_from(cell.symbol().width().max(1)).unwrap_or(1);
        }
        row
    })
}

fn style_of(cell: &Cell) -> Style {
    Style {
        fg: (cell.fg != ratatui::style::Color::Reset).then_some(cell.fg),
        bg: (cell.bg != ratatui::style::Color::Reset).then_some(cell.bg),
        underline_color: None,
        add_modifier: cell.modifier,
        sub_modifier: ratatui::style::Modifier::empty(),
    }
}

fn runs(cells: impl Iterator<Item = (String, Style)>, theme: &Theme) -> String {
    let mut out = String::new();
    let mut open = Style::new();
    for (symbol, style) in cells {
        if style != open {
            if open != Style::new() {
                out.push_str("⟨/⟩");
            }
            if style != Style::new() {
                out.push_str(&format!("⟨{}⟩", name(style, theme)));
            }
            open = style;
        }
        out.push_str(&symbol);
    }
    if open != Style::new() {
        out.push_str("⟨/⟩");
    }
    out.trim_end().to_owned()
}

/// The role with this style, or two roles combined; otherwise the parts of the style.
fn name(style: Style, theme: &Theme) -> String {
    let is = |style: Style| {
        Role::ALL
            .iter()
            .find(|role| theme.style(**role) == style)
            .map(|role| role.name().to_owned())
    };
    is(style)
        .or_else(|| {
            Role::ALL.iter().find_map(|under| {
                Role::ALL
                    .iter()
                    .find(|over| theme.over(&[*under, **over]) == style)
                    .map(|over| format!("{}+{}", under.name(), over.name()))
            })
        })
        .unwrap_or_else(|| {
            let mut parts = Vec::new();
            parts.extend(style.fg.map(|colour| colour.to_string().to_lowercase()));
            parts.extend(style.bg.map(|colour| format!("on {colour}").to_lowercase()));
            if !style.add_modifier.is_empty() {
                parts.push(format!("{:?}", style.add_modifier).to_lowercase());
            }
            parts.join(" ")
        })
}

#[cfg(test)]
mod tests {
    use ratatui::text::Span;

    use super::*;

    #[test]
    fn runs_are_named_by_role() {
        let theme = Theme::default();
        let line = Line::from(vec![
            Span::raw("a "),
            theme.span("한b", Role::Accent),
            Span::styled("c", theme.over(&[Role::Strong, Role::Warn])),
        ]);
        let buffer = draw(&line, 8, 1);
        assert_eq!(
            styled(&buffer, &theme),
            "a ⟨accent⟩한b⟨/⟩⟨title+warn⟩c⟨/⟩\n"
        );
        assert_eq!(text(&buffer), "a 한bc\n");
    }
}
