//! Panes, which fill the screen, and dialogs, which are drawn over them.
//!
//! Each is a [`Pane`]: it turns actions, keys and events into [`Step`]s and draws itself. A new
//! pane needs a file here, a context in the keymap, and a step that opens it; the app routes to
//! the top pane without knowing its type.

pub(crate) mod browse;
pub(crate) mod context;
pub(crate) mod curate;
pub(crate) mod editor;
pub(crate) mod find;
pub(crate) mod history;
mod list_text;
pub(crate) mod log;
pub(crate) mod preview;
pub(crate) mod queue;
pub(crate) mod timeline;
pub(crate) mod why;

use ratatui::Frame;
use ratatui::crossterm::event::{KeyEvent, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;

use self::browse::tree::Key;
use super::action::Action;
use super::chrome::Dialog;
use super::effect::{Effect, LibraryJob, Request, UndoDirection, WriteJob};
use super::event::Event;
use super::keymap::KeyContext;
use super::layout::Arrangement;
use crate::core::memory::layout::Layout;
use crate::core::memory::store::StoreId;
use crate::core::memory::unsaved::Unsaved;
use crate::tui::model::PaneContext;
use crate::tui::widget::emphasis::MarkedWords;
use crate::tui::widget::filter::RowFilter;
use crate::tui::widget::input::{Input, InputOutcome};
use crate::tui::widget::list::WHEEL;

/// What the app is to do after an action, a key or an event.
#[derive(Debug)]
pub(crate) enum Step {
    /// Carry out an effect.
    Effect(Effect),
    /// Plan a change and show it for review.
    Plan(Box<Request>),
    /// Open a pane on top.
    Push(Box<dyn Pane>),
    /// Close the pane that returned this step.
    Close,
    /// Set the panes above the tree aside, until [`Step::Return`].
    Park,
    /// Show the panes again that were set aside, if there are any.
    Return,
    /// Run an action on the pane that is on top then.
    Act(Action),
    /// Send an event to every pane.
    Broadcast(Box<Event>),
    /// Show a message.
    Toast(Toast),
}

/// A short message in the status line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Toast {
    pub(crate) text: String,
    pub(crate) tone: Tone,
}

/// The kind of a toast.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Done,
    Trouble,
}

impl Toast {
    /// Reports a success.
    pub(crate) fn done(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            tone: Tone::Done,
        }
    }

    /// Reports a problem.
    pub(crate) fn trouble(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            tone: Tone::Trouble,
        }
    }
}

/// Opens a pane on top.
pub(crate) fn push(pane: impl Pane + 'static) -> Vec<Step> {
    vec![Step::Push(Box::new(pane))]
}

/// Plans a change and shows it for review.
pub(crate) fn plan(request: Request) -> Vec<Step> {
    vec![Step::Plan(Box::new(request))]
}

pub(crate) fn perform(effect: Effect) -> Vec<Step> {
    vec![Step::Effect(effect)]
}

/// Goes to an entry in the tree and to a line of its file, and runs an action on it, if one is given.
fn reveal(key: Key, line: Option<usize>, then: Option<Action>) -> Step {
    Step::Broadcast(Box::new(Event::Reveal { key, line, then }))
}

/// Reads a memory in the tree; leaving it comes back to the pane.
fn read_in_tree(key: Key, line: Option<usize>, words: MarkedWords) -> [Step; 2] {
    let opened = Event::OpenFound { key, line, words };
    [Step::Park, Step::Broadcast(Box::new(opened))]
}

/// Edits a file that is no memory, such as an index, from a line on, counted from 1.
fn edit_file(store: &StoreId, path: &str, line: Option<usize>) -> Vec<Step> {
    perform(Effect::Library(LibraryJob::Fetch {
        store: store.clone(),
        path: path.to_owned(),
        line: line.map_or(0, |line| line.saturating_sub(1)),
    }))
}

/// Shows a message.
pub(crate) fn say(text: impl Into<String>) -> Vec<Step> {
    vec![Step::Toast(Toast::done(text))]
}

/// Shows a problem.
pub(crate) fn say_trouble(text: impl Into<String>) -> Vec<Step> {
    vec![Step::Toast(Toast::trouble(text))]
}

/// Says how a range of marks goes on.
pub(crate) fn say_range() -> Vec<Step> {
    say("Move to the other end of the range; Space marks it, Esc drops it")
}

/// Whether the memories of a store can become one. Instructions are not merged away.
pub(crate) fn can_merge(store: &StoreId) -> bool {
    !matches!(store.layout(), Layout::Instructions | Layout::Events)
}

/// Takes the last change back, or makes it again.
pub(crate) fn latest(which: UndoDirection) -> Vec<Step> {
    let request = Box::new(Request::Latest(which));
    perform(Effect::Write(WriteJob::Do(request)))
}

/// A pane or dialog: handles keys and draws itself.
pub(crate) trait Pane: std::fmt::Debug {
    /// The context of its keys in the keymap.
    fn key_context(&self) -> KeyContext;

    /// Handles an action; `None` if it does not, so that the app may.
    fn act(&mut self, action: Action, cx: &PaneContext<'_>) -> Option<Vec<Step>>;

    /// The filter of its rows, if it has one.
    fn filter(&mut self) -> Option<&mut RowFilter> {
        None
    }

    /// Shows the rows that the filter leaves, after it has changed.
    fn filtered(&mut self, _cx: &PaneContext<'_>) -> Vec<Step> {
        Vec::new()
    }

    /// Carries out an action on the filter; `None` for any other.
    fn act_on_filter(&mut self, action: Action, cx: &PaneContext<'_>) -> Option<Vec<Step>> {
        let has_changed = self.filter()?.act(action)?;
        Some(if has_changed {
            self.filtered(cx)
        } else {
            Vec::new()
        })
    }

    /// The line that is typed in now, if there is one: keys and pasted texts go there.
    fn input(&mut self) -> Option<&mut Input> {
        self.filter()?.input()
    }

    /// Follows what a key or a pasted text did to that line.
    fn typed(&mut self, outcome: InputOutcome, cx: &PaneContext<'_>) -> Vec<Step> {
        match outcome {
            InputOutcome::Changed => self.filtered(cx),
            _ => Vec::new(),
        }
    }

    /// Types a key into that line.
    fn type_key(&mut self, key: KeyEvent, cx: &PaneContext<'_>) -> Vec<Step> {
        match self.input().map(|input| input.key(key)) {
            Some(outcome) => self.typed(outcome, cx),
            None => Vec::new(),
        }
    }

    /// Handles a key that the keymap does not bind in this context.
    fn key(&mut self, key: KeyEvent, cx: &PaneContext<'_>) -> Vec<Step> {
        self.type_key(key, cx)
    }

    fn paste(&mut self, text: &str, cx: &PaneContext<'_>) -> Vec<Step> {
        match self.input().map(|input| input.paste(text)) {
            Some(outcome) => self.typed(outcome, cx),
            None => Vec::new(),
        }
    }

    fn click(&mut self, _at: Position, _cx: &PaneContext<'_>) -> Vec<Step> {
        Vec::new()
    }

    /// Handles the wheel over a cell, which scrolls by so many lines.
    fn wheel(&mut self, _at: Position, lines: isize, cx: &PaneContext<'_>) -> Vec<Step> {
        self.scroll_by(lines, cx)
    }

    /// Scrolls its text by so many lines, at most to an end.
    fn scroll_by(&mut self, _lines: isize, _cx: &PaneContext<'_>) -> Vec<Step> {
        Vec::new()
    }

    fn mouse(&mut self, mouse: MouseEvent, cx: &PaneContext<'_>) -> Vec<Step> {
        let at = Position::new(mouse.column, mouse.row);
        match mouse.kind {
            MouseEventKind::Down(MouseButton::Left) => self.click(at, cx),
            MouseEventKind::ScrollDown => self.wheel(at, WHEEL, cx),
            MouseEventKind::ScrollUp => self.wheel(at, -WHEEL, cx),
            _ => Vec::new(),
        }
    }

    /// The name under which it is kept when it is closed: opened again, it is as it was left. `None`
    /// if it begins anew.
    fn identity(&self) -> Option<String> {
        None
    }

    /// Gets ready to be kept: lets go of what can be read again.
    fn rest(&mut self) {}

    /// Asks for what it shows, when it is opened, and when it is shown again after it was set aside
    /// or kept: it got no events meanwhile.
    fn resume(&mut self, _cx: &PaneContext<'_>) -> Vec<Step> {
        Vec::new()
    }

    /// Catches up after keys that arrived at once: does what need not be done for each of them.
    fn settle(&mut self, _cx: &PaneContext<'_>) -> Vec<Step> {
        Vec::new()
    }

    fn on_event(&mut self, _event: &Event, _cx: &PaneContext<'_>) -> Vec<Step> {
        Vec::new()
    }

    /// Adapts to the areas after they have changed.
    fn resize(&mut self, cx: &PaneContext<'_>) {
        self.scroll_by(0, cx);
    }

    /// The arrangement that the pane needs; `None` if it does not matter.
    fn arrangement(&self) -> Option<Arrangement> {
        None
    }

    /// The current location, for the title line.
    fn title(&self, _cx: &PaneContext<'_>) -> Option<String> {
        None
    }

    /// Further information for the end of the title line.
    fn facts(&self) -> Option<String> {
        None
    }

    fn unsaved(&self) -> Vec<Unsaved> {
        Vec::new()
    }

    /// What saving this text changes besides its file.
    fn save_note(&self, _text: &Unsaved) -> Option<String> {
        None
    }

    /// Whether an action can be run now, so that its key is offered.
    fn offers(&self, _action: Action) -> bool {
        true
    }

    /// Whether it hides everything below it.
    fn is_fullscreen(&self) -> bool {
        false
    }

    /// The frame of a dialog; `None` for a pane that fills the screen.
    fn dialog(&self, _cx: &PaneContext<'_>) -> Option<Dialog> {
        None
    }

    /// Draws the pane, or what is inside the frame of a dialog.
    fn view(&self, frame: &mut Frame<'_>, cx: &PaneContext<'_>);
}
