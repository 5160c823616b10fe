//! The editor of one memory. The header is checked while typing; saving shows a diff first.
//!
//! Every edit is kept in the data directory until it is saved, so that neither a crash nor
//! leaving the editor loses it.

mod check;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ratatui::Frame;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseEvent};
use ratatui::layout::Rect;

use self::check::{Check, ContextMeter, Listed, check};
use super::why::WhyPane;
use super::{Pane, Step, Toast, perform, plan, say, say_trouble};
use crate::core::Error;
use crate::core::disk::trust::real_path;
use crate::core::insight::context::AgentContext;
use crate::core::memory::unsaved::Unsaved;
use crate::core::text::diff::counts;
use crate::tui::action::Action;
use crate::tui::cells::{cut, escape_line};
use crate::tui::chrome::{count, two_ends};
use crate::tui::effect::{
    Effect, LibraryJob, Request, Requester, SaveKind, Target, TerminalJob, UnsavedJob,
};
use crate::tui::event::{Event, LeftText};
use crate::tui::highlight::Language;
use crate::tui::keymap::KeyContext;
use crate::tui::model::PaneContext;
use crate::tui::theme::Role;
use crate::tui::widget::editor::{
    Editor as Widget, EditorOutcome, EditorState, TextPosition as At,
};

/// The editor of one file. Only the widget holds the text.
#[derive(Debug)]
pub(crate) struct EditorPane {
    /// The file, and its content when it was opened; the text of this is empty.
    file: Unsaved,
    widget: Widget,
    /// The revision of the widget's text that the fields below belong to.
    revision: u64,
    is_modified: bool,
    check: Check,
    listed: Option<Listed>,
    /// What saving does to other memories.
    kind: SaveKind,
    /// What an agent loads, if the file was opened as a piece of that.
    meter: Option<ContextMeter>,
    /// The revision of the text that was to be discarded. It cannot be undone, so it is confirmed.
    asked_to_discard: Option<u64>,
    /// What another program did to the file since it was opened.
    outside: Option<Outside>,
    /// What of another program is in the text, to be told when it is saved.
    merged: Option<(usize, usize)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outside {
    /// How many lines it added and removed.
    Changed(usize, usize),
    Gone,
}

/// What is said of a file that is gone.
const GONE: &str = "the file is gone: saving creates it again";

impl EditorPane {
    /// Opens a text with the cursor on `line`, counted from 0.
    pub(crate) fn open(text: Unsaved, line: usize, cx: &PaneContext<'_>) -> Self {
        let line = match line {
            0 if text.base.is_none() => usize::MAX,
            0 => first_line_of_body(&text),
            line => line,
        };
        let mut editor = Self::of(text, None, cx);
        editor.widget.go_to(At::new(line, 0));
        editor
    }

    /// The same, with what saving does to other memories.
    pub(crate) fn saving(self, kind: SaveKind) -> Self {
        Self { kind, ..self }
    }

    /// Opens a text that was left unsaved, with its undo steps if they are known.
    pub(crate) fn reopen(left: LeftText, line: usize, cx: &PaneContext<'_>) -> Self {
        let state = left.state.filter(|state| state.text() == left.text.text);
        if state.is_none() {
            return Self::open(left.text, line, cx).saving(left.kind);
        }
        let mut editor = Self::of(left.text, state, cx).saving(left.kind);
        if line > 0 {
            editor.widget.go_to(At::new(line, 0));
        }
        editor
    }

    fn of(mut text: Unsaved, state: Option<EditorState>, cx: &PaneContext<'_>) -> Self {
        let opened = std::mem::take(&mut text.text);
        let language = Language::of(&text.path);
        let widget = match state {
            Some(state) => Widget::restore(state),
            None => Widget::of(&opened),
        };
        let mut widget = widget
            .with_colours(cx.syntaxes.clone(), &language)
            .with_flavour(cx.user.editor_keys);
        let area = text_area(cx);
        widget.resize(area.width, area.height);
        let listed = Listed::read(&text, cx.library);
        let mut editor = Self {
            file: text,
            revision: widget.revision(),
            widget,
            is_modified: false,
            check: Check::default(),
            listed,
            kind: SaveKind::Alone,
            meter: None,
            asked_to_discard: None,
            outside: None,
            merged: None,
        };
        editor.look_at(&opened);
        editor
    }

    /// Shows how the text changes what an agent loads, of which the file at `path` is a piece.
    /// Returns the step that asks for it, too.
    pub(crate) fn with_context(mut self, context: &Arc<AgentContext>, path: &Path) -> (Self, Step) {
        let meter = ContextMeter::new(Arc::clone(context), real_path(path));
        let ask = meter.ask(self.widget.text());
        self.meter = Some(meter);
        (self, ask)
    }

    /// The text with its file, as it is kept and saved.
    fn to_unsaved(&self, time: i64) -> Unsaved {
        Unsaved {
            text: self.widget.text(),
            time,
            ..self.file.clone()
        }
    }

    /// Checks the header of the text, and whether it differs from the file.
    fn look_at(&mut self, text: &str) {
        self.revision = self.widget.revision();
        self.is_modified = self.file.base.as_deref() != Some(text);
        let rules = self.file.layout.rules();
        let memory = rules.read(&rules.file_of(&self.file.path), text);
        self.check = check(self.file.layout, &memory, text);
        self.check.index_line = self.listed.as_ref().and_then(|listed| listed.line(&memory));
    }

    /// Looks at the current text and keeps it while it is not saved.
    fn keep(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        let text = self.to_unsaved(cx.now);
        self.look_at(&text.text);
        let ask = self
            .meter
            .as_ref()
            .map(|meter| meter.ask(text.text.clone()));
        let keep = Step::Effect(Effect::Unsaved(if self.is_modified {
            UnsavedJob::Keep(text)
        } else {
            UnsavedJob::Forget(text)
        }));
        std::iter::once(keep).chain(ask).collect()
    }

    /// Keeps the text if it has changed since it was looked at. The text itself is asked, since
    /// every kind of edit counts: typed, pasted, replaced, repeated, undone.
    fn keep_changes(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        if self.widget.revision() == self.revision {
            Vec::new()
        } else {
            self.keep(cx)
        }
    }

    /// Handles what the widget did. Mere edits are looked at once for all keys that arrived.
    fn after(&mut self, outcome: EditorOutcome, cx: &PaneContext<'_>) -> Vec<Step> {
        if matches!(outcome, EditorOutcome::None | EditorOutcome::Changed) {
            return Vec::new();
        }
        let mut steps = self.keep_changes(cx);
        steps.extend(match outcome {
            EditorOutcome::None | EditorOutcome::Unused | EditorOutcome::Changed => Vec::new(),
            // What vi deletes goes to its register alone: copying runs a program for each.
            EditorOutcome::Cut(_) if self.widget.mode_name().is_some() => Vec::new(),
            EditorOutcome::Copied(text) | EditorOutcome::Cut(text) => {
                perform(Effect::Terminal(TerminalJob::Copy(text)))
            }
            EditorOutcome::Save | EditorOutcome::SaveAndLeave => self.save(cx),
            EditorOutcome::Leave => self.leave(cx),
            EditorOutcome::Discard => self.discard(cx),
            EditorOutcome::Message(text) => say(text),
        });
        steps
    }

    fn save(&self, cx: &PaneContext<'_>) -> Vec<Step> {
        if !self.is_modified && self.kind == SaveKind::Alone {
            return say("Nothing was changed");
        }
        let text = self.to_unsaved(cx.now);
        let request = match self.kind.clone() {
            SaveKind::Alone => Request::Save(text),
            SaveKind::Merge(others) => Request::Merge { text, others },
            SaveKind::Generalize(from) => Request::Generalize { text, from },
        };
        plan(request)
    }

    /// Closes the editor; unsaved text is kept.
    fn leave(&self, cx: &PaneContext<'_>) -> Vec<Step> {
        if !self.is_modified {
            return self.close();
        }
        vec![
            Step::Close,
            Step::Broadcast(Box::new(Event::EditorLeft(LeftText {
                text: self.to_unsaved(cx.now),
                state: Some(self.widget.state()),
                kind: self.kind.clone(),
            }))),
        ]
    }

    /// Closes the editor of a saved text, which opens at this line again.
    fn close(&self) -> Vec<Step> {
        let closed = Event::EditorClosed {
            target: self.target(),
            line: self.widget.cursor().row,
        };
        vec![Step::Close, Step::Broadcast(Box::new(closed))]
    }

    /// Discards the text, if it was changed when the same is asked a second time.
    fn ask_to_discard(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        let revision = Some(self.widget.revision());
        if !self.is_modified || self.asked_to_discard == revision {
            return self.discard(cx);
        }
        self.asked_to_discard = revision;
        let key = cx.keymap.key(KeyContext::Editor, Action::Discard);
        say_trouble(format!(
            "{} throws the unsaved text away if pressed again",
            key.unwrap_or_default()
        ))
    }

    fn discard(&self, cx: &PaneContext<'_>) -> Vec<Step> {
        let forget = UnsavedJob::Forget(self.to_unsaved(cx.now));
        vec![
            Step::Close,
            Step::Effect(Effect::Unsaved(forget)),
            Step::Toast(Toast::done("Nothing was saved")),
        ]
    }

    /// Handles a successful save; text typed meanwhile stays unsaved.
    fn saved(&mut self, saved: &Unsaved, cx: &PaneContext<'_>) -> Vec<Step> {
        if saved.text == self.widget.text() {
            let forget = Effect::Unsaved(UnsavedJob::Forget(saved.clone()));
            let mut steps = self.close();
            steps.push(Step::Effect(forget));
            return steps;
        }
        self.file.base = Some(saved.text.clone());
        self.kind = SaveKind::Alone;
        self.keep(cx)
    }

    fn target(&self) -> Target {
        Target::File {
            store: self.file.store(),
            path: self.file.path.clone(),
        }
    }

    /// Reads the file again if its store was read again.
    fn look_outside(&self) -> Vec<Step> {
        if self.file.base.is_none() && self.outside != Some(Outside::Gone) {
            return Vec::new();
        }
        perform(Effect::Library(LibraryJob::Read {
            generation: 0,
            requester: Requester::Editor,
            target: self.target(),
        }))
    }

    /// Compares the file with what it was when it was opened.
    fn compare(&mut self, now: Option<&[u8]>) {
        let base = self.file.base.as_deref().unwrap_or_default().as_bytes();
        self.outside = match now {
            None => Some(Outside::Gone),
            Some(now) if now == base => None,
            Some(now) => {
                let (added, removed) = counts(base, now);
                Some(Outside::Changed(added, removed))
            }
        };
    }

    /// Goes on with another version of the text; undo leads back to the one before.
    fn take(&mut self, text: &str, cx: &PaneContext<'_>) -> Vec<Step> {
        self.widget.replace_text(text);
        self.keep(cx)
    }
}

fn time(cx: &PaneContext<'_>) -> Duration {
    Duration::from_millis(u64::try_from(cx.now).unwrap_or(0))
}

/// The area of the text, above the line with the header check.
fn text_area(cx: &PaneContext<'_>) -> Rect {
    let body = cx.areas.body;
    Rect {
        height: body.height.saturating_sub(1),
        ..body
    }
}

fn first_line_of_body(subject: &Unsaved) -> usize {
    let rules = subject.layout.rules();
    let memory = rules.read(&rules.file_of(&subject.path), &subject.text);
    let body = memory.body.start.min(subject.text.len());
    let head = subject.text.get(..body).unwrap_or_default();
    let rest = subject.text.get(body..).unwrap_or_default();
    let blank = rest.len() - rest.trim_start_matches(['\n', '\r']).len();
    head.matches('\n').count() + rest[..blank].matches('\n').count()
}

impl Pane for EditorPane {
    fn key_context(&self) -> KeyContext {
        KeyContext::Editor
    }

    fn act(&mut self, action: Action, cx: &PaneContext<'_>) -> Option<Vec<Step>> {
        let is_own = matches!(
            action,
            Action::Save | Action::EditOutside | Action::Discard | Action::Why | Action::Back
        );
        if !is_own {
            return None;
        }
        let mut steps = self.keep_changes(cx);
        steps.extend(match action {
            Action::Save => self.save(cx),
            Action::EditOutside => perform(Effect::Terminal(TerminalJob::EditOutside(
                self.to_unsaved(cx.now),
            ))),
            Action::Discard => self.ask_to_discard(cx),
            Action::Why => {
                let line = self.widget.cursor().row;
                WhyPane::open(self.file.store(), self.file.path.clone(), line)
            }
            // The widget decides what Escape leaves: a prompt, a selection, a mode, or the editor.
            Action::Back => {
                let escape = KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE);
                self.key(escape, cx)
            }
            _ => Vec::new(),
        });
        Some(steps)
    }

    fn key(&mut self, key: KeyEvent, cx: &PaneContext<'_>) -> Vec<Step> {
        let outcome = self.widget.press(key, time(cx));
        self.after(outcome, cx)
    }

    fn settle(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        self.widget.settle();
        self.keep_changes(cx)
    }

    fn paste(&mut self, text: &str, cx: &PaneContext<'_>) -> Vec<Step> {
        let outcome = self.widget.paste(text, time(cx));
        self.after(outcome, cx)
    }

    fn mouse(&mut self, mouse: MouseEvent, cx: &PaneContext<'_>) -> Vec<Step> {
        let outcome = self.widget.mouse(mouse, text_area(cx), time(cx));
        self.after(outcome, cx)
    }

    /// A text that was left may be of a file that has changed since.
    fn resume(&mut self, _cx: &PaneContext<'_>) -> Vec<Step> {
        if self.is_modified {
            self.look_outside()
        } else {
            Vec::new()
        }
    }

    fn on_event(&mut self, event: &Event, cx: &PaneContext<'_>) -> Vec<Step> {
        match event {
            Event::Committed {
                request,
                result: Ok(_),
            } => match &**request {
                Request::Save(saved)
                | Request::Merge { text: saved, .. }
                | Request::Generalize { text: saved, .. }
                    if self.file.is_same_file(saved) =>
                {
                    self.saved(saved, cx)
                }
                _ => Vec::new(),
            },
            Event::ContextRead {
                draft: Some(file),
                result: Ok(context),
            } => {
                if let Some(meter) = &mut self.meter {
                    meter.take(file, context);
                }
                Vec::new()
            }
            Event::Indexed(_) => self.look_outside(),
            Event::Read { target, result, .. } if *target == self.target() => {
                match result {
                    Ok(document) => self.compare(Some(&document.bytes)),
                    Err(Error::NotFound { .. }) => self.compare(None),
                    Err(_) => {}
                }
                Vec::new()
            }
            Event::Resolved(text) if self.file.is_same_file(text) => {
                let base = |base: &Option<String>| base.clone().unwrap_or_default().into_bytes();
                let merged = counts(&base(&self.file.base), &base(&text.base));
                // A file that is gone has nothing to be merged with.
                let is_merged = merged != (0, 0) && text.base.is_some();
                self.merged = is_merged.then_some(merged);
                self.outside = text.base.is_none().then_some(Outside::Gone);
                self.file.base.clone_from(&text.base);
                let mut steps = self.take(&text.text, cx);
                steps.extend(self.save(cx));
                steps
            }
            Event::EditedOutside {
                subject,
                written: Some(text),
                trouble,
            } if self.file.is_same_file(subject) => {
                let mut steps = self.take(text, cx);
                if trouble.is_none() {
                    steps.extend(self.save(cx));
                }
                steps
            }
            _ => Vec::new(),
        }
    }

    fn resize(&mut self, cx: &PaneContext<'_>) {
        let area = text_area(cx);
        self.widget.resize(area.width, area.height);
    }

    fn title(&self, _cx: &PaneContext<'_>) -> Option<String> {
        let dot = if self.is_modified { " ●" } else { "" };
        let what = match self.kind {
            SaveKind::Alone => "edit",
            SaveKind::Merge(_) => "merge",
            SaveKind::Generalize(_) => "principle",
        };
        Some(format!("{what} · {}{dot}", self.file.path))
    }

    fn facts(&self) -> Option<String> {
        let lines = count(self.widget.lines().len(), "line", "lines");
        let ending = self.widget.line_ending();
        let mut facts: Vec<String> = self.check.category.iter().cloned().collect();
        facts.extend([lines, ending.to_string()]);
        facts.extend(self.widget.mode_name().map(str::to_owned));
        Some(facts.join(" · "))
    }

    fn unsaved(&self) -> Vec<Unsaved> {
        let modified = self.is_modified.then(|| self.to_unsaved(0));
        modified.into_iter().collect()
    }

    fn save_note(&self, text: &Unsaved) -> Option<String> {
        if !self.file.is_same_file(text) {
            return None;
        }
        let gone = self.outside == Some(Outside::Gone);
        let gone = gone.then(|| GONE.to_owned());
        let merged = self.merged.map(|(added, removed)| {
            format!("Merged with what was changed outside: +{added} −{removed}")
        });
        let meter = self.meter.as_ref().map(ContextMeter::text);
        let notes = gone.into_iter().chain(merged).chain(meter);
        let notes: Vec<String> = notes.collect();
        (!notes.is_empty()).then(|| notes.join(" · "))
    }

    fn is_fullscreen(&self) -> bool {
        true
    }

    fn view(&self, frame: &mut Frame<'_>, cx: &PaneContext<'_>) {
        let theme = cx.theme;
        let area = text_area(cx);
        frame.render_widget(self.widget.view(theme), area);
        if let Some(position) = self.widget.caret(area).filter(|_| cx.is_top) {
            frame.set_cursor_position(position);
        }
        let body = cx.areas.body;
        let line = Rect {
            y: body.bottom().saturating_sub(1),
            height: 1.min(body.height),
            ..body
        };
        let width = usize::from(line.width);
        let left = match (&self.check.trouble, self.outside) {
            (_, Some(Outside::Gone)) => theme.span(format!(" ! {GONE}"), Role::Warn),
            (_, Some(Outside::Changed(added, removed))) => theme.span(
                format!(" ! changed outside, +{added} −{removed}: saving merges both"),
                Role::Warn,
            ),
            (Some(trouble), None) => theme.span(
                format!(" ! {}", cut(trouble, width.saturating_sub(4))),
                Role::Warn,
            ),
            (None, None) if self.check.has_header => theme.span(" ✓ header", Role::Muted),
            (None, None) => theme.span("", Role::Muted),
        };
        let mut spans = vec![left];
        if self.check.trouble.is_none()
            && let Some(index_line) = &self.check.index_line
        {
            spans.push(theme.span(
                format!("   index  {}", escape_line(index_line)),
                Role::Muted,
            ));
        }
        let right = self.meter.as_ref().map(|meter| {
            let role = if meter.is_cut() {
                Role::Warn
            } else {
                Role::Muted
            };
            let text = cut(&meter.text(), width.saturating_sub(2));
            theme.span(format!(" {text} "), role)
        });
        let right = right.into_iter().collect();
        let header_line = two_ends(spans, right, width, theme.style(Role::Text));
        frame.render_widget(header_line, line);
    }
}
