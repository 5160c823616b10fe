//! Why a memory says what it says: each of its lines with the session that wrote it, and the
//! user's words before that. Enter opens the log there.

use std::sync::Arc;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position};
use ratatui::text::Span;

use super::list_text::{Parts, list_border};
use super::log::{LogPane, cited_log, copy_to_clipboard};
use super::{Pane, Step, say};
use crate::core::change::history::Record;
use crate::core::insight::review::{LineSource, Reason};
use crate::core::memory::store::StoreId;
use crate::core::text::display::{format_age, format_ago};
use crate::tui::action::Action;
use crate::tui::cells::{self, escape_line};
use crate::tui::chrome::{KeyFocus, bordered, draw_lines, draw_note, title_span};
use crate::tui::effect::{Effect, WhyJob};
use crate::tui::event::{Event, ExplainedText};
use crate::tui::keymap::KeyContext;
use crate::tui::model::PaneContext;
use crate::tui::theme::Role;
use crate::tui::widget::filter::{FILTERED, RowFilter};
use crate::tui::widget::list::{List, Move, Row, RowLook};

/// The width of the column that names who wrote a line, and when.
const WHO: usize = 17;

/// The lines of one file, with their sources.
#[derive(Debug)]
pub(crate) struct WhyPane {
    job: WhyJob,
    text: Option<Result<ExplainedText, String>>,
    filter: RowFilter,
    list: List<LineRow>,
    /// The line that was asked for.
    line: usize,
}

/// The number of a line that the filter shows.
#[derive(Debug, Clone)]
struct LineRow(usize);

impl Row for LineRow {
    fn is_same(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl WhyPane {
    /// Opens the lines of a file, with the cursor on this one, counted from 0.
    pub(crate) fn open(store: StoreId, path: String, line: usize) -> Vec<Step> {
        let job = WhyJob { store, path };
        let pane = Self {
            job: job.clone(),
            text: None,
            filter: RowFilter::default(),
            list: List::default(),
            line,
        };
        vec![Step::Push(Box::new(pane)), Step::Effect(Effect::Why(job))]
    }

    fn lines(&self) -> &[(String, Option<Arc<LineSource>>)] {
        match &self.text {
            Some(Ok(text)) => &text.lines,
            _ => &[],
        }
    }

    /// Lists the lines that the filter shows, with the cursor on the same one, or the next.
    fn lay_out(&mut self, cx: &PaneContext<'_>) {
        let shows = |at: &usize| {
            let (text, source) = &self.lines()[*at];
            let who = source.as_ref().map(|source| who_and_when(source, cx.now));
            self.filter
                .shows(&format!("{} {text}", who.unwrap_or_default()))
        };
        let shown = (0..self.lines().len()).filter(shows).map(LineRow);
        self.list.replace(shown.collect(), parts(cx).height());
    }

    /// What brought the line under the cursor in.
    fn source(&self) -> Option<&LineSource> {
        let LineRow(at) = self.list.selected()?;
        self.lines()[*at].1.as_deref()
    }

    /// The message that wrote the line under the cursor.
    fn citation(&self) -> Option<String> {
        match self.source()? {
            LineSource::Call(reason) => Some(reason.cite(reason.line)),
            LineSource::Change(record) => record.origin.as_ref()?.citation.clone(),
        }
    }

    fn open_log(&self, cx: &PaneContext<'_>) -> Vec<Step> {
        let Some(citation) = self.citation() else {
            return say("No session is known that wrote this line");
        };
        match cited_log(cx.library, &citation) {
            Some((log, start)) => LogPane::open(log, start),
            None => say(format!("{citation} is not among the logs shown here")),
        }
    }

    fn copy(&self) -> Vec<Step> {
        self.citation().map(copy_to_clipboard).unwrap_or_default()
    }

    fn draw_lines(&self, frame: &mut Frame<'_>, cx: &PaneContext<'_>) {
        let theme = cx.theme;
        let parts = parts(cx);
        let title = escape_line(&self.job.path);
        let block = list_border(KeyFocus::Here, &title, &self.filter, parts.list, theme);
        frame.render_widget(block, parts.list);
        if self.list.rows().is_empty() && !self.filter.shows("") {
            draw_note(frame, parts.rows(), FILTERED, theme);
        }
        let lines = self.lines();
        // Without any source there is no column for them.
        let has_sources = lines.iter().any(|(_, source)| source.is_some());
        let column = if has_sources { WHO + 1 } else { 0 };
        let mut above: Option<&LineSource> = None;
        let line = |LineRow(at): &LineRow, look: RowLook| {
            let (text, source) = &lines[*at];
            let source = source.as_deref();
            // Lines of one source are named once.
            let who = match source {
                Some(source) if above != Some(source) => who_and_when(source, cx.now),
                _ => String::new(),
            };
            // A blank line between them does not divide them.
            if source.is_some() || !text.trim().is_empty() {
                above = source;
            }
            let who = cells::cut(&escape_line(&who), WHO);
            let pad = " ".repeat(column.saturating_sub(cells::width(&who)));
            let left = vec![
                theme.span(format!("{who}{pad}"), Role::Muted),
                Span::raw(escape_line(text)),
            ];
            look.line(1, left, Vec::new(), theme)
        };
        self.list.draw(frame, parts.rows(), line);
    }

    /// Draws what is known about the line under the cursor.
    fn draw_source(&self, frame: &mut Frame<'_>, cx: &PaneContext<'_>) {
        let theme = cx.theme;
        let block = bordered(theme, KeyFocus::Elsewhere).title(title_span(theme, "why"));
        frame.render_widget(block, parts(cx).text);
        let text = parts(cx).inner_text();
        let facts = self.facts_of_line(cx).into_iter();
        let rows = facts.flat_map(|(said, role)| {
            let rows = cells::wrapped(&said, usize::from(text.width)).into_iter();
            rows.map(move |row| theme.line(row, role))
        });
        draw_lines(frame, text, rows);
    }

    fn facts_of_line(&self, cx: &PaneContext<'_>) -> Vec<(String, Role)> {
        let text = match &self.text {
            None => return vec![("reading…".to_owned(), Role::Muted)],
            Some(Err(problem)) => return vec![(problem.clone(), Role::Warn)],
            Some(Ok(text)) => text,
        };
        match self.source() {
            Some(LineSource::Call(reason)) => facts_of_call(reason, cx.now),
            Some(LineSource::Change(record)) => facts_of_change(record, cx.now),
            None if !text.has_logs => {
                vec![("The logs are still being read…".to_owned(), Role::Muted)]
            }
            None => vec![(
                "No log and no recorded change tells who wrote this line.".to_owned(),
                Role::Muted,
            )],
        }
    }
}

/// The areas of the lines and of what is known about the one under the cursor.
fn parts(cx: &PaneContext<'_>) -> Parts {
    let below = (cx.areas.body.height / 3).clamp(5, 10);
    let [list, text] =
        Layout::vertical([Constraint::Min(0), Constraint::Length(below)]).areas(cx.areas.body);
    Parts { list, text }
}

/// Who brought a line in, and when, in few words.
fn who_and_when(source: &LineSource, now: i64) -> String {
    match source {
        LineSource::Call(reason) => {
            let age = reason.time.map(|time| format_age(time, now));
            format!("{} {}", reason.agent, age.unwrap_or_default())
        }
        LineSource::Change(record) => {
            format!("{} {}", record.author.who, format_age(record.time, now))
        }
    }
}

fn facts_of_call(reason: &Reason, now: i64) -> Vec<(String, Role)> {
    let ago = reason
        .time
        .map(|time| format!(", {}", format_ago(time, now)));
    let said = format!(
        "{} in “{}”{}, with {}",
        reason.agent,
        reason.title,
        ago.unwrap_or_default(),
        reason.tool
    );
    let mut facts = vec![(said, Role::Strong)];
    if let Some(words) = &reason.words {
        let words: Vec<&str> = words.text.split_whitespace().collect();
        facts.push((format!("You had said: {}", words.join(" ")), Role::Text));
    }
    facts.insert(1, (reason.cite(reason.line), Role::Muted));
    facts
}

fn facts_of_change(record: &Record, now: i64) -> Vec<(String, Role)> {
    let said = format!(
        "{} ({}), {}",
        record.message,
        record.author.who,
        format_ago(record.time, now)
    );
    let mut facts = vec![(said, Role::Strong)];
    if let Some(origin) = &record.origin {
        let at = origin.citation.as_ref().unwrap_or(&origin.session);
        facts.push((format!("in {at}"), Role::Muted));
    }
    facts
}

impl Pane for WhyPane {
    fn key_context(&self) -> KeyContext {
        self.filter.key_context(KeyContext::Why)
    }

    fn act(&mut self, action: Action, cx: &PaneContext<'_>) -> Option<Vec<Step>> {
        if let Some(steps) = self.act_on_filter(action, cx) {
            return Some(steps);
        }
        Some(match action {
            Action::Open => self.open_log(cx),
            Action::Copy => self.copy(),
            Action::Back => vec![Step::Close],
            action => {
                self.list.step(Move::of(action)?, parts(cx).height());
                Vec::new()
            }
        })
    }

    fn filter(&mut self) -> Option<&mut RowFilter> {
        Some(&mut self.filter)
    }

    fn filtered(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        self.lay_out(cx);
        Vec::new()
    }

    fn wheel(&mut self, _at: Position, lines: isize, cx: &PaneContext<'_>) -> Vec<Step> {
        self.list.step(Move::by_wheel(lines), parts(cx).height());
        Vec::new()
    }

    fn click(&mut self, at: Position, cx: &PaneContext<'_>) -> Vec<Step> {
        if let Some(row) = self.list.row_at(at, parts(cx).rows()) {
            self.list.select(row, Move::Down);
        }
        Vec::new()
    }

    fn on_event(&mut self, event: &Event, cx: &PaneContext<'_>) -> Vec<Step> {
        if let Event::Explained { job, result } = event
            && *job == self.job
        {
            let is_first = self.text.is_none();
            self.text = Some(match result {
                Ok(text) => Ok(text.clone()),
                Err(error) => Err(error.to_string()),
            });
            self.lay_out(cx);
            if is_first {
                let rows = self.list.rows();
                let at = rows.iter().position(|row| row.0 >= self.line);
                let at = at.unwrap_or(rows.len().saturating_sub(1));
                self.list.select(at, Move::Down);
                self.list.fit(parts(cx).height());
            }
        }
        Vec::new()
    }

    fn resize(&mut self, cx: &PaneContext<'_>) {
        self.list.fit(parts(cx).height());
    }

    fn title(&self, _cx: &PaneContext<'_>) -> Option<String> {
        Some(format!("why   {}", self.job.path))
    }

    fn offers(&self, action: Action) -> bool {
        match action {
            Action::Open | Action::Copy => self.citation().is_some(),
            _ => true,
        }
    }

    fn is_fullscreen(&self) -> bool {
        true
    }

    fn view(&self, frame: &mut Frame<'_>, cx: &PaneContext<'_>) {
        self.draw_lines(frame, cx);
        self.draw_source(frame, cx);
    }
}
