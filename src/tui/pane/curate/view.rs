//! Drawing of the findings, and scrolling in the evidence.

use ratatui::Frame;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::CuratePane;
use super::decide::names_another;
use super::rows::{FindingRow, Group, Located};
use crate::core::insight::curate::{Evidence, Severity, rule};
use crate::core::memory::stem;
use crate::core::memory::store::StoreId;
use crate::core::text::display::format_ago;
use crate::tui::action::Action;
use crate::tui::cells::{self, escape_line};
use crate::tui::chrome::{
    KeyFocus, bordered, count, draw_empty, draw_lines, marked_rows, title_span,
};
use crate::tui::keymap::KeyContext;
use crate::tui::layout::inside;
use crate::tui::model::PaneContext;
use crate::tui::pane::list_text::{Parts, RowText, list_border};
use crate::tui::pane::log::cited_log;
use crate::tui::theme::{Role, Theme};
use crate::tui::widget::emphasis::MarkedWords;
use crate::tui::widget::list::RowLook;

impl CuratePane {
    pub(super) fn draw(&self, frame: &mut Frame<'_>, cx: &PaneContext<'_>) {
        if self.list.rows().is_empty() && self.shown.filter.shows("") {
            return self.draw_nothing(frame, cx);
        }
        if cx.areas.tree.area() > 0 {
            self.draw_list(frame, cx);
        }
        if cx.areas.preview.area() > 0 {
            self.draw_evidence(frame, cx);
        }
    }

    fn draw_nothing(&self, frame: &mut Frame<'_>, cx: &PaneContext<'_>) {
        let waived = self.findings.iter().count();
        let text = match (self.is_loaded && self.progress.is_none(), waived) {
            (false, _) => "Checking the memories…".to_owned(),
            (true, 0) => {
                let memories = self.stores.iter().map(|snapshot| snapshot.memories.len());
                let memories = count(memories.sum(), "memory", "memories");
                format!(
                    "Nothing to curate: no rule found anything in {memories}. Paths that the project has no longer, what is superseded, doubled or dangerous would be listed here, with the evidence."
                )
            }
            (true, waived) => {
                let key = cx.keymap.key(KeyContext::Curate, Action::ShowWaived);
                let shows = key.map(|key| format!("; {key} shows them"));
                let waived = count(waived, "finding is", "findings are");
                format!(
                    "Nothing to curate: {waived} waived{}.",
                    shows.unwrap_or_default()
                )
            }
        };
        let title = title_span(cx.theme, "findings");
        draw_empty(frame, cx.areas.body, title, &text, cx.theme);
    }

    fn draw_list(&self, frame: &mut Frame<'_>, cx: &PaneContext<'_>) {
        let theme = cx.theme;
        let area = cx.areas.tree;
        let filter = &self.shown.filter;
        let mut block = list_border(KeyFocus::Here, "findings", filter, area, theme);
        let marked = self.list.marked();
        if let Some(marks) = marked_rows(marked.len(), theme) {
            block = block.title_bottom(marks);
        }
        frame.render_widget(block, area);
        if self.list.rows().is_empty() {
            let text = Line::styled(" No finding has these words", theme.style(Role::Muted));
            draw_lines(frame, inside(area), [text]);
        }
        self.list.draw(frame, inside(area), |row, look| match row {
            FindingRow::Heading { group, count } => self.heading(group, *count, look, cx),
            FindingRow::Finding { at, .. } => match self.findings.get(*at) {
                Some(located) => self.finding_line(located, look, cx),
                None => Line::default(),
            },
        });
    }

    /// What the findings below have in common.
    fn heading(
        &self,
        group: &Group,
        count: usize,
        look: RowLook,
        cx: &PaneContext<'_>,
    ) -> Line<'static> {
        let theme = cx.theme;
        let is_folded = self.shown.folded.contains(group);
        let fold = if is_folded { "▸ " } else { "▾ " };
        let strong = theme.style(Role::Strong);
        let mut left = vec![theme.span(fold, Role::Muted)];
        match group {
            Group::Rule(id) => {
                let severity = rule(id).map_or(Severity::Note, |rule| rule.severity);
                let style = strong.patch(severity_style(severity, theme));
                left.push(Span::styled((*id).to_owned(), style));
            }
            Group::File(store, path) => {
                left.push(Span::styled(escape_line(path), strong));
                left.extend(self.store_name(store, cx));
            }
        }
        let right = theme.span(format!(" {count} "), Role::Muted);
        look.line(0, left, vec![right], theme)
    }

    /// The name of a store, if there are findings about several.
    fn store_name(&self, store: &StoreId, cx: &PaneContext<'_>) -> Option<Span<'static>> {
        let snapshot = cx.library.store_by_id(store);
        let snapshot = snapshot.filter(|_| self.findings.has_several_stores)?;
        let name = format!("  {}", escape_line(snapshot.store.name()));
        Some(cx.theme.span(name, Role::Muted))
    }

    fn finding_line(
        &self,
        located: &Located,
        look: RowLook,
        cx: &PaneContext<'_>,
    ) -> Line<'static> {
        let theme = cx.theme;
        let finding = &located.finding;
        let muted = theme.style(Role::Muted);
        let of_file = stem(&finding.path);
        let name = escape_line(finding.entry.as_deref().unwrap_or(of_file));
        // A session is known by its title.
        let session = cited_log(cx.library, &finding.subject).map(|(log, _)| log.title.as_str());
        let subject = escape_line(session.unwrap_or(&finding.subject));
        let mut left = vec![Span::raw(" "), look.mark(theme)];
        if self.shown.by_file {
            let style = severity_style(finding.severity, theme);
            left.push(Span::styled(finding.rule, style));
            left.push(Span::styled(format!(" · {subject}"), muted));
        } else if let Some((old, new)) = finding.renaming() {
            // Many memories may use many old names: what differs comes first.
            left.push(Span::raw(escape_line(&format!("{old} → {new}"))));
            left.push(Span::styled(format!(" · {name}"), muted));
        } else if subject.is_empty() || subject == finding.path || subject == name {
            left.push(Span::raw(name));
        } else if names_another(located) {
            // The subject is the other memory.
            left.push(Span::raw(name));
            let other = stem(&subject).to_owned();
            left.push(Span::styled(format!(" × {other}"), muted));
        } else {
            left.push(Span::raw(subject));
            left.push(Span::styled(format!(" · {name}"), muted));
        }
        let right = match (&finding.waived, &finding.fix) {
            (Some(_), _) => Span::styled(" waived ", muted),
            (None, Some(_)) => theme.span(" fix ", Role::Added),
            (None, None) => Span::raw(" "),
        };
        // A name that is cut says nothing.
        let taken: usize = left.iter().chain([&right]).map(Span::width).sum();
        let store = self.store_name(&located.store, cx);
        left.extend(
            store.filter(|store| !self.shown.by_file && taken + store.width() < look.width),
        );
        look.line(0, left, vec![right], theme)
    }

    fn draw_evidence(&self, frame: &mut Frame<'_>, cx: &PaneContext<'_>) {
        let (title, remark) = match (self.list.selected(), self.selected()) {
            (_, Some(located)) => (located.finding.rule, located.finding.path.clone()),
            (Some(FindingRow::Heading { group, count }), _) => match group {
                Group::Rule(id) => (*id, count.to_string()),
                Group::File(_, path) => ("file", path.clone()),
            },
            _ => {
                let block = bordered(cx.theme, KeyFocus::Elsewhere);
                return frame.render_widget(block, cx.areas.preview);
            }
        };
        let room = usize::from(cx.areas.preview.width).saturating_sub(cells::width(title) + 8);
        let text = RowText {
            title: title.to_owned(),
            remark: format!(" {} ", cells::cut(&escape_line(&remark), room)),
            keys: KeyFocus::Elsewhere,
            lines: self.lines(cx),
            scroll: self.scroll,
        };
        text.draw(frame, Parts::of(cx), cx);
    }

    /// The text beside the list.
    pub(super) fn lines(&self, cx: &PaneContext<'_>) -> Vec<Line<'static>> {
        let mut page = EvidencePage {
            theme: cx.theme,
            width: usize::from(Parts::of(cx).inner_text().width),
            lines: Vec::new(),
        };
        if let Some(located) = self.selected() {
            self.finding_page(located, cx, &mut page);
        } else if let Some(FindingRow::Heading { group, .. }) = self.list.selected() {
            let text = cx.theme.style(Role::Text);
            match group {
                Group::Rule(id) => page.text(rule(id).map_or("", |rule| rule.about), 0, text),
                Group::File(..) => {
                    for located in self.group(group) {
                        page.text(&located.finding.message, 0, text);
                    }
                }
            }
        }
        page.lines
    }

    fn finding_page(&self, located: &Located, cx: &PaneContext<'_>, page: &mut EvidencePage<'_>) {
        let theme = cx.theme;
        let finding = &located.finding;
        let strong = theme
            .style(Role::Strong)
            .patch(severity_style(finding.severity, theme));
        page.text(&finding.message, 0, strong);
        let snapshot = located.snapshot(cx.library);
        let memory = snapshot.and_then(|snapshot| snapshot.memory(&finding.path));
        let store = snapshot.map_or("", |snapshot| snapshot.store.name());
        let line = finding.line.map(|line| format!("#L{line}"));
        let mark = if store.is_empty() { "" } else { ":" };
        let mut place = format!("{store}{mark}{}{}", finding.path, line.unwrap_or_default());
        if let Some(entry) = &finding.entry {
            place.push_str(&format!(" #{entry}"));
        }
        let changed = snapshot.zip(memory).map_or(0, |(snapshot, memory)| {
            cx.ledger.last_change(snapshot.store.id(), memory)
        });
        if changed > 0 {
            place.push_str(" · changed ");
            place.push_str(&format_ago(changed, cx.now));
        }
        page.muted(&place);
        let mut is_own = false;
        for piece in &finding.evidence {
            // Lines of the memory stand together.
            let was_own = is_own;
            is_own = piece.line.is_some() && piece.path.as_ref() == Some(&finding.path);
            if !(was_own && is_own) {
                page.blank();
            }
            match piece.line.filter(|_| is_own) {
                Some(line) => page.evidence(piece, &format!("line {line}"), &finding.subject),
                None => page.evidence(piece, &place_of(piece), &finding.subject),
            }
        }
        if let Some(fix) = &finding.fix {
            page.blank();
            page.text(&format!("fix  {}", fix.words), 0, theme.style(Role::Added));
        }
        if let Some(waiver) = &finding.waived {
            page.blank();
            let text = format!(
                "waived on {} by {}: {}",
                waiver.date, waiver.who, waiver.words
            );
            page.text(&text, 0, theme.style(Role::Warn));
        }
    }
}

/// Lines of evidence, wrapped.
struct EvidencePage<'a> {
    theme: &'a Theme,
    width: usize,
    lines: Vec<Line<'static>>,
}

impl EvidencePage<'_> {
    fn blank(&mut self) {
        self.lines.push(Line::default());
    }

    fn muted(&mut self, text: &str) {
        self.text(text, 0, self.theme.style(Role::Muted));
    }

    /// Adds a text, indented.
    fn text(&mut self, text: &str, indent: usize, style: Style) {
        for line in text.lines() {
            let width = self.width.saturating_sub(indent).max(1);
            for row in cells::wrapped(line, width) {
                let blank = Span::raw(" ".repeat(indent));
                let text = Span::styled(row, style);
                self.lines.push(Line::from(vec![blank, text]));
            }
        }
    }

    /// Adds where a piece of evidence is, and its words; those for which the rule spoke are marked.
    fn evidence(&mut self, piece: &Evidence, place: &str, subject: &str) {
        if !place.is_empty() {
            self.muted(place);
        }
        let indent = if place.is_empty() { 0 } else { 2 };
        let first = self.lines.len();
        self.text(&piece.text, indent, self.theme.style(Role::Text));
        let marks = piece.marks.iter().map(String::as_str);
        let found = MarkedWords::new(marks.chain([subject]));
        let lines = found.mark(
            self.lines.split_off(first),
            self.theme.style(Role::MatchLine),
        );
        self.lines.extend(lines);
    }
}

fn place_of(piece: &Evidence) -> String {
    let line = piece.line.map(|line| format!(":{line}"));
    let path = piece.path.as_ref();
    let path = path.map(|path| format!("{path}{}", line.unwrap_or_default()));
    match (&piece.commit, &piece.citation, path) {
        (Some(commit), _, Some(path)) => format!("{commit}  {path}"),
        (Some(place), _, _) | (None, Some(place), _) => place.clone(),
        (None, None, path) => path.unwrap_or_default(),
    }
}

/// The style of what matters most.
fn severity_style(severity: Severity, theme: &Theme) -> Style {
    match severity {
        Severity::Error => theme.style(Role::Error),
        Severity::Warning => theme.style(Role::Warn),
        Severity::Note => Style::new(),
    }
}
