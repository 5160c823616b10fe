//! The memories that a session read, wrote or deleted.

use std::path::{Path, PathBuf};

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Span;
use ratatui::widgets::Clear;

use super::LogPane;
use crate::core::library::Library;
use crate::core::log::touch::{FileUse, file_touches};
use crate::core::log::{LogFile, MessageKind, Transcript};
use crate::core::review::file_below;
use crate::tui::action::Action;
use crate::tui::cells::escape_line;
use crate::tui::chrome::{count, dialog, two_ends};
use crate::tui::event::Event;
use crate::tui::keymap::KeyContext;
use crate::tui::layout::centred;
use crate::tui::pane::{Handled, Pane, PaneContext, Step, Toast};
use crate::tui::theme::Role;
use crate::tui::widget::list::{Cursor, Move};

/// A memory, and what a session did to it.
#[derive(Debug, PartialEq, Eq)]
struct Touched {
    name: String,
    /// How often it was read, written and deleted.
    uses: [usize; 3],
    /// The line of the first call that changed it, or else of the first that read it.
    line: u64,
}

impl Touched {
    fn is_changed(&self) -> bool {
        self.uses[1..] != [0, 0]
    }

    /// What was done to it, in words.
    fn what(&self) -> String {
        let words = ["read", "written", "deleted"];
        let uses = words.iter().zip(self.uses).filter(|(_, uses)| *uses > 0);
        let said = uses.map(|(word, uses)| match uses {
            1 => (*word).to_owned(),
            uses => format!("{word} {uses} times"),
        });
        said.collect::<Vec<String>>().join(", ")
    }
}

/// The memories that the calls of a transcript name, in the order of their first call.
fn touched(transcript: &Transcript, library: &Library) -> Vec<Touched> {
    let roots: Vec<&Path> = library
        .stores
        .iter()
        .map(|snapshot| snapshot.store.root().path())
        .collect();
    let cwd = transcript.head.cwd.as_deref();
    let mut found: Vec<(PathBuf, Touched)> = Vec::new();
    let calls = transcript.messages.iter();
    for call in calls.filter(|message| message.kind == MessageKind::ToolCall) {
        let tool = call.tool.as_deref().unwrap_or_default();
        for touch in file_touches(tool, &call.text) {
            let Some(file) = file_below(&touch, cwd, &roots) else {
                continue;
            };
            let at = found.iter().position(|(known, _)| *known == file);
            let at = at.unwrap_or_else(|| {
                let touched = Touched {
                    name: name_of(&file, library),
                    uses: [0; 3],
                    line: call.line,
                };
                found.push((file, touched));
                found.len() - 1
            });
            let touched = &mut found[at].1;
            if touch.usage != FileUse::Read && !touched.is_changed() {
                touched.line = call.line;
            }
            touched.uses[touch.usage as usize] += 1;
        }
    }
    found.into_iter().map(|(_, touched)| touched).collect()
}

/// A memory as it is cited.
fn name_of(file: &Path, library: &Library) -> String {
    let stores = library.stores.iter();
    let mut named = stores.filter_map(|snapshot| {
        let store = &snapshot.store;
        let below = file.strip_prefix(store.root().path()).ok()?;
        let reference = store.rules().reference_of(&below.to_string_lossy());
        Some(format!("{}:{reference}", store.name()))
    });
    named.next().unwrap_or_else(|| file.display().to_string())
}

impl LogPane {
    /// Lists the memories that the session touched.
    pub(super) fn list_touched(&self, cx: &PaneContext<'_>) -> Vec<Step> {
        let Some(transcript) = &self.read else {
            return Vec::new();
        };
        let rows = touched(transcript, cx.library);
        if rows.is_empty() {
            return vec![Step::Toast(Toast::done(
                "This session touched no memory of the stores shown here",
            ))];
        }
        vec![Step::Push(Box::new(TouchedDialog {
            log: self.file.clone(),
            rows,
            cursor: Cursor::default(),
        }))]
    }
}

/// The list of memories; Enter goes to the call.
#[derive(Debug)]
struct TouchedDialog {
    log: LogFile,
    rows: Vec<Touched>,
    cursor: Cursor,
}

impl TouchedDialog {
    fn area(&self, cx: &PaneContext<'_>) -> Rect {
        let rows = u16::try_from(self.rows.len()).unwrap_or(u16::MAX);
        centred(cx.areas.whole, 76, rows.saturating_add(2))
    }

    fn step(&mut self, to: Move, cx: &PaneContext<'_>) -> Vec<Step> {
        let height = usize::from(self.area(cx).height.saturating_sub(2));
        self.cursor.step(to, height, self.rows.len());
        Vec::new()
    }

    fn show(&self) -> Vec<Step> {
        let row = self.rows.get(self.cursor.selected);
        let show = row.map(|row| Event::ShowMessage {
            log: self.log.clone(),
            line: row.line,
        });
        let show = show.map(|event| Step::Broadcast(Box::new(event)));
        std::iter::once(Step::Close).chain(show).collect()
    }
}

impl Pane for TouchedDialog {
    fn key_context(&self) -> KeyContext {
        KeyContext::List
    }

    fn act(&mut self, action: Action, cx: &PaneContext<'_>) -> Handled {
        Handled::Used(match action {
            Action::Up => self.step(Move::Up, cx),
            Action::Down => self.step(Move::Down, cx),
            Action::PageUp => self.step(Move::PageUp, cx),
            Action::PageDown => self.step(Move::PageDown, cx),
            Action::Open => self.show(),
            Action::Back => vec![Step::Close],
            _ => Vec::new(),
        })
    }

    fn view(&self, frame: &mut Frame<'_>, cx: &PaneContext<'_>) {
        let theme = cx.theme;
        let area = self.area(cx);
        let title = count(
            self.rows.len(),
            "memory of this session",
            "memories of this session",
        );
        let block = dialog(cx, &title, KeyContext::List);
        let inner = block.inner(area);
        frame.render_widget(Clear, area);
        frame.render_widget(block, area);
        let window = self
            .cursor
            .window(usize::from(inner.height), self.rows.len());
        for (at, y) in window.zip(inner.top()..inner.bottom()) {
            let row = &self.rows[at];
            let (bar, role) = match at == self.cursor.selected {
                true => (
                    Span::styled("▌ ", theme.style(Role::Accent)),
                    Role::Selected,
                ),
                false => (Span::raw("  "), Role::Text),
            };
            let line = two_ends(
                vec![bar, Span::raw(escape_line(&row.name))],
                vec![Span::styled(
                    format!(" {} ", row.what()),
                    theme.style(Role::Muted),
                )],
                usize::from(inner.width),
                theme.style(role),
            );
            frame.render_widget(line, Rect::new(inner.x, y, inner.width, 1));
        }
    }
}
