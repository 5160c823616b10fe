//! What two texts share: their words weighted by rarity, and the pairs of words that are rare in
//! the whole collection. Used to find duplicates without comparing every text with every other.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

use super::CuratedStore;
use super::document::{Document, sentence};
use crate::core::memory::layout::Layout;
use crate::core::memory::layout::entries::is_merged;
use crate::core::text::header::{Entry, prose};
use crate::core::text::{fold, stem};

/// A text that is compared: a memory, one of several entries of a file, or a section of an
/// instruction file.
#[derive(Debug)]
pub(super) struct Piece {
    /// The numbers of its store and of its document.
    pub(super) store: usize,
    pub(super) document: usize,
    /// Its range in the document's text.
    pub(super) range: Range<usize>,
    pub(super) is_instruction: bool,
    /// The words of its name and description, as numbers.
    head: Vec<u32>,
    /// All its words, likewise.
    words: Vec<u32>,
}

/// Two pieces and how much they have in common.
#[derive(Debug)]
pub(super) struct Likeness {
    pub(super) a: usize,
    pub(super) b: usize,
    pub(super) score: f64,
}

/// The pieces of a collection, and which of them are alike.
#[derive(Debug)]
pub(super) struct Pieces {
    pub(super) all: Vec<Piece>,
    /// The pairs of pieces that share rare pairs of words, best first.
    pub(super) alike: Vec<Likeness>,
    /// The number of pieces of memories, or [`SMALLEST`] if that is more.
    size: f64,
    /// How rare each word is.
    rarity: Vec<f64>,
}

/// A pair of words in more pieces than this says nothing about two of them.
const RARE: u32 = 4;

/// How many rare pairs of words two pieces must share to be compared.
const ENOUGH_PAIRS: usize = 3;

/// A small collection is weighted as one of this size.
const SMALLEST: usize = 64;

/// How many pairs of words are held at once.
const MOST_PAIRS: usize = 2_000_000;

impl Pieces {
    pub(super) fn of(stores: &[CuratedStore<'_>]) -> Self {
        let mut known: HashMap<String, u32> = HashMap::new();
        let mut all: Vec<Piece> = Vec::new();
        for (store, curated) in stores.iter().enumerate() {
            let layout = curated.store.layout();
            let is_entries = layout == Layout::Entries;
            if layout == Layout::Events || is_entries && is_merged(curated.store.root()) {
                continue;
            }
            for (number, document) in curated.documents.iter().enumerate() {
                if document.is_index() || is_template(&document.text) {
                    continue;
                }
                for range in ranges(document, layout) {
                    let text = &document.text[range.clone()];
                    let whole = range.len() == document.text.len();
                    let memory = &document.memory;
                    // The heading of a part is often one that others have, too.
                    let head = if whole {
                        format!("{} {}", memory.title, memory.summary)
                    } else {
                        String::new()
                    };
                    let body = if whole {
                        format!("{head} . {}", document.body())
                    } else {
                        text.to_owned()
                    };
                    all.push(Piece {
                        store,
                        document: number,
                        range,
                        is_instruction: layout == Layout::Instructions,
                        words: terms(&body, &mut known),
                        head: terms(&head, &mut known),
                    });
                }
            }
        }
        Self::weighted(all, known.len())
    }

    fn weighted(all: Vec<Piece>, words: usize) -> Self {
        // Only memories count: instruction files are often copies of each other.
        let mut in_pieces: Vec<u32> = vec![0; words];
        let mut distinct: Vec<u32> = Vec::new();
        for piece in all.iter().filter(|piece| !piece.is_instruction) {
            distinct.clone_from(&piece.words);
            distinct.sort_unstable();
            distinct.dedup();
            for word in &distinct {
                in_pieces[*word as usize] += 1;
            }
        }
        let memories = all.iter().filter(|piece| !piece.is_instruction).count();
        let size = memories.max(SMALLEST) as f64;
        let rarity = |count: &u32| (1.0 + size / f64::from((*count).max(1))).ln();
        let mut pieces = Self {
            all,
            alike: Vec::new(),
            size,
            rarity: in_pieces.iter().map(rarity).collect(),
        };
        pieces.alike = pieces.likenesses();
        pieces
    }

    /// Finds the rare pairs of words that pieces share, and the pieces that share enough of them.
    fn likenesses(&self) -> Vec<Likeness> {
        let mut shared: HashMap<(u32, u32), usize> = HashMap::new();
        // In how many memories each rare pair of words occurs that two pieces share.
        let mut frequency: HashMap<u64, u32> = HashMap::new();
        let all: usize = self.all.iter().map(|piece| piece.words.len()).sum();
        // Part by part: the pairs of a hundred thousand memories do not fit in memory at once.
        let parts = (all / MOST_PAIRS + 1) as u64;
        for part in 0..parts {
            let mut holders: Vec<(u64, u32)> = Vec::new();
            for (number, piece) in (0..).zip(&self.all) {
                let pairs = pairs(&piece.words).into_iter();
                let here = pairs.filter(|pair| pair % parts == part);
                holders.extend(here.map(|pair| (pair, number)));
            }
            holders.sort_unstable();
            for same in holders.chunk_by(|a, b| a.0 == b.0) {
                let is_memory =
                    |(_, piece): &&(u64, u32)| !self.all[*piece as usize].is_instruction;
                let memories = same.iter().filter(is_memory);
                let count = memories.clone().count();
                if same.len() < 2 || count == 0 || count > RARE as usize {
                    continue;
                }
                frequency.insert(same[0].0, count as u32);
                // Two instructions are not compared, and there may be thousands of them.
                for (_, a) in memories {
                    let others = same.iter();
                    for (_, b) in others.filter(|b| !is_memory(b) || b.1 > *a) {
                        *shared.entry((*a.min(b), *a.max(b))).or_default() += 1;
                    }
                }
            }
        }
        let mut found: Vec<Likeness> = shared
            .into_iter()
            .filter(|(_, count)| *count >= ENOUGH_PAIRS)
            .map(|((a, b), _)| Likeness {
                a: a as usize,
                b: b as usize,
                score: self.score([a, b].map(|piece| &self.all[piece as usize]), &frequency),
            })
            .collect();
        found.sort_by(|x, y| {
            let score = y.score.total_cmp(&x.score);
            score.then_with(|| (x.a, x.b).cmp(&(y.a, y.b)))
        });
        found
    }

    /// The different words with their weights, sorted by word.
    fn weighed(&self, words: &[u32]) -> Vec<(u32, f64)> {
        let mut words = words.to_vec();
        words.sort_unstable();
        let weight = |same: &[u32]| {
            let count = 1.0 + (same.len() as f64).ln();
            (same[0], count * self.rarity[same[0] as usize])
        };
        let mut weights: Vec<(u32, f64)> = words.chunk_by(|a, b| a == b).map(weight).collect();
        let length: f64 = weights.iter().map(|(_, w)| w * w).sum::<f64>().sqrt();
        weights.iter_mut().for_each(|(_, w)| *w /= length);
        weights
    }

    /// How much the names and descriptions of two pieces have in common, from 0 to 1.
    pub(super) fn head_likeness(&self, a: &Piece, b: &Piece) -> f64 {
        cosine(&self.weighed(&a.head), &self.weighed(&b.head))
    }

    /// How much of the words of the shorter of two pieces, or of the one that is no instruction, the
    /// other one has, each weighted by its rarity.
    pub(super) fn share(&self, a: &Piece, b: &Piece) -> f64 {
        let distinct = |piece: &Piece| piece.words.iter().copied().collect::<BTreeSet<u32>>();
        let (of_a, of_b) = (distinct(a), distinct(b));
        let is_shorter = (a.is_instruction, of_a.len()) <= (b.is_instruction, of_b.len());
        let (short, long) = if is_shorter {
            (&of_a, &of_b)
        } else {
            (&of_b, &of_a)
        };
        let rarity = |word: &u32| self.rarity[*word as usize];
        let whole: f64 = short.iter().map(rarity).sum();
        let shared = short.iter().filter(|word| long.contains(word));
        shared.map(rarity).sum::<f64>() / whole.max(f64::MIN_POSITIVE)
    }

    /// How alike two pieces are: 0 for nothing in common, above 1 for nearly the same.
    fn score(&self, [a, b]: [&Piece; 2], frequency: &HashMap<u64, u32>) -> f64 {
        let (pairs_a, pairs_b) = (pairs(&a.words), pairs(&b.words));
        let both = pairs_a.iter();
        let both = both.filter(|pair| pairs_b.binary_search(pair).is_ok());
        let rare = both.filter_map(|pair| {
            let count = *frequency.get(pair)?;
            Some((1.0 + self.size / f64::from(count)).ln())
        });
        let rare: f64 = rare.sum();
        let lengths = (pairs_a.len() as f64 * pairs_b.len() as f64)
            .sqrt()
            .max(1.0);
        let scale = REFERENCE.ln() / (1.0 + self.size).ln();
        let all = cosine(&self.weighed(&a.words), &self.weighed(&b.words));
        all + 0.4 * self.head_likeness(a, b) + 0.5 * scale * rare / lengths
    }
}

/// Every two words that follow each other, as one number, sorted, each once.
fn pairs(words: &[u32]) -> Vec<u64> {
    let pair = |two: &[u32]| u64::from(two[0]) << 32 | u64::from(two[1]);
    let mut pairs: Vec<u64> = words.windows(2).map(pair).collect();
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

/// The size of collection for which the weights were chosen.
const REFERENCE: f64 = 94.0;

fn cosine(a: &[(u32, f64)], b: &[(u32, f64)]) -> f64 {
    let (mut x, mut y, mut sum) = (0, 0, 0.0);
    while x < a.len() && y < b.len() {
        match a[x].0.cmp(&b[y].0) {
            std::cmp::Ordering::Less => x += 1,
            std::cmp::Ordering::Greater => y += 1,
            std::cmp::Ordering::Equal => {
                sum += a[x].1 * b[y].1;
                x += 1;
                y += 1;
            }
        }
    }
    sum
}

/// Whether a text is mostly places that nobody has filled in.
fn is_template(text: &str) -> bool {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let is_open = |line: &&str| {
        ["[e.g.", "[FILL IN", "[TODO"]
            .iter()
            .any(|one| line.contains(one))
    };
    let open = lines.clone().filter(is_open).count();
    open > 1 && open * 2 >= lines.count()
}

/// The parts of a document that are compared.
fn ranges(document: &Document, layout: Layout) -> Vec<Range<usize>> {
    let entries = &document.memory.entries;
    // The sections of a file that is a memory are parts of it.
    let is_section = |entry: &Entry| document.text[entry.span.start..].starts_with('#');
    let is_one = layout == Layout::Entries && entries.iter().all(is_section);
    if entries.len() > 1 && layout != Layout::Instructions && !is_one {
        // An entry that contains others is compared by them.
        let is_leaf = |at: &usize| {
            let next = entries.get(at + 1);
            next.is_none_or(|next| next.depth <= entries[*at].depth)
        };
        let leaves = (0..entries.len()).filter(is_leaf);
        return leaves.map(|at| entries[at].span.clone()).collect();
    }
    if layout != Layout::Instructions {
        return std::iter::once(0..document.text.len()).collect();
    }
    let heads = document
        .text
        .match_indices('\n')
        .map(|(at, _)| at + 1)
        .filter(|at| document.text[*at..].starts_with('#') && !document.is_code(*at));
    let mut starts: Vec<usize> = std::iter::once(0).chain(heads).collect();
    starts.push(document.text.len());
    let sections = starts.windows(2).map(|two| two[0]..two[1]);
    sections.filter(|range| range.len() > 80).collect()
}

/// Whether a line has the time of a day with its seconds, as programs stamp what they generate.
fn has_second(line: &str) -> bool {
    let is_time = |eight: &[u8]| {
        let digits = [0, 1, 3, 4, 6, 7]
            .iter()
            .all(|at| eight[*at].is_ascii_digit());
        digits && eight[2] == b':' && eight[5] == b':'
    };
    line.as_bytes().windows(8).any(is_time)
}

/// The words of a text as numbers, without blocks of code, stamps and links. A word that is joined by `-`, `_`
/// or `.` counts as a whole and in its parts; of a script without spaces, every two characters are a
/// word.
fn terms(text: &str, known: &mut HashMap<String, u32>) -> Vec<u32> {
    let mut found = Vec::new();
    let mut add = |word: &str| {
        let next = known.len() as u32;
        let number = match known.get(word) {
            Some(number) => *number,
            None => {
                known.insert(word.to_owned(), next);
                next
            }
        };
        found.push(number);
    };
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-');
    let lines = prose(text).filter(|(_, line)| !has_second(line.text));
    let lines = lines.flat_map(|(_, line)| line.text.split("[["));
    let said = lines.map(|part| part.split_once("]]").map_or(part, |(_, rest)| rest));
    for run in said.flat_map(|part| part.split(|c: char| !is_part(c))) {
        let run = run.trim_matches(['.', '-', '_']);
        if run.is_empty() {
            continue;
        }
        let run = fold(run);
        if run.chars().any(is_spaceless) {
            let letters: Vec<char> = run.chars().filter(|c| c.is_alphanumeric()).collect();
            for two in letters.windows(2) {
                add(&two.iter().collect::<String>());
            }
            continue;
        }
        if run.len() > 2 {
            add(&stem(&run));
        }
        if run.contains(['_', '.', '-']) {
            for part in run.split(['_', '.', '-']).filter(|part| part.len() > 2) {
                add(&stem(part));
            }
        }
    }
    found
}

/// A sentence without the files, folders and addresses that it names.
fn without_files(sentence: &str) -> String {
    let is_end = |end: &str| end.len() <= 4 && end.bytes().all(|b| b.is_ascii_lowercase());
    let is_file = |word: &&str| {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let end = bare.rsplit_once('.').map(|(_, end)| end);
        bare.is_ascii() && (bare.contains('/') || end.is_some_and(is_end))
    };
    let words = sentence.split_whitespace().filter(|word| !is_file(word));
    words.collect::<Vec<_>>().join(" ")
}

/// A character of a script that does not separate words by spaces.
fn is_spaceless(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{eff}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}')
}

/// Up to three pairs of sentences, one of each text, that share the most words; names of files are
/// none. Each is given by the start of the line in it that shares the most with the other sentence.
pub(super) fn shared_passages(
    (a, in_a): (&Document, &Range<usize>),
    (b, in_b): (&Document, &Range<usize>),
) -> Vec<(usize, usize)> {
    let mut known = HashMap::new();
    let sentences =
        |document: &Document, range: &Range<usize>, known: &mut HashMap<String, u32>| {
            let mut found: Vec<(Range<usize>, HashSet<u32>)> = Vec::new();
            let mut at = range.start.max(document.memory.body.start.min(range.end));
            while at < range.end && found.len() < MOST_SENTENCES {
                let text = sentence(&document.text[..range.end], &(at..at));
                let end = (document.offset_of(text) + text.len()).max(at + 1);
                // The first sentence may begin in the header.
                let start = document.offset_of(text).max(at).min(end);
                let text = document.text.get(start..end).unwrap_or_default();
                let words: HashSet<u32> = terms(&without_files(text), known).into_iter().collect();
                if words.len() >= 5 {
                    found.push((start..end, words));
                }
                at = end;
                while at < range.end && !document.text.is_char_boundary(at) {
                    at += 1;
                }
            }
            found
        };
    let of_a = sentences(a, in_a, &mut known);
    let of_b = sentences(b, in_b, &mut known);
    let mut best: Vec<(f64, usize, usize)> = Vec::new();
    for (at_a, (_, words_a)) in of_a.iter().enumerate() {
        for (at_b, (_, words_b)) in of_b.iter().enumerate() {
            let shared = words_a.intersection(words_b).count() as f64;
            let score = shared / (words_a.len() as f64 * words_b.len() as f64).sqrt();
            if shared >= 4.0 && score > 0.3 {
                best.push((score * shared.sqrt(), at_a, at_b));
            }
        }
    }
    best.sort_by(|x, y| y.0.total_cmp(&x.0));
    let mut told: Vec<(usize, usize)> = Vec::new();
    for (_, x, y) in best {
        if told.len() < 3 && !told.iter().any(|(a, b)| *a == x || *b == y) {
            told.push((x, y));
        }
    }
    let lines = |(x, y): (usize, usize)| {
        let ((in_a, words_a), (in_b, words_b)) = (&of_a[x], &of_b[y]);
        let line_a = sharing_line((a, in_a), words_b, &mut known);
        (line_a, sharing_line((b, in_b), words_a, &mut known))
    };
    told.into_iter().map(lines).collect()
}

/// Where the line of a sentence begins that has the most of these words; the first of several.
fn sharing_line(
    (document, sentence): (&Document, &Range<usize>),
    words: &HashSet<u32>,
    known: &mut HashMap<String, u32>,
) -> usize {
    let mut best = (0, sentence.start);
    let mut start = sentence.start;
    for line in document.text[sentence.clone()].split_inclusive('\n') {
        let own: HashSet<u32> = terms(line, known).into_iter().collect();
        let shared = own.intersection(words).count();
        if shared > best.0 {
            best = (shared, start);
        }
        start += line.len();
    }
    best.1
}

/// How many sentences of a text are compared.
const MOST_SENTENCES: usize = 80;
