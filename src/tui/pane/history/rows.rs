//! The rows of the history: which changes are listed, with undo and redo folded into what they
//! undid.

use std::collections::HashMap;

use crate::core::change::ChangeVerb;
use crate::core::change::history::{FileChange, Record};
use crate::core::memory::store::StoreId;
use crate::tui::widget::list::Row;

/// Whether the effect of a change is still there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChangeState {
    Made,
    Undone,
    Redone,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::tui::pane) struct HistoryRow {
    id: String,
    /// Its index in the records.
    pub(super) record: usize,
    pub(super) state: ChangeState,
}

impl Row for HistoryRow {
    fn is_same(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

/// Returns the rows of `records`, which are newest first. With a memory, only its changes, those
/// under earlier names included.
pub(super) fn rows(records: &[Record], memory: Option<&(StoreId, String)>) -> Vec<HistoryRow> {
    let folded = Folded::of(records);
    let is_listed = match memory {
        Some(memory) => about(records, memory),
        None => vec![true; records.len()],
    };
    let mut listed = vec![false; records.len()];
    for (at, is_listed) in is_listed.into_iter().enumerate() {
        if is_listed {
            listed[folded.root[at]] = true;
        }
    }
    (0..records.len())
        .filter(|at| listed[*at])
        .map(|at| HistoryRow {
            id: records[at].id.clone(),
            record: at,
            state: folded.state[at],
        })
        .collect()
}

/// For each record the one that it undid or redid in the end, and the state of that one.
struct Folded {
    root: Vec<usize>,
    state: Vec<ChangeState>,
}

impl Folded {
    fn of(records: &[Record]) -> Self {
        let ids = records.iter().enumerate();
        let by_id: HashMap<&str, usize> =
            ids.map(|(at, record)| (record.id.as_str(), at)).collect();
        let mut root: Vec<usize> = (0..records.len()).collect();
        let mut state = vec![ChangeState::Made; records.len()];
        // Whether a record leaves its root in effect.
        let mut applies = vec![true; records.len()];
        // Oldest first, so that what a record refers to is known.
        for at in (0..records.len()).rev() {
            let record = &records[at];
            let of = record.of.as_deref().and_then(|of| by_id.get(of).copied());
            // What was pruned, or comes later, cannot be folded into.
            let Some(of) = of.filter(|of| *of > at) else {
                continue;
            };
            applies[at] = match record.verb {
                ChangeVerb::Undo => !applies[of],
                ChangeVerb::Redo => applies[of],
                _ => continue,
            };
            root[at] = root[of];
            state[root[at]] = if applies[at] {
                ChangeState::Redone
            } else {
                ChangeState::Undone
            };
        }
        Self { root, state }
    }
}

/// The place of a memory at one time.
type Place = (StoreId, String);

fn place_of(file: &FileChange) -> Place {
    (StoreId::new(&file.root, file.layout), file.reference())
}

/// Whether each record changed the memory; renames and moves are followed back.
fn about(records: &[Record], memory: &Place) -> Vec<bool> {
    let mut place = memory.clone();
    let mut listed = Vec::with_capacity(records.len());
    for record in records {
        let own = record.files.iter().find(|file| place_of(file) == place);
        listed.push(own.is_some());
        if own.is_some_and(|file| file.before.is_none())
            && let Some(earlier) = earlier_place(record, &place)
        {
            place = earlier;
        }
    }
    listed
}

/// Where a file that a change created was before: the only one that went, or that of its name.
fn earlier_place(record: &Record, place: &Place) -> Option<Place> {
    let went: Vec<Place> = record
        .files
        .iter()
        .filter(|file| !file.derived && file.before.is_some() && file.after.is_none())
        .map(place_of)
        .collect();
    let name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    match went.as_slice() {
        [one] => Some(one.clone()),
        several => {
            let mut several = several.iter();
            several
                .find(|other| name(&other.1) == name(&place.1))
                .cloned()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::core::change::Author;
    use crate::core::disk::revision::Revision;
    use crate::core::memory::layout::Layout;

    fn record(
        id: &str,
        verb: ChangeVerb,
        of: Option<&str>,
        files: &[(&str, bool, bool)],
    ) -> Record {
        let revision = |is_there: bool| is_there.then(|| Revision::of(id.as_bytes()));
        Record {
            id: id.to_owned(),
            time: 1,
            author: Author {
                who: "you".to_owned(),
                door: "tui".to_owned(),
            },
            verb,
            message: String::new(),
            of: of.map(str::to_owned),
            files: files
                .iter()
                .map(|(path, before, after)| FileChange {
                    before: revision(*before),
                    after: revision(*after),
                    ..FileChange::new(Path::new("/r"), Layout::Index, path)
                })
                .collect(),
            origin: None,
            tombstones: Vec::new(),
        }
    }

    fn listed(records: &[Record], memory: Option<&str>) -> Vec<(String, ChangeState)> {
        let memory = memory.map(|path| {
            let store = StoreId::new(std::path::Path::new("/r"), Layout::Index);
            (store, path.to_owned())
        });
        rows(records, memory.as_ref())
            .into_iter()
            .map(|row| (records[row.record].id.clone(), row.state))
            .collect()
    }

    #[test]
    fn undo_and_redo_are_folded_into_what_they_undid() {
        use ChangeVerb::{Delete, Edit, Redo, Undo};
        let file = [("a.md", true, true)];
        let mut records = vec![
            record("A", Delete, None, &file),
            record("B", Undo, Some("A"), &file),
            record("C", Edit, None, &file),
            record("D", Redo, Some("A"), &file),
            record("E", Undo, Some("D"), &file),
            record("F", Undo, Some("C"), &file),
            record("G", Undo, Some("F"), &file),
            record("H", Undo, Some("pruned"), &file),
        ];
        records.reverse();
        assert_eq!(
            listed(&records, None),
            [
                ("H".to_owned(), ChangeState::Made),
                ("C".to_owned(), ChangeState::Redone),
                ("A".to_owned(), ChangeState::Undone),
            ]
        );
    }

    #[test]
    fn the_changes_of_one_memory_are_listed_under_its_earlier_names_too() {
        use ChangeVerb::{Edit, Rename};
        let mut records = vec![
            record("A", Edit, None, &[("old.md", false, true)]),
            record("B", Edit, None, &[("other.md", true, true)]),
            record(
                "C",
                Rename,
                None,
                &[
                    ("old.md", true, false),
                    ("new.md", false, true),
                    ("other.md", true, true),
                ],
            ),
            record("D", Edit, None, &[("new.md", true, true)]),
            record("E", Edit, None, &[("old.md", false, true)]),
        ];
        records.reverse();
        let ids = |path| -> Vec<String> {
            let listed = listed(&records, Some(path)).into_iter();
            listed.map(|(id, _)| id).collect()
        };
        assert_eq!(ids("new.md"), ["D", "C", "A"]);
        assert_eq!(ids("other.md"), ["C", "B"]);
    }
}
