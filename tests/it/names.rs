//! Names that somebody else chose, in every place where tome reads one: a project's settings and
//! instructions, an extension, an index, a memory, a log, a hook's payload, a call of the server, a
//! patch that an agent proposes, a folder of a plugin; a remote of sync in `sync/hostile.rs`. None may
//! lead to a file outside the project and the agents' own texts.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};

use crate::mcp::Client;
use crate::support::{Home, Words, has, lacks, mkfifo, tree};

/// A word that is in every file that may not be read.
const CANARY: &str = "quetzalcanary";

/// The files that may not be read, in the home.
const SECRETS: [&str; 8] = [
    ".ssh/id_rsa",
    ".ssh/MEMORY.md",
    ".gemini/oauth_creds.json",
    ".codex/auth.json",
    ".claude/.credentials.json",
    "other/notes.md",
    "project-two/GEMINI.md",
    "dotfiles/private.md",
];

/// The names. `HOME` stands for the home directory.
pub(crate) const NAMES: [&str; 45] = [
    "../.ssh/id_rsa",
    "../../.ssh/id_rsa",
    "../../../../../../../../HOME/.ssh/id_rsa",
    "./../.ssh/id_rsa",
    "docs/../../.ssh/id_rsa",
    "docs/./.././../.ssh/id_rsa",
    "..//.ssh//id_rsa",
    "HOME/.ssh/id_rsa",
    "/HOME/.ssh/id_rsa",
    "/proc/self/root/HOME/.ssh/id_rsa",
    "/proc/self/cwd/../.ssh/id_rsa",
    "/dev/fd/../../HOME/.ssh/id_rsa",
    "~/.ssh/id_rsa",
    "~/./.ssh/../.ssh/id_rsa",
    "~root/../HOME/.ssh/id_rsa",
    "$HOME/.ssh/id_rsa",
    "${HOME}/.ssh/id_rsa",
    "file://HOME/.ssh/id_rsa",
    "link",
    "./link",
    "link.md",
    "linked/id_rsa",
    "linked/MEMORY.md",
    "docs/../link",
    "twice",
    "../.gemini/oauth_creds.json",
    "oauth_creds.json",
    "~/.gemini/oauth_creds.json",
    "~/.gemini/../.ssh/id_rsa",
    "notes/../private.md",
    "~/.codex/auth.json",
    "~/.claude/.credentials.json",
    "~/.claude/../.ssh/id_rsa",
    "../project-two/GEMINI.md",
    "../other/notes.md",
    "../other/*.md",
    "../.ssh/**",
    "HOME/**/*",
    "{..,.}/.ssh/id_rsa",
    "linked/*",
    "/etc/passwd",
    "/dev/zero",
    "pipe",
    "..",
    "a\u{0}/../../.ssh/id_rsa",
];

fn ground() -> Home {
    let home = Home::new();
    for secret in SECRETS {
        home.file(secret, format!("{{\"token\": \"{CANARY}\"}}\n"));
    }
    home.file("project/docs/a.md", "inside\n");
    home.file(".gemini/GEMINI.md", "mine\n");
    // A directory of the user's that is linked, so that what is above it is elsewhere.
    home.file("dotfiles/notes/n.md", "mine\n");
    let notes = home.path().join("dotfiles/notes");
    symlink(notes, home.path().join(".gemini/notes")).expect("a link");
    let ssh = home.path().join(".ssh");
    for (target, name) in [
        (ssh.join("id_rsa"), "link"),
        (ssh.join("id_rsa"), "link.md"),
        (ssh, "linked"),
        ("link".into(), "twice"),
    ] {
        symlink(target, home.project().join(name)).expect("a link");
    }
    mkfifo(home.project().join("pipe"));
    home
}

fn names(home: &Home) -> Vec<String> {
    let at = home.path().display().to_string();
    NAMES.iter().map(|name| name.replace("HOME", &at)).collect()
}

/// Runs the program and checks that nothing of the secrets is told.
fn told(home: &Home, args: &(impl Words + ?Sized), about: &str) -> String {
    let output = home.run(args);
    let args = args.words();
    let all = format!("{}{}", output.out, output.err);
    assert!(!all.contains(CANARY), "{about}: {args:?}: {all}");
    assert!(!all.contains("root:x:0"), "{about}: {args:?}: {all}");
    assert!(!all.contains("panicked"), "{about}: {args:?}: {all}");
    assert!((0..=2).contains(&output.code), "{about}: {args:?}: {all}");
    all
}

/// What is outside the project, apart from tome's own directories.
fn outside(home: &Home) -> Vec<(String, Vec<u8>)> {
    let own = ["project", ".local", ".cache", ".config"];
    let mut all = Vec::new();
    for entry in fs::read_dir(home.path()).expect("readable").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !own.contains(&name.as_str()) {
            let inner = tree(&entry.path()).into_iter();
            all.extend(inner.map(|(path, bytes)| (format!("{name}/{path}"), bytes)));
            all.push((name, fs::read(entry.path()).unwrap_or_default()));
        }
    }
    all.sort();
    all
}

#[test]
fn names_in_settings_and_instructions_lead_to_no_other_file() {
    for place in [
        "project/.gemini/settings.json",
        ".gemini/extensions/x/gemini-extension.json",
        "project/opencode.json",
        "project/.opencode/opencode.jsonc",
        "project/opencode.jsonc",
        "project/.codex/config.toml",
        "project/GEMINI.md",
        "project/CLAUDE.md",
        "project/CLAUDE.local.md",
        "project/AGENTS.md",
        "project/.claude/rules/r.md",
        "project/.github/copilot-instructions.md",
        "project/.github/instructions/r.instructions.md",
        "project/.memory/MEMORY.md",
        "project/.memory/a.md",
    ] {
        let home = ground();
        // Of projects that the user trusts, Codex reads the settings.
        let trusted = json!(home.project().display().to_string());
        home.file(
            ".codex/config.toml",
            format!("[projects.{trusted}]\ntrust_level = \"trusted\"\n"),
        );
        let names = names(&home);
        let mentioned: String = names
            .iter()
            .map(|name| format!("- see @{name} and [{name}](<{name}>)\n"))
            .collect();
        let text = match place.rsplit_once('.').map(|(_, ending)| ending) {
            Some("md") => format!(
                "---\nname: a\ndescription: d\ntype: project\nfiles: {0}\nsource: {0}\n---\n\n\
                 # All\n\n{mentioned}",
                json!(names)
            ),
            Some("toml") => format!("project_doc_fallback_filenames = {}\n", json!(names)),
            _ => json!({
                "context": { "fileName": names }, "contextFileName": names, "instructions": names,
            })
            .to_string(),
        };
        home.file(place, text);
        let before = outside(&home);
        let mut all = String::new();
        for agent in ["claude-code", "codex", "gemini", "opencode", "copilot"] {
            all += &told(&home, &["context", "--agent", agent, "--json"], place);
        }
        for verb in [
            "curate --json",
            "view",
            "list",
            "doctor",
            "context",
            "recall token --json",
            "find token",
            "curate --fix",
            "index",
        ] {
            told(&home, verb, place);
        }
        let event = json!({
            "session_id": "s", "cwd": home.project(), "hook_event_name": "SessionStart",
            "source": "startup",
        });
        let hook = home.run_with_input("hook claude-code", event.to_string());
        assert!(!hook.out.contains(CANARY), "{place}: {hook:?}");
        assert!(
            outside(&home) == before,
            "{place}: something outside changed"
        );
        if place.contains("settings") || place.contains("opencode") || place.contains("extension") {
            assert!(
                all.contains("not shown: "),
                "{place}: nothing is told: {all}"
            );
        }
    }
}

#[test]
fn a_project_cannot_choose_where_memories_are() {
    let home = ground();
    let before = outside(&home);
    for name in names(&home) {
        let settings = json!({ "autoMemoryDirectory": name }).to_string();
        for file in ["settings.json", "settings.local.json"] {
            home.file(&format!("project/.claude/{file}"), &settings);
            told(&home, "list --json", &name);
            told(&home, "context --agent claude-code --json", &name);
            told(&home, "write x.md --type user --content x", &name);
            fs::remove_file(home.project().join(".claude").join(file)).expect("removed");
        }
    }
    assert!(outside(&home) == before, "something outside changed");
}

#[test]
fn names_in_logs_and_payloads_lead_to_no_other_file() {
    let home = ground();
    home.memory("MEMORY.md", "# Mine\n\n- [a](a.md) — a\n");
    home.memory("a.md", "---\nname: a\n---\n\nA.\n");
    let names = names(&home);
    for (number, name) in names.iter().enumerate() {
        let record = |role: &str, content: Value| {
            json!({ "type": role, "uuid": format!("u{number}{role}"), "sessionId": name, "cwd": name,
                "timestamp": format!("2026-01-02T10:{number:02}:00Z"), "gitBranch": name,
                "message": { "role": role, "content": content } })
        };
        let calls = ["Read", "Write", "Edit", "NotebookEdit"].map(|tool| {
            json!({ "type": "tool_use", "id": tool, "name": tool, "input": { "file_path": name,
                "notebook_path": name, "content": "x", "old_string": "token", "new_string": "x" } })
        });
        let lines = [
            record("user", json!(format!("please see @{name}"))),
            record("assistant", json!(calls)),
            record("assistant", json!(format!("Done: {name} is written."))),
        ];
        let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
        home.file(
            &format!(".claude/projects/-p{number}/s{number}.jsonl"),
            lines,
        );
    }
    let before = outside(&home);
    for args in [
        "logs --all --json",
        "toc --all --json --level segment",
        "stats --all --json",
        "events --all --json",
        "recall token --all --json",
        "find token --all",
        "why a.md --json",
        "review --json",
        "ledger --json",
        "rehome --json",
        "curate --json",
        "doctor",
    ] {
        told(&home, args, "logs");
    }
    for (number, name) in names.iter().enumerate() {
        let id = format!("s{number}");
        for verb in ["log", "resume", "keep"] {
            told(&home, &[verb, &id], name);
        }
    }
    for name in &names {
        for event in ["SessionStart", "UserPromptSubmit", "PostToolUse", "Stop"] {
            for (agent, cwd) in [("claude-code", name.clone()), ("copilot", String::new())] {
                let cwd = if cwd.is_empty() {
                    json!(home.project())
                } else {
                    json!(cwd)
                };
                let payload = json!({ "session_id": name, "cwd": cwd, "hook_event_name": event,
                    "transcript_path": name, "prompt": name, "source": "startup",
                    "tool_name": "Write", "tool_input": { "file_path": name, "content": "x" },
                    "tool_response": "ok" });
                let output = home.run_with_input(&["hook", agent], payload.to_string());
                let all = format!("{}{}", output.out, output.err);
                assert!(!all.contains(CANARY), "{agent} {event} {name}: {all}");
                assert!(!all.contains("panicked"), "{agent} {event} {name}: {all}");
                assert_eq!(output.code, 0, "{agent} {event} {name}: {all}");
            }
        }
    }
    assert!(outside(&home) == before, "something outside changed");
}

#[test]
fn names_of_memories_lead_to_no_other_file() {
    let home = ground();
    home.memory("MEMORY.md", "# Mine\n\n- [a](a.md) — a\n");
    home.memory("a.md", "---\nname: a\n---\n\nA.\n");
    symlink(
        home.path().join(".ssh/id_rsa"),
        home.project().join(".memory/link"),
    )
    .expect("a link");
    symlink(
        home.path().join(".ssh"),
        home.project().join(".memory/linked"),
    )
    .expect("a link");
    let before = outside(&home);
    let names = names(&home);
    for name in names.iter().filter(|name| !name.contains('\u{0}')) {
        told(&home, &["read", name], "read");
        told(&home, &["append", name, "--content", "x"], "append");
    }
    let mut client = Client::start(&home, "");
    let mut ask = |method: &str, params: Value| {
        let answer = client.ask(method, params);
        lacks(answer.to_string(), [CANARY, "root:x:0"]);
        answer
    };
    let listed = ask("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().expect("tools");
    assert!(tools.len() > 10, "{listed}");
    for (number, name) in names.iter().enumerate() {
        for tool in tools {
            let schema = &tool["inputSchema"];
            let properties = schema["properties"].as_object().expect("properties");
            let texts = properties.iter().filter(|(_, of)| of["type"] == "string");
            let texts: Vec<&String> = texts.map(|(property, _)| property).collect();
            let whole = texts.iter().map(|text| ((*text).clone(), json!(name)));
            let mut all: Vec<Value> = vec![whole.collect()];
            // And as each of them beside a real memory; for a few, because each call takes a while.
            for text in texts.iter().filter(|_| number % 9 == 0) {
                let mut one = json!({ "path": "a.md", "filename": "a.md", "content": "x" });
                one[text.as_str()] = json!(name);
                all.push(one);
            }
            for arguments in all {
                let call = json!({ "name": tool["name"], "arguments": arguments });
                ask("tools/call", call);
            }
        }
        ask(
            "resources/read",
            json!({ "uri": format!("tome://.memory/{name}") }),
        );
    }
    assert!(outside(&home) == before, "something outside changed");
}

#[test]
fn names_that_say_where_a_project_belongs_lead_nowhere_else() {
    let home = ground();
    home.memory("a.md", "---\nname: a\n---\n\nA.\n");
    fs::remove_dir_all(home.project().join(".git")).expect("removed");
    let before = outside(&home);
    for name in names(&home) {
        home.file("project/.git", format!("gitdir: {name}\n"));
        for verb in ["list --json", "stores --json", "curate"] {
            told(&home, verb, &name);
        }
    }
    assert!(outside(&home) == before, "something outside changed");
    fs::remove_file(home.project().join(".git")).expect("removed");
    for name in names(&home) {
        let known = json!({ "projects": { home.project().display().to_string(): name } });
        home.file(".gemini/projects.json", known.to_string());
        let before = outside(&home);
        let context = "context --agent gemini --json";
        for verb in ["list --json", "review --json", context] {
            told(&home, verb, &name);
        }
        told(&home, "write x.md --store gemini --content x", &name);
        assert!(
            outside(&home) == before,
            "{name}: something outside changed"
        );
    }
}

/// The names are the person's own, on the command line, in tome's settings or in those of an agent in
/// their home.
const PERSON: &str = "the person";

/// The names are in what tome wrote itself.
const TOME: &str = "tome";

/// The files that open what a name leads to, or decide about it, by whose names these are: a test here
/// or in `sync/hostile.rs` tries all of [`NAMES`] where somebody else chose them.
const READERS: [(&str, &[&str]); 9] = [
    (
        PERSON,
        &[
            "cli/doctor/memory.rs",
            "cli/select.rs",
            "cli/sync.rs",
            "cli/ui.rs",
            "core/memory/discover/agents.rs",
            "tui/worker/library.rs",
        ],
    ),
    (
        "names_in_logs_and_payloads_lead_to_no_other_file",
        &["cli/rehome.rs", "core/log/location.rs"],
    ),
    (
        TOME,
        &[
            "core/change/events.rs",
            "core/change/in_progress.rs",
            "core/change/undo.rs",
            "core/insight/review/state.rs",
            "core/insight/sync/chosen.rs",
            "core/memory/discover/first.rs",
            "tui/worker/context.rs",
            "tui/worker/plan.rs",
            "tui/worker/why.rs",
        ],
    ),
    (
        "names_in_settings_and_instructions_lead_to_no_other_file",
        &[
            "core/insight/context.rs",
            "core/insight/context/copilot.rs",
            "core/insight/context/gemini.rs",
            "core/memory/discover/instruction.rs",
        ],
    ),
    (
        "names_of_memories_lead_to_no_other_file",
        &[
            "core/insight/curate/git.rs",
            "core/insight/curate/git/removed.rs",
            "core/log/session.rs",
            "core/memory/store.rs",
        ],
    ),
    (
        "patches_that_an_agent_proposes_lead_to_no_other_file",
        &[
            "core/insight/review/proposal.rs",
            "core/insight/review/proposal/part.rs",
        ],
    ),
    (
        "names_that_say_where_a_project_belongs_lead_nowhere_else",
        &["core/memory/discover.rs", "core/memory/discover/project.rs"],
    ),
    (
        "a_project_cannot_choose_where_memories_are",
        &["core/memory/discover/claude.rs"],
    ),
    (
        "a_plugin_is_written_into_its_folder_only_and_replaces_nothing_of_others",
        &["setup.rs"],
    ),
];

#[test]
fn every_reader_of_names_is_listed_with_the_test_that_tries_them() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let opens = [
        "Boundary::",
        "Boundary,",
        "project_border(",
        "Root::open(",
        "Store::open(",
    ];
    let all = tree(&src).into_iter().filter(|(path, _)| {
        let is_test = path.contains("tests") || path.ends_with("fixture.rs");
        path.ends_with(".rs") && !is_test && path != "core/disk/trust.rs"
    });
    let found: Vec<String> = all
        .filter(|(_, text)| {
            let text = String::from_utf8_lossy(text);
            let shipped = text.split("#[cfg(test)]").next().unwrap_or_default();
            let code = shipped
                .lines()
                .filter(|line| !line.trim_start().starts_with("//"));
            let mut code = code.filter(|line| !line.trim_start().starts_with("use "));
            code.any(|line| {
                let line = line.replace("UnsavedStore", "");
                opens.iter().any(|word| line.contains(word))
            })
        })
        .map(|(path, _)| path)
        .collect();
    let mut listed: Vec<&str> = READERS.iter().flat_map(|row| row.1).copied().collect();
    listed.sort_unstable();
    assert_eq!(
        found, listed,
        "a reader of names without a row, or a row too many"
    );
    let here = include_str!("names.rs");
    for (test, paths) in READERS {
        let is_known = [PERSON, TOME].contains(&test) || here.contains(&format!("fn {test}()"));
        assert!(is_known, "{paths:?}: no test is called {test}");
    }
}

#[test]
fn patches_that_an_agent_proposes_lead_to_no_other_file() {
    let home = ground();
    let known = json!({ "projects": { home.project().display().to_string(): "shop" } });
    home.file(".gemini/projects.json", known.to_string());
    home.file(".gemini/tmp/shop/memory/MEMORY.md", "# Memory\n");
    let names = names(&home);
    for (number, name) in names.iter().enumerate() {
        for kind in ["private", "global"] {
            let at = format!(".gemini/tmp/shop/memory/.inbox/{kind}/{number}.patch");
            let token = format!("-{{\"token\": \"{}\"}}\n+x\n", "?");
            home.file(
                &at,
                format!("--- {name}\n+++ {name}\n@@ -1,1 +1,1 @@\n{token}"),
            );
        }
    }
    let before = outside(&home);
    told(&home, "review --json", "review");
    told(&home, "review --accept all", "accept");
    let is_secret = |(path, _): &&(String, Vec<u8>)| SECRETS.contains(&path.as_str());
    let after = outside(&home);
    let secrets = |all: &[(String, Vec<u8>)]| -> Vec<(String, Vec<u8>)> {
        all.iter().filter(is_secret).cloned().collect()
    };
    assert_eq!(secrets(&after), secrets(&before));
}

#[test]
fn a_plugin_is_written_into_its_folder_only_and_replaces_nothing_of_others() {
    let home = ground();
    let plugin = || home.run("setup claude-code --plugin plug --yes");
    for (link, target) in [
        ("plug/.mcp.json", ".ssh/id_rsa"),
        ("plug/.mcp.json", "x.json"),
        ("plug/hooks", ".ssh"),
        ("plug/skills/recall", "new"),
        ("plug/guides", "other"),
    ] {
        drop(fs::remove_dir_all(home.project().join("plug")));
        let at = home.project().join(link);
        fs::create_dir_all(at.parent().expect("a parent")).expect("folders");
        symlink(home.path().join(target), &at).expect("a link");
        let before = outside(&home);
        let output = plugin();
        assert_eq!(output.code, 2, "{link}: {output:?}");
        has(&output.err, ["outside the plugin"]);
        assert!(!format!("{output:?}").contains(CANARY), "{output:?}");
        assert!(
            outside(&home) == before,
            "{link}: something outside changed"
        );
        let made = tree(&home.project().join("plug"));
        let of_ours = made.keys().filter(|path| path.contains("plugin.json"));
        assert_eq!(of_ours.count(), 0, "{link}: half of it is there: {made:?}");
    }
    drop(fs::remove_dir_all(home.project().join("plug")));
    home.file("project/plug/hooks/hooks.json", "{\"mine\": 1}\n");
    let output = plugin();
    assert_eq!(output.code, 2, "{output:?}");
    has(&output.err, ["tome did not write"]);
    assert_eq!(
        home.read("project/plug/hooks/hooks.json"),
        "{\"mine\": 1}\n"
    );
    drop(fs::remove_dir_all(home.project().join("plug")));
    assert_eq!(plugin().code, 0);
    // What tome wrote itself is brought up to date.
    assert_eq!(plugin().code, 0);
    // A folder that takes nothing: what was written before is taken back.
    drop(fs::remove_dir_all(home.project().join("plug")));
    home.file("project/plug/skills", "a file in the way\n");
    let output = plugin();
    assert_eq!(output.code, 2, "{output:?}");
    let left: Vec<String> = tree(&home.project().join("plug")).into_keys().collect();
    assert_eq!(left, ["skills"]);
}
