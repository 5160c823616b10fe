//! An error at every step of every kind of change, and of recovery. Afterwards every file is old or
//! new, the history matches it, and the next change works.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tome::core::change::history::History;
use tome::core::change::{
    BrokenLinks, Change, ChangeContext, ChangeRequest, Direction, Transfer, plan, plan_and_commit,
    plan_moves, replay, restore,
};
use tome::core::memory::citation::Citation;
use tome::core::memory::layout::{Fields, IndexUpdate, Layout};
use tome::core::memory::store::Store;
use tome::core::text::time::Moment;
use tome::core::{Error, Result};

use crate::store::{append, author, delete, named, patch, rename, typed, write};
use crate::support::{copy, directory_in_memory, recover_all, report, tree};

type Files = BTreeMap<String, Vec<u8>>;

/// The injected errors.
const ERRORS: [io::ErrorKind; 5] = [
    io::ErrorKind::PermissionDenied,
    io::ErrorKind::StorageFull,
    io::ErrorKind::NotFound,
    io::ErrorKind::ReadOnlyFilesystem,
    io::ErrorKind::CrossesDevices,
];

/// A directory with two stores and a history.
struct TestStore {
    dir: tempfile::TempDir,
}

impl TestStore {
    fn new() -> Self {
        let dir = directory_in_memory();
        fs::create_dir_all(dir.path().join("data")).expect("a folder");
        fs::create_dir_all(dir.path().join("stores")).expect("a folder");
        Self { dir }
    }

    fn file(&self, path: &str, text: &str) {
        let path = self.dir.path().join("stores").join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }

    fn root(&self, name: &str) -> PathBuf {
        let stores = self.dir.path().join("stores").canonicalize();
        stores.expect("there").join(name)
    }

    fn store(&self, name: &str, layout: Layout) -> Store {
        Store::open(name, &self.root(name), Some(layout)).expect("opens")
    }

    fn stores(&self) -> Files {
        tree(&self.dir.path().join("stores"))
    }

    fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    fn history(&self) -> History {
        History::open(&self.data())
    }

    fn replace_by(&self, other: &Path) {
        for name in ["data", "stores"] {
            fs::remove_dir_all(self.dir.path().join(name)).expect("removed");
            copy(&other.join(name), &self.dir.path().join(name));
        }
    }
}

fn moment() -> Moment {
    Moment {
        time: jiff::Timestamp::from_second(1_800_000_000).expect("a time"),
        today: jiff::civil::date(2026, 11, 15),
    }
}

fn change_context() -> ChangeContext {
    ChangeContext {
        moment: moment(),
        expected: None,
        history: None,
    }
}

/// A kind of change: the initial files, and how it is planned.
struct Kind {
    name: &'static str,
    setup: fn(&TestStore),
    roots: &'static [&'static str],
    plan: fn(&TestStore, &History) -> Result<Change>,
}

fn carry_out(bench: &TestStore, history: &History, kind: &Kind) -> Result<()> {
    let roots: Vec<PathBuf> = kind.roots.iter().map(|name| bench.root(name)).collect();
    let roots: Vec<&Path> = roots.iter().map(PathBuf::as_path).collect();
    let plan = || (kind.plan)(bench, history);
    plan_and_commit::<Error>(history, &roots, &author(), &moment(), plan).map(drop)
}

fn request(bench: &TestStore, request: &ChangeRequest) -> Result<Change> {
    plan(
        &bench.store("index", Layout::Index),
        request,
        &change_context(),
    )
}

fn do_request(bench: &TestStore, asked: &ChangeRequest) {
    let (root, history) = (bench.root("index"), bench.history());
    let plan = || request(bench, asked);
    plan_and_commit::<Error>(&history, &[&root], &author(), &moment(), plan).expect("made");
}

fn index(bench: &TestStore) {
    bench.file("index/MEMORY.md", "# Memory\n");
    for name in ["a", "b", "c"] {
        let content = format!("body of {name}, see [a](a.md) and [[b]]");
        do_request(
            bench,
            &write(&format!("{name}.md"), &content, typed("user")),
        );
    }
    bench.file("other/MEMORY.md", "# Memory\n");
}

fn hand_written(bench: &TestStore) {
    bench.file(
        "index/MEMORY.md",
        "# Mine\n\nProse.\n\n- [A](a.md) — hook\n- [[b]] — hook\n\nEnd",
    );
    bench.file(
        "index/a.md",
        "---\nname: A\ntype: user\n---\nsee [b](b.md)\r\n",
    );
    bench.file("index/b.md", "---\nname: B\ntype: user\n---\nsee [[a]]");
}

fn deleted(bench: &TestStore) {
    index(bench);
    do_request(bench, &delete(&["a.md", "b.md"]));
}

fn undone(bench: &TestStore) {
    deleted(bench);
    let (root, history) = (bench.root("index"), bench.history());
    let plan = || last(&history, &root, Direction::Back);
    plan_and_commit::<Error>(&history, &[&root], &author(), &moment(), plan).expect("made");
}

fn facts(bench: &TestStore) {
    bench.file(
        "index/facts/user.md",
        "# U\n\n> Summary: s\n\n- Name: Kim\n",
    );
}

fn lessons(bench: &TestStore) {
    bench.file(
        "index/episodic/episodic.md",
        "**Title:** t\n\n**Tags:** #x\n\n---\n\n**Title:** u\n\n**Tags:** #x\n",
    );
}

fn last(history: &History, root: &Path, way: Direction) -> Result<Change> {
    let record = match way {
        Direction::Back => history.undoable(&[root])?,
        Direction::Forward => history.redoable(&[root])?,
    };
    replay(history, &record.expect("a change"), way, &moment())
}

/// A change of the store `index`.
const fn kind(
    name: &'static str,
    setup: fn(&TestStore),
    plan: fn(&TestStore, &History) -> Result<Change>,
) -> Kind {
    Kind {
        name,
        setup,
        roots: &["index"],
        plan,
    }
}

const KINDS: [Kind; 18] = [
    kind("write", index, |bench, _| {
        request(bench, &write("d.md", "new", typed("project")))
    }),
    kind("overwrite", index, |bench, _| {
        request(bench, &write("a.md", "other", typed("feedback")))
    }),
    kind(
        "write beside a hand-written index",
        hand_written,
        |bench, _| request(bench, &write("c.md", "new", typed("user"))),
    ),
    kind("patch", index, |bench, _| {
        request(bench, &patch("a.md", "---\n\nbody", "---\n\ntext"))
    }),
    kind("append", index, |bench, _| {
        request(bench, &append("b.md", "more"))
    }),
    kind("edit", hand_written, |bench, _| {
        let edited = ChangeRequest::Edit {
            path: "a.md".to_owned(),
            text: "---\nname: A2\ntype: user\n---\nother\n".to_owned(),
        };
        request(bench, &edited)
    }),
    kind("delete", index, |bench, _| {
        request(bench, &delete(&["a.md", "b.md", "c.md"]))
    }),
    kind("rename", index, |bench, _| {
        request(bench, &rename("a.md", "z.md"))
    }),
    kind(
        "rename in a hand-written index",
        hand_written,
        |bench, _| request(bench, &rename("b.md", "c.md")),
    ),
    Kind {
        roots: &["index", "other"],
        ..kind("move", index, |bench, _| {
            let from = bench.store("index", Layout::Index);
            let to = bench.store("other", Layout::Index);
            let transfer = Transfer {
                source: &from,
                path: "a.md",
                place: "a.md".to_owned(),
            };
            plan_moves(&[transfer], &to, BrokenLinks::Follow, &change_context())
        })
    },
    kind("index", hand_written, |bench, _| {
        request(bench, &ChangeRequest::Index(IndexUpdate::Rewrite))
    }),
    kind("undo", deleted, |bench, history| {
        last(history, &bench.root("index"), Direction::Back)
    }),
    kind("redo", undone, |bench, history| {
        last(history, &bench.root("index"), Direction::Forward)
    }),
    kind("restore", deleted, |bench, history| {
        let record = history
            .undoable(&[&bench.root("index")])?
            .expect("a change");
        restore(history, &record, Some("a.md".into()), &moment())
    }),
    kind("new folder", facts, |bench, _| {
        let store = bench.store("index", Layout::Facts);
        let written = write("ideas/x.md", "# X\n", Fields::default());
        plan(&store, &written, &change_context())
    }),
    kind("lesson", lessons, |bench, _| {
        let written = write("semantic/errors/retry.md", "c", named("R"));
        coder_request(bench, &written)
    }),
    kind("extended lesson", lessons, |bench, _| {
        let extended = ChangeRequest::Extend {
            lesson: lesson("episodic/episodic.md#t"),
            content: "more".to_owned(),
            fields: Fields::default(),
        };
        coder_request(bench, &extended)
    }),
    kind("generalized lesson", lessons, |bench, _| {
        let from = ["t", "u"].map(|title| lesson(&format!("episodic/episodic.md#{title}")));
        let generalized = ChangeRequest::Generalize {
            path: "semantic/principles/p.md".to_owned(),
            content: "always".to_owned(),
            fields: named("P"),
            from: from.to_vec(),
        };
        coder_request(bench, &generalized)
    }),
];

fn coder_request(bench: &TestStore, request: &ChangeRequest) -> Result<Change> {
    let store = bench.store("index", Layout::Coder);
    plan(&store, request, &change_context())
}

fn lesson(citation: &str) -> Citation {
    let Ok(citation) = citation.parse();
    citation
}

/// A history whose steps fail as `fails` returns, and the number of steps taken.
fn failing(
    dir: &Path,
    fails: impl Fn(usize) -> Option<io::ErrorKind> + Send + Sync + 'static,
) -> (History, Arc<AtomicUsize>) {
    let steps = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&steps);
    let observer = move |_: &str| {
        let step = counted.fetch_add(1, Ordering::SeqCst) + 1;
        fails(step).map_or(Ok(()), |kind| Err(kind.into()))
    };
    (History::with_observer(dir, Arc::new(observer)), steps)
}

/// A kind of change with its store: the files before and after, and the number of its steps.
struct Prepared<'a> {
    kind: &'a Kind,
    bench: TestStore,
    template: tempfile::TempDir,
    old: Files,
    new: Files,
    steps: usize,
}

impl<'a> Prepared<'a> {
    fn new(kind: &'a Kind) -> Self {
        let bench = TestStore::new();
        (kind.setup)(&bench);
        let template = directory_in_memory();
        copy(bench.dir.path(), template.path());
        let old = bench.stores();
        let (history, steps) = failing(&bench.data(), |_| None);
        carry_out(&bench, &history, kind).expect(kind.name);
        let new = bench.stores();
        assert_ne!(old, new, "{}: the change does something", kind.name);
        Self {
            kind,
            old,
            new,
            steps: steps.load(Ordering::SeqCst),
            bench,
            template,
        }
    }

    fn reset(&self) {
        self.bench.replace_by(self.template.path());
    }

    fn records(&self) -> usize {
        self.bench.history().records().expect("readable").len()
    }

    fn settle(&self, history: &History) -> Result<()> {
        let roots = [self.bench.root("index"), self.bench.root("other")];
        let roots: Vec<&Path> = roots.iter().map(PathBuf::as_path).collect();
        recover_all(history, &roots)
    }

    /// Checks that the change can now be made and undone.
    fn goes_on(&self, at: &str) {
        let history = self.bench.history();
        if self.bench.stores() == self.old {
            carry_out(&self.bench, &history, self.kind)
                .unwrap_or_else(|error| panic!("{at}: the next change fails: {error}"));
        }
        assert_eq!(self.bench.stores(), self.new, "{at}: the next change");
        let records = history.records().expect("readable");
        let record = records.last().expect("recorded").clone();
        let roots: Vec<PathBuf> = record
            .roots()
            .iter()
            .map(|root| (*root).to_owned())
            .collect();
        let roots: Vec<&Path> = roots.iter().map(PathBuf::as_path).collect();
        let (record, way) = history.reversal(record).expect("found");
        let plan = || replay(&history, &record, way, &moment());
        plan_and_commit::<Error>(&history, &roots, &author(), &moment(), plan)
            .unwrap_or_else(|error| panic!("{at}: undo fails: {error}"));
        assert_eq!(self.bench.stores(), self.old, "{at}: undo");
        let pending = fs::read_dir(self.bench.data().join("pending")).expect("readable");
        assert_eq!(pending.count(), 0, "{at}: nothing is pending");
    }
}

/// Runs `test` for every kind of change, on two threads; returns the number of injected errors.
fn for_every_kind(test: impl Fn(&Prepared<'_>) -> usize + Sync) -> usize {
    std::thread::scope(|scope| {
        let halves = KINDS.chunks(KINDS.len().div_ceil(2));
        let threads: Vec<_> = halves
            .map(|half| {
                let test = &test;
                scope.spawn(move || {
                    let counts = half.iter().map(|kind| test(&Prepared::new(kind)));
                    counts.sum::<usize>()
                })
            })
            .collect();
        let counts = threads.into_iter().map(|thread| thread.join());
        counts
            .map(|count| count.expect("no kind of change fails"))
            .sum()
    })
}

#[test]
fn an_error_at_any_step_leaves_the_change_made_or_not_made() {
    let injected = for_every_kind(|prepared| {
        let mut injected = 0;
        for step in 1..=prepared.steps {
            for error in ERRORS {
                prepared.reset();
                let before = prepared.records();
                let at = format!("{}, step {step}, {error:?}", prepared.kind.name);
                let (history, _) = failing(&prepared.bench.data(), move |s| {
                    (s == step).then_some(error)
                });
                let result = carry_out(&prepared.bench, &history, prepared.kind);
                injected += 1;
                prepared.settle(&prepared.bench.history()).expect("settles");
                let (files, made) = match &result {
                    Ok(()) => (&prepared.new, 1),
                    Err(_) => (&prepared.old, 0),
                };
                assert_eq!(prepared.bench.stores(), *files, "{at}: {result:?}");
                assert_eq!(prepared.records(), before + made, "{at}: {result:?}");
                if let Err(failure) = result {
                    let message = failure.to_string();
                    let place = prepared.bench.dir.path().display().to_string();
                    assert!(message.contains(&place), "{at}: {message} names no file");
                }
                prepared.goes_on(&at);
            }
        }
        injected
    });
    report(&format!("{injected} errors injected into changes"));
    assert!(injected > 2_000, "only {injected} errors were injected");
}

#[test]
fn a_system_that_fails_from_some_step_on_is_settled_later() {
    let injected = for_every_kind(|prepared| {
        let mut injected = 0;
        for step in 1..=prepared.steps {
            let error = ERRORS[step % ERRORS.len()];
            let at = format!("{}, from step {step} on", prepared.kind.name);
            // Every step of the recovery fails once, too.
            for recovery in 0.. {
                prepared.reset();
                let (history, _) = failing(&prepared.bench.data(), move |s| {
                    (s >= step).then_some(error)
                });
                let result = carry_out(&prepared.bench, &history, prepared.kind);
                injected += 1;
                for (path, bytes) in prepared.bench.stores() {
                    let is_old = prepared.old.get(&path) == Some(&bytes);
                    let is_new = prepared.new.get(&path) == Some(&bytes);
                    let is_temporary = path.contains(".tome-");
                    assert!(is_old || is_new || is_temporary, "{at}: {path} is neither");
                }
                let (history, taken) = failing(&prepared.bench.data(), move |s| {
                    (s == recovery).then_some(error)
                });
                // The next recovery must succeed even if this one fails.
                drop(prepared.settle(&history));
                prepared.settle(&prepared.bench.history()).expect("settles");
                let files = prepared.bench.stores();
                match result {
                    Ok(()) => assert_eq!(files, prepared.new, "{at}, {recovery} of recovery"),
                    Err(_) => assert_eq!(files, prepared.old, "{at}, {recovery} of recovery"),
                }
                prepared.goes_on(&format!("{at}, {recovery} of recovery"));
                if taken.load(Ordering::SeqCst) <= recovery {
                    break;
                }
            }
        }
        injected
    });
    report(&format!("{injected} failing systems recovered from"));
    assert!(injected > 2_000, "only {injected} errors were injected");
}
