//! Stub of the session reader.

use super::decode::{Decode, Seen};
use super::{Agent, Format, no_resume};

pub(super) const FORMAT: Format = Format {
    agent: Agent::Session,
    name: "session",
    locate: |_| Vec::new(),
    decode: Decode::Records(|_, _| Seen::Unknown),
    resume: no_resume,
};
