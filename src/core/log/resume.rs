//! The agents' own commands that continue a session.

use std::path::PathBuf;

use super::{Head, LogFile, fork};
use crate::core::text::hidden::is_hidden;

/// The agent's own command that continues a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resume {
    /// The program.
    pub program: &'static str,
    /// Its arguments.
    pub args: Vec<String>,
    /// The directory in which it must be started.
    pub cwd: Option<PathBuf>,
}

impl Resume {
    /// Continues a session in its directory.
    pub(super) fn by(
        program: &'static str,
        args: impl IntoIterator<Item = impl Into<String>>,
        head: &Head,
    ) -> Self {
        Self {
            program,
            args: args.into_iter().map(Into::into).collect(),
            cwd: head.cwd.as_ref().map(PathBuf::from),
        }
    }

    /// Continues a session by its id behind an option; `None` if a subagent had it.
    pub(super) fn by_id(
        program: &'static str,
        name: &str,
        log: &LogFile,
        head: &Head,
    ) -> Option<Self> {
        if log.parent.is_some() {
            return None;
        }
        let program = fork::program(log.agent, program, &log.path)?;
        Some(Self::by(program, option(name, &log.id), head))
    }

    /// Returns the command as shell input, including the `cd` to its directory.
    pub fn command_line(&self) -> String {
        let words: Vec<String> = std::iter::once(self.program)
            .chain(self.args.iter().map(String::as_str))
            .map(quoted)
            .collect();
        let line = words.join(" ");
        match &self.cwd {
            Some(cwd) => {
                let cwd = cwd.to_string_lossy();
                // `cd -- -` would go to the previous directory.
                if cwd.starts_with('-') {
                    format!("cd -- {} && {line}", quoted(&format!("./{cwd}")))
                } else {
                    format!("cd {} && {line}", quoted(&cwd))
                }
            }
            None => line,
        }
    }
}

/// Returns the arguments for an option with an id from a log. An id that starts with `-` is joined
/// to the option, so that it is not taken for another option.
pub(super) fn option(name: &str, id: &str) -> Vec<String> {
    if id.starts_with('-') {
        vec![format!("{name}={id}")]
    } else {
        vec![name.to_owned(), id.to_owned()]
    }
}

/// Quotes a word for a shell. Hidden characters are escaped, so that a copied command cannot act on
/// a terminal.
pub fn quoted(word: &str) -> String {
    if word.contains(is_hidden) {
        let mut out = String::from("$'");
        for c in word.chars() {
            match c {
                '\'' | '\\' => out.extend(['\\', c]),
                c if is_hidden(c) => {
                    // Octal bytes, which every shell with `$'…'` quotes accepts.
                    let bytes = c.encode_utf8(&mut [0; 4]).bytes().collect::<Vec<u8>>();
                    bytes
                        .iter()
                        .for_each(|byte| out.push_str(&format!("\\{byte:03o}")));
                }
                c => out.push(c),
            }
        }
        return out + "'";
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_see_more_than_a_word() {
        assert_eq!(quoted("/home/kim/shop"), "/home/kim/shop");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's; rm"), "'it'\\''s; rm'");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("a\u{1b}]0;x\u{7}'"), "$'a\\033]0;x\\007\\''");
        assert_eq!(quoted("a\u{202e}b"), "$'a\\342\\200\\256b'");
    }
}
