//! Files that belong to tome alone: the Claude Code plugin, Copilot's hooks, OpenCode's plugin.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::plan::{BEFORE, EVENTS, group, handler, not_written};
use super::{
    Actions, FileStep, HOOK_SECONDS, Plan, SetupBorder, SetupMode, calls_tome, file, hook_command,
};
use crate::core::Result;
use crate::core::log::Agent;
use crate::core::memory::layout::coder::GUIDES;

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

/// Plans a Claude Code plugin in `folder`, or its removal; files that are up to date are left out, and
/// one that tome did not write is not replaced. `memory` is where originals are kept.
pub fn plugin(
    folder: &Path,
    program: &str,
    mode: SetupMode,
    memory: &Path,
    actions: Actions,
) -> Result<Plan> {
    let mut plan = Plan {
        border: SetupBorder::Plugin(folder.to_owned()),
        ..Plan::default()
    };
    for (name, text) in files(program, actions) {
        let path = folder.join(name);
        plan.border.check_links(&path)?;
        let before = file::read(&path)?;
        let original = file::original_text(memory, &path, before.as_deref());
        let is_own = before.as_ref() == Some(&text) || original.is_some();
        if before.is_some() && !is_own {
            return Err(not_written(&path));
        }
        let after = match mode {
            SetupMode::Install => Some(text),
            SetupMode::Remove => original.unwrap_or_default(),
        };
        if before != after {
            plan.steps.push(FileStep {
                path,
                before,
                after,
            });
        }
    }
    if mode == SetupMode::Install {
        let note = format!("try it with claude --plugin-dir {}", folder.display());
        plan.notes.push(note);
    }
    Ok(plan)
}

fn files(program: &str, actions: Actions) -> Vec<(PathBuf, String)> {
    let verb = actions.verb(&format!("hook {}", Agent::ClaudeCode.name()));
    let command = hook_command(program, &verb);
    let before = actions.is_any().then_some(BEFORE);
    let hooks: Map<String, Value> = EVENTS
        .iter()
        .chain(&before)
        .map(|(event, matcher)| {
            (
                (*event).to_owned(),
                json!([group(*matcher, handler(&command))]),
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
pub(super) fn copilot(program: &str, actions: Actions) -> String {
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
    let before = actions.is_any().then_some("preToolUse");
    let hooks: Map<String, Value> = events
        .iter()
        .chain(&before)
        .map(|event| {
            let verb = actions.verb(&format!("{COPILOT_VERB} --event {event}"));
            let handler = json!([{
                "type": "command",
                "bash": hook_command(program, &verb),
                "timeoutSec": HOOK_SECONDS,
            }]);
            ((*event).to_owned(), handler)
        })
        .collect();
    pretty(&json!({ "version": 1, "hooks": hooks }))
}

const COPILOT_VERB: &str = "hook copilot";

/// Whether hooks of Copilot CLI are tome's, every one of them.
pub(super) fn is_of_copilot(text: &str, program: &str) -> bool {
    let file: Value = serde_json::from_str(text).unwrap_or_default();
    let hooks = file["hooks"].as_object().into_iter().flatten();
    let handlers = hooks.flat_map(|(_, handlers)| handlers.as_array().into_iter().flatten());
    let mut commands = handlers.map(|handler| handler["bash"].as_str()).peekable();
    commands.peek().is_some()
        && commands.all(|command| {
            command.is_some_and(|command| calls_tome(command, COPILOT_VERB, program))
        })
}

/// How OpenCode's plugin begins, which tells it from one of somebody else's.
pub(super) const OPENCODE_HEAD: &str = "// Written by `tome setup opencode`";

/// OpenCode's plugin, which sends events in the format of Claude Code.
pub(super) fn opencode(program: &str, actions: Actions) -> String {
    let flags = json!(actions.flags());
    include_str!("../../assets/setup/opencode.js")
        .replace("\"tome\"", &Value::from(program).to_string())
        .replace("const FLAGS = []", &format!("const FLAGS = {flags}"))
}
