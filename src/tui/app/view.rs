//! Drawing of the app: the title line, the panes, the status line.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use super::App;
use crate::core::memory::discover::DiscoveryScope;
use crate::tui::action::Action;
use crate::tui::cells::{self, cut, escape_line};
use crate::tui::chrome::{Hint, count, two_ends};
use crate::tui::keymap::{KeyContext, editor_hints};
use crate::tui::model::PaneContext;
use crate::tui::pane::Tone;
use crate::tui::panics::draw_guarded;
use crate::tui::theme::Role;

impl App {
    /// Draws into a frame, whose size may have changed since the last event.
    pub(crate) fn draw(&mut self, frame: &mut Frame<'_>) {
        let is_drawn = draw_guarded(self.is_broken, || {
            if frame.area() != self.areas.whole {
                self.resize(frame.area().as_size());
            }
            self.view(frame);
        });
        self.is_broken = !is_drawn;
        if !is_drawn {
            let key = self.panes.last().and_then(|top| {
                let key = self.keymap.key(top.key_context(), Action::Back);
                key.map(|key| format!("; {key} leads back"))
            });
            let text = format!("This could not be drawn{}", key.unwrap_or_default());
            frame.buffer_mut().reset();
            let line = self.theme.line(text, Role::Warn);
            frame.render_widget(line, frame.area());
        }
    }

    pub(super) fn view(&self, frame: &mut Frame<'_>) {
        let cx = self.pane_context();
        self.view_title(frame, self.areas.title);
        let ground = self.panes.iter().rposition(|pane| pane.is_fullscreen());
        let last = self.panes.len().saturating_sub(1);
        let shown = self.panes.iter().enumerate().skip(ground.unwrap_or(0));
        for (at, pane) in shown {
            if at == last && !pane.is_fullscreen() {
                self.dim(frame.buffer_mut());
            }
            let is_top = at == last;
            let cx = PaneContext { is_top, ..cx };
            if let Some(dialog) = pane.dialog(&cx) {
                dialog.draw(frame, &self.theme);
            }
            pane.view(frame, &cx);
        }
        self.view_status(frame, self.areas.status);
    }

    /// Dims everything below a dialog: its words, and its lines further than its words.
    fn dim(&self, buffer: &mut Buffer) {
        let style = |role| self.theme.style(role);
        let lines = [Role::Border, Role::BorderFocused, Role::Rule].map(|role| style(role).fg);
        for position in self.areas.whole.intersection(buffer.area).positions() {
            let cell = &mut buffer[position];
            let is_line = lines.contains(&Some(cell.fg));
            cell.set_style(style(if is_line { Role::Border } else { Role::Muted }));
        }
    }

    fn view_title(&self, frame: &mut Frame<'_>, area: Rect) {
        let theme = &self.theme;
        let cx = self.pane_context();
        let ground = self.panes.iter().rev().find(|pane| pane.is_fullscreen());
        let place = ground
            .and_then(|pane| pane.title(&cx))
            .unwrap_or_else(|| self.scope_title());
        let (to_review, facts) = self.title_ends();
        let line = two_ends(
            vec![
                theme.span(" tome", Role::Accent),
                Span::raw("   "),
                theme.span(escape_line(&place), Role::Strong),
            ],
            vec![
                theme.span(to_review, Role::Warn),
                theme.span(facts, Role::Muted),
            ],
            usize::from(area.width),
            theme.style(Role::Text),
        );
        frame.render_widget(line, area);
    }

    /// The end of the title line: how many files wait for review, and the other facts.
    fn title_ends(&self) -> (String, String) {
        let ground = self.panes.iter().rev().find(|pane| pane.is_fullscreen());
        let facts = ground
            .and_then(|pane| pane.facts())
            .unwrap_or_else(|| self.facts());
        let is_tree = ground.is_some_and(|pane| {
            let context = pane.key_context();
            matches!(context, KeyContext::Tree | KeyContext::Preview)
        });
        match self
            .to_review
            .values()
            .map(|waiting| waiting.count)
            .sum::<usize>()
        {
            number if number > 0 && is_tree => {
                (format!("{number} to review"), format!(" · {facts} "))
            }
            _ => (String::new(), format!("{facts} ")),
        }
    }

    /// The action of what the mouse is pressed on: a hint in the status line or on the border of
    /// a dialog, or the number of files to review.
    pub(super) fn action_at(&self, mouse: MouseEvent) -> Option<Action> {
        if mouse.kind != MouseEventKind::Down(MouseButton::Left) {
            return None;
        }
        let at = Position::new(mouse.column, mouse.row);
        let (title, status) = (self.areas.title, self.areas.status);
        let cx = self.pane_context();
        let top = self.panes.last()?;
        if let Some(dialog) = top.dialog(&cx) {
            return dialog.action_at(at);
        }
        if title.contains(at) && top.is_fullscreen() {
            let (to_review, facts) = self.title_ends();
            let end = usize::from(title.right()).saturating_sub(cells::width(&facts));
            let start = end.saturating_sub(cells::width(&to_review));
            let is_here = (start..end).contains(&usize::from(at.x));
            return is_here.then_some(Action::Review);
        }
        // A toast is drawn over the hints.
        if !status.contains(at) || self.toast.is_some() || self.waiting.is_some() {
            return None;
        }
        let column = mouse.column.checked_sub(status.x + 1)?;
        Hint::action_at(&self.hints(), usize::from(column))
    }

    /// Whether the mouse is pressed outside of a dialog that this closes.
    pub(super) fn is_closed_by(&self, mouse: MouseEvent) -> bool {
        let top = self.panes.last();
        let dialog = top.and_then(|top| top.dialog(&self.pane_context()));
        mouse.kind == MouseEventKind::Down(MouseButton::Left)
            && dialog.is_some_and(|dialog| {
                let at = Position::new(mouse.column, mouse.row);
                dialog.is_closed_outside && !dialog.area.contains(at)
            })
    }

    /// What the tree shows: this project, or everything.
    fn scope_title(&self) -> String {
        match self.user.scope {
            Some(DiscoveryScope::Everything) => "everything kept in ~".to_owned(),
            _ => self.user.title.clone(),
        }
    }

    fn facts(&self) -> String {
        let mut facts = vec![count(self.library.memories(), "memory", "memories")];
        if self.library.sessions() > 0 {
            facts.push(count(self.library.sessions(), "session", "sessions"));
        }
        if let Some(percent) = self.reading {
            facts.push(format!("reading logs {percent} %"));
        }
        if self.user.scope == Some(DiscoveryScope::Project) && self.library.memories() == 0 {
            let key = self.keymap.key(KeyContext::Tree, Action::Scope);
            facts.extend(key.map(|key| format!("{key} shows everything")));
        }
        let unsaved = self.panes.iter().flat_map(|pane| pane.unsaved()).count();
        if unsaved > 0 {
            facts.push(format!("{unsaved} unsaved"));
        }
        facts.join(" · ")
    }

    /// The hints in the status line; none below a dialog, which has its own.
    pub(super) fn hints(&self) -> Vec<Hint> {
        let Some(top) = self.panes.last().filter(|pane| pane.is_fullscreen()) else {
            return Vec::new();
        };
        let width = self.areas.status.width.saturating_sub(1);
        let offers = |action| top.offers(action);
        let context = top.key_context();
        let zoom = self.zoom_hint(context);
        let taken = zoom.as_ref().map_or(0, Hint::width);
        let width = width.saturating_sub(u16::try_from(taken).unwrap_or(0));
        let mut hints = Hint::of_context(&self.keymap, context, width, &offers);
        hints.splice(0..0, zoom);
        if context == KeyContext::Editor {
            Hint::add_own(&mut hints, editor_hints(self.user.editor_keys), width);
        }
        hints
    }

    /// How both panes are shown again while one has the whole screen.
    fn zoom_hint(&self, context: KeyContext) -> Option<Hint> {
        let key = self.keymap.key(context, Action::Zoom);
        key.filter(|_| self.zoom.is_some()).map(|key| Hint {
            key,
            word: "both panes".to_owned(),
            action: Some(Action::Zoom),
        })
    }

    fn view_status(&self, frame: &mut Frame<'_>, area: Rect) {
        let theme = &self.theme;
        let width = usize::from(area.width);
        let mut said: Vec<(String, Role)> = Vec::new();
        if let Some((holder, seconds)) = &self.waiting {
            let text = format!("waiting for {holder} to finish, {seconds} s");
            said.push((escape_line(&text), Role::Warn));
        }
        if let Some((_, toast)) = &self.toast {
            let role = match toast.tone {
                Tone::Done => Role::Toast,
                Tone::Trouble => Role::Warn,
            };
            said.push((escape_line(&toast.text), role));
        }
        if !said.is_empty() {
            let mut line = Line::default();
            let mut left = width.saturating_sub(1);
            for (text, role) in said {
                let text = cut(&text, left.saturating_sub(3));
                left = left.saturating_sub(cells::width(&text) + 3);
                line.push_span(Span::raw(" "));
                line.push_span(theme.span(format!(" {text} "), role));
            }
            frame.render_widget(line, area);
            return;
        }
        let mut line = Hint::line(&self.hints(), theme);
        line.spans.insert(0, Span::raw(" "));
        frame.render_widget(line, area);
    }
}
