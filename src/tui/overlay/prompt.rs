//! The dialog for the name of a renamed or duplicated memory.

use ratatui::Frame;
use ratatui::crossterm::event::KeyEvent;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph};

use crate::core::change::ChangeRequest;
use crate::core::store::StoreId;
use crate::core::unsaved::Unsaved;
use crate::tui::action::Action;
use crate::tui::cells::cut;
use crate::tui::chrome::{dialog, fit_end};
use crate::tui::effect::Request;
use crate::tui::event::Event;
use crate::tui::keymap::KeyContext;
use crate::tui::layout::centred;
use crate::tui::pane::{Handled, Pane, PaneContext, Step, Toast};
use crate::tui::theme::Role;
use crate::tui::widget::input::Input;

/// What the name is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Rename,
    Duplicate,
}

/// The input of a name.
#[derive(Debug)]
pub(crate) struct NamePrompt {
    purpose: Purpose,
    store: StoreId,
    path: String,
    subject: Unsaved,
    input: Input,
    /// The last request; the dialog stays open until it is planned.
    asked: Option<Request>,
    /// Why it was refused.
    trouble: Option<String>,
}

impl NamePrompt {
    /// Creates a prompt for the new name of the memory at `path`.
    pub(crate) fn new(purpose: Purpose, store: StoreId, path: String, subject: Unsaved) -> Self {
        let name = match purpose {
            Purpose::Rename => path.clone(),
            Purpose::Duplicate => match path.rsplit_once('.') {
                Some((stem, ending)) => format!("{stem}-2.{ending}"),
                None => format!("{path}-2"),
            },
        };
        Self {
            purpose,
            store,
            input: Input::new(&name),
            path,
            subject,
            asked: None,
            trouble: None,
        }
    }

    fn go_on(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        let to = self.input.text().trim().to_owned();
        let snapshot = cx.library.store_by_id(&self.store);
        if to != self.path && snapshot.is_some_and(|snapshot| snapshot.memory(&to).is_some()) {
            // Refuse a taken name here: an existing memory is not a version to merge with.
            self.trouble = Some("There is a memory of that name already".to_owned());
            return Vec::new();
        }
        if to.is_empty() || to == self.path {
            return vec![Step::Toast(Toast::done("Type another name, or Esc"))];
        }
        let request = match self.purpose {
            Purpose::Rename => Request::Change {
                store: self.store.clone(),
                change_request: ChangeRequest::Rename {
                    from: self.path.clone(),
                    to,
                },
            },
            Purpose::Duplicate => Request::Save(Unsaved {
                path: to,
                base: None,
                ..self.subject.clone()
            }),
        };
        self.asked = Some(request.clone());
        vec![Step::Plan(Box::new(request))]
    }
}

impl Pane for NamePrompt {
    fn key_context(&self) -> KeyContext {
        KeyContext::Prompt
    }

    fn act(&mut self, action: Action, cx: &PaneContext<'_>) -> Handled {
        match action {
            Action::Open => Handled::Used(self.go_on(cx)),
            Action::Back => Handled::Used(vec![Step::Close]),
            _ => Handled::Used(Vec::new()),
        }
    }

    fn key(&mut self, key: KeyEvent, _cx: &PaneContext<'_>) -> Vec<Step> {
        self.input.key(key);
        self.trouble = None;
        Vec::new()
    }

    fn paste(&mut self, text: &str, _cx: &PaneContext<'_>) -> Vec<Step> {
        self.input.paste(text);
        Vec::new()
    }

    fn on_event(&mut self, event: &Event, _cx: &PaneContext<'_>) -> Vec<Step> {
        let Event::Planned {
            request, result, ..
        } = event
        else {
            return Vec::new();
        };
        if self.asked.as_ref() != Some(&**request) {
            return Vec::new();
        }
        match result {
            Ok(_) => vec![Step::Close],
            Err(error) => {
                self.trouble = Some(error.to_string());
                Vec::new()
            }
        }
    }

    fn view(&self, frame: &mut Frame<'_>, cx: &PaneContext<'_>) {
        let theme = cx.theme;
        let title = match self.purpose {
            Purpose::Rename => "rename",
            Purpose::Duplicate => "duplicate",
        };
        let area = centred(cx.areas.whole, 64, 6);
        let block = dialog(cx, title, KeyContext::Prompt);
        let inner = block.inner(area);
        let width = inner.width.saturating_sub(6);
        let (typed, column) = self.input.line(theme, width);
        let label = |text: &'static str| Span::styled(text, theme.style(Role::Muted));
        let mut line = vec![label("to    ")];
        line.extend(typed.spans);
        let note = match self.purpose {
            Purpose::Rename => "Links and the index follow.",
            Purpose::Duplicate => "The copy is another memory from then on.",
        };
        let text = vec![
            Line::from(vec![
                label("from  "),
                Span::raw(fit_end(&self.path, usize::from(width))),
            ]),
            Line::from(line),
            Line::default(),
            match &self.trouble {
                Some(trouble) => Line::from(Span::styled(
                    cut(trouble, usize::from(inner.width)),
                    theme.style(Role::Warn),
                )),
                None => Line::from(label(note)),
            },
        ];
        frame.render_widget(Clear, area);
        frame.render_widget(Paragraph::new(text).block(block), area);
        frame.set_cursor_position((inner.x + 6 + column, inner.y + 1));
    }
}
