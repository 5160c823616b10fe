//! Groups the points of a summary into bullets.

use std::collections::BTreeMap;

use super::{Point, PointKind};

/// A bullet: its text, and the indices of the points that it is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BulletText {
    /// The text.
    pub text: String,
    /// The points.
    pub points: Vec<usize>,
}

/// The numbers of bullets of a node, where its points are enough.
const FEWEST: usize = 3;
const MOST: usize = 5;

/// Groups points, which are in order, into at most five bullets by what they say. Where there were
/// more commits than points about them, the first says so.
pub fn bullets(points: &[Point], commits: usize) -> Vec<BulletText> {
    let words = |at: &usize| points[*at].text.split_whitespace().count();
    let mut by_kind: BTreeMap<PointKind, Vec<usize>> = BTreeMap::new();
    for (at, point) in points.iter().enumerate() {
        by_kind.entry(point.kind).or_default().push(at);
    }
    // Both tell what was made.
    if by_kind.len() > MOST
        && let Some(points) = by_kind.remove(&PointKind::Requested)
    {
        let made = by_kind.entry(PointKind::Committed).or_default();
        made.extend(points);
    }
    let mut groups: Vec<Vec<usize>> = by_kind.into_values().collect();
    let is_talk = points.iter().any(|point| point.kind == PointKind::Said);
    let wanted = if is_talk { MOST } else { FEWEST };
    while groups.len() < wanted {
        let longest = groups
            .iter()
            .enumerate()
            .filter(|(_, group)| group.len() > 1)
            .max_by_key(|(at, group)| {
                let length: usize = group.iter().map(words).sum();
                (length, std::cmp::Reverse(*at))
            });
        let Some((at, _)) = longest else { break };
        let group = &mut groups[at];
        let half: usize = group.iter().map(words).sum::<usize>() / 2;
        let mut length = 0;
        let cut = group.iter().position(|point| {
            length += words(point);
            length > half
        });
        let cut = cut.unwrap_or(1).clamp(1, group.len() - 1);
        let rest = group.split_off(cut);
        groups.insert(at + 1, rest);
    }
    let is_commit = |point: &&Point| point.kind == PointKind::Committed;
    let committed = match points.iter().filter(is_commit).count() {
        told if told < commits => format!("{commits} commits, {told} of them"),
        _ => "Committed".to_owned(),
    };
    let mut committed = Some(committed);
    let bullet = |group: Vec<usize>| BulletText {
        text: {
            let is_about = group
                .iter()
                .any(|at| points[*at].kind == PointKind::Committed);
            // Of several bullets about commits, the first one tells how many there are.
            let label = committed.take_if(|_| is_about);
            text(points, &group, label.as_deref().unwrap_or("Committed"))
        },
        points: group,
    };
    groups.into_iter().map(bullet).collect()
}

/// Returns the text of one bullet that tells all of these points.
pub fn joined(points: &[Point]) -> String {
    let all: Vec<usize> = (0..points.len()).collect();
    text(points, &all, "Committed")
}

fn text(points: &[Point], group: &[usize], committed: &str) -> String {
    let mut text = String::new();
    let mut label: Option<String> = None;
    for (number, at) in group.iter().enumerate() {
        let point = &points[*at];
        let own = match (&point.speaker, point.kind) {
            (Some(speaker), _) => speaker.clone(),
            (None, PointKind::Asked) => "Asked".to_owned(),
            (None, PointKind::Decided) => "Decided".to_owned(),
            (None, PointKind::Reported) => "Reported".to_owned(),
            (None, PointKind::Committed) => committed.to_owned(),
            (None, PointKind::Requested) => "Pull request".to_owned(),
            (None, PointKind::Open) => "Open".to_owned(),
            (None, PointKind::Said) => String::new(),
        };
        if number > 0 {
            text.push_str(match point.kind {
                PointKind::Committed | PointKind::Requested => "; ",
                _ if text.ends_with(['.', '!', '?', '…', ';', ',']) => " ",
                _ => ". ",
            });
        }
        // Points of two kinds, or of two speakers, are each labelled.
        if label.as_ref() != Some(&own) {
            if !own.is_empty() {
                text.push_str(&own);
                text.push_str(": ");
            }
            label = Some(own);
        }
        text.push_str(unlabelled(
            &point.text,
            label.as_deref().unwrap_or_default(),
        ));
    }
    text
}

/// A text without its own label, if that is the one it gets here.
fn unlabelled<'a>(text: &'a str, label: &str) -> &'a str {
    let own = text.get(..label.len()).filter(|_| !label.is_empty());
    let own = own.filter(|own| own.eq_ignore_ascii_case(label));
    let rest = own.and_then(|own| text[own.len()..].strip_prefix(':'));
    rest.map(str::trim_start)
        .filter(|rest| !rest.is_empty())
        .unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(kind: PointKind, text: &str) -> Point {
        Point::new(kind, text.to_owned())
    }

    fn texts(points: &[Point]) -> Vec<String> {
        bullets(points, 0)
            .into_iter()
            .map(|bullet| bullet.text)
            .collect()
    }

    #[test]
    fn more_commits_than_are_told_are_counted() {
        let points = [
            point(PointKind::Committed, "add a cache"),
            point(PointKind::Committed, "keep the lock"),
        ];
        let first = |commits: usize| bullets(&points, commits)[0].text.clone();
        assert_eq!(first(2), "Committed: add a cache");
        assert_eq!(first(25), "25 commits, 2 of them: add a cache");
        assert_eq!(bullets(&points, 25)[1].text, "Committed: keep the lock");
    }

    #[test]
    fn points_are_grouped_by_what_they_say() {
        let points = [
            point(PointKind::Asked, "fix the lock"),
            point(PointKind::Reported, "The lock was stale"),
            point(PointKind::Committed, "fix: remove stale locks"),
            point(PointKind::Committed, "test: a stale lock"),
            point(PointKind::Open, "Not pushed."),
        ];
        assert_eq!(
            texts(&points),
            [
                "Asked: fix the lock",
                "Reported: The lock was stale",
                "Committed: fix: remove stale locks; test: a stale lock",
                "Open: Not pushed.",
            ]
        );
        let grouped = bullets(&points, 0);
        assert_eq!(grouped[2].points, [2, 3]);
    }

    #[test]
    fn six_kinds_are_told_in_five_bullets() {
        let kinds = [
            PointKind::Asked,
            PointKind::Decided,
            PointKind::Reported,
            PointKind::Committed,
            PointKind::Requested,
            PointKind::Open,
        ];
        let points = kinds.map(|kind| point(kind, "one two"));
        let found = texts(&points);
        assert_eq!(found.len(), 5);
        assert_eq!(found[3], "Committed: one two; Pull request: one two");
    }

    #[test]
    fn few_kinds_are_told_in_three_bullets_and_a_talk_in_five() {
        let told = |text| point(PointKind::Reported, text);
        let points = [told("a b."), told("c d."), told("e f."), told("g h.")];
        assert_eq!(texts(&points).len(), 3);
        assert_eq!(texts(&points[..1]), ["Reported: a b."]);
        let labelled = [
            told("Reported: a b."),
            told("reported:"),
            told("Reported late."),
        ];
        let texts_of = [
            "Reported: a b.",
            "Reported: reported:",
            "Reported: Reported late.",
        ];
        assert_eq!(texts(&labelled), texts_of, "no label stands twice");
        let said = |speaker: &str, text: &str| Point {
            speaker: Some(speaker.to_owned()),
            ..point(PointKind::Said, text)
        };
        let points = [
            said("Ann", "I moved."),
            said("Bob", "We won."),
            said("Ann", "My dog is old."),
            said("Bob", "I paint."),
            said("Ann", "I run."),
            said("Ann", "I read."),
        ];
        let found = texts(&points);
        assert_eq!(found.len(), 5, "{found:?}");
        assert!(found[0].starts_with("Ann: I moved."), "{found:?}");
        let mut cited: Vec<usize> = bullets(&points, 0)
            .into_iter()
            .flat_map(|b| b.points)
            .collect();
        cited.sort_unstable();
        assert_eq!(cited, [0, 1, 2, 3, 4, 5]);
        assert!(texts(&[]).is_empty());
    }
}
