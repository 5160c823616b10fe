//! Stub until the editor of the widgets is here.
use crate::tui::highlight::{Language, Syntaxes};
use crate::tui::theme::Theme;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{KeyCode, KeyEvent, MouseEvent};
use ratatui::layout::{Position, Rect};
use ratatui_textarea::TextArea;
use std::sync::Arc;
use std::time::Duration;
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct Place {
    pub row: usize,
    pub at: usize,
}
#[allow(missing_docs)]
impl Place {
    pub fn new(row: usize, at: usize) -> Self {
        Self { row, at }
    }
}
#[allow(missing_docs)]
#[derive(Debug)]
pub enum EditorOutcome {
    None,
    Unused,
    Changed,
    Copied(String),
    Cut(String),
    Save,
    Leave,
    SaveAndLeave,
    Discard,
    Message(String),
}
#[allow(missing_docs)]
#[derive(Debug)]
pub struct NotText;
#[derive(Debug)]
#[allow(missing_docs)]
pub struct Editor {
    area: TextArea<'static>,
    lines: Vec<String>,
}
#[allow(missing_docs)]
impl Editor {
    pub fn open(bytes: &[u8]) -> Result<Self, NotText> {
        let t = String::from_utf8_lossy(bytes).into_owned();
        Ok(Self {
            lines: t.split('\n').map(str::to_owned).collect(),
            area: TextArea::new(t.split('\n').map(str::to_owned).collect()),
        })
    }
    pub fn with_colours(self, _s: Arc<Syntaxes>, _l: &Language) -> Self {
        self
    }
    pub fn resize(&mut self, _w: u16, _h: u16) {}
    pub fn text(&self) -> String {
        self.area.lines().join("\n")
    }
    pub fn lines(&self) -> &[String] {
        &self.lines
    }
    pub fn line_ending(&self) -> &'static str {
        "LF"
    }
    pub fn cursor(&self) -> Place {
        let c = self.area.cursor();
        Place { row: c.0, at: c.1 }
    }
    pub fn is_asking(&self) -> bool {
        false
    }
    pub fn go_to(&mut self, p: Place) {
        self.area.move_cursor(ratatui_textarea::CursorMove::Jump(
            p.row as u16,
            p.at as u16,
        ));
    }
    pub fn key(&mut self, k: KeyEvent, _t: Duration) -> EditorOutcome {
        if k.code == KeyCode::Esc {
            return EditorOutcome::Leave;
        }
        if self.area.input(k) {
            EditorOutcome::Changed
        } else {
            EditorOutcome::None
        }
    }
    pub fn paste(&mut self, t: &str, _d: Duration) -> EditorOutcome {
        self.area.insert_str(t);
        EditorOutcome::Changed
    }
    pub fn mouse(&mut self, _m: MouseEvent, _a: Rect, _t: Duration) -> EditorOutcome {
        EditorOutcome::None
    }
}
#[allow(missing_docs)]
pub struct View<'a>(&'a Editor);
#[allow(missing_docs)]
impl<'a> View<'a> {
    pub fn new(e: &'a Editor, _t: &Theme) -> Self {
        Self(e)
    }
    pub fn cursor(&self, _a: Rect) -> Option<Position> {
        None
    }
}
impl ratatui::widgets::Widget for &View<'_> {
    fn render(self, area: Rect, buf: &mut Buffer) {
        (&self.0.area).render(area, buf);
    }
}
