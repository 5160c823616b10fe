//! A store in which nothing was written is neither listed nor read, and nothing is missed.

use std::fs;
use std::time::{Duration, SystemTime};

use super::Fixture;
use crate::core::insight::review::saved::SavedState;
use crate::core::insight::review::{Observed, observe_store};

impl Fixture {
    fn observe_unlisted(&self) -> Observed {
        observe_store(&self.history, &self.store, &self.moment()).expect("observes")
    }

    /// The files that the next observation reads, if it need not list the store.
    fn written(&self) -> Option<Vec<String>> {
        let saved = SavedState::read(&self.history, self.store.id()).expect("reads");
        let saved = saved.expect("a state");
        let is_current = saved.is_current(&self.history).expect("reads");
        is_current.then(|| saved.written_files(self.store.root()))?
    }

    fn is_as_seen(&self) -> bool {
        self.written().is_some_and(|paths| paths.is_empty())
    }
}

#[test]
fn an_unchanged_store_is_known_by_its_times_alone() {
    let fixture = Fixture::new(&[("a.md", "one\n"), ("b.md", "two\n")]);
    fixture.write_outside("a.md", "one\nmore\n");
    assert_eq!(fixture.observe_unlisted().waiting, 1);
    assert!(fixture.is_as_seen());
    let state = fs::read(fixture.state_file()).expect("reads");
    assert_eq!(fixture.observe_unlisted().waiting, 1);
    assert_eq!(fs::read(fixture.state_file()).expect("reads"), state);
    // Each of these is seen, and then known again.
    let at = |name: &str| fixture.root().join(name);
    let old = SystemTime::now() - Duration::from_secs(1000);
    let set_back = |name: &str| {
        let file = fs::File::options().write(true).open(at(name));
        file.and_then(|file| file.set_modified(old)).expect("sets");
    };
    let steps: [(&str, &dyn Fn(), usize); 5] = [
        (
            "edited in place",
            &|| fixture.write_outside("b.md", "2\n"),
            2,
        ),
        (
            "a new file with an old time",
            &|| {
                fixture.write_outside("new.md", "new\n");
                set_back("new.md");
            },
            3,
        ),
        (
            "a folder",
            &|| {
                fs::create_dir(at("sub")).expect("creates");
                fs::write(at("sub/c.md"), "below\n").expect("writes");
            },
            4,
        ),
        (
            "deleted",
            &|| fs::remove_file(at("new.md")).expect("removes"),
            3,
        ),
        ("as it was", &|| fixture.write_outside("b.md", "two\n"), 2),
    ];
    for (what, step, waiting) in steps {
        std::thread::sleep(Duration::from_millis(20));
        step();
        // Only where no name came or went is it known which file was written.
        let is_edited = ["edited in place", "as it was"].contains(&what);
        let expected = is_edited.then(|| vec!["b.md".to_owned()]);
        assert_eq!(fixture.written(), expected, "{what}");
        assert_eq!(fixture.observe_unlisted().waiting, waiting, "{what}");
        assert!(fixture.is_as_seen(), "{what}");
        assert_eq!(fixture.observe_unlisted().waiting, waiting, "{what}");
    }
    // What tome itself does is known from the journal.
    fixture.accept(&["all"]);
    assert_eq!(fixture.observe_unlisted().waiting, 0);
    fixture.edit("mcp", "a.md", "one\nmore\nby an agent\n");
    assert!(!fixture.is_as_seen());
    assert_eq!(fixture.observe_unlisted().waiting, 1);
}

#[test]
fn a_file_that_may_change_again_in_the_same_moment_is_read_again() {
    let fixture = Fixture::new(&[("a.md", "one\n")]);
    fixture
        .clock
        .set(jiff::Timestamp::now().as_millisecond() - 10_000);
    fixture.write_outside("a.md", "two\n");
    assert_eq!(fixture.observe_unlisted().waiting, 1);
    assert!(!fixture.is_as_seen());
    let meta = fs::metadata(fixture.root().join("a.md")).expect("is there");
    fixture.write_outside("a.md", "one\n");
    let file = fs::File::options()
        .write(true)
        .open(fixture.root().join("a.md"));
    let time = meta.modified().expect("a time");
    file.and_then(|file| file.set_modified(time)).expect("sets");
    fixture
        .clock
        .set(jiff::Timestamp::now().as_millisecond() - 10_000);
    assert_eq!(fixture.observe_unlisted().waiting, 0);
}
