//! Splits, joins and merges a hand-written index: the line of each memory is a piece of its own, and
//! so is the text around the lines.
//!
//! So two machines can each add a memory to the same list, and the line of a memory can be moved with
//! it. The text keeps the order: in place of a line it has the name of the memory in double braces.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::core::memory::layout::listing::{Bullet, bullets, end_of_continuation};
use crate::core::text::diff::{merge_by, replacements};
use crate::core::text::header::{newline, slug};
use crate::core::text::link::LinkSyntax;

/// A hand-written index, divided.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IndexPieces {
    /// The text, with a place for each line.
    pub text: String,
    /// The lines, by the files of their memories.
    pub lines: BTreeMap<String, String>,
}

/// What stands around the name of a memory where its line was.
const OPEN: &str = "{{";
const CLOSE: &str = "}}";

/// A part of an index: the line of a memory with those that continue it, or any other line.
#[derive(Debug, Clone)]
struct Unit<'a> {
    memory: Option<String>,
    text: &'a str,
}

/// The file that a line of a list is about.
fn file_of(bullet: &Bullet) -> String {
    match bullet.form {
        LinkSyntax::Inline => bullet.target.trim_start_matches("./").to_owned(),
        LinkSyntax::Wiki if bullet.target.ends_with(".md") => bullet.target.clone(),
        LinkSyntax::Wiki => format!("{}.md", slug(&bullet.target)),
    }
}

fn units<'a>(text: &'a str, is_memory: impl Fn(&str) -> bool) -> Vec<Unit<'a>> {
    let mut found = Vec::new();
    let mut known = HashSet::new();
    let mut at = 0;
    let push_lines = |found: &mut Vec<Unit<'a>>, text: &'a str| {
        let lines = text.split_inclusive('\n');
        found.extend(lines.map(|text| Unit { memory: None, text }));
    };
    for bullet in bullets(text) {
        let file = file_of(&bullet);
        // A second line for the same memory is text like any other.
        if bullet.line.start < at || !is_memory(&file) || !known.insert(file.clone()) {
            continue;
        }
        push_lines(&mut found, &text[at..bullet.line.start]);
        at = end_of_continuation(text, &bullet);
        found.push(Unit {
            memory: Some(file),
            text: &text[bullet.line.start..at],
        });
    }
    push_lines(&mut found, &text[at..]);
    found
}

/// The line without its end, and the end.
fn without_end(text: &str) -> (&str, &str) {
    let bare = text.trim_end_matches(['\r', '\n']);
    (bare, &text[bare.len()..])
}

/// Divides an index; `is_memory` tells the files of the store.
pub fn divided(text: &str, is_memory: impl Fn(&str) -> bool) -> IndexPieces {
    let mut pieces = IndexPieces::default();
    for unit in units(text, is_memory) {
        let (bare, end) = without_end(unit.text);
        match unit.memory {
            Some(file) => {
                pieces.text.push_str(&format!("{OPEN}{file}{CLOSE}{end}"));
                pieces.lines.insert(file, format!("{bare}\n"));
            }
            None => {
                if bare.trim_start_matches('\\').starts_with(OPEN) {
                    pieces.text.push('\\');
                }
                pieces.text.push_str(unit.text);
            }
        }
    }
    pieces
}

/// The index of some pieces, with the lines that `line` has.
pub fn joined<'a>(text: &str, line: impl Fn(&str) -> Option<&'a str>) -> String {
    let mut made = String::new();
    for piece in text.split_inclusive('\n') {
        let (bare, end) = without_end(piece);
        let place = bare
            .strip_prefix(OPEN)
            .and_then(|name| name.strip_suffix(CLOSE));
        match place {
            Some(name) => {
                if let Some(line) = line(name) {
                    made.push_str(without_end(line).0);
                    made.push_str(end);
                }
            }
            None if bare.trim_start_matches('\\').starts_with(OPEN) => {
                made.push_str(piece.strip_prefix('\\').unwrap_or(piece));
            }
            None => made.push_str(piece),
        }
    }
    made
}

/// An index with other words for the lines of these memories.
pub fn reworded(text: &str, words: &BTreeMap<String, String>) -> String {
    let mut made = String::new();
    for unit in units(text, |name| words.contains_key(name)) {
        match unit.memory.and_then(|name| words.get(&name)) {
            Some(line) => {
                made.push_str(without_end(line).0);
                made.push_str(without_end(unit.text).1);
            }
            None => made.push_str(unit.text),
        }
    }
    made
}

/// What stands at a place of an index: the line of a memory, whatever its words, or this line.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key<'a> {
    Memory(String),
    Line(&'a str),
}

/// A text as keys, and the words of the lines of memories.
fn keyed(text: &str) -> (Vec<Key<'_>>, HashMap<String, &str>) {
    let mut words = HashMap::new();
    let keys = units(text, |_| true)
        .into_iter()
        .map(|unit| match unit.memory {
            Some(file) => {
                words.insert(file.clone(), without_end(unit.text).0);
                Key::Memory(file)
            }
            None => Key::Line(without_end(unit.text).0),
        });
    (keys.collect(), words)
}

/// Merges two edits of a hand-written index. Lines that both added are all kept; `None` if both
/// changed the same words.
pub fn merged(base: Option<&str>, ours: &str, theirs: &str) -> Option<String> {
    merge(base, ours, theirs, |_| None)
}

/// As [`merged`], but of a memory's line that both changed, theirs is taken.
pub fn merged_with_theirs(base: Option<&str>, ours: &str, theirs: &str) -> Option<String> {
    merge(base, ours, theirs, Some)
}

/// Merges two edits of a hand-written index; `on_both` is given their line if both changed one.
fn merge<'a>(
    base: Option<&'a str>,
    ours: &'a str,
    theirs: &'a str,
    on_both: fn(&'a str) -> Option<&'a str>,
) -> Option<String> {
    let (our_keys, our_words) = keyed(ours);
    let (their_keys, their_words) = keyed(theirs);
    let (base_keys, base_words) = keyed(base.unwrap_or_default());
    let keys = match base {
        Some(_) => merge_by(
            &base_keys,
            &our_keys,
            &their_keys,
            |region, ours, theirs| {
                // A line that one side changed and the other changed or moved is a conflict.
                let stays = |key: &Key<'_>| {
                    matches!(key, Key::Memory(_)) || ours.contains(key) && theirs.contains(key)
                };
                let is_merged = region.iter().all(stays);
                is_merged.then(|| union(region, ours, theirs))
            },
        )?,
        None => union(&[], &our_keys, &their_keys),
    };
    for (file, before) in &base_words {
        let is_edited =
            |words: &HashMap<String, &str>| words.get(file).is_some_and(|now| now != before);
        let is_taken = |words: &HashMap<String, &str>| !words.contains_key(file);
        if is_taken(&our_words) && is_edited(&their_words)
            || is_taken(&their_words) && is_edited(&our_words)
        {
            on_both(before)?;
        }
    }
    let end = newline(ours);
    let mut made = String::new();
    let mut known = HashSet::new();
    for key in &keys {
        let words = match key {
            Key::Line(line) => line,
            Key::Memory(file) if !known.insert(file) => continue,
            Key::Memory(file) => {
                let (our, their) = (our_words.get(file), their_words.get(file));
                match (our, their) {
                    (Some(our), Some(their)) if our == their => our,
                    (Some(our), Some(their)) => match base_words.get(file) {
                        Some(base) if base == our => their,
                        Some(base) if base == their => our,
                        _ => on_both(their)?,
                    },
                    (Some(one), None) | (None, Some(one)) => one,
                    (None, None) => continue,
                }
            }
        };
        made.push_str(words);
        made.push_str(end);
    }
    let is_open = |text: &str| !text.is_empty() && !text.ends_with('\n');
    if is_open(ours) && is_open(theirs) {
        made.truncate(without_end(&made).0.len());
    }
    Some(made)
}

/// What two sides have, in the order of the first, without what one of them took from the base.
fn union<'a>(base: &[Key<'a>], ours: &[Key<'a>], theirs: &[Key<'a>]) -> Vec<Key<'a>> {
    let stays = |key: &&Key<'a>, other: &[Key<'a>]| !base.contains(key) || other.contains(key);
    let mut made = Vec::new();
    let mut at = 0;
    for one in replacements(ours, theirs) {
        let our = ours[at..one.old.end].iter();
        made.extend(our.filter(|key| stays(key, theirs)).cloned());
        let their = theirs[one.new.clone()].iter();
        made.extend(their.filter(|key| stays(key, ours)).cloned());
        at = one.old.end;
    }
    made.extend(ours[at..].iter().cloned());
    made
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const INDEX: &str = "# Mine\n\nA fact.\n\n## Work\n- [A](a.md) — first\n  and more\n- [[b]]\n- [gone](x.md)\n{{odd}}\n- [A](a.md) again";

    fn is_memory(file: &str) -> bool {
        ["a.md", "b.md", "c.md"].contains(&file)
    }

    #[test]
    fn an_index_is_divided_and_joined_as_it_was() {
        let pieces = divided(INDEX, is_memory);
        assert_eq!(pieces.lines["a.md"], "- [A](a.md) — first\n  and more\n");
        assert_eq!(pieces.lines["b.md"], "- [[b]]\n");
        assert_eq!(pieces.lines.len(), 2);
        assert!(
            pieces
                .text
                .contains("## Work\n{{a.md}}\n{{b.md}}\n- [gone](x.md)\n\\{{odd}}\n")
        );
        let line = |name: &str| pieces.lines.get(name).map(String::as_str);
        assert_eq!(joined(&pieces.text, line), INDEX);
        let without = joined(&pieces.text, |name| line(name).filter(|_| name != "a.md"));
        assert!(!without.contains("first") && without.contains("A fact."));
    }

    #[test]
    fn of_a_line_that_both_changed_theirs_is_taken_and_other_lines_stay() {
        let ours = "# M\n- [A](a.md) - mine\n- [C](c.md) - mine\n";
        let theirs = "# M\n- [A](a.md) - theirs\n";
        assert_eq!(merged(None, ours, theirs), None);
        let made = merged_with_theirs(None, ours, theirs);
        assert_eq!(
            made.as_deref(),
            Some("# M\n- [A](a.md) - theirs\n- [C](c.md) - mine\n")
        );
    }

    #[test]
    fn what_both_added_is_kept_and_what_both_changed_is_a_conflict() {
        let base = "# M\n\n- [A](a.md) — one\n";
        let with = |line: &str| format!("{base}{line}\n");
        for (ours, theirs, expected) in [
            // Both added a memory at the same place.
            (
                with("- [B](b.md) — two"),
                with("- [C](c.md) — three"),
                Some("# M\n\n- [A](a.md) — one\n- [B](b.md) — two\n- [C](c.md) — three\n"),
            ),
            // The same memory, once.
            (
                with("- [B](b.md) — two"),
                with("- [B](b.md) — two"),
                Some("# M\n\n- [A](a.md) — one\n- [B](b.md) — two\n"),
            ),
            // One reworded a line, the other removed none and added a text.
            (
                "# M\n\n- [A](a.md) — uno\n".to_owned(),
                with("\nProse."),
                Some("# M\n\n- [A](a.md) — uno\n\nProse.\n"),
            ),
            // One took a line away that the other left.
            (
                "# M\n\n".to_owned(),
                with("- [B](b.md) — two"),
                Some("# M\n\n- [B](b.md) — two\n"),
            ),
            // Both reworded it.
            (
                "# M\n\n- [A](a.md) — uno\n".to_owned(),
                "# M\n\n- [A](a.md) — eins\n".to_owned(),
                None,
            ),
            // One took it away, the other reworded it.
            (
                "# M\n\n".to_owned(),
                "# M\n\n- [A](a.md) — eins\n".to_owned(),
                None,
            ),
            // Both changed the same text.
            (
                "# N\n\n- [A](a.md) — one\n".to_owned(),
                "# O\n\n- [A](a.md) — one\n".to_owned(),
                None,
            ),
        ] {
            let made = merged(Some(base), &ours, &theirs);
            assert_eq!(made.as_deref(), expected, "{ours:?} {theirs:?}");
        }
        let first = merged(None, "# M\n- [A](a.md)\n", "# M\n- [B](b.md)\nProse\n");
        assert_eq!(
            first.as_deref(),
            Some("# M\n- [A](a.md)\n- [B](b.md)\nProse\n")
        );
    }

    fn text() -> impl Strategy<Value = String> {
        let line = prop::sample::select(vec![
            "# M\n",
            "\n",
            "prose\n",
            "- [A](a.md) — x\n",
            "- [[b]]\n",
            "- [C](c.md)\n  more\n",
            "{{a.md}}\n",
            "\\{{a\n",
            "```\n",
            "- [D](d.md)\r\n",
            "end",
        ]);
        prop::collection::vec(line, 0..12).prop_map(|lines| lines.concat())
    }

    proptest! {
        #[test]
        fn whatever_is_divided_is_joined_as_it_was(text in text()) {
            let pieces = divided(&text, is_memory);
            let line = |name: &str| pieces.lines.get(name).map(String::as_str);
            prop_assert_eq!(joined(&pieces.text, line), text);
        }

        #[test]
        fn no_line_of_either_side_that_is_new_is_lost(base in text(), ours in text(), theirs in text()) {
            if let Some(made) = merged(Some(&base), &ours, &theirs) {
                for line in ours.lines().chain(theirs.lines()) {
                    let is_new = !base.contains(line) && bullets(line).is_empty();
                    prop_assert!(!is_new || made.contains(line), "{line:?} in {made:?}");
                }
            }
        }
    }
}
