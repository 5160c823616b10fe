//! `MEMORY.md` itself: generated as a whole, or, if hand-written, updated line by line.
//!
//! The form of the text decides which it is. A generated index is `# Memory`, then sections with
//! the five names in their order, each with only lines `- [name](file) - description` sorted by
//! file. It is generated again at every change, so files that other programs added, deleted or
//! changed are listed as well. Any other index is hand-written: only the lines of the touched files
//! are edited.
//!
//! In an index of the generated form a user may have reworded a line. Text that differs from the
//! file's is kept, unless tome gave the line these words: then the file was changed since.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use aho_corasick::AhoCorasick;

use super::super::TouchedFile;
use super::super::listing::{self, Bullet, LinkDestination, ListItem};
use super::{EMPTY_INDEX, INDEX, TYPES};
use crate::core::memory::layout::FileView;
use crate::core::memory::{Memory, stem};
use crate::core::text::header::section::heading;
use crate::core::text::header::{in_crlf, is_crlf, prose, replaced};
use crate::core::text::link::{self, Link, LinkSyntax};
use crate::core::text::one_line;
use crate::core::{Error, Result};

/// The headings of a generated index.
pub const SECTIONS: [&str; 5] = ["User", "Feedback", "Project", "Reference", "Other"];

/// The memories that an index lists: those in the same folder.
pub(super) fn listed_memories(memories: &[Memory]) -> impl Iterator<Item = &Memory> {
    memories.iter().filter(|memory| !memory.path.contains('/'))
}

/// The index as tome generates it.
pub fn generate_index(memories: &[Memory]) -> String {
    let words = |memory: &Memory| (label_of(memory), index_hook(memory));
    generated_with(memories, words)
}

/// The generated index; `words` gives the title and the hook of each line.
fn generated_with(memories: &[Memory], words: impl Fn(&Memory) -> (String, String)) -> String {
    let mut index = "# Memory\n".to_owned();
    for section in SECTIONS {
        let mut members = listed_memories(memories)
            .filter(|memory| section_of(memory) == section)
            .peekable();
        if members.peek().is_none() {
            continue;
        }
        index.push_str(&format!("\n## {section}\n"));
        for memory in members {
            let (label, hook) = words(memory);
            index.push_str(&listing::line_of(&label, &memory.path, &hook));
            index.push('\n');
        }
    }
    index
}

fn section_of(memory: &Memory) -> &'static str {
    let category = memory.category.as_deref().unwrap_or_default();
    let known = TYPES.iter().position(|(name, _)| *name == category);
    known.map_or("Other", |at| SECTIONS[at])
}

/// The type of the memories below a heading of a generated index.
fn type_of(section: &str) -> Option<String> {
    let at = SECTIONS.iter().position(|known| *known == section)?;
    TYPES.get(at).map(|(name, _)| (*name).to_owned())
}

/// The title as the text of a link.
fn label_of(memory: &Memory) -> String {
    listing::label(&one_line(&memory.title))
}

/// The text after the link of a line: the summary, or the name of the file if there is none.
pub(super) fn index_hook(memory: &Memory) -> String {
    match one_line(&memory.summary) {
        none if none.is_empty() => one_line(stem(&memory.path)),
        summary => summary,
    }
}

/// A line of a generated index, as written.
#[derive(Debug, Clone, PartialEq, Eq)]
struct IndexLine {
    file: String,
    title: String,
    hook: String,
}

impl IndexLine {
    /// Parses the line; `None` if tome could not have written it.
    fn parse(line: &str) -> Option<Self> {
        let bullet = listing::bullets(line).pop()?;
        let (title, hook) = (bullet.title(line), bullet.hook(line));
        let file = bullet.target.clone();
        let made = |address: &str| format!("- [{title}]({address}) - {hook}") == line;
        let is_made = made(&link::address(&file)) || made(&file);
        let is_file = file.ends_with(".md") && !file.contains('/');
        (is_made && is_file && !hook.is_empty()).then(|| Self {
            title: title.to_owned(),
            hook: hook.to_owned(),
            file,
        })
    }
}

/// The lines of an index in the generated form; `None` for any other.
fn listed(text: &str) -> Option<Vec<IndexLine>> {
    let text = if is_crlf(text) {
        text.replace("\r\n", "\n")
    } else {
        text.to_owned()
    };
    if text == EMPTY_INDEX {
        return Some(Vec::new());
    }
    let rest = text.strip_prefix("# Memory\n")?;
    if rest.contains('\r') || !(rest.is_empty() || rest.ends_with('\n')) {
        return None;
    }
    let mut found: Vec<IndexLine> = Vec::new();
    let mut sections = SECTIONS.iter();
    let mut lines = rest.lines().peekable();
    while let Some(blank) = lines.next() {
        let name = lines.next()?.strip_prefix("## ")?;
        sections.find(|section| **section == name)?;
        if !blank.is_empty() {
            return None;
        }
        let first = found.len();
        while let Some(line) = lines.next_if(|line| !line.is_empty()) {
            found.push(IndexLine::parse(line)?);
        }
        let section = &found[first..];
        let is_sorted = section.windows(2).all(|pair| pair[0].file < pair[1].file);
        if section.is_empty() || !is_sorted {
            return None;
        }
    }
    Some(found)
}

/// The memories, and those that an index lists and that are links out of the store, in the order of
/// an index. Of what cannot be read, the line is all that is known: its section, title and hook.
pub(super) fn with_unread(planned: &dyn FileView, text: &str, memories: &[Memory]) -> Vec<Memory> {
    let mut all = memories.to_vec();
    let mut seen = HashSet::new();
    for bullet in listing::bullets(text) {
        let file = bullet.target.trim_start_matches("./");
        let known = all.iter().position(|memory| memory.path == file);
        let is_unread = match known {
            Some(at) => all[at].problem.is_some(),
            None => file.ends_with(".md") && leads_out(planned, file),
        };
        if !is_unread || !seen.insert(file.to_owned()) {
            continue;
        }
        let above = prose(&text[..bullet.line.start]);
        let section = above.filter_map(|(_, line)| heading(line.text)).last();
        let memory = Memory {
            title: bullet.title(text).to_owned(),
            summary: bullet.hook(text).to_owned(),
            category: section.and_then(|(_, title)| type_of(title)),
            problem: Some("its line is all that is known".to_owned()),
            ..Memory::bare(file, 0)
        };
        match known {
            Some(at) => all[at] = memory,
            None => all.push(memory),
        }
    }
    all.sort_by(|a, b| a.path.cmp(&b.path));
    all
}

/// Whether a file of the store is a link out of it.
fn leads_out(planned: &dyn FileView, file: &str) -> bool {
    matches!(planned.root().resolve(file), Err(Error::Escapes { .. }))
}

/// Whether the text has the form of a generated index.
pub fn is_generated(text: &str) -> bool {
    listed(text).is_some()
}

/// An index in the generated form, generated again from the memories `after` a change; `None` if it
/// is hand-written. Reworded lines are kept.
pub(super) fn regenerated(
    planned: &dyn FileView,
    text: &str,
    after: &[Memory],
) -> Result<Option<String>> {
    let Some(listed) = listed(text) else {
        return Ok(None);
    };
    let listed: HashMap<&str, &IndexLine> = listed.iter().map(|l| (l.file.as_str(), l)).collect();
    let before: HashMap<&str, &Memory> = listed_memories(planned.memories_before()?)
        .map(|memory| (memory.path.as_str(), memory))
        .collect();
    let words = |memory: &Memory| {
        let own = (label_of(memory), index_hook(memory));
        let path = planned.renamed_from(&memory.path).unwrap_or(&memory.path);
        let (Some(line), old) = (listed.get(path), before.get(path)) else {
            return own;
        };
        if memory.problem.is_some() || old.is_some_and(|old| old.problem.is_some()) {
            return (line.title.clone(), line.hook.clone());
        }
        let Some(old) = old else {
            return own;
        };
        let kept = |written: &str, generated: &str, now: String, part| {
            let is_own = written == generated || listing::has_worded(planned, INDEX, written, part);
            if is_own { now } else { written.to_owned() }
        };
        (
            kept(&line.title, &label_of(old), own.0, Bullet::title),
            kept(&line.hook, &index_hook(old), own.1, Bullet::hook),
        )
    };
    let after = with_unread(planned, text, after);
    let made = generated_with(&after, words);
    Ok(Some(if is_crlf(text) { in_crlf(&made) } else { made }))
}

/// The title and the hook of a memory in a hand-written list.
struct LineText {
    title: String,
    hook: String,
}

impl LineText {
    fn of(memory: &Memory) -> Self {
        Self {
            title: one_line(&memory.title),
            hook: index_hook(memory),
        }
    }

    fn item<'a>(&'a self, memory: &'a Memory) -> ListItem<'a> {
        ListItem {
            target: &memory.path,
            title: &self.title,
            hook: &self.hook,
            section: Some(section_of(memory)),
        }
    }
}

/// A hand-written index with lines for memories that it does not list.
pub fn with_lines_for(text: &str, memories: &[Memory]) -> String {
    let words: Vec<LineText> = memories.iter().map(LineText::of).collect();
    let items = memories.iter().zip(&words);
    let items: Vec<ListItem<'_>> = items.map(|(memory, words)| words.item(memory)).collect();
    listing::with_all(text, &items)
}

/// Whether a line of a hand-written index says what tome makes of the memory, and nothing else.
pub fn is_line_made(line: &str, memory: &Memory) -> bool {
    let bullets = listing::bullets(line);
    let made = LineText::of(memory);
    bullets.first().is_some_and(|bullet| {
        let title = bullet.title(line);
        let is_title = title == listing::label(&made.title) || title == bullet.target;
        is_title && bullet.hook(line) == made.hook && line.trim_end().lines().count() == 1
    })
}

/// An index with the line of a memory as it is in the index of the store that it came from; one that
/// was reworded here stays.
pub fn with_former_line(text: &str, former: &str, memory: &Memory) -> String {
    let is_its = |line: &&Bullet| listing::is_about(line, &memory.path, &memory.title);
    let lines = listing::bullets(former);
    let line = lines.iter().find(is_its);
    let Some(line) = line.filter(|line| line.form == LinkSyntax::Inline) else {
        return text.to_owned();
    };
    let made = LineText::of(memory);
    let now = made.item(memory);
    let hook = line.hook(former);
    let was = ListItem {
        title: line.title(former),
        hook: if hook.is_empty() { now.hook } else { hook },
        ..now.clone()
    };
    match listing::bullets(text).iter().find(is_its) {
        Some(here) => listing::refresh_bullet(text, here, &now, &was),
        None => listing::with_bullet(text, &was),
    }
}

/// An index after a memory was changed: what its line says in other words than tome's stays.
fn refreshed(text: &str, line: &Bullet, old: &Memory, new: &Memory) -> String {
    let (was, is) = (LineText::of(old), LineText::of(new));
    listing::refresh_bullet(text, line, &was.item(old), &is.item(new))
}

/// The line of a memory in an index, given what both were before the memory was changed; `None` if
/// it has none. `None` for a file that was not there.
pub fn line_after(index: Option<&str>, old: Option<&Memory>, new: &Memory) -> Option<String> {
    let text = match (index, old) {
        (Some(index), Some(old)) => {
            let lines = listing::bullets(index);
            let is_its = |line: &&Bullet| listing::is_about(line, &old.path, &old.title);
            refreshed(index, lines.iter().find(is_its)?, old, new)
        }
        (Some(index), None) if !is_generated(index) => {
            if new.path.contains('/') {
                return None;
            }
            with_lines_for(index, std::slice::from_ref(new))
        }
        _ => generate_index(std::slice::from_ref(new)),
    };
    let lines = listing::bullets(&text);
    let is_its = |line: &&Bullet| listing::is_about(line, &new.path, &new.title);
    let line = lines.iter().find(is_its)?;
    Some(text[line.line.clone()].trim_end().to_owned())
}

/// Updates a hand-written index after one file was touched.
pub(super) fn update_index_line(
    planned: &dyn FileView,
    text: String,
    touch: &TouchedFile,
) -> Result<String> {
    let all = listing::bullets(&text);
    let bullet = |file: &str, name: &str| {
        all.iter()
            .find(|bullet| listing::is_about(bullet, file, name))
    };
    Ok(match touch {
        TouchedFile::Added(file) => {
            let memory = planned.memory_after(file)?;
            match bullet(file, &memory.title) {
                None if !file.contains('/') => {
                    let line = LineText::of(&memory);
                    listing::with_all_among(&text, &all, &[line.item(&memory)])
                }
                _ => text,
            }
        }
        TouchedFile::Edited(file) => {
            let (old, new) = (planned.memory_before(file)?, planned.memory_after(file)?);
            match bullet(file, &old.title) {
                Some(bullet) => refreshed(&text, bullet, &old, &new),
                None => text,
            }
        }
        TouchedFile::Removed(file) => {
            let name = planned.memory_before(file)?.title;
            let known = KnownNames::of(planned)?;
            listing::without_dead(&text, |link| {
                if listing::means(link.form, &link.target, file, &name) {
                    LinkDestination::Missing
                } else if known.leads(planned, link) == LinkDestination::Existing {
                    LinkDestination::Existing
                } else {
                    // Other dead links of the page are left alone.
                    LinkDestination::Other
                }
            })
        }
        TouchedFile::Renamed { from, to } => {
            let (old, new) = (planned.memory_before(from)?, planned.memory_after(to)?);
            let is_renamed = |bullet: &Bullet| bullet.target != old.title || old.title != new.title;
            let text = match bullet(from, &old.title) {
                Some(bullet) if bullet.form == LinkSyntax::Inline || is_renamed(bullet) => {
                    listing::retarget_bullet(&text, bullet, to)
                }
                _ => text,
            };
            let text = relinked(&text, from, to);
            let lines = listing::bullets(&text);
            match lines
                .iter()
                .find(|line| listing::is_about(line, to, &new.title))
            {
                Some(line) => refreshed(&text, line, &old, &new),
                None => text,
            }
        }
    })
}

/// The names by which `[[name]]` can refer to an existing memory.
struct KnownNames(HashSet<String>);

impl KnownNames {
    fn of(planned: &dyn FileView) -> Result<Self> {
        let all = planned.memories_before()?.iter();
        let there = all.filter(|memory| planned.contains(&memory.path));
        let names = there.flat_map(|memory| [memory.title.clone(), stem(&memory.path).to_owned()]);
        Ok(Self(names.collect()))
    }

    /// Where a link of the index leads.
    fn leads(&self, planned: &dyn FileView, link: &Link<'_>) -> LinkDestination {
        match link.form {
            LinkSyntax::Inline => match link::resolve_target(INDEX, &link.target) {
                Some(file) if planned.contains(&file) => LinkDestination::Existing,
                Some(file) if file.ends_with(".md") => LinkDestination::Missing,
                _ => LinkDestination::Other,
            },
            LinkSyntax::Wiki if self.0.contains(&*link.target) => LinkDestination::Existing,
            // A memory with this name may be yet to be written.
            LinkSyntax::Wiki => LinkDestination::Other,
        }
    }
}

/// The page with its links to a renamed file updated.
fn relinked(text: &str, from: &str, to: &str) -> String {
    let edits: Vec<_> = link::links(text)
        .into_iter()
        .filter(|link| link.form == LinkSyntax::Inline)
        .filter(|link| link::resolve_target(INDEX, &link.target).as_deref() == Some(from))
        .map(|link| link.pointed_at(to))
        .collect();
    replaced(text, &edits)
}

/// A hand-written index with a line for every file and none for a missing one.
pub(super) fn repair_index(
    text: &str,
    memories: &[Memory],
    planned: &dyn FileView,
) -> Result<String> {
    if !is_list(text) {
        return Ok(text.to_owned());
    }
    let known = KnownNames::of(planned)?;
    let text = listing::without_dead(text, |link| known.leads(planned, link));
    let missing: Vec<Memory> = unlinked(&text, memories).into_iter().cloned().collect();
    Ok(with_lines_for(&text, &missing))
}

/// Whether the text lists memories. Otherwise it may contain the memories themselves, as in Codex.
pub fn is_list(text: &str) -> bool {
    !listing::bullets(text).is_empty()
}

/// The memories beside an index that it neither links to nor names.
pub(super) fn unlinked<'a>(text: &str, memories: &'a [Memory]) -> Vec<&'a Memory> {
    let mut files: HashSet<String> = HashSet::new();
    let mut names: HashSet<String> = HashSet::new();
    for found in link::links(text) {
        match found.form {
            LinkSyntax::Inline => files.extend(link::resolve_target(INDEX, &found.target)),
            LinkSyntax::Wiki => {
                names.insert(found.target.into_owned());
            }
        }
    }
    let paths: Vec<&str> = listed_memories(memories)
        .map(|memory| &*memory.path)
        .collect();
    let named = NamedMemories::of(text, &paths);
    listed_memories(memories)
        .filter(|memory| {
            let by_name = names.contains(&memory.title) || names.contains(stem(&memory.path));
            !files.contains(&memory.path) && !by_name && !named.has(&memory.path)
        })
        .collect()
}

/// What an index names without a link: files, and in code memories, patterns of their names (`old-*`)
/// and ranges of patterns (`p6-*`…`p16-*`).
#[derive(Debug)]
pub struct NamedMemories<'a> {
    /// Those of the paths that stand in the text.
    files: HashSet<&'a str>,
    in_code: HashSet<&'a str>,
    /// What stands before and after the `*` of patterns.
    patterns: Vec<(&'a str, &'a str)>,
    /// The first and the last of some patterns with an ellipsis between them.
    ranges: Vec<[&'a str; 2]>,
}

/// How many patterns and how many ranges of an index are looked at.
const MOST_PATTERNS: usize = 1000;

impl<'a> NamedMemories<'a> {
    /// What the text of an index names of the memories with these paths.
    pub fn of(text: &'a str, paths: &[&'a str]) -> Self {
        let finder = AhoCorasick::new(paths);
        let files = finder.iter().flat_map(|finder| {
            let found = finder.find_overlapping_iter(text);
            found.map(|found| paths[found.pattern().as_usize()])
        });
        let parts: Vec<&str> = text.split('`').collect();
        let in_code = parts.iter().skip(1).step_by(2).copied();
        let patterns = in_code.clone().filter_map(|code| code.split_once('*'));
        let patterns = patterns.filter(|(start, _)| !start.is_empty());
        let is_range = |three: &[&str]| matches!(three[1].trim(), "…" | "..." | ".." | "–" | "to");
        let ranges = parts.windows(3).skip(1).step_by(2);
        Self {
            files: files.collect(),
            in_code: in_code.collect(),
            patterns: patterns.take(MOST_PATTERNS).collect(),
            ranges: ranges
                .filter(|three| is_range(three))
                .map(|three| [three[0], three[2]])
                .take(MOST_PATTERNS)
                .collect(),
        }
    }

    /// Whether it names the memory with this path.
    pub fn has(&self, path: &str) -> bool {
        let name = stem(path);
        let is_one = |(start, end): &(&str, &str)| {
            name.starts_with(start) && name.ends_with(end.trim_end_matches(".md"))
        };
        let key = OnceCell::new();
        let is_between = |[first, last]: &[&str; 2]| {
            let [first, last] = [first, last].map(|pattern| pattern.trim_end_matches(['*', '-']));
            let key = key.get_or_init(|| natural(name));
            natural(first) <= *key && (*key <= natural(last) || name.starts_with(last))
        };
        self.files.contains(path)
            || self.in_code.contains(name)
            || self.patterns.iter().any(is_one)
            || self.ranges.iter().any(is_between)
    }
}

/// A key by which `p6-x` is before `p16-x`: the letters and the numbers of a name in turn.
fn natural(name: &str) -> Vec<(u64, &str)> {
    let is_digit = |c: char| c.is_ascii_digit();
    let mut rest = name;
    let mut key = Vec::new();
    while !rest.is_empty() {
        let letters = rest.find(is_digit).unwrap_or(rest.len());
        let (word, after) = rest.split_at(letters);
        let digits = after.find(|c| !is_digit(c)).unwrap_or(after.len());
        let (number, after) = after.split_at(digits);
        key.push((0, word));
        if !number.is_empty() {
            key.push((number.parse().unwrap_or(u64::MAX), ""));
        }
        rest = after;
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generated_form_is_told_from_a_hand_written_one() {
        for text in [
            "# Memory\n",
            EMPTY_INDEX,
            "# Memory\n\n## User\n- [gone](gone.md) - b\n\n## Other\n- [a](a.md) - a\n",
            "# Memory\r\n\r\n## User\r\n- [a](a.md) - b\r\n",
            "# Memory\n\n## Other\n- [a](a.md) - my own words\n- [b](<b c.md>) - x - y\n",
        ] {
            assert!(is_generated(text), "{text:?}");
        }
        for text in [
            "# Memory Index\n",
            "",
            "# Memory",
            "# Memory\n\n",
            "# Memory\n\nprose\n",
            "# Memory\n\n## Other\n\n## User\n",
            "# Memory\n\n## User\n",
            "# Memory\n\n## User\n- [b](b.md) - b\n- [a](a.md) - a\n",
            "# Memory\n\n## User\n- [a](a.md) - a\n\n## User\n- [b](b.md) - b\n",
            "# Memory\n\n## User\n- [a](a.md) - a\n  more\n",
            "# Memory\n\n## User\n- [a](a.md) - a\n- [a](a.md) - a\n",
            "# Memory\n\n## User\n- [a](a.md) — a\n",
            "# Memory\n\n## User\n- [a](https://a.md) - a\n",
            "# Memory\n\n- [a](a.md) - b\n",
            "# Memory\n\n## Mine\n- [a](a.md) - b\n",
        ] {
            assert!(!is_generated(text), "{text:?}");
        }
    }

    #[test]
    fn the_line_of_a_memory_is_told_as_it_is_and_will_be() {
        let memory = |title: &str, summary: &str| {
            let mut memory = Memory::bare("user_role.md", 0);
            (memory.title, memory.summary) = (title.to_owned(), summary.to_owned());
            memory
        };
        let (old, new) = (memory("user-role", "who"), memory("user-role", "who else"));
        let own = "# M\n\n- [User role — own title](user_role.md) — own words\n";
        let made = "# M\n\n* [user-role](user_role.md): who\n";
        let other = "# M\n\n* [b](b.md): b\n";
        for (index, before, expected) in [
            (
                Some(own),
                Some(&old),
                Some("- [User role — own title](user_role.md) — own words"),
            ),
            (
                Some(made),
                Some(&old),
                Some("* [user-role](user_role.md): who else"),
            ),
            (Some(other), Some(&old), None),
            (
                Some(other),
                None,
                Some("* [user-role](user_role.md): who else"),
            ),
            (None, None, Some("- [user-role](user_role.md) - who else")),
        ] {
            let line = line_after(index, before, &new);
            assert_eq!(line.as_deref(), expected, "{index:?}");
        }
    }

    #[test]
    fn whatever_files_are_called_their_index_has_the_generated_form() {
        let odd = [
            "a b.md",
            "a(1).md",
            "c#.md",
            "two\nlines.md",
            "[x].md",
            "x](y.md",
            "100%.md",
        ];
        let mut memories: Vec<Memory> = odd.iter().map(|name| Memory::bare(name, 0)).collect();
        memories.sort_by(|a, b| a.path.cmp(&b.path));
        for (memory, summary) in memories
            .iter_mut()
            .zip(["- x", "[y](z.md)", ": w", "a - b"])
        {
            summary.clone_into(&mut memory.summary);
        }
        let text = generate_index(&memories);
        let files: Vec<String> = listed(&text)
            .expect("the generated form")
            .into_iter()
            .map(|line| line.file)
            .collect();
        let expected: Vec<&str> = memories.iter().map(|m| m.path.as_str()).collect();
        assert_eq!(files, expected, "{text}");
        assert_eq!(text.lines().count(), odd.len() + 3, "{text}");
    }
}
