//! Reads one log, from the beginning or from where the last build stopped.
//!
//! Reading continues only if the log is the same file, and if its first bytes and those before
//! the position where reading stopped are unchanged.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use memchr::memchr;

use super::table::{LogRow, ReadPosition};
use crate::core::disk::foreign::{LARGEST_LOG, LONGEST_RECORD, open_capped};
use crate::core::log::{self, Carry, Decoder, Head, LogFile, Message, ReadMode, Skipped};
use crate::core::{Error, Result};

/// The number of bytes, at the head and before the last position, that must be unchanged.
const PROOF: u64 = 4096;
/// The size of the read buffer, in bytes; it grows for longer lines.
const CHUNK: usize = 256 * 1024;

/// Whether a message's line has its line break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineEnd {
    /// The line is complete.
    Whole,
    /// The last line has no line break yet and will be read again.
    Open,
}

/// Receives messages as they are read.
pub(super) trait MessageListener {
    /// Is called with each message of the log.
    fn on_message(&mut self, line: LineEnd, message: &Message);
}

/// Where reading of a log stopped.
pub(super) struct ResumePoint<'a> {
    pub(super) row: &'a LogRow,
    pub(super) carry: Carry,
}

/// The result of reading a log to its end.
pub(super) struct ReadOutcome {
    pub(super) progress: ReadPosition,
    pub(super) inode: u64,
    pub(super) head: Head,
    pub(super) skipped: Skipped,
    /// The state with which the decoder continues; `None` for a log that is read whole.
    pub(super) carry: Option<Carry>,
}

/// Reads logs one after another, with one buffer.
#[derive(Default)]
pub(super) struct LogReader {
    buffer: Vec<u8>,
    messages: Vec<Message>,
    /// The number of bytes read, for the progress.
    pub(super) bytes: u64,
}

impl LogReader {
    /// Continues where reading stopped; `None` if the log is not the same any more.
    pub(super) fn resume(
        &mut self,
        (log, with_results): (&LogFile, bool),
        left: ResumePoint<'_>,
        listener: &mut dyn MessageListener,
    ) -> Result<Option<ReadOutcome>> {
        let done = left.row.progress;
        let Ok(mut file) = open_capped(&log.path, LARGEST_LOG) else {
            return Ok(None);
        };
        if done.bytes == 0 || inode(&file) != left.row.inode || !is_unchanged(&mut file, &done) {
            return Ok(None);
        }
        let decoder = reading(Decoder::resume(log, left.carry), with_results);
        self.lines(log, (file, done), decoder, listener).map(Some)
    }

    /// Reads the log from its beginning.
    pub(super) fn read(
        &mut self,
        (log, with_results): (&LogFile, bool),
        listener: &mut dyn MessageListener,
    ) -> Result<ReadOutcome> {
        let ReadMode::Lines(decoder) = log.read_mode() else {
            return self.whole(log, listener);
        };
        match open_capped(&log.path, LARGEST_LOG) {
            Ok(file) => {
                let decoder = reading(*decoder, with_results);
                self.lines(log, (file, ReadPosition::default()), decoder, listener)
            }
            // A missing log may have been compressed since it was listed.
            Err(Error::NotFound { .. }) => self.whole(log, listener),
            Err(error) => Err(error),
        }
    }

    fn whole(&mut self, log: &LogFile, listener: &mut dyn MessageListener) -> Result<ReadOutcome> {
        let (head, skipped) = log::read_each(log, &mut |message| {
            listener.on_message(LineEnd::Whole, &message);
        })?;
        self.bytes += log.size;
        Ok(ReadOutcome {
            progress: ReadPosition::default(),
            inode: 0,
            head,
            skipped,
            carry: None,
        })
    }

    /// Reads lines to the end of the file, whose offset is after what is `done`.
    fn lines(
        &mut self,
        log: &LogFile,
        (mut file, mut done): (File, ReadPosition),
        mut decoder: Decoder,
        listener: &mut dyn MessageListener,
    ) -> Result<ReadOutcome> {
        let failed = |error| Error::io(&log.path, error);
        let inode = inode(&file);
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
                    self.emit(LineEnd::Whole, listener);
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
        self.emit(LineEnd::Open, listener);
        self.shrink_buffer();
        Ok(ReadOutcome {
            // A file that was truncated meanwhile is read from the beginning next time.
            progress: fingerprint_of(&mut file, done).unwrap_or_default(),
            inode,
            head: decoder.carry().head.clone(),
            skipped: decoder.carry().skipped,
            carry: Some(carry),
        })
    }

    fn emit(&mut self, line: LineEnd, listener: &mut dyn MessageListener) {
        for message in self.messages.drain(..) {
            listener.on_message(line, &message);
        }
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
