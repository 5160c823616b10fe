//! Lookups in the index: the blocks and messages that contain a word.

use super::index::{Occurrence, PlaceList, Segment, SegmentBlocks, TextOccurrence};
use super::pack::Pack;
use super::{Corpus, Part};

/// Decides whether a folded word is a form of a requested one: `None` if not, else whether it
/// is the requested one itself.
pub type FormTest<'a> = &'a mut dyn FnMut(&str) -> Option<bool>;

impl Corpus {
    /// Returns the number of segments of a part's index, which can be searched in parallel.
    pub fn segments(&self, part: Part) -> usize {
        self.manifest.segments[part.number()].len()
    }

    /// Calls `take` for each message, visible or not, that contains the folded word, and for
    /// results for each block that does, in no order.
    pub fn word_occurrences(
        &self,
        (part, segment): (Part, usize),
        word: &str,
        take: &mut dyn FnMut(Occurrence),
    ) {
        self.with_segment(part, segment, &mut |index, blocks| {
            let mut read = Some(());
            index.each_from(word.as_bytes(), &mut |known, list| {
                if known == word.as_bytes() {
                    read = self.each_occurrence((part, segment), (index, blocks, list), take);
                }
                false
            })?;
            read
        });
    }

    /// Like [`Corpus::word_occurrences`], for every word that has the prefix and that `is_form`
    /// accepts, whose value is passed on.
    pub fn form_occurrences(
        &self,
        (part, segment): (Part, usize),
        (prefix, is_form): (&str, FormTest<'_>),
        take: &mut dyn FnMut(bool, Occurrence),
    ) {
        self.with_segment(part, segment, &mut |index, blocks| {
            let mut is_sound = true;
            index.each_from(prefix.as_bytes(), &mut |word, list| {
                if !word.starts_with(prefix.as_bytes()) {
                    return false;
                }
                let is_exact = std::str::from_utf8(word).ok().and_then(&mut *is_form);
                if let Some(is_exact) = is_exact {
                    let list = (index, blocks, list);
                    let take = &mut |occurrence| take(is_exact, occurrence);
                    is_sound = self.each_occurrence((part, segment), list, take).is_some();
                }
                is_sound
            })?;
            is_sound.then_some(())
        });
    }

    /// Calls `take` once for each message, visible or not, in which one of each of these lists of
    /// folded texts is inside a word, and for results for each block, in the order of the
    /// segment's blocks.
    ///
    /// What is held does not depend on how often the texts occur: it is a byte for each message.
    pub fn messages_with(
        &self,
        (part, segment): (Part, usize),
        texts: &[Vec<String>],
        take: &mut dyn FnMut(TextOccurrence),
    ) {
        self.with_segment(part, segment, &mut |index, blocks| {
            let places = index.places_with(texts)?;
            for (number, places) in blocks.each(&places) {
                if !self.manifest.is_indexed_by(part, segment, number) {
                    continue;
                }
                for (message, flags) in places.iter().enumerate() {
                    if let Some((is_whole, is_folded)) = flags.of_all(texts.len()) {
                        take(TextOccurrence {
                            block: number as usize,
                            message,
                            is_whole,
                            is_folded,
                        });
                    }
                }
            }
            Some(())
        });
    }

    /// Opens a segment; `None` if it is damaged.
    pub(super) fn segment(&self, part: Part, number: usize) -> Option<Segment<'_>> {
        let row = self.manifest.segments[part.number()].get(number)?;
        let verified = self.verified[part.number()].get(number)?;
        let bytes = self
            .maps
            .get(Pack::Index(part), row.at, row.bytes() as u64)?;
        Segment::open(part, (row, verified), bytes)
    }

    /// Passes a segment and the numbers of its blocks to `read`, reports damage and releases
    /// the memory of what was read.
    fn with_segment(
        &self,
        part: Part,
        number: usize,
        read: &mut dyn FnMut(Segment<'_>, &SegmentBlocks) -> Option<()>,
    ) {
        let segment = self.segment(part, number);
        let done = segment.and_then(|segment| read(segment, &segment.blocks()?));
        if done.is_none() {
            self.report_damage();
        }
        if let Some(row) = self.manifest.segments[part.number()].get(number) {
            let pack = Pack::Index(part);
            self.maps.release(pack, row.at, row.bytes() as u64);
        }
    }

    fn each_occurrence(
        &self,
        (part, number): (Part, usize),
        (segment, blocks, list): (Segment<'_>, &SegmentBlocks, PlaceList<'_>),
        take: &mut dyn FnMut(Occurrence),
    ) -> Option<()> {
        // The block of the place before, by its index in the segment, and its number if current.
        let mut last: Option<(usize, Option<u32>)> = None;
        let mut is_sound = true;
        segment.each_place(list, &mut |place, times| {
            let near = last.map_or(0, |(index, _)| index);
            let Some((index, message)) = blocks.find(place, near) else {
                is_sound = false;
                return;
            };
            let known = last.filter(|(known, _)| *known == index);
            let (_, current) = *last.insert(known.unwrap_or_else(|| {
                let is_current = |block: &u32| self.manifest.is_indexed_by(part, number, *block);
                (index, blocks.number(index).filter(is_current))
            }));
            if let Some(block) = current {
                take(Occurrence {
                    block: block as usize,
                    message: message as usize,
                    times,
                });
            }
        })?;
        is_sound.then_some(())
    }
}
