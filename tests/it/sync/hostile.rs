//! A remote that means harm: links, settings of git, hooks, filters, huge files, many names, names
//! that clash. Each costs a line, nothing is written outside, and it ends soon.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use tome::core::memory::config::IncomingMode::Accept;

use super::machine::{Machine, Remote};
use crate::support::{has, tree};

/// Adds a commit to the remote by `git fast-import`, which takes any name.
fn import(remote: &Remote, files: &[(&str, &str, &[u8])]) {
    assert!(try_import(remote, files));
}

fn try_import(remote: &Remote, files: &[(&str, &str, &[u8])]) -> bool {
    let mut stream =
        b"commit refs/heads/main\ncommitter x <x@x> 0 +0000\ndata 1\nx\nfrom refs/heads/main^0\n"
            .to_vec();
    for (mode, path, bytes) in files {
        let path = path
            .replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('\n', "\\n");
        stream.extend(format!("M {mode} inline \"{path}\"\ndata {}\n", bytes.len()).into_bytes());
        stream.extend(*bytes);
        stream.push(b'\n');
    }
    let mut git = Command::new("git");
    git.arg("-C")
        .arg(remote.path())
        .args(["fast-import", "--quiet"]);
    git.stdin(Stdio::piped()).stderr(Stdio::null());
    let mut child = git.spawn().expect("git runs");
    drop(child.stdin.take().expect("piped").write_all(&stream));
    child.wait().expect("ends").success()
}

/// The folder of the only store in the remote.
fn folder(remote: &Remote) -> String {
    let paths = remote.paths();
    let path = paths.first().expect("a file");
    path.split('/').take(2).collect::<Vec<_>>().join("/")
}

fn shared(remote: &Remote) -> Machine {
    let machine = Machine::new(remote, "one", Accept);
    machine.write("a.md", "text\n");
    machine.sync();
    machine
}

#[test]
fn what_a_remote_has_beside_plain_files_is_one_line_each() {
    let remote = Remote::new();
    let machine = shared(&remote);
    let store = folder(&remote);
    let at = |name: &str| format!("{store}/{name}");
    let huge = vec![b'x'; 3 << 20];
    let outside = remote.path().join("../outside.md");
    let names = [
        (
            "120000",
            at("link.md"),
            outside.display().to_string().into_bytes(),
        ),
        ("100755", at("run.md"), b"#!/bin/sh\n".to_vec()),
        ("100644", at(".gitattributes"), b"* filter=evil\n".to_vec()),
        (
            "100644",
            ".gitattributes".to_owned(),
            b"*.md filter=evil diff=evil\n".to_vec(),
        ),
        ("100644", at("a\\..\\evil.md"), b"x".to_vec()),
        ("100644", at("two\nlines.md"), b"x".to_vec()),
        ("100644", at("A.md"), b"clashes with a.md\n".to_vec()),
        ("100644", at("B.md"), b"first\n".to_vec()),
        ("100644", at("b.md"), b"second\n".to_vec()),
        ("100644", at("MEMORY.md"), b"# mine\n".to_vec()),
        ("100644", at("huge.md"), huge),
        ("100644", at("script.sh"), b"x".to_vec()),
        ("100644", at("fine.md"), b"fine\n".to_vec()),
        (
            "100644",
            "hooks/post-checkout".to_owned(),
            b"#!/bin/sh\ntouch /tmp/evil\n".to_vec(),
        ),
    ];
    let files: Vec<(&str, &str, &[u8])> = names
        .iter()
        .map(|(mode, path, bytes)| (*mode, path.as_str(), bytes.as_slice()))
        .collect();
    import(&remote, &files);
    let report = machine.sync();
    let mut files: Vec<String> = machine.files().into_keys().collect();
    files.sort();
    assert_eq!(files, ["B.md", "a.md", "fine.md"]);
    assert_eq!(machine.read("a.md"), "text\n");
    assert!(!outside.exists());
    let lines: Vec<String> = report
        .notes
        .into_iter()
        .chain(report.stores[0].notes.clone())
        .collect();
    for name in [
        "link.md",
        "run.md",
        ".gitattributes",
        "lines.md",
        "A.md",
        "b.md",
        "MEMORY.md",
        "huge.md",
        "script.sh",
    ] {
        let told = lines.iter().filter(|line| line.contains(name)).count();
        assert!(told >= 1, "{name}: {lines:#?}");
    }
    assert!(
        lines.len() < 12 && lines.iter().all(|line| !line.contains('\n')),
        "{lines:#?}"
    );
    // A change here still goes out, and what was left alone stays there.
    machine.write("fine.md", "finer\n");
    machine.sync();
    assert_eq!(remote.text("fine.md"), "finer\n");
    assert!(remote.has("huge.md") && remote.has("link.md"));
    machine.write("huge.md", "small here\n");
    machine.sync();
    assert_eq!(
        remote.text("huge.md").len(),
        3 << 20,
        "it is not overwritten either"
    );
}

/// What is left alone is not replaced either.
#[test]
fn a_memory_that_became_a_program_is_neither_taken_nor_sent_over() {
    let remote = Remote::new();
    let machine = shared(&remote);
    let path = format!("{}/a.md", folder(&remote));
    import(&remote, &[("100755", &path, b"newer\n")]);
    for text in ["text\n", "changed here\n"] {
        machine.write("a.md", text);
        let report = machine.sync();
        has(report.notes.join("\n"), ["a.md"]);
        assert_eq!(machine.read("a.md"), text);
        assert_eq!(remote.git(&["show", &format!("main:{path}")]), "newer\n");
    }
}

#[test]
fn names_that_lead_out_are_left_alone() {
    let remote = Remote::new();
    let home = remote.path().join("..").canonicalize().expect("there");
    let around = || -> Vec<String> { tree(&home).into_keys().collect() };
    let leads_out = |name: &str| {
        let mut parts = name.split('/');
        name.contains('\0') || parts.any(|part| matches!(part, "" | "." | ".."))
    };
    let (mut taken, mut refused) = (0, 0);
    for name in crate::names::NAMES {
        let name = name.replace("HOME", &home.display().to_string());
        let remote = Remote::new();
        let machine = shared(&remote);
        let before = (around(), machine.files());
        let path = format!("{}/{name}.md", folder(&remote));
        if !try_import(&remote, &[("100644", &path, b"evil\n")]) {
            refused += 1;
            continue;
        }
        let report = machine.try_sync();
        taken += 1;
        if leads_out(&path) {
            assert!(
                report.failure.is_some() || !report.notes.is_empty(),
                "{name}"
            );
            assert_eq!(machine.files(), before.1, "{name}");
        }
        for path in machine.files().into_keys() {
            assert!(
                !path.contains("..") && !path.starts_with('/'),
                "{name}: {path}"
            );
        }
        assert_eq!(machine.read("a.md"), "text\n", "{name}");
        assert_eq!(around(), before.0, "{name}");
    }
    assert!(taken >= 25, "git took {taken} and refused {refused}");
}

#[test]
fn settings_of_git_in_a_tree_hold_nothing_else_up() {
    let remote = Remote::new();
    let machine = shared(&remote);
    let store = folder(&remote);
    // Git itself does not make such a tree, so that it is put together by hand.
    let blob = remote.git(&["hash-object", "-w", "--stdin"]);
    let line = |name: &str| format!("100644 blob {}\t{name}\n", blob.trim());
    let make = |lines: String| {
        let mut git = Command::new("git");
        git.arg("-C")
            .arg(remote.path())
            .args(["mktree", "--missing"]);
        let mut child = git
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("runs");
        child
            .stdin
            .take()
            .expect("piped")
            .write_all(lines.as_bytes())
            .expect("read");
        let output = child.wait_with_output().expect("ends");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    let inner = make(line("config"));
    let git_s =
        ["\t.git\n", "\tGIT~1\n", "\t..\n"].map(|name| format!("040000 tree {inner}{name}"));
    let evil = make(format!("{}{}", git_s.concat(), line("x.md")));
    let stores = make(format!(
        "040000 tree {evil}\t{}\n",
        store.trim_start_matches("stores/")
    ));
    let root = make(format!("040000 tree {stores}\tstores\n"));
    let parent = remote.git(&["rev-parse", "main"]);
    let commit = remote.git(&["commit-tree", "-m", "evil", "-p", parent.trim(), &root]);
    remote.git(&["update-ref", "refs/heads/main", commit.trim()]);
    machine.write("own.md", "goes on\n");
    let report = machine.sync();
    let files: Vec<String> = tree(&machine.root()).into_keys().collect();
    assert_eq!(files, ["MEMORY.md", "a.md", "own.md", "x.md"]);
    assert!(remote.has("own.md"));
    let told: Vec<&String> = report
        .notes
        .iter()
        .filter(|line| line.contains("config"))
        .collect();
    assert!((1..=2).contains(&told.len()), "{:?}", report.notes);
}

#[test]
fn a_hundred_thousand_names_end_soon_and_are_one_line() {
    let remote = Remote::new();
    let machine = shared(&remote);
    let store = folder(&remote);
    let names: Vec<String> = (0..100_000).map(|n| format!("{store}/n{n}.md")).collect();
    let files: Vec<(&str, &str, &[u8])> = names
        .iter()
        .map(|name| ("100644", name.as_str(), &b"x\n"[..]))
        .collect();
    import(&remote, &files);
    let since = Instant::now();
    let report = machine.sync();
    assert_eq!(machine.files().len(), 1);
    let told: Vec<&String> = report
        .notes
        .iter()
        .filter(|line| line.contains("40,000"))
        .collect();
    assert_eq!(told.len(), 1, "{:?}", report.notes);
    assert!(since.elapsed().as_secs() < 60, "{:?}", since.elapsed());
    assert_eq!(remote.paths().len(), 100_001);
}

#[test]
fn of_many_branches_only_the_one_is_fetched() {
    let remote = Remote::new();
    let machine = shared(&remote);
    let commit = remote.git(&["rev-parse", "main"]);
    let mut refs = String::from("# pack-refs with: peeled fully-peeled sorted\n");
    for n in 0..100_000 {
        refs.push_str(&format!("{} refs/heads/n{n:06}\n", commit.trim()));
    }
    fs::write(remote.path().join("packed-refs"), refs).expect("written");
    machine.write("b.md", "more\n");
    machine.sync();
    assert!(remote.has("b.md"));
    let clone = machine.root().ancestors().find_map(find_clone);
    let known = clone.expect("the clone").join("refs/remotes/tome");
    let names: Vec<_> = fs::read_dir(known).expect("listed").flatten().collect();
    assert_eq!(names.len(), 1, "{names:?}");
}

#[test]
fn hooks_of_the_clone_are_not_run() {
    let remote = Remote::new();
    let machine = shared(&remote);
    let clone = machine
        .root()
        .ancestors()
        .find_map(find_clone)
        .expect("the clone");
    let mark = remote.path().join("../ran");
    fs::create_dir_all(clone.join("hooks")).expect("a folder");
    for name in [
        "pre-push",
        "reference-transaction",
        "post-update",
        "pre-auto-gc",
    ] {
        let hook = clone.join("hooks").join(name);
        fs::write(&hook, format!("#!/bin/sh\ntouch {}\n", mark.display())).expect("written");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&hook, mode).expect("set");
    }
    machine.write("b.md", "more\n");
    machine.sync();
    assert!(remote.has("b.md") && !mark.exists());
}

/// A git that is killed, or a machine without power, leaves locks that no process holds.
#[test]
fn what_a_killed_git_left_in_the_clone_holds_nobody_up() {
    let remote = Remote::new();
    let machine = shared(&remote);
    let clone = machine.root().ancestors().find_map(find_clone);
    let clone = clone.expect("the clone");
    let names = [
        "refs/tome/base.lock",
        "refs/remotes/tome/main.lock",
        "packed-refs.lock",
        "objects/pack/tmp_pack_1",
        "fast_import_crash_1",
    ];
    for name in names {
        fs::write(clone.join(name), "").expect("written");
    }
    machine.write("b.md", "more\n");
    machine.sync();
    assert!(remote.has("b.md"));
    assert!(names.iter().all(|name| !clone.join(name).exists()));
}

fn find_clone(above: &Path) -> Option<std::path::PathBuf> {
    let clone = above.join("data/sync/repo.git");
    clone.is_dir().then_some(clone)
}
