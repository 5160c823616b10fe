//! Tests of re-homing: real git repositories in temporary directories.

use std::collections::BTreeMap;
use std::process::Command;

use super::*;
use crate::core::change::history::History;
use crate::core::change::{Author, Direction, plan_and_commit, replay};
use crate::core::insight::curate::tests::broken_links;
use crate::core::memory::layout::Layout;
use crate::core::text::time::Moment;

/// A home with projects and Claude Code's directories of them.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary directory"))
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().canonicalize().expect("there").join(path)
    }

    fn projects(&self) -> PathBuf {
        self.path(".claude/projects")
    }

    fn git(&self, project: &str, args: &[&str]) -> String {
        let output = Command::new("git")
            .arg("-C")
            .arg(self.path(project))
            .args(["-c", "user.name=k", "-c", "user.email=k@example.org"])
            .args(args)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .expect("git runs");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Creates a repository whose first commit has this message; returns the hash.
    fn repository(&self, project: &str, message: &str) -> String {
        fs::create_dir_all(self.path(project)).expect("folders");
        self.git(project, &["init", "--quiet"]);
        self.git(
            project,
            &["commit", "--quiet", "--allow-empty", "-m", message],
        );
        self.git(project, &["rev-parse", "HEAD"])
    }

    /// Writes the memories and a log of a project at a path that may not exist any more.
    fn remember(&self, project: &str, memories: &[(&str, &str)], said: &str) -> PathBuf {
        let root = claude_home_of(&self.projects(), &self.path(project));
        fs::create_dir_all(&root).expect("folders");
        let mut index = "# Memory\n\n## Project\n".to_owned();
        for (file, body) in memories {
            let text = format!("---\nname: {file}\ndescription: d\ntype: project\n---\n\n{body}\n");
            fs::write(root.join(file), text).expect("writes");
            index.push_str(&format!("- [{file}]({file}) - d\n"));
        }
        fs::write(root.join(INDEX), index).expect("writes");
        let cwd = self.path(project).join("src");
        let record = serde_json::json!({ "type": "user", "cwd": cwd, "text": said });
        let log = root.parent().expect("a folder").join("s.jsonl");
        fs::write(log, format!("not json\n{record}\n")).expect("writes");
        root
    }

    fn found(&self, project: &str) -> Vec<(String, bool, Proof)> {
        let project = self.path(project);
        let current = claude_home_of(&self.projects(), &project);
        let found = former_homes(&self.projects(), &project, &current, &Git::at("git"));
        let name = |path: &Path| {
            path.file_name()
                .expect("a name")
                .to_string_lossy()
                .into_owned()
        };
        found
            .into_iter()
            .map(|home| (name(&home.project), home.is_there, home.proof))
            .collect()
    }

    fn store(&self, root: &Path) -> Store {
        let name = root.parent().and_then(Path::file_name).expect("a name");
        Store::open(&name.to_string_lossy(), root, Some(Layout::Index)).expect("opens")
    }

    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut all = BTreeMap::new();
        for folder in folders(&self.projects()) {
            for file in fs::read_dir(folder.join("memory"))
                .into_iter()
                .flatten()
                .flatten()
            {
                all.insert(file.path(), fs::read(file.path()).expect("reads"));
            }
        }
        all
    }
}

fn context() -> ChangeContext {
    ChangeContext {
        moment: Moment {
            time: jiff::Timestamp::UNIX_EPOCH,
            today: jiff::civil::date(2026, 2, 12),
        },
        expected: None,
        history: None,
    }
}

#[test]
fn a_moved_project_is_known_by_a_commit_in_its_logs_and_a_sibling_with_the_same_prefix_is_not() {
    let home = Home::new();
    let hash = home.repository("shop", "first");
    let said = format!("[main (root-commit) {}] first", &hash[..7]);
    home.remember("old-shop", &[("a.md", "a")], &said);
    // A name that begins the same, another project, and one of which nothing is known.
    home.remember("shop-admin", &[("a.md", "a")], "[main 1234567] other");
    home.remember("old-shop-2", &[("a.md", "a")], "nothing");
    home.repository("other", "unlike");
    home.remember("other", &[("a.md", "a")], &said);
    home.remember("shop", &[("b.md", "b")], &said);
    assert_eq!(
        home.found("shop"),
        [("old-shop".to_owned(), false, Proof::Commit(hash))]
    );
    assert_eq!(home.found("old-shop"), [], "without git there is no proof");
}

#[test]
fn a_clone_and_a_worktree_are_known_by_their_first_commit_and_others_by_their_remote() {
    let home = Home::new();
    let hash = home.repository("shop", "first");
    home.git("shop", &["worktree", "add", "--quiet", "../shop-fix"]);
    home.remember("shop-fix", &[("a.md", "a")], "");
    home.repository("shallow", "grafted");
    for (project, url) in [
        ("shop", "git@example.org:kim/shop.git"),
        ("shallow", "https://example.org/kim/shop"),
    ] {
        home.git(project, &["remote", "add", "origin", url]);
    }
    home.remember("shallow", &[("a.md", "a")], "");
    assert_eq!(
        home.found("shop"),
        [
            (
                "shallow".to_owned(),
                true,
                Proof::Remote("example.org/kim/shop".to_owned())
            ),
            ("shop-fix".to_owned(), true, Proof::FirstCommit(hash)),
        ]
    );
}

#[test]
fn memories_are_gathered_with_links_and_indexes_and_one_undo_gives_every_byte_back() {
    let home = Home::new();
    let old = home.remember(
        "old",
        &[
            ("plan.md", "see [x](same.md), [y](taken.md) and [[taken]]"),
            ("same.md", "the same"),
            ("taken.md", "of the old place"),
        ],
        "",
    );
    let new = home.remember(
        "new",
        &[("same.md", "the same"), ("taken.md", "of the new place")],
        "",
    );
    let sibling = home.remember("old-2", &[("plan.md", "not touched")], "");
    let before = home.files();
    let (source, target) = (home.store(&old), home.store(&new));
    let rehoming = plan_rehome(&source, &target, &context())
        .expect("plans")
        .expect("moves");
    assert_eq!(
        rehoming.notes,
        [
            "same.md is there already, the same",
            "taken.md is taken: it becomes taken-2.md",
        ]
    );
    let author = Author::test();
    let history = History::open(&home.path("history"));
    let moment = context().moment;
    let change = rehoming.change;
    let roots: Vec<PathBuf> = change.roots().into_iter().map(Path::to_owned).collect();
    let roots: Vec<&Path> = roots.iter().map(PathBuf::as_path).collect();
    let made = plan_and_commit(&history, &roots, &author, &moment, || {
        Ok::<_, Error>(change.clone())
    });
    let record = made.expect("commits").record.expect("a change");
    let read = |file: &str| fs::read_to_string(new.join(file)).unwrap_or_default();
    assert!(
        read("plan.md").ends_with("see [x](same.md), [y](taken-2.md) and [[taken-2]]\n"),
        "{}",
        read("plan.md")
    );
    assert!(read("taken.md").ends_with("of the new place\n"));
    assert!(read("taken-2.md").ends_with("of the old place\n"));
    let index = read(INDEX);
    assert!(
        index.contains("(plan.md)") && index.contains("(taken-2.md)"),
        "{index}"
    );
    assert_eq!(index.matches("(same.md)").count(), 1, "{index}");
    assert_eq!(broken_links(&target), [] as [String; 0]);
    assert!(!old.join(INDEX).exists() && !old.join("same.md").exists());
    assert!(sibling.join("plan.md").exists());
    plan_and_commit(&history, &record.roots(), &author, &moment, || {
        replay(&history, &record, Direction::Back, &moment)
    })
    .expect("undoes");
    assert_eq!(home.files(), before);
}

#[test]
fn what_an_index_says_comes_along_part_by_part() {
    let home = Home::new();
    for (number, (old, new, expected)) in [
        (
            "# Memory\n\nAlways speak French.\n\n- [A](a.md) — one\n\n## Staging\n\nOn quokka17, see [A](a.md).\n\n## Empty\n",
            "# Shop\n\nShort.\n\n- [B](b.md) — two\n\n## Last\nx",
            "# Shop\n\nShort.\n\n- [B](b.md) — two\n\nAlways speak French.\n\n- [A](a-2.md) — one\n\n## Last\nx\n\n## Staging\n\nOn quokka17, see [A](a-2.md).\n\n## Empty\n",
        ),
        // Lines stay below their heading with all that belongs to them.
        (
            "# Memory\n\n## Ops\n\n- [A](a.md) — one\n  and more\n\nOn Tuesdays, see [[a]].\n\n## Last\n- [web](https://x.y)\n",
            "# Shop\n\n- [B](b.md) — two\n\n## Last\n- x\n\n### Deep\n- y\n",
            "# Shop\n\n- [B](b.md) — two\n\n## Last\n- x\n- [web](https://x.y)\n\n### Deep\n- y\n\n## Ops\n\n- [A](a-2.md) — one\n  and more\n\nOn Tuesdays, see [[a-2]].\n",
        ),
        // Headings say something, too.
        (
            "# Memory\n\n### Never on Fridays\n\n## Ideas\n### One\n### Two\n\n#tag\n",
            "# Shop\n\n## ideas\n\nx\n\n## Last\n",
            "# Shop\n\n### Never on Fridays\n\n## ideas\n\nx\n\n### One\n\n### Two\n\n#tag\n\n## Last\n",
        ),
        ("# Old\n\nFrench.\n", "# Memory\n\n(empty)\n", "# Old\n\nFrench.\n"),
        // A part of that heading, and what is there already.
        (
            "# Memory\n\n## Last\ny\n\n### deep\nz\n\n# More\n\n- [web](https://x.y)\n\n## Same\n\n1\n\n## Other\n1\n",
            "# Memory\r\n\r\n## Last\r\n\r\nx\r\n\r\n## Same\r\n\r\n1\r\n",
            "# Memory\r\n\r\n## Last\r\n\r\nx\r\n\r\ny\r\n\r\n### deep\r\nz\r\n\r\n## Same\r\n\r\n1\r\n\r\n# More\r\n\r\n- [web](https://x.y)\r\n\r\n## Other\r\n1\r\n",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let files: &[(&str, &str)] = if old.contains("a.md") { &[("a.md", "a")] } else { &[] };
        let from = home.remember(&format!("old{number}"), files, "");
        let to = home.remember(&format!("new{number}"), &[("b.md", "b"), ("a.md", "mine")], "");
        fs::write(from.join(INDEX), old).expect("writes");
        fs::write(to.join(INDEX), new).expect("writes");
        let (source, target) = (home.store(&from), home.store(&to));
        let planned = plan_rehome(&source, &target, &context());
        let planned = planned.expect("plans").expect("moves");
        let edits = &planned.change.edits;
        let of = |store: &Store| {
            let root = store.root().path();
            let edit = edits.iter().find(|edit| edit.root == root && edit.path == INDEX);
            edit.expect("an edit").after.clone()
        };
        let text = String::from_utf8(of(&target).expect("written")).expect("text");
        assert_eq!(text, expected);
        assert_eq!(of(&source), None);
        // What is there already is not written twice.
        for edit in edits {
            let path = edit.root.join(&edit.path);
            match &edit.after {
                Some(bytes) => fs::write(path, bytes).expect("writes"),
                None => fs::remove_file(path).expect("removes"),
            }
        }
        let none = plan_rehome(&source, &target, &context());
        assert!(none.expect("plans").is_none());
        home.remember(&format!("old{number}"), files, "");
        fs::write(from.join(INDEX), old).expect("writes");
        let again = plan_rehome(&source, &target, &context()).expect("plans");
        let mut edits = again.expect("moves").change.edits.into_iter();
        assert!(edits.all(|edit| edit.root == source.root().path()), "{number}");
        let same = plan_rehome(&target, &target, &context());
        assert!(same.expect("plans").is_none());
    }
}

#[test]
fn a_name_that_is_taken_twice_gets_the_next_number_and_what_cannot_be_gathered_is_refused() {
    let home = Home::new();
    let old = home.remember("old", &[("a.md", "one"), ("a-2.md", "two")], "");
    let new = home.remember("new", &[("a.md", "other"), ("a-2.md", "two")], "");
    let (source, target) = (home.store(&old), home.store(&new));
    let planned = plan_rehome(&source, &target, &context())
        .expect("planned")
        .expect("moves");
    let mut notes = planned.notes;
    notes.sort();
    assert_eq!(
        notes[..2],
        [
            "a-2.md is there already, the same",
            "a.md is taken: it becomes a-3.md"
        ]
    );
    let refused = |source: &Store, target: &Store| {
        let error = plan_rehome(source, target, &context()).expect_err("refused");
        error.to_string()
    };
    let facts = home.path("facts");
    fs::create_dir_all(&facts).expect("a folder");
    let facts = Store::open("facts", &facts, Some(Layout::Facts)).expect("opens");
    let told = refused(&source, &facts);
    assert!(
        told.contains("its layout is index, that of facts is facts"),
        "{told}"
    );
    let empty = home.remember("empty", &[], "");
    let none = plan_rehome(&home.store(&empty), &target, &context());
    assert!(none.expect("plans").is_none());
}

#[test]
fn folders_and_the_lines_of_the_old_index_come_along() {
    let home = Home::new();
    let old = home.remember("old", &[("a.md", "a")], "");
    let new = home.remember("new", &[("b.md", "b")], "");
    fs::create_dir_all(old.join("deep/er")).expect("folders");
    fs::write(old.join("deep/er/c.md"), "see [a](../../a.md)\n").expect("writes");
    fs::write(
        old.join(INDEX),
        "# Memory\n\n- [The first](a.md) — as I call it\n- [Below](deep/er/c.md) — a folder\n",
    )
    .expect("writes");
    let (source, target) = (home.store(&old), home.store(&new));
    let rehoming = plan_rehome(&source, &target, &context())
        .expect("plans")
        .expect("moves");
    let after = |path: &str| {
        let mut edits = rehoming.change.edits.iter();
        let edit = edits.find(|edit| edit.root == target.root().path() && edit.path == path);
        let bytes = edit.and_then(|edit| edit.after.clone()).expect("written");
        String::from_utf8(bytes).expect("text")
    };
    assert_eq!(after("deep/er/c.md"), "see [a](../../a.md)\n");
    let index = after(INDEX);
    for line in [
        "- [The first](a.md) - as I call it\n",
        "- [Below](deep/er/c.md) - a folder\n",
        "(b.md)",
    ] {
        assert!(index.contains(line), "{index}");
    }
}
