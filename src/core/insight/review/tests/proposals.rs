//! What an agent proposes in patch files is accepted or rejected like what it wrote.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use super::{Fixture, person, selection};
use crate::core::change::Direction;
use crate::core::change::history::History;
use crate::core::insight::review::{
    Item, ItemChange, accept, count, left_alone, observe_store, plan_revert, queue,
};
use crate::core::memory::layout::Layout;
use crate::core::memory::store::Store;
use crate::core::text::time::Moment;

/// The private memory of a project as Gemini CLI keeps it, with its inbox.
fn gemini() -> Fixture {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let root = temp.path().join(".gemini/tmp/shop/memory");
    for kind in ["private", "global"] {
        fs::create_dir_all(root.join(".inbox").join(kind)).expect("creates");
    }
    fs::write(root.join("MEMORY.md"), "# Project Memory\n- one\n- two\n").expect("writes");
    fs::write(
        temp.path().join(".gemini/GEMINI.md"),
        "# Me\n- short answers\n",
    )
    .expect("writes");
    let fixture = Fixture {
        history: History::open(&temp.path().join("history")),
        store: Store::open("s", &root, Some(Layout::Index)).expect("opens"),
        clock: std::cell::Cell::new(jiff::Timestamp::now().as_millisecond()),
        _temp: temp,
    };
    fixture.observe();
    fixture
}

impl Fixture {
    fn inbox(&self, kind: &str) -> PathBuf {
        let inbox = self.root().join(".inbox").join(kind);
        inbox.join("extraction.patch")
    }

    fn propose(&self, kind: &str, patch: &str) {
        fs::write(self.inbox(kind), patch).expect("writes");
    }

    /// A patch of the memories' own files: a changed line, a new line, and a new file.
    fn propose_for_project(&self) {
        let at = self.root().display();
        self.propose(
            "private",
            &format!(
                "--- {at}/MEMORY.md\n+++ {at}/MEMORY.md\n@@ -1,3 +1,3 @@\n # Project Memory\n-- one\n+- first\n - two\n\
                 @@ -3,1 +3,2 @@\n - two\n+- [ports](ports.md)\n\
                 --- /dev/null\n+++ {at}/ports.md\n@@ -0,0 +1,2 @@\n+# Ports\n+8443\n"
            ),
        );
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.root().join(name)).unwrap_or_default()
    }

    fn accept_any(&self, ids: &[&str]) -> crate::core::Result<usize> {
        let (author, moment) = (&person(), &self.moment());
        accept(
            &self.history,
            &[&self.store],
            &selection(ids),
            author,
            moment,
        )
        .map(|made| made.records.len())
    }

    /// Why what is selected is not accepted.
    fn refusals(&self, ids: &[&str]) -> Vec<String> {
        let (author, moment) = (&person(), &self.moment());
        let stores = [&self.store];
        let made = accept(&self.history, &stores, &selection(ids), author, moment);
        let left = made.expect("accepts").left.into_iter();
        left.map(|why| why.to_string()).collect()
    }

    fn waiting(&self) -> usize {
        let counted = count(&self.history, self.store.id()).expect("counts");
        let moment: Moment = self.moment();
        let observed = observe_store(&self.history, &self.store, &moment).expect("observes");
        assert_eq!(counted, Some(observed.waiting));
        assert_eq!(
            observed.waiting,
            queue(&self.history, &self.store).expect("a queue").len()
        );
        observed.waiting
    }
}

#[test]
fn a_proposal_waits_and_is_made_when_it_is_accepted() {
    let fixture = gemini();
    fixture.propose_for_project();
    let items = fixture.queue();
    let shown: Vec<(&str, ItemChange, usize)> = items
        .iter()
        .map(|item| (item.path.as_str(), item.change, item.hunks.len()))
        .collect();
    assert_eq!(
        shown,
        [
            ("MEMORY.md", ItemChange::Changed, 2),
            ("ports.md", ItemChange::Added, 1)
        ]
    );
    assert_eq!(
        items[0].proposal.as_deref(),
        Some(".inbox/private/extraction.patch")
    );
    assert_eq!(fixture.waiting(), 2);
    let patch = fs::read(fixture.inbox("private")).expect("reads");
    assert_eq!(fixture.accept_any(&["all"]).expect("accepts"), 1);
    let memory = fixture.read("MEMORY.md");
    assert!(
        memory.starts_with("# Project Memory\n- first\n- two\n- [ports](ports.md)\n"),
        "{memory}"
    );
    assert_eq!(fixture.read("ports.md"), "# Ports\n8443\n");
    assert!(!fixture.inbox("private").exists());
    assert_eq!(fixture.waiting(), 0, "what a person accepts is no news");
    fixture.replay(Direction::Back);
    assert_eq!(
        fixture.read("MEMORY.md"),
        "# Project Memory\n- one\n- two\n"
    );
    assert!(!fixture.root().join("ports.md").exists());
    assert_eq!(fs::read(fixture.inbox("private")).expect("is back"), patch);
    assert_eq!(fixture.waiting(), 2);
}

#[test]
fn hunks_are_decided_about_one_by_one() {
    let fixture = gemini();
    fixture.propose_for_project();
    let items = fixture.queue();
    let second = items[0].hunks[1].id.clone();
    fixture.accept_any(&[&second]).expect("accepts");
    let memory = fixture.read("MEMORY.md");
    assert!(
        memory.starts_with("# Project Memory\n- one\n- two\n- [ports](ports.md)\n"),
        "{memory}"
    );
    assert_eq!(fixture.queue().len(), 2);
    let left: Vec<Item> = fixture.queue();
    fixture.revert(&[&left[0].id]);
    assert!(fixture.read("MEMORY.md").contains("- one\n"));
    let left = fixture.queue();
    assert_eq!((left.len(), left[0].path.as_str()), (1, "ports.md"));
    fixture.revert(&[&left[0].hunks[0].id]);
    assert!(!fixture.inbox("private").exists());
    assert!(!fixture.root().join("ports.md").exists());
    assert_eq!(fixture.waiting(), 0);
    fixture.replay(Direction::Back);
    assert_eq!(fixture.waiting(), 1);
}

#[test]
fn a_proposal_for_the_users_own_file_is_made_there_and_nowhere_else() {
    let fixture = gemini();
    let home = fixture
        .root()
        .ancestors()
        .nth(3)
        .expect("a home")
        .to_owned();
    let patch = |file: PathBuf| {
        let at = file.display();
        format!("--- {at}\n+++ {at}\n@@ -1,2 +1,3 @@\n # Me\n - short answers\n+- no emoji\n")
    };
    // Any other file is left alone: settings, files of other projects, relative names.
    for other in [
        home.join("settings.md"),
        home.join("tmp/other/memory/MEMORY.md"),
        PathBuf::from("GEMINI.md"),
    ] {
        fixture.propose("global", &patch(other.clone()));
        assert_eq!(fixture.queue(), []);
        let left = left_alone(&fixture.store);
        assert!(left[0].contains(&other.display().to_string()), "{left:?}");
    }
    fixture.propose("private", &patch(home.join("GEMINI.md")));
    assert_eq!(fixture.queue(), [], "not of this kind");
    fs::remove_file(fixture.inbox("private")).expect("removes");
    fixture.propose("global", &patch(home.join("GEMINI.md")));
    assert_eq!(fixture.waiting(), 1);
    fixture.accept_any(&["all"]).expect("accepts");
    let text = fs::read_to_string(home.join("GEMINI.md")).expect("reads");
    assert_eq!(text, "# Me\n- short answers\n- no emoji\n");
    assert_eq!(fixture.waiting(), 0);
}

#[test]
fn a_proposal_that_does_not_fit_any_more_changes_nothing_and_says_what_to_do() {
    let fixture = gemini();
    fixture.propose_for_project();
    fixture.edit("cli", "ports.md", "# Mine\n");
    let misfits = |fixture: &Fixture| -> Vec<(String, bool)> {
        let items = fixture.queue().into_iter();
        items
            .map(|item| (item.path, item.misfit.is_some()))
            .collect()
    };
    let [index, ports] = ["MEMORY.md", "ports.md"].map(str::to_owned);
    assert_eq!(misfits(&fixture), [(index, false), (ports.clone(), true)]);
    // Everything else is accepted.
    assert_eq!(fixture.accept_any(&["all"]).expect("accepts"), 1);
    assert!(fixture.read("MEMORY.md").contains("- first\n"));
    assert_eq!(misfits(&fixture), [(ports, true)]);
    assert_eq!(fixture.accept_any(&["all"]).expect("nothing"), 0);
    let id = fixture.queue()[0].id.clone();
    for ids in [&id, "all"] {
        let refused = fixture.refusals(&[ids]).join("\n");
        assert!(
            refused.starts_with("ports.md: it") && refused.contains("revert the proposal"),
            "{refused}"
        );
    }
    assert_eq!(fixture.read("ports.md"), "# Mine\n");
    assert!(fixture.inbox("private").exists());
    let moment = fixture.moment();
    let change = plan_revert(
        &fixture.history,
        &fixture.store,
        &selection(&["all"]),
        &moment,
    );
    assert!(
        change
            .expect("can be rejected")
            .message
            .contains("Rejected")
    );
    fixture.propose("private", "no patch at all");
    assert_eq!(fixture.queue(), []);
}

#[test]
fn a_hunk_that_does_not_fit_leaves_the_others_of_its_file_to_be_accepted() {
    for is_all in [true, false] {
        let fixture = gemini();
        fixture.propose_for_project();
        fixture.edit("cli", "MEMORY.md", "# Project Memory\n- 1\n- two\n");
        let item = fixture.queue().remove(0);
        let misfit = item.misfit.clone().expect("a hunk that does not fit");
        let why = format!("MEMORY.md: hunk {} does not fit", item.hunks[0].id);
        assert!(misfit.starts_with(&why), "{misfit}");
        let ids = if is_all { "all" } else { &item.id };
        assert_eq!(fixture.refusals(&[ids]), [misfit]);
        let memory = fixture.read("MEMORY.md");
        let made = "# Project Memory\n- 1\n- two\n- [ports](ports.md)\n";
        assert!(memory.starts_with(made), "{memory}");
        assert_eq!(fixture.read("ports.md").is_empty(), !is_all);
        let left = fixture.queue().remove(0);
        assert_eq!(left.hunks.len(), 1);
        let misfit = left.misfit.expect("still does not fit");
        assert!(
            misfit.starts_with("MEMORY.md: what is proposed does"),
            "{misfit}"
        );
    }
}

#[test]
fn a_drafted_skill_that_cannot_be_accepted_is_told() {
    let fixture = gemini();
    let home = fixture
        .root()
        .ancestors()
        .nth(3)
        .expect("a home")
        .to_owned();
    let drafts = fixture.root().join("skills/release");
    for folder in [&drafts, &home.join("skills/release")] {
        fs::create_dir_all(folder).expect("creates");
        fs::write(folder.join("SKILL.md"), "# Release\n").expect("writes");
    }
    fs::write(drafts.join("logo.png"), b"\x89PNG\xff").expect("writes");
    assert!(fixture.queue()[0].misfit.is_some());
    let told = fixture.refusals(&["all"]).join("\n");
    assert!(
        told.contains("/skills/release/SKILL.md: it is proposed as a new file"),
        "{told}"
    );
    let alone = left_alone(&fixture.store).join("\n");
    assert!(
        alone.contains("/memory/skills/release/logo.png is left alone"),
        "{alone}"
    );
    assert!(alone.ends_with("delete this file"), "{alone}");
}

#[test]
fn drafted_skills_and_patches_of_skills_are_decided_about_like_other_proposals() {
    let fixture = gemini();
    let home = fixture
        .root()
        .ancestors()
        .nth(3)
        .expect("a home")
        .to_owned();
    let drafts = fixture.root().join("skills");
    fs::create_dir_all(drafts.join("release/scripts")).expect("creates");
    fs::create_dir_all(drafts.join("typos")).expect("creates");
    fs::create_dir_all(home.join("skills/own")).expect("creates");
    let skill = "---\nname: release\n---\n\nTag, then push.\n";
    fs::write(drafts.join("release/SKILL.md"), skill).expect("writes");
    let script = drafts.join("release/scripts/tag.sh");
    fs::write(&script, "git tag").expect("writes");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("sets");
    fs::write(drafts.join("typos/SKILL.md"), "# Typos\n").expect("writes");
    let own = home.join("skills/own/SKILL.md");
    fs::write(&own, "# Own\n- one\n").expect("writes");
    let at = own.display();
    let patch = format!("--- {at}\n+++ {at}\n@@ -2,1 +2,1 @@\n-- one\n+- two\n");
    fs::write(drafts.join("own.patch"), patch).expect("writes");
    let elsewhere = home.join("settings.md");
    fs::write(&elsewhere, "- one\n").expect("writes");
    let at = elsewhere.display();
    let patch = format!("--- {at}\n+++ {at}\n@@ -1,1 +1,1 @@\n-- one\n+- two\n");
    fs::write(drafts.join("elsewhere.patch"), patch).expect("writes");

    let listed = fixture.store.list().expect("lists");
    assert!(
        listed
            .iter()
            .all(|memory| !memory.path.starts_with("skills/"))
    );
    let items = fixture.queue();
    let names: Vec<String> = items
        .iter()
        .map(|item| {
            item.path
                .trim_start_matches(&home.display().to_string())
                .to_owned()
        })
        .collect();
    assert_eq!(
        names,
        [
            "/skills/release/SKILL.md",
            "/skills/release/scripts/tag.sh",
            "/skills/typos/SKILL.md",
            "/skills/own/SKILL.md",
        ]
    );
    assert_eq!(fixture.waiting(), 4);
    let ids: Vec<&str> = [0, 1, 3].map(|at| items[at].id.as_str()).to_vec();
    fixture.accept_any(&ids).expect("accepts");
    let made = |path: &str| fs::read_to_string(home.join("skills").join(path)).expect("reads");
    assert_eq!(made("release/SKILL.md"), skill);
    assert_eq!(made("release/scripts/tag.sh"), "git tag");
    let script = fs::metadata(home.join("skills/release/scripts/tag.sh"));
    assert_eq!(script.expect("there").permissions().mode() & 0o777, 0o755);
    assert_eq!(made("own/SKILL.md"), "# Own\n- two\n");
    let alone = left_alone(&fixture.store).join("\n");
    assert!(
        alone.contains("/skills/elsewhere.patch is left alone"),
        "{alone}"
    );
    assert!(!drafts.join("release/SKILL.md").exists());
    assert_eq!(fixture.waiting(), 1);
    let change = plan_revert(
        &fixture.history,
        &fixture.store,
        &selection(&[items[2].id.as_str()]),
        &fixture.moment(),
    );
    let change = change.expect("plans");
    assert!(
        change
            .edits
            .iter()
            .any(|edit| { edit.path == "skills/typos/SKILL.md" && edit.after.is_none() })
    );
    fixture.replay(Direction::Back);
    assert!(drafts.join("release/SKILL.md").exists());
    assert!(!home.join("skills/release/SKILL.md").exists());
}
