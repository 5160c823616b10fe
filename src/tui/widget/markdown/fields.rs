//! The header of a memory, shown above its text.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::flow::{Piece, wrap};
use super::{RenderOptions, Rendered};
use crate::core::memory::Memory;
use crate::core::text::display::{format_age, format_size};
use crate::tui::cells;
use crate::tui::theme::Role;

/// How much of the header is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderDetail {
    /// Everything, including name and type.
    Full,
    /// Without name and type, which the title of the pane shows.
    Brief,
}

/// Renders the header of a memory; `now` is in milliseconds since 1970.
pub fn fields(
    memory: &Memory,
    now: i64,
    head: HeaderDetail,
    options: RenderOptions<'_>,
) -> Rendered {
    let theme = options.theme;
    let width = options.measure();
    let mut lines: Vec<Line<'static>> = Vec::new();
    if head == HeaderDetail::Full {
        let badge = memory.category.as_deref().map(cells::escape_line);
        let taken = badge.as_deref().map_or(0, |badge| cells::width(badge) + 2);
        let title = cells::cut(&memory.title, width.saturating_sub(taken));
        let gap = width.saturating_sub(cells::width(&title) + taken.saturating_sub(2));
        let mut spans = vec![Span::styled(title, theme.style(Role::Heading))];
        if let Some(badge) = badge {
            spans.push(Span::raw(" ".repeat(gap)));
            spans.push(Span::styled(badge, theme.badge(memory.category.as_deref())));
        }
        lines.push(Line::from(spans));
    }
    let mut paragraph = |text: &str, style: Style| {
        if text.is_empty() {
            return;
        }
        let pieces = [Piece {
            text: cells::escape_line(text),
            style,
            link: None,
            at: 0,
        }];
        for row in wrap(&pieces, width) {
            let spans: Vec<Span<'static>> = row.iter().map(|part| part.span(&pieces)).collect();
            lines.push(Line::from(spans));
        }
    };
    paragraph(&memory.summary, theme.style(Role::Text));
    paragraph(&facts(memory, now), theme.style(Role::Muted));
    if let Some(problem) = &memory.problem {
        paragraph(&format!("▲ {problem}"), theme.style(Role::Warn));
    }
    lines.push(Line::default());
    Rendered {
        source: vec![0; lines.len()],
        lines,
        links: Vec::new(),
    }
}

fn facts(memory: &Memory, now: i64) -> String {
    let updated = match &memory.updated {
        Some(date) => format!("updated {date}"),
        None => match format_age(memory.modified, now).as_str() {
            "" => String::new(),
            "now" => "updated just now".to_owned(),
            age => format!("updated {age} ago"),
        },
    };
    let tags: Vec<String> = memory.tags.iter().map(|tag| format!("#{tag}")).collect();
    [
        updated,
        format_size(memory.size),
        memory.path.clone(),
        tags.join(" "),
    ]
    .into_iter()
    .filter(|part| !part.is_empty())
    .collect::<Vec<_>>()
    .join(" · ")
}
