//! The project around a working directory, and the border around what it contains.

use std::path::{Path, PathBuf};

use super::{Environment, claude_slug};
use crate::core::config::{Settings, expand};
use crate::core::foreign::read_text;
use crate::core::trust::{TrustBoundary, allowed_by};

/// The project around a working directory.
pub(super) struct Project {
    /// The working directory and the folders above it, up to the git root.
    pub(super) folders: Vec<PathBuf>,
    /// The root that worktrees share, by which Claude Code keys its memory.
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

    /// The folder that the project ends at.
    pub(super) fn root(&self) -> &Path {
        self.folders.last().unwrap_or(&self.shared_root)
    }

    /// The border around what the project contains: beyond it, agents' own places for this
    /// project and what the person's settings name may be used.
    pub(super) fn border(&self, environment: &Environment, settings: &Settings) -> TrustBoundary {
        let slug = claude_slug(&self.shared_root);
        let well_known = [
            environment
                .claude
                .join("projects")
                .join(slug)
                .join("memory"),
            environment.claude.join("agent-memory"),
            environment.codex.join("memories"),
        ];
        let coder = expand(&settings.coder_path, &environment.home, Path::new(""));
        let allowed = well_known
            .into_iter()
            .chain(Some(coder).filter(|path| path.is_absolute()))
            .chain(allowed_by(settings, &environment.home));
        TrustBoundary::environment(self.root(), allowed).besides([
            environment.claude.clone(),
            environment.codex.clone(),
            environment.gemini.clone(),
        ])
    }
}

/// The working directory and the folders above it that belong to the same project.
pub fn project_folders(cwd: &Path) -> Vec<PathBuf> {
    Project::of(cwd).folders
}

/// The main work tree, when `root` is a linked one: its `.git` is a file that points there, and
/// git's own note there points back. Without the note, any directory could claim to belong to another.
fn main_worktree(root: &Path) -> Option<PathBuf> {
    const LONGEST: u64 = 64 << 10;
    let file = root.join(".git");
    if file.is_symlink() {
        // Git makes a file; a link could lead to that of another work tree.
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
