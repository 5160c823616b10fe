//! Tool calls and results of records that tell their ids.

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

    /// Marks the result of a call that failed or was refused.
    pub(super) fn failing(self, has_failed: bool) -> Self {
        Self { has_failed, ..self }
    }
}
