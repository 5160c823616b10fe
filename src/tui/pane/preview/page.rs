//! The text of the preview, laid out for a width: rendered, or as it is written.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::{Mode, Sheet};
use crate::tui::cells::{self, visible};
use crate::tui::highlight::{Highlighter, Language};
use crate::tui::pane::Scene;
use crate::tui::theme::Role;
use crate::tui::widget::emphasis::Words;
use crate::tui::widget::markdown::{Look, Rendered, render};

/// The most lines that the source view shows; more is for the editor.
const MOST_LINES: usize = 5_000;

/// Lines, and the links in them.
#[derive(Debug, Default)]
pub(crate) struct Page {
    rendered: Rendered,
}

impl Page {
    /// Lays a sheet out, with words marked in it.
    pub(crate) fn of(sheet: &Sheet, mode: Mode, words: &Words, scene: &Scene<'_>) -> Self {
        let width = usize::from(scene.areas.preview_text().width);
        if width == 0 {
            return Self::default();
        }
        let mut rendered = match mode {
            Mode::Source => source(&sheet.source, scene, width),
            Mode::Rendered => rendered(sheet, scene, width),
        };
        if !words.is_empty() {
            let style = scene.theme.style(Role::MatchLine);
            let lines = std::mem::take(&mut rendered.lines).into_iter();
            rendered.lines = lines.map(|line| words.mark(line, style)).collect();
        }
        Self { rendered }
    }

    /// The line that shows line `source`, from 0, of the sheet's text.
    pub(crate) fn line_of(&self, source: usize) -> usize {
        self.rendered.line_of(source)
    }
    /// How many lines there are.
    pub(crate) fn height(&self) -> usize {
        self.rendered.lines.len()
    }

    /// How many links there are.
    pub(crate) fn links(&self) -> usize {
        self.rendered.links.len()
    }

    /// The line of a link.
    pub(crate) fn link_line(&self, link: usize) -> usize {
        self.rendered.links.get(link).map_or(0, |spot| spot.line)
    }

    /// Where a link leads.
    pub(crate) fn link_target(&self, link: usize) -> &str {
        let spot = self.rendered.links.get(link);
        spot.map_or("", |spot| spot.target.as_str())
    }

    /// The link at a cell of the text.
    pub(crate) fn link_at(&self, line: usize, column: u16) -> Option<usize> {
        let column = usize::from(column);
        self.rendered
            .links
            .iter()
            .position(|spot| spot.line == line && spot.columns.contains(&column))
    }

    /// Draws what is at `scroll`, with the selected link marked.
    pub(crate) fn view(
        &self,
        frame: &mut Frame<'_>,
        (area, scroll): (Rect, usize),
        link: Option<usize>,
        scene: &Scene<'_>,
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
        let style = scene.theme.style(Role::MatchCurrent);
        frame
            .buffer_mut()
            .set_style(marked.intersection(area), style);
    }
}

/// The text as it reads, below what is said of it.
fn rendered(sheet: &Sheet, scene: &Scene<'_>, width: usize) -> Rendered {
    let look = Look {
        theme: scene.theme,
        syntaxes: scene.syntaxes,
        width,
    };
    let mut rendered = head(sheet, scene, look);
    let body = render(&sheet.text, 0..sheet.text.len(), look);
    if !rendered.lines.is_empty() && !body.lines.is_empty() {
        rendered.lines.push(Line::default());
        rendered.source.push(0);
    }
    rendered.append(body);
    rendered
}

/// What is said of a text above it.
fn head(sheet: &Sheet, scene: &Scene<'_>, look: Look<'_>) -> Rendered {
    let theme = scene.theme;
    let mut head = Rendered::default();
    if !sheet.summary.is_empty() {
        head.append(render(&sheet.summary, 0..sheet.summary.len(), look));
        for line in &mut head.lines {
            *line = std::mem::take(line).patch_style(theme.style(Role::Emphasis));
        }
        // A description is a sentence, not a place to go from.
        head.links.clear();
    }
    let told = [(&sheet.facts, Role::Muted)]
        .into_iter()
        .chain(sheet.problem.as_ref().map(|problem| (problem, Role::Warn)))
        .filter(|(text, _)| !text.is_empty());
    for (text, role) in told {
        let text = cells::cut(text, look.width);
        head.lines
            .push(Line::from(Span::styled(text, theme.style(role))));
        head.source.push(0);
    }
    head
}

/// The lines as they are written, numbered and coloured; long ones go on below.
fn source(text: &str, scene: &Scene<'_>, width: usize) -> Rendered {
    const GUTTER: usize = 5;
    let theme = scene.theme;
    let lines: Vec<String> = text.lines().take(MOST_LINES).map(str::to_owned).collect();
    let syntaxes = std::sync::Arc::clone(scene.syntaxes);
    let mut colours = Highlighter::new(syntaxes, &Language::Markdown, lines.len());
    colours.parse(&lines, lines.len());
    let room = width.saturating_sub(GUTTER).max(8);
    let mut out = Rendered::default();
    for (row, line) in lines.iter().enumerate() {
        let number = Span::styled(format!("{:>3}  ", row + 1), theme.style(Role::Gutter));
        let mut spans = vec![number];
        let mut used = 0;
        for cell in cells::cells(line) {
            if used + cell.width > room {
                out.lines.push(Line::from(std::mem::take(&mut spans)));
                out.source.push(row);
                spans.push(Span::raw(" ".repeat(GUTTER)));
                used = 0;
            }
            let paints = colours.paints(row).iter();
            let roles: Vec<Role> = paints
                .filter(|paint| paint.range.contains(&cell.at))
                .map(|paint| paint.role)
                .collect();
            used += cell.width;
            spans.push(Span::styled(visible(&cell.symbol()), theme.over(&roles)));
        }
        out.lines.push(Line::from(spans));
        out.source.push(row);
    }
    out
}
