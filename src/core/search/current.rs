//! Search over what is there now: reads the memories and brings the corpus up to date first.

use super::{Shelf, Sources};
use crate::core::Result;
use crate::core::archive::{Archive, Meant};
use crate::core::corpus::Progress;
use crate::core::store::Store;

/// What a search came to.
#[derive(Debug)]
pub struct Searched<T> {
    /// What was found.
    pub answer: T,
    /// Which logs could not be read or kept, and why.
    pub unread: Vec<String>,
    /// How many logs were left for another time, because the reading was called off.
    pub left: usize,
}

/// Searches the memories of these stores, and the logs where an archive is given. The logs are
/// brought up to date as far as `progress` lets it.
pub fn search<'a, T>(
    stores: impl IntoIterator<Item = &'a Store>,
    archive: Option<&Archive>,
    progress: &dyn Progress,
    search: impl Fn(Sources<'_>) -> T,
) -> Result<Searched<T>> {
    let shelf = Shelf::read(stores)?;
    let Some(archive) = archive else {
        return Ok(Searched {
            answer: search(Sources {
                shelf: &shelf,
                corpus: None,
            }),
            unread: Vec::new(),
            left: 0,
        });
    };
    let files = archive.files();
    let search_in = |meant: &Meant| {
        search(Sources {
            shelf: &shelf,
            corpus: Some(&meant.corpus),
        })
    };
    let mut meant = archive.meant(&files, progress)?;
    let mut answer = search_in(&meant);
    if meant.corpus.is_damaged() {
        // Part of the cache could not be read. A second refresh makes that part anew.
        drop(meant);
        meant = archive.meant(&files, progress)?;
        answer = search_in(&meant);
    }
    Ok(Searched {
        answer,
        unread: meant.unread,
        left: meant.left,
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{House, said};
    use super::*;
    use crate::core::archive::Whose;
    use crate::core::log::Places;

    #[test]
    fn logs_are_searched_only_where_an_archive_is_given() {
        let house = House::new(&[], &[said(&["how do we rotate tokens"])]);
        let archive = Archive {
            places: Places {
                stores: vec![house.path("s0")],
                ..Places::default()
            },
            kept: None,
            cache: house.path("cache"),
            whose: Whose::Everybodys,
        };
        let count = |archive: Option<&Archive>| {
            let logs = |sources: Sources<'_>| sources.corpus.map(|corpus| corpus.logs().len());
            search(&[], archive, &(), logs).expect("searched").answer
        };
        assert_eq!(count(Some(&archive)), Some(1));
        assert_eq!(count(None), None);
    }
}
