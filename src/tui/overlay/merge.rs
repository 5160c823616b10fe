//! The merge dialog: for every conflict between two versions, take mine, theirs, or both.

use ratatui::Frame;
use ratatui::widgets::Clear;

use crate::core::unsaved::Unsaved;
use crate::tui::action::Action;
use crate::tui::chrome::dialog;
use crate::tui::event::Event;
use crate::tui::keymap::KeyContext;
use crate::tui::layout::{reading_area, reading_text};
use crate::tui::pane::{Handled, Pane, PaneContext, Step, Toast};
use crate::tui::widget::merge::{Choice, Merge as Widget};

/// Resolves the conflicts between an edited text and its file.
#[derive(Debug)]
pub(crate) struct MergeDialog {
    text: Unsaved,
    theirs: String,
    widget: Widget,
}

impl MergeDialog {
    /// Creates a merge of `text`, edited from its base, with the current file.
    pub(crate) fn new(text: Unsaved, theirs: String) -> Self {
        let base = text.base.as_deref().unwrap_or_default();
        Self {
            widget: Widget::new(base, &text.text, &theirs),
            text,
            theirs,
        }
    }

    fn choose(&mut self, choice: Choice) -> Vec<Step> {
        self.widget.choose(choice);
        Vec::new()
    }

    fn done(&self) -> Vec<Step> {
        let Some(text) = self.widget.result() else {
            return vec![Step::Toast(Toast::done("Decide every place first"))];
        };
        let merged = Unsaved {
            text,
            base: Some(self.theirs.clone()),
            ..self.text.clone()
        };
        vec![
            Step::Close,
            Step::Broadcast(Box::new(Event::Resolved(merged))),
        ]
    }
}

impl Pane for MergeDialog {
    fn key_context(&self) -> KeyContext {
        KeyContext::Merge
    }

    fn act(&mut self, action: Action, cx: &PaneContext<'_>) -> Handled {
        let steps = match action {
            Action::Down => {
                self.widget.next();
                Vec::new()
            }
            Action::Up => {
                self.widget.previous();
                Vec::new()
            }
            Action::TakeMine => self.choose(Choice::Mine),
            Action::TakeTheirs => self.choose(Choice::Theirs),
            Action::TakeBoth => self.choose(Choice::Both),
            Action::Open => self.done(),
            Action::Back => vec![Step::Close],
            _ => Vec::new(),
        };
        self.resize(cx);
        Handled::Used(steps)
    }

    fn resize(&mut self, cx: &PaneContext<'_>) {
        let area = reading_text(cx.areas.whole);
        self.widget.reveal(area.width, area.height);
    }

    fn view(&self, frame: &mut Frame<'_>, cx: &PaneContext<'_>) {
        let area = reading_area(cx.areas.whole);
        let title = match self.widget.open() {
            0 => format!("{} · everything is decided", self.text.path),
            open => format!("{} was changed outside · {open} to decide", self.text.path),
        };
        frame.render_widget(Clear, area);
        frame.render_widget(dialog(cx, &title, KeyContext::Merge), area);
        frame.render_widget(self.widget.view(cx.theme), reading_text(cx.areas.whole));
    }
}
