//! Each rule on memories where it must speak and on memories where it must not; fixes and waivers.

pub(super) mod poison;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::fix::plan_fixes;
use super::git::ProjectHistory;
use super::waiver;
use super::{Collection, CuratedStore, Finding, RULES, check, returned};
use crate::core::change::{Author, Direction, Moment, plan_and_commit, replay};
use crate::core::config::CurateSettings;
use crate::core::history::History;
use crate::core::layout::Layout;
use crate::core::store::Store;

/// Stores in a temporary directory, and a project without files.
struct Fixture {
    dir: tempfile::TempDir,
    layout: Layout,
    names: Vec<&'static str>,
    project: Option<(&'static str, &'static str)>,
}

impl Fixture {
    fn new(files: &[(&str, &str)]) -> Self {
        let fixture = Self {
            dir: tempfile::tempdir().expect("a temporary directory"),
            layout: Layout::Index,
            names: vec!["one"],
            project: None,
        };
        fs::create_dir_all(fixture.dir.path().join("project")).expect("a folder");
        fixture.write("one", files);
        fixture
    }

    fn with_layout(mut self, layout: Layout) -> Self {
        self.layout = layout;
        self
    }

    /// Adds another store.
    fn and(mut self, name: &'static str, files: &[(&str, &str)]) -> Self {
        self.write(name, files);
        self.names.push(name);
        self
    }

    /// Gives the project a history: its files, and its log as git prints it.
    fn of_project(mut self, files: &'static str, log: &'static str) -> Self {
        self.project = Some((files, log));
        self
    }

    fn write(&self, store: &str, files: &[(&str, &str)]) {
        for (path, text) in files {
            let path = self.dir.path().join(store).join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
            fs::write(path, text).expect("a file");
        }
    }

    fn stores(&self) -> Vec<Store> {
        let open = |name: &&str| {
            let path = self.dir.path().join(name);
            Store::open(name, &path, Some(self.layout)).expect("a store")
        };
        self.names.iter().map(open).collect()
    }

    fn history(&self) -> History {
        History::open(&self.dir.path().join("history"))
    }

    fn with<T>(&self, act: impl FnOnce(&Collection<'_>) -> T) -> T {
        let stores = self.stores();
        let root = self.dir.path().join("project");
        let project = self.project.map(|(files, log)| {
            let mut history = ProjectHistory::parse(files, log);
            history.root = root.clone();
            Arc::new(history)
        });
        let curated = stores.iter().map(|store| CuratedStore {
            project: project.clone(),
            project_root: Some(root.clone()),
            ..CuratedStore::read(store).expect("readable")
        });
        act(&Collection::new(
            curated.collect(),
            returned::graves(&self.history()).expect("readable"),
            moment().today,
            CurateSettings::default(),
        ))
    }

    fn findings(&self, rule: &str) -> Vec<Finding> {
        self.with(|collection| check(collection, &[rule.to_owned()]))
    }

    /// The findings of a rule: the file, the line, the subject and the evidence.
    fn told(&self, rule: &str) -> Vec<String> {
        let tell = |finding: &Finding| {
            let evidence: Vec<String> = finding
                .evidence
                .iter()
                .map(|piece| {
                    let commit = piece.commit.as_deref().map(|c| format!("{c} "));
                    format!("{}{}", commit.unwrap_or_default(), piece.text)
                })
                .collect();
            let line = finding.line.map_or(String::new(), |line| line.to_string());
            format!(
                "{}:{line} {} <{}>",
                finding.path,
                finding.subject,
                evidence.join("|")
            )
        };
        self.findings(rule).iter().map(tell).collect()
    }

    fn is_silent(&self, rule: &str) {
        assert_eq!(self.told(rule), [""; 0]);
    }

    /// Every file of the first store.
    fn files(&self) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        let root = self.dir.path().join("one");
        for entry in walkdir::WalkDir::new(&root).into_iter().flatten() {
            if entry.file_type().is_file() {
                let path = entry.path().strip_prefix(&root).expect("below");
                let text = fs::read_to_string(entry.path()).expect("text");
                found.insert(path.display().to_string(), text);
            }
        }
        found
    }

    /// Fixes what a rule finds, checks that it finds nothing afterwards and that an undo gives
    /// every byte back, and returns the files that were changed, as they were after the fix.
    fn fixed(&self, rule: &str) -> BTreeMap<String, Option<String>> {
        let before = self.files();
        let findings = self.findings(rule);
        assert!(findings.iter().any(|finding| finding.fix.is_some()));
        let root = self.dir.path().join("one").canonicalize().expect("there");
        let author = Author {
            who: "you".to_owned(),
            door: "test".to_owned(),
        };
        let (history, moment) = (self.history(), moment());
        let committed = self.with(|collection| {
            plan_and_commit(&history, &[&root], (&author, &moment), || {
                plan_fixes(&collection.stores[0], findings.iter(), &moment)
            })
            .expect("is fixed")
        });
        let left = self.findings(rule);
        assert!(left.iter().all(|finding| finding.fix.is_none()), "{left:?}");
        let after = self.files();
        let record = committed.record.expect("a change");
        plan_and_commit(&history, &[&root], (&author, &moment), || {
            replay(&history, &record, Direction::Back, &moment)
        })
        .expect("is undone");
        assert_eq!(self.files(), before);
        let paths: Vec<&String> = before.keys().chain(after.keys()).collect();
        let changed = paths
            .into_iter()
            .filter(|path| before.get(*path) != after.get(*path));
        changed
            .map(|path| (path.clone(), after.get(path).cloned()))
            .collect()
    }
}

fn moment() -> Moment {
    Moment {
        time: "2026-11-15T12:00:00Z".parse().expect("a time"),
        today: "2026-11-15".parse().expect("a date"),
    }
}

/// A memory of an index store.
fn memory(name: &str, body: &str) -> String {
    format!("---\nname: {name}\ndescription: about {name}\ntype: project\n---\n\n{body}\n")
}

fn only(path: &str, text: &str) -> BTreeMap<String, Option<String>> {
    BTreeMap::from([(path.to_owned(), Some(text.to_owned()))])
}

#[test]
fn every_rule_has_an_id_of_its_own() {
    let mut ids: Vec<&str> = RULES.iter().map(|rule| rule.id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), RULES.len());
}

#[test]
fn index_cut_names_the_entries_that_agents_do_not_read() {
    let line = |n: usize| format!("- [m{n}](m{n}.md) — hook\n");
    let long: String = (1..=202).map(line).collect();
    let long = format!("# Index\n{long}");
    let told = Fixture::new(&[("MEMORY.md", &long)]).told("index-cut");
    assert_eq!(
        told,
        [
            "MEMORY.md:201 MEMORY.md <- [m200](m200.md) — hook|- [m201](m201.md) — hook|- [m202](m202.md) — hook>"
        ]
    );
    Fixture::new(&[("MEMORY.md", "- [a](a.md) — a\n")]).is_silent("index-cut");
}

#[test]
fn index_dangling_is_a_link_to_nothing_and_its_fix_removes_that_line_alone() {
    let fixture = Fixture::new(&[
        (
            "MEMORY.md",
            "# Mine\n\n- [a](a.md) — a\n- [gone](gone.md) — g\n  more of it\n\n`[x](x.md)` [[later]]\n",
        ),
        ("a.md", &memory("a", "text")),
    ]);
    assert_eq!(
        fixture.told("index-dangling"),
        [
            "MEMORY.md:4 gone.md <- [gone](gone.md) — g>",
            "MEMORY.md:7 later <`[x](x.md)` [[later]]>"
        ]
    );
    assert_eq!(
        fixture.fixed("index-dangling"),
        only(
            "MEMORY.md",
            "# Mine\n\n- [a](a.md) — a\n\n`[x](x.md)` [[later]]\n"
        )
    );
    Fixture::new(&[
        ("MEMORY.md", "- [a](a.md) — a\n- [[b]]\n"),
        ("a.md", "x"),
        ("b.md", "x"),
    ])
    .is_silent("index-dangling");
}

#[test]
fn index_orphan_follows_links_of_memories_and_its_fix_adds_one_line() {
    let fixture = Fixture::new(&[
        ("MEMORY.md", "# Mine\n\n- [a](a.md) — a\n\nEnd.\n"),
        ("a.md", &memory("a", "see [[b]]")),
        ("b.md", &memory("b", "see [c](c.md)")),
        ("c.md", &memory("c", "text")),
        ("lost.md", &memory("lost", "text")),
        ("README.md", "no memory"),
    ]);
    assert_eq!(
        fixture.told("index-orphan"),
        ["lost.md: lost.md <3 of 5 memories are reached from MEMORY.md>"]
    );
    assert_eq!(
        fixture.fixed("index-orphan"),
        only(
            "MEMORY.md",
            "# Mine\n\n- [a](a.md) — a\n- [lost](lost.md) — about lost\n\nEnd.\n"
        )
    );
}

#[test]
fn index_bullet_is_a_memory_listed_twice_and_only_equal_lines_are_fixed() {
    let fixture = Fixture::new(&[(
        "MEMORY.md",
        "# Mine\n- [a](a.md) — one\n- [b](b.md) — two\n- [A](a.md) — one\n- [b](b.md) — other\n",
    )]);
    assert_eq!(
        fixture.told("index-bullet"),
        [
            "MEMORY.md:4 a.md <- [a](a.md) — one|- [A](a.md) — one>",
            "MEMORY.md:5 b.md <- [b](b.md) — two|- [b](b.md) — other>"
        ]
    );
    assert_eq!(
        fixture.fixed("index-bullet"),
        only(
            "MEMORY.md",
            "# Mine\n- [a](a.md) — one\n- [b](b.md) — two\n- [b](b.md) — other\n"
        )
    );
    Fixture::new(&[("MEMORY.md", "- [a](a.md) — a\n- [b](b.md) — a\n")]).is_silent("index-bullet");
}

#[test]
fn index_line_is_a_description_over_the_limit() {
    let long = format!("- [a](a.md) — {}\n", "x".repeat(201));
    let fixture = Fixture::new(&[("MEMORY.md", &long)]);
    assert_eq!(fixture.findings("index-line").len(), 1);
    let short = format!("- [a](a.md) — {}\n", "é".repeat(200));
    Fixture::new(&[("MEMORY.md", &short)]).is_silent("index-line");
}

#[test]
fn index_outdated_is_a_generated_index_and_its_fix_generates_it() {
    let fixture = Fixture::new(&[
        (
            "MEMORY.md",
            "# Memory\n\n## Project\n- [gone](gone.md) - g\n",
        ),
        ("a.md", &memory("a", "text")),
    ]);
    assert_eq!(
        fixture.told("index-outdated"),
        ["MEMORY.md:4 MEMORY.md <- - [gone](gone.md) - g|+ - [a](a.md) - about a>"]
    );
    assert_eq!(
        fixture.fixed("index-outdated"),
        only(
            "MEMORY.md",
            "# Memory\n\n## Project\n- [a](a.md) - about a\n"
        )
    );
    fixture.is_silent("index-dangling");
    fixture.is_silent("index-orphan");
    Fixture::new(&[("MEMORY.md", "# Mine\n- [b](b.md)\n")]).is_silent("index-outdated");
}

#[test]
fn broken_link_leads_nowhere_and_the_only_candidate_is_its_fix() {
    let fixture = Fixture::new(&[
        (
            "a.md",
            &memory("a", "See [[user-role]], [x](gone.md#part) and `[[code]]`."),
        ),
        ("user_role.md", "---\ntype: user\n---\n\nme\n"),
    ]);
    let line = "See [[user-role]], [x](gone.md#part) and `[[code]]`.";
    assert_eq!(
        fixture.told("broken-link"),
        [
            format!("a.md:7 user-role <{line}>"),
            format!("a.md:7 gone.md <{line}>")
        ]
    );
    let fixed = memory("a", "See [[user_role]], [x](gone.md#part) and `[[code]]`.");
    assert_eq!(
        fixture.fixed("broken-link")["a.md"].as_deref(),
        Some(&*fixed)
    );
    Fixture::new(&[
        ("a.md", "[u](https://x/y.md) [[ -f x ]] [[b]] [c](b.md)"),
        ("b.md", "x"),
    ])
    .is_silent("broken-link");
}

#[test]
fn a_link_to_a_memory_of_a_store_beside_it_is_not_broken() {
    Fixture::new(&[("a.md", &memory("a", "see [[b]]"))])
        .and("two", &[("b.md", &memory("b", "text"))])
        .is_silent("broken-link");
}

#[test]
fn headers_types_names_and_bodies_are_checked() {
    let fixture = Fixture::new(&[
        ("MEMORY.md", "# Mine\n"),
        (
            "a.md",
            "---\nname: same\ndescription: d\ntype: handoff\n---\n\ntext\n",
        ),
        ("b.md", "---\nname: same\ntype: user\n---\n\ntext\n"),
        ("c.md", "---\nname: c\ndescription: d\n---\n\n# c\n"),
        ("d.md", "---\nname: d\n"),
        ("README.md", "no memory, but text"),
    ]);
    assert_eq!(
        fixture.told("type"),
        ["a.md:4 handoff <type: handoff>", "c.md:1  <--->"]
    );
    assert_eq!(fixture.told("description"), ["b.md:1 b.md <--->"]);
    assert_eq!(
        fixture.told("doubled-name"),
        ["b.md:2 a.md <name: same|name: same>"]
    );
    assert_eq!(fixture.told("empty"), ["c.md:5 c.md <36 bytes>"]);
    assert_eq!(fixture.told("unreadable"), ["d.md:1 d.md <--->"]);
    let well = Fixture::new(&[
        ("a.md", &memory("a", "text")),
        ("b.md", &memory("b", "text")),
    ]);
    for rule in ["type", "description", "doubled-name", "empty", "unreadable"] {
        well.is_silent(rule);
    }
}

#[test]
fn a_conflict_copy_of_the_same_text_is_deleted_and_another_is_only_told() {
    let text = memory("a", "text");
    let fixture = Fixture::new(&[
        ("a.md", &text),
        ("a.sync-conflict-20260102-101112-ABCDEF.md", &text),
        ("a (conflicted copy).md", "other"),
        ("phase 2.md", &memory("phase 2", "no copy")),
    ]);
    let paths: Vec<String> = fixture
        .findings("conflict-copy")
        .into_iter()
        .map(|finding| finding.path)
        .collect();
    assert_eq!(
        paths,
        [
            "a (conflicted copy).md",
            "a.sync-conflict-20260102-101112-ABCDEF.md"
        ]
    );
    let fixed = fixture.fixed("conflict-copy");
    assert_eq!(fixed["a.sync-conflict-20260102-101112-ABCDEF.md"], None);
}

#[test]
fn soft_limits_of_facts_and_lessons_are_notes() {
    let facts = Fixture::new(&[(
        "facts/user.md",
        "# U\n\n> Summary: one two three four five six seven eight nine ten eleven\n\n- A: b\n",
    )])
    .with_layout(Layout::Facts);
    assert_eq!(facts.findings("soft-limit").len(), 1);
    let lesson = |tags: &str, content: &str| {
        format!("**Title:** T\n**Description:** D\n\n**Content:** {content}\n\n**Tags:** {tags}\n")
    };
    let coder = Fixture::new(&[
        (
            "semantic/good.md",
            &lesson("#a #success", "One is. Two is. Three is."),
        ),
        ("semantic/bad.md", &lesson("#a", "One only.")),
    ])
    .with_layout(Layout::Coder);
    let found = coder.findings("soft-limit");
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(
        found[0].message,
        "the lesson \"T\" has 1 sentences instead of 3 to 5 and no tag #success or #failure"
    );
}

const LOG: &str = "\u{1}c2\02026-05-01\0drop the kit\0\nD\0lib/kit.sh\0R100\0src/old.rs\0src/new.rs\0D\0live.sh\0\u{1}c1\02026-01-01\0first\0\nA\0lib/kit.sh\0";

#[test]
fn dead_path_is_proven_by_git_and_silent_where_the_text_says_so() {
    let fixture = Fixture::new(&[
        ("a.md", "Run lib/kit.sh:12 first.\n\nThen `kit.sh` again.\n"),
        ("b.md", "The legacy lib/kit.sh did it. See lib/kit.sh:3.\n"),
        ("c.md", "Run live.sh, other/kit.sh and never.sh.\n"),
        ("d.md", "The code is in src/old.rs.\n"),
    ])
    .of_project("src/new.rs\0tools/live.sh\0", LOG);
    assert_eq!(
        fixture.told("dead-path"),
        [
            "a.md:1 lib/kit.sh <c2 2026-05-01 drop the kit|Run lib/kit.sh:12 first.|Then `kit.sh` again.>",
            "d.md:1 src/old.rs <c2 2026-05-01 drop the kit|The code is in src/old.rs.>"
        ]
    );
    assert_eq!(
        fixture.fixed("dead-path"),
        only("d.md", "The code is in src/new.rs.\n")
    );
}

#[test]
fn without_git_only_absolute_paths_of_the_project_are_certain() {
    let fixture = Fixture::new(&[]);
    let root = fixture.dir.path().join("project");
    let text = format!(
        "See {}/gone.rs and lib/kit.sh and /else/where.rs.\n",
        root.display()
    );
    fixture.write("one", &[("a.md", &text)]);
    let found = fixture.findings("dead-path");
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].subject.ends_with("/gone.rs"));
}

#[test]
fn duplicates_are_found_in_a_store_across_stores_and_in_instructions() {
    let one = "Deployments go through the staging cluster: run make ship-staging, wait for the canary \
        to report healthy, then promote the release with make promote. Rollbacks use make rollback-last.";
    let other = "To deploy, run make ship-staging on the staging cluster first. Wait until the canary \
        reports healthy and then promote the release with make promote; rollbacks use make rollback-last.";
    let related = "The staging cluster has three nodes in Frankfurt. Its certificates are renewed by a \
        cron job on the first day of every month, and the canary is the smallest node.";
    let fixture = Fixture::new(&[
        ("deploy.md", &memory("deploy", one)),
        ("cluster.md", &memory("cluster", related)),
    ])
    .and("two", &[("shipping.md", &memory("shipping", other))]);
    let found = fixture.findings("duplicate");
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(
        (found[0].path.as_str(), found[0].subject.as_str()),
        ("shipping.md", "one:deploy.md")
    );
    assert!(found[0].evidence.len() >= 2);
    let distinct = format!("{other} Distinct from [[deploy]]: this is about the old cluster.");
    Fixture::new(&[
        ("deploy.md", &memory("deploy", one)),
        ("shipping.md", &memory("shipping", &distinct)),
    ])
    .is_silent("duplicate");
    let same = Fixture::new(&[("a.md", &memory("a", one)), ("b.md", &memory("b", one))]);
    assert_eq!(same.findings("duplicate").len(), 1);
}

#[test]
fn superseded_by_a_statement_a_rename_a_date_or_a_file() {
    let fixture = Fixture::new(&[
        (
            "new.md",
            &memory("new", "Supersedes the half of\n[[old]] about ports."),
        ),
        ("old.md", &memory("old", "Ports are 80.")),
        (
            "rename.md",
            &memory("rename", "2026-06-01: renamed APP_ENV→SHIP_ENV everywhere."),
        ),
        (
            "env.md",
            &memory("env", "Set APP_ENV=dev in tests. APP_ENV_FILES is another."),
        ),
        ("knows.md", &memory("knows", "APP_ENV became SHIP_ENV.")),
        (
            "until.md",
            &memory("until", "The freeze holds until 2026-03-01."),
        ),
        (
            "future.md",
            &memory("future", "The freeze holds until 2027-03-01."),
        ),
        (
            "wip.md",
            &memory("wip", "The port is in progress (2026-02-01)."),
        ),
        (
            "count.md",
            &memory("count", "`src/new.rs` has 60 assertions."),
        ),
    ])
    .of_project(
        "src/new.rs\0",
        "\u{1}c2\02026-05-01\0add\0\nA\0src/new.rs\0",
    );
    fs::create_dir_all(fixture.dir.path().join("project/src")).expect("a folder");
    fs::write(
        fixture.dir.path().join("project/src/new.rs"),
        "// one\nconst ASSERTIONS: u8 = 0; // 75 assertions\n",
    )
    .expect("a file");
    let mut told = fixture.told("superseded");
    told.sort();
    assert_eq!(
        told,
        [
            "count.md:7 src/new.rs <`src/new.rs` has 60 assertions.|c2 2026-05-01 const ASSERTIONS: u8 = 0; // 75 assertions>",
            "env.md:7 rename.md <2026-06-01: renamed APP_ENV→SHIP_ENV everywhere.|Set APP_ENV=dev in tests. APP_ENV_FILES is another.>",
            "old.md: new.md <[[old]] about ports.>",
            "until.md:7 until 2026-03-01 <The freeze holds until 2026-03-01.>",
            "wip.md:7 in progress 2026-02-01 <The port is in progress (2026-02-01).>",
        ]
    );
}

#[test]
fn contradiction_is_two_counts_of_one_thing_without_dates() {
    let text = |count: u32| {
        format!(
            "The acceptance suite of the billing service has {count} scenarios in the nightly \
             pipeline; the nightly pipeline fails when a scenario of the billing service is skipped."
        )
    };
    let fixture = Fixture::new(&[
        ("a.md", &memory("nightly billing suite", &text(60))),
        ("b.md", &memory("billing suite", &text(75))),
    ]);
    let found = fixture.findings("contradiction");
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].message, "says 75 where a.md says 60");
    assert_eq!(found[0].evidence.len(), 2);
    Fixture::new(&[
        ("a.md", &memory("nightly billing suite", &text(60))),
        ("b.md", &memory("billing suite", &text(60))),
    ])
    .is_silent("contradiction");
}

#[test]
fn secrets_are_masked_and_hidden_characters_are_removed_by_the_fix() {
    let token = format!("ghp_{}", "a1B2c3D4".repeat(4) + "e5F6");
    let fixture = Fixture::new(&[
        ("a.md", &format!("The token is {token}.\n")),
        ("b.md", "postgres://app:hunter2secret@db.example.com/x\n"),
        ("c.md", "The token is in 1Password.\n"),
    ]);
    let found = fixture.findings("secret");
    assert_eq!(found.len(), 2, "{found:?}");
    let shown = format!("{found:?}");
    assert!(
        !shown.contains(&token) && !shown.contains("hunter2secret"),
        "{shown}"
    );
    let hidden = Fixture::new(&[
        ("a.md", "plain\u{200b} text\u{202e}\n"),
        ("b.md", "\u{feff}emoji 👩\u{200d}👩 and שלום\u{200f}!\n"),
    ]);
    assert_eq!(
        hidden.told("hidden-text"),
        ["a.md:1 U+200B U+202E <plain‹U+200B› text‹U+202E›>"]
    );
    assert_eq!(hidden.fixed("hidden-text"), only("a.md", "plain text\n"));
}

#[test]
fn a_memory_came_back_unless_somebody_brought_it_back() {
    let text = memory("a", "text");
    let fixture = Fixture::new(&[("a.md", &text), ("b.md", &memory("b", "b"))]);
    let root = fixture
        .dir
        .path()
        .join("one")
        .canonicalize()
        .expect("there");
    let author = Author {
        who: "you".to_owned(),
        door: "test".to_owned(),
    };
    let (history, moment) = (fixture.history(), moment());
    let record = {
        use crate::core::change::{ChangeContext, ChangeRequest, plan};
        let store = &fixture.stores()[0];
        let request = ChangeRequest::Delete {
            paths: vec!["a.md".to_owned()],
        };
        let context = ChangeContext {
            moment: moment.clone(),
            expected: None,
        };
        let by = (&author, &moment);
        let made = plan_and_commit(&history, &[&root], by, || plan(store, &request, &context));
        made.expect("deleted").record.expect("a record")
    };
    fixture.is_silent("came-back");
    fixture.write("one", &[("a.md", &text)]);
    assert_eq!(
        fixture.told("came-back"),
        ["a.md: a.md <a.md deleted on 2026-11-15>"]
    );
    fs::remove_file(root.join("a.md")).expect("removed");
    let later = Moment {
        time: moment.time + jiff::SignedDuration::from_secs(60),
        ..moment.clone()
    };
    plan_and_commit(&history, &[&root], (&author, &later), || {
        replay(&history, &record, Direction::Back, &later)
    })
    .expect("undone");
    fixture.is_silent("came-back");
}

#[test]
fn a_waiver_holds_until_the_evidence_changes() {
    let fixture =
        Fixture::new(&[("a.md", "Run lib/kit.sh first.\n")]).of_project("src/new.rs\0", LOG);
    let data = fixture.dir.path().join("data");
    let author = Author {
        who: "kim".to_owned(),
        door: "test".to_owned(),
    };
    let is_waived = || {
        let mut findings = fixture.findings("dead-path");
        waiver::apply(&mut findings, &waiver::read(&data).expect("readable"));
        findings[0]
            .waived
            .as_ref()
            .map(|waiver| waiver.words.clone())
    };
    assert_eq!(is_waived(), None);
    let finding = fixture.findings("dead-path").remove(0);
    let by = (&author, moment().today);
    waiver::record(&data, &finding, by, Some("kept for history")).expect("recorded");
    assert_eq!(is_waived().as_deref(), Some("kept for history"));
    fixture.write("one", &[("a.md", "\nRun lib/kit.sh first.\n")]);
    assert!(is_waived().is_some(), "only the line number differs");
    fixture.write("one", &[("a.md", "Run lib/kit.sh last.\n")]);
    assert_eq!(is_waived(), None);
    assert!(Path::new(&data.join("waivers.jsonl")).exists());
}
