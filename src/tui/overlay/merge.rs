//! The merge dialog: for every conflict between two versions, take mine, theirs, or both. The
//! places of a merge are also those of the dialog that combines memories.

use ratatui::Frame;
use ratatui::crossterm::event::{MouseEvent, MouseEventKind};
use ratatui::layout::Rect;

use crate::core::memory::unsaved::Unsaved;
use crate::tui::action::Action;
use crate::tui::chrome::Dialog;
use crate::tui::event::Event;
use crate::tui::keymap::KeyContext;
use crate::tui::layout::{centred, reading_area};
use crate::tui::model::PaneContext;
use crate::tui::pane::{Pane, Step, say};
use crate::tui::widget::merge::{Choice, Merge};

/// The places where texts differ, each of which is decided about, in a dialog.
#[derive(Debug)]
pub(super) struct MergePlaces {
    pub(super) widget: Merge,
    context: KeyContext,
}

impl MergePlaces {
    /// The most columns: three texts side by side.
    const WIDTH: u16 = 160;

    pub(super) fn new(widget: Merge, context: KeyContext) -> Self {
        Self { widget, context }
    }

    /// Goes to another place, or decides about the current one, and shows it; or scrolls.
    pub(super) fn act(&mut self, action: Action, cx: &PaneContext<'_>) {
        let page = self.inner(cx).1.saturating_sub(1).max(1);
        match action {
            Action::PageDown => return self.scroll(page.cast_signed().into(), cx),
            Action::PageUp => return self.scroll(-isize::from(page.cast_signed()), cx),
            Action::Down => self.widget.next(),
            Action::Up => self.widget.previous(),
            Action::TakeMine => self.widget.choose(Choice::Mine),
            Action::TakeTheirs => self.widget.choose(Choice::Theirs),
            Action::TakeBoth => self.widget.choose(Choice::Both),
            Action::TakeNeither => self.widget.choose(Choice::Base),
            _ => {}
        }
        self.reveal(cx);
    }

    /// Scrolls by so many lines.
    fn scroll(&mut self, by: isize, cx: &PaneContext<'_>) {
        let size = self.inner(cx);
        self.widget.scroll(by, size);
    }

    /// Scrolls with the wheel.
    pub(super) fn mouse(&mut self, mouse: MouseEvent, cx: &PaneContext<'_>) {
        match mouse.kind {
            MouseEventKind::ScrollDown => self.scroll(3, cx),
            MouseEventKind::ScrollUp => self.scroll(-3, cx),
            _ => {}
        }
    }

    /// The area, with the border: as high as the texts, if there is room.
    fn area(&self, cx: &PaneContext<'_>) -> Rect {
        let whole = cx.areas.whole;
        let width = (whole.width * 9 / 10).min(Self::WIDTH);
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
    pub(super) fn reveal(&mut self, cx: &PaneContext<'_>) {
        let (width, height) = self.inner(cx);
        self.widget.reveal(width, height);
    }

    pub(super) fn dialog(&self, title: String, cx: &PaneContext<'_>) -> Dialog {
        let title = match self.widget.below(self.inner(cx)) {
            0 => title,
            below => format!("{title} · {below} below (PgDn)"),
        };
        Dialog::new(cx, self.area(cx), title, self.context)
    }

    pub(super) fn draw(&self, frame: &mut Frame<'_>, cx: &PaneContext<'_>) {
        let text = Dialog::inner(self.area(cx));
        frame.render_widget(self.widget.view(cx.theme), text);
    }
}

/// What is said when the result is asked for too early.
pub(super) fn undecided() -> Vec<Step> {
    say("Decide every place first")
}

/// Resolves the conflicts between an edited text and its file.
#[derive(Debug)]
pub(crate) struct MergeDialog {
    text: Unsaved,
    theirs: String,
    places: MergePlaces,
}

impl MergeDialog {
    /// Creates a merge of `text`, edited from its base, with the current file.
    pub(crate) fn new(text: Unsaved, theirs: String) -> Self {
        let base = text.base.as_deref().unwrap_or_default();
        let widget = Merge::new(base, &text.text, &theirs);
        Self {
            places: MergePlaces::new(widget, KeyContext::Merge),
            text,
            theirs,
        }
    }

    fn confirm(&self) -> Vec<Step> {
        let Some(text) = self.places.widget.result() else {
            return undecided();
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

    fn act(&mut self, action: Action, cx: &PaneContext<'_>) -> Option<Vec<Step>> {
        self.places.act(action, cx);
        Some(match action {
            Action::Open => self.confirm(),
            Action::Back => vec![Step::Close],
            _ => Vec::new(),
        })
    }

    fn mouse(&mut self, mouse: MouseEvent, cx: &PaneContext<'_>) -> Vec<Step> {
        self.places.mouse(mouse, cx);
        Vec::new()
    }

    fn resize(&mut self, cx: &PaneContext<'_>) {
        self.places.reveal(cx);
    }

    fn dialog(&self, cx: &PaneContext<'_>) -> Option<Dialog> {
        let title = match self.places.widget.open() {
            0 => format!("{} · everything is decided", self.text.path),
            open => format!("{} was changed outside · {open} to decide", self.text.path),
        };
        Some(self.places.dialog(title, cx))
    }

    fn view(&self, frame: &mut Frame<'_>, cx: &PaneContext<'_>) {
        self.places.draw(frame, cx);
    }
}
