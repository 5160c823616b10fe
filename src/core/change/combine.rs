//! Combines the texts of two memories: what both say is kept once, what differs is chosen.
//!
//! Texts are compared section by section and, inside a section, block by block. A block is a
//! heading, a paragraph, a list item or a fenced block with the blank lines behind it; a lesson is
//! one block. No block is divided, so no sentence of one text ends up inside one of the other.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::core::memory::layout::Layout;
use crate::core::text::diff::replacements;
use crate::core::text::{fold, is_common, stem, words};

/// One of the two texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The first.
    Left,
    /// The second.
    Right,
}

/// A block of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// The text, with the blank lines behind it.
    pub text: String,
    side: Side,
    /// Its index among the blocks of its text.
    at: usize,
}

/// A part of the two texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CombinedPart {
    /// Blocks that both have, as the first has them.
    Same(Vec<Block>),
    /// Blocks in which they differ; one side may have none.
    Differing {
        /// The blocks of the first.
        left: Vec<Block>,
        /// The blocks of the second.
        right: Vec<Block>,
    },
}

/// What is taken of a part in which the texts differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Take {
    /// The blocks of the first.
    Left,
    /// The blocks of the second.
    Right,
    /// Those of the first, then those of the second.
    Both,
    /// None.
    Neither,
}

/// Two texts, divided into what they share and where they differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Combination {
    layout: Layout,
    newline: &'static str,
    parts: Vec<CombinedPart>,
}

impl Combination {
    /// Compares the bodies of two memories of a store with this layout.
    pub fn new(layout: Layout, left: &str, right: &str) -> Self {
        let newline = if left.contains("\r\n") { "\r\n" } else { "\n" };
        let right = right.replace("\r\n", "\n").replace('\n', newline);
        let mut combination = Self {
            layout,
            newline,
            parts: Vec::new(),
        };
        let others = sections(layout, &right, Side::Right);
        let mut by_key: HashMap<&str, VecDeque<usize>> = HashMap::new();
        for (at, other) in others.iter().enumerate() {
            by_key.entry(&other.key).or_default().push_back(at);
        }
        let mut is_used = vec![false; others.len()];
        for section in sections(layout, left, Side::Left) {
            let same = by_key.get_mut(section.key.as_str());
            match same.and_then(VecDeque::pop_front) {
                Some(at) => {
                    is_used[at] = true;
                    combination.compare(&section.blocks, &others[at].blocks);
                }
                None => combination.push(CombinedPart::Differing {
                    left: section.blocks,
                    right: Vec::new(),
                }),
            }
        }
        for (other, _) in others.into_iter().zip(is_used).filter(|(_, used)| !used) {
            combination.push(CombinedPart::Differing {
                left: Vec::new(),
                right: other.blocks,
            });
        }
        combination
    }

    /// The parts, in order.
    pub fn parts(&self) -> &[CombinedPart] {
        &self.parts
    }

    /// The text with these choices, one for each part that differs; both sides where none is given.
    pub fn text(&self, takes: &[Take]) -> String {
        let mut takes = takes.iter();
        let mut chosen: Vec<&Block> = Vec::new();
        for part in &self.parts {
            match part {
                CombinedPart::Same(blocks) => chosen.extend(blocks),
                CombinedPart::Differing { left, right } => {
                    let take = takes.next().copied().unwrap_or(Take::Both);
                    if matches!(take, Take::Left | Take::Both) {
                        chosen.extend(left);
                    }
                    if matches!(take, Take::Right | Take::Both) {
                        chosen.extend(right);
                    }
                }
            }
        }
        self.joined(&chosen)
    }

    /// The text with everything that either says. Of two blocks of which one has every word of the
    /// other, below headings of which that is true as well, the fuller one stands where that of the
    /// first stood.
    pub fn union(&self) -> String {
        let all = self.said_blocks();
        // Which block stands at the place of each; `None` where it is left out.
        let mut shown: Vec<Option<usize>> = (0..all.len()).map(Some).collect();
        for (second, block) in all.iter().enumerate() {
            if block.block.side == Side::Left {
                continue;
            }
            let like = (0..all.len()).find(|first| {
                let here = shown[*first].filter(|_| all[*first].block.side == Side::Left);
                here.is_some_and(|here| {
                    let (one, other) = (&all[here], block);
                    is_said(&other.heading, &all[*first].heading)
                        && (covers(&one.words, &other.words) || covers(&other.words, &one.words))
                })
            });
            if let Some(first) = like {
                let is_fuller = |here: usize| block.words.len() > all[here].words.len();
                if shown[first].is_some_and(is_fuller) {
                    shown[first] = Some(second);
                }
                shown[second] = None;
            }
        }
        // A heading of the second goes with everything below it.
        for at in 0..all.len() {
            if all[at].is_heading && all[at].block.side == Side::Right {
                let below = at + 1..all.len();
                let mut below = below.take_while(|below| !all[*below].is_heading).peekable();
                if below.peek().is_some() && below.all(|below| shown[below].is_none()) {
                    shown[at] = None;
                }
            }
        }
        let kept = shown.into_iter().flatten().map(|at| all[at].block);
        self.joined(&kept.collect::<Vec<&Block>>())
    }

    /// All blocks, with what each says.
    fn said_blocks(&self) -> Vec<SaidBlock<'_>> {
        let mut all: Vec<SaidBlock<'_>> = Vec::new();
        let mut headings: [HashSet<String>; 2] = Default::default();
        let number = |side: Side| usize::from(side == Side::Right);
        for part in &self.parts {
            let (blocks, is_same): (Vec<&Block>, bool) = match part {
                CombinedPart::Same(blocks) => (blocks.iter().collect(), true),
                CombinedPart::Differing { left, right } => {
                    (left.iter().chain(right).collect(), false)
                }
            };
            for block in blocks {
                let is_heading = is_heading(block.text.trim_start());
                if is_heading {
                    let words = words_of(&block.text);
                    headings[number(block.side)].clone_from(&words);
                    if is_same {
                        headings[1].clone_from(&words);
                    }
                }
                all.push(SaidBlock {
                    block,
                    is_heading,
                    words: if is_heading {
                        HashSet::new()
                    } else {
                        prose_words(&block.text)
                    },
                    heading: headings[number(block.side)].clone(),
                });
            }
        }
        all
    }

    /// Compares the blocks of two sections.
    fn compare(&mut self, left: &[Block], right: &[Block]) {
        let keys = |blocks: &[Block]| -> Vec<String> {
            // A text may have line endings of both kinds.
            let key = |block: &Block| block.text.trim().replace("\r\n", "\n");
            blocks.iter().map(key).collect()
        };
        let mut at = 0;
        for replaced in replacements(&keys(left), &keys(right)) {
            self.push(CombinedPart::Same(left[at..replaced.old.start].to_vec()));
            at = replaced.old.end;
            self.push(CombinedPart::Differing {
                left: left[replaced.old].to_vec(),
                right: right[replaced.new].to_vec(),
            });
        }
        self.push(CombinedPart::Same(left[at..].to_vec()));
    }

    /// Adds a part; joins it with the last one where both need the same decision.
    fn push(&mut self, part: CombinedPart) {
        use CombinedPart::{Differing, Same};
        match (self.parts.last_mut(), part) {
            (_, Same(blocks)) if blocks.is_empty() => {}
            (Some(Same(known)), Same(blocks)) => known.extend(blocks),
            (Some(Differing { left, right: none }), Differing { left: more, right })
                if none.is_empty() && right.is_empty() =>
            {
                left.extend(more);
            }
            (Some(Differing { left: none, right }), Differing { left, right: more })
                if none.is_empty() && left.is_empty() =>
            {
                right.extend(more);
            }
            (_, part) => self.parts.push(part),
        }
    }

    /// Puts blocks together. Those that stood together stay as they are; between others there is a
    /// blank line, unless both are items of a list.
    fn joined(&self, blocks: &[&Block]) -> String {
        let newline = self.newline;
        let mut text = String::new();
        for (number, block) in blocks.iter().enumerate() {
            let last = number.checked_sub(1).map(|number| blocks[number]);
            match last {
                None => {}
                Some(_) if self.layout == Layout::Coder => {
                    let end = text.trim_end().len();
                    text.truncate(end);
                    text.push_str(&format!("{newline}{newline}---{newline}{newline}"));
                }
                Some(last) if last.side == block.side && last.at + 1 == block.at => {}
                Some(last) => {
                    let end = text.trim_end().len();
                    let are_items = is_item(&last.text) && is_item(&block.text);
                    let had_blank = text[end..].matches('\n').count() > 1;
                    text.truncate(end);
                    text.push_str(newline);
                    if !are_items || had_blank {
                        text.push_str(newline);
                    }
                }
            }
            text.push_str(&block.text);
        }
        let end = text.trim_end().len();
        text.truncate(end);
        if !text.is_empty() {
            text.push_str(newline);
        }
        text
    }
}

/// A block, and what it says.
struct SaidBlock<'a> {
    block: &'a Block,
    is_heading: bool,
    words: HashSet<String>,
    /// The words of the heading above it.
    heading: HashSet<String>,
}

/// A shorter block is compared as a whole alone.
const FEWEST_WORDS: usize = 5;

fn words_of(text: &str) -> HashSet<String> {
    let words = words(text).map(|word| fold(word.text).into_owned());
    words.map(|word| stem(&word).into_owned()).collect()
}

/// The words of a block; none of a code block or one of a few words.
fn prose_words(text: &str) -> HashSet<String> {
    let words = words_of(text);
    let is_prose = !text.contains("```") && !text.contains("~~~");
    if is_prose && words.len() >= FEWEST_WORDS {
        words
    } else {
        HashSet::new()
    }
}

/// Whether all words of a text but common ones are among others.
fn is_said(text: &HashSet<String>, others: &HashSet<String>) -> bool {
    let mut missing = text.difference(others);
    missing.all(|word| is_common(word) && !is_negation(word))
}

fn is_negation(word: &str) -> bool {
    const NEGATIONS: [&str; 30] = [
        "no", "not", "nor", "never", "none", "don", "doesn", "didn", "isn", "aren", "won", "can",
        "cannot", "t", "without", "nicht", "nie", "kein", "keine", "pas", "jamais", "nunca", "sin",
        "não", "не", "нет", "不", "未", "没", "勿",
    ];
    NEGATIONS.contains(&word)
}

/// Whether a block says what another one says: it has its words, and what it has more is neither a
/// number nor a negation.
fn covers(fuller: &HashSet<String>, other: &HashSet<String>) -> bool {
    let changes =
        |word: &String| word.contains(|char: char| char.is_ascii_digit()) || is_negation(word);
    !other.is_empty()
        && !fuller.is_empty()
        && is_said(other, fuller)
        && !fuller.difference(other).any(changes)
}

/// A heading and the blocks below it, the blocks above the first heading, or a lesson.
struct Section {
    /// The heading, or the first line of the lesson, in lower case; empty above the first heading.
    key: String,
    blocks: Vec<Block>,
}

fn sections(layout: Layout, text: &str, side: Side) -> Vec<Section> {
    let blocks = match layout {
        Layout::Coder => lessons(text),
        _ => blocks(text),
    };
    let mut sections: Vec<Section> = Vec::new();
    for (at, text) in blocks.into_iter().enumerate() {
        let block = Block {
            text: text.to_owned(),
            side,
            at,
        };
        let first = text.trim().lines().next().unwrap_or_default();
        let starts = layout == Layout::Coder || is_heading(first);
        match sections.last_mut().filter(|_| !starts) {
            Some(section) => section.blocks.push(block),
            None => sections.push(Section {
                key: if starts {
                    first.to_lowercase()
                } else {
                    String::new()
                },
                blocks: vec![block],
            }),
        }
    }
    sections
}

/// Divides a text into blocks, with nothing left out.
fn blocks(text: &str) -> Vec<&str> {
    let mut starts = vec![0];
    let (mut at, mut after, mut fence) = (0, After::Start, Fence::default());
    for line in text.split_inclusive('\n') {
        let is_inside = fence.is_open();
        fence.read(line);
        let is_blank = line.trim().is_empty();
        if !is_inside && !is_blank {
            let starts_block = match after {
                After::Start => false,
                After::Blank | After::Heading => true,
                After::Text => is_item(line) || is_heading(line),
            };
            if starts_block {
                starts.push(at);
            }
        }
        after = if is_inside {
            After::Text
        } else if is_blank && after == After::Start {
            // Blank lines before the first block belong to it.
            After::Start
        } else if is_blank {
            After::Blank
        } else if is_heading(line) {
            After::Heading
        } else {
            After::Text
        };
        at += line.len();
    }
    divided(text, &starts)
}

/// The lessons of a text, without the lines `---` between them.
fn lessons(text: &str) -> Vec<&str> {
    let (mut found, mut start, mut at) = (Vec::new(), 0, 0);
    let mut fence = Fence::default();
    for line in text.split_inclusive('\n') {
        if !fence.is_open() && line.trim_end() == "---" {
            found.push(&text[start..at]);
            start = at + line.len();
        }
        fence.read(line);
        at += line.len();
    }
    found.push(&text[start..]);
    let found = found
        .into_iter()
        .map(|text| text.trim_start_matches(['\r', '\n']));
    found.filter(|text| !text.trim().is_empty()).collect()
}

/// The parts of a text that begin at these bytes, without blank ones.
fn divided<'a>(text: &'a str, starts: &[usize]) -> Vec<&'a str> {
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    let parts = starts
        .iter()
        .zip(ends)
        .map(|(start, end)| &text[*start..end]);
    parts.filter(|part| !part.trim().is_empty()).collect()
}

/// What a line follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    Start,
    Blank,
    Heading,
    Text,
}

/// Whether lines are inside a fenced block.
#[derive(Default)]
struct Fence {
    open: Option<&'static str>,
}

impl Fence {
    fn is_open(&self) -> bool {
        self.open.is_some()
    }

    fn read(&mut self, line: &str) {
        let line = line.trim_start();
        let mark = ["```", "~~~"]
            .into_iter()
            .find(|mark| line.starts_with(mark));
        match (self.open, mark) {
            (None, Some(mark)) => self.open = Some(mark),
            (Some(open), Some(mark)) if open == mark => self.open = None,
            _ => {}
        }
    }
}

/// Whether a text starts with an item of a list that is not indented.
fn is_item(text: &str) -> bool {
    let number = text.trim_start_matches(|c: char| c.is_ascii_digit());
    ["- ", "* ", "+ "].iter().any(|mark| text.starts_with(mark))
        || number.len() < text.len() && number.starts_with(". ")
}

fn is_heading(line: &str) -> bool {
    let rest = line.trim_start_matches('#');
    rest.len() < line.len() && rest.starts_with([' ', '\t'])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn combined(left: &str, right: &str) -> String {
        Combination::new(Layout::Index, left, right).text(&[])
    }

    #[test]
    fn what_both_say_is_kept_once_whatever_the_line_endings() {
        let mixed = "one\nand\r\n\r\n- two\n";
        for other in [mixed, "one\nand\n\n- two\n", "one\r\nand\r\n\r\n- two\r\n"] {
            let combined = Combination::new(Layout::Index, mixed, other);
            assert_eq!(combined.parts().len(), 1, "{combined:?}");
            assert_eq!(combined.text(&[]).matches("two").count(), 1);
        }
    }

    #[test]
    fn what_both_say_stands_once_and_paragraphs_are_never_interleaved() {
        let left =
            "Intro.\n\n## Tests\nRun them with make.\n\n- fast ones first\n- slow ones last\n";
        let right = "## Tests\nRun them with make.\n\n- fast ones first\n- none on Friday\n\n## Deploy\n\nBy hand.\n";
        assert_eq!(
            combined(left, right),
            "Intro.\n\n## Tests\nRun them with make.\n\n- fast ones first\n- slow ones last\n- none on Friday\n\n## Deploy\n\nBy hand.\n"
        );
        assert_eq!(
            combined("p1\n\np2\n", "q1\n\nq2\n"),
            "p1\n\np2\n\nq1\n\nq2\n"
        );
        assert_eq!(combined("same\n", "same"), "same\n");
        assert_eq!(combined("", "only\n"), "only\n");
    }

    #[test]
    fn of_two_items_that_say_nearly_the_same_the_fuller_one_stays() {
        let union = |left: &str, right: &str| Combination::new(Layout::Index, left, right).union();
        let left = "# Rules\n\n- Run the tests with `make check` before a commit\n- Never push to main on a Friday\n- Keep functions below 40 lines\n";
        let right = "## Our rules\n\n- Run all the tests with `make check` before a commit, small ones as well\n- Never push to main on Friday\n\n## Rules of the vendor\n\n- Never push to main on a Friday\n- Keep functions below 60 lines\n- Push to main on a Friday\n";
        assert_eq!(
            union(left, right),
            "# Rules\n\n- Run all the tests with `make check` before a commit, small ones as well\n- Never push to main on a Friday\n- Keep functions below 40 lines\n\n## Rules of the vendor\n\n- Never push to main on a Friday\n- Keep functions below 60 lines\n- Push to main on a Friday\n"
        );
        // The fullest of several stays, and what only resembles another item is not left out.
        let run = "- Run the tests with make check before a commit\n";
        let more = "- Run all the tests with make check before a commit\n";
        let most = "- Run all the tests with make check before a commit, also small ones\n";
        assert_eq!(union(run, &format!("{more}{most}")), most);
        for (one, other) in [
            (
                "- Deploy the web service to the staging cluster first\n",
                "- Deploy the web service to the production cluster first\n",
            ),
            (
                "- The build script does use the network by default\n",
                "- The build script doesn't use the network by default\n",
            ),
            (
                "## Staging\n\n- The deploy user may restart the service\n",
                "## Production\n\n- The deploy user may restart the service\n",
            ),
        ] {
            let both = union(one, other);
            assert!(
                both.contains(one.trim()) && both.contains(other.trim()),
                "{both}"
            );
        }
        let code = "```\none two three four five six\n```\n";
        let other = "```\none two three four five seven\n```\n";
        let both = Combination::new(Layout::Index, code, other).union();
        assert_eq!(both, format!("{code}\n{other}"));
    }

    #[test]
    fn a_part_is_taken_from_either_side_from_both_or_not_at_all() {
        let combination = Combination::new(Layout::Index, "a\n\nb\n\nc\n", "a\n\nx\n\nc\n");
        let differing = |part: &&CombinedPart| matches!(part, CombinedPart::Differing { .. });
        assert_eq!(combination.parts().iter().filter(differing).count(), 1);
        for (take, expected) in [
            (Take::Left, "a\n\nb\n\nc\n"),
            (Take::Right, "a\n\nx\n\nc\n"),
            (Take::Both, "a\n\nb\n\nx\n\nc\n"),
            (Take::Neither, "a\n\nc\n"),
        ] {
            assert_eq!(combination.text(&[take]), expected, "{take:?}");
        }
    }

    #[test]
    fn lessons_stay_whole_and_apart() {
        let lesson = |title: &str, tag: &str| {
            format!("**Title:** {title}\n**Description:** d\n\n**Content:** c\n\n**Tags:** {tag}\n")
        };
        let left = lesson("One", "#success");
        let right = format!(
            "{}\n---\n\n{}",
            lesson("Two", "#success"),
            lesson("One", "#success")
        );
        let made = Combination::new(Layout::Coder, &left, &right).text(&[]);
        let expected = format!("{left}\n---\n\n{}", lesson("Two", "#success"));
        assert_eq!(made, expected);
    }

    #[test]
    fn a_fenced_block_is_not_divided_and_its_marks_are_no_items() {
        let left = "```sh\n- no item\n\n# no heading\n```\n\nend\n";
        let made = combined(left, "- no item\n\nend\n");
        assert_eq!(
            made,
            "```sh\n- no item\n\n# no heading\n```\n\n- no item\n\nend\n"
        );
    }

    #[test]
    fn the_line_ends_are_those_of_the_first() {
        assert_eq!(
            combined("a\r\n\r\nb\r\n", "a\n\nc\n"),
            "a\r\n\r\nb\r\n\r\nc\r\n"
        );
    }

    fn text() -> impl Strategy<Value = String> {
        let line = prop::sample::select(vec![
            "one two\n",
            "- item\n",
            "- other\n",
            "  more\n",
            "\n",
            "## Head\n",
            "# Top\n",
            "```\n",
            "1. first\n",
            "---\n",
            "[x](a.md)\n",
        ]);
        prop::collection::vec(line, 0..14).prop_map(|lines| lines.concat())
    }

    proptest! {
        #[test]
        fn no_text_of_a_chosen_part_is_lost(
            left in text(),
            right in text(),
            coder in any::<bool>(),
            seed in prop::collection::vec(0_usize..4, 16),
        ) {
            let layout = if coder { Layout::Coder } else { Layout::Index };
            let combination = Combination::new(layout, &left, &right);
            let takes: Vec<Take> = seed
                .iter()
                .map(|n| [Take::Left, Take::Right, Take::Both, Take::Neither][*n])
                .collect();
            let made = combination.text(&takes);
            let mut rest = made.as_str();
            let mut takes = takes.iter();
            for part in combination.parts() {
                let chosen: Vec<&Block> = match part {
                    CombinedPart::Same(blocks) => blocks.iter().collect(),
                    CombinedPart::Differing { left, right } => {
                        match takes.next().copied().unwrap_or(Take::Both) {
                            Take::Left => left.iter().collect(),
                            Take::Right => right.iter().collect(),
                            Take::Both => left.iter().chain(right).collect(),
                            Take::Neither => Vec::new(),
                        }
                    }
                };
                for block in chosen {
                    let found = rest.find(block.text.trim());
                    prop_assert!(found.is_some(), "{:?} is not in {made:?}", block.text);
                    rest = &rest[found.unwrap_or(0) + block.text.trim().len()..];
                }
            }
        }

        #[test]
        fn both_sides_are_in_the_parts_whole(left in text(), right in text()) {
            let combination = Combination::new(Layout::Index, &left, &right);
            let words = |text: &str| -> Vec<String> {
                let mut words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
                words.sort();
                words
            };
            let all_left = vec![Take::Left; combination.parts().len()];
            prop_assert_eq!(words(&combination.text(&all_left)), words(&left));
            for word in words(&right) {
                prop_assert!(combination.text(&[]).contains(&word));
            }
        }
    }
}
