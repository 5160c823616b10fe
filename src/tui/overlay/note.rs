//! The dialog for a line of words: a note about a file that waits for review, why findings are
//! kept, or the title of a principle.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::core::insight::curate::Finding;
use crate::core::memory::store::StoreId;
use crate::tui::action::Action;
use crate::tui::cells::{cut, escape_line};
use crate::tui::chrome::{Dialog, draw_lines, fit_end};
use crate::tui::effect::{Effect, LibraryJob, NewMemory, ReviewJob, WaiveJob, WriteJob};
use crate::tui::keymap::KeyContext;
use crate::tui::layout::centred;
use crate::tui::model::PaneContext;
use crate::tui::pane::{Pane, Step, say};
use crate::tui::theme::Role;
use crate::tui::widget::input::Input;

/// The width of the labels.
const LABEL: u16 = 6;

/// The input of the words.
#[derive(Debug)]
pub(crate) struct NotePrompt {
    about: String,
    purpose: NotePurpose,
    input: Input,
}

/// What the words are for.
#[derive(Debug)]
pub(crate) enum NotePurpose {
    /// A note about the items or hunks of a file that wait for review.
    Review { store: StoreId, ids: Vec<String> },
    /// Why these findings are kept.
    Waive(Vec<Finding>),
    /// The title of a principle that comes from these lessons.
    Principle {
        store: StoreId,
        lessons: Vec<String>,
    },
}

impl NotePrompt {
    pub(crate) fn new(about: String, purpose: NotePurpose) -> Self {
        Self {
            about,
            purpose,
            input: Input::default(),
        }
    }

    fn labels(&self) -> (&'static str, [&'static str; 2]) {
        match self.purpose {
            NotePurpose::Review { .. } => ("note", ["file  ", "note  "]),
            NotePurpose::Waive(_) => ("waive", ["keep  ", "why   "]),
            NotePurpose::Principle { .. } => ("principle", ["from  ", "title "]),
        }
    }

    fn go_on(&self) -> Vec<Step> {
        let text = self.input.text().trim().to_owned();
        if text.is_empty() {
            return say(match self.purpose {
                NotePurpose::Review { .. } => "Type a note, or Esc",
                NotePurpose::Waive(_) => "Say why, or Esc",
                NotePurpose::Principle { .. } => "Give it a title, or Esc",
            });
        }
        let effect = match &self.purpose {
            NotePurpose::Review { store, ids } => {
                Effect::Write(WriteJob::Review(ReviewJob::Note {
                    store: store.clone(),
                    ids: ids.clone(),
                    text,
                }))
            }
            NotePurpose::Waive(findings) => Effect::Write(WriteJob::Waive(WaiveJob {
                findings: findings.clone(),
                words: Some(text),
            })),
            NotePurpose::Principle { store, lessons } => {
                Effect::Library(LibraryJob::Compose(NewMemory {
                    store: store.clone(),
                    kind: "semantic".to_owned(),
                    name: text,
                    about: String::new(),
                    text: None,
                    lessons: lessons.clone(),
                }))
            }
        };
        vec![Step::Close, Step::Effect(effect)]
    }
}

fn area(cx: &PaneContext<'_>) -> Rect {
    centred(cx.areas.whole, 64, 4)
}

impl Pane for NotePrompt {
    fn key_context(&self) -> KeyContext {
        KeyContext::Prompt
    }

    fn act(&mut self, action: Action, _cx: &PaneContext<'_>) -> Option<Vec<Step>> {
        Some(match action {
            Action::Open => self.go_on(),
            Action::Back => vec![Step::Close],
            _ => Vec::new(),
        })
    }

    fn input(&mut self) -> Option<&mut Input> {
        Some(&mut self.input)
    }

    fn dialog(&self, cx: &PaneContext<'_>) -> Option<Dialog> {
        Some(Dialog::new(
            cx,
            area(cx),
            self.labels().0,
            KeyContext::Prompt,
        ))
    }

    fn view(&self, frame: &mut Frame<'_>, cx: &PaneContext<'_>) {
        let (_, [about, words]) = self.labels();
        let inner = Dialog::inner(area(cx));
        let width = inner.width.saturating_sub(LABEL);
        let (typed, column) = self.input.line(cx.theme, width);
        let label = |text: &'static str| cx.theme.span(text, Role::Muted);
        let mut line = vec![label(words)];
        line.extend(typed.spans);
        let text = vec![
            Line::from(vec![
                label(about),
                Span::raw(match self.purpose {
                    NotePurpose::Review { .. } => fit_end(&self.about, usize::from(width)),
                    _ => cut(&escape_line(&self.about), usize::from(width)),
                }),
            ]),
            Line::from(line),
        ];
        draw_lines(frame, inner, text);
        frame.set_cursor_position((inner.x + LABEL + column, inner.y + 1));
    }
}
