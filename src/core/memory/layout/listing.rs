//! Hand-written lists of links, edited one line at a time.
//!
//! A hand-written `MEMORY.md` or `README.md` is prose with bullets, in its own order and with its
//! own separators. The functions here add, remove or retarget one bullet in the style of its
//! neighbours and leave every other line unchanged.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::core::memory::layout::FileView;
use crate::core::memory::stem;
use crate::core::text::diff;
use crate::core::text::header::section::heading;
use crate::core::text::header::{Line, lines, newline, prose, replaced, slug, splice};
use crate::core::text::link::{Link, LinkSyntax, address, links};

/// The index of an empty store.
pub const EMPTY_INDEX: &str = "# Memory\n\n(empty)\n";

/// A line `- [title](target) — hook` of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bullet {
    /// The file that the line links to, as written.
    pub target: String,
    /// The syntax of the link.
    pub form: LinkSyntax,
    /// The whole line, its line ending included; continuation lines are not part of it.
    pub line: Range<usize>,
    /// The title between the brackets; of a wiki link, the target.
    title: Range<usize>,
    /// The text between link and hook, such as ` — `; empty if there is no hook.
    separator: Range<usize>,
    /// The text after the separator, trailing blanks excluded.
    hook: Range<usize>,
    /// The marker with the blanks around it, such as `- `.
    marker: Range<usize>,
}

impl Bullet {
    /// The title, given the text that contains the bullet.
    pub fn title<'a>(&self, text: &'a str) -> &'a str {
        &text[self.title.clone()]
    }

    /// The hook, given the text that contains the bullet.
    pub fn hook<'a>(&self, text: &'a str) -> &'a str {
        &text[self.hook.clone()]
    }

    /// The range of the hook.
    pub fn hook_span(&self) -> Range<usize> {
        self.hook.clone()
    }
}

/// The content of a list item for one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListItem<'a> {
    /// The link's target.
    pub target: &'a str,
    /// The link's text.
    pub title: &'a str,
    /// The text after the separator.
    pub hook: &'a str,
    /// The heading it belongs under, if the list has that heading.
    pub section: Option<&'a str>,
}

const SEPARATORS: [&str; 5] = ["—", "–", "--", "-", ":"];

/// Whether tome gave these words, the text that `part` takes of a bullet, to a line of a generated
/// list at some time. Words that it only kept are not its own.
pub(super) fn has_worded(
    planned: &dyn FileView,
    list: &str,
    words: &str,
    part: for<'t> fn(&Bullet, &'t str) -> &'t str,
) -> bool {
    let has = |text: &str| bullets(text).iter().any(|line| part(line, text) == words);
    planned.was_generated(list, &mut |before, after| has(after) && !has(before))
}

/// The line that tome writes for a file, with the title as [`label`] returns it; without a hook it
/// ends after the link.
pub fn line_of(label: &str, target: &str, hook: &str) -> String {
    let link = format!("- [{label}]({})", address(target));
    match hook {
        "" => link,
        hook => format!("{link} - {hook}"),
    }
}

/// A title for the brackets of a link; brackets that would end the link are escaped with
/// backslashes.
pub fn label(title: &str) -> String {
    let written = format!("[{title}](x)");
    let is_whole = |link: &Link<'_>| {
        link.form == LinkSyntax::Inline && link.start == 0 && link.end == written.len()
    };
    let found = links(&written);
    // The rest of the line could close a parenthesis that the title opens.
    let opens = title.contains("](");
    if !opens && matches!(found.as_slice(), [link] if is_whole(link)) {
        return title.to_owned();
    }
    let mut out = String::with_capacity(title.len() + 2);
    for c in title.chars() {
        if matches!(c, '[' | ']' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// The start of a list line's content, after its marker.
fn content_of(line: &Line<'_>) -> Option<usize> {
    let indent = line.text.len() - line.text.trim_start().len();
    let after = line.text[indent..].strip_prefix(['-', '*', '+'])?;
    let gap = after.len() - after.trim_start().len();
    (gap > 0).then(|| line.span.start + indent + 1 + gap)
}

/// The bullets of `text` that each start with a link; fenced blocks are skipped.
pub fn bullets(text: &str) -> Vec<Bullet> {
    bullets_in(text, 0..text.len())
}

/// The bullets whose lines start in a range of the text, in order.
pub(super) fn bullets_in(text: &str, range: Range<usize>) -> Vec<Bullet> {
    prose(text)
        .filter(|(_, line)| range.contains(&line.span.start))
        .filter_map(|(_, line)| {
            let content = content_of(&line)?;
            let inside = &text[content..line.span.end];
            bullet(inside, content, &line, links(inside).first()?)
        })
        .collect()
}

fn bullet(inside: &str, content: usize, line: &Line<'_>, link: &Link<'_>) -> Option<Bullet> {
    if !is_subject(inside, link) {
        return None;
    }
    let shift = |range: Range<usize>| content + range.start..content + range.end;
    let (separator, hook) = hook(inside, link.end);
    let title = match link.form {
        LinkSyntax::Inline => link.label.clone(),
        LinkSyntax::Wiki => link.span.clone(),
    };
    Some(Bullet {
        target: link.target.clone().into_owned(),
        form: link.form,
        line: line.span.start..line.end,
        title: shift(title),
        separator: shift(separator),
        hook: shift(hook),
        marker: line.span.start..content,
    })
}

/// Whether a line starts with this link, apart from emphasis and a checkbox. Otherwise the link is
/// only mentioned in a sentence.
fn is_subject(inside: &str, link: &Link<'_>) -> bool {
    let before = &inside[..link.start];
    let boxes = ["[ ]", "[x]", "[X]"];
    let mut boxed = boxes.iter().filter_map(|mark| before.strip_prefix(mark));
    let before = boxed.next().map_or(before, str::trim_start);
    before.trim_matches(['*', '_', '`']).is_empty() && inside[link.start..].starts_with('[')
}

/// The ranges of the separator and the hook after the link, which ends at `from`.
fn hook(inside: &str, from: usize) -> (Range<usize>, Range<usize>) {
    let end = inside.trim_end().len().max(from);
    let rest = inside[from..end].trim_start_matches(['*', '_', '`']);
    let start = end - rest.len();
    let bare = rest.trim_start();
    match SEPARATORS.iter().find(|s| bare.starts_with(**s)) {
        Some(separator) => {
            let text = bare[separator.len()..].trim_start();
            let at = end - text.len();
            (start..at, at..end)
        }
        None => (start..end - bare.len(), end - bare.len()..end),
    }
}

/// Whether a bullet links to `file`, whose memory is called `name`.
pub fn is_about(bullet: &Bullet, file: &str, name: &str) -> bool {
    means(bullet.form, &bullet.target, file, name)
}

/// Whether a link in a list leads to `file`, whose memory is called `name`.
pub fn means(form: LinkSyntax, target: &str, file: &str, name: &str) -> bool {
    match form {
        LinkSyntax::Inline => target.trim_start_matches("./") == file,
        LinkSyntax::Wiki => {
            target == name || target == stem(file) || target == file || slug(target) == stem(file)
        }
    }
}

/// The text with some lines of a former version again, as they were and where they were. A line that
/// it has already stays where it is.
pub fn with_lines_of(text: &str, former: &str, is_wanted: impl Fn(&Bullet) -> bool) -> String {
    let listed = bullets(text);
    let is_missing = |bullet: &Bullet| !listed.iter().any(|known| known.target == bullet.target);
    let mut wanted: Vec<Range<usize>> = Vec::new();
    for bullet in bullets(former) {
        if is_wanted(&bullet) && is_missing(&bullet) {
            wanted.push(whole_item(former, &bullet));
        }
    }
    let (old, new) = (diff::lines(text.as_bytes()), diff::lines(former.as_bytes()));
    let mut starts = vec![0];
    for line in &new {
        starts.push(starts[starts.len() - 1] + line.len());
    }
    let mut made: Vec<u8> = Vec::with_capacity(former.len());
    let mut at = 0;
    for replacement in diff::replacements(&old, &new) {
        made.extend(old[at..replacement.old.end].concat());
        at = replacement.old.end;
        for line in replacement.new {
            if wanted.iter().any(|range| range.contains(&starts[line])) {
                if made.last().is_some_and(|byte| *byte != b'\n') {
                    made.extend(newline(text).as_bytes());
                }
                made.extend(new[line]);
            }
        }
    }
    made.extend(old[at..].concat());
    String::from_utf8_lossy(&made).into_owned()
}

/// Whether a line begins an item of a list.
pub fn starts_bullet(line: &str) -> bool {
    line.trim_start().starts_with(['-', '*', '+'])
}

/// `text` without the given bullets, which are sorted, and their continuation lines.
pub fn without_bullets(text: &str, gone: &[Bullet]) -> String {
    let cuts = gone.iter();
    let cuts = cuts.map(|bullet| (whole_item(text, bullet), String::new()));
    replaced(text, &cuts.collect::<Vec<_>>())
}

/// The lines of a bullet and its continuation.
pub fn whole_item(text: &str, bullet: &Bullet) -> Range<usize> {
    bullet.line.start..end_of_continuation(text, bullet)
}

/// Where a link of a list leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkDestination {
    /// To an existing memory.
    Existing,
    /// To a missing memory, so that the link is dead.
    Missing,
    /// Out of the store, or to something that the caller leaves alone.
    Other,
}

/// `text` without dead links in lists. A line that starts with a dead link is removed, unless it
/// also links to an existing memory: then only the dead links are removed. A dead link in the
/// middle of a sentence stays.
pub fn without_dead(text: &str, leads: impl Fn(&Link<'_>) -> LinkDestination) -> String {
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    for (_, line) in prose(text) {
        let Some(content) = content_of(&line) else {
            continue;
        };
        let inside = &text[content..line.span.end];
        let all = links(inside);
        let led: Vec<LinkDestination> = all.iter().map(&leads).collect();
        if !led.contains(&LinkDestination::Missing)
            || edits.last().is_some_and(|e| e.0.end > line.span.start)
        {
            continue;
        }
        let about =
            bullet(inside, content, &line, &all[0]).filter(|_| led[0] == LinkDestination::Missing);
        match about {
            Some(bullet) if !led.contains(&LinkDestination::Existing) => {
                edits.push((whole_item(text, &bullet), String::new()));
            }
            _ if all.len() > 1 => {
                let cut = unlinked(inside, &all, |at| led[at] == LinkDestination::Missing);
                edits.push((content..line.span.end, cut));
            }
            _ => {}
        }
    }
    replaced(text, &edits)
}

/// The separators between the links of an enumeration.
const JOINTS: [&str; 12] = [
    "", ",", ";", "/", "+", "&", "·", "|", "and", "or", ", and", ", or",
];

/// A line without its dead links: removed from an enumeration, and replaced by their text
/// elsewhere.
fn unlinked(inside: &str, all: &[Link<'_>], is_dead: impl Fn(usize) -> bool) -> String {
    let is_joint = |from: usize, to: usize| {
        let between = inside.get(from..to).unwrap_or("-");
        JOINTS.contains(&between.trim())
    };
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    let mut at = 0;
    while at < all.len() {
        if !is_dead(at) {
            at += 1;
            continue;
        }
        let first = at;
        while all
            .get(at + 1)
            .is_some_and(|next| is_joint(all[at].end, next.start))
            && is_dead(at + 1)
        {
            at += 1;
        }
        let (first, last) = (first, at);
        at += 1;
        let (start, end) = (all[first].start, all[last].end);
        let next = all.get(last + 1).filter(|next| is_joint(end, next.start));
        let before = first.checked_sub(1).map(|before| &all[before]);
        let before = before.filter(|before| is_joint(before.end, start));
        // In an enumeration the separator is removed with the links.
        match (before, next) {
            (_, Some(next)) => edits.push((start..next.start, String::new())),
            (Some(before), None) => edits.push((before.end..end, String::new())),
            (None, None) => edits.extend(all[first..=last].iter().map(|link| {
                let words = inside[link.label.clone()].to_owned();
                (link.start..link.end, words)
            })),
        }
    }
    replaced(inside, &edits)
}

/// The end of a bullet's continuation lines: indented deeper than it, and not bullets.
pub(super) fn end_of_continuation(text: &str, bullet: &Bullet) -> usize {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let own = indent(&text[bullet.line.clone()]);
    lines(text, bullet.line.end)
        .take_while(|line| {
            let bare = line.text.trim_start();
            let is_bullet = bare.starts_with(['-', '*', '+']) && bare[1..].starts_with(' ');
            !bare.is_empty() && indent(line.text) > own && !is_bullet
        })
        .last()
        .map_or(bullet.line.end, |line| line.end)
}

/// `text` with a bullet that links to another file.
pub fn retarget_bullet(text: &str, bullet: &Bullet, target: &str) -> String {
    let line = &text[bullet.line.clone()];
    let found = links(line);
    let own = found.iter().find(|link| link.target == *bullet.target);
    let Some(link) = own else {
        return text.to_owned();
    };
    let (span, with) = match bullet.form {
        LinkSyntax::Inline => link.pointed_at(target),
        LinkSyntax::Wiki => link.pointed_at(stem(target)),
    };
    let at = bullet.line.start;
    splice(text, at + span.start..at + span.end, &with)
}

/// `text` with the title and the hook of a bullet updated, each only if it is still the text
/// derived from the old file; a reworded one is kept.
pub fn refresh_bullet(
    text: &str,
    bullet: &Bullet,
    old: &ListItem<'_>,
    new: &ListItem<'_>,
) -> String {
    let mut out = text.to_owned();
    if bullet.hook(text) == old.hook && !old.hook.is_empty() {
        out = splice(&out, bullet.hook.clone(), new.hook);
    }
    if bullet.form == LinkSyntax::Inline && bullet.title(text) == label(old.title) {
        out = splice(&out, bullet.title.clone(), &label(new.title));
    }
    out
}

/// `text` with a bullet for `item`, in the style of its neighbours: under its section, or after the
/// last bullet, or at the end.
pub fn with_bullet(text: &str, item: &ListItem<'_>) -> String {
    with_all(text, std::slice::from_ref(item))
}

/// `text` with a bullet for each item, placed as by [`with_bullet`].
pub fn with_all(text: &str, items: &[ListItem<'_>]) -> String {
    with_all_among(text, &bullets(text), items)
}

/// Like [`with_all`], where `all` are the bullets of the text.
pub(super) fn with_all_among(text: &str, all: &[Bullet], items: &[ListItem<'_>]) -> String {
    let nl = newline(text);
    let mut places: Vec<(Option<&str>, (InsertionPoint<'_>, BulletStyle<'_>))> = Vec::new();
    let mut added: BTreeMap<usize, String> = BTreeMap::new();
    for item in items {
        let known = places.iter().find(|(name, _)| *name == item.section);
        let place = known.map(|(_, place)| *place).unwrap_or_else(|| {
            let place = InsertionPoint::of(text, item.section, all);
            let style = BulletStyle::of(text, place.neighbour.or(all.last()), all);
            places.push((item.section, (place, style)));
            (place, style)
        });
        let (place, style) = place;
        let line = style.format(item);
        let lines = added.entry(place.at).or_insert_with(|| place.lead(text));
        lines.push_str(&format!("{line}{nl}"));
    }
    let edits: Vec<(Range<usize>, String)> = added
        .into_iter()
        .map(|(at, lines)| (at..at, lines))
        .collect();
    replaced(text, &edits)
}

/// Where new lines of a section are inserted.
#[derive(Debug, Clone, Copy)]
struct InsertionPoint<'a> {
    at: usize,
    /// The bullet before them.
    neighbour: Option<&'a Bullet>,
}

impl<'a> InsertionPoint<'a> {
    fn of(text: &str, name: Option<&str>, all: &'a [Bullet]) -> Self {
        let section = name.and_then(|name| section(text, name));
        let inside = |b: &&Bullet| section.as_ref().is_none_or(|s| s.contains(&b.line.start));
        let neighbour = all.iter().rev().find(inside);
        let at = match (neighbour, &section) {
            (Some(bullet), _) => end_of_continuation(text, bullet),
            (None, Some(section)) => end_of_text(text, section),
            (None, None) => text.len(),
        };
        Self { at, neighbour }
    }

    /// The text before the first new line.
    fn lead(&self, text: &str) -> String {
        let nl = newline(text);
        let head = &text[..self.at];
        let ended = head.is_empty() || head.ends_with('\n');
        let lead = if ended { "" } else { nl };
        // A blank line separates the first bullet of a page from the prose before it.
        let blank = head.ends_with("\n\n") || head.ends_with("\r\n\r\n");
        let apart = self.neighbour.is_none() && !head.trim().is_empty() && !blank;
        format!("{lead}{}", if apart { nl } else { "" })
    }
}

/// How the bullets of a list are written.
#[derive(Debug, Clone, Copy)]
struct BulletStyle<'a> {
    marker: &'a str,
    separator: &'a str,
    form: LinkSyntax,
}

impl<'a> BulletStyle<'a> {
    /// The style of `like`; the marker is that of an outermost bullet.
    fn of(text: &'a str, like: Option<&Bullet>, all: &[Bullet]) -> Self {
        let outermost = |b: &&Bullet| {
            let before = like.is_none_or(|like| b.line.start <= like.line.start);
            before && !text[b.marker.clone()].starts_with([' ', '\t'])
        };
        let marker = all.iter().rev().find(outermost).or(like);
        let separator = like
            .map(|b| &text[b.separator.clone()])
            .filter(|s| !s.trim().is_empty());
        Self {
            marker: marker.map_or("- ", |b| &text[b.marker.clone()]),
            separator: separator.unwrap_or(" - "),
            form: like.map_or(LinkSyntax::Inline, |b| b.form),
        }
    }

    /// A new line for `item`.
    fn format(&self, item: &ListItem<'_>) -> String {
        let marker = self.marker;
        let hook = match item.hook {
            "" => String::new(),
            hook => format!("{}{hook}", self.separator),
        };
        match self.form {
            LinkSyntax::Wiki => format!("{marker}[[{}]]{hook}", stem(item.target)),
            LinkSyntax::Inline => format!(
                "{marker}[{}]({}){hook}",
                label(item.title),
                address(item.target)
            ),
        }
    }
}

/// The end of the last line of a section that is not blank, or the section's start.
fn end_of_text(text: &str, section: &Range<usize>) -> usize {
    lines(text, section.start)
        .take_while(|line| line.span.start < section.end)
        .filter(|line| !line.text.trim().is_empty())
        .last()
        .map_or(section.start, |line| line.end)
}

/// The lines below the heading `name`, up to the next heading.
fn section(text: &str, name: &str) -> Option<Range<usize>> {
    let mut found: Option<usize> = None;
    for (_, line) in prose(text) {
        let hashes = line.text.len() - line.text.trim_start_matches('#').len();
        if hashes == 0 || !line.text[hashes..].starts_with(' ') {
            continue;
        }
        if let Some(start) = found {
            return Some(start..line.span.start);
        }
        if line.text[hashes..].trim().eq_ignore_ascii_case(name) {
            found = Some(line.end);
        }
    }
    found.map(|start| start..text.len())
}

/// Whether an index says more than which memories there are.
pub fn says_more(text: &str) -> bool {
    text != EMPTY_INDEX && !own_lines(text).is_empty()
}

/// Where the lines of an index begin that are no headings and list no memory.
pub fn own_lines(text: &str) -> Vec<usize> {
    let bullets = bullets(text);
    let is_own = |at: usize, line: &str| {
        let is_listed = bullets.iter().any(|bullet| bullet.line.contains(&at));
        !is_listed && heading(line).is_none() && !line.trim().is_empty()
    };
    let own = lines(text, 0).filter(|line| is_own(line.span.start, line.text));
    own.map(|line| line.span.start).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HAND: &str = "# Index\n\nProse with [a link](x.md).\n\n## Feedback\n- [A](a.md) — hook a\n- **[B](b.md)** – b  \n\n## Project\n* [[c-note]] : c\n\nThe end.\n";

    fn item(target: &'static str, section: Option<&'static str>) -> ListItem<'static> {
        ListItem {
            target,
            title: "N",
            hook: "new",
            section,
        }
    }

    #[test]
    fn bullets_are_lines_about_one_file() {
        let found: Vec<(String, &str)> = bullets(HAND)
            .iter()
            .map(|b| (b.target.clone(), &HAND[b.hook.clone()]))
            .collect();
        assert_eq!(
            found,
            [
                ("a.md".to_owned(), "hook a"),
                ("b.md".to_owned(), "b"),
                ("c-note".to_owned(), "c")
            ]
        );
    }

    #[test]
    fn one_line_is_added_in_the_style_of_its_neighbours() {
        let feedback = with_bullet(HAND, &item("n.md", Some("feedback")));
        assert_eq!(
            feedback,
            HAND.replace("– b  \n", "– b  \n- [N](n.md) – new\n")
        );
        let project = with_bullet(HAND, &item("n.md", Some("Project")));
        assert_eq!(project, HAND.replace(": c\n", ": c\n* [[n]] : new\n"));
    }

    #[test]
    fn a_page_without_bullets_gets_one_at_the_end_or_in_its_section() {
        for (before, after) in [
            ("", "- [N](n.md) - new\n"),
            ("prose\n", "prose\n\n- [N](n.md) - new\n"),
            ("prose", "prose\n\n- [N](n.md) - new\n"),
            ("a\r\n", "a\r\n\r\n- [N](n.md) - new\r\n"),
            ("prose\n\n", "prose\n\n- [N](n.md) - new\n"),
            ("a\r\n\r\n", "a\r\n\r\n- [N](n.md) - new\r\n"),
            (
                "## User\n\n## Z\nz\n",
                "## User\n\n- [N](n.md) - new\n\n## Z\nz\n",
            ),
        ] {
            assert_eq!(
                with_bullet(before, &item("n.md", Some("User"))),
                after,
                "{before:?}"
            );
        }
    }

    #[test]
    fn odd_pages_take_a_line_where_it_belongs() {
        for (before, after) in [
            (
                "## User\nfoo\u{a0}\n",
                "## User\nfoo\u{a0}\n\n- [N](n.md) - new\n",
            ),
            (
                "# M\r\n\r\n## User\nfoo\n## Z\nbar\n",
                "# M\r\n\r\n## User\nfoo\n\r\n- [N](n.md) - new\r\n## Z\nbar\n",
            ),
            (
                "## User\nfoo  \nbar  \n\n## Z\n",
                "## User\nfoo  \nbar  \n\n- [N](n.md) - new\n\n## Z\n",
            ),
            (
                "- [A](a.md) — hook\n  that goes on\n\nend\n",
                "- [A](a.md) — hook\n  that goes on\n- [N](n.md) — new\n\nend\n",
            ),
            (
                "- [A](a.md) — a\n  - [B](b.md) — b\n",
                "- [A](a.md) — a\n  - [B](b.md) — b\n- [N](n.md) — new\n",
            ),
            (
                "```\n- [T](t.md) — example\n```\n",
                "```\n- [T](t.md) — example\n```\n\n- [N](n.md) - new\n",
            ),
        ] {
            assert_eq!(
                with_bullet(before, &item("n.md", Some("User"))),
                after,
                "{before:?}"
            );
        }
    }

    #[test]
    fn any_name_finds_its_own_line_again() {
        for (target, title) in [("a b.md", "A"), ("a(1).md", "A"), ("a.md", "[WIP] parser")] {
            let item = ListItem {
                target,
                title,
                hook: "h",
                section: None,
            };
            let page = with_bullet("- [X](x.md) — x\n", &item);
            let found = bullets(&page);
            assert_eq!(found.len(), 2, "{page}");
            assert!(is_about(&found[1], target, title), "{page}");
            assert_eq!(without_bullets(&page, &found[1..]), "- [X](x.md) — x\n");
        }
        assert_eq!(bullets("**[A](a.md)** — x\n"), []);
    }

    #[test]
    fn a_line_goes_or_moves_alone() {
        let all = bullets(HAND);
        assert_eq!(
            without_bullets(HAND, &all[..1]),
            HAND.replace("- [A](a.md) — hook a\n", "")
        );
        assert_eq!(
            retarget_bullet(HAND, &all[1], "z.md"),
            HAND.replace("(b.md)", "(z.md)")
        );
        assert_eq!(
            retarget_bullet(HAND, &all[2], "z.md"),
            HAND.replace("[[c-note]]", "[[z]]")
        );
    }

    #[test]
    fn a_line_with_several_links_loses_the_dead_one_alone() {
        let leads = |link: &Link<'_>| match &*link.target {
            target if target.starts_with("http") => LinkDestination::Other,
            target if target.starts_with("dead") => LinkDestination::Missing,
            _ => LinkDestination::Existing,
        };
        for (before, after) in [
            ("- [A](a.md), [D](dead.md) — both\n", "- [A](a.md) — both\n"),
            ("- [D](dead.md), [A](a.md) — both\n", "- [A](a.md) — both\n"),
            (
                "- [A](a.md), [D](dead.md), [B](b.md)\n",
                "- [A](a.md), [B](b.md)\n",
            ),
            (
                "- [A](a.md), [D](dead.md), [E](dead2.md)\n",
                "- [A](a.md)\n",
            ),
            (
                "- [D](dead.md), [E](dead2.md), [A](a.md)\n",
                "- [A](a.md)\n",
            ),
            ("- [A](a.md) and [D](dead.md)\n", "- [A](a.md)\n"),
            (
                "- [A](a.md) — after [D](dead.md) failed\n",
                "- [A](a.md) — after D failed\n",
            ),
            ("- Auth: [A](a.md), [D](dead.md)\n", "- Auth: [A](a.md)\n"),
            ("- [D](dead.md) — hook\n  goes on\nend\n", "end\n"),
            ("- [D](dead.md) — see [PR](http://x)\n", ""),
            ("- as in [D](dead.md)\n", "- as in [D](dead.md)\n"),
            ("[D](dead.md) in prose\n", "[D](dead.md) in prose\n"),
            ("- [[a]], [[dead]]\n", "- [[a]]\n"),
        ] {
            assert_eq!(without_dead(before, leads), after, "{before:?}");
        }
    }

    #[test]
    fn any_title_leaves_its_line_a_link_to_its_file() {
        for title in [
            "plain",
            "[WIP]",
            "[WIP] x",
            "x [y]",
            "a](b.md)",
            "]",
            "[",
            "[[x]]",
            "back\\",
            "\\]",
            "a\\[",
            "[a](b) c",
            "![i](p.png)",
            "a[](",
        ] {
            let line = line_of(&label(title), "f.md", "hook (x) [y](z.md)");
            let found = bullets(&line);
            assert_eq!(found.len(), 1, "{line}");
            assert_eq!(found[0].target, "f.md", "{line}");
            assert_eq!(found[0].title(&line), label(title), "{line}");
            assert_eq!(found[0].hook(&line), "hook (x) [y](z.md)", "{line}");
        }
    }

    #[test]
    fn a_line_is_about_a_file_by_its_path_its_name_or_its_title() {
        let about = |form, target: &str| means(form, target, "a-b.md", "The title");
        for target in ["The title", "a-b", "a-b.md", "A b"] {
            assert!(about(LinkSyntax::Wiki, target), "{target}");
        }
        for target in ["a-b.md", "./a-b.md"] {
            assert!(about(LinkSyntax::Inline, target), "{target}");
        }
        assert!(!about(LinkSyntax::Wiki, "other"));
        assert!(!about(LinkSyntax::Inline, "The title"));
    }

    #[test]
    fn a_title_of_ones_own_and_a_wiki_name_stay() {
        let page = "- [My own](a.md) — d\n- [[A]] — d\n";
        let all = bullets(page);
        let old = ListItem {
            target: "a.md",
            title: "A",
            hook: "d",
            section: None,
        };
        let new = ListItem {
            title: "A2",
            ..old.clone()
        };
        for bullet in &all {
            assert_eq!(refresh_bullet(page, bullet, &old, &new), page);
        }
    }

    #[test]
    fn only_brackets_that_would_end_the_link_are_escaped() {
        for (title, written) in [
            ("plain", "plain"),
            ("x [y]", "x [y]"),
            ("a](b.md)", "a\\](b.md)"),
            ("]", "\\]"),
        ] {
            assert_eq!(label(title), written);
        }
    }

    #[test]
    fn many_lines_go_where_each_would_go_alone() {
        let page = "# I\n\n## User\n- [A](a.md) — a\n\n## Project\n\nEnd.\n";
        let items = [item("m.md", Some("User")), item("n.md", Some("Project"))];
        let one_by_one = with_bullet(&with_bullet(page, &items[0]), &items[1]);
        assert_eq!(with_all(page, &items), one_by_one);
        let again = [item("m.md", Some("User")), item("n.md", Some("User"))];
        let one_by_one = with_bullet(&with_bullet(page, &again[0]), &again[1]);
        assert_eq!(with_all(page, &again), one_by_one);
    }

    #[test]
    fn a_target_with_blanks_stands_between_angles_once() {
        let page = "- [A](a.md) — a\n- [B](<b c.md>) — b\n";
        let all = bullets(page);
        assert_eq!(
            retarget_bullet(page, &all[0], "x y.md"),
            page.replace("(a.md)", "(<x y.md>)")
        );
        assert_eq!(
            retarget_bullet(page, &all[1], "x y.md"),
            page.replace("b c.md", "x y.md")
        );
    }

    #[test]
    fn a_word_after_a_hash_is_no_heading() {
        let page =
            "## User\n- [A](a.md) — a\n\n#tag of mine\n- [B](b.md) — b\n\n## Z\n- [Z](z.md) — z\n";
        assert_eq!(
            with_bullet(page, &item("n.md", Some("User"))),
            page.replace("— b\n", "— b\n- [N](n.md) — new\n")
        );
    }

    #[test]
    fn words_after_a_link_without_a_separator_are_its_hook() {
        let page = "- **[[a]]** what the file said  \n- [B](b.md)\n";
        let all = bullets(page);
        assert_eq!(&page[all[0].hook.clone()], "what the file said");
        assert_eq!(&page[all[1].hook.clone()], "");
        let old = ListItem {
            target: "a.md",
            title: "a",
            hook: "what the file said",
            section: None,
        };
        let new = ListItem {
            hook: "what it says now",
            ..old.clone()
        };
        assert_eq!(
            refresh_bullet(page, &all[0], &old, &new),
            page.replace("the file said", "it says now")
        );
        assert_eq!(
            with_bullet("- [A](a.md) words\n", &item("n.md", None)),
            "- [A](a.md) words\n- [N](n.md) - new\n"
        );
    }

    #[test]
    fn wording_of_ones_own_is_kept() {
        let all = bullets(HAND);
        let old = ListItem {
            target: "a.md",
            title: "A",
            hook: "what the file said",
            section: None,
        };
        let new = ListItem {
            title: "A2",
            hook: "what it says now",
            ..old.clone()
        };
        assert_eq!(
            refresh_bullet(HAND, &all[0], &old, &new),
            HAND.replace("[A](a.md)", "[A2](a.md)")
        );
    }

    #[test]
    fn an_index_with_facts_of_its_own_says_more() {
        for text in [
            "# Mine\n\n- likes tabs\n",
            "Tea.\n",
            "## S\n- [A](a.md) - x\nfact\n",
        ] {
            assert!(says_more(text), "{text}");
        }
        for text in [EMPTY_INDEX, "# Memory\n", "# M\n\n## S\n- [A](a.md) - x\n"] {
            assert!(!says_more(text), "{text}");
        }
    }
}
