//! The project around a working directory, and its trust boundary.

use std::path::{Path, PathBuf};

use super::{Environment, claude_slug};
use crate::core::disk::foreign::read_text;
use crate::core::disk::trust::TrustBoundary;
use crate::core::memory::config::{Settings, allowed_by, expand};

/// The project around a working directory.
pub(super) struct Project {
    /// The working directory and the folders above it, up to the git root.
    pub(super) folders: Vec<PathBuf>,
    /// The root that worktrees share, which is the key of Claude Code's memory.
    pub(super) shared_root: PathBuf,
}

impl Project {
    pub(super) fn of(cwd: &Path) -> Self {
        let git_root = cwd.ancestors().find(|folder| folder.join(".git").exists());
        let folders = match git_root {
            Some(root) => cwd
                .ancestors()
                .take_while(|folder| folder.starts_with(root))
                .map(Path::to_owned)
                .collect(),
            None => vec![cwd.to_owned()],
        };
        let root = git_root.unwrap_or(cwd);
        Self {
            folders,
            shared_root: main_worktree(root).unwrap_or_else(|| root.to_owned()),
        }
    }

    /// Returns the project's root.
    pub(super) fn root(&self) -> &Path {
        self.folders.last().unwrap_or(&self.shared_root)
    }

    /// Returns the trust boundary of the project; outside of it, agents' directories for this
    /// project and paths in the user's settings are allowed.
    pub(super) fn border(&self, environment: &Environment, settings: &Settings) -> TrustBoundary {
        let slug = claude_slug(&self.shared_root);
        let claude = &environment.claude;
        let well_known = [
            claude.join("projects").join(slug).join("memory"),
            claude.join("agent-memory"),
        ];
        let coder = expand(&settings.coder_path, &environment.home, Path::new(""));
        let allowed = well_known
            .into_iter()
            .chain(environment.codex_memories())
            .chain(Some(coder).filter(|path| path.is_absolute()))
            .chain(allowed_by(settings, &environment.home));
        TrustBoundary::of_project(self.root(), allowed).with_own_folders([
            environment.claude.clone(),
            environment.codex.clone(),
            environment.gemini.clone(),
        ])
    }
}

/// Returns the working directory and the folders above it that belong to the same project.
pub fn project_folders(cwd: &Path) -> Vec<PathBuf> {
    Project::of(cwd).folders
}

/// Returns the trust boundary of the project around a folder.
pub fn project_border(
    environment: &Environment,
    settings: &Settings,
    folder: &Path,
) -> TrustBoundary {
    Project::of(folder).border(environment, settings)
}

/// Returns the root of the main work tree if a folder is in a linked one.
pub fn linked_to(folder: &Path) -> Option<PathBuf> {
    let project = Project::of(folder);
    (project.root() != project.shared_root).then(|| project.shared_root.clone())
}

/// Returns the main work tree if `root` is a linked one: its `.git` is a file that points there,
/// and git's file there points back. Without that check, any directory could claim to belong
/// to another.
fn main_worktree(root: &Path) -> Option<PathBuf> {
    const LONGEST: u64 = 64 << 10;
    let file = root.join(".git");
    if file.is_symlink() {
        // Git creates a file; a link could lead to that of another work tree.
        return None;
    }
    let pointer = read_text(&file, LONGEST).ok()??;
    let gitdir = root.join(pointer.strip_prefix("gitdir:")?.trim());
    let gitdir = gitdir.canonicalize().ok()?;
    let worktrees = gitdir.parent().filter(|dir| dir.ends_with("worktrees"))?;
    let note = read_text(&gitdir.join("gitdir"), LONGEST).ok()??;
    let back = gitdir.join(note.trim()).canonicalize().ok()?;
    if back != file.canonicalize().ok()? {
        return None;
    }
    let main = worktrees.parent()?.parent()?;
    main.canonicalize().ok()
}
