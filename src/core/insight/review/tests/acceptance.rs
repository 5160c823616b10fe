//! An acceptance is a change: it is recorded, and undone and redone like any other.

use std::fs;

use super::{Fixture, numbered};
use crate::core::change::Direction;
use crate::core::change::history::{Author, ChangeVerb, Origin};
use crate::core::insight::review::{
    Attributions, Item, ItemChange, WrittenLines, annotate, attributed,
};
use crate::core::text::diff::Replacement;

/// The paths that wait, with the text of their hunks.
fn shown(fixture: &Fixture) -> Vec<(String, ItemChange, Vec<String>)> {
    let item = |item: Item| {
        let hunks = item.hunks.into_iter().map(|hunk| hunk.text);
        (item.path, item.change, hunks.collect())
    };
    let mut shown: Vec<_> = fixture.queue().into_iter().map(item).collect();
    shown.sort_by(|a, b| a.0.cmp(&b.0));
    shown
}

#[test]
fn what_was_accepted_waits_again_after_undo_and_not_after_redo() {
    let fixture = Fixture::new(&[
        ("a.md", "one\n"),
        ("gone.md", "two\n"),
        ("old.md", &numbered(9)),
    ]);
    let at = |name: &str| fixture.root().join(name);
    fixture.write_outside("a.md", "one\nand more\n");
    fixture.write_outside("new.md", "new\n");
    fs::remove_file(at("gone.md")).expect("removes");
    fs::rename(at("old.md"), at("renamed.md")).expect("renames");
    fixture.observe();
    let id = fixture.queue()[0].id.clone();
    let (chosen, moment) = (super::selection(&[&id]), fixture.moment());
    annotate(
        &fixture.history,
        &fixture.store,
        &chosen,
        "look again",
        &moment,
    )
    .expect("notes");
    let (queue, files) = (fixture.queue(), fixture.files());
    assert_eq!(queue.len(), 4);
    fixture.accept(&["all"]);
    assert_eq!(fixture.queue(), []);
    let record = fixture.history.records().expect("reads").pop();
    let record = record.expect("the acceptance is recorded");
    assert_eq!((record.verb, record.files.len()), (ChangeVerb::Accept, 4));
    fixture.replay(Direction::Back);
    assert_eq!(fixture.queue(), queue, "exactly what waited before");
    fixture.replay(Direction::Forward);
    assert_eq!(fixture.queue(), []);
    fixture.replay(Direction::Back);
    assert_eq!(fixture.queue(), queue);
    assert_eq!(fixture.files(), files, "no file was written");
    assert_eq!(fixture.observe().records, []);
}

#[test]
fn an_accepted_hunk_waits_again_beside_the_others() {
    let text = numbered(30);
    let fixture = Fixture::new(&[("a.md", &text)]);
    let changed = text
        .replace("line 2\n", "second\n")
        .replace("line 28\n", "last but two\n");
    fixture.write_outside("a.md", &changed);
    fixture.observe();
    let before = shown(&fixture);
    let id = fixture.queue()[0].hunks[0].id.clone();
    fixture.accept(&[&id]);
    assert_eq!(fixture.queue()[0].hunks.len(), 1);
    // What is written in between stays what it is.
    fixture.write_outside("b.md", "new\n");
    fixture.observe();
    fixture.replay(Direction::Back);
    let after = shown(&fixture);
    assert_eq!(after[..1], before[..]);
    assert_eq!(after[1].0, "b.md");
}

#[test]
fn a_line_is_accepted_or_reverted_alone_and_nothing_else_changes() {
    let text = "a\none\ntwo\nz\n";
    let new = "a\nfirst\nsecond\nthird\nz\n";
    let lines = [
        ("a\nfirst\ntwo\nz\n", "a\none\nsecond\nthird\nz\n"),
        ("a\none\nsecond\nz\n", "a\nfirst\ntwo\nthird\nz\n"),
        ("a\none\ntwo\nthird\nz\n", "a\nfirst\nsecond\nz\n"),
    ];
    for (at, (accepted, reverted)) in lines.into_iter().enumerate() {
        let fixture = Fixture::new(&[("a.md", text)]);
        fixture.write_outside("a.md", new);
        fixture.observe();
        let part = |fixture: &Fixture| {
            let parts = fixture.queue()[0].hunks[0].changed_lines();
            assert_eq!(parts.len(), 3, "a line with its replacement is one");
            parts[at].id.clone()
        };
        fixture.accept(&[&part(&fixture)]);
        assert_eq!(fixture.files()["a.md"], new, "to accept writes nothing");
        fixture.revert(&["all"]);
        assert_eq!(fixture.files()["a.md"], accepted, "what was accepted stays");
        fixture.replay(Direction::Back);
        fixture.replay(Direction::Back);
        fixture.revert(&[&part(&fixture)]);
        assert_eq!(fixture.files()["a.md"], reverted);
        let waiting = fixture.queue()[0].hunks[0].changed_lines().len();
        assert_eq!(waiting, 2, "the other lines still wait");
        fixture.replay(Direction::Back);
        part(&fixture);
    }
}

/// Reverts what a session wrote of a difference, and then, from the same text, what others did. The
/// first lines of it, as numbers of old and of new ones, are of the session.
fn revert_each(old: &str, new: &str, (removed, added): (usize, usize)) -> [String; 2] {
    let author = Author {
        who: "codex".to_owned(),
        door: "files".to_owned(),
    };
    let origin = Origin {
        session: "s1".to_owned(),
        citation: None,
    };
    [true, false].map(|is_session| {
        let fixture = Fixture::new(&[("a.md", old)]);
        fixture.write_outside("a.md", new);
        fixture.observe();
        let queue = fixture.queue();
        let hunk = queue[0].hunks[0].clone();
        let [whole] = hunk.replacements.as_slice() else {
            panic!("{hunk:?}");
        };
        let lines = |old, new| Replacement { old, new };
        let parts = vec![
            WrittenLines {
                lines: lines(0..removed, 0..added),
                by: Some((author.clone(), origin.clone())),
            },
            WrittenLines {
                lines: lines(removed..whole.old.len(), added..whole.new.len()),
                by: None,
            },
        ];
        let items = attributed(queue, &Attributions::from([(hunk.id, parts)]));
        let of_session = |item: &&Item| item.origin.is_some() == is_session;
        let item = items.iter().find(of_session).expect("an item of each");
        let ids = item.ids();
        fixture.revert(&[&ids[0]]);
        assert_eq!(ids.len(), 1);
        fixture.files()["a.md"].clone()
    })
}

#[test]
fn neighbouring_lines_of_two_writers_are_reverted_where_they_stand() {
    let several = revert_each("a\n5\n6\n7\n8\nz\n", "a\nO\nP\nS\nz\n", (2, 2));
    assert_eq!(several, ["a\n5\n6\nS\nz\n", "a\nO\nP\n7\n8\nz\n"]);
    let deleted_below = revert_each("a\n5\n6\nz\n", "a\nO\nz\n", (1, 1));
    assert_eq!(deleted_below, ["a\n5\nz\n", "a\nO\n6\nz\n"]);
    let added_above = revert_each("a\n5\nz\n", "a\nX\nO\nz\n", (0, 1));
    assert_eq!(added_above, ["a\nO\nz\n", "a\nX\n5\nz\n"]);
}

#[test]
fn a_removed_line_comes_back_below_the_line_that_replaced_its_neighbour() {
    let fixture = Fixture::new(&[("a.md", "a\n5\n6\nz\n")]);
    fixture.write_outside("a.md", "a\nO\nz\n");
    fixture.observe();
    let lines = fixture.queue()[0].hunks[0].changed_lines();
    assert_eq!(lines.len(), 2);
    fixture.revert(&[&lines[1].id]);
    assert_eq!(fixture.files()["a.md"], "a\nO\n6\nz\n");
}

#[test]
fn lines_whose_last_has_no_end_are_decided_about_together() {
    let fixture = Fixture::new(&[("a.md", "one")]);
    fixture.write_outside("a.md", "one\ntwo");
    fixture.observe();
    let hunk = fixture.queue()[0].hunks[0].clone();
    assert_eq!(hunk.changed_lines(), [hunk.whole()]);
}

#[test]
fn acceptances_are_undone_one_after_the_other() {
    let fixture = Fixture::new(&[("a.md", "one\n")]);
    for text in ["one\ntwo\n", "one\ntwo\nthree\n"] {
        fixture.write_outside("a.md", text);
        fixture.observe();
        fixture.accept(&["all"]);
    }
    fixture.replay(Direction::Back);
    assert_eq!(shown(&fixture)[0].2, [" one\n two\n+three\n"]);
    fixture.replay(Direction::Back);
    assert_eq!(shown(&fixture)[0].2, [" one\n+two\n+three\n"]);
    fixture.replay(Direction::Forward);
    assert_eq!(shown(&fixture)[0].2, [" one\n two\n+three\n"]);
    fixture.replay(Direction::Forward);
    assert_eq!(shown(&fixture), []);
}

#[test]
fn a_file_that_was_written_again_waits_for_both_after_undo() {
    let fixture = Fixture::new(&[("a.md", "one\n")]);
    fixture.write_outside("a.md", "one\ntwo\n");
    fixture.observe();
    fixture.accept(&["all"]);
    fixture.write_outside("a.md", "one\ntwo\nthree\n");
    fixture.observe();
    assert_eq!(shown(&fixture)[0].2, [" one\n two\n+three\n"]);
    fixture.replay(Direction::Back);
    assert_eq!(shown(&fixture)[0].2, [" one\n+two\n+three\n"]);
    fixture.revert(&["all"]);
    assert_eq!(fixture.files()["a.md"], "one\n");
}
