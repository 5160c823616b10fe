//! The help: the keys of the current place in groups, then those of the other places. It can be
//! searched.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::{scroll_text, scrolled_lines};
use crate::core::memory::config::EditorKeys;
use crate::tui::action::Action;
use crate::tui::cells;
use crate::tui::chrome::{Dialog, draw_lines, shown_lines};
use crate::tui::keymap::{KeyContext, Keymap, own_keys};
use crate::tui::layout::centred;
use crate::tui::model::PaneContext;
use crate::tui::pane::{Pane, Step};
use crate::tui::theme::{Role, Theme};
use crate::tui::widget::filter::RowFilter;

/// The places whose keys are listed.
const PLACES: [KeyContext; 12] = [
    KeyContext::Tree,
    KeyContext::Preview,
    KeyContext::Find,
    KeyContext::Log,
    KeyContext::Editor,
    KeyContext::History,
    KeyContext::Queue,
    KeyContext::Why,
    KeyContext::Curate,
    KeyContext::Combine,
    KeyContext::Timeline,
    KeyContext::Context,
];

/// The order of the groups of a place; movements, which most people know, come late.
const ORDER: [&str; 6] = [
    "find and open",
    "change",
    "mark and copy",
    "show",
    "move",
    "program",
];

/// The keys, group by group.
#[derive(Debug)]
pub(crate) struct HelpDialog {
    title: String,
    groups: Vec<HelpGroup>,
    scroll: usize,
    search: RowFilter,
}

#[derive(Debug)]
struct HelpGroup {
    title: String,
    rows: Vec<HelpRow>,
}

#[derive(Debug)]
struct HelpRow {
    keys: String,
    desc: String,
    /// Other words under which it is found.
    also: &'static str,
}

impl HelpDialog {
    pub(crate) fn new(keymap: &Keymap, context: KeyContext, editor: EditorKeys) -> Self {
        let mut groups = groups_of(keymap, context);
        let add_own_keys = |groups: &mut Vec<HelpGroup>| {
            for (title, rows) in own_keys(editor) {
                let rows = rows.iter().map(|(keys, desc)| HelpRow {
                    keys: (*keys).to_owned(),
                    desc: (*desc).to_owned(),
                    also: "",
                });
                groups.push(HelpGroup {
                    title: title.to_owned(),
                    rows: rows.collect(),
                });
            }
        };
        if context == KeyContext::Editor {
            add_own_keys(&mut groups);
        }
        for place in PLACES.into_iter().filter(|place| *place != context) {
            groups.extend(groups_of(keymap, place));
            if place == KeyContext::Editor {
                add_own_keys(&mut groups);
            }
        }
        Self {
            title: format!("help · {}", context.name()),
            groups,
            scroll: 0,
            search: RowFilter::default(),
        }
    }

    fn area(cx: &PaneContext<'_>) -> Rect {
        let whole = cx.areas.whole;
        centred(whole, 96, whole.height.saturating_sub(2))
    }

    /// The lines as wide as the dialog.
    fn fitted(&self, cx: &PaneContext<'_>) -> Vec<Line<'static>> {
        let width = Dialog::inner(Self::area(cx)).width;
        self.lines(cx.theme, usize::from(width))
    }

    /// The lines of the groups, or of those rows that have the words of the search.
    fn lines(&self, theme: &Theme, width: usize) -> Vec<Line<'static>> {
        // One column for all groups; the few longer keys take what they need.
        const COLUMN: usize = 16;
        const GAP: usize = 3;
        let mut lines = Vec::new();
        for group in &self.groups {
            let has = |row: &&HelpRow| {
                let all = format!("{} {} {} {}", group.title, row.keys, row.desc, row.also);
                self.search.shows(&all)
            };
            let rows: Vec<&HelpRow> = group.rows.iter().filter(has).collect();
            if rows.is_empty() {
                continue;
            }
            if !lines.is_empty() {
                lines.push(Line::default());
            }
            lines.push(Line::styled(
                group.title.clone(),
                theme.style(Role::HeadingMinor),
            ));
            for row in rows {
                let taken = cells::width(&row.keys);
                let gap = COLUMN.saturating_sub(taken) + GAP;
                let room = width.saturating_sub(taken + gap).max(8);
                let mut keys = row.keys.as_str();
                for part in cells::wrap(&row.desc, room) {
                    // Further lines of it are below the first.
                    let blank = taken + gap - cells::width(keys);
                    lines.push(Line::from(vec![
                        theme.span(keys.to_owned(), Role::KeyHint),
                        Span::raw(" ".repeat(blank)),
                        Span::raw(row.desc[part].trim_end().to_owned()),
                    ]));
                    keys = "";
                }
            }
        }
        if lines.is_empty() {
            lines.push(Line::styled(
                "No key has these words",
                theme.style(Role::Muted),
            ));
        }
        lines
    }
}

/// Returns the rows of a place by the kind of their actions.
fn groups_of(keymap: &Keymap, context: KeyContext) -> Vec<HelpGroup> {
    let mut groups: Vec<HelpGroup> = Vec::new();
    for row in keymap.rows(context) {
        if row.on.is_empty() {
            continue;
        }
        let title = format!("{} · {}", context.name(), row.run.group());
        let known = groups.iter().position(|group| group.title == title);
        let at = known.unwrap_or_else(|| {
            groups.push(HelpGroup {
                title,
                rows: Vec::new(),
            });
            groups.len() - 1
        });
        groups[at].rows.push(HelpRow {
            keys: row.keys(),
            desc: row.desc.clone(),
            also: row.run.also(),
        });
    }
    let rank = |group: &HelpGroup| {
        let mut order = ORDER.iter();
        order.position(|kind| group.title.ends_with(kind))
    };
    groups.sort_by_key(rank);
    groups
}

impl Pane for HelpDialog {
    fn key_context(&self) -> KeyContext {
        self.search.key_context(KeyContext::Help)
    }

    fn act(&mut self, action: Action, cx: &PaneContext<'_>) -> Option<Vec<Step>> {
        if let Some(steps) = self.act_on_filter(action, cx) {
            return Some(steps);
        }
        Some(match action {
            Action::Back => vec![Step::Close],
            action => match scrolled_lines(action, Self::area(cx)) {
                Some(lines) => self.scroll_by(lines, cx),
                None => Vec::new(),
            },
        })
    }

    fn filter(&mut self) -> Option<&mut RowFilter> {
        Some(&mut self.search)
    }

    fn filtered(&mut self, _cx: &PaneContext<'_>) -> Vec<Step> {
        self.scroll = 0;
        Vec::new()
    }

    fn scroll_by(&mut self, lines: isize, cx: &PaneContext<'_>) -> Vec<Step> {
        let count = self.fitted(cx).len();
        scroll_text(&mut self.scroll, lines, count, Self::area(cx));
        Vec::new()
    }

    fn dialog(&self, cx: &PaneContext<'_>) -> Option<Dialog> {
        let area = Self::area(cx);
        let inner = Dialog::inner(area);
        let search = self.search.title(" search ❯ ", cx.theme, inner.width / 2);
        let lines = self.fitted(cx).len();
        let right = search.or_else(|| shown_lines(self.scroll, inner.height, lines, cx.theme));
        let dialog = Dialog::new(cx, area, &self.title, self.key_context());
        Some(dialog.with_right(right).closed_outside())
    }

    fn view(&self, frame: &mut Frame<'_>, cx: &PaneContext<'_>) {
        let lines = self.fitted(cx).into_iter().skip(self.scroll);
        draw_lines(frame, Dialog::inner(Self::area(cx)), lines);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(help: &HelpDialog) -> String {
        let lines = help.lines(&Theme::default(), 90);
        let lines: Vec<String> = lines.iter().map(Line::to_string).collect();
        lines.join("\n")
    }

    #[test]
    fn the_help_is_grouped_and_has_the_keys_of_the_editor() {
        let keymap = Keymap::new();
        let help = HelpDialog::new(&keymap, KeyContext::Tree, EditorKeys::Readline);
        let shown = text(&help);
        for expected in [
            "tree · move",
            "tree · change",
            "rename: another name; links follow",
            "find in the text; Tab there replaces",
            "text objects",
            "Ctrl-G",
        ] {
            assert!(shown.contains(expected), "{expected}: {shown}");
        }
        assert!(shown.starts_with("tree"), "this place comes first");
        let help = HelpDialog::new(&keymap, KeyContext::Editor, EditorKeys::Vi);
        assert!(text(&help).starts_with("editor"));
    }

    #[test]
    fn keys_that_mark_are_together_and_what_they_do_is_aligned() {
        let help = HelpDialog::new(&Keymap::new(), KeyContext::Tree, EditorKeys::Readline);
        let text = text(&help);
        let group = text
            .split("\n\n")
            .find(|group| group.contains("mark and copy"));
        let group = group.unwrap_or_else(|| panic!("{text}"));
        for words in [
            "mark it, or a whole section",
            "mark a range: from",
            "invert the marks",
        ] {
            let line = group.lines().find(|line| line.contains(words));
            let line = line.unwrap_or_else(|| panic!("{words}: {group}"));
            assert_eq!(
                line.find(words).map(|at| line[..at].chars().count()),
                Some(19)
            );
        }
    }

    #[test]
    fn nothing_is_cut_on_a_screen_of_eighty_columns() {
        let words = |help: &HelpDialog, width: usize| {
            let lines = help.lines(&Theme::default(), width);
            let lines: Vec<String> = lines.iter().map(Line::to_string).collect();
            assert!(lines.iter().all(|line| cells::width(line) <= width));
            let words = lines.iter().flat_map(|line| line.split_whitespace());
            words.map(str::to_owned).collect::<Vec<String>>()
        };
        for keys in [EditorKeys::Readline, EditorKeys::Vi] {
            let help = HelpDialog::new(&Keymap::new(), KeyContext::Tree, keys);
            assert_eq!(words(&help, 76), words(&help, 200));
        }
    }

    #[test]
    fn the_help_can_be_searched_by_common_names() {
        let keymap = Keymap::new();
        let mut help = HelpDialog::new(&keymap, KeyContext::Tree, EditorKeys::Readline);
        help.search.act(Action::Filter);
        help.input().expect("typing").paste("exit");
        assert!(text(&help).contains("quit: leave tome"), "{}", text(&help));
        assert!(!text(&help).contains("rename"), "{}", text(&help));
        help.input().expect("typing").paste("zzz");
        assert_eq!(text(&help), "No key has these words");
    }
}
