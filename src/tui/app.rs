//! The app: the panes on the screen, the routing of keys, and the handling of events.
//!
//! It holds no pane's logic. [`App::update`] does no I/O and reads no clock, and [`App::view`]
//! changes nothing, so both are tested without a terminal.

mod outcome;

#[cfg(test)]
mod tests;
mod view;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ratatui::crossterm::event::{Event as Input, KeyEvent, KeyEventKind};
use ratatui::layout::{Rect, Size};

use super::action::Action;
use super::effect::{Effect, LibraryJob, LogsJob, TerminalJob, UndoDirection, UnsavedJob};
use super::event::{Changes, Event, ReviewCounts};
use super::highlight::Syntaxes;
use super::keymap::{KeyContext, Keymap};
use super::layout::{Areas, Arrangement, Focus};
use super::overlay::help::HelpDialog;
use super::overlay::palette::palette;
use super::overlay::reader::TextDialog;
use super::pane::browse::BrowsePane;
use super::pane::find::FindPane;
use super::pane::{Pane, Step, Toast, latest};
use super::panics::PanicReport;
use super::theme::Theme;
use super::worker::UNSAVED_THREAD;
use super::{Exit, Pick};
use crate::core::insight::ledger::Ledger;
use crate::core::memory::config::Warning;
use crate::core::memory::discover::DiscoveryScope;
use crate::core::memory::library::{Library, LogGroup};
use crate::core::memory::unsaved::Unsaved;
use crate::tui::model::{PaneContext, UserContext};

/// The state of the UI.
#[derive(Debug)]
pub(crate) struct App {
    theme: Theme,
    keymap: Keymap,
    syntaxes: Arc<Syntaxes>,
    library: Arc<Library>,
    /// How the memories were used, once it was counted.
    ledger: Arc<Ledger>,
    /// The panes, bottom first; the last one gets the keys. Dialogs are panes that do not fill
    /// the screen.
    panes: Vec<Box<dyn Pane>>,
    /// The panes above the tree that were set aside, to be shown again.
    parked: Vec<Box<dyn Pane>>,
    /// Panes that were closed, by their names, to be opened again as they were left.
    kept: Vec<(String, Box<dyn Pane>)>,
    /// The queries of this run, oldest first.
    queries: Vec<String>,
    areas: Areas,
    wanted: Arrangement,
    /// The part of the screen that has all of it; `None` if it is divided.
    zoom: Option<Focus>,
    /// The place, counted from the bottom, in which the user asked for that.
    zoomed_at: Option<usize>,
    user: UserContext,
    /// The logs, which are loaded and updated independently of the stores.
    logs: Arc<Vec<LogGroup>>,
    /// How much of the logs has been read, in percent; `None` when no reading is in progress.
    reading: Option<u64>,
    /// How many files wait for review.
    to_review: ReviewCounts,
    /// Problems with the stores that have been reported.
    problems: Vec<String>,
    /// Folders in which a Markdown file outside of all stores has caused a reload once.
    ignored_folders: HashSet<PathBuf>,
    now: i64,
    /// The process whose lock a change waits for, and the seconds waited so far.
    waiting: Option<(String, u64)>,
    toast: Option<(u64, Toast)>,
    /// Whether the last frame could not be drawn.
    is_broken: bool,
    toasts: u64,
    /// The number of the newest plan request.
    generation: u64,
}

/// How many closed panes are kept.
const MOST_KEPT: usize = 100;

impl App {
    pub(crate) fn new(theme: Theme, keymap: Keymap, user: UserContext) -> Self {
        Self {
            theme,
            keymap,
            syntaxes: Syntaxes::load(),
            library: Arc::default(),
            ledger: Arc::default(),
            panes: vec![Box::new(BrowsePane::default())],
            parked: Vec::new(),
            kept: Vec::new(),
            queries: Vec::new(),
            areas: Areas::default(),
            wanted: Arrangement::default(),
            zoom: None,
            zoomed_at: None,
            user,
            logs: Arc::default(),
            reading: None,
            to_review: ReviewCounts::new(),
            problems: Vec::new(),
            ignored_folders: HashSet::new(),
            now: 0,
            waiting: None,
            toast: None,
            is_broken: false,
            toasts: 0,
            generation: 0,
        }
    }

    /// Shows the finder alone; a choice ends the program.
    pub(crate) fn start_pick(&mut self, pick: Pick) {
        self.panes = vec![Box::new(FindPane::new(Some(pick.print), &pick.query))];
    }

    /// Shows the problem of the settings, or a list of several.
    pub(crate) fn warn(&mut self, warnings: &[Warning]) {
        match warnings {
            [] => {}
            [one] => self.say(Toast::trouble(one.to_string())),
            several => {
                let lines: Vec<String> = several.iter().map(Warning::to_string).collect();
                let title = format!("{} problems in the settings", several.len());
                let dialog = TextDialog::text(title, &lines.join("\n"));
                self.panes.push(Box::new(dialog));
            }
        }
    }

    /// The number of the visible toast.
    pub(crate) fn toast(&self) -> Option<u64> {
        self.toast.as_ref().map(|(number, _)| *number)
    }

    /// Reports a panic. Open texts are kept first, and the report says whether that succeeded.
    fn panicked(&mut self, report: &PanicReport, effects: &mut Vec<Effect>) {
        let texts: Vec<Unsaved> = self.panes.iter().flat_map(|pane| pane.unsaved()).collect();
        let report_text = report.to_string();
        if texts.is_empty() {
            self.say(Toast::trouble(report_text));
        } else if report.thread == UNSAVED_THREAD {
            self.say(Toast::trouble(format!(
                "what you typed may not be kept: save it or copy it elsewhere; {report_text}"
            )));
        } else {
            effects.push(Effect::Unsaved(UnsavedJob::Secure {
                texts,
                report: report_text,
            }));
        }
    }

    fn say(&mut self, toast: Toast) {
        self.toasts += 1;
        self.toast = Some((self.toasts, toast));
    }

    /// Calls `act` with each pane and the context.
    fn for_each_pane(&mut self, mut act: impl FnMut(&mut dyn Pane, &PaneContext<'_>)) {
        let mut panes = std::mem::take(&mut self.panes);
        let cx = self.pane_context();
        for pane in &mut panes {
            act(pane.as_mut(), &cx);
        }
        self.panes = panes;
    }

    /// Calls `act` with the pane at `at` and the context.
    fn with_pane<T>(
        &mut self,
        at: usize,
        act: impl FnOnce(&mut dyn Pane, &PaneContext<'_>) -> T,
    ) -> Option<T> {
        let mut panes = std::mem::take(&mut self.panes);
        let cx = self.pane_context();
        let done = panes.get_mut(at).map(|pane| act(pane.as_mut(), &cx));
        self.panes = panes;
        done
    }

    fn pane_context(&self) -> PaneContext<'_> {
        PaneContext {
            library: &self.library,
            ledger: &self.ledger,
            areas: &self.areas,
            theme: &self.theme,
            keymap: &self.keymap,
            syntaxes: &self.syntaxes,
            user: &self.user,
            queries: &self.queries,
            reading: self.reading,
            is_top: true,
            now: self.now,
        }
    }

    /// Where the keys go: how many panes there are, and the keys of the top one.
    fn place(&self) -> (usize, Option<KeyContext>) {
        let top = self.panes.last();
        (self.panes.len(), top.map(|pane| pane.key_context()))
    }

    fn top(&self) -> usize {
        self.panes.len().saturating_sub(1)
    }

    /// Handles an event; returns the effects to carry out.
    pub(crate) fn update(&mut self, event: Event) -> Vec<Effect> {
        let mut effects = Vec::new();
        match event {
            Event::Woke(now) => self.now = now,
            Event::Input(inputs) => {
                for input in inputs {
                    let before = (self.place(), self.toast());
                    self.input(input, &mut effects);
                    // What was said elsewhere names keys that may mean something else here.
                    if self.place() != before.0 && self.toast() == before.1 {
                        self.toast = None;
                    }
                }
                for at in (0..self.panes.len()).rev() {
                    let steps = self.with_pane(at, |pane, cx| pane.settle(cx));
                    self.take(steps.unwrap_or_default(), at, &mut effects);
                }
            }
            Event::ToastExpired => self.toast = None,
            Event::Stopped => effects.push(Effect::Terminal(TerminalJob::Suspend)),
            Event::Resumed => {}
            Event::NotCopied(text) => {
                effects.push(Effect::Terminal(TerminalJob::CopyByTerminal(text)));
            }
            Event::Terminated => effects.push(Effect::Terminal(TerminalJob::Leave(Exit::Done))),
            Event::Changed(Changes::At(paths)) => {
                effects.push(Effect::Library(LibraryJob::Refresh(paths)));
            }
            Event::Changed(Changes::Anywhere) => effects.push(Effect::Library(LibraryJob::Load)),
            Event::LogsChanged(Changes::At(paths)) => {
                effects.push(Effect::Logs(LogsJob::Refresh));
                let news = paths
                    .iter()
                    .filter(|path| self.may_be_new_store(path))
                    .count();
                if news > 0 {
                    effects.push(Effect::Library(LibraryJob::Load));
                }
            }
            Event::LogsChanged(Changes::Anywhere) => effects.push(Effect::Logs(LogsJob::Refresh)),
            Event::Waiting { holder, seconds } => self.waiting = Some((holder, seconds)),
            Event::WaitingOver => self.waiting = None,
            Event::Panicked(report) => self.panicked(&report, &mut effects),
            Event::Reading(tally) => {
                self.reading = tally.map(|tally| tally.bytes_done * 100 / tally.bytes.max(1));
            }
            Event::Indexed(library) => self.set_library(&library, &mut effects),
            Event::LogsListed(logs) => {
                self.logs = logs;
                let library = Arc::clone(&self.library);
                self.set_library(&library, &mut effects);
            }
            Event::Counted(ledger) => {
                if *self.ledger != *ledger {
                    self.ledger = ledger;
                    let library = Arc::clone(&self.library);
                    self.set_library(&library, &mut effects);
                }
            }
            event => self.on_event(event, &mut effects),
        }
        self.arrange();
        effects
    }

    /// Whether a changed file near the logs may belong to a store that is not known yet.
    fn may_be_new_store(&mut self, path: &Path) -> bool {
        let mut roots = self
            .library
            .stores
            .iter()
            .map(|snapshot| snapshot.store.root().path());
        let is_of_a_store = roots.any(|root| path.starts_with(root));
        let folder = path.parent().map(Path::to_owned).unwrap_or_default();
        path.extension().is_some_and(|ending| ending == "md")
            && !is_of_a_store
            && self.ignored_folders.insert(folder)
    }

    /// Combines the stores with the logs, which are loaded separately.
    fn set_library(&mut self, library: &Library, effects: &mut Vec<Effect>) {
        self.library = Arc::new(library.with_logs(Arc::clone(&self.logs)));
        self.on_event(Event::Indexed(Arc::clone(&self.library)), effects);
    }

    /// Passes an event to every pane, then handles it in the app.
    fn on_event(&mut self, event: Event, effects: &mut Vec<Effect>) {
        let mut responses = Vec::new();
        for at in 0..self.panes.len() {
            let steps = self.with_pane(at, |pane, cx| pane.on_event(&event, cx));
            responses.push((at, steps.unwrap_or_default()));
        }
        // From the top, so that closing a pane does not shift those below it.
        for (at, steps) in responses.into_iter().rev() {
            self.take(steps, at, effects);
        }
        let steps = self.after_event(event);
        self.take(steps, usize::MAX, effects);
    }

    fn input(&mut self, input: Input, effects: &mut Vec<Effect>) {
        let top = self.top();
        let steps = match input {
            Input::Key(key) if key.kind != KeyEventKind::Release => {
                return self.key(key, effects);
            }
            Input::Paste(text) => self.with_pane(top, |pane, cx| pane.paste(&text, cx)),
            Input::Mouse(mouse) if self.action_at(mouse).is_some() => {
                if let Some(action) = self.action_at(mouse) {
                    self.act(action, top, effects);
                }
                return;
            }
            Input::Mouse(mouse) if self.is_closed_by(mouse) => Some(vec![Step::Close]),
            Input::Mouse(mouse) => self.with_pane(top, |pane, cx| pane.mouse(mouse, cx)),
            Input::Resize(width, height) => {
                self.resize(Size::new(width, height));
                None
            }
            _ => None,
        };
        self.take(steps.unwrap_or_default(), top, effects);
    }

    fn key(&mut self, key: KeyEvent, effects: &mut Vec<Effect>) {
        let top = self.top();
        let Some(context) = self.panes.get(top).map(|pane| pane.key_context()) else {
            return;
        };
        match self.keymap.action(context, key) {
            Some(action) => self.act(action, top, effects),
            None => {
                let steps = self.with_pane(top, |pane, cx| pane.key(key, cx));
                self.take(steps.unwrap_or_default(), top, effects);
            }
        }
    }

    /// Passes an action to the pane at `at`, or handles it if the pane does not.
    fn act(&mut self, action: Action, at: usize, effects: &mut Vec<Effect>) {
        let answer = self.with_pane(at, |pane, cx| pane.act(action, cx));
        if let Some(steps) = answer.flatten() {
            return self.take(steps, at, effects);
        }
        let Some(context) = self.panes.get(at).map(|pane| pane.key_context()) else {
            return;
        };
        match action {
            Action::Help => {
                let keys = self.user.editor_keys;
                self.open_dialog(Box::new(HelpDialog::new(&self.keymap, context, keys)));
            }
            Action::Palette => self.open_dialog(Box::new(palette(&self.keymap, context))),
            Action::Repaint => effects.push(Effect::Terminal(TerminalJob::Repaint)),
            Action::Scope => self.switch_scope(effects),
            Action::Zoom => self.toggle_zoom(),
            Action::Undo => self.take(latest(UndoDirection::Undo), at, effects),
            Action::Redo => self.take(latest(UndoDirection::Redo), at, effects),
            Action::Suspend => effects.push(Effect::Terminal(TerminalJob::Suspend)),
            Action::Demo if self.library.stores.is_empty() && self.logs.is_empty() => {
                effects.push(Effect::Terminal(TerminalJob::Leave(Exit::Demo)));
            }
            Action::Demo => self.say(Toast::done("`tome --demo` opens the sample")),
            Action::Quit => effects.push(Effect::Terminal(TerminalJob::Leave(Exit::Done))),
            _ => {}
        }
    }

    /// Opens a pane or dialog. What was said before is not about it, so it is not said below it.
    fn open_dialog(&mut self, pane: Box<dyn Pane>) {
        if !pane.is_fullscreen() {
            self.toast = None;
        }
        self.panes.push(pane);
    }

    /// Switches between the stores and logs of this project and everything.
    fn switch_scope(&mut self, effects: &mut Vec<Effect>) {
        let (scope, message) = match self.user.scope {
            None => {
                let message = "Only the named stores are open; start tome without them";
                return self.say(Toast::done(message));
            }
            Some(DiscoveryScope::Project) => (
                DiscoveryScope::Everything,
                "Everything that agents keep in ~, not only ",
            ),
            Some(DiscoveryScope::Everything) => (DiscoveryScope::Project, "Only "),
        };
        self.user.scope = Some(scope);
        self.say(Toast::done(format!("{message}{}", self.user.title)));
        effects.push(Effect::Library(LibraryJob::Scope(scope)));
    }

    /// Shows the panes again that were set aside.
    fn unpark(&mut self, effects: &mut Vec<Effect>) {
        for pane in std::mem::take(&mut self.parked) {
            self.show(pane, effects);
        }
    }

    fn show(&mut self, mut pane: Box<dyn Pane>, effects: &mut Vec<Effect>) {
        pane.resize(&self.pane_context());
        let steps = pane.resume(&self.pane_context());
        self.open_dialog(pane);
        self.take(steps, self.top(), effects);
    }

    /// Opens a pane, or the one of its name that was closed.
    fn push(&mut self, pane: Box<dyn Pane>, effects: &mut Vec<Effect>) {
        let name = pane.identity();
        let at = self
            .kept
            .iter()
            .position(|(kept, _)| Some(kept) == name.as_ref());
        let kept = at.map(|at| self.kept.remove(at));
        self.show(kept.map_or(pane, |(_, kept)| kept), effects);
    }

    /// Closes a pane, and keeps it if it has a name. The bottom pane cannot be closed.
    fn close(&mut self, at: usize) {
        if at == 0 || at >= self.panes.len() {
            return;
        }
        let mut pane = self.panes.remove(at);
        if pane.key_context() == KeyContext::Editor {
            // A plan to save its text comes too late.
            self.generation += 1;
        }
        pane.rest();
        if let Some(name) = pane.identity() {
            self.kept.retain(|(kept, _)| *kept != name);
            self.kept.push((name, pane));
            let over = self.kept.len().saturating_sub(MOST_KEPT);
            self.kept.drain(..over);
        }
    }

    /// Remembers a query once, as the newest.
    fn remember_query(&mut self, query: String) {
        self.queries.retain(|known| *known != query);
        if !query.is_empty() {
            self.queries.push(query);
        }
    }

    /// Carries out the steps of the pane at `at`.
    fn take(&mut self, steps: Vec<Step>, at: usize, effects: &mut Vec<Effect>) {
        for step in steps {
            match step {
                Step::Effect(effect) => effects.push(effect),
                Step::Plan(request) => {
                    self.generation += 1;
                    effects.push(Effect::Library(LibraryJob::Plan {
                        generation: self.generation,
                        request,
                    }));
                }
                Step::Push(pane) => self.push(pane, effects),
                Step::Park => self.parked.append(&mut self.panes.split_off(1)),
                Step::Return => self.unpark(effects),
                Step::Close => self.close(at),
                Step::Act(action) => self.act(action, self.top(), effects),
                Step::Broadcast(event) => self.on_event(*event, effects),
                Step::Toast(toast) => self.say(toast),
            }
        }
    }

    pub(crate) fn resize(&mut self, size: Size) {
        let whole = Rect::new(0, 0, size.width, size.height);
        self.divide(whole);
    }

    fn divide(&mut self, whole: Rect) {
        let areas = Areas::of(whole, self.wanted);
        self.areas = match self.zoom {
            Some(part) => areas.zoomed(part),
            None => areas,
        };
        self.for_each_pane(|pane, cx| pane.resize(cx));
    }

    /// Divides the screen again if a pane requests another arrangement.
    fn arrange(&mut self) {
        let wanted = self.panes.iter().rev().find_map(|pane| pane.arrangement());
        let wanted = wanted.unwrap_or(self.wanted);
        let zoom = self.zoomed_part(wanted);
        if wanted != self.wanted || zoom != self.zoom {
            (self.wanted, self.zoom) = (wanted, zoom);
            self.divide(self.areas.whole);
        }
    }

    /// The part that gets the whole screen, if one does: the one that has the keys, in Find the text
    /// that was found, in the review the difference, and in the context the text of the piece. What is
    /// entered from a place that was zoomed begins with its list.
    fn zoomed_part(&self, wanted: Arrangement) -> Option<Focus> {
        let fullscreen = self.fullscreen_pane();
        if fullscreen > self.zoomed_at? {
            return None;
        }
        let pane = self.panes.get(fullscreen);
        Some(match pane.map(|pane| pane.key_context()) {
            Some(KeyContext::Find | KeyContext::Queue | KeyContext::Context) => Focus::Preview,
            _ => wanted.focus,
        })
    }

    /// The place of the pane that fills the screen, counted from the bottom.
    fn fullscreen_pane(&self) -> usize {
        let at = self.panes.iter().rposition(|pane| pane.is_fullscreen());
        at.unwrap_or(0)
    }

    /// Gives one pane the whole screen, or divides it again.
    fn toggle_zoom(&mut self) {
        self.zoomed_at = match self.zoom {
            Some(_) => None,
            None => Some(self.fullscreen_pane()),
        };
        self.zoom = self.zoomed_part(self.wanted);
        self.divide(self.areas.whole);
    }
}
