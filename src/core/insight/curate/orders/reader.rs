//! Reads a text for orders: one pass finds the words of each sentence, and a sentence that has all
//! the words of an order is read.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use super::words::WORDS;
use super::words::{Class, KNOWN_HOSTS, LEADS, NEAR_HOSTS, ORDERS, OWN_NETWORKS, Order, PHRASES};
use crate::core::insight::curate::document::starts_item;
use crate::core::text::header::lines;

/// How the words of a class may stand in a text.
struct Word {
    class: Class,
    /// Whether letters may precede and follow it.
    is_open: [bool; 2],
    /// Whether it counts only where an imperative can stand.
    is_verb: bool,
}

struct Finder {
    words: AhoCorasick,
    /// How each word may stand.
    known: Vec<Word>,
}

static FINDER: LazyLock<Finder> = LazyLock::new(|| {
    let (mut words, mut known) = (Vec::new(), Vec::new());
    let rows = WORDS.iter();
    for (class, word) in rows.flat_map(|(class, row)| row.split(", ").map(|word| (*class, word))) {
        let bare = word.trim_end_matches(['*', '!']);
        let start = bare.trim_start_matches('*');
        words.push(start);
        known.push(Word {
            class,
            is_open: [start.len() < bare.len(), word.ends_with('*')],
            is_verb: word.ends_with('!'),
        });
    }
    let words = AhoCorasick::builder()
        .kind(Some(AhoCorasickKind::ContiguousNFA))
        .build(words)
        .expect("words that fit in memory");
    Finder { words, known }
});

/// The classes of which a text has words.
#[derive(Clone, Copy, Default)]
struct Classes(u64);

impl Classes {
    fn add(&mut self, class: Class) {
        self.0 |= 1 << class as u64;
    }

    fn has(self, class: Class) -> bool {
        self.0 & 1 << class as u64 != 0
    }

    fn has_any(self, classes: &[Class]) -> bool {
        classes.iter().any(|class| self.has(*class))
    }

    fn and(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }
}

/// The orders in a text: what each makes the agent do, once, and where it begins.
pub(super) fn orders(text: &str) -> Vec<(&'static str, usize)> {
    let mut found: Vec<(&'static str, usize)> = Vec::new();
    // What leads to the items of a list, and whether it says that they are not to be done.
    let (mut lead, mut is_lead_silent) = (Classes::default(), false);
    for block in blocks(text) {
        let sentences = sentences(text, &block.span).into_iter();
        let sentences: Vec<Sentence> = sentences.map(|span| Sentence::read(text, span)).collect();
        let own = sentences.iter().map(|sentence| sentence.classes);
        let mut near = own.fold(Classes::default(), Classes::and);
        let last = sentences.last();
        if block.kind == Kind::Item {
            near = near.and(lead);
            if is_lead_silent {
                continue;
            }
        } else {
            let leads = last.filter(|last| last.words.trim_end().ends_with([':', '：']));
            lead = leads.map_or_else(Classes::default, |last| last.classes);
            let leading = if block.kind == Kind::Heading {
                near
            } else {
                lead
            };
            is_lead_silent = leading.has_any(&[Class::About, Class::Not, Class::NotAfter]);
        }
        if block.kind == Kind::Heading {
            continue;
        }
        for sentence in sentences.iter().filter(|sentence| !sentence.is_silent()) {
            for order in ORDERS {
                if !found.iter().any(|(does, _)| *does == order.does)
                    && let Some(at) = sentence.order(order, near)
                {
                    found.push((order.does, sentence.place_of(text, at)));
                }
            }
        }
    }
    found
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Heading,
    /// An item of a list, a row of a table or a field of a header.
    Item,
    Paragraph,
}

/// A part of a text between blank lines. Code belongs to what introduces it.
struct Block {
    kind: Kind,
    span: Range<usize>,
}

fn blocks(text: &str) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    // Whether a line goes on with the last block.
    let (mut is_open, mut is_fenced) = (false, false);
    for line in lines(text, 0) {
        let bare = line.text.trim();
        let is_fence = bare.starts_with("```") || bare.starts_with("~~~");
        let is_code = is_fence || is_fenced;
        is_fenced ^= is_fence;
        let last = found.last_mut().filter(|last| last.kind != Kind::Heading);
        if bare.is_empty() && !is_code {
            let words = last.map_or("", |last| &text[last.span.clone()]);
            is_open = words.trim_end_matches('*').ends_with([':', '：']);
            continue;
        }
        if bare.starts_with("---") && !is_code {
            is_open = false;
            continue;
        }
        let kind = match () {
            () if is_code => Kind::Paragraph,
            () if bare.starts_with('#') => Kind::Heading,
            () if starts_item(bare) || is_field(bare) => Kind::Item,
            () => Kind::Paragraph,
        };
        match last {
            Some(last) if is_code || is_open && kind == Kind::Paragraph => {
                last.span.end = line.span.end;
            }
            _ => found.push(Block {
                kind,
                span: line.span,
            }),
        }
        is_open = !is_code;
    }
    found
}

/// Whether a line is a field of a header: a short name, a colon and a value.
fn is_field(line: &str) -> bool {
    let name = line.split_once(": ").map_or("", |(name, _)| name);
    !name.is_empty()
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
}

/// The most bytes of a sentence, and how many acts in one are looked at: what is done for each
/// grows with both.
const LONGEST: usize = 1500;
const MOST_ACTS: usize = 16;

/// Cuts a block into sentences, of which a line of code is one. A full stop in a code span ends none,
/// nor does that of a number of a list.
fn sentences(text: &str, block: &Range<usize>) -> Vec<Range<usize>> {
    let words = &text[block.clone()];
    let (mut found, mut start) = (Vec::new(), 0);
    let (mut is_code, mut is_fenced) = (false, false);
    let mut chars = words.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        is_code ^= c == '`';
        is_fenced ^= words[at..].starts_with("```") && !words[..at].ends_with('`');
        let is_line = c == '\n' && is_fenced && !words[..at].ends_with('\\');
        let is_end = match c {
            '。' | '！' | '？' => true,
            '.' | '!' | '?' => {
                let next = chars.peek().is_some_and(|(_, next)| next.is_whitespace());
                let number = words[start..at].trim();
                next && !number.bytes().all(|b| b.is_ascii_digit() || b == b'.')
            }
            _ => false,
        };
        if is_end && !is_code || is_line || at - start >= LONGEST {
            found.push(block.start + start..block.start + at + c.len_utf8());
            start = at + c.len_utf8();
        }
    }
    found.push(block.start + start..block.end);
    found.retain(|sentence| !text[sentence.clone()].trim().is_empty());
    found
}

/// A sentence and the known words in it.
struct Sentence {
    span: Range<usize>,
    /// In lower case, without marks of code and of emphasis, with one blank between words.
    words: String,
    known: Vec<(Class, Range<usize>)>,
    classes: Classes,
}

/// Marks that the words of a sentence are without.
const MARKS: [char; 3] = ['`', '*', '\\'];

/// How far from an act its object may stand, in bytes.
const REACH: usize = 200;

/// What ends a clause.
const CLAUSE_ENDS: [char; 9] = [';', ':', '.', ',', '—', '|', '，', '。', '；'];

impl Sentence {
    fn read(text: &str, span: Range<usize>) -> Self {
        let mut sentence = Self {
            words: folded(&text[span.clone()]),
            span,
            known: Vec::new(),
            classes: Classes::default(),
        };
        let words = &sentence.words;
        let mut known = Vec::new();
        for found in FINDER.words.find_overlapping_iter(words) {
            let word = &FINDER.known[found.pattern().as_usize()];
            if is_whole(words, &found.range(), word) {
                known.push((word.class, found.range()));
            }
        }
        for (class, range) in &known {
            sentence.classes.add(*class);
            if *class == Class::Url && is_number(&words[range.end..]) {
                sentence.classes.add(Class::Address);
            }
        }
        sentence.known = known;
        sentence
    }

    /// Whether it tells of something, asks, or is about this machine.
    fn is_silent(&self) -> bool {
        self.classes.has_any(&[Class::About, Class::Local])
            || self.words.trim_end().ends_with(['?', '？'])
    }

    /// Where an order begins in the words, if they have it.
    fn order(&self, order: &Order, near: Classes) -> Option<usize> {
        let act = order.all[0];
        let is_word = matches!(act, Class::Unseen | Class::Ignore);
        if !order.all.iter().all(|class| self.classes.has(*class))
            || !order.near.is_empty() && !near.has_any(order.near)
            // What the words say may be about the past; a command in them is then no order.
            || !is_word && self.classes.has(Class::Past)
        {
            return None;
        }
        let is_near = |act: &Range<usize>| {
            order.all[1..].iter().all(|class| {
                let mut others = self.known.iter().filter(|known| known.0 == *class);
                others.any(|(_, other)| {
                    other.start.abs_diff(act.start) < REACH
                        && (order.all[0] != Class::Ignore || self.is_one_clause(act, other))
                })
            })
        };
        let acts = self.known.iter().filter(|known| known.0 == act);
        let act = acts.take(MOST_ACTS).find(|(class, act)| {
            !self.is_quoted(*class, act.start) && !self.is_negated(*class, act) && is_near(act)
        });
        act.map(|(_, act)| act.start)
    }

    /// Whether no clause ends between two words.
    fn is_one_clause(&self, one: &Range<usize>, other: &Range<usize>) -> bool {
        let between = one.end.min(other.end)..one.start.max(other.start);
        let between = self.words.get(between).unwrap_or_default();
        !between.contains(CLAUSE_ENDS)
    }

    /// Whether words around an act turn it into its opposite: "never …", "… is forbidden".
    fn is_negated(&self, act_class: Class, act: &Range<usize>) -> bool {
        let clause = self.words[..act.start].rfind(CLAUSE_ENDS).unwrap_or(0);
        let rest = self.words[act.end..].find([',', ';', '，']);
        let rest = rest.map_or(self.words.len(), |at| act.end + at);
        self.known.iter().any(|(class, word)| match class {
            Class::Not => word.start >= clause && word.end <= act.start,
            // A negation is one of the words that say so.
            Class::NotAfter if matches!(act_class, Class::Unseen | Class::NoAsk) => false,
            Class::NotAfter => word.start >= act.end && word.end <= rest,
            _ => false,
        })
    }

    /// Whether a quotation is open at a byte. Marks around the value of a field quote nothing, nor do
    /// those of a command or a setting.
    fn is_quoted(&self, act: Class, at: usize) -> bool {
        use Class::{Ignore, NoAsk, Off, Send, ToShell, Unseen, Upload};
        if !matches!(act, Ignore | NoAsk | Off | Send | ToShell | Unseen | Upload) {
            return false;
        }
        let before = &self.words[..at];
        let value = before.split_once(": ").map_or("", |(_, value)| value);
        let is_value = is_field(before.trim_start()) && value.starts_with('"');
        let count = |mark: char| before.matches(mark).count();
        (count('"') - usize::from(is_value)) % 2 == 1
            || count('“') + count('„') > count('”')
            || count('«') > count('»')
            || count('「') > count('」')
    }

    /// Where the byte of the words is in the text.
    fn place_of(&self, text: &str, at: usize) -> usize {
        let is_kept = |c: char| !c.is_whitespace() && c != ';' && !MARKS.contains(&c);
        let before = self.words[..at].chars().filter(|c| is_kept(*c)).count();
        let written = text[self.span.clone()].char_indices();
        let mut written = written.filter(|(_, c)| is_kept(*c));
        self.span.start + written.nth(before).map_or(0, |(at, _)| at)
    }
}

/// A text as [`Sentence::words`] has it. Each line of code is a clause of its own.
fn folded(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    let mut is_fenced = false;
    for (at, c) in text.char_indices() {
        match c {
            '`' => is_fenced ^= text[at..].starts_with("```") && !text[..at].ends_with('`'),
            '\n' if is_fenced => folded.push_str("; "),
            c if c.is_whitespace() && folded.ends_with(' ') || MARKS.contains(&c) => {}
            c if c.is_whitespace() => folded.push(' '),
            '’' => folded.push('\''),
            // A letter becomes one letter, so that its place can be counted.
            c => folded.push(c.to_lowercase().next().unwrap_or(c)),
        }
    }
    folded
}

/// Whether a known word stands as one in the words of a sentence.
fn is_whole(words: &str, found: &Range<usize>, word: &Word) -> bool {
    let (before, after) = (&words[..found.start], &words[found.end..]);
    let own = &words[found.clone()];
    if word.class == Class::Url && (own == "://" || own == "@") {
        return is_foreign(before, own, after);
    }
    let [is_free, is_prefix] = word.is_open;
    let joins = |c: char| is_letter(c) || own.starts_with('-') && c == '-';
    if !is_free && own.starts_with(is_letter) && before.ends_with(is_letter)
        || !is_prefix && own.ends_with(is_letter) && after.starts_with(joins)
    {
        return false;
    }
    match word.class {
        // What is put into such a file does not leave with it.
        Class::SecretFile => {
            let before = before.trim_end_matches(['"', '~', '/']);
            !INTO.iter().any(|into| before.ends_with(into))
        }
        // "Add to `.env`" has no object.
        _ if word.is_verb => after.starts_with(' ') && !after.starts_with(" to ") && is_led(before),
        _ => true,
    }
}

/// Words after which something is the place where something goes.
const INTO: [&str; 8] = [
    " to ", " into ", " in ", " your ", " in die ", " dans ", " en ", " no ",
];

/// Letters of scripts that put blanks between words.
fn is_letter(c: char) -> bool {
    c == '_' || c.is_alphanumeric() && c < '\u{1100}'
}

/// Whether an imperative can follow these words.
fn is_led(before: &str) -> bool {
    let Some(before) = before.strip_suffix([' ', '"', '“', '(', '<', '>']) else {
        return before.is_empty();
    };
    let clause = before.rfind(CLAUSE_ENDS).map_or(0, |at| at + 1);
    let mut words = before.get(clause..).unwrap_or_default().split_whitespace();
    let bare = |word: &str| {
        word.trim_matches(|c: char| !c.is_alphanumeric() && c != '\'')
            .to_owned()
    };
    let first = words.next().map(bare).unwrap_or_default();
    let last = words.next_back().map_or_else(|| first.clone(), bare);
    last.is_empty()
        || last.bytes().all(|b| b.is_ascii_digit())
        || LEADS.contains(&last.as_str())
        || PHRASES.contains(&first.as_str())
}

/// Whether an address begins an IP address.
fn is_number(host: &str) -> bool {
    let host = host.split(|c: char| !c.is_ascii_alphanumeric() && c != '.');
    let host = host.into_iter().next().unwrap_or_default();
    host.contains('.') && host.bytes().all(|b| b.is_ascii_digit() || b == b'.')
}

/// Whether an address or a mailbox is neither on this machine or network nor one that everybody
/// fetches from.
fn is_foreign(before: &str, sign: &str, after: &str) -> bool {
    let host = after.split(|c: char| !c.is_ascii_alphanumeric() && !".-@".contains(c));
    let host = host.into_iter().next().unwrap_or_default();
    let rest = &after[host.len()..];
    let host = host
        .rsplit('@')
        .next()
        .unwrap_or_default()
        .trim_end_matches('.');
    let is_mailbox = || {
        before.ends_with(|c: char| c.is_ascii_alphanumeric())
            && host.ends_with(|c: char| c.is_ascii_alphabetic())
            && !rest.starts_with([':', '/'])
    };
    let is_below = |known: &&str| {
        let below = host.strip_suffix(*known);
        below.is_some_and(|below| below.is_empty() || below.ends_with('.'))
    };
    host.contains('.')
        && (sign == "://" || is_mailbox())
        && !OWN_NETWORKS.iter().any(|own| host.starts_with(own))
        && !NEAR_HOSTS
            .iter()
            .any(|near| host.ends_with(near) || host.contains(&format!("{near}.")))
        && !KNOWN_HOSTS.iter().any(is_below)
}
