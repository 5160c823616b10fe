//! From the call that started a subagent to the subagent's own log.

use super::{LogPane, OpenAt};
use crate::core::memory::library::{Library, LogSummary};
use crate::tui::model::PaneContext;
use crate::tui::pane::{Step, say};

impl LogPane {
    /// Opens the log of the subagent that the call under the cursor started.
    pub(super) fn open_subagent(&self, cx: &PaneContext<'_>) -> Vec<Step> {
        let started = self.subagents(cx.library);
        if started.is_empty() {
            return say("No subagent was started here");
        }
        let call = self.conversation.as_ref().and_then(|c| c.selected_call());
        let log = match (call, started.as_slice()) {
            (Some((input, result)), _) => started_by(input, result, &started),
            (None, [only]) => Some(*only),
            (None, _) => None,
        };
        match log {
            Some(log) => Self::open(log, OpenAt::default()),
            None => say("Go to the tool call that started the subagent"),
        }
    }

    fn subagents<'a>(&self, library: &'a Library) -> Vec<&'a LogSummary> {
        for group in library.logs.iter() {
            let own = group
                .logs
                .iter()
                .position(|log| super::is_same_log(&log.file, &self.file));
            if let Some(own) = own {
                let logs = group.logs.iter();
                return logs.filter(|log| log.parent == Some(own)).collect();
            }
        }
        Vec::new()
    }
}

/// The log of the subagent that a call started: its id is in the result of the call, or its title,
/// which is the beginning of its prompt, in the input.
fn started_by<'a>(input: &str, result: &str, logs: &[&'a LogSummary]) -> Option<&'a LogSummary> {
    let names_id = |log: &&&LogSummary| {
        let id = log.file.id.as_str();
        let id = id.strip_prefix("agent-").unwrap_or(id);
        !id.is_empty() && result.contains(id)
    };
    let has_title = |log: &&&LogSummary| {
        let title = log.title.trim_end_matches('…').trim();
        !title.is_empty() && words(input).contains(&words(title))
    };
    let mut found = logs.iter();
    let by_id = found.clone().find(names_id);
    by_id.or_else(|| found.find(has_title)).copied()
}

/// A text with single blanks between its words, as titles have them.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::pane::browse::fixture::log_summary;

    fn log(id: &str, title: &str) -> LogSummary {
        LogSummary {
            parent: Some(0),
            ..log_summary(id, title)
        }
    }

    #[test]
    fn a_subagent_is_found_by_its_id_or_by_its_prompt() {
        let (one, two) = (
            log("agent-a1b2", "Look at the tests…"),
            log("agent-c3d4", "Find the race in rotate()"),
        );
        let logs = [&one, &two];
        let found = |input, result| started_by(input, result, &logs).map(|log| &*log.file.id);
        assert_eq!(found("x", "agentId: c3d4"), Some("agent-c3d4"));
        assert_eq!(
            found("prompt: Look at\nthe tests and say why", ""),
            Some("agent-a1b2")
        );
        assert_eq!(found("command: cargo test", "FAILED"), None);
    }
}
