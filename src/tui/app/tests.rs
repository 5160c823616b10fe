//! Tests of the app: keys in, effects and drawn screens out.

mod context;
mod curating;
mod finding;
mod found;
mod keys;
mod looks;
mod mouse;
mod place;
mod pruning;
mod reading;
mod review;
mod staying;
mod timeline;
mod unsaved;
mod why;
mod workers;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::tz::TimeZone;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::Event as Input;
use ratatui::layout::Size;

use self::finding::Searcher;
use super::App;
use crate::core::change::history::History;
use crate::core::change::{Author, Change, ChangeContext, ChangeRequest, plan};
use crate::core::disk::revision::Revision;
use crate::core::insight::rehome::{FormerHome, Proof};
use crate::core::log::read;
use crate::core::memory::config::EditorKeys;
use crate::core::memory::library::Library;
use crate::core::memory::store::{Document, StoreId};
use crate::core::memory::unsaved::Unsaved;
use crate::core::text::time::Moment;
use crate::core::{Error, Result};
use crate::tui::effect::{
    Effect, LibraryJob, NewMemory, Request, Target, TerminalJob, TranscriptJob, UndoDirection,
    UnsavedJob, WriteJob,
};
use crate::tui::event::Event;
use crate::tui::keymap::{KeyContext, Keymap};
use crate::tui::keys::keys;
use crate::tui::model::UserContext;
use crate::tui::pane::browse::fixture;
use crate::tui::theme::{Background, ColorDepth, Terminal as Facts, Theme};
use crate::tui::worker::context::editable_piece;
use crate::tui::worker::search::Job;
use crate::tui::worker::thread::Worker as _;
use crate::tui::{Exit, dump};

/// An app with a library on disk; reads are performed at once, nothing is written.
struct TestApp {
    home: tempfile::TempDir,
    library: Arc<Library>,
    app: App,
    history: History,
    /// Performs searches and reads transcripts; `None` without logs.
    searcher: Option<Searcher>,
}

impl TestApp {
    fn new() -> Self {
        Self::sized(100, 28, Background::Dark)
    }

    /// The same, with the cursor on the memory "Auth Refactor".
    fn at_auth() -> Self {
        let mut ui = Self::new();
        ui.press(AUTH);
        ui
    }

    fn sized(width: u16, height: u16, background: Background) -> Self {
        let home = fixture::home();
        let library = Arc::new(fixture::library(home.path()));
        let theme = Theme::new(Facts {
            background,
            depth: ColorDepth::Ansi,
        });
        let mut app = App::new(
            theme,
            Keymap::new(),
            UserContext {
                title: "shop".to_owned(),
                zone: TimeZone::UTC,
                editor_keys: EditorKeys::Readline,
                scope: Some(crate::core::memory::discover::DiscoveryScope::Project),
                agents: context::agents(),
                searched_places: Vec::new(),
            },
        );
        app.resize(Size::new(width, height));
        let mut ui = Self {
            history: History::open(&home.path().join("history")),
            home,
            library,
            app,
            searcher: None,
        };
        let library = Arc::clone(&ui.library);
        ui.tell(Event::Woke(3_600_001));
        ui.tell(Event::Indexed(library));
        ui
    }

    /// Passes an event to the app and performs reads; returns the other effects.
    fn tell(&mut self, event: Event) -> Vec<Effect> {
        let effects = self.app.update(event);
        self.perform(effects)
    }

    /// Performs reads; returns the other effects.
    fn perform(&mut self, effects: Vec<Effect>) -> Vec<Effect> {
        let mut left = Vec::new();
        for effect in effects {
            match effect {
                Effect::Search(job) if self.searcher.is_some() => {
                    for event in self.search(job) {
                        left.extend(self.tell(event));
                    }
                }
                Effect::Transcript(TranscriptJob { file, .. }) if self.searcher.is_some() => {
                    let result = read(&file).map(Arc::new);
                    left.extend(self.tell(Event::Opened { file, result }));
                }
                Effect::Library(LibraryJob::Read {
                    generation, target, ..
                }) => {
                    let result = self.read(&target);
                    left.extend(self.tell(Event::Read {
                        generation,
                        target,
                        result,
                    }));
                }
                Effect::Library(LibraryJob::Fetch { store, path, line }) => {
                    let snapshot = self.library.store_by_id(&store).expect("a store");
                    let result = snapshot.store.read(&path);
                    left.extend(self.tell(Event::Fetched {
                        store,
                        line,
                        result,
                    }));
                }
                Effect::Library(LibraryJob::Context { agent, draft }) => {
                    let context = context::read(self.home.path(), agent, draft.as_ref());
                    left.extend(self.tell(Event::ContextRead {
                        draft: draft.map(|draft| draft.file),
                        result: Ok(Arc::new(context)),
                    }));
                }
                Effect::Library(LibraryJob::EditPiece { context, at }) => {
                    let result = editable_piece(&self.library, &context.pieces[at]);
                    left.extend(self.tell(Event::PieceRead {
                        context,
                        at,
                        result,
                    }));
                }
                other => left.push(other),
            }
        }
        left
    }

    fn read(&self, target: &Target) -> Result<Document> {
        Ok(match target {
            Target::File { store, path } => {
                let snapshot = self.library.store_by_id(store);
                let snapshot = snapshot.ok_or_else(|| Error::not_found(path))?;
                snapshot.store.read(path)?
            }
            Target::Context { store } => {
                let store = &self.library.store_by_id(store).expect("a store").store;
                let text = store.rules().context(store).expect("reads");
                Document {
                    path: store.name().to_owned(),
                    revision: Revision::of(text.as_bytes()),
                    bytes: text.into_bytes(),
                }
            }
        })
    }

    /// The path of a file of the store `claude`.
    fn path(&self, name: &str) -> PathBuf {
        let home = self.home.path().canonicalize();
        home.expect("canonical").join("claude").join(name)
    }

    /// Writes a file of the store `claude` as another program does.
    fn write(&mut self, name: &str, text: &str) -> Vec<Effect> {
        fs::write(self.path(name), text).expect("writes");
        self.refresh(&[self.path(name)])
    }

    /// Reads files of the stores again, as the library worker does.
    fn refresh(&mut self, paths: &[PathBuf]) -> Vec<Effect> {
        self.show(self.library.refresh(paths))
    }

    /// Shows another library, which is searched from now on.
    fn show(&mut self, library: Library) -> Vec<Effect> {
        self.library = Arc::new(library);
        if let Some(searcher) = &mut self.searcher {
            let stores = Job::Stores(Arc::clone(&self.library));
            searcher.worker.perform(stores);
        }
        self.tell(Event::Indexed(Arc::clone(&self.library)))
    }

    fn press(&mut self, text: &str) -> Vec<Effect> {
        let mut left = Vec::new();
        for key in keys(text) {
            left.extend(self.tell(Event::Input(vec![Input::Key(key)])));
        }
        left
    }

    /// Presses keys whose effects are not asked for.
    fn after(&mut self, keys: &str) -> &Self {
        self.press(keys);
        self
    }

    /// Plans the request, as the library worker does.
    fn planned(&mut self, effects: &[Effect]) {
        let Some(Effect::Library(LibraryJob::Plan {
            generation,
            request,
        })) = effects.last()
        else {
            panic!("no plan in {effects:?}");
        };
        let (store, change_request) = match &**request {
            Request::Change {
                store,
                change_request,
            } => (store.clone(), change_request.clone()),
            Request::Delete(stores) => (
                stores[0].0.clone(),
                ChangeRequest::Delete {
                    paths: stores[0].1.clone(),
                },
            ),
            Request::Save(text) => (
                text.store(),
                ChangeRequest::Edit {
                    path: text.path.clone(),
                    text: text.text.clone(),
                },
            ),
            other => panic!("{other:?}"),
        };
        let context = ChangeContext {
            moment: moment(),
            expected: None,
            history: None,
        };
        let snapshot = self.library.store_by_id(&store).expect("a store");
        let result = plan(&snapshot.store, &change_request, &context);
        let event = Event::Planned {
            generation: *generation,
            request: request.clone(),
            result,
            notes: vec!["A link in x.md will lead nowhere".to_owned()],
        };
        assert_eq!(self.tell(event), []);
    }

    /// Answers the only effect, a request for a plan.
    fn answer_plan(&mut self, effects: &[Effect], result: Result<Change>) -> Vec<Effect> {
        let (generation, request) = plan_of(effects);
        self.tell(Event::Planned {
            generation,
            request,
            result,
            notes: Vec::new(),
        })
    }

    fn id(&self, name: &str) -> StoreId {
        let snapshot = self.library.store(name).expect("a store");
        snapshot.store.id().clone()
    }

    fn place(&self) -> KeyContext {
        self.app.panes.last().expect("a pane").key_context()
    }

    /// Asserts that the keys are those of this context.
    #[track_caller]
    fn is_in(&self, context: KeyContext) -> &Self {
        assert_eq!(self.place(), context, "{}", self.text());
        self
    }

    fn buffer(&self) -> ratatui::buffer::Buffer {
        let whole = self.app.areas.whole;
        let mut terminal =
            Terminal::new(TestBackend::new(whole.width, whole.height)).expect("a terminal");
        terminal.draw(|frame| self.app.view(frame)).expect("draws");
        terminal.backend().buffer().clone()
    }

    fn text(&self) -> String {
        dump::text(&self.buffer())
    }

    fn styled(&self) -> String {
        dump::styled(&self.buffer(), &self.app.theme)
    }

    /// Asserts that all of these texts are on the screen.
    #[track_caller]
    fn shows<const N: usize>(&self, texts: [&str; N]) -> &Self {
        let all = self.text();
        for text in texts {
            assert!(all.contains(text), "no {text} in\n{all}");
        }
        self
    }

    /// Asserts that none of these texts is on the screen.
    #[track_caller]
    fn lacks<const N: usize>(&self, texts: [&str; N]) -> &Self {
        let all = self.text();
        for text in texts {
            assert!(!all.contains(text), "{text} in\n{all}");
        }
        self
    }

    /// The row of the cursor, of a list without what is beside it.
    fn here(&self) -> String {
        let text = self.text();
        let Some(row) = text.lines().find_map(|line| line.split("│▌").nth(1)) else {
            return self.row("▌");
        };
        let row = row.split('│').next().unwrap_or_default();
        row.trim_end().to_owned()
    }

    /// Moves the cursor to the first row with this text.
    #[track_caller]
    fn select(&mut self, text: &str) {
        self.press("g");
        for _ in 0..40 {
            if self.here().contains(text) {
                return;
            }
            self.press("j");
        }
        panic!("no {text} in\n{}", self.text());
    }

    fn title(&self) -> String {
        self.text().lines().next().unwrap_or_default().to_owned()
    }

    /// Asserts that the title line has this text.
    #[track_caller]
    fn titled(&self, text: &str) -> &Self {
        let title = self.title();
        assert!(title.contains(text), "no {text} in {title}");
        self
    }

    /// Asserts that the row of the cursor has this text.
    #[track_caller]
    fn is_at(&self, text: &str) -> &Self {
        assert!(self.here().contains(text), "not at {text}\n{}", self.text());
        self
    }

    /// Asserts that the first row with a text has another one, too.
    #[track_caller]
    fn row_has(&self, text: &str, other: &str) -> &Self {
        assert!(self.row(text).contains(other), "{}", self.text());
        self
    }

    fn row(&self, text: &str) -> String {
        let all = self.text();
        let row = all.lines().find(|line| line.contains(text));
        row.unwrap_or_else(|| panic!("no {text} in\n{all}"))
            .to_owned()
    }
}

#[track_caller]
fn plan_of(effects: &[Effect]) -> (u64, Box<Request>) {
    match effects {
        [
            Effect::Library(LibraryJob::Plan {
                generation,
                request,
            }),
        ] => (*generation, request.clone()),
        other => panic!("{other:?}"),
    }
}

/// The request whose plan is asked for.
#[track_caller]
fn requested(effects: &[Effect]) -> Request {
    *plan_of(effects).1
}

#[track_caller]
fn kept_text(effects: &[Effect]) -> &Unsaved {
    match effects {
        [Effect::Unsaved(UnsavedJob::Keep(text))] => text,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn copied_text(effects: &[Effect]) -> &str {
    match effects {
        [Effect::Terminal(TerminalJob::Copy(text))] => text,
        other => panic!("{other:?}"),
    }
}

/// The text that goes to another editor.
#[track_caller]
fn outside(effects: &[Effect]) -> &Unsaved {
    match effects {
        [Effect::Terminal(TerminalJob::EditOutside(text))] => text,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn is_forgotten(effects: &[Effect]) {
    let is_it = matches!(effects, [Effect::Unsaved(UnsavedJob::Forget(_))]);
    assert!(is_it, "{effects:?}");
}

#[track_caller]
fn has(text: &str, part: &str) {
    assert!(text.contains(part), "no {part} in {text}");
}

fn copying(text: &str) -> Effect {
    Effect::Terminal(TerminalJob::Copy(text.to_owned()))
}

fn you() -> Author {
    Author {
        who: "you".to_owned(),
        door: "tui".to_owned(),
    }
}

fn moment() -> Moment {
    Moment {
        time: jiff::Timestamp::UNIX_EPOCH,
        today: jiff::civil::date(2026, 2, 12),
    }
}

/// The keys to the memory "Auth Refactor": store, User, prefs, Project, memory.
const AUTH: &str = "jjjj";

#[test]
fn the_tree_and_the_preview() {
    let mut ui = TestApp::new();
    assert_eq!(ui.press(AUTH), []);
    ui.is_at("Auth Refactor");
    ui.shows(["Backend auth migration status", "updated 2026-02-11"]);
    ui.after("v").shows(["description: Backend"]);
    ui.after("v h").is_at("Project");
    ui.after("h").lacks(["Release Process   "]);
}

#[test]
fn a_link_is_followed_and_the_way_back_is_kept() {
    let mut ui = TestApp::at_auth();
    ui.after("<tab> ] <cr>").is_at("Release Process");
    ui.is_in(KeyContext::Preview);
    ui.after("<bs>").is_at("Auth Refactor");
    ui.after("] ] <cr>").is_at("User Preferences");
}

#[test]
fn a_filter_narrows_and_escape_widens_again() {
    let mut ui = TestApp::new();
    ui.after("f release").shows(["Release Process"]);
    ui.lacks(["session"]);
    ui.after("<cr> G").is_at("Release Process");
    ui.after("<esc>").shows(["User Preferences"]);
    ui.row_has("▌", "Release Process"); // the cursor stays
}

#[test]
fn the_selection_survives_a_refresh() {
    let mut ui = TestApp::at_auth();
    fs::remove_file(ui.path("user_prefs.md")).expect("removes");
    fs::write(ui.path("aaa.md"), "---\nname: Aaa\ntype: user\n---\n").expect("writes");
    ui.refresh(&[ui.path("aaa.md"), ui.path("user_prefs.md")]);
    ui.shows(["Aaa"]).is_at("Auth Refactor");
}

#[test]
fn every_action_gives_its_effect() {
    let again = |which| Effect::Write(WriteJob::Do(Box::new(Request::Latest(which))));
    let citation = "claude:auth.md".to_owned();
    for (pressed, expected) in [
        ("u", vec![again(UndoDirection::Undo)]),
        ("<c-r>", vec![again(UndoDirection::Redo)]),
        ("y", vec![Effect::Terminal(TerminalJob::Copy(citation))]),
        ("H", vec![Effect::Library(LibraryJob::Records)]),
        ("<f5>", vec![Effect::Library(LibraryJob::Load)]),
        ("<c-z>", vec![Effect::Terminal(TerminalJob::Suspend)]),
        ("q", vec![Effect::Terminal(TerminalJob::Leave(Exit::Done))]),
        (
            "<c-c>",
            vec![Effect::Terminal(TerminalJob::Leave(Exit::Done))],
        ),
    ] {
        let mut ui = TestApp::at_auth();
        assert_eq!(ui.press(pressed), expected, "{pressed}");
    }
}

#[test]
fn delete_is_planned_shown_and_then_made() {
    let mut ui = TestApp::at_auth();
    let effects = ui.press("<space> <space> d");
    let paths = vec!["auth.md".to_owned(), "release.md".to_owned()];
    let request = Request::Delete(vec![(ui.id("claude"), paths)]);
    assert_eq!(
        effects,
        [Effect::Library(LibraryJob::Plan {
            generation: 1,
            request: Box::new(request.clone()),
        })]
    );
    ui.planned(&effects);
    ui.is_in(KeyContext::Deleting);
    ui.shows(["delete 2 memories", "MEMORY.md", "will lead nowhere"]);
    assert_eq!(ui.press("<esc>"), []);
    let effects = ui.press("d");
    ui.planned(&effects);
    assert_eq!(ui.press("<cr>"), [], "Enter unfolds, as in the tree");
    ui.shows(["Tag, build, publish."]);
    ui.row_has("y delete 2 memories", "Enter unfold");
    let effects = ui.press("y");
    assert!(
        matches!(effects.as_slice(), [Effect::Write(WriteJob::Commit { request: made, .. })] if **made == request)
    );
}

#[test]
fn rename_new_move_and_duplicate_ask_first() {
    let mut ui = TestApp::at_auth();
    ui.press("r");
    let effects = ui.press("<c-u>token.md <cr>");
    let change_request = ChangeRequest::Rename {
        from: "auth.md".to_owned(),
        to: "token.md".to_owned(),
    };
    let store = ui.id("claude");
    let renaming = Request::Change {
        store,
        change_request,
    };
    assert_eq!(requested(&effects), renaming);
    // It stays open until the request is planned, and shows why it was refused.
    ui.answer_plan(&effects, Err(Error::refused("token.md", "it is taken")));
    ui.is_in(KeyContext::Prompt).shows(["it is taken"]);
    ui.press("<esc>");
    assert_eq!(ui.press("D<c-u>release.md<cr>"), []);
    ui.shows(["of that name already"]);
    ui.press("<esc>");
    let request = requested(&ui.press("D<cr>"));
    assert!(
        matches!(&request, Request::Save(text) if text.path == "auth_refactor_2.md" && text.base.is_none() && text.text.contains("name: Auth Refactor 2\n"))
    );
    ui.press("<esc>");
    let request = requested(&ui.press("M<cr>"));
    assert!(matches!(&request, Request::Move { to, .. } if *to == ui.id("session")));
    let effects = ui.press("n Tokens <cr>");
    let new = NewMemory {
        store: ui.id("claude"),
        kind: "project".to_owned(),
        name: "Tokens".to_owned(),
        about: String::new(),
        lessons: Vec::new(),
        text: None,
    };
    assert_eq!(effects, [Effect::Library(LibraryJob::Compose(new))]);
}

#[test]
fn memories_below_another_path_are_chosen_and_brought_here() {
    let mut ui = TestApp::new();
    let asked = [Effect::Library(LibraryJob::FormerHomes)];
    assert_eq!(ui.press("B"), asked);
    ui.tell(Event::FormerHomes(None));
    ui.shows(["Nothing to do"]);
    ui.press("B");
    let home = FormerHome {
        root: "/old/memory".into(),
        project: "/work/before".into(),
        is_there: false,
        memories: 3,
        proof: Proof::Commit("4f1c2aa".to_owned()),
    };
    ui.tell(Event::FormerHomes(Some(("/new/memory".into(), vec![home]))));
    ui.shows(["/work/before", "3 memories"]);
    let rehome = Request::Rehome {
        from: "/old/memory".into(),
        to: "/new/memory".into(),
    };
    assert_eq!(requested(&ui.press("<cr>")), rehome);
}

#[test]
fn the_palette_finds_an_action_and_runs_it() {
    let mut ui = TestApp::at_auth();
    ui.after(":").is_in(KeyContext::List);
    ui.press("citation");
    let effects = ui.press("<cr>");
    assert_eq!(effects, [copying("claude:auth.md")]);
}

#[test]
fn what_is_stale_is_dropped() {
    let mut ui = TestApp::at_auth();
    let first = ui.press("d");
    ui.press("d");
    ui.answer_plan(&first, Err(Error::not_found("x")));
    ui.is_in(KeyContext::Tree);
    assert!(ui.app.toast().is_none());
}
