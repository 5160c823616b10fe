//! Stub of the codex reader.

use super::decode::{Decode, Seen};
use super::{Agent, Format, no_resume};

pub(super) const FORMAT: Format = Format {
    agent: Agent::Codex,
    name: "codex",
    locate: |_| Vec::new(),
    decode: Decode::Records(|_, _| Seen::Unknown),
    resume: no_resume,
};
