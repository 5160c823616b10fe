//! The dialog for the name of a renamed or duplicated memory.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::core::change::ChangeRequest;
use crate::core::memory::store::StoreId;
use crate::core::memory::template::{name_following, renamed_path, with_title};
use crate::core::memory::unsaved::Unsaved;
use crate::core::text::header::Entry;
use crate::tui::action::Action;
use crate::tui::cells;
use crate::tui::chrome::{Dialog, draw_lines, fit_end};
use crate::tui::effect::Request;
use crate::tui::event::Event;
use crate::tui::keymap::KeyContext;
use crate::tui::layout::centred;
use crate::tui::model::PaneContext;
use crate::tui::pane::{Pane, Step, plan, say};
use crate::tui::theme::Role;
use crate::tui::widget::input::{Input, InputOutcome};

const WIDTH: u16 = 64;

/// What the name is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Rename,
    Duplicate,
}

#[derive(Debug)]
pub(crate) struct NamePrompt {
    purpose: Purpose,
    store: StoreId,
    title: String,
    subject: Unsaved,
    /// The entry of the file that gets another title.
    entry: Option<Entry>,
    input: Input,
    /// The last request; the dialog stays open until it is planned.
    asked: Option<Request>,
    /// Why it was refused.
    trouble: Option<String>,
}

impl NamePrompt {
    /// Creates a prompt for the new name of a memory with this title.
    pub(crate) fn new(purpose: Purpose, store: StoreId, title: String, subject: Unsaved) -> Self {
        let name = match purpose {
            Purpose::Rename => subject.path.clone(),
            Purpose::Duplicate => format!("{title} 2"),
        };
        Self {
            purpose,
            store,
            input: Input::new(&name),
            title,
            subject,
            entry: None,
            asked: None,
            trouble: None,
        }
    }

    /// Creates a prompt for the new title of an entry.
    pub(crate) fn of_entry(store: StoreId, entry: Entry, subject: Unsaved) -> Self {
        Self {
            input: Input::new(&entry.title),
            entry: Some(entry.clone()),
            ..Self::new(Purpose::Rename, store, entry.title, subject)
        }
    }

    /// The file that the typed name means.
    fn file(&self) -> String {
        renamed_path(self.subject.layout, &self.subject.path, self.input.text())
    }

    /// The title of a copy: the typed name, or for a typed file the old title with a number, so
    /// that the two can be told apart.
    fn title_of_copy(&self, file: &str) -> String {
        match self.input.text().trim() {
            typed if typed != file => typed.rsplit('/').next().unwrap_or(typed).to_owned(),
            _ => format!("{} 2", self.title),
        }
    }

    /// Why it was refused, wrapped at the width of the dialog.
    fn wrapped_trouble(&self, cx: &PaneContext<'_>) -> Vec<String> {
        let wide = usize::from(centred(cx.areas.whole, WIDTH, 8).width.saturating_sub(4));
        cells::wrapped(self.trouble.as_deref().unwrap_or_default(), wide)
    }

    fn area(&self, cx: &PaneContext<'_>) -> Rect {
        let rows = u16::try_from(self.wrapped_trouble(cx).len()).unwrap_or(1);
        centred(cx.areas.whole, WIDTH, 6 + rows.clamp(1, 4))
    }

    /// Asks for another title of an entry.
    fn retitle(&mut self, entry: &Entry) -> Vec<Step> {
        let to = self.input.text().trim().to_owned();
        if to.is_empty() || to == entry.title {
            return say("Type another title, or Esc");
        }
        let request = Request::Change {
            store: self.store.clone(),
            change_request: ChangeRequest::Rename {
                from: format!("{}#{}", self.subject.path, entry.slug),
                to,
            },
        };
        self.asked = Some(request.clone());
        plan(request)
    }

    fn go_on(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        if let Some(entry) = self.entry.clone() {
            return self.retitle(&entry);
        }
        let to = self.file();
        let snapshot = cx.library.store_by_id(&self.store);
        if to != self.subject.path
            && snapshot.is_some_and(|snapshot| snapshot.memory(&to).is_some())
        {
            // Refuse a taken name here: an existing memory is not a version to merge with.
            self.trouble = Some("There is a memory of that name already".to_owned());
            return Vec::new();
        }
        if to.is_empty() || to == self.subject.path {
            return say("Type another name, or Esc");
        }
        let request = match self.purpose {
            Purpose::Rename => Request::Change {
                store: self.store.clone(),
                change_request: ChangeRequest::Rename {
                    from: self.subject.path.clone(),
                    to,
                },
            },
            Purpose::Duplicate => Request::Save(Unsaved {
                text: with_title(&self.subject.text, &self.title_of_copy(&to)),
                path: to,
                base: None,
                ..self.subject.clone()
            }),
        };
        self.asked = Some(request.clone());
        plan(request)
    }
}

impl Pane for NamePrompt {
    fn key_context(&self) -> KeyContext {
        KeyContext::Prompt
    }

    fn act(&mut self, action: Action, cx: &PaneContext<'_>) -> Option<Vec<Step>> {
        Some(match action {
            Action::Open => self.go_on(cx),
            Action::Back => vec![Step::Close],
            _ => Vec::new(),
        })
    }

    fn input(&mut self) -> Option<&mut Input> {
        Some(&mut self.input)
    }

    fn typed(&mut self, _outcome: InputOutcome, _cx: &PaneContext<'_>) -> Vec<Step> {
        self.trouble = None;
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

    fn dialog(&self, cx: &PaneContext<'_>) -> Option<Dialog> {
        let title = match self.purpose {
            Purpose::Rename => "rename",
            Purpose::Duplicate => "duplicate",
        };
        Some(Dialog::new(cx, self.area(cx), title, KeyContext::Prompt))
    }

    fn view(&self, frame: &mut Frame<'_>, cx: &PaneContext<'_>) {
        let theme = cx.theme;
        let inner = Dialog::inner(self.area(cx));
        let width = inner.width.saturating_sub(6);
        let (typed, column) = self.input.line(theme, width);
        let label = |text: &'static str| theme.span(text, Role::Muted);
        let mut line = vec![label("to    ")];
        line.extend(typed.spans);
        let file = match &self.entry {
            Some(_) => self.subject.path.clone(),
            None => self.file(),
        };
        let note = match self.purpose {
            _ if self.entry.is_some() => "The entry gets this title; its text stays.".to_owned(),
            Purpose::Rename if name_following(&self.title, &self.subject.path, &file).is_some() => {
                "Links, the index and the name in its header follow.".to_owned()
            }
            Purpose::Rename => format!(
                "Links and the index follow; the title stays {}.",
                self.title
            ),
            Purpose::Duplicate => format!("Its title: {}", self.title_of_copy(&file)),
        };
        let mut text = vec![
            Line::from(vec![
                label("from  "),
                Span::raw(fit_end(
                    self.entry
                        .as_ref()
                        .map_or(&self.subject.path, |entry| &entry.title),
                    usize::from(width),
                )),
            ]),
            Line::from(line),
            Line::from(vec![
                label("file  "),
                theme.span(fit_end(&file, usize::from(width)), Role::Muted),
            ]),
            Line::default(),
        ];
        match &self.trouble {
            Some(_) => text.extend(
                self.wrapped_trouble(cx)
                    .into_iter()
                    .map(|row| theme.line(row, Role::Warn)),
            ),
            None => text.push(theme.line(cells::cut(&note, usize::from(inner.width)), Role::Muted)),
        }
        draw_lines(frame, inner, text);
        frame.set_cursor_position((inner.x + 6 + column, inner.y + 1));
    }
}
