//! Merges the segments of the indexes at the end of a build.
//!
//! The segments that a build wrote become one, together with older ones that are not much larger:
//! so there are few segments, and each posting is merged a few times at most while logs grow. An
//! index is written to a new file if too much of the old one is outdated; in particular the
//! segments of a first build leave nothing behind.

use std::sync::{Mutex, PoisonError};

use super::Part;
use super::index::{self, MergedSegment, ReadSegment, Segment, SegmentRow};
use super::manifest::{Manifest, spans_of};
use super::pack::{Appender, Generation, HEADER, Pack, PackAppender};
use crate::core::parallel::on_all_cores;
use crate::core::{Error, Result};

/// The number of postings of a segment that is always merged.
const FEW_POSTINGS: u64 = 1 << 12;
/// The number of postings below which threads are not worthwhile.
const WORTH_THREADS: u64 = 1 << 18;
/// Bytes of outdated segments below which an index is not written anew.
const PILED_UP: u64 = 4 * 1024 * 1024;

/// The segments of a part that are merged.
struct Merge<'a> {
    part: Part,
    /// The number of the first one.
    from: usize,
    /// Whether the merged segment is written to a new file.
    is_anew: bool,
    pack: PackAppender<'a>,
}

/// Merges the segments that were added to the manifest since `old`; `None` if one is damaged.
pub(super) fn merge_new(
    (appender, manifest): &mut (Appender, Manifest),
    old: Option<&Manifest>,
) -> Result<Option<()>> {
    let generation = Generation {
        indexes: appender.new_numbers(),
        ..manifest.generation
    };
    let mut merges = Vec::new();
    let mut postings = 0;
    for (pack, appender) in appender.packs() {
        if let Pack::Index(part) = pack
            && let Some((from, is_anew)) = planned((part, appender.length()), (manifest, old))
        {
            let segments = &manifest.segments[part.number()][from..];
            postings += postings_of(segments);
            merges.push(Mutex::new(Merge {
                part,
                from,
                is_anew,
                pack: appender,
            }));
        }
    }
    let run = |number: usize| {
        let merge = merges[number].lock();
        let mut merge = merge.unwrap_or_else(PoisonError::into_inner);
        merge.run(manifest, &generation)
    };
    let merged: Vec<Result<Option<MergedSegment>>> = match postings {
        0..WORTH_THREADS => (0..merges.len()).map(run).collect(),
        _ => on_all_cores(merges.len(), run),
    };
    for (merge, merged) in merges.into_iter().zip(merged) {
        let merge = merge.into_inner().unwrap_or_else(PoisonError::into_inner);
        let Some(merged) = merged? else {
            return Ok(None);
        };
        if merge.is_anew {
            let number = merge.part.number();
            manifest.generation.indexes[number] = generation.indexes[number];
        }
        replace(manifest, (merge.part, merge.from), &merged);
    }
    manifest.lengths = appender.lengths();
    Ok(Some(()))
}

/// Returns the number of the first segment of a part to merge, and whether its index, which has
/// this many bytes, is written anew; `None` if there is nothing to merge.
fn planned(
    (part, length): (Part, u64),
    (manifest, old): (&Manifest, Option<&Manifest>),
) -> Option<(usize, bool)> {
    let segments = &manifest.segments[part.number()];
    let mut from = old.map_or(0, |old| old.segments[part.number()].len());
    if from >= segments.len() {
        return None;
    }
    let mut postings = postings_of(&segments[from..]);
    while let Some(before) = from.checked_sub(1)
        && let own = u64::from(segments[before].postings)
        && own <= 2 * postings + FEW_POSTINGS
    {
        postings += own;
        from = before;
    }
    let has_several = segments.len() - from > 1;
    let bytes = |segments: &[SegmentRow]| segments.iter().map(SegmentRow::bytes).sum::<u64>();
    let kept = match has_several {
        true => &segments[..from],
        false => segments,
    };
    let outdated = length.saturating_sub(HEADER + bytes(kept));
    let is_first = old.is_none() && has_several;
    if is_first || outdated > bytes(segments) / 2 + PILED_UP {
        return Some((0, true));
    }
    has_several.then_some((from, false))
}

/// Replaces the segments of a part from this number on by the one that they were merged into.
fn replace(manifest: &mut Manifest, (part, from): (Part, usize), merged: &MergedSegment) {
    let segments = &mut manifest.segments[part.number()];
    let old = spans_of(&segments.split_off(from));
    let first = spans_of(segments);
    segments.push(merged.row);
    let moved = first..first + old;
    let blocks = &mut manifest.blocks[part.number()];
    for (span, own) in (first..).zip(&merged.spans) {
        for (number, _) in &own.blocks {
            // A span that was copied may have a block that was replaced: a later span has its
            // successor, and the last one counts.
            if let Some(block) = blocks.get_mut(*number as usize)
                && moved.contains(&(block.span as usize))
            {
                block.span = span as u32;
            }
        }
    }
}

fn postings_of(segments: &[SegmentRow]) -> u64 {
    let postings = segments.iter().map(|segment| u64::from(segment.postings));
    postings.sum()
}

impl Merge<'_> {
    /// Merges the segments and appends the new one; `None` if one is damaged.
    fn run(
        &mut self,
        manifest: &Manifest,
        generation: &Generation,
    ) -> Result<Option<MergedSegment>> {
        let pack = Pack::Index(self.part);
        let rows = &manifest.segments[self.part.number()][self.from..];
        let written = self.pack.written()?;
        let read: Vec<ReadSegment> = rows.iter().map(ReadSegment::none).collect();
        let segments = rows.iter().zip(&read).map(|(row, read)| {
            let bytes = written.get(row.at, row.bytes())?;
            Segment::open(self.part, (row, read), bytes)
        });
        let Some(segments) = segments.collect::<Option<Vec<Segment<'_>>>>() else {
            return Ok(None);
        };
        if self.is_anew {
            self.pack.start_anew(pack, generation)?;
        }
        let at = self.pack.length();
        let all = &manifest.segments[self.part.number()][..self.from];
        let first = spans_of(all);
        let is_current =
            |span: usize, block: u32| manifest.is_indexed_by(self.part, first + span, block);
        let merged = index::merge(&segments, &is_current, &mut |bytes| {
            self.pack.append(bytes)?;
            // What is still needed is read again.
            written.release_all();
            Ok::<(), Error>(())
        })?;
        Ok(merged.map(|merged| MergedSegment {
            row: SegmentRow { at, ..merged.row },
            ..merged
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PART: Part = Part::Words;

    fn manifest(postings: &[u32]) -> Manifest {
        let mut manifest = Manifest::new(Generation {
            number: 1,
            indexes: [1; 3],
            mark: 0,
        });
        manifest.segments[PART.number()] = postings.iter().map(|count| row(*count)).collect();
        manifest
    }

    fn row(postings: u32) -> SegmentRow {
        SegmentRow {
            body: 2 * u64::from(postings),
            postings,
            ..SegmentRow::default()
        }
    }

    fn live(manifest: &Manifest) -> u64 {
        let segments = manifest.segments[PART.number()].iter();
        segments.map(SegmentRow::bytes).sum()
    }

    #[test]
    fn all_segments_of_a_first_build_become_one_in_a_new_file() {
        let several = manifest(&[500_000, 500_000, 10]);
        let length = HEADER + live(&several);
        assert_eq!(planned((PART, length), (&several, None)), Some((0, true)));
        let single = manifest(&[500_000]);
        let length = HEADER + live(&single);
        assert_eq!(planned((PART, length), (&single, None)), None);
        assert_eq!(planned((PART, HEADER), (&manifest(&[]), None)), None);
    }

    #[test]
    fn a_small_build_leaves_large_segments_alone() {
        let old = manifest(&[9_000_000, 50_000]);
        let new = manifest(&[9_000_000, 50_000, 100]);
        let length = HEADER + live(&new);
        assert_eq!(planned((PART, length), (&new, Some(&old))), None);
        let new = manifest(&[9_000_000, 50_000, 30_000]);
        let length = HEADER + live(&new);
        assert_eq!(
            planned((PART, length), (&new, Some(&old))),
            Some((1, false))
        );
    }

    #[test]
    fn however_an_index_grows_it_has_few_segments_and_is_mostly_current_and_seldom_merged() {
        const BUILDS: u64 = 3000;
        const EACH: u32 = 5000;
        let mut old = manifest(&[]);
        let mut length = HEADER;
        let mut merged = 0;
        for build in 1..=BUILDS {
            let mut new = old.clone();
            new.segments[PART.number()].push(row(EACH));
            length += row(EACH).bytes();
            if let Some((from, is_anew)) = planned((PART, length), (&new, Some(&old))) {
                let segments = &mut new.segments[PART.number()];
                let sum = postings_of(&segments.split_off(from)) as u32;
                segments.push(row(sum));
                merged += u64::from(sum);
                length = if is_anew { HEADER } else { length } + row(sum).bytes();
            }
            old = new;
            let live = live(&old);
            assert_eq!(live, 2 * build * u64::from(EACH));
            assert!(old.segments[PART.number()].len() <= 12);
            assert!(length <= 2 * live + 2 * PILED_UP, "{length} of {live}");
        }
        let all = BUILDS * u64::from(EACH);
        assert!(
            merged < 24 * all,
            "each posting is merged {} times",
            merged / all
        );
    }
}
