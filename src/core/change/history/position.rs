//! A place in a file that only grows, told apart from the same place in one that replaced it.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};

use serde::{Deserialize, Serialize};

/// The end of what was read of a file: of lines of the journal, or of versions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::core) struct FilePosition {
    pub(super) offset: u64,
    /// A hash of the bytes before it, which tells whether the file was replaced.
    check: u64,
}

impl FilePosition {
    /// How many bytes before the position are hashed.
    const CHECKED: u64 = 256;

    /// The position at this offset of a file.
    pub(super) fn at(mut file: &File, offset: u64) -> io::Result<Self> {
        let length = offset.min(Self::CHECKED);
        let mut before = Vec::new();
        file.seek(SeekFrom::Start(offset - length))?;
        file.take(length).read_to_end(&mut before)?;
        let hash = blake3::hash(&before);
        let (check, _) = hash
            .as_bytes()
            .split_first_chunk()
            .expect("a hash has 32 bytes");
        Ok(Self {
            offset,
            check: u64::from_le_bytes(*check),
        })
    }

    /// Whether this is still a position of the file.
    pub(super) fn is_in(self, file: &File) -> io::Result<bool> {
        Ok(self.offset <= file.metadata()?.len() && Self::at(file, self.offset)? == self)
    }
}
