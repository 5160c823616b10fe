//! Agents that were made from another one and write its logs under a home of their own.

use std::path::{Path, PathBuf};

use super::{Agent, LogLocations, location};

/// An agent that writes the logs of another one.
struct Fork {
    of: Agent,
    program: &'static str,
    /// Its home, below the user's.
    home: &'static str,
}

/// Their homes are known from their documentation and from public readers; Kilo's also from sessions
/// that version 7 wrote.
const FORKS: [Fork; 4] = [
    Fork {
        of: Agent::ClaudeCode,
        program: "openclaude",
        home: ".openclaude",
    },
    Fork {
        of: Agent::Codex,
        program: "traex",
        home: ".trae/cli",
    },
    Fork {
        of: Agent::Opencode,
        program: "kilo",
        home: ".local/share/kilo",
    },
    Fork {
        of: Agent::Pi,
        program: "omp",
        home: ".omp/agent",
    },
];

/// The directory of Claude's desktop program in which each Cowork session has a home of Claude Code.
const COWORK: &str = "local-agent-mode-sessions";

/// Returns the homes of all forks below `home`, each with the agent whose logs it holds.
pub(super) fn homes(home: &Path) -> Vec<(Agent, PathBuf)> {
    let forks = FORKS.iter().map(|fork| (fork.of, home.join(fork.home)));
    let settings = [".config", "Library/Application Support"];
    let cowork = settings.map(|folder| home.join(folder).join("Claude").join(COWORK));
    forks
        .chain(cowork.map(|path| (Agent::ClaudeCode, path)))
        .collect()
}

/// Returns the homes of forks of `agent`.
pub(super) fn homes_of(locations: &LogLocations, agent: Agent) -> Vec<PathBuf> {
    let homes = locations.forks.iter().filter(|(of, _)| *of == agent);
    homes
        .flat_map(|(_, home)| {
            if location::name(home) == COWORK {
                cowork_homes(home)
            } else {
                vec![home.clone()]
            }
        })
        .collect()
}

/// Returns the `.claude` directories of `<root>/<account>/<organization>/<session>`; a session of an
/// agent is one level deeper.
fn cowork_homes(root: &Path) -> Vec<PathBuf> {
    let mut level = vec![root.to_owned()];
    let mut homes = Vec::new();
    for _ in 0..4 {
        level = level
            .iter()
            .flat_map(|path| location::entries(path))
            .collect();
        level.retain(|path| path.is_dir() && location::name(path) != ".claude");
        let claude = level.iter().map(|path| path.join(".claude"));
        homes.extend(claude.filter(|path| path.is_dir()));
    }
    homes
}

/// Returns the program that continues the session in a log of `agent`: a fork's for the log of a
/// fork, `None` for a session of Cowork.
pub(super) fn program(agent: Agent, own: &'static str, log: &Path) -> Option<&'static str> {
    if log.components().any(|part| part.as_os_str() == COWORK) {
        return None;
    }
    let fork = FORKS.iter().find(|fork| {
        let home = Path::new(fork.home);
        fork.of == agent && log.ancestors().any(|path| path.ends_with(home))
    });
    Some(fork.map_or(own, |fork| fork.program))
}
