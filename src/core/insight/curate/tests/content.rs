//! The rules that compare memories with the project, with each other and with the history.

use std::fs;
use std::path::Path;

use super::{Fixture, memory, moment, only};
use crate::core::change::{
    Author, ChangeContext, ChangeRequest, Direction, plan, plan_and_commit, replay,
};
use crate::core::insight::curate::waiver;
use crate::core::memory::layout::Layout;
use crate::core::text::time::Moment;

const LOG: &str = "\u{1}c2\x002026-05-01\0drop the kit\0\nD\0lib/kit.sh\0R100\0src/old.rs\0src/new.rs\0D\0live.sh\0\u{1}c1\x002026-01-01\0first\0\nA\0lib/kit.sh\0";

#[test]
fn a_finding_names_the_entry_that_it_is_in() {
    let text = "# All\n\n## First\n\ntext\n\n## Second\n\nRun lib/kit.sh.\n";
    let fixture = Fixture::new(&[("a.md", text)]).with_layout(Layout::Entries);
    let found = fixture
        .of_project("src/new.rs\0", LOG)
        .findings("dead-path");
    let entries: Vec<_> = found
        .iter()
        .map(|one| (one.line, one.entry.as_deref()))
        .collect();
    assert_eq!(entries, [(Some(9), Some("second"))]);
}

#[test]
fn what_codex_and_openclaw_merge_by_themselves_is_no_duplicate() {
    let text = "Deployments go through the staging cluster: run make ship-staging, wait for the \
        canary to report healthy, then promote the release with make promote.\n";
    let alike = format!("{text}Ann knows more.\n");
    let files = [("a.md", text), ("b.md", &alike)];
    let own = Fixture::new(&files).with_layout(Layout::Entries);
    assert_eq!(own.findings("duplicate").len(), 1);
    let codex = [files[0], files[1], ("memory_summary.md", "v1\n")];
    let codex = Fixture::new(&codex).with_layout(Layout::Entries);
    assert_eq!(codex.findings("duplicate"), []);
    let days = [("memory/1.md", text), ("memory/2.md", &alike)];
    let dreams = [
        ("memory/dreaming/1.md", text),
        ("memory/dreaming/2.md", text),
    ];
    let openclaw = Fixture::new(&[]).with_layout(Layout::Entries);
    let openclaw = openclaw.and("workspace", &days).and("workspace-b", &dreams);
    assert_eq!(openclaw.findings("duplicate"), []);
}

#[test]
fn a_duplicate_names_the_entry_that_says_the_same() {
    let text = "Ann prefers short answers with a table of the numbers and no praise at all.";
    let text = format!("{text}\n§\nBob knows the database.\n§\n{text} None.\n");
    let fixture = Fixture::new(&[("USER.md", &text)]).with_layout(Layout::Entries);
    let found = fixture.findings("duplicate");
    let named: Vec<_> = found.iter().map(|one| one.subject.as_str()).collect();
    assert_eq!(named, ["USER.md#ann-prefers-short-answers-with-a-table-of"]);
}

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
            "a.md:1 lib/kit.sh <Run lib/kit.sh:12 first.|Then `kit.sh` again.|c2 2026-05-01 drop the kit>",
            "d.md:1 src/old.rs <The code is in src/old.rs.|c2 2026-05-01 drop the kit>"
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
fn the_evidence_of_a_duplicate_is_the_line_that_both_share() {
    let shared =
        "make ship-staging, wait for the healthy canary, promote the release, make rollback-last";
    let in_code = format!("```sh\necho begin\n{shared}\n```");
    let fixture = Fixture::new(&[
        ("deploy.md", &memory("deploy", &in_code)),
        (
            "shipping.md",
            &memory("shipping", &format!("To deploy: {shared}.")),
        ),
    ]);
    let found = fixture.findings("duplicate");
    assert_eq!(found.len(), 1, "{found:?}");
    let shows = |evidence: &super::super::Evidence| evidence.text.contains("ship-staging");
    assert!(found[0].evidence.iter().all(shows), "{found:?}");
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
        "\u{1}c2\x002026-05-01\0add\0\nA\0src/new.rs\0",
    );
    fs::create_dir_all(fixture.dir.path().join("project/src")).expect("a folder");
    fs::write(
        fixture.dir.path().join("project/src/new.rs"),
        "// one\nconst ASSERTIONS = 75; // 10 assertions\n",
    )
    .expect("a file");
    let mut told = fixture.told("superseded");
    told.sort();
    assert_eq!(
        told,
        [
            "count.md:7 src/new.rs <`src/new.rs` has 60 assertions.|c2 2026-05-01 const ASSERTIONS = 75; // 10 assertions>",
            "env.md:7 rename.md <2026-06-01: renamed APP_ENV→SHIP_ENV everywhere.|Set APP_ENV=dev in tests. APP_ENV_FILES is another.>",
            "old.md: new.md <[[old]] about ports.>",
            "until.md:7 until 2026-03-01 <The freeze holds until 2026-03-01.>",
            "wip.md:7 in progress 2026-02-01 <The port is in progress (2026-02-01).>",
        ]
    );
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
        let store = &fixture.stores()[0];
        let request = ChangeRequest::Delete {
            paths: vec!["a.md".to_owned()],
        };
        let context = ChangeContext {
            moment: moment.clone(),
            expected: None,
        };
        let made = plan_and_commit(&history, &[&root], &author, &moment, || {
            plan(store, &request, &context)
        });
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
    plan_and_commit(&history, &[&root], &author, &later, || {
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
    let words = Some("kept for history");
    waiver::record(&data, &finding, &author, moment().today, words).expect("recorded");
    assert_eq!(is_waived().as_deref(), Some("kept for history"));
    fixture.write("one", &[("a.md", "\nRun lib/kit.sh first.\n")]);
    assert!(is_waived().is_some(), "only the line number differs");
    fixture.write("one", &[("a.md", "Run lib/kit.sh last.\n")]);
    assert_eq!(is_waived(), None);
    assert!(Path::new(&data.join("waivers.jsonl")).exists());
}

#[test]
fn superseded_by_a_commit_that_renames_a_heading_above_arrows_and_an_old_state() {
    let fixture = Fixture::new(&[
        ("kit.md", &memory("kit", "Call build_kit before a release.")),
        (
            "names.md",
            &memory("names", "## Renamed\n\n- `APP_HOME` → `SHIP_HOME`"),
        ),
        ("home.md", &memory("home", "Set APP_HOME first.")),
        (
            "workers.md",
            &memory("workers", "**Workers as of 2026-01-05:** there are two."),
        ),
        (
            "passing.md",
            &memory("passing", "As of 2026-01-05 there are two workers."),
        ),
        (
            "young.md",
            &memory("young", "**Workers as of 2026-11-01:** there are two."),
        ),
    ])
    .of_project(
        "src/new.rs\0",
        "\u{1}c2\x002026-05-01\0rename build_kit to ship_kit\0\nA\0src/new.rs\0\
         \u{1}c1\x002026-01-01\0first\0\nA\0src/old.rs\0",
    );
    let mut told = fixture.told("superseded");
    told.sort();
    assert_eq!(
        told,
        [
            "home.md:7 names.md <- `APP_HOME` → `SHIP_HOME`|Set APP_HOME first.>",
            "kit.md:7 c2 2026-05-01 <c2 2026-05-01 rename build_kit to ship_kit|Call build_kit before a release.>",
            "workers.md:7 as of 2026-01-05 <**Workers as of 2026-01-05:** there are two.|c2 2026-05-01 rename build_kit to ship_kit>",
        ]
    );
}

#[test]
fn a_file_of_lessons_holds_no_more_than_ten() {
    let lessons = |number: usize| -> String {
        let one = |n: usize| {
            format!(
                "**Title:** Lesson {n}\n**Description:** d\n\n**Content:** Do it. It works.\n\n---\n\n"
            )
        };
        (0..number).map(one).collect()
    };
    let files = |number: usize| {
        Fixture::new(&[("semantic/net/retry.md", &lessons(number))]).with_layout(Layout::Coder)
    };
    let about_file = |fixture: &Fixture| -> Vec<String> {
        let found = fixture.findings("soft-limit").into_iter();
        let found = found.filter(|finding| finding.subject == "file");
        found.map(|finding| finding.message).collect()
    };
    assert_eq!(about_file(&files(10)), [""; 0]);
    let told = about_file(&files(11));
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with("has 11 lessons and "), "{told:?}");
}

#[test]
fn a_memory_that_came_back_in_other_words_is_told_and_not_deleted_by_a_fix() {
    let body = "Deployments go through staging first, then the canary, then everybody else.";
    let fixture = Fixture::new(&[("a.md", &memory("a", body)), ("b.md", &memory("b", "b"))]);
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
    let request = ChangeRequest::Delete {
        paths: vec!["a.md".to_owned()],
    };
    let context = ChangeContext {
        moment: moment.clone(),
        expected: None,
    };
    let store = &fixture.stores()[0];
    plan_and_commit(&history, &[&root], &author, &moment, || {
        plan(store, &request, &context)
    })
    .expect("deleted");
    let reworded = format!("{body} Always.");
    fixture.write("one", &[("a.md", &memory("a", &reworded))]);
    let found = fixture.findings("came-back");
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(
        found[0].message,
        "was deleted on 2026-11-15 and is there again, in other words"
    );
    assert!(found[0].fix.is_none());
    fixture.write(
        "one",
        &[("a.md", &memory("a", "Something else altogether."))],
    );
    fixture.is_silent("came-back");
}
