//! Each rule on memories where it must speak and on memories where it must not; fixes and waivers.

mod content;
mod table;
mod texts;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use super::fix::plan_fixes;
use super::git::{Limits, ProjectHistory};
use super::logs::SessionLogs;
use super::{Collection, CuratedStore, Finding, RULES, Rule, came_back, check};
use crate::core::Result;
use crate::core::change::history::{History, Record};
use crate::core::change::{
    Author, Change, ChangeContext, ChangeRequest, Direction, plan, plan_and_commit, replay,
};
use crate::core::fixture::{Case, Home, check_cases};
use crate::core::memory::config::CurateSettings;
use crate::core::memory::layout::Layout;
use crate::core::memory::store::Store;
use crate::core::text::time::Moment;

/// Stores in a home, each a folder of it, and a project in the folder `project`.
struct Fixture {
    home: Home,
    layout: Layout,
    names: BTreeSet<String>,
    /// The files of the project and its log, as git prints them.
    project: Option<(String, String)>,
    logs: Option<SessionLogs>,
}

impl Fixture {
    fn new(files: &[(&str, &str)]) -> Self {
        let fixture = Self {
            home: Home::new(),
            layout: Layout::Index,
            names: BTreeSet::from(["one".to_owned()]),
            project: None,
            logs: None,
        };
        fs::create_dir_all(fixture.root()).expect("a folder");
        fs::create_dir_all(fixture.home.path().join("project")).expect("a folder");
        fixture.write(files);
        fixture
    }

    /// The stores of a case have its `layout`. Its `files` are those of the project, and each
    /// `commit` is one of it: the hash, the day, the words and the changed files.
    fn of_case(case: Case) -> Self {
        let values = |name: &str| {
            let settings = case.settings.iter().filter(move |(known, _)| known == name);
            settings.map(|(_, value)| value.clone()).collect::<Vec<_>>()
        };
        let commit = |commit: &String| {
            let mut parts = commit.split(" | ");
            let mut next = || parts.next().unwrap_or_default();
            let made = format!("\u{1}{}\0{}\0{}\0\n", next(), next(), next());
            let changed = parts.flat_map(|part| part.split(' '));
            made + &changed.map(|word| format!("{word}\0")).collect::<String>()
        };
        let project = values("files").first().map(|files| {
            let log = values("commit").iter().map(commit).collect();
            (files.replace(' ', "\0") + "\0", log)
        });
        let layout = case.setting("layout").unwrap_or("index");
        let layout = layout.parse().expect("a layout");
        let home = case.home;
        fs::create_dir_all(home.path().join("project")).expect("a folder");
        let folders = fs::read_dir(home.path()).expect("readable").flatten();
        let names = folders.map(|folder| folder.file_name().to_string_lossy().into_owned());
        Self {
            names: names.filter(|name| name != "project").collect(),
            home,
            layout,
            project,
            logs: None,
        }
    }

    fn and(self, path: &str, text: &str) -> Self {
        self.write(&[(path, text)]);
        self
    }

    fn with_layout(mut self, layout: Layout) -> Self {
        self.layout = layout;
        self
    }

    fn with_logs(mut self, logs: SessionLogs) -> Self {
        self.logs = Some(logs);
        self
    }

    /// The folder of the first store.
    fn root(&self) -> PathBuf {
        let first = self.names.first().expect("a store");
        self.home.path().join(first)
    }

    fn write(&self, files: &[(&str, &str)]) {
        for (path, text) in files {
            self.home.write(&format!("one/{path}"), text);
        }
    }

    fn stores(&self) -> Vec<Store> {
        let open = |name: &String| {
            let path = self.home.path().join(name);
            Store::open(name, &path, Some(self.layout)).expect("a store")
        };
        self.names.iter().map(open).collect()
    }

    fn history(&self) -> History {
        History::open(&self.home.path().join("project/history"))
    }

    /// Plans a change of the first store and makes it.
    fn change(&self, moment: &Moment, plan: impl FnMut() -> Result<Change>) -> Record {
        let made = plan_and_commit(
            &self.history(),
            &[&self.root()],
            &Author::test(),
            moment,
            plan,
        );
        made.expect("is done").record.expect("a change")
    }

    fn delete(&self, path: &str) -> Record {
        let paths = vec![path.to_owned()];
        let context = ChangeContext {
            moment: moment(),
            expected: None,
            history: None,
        };
        let store = &self.stores()[0];
        self.change(&moment(), || {
            plan(
                store,
                &ChangeRequest::Delete {
                    paths: paths.clone(),
                },
                &context,
            )
        })
    }

    fn with<T>(&self, act: impl FnOnce(&Collection<'_>) -> T) -> T {
        let stores = self.stores();
        let root = self.home.path().join("project");
        let project = self.project.as_ref().map(|(files, log)| {
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

    /// What the rules tell of the stores, and the files that their fixes leave.
    fn told_by(&self, rules: impl Iterator<Item = &'static Rule>) -> String {
        let mut told = String::new();
        for rule in rules {
            let found = self.findings(rule.id);
            for (line, finding) in self.told(rule.id).iter().zip(&found) {
                let entry = finding.entry.as_ref().map(|entry| format!("#{entry} "));
                let (id, entry) = (rule.id, entry.unwrap_or_default());
                writeln!(told, "{id} {line}\n  {entry}{}", finding.message).expect("written");
            }
            if found.iter().any(|finding| finding.fix.is_some()) {
                for (path, text) in self.fixed(rule.id) {
                    let text = text.unwrap_or_else(|| "is deleted".to_owned());
                    let text = text.trim_end().replace('\n', "\n  | ");
                    writeln!(told, "fixed {path}\n  | {text}").expect("written");
                }
            }
        }
        told
    }

    fn is_silent(&self, rule: &str) {
        assert_eq!(self.told(rule), [""; 0]);
    }

    /// Every file of the first store.
    fn files(&self) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        let root = self.root();
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
        let record = self.with(|collection| {
            let store = collection.stores[0].store;
            self.change(&moment(), || {
                plan_fixes(&[(store, findings.iter().collect())], &moment())
            })
        });
        let left = self.findings(rule);
        assert_eq!(left.len(), without, "{left:?}");
        let after = self.files();
        self.change(&moment(), || {
            replay(&self.history(), &record, Direction::Back, &moment())
        });
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
fn every_case_of_the_rules_is_told_and_every_fix_can_be_undone() {
    let told = check_cases("curate", |case| {
        // Every rule, unless the case names some.
        let only = case.setting("rules").map(str::to_owned);
        let is_chosen = |rule: &&Rule| only.as_deref().is_none_or(|only| only.contains(rule.id));
        Fixture::of_case(case).told_by(RULES.iter().filter(is_chosen))
    });
    for rule in RULES {
        let start = format!("{} ", rule.id);
        let is_told = told.lines().any(|line| line.starts_with(&start));
        assert!(is_told || table::case_of(rule.id).is_some(), "{}", rule.id);
    }
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
fn more_findings_than_anybody_reads_are_left_out_and_told() {
    let links: String = (0..10_020).map(|n| format!("[[none {n}]]\n")).collect();
    let fixture = Fixture::new(&[("a.md", &memory("a", &links))]);
    fixture.with(|collection| {
        let found = check(collection, &["broken-link".to_owned()]);
        assert_eq!(found.len(), 10_000);
        let told = collection.left_out();
        assert!(
            told.len() == 1 && told[0].starts_with("broken-link: 20 more"),
            "{told:?}"
        );
    });
}

#[test]
fn evidence_shows_the_beginning_of_a_line_of_any_length() {
    let line = format!("see [[nothing]] {}", "word ".repeat(100_000));
    let fixture = Fixture::new(&[("a.md", &memory("a", &line))]);
    let found = fixture.findings("broken-link");
    let text = &found[0].evidence[0].text;
    assert!(text.starts_with("see [[nothing]]") && text.ends_with('…'));
    assert!(text.len() < 5_000, "{}", text.len());
}

#[test]
fn of_many_new_names_of_one_thing_some_are_told() {
    let said = |n: usize| {
        memory(
            &format!("m{n}"),
            &format!("We renamed old_thing to new_thing_{n}."),
        )
    };
    let mut files: Vec<(String, String)> = (0..20).map(|n| (format!("m{n}.md"), said(n))).collect();
    files.push((
        "use.md".into(),
        memory("use", "Call `old_thing` before a release."),
    ));
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    let found = Fixture::new(&files).findings("superseded");
    let of_use = found.iter().filter(|finding| finding.path == "use.md");
    assert!((1..=8).contains(&of_use.count()), "{found:?}");
}

/// Returns what the links of a store lead to in vain.
pub(crate) fn broken_links(store: &crate::core::memory::store::Store) -> Vec<String> {
    let rules = ["broken-link", "index-dangling"];
    let found = super::check_store(store, &rules, jiff::civil::date(2026, 1, 1));
    let found = found.expect("the store can be read").into_iter();
    found.map(|finding| finding.subject).collect()
}
