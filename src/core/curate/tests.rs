//! Each rule on memories where it must speak and on memories where it must not; fixes.

pub(super) mod poison;
