//! Claude Code's own memory of the project, in the directory that its settings give, and the further
//! stores that it is told of.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Candidate, Environment, Project, name_of, project_of_slug, subfolders};
use crate::core::disk::foreign::{LARGEST_SETTINGS, read_text};
use crate::core::disk::trust::{Refusal, TrustBoundary};
use crate::core::memory::config::{Settings, expand};
use crate::core::memory::layout::Layout;

/// A further directory with memories of Claude Code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaudeStore {
    /// The directory.
    pub root: PathBuf,
    /// Whether Claude Code only reads there.
    pub is_read_only: bool,
}

/// The stores of a value of `CLAUDE_MEMORY_STORES`: a JSON list of paths and of objects with a `path`
/// and perhaps a `mode`, `rw` or `ro`. The error is what is wrong, for the user.
pub fn claude_stores(value: &str) -> Result<Vec<ClaudeStore>, String> {
    if value.trim().is_empty() {
        return Ok(Vec::new());
    }
    let listed: Vec<Value> = serde_json::from_str(value)
        .map_err(|_| "no JSON list of paths, which is what Claude Code takes".to_owned())?;
    let store = |one: &Value| {
        let path = one.as_str().or_else(|| one.get("path")?.as_str());
        let path = path.filter(|path| Path::new(path).is_absolute());
        let is_read_only = match one.get("mode").map(Value::as_str) {
            None | Some(Some("rw")) => Some(false),
            Some(Some("ro")) => Some(true),
            Some(_) => None,
        };
        Some(ClaudeStore {
            root: PathBuf::from(path?),
            is_read_only: is_read_only?,
        })
    };
    let stores = listed.iter().map(|one| {
        store(one).ok_or_else(|| {
            format!("{one} is no absolute path and no object with a path and the mode rw or ro")
        })
    });
    stores.collect()
}

/// Adds Claude Code's own memory of the project.
pub(super) fn claude_memory(
    environment: &Environment,
    project: &Project,
    border: &TrustBoundary,
    found: &mut Vec<Candidate>,
    refused: &mut Vec<Refusal>,
) {
    let mut push = |root: PathBuf, why: &str| {
        found.push(Candidate::new("claude", root, Some(Layout::Index), why));
    };
    if let Some(elsewhere) = auto_memory_directory(environment, project, border, refused) {
        push(elsewhere, "autoMemoryDirectory of Claude Code");
    }
    let projects = environment.claude.join("projects");
    let why = "Claude Code's memory of this project";
    if let Some(name) = &environment.claude_project {
        push(projects.join(name).join("memory"), why);
    }
    let slug = claude_slug(&project.shared_root);
    if slug.len() <= LONGEST_SLUG {
        push(projects.join(slug).join("memory"), why);
        return;
    }
    // A long name is cut and ends in a hash that only Claude Code computes.
    let start = &slug[..LONGEST_SLUG];
    for folder in subfolders(&projects) {
        if name_of(&folder).starts_with(start) {
            push(folder.join("memory"), why);
        }
    }
}

/// Returns the directory of Claude Code's own memory of the project; it may not exist.
pub fn claude_memory_root(environment: &Environment, settings: &Settings) -> Option<PathBuf> {
    let project = Project::of(&environment.cwd);
    let border = project.border(environment, settings);
    let (mut found, mut refused) = (Vec::new(), Vec::new());
    claude_memory(environment, &project, &border, &mut found, &mut refused);
    // The directory of the settings comes first, then the one that a variable names.
    found.into_iter().next().map(|candidate| candidate.root)
}

const LONGEST_SLUG: usize = 200;

/// Returns the name of a project's directory in Claude Code.
pub fn claude_slug(path: &Path) -> String {
    let path = path.to_string_lossy();
    path.chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect()
}

/// Returns the `autoMemoryDirectory` of Claude Code's settings; the most specific file wins. A
/// directory in a project's own settings must be inside the trust boundary.
fn auto_memory_directory(
    environment: &Environment,
    project: &Project,
    border: &TrustBoundary,
    refused: &mut Vec<Refusal>,
) -> Option<PathBuf> {
    let root = project.root();
    for name in [".claude/settings.local.json", ".claude/settings.json"] {
        let file = root.join(name);
        let allowed = border.check_present(&file).and_then(|()| {
            let named = directory_of(&file, environment, root);
            let checked = named.as_ref().map(|named| border.check_named(&file, named));
            checked.transpose().map(|_| named)
        });
        match allowed {
            Ok(None) => {}
            Ok(Some(directory)) => return Some(directory),
            Err(refusal) => refused.push(refusal),
        }
    }
    directory_of(&environment.claude.join("settings.json"), environment, root)
}

/// Returns the directory that one settings file gives.
fn directory_of(file: &Path, environment: &Environment, root: &Path) -> Option<PathBuf> {
    let text = read_text(file, LARGEST_SETTINGS).ok()??;
    let settings: serde_json::Value = serde_json::from_str(&text).ok()?;
    let path = settings.get("autoMemoryDirectory")?.as_str()?;
    Some(expand(path, &environment.home, root))
}

pub(super) fn all_claude_memories(environment: &Environment, found: &mut Vec<Candidate>) {
    for folder in subfolders(&environment.claude.join("projects")) {
        found.push(Candidate::new(
            format!(
                "claude@{}",
                project_of_slug(&environment.home, &name_of(&folder))
            ),
            folder.join("memory"),
            Some(Layout::Index),
            "Claude Code's memory of another project",
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_are_listed_in_json() {
        let value = r#"["/a", {"path": "/b", "mode": "ro", "mount": "m"}, {"path": "/c"}]"#;
        let read: Vec<(PathBuf, bool)> = claude_stores(value)
            .expect("is read")
            .into_iter()
            .map(|store| (store.root, store.is_read_only))
            .collect();
        let store = |root: &str, is_read_only| (PathBuf::from(root), is_read_only);
        assert_eq!(
            read,
            [store("/a", false), store("/b", true), store("/c", false)]
        );
        assert_eq!(claude_stores(" "), Ok(Vec::new()));
        for wrong in [
            "/a:/b",
            r#""/a""#,
            r#"["a"]"#,
            r#"[{"path": "/a", "mode": "x"}]"#,
            "[3]",
        ] {
            assert!(claude_stores(wrong).is_err(), "{wrong}");
        }
    }
}
