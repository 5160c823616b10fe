//! What each agent expects to read.

use serde_json::{Value, json};

use super::payload::{Heard, Stage};
use crate::core::hidden::without_hidden;
use crate::core::log::Agent;

/// The answer that changes nothing.
pub(super) fn nothing(agent: Option<Agent>) -> String {
    match agent {
        Some(Agent::ClaudeCode | Agent::Codex) => json!({ "continue": true }).to_string(),
        _ => "{}".to_owned(),
    }
}

/// The answer that puts `told` before the agent, where there is something to tell.
pub(super) fn worded(agent: Agent, heard: &Heard, told: &str) -> String {
    if told.is_empty() {
        return nothing(Some(agent));
    }
    let told = &without_hidden(told);
    let answer = match (agent, &heard.stage) {
        // At the end of a turn there is nobody to read it, unless the turn goes on.
        (Agent::ClaudeCode | Agent::Codex | Agent::Copilot, Stage::Stop) => {
            json!({ "decision": "block", "reason": told })
        }
        // Gemini CLI calls prolonging a turn denying its end.
        (Agent::Gemini, Stage::Stop) => json!({ "decision": "deny", "reason": told }),
        (Agent::ClaudeCode | Agent::Codex, _) => {
            json!({ "continue": true, "hookSpecificOutput": context(heard, told) })
        }
        (Agent::Gemini, _) => json!({ "hookSpecificOutput": context(heard, told) }),
        _ => json!({ "additionalContext": told }),
    };
    answer.to_string()
}

fn context(heard: &Heard, told: &str) -> Value {
    json!({ "hookEventName": heard.name, "additionalContext": told })
}
