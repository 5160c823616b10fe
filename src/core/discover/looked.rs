//! Where stores and logs are looked for, for somebody who has none.

use std::path::{Path, PathBuf};

use super::Surroundings;
use crate::core::config::{Settings, expand};
use crate::core::log::{Agent, Places};

/// Where something was looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Looked {
    /// Whose it would be.
    pub whose: &'static str,
    /// The places, with the home directory as `~`.
    pub places: Vec<String>,
}

/// Says where stores and logs are looked for, agent by agent.
pub fn looked(around: &Surroundings, settings: &Settings, places: &Places) -> Vec<Looked> {
    let short = |path: &Path| match path.strip_prefix(&around.home) {
        Ok(rest) => format!("~/{}", rest.display()),
        Err(_) => path.display().to_string(),
    };
    let row = |whose: &'static str, paths: Vec<PathBuf>| Looked {
        whose,
        places: paths.iter().map(|path| short(path)).collect(),
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
        let names = here.chain(["CLAUDE.md", "AGENTS.md", "GEMINI.md"]);
        rows.push(Looked {
            whose: "this project",
            places: names.map(str::to_owned).collect(),
        });
    }
    let memories: [&[&str]; 2] = if settings.discover_home {
        [&["projects", "agent-memory"], &["memories", "sessions"]]
    } else {
        [&["projects"], &["sessions"]]
    };
    rows.extend([
        row(Agent::ClaudeCode.name(), below(&places.claude, memories[0])),
        row(Agent::Codex.name(), below(&places.codex, memories[1])),
        row(Agent::Gemini.name(), below(&places.gemini, &["tmp"])),
        row(
            Agent::Copilot.name(),
            below(&places.copilot, &["session-state"]),
        ),
        row(Agent::Opencode.name(), below(&places.opencode, &[""])),
        Looked {
            whose: Agent::Aider.name(),
            places: vec![".aider.chat.history.md".to_owned()],
        },
        row(Agent::Pi.name(), below(&places.pi, &["sessions"])),
        row(Agent::Factory.name(), below(&places.factory, &["sessions"])),
        row(Agent::Cursor.name(), below(&places.cursor, &["projects"])),
        row("sessions", places.sessions.clone()),
    ]);
    if settings.discover_home {
        let lessons = expand(&settings.coder_path, &around.home, &around.cwd);
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
        let around = Surroundings {
            cwd: home.join("shop"),
            home: home.to_owned(),
            claude: home.join(".claude"),
            claude_project: None,
            codex: home.join(".codex"),
            gemini: home.join(".gemini"),
            data: home.join(".local/share/tome"),
        };
        let rows = looked(&around, &Settings::default(), &Places::of_home(home));
        // Sessions and events are layouts, not agents.
        for agent in Agent::all().filter(|a| !matches!(a, Agent::Session | Agent::Events)) {
            let row = rows.iter().find(|row| row.whose == agent.name());
            let places = &row.expect("a row").places;
            assert!(
                places.iter().all(|place| !place.contains("/home")),
                "{places:?}"
            );
            assert!(!places.is_empty(), "{}", agent.name());
        }
        assert!(rows.iter().any(|row| row.places == ["~/.ai/sessions"]));
    }
}
