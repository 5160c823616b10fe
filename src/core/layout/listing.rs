//! Lists of links that people write by hand: edited a line at a time.
//!
//! A hand-written `MEMORY.md` or `README.md` is prose with bullets in it, in its own order and
//! with its own separators. Here one bullet is added, taken out or pointed elsewhere,
//! in the style of its neighbours, and no other line is touched.

use std::ops::Range;

use crate::core::header::{lines, newline, splice};
use crate::core::link::{Form, links};
use crate::core::memory::{slug, stem};

/// A line `- [title](target) — hook` of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bullet {
    /// The file that the line is about, as it is written.
    pub target: String,
    /// How the link is written.
    pub form: Form,
    /// The whole line, its ending included.
    pub line: Range<usize>,
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

/// The bullets of `text` that are about one file each.
pub fn bullets(text: &str) -> Vec<Bullet> {
    lines(text, 0)
        .filter_map(|line| {
            let indent = line.text.len() - line.text.trim_start().len();
            let bare = &line.text[indent..];
            let marker = bare.strip_prefix(['-', '*', '+'])?;
            let gap = marker.len() - marker.trim_start().len();
            let content = line.span.start + indent + 1 + gap;
            let inside = &text[content..line.span.end];
            let link = links(inside).into_iter().next()?;
            // A link further on is a mention in a sentence, not what the line is about.
            let lead = inside[..link.span.start].trim_start_matches(['*', '_', '`']);
            let (title, after) = match link.form {
                Form::Wiki if lead == "[[" => {
                    let close = link.span.end + inside[link.span.end..].find("]]")? + 2;
                    (link.span.clone(), close)
                }
                Form::Inline if lead.starts_with('[') && lead.matches('[').count() == 1 => {
                    let open = inside.find('[')? + 1;
                    let close = link.span.end + inside[link.span.end..].find(')')? + 1;
                    (open..link.span.start - 2, close)
                }
                _ => return None,
            };
            let shift = |range: Range<usize>| content + range.start..content + range.end;
            let (separator, hook) = hook(inside, after);
            Some(Bullet {
                target: link.target.to_owned(),
                form: link.form,
                line: line.span.start..line.end,
                title: shift(title),
                address: shift(link.span),
                separator: shift(separator),
                hook: shift(hook),
                marker: line.span.start..content,
            })
        })
        .collect()
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

/// `text` without the lines of the given bullets.
pub fn without(text: &str, gone: &[Bullet]) -> String {
    let mut out = text.to_owned();
    for bullet in gone.iter().rev() {
        out.replace_range(bullet.line.clone(), "");
    }
    out
}

/// `text` with a bullet pointed at another file.
pub fn retargeted(text: &str, bullet: &Bullet, target: &str) -> String {
    let address = match bullet.form {
        Form::Inline => target,
        Form::Wiki => stem(target),
    };
    splice(text, bullet.address.clone(), address)
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
    let neighbour = all
        .iter()
        .rev()
        .find(|b| section.as_ref().is_none_or(|s| s.contains(&b.line.start)));
    let nl = newline(text);
    let style = neighbour.or(all.last());
    let marker = style.map_or("- ", |b| &text[b.marker.clone()]);
    let separator = style
        .map(|b| &text[b.separator.clone()])
        .filter(|s| !s.trim().is_empty())
        .unwrap_or(" - ");
    let hook = match item.hook {
        "" => String::new(),
        hook => format!("{separator}{hook}"),
    };
    let line = match style.map(|b| b.form) {
        Some(Form::Wiki) => format!("{marker}[[{}]]{hook}{nl}", stem(item.target)),
        _ => format!("{marker}[{}]({}){hook}{nl}", item.title, item.target),
    };
    let at = match (neighbour, &section) {
        (Some(bullet), _) => bullet.line.end,
        // After the section's last line that says something.
        (None, Some(section)) => match text[section.clone()].trim_end().len() {
            0 => section.start,
            said => section.start + said + nl.len(),
        },
        (None, None) => text.len(),
    }
    .min(text.len());
    let head = &text[..at];
    let lead = match head {
        "" => "",
        head if !head.ends_with('\n') => nl,
        _ => "",
    };
    // The first bullet of a page stands apart from the prose before it.
    let apart = neighbour.is_none() && !head.trim().is_empty() && !head.ends_with("\n\n");
    let apart = if apart { nl } else { "" };
    splice(text, at..at, &format!("{lead}{apart}{line}"))
}

/// The lines below the heading `name`, up to the next heading.
fn section(text: &str, name: &str) -> Option<Range<usize>> {
    let mut found: Option<usize> = None;
    for line in lines(text, 0) {
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
