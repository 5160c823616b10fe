//! Links of an index to memories that do not exist. Many of them are one finding: the memories were
//! moved, or only a part of them is here.

use std::collections::HashSet;

use super::broken_link::{Names, leads_nowhere};
use super::fix::Fix;
use super::{Collection, CuratedStore, Document, Evidence, Found, Report, Rule, Severity};
use crate::core::memory::layout::index::{INDEX, is_generated};
use crate::core::memory::layout::listing::{Bullet, bullets, without_bullets};
use crate::core::text::link::{Link, LinkSyntax, links};

pub(super) const RULE: Rule = Rule {
    id: "index-dangling",
    severity: Severity::Warning,
    about: "a link of the index to a memory that does not exist",
    check,
};

/// More dead links than this are told together.
const FEW: usize = 3;

/// How many names a message lists.
const SHOWN: usize = 3;

fn check(collection: &Collection<'_>, report: &mut Report<'_>) {
    for (number, store) in collection.stores.iter().enumerate() {
        let Some(document) = store.index() else {
            continue;
        };
        if is_generated(&document.text) {
            // What a generated index lists wrongly is a finding of `index-outdated`.
            continue;
        }
        let names = Names::of(collection, number);
        let mut seen = HashSet::new();
        let all = links(&document.text).into_iter().filter(|link| {
            !document.is_code(link.start)
                && leads_nowhere(store, document, &names, link)
                && seen.insert(link.target.to_string())
        });
        let with_candidate = |link| (names.candidate(store, document, &link), link);
        let (moved, dead): (Vec<_>, Vec<_>) = all
            .map(with_candidate)
            .partition(|(meant, _)| meant.is_some());
        for (meant, link) in &moved {
            let meant = meant.as_deref().unwrap_or_default();
            let fix = Fix::replace(
                INDEX,
                vec![link.pointed_at(meant)],
                format!("links to {meant}"),
            );
            let words = format!(
                "the index links to {}, which does not exist; {meant} may be meant",
                link.target
            );
            report.add(
                number,
                INDEX,
                found(store, document, &[link], words, Some(fix)),
            );
        }
        let dead: Vec<&Link<'_>> = dead.iter().map(|(_, link)| link).collect();
        if dead.len() <= FEW {
            for link in dead {
                let words = format!("the index links to {}, which does not exist", link.target);
                let fix = removal(store, document, &[link]);
                report.add(number, INDEX, found(store, document, &[link], words, fix));
            }
            continue;
        }
        let shown: Vec<&str> = dead.iter().take(SHOWN).map(|link| &*link.target).collect();
        let words = format!(
            "{} links of the index lead to memories that do not exist: {} and {} more",
            dead.len(),
            shown.join(", "),
            dead.len() - shown.len(),
        );
        // Where most are missing, they are rather kept elsewhere than gone.
        let fix = removal(store, document, &dead);
        let fix = fix.filter(|_| dead.len() * 2 < bullets(&document.text).len());
        report.add(number, INDEX, found(store, document, &dead, words, fix));
    }
}

fn found(
    store: &CuratedStore<'_>,
    document: &Document,
    dead: &[&Link<'_>],
    message: String,
    fix: Option<Fix>,
) -> Found {
    let lines: Vec<usize> = dead
        .iter()
        .map(|link| document.line_at(link.start))
        .collect();
    let evidence = lines
        .iter()
        .map(|line| Evidence::line(store, document, *line));
    Found {
        line: lines.first().copied(),
        subject: if let [one] = dead {
            one.target.to_string()
        } else {
            INDEX.to_owned()
        },
        message,
        evidence: evidence.collect(),
        fix,
    }
}

/// Removes the lines of the list with these links. Where git has the memories, only of those that it
/// had: a line for a memory that was never added may be all that is left of it.
fn removal(store: &CuratedStore<'_>, document: &Document, dead: &[&Link<'_>]) -> Option<Fix> {
    let was_there = |target: &str| {
        let Some(project) = &store.project else {
            return true;
        };
        let root = store.store.root().path();
        let Ok(own) = root.strip_prefix(&project.root) else {
            return true;
        };
        let in_project = |file: &str| own.join(file).to_string_lossy().into_owned();
        !project.tracks(&in_project(INDEX)) || project.gone(&in_project(target)).is_some()
    };
    let is_dead = |bullet: &Bullet| {
        // A memory that a wiki link names may be yet to be written.
        bullet.form == LinkSyntax::Inline && was_there(&bullet.target) && {
            let first = dead.partition_point(|link| link.start < bullet.line.start);
            let mut here = dead[first..].iter();
            let mut here = here
                .by_ref()
                .take_while(|link| link.start < bullet.line.end);
            here.any(|link| bullet.target == *link.target)
        }
    };
    let mut gone = bullets(&document.text);
    gone.retain(is_dead);
    let words = match gone.as_slice() {
        [] => return None,
        [one] => format!("removes the line of {}", one.target),
        several => format!("removes {} lines", several.len()),
    };
    let after = without_bullets(&document.text, &gone);
    Some(Fix::rewrite(INDEX, (&document.text, &after), words))
}
