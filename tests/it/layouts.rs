//! Each layout: a store made with the command line alone has the expected bytes.

use crate::support::{Home, ends, has, json_of, starts, today, tree};

fn store(home: &Home, name: &str) -> Vec<(String, String)> {
    tree(&home.project().join(name))
        .into_iter()
        .filter(|(path, _)| !path.ends_with('/'))
        .map(|(path, bytes)| {
            let text = String::from_utf8(bytes).expect("text");
            (path, text.replace(&today(), "TODAY"))
        })
        .collect()
}

fn expect(home: &Home, name: &str, files: &[(&str, &str)]) {
    let there = store(home, name);
    let there: Vec<(&str, &str)> = there
        .iter()
        .map(|(p, t)| (p.as_str(), t.as_str()))
        .collect();
    assert_eq!(there, files);
}

#[test]
fn an_index_store() {
    let home = Home::new();
    let tome = |line: &str| home.run(&format!("--store ./.memory {line}"));
    let written = tome(
        "write user_prefs.md --name 'User\nPrefs' --description 'tea, no\ncoffee' --type user --content 'Likes tea.'",
    );
    assert_eq!(
        (written.code, written.out.as_str()),
        (0, "Memory saved: user_prefs.md\n")
    );
    tome(
        "write auth.md --name Auth --description 'JWT: 15 # minutes' --type project --content 'Access token: 15 min.\n'",
    );
    expect(
        &home,
        ".memory",
        &[
            (
                "MEMORY.md",
                "# Memory\n\n## User\n- [User Prefs](user_prefs.md) - tea, no coffee\n\n## Project\n- [Auth](auth.md) - JWT: 15 # minutes\n",
            ),
            (
                "auth.md",
                "---\nname: Auth\ndescription: \"JWT: 15 # minutes\"\ntype: project\nupdated: TODAY\n---\n\nAccess token: 15 min.\n",
            ),
            (
                "user_prefs.md",
                "---\nname: User Prefs\ndescription: tea, no coffee\ntype: user\nupdated: TODAY\n---\n\nLikes tea.\n",
            ),
        ],
    );

    assert_eq!(
        tome("patch auth.md --old '15 min' --new '20 $& min'").out,
        "Memory updated: auth.md\n"
    );
    has(home.read_memory("auth.md"), ["Access token: 20 $& min.\n"]);
    assert_eq!(tome("view").out, home.read_memory("MEMORY.md"));
    assert_eq!(
        tome("view files").out.replace(&today(), "TODAY"),
        "  auth.md  [project]  JWT: 15 # minutes  (updated: TODAY)\n  user_prefs.md  [user]  tea, no coffee  (updated: TODAY)\n"
    );
    let context = tome("context").out;
    assert!(context.ends_with(&format!(
        "Current memory index:\n\n{}",
        home.read_memory("MEMORY.md")
    )));
    for line in [
        "\n1. ",
        "\n5. ",
        "\n- user: ",
        "\n- feedback: ",
        "\n- project: ",
        "\n- reference: ",
    ] {
        assert!(context.contains(line), "{line:?} in {context}");
    }

    assert_eq!(tome("delete auth.md").out, "Memory deleted: auth.md\n");
    assert_eq!(
        tome("delete user_prefs.md").out,
        "Memory deleted: user_prefs.md\n"
    );
    expect(&home, ".memory", &[("MEMORY.md", "# Memory\n")]);
    assert_eq!(tome("view files").out, "(no memory files yet)\n");
}

#[test]
fn an_index_store_says_what_it_cannot_do() {
    let home = Home::new();
    home.memory("MEMORY.md", "# Memory\n\n(empty)\n");
    for (args, expected) in [
        ("read x.md", "Error: Memory file 'x.md' not found.\n"),
        (
            "write x.md --type y --content z",
            "Error: Invalid type 'y'. Must be one of: user, feedback, project, reference\n",
        ),
        ("delete MEMORY.md", "Error: Cannot delete the index file.\n"),
        (
            "patch x.md --old a --new b",
            "Error: Memory file 'x.md' not found.\n",
        ),
        ("delete x.md", "Error: Memory file 'x.md' not found.\n"),
    ] {
        let output = home.run(&args);
        assert_eq!(
            (output.code, output.err.as_str()),
            (2, expected),
            "{args:?}"
        );
    }
    home.ok("write x.md --type user --content z");
    let output = home.run("patch x.md --old absent --new b");
    assert_eq!(
        (output.code, output.err.as_str()),
        (2, "Error: Text not found in x.md\n")
    );
    expect(
        &home,
        ".memory",
        &[
            ("MEMORY.md", "# Memory\n\n## User\n- [x](x.md) - z\n"),
            (
                "x.md",
                "---\nname: x\ndescription: z\ntype: user\nupdated: TODAY\n---\n\nz\n",
            ),
        ],
    );
}

#[test]
fn a_patch_stamps_the_header_alone_and_needs_its_text_once() {
    let home = Home::new();
    home.memory("MEMORY.md", "# Memory\n");
    home.memory(
        "a.md",
        "---\nname: A\nupdated: 2020-01-01\n---\n\nupdated: 2020-01-01\nx z z\n",
    );
    home.memory("b.md", "---\nname: B\nmetadata: \n  type: user\n---\nx\n");
    home.ok("patch a.md --old x --new y");
    home.ok("patch b.md --old x --new y");
    let repeated = home.run("patch a.md --old z --new y");
    assert_eq!(
        (repeated.code, repeated.err.as_str()),
        (
            2,
            "tome: String appears multiple times in a.md — provide more context to make it unique\n"
        )
    );
    assert_eq!(
        home.read_memory("a.md").replace(&today(), "TODAY"),
        "---\nname: A\nupdated: TODAY\n---\n\nupdated: 2020-01-01\ny z z\n"
    );
    assert_eq!(
        home.read_memory("b.md"),
        "---\nname: B\nmetadata: \n  type: user\n---\ny\n"
    );
}

#[test]
fn a_hand_written_index_is_edited_by_one_line() {
    let home = Home::new();
    let hand =
        "# My index\n\nProse.\n\n- [A](a.md) — hook of a\n- [Gone](gone.md) — was here\n\nThe end.";
    home.memory("MEMORY.md", hand);
    home.memory(
        "a.md",
        "---\nname: A\ndescription: d\ntype: user\n---\nsee [[b]]\n",
    );
    home.ok("write b.md --name B --description 'about b' --type user --content x");
    let with_b = hand.replace("was here\n", "was here\n- [B](b.md) — about b\n");
    assert_eq!(home.read_memory("MEMORY.md"), with_b);
    home.ok("rename b.md c.md");
    assert_eq!(
        home.read_memory("MEMORY.md"),
        with_b.replace("(b.md)", "(c.md)")
    );
    ends(home.read_memory("a.md"), "see [[c]]\n");
    home.ok("patch c.md --old 'about b' --new 'about c'");
    has(home.read_memory("MEMORY.md"), ["- [B](c.md) — about c\n"]);
    home.ok("delete c.md");
    assert_eq!(home.read_memory("MEMORY.md"), hand);

    let check = home.finds_nothing("index --check");
    has(&check.out, ["-- [Gone](gone.md) — was here"]);
    home.ok("index");
    assert_eq!(
        home.read_memory("MEMORY.md"),
        hand.replace("- [Gone](gone.md) — was here\n", "")
    );
    home.ok("index --check");
    let diff = home.ok("index --rewrite --dry-run");
    has(&diff, ["+## User"]);
    home.ok("index --rewrite");
    assert_eq!(
        home.read_memory("MEMORY.md"),
        "# Memory\n\n## User\n- [A](a.md) - d\n"
    );
    home.ok("undo");
    home.ok("undo");
    assert_eq!(home.read_memory("MEMORY.md"), hand);
}

#[test]
fn a_facts_store() {
    let home = Home::new();
    let tome = |line: &str| home.run(&format!("--store data/memory {line}"));
    assert_eq!(
        tome("write facts/user.md --content '# User\n\n> Summary: user name, language, role\n\n- Name: Kim\n- Updated: 2026-02-01\n'")
        .code,
        0
    );
    let episode = "\n## Logger leak\n- Summary: stdout leak fixed\n- Date: 2026-02-03\n";
    assert_eq!(
        home.run_with_input(
            "append --store data/memory episodes/2026-02.md",
            "# Episodes 2026-02\n"
        )
        .code,
        0
    );
    assert_eq!(
        home.run_with_input("append --store data/memory episodes/2026-02.md", episode)
            .code,
        0
    );
    tome(
        "append episodes/2026-02.md --content '\n## Move\n- Summary: moved to JWT\n- Date: 2026-02-09'",
    );
    tome("append ideas/one.md --content '# Ideas' --summary 'first idea'");
    tome("patch facts/user.md --old Kim --new 'Kim Lee'");
    expect(
        &home,
        "data/memory",
        &[
            (
                "episodes/2026-02.md",
                "# Episodes 2026-02\n\n> Summary: stdout leak fixed, moved to JWT\n\n## Logger leak\n- Summary: stdout leak fixed\n- Date: 2026-02-03\n\n## Move\n- Summary: moved to JWT\n- Date: 2026-02-09",
            ),
            (
                "facts/user.md",
                "# User\n\n> Summary: user name, language, role\n\n- Name: Kim Lee\n- Updated: 2026-02-01\n",
            ),
            ("ideas/one.md", "# Ideas\n\n> Summary: first idea\n"),
        ],
    );
    assert_eq!(
        tome("context").out,
        "Available memory:\n- facts/user.md (84B): user name, language, role\n- episodes/2026-02.md (178B): stdout leak fixed, moved to JWT\n- ideas/one.md (31B): first idea\n\nUse memory_read to load relevant files before responding.\n"
    );
    let list = json_of(&tome("list --json").out);
    assert_eq!(list["schema"], 1);
    assert_eq!(list["memories"][0]["path"], "facts/user.md");
    assert_eq!(list["memories"][0]["size"], 84);
    assert_eq!(
        list["memories"][1]["summary"],
        "stdout leak fixed, moved to JWT"
    );
    assert_eq!(
        tome("read episodes/2026-02.md#move").out,
        "## Move\n- Summary: moved to JWT\n- Date: 2026-02-09"
    );

    let missing = tome("patch facts/user.md --old nope --new x");
    assert_eq!(missing.err, "tome: String not found in facts/user.md\n");
    home.file("project/data/memory/facts/user.md", "aXa aXa\n");
    assert_eq!(
        tome("patch facts/user.md --old aXa --new x").err,
        "tome: String appears multiple times in facts/user.md — provide more context to make it unique\n"
    );
    assert_eq!(home.read("project/data/memory/facts/user.md"), "aXa aXa\n");
    let patches = home.file(
        "patches.json",
        "[{\"oldText\":\"aXa aXa\",\"newText\":\"b\"},{\"oldText\":\"b\",\"newText\":\"c\"}]",
    );
    let output = tome(&format!(
        "patch facts/user.md --json --patches {}",
        patches.display()
    ));
    let answer = json_of(&output.out);
    assert_eq!(
        (answer["success"].as_bool(), answer["appliedCount"].as_u64()),
        (Some(true), Some(2))
    );
    assert_eq!(home.read("project/data/memory/facts/user.md"), "c\n");
    assert_eq!(tome("delete ideas/one.md").code, 0);
    assert_eq!(tome("write too/deep/x.md --content x").code, 2);
}

#[test]
fn a_session_store() {
    let home = Home::new();
    let tome = |line: &str| home.run(&format!("--store ./s1 {line}"));
    assert_eq!(
        tome("write detail/auth.md --name 'Auth design' --tag jwt --tag 'auth flow' --content 'Use JWT.'")
        .code,
        0
    );
    let text = home.read("project/s1/working-memory/detail/auth.md");
    let created = text
        .split("created: ")
        .nth(1)
        .expect("created")
        .lines()
        .next()
        .expect("a line");
    assert!(created.parse::<jiff::Timestamp>().is_ok(), "{created}");
    assert_eq!(
        text.replace(created, "NOW"),
        "# Auth design\n\n<!--\nMETA:\n- created: NOW\n- keywords: [\"jwt\",\"auth flow\"]\n-->\n\nUse JWT.\n"
    );
    let overview = home.read("project/s1/working-memory/overview.md");
    for heading in [
        "# Working Memory\n",
        "\n## Current Task\n<!-- ",
        "\n## Key Decisions\n<!-- ",
        "\n## Known Context\n<!-- ",
        "\n## Pending Issues\n<!-- ",
        "\n## Recent Operations\n<!-- ",
    ] {
        assert!(overview.contains(heading), "{heading:?}");
    }
    tome("append detail/auth.md --content Rotate.");
    ends(
        home.read("project/s1/working-memory/detail/auth.md"),
        "Use JWT.\nRotate.",
    );
    tome("patch overview.md --old '## Current Task' --new '## Current Task\n- auth'");
    assert_eq!(
        tome("context").out,
        home.read("project/s1/working-memory/overview.md")
    );
    home.file(
        "project/s1/messages.jsonl",
        "{\"role\":\"user\",\"content\":\"hi\"}\n",
    );
    for args in [
        "write messages.jsonl --content x",
        "append messages.jsonl --content x",
        "patch messages.jsonl --old hi --new x",
        "delete messages.jsonl",
        "delete overview.md",
        "write notes.md --content x",
    ] {
        assert_eq!(tome(args).code, 2, "{args:?}");
    }
    assert_eq!(
        home.read("project/s1/messages.jsonl"),
        "{\"role\":\"user\",\"content\":\"hi\"}\n"
    );
    assert_eq!(tome("delete detail/auth.md").code, 0);
    assert_eq!(tome("list").out.lines().count(), 1);
}

#[test]
fn a_coder_store() {
    let home = Home::new();
    let tome = |line: &str| home.run(&format!("--store ./lessons {line}"));
    assert_eq!(
        tome("write semantic/errors/retry.md --name Retry --description 'Back off' --tag net --tag success --content 'Wait longer each time.'")
        .code,
        0
    );
    tome(
        "append semantic/errors/retry.md --name Idempotence --description 'Safe to repeat' --tag api --content 'Use keys.'",
    );
    tome("write semantic/semantic.md --name Names --description d --content c");
    let entries = "**Title:** Retry\n**Description:** Back off\n\n**Content:** Wait longer each time.\n\n**Tags:** #net #success #semantic\n\n---\n\n**Title:** Idempotence\n**Description:** Safe to repeat\n\n**Content:** Use keys.\n\n**Tags:** #api #semantic\n";
    assert_eq!(
        home.read("project/lessons/semantic/errors/retry.md"),
        entries
    );
    assert_eq!(
        home.read("project/lessons/semantic/errors/README.md"),
        "# semantic/errors\n\n- [retry.md](retry.md) - Retry; Idempotence\n"
    );
    assert_eq!(
        home.read("project/lessons/semantic/README.md"),
        "# semantic\n\n- [errors/](errors/README.md) - 1 file\n- [semantic.md](semantic.md) - Names\n"
    );
    for (guide, words) in [("recall", ["sub-agent"]), ("store", ["frustration"])] {
        let guide = home.read(&format!("project/lessons/memory-{guide}-guide.md"));
        starts(&guide, "# ");
        has(&guide, words);
    }
    assert_eq!(
        tome("view").out,
        "semantic/\n  semantic.md - Names\n  errors/\n    retry.md - Retry; Idempotence\n"
    );
    home.file("project/lessons/semantic/README.md", "# Mine\n\nWords.\n\n- [semantic.md](semantic.md) - mine\n- [errors/](errors/README.md) - mine too\n\nEnd.\n");
    tome("write semantic/tools.md --name Tools --content c");
    assert_eq!(
        home.read("project/lessons/semantic/README.md"),
        "# Mine\n\nWords.\n\n- [semantic.md](semantic.md) - mine\n- [errors/](errors/README.md) - mine too\n- [tools.md](tools.md) - Tools\n\nEnd.\n"
    );
    assert_eq!(tome("delete semantic/errors/retry.md").code, 0);
    assert_eq!(
        home.read("project/lessons/semantic/README.md"),
        "# Mine\n\nWords.\n\n- [semantic.md](semantic.md) - mine\n- [tools.md](tools.md) - Tools\n\nEnd.\n"
    );
    assert!(
        !home
            .project()
            .join("lessons/semantic/errors/README.md")
            .exists()
    );
    for args in [
        "write semantic/README.md --content x",
        "delete memory-store-guide.md",
        "write other/x.md --content x",
        "write semantic/a/b/x.md --content x",
    ] {
        assert_eq!(tome(args).code, 2, "{args:?}");
    }
}

#[test]
fn an_events_store() {
    let home = Home::new();
    let tome = |line: &str| home.run(&format!("--store ./ev {line}"));
    assert_eq!(tome("append events.jsonl --content hello").code, 0);
    let event = "{\"event_id\":\"01J00000000000000000000000\",\"session_id\":\"s\",\"timestamp\":5,\"event_type\":\"tool_result\",\"role\":\"tool\",\"text\":\"out\",\"metadata\":{\"tool\":\"Bash\"},\"agent\":\"claude-code\"}";
    for _ in 0..2 {
        home.ok(&[
            "append",
            "--store",
            "./ev",
            "events.jsonl",
            "--content",
            event,
        ]);
    }
    let file = home.read("project/ev/events.jsonl");
    let lines: Vec<&str> = file.lines().collect();
    assert_eq!(lines.len(), 2, "{file}");
    assert_eq!(lines[1], event);
    let first = json_of(lines[0]);
    let fields = ["event_type", "role", "text"].map(|field| first[field].as_str());
    assert_eq!(fields, [Some("user_message"), Some("user"), Some("hello")]);
    assert_eq!(first["event_id"].as_str().map(str::len), Some(26));
    for args in [
        "write events.jsonl --content x",
        "patch events.jsonl --old a --new b",
        "delete events.jsonl",
    ] {
        let output = tome(args);
        assert_eq!(
            (output.code, output.err.as_str()),
            (
                2,
                "tome: events.jsonl: events are append-only: they are never updated, renamed or deleted\n"
            ),
            "{args:?}"
        );
    }
    for (event, told) in [
        (
            r#"{"event_id":"","event_type":"user_message","text":"a"}"#,
            "event_id '' is not a ULID",
        ),
        (
            r#"{"event_id":"e-17","event_type":"user_message","text":"a"}"#,
            "event_id 'e-17' is not a ULID",
        ),
        (
            r#"{"event_id":"01J00000000000000000000001","text":"a"}"#,
            "the event has no event_type",
        ),
        (
            r#"{"event_type":"","text":"a"}"#,
            "event_type '' is not one of: session_start, user_message,",
        ),
        (
            r#"{"event_type":"wish","text":"a"}"#,
            "event_type 'wish' is not one of",
        ),
        (
            r#"{"event_type":"user_message","role":"boss","text":"a"}"#,
            "role 'boss' is not one of: user,",
        ),
    ] {
        let append = [
            "append",
            "--store",
            "./ev",
            "events.jsonl",
            "--content",
            event,
        ];
        for output in [
            home.run(&append),
            home.run(&[&append[..], &["--dry-run"]].concat()),
        ] {
            assert_eq!(output.code, 2, "{event}");
            assert!(output.err.contains(told), "{event}: {}", output.err);
        }
    }
    let other = tome("append events.jsonl --type wish --content a");
    has(&other.err, ["event_type 'wish'"]);
    has(&tome("list").out, ["2 events"]);
    assert_eq!(home.read("project/ev/events.jsonl"), file);
}

#[test]
fn names_with_a_colon_or_a_hash_are_used_as_they_are_listed_and_others_say_what_to_do() {
    let home = Home::new();
    home.memory("MEMORY.md", "# Memory\n");
    let names = [
        ("note: x.md", "colon"),
        ("todo:y.md", "store"),
        ("issue#7.md", "part"),
    ];
    for (name, words) in names.iter().chain(&[("a\nb.md", "break")]) {
        let text = format!("---\nname: n\ndescription: d\ntype: user\n---\n\n{words}\n");
        home.memory(name, text);
    }
    let listed = home.ok("list");
    for (name, words) in names {
        has(&listed, [name]);
        assert!(home.ok(&["read", name]).contains(words), "{name}");
        home.ok(&["append", name, "--content", "more"]);
        assert!(home.ok(&["read", name]).contains("more"), "{name}");
    }
    home.ok("delete todo:y.md");
    assert!(!home.project().join(".memory/todo:y.md").exists());
    has(&listed, ["a␊b.md"]);
    let refused = home.run("read a␊b.md");
    has(&refused.err, ["rename the file outside"]);
    let mut client = crate::mcp::Client::start(&home, "");
    let asked = serde_json::json!({ "filename": "note: x.md" });
    has(client.ok("memory_read", asked), ["colon"]);
}

#[test]
fn a_description_that_only_the_index_has_is_shown() {
    let home = Home::new();
    home.memory(
        "MEMORY.md",
        "# Memory\n\n- [A](a.md) — when the build breaks\n- [B](b.md)\n",
    );
    home.memory("a.md", "plain\n");
    home.memory("b.md", "---\nname: \"caf\\u00e9\"\n---\n\nplain\n");
    assert_eq!(
        home.ok("view files"),
        "  a.md  [unknown]  when the build breaks  (updated: unknown)\n  b.md  [unknown]  (no description)  (updated: unknown)\n"
    );
    let listed = home.ok("list --json");
    has(&listed, ["when the build breaks", "café"]);
}

#[test]
fn a_new_memory_keeps_its_name_and_description_where_an_agent_has_files_of_its_own() {
    let home = Home::new();
    let block = |name: &str| format!(".letta/agents/agent-1/memory/system/{name}.md");
    home.file(&block("human"), "---\ndescription: d\n---\nx\n");
    home.file(".openclaw/workspace/MEMORY.md", "# M\n");
    home.memory("MEMORY.md", "# Memory\n\n- [K](k.md) — k\n");
    let memory = "---\nname: The k\ndescription: what k is\ntype: user\n---\n\nText.\n";
    home.memory("k.md", memory);
    let write = [
        "write",
        "letta@agent-1:system/new.md",
        "--content",
        "Body.\n",
    ];
    let refused = home.run(&write);
    has(&refused.err, ["only with a description"]);
    home.ok(&[&write[..], &["--name", "New", "--description", "a: b"]].concat());
    assert_eq!(
        home.read(&block("new")),
        "---\ndescription: \"a: b\"\n---\n\n# New\n\nBody.\n"
    );
    home.ok("rename .memory:k.md openclaw:memory/k.md");
    assert_eq!(
        home.read(".openclaw/workspace/memory/k.md"),
        "---\ndescription: what k is\n---\n\n# The k\n\nText.\n"
    );
    home.ok("undo");
    assert_eq!(home.read_memory("k.md"), memory);
}

#[test]
fn what_moves_to_letta_gets_the_header_that_it_takes() {
    let home = Home::new();
    let root = ".letta/agents/agent-1/memory";
    home.file(
        &format!("{root}/system/human.md"),
        "---\ndescription: who\n---\n\nKim\n",
    );
    home.file(".openclaw/workspace/memory/tea.md", "Green tea at four.\n");
    let said = home.ok("rename openclaw:memory/tea.md letta@agent-1:system/tea.md");
    has(&said, ["; Letta sees it once it is committed"]);
    assert_eq!(
        home.read(&format!("{root}/system/tea.md")),
        "---\ndescription: Green tea at four.\n---\n\nGreen tea at four.\n"
    );
    let refused = [
        "patch",
        "system/tea.md",
        "--old",
        "description: Green tea at four.\n",
        "--new",
        "",
    ];
    has(&home.run(&refused).err, ["only with a description"]);
}
