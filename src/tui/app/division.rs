//! How the panes share the screen, and which of them has all of it.

use ratatui::layout::{Rect, Size};

use super::App;
use crate::tui::keymap::KeyContext;
use crate::tui::layout::{Areas, Arrangement, Focus};

impl App {
    /// Sets the size of the screen.
    pub(crate) fn resize(&mut self, size: Size) {
        let whole = Rect::new(0, 0, size.width, size.height);
        self.divide(whole);
    }

    pub(super) fn divide(&mut self, whole: Rect) {
        let areas = Areas::of(whole, self.wanted);
        self.areas = match self.zoom {
            Some(part) => areas.zoomed(part),
            None => areas,
        };
        self.for_each_pane(|pane, cx| pane.resize(cx));
    }

    /// Divides the screen again if a pane requests another arrangement.
    pub(super) fn arrange(&mut self) {
        let wanted = self.panes.iter().rev().find_map(|pane| pane.arrangement());
        let wanted = wanted.unwrap_or(self.wanted);
        let zoom = self.zoom.map(|_| self.zoomed_part(wanted));
        if wanted != self.wanted || zoom != self.zoom {
            (self.wanted, self.zoom) = (wanted, zoom);
            self.divide(self.areas.whole);
        }
    }

    /// The part that gets the whole screen: the one that has the keys, in Find the text that was
    /// found, in the review the difference, and in the context the text of the piece.
    fn zoomed_part(&self, wanted: Arrangement) -> Focus {
        let pane = self.panes.iter().rev().find(|pane| pane.is_fullscreen());
        match pane.map(|pane| pane.key_context()) {
            Some(KeyContext::Find | KeyContext::Queue | KeyContext::Context) => Focus::Preview,
            _ => wanted.focus,
        }
    }

    /// Gives one pane the whole screen, or divides it again.
    pub(super) fn toggle_zoom(&mut self) {
        self.zoom = match self.zoom {
            Some(_) => None,
            None => Some(self.zoomed_part(self.wanted)),
        };
        self.divide(self.areas.whole);
    }
}
