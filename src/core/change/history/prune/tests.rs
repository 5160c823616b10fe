//! Tests of what pruning removes and what it keeps.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::core::change::history::{Author, FileChange, Tombstone};
use crate::core::memory::layout::Layout;

const DAY: i64 = 86_400_000;

fn record(id: &str, day: i64, texts: (Option<&str>, Option<&str>)) -> Record {
    let revision = |text: Option<&str>| text.map(|text| Revision::of(text.as_bytes()));
    Record {
        id: id.to_owned(),
        time: day * DAY,
        author: Author::test(),
        verb: ChangeVerb::Write,
        message: format!("{id} made"),
        of: None,
        files: vec![FileChange {
            before: revision(texts.0),
            after: revision(texts.1),
            added: 1,
            ..FileChange::new(Path::new("/r"), Layout::Index, "a.md")
        }],
        origin: None,
        tombstones: Vec::new(),
    }
}

fn text(number: usize) -> String {
    let line = |n: usize| {
        let hash = blake3::hash(&n.to_le_bytes()).to_hex();
        format!("line {n}: {hash}\n")
    };
    let changed = 1000 + number;
    (0..60).map(line).chain([line(changed)]).collect()
}

/// A history of changes on days 0 to `count`, one a day, of one file.
fn filled(dir: &Path, count: usize) -> History {
    let history = History::open(dir);
    for number in 0..count {
        let (before, after) = (text(number), text(number + 1));
        history.keep(before.as_bytes()).expect("keeps");
        history.keep(after.as_bytes()).expect("keeps");
        let day = i64::try_from(number).expect("small");
        let made = record(
            &format!("ID{number:04}"),
            day,
            (Some(&before), Some(&after)),
        );
        history.record(&made).expect("records");
    }
    history
}

fn ids(history: &History) -> Vec<String> {
    let records = history.records().expect("reads");
    records.into_iter().map(|record| record.id).collect()
}

/// Every version that the journal names can be read.
fn is_whole(history: &History) {
    for record in history.records().expect("reads") {
        for revision in record.revisions() {
            history
                .version(&revision)
                .expect("what is kept can be read");
        }
    }
    assert_eq!(history.health().expect("looks").damaged, []);
}

fn older_than(day: i64) -> PruneOptions {
    PruneOptions {
        before: Some(day * DAY),
        most_bytes: None,
    }
}

#[test]
fn old_changes_go_with_the_versions_that_only_they_needed() {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let history = filled(temp.path(), 30);
    let dry = history.prune(&older_than(20), RunMode::Dry).expect("looks");
    assert_eq!(ids(&history).len(), 30, "a dry run changes nothing");
    let pruned = history
        .prune(&older_than(20), RunMode::Real)
        .expect("prunes");
    assert_eq!(dry, pruned, "a dry run tells the truth");
    assert_eq!((pruned.changes, pruned.kept), (20, 10));
    assert_eq!(ids(&history)[0], "ID0020");
    assert_eq!(pruned.bytes_after, size_of(temp.path()));
    assert!(pruned.bytes_after < pruned.bytes_before);
    is_whole(&history);
    is_whole(&History::open(temp.path()));
    // Version 20 is the base of the first change that stays; the version before it is gone.
    let gone = Revision::of(text(19).as_bytes());
    assert!(history.version(&gone).is_err());
    let again = history
        .prune(&older_than(20), RunMode::Real)
        .expect("prunes");
    assert_eq!((again.changes, again.versions), (0, 0));
    assert_eq!(again.bytes_before, again.bytes_after);
    // The history still works.
    history.keep(text(31).as_bytes()).expect("keeps");
    assert!(history.version(&Revision::of(text(31).as_bytes())).is_ok());
}

#[test]
fn the_oldest_changes_go_until_the_history_is_small_enough() {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let history = filled(temp.path(), 40);
    let most = size_of(temp.path()) / 2;
    let pruning = PruneOptions {
        before: None,
        most_bytes: Some(most),
    };
    let pruned = history.prune(&pruning, RunMode::Real).expect("prunes");
    assert!(pruned.kept > 10, "{pruned:?}");
    assert!(pruned.bytes_after <= most, "{pruned:?} of {most}");
    assert_eq!(ids(&history).last().map(String::as_str), Some("ID0039"));
    is_whole(&history);
    let nothing = PruneOptions {
        before: None,
        most_bytes: Some(0),
    };
    let pruned = history.prune(&nothing, RunMode::Real).expect("prunes");
    assert_eq!(pruned.kept, 0);
    assert_eq!(ids(&history), [""; 0]);
    assert_eq!(size_of(&history.versions_path()), 0);
    assert_eq!(history.undoable(&[Path::new("/r")]).expect("reads"), None);
}

#[test]
fn no_change_makes_room_for_what_a_killed_process_left() {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let history = filled(temp.path(), 10);
    let compact = history.prune(&PruneOptions::default(), RunMode::Real);
    compact.expect("prunes");
    let most = size_of(temp.path());
    let left = temp.path().join("versions.bin.1-1.tome.tmp");
    fs::write(left, vec![0; 1 << 20]).expect("writes");
    let pruning = PruneOptions {
        before: None,
        most_bytes: Some(most),
    };
    let pruned = history.prune(&pruning, RunMode::Real).expect("prunes");
    assert_eq!((pruned.changes, pruned.kept), (0, 10));
}

#[test]
fn the_versions_of_a_line_that_cannot_be_read_stay() {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let history = filled(temp.path(), 3);
    let journal = temp.path().join("journal.jsonl");
    let lines = fs::read_to_string(&journal).expect("reads");
    let broken = lines.replace("{\"id\":\"ID0001\"", "{id:\"ID0001\"");
    assert_ne!(broken, lines);
    fs::write(&journal, broken).expect("writes");
    let pruned = history.prune(&older_than(99), RunMode::Real);
    assert_eq!(pruned.expect("prunes").changes, 2);
    history
        .version(&Revision::of(text(1).as_bytes()))
        .expect("still there");
}

#[test]
fn versions_stay_if_the_journal_cannot_be_replaced() {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let history = filled(temp.path(), 5);
    let before = fs::read(temp.path().join("journal.jsonl")).expect("reads");
    let stored = history.stored_versions().expect("reads");
    let failed = history.replace_versions(&stored[1..], || {
        Err(Error::refused("journal.jsonl", "the disk is full"))
    });
    let told = failed.expect_err("fails").to_string();
    assert!(told.contains("the disk is full"), "{told}");
    let after = fs::read(temp.path().join("journal.jsonl")).expect("reads");
    assert_eq!(before, after);
    is_whole(&history);
}

#[test]
fn a_history_of_just_the_size_that_is_allowed_stays() {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let history = filled(temp.path(), 10);
    let compact = history.prune(&PruneOptions::default(), RunMode::Real);
    compact.expect("prunes");
    let size = size_of(temp.path());
    for (most, kept) in [(size, 10), (size - 1, 9)] {
        let pruning = PruneOptions {
            before: None,
            most_bytes: Some(most),
        };
        let pruned = history.prune(&pruning, RunMode::Dry).expect("looks");
        assert_eq!(pruned.kept, kept, "{most} of {size}");
    }
}

#[test]
fn a_change_that_one_that_stays_took_back_stays_too() {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let history = filled(temp.path(), 10);
    let mut undo = record("UNDO", 50, (Some(&text(4)), Some(&text(3))));
    (undo.verb, undo.of) = (ChangeVerb::Undo, Some("ID0003".to_owned()));
    let mut redo = record("REDO", 51, (Some(&text(3)), Some(&text(4))));
    (redo.verb, redo.of) = (ChangeVerb::Redo, Some("UNDO".to_owned()));
    history.record(&undo).expect("records");
    history.record(&redo).expect("records");
    // A restored version is a version like any other: the change that it is of may go.
    let mut restored = record("RESTORED", 52, (Some(&text(4)), Some(&text(7))));
    (restored.verb, restored.of) = (ChangeVerb::Restore, Some("ID0006".to_owned()));
    history.record(&restored).expect("records");
    history
        .prune(&older_than(51), RunMode::Real)
        .expect("prunes");
    assert_eq!(ids(&history), ["ID0003", "UNDO", "REDO", "RESTORED"]);
    is_whole(&history);
    let redo = history.find("REDO").expect("there");
    assert_eq!(history.reversal(redo).expect("leads back").0.id, "ID0003");
}

#[test]
fn tombstones_and_lines_that_cannot_be_read_outlive_their_changes() {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let history = filled(temp.path(), 3);
    for (id, day) in [("GONE1", 4), ("GONE2", 9)] {
        let mut delete = record(id, day, (Some(&text(3)), None));
        delete.verb = ChangeVerb::Delete;
        delete.tombstones.push(Tombstone {
            path: "a.md".to_owned(),
            name: id.to_owned(),
            revision: Revision::of(text(3).as_bytes()),
            words: vec!["word".to_owned()],
        });
        history.record(&delete).expect("records");
    }
    let journal = temp.path().join("journal.jsonl");
    let mut bytes = fs::read(&journal).expect("reads");
    bytes.extend(b"{\"torn\n");
    fs::write(&journal, bytes).expect("writes");
    let before = history.deleted_memories().expect("reads");
    assert_eq!(before.len(), 2);
    for day in [5, 10, 11] {
        history
            .prune(&older_than(day), RunMode::Real)
            .expect("prunes");
        assert_eq!(history.deleted_memories().expect("reads"), before);
        assert_eq!(history.broken_lines().expect("reads"), 1);
    }
    assert_eq!(ids(&history), [""; 0]);
}

#[test]
fn what_an_unfinished_change_needs_stays() {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let history = filled(temp.path(), 5);
    let intent = record("INTENT", 1, (Some(&text(1)), Some(&text(2))));
    history.record_intent(&intent).expect("intends");
    history
        .prune(&older_than(99), RunMode::Real)
        .expect("prunes");
    assert_eq!(ids(&history), [""; 0]);
    for revision in intent.revisions() {
        history.version(&revision).expect("still there");
    }
    assert!(history.version(&Revision::of(text(4).as_bytes())).is_err());
}

#[test]
fn a_damaged_version_is_still_told_after_pruning() {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let history = filled(temp.path(), 20);
    let damaged = text(12);
    let path = history.versions_path();
    let mut bytes = fs::read(&path).expect("reads");
    let stored = history.stored_versions().expect("reads");
    let at = stored.iter().take(13).map(StoredVersion::length);
    let at = usize::try_from(at.sum::<u64>()).expect("small") - 1;
    bytes[at] ^= 1;
    fs::write(&path, bytes).expect("writes");
    history
        .prune(&older_than(10), RunMode::Real)
        .expect("prunes");
    let health = history.health().expect("looks");
    let told: Vec<Revision> = health.damaged.iter().map(|one| one.revision).collect();
    assert_eq!(told, [Revision::of(damaged.as_bytes())]);
    assert_eq!(health.damaged[0].place, path);
    // Storing the good bytes repairs it.
    history.keep(damaged.as_bytes()).expect("keeps");
    is_whole(&history);
    history
        .prune(&older_than(10), RunMode::Real)
        .expect("prunes");
    is_whole(&history);
}

#[test]
fn a_process_that_dies_while_pruning_leaves_the_old_or_the_new_history() {
    let stops = AtomicUsize::new(0);
    for stop in 1.. {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let old = ids(&filled(temp.path(), 12));
        let count = AtomicUsize::new(0);
        let observer = move |_: &str| {
            if count.fetch_add(1, Ordering::SeqCst) + 1 == stop {
                std::panic::panic_any("stopped");
            }
            Ok(())
        };
        let history = History::with_observer(temp.path(), Arc::new(observer));
        let run = std::panic::AssertUnwindSafe(|| history.prune(&older_than(6), RunMode::Real));
        let is_done = std::panic::catch_unwind(run).is_ok();
        let after = History::open(temp.path());
        let kept = ids(&after);
        assert!(kept == old || kept == old[6..], "{kept:?}");
        is_whole(&after);
        after.prune(&older_than(6), RunMode::Real).expect("prunes");
        assert_eq!(ids(&after), old[6..]);
        is_whole(&after);
        let gone = Revision::of(text(5).as_bytes());
        assert!(after.version(&gone).is_err(), "unneeded versions are gone");
        if is_done {
            break;
        }
        stops.fetch_add(1, Ordering::SeqCst);
    }
    assert!(stops.load(Ordering::SeqCst) >= 3);
}

#[test]
fn a_journal_of_a_later_schema_is_not_pruned() {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let history = filled(temp.path(), 2);
    let journal = temp.path().join("journal.jsonl");
    let text = fs::read_to_string(&journal).expect("reads");
    let later = text.replace("\"schema\":1", "\"schema\":7");
    fs::write(&journal, &later).expect("writes");
    let error = history
        .prune(&older_than(99), RunMode::Real)
        .expect_err("refused");
    assert!(error.to_string().contains("later tome"), "{error}");
    assert_eq!(fs::read_to_string(&journal).expect("reads"), later);
}

#[test]
fn a_history_with_nothing_to_remove_is_left_as_it_is() {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let history = filled(temp.path(), 5);
    history
        .prune(&older_than(2), RunMode::Real)
        .expect("prunes");
    let steps = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&steps);
    let history = History::with_observer(
        temp.path(),
        Arc::new(move |_| {
            counted.fetch_add(1, Ordering::SeqCst);
            Ok(())
        }),
    );
    let again = history.prune(&older_than(2), RunMode::Real).expect("looks");
    assert_eq!((again.changes, again.versions), (0, 0));
    assert_eq!(again.bytes_after, again.bytes_before);
    assert_eq!(steps.load(Ordering::SeqCst), 0, "nothing is written");
}
