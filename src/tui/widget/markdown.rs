//! Renders Markdown for the preview of a memory.
//!
//! The result is lines, the links in them and the source line of each, so that the app can
//! scroll to a source line and follow links.
//!
//! The work and the result are linear in the text, whatever it contains: nested blocks are
//! indented up to half the width, tables have a limited number of columns, code is highlighted up
//! to a limit, and texts longer than [`MOST_RENDERED`] are cut.

mod block;
mod flow;
mod table;

use std::ops::Range;
use std::sync::Arc;

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use self::flow::{Piece, wrap};
use self::table::Table;
use crate::core::text::display::format_size;
use crate::tui::cells;
use crate::tui::highlight::{Syntaxes, address};
use crate::tui::theme::{Role, Theme};

/// The maximum width of text in columns, because longer lines are hard to read.
pub const MEASURE: usize = 88;

/// The number of bytes of a text that are rendered; a note stands for the rest.
pub const MOST_RENDERED: usize = 1 << 20;

/// A link in a rendered line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkSpot {
    /// The rendered line.
    pub line: usize,
    /// The columns in it.
    pub columns: Range<usize>,
    /// The target, as written.
    pub target: Arc<str>,
}

/// A rendered text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rendered {
    /// The lines to draw.
    pub lines: Vec<Line<'static>>,
    /// The links, in order.
    pub links: Vec<LinkSpot>,
    /// The source line of each line, from 0.
    pub source: Vec<usize>,
}

impl Rendered {
    /// Returns the rendered line that shows line `source` of the text.
    pub fn line_of(&self, source: usize) -> usize {
        self.source
            .partition_point(|at| *at <= source)
            .saturating_sub(1)
    }

    /// Appends `below`.
    pub fn append(&mut self, below: Self) {
        let shift = self.lines.len();
        self.lines.extend(below.lines);
        self.source.extend(below.source);
        self.links
            .extend(below.links.into_iter().map(|spot| LinkSpot {
                line: spot.line + shift,
                ..spot
            }));
    }
}

/// Options of rendering.
#[derive(Debug, Clone, Copy)]
pub struct RenderOptions<'a> {
    /// The theme.
    pub theme: &'a Theme,
    /// The grammars of code blocks.
    pub syntaxes: &'a Syntaxes,
    /// Width of the pane in columns.
    pub width: usize,
}

impl RenderOptions<'_> {
    fn measure(&self) -> usize {
        self.width.clamp(8, MEASURE)
    }
}

/// Renders the range `body` of `text` as Markdown.
pub fn render(text: &str, body: Range<usize>, options: RenderOptions<'_>) -> Rendered {
    let Some(markdown) = text.get(body.clone()) else {
        return Rendered::default();
    };
    let (markdown, left) = beginning(markdown);
    let starts: Vec<usize> = std::iter::once(0)
        .chain(memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1))
        .collect();
    let mut writer = Writer {
        options,
        starts,
        out: Rendered::default(),
        prefixes: Vec::new(),
        deeper: 0,
        code_left: MOST_HIGHLIGHTED,
        pieces: Vec::new(),
        styles: Vec::new(),
        targets: Vec::new(),
        link: None,
        lists: Vec::new(),
        gap: false,
        at: body.start,
        block: Block::Flow,
        table: None,
    };
    let parser_options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_WIKILINKS;
    for (event, range) in Parser::new_ext(markdown, parser_options).into_offset_iter() {
        writer.at = body.start + range.start;
        writer.event(event);
    }
    writer.flush();
    if left > 0 {
        let note = format!("… {} more are not shown", format_size(left as u64));
        let note = writer.options.theme.span(note, Role::Muted);
        writer.gap = true;
        writer.line(vec![note], body.start + markdown.len());
    }
    writer.out
}

/// Returns the part of a text that is rendered, which ends with a line if possible, and the number
/// of bytes that are left out.
pub(crate) fn beginning(text: &str) -> (&str, usize) {
    if text.len() <= MOST_RENDERED {
        return (text, 0);
    }
    let mut most = MOST_RENDERED;
    while !text.is_char_boundary(most) {
        most -= 1;
    }
    let end = text[..most].rfind('\n').map_or(most, |at| at + 1);
    (&text[..end], text.len() - end)
}

/// The number of bytes of code that are highlighted in a text.
const MOST_HIGHLIGHTED: usize = 100_000;

/// The prefix of the lines of a block.
#[derive(Debug, Clone)]
struct Prefix {
    first: Option<Span<'static>>,
    rest: Span<'static>,
}

/// The block that text is added to.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Block {
    Flow,
    Code {
        language: String,
        text: String,
        first: usize,
    },
    Html(String),
}

struct Writer<'a> {
    options: RenderOptions<'a>,
    /// The start of each line of the source, in bytes.
    starts: Vec<usize>,
    out: Rendered,
    prefixes: Vec<Prefix>,
    /// The number of open blocks that are nested too deeply to have a prefix.
    deeper: usize,
    /// How many more bytes of code are highlighted.
    code_left: usize,
    pieces: Vec<Piece>,
    /// The styles of the open elements, each with those around it.
    styles: Vec<Style>,
    targets: Vec<Arc<str>>,
    link: Option<usize>,
    lists: Vec<Option<u64>>,
    /// Whether an empty line precedes the next block.
    gap: bool,
    /// The position of the parser in the source, in bytes.
    at: usize,
    block: Block,
    table: Option<Table>,
}

impl Writer<'_> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.block {
                Block::Code { text: code, .. } => code.push_str(&text),
                Block::Html(html) => html.push_str(&text),
                Block::Flow => self.prose(&text),
            },
            Event::Code(code) => {
                let style = self.options.theme.style(Role::Code);
                self.piece(cells::escape_line(&code), style);
            }
            Event::Html(html) => match &mut self.block {
                Block::Html(all) => all.push_str(&html),
                _ => self.push(&html, self.options.theme.style(Role::Muted)),
            },
            Event::InlineHtml(html) if html.starts_with("<!--") => {}
            Event::InlineHtml(html) if matches!(&*html, "<br>" | "<br/>" | "<br />") => {
                self.pieces.push(Piece::line_break());
            }
            Event::InlineHtml(html) => self.push(&html, self.options.theme.style(Role::Muted)),
            Event::SoftBreak => self.push(" ", Style::new()),
            Event::HardBreak => self.pieces.push(Piece::line_break()),
            Event::Rule => self.rule(),
            Event::TaskListMarker(done) => self.task(done),
            Event::FootnoteReference(name) => {
                let style = self.options.theme.style(Role::Muted);
                self.push(&format!("[{name}]"), style);
            }
            Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.push(&text, self.options.theme.style(Role::Code));
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        let theme = self.options.theme;
        match tag {
            Tag::Paragraph | Tag::TableHead | Tag::TableRow | Tag::TableCell => {}
            Tag::Heading { level, .. } => {
                self.gap |= !self.out.lines.is_empty();
                self.style(heading(theme, level));
            }
            Tag::BlockQuote(_) => {
                self.flush();
                self.close_gap(self.source(self.at));
                let bar = theme.span("▏ ", Role::Rule);
                self.open_block(Prefix {
                    first: None,
                    rest: bar,
                });
                self.style(theme.style(Role::Quote));
            }
            Tag::CodeBlock(kind) => {
                self.flush();
                let is_fenced = kind.is_fenced();
                let language = match kind {
                    CodeBlockKind::Fenced(info) => info
                        .split([' ', ',', '{'])
                        .next()
                        .unwrap_or_default()
                        .to_owned(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.block = Block::Code {
                    // The opening fence is not a line of code.
                    first: usize::from(is_fenced),
                    language,
                    text: String::new(),
                };
            }
            Tag::HtmlBlock => {
                self.flush();
                self.block = Block::Html(String::new());
            }
            Tag::List(first) => {
                self.flush();
                self.lists.push(first);
            }
            Tag::Item => self.item(),
            Tag::FootnoteDefinition(name) => {
                self.flush();
                self.indent(format!("[{name}] "), Role::Muted);
            }
            Tag::Table(alignments) => {
                self.flush();
                self.table = Some(Table::new(alignments, self.at));
            }
            Tag::Emphasis => self.style(theme.style(Role::Emphasis)),
            Tag::Strong => self.style(theme.style(Role::Strong)),
            Tag::Strikethrough => self.style(theme.style(Role::Strike)),
            Tag::Link { dest_url, .. } => self.link(&dest_url),
            Tag::Image { dest_url, .. } => {
                self.link(&dest_url);
                self.push("▣ ", Style::new());
            }
            _ => self.style(Style::new()),
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => {
                self.flush();
                self.gap = true;
            }
            TagEnd::Heading(level) => {
                self.flush();
                self.styles.pop();
                // Only the title is followed by an empty line, not other headings.
                self.gap = level == HeadingLevel::H1;
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.close_block();
                self.styles.pop();
                self.gap = true;
            }
            TagEnd::CodeBlock => self.code(),
            TagEnd::HtmlBlock => self.html(),
            TagEnd::List(_) => {
                self.flush();
                self.lists.pop();
                self.gap |= self.lists.is_empty();
            }
            TagEnd::Item | TagEnd::FootnoteDefinition => {
                self.flush();
                self.close_block();
            }
            TagEnd::TableCell => {
                let pieces = std::mem::take(&mut self.pieces);
                if let Some(table) = &mut self.table {
                    table.cell(pieces);
                }
            }
            TagEnd::TableHead | TagEnd::TableRow => {
                let at = self.at;
                if let Some(table) = &mut self.table {
                    table.row(at);
                }
            }
            TagEnd::Table => self.table(),
            TagEnd::Link | TagEnd::Image => {
                self.link = None;
                self.styles.pop();
            }
            _ => {
                self.styles.pop();
            }
        }
    }

    /// Adds text, with its web addresses as links.
    fn prose(&mut self, text: &str) {
        let mut rest = text;
        while self.link.is_none()
            && let Some(start) = rest.find("http")
        {
            let (before, from) = rest.split_at(start);
            let Some(length) = address(from) else {
                let skipped = start + "http".len();
                self.push(&rest[..skipped], Style::new());
                rest = &rest[skipped..];
                continue;
            };
            self.push(before, Style::new());
            self.link(&from[..length]);
            self.push(&from[..length], Style::new());
            self.link = None;
            self.styles.pop();
            rest = &from[length..];
        }
        self.push(rest, Style::new());
    }

    fn push(&mut self, text: &str, style: Style) {
        self.piece(cells::escape_line(text), style);
    }

    fn piece(&mut self, text: String, style: Style) {
        let base = self.styles.last().copied().unwrap_or_default();
        self.pieces.push(Piece {
            text,
            style: base.patch(style),
            link: self.link,
            at: self.at,
        });
    }

    fn link(&mut self, target: &str) {
        self.link = Some(self.targets.len());
        self.targets.push(cells::escape_line(target).into());
        self.style(self.options.theme.style(Role::Link));
    }

    /// Adds the style of an element to those around it.
    fn style(&mut self, style: Style) {
        let around = self.styles.last().copied().unwrap_or_default();
        self.styles.push(around.patch(style));
    }

    /// Returns the source line that contains byte `at`.
    fn source(&self, at: usize) -> usize {
        self.starts.partition_point(|start| *start <= at).max(1) - 1
    }

    /// Writes the pending empty line, if there is one.
    fn close_gap(&mut self, source: usize) {
        if !std::mem::take(&mut self.gap) || self.out.lines.is_empty() {
            return;
        }
        let before = self.prefixes.iter().filter(|prefix| prefix.first.is_none());
        let spans: Vec<Span<'static>> = before.map(|prefix| prefix.rest.clone()).collect();
        let is_empty = spans.iter().all(|span| span.content.trim().is_empty());
        let spans = if is_empty { Vec::new() } else { spans };
        self.out.lines.push(Line::from(spans));
        self.out.source.push(source);
    }

    /// Writes a line with the prefixes of its blocks.
    fn line(&mut self, spans: Vec<Span<'static>>, at: usize) {
        let source = self.source(at);
        self.close_gap(source);
        let mut line: Vec<Span<'static>> = Vec::with_capacity(spans.len() + self.prefixes.len());
        for prefix in &mut self.prefixes {
            line.push(prefix.first.take().unwrap_or_else(|| prefix.rest.clone()));
        }
        line.extend(spans);
        self.out.lines.push(Line::from(line));
        self.out.source.push(source);
    }

    /// Writes the collected pieces as a paragraph.
    fn flush(&mut self) {
        let pieces = std::mem::take(&mut self.pieces);
        if pieces.iter().all(|piece| piece.text.trim().is_empty()) {
            return;
        }
        let indent = self.indent_width();
        for row in wrap(&pieces, self.available_width()) {
            let at = row.first().map_or(self.at, |part| pieces[part.piece].at);
            self.line(row.iter().map(|part| part.span(&pieces)).collect(), at);
            let line = self.out.lines.len() - 1;
            let spots = flow::spots(&row, &pieces, indent);
            self.spots(spots, line);
        }
    }

    fn spots(&mut self, spots: Vec<(usize, Range<usize>)>, line: usize) {
        for (link, columns) in spots {
            let target = Arc::clone(&self.targets[link]);
            self.out.links.push(LinkSpot {
                line,
                columns,
                target,
            });
        }
    }
}

fn heading(theme: &Theme, level: HeadingLevel) -> Style {
    theme.style(match level {
        HeadingLevel::H1 | HeadingLevel::H2 => Role::Heading,
        _ => Role::HeadingMinor,
    })
}

/// Returns the text of a line without its Markdown marks; a line of marks alone stays.
pub fn plain_line(line: &str) -> String {
    let mut text = String::new();
    for event in Parser::new(line.trim()) {
        match event {
            Event::Text(part) | Event::Code(part) | Event::Html(part) | Event::InlineHtml(part) => {
                text.push_str(&part);
            }
            Event::SoftBreak | Event::HardBreak => text.push(' '),
            _ => {}
        }
    }
    match text.trim() {
        "" => line.trim().to_owned(),
        text => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
