//! OpenClaw: one log per session of each agent, with the records that pi also writes.
//!
//! `~/.openclaw/agents/<agent>/sessions/<id>.jsonl` (`~/.clawdbot` and `~/.moltbot` before it was
//! renamed), with titles and parents in `sessions.json`. Known from the program's documentation and
//! from public readers and their tests. Sessions that were reset or deleted keep a copy under
//! another name, which is not read.

use std::collections::HashMap;
use std::path::Path;

use super::decode::Decode;
use super::{Agent, Format, LogFile, LogLocations, json, location, no_resume, session};

pub(super) const FORMAT: Format = Format {
    agent: Agent::Openclaw,
    name: "openclaw",
    locate,
    decode: Decode::Records(session::record),
    resume: no_resume,
};

/// A session in the list of an agent's sessions.
#[derive(Default)]
struct Listed {
    title: Option<String>,
    parent: Option<String>,
}

fn locate(locations: &LogLocations) -> Vec<LogFile> {
    let roots = locations.openclaw.iter().map(|root| root.join("agents"));
    let agents = roots.flat_map(|root| location::entries(&root));
    agents
        .flat_map(|agent| {
            let folder = agent.join("sessions");
            let mut list = listed(&folder.join("sessions.json"));
            let logs = location::entries(&folder)
                .into_iter()
                .filter_map(move |path| {
                    // `<id>.trajectory.jsonl` and others are not conversations.
                    let id = location::stem(&path, ".jsonl").filter(|id| !id.contains('.'))?;
                    let known = list.remove(&id).unwrap_or_default();
                    let log = location::found(Agent::Openclaw, path, id)?;
                    Some(LogFile {
                        title: known.title,
                        parent: known.parent,
                        ..log
                    })
                });
            logs.collect::<Vec<LogFile>>()
        })
        .collect()
}

/// Returns the sessions of `{"<key>": {"sessionId", "label", "spawnedBy": "<key>"}}` by their ids.
fn listed(list: &Path) -> HashMap<String, Listed> {
    let bytes = location::bytes(list).unwrap_or_default();
    let Ok((list, _)) = json::object(bytes.trim_ascii()) else {
        return HashMap::new();
    };
    let entries = list.fields().filter_map(|(_, entry)| entry.object());
    entries
        .filter_map(|entry| {
            let starter = entry.text("spawnedBy").and_then(|key| list.object(&key));
            let title = ["label", "displayName", "subject"];
            let known = Listed {
                title: title.iter().find_map(|key| entry.text(key)),
                parent: starter.and_then(|starter| starter.text("sessionId")),
            };
            Some((entry.text("sessionId")?, known))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{Home, describe_messages};
    use super::super::read;

    #[test]
    fn sessions_are_found_with_their_titles_and_parents() {
        let home = Home::new();
        let folder = ".openclaw/agents/main/sessions";
        home.write(
            &format!("{folder}/sessions.json"),
            r#"{"agent:main:main":{"sessionId":"s1","label":"Chores"},"agent:main:subagent:x":{"sessionId":"s2","spawnedBy":"agent:main:main"},"odd":7}"#,
        );
        home.write(
            &format!("{folder}/s1.jsonl"),
            [
                r#"{"type":"session","version":3,"id":"s1","timestamp":"2026-08-01T10:00:00Z","cwd":"/repo"}"#,
                r#"{"type":"message","id":"1","message":{"role":"user","content":[{"type":"text","text":"find it"}]}}"#,
                r#"{"type":"message","id":"2","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"exec","arguments":{"command":"ls"}}]}}"#,
                r#"{"type":"message","id":"3","message":{"role":"toolResult","toolCallId":"c1","toolName":"exec","content":[{"type":"text","text":"files"}]}}"#,
            ]
            .join("\n"),
        );
        home.write(&format!("{folder}/s2.jsonl"), "");
        home.write(&format!("{folder}/s1.trajectory.jsonl"), "");
        home.write(&format!("{folder}/s0.jsonl.deleted.2026-08-01"), "");
        let logs = home.locate();
        let told: Vec<_> = logs
            .iter()
            .map(|log| (log.id.as_str(), log.parent.as_deref(), log.title.as_deref()))
            .collect();
        assert_eq!(
            told,
            [("s1", None, Some("Chores")), ("s2", Some("s1"), None)]
        );
        assert_eq!(
            describe_messages(&read(&logs[0]).expect("it can be read").messages),
            [
                "2 user text: find it",
                "3 assistant tool-call exec: command: ls",
                "4 tool tool-result exec: files",
            ]
        );
    }
}
