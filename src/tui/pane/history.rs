//! The history: the changes of a memory or of all stores, newest first, with their diffs.

mod rows;

use ratatui::Frame;
use ratatui::crossterm::event::MouseEvent;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};

use self::rows::{ChangeState, HistoryRow};
use super::browse::tree::Key;
use super::list_text::{ListWithText, Parts, list_border};
use super::{Pane, Step, perform, plan, push, reveal, say, say_trouble};
use crate::core::change::history::{FileChange, Record};
use crate::core::change::{Change, ChangeVerb};
use crate::core::memory::store::StoreId;
use crate::core::text::display::format_age;
use crate::tui::action::Action;
use crate::tui::cells::{escape_line, fit};
use crate::tui::chrome::{
    KeyFocus, bordered, count, draw_note, line_counts, short_path, store_label, title_span,
};
use crate::tui::effect::{Effect, LibraryJob, Request};
use crate::tui::event::Event;
use crate::tui::keymap::KeyContext;
use crate::tui::model::PaneContext;
use crate::tui::overlay::chooser::{Chooser, ChooserOption};
use crate::tui::theme::Role;
use crate::tui::widget::diff::Diff;
use crate::tui::widget::filter::{FILTERED, RowFilter};
use crate::tui::widget::list::{List, RowLook};

/// The list of changes, and the diff of the selected one.
#[derive(Debug, Default)]
pub(crate) struct HistoryPane {
    /// The memory that was selected when the history was opened.
    memory: Option<(StoreId, String)>,
    /// Whether the changes of everything are listed, not only those of the memory.
    lists_all: bool,
    records: Option<Vec<Record>>,
    list: List<HistoryRow>,
    filter: RowFilter,
    /// The id of the change whose diff is displayed, and the diff.
    shown: Option<(String, Diff)>,
}

impl HistoryPane {
    /// Creates the history of a memory, or of everything.
    pub(crate) fn new(memory: Option<(StoreId, String)>) -> Self {
        Self {
            lists_all: memory.is_none(),
            memory,
            ..Self::default()
        }
    }

    /// The memory whose changes alone are listed.
    fn scope(&self) -> Option<&(StoreId, String)> {
        self.memory.as_ref().filter(|_| !self.lists_all)
    }

    /// Lists the changes again, with the cursor on the same one.
    fn lay_out(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        let mut rows = rows::rows(self.records(), self.scope());
        rows.retain(|row| {
            let record = &self.records()[row.record];
            let (who, verb) = (&record.author.who, record.verb.name());
            let text = format!("{who} {verb} {} {}", stores(record, cx), what(record));
            self.filter.shows(&text)
        });
        self.list.replace(rows, Self::parts(cx).height());
        self.load_diff()
    }

    fn records(&self) -> &[Record] {
        self.records.as_deref().unwrap_or_default()
    }

    fn record(&self) -> Option<&Record> {
        self.records().get(self.list.selected()?.record)
    }

    /// Undoes the change under the cursor, or makes it again if it is undone.
    fn undo_this(&self) -> Vec<Step> {
        let (Some(row), Some(record)) = (self.list.selected(), self.record()) else {
            return Vec::new();
        };
        let id = record.id.clone();
        let request = match row.state {
            ChangeState::Undone => Request::Redo(id),
            ChangeState::Made | ChangeState::Redone => Request::Undo(id),
        };
        plan(request)
    }

    /// Restores the only file of the change, that of the memory, or the one that is chosen.
    fn restore(&self, cx: &PaneContext<'_>) -> Vec<Step> {
        let Some(record) = self.record() else {
            return Vec::new();
        };
        let request = |only: Option<&FileChange>| Request::Restore {
            id: record.id.clone(),
            only: only.map(|file| (file.root.clone(), file.reference())),
        };
        let is_offered =
            |file: &&FileChange| file.after.is_some() || record.verb == ChangeVerb::Delete;
        let files: Vec<&FileChange> = asked_for(record).filter(is_offered).collect();
        let own = self.scope().and_then(|(store, path)| {
            let mut files = files.iter();
            files.find(|file| file.root == store.root() && file.reference() == *path)
        });
        match (own, files.as_slice()) {
            (Some(own), [_, _, ..]) => plan(request(Some(own))),
            (_, [] | [_]) => plan(request(None)),
            (None, several) => {
                let mut options = vec![ChooserOption {
                    label: format!("all {}", several.len()),
                    detail: String::new(),
                    step: Step::Plan(Box::new(request(None))),
                }];
                options.extend(several.iter().map(|file| ChooserOption {
                    label: file.reference(),
                    detail: store_name(file, cx),
                    step: Step::Plan(Box::new(request(Some(file)))),
                }));
                let chooser = Chooser::new("restore", options);
                push(chooser)
            }
        }
    }

    fn load_diff(&mut self) -> Vec<Step> {
        let id = self.record().map(|record| record.id.clone());
        id.map(|id| Step::Effect(Effect::Library(LibraryJob::Compare { id })))
            .into_iter()
            .collect()
    }

    fn open(&self, cx: &PaneContext<'_>) -> Vec<Step> {
        let Some(file_change) = self.record().and_then(|record| asked_for(record).next()) else {
            return Vec::new();
        };
        let snapshot = cx.library.stores.iter().find(|snapshot| {
            snapshot.store.root().path() == file_change.root
                && snapshot.store.layout() == file_change.layout
                && snapshot.memory(&file_change.reference()).is_some()
        });
        match snapshot {
            Some(snapshot) => {
                let key = Key::Memory(snapshot.store.id().clone(), file_change.reference());
                vec![Step::Close, reveal(key, None, None)]
            }
            None => say(format!(
                "{} is not there any more; restore brings it back",
                file_change.reference()
            )),
        }
    }

    fn line(&self, row: &HistoryRow, look: RowLook, cx: &PaneContext<'_>) -> Line<'static> {
        let theme = cx.theme;
        let muted = theme.style(Role::Muted);
        let record = &self.records()[row.record];
        let who = format!("{} · {}", record.author.who, record.author.door);
        let (added, removed) = asked_for(record).fold((0, 0), |(a, r), file_change| {
            (a + file_change.added, r + file_change.removed)
        });
        let state = match row.state {
            ChangeState::Made => "",
            ChangeState::Undone => "undone  ",
            ChangeState::Redone => "redone  ",
        };
        let left = vec![
            Span::styled(fit(&format_age(record.time, cx.now), 5), muted),
            Span::styled(fit(&escape_line(&who), 16), muted),
            theme.span(fit(record.verb.name(), 9), Role::Strong),
            Span::styled(
                format!("{} ", fit(&store_label(&stores(record, cx), STORE), STORE)),
                muted,
            ),
            theme.span(state, Role::Warn),
            Span::raw(escape_line(&what(record))),
        ];
        let mut right = line_counts(added, removed, theme);
        right.push(Span::raw(" "));
        look.line(1, left, right, theme)
    }
}

/// The width of the store's name.
const STORE: usize = 12;

/// The files of a change that are not generated.
fn asked_for(record: &Record) -> impl Iterator<Item = &FileChange> {
    let files = record.files.iter();
    files.filter(|file_change| !file_change.derived)
}

/// The name of the store of a file, or the end of its path if it is not there any more.
fn store_name(file: &FileChange, cx: &PaneContext<'_>) -> String {
    let id = StoreId::new(&file.root, file.layout);
    match cx.library.store_by_id(&id) {
        Some(snapshot) => snapshot.store.name().to_owned(),
        None => short_path(&file.root),
    }
}

fn stores(record: &Record, cx: &PaneContext<'_>) -> String {
    let mut names: Vec<String> = Vec::new();
    for file in record.files.iter().filter(|file| !file.is_own_note()) {
        let name = store_name(file, cx);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.join(", ")
}

/// Describes the files of a change briefly.
fn what(record: &Record) -> String {
    let asked: Vec<&FileChange> = asked_for(record).collect();
    let gone = asked.iter().find(|file_change| file_change.after.is_none());
    let come = asked
        .iter()
        .find(|file_change| file_change.before.is_none());
    if let (ChangeVerb::Rename, Some(from), Some(to)) = (record.verb, gone, come) {
        return format!("{} → {}", from.reference(), to.reference());
    }
    let mut names: Vec<String> = asked.iter().map(|file| file.reference()).collect();
    // What was moved to another store is one memory.
    names.dedup();
    match names.as_slice() {
        [] => "index".to_owned(),
        [one] => one.clone(),
        several => {
            let number = count(several.len(), "memory", "memories");
            format!("{number}: {}", several.join(", "))
        }
    }
}

impl ListWithText for HistoryPane {
    type Row = HistoryRow;

    fn list(&mut self) -> &mut List<HistoryRow> {
        &mut self.list
    }

    fn selected_other(&mut self, _cx: &PaneContext<'_>) -> Vec<Step> {
        self.load_diff()
    }

    /// The list is above the diff.
    fn parts(cx: &PaneContext<'_>) -> Parts {
        let body = cx.areas.body;
        let [list, text] = if cx.areas.is_zoomed {
            [Rect::default(), body]
        } else {
            Layout::vertical([Constraint::Percentage(45), Constraint::Min(3)]).areas(body)
        };
        Parts { list, text }
    }
}

impl Pane for HistoryPane {
    fn key_context(&self) -> KeyContext {
        self.filter.key_context(KeyContext::History)
    }

    fn scroll_by(&mut self, lines: isize, cx: &PaneContext<'_>) -> Vec<Step> {
        let area = Self::parts(cx).inner_text();
        if let Some((_, diff)) = &mut self.shown {
            diff.scroll(lines, area.width, area.height);
        }
        Vec::new()
    }

    fn act(&mut self, action: Action, cx: &PaneContext<'_>) -> Option<Vec<Step>> {
        if let Some(steps) = self.act_on_list(action, cx) {
            return Some(steps);
        }
        Some(match action {
            Action::UndoThis => self.undo_this(),
            Action::Restore => self.restore(cx),
            Action::AllChanges if self.memory.is_none() => {
                say("Go to a memory first to see its changes alone")
            }
            Action::AllChanges => {
                self.lists_all = !self.lists_all;
                self.lay_out(cx)
            }
            Action::Open => self.open(cx),
            Action::Back => vec![Step::Close],
            _ => return None,
        })
    }

    fn filter(&mut self) -> Option<&mut RowFilter> {
        Some(&mut self.filter)
    }

    fn filtered(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        self.lay_out(cx)
    }

    fn mouse(&mut self, mouse: MouseEvent, cx: &PaneContext<'_>) -> Vec<Step> {
        self.list_mouse(mouse, cx)
    }

    fn on_event(&mut self, event: &Event, cx: &PaneContext<'_>) -> Vec<Step> {
        match event {
            Event::HistoryLoaded(records) => {
                self.records = Some(records.clone());
                self.lay_out(cx)
            }
            Event::Compared { id, result } => match result {
                Ok(edits) => {
                    let change = Change {
                        verb: ChangeVerb::Edit,
                        message: String::new(),
                        edits: edits.clone(),
                        of: None,
                        rejected: Vec::new(),
                    };
                    self.shown = Some((id.clone(), Diff::new(&change)));
                    Vec::new()
                }
                Err(error) => say_trouble(error.to_string()),
            },
            Event::Committed { result: Ok(_), .. } => perform(Effect::Library(LibraryJob::Records)),
            _ => Vec::new(),
        }
    }

    fn title(&self, _cx: &PaneContext<'_>) -> Option<String> {
        let about = match self.scope() {
            Some((_, path)) => path.as_str(),
            None => "everything",
        };
        let changes = count(self.list.rows().len(), "change", "changes");
        Some(format!("history · {about} · {changes}"))
    }

    fn offers(&self, action: Action) -> bool {
        match action {
            Action::UndoThis | Action::Restore | Action::Open => self.list.selected().is_some(),
            Action::Filter => self.filter.is_set() || !self.list.rows().is_empty(),
            Action::AllChanges => self.memory.is_some(),
            _ => true,
        }
    }

    fn is_fullscreen(&self) -> bool {
        true
    }

    fn view(&self, frame: &mut Frame<'_>, cx: &PaneContext<'_>) {
        let theme = cx.theme;
        let parts = Self::parts(cx);
        if parts.list.area() > 0 {
            let (filter, area) = (&self.filter, parts.list);
            let block = list_border(KeyFocus::Here, "history", filter, area, theme);
            frame.render_widget(block, area);
        }
        if self.list.rows().is_empty() {
            let key = cx.keymap.key(KeyContext::History, Action::AllChanges);
            let text = match (&self.records, self.scope()) {
                (None, _) => "reading…".to_owned(),
                (Some(_), _) if !self.filter.shows("") => FILTERED.to_owned(),
                (Some(_), Some((_, path))) => format!(
                    "{path} was not changed here yet. {} lists all changes.",
                    key.unwrap_or_default()
                ),
                (Some(_), None) => {
                    "Nothing was changed here yet. What you change will be listed, and can be undone."
                        .to_owned()
                }
            };
            draw_note(frame, parts.rows(), &escape_line(&text), theme);
        }
        let line = |row: &HistoryRow, look| self.line(row, look, cx);
        self.list.draw(frame, parts.rows(), line);
        let block = bordered(theme, KeyFocus::Elsewhere).title(title_span(theme, "what it did"));
        frame.render_widget(block, parts.text);
        let record = self.record().map(|record| record.id.as_str());
        if let Some((id, shown)) = &self.shown
            && record == Some(id)
        {
            let text = parts.inner_text();
            frame.render_widget(shown.view(theme, text.width), text);
        }
    }
}
