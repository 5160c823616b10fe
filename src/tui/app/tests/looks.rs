//! What the screens look like, styles included, and what a key costs.

use std::path::Path;
use std::sync::Arc;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::Event as Input;
use ratatui::layout::Size;

use super::{AUTH, Bench, moment};
use crate::core::change::{Asking, Author, Wish, commit, plan};
use crate::core::history::History;
use crate::core::library::Library;
use crate::tui::app::App;
use crate::tui::event::Event;
use crate::tui::keymap::Keymap;
use crate::tui::keys::keys;
use crate::tui::theme::{Background, Theme};

fn masked(bench: &Bench, text: String) -> String {
    let home = bench.home.path().display().to_string();
    text.replace(&home, "~")
}

#[test]
fn looks_of_browse_in_the_dark_and_in_the_light() {
    let mut bench = Bench::sized(100, 20, Background::Dark);
    bench.press(AUTH);
    bench.press("<space>");
    insta::assert_snapshot!("browse-dark", masked(&bench, bench.styled()));
    let mut bench = Bench::sized(100, 20, Background::Light);
    bench.press(AUTH);
    insta::assert_snapshot!("browse-light", masked(&bench, bench.styled()));
}

#[test]
fn looks_of_help_palette_and_delete() {
    let mut bench = Bench::sized(80, 24, Background::Dark);
    bench.press(AUTH);
    bench.press("?");
    insta::assert_snapshot!("help", masked(&bench, bench.styled()));
    bench.press("<esc> :");
    insta::assert_snapshot!("palette", masked(&bench, bench.styled()));
    bench.press("<esc>");
    let effects = bench.press("d");
    bench.planned(&effects);
    insta::assert_snapshot!("delete", masked(&bench, bench.styled()));
}

#[test]
fn looks_of_history() {
    let mut bench = Bench::sized(100, 20, Background::Dark);
    let history = History::open(&bench.home.path().join("history"));
    let author = Author {
        who: "you".to_owned(),
        door: "tui".to_owned(),
    };
    let asking = Asking {
        moment: moment(),
        expected: None,
    };
    let wish = Wish::Delete {
        paths: vec!["release.md".to_owned()],
    };
    let shelf = Arc::clone(bench.library.shelf("claude").expect("a store"));
    let change = plan(&shelf.store, &wish, &asking).expect("plans");
    commit(&history, &change, &author, &moment()).expect("commits");
    bench.press("H");
    let records = history.records().expect("reads");
    let mut record = records[0].clone();
    record.id = "A".to_owned();
    record.time = 1;
    let edits = history.edits(&record).expect("reads");
    bench.tell(Event::Recorded(vec![record]));
    bench.tell(Event::Compared {
        id: "A".to_owned(),
        result: Ok(edits),
    });
    insta::assert_snapshot!("history", masked(&bench, bench.styled()));
}

/// Not a test of right and wrong: says how long a key takes with ten thousand memories open.
#[test]
#[ignore = "a measurement; run it with --release --ignored --nocapture"]
fn ten_thousand_memories() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let root = home.path().join("big");
    std::fs::create_dir_all(&root).expect("a folder");
    for number in 0..10_000 {
        let kind = ["user", "feedback", "project", "reference"][number % 4];
        let text = format!(
            "---\nname: Memory {number}\ndescription: about {number}\ntype: {kind}\n---\n\n## Decision\nUse {number}.\n\n- one\n- two\n"
        );
        std::fs::write(root.join(format!("m{number}.md")), text).expect("writes");
    }
    let store = crate::core::store::Store::open(
        "big",
        Path::new(&root),
        Some(crate::core::layout::Layout::Index),
    )
    .expect("opens");
    let library = Arc::new(Library::load(crate::core::discover::Discovered {
        stores: vec![crate::core::discover::Found {
            store,
            why: String::new(),
        }],
        problems: Vec::new(),
    }));
    let mut app = App::new(Theme::default(), Keymap::new(), "big".to_owned());
    app.resize(Size::new(160, 50));
    let mut bench = Bench {
        home,
        library: Arc::clone(&library),
        app,
    };
    bench.tell(Event::Indexed(library));
    bench.press("z");
    let mut terminal = Terminal::new(TestBackend::new(160, 50)).expect("a terminal");
    let mut times = Vec::new();
    let pressed = "j<c-d>jjkG<c-u>kgjj<space>jjj<c-d>fmemory<space>7<bs>8<cr>jj<esc>jjs";
    for _ in 0..6 {
        for key in keys(pressed) {
            let start = std::time::Instant::now();
            bench.tell(Event::Input(vec![Input::Key(key)]));
            terminal.draw(|frame| bench.app.view(frame)).expect("draws");
            times.push(start.elapsed());
        }
    }
    times.sort();
    let at = |part: usize| times[(times.len() - 1) * part / 100];
    use std::io::Write as _;
    let line = format!("p50 {:?}  p99 {:?}  max {:?}\n", at(50), at(99), at(100));
    std::io::stderr().write_all(line.as_bytes()).expect("told");
}
