//! Secrets, memories that came back, waivers and files of many lessons.

use std::fs;

use super::{Fixture, memory, moment};
use crate::core::change::{Author, Direction, replay};
use crate::core::insight::curate::waiver;
use crate::core::memory::layout::Layout;
use crate::core::text::time::Moment;

#[test]
fn secrets_are_masked() {
    let token = format!("ghp_{}", "a1B2c3D4".repeat(4) + "e5F6");
    let fixture = Fixture::new(&[
        ("a.md", &format!("The token is {token}.\n")),
        ("b.md", "postgres://app:hunter2secret@db.example.com/x\n"),
        ("c.md", "The token is in 1Password.\n"),
        (
            "d.md",
            "COLS Token: `COLS-9d91b7`\n\ntest@example.com / Password: password123\n",
        ),
        (
            "e.md",
            "Session token: `k9f3a8c2e7b1k9f3a8c2e7b1`, https://x.example/t/k9f3a8c2e7b1k9f3a8c2e7b1\n",
        ),
        (
            "f.md",
            "postgres://username:password(encoded)@host:port/database\n",
        ),
        (
            "i.md",
            "Try `curl -u freqtrade:freqtrade http://127.0.0.1:8080/api/v1/ping` first.\n",
        ),
        (
            "j.md",
            "`DATABASE_URL='postgresql://user:pass@localhost:5432/shop' npm run build` passed.\n",
        ),
        ("k.md", "postgres://postgres:password@localhost:5432/shop\n"),
        ("g.md", "The database password is Tr0ub4dor&3!\n"),
        ("h.md", "DB_PASSWORD=s9-Kd7x2qW\n"),
        ("l.md", "DB_PASSWORD=whatever\n"),
        (
            "m.md",
            "The key begins with `sk-ant-api03-k9_F3a8c2e7B...`\n",
        ),
        ("n.md", "VERCEL_TOKEN: vcp_7Giw9Zq…24... (confirmed)\n"),
        ("o.md", "All cases pass: 23+4.5=27.50\n"),
        (
            "p.md",
            "mongodb+srv://[MONGO_USER:MONGO_PASS]@db.example/x\n",
        ),
    ]);
    let found = fixture.findings("secret");
    let files: Vec<&str> = found.iter().map(|found| found.path.as_str()).collect();
    assert_eq!(files, ["a.md", "b.md", "g.md", "h.md", "l.md"], "{found:?}");
    assert!(
        found.iter().all(|found| !found.message.contains("masked")),
        "a word that is a secret"
    );
    let shown = format!("{found:?}");
    assert!(
        !shown.contains(&token) && !shown.contains("hunter2secret"),
        "{shown}"
    );
}

#[test]
fn neither_a_stamp_nor_an_open_template_makes_memories_alike() {
    let generated = |title: &str, about: &str| {
        format!("# {title}\n\n> Kept by the note refiner, 2026-06-28 03:47:03\n\n{about}\n")
    };
    let template = |what: &str| {
        format!(
            "# [FILL IN] replace with your repository's verified {what}\n\n\
             # Example entries below, update them when the {what} change\n\n\
             - First of the {what}: [e.g. one]\n- Second of them: [e.g. two]\n"
        )
    };
    let fixture = Fixture::new(&[
        (
            "a.md",
            &generated("Patterns", "Patterns of code seen in the session."),
        ),
        (
            "b.md",
            &generated("Debugging", "Frequent faults and how to find them."),
        ),
        ("c.md", &template("commands")),
        ("d.md", &template("architecture facts")),
    ]);
    let found = fixture.findings("duplicate");
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn a_fix_of_hidden_text_leaves_plain_text_or_is_none() {
    let red = memory("a", "a \u{1b}[1;31mred\u{1b}[0m wo\u{200b}rd");
    let fixture = Fixture::new(&[
        ("a.md", &red),
        ("broken.md", "10 \u{e2}\u{80}\u{93} 12\n"),
        ("cut.md", "the colour \u{1b} is\n"),
        ("lines.md", "one\u{2028}two\n"),
        ("wide.md", "t\0a\0i\0l\0\n"),
    ]);
    let fixed = fixture.fixed("hidden-text");
    assert_eq!(fixed, super::only("a.md", &memory("a", "a red word")));
}

#[test]
fn a_byte_that_is_no_text_is_told_at_its_line() {
    let fixture = Fixture::new(&[("a.md", "---\nname: a\n\nopen\n")]);
    let bytes = b"---\nname: b\n---\n\none\ntwo \xff\nthree \xff\n";
    fs::write(fixture.root().join("b.md"), bytes).expect("written");
    let found = fixture.findings("unreadable").into_iter();
    let lines: Vec<_> = found.map(|found| (found.path, found.line)).collect();
    assert_eq!(
        lines,
        [("a.md".to_owned(), Some(1)), ("b.md".to_owned(), Some(6))]
    );
}

#[test]
fn a_memory_came_back_unless_somebody_brought_it_back() {
    let text = memory("a", "text");
    let fixture = Fixture::new(&[("a.md", &text), ("b.md", &memory("b", "b"))]);
    let record = fixture.delete("a.md");
    fixture.is_silent("came-back");
    fixture.write(&[("a.md", &text)]);
    assert_eq!(
        fixture.told("came-back"),
        ["a.md: a.md <a.md deleted on 2026-11-15>"]
    );
    fs::remove_file(fixture.root().join("a.md")).expect("removed");
    let later = Moment {
        time: moment().time + jiff::SignedDuration::from_secs(60),
        ..moment()
    };
    fixture.change(&later, || {
        replay(&fixture.history(), &record, Direction::Back, &later)
    });
    fixture.is_silent("came-back");
}

#[test]
fn a_waiver_holds_until_the_evidence_changes() {
    let fixture = Fixture::new(&[("a.md", "See [[gone]].\n")]);
    let data = fixture.home.path().join("data");
    let is_waived = || {
        let mut findings = fixture.findings("broken-link");
        waiver::apply(&mut findings, &waiver::read(&data).expect("readable"));
        findings[0]
            .waived
            .as_ref()
            .map(|waiver| waiver.words.clone())
    };
    assert_eq!(is_waived(), None);
    let finding = fixture.findings("broken-link").remove(0);
    let words = Some("kept for history");
    waiver::record(&data, &finding, &Author::test(), moment().today, words).expect("recorded");
    assert_eq!(is_waived().as_deref(), Some("kept for history"));
    fixture.write(&[("a.md", "\nSee [[gone]].\n")]);
    assert!(is_waived().is_some(), "only the line number differs");
    fixture.write(&[("a.md", "Read [[gone]].\n")]);
    assert_eq!(is_waived(), None);
    assert!(data.join("waivers.jsonl").exists());
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
    fixture.delete("a.md");
    let reworded = format!("{body} Always.");
    fixture.write(&[("a.md", &memory("a", &reworded))]);
    let found = fixture.findings("came-back");
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(
        found[0].message,
        "was deleted on 2026-11-15 and is there again, in other words"
    );
    assert!(found[0].fix.is_none());
    fixture.write(&[("a.md", &memory("a", "Something else altogether."))]);
    fixture.is_silent("came-back");
}
