//! The rules of the architecture, checked on the source itself.
//!
//! A file is read up to the tests module at its end. Files that are compiled for tests only are
//! found by their declarations (`#[cfg(test)] mod name;`).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

use crate::support::ends;

/// A source file.
struct Source {
    /// Its path below `src`.
    path: PathBuf,
    /// The path of its module, such as `core`, `history`, `lock`.
    module: Vec<String>,
    text: String,
    /// Whether it is compiled for tests only.
    is_test: bool,
}

/// The beginnings of a tests module at the end of a file.
const TESTS: [&str; 3] = [
    "\n#[cfg(test)]\nmod tests {\n",
    "\n#[cfg(test)]\npub(in crate::core::change) mod tests {\n",
    "\n#[cfg(all(test, unix))]\nmod tests {\n",
];

impl Source {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// Everything before the tests module at the end.
    fn body(&self) -> &str {
        let found = |start: &&str| Some((self.text.find(*start)?, start.len()));
        let Some((at, length)) = TESTS.iter().find_map(found) else {
            return &self.text;
        };
        let tests = &self.text[at + length..];
        let after = tests.split_once("\n}\n").map(|(_, after)| after);
        assert_eq!(
            after.map(str::trim),
            Some(""),
            "{}: something comes after the tests module",
            self.name()
        );
        &self.text[..=at]
    }

    /// The body without comments.
    fn code(&self) -> String {
        let lines = self.body().lines();
        let code = lines.filter(|line| !line.trim_start().starts_with("//"));
        code.flat_map(|line| [line, "\n"]).collect()
    }

    fn is_in(&self, room: &str) -> bool {
        self.module.first().is_some_and(|first| first == room)
    }

    /// The modules and items of this crate that the file uses, by their full paths.
    fn named(&self) -> BTreeSet<Vec<String>> {
        let code = self.code();
        let imports =
            Regex::new(r"(?m)^\s*(?:pub(?:\([^)]*\))?\s+)?use\s+([^;]+);").expect("valid");
        let paths = Regex::new(r"\b(?:crate|super|self)(?:::\w+)+").expect("valid");
        let imported = imports
            .captures_iter(&code)
            .flat_map(|use_of| expanded(&use_of[1]));
        let spelled = paths.find_iter(&code).map(|path| path.as_str().to_owned());
        imported
            .chain(spelled)
            .filter_map(|path| self.resolved(&path))
            .collect()
    }

    /// The full path of a path in this file; `None` for one of another crate.
    fn resolved(&self, path: &str) -> Option<Vec<String>> {
        let mut parts = path.split("::").map(str::trim).peekable();
        let mut whole = match parts.next()? {
            "crate" => Vec::new(),
            "self" => self.module.clone(),
            "super" => self.module.split_last()?.1.to_vec(),
            _ => return None,
        };
        while parts.next_if_eq(&"super").is_some() {
            whole.pop()?;
        }
        whole.extend(parts.map(str::to_owned));
        Some(whole)
    }
}

/// The paths of an import: `a::{b, c::{d, e}}` has three.
fn expanded(import: &str) -> Vec<String> {
    let import = import.trim();
    let Some((before, rest)) = import.split_once('{') else {
        let path = import.split(" as ").next().unwrap_or(import);
        return vec![path.trim().to_owned()];
    };
    let inner = rest.trim_end().strip_suffix('}').expect("braces match");
    let mut depth = 0;
    let parts = inner.split(|letter| {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        letter == ',' && depth == 0
    });
    parts
        .filter(|part| !part.trim().is_empty())
        .flat_map(expanded)
        .map(|part| format!("{before}{part}"))
        .collect()
}

/// Every file below `src`.
fn sources() -> Vec<Source> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    collect(&src, &mut files);
    assert!(files.len() > 20, "the sources are found");
    let mut found: Vec<Source> = files
        .into_iter()
        .map(|path| {
            let text = fs::read_to_string(&path).expect("text");
            let path = path.strip_prefix(&src).expect("below src").to_owned();
            let module = path.with_extension("");
            let module = module
                .iter()
                .map(|part| part.to_string_lossy().into_owned());
            let module: Vec<String> = module.filter(|part| part != "lib").collect();
            Source {
                path,
                module,
                text,
                is_test: false,
            }
        })
        .collect();
    let declared =
        Regex::new(r"(?m)^#\[cfg\(test\)\]\n(?:pub(?:\([^)]*\))? )?mod (\w+);").expect("valid");
    let for_tests: Vec<Vec<String>> = found
        .iter()
        .flat_map(|source| {
            let names = declared.captures_iter(&source.text);
            names.map(|name| [&source.module[..], &[name[1].to_owned()]].concat())
        })
        .collect();
    for source in &mut found {
        source.is_test = for_tests.iter().any(|test| source.module.starts_with(test));
    }
    found
}

fn collect(at: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(at).expect("readable").flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The files that are part of the program.
fn shipped() -> impl Iterator<Item = Source> {
    sources().into_iter().filter(|source| !source.is_test)
}

fn uses_none_of(source: &Source, words: &[&str]) {
    let code = source.code();
    for word in words {
        assert!(!code.contains(word), "{} uses {word}", source.name());
    }
}

#[test]
fn a_file_is_read_up_to_the_tests_at_its_end_and_imports_are_understood() {
    let source = Source {
        path: PathBuf::from("core/x/y.rs"),
        module: ["core", "x", "y"].map(str::to_owned).to_vec(),
        text: concat!(
            "//! A file.\n\n#[cfg(test)]\nmod fixture;\n\n",
            "use super::{z, w::{a, b as c}};\nuse crate::tui::App;\nuse std::fs;\n\n",
            "// crate::commented\nfn f() {\n    super::super::q::g();\n}\n",
            "\n#[cfg(test)]\nmod tests {\n    use crate::secret;\n}\n",
        )
        .to_owned(),
        is_test: false,
    };
    ends(source.body(), "g();\n}\n\n");
    let named: Vec<String> = source.named().iter().map(|path| path.join("::")).collect();
    assert_eq!(
        named,
        [
            "core::q::g",
            "core::x::w::a",
            "core::x::w::b",
            "core::x::z",
            "tui::App"
        ]
    );
    // These files have a `cfg(test)` item before their end and must still be read whole.
    for (name, last) in [
        ("tui.rs", "pub enum Exit"),
        ("tui/app.rs", "fn take("),
        ("tui/pane/browse.rs", "impl Pane for Browse"),
    ] {
        let all = sources();
        let file = all.iter().find(|source| source.name() == name);
        assert!(file.expect("there").body().contains(last), "{name}");
    }
}

#[test]
fn the_core_knows_no_door_and_no_outside_world() {
    for source in shipped().filter(|source| source.is_in("core")) {
        uses_none_of(
            &source,
            &[
                "ratatui",
                "clap",
                "std::env",
                "env::var",
                "BaseDirs",
                "ProjectDirs",
                "Timestamp::now",
                "Zoned::now",
                "SystemTime::now",
                "println!",
                "eprintln!",
                "io::stdout",
                "io::stderr",
                "io::stdin",
            ],
        );
    }
}

#[test]
fn the_terminal_door_writes_no_file_and_reads_no_clock() {
    for source in shipped().filter(|source| source.is_in("tui")) {
        uses_none_of(
            &source,
            &[
                "clap",
                "env::var",
                "Timestamp::now",
                "Zoned::now",
                "SystemTime::now",
                "fs::write",
                "File::create",
                "println!",
            ],
        );
    }
}

#[test]
fn update_and_view_do_no_work_of_the_worker() {
    // Panes and dialogs only see values; slow work and I/O are effects.
    for source in shipped().filter(|source| source.is_in("tui")) {
        let place = source.module.get(1).map_or("", String::as_str);
        if ["app", "pane", "overlay"].contains(&place) {
            uses_none_of(
                &source,
                &[
                    "std::fs",
                    "Instant::now",
                    "mpsc",
                    "thread::",
                    "commit(",
                    "History::",
                ],
            );
        }
    }
}

const DOORS: [&str; 6] = ["cli", "tui", "mcp", "grpc", "hook", "setup"];

#[test]
fn doors_do_not_know_each_other() {
    // The command line starts the others, and no module starts the command line.
    for source in shipped() {
        let room = source.module.first().map_or("lib", String::as_str);
        if ["cli", "lib", "main", "build"].contains(&room) {
            continue;
        }
        let is_known = room == "core" || DOORS.contains(&room);
        assert!(is_known, "no rule for {}", source.name());
        for path in source.named() {
            let other = path.first().map_or("", String::as_str);
            assert!(
                other == room || !DOORS.contains(&other),
                "{} knows {}",
                source.name(),
                path.join("::")
            );
        }
    }
}

/// The rooms of the core, each of which uses only those before it.
const ROOMS: [&str; 7] = [
    "text", "disk", "log", "memory", "change", "search", "insight",
];

#[test]
fn rooms_of_the_core_use_only_those_before_them() {
    let place = |room: &str| {
        let found = ROOMS.iter().position(|known| *known == room);
        found.unwrap_or_else(|| panic!("no rule for the room {room}"))
    };
    for source in shipped().filter(|source| source.is_in("core")) {
        let Some(room) = source.module.get(1) else {
            continue;
        };
        for path in source.named() {
            if let [core, other, _, ..] = path.as_slice()
                && core == "core"
            {
                let is_before = place(other) <= place(room);
                assert!(is_before, "{} names {}", source.name(), path.join("::"));
            }
        }
    }
}

#[test]
fn files_of_different_folders_do_not_import_each_other_in_a_circle() {
    let sources: Vec<Source> = shipped().collect();
    let number_of: BTreeMap<&[String], usize> = sources
        .iter()
        .map(|source| source.module.as_slice())
        .zip(0..)
        .collect();
    let imports: Vec<BTreeSet<usize>> = sources
        .iter()
        .map(|source| {
            let named = source.named();
            let files = named.iter().filter_map(|path| {
                let mut files = (1..=path.len()).rev().map(|length| &path[..length]);
                files.find(|file| number_of.contains_key(file))
            });
            // A file and those below it are one module.
            let others = files.filter(|file| {
                !source.module.starts_with(file) && !file.starts_with(&source.module)
            });
            others.map(|file| number_of[file]).collect()
        })
        .collect();
    for (start, source) in sources.iter().enumerate() {
        let folder = source.path.parent();
        for way in circles_through(start, &imports) {
            let is_in_one_folder = way.iter().all(|at| sources[*at].path.parent() == folder);
            let names: Vec<String> = way.iter().map(|at| sources[*at].name()).collect();
            assert!(is_in_one_folder, "a circle: {}", names.join(", "));
        }
    }
}

/// For each file that this one imports, the shortest way back, if there is one.
fn circles_through(start: usize, imports: &[BTreeSet<usize>]) -> Vec<Vec<usize>> {
    let ways = imports[start].iter().filter_map(|first| {
        let mut ways: Vec<Vec<usize>> = vec![vec![start, *first]];
        let mut met: BTreeSet<usize> = BTreeSet::from([*first]);
        let mut next = 0;
        while let Some(way) = ways.get(next).cloned() {
            let last = way[way.len() - 1];
            if imports[last].contains(&start) {
                return Some(way);
            }
            for further in &imports[last] {
                if met.insert(*further) {
                    ways.push([&way[..], &[*further]].concat());
                }
            }
            next += 1;
        }
        None
    });
    ways.collect()
}

/// The module that speaks the protocol.
const SERVER: [&str; 2] = ["mcp", "server"];

#[test]
fn only_the_protocol_knows_the_protocol() {
    for source in shipped().filter(|source| !source.module.starts_with(&SERVER.map(str::to_owned)))
    {
        uses_none_of(&source, &["rmcp::"]);
    }
    let others = shipped().filter(|source| !source.is_in("grpc") && !source.is_in("build"));
    for source in others {
        uses_none_of(&source, &["tonic", "prost"]);
    }
}

#[test]
fn every_file_says_what_it_holds() {
    for source in sources() {
        let name = source.name();
        assert!(source.text.starts_with("//! "), "{name} has no heading");
        assert_ne!(source.path.file_name(), Some("mod.rs".as_ref()), "{name}");
    }
}

#[test]
fn only_the_change_pipeline_writes_memory_files() {
    // The steps that create or delete a memory file.
    let homes = [
        "core/change/commit.rs",
        "core/change/in_progress.rs",
        "core/change/recover.rs",
        "core/disk/sandbox/write.rs",
    ];
    for source in shipped().filter(|source| !homes.contains(&source.name().as_str())) {
        uses_none_of(
            &source,
            &[
                ".stage(",
                ".exchange(",
                ".set_aside(",
                "root().place(",
                "root().remove(",
                "root.remove(",
            ],
        );
    }
}

#[test]
fn what_tome_keeps_for_itself_is_made_in_one_place() {
    // `core::disk::private` creates files that are accessible to the owner alone.
    let rooms = [
        "core/change/history",
        "core/search/index",
        "core/memory/unsaved",
        "core/log/keep",
        "core/disk/fault",
        "hook",
    ];
    for source in shipped() {
        let place = source.path.with_extension("");
        if rooms.iter().any(|room| place.starts_with(room)) {
            let code = source.code().replace("private::create_dir", "");
            for call in [
                "fs::write(",
                "File::create",
                "create_dir",
                "OpenOptions",
                "fs::copy(",
            ] {
                assert!(!code.contains(call), "{} calls {call}", source.name());
            }
        }
    }
}

#[test]
fn files_are_opened_in_one_place() {
    // These check that a file is regular, and do not wait for a pipe. The demo opens only the files
    // that it has just written.
    let owners = [
        "core/memory/demo.rs",
        "core/disk/foreign.rs",
        "core/disk/private.rs",
        "core/disk/sandbox.rs",
        "core/disk/sandbox/lines.rs",
        "core/disk/sandbox/write.rs",
    ];
    let is_owner = |source: &Source| owners.contains(&source.name().as_str());
    for source in shipped().filter(|source| source.is_in("core") && !is_owner(source)) {
        uses_none_of(
            &source,
            &[
                "File::open",
                "File::options",
                "OpenOptions",
                "fs::read(",
                "fs::read_to_string",
                "fs::copy(",
                "rustix::fs::open",
                "open_ambient",
            ],
        );
        // The database library opens files by itself; this module checks them first.
        if source.name() != "core/log/opencode/database.rs" {
            uses_none_of(&source, &["Connection::"]);
        }
        // Maps need a guard against files that shrink.
        if source.name() != "core/disk/mapped.rs" {
            uses_none_of(&source, &["memmap2"]);
            // The others have single calls of the system.
            let callers = [
                "core/disk/allocator.rs",
                "core/disk/process.rs",
                "core/disk/sandbox/writers.rs",
            ];
            if !callers.contains(&source.name().as_str()) {
                uses_none_of(&source, &["unsafe "]);
            }
        }
    }
}

#[test]
fn programs_are_started_and_sockets_opened_only_where_it_is_said() {
    let starters = [
        "build.rs",
        "cli/resume.rs",
        "cli/setup.rs",
        "cli/sync.rs",
        "core/insight/curate/git/program.rs",
        "core/insight/timeline/summarize/command.rs",
        "tui/clipboard.rs",
        "tui/terminal.rs",
    ];
    for source in shipped() {
        let name = source.name();
        if !starters.contains(&name.as_str()) {
            uses_none_of(&source, &["Command::new"]);
        }
        // The server of that name, which an ordinary build leaves out.
        if !name.starts_with("grpc") {
            uses_none_of(
                &source,
                &[
                    "std::net",
                    "TcpStream",
                    "TcpListener",
                    "UdpSocket",
                    "UnixStream",
                ],
            );
        }
    }
}

#[test]
fn nothing_of_a_remote_is_checked_out() {
    for source in shipped() {
        if source.name().starts_with("core/insight/sync") {
            let writing = [
                "\"checkout\"",
                "\"reset\"",
                "\"read-tree\"",
                "\"worktree\"",
                "\"restore\"",
            ];
            uses_none_of(&source, &writing);
        }
    }
}

#[test]
fn every_promise_about_security_names_tests_that_there_are() {
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| fs::read_to_string(project.join(path)).unwrap_or_default();
    let text = read(".github/SECURITY.md");
    let promised = text
        .split("\n## ")
        .find(|part| part.starts_with("What is promised"));
    let promises = promised.expect("promises").lines();
    let promises: Vec<&str> = promises.filter(|line| line.starts_with("- ")).collect();
    assert!(promises.len() > 20, "{promises:?}");
    for promise in promises {
        let names = promise.split('`').filter_map(|name| name.rsplit_once("::"));
        let names: Vec<(&str, &str)> = names.collect();
        assert!(!names.is_empty(), "no test holds: {promise}");
        for (file, test) in names {
            let file = match file.ends_with(".rs") {
                true => file.to_owned(),
                false => format!("tests/it/{file}.rs"),
            };
            let test = format!("fn {test}()");
            assert!(read(&file).contains(&test), "{file} has no {test}");
        }
    }
}
