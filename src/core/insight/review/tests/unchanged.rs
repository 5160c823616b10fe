//! What is written into a store that was not listed is seen, and what was seen is known again.

use std::fs;
use std::time::{Duration, SystemTime};

use super::Fixture;
use crate::core::insight::review::observe_store;

impl Fixture {
    /// How many files wait once the store was observed.
    fn waiting_unlisted(&self) -> usize {
        let observed = observe_store(&self.history, &self.store, &self.moment());
        observed.expect("observes").waiting
    }
}

#[test]
fn a_file_is_read_again_when_its_size_or_time_is_another() {
    let fixture = Fixture::new(&[("a.md", "one\n"), ("b.md", "two\n")]);
    fixture.write_outside("a.md", "one\nmore\n");
    let at = |name: &str| fixture.root().join(name);
    let old = SystemTime::now() - Duration::from_secs(1000);
    let set_back = |name: &str| {
        let file = fs::File::options().write(true).open(at(name));
        file.and_then(|file| file.set_modified(old)).expect("sets");
    };
    let steps: [(&str, &dyn Fn(), usize); 6] = [
        ("seen for the first time", &|| {}, 1),
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
        assert_eq!(fixture.waiting_unlisted(), waiting, "{what}");
        let state = fs::read(fixture.state_file()).expect("reads");
        assert_eq!(fixture.waiting_unlisted(), waiting, "{what}");
        assert!(
            fs::read(fixture.state_file()).expect("reads") == state,
            "{what}"
        );
    }
    // What tome itself does is known from the journal.
    fixture.accept(&["all"]);
    assert_eq!(fixture.waiting_unlisted(), 0);
    fixture.edit("mcp", "a.md", "one\nmore\nby an agent\n");
    assert_eq!(fixture.waiting_unlisted(), 1);
}

#[test]
fn a_file_that_may_change_again_in_the_same_moment_is_read_again() {
    let fixture = Fixture::new(&[("a.md", "one\n")]);
    let now = || {
        let now = jiff::Timestamp::now().as_millisecond();
        fixture.clock.set(now - 10_000);
    };
    now();
    fixture.write_outside("a.md", "two\n");
    assert_eq!(fixture.waiting_unlisted(), 1);
    let file = fixture.root().join("a.md");
    let time = fs::metadata(&file).and_then(|meta| meta.modified());
    fixture.write_outside("a.md", "one\n");
    let file = fs::File::options().write(true).open(file);
    file.and_then(|file| file.set_modified(time.expect("a time")))
        .expect("sets");
    now();
    assert_eq!(fixture.waiting_unlisted(), 0);
}
