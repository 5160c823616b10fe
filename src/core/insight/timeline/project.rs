//! What happened by project, in a day, week, month or year: how many sessions and commits there
//! were, what they were about, and how much is not told.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};

use super::grip::Grip;
use super::summarize::{BulletText, Point, PointKind, choose_of};

/// The most projects with bullets of their own.
const MOST_PROJECTS: usize = 4;

/// A linked worktree of a project.
static WORKTREE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(.+?)(?:[/\\]\.claude)?(?:__|\.|[/\\]\.?)worktrees?[/\\].*$")
        .expect("a valid pattern")
});

/// How much happened in a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectActivity {
    /// The working directory of its sessions.
    pub project: String,
    /// The number of sessions.
    pub sessions: usize,
    /// The number of commits that they made.
    pub commits: usize,
}

/// A point of a session in a project.
#[derive(Debug, Clone, Copy)]
pub(super) struct Told<'a> {
    pub(super) project: &'a str,
    pub(super) point: &'a Point,
    pub(super) grip: &'a Grip,
}

/// The sessions and the number of commits of each project.
#[derive(Debug, Clone, Default)]
pub(super) struct Projects<'a>(BTreeMap<&'a str, (BTreeSet<&'a str>, usize)>);

impl<'a> Projects<'a> {
    /// Counts a part of a session.
    pub(super) fn add(&mut self, project: &'a str, session: &'a str, commits: usize) {
        let known = self.0.entry(project).or_default();
        known.0.insert(session);
        known.1 += commits;
    }

    /// Counts what others have counted.
    pub(super) fn extend(&mut self, others: &Self) {
        for (project, (sessions, commits)) in &others.0 {
            let known = self.0.entry(project).or_default();
            known.0.extend(sessions);
            known.1 += commits;
        }
    }

    /// Returns the projects, those with the most commits first.
    pub(super) fn activity(&self) -> Vec<ProjectActivity> {
        let projects = self.0.iter();
        let activity = projects.map(|(project, (sessions, commits))| ProjectActivity {
            project: (*project).to_owned(),
            sessions: sessions.len(),
            commits: *commits,
        });
        let mut activity: Vec<ProjectActivity> = activity.collect();
        activity.sort_by_key(|one| std::cmp::Reverse((one.commits, one.sessions)));
        activity
    }
}

/// Returns the project of a working directory: of a linked worktree, that of the repository.
pub(super) fn project(cwd: Option<&str>) -> &str {
    let cwd = cwd.unwrap_or_default();
    let found = WORKTREE.captures(cwd).and_then(|found| found.get(1));
    found.map_or(cwd, |found| found.as_str())
}

/// Returns the short name of each of the projects; with the folder above it where two have one name.
fn names(projects: &[ProjectActivity]) -> Vec<String> {
    let last = |path: &str, count: usize| {
        let path = path.trim_end_matches(['/', '\\']);
        let start = path.rmatch_indices(['/', '\\']).nth(count - 1);
        path[start.map_or(0, |(at, _)| at + 1)..].to_owned()
    };
    let short: Vec<String> = projects.iter().map(|one| last(&one.project, 1)).collect();
    let named = projects.iter().zip(&short).map(|(one, name)| {
        let is_twice = short.iter().filter(|other| *other == name).count() > 1;
        match (name.as_str(), is_twice) {
            ("", _) => "elsewhere".to_owned(),
            (_, true) => last(&one.project, 2),
            (name, false) => name.to_owned(),
        }
    });
    named.collect()
}

pub(super) fn plural(count: usize, word: &str) -> String {
    match count {
        1 => format!("1 {word}"),
        count => format!("{count} {word}s"),
    }
}

fn counted(one: &ProjectActivity) -> String {
    let sessions = plural(one.sessions, "session");
    match one.commits {
        0 => sessions,
        commits => format!("{sessions}, {}", plural(commits, "commit")),
    }
}

/// Returns a bullet for each of the projects with the most commits, and one for the rest. Its points
/// are indices of `told`.
pub(super) fn bullets(told: &[&Told<'_>], projects: &[ProjectActivity]) -> Vec<BulletText> {
    let shown = match projects.len() {
        // One that is left is told as well.
        count if count <= MOST_PROJECTS + 1 => count,
        _ => MOST_PROJECTS,
    };
    let words = 24 + 64 / shown.max(1);
    let names = names(projects);
    let mut found: Vec<BulletText> = Vec::new();
    for (one, name) in projects.iter().zip(&names).take(shown) {
        let own: Vec<usize> = (0..told.len())
            .filter(|at| told[*at].project == one.project)
            .collect();
        let (points, text) = about(told, &own, words, one);
        found.push(BulletText {
            text: format!("{name} ({}){text}", counted(one)),
            points,
        });
    }
    if let rest @ [_, ..] = &projects[shown..] {
        let all = ProjectActivity {
            project: String::new(),
            sessions: rest.iter().map(|one| one.sessions).sum(),
            commits: rest.iter().map(|one| one.commits).sum(),
        };
        let names = names[shown..].join(", ");
        found.push(BulletText {
            text: format!(
                "And {} more projects ({}): {names}",
                rest.len(),
                counted(&all)
            ),
            points: Vec::new(),
        });
    }
    found
}

/// Returns what a bullet about a project is made of, and its text: commits and pull requests, or else
/// what was reported or asked.
fn about(
    told: &[&Told<'_>],
    own: &[usize],
    words: usize,
    project: &ProjectActivity,
) -> (Vec<usize>, String) {
    const KINDS: [&[PointKind]; 2] = [
        &[PointKind::Requested, PointKind::Committed],
        &[
            PointKind::Asked,
            PointKind::Decided,
            PointKind::Reported,
            PointKind::Said,
        ],
    ];
    let points: Vec<&Point> = own.iter().map(|at| told[*at].point).collect();
    let chosen = KINDS.iter().map(|kinds| choose_of(&points, kinds, words));
    let chosen = chosen.into_iter().find(|chosen| !chosen.is_empty());
    let chosen = chosen.unwrap_or_default();
    let of_kind = |kind| chosen.iter().filter(|at| points[**at].kind == kind).count();
    let mut text = String::new();
    for at in &chosen {
        let point = points[*at];
        let label = match point.kind {
            PointKind::Requested => "pull request ",
            PointKind::Asked => "asked: ",
            _ => "",
        };
        text.push_str(if text.is_empty() { ": " } else { "; " });
        text.push_str(label);
        text.push_str(point.text.trim_end_matches(['.', ';']));
    }
    let commits = of_kind(PointKind::Committed);
    if project.commits > commits && !chosen.is_empty() {
        let more = project.commits - commits;
        let word = if commits > 0 { "more commit" } else { "commit" };
        text.push_str(&format!("; and {}", plural(more, word)));
    }
    (chosen.into_iter().map(|at| own[at]).collect(), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worktree_is_a_part_of_its_project() {
        for (cwd, wanted) in [
            ("/w/tome", "/w/tome"),
            ("/w/tome/.claude/worktrees/fix", "/w/tome"),
            ("D:\\posh\\.claude\\worktrees\\fix-1", "D:\\posh"),
            ("/w/agentv.worktrees/fix/src", "/w/agentv"),
            ("/w/agentv__worktrees/fix", "/w/agentv"),
            ("/w/my-worktrees/fix", "/w/my-worktrees/fix"),
            ("", ""),
        ] {
            assert_eq!(project(Some(cwd)), wanted, "{cwd}");
        }
    }

    #[test]
    fn projects_of_one_name_are_told_apart() {
        let of = |paths: &[&str]| {
            let one = |path: &&str| ProjectActivity {
                project: (*path).to_owned(),
                sessions: 1,
                commits: 0,
            };
            names(&paths.iter().map(one).collect::<Vec<_>>())
        };
        assert_eq!(of(&["/a/x", "/b/y"]), ["x", "y"]);
        assert_eq!(of(&["/a/x", "/b/x/", ""]), ["a/x", "b/x", "elsewhere"]);
        assert_eq!(of(&["D:\\posh"]), ["posh"]);
    }
}
