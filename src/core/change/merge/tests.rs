//! Tests of merging: links, indexes, headers, several stores, undo.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::*;
use crate::core::change::history::History;
use crate::core::change::{Author, Direction, plan_and_commit, replay};
use crate::core::insight::curate::tests::broken_links;

fn store(at: &Path, name: &str, files: &[(&str, &str, &str)]) -> Store {
    let root = at.join(name);
    fs::create_dir_all(&root).expect("a folder");
    let mut index = "# Memory\n\n## Project\n".to_owned();
    for (file, title, body) in files {
        let text = format!(
            "---\nname: {title}\ndescription: about {title}\ntype: project\n---\n\n{body}\n"
        );
        fs::write(root.join(file), text).expect("writes");
        index.push_str(&format!("- [{title}]({file}) - about {title}\n"));
    }
    fs::write(root.join("MEMORY.md"), index).expect("writes");
    Store::open(name, &root, Some(Layout::Index)).expect("opens")
}

fn files(at: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for folder in fs::read_dir(at).expect("there").flatten() {
        if folder.file_name() == "history" {
            continue;
        }
        for file in fs::read_dir(folder.path()).expect("there").flatten() {
            all.insert(file.path(), fs::read(file.path()).expect("reads"));
        }
    }
    all
}

/// Merges everything that the memories say.
fn merge_all(into: MemoryAt<'_>, others: &[MemoryAt<'_>]) -> Result<Change> {
    let texts = MergeTexts::read(into, others, &ChangeContext::test().moment)?;
    let seen = others.iter().copied().zip(texts.revisions.iter().copied());
    let seen: Vec<_> = seen.collect();
    plan_merge(
        into,
        &seen,
        &texts.text(&texts.union()),
        &ChangeContext::test(),
    )
}

fn commit(at: &Path, change: Change) -> (History, crate::core::change::history::Record) {
    let history = History::open(&at.join("history"));
    let author = Author::test();
    let context = ChangeContext::test();
    let roots: Vec<PathBuf> = change
        .roots()
        .iter()
        .map(|root| (*root).to_owned())
        .collect();
    let roots: Vec<&Path> = roots.iter().map(PathBuf::as_path).collect();
    let made = plan_and_commit(&history, &roots, &author, &context.moment, || {
        Ok::<_, Error>(change.clone())
    });
    let record = made.expect("commits").record.expect("a change");
    (history, record)
}

fn undo(history: &History, record: &crate::core::change::history::Record) {
    let author = Author::test();
    let moment = ChangeContext::test().moment;
    plan_and_commit(history, &record.roots(), &author, &moment, || {
        replay(history, record, Direction::Back, &moment)
    })
    .expect("undoes");
}

#[test]
fn links_and_the_index_follow_to_the_memory_that_stays_and_an_undo_gives_every_byte_back() {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let one = store(
        temp.path(),
        "one",
        &[
            (
                "testing.md",
                "Testing",
                "Run make test.\n\nSee [rules](rules.md).",
            ),
            (
                "tests.md",
                "Tests",
                "Run make test.\n\nNever on Friday. See [itself](tests.md).",
            ),
            (
                "rules.md",
                "Rules",
                "[t](tests.md#part), [[Tests]], [[tests]] and [[Testing]]",
            ),
        ],
    );
    let before = files(temp.path());
    let change = merge_all((&one, "testing.md"), &[(&one, "tests.md")]).expect("plans");
    assert_eq!(change.verb, ChangeVerb::Merge);
    let (history, record) = commit(temp.path(), change);
    let read = |file: &str| fs::read_to_string(one.root().path().join(file)).unwrap_or_default();
    assert_eq!(
        read("testing.md"),
        "---\nname: Testing\ndescription: about Testing\ntype: project\nupdated: 2026-02-12\n---\n\nRun make test.\n\nSee [rules](rules.md).\n\nNever on Friday. See [itself](testing.md).\n"
    );
    assert_eq!(read("tests.md"), "");
    assert!(
        read("rules.md")
            .ends_with("[t](testing.md#part), [[Testing]], [[testing]] and [[Testing]]\n")
    );
    let index = read("MEMORY.md");
    assert!(
        index.contains("(testing.md)") && !index.contains("tests.md"),
        "{index}"
    );
    assert_eq!(broken_links(&one), [] as [String; 0]);
    undo(&history, &record);
    assert_eq!(files(temp.path()), before);
}

#[test]
fn the_line_that_was_written_for_the_index_stays() {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let files = [("a.md", "A", "alpha"), ("b.md", "B", "beta")];
    let one = store(temp.path(), "one", &files);
    let index = one.root().path().join("MEMORY.md");
    let text = "# Mine\n\n- [A](a.md) - about A\n- [B](b.md) - read before a release\n";
    for (into, other, expected) in [
        ("a.md", "b.md", "- [A](a.md) - read before a release\n"),
        ("b.md", "a.md", "- [B](b.md) - read before a release\n"),
    ] {
        fs::write(&index, text).expect("writes");
        let change = merge_all((&one, into), &[(&one, other)]).expect("plans");
        let edit = change.edits.iter().find(|edit| edit.path == "MEMORY.md");
        let after = edit.and_then(|edit| edit.after.clone()).expect("an index");
        let after = String::from_utf8_lossy(&after).into_owned();
        assert_eq!(after, format!("# Mine\n\n{expected}"));
    }
}

#[test]
fn a_memory_of_another_store_is_merged_and_its_links_lead_across() {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let one = store(temp.path(), "one", &[("a.md", "A", "alpha")]);
    let two = store(
        temp.path(),
        "two",
        &[
            ("b.md", "B", "beta, see [c](c.md)"),
            ("c.md", "C", "to [b](b.md) and [[B]]"),
        ],
    );
    let before = files(temp.path());
    let change = merge_all((&one, "a.md"), &[(&two, "b.md")]).expect("plans");
    let (history, record) = commit(temp.path(), change);
    let read = |file: &str| fs::read_to_string(temp.path().join(file)).unwrap_or_default();
    assert!(read("one/a.md").ends_with("alpha\n\nbeta, see [c](../two/c.md)\n"));
    assert!(read("two/c.md").ends_with("to [b](../one/a.md) and [B](../one/a.md)\n"));
    assert!(!read("two/MEMORY.md").contains("b.md"));
    undo(&history, &record);
    assert_eq!(files(temp.path()), before);
}

#[test]
fn what_was_changed_since_it_was_read_is_not_merged_away() {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let one = store(
        temp.path(),
        "one",
        &[("a.md", "A", "a"), ("b.md", "B", "b")],
    );
    let (into, other) = ((&one, "a.md"), (&one, "b.md"));
    let texts = MergeTexts::read(into, &[other], &ChangeContext::test().moment).expect("reads");
    fs::write(one.root().path().join("b.md"), "newer\n").expect("writes");
    let seen = [(other, texts.revisions[0])];
    let error = plan_merge(
        into,
        &seen,
        &texts.text(&texts.union()),
        &ChangeContext::test(),
    );
    let error = error.expect_err("is refused").to_string();
    assert!(
        error.contains("b.md") && error.contains("merge them again"),
        "{error}"
    );
    let own = [(into, Revision::of(texts.base.as_bytes()))];
    assert!(
        plan_merge(into, &own, "x", &ChangeContext::test()).is_err(),
        "not with itself"
    );
}

#[test]
fn a_missing_description_comes_from_the_others() {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let one = store(temp.path(), "one", &[("b.md", "B", "b")]);
    fs::write(
        one.root().path().join("a.md"),
        "---\nname: A\ntype: user\nextra: kept\n---\n\na\n",
    )
    .expect("writes");
    let texts = MergeTexts::read(
        (&one, "a.md"),
        &[(&one, "b.md")],
        &ChangeContext::test().moment,
    );
    let head = texts.expect("reads").head;
    assert!(
        head.contains("name: A\n") && head.contains("type: user\n"),
        "{head}"
    );
    assert!(head.contains("extra: kept\n"), "{head}");
    assert!(head.contains("description: about B\n"), "{head}");
}

fn body() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "alpha",
        "beta\n",
        "\n- item",
        "\n\n",
        "[x](0.md)",
        "[y](1.md#part)",
        "[[T2]]",
        "[[1]]",
        "## Head\n",
        "`code`",
        "[z](2.md)",
    ]);
    prop::collection::vec(piece, 0..10).prop_map(|pieces| pieces.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_link_resolves_nothing_is_lost_and_an_undo_gives_every_byte_back(
        bodies in prop::collection::vec(body(), 4),
        into in 0_usize..4,
        count in 1_usize..3,
    ) {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let names: Vec<(String, String)> =
            (0..4).map(|n| (format!("{n}.md"), format!("T{n}"))).collect();
        let given: Vec<(&str, &str, &str)> = names
            .iter()
            .zip(&bodies)
            .map(|((file, title), body)| (file.as_str(), title.as_str(), body.as_str()))
            .collect();
        let one = store(temp.path(), "one", &given);
        let before = files(temp.path());
        let others: Vec<MemoryAt<'_>> = (1..=count)
            .map(|step| (&one, given[(into + step) % 4].0))
            .collect();
        let change = merge_all((&one, given[into].0), &others).expect("plans");
        let (history, record) = commit(temp.path(), change);
        prop_assert_eq!(broken_links(&one), [] as [String; 0]);
        let memories = one.list().expect("lists");
        let known = |name: &str| {
            memories.iter().any(|memory| memory.title == name || stem(&memory.path) == name)
        };
        for memory in &memories {
            let text = one.text(&memory.path).expect("reads").expect("there");
            for found in link::links(&text) {
                let is_wiki = found.form == LinkSyntax::Wiki;
                prop_assert!(!is_wiki || known(&found.target), "{} in {text}", found.target);
            }
        }
        let merged = one.text(given[into].0).expect("reads").expect("there");
        for step in 0..=count {
            // Links are led elsewhere; every other word stays.
            let body = given[(into + step) % 4].2;
            for word in body.split_whitespace().filter(|word| !word.contains('[')) {
                prop_assert!(merged.contains(word), "{word} is not in {merged}");
            }
        }
        undo(&history, &record);
        prop_assert_eq!(files(temp.path()), before);
    }
}
