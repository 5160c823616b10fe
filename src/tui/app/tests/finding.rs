//! The finder, and the logs that it opens.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Receiver;

use jiff::tz::TimeZone;

use super::{TestApp, copied_text, copying, has, kept_text, moment, requested};
use crate::core::insight::ledger::{Account, Ledger};
use crate::core::insight::semantic::Semantic;
use crate::core::insight::semantic::fixture::TestModel;
use crate::core::insight::sessions::log_summaries;
use crate::core::insight::timeline::Timeline;
use crate::core::insight::timeline::summarize::Offline;
use crate::core::log::{LogLocations, Resume};
use crate::core::memory::catalog::{LogCatalog, LogScope};
use crate::core::memory::layout::Layout;
use crate::core::memory::library::Library;
use crate::core::memory::store::Store;
use crate::tui::effect::{Effect, LogsJob, Request, SearchJob, TerminalJob};
use crate::tui::event::{Event, EventSender};
use crate::tui::keymap::KeyContext;
use crate::tui::theme::Background;
use crate::tui::worker::meaning::Meaning;
use crate::tui::worker::search::{Job, SearchWorker};
use crate::tui::worker::thread::Worker as _;

/// Performs searches, as the worker does.
pub(super) struct Searcher {
    pub(super) worker: SearchWorker,
    newest: Arc<AtomicU64>,
    received: Receiver<Event>,
}

const SAID: &str = concat!(
    r#"{"type":"user","uuid":"u1","timestamp":"2026-01-02T03:04:05Z","cwd":"/shop","sessionId":"s1","message":{"role":"user","content":"why does refresh rotation log people out?"}}"#,
    "\n",
    r#"{"type":"assistant","uuid":"a1","timestamp":"2026-01-02T03:05:05Z","message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"Each tab presents the same refresh token."},{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"cargo test auth"}}]}}"#,
    "\n",
    r#"{"type":"user","uuid":"r1","timestamp":"2026-01-02T03:06:05Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"two_tabs FAILED"}]}}"#,
    "\n",
);

impl TestApp {
    /// An app with logs, whose searches and transcripts are performed at once.
    pub(super) fn with_logs() -> Self {
        Self::sized_with_logs(100, 28, Background::Dark)
    }

    pub(super) fn sized_with_logs(width: u16, height: u16, background: Background) -> Self {
        let mut ui = Self::sized(width, height, background);
        let projects = ui.home.path().join("agent/projects/-shop");
        fs::create_dir_all(&projects).expect("folders");
        fs::write(projects.join("s1.jsonl"), SAID).expect("a log");
        let (events, received) = EventSender::new();
        let newest = Arc::new(AtomicU64::new(0));
        let mut worker = SearchWorker::new(events, moment, TimeZone::UTC, Arc::clone(&newest));
        worker.perform(Job::Stores(Arc::clone(&ui.library)));
        ui.searcher = Some(Searcher {
            worker,
            newest,
            received,
        });
        ui.look();
        ui
    }

    fn searcher(&mut self) -> &mut Searcher {
        self.searcher.as_mut().expect("an app with logs")
    }

    /// Does something while no search is answered and no transcript is read.
    pub(super) fn unanswered<T>(&mut self, act: impl FnOnce(&mut Self) -> T) -> T {
        let searcher = self.searcher.take();
        let done = act(self);
        self.searcher = searcher;
        done
    }

    /// Reads the logs, as the corpus worker does.
    pub(super) fn look(&mut self) {
        let catalog = LogCatalog {
            locations: LogLocations {
                claude: vec![self.home.path().join("agent")],
                ..LogLocations::default()
            },
            kept: None,
            cache: self.home.path().join("cache"),
            scope: LogScope::All,
            timeline: crate::core::memory::config::TimelineSettings::default(),
        };
        let files = catalog.files();
        let corpus = catalog.corpus(&files, &()).expect("reads");
        let log_groups = Library::group_logs(log_summaries(&corpus, &files));
        self.tell(Event::LogsListed(Arc::new(log_groups)));
        let searcher = self.searcher();
        searcher.worker.perform(Job::Logs(Arc::new(corpus)));
        let events: Vec<Event> = searcher.received.try_iter().collect();
        for event in events {
            self.tell(event);
        }
    }

    /// Performs a search; returns what it sends.
    pub(super) fn search(&mut self, job: SearchJob) -> Vec<Event> {
        let searcher = self.searcher();
        searcher.newest.store(job.generation, Ordering::Relaxed);
        searcher.worker.perform(Job::Find(job));
        searcher.received.try_iter().collect()
    }
}

#[test]
fn an_empty_query_shows_what_is_new() {
    let mut ui = TestApp::with_logs();
    ui.after("/").is_in(KeyContext::Find);
    ui.shows(["Auth Refactor", "session ", "claude · shop", "newest first"]);
    ui.after("<esc>").is_in(KeyContext::Tree);
}

#[test]
fn a_memory_is_found_by_letters_opened_and_edited_at_the_match() {
    let mut ui = TestApp::with_logs();
    ui.press("/ jwt<space>refsh");
    ui.shows(["◆ Auth Refactor", "Use JWT with refresh token rotation."]);
    ui.after("<cr>").is_in(KeyContext::Preview);
    ui.is_at("Auth Refactor");
    ui.press("<esc>");
    assert_eq!(ui.place(), KeyContext::Find, "the list is still there");
    ui.shows(["❯ jwt refsh"]);
    assert_eq!(ui.press("<c-e>"), []);
    ui.is_in(KeyContext::Editor);
    let kept = ui.press("X");
    let text = kept_text(&kept);
    has(&text.text, "\nXUse JWT with refresh");
}

#[test]
fn what_is_found_is_as_old_as_in_the_tree() {
    let mut ui = TestApp::with_logs();
    let id = ui.id("claude");
    let store = Store::open("claude", id.root(), Some(Layout::Index)).expect("a store");
    let account = Account {
        id,
        committed: Some(1 - 3 * 86_400_000),
        ..Account::new(&store, "release.md", None)
    };
    let ledger = Arc::new(Ledger::new(vec![account], Vec::new(), Vec::new()));
    ui.searcher()
        .worker
        .perform(Job::Ledger(Arc::clone(&ledger)));
    ui.tell(Event::Counted(ledger));
    let in_tree = ui.row("Release");
    ui.press("/ release");
    let found = ui.row("◆ Release");
    assert!(
        in_tree.contains(" 3d ") && found.contains(" 3d "),
        "{in_tree} {found}"
    );
    ui.after("<space>since:2d").lacks(["◆ Release"]);
    // A file that is read again keeps it.
    let library = Arc::clone(&ui.library);
    ui.searcher().worker.perform(Job::Stores(library));
    ui.after("<bs>9d").shows(["◆ Release"]);
}

#[test]
fn the_text_of_the_preview_is_copied() {
    let mut ui = TestApp::new();
    ui.press("jjjj");
    let copied = ui.press("Y");
    let text = copied_text(&copied);
    has(text, "Use JWT with refresh token rotation.");
    assert!(!text.contains("description:"), "without the header: {text}");
}

#[test]
fn a_session_is_kept_from_its_row_and_from_its_log() {
    let mut ui = TestApp::with_logs();
    assert_eq!(ui.press("C"), []);
    ui.shows(["Go to a session to keep a copy of it"]);
    ui.press("f log<space>people<cr>");
    let row = ui.press("C");
    let [Effect::Logs(LogsJob::Keep(file))] = row.as_slice() else {
        panic!("{row:?}");
    };
    assert_eq!(file.id, "s1");
    ui.after("<cr>").is_in(KeyContext::Log);
    assert_eq!(ui.press("C"), row);
    ui.tell(Event::Kept(Ok(true)));
    ui.shows(["tome has a copy"]);
}

#[test]
fn a_message_is_found_and_its_log_opens_there() {
    let mut ui = TestApp::with_logs();
    ui.press("/ people<space>out<space>in:logs<space>");
    ui.shows(["in:logs ×", "you · why does"]);
    ui.after("<cr>").is_in(KeyContext::Log);
    ui.shows(["log people out?", "▸ Bash   cargo test auth"]);
    assert_eq!(ui.press("y"), [copying("claude-code:s1#L1")]);
    let effects = ui.press("O");
    assert_eq!(effects, [copying("cd /shop && claude --resume s1")]);
    ui.after("jj<cr>").shows(["│ two_tabs FAILED"]);
    ui.press("<esc>");
    assert_eq!(ui.place(), KeyContext::Find, "back to the results");
}

#[test]
fn tool_text_is_found_when_words_give_nothing() {
    let mut ui = TestApp::with_logs();
    ui.after("/ \"two_tabs \"").shows(["tool · why doe"]);
}

#[test]
fn marks_go_to_the_tree_or_to_the_clipboard() {
    let mut ui = TestApp::with_logs();
    ui.press("/ type:project<space><tab><tab>");
    ui.shows(["2 marked"]);
    let copied = ui.press("<c-y>");
    let lines = copied_text(&copied);
    assert_eq!(lines.lines().count(), 2);
    ui.after("<cr>").is_in(KeyContext::Tree).shows(["2 marked"]);
    let effects = ui.press("d");
    assert!(matches!(requested(&effects), Request::Delete(_)));
}

#[test]
fn what_is_not_understood_is_said_and_nothing_found_teaches() {
    let mut ui = TestApp::with_logs();
    ui.after("/ since:never").shows(["since"]);
    ui.press("<c-u>zzzzqqqq");
    ui.shows(["nothing found", "just as it stands"]);
}

#[test]
fn a_filter_is_completed_and_taken_back() {
    let mut ui = TestApp::with_logs();
    ui.after("/ ty").shows(["type:"]);
    ui.after("<right> pro <right>").shows(["type:project ×"]);
    ui.after("<bs>").lacks(["type:project ×"]);
}

#[test]
fn a_log_is_in_the_tree_and_grows_on_the_screen() {
    let mut ui = TestApp::with_logs();
    ui.after("G").is_at("sessions");
    ui.press("l j l j");
    ui.row_has("▌", "why does refresh");
    ui.shows(["Each tab presents"]); // the preview reads
    ui.after("<cr> G").is_in(KeyContext::Log);
    let path = ui.home.path().join("agent/projects/-shop/s1.jsonl");
    let more = r#"{"type":"user","uuid":"u2","timestamp":"2026-01-02T04:04:05Z","message":{"role":"user","content":"and now?"}}"#;
    fs::write(&path, format!("{SAID}{more}\n")).expect("writes");
    ui.look();
    ui.shows(["and now?"]);
}

#[test]
fn every_key_of_a_log_does_its_work() {
    let mut ui = TestApp::with_logs();
    ui.press("/ people<space>out<cr>");
    let here = |ui: &TestApp| ui.row("▌");
    assert!(here(&ui).contains("people out"));
    ui.press("J");
    assert!(here(&ui).contains("Each tab presents"), "{}", ui.text());
    ui.press("K");
    assert!(here(&ui).contains("people out"));
    let effects = ui.press("Y");
    assert_eq!(
        effects,
        [copying("why does refresh rotation log people out?")]
    );
    ui.press("T");
    ui.shows(["│ two_tabs FAILED", "What tools did is shown"]);
    ui.after("T").lacks(["│ two_tabs FAILED"]);
    ui.after("M").shows(["Reasoning is shown"]);
    ui.after("I").shows(["What the program put in is shown"]);
    ui.press("/ t<cr>");
    let first = here(&ui);
    ui.press("n");
    assert_ne!(here(&ui), first);
    ui.press("N");
    assert_eq!(here(&ui), first);
    for pressed in ["G", "<c-u>", "<c-d>", "<pageup>", "<pagedown>", "g"] {
        ui.press(pressed);
    }
    assert!(here(&ui).contains("people out"), "{}", ui.text());
}

#[test]
fn the_preview_of_find_is_scrolled_without_leaving_the_list() {
    let mut ui = TestApp::sized_with_logs(100, 9, Background::Dark);
    ui.press("/ auth<space>migr");
    let before = ui.text();
    assert!(before.contains("Backend auth migration"), "{before}");
    ui.press("<a-down>");
    assert_ne!(ui.text(), before);
    ui.press("<a-up>");
    assert_eq!(ui.text(), before);
    assert_eq!(
        ui.press("<c-o>"),
        [],
        "a memory is no session to be continued"
    );
    ui.press("<c-u>people<space>out");
    assert_eq!(
        ui.press("<c-o>"),
        [Effect::Terminal(TerminalJob::Resume(Resume {
            program: "claude",
            args: vec!["--resume".to_owned(), "s1".to_owned()],
            cwd: Some("/shop".into()),
        }))]
    );
}

#[test]
fn the_line_that_was_found_is_edited_also_where_the_memory_is_open_already() {
    let mut ui = TestApp::with_logs();
    ui.after("/ jwt<space>refsh<cr>").is_at("Auth Refactor");
    ui.press("/ access<space>token <c-e>");
    let kept = ui.press("X");
    let text = kept_text(&kept);
    assert!(text.text.contains("\nX- access token"), "{}", text.text);
}

#[test]
fn marks_outlive_what_was_typed_when_they_were_made() {
    let mut ui = TestApp::with_logs();
    ui.press("/ jwt<tab> <c-u>publish<tab> <c-u>tea");
    ui.shows(["2 marked"]);
    ui.after("<cr>").shows(["2 marked"]);
    let effects = ui.press("d");
    let Request::Delete(stores) = requested(&effects) else {
        panic!("{effects:?}");
    };
    let paths: Vec<&String> = stores.iter().flat_map(|(_, paths)| paths).collect();
    assert!(paths.contains(&&"release.md".to_owned()), "{paths:?}");
    assert_eq!(paths.len(), 2);
}

#[test]
fn enter_waits_for_the_answer_to_what_was_typed() {
    let mut ui = TestApp::with_logs();
    ui.press("/");
    // All at once, as in a paste: no results arrive in between.
    let effects = ui.unanswered(|ui| ui.press("publish<cr>"));
    assert_eq!(ui.place(), KeyContext::Find, "the old rows are not it");
    ui.perform(effects);
    ui.is_in(KeyContext::Preview).is_at("Release Process");
}

#[test]
fn a_preview_stays_where_it_is_when_something_else_is_said() {
    let mut ui = TestApp::sized_with_logs(100, 10, Background::Dark);
    ui.press("G l j l j <tab> <pagedown>");
    let before = ui.text();
    let other = ui.home.path().join("agent/projects/-shop/s2.jsonl");
    fs::write(other, SAID.replace("2026-01-02", "2026-01-01")).expect("writes");
    ui.look();
    let preview = |text: &str| -> Vec<String> {
        let lines = text.lines().skip(2).take(5);
        lines.map(|line| line.chars().skip(41).collect()).collect()
    };
    assert_eq!(preview(&ui.text()), preview(&before));
    assert_ne!(ui.text(), before, "the other one is in the tree");
}

#[test]
fn what_is_gone_is_not_edited_and_nothing_else_is_in_its_place() {
    let mut ui = TestApp::with_logs();
    ui.press("/ publish");
    let library = Arc::clone(&ui.library);
    let gone = ui.path("release.md");
    fs::remove_file(&gone).expect("removes");
    // What is found is still of the library before.
    ui.tell(Event::Indexed(Arc::new(library.refresh(&[gone]))));
    assert_eq!(ui.press("<c-e>"), []);
    assert_eq!(ui.place(), KeyContext::Find, "no editor");
    ui.shows(["not there any more"]);
}

#[test]
fn looks_of_find_and_of_a_log() {
    let mut ui = TestApp::sized_with_logs(100, 20, Background::Dark);
    ui.press("/ refresh");
    let styled = |ui: &TestApp| {
        let home = ui.home.path().display().to_string();
        ui.styled().replace(&home, "~")
    };
    insta::assert_snapshot!("find", styled(&ui));
    ui.press("<c-u>people<space>out<cr>jj<cr>");
    insta::assert_snapshot!("log", styled(&ui));
}

#[test]
fn small_screens_show_find_and_logs_too() {
    for (width, height) in [(60, 16), (20, 5), (1, 1), (80, 24), (300, 90)] {
        let mut ui = TestApp::sized_with_logs(width, height, Background::Dark);
        ui.text();
        for pressed in [
            "/", "refresh", "<down>", "<cr>", "j", "T", "M", "I", "<esc>", "<esc>",
        ] {
            ui.press(pressed);
            ui.text();
        }
    }
}

#[test]
fn what_says_it_in_other_words_is_listed_where_there_is_a_model() {
    let mut ui = TestApp::with_logs();
    let rows = |ui: &mut TestApp, generation| -> Vec<String> {
        let events = ui.search(SearchJob {
            generation,
            text: "qwertz".to_owned(),
            says_only: false,
            rows: 10,
        });
        let last = events.iter().rev().find_map(|event| match event {
            Event::Found { found, .. } => Some(found),
            _ => None,
        });
        let found = last.expect("found");
        assert_eq!(found.total, found.rows.len());
        found.rows.iter().map(|row| row.hit.text.clone()).collect()
    };
    assert!(rows(&mut ui, 1).is_empty());
    let cache = ui.home.path().join("cache");
    let model = Box::new(TestModel::new(&["qwertz refresh"]));
    let empty = Timeline::empty(&cache.join("timeline"), Arc::new(Offline));
    ui.searcher().worker.meaning = Some(Meaning::of(Semantic::new(model, &cache), empty));
    let found = rows(&mut ui, 2);
    assert!(!found.is_empty());
    assert!(
        found.iter().all(|text| text.contains("refresh")),
        "{found:?}"
    );
}
