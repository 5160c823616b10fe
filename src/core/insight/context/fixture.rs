//! Layouts of files for the tests of each agent's rules.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Draft, Piece, Start, pieces};
use crate::core::log::Agent;
use crate::core::memory::config::Settings;
use crate::core::memory::discover::Environment;

/// A home directory with the files of a test.
pub(super) struct Home {
    dir: tempfile::TempDir,
}

impl Home {
    /// Creates the files; a text that starts with `-> ` is a link to a target.
    pub(super) fn with(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let home = Self { dir };
        for (path, text) in files {
            let path = home.path().join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
            match text.strip_prefix("-> ") {
                Some(target) => std::os::unix::fs::symlink(target, path).expect("a link"),
                _ => fs::write(path, text).expect("written"),
            }
        }
        home
    }

    pub(super) fn path(&self) -> PathBuf {
        self.dir.path().canonicalize().expect("canonical")
    }

    /// Returns the pieces that an agent loads in a directory.
    pub(super) fn pieces(&self, agent: Agent, cwd: &str) -> Vec<Piece> {
        self.pieces_with(agent, cwd, None)
    }

    /// Returns the pieces that an agent would load with a draft.
    pub(super) fn pieces_with(&self, agent: Agent, cwd: &str, draft: Option<&Draft>) -> Vec<Piece> {
        pieces_in(&self.path(), agent, cwd, draft)
    }

    /// Returns the path, the kind and the text of each piece, or what is cut; the home is `~`.
    pub(super) fn told(&self, agent: Agent, cwd: &str) -> Vec<String> {
        self.told_with(agent, cwd, &[])
    }

    /// The same with variables of the environment; in their values, `~` is the home.
    pub(super) fn told_with(
        &self,
        agent: Agent,
        cwd: &str,
        variables: &[(&str, &str)],
    ) -> Vec<String> {
        let home = self.path();
        let place = home.display().to_string();
        let variables = variables.iter();
        let variables: Vec<(String, String)> = variables
            .map(|(name, value)| ((*name).to_owned(), value.replace('~', &place)))
            .collect();
        let pieces = with_variables(&home, (agent, cwd), &variables, None).into_iter();
        let told = pieces.map(|piece| {
            let path = piece.path.strip_prefix(&home).unwrap_or(&piece.path);
            let cut = piece.cut.map(|cut| format!(" [{cut}]")).unwrap_or_default();
            let line = format!(
                "{} {}: {:?}{cut}",
                piece.kind.name(),
                Path::display(path),
                piece.text
            );
            line.replace(&home.display().to_string(), "~")
        });
        told.collect()
    }
}

/// Returns the pieces that an agent loads in a directory of a home.
pub(crate) fn pieces_in(home: &Path, agent: Agent, cwd: &str, draft: Option<&Draft>) -> Vec<Piece> {
    with_variables(home, (agent, cwd), &[], draft)
}

fn with_variables(
    home: &Path,
    (agent, cwd): (Agent, &str),
    variables: &[(String, String)],
    draft: Option<&Draft>,
) -> Vec<Piece> {
    let start = Start {
        environment: &Environment::of_home(home, home.join(cwd), home.join("data")),
        settings: &Settings::default(),
        managed: &home.join("managed"),
        opencode: &home.join(".config/opencode"),
        copilot: &home.join(".copilot"),
        variables,
        draft,
    };
    pieces(agent, &start).expect("a known agent")
}
