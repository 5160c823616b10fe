//! What an agent loads in a home of a test, and how it is told.

use std::path::Path;

use super::{Draft, Piece, Start, pieces};
use crate::core::fixture::{Case, Home};
use crate::core::log::Agent;
use crate::core::memory::config::Settings;
use crate::core::memory::discover::Environment;

impl Home {
    /// Returns the pieces that an agent loads in a directory, with a draft if there is one.
    pub(super) fn pieces(&self, agent: Agent, cwd: &str, draft: Option<&Draft>) -> Vec<Piece> {
        pieces_with(&self.path(), (agent, cwd), &[], draft)
    }

    /// Describes the pieces that an agent loads in a directory.
    pub(super) fn told(&self, agent: Agent, cwd: &str) -> Vec<String> {
        told(&self.path(), &self.pieces(agent, cwd, None))
    }
}

/// Describes what is loaded in a case: by its `agent`, started `in` a directory, with variables of
/// the environment. With `order: any`, the order is that of the file system and not told.
pub(super) fn told_of_case(case: &Case) -> String {
    let home = case.home.path();
    let agent = Agent::named(case.setting("agent").unwrap_or_default()).expect("an agent");
    let cwd = case.setting("in").unwrap_or_default();
    let mut told = told(
        &home,
        &pieces_with(&home, (agent, cwd), &case.settings, None),
    );
    if case.setting("order") == Some("any") {
        told.sort();
    }
    told.join("\n")
}

/// Returns the kind, the path and the text of each piece, and what is cut.
fn told(home: &Path, pieces: &[Piece]) -> Vec<String> {
    let told = pieces.iter().map(|piece| {
        let path = piece.path.strip_prefix(home).unwrap_or(&piece.path);
        let cut = piece.cut.as_ref().map(|cut| format!(" [{cut}]"));
        let (kind, path, cut) = (piece.kind.name(), path.display(), cut.unwrap_or_default());
        format!("{kind} {path}: {:?}{cut}", piece.text)
    });
    told.collect()
}

fn pieces_with(
    home: &Path,
    (agent, cwd): (Agent, &str),
    variables: &[(String, String)],
    draft: Option<&Draft>,
) -> Vec<Piece> {
    let start = Start {
        environment: &Environment::of_home(home, home.join(cwd), home.join("data")),
        settings: &Settings::default(),
        managed: &home.join("managed"),
        copilot: &home.join(".copilot"),
        variables,
        draft,
    };
    pieces(agent, &start).expect("a known agent")
}
