//! Indexes and READMEs: generated ones are generated again, hand-written ones are edited by line.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use proptest::prelude::*;

use tome::core::change::history::History;
use tome::core::change::{ChangeRequest, Direction, commit, plan, replay};
use tome::core::memory::layout::{Fields, IndexUpdate, Layout, Matching, Patch, View, index};

use crate::store::{
    TestStore, append, author, change_context, delete, named, patch, rename, typed, write,
};
use crate::support::{Home, ends, has, json_of, lacks, starts, today};

/// A store that is changed through the core.
impl TestStore {
    fn make(&self, request: &ChangeRequest) {
        self.try_make(request).expect("made");
    }

    /// Undoes one of the changes made so far, counted from 0.
    fn undo(&self, number: usize) {
        let (history, moment) = (self.history(), change_context().moment);
        let records = history.records().expect("readable");
        let change = replay(&history, &records[number], Direction::Back, &moment);
        commit(&history, &change.expect("plans"), &author(), &moment).expect("commits");
    }

    fn write(&self, name: &str, category: &str, description: &str) {
        self.make(&ChangeRequest::Write {
            path: name.to_owned(),
            content: "body".to_owned(),
            fields: Fields {
                name: Some(format!("The {name}")),
                description: Some(description.to_owned()),
                category: Some(category.to_owned()),
                ..Fields::default()
            },
        });
    }

    /// Brings the index up to date.
    fn repair(&self) {
        self.make(&ChangeRequest::Index(IndexUpdate::Repair));
    }

    /// Returns what is said of a change that is refused.
    fn refused(&self, request: &ChangeRequest) -> String {
        let refused = plan(&self.store(), request, &change_context());
        refused.expect_err("refused").to_string()
    }

    fn index(&self) -> String {
        self.read("MEMORY.md")
    }

    /// Sets the modification time of a file to this many seconds from now.
    fn touch(&self, name: &str, seconds: u64) {
        later(&self.root().join(name), seconds);
    }
}

fn later(path: &Path, seconds: u64) {
    let file = fs::File::options().append(true).open(path).expect("opens");
    let time = SystemTime::now() + Duration::from_secs(seconds);
    file.set_modified(time).expect("a time");
}

fn memory(name: &str, description: &str, category: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\ntype: {category}\n---\n\nbody\n")
}

/// A change to a file that is made without tome.
#[derive(Debug, Clone)]
enum Outside {
    Write(String, String),
    Delete(String),
}

fn any_name() -> impl Strategy<Value = String> {
    "[a-f( é#]{1,2}".prop_map(|stem| format!("{stem}x.md"))
}

fn any_description() -> impl Strategy<Value = String> {
    "[a-z\\[\\]()#:—-][a-z \\[\\]()<>*_`#:—-]{0,14}"
}

fn any_memory() -> impl Strategy<Value = String> {
    let category = prop::sample::select(vec!["user", "feedback", "project", "reference", "else"]);
    let headed = (any_description(), any_description(), category)
        .prop_map(|(name, description, category)| memory(&name, &description, category));
    prop_oneof![4 => headed, 1 => Just("no header\n".to_owned())]
}

fn any_outside() -> impl Strategy<Value = Outside> {
    prop_oneof![
        (any_name(), any_memory()).prop_map(|(name, text)| Outside::Write(name, text)),
        any_name().prop_map(Outside::Delete),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_generated_index_is_made_anew_whatever_was_done_to_the_files_meanwhile(
        files in prop::collection::vec((any_name(), any_memory()), 0..6),
        outside in prop::collection::vec(any_outside(), 0..6),
        last in 0..3_u8,
    ) {
        let bench = TestStore::new(Layout::Index);
        for (name, text) in &files {
            bench.file(name, text);
        }
        bench.write("first.md", "user", "the first");
        prop_assert_eq!(bench.index(), index::generate_index(&bench.store().list().expect("lists")));
        for act in &outside {
            match act {
                Outside::Write(name, text) => {
                    bench.file(name, text);
                    bench.touch(name, 10);
                }
                Outside::Delete(name) => drop(fs::remove_file(bench.root().join(name))),
            }
        }
        match last {
            0 => bench.write("last.md", "project", "the last"),
            1 => bench.make(&delete(&["first.md"])),
            _ => bench.make(&rename("first.md", "renamed one.md")),
        }
        prop_assert_eq!(bench.index(), index::generate_index(&bench.store().list().expect("lists")));
    }

    #[test]
    fn of_an_index_that_somebody_wrote_one_line_changes(
        before in "(# [A-Z][a-z]{0,5}\n|[a-z ]{0,9}\n|\n){0,5}",
        after in "(## [A-Z][a-z]{0,5}\n|[a-z][a-z ]{0,8}\n|\n){0,5}",
        bullet in prop::sample::select(vec!["- [A](a.md) — mine\n", "* [[a]]: mine\n", "- **[A](./a.md)** – mine\n"]),
    ) {
        let hand = format!("Mine\n{before}{bullet}{after}");
        let bench = TestStore::new(Layout::Index);
        bench.file("a.md", &memory("A", "d", "user"));
        bench.file("MEMORY.md", &hand);
        bench.write("new.md", "user", "added");
        let text = bench.index();
        let added: Vec<&str> = text.lines().filter(|line| line.contains("added")).collect();
        prop_assert_eq!(added.len(), 1, "{}", text);
        prop_assert_eq!(text.replace(&format!("{}\n", added[0]), ""), hand.as_str());
        bench.make(&ChangeRequest::Delete { paths: vec!["new.md".to_owned()] });
        prop_assert_eq!(bench.index(), hand.as_str());
        bench.make(&ChangeRequest::Delete { paths: vec!["a.md".to_owned()] });
        prop_assert_eq!(bench.index(), hand.replace(bullet, ""));
    }
}

#[test]
fn a_generated_index_lists_what_came_and_went_by_other_hands() {
    let home = Home::new();
    let write = |name: &str, kind: &str| {
        home.ok(&format!(
            "--store ./.memory write {name} --type {kind} --content x"
        ));
    };
    write("a.md", "user");
    home.memory("b.md", memory("B", "by hand", "feedback"));
    write("c.md", "project");
    assert_eq!(
        home.read_memory("MEMORY.md"),
        "# Memory\n\n## User\n- [a](a.md) - x\n\n## Feedback\n- [B](b.md) - by hand\n\n## Project\n- [c](c.md) - x\n"
    );
    fs::remove_file(home.project().join(".memory/a.md")).expect("removed");
    write("d.md", "project");
    assert_eq!(
        home.read_memory("MEMORY.md"),
        "# Memory\n\n## Feedback\n- [B](b.md) - by hand\n\n## Project\n- [c](c.md) - x\n- [d](d.md) - x\n"
    );
    home.ok("index --check");
}

#[test]
fn words_that_a_person_gave_a_line_of_a_generated_index_stay() {
    let bench = TestStore::new(Layout::Index);
    bench.write("a.md", "user", "as the file says");
    bench.write("b.md", "user", "b");
    let reworded = bench.index().replace("as the file says", "in my words");
    bench.file("MEMORY.md", &reworded);
    bench.write("c.md", "project", "c");
    let with_c = format!("{reworded}\n## Project\n- [The c.md](c.md) - c\n");
    assert_eq!(bench.index(), with_c);
    bench.repair();
    assert_eq!(bench.index(), with_c);
    bench.make(&rename("a.md", "z.md"));
    has(bench.index(), ["- [The a.md](z.md) - in my words\n"]);
    // The title was tome's, the words after it are a person's.
    bench.file("z.md", &memory("Z", "something else", "user"));
    bench.touch("z.md", 10);
    bench.write("d.md", "project", "d");
    has(bench.index(), ["- [Z](z.md) - in my words\n"]);
}

#[test]
fn a_line_that_tome_worded_follows_the_header_whenever_the_files_were_written() {
    for seconds in [0, 60] {
        let bench = TestStore::new(Layout::Index);
        bench.write("a.md", "user", "first words");
        bench.file("a.md", &memory("The a.md", "second words", "user"));
        bench.touch("MEMORY.md", seconds);
        bench.write("b.md", "user", "b");
        has(bench.index(), ["- [The a.md](a.md) - second words\n"]);
        // What a change has only kept was not worded by it.
        let mine = bench.index().replace("second words", "in my words");
        bench.file("MEMORY.md", &mine);
        bench.make(&delete(&["b.md"]));
        bench.undo(2);
        bench.file("a.md", &memory("The a.md", "third words", "user"));
        bench.repair();
        has(bench.index(), ["- [The a.md](a.md) - in my words\n"]);
    }
}

#[test]
fn a_hand_written_index_is_added_to_and_a_generated_one_is_not() {
    let bench = TestStore::new(Layout::Index);
    let add = append("MEMORY.md", "\n## Facts\nPort 7.\n");
    bench.try_make(&add).expect_err("none yet");
    bench.write("a.md", "user", "a");
    has(bench.refused(&add), ["tome generates this file"]);
    bench.file("MEMORY.md", "# Mine\n\n- [A](a.md) — a\n");
    bench.make(&add);
    let whole = "# Mine\n\n- [A](a.md) — a\n\n## Facts\nPort 7.\n";
    assert_eq!(bench.index(), whole);
    has(
        bench.refused(&write("MEMORY.md", "x", Fields::default())),
        ["written by hand"],
    );
}

#[test]
fn a_link_out_of_the_store_keeps_its_line() {
    let line = "- [Shared](shared.md) - of all projects\n";
    for (index, how) in [
        ("# Memory\n\n## User\nLINE", IndexUpdate::Repair),
        ("# Mine\n\nLINE", IndexUpdate::Repair),
        ("# Memory\n\n## User\nLINE", IndexUpdate::Rewrite),
    ] {
        let bench = TestStore::new(Layout::Index);
        let outside = bench.root().with_file_name("shared.md");
        std::os::unix::fs::symlink(&outside, bench.root().join("shared.md")).expect("a link");
        bench.file("MEMORY.md", &index.replace("LINE", line));
        bench.write("a.md", "project", "a");
        bench.make(&ChangeRequest::Index(how));
        has(bench.index(), [line, "(a.md)"]);
        let section = ["## User\n", line].concat();
        assert_eq!(index.contains("## User"), bench.index().contains(&section));
        bench.make(&delete(&["a.md"]));
        has(bench.index(), [line]);
    }
}

#[test]
fn a_memory_that_cannot_be_read_keeps_its_line_in_a_rewritten_index() {
    let bench = TestStore::new(Layout::Index);
    bench.file("a.md", "---\nname: a\n");
    let index = "# Mine\n\n## Feedback\n\n* [My A](a.md) — in my words\n";
    bench.file("MEMORY.md", index);
    bench.make(&ChangeRequest::Index(IndexUpdate::Rewrite));
    let rewritten = "# Memory\n\n## Feedback\n- [My A](a.md) - in my words\n";
    assert_eq!(bench.index(), rewritten);
}

#[test]
fn an_index_of_crlf_lines_stays_one() {
    let bench = TestStore::new(Layout::Index);
    bench.write("a.md", "user", "a");
    let crlf = bench.index().replace('\n', "\r\n");
    bench.file("MEMORY.md", &crlf);
    bench.write("b.md", "user", "b");
    assert_eq!(bench.index(), format!("{crlf}- [The b.md](b.md) - b\r\n"));
}

#[test]
fn links_to_a_file_with_a_blank_in_its_name_can_be_read() {
    let bench = TestStore::new(Layout::Index);
    bench.write("old.md", "user", "d");
    bench.file(
        "b.md",
        &format!(
            "{}[x](old.md#part \"t\") and [[old]]\n",
            memory("B", "b", "user")
        ),
    );
    bench.make(&rename("old.md", "new name.md"));
    ends(
        bench.read("b.md"),
        "[x](<new name.md#part> \"t\") and [[new name]]\n",
    );
    has(bench.index(), ["- [The old.md](<new name.md>) - d\n"]);
}

#[test]
fn a_line_break_in_a_file_name_splits_no_line_of_the_index() {
    let home = Home::new();
    home.memory("two\nlines.md", "no header\n");
    home.memory("MEMORY.md", "# Memory\n");
    home.ok("write a.md --type user --content x");
    assert_eq!(
        home.read_memory("MEMORY.md"),
        "# Memory\n\n## User\n- [a](a.md) - x\n\n## Other\n- [two lines](two%0Alines.md) - two lines\n"
    );
    home.ok("index --check");
    let hand = "# Mine\n\nWords.\n\n- [A](a.md) — a\n";
    home.memory("MEMORY.md", hand);
    home.ok("index");
    assert_eq!(
        home.read_memory("MEMORY.md"),
        format!("{hand}- [two lines](two%0Alines.md) — two lines\n")
    );
    home.fails("rename a.md 'b\nc.md'");
}

#[test]
fn a_line_of_several_links_loses_the_dead_one() {
    let home = Home::new();
    let hand = "# Mine\n\n- [A](a.md), [B](b.md) — both\n- [C](c.md) — see [A](a.md)\n";
    home.memory("MEMORY.md", hand);
    for name in ["a", "b", "c"] {
        home.memory(&format!("{name}.md"), memory(name, "d", "user"));
    }
    home.ok("index --check");
    home.ok("delete b.md");
    let less = hand.replace(", [B](b.md)", "");
    assert_eq!(home.read_memory("MEMORY.md"), less);
    fs::remove_file(home.project().join(".memory/a.md")).expect("removed");
    let check = home.finds_nothing("index --check");
    has(&check.out, ["+- [C](c.md) — see A\n"]);
    home.ok("index");
    assert_eq!(
        home.read_memory("MEMORY.md"),
        "# Mine\n\n- [C](c.md) — see A\n"
    );
}

#[test]
fn lines_past_what_an_agent_reads_are_told_of() {
    let home = Home::new();
    for number in 100..298 {
        home.memory(
            &format!("m{number}.md"),
            memory(&format!("m{number}"), "d", "user"),
        );
    }
    home.memory("MEMORY.md", "# Memory\n");
    let output = home.run("index");
    assert_eq!(output.code, 0);
    let told = "agents read only 200 lines and 25 KB of MEMORY.md; they do not see: m297.md";
    assert_eq!(output.err, format!("tome: warning: {told}\n"));
    let json = home.json("index");
    assert_eq!(json["indexes"][0]["unseen"], serde_json::json!(["m297.md"]));
    let write =
        |name: &str| home.run(&["write", name, "--type", "user", "--content", "x", "--json"]);
    let output = write("a.md");
    let json = json_of(&output.out);
    assert_eq!(json["unseen"], serde_json::json!(["m296.md"]));
    has(&output.err, ["do not see: m296.md\n"]);
    home.ok("delete m100.md");
    let quiet = home.run("patch m101.md --old body --new text");
    assert_eq!((quiet.code, quiet.err.as_str()), (0, ""));
    let (_, report) = doctor(&home, &[]);
    has(&report, ["do not see: m297.md"]);
}

#[test]
fn an_index_without_a_list_says_how_many_files_it_does_not_link_to() {
    let home = Home::new();
    home.memory("MEMORY.md", "# Notes\n\nOnly prose.\n");
    for name in ["a", "b", "c"] {
        home.memory(&format!("{name}.md"), memory(name, "d", "user"));
    }
    let output = home.finds_nothing("index --check");
    has(
        &output.err,
        ["3 files are not linked: MEMORY.md has no list\n"],
    );
    let json = home.run("index --check --json").out;
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(
        json["indexes"][0]["unlinked"],
        serde_json::json!(["a.md", "b.md", "c.md"])
    );
    home.ok("index");
    assert_eq!(home.read_memory("MEMORY.md"), "# Notes\n\nOnly prose.\n");
}

fn doctor(home: &Home, args: &[&str]) -> (i32, String) {
    let output = home.run(&[args, &["doctor"]].concat());
    (output.code, output.out)
}

#[test]
fn the_doctor_sees_stale_indexes_and_dead_links() {
    let home = Home::new();
    home.memory("MEMORY.md", "# Memory\n");
    home.memory(
        "a.md",
        format!("{}[gone](gone.md)\n", memory("A", "d", "user")),
    );
    let (code, report) = doctor(&home, &[]);
    assert_eq!(code, 1);
    has(&report, [".memory/MEMORY.md: does not match the memories"]);
    has(&report, [".memory/a.md: has dead links: gone.md"]);
    home.ok("index");
    home.ok("patch a.md --old gone.md --new a.md");
    let (code, report) = doctor(&home, &[]);
    assert_eq!(code, 0, "{report}");
}

#[test]
fn the_doctor_looks_at_a_store_that_is_given_by_its_path() {
    let home = Home::new();
    home.file("elsewhere/MEMORY.md", "# Memory\n");
    home.file("elsewhere/a.md", memory("A", "d", "user"));
    home.memory("MEMORY.md", "# Memory\n");
    let (code, report) = doctor(&home, &["--store", "../elsewhere"]);
    assert_eq!(code, 1);
    has(&report, ["elsewhere/MEMORY.md: does not match"]);
    lacks(&report, ["no store was found", "/.memory"]);
    let (code, report) = doctor(&home, &["--store", ".memory"]);
    assert_eq!(code, 0, "{report}");
    has(&report, ["project/.memory"]);
    let (code, report) = doctor(&home, &["--store", "./none"]);
    assert_eq!(code, 1, "{report}");
}

#[test]
fn lines_of_a_crlf_file_keep_their_endings() {
    let home = Home::new();
    home.memory("MEMORY.md", "# Memory\n");
    home.memory(
        "a.md",
        memory("A", "d", "user")
            .replace("body\n", "one\ntwo\n")
            .replace('\n', "\r\n"),
    );
    home.ok("patch a.md --old 'one\ntwo' --new '1\n2\n3'");
    home.ok("append a.md --content 'four\nfive\n'");
    let text = home.read_memory("a.md");
    ends(&text, "1\r\n2\r\n3\r\nfour\r\nfive\r\n");
    assert_eq!(text.matches('\n').count(), text.matches("\r\n").count());
}

#[test]
fn a_first_occurrence_is_replaced_where_that_is_asked_for() {
    let bench = TestStore::new(Layout::Index);
    bench.write("a.md", "user", "d");
    let request = |old: &str, matching| ChangeRequest::Patch {
        path: "a.md".to_owned(),
        patches: vec![Patch {
            old: old.to_owned(),
            new: "x".to_owned(),
        }],
        matching,
    };
    bench.make(&request("a", Matching::First));
    starts(bench.read("a.md"), "---\nnxme: The a.md\n");
    let store = bench.store();
    let context = change_context();
    let refused = plan(&store, &request("d", Matching::Unique), &context);
    assert!(refused.is_err(), "{refused:?}");
}

const EPISODES: &str = "# Episodes\n\n> Summary: the month in one line\n\n## One\n- Summary: first\n- Date: 2026-02-01\n";

#[test]
fn a_summary_that_somebody_gave_is_kept_by_every_way_of_writing() {
    let home = Home::new();
    let path = "episodes/2026-02.md";
    let file = format!("project/data/memory/{path}");
    home.file(&file, "# E\n");
    home.ok(&["write", path, "--content", EPISODES]);
    assert_eq!(home.read(&file), EPISODES);
    home.ok(&format!(
        "append {path} --content '\n## Two\n- Summary: second\n' --summary ''"
    ));
    has(home.read(&file), ["> Summary: the month in one line\n"]);
    home.ok(&["patch", path, "--old", "the month", "--new", "February"]);
    has(home.read(&file), ["> Summary: February in one line\n"]);
    home.ok(&format!(
        "patch {path} --old '- Summary: first' --new '- Summary: 1st'"
    ));
    has(home.read(&file), ["> Summary: February in one line\n"]);
    home.ok(&["append", path, "--content", "x\n", "--summary", "given"]);
    has(home.read(&file), ["> Summary: given\n"]);
}

#[test]
fn a_summary_edited_as_a_whole_text_is_kept() {
    let bench = TestStore::new(Layout::Facts);
    let made = EPISODES.replace("the month in one line", "first");
    bench.file("episodes/2026-02.md", &made);
    let edit = |text: &str| {
        bench.make(&ChangeRequest::Edit {
            path: "episodes/2026-02.md".to_owned(),
            text: text.to_owned(),
        });
        bench.read("episodes/2026-02.md")
    };
    assert_eq!(edit(EPISODES), EPISODES);
    bench.file("episodes/2026-02.md", &made);
    let grown = format!("{made}\n## Two\n- Summary: second\n");
    assert_eq!(
        edit(&grown),
        grown.replace("> Summary: first", "> Summary: first, second")
    );
}

#[test]
fn an_entry_is_added_with_its_title_summary_and_date() {
    let home = Home::new();
    let path = "episodes/2026-02.md";
    let file = format!("project/data/memory/{path}");
    let tome = |line: &str| home.ok(&format!("--store data/memory {line}"));
    tome(&format!(
        "append {path} --name Leak --description 'stdout leak' --content 'Why: a print.'"
    ));
    let first = format!(
        "# Episodes 2026-02\n\n> Summary: stdout leak\n\n## Leak\n- Summary: stdout leak\n- Date: {}\nWhy: a print.\n",
        today()
    );
    assert_eq!(home.read(&file), first);
    tome(&format!(
        "append {path} --name Move --tag auth --content 'to JWT\n'"
    ));
    assert_eq!(
        home.read(&file),
        format!(
            "{}\n## Move\n- Summary: to JWT\n- Date: {}\n- Tags: auth\nto JWT\n",
            first.replace(
                "> Summary: stdout leak\n",
                "> Summary: stdout leak, to JWT\n"
            ),
            today()
        )
    );
    tome(&format!(
        "append {path} --description 'of the file' --content 'as before\n'"
    ));
    let text = home.read(&file);
    has(&text, ["> Summary: of the file\n"]);
    ends(&text, "as before\n");
    has(home.ok("append --help"), ["## TEXT"]);
}

#[test]
fn whatever_stands_in_a_coder_tree_is_listed_and_recalled() {
    let home = Home::new();
    let tome = |line: &str| home.run(&format!("--store ./lessons {line}"));
    home.file(
        "project/lessons/semantic/a/b/deep.md",
        "**Title:** Deep\n**Content:** about zebras\n",
    );
    home.file("project/lessons/misc/x.md", "# Loose ends\n\nabout yaks\n");
    home.file("project/lessons/notes.md", "about xerus\n");
    home.file("project/lessons/README.md", "# Lessons\n\nabout a quokka\n");
    home.file("project/lessons/procedural/README.md", "about a numbat\n");
    home.file(
        "project/lessons/episodic/old.md",
        "# Episodes\n\n## 2025-10-30: Flaky pool\n**Context:** a walrus in CI\n\n**Tags:** #db\n",
    );
    let list = tome("list").out;
    for path in [
        "semantic/a/b/deep.md",
        "misc/x.md",
        "notes.md",
        "episodic/old.md",
    ] {
        assert!(list.contains(path), "{path} in {list}");
    }
    for (word, citation) in [
        ("zebras", "semantic/a/b/deep.md#deep"),
        ("yaks", "misc/x.md"),
        ("xerus", "notes.md"),
        ("walrus", "episodic/old.md#flaky-pool"),
        ("loose", "misc/x.md"),
        ("quokka", "README.md#L3"),
        ("numbat", "procedural/README.md#L1"),
    ] {
        let recalled = tome(&format!("recall {word}"));
        let expected = format!("Citation: {citation}\n");
        assert!(recalled.out.contains(&expected), "{word}: {}", recalled.out);
        assert_eq!(tome(&format!("find {word}")).code, 0, "{word}");
    }
    assert_eq!(
        tome("view").out,
        "notes.md\nepisodic/\n  old.md - Flaky pool\nmisc/\n  x.md - Loose ends\nsemantic/\n  a/\n    b/\n      deep.md - Deep\n"
    );
    has(&tome("read episodic/old.md#flaky-pool").out, ["walrus"]);
    assert_eq!(tome("patch misc/x.md --old yaks --new oxen").code, 0);
    assert_eq!(tome("write misc/new.md --content x").code, 2);
    assert!(!home.project().join("lessons/misc/README.md").exists());
    assert_eq!(
        home.read("project/lessons/semantic/a/README.md"),
        "# semantic/a\n\n- [b/](b/README.md) - 1 file\n"
    );
}

#[test]
fn a_further_lesson_reaches_the_readme_whoever_wrote_it() {
    let home = Home::new();
    let tome = |line: &str| home.run(&format!("--store ./lessons {line}"));
    let file = "project/lessons/semantic/net/retry.md";
    home.file(file, "**Title:** Retry\n");
    home.file("project/lessons/semantic/net/dns.md", "**Title:** DNS\n");
    tome("index");
    let readme = "project/lessons/semantic/net/README.md";
    let made = "# semantic/net\n\n- [dns.md](dns.md) - DNS\n- [retry.md](retry.md) - Retry\n";
    assert_eq!(home.read(readme), made);
    tome("append semantic/net/retry.md --name Jitter --content c");
    let grown = made.replace("- Retry", "- Retry; Jitter");
    assert_eq!(home.read(readme), grown);
    let mut text = home.read(file);
    text.push_str("\n---\n\n**Title:** Limit\n");
    home.file(file, &text);
    let check = tome("index --check");
    assert_eq!(check.code, 1, "{check:?}");
    tome("index");
    assert_eq!(
        home.read(readme),
        grown.replace("; Jitter", "; Jitter; Limit")
    );
    // In a README with other text, the lines that tome wrote are updated as well.
    let mixed = format!("{}\nMy words.\n", grown.replace("- DNS", "- names, my way"));
    home.file(readme, &mixed);
    tome("index");
    assert_eq!(
        home.read(readme),
        mixed.replace("; Jitter", "; Jitter; Limit")
    );
    assert_eq!(tome("index --check").code, 0);
}

#[test]
fn a_rename_among_many_brackets_ends() {
    let home = Home::new();
    home.memory("MEMORY.md", "# Memory\n");
    let brackets = format!("{}\n{}\n", "[a](".repeat(100_000), "[[".repeat(100_000));
    home.memory(
        "a.md",
        format!("{}[x](b.md) {brackets}", memory("A", "d", "user")),
    );
    home.memory("b.md", memory("B", "d", "user"));
    home.ok("rename b.md c.md");
    has(home.read_memory("a.md"), ["[x](c.md) [a]("]);
    home.memory(
        "MEMORY.md",
        format!("# Mine\n\n- [A](a.md) — a\n- {brackets}"),
    );
    home.ok("index");
    home.ok("index --rewrite");
    assert_eq!(
        home.read_memory("MEMORY.md"),
        "# Memory\n\n## User\n- [A](a.md) - d\n- [B](c.md) - d\n"
    );
}

#[test]
fn a_wiki_line_lists_by_name_or_by_file_and_follows_a_rename_where_it_names_the_file() {
    let bench = TestStore::new(Layout::Index);
    bench.file("a.md", &memory("The A", "d", "user"));
    bench.file("b.md", &memory("The B", "d", "user"));
    let page = "# Mine\n\n- [[The A]] — by name\n- [[b]] — by file\n";
    bench.file("MEMORY.md", page);
    bench.repair();
    assert_eq!(bench.index(), page);
    for (from, to) in [("a.md", "x.md"), ("b.md", "y.md")] {
        bench.make(&rename(from, to));
    }
    assert_eq!(bench.index(), page.replace("[[b]]", "[[y]]"));
}

#[test]
fn an_entry_is_added_to_a_memory_and_its_day_is_stamped() {
    let bench = TestStore::new(Layout::Index);
    let head = "---\nname: A\ndescription: d\ntype: user\nupdated: 2020-01-01\n---\n\nbody\n";
    bench.file("a.md", head);
    bench.make(&append("a.md", "more\n"));
    assert_eq!(
        bench.read("a.md"),
        format!("{}more\n", head.replace("2020-01-01", "2026-11-15"))
    );
}

#[test]
fn a_header_without_fields_is_no_header() {
    let bench = TestStore::new(Layout::Index);
    bench.make(&ChangeRequest::Write {
        path: "a.md".to_owned(),
        content: "---\n---\nbody\n".to_owned(),
        fields: Fields {
            description: Some("said".to_owned()),
            category: Some("project".to_owned()),
            ..Fields::default()
        },
    });
    let listed = bench.store().list().expect("lists");
    assert_eq!(listed[0].summary, "said");
    assert_eq!(listed[0].category.as_deref(), Some("project"));
    ends(bench.read("a.md"), "---\n---\nbody\n");
    has(bench.index(), ["## Project\n- [a](a.md) - said\n"]);
}

#[test]
fn an_index_that_is_missing_is_made_of_what_is_there() {
    let bench = TestStore::new(Layout::Index);
    for _ in 0..2 {
        bench.repair();
        assert_eq!(bench.index(), "# Memory\n\n(empty)\n");
    }
    bench.file("b.md", &memory("B", "d", "user"));
    bench.repair();
    has(bench.index(), ["](b.md)"]);
    fs::remove_file(bench.root().join("b.md")).expect("removed");
    bench.repair();
    lacks(bench.index(), ["](b.md)"]);
    fs::remove_file(bench.root().join("MEMORY.md")).expect("removed");
    bench.file("a.md", &memory("A", "d", "user"));
    bench.repair();
    assert_eq!(bench.index(), "# Memory\n\n## User\n- [A](a.md) - d\n");
}

#[test]
fn a_readme_of_lessons_can_be_patched_and_nothing_else() {
    let bench = TestStore::new(Layout::Coder);
    for name in ["semantic/a.md", "semantic/b.md"] {
        bench.make(&write(name, "A lesson.\n", Fields::default()));
    }
    let readme = "semantic/README.md".to_owned();
    let refused = [
        delete(&[&readme]),
        write(&readme, "mine", Fields::default()),
    ];
    for request in refused {
        has(bench.refused(&request), ["tome generates"]);
    }
    bench.make(&patch(
        &readme,
        "# semantic\n",
        "# What is so\n\nWords of mine.\n",
    ));
    let text = bench.read(&readme);
    starts(&text, "# What is so\n\nWords of mine.\n");
    has(&text, ["](a.md)", "](b.md)"]);
}

#[test]
fn a_readme_with_a_heading_or_a_label_of_its_own_keeps_it() {
    let lesson = |title: &str| format!("**Title:** {title}\n**Description:** d\n");
    for page in [
        "# Mine\n\n- [a.md](a.md) - A\n",
        "# semantic\n\n- [My label](a.md) - A\n",
        "# semantic\n- [a.md](a.md) - A\n",
        "# semantic\n- [a.md](a.md) - A\n- [README](../README.md) - up\n",
        "# semantic\n\n- [a.md](a.md) - A\n- [a.md](a.md) - A\n",
    ] {
        let bench = TestStore::new(Layout::Coder);
        bench.file("semantic/a.md", &lesson("A"));
        bench.file("semantic/README.md", page);
        bench.make(&write("semantic/b.md", &lesson("B"), Fields::default()));
        assert_eq!(
            bench.read("semantic/README.md"),
            format!("{page}- [b.md](b.md) - B\n")
        );
    }
}

#[test]
fn a_summary_of_ones_own_is_made_anew_only_when_asked() {
    let bench = TestStore::new(Layout::Facts);
    let text = "# T\n\n> Summary: mine\n\n## A\n- Summary: s1\n\n## B\n- Summary: s2\n";
    bench.file("facts/a.md", text);
    bench.repair();
    assert_eq!(bench.read("facts/a.md"), text);
    bench.make(&ChangeRequest::Index(IndexUpdate::Rewrite));
    assert_eq!(bench.read("facts/a.md"), text.replace("mine", "s1, s2"));
}

#[test]
fn instructions_are_written_as_they_are() {
    let bench = TestStore::new(Layout::Instructions);
    bench.make(&write(
        "CLAUDE.md",
        "# Rules\n\nBe brief.",
        Fields::default(),
    ));
    assert_eq!(bench.read("CLAUDE.md"), "# Rules\n\nBe brief.");
}

#[test]
fn of_several_lessons_one_must_be_named() {
    let bench = TestStore::new(Layout::Coder);
    let text = "**Title:** One\n**Content:** 1\n\n---\n\n**Title:** Two\n**Content:** 2\n";
    bench.file("semantic/a.md", text);
    let extend = |lesson: &str| ChangeRequest::Extend {
        lesson: lesson.parse().expect("a citation"),
        content: "more".to_owned(),
        fields: Fields::default(),
    };
    has(bench.refused(&extend("semantic/a.md")), ["one, two"]);
    bench.make(&extend("semantic/a.md#one"));
    assert_eq!(
        bench.read("semantic/a.md"),
        text.replace("** 1\n", "** 1\n\nmore\n")
    );
}

#[test]
fn only_links_to_memories_that_are_gone_are_dead() {
    let bench = TestStore::new(Layout::Index);
    bench.file("a.md", &memory("A", "d", "user"));
    let page = "# Mine\n\n- [A](a.md) — a\n- [[A]], [Gone](gone.md) — b\n- [Gone](gone.md), [[A]] — c\n- [Picture](gone.png) — p\n- [Gone](gone.md) — see [[to be written]]\n- [Gone](gone.md), [[Later]] — e\n";
    bench.file("MEMORY.md", page);
    bench.repair();
    assert_eq!(
        bench.index(),
        "# Mine\n\n- [A](a.md) — a\n- [[A]] — b\n- [[A]] — c\n- [Picture](gone.png) — p\n"
    );
}

#[test]
fn a_made_readme_stays_sorted_and_keeps_reworded_lines() {
    let bench = TestStore::new(Layout::Coder);
    let lesson = |title: &str| format!("**Title:** {title}\n**Description:** d\n");
    for name in ["b", "c"] {
        bench.file(&format!("semantic/{name}.md"), &lesson(name));
    }
    bench.file(
        "semantic/README.md",
        "# semantic\n\n- [b.md](b.md) - words of mine\n- [c.md](c.md) - c\n",
    );
    bench.touch("semantic/README.md", 5);
    bench.make(&write("semantic/a.md", &lesson("a"), Fields::default()));
    assert_eq!(
        bench.read("semantic/README.md"),
        "# semantic\n\n- [a.md](a.md) - a\n- [b.md](b.md) - words of mine\n- [c.md](c.md) - c\n"
    );
}

#[test]
fn an_overview_is_made_once_and_then_left_alone() {
    let bench = TestStore::new(Layout::Session);
    let note = |path: &str| append(path, "text\n");
    bench.make(&note("detail/a.md"));
    starts(
        bench.read("working-memory/overview.md"),
        "# Working Memory\n",
    );
    bench.file("working-memory/overview.md", "# Mine\n");
    bench.make(&note("detail/a.md"));
    bench.make(&note("detail/b.md"));
    assert_eq!(bench.read("working-memory/overview.md"), "# Mine\n");
    fs::remove_file(bench.root().join("working-memory/overview.md")).expect("removed");
    bench.make(&note("detail/a.md"));
    assert!(
        !bench.root().join("working-memory/overview.md").exists(),
        "an edit does not bring it back"
    );
}

#[test]
fn a_memory_in_a_folder_that_comes_back_is_not_listed() {
    let home = Home::new();
    let page = "# Mine\n\n- [A](a.md) — a\n";
    home.memory("MEMORY.md", page);
    home.memory("a.md", memory("A", "a", "user"));
    home.memory("old/x.md", memory("X", "x", "user"));
    home.ok("delete old/x.md");
    let history = home.json("history --limit 1");
    let id = history["changes"][0]["id"].as_str().expect("an id");
    home.ok(&["restore", id]);
    has(home.read_memory("old/x.md"), ["name: X"]);
    assert_eq!(home.read_memory("MEMORY.md"), page);
}

#[test]
fn the_links_of_a_file_that_moves_lead_where_they_led() {
    let bench = TestStore::new(Layout::Facts);
    bench.file("facts/b.md", "# B\n\nsee [a](a.md) and [c](c.md)\n");
    bench.file(
        "facts/a.md",
        "# A\n\n[b](b.md) [me](a.md) [web](https://x.example/b.md) [none](none.md) [p](../people/p.md)\n",
    );
    bench.file(
        "people/p.md",
        "# P\n\n[a](../facts/a.md) [b](../facts/b.md)\n",
    );
    bench.make(&rename("facts/a.md", "people/a.md"));
    assert_eq!(
        bench.read("people/a.md"),
        "# A\n\n[b](../facts/b.md) [me](a.md) [web](https://x.example/b.md) [none](none.md) [p](p.md)\n"
    );
    assert_eq!(
        bench.read("facts/b.md"),
        "# B\n\nsee [a](../people/a.md) and [c](c.md)\n"
    );
    assert_eq!(
        bench.read("people/p.md"),
        "# P\n\n[a](a.md) [b](../facts/b.md)\n"
    );
}

#[test]
fn links_by_reference_and_by_name_follow_a_rename_and_others_stay() {
    let bench = TestStore::new(Layout::Session);
    bench.file(
        "working-memory/overview.md",
        "# W\n\n[a](detail/a.md) [[Title A]] [[a]] [[b]]\n",
    );
    bench.file("working-memory/detail/a.md", "# Title A\n");
    bench.file(
        "working-memory/detail/b.md",
        "# B\n\n[a](detail/a.md) [a](a.md)\n",
    );
    bench.make(&rename("detail/a.md", "detail/z.md"));
    assert_eq!(
        bench.read("working-memory/overview.md"),
        "# W\n\n[a](detail/z.md) [[Title A]] [[z]] [[b]]\n"
    );
    assert_eq!(
        bench.read("working-memory/detail/b.md"),
        "# B\n\n[a](detail/z.md) [a](z.md)\n"
    );
}

#[test]
fn a_wiki_link_by_a_name_that_stays_is_not_touched() {
    let bench = TestStore::new(Layout::Index);
    bench.file("a.md", &memory("The a", "d", "user"));
    let text = format!("{}[[The a]] [[other]]\n", memory("b", "d", "user"));
    bench.file("b.md", &text);
    bench.make(&rename("a.md", "z.md"));
    assert_eq!(bench.read("b.md"), text);
}

#[test]
fn a_name_that_was_made_of_the_files_name_follows_it() {
    let bench = TestStore::new(Layout::Index);
    bench.file("stale_pid.md", &memory("stale-pid", "d", "user"));
    let text = format!("{}[[stale-pid]] [[other]]\n", memory("b", "d", "user"));
    bench.file("b.md", &text);
    let index = "# Mine\n\n- [stale-pid](stale_pid.md) — in my words\n- [[b]]\n";
    bench.file("MEMORY.md", index);
    bench.make(&rename("stale_pid.md", "lock_pid.md"));
    assert_eq!(bench.read("lock_pid.md"), memory("lock-pid", "d", "user"));
    has(bench.read("b.md"), ["[[lock-pid]] [[other]]"]);
    has(bench.index(), ["- [lock-pid](lock_pid.md) — in my words\n"]);
}

#[test]
fn one_file_of_a_change_is_restored_by_its_reference_or_its_path() {
    use tome::core::change::restore;
    let bench = TestStore::new(Layout::Session);
    bench.file("working-memory/overview.md", "# W\n");
    for name in ["a", "b"] {
        bench.file(&format!("working-memory/detail/{name}.md"), "# N\n");
    }
    bench.make(&delete(&["detail/a.md", "detail/b.md"]));
    let history = History::open(&bench.dir.path().join("history"));
    let record = history.records().expect("reads").pop().expect("a change");
    for only in ["detail/a.md", "working-memory/detail/a.md"] {
        let change = restore(
            &history,
            &record,
            Some(only.into()),
            &change_context().moment,
        );
        let change = change.expect("plans");
        let paths: Vec<&str> = change.edits.iter().map(|edit| edit.path.as_str()).collect();
        assert_eq!(paths, ["working-memory/detail/a.md"], "{only}");
    }
    let none = restore(
        &history,
        &record,
        Some("detail/c.md".into()),
        &change_context().moment,
    );
    assert!(none.is_err());
    let edits = tome::core::change::recorded_edits(&history, &record).expect("reads");
    let told: Vec<_> = edits
        .iter()
        .map(|edit| {
            (
                edit.path.as_str(),
                edit.before.as_deref(),
                edit.after.as_deref(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("working-memory/detail/a.md", Some(&b"# N\n"[..]), None),
            ("working-memory/detail/b.md", Some(&b"# N\n"[..]), None)
        ]
    );
}

#[test]
fn the_index_itself_is_patched_without_a_stamp_and_views_name_every_file() {
    let bench = TestStore::new(Layout::Index);
    bench.file("a.md", &memory("A", "d", "user"));
    let page = "---\nupdated: 2020-01-01\n---\n# Mine\n\n- [A](a.md) — d\n";
    bench.file("MEMORY.md", page);
    bench.make(&patch("MEMORY.md", "# Mine", "# Yours"));
    assert_eq!(bench.index(), page.replace("Mine", "Yours"));
}

#[test]
fn a_title_is_given_to_facts_that_have_none() {
    let bench = TestStore::new(Layout::Facts);
    let write = |path: &str, content: &str| write(path, content, named("Given"));
    bench.make(&write("facts/a.md", "text\n"));
    bench.make(&write("facts/b.md", "# Own\n\ntext\n"));
    assert_eq!(bench.read("facts/a.md"), "# Given\n\ntext\n");
    assert_eq!(bench.read("facts/b.md"), "# Own\n\ntext\n");
    let files = bench.store().rules().view(&bench.store(), View::Files);
    assert_eq!(files.expect("lists").lines().count(), 2);
    let index = bench.store().rules().view(&bench.store(), View::Index);
    has(index.expect("lists"), ["facts/b.md"]);
}

#[test]
fn a_line_goes_with_its_memory_whatever_else_on_it_is_dead() {
    let bench = TestStore::new(Layout::Index);
    bench.file("a.md", &memory("A", "d", "user"));
    bench.file("b.md", &memory("B", "d", "user"));
    let page = "# Mine\n\n- [B](b.md) — b\n";
    bench.file(
        "MEMORY.md",
        &format!("{page}- [A](a.md), [D](dead.md) — both\n"),
    );
    bench.make(&delete(&["a.md"]));
    assert_eq!(bench.index(), page);
}

#[test]
fn a_memory_written_again_is_stamped_where_its_header_has_such_a_day() {
    let bench = TestStore::new(Layout::Index);
    bench.file("MEMORY.md", "# Memory\n");
    for (head, stamped) in [
        ("name: A\n", "name: A\nupdated: 2026-11-15\n"),
        (
            "name: A\nupdated: 2020-01-01\n",
            "name: A\nupdated: 2026-11-15\n",
        ),
        (
            "metadata:\n  modified: 2020-01-01\n",
            "metadata:\n  modified: 2020-01-01\n",
        ),
        (
            "updated: 2020-01-01\nmetadata:\n  modified: 2020-01-01\n",
            "updated: 2026-11-15\nmetadata:\n  modified: 2020-01-01\n",
        ),
    ] {
        bench.file("a.md", &format!("---\n{head}---\n\nold\n"));
        bench.make(&write("a.md", "new\n", Fields::default()));
        assert_eq!(bench.read("a.md"), format!("---\n{stamped}---\n\nnew\n"));
    }
}

#[test]
fn a_type_is_refused_where_there_are_none() {
    for (layout, path) in [
        (Layout::Facts, "facts/a.md"),
        (Layout::Session, "detail/a.md"),
    ] {
        let bench = TestStore::new(layout);
        let fields = typed("user");
        let requests = [
            write(path, "x", fields.clone()),
            ChangeRequest::Append {
                path: path.to_owned(),
                entry: "x".to_owned(),
                fields: fields.clone(),
            },
        ];
        for request in requests {
            has(bench.refused(&request), ["no types"]);
        }
    }
}

#[test]
fn a_type_with_one_lesson_has_no_readme_and_a_topic_has_one() {
    let bench = TestStore::new(Layout::Coder);
    for (path, readme, is_made) in [
        ("semantic/a.md", "semantic/README.md", false),
        ("episodic/net/a.md", "episodic/net/README.md", true),
        ("semantic/b.md", "semantic/README.md", true),
    ] {
        bench.make(&write(path, "A lesson.\n", Fields::default()));
        let readme = bench.root().join(readme);
        assert_eq!(readme.exists(), is_made, "{path}");
    }
}

#[test]
fn an_entry_of_facts_stands_after_one_blank_line() {
    let bench = TestStore::new(Layout::Facts);
    for (before, gap) in [
        ("# A\n\ntext", "\n\n"),
        ("# A\n\ntext\n", "\n"),
        ("# A\n\ntext\n\n", ""),
        ("# A\r\n\r\ntext\r\n\r\n", ""),
    ] {
        bench.file("facts/a.md", before);
        bench.make(&ChangeRequest::Append {
            path: "facts/a.md".to_owned(),
            entry: "said\n".to_owned(),
            fields: named("New"),
        });
        let text = bench.read("facts/a.md");
        has(
            &text,
            [&format!(
                "text{}{gap}## New",
                &before[before.find("text").expect("there") + 4..]
            )],
        );
    }
}

#[test]
fn an_undo_makes_a_generated_index_anew() {
    let bench = TestStore::new(Layout::Index);
    bench.write("c.md", "user", "of c");
    bench.write("a.md", "user", "of a");
    bench.write("b.md", "project", "of b");
    // Another program adds a file and does not list it.
    bench.file("y.md", &memory("Y", "of y", "reference"));
    bench.undo(1);
    let page = bench.index();
    let files: Vec<&str> = ["a.md", "b.md", "c.md", "y.md"]
        .into_iter()
        .filter(|file| page.contains(file))
        .collect();
    assert_eq!(files, ["b.md", "c.md", "y.md"], "{page}");
}

#[test]
fn a_line_of_a_readme_comes_back_in_its_own_words() {
    let bench = TestStore::new(Layout::Coder);
    let lesson = |name: &str| format!("**Title:** {name}\n**Description:** of {name}\n");
    for name in ["a", "b", "c"] {
        bench.file(&format!("semantic/{name}.md"), &lesson(name));
    }
    let hand = "# Mine\n\n- [a](a.md) — my own words\n- [b](b.md) — b\n- [c](c.md) — c\n";
    bench.file("semantic/README.md", hand);
    bench.make(&delete(&["semantic/a.md"]));
    bench.make(&write("semantic/d.md", &lesson("d"), Fields::default()));
    bench.undo(0);
    let page = bench.read("semantic/README.md");
    starts(&page, hand);
    has(&page, ["(d.md)"]);
}

#[test]
fn a_lesson_is_of_the_type_that_its_folder_says() {
    let bench = TestStore::new(Layout::Coder);
    let write = |category: &str| write("semantic/a.md", "A lesson.\n", typed(category));
    has(bench.refused(&write("episodic")), ["write under episodic/"]);
    let told = "type 'unknown' is not one of: episodic, procedural, semantic";
    has(bench.refused(&write("unknown")), [told]);
    bench.make(&write("semantic"));
    has(bench.read("semantic/a.md"), ["A lesson."]);
}

/// Writes lessons of one line into a coder store.
fn write_lessons(bench: &TestStore, paths: &[&str]) {
    for path in paths {
        bench.make(&write(path, "A lesson.\n", Fields::default()));
    }
}

#[test]
fn a_readme_counts_the_lessons_of_its_folders() {
    let bench = TestStore::new(Layout::Coder);
    write_lessons(&bench, &["semantic/b.md", "semantic/net/a.md"]);
    let line = |count: &str| format!("- [net/](net/README.md) - {count}\n");
    let page = bench.read("semantic/README.md");
    has(&page, [&line("1 file")]);
    write_lessons(&bench, &["semantic/net/c.md"]);
    let page = bench.read("semantic/README.md");
    has(&page, [&line("2 files")]);
}

#[test]
fn a_readme_under_a_heading_of_its_own_keeps_it_and_its_lines_by_name() {
    let bench = TestStore::new(Layout::Coder);
    bench.file("semantic/b.md", "**Title:** b\n**Description:** d\n");
    bench.file("semantic/c.md", "**Title:** c\n**Description:** d\n");
    let lists = [
        "- [b.md](b.md) - b\n- [c.md](c.md) - c\n",
        "- [b.md](b.md) - b\n- [c.md](c.md) - c\n- [[later]] — to be written\n",
    ];
    for (list, new) in lists.into_iter().zip(["semantic/d.md", "semantic/e.md"]) {
        let page = format!("# Mine\n\n{list}");
        bench.file("semantic/README.md", &page);
        write_lessons(&bench, &[new]);
        let after = bench.read("semantic/README.md");
        starts(&after, &page);
    }
}

#[test]
fn the_line_of_a_memory_that_names_a_renamed_one_follows() {
    let bench = TestStore::new(Layout::Index);
    bench.file("a.md", &memory("Alpha", "d", "user"));
    bench.file("b.md", &memory("B", "after [[a]]", "user"));
    let page = "# Mine\n\n- [Alpha](a.md) — d\n- [B](b.md) — after [[a]]\n";
    bench.file("MEMORY.md", page);
    bench.make(&rename("a.md", "z.md"));
    has(bench.read("b.md"), ["after [[z]]"]);
    let after = page.replace("(a.md)", "(z.md)").replace("[[a]]", "[[z]]");
    assert_eq!(bench.index(), after);
}

#[test]
fn a_restored_memory_gets_its_own_line_of_the_index_back_where_it_was() {
    let home = Home::new();
    let index = "# Mine\n\n## First\n- [A](a.md) — a, in my words\n- [B](b.md) — b, in my words\n  \
        and more of it\n- [C](c.md) — c\n\n## Second\n- [D](d.md) — d, in my words\n";
    home.memory("MEMORY.md", index);
    for name in ["a", "b", "c", "d"] {
        let text =
            format!("---\nname: {name}\ndescription: about {name}\ntype: user\n---\n\n{name}\n");
        home.memory(&format!("{name}.md"), text);
    }
    home.ok("delete a.md b.md d.md");
    let history = home.json("history");
    let id = history["changes"][0]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    // Somebody adds a line meanwhile.
    let left = home.read_memory("MEMORY.md");
    home.memory(
        "MEMORY.md",
        left.replace("- [C](c.md) — c\n", "- [C](c.md) — c\n- another line\n"),
    );
    home.ok(&["restore", &id, "b.md"]);
    home.ok(&["restore", &id, "d.md"]);
    let expected = "# Mine\n\n## First\n- [B](b.md) — b, in my words\n  and more of it\n- [C](c.md) — c\n\
        - another line\n\n## Second\n- [D](d.md) — d, in my words\n";
    assert_eq!(home.read_memory("MEMORY.md"), expected);
}
