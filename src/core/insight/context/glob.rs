//! File name patterns: `*`, `**`, `?`, `[ab]` and `{a,b}`.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

/// The most entries of directories that are compared with all patterns of an agent.
pub(super) const MOST_ENTRIES: usize = if cfg!(test) { 300 } else { 100_000 };

/// Returns the expression of a pattern; `None` if the pattern is invalid.
pub(in crate::core::insight) fn expression(pattern: &str) -> Option<Regex> {
    let mut written = String::from("^");
    let mut depth = 0_usize;
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        let (taken, part) = match c {
            '*' if rest.starts_with("**/") => (3, "(?:.*/)?".to_owned()),
            '*' if rest.starts_with("**") => (2, ".*".to_owned()),
            '*' => (1, "[^/]*".to_owned()),
            '?' => (1, "[^/]".to_owned()),
            '{' => {
                depth += 1;
                (1, "(?:".to_owned())
            }
            '}' if depth > 0 => {
                depth -= 1;
                (1, ")".to_owned())
            }
            ',' if depth > 0 => (1, "|".to_owned()),
            '[' => class(rest).unwrap_or((1, "\\[".to_owned())),
            c => (c.len_utf8(), regex::escape(c.encode_utf8(&mut [0; 4]))),
        };
        written.push_str(&part);
        rest = &rest[taken..];
    }
    written.push('$');
    Regex::new(&written).ok()
}

/// Returns how much of a pattern its first `[ab]`, `[a-z]` or `[!a]` takes, and its expression. It stands
/// for itself as well, since names of files have brackets, too.
fn class(pattern: &str) -> Option<(usize, String)> {
    static CLASS: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"^\[([!^]?)([^/\]][^/\]]*)\]").ok());
    let found = CLASS.as_ref()?.captures(pattern)?;
    let start = if found[1].is_empty() { "" } else { "^/" };
    let within = regex::escape(&found[2]).replace("\\-", "-");
    let itself = regex::escape(&found[0]);
    Some((found[0].len(), format!("(?:[{start}{within}]|{itself})")))
}

/// Returns where the files of a pattern are: the part of it before the first placeholder.
pub(super) fn base(folder: &Path, pattern: &str) -> PathBuf {
    let parts = pattern.split('/').take_while(|part| is_plain(part));
    folder.join(parts.collect::<Vec<&str>>().join("/"))
}

fn is_plain(part: &str) -> bool {
    !part.contains(['*', '?', '{', '['])
}

/// Returns the files below a folder that match a pattern relative to it, as OpenCode loads them: those
/// of a directory in its reverse order, then those of the directories in it. It ends when no entries
/// are `left` to look at.
pub(super) fn files(folder: &Path, pattern: &str, left: &mut usize) -> Vec<PathBuf> {
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    if is_plain(pattern) {
        let file = folder.join(pattern);
        return file.is_file().then_some(file).into_iter().collect();
    }
    let Some(expression) = expression(pattern) else {
        return Vec::new();
    };
    let parts: Vec<&str> = pattern.split('/').collect();
    let start = parts.iter().take_while(|part| is_plain(part)).count();
    let base = base(folder, pattern);
    let deepest = if pattern.contains("**") {
        usize::MAX
    } else {
        parts.len() - start
    };
    let matches = |path: &Path| {
        let inside = path.strip_prefix(folder).ok().and_then(Path::to_str);
        inside.is_some_and(|inside| expression.is_match(inside)) && path.is_file()
    };
    let mut found = Vec::new();
    let mut folders = VecDeque::from([(base, 1)]);
    while let Some((folder, depth)) = folders.pop_front() {
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        let mut entries: Vec<fs::DirEntry> = entries.take(*left).collect();
        *left -= entries.len();
        entries.reverse();
        for entry in entries {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if depth < deepest {
                    folders.push_back((path, depth + 1));
                }
            } else if matches(&path) {
                found.push(path);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stays_in_its_folder_and_two_stars_do_not() {
        for (pattern, path, expected) in [
            ("docs/*.md", "docs/a.md", true),
            ("docs/*.md", "docs/sub/a.md", false),
            ("docs/**/*.md", "docs/a.md", true),
            ("docs/**/*.md", "docs/x/y/a.md", true),
            ("**/CLAUDE.md", "/home/kim/CLAUDE.md", true),
            ("/home/kim/**", "/home/kim/x/CLAUDE.md", true),
            ("a.{md,txt}", "a.txt", true),
            ("a.{md,txt}", "a.rs", false),
            ("a.md", "axmd", false),
            ("?.md", "é.md", true),
            ("[ab].md", "b.md", true),
            ("[ab].md", "c.md", false),
            ("[ab].md", "[ab].md", true),
            ("[a-c].md", "b.md", true),
            ("[!ab].md", "c.md", true),
            ("[!ab].md", "a.md", false),
            ("x[!ab]y", "x/y", false),
            ("[a.md", "[a.md", true),
        ] {
            let found = expression(pattern).expect("valid").is_match(path);
            assert_eq!(found, expected, "{pattern} {path}");
        }
    }

    #[test]
    fn a_pattern_finds_its_files() {
        let home = crate::core::fixture::Home::new();
        for file in ["docs/b.md", "docs/a.md", "docs/x/c.md", "docs/a.txt"] {
            home.write(file, "x");
        }
        let root = home.path();
        let found = |pattern: &str| -> Vec<String> {
            let files = files(&root, pattern, &mut MOST_ENTRIES.clone()).into_iter();
            let inside = files.map(|file| file.strip_prefix(&root).map(Path::to_owned));
            let names = inside.map(|file| file.expect("inside").display().to_string());
            let mut names: Vec<String> = names.collect();
            names.sort();
            names
        };
        assert_eq!(found("docs/*.md"), ["docs/a.md", "docs/b.md"]);
        assert_eq!(
            found("docs/**/*.md"),
            ["docs/a.md", "docs/b.md", "docs/x/c.md"]
        );
        // What is farther down comes last.
        let last = files(&root, "docs/**/*.md", &mut MOST_ENTRIES.clone()).pop();
        assert_eq!(last, Some(root.join("docs/x/c.md")));
        assert_eq!(found("./docs/a.txt"), ["docs/a.txt"]);
        assert!(found("nothing/*").is_empty());
    }
}
