//! pi: one log per session, with the records of the session layout.

use std::path::PathBuf;

use super::decode::Decode;
use super::{Agent, Format, Head, LogFile, LogLocations, Resume, fork, location, option, session};

pub(super) const FORMAT: Format = Format {
    agent: Agent::Pi,
    name: "pi",
    locate,
    decode: Decode::Records(session::record),
    resume,
};

fn locate(locations: &LogLocations) -> Vec<LogFile> {
    let forks = fork::homes_of(locations, Agent::Pi);
    let homes = locations.pi.iter().chain(&forks);
    let roots = homes.map(|root| root.join("sessions"));
    // `<time>_<id>.jsonl`
    let id = |name: &str| Some(name.strip_suffix(".jsonl")?.rsplit('_').next()?.to_owned());
    roots
        .flat_map(|root| location::logs_under(Agent::Pi, root, &id))
        .collect()
}

fn resume(log: &LogFile, head: &Head) -> Option<Resume> {
    Some(Resume {
        program: fork::program(Agent::Pi, "pi", &log.path)?,
        args: option("--session", &log.path.display().to_string()),
        cwd: head.cwd.as_ref().map(PathBuf::from),
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{Home, describe_messages};

    #[test]
    fn a_session_is_found_by_its_id_and_continued_by_its_file() {
        let home = Home::new();
        home.write(
            ".pi/agent/sessions/--repo--/2026-08-01T10-00-00_abc.jsonl",
            [
                r#"{"type":"session","version":3,"id":"abc","cwd":"/repo"}"#,
                r#"{"type":"message","id":"1","parentId":null,"message":{"role":"user","content":"hello"}}"#,
                r#"{"type":"thinking_level_change","thinkingLevel":"high"}"#,
                r#"{"type":"message","id":"2","parentId":"1","message":{"role":"assistant","content":[{"type":"text","text":"hi"}]}}"#,
            ]
            .join("\n"),
        );
        let transcript = home.read();
        assert_eq!(
            describe_messages(&transcript.messages),
            ["2 user text: hello", "4 assistant text: hi"]
        );
        assert_eq!(transcript.skipped.total(), 0);
        let log = &home.locate()[0];
        assert_eq!(log.id, "abc");
        let resume = log.resume(&transcript.head).expect("it can be continued");
        assert_eq!(resume.args[0], "--session");
        assert!(resume.args[1].ends_with("_abc.jsonl"));
        assert_eq!(resume.cwd, Some("/repo".into()));
    }
}
