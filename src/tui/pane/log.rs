//! The log pane: a conversation with its turns and tool calls. The log is never written.

mod find;
mod subagent;
mod touched;

use std::path::Path;
use std::sync::Arc;

use ratatui::Frame;
use ratatui::layout::{Margin, Position, Rect};
use ratatui::text::Line;

use self::find::LogSearch;
use super::{Pane, Step, perform, push, say};
use crate::core::insight::timeline::Node;
use crate::core::log::{Agent, Head, LogFile, Resume, Transcript, is_named};
use crate::core::memory::citation::{Citation, CitedPart};
use crate::core::memory::library::{Library, LogSummary};
use crate::core::text::display::{escape_controls, format_size};
use crate::tui::action::Action;
use crate::tui::cells::{self, escape_line};
use crate::tui::chrome::{KeyFocus, bordered, count, short_path};
use crate::tui::effect::{Effect, LogsJob, Requester, TerminalJob, TimelineJob, TranscriptJob};
use crate::tui::event::Event;
use crate::tui::keymap::KeyContext;
use crate::tui::model::PaneContext;
use crate::tui::theme::Role;
use crate::tui::widget::conversation::{
    Conversation, ConversationInfo, Layer, LeftPlace, Viewport,
};
use crate::tui::widget::emphasis::MarkedWords;
use crate::tui::widget::input::{Input, InputOutcome};
use crate::tui::widget::list::Move;
use crate::tui::widget::markdown::RenderOptions;

#[derive(Debug, Clone, Default)]
pub(crate) struct OpenAt {
    /// The line of the log; `None` for the default position.
    pub(crate) line: Option<u64>,
    /// The line of the text there, from 0.
    pub(crate) within: Option<usize>,
    pub(crate) words: MarkedWords,
}

#[derive(Debug)]
pub(crate) struct LogPane {
    file: LogFile,
    title: String,
    start: OpenAt,
    /// Whether it was opened for something in it, and not where it was left.
    is_aimed: bool,
    /// Where it was left when it was closed.
    left: Option<LeftPlace>,
    read: Option<Arc<Transcript>>,
    conversation: Option<Conversation>,
    problem: Option<String>,
    search: Option<LogSearch>,
    /// Whether the marked words were searched for here, so that leaving begins with them.
    is_searched: bool,
    /// What is to be done once it is read.
    waiting: Vec<Action>,
    /// What happened in it.
    node: Option<Arc<Node>>,
    /// The line at which the marked range begins.
    marked: Option<u64>,
}

impl LogPane {
    /// Opens a log, where it was left or at a line.
    pub(crate) fn open(log: &LogSummary, start: OpenAt) -> Vec<Step> {
        Self::opened(log, start, Vec::new())
    }

    /// Opens a log and lists the memories that it touched.
    pub(crate) fn open_touched(log: &LogSummary) -> Vec<Step> {
        Self::opened(log, OpenAt::default(), vec![Action::Why])
    }

    fn opened(log: &LogSummary, start: OpenAt, waiting: Vec<Action>) -> Vec<Step> {
        push(Self {
            file: log.file.clone(),
            title: log.title.clone(),
            is_aimed: start.line.is_some() || !waiting.is_empty(),
            start,
            left: None,
            read: None,
            conversation: None,
            problem: None,
            search: None,
            is_searched: false,
            waiting,
            node: None,
            marked: None,
        })
    }

    /// Reads the transcript.
    fn load(&self) -> Step {
        Step::Effect(Effect::Transcript(TranscriptJob {
            file: self.file.clone(),
            requester: Requester::Reader,
        }))
    }

    fn area(cx: &PaneContext<'_>) -> Rect {
        cx.areas.body.inner(Margin::new(2, 1))
    }

    fn viewport<'a>(cx: &PaneContext<'a>) -> Viewport<'a> {
        viewport(Self::area(cx), cx)
    }

    fn take(&mut self, transcript: &Arc<Transcript>, cx: &PaneContext<'_>) {
        let viewport = Self::viewport(cx);
        self.problem = None;
        self.read = Some(Arc::clone(transcript));
        match &mut self.conversation {
            Some(conversation) => conversation.refresh(Arc::clone(transcript), viewport),
            None => {
                let info = ConversationInfo {
                    agent: self.file.agent,
                    zone: cx.user.zone.clone(),
                };
                let mut conversation = Conversation::new(info, Arc::clone(transcript));
                if let Some(node) = &self.node {
                    conversation.set_summary(summary(node), viewport);
                }
                let start = &self.start;
                match (self.left.take(), start.line) {
                    (Some(left), _) => conversation.return_to(left, viewport),
                    (None, Some(line)) => {
                        conversation.go_to(line, start.within, start.words.clone(), viewport);
                    }
                    (None, None) => conversation.lay_out(viewport),
                }
                self.conversation = Some(conversation);
            }
        }
    }

    /// Shows what happened in the session above its first message.
    fn take_node(&mut self, node: &Arc<Node>, cx: &PaneContext<'_>) {
        if let Some(conversation) = &mut self.conversation {
            conversation.set_summary(summary(node), Self::viewport(cx));
        }
        self.node = Some(Arc::clone(node));
    }

    fn is_of(&self, node: &Node) -> bool {
        let own = format!("{}:{}", self.file.agent.name(), self.file.id);
        node.log.as_deref() == Some(own.as_str())
    }

    fn head(&self) -> Option<&Head> {
        self.read.as_ref().map(|read| &read.head)
    }

    fn copy_text(&self) -> Vec<Step> {
        match self.conversation.as_ref().and_then(|c| c.selected_text()) {
            Some(text) => copy_to_clipboard(text),
            None => Vec::new(),
        }
    }

    fn layer(&mut self, layer: Layer, name: &str, cx: &PaneContext<'_>) -> Vec<Step> {
        let Some(conversation) = &mut self.conversation else {
            return Vec::new();
        };
        conversation.toggle(layer, Self::viewport(cx));
        let word = if conversation.has(layer) {
            "shown"
        } else {
            "hidden"
        };
        say(format!("{name} {word}"))
    }

    fn walk(&mut self, step: Move, cx: &PaneContext<'_>) -> Vec<Step> {
        if let Some(conversation) = &mut self.conversation {
            conversation.step(step, Self::viewport(cx));
        }
        Vec::new()
    }

    fn walk_turns(&mut self, step: Move, cx: &PaneContext<'_>) -> Vec<Step> {
        if let Some(conversation) = &mut self.conversation {
            conversation.step_turn(step, Self::viewport(cx));
        }
        Vec::new()
    }

    fn unfold(&mut self, cx: &PaneContext<'_>) -> Vec<Step> {
        if let Some(conversation) = &mut self.conversation {
            conversation.fold(Self::viewport(cx));
        }
        Vec::new()
    }

    /// The command that resumes the session. It is in the list of logs, too, so that the log need
    /// not be read yet.
    fn resume_command(&self, cx: &PaneContext<'_>) -> Option<Resume> {
        let listed = cx.library.log(&self.file.path, &self.file.id);
        listed
            .and_then(LogSummary::resume)
            .or_else(|| self.file.resume(self.head()?))
    }

    fn cite(&self) -> Vec<Step> {
        copy_to_clipboard(self.citation().to_string())
    }

    fn line(&self) -> Option<u64> {
        let message = self.conversation.as_ref()?.message()?;
        Some(message.line)
    }

    /// The message under the cursor, or the marked lines.
    fn citation(&self) -> Citation {
        let place = |line: u64| usize::try_from(line).unwrap_or(1).max(1);
        let lines = self.line().map(|line| {
            let other = self.marked.unwrap_or(line);
            place(line.min(other))..=place(line.max(other))
        });
        Citation {
            store: Some(self.file.agent.name().to_owned()),
            path: self.file.id.clone(),
            part: lines.map_or(CitedPart::Whole, CitedPart::Lines),
            mark: None,
        }
    }

    /// Marks from here to where the cursor moves, or nothing any more.
    fn mark(&mut self) -> Vec<Step> {
        self.marked = match self.marked {
            Some(_) => None,
            None => self.line(),
        };
        Vec::new()
    }

    /// Proposes a memory for the message under the cursor, or the marked lines.
    fn promote(&mut self) -> Vec<Step> {
        let citation = self.citation();
        self.marked = None;
        match citation.part {
            CitedPart::Lines(_) => perform(Effect::Timeline(TimelineJob::Propose(vec![
                citation.to_string(),
            ]))),
            _ => Vec::new(),
        }
    }
}

/// The title and the bullets of a session's node.
fn summary(node: &Node) -> Vec<String> {
    let bullets = node.bullets.iter().map(|bullet| bullet.text.clone());
    std::iter::once(node.title.clone()).chain(bullets).collect()
}

/// Returns the viewport of a conversation in `area`.
pub(crate) fn viewport<'a>(area: Rect, cx: &PaneContext<'a>) -> Viewport<'a> {
    Viewport {
        options: RenderOptions {
            theme: cx.theme,
            syntaxes: cx.syntaxes,
            width: usize::from(area.width),
        },
        height: usize::from(area.height).max(1),
    }
}

/// Copies a text; the app says through what. Where it is pasted, nothing in it acts on a terminal.
pub(crate) fn copy_to_clipboard(text: String) -> Vec<Step> {
    let text = escape_controls(&text);
    perform(Effect::Terminal(TerminalJob::Copy(text)))
}

/// Runs the agent that goes on with a session.
pub(crate) fn resume(resume: Option<Resume>) -> Vec<Step> {
    with_resume(resume, |resume| {
        perform(Effect::Terminal(TerminalJob::Resume(resume)))
    })
}

/// Copies the command that resumes a session.
pub(crate) fn copy_resume(resume: Option<Resume>) -> Vec<Step> {
    with_resume(resume, |resume| copy_to_clipboard(resume.command_line()))
}

/// Copies a session to where its agent does not delete it.
pub(crate) fn keep(log: &LogFile) -> Vec<Step> {
    perform(Effect::Logs(LogsJob::Keep(log.clone())))
}

fn with_resume(resume: Option<Resume>, act: impl FnOnce(Resume) -> Vec<Step>) -> Vec<Step> {
    match resume {
        Some(resume) => act(resume),
        None => say("Its agent has no command that continues a session"),
    }
}

impl Pane for LogPane {
    fn key_context(&self) -> KeyContext {
        if self.search.is_some() {
            KeyContext::Prompt
        } else {
            KeyContext::Log
        }
    }

    fn act(&mut self, action: Action, cx: &PaneContext<'_>) -> Option<Vec<Step>> {
        if self.search.is_some() {
            return match action {
                Action::Back => Some(self.on_search(InputOutcome::Cancelled, cx)),
                Action::Open => Some(self.on_search(InputOutcome::Accepted, cx)),
                Action::Down => Some(self.matching(Move::Down, cx)),
                Action::Up => Some(self.matching(Move::Up, cx)),
                _ => None,
            };
        }
        let is_unread = self.conversation.is_none() && self.problem.is_none();
        let steps = match action {
            Action::NextTurn => self.walk_turns(Move::Down, cx),
            Action::PreviousTurn => self.walk_turns(Move::Up, cx),
            Action::Open => self.unfold(cx),
            Action::Filter => self.open_search(),
            Action::NextMatch => self.matching(Move::Down, cx),
            Action::PreviousMatch => self.matching(Move::Up, cx),
            Action::Tools => self.layer(Layer::Tools, "What tools did is", cx),
            Action::Thinking => self.layer(Layer::Thinking, "Reasoning is", cx),
            Action::Injected => self.layer(Layer::Injected, "What the program put in is", cx),
            Action::Copy => self.cite(),
            Action::MarkRange => self.mark(),
            Action::Promote => self.promote(),
            Action::CopyText => self.copy_text(),
            Action::Resume => resume(self.resume_command(cx)),
            Action::CopyResume => copy_resume(self.resume_command(cx)),
            Action::Keep => keep(&self.file),
            Action::Subagent => self.open_subagent(cx),
            Action::Why => self.list_touched(cx),
            Action::Back if self.marked.is_some() => {
                self.marked = None;
                Vec::new()
            }
            Action::Back if std::mem::take(&mut self.is_searched) => self.unmark(cx),
            Action::Back => vec![Step::Close],
            action => self.walk(Move::of(action)?, cx),
        };
        use Action::{Back, CopyResume, Filter, Keep, Resume};
        if is_unread && !matches!(action, Back | CopyResume | Filter | Keep | Resume) {
            self.waiting.push(action);
            return Some(Vec::new());
        }
        Some(steps)
    }

    fn input(&mut self) -> Option<&mut Input> {
        self.search.as_mut().map(|search| &mut search.input)
    }

    fn typed(&mut self, outcome: InputOutcome, cx: &PaneContext<'_>) -> Vec<Step> {
        self.on_search(outcome, cx)
    }

    fn wheel(&mut self, _at: Position, lines: isize, cx: &PaneContext<'_>) -> Vec<Step> {
        if let Some(conversation) = &mut self.conversation {
            conversation.scroll(lines, Self::viewport(cx));
        }
        Vec::new()
    }

    fn click(&mut self, at: Position, cx: &PaneContext<'_>) -> Vec<Step> {
        let area = Self::area(cx);
        let viewport = Self::viewport(cx);
        if let Some(conversation) = self.conversation.as_mut().filter(|_| area.contains(at)) {
            let before = conversation.message().map(|message| message.line);
            conversation.click(usize::from(at.y - area.y), viewport);
            // A second click on the same tool call unfolds it.
            if before == conversation.message().map(|message| message.line) {
                conversation.fold(viewport);
            }
        }
        Vec::new()
    }

    fn on_event(&mut self, event: &Event, cx: &PaneContext<'_>) -> Vec<Step> {
        match event {
            Event::Opened { file, result } if is_same_log(file, &self.file) => {
                let is_first = self.conversation.is_none();
                match result {
                    Ok(transcript) => self.take(transcript, cx),
                    Err(error) => self.problem = Some(error.to_string()),
                }
                if is_first {
                    self.on_search(InputOutcome::Changed, cx);
                }
                let mut steps = Vec::new();
                for action in std::mem::take(&mut self.waiting) {
                    steps.extend(self.act(action, cx).unwrap_or_default());
                }
                steps
            }
            Event::ShowMessage { log, line } if is_same_log(log, &self.file) => {
                let viewport = Self::viewport(cx);
                if let Some(conversation) = &mut self.conversation {
                    conversation.go_to(*line, None, MarkedWords::default(), viewport);
                }
                Vec::new()
            }
            Event::SessionSummarized(node) if self.is_of(node) => {
                self.take_node(node, cx);
                Vec::new()
            }
            Event::Indexed(library) => {
                let listed = library.log(&self.file.path, &self.file.id);
                match listed.filter(|listed| listed.file != self.file) {
                    Some(listed) => {
                        self.file = listed.file.clone();
                        self.title.clone_from(&listed.title);
                        vec![self.load()]
                    }
                    None => Vec::new(),
                }
            }
            _ => Vec::new(),
        }
    }

    fn identity(&self) -> Option<String> {
        let path = self.file.path.display();
        (!self.is_aimed).then(|| format!("log {path} {}", self.file.id))
    }

    /// Keeps the place alone: a transcript is large.
    fn rest(&mut self) {
        if let Some(conversation) = self.conversation.take() {
            self.left = Some(conversation.place());
        }
        self.read = None;
        self.waiting.clear();
        (self.is_aimed, self.is_searched, self.marked) = (false, false, None);
    }

    fn resume(&mut self, _cx: &PaneContext<'_>) -> Vec<Step> {
        let session = Effect::Timeline(TimelineJob::Session {
            agent: self.file.agent,
            id: self.file.id.clone(),
        });
        vec![self.load(), Step::Effect(session)]
    }

    fn resize(&mut self, cx: &PaneContext<'_>) {
        if let Some(conversation) = &mut self.conversation {
            conversation.resize(Self::viewport(cx));
        }
    }

    fn title(&self, _cx: &PaneContext<'_>) -> Option<String> {
        Some(format!("log   {}", self.title))
    }

    fn facts(&self) -> Option<String> {
        let mut facts = vec![self.file.agent.name().to_owned()];
        // Those that are shown: some may be of the session that it goes on with.
        if let Some(conversation) = &self.conversation {
            let (_, turns) = conversation.turn();
            facts.push(count(turns, "turn", "turns"));
        }
        if self.file.size > 0 {
            facts.push(format_size(self.file.size));
        }
        Some(facts.join(" · "))
    }

    fn is_fullscreen(&self) -> bool {
        true
    }

    fn view(&self, frame: &mut Frame<'_>, cx: &PaneContext<'_>) {
        let theme = cx.theme;
        let body = cx.areas.body;
        let mut block = bordered(theme, KeyFocus::Here);
        if let Some(head) = self.head() {
            let viewport = usize::from(body.width.saturating_sub(24));
            let cwd = head.cwd.as_deref().map(|cwd| short_path(Path::new(cwd)));
            let about = [
                cwd.as_deref(),
                head.branch.as_deref(),
                head.model.as_deref(),
            ];
            let about: Vec<&str> = about.into_iter().flatten().collect();
            block = block.title(theme.span(
                format!(
                    " {} ",
                    cells::cut(&escape_line(&about.join(" · ")), viewport)
                ),
                Role::Muted,
            ));
        }
        if let Some(conversation) = &self.conversation {
            let (turn, turns) = conversation.turn();
            let mut place = Vec::new();
            let matches = self.match_label();
            if self.search.is_none() && !matches.is_empty() {
                let matches = format!(" {matches} found ·");
                place.push(theme.span(matches, Role::Accent));
            }
            if self.marked.is_some() {
                let lines = self.citation().part;
                if let CitedPart::Lines(lines) = lines {
                    let marked = format!(" marked L{}–{} ·", lines.start(), lines.end());
                    place.push(theme.span(marked, Role::Accent));
                }
            }
            let turn = format!(" turn {turn}/{turns} ");
            place.push(theme.span(turn, Role::Muted));
            block = block.title_bottom(Line::from(place).right_aligned());
        }
        if let Some(search) = &self.search {
            let (typed, _) = search.input.line(theme, body.width.saturating_sub(32));
            let mut title = vec![theme.span(" find ❯ ", Role::Accent)];
            title.extend(typed.spans);
            let matches = format!("  {} ", self.match_label());
            title.push(theme.span(matches, Role::Muted));
            block = block.title_bottom(Line::from(title));
        }
        frame.render_widget(block, body);
        let area = Self::area(cx);
        let mut say = |text: &str, role: Role| {
            let line = theme.line(escape_line(text), role);
            let height = 1.min(area.height);
            frame.render_widget(line, Rect { height, ..area });
        };
        match (&self.conversation, &self.problem) {
            (_, Some(problem)) => say(problem, Role::Warn),
            (None, None) => say("reading…", Role::Muted),
            (Some(conversation), None) if conversation.is_empty() => {
                say("Nothing was said in it.", Role::Muted);
            }
            (Some(conversation), None) => {
                let cursor = Some(theme.style(Role::Accent));
                conversation.view(area, frame.buffer_mut(), cursor);
            }
        }
        if let Some(search) = self.search.as_ref().filter(|_| cx.is_top) {
            let (_, column) = search.input.line(theme, body.width.saturating_sub(32));
            let x = body.x.saturating_add(1 + 8).saturating_add(column);
            frame.set_cursor_position((
                x.min(body.right().saturating_sub(1)),
                body.bottom().saturating_sub(1),
            ));
        }
    }
}

/// Whether two files are the same log, even if it has grown.
pub(crate) fn is_same_log(one: &LogFile, other: &LogFile) -> bool {
    one.path == other.path && one.id == other.id
}

/// Returns the log that a citation such as `claude-code:ID#L5` refers to, and the position.
pub(crate) fn cited_log<'a>(
    library: &'a Library,
    target: &str,
) -> Option<(&'a LogSummary, OpenAt)> {
    let Ok(citation) = target.parse::<Citation>();
    let agent = Agent::named(citation.store.as_deref()?)?;
    let mut logs = library.logs.iter().flat_map(|log_group| &log_group.logs);
    let log = logs.find(|log| {
        let file = &log.file;
        file.agent == agent && is_named(&citation.path, &file.id, &file.path)
    })?;
    let line = match citation.part {
        CitedPart::Lines(lines) => Some(*lines.start() as u64),
        _ => None,
    };
    let start = OpenAt {
        line,
        ..OpenAt::default()
    };
    Some((log, start))
}
