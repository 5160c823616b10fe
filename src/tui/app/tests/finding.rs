//! Find, and the logs that it leads to.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver};

use jiff::tz::TimeZone;
use ratatui::crossterm::event::Event as Input;

use super::{Bench, moment};
use crate::core::archive::{Archive, Whose, listed};
use crate::core::library::Library;
use crate::core::log::{Places, read};
use crate::tui::effect::{Effect, LibraryJob, Request, TerminalJob, TranscriptJob, UnsavedJob};
use crate::tui::event::Event;
use crate::tui::keymap::Place;
use crate::tui::theme::Background;
use crate::tui::worker::desk::Clerk as _;
use crate::tui::worker::finder::{Finder, Job};

/// An app with logs, whose finder and scribe answer at once.
struct Desk {
    bench: Bench,
    finder: Finder,
    newest: Arc<AtomicU64>,
    told: Receiver<Event>,
}

const SAID: &str = concat!(
    r#"{"type":"user","uuid":"u1","timestamp":"2026-01-02T03:04:05Z","cwd":"/shop","sessionId":"s1","message":{"role":"user","content":"why does refresh rotation log people out?"}}"#,
    "\n",
    r#"{"type":"assistant","uuid":"a1","timestamp":"2026-01-02T03:05:05Z","message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"Each tab presents the same refresh token."},{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"cargo test auth"}}]}}"#,
    "\n",
    r#"{"type":"user","uuid":"r1","timestamp":"2026-01-02T03:06:05Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"two_tabs FAILED"}]}}"#,
    "\n",
);

impl Desk {
    fn new() -> Self {
        Self::sized(100, 28, Background::Dark)
    }

    fn sized(width: u16, height: u16, background: Background) -> Self {
        let bench = Bench::sized(width, height, background);
        let projects = bench.home.path().join("agent/projects/-shop");
        fs::create_dir_all(&projects).expect("folders");
        fs::write(projects.join("s1.jsonl"), SAID).expect("a log");
        let (events, told) = mpsc::channel();
        let newest = Arc::new(AtomicU64::new(0));
        let time = (moment as fn() -> _, TimeZone::UTC);
        let finder = Finder::new(events, time, Arc::clone(&newest));
        let mut desk = Self {
            bench,
            finder,
            newest,
            told,
        };
        let library = Arc::clone(&desk.bench.library);
        desk.finder.perform(Job::Stores(library));
        desk.look();
        desk
    }

    /// Reads the logs, as the archivist does.
    fn look(&mut self) {
        let archive = Archive {
            places: Places {
                claude: vec![self.bench.home.path().join("agent")],
                ..Places::default()
            },
            kept: None,
            cache: self.bench.home.path().join("cache"),
            whose: Whose::Everybodys,
        };
        let files = archive.files();
        let corpus = archive.meant(&files, &()).expect("reads").corpus;
        let bundles = Library::bundled(listed(&corpus, &files));
        self.tell(Event::Logged(Arc::new(bundles)));
        self.finder.perform(Job::Logs(Arc::new(corpus)));
        let events: Vec<Event> = self.told.try_iter().collect();
        for event in events {
            self.tell(event);
        }
    }

    fn tell(&mut self, event: Event) -> Vec<Effect> {
        let effects = self.bench.tell(event);
        self.perform(effects)
    }

    fn press(&mut self, keys: &str) -> Vec<Effect> {
        let mut left = Vec::new();
        for key in crate::tui::keys::keys(keys) {
            left.extend(self.tell(Event::Input(vec![Input::Key(key)])));
        }
        left
    }

    /// Finds and reads; answers what else is wanted.
    fn perform(&mut self, effects: Vec<Effect>) -> Vec<Effect> {
        let mut left = Vec::new();
        for effect in effects {
            match effect {
                Effect::Search(job) => {
                    self.newest.store(job.generation, Ordering::Relaxed);
                    self.finder.perform(Job::Find(job));
                    let events: Vec<Event> = self.told.try_iter().collect();
                    for event in events {
                        left.extend(self.tell(event));
                    }
                }
                Effect::Transcript(TranscriptJob { file, .. }) => {
                    let result = read(&file).map(Arc::new);
                    left.extend(self.tell(Event::Opened { file, result }));
                }
                other => left.push(other),
            }
        }
        left
    }

    fn text(&self) -> String {
        self.bench.text()
    }

    fn styled(&self) -> String {
        let home = self.bench.home.path().display().to_string();
        self.bench.styled().replace(&home, "~")
    }
}

#[test]
fn an_empty_query_shows_what_is_new() {
    let mut desk = Desk::new();
    desk.press("/");
    assert_eq!(desk.bench.place(), Place::Find);
    let text = desk.text();
    assert!(
        text.contains("Auth Refactor") && text.contains("session ") && text.contains("claude-code"),
        "{text}"
    );
    assert!(text.contains("latest first"), "{text}");
    desk.press("<esc>");
    assert_eq!(desk.bench.place(), Place::Tree);
}

#[test]
fn a_memory_is_found_by_letters_opened_and_edited_at_the_match() {
    let mut desk = Desk::new();
    desk.press("/");
    desk.press("jwt<space>refsh");
    let text = desk.text();
    assert!(text.contains("◆ Auth Refactor"), "{text}");
    assert!(
        text.contains("Use JWT with refresh token rotation."),
        "{text}"
    );
    desk.press("<cr>");
    assert_eq!(desk.bench.place(), Place::Tree);
    assert!(desk.bench.row("▌").contains("Auth Refactor"));
    desk.press("/");
    desk.press("jwt<space>refsh");
    assert_eq!(desk.press("<c-e>"), []);
    assert_eq!(desk.bench.place(), Place::Editor);
    let kept = desk.press("X");
    let [Effect::Unsaved(UnsavedJob::Keep(text))] = kept.as_slice() else {
        panic!("{kept:?}");
    };
    assert!(
        text.text.contains("\nXUse JWT with refresh"),
        "{}",
        text.text
    );
}

#[test]
fn a_message_is_found_and_its_log_opens_there() {
    let mut desk = Desk::new();
    desk.press("/");
    desk.press("people<space>out<space>in:logs<space>");
    let text = desk.text();
    assert!(
        text.contains("in:logs ×") && text.contains("you · why does"),
        "{text}"
    );
    desk.press("<cr>");
    assert_eq!(desk.bench.place(), Place::Log);
    let text = desk.text();
    assert!(
        text.contains("log people out?") && text.contains("▸ Bash   cargo test auth"),
        "{text}"
    );
    assert_eq!(
        desk.press("y"),
        [Effect::Terminal(TerminalJob::Copy(
            "claude-code:s1#L1".to_owned()
        ))]
    );
    let effects = desk.press("o");
    assert_eq!(
        effects,
        [Effect::Terminal(TerminalJob::Copy(
            "cd /shop && claude --resume s1".to_owned()
        ))]
    );
    desk.press("jj<cr>");
    assert!(desk.text().contains("│ two_tabs FAILED"));
    desk.press("<esc>");
    assert_eq!(desk.bench.place(), Place::Find, "back to the results");
}

#[test]
fn tool_text_is_found_when_words_give_nothing() {
    let mut desk = Desk::new();
    desk.press("/");
    desk.press("\"two_tabs");
    desk.press("\"");
    assert!(desk.text().contains("tool · why does"), "{}", desk.text());
}

#[test]
fn marks_go_to_the_tree_or_to_the_clipboard() {
    let mut desk = Desk::new();
    desk.press("/");
    desk.press("type:project<space><tab><tab>");
    assert!(desk.text().contains("2 marked"), "{}", desk.text());
    let copied = desk.press("<c-y>");
    let [Effect::Terminal(TerminalJob::Copy(lines))] = copied.as_slice() else {
        panic!("{copied:?}");
    };
    assert_eq!(lines.lines().count(), 2);
    desk.press("<cr>");
    assert_eq!(desk.bench.place(), Place::Tree);
    let text = desk.text();
    assert!(text.contains("2 marked"), "{text}");
    let effects = desk.press("d");
    assert!(
        matches!(
            effects.as_slice(),
            [Effect::Library(LibraryJob::Plan { .. })]
        ),
        "{effects:?}"
    );
}

#[test]
fn what_is_not_understood_is_said_and_nothing_found_teaches() {
    let mut desk = Desk::new();
    desk.press("/");
    desk.press("since:never");
    assert!(desk.text().contains("since"), "{}", desk.text());
    desk.press("<c-u>zzzzqqqq");
    let text = desk.text();
    assert!(
        text.contains("nothing found") && text.contains("just as it stands"),
        "{text}"
    );
}

#[test]
fn a_filter_is_completed_and_taken_back() {
    let mut desk = Desk::new();
    desk.press("/");
    desk.press("ty");
    assert!(desk.text().contains("type:"), "{}", desk.text());
    desk.press("<right> pro <right>");
    assert!(desk.text().contains("type:project ×"), "{}", desk.text());
    desk.press("<bs>");
    assert!(!desk.text().contains("type:project ×"));
}

#[test]
fn a_log_is_in_the_tree_and_grows_on_the_screen() {
    let mut desk = Desk::new();
    desk.press("G");
    assert!(desk.bench.row("▌").contains("sessions"));
    desk.press("l j l j");
    let row = desk.bench.row("▌");
    assert!(row.contains("why does refresh"), "{row}");
    assert!(
        desk.text().contains("Each tab presents"),
        "the preview reads"
    );
    desk.press("<cr> G");
    assert_eq!(desk.bench.place(), Place::Log);
    let path = desk.bench.home.path().join("agent/projects/-shop/s1.jsonl");
    let more = r#"{"type":"user","uuid":"u2","timestamp":"2026-01-02T04:04:05Z","message":{"role":"user","content":"and now?"}}"#;
    fs::write(&path, format!("{SAID}{more}\n")).expect("writes");
    desk.look();
    assert!(desk.text().contains("and now?"), "{}", desk.text());
}

#[test]
fn words_are_found_in_a_log() {
    let mut desk = Desk::new();
    desk.press("/");
    desk.press("people<space>out<cr>/");
    assert_eq!(desk.bench.place(), Place::Prompt);
    desk.press("failed<cr>");
    assert!(desk.text().contains("│ two_tabs FAILED"), "{}", desk.text());
    desk.press("/ nowhere <cr>");
    assert!(desk.text().contains("Not in this conversation"));
}

#[test]
fn every_key_of_a_log_does_its_work() {
    let mut desk = Desk::new();
    desk.press("/");
    desk.press("people<space>out<cr>");
    let here = |desk: &Desk| desk.bench.row("▌");
    assert!(here(&desk).contains("people out"));
    desk.press("J");
    assert!(here(&desk).contains("Each tab presents"), "{}", desk.text());
    desk.press("K");
    assert!(here(&desk).contains("people out"));
    let effects = desk.press("Y");
    assert_eq!(
        effects,
        [Effect::Terminal(TerminalJob::Copy(
            "why does refresh rotation log people out?".to_owned()
        ))]
    );
    desk.press("T");
    assert!(desk.text().contains("│ two_tabs FAILED"));
    assert!(desk.text().contains("What tools did is shown"));
    desk.press("T");
    assert!(!desk.text().contains("│ two_tabs FAILED"));
    desk.press("R");
    assert!(desk.text().contains("Reasoning is shown"));
    desk.press("I");
    assert!(desk.text().contains("What the program put in is shown"));
    desk.press("/");
    desk.press("t<cr>");
    let first = here(&desk);
    desk.press("n");
    assert_ne!(here(&desk), first);
    desk.press("N");
    assert_eq!(here(&desk), first);
    for pressed in ["G", "<c-u>", "<c-d>", "<pageup>", "<pagedown>", "g"] {
        desk.press(pressed);
    }
    assert!(here(&desk).contains("people out"), "{}", desk.text());
}

#[test]
fn the_preview_of_find_is_scrolled_without_leaving_the_list() {
    let mut desk = Desk::sized(100, 9, Background::Dark);
    desk.press("/");
    desk.press("auth<space>migr");
    let before = desk.text();
    assert!(before.contains("Backend auth migration"), "{before}");
    desk.press("<a-down>");
    assert_ne!(desk.text(), before);
    desk.press("<a-up>");
    assert_eq!(desk.text(), before);
    assert_eq!(
        desk.press("<c-o>"),
        [],
        "a memory is no session to be continued"
    );
    desk.press("<c-u>people<space>out");
    assert_eq!(
        desk.press("<c-o>"),
        [Effect::Terminal(TerminalJob::Copy(
            "cd /shop && claude --resume s1".to_owned()
        ))]
    );
}

#[test]
fn the_line_that_was_found_is_edited_also_where_the_memory_is_open_already() {
    let mut desk = Desk::new();
    desk.press("/");
    desk.press("jwt<space>refsh<cr>");
    assert!(desk.bench.row("▌").contains("Auth Refactor"));
    desk.press("/");
    desk.press("access<space>token");
    desk.press("<c-e>");
    let kept = desk.press("X");
    let [Effect::Unsaved(UnsavedJob::Keep(text))] = kept.as_slice() else {
        panic!("{kept:?}");
    };
    assert!(text.text.contains("\nX- access token"), "{}", text.text);
}

#[test]
fn marks_outlive_what_was_typed_when_they_were_made() {
    let mut desk = Desk::new();
    desk.press("/");
    desk.press("jwt<tab>");
    desk.press("<c-u>publish<tab>");
    desk.press("<c-u>tea");
    assert!(desk.text().contains("2 marked"), "{}", desk.text());
    desk.press("<cr>");
    assert!(desk.text().contains("2 marked"), "{}", desk.text());
    let effects = desk.press("d");
    let [Effect::Library(LibraryJob::Plan { request, .. })] = effects.as_slice() else {
        panic!("{effects:?}");
    };
    let Request::Delete(stores) = &**request else {
        panic!("{request:?}");
    };
    let paths: Vec<&String> = stores.iter().flat_map(|(_, paths)| paths).collect();
    assert!(paths.contains(&&"release.md".to_owned()), "{paths:?}");
    assert_eq!(paths.len(), 2);
}

#[test]
fn enter_waits_for_the_answer_to_what_was_typed() {
    let mut desk = Desk::new();
    desk.press("/");
    // All of it at once, as fast hands and pastes do: nothing is answered in between.
    let effects = desk.bench.press("publish<cr>");
    assert_eq!(desk.bench.place(), Place::Find, "the old rows are not it");
    desk.perform(effects);
    assert_eq!(desk.bench.place(), Place::Tree);
    assert!(desk.bench.row("▌").contains("Release Process"));
}

#[test]
fn a_preview_stays_where_it_is_when_something_else_is_said() {
    let mut desk = Desk::sized(100, 10, Background::Dark);
    desk.press("G l j l j <tab> <pagedown>");
    let before = desk.text();
    let other = desk.bench.home.path().join("agent/projects/-shop/s2.jsonl");
    fs::write(other, SAID.replace("2026-01-02", "2026-01-01")).expect("writes");
    desk.look();
    let preview = |text: &str| -> Vec<String> {
        let lines = text.lines().skip(2).take(5);
        lines.map(|line| line.chars().skip(41).collect()).collect()
    };
    assert_eq!(preview(&desk.text()), preview(&before));
    assert_ne!(desk.text(), before, "the other one is in the tree");
}

#[test]
fn what_is_gone_is_not_edited_and_nothing_else_is_in_its_place() {
    let mut desk = Desk::new();
    desk.press("/");
    desk.press("publish");
    let home = desk.bench.home.path().join("claude");
    let gone = home.canonicalize().expect("canonical").join("release.md");
    fs::remove_file(&gone).expect("removes");
    let library = Arc::new(desk.bench.library.refresh(&[gone]));
    desk.tell(Event::Indexed(library));
    assert_eq!(desk.press("<c-e>"), []);
    assert_eq!(desk.bench.place(), Place::Tree, "no editor");
    assert!(
        desk.text().contains("not there any more"),
        "{}",
        desk.text()
    );
}

#[test]
fn looks_of_find_and_of_a_log() {
    for (name, background) in [("dark", Background::Dark), ("light", Background::Light)] {
        let mut desk = Desk::sized(100, 20, background);
        desk.press("/");
        desk.press("refresh");
        insta::assert_snapshot!(format!("find-{name}"), desk.styled());
        desk.press("<c-u>people<space>out<cr>jj<cr>");
        insta::assert_snapshot!(format!("log-{name}"), desk.styled());
    }
}

#[test]
fn small_screens_show_find_and_logs_too() {
    for (width, height) in [(60, 16), (20, 5), (1, 1), (80, 24), (300, 90)] {
        let mut desk = Desk::sized(width, height, Background::Dark);
        desk.text();
        for pressed in [
            "/", "refresh", "<down>", "<cr>", "j", "T", "R", "I", "<esc>", "<esc>",
        ] {
            desk.press(pressed);
            desk.text();
        }
    }
}
