//! How the preview is drawn.

use ratatui::Frame;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::{Mode, Preview};
use crate::tui::cells::{cut, visible};
use crate::tui::chrome::{Keys, bordered, titled};
use crate::tui::pane::Scene;
use crate::tui::theme::{Role, Theme};

impl Preview {
    /// Draws the preview in its area.
    pub(crate) fn view(&self, frame: &mut Frame<'_>, keys: Keys, scene: &Scene<'_>) {
        let theme = scene.theme;
        let area = scene.areas.preview;
        let sheet = &self.sheet;
        let mut block = bordered(theme, keys);
        if !sheet.title.is_empty() {
            let room = usize::from(area.width.saturating_sub(20));
            block = block.title(titled(theme, &cut(&visible(&sheet.title), room)));
        }
        if let Some(category) = &sheet.category {
            let badge = Span::styled(
                format!(" {} ", visible(category)),
                theme.badge(Some(category)),
            );
            block = block.title(Line::from(badge).right_aligned());
        }
        let text = scene.areas.preview_text();
        if let Some(talk) = self.talk() {
            let (turn, turns) = talk.turn();
            let place = Span::styled(format!(" {turn}/{turns} "), theme.style(Role::Muted));
            let facts = Span::styled(
                format!(" {} ", visible(&sheet.facts)),
                theme.style(Role::Muted),
            );
            block = block
                .title_bottom(Line::from(facts))
                .title_bottom(Line::from(place).right_aligned());
            frame.render_widget(block, area);
            talk.view(text, frame.buffer_mut(), self.cursor(keys, theme));
            return;
        }
        let height = usize::from(text.height);
        let lines = self.page.height();
        if lines > height {
            let last = (self.scroll + height).min(lines);
            let place = format!(" {}–{last}/{lines} ", self.scroll + 1);
            let place = Span::styled(place, theme.style(Role::Muted));
            block = block.title_bottom(Line::from(place).right_aligned());
        }
        if self.mode == Mode::Source {
            let word = Span::styled(" source ", theme.style(Role::Muted));
            block = block.title_bottom(Line::from(word));
        }
        frame.render_widget(block, area);
        let link = self.link.filter(|_| keys == Keys::Here);
        let place = (text, self.scroll);
        self.page.view(frame, place, link, scene);
    }

    /// The line that was looked for is pointed at even where the keys are elsewhere.
    fn cursor(&self, keys: Keys, theme: &Theme) -> Option<Style> {
        let sought = self
            .log
            .as_ref()
            .is_some_and(|(_, start)| start.line.is_some());
        (sought || keys == Keys::Here).then(|| theme.style(Role::Accent))
    }
}
