//! Setup and removal: tome is added to an agent's settings, and removal restores the exact bytes.

use std::fs;

use proptest::prelude::*;
use serde_json::Value;
use tome::core::log::Agent;
use tome::setup::{Actions, SettingsDirs, SetupMode, SetupRequest, SetupScope, carry_out, plan};

use crate::support::{Home, ends, has, json_of, lacks, starts, tree};

const AGENTS: [&str; 5] = ["claude-code", "codex", "gemini", "opencode", "copilot"];

/// Realistic settings.
const SETTINGS: [&str; 7] = [
    "",
    "{}",
    "{\n  // mine\n  \"model\": \"opus\", /* why */\n  \"hooks\": {\n    \"Stop\": [\n      { \"hooks\": [{ \"type\": \"command\", \"command\": \"say done\" }] } // other\n    ],\n  },\n}\n",
    "{\"mcpServers\":{\"other\":{\"command\":\"x\"}},\"hooks\":{}}",
    "{\r\n\t\"mcpServers\": {\r\n\t\t\"other\": { \"command\": \"x\" }\r\n\t}\r\n}",
    "{\n    \"mcp\": {},\n    \"hooks\": { \"SessionStart\": [], \"PostToolUse\": [ {\"matcher\":\"Bash\",\"hooks\":[{\"type\":\"command\",\"command\":\"x hook claude-code\"}]} ] }\n}\n\n\n",
    "\u{feff}{ \"a\" : [ 1 , 2 ] , \"b\" : { } }   ",
];

fn files(agent: &str) -> &'static [&'static str] {
    match agent {
        "claude-code" => &[".claude/settings.json"],
        "codex" => &[".codex/hooks.json", ".codex/config.toml"],
        "gemini" => &[".gemini/settings.json"],
        "opencode" => &[".config/opencode/opencode.json"],
        _ => &[".copilot/mcp-config.json"],
    }
}

#[test]
fn in_again_and_out_gives_back_the_very_bytes() {
    for agent in AGENTS {
        for settings in SETTINGS.iter().map(Some).chain([None]) {
            let home = Home::new();
            for file in files(agent).iter().filter(|_| settings.is_some()) {
                let toml = "# mine\nmodel = 'x'   # why\n\n[mcp_servers.other]\ncommand = \"y\"";
                let text = if file.ends_with(".toml") {
                    toml
                } else {
                    settings.expect("some")
                };
                home.file(file, text);
            }
            let before = tree(&home.path());
            home.ok(&["setup", agent]);
            let put = tree(&home.path());
            assert_ne!(put, before);
            // What is done before actions is registered with its flags, and goes without them.
            home.ok(&["setup", agent, "--confirm-writes", "--guards"]);
            let more = tree(&home.path());
            assert_ne!(more, put, "{agent}");
            home.ok(&["setup", agent]);
            let mut less = tree(&home.path());
            less.retain(|name, _| put.contains_key(name) && !name.starts_with(".local"));
            let mut put = put;
            put.retain(|name, _| !name.starts_with(".local"));
            assert_eq!(less, put, "{agent} {settings:?}");
            let put = tree(&home.path());
            let again = home.run(&["setup", agent]);
            // Claude Code's own command is not there to be run.
            let diff = again.out.lines().find(|line| !line.starts_with("$ claude"));
            assert_eq!((again.code, diff), (0, None), "{agent} {settings:?}");
            assert!(
                again.err.contains("already") || again.err.contains("as it should be"),
                "{again:?}"
            );
            assert_eq!(tree(&home.path()), put, "{agent} {settings:?}");
            home.ok(&["setup", agent, "--remove"]);
            let mut after = tree(&home.path());
            after.retain(|name, _| !name.starts_with(".local"));
            let mut start = before;
            start.retain(|name, _| !name.starts_with(".local"));
            assert_eq!(after, start, "{agent} {settings:?}");
        }
    }
}

#[test]
fn a_file_that_tome_did_not_write_is_refused() {
    let home = Home::new();
    for (agent, file) in [
        ("copilot", ".copilot/hooks/tome.json"),
        ("opencode", ".config/opencode/plugins/tome.js"),
    ] {
        let theirs = r#"{"version": 1, "hooks": {"agentStop": [{"bash": "say done"}]}}"#;
        home.file(file, theirs);
        let before = tree(&home.path());
        for more in ["", "--remove"] {
            has(
                home.fails(&format!("setup {agent} {more}")),
                ["tome did not write this file; move it away"],
            );
        }
        assert_eq!(tree(&home.path()), before);
        // What tome wrote is tome's, even if nothing is known of it any more.
        fs::remove_file(home.path().join(file)).expect("removed");
        home.ok(&["setup", agent]);
        drop(fs::remove_dir_all(
            home.path().join(".local/share/tome/setup"),
        ));
        home.ok(&["setup", agent, "--remove"]);
        assert!(!home.path().join(file).exists());
    }
}

#[test]
fn a_server_of_the_same_name_is_refused() {
    let home = Home::new();
    let theirs = "{\"mcpServers\": {\"tome\": {\"command\": \"books\", \"args\": [\"mcp\"]}}}";
    home.file(".gemini/settings.json", theirs);
    has(home.fails("setup gemini"), ["does not start tome"]);
    home.ok("setup gemini --remove");
    assert_eq!(home.read(".gemini/settings.json"), theirs);
}

#[test]
fn the_variables_of_agents_are_followed_and_claude_is_a_name() {
    let home = Home::new();
    let elsewhere = home.path().join("elsewhere").display().to_string();
    for (variable, agent, file) in [
        ("GEMINI_CLI_HOME", "gemini", ".gemini/settings.json"),
        ("CODEX_HOME", "codex", "hooks.json"),
        ("CLAUDE_CONFIG_DIR", "claude", "settings.json"),
        ("COPILOT_HOME", "copilot", "hooks/tome.json"),
        ("XDG_CONFIG_HOME", "opencode", "opencode/plugins/tome.js"),
    ] {
        let output = home.run_with([(variable, &elsewhere)], &["setup", agent]);
        assert_eq!(output.code, 0, "{output:?}");
        let file = home.path().join("elsewhere").join(file);
        assert!(file.exists(), "{}", file.display());
        let output = home.run_with([(variable, &elsewhere)], &["setup", agent, "--remove"]);
        assert_eq!(output.code, 0, "{output:?}");
        assert!(!file.exists(), "{}", file.display());
    }
}

#[test]
fn flags_that_do_nothing_are_refused() {
    let home = Home::new();
    for (flags, said) in [
        ("codex --all", "do nothing here"),
        ("codex --store ./x", "do nothing here"),
        ("codex --plugin x", "--plugin is for claude-code"),
        ("claude --plugin x --project", "cannot be used"),
        ("codex --remove --guards", "cannot be used"),
        ("codex --remove --confirm-writes", "cannot be used"),
        ("codex --dry-run --yes", "cannot be used"),
    ] {
        let before = tree(&home.path());
        has(home.fails(&format!("setup {flags}")), [said]);
        assert_eq!(tree(&home.path()), before, "{flags:?}");
    }
}

#[test]
fn a_diff_that_is_piped_has_the_ends_of_lines_as_they_are() {
    let home = Home::new();
    home.file(
        ".gemini/settings.json",
        "{\r\n  \"a\": \"x\u{2028}y\"\r\n}\r\n",
    );
    let shown = home.ok("setup gemini --dry-run");
    has(
        &shown,
        [
            "-  \"a\": \"x\u{2028}y\"\r\n",
            "+  \"a\": \"x\u{2028}y\",\r\n",
        ],
    );
}

/// Claude Code's own command registers the server, and removes it.
#[test]
fn claude_codes_server_comes_and_goes_by_its_own_command() {
    let home = Home::new();
    let script = "#!/bin/sh\necho \"$@\" >> \"$HOME/called\"\n";
    home.script("bin/claude", script);
    let path = format!("{}:/usr/bin:/bin", home.path().join("bin").display());
    let run = |args: &str| {
        let output = home.run_with([("PATH", &path)], args);
        assert_eq!(output.code, 0, "{output:?}");
        home.read("called")
    };
    let called = run("setup claude");
    starts(&called, "mcp add --scope user tome -- ");
    let state = "{\"mcpServers\": {\"tome\": {\"command\": \"tome\", \"args\": [\"mcp\"]}}}";
    home.file(".claude.json", state);
    assert_eq!(run("setup claude"), called, "it is there already");
    let called = run("setup claude --remove");
    ends(&called, "mcp remove --scope user tome\n");
    assert_eq!(home.read(".claude.json"), state, "never written");
}

#[test]
fn a_command_of_the_project_is_not_taken_for_the_agents() {
    let home = Home::new();
    for name in ["claude", "git", "hostname", "sub/claude"] {
        let script = "#!/bin/sh\ntouch \"$HOME/was-run\"\n";
        home.script(&format!("project/{name}"), script);
    }
    let project = home.project().display().to_string();
    for first in ["", ".", "sub", &project, &format!("{project}/sub")] {
        let path = format!("{first}:/usr/bin:/bin");
        for args in ["setup claude", "curate", "sync", "doctor"] {
            assert!(home.run_with([("PATH", &path)], args).code >= 0, "{args}");
            assert!(!home.path().join("was-run").exists(), "{path}: {args:?}");
        }
    }
}

#[test]
fn an_agents_own_command_that_does_not_end_is_left_to_the_user() {
    let home = Home::new();
    home.script("bin/claude", "#!/bin/sh\nexec sleep 600\n");
    let path = format!("{}:/usr/bin:/bin", home.path().join("bin").display());
    let since = std::time::Instant::now();
    let err = home.run_with([("PATH", &path)], "setup claude").err;
    has(&err, ["run it yourself: claude mcp add"]);
    assert!(since.elapsed().as_secs() < 30, "{:?}", since.elapsed());
}

#[test]
fn what_the_user_added_to_the_server_stays() {
    let bare = |text: &str| text.replace(' ', "");
    for (agent, file, env) in [
        ("gemini", ".gemini/settings.json", r#""env": {"A": "b"}, "#),
        (
            "opencode",
            ".config/opencode/opencode.json",
            r#""environment": {"A": "b"}, "#,
        ),
        (
            "copilot",
            ".copilot/mcp-config.json",
            r#""env": {"A": "b"}, "#,
        ),
        ("codex", ".codex/config.toml", "env = { A = \"b\" }\n"),
    ] {
        let home = Home::new();
        home.ok(&["setup", agent]);
        let put = home.read(file);
        // The program was elsewhere, and the user added variables.
        let key = if agent == "codex" {
            "command = "
        } else {
            "\"command\":"
        };
        let place = put.find(key).expect("a command");
        let (before, after) = put.split_at(place);
        let own = env!("CARGO_BIN_EXE_tome");
        let edited = format!("{before}{env}{}", after.replacen(own, "/elsewhere/tome", 1));
        home.file(file, &edited);
        home.ok(&["setup", agent]);
        assert_eq!(
            bare(&home.read(file)),
            bare(&format!("{before}{env}{after}")),
            "{agent}"
        );
        home.ok(&["setup", agent]);
        assert_eq!(
            bare(&home.read(file)),
            bare(&format!("{before}{env}{after}")),
            "{agent}"
        );
    }
}

#[test]
fn others_edits_in_between_are_kept_when_tome_is_taken_out() {
    let home = Home::new();
    let text = "{\n  \"model\": \"opus\", // mine\n  \"hooks\": {\n    \"Stop\": [\n      {\n        \"hooks\": [\n          { \"type\": \"command\", \"command\": \"say done\" }\n        ]\n      }\n    ]\n  }\n}\n";
    home.file(".claude/settings.json", text);
    home.ok("setup claude-code");
    let put = home.read(".claude/settings.json");
    home.file(".claude/settings.json", put.replace("opus", "sonnet"));
    home.ok("setup claude-code --remove");
    assert_eq!(
        home.read(".claude/settings.json"),
        text.replace("opus", "sonnet")
    );
}

#[test]
fn what_is_registered_is_what_the_agent_reads() {
    let home = Home::new();
    home.file(".claude/settings.json", "{}");
    let dry = home.ok("setup claude-code --dry-run");
    has(&dry, ["+  \"hooks\": {"]);
    assert_eq!(home.read(".claude/settings.json"), "{}");
    let output = home.run("setup claude-code");
    has(
        &output.out,
        ["+  \"hooks\": {", "$ claude mcp add --scope user tome -- "],
    );
    let settings = json_of(&home.read(".claude/settings.json"));
    let hooks = settings["hooks"].as_object().expect("hooks");
    assert_eq!(hooks.len(), 8);
    for groups in hooks.values() {
        let command = groups[0]["hooks"][0]["command"]
            .as_str()
            .expect("a command");
        has(command, ["hook claude-code"]);
    }
    assert!(!home.path().join(".claude.json").exists());
    home.ok("setup claude-code --project");
    let servers = json_of(&home.read("project/.mcp.json"));
    assert_eq!(
        servers["mcpServers"]["tome"]["args"],
        serde_json::json!(["mcp"])
    );
    has(home.read("project/.claude/settings.json"), ["SessionStart"]);
    home.ok("setup codex");
    has(home.read(".codex/config.toml"), ["[mcp_servers.tome]"]);
    has(home.read(".codex/hooks.json"), ["hook codex"]);
    home.ok("setup copilot");
    has(
        home.read(".copilot/hooks/tome.json"),
        ["hook copilot --event postToolUse"],
    );
    home.ok("setup opencode");
    has(
        home.read(".config/opencode/plugins/tome.js"),
        ["\"hook\", \"opencode\""],
    );
}

#[test]
fn copilot_has_its_server_in_a_project_too() {
    let home = Home::new();
    let before = tree(&home.project());
    home.ok("setup copilot --project");
    let servers = json_of(&home.read("project/.github/mcp.json"));
    let server = &servers["mcpServers"]["tome"];
    assert_eq!(server["args"], serde_json::json!(["mcp"]));
    assert_eq!(server["tools"], serde_json::json!(["*"]));
    assert!(home.project().join(".github/hooks/tome.json").exists());
    home.ok("setup copilot --project --remove");
    assert_eq!(tree(&home.project()), before);
}

#[test]
fn no_agent_waits_long_for_a_hook() {
    let home = Home::new();
    for (agent, file, limit) in [
        ("claude-code", ".claude/settings.json", "\"timeout\": 2"),
        ("codex", ".codex/hooks.json", "\"timeout\": 2"),
        ("gemini", ".gemini/settings.json", "\"timeout\": 2000"),
        ("copilot", ".copilot/hooks/tome.json", "\"timeoutSec\": 2"),
        (
            "opencode",
            ".config/opencode/plugins/tome.js",
            "LIMIT = 2000",
        ),
    ] {
        home.ok(&["setup", agent]);
        assert!(
            home.read(file).contains(limit),
            "{agent}: {}",
            home.read(file)
        );
    }
    // A registration with another limit or of another place is brought up to date.
    let old = home
        .read(".codex/hooks.json")
        .replace("\"timeout\": 2", "\"timeout\": 5");
    home.file(".codex/hooks.json", &old);
    home.ok("setup codex");
    lacks(home.read(".codex/hooks.json"), ["\"timeout\": 5"]);
}

#[test]
fn a_link_to_settings_that_do_not_exist_yet_stays_a_link() {
    let home = Home::new();
    fs::create_dir_all(home.path().join(".claude")).expect("a folder");
    let link = home.path().join(".claude/settings.json");
    std::os::unix::fs::symlink("../dotfiles/claude/settings.json", &link).expect("a link");
    home.ok("setup claude-code");
    assert!(link.is_symlink());
    has(home.read("dotfiles/claude/settings.json"), ["SessionStart"]);
    home.ok("setup claude-code --remove");
    assert!(link.is_symlink());
    assert!(
        !home.path().join("dotfiles").exists(),
        "what was made is taken away"
    );
}

fn settings_dirs(home: &Home) -> SettingsDirs {
    let folder = |name: &str| home.path().join(name);
    SettingsDirs {
        claude: folder(".claude"),
        claude_state: folder(".claude.json"),
        codex: folder(".codex"),
        gemini: folder(".gemini"),
        copilot: folder(".copilot"),
        opencode: folder(".config/opencode"),
        project: home.project(),
        memory: folder("originals"),
    }
}

#[test]
fn a_program_of_another_name_is_registered_once_and_quoted() {
    for program in ["/opt/tome-dev", "/it's a $HOME/`x`/\"tome\""] {
        let home = Home::new();
        let dirs = settings_dirs(&home);
        let request = |mode| SetupRequest {
            agent: Agent::ClaudeCode,
            scope: SetupScope::User,
            mode,
            program,
            actions: Actions::default(),
        };
        let planned = plan(&dirs, request(SetupMode::Install)).expect("planned");
        carry_out(&dirs, &planned, SetupMode::Install).expect("written");
        let again = plan(&dirs, request(SetupMode::Install)).expect("planned");
        assert_eq!(again.steps, [], "{program}: it is there already");
        let settings = json_of(&home.read(".claude/settings.json"));
        let command = settings["hooks"]["Stop"][0]["hooks"][0]["command"].as_str();
        let command = command.expect("a command");
        let called = "r=$(exec \"$0\" hook claude-code) && case $r in {*) printf %s \"$r\";; esac";
        let shown = std::process::Command::new("sh")
            .args(["-c", &command.replace(called, "printf %s \"$0\"")])
            .output()
            .expect("a shell");
        assert_eq!(String::from_utf8_lossy(&shown.stdout), program);
        // Somebody else's edit, so that the original is not simply put back.
        let edited = home
            .read(".claude/settings.json")
            .replacen('{', "{ \"a\": 1,", 1);
        home.file(".claude/settings.json", edited);
        let removed = plan(&dirs, request(SetupMode::Remove)).expect("planned");
        carry_out(&dirs, &removed, SetupMode::Remove).expect("written");
        lacks(home.read(".claude/settings.json"), ["hook claude-code"]);
    }
}

#[test]
fn a_file_that_is_no_json_is_left_as_it_is() {
    let home = Home::new();
    home.file(".claude/settings.json", "{\n  \"a\": 1\n  \"b\": 2\n}\n");
    has(
        home.fails("setup claude-code"),
        ["settings.json:2: Expected comma; the file is left as it is"],
    );
    home.fails("setup emacs");
}

#[test]
fn a_link_that_appears_after_the_plan_is_not_written_through() {
    for planted in [".claude", ".mcp.json"] {
        let home = Home::new();
        let outside = home.path().join("outside");
        fs::create_dir_all(&outside).expect("a folder");
        home.file("outside/servers.json", "");
        let dirs = settings_dirs(&home);
        home.file("project/.mcp.json", "");
        let request = SetupRequest {
            agent: Agent::ClaudeCode,
            scope: SetupScope::Project,
            mode: SetupMode::Install,
            program: "tome",
            actions: Actions::default(),
        };
        let planned = plan(&dirs, request).expect("planned");
        assert_eq!(planned.steps.len(), 2);
        let at = home.project().join(planted);
        drop(fs::remove_file(&at));
        let target = match planted {
            ".claude" => outside.clone(),
            _ => outside.join("servers.json"),
        };
        std::os::unix::fs::symlink(target, &at).expect("a link");
        let before = tree(&outside);
        let error = carry_out(&dirs, &planned, SetupMode::Install).expect_err("refused");
        has(error.to_string(), ["outside the project"]);
        assert_eq!(tree(&outside), before);
    }
}

#[test]
fn the_plugin_is_whole() {
    let home = Home::new();
    home.ok("setup claude-code --plugin ../plugin");
    for file in [
        ".claude-plugin/plugin.json",
        "hooks/hooks.json",
        ".mcp.json",
    ] {
        let text = home.read(&format!("plugin/{file}"));
        let value: Value = serde_json::from_str(&text).expect(file);
        assert!(value.is_object());
    }
    for file in ["skills/recall/SKILL.md", "skills/store/SKILL.md"] {
        starts(home.read(&format!("plugin/{file}")), "---\nname: ");
    }
    has(
        home.read("plugin/guides/memory-recall-guide.md"),
        ["Recalling"],
    );
    home.ok("setup claude-code --plugin ../plugin --remove");
    assert!(!home.path().join("plugin").exists());
}

#[test]
fn a_plugin_touches_nothing_that_is_not_its_own() {
    let home = Home::new();
    home.file("mine.json", "{}");
    home.file("plugin/hooks/hooks.json", "mine");
    let output = home.run("setup claude-code --plugin ../plugin");
    has(&output.err, ["tome did not write this file"]);
    fs::remove_file(home.path().join("plugin/hooks/hooks.json")).expect("removed");
    let link = home.path().join("plugin/.mcp.json");
    std::os::unix::fs::symlink("../mine.json", link).expect("a link");
    let output = home.run("setup claude-code --plugin ../plugin");
    assert_eq!(output.code, 2);
    assert_eq!(home.read("mine.json"), "{}");
    assert!(
        !home.path().join("plugin/skills").exists(),
        "all or nothing"
    );
}

#[test]
fn every_tool_that_the_plugin_names_exists() {
    let home = Home::new();
    home.ok("setup claude-code --plugin ../plugin");
    let mut client = crate::mcp::Client::start(&home, "");
    let known = client.names();
    for file in [
        "commands/search.md",
        "commands/recent.md",
        "commands/context.md",
        "agents/navigator.md",
        "skills/recall/SKILL.md",
        "skills/store/SKILL.md",
    ] {
        let text = home.read(&format!("plugin/{file}"));
        assert!(
            text.starts_with("---\n") && text.contains("\ndescription: "),
            "{file}"
        );
        let quoted = text.split('`').skip(1).step_by(2);
        let is_tool = |word: &&str| {
            word.contains('_') && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
        };
        let tools: Vec<&str> = quoted.filter(is_tool).collect();
        assert!(!tools.is_empty(), "{file}");
        for tool in tools {
            assert!(known.iter().any(|name| name == tool), "{file}: {tool}");
        }
    }
    let navigator = home.read("plugin/agents/navigator.md");
    let told = client.instructions();
    let tools = [
        "get_toc_root",
        "get_node",
        "browse_toc",
        "teleport_query",
        "expand_grip",
        "get_events",
    ];
    for tool in tools {
        assert!(navigator.contains(tool), "{tool}");
        assert!(told.contains(tool), "{tool}: {told}");
        assert!(known.iter().any(|name| name == tool), "{tool}");
    }
}

/// JSON with comments, blanks and trailing commas wherever they are allowed.
fn json() -> impl Strategy<Value = String> {
    let blank = prop_oneof![
        Just(""),
        Just(" "),
        Just("\n  "),
        Just(" // c\n"),
        Just("/* c */"),
        Just("\r\n\t")
    ];
    let leaf = prop_oneof![
        Just("1".to_owned()),
        Just("null".to_owned()),
        Just("\"a // b\"".to_owned()),
        Just("[]".to_owned()),
        Just("{ }".to_owned())
    ];
    let object = (
        prop::collection::vec((0..6usize, leaf, blank.clone(), blank.clone()), 0..5),
        blank,
        any::<bool>(),
    );
    object.prop_map(|(members, inner, trailing)| {
        const NAMES: [&str; 6] = ["a", "b", "mcpServers-x", "c", "hooks-x", "d"];
        let parts: Vec<String> = members
            .iter()
            .enumerate()
            .map(|(at, (name, value, before, after))| {
                format!("{before}\"{}{at}\":{after}{value}", NAMES[*name])
            })
            .collect();
        let comma = if trailing && !parts.is_empty() {
            ","
        } else {
            ""
        };
        format!("{{{}{comma}{inner}}}\n", parts.join(","))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn any_settings_come_back(settings in json()) {
        let home = Home::new();
        home.file(".gemini/settings.json", &settings);
        home.ok("setup gemini");
        let put = home.read(".gemini/settings.json");
        prop_assert!(put.contains("\"mcpServers\"") && put.contains("hook gemini"));
        home.ok("setup gemini");
        prop_assert_eq!(home.read(".gemini/settings.json"), put);
        home.ok("setup gemini --remove");
        prop_assert_eq!(home.read(".gemini/settings.json"), settings);
    }
}
