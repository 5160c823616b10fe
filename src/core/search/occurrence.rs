//! The words of a query in the blocks of the logs, before their messages are scored.

use super::limits::Limits;
use super::needle::{Haystack, NeedleMatch, Needles};
use super::score::counted;
use super::walker::TermOccurrence;
use crate::core::corpus::{Block, Corpus, Part};
use crate::core::text::Stems;

/// The matches in one part of one log, in the order of the log.
pub(super) struct LogOccurrences {
    pub(super) log: usize,
    pub(super) part: Part,
    pub(super) found: Vec<TermOccurrence>,
}

/// A match with its log, while the blocks of a part are searched.
pub(super) type Found = (u32, TermOccurrence);

/// What the threads of a search have found in one part.
pub(super) struct FoundInPart {
    /// By the blocks they are of; `None` if there are too many to hold.
    pub(super) held: Option<Vec<(usize, Vec<Found>)>>,
    /// How many there are, with those of the parts before.
    pub(super) count: usize,
    /// How many messages have a needle.
    pub(super) messages: usize,
    /// How many messages have each needle.
    pub(super) with: Vec<usize>,
}

/// The matches of one log.
pub(super) struct LogMatches<'a> {
    pub(super) log: usize,
    pub(super) parts: Vec<(Part, Matches<'a>)>,
}

/// The matches in one part of a log, in the order of the log.
#[derive(Clone, Copy)]
pub(super) enum Matches<'a> {
    Held(&'a [TermOccurrence]),
    /// The blocks to look them up in.
    In(&'a [usize]),
}

impl FoundInPart {
    /// Takes the matches in a few blocks; `at` orders them.
    pub(super) fn take(&mut self, (at, found): (usize, Vec<Found>), limits: &Limits) {
        for (_, occurrence) in &found {
            self.with[usize::from(occurrence.needle)] += 1;
        }
        self.messages += found.chunk_by(|a, b| a.1.at() == b.1.at()).count();
        self.count += found.len();
        match &mut self.held {
            Some(held) if self.count <= limits.occurrences => {
                limits.hold(self.count);
                held.push((at, found));
            }
            held => *held = None,
        }
    }
}

/// Returns matches by log, in the order of the blocks.
pub(super) fn by_log(
    corpus: &Corpus,
    part: Part,
    mut held: Vec<(usize, Vec<Found>)>,
) -> impl Iterator<Item = LogOccurrences> + use<> {
    held.sort_unstable_by_key(|(at, _)| *at);
    let mut logs: Vec<Vec<TermOccurrence>> = vec![Vec::new(); corpus.logs().len()];
    for (log, occurrence) in held.into_iter().flat_map(|(_, found)| found) {
        logs[log as usize].push(occurrence);
    }
    let logs = logs.into_iter().enumerate();
    logs.filter(|(_, found)| !found.is_empty())
        .map(move |(log, found)| LogOccurrences { log, part, found })
}

impl Matches<'_> {
    /// Returns the first and the last block with matches.
    pub(super) fn blocks(&self) -> Option<(usize, usize)> {
        match self {
            Self::Held(found) => {
                let block = |occurrence: &TermOccurrence| occurrence.block as usize;
                Some((block(found.first()?), block(found.last()?)))
            }
            Self::In(blocks) => Some((*blocks.first()?, *blocks.last()?)),
        }
    }
}

/// The matches of the block that was looked up last, which mostly is the next one, too.
#[derive(Default)]
pub(super) struct Lookup {
    stems: Stems,
    of: Option<(Part, usize)>,
    found: Vec<Found>,
}

impl Lookup {
    /// Looks up the needles in a block; returns logs and occurrences, in order.
    pub(super) fn look_up(
        &mut self,
        (corpus, needles): (&Corpus, &Needles),
        (part, block): (Part, usize),
    ) -> &[Found] {
        if self.of == Some((part, block)) {
            return &self.found;
        }
        self.of = Some((part, block));
        self.found.clear();
        if let Some(block) = corpus.block(part, block) {
            // A damaged block is recorded by the corpus.
            let to = (&mut self.stems, &mut self.found);
            let _ = search_block((part, &block), needles, to);
        }
        &self.found
    }
}

/// Finds the needles in a block of a part; appends log and occurrence, in order.
pub(super) fn search_block(
    (part, block): (Part, &Block<'_>),
    needles: &Needles,
    (stems, found): (&mut Stems, &mut Vec<Found>),
) -> Option<()> {
    match part.has_concordance() {
        true => look_up_block(block, needles, found),
        false => search_results(block, needles, (stems, found)),
    }
}

/// Looks the needles up in the concordance of a block; appends log and occurrence, in order.
fn look_up_block(block: &Block<'_>, needles: &Needles, found: &mut Vec<Found>) -> Option<()> {
    block.logs().next()?;
    let number = u32::try_from(block.number()).ok()?;
    let mut occurrences: Vec<TermOccurrence> = Vec::new();
    for (at, needle) in needles.all.iter().enumerate() {
        block.occurrences((needle.stem, needle.exact), &mut |sighting| {
            occurrences.push(TermOccurrence {
                block: number,
                message: sighting.message as u16,
                needle: at as u8,
                is_exact: sighting.is_exact,
                times: sighting.times,
            });
        });
    }
    if occurrences.is_empty() {
        return Some(());
    }
    occurrences.sort_unstable();
    let table = block.table()?;
    for forms in occurrences.chunk_by(|a, b| (a.message, a.needle) == (b.message, b.needle)) {
        if let Some(log) = table.log(usize::from(forms[0].message)) {
            let whole = TermOccurrence {
                is_exact: forms.iter().any(|form| form.is_exact),
                times: forms.iter().map(|form| form.times).sum(),
                ..forms[0]
            };
            found.push((log as u32, whole));
        }
    }
    Some(())
}

/// Searches the needles in a block of results, unless its filter excludes all of them.
fn search_results(
    block: &Block<'_>,
    needles: &Needles,
    (stems, found): (&mut Stems, &mut Vec<Found>),
) -> Option<()> {
    let may_hold = needles.may_be_in(block);
    if may_hold == 0 {
        return Some(());
    }
    block.logs().next()?;
    let content = block.read()?;
    let mut places: Vec<NeedleMatch> = Vec::new();
    let haystack = Haystack {
        text: content.text(),
        part: Part::Results,
        may_hold,
    };
    needles.find(haystack, stems, &mut places);
    places.sort_unstable();
    let mut from = 0;
    while from < places.len() {
        let number = content.at(places[from].at);
        let end = content.range(number)?.end;
        let length = places[from..]
            .partition_point(|place| place.at < end)
            .max(1);
        if let Some(message) = content.message(number) {
            for (needle, times, is_exact) in counted(&places[from..from + length]) {
                let occurrence = TermOccurrence {
                    block: u32::try_from(block.number()).ok()?,
                    message: number as u16,
                    needle: needle as u8,
                    is_exact,
                    times,
                };
                found.push((message.log as u32, occurrence));
            }
        }
        from += length;
    }
    Some(())
}
