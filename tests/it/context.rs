//! `tome context --agent`: what an agent loads, as text and as JSON.

use serde_json::Value;

use crate::support::{Home, has, starts};

fn project() -> Home {
    let home = Home::new();
    home.file(".claude/CLAUDE.md", "Mine.\n");
    home.file("project/CLAUDE.md", "Project: @docs/a.md\n\n");
    home.file("project/docs/a.md", "Imported é\r\n");
    home.file("project/sub/CLAUDE.md", "Below.\n");
    home.file(
        "project/.claude/rules/r.md",
        "---\npaths: src/**\n---\nRule.\n",
    );
    home
}

#[test]
fn the_pieces_of_an_agent_are_listed_with_bytes_tokens_and_what_is_not_sent() {
    let home = project();
    let told = home.json("context --agent claude-code");
    assert_eq!(told["schema"], 1);
    assert_eq!(told["agent"], "claude-code");
    assert_eq!(
        told["cwd"],
        home.project().to_str().expect("text"),
        "{told}"
    );
    let pieces = told["pieces"].as_array().expect("a list");
    let rows: Vec<(&str, &Value, &Value, &Value, &str, bool)> = pieces
        .iter()
        .map(|piece| {
            (
                piece["kind"].as_str().expect("a kind"),
                &piece["bytes"],
                &piece["loaded_bytes"],
                &piece["tokens"],
                piece["text"].as_str().expect("a text"),
                piece["cut"].is_string(),
            )
        })
        .collect();
    let number = |n: u64| Value::from(n);
    assert_eq!(
        rows,
        [
            ("user", &number(6), &number(5), &number(2), "Mine.", false),
            (
                "project",
                &number(21),
                &number(19),
                &number(5),
                "Project: @docs/a.md",
                false
            ),
            (
                "import",
                &number(13),
                &number(11),
                &number(3),
                "Imported é",
                false
            ),
            ("rule", &number(28), &number(0), &number(0), "", true),
        ]
    );
    assert_eq!(told["tokens"], 10);
    let text = home.ok("context --agent claude-code");
    starts(
        &text,
        "claude-code in ~/project: 35 B, 10 tokens at 4 characters each\n",
    );
    has(&text, ["loaded when a file is read that matches src/**"]);
}

#[test]
fn another_directory_can_be_asked_about_and_none_is_told_by_the_exit_status() {
    let home = project();
    let told = home.json("context --agent claude-code --cwd sub");
    let pieces = told["pieces"].as_array().expect("a list");
    // The import is outside of that directory, so the agent does not load it.
    let texts: Vec<&str> = pieces.iter().filter_map(|p| p["text"].as_str()).collect();
    assert_eq!(texts, ["Mine.", "Project: @docs/a.md", "", "Below."]);
    let none = home.finds_nothing("context --agent gemini --json");
    has(&none.out, ["\"pieces\":[]"]);
    has(
        home.fails("context --agent codex --cwd nowhere"),
        ["nowhere"],
    );
    has(
        home.fails("context --agent aider"),
        ["known agents: claude-code, codex, gemini"],
    );
}

#[test]
fn what_the_hook_adds_is_a_piece_where_tome_is_set_up() {
    let home = project();
    home.memory("MEMORY.md", "# Memory\n\n- [Zebra](zebra.md) - stripes\n");
    let kinds = |home: &Home| -> Vec<String> {
        let told = home.json("context --agent codex");
        let pieces = told["pieces"].as_array().expect("a list").iter();
        let told = pieces.map(|piece| format!("{} {}", piece["kind"], piece["text"]));
        told.collect()
    };
    home.file("project/AGENTS.md", "Agents.\n");
    assert_eq!(kinds(&home), [r#""project" "Agents.\n""#]);
    home.ok("setup codex --yes");
    let with = kinds(&home);
    assert_eq!(with.len(), 2, "{with:?}");
    starts(&with[1], "\"hook\" \"Persistent memory is kept");
    has(&with[1], ["- [Zebra](zebra.md) - stripes"]);
}

#[test]
fn of_two_hundred_thousand_imports_some_are_shown_and_the_rest_is_told() {
    let home = Home::new();
    home.file("project/m.md", "m\n");
    home.file("project/GEMINI.md", "@m.md\n".repeat(200_000));
    let told = home.ok("context --agent gemini --json");
    assert!(told.contains("only the first 5000"), "{}", told.len());
    assert!(told.len() < 20 << 20, "{}", told.len());
}
