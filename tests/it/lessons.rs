//! Lessons, wherever they are kept: recalled and stored by the server, and divided by hand.

use serde_json::json;

use crate::mcp::Client;
use crate::support::{Home, has, lacks, starts};

const SKILL: &str = ".claude/skills/coder-memory-store";

fn lesson(title: &str, tags: &str) -> String {
    format!(
        "**Title:** {title}\n**Description:** d\n\n**Content:** One. Two. Three.\n\n**Tags:** {tags}\n"
    )
}

#[test]
fn lessons_of_a_skill_are_recalled_and_stored_where_they_are() {
    let home = Home::new();
    home.file(
        &format!("{SKILL}/semantic/semantic.md"),
        lesson("Bound retries", "#net #failure"),
    );
    home.file(&format!("{SKILL}/SKILL.md"), "# Coder Memory Store\n");
    home.file(&format!("{SKILL}/REFERENCE_old.md"), "# Old guide\n");
    let listed = home.ok("list --json");
    has(&listed, ["semantic/semantic.md"]);
    lacks(&listed, ["SKILL.md", "REFERENCE"]);
    let mut client = Client::start(&home, "");
    let recalled = client.ok("coder_memory_recall", json!({ "query": "retries" }));
    has(&recalled, ["Bound retries"]);
    // A tag that says only how it ended makes no lessons similar.
    let new = json!({
        "type": "episodic", "title": "Charset of a header", "description": "d",
        "content": "One. Two. Three.", "tags": ["charset", "failure"],
    });
    let stored = client.ok("coder_memory_store", new);
    starts(&stored, "Memory updated");
    let kept = home.read(&format!("{SKILL}/episodic/charset-of-a-header.md"));
    has(&kept, ["**Tags:** #charset #failure #episodic"]);
    assert!(!home.path().join(".sonph-code-memory").exists());
    for (wrong, words) in [
        (json!({ "content": " \n" }), "content"),
        (json!({ "title": "" }), "title"),
        (json!({ "type": "odd" }), "episodic, procedural, semantic"),
    ] {
        let mut asked = json!({
            "type": "semantic", "title": "T", "description": "d", "content": "c",
        });
        let pairs = wrong.as_object().expect("an object").clone();
        asked.as_object_mut().expect("an object").extend(pairs);
        let refused = client.fails("coder_memory_store", asked);
        has(&refused, [words]);
    }
}

#[test]
fn a_readme_is_found_where_no_lesson_has_the_word() {
    let home = Home::new();
    home.memory(
        "semantic/README.md",
        "# Semantic\n\n- [Rules](../old/rules.md) - the wombat rule\n",
    );
    let other = lesson("Bound retries", "#net");
    home.memory("semantic/net.md", other);
    let found = home.ok("recall wombat");
    assert!(found.contains("semantic/README.md#L3"), "{found}");
    let none = home.run("recall quokka");
    assert!(none.out.contains("No universal patterns"), "{none:?}");
}

#[test]
fn an_update_is_dated_and_the_answer_counts_the_lessons() {
    let home = Home::new();
    home.file(
        "lessons/semantic/net.md",
        lesson("Bound retries", "#net #success"),
    );
    let mut client = Client::start(&home, "--store ../lessons");
    let answer = client.ask(
        "tools/call",
        json!({ "name": "coder_memory_store", "arguments": {
            "type": "semantic", "title": "Bound retries", "description": "new", "content": "Four.",
            "decision": "update", "into": "semantic/net.md#bound-retries",
        }}),
    );
    let said = answer.to_string();
    has(
        &said,
        ["1 lesson extended in", "which has 1 now: semantic 1."],
    );
    let kept = home.read("lessons/semantic/net.md");
    let dated = |mark: &str| {
        kept.lines().any(|line| {
            let date = line
                .strip_prefix(mark)
                .map(|rest| rest.get(..10).unwrap_or(rest));
            date.is_some_and(|date| date.parse::<jiff::civil::Date>().is_ok())
        })
    };
    assert!(
        dated("**Previous approach (") && dated("**Updated "),
        "{kept}"
    );
}

#[test]
fn a_file_of_many_lessons_is_divided_entry_by_entry() {
    let home = Home::new();
    let both = format!(
        "{}\n---\n\n{}",
        lesson("Bound retries", "#net #success"),
        lesson("Pin compilers", "#build #success")
    );
    home.file("lessons/semantic/semantic.md", both);
    home.file(
        "lessons/procedural/old.md",
        "## Workflow: Release\n\nTag it.\n\n**Tags:** #git\n",
    );
    let tome = |line: &str| home.ok(&format!("--store ../lessons {line}"));
    has(tome("list"), ["  #bound-retries", "  #pin-compilers"]);
    let from = "semantic/semantic.md#pin-compilers";
    tome(&format!("rename {from} semantic/build/compilers.md"));
    let moved = home.read("lessons/semantic/build/compilers.md");
    has(&moved, ["**Title:** Pin compilers"]);
    let left = home.read("lessons/semantic/semantic.md");
    has(&left, ["Bound retries"]);
    lacks(&left, ["Pin"]);
    has(tome("read procedural/old.md#release"), ["Tag it."]);
    tome("undo");
    has(home.read("lessons/semantic/semantic.md"), ["Pin compilers"]);
}

#[test]
fn principles_come_from_lessons_and_elsewhere_it_says_so() {
    let home = Home::new();
    for name in ["a", "b"] {
        let text = format!("---\nname: {name}\ndescription: d\ntype: user\n---\n\nx\n");
        home.memory(&format!("{name}.md"), text);
    }
    home.memory("MEMORY.md", "# Memory\n");
    has(
        home.fails("generalize p.md --from a.md --from b.md --content x"),
        ["principles come from lessons, and the layout index has none"],
    );
}
