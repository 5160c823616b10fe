//! `MEMORY.md` itself: generated whole, or, where somebody wrote it, followed line by line.

use super::super::Touched;
use super::super::listing::{self, Item};
use super::{INDEX, TYPES};
use crate::core::Result;
use crate::core::change::Draft;
use crate::core::header::lines;
use crate::core::link::{self, Form};
use crate::core::memory::{Memory, stem};

const SECTIONS: [&str; 5] = ["User", "Feedback", "Project", "Reference", "Other"];

/// The memories that an index lists: those beside it.
pub(super) fn top(memories: &[Memory]) -> impl Iterator<Item = &Memory> {
    memories.iter().filter(|memory| !memory.path.contains('/'))
}

/// The index that tome makes of the memories.
pub fn generated(memories: &[Memory]) -> String {
    let mut index = "# Memory\n".to_owned();
    for section in SECTIONS {
        let mut members = top(memories)
            .filter(|memory| section_of(memory) == section)
            .peekable();
        if members.peek().is_none() {
            continue;
        }
        index.push_str(&format!("\n## {section}\n"));
        for memory in members {
            let hook = hook_of(memory);
            index.push_str(&format!("- [{}]({}) - {hook}\n", memory.title, memory.path));
        }
    }
    index
}

fn section_of(memory: &Memory) -> &'static str {
    let category = memory.category.as_deref().unwrap_or_default();
    let known = TYPES.iter().position(|(name, _)| *name == category);
    known.map_or("Other", |at| SECTIONS[at])
}

pub(super) fn hook_of(memory: &Memory) -> &str {
    if memory.summary.is_empty() {
        stem(&memory.path)
    } else {
        &memory.summary
    }
}

fn item(memory: &Memory) -> Item<'_> {
    Item {
        target: &memory.path,
        title: &memory.title,
        hook: hook_of(memory),
        section: Some(section_of(memory)),
    }
}

/// A hand-written index after one file was touched.
pub(super) fn followed(draft: &Draft<'_>, text: String, touch: &Touched) -> Result<String> {
    let bullet = |file: &str, name: &str| {
        let all = listing::bullets(&text);
        all.into_iter()
            .find(|bullet| listing::is_about(bullet, file, name))
    };
    Ok(match touch {
        Touched::Added(file) => {
            let memory = draft.memory_after(file)?;
            match bullet(file, &memory.title) {
                None if !file.contains('/') => listing::with(&text, &item(&memory)),
                _ => text,
            }
        }
        Touched::Edited(file) => {
            let (old, new) = (draft.memory_before(file)?, draft.memory_after(file)?);
            match bullet(file, &old.title) {
                Some(bullet) => listing::refreshed(&text, &bullet, &item(&old), &item(&new)),
                None => text,
            }
        }
        Touched::Removed(file) => {
            let name = draft.memory_before(file)?.title;
            let all = listing::bullets(&text);
            // A line that is also about a memory that stays is not this file's alone.
            let lives = |other: &String| {
                link::resolved(INDEX, other)
                    .is_some_and(|other| other != *file && draft.has(&other))
            };
            let gone: Vec<_> = all
                .into_iter()
                .filter(|bullet| listing::is_about(bullet, file, &name))
                .filter(|bullet| !bullet.others.iter().any(lives))
                .collect();
            listing::without(&text, &gone)
        }
        Touched::Renamed { from, to } => {
            let name = draft.memory_before(from)?.title;
            let text = match bullet(from, &name) {
                Some(bullet) if bullet.form == Form::Inline || bullet.target != name => {
                    listing::retargeted(&text, &bullet, to)
                }
                _ => text,
            };
            relinked(text, from, to)
        }
    })
}

/// A page with every other link to a renamed file pointed at its new name.
fn relinked(mut text: String, from: &str, to: &str) -> String {
    let found: Vec<_> = link::links(&text)
        .into_iter()
        .filter(|link| link.form == Form::Inline)
        .filter(|link| link::resolved(INDEX, &link.target).as_deref() == Some(from))
        .map(|link| link.span)
        .collect();
    for span in found.into_iter().rev() {
        text.replace_range(span, to);
    }
    text
}

/// A hand-written index with a line for every file and none for a file that is gone.
pub(super) fn mended(mut text: String, memories: &[Memory], draft: &Draft<'_>) -> String {
    let bullets = listing::bullets(&text);
    if bullets.is_empty() {
        // Text without a single such line is no list: Codex keeps the memories themselves here.
        return text;
    }
    let dead: Vec<_> = bullets
        .into_iter()
        .filter(|bullet| {
            bullet.form == Form::Inline
                && bullet.target.ends_with(".md")
                && link::resolved(INDEX, &bullet.target).is_some_and(|file| !draft.has(&file))
        })
        .collect();
    text = listing::without(&text, &dead);
    for memory in top(memories) {
        let mentioned = link::links(&text).iter().any(|link| match link.form {
            Form::Inline => link::resolved(INDEX, &link.target).as_deref() == Some(&memory.path),
            Form::Wiki => link.target == memory.title || link.target == stem(&memory.path),
        });
        if !mentioned {
            text = listing::with(&text, &item(memory));
        }
    }
    text
}

/// Whether every line could have come from the generator, so that an index that lacks a line or
/// has one too many is told from a hand-written one. A line about a memory that is there must
/// be the very line that would be generated: other words are somebody's.
pub(super) fn has_generated_form(text: &str, memories: &[Memory]) -> bool {
    let made = generated(memories);
    let worded_by_hand = |line: &str| {
        let bullet = listing::bullets(line).into_iter().next();
        let lives = |target: &str| memories.iter().any(|memory| memory.path == target);
        bullet.is_none_or(|b| lives(&b.target) && !made.lines().any(|made| made == line))
    };
    let mut last_section = 0;
    let mut all = lines(text, 0);
    all.next().is_some_and(|line| line.text == "# Memory")
        && all.all(|line| {
            if let Some(name) = line.text.strip_prefix("## ") {
                let place = SECTIONS.iter().position(|section| *section == name);
                let in_order = place.is_some_and(|place| place + 1 > last_section);
                last_section = place.map_or(last_section, |place| place + 1);
                return in_order;
            }
            line.text.is_empty()
                || line.text == "(empty)"
                || (last_section > 0
                    && line.text.starts_with("- [")
                    && line.text.contains(") - ")
                    && !worded_by_hand(line.text))
        })
}

#[cfg(test)]
mod tests {
    use super::super::EMPTY_INDEX;
    use super::*;

    #[test]
    fn the_generated_form_is_told_from_a_hand_written_one() {
        let memories = [Memory::bare("a.md", 0)];
        for text in [
            "# Memory\n",
            EMPTY_INDEX,
            "# Memory\n\n## User\n- [gone](gone.md) - b\n\n## Other\n- [a](a.md) - a\n",
        ] {
            assert!(has_generated_form(text, &memories), "{text:?}");
        }
        for text in [
            "# Memory Index\n",
            "",
            "# Memory\n\nprose\n",
            "# Memory\n\n## Other\n\n## User\n",
            "# Memory\n\n- [a](a.md) — b\n",
            "# Memory\n\n- [gone](gone.md) - b\n",
            "# Memory\n\n## Other\n- [a](a.md) - my own words\n",
        ] {
            assert!(!has_generated_form(text, &memories), "{text:?}");
        }
    }
}
