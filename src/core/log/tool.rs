//! Tool calls and results of records that tell their ids.

use super::content;
use super::json::Object;
use super::sink::ToolUse;

impl ToolUse {
    /// Returns a call of `tool` with its input, or a result with the output.
    pub(super) fn new(id: Option<String>, tool: Option<String>, text: String) -> Self {
        Self {
            id,
            tool,
            text,
            ..Self::default()
        }
    }

    /// Returns a call whose name and arguments stand in a `function`, or in the call itself.
    pub(super) fn of_function(call: &Object<'_>) -> Self {
        let function = call.object("function");
        let function = function.as_ref().unwrap_or(call);
        let input = content::outline(function.get("arguments"));
        Self::new(call.text("id"), function.text("name"), input)
    }

    /// Marks the result of a call that failed or was refused.
    pub(super) fn failing(self, has_failed: bool) -> Self {
        Self { has_failed, ..self }
    }
}
