//! The log of a project as git printed it, kept in the cache: after new commits only these are
//! read.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::{command, run};
use crate::core::foreign::read_text;
use crate::core::private;

/// The largest log that is kept.
const LARGEST: u64 = 256 << 20;

/// The form of the file; another one is not read.
const FORM: &str = "tome git log 1";

/// Where the log of a project is kept, and what is kept there.
pub(super) struct SavedLog {
    path: Option<PathBuf>,
    /// The commit and the log.
    known: Option<(String, String)>,
}

impl SavedLog {
    /// The saved log of the project at `root`.
    pub(super) fn at(cache: Option<&Path>, root: &Path) -> Self {
        let path = cache.map(|cache| {
            let name = blake3::hash(root.as_os_str().as_encoded_bytes()).to_hex();
            cache.join(format!("git-{}", &name[..16]))
        });
        let text = path
            .as_deref()
            .and_then(|path| read_text(path, LARGEST).ok()?);
        let known = text.and_then(|text| {
            let (form, rest) = text.split_once('\n')?;
            let (head, rest) = rest.split_once('\n')?;
            let (length, log) = rest.split_once('\n')?;
            let is_whole = form == FORM && length.parse() == Ok(log.len());
            is_whole.then(|| (head.to_owned(), log.to_owned()))
        });
        Self { path, known }
    }

    /// The log up to the commit `head`; it is saved if it is new.
    pub(super) fn updated(self, git: &Path, root: &Path, head: &str) -> Option<String> {
        let log = match self.known {
            Some((known, log)) if known == head => return Some(log),
            Some((known, log)) if is_ancestor(git, root, (&known, head)) => {
                let newer = read(git, root, &format!("{known}..{head}"))?;
                newer + &log
            }
            _ => read(git, root, head)?,
        };
        if let Some(path) = &self.path
            && let Some(dir) = path.parent()
            && private::create_dir(dir).is_ok()
        {
            // What cannot be written is read again the next time.
            drop(private::replace_unflushed(path, |file| {
                write!(file, "{FORM}\n{head}\n{}\n", log.len())?;
                file.write_all(log.as_bytes())
            }));
        }
        Some(log)
    }
}

/// Whether the first commit is in the history of the second.
fn is_ancestor(git: &Path, root: &Path, (old, new): (&str, &str)) -> bool {
    let is_hash = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut call = command(git, root, &["merge-base", "--is-ancestor", old, new]);
    is_hash(old) && is_hash(new) && call.status().is_ok_and(|status| status.success())
}

/// The log of some commits: each with what it did to which files.
fn read(git: &Path, root: &Path, commits: &str) -> Option<String> {
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
    run(git, root, &args)
}
