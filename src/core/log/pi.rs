//! pi: one log a session, in the records of the session layout.

use std::path::PathBuf;

use super::decode::Decode;
use super::{Agent, Format, Head, LogFile, Places, Resume, place, session};

pub(super) const FORMAT: Format = Format {
    agent: Agent::Pi,
    name: "pi",
    locate,
    decode: Decode::Records(session::record),
    resume,
};

fn locate(places: &Places) -> Vec<LogFile> {
    let roots = places.pi.iter().map(|root| root.join("sessions"));
    roots
        .flat_map(|root| place::files_under(&root))
        .filter_map(|path| {
            let stem = place::stem(&path, ".jsonl")?;
            // `<time>_<id>`
            let id = stem.rsplit('_').next().unwrap_or(&stem).to_owned();
            place::found(Agent::Pi, path, id)
        })
        .collect()
}

fn resume(log: &LogFile, head: &Head) -> Option<Resume> {
    Some(Resume {
        program: "pi",
        args: vec!["--session".to_owned(), log.path.display().to_string()],
        cwd: head.cwd.as_ref().map(PathBuf::from),
    })
}
