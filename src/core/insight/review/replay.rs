//! Which call or change brought each line into a file: they are made again, one after the other.
//!
//! A line belongs to the last one that added it while it was not there. Where the text before a
//! call is not known, only what the call itself tells counts: the lines that it adds, but not those
//! around them.

use std::collections::HashMap;

use super::why::TouchingCall;
use crate::core::change::history::Record;
use crate::core::log::touch::{FileUse, ReplacedText, TextEdit};
use crate::core::text::diff;

/// A shorter text is in many others by chance.
const SHORTEST: usize = 6;

/// A change that tome saw may be that of a call whose log has a later time, if it is not older than
/// this many milliseconds.
const SEEN_BEFORE_LOGGED: i64 = 10 * 60 * 1000;

/// Something that happened to a file.
pub(super) enum Step<'a> {
    /// An agent's call.
    Call(&'a TouchingCall),
    /// A recorded change, with the text after it.
    Change(&'a Record, Vec<String>),
    /// The text was seen.
    Seen(Vec<String>),
}

/// The lines of a text, without their ends.
pub(super) fn lines_of(text: &str) -> Vec<String> {
    text.lines()
        .map(|line| line.trim_end().to_owned())
        .collect()
}

/// A line, and the step that brought it in, if one did.
#[derive(Debug, Clone)]
struct Line {
    text: String,
    by: Option<usize>,
}

/// A part of a line that a call put in place of another text, where the rest is not known.
struct LinePart {
    text: String,
    by: usize,
}

/// What is known of a file's text, and who made it.
#[derive(Default)]
pub(super) struct Replay<'a> {
    steps: Vec<Step<'a>>,
    /// The known parts of the text: the first is all of it if `is_whole`.
    parts: Vec<Vec<Line>>,
    is_whole: bool,
    line_parts: Vec<LinePart>,
    /// The last step that removed each line.
    removed: HashMap<String, usize>,
}

impl<'a> Replay<'a> {
    /// Makes these calls and changes again, each oldest first. A change comes with the texts before
    /// and after it.
    pub(super) fn new(
        calls: &'a [TouchingCall],
        changes: Vec<(&'a Record, Vec<String>, Vec<String>)>,
    ) -> Self {
        let mut replay = Self::default();
        let mut calls = calls
            .iter()
            .filter(|call| call.usage != FileUse::Read)
            .peekable();
        for (number, (record, before, after)) in changes.into_iter().enumerate() {
            let mut own = Vec::new();
            while let Some(call) =
                calls.next_if(|call| call.time.is_none_or(|time| time <= record.time))
            {
                own.push(call);
            }
            // The text that was there when tome came: behind the calls that it shows.
            let seen = own.iter().rposition(|call| is_shown_by(call, &before));
            let seen = if number == 0 {
                seen.map_or(0, |at| at + 1)
            } else {
                usize::MAX
            };
            let mut before = Some(before).filter(|_| number == 0);
            for (at, call) in own.iter().enumerate() {
                if at == seen
                    && let Some(before) = before.take()
                {
                    replay.take(Step::Seen(before));
                }
                replay.take(Step::Call(call));
            }
            if let Some(before) = before.take() {
                replay.take(Step::Seen(before));
            }
            replay.take(Step::Change(record, after));
        }
        calls.for_each(|call| replay.take(Step::Call(call)));
        replay
    }

    fn take(&mut self, step: Step<'a>) {
        let number = self.steps.len();
        match &step {
            Step::Call(call) if call.usage == FileUse::Delete => {
                self.set(&[], Some(number));
            }
            Step::Call(call) => {
                self.claim(call, number);
                match &call.edit {
                    TextEdit::Whole(text) => self.set(&lines_of(text), Some(number)),
                    TextEdit::Replaced(all) => {
                        all.iter().for_each(|one| self.replace(one, number));
                    }
                    TextEdit::Added(at, text) => self.add(*at, text, number),
                    TextEdit::Unknown => {}
                }
            }
            Step::Change(_, after) => self.set(after, Some(number)),
            Step::Seen(text) => self.set(text, None),
        }
        self.steps.push(step);
    }

    /// Gives a call the lines that it adds and that tome saw shortly before, from a program that is
    /// not known.
    fn claim(&mut self, call: &TouchingCall, number: usize) {
        let added = added_lines(&call.edit);
        for line in self.parts.iter_mut().flatten() {
            let by = line.by.and_then(|by| self.steps.get(by));
            if let (Some(Step::Change(record, _)), Some(time)) = (by, call.time)
                && record.author.is_outside()
                && time - record.time < SEEN_BEFORE_LOGGED
                && added.contains(&line.text)
            {
                line.by = Some(number);
            }
        }
    }

    /// The whole text is this.
    fn set(&mut self, new: &[String], by: Option<usize>) {
        let old = std::mem::take(&mut self.parts).concat();
        self.parts = vec![self.relabelled(old, new, by)];
        self.is_whole = true;
        self.line_parts.clear();
    }

    fn replace(&mut self, one: &ReplacedText, number: usize) {
        let (old, new) = (plain(&one.old), plain(&one.new));
        if old.trim().is_empty() {
            return self.add(None, &new, number);
        }
        for at in 0..self.parts.len() {
            let text = joined(&self.parts[at]);
            // The last line may have no end.
            let ends = [
                (&old[..], &new[..]),
                (old.trim_end_matches('\n'), new.trim_end_matches('\n')),
            ];
            let found = ends.into_iter().find(|(old, _)| text.contains(*old));
            if let Some((old, new)) = found {
                let count = if one.is_everywhere { usize::MAX } else { 1 };
                let made = lines_of(&text.replacen(old, new, count));
                let part = std::mem::take(&mut self.parts[at]);
                self.parts[at] = self.relabelled(part, &made, Some(number));
                return;
            }
        }
        // What is there already was seen before.
        let is_there = |part: &Vec<Line>| joined(part).contains(new.trim_end_matches('\n'));
        if !new.trim().is_empty() && self.parts.iter().any(is_there) {
            return;
        }
        let (before, after) = (lines_of(&old), lines_of(&new));
        let ends = [after.first(), after.last()].into_iter().flatten();
        for end in ends {
            let text = end.trim();
            if text.len() >= SHORTEST && !old.contains(text) {
                self.line_parts.push(LinePart {
                    text: text.to_owned(),
                    by: number,
                });
            }
        }
        let unknown = before.into_iter().map(|text| Line { text, by: None });
        let part = self.relabelled(unknown.collect(), &after, Some(number));
        self.parts.push(part);
    }

    fn add(&mut self, at: Option<usize>, text: &str, number: usize) {
        let new = lines_of(text).into_iter().map(|text| Line {
            text,
            by: Some(number),
        });
        let new: Vec<Line> = new.collect();
        match self.parts.first_mut().filter(|_| self.is_whole) {
            Some(whole) => {
                let at = at.unwrap_or(whole.len()).min(whole.len());
                whole.splice(at..at, new);
            }
            None => self.parts.push(new),
        }
    }

    /// The lines of a text that became another one. A line that only moved is not new.
    fn relabelled(&mut self, old: Vec<Line>, new: &[String], by: Option<usize>) -> Vec<Line> {
        let texts: Vec<&str> = old.iter().map(|line| line.text.as_str()).collect();
        let wanted: Vec<&str> = new.iter().map(String::as_str).collect();
        let replacements = diff::replacements(&texts, &wanted);
        let mut gone: HashMap<&str, Vec<Option<usize>>> = HashMap::new();
        for line in replacements.iter().flat_map(|one| &old[one.old.clone()]) {
            gone.entry(&line.text).or_default().push(line.by);
        }
        let mut made = Vec::new();
        let mut at = 0;
        for one in &replacements {
            made.extend_from_slice(&old[at..one.old.start]);
            made.extend(new[one.new.clone()].iter().map(|text| Line {
                text: text.clone(),
                by: gone.get_mut(text.as_str()).and_then(Vec::pop).unwrap_or(by),
            }));
            at = one.old.end;
        }
        made.extend_from_slice(&old[at..]);
        let removed = gone.into_iter().filter(|(_, left)| !left.is_empty());
        if let Some(by) = by {
            self.removed
                .extend(removed.map(|(text, _)| (text.to_owned(), by)));
        }
        made
    }

    /// The step that brought in each line of the text as it is now.
    pub(super) fn sources(&mut self, lines: &[&str]) -> Vec<Option<&Step<'a>>> {
        const NOBODY: usize = usize::MAX;
        let now: Vec<String> = lines
            .iter()
            .map(|line| line.trim_end().to_owned())
            .collect();
        let found: Vec<Option<usize>> = if self.is_whole && self.parts.len() == 1 {
            let known = self.parts.concat();
            let found = self.relabelled(known, &now, Some(NOBODY));
            found.into_iter().map(|line| line.by).collect()
        } else {
            let found = placed(&self.parts, &now);
            let by = found.into_iter().map(|by| by.unwrap_or(Some(NOBODY)));
            by.collect()
        };
        let by = found.into_iter().zip(&now).map(|(by, line)| match by {
            Some(NOBODY) => {
                let mut parts = self.line_parts.iter().rev();
                parts
                    .find(|part| line.contains(&part.text))
                    .map(|part| part.by)
            }
            by => by.filter(|_| !line.is_empty()),
        });
        by.map(|by| self.steps.get(by?)).collect()
    }

    /// The last step that removed a line.
    pub(super) fn remover(&self, line: &str) -> Option<&Step<'a>> {
        self.steps.get(*self.removed.get(line.trim_end())?)
    }
}

/// Finds the lines of parts, whose order is not known, in a text: first those that are there once,
/// with the lines around them, then the others, unless they are short. Returns who brought in each
/// that is found.
fn placed(parts: &[Vec<Line>], now: &[String]) -> Vec<Option<Option<usize>>> {
    let is_long = |text: &str| text.trim().len() >= SHORTEST;
    let mut places: HashMap<&str, (Vec<usize>, Vec<(usize, usize)>)> = HashMap::new();
    for (at, text) in now.iter().enumerate().filter(|(_, text)| is_long(text)) {
        places.entry(text).or_default().0.push(at);
    }
    for (number, part) in parts.iter().enumerate() {
        for (line, Line { text, .. }) in part.iter().enumerate() {
            if let Some((_, known)) = places.get_mut(text.as_str()) {
                known.push((number, line));
            }
        }
    }
    let mut found: Vec<Option<Option<usize>>> = vec![None; now.len()];
    let mut used: Vec<Vec<bool>> = parts.iter().map(|part| vec![false; part.len()]).collect();
    for (at, known) in places.values() {
        let ([at], [(number, line)]) = (at.as_slice(), known.as_slice()) else {
            continue;
        };
        let (part, used) = (&parts[*number], &mut used[*number]);
        let mut take = |at: usize, line: usize| {
            let is_free = found[at].is_none() && !used[line] && part[line].text == now[at];
            if is_free {
                found[at] = Some(part[line].by);
                used[line] = true;
            }
            is_free
        };
        if take(*at, *line) {
            let before = (0..*at).rev().zip((0..*line).rev());
            let after = (*at + 1..now.len()).zip(*line + 1..part.len());
            before.into_iter().all(|(at, line)| take(at, line));
            after.into_iter().all(|(at, line)| take(at, line));
        }
    }
    for (at, known) in places.into_values() {
        let mut left = known
            .into_iter()
            .filter(|(number, line)| !used[*number][*line]);
        for at in at {
            if found[at].is_none() {
                found[at] = left.next().map(|(number, line)| parts[number][line].by);
            }
        }
    }
    found
}

/// A text with lines as [`lines_of`] gives them, but for the last, which may be the beginning of one.
fn plain(text: &str) -> String {
    let (whole, last) = text.rsplit_once('\n').unwrap_or(("", text));
    let whole = whole.split('\n').flat_map(|line| [line.trim_end(), "\n"]);
    let whole: String = whole.collect();
    if text.contains('\n') {
        whole + last
    } else {
        last.to_owned()
    }
}

fn joined(lines: &[Line]) -> String {
    lines
        .iter()
        .flat_map(|line| [line.text.as_str(), "\n"])
        .collect()
}

/// The lines that an edit adds.
fn added_lines(edit: &TextEdit) -> Vec<String> {
    match edit {
        TextEdit::Whole(text) | TextEdit::Added(_, text) => lines_of(text),
        TextEdit::Replaced(all) => {
            let new = all.iter().flat_map(|one| {
                let old = lines_of(&one.old);
                lines_of(&one.new)
                    .into_iter()
                    .filter(move |line| !old.contains(line))
            });
            new.collect()
        }
        TextEdit::Unknown => Vec::new(),
    }
}

/// Whether a text shows that a call was made before.
fn is_shown_by(call: &TouchingCall, text: &[String]) -> bool {
    let mut added = added_lines(&call.edit);
    added.retain(|line| !line.is_empty());
    !added.is_empty() && added.iter().all(|line| text.contains(line))
}
