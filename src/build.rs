//! The build script: sets the version that `tome --version` prints, with the commit, and a hash of the
//! core's sources, by which cached findings are known; with the feature `grpc`, it also generates the
//! messages of the gRPC door.
//!
//! In a debug build, from a tarball or without git, it is the version alone: with the commit,
//! every new commit would rebuild everything during development.

use std::collections::hash_map::DefaultHasher;
use std::env;
use std::hash::{Hash, Hasher};
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
    tell("rerun-if-changed=src/core");
    let mut sources = DefaultHasher::new();
    hash_files(Path::new("src/core"), &mut sources);
    tell(&format!("rustc-env=TOME_CORE={:x}", sources.finish()));
    #[cfg(feature = "grpc")]
    generate_messages();
}

/// Hashes the names and the content of all files below a directory.
fn hash_files(dir: &Path, hash: &mut DefaultHasher) {
    let entries = std::fs::read_dir(dir).expect("the sources are there");
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        path.hash(hash);
        if path.is_dir() {
            hash_files(&path, hash);
        } else {
            std::fs::read(&path).expect("a readable file").hash(hash);
        }
    }
}

/// Compiles the schema, without `protoc`; its descriptors are for reflection.
#[cfg(feature = "grpc")]
fn generate_messages() {
    const SCHEMA: &str = "assets/timeline.proto";
    tell(&format!("rerun-if-changed={SCHEMA}"));
    let mut schema = protox::Compiler::new(["assets"]).expect("the folder is there");
    // With the comments, which are the documentation of the schema and of the code.
    schema.include_imports(true).include_source_info(true);
    schema.open_file(SCHEMA).expect("the schema is valid");
    tonic_prost_build::configure()
        .build_client(false)
        .btree_map(".")
        .compile_fds(schema.file_descriptor_set())
        .expect("the code is written");
    let out = env::var("OUT_DIR").expect("cargo sets it");
    let descriptors = Path::new(&out).join("timeline.bin");
    std::fs::write(descriptors, schema.encode_file_descriptor_set()).expect("it is written");
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
