//! What each agent expects to read.

use serde_json::{Value, json};

use super::payload::{Payload, Stage};
use crate::core::hidden::without_hidden;
use crate::core::log::Agent;

/// The answer that changes nothing.
pub(super) fn empty_reply(agent: Option<Agent>) -> String {
    match agent {
        Some(Agent::ClaudeCode | Agent::Codex) => json!({ "continue": true }).to_string(),
        _ => "{}".to_owned(),
    }
}

/// The answer that puts `text` before the agent, where there is something to tell.
pub(super) fn reply_with(agent: Agent, payload: &Payload, text: &str) -> String {
    if text.is_empty() {
        return empty_reply(Some(agent));
    }
    let text = &without_hidden(text);
    let answer = match (agent, &payload.stage) {
        // At the end of a turn there is nobody to read it, unless the turn goes on.
        (Agent::ClaudeCode | Agent::Codex | Agent::Copilot, Stage::Stop) => {
            json!({ "decision": "block", "reason": text })
        }
        // Gemini CLI calls prolonging a turn denying its end.
        (Agent::Gemini, Stage::Stop) => json!({ "decision": "deny", "reason": text }),
        (Agent::ClaudeCode | Agent::Codex, _) => {
            json!({ "continue": true, "hookSpecificOutput": context(payload, text) })
        }
        (Agent::Gemini, _) => json!({ "hookSpecificOutput": context(payload, text) }),
        _ => json!({ "additionalContext": text }),
    };
    answer.to_string()
}

fn context(payload: &Payload, text: &str) -> Value {
    json!({ "hookEventName": payload.name, "additionalContext": text })
}
