//! The dialog for a note about a file that waits for review.

use ratatui::Frame;
use ratatui::crossterm::event::KeyEvent;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph};

use crate::core::store::StoreId;
use crate::tui::action::Action;
use crate::tui::chrome::{dialog, fit_end};
use crate::tui::effect::{Effect, ReviewJob, WriteJob};
use crate::tui::keymap::KeyContext;
use crate::tui::layout::centred;
use crate::tui::pane::{Handled, Pane, PaneContext, Step, Toast};
use crate::tui::theme::Role;
use crate::tui::widget::input::Input;

/// The width of the labels.
const LABEL: u16 = 6;

/// The input of a note.
#[derive(Debug)]
pub(crate) struct NotePrompt {
    store: StoreId,
    path: String,
    /// The items or hunks that the note is about.
    ids: Vec<String>,
    input: Input,
}

impl NotePrompt {
    pub(crate) fn new(store: StoreId, path: String, ids: Vec<String>) -> Self {
        Self {
            store,
            path,
            ids,
            input: Input::default(),
        }
    }

    fn go_on(&self) -> Vec<Step> {
        let text = self.input.text().trim().to_owned();
        if text.is_empty() {
            return vec![Step::Toast(Toast::done("Type a note, or Esc"))];
        }
        let job = ReviewJob::Note {
            store: self.store.clone(),
            ids: self.ids.clone(),
            text,
        };
        vec![
            Step::Close,
            Step::Effect(Effect::Write(WriteJob::Review(job))),
        ]
    }
}

impl Pane for NotePrompt {
    fn key_context(&self) -> KeyContext {
        KeyContext::Prompt
    }

    fn act(&mut self, action: Action, _cx: &PaneContext<'_>) -> Handled {
        Handled::Used(match action {
            Action::Open => self.go_on(),
            Action::Back => vec![Step::Close],
            _ => Vec::new(),
        })
    }

    fn key(&mut self, key: KeyEvent, _cx: &PaneContext<'_>) -> Vec<Step> {
        self.input.key(key);
        Vec::new()
    }

    fn paste(&mut self, text: &str, _cx: &PaneContext<'_>) -> Vec<Step> {
        self.input.paste(text);
        Vec::new()
    }

    fn view(&self, frame: &mut Frame<'_>, cx: &PaneContext<'_>) {
        let block = dialog(cx, "note", KeyContext::Prompt);
        let area = centred(cx.areas.whole, 64, 4);
        let inner = block.inner(area);
        let width = inner.width.saturating_sub(LABEL);
        let (typed, column) = self.input.line(cx.theme, width);
        let label = |text: &'static str| Span::styled(text, cx.theme.style(Role::Muted));
        let mut line = vec![label("note  ")];
        line.extend(typed.spans);
        let text = vec![
            Line::from(vec![
                label("file  "),
                Span::raw(fit_end(&self.path, usize::from(width))),
            ]),
            Line::from(line),
        ];
        frame.render_widget(Clear, area);
        frame.render_widget(Paragraph::new(text).block(block), area);
        frame.set_cursor_position((inner.x + LABEL + column, inner.y + 1));
    }
}
