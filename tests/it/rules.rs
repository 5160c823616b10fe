//! The rules of the house, checked on the source itself.

use std::fs;
use std::path::{Path, PathBuf};

fn sources() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    collect(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
        &mut found,
    );
    assert!(found.len() > 20, "the sources are found");
    found
}

fn collect(at: &Path, found: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(at).expect("readable").flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).expect("text");
            found.push((path, text));
        }
    }
}

/// The part of a file before its tests.
fn body(text: &str) -> &str {
    text.split("#[cfg(test)]").next().unwrap_or(text)
}

#[test]
fn the_core_knows_no_door_and_no_outside_world() {
    let core = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/core");
    let forbidden = [
        "crate::cli",
        "crate::tui",
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
    ];
    for (path, text) in sources().iter().filter(|(path, _)| path.starts_with(&core)) {
        for word in forbidden {
            assert!(!body(text).contains(word), "{} uses {word}", path.display());
        }
    }
}

/// Whether the whole file is for tests.
fn is_test(path: &Path) -> bool {
    path.ends_with("fixture.rs")
        || path.ends_with("tests.rs")
        || path.components().any(|part| part.as_os_str() == "tests")
}

#[test]
fn the_terminal_door_knows_no_other_door_and_writes_no_file() {
    let tui = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tui");
    let forbidden = [
        "crate::cli",
        "crate::mcp",
        "clap",
        "env::var",
        "Timestamp::now",
        "Zoned::now",
        "SystemTime::now",
        "fs::write",
        "File::create",
        "println!",
    ];
    let own = |path: &Path| path.starts_with(&tui) || path == tui.with_extension("rs");
    for (path, text) in sources().iter().filter(|(path, _)| own(path)) {
        for word in forbidden.iter().filter(|_| !is_test(path)) {
            assert!(!body(text).contains(word), "{} uses {word}", path.display());
        }
    }
}

#[test]
fn update_and_view_do_no_work_of_the_worker() {
    // Panes and dialogs see values; what takes time or touches the world is an effect.
    let tui = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tui");
    let places = [tui.join("app"), tui.join("pane"), tui.join("overlay")];
    for (path, text) in sources() {
        let here = places.iter().any(|place| path.starts_with(place));
        if here && !is_test(&path) {
            for word in [
                "std::fs",
                "Instant::now",
                "mpsc",
                "thread::",
                "commit(",
                "History::",
            ] {
                assert!(
                    !body(&text).contains(word),
                    "{} uses {word}",
                    path.display()
                );
            }
        }
    }
}

#[test]
fn doors_do_not_know_each_other() {
    // The command line starts the other doors; nobody starts the command line.
    let doors = ["mcp", "hook", "setup"];
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for (path, text) in sources() {
        let place = path.strip_prefix(&src).expect("below src");
        let room = place
            .iter()
            .next()
            .and_then(|room| room.to_str())
            .expect("a name");
        let room = room.trim_end_matches(".rs");
        let forbidden: Vec<&str> = match room {
            "cli" | "lib" | "main" | "build" => Vec::new(),
            "core" => [&doors[..], &["cli", "tui"]].concat(),
            own => {
                assert!(doors.contains(&own) || own == "tui", "no rule for {room}");
                let others = doors.iter().filter(|door| **door != own).copied();
                others.chain(["cli"]).collect()
            }
        };
        for other in forbidden {
            let name = format!("crate::{other}");
            let knows = body(&text).match_indices(&name).any(|(at, _)| {
                let next = body(&text)[at + name.len()..].chars().next();
                next.is_none_or(|next| !next.is_alphanumeric() && next != '_')
            });
            assert!(!knows, "{} knows {name}", path.display());
        }
    }
}

#[test]
fn only_the_protocol_knows_the_protocol() {
    for (path, text) in sources() {
        if !path.ends_with("mcp/server.rs") {
            assert!(
                !body(&text).contains("rmcp::"),
                "{} uses rmcp",
                path.display()
            );
        }
    }
}

#[test]
fn every_file_says_what_it_holds_and_stays_within_five_hundred_lines() {
    for (path, text) in sources() {
        assert!(
            text.starts_with("//! "),
            "{} has no heading",
            path.display()
        );
        let lines = body(&text).lines().count();
        assert!(
            lines <= 500,
            "{} has {lines} lines before its tests",
            path.display()
        );
        assert_ne!(
            path.file_name(),
            Some("mod.rs".as_ref()),
            "{}",
            path.display()
        );
    }
}

#[test]
fn only_the_change_pipeline_writes_memory_files() {
    // These are the steps by which a memory file comes to be or goes.
    for (path, text) in sources() {
        let homes = [
            "core/change/commit.rs",
            "core/change/recover.rs",
            "core/sandbox/write.rs",
        ];
        if !homes.iter().any(|home| path.ends_with(home)) {
            for call in [
                ".stage(",
                ".exchange(",
                ".set_aside(",
                "root().place(",
                "root().remove(",
                "root.remove(",
            ] {
                assert!(
                    !body(&text).contains(call),
                    "{} calls {call}",
                    path.display()
                );
            }
        }
    }
}

/// The variable with which the README is brought up to date.
const WRITE: &str = "TOME_WRITE_README";

#[test]
fn the_keys_of_the_readme_are_those_of_the_keymap() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let text = fs::read_to_string(&path).expect("text");
    let (start, end) = ("<!-- keys -->\n", "<!-- /keys -->");
    let (before, rest) = text
        .split_once(start)
        .expect("the README has <!-- keys -->");
    let (table, after) = rest.split_once(end).expect("and <!-- /keys -->");
    let keys = format!("\n{}\n", tome::tui::keymap::markdown());
    if std::env::var_os(WRITE).is_some() {
        fs::write(&path, [before, start, &keys, end, after].concat()).expect("written");
        return;
    }
    assert_eq!(
        table, keys,
        "the keys have changed; {WRITE}=1 cargo test --test it the_keys_of_the_readme writes them"
    );
    assert!(keys.lines().count() <= 62, "it is a short table");
}
