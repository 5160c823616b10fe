//! pi: one log per session, with the records of the session layout.

use super::decode::Decode;
use super::{Agent, Format, LogFile, LogLocations, Resume, fork, location, option, session};

pub(super) const FORMAT: Format = Format {
    agent: Agent::Pi,
    name: "pi",
    locate,
    decode: Decode::Records(session::record),
    resume: |log, head| {
        Some(Resume::by(
            fork::program(Agent::Pi, "pi", &log.path)?,
            option("--session", &log.path.display().to_string()),
            head,
        ))
    },
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
