//! Which call or change brought each line into a file. The calls and changes are made again, one after
//! the other.
//!
//! A line belongs to the last one that added it while it was not there. Where the text before a
//! call is not known, only what the call itself tells counts: the lines that it adds, but not those
//! around them.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::why::TouchingCall;
use crate::core::change::history::{ChangeVerb, Record, SERVER};
use crate::core::log::touch::{FileUse, ReplacedText, TextEdit};
use crate::core::text::diff;

/// A shorter text is in many others by chance.
const SHORTEST: usize = 6;

/// tome may see a change before the log has its call. A call that is at most this many milliseconds
/// younger than the change may have made it.
const SEEN_BEFORE_LOGGED: i64 = 10 * 60 * 1000;

/// How many milliseconds a call of tome's server may wait for its permission and then take.
const LONGEST_CALL: i64 = 10 * 60 * 1000;

/// Behind how many calls a text that was seen is tried.
const MOST_TRIED: usize = 20;

/// A client may write a call down this many milliseconds after tome's server made its change.
const LOGGED_AFTER: i64 = 1000;

/// Whether a tool of tome's server made a change.
fn is_by_tool(record: &Record) -> bool {
    let is_undone = matches!(record.verb, ChangeVerb::Undo | ChangeVerb::Redo);
    record.author.door == SERVER && !is_undone
}

/// Whether a call is one of a tool of tome's.
fn is_memory_tool(call: &TouchingCall) -> bool {
    call.tool.contains("memory_")
}

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

/// What is known of a file's text, and who made it.
#[derive(Default)]
pub(super) struct Replay<'a> {
    steps: Vec<Step<'a>>,
    /// The known parts of the text: the first is all of it if `is_whole`.
    parts: Vec<Vec<Line>>,
    is_whole: bool,
    /// The last step that removed each line.
    removed: HashMap<String, usize>,
    /// Who had brought in each line that was removed.
    lost: HashMap<String, Option<usize>>,
}

impl<'a> Replay<'a> {
    /// Makes these calls and changes again, each oldest first. A change comes with the texts before
    /// and after it. Without changes, `seen` is the text that tome saw.
    pub(super) fn new(
        calls: &'a [TouchingCall],
        changes: Vec<(&'a Record, Vec<String>, Vec<String>)>,
        seen: Option<Vec<String>>,
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
            if is_by_tool(record) && !own.last().is_some_and(|call| is_memory_tool(call)) {
                let is_late = |call: &&TouchingCall| {
                    let late = call.time.map(|time| time - record.time);
                    is_memory_tool(call) && late.is_some_and(|late| late <= LOGGED_AFTER)
                };
                own.extend(calls.next_if(is_late));
            }
            let before = Some(before).filter(|_| number == 0);
            replay.take_calls(&own, before, &after);
            replay.take(Step::Change(record, after));
        }
        let is_first = replay.steps.is_empty();
        let left: Vec<&TouchingCall> = calls.collect();
        replay.take_calls(&left, seen.filter(|_| is_first), &[]);
        replay
    }

    /// Makes these calls again. When `seen` was the text is not known: it is put behind the last call
    /// after which the others lead from it to the `later` text, else behind the last whose lines it
    /// has. A call that made exactly the `later` text came after it.
    fn take_calls(
        &mut self,
        calls: &[&'a TouchingCall],
        seen: Option<Vec<String>>,
        later: &[String],
    ) {
        let mut steps: Vec<Step<'a>> = calls.iter().map(|call| Step::Call(call)).collect();
        if let Some(seen) = seen {
            let (mut likely, mut newest) = (vec![0], 0);
            let mut tried = Self::default();
            for (number, call) in calls.iter().enumerate() {
                tried.take(Step::Call(call));
                if tried.fits(&seen) && !tried.is_exactly(later) {
                    newest = number + 1;
                    // Where the whole text is known, an edit by hand before it was seen is less likely.
                    if !tried.is_whole || tried.is_exactly(&seen) {
                        likely.push(newest);
                    }
                }
            }
            let leads_to_later = |at: &usize| {
                let mut tried = Self::default();
                tried.set(&seen, None);
                calls[*at..]
                    .iter()
                    .for_each(|call| tried.take(Step::Call(call)));
                tried.is_exactly(later)
            };
            let mut likely = likely.into_iter().rev().take(MOST_TRIED);
            let at = likely.find(leads_to_later).unwrap_or(newest);
            steps.insert(at, Step::Seen(seen));
        }
        steps.into_iter().for_each(|step| self.take(step));
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
            Step::Change(record, after) => {
                let is_undone = matches!(record.verb, ChangeVerb::Undo | ChangeVerb::Redo);
                let gone_before = is_undone.then(|| self.removed.clone());
                self.set(after, Some(self.caller(record).unwrap_or(number)));
                // What is undone was there before, or was gone before.
                if let Some(gone_before) = gone_before {
                    self.removed.extend(gone_before);
                    let new = self.parts.iter_mut().flatten();
                    for line in new.filter(|line| line.by == Some(number)) {
                        line.by = self.lost.get(&line.text).copied().unwrap_or(line.by);
                    }
                }
            }
            Step::Seen(text) => self.set(text, None),
        }
        self.steps.push(step);
    }

    /// The call of a tool of tome's that made this change: what tome added to what the call wrote, such
    /// as a header, is the call's, too.
    fn caller(&self, record: &Record) -> Option<usize> {
        let last = self.steps.len().checked_sub(1)?;
        let Step::Call(call) = &self.steps[last] else {
            return None;
        };
        let is_recent = call
            .time
            .is_some_and(|time| record.time - time <= LONGEST_CALL);
        (is_by_tool(record) && is_memory_tool(call) && is_recent).then_some(last)
    }

    /// Gives a call the lines that it adds, if tome saw them shortly before and did not know who wrote
    /// them.
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
    }

    fn replace(&mut self, one: &ReplacedText, number: usize) {
        let (old, new) = (plain(&one.old), plain(&one.new));
        if old.trim().is_empty() {
            return self.add(None, &new, number);
        }
        if self.replace_known((&old, &new), one.is_everywhere, number) {
            return;
        }
        // What is there already was seen before.
        let is_there = |part: &Vec<Line>| joined(part).contains(new.trim_end_matches('\n'));
        if !new.trim().is_empty() && self.parts.iter().any(is_there) {
            return;
        }
        let (before, after) = (lines_of(&old), lines_of(&new));
        // Somebody changed some of the lines around it before.
        let near = (0..).zip(&self.parts);
        let near = near.filter_map(|(part, lines)| Some((part, nearly(lines, &before)?)));
        if let Some((part, range)) = near
            .max_by_key(|(_, (count, _))| *count)
            .map(|(part, (_, range))| (part, range))
        {
            let changed = self.parts[part][range.clone()].to_vec();
            let changed = self.relabelled(changed, &before, None);
            self.parts[part].splice(range, changed);
            if self.replace_known((&old, &new), one.is_everywhere, number) {
                return;
            }
        }
        let unknown = before.into_iter().map(|text| Line { text, by: None });
        let part = self.relabelled(unknown.collect(), &after, Some(number));
        self.parts.push(part);
    }

    /// Replaces a text in the first part that has it; returns whether one has.
    fn replace_known(
        &mut self,
        (old, new): (&str, &str),
        is_everywhere: bool,
        number: usize,
    ) -> bool {
        // The last line may have no end.
        let ends = [
            (old, new),
            (old.trim_end_matches('\n'), new.trim_end_matches('\n')),
        ];
        for at in 0..self.parts.len() {
            let text = joined(&self.parts[at]);
            if let Some((old, new)) = ends.into_iter().find(|(old, _)| text.contains(*old)) {
                let count = if is_everywhere { usize::MAX } else { 1 };
                let made = lines_of(&text.replacen(old, new, count));
                let part = std::mem::take(&mut self.parts[at]);
                self.parts[at] = self.relabelled(part, &made, Some(number));
                return true;
            }
        }
        false
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
        let lost = gone
            .iter()
            .filter_map(|(text, left)| Some(((*text).to_owned(), *left.last()?)));
        self.lost.extend(lost);
        let removed = gone.into_iter().filter(|(_, left)| !left.is_empty());
        if let Some(by) = by {
            self.removed
                .extend(removed.map(|(text, _)| (text.to_owned(), by)));
        }
        made
    }

    /// The step that brought in each line of the text as it is now.
    pub(super) fn sources(&self, lines: &[&str]) -> Vec<Option<&Step<'a>>> {
        let now: Vec<String> = lines
            .iter()
            .map(|line| line.trim_end().to_owned())
            .collect();
        let found = placed(&self.parts, &now).into_iter().zip(&now);
        let by = found.map(|(by, line)| match by {
            Some(by) => by,
            None => self.part_of(line),
        });
        by.map(|by| self.steps.get(by?)).collect()
    }

    /// The last step that put a part into a line whose rest is not known: the first and the last line
    /// of what it replaced may be such parts.
    fn part_of(&self, line: &str) -> Option<usize> {
        let parts = self.parts.iter().skip(usize::from(self.is_whole));
        let ends = parts.flat_map(|part| [part.first(), part.last()]).flatten();
        let own = ends.filter(|end| {
            let text = end.text.trim();
            text.len() >= SHORTEST && line.contains(text)
        });
        own.filter_map(|end| end.by).max()
    }

    /// Whether a text has all that the steps brought in, and nothing that they removed.
    fn fits(&self, text: &[String]) -> bool {
        let lines: HashSet<&str> = text.iter().map(String::as_str).collect();
        let whole = text.join("\n");
        let mut known = self.parts.iter().flatten();
        let is_there = |line: &Line| {
            line.by.is_none() || lines.contains(line.text.as_str()) || whole.contains(&line.text)
        };
        known.all(is_there) && !text.iter().any(|line| self.is_gone(line))
    }

    /// Whether this is the whole text, but for empty lines.
    fn is_exactly(&self, text: &[String]) -> bool {
        let known = self.parts.iter().flatten().map(|line| &line.text);
        let has_words = |line: &&String| !line.is_empty();
        self.is_whole && known.filter(has_words).eq(text.iter().filter(has_words))
    }

    fn is_gone(&self, text: &str) -> bool {
        let mut known = self.parts.iter().flatten();
        !text.is_empty() && self.removed.contains_key(text) && !known.any(|line| line.text == text)
    }

    /// The last step that removed a line.
    pub(super) fn remover(&self, line: &str) -> Option<&Step<'a>> {
        self.steps.get(*self.removed.get(line.trim_end())?)
    }
}

/// Where a text is in the current lines, and in the known parts.
type Places = (Vec<usize>, Vec<(usize, usize)>);

/// Finds the lines of parts, whose order is not known, in a text: first those that are there once,
/// with the lines around them, as often as that leaves others which are there once; then the rest,
/// unless it is short or could be of several. Returns who brought in each that is found.
fn placed(parts: &[Vec<Line>], now: &[String]) -> Vec<Option<Option<usize>>> {
    let mut found: Vec<Option<Option<usize>>> = vec![None; now.len()];
    let mut used: Vec<Vec<bool>> = parts.iter().map(|part| vec![false; part.len()]).collect();
    loop {
        let mut places: HashMap<&str, Places> = HashMap::new();
        for (at, text) in now.iter().enumerate() {
            if text.trim().len() >= SHORTEST && found[at].is_none() {
                places.entry(text).or_default().0.push(at);
            }
        }
        for (number, part) in parts.iter().enumerate() {
            for (line, Line { text, .. }) in part.iter().enumerate() {
                let place = places.get_mut(text.as_str());
                if let Some((_, known)) = place.filter(|_| !used[number][line]) {
                    known.push((number, line));
                }
            }
        }
        let mut places: Vec<Places> = places.into_values().collect();
        places.sort_unstable();
        let mut is_done = true;
        for (at, known) in &places {
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
                is_done = false;
                let mut before = (0..*at).rev().zip((0..*line).rev());
                let mut after = (*at + 1..now.len()).zip(*line + 1..part.len());
                before.all(|(at, line)| take(at, line));
                after.all(|(at, line)| take(at, line));
            }
        }
        if is_done {
            for (at, known) in places {
                let mut by: Vec<_> = known
                    .iter()
                    .map(|(part, line)| parts[*part][*line].by)
                    .collect();
                // Where it could be of nobody, it is.
                by.sort_unstable();
                for (at, by) in at.into_iter().zip(by) {
                    found[at] = Some(by);
                }
            }
            return found;
        }
    }
}

/// Where most of the lines of `wanted` are close together, and how many.
fn nearly(part: &[Line], wanted: &[String]) -> Option<(usize, Range<usize>)> {
    let long = |text: &&String| text.trim().len() >= SHORTEST;
    let wanted: HashSet<&String> = wanted.iter().filter(long).collect();
    let at = part
        .iter()
        .enumerate()
        .filter(|(_, line)| wanted.contains(&line.text));
    let at: Vec<usize> = at.map(|(at, _)| at).collect();
    let widest = 2 * wanted.len() + 3;
    let windows = at.iter().enumerate().map(|(number, first)| {
        let inside = at[number..].iter().take_while(|at| **at - first < widest);
        let mut seen = HashSet::new();
        let mut end = *first;
        for at in inside {
            if seen.insert(&part[*at].text) {
                end = at + 1;
            }
        }
        (seen.len(), *first..end)
    });
    let (count, range) = windows.max_by_key(|(count, range)| (*count, Reverse(range.len())))?;
    (count * 2 >= wanted.len()).then_some((count, range))
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

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::core::change::history::Author;

    fn call(time: i64, edit: TextEdit) -> TouchingCall {
        TouchingCall {
            log: 0,
            line: time as u64,
            time: Some(time),
            tool: "Write".to_owned(),
            path: PathBuf::from("/m/a.md"),
            usage: FileUse::Write,
            edit,
        }
    }

    fn whole(time: i64, text: &str) -> TouchingCall {
        call(time, TextEdit::Whole(text.to_owned()))
    }

    fn edit(time: i64, old: &str, new: &str) -> TouchingCall {
        let one = ReplacedText {
            old: old.to_owned(),
            new: new.to_owned(),
            is_everywhere: false,
        };
        call(time, TextEdit::Replaced(vec![one]))
    }

    fn seen(time: i64, before: &str, after: &str) -> (Record, Vec<String>, Vec<String>) {
        let record = Record {
            id: String::new(),
            time,
            author: Author::outside(),
            origin: None,
            verb: ChangeVerb::Edit,
            message: String::new(),
            of: None,
            files: Vec::new(),
            tombstones: Vec::new(),
        };
        (record, lines_of(before), lines_of(after))
    }

    /// The times of the steps that brought in the lines of a text; those of recorded changes are
    /// negative, and 0 is nobody.
    fn times(
        calls: &[TouchingCall],
        changes: &[(Record, Vec<String>, Vec<String>)],
        text: &str,
    ) -> Vec<i64> {
        let changes = changes.iter();
        let changes =
            changes.map(|(record, before, after)| (record, before.clone(), after.clone()));
        let replay = Replay::new(calls, changes.collect(), None);
        let lines: Vec<&str> = text.lines().collect();
        let steps = replay.sources(&lines).into_iter();
        let times = steps.map(|step| match step {
            Some(Step::Call(call)) => call.time.unwrap_or(0),
            Some(Step::Change(record, _)) => -record.time,
            Some(Step::Seen(_)) | None => 0,
        });
        times.collect()
    }

    #[test]
    fn what_tome_adds_to_what_a_call_wrote_is_the_calls() {
        let text = "---\nname: feeding\n---\n\nAt noon.\n";
        let mut written = whole(10, "At noon.\n");
        written.tool = "mcp__tome__memory_write".to_owned();
        let made = |door: &str, time: i64| {
            let (mut record, before, after) = seen(time, "", text);
            record.author = Author {
                who: "codex".to_owned(),
                door: door.to_owned(),
            };
            [(record, before, after)]
        };
        let calls = [written];
        assert_eq!(times(&calls, &made("mcp", 20), text), [10; 5]);
        for change in [made("cli", 20), made("mcp", 20 + LONGEST_CALL)] {
            let time = -change[0].0.time;
            let told = times(&calls, &change, text);
            assert_eq!(told, [time, time, time, time, 10]);
        }
    }

    #[test]
    fn a_call_of_a_tool_may_be_logged_just_after_its_change() {
        let tool = |mut call: TouchingCall| {
            call.tool = "tome-memory_write".to_owned();
            call
        };
        let change = |time: i64, before: &str, after: &str| {
            let (mut record, before, after) = seen(time, before, after);
            record.author = Author {
                who: "copilot-cli".to_owned(),
                door: "mcp".to_owned(),
            };
            (record, before, after)
        };
        let made = [change(20, "", "its head\nthe first line\n")];
        let own = [tool(whole(21, "the first line\n"))];
        assert_eq!(times(&own, &made, "its head\nthe first line\n"), [21, 21]);
        // A change with a call before it has that one, however soon the next comes.
        let made = [
            change(20, "", "its head\nthe first line\n"),
            change(
                31,
                "its head\nthe first line\n",
                "its head\nthe first line\nthe next line\n",
            ),
        ];
        let next = tool(edit(30, "the first line", "the first line\nthe next line"));
        let own = [tool(whole(19, "the first line\n")), next];
        assert_eq!(
            times(&own, &made, "its head\nthe first line\nthe next line\n"),
            [19, 19, 30]
        );
        // Much later, it is another one.
        let own = [tool(whole(
            20 + LOGGED_AFTER + 1,
            "its head\nthe first line\n",
        ))];
        assert_eq!(
            times(&own, &made[..1], "its head\nthe first line\n"),
            [-20, -20]
        );
    }

    #[test]
    fn only_the_lines_that_an_edit_adds_are_its_own() {
        let calls = [edit(
            1,
            "the first line\nthe last line",
            "the first line\nin between\nthe last line",
        )];
        let text = "the first line\nin between\nthe last line\nby hand\n";
        assert_eq!(times(&calls, &[], text), [0, 1, 0, 0]);
        // Also in a file that was written whole, before and afterwards.
        let calls = [
            whole(1, "the first line\nthe last line\n"),
            edit(2, "the last line", "in between\nthe last line"),
            whole(3, "the last line\nthe first line\nin between\na new line\n"),
        ];
        let text = "the last line\nthe first line\nin between\nby hand\na new line\n";
        assert_eq!(times(&calls, &[], text), [1, 1, 2, 0, 3]);
    }

    #[test]
    fn what_was_put_back_is_of_whoever_put_it_back() {
        let text = "use nextest\nport 8443\n";
        let removed = [whole(1, text), edit(2, "use nextest\n", "")];
        assert_eq!(times(&removed, &[], text), [0, 1], "by hand");
        let by_call = [
            &removed[..],
            &[edit(3, "port 8443", "use nextest\nport 8443")],
        ]
        .concat();
        assert_eq!(times(&by_call, &[], text), [3, 1]);
        let by_hand = [seen(4, "port 8443\n", text)];
        assert_eq!(times(&removed, &by_hand, text), [-4, 1]);
    }

    #[test]
    fn an_edit_of_a_part_of_a_line_brings_the_line_in() {
        let calls = [
            edit(1, "enclosure 7", "enclosure 12"),
            edit(2, "the zebra", "the zebra\nand more"),
            edit(3, "enclosure 11", "enclosure 14"),
        ];
        let text = "The zebra is in enclosure 14.\nand more of it\nall of the zebra";
        assert_eq!(times(&calls, &[], text), [3, 2, 0]);
        let calls = [
            whole(1, "The zebra is in enclosure 7.\n"),
            edit(2, "7", "8"),
        ];
        assert_eq!(times(&calls, &[], "The zebra is in enclosure 8."), [2]);
    }

    #[test]
    fn what_was_there_when_tome_came_is_not_of_a_call_that_kept_it() {
        let change = [seen(
            5,
            "by hand before\nfrom the agent\n",
            "by hand before\nfrom the agent\nnew line\n",
        )];
        let calls = [
            edit(1, "by hand before", "by hand before\nfrom the agent"),
            whole(3, "by hand before\nfrom the agent\nnew line\n"),
        ];
        let text = "by hand before\nfrom the agent\nnew line\n";
        assert_eq!(times(&calls, &change, text), [0, 1, 3]);
        // The log of a call may have a later time than the file.
        let late = [calls[0].clone(), whole(6, text)];
        assert_eq!(times(&late, &change, text), [0, 1, 6]);
        let much_later = [calls[0].clone(), whole(6 + SEEN_BEFORE_LOGGED, text)];
        assert_eq!(times(&much_later, &change, text), [0, 1, -5]);
    }

    #[test]
    fn an_edit_beside_text_that_is_not_known_leaves_the_rest_with_its_writers() {
        let calls = [
            whole(1, "the first line\nthe second line\nthe third line\n"),
            edit(
                2,
                "the second line\nby hand here\nthe third line",
                "the second line\nby hand here\nthe fourth line",
            ),
        ];
        let text =
            "the first line\nthe second line\nby hand here\nthe fourth line\nthe third line\n";
        assert_eq!(times(&calls, &[], text), [1, 1, 0, 2, 0]);
    }

    #[test]
    fn what_an_undo_takes_away_again_is_gone_by_whoever_took_it_first() {
        let (first, second) = (
            "the first line\ntwo lines\n",
            "the first line\nthree lines\n",
        );
        let calls = [whole(1, first), edit(2, "two lines", "three lines")];
        let reverted = seen(3, second, first);
        let mut undone = seen(4, first, second);
        undone.0.verb = ChangeVerb::Undo;
        let changes = [reverted, undone];
        let changes = changes
            .iter()
            .map(|(record, before, after)| (record, before.clone(), after.clone()));
        let replay = Replay::new(&calls, changes.collect(), None);
        let remover = replay.remover("two lines");
        assert!(matches!(remover, Some(Step::Call(call)) if call.time == Some(2)));
    }

    #[test]
    fn what_was_seen_before_a_whole_write_was_removed_by_it() {
        let before = "the first line\nthe second line\nthe third line\n";
        let later = "the first line\nthe fourth line\n";
        let calls = [
            whole(1, "the first line\nthe third line\n"),
            whole(2, later),
        ];
        let (record, before, after) = seen(3, before, later);
        let replay = Replay::new(&calls, vec![(&record, before, after)], None);
        for (line, time) in [("the second line", 1), ("the third line", 2)] {
            let remover = replay.remover(line);
            assert!(matches!(remover, Some(Step::Call(call)) if call.time == Some(time)));
        }
    }

    #[test]
    fn the_last_step_that_removed_a_line_is_known() {
        let calls = [
            whole(1, "one line\ntwo lines\n"),
            edit(2, "two lines", "three lines"),
        ];
        let replay = Replay::new(&calls, Vec::new(), None);
        assert!(
            matches!(replay.remover("two lines"), Some(Step::Call(call)) if call.time == Some(2))
        );
        assert!(replay.remover("one line").is_none());
    }
}
