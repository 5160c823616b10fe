//! One log's messages in their order, walked from where something was found.

use super::pages::Pages;
use super::score::{FROM_AFTER, FROM_BEFORE, Spot, Stretch, worth};
use crate::core::corpus::{Content, Corpus, Message, Part};
use crate::core::log::{Kind, Origin};

/// What was found in a message: needle, how often, whether as in the query.
pub(super) type Found = Vec<(usize, u32, bool)>;

/// A message's place: block and number in it.
pub(super) type At = (usize, usize);

/// A log's messages of one part, in order.
pub(super) struct Lane<'a> {
    pages: Pages<'a>,
    part: Part,
    log: usize,
    /// The blocks that it has messages in, in order.
    blocks: &'a [usize],
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
            pages: Pages::new(Some(corpus)),
            part,
            log,
            blocks,
        }
    }

    /// Returns what was found, among its neighbours; `found` is in the order of the log.
    pub(super) fn stretches(&self, found: &[(At, Found)]) -> Vec<Stretch> {
        // As far as the one at the left end lends and the one at the right end hears.
        const REACH: usize = FROM_BEFORE.len() + FROM_AFTER.len();
        let mut done = Vec::new();
        let mut stretch = Stretch::default();
        for (at, needles) in found {
            let gap = match stretch.spots.last() {
                Some(last) => self.after(last.at, REACH, Some(*at)),
                None => Vec::new(),
            };
            if let Some(end) = gap.iter().position(|spot| spot.at == *at) {
                stretch.spots.extend(&gap[..=end]);
            } else {
                if !stretch.spots.is_empty() {
                    stretch.spots.extend(gap.iter().take(FROM_BEFORE.len()));
                    done.push(std::mem::take(&mut stretch));
                }
                stretch.spots = self.before(*at);
                stretch.spots.extend(self.spot(*at));
            }
            stretch.count(stretch.spots.len().saturating_sub(1), needles);
        }
        if let Some(last) = stretch.spots.last() {
            let rest = self.after(last.at, FROM_BEFORE.len(), None);
            stretch.spots.extend(rest);
            done.push(stretch);
        }
        done
    }

    /// Returns the spots after `at`, at most so many and none behind `last`.
    fn after(&self, at: At, most: usize, last: Option<At>) -> Vec<Spot> {
        let mut spots = Vec::with_capacity(most);
        let first = self.blocks.partition_point(|block| *block < at.0);
        for block in &self.blocks[first..] {
            if spots.len() == most {
                break;
            }
            let Some(content) = self.content(*block) else {
                continue;
            };
            let from = if *block == at.0 { at.1 + 1 } else { 0 };
            for number in from..content.count() {
                if spots.len() == most {
                    return spots;
                }
                spots.extend(self.seen(content, (*block, number)));
                if last == Some((*block, number)) {
                    return spots;
                }
            }
        }
        spots
    }

    /// Returns the spots before `at` that it may lend to, in order.
    fn before(&self, at: At) -> Vec<Spot> {
        let mut spots = Vec::with_capacity(FROM_AFTER.len() + 1);
        let end = self.blocks.partition_point(|block| *block <= at.0);
        for block in self.blocks[..end].iter().rev() {
            if spots.len() == FROM_AFTER.len() {
                break;
            }
            let Some(content) = self.content(*block) else {
                continue;
            };
            let to = if *block == at.0 {
                at.1
            } else {
                content.count()
            };
            for number in (0..to).rev() {
                if spots.len() == FROM_AFTER.len() {
                    break;
                }
                spots.extend(self.seen(content, (*block, number)));
            }
        }
        spots.reverse();
        spots
    }

    fn spot(&self, at: At) -> Option<Spot> {
        let content = self.content(at.0)?;
        self.seen(content, at)
    }

    fn seen(&self, content: Content<'a>, at: At) -> Option<Spot> {
        let message = content
            .message(at.1)
            .filter(|message| message.log == self.log)?;
        Some(seen(at, &message))
    }

    fn content(&self, block: usize) -> Option<Content<'a>> {
        self.pages.content(self.part, block)
    }
}

/// Returns the spot that a message is.
pub(super) fn seen(at: At, message: &Message<'_>) -> Spot {
    // What somebody said tells more than what was only thought or put there.
    let said = match (message.origin, message.kind) {
        (Origin::Injected, _) => 0.7,
        (_, Kind::Thinking | Kind::Notice) => 0.85,
        _ => 1.0,
    };
    Spot {
        at,
        time: message.time,
        length: message.text.len(),
        worth: said * worth(message.text),
    }
}
