//! Bad input: the error is one line that names the file and what to do; nothing changes.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use crate::support::{Home, has, not_run, tree};

fn store(home: &Home) {
    home.file(
        "project/.memory/MEMORY.md",
        "# Memory\n\n## User\n- [A](a.md) - d\n",
    );
    home.file(
        "project/.memory/a.md",
        "---\nname: A\ndescription: d\ntype: user\n---\n\nbody\n",
    );
}

/// Runs a change that must fail with one line that contains all of `expected`.
fn fails(home: &Home, args: &[&str], expected: &[&str]) {
    let before = tree(&home.project());
    let output = home.run(args);
    assert_eq!(output.code, 2, "{args:?}: {output:?}");
    assert_eq!(output.err.lines().count(), 1, "{args:?}: {}", output.err);
    for part in expected {
        assert!(output.err.contains(part), "{part:?} in {}", output.err);
    }
    assert_eq!(tree(&home.project()), before, "{args:?} changed something");
}

#[test]
fn a_directory_where_a_file_should_be() {
    let home = Home::new();
    store(&home);
    fs::create_dir(home.project().join(".memory/dir.md")).expect("a folder");
    for args in [
        vec!["read", "dir.md"],
        vec!["patch", "dir.md", "--old", "a", "--new", "b"],
        vec!["write", "dir.md", "--type", "user", "--content", "x"],
        vec!["delete", "dir.md"],
    ] {
        fails(&home, &args, &["dir.md", "is a directory; name a file"]);
    }
}

#[test]
fn a_read_only_file() {
    let home = Home::new();
    store(&home);
    let file = home.project().join(".memory/a.md");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).expect("a mode");
    for args in [
        vec!["patch", "a.md", "--old", "body", "--new", "b"],
        vec!["write", "a.md", "--content", "x"],
        vec!["delete", "a.md"],
        vec!["rename", "a.md", "b.md"],
    ] {
        fails(&home, &args, &["a.md", "read-only", "chmod u+w"]);
    }
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("a mode");
    let index = home.project().join(".memory/MEMORY.md");
    fs::set_permissions(&index, fs::Permissions::from_mode(0o444)).expect("a mode");
    fails(&home, &["delete", "a.md"], &["MEMORY.md", "read-only"]);
}

#[test]
fn text_that_is_not_utf8() {
    let home = Home::new();
    store(&home);
    home.file(
        "project/.memory/latin.md",
        b"---\nname: latin\ndescription: caf\xe9\ntype: user\n---\nbody\n",
    );
    for args in [
        vec!["patch", "latin.md", "--old", "body", "--new", "b"],
        vec!["append", "latin.md", "--content", "x"],
    ] {
        fails(
            &home,
            &args,
            &[
                "latin.md",
                "not UTF-8 text (byte 32)",
                "convert it to UTF-8",
            ],
        );
    }
    let list = home.run(&["list"]);
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
    home.file(
        "project/.memory/open.md",
        "---\nname: open\ntype: user\n\nbody\n",
    );
    fails(
        &home,
        &["write", "open.md", "--type", "user", "--content", "x"],
        &["open.md:1:", "never closed", "add a line ---"],
    );
    fails(
        &home,
        &["write", "new.md", "--content", "---\nname: n\nbody\n"],
        &["new.md:1:", "never closed"],
    );
    has(
        &home.run(&["list"]).err,
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
        vec!["read", "big.md"],
        vec!["patch", "big.md", "--old", "a", "--new", "b"],
        vec!["append", "big.md", "--content", "x"],
    ] {
        let output = home.run(&args);
        assert_eq!(
            (output.code, output.err.lines().count()),
            (2, 1),
            "{output:?}"
        );
        has(&output.err, ["big.md: 100 MB is too large"]);
    }
    let list = home.run(&["list"]);
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
    let secret = home.file("project/.memory/secret.md", "x\n");
    let run = |args: &[&str]| home.run_without_rights(args);
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o000)).expect("a mode");
    for args in [
        vec!["read", "secret.md"],
        vec!["patch", "secret.md", "--old", "x", "--new", "y"],
    ] {
        let output = run(&args);
        assert_eq!(
            (output.code, output.err.lines().count()),
            (2, 1),
            "{output:?}"
        );
        has(&output.err, ["secret.md"]);
        let advised = output
            .err
            .contains("permission denied; check the owner and mode")
            || output.err.contains("read-only");
        assert!(advised, "{}", output.err);
    }
    let list = run(&["list"]);
    assert_eq!(list.code, 0, "{list:?}");
    has(&list.out, ["a.md"]);
    has(&list.err, ["secret.md"]);
    fs::set_permissions(
        home.project().join(".memory"),
        fs::Permissions::from_mode(0o555),
    )
    .expect("a mode");
    let output = run(&["patch", "a.md", "--old", "body", "--new", "b"]);
    assert_eq!(
        (output.code, output.err.lines().count()),
        (2, 1),
        "{output:?}"
    );
    has(
        &output.err,
        ["a.md: permission denied; check the owner and mode"],
    );
    fs::set_permissions(
        home.project().join(".memory"),
        fs::Permissions::from_mode(0o755),
    )
    .expect("a mode");
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
        &[
            "new.md",
            "no space left on the disk; free some and try again",
        ],
    );
    fails(
        &home,
        &["patch", "a.md", "--old", "body", "--new", &much],
        &["a.md", "no space left on the disk"],
    );
    fs::remove_file(root.join("filler.md")).expect("space is freed");
    home.ok(&["write", "new.md", "--type", "user", "--content", "fits"]);
    home.ok(&["undo"]);
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
        let output = home.command(&[verb]).arg(odd).output().expect("runs");
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!err.contains("panicked"), "{verb}: {err}");
        let expected = if verb == "hook" { 0 } else { 2 };
        assert_eq!(output.status.code(), Some(expected), "{verb}: {err}");
        assert!(verb == "hook" || !err.is_empty(), "{verb} says nothing");
    }
    // A directory may have any name.
    let folder = home.project().join(odd);
    fs::create_dir_all(folder.join(".git")).expect("a folder");
    fs::create_dir_all(folder.join(".memory")).expect("a folder");
    fs::write(
        folder.join(".memory/MEMORY.md"),
        "# Mine\n\n- [a](a.md) — a\n",
    )
    .expect("writes");
    fs::write(
        folder.join(".memory/a.md"),
        "---\nname: a\n---\n\nA quokka.\n",
    )
    .expect("writes");
    for args in [
        &["list", "--json"][..],
        &["stores", "--json"],
        &["read", "a.md", "--json"],
        &["recall", "quokka", "--json"],
        &["find", "quokka", "--json"],
        &["curate", "--json"],
        &["review", "--json"],
        &["context", "--json"],
        &["context", "--agent", "claude-code", "--json"],
        &["stats", "--json"],
        &["doctor", "--json"],
        &["logs", "--json"],
        &["toc", "--json"],
        &["history", "--json"],
        &["index", "--check", "--json"],
        &["setup", "claude-code", "--dry-run", "--json"],
        &["setup", "claude-code", "--project", "--dry-run", "--json"],
        &["rehome", "--dry-run", "--json"],
    ] {
        let output = home
            .command(args)
            .current_dir(&folder)
            .output()
            .expect("runs");
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!err.contains("panicked"), "{args:?}: {err}");
        assert!(
            output.status.code().is_some_and(|code| code <= 2),
            "{args:?}: {err}"
        );
    }
    for args in [
        &["write", "b.md", "--type", "user", "--content", "b"][..],
        &["append", "a.md", "--content", "b"],
        &["delete", "a.md"],
    ] {
        let output = home
            .command(args)
            .current_dir(&folder)
            .output()
            .expect("runs");
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {err}");
        assert!(err.contains("the path is not UTF-8"), "{args:?}: {err}");
        assert!(err.contains("rename the folder"), "{args:?}: {err}");
    }
    let left = fs::read_to_string(folder.join(".memory/a.md")).expect("reads");
    has(&left, ["A quokka."]);
}

#[test]
fn a_limit_for_the_size_of_files_is_an_error() {
    let home = Home::new();
    store(&home);
    let before = crate::support::tree(&home.project());
    let program = home.command(&[
        "write",
        "big.md",
        "--type",
        "user",
        "--name",
        "b",
        "--description",
        "d",
        "--content",
        &"x".repeat(100_000),
    ]);
    let mut limited = std::process::Command::new("sh");
    limited.args(["-c", "ulimit -f 8; exec \"$0\" \"$@\""]);
    limited.arg(program.get_program()).args(program.get_args());
    limited.current_dir(home.project()).env_clear();
    limited.envs(
        program
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    let output = limited.output().expect("runs");
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert!(err.contains("too large") || err.contains("File"), "{err}");
    assert!(crate::support::tree(&home.project()) == before, "{err}");
}
