//! Drawing of the tree and its rows, what the preview shows of a group, and the screen without any
//! stores and logs: where they were searched, and what to do.

use std::path::Path;

use ratatui::Frame;
use ratatui::layout::{Alignment, Margin, Rect};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Paragraph, Wrap};

use super::BrowsePane;
use super::tree::{Fold, Key, Node, Order, Sort, Tree, TreeRow};
use crate::core::insight::ledger::Account;
use crate::core::memory::FileKind;
use crate::core::memory::layout::Layout;
use crate::core::memory::library::{Budget, Library, StoreSnapshot};
use crate::core::memory::store::StoreId;
use crate::core::text::display::{format_age, format_size};
use crate::tui::action::Action;
use crate::tui::cells::{cut, escape_line};
use crate::tui::chrome::{
    KeyFocus, bordered, count, marked_rows, short_path, store_label, title_span,
};
use crate::tui::keymap::KeyContext;
use crate::tui::layout::{Focus, MEASURE, inside};
use crate::tui::model::PaneContext;
use crate::tui::pane::preview::PreviewContent;
use crate::tui::theme::{Role, Theme};
use crate::tui::widget::list::RowLook;
use crate::tui::widget::markdown::plain_line;
use crate::tui::widget::meter::Meter;

/// The width from which on there is room for what a memory is about beside its title.
const WIDE: usize = 70;

const COLUMN: usize = 13;

/// The left and right text of a row.
struct RowEnds<'a> {
    label: Vec<Span<'a>>,
    right: Vec<Span<'a>>,
}

impl BrowsePane {
    pub(super) fn keys(&self, focus: Focus) -> KeyFocus {
        KeyFocus::of(self.focus == focus)
    }

    pub(super) fn view_tree(&self, frame: &mut Frame<'_>, cx: &PaneContext<'_>) {
        let theme = cx.theme;
        let area = cx.areas.tree;
        let title = match self.options.order {
            Some(order) => format!("memory · all stores, {}", order.name()),
            None => "memory".to_owned(),
        };
        let mut block = bordered(theme, self.keys(Focus::Tree)).title(title_span(theme, &title));
        let marked = self.marked();
        if let Some(marks) = marked_rows(marked.len(), theme) {
            block = block.title_bottom(marks);
        }
        let room = area.width.saturating_sub(20);
        if let Some(filter) = self.filter.title(" filter ❯ ", theme, room) {
            block = block.title(filter.right_aligned());
        }
        let rows = inside(area);
        frame.render_widget(block, area);
        if self.tree.rows.is_empty() {
            self.view_no_rows(frame, rows, cx);
            return;
        }
        let line = |at: usize, look| {
            let row = &self.tree.rows[at];
            let is_marked = self.is_marked(row, &marked);
            self.line(row, RowLook { is_marked, ..look }, cx)
        };
        self.cursor.draw(frame, rows, self.tree.rows.len(), line);
        self.view_filter_cursor(frame, cx);
    }

    /// Places the terminal's cursor in the filter while typing.
    fn view_filter_cursor(&self, frame: &mut Frame<'_>, cx: &PaneContext<'_>) {
        let area = cx.areas.tree;
        let room = area.width.saturating_sub(20);
        let typed = self.filter.line(cx.theme, room);
        if let Some((line, column)) = typed.filter(|_| self.filter.is_typing() && cx.is_top) {
            let width = u16::try_from(line.width()).unwrap_or(room);
            let x = (area.right().saturating_sub(2 + width)).saturating_add(column);
            frame.set_cursor_position((x.min(area.right().saturating_sub(1)), area.y));
        }
    }

    pub(super) fn line(&self, row: &TreeRow, look: RowLook, cx: &PaneContext<'_>) -> Line<'static> {
        let theme = cx.theme;
        let mark = if look.is_marked {
            theme.span("✓", Role::Accent)
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
        left.push(theme.span(fold, Role::Muted));
        let ends = self.ends(row, cx, look.width);
        left.extend(ends.label);
        let mut right = vec![Span::raw(" ")];
        right.extend(ends.right);
        right.push(Span::raw(" "));
        look.line(0, left, right, theme)
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
                let shared = self.shared.get(snapshot.store.id());
                let shared = shared.map(|held_back| match held_back {
                    0 => theme.span("⇅ ", Role::Muted),
                    some => theme.span(format!("⇅ {some} held back "), Role::Warn),
                });
                let waiting = self.review_count(is_own, theme);
                let marks: Vec<Span<'_>> = waiting.into_iter().chain(shared).collect();
                let taken: usize = marks.iter().map(Span::width).sum();
                let mut ends = store(snapshot, row, theme, width.saturating_sub(taken));
                ends.right.splice(0..0, marks);
                ends
            }
            Node::Group(_, group) => {
                let group = &self.tree.groups[group];
                let style = match &group.category {
                    Some(category) => theme.badge(category),
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
            Node::Memory(at, of) => self.memory(at, of, cx, width),
            Node::Entry(at, of, entry) => {
                let entry = &self.library.stores[at].memories[of].entries[entry];
                RowEnds {
                    label: vec![Span::raw(escape_line(&entry.title))],
                    right: vec![Span::styled(entry.date.clone().unwrap_or_default(), muted)],
                }
            }
            Node::Instructions => RowEnds {
                label: vec![
                    theme.span("instructions", Role::Strong),
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
                label: vec![theme.span("sessions", Role::Strong)],
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
        let waiting: usize = own.map(|(_, waiting)| waiting.count).sum();
        let text = format!("{waiting} to review  ");
        (waiting > 0).then(|| theme.span(text, Role::Warn))
    }

    fn memory(&self, at: usize, of: usize, cx: &PaneContext<'_>, width: usize) -> RowEnds<'static> {
        let theme = cx.theme;
        let snapshot = &self.library.stores[at];
        let memory = &snapshot.memories[of];
        let mut label = vec![Span::raw(escape_line(&memory.title))];
        if memory.kind == FileKind::Instructions {
            let place = short_path(snapshot.store.root().path());
            label.push(theme.span(format!("  {place}"), Role::Muted));
        }
        if width >= WIDE && !memory.summary.is_empty() && memory.summary != memory.title {
            let summary = format!("  {}", escape_line(&plain_line(&memory.summary)));
            label.push(theme.span(summary, Role::Muted));
        }
        let mut right = Vec::new();
        let file = snapshot.store.rules().file_of(&memory.path);
        let waiting = self.to_review.get(snapshot.store.id());
        if waiting.is_some_and(|waiting| waiting.paths.contains(&file)) {
            right.push(theme.span("● ", Role::Warn));
        }
        if memory.problem.is_some() {
            right.push(theme.span("! ", Role::Warn));
        } else if snapshot.unlisted.contains(&memory.path) {
            right.push(theme.span("not in index ", Role::Warn));
        }
        let is_by_size = match self.options.order {
            Some(order) => order == Order::Largest,
            None => self.options.sort == Sort::Size,
        };
        let account = || cx.ledger.account(snapshot.store.id(), &memory.path, None);
        let detail = match self.options.order {
            Some(Order::Unread) => match account().filter(|account| account.uses() > 0) {
                Some(Account { last_use, .. }) => {
                    last_use.map_or(String::new(), |time| format_age(time, cx.now))
                }
                None => "never".to_owned(),
            },
            Some(Order::Corrected) => account()
                .map_or(0, |account| account.corrected.len())
                .to_string(),
            _ if is_by_size => format_size(memory.size),
            _ => format_age(cx.ledger.last_change(snapshot.store.id(), memory), cx.now),
        };
        let is_here = |row: &TreeRow| matches!(row.node, Node::Memory(store, _) if store == at);
        if self.options.order.is_some() && !self.tree.rows.iter().all(is_here) {
            // A column of its own, so that names are either whole or cut at the same place.
            let widest = (usize::from(cx.areas.tree.width) / 4).clamp(6, 24);
            let name = store_label(snapshot.store.name(), widest);
            let column = format!("{name}  {detail:>4}");
            right.push(theme.span(column, Role::Muted));
        } else {
            right.push(theme.span(detail, Role::Muted));
        }
        RowEnds { label, right }
    }

    /// The key of the row under the cursor.
    pub(super) fn selected(&self) -> Option<Key> {
        let row = self.tree.rows.get(self.cursor.selected)?;
        Some(self.tree.key(&self.library, row))
    }

    /// The label of a group, and a short description.
    fn group_label(&self, node: Node) -> Option<(String, String)> {
        Some(match node {
            Node::Group(at, group) => {
                let group = &self.tree.groups[group];
                let store = self.library.stores[at].store.name();
                (group.label.clone(), store.to_owned())
            }
            Node::Instructions => (
                "instructions".to_owned(),
                "what agents read at every start".to_owned(),
            ),
            Node::Sessions => ("sessions".to_owned(), "raw conversations".to_owned()),
            Node::Agent(first) => (
                self.library.logs[first].agent.name().to_owned(),
                "raw conversations".to_owned(),
            ),
            Node::LogGroup(at) => (self.library.logs[at].project.clone(), String::new()),
            Node::Log(at, log) => {
                let log = &self.library.logs[at].logs[log];
                (log.title.clone(), log.file.path.display().to_string())
            }
            Node::Store(_) | Node::Memory(..) | Node::Entry(..) => return None,
        })
    }

    /// The tree with the group under the cursor unfolded, and the row of that group; `None` if it
    /// is not folded.
    fn unfolded_here(&self) -> Option<(Tree, usize)> {
        let row = self.tree.rows.get(self.cursor.selected)?;
        let has_memories = matches!(row.node, Node::Group(..) | Node::Instructions);
        if !has_memories || row.fold != Some(Fold::Closed) {
            return None;
        }
        let key = self.tree.key(&self.library, row);
        let mut options = self.options.clone();
        options.folds.insert(key.clone(), Fold::Open);
        let tree = Tree::of(&self.library, &options);
        let at = tree.find(&self.library, &key)?;
        Some((tree, at))
    }

    /// Lists the rows of a group as a text.
    pub(super) fn contents(&self, node: Node) -> PreviewContent {
        let unfolded = self.unfolded_here();
        let (tree, at) = match &unfolded {
            Some((tree, at)) => (tree, *at),
            None => (&self.tree, self.cursor.selected),
        };
        let depth = tree.rows[at].depth;
        let Some((title, facts)) = self.group_label(node) else {
            return PreviewContent::default();
        };
        let below = tree.rows[at + 1..]
            .iter()
            .take_while(|row| row.depth > depth);
        let lines: Vec<String> = below
            .filter_map(|row| match row.node {
                Node::Memory(at, of) => Some(&self.library.stores[at].memories[of]),
                _ => None,
            })
            .take(500)
            .map(|memory| match memory.summary.as_str() {
                "" => format!("- **{}**\n", memory.title),
                summary => format!("- **{}** — {summary}\n", memory.title),
            })
            .collect();
        let row = &self.tree.rows[self.cursor.selected];
        let category = match node {
            Node::Group(_, group) => self.tree.groups[group].category.clone(),
            _ => None,
        };
        let what = match node {
            Node::Sessions | Node::Agent(_) | Node::LogGroup(_) => {
                count(row.count, "session", "sessions")
            }
            Node::Instructions => count(row.count, "file", "files"),
            Node::Log(..) => String::new(),
            _ => count(row.count, "memory", "memories"),
        };
        let text = lines.concat();
        PreviewContent {
            title,
            category,
            facts: [what, facts]
                .into_iter()
                .filter(|fact| !fact.is_empty())
                .collect::<Vec<_>>()
                .join(" · "),
            source: text.clone(),
            text,
            first_line: 1,
            ..PreviewContent::default()
        }
    }

    /// Whether there are no rows, no filter, and no reading in progress.
    pub(super) fn has_nothing_to_show(&self, cx: &PaneContext<'_>) -> bool {
        self.loaded && self.tree.rows.is_empty() && !self.filter.is_set() && cx.reading.is_none()
    }

    /// Draws a tree whose rows are not loaded yet or do not match the filter.
    pub(super) fn view_no_rows(&self, frame: &mut Frame<'_>, area: Rect, cx: &PaneContext<'_>) {
        let text = if self.filter.is_set() {
            Text::from(vec![
                Line::from("Nothing here has these words."),
                Line::from("Esc shows everything again."),
            ])
        } else {
            Text::from("reading…")
        };
        let text = text.style(cx.theme.style(Role::Muted));
        let paragraph = Paragraph::new(text)
            .wrap(Wrap { trim: true })
            .alignment(Alignment::Center);
        let top = area.height / 4;
        let middle = Rect {
            y: area.y + top,
            height: area.height - top,
            ..area
        };
        frame.render_widget(paragraph, middle);
    }

    /// Draws the screen of a first start, without stores and logs.
    pub(super) fn view_nothing(&self, frame: &mut Frame<'_>, cx: &PaneContext<'_>) {
        let theme = cx.theme;
        let area = cx.areas.body;
        frame.render_widget(bordered(theme, KeyFocus::Here), area);
        let muted = theme.style(Role::Muted);
        let act = |action, what: &'static str| {
            let key = cx.keymap.key(KeyContext::Tree, action).unwrap_or_default();
            Line::from(vec![
                theme.span(format!("{key:<COLUMN$} "), Role::KeyHint),
                Span::styled(what, muted),
            ])
        };
        let mut lines = vec![
            Line::styled(
                "No agent remembers anything here yet.",
                theme.style(Role::Heading),
            ),
            Line::default(),
        ];
        if !self.library.firsts.is_empty() {
            lines.push(act(
                Action::New,
                "write the first memory; its store is made",
            ));
        }
        lines.extend([
            act(Action::Demo, "look at a sample, a small shop"),
            act(Action::Reload, "look again"),
            act(Action::Help, "the keys"),
            act(Action::Scope, "everything, as `tome --all` does"),
            Line::default(),
            Line::styled("tome looked for", theme.style(Role::HeadingMinor)),
        ]);
        let inside = area.inner(Margin::new(3, 1));
        let width = inside.width.min(MEASURE);
        let room = usize::from(width).saturating_sub(COLUMN + 1);
        for row in &cx.user.searched_places {
            lines.push(Line::from(vec![
                Span::raw(format!("{:<COLUMN$} ", row.owner)),
                Span::styled(cut(&row.locations.join("  "), room), muted),
            ]));
        }
        let height = u16::try_from(lines.len()).unwrap_or(u16::MAX);
        let text = Rect {
            y: inside.y + inside.height.saturating_sub(height) / 3,
            width,
            ..inside
        };
        let text = text.intersection(inside);
        frame.render_widget(Paragraph::new(lines), text);
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
    let name = |room: usize| {
        let name = store_label(snapshot.store.name(), room);
        vec![theme.span(name, Role::Strong)]
    };
    let mut right = Vec::new();
    if snapshot.failure.is_some() {
        right.push(theme.span("cannot be read", Role::Warn));
        let label = name(width.saturating_sub(24));
        return RowEnds { label, right };
    }
    let mut layout_name = None;
    if let Some(budget) = snapshot.budget()
        && width >= 34
    {
        right.extend(meter(budget, theme));
        right.push(Span::raw(" "));
    } else if snapshot.index.is_none() {
        let layout = snapshot.store.layout().name();
        if !snapshot.store.name().contains(layout) {
            layout_name = Some(Span::styled(format!("  {layout}"), muted));
        }
    }
    // As wide as most, so that the meters are below each other.
    right.push(Span::styled(format!("{:>3}", row.count), muted));
    // The bar, the mark, the fold and a blank before each end.
    let taken: usize = right.iter().map(Span::width).sum::<usize>() + 6;
    let mut label = name(width.saturating_sub(taken));
    label.extend(layout_name);
    RowEnds { label, right }
}

/// Draws how much of what an agent reads of an index is used, by lines or characters, whichever is
/// more.
pub(super) fn meter(budget: Budget, theme: &Theme) -> Vec<Span<'static>> {
    let meter = Meter {
        percent: budget.percent(),
        cells: 4,
    };
    let mut spans = vec![theme.span("index ", Role::Muted)];
    spans.extend(meter.line(theme).spans);
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_meter_shows_the_nearer_limit() {
        let text = |lines, characters| -> String {
            let spans = meter(Budget { lines, characters }, &Theme::default());
            spans.iter().map(|span| span.content.as_ref()).collect()
        };
        assert_eq!(text(50, 100), "index 25 % ▰▱▱▱");
        assert_eq!(text(162, 100), "index 81 % ▰▰▰▱");
        assert_eq!(text(10, 24_400), "index 98 % ▰▰▰▱");
        assert_eq!(text(0, 0), "index 0 % ▱▱▱▱");
        assert_eq!(text(300, 0), "index 150 % ▰▰▰▰");
    }
}
