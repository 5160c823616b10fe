//! The text of a preview, laid out for a width: rendered or as source.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::{PreviewContent, PreviewMode};
use crate::tui::cells::{self, escape_line};
use crate::tui::highlight::{Highlighter, Language, PaintedRoles};
use crate::tui::model::PaneContext;
use crate::tui::theme::Role;
use crate::tui::widget::emphasis::MarkedWords;
use crate::tui::widget::markdown::{RenderOptions, Rendered, beginning, render};

const MOST_LINES: usize = 5_000;

/// The lines of a text, and the links in them.
#[derive(Debug, Default)]
pub(crate) struct Page {
    rendered: Rendered,
}

impl Page {
    /// Lays out content, with words marked in it.
    pub(crate) fn of(
        content: &PreviewContent,
        mode: PreviewMode,
        words: &MarkedWords,
        cx: &PaneContext<'_>,
    ) -> Self {
        let width = usize::from(cx.areas.preview_text().width);
        if width == 0 {
            return Self::default();
        }
        let mut rendered = match mode {
            PreviewMode::Source => source(&content.source, cx, width),
            PreviewMode::Rendered => rendered(content, cx, width),
        };
        if !words.is_empty() {
            let style = cx.theme.style(Role::MatchLine);
            rendered.lines = words.mark(std::mem::take(&mut rendered.lines), style);
        }
        Self { rendered }
    }

    /// The row that shows line `source` of the content's text, counted from 0.
    pub(crate) fn line_of(&self, source: usize) -> usize {
        self.rendered.line_of(source)
    }

    /// The first of the rows that show line `source` of the content's text.
    pub(crate) fn first_row_of(&self, source: usize) -> usize {
        self.rendered.source.partition_point(|at| *at < source)
    }

    /// The line of the content's text that a row shows, counted from 0.
    pub(crate) fn source_of(&self, row: usize) -> usize {
        self.rendered.source.get(row).copied().unwrap_or(0)
    }

    /// The row with the match, of those that show line `source` of the content's text.
    pub(crate) fn match_line_of(&self, source: usize, words: &MarkedWords) -> usize {
        // A text that begins on these rows may be wrapped onto the next ones.
        const MORE: usize = 2;
        let last = self.line_of(source);
        let start = self.first_row_of(self.source_of(last)).min(last);
        let end = self.height().min(last + 1 + MORE);
        let lines = self.rendered.lines.get(start..end).unwrap_or_default();
        words.best_line(lines).map_or(last, |line| start + line)
    }

    /// The number of rows.
    pub(crate) fn height(&self) -> usize {
        self.rendered.lines.len()
    }

    pub(crate) fn links(&self) -> usize {
        self.rendered.links.len()
    }

    pub(crate) fn link_line(&self, link: usize) -> usize {
        self.rendered.links.get(link).map_or(0, |spot| spot.line)
    }

    pub(crate) fn link_on(&self, row: usize) -> Option<usize> {
        self.rendered.links.iter().position(|spot| spot.line == row)
    }

    pub(crate) fn link_target(&self, link: usize) -> &str {
        let spot = self.rendered.links.get(link);
        spot.map_or("", |spot| &*spot.target)
    }

    pub(crate) fn link_at(&self, line: usize, column: u16) -> Option<usize> {
        let column = usize::from(column);
        self.rendered
            .links
            .iter()
            .position(|spot| spot.line == line && spot.columns.contains(&column))
    }

    /// Draws the text from row `scroll` on, with the selected link marked.
    pub(crate) fn view(
        &self,
        frame: &mut Frame<'_>,
        area: Rect,
        scroll: usize,
        link: Option<usize>,
        cx: &PaneContext<'_>,
    ) {
        let lines = self.rendered.lines.iter().skip(scroll);
        for (line, y) in lines.zip(area.top()..area.bottom()) {
            frame.render_widget(line, Rect::new(area.x, y, area.width, 1));
        }
        let spot = link.and_then(|link| self.rendered.links.get(link));
        let Some(spot) = spot.filter(|spot| spot.line >= scroll) else {
            return;
        };
        let cell = |number: usize| u16::try_from(number).unwrap_or(u16::MAX);
        let marked = Rect {
            x: area.x.saturating_add(cell(spot.columns.start)),
            y: area.y.saturating_add(cell(spot.line - scroll)),
            width: cell(spot.columns.len()),
            height: 1,
        };
        let style = cx.theme.style(Role::MatchCurrent);
        frame
            .buffer_mut()
            .set_style(marked.intersection(area), style);
    }
}

/// Renders the Markdown text below its head.
fn rendered(content: &PreviewContent, cx: &PaneContext<'_>, width: usize) -> Rendered {
    let options = RenderOptions {
        theme: cx.theme,
        syntaxes: cx.syntaxes,
        width,
    };
    let mut rendered = head(content, cx, options);
    let body = render(&content.text, 0..content.text.len(), options);
    if !rendered.lines.is_empty() && !body.lines.is_empty() {
        rendered.lines.push(Line::default());
        rendered.source.push(0);
    }
    rendered.append(body);
    rendered
}

/// Renders the summary, facts and problem above the text.
fn head(content: &PreviewContent, cx: &PaneContext<'_>, options: RenderOptions<'_>) -> Rendered {
    let theme = cx.theme;
    let mut head = Rendered::default();
    if !content.summary.is_empty() {
        head.append(render(&content.summary, 0..content.summary.len(), options));
        for line in &mut head.lines {
            *line = std::mem::take(line).patch_style(theme.style(Role::Emphasis));
        }
        // Links in the description are not selectable.
        head.links.clear();
    }
    if !content.facts.is_empty() {
        let rows = cells::wrapped(&content.facts, options.width).into_iter();
        let rows = rows.map(|row| theme.line(row, Role::Muted));
        head.lines.extend(rows);
    }
    // What to do about a problem is at its end.
    let problem = content.problem.as_deref().unwrap_or_default();
    let warn = theme.style(Role::Warn);
    let rows = cells::styled_rows(&escape_line(problem), options.width, |_| warn);
    if !problem.is_empty() {
        head.lines.extend(rows.into_iter().map(Line::from));
    }
    head.source.resize(head.lines.len(), 0);
    head
}

/// Lays out the source with line numbers and highlighting; long lines are wrapped.
fn source(text: &str, cx: &PaneContext<'_>, width: usize) -> Rendered {
    const GUTTER: usize = 5;
    let theme = cx.theme;
    let (text, _) = beginning(text);
    let lines: Vec<String> = text.lines().take(MOST_LINES).map(str::to_owned).collect();
    let syntaxes = std::sync::Arc::clone(cx.syntaxes);
    let mut colours = Highlighter::new(syntaxes, &Language::Markdown, lines.len());
    colours.parse(&lines, lines.len());
    let viewport = width.saturating_sub(GUTTER).max(8);
    let mut out = Rendered::default();
    for (row, line) in lines.iter().enumerate() {
        let number = theme.span(format!("{:>3}  ", row + 1), Role::Gutter);
        let mut spans = vec![number];
        let mut used = 0;
        let mut is_row_start = true;
        let mut roles = PaintedRoles::new(colours.paints(row));
        for cell in cells::cells(line) {
            if used + cell.width > viewport {
                out.lines.push(Line::from(std::mem::take(&mut spans)));
                out.source.push(row);
                spans.push(Span::raw(" ".repeat(GUTTER)));
                used = 0;
                is_row_start = true;
            }
            used += cell.width;
            let style = theme.over(roles.at(cell.at));
            let symbol = escape_line(&cell.symbol());
            match spans.last_mut() {
                Some(span) if !is_row_start && span.style == style => {
                    span.content.to_mut().push_str(&symbol);
                }
                _ => spans.push(Span::styled(symbol, style)),
            }
            is_row_start = false;
        }
        out.lines.push(Line::from(spans));
        out.source.push(row);
    }
    out
}
