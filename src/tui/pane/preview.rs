//! What is beside a list: the text of the row under the cursor, rendered or as it is written, or
//! the conversation.

mod page;
mod sheet;
mod view;

use std::sync::Arc;

use super::browse::tree::Key;
use super::log::{self, Start};
use crate::core::citation::{Citation, Part};
use crate::core::library::{Library, Listed, Shelf};
use crate::core::log::{LogFile, Transcript};
use crate::core::store::{Document, StoreId};
use crate::tui::action::Action;
use crate::tui::effect::{Asker, Effect, LibraryJob, Target, TranscriptJob};
use crate::tui::event::Event;
use crate::tui::pane::Scene;
use crate::tui::widget::conversation::{Conversation, Room, Telling};
use crate::tui::widget::emphasis::Words;
use crate::tui::widget::list::Step as Move;
use page::Page;
pub(crate) use sheet::Sheet;
use sheet::{log_sheet, sheet};

/// How the text is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Mode {
    #[default]
    Rendered,
    Source,
}

/// What the preview is asked to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) target: Target,
    pub(crate) part: Part,
    /// The line of the file, from 1, that is wanted to be seen.
    pub(crate) line: Option<usize>,
}

/// The text that is shown and where in it one is.
#[derive(Debug)]
pub(crate) struct Preview {
    generation: u64,
    wanted: Option<Wanted>,
    /// What is shown and the file it was made of.
    pub(crate) shown: Option<(Wanted, Document)>,
    pub(crate) sheet: Sheet,
    pub(crate) mode: Mode,
    pub(crate) scroll: usize,
    /// The link that Enter would follow.
    pub(crate) link: Option<usize>,
    pub(crate) page: Page,
    /// Words to mark in the text.
    words: Words,
    /// The log that is wanted instead of a text.
    log: Option<(LogFile, Start)>,
    conversation: Option<(LogFile, Conversation)>,
    asker: Asker,
    /// Whether what is wanted is new, and is to be seen from its beginning or from its line.
    arrives: bool,
}

impl Preview {
    pub(crate) fn new(asker: Asker) -> Self {
        Self {
            asker,
            arrives: false,
            generation: 0,
            wanted: None,
            shown: None,
            sheet: Sheet::default(),
            mode: Mode::default(),
            scroll: 0,
            link: None,
            page: Page::default(),
            words: Words::default(),
            log: None,
            conversation: None,
        }
    }

    /// Asks for a text; what is shown stays until it is here. Whoever asks for the same text again
    /// stays where they are in it.
    pub(crate) fn want(&mut self, mut wanted: Wanted) -> Effect {
        self.generation += 1;
        let same = |old: &&Wanted| old.target == wanted.target && old.part == wanted.part;
        match self.wanted.as_ref().filter(same) {
            Some(old) => {
                wanted.line = wanted.line.or(old.line);
                self.arrives |= wanted.line != old.line;
            }
            None => self.arrives = true,
        }
        let target = wanted.target.clone();
        self.wanted = Some(wanted);
        self.log = None;
        Effect::Library(LibraryJob::Read {
            generation: self.generation,
            asker: self.asker,
            target,
        })
    }

    /// Shows a text that needs no reading.
    pub(crate) fn show(&mut self, sheet: Sheet, scene: &Scene<'_>) {
        self.generation += 1;
        self.wanted = None;
        self.shown = None;
        self.log = None;
        if sheet.title != self.sheet.title {
            self.rewind();
        }
        self.sheet = sheet;
        self.lay_out(scene);
    }

    fn rewind(&mut self) {
        self.scroll = 0;
        self.link = None;
    }

    /// Marks these words in every text from now on.
    pub(crate) fn mark(&mut self, words: Words) {
        self.words = words;
    }

    /// Asks for a conversation; one that is here already is shown at once.
    pub(crate) fn want_log(
        &mut self,
        log: &Listed,
        start: Start,
        scene: &Scene<'_>,
    ) -> Option<Effect> {
        self.generation += 1;
        self.wanted = None;
        self.shown = None;
        let before = self.log.replace((log.file.clone(), start));
        let is_there = |(old, was): &(LogFile, Start)| {
            let line = self.log.as_ref().and_then(|(_, start)| start.line);
            log::same(old, &log.file) && was.line == line
        };
        self.arrives |= !before.as_ref().is_some_and(is_there);
        self.sheet = log_sheet(log, scene);
        let known = self.conversation.as_ref().map(|(file, _)| file);
        let is_known = known.is_some_and(|known| log::same(known, &log.file));
        let is_new = known != Some(&log.file);
        if !is_known {
            self.rewind();
            self.lay_out(scene);
        } else if self.arrives {
            self.begin(scene);
            // What was said since may be what is looked for.
            self.arrives = is_new;
        }
        is_new.then(|| {
            Effect::Transcript(TranscriptJob {
                file: log.file.clone(),
                asker: self.asker,
            })
        })
    }

    /// Takes texts and conversations that were asked for.
    pub(crate) fn hear(&mut self, event: &Event, scene: &Scene<'_>) {
        match event {
            Event::Read {
                generation,
                target,
                result,
            } => match result {
                Ok(document) => self.read((*generation, target), document.clone(), scene),
                Err(error) => self.fail((*generation, target), &error.to_string(), scene),
            },
            Event::Opened { file, result } => match result {
                Ok(transcript) => self.opened(file, transcript, scene),
                Err(error)
                    if self
                        .log
                        .as_ref()
                        .is_some_and(|(log, _)| log::same(log, file)) =>
                {
                    self.sheet.problem = Some(error.to_string());
                    self.lay_out(scene);
                }
                Err(_) => {}
            },
            _ => {}
        }
    }

    /// Takes a conversation, if it is the one that is wanted.
    fn opened(&mut self, file: &LogFile, transcript: &Arc<Transcript>, scene: &Scene<'_>) {
        let Some((wanted, _)) = self.log.as_ref().filter(|(log, _)| log::same(log, file)) else {
            return;
        };
        let transcript = Arc::clone(transcript);
        match &mut self.conversation {
            Some((known, conversation)) if log::same(known, wanted) => {
                *known = file.clone();
                conversation.refresh(transcript, room(scene));
                if self.arrives {
                    self.begin(scene);
                }
            }
            _ => {
                let telling = Telling {
                    agent: file.agent,
                    zone: scene.given.zone.clone(),
                };
                let conversation = Conversation::new(telling, transcript);
                self.conversation = Some((file.clone(), conversation));
                self.begin(scene);
            }
        }
        self.arrives = false;
    }

    /// Goes to where the conversation is wanted to begin.
    fn begin(&mut self, scene: &Scene<'_>) {
        let (Some((_, start)), Some((_, conversation))) = (&self.log, &mut self.conversation)
        else {
            return;
        };
        match start.line {
            Some(line) => conversation.go_to(line, start.words.clone(), room(scene)),
            None => conversation.step(Move::First, room(scene)),
        }
    }

    /// The conversation that is shown, if it is one.
    fn talk(&self) -> Option<&Conversation> {
        let (wanted, _) = self.log.as_ref()?;
        let (file, conversation) = self.conversation.as_ref()?;
        log::same(file, wanted).then_some(conversation)
    }

    /// Scrolls; answers whether that was meant.
    pub(crate) fn act(&mut self, action: Action, scene: &Scene<'_>) -> bool {
        let height = usize::from(scene.areas.preview_text().height);
        let page = height.saturating_sub(1).max(1) as isize;
        let rows = match action {
            Action::Up => -1,
            Action::Down => 1,
            Action::PageUp => -page,
            Action::PageDown => page,
            Action::HalfUp => -page / 2,
            Action::HalfDown => page / 2,
            Action::Top => isize::MIN / 2,
            Action::Bottom => isize::MAX / 2,
            _ => return false,
        };
        match (action, self.talk().is_some(), &mut self.conversation) {
            (Action::Top, true, Some((_, talk))) => talk.step(Move::First, room(scene)),
            (Action::Bottom, true, Some((_, talk))) => talk.step(Move::Last, room(scene)),
            _ => self.scroll_by(rows, scene),
        }
        true
    }

    /// Scrolls by lines, as far as there is text.
    pub(crate) fn scroll_by(&mut self, rows: isize, scene: &Scene<'_>) {
        let is_talk = self.talk().is_some();
        match &mut self.conversation {
            Some((_, talk)) if is_talk => talk.scroll(rows, room(scene)),
            _ => {
                let to = self.scroll.saturating_add_signed(rows);
                let height = usize::from(scene.areas.preview_text().height);
                self.scroll_to(to, height);
            }
        }
    }

    /// Takes a text that was asked for, unless something else is wanted by now.
    fn read(
        &mut self,
        (generation, target): (u64, &Target),
        document: Document,
        scene: &Scene<'_>,
    ) {
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
        }
        self.sheet = sheet(&wanted, &document, scene);
        // What is in the header is told above the text anyway.
        let first = match self.mode {
            Mode::Rendered => self.sheet.first_line,
            Mode::Source => 1,
        };
        let line = wanted.line.filter(|line| arrives && *line >= first);
        self.shown = Some((wanted, document));
        self.lay_out(scene);
        if let Some(line) = line {
            let height = usize::from(scene.areas.preview_text().height);
            let at = self.page.line_of(line - first);
            // What fits on the screen from its beginning stays there.
            if at + 2 >= height {
                self.scroll_to(at.saturating_sub(height / 3), height);
            }
        }
    }

    /// Says why a text that was asked for cannot be shown.
    fn fail(&mut self, (generation, target): (u64, &Target), problem: &str, scene: &Scene<'_>) {
        let wanted = self.wanted.as_ref().map(|wanted| &wanted.target);
        if generation != self.generation || wanted != Some(target) {
            return;
        }
        self.shown = None;
        self.rewind();
        self.sheet = Sheet {
            title: "cannot be read".to_owned(),
            problem: Some(problem.to_owned()),
            ..Sheet::default()
        };
        self.lay_out(scene);
    }

    /// Lays the text out anew, for another width or mode.
    pub(crate) fn lay_out(&mut self, scene: &Scene<'_>) {
        let area = scene.areas.preview_text();
        self.page = Page::of(&self.sheet, self.mode, &self.words, scene);
        self.scroll_to(self.scroll, usize::from(area.height));
        let links = self.page.links();
        self.link = self.link.filter(|link| *link < links);
    }

    /// Fits everything to areas that have just changed.
    pub(crate) fn resize(&mut self, scene: &Scene<'_>) {
        self.lay_out(scene);
        if let Some((_, conversation)) = &mut self.conversation {
            conversation.resize(room(scene));
        }
    }

    /// Scrolls as far as there is text.
    pub(crate) fn scroll_to(&mut self, line: usize, height: usize) {
        let most = self.page.height().saturating_sub(height.max(1));
        self.scroll = line.min(most);
    }

    /// The line of the file at `key` that was asked for.
    pub(crate) fn line_of(&self, key: &Key) -> Option<usize> {
        let (Key::Memory(store, path) | Key::Entry(store, path, _)) = key else {
            return None;
        };
        let is = Target::File {
            store: store.clone(),
            path: path.clone(),
        };
        self.wanted
            .as_ref()
            .filter(|wanted| wanted.target == is)?
            .line
    }

    /// The file that is shown, if it is the one at `key`.
    pub(crate) fn document(&self, key: &Key) -> Option<&Document> {
        let (wanted, document) = self.shown.as_ref()?;
        let (Key::Memory(store, path) | Key::Entry(store, path, _)) = key else {
            return None;
        };
        let is = Target::File {
            store: store.clone(),
            path: path.clone(),
        };
        (wanted.target == is).then_some(document)
    }
}

/// Where a conversation is drawn.
fn room<'a>(scene: &Scene<'a>) -> Room<'a> {
    log::room(scene.areas.preview_text(), scene)
}

/// The memory that a link in the text at `from` means.
pub(crate) fn linked(library: &Library, from: &Key, target: &str) -> Option<Key> {
    let (Key::Memory(here, file) | Key::Entry(here, file, _)) = from else {
        return linked_from(library, None, target);
    };
    linked_from(library, Some((here, file)), target)
}

fn linked_from(library: &Library, from: Option<(&StoreId, &str)>, target: &str) -> Option<Key> {
    let Ok(citation) = target.parse::<Citation>();
    let named = citation.store.as_deref();
    let mut shelves: Vec<&Arc<Shelf>> = named
        .and_then(|name| library.shelf(name))
        .into_iter()
        .collect();
    shelves.extend(from.and_then(|(store, _)| library.shelf_by_id(store)));
    shelves.extend(&library.shelves);
    let relative = from.and_then(|(_, file)| crate::core::link::resolved(file, &citation.path));
    let slug = crate::core::memory::slug(&citation.path);
    for shelf in shelves {
        let found = shelf.memories.iter().find(|memory| {
            Some(&memory.path) == relative.as_ref()
                || memory.path == citation.path
                || memory.title == citation.path
                || crate::core::memory::stem(&memory.path) == citation.path
                || (!slug.is_empty()
                    && crate::core::memory::slug(crate::core::memory::stem(&memory.path)) == slug)
        });
        if let Some(memory) = found {
            let entry = match &citation.part {
                Part::Entry(slug) if memory.entries.iter().any(|e| e.slug() == *slug) => slug,
                _ => return Some(Key::Memory(shelf.store.id().clone(), memory.path.clone())),
            };
            return Some(Key::Entry(
                shelf.store.id().clone(),
                memory.path.clone(),
                entry.clone(),
            ));
        }
    }
    None
}
