//! One log's messages in their order, walked from where something was found.

use std::cell::Cell;

use super::score::{Count, FROM_AFTER, FROM_BEFORE, Spot, Stretch, worth_of};
#[cfg(test)]
use crate::core::corpus::Message;
use crate::core::corpus::{Corpus, Part, Sketch, Table};
use crate::core::log::{Kind, Origin};

/// A message's place: block and number in it.
pub(super) type At = (usize, usize);

/// A needle in a message. There may be as many as words in the logs, so it is small.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Sight {
    pub(super) block: u32,
    pub(super) message: u16,
    pub(super) needle: u8,
    /// Whether it is written as in the query, at least once.
    pub(super) is_exact: bool,
    pub(super) times: u32,
}

impl Sight {
    pub(super) fn at(&self) -> At {
        (self.block as usize, usize::from(self.message))
    }
}

/// A log's messages of one part, in order.
pub(super) struct Lane<'a> {
    corpus: &'a Corpus,
    part: Part,
    log: usize,
    /// The blocks that it has messages in, in order.
    blocks: &'a [usize],
    /// The one that was opened last, and mostly is the next, too.
    open: Cell<Option<(usize, Table<'a>)>>,
}

/// Returns the blocks that each log has messages in.
pub(super) fn blocks_of_logs(corpus: &Corpus, part: Part) -> Vec<Vec<usize>> {
    let mut blocks = vec![Vec::new(); corpus.logs().len()];
    for block in corpus.blocks(part) {
        for log in block.logs() {
            if blocks[log].last() != Some(&block.number()) {
                blocks[log].push(block.number());
            }
        }
    }
    blocks
}

impl<'a> Lane<'a> {
    pub(super) fn new(corpus: &'a Corpus, part: Part, (log, blocks): (usize, &'a [usize])) -> Self {
        Self {
            corpus,
            part,
            log,
            blocks,
            open: Cell::default(),
        }
    }

    /// Returns what was found, among its neighbours; `found` is in the order of the log.
    pub(super) fn stretches(&self, found: &[Sight]) -> Vec<Stretch> {
        // As far as the one at the left end lends and the one at the right end hears.
        const REACH: usize = FROM_BEFORE.len() + FROM_AFTER.len();
        let mut done = Vec::new();
        let mut stretch = Stretch::default();
        let mut gap: Vec<Spot> = Vec::with_capacity(REACH);
        for sights in found.chunk_by(|a, b| a.at() == b.at()) {
            let at = sights[0].at();
            gap.clear();
            if let Some(last) = stretch.spots.last() {
                self.after(last.at, (REACH, Some(at)), &mut gap);
            }
            if gap.last().is_some_and(|spot| spot.at == at) {
                stretch.spots.extend(&gap);
            } else {
                if !stretch.spots.is_empty() {
                    stretch.spots.extend(gap.iter().take(FROM_BEFORE.len()));
                    done.push(std::mem::take(&mut stretch));
                }
                self.before(at, &mut stretch.spots);
                stretch.spots.extend(self.spot(at));
            }
            let spot = stretch.spots.len().saturating_sub(1);
            stretch.counts.extend(sights.iter().map(|sight| Count {
                spot,
                needle: usize::from(sight.needle),
                times: sight.times,
                is_exact: sight.is_exact,
            }));
        }
        if let Some(last) = stretch.spots.last().map(|spot| spot.at) {
            self.after(last, (FROM_BEFORE.len(), None), &mut stretch.spots);
            done.push(stretch);
        }
        done
    }

    /// Adds the spots after `at`, at most so many and none behind `last`.
    fn after(&self, at: At, (most, last): (usize, Option<At>), spots: &mut Vec<Spot>) {
        let mut left = most;
        let first = self.blocks.partition_point(|block| *block < at.0);
        for block in &self.blocks[first..] {
            let Some(table) = self.table(*block) else {
                continue;
            };
            let from = if *block == at.0 { at.1 + 1 } else { 0 };
            for number in from..table.count() {
                if left == 0 {
                    return;
                }
                if let Some(spot) = self.seen(table, (*block, number)) {
                    spots.push(spot);
                    left -= 1;
                }
                if last == Some((*block, number)) {
                    return;
                }
            }
        }
    }

    /// Adds the spots before `at` that it may lend to, in order.
    fn before(&self, at: At, spots: &mut Vec<Spot>) {
        let start = spots.len();
        let end = self.blocks.partition_point(|block| *block <= at.0);
        for block in self.blocks[..end].iter().rev() {
            let Some(table) = self.table(*block) else {
                continue;
            };
            let to = if *block == at.0 { at.1 } else { table.count() };
            for number in (0..to).rev() {
                if spots.len() - start == FROM_AFTER.len() {
                    break;
                }
                spots.extend(self.seen(table, (*block, number)));
            }
            if spots.len() - start == FROM_AFTER.len() {
                break;
            }
        }
        spots[start..].reverse();
    }

    fn spot(&self, at: At) -> Option<Spot> {
        self.seen(self.table(at.0)?, at)
    }

    fn seen(&self, table: Table<'a>, at: At) -> Option<Spot> {
        let sketch = table.sketch(at.1).filter(|sketch| sketch.log == self.log)?;
        Some(sketched(at, &sketch))
    }

    fn table(&self, block: usize) -> Option<Table<'a>> {
        if let Some((_, table)) = self.open.get().filter(|(open, _)| *open == block) {
            return Some(table);
        }
        let table = self.corpus.block(self.part, block)?.table()?;
        self.open.set(Some((block, table)));
        Some(table)
    }
}

/// Returns the spot that a message is, by what its block says of it.
fn sketched(at: At, sketch: &Sketch) -> Spot {
    Spot {
        at,
        time: sketch.time,
        length: sketch.length,
        worth: said(sketch.origin, sketch.kind) * worth_of(sketch.is_question),
    }
}

/// Returns the spot that a message is, by its text.
#[cfg(test)]
pub(super) fn seen(at: At, message: &Message<'_>) -> Spot {
    Spot {
        at,
        time: message.time,
        length: message.text.len(),
        worth: said(message.origin, message.kind) * super::score::worth(message.text),
    }
}

/// What somebody said tells more than what was only thought or put there.
fn said(origin: Origin, kind: Kind) -> f32 {
    match (origin, kind) {
        (Origin::Injected, _) => 0.7,
        (_, Kind::Thinking | Kind::Notice) => 0.85,
        _ => 1.0,
    }
}
