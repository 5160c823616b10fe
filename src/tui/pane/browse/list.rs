//! Drawing of the rows of the tree.

use std::path::Path;

use ratatui::text::{Line, Span};

use super::BrowsePane;
use super::tree::{Fold, Key, Node, Order, Sort, TreeRow};
use crate::core::memory::FileKind;
use crate::core::memory::layout::Layout;
use crate::core::memory::library::{Budget, Library, StoreSnapshot};
use crate::core::memory::store::StoreId;
use crate::core::text::display::{format_age, format_size};
use crate::tui::cells::{self, escape_line};
use crate::tui::chrome::short_path;
use crate::tui::model::PaneContext;
use crate::tui::theme::{Role, Theme};
use crate::tui::widget::list::RowLook;
use crate::tui::widget::markdown::plain_line;
use crate::tui::widget::meter::Meter;

/// The width from which on there is room for what a memory is about beside its title.
const WIDE: usize = 70;

/// The left and right text of a row.
struct RowEnds<'a> {
    label: Vec<Span<'a>>,
    right: Vec<Span<'a>>,
}

impl BrowsePane {
    /// Draws a row.
    pub(super) fn line(
        &self,
        row: &TreeRow,
        is_marked: bool,
        look: RowLook,
        cx: &PaneContext<'_>,
    ) -> Line<'static> {
        let theme = cx.theme;
        let mark = if is_marked {
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
        let mut left = vec![mark, Span::raw(indent)];
        left.push(Span::styled(fold, theme.style(Role::Muted)));
        let ends = self.ends(row, cx, look.width);
        left.extend(ends.label);
        let mut right = vec![Span::raw(" ")];
        right.extend(ends.right);
        right.push(Span::raw(" "));
        look.line(left, right, theme)
    }

    fn ends(&self, row: &TreeRow, cx: &PaneContext<'_>, width: usize) -> RowEnds<'static> {
        let theme = cx.theme;
        let muted = theme.style(Role::Muted);
        let plain = |label: String| RowEnds {
            label: vec![Span::raw(label)],
            right: vec![Span::styled(row.count.to_string(), muted)],
        };
        match row.node {
            Node::Store(at) => {
                let snapshot = &self.library.stores[at];
                let is_own = |id: &StoreId| id == snapshot.store.id();
                let waiting = self.review_count(is_own, theme);
                let width = width.saturating_sub(waiting.as_ref().map_or(0, Span::width));
                let mut ends = store(snapshot, row, theme, width);
                ends.right.splice(0..0, waiting);
                ends
            }
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
                RowEnds {
                    label: vec![Span::styled(group.label.clone(), style)],
                    right: vec![Span::styled(count, muted)],
                }
            }
            Node::Memory(at, of) => self.memory((at, of), cx, width),
            Node::Entry(at, of, entry) => {
                let entry = &self.library.stores[at].memories[of].entries[entry];
                RowEnds {
                    label: vec![Span::raw(escape_line(&entry.title))],
                    right: vec![Span::styled(entry.date.clone().unwrap_or_default(), muted)],
                }
            }
            Node::Instructions => RowEnds {
                label: vec![
                    Span::styled("instructions", theme.style(Role::Strong)),
                    Span::styled(format!("  {}", instruction_names(&self.library)), muted),
                ],
                right: {
                    let is_own = |id: &StoreId| id.layout() == Layout::Instructions;
                    let waiting = self.review_count(is_own, theme);
                    let count = Span::styled(row.count.to_string(), muted);
                    waiting.into_iter().chain([count]).collect()
                },
            },
            Node::Sessions => RowEnds {
                label: vec![Span::styled("sessions", theme.style(Role::Strong))],
                right: vec![Span::styled(row.count.to_string(), muted)],
            },
            Node::Agent(first) => plain(self.library.logs[first].agent.name().to_owned()),
            Node::LogGroup(at) => plain(match self.library.logs[at].project.as_str() {
                "" => "no project".to_owned(),
                project => escape_line(&short_path(Path::new(project))),
            }),
            Node::Log(at, log) => {
                let log = &self.library.logs[at].logs[log];
                RowEnds {
                    label: vec![Span::raw(escape_line(&log.title))],
                    right: vec![Span::styled(format_age(log.time, cx.now), muted)],
                }
            }
        }
    }

    /// How many files of these stores wait for review.
    fn review_count(
        &self,
        is_own: impl Fn(&StoreId) -> bool,
        theme: &Theme,
    ) -> Option<Span<'static>> {
        let own = self.to_review.iter().filter(|(store, _)| is_own(store));
        let waiting: usize = own.map(|(_, count)| count).sum();
        let text = format!("{waiting} to review  ");
        (waiting > 0).then(|| Span::styled(text, theme.style(Role::Warn)))
    }

    fn memory(
        &self,
        (at, of): (usize, usize),
        cx: &PaneContext<'_>,
        width: usize,
    ) -> RowEnds<'static> {
        let theme = cx.theme;
        let snapshot = &self.library.stores[at];
        let memory = &snapshot.memories[of];
        let mut label = vec![Span::raw(escape_line(&memory.title))];
        if memory.kind == FileKind::Instructions {
            let place = short_path(snapshot.store.root().path());
            label.push(Span::styled(format!("  {place}"), theme.style(Role::Muted)));
        }
        if width >= WIDE && !memory.summary.is_empty() && memory.summary != memory.title {
            let summary = format!("  {}", escape_line(&plain_line(&memory.summary)));
            label.push(Span::styled(summary, theme.style(Role::Muted)));
        }
        let mut right = Vec::new();
        if memory.problem.is_some() {
            right.push(Span::styled("! ", theme.style(Role::Warn)));
        } else if snapshot.unlisted.contains(&memory.path) {
            right.push(Span::styled("not in index ", theme.style(Role::Warn)));
        }
        let is_by_size = match self.options.order {
            Some(order) => order == Order::Largest,
            None => self.options.sort == Sort::Size,
        };
        let detail = if is_by_size {
            format_size(memory.size)
        } else {
            format_age(memory.modified, cx.now)
        };
        if self.options.order.is_some() {
            // A column of its own, so that names are either whole or cut at the same place.
            const WIDEST: usize = 18;
            let name = cells::cut(&escape_line(snapshot.store.name()), WIDEST);
            let column = format!("{name}  {detail:>4}");
            right.push(Span::styled(column, theme.style(Role::Muted)));
        } else {
            right.push(Span::styled(detail, theme.style(Role::Muted)));
        }
        RowEnds { label, right }
    }

    /// The key of the row under the cursor.
    pub(super) fn selected(&self) -> Option<Key> {
        let row = self.tree.rows.get(self.cursor.selected)?;
        Some(self.tree.key(&self.library, row))
    }
}

fn instruction_names(library: &Library) -> String {
    let mut names: Vec<&str> = library
        .stores
        .iter()
        .filter(|snapshot| snapshot.store.layout() == Layout::Instructions)
        .flat_map(|snapshot| snapshot.memories.iter().map(|memory| memory.title.as_str()))
        .collect();
    names.sort_unstable();
    names.dedup();
    names.join(" ")
}

fn store(snapshot: &StoreSnapshot, row: &TreeRow, theme: &Theme, width: usize) -> RowEnds<'static> {
    let muted = theme.style(Role::Muted);
    let mut label = vec![Span::styled(
        escape_line(snapshot.store.name()),
        theme.style(Role::Strong),
    )];
    let mut right = Vec::new();
    if snapshot.failure.is_some() {
        right.push(Span::styled("cannot be read", theme.style(Role::Warn)));
        return RowEnds { label, right };
    }
    if let Some(budget) = snapshot.index
        && width >= 34
    {
        right.extend(meter(budget, theme));
        right.push(Span::raw(" "));
    } else if snapshot.index.is_none() {
        let layout = snapshot.store.layout().name();
        if !snapshot.store.name().contains(layout) {
            label.push(Span::styled(format!("  {layout}"), muted));
        }
    }
    // As wide as most, so that the meters are below each other.
    right.push(Span::styled(format!("{:>3}", row.count), muted));
    RowEnds { label, right }
}

/// Draws how much of what an agent reads of an index is used, by lines or bytes, whichever is
/// more.
pub(super) fn meter(budget: Budget, theme: &Theme) -> Vec<Span<'static>> {
    let meter = Meter {
        percent: budget.percent(),
        cells: 4,
    };
    let mut spans = vec![Span::styled("index ", theme.style(Role::Muted))];
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
        assert_eq!(text(50, 100), "index 25 % ▰▱▱▱");
        assert_eq!(text(162, 100), "index 81 % ▰▰▰▱");
        assert_eq!(text(10, 24_400), "index 97 % ▰▰▰▱");
        assert_eq!(text(0, 0), "index 0 % ▱▱▱▱");
        assert_eq!(text(300, 0), "index 150 % ▰▰▰▰");
    }
}
