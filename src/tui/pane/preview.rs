//! The preview beside a list: the text of the row under the cursor, rendered or as source, or the
//! conversation of a log.

mod content;
mod page;

use std::collections::HashMap;
use std::sync::Arc;

use content::{file_content, log_content};
use page::Page;
use ratatui::Frame;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::browse::tree::Key;
use super::log::{self, OpenAt};
use crate::core::log::{LogFile, Transcript};
use crate::core::memory::citation::{Citation, CitedPart};
use crate::core::memory::library::{Library, LogSummary, StoreSnapshot};
use crate::core::memory::stem;
use crate::core::memory::store::Document;
use crate::core::text::{header, link};
use crate::tui::action::Action;
use crate::tui::cells::{cut, escape_line};
use crate::tui::chrome::{KeyFocus, bordered, shown_lines, title_span};
use crate::tui::effect::{Effect, LibraryJob, Requester, Target, TranscriptJob};
use crate::tui::event::Event;
use crate::tui::model::PaneContext;
use crate::tui::theme::{Role, Theme};
use crate::tui::widget::conversation::{Conversation, ConversationInfo, Viewport};
use crate::tui::widget::emphasis::MarkedWords;
use crate::tui::widget::list::Move;

pub(crate) use content::PreviewContent;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum PreviewMode {
    #[default]
    Rendered,
    Source,
}

/// The text to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PreviewRequest {
    pub(crate) target: Target,
    pub(crate) part: CitedPart,
    /// The line of the file to scroll to, counted from 1.
    pub(crate) line: Option<usize>,
}

impl PreviewRequest {
    /// What tells texts apart.
    fn key(&self) -> (Target, Option<String>) {
        let entry = match &self.part {
            CitedPart::Entry(slug) => Some(slug.clone()),
            _ => None,
        };
        (self.target.clone(), entry)
    }
}

/// The displayed text or conversation, and the position in it.
#[derive(Debug, Default)]
pub(crate) struct Preview {
    generation: u64,
    wanted: Option<PreviewRequest>,
    /// The displayed text and the file that it was made from.
    pub(crate) shown: Option<(PreviewRequest, Document)>,
    pub(crate) content: PreviewContent,
    pub(crate) mode: PreviewMode,
    pub(crate) scroll: usize,
    /// The link that Enter would follow.
    pub(crate) link: Option<usize>,
    pub(crate) page: Page,
    /// Words to mark in the text.
    words: MarkedWords,
    /// The log to show instead of a text.
    log: Option<(LogFile, OpenAt)>,
    conversation: Option<(LogFile, Conversation)>,
    requester: Requester,
    /// Whether the requested text is a new one, to be displayed from its line or where it was left.
    arrives: bool,
    /// Whether somebody has scrolled away from where the text was displayed first.
    is_scrolled: bool,
    /// The rows at which texts were left.
    places: HashMap<(Target, Option<String>), usize>,
}

impl Preview {
    pub(crate) fn new(requester: Requester) -> Self {
        Self {
            requester,
            ..Self::default()
        }
    }

    /// Requests a text; the old one stays visible until it arrives. Requesting the same text again
    /// keeps the scroll position.
    pub(crate) fn request(&mut self, mut wanted: PreviewRequest) -> Effect {
        self.generation += 1;
        let same = |old: &&PreviewRequest| old.target == wanted.target && old.part == wanted.part;
        match self.wanted.as_ref().filter(same) {
            Some(old) => {
                wanted.line = wanted.line.or(old.line);
                self.arrives |= wanted.line != old.line;
            }
            None => {
                self.leave();
                self.arrives = true;
            }
        }
        let target = wanted.target.clone();
        self.wanted = Some(wanted);
        self.log = None;
        Effect::Library(LibraryJob::Read {
            generation: self.generation,
            requester: self.requester,
            target,
        })
    }

    /// Shows a text that is already available.
    pub(crate) fn show(&mut self, content: PreviewContent, cx: &PaneContext<'_>) {
        self.leave();
        self.generation += 1;
        self.wanted = None;
        self.shown = None;
        self.log = None;
        if content.title != self.content.title {
            self.rewind();
        }
        self.content = content;
        self.lay_out(cx);
    }

    /// Remembers where the displayed text is left.
    fn leave(&mut self) {
        if let Some((shown, _)) = &self.shown {
            self.places.insert(shown.key(), self.scroll);
        }
    }

    fn rewind(&mut self) {
        self.scroll = 0;
        self.link = None;
    }

    /// Sets the words to mark in every text.
    pub(crate) fn mark(&mut self, words: MarkedWords) {
        self.words = words;
    }

    /// Requests a conversation; one that is already loaded is displayed at once.
    pub(crate) fn request_log(
        &mut self,
        log: &LogSummary,
        start: OpenAt,
        cx: &PaneContext<'_>,
    ) -> Option<Effect> {
        self.leave();
        self.generation += 1;
        self.wanted = None;
        self.shown = None;
        let before = self.log.replace((log.file.clone(), start));
        let is_there = |(old, was): &(LogFile, OpenAt)| {
            let place = |start: &OpenAt| (start.line, start.within);
            let wanted = self.log.as_ref().map(|(_, start)| place(start));
            log::is_same_log(old, &log.file) && Some(place(was)) == wanted
        };
        self.arrives |= !before.as_ref().is_some_and(is_there);
        self.content = log_content(log, cx);
        let known = self.conversation.as_ref().map(|(file, _)| file);
        let is_known = known.is_some_and(|known| log::is_same_log(known, &log.file));
        let is_new = known != Some(&log.file);
        if !is_known {
            self.rewind();
            self.lay_out(cx);
        } else if self.arrives {
            self.go_to_start(cx);
            // Newer messages may include the requested line.
            self.arrives = is_new;
        }
        is_new.then(|| {
            Effect::Transcript(TranscriptJob {
                file: log.file.clone(),
                requester: self.requester,
            })
        })
    }

    /// Handles the events of requested texts and conversations.
    pub(crate) fn on_event(&mut self, event: &Event, cx: &PaneContext<'_>) {
        match event {
            Event::Read {
                generation,
                target,
                result,
            } => match result {
                Ok(document) => self.read(*generation, target, document.clone(), cx),
                Err(error) => self.fail(*generation, target, &error.to_string(), cx),
            },
            Event::Opened { file, result } => match result {
                Ok(transcript) => self.opened(file, transcript, cx),
                Err(error)
                    if self
                        .log
                        .as_ref()
                        .is_some_and(|(log, _)| log::is_same_log(log, file)) =>
                {
                    self.content.problem = Some(error.to_string());
                    self.lay_out(cx);
                }
                Err(_) => {}
            },
            _ => {}
        }
    }

    /// Shows a conversation, if it is the requested one.
    fn opened(&mut self, file: &LogFile, transcript: &Arc<Transcript>, cx: &PaneContext<'_>) {
        let Some((wanted, _)) = self
            .log
            .as_ref()
            .filter(|(log, _)| log::is_same_log(log, file))
        else {
            return;
        };
        let transcript = Arc::clone(transcript);
        match &mut self.conversation {
            Some((known, conversation)) if log::is_same_log(known, wanted) => {
                *known = file.clone();
                conversation.refresh(transcript, viewport(cx));
                if self.arrives {
                    self.go_to_start(cx);
                }
            }
            _ => {
                let info = ConversationInfo {
                    agent: file.agent,
                    zone: cx.user.zone.clone(),
                };
                let conversation = Conversation::new(info, transcript);
                self.conversation = Some((file.clone(), conversation));
                self.go_to_start(cx);
            }
        }
        self.arrives = false;
    }

    /// Scrolls to the requested line of the conversation.
    fn go_to_start(&mut self, cx: &PaneContext<'_>) {
        let (Some((_, start)), Some((_, conversation))) = (&self.log, &mut self.conversation)
        else {
            return;
        };
        self.is_scrolled = false;
        match start.line {
            Some(line) => {
                conversation.go_to(line, start.within, start.words.clone(), viewport(cx));
            }
            None => conversation.step(Move::First, viewport(cx)),
        }
    }

    fn shown_conversation(&self) -> Option<&Conversation> {
        let (wanted, _) = self.log.as_ref()?;
        let (file, conversation) = self.conversation.as_ref()?;
        log::is_same_log(file, wanted).then_some(conversation)
    }

    /// Scrolls; returns whether the action was handled.
    pub(crate) fn act(&mut self, action: Action, cx: &PaneContext<'_>) -> bool {
        let Some(to) = Move::of(action) else {
            return false;
        };
        let is_talk = self.shown_conversation().is_some();
        self.is_scrolled = true;
        match (to, &mut self.conversation) {
            (Move::First | Move::Last, Some((_, talk))) if is_talk => talk.step(to, viewport(cx)),
            _ => {
                let page = cx.areas.preview_text().height.saturating_sub(1);
                self.scroll_by(to.lines(page), cx);
            }
        }
        true
    }

    /// Scrolls by rows, within the text.
    pub(crate) fn scroll_by(&mut self, rows: isize, cx: &PaneContext<'_>) {
        let is_talk = self.shown_conversation().is_some();
        self.is_scrolled = true;
        match &mut self.conversation {
            Some((_, talk)) if is_talk => talk.scroll(rows, viewport(cx)),
            _ => {
                let to = self.scroll.saturating_add_signed(rows);
                let height = usize::from(cx.areas.preview_text().height);
                self.scroll_to(to, height);
            }
        }
    }

    /// Shows a requested text, unless another one was requested since.
    fn read(&mut self, generation: u64, target: &Target, document: Document, cx: &PaneContext<'_>) {
        let Some(wanted) = self
            .wanted
            .clone()
            .filter(|wanted| wanted.target == *target)
        else {
            return;
        };
        if generation != self.generation {
            return;
        }
        let arrives = std::mem::take(&mut self.arrives);
        if arrives {
            self.rewind();
            let left = self.places.get(&wanted.key()).copied();
            self.scroll = left.filter(|_| wanted.line.is_none()).unwrap_or(0);
        }
        self.content = file_content(&wanted, &document, cx);
        self.shown = Some((wanted, document));
        self.lay_out(cx);
        if arrives {
            self.go_to_line(cx);
        }
    }

    /// Scrolls to the requested line of the text.
    fn go_to_line(&mut self, cx: &PaneContext<'_>) {
        self.is_scrolled = false;
        // The header is not part of the rendered text, so its lines are not scrolled to.
        let first = match self.mode {
            PreviewMode::Rendered => self.content.first_line,
            PreviewMode::Source => 1,
        };
        let shown = self.shown.as_ref().and_then(|(wanted, _)| wanted.line);
        if let Some(line) = shown.filter(|line| *line >= first) {
            let height = usize::from(cx.areas.preview_text().height);
            let at = self.page.match_line_of(line - first, &self.words);
            // What the line leads to is a key away.
            self.link = self.page.link_on(at);
            // Do not scroll if the line is visible from the start.
            if at + 2 >= height {
                self.scroll_to(at.saturating_sub(height / 3), height);
            }
        }
    }

    /// Shows why a requested text could not be read.
    fn fail(&mut self, generation: u64, target: &Target, problem: &str, cx: &PaneContext<'_>) {
        let wanted = self.wanted.as_ref().map(|wanted| &wanted.target);
        if generation != self.generation || wanted != Some(target) {
            return;
        }
        self.shown = None;
        self.rewind();
        self.content = PreviewContent {
            title: "cannot be read".to_owned(),
            problem: Some(problem.to_owned()),
            ..PreviewContent::default()
        };
        self.lay_out(cx);
    }

    /// Lays the text out again for another width or mode.
    pub(crate) fn lay_out(&mut self, cx: &PaneContext<'_>) {
        let area = cx.areas.preview_text();
        self.page = Page::of(&self.content, self.mode, &self.words, cx);
        self.scroll_to(self.scroll, usize::from(area.height));
        let links = self.page.links();
        self.link = self.link.filter(|link| *link < links);
    }

    /// Adapts to areas that have changed. What Find found stays in sight unless somebody has
    /// scrolled away from it; then the line at the top stays there.
    pub(crate) fn resize(&mut self, cx: &PaneContext<'_>) {
        let top = self.page.source_of(self.scroll);
        self.lay_out(cx);
        if self.page.source_of(self.scroll) != top {
            let height = usize::from(cx.areas.preview_text().height);
            self.scroll_to(self.page.first_row_of(top), height);
        }
        let is_talk = self.shown_conversation().is_some();
        if let Some((_, conversation)) = &mut self.conversation {
            conversation.resize(viewport(cx));
        }
        if self.requester == Requester::Find && !self.is_scrolled {
            if is_talk {
                self.go_to_start(cx);
            } else {
                self.go_to_line(cx);
            }
        }
    }

    /// Scrolls to a line, within the text.
    pub(crate) fn scroll_to(&mut self, line: usize, height: usize) {
        let most = self.page.height().saturating_sub(height.max(1));
        self.scroll = line.min(most);
    }

    /// The line of the file that the first visible row shows, counted from 0.
    pub(crate) fn top_line(&self) -> usize {
        let first = match self.mode {
            PreviewMode::Rendered => self.content.first_line.saturating_sub(1),
            PreviewMode::Source => 0,
        };
        first + self.page.source_of(self.scroll)
    }

    /// The line of the file at `key` at which its text stands, counted from 0, if somebody has scrolled
    /// there.
    pub(crate) fn scrolled_to(&self, key: &Key) -> Option<usize> {
        self.document(key).filter(|_| self.is_scrolled)?;
        Some(if self.scroll == 0 { 0 } else { self.top_line() })
    }

    /// The requested line of the file at `key`.
    pub(crate) fn line_of(&self, key: &Key) -> Option<usize> {
        let wanted = self.wanted.as_ref()?;
        (Some(&wanted.target) == file_at(key).as_ref()).then_some(wanted.line)?
    }

    /// Forgets at which line a file was requested, and that its text was scrolled.
    pub(crate) fn forget_line(&mut self, target: &Target) {
        let wanted = self.wanted.as_mut();
        if let Some(wanted) = wanted.filter(|wanted| wanted.target == *target) {
            wanted.line = None;
            self.is_scrolled = false;
        }
    }

    /// The displayed file, if it is the one at `key`.
    pub(crate) fn document(&self, key: &Key) -> Option<&Document> {
        let (wanted, document) = self.shown.as_ref()?;
        (Some(&wanted.target) == file_at(key).as_ref()).then_some(document)
    }

    pub(crate) fn view(&self, frame: &mut Frame<'_>, keys: KeyFocus, cx: &PaneContext<'_>) {
        let theme = cx.theme;
        let area = cx.areas.preview;
        let content = &self.content;
        let mut block = bordered(theme, keys);
        if !content.title.is_empty() {
            let viewport = usize::from(area.width.saturating_sub(20));
            block = block.title(title_span(
                theme,
                &cut(&escape_line(&content.title), viewport),
            ));
        }
        if let Some(category) = &content.category {
            let badge = Span::styled(
                format!(" {} ", escape_line(category)),
                theme.badge(category),
            );
            block = block.title(Line::from(badge).right_aligned());
        }
        let text = cx.areas.preview_text();
        if let Some(talk) = self.shown_conversation() {
            let (turn, turns) = talk.turn();
            let place = theme.span(format!(" turn {turn}/{turns} "), Role::Muted);
            let facts = theme.span(format!(" {} ", escape_line(&content.facts)), Role::Muted);
            block = block
                .title_bottom(Line::from(facts))
                .title_bottom(Line::from(place).right_aligned());
            frame.render_widget(block, area);
            talk.view(text, frame.buffer_mut(), self.cursor(keys, theme));
            return;
        }
        if let Some(place) = shown_lines(self.scroll, text.height, self.page.height(), theme) {
            block = block.title_bottom(place);
        }
        if self.mode == PreviewMode::Source {
            let word = theme.span(" source ", Role::Muted);
            block = block.title_bottom(Line::from(word));
        }
        frame.render_widget(block, area);
        let link = self.link.filter(|_| keys == KeyFocus::Here);
        self.page.view(frame, text, self.scroll, link, cx);
    }

    /// The style of the cursor. The line of a hit is marked even without the focus.
    fn cursor(&self, keys: KeyFocus, theme: &Theme) -> Option<Style> {
        let has_target = self
            .log
            .as_ref()
            .is_some_and(|(_, start)| start.line.is_some());
        (has_target || keys == KeyFocus::Here).then(|| theme.style(Role::Accent))
    }
}

fn viewport<'a>(cx: &PaneContext<'a>) -> Viewport<'a> {
    log::viewport(cx.areas.preview_text(), cx)
}

/// The file of a row.
pub(crate) fn file_at(key: &Key) -> Option<Target> {
    match key.clone() {
        Key::Memory(store, path) | Key::Entry(store, path, _) => Some(Target::File { store, path }),
        _ => None,
    }
}

/// Returns the memory that a link in the text at `from` points to.
pub(crate) fn link_destination(library: &Library, from: &Key, target: &str) -> Option<Key> {
    let from = match from {
        Key::Memory(store, path) | Key::Entry(store, path, _) => Some((store, path.as_str())),
        _ => None,
    };
    let Ok(citation) = target.parse::<Citation>();
    let named = citation.store.as_deref();
    let mut stores: Vec<&Arc<StoreSnapshot>> = named
        .and_then(|name| library.store(name))
        .into_iter()
        .collect();
    stores.extend(from.and_then(|(store, _)| library.store_by_id(store)));
    stores.extend(&library.stores);
    let relative = from.and_then(|(_, file)| link::resolve_target(file, &citation.path));
    // A link may lead to a file of another store.
    let outside = from
        .filter(|_| relative.is_none())
        .and_then(|(store, file)| {
            let file = store.root().join(store.layout().rules().file_of(file));
            link::resolve_path(&file, &citation.path)
        });
    let slug = header::slug(&citation.path);
    for snapshot in stores {
        let place = |path: &str| {
            let store = &snapshot.store;
            store.root().absolute(&store.rules().file_of(path))
        };
        let found = snapshot.memories.iter().find(|memory| {
            Some(&memory.path) == relative.as_ref()
                || outside
                    .as_ref()
                    .is_some_and(|outside| *outside == place(&memory.path))
                || memory.path == citation.path
                || memory.title == citation.path
                || stem(&memory.path) == citation.path
                || (!slug.is_empty() && header::slug(stem(&memory.path)) == slug)
        });
        if let Some(memory) = found {
            let (store, path) = (snapshot.store.id().clone(), memory.path.clone());
            return Some(match citation.part {
                CitedPart::Entry(slug) if memory.entries.iter().any(|e| e.slug == slug) => {
                    Key::Entry(store, path, slug)
                }
                _ => Key::Memory(store, path),
            });
        }
    }
    None
}
