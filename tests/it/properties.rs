//! For any content: opening and saving without an edit changes nothing, and undo restores the exact
//! bytes.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use proptest::prelude::*;

use tome::core::Error;
use tome::core::change::{ChangeRequest, Direction, commit, replay};
use tome::core::memory::layout::{Fields, Layout, Matching, Patch};

use crate::store::{TestStore, author, change_context};
use crate::support::tree;

impl TestStore {
    fn replay_last(&self, direction: Direction) -> bool {
        let history = self.history();
        let root = self.store().root().path().to_owned();
        let roots: [&Path; 1] = [&root];
        let record = match direction {
            Direction::Back => history.undoable(&roots),
            Direction::Forward => history.redoable(&roots),
        };
        let Some(record) = record.expect("readable") else {
            return false;
        };
        let moment = change_context().moment;
        let change = replay(&history, &record, direction, &moment).expect("fits");
        commit(&history, &change, &author(), &moment).expect("made");
        true
    }
}

/// The path of a memory in each layout.
fn place(layout: Layout) -> &'static str {
    match layout {
        Layout::Session => "detail/a.md",
        Layout::Facts => "facts/a.md",
        Layout::Index | Layout::Entries => "a.md",
        Layout::Coder => "semantic/a.md",
        Layout::Events | Layout::Instructions => "CLAUDE.md",
    }
}

const LAYOUTS: [Layout; 6] = [
    Layout::Index,
    Layout::Entries,
    Layout::Facts,
    Layout::Session,
    Layout::Coder,
    Layout::Instructions,
];

/// Realistic text: headers whole and broken, any line ending, odd characters.
fn any_text() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        Just("---".to_owned()),
        Just("name: A # b: c".to_owned()),
        Just("metadata: ".to_owned()),
        Just("  type: feedback".to_owned()),
        Just("updated: 2020-01-01".to_owned()),
        Just("# Title".to_owned()),
        Just("> Summary: a, b".to_owned()),
        Just("## Entry".to_owned()),
        Just("- Summary: of the entry".to_owned()),
        Just("- [x](x.md) — hook".to_owned()),
        Just("**Title:** t".to_owned()),
        Just("<!-- META:".to_owned()),
        "[ -~éß漢\u{2028}\t]{0,20}",
    ];
    let ending = prop_oneof![Just("\n"), Just("\r\n"), Just("\r"), Just("")];
    (any::<bool>(), prop::collection::vec((line, ending), 0..12)).prop_map(|(bom, lines)| {
        let mut text = if bom {
            "\u{feff}".to_owned()
        } else {
            String::new()
        };
        for (line, ending) in lines {
            text.push_str(&line);
            text.push_str(ending);
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn opened_and_saved_unchanged_is_byte_identical(text in any_text(), layout in prop::sample::select(&LAYOUTS[..])) {
        let bench = TestStore::new(layout);
        let store = bench.store();
        let path = place(layout);
        let file = bench.root().join(store.rules().file_of(path));
        fs::create_dir_all(file.parent().expect("a parent")).expect("folders");
        fs::write(&file, &text).expect("a file");
        let before = tree(&bench.root());
        store.list().expect("lists");
        let seen = store.read(path).expect("reads");
        prop_assert_eq!(&seen.bytes, text.as_bytes());
        let text = String::from_utf8(seen.bytes).expect("text");
        let made = bench.try_make(&ChangeRequest::Edit { path: path.to_owned(), text }).expect("saves");
        prop_assert!(!made);
        prop_assert_eq!(tree(&bench.root()), before);
    }

    #[test]
    fn bytes_that_are_not_text_are_refused_and_left(bytes in prop::collection::vec(any::<u8>(), 1..200), layout in prop::sample::select(&LAYOUTS[..])) {
        let mut bytes = bytes;
        bytes.push(0xff);
        let bench = TestStore::new(layout);
        let path = place(layout);
        let file = bench.root().join(bench.store().rules().file_of(path));
        fs::create_dir_all(file.parent().expect("a parent")).expect("folders");
        fs::write(&file, &bytes).expect("a file");
        bench.store().list().expect("lists");
        let patch = ChangeRequest::Patch { path: path.to_owned(), patches: vec![Patch { old: "a".to_owned(), new: "b".to_owned() }], matching: Matching::Unique };
        let refused = matches!(bench.try_make(&patch), Err(Error::NotText { .. }));
        prop_assert!(refused);
        prop_assert_eq!(fs::read(&file).expect("there"), bytes);
    }

    #[test]
    fn a_patch_changes_its_span_alone_and_undo_gives_back_the_bytes(
        text in any_text(), at in any::<prop::sample::Index>(), new in "[a-z\n$&\\\\]{0,9}", layout in prop::sample::select(&LAYOUTS[..]),
    ) {
        let chars: Vec<(usize, char)> = text.char_indices().collect();
        prop_assume!(!chars.is_empty());
        let (start, _) = chars[at.index(chars.len())];
        // A span that starts inside a line ending is not realistic.
        prop_assume!(!(text[start..].starts_with('\n') && text[..start].ends_with('\r')));
        let end = chars.iter().map(|(i, _)| *i).filter(|i| *i > start).nth(3).unwrap_or(text.len());
        let bench = TestStore::new(layout);
        let path = place(layout);
        let file = bench.root().join(bench.store().rules().file_of(path));
        fs::create_dir_all(file.parent().expect("a parent")).expect("folders");
        fs::write(&file, &text).expect("a file");
        let before = tree(&bench.root());
        let old = text[start..end].to_owned();
        let request = ChangeRequest::Patch { path: path.to_owned(), patches: vec![Patch { old: old.clone(), new: new.clone() }], matching: Matching::First };
        match bench.try_make(&request) {
            Ok(true) => {
                let found = text.find(&old).expect("there");
                // New lines get the line ending of the file if it has only one kind.
                let only_crlf = text.contains('\n') && text.matches('\n').count() == text.matches("\r\n").count();
                let new = if only_crlf { new.replace('\n', "\r\n") } else { new };
                let expected = format!("{}{new}{}", &text[..found], &text[found + old.len()..]);
                let stamped = fs::read_to_string(&file).expect("text").replace("2026-11-15", "2020-01-01");
                let expected_stamped = expected.replace("2026-11-15", "2020-01-01");
                if layout == Layout::Facts && expected.contains("- Summary:") {
                    prop_assert!(stamped.contains(&new));
                } else {
                    prop_assert_eq!(stamped, expected_stamped);
                }
                bench.replay_last(Direction::Back);
            }
            Ok(false) => {}
            Err(error) => {
                let repeated = matches!(error, Error::TextRepeated { .. });
                prop_assert!(repeated, "{error}");
            }
        }
        prop_assert_eq!(tree(&bench.root()), before);
    }
}

/// A random request for one of a few files.
fn any_request(layout: Layout) -> impl Strategy<Value = ChangeRequest> {
    let names: Vec<String> = ["a", "b", "c"]
        .iter()
        .map(|name| place(layout).replace("a.md", &format!("{name}.md")))
        .chain((layout == Layout::Coder).then(|| "semantic/topic/d.md".to_owned()))
        .collect();
    let path = prop::sample::select(names.clone());
    let fields = prop::sample::select(vec!["user", "project"]).prop_map(move |category| Fields {
        name: Some("Name".to_owned()),
        category: (layout == Layout::Index).then(|| category.to_owned()),
        tags: vec!["t".to_owned()],
        ..Fields::default()
    });
    prop_oneof![
        (path.clone(), "[a-z \n#-]{0,30}", fields.clone()).prop_map(|(path, content, fields)| {
            ChangeRequest::Write {
                path,
                content,
                fields,
            }
        }),
        (path.clone(), "## [a-z]{3}\n- Summary: [a-z]{3}\n", fields).prop_map(
            |(path, entry, fields)| ChangeRequest::Append {
                path,
                entry,
                fields
            }
        ),
        (path.clone(), "[a-e]", "[a-z]{0,4}").prop_map(|(path, old, new)| ChangeRequest::Patch {
            path,
            patches: vec![Patch { old, new }],
            matching: Matching::First,
        }),
        prop::collection::vec(path.clone(), 1..3).prop_map(|paths| ChangeRequest::Delete { paths }),
        (path, prop::sample::select(names))
            .prop_map(|(from, to)| ChangeRequest::Rename { from, to }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn any_changes_and_as_many_undos_restore_the_store(
        (layout, wishes) in prop::sample::select(&LAYOUTS[..4])
            .prop_flat_map(|layout| (Just(layout), prop::collection::vec(any_request(layout), 1..12))),
        hand_written in any::<bool>(),
    ) {
        let bench = TestStore::new(layout);
        if hand_written && layout == Layout::Index {
            fs::write(bench.root().join("MEMORY.md"), "# Mine\r\n\r\n* [[a]] : x\r\nend").expect("a file");
        }
        let mut states: Vec<BTreeMap<String, Vec<u8>>> = vec![tree(&bench.root())];
        for request in &wishes {
            if bench.try_make(request).unwrap_or(false) {
                states.push(tree(&bench.root()));
            } else {
                prop_assert_eq!(Some(&tree(&bench.root())), states.last(), "refused, so unchanged");
            }
        }
        for state in states.iter().rev().skip(1) {
            prop_assert!(bench.replay_last(Direction::Back));
            prop_assert_eq!(&tree(&bench.root()), state);
        }
        prop_assert!(!bench.replay_last(Direction::Back));
        for state in states.iter().skip(1) {
            prop_assert!(bench.replay_last(Direction::Forward));
            prop_assert_eq!(&tree(&bench.root()), state);
        }
    }
}
