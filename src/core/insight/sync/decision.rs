//! What is done about a file of which there are three versions: the one that this machine last
//! agreed on, the one here, and the one of the remote.

use crate::core::disk::revision::Revision;

/// A version of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    /// It has this content.
    Text(Revision),
    /// It was deleted: the remote has a tombstone, or the history recorded it here.
    Deleted,
    /// It is not there, and nothing tells why. That is never taken for a delete.
    Absent,
}

/// The versions of a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Versions {
    pub(super) base: Version,
    pub(super) here: Version,
    pub(super) there: Version,
    /// What the tombstone of the remote says the file had.
    pub(super) was: Option<Revision>,
}

/// What is done about a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    /// Nobody has it.
    Nothing,
    /// Both sides have the same.
    Agreed,
    /// The version of the remote comes here.
    Take,
    /// It is deleted here.
    TakeDelete,
    /// The version here goes to the remote.
    Send,
    /// It is deleted there.
    SendDelete,
    /// Both sides changed it: a merge, or a conflict.
    Both,
}

impl Versions {
    pub(super) fn decide(&self) -> Decision {
        use Version::{Absent, Deleted, Text};
        let is_new_there = self.there != self.base;
        match (self.here, self.there) {
            (Text(here), Text(there)) if here == there => Decision::Agreed,
            (Text(_), Text(_)) if self.here == self.base => Decision::Take,
            (Text(_), Text(_)) if !is_new_there => Decision::Send,
            (Text(_), Text(_)) => Decision::Both,
            // It was made again after the delete was agreed on.
            (Text(_), Deleted) if !is_new_there => Decision::Send,
            (Text(_), Deleted) if self.here == self.base => Decision::TakeDelete,
            (Text(here), Deleted) if self.base == Absent && self.was == Some(here) => {
                Decision::TakeDelete
            }
            (Text(_), Deleted) => Decision::Both,
            // The remote never had it, or lost it without a tombstone: it is put back.
            (Text(_), Absent) => Decision::Send,
            (Deleted, Text(_)) => match self.base {
                Text(_) if !is_new_there => Decision::SendDelete,
                Text(_) => Decision::Both,
                Deleted | Absent => Decision::Take,
            },
            (Deleted, Absent) if matches!(self.base, Text(_)) => Decision::SendDelete,
            (Absent, Text(_)) => Decision::Take,
            (Deleted | Absent, Deleted) => Decision::Agreed,
            (Deleted | Absent, Absent) => Decision::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Decision::*;
    use super::Version::{self, Absent, Deleted, Text};
    use super::*;

    #[test]
    fn every_combination_of_versions_is_decided() {
        let [x, y, z] = [b"x", b"y", b"z"].map(|text| Text(Revision::of(text)));
        let table = [
            // base, here, there, decision
            (x, x, x, Agreed),
            (x, x, y, Take),
            (x, y, x, Send),
            (x, y, z, Both),
            (x, y, y, Agreed),
            (x, x, Deleted, TakeDelete),
            (x, y, Deleted, Both),
            (x, x, Absent, Send),
            (x, y, Absent, Send),
            (x, Deleted, x, SendDelete),
            (x, Deleted, y, Both),
            (x, Deleted, Deleted, Agreed),
            (x, Deleted, Absent, SendDelete),
            (x, Absent, x, Take),
            (x, Absent, y, Take),
            (x, Absent, Deleted, Agreed),
            (x, Absent, Absent, Nothing),
            (Deleted, x, Deleted, Send),
            (Deleted, x, y, Both),
            (Deleted, x, x, Agreed),
            (Deleted, x, Absent, Send),
            (Deleted, Deleted, x, Take),
            (Deleted, Deleted, Deleted, Agreed),
            (Deleted, Deleted, Absent, Nothing),
            (Deleted, Absent, x, Take),
            (Deleted, Absent, Deleted, Agreed),
            (Deleted, Absent, Absent, Nothing),
            (Absent, x, x, Agreed),
            (Absent, x, y, Both),
            (Absent, x, Deleted, Both),
            (Absent, x, Absent, Send),
            (Absent, Deleted, x, Take),
            (Absent, Deleted, Deleted, Agreed),
            (Absent, Deleted, Absent, Nothing),
            (Absent, Absent, x, Take),
            (Absent, Absent, Deleted, Agreed),
            (Absent, Absent, Absent, Nothing),
        ];
        for (base, here, there, expected) in table {
            let versions = Versions {
                base,
                here,
                there,
                was: None,
            };
            assert_eq!(versions.decide(), expected, "{versions:?}");
        }
    }

    /// Without a tombstone nothing is deleted here, without a record nothing there, and what only
    /// one side has is never overwritten.
    #[test]
    fn nothing_is_deleted_or_overwritten_that_only_one_side_has() {
        let [x, y, z] = [b"x", b"y", b"z"].map(|text| Text(Revision::of(text)));
        let all = [x, y, z, Deleted, Absent];
        for base in all {
            for (here, there) in all.iter().flat_map(|here| all.map(|there| (*here, there))) {
                let versions = Versions {
                    base,
                    here,
                    there,
                    was: None,
                };
                let decision = versions.decide();
                let is = |version: Version| matches!(version, Text(_));
                match decision {
                    TakeDelete => assert!(there == Deleted && here == base),
                    SendDelete => assert!(here == Deleted && (there == base || there == Absent)),
                    Take => assert!(is(there) && (!is(here) || here == base)),
                    Send => assert!(is(here) && (!is(there) || there == base)),
                    _ => {}
                }
            }
        }
    }
}
