//! A conversation, read: its turns, and what tools did in them. The log itself is never written.

use std::path::Path;
use std::sync::Arc;

use ratatui::Frame;
use ratatui::crossterm::event::{KeyEvent, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Margin, Position, Rect};
use ratatui::text::{Line, Span};

use super::{Answer, Pane, Scene, Step, Toast};
use crate::core::citation::{Citation, Part};
use crate::core::log::{Head, LogFile, Resume, Transcript};
use crate::core::shown::size;
use crate::tui::action::Action;
use crate::tui::cells::{self, visible};
use crate::tui::chrome::{Keys, bordered, count, short_path};
use crate::tui::effect::{Asker, Effect, TerminalJob, TranscriptJob};
use crate::tui::event::Event;
use crate::tui::keymap::Place;
use crate::tui::theme::Role;
use crate::tui::widget::conversation::{Conversation, Layer, Room, Telling};
use crate::tui::widget::emphasis::Words;
use crate::tui::widget::input::{Input, InputOutcome};
use crate::tui::widget::list::Step as Move;
use crate::tui::widget::markdown::Look;

/// Where to begin to read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Start {
    /// The line of the log.
    pub(crate) line: Option<u64>,
    /// The words that are marked.
    pub(crate) words: Words,
}

/// One log.
#[derive(Debug)]
pub(crate) struct LogPane {
    file: LogFile,
    title: String,
    start: Start,
    read: Option<Arc<Transcript>>,
    conversation: Option<Conversation>,
    /// Why it cannot be read.
    problem: Option<String>,
    /// What is typed to be found.
    find: Option<Input>,
}

impl LogPane {
    /// Opens a log; the steps have it read.
    pub(crate) fn open(file: LogFile, title: String, start: Start) -> Vec<Step> {
        let read = Effect::Transcript(TranscriptJob {
            file: file.clone(),
            asker: Asker::Reader,
        });
        let pane = Self {
            file,
            title,
            start,
            read: None,
            conversation: None,
            problem: None,
            find: None,
        };
        vec![Step::Push(Box::new(pane)), Step::Do(read)]
    }

    fn area(scene: &Scene<'_>) -> Rect {
        scene.areas.body.inner(Margin::new(2, 1))
    }

    fn room<'a>(scene: &Scene<'a>) -> Room<'a> {
        room(Self::area(scene), scene)
    }

    fn take(&mut self, transcript: &Arc<Transcript>, scene: &Scene<'_>) {
        let room = Self::room(scene);
        self.problem = None;
        self.read = Some(Arc::clone(transcript));
        match &mut self.conversation {
            Some(conversation) => conversation.refresh(Arc::clone(transcript), room),
            None => {
                let telling = Telling {
                    agent: self.file.agent,
                    zone: scene.given.zone.clone(),
                };
                let mut conversation = Conversation::new(telling, Arc::clone(transcript));
                match self.start.line {
                    Some(line) => conversation.go_to(line, self.start.words.clone(), room),
                    None => conversation.lay_out(room),
                }
                self.conversation = Some(conversation);
            }
        }
    }

    fn head(&self) -> Option<&Head> {
        self.read.as_ref().map(|read| &read.head)
    }

    fn cite(&self) -> Vec<Step> {
        let line = self.conversation.as_ref().and_then(|c| c.message());
        let line = line.map(|message| usize::try_from(message.line).unwrap_or(1).max(1));
        let citation = Citation {
            store: Some(self.file.agent.name().to_owned()),
            path: self.file.id.clone(),
            part: line.map_or(Part::Whole, |line| Part::Lines(line..=line)),
        };
        copied(citation.to_string())
    }

    fn copy_text(&self) -> Vec<Step> {
        match self.conversation.as_ref().and_then(|c| c.selected_text()) {
            Some(text) => vec![
                Step::Say(Toast::done(format!("Copied {}", size(text.len() as u64)))),
                Step::Do(Effect::Terminal(TerminalJob::Copy(text))),
            ],
            None => Vec::new(),
        }
    }

    /// What is typed to be found was changed, accepted or left.
    fn sought(&mut self, outcome: InputOutcome, scene: &Scene<'_>) -> Vec<Step> {
        let room = Self::room(scene);
        let text = self.find.as_ref().map_or("", Input::text).to_owned();
        match outcome {
            InputOutcome::Cancelled => {
                self.find = None;
                if let Some(conversation) = &mut self.conversation {
                    conversation.mark(Words::default(), room);
                }
            }
            InputOutcome::Accepted => {
                self.find = None;
                return self.matching(Move::Down, scene);
            }
            InputOutcome::Changed => {
                if let Some(conversation) = &mut self.conversation {
                    conversation.mark(Words::new([text.as_str()]), room);
                }
            }
            InputOutcome::Moved | InputOutcome::Unused => {}
        }
        Vec::new()
    }

    fn matching(&mut self, way: Move, scene: &Scene<'_>) -> Vec<Step> {
        let room = Self::room(scene);
        let found = self
            .conversation
            .as_mut()
            .is_some_and(|conversation| conversation.next_match(way, room));
        if found {
            Vec::new()
        } else {
            vec![Step::Say(Toast::done("Not in this conversation"))]
        }
    }

    fn layer(&mut self, layer: Layer, name: &str, scene: &Scene<'_>) -> Vec<Step> {
        let Some(conversation) = &mut self.conversation else {
            return Vec::new();
        };
        conversation.toggle(layer, Self::room(scene));
        let word = if conversation.has(layer) {
            "shown"
        } else {
            "hidden"
        };
        vec![Step::Say(Toast::done(format!("{name} {word}")))]
    }

    fn walk(&mut self, step: Move, scene: &Scene<'_>) -> Vec<Step> {
        if let Some(conversation) = &mut self.conversation {
            conversation.step(step, Self::room(scene));
        }
        Vec::new()
    }

    fn walk_turns(&mut self, step: Move, scene: &Scene<'_>) -> Vec<Step> {
        if let Some(conversation) = &mut self.conversation {
            conversation.step_turn(step, Self::room(scene));
        }
        Vec::new()
    }

    fn unfold(&mut self, scene: &Scene<'_>) -> Vec<Step> {
        if let Some(conversation) = &mut self.conversation {
            conversation.fold(Self::room(scene));
        }
        Vec::new()
    }
}

/// Where a conversation is drawn.
pub(crate) fn room<'a>(area: Rect, scene: &Scene<'a>) -> Room<'a> {
    Room {
        look: Look {
            theme: scene.theme,
            syntaxes: scene.syntaxes,
            width: usize::from(area.width),
        },
        height: usize::from(area.height).max(1),
    }
}

/// Copies a text, and says so.
pub(crate) fn copied(text: String) -> Vec<Step> {
    vec![
        Step::Say(Toast::done(format!("Copied {text}"))),
        Step::Do(Effect::Terminal(TerminalJob::Copy(text))),
    ]
}

/// Copies the command that continues a session.
pub(crate) fn resume(resume: Option<Resume>) -> Vec<Step> {
    match resume {
        Some(resume) => copied(resume.command_line()),
        None => vec![Step::Say(Toast::done(
            "Its agent has no command that continues a session",
        ))],
    }
}

impl Pane for LogPane {
    fn place(&self) -> Place {
        if self.find.is_some() {
            Place::Prompt
        } else {
            Place::Log
        }
    }

    fn act(&mut self, action: Action, scene: &Scene<'_>) -> Answer {
        if self.find.is_some() {
            return match action {
                Action::Back => Answer::Used(self.sought(InputOutcome::Cancelled, scene)),
                Action::Open => Answer::Used(self.sought(InputOutcome::Accepted, scene)),
                Action::Down | Action::Up => Answer::Used(Vec::new()),
                _ => Answer::Unused,
            };
        }
        Answer::Used(match action {
            Action::Up => self.walk(Move::Up, scene),
            Action::Down => self.walk(Move::Down, scene),
            Action::HalfUp => self.walk(Move::HalfUp, scene),
            Action::HalfDown => self.walk(Move::HalfDown, scene),
            Action::PageUp => self.walk(Move::PageUp, scene),
            Action::PageDown => self.walk(Move::PageDown, scene),
            Action::Top => self.walk(Move::First, scene),
            Action::Bottom => self.walk(Move::Last, scene),
            Action::NextTurn => self.walk_turns(Move::Down, scene),
            Action::PreviousTurn => self.walk_turns(Move::Up, scene),
            Action::Open => self.unfold(scene),
            Action::Filter => {
                self.find = Some(Input::default());
                Vec::new()
            }
            Action::NextMatch => self.matching(Move::Down, scene),
            Action::PreviousMatch => self.matching(Move::Up, scene),
            Action::Tools => self.layer(Layer::Tools, "What tools did is", scene),
            Action::Thinking => self.layer(Layer::Thinking, "Reasoning is", scene),
            Action::Injected => self.layer(Layer::Injected, "What the program put in is", scene),
            Action::Copy => self.cite(),
            Action::CopyText => self.copy_text(),
            Action::Resume => resume(self.head().and_then(|head| self.file.resume(head))),
            Action::Back => vec![Step::Close],
            _ => return Answer::Unused,
        })
    }

    fn key(&mut self, key: KeyEvent, scene: &Scene<'_>) -> Vec<Step> {
        let Some(find) = &mut self.find else {
            return Vec::new();
        };
        let outcome = find.key(key);
        self.sought(outcome, scene)
    }

    fn paste(&mut self, text: &str, scene: &Scene<'_>) -> Vec<Step> {
        let Some(find) = &mut self.find else {
            return Vec::new();
        };
        let outcome = find.paste(text);
        self.sought(outcome, scene)
    }

    fn mouse(&mut self, mouse: MouseEvent, scene: &Scene<'_>) -> Vec<Step> {
        let area = Self::area(scene);
        let room = Self::room(scene);
        let at = Position::new(mouse.column, mouse.row);
        let Some(conversation) = &mut self.conversation else {
            return Vec::new();
        };
        match mouse.kind {
            MouseEventKind::ScrollDown => conversation.scroll(3, room),
            MouseEventKind::ScrollUp => conversation.scroll(-3, room),
            MouseEventKind::Down(MouseButton::Left) if area.contains(at) => {
                let before = conversation.message().map(|message| message.line);
                conversation.click(usize::from(at.y - area.y), room);
                // A second click on the same call unfolds it.
                if before == conversation.message().map(|message| message.line) {
                    conversation.fold(room);
                }
            }
            _ => {}
        }
        Vec::new()
    }

    fn hear(&mut self, event: &Event, scene: &Scene<'_>) -> Vec<Step> {
        match event {
            Event::Opened { file, result } if same(file, &self.file) => {
                match result {
                    Ok(transcript) => self.take(transcript, scene),
                    Err(error) => self.problem = Some(error.to_string()),
                }
                Vec::new()
            }
            Event::Indexed(library) => {
                let listed = library.log(&self.file.path, &self.file.id);
                match listed.filter(|listed| listed.file != self.file) {
                    Some(listed) => {
                        self.file = listed.file.clone();
                        self.title.clone_from(&listed.title);
                        vec![Step::Do(Effect::Transcript(TranscriptJob {
                            file: self.file.clone(),
                            asker: Asker::Reader,
                        }))]
                    }
                    None => Vec::new(),
                }
            }
            _ => Vec::new(),
        }
    }

    fn resize(&mut self, scene: &Scene<'_>) {
        if let Some(conversation) = &mut self.conversation {
            conversation.resize(Self::room(scene));
        }
    }

    fn title(&self, _scene: &Scene<'_>) -> Option<String> {
        Some(format!("log   {}", self.title))
    }

    fn facts(&self) -> Option<String> {
        let mut facts = vec![self.file.agent.name().to_owned()];
        if let Some(turns) = self.head().map(|head| head.turns) {
            facts.push(count(usize::try_from(turns).unwrap_or(0), "turn", "turns"));
        }
        if self.file.size > 0 {
            facts.push(size(self.file.size));
        }
        Some(facts.join(" · "))
    }

    fn fills(&self) -> bool {
        true
    }

    fn view(&self, frame: &mut Frame<'_>, scene: &Scene<'_>) {
        let theme = scene.theme;
        let body = scene.areas.body;
        let mut block = bordered(theme, Keys::Here);
        if let Some(head) = self.head() {
            let room = usize::from(body.width.saturating_sub(24));
            let cwd = head.cwd.as_deref().map(|cwd| short_path(Path::new(cwd)));
            let about = [
                cwd.as_deref(),
                head.branch.as_deref(),
                head.model.as_deref(),
            ];
            let about: Vec<&str> = about.into_iter().flatten().collect();
            block = block.title(Span::styled(
                format!(" {} ", cells::cut(&visible(&about.join(" · ")), room)),
                theme.style(Role::Muted),
            ));
        }
        if let Some(conversation) = &self.conversation {
            let (turn, turns) = conversation.turn();
            let place = Span::styled(format!(" {turn}/{turns} "), theme.style(Role::Muted));
            block = block.title_bottom(Line::from(place).right_aligned());
        }
        if let Some(find) = &self.find {
            let (typed, _) = find.line(theme, body.width.saturating_sub(20));
            let mut title = vec![Span::styled(" find ❯ ", theme.style(Role::Accent))];
            title.extend(typed.spans);
            title.push(Span::raw(" "));
            block = block.title_bottom(Line::from(title));
        }
        frame.render_widget(block, body);
        let area = Self::area(scene);
        let mut say = |text: &str, role: Role| {
            let line = Line::from(Span::styled(visible(text), theme.style(role)));
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
        if let Some(find) = self.find.as_ref().filter(|_| scene.is_top) {
            let (_, column) = find.line(theme, body.width.saturating_sub(20));
            let x = body.x.saturating_add(1 + 8).saturating_add(column);
            frame.set_cursor_position((
                x.min(body.right().saturating_sub(1)),
                body.bottom().saturating_sub(1),
            ));
        }
    }
}

/// Whether two are the same log, however long it was.
pub(crate) fn same(one: &LogFile, other: &LogFile) -> bool {
    one.path == other.path && one.id == other.id
}
