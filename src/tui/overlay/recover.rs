//! The dialog for unsaved text of a crashed process: open it, discard it, or keep it for later.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::core::memory::unsaved::Unsaved;
use crate::core::text::display::format_age;
use crate::tui::action::Action;
use crate::tui::chrome::{Dialog, draw_lines, fit_end};
use crate::tui::effect::{Effect, SaveKind, UnsavedJob};
use crate::tui::event::{Event, LeftText};
use crate::tui::keymap::KeyContext;
use crate::tui::layout::centred;
use crate::tui::model::PaneContext;
use crate::tui::pane::editor::EditorPane;
use crate::tui::pane::{Pane, Step, Toast};
use crate::tui::theme::Role;

#[derive(Debug)]
pub(crate) struct RecoverDialog {
    text: Unsaved,
    /// Whether discard was pressed once. It cannot be undone, so it is confirmed.
    asked: bool,
}

impl RecoverDialog {
    pub(crate) fn new(text: Unsaved) -> Self {
        Self { text, asked: false }
    }
}

fn area(cx: &PaneContext<'_>) -> Rect {
    centred(cx.areas.whole, 64, 7)
}

impl Pane for RecoverDialog {
    fn key_context(&self) -> KeyContext {
        KeyContext::Offer
    }

    fn act(&mut self, action: Action, cx: &PaneContext<'_>) -> Option<Vec<Step>> {
        Some(match action {
            Action::Open => vec![
                Step::Close,
                Step::Push(Box::new(EditorPane::open(self.text.clone(), 0, cx))),
            ],
            Action::Discard if !self.asked => {
                self.asked = true;
                Vec::new()
            }
            Action::Discard => vec![
                Step::Close,
                Step::Effect(Effect::Unsaved(UnsavedJob::Forget(self.text.clone()))),
                Step::Toast(Toast::done("Thrown away")),
            ],
            // The text is kept: editing its memory opens it.
            Action::Back => vec![
                Step::Close,
                Step::Broadcast(Box::new(Event::EditorLeft(LeftText {
                    text: self.text.clone(),
                    state: None,
                    kind: SaveKind::Alone,
                }))),
            ],
            _ => Vec::new(),
        })
    }

    fn dialog(&self, cx: &PaneContext<'_>) -> Option<Dialog> {
        Some(Dialog::new(cx, area(cx), "unsaved text", KeyContext::Offer))
    }

    fn view(&self, frame: &mut Frame<'_>, cx: &PaneContext<'_>) {
        let theme = cx.theme;
        let inner = Dialog::inner(area(cx));
        let width = usize::from(inner.width);
        let when = match format_age(self.text.time, cx.now).as_str() {
            "" | "now" => "just now".to_owned(),
            ago => format!("{ago} ago"),
        };
        let text = vec![
            Line::from(format!("Text was typed {when} and never saved:")),
            theme.line(fit_end(&self.text.path, width), Role::Strong),
            theme.line(
                fit_end(&self.text.root.display().to_string(), width),
                Role::Muted,
            ),
            if self.asked {
                theme.line(
                    "It cannot be brought back. Once more throws it away.",
                    Role::Warn,
                )
            } else {
                Line::default()
            },
        ];
        draw_lines(frame, inner, text);
    }
}
