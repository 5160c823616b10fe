//! Bad input: the error is one line that names the file and what to do; nothing changes.

use std::fmt::Debug;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{Home, RunOutput, Words, chmod, has, lacks, not_run, tree};

fn store(home: &Home) {
    home.memory("MEMORY.md", "# Memory\n\n## User\n- [A](a.md) - d\n");
    home.memory(
        "a.md",
        "---\nname: A\ndescription: d\ntype: user\n---\n\nbody\n",
    );
}

/// Asserts that a run failed with one line that has all of these parts.
#[track_caller]
fn is_one_line<const N: usize>(output: &RunOutput, expected: [&str; N]) {
    let lines = output.err.lines().count();
    assert_eq!((output.code, lines), (2, 1), "{output:?}");
    has(&output.err, expected);
}

/// Runs a change that must fail with one line that contains all of `expected`.
fn fails<const N: usize>(home: &Home, args: &(impl Words + Debug + ?Sized), expected: [&str; N]) {
    let before = tree(&home.project());
    is_one_line(&home.run(args), expected);
    assert_eq!(tree(&home.project()), before, "{args:?} changed something");
}

#[test]
fn a_directory_where_a_file_should_be() {
    let home = Home::new();
    store(&home);
    fs::create_dir(home.project().join(".memory/dir.md")).expect("a folder");
    for args in [
        "read dir.md",
        "patch dir.md --old a --new b",
        "write dir.md --type user --content x",
        "delete dir.md",
    ] {
        fails(&home, args, ["dir.md", "is a directory; name a file"]);
    }
}

#[test]
fn a_read_only_file() {
    let home = Home::new();
    store(&home);
    let file = home.project().join(".memory/a.md");
    chmod(&file, 0o444);
    for args in [
        "patch a.md --old body --new b",
        "write a.md --content x",
        "delete a.md",
        "rename a.md b.md",
    ] {
        fails(&home, args, ["a.md", "read-only", "chmod u+w"]);
    }
    chmod(&file, 0o644);
    let index = home.project().join(".memory/MEMORY.md");
    chmod(&index, 0o444);
    fails(&home, "delete a.md", ["MEMORY.md", "read-only"]);
}

#[test]
fn text_that_is_not_utf8() {
    let home = Home::new();
    store(&home);
    home.memory(
        "latin.md",
        b"---\nname: latin\ndescription: caf\xe9\ntype: user\n---\nbody\n",
    );
    for args in [
        "patch latin.md --old body --new b",
        "append latin.md --content x",
    ] {
        let told = "not UTF-8 text (byte 32)";
        fails(&home, args, ["latin.md", told, "convert it to UTF-8"]);
    }
    let list = home.run("list");
    assert_eq!(list.code, 0);
    has(&list.err, ["latin.md: not UTF-8"]);
    assert!(list.out.contains("a.md"), "the others are listed");
    let output = home.run_with_input(&["write", "b.md", "--type", "user"], b"\xff\xfe");
    assert_eq!(output.code, 2);
    has(&output.err, ["standard input: not UTF-8"]);
}

#[test]
fn frontmatter_that_is_never_closed() {
    let home = Home::new();
    store(&home);
    home.memory("open.md", "---\nname: open\ntype: user\n\nbody\n");
    fails(
        &home,
        "write open.md --type user --content x",
        ["open.md:1:", "never closed", "add a line ---"],
    );
    fails(
        &home,
        "write new.md --content '---\nname: n\nbody\n'",
        ["new.md:1:", "never closed"],
    );
    has(
        &home.run("list").err,
        ["open.md: the frontmatter that starts here is never closed"],
    );
}

#[test]
fn a_file_of_a_hundred_megabytes() {
    let home = Home::new();
    store(&home);
    let big = home.project().join(".memory/big.md");
    fs::File::create(&big)
        .and_then(|file| file.set_len(100 << 20))
        .expect("a large file");
    for args in [
        "read big.md",
        "patch big.md --old a --new b",
        "append big.md --content x",
    ] {
        is_one_line(&home.run(args), ["big.md: 100 MB is too large"]);
    }
    let list = home.run("list");
    assert_eq!(list.code, 0);
    has(&list.out, ["a.md", "big.md"]);
    for verb in ["recall", "find"] {
        let told = "not searched: big.md: 100 MB is too large";
        has(&home.run(&[verb, "body"]).err, [told]);
    }
    assert_eq!(fs::metadata(&big).expect("there").len(), 100 << 20);
}

#[test]
fn a_file_that_may_not_be_read() {
    let home = Home::new();
    store(&home);
    let secret = home.memory("secret.md", "x\n");
    let run = |args: &str| home.run_without_rights(args);
    chmod(&secret, 0o000);
    for args in ["read secret.md", "patch secret.md --old x --new y"] {
        let output = run(args);
        is_one_line(&output, ["secret.md"]);
        let advised = output
            .err
            .contains("permission denied; check the owner and mode")
            || output.err.contains("read-only");
        assert!(advised, "{}", output.err);
    }
    let list = run("list");
    assert_eq!(list.code, 0, "{list:?}");
    has(&list.out, ["a.md"]);
    has(&list.err, ["secret.md"]);
    chmod(home.project().join(".memory"), 0o555);
    is_one_line(
        &run("patch a.md --old body --new b"),
        ["a.md: permission denied; check the owner and mode"],
    );
    chmod(home.project().join(".memory"), 0o755);
}

/// Mounts a small file system, which needs privileges that not every machine grants.
struct SmallDisk<'a>(&'a Path);

impl<'a> SmallDisk<'a> {
    fn mount(at: &'a Path) -> Option<Self> {
        fs::create_dir_all(at).expect("a folder");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"])
            .arg(at)
            .output();
        mounted
            .is_ok_and(|output| output.status.success())
            .then_some(Self(at))
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg(self.0).status();
        assert!(unmounted.is_ok_and(|status| status.success()), "unmounted");
    }
}

#[test]
fn a_full_disk() {
    let home = Home::new();
    let root = home.project().join(".memory");
    let Some(_disk) = SmallDisk::mount(&root) else {
        not_run("no right to mount a small file system here");
        return;
    };
    store(&home);
    fs::write(root.join("filler.md"), "x".repeat(44 << 10)).expect("fills the disk");
    let much = "word ".repeat(6 << 10);
    fails(
        &home,
        &["write", "new.md", "--type", "user", "--content", &much],
        [
            "new.md",
            "no space left on the disk; free some and try again",
        ],
    );
    fails(
        &home,
        &["patch", "a.md", "--old", "body", "--new", &much],
        ["a.md", "no space left on the disk"],
    );
    fs::remove_file(root.join("filler.md")).expect("space is freed");
    home.ok("write new.md --type user --content fits");
    home.ok("undo");
}

#[test]
fn arguments_that_are_not_utf8_are_refused() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let home = Home::new();
    store(&home);
    let odd = OsStr::from_bytes(b"a\xff.md");
    for verb in [
        "read", "find", "recall", "delete", "nosuch", "hook", "curate",
    ] {
        let output = RunOutput::of_command(home.command(verb).arg(odd));
        lacks(&output.err, ["panicked"]);
        let expected = if verb == "hook" { 0 } else { 2 };
        assert_eq!(output.code, expected, "{verb}: {output:?}");
        let is_said = !output.err.is_empty();
        assert!(verb == "hook" || is_said, "{verb} says nothing");
    }
    // A directory may have any name.
    let folder = home.project().join(odd);
    fs::create_dir_all(folder.join(".git")).expect("a folder");
    let memory = folder.join(".memory");
    fs::create_dir_all(&memory).expect("a folder");
    fs::write(memory.join("MEMORY.md"), "# Mine\n\n- [a](a.md) — a\n").expect("writes");
    fs::write(memory.join("a.md"), "---\nname: a\n---\n\nA quokka.\n").expect("writes");
    for args in [
        "list --json",
        "stores --json",
        "read a.md --json",
        "recall quokka --json",
        "find quokka --json",
        "curate --json",
        "review --json",
        "context --json",
        "context --agent claude-code --json",
        "stats --json",
        "doctor --json",
        "logs --json",
        "toc --json",
        "history --json",
        "index --check --json",
        "setup claude-code --dry-run --json",
        "setup claude-code --project --dry-run --json",
        "rehome --dry-run --json",
    ] {
        let output = home.run_in(&folder, args);
        lacks(&output.err, ["panicked"]);
        assert!((0..=2).contains(&output.code), "{args}: {output:?}");
    }
    for args in [
        "write b.md --type user --content b",
        "append a.md --content b",
        "delete a.md",
    ] {
        let output = home.run_in(&folder, args);
        assert_eq!(output.code, 2, "{args}: {output:?}");
        has(&output.err, ["the path is not UTF-8", "rename the folder"]);
    }
    let left = fs::read_to_string(memory.join("a.md")).expect("reads");
    has(&left, ["A quokka."]);
}

#[test]
fn a_limit_for_the_size_of_files_is_an_error() {
    let home = Home::new();
    store(&home);
    let before = tree(&home.project());
    let text = "x".repeat(100_000);
    let write = format!("write big.md --type user --name b --description d --content {text}");
    let output = RunOutput::of_command(&mut home.command_after("ulimit -f 8", &write));
    assert_eq!(output.code, 2, "{}", output.err);
    let is_told = output.err.contains("too large") || output.err.contains("File");
    assert!(is_told, "{}", output.err);
    assert!(tree(&home.project()) == before, "{}", output.err);
}
