//! Blocks and their indentation: items, tasks, rules, code, HTML, tables.

use ratatui::text::Span;

use super::{Block, Prefix, Writer};
use crate::tui::cells;
use crate::tui::highlight::{LONGEST, PaintedRoles};
use crate::tui::theme::Role;

impl Writer<'_> {
    /// Opens a block with a prefix. Blocks that are nested so deeply that their text would have
    /// less than half of the width get none.
    pub(super) fn open_block(&mut self, prefix: Prefix) {
        let width = self.indent_width() + prefix.rest.width();
        if self.deeper > 0 || 2 * width > self.options.measure() {
            self.deeper += 1;
            if let Some(label) = prefix.first {
                self.piece(label.content.into_owned(), label.style);
            }
        } else {
            self.prefixes.push(prefix);
        }
    }

    pub(super) fn close_block(&mut self) {
        match self.deeper {
            0 => drop(self.prefixes.pop()),
            _ => self.deeper -= 1,
        }
    }

    pub(super) fn indent_width(&self) -> usize {
        self.prefixes.iter().map(|prefix| prefix.rest.width()).sum()
    }

    pub(super) fn available_width(&self) -> usize {
        let taken = self.indent_width();
        self.options.measure().saturating_sub(taken).max(8)
    }

    pub(super) fn item(&mut self) {
        self.flush();
        let depth = self.lists.len();
        let label = match self.lists.last_mut() {
            Some(Some(number)) => {
                let label = format!("{number:>2}. ");
                *number += 1;
                label
            }
            _ => format!(" {} ", ["•", "◦", "▪"][(depth.max(1) - 1) % 3]),
        };
        self.indent(label, Role::Marker);
    }

    pub(super) fn indent(&mut self, label: String, role: Role) {
        let blanks = " ".repeat(cells::width(&label));
        self.open_block(Prefix {
            first: Some(self.options.theme.span(label, role)),
            rest: Span::raw(blanks),
        });
    }

    /// Replaces the bullet of an item by the box of a task.
    pub(super) fn task(&mut self, done: bool) {
        let (mark, role) = if done {
            (" ✓ ", Role::Accent)
        } else {
            (" ☐ ", Role::Marker)
        };
        let style = self.options.theme.style(role);
        match self.prefixes.last_mut() {
            Some(prefix) if prefix.first.is_some() => {
                let blanks = " ".repeat(cells::width(&prefix.rest.content).saturating_sub(3));
                prefix.first = Some(Span::styled(format!("{blanks}{mark}"), style));
            }
            _ => self.push(mark, style),
        }
    }

    pub(super) fn rule(&mut self) {
        self.flush();
        let style = self.options.theme.style(Role::Rule);
        let rule = Span::styled("─".repeat(self.available_width()), style);
        self.gap = true;
        self.line(vec![rule], self.at);
        self.gap = true;
    }

    pub(super) fn code(&mut self) {
        let block = std::mem::replace(&mut self.block, Block::Flow);
        let Block::Code {
            language,
            text,
            first,
        } = block
        else {
            return;
        };
        let theme = self.options.theme;
        let base = theme.style(Role::CodeBlock);
        let room = self.available_width();
        let mut state = self.options.syntaxes.start(&language);
        let start = self.source(self.at);
        for (n, line) in text.lines().enumerate() {
            let mut paints = Vec::new();
            let is_highlighted = line.len() <= LONGEST.min(self.code_left);
            if let Some(code) = state.take_if(|_| is_highlighted) {
                let (found, after) = self.options.syntaxes.line(&code, line);
                paints = found;
                state = after;
                self.code_left -= line.len();
            }
            let mut roles = PaintedRoles::new(&paints);
            let style_at = |at: usize| base.patch(theme.over(roles.at(at)));
            let at = self
                .starts
                .get(start + first + n)
                .copied()
                .unwrap_or(self.at);
            for row in cells::styled_rows(line, room.saturating_sub(4), style_at) {
                let taken: usize = row.iter().map(Span::width).sum();
                let mut spans = vec![Span::styled("  ", base)];
                spans.extend(row);
                let fill = room.saturating_sub(taken + 2);
                spans.push(Span::styled(" ".repeat(fill), base));
                self.line(spans, at);
            }
        }
        self.gap = true;
    }

    pub(super) fn html(&mut self) {
        let block = std::mem::replace(&mut self.block, Block::Flow);
        let Block::Html(html) = block else {
            return;
        };
        let trimmed = html.trim();
        if trimmed.starts_with("<!--") && trimmed.ends_with("-->") {
            return;
        }
        let style = self.options.theme.style(Role::Muted);
        for line in trimmed.lines() {
            let text = cells::cut(line, self.available_width());
            self.line(vec![Span::styled(text, style)], self.at);
        }
        self.gap = true;
    }

    pub(super) fn table(&mut self) {
        let Some(table) = self.table.take() else {
            return;
        };
        let indent = self.indent_width();
        // A table can be as wide as the pane, wider than text.
        let room = self.options.width.max(8).saturating_sub(indent);
        for row in table.render(self.options.theme, room) {
            self.line(row.spans, row.at);
            let line = self.out.lines.len() - 1;
            let spots = row
                .spots
                .into_iter()
                .map(|(link, columns)| (link, columns.start + indent..columns.end + indent))
                .collect();
            self.spots(spots, line);
        }
        self.gap = true;
    }
}
