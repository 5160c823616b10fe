//! The searched locations of stores and logs, for users who have none.

use std::path::{Path, PathBuf};

use super::Environment;
use crate::core::log::{Agent, LogLocations};
use crate::core::memory::config::{Settings, expand};

/// The searched locations of one owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchedPlace {
    /// The agent or the kind of store.
    pub owner: &'static str,
    /// The locations, with the home directory as `~`.
    pub locations: Vec<String>,
}

/// Returns where stores and logs are searched, agent by agent.
pub fn searched_places(
    environment: &Environment,
    settings: &Settings,
    locations: &LogLocations,
) -> Vec<SearchedPlace> {
    let short = |path: &Path| match path.strip_prefix(&environment.home) {
        Ok(rest) => format!("~/{}", rest.display()),
        Err(_) => path.display().to_string(),
    };
    let row = |owner: &'static str, paths: Vec<PathBuf>| SearchedPlace {
        owner,
        locations: paths.iter().map(|path| short(path)).collect(),
    };
    let mut rows = Vec::new();
    if settings.discover_project {
        let here = super::PROJECT_PLACES.iter().map(|(place, _)| *place);
        let names = here.chain(["CLAUDE.md", "AGENTS.md", "GEMINI.md", "QWEN.md"]);
        rows.push(SearchedPlace {
            owner: "this project",
            locations: names.map(str::to_owned).collect(),
        });
    }
    for (agent, homes, folder, _) in locations.places() {
        let memories = match agent {
            Agent::ClaudeCode => Some("agent-memory"),
            Agent::Codex | Agent::Qwen => Some("memories"),
            _ => None,
        };
        let memories = memories.filter(|_| settings.discover_home);
        let folders = [folder].into_iter().chain(memories);
        let paths = homes
            .first()
            .map(|home| folders.map(|folder| home.join(folder)).collect());
        rows.push(row(agent.name(), paths.unwrap_or_default()));
        if agent == Agent::Opencode {
            rows.push(SearchedPlace {
                owner: Agent::Aider.name(),
                locations: vec![super::AIDER_LOG.to_owned()],
            });
        }
    }
    rows.push(row("sessions", locations.sessions.clone()));
    if settings.discover_home {
        let lessons = expand(&settings.coder_path, &environment.home, &environment.cwd);
        let letta = environment.letta.iter().take(1);
        rows.push(row(
            "letta",
            letta.map(|home| home.join("agents")).collect(),
        ));
        rows.push(row("lessons", vec![lessons]));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_agent_with_logs_of_its_own_is_named_with_a_place() {
        let home = Path::new("/home/kim");
        let environment =
            Environment::of_home(home, home.join("shop"), home.join(".local/share/tome"));
        let rows = searched_places(
            &environment,
            &Settings::default(),
            &LogLocations::of_home(home),
        );
        // Sessions and events are layouts, not agents.
        for agent in Agent::all().filter(|a| !matches!(a, Agent::Session | Agent::Events)) {
            let row = rows.iter().find(|row| row.owner == agent.name());
            let locations = &row.expect("a row").locations;
            assert!(
                locations.iter().all(|place| !place.contains("/home")),
                "{locations:?}"
            );
            assert!(!locations.is_empty(), "{}", agent.name());
        }
        assert!(rows.iter().any(|row| row.locations == ["~/.ai/sessions"]));
    }
}
