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
    let below = |homes: &[PathBuf], folders: &[&str]| -> Vec<PathBuf> {
        let first = homes.first().into_iter();
        first
            .flat_map(|home| folders.iter().map(|folder| home.join(folder)))
            .collect()
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
    let memories: [&[&str]; 3] = if settings.discover_home {
        [
            &["projects", "agent-memory"],
            &["memories", "sessions"],
            &["projects", "memories"],
        ]
    } else {
        [&["projects"], &["sessions"], &["projects"]]
    };
    rows.extend([
        row(
            Agent::ClaudeCode.name(),
            below(&locations.claude, memories[0]),
        ),
        row(Agent::Codex.name(), below(&locations.codex, memories[1])),
        row(Agent::Gemini.name(), below(&locations.gemini, &["tmp"])),
        row(
            Agent::Copilot.name(),
            below(&locations.copilot, &["session-state"]),
        ),
        row(Agent::Opencode.name(), below(&locations.opencode, &[""])),
        SearchedPlace {
            owner: Agent::Aider.name(),
            locations: vec![".aider.chat.history.md".to_owned()],
        },
        row(Agent::Pi.name(), below(&locations.pi, &["sessions"])),
        row(
            Agent::Factory.name(),
            below(&locations.factory, &["sessions"]),
        ),
        row(
            Agent::Cursor.name(),
            below(&locations.cursor, &["projects"]),
        ),
        row(
            Agent::CopilotChat.name(),
            below(&locations.editors, &["workspaceStorage"]),
        ),
        row(
            Agent::Antigravity.name(),
            below(&locations.gemini, &["antigravity-cli/brain"]),
        ),
        row(
            Agent::Cline.name(),
            below(&locations.cline, &["data/sessions"]),
        ),
        row(Agent::Qwen.name(), below(&locations.qwen, memories[2])),
        row(Agent::Kiro.name(), below(&locations.kiro, &["sessions"])),
        row(Agent::Kimi.name(), below(&locations.kimi, &["sessions"])),
        row(Agent::Goose.name(), below(&locations.goose, &["sessions"])),
        row(Agent::Crush.name(), below(&locations.crush, &[""])),
        row(
            Agent::Openclaw.name(),
            below(&locations.openclaw, &["agents"]),
        ),
        row(Agent::Hermes.name(), below(&locations.hermes, &[""])),
        row(
            Agent::Vibe.name(),
            below(&locations.vibe, &["logs/session"]),
        ),
        row(Agent::Grok.name(), below(&locations.grok, &["sessions"])),
        row(Agent::Amp.name(), below(&locations.amp, &["threads"])),
        row(
            Agent::Openhands.name(),
            below(&locations.openhands, &["conversations"]),
        ),
        row(Agent::Zed.name(), below(&locations.zed, &["threads"])),
        row(Agent::Warp.name(), below(&locations.warp, &[""])),
        row("sessions", locations.sessions.clone()),
    ]);
    if settings.discover_home {
        let lessons = expand(&settings.coder_path, &environment.home, &environment.cwd);
        rows.push(row("letta", below(&environment.letta, &["agents"])));
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
