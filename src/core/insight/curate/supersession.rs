//! What memories and commits say about other memories: renames, replacements, dates and counts.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use jiff::civil::Date;
use regex::Regex;

use super::document::Document;
use crate::core::text::{fold, stem};

/// A statement that something has another name now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Renaming {
    pub(super) old: String,
    pub(super) new: String,
    /// The range of the statement.
    pub(super) range: Range<usize>,
}

/// A name as in code, with or without backticks.
const NAME: &str = r"[`'\x22(]{0,2}([A-Za-z_.][A-Za-z0-9_./-]{2,})[`'\x22)]{0,2}";

static ARROW: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(&format!(r"{NAME}\s{{0,2}}(?:→|->|=>)\s{{0,2}}{NAME}")).expect("a valid pattern")
});

static TO: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = format!(
        r"(?i)\brenam(?:e|es|ed|ing)\s+(?:the\s+)?(?:\w+\s+)?{NAME}\s+(?:to|into|as)\s+{NAME}"
    );
    Regex::new(&pattern).expect("a valid pattern")
});

static IS_RENAMED: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = format!(
        r"(?i){NAME}\s+(?:(?:was|is|has been|have been|now|got)\s+){{1,2}}renamed\s+(?:to\s+)?{NAME}"
    );
    Regex::new(&pattern).expect("a valid pattern")
});

static RENAME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)renam|umbenenn|umbenannt|renomm|renombr|rinomin|переимен|改名|重命名|개명|이름 변경|リネーム")
        .expect("a valid pattern")
});

/// The words of [`RENAME`], found faster in a text that has none of them.
static RENAME_WORDS: LazyLock<AhoCorasick> = LazyLock::new(|| {
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .build([
            "renam",
            "umbenenn",
            "umbenannt",
            "renomm",
            "renombr",
            "rinomin",
            "ереимен",
            "改名",
            "重命名",
            "개명",
            "이름 변경",
            "リネーム",
        ])
        .expect("a few words make an automaton")
});

/// Words that say of a renaming that it has not happened.
static PLANNED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?i)\b(?:needs?|should|must|will|could|consider|todo:?)\s+(?:to\s+)?(?:be\s+)?renam",
    )
    .expect("a valid pattern")
});

/// The renamings that a text states. An arrow is one only in a sentence or below a heading that
/// speaks of renaming.
pub(super) fn renamings(document: &Document) -> Vec<Renaming> {
    let text = &document.text;
    if !RENAME_WORDS.is_match(text) {
        return Vec::new();
    }
    let mut found: Vec<Renaming> = Vec::new();
    for pattern in [&*TO, &*IS_RENAMED, &*ARROW] {
        for parts in pattern.captures_iter(text) {
            let (Some(whole), Some(old), Some(new)) = (parts.get(0), parts.get(1), parts.get(2))
            else {
                continue;
            };
            let is_arrow = std::ptr::eq(pattern, &*ARROW);
            if is_arrow && !speaks_of_renaming(document, &whole.range())
                || is_cut(text, &old.range())
                || is_cut(text, &new.range())
                || PLANNED.is_match(document.sentence(&whole.range()))
            {
                continue;
            }
            let (old, new) = (bare(old.as_str()), bare(new.as_str()));
            if old != new && is_code_name(old) && is_code_name(new) {
                found.push(Renaming {
                    old: old.to_owned(),
                    new: new.to_owned(),
                    range: whole.range(),
                });
            }
        }
    }
    found.dedup_by(|a, b| a.old == b.old && a.new == b.new);
    found
}

/// Whether only a part of a name was found, as of one with other letters, which git prints as numbers.
fn is_cut(text: &str, name: &Range<usize>) -> bool {
    let before = text[..name.start].chars().next_back();
    let after = text[name.end..].chars().next();
    before.is_some_and(char::is_alphanumeric)
        || after.is_some_and(|c| c == '\\' || c.is_alphanumeric())
}

/// The renaming that a commit's subject states.
pub(super) fn renaming_of_commit(subject: &str) -> Option<(String, String)> {
    let parts = TO.captures(subject).or_else(|| {
        let is_about = RENAME.is_match(subject);
        is_about.then(|| ARROW.captures(subject)).flatten()
    })?;
    let (old, new) = (bare(&parts[1]), bare(&parts[2]));
    (old != new && is_code_name(old) && is_code_name(new)).then(|| (old.to_owned(), new.to_owned()))
}

fn bare(name: &str) -> &str {
    name.trim_end_matches(['.', '/', '-'])
}

/// Whether a name is one of code: a word of prose is not.
fn is_code_name(name: &str) -> bool {
    let inner = name.trim_start_matches('.');
    let has_mark = inner.contains(['_', '.', '/', '-']) || name.starts_with('.');
    let has_capital = inner.chars().skip(1).any(|c| c.is_ascii_uppercase());
    name.len() > 3 && (has_mark || has_capital) && inner.chars().any(|c| c.is_ascii_alphabetic())
}

fn speaks_of_renaming(document: &Document, range: &Range<usize>) -> bool {
    if RENAME.is_match(document.sentence(range)) {
        return true;
    }
    let before = &document.text[..range.start];
    let heading = before.rfind("\n#").map(|at| at + 1);
    let heading = heading.or_else(|| before.starts_with('#').then_some(0));
    heading.is_some_and(|at| {
        let line = document.text[at..].lines().next().unwrap_or_default();
        RENAME.is_match(line)
    })
}

/// The ranges at which a name stands as a whole.
pub(super) fn mentions(text: &str, name: &str) -> Vec<Range<usize>> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(name)
        .map(|(at, _)| at..at + name.len())
        .filter(|range| {
            let before = text[..range.start].chars().next_back();
            let after = text[range.end..].chars().next();
            let starts_free = before.is_none_or(|c| !is_word(c) || name.starts_with('.'));
            starts_free && after.is_none_or(|c| !is_word(c) && c != '-')
        })
        .collect()
}

/// Words before a link that say that the linked memory no longer counts.
static SUPERSEDES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?i)\b(supersedes|superseding|replaces|obsoletes|overrides|overrules|reverses|invalidates|ersetzt|remplace|reemplaza|sostituisce|substitui|заменяет|отменяет)\b|を置き換え|取代|대체한다|대체함",
    )
    .expect("a valid pattern")
});

/// Words before a link that say that the memory with the link no longer counts.
static SUPERSEDED_BY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?i)\b(superseded|replaced|obsoleted|overruled|invalidated|reversed) by\b|\bersetzt durch\b|\bremplacé par\b|\breemplazado por\b|に置き換えられ|被.{0,10}取代",
    )
    .expect("a valid pattern")
});

static NOT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(not|never|n't|no longer|nicht|pas|non)\s+(yet\s+)?\w*\s*$")
        .expect("a valid pattern")
});

/// Which of a memory and one that it links to no longer counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stated {
    /// The linked one.
    Linked,
    /// The one with the link.
    Linking,
}

/// What the sentence around a link says about it.
pub(super) fn stated(document: &Document, link: &Range<usize>) -> Option<Stated> {
    let sentence = document.sentence(link);
    let start = document.offset_of(sentence);
    let before = &document.text[start..link.start.max(start)];
    let near = |found: regex::Match<'_>| {
        before.len() - found.end() < NEAR && !NOT.is_match(&before[..found.start()])
    };
    if SUPERSEDED_BY.find_iter(before).any(near) {
        return Some(Stated::Linking);
    }
    SUPERSEDES
        .find_iter(before)
        .any(near)
        .then_some(Stated::Linked)
}

/// How far before a link the word may be, in bytes.
const NEAR: usize = 90;

/// A statement with a date, which may be untrue some time after that.
pub(super) struct DatedStatement {
    pub(super) range: Range<usize>,
    pub(super) date: Date,
    pub(super) kind: DateKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DateKind {
    /// It held until a date.
    Until,
    /// It was in progress at a date.
    Progress,
    /// It was so at a date.
    AsOf,
}

const DATE: &str = r"([0-9]{4}-[0-9]{2}-[0-9]{2})";

/// The border of a word of ASCII: with those of all scripts a search takes twenty times as long.
const BORDER: &str = r"(?-u:\b)";

static UNTIL: LazyLock<Regex> = LazyLock::new(|| {
    let holds = "valid|holds?|good|frozen|freeze|paused|disabled|blocked|gültig|gilt|valable|válid[oa]|valido";
    let holds = format!(r"{BORDER}(?:{holds}){BORDER}|действу\w+");
    let until = "until|till|through|bis(?: zum)?|jusqu['’]au|hasta(?: el)?|até|fino al";
    let ends = "expires?(?: on)?|läuft ab am|expire le|caduca el|vence el";
    Regex::new(&format!(
        r"(?i)(?:(?:{holds})[^.\n]{{0,30}}(?:{BORDER}(?:{until})|до)|{BORDER}(?:{ends})|истекает)[\s:(]{{1,2}}{DATE}|{DATE}\s?(?:まで有効|까지 유효)"
    ))
    .expect("a valid pattern")
});

static AS_OF: LazyLock<Regex> = LazyLock::new(|| {
    let before = "as of|state of|Stand(?: vom)?|a fecha de";
    let before = format!("{BORDER}(?:{before})|à la date du|по состоянию на");
    let months = MONTHS.join("|");
    Regex::new(&format!(
        r"(?i)(?:{before})[\s:(]{{1,2}}{DATE}|{DATE}\s?(?:기준|현재|時点|截至)|{BORDER}as of (?P<month>{months})[a-z]* (?P<year>20\d\d)"
    ))
    .expect("a valid pattern")
});

/// The first letters of the months' names.
const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

/// The last day of the month that is named in words.
fn named_month(parts: &regex::Captures<'_>) -> Option<Date> {
    let name = parts.name("month")?.as_str().to_lowercase();
    let month = MONTHS.iter().position(|month| **month == name)? + 1;
    let year = parts.name("year")?.as_str().parse().ok()?;
    let first = Date::new(year, i8::try_from(month).ok()?, 1).ok()?;
    Some(first.last_of_month())
}

static PROGRESS: LazyLock<Regex> = LazyLock::new(|| {
    let words = "in progress|work in progress|wip|underway|under way|being (?:renamed|migrated|rewritten|replaced|ported|moved|removed|split)|in arbeit|en cours|en curso|em andamento|in corso";
    Regex::new(&format!(
        r"(?i){BORDER}(?:{words}){BORDER}|进行中|進行中|진행 중|진행중|в процессе"
    ))
    .expect("a valid pattern")
});

static ANY_DATE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(&format!("{BORDER}{DATE}{BORDER}")).expect("a valid pattern"));

/// The statements with a date of their own, in order.
pub(super) fn dated(document: &Document) -> Vec<DatedStatement> {
    let text = &document.text;
    let mut found = Vec::new();
    for (pattern, kind) in [(&*UNTIL, DateKind::Until), (&*AS_OF, DateKind::AsOf)] {
        for parts in pattern.captures_iter(text) {
            let date = parts.get(1).or(parts.get(2));
            let date = date.and_then(|date| date.as_str().parse().ok());
            let date = date.or_else(|| named_month(&parts));
            if let (Some(whole), Some(date)) = (parts.get(0), date) {
                let range = whole.range();
                // "until 2026-03-20/the status is known"
                if text[range.end..].starts_with('/') {
                    continue;
                }
                found.push(DatedStatement { range, date, kind });
            }
        }
    }
    let progress = PROGRESS.find_iter(text);
    let is_name = |words: &regex::Match<'_>| {
        let after = &text[words.end()..];
        after.starts_with('-') || after.starts_with(" cap") || after.starts_with(" limit")
    };
    for words in progress.filter(|words| !document.is_code(words.start()) && !is_name(words)) {
        let sentence = document.sentence(&words.range());
        // A date in the name of a file dates that file.
        let is_own = |date: &regex::Match<'_>| {
            let before = sentence[..date.start()].ends_with(['-', '_', '/']);
            !before && !sentence[date.end()..].starts_with(['-', '_', '/'])
        };
        let dates = ANY_DATE.find_iter(sentence).filter(is_own);
        let last = dates.filter_map(|date| date.as_str().parse().ok()).max();
        if let Some(date) = last {
            found.push(DatedStatement {
                range: words.range(),
                date,
                kind: DateKind::Progress,
            });
        }
    }
    found.sort_by_key(|statement| statement.range.start);
    found
}

/// The newest date that a memory names, up to today; the memory was written then or later.
pub(super) fn written(document: &Document, today: Date) -> Option<Date> {
    let fields = [&document.memory.updated, &document.memory.created];
    let fields = fields.into_iter().flatten();
    let fields = fields.filter_map(|field| field.get(..10)?.parse::<Date>().ok());
    let named = ANY_DATE.find_iter(&document.text);
    let named = named.filter_map(|date| date.as_str().parse::<Date>().ok());
    fields.chain(named).filter(|date| *date <= today).max()
}

/// The numbers of a text with what they count: for each word its numbers, with their offsets.
pub(super) type Counts = BTreeMap<String, BTreeMap<u64, usize>>;

static COUNT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(&format!(
        "(?P<n>{BORDER}[0-9]{{2,6}}{BORDER})[*_`]{{0,2}}[ -](?:exact |claimed |total |real )?(?P<noun>[A-Za-z]{{4,}})|(?P<name>[A-Za-z_]{{4,}})(?: count)?(?::| =| is) (?P<m>[0-9]{{2,6}}){BORDER}"
    ))
    .expect("a valid pattern")
});

/// What a text counts, by the stem of the word: `60 assertions`, `declaredAssertions = 60`.
pub(super) fn counts(text: &str) -> Counts {
    counts_in(text, |_| true)
}

/// What a text declares the count of: `declaredAssertions = 60`, `assertion count: 60`.
pub(super) fn declared_counts(text: &str) -> Counts {
    counts_in(text, |parts| parts.name("m").is_some())
}

fn counts_in(text: &str, is_wanted: impl Fn(&regex::Captures<'_>) -> bool) -> Counts {
    let mut found = Counts::new();
    for parts in COUNT.captures_iter(text).filter(is_wanted) {
        let number = parts.name("n").or(parts.name("m"));
        let word = parts.name("noun").or(parts.name("name"));
        let (Some(number), Some(word)) = (number, word) else {
            continue;
        };
        let before = &text[..number.start()];
        let is_part = before.ends_with([':', '#', '.', '-', '/', '~', '$', ',', '+', '>', '→'])
            || text[number.end()..].starts_with(['→', '%'])
            || before.ends_with("line ")
            || before.ends_with("lines ");
        let Ok(value) = number.as_str().parse::<u64>() else {
            continue;
        };
        for word in parts_of(word.as_str()) {
            if !is_part && !UNITS.contains(&word.as_str()) {
                let values = found.entry(word).or_default();
                values.entry(value).or_insert(number.start());
            }
        }
    }
    found
}

/// Words whose numbers may differ between two texts that do not contradict each other.
const UNITS: &[&str] = &[
    "line", "byte", "minut", "second", "hour", "day", "week", "month", "year", "char", "charact",
    "word", "time", "percent", "plan", "step", "task", "from", "with", "item", "point", "port",
    "version", "commit", "file", "test", "case", "session", "issu", "page", "token", "exit",
    "januari", "februari", "march", "april", "june", "juli", "august", "septemb", "octob",
    "novemb", "decemb", "count", "valu", "code", "total", "name", "size", "result", "number",
];

/// The stems of a word and of the parts of a name in camel or snake case.
fn parts_of(word: &str) -> BTreeSet<String> {
    let mut parts = BTreeSet::new();
    let mut part = String::new();
    let mut last_lower = false;
    for c in word.chars() {
        if c == '_' || c.is_ascii_uppercase() && last_lower {
            add_stem(&part, &mut parts);
            part.clear();
        }
        last_lower = c.is_ascii_lowercase();
        if c != '_' {
            part.push(c);
        }
    }
    add_stem(&part, &mut parts);
    parts
}

fn add_stem(part: &str, parts: &mut BTreeSet<String>) {
    if part.len() > 3 {
        parts.insert(stem(&fold(part)).into_owned());
    }
}
