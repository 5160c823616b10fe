//! Keys that no other test presses: each does what the keymap documents.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{Event as Input, KeyModifiers, MouseEvent, MouseEventKind};
use ratatui::layout::Size;

use super::pruning::record;
use super::{AUTH, TestApp, has, is_forgotten, kept_text, outside, requested};
use crate::core::Error;
use crate::core::change::{ChangeRequest, ChangeVerb};
use crate::core::disk::error::Conflict;
use crate::core::disk::revision::Revision;
use crate::core::memory::config::Warning;
use crate::core::memory::discover::DiscoveryScope;
use crate::tui::effect::{Effect, LibraryJob, Request, TerminalJob};
use crate::tui::event::Event;
use crate::tui::keymap::KeyContext;
use crate::tui::theme::Background;

#[test]
fn folding_sorting_and_hiding() {
    let mut ui = TestApp::new();
    ui.after("Z").shows(["▸ claude"]);
    ui.after("z").shows(["▾ claude"]);
    ui.after("s").shows(["Sorted by age"]);
    ui.after("-").lacks(["what the agent sees"]);
    ui.after("-").shows(["what the agent sees"]);
    ui.press(AUTH);
    ui.after("<space>").shows(["1 marked"]);
    ui.after("U").lacks(["marked"]);
}

#[test]
fn a_shared_store_tells_what_is_held_back() {
    let mut ui = TestApp::new();
    let store = ui.library.stores[0].store.id().clone();
    ui.lacks(["⇅"]);
    ui.tell(Event::SharedStores([(store.clone(), 0)].into()));
    ui.shows(["⇅ "]).lacks(["held back"]);
    ui.tell(Event::SharedStores([(store, 2)].into()));
    ui.shows(["⇅ 2 held back"]);
}

#[test]
fn the_scope_is_switched_and_said() {
    let mut ui = TestApp::new();
    let wanted = |scope| [Effect::Library(LibraryJob::Scope(scope))];
    assert_eq!(ui.press("A"), wanted(DiscoveryScope::Everything));
    ui.shows(["tome   everything"]);
    assert_eq!(ui.press("A"), wanted(DiscoveryScope::Project));
    ui.shows(["tome   shop"]);
    let empty = std::sync::Arc::new(crate::core::memory::library::Library::default());
    ui.tell(Event::Indexed(empty));
    ui.tell(Event::ToastExpired);
    ui.shows(["A shows everything"]);
}

#[test]
fn the_screen_is_repainted_in_every_place() {
    let mut ui = TestApp::new();
    for keys in ["<c-l>", "/ <c-l>", "<esc> H <c-l>"] {
        let effects = ui.press(keys);
        let is_repaint = |effect: &Effect| *effect == Effect::Terminal(TerminalJob::Repaint);
        assert!(effects.iter().any(is_repaint), "{keys}: {effects:?}");
    }
}

#[test]
fn keys_are_offered_where_they_do_something_and_can_be_clicked() {
    let mut ui = TestApp::at_auth();
    let bottom = |ui: &TestApp| ui.text().lines().last().unwrap_or_default().to_owned();
    assert!(bottom(&ui).contains("e edit") && bottom(&ui).contains("d delete"));
    ui.click_on("e edit");
    ui.is_in(KeyContext::Editor);
    ui.press("<esc> g G");
    assert!(!bottom(&ui).contains("e edit"), "{}", bottom(&ui));
    assert!(!bottom(&ui).contains("d delete"), "{}", bottom(&ui));
}

#[test]
fn a_memory_that_its_index_leaves_out_is_marked_and_listed_by_a_key() {
    let mut ui = TestApp::new();
    let text = "---\nname: Left Out\ndescription: nobody sees it\ntype: user\n---\n\nx\n";
    ui.write("left_out.md", text);
    let row = ui.row("Left Out");
    assert!(row.contains("not in index"), "{row}");
    // Too long for one row, it goes on in the next.
    ui.press("j j");
    ui.shows(["MEMORY.md does not list it", "││ lists it"]);
    assert!(matches!(
        requested(&ui.press("L")),
        Request::Change {
            change_request: ChangeRequest::Index(_),
            ..
        }
    ));
}

#[test]
fn a_message_does_not_stay_below_a_dialog() {
    let mut ui = TestApp::new();
    ui.after("s").shows(["Sorted by age"]);
    ui.after("?").lacks(["Sorted by age"]);
    ui.shows(["help · tree"]);
    ui.after("/ rename").shows(["rename: another name"]);
    ui.after("<esc><esc>").is_in(KeyContext::Tree);
}

#[test]
fn every_problem_of_the_settings_can_be_read() {
    let mut ui = TestApp::new();
    let warning = |line: usize| Warning {
        place: format!("keymap.toml:{line}"),
        message: "no key 'hyper-x'".to_owned(),
    };
    let warnings: Vec<Warning> = (1..=6).map(warning).collect();
    ui.app.warn(&warnings);
    ui.shows(["keymap.toml:1", "keymap.toml:6"]);
}

#[test]
fn moving_by_pages_and_to_the_ends() {
    let mut ui = TestApp::new();
    let here = |ui: &TestApp| ui.row("▌");
    let first = here(&ui);
    for (away, back) in [("G", "g"), ("<c-d>", "<c-u>"), ("<pagedown>", "<pageup>")] {
        ui.press(away);
        assert_ne!(here(&ui), first, "{away}");
        ui.press(back);
        assert_eq!(here(&ui), first, "{back}");
    }
    ui.press(AUTH);
    ui.after("<tab>").is_in(KeyContext::Preview);
    for pressed in [
        "j",
        "k",
        "<c-d>",
        "<c-u>",
        "<pagedown>",
        "<pageup>",
        "G",
        "g",
    ] {
        assert_eq!(ui.press(pressed), [], "{pressed}");
    }
    ui.after("] [ <esc>").is_in(KeyContext::Tree);
}

#[test]
fn the_text_goes_to_another_editor_or_is_thrown_away() {
    let mut ui = TestApp::at_auth();
    let effects = ui.press("E");
    assert_eq!(outside(&effects).path, "auth.md");
    ui.press("e X");
    let effects = ui.press("<c-o>");
    has(&outside(&effects).text, "X");
    ui.after("<c-q>").shows(["if pressed again"]);
    // Whoever goes on typing is asked again.
    ui.after("Y <c-q>").is_in(KeyContext::Editor);
    let effects = ui.press("<c-q>");
    is_forgotten(&effects);
    ui.is_in(KeyContext::Tree);
}

#[test]
fn a_change_of_the_history_is_taken_back_or_brought_back() {
    let mut ui = TestApp::new();
    ui.press("H");
    let record = record(&ui, "A", ChangeVerb::Edit, &["auth.md"]);
    let effects = ui.tell(Event::HistoryLoaded(vec![record]));
    let id = "A".to_owned();
    let compare = LibraryJob::Compare { id: id.clone() };
    assert_eq!(effects, [Effect::Library(compare)]);
    assert_eq!(requested(&ui.press("u")), Request::Undo(id.clone()));
    assert_eq!(
        requested(&ui.press("r")),
        Request::Restore { id, only: None }
    );
}

#[test]
fn a_renaming_is_shown_from_the_old_name_to_the_new_one() {
    let mut ui = TestApp::new();
    ui.press("H");
    for names in [["a.md", "z.md"], ["z.md", "a.md"]] {
        let mut renamed = record(&ui, "A", ChangeVerb::Rename, &["a.md", "b.md", "z.md"]);
        let revision = Some(Revision::of(b"x"));
        for file in &mut renamed.files {
            let path = file.path.as_str();
            (file.before, file.after) = (revision, revision);
            if path == names[0] {
                file.after = None;
            } else if path == names[1] {
                file.before = None;
            }
        }
        ui.tell(Event::HistoryLoaded(vec![renamed]));
        ui.row_has("▌", &names.join(" → "));
    }
}

/// Edits a memory and saves it after another program wrote `decided` in the same place.
fn meet_conflict(ui: &mut TestApp, decided: &str) {
    save_after(ui, |base| Some(base.replace("## Decision", decided)));
    ui.is_in(KeyContext::Merge);
}

/// Edits a memory and saves it after another program made this of it. Returns what that asks for.
fn save_after(ui: &mut TestApp, made: impl FnOnce(&str) -> Option<String>) -> Vec<Effect> {
    ui.press(AUTH);
    ui.press("e");
    let kept = ui.press("X");
    let text = kept_text(&kept);
    let effects = ui.press("<c-s>");
    let base = text.base.clone().unwrap_or_default();
    let conflict = Conflict {
        path: text.path.clone(),
        theirs: made(&base).map(String::into_bytes),
        base: Some(base.into_bytes()),
        mine: Some(text.text.clone().into_bytes()),
    };
    ui.answer_plan(&effects, Err(Error::Conflict(Box::new(conflict))))
}

#[test]
fn a_text_whose_file_was_deleted_is_written_anew() {
    let mut ui = TestApp::new();
    let effects = save_after(&mut ui, |_| None);
    ui.shows(["! the file is gone: saving creates it again"]);
    ui.is_in(KeyContext::Editor);
    let saved = effects.iter().find_map(|effect| match effect {
        Effect::Library(LibraryJob::Plan { request, .. }) => Some(request),
        _ => None,
    });
    let Some(Request::Save(text)) = saved.map(|request| &**request) else {
        panic!("{effects:?}");
    };
    assert!(text.base.is_none() && text.text.contains('X'), "{text:?}");
    ui.planned(&effects);
    assert_eq!(
        ui.text().matches("the file is gone").count(),
        2,
        "in the box, too"
    );
    // It is there again.
    ui.press("<esc>");
    let library = std::sync::Arc::clone(&ui.library);
    ui.tell(Event::Indexed(library));
    ui.lacks(["the file is gone"]);
}

#[test]
fn a_long_conflict_is_read_to_its_end_before_it_is_decided() {
    let mut ui = TestApp::sized(80, 24, Background::Dark);
    let theirs: String = (0..30).map(|line| format!("their line {line}\n")).collect();
    meet_conflict(&mut ui, &theirs);
    ui.shows(["below (PgDn)"]).lacks(["their line 29"]);
    ui.press("<pagedown><pagedown><pagedown>");
    ui.shows(["their line 29"]).lacks(["below (PgDn)"]);
    let wheel = Input::Mouse(MouseEvent {
        kind: MouseEventKind::ScrollUp,
        column: 40,
        row: 12,
        modifiers: KeyModifiers::NONE,
    });
    ui.tell(Event::Input(vec![wheel]));
    ui.shows(["3 below (PgDn)"]);
}

#[test]
fn each_side_of_a_conflict_can_be_taken() {
    for (pressed, expected) in [
        ("m", "X## Decision"),
        ("t", "## Decided"),
        ("b", "X## Decision\n## Decided"),
    ] {
        let mut ui = TestApp::new();
        meet_conflict(&mut ui, "## Decided");
        ui.press(pressed);
        let effects = ui.press("<cr>");
        let saved = effects.iter().find_map(|effect| match effect {
            Effect::Library(LibraryJob::Plan { request, .. }) => match &**request {
                Request::Save(text) => Some(text.text.clone()),
                _ => None,
            },
            _ => None,
        });
        // Taking everything from the file leaves nothing to save.
        assert_eq!(saved.is_none(), pressed == "t");
        let text = saved.unwrap_or_else(|| ui.text());
        assert!(text.contains(expected), "{pressed}: {text}");
    }
}

#[test]
fn the_editor_offers_its_own_keys() {
    let mut ui = TestApp::new();
    ui.press("e");
    let last = |ui: &TestApp| ui.text().lines().last().unwrap_or_default().to_owned();
    let wide = last(&ui);
    for hint in ["Ctrl-S save", "Ctrl-F find", "Ctrl-Z undo", "Esc back"] {
        assert!(wide.contains(hint), "{wide}");
    }
    ui.tell(Event::Input(vec![Input::Resize(44, 20)]));
    let narrow = last(&ui);
    assert!(
        narrow.contains("Ctrl-S save") && narrow.ends_with("Esc back"),
        "{narrow}"
    );
    assert!(!narrow.contains("Ctrl-F"), "{narrow}");
}

#[test]
fn a_wide_tree_says_what_its_memories_are_about() {
    let row = |width| {
        let ui = TestApp::sized(width, 30, Background::Dark);
        ui.row("Auth Refactor")
    };
    let wide = row(200);
    has(&wide, "Auth Refactor  Backend auth migration status");
    let narrow = row(100);
    assert!(!narrow.contains("Auth Refactor  Backend"), "{narrow}");
}

/// The size of a terminal may change between an event and the frame that shows it, from any size to
/// any other. Then keys and sizes at random: `TOME_RESIZES` says how many.
#[test]
fn a_frame_of_another_size_is_drawn_in_every_place() {
    const SIZES: [(u16, u16); 7] = [
        (120, 36),
        (100, 20),
        (80, 24),
        (40, 10),
        (300, 90),
        (9, 3),
        (1, 1),
    ];
    const KEYS: [&str; 12] = [
        "j",
        "<pagedown>",
        "x",
        "G",
        "<tab>",
        "<cr>",
        "k",
        "<end>",
        "<right>",
        "n",
        " ",
        "<esc>",
    ];
    let places = [
        "", "<cr>", "e", "/auth", "c", "R", "t", "i", "H", "?", ":", "n", "r", "M", "+", "/x?",
    ];
    let draw = |ui: &mut TestApp, (width, height): (u16, u16), place: &str| {
        let backend = TestBackend::new(width, height);
        let mut terminal = Terminal::new(backend).expect("a terminal");
        terminal.draw(|frame| ui.app.draw(frame)).expect("draws");
        let whole = ui.app.areas.whole;
        assert_eq!((whole.width, whole.height), (width, height), "{place}");
    };
    let resize = |ui: &mut TestApp, (width, height): (u16, u16)| {
        ui.tell(Event::Input(vec![Input::Resize(width, height)]));
    };
    let walks = std::env::var("TOME_RESIZES").map_or(600, |count| count.parse().expect("a number"));
    let mut random = 1_u64;
    let mut below = |count: usize| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (random >> 33) as usize % count
    };
    for place in places {
        let open = || {
            let mut ui = TestApp::sized(120, 36, Background::Dark);
            ui.press(AUTH);
            ui.press(place);
            ui
        };
        let mut ui = open();
        for (at, from) in SIZES.into_iter().enumerate() {
            for to in SIZES {
                resize(&mut ui, from);
                ui.press(KEYS[at % 3]);
                draw(&mut ui, to, place);
            }
        }
        let mut ui = open();
        for step in 0..walks / places.len() {
            if step % 50 == 0 {
                ui = open();
            }
            if below(2) == 0 {
                resize(&mut ui, SIZES[below(SIZES.len())]);
            }
            ui.press(KEYS[below(KEYS.len())]);
            draw(&mut ui, SIZES[below(SIZES.len())], place);
        }
    }
}

#[test]
fn a_place_that_is_entered_from_a_zoomed_one_shows_its_list() {
    for keys in ["+", "<tab> +"] {
        let mut ui = TestApp::with_logs();
        ui.press(keys);
        ui.after("/ auth").shows(["find ❯", "◆ Auth Refactor"]);
        // There it is zoomed for itself, and back where it was it still is.
        ui.after("<a-z>").lacks(["◆ Auth Refactor"]);
        ui.after("<a-z>").shows(["◆ Auth Refactor"]);
    }
    let mut ui = TestApp::new();
    ui.press("+");
    let whole = ui.row("▌").trim_end().chars().count();
    ui.press("H");
    ui.tell(Event::HistoryLoaded(Vec::new()));
    ui.after("<esc>").is_in(KeyContext::Tree);
    assert_eq!(ui.row("▌").trim_end().chars().count(), whole);
}

#[test]
fn a_narrow_dialog_leaves_hints_out_and_cuts_none() {
    let mut ui = TestApp::new();
    meet_conflict(&mut ui, "## Theirs");
    ui.app.resize(Size::new(56, 24));
    ui.shows(["Esc back ─"]).lacks(["Esc back╯"]);
}
