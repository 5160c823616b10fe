//! What the screens look like, styles included.

use std::sync::Arc;

use super::{AUTH, Bench, moment};
use crate::core::change::{Asking, Author, Wish, commit, plan};
use crate::core::discover::Looked;
use crate::core::history::History;
use crate::tui::effect::Effect;
use crate::tui::event::Event;
use crate::tui::theme::Background;

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

#[test]
fn looks_of_nothing_and_the_way_to_the_sample() {
    let mut bench = Bench::sized(60, 16, Background::Dark);
    assert_eq!(bench.press("x"), [], "there is something to see here");
    bench.app.looked(vec![Looked {
        whose: "codex",
        places: vec![
            "~/.codex/memories".to_owned(),
            "~/.codex/sessions-of-old".to_owned(),
        ],
    }]);
    bench.tell(Event::Elapsed);
    bench.tell(Event::Indexed(Arc::default()));
    insta::assert_snapshot!("nothing", bench.styled());
    assert_eq!(bench.press("x"), [Effect::Demo]);
}
