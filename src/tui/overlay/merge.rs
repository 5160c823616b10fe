//! The merge dialog: wherever two texts differ, take one of them, both or neither. The texts are
//! two versions of a memory, one of which another machine may have sent, or memories that become
//! one.

use std::sync::Arc;

use ratatui::Frame;
use ratatui::layout::Rect;

use super::combine::Combining;
use super::scrolled_lines;
use crate::core::insight::review::{ConflictTexts, Item, Resolution};
use crate::core::memory::store::StoreId;
use crate::core::memory::unsaved::Unsaved;
use crate::core::text::diff;
use crate::tui::action::Action;
use crate::tui::chrome::{Dialog, Hint};
use crate::tui::effect::{Effect, ReviewJob, WriteJob};
use crate::tui::event::Event;
use crate::tui::keymap::KeyContext;
use crate::tui::layout::{centred, reading_area};
use crate::tui::model::{MergeTask, PaneContext};
use crate::tui::pane::{Pane, Step, say_trouble};
use crate::tui::widget::merge::{Choice, Merge};

/// The places where texts differ, each of which is decided about.
#[derive(Debug)]
pub(crate) struct MergeDialog {
    widget: Merge,
    subject: Subject,
}

#[derive(Debug)]
enum Subject {
    /// An edited text, and its file as another program left it.
    Versions {
        text: Unsaved,
        theirs: String,
    },
    /// The memory of this machine, and what another one sent.
    Conflict {
        store: StoreId,
        item: Box<Item>,
        texts: Arc<ConflictTexts>,
    },
    Memories(Combining),
}

/// The most columns: three texts side by side.
const WIDTH: u16 = 160;

impl MergeDialog {
    /// Creates a merge of `text`, edited from its base, with the current file.
    pub(crate) fn of_versions(text: Unsaved, theirs: String) -> Self {
        let common = || diff::common(&text.text, &theirs);
        let base = text.base.clone().unwrap_or_else(common);
        Self {
            widget: Merge::new(&base, &text.text, &theirs),
            subject: Subject::Versions { text, theirs },
        }
    }

    pub(crate) fn of_conflict(store: StoreId, item: Item, texts: Arc<ConflictTexts>) -> Self {
        Self {
            widget: Merge::new(&texts.base, &texts.ours, &texts.theirs),
            subject: Subject::Conflict {
                store,
                item: Box::new(item),
                texts,
            },
        }
    }

    /// Creates a merge of memories, one after the other.
    pub(crate) fn of_memories(task: MergeTask) -> Self {
        let (combining, widget) = Combining::new(task);
        Self {
            widget,
            subject: Subject::Memories(combining),
        }
    }

    fn confirm(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        let Some(choices) = self.widget.choices() else {
            let is_choice = |action: Action| {
                let choices = [Action::TakeMine, Action::TakeTheirs, Action::TakeBoth];
                choices.contains(&action)
            };
            let hints = Hint::of_context(cx.keymap, self.key_context(), u16::MAX, &is_choice);
            let keys = hints
                .iter()
                .map(|hint| format!("{} {}", hint.key, hint.word));
            let keys: Vec<String> = keys.collect();
            return say_trouble(format!("Decide every place first: {}", keys.join(", ")));
        };
        match &mut self.subject {
            Subject::Versions { text, theirs } => {
                let merged = Unsaved {
                    text: self.widget.result().unwrap_or_default(),
                    base: Some(theirs.clone()),
                    ..text.clone()
                };
                let resolved = Event::Resolved(merged);
                vec![Step::Close, Step::Broadcast(Box::new(resolved))]
            }
            Subject::Conflict { store, item, texts } => {
                let resolution = Resolution {
                    id: item.id.clone(),
                    ours: texts.ours.clone(),
                    text: self.widget.result().unwrap_or_default(),
                };
                let store = store.clone();
                let job = WriteJob::Review(ReviewJob::Resolve { store, resolution });
                vec![Step::Close, Step::Effect(Effect::Write(job))]
            }
            Subject::Memories(combining) => match combining.take(choices) {
                Some(next) => {
                    self.widget = next;
                    self.reveal(cx);
                    Vec::new()
                }
                None => vec![Step::Close, Step::Push(Box::new(combining.editor(cx)))],
            },
        }
    }

    /// The area, with the border: as high as the texts, if there is room.
    fn area(&self, cx: &PaneContext<'_>) -> Rect {
        let whole = cx.areas.whole;
        let width = (whole.width * 9 / 10).min(WIDTH);
        let width = centred(whole, width, 0).width;
        let rows = self.widget.height(width.saturating_sub(4));
        let rows = u16::try_from(rows).unwrap_or(u16::MAX).saturating_add(2);
        centred(whole, width, rows.min(reading_area(whole).height))
    }

    /// The width and the height of the texts.
    fn inner(&self, cx: &PaneContext<'_>) -> (u16, u16) {
        let area = self.area(cx);
        (area.width.saturating_sub(4), area.height.saturating_sub(2))
    }

    /// Scrolls to the current place.
    fn reveal(&mut self, cx: &PaneContext<'_>) {
        let (width, height) = self.inner(cx);
        self.widget.reveal(width, height);
    }
}

impl Pane for MergeDialog {
    fn key_context(&self) -> KeyContext {
        match self.subject {
            Subject::Versions { .. } | Subject::Conflict { .. } => KeyContext::Merge,
            Subject::Memories(_) => KeyContext::Combine,
        }
    }

    fn act(&mut self, action: Action, cx: &PaneContext<'_>) -> Option<Vec<Step>> {
        match action {
            Action::PageDown | Action::PageUp | Action::Top | Action::Bottom => {
                let lines = scrolled_lines(action, self.area(cx));
                return lines.map(|lines| self.scroll_by(lines, cx));
            }
            Action::Open => return Some(self.confirm(cx)),
            Action::Back => return Some(vec![Step::Close]),
            Action::Down => self.widget.next(),
            Action::Up => self.widget.previous(),
            Action::TakeMine => self.widget.choose(Choice::Mine),
            Action::TakeTheirs => self.widget.choose(Choice::Theirs),
            Action::TakeBoth => self.widget.choose(Choice::Both),
            Action::TakeNeither => self.widget.choose(Choice::Base),
            _ => {}
        }
        self.reveal(cx);
        Some(Vec::new())
    }

    fn scroll_by(&mut self, by: isize, cx: &PaneContext<'_>) -> Vec<Step> {
        let size = self.inner(cx);
        self.widget.scroll(by, size);
        Vec::new()
    }

    fn resize(&mut self, cx: &PaneContext<'_>) {
        self.reveal(cx);
    }

    fn dialog(&self, cx: &PaneContext<'_>) -> Option<Dialog> {
        let (name, is_changed) = match &self.subject {
            Subject::Versions { text, .. } => {
                (text.path.clone(), " was changed outside".to_owned())
            }
            Subject::Conflict { item, .. } => (
                item.path.clone(),
                format!(" was changed by {}, too", item.author.who),
            ),
            Subject::Memories(combining) => (combining.title(), String::new()),
        };
        let mut title = match self.widget.open() {
            0 => format!("{name} · everything is decided"),
            open => format!("{name}{is_changed} · {open} to decide"),
        };
        let below = self.widget.below(self.inner(cx));
        if below > 0 {
            title.push_str(&format!(" · {below} below (PgDn)"));
        }
        Some(Dialog::new(cx, self.area(cx), title, self.key_context()))
    }

    fn view(&self, frame: &mut Frame<'_>, cx: &PaneContext<'_>) {
        let text = Dialog::inner(self.area(cx));
        frame.render_widget(self.widget.view(cx.theme, text.width), text);
    }
}
