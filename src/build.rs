//! The build script: sets the version that `tome --version` prints, with the commit.
//!
//! In a debug build, from a tarball or without git, it is the version alone: with the commit,
//! every new commit would rebuild everything during development.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let released = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let tome_version = match released.then(commit).flatten() {
        Some(commit) => format!("{version} ({commit})"),
        None => version,
    };
    tell("rerun-if-changed=src/build.rs");
    tell(&format!("rustc-env=TOME_VERSION={tome_version}"));
}

/// The commit and its day, as `abc1234 2026-11-15`.
fn commit() -> Option<String> {
    // Without a `.git` here, git would report the commit of a repository further up.
    if !Path::new(".git").exists() {
        return None;
    }
    // Only existing files: with a missing one, cargo rebuilds every time.
    let head = git(&["symbolic-ref", "--quiet", "HEAD"]);
    for name in ["HEAD", "packed-refs"].into_iter().chain(head.as_deref()) {
        let path = git(&["rev-parse", "--git-path", name]);
        if let Some(path) = path.filter(|path| Path::new(path).exists()) {
            tell(&format!("rerun-if-changed={path}"));
        }
    }
    git(&["log", "-1", "--abbrev=7", "--format=%h %cs"])
}

fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let text = text.trim();
    (output.status.success() && !text.is_empty()).then(|| text.to_owned())
}

/// Prints an instruction for cargo.
fn tell(what: &str) {
    println!("cargo:{what}");
}
