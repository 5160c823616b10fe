//! Random steps of everybody who writes: nothing waits twice, and nothing is missed.

use std::fs;

use proptest::prelude::*;

use super::{Fixture, selection};
use crate::core::insight::review::{ItemChange, plan_revert};

/// Something that happens to a store.
#[derive(Debug, Clone)]
enum Step {
    Write(usize, String),
    Delete(usize),
    Rename(usize, usize),
    Person(usize, String),
    Agent(usize, String),
    Observe,
    AcceptHunk(usize),
    RevertHunk(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let line = prop::sample::select(vec!["a\n", "b\n", "c\n", "d\r\n", "\n", "e\n", "f\n"]);
    let text = || prop::collection::vec(line.clone(), 1..16).prop_map(|lines| lines.concat());
    prop_oneof![
        4 => (0..4usize, text()).prop_map(|(file, text)| Step::Write(file, text)),
        1 => (0..4usize).prop_map(Step::Delete),
        1 => (0..4usize, 0..4usize).prop_map(|(from, to)| Step::Rename(from, to)),
        2 => (0..4usize, text()).prop_map(|(file, text)| Step::Person(file, text)),
        2 => (0..4usize, text()).prop_map(|(file, text)| Step::Agent(file, text)),
        3 => Just(Step::Observe),
        2 => (0..6usize).prop_map(Step::AcceptHunk),
        2 => (0..6usize).prop_map(Step::RevertHunk),
    ]
}

const NAMES: [&str; 4] = ["a.md", "b.md", "c.md", "d.md"];

fn carry_out(fixture: &Fixture, step: &Step) {
    let path = |file: usize| fixture.root().join(NAMES[file]);
    match step {
        Step::Write(file, text) => fixture.write_outside(NAMES[*file], text),
        Step::Delete(file) => drop(fs::remove_file(path(*file))),
        Step::Rename(from, to) => {
            if !path(*to).exists() {
                drop(fs::rename(path(*from), path(*to)));
            }
        }
        Step::Person(file, text) => fixture.edit("cli", NAMES[*file], text),
        Step::Agent(file, text) => fixture.edit("mcp", NAMES[*file], text),
        Step::Observe => drop(fixture.observe()),
        Step::AcceptHunk(number) | Step::RevertHunk(number) => {
            fixture.observe();
            let hunks = fixture.queue().into_iter().flat_map(|item| {
                let whole = item.hunks.is_empty().then(|| item.id.clone());
                whole
                    .into_iter()
                    .chain(item.hunks.into_iter().map(|hunk| hunk.id))
            });
            if let Some(id) = hunks.collect::<Vec<_>>().get(*number) {
                match step {
                    Step::AcceptHunk(_) => fixture.accept(&[id]),
                    // A renamed file may have lost its old name to another one.
                    _ => drop(
                        plan_revert(
                            &fixture.history,
                            &fixture.store,
                            &selection(&[id]),
                            &fixture.moment(),
                        )
                        .map(|_| fixture.revert(&[id])),
                    ),
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn every_difference_waits_exactly_once_whatever_happens(
        steps in prop::collection::vec(step(), 1..14)
    ) {
        let fixture = Fixture::new(&[("a.md", "a\nb\nc\n"), ("b.md", "d\r\ne\n")]);
        for step in &steps {
            carry_out(&fixture, step);
        }
        fixture.observe();
        // The hunks of a file, applied to its accepted text, make its current text.
        let files = fixture.files();
        for item in fixture.queue() {
            let hunks: usize = item.hunks.len();
            prop_assert!(hunks > 0 || item.change == ItemChange::Renamed || files.get(&item.path).is_some_and(String::is_empty));
        }
        // What one observation saw, another need not see.
        prop_assert_eq!(fixture.observe().records, []);
        // Accepting all of it in any order of hunks empties the queue and writes nothing.
        let mut rounds = 0;
        while let Some(item) = fixture.queue().pop() {
            let id = item.hunks.last().map_or(item.id.clone(), |hunk| hunk.id.clone());
            fixture.accept(&[&id]);
            rounds += 1;
            prop_assert!(rounds < 200, "{:?}", fixture.queue());
        }
        prop_assert_eq!(fixture.files(), files.clone());
        // What is written after that and reverted leaves exactly the accepted bytes.
        fixture.write_outside("a.md", "x\na\ny\n");
        drop(fs::remove_file(fixture.root().join("b.md")));
        fixture.observe();
        if !fixture.queue().is_empty() {
            fixture.revert(&["all"]);
        }
        let (mut now, mut then) = (fixture.files(), files);
        // A generated index is generated again by every change.
        now.remove("MEMORY.md");
        then.remove("MEMORY.md");
        prop_assert_eq!(now, then);
        prop_assert_eq!(fixture.queue(), []);
    }
}
