//! Chains of differences: which version another one is stored as a difference from, and how.

use std::io;

use super::delta;
use super::pack::{Header, Key, checksum, key};
use crate::core::disk::revision::Revision;

/// The maximum length of a chain that is followed; those written here are shorter.
pub(super) const LONGEST: usize = 64;

/// The maximum number of differences after an anchor, and of anchors after a whole version.
/// Reading a version takes at most the sum of both. An anchor is a difference from the previous
/// anchor, so that whole versions of a large file are rare.
const STEPS: u8 = 15;
const ANCHORS: u8 = 15;

/// The position of a version in a chain of differences.
#[derive(Debug, Clone, Copy)]
pub(in crate::core::change::history) struct ChainPosition {
    /// The version that it is a difference from.
    pub(in crate::core::change::history) base: Revision,
    anchors: u8,
    steps: u8,
}

/// The position of a version after `base`; `None` if it has to be stored whole.
pub(in crate::core::change::history) fn place_after(
    base: &Revision,
    header: impl Fn(&Key) -> Option<Header>,
) -> Option<ChainPosition> {
    let last = header(&key(base))?;
    let anchor = anchor_of(last, header)?;
    if last.steps < STEPS {
        return Some(ChainPosition {
            base: last.revision,
            anchors: last.anchors,
            steps: last.steps + 1,
        });
    }
    let is_free = anchor.steps == 0 && anchor.anchors < ANCHORS;
    is_free.then(|| ChainPosition {
        base: anchor.revision,
        anchors: anchor.anchors + 1,
        steps: 0,
    })
}

/// The last anchor, or the whole version, in the chain of a version; `None` if the chain does not
/// lead to a whole version.
fn anchor_of(last: Header, header: impl Fn(&Key) -> Option<Header>) -> Option<Header> {
    let (mut anchor, mut at) = (last, last);
    for _ in 0..LONGEST {
        let Some(base) = at.base else {
            return Some(anchor);
        };
        at = header(&base)?;
        if anchor.steps > 0 {
            anchor = at;
        }
    }
    None
}

/// Encodes a version, as a difference from a base if that saves much.
pub(in crate::core::change::history) fn encode(
    bytes: &[u8],
    base: Option<(ChainPosition, &[u8])>,
) -> io::Result<(Header, Vec<u8>)> {
    let too_large = |_| io::Error::from(io::ErrorKind::FileTooLarge);
    let mut header = Header {
        revision: Revision::of(bytes),
        base: None,
        stored: 0,
        size: u32::try_from(bytes.len()).map_err(too_large)?,
        anchors: 0,
        steps: 0,
        checksum: 0,
    };
    let base = base.filter(|(_, base)| !base.is_empty());
    let delta = match base {
        Some((_, base)) => Some(delta::compress(bytes, Some(base))?),
        None => None,
    };
    let is_small = |delta: &Vec<u8>| delta.len() <= bytes.len() / 8;
    let stored = match (delta, base) {
        (Some(delta), Some((place, base))) => {
            let whole = if is_small(&delta) {
                None
            } else {
                Some(delta::compress(bytes, None)?)
            };
            match whole {
                // A difference that saves little is not worth the cost of reading it.
                Some(whole) if delta.len() * 3 / 2 >= whole.len() => whole,
                _ => {
                    header.base = Some(key(&place.base));
                    (header.anchors, header.steps) = (place.anchors, place.steps);
                    check(&delta, Some(base), bytes)?;
                    delta
                }
            }
        }
        _ => delta::compress(bytes, None)?,
    };
    if header.base.is_none() {
        check(&stored, None, bytes)?;
    }
    header.stored = u32::try_from(stored.len()).map_err(too_large)?;
    header.checksum = checksum(&stored);
    Ok((header, stored))
}

/// Checks that the stored bytes decode to the version.
fn check(stored: &[u8], base: Option<&[u8]>, bytes: &[u8]) -> io::Result<()> {
    if delta::expand(stored, base, bytes.len())? == bytes {
        Ok(())
    } else {
        Err(io::Error::other("a version does not come back as it was"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(first: u32, count: u32) -> Vec<u8> {
        let numbers = first..first + count;
        let lines = numbers.map(|n| format!("{}\n", blake3::hash(&n.to_le_bytes()).to_hex()));
        lines.collect::<String>().into_bytes()
    }

    #[test]
    fn a_version_is_stored_as_a_difference_only_where_that_saves_room() {
        let base = lines(1, 50);
        let place = || ChainPosition {
            base: Revision::of(&base),
            anchors: 1,
            steps: 2,
        };
        let mut near = base.clone();
        near.extend_from_slice(b"one line more\n");
        let (header, stored) = encode(&near, Some((place(), &base))).expect("encodes");
        assert_eq!(header.base, Some(key(&Revision::of(&base))));
        assert_eq!((header.anchors, header.steps), (1, 2));
        assert!(stored.len() < 200, "{}", stored.len());
        let far = lines(1_000_000, 50);
        let (header, _) = encode(&far, Some((place(), &base))).expect("encodes");
        assert_eq!((header.base, header.anchors, header.steps), (None, 0, 0));
    }
}
