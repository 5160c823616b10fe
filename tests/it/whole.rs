//! A change is made as a whole or not at all, whatever other programs write meanwhile.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use tome::core::change::history::{History, Observer};
use tome::core::change::{
    Change, ChangeRequest, Direction, interrupted, plan, plan_and_commit, replay,
};
use tome::core::memory::layout::Layout;
use tome::core::memory::store::Store;
use tome::core::{Error, Result};

use crate::store::{TestStore, append as adding, author, change_context, delete, patch, rename};
use crate::support::{Home, chmod, has, recover_all, tree};

impl TestStore {
    /// A facts store with these files.
    fn of(files: &[(&str, &str)]) -> Self {
        let bench = Self::new(Layout::Facts);
        for (path, text) in files {
            let folder = bench.path(path);
            fs::create_dir_all(folder.parent().expect("a folder")).expect("made");
            bench.file(path, text);
        }
        bench
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    fn observed(
        &self,
        observer: impl Fn(&str) -> std::io::Result<()> + Send + Sync + 'static,
    ) -> History {
        let observer: Observer = Arc::new(observer);
        History::with_observer(&self.dir.path().join("history"), observer)
    }

    fn plan(&self, request: &ChangeRequest) -> Result<Change> {
        plan(&self.store(), request, &change_context())
    }

    fn make_by(&self, history: &History, request: &ChangeRequest) -> Result<()> {
        let (author, moment) = (&author(), &change_context().moment);
        plan_and_commit::<Error>(history, &[&self.root()], author, moment, || {
            self.plan(request)
        })
        .map(drop)
    }

    /// No temporary file is left.
    fn is_clean(&self) {
        let left = tree(&self.root());
        assert!(left.keys().all(|path| !path.contains(".tome-")), "{left:?}");
    }

    fn lose_temporary_files(&self) {
        for name in tree(&self.root()).into_keys() {
            if name.contains(".tome-") {
                fs::remove_file(self.path(&name)).expect("removed");
            }
        }
    }

    fn recover(&self, history: &History) -> Result<()> {
        recover_all(history, &[&self.root()])
    }

    /// The text of every version in the history.
    fn versions(&self) -> Vec<String> {
        let history = self.history();
        let records = history.records().expect("readable");
        let files = records.iter().flat_map(|record| &record.files);
        let versions = files.flat_map(|file| [file.before, file.after]).flatten();
        versions
            .map(|revision| history.version(&revision).expect("kept"))
            .map(|bytes| String::from_utf8(bytes).expect("text"))
            .collect()
    }
}

/// An observer that fails from the first step that starts with `at` on.
fn failing_from(at: &'static str) -> impl Fn(&str) -> std::io::Result<()> + Send + Sync {
    let failed = AtomicBool::new(false);
    move |step: &str| {
        if step.starts_with(at) || failed.load(Ordering::SeqCst) {
            failed.store(true, Ordering::SeqCst);
            return Err(std::io::ErrorKind::PermissionDenied.into());
        }
        Ok(())
    }
}

/// An observer that fails at every step that starts with `at`.
fn failing_at(at: &'static str) -> impl Fn(&str) -> std::io::Result<()> + Send + Sync + Copy {
    move |step: &str| {
        if step.starts_with(at) {
            return Err(std::io::ErrorKind::PermissionDenied.into());
        }
        Ok(())
    }
}

#[test]
fn a_folder_without_rights_stops_the_whole_change_and_not_the_store() {
    let home = Home::new();
    home.file("project/data/memory/facts/a.md", "# A\n\none\n");
    home.file("project/data/memory/zz/b.md", "# B\n\ntwo\n");
    let before = tree(&home.project());
    let closed = home.project().join("data/memory/zz");
    chmod(&closed, 0o555);
    let facts = home.project().join("data/memory/facts");
    let changed = || fs::metadata(&facts).expect("there").modified().ok();
    let untouched = changed();
    let output = home.run_without_rights(&["delete", "facts/a.md", "zz/b.md"]);
    assert_eq!(output.code, 2, "{output:?}");
    has(&output.err, ["zz/b.md: permission denied"]);
    assert_eq!(tree(&home.project()), before);
    assert_eq!(changed(), untouched, "no file was set aside and put back");
    let history = home.run_without_rights(&["history", "--json"]);
    assert!(
        history.out.contains("\"changes\": []") || history.out.contains("\"changes\":[]"),
        "{history:?}"
    );
    let output = home.run_without_rights(&["append", "facts/a.md", "--content", "more\n"]);
    assert_eq!(output.code, 0, "{output:?}");
    assert_eq!(home.run_without_rights(&["undo"]).code, 0);
    assert_eq!(tree(&home.project()), before);
    chmod(&closed, 0o755);
}

#[test]
fn an_edit_of_a_file_that_was_replaced_before_a_crash_stays() {
    let bench = TestStore::of(&[
        ("facts/a.md", "# A\n\none\n"),
        ("facts/b.md", "# B\n\ntwo\n"),
    ]);
    let rename = rename("facts/b.md", "facts/c.md");
    fs::write(bench.path("facts/a.md"), "# A\n\nsee [b](b.md)\n").expect("written");
    let history = bench.observed(failing_from("set aside facts/b.md"));
    bench.make_by(&history, &rename).expect_err("fails");
    assert_eq!(bench.read("facts/a.md"), "# A\n\nsee [b](c.md)\n");
    let edited = "# A\n\nsee [b](c.md)\nan agent's line\n";
    fs::write(bench.path("facts/a.md"), edited).expect("written");
    bench.recover(&bench.history()).expect("settles");
    assert_eq!(bench.read("facts/a.md"), edited);
    assert_eq!(bench.read("facts/b.md"), "# B\n\ntwo\n");
    assert!(!bench.path("facts/c.md").exists());
    let records = bench.history().records().expect("readable");
    assert_eq!(records.len(), 1, "the part that stands is recorded");
    assert_eq!(records[0].files[0].path, "facts/a.md");
}

#[test]
fn a_file_that_cannot_be_taken_back_is_named_and_the_store_goes_on() {
    let bench = TestStore::of(&[
        ("facts/a.md", "# A\n\none\n"),
        ("facts/b.md", "# B\n\ntwo\n"),
    ]);
    let history = bench.observed(failing_from("set aside facts/b.md"));
    bench
        .make_by(&history, &delete(&["facts/a.md", "facts/b.md"]))
        .expect_err("fails");
    // The recovery succeeds in everything except restoring this one file.
    let stuck = failing_at("put back facts/a.md");
    let error = bench
        .recover(&bench.observed(stuck))
        .expect_err("one file is left");
    has(error.to_string(), ["facts/a.md"]);
    let intents = bench.history().intents();
    assert_eq!(intents.len(), 1);
    has(&intents[0].problems[0], ["facts/a.md"]);
    // Another file of the store can be changed meanwhile.
    bench
        .make_by(&bench.observed(stuck), &patch("facts/b.md", "two", "2"))
        .expect("the store goes on");
    bench.recover(&bench.history()).expect("settles");
    assert_eq!(bench.read("facts/a.md"), "# A\n\none\n");
    assert!(bench.history().intents().is_empty());
}

#[test]
fn a_change_of_a_file_that_could_not_be_taken_back_makes_the_old_one_history() {
    let bench = TestStore::of(&[
        ("facts/a.md", "# A\n\none\n"),
        ("facts/b.md", "# B\n\ntwo\n"),
    ]);
    let rename = rename("facts/b.md", "facts/c.md");
    fs::write(bench.path("facts/a.md"), "# A\n\nsee [b](b.md)\n").expect("written");
    let history = bench.observed(failing_from("set aside facts/b.md"));
    bench.make_by(&history, &rename).expect_err("fails");
    let stuck = failing_at("exchange back");
    let history = bench.observed(stuck);
    bench
        .make_by(&history, &patch("facts/a.md", "see", "look at"))
        .expect("made");
    assert_eq!(bench.read("facts/a.md"), "# A\n\nlook at [b](c.md)\n");
    let records = history.records().expect("readable");
    assert_eq!(records.len(), 2, "{records:?}");
    has(&records[0].message, ["in part"]);
    bench.recover(&bench.history()).expect("settles");
    assert_eq!(bench.read("facts/a.md"), "# A\n\nlook at [b](c.md)\n");
}

#[test]
fn undo_gives_the_time_of_a_file_back() {
    let home = Home::new();
    home.file("project/data/memory/facts/a.md", "# A\n\none\n");
    home.file("project/data/memory/facts/b.md", "# B\n\ntwo\n");
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_600_000_000);
    for name in ["a", "b"] {
        let path = home.project().join(format!("data/memory/facts/{name}.md"));
        let file = fs::File::options().write(true).open(path).expect("opens");
        file.set_modified(long_ago).expect("set");
    }
    let time = |name: &str| {
        let path = home.project().join(format!("data/memory/facts/{name}.md"));
        fs::metadata(path)
            .expect("there")
            .modified()
            .expect("a time")
    };
    home.ok("delete facts/a.md");
    home.ok("undo");
    assert_eq!(time("a"), long_ago, "after a delete");
    home.ok("patch facts/b.md --old two --new 2");
    assert_ne!(time("b"), long_ago);
    home.ok("undo");
    assert_eq!(time("b"), long_ago, "after a patch");
    home.ok("delete facts/a.md");
    let change = home.json("history --limit 1");
    home.ok(&[
        "restore",
        change["changes"][0]["id"].as_str().expect("an id"),
    ]);
    assert_eq!(time("a"), long_ago, "after a restore");
    home.ok("rename facts/a.md facts/z.md");
    assert_eq!(time("z"), long_ago, "after a rename");
}

#[test]
fn what_is_written_between_the_last_check_and_the_exchange_is_a_conflict_that_is_planned_again() {
    let bench = TestStore::of(&[("facts/a.md", "# A\n\none\n")]);
    let file = bench.path("facts/a.md");
    let written = AtomicBool::new(false);
    let history = bench.observed(move |step| {
        if step == "exchange facts/a.md" && !written.swap(true, Ordering::SeqCst) {
            append(&file, "an agent's line\n");
        }
        Ok(())
    });
    bench
        .make_by(&history, &patch("facts/a.md", "one", "1"))
        .expect("made");
    assert_eq!(bench.read("facts/a.md"), "# A\n\n1\nan agent's line\n");
}

#[test]
fn what_is_written_into_the_displaced_file_is_a_version_and_merged() {
    let bench = TestStore::of(&[("facts/a.md", "# A\n\none\n\nmiddle\n\nend\n")]);
    let path = bench.path("facts/a.md");
    let opened = std::sync::Mutex::new(None);
    let begun = AtomicBool::new(false);
    let history = bench.observed(move |step| {
        let mut opened = opened.lock().expect("not poisoned");
        if step == "exchange facts/a.md" && !begun.swap(true, Ordering::SeqCst) {
            let file = fs::File::options().append(true).open(&path);
            *opened = Some(file.expect("opens"));
        }
        if step == "flush facts/a.md"
            && let Some(mut file) = opened.take()
        {
            file.write_all(b"an agent's line\n").expect("written");
        }
        Ok(())
    });
    bench
        .make_by(&history, &patch("facts/a.md", "one", "1"))
        .expect("made");
    let text = bench.read("facts/a.md");
    assert_eq!(text, "# A\n\n1\n\nmiddle\n\nend\nan agent's line\n");
    let records = bench.history().records().expect("readable");
    let who: Vec<&str> = records.iter().map(|r| r.author.who.as_str()).collect();
    assert_eq!(who, ["outside", "you", "outside"]);
    bench.is_clean();
}

fn append(path: &Path, line: &str) {
    let mut file = fs::File::options().append(true).open(path).expect("opens");
    file.write_all(line.as_bytes()).expect("written");
}

#[test]
fn a_change_that_is_overtaken_every_time_is_given_up_as_a_conflict() {
    let bench = TestStore::of(&[("facts/a.md", "# A\n\none\n")]);
    let request = patch("facts/a.md", "one", "1");
    let (author, moment) = (&author(), &change_context().moment);
    let mut plans = 0;
    let made = plan_and_commit::<Error>(&bench.history(), &[&bench.root()], author, moment, || {
        plans += 1;
        assert!(plans < 1_000, "it is never given up");
        let change = bench.plan(&request);
        append(&bench.path("facts/a.md"), "an agent's line\n");
        change
    });
    assert!(matches!(made, Err(Error::Conflict(_))), "{made:?}");
    assert_eq!(plans, 20);
    assert_eq!(
        bench.read("facts/a.md"),
        format!("# A\n\none\n{}", "an agent's line\n".repeat(plans))
    );
    assert!(bench.history().records().expect("readable").is_empty());
}

#[test]
fn a_change_is_made_when_its_line_is_in_the_journal() {
    for (step, is_made) in [("record", false), ("record: done", true)] {
        let bench = TestStore::of(&[("facts/a.md", "# A\n\none\n")]);
        let history = bench.observed(move |now| {
            if now == step {
                Err(std::io::ErrorKind::PermissionDenied.into())
            } else {
                Ok(())
            }
        });
        let made = bench.make_by(&history, &patch("facts/a.md", "one", "1"));
        assert_eq!(made.is_ok(), is_made, "{step}: {made:?}");
        let text = if is_made {
            "# A\n\n1\n"
        } else {
            "# A\n\none\n"
        };
        assert_eq!(bench.read("facts/a.md"), text, "{step}");
        let records = bench.history().records().expect("readable");
        assert_eq!(records.len(), usize::from(is_made), "{step}");
        assert!(bench.history().intents().is_empty(), "{step}");
        bench.is_clean();
    }
}

#[test]
fn a_new_file_that_somebody_made_meanwhile_is_added_to() {
    let bench = TestStore::of(&[("facts/a.md", "# A\n\none\n")]);
    let file = bench.path("facts/new.md");
    let history = bench.observed(move |step| {
        if step == "place facts/new.md" && !file.exists() {
            fs::write(&file, "theirs\n").expect("written");
        }
        Ok(())
    });
    bench
        .make_by(&history, &adding("facts/new.md", "mine\n"))
        .expect("made");
    assert_eq!(bench.read("facts/new.md"), "theirs\nmine\n");
}

#[test]
fn a_new_file_that_cannot_be_placed_leaves_nothing_behind() {
    let bench = TestStore::of(&[("facts/a.md", "# A\n\none\n")]);
    let before = tree(&bench.root());
    let history = bench.observed(failing_at("place"));
    let failed = bench.make_by(&history, &adding("people/new.md", "mine\n"));
    let error = failed.expect_err("fails");
    assert!(matches!(error, Error::Io { .. }), "{error:?}");
    assert_eq!(tree(&bench.root()), before);
    assert!(!bench.path("people").exists());
}

#[test]
fn what_is_neither_in_place_nor_set_aside_comes_back_from_the_history() {
    let bench = TestStore::of(&[
        ("facts/a.md", "# A\n\none\n"),
        ("facts/b.md", "# B\n\ntwo\n"),
    ]);
    let before = tree(&bench.root());
    let history = bench.observed(failing_from("set aside facts/b.md"));
    bench
        .make_by(&history, &delete(&["facts/a.md", "facts/b.md"]))
        .expect_err("fails");
    bench.lose_temporary_files();
    assert!(!bench.path("facts/a.md").exists());
    bench.recover(&bench.history()).expect("settles");
    assert_eq!(tree(&bench.root()), before);
}

#[test]
fn a_replaced_text_comes_back_from_the_history_where_nothing_else_has_it() {
    let bench = TestStore::of(&[("facts/a.md", "# A\n\none\n")]);
    let before = tree(&bench.root());
    let history = bench.observed(failing_from("flush"));
    bench
        .make_by(&history, &patch("facts/a.md", "one", "1"))
        .expect_err("fails");
    assert_eq!(bench.read("facts/a.md"), "# A\n\n1\n");
    bench.lose_temporary_files();
    bench.recover(&bench.history()).expect("settles");
    assert_eq!(tree(&bench.root()), before);
    assert!(bench.history().records().expect("readable").is_empty());
}

#[test]
fn a_file_that_somebody_made_before_ours_was_placed_is_theirs() {
    let bench = TestStore::of(&[("facts/a.md", "# A\n\none\n")]);
    let history = bench.observed(failing_from("place facts/new.md"));
    bench
        .make_by(&history, &adding("facts/new.md", "mine\n"))
        .expect_err("fails");
    fs::write(bench.path("facts/new.md"), "theirs\n").expect("written");
    bench.recover(&bench.history()).expect("settles");
    assert_eq!(bench.read("facts/new.md"), "theirs\n");
    assert!(bench.history().records().expect("readable").is_empty());
    bench.is_clean();
}

#[test]
fn a_new_file_goes_when_its_change_is_taken_back_unless_somebody_edited_it() {
    for (edit, stays) in [(None, false), (Some("an agent's line\n"), true)] {
        let bench = TestStore::of(&[("facts/a.md", "# A\n\none\n")]);
        let history = bench.observed(failing_from("flush"));
        bench
            .make_by(&history, &adding("facts/new.md", "mine\n"))
            .expect_err("fails");
        assert!(bench.path("facts/new.md").exists());
        if let Some(line) = edit {
            append(&bench.path("facts/new.md"), line);
        }
        bench.recover(&bench.history()).expect("settles");
        assert_eq!(bench.path("facts/new.md").exists(), stays, "{edit:?}");
        let records = bench.history().records().expect("readable");
        assert_eq!(records.len(), usize::from(stays), "{edit:?}");
        // Its id says when it was made, and is no other's.
        assert!(
            records.iter().all(|record| record.id.len() == 26),
            "{records:?}"
        );
    }
}

#[test]
fn a_change_of_a_store_that_it_was_not_about_is_refused() {
    let bench = TestStore::of(&[("facts/a.md", "# A\n\none\n")]);
    let (author, moment) = (&author(), &change_context().moment);
    let other = bench.dir.path().join("other");
    let request = patch("facts/a.md", "one", "1");
    let made = plan_and_commit::<Error>(&bench.history(), &[&other], author, moment, || {
        bench.plan(&request)
    });
    let error = made.expect_err("refused").to_string();
    has(&error, ["was not about"]);
    assert_eq!(bench.read("facts/a.md"), "# A\n\none\n");
}

/// A store with an index, and the change that adds a memory to it.
fn indexed() -> (TestStore, impl Fn() -> Result<Change>) {
    let memory = "---\nname: a\ndescription: d\ntype: user\n---\n\nbody\n";
    let page = "# Mine\n\n- [a](a.md) — d\n";
    let bench = TestStore::of(&[("a.md", memory), ("MEMORY.md", page)]);
    let request = ChangeRequest::Write {
        path: "b.md".to_owned(),
        content: "text of b\n".to_owned(),
        fields: tome::core::memory::layout::Fields {
            description: Some("of b".to_owned()),
            category: Some("user".to_owned()),
            ..Default::default()
        },
    };
    let root = bench.root();
    let context = change_context();
    let plan = move || {
        let store = Store::open("s", &root, Some(Layout::Index))?;
        plan(&store, &request, &context)
    };
    (bench, plan)
}

#[test]
fn a_reviewed_change_is_made_on_an_index_that_has_moved_on() {
    use tome::core::change::{Reviewed, commit_reviewed};
    let (bench, plan) = indexed();
    let (author, moment) = (&author(), &change_context().moment);
    let seen = plan().expect("planned");
    append(&bench.path("MEMORY.md"), "\nA line of mine.\n");
    let mut plans = 0;
    let outcome = commit_reviewed(&bench.history(), &seen, author, moment, || {
        plans += 1;
        let change = plan();
        if plans == 1 {
            append(&bench.path("MEMORY.md"), "\nAnd another.\n");
        }
        change
    });
    let outcome = outcome.expect("made");
    assert!(matches!(outcome, Reviewed::Made(_)), "{outcome:?}");
    assert_eq!(plans, 2, "planned again on what was there");
    assert_eq!(
        bench.read("MEMORY.md"),
        "# Mine\n\n- [a](a.md) — d\n- [b](b.md) — of b\n\nA line of mine.\n\nAnd another.\n"
    );
}

#[test]
fn a_reviewed_change_that_is_overtaken_every_time_is_given_up_as_a_conflict() {
    use tome::core::change::commit_reviewed;
    let (bench, plan) = indexed();
    let (author, moment) = (&author(), &change_context().moment);
    let seen = plan().expect("planned");
    let mut plans = 0;
    let outcome = commit_reviewed(&bench.history(), &seen, author, moment, || {
        plans += 1;
        assert!(plans < 1_000, "it is never given up");
        let change = plan();
        append(&bench.path("MEMORY.md"), "\nA line of mine.\n");
        change
    });
    assert!(matches!(outcome, Err(Error::Conflict(_))), "{outcome:?}");
    assert_eq!(plans, 20);
    assert!(!bench.path("b.md").exists());
}

#[test]
fn what_is_written_into_a_displaced_file_after_the_record_is_a_version() {
    let bench = TestStore::of(&[("facts/a.md", "# A\n\none\n")]);
    let mut opened = fs::File::options()
        .append(true)
        .open(bench.path("facts/a.md"))
        .expect("opens");
    // The process ends after the change was recorded and before the cleanup.
    let history = bench.observed(failing_from("remove displaced"));
    bench
        .make_by(&history, &patch("facts/a.md", "one", "1"))
        .expect("recorded, so it is made");
    opened.write_all(b"an agent's line\n").expect("written");
    bench.recover(&bench.history()).expect("settles");
    let versions = bench.versions();
    let theirs = "# A\n\none\nan agent's line\n";
    assert!(versions.iter().any(|text| text == theirs), "{versions:?}");
    let records = bench.history().records().expect("readable");
    assert_eq!(records.len(), 2, "{records:?}");
    assert_eq!(records[1].author.who, "outside");
    assert_eq!(
        records[0].id[..10],
        records[1].id[..10],
        "of the same moment"
    );
    has(&records[1].message, ["facts/a.md"]);
    bench.is_clean();
}

#[test]
fn a_file_that_was_edited_before_it_could_be_replaced_leaves_no_record() {
    let bench = TestStore::of(&[("facts/a.md", "# A\n\none\n")]);
    let file = bench.path("facts/a.md");
    let history = bench.observed(move |step| {
        if step == "stage facts/a.md: done" {
            append(&file, "an agent's line\n");
            return Err(std::io::ErrorKind::PermissionDenied.into());
        }
        Ok(())
    });
    let request = patch("facts/a.md", "one", "1");
    bench.make_by(&history, &request).expect_err("fails");
    assert_eq!(bench.read("facts/a.md"), "# A\n\none\nan agent's line\n");
    let records = bench.history().records().expect("readable");
    assert!(records.is_empty(), "{records:?}");
    assert!(bench.history().intents().is_empty());
}

#[test]
fn appends_by_a_program_without_locks_are_all_in_some_version() {
    appends_against_writes(400);
}

/// As above, but takes longer than a normal test run should.
#[test]
#[ignore = "takes minutes"]
fn four_thousand_appends_by_a_program_without_locks_are_all_in_some_version() {
    appends_against_writes(4_000);
}

/// A program that opened the file before it was replaced writes when that is done.
#[test]
#[cfg(target_os = "linux")]
fn what_is_written_into_a_replaced_file_is_in_some_version() {
    let bench = TestStore::of(&[("facts/a.md", "# A\n\none\n")]);
    let path = bench.path("facts/a.md");
    let mut open = fs::File::options().append(true).open(path).expect("opens");
    let writer = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(60));
        open.write_all(b"late\n").expect("written");
    });
    let request = patch("facts/a.md", "one", "1");
    bench.make_by(&bench.history(), &request).expect("made");
    writer.join().expect("written");
    let mut versions = bench.versions();
    versions.push(bench.read("facts/a.md"));
    assert!(
        versions.iter().any(|text| text.contains("late")),
        "{versions:?}"
    );
}

fn appends_against_writes(count: usize) {
    let bench = TestStore::of(&[("facts/a.md", "# A\n\ncount: 0.\n\nlines:\n\n")]);
    let done = AtomicBool::new(false);
    let made = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::SeqCst) {
                let now = made.load(Ordering::SeqCst);
                let request = patch(
                    "facts/a.md",
                    &format!("count: {now}."),
                    &format!("count: {}.", now + 1),
                );
                match bench.make_by(&bench.history(), &request) {
                    Ok(()) => made.store(now + 1, Ordering::SeqCst),
                    Err(Error::Conflict(_)) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        });
        let path = bench.path("facts/a.md");
        for number in 0..count {
            append(&path, &format!("line {number};\n"));
            std::thread::sleep(Duration::from_millis(3));
        }
        // On a busy machine no change may succeed as long as lines are added.
        for _ in 0..20_000 {
            if made.load(Ordering::SeqCst) > 3 {
                break;
            }
            std::thread::sleep(Duration::from_millis(3));
        }
        done.store(true, Ordering::SeqCst);
    });
    let mut versions = bench.versions();
    versions.push(bench.read("facts/a.md"));
    let all: std::collections::HashSet<&str> =
        versions.iter().flat_map(|text| text.lines()).collect();
    let lost: Vec<usize> = (0..count)
        .filter(|number| !all.contains(format!("line {number};").as_str()))
        .collect();
    assert!(lost.is_empty(), "{} of {count} lost: {lost:?}", lost.len());
    assert!(made.load(Ordering::SeqCst) > 3, "both sides wrote");
}

#[test]
fn a_change_that_another_program_built_on_is_not_made_twice() {
    let bench = TestStore::of(&[("facts/a.md", "# A\n\none\n")]);
    let file = bench.path("facts/a.md");
    let history = bench.observed(move |step| {
        match step {
            "exchange facts/a.md" => append(&file, "before\n"),
            "exchange facts/a.md: done" => append(&file, "after\n"),
            _ => {}
        }
        Ok(())
    });
    let request = patch("facts/a.md", "one", "1");
    bench.make_by(&history, &request).expect("made");
    assert_eq!(bench.read("facts/a.md"), "# A\n\n1\nafter\n");
    let kept = bench.versions();
    let before = "# A\n\none\nbefore\n";
    assert!(kept.iter().any(|text| text == before), "{kept:?}");
    assert!(bench.history().intents().is_empty());
}

#[test]
fn a_staged_file_is_never_open_to_more_people_than_its_target() {
    let bench = TestStore::of(&[("facts/a.md", "# A\n\none\n")]);
    let private = fs::Permissions::from_mode(0o600);
    fs::set_permissions(bench.path("facts/a.md"), private).expect("a mode");
    let folder = bench.path("facts");
    let wide = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&wide);
    let history = bench.observed(move |_| {
        for entry in fs::read_dir(&folder).expect("readable").flatten() {
            let mode = entry
                .metadata()
                .map_or(0o600, |meta| meta.permissions().mode());
            if mode & 0o077 != 0 {
                counted.fetch_add(1, Ordering::SeqCst);
            }
        }
        Ok(())
    });
    bench
        .make_by(&history, &patch("facts/a.md", "one", "1"))
        .expect("made");
    assert_eq!(wide.load(Ordering::SeqCst), 0);
    let mode = fs::metadata(bench.path("facts/a.md")).expect("there");
    assert_eq!(mode.permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_reviewed_change_is_made_as_it_was_seen_or_shown_again() {
    use tome::core::change::{Reviewed, commit_reviewed};
    let bench = TestStore::of(&[("facts/a.md", "# A\n\none\n")]);
    let request = patch("facts/a.md", "one", "1");
    let history = bench.history();
    let (author, moment) = (&author(), &change_context().moment);
    let seen = bench.plan(&request).expect("planned");
    append(&bench.path("facts/a.md"), "an agent's line\n");
    let outcome =
        commit_reviewed(&history, &seen, author, moment, || bench.plan(&request)).expect("planned");
    let Reviewed::Outdated(now) = outcome else {
        panic!("{outcome:?}");
    };
    let outcome =
        commit_reviewed(&history, &now, author, moment, || bench.plan(&request)).expect("made");
    assert!(matches!(outcome, Reviewed::Made(_)), "{outcome:?}");
    assert_eq!(bench.read("facts/a.md"), "# A\n\n1\nan agent's line\n");
}

#[test]
fn a_file_that_was_taken_back_is_not_recorded_as_changed() {
    let bench = TestStore::of(&[("facts/a.md", "# A\n\none\n")]);
    // The old text comes back, but what is left beside it cannot be removed.
    let stuck = failing_at("clear");
    let failing = move |step: &str| failing_at("flush")(step).and_then(|()| stuck(step));
    let request = patch("facts/a.md", "one", "1");
    bench
        .make_by(&bench.observed(failing), &request)
        .expect_err("fails");
    assert_eq!(bench.read("facts/a.md"), "# A\n\none\n");
    assert_eq!(bench.history().intents().len(), 1);
    let request = patch("facts/a.md", "one", "eins");
    bench
        .make_by(&bench.observed(stuck), &request)
        .expect("made");
    let records = bench.history().records().expect("readable");
    assert_eq!(records.len(), 1, "{records:?}");
    assert!(bench.history().intents().is_empty());
}

#[test]
fn a_file_that_an_undo_left_alone_is_left_alone_when_the_undo_is_taken_back() {
    let linked = "# A\n\nsee [b](b.md)\n";
    let bench = TestStore::of(&[("facts/a.md", linked), ("facts/b.md", "# B\n\ntwo\n")]);
    let rename = rename("facts/b.md", "facts/c.md");
    bench.make_by(&bench.history(), &rename).expect("made");
    // One of its files is put back by hand.
    fs::write(bench.path("facts/a.md"), linked).expect("written");
    let before = tree(&bench.root());
    let inode = || fs::metadata(bench.path("facts/a.md")).expect("there").ino();
    let own = inode();
    let history = bench.observed(failing_at("flush"));
    let record = history.records().expect("readable").pop();
    let record = record.expect("a change");
    let moment = change_context().moment;
    let undone = plan_and_commit::<Error>(&history, &[&bench.root()], &author(), &moment, || {
        replay(&history, &record, Direction::Back, &moment)
    });
    undone.expect_err("fails");
    assert_eq!(tree(&bench.root()), before);
    assert_eq!(inode(), own);
}

#[test]
fn a_change_under_way_is_not_told_as_interrupted() {
    let bench = TestStore::of(&[("facts/a.md", "# A\n\none\n")]);
    let data = bench.dir.path().join("history");
    let history = bench.observed(move |step| {
        if step.starts_with("exchange facts/a.md") {
            let told = interrupted(&History::open(&data)).map_err(std::io::Error::other)?;
            if !told.is_empty() {
                return Err(std::io::Error::other("it is under way"));
            }
        }
        Ok(())
    });
    let request = patch("facts/a.md", "one", "1");
    bench.make_by(&history, &request).expect("made");
    let history = bench.observed(failing_from("flush"));
    let request = patch("facts/a.md", "1", "2");
    bench.make_by(&history, &request).expect_err("fails");
    // A process that another test starts may hold a copy of our locks for a moment.
    let is_told = (0..500).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        interrupted(&bench.history()).expect("looks").len() == 1
    });
    assert!(is_told);
}
