//! What gets the keys: panes, which fill the screen, and dialogs, which lie over them.
//!
//! Each is a [`Pane`]: it turns actions, keys and events into [`Step`]s and draws itself. A new
//! one is a file here, a place in the keymap, and a step that opens it; the app routes to
//! whichever is on top and knows none of them.

pub(crate) mod browse;
pub(crate) mod editor;
pub(crate) mod find;
pub(crate) mod history;
pub(crate) mod log;
pub(crate) mod preview;

use std::sync::Arc;

use ratatui::Frame;
use ratatui::crossterm::event::{KeyEvent, MouseEvent};

use super::action::Action;
use super::app::UserContext;
use super::effect::{Effect, Request};
use super::event::Event;
use super::highlight::Syntaxes;
use super::keymap::{KeyContext, Keymap};
use super::layout::{Areas, Arrangement};
use super::theme::Theme;
use crate::core::library::Library;
use crate::core::unsaved::Unsaved;

/// What a pane may look at.
#[derive(Clone, Copy)]
pub(crate) struct PaneContext<'a> {
    pub(crate) library: &'a Arc<Library>,
    pub(crate) areas: &'a Areas,
    pub(crate) theme: &'a Theme,
    pub(crate) keymap: &'a Keymap,
    pub(crate) syntaxes: &'a Arc<Syntaxes>,
    pub(crate) user: &'a UserContext,
    /// How much of the logs has been read, in percent, while they are.
    pub(crate) reading: Option<u64>,
    /// Whether nothing lies over the pane that looks at this.
    pub(crate) is_top: bool,
    /// The time in milliseconds since 1970.
    pub(crate) now: i64,
}

/// What comes of an action, a key or an event.
#[derive(Debug)]
pub(crate) enum Step {
    /// Have the world do something.
    Effect(Effect),
    /// Plan a change and show it before it is made.
    Plan(Box<Request>),
    /// Lay something on top.
    Push(Box<dyn Pane>),
    /// Take away what said this.
    Close,
    /// Close what said this and act on what is below.
    Act(Action),
    /// Tell everybody that something happened.
    Broadcast(Box<Event>),
    /// Say a sentence.
    Toast(Toast),
}

/// A sentence about what just happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Toast {
    pub(crate) text: String,
    pub(crate) tone: Tone,
}

/// How a toast is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Done,
    Trouble,
}

impl Toast {
    /// Something was done.
    pub(crate) fn done(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            tone: Tone::Done,
        }
    }

    /// Something is not as it should be.
    pub(crate) fn trouble(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            tone: Tone::Trouble,
        }
    }
}

/// Whether an action was for this pane.
#[derive(Debug)]
pub(crate) enum Handled {
    Used(Vec<Step>),
    Unused,
}

/// Something that gets keys and draws itself.
pub(crate) trait Pane: std::fmt::Debug {
    /// Where its keys are in the keymap.
    fn key_context(&self) -> KeyContext;

    /// Does what the person wants.
    fn act(&mut self, action: Action, cx: &PaneContext<'_>) -> Handled;

    /// Takes a key that the keymap does not bind here.
    fn key(&mut self, _key: KeyEvent, _cx: &PaneContext<'_>) -> Vec<Step> {
        Vec::new()
    }

    /// Takes a pasted text.
    fn paste(&mut self, _text: &str, _cx: &PaneContext<'_>) -> Vec<Step> {
        Vec::new()
    }

    /// Takes the mouse.
    fn mouse(&mut self, _mouse: MouseEvent, _cx: &PaneContext<'_>) -> Vec<Step> {
        Vec::new()
    }

    /// Hears of what happened.
    fn on_event(&mut self, _event: &Event, _cx: &PaneContext<'_>) -> Vec<Step> {
        Vec::new()
    }

    /// Fits itself to the areas, which have just changed.
    fn resize(&mut self, _cx: &PaneContext<'_>) {}

    /// How the screen shall be divided, if it matters to it.
    fn arrangement(&self) -> Option<Arrangement> {
        None
    }

    /// Where the person is, for the first line.
    fn title(&self, _cx: &PaneContext<'_>) -> Option<String> {
        None
    }

    /// What else is worth knowing, for the end of the first line.
    fn facts(&self) -> Option<String> {
        None
    }

    /// Texts in it that are not saved.
    fn unsaved(&self) -> Vec<Unsaved> {
        Vec::new()
    }

    /// Whether it hides everything below it.
    fn is_fullscreen(&self) -> bool {
        false
    }

    /// Draws itself.
    fn view(&self, frame: &mut Frame<'_>, cx: &PaneContext<'_>);
}
