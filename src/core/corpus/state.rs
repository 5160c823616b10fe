//! The stored state of a log beside its messages: its metadata, and the state of its decoder
//! for the next build.

use super::Corpus;
use super::bytes::{ByteReader, ByteWriter, checksum};
use super::manifest::LogRow;
use super::pack::Pack;
use crate::core::log::{Carry, Head, Skipped};

/// A log's state as stored in its pack; parsed on request.
#[derive(Debug, Clone, Copy)]
pub(super) struct LogState<'a> {
    facts: &'a [u8],
    carry: &'a [u8],
}

impl<'a> LogState<'a> {
    /// Encodes a state.
    pub(super) fn encode(head: &Head, skipped: Skipped, carry: Option<&Carry>) -> Vec<u8> {
        // These are plain values without maps, so encoding them cannot fail.
        let facts = serde_json::to_vec(&(head, skipped)).unwrap_or_default();
        let carry = carry.and_then(|carry| serde_json::to_vec(carry).ok());
        let mut body = ByteWriter::default();
        body.u32(facts.len() as u32);
        body.0.extend_from_slice(&facts);
        body.0.extend_from_slice(&carry.unwrap_or_default());
        let mut out = ByteWriter::default();
        out.u64(checksum(&body.0));
        out.0.extend_from_slice(&body.0);
        out.0
    }

    /// Returns the state of a log; `None` if it is damaged.
    pub(super) fn of(corpus: &'a Corpus, row: &LogRow) -> Option<Self> {
        let (at, length) = row.state;
        let mut state = ByteReader(corpus.maps.get(Pack::States, at, length)?);
        if state.u64()? != checksum(state.0) {
            return None;
        }
        let length = state.u32()? as usize;
        Some(Self {
            facts: state.bytes(length)?,
            carry: state.0,
        })
    }

    /// Returns the metadata of the log and the counts of skipped lines.
    pub(super) fn facts(&self) -> Option<(Head, Skipped)> {
        serde_json::from_slice(self.facts).ok()
    }

    /// Returns the state of the decoder.
    pub(super) fn carry(&self) -> Option<Carry> {
        serde_json::from_slice(self.carry).ok()
    }
}
