//! The rows of the tree as they look.

use std::path::Path;

use ratatui::text::{Line, Span};

use super::Browse;
use super::tree::{Fold, Key, Node, Row};
use crate::core::layout::Layout;
use crate::core::library::{Budget, Library, Shelf};
use crate::core::memory::Kind;
use crate::core::shown::{age, size};
use crate::tui::cells::visible;
use crate::tui::chrome::{short_path, two_ends};
use crate::tui::pane::Scene;
use crate::tui::theme::{Role, Theme};
use crate::tui::widget::meter::Meter;

/// Whether a row is the one under the cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cursor {
    Here,
    Elsewhere,
}

/// What stands at both ends of a row.
struct Ends<'a> {
    label: Vec<Span<'a>>,
    right: Vec<Span<'a>>,
}

impl Browse {
    /// One row, `width` columns wide.
    pub(super) fn line(
        &self,
        row: &Row,
        cursor: Cursor,
        scene: &Scene<'_>,
        width: usize,
    ) -> Line<'static> {
        let theme = scene.theme;
        let key = self.tree.key(&self.library, row);
        let bar = match cursor {
            Cursor::Here => Span::styled("▌", theme.style(Role::Accent)),
            Cursor::Elsewhere => Span::raw(" "),
        };
        let mark = if self.marks.contains(&key) {
            Span::styled("✓", theme.style(Role::Accent))
        } else {
            Span::raw(" ")
        };
        let fold = match row.fold {
            Some(Fold::Open) => "▾ ",
            Some(Fold::Closed) => "▸ ",
            None => "  ",
        };
        let indent = "  ".repeat(usize::from(row.depth));
        let mut left = vec![bar, mark, Span::raw(indent)];
        left.push(Span::styled(fold, theme.style(Role::Muted)));
        let ends = self.ends(row, scene, width);
        left.extend(ends.label);
        let mut right = vec![Span::raw(" ")];
        right.extend(ends.right);
        right.push(Span::raw(" "));
        let style = match cursor {
            Cursor::Here => theme.style(Role::Selected),
            Cursor::Elsewhere => theme.style(Role::Text),
        };
        two_ends(left, right, width, style)
    }

    fn ends(&self, row: &Row, scene: &Scene<'_>, width: usize) -> Ends<'static> {
        let theme = scene.theme;
        let muted = theme.style(Role::Muted);
        let plain = |label: String| Ends {
            label: vec![Span::raw(label)],
            right: vec![Span::styled(row.count.to_string(), muted)],
        };
        match row.node {
            Node::Store(at) => store(&self.library.shelves[at], row, theme, width),
            Node::Group(_, group) => {
                let group = &self.tree.groups[group];
                let style = match &group.category {
                    Some(category) => theme.badge(Some(category)),
                    None => theme.style(Role::Text),
                };
                let count = match row.count {
                    0 => String::new(),
                    count => count.to_string(),
                };
                Ends {
                    label: vec![Span::styled(group.label.clone(), style)],
                    right: vec![Span::styled(count, muted)],
                }
            }
            Node::Memory(at, of) => self.memory(at, of, scene),
            Node::Entry(at, of, entry) => {
                let entry = &self.library.shelves[at].memories[of].entries[entry];
                Ends {
                    label: vec![Span::raw(visible(&entry.title))],
                    right: vec![Span::styled(entry.date.clone().unwrap_or_default(), muted)],
                }
            }
            Node::Instructions => Ends {
                label: vec![
                    Span::styled("instructions", theme.style(Role::Strong)),
                    Span::styled(format!("  {}", instruction_names(&self.library)), muted),
                ],
                right: vec![Span::styled(row.count.to_string(), muted)],
            },
            Node::Sessions => Ends {
                label: vec![Span::styled("sessions", theme.style(Role::Strong))],
                right: vec![Span::styled(row.count.to_string(), muted)],
            },
            Node::Agent(first) => plain(self.library.logs[first].agent.name().to_owned()),
            Node::Bundle(at) => plain(match self.library.logs[at].project.as_str() {
                "" => "no project".to_owned(),
                project => visible(&short_path(Path::new(project))),
            }),
            Node::Log(at, log) => {
                let log = &self.library.logs[at].logs[log];
                Ends {
                    label: vec![Span::raw(visible(&log.title))],
                    right: vec![Span::styled(age(log.time, scene.now), muted)],
                }
            }
        }
    }

    fn memory(&self, at: usize, of: usize, scene: &Scene<'_>) -> Ends<'static> {
        let theme = scene.theme;
        let shelf = &self.library.shelves[at];
        let memory = &shelf.memories[of];
        let mut label = vec![Span::raw(visible(&memory.title))];
        if memory.kind == Kind::Instructions {
            let place = short_path(shelf.store.root().path());
            label.push(Span::styled(format!("  {place}"), theme.style(Role::Muted)));
        }
        let mut right = Vec::new();
        if memory.problem.is_some() {
            right.push(Span::styled("! ", theme.style(Role::Warn)));
        }
        let told = match self.wish.sort {
            super::tree::Sort::Size => size(memory.size),
            _ => age(memory.modified, scene.now),
        };
        right.push(Span::styled(told, theme.style(Role::Muted)));
        Ends { label, right }
    }

    /// The key of the row under the cursor.
    pub(super) fn selected(&self) -> Option<Key> {
        let row = self.tree.rows.get(self.cursor.selected)?;
        Some(self.tree.key(&self.library, row))
    }
}

fn instruction_names(library: &Library) -> String {
    let mut names: Vec<&str> = library
        .shelves
        .iter()
        .filter(|shelf| shelf.store.layout() == Layout::Instructions)
        .flat_map(|shelf| shelf.memories.iter().map(|memory| memory.title.as_str()))
        .collect();
    names.sort_unstable();
    names.dedup();
    names.join(" ")
}

fn store(shelf: &Shelf, row: &Row, theme: &Theme, width: usize) -> Ends<'static> {
    let muted = theme.style(Role::Muted);
    let mut label = vec![Span::styled(
        visible(shelf.store.name()),
        theme.style(Role::Strong),
    )];
    let mut right = Vec::new();
    if shelf.failure.is_some() {
        right.push(Span::styled("cannot be read", theme.style(Role::Warn)));
        return Ends { label, right };
    }
    if let Some(budget) = shelf.index
        && width >= 34
    {
        right.extend(meter(budget, theme));
        right.push(Span::raw("  "));
    } else if shelf.index.is_none() {
        let layout = shelf.store.layout().name();
        if !shelf.store.name().contains(layout) {
            label.push(Span::styled(format!("  {layout}"), muted));
        }
    }
    right.push(Span::styled(row.count.to_string(), muted));
    Ends { label, right }
}

/// How much of the index an agent reads, by the nearer of its limits.
pub(super) fn meter(budget: Budget, theme: &Theme) -> Vec<Span<'static>> {
    let by_lines = budget.lines * Budget::MOST.bytes >= budget.bytes * Budget::MOST.lines;
    let (what, used, limit) = if by_lines {
        ("index ", budget.lines, Budget::MOST.lines)
    } else {
        ("index KB ", budget.bytes / 1000, Budget::MOST.bytes / 1000)
    };
    let meter = Meter {
        used: used as u64,
        limit: limit as u64,
        cells: 4,
    };
    let mut spans = vec![Span::styled(what, theme.style(Role::Muted))];
    spans.extend(meter.line(theme).spans);
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_meter_shows_the_nearer_limit() {
        let text = |lines, bytes| -> String {
            let spans = meter(Budget { lines, bytes }, &Theme::default());
            spans.iter().map(|span| span.content.as_ref()).collect()
        };
        assert_eq!(text(50, 100), "index 50/200 ▰▱▱▱");
        assert_eq!(text(162, 100), "index 162/200 ▰▰▰▱");
        assert_eq!(text(10, 24_400), "index KB 24/25 ▰▰▰▱");
        assert_eq!(text(0, 0), "index 0/200 ▱▱▱▱");
    }
}
