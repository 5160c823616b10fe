//! Drawing of the preview.

use ratatui::Frame;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::{Preview, PreviewMode};
use crate::tui::cells::{cut, escape_line};
use crate::tui::chrome::{KeyFocus, bordered, shown_lines, title_span};
use crate::tui::model::PaneContext;
use crate::tui::theme::{Role, Theme};

impl Preview {
    pub(crate) fn view(&self, frame: &mut Frame<'_>, keys: KeyFocus, cx: &PaneContext<'_>) {
        let theme = cx.theme;
        let area = cx.areas.preview;
        let content = &self.content;
        let mut block = bordered(theme, keys);
        if !content.title.is_empty() {
            let viewport = usize::from(area.width.saturating_sub(20));
            block = block.title(title_span(
                theme,
                &cut(&escape_line(&content.title), viewport),
            ));
        }
        if let Some(category) = &content.category {
            let badge = Span::styled(
                format!(" {} ", escape_line(category)),
                theme.badge(Some(category)),
            );
            block = block.title(Line::from(badge).right_aligned());
        }
        let text = cx.areas.preview_text();
        if let Some(talk) = self.shown_conversation() {
            let (turn, turns) = talk.turn();
            let place = Span::styled(format!(" {turn}/{turns} "), theme.style(Role::Muted));
            let facts = Span::styled(
                format!(" {} ", escape_line(&content.facts)),
                theme.style(Role::Muted),
            );
            block = block
                .title_bottom(Line::from(facts))
                .title_bottom(Line::from(place).right_aligned());
            frame.render_widget(block, area);
            talk.view(text, frame.buffer_mut(), self.cursor(keys, theme));
            return;
        }
        if let Some(place) = shown_lines(self.scroll, text.height, self.page.height(), theme) {
            block = block.title_bottom(place);
        }
        if self.mode == PreviewMode::Source {
            let word = Span::styled(" source ", theme.style(Role::Muted));
            block = block.title_bottom(Line::from(word));
        }
        frame.render_widget(block, area);
        let link = self.link.filter(|_| keys == KeyFocus::Here);
        let place = (text, self.scroll);
        self.page.view(frame, place, link, cx);
    }

    /// The style of the cursor. The line of a hit is marked even without the focus.
    fn cursor(&self, keys: KeyFocus, theme: &Theme) -> Option<Style> {
        let has_target = self
            .log
            .as_ref()
            .is_some_and(|(_, start)| start.line.is_some());
        (has_target || keys == KeyFocus::Here).then(|| theme.style(Role::Accent))
    }
}
