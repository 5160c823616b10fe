//! The files that a session changed, by its own calls.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;

use super::event::Event;
use super::summarize::changes_of;

/// The most files of a node.
const MOST: usize = 100;

/// The place of a linked worktree; the rest is a path in the project.
static WORKTREE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:.*/)?[\w.-]*worktrees?/[^/]+/(.+)$").expect("a valid pattern")
});

/// Returns the project's files that were written, or added to a commit, in the order of their first
/// use; paths are relative to the project. A file that was deleted in the end and never committed
/// is left out.
pub fn changed_files(events: &[Event], cwd: Option<&str>) -> Vec<String> {
    let mut order: Vec<String> = Vec::new();
    let mut kept: HashMap<String, bool> = HashMap::new();
    let mut note = |path: String, is_kept: bool| {
        if !kept.contains_key(&path) {
            order.push(path.clone());
        }
        kept.insert(path, is_kept);
    };
    for event in events {
        let changes = changes_of(event);
        if changes.is_empty() {
            continue;
        }
        let folder = event
            .text
            .lines()
            .find_map(|line| line.strip_prefix("workdir: "));
        let inside = |path: &str| in_project(path, [folder.map(str::trim), cwd]);
        for (path, is_kept) in changes {
            if let Some(path) = inside(path) {
                note(path, *is_kept);
            }
        }
    }
    order.retain(|path| kept.get(path).copied().unwrap_or(false));
    // A folder that was added is told by its files.
    let all = order.clone();
    order.retain(|path| {
        let is_in = |file: &String| {
            file.strip_prefix(path.as_str())
                .is_some_and(|rest| rest.starts_with('/'))
        };
        !all.iter().any(is_in)
    });
    order.truncate(MOST);
    order
}

/// Returns a path relative to the first of these folders that holds it; `None` if it is outside of
/// them.
fn in_project(path: &str, folders: [Option<&str>; 2]) -> Option<String> {
    // Paths of Windows may be in a log that is read elsewhere.
    let slashed = |path: &str| path.replace("\\\\", "/").replace('\\', "/");
    let path = slashed(path);
    let below = folders.into_iter().flatten().find_map(|folder| {
        let folder = slashed(folder);
        let folder = folder.trim_end_matches('/');
        let start = path.get(..folder.len())?;
        let rest = path.get(folder.len()..)?.strip_prefix('/')?;
        start.eq_ignore_ascii_case(folder).then_some(rest)
    });
    let path = below.unwrap_or(&path).trim_start_matches("./");
    let path = match WORKTREE.captures(path) {
        Some(found) => found.get(1).map_or(path, |rest| rest.as_str()),
        None => path,
    };
    let is_absolute = path.starts_with(['/', '~']) || path.get(1..2) == Some(":");
    // Words of a command that are no paths.
    let is_odd = path.contains(['<', '>', '|', '(', ')', '\'', '"', '$', '{', '}', ';', '\n']);
    let is_file = path.contains(char::is_alphanumeric) && !path.ends_with('/') && !is_odd;
    let is_inside = !path.starts_with("../") && !path.starts_with(".git/");
    (!is_absolute && is_file && is_inside).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_a_session_are_those_that_its_calls_leave_changed() {
        let events = [
            Event::call(1, "Edit", "file_path: /w/src/a.rs\nold_string: x"),
            Event::call(2, "Read", "file_path: /w/src/read.rs"),
            Event::call(3, "Write", "file_path: /tmp/outside.md\ncontent: x"),
            Event::call(4, "Bash", "command: echo x > probe.txt"),
            Event::call(5, "Bash", "command: rm probe.txt"),
            Event::call(6, "exec_command", "cmd: git add b.rs c/ -A .\nworkdir: /w"),
            Event::call(7, "Edit", "file_path: D:\\p\\d.rs"),
            Event::call(
                9,
                "Bash",
                "command: git add src 2>/dev/null && echo 'a' > \"$OUT\"",
            ),
            Event::call(8, "Edit", "file_path: /w/.claude/worktrees/fix/src/e.rs"),
        ];
        assert_eq!(
            changed_files(&events, Some("/w")),
            ["src/a.rs", "b.rs", "src/e.rs"]
        );
        assert_eq!(changed_files(&events[6..7], Some("d:\\p")), ["d.rs"]);
        assert!(changed_files(&[], None).is_empty());
    }
}
