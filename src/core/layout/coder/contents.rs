//! The README of each folder: a line for each of its files and folders.
//!
//! A README that holds nothing but its heading and such lines, sorted, was made by tome and is made
//! anew at every change; in any other, lines are added, taken out and brought up to date one
//! by one. In both, what a line says of a file follows the file as long as it is what tome once
//! said of it: the titles of its lessons, or of the first of them. Other words are
//! somebody's, and stay; but in a README that tome made they are outdated where the file was
//! changed after it.

use std::collections::HashMap;

use super::super::IndexUpdate;
use super::super::listing::{self, Bullet, LinkDestination, ListItem, is_newer};
use super::{README, TYPES, folders, parent, titles};
use crate::core::Result;
use crate::core::change::PlannedFiles;
use crate::core::header::{fitted, splice};
use crate::core::link::{Link, LinkSyntax, resolve_target};
use crate::core::memory::{Memory, one_line};

/// Brings the README of every folder up to date.
pub(super) fn update_readmes(planned: &mut PlannedFiles<'_>, how: IndexUpdate) -> Result<()> {
    let after = planned.memories_after()?;
    let before = planned.memories_before()?.to_vec();
    let mut all = folders(&after);
    for emptied in folders(&before) {
        if !all.contains(&emptied) {
            all.push(emptied);
        }
    }
    let known: HashMap<&str, &Memory> = before.iter().map(|m| (m.path.as_str(), m)).collect();
    let children: Vec<(&Memory, Child)> = after
        .iter()
        .map(|memory| {
            let path = planned.renamed_from(&memory.path).unwrap_or(&memory.path);
            (memory, Child::of_file(memory, known.get(path).copied()))
        })
        .collect();
    for folder in &all {
        let file = format!("{folder}/{README}");
        let page = Readme {
            children: children_of(folder, &children, &all),
            written: planned.modified(&file),
            file,
            how,
        };
        let old = planned.text(&page.file)?;
        let topic = folder.contains('/');
        let wanted = page.children.len() > 1 || (topic && !page.children.is_empty());
        let is_ours = TYPES.contains(&folder.split('/').next().unwrap_or_default());
        match old {
            None if wanted && is_ours => planned.set_derived(&page.file, page.generated())?,
            None => {}
            // A list that a person wrote more into is kept for what they wrote.
            Some(old) if !wanted && page.is_bare(&old) => planned.remove_derived(&page.file)?,
            Some(old) => {
                let text = page.with_children(planned, &old);
                planned.set_derived(&page.file, text)?;
            }
        }
    }
    Ok(())
}

/// A file or folder that a README lists.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Child {
    target: String,
    title: String,
    hook: String,
    /// The titles that tome may have listed all or the first of.
    said: Vec<String>,
    /// When the file was last changed.
    modified: i64,
}

impl Child {
    fn of_file(memory: &Memory, old: Option<&Memory>) -> Self {
        let name = memory.path.rsplit('/').next().unwrap_or(&memory.path);
        let hook = titles(memory);
        Self {
            target: name.to_owned(),
            title: one_line(name),
            said: old.map(titles).into_iter().chain([hook.clone()]).collect(),
            modified: old.map_or(0, |old| old.modified),
            hook,
        }
    }

    fn of_folder(name: &str, files: usize) -> Self {
        let plural = if files == 1 { "" } else { "s" };
        Self {
            target: format!("{name}/{README}"),
            title: format!("{}/", one_line(name)),
            hook: format!("{files} file{plural}"),
            said: Vec::new(),
            modified: 0,
        }
    }

    fn is_folder(&self) -> bool {
        self.target.ends_with(README)
    }

    fn is_meant_by(&self, target: &str) -> bool {
        let target = target.trim_start_matches("./");
        self.target == target || self.target.strip_suffix(README) == Some(target)
    }

    /// Whether tome has said this of it.
    fn was_said(&self, hook: &str) -> bool {
        let is_count = || {
            let number = hook.strip_suffix(" files").or(hook.strip_suffix(" file"));
            number.is_some_and(|number| number.bytes().all(|b| b.is_ascii_digit()))
        };
        let is_start = |titles: &String| {
            let rest = titles.strip_prefix(hook);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("; "))
        };
        match self.is_folder() {
            true => is_count(),
            false => self.said.iter().any(is_start),
        }
    }

    fn item(&self) -> ListItem<'_> {
        ListItem {
            target: &self.target,
            title: &self.title,
            hook: &self.hook,
            section: None,
        }
    }
}

/// The files and folders that a folder's README lists, each with its line.
fn children_of(folder: &str, files: &[(&Memory, Child)], folders: &[String]) -> Vec<Child> {
    let here = files.iter().filter(|(m, _)| parent(&m.path) == folder);
    let mut children: Vec<Child> = here.map(|(_, child)| child.clone()).collect();
    for sub in folders.iter().filter(|f| parent(f) == folder) {
        let name = sub.rsplit('/').next().unwrap_or(sub);
        let below = |path: &str| path.strip_prefix(sub).is_some_and(|p| p.starts_with('/'));
        let count = files.iter().filter(|(m, _)| below(&m.path)).count();
        if count > 0 {
            children.push(Child::of_folder(name, count));
        }
    }
    children.sort();
    children
}

/// The README of a folder, about to be brought up to date.
struct Readme {
    file: String,
    children: Vec<Child>,
    /// When it was last changed.
    written: Option<i64>,
    how: IndexUpdate,
}

impl Readme {
    fn heading(&self) -> String {
        format!("# {}", one_line(parent(&self.file)))
    }

    /// The page that tome makes.
    fn generated(&self) -> String {
        self.generated_with(|child| child.hook.clone())
    }

    fn generated_with(&self, hook: impl Fn(&Child) -> String) -> String {
        let mut page = format!("{}\n\n", self.heading());
        for child in &self.children {
            let label = listing::label(&child.title);
            page.push_str(&listing::line_of(&label, &child.target, &hook(child)));
            page.push('\n');
        }
        page
    }

    /// The path that a link means, where that is below the page's folder.
    fn below(&self, form: LinkSyntax, target: &str) -> Option<String> {
        let path = resolve_target(&self.file, target)?;
        let inside = path.strip_prefix(parent(&self.file))?.starts_with('/');
        (inside && form == LinkSyntax::Inline).then_some(path)
    }

    fn leads(&self, planned: &PlannedFiles<'_>, link: &Link<'_>) -> LinkDestination {
        let child = self.children.iter().any(|c| c.is_meant_by(&link.target));
        match self.below(link.form, &link.target) {
            Some(_) if child => LinkDestination::Somewhere,
            Some(path) if path.ends_with(README) || !planned.contains(&path) => {
                LinkDestination::Nowhere
            }
            Some(_) => LinkDestination::Somewhere,
            None => LinkDestination::Elsewhere,
        }
    }

    /// `text` with a line for each child and none for what is gone.
    fn with_children(&self, planned: &PlannedFiles<'_>, text: &str) -> String {
        if self.is_generated(text) {
            let words = listing::bullets(text);
            let made = self.generated_with(|child| {
                let mut lines = words.iter();
                let line = lines.find(|line| child.is_meant_by(&line.target));
                match line.map(|line| line.hook(text)) {
                    Some(hook) if self.keeps(child, hook) => hook.to_owned(),
                    _ => child.hook.clone(),
                }
            });
            return fitted(text, &made).into_owned();
        }
        let text = match self.how {
            IndexUpdate::Repair => text.to_owned(),
            IndexUpdate::Rewrite => {
                let mut ours = listing::bullets(text);
                ours.retain(|b| self.children.iter().any(|c| c.is_meant_by(&b.target)));
                listing::without_bullets(text, &ours)
            }
        };
        let text = listing::without_dead(&text, |link| self.leads(planned, link));
        let text = self.refreshed(text);
        let there = listing::bullets(&text);
        let missing = self.children.iter().filter(|child| {
            let mut there = there.iter();
            !there.any(|bullet| child.is_meant_by(&bullet.target))
        });
        let items: Vec<ListItem<'_>> = missing.map(Child::item).collect();
        listing::with_all(&text, &items)
    }

    /// Whether a line's words about a child are somebody's.
    fn keeps(&self, child: &Child, hook: &str) -> bool {
        let is_theirs = !hook.is_empty() && !child.was_said(hook);
        self.how == IndexUpdate::Repair && is_theirs && !is_newer(child.modified, self.written)
    }

    /// `text` with the hooks brought up to date that tome wrote.
    fn refreshed(&self, text: String) -> String {
        let mut out = text;
        for bullet in listing::bullets(&out).into_iter().rev() {
            let mut children = self.children.iter();
            let child = children.find(|child| child.is_meant_by(&bullet.target));
            if let Some(child) = child
                && child.was_said(bullet.hook(&out))
                && !bullet.hook(&out).is_empty()
                && bullet.hook(&out) != child.hook
            {
                out = splice(&out, bullet.hook_span(), &child.hook);
            }
        }
        out
    }

    /// Whether the page holds its heading and lines such as tome writes, sorted, and nothing else.
    fn is_generated(&self, text: &str) -> bool {
        let mut lines = text.lines();
        let starts = lines.next() == Some(&self.heading()) && lines.next() == Some("");
        let rest: Vec<&str> = lines.collect();
        let targets: Vec<Option<String>> = rest.iter().map(|line| self.target(line)).collect();
        starts
            && text.ends_with('\n')
            && !rest.is_empty()
            && targets.iter().all(Option::is_some)
            && targets.windows(2).all(|pair| pair[0] < pair[1])
    }

    /// What a line is about, if tome could have written it.
    fn target(&self, line: &str) -> Option<String> {
        let bullet: Bullet = listing::bullets(line).pop()?;
        let made = listing::line_of(bullet.title(line), &bullet.target, bullet.hook(line));
        let own = self.below(bullet.form, &bullet.target)?;
        let title = own
            .strip_prefix(parent(&self.file))?
            .trim_start_matches('/');
        let title = title.strip_suffix(README).unwrap_or(title);
        let is_ours = bullet.title(line) == listing::label(&one_line(title));
        (made == line && is_ours).then_some(bullet.target)
    }

    /// Whether the page holds nothing but its heading and lines that tome lists.
    fn is_bare(&self, text: &str) -> bool {
        let mut bullets = listing::bullets(text);
        bullets.retain(|bullet| self.below(bullet.form, &bullet.target).is_some());
        let rest = listing::without_bullets(text, &bullets);
        let rest = rest.trim();
        rest.is_empty() || rest == self.heading()
    }
}
