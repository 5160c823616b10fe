//! The log of a project as git printed it, kept in the cache, so that after new commits only those
//! are read.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::Git;
use super::program::Output;
use crate::core::disk::foreign::read_text;
use crate::core::disk::private;

/// The first line of a file with a log of at most `most` bytes; a file with another one is not read.
fn first_line(most: usize) -> String {
    format!("tome git log 2, {most}")
}

/// The length of what is before the log in the file, at most.
const LONGEST_HEAD: usize = 256;

/// Where the log of a project is kept, and what is kept there.
pub(super) struct SavedLog {
    path: Option<PathBuf>,
    /// The commit and the log.
    known: Option<(String, Output)>,
    /// The most bytes of a log that are read and kept.
    most: usize,
}

impl SavedLog {
    /// The saved log of the project at `root`, if it has at most `most` bytes.
    pub(super) fn at(cache: Option<&Path>, root: &Path, most: usize) -> Self {
        let path = cache.map(|cache| {
            let name = blake3::hash(root.as_os_str().as_encoded_bytes()).to_hex();
            cache.join(format!("git-{}", &name[..16]))
        });
        let largest = (most + LONGEST_HEAD) as u64;
        let text = path
            .as_deref()
            .and_then(|path| read_text(path, largest).ok()?);
        let known = text.and_then(|text| parse(text, most));
        Self { path, known, most }
    }

    /// The log up to the commit `head`, newest commits first; it is saved if it is new.
    pub(super) fn updated(self, git: &Git, root: &Path, head: &str) -> Option<Output> {
        let most = self.most;
        let log = match self.known {
            Some((known, log)) if known == head => return Some(log),
            Some((known, older)) if is_ancestor(git, root, &known, head) => {
                let mut log = read(git, root, &format!("{known}..{head}"), most)?;
                if log.is_whole {
                    log.text.push_str(&older.text);
                    log.is_whole = older.is_whole;
                    log.cut_to(most);
                }
                log
            }
            _ => read(git, root, head, most)?,
        };
        if let Some(path) = &self.path
            && let Some(dir) = path.parent()
            && private::create_dir(dir).is_ok()
        {
            // What cannot be written is read again the next time.
            drop(private::replace_unflushed(path, |file| {
                let (length, is_whole) = (log.text.len(), log.is_whole);
                let first = first_line(most);
                write!(file, "{first}\n{head}\n{is_whole}\n{length}\n")?;
                file.write_all(log.text.as_bytes())
            }));
        }
        Some(log)
    }
}

/// The commit and the log in the text of the file.
fn parse(mut text: String, most: usize) -> Option<(String, Output)> {
    let mut lines = text.splitn(5, '\n');
    let (first, head) = (lines.next()?, lines.next()?.to_owned());
    let (is_whole, length) = (lines.next()?.parse().ok()?, lines.next()?);
    let log = lines.next()?.len();
    let fits = first == first_line(most) && length.parse() == Ok(log);
    text.drain(..text.len() - log);
    fits.then_some((head, Output { text, is_whole }))
}

/// Whether the first commit is in the history of the second.
fn is_ancestor(git: &Git, root: &Path, old: &str, new: &str) -> bool {
    let is_hash = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let args = ["merge-base", "--is-ancestor", old, new];
    is_hash(old) && is_hash(new) && git.succeeds(root, &args)
}

/// The log of some commits: each with what it did to which files.
fn read(git: &Git, root: &Path, commits: &str, most: usize) -> Option<Output> {
    let args = [
        "log",
        "-z",
        "--name-status",
        "-M",
        "--no-ext-diff",
        "--no-textconv",
        "--no-color",
        "--format=%x01%h%x00%cs%x00%s",
        commits,
    ];
    git.output(root, &args, most)
}
