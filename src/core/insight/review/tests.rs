//! What others write waits, exactly once, until it is accepted or reverted.

mod acceptance;
mod property;
mod proposals;
mod unchanged;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::*;
use crate::core::change::history::{History, Origin};
use crate::core::change::{
    Author, ChangeContext, ChangeRequest, Direction, plan, plan_and_commit, replay,
};
use crate::core::memory::layout::Layout;
use crate::core::memory::store::Store;
use crate::core::text::time::Moment;

/// A store of typed files with a history of its own.
struct Fixture {
    _temp: tempfile::TempDir,
    history: History,
    store: Store,
    /// The time of the next action: each is some seconds after the one before, of which only a tick
    /// of the file system's clock passes.
    clock: std::cell::Cell<i64>,
}

impl Fixture {
    fn new(files: &[(&str, &str)]) -> Self {
        Self::with_layout(Layout::Index, files)
    }

    fn with_layout(layout: Layout, files: &[(&str, &str)]) -> Self {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let root = temp.path().join("memory");
        fs::create_dir(&root).expect("creates");
        for (name, text) in files {
            fs::write(root.join(name), text).expect("writes");
        }
        let fixture = Self {
            history: History::open(&temp.path().join("history")),
            store: Store::open("s", &root, Some(layout)).expect("opens"),
            clock: std::cell::Cell::new(jiff::Timestamp::now().as_millisecond()),
            _temp: temp,
        };
        fixture.observe();
        fixture
    }

    fn root(&self) -> &Path {
        self.store.root().path()
    }

    fn moment(&self) -> Moment {
        std::thread::sleep(std::time::Duration::from_millis(12));
        self.clock.set(self.clock.get() + 10_000);
        Moment {
            time: jiff::Timestamp::from_millisecond(self.clock.get()).expect("a time"),
            today: jiff::civil::date(2026, 11, 1),
        }
    }

    fn observe(&self) -> Observed {
        let memories = self.store.list().expect("lists");
        loop {
            let observed = observe(&self.history, &self.store, &memories, &self.moment());
            let observed = observed.expect("observes");
            // A process that another test starts has the locks of this one until it runs its program.
            if !observed.is_busy {
                return observed;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }

    fn queue(&self) -> Vec<Item> {
        queue(&self.history, &self.store).expect("has a queue")
    }

    fn write_outside(&self, name: &str, text: &str) {
        fs::write(self.root().join(name), text).expect("writes");
    }

    fn commit(&self, door: &str, request: &ChangeRequest) {
        let author = Author {
            who: if door == "cli" { "you" } else { "claude-code" }.to_owned(),
            door: door.to_owned(),
        };
        let moment = self.moment();
        let context = ChangeContext {
            moment: moment.clone(),
            expected: None,
            history: None,
        };
        let make = || plan(&self.store, request, &context);
        plan_and_commit::<crate::core::Error>(
            &self.history,
            &[self.root()],
            &author,
            &moment,
            make,
        )
        .expect("commits");
    }

    fn edit(&self, door: &str, name: &str, text: &str) {
        let (path, text) = (name.to_owned(), text.to_owned());
        self.commit(door, &ChangeRequest::Edit { path, text });
    }

    fn accept(&self, ids: &[&str]) {
        let (author, moment) = (&person(), &self.moment());
        accept(
            &self.history,
            &[&self.store],
            &selection(ids),
            author,
            moment,
        )
        .expect("accepts");
    }

    fn revert(&self, ids: &[&str]) {
        let moment = self.moment();
        let author = person();
        let make = || plan_revert(&self.history, &self.store, &selection(ids), &moment);
        plan_and_commit::<crate::core::Error>(
            &self.history,
            &[self.root()],
            &author,
            &moment,
            make,
        )
        .expect("reverts");
    }

    /// Undoes the last change by the person, or makes it again.
    fn replay(&self, direction: Direction) {
        let roots = [self.root()];
        let last = match direction {
            Direction::Back => self.history.undoable(&roots),
            Direction::Forward => self.history.redoable(&roots),
        };
        let record = last.expect("reads").expect("there is a change");
        let moment = self.moment();
        let author = person();
        let make = || replay(&self.history, &record, direction, &moment);
        plan_and_commit::<crate::core::Error>(
            &self.history,
            &record.roots(),
            &author,
            &moment,
            make,
        )
        .expect("undoes");
    }

    /// The file of the store's state.
    fn state_file(&self) -> PathBuf {
        let dir = self.history.dir().join("review");
        let mut entries = fs::read_dir(dir).expect("lists").flatten();
        entries.next().expect("a state").path()
    }

    /// Every file with its content.
    fn files(&self) -> BTreeMap<String, String> {
        let entries = fs::read_dir(self.root()).expect("lists").flatten();
        entries
            .map(|entry| {
                let name = entry.file_name().to_string_lossy().into_owned();
                (name, fs::read_to_string(entry.path()).expect("reads"))
            })
            .collect()
    }
}

fn person() -> Author {
    Author {
        who: "you".to_owned(),
        door: "cli".to_owned(),
    }
}

fn selection(ids: &[&str]) -> Selection {
    match ids {
        ["all"] => Selection::All,
        ids => Selection::Ids(ids.iter().map(|id| (*id).to_owned()).collect()),
    }
}

fn numbered(count: usize) -> String {
    (1..=count).map(|n| format!("line {n}\n")).collect()
}

#[test]
fn the_first_sight_of_a_store_is_no_news() {
    let fixture = Fixture::new(&[("a.md", "one\n"), ("b.md", "two\n")]);
    assert_eq!(fixture.observe(), Observed::default());
    assert_eq!(fixture.queue(), []);
    assert_eq!(fixture.history.records().expect("reads"), []);
}

#[test]
fn two_stores_with_one_root_know_their_own_files() {
    let fixture = Fixture::new(&[]);
    let root = fixture.root().join("workspace");
    fs::create_dir(&root).expect("made");
    let write = |name, text| fs::write(root.join(name), text).expect("writes");
    write("MEMORY.md", "- one\n");
    write("AGENTS.md", "Be kind.\n");
    let layouts = [Layout::Entries, Layout::Instructions];
    let stores = layouts.map(|layout| Store::open("s", &root, Some(layout)).expect("opens"));
    let observe = || -> Vec<usize> {
        let observed = |store| {
            let observed = observe_store(&fixture.history, store, &fixture.moment());
            observed.expect("observes").waiting
        };
        stores.iter().map(observed).collect()
    };
    assert_eq!((observe(), observe()), (vec![0, 0], vec![0, 0]));
    write("AGENTS.md", "Be kind and brief.\n");
    assert_eq!((observe(), observe()), (vec![0, 1], vec![0, 1]));
    write("MEMORY.md", "- one\n- two\n");
    assert_eq!((observe(), observe()), (vec![1, 1], vec![1, 1]));
}

#[test]
fn what_was_there_before_is_told_until_it_is_accepted() {
    let fixture = Fixture::new(&[("a.md", "one\n"), ("b.md", "two\n")]);
    let told = || here_before(&fixture.history, fixture.store.id()).expect("reads");
    assert_eq!(told(), 2);
    fixture.write_outside("c.md", "three\n");
    assert_eq!(fixture.observe().waiting, 1);
    fixture.accept(&[&fixture.queue()[0].id]);
    assert_eq!(told(), 2, "only one of them was accepted");
    let (author, moment) = (&person(), &fixture.moment());
    accept(
        &fixture.history,
        &[&fixture.store],
        &Selection::All,
        author,
        moment,
    )
    .expect("accepts");
    assert_eq!(told(), 0);
    let set = |number| set_here_before(&fixture.history, &fixture.store, number).expect("set");
    assert_eq!((set(2), told()), (0, 2), "that is taken back");
    assert_eq!((set(0), told()), (2, 0));
}

#[test]
fn what_a_program_writes_is_recorded_and_waits() {
    let fixture = Fixture::new(&[("a.md", "one\n"), ("b.md", "two\n"), ("c.md", &numbered(9))]);
    fixture.write_outside("a.md", "one\nand more\n");
    fixture.write_outside("new.md", "new\n");
    fs::remove_file(fixture.root().join("b.md")).expect("removes");
    fs::rename(fixture.root().join("c.md"), fixture.root().join("d.md")).expect("renames");
    let observed = fixture.observe();
    assert_eq!((observed.records.len(), observed.waiting), (4, 4));
    let queue = fixture.queue();
    let mut shown: Vec<(&str, ItemChange, usize)> = queue
        .iter()
        .map(|item| (item.path.as_str(), item.change, item.hunks.len()))
        .collect();
    shown.sort_by_key(|(path, ..)| *path);
    assert_eq!(
        shown,
        [
            ("a.md", ItemChange::Changed, 1),
            ("b.md", ItemChange::Deleted, 1),
            ("d.md", ItemChange::Renamed, 0),
            ("new.md", ItemChange::Added, 1),
        ]
    );
    let renamed = queue
        .iter()
        .find(|item| item.path == "d.md")
        .expect("is there");
    assert_eq!(renamed.renamed_from.as_deref(), Some("c.md"));
    let changed = queue
        .iter()
        .find(|item| item.path == "a.md")
        .expect("is there");
    assert_eq!(changed.hunks[0].text, " one\n+and more\n");
    // Seen once, it is not recorded again.
    assert_eq!(fixture.observe().records, []);
    fixture.accept(&["all"]);
    assert_eq!(fixture.queue(), []);
    assert_eq!(fixture.observe(), Observed::default());
}

#[cfg(unix)]
#[test]
fn an_acceptance_of_a_read_only_file_is_undone() {
    use std::os::unix::fs::PermissionsExt as _;
    let fixture = Fixture::new(&[("a.md", "one\n")]);
    fixture.write_outside("a.md", "one\nand more\n");
    let file = fixture.root().join("a.md");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).expect("sets the mode");
    fixture.observe();
    let queue = fixture.queue();
    fixture.accept(&["all"]);
    fixture.replay(Direction::Back);
    assert_eq!(fixture.queue(), queue);
    fixture.replay(Direction::Forward);
    assert_eq!(fixture.queue(), []);
}

#[test]
fn a_reverted_item_gives_the_bytes_back_and_can_be_undone() {
    let before = [
        ("a.md", "one\r\ntwo"),
        ("b.md", "bee\n"),
        ("c.md", &numbered(9)),
    ];
    let fixture = Fixture::new(&before);
    let original = fixture.files();
    fixture.write_outside("a.md", "one\r\nTWO");
    fixture.write_outside("new.md", "new\n");
    fs::remove_file(fixture.root().join("b.md")).expect("removes");
    fs::rename(fixture.root().join("c.md"), fixture.root().join("d.md")).expect("renames");
    let written = fixture.files();
    fixture.observe();
    let queue = fixture.queue();
    fixture.revert(&["all"]);
    assert_eq!(fixture.files(), original);
    assert_eq!(fixture.queue(), []);
    fixture.replay(Direction::Back);
    assert_eq!(fixture.files(), written);
    // What is there again waits again.
    assert_eq!(fixture.queue(), queue);
    assert_eq!(fixture.observe().records, []);
}

/// The ids of the hunks that wait.
fn hunks(fixture: &Fixture) -> Vec<String> {
    let items = fixture.queue().into_iter();
    items
        .flat_map(|item| item.hunks.into_iter().map(|hunk| hunk.id))
        .collect()
}

#[test]
fn a_reverted_hunk_waits_again_when_that_is_undone_with_the_notes_since() {
    let fixture = Fixture::new(&[("a.md", &numbered(40))]);
    let written = numbered(40)
        .replace("line 3\n", "LINE 3\n")
        .replace("line 30\n", "LINE 30\n");
    fixture.write_outside("a.md", &written);
    fixture.observe();
    let both = hunks(&fixture);
    assert_eq!(both.len(), 2);
    fixture.revert(&[&both[1]]);
    assert_eq!(hunks(&fixture), both[..1]);
    let moment = fixture.moment();
    let chosen = selection(&[&both[0]]);
    annotate(&fixture.history, &fixture.store, &chosen, "why?", &moment).expect("notes");
    for _ in 0..2 {
        fixture.replay(Direction::Back);
        assert_eq!(fixture.files()["a.md"], written);
        assert_eq!(hunks(&fixture), both);
        assert_eq!(fixture.queue()[0].notes[0].text, "why?");
        fixture.replay(Direction::Forward);
        assert_eq!(hunks(&fixture), both[..1]);
    }
}

#[test]
fn reverts_that_are_undone_one_after_the_other_wait_again() {
    let fixture = Fixture::new(&[("a.md", &numbered(60))]);
    let written = ["3", "30", "50"].iter().fold(numbered(60), |text, line| {
        text.replace(&format!("line {line}\n"), &format!("LINE {line}\n"))
    });
    fixture.write_outside("a.md", &written);
    fixture.observe();
    let all = hunks(&fixture);
    assert_eq!(all.len(), 3);
    for hunk in [&all[2], &all[1]] {
        fixture.revert(&[hunk]);
    }
    for _ in 0..2 {
        fixture.replay(Direction::Back);
        assert_eq!(hunks(&fixture), all[..2]);
        fixture.replay(Direction::Back);
        assert_eq!(fixture.files()["a.md"], written);
        assert_eq!(hunks(&fixture), all);
        fixture.replay(Direction::Forward);
        assert_eq!(hunks(&fixture), all[..2]);
        fixture.replay(Direction::Forward);
        assert_eq!(hunks(&fixture), all[..1]);
    }
}

#[test]
fn a_hunk_names_the_entry_that_it_is_in() {
    let long = numbered(20);
    let text = format!("# All\n\n## First\n\n{long}\n## Second\n\n{long}");
    let fixture = Fixture::with_layout(Layout::Entries, &[("a.md", &text)]);
    let first = text.replacen("line 3\n", "", 1);
    fixture.write_outside("a.md", &format!("{first}line 21\n"));
    fixture.observe();
    let items = fixture.queue().into_iter();
    let entries: Vec<Option<String>> = items
        .flat_map(|item| item.hunks.into_iter().map(|hunk| hunk.entry))
        .collect();
    assert_eq!(entries, [Some("first".into()), Some("second".into())]);
}

#[test]
fn hunks_are_accepted_and_reverted_one_by_one() {
    let fixture = Fixture::new(&[("a.md", &numbered(40))]);
    let written = numbered(40)
        .replace("line 3\n", "LINE 3\n")
        .replace("line 20\n", "")
        + "end\n";
    fixture.write_outside("a.md", &written);
    fixture.observe();
    let queue = fixture.queue();
    let ids: Vec<String> = queue[0].hunks.iter().map(|hunk| hunk.id.clone()).collect();
    assert_eq!(ids.len(), 3);
    fixture.accept(&[&ids[1]]);
    let left: Vec<String> = fixture.queue()[0]
        .hunks
        .iter()
        .map(|hunk| hunk.id.clone())
        .collect();
    assert_eq!(left, [ids[0].clone(), ids[2].clone()]);
    fixture.revert(&[&ids[0]]);
    assert_eq!(
        fixture.files()["a.md"],
        numbered(40).replace("line 20\n", "") + "end\n"
    );
    let left: Vec<String> = fixture.queue()[0]
        .hunks
        .iter()
        .map(|hunk| hunk.id.clone())
        .collect();
    assert_eq!(left, [ids[2].clone()]);
    fixture.revert(&["all"]);
    assert_eq!(
        fixture.files()["a.md"],
        numbered(40).replace("line 20\n", "")
    );
    assert_eq!(fixture.queue(), []);
}

#[test]
fn what_the_person_writes_does_not_wait_and_hides_nothing_that_does() {
    let fixture = Fixture::new(&[("a.md", &numbered(40))]);
    fixture.edit("cli", "a.md", &numbered(40).replace("line 30\n", "mine\n"));
    assert_eq!(fixture.observe().records, []);
    assert_eq!(fixture.queue(), []);
    let theirs = numbered(40)
        .replace("line 30\n", "mine\n")
        .replace("line 5\n", "theirs\n");
    fixture.write_outside("a.md", &theirs);
    // The person edits the file before tome has looked at it again.
    fixture.edit("cli", "a.md", &theirs.replace("line 20\n", "mine, too\n"));
    let queue = fixture.queue();
    assert_eq!(queue.len(), 1);
    let hunks: Vec<&str> = queue[0]
        .hunks
        .iter()
        .map(|hunk| hunk.text.as_str())
        .collect();
    assert_eq!(hunks.len(), 1, "{hunks:?}");
    assert!(hunks[0].contains("+theirs\n"));
    // Where the person rewrites it, nothing is left to review.
    let mine = theirs
        .replace("line 20\n", "mine, too\n")
        .replace("theirs\n", "mine again\n");
    fixture.edit("cli", "a.md", &mine);
    assert_eq!(fixture.queue(), []);
}

#[test]
fn what_agents_store_through_tome_waits_too() {
    let fixture = Fixture::new(&[("a.md", &numbered(9))]);
    fixture.edit("mcp", "a.md", &(numbered(9) + "by the agent\n"));
    let queue = fixture.queue();
    assert_eq!(queue.len(), 1);
    assert_eq!(queue[0].author.who, "claude-code");
    fixture.revert(&[&queue[0].id]);
    assert_eq!(fixture.files()["a.md"], numbered(9));
    assert_eq!(fixture.queue(), []);
}

#[test]
fn each_session_has_its_own_item_and_its_own_hunks() {
    let fixture = Fixture::new(&[("a.md", &numbered(40))]);
    let by = |session: &str, text: &str| {
        fixture.write_outside("a.md", text);
        let writer = Writer {
            author: Author {
                who: "claude-code".to_owned(),
                door: "files".to_owned(),
            },
            origin: Some(Origin {
                session: session.to_owned(),
                citation: None,
            }),
        };
        let paths = ["a.md".to_owned()];
        let moment = fixture.moment();
        observe_files(&fixture.history, &fixture.store, &paths, writer, &moment).expect("observes")
    };
    let first = numbered(40).replace("line 5\n", "first\n");
    by("s1", &first);
    let second = first
        .replace("line 30\n", "")
        .replace("line 15\n", "second\n");
    by("s2", &second);
    let queue = fixture.queue();
    let sessions: Vec<(&str, usize)> = queue
        .iter()
        .map(|item| {
            let origin = item.origin.as_ref().expect("is known");
            (origin.session.as_str(), item.hunks.len())
        })
        .collect();
    assert_eq!(sessions.len(), 2);
    assert!(
        sessions.contains(&("s1", 1)) && sessions.contains(&("s2", 2)),
        "{sessions:?}"
    );
    fixture.accept(&["s2"]);
    assert_eq!(fixture.queue().len(), 1);
    fixture.revert(&["s1"]);
    assert_eq!(
        fixture.files()["a.md"],
        second.replace("first\n", "line 5\n")
    );
    assert_eq!(fixture.queue(), []);
}

#[test]
fn a_deleted_memory_that_comes_back_is_shown_as_such() {
    let words = "The deploy happens on Tuesday with the blue button after lunch, never before.\n";
    let fixture = Fixture::new(&[("deploy.md", words)]);
    let paths = vec!["deploy.md".to_owned()];
    fixture.commit("cli", &ChangeRequest::Delete { paths });
    fixture.write_outside("deploying.md", &format!("# Again\n\n{words}"));
    fixture.write_outside("other.md", "Nothing like it.\n");
    fixture.observe();
    let returned: Vec<(String, bool)> = fixture
        .queue()
        .into_iter()
        .map(|item| (item.path, item.deleted_before.is_some()))
        .collect();
    assert!(returned.contains(&("deploying.md".to_owned(), true)));
    assert!(returned.contains(&("other.md".to_owned(), false)));
}

#[test]
fn a_deletion_that_was_undone_is_none() {
    let fixture = Fixture::new(&[("a.md", "one\n")]);
    fixture.write_outside("new.md", "Something new.\n");
    fixture.observe();
    let told = || fixture.queue().first().map(|item| item.deleted_before);
    fixture.revert(&["all"]);
    fixture.replay(Direction::Back);
    assert_eq!(told(), Some(None));
    fixture.replay(Direction::Forward);
    fixture.write_outside("new.md", "Something new.\n");
    fixture.observe();
    assert!(told().flatten().is_some());
}

#[test]
fn plain_undo_is_about_the_person_s_own_change() {
    let fixture = Fixture::new(&[("a.md", "one\n"), ("b.md", "two\n")]);
    fixture.edit("cli", "a.md", "mine\n");
    fixture.write_outside("b.md", "theirs\n");
    let theirs = fixture.observe().records.remove(0);
    let last = fixture.history.undoable(&[fixture.root()]).expect("reads");
    assert_eq!(last.expect("is there").files[0].path, "a.md");
    let moment = fixture.moment();
    let back = replay(&fixture.history, &theirs, Direction::Back, &moment).expect("plans");
    assert_eq!(back.edits[0].after.as_deref(), Some(&b"two\n"[..]));
}

#[test]
fn an_index_that_an_agent_writes_waits_and_one_that_tome_generates_does_not() {
    let hand = "# Mine\n\n- [a](a.md) - first\n";
    let fixture = Fixture::new(&[("a.md", "one\n"), ("MEMORY.md", hand)]);
    fixture.write_outside("b.md", "two\n");
    fixture.write_outside("MEMORY.md", &format!("{hand}- [b](b.md) - second\n"));
    assert_eq!(fixture.observe().waiting, 2);
    fixture.revert(&["all"]);
    assert_eq!(fixture.files()["MEMORY.md"], hand);
    fixture.edit("mcp", "c.md", "three\n");
    let waiting: Vec<String> = fixture.queue().into_iter().map(|item| item.path).collect();
    assert_eq!(waiting, ["c.md"]);
}

#[test]
fn a_reverted_file_takes_its_line_of_a_hand_written_index_with_it() {
    let hand = "# Mine\n\n- [a](a.md) - first, in my words\n- [b](b.md) - b\n\nAn end.\n";
    let fixture = Fixture::new(&[("a.md", "one\n"), ("b.md", "two\n"), ("MEMORY.md", hand)]);
    fs::remove_file(fixture.root().join("a.md")).expect("deletes");
    fixture.write_outside("c.md", "three\n");
    let theirs = "# Mine\n\n- [b](b.md) - b\n- [c](c.md) - c\n\nAn end, changed.\n";
    fixture.write_outside("MEMORY.md", theirs);
    assert_eq!(fixture.observe().waiting, 3);
    let id = |path: &str| {
        let mut items = fixture.queue().into_iter();
        items.find(|item| item.path == path).expect("waits").id
    };
    fixture.revert(&[&id("a.md"), &id("c.md")]);
    let kept = hand.replace("An end.", "An end, changed.");
    assert_eq!(fixture.files()["MEMORY.md"], kept);
    let waiting: Vec<String> = fixture.queue().into_iter().map(|item| item.path).collect();
    assert_eq!(
        waiting,
        ["MEMORY.md"],
        "what the agent wrote in the index still waits"
    );
    fixture.revert(&["all"]);
    assert_eq!(fixture.files()["MEMORY.md"], hand);
}

#[test]
fn what_was_not_shown_is_not_accepted() {
    let text = numbered(30);
    let fixture = Fixture::new(&[("a.md", "one\n"), ("gone.md", "two\n"), ("old.md", &text)]);
    let at = |name: &str| fixture.root().join(name);
    fixture.write_outside("a.md", "one\nshown\n");
    fixture.write_outside("new.md", "");
    fs::remove_file(at("gone.md")).expect("removes");
    fs::rename(at("old.md"), at("renamed.md")).expect("renames");
    fixture.observe();
    let shown = fixture.queue();
    assert_eq!(shown.len(), 4);
    fixture.write_outside("a.md", "one\nshown\nnot shown\n");
    fixture.write_outside("new.md", "not shown\n");
    fixture.write_outside("gone.md", "not shown\n");
    fixture.write_outside("renamed.md", &text.replace("line 2\n", "not shown\n"));
    fixture.observe();
    let waiting = fixture.queue();
    for item in &shown {
        for ids in [vec![item.id.clone()], item.ids()] {
            let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
            fixture.accept(&ids);
        }
    }
    let left = fixture.queue();
    assert_eq!(left.len(), waiting.len(), "{left:?}");
    let has_text = |item: &Item| {
        item.hunks
            .iter()
            .any(|hunk| hunk.text.contains("+not shown"))
    };
    assert!(left.iter().all(has_text), "{left:?}");
    // What is shown now can be accepted.
    for item in &left {
        fixture.accept(&[&item.id]);
    }
    assert_eq!(fixture.queue(), []);
}

#[test]
fn a_note_stays_while_the_item_waits() {
    let fixture = Fixture::new(&[("a.md", "one\n")]);
    fixture.write_outside("a.md", "two\n");
    fixture.observe();
    let id = fixture.queue()[0].id.clone();
    let moment = fixture.moment();
    let noted = annotate(
        &fixture.history,
        &fixture.store,
        &selection(&[&id]),
        "wrong: see #412",
        &moment,
    );
    assert_eq!(noted.expect("notes"), 1);
    fixture.write_outside("a.md", "two\nthree\n");
    fixture.observe();
    assert_eq!(fixture.queue()[0].notes[0].text, "wrong: see #412");
}

#[test]
fn a_state_that_is_lost_is_made_again_from_the_journal() {
    let text = numbered(30);
    let fixture = Fixture::new(&[("a.md", "one\n"), ("same.md", "two\n"), ("old.md", &text)]);
    fixture.write_outside("a.md", "one\nwaits\n");
    fixture.observe();
    fixture.write_outside("a.md", "one\nwaits\nand more\n");
    fixture.write_outside("old.md", &text.replace("line 2\n", "accepted\n"));
    fixture.observe();
    let own = fixture
        .queue()
        .into_iter()
        .find(|item| item.path == "old.md");
    fixture.accept(&[&own.expect("waits").id]);
    fixture.edit("cli", "mine.md", "mine\n");
    fixture.edit("mcp", "theirs.md", "theirs\n");
    fixture.observe();
    let shown = fixture.queue();
    assert_eq!(shown.len(), 2, "{shown:?}");
    let whole = fs::read(fixture.state_file()).expect("reads");
    for length in [
        None,
        Some(0),
        Some(20),
        Some(whole.len() / 2),
        Some(whole.len() - 70),
    ] {
        match length {
            None => fs::remove_file(fixture.state_file()).expect("removes"),
            Some(length) => fs::write(fixture.state_file(), &whole[..length]).expect("cuts"),
        }
        assert_eq!(fixture.observe().waiting, 2, "{length:?}");
        assert_eq!(fixture.queue(), shown, "{length:?}");
    }
    // What was written while it was lost waits as well.
    fs::remove_file(fixture.state_file()).expect("removes");
    fixture.write_outside("old.md", "quite different\n");
    assert_eq!(fixture.observe().waiting, 3);
}
