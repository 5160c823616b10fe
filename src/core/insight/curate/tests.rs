//! Each rule on memories where it must speak and on memories where it must not; fixes and waivers.

mod content;
pub(super) mod poison;
mod table;
mod texts;

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;

use super::fix::plan_fixes;
use super::git::{Limits, ProjectHistory};
use super::logs::SessionLogs;
use super::{Collection, CuratedStore, Finding, RULES, came_back, check};
use crate::core::change::history::History;
use crate::core::change::{Author, Direction, plan_and_commit, replay};
use crate::core::memory::config::CurateSettings;
use crate::core::memory::layout::Layout;
use crate::core::memory::store::Store;
use crate::core::text::time::Moment;

/// Stores in a temporary directory, and a project without files.
struct Fixture {
    dir: tempfile::TempDir,
    layout: Layout,
    names: Vec<&'static str>,
    project: Option<(&'static str, &'static str)>,
    logs: Option<SessionLogs>,
}

impl Fixture {
    fn new(files: &[(&str, &str)]) -> Self {
        let fixture = Self {
            dir: tempfile::tempdir().expect("a temporary directory"),
            layout: Layout::Index,
            names: vec!["one"],
            project: None,
            logs: None,
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

    fn with_logs(mut self, logs: SessionLogs) -> Self {
        self.logs = Some(logs);
        self
    }

    /// Makes a file this many days old.
    fn set_time(&self, path: &str, days: u64) {
        let file = fs::File::options()
            .append(true)
            .open(self.dir.path().join(path));
        let time: std::time::SystemTime = moment().time.into();
        let old = time - std::time::Duration::from_secs(days * 24 * 60 * 60);
        file.expect("a file").set_modified(old).expect("a time");
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
            let mut history = ProjectHistory::parse(files, log, Limits::default());
            history.root = root.clone();
            Arc::new(history)
        });
        let curated = stores.iter().map(|store| CuratedStore {
            project: project.clone(),
            project_root: Some(root.clone()),
            ..CuratedStore::read(store).expect("readable")
        });
        let collection = Collection::new(
            curated.collect(),
            came_back::still_deleted(&self.history()).expect("readable"),
            moment().today,
            CurateSettings::default(),
        );
        act(&collection.with_logs(self.logs.clone()))
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
        let without = findings
            .iter()
            .filter(|finding| finding.fix.is_none())
            .count();
        let root = self.dir.path().join("one").canonicalize().expect("there");
        let author = Author {
            who: "you".to_owned(),
            door: "test".to_owned(),
        };
        let (history, moment) = (self.history(), moment());
        let committed = self.with(|collection| {
            plan_and_commit(&history, &[&root], &author, &moment, || {
                let store = collection.stores[0].store;
                plan_fixes(&[(store, findings.iter().collect())], &moment)
            })
            .expect("is fixed")
        });
        let left = self.findings(rule);
        assert_eq!(left.len(), without, "{left:?}");
        let after = self.files();
        let record = committed.record.expect("a change");
        plan_and_commit(&history, &[&root], &author, &moment, || {
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
fn many_dead_links_of_an_index_are_one_finding_and_stay_if_most_memories_are_elsewhere() {
    let line = |n: usize| format!("- [m{n}](m{n}.md) — m\n");
    let index: String = (0..12).map(line).collect();
    let texts: Vec<(String, String)> = (0..12)
        .map(|n| (format!("m{n}.md"), memory(&format!("m{n}"), "text")))
        .collect();
    let with = |first: usize| {
        let mut files: Vec<(&str, &str)> = vec![("MEMORY.md", &index)];
        files.extend(
            texts[first..]
                .iter()
                .map(|(path, text)| (path.as_str(), text.as_str())),
        );
        Fixture::new(&files)
    };
    let few = with(4);
    let found = few.findings("index-dangling");
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(
        found[0].message,
        "4 links of the index lead to memories that do not exist: m0.md, m1.md, m2.md and 1 more"
    );
    assert_eq!(found[0].evidence.len(), 4);
    let rest: String = (4..12).map(line).collect();
    assert_eq!(few.fixed("index-dangling"), only("MEMORY.md", &rest));
    let found = with(9).findings("index-dangling");
    assert!(found.len() == 1 && found[0].fix.is_none(), "{found:?}");
}

#[test]
fn a_link_of_an_index_is_mended_where_the_file_was_renamed_or_is_in_the_project() {
    let index = "- [a](my_notes.md) — a\n- [d](design.md) — d\n";
    let fixture = Fixture::new(&[
        ("MEMORY.md", index),
        ("my-notes.md", &memory("my-notes", "text")),
    ])
    .of_project("../one/MEMORY.md\0docs/DESIGN.md\0", "");
    let found = fixture.findings("index-dangling");
    let messages: Vec<&str> = found
        .iter()
        .map(|finding| finding.message.as_str())
        .collect();
    assert_eq!(
        messages,
        [
            "the index links to my_notes.md, which does not exist; my-notes.md may be meant",
            "the index links to design.md, which does not exist",
        ]
    );
    let mended = "- [a](my-notes.md) — a\n";
    assert_eq!(fixture.fixed("index-dangling"), only("MEMORY.md", mended));
}

#[test]
fn index_orphan_follows_links_of_memories_and_its_fixes_add_their_lines_together() {
    let fixture = Fixture::new(&[
        ("MEMORY.md", "# Mine\n\n- [a](a.md) — a\n\nEnd.\n"),
        ("a.md", &memory("a", "see [[b]]")),
        ("b.md", &memory("b", "see [c](c.md)")),
        ("c.md", &memory("c", "text")),
        ("lost.md", &memory("lost", "text")),
        ("more.md", &memory("more", "text")),
        ("README.md", "no memory"),
    ]);
    assert_eq!(
        fixture.told("index-orphan"),
        [
            "lost.md: lost.md <3 of 6 memories are reached from MEMORY.md>",
            "more.md: more.md <3 of 6 memories are reached from MEMORY.md>",
        ]
    );
    // All of them in one change.
    assert_eq!(
        fixture.fixed("index-orphan"),
        only(
            "MEMORY.md",
            "# Mine\n\n- [a](a.md) — a\n- [lost](lost.md) — about lost\n- [more](more.md) — about more\n\n\
             End.\n"
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
fn a_memory_that_the_index_names_in_code_or_by_a_pattern_is_no_orphan() {
    let index = "# Mine\n\nNot listed: `kit`, `old-*` and the `p6a-*`…`p16-*` plans.\n";
    let names = [
        "kit", "old-kit", "p6a-x", "p6b-x", "p11-x", "p16b-x", "p5-x", "p17-x", "kits",
    ];
    let texts: Vec<(String, String)> = names
        .iter()
        .map(|name| (format!("{name}.md"), memory(name, "text")))
        .collect();
    let mut files: Vec<(&str, &str)> = vec![("MEMORY.md", index)];
    files.extend(
        texts
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str())),
    );
    let found = Fixture::new(&files).findings("index-orphan");
    let paths: Vec<&str> = found.iter().map(|finding| finding.path.as_str()).collect();
    assert_eq!(paths, ["kits.md", "p17-x.md", "p5-x.md"]);
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
fn a_link_leads_to_a_file_beside_it_or_by_the_reference_of_a_memory() {
    let text = "[a](b.md) [gone](gone.md#L1) [again](gone.md) [r](detail/b.md) [w](https://x/y.md) \
        [out](../../../z.md) [src](main.rs)";
    let fixture = Fixture::new(&[
        ("working-memory/detail/a.md", text),
        ("working-memory/detail/b.md", "[self](b.md)"),
    ])
    .with_layout(Layout::Session);
    assert_eq!(
        fixture.told("broken-link"),
        [format!("detail/a.md:1 gone.md <{text}>")]
    );
}

#[test]
fn a_link_by_the_number_of_a_document_of_the_project_is_not_broken() {
    let fixture = Fixture::new(&[("a.md", &memory("a", "see [[ADR-0022]] and [[ADR-0023]]"))])
        .of_project("docs/adr-0022-reports.md\0", "");
    assert_eq!(
        fixture.told("broken-link"),
        ["a.md:7 ADR-0023 <see [[ADR-0022]] and [[ADR-0023]]>"]
    );
}

#[test]
fn a_link_to_a_memory_of_a_store_beside_it_is_not_broken() {
    Fixture::new(&[("a.md", &memory("a", "see [[b]]"))])
        .and("two", &[("b.md", &memory("b", "text"))])
        .is_silent("broken-link");
}

#[test]
fn headers_names_and_bodies_are_checked() {
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
        fixture.told("doubled-name"),
        ["b.md:2 a.md <name: same|name: same>"]
    );
    assert_eq!(fixture.told("empty"), ["c.md:5 c.md <36 bytes>"]);
    assert_eq!(fixture.told("unreadable"), ["d.md:1 d.md <--->"]);
    let well = Fixture::new(&[
        ("a.md", &memory("a", "text")),
        ("b.md", &memory("b", "text")),
    ]);
    for rule in ["doubled-name", "empty", "unreadable"] {
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

/// Returns what the links of a store lead to in vain.
pub(crate) fn broken_links(store: &crate::core::memory::store::Store) -> Vec<String> {
    let rules = ["broken-link", "index-dangling"];
    let found = super::check_store(store, &rules, jiff::civil::date(2026, 1, 1));
    let found = found.expect("the store can be read").into_iter();
    found.map(|finding| finding.subject).collect()
}
