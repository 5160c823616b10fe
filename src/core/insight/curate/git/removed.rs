//! Symbols that a project defined and no longer has: functions, types, constants and variables.
//!
//! One pass over the changes of the newest commits tells which of the wanted names lost a
//! definition; of these, those that no tracked file has any more are gone. The work is bounded by
//! the number of commits and by the size of their changes, never by the number of names.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io::{BufRead, BufReader, Read as _};
use std::path::Path;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use regex::Regex;

use super::{Cut, Git, PATHS_OF_A_CALL, ProjectHistory};
use crate::core::disk::foreign::{Line, next_line};
use crate::core::disk::sandbox::Root;
use crate::core::text::file_name;

/// How many of the newest commits are read for names.
pub const NEWEST: usize = 1000;

/// The largest output of git that is read, and the longest line.
const LARGEST: u64 = 128 << 20;
const LONGEST_LINE: usize = 4 << 10;

/// The most names that are searched in the tracked files.
const MOST_NAMES: usize = 256;

/// The last definition of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostDefinition {
    /// How many commits are newer than the one that removed it.
    pub age: usize,
    /// The hash of that commit.
    pub commit: String,
    /// The file that had it.
    pub path: String,
    /// The line.
    pub line: String,
}

impl ProjectHistory {
    /// Which of the names the project defined and no longer has.
    pub fn gone_names(&self, wanted: &BTreeSet<String>) -> HashMap<String, LostDefinition> {
        // Whether a name is still defined shows only in the tracked files.
        if wanted.is_empty() || matches!(self.cut, Some(Cut::Files | Cut::Late)) {
            return HashMap::new();
        }
        let read = || match &self.git {
            Some(git) => lost_definitions(git, &self.root, wanted),
            None => HashMap::new(),
        };
        let mut lost = self.lost.get_or_init(read).clone();
        lost.retain(|name, _| wanted.contains(name));
        self.without_words_that_are_there(&mut lost);
        lost
    }

    /// The number of the commit that removed a definition.
    pub fn commit_of(&self, lost: &LostDefinition) -> Option<usize> {
        let mut commits = self.commits.iter();
        commits.position(|commit| lost.commit.starts_with(&commit.hash))
    }

    /// Sets what [`lost_definitions`] told; it is not looked for again.
    pub(in crate::core::insight::curate) fn set_lost(&self, lost: HashMap<String, LostDefinition>) {
        // What is known already is the same.
        drop(self.lost.set(lost));
    }

    /// Removes the names that a tracked file still has.
    fn without_words_that_are_there(&self, lost: &mut HashMap<String, LostDefinition>) {
        let newest = lost
            .iter()
            .map(|(name, definition)| (definition.age, name.clone()));
        let mut newest: Vec<(usize, String)> = newest.collect();
        newest.sort();
        // What cannot be looked at is not reported.
        newest.truncate(MOST_NAMES);
        let names: BTreeSet<String> = newest.into_iter().map(|(_, name)| name).collect();
        let there = self.words_in_sources(&names);
        lost.retain(|name, _| {
            names.contains(name) && there.as_ref().is_some_and(|there| !there.contains(name))
        });
    }
}

impl ProjectHistory {
    /// Which of these words stand in the tracked files that are no prose; `None` if there is too much
    /// to read.
    fn words_in_sources(&self, words: &BTreeSet<String>) -> Option<BTreeSet<String>> {
        let words: Vec<&String> = words.iter().collect();
        if words.is_empty() {
            return Some(BTreeSet::new());
        }
        let finder = AhoCorasick::new(&words).ok()?;
        let mut missing = vec![true; words.len()];
        let mut left = LARGEST;
        let is_part = |byte: Option<&u8>| {
            byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        };
        let root = Root::open(&self.root).ok()?.holding();
        for path in self.live.iter().filter(|path| is_source(path)) {
            // A file that is larger, a link out of the project, or one that is gone is no source.
            let found = root.read(path).ok().flatten();
            let Some(bytes) = found.filter(|bytes| bytes.len() <= LARGEST_SOURCE) else {
                continue;
            };
            left = left.checked_sub(bytes.len() as u64 + PER_FILE)?;
            for found in finder.find_overlapping_iter(&bytes) {
                let before = found.start().checked_sub(1).and_then(|at| bytes.get(at));
                if !is_part(before) && !is_part(bytes.get(found.end())) {
                    missing[found.pattern().as_usize()] = false;
                }
            }
            if !missing.contains(&true) {
                break;
            }
        }
        let there = words
            .iter()
            .zip(&missing)
            .filter(|(_, is_missing)| !**is_missing);
        Some(there.map(|(word, _)| (*word).clone()).collect())
    }
}

/// The largest file that is searched for names.
const LARGEST_SOURCE: usize = 4 << 20;

/// What opening a file costs, in bytes that could be read instead.
const PER_FILE: u64 = 2 << 10;

/// The newest lost definition of each name in the newest commits of a project, whether it is
/// defined elsewhere or not.
pub(in crate::core::insight::curate) fn lost_definitions(
    git: &Git,
    root: &Path,
    wanted: &BTreeSet<String>,
) -> HashMap<String, LostDefinition> {
    let newest = NEWEST.to_string();
    let args = [
        "log",
        "-n",
        &newest,
        "-p",
        "-U0",
        "--no-renames",
        "--no-ext-diff",
        "--no-textconv",
        "--no-color",
        "--src-prefix=a/",
        "--dst-prefix=b/",
        "--format=%x01%H",
    ];
    let read = || {
        let mut git = git.start(root, &args)?;
        let lost = parse(BufReader::new((&mut git).take(LARGEST)), wanted);
        git.end();
        Some(lost)
    };
    if wanted.is_empty() {
        HashMap::new()
    } else {
        read().unwrap_or_default()
    }
}

/// The endings of files that tell about a project instead of being it.
const PROSE: [&str; 10] = [
    "md", "mdx", "txt", "rst", "adoc", "lock", "svg", "html", "log", "csv",
];

fn is_source(path: &str) -> bool {
    let name = file_name(path);
    let end = name.rsplit_once('.').map_or("", |(_, end)| end);
    !PROSE.contains(&end) && !name.ends_with("-lock.json") && name != "CHANGELOG"
}

/// A line that a commit removed or added.
struct ChangedLine<'l> {
    /// How many commits of the log are newer.
    age: usize,
    commit: &'l str,
    path: &'l str,
    is_added: bool,
    text: &'l str,
}

/// The lines that the commits of a `git log -p -U0` changed, newest commit first.
fn each_changed_line(mut output: impl BufRead, mut each: impl FnMut(ChangedLine<'_>)) {
    let mut line = Vec::new();
    let mut commit: Option<(usize, String)> = None;
    let (mut old_path, mut new_path) = (String::new(), String::new());
    // How many lines of the change before the next header were removed and added.
    let (mut removed, mut added) = (0_usize, 0_usize);
    loop {
        match next_line(&mut output, &mut line, LONGEST_LINE) {
            Ok(Line::Whole) => {}
            // A long line is generated text; it counts, and nothing of it is read.
            Ok(Line::TooLong) => {
                match removed {
                    0 => added = added.saturating_sub(1),
                    _ => removed -= 1,
                }
                continue;
            }
            Ok(Line::None) | Err(_) => break,
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end_matches(['\n', '\r']);
        let is_added = removed == 0;
        let left = if is_added { &mut added } else { &mut removed };
        if *left > 0 && text.starts_with(if is_added { '+' } else { '-' }) {
            *left -= 1;
            if let Some((age, commit)) = &commit {
                each(ChangedLine {
                    age: *age,
                    commit,
                    path: if is_added { &new_path } else { &old_path },
                    is_added,
                    text: &text[1..],
                });
            }
        } else if let Some(hash) = text.strip_prefix('\u{1}') {
            let age = commit.map_or(0, |(age, _)| age + 1);
            commit = Some((age, hash.to_owned()));
        } else if let Some(from) = text.strip_prefix("--- ") {
            from.strip_prefix("a/")
                .unwrap_or_default()
                .clone_into(&mut old_path);
        } else if let Some(to) = text.strip_prefix("+++ ") {
            to.strip_prefix("b/")
                .unwrap_or_default()
                .clone_into(&mut new_path);
        } else if let Some(numbers) = text.strip_prefix("@@ -") {
            (removed, added) = lengths(numbers);
        }
    }
}

/// The lost definitions in the output of `git log -p -U0`, each by its newest commit.
fn parse(output: impl BufRead, wanted: &BTreeSet<String>) -> HashMap<String, LostDefinition> {
    let mut lost = HashMap::new();
    each_changed_line(output, |line| {
        if line.is_added {
            return;
        }
        for name in definitions(line.path, line.text) {
            if wanted.contains(name) {
                lost.entry(name.to_owned())
                    .or_insert_with(|| LostDefinition {
                        age: line.age,
                        commit: line.commit.to_owned(),
                        path: line.path.to_owned(),
                        line: line.text.trim().to_owned(),
                    });
            }
        }
    });
    lost
}

/// When each of these names was written into each of some files: the hash of the newest commit that
/// added it where the commit removed no line with it. The commit that created a file is left out:
/// memories are often added to a repository long after they were written.
pub(super) fn written_names(
    git: &Git,
    root: &Path,
    files: &BTreeSet<String>,
    names: &[&str],
) -> HashMap<(String, usize), String> {
    let mut args = vec![
        "log",
        "-p",
        "-U0",
        "-M",
        "--no-ext-diff",
        "--no-textconv",
        "--no-color",
        "--src-prefix=a/",
        "--dst-prefix=b/",
        "--diff-filter=MR",
        "--format=%x01%h",
        "--",
    ];
    args.extend(places_of(files));
    let mut found = HashMap::new();
    let (Ok(finder), Some(mut git)) = (AhoCorasick::new(names), git.start(root, &args)) else {
        return found;
    };
    // The names in the lines of one file that one commit removed; they come before those it added.
    let mut removed: HashSet<usize> = HashSet::new();
    let mut of = (0, String::new());
    each_changed_line(BufReader::new((&mut git).take(LARGEST)), |line| {
        if !files.contains(line.path) {
            return;
        }
        if (of.0, of.1.as_str()) != (line.age, line.path) {
            of = (line.age, line.path.to_owned());
            removed.clear();
        }
        for name in finder.find_overlapping_iter(line.text) {
            let name = name.pattern().as_usize();
            if !line.is_added {
                removed.insert(name);
            } else if !removed.contains(&name) {
                let key = (line.path.to_owned(), name);
                found.entry(key).or_insert_with(|| line.commit.to_owned());
            }
        }
    });
    git.end();
    found
}

/// What git is asked about to hear of these files: it takes longer with every path that it is given.
fn places_of(files: &BTreeSet<String>) -> Vec<&str> {
    let mut places: Vec<&str> = files.iter().map(String::as_str).collect();
    if places.len() > PATHS_OF_A_CALL {
        let folder =
            |file: &mut &str| *file = file.rsplit_once('/').map_or(".", |(folder, _)| folder);
        places.iter_mut().for_each(folder);
        places.sort_unstable();
        places.dedup();
    }
    if places.len() > PATHS_OF_A_CALL {
        places = vec!["."];
    }
    places
}

/// The numbers of removed and added lines in the header of a change: `12,3 +14 @@`.
fn lengths(header: &str) -> (usize, usize) {
    let length = |part: Option<&str>| {
        let part = part.unwrap_or_default();
        match part.split_once(',') {
            Some((_, length)) => length.parse().unwrap_or(0),
            None => 1,
        }
    };
    let mut parts = header.split(' ');
    let removed = length(parts.next());
    (removed, length(parts.next()))
}

/// The name that a definition gives, after a word that defines.
static DEFINED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?-u:\b)(?:fn|func|fun|function|def|class|struct|enum|trait|type|interface|const|let|var|val|static|mod|module|macro_rules!|define|record|protocol|object|union|void|int|bool|string|Task(?:<[^>]*>)?)[ \t]+(?:mut[ \t]+|const[ \t]+|async[ \t]+)?\(?(?:[*&][ \t]*(?-u:\w)+[ \t]*\)[ \t]*)?([A-Za-z_](?-u:\w){4,})",
    )
    .expect("a valid pattern")
});

/// A variable that is set, as in a shell script or a settings file.
static SET: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"^[ \t]*(?:export[ \t]+|declare[ \t]+(?:-[a-z]+[ \t]+)?|readonly[ \t]+|local[ \t]+|-?[ \t]*["']?)?([A-Z][A-Z0-9]*_[A-Z0-9_]+)["']?[ \t]*(?:=|:|\?=)"#)
        .expect("a valid pattern")
});

/// The names that a line of a file defines.
fn definitions<'l>(path: &str, line: &'l str) -> impl Iterator<Item = &'l str> {
    let patterns = [&*DEFINED, &*SET]
        .into_iter()
        .filter(move |_| is_source(path));
    let found = patterns.flat_map(move |pattern| pattern.captures_iter(line));
    found.filter_map(|parts| Some(parts.get(1)?.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_definition_is_one_of_a_removed_line_and_the_newest_commit_counts() {
        let log = "\u{1}c3\n\ndiff --git a/src/a.rs b/src/a.rs\n--- a/src/a.rs\n+++ b/src/a.rs\n\
            @@ -3,2 +3 @@ fn x()\n-pub fn load_all(x: u8) {\n--- fn no_name() in a comment\n+fn kept_name() {}\n\
            \u{1}c2\n\n--- a/run.sh\n+++ b/run.sh\n@@ -2,2 +0,0 @@\n-export APP_HOME=/x\n-git push --force-now\n\
            --- a/README.md\n+++ b/README.md\n@@ -1 +0,0 @@\n-fn in_prose() {}\n\
            \u{1}c1\n\n--- a/src/old.rs\n+++ /dev/null\n@@ -1 +0,0 @@\n-fn load_all() {}\n";
        let wanted = ["load_all", "no_name", "kept_name", "in_prose", "APP_HOME"];
        let wanted = BTreeSet::from(wanted.map(str::to_owned));
        let lost = parse(log.as_bytes(), &wanted);
        let mut told: Vec<String> = lost
            .iter()
            .map(|(name, lost)| format!("{name} {} {}", lost.commit, lost.path))
            .inspect(|_| assert!(lost.values().all(|lost| lost.age < 2)))
            .collect();
        told.sort();
        assert_eq!(
            told,
            [
                "APP_HOME c2 run.sh",
                "load_all c3 src/a.rs",
                "no_name c3 src/a.rs",
            ]
        );
    }

    #[test]
    fn git_is_asked_about_few_places_whatever_the_number_of_files() {
        let files = |folders: usize| -> BTreeSet<String> {
            let each = (0..300).map(|n| format!("notes/d{}/m{n}.md", n % folders));
            each.collect()
        };
        assert_eq!(places_of(&files(2)), ["notes/d0", "notes/d1"]);
        assert_eq!(places_of(&files(300)), ["."]);
        let few: BTreeSet<String> = files(300).into_iter().take(3).collect();
        assert_eq!(places_of(&few).len(), 3);
    }
}
