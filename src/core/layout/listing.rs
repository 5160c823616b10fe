//! Lists of links that people write by hand: edited a line at a time.
//!
//! A hand-written `MEMORY.md` or `README.md` is prose with bullets in it, in its own order and
//! with its own separators. Here one bullet is added, taken out or pointed elsewhere,
//! in the style of its neighbours, and no other line is touched.

use std::ops::Range;

use crate::core::header::{lines, newline, prose, splice};
use crate::core::link::{Form, Link, links};
use crate::core::memory::{slug, stem};

/// A line `- [title](target) — hook` of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bullet {
    /// The file that the line is about, as it is written.
    pub target: String,
    /// How the link is written.
    pub form: Form,
    /// The whole line, its ending included; lines that go on with it are not part of it.
    pub line: Range<usize>,
    /// The other files that the line links to.
    pub others: Vec<String>,
    /// The title between the brackets; of a wiki link, the target.
    title: Range<usize>,
    /// The target between the parentheses or brackets.
    address: Range<usize>,
    /// What stands between link and hook, such as ` — `; empty when there is no hook.
    separator: Range<usize>,
    /// The text after the separator, trailing blanks excluded.
    hook: Range<usize>,
    /// The marker with the blanks before and after it, such as `- `.
    marker: Range<usize>,
}

/// What a list should say of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item<'a> {
    /// The link's target.
    pub target: &'a str,
    /// The link's text.
    pub title: &'a str,
    /// The text after the separator.
    pub hook: &'a str,
    /// The heading it belongs under, where the list has that heading.
    pub section: Option<&'a str>,
}

const SEPARATORS: [&str; 5] = ["—", "–", "--", "-", ":"];

/// The bullets of `text` that are about one file each; what stands in a fence is an example.
pub fn bullets(text: &str) -> Vec<Bullet> {
    prose(text)
        .filter_map(|(_, line)| {
            let indent = line.text.len() - line.text.trim_start().len();
            let after = line.text[indent..].strip_prefix(['-', '*', '+'])?;
            let gap = after.len() - after.trim_start().len();
            if gap == 0 {
                return None;
            }
            let content = line.span.start + indent + 1 + gap;
            let inside = &text[content..line.span.end];
            let all = links(inside);
            let link = all.first()?;
            let title = title(inside, link)?;
            let shift = |range: Range<usize>| content + range.start..content + range.end;
            let (separator, hook) = hook(inside, link.end);
            Some(Bullet {
                target: link.target.clone().into_owned(),
                form: link.form,
                line: line.span.start..line.end,
                others: all[1..]
                    .iter()
                    .map(|link| link.target.clone().into_owned())
                    .collect(),
                title: shift(title),
                address: shift(link.span.clone()),
                separator: shift(separator),
                hook: shift(hook),
                marker: line.span.start..content,
            })
        })
        .collect()
}

/// Where the title of a bullet's first link is; `None` when words stand before the link, which
/// then is a mention in a sentence and not what the line is about.
fn title(inside: &str, link: &Link<'_>) -> Option<Range<usize>> {
    let decoration = ['*', '_', '`'];
    let start = inside.len() - inside.trim_start_matches(decoration).len();
    match link.form {
        Form::Wiki => (link.span.start == start + 2).then(|| link.span.clone()),
        Form::Inline => {
            let close = inside[..link.span.start].rfind("](")?;
            let title = inside[start..close].strip_prefix('[')?;
            // Brackets in a title are balanced; another link's end inside it is not a title.
            let balanced = title.matches('[').count() == title.matches(']').count();
            balanced.then_some(start + 1..close)
        }
    }
}

/// Where the separator and the hook are in what follows the link at `from`.
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

/// Whether a bullet is about `file`, whose memory is called `name`.
pub fn is_about(bullet: &Bullet, file: &str, name: &str) -> bool {
    match bullet.form {
        Form::Inline => bullet.target.trim_start_matches("./") == file,
        Form::Wiki => {
            bullet.target == name
                || bullet.target == stem(file)
                || bullet.target == file
                || slug(&bullet.target) == stem(file)
        }
    }
}

/// `text` without the given bullets and the lines that go on with them.
pub fn without(text: &str, gone: &[Bullet]) -> String {
    let mut out = text.to_owned();
    for bullet in gone.iter().rev() {
        let end = continued(text, bullet);
        out.replace_range(bullet.line.start..end, "");
    }
    out
}

/// Where the lines end that go on with a bullet: indented deeper than it, and no bullets.
fn continued(text: &str, bullet: &Bullet) -> usize {
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

/// A target as it stands between parentheses.
fn address(target: &str) -> String {
    if target.contains([' ', '(', ')']) {
        format!("<{target}>")
    } else {
        target.to_owned()
    }
}

/// `text` with a bullet pointed at another file.
pub fn retargeted(text: &str, bullet: &Bullet, target: &str) -> String {
    let inside_angles = text[..bullet.address.start].ends_with('<');
    let written = match bullet.form {
        Form::Inline if inside_angles => target.to_owned(),
        Form::Inline => address(target),
        Form::Wiki => stem(target).to_owned(),
    };
    splice(text, bullet.address.clone(), &written)
}

/// `text` with title and hook of a bullet brought up to date, each only where it still says
/// what the file said before: a line that somebody worded is theirs.
pub fn refreshed(text: &str, bullet: &Bullet, old: &Item<'_>, new: &Item<'_>) -> String {
    let mut out = text.to_owned();
    if &text[bullet.hook.clone()] == old.hook && !old.hook.is_empty() {
        out = splice(&out, bullet.hook.clone(), new.hook);
    }
    if bullet.form == Form::Inline && &text[bullet.title.clone()] == old.title {
        out = splice(&out, bullet.title.clone(), new.title);
    }
    out
}

/// `text` with a bullet for `item`, worded like its neighbours and put under its section, or
/// after the last bullet, or at the end.
pub fn with(text: &str, item: &Item<'_>) -> String {
    let all = bullets(text);
    let section = item.section.and_then(|name| section(text, name));
    let inside = |b: &&Bullet| section.as_ref().is_none_or(|s| s.contains(&b.line.start));
    let neighbour = all.iter().rev().find(inside);
    let nl = newline(text);
    let at = match (neighbour, &section) {
        (Some(bullet), _) => continued(text, bullet),
        (None, Some(section)) => end_of_words(text, section),
        (None, None) => text.len(),
    };
    let line = format!("{}{nl}", worded(text, item, neighbour.or(all.last()), &all));
    let head = &text[..at];
    let lead = if head.is_empty() || head.ends_with('\n') {
        ""
    } else {
        nl
    };
    // The first bullet of a page stands apart from the prose before it.
    let blank = head.ends_with("\n\n") || head.ends_with("\r\n\r\n");
    let apart = neighbour.is_none() && !head.trim().is_empty() && !blank;
    let apart = if apart { nl } else { "" };
    splice(text, at..at, &format!("{lead}{apart}{line}"))
}

/// A new line in the style of `like`; the marker is that of a bullet at the outermost level.
fn worded(text: &str, item: &Item<'_>, like: Option<&Bullet>, all: &[Bullet]) -> String {
    let outermost = |b: &&Bullet| {
        let before = like.is_none_or(|like| b.line.start <= like.line.start);
        before && !text[b.marker.clone()].starts_with([' ', '\t'])
    };
    let marker = all.iter().rev().find(outermost).or(like);
    let marker = marker.map_or("- ", |b| &text[b.marker.clone()]);
    let separator = like
        .map(|b| &text[b.separator.clone()])
        .filter(|s| !s.trim().is_empty())
        .unwrap_or(" - ");
    let hook = match item.hook {
        "" => String::new(),
        hook => format!("{separator}{hook}"),
    };
    match like.map(|b| b.form) {
        Some(Form::Wiki) => format!("{marker}[[{}]]{hook}", stem(item.target)),
        _ => format!("{marker}[{}]({}){hook}", item.title, address(item.target)),
    }
}

/// The end of the last line of a section that says something; its start where none does.
fn end_of_words(text: &str, section: &Range<usize>) -> usize {
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

#[cfg(test)]
mod tests {
    use super::*;

    const HAND: &str = "# Index\n\nProse with [a link](x.md).\n\n## Feedback\n- [A](a.md) — hook a\n- **[B](b.md)** – b  \n\n## Project\n* [[c-note]] : c\n\nThe end.\n";

    fn item(target: &'static str, section: Option<&'static str>) -> Item<'static> {
        Item {
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
        let feedback = with(HAND, &item("n.md", Some("feedback")));
        assert_eq!(
            feedback,
            HAND.replace("– b  \n", "– b  \n- [N](n.md) – new\n")
        );
        let project = with(HAND, &item("n.md", Some("Project")));
        assert_eq!(project, HAND.replace(": c\n", ": c\n* [[n]] : new\n"));
    }

    #[test]
    fn a_page_without_bullets_gets_one_at_the_end_or_in_its_section() {
        for (before, after) in [
            ("", "- [N](n.md) - new\n"),
            ("prose\n", "prose\n\n- [N](n.md) - new\n"),
            ("prose", "prose\n\n- [N](n.md) - new\n"),
            ("a\r\n", "a\r\n\r\n- [N](n.md) - new\r\n"),
            (
                "## User\n\n## Z\nz\n",
                "## User\n\n- [N](n.md) - new\n\n## Z\nz\n",
            ),
        ] {
            assert_eq!(
                with(before, &item("n.md", Some("User"))),
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
                with(before, &item("n.md", Some("User"))),
                after,
                "{before:?}"
            );
        }
    }

    #[test]
    fn any_name_finds_its_own_line_again() {
        for (target, title) in [("a b.md", "A"), ("a(1).md", "A"), ("a.md", "[WIP] parser")] {
            let item = Item {
                target,
                title,
                hook: "h",
                section: None,
            };
            let page = with("- [X](x.md) — x\n", &item);
            let found = bullets(&page);
            assert_eq!(found.len(), 2, "{page}");
            assert!(is_about(&found[1], target, title), "{page}");
            assert_eq!(without(&page, &found[1..]), "- [X](x.md) — x\n");
        }
        assert_eq!(bullets("**[A](a.md)** — x\n"), []);
    }

    #[test]
    fn a_line_goes_or_moves_alone() {
        let all = bullets(HAND);
        assert_eq!(
            without(HAND, &all[..1]),
            HAND.replace("- [A](a.md) — hook a\n", "")
        );
        assert_eq!(
            retargeted(HAND, &all[1], "z.md"),
            HAND.replace("(b.md)", "(z.md)")
        );
        assert_eq!(
            retargeted(HAND, &all[2], "z.md"),
            HAND.replace("[[c-note]]", "[[z]]")
        );
    }

    #[test]
    fn a_target_with_blanks_stands_between_angles_once() {
        let page = "- [A](a.md) — a\n- [B](<b c.md>) — b\n";
        let all = bullets(page);
        assert_eq!(
            retargeted(page, &all[0], "x y.md"),
            page.replace("(a.md)", "(<x y.md>)")
        );
        assert_eq!(
            retargeted(page, &all[1], "x y.md"),
            page.replace("b c.md", "x y.md")
        );
    }

    #[test]
    fn a_word_after_a_hash_is_no_heading() {
        let page =
            "## User\n- [A](a.md) — a\n\n#tag of mine\n- [B](b.md) — b\n\n## Z\n- [Z](z.md) — z\n";
        assert_eq!(
            with(page, &item("n.md", Some("User"))),
            page.replace("— b\n", "— b\n- [N](n.md) — new\n")
        );
    }

    #[test]
    fn words_after_a_link_without_a_separator_are_its_hook() {
        let page = "- **[[a]]** what the file said  \n- [B](b.md)\n";
        let all = bullets(page);
        assert_eq!(&page[all[0].hook.clone()], "what the file said");
        assert_eq!(&page[all[1].hook.clone()], "");
        let old = Item {
            target: "a.md",
            title: "a",
            hook: "what the file said",
            section: None,
        };
        let new = Item {
            hook: "what it says now",
            ..old.clone()
        };
        assert_eq!(
            refreshed(page, &all[0], &old, &new),
            page.replace("the file said", "it says now")
        );
    }

    #[test]
    fn wording_of_ones_own_is_kept() {
        let all = bullets(HAND);
        let old = Item {
            target: "a.md",
            title: "A",
            hook: "what the file said",
            section: None,
        };
        let new = Item {
            title: "A2",
            hook: "what it says now",
            ..old.clone()
        };
        assert_eq!(
            refreshed(HAND, &all[0], &old, &new),
            HAND.replace("[A](a.md)", "[A2](a.md)")
        );
    }
}
