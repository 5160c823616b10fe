//! A hostile repository: links and settings in every place that tome reads in a project, pointing
//! outside the project. None of their targets may be read or written, and no run may hang.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Home, has, lacks, mkfifo, tree};

/// A word that is in every file outside the project and in none inside.
const CANARY: &str = "quetzalcanary";

/// The content of those files, with a word to search for.
const SECRET: &str = "secret quetzalcanary";

/// How long one run may take; debug builds on a busy machine are slow.
const PATIENCE: Duration = Duration::from_secs(60);

/// Places that are a file or a directory themselves.
const LEAVES: [&str; 26] = [
    ".memory",
    "memory",
    "data/memory",
    ".claude/memory",
    ".claude/agent-memory",
    ".claude/agent-memory-local",
    ".claude/CLAUDE.md",
    ".claude/settings.json",
    ".claude/settings.local.json",
    "CLAUDE.md",
    "CLAUDE.local.md",
    "AGENTS.md",
    "GEMINI.md",
    ".aider.chat.history.md",
    ".mcp.json",
    ".codex/config.toml",
    ".codex/hooks.json",
    ".gemini/settings.json",
    "opencode.json",
    "opencode.jsonc",
    ".opencode/plugins/tome.js",
    ".github/hooks/tome.json",
    "sub/.memory",
    "sub/CLAUDE.md",
    "sub/.aider.chat.history.md",
    "sub/.claude/agent-memory",
];

/// Places inside directories of the project.
const INNER: [&str; 12] = [
    ".memory/MEMORY.md",
    ".memory/note.md",
    ".memory/folder",
    "memory/messages.jsonl",
    "memory/working-memory",
    "data/memory/events.jsonl",
    "data/memory/waiting",
    ".claude/memory/facts",
    ".claude/memory/episodes",
    ".claude/agent-memory/reviewer",
    ".claude/agent-memory-local/reviewer",
    "sub/memory/semantic",
];

/// Places whose parents are links.
const PARENTS: [&str; 7] = [
    ".claude",
    ".codex",
    ".gemini",
    ".github",
    ".opencode",
    "data",
    "sub",
];

/// The targets of the links.
const TARGETS: [&str; 10] = [
    "home",
    "ssh",
    "ssh-config",
    "claude-json",
    "etc",
    "sibling",
    "zero",
    "pipe",
    "dangling",
    "sparse",
];

/// What a person does in a project; `stores`, `setup`, `hook` and `mcp` are run besides.
const VERBS: [&str; 50] = [
    "list",
    "doctor",
    "logs",
    "context",
    "view",
    "recall secret",
    "find secret",
    "recall secret --all",
    "stats",
    "history",
    "curate",
    "ledger",
    "ledger --corrections",
    "guard",
    "guard --backtest",
    "sync --status",
    "review",
    "review --count",
    "why s.md",
    "toc",
    "events --from 3000d",
    "teleport secret",
    "topics",
    "grip grip:1:1",
    "log 1",
    "resume 1",
    "keep 1",
    "promote aider:1#L1 --dry-run",
    "rehome --dry-run",
    "patch s.md --old secret --new x",
    "patch CLAUDE.md --old secret --new x",
    "rename s.md t.md",
    "merge s.md MEMORY.md --dry-run",
    "generalize p.md --from s.md --from MEMORY.md --name P --description d --content x",
    "index --check",
    "index --dry-run",
    "undo --dry-run",
    "redo --dry-run",
    "restore 1 --dry-run",
    "undo",
    "list --all",
    "stores --all",
    "stats --all",
    "write planted.md --type user --content planted",
    "append s.md --content planted",
    "append CLAUDE.md --content planted",
    "delete s.md",
    "index --rewrite",
    "read s.md",
    "read CLAUDE.md",
];

/// A home with secrets, and a project that tries to reach them.
struct Ground {
    home: Home,
    /// A pipe and a huge sparse file; not in the home, because a scan of it would never end.
    aside: tempfile::TempDir,
}

impl Ground {
    fn new() -> Self {
        let home = Home::new();
        let aside = tempfile::tempdir().expect("a temporary directory");
        for folder in ["", "Documents/", ".ssh/", "sibling/", "sibling/agent/"] {
            let typed =
                format!("---\nname: S\ndescription: {SECRET}\ntype: user\n---\n\n{SECRET}\n");
            home.file(
                &format!("{folder}MEMORY.md"),
                format!("# {SECRET}\n- [s](s.md)\n"),
            );
            home.file(&format!("{folder}s.md"), typed);
        }
        home.file(
            ".ssh/config",
            format!("# aider chat started at 2026-01-01 10:00:00\n\n#### Host {SECRET}\n"),
        );
        home.file(".claude.json", format!("{{\"token\": \"{SECRET}\"}}\n"));
        home.file("sibling/facts/user.md", format!("# {SECRET}\n"));
        home.file("sibling/events.json", format!("{{\"event_id\":\"1\",\"timestamp\":1,\"event_type\":\"user_message\",\"text\":\"{SECRET}\"}}"));
        home.file("sibling/CLAUDE.md", SECRET);
        home.file("sibling/settings.json", format!("{{\"{SECRET}\": 1}}"));
        let pipe = aside.path().join("pipe");
        mkfifo(&pipe);
        let sparse = fs::File::create(aside.path().join("sparse")).expect("a file");
        sparse.set_len(1 << 40).expect("a size");
        Self { home, aside }
    }

    fn target(&self, name: &str) -> PathBuf {
        let home = self.home.path();
        match name {
            "home" => home,
            "ssh" => home.join(".ssh"),
            "ssh-config" => home.join(".ssh/config"),
            "claude-json" => home.join(".claude.json"),
            "etc" => PathBuf::from("/etc"),
            "sibling" => home.join("sibling"),
            "zero" => PathBuf::from("/dev/zero"),
            "pipe" | "sparse" => self.aside.path().join(name),
            "dangling" => home.join("Documents/not-yet"),
            other => panic!("{other}"),
        }
    }

    /// Creates a link; an existing file stays.
    fn plant(&self, place: &str, target: &Path) {
        let at = self.home.project().join(place);
        let parent = at.parent().expect("a parent");
        fs::create_dir_all(parent).expect("folders");
        if at.symlink_metadata().is_err() {
            symlink(target, &at).expect("a link");
        }
    }

    /// Creates a file of zeros; an existing file stays.
    fn sparse(&self, place: &str, size: u64) {
        let at = self.home.project().join(place);
        let parent = at.parent().expect("a parent");
        // Some places are below others that are already files.
        if fs::create_dir_all(parent).is_ok() && at.symlink_metadata().is_err() {
            let file = fs::File::create(&at).expect("a file");
            file.set_len(size).expect("a size");
        }
    }

    /// Everything outside the project, except tome's own directories and the user's lessons, which
    /// an agent may store.
    fn outside(&self) -> Vec<(String, Vec<u8>)> {
        let own = [
            "project",
            ".local",
            ".cache",
            ".config",
            ".sonph-code-memory",
        ];
        let home = self.home.path();
        let mut all = Vec::new();
        for entry in fs::read_dir(&home).expect("readable").flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if own.contains(&name.as_str()) {
                continue;
            }
            let content = fs::read(entry.path()).unwrap_or_default();
            all.push((name.clone(), content));
            let inner = tree(&entry.path()).into_iter();
            all.extend(inner.map(|(path, bytes)| (format!("{name}/{path}"), bytes)));
        }
        all.sort();
        all
    }

    /// The program, started in the folder `sub` if it exists. More than 200 MB of memory of its own
    /// is refused, and then it ends by a signal.
    fn command(&self, args: &str) -> Command {
        let limits = "ulimit -v 4000000; ulimit -d 204800";
        let mut command = self.home.command_after(limits, args);
        let sub = self.home.project().join("sub");
        let is_ours = sub.is_dir() && !sub.is_symlink();
        command.current_dir(if is_ours { sub } else { self.home.project() });
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs the program and returns its whole output; a run that hangs fails.
    fn run(&self, args: &str, input: Option<&str>, about: &str) -> String {
        let mut command = self.command(args);
        if input.is_some() {
            command.stdin(Stdio::piped());
        }
        let mut child = command.spawn().expect("the program runs");
        if let Some(input) = input {
            let mut stdin = child.stdin.take().expect("piped");
            // The program may exit before it has read all of it.
            drop(stdin.write_all(input.as_bytes()));
        }
        let out = drained(child.stdout.take().expect("piped"));
        let err = drained(child.stderr.take().expect("piped"));
        let started = Instant::now();
        loop {
            match child.try_wait().expect("waits") {
                Some(status) => {
                    let output = format!("{}{}", joined(&out), joined(&err));
                    assert!(status.code().is_some(), "{about}: {args:?} died: {output}");
                    assert!(!output.contains("panicked"), "{about}: {args:?}: {output}");
                    assert!(!output.contains(CANARY), "{about}: {args:?}: {output}");
                    return output;
                }
                None if started.elapsed() > PATIENCE => {
                    give_up(&mut child, &format!("{about}: {args:?}"))
                }
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        }
    }

    /// Sends requests to the server as an agent does.
    fn serve(&self, about: &str) {
        let mut child = self
            .command("mcp")
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server starts");
        let mut input = child.stdin.take().expect("piped");
        let lines = lines(child.stdout.take().expect("piped"));
        let mut ask = |id: u64, method: &str, params: Value| {
            let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
            writeln!(input, "{request}").unwrap_or_else(|e| panic!("{about}: {method}: {e}"));
            match lines.recv_timeout(PATIENCE) {
                Ok(answer) => {
                    assert!(!answer.contains(CANARY), "{about}: {method}: {answer}");
                    serde_json::from_str::<Value>(&answer)
                        .unwrap_or_else(|e| panic!("{answer}: {e}"))
                }
                Err(RecvTimeoutError::Timeout) => {
                    give_up(&mut child, &format!("{about}: {method} {params}"));
                }
                Err(RecvTimeoutError::Disconnected) => panic!("{about}: {method}: the server died"),
            }
        };
        ask(
            1,
            "initialize",
            json!({
                "protocolVersion": "2025-06-18", "capabilities": {},
                "clientInfo": { "name": "test", "version": "1" },
            }),
        );
        let listed = ask(2, "tools/list", json!({}));
        let tools = listed["result"]["tools"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        ask(3, "resources/list", json!({}));
        for (at, tool) in tools.iter().enumerate() {
            let name = tool["name"].as_str().expect("a name");
            let arguments = json!({
                "query": "secret", "path": "s.md", "filename": "s.md", "target": "files",
                "command": "view", "name": "N", "description": "D", "memory_type": "user",
                "content": "planted", "entry": "planted", "from": "0", "to": "9",
                "type": "semantic", "title": "planted",
            });
            let id = 10 + at as u64;
            ask(
                id,
                "tools/call",
                json!({ "name": name, "arguments": arguments }),
            );
        }
        drop(input);
        child.wait().expect("the server ends");
    }

    /// Runs everything that a user or an agent does in a project.
    fn attack(&self, about: &str) {
        let before = self.outside();
        let stores = self.run("stores", None, about);
        for verb in VERBS {
            self.run(verb, None, about);
        }
        for agent in ["claude-code", "codex", "gemini", "opencode", "copilot"] {
            self.run(&format!("context --agent {agent}"), None, about);
            self.run(&format!("setup {agent} --project --yes"), None, about);
        }
        let cwd = self.home.project();
        for event in ["SessionStart", "UserPromptSubmit"] {
            let document = json!({
                "session_id": "s", "cwd": cwd, "hook_event_name": event, "prompt": "hello",
                "source": "startup",
            });
            self.run("hook claude-code", Some(&document.to_string()), about);
        }
        self.serve(about);
        let after = self.outside();
        let changed: Vec<&String> = after
            .iter()
            .chain(&before)
            .filter(|file| !(after.contains(file) && before.contains(file)))
            .map(|(path, _)| path)
            .collect();
        assert!(changed.is_empty(), "{about}: {changed:?}; {stores}");
    }
}

fn drained(mut from: impl std::io::Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (send, receive) = channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // Keep what was read, even after an error.
        drop(from.read_to_end(&mut bytes));
        drop(send.send(bytes));
    });
    receive
}

fn joined(from: &Receiver<Vec<u8>>) -> String {
    let bytes = from.recv_timeout(PATIENCE).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn lines(from: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (send, receive) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                return;
            }
        }
    });
    receive
}

fn give_up(child: &mut Child, about: &str) -> ! {
    drop(child.kill());
    drop(child.wait());
    panic!("hangs: {about}");
}

#[test]
fn links_in_every_place_lead_nowhere() {
    for target in TARGETS {
        let ground = Ground::new();
        for place in LEAVES {
            ground.plant(place, &ground.target(target));
        }
        ground.attack(&format!("leaves to {target}"));
    }
}

#[test]
fn links_inside_stores_lead_nowhere() {
    for target in TARGETS {
        let ground = Ground::new();
        for place in INNER {
            ground.plant(place, &ground.target(target));
        }
        ground.attack(&format!("inner to {target}"));
    }
}

#[test]
fn linked_parents_lead_nowhere() {
    for target in TARGETS {
        let ground = Ground::new();
        for place in PARENTS {
            ground.plant(place, &ground.target(target));
        }
        ground.attack(&format!("parents to {target}"));
    }
}

#[test]
fn links_to_themselves_lead_nowhere() {
    for places in [&LEAVES[..], &INNER, &PARENTS] {
        let ground = Ground::new();
        for place in places {
            let name = Path::new(place).file_name().expect("a name");
            ground.plant(place, Path::new(name));
        }
        ground.attack("loops");
    }
}

#[test]
fn pipes_and_endless_files_in_every_place_hold_nobody_up() {
    let files = LEAVES
        .iter()
        .chain(&INNER)
        .filter(|place| Path::new(place).extension().is_some() || place.ends_with(".memory"));
    let ground = Ground::new();
    for place in files.clone() {
        let at = ground.home.project().join(place);
        let parent = at.parent().expect("a parent");
        // Some places are below others that are already pipes.
        if fs::create_dir_all(parent).is_ok() && at.symlink_metadata().is_err() {
            mkfifo(&at);
        }
    }
    ground.attack("pipes");
    let ground = Ground::new();
    for place in files.clone() {
        ground.sparse(place, 1 << 40);
    }
    ground.attack("sparse");
    let ground = Ground::new();
    for place in files.filter(|place| is_log(place)) {
        ground.sparse(place, 64 << 20);
    }
    ground.attack("sparse logs");
}

/// Whether a place is a log of the project itself, which is read up to a larger size than others.
fn is_log(place: &str) -> bool {
    place.ends_with(".jsonl") || place.ends_with(".aider.chat.history.md")
}

#[test]
fn every_verb_is_run() {
    let home = Home::new();
    let help = home.ok("--help");
    let (_, commands) = help.split_once("Commands:\n").expect("commands");
    let (commands, _) = commands.split_once("\n\n").expect("other parts");
    let elsewhere = ["stores", "setup", "hook", "mcp", "serve"];
    // These read nothing of a project, or need a terminal.
    let others = ["pick", "completions", "man", "help", "trust"];
    for line in commands.lines().filter(|line| line.starts_with("  ")) {
        let verb = line.split_whitespace().next().unwrap_or_default();
        // A further line of a description is indented.
        if line.starts_with("   ") || elsewhere.contains(&verb) || others.contains(&verb) {
            continue;
        }
        let is_run = VERBS
            .iter()
            .any(|words| words.split(' ').next() == Some(verb));
        assert!(is_run, "{verb}");
    }
}

#[test]
fn settings_of_a_project_choose_nothing_outside_it() {
    let shared = ".claude/settings.json";
    for (file, named) in [
        (shared, "~"),
        (shared, "~/Documents"),
        (shared, "../Documents"),
        (shared, "/etc"),
        (".claude/settings.local.json", "~/.ssh"),
        (".claude/settings.local.json", "$HOME/sibling"),
    ] {
        let ground = Ground::new();
        let home = ground.home.path().display().to_string();
        let named = named.replace("$HOME", &home);
        let settings = json!({ "autoMemoryDirectory": named }).to_string();
        ground.home.file(&format!("project/{file}"), settings);
        ground.attack(&format!("{file} names {named}"));
        let output = ground.run("stores", None, file);
        has(&output, [&format!("refused: {file} names")]);
    }
}

#[test]
fn a_directory_that_claims_to_belong_to_another_project_gets_nothing_of_it() {
    let ground = Ground::new();
    let secret = ground.home.path().join("secret");
    fs::create_dir_all(secret.join(".git/worktrees/x")).expect("folders");
    let slug: String = secret
        .display()
        .to_string()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    // It is the user's own, so that a search of everything may find it by its words.
    ground.home.file(
        &format!(".claude/projects/{slug}/memory/MEMORY.md"),
        format!("# {CANARY}\n"),
    );
    fs::remove_dir_all(ground.home.project().join(".git")).expect("removed");
    let pointer = format!("gitdir: {}/.git/worktrees/x\n", secret.display());
    ground.home.file("project/.git", pointer);
    ground.attack("a forged worktree");
    // A link to the file of a real work tree, which git's own file points back to.
    let tree = ground.home.path().join("tree/.git");
    fs::create_dir_all(ground.home.path().join("tree")).expect("a folder");
    fs::rename(ground.home.project().join(".git"), &tree).expect("moved");
    let note = secret.join(".git/worktrees/x/gitdir");
    fs::write(note, format!("{}\n", tree.display())).expect("a note");
    symlink(&tree, ground.home.project().join(".git")).expect("a link");
    ground.attack("a linked worktree");
}

#[test]
fn what_is_refused_is_told_and_can_be_trusted() {
    let ground = Ground::new();
    let home = &ground.home;
    let documents = home.path().join("Documents");
    ground.plant(".memory", &documents);
    ground.plant("CLAUDE.md", &home.path().join("sibling/CLAUDE.md"));
    let line = format!(
        "refused: .memory leads to {0}, outside the project; tome trust {0} allows it",
        documents.display()
    );
    let output = home.run("stores");
    has(&output.err, [&line]);
    let refused = output.err.lines().filter(|line| line.contains("refused:"));
    assert_eq!(refused.count(), 2, "{output:?}");
    let output = home.finds_nothing("doctor");
    let told = format!("leads to {}, outside the project", documents.display());
    has(&output.out, [&told]);
    has(
        home.fails("write x.md --type user --content x"),
        ["tome trust"],
    );

    let settings = home.file(".config/tome/config.toml", "# mine\nauthor = \"kim\"\n");
    let dry = home.ok("trust ~/Documents --dry-run");
    has(&dry, ["+trusted"]);
    assert_eq!(
        home.read(".config/tome/config.toml"),
        "# mine\nauthor = \"kim\"\n"
    );
    let shown = home.ok("trust ../Documents");
    assert_eq!(shown, dry);
    has(home.ok("trust ~/Documents"), ["already"]);
    has(home.ok("list"), ["s.md"]);
    home.ok("write x.md --type user --content x");
    assert!(documents.join("x.md").is_file());
    home.ok("trust ~/sibling");
    has(home.ok("stores"), ["sibling-instructions"]);
    home.ok("trust ~/sibling --remove");
    home.ok("trust ~/Documents --remove");
    assert_eq!(
        fs::read_to_string(settings).expect("reads"),
        "# mine\nauthor = \"kim\"\n"
    );
    assert!(home.run("list").out.is_empty());
    home.finds_nothing("trust ~/Documents --remove");
    home.fails("trust ~/nowhere");
}

#[test]
fn trust_keeps_the_ends_of_lines() {
    let home = Home::new();
    home.file("outside/a", "");
    let before = "# mine\r\nauthor = \"kim\"\r\n";
    home.file(".config/tome/config.toml", before);
    home.ok("trust ../outside");
    let text = home.read(".config/tome/config.toml");
    assert!(
        text.starts_with(before) && text.contains("trusted"),
        "{text:?}"
    );
    assert!(!text.replace("\r\n", "").contains('\n'), "{text:?}");
    home.ok("trust ../outside --remove");
    assert_eq!(home.read(".config/tome/config.toml"), before);
}

#[test]
fn links_that_stay_inside_the_project_are_followed() {
    let home = Home::new();
    home.file("project/notes/MEMORY.md", "# Memory\n\n(empty)\n");
    home.file("project/AGENTS.md", "# Agents\n");
    home.file("project/sub/x", "");
    symlink("notes", home.project().join(".memory")).expect("a link");
    symlink("AGENTS.md", home.project().join("CLAUDE.md")).expect("a link");
    symlink("../AGENTS.md", home.project().join("sub/CLAUDE.md")).expect("a link");
    let output = home.run("stores");
    assert_eq!(output.code, 0, "{output:?}");
    lacks(&output.err, ["refused"]);
    let list = home.ok("list");
    has(&list, ["AGENTS.md", "CLAUDE.md"]);
    home.ok("write x.md --type user --content x");
    assert!(home.project().join("notes/x.md").is_file());
}

#[test]
fn set_up_in_a_project_refuses_a_link_that_leaves_it_by_name() {
    let home = Home::new();
    let login = home.file(".claude.json", "{\"token\": \"secret\"}\n");
    symlink(&login, home.project().join(".mcp.json")).expect("a link");
    let output = home.run("setup claude-code --project --yes");
    assert_eq!(output.code, 2, "{output:?}");
    has(&output.err, [".mcp.json", "outside the project"]);
    assert!(!format!("{output:?}").contains("secret"), "{output:?}");
    assert_eq!(home.read(".claude.json"), "{\"token\": \"secret\"}\n");
    assert!(
        !home.project().join(".claude").exists(),
        "nothing is half done"
    );
}
