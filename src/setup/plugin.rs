//! Files that belong to tome alone: the Claude Code plugin, Copilot's hooks, OpenCode's plugin.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::plan::{EVENTS, group, handler};
use super::{FileStep, Plan, SettingsDirs, SetupBorder, file, quoted, quoted_for_powershell};
use crate::core::log::Agent;
use crate::core::memory::layout::coder::GUIDES;
use crate::core::{Error, Result};

/// The commands of the plugin, and the agent that walks the timeline.
const OWN: [(&str, &str); 4] = [
    (
        "commands/search.md",
        include_str!("../../assets/plugin/search.md"),
    ),
    (
        "commands/recent.md",
        include_str!("../../assets/plugin/recent.md"),
    ),
    (
        "commands/context.md",
        include_str!("../../assets/plugin/context.md"),
    ),
    (
        "agents/navigator.md",
        include_str!("../../assets/plugin/navigator.md"),
    ),
];

/// Plans a Claude Code plugin in `folder`; files that are up to date are left out. A file that tome
/// did not write is not replaced.
pub fn plugin(dirs: &SettingsDirs, folder: &Path, program: &str) -> Result<Plan> {
    let border = SetupBorder::Plugin(folder.to_owned());
    let mut steps = Vec::new();
    for (name, text) in files(program) {
        let path = folder.join(name);
        border.check_links(&path)?;
        let before = file::read(&path)?;
        if before.as_ref() == Some(&text) {
            continue;
        }
        if let Some(before) = &before
            && !file::is_ours(&dirs.memory, &path, before)
        {
            let reason = "tome did not write this file; move it away, or choose another folder";
            return Err(Error::refused(path.display().to_string(), reason));
        }
        steps.push(FileStep {
            path,
            before,
            after: Some(text),
        });
    }
    Ok(Plan {
        steps,
        notes: vec![format!(
            "try it with claude --plugin-dir {}",
            folder.display()
        )],
        border,
    })
}

fn files(program: &str) -> Vec<(PathBuf, String)> {
    let command = format!("{} hook {}", quoted(program), Agent::ClaudeCode.name());
    let hooks: Map<String, Value> = EVENTS
        .iter()
        .map(|(event, matcher)| {
            (
                (*event).to_owned(),
                json!([group(*matcher, handler(&command, event))]),
            )
        })
        .collect();
    let manifest = json!({
        "name": "tome",
        "version": env!("CARGO_PKG_VERSION"),
        "description": env!("CARGO_PKG_DESCRIPTION"),
        "license": env!("CARGO_PKG_LICENSE"),
    });
    let servers = json!({ "mcpServers": { "tome": { "command": program, "args": ["mcp"] } } });
    let mut files = vec![
        (".claude-plugin/plugin.json".into(), pretty(&manifest)),
        (
            "hooks/hooks.json".into(),
            pretty(&json!({ "hooks": hooks })),
        ),
        (".mcp.json".into(), pretty(&servers)),
        (
            "skills/recall/SKILL.md".into(),
            skill(
                "recall",
                "Look up what is remembered about the user, the project or earlier conversations before going on.",
                include_str!("../../assets/guides/recall.md"),
            ),
        ),
        (
            "skills/store/SKILL.md".into(),
            skill(
                "store",
                "Store what was learned in this conversation as a memory for later ones.",
                include_str!("../../assets/guides/store.md"),
            ),
        ),
    ];
    for (name, text) in OWN {
        files.push((name.into(), text.to_owned()));
    }
    for (name, text) in GUIDES {
        files.push((Path::new("guides").join(name), text.to_owned()));
    }
    files
}

fn skill(name: &str, about: &str, guide: &str) -> String {
    format!("---\nname: {name}\ndescription: {about}\n---\n\n{guide}")
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

/// Copilot CLI's hooks. Its payloads do not name the event, so the command does.
pub(super) fn copilot(program: &str) -> String {
    let events = [
        "sessionStart",
        "userPromptSubmitted",
        "postToolUse",
        "agentStop",
        "subagentStart",
        "subagentStop",
        "preCompact",
        "sessionEnd",
    ];
    let hooks: Map<String, Value> = events
        .iter()
        .map(|event| {
            let command = |program: String| {
                format!("{program} hook {} --event {event}", Agent::Copilot.name())
            };
            let handler = json!([{
                "type": "command",
                "bash": command(quoted(program)),
                "powershell": command(quoted_for_powershell(program)),
                "timeoutSec": 5,
            }]);
            ((*event).to_owned(), handler)
        })
        .collect();
    pretty(&json!({ "version": 1, "hooks": hooks }))
}

/// OpenCode's plugin, which sends events in the format of Claude Code.
pub(super) fn opencode(program: &str) -> String {
    include_str!("../../assets/setup/opencode.js")
        .replace("\"tome\"", &Value::from(program).to_string())
}
