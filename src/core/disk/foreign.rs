//! Reads files that other programs may have written: regular files of bounded size, without
//! blocking.
//!
//! A repository or a home directory can contain a pipe, a device or an endless file under any
//! name. Opening one returns an error that names it, instead of blocking. Lines are read with a
//! limit as well, because a file may have no line break at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, Read as _};
use std::path::Path;

use crate::core::{Error, Result};

/// The maximum size in bytes of a settings file.
pub const LARGEST_SETTINGS: u64 = 4 << 20;

/// The maximum size in bytes of a log that is read record by record.
pub const LARGEST_LOG: u64 = 4 << 30;

/// The maximum size in bytes of a file that is read into memory as a whole.
pub const LARGEST_WHOLE: u64 = 128 << 20;

/// The maximum length in bytes of one record of a log; a longer one is skipped.
pub const LONGEST_RECORD: usize = 32 << 20;

/// Opens a regular file for reading; links are followed.
pub fn open_regular(path: &Path) -> Result<File> {
    let failed = |e: io::Error| match e.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            Error::not_found(path.display().to_string())
        }
        _ => Error::io(path, e),
    };
    // Checked before it is opened, since opening a device can have effects; and after, since
    // it may have been replaced in between.
    check_regular(path, &fs::metadata(path).map_err(failed)?)?;
    let mut options = OpenOptions::new();
    options.read(true);
    without_waiting(&mut options);
    let file = options.open(path).map_err(failed)?;
    check_regular(path, &file.metadata().map_err(failed)?)?;
    Ok(file)
}

fn check_regular(path: &Path, meta: &fs::Metadata) -> Result<()> {
    let reason = match meta {
        meta if meta.is_file() => return Ok(()),
        meta if meta.is_dir() => return Err(Error::io(path, io::ErrorKind::IsADirectory.into())),
        _ => "not a regular file; tome leaves it alone",
    };
    Err(Error::refused(path.display().to_string(), reason))
}

/// Opens a regular file of at most `max` bytes for reading.
pub fn open_capped(path: &Path, max: u64) -> Result<File> {
    let file = open_regular(path)?;
    match file.metadata().map_err(|e| Error::io(path, e))?.len() {
        size if size > max => Err(too_large(path, size, max)),
        _ => Ok(file),
    }
}

fn too_large(path: &Path, size: u64, max: u64) -> Error {
    let (unit, name) = match max {
        0..0x10_0000 => (10, "KB"),
        _ => (20, "MB"),
    };
    let reason = format!(
        "{} {name} is too large ({} {name} at most); cut it down or move it away",
        size.div_ceil(1 << unit),
        max >> unit
    );
    Error::refused(path.display().to_string(), reason)
}

/// Reads a regular file of at most `max` bytes.
pub fn read_capped(path: &Path, max: u64) -> Result<Vec<u8>> {
    let file = open_capped(path, max)?;
    let size = file.metadata().map_err(|e| Error::io(path, e))?.len();
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1);
    let read = file.take(max + 1).read_to_end(&mut bytes);
    read.map_err(|e| Error::io(path, e))?;
    match bytes.len() as u64 {
        // The file grew while it was read.
        size if size > max => Err(too_large(path, size, max)),
        _ => Ok(bytes),
    }
}

/// Reads a regular text file of at most `max` bytes; `None` if it does not exist.
pub fn read_text(path: &Path, max: u64) -> Result<Option<String>> {
    match read_capped(path, max) {
        Ok(bytes) => text_of(path, bytes).map(Some),
        Err(Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The text of bytes that were read from a file.
pub(in crate::core) fn text_of(path: &Path, bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|e| Error::NotText {
        path: path.to_owned(),
        offset: e.utf8_error().valid_up_to(),
    })
}

/// The result of reading a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::core) enum Line {
    Whole,
    TooLong,
    /// There are no more lines.
    None,
}

/// Reads the next line, its line ending included, into `line`; a line longer than `most` is not
/// kept.
pub(in crate::core) fn next_line(
    reader: &mut (impl BufRead + ?Sized),
    line: &mut Vec<u8>,
    most: usize,
) -> io::Result<Line> {
    line.clear();
    let mut state = Line::None;
    loop {
        let part = match reader.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            part => part?,
        };
        if part.is_empty() {
            return Ok(state);
        }
        let end = memchr::memchr(b'\n', part).map(|at| at + 1);
        let length = end.unwrap_or(part.len());
        if state != Line::TooLong && line.len() + length <= most {
            state = Line::Whole;
            line.extend_from_slice(&part[..length]);
        } else {
            state = Line::TooLong;
            // The memory is released, because the rest of the line may be long.
            *line = Vec::new();
        }
        reader.consume(length);
        if end.is_some() {
            return Ok(state);
        }
    }
}

/// Makes opening a pipe return at once.
pub(in crate::core) fn without_waiting(options: &mut OpenOptions) {
    use rustix::fs::OFlags;
    use std::os::unix::fs::OpenOptionsExt as _;
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    options.custom_flags(flags.bits().cast_signed());
}

/// Opens the directory at a canonical path. If a link has replaced a part of the path since
/// then, it is not followed and an error is returned.
pub(in crate::core) fn open_directory(path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags, open};
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, ResolveFlags, openat2};
        use rustix::io::Errno;
        match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
            // Old kernels and some sandboxes do not have this call.
            Err(Errno::NOSYS | Errno::PERM) => {}
            opened => return Ok(opened?.into()),
        }
    }
    // Only the last part is checked here.
    Ok(open(path, flags | OFlags::NOFOLLOW, Mode::empty())?.into())
}

/// Whether opening failed because a directory was replaced by a link.
pub(in crate::core) fn is_link(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_up_to_its_limit() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let path = temp.path().join("a.json");
        fs::write(&path, "12345").expect("writes");
        assert_eq!(read_capped(&path, 5).expect("fits"), b"12345");
        let error = read_capped(&path, 4).expect_err("too large").to_string();
        assert!(error.contains("a.json: 1 KB is too large"), "{error}");
        assert_eq!(read_text(&temp.path().join("b"), 9).expect("none"), None);
        fs::write(&path, b"ab\xffc").expect("writes");
        let error = read_text(&path, 5).expect_err("not text");
        assert!(
            matches!(error, Error::NotText { offset: 2, .. }),
            "{error:?}"
        );
    }

    #[test]
    fn what_is_no_regular_file_is_refused_at_once() {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        use std::os::unix::fs::symlink;
        let temp = tempfile::tempdir().expect("a temporary directory");
        let pipe = temp.path().join("pipe");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR, 0).expect("a pipe");
        let zero = temp.path().join("zero");
        symlink("/dev/zero", &zero).expect("a link");
        let sparse = temp.path().join("sparse");
        let file = File::create(&sparse).expect("a file");
        file.set_len(1 << 40).expect("a size");
        for path in [&pipe, &zero, &sparse, &temp.path().to_owned()] {
            assert!(read_capped(path, 1 << 20).is_err(), "{}", path.display());
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_passed_over_and_the_next_is_read() {
        let text = b"one\ntwenty-two\nthree";
        for size in [1, 3, 64] {
            let mut reader = io::BufReader::with_capacity(size, &text[..]);
            let mut line = Vec::new();
            let mut read = Vec::new();
            loop {
                match next_line(&mut reader, &mut line, 6).expect("reads") {
                    Line::None => break,
                    Line::Whole => read.push(String::from_utf8(line.clone()).expect("text")),
                    Line::TooLong => read.push("-".to_owned()),
                }
            }
            assert_eq!(read, ["one\n", "-", "three"], "{size}");
        }
    }
}
