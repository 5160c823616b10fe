//! A planned change, shown before it is made: which files, which lines.

use ratatui::Frame;
use ratatui::crossterm::event::{MouseEvent, MouseEventKind};
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Clear;

use super::difference;
use crate::core::change::{Change, Verb};
use crate::tui::action::Action;
use crate::tui::chrome::{count, dialog};
use crate::tui::effect::{Effect, Request};
use crate::tui::keymap::Place;
use crate::tui::layout::centred;
use crate::tui::pane::{Answer, Pane, Scene, Step};
use crate::tui::theme::Role;

/// Shows a change and asks whether to make it.
#[derive(Debug)]
pub(crate) struct Review {
    request: Box<Request>,
    change: Change,
    scroll: usize,
}

impl Review {
    pub(crate) fn new(request: Box<Request>, change: Change) -> Self {
        Self {
            request,
            change,
            scroll: 0,
        }
    }

    fn title(&self) -> String {
        let asked = self.change.edits.iter().filter(|edit| !edit.derived);
        let number = asked.count();
        match self.change.verb {
            Verb::Delete => format!("delete {}", count(number, "memory", "memories")),
            Verb::Edit | Verb::Write => {
                format!("save {}", count(self.change.edits.len(), "file", "files"))
            }
            verb => verb.name().to_owned(),
        }
    }

    fn area(&self, scene: &Scene<'_>) -> Rect {
        let whole = scene.areas.whole;
        let width = (whole.width * 9 / 10).min(104);
        let lines = difference::lines(&self.change.edits, scene.theme, usize::from(width) - 4);
        let rows = u16::try_from(lines.len()).unwrap_or(u16::MAX);
        centred(whole, width, rows.saturating_add(2))
    }

    fn scroll_by(&mut self, rows: isize, scene: &Scene<'_>) -> Vec<Step> {
        let area = self.area(scene);
        let width = usize::from(area.width.saturating_sub(4));
        let lines = difference::lines(&self.change.edits, scene.theme, width).len();
        let most = lines.saturating_sub(usize::from(area.height.saturating_sub(2)));
        self.scroll = self.scroll.saturating_add_signed(rows).min(most);
        Vec::new()
    }
}

impl Pane for Review {
    fn place(&self) -> Place {
        Place::Review
    }

    fn act(&mut self, action: Action, scene: &Scene<'_>) -> Answer {
        let page = isize::try_from(self.area(scene).height.saturating_sub(3)).unwrap_or(1);
        Answer::Used(match action {
            Action::Open => vec![
                Step::Close,
                Step::Do(Effect::Commit {
                    request: self.request.clone(),
                    change: Box::new(self.change.clone()),
                }),
            ],
            Action::Up => self.scroll_by(-1, scene),
            Action::Down => self.scroll_by(1, scene),
            Action::PageUp => self.scroll_by(-page, scene),
            Action::PageDown => self.scroll_by(page, scene),
            Action::Back => vec![Step::Close],
            _ => Vec::new(),
        })
    }

    fn mouse(&mut self, mouse: MouseEvent, scene: &Scene<'_>) -> Vec<Step> {
        match mouse.kind {
            MouseEventKind::ScrollDown => self.scroll_by(3, scene),
            MouseEventKind::ScrollUp => self.scroll_by(-3, scene),
            _ => Vec::new(),
        }
    }

    fn view(&self, frame: &mut Frame<'_>, scene: &Scene<'_>) {
        let area = self.area(scene);
        let mut block = dialog(scene, &self.title(), Place::Review);
        let inner = block.inner(area);
        let lines = difference::lines(&self.change.edits, scene.theme, usize::from(inner.width));
        if lines.len() > usize::from(inner.height) {
            let last = (self.scroll + usize::from(inner.height)).min(lines.len());
            let place = format!(" {}–{last}/{} ", self.scroll + 1, lines.len());
            let place = Span::styled(place, scene.theme.style(Role::Muted));
            block = block.title(Line::from(place).right_aligned());
        }
        frame.render_widget(Clear, area);
        frame.render_widget(block, area);
        let shown = lines.into_iter().skip(self.scroll);
        for (line, y) in shown.zip(inner.top()..inner.bottom()) {
            frame.render_widget(line, Rect::new(inner.x, y, inner.width, 1));
        }
    }
}
