//! Reads one log, from the beginning or from where the last reading stopped.
//!
//! Reading continues only if the log is the same file, and if its first bytes and those before
//! the position where reading stopped are unchanged. A last line without a line break is read if it
//! is a complete record; when the log has grown, it is read from the beginning.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use memchr::memchr;
use serde::{Deserialize, Serialize};

use super::{Carry, Decoder, Head, LogFile, Message, ReadMode, Skipped, read_each};
use crate::core::disk::foreign::{LARGEST_LOG, LONGEST_RECORD, open_capped};
use crate::core::{Error, Result};

/// The number of bytes, at the head and before the last position, that must be unchanged.
const PROOF: u64 = 4096;
/// The size of the read buffer, in bytes; it grows for longer lines.
const CHUNK: usize = 256 * 1024;

/// How far a log was read, and the hashes that identify what was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ReadPosition {
    /// The number of bytes read; 0 for a log that is read from its beginning when it has changed.
    pub bytes: u64,
    lines: u64,
    inode: u64,
    head_length: u64,
    head_hash: u64,
    tail_hash: u64,
}

/// The result of reading a log to its end.
#[derive(Debug)]
pub struct ReadOutcome {
    /// Where reading continues when the log has grown.
    pub position: ReadPosition,
    /// The state with which the decoder continues; `None` where there is no position.
    pub carry: Option<Carry>,
    /// The metadata of the log.
    pub head: Head,
    /// What was skipped.
    pub skipped: Skipped,
}

/// Reads logs one after another, with one buffer.
#[derive(Debug, Default)]
pub struct LogReader {
    buffer: Vec<u8>,
    messages: Vec<Message>,
    /// The number of bytes read, for the progress.
    pub bytes: u64,
}

impl LogReader {
    /// Continues where reading stopped; `None` if the log is not the same any more.
    pub fn resume(
        &mut self,
        (log, with_results): (&LogFile, bool),
        (done, carry): (ReadPosition, Carry),
        take: &mut dyn FnMut(&Message),
    ) -> Result<Option<ReadOutcome>> {
        let Ok(mut file) = open_capped(&log.path, LARGEST_LOG) else {
            return Ok(None);
        };
        if done.bytes == 0 || inode(&file) != done.inode || !is_unchanged(&mut file, &done) {
            return Ok(None);
        }
        let decoder = reading(Decoder::resume(log, carry), with_results);
        self.lines(log, (file, done), decoder, take).map(Some)
    }

    /// Reads the log from its beginning, with the outputs of tools or without.
    pub fn read(
        &mut self,
        (log, with_results): (&LogFile, bool),
        take: &mut dyn FnMut(&Message),
    ) -> Result<ReadOutcome> {
        let ReadMode::Lines(decoder) = log.read_mode() else {
            return self.whole(log, take);
        };
        match open_capped(&log.path, LARGEST_LOG) {
            Ok(file) => {
                let start = ReadPosition {
                    inode: inode(&file),
                    ..ReadPosition::default()
                };
                self.lines(log, (file, start), reading(*decoder, with_results), take)
            }
            // A missing log may have been compressed since it was listed.
            Err(Error::NotFound { .. }) => self.whole(log, take),
            Err(error) => Err(error),
        }
    }

    fn whole(&mut self, log: &LogFile, take: &mut dyn FnMut(&Message)) -> Result<ReadOutcome> {
        let (head, skipped) = read_each(log, &mut |message| take(&message))?;
        self.bytes += log.size;
        Ok(ReadOutcome {
            position: ReadPosition::default(),
            carry: None,
            head,
            skipped,
        })
    }

    /// Reads lines to the end of the file, whose offset is after what is `done`.
    fn lines(
        &mut self,
        log: &LogFile,
        (mut file, mut done): (File, ReadPosition),
        mut decoder: Decoder,
        take: &mut dyn FnMut(&Message),
    ) -> Result<ReadOutcome> {
        let failed = |error| Error::io(&log.path, error);
        let mut filled = 0;
        // The number of bytes of a record that is too long and not kept.
        let mut dropped = 0;
        loop {
            if self.buffer.len() - filled < CHUNK / 2 {
                let length = (self.buffer.len() * 2).clamp(CHUNK, LONGEST_RECORD + CHUNK);
                self.buffer.resize(length, 0);
            }
            let count = match file.read(&mut self.buffer[filled..]) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(failed(error)),
            };
            self.bytes += count as u64;
            let searched = filled;
            filled += count;
            let mut start = 0;
            let mut from = searched;
            while let Some(end) = memchr(b'\n', &self.buffer[from..filled]) {
                let end = from + end + 1;
                done.lines += 1;
                if dropped > 0 || end - start > LONGEST_RECORD {
                    decoder.skip_too_long();
                    done.bytes += std::mem::take(&mut dropped);
                } else {
                    decoder.line(done.lines, &self.buffer[start..end], &mut self.messages);
                    self.messages.drain(..).for_each(|message| take(&message));
                }
                (start, from) = (end, end);
            }
            done.bytes += start as u64;
            self.buffer.copy_within(start..filled, 0);
            filled -= start;
            if dropped > 0 || filled > LONGEST_RECORD {
                dropped += filled as u64;
                filled = 0;
                self.shrink_buffer();
            }
        }
        let carry = decoder.carry().clone();
        if dropped > 0 {
            decoder.skip_too_long();
        } else if filled > 0 {
            decoder.tail(done.lines + 1, &self.buffer[..filled], &mut self.messages);
        }
        decoder.end(&mut self.messages);
        let is_open = !self.messages.is_empty();
        self.messages.drain(..).for_each(|message| take(&message));
        self.shrink_buffer();
        // What has no end yet would be read twice. A file that was truncated meanwhile is read from the
        // beginning next time, too.
        let position = fingerprint_of(&mut file, done).ok().filter(|_| !is_open);
        Ok(ReadOutcome {
            carry: position.map(|_| carry),
            position: position.unwrap_or_default(),
            head: decoder.carry().head.clone(),
            skipped: decoder.carry().skipped,
        })
    }

    /// Releases the memory that a very long line needed.
    fn shrink_buffer(&mut self) {
        if self.buffer.len() > 4 * CHUNK {
            self.buffer = vec![0; CHUNK];
        }
    }
}

/// Returns a decoder that reads the outputs of tools or not.
fn reading(decoder: Decoder, with_results: bool) -> Decoder {
    if with_results {
        decoder
    } else {
        decoder.without_outputs()
    }
}

/// Sets the hashes with which [`is_unchanged`] checks the first `done.bytes` of the file.
fn fingerprint_of(file: &mut File, mut done: ReadPosition) -> io::Result<ReadPosition> {
    if done.head_length == 0 {
        done.head_length = done.bytes.min(PROOF);
        done.head_hash = hash(file, 0, done.head_length)?;
    }
    done.tail_hash = tail_hash(file, &done)?;
    Ok(done)
}

/// Whether these bytes are unchanged; leaves the file's offset after them.
fn is_unchanged(file: &mut File, done: &ReadPosition) -> bool {
    hash(file, 0, done.head_length).is_ok_and(|hash| hash == done.head_hash)
        && tail_hash(file, done).is_ok_and(|hash| hash == done.tail_hash)
}

fn tail_hash(file: &mut File, done: &ReadPosition) -> io::Result<u64> {
    let length = done.bytes.min(PROOF);
    hash(file, done.bytes - length, length)
}

fn hash(file: &mut File, at: u64, length: u64) -> io::Result<u64> {
    let mut bytes = [0; PROOF as usize];
    let bytes = &mut bytes[..length.min(PROOF) as usize];
    file.seek(SeekFrom::Start(at))?;
    file.read_exact(bytes)?;
    let hash = blake3::hash(bytes);
    let short = hash
        .as_bytes()
        .first_chunk()
        .map_or(0, |x| u64::from_le_bytes(*x));
    Ok(short)
}

/// Returns the inode number of an open file; 0 if the system has none.
fn inode(file: &File) -> u64 {
    use std::os::unix::fs::MetadataExt;
    file.metadata().map_or(0, |metadata| metadata.ino())
}
