//! Sync: several machines, one memory, by a bare repository.

mod hostile;
mod machine;
mod model;

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use machine::{Machine, Remote, texts};
use serde_json::Value;
use tome::core::change::history::Author;
use tome::core::change::recorded_edits;
use tome::core::insight::review::{Item, Resolution, Selection, accept, plan_reverts, resolve};
use tome::core::insight::sync::toggle;
use tome::core::memory::config::IncomingMode::{self, Accept, Review};
use tome::core::memory::config::Settings;
use tome::core::memory::layout::Layout;
use tome::core::memory::store::Store;

use crate::support::{Home, Paused, ends, has, lacks, report, starts};

/// A remote, a machine that accepts what comes in, and another one.
fn machines(other: IncomingMode) -> (Remote, Machine, Machine) {
    let remote = Remote::new();
    let one = Machine::new(&remote, "one", Accept);
    let two = Machine::new(&remote, "two", other);
    (remote, one, two)
}

/// Waits until something is so.
fn until(is_so: impl Fn() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < Duration::from_secs(60), "it never comes");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_memory_travels_waits_for_review_and_is_undone() {
    let (remote, one, two) = machines(Review);
    one.write("a.md", "first\n");
    one.write("deep/b.md", "second\n");
    one.sync();
    assert_eq!(
        two.files(),
        texts(&[]),
        "nothing is written before it is accepted"
    );
    two.sync();
    assert_eq!(two.files(), texts(&[]));
    let items = two.items();
    assert_eq!(items.len(), 2);
    assert_eq!(items[0].what(), "incoming, new");
    assert_eq!(items[0].who(), "one");
    two.accept();
    assert_eq!(two.files(), one.files());
    let records = two.history.records().expect("reads");
    let from_one = records.iter().filter(|record| record.author.who == "one");
    assert_eq!(
        from_one.count(),
        1,
        "one change, by the machine that sent it"
    );
    two.undo();
    assert_eq!((two.files(), two.items().len()), (texts(&[]), 2));
    two.accept();
    two.sync();
    // An edit here comes back at once, where nothing waits for review.
    two.write("a.md", "first\nmore\n");
    two.sync();
    one.sync();
    assert_eq!(one.read("a.md"), "first\nmore\n");
    assert_eq!(one.items().len(), 0);
    one.undo();
    assert_eq!(one.read("a.md"), "first\n");
    one.sync();
    two.sync();
    two.accept();
    assert_eq!(two.read("a.md"), "first\n");
    assert!(!remote.has("MEMORY.md"), "{:?}", remote.paths());
}

#[test]
fn what_is_rejected_is_shown_named_and_undone_without_own_notes() {
    let (_remote, one, two) = machines(Review);
    one.write("a.md", "first\n");
    one.sync();
    two.sync();
    two.write("b.md", "own\n");
    let ids = two.items().iter().flat_map(Item::ids).collect();
    let (store, chosen) = (two.store(), Selection::Ids(ids));
    let planned = plan_reverts(&two.history, &[&store], &chosen, &two.moment()).expect("planned");
    assert_eq!(planned.message, "Rejected what one sent: a.md");
    let diff = planned.diff();
    starts(&diff, "--- a/a.md\n+++ /dev/null\n");
    ends(&diff, "@@\n-first\n");
    two.reject();
    assert_eq!(two.items().len(), 0);
    let records = two.history.records().expect("reads");
    let edits = recorded_edits(&two.history, records.last().expect("one")).expect("reads");
    let paths: Vec<&str> = edits.iter().map(|edit| edit.path.as_str()).collect();
    assert_eq!(paths, ["a.md"]);
    two.undo();
    assert_eq!(two.items().len(), 1);
    assert_eq!(two.read("b.md"), "own\n");
}

#[test]
fn a_rejected_line_of_the_index_goes_back_and_deletes_nothing() {
    let (remote, one, two) = machines(Review);
    let index = |hook: &str| format!("# Memory\n\nMine.\n\n- [A](a.md) - {hook}\n");
    one.write("a.md", "first\n");
    one.write("MEMORY.md", &index("a hook"));
    two.write("own.md", "two's\n");
    for machine in [&one, &two, &one, &two] {
        machine.sync();
        machine.accept();
    }
    one.write("MEMORY.md", &index("another hook"));
    one.sync();
    two.sync();
    let items = two.items();
    assert_eq!((items.len(), items[0].who()), (1, "one"));
    two.reject();
    two.sync();
    has(two.read("MEMORY.md"), ["- a hook\n"]);
    let stones = |path: &String| path.contains(".deleted");
    assert!(!remote.paths().iter().any(stones), "{:?}", remote.paths());
    one.sync();
    has(one.read("MEMORY.md"), ["- a hook\n"]);
}

#[test]
fn a_conflict_of_two_indexes_is_about_the_lines_that_both_have() {
    let (_remote, one, two) = machines(Review);
    let line = |name: &str, hook: &str| format!("- [{name}]({name}.md) - {hook}\n");
    one.write("a.md", "same\n");
    one.write(
        "MEMORY.md",
        &format!("# Memory\n\n{}", line("a", "hook of one")),
    );
    two.write("a.md", "same\n");
    two.write("own.md", "mine\n");
    let lines = line("a", "hook of two") + &line("own", "mine");
    two.write("MEMORY.md", &format!("# Memory\n\n{lines}"));
    one.sync();
    two.sync();
    let items = two.items();
    assert_eq!(items.len(), 1, "{items:?}");
    assert!(items[0].is_conflict());
    two.accept_ids(items[0].ids());
    let index = two.read("MEMORY.md");
    has(&index, ["hook of one", "- [own](own.md) - mine\n"]);
    two.sync();
    one.sync();
    has(
        one.read("MEMORY.md"),
        ["hook of one", "- [own](own.md) - mine\n"],
    );
}

#[test]
fn a_rejection_stays_while_its_delete_is_held_back() {
    let (remote, one, two) = machines(Review);
    for name in ["a.md", "b.md"] {
        one.write(name, "text\n");
    }
    one.sync();
    two.sync();
    two.reject();
    let report = two.sync();
    assert_eq!(report.stores[0].held_back.len(), 1, "{report:?}");
    two.sync();
    assert_eq!(two.items().len(), 0);
    let held = two.sync().stores[0].held_back[0].id.clone();
    two.sync_allowing(&held);
    assert!(!remote.has("/a.md") && !remote.has("/b.md"));
}

#[test]
fn what_waits_for_a_store_that_is_not_here_yet_is_found() {
    for path in [
        "a.md",
        "working-memory/detail/a.md",
        "facts/a.md",
        "semantic/a.md",
    ] {
        let remote = Remote::new();
        let [one, two] = ["one", "two"].map(|name| {
            let home = Home::new();
            drop(fs::remove_dir_all(home.project()));
            machine::make_project(&home.project());
            if name == "one" {
                let text = "---\nname: A\ndescription: d\ntype: user\n---\n\ntext\n";
                home.file(&format!("project/.memory/{path}"), text);
            }
            home.ok(&["sync", "--init", &remote.url(), "--machine", name]);
            home.ok(&["sync", "--add", ".memory"]);
            home.ok(&["sync"]);
            home
        });
        has(&two.run(&["review"]).out, ["a.md"]);
        two.ok(&["sync"]);
        two.ok(&["review", "--accept", "all"]);
        let [here, there] = [&one, &two].map(|home| home.read(&format!("project/.memory/{path}")));
        assert_eq!(here, there);
    }
}

#[test]
fn nothing_is_shared_by_a_key_without_a_remote() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open("notes", folder.path(), Some(Layout::Index)).expect("a store");
    let told = toggle(&folder.path().join("sync"), &Settings::default(), &store);
    let told = told.expect_err("no remote").to_string();
    has(&told, ["tome sync --init URL"]);
}

#[test]
fn both_sides_changed_is_merged_or_a_conflict_with_both_texts() {
    let (_remote, one, two) = machines(Accept);
    one.write("a.md", "1\n2\n3\n4\n5\n");
    one.write("b.md", "base\n");
    one.sync();
    two.sync();
    one.write("a.md", "one\n2\n3\n4\n5\n");
    two.write("a.md", "1\n2\n3\n4\ntwo\n");
    one.write("b.md", "one\n");
    two.write("b.md", "two\n");
    one.write("c.md", "goes on\n");
    one.sync();
    two.sync();
    assert_eq!(two.read("a.md"), "one\n2\n3\n4\ntwo\n");
    assert_eq!(two.read("c.md"), "goes on\n");
    assert_eq!(two.read("b.md"), "two\n", "a conflict changes nothing");
    let items = two.items();
    assert_eq!(items.len(), 1);
    assert_eq!(items[0].what(), "conflict: changed here, and otherwise");
    assert_eq!(items[0].hunks[0].text, "-two\n+one\n");
    let (author, moment) = (Author::outside(), two.moment());
    accept(
        &two.history,
        &[&two.store()],
        &Selection::All,
        &author,
        &moment,
    )
    .expect("accepted");
    assert_eq!(
        two.items().len(),
        1,
        "who accepts all did not look at both texts"
    );
    two.reject();
    two.sync();
    one.sync();
    assert_eq!(one.read("b.md"), "two\n");
    assert_eq!(one.read("a.md"), two.read("a.md"));
    // Deleted on one side and changed on the other.
    one.delete("b.md");
    two.write("b.md", "changed\n");
    one.sync();
    two.sync();
    assert_eq!(two.items()[0].what(), "conflict: changed here, deleted");
    two.reject();
    two.sync();
    one.sync();
    assert_eq!(one.read("b.md"), "changed\n");
}

#[test]
fn what_a_person_makes_of_both_texts_is_sent_and_undone() {
    let remote = Remote::new();
    let [one, two] = ["one", "two"].map(|name| Machine::new(&remote, name, Review));
    one.write("b.md", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    one.sync();
    two.sync();
    two.accept();
    two.sync();
    one.write("b.md", "one\n2\n3\n4\n5\n6\n7\n8\n9\n");
    two.write("b.md", "two\n2\n3\n4\n5\n6\n7\n8\n9\n");
    one.sync();
    two.sync();
    let item = two.items().remove(0);
    let texts = item.conflict.clone().expect("both texts");
    starts(&texts.ours, "two");
    starts(&texts.theirs, "one");
    assert!(texts.base.starts_with('1'));
    let resolution = |ours: &str| Resolution {
        id: item.id.clone(),
        ours: ours.to_owned(),
        text: texts.ours.replace("two", "one and two"),
    };
    let merge = |ours: &str| {
        let [who, door] = ["you", "tui"].map(str::to_owned);
        let (author, moment) = (Author { who, door }, two.moment());
        resolve(
            &two.history,
            &two.store(),
            &resolution(ours),
            &author,
            &moment,
        )
    };
    let told = merge("another text")
        .expect_err("it was not seen")
        .to_string();
    has(&told, ["look at it again"]);
    merge(&texts.ours).expect("merged");
    assert_eq!(two.items().len(), 0);
    two.undo();
    assert_eq!(
        (two.items().len(), two.read("b.md")),
        (1, texts.ours.clone())
    );
    merge(&texts.ours).expect("merged");
    two.sync();
    one.sync();
    one.accept();
    starts(one.read("b.md"), "one and two\n");
    // A part that was rejected is not asked for again by the next sync.
    one.sync();
    one.write("b.md", "first\n2\n3\n4\n5\n6\n7\n8\nlast\n");
    one.sync();
    two.sync();
    let hunks = two.items().remove(0).hunks;
    assert_eq!(hunks.len(), 2);
    two.reject_ids(vec![hunks[0].id.clone()]);
    two.sync();
    let left = two.items().remove(0).hunks;
    assert_eq!(left.len(), 1, "{left:?}");
    two.accept();
    starts(two.read("b.md"), "one and two\n");
    ends(two.read("b.md"), "last\n");
    two.sync();
    one.sync();
    one.accept();
    assert_eq!(one.read("b.md"), two.read("b.md"));
}

#[test]
fn deletes_travel_as_tombstones_and_absence_is_no_delete() {
    let (remote, one, two) = machines(Accept);
    for name in ["a.md", "b.md", "c.md", "d.md"] {
        one.write(name, name);
    }
    one.sync();
    two.sync();
    one.delete("a.md");
    one.sync();
    assert!(remote.has(".deleted/a.md") && !remote.has("/a.md"));
    two.sync();
    assert!(!two.has("a.md"));
    // The remote loses a file without a tombstone: it is put back.
    remote.remove("b.md");
    two.sync();
    assert!(two.has("b.md") && remote.has("b.md"));
    // It comes again after it was deleted.
    two.write("a.md", "again\n");
    two.sync();
    one.sync();
    assert_eq!(one.read("a.md"), "again\n");
    assert!(!remote.has(".deleted/a.md"));
    // The store loses its directory, without a record: nothing is deleted anywhere.
    fs::remove_dir_all(one.root()).expect("removed");
    one.sync();
    two.sync();
    assert_eq!(two.files().len(), 4);
    fs::create_dir_all(one.root()).expect("made");
    fs::write(one.root().join("MEMORY.md"), "# Memory\n").expect("written");
    one.sync();
    let held: Vec<_> = one.report().stores[0].held_back.clone();
    assert_eq!(held.len(), 1, "deletes of a whole store are held back");
    assert_eq!(two.files().len(), 4);
    one.sync_allowing(&held[0].id);
    two.sync();
    assert_eq!(two.files().len(), 4, "on the way in, too");
    two.sync_allowing("deletes");
    assert_eq!(two.files().len(), 0);
}

#[test]
fn a_hand_written_index_travels_as_the_lines_of_its_memories() {
    let (remote, one, two) = machines(Accept);
    let index = "# Mine\n\nA fact of its own.\n\n## Work\n- [B](b.md) — the second first\n- [A](a.md) — my words\n";
    for name in ["a.md", "b.md"] {
        one.write(
            name,
            &format!("---\nname: {name}\ntype: user\n---\n\ntext\n"),
        );
    }
    one.write("MEMORY.md", index);
    one.sync();
    assert!(remote.has(".lines/a.md") && remote.has(".index"));
    two.sync();
    assert_eq!(two.read("MEMORY.md"), index);
    // Both add a memory with a line at the same place.
    for (machine, name) in [(&one, "c"), (&two, "d")] {
        machine.write(
            &format!("{name}.md"),
            "---\nname: x\ntype: user\n---\n\ntext\n",
        );
        machine.write(
            "MEMORY.md",
            &format!("{index}- [{name}]({name}.md) — new\n"),
        );
    }
    one.write(
        "MEMORY.md",
        &one.read("MEMORY.md")
            .replace("A fact of its own.", "Another fact."),
    );
    for machine in [&one, &two, &one, &two, &one] {
        machine.sync();
    }
    let made = one.read("MEMORY.md");
    assert_eq!(made, two.read("MEMORY.md"));
    assert_eq!(made.lines().count(), 9, "{made}");
    has(&made, ["Another fact."]);
    lacks(&made, ["of its own"]);
    for words in [
        "(c.md) — new",
        "(d.md) — new",
        "the second first",
        "my words",
    ] {
        assert!(made.contains(words), "{words}: {made}");
    }
    assert_eq!(one.items().len() + two.items().len(), 0);
}

#[test]
fn the_same_project_at_two_paths_is_one_and_a_moved_one_goes_on() {
    let remote = Remote::new();
    let one = Machine::at(&remote, "one", Accept, "work/shop");
    let two = Machine::at(&remote, "two", Accept, "src/other name");
    let index = "# Mine\n\nKeep this sentence.\n";
    one.write("a.md", "text\n");
    one.write("MEMORY.md", index);
    one.sync();
    two.sync();
    assert_eq!(two.read("a.md"), "text\n");
    // The project moves with its memory; then the memory is lost, too.
    let two = two.moved("elsewhere/shop");
    two.write("a.md", "text\nfrom there\n");
    two.sync();
    one.sync();
    assert_eq!(one.read("a.md"), "text\nfrom there\n");
    let two = two.moved("again/shop");
    fs::remove_dir_all(two.root()).expect("removed");
    fs::create_dir_all(two.root()).expect("made");
    fs::write(two.root().join("MEMORY.md"), "# Memory\n").expect("written");
    two.sync();
    assert_eq!(two.read("a.md"), "text\nfrom there\n", "it is put back");
    two.sync();
    one.sync();
    assert_eq!(one.files().len(), 1);
    for machine in [&one, &two] {
        has(machine.read("MEMORY.md"), ["Keep this sentence."]);
    }
}

#[test]
fn of_two_copies_of_a_project_on_one_machine_one_is_shared() {
    let remote = Remote::new();
    let home = Home::new();
    let folder = home.claude_folder().replace(".claude", ".qwen");
    let other = folder.replace("-project", "-copy");
    machine::make_project(&home.project());
    machine::make_project(&home.path().join("copy"));
    for (folder, text) in [(&folder, "mine"), (&other, "the copy's")] {
        home.file(&format!("{folder}/memory/MEMORY.md"), "# Memory\n");
        home.file(&format!("{folder}/memory/a.md"), text);
    }
    let settings = "[[agent]]\nname = \"qwen\"\nsync = true\n";
    home.file(".config/tome/config.toml", settings);
    home.ok(&["sync", "--init", &remote.url(), "--machine", "one"]);
    let told = home.ok(&["sync"]);
    has(&told, ["1 sent", "is the same project as"]);
    assert_eq!(home.read(&format!("{folder}/memory/a.md")), "mine");
    assert_eq!(home.read(&format!("{other}/memory/a.md")), "the copy's");
}

#[test]
fn secrets_and_orders_are_held_back_on_both_ways_until_somebody_says_otherwise() {
    let (remote, one, two) = machines(Accept);
    let secret = format!("The key is ghp_{}\n", "a1B2".repeat(9));
    one.write("key.md", &secret);
    one.write("fine.md", "nothing to hide\n");
    one.sync();
    let held = one.report().stores[0].held_back.clone();
    assert_eq!(held.len(), 1);
    assert!(held[0].is_outgoing && held[0].path == "key.md");
    assert!(!remote.has("key.md") && remote.has("fine.md"));
    // An allowed one passes here, and is held on the way in at the other machine.
    one.sync_allowing(&held[0].id);
    assert!(remote.has("key.md"));
    two.sync();
    assert!(!two.has("key.md") && two.has("fine.md"));
    two.sync_allowing("key.md");
    assert_eq!(two.read("key.md"), secret);
    assert!(
        one.report().stores[0].held_back.is_empty(),
        "it stays allowed"
    );
}

#[test]
fn a_remote_that_is_away_broken_or_another_costs_one_line() {
    let (remote, one, two) = machines(Accept);
    one.write("a.md", "text\n");
    one.sync();
    remote.hide();
    let report = one.try_sync();
    let failure = report.failure.expect("it fails");
    starts(&failure, "the remote was not reached: ");
    assert_eq!(failure.lines().count(), 1);
    remote.show();
    two.sync();
    // Another history has the place of the old one.
    remote.replace();
    one.write("b.md", "more\n");
    let failure = one.try_sync().failure.expect("it fails");
    assert!(
        failure.contains("no branch") || failure.contains("another history"),
        "{failure}"
    );
    assert_eq!(one.read("a.md"), "text\n");
    one.init(&remote);
    one.sync();
    assert!(remote.has("/a.md") && remote.has("/b.md"), "it starts anew");
}

/// Where all is agreed on, a change needs one call of the remote, which fails if there is more.
#[test]
fn a_change_is_sent_without_a_fetch_and_what_came_meanwhile_arrives() {
    let (remote, one, two) = machines(Accept);
    let fetches = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&fetches);
    let one = one.with_steps(move |step| {
        count.fetch_add(usize::from(step == "git fetch"), Ordering::SeqCst);
    });
    one.write("a.md", "text\n");
    one.sync();
    assert_eq!(fetches.swap(0, Ordering::SeqCst), 1);
    one.write("a.md", "text\nmore\n");
    one.sync();
    assert_eq!(fetches.load(Ordering::SeqCst), 0);
    assert_eq!(remote.text("a.md"), "text\nmore\n");
    two.sync();
    two.write("b.md", "theirs\n");
    two.sync();
    one.write("c.md", "mine\n");
    one.sync();
    two.sync();
    assert_eq!(one.files().len(), 3);
    assert_eq!(one.files(), two.files());
    // Without a change of its own, too.
    two.write("d.md", "theirs\n");
    two.sync();
    one.sync();
    assert!(one.has("d.md"));
}

#[test]
fn a_remote_that_takes_nothing_still_gives() {
    let (remote, one, two) = machines(Accept);
    one.write("a.md", "text\n");
    one.sync();
    two.sync();
    two.write("b.md", "theirs\n");
    two.sync();
    remote.refuse(true);
    one.write("a.md", "mine\n");
    let failure = one.try_sync().failure.expect("it fails");
    has(&failure, ["pre-receive hook declined"]);
    assert_eq!(one.read("b.md"), "theirs\n");
    remote.refuse(false);
    one.sync();
    assert_eq!(remote.text("a.md"), "mine\n");
}

#[test]
fn a_remote_that_says_nothing_is_not_waited_for() {
    let (_remote, one, _) = machines(Accept);
    let one = one.with_silent_fetches();
    one.write("a.md", "text\n");
    let failure = one.try_sync().failure.expect("it fails");
    has(&failure, ["it sent nothing for 1 s"]);
}

#[test]
fn a_hook_does_not_wait_for_a_remote() {
    use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat, open};
    let remote = Remote::new();
    let home = Home::new();
    machine::make_project(&home.project());
    home.file("project/.memory/MEMORY.md", "# Memory\n");
    home.file("project/.memory/a.md", "text\n");
    home.ok(&["sync", "--init", &remote.url(), "--machine", "one"]);
    home.ok(&["sync", "--add", ".memory"]);
    // The git of the remote waits for what comes out of this pipe.
    let pipe = remote.path().join("packed-refs");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).expect("a pipe");
    home.ok(&["sync", "--quiet"]);
    let is_read = || open(&pipe, OFlags::WRONLY | OFlags::NONBLOCK, Mode::empty());
    until(|| is_read().is_ok());
    fs::remove_file(&pipe).expect("removed");
    until(|| remote.has("a.md"));
}

/// Many files that cannot be written for one reason are one line, and the rest comes.
#[test]
fn what_cannot_be_written_is_one_line() {
    let (_remote, one, two) = machines(Accept);
    for n in 0..9 {
        one.write(&format!("deep/{n}.md"), "text\n");
    }
    for n in 0..90 {
        one.write(&format!("fine{n}.md"), "text\n");
    }
    one.sync();
    fs::write(two.root().join("deep"), "in the way\n").expect("written");
    for _ in 0..2 {
        let report = two.sync();
        assert_eq!(
            report.stores[0].notes.len(),
            1,
            "{:?}",
            report.stores[0].notes
        );
        has(&report.stores[0].notes[0], ["deep/0.md", "and 6 more"]);
        assert_eq!(two.files().len(), 90);
    }
    let records = two.history.records().expect("reads").into_iter();
    let from_one = records.filter(|record| record.author.who == "one").count();
    assert!(from_one < 20, "many at once, in {from_one} changes");
    fs::remove_file(two.root().join("deep")).expect("removed");
    two.sync();
    assert_eq!(two.files(), one.files());
}

/// Another machine sends between the fetch and the push of this one.
#[test]
fn what_was_taken_in_before_a_refused_push_is_no_change_of_this_machine() {
    let (_remote, mut one, two) = machines(Accept);
    one.write("mine.md", "first\n");
    two.write("theirs.md", "first\n");
    two.sync();
    one.sync();
    two.write("theirs.md", "first\nsecond\n");
    two.sync();
    one.write("mine.md", "first\nsecond\n");
    let two = Arc::new(two);
    let other = Arc::clone(&two);
    let theirs = one.root().join("theirs.md");
    one.before_the_push(move || {
        let is_taken_in = fs::read_to_string(&theirs).is_ok_and(|text| text.ends_with("second\n"));
        if is_taken_in {
            other.write("theirs.md", "first\nsecond\nthird\n");
            other.sync();
        }
        is_taken_in
    });
    one.sync();
    assert_eq!(one.items().len(), 0);
    assert_eq!(one.read("theirs.md"), "first\nsecond\nthird\n");
    two.sync();
    assert_eq!(two.files(), one.files());
}

#[test]
fn a_store_whose_agent_writes_all_the_time_loses_nothing() {
    let (_remote, one, two) = machines(Accept);
    one.write("a.md", "0\n");
    one.sync();
    two.sync();
    let file = one.root().join("a.md");
    let done = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let is_done = std::sync::Arc::clone(&done);
    let writer = std::thread::spawn(move || {
        let mut count = 0;
        while !is_done.load(std::sync::atomic::Ordering::SeqCst) {
            count += 1;
            let text = fs::read_to_string(&file).unwrap_or_default();
            // As agents write: the whole text, into the same file.
            fs::write(&file, format!("{text}written {count}\n")).expect("written");
            std::thread::sleep(std::time::Duration::from_millis(7));
        }
        count
    });
    for round in 0..12 {
        two.write("a.md", &format!("two {round}\n{}", two.read("a.md")));
        two.try_sync();
        one.try_sync();
    }
    done.store(true, std::sync::atomic::Ordering::SeqCst);
    let count = writer.join().expect("ended");
    for machine in [&one, &two, &one, &two] {
        machine.sync();
        machine.accept();
    }
    assert_eq!(one.read("a.md"), two.read("a.md"));
    let last = format!("written {count}\n");
    has(one.read("a.md"), [&last]);
}

#[test]
fn a_team_sends_branches_that_others_merge() {
    let remote = Remote::new();
    let one = Machine::new(&remote, "one", Review);
    let two = Machine::new(&remote, "two", Review).with_branch();
    one.write("a.md", "text\n");
    one.sync();
    two.sync();
    two.accept();
    two.write("b.md", "proposed\n");
    for _ in 0..2 {
        two.sync();
    }
    assert!(!remote.has("b.md"));
    assert_eq!(
        remote
            .git(&["rev-list", "--count", "main..tome/two"])
            .trim(),
        "1"
    );
    remote.git(&["update-ref", "refs/heads/main", "refs/heads/tome/two"]);
    one.sync();
    one.accept();
    assert_eq!(one.read("b.md"), "proposed\n");
    two.sync();
    assert_eq!(two.items().len(), 0);
    two.write("b.md", "proposed again\n");
    two.sync();
    assert_eq!(
        remote
            .git(&["rev-list", "--count", "main..tome/two"])
            .trim(),
        "1"
    );
}

/// Who goes on writing before the next sync has no conflict with the own words.
#[test]
fn what_was_merged_as_it_was_proposed_is_agreed_on() {
    let remote = Remote::new();
    let one = Machine::new(&remote, "one", Review);
    let two = Machine::new(&remote, "two", Accept).with_branch();
    one.write("a.md", "text\n");
    one.sync();
    two.sync();
    two.write("b.md", "proposed\n");
    two.sync();
    remote.git(&["update-ref", "refs/heads/main", "refs/heads/tome/two"]);
    two.write("b.md", "proposed\nmore\n");
    two.sync();
    assert_eq!(two.items().len(), 0);
    has(
        remote.git(&["diff", "main...tome/two"]),
        ["\n proposed\n+more\n"],
    );
}

#[test]
fn a_proposal_that_is_withdrawn_leaves_its_branch() {
    let remote = Remote::new();
    let one = Machine::new(&remote, "one", Review);
    let two = Machine::new(&remote, "two", Accept).with_branch();
    one.write("a.md", "text\n");
    one.sync();
    two.sync();
    let proposed = || remote.git(&["diff", "--name-only", "main...tome/two"]);
    two.write("a.md", "text\nmore\n");
    two.write("b.md", "proposed\n");
    two.sync();
    has(proposed(), ["/a.md", "/b.md"]);
    // Of two one is withdrawn, then the other.
    two.delete("b.md");
    two.sync();
    assert_eq!(proposed().lines().count(), 1, "{}", proposed());
    two.write("a.md", "text\n");
    two.sync();
    assert_eq!(proposed(), "");
    let tip = || remote.git(&["rev-parse", "tome/two"]);
    let before = tip();
    one.write("c.md", "text\n");
    one.sync();
    two.sync();
    assert_eq!(tip(), before, "nothing is proposed, nothing is sent");
    // What was merged, as one commit of somebody else's, is not withdrawn from a branch that is gone.
    two.write("b.md", "again\n");
    two.sync();
    has(proposed(), ["/b.md"]);
    let tree = remote.git(&["rev-parse", "tome/two^{tree}"]);
    let merged = remote.git(&["commit-tree", "-m", "squashed", "-p", "main", tree.trim()]);
    remote.git(&["update-ref", "refs/heads/main", merged.trim()]);
    remote.git(&["update-ref", "-d", "refs/heads/tome/two"]);
    two.sync();
    assert!(remote.has("b.md"));
    assert_eq!(remote.git(&["for-each-ref", "refs/heads/tome"]), "");
    // Nor is a branch made again that somebody removed without a merge.
    two.write("d.md", "proposed\n");
    two.sync();
    remote.git(&["update-ref", "-d", "refs/heads/tome/two"]);
    two.delete("d.md");
    two.sync();
    assert_eq!(remote.git(&["for-each-ref", "refs/heads/tome"]), "");
}

#[test]
fn a_project_that_is_not_here_is_called_by_its_name() {
    let remote = Remote::new();
    let [one, two] = ["shop", "mail"].map(|at| Machine::at(&remote, at, Accept, at));
    one.write("a.md", "text\n");
    one.sync();
    assert_eq!(two.report().elsewhere, [], "it is the same project");
    let other = two.with_another_first_commit();
    let told = other.report().elsewhere;
    let about = told.first().and_then(|(_, about)| about.as_deref());
    assert_eq!(
        (told.len(), about),
        (1, Some(".memory of the project shop"))
    );
}

#[test]
fn two_machines_of_one_name_do_not_share_a_branch() {
    let remote = Remote::new();
    let main = Machine::new(&remote, "main", Review);
    main.write("a.md", "text\n");
    main.sync();
    let [eve, fay] = ["eve", "fay"].map(|home| {
        let project = format!("{home}/project");
        Machine::at(&remote, "vm", Accept, &project).with_branch()
    });
    eve.write("eve.md", "proposed\n");
    eve.sync();
    fay.write("fay.md", "proposed\n");
    let failure = fay.try_sync().failure.expect("it is refused");
    has(&failure, ["tome/vm", "--machine NAME"]);
    eve.write("eve.md", "proposed again\n");
    eve.sync();
    has(remote.git(&["log", "--stat", "tome/vm"]), ["eve.md"]);
}

/// Where an agent keeps its memories of a project is looked up on each machine, also where it has
/// none yet.
#[test]
fn an_agents_own_place_is_mapped_by_the_project() {
    let remote = Remote::new();
    let settings = "[[agent]]\nname = \"claude\"\nsync = true\n";
    let homes = [Home::new(), Home::new()];
    let slug = |home: &Home| {
        let path = home.project().display().to_string();
        path.replace(|c: char| !c.is_ascii_alphanumeric(), "-")
    };
    for (home, name) in homes.iter().zip(["one", "two"]) {
        machine::make_project(&home.project());
        home.file(".config/tome/config.toml", settings);
        home.ok(&["sync", "--init", &remote.url(), "--machine", name]);
    }
    let [one, two] = &homes;
    let memory = |home: &Home, name: &str| format!(".claude/projects/{}/memory/{name}", slug(home));
    one.file(&memory(one, "a.md"), "text\n");
    let index = "# Mine\n\n- [A](a.md) - my words\n\nBe brief.\n";
    one.file(&memory(one, "MEMORY.md"), index);
    // It is the same from elsewhere, where only the name of the directory tells the project.
    let elsewhere = one
        .command(&["sync", "--json"])
        .current_dir(one.path())
        .output();
    let told: Value = serde_json::from_slice(&elsewhere.expect("runs").stdout).expect("JSON");
    let key = told["stores"][0]["key"].as_str().expect("a key").to_owned();
    assert!(key.ends_with("-claude"), "{told}");
    one.ok(&["sync"]);
    assert!(
        remote.has(&format!("stores/{key}/a.md")),
        "{:?}",
        remote.paths()
    );
    // Who chose it there has no folder for it yet, either.
    two.ok(&["sync", "--add", "claude"]);
    lacks(two.ok(&["sync"]), ["not shared", "gone"]);
    two.ok(&["review", "--accept", "all"]);
    assert_eq!(two.read(&memory(two, "a.md")), "text\n");
    // The index that comes with its memories has no line about itself.
    assert_eq!(two.read(&memory(two, "MEMORY.md")), index);
}

/// With git or by a name, also in cron, which starts in no project.
#[test]
fn what_was_chosen_in_a_project_goes_on_from_anywhere() {
    let remote = Remote::new();
    let home = Home::new();
    machine::make_project(&home.project());
    home.ok(&["sync", "--init", &remote.url(), "--machine", "one"]);
    let at = |folder: &str, args: &[&str]| {
        let mut command = home.command(args);
        let output = command.current_dir(home.path().join(folder)).output();
        String::from_utf8(output.expect("runs").stdout).expect("text")
    };
    for (folder, name) in [("project", None), ("plain", Some("Notes"))] {
        home.file(&format!("{folder}/.memory/MEMORY.md"), "# Memory\n");
        home.file(&format!("{folder}/.memory/a.md"), "text\n");
        let add = ["sync", "--add", ".memory"].into_iter();
        let named = name.into_iter().flat_map(|name| ["--project", name]);
        at(folder, &add.chain(named).collect::<Vec<_>>());
        has(at(folder, &["sync"]), ["1 sent"]);
    }
    for folder in ["project", "plain"] {
        home.file(&format!("{folder}/.memory/b.md"), "more\n");
    }
    lacks(at("", &["sync", "--dry-run"]), ["not on this machine"]);
    let told = at("", &["sync"]);
    has(
        &told,
        ["/plain/.memory): 1 sent", "/project/.memory): 1 sent"],
    );
    let there = remote.paths();
    let folders = there.iter().filter_map(|path| path.split('/').nth(1));
    let folders: std::collections::BTreeSet<&str> = folders.collect();
    assert_eq!((there.len(), folders.len()), (4, 2), "{there:?}");
}

/// The program is killed at every step of a sync: of its own, of its changes, before and after every
/// call of git. The next sync ends as if nothing had happened. By default every seventh step is taken;
/// with `TOME_SYNC_STRIDE=1` every one.
#[test]
fn killed_at_every_step_it_goes_on() {
    let remote = Remote::new();
    let template = Home::in_memory();
    machine::make_project(&template.project());
    template.file("project/.memory/MEMORY.md", "# Memory\n");
    template.ok(&["sync", "--init", &remote.url(), "--machine", "two"]);
    template.file(
        ".config/tome/config.toml",
        "[[agent]]\nname = \".memory\"\nsync = true\nincoming = \"accept\"\n",
    );
    let one = Machine::new(&remote, "one", Accept);
    one.write("base.md", "1\n2\n3\n");
    one.write("gone.md", "deleted later\n");
    one.sync();
    template.ok(&["sync"]);
    one.write("base.md", "one\n2\n3\n");
    one.write("new.md", "new\n");
    one.delete("gone.md");
    one.sync();
    template.file("project/.memory/base.md", "1\n2\ntwo\n");
    template.file("project/.memory/own.md", "own\n");
    let (before, start) = (remote.copied(), template.path());
    let stride = std::env::var("TOME_SYNC_STRIDE").ok();
    let stride = stride.and_then(|stride| stride.parse().ok()).unwrap_or(7);
    let (mut step, mut kills) = (1, 0);
    loop {
        let home = Home::in_memory();
        fs::remove_dir_all(home.project()).expect("removed");
        crate::support::copy(&start, &home.path());
        remote.restore(before.path());
        let Some(paused) = home.paused_at(&["sync"], step) else {
            break;
        };
        Paused::kill(paused);
        kills += 1;
        home.ok(&["list"]);
        home.ok(&["sync"]);
        let at = format!("step {step}");
        assert_eq!(
            home.read("project/.memory/base.md"),
            "one\n2\ntwo\n",
            "{at}"
        );
        assert_eq!(home.read("project/.memory/new.md"), "new\n", "{at}");
        assert!(!home.project().join(".memory/gone.md").exists(), "{at}");
        let status: Value = serde_json::from_str(&home.ok(&["sync", "--json"])).expect("JSON");
        assert_eq!(
            status["stores"][0]["files"].as_array().map(Vec::len),
            Some(0),
            "{at}: {status}"
        );
        let there = remote.text("base.md");
        assert_eq!(
            (there.as_str(), remote.text("own.md").as_str()),
            ("one\n2\ntwo\n", "own\n"),
            "{at}"
        );
        step += stride;
    }
    assert!(kills * stride > 60, "only {kills} steps were seen");
    report(&format!("sync: killed at {kills} of {} steps", step - 1));
}

#[test]
fn the_command_tells_what_it_does() {
    let remote = Remote::new();
    let home = Home::new();
    machine::make_project(&home.project());
    let none = home.run(&["sync"]);
    assert_eq!((none.code, none.out.as_str()), (1, ""));
    has(&none.err, ["tome sync --init URL"]);
    home.ok(&["sync", "--quiet"]);
    home.ok(&["sync", "--init", &remote.url(), "--machine", "one"]);
    home.file("project/.memory/MEMORY.md", "# Memory\n");
    home.file("project/.memory/a.md", "text\n");
    let nothing = home.ok(&["sync"]);
    has(&nothing, ["no store is shared"]);
    home.ok(&["sync", "--add", ".memory"]);
    let dry = home.ok(&["sync", "--dry-run"]);
    has(&dry, ["would be: 1 sent"]);
    assert_eq!(remote.paths(), [""; 0]);
    let done = home.ok(&["sync"]);
    has(&done, [".memory: 1 sent"]);
    let status = home.ok(&["sync", "--status"]);
    has(
        &status,
        ["1 file shared, incoming review, outgoing push", "last sync"],
    );
    let doctor = home.run(&["doctor"]).out;
    has(&doctor, ["(branch main) as one, last"]);
    has(home.ok(&["stores"]), [", synced"]);
    let secret = format!("The key is ghp_{}\n", "a1B2".repeat(9));
    home.file("project/.memory/key.md", &secret);
    has(home.ok(&["sync"]), ["held back"]);
    has(home.ok(&["stores"]), [", synced, 1 held back"]);
    has(home.run(&["doctor"]).out, ["sync: 1 held back"]);
    // A sync that fails does not forget it.
    let (there, away) = (remote.path(), remote.path().with_extension("away"));
    std::fs::rename(&there, &away).expect("the remote goes away");
    let failed = home.run(&["sync"]);
    assert_eq!(failed.code, 1);
    starts(&failed.out, ".memory: nothing to send\n");
    assert_eq!(failed.err.lines().count(), 1, "{}", failed.err);
    has(home.ok(&["stores"]), [", synced, 1 held back"]);
    std::fs::rename(&away, &there).expect("the remote is back");
    home.ok(&["sync", "--stop"]);
    lacks(home.ok(&["stores"]), ["synced"]);
    let refused = home.run(&["sync", "--add", ".memory"]);
    assert_eq!(refused.code, 2);
    has(&refused.err, ["tome sync --init URL"]);
    home.ok(&["sync", "--init", &remote.url(), "--machine", "one"]);
    has(home.ok(&["stores"]), [", synced"]);
    home.ok(&["sync", "--drop", ".memory"]);
    lacks(home.ok(&["stores"]), ["synced"]);
    lacks(home.run(&["doctor"]).out, ["held back"]);
    home.ok(&["sync", "--stop"]);
    assert_eq!(home.run(&["sync"]).code, 1);
    // A folder that is not there becomes a repository.
    home.ok(&["sync", "--init", "../remote.git"]);
    assert!(home.path().join("remote.git/HEAD").is_file());
    // A project without git needs a name.
    let bare = Home::new();
    fs::remove_dir_all(bare.project().join(".git")).expect("removed");
    bare.file("project/.memory/MEMORY.md", "# Memory\n");
    bare.file("project/.memory/a.md", "text\n");
    bare.ok(&["sync", "--init", &remote.url(), "--machine", "two"]);
    bare.ok(&["sync", "--add", ".memory"]);
    let told = bare.ok(&["sync"]);
    has(&told, ["not shared", "--project NAME"]);
    bare.ok(&["sync", "--add", ".memory", "--project", "Notes"]);
    bare.ok(&["sync"]);
    assert!(
        remote.has("stores/notes-.memory/a.md"),
        "{:?}",
        remote.paths()
    );
}
