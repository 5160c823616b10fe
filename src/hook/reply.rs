//! The reply that each agent expects.

use serde_json::{Value, json};

use super::payload::{Payload, Stage};
use crate::core::log::Agent;
use crate::core::text::hidden::without_hidden;

/// The reply that changes nothing.
pub(super) fn empty_reply(agent: Option<Agent>) -> String {
    match agent {
        Some(Agent::ClaudeCode | Agent::Codex) => json!({ "continue": true }).to_string(),
        _ => "{}".to_owned(),
    }
}

/// The reply that gives `text` to the agent; an empty text changes nothing.
pub(super) fn reply_with(agent: Agent, payload: &Payload, text: &str) -> String {
    if text.is_empty() {
        return empty_reply(Some(agent));
    }
    let text = &without_hidden(text);
    let answer = match (agent, &payload.stage) {
        // At the end of a turn the agent reads the text only if the turn is prolonged.
        (Agent::ClaudeCode | Agent::Codex, Stage::Stop) => {
            json!({ "decision": "block", "reason": text })
        }
        (Agent::ClaudeCode | Agent::Codex, _) => {
            json!({ "continue": true, "hookSpecificOutput": context(payload, text) })
        }
        (Agent::Gemini, _) => json!({ "hookSpecificOutput": context(payload, text) }),
        _ => json!({ "additionalContext": text }),
    };
    answer.to_string()
}

/// The reply that makes the agent ask its user before the call, with the reason; where its hooks
/// cannot ask, the agent reads the reason itself. It never refuses by itself.
pub(super) fn reply_asking(agent: Agent, payload: &Payload, reason: &str) -> String {
    let reason = &without_hidden(reason);
    let answer = match agent {
        Agent::ClaudeCode => {
            let asks = json!({
                "hookEventName": payload.name,
                "permissionDecision": "ask",
                "permissionDecisionReason": reason,
            });
            json!({ "hookSpecificOutput": asks })
        }
        Agent::Gemini => json!({ "decision": "ask", "systemMessage": reason, "reason": reason }),
        Agent::Copilot => {
            json!({ "permissionDecision": "ask", "permissionDecisionReason": reason })
        }
        _ => return reply_with(agent, payload, reason),
    };
    answer.to_string()
}

fn context(payload: &Payload, text: &str) -> Value {
    json!({ "hookEventName": payload.name, "additionalContext": text })
}
