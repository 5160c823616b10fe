//! Line-based files of the size of logs: searching, reading a part, appending.

use std::io::{self, Write as _};
use std::ops::RangeInclusive;

use cap_std::fs::{File, OpenOptions};

use super::{LARGEST_MEMORY, NOT_REGULAR, Root, without_waiting};
use crate::core::disk::foreign::{LARGEST_LOG, Line, next_line};
use crate::core::{Error, Result};

/// The longest line that is kept in memory, in bytes.
const LONGEST_LINE: usize = LARGEST_MEMORY as usize;

impl Root {
    /// Whether `wanted` holds for any line of a file. Lines that are too long or not
    /// UTF-8 are skipped.
    pub fn any_line(&self, path: &str, wanted: impl Fn(&str) -> bool) -> Result<bool> {
        self.lines_until(path, &mut |line| wanted(line))
    }

    /// Calls `show` with every line of a file. Lines that are too long or not UTF-8 are skipped.
    pub fn each_line(&self, path: &str, show: &mut dyn FnMut(&str)) -> Result<()> {
        let shown = self.lines_until(path, &mut |line| {
            show(line);
            false
        });
        shown.map(drop)
    }

    /// Opens a file to read its lines; `None` if there is none. One that is larger than any log is
    /// refused.
    fn open_lines(&self, path: &str) -> Result<Option<io::BufReader<File>>> {
        let Some((file, size)) = self.open_file(path)? else {
            return Ok(None);
        };
        if size > LARGEST_LOG {
            let why = format!("it has more than {} GB", LARGEST_LOG >> 30);
            return Err(Error::refused(path, why));
        }
        Ok(Some(io::BufReader::with_capacity(1 << 16, file)))
    }

    /// Reads lines until `is_last` holds; returns whether it did.
    fn lines_until(&self, path: &str, is_last: &mut dyn FnMut(&str) -> bool) -> Result<bool> {
        let Some(mut reader) = self.open_lines(path)? else {
            return Ok(false);
        };
        let mut line = Vec::new();
        loop {
            let read = next_line(&mut reader, &mut line, LONGEST_LINE);
            match read.map_err(|e| self.path_error(path, e))? {
                Line::None => return Ok(false),
                Line::TooLong => {}
                Line::Whole if std::str::from_utf8(&line).is_ok_and(&mut *is_last) => {
                    return Ok(true);
                }
                Line::Whole => {}
            }
        }
    }

    /// A range of lines, counted from 1, of a file; `None` if there are no such lines.
    pub fn read_lines(
        &self,
        path: &str,
        wanted: &RangeInclusive<usize>,
    ) -> Result<Option<Vec<u8>>> {
        let Some(mut reader) = self.open_lines(path)? else {
            return Ok(None);
        };
        let (mut found, mut line) = (Vec::new(), Vec::new());
        for number in 1..=*wanted.end() {
            let read = next_line(&mut reader, &mut line, LONGEST_LINE);
            match read.map_err(|e| self.path_error(path, e))? {
                Line::None => break,
                _ if !wanted.contains(&number) => {}
                Line::Whole if found.len() + line.len() <= LONGEST_LINE => found.append(&mut line),
                Line::Whole | Line::TooLong => {
                    return Err(Error::refused(
                        format!("{path}#L{number}"),
                        format!("more than {} MB; ask for fewer lines", LONGEST_LINE >> 20),
                    ));
                }
            }
        }
        Ok((!found.is_empty()).then_some(found))
    }

    /// Appends a line to a file and flushes it; an incomplete last line is ended first.
    pub fn append_line(&self, path: &str, line: &str) -> Result<()> {
        self.create()?;
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        without_waiting(&mut options);
        let appended = self
            .handle()?
            .open_with(path, &options)
            .and_then(|mut file| {
                if !file.metadata()?.is_file() {
                    return Err(io::Error::other(NOT_REGULAR));
                }
                let text = format!("{}{line}\n", missing_newline(&mut file)?);
                file.write_all(text.as_bytes())?;
                file.sync_all()
            });
        appended.map_err(|e| self.path_error(path, e))
    }
}

/// The newline that must be written first if the last line is incomplete.
pub(in crate::core) fn missing_newline(
    file: &mut (impl io::Read + io::Seek),
) -> io::Result<&'static str> {
    if file.seek(io::SeekFrom::End(0))? == 0 {
        return Ok("");
    }
    file.seek(io::SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(if last == *b"\n" { "" } else { "\n" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(bytes: &[u8]) -> (tempfile::TempDir, Root) {
        let temp = tempfile::tempdir().expect("a temporary directory");
        std::fs::write(temp.path().join("log"), bytes).expect("written");
        let root = Root::open(temp.path()).expect("opens");
        (temp, root)
    }

    #[test]
    fn a_file_larger_than_any_log_is_refused_and_not_read() {
        let (temp, root) = file(b"");
        let sparse = std::fs::File::options()
            .write(true)
            .open(temp.path().join("log"));
        sparse
            .and_then(|file| file.set_len(LARGEST_LOG + 1))
            .expect("grows");
        let all = root.each_line("log", &mut |_| panic!("a line"));
        let part = root.read_lines("log", &(1..=2)).map(drop);
        for refused in [all, part] {
            let why = refused.expect_err("too large").to_string();
            assert!(why.contains("more than 4 GB"), "{why}");
        }
    }

    #[test]
    fn some_lines_are_read_and_no_others() {
        let (_temp, root) = file(b"one\ntwo\nthree\nfour");
        for (wanted, text) in [
            (1..=1, Some("one\n")),
            (2..=3, Some("two\nthree\n")),
            (4..=9, Some("four")),
            (5..=9, None),
        ] {
            let read = root.read_lines("log", &wanted).expect("reads");
            assert_eq!(read.as_deref(), text.map(str::as_bytes), "{wanted:?}");
        }
        assert_eq!(root.read_lines("none", &(1..=1)).expect("reads"), None);
    }

    #[test]
    fn lines_are_refused_only_where_they_are_too_much_together() {
        let short = [vec![b'x'; 6_000], vec![b'\n']].concat();
        let long = [vec![b'x'; LONGEST_LINE / 5 * 3], vec![b'\n']].concat();
        let (_temp, root) = file(&[&short[..], &short, &long, &long].concat());
        for (wanted, size) in [
            (1..=2, 2 * short.len()),
            (2..=3, short.len() + long.len()),
            (4..=4, long.len()),
        ] {
            let read = root.read_lines("log", &wanted).expect("reads");
            assert_eq!(read.map(|bytes| bytes.len()), Some(size), "{wanted:?}");
        }
        let error = root.read_lines("log", &(3..=4)).expect_err("too much");
        assert!(error.to_string().contains("log#L4"), "{error}");
    }

    #[test]
    fn every_line_of_text_is_looked_at_up_to_the_one_wanted() {
        let (_temp, root) = file(b"one\n\xff\xfe\ntwo\nthree");
        let mut all = Vec::new();
        root.each_line("log", &mut |line| all.push(line.trim_end().to_owned()))
            .expect("reads");
        assert_eq!(all, ["one", "two", "three"]);
        let seen = std::cell::RefCell::new(Vec::new());
        let is_two = |line: &str| {
            seen.borrow_mut().push(line.to_owned());
            line == "two\n"
        };
        assert!(root.any_line("log", is_two).expect("reads"));
        assert_eq!(*seen.borrow(), ["one\n", "two\n"]);
        assert!(!root.any_line("log", |line| line == "four").expect("reads"));
        assert!(!root.any_line("none", |_| true).expect("reads"));
    }

    #[test]
    fn a_line_is_added_after_the_end_of_the_one_before() {
        for (before, after) in [
            ("", "new\n"),
            ("one\n", "one\nnew\n"),
            ("broken off", "broken off\nnew\n"),
        ] {
            let (temp, root) = file(before.as_bytes());
            root.append_line("log", "new").expect("appended");
            let text = std::fs::read_to_string(temp.path().join("log"));
            assert_eq!(text.expect("text"), after);
        }
        let temp = tempfile::tempdir().expect("a temporary directory");
        let root = Root::open(&temp.path().join("not/yet")).expect("opens");
        root.append_line("log", "new").expect("appended");
        assert_eq!(root.read("log").expect("reads"), Some(b"new\n".to_vec()));
    }
}
