//! The review of a planned change before it is made: its files and lines.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::text::Line;

use super::scrolled_lines;
use crate::core::change::{BrokenLinks, Change, ChangeVerb};
use crate::tui::action::Action;
use crate::tui::cells;
use crate::tui::chrome::{Dialog, count, draw_lines, shown_lines};
use crate::tui::effect::{Effect, Request, WriteJob};
use crate::tui::keymap::KeyContext;
use crate::tui::layout::centred;
use crate::tui::model::PaneContext;
use crate::tui::pane::{Pane, Step};
use crate::tui::theme::{Role, Theme};
use crate::tui::widget::diff::Diff;

/// Shows a change for confirmation.
#[derive(Debug)]
pub(crate) struct ReviewDialog {
    request: Box<Request>,
    change: Change,
    diff: Diff,
    /// Consequences that the diff does not show.
    notes: Vec<String>,
}

impl ReviewDialog {
    pub(crate) fn new(request: Box<Request>, change: Change, notes: Vec<String>) -> Self {
        let diff = Diff::new(&change).unfolded();
        Self {
            request,
            change,
            diff,
            notes,
        }
    }

    fn wrapped_notes(&self, width: u16, theme: &Theme) -> Vec<Line<'static>> {
        let sizes = self.change.index_sizes();
        let notes = self.notes.iter().flat_map(|note| {
            let is_size = sizes.iter().any(|(_, size)| note.ends_with(size));
            let role = if is_size { Role::Muted } else { Role::Warn };
            let lines = cells::wrapped(note, usize::from(width)).into_iter();
            lines.map(move |line| theme.line(line, role))
        });
        notes.collect()
    }

    /// The rows that the notes leave for the difference.
    fn diff_height(&self, cx: &PaneContext<'_>) -> u16 {
        let inner = Dialog::inner(self.area(cx));
        let noted = self.wrapped_notes(inner.width, cx.theme).len();
        inner
            .height
            .saturating_sub(u16::try_from(noted).unwrap_or(0))
    }

    /// What the change does, for the title.
    fn name(&self) -> String {
        let asked = self.change.edits.iter().filter(|edit| !edit.derived);
        let number = asked.count();
        if let Some(fixed) = self.fixed() {
            return format!("fix {}", count(fixed, "finding", "findings"));
        }
        if let Request::Generalize { from, .. } = &*self.request {
            return format!(
                "derive a principle from {}",
                count(from.len(), "lesson", "lessons")
            );
        }
        if let Request::Delete(stores) = &*self.request {
            let paths: Vec<&String> = stores.iter().flat_map(|(_, paths)| paths).collect();
            return match paths.as_slice() {
                [one] if !self.change.edits.iter().any(|edit| edit.after.is_none()) => {
                    let slug = one.rsplit('#').next().unwrap_or(one);
                    format!("delete the entry {slug}")
                }
                paths => format!("delete {}", count(paths.len(), "memory", "memories")),
            };
        }
        if let Some(rejected) = self.rejected() {
            return format!("reject{rejected}");
        }
        match self.change.verb {
            ChangeVerb::Delete => format!("delete {}", count(number, "memory", "memories")),
            ChangeVerb::Edit | ChangeVerb::Write => {
                format!("save {}", count(self.change.edits.len(), "file", "files"))
            }
            ChangeVerb::Merge => {
                let gone = self.change.edits.iter().filter(|edit| edit.after.is_none());
                format!("merge {}", count(gone.count() + 1, "memory", "memories"))
            }
            ChangeVerb::Move => {
                let moved = self.change.edits.iter().filter(|edit| !edit.derived);
                let new = moved.filter(|edit| edit.before.is_none());
                format!("move {}", count(new.count(), "memory", "memories"))
            }
            _ if self.is_revert() => format!("revert {}", count(number, "file", "files")),
            verb => verb.name().to_owned(),
        }
    }

    /// How many findings it fixes; `None` if it is no fix.
    fn fixed(&self) -> Option<usize> {
        match &*self.request {
            Request::Fix(stores) => Some(stores.iter().map(|(_, findings)| findings.len()).sum()),
            _ => None,
        }
    }

    /// Whether it takes back what waits for review.
    fn is_revert(&self) -> bool {
        matches!(*self.request, Request::Revert(_))
    }

    /// What it rejects, and who sent that; `None` if it does more than that.
    fn rejected(&self) -> Option<&str> {
        let is_rejecting = self.is_revert() && !self.change.rejected.is_empty();
        let message = self.change.message.strip_prefix("Rejected");
        message.filter(|_| is_rejecting)
    }

    /// The name of the act, for its key.
    fn act_name(&self) -> String {
        match self.change.verb {
            _ if self.fixed().is_some() => "fix".to_owned(),
            _ if matches!(*self.request, Request::Generalize { .. }) => "save".to_owned(),
            ChangeVerb::Edit | ChangeVerb::Write => "save".to_owned(),
            ChangeVerb::Delete => self.name(),
            _ if self.rejected().is_some() => "reject".to_owned(),
            _ if self.is_revert() => "revert".to_owned(),
            verb => verb.name().to_owned(),
        }
    }

    /// The same move, with its links treated the other way.
    fn with_other_links(&self) -> Vec<Step> {
        let mut request = self.request.clone();
        if let Request::Move { links, .. } = &mut *request {
            *links = match links {
                BrokenLinks::Follow => BrokenLinks::Leave,
                BrokenLinks::Leave => BrokenLinks::Follow,
            };
        }
        vec![Step::Close, Step::Plan(request)]
    }

    fn area(&self, cx: &PaneContext<'_>) -> Rect {
        let whole = cx.areas.whole;
        let width = (whole.width * 9 / 10).min(104);
        let lines = self.diff.lines(cx.theme, width.saturating_sub(4));
        let noted = self.wrapped_notes(width.saturating_sub(4), cx.theme).len();
        let rows = u16::try_from(lines.len() + noted).unwrap_or(u16::MAX);
        centred(whole, width, rows.saturating_add(2))
    }
}

impl Pane for ReviewDialog {
    /// A deletion is confirmed with another key than Enter.
    fn key_context(&self) -> KeyContext {
        match (&*self.request, self.change.verb) {
            (Request::Move { .. }, _) => KeyContext::Moving,
            (_, ChangeVerb::Delete) => KeyContext::Deleting,
            _ => KeyContext::Review,
        }
    }

    fn act(&mut self, action: Action, cx: &PaneContext<'_>) -> Option<Vec<Step>> {
        Some(match action {
            Action::Confirm => vec![
                Step::Close,
                Step::Effect(Effect::Write(WriteJob::Commit {
                    request: self.request.clone(),
                    change: Box::new(self.change.clone()),
                })),
            ],
            Action::Open => {
                self.diff.toggle_all();
                self.scroll_by(0, cx)
            }
            Action::KeepLinks => self.with_other_links(),
            Action::Back => vec![Step::Close],
            action => match scrolled_lines(action, self.area(cx)) {
                Some(lines) => self.scroll_by(lines, cx),
                None => Vec::new(),
            },
        })
    }

    /// A click on the name of a file folds or unfolds it.
    fn click(&mut self, at: Position, cx: &PaneContext<'_>) -> Vec<Step> {
        let area = self.area(cx);
        if area.contains(at) && at.y > area.y {
            let line = usize::from(at.y - area.y - 1) + self.diff.top();
            if let Some(file) = self.diff.head_at(line, area.width.saturating_sub(4)) {
                self.diff.toggle(file);
            }
        }
        Vec::new()
    }

    fn scroll_by(&mut self, lines: isize, cx: &PaneContext<'_>) -> Vec<Step> {
        let width = Dialog::inner(self.area(cx)).width;
        self.diff.scroll(lines, width, self.diff_height(cx));
        Vec::new()
    }

    fn dialog(&self, cx: &PaneContext<'_>) -> Option<Dialog> {
        let area = self.area(cx);
        let inner = Dialog::inner(area);
        let lines = self.diff.lines(cx.theme, inner.width).len();
        let place = shown_lines(self.diff.top(), self.diff_height(cx), lines, cx.theme);
        let dialog = Dialog::new(cx, area, self.name(), self.key_context());
        let dialog = dialog.with_word(Action::Confirm, &self.act_name());
        Some(dialog.with_right(place))
    }

    fn view(&self, frame: &mut Frame<'_>, cx: &PaneContext<'_>) {
        let inner = Dialog::inner(self.area(cx));
        let noted = self.wrapped_notes(inner.width, cx.theme);
        let rows = u16::try_from(noted.len()).unwrap_or(0).min(inner.height);
        let [diff, notes] =
            Layout::vertical([Constraint::Min(0), Constraint::Length(rows)]).areas(inner);
        frame.render_widget(self.diff.view(cx.theme, diff.width), diff);
        draw_lines(frame, notes, noted);
    }
}
