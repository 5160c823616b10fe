//! Builds segments of the index.
//!
//! Looking up each word of a text in one large table would take longer than all else, since
//! that table is not near the processor. So the words of a block are counted in a small table,
//! and the postings of all blocks are grouped by the hash of their word when the segment is
//! finished.

use memchr::memchr;

use super::super::Part;
use super::list::ListWriter;
use super::{FOLDED, SegmentRow, SegmentWriter, Span, is_hexadecimal, start_of};
use crate::core::text::{Term, fold, words};

/// The limits at which a segment is finished: postings, bytes of words, and places. They bound
/// the memory of a build, and what the bits of a posting must hold.
pub(super) const FULL: usize = 1 << 19;
const FULL_TEXT: usize = 1 << 25;
pub(super) const FULL_PLACES: u32 = 1 << 21;
/// The number of bits of a posting for the word's offset and for how often it occurs.
const WORD_BITS: u32 = 26;
const TIMES_BITS: u32 = 16;
const TIMES: u64 = (1 << TIMES_BITS) - 1;
/// The size of the table of a block's words, which grows for a block with more.
const SLOTS: usize = 1 << 13;
/// The number of bits of a hash by which postings are divided before they are sorted.
const BUCKET_BITS: u32 = 10;

/// A segment under construction.
#[derive(Debug)]
pub(in super::super) struct IndexBuilder {
    has_messages: bool,
    /// For each word of the current block, one more than the index of its last posting.
    slots: Vec<u32>,
    /// How many words the current block has.
    known: usize,
    /// The words of each block, each followed by a newline.
    text: String,
    postings: Vec<Posting>,
    /// The numbers of the blocks that are indexed.
    pub(in super::super) blocks: Vec<u32>,
    /// The first place of each block, and of the next one.
    firsts: Vec<u32>,
    next: u32,
}

/// A place that contains a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Posting {
    /// The hash of the word.
    term: Term,
    /// The place, the offset of the word, and how often it occurs.
    rest: u64,
}

/// A word of a segment that is being finished.
#[derive(Debug, Clone, Copy)]
struct IndexedWord {
    /// The first eight bytes of the word, in the order in which words are compared.
    start: u64,
    /// The offset of the word.
    at: u32,
    /// The range of its postings.
    postings: (u32, u32),
    is_hexadecimal: bool,
}

impl Posting {
    const NONE: Self = Self {
        term: Term(0),
        rest: 0,
    };

    fn new(term: Term, place: u32, word: usize, times: u32) -> Self {
        let times = u64::from(times).min(TIMES);
        Self {
            term,
            rest: u64::from(place) << (WORD_BITS + TIMES_BITS)
                | (word as u64) << TIMES_BITS
                | times,
        }
    }

    fn place(self) -> u32 {
        (self.rest >> (WORD_BITS + TIMES_BITS)) as u32
    }

    fn word(self) -> usize {
        (self.rest >> TIMES_BITS) as usize & ((1 << WORD_BITS) - 1)
    }

    fn times(self) -> u32 {
        (self.rest & TIMES) as u32
    }

    /// Counts one more occurrence; so many that they do not fit are not told apart.
    fn repeat(&mut self) {
        self.rest += u64::from(self.rest & TIMES < TIMES);
    }
}

impl IndexBuilder {
    pub(in super::super) fn new(part: Part) -> Self {
        Self {
            has_messages: part.has_concordance(),
            slots: vec![0; SLOTS],
            known: 0,
            text: String::new(),
            postings: Vec::new(),
            blocks: Vec::new(),
            firsts: Vec::new(),
            next: 0,
        }
    }

    pub(in super::super) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    pub(in super::super) fn is_full(&self) -> bool {
        self.postings.len() >= FULL || self.text.len() >= FULL_TEXT || self.next >= FULL_PLACES
    }

    /// Adds the words of the next block, whose number is appended to `blocks` afterwards.
    /// `ends` are the ends of its `count` messages.
    pub(in super::super) fn add_block(
        &mut self,
        text: &str,
        mut ends: impl Iterator<Item = usize>,
        count: usize,
    ) {
        let from = self.postings.len();
        let mut place = self.begin_block(count);
        let mut end = match self.has_messages {
            true => ends.next().unwrap_or(usize::MAX),
            false => usize::MAX,
        };
        self.known = 0;
        for word in words(text) {
            while word.at > end {
                place += 1;
                end = ends.next().unwrap_or(usize::MAX);
            }
            self.count((word.term(), word.text), place, from);
            if self.has_messages && word.has_folded_letters() {
                let marked = format!("{}{FOLDED}", fold(word.text));
                self.count((Term::of(&marked), &marked), place, from);
            }
        }
        self.slots.truncate(SLOTS);
        self.slots.fill(0);
    }

    /// Counts a word at a place of the block whose postings begin at `from`.
    fn count(&mut self, (term, word): (Term, &str), place: u32, from: usize) {
        let slot = self.slot(term);
        match self.slots[slot].checked_sub(1) {
            Some(last) => {
                let last = &mut self.postings[last as usize];
                if last.place() == place {
                    last.repeat();
                    return;
                }
                let word = last.word();
                self.postings.push(Posting::new(term, place, word, 1));
            }
            None => {
                let at = self.push_word(word);
                self.postings.push(Posting::new(term, place, at, 1));
                self.known += 1;
            }
        }
        self.slots[slot] = self.postings.len() as u32;
        if 2 * self.known > self.slots.len() {
            self.grow(from);
        }
    }

    /// Begins a block of this many messages and returns its first place.
    fn begin_block(&mut self, messages: usize) -> u32 {
        let first = self.next;
        self.firsts.push(first);
        self.next += match self.has_messages {
            true => messages as u32,
            false => 1,
        };
        first
    }

    /// Returns the slot of a word: the one that has it, or the free one that gets it.
    fn slot(&self, term: Term) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = (term.0 >> 32) as usize & mask;
        while let Some(last) = self.slots[at].checked_sub(1) {
            if self.postings[last as usize].term == term {
                break;
            }
            at = (at + 1) & mask;
        }
        at
    }

    /// Doubles the table of the words of the block whose postings begin at `from`.
    fn grow(&mut self, from: usize) {
        self.slots = vec![0; 2 * self.slots.len()];
        for at in from..self.postings.len() {
            let slot = self.slot(self.postings[at].term);
            self.slots[slot] = at as u32 + 1;
        }
    }

    /// Adds a word in its folded form and returns its offset.
    fn push_word(&mut self, word: &str) -> usize {
        let at = self.text.len();
        match word.is_ascii() {
            true => {
                self.text.push_str(word);
                self.text[at..].make_ascii_lowercase();
            }
            false => self.text.push_str(&fold(word)),
        }
        self.text.push('\n');
        at
    }

    /// Returns the segment in its stored form; `self` is empty afterwards.
    pub(in super::super) fn finish(&mut self) -> (SegmentRow, Vec<u8>) {
        group(&mut self.postings);
        let words = self.words();
        let mut writer = SegmentWriter::default();
        let mut list = ListWriter::new(self.has_messages);
        let span = (0, self.next);
        for word in &words {
            let (from, to) = word.postings;
            for posting in &self.postings[from as usize..to as usize] {
                list.push(span, posting.place(), posting.times());
            }
            let places = list.finish();
            match word.start.to_be_bytes() {
                // The whole word: none contains a zero.
                short @ [.., 0] => {
                    let length = short.iter().position(|byte| *byte == 0);
                    let short = &short[..length.unwrap_or_default()];
                    writer.push((short, word.is_hexadecimal), places);
                }
                _ => {
                    let text = self.word(word.at as usize);
                    writer.push((text, word.is_hexadecimal), places);
                }
            }
            list.clear();
        }
        let blocks = self.blocks.drain(..).zip(self.firsts.drain(..));
        let row = writer.finish(&[Span {
            blocks: blocks.collect(),
            places: self.next,
            postings: self.postings.len() as u32,
        }]);
        self.text.clear();
        self.postings.clear();
        self.next = 0;
        (row, writer.out.0)
    }

    /// Returns the words in order; the postings are grouped by word.
    fn words(&self) -> Vec<IndexedWord> {
        let mut words = Vec::new();
        let mut from = 0;
        for same in self.postings.chunk_by(|a, b| a.term == b.term) {
            let at = same[0].word();
            let to = from + same.len() as u32;
            let word = self.word(at);
            words.push(IndexedWord {
                start: start_of(word),
                is_hexadecimal: is_hexadecimal(word),
                at: at as u32,
                postings: (from, to),
            });
            from = to;
        }
        words.sort_unstable_by(|a, b| {
            let by_text = || self.word(a.at as usize).cmp(self.word(b.at as usize));
            let order = |word: &IndexedWord| (word.is_hexadecimal, word.start);
            order(a).cmp(&order(b)).then_with(by_text)
        });
        words
    }

    /// Returns the word at this offset.
    fn word(&self, at: usize) -> &[u8] {
        let text = &self.text.as_bytes()[at..];
        &text[..memchr(b'\n', text).unwrap_or(text.len())]
    }
}

/// Groups postings by word; those of a word stay in their order, which is by place.
///
/// They are divided by the first bits of the hash, so that the words of each bucket fit a
/// small table; there they are counted, which is faster than sorting them.
fn group(postings: &mut [Posting]) {
    let mut by_bucket = vec![Posting::NONE; postings.len()];
    let bucket = |posting: &Posting| (posting.term.0 >> (u64::BITS - BUCKET_BITS)) as usize;
    let mut ends = vec![0; 1 << BUCKET_BITS];
    postings
        .iter()
        .for_each(|posting| ends[bucket(posting)] += 1);
    begin_each(&mut ends);
    for posting in &*postings {
        let end = &mut ends[bucket(posting)];
        by_bucket[*end as usize] = *posting;
        *end += 1;
    }
    let mut table = TermTable::default();
    let mut from = 0;
    for end in ends {
        let end = end as usize;
        table.group(&by_bucket[from..end], &mut postings[from..end]);
        from = end;
    }
}

/// Turns counts into the sums of those before.
fn begin_each(counts: &mut [u32]) {
    let mut sum = 0;
    for count in counts {
        sum += std::mem::replace(count, sum);
    }
}

/// Numbers the words of a few postings.
#[derive(Default)]
struct TermTable {
    /// For each slot, one more than the number of its word.
    slots: Vec<u32>,
    /// The words, by their numbers.
    terms: Vec<Term>,
    /// How many postings each word has, then where the next one goes.
    ends: Vec<u32>,
    /// The number of the word of each posting.
    numbers: Vec<u32>,
}

impl TermTable {
    /// Writes the postings to `grouped` by word, otherwise in the same order.
    fn group(&mut self, postings: &[Posting], grouped: &mut [Posting]) {
        self.terms.clear();
        self.ends.clear();
        self.numbers.clear();
        self.slots.clear();
        self.slots
            .resize((2 * postings.len()).next_power_of_two(), 0);
        for posting in postings {
            let number = self.number(posting.term);
            self.ends[number as usize] += 1;
            self.numbers.push(number);
        }
        begin_each(&mut self.ends);
        for (posting, number) in postings.iter().zip(&self.numbers) {
            let end = &mut self.ends[*number as usize];
            grouped[*end as usize] = *posting;
            *end += 1;
        }
    }

    /// Returns the number of a word, which may be new.
    fn number(&mut self, term: Term) -> u32 {
        let mask = self.slots.len() - 1;
        let mut at = term.0 as usize & mask;
        while let Some(number) = self.slots[at].checked_sub(1) {
            if self.terms[number as usize] == term {
                return number;
            }
            at = (at + 1) & mask;
        }
        self.terms.push(term);
        self.ends.push(0);
        self.slots[at] = self.terms.len() as u32;
        self.slots[at] - 1
    }
}
