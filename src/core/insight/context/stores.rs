//! What tome's hook tells a session of the stores around it: what each layout asks for, once, and
//! then the stores, the nearest first. A limit is kept by leaving out the farthest.

use std::cmp::Reverse;
use std::path::Path;

use crate::core::memory::store::Store;

/// How much of the limit is kept for the line that names what was left out.
const RESERVED: usize = 400;

/// A store is left out if less than this of it could be told.
const LEAST: usize = 200;

/// How many stores that were left out are named.
const MOST_NAMED: usize = 8;

/// Returns what a session in this directory is told, in at most `most` UTF-16 units. Stores that are
/// equally near keep their order.
pub fn context_of_stores(stores: &[Store], cwd: &Path, most: usize) -> String {
    let mut stores: Vec<&Store> = stores.iter().collect();
    stores.sort_by_key(|store| Reverse(shared_folders(store.root().path(), cwd)));
    let mut left = most.saturating_sub(RESERVED);
    let (mut guides, mut blocks, mut unsaid) = (Vec::new(), Vec::new(), Vec::new());
    for store in stores {
        let rules = store.rules();
        // A store that cannot be read has nothing to tell.
        let contents = rules.contents(store).unwrap_or_default();
        if contents.is_empty() {
            continue;
        }
        let guide = rules.guide();
        let guide = (!guide.is_empty() && !guides.contains(&guide)).then_some(guide);
        let place = store.root().path().display();
        let block = format!("Memory in {place} (store {}):\n\n{contents}", store.name());
        let needed = guide.as_deref().map_or(0, units) + LEAST.min(units(&block));
        // One that is left out ends it: what follows is farther away.
        if needed > left || !unsaid.is_empty() {
            unsaid.push(store.name());
            continue;
        }
        left -= guide.as_deref().map_or(0, units);
        guides.extend(guide);
        let block = truncated(&block, left);
        left = left.saturating_sub(units(&block));
        blocks.push(block);
    }
    let parts = guides.into_iter().chain(blocks).chain(left_out(&unsaid));
    parts.collect::<Vec<_>>().join("\n\n")
}

/// How many folders the paths share.
fn shared_folders(one: &Path, other: &Path) -> usize {
    let pairs = one.components().zip(other.components());
    pairs.take_while(|(one, other)| one == other).count()
}

/// The length of a part with the gap after it.
fn units(text: &str) -> usize {
    text.encode_utf16().count() + 2
}

/// The text, cut between lines to about so many UTF-16 units.
fn truncated(text: &str, most: usize) -> String {
    let mut length = 0;
    let over = text.char_indices().find(|(_, c)| {
        length += c.len_utf16();
        length > most
    });
    let Some((at, _)) = over else {
        return text.to_owned();
    };
    let end = text[..at].rfind('\n').unwrap_or(at);
    let lines = text[end..].trim().lines().count();
    format!(
        "{}\n\n... ({lines} lines truncated; memory_view and memory_list show all)",
        &text[..end]
    )
}

/// Names the stores that were left out, and how to get them.
fn left_out(names: &[&str]) -> Option<String> {
    let count = match names.len() {
        0 => return None,
        1 => "1 store farther away is".to_owned(),
        count => format!("{count} stores farther away are"),
    };
    let shown = &names[..names.len().min(MOST_NAMED)];
    let more = match names.len() - shown.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let names = shown.join(", ");
    Some(format!(
        "{count} left out: {names}{more}. memory_list with a store's name lists its memories, recall_memory searches all."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::memory::layout::Layout;

    const MOST: usize = 9_500;

    /// Stores with an index of so many lines each, in folders that are nearer and nearer to the last.
    fn told(count: usize, lines: usize) -> (String, usize) {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let mut folder = temp.path().to_owned();
        let mut stores = Vec::new();
        for number in 0..count {
            folder = folder.join(format!("f{number}"));
            let root = folder.join(".memory");
            std::fs::create_dir_all(&root).expect("created");
            let index: String = (0..lines)
                .map(|line| {
                    format!("- [m{line}](m{line}.md) — what memory {line} is about, and when\n")
                })
                .collect();
            std::fs::write(root.join("MEMORY.md"), index).expect("written");
            let name = format!("s{number}");
            stores.push(Store::open(&name, &root, Some(Layout::Index)).expect("a store"));
        }
        let told = context_of_stores(&stores, &folder, MOST);
        let place = temp.path().display().to_string();
        let blocks = told.matches(&format!("Memory in {place}")).count();
        (told, blocks)
    }

    #[test]
    fn what_a_layout_asks_for_is_said_once_and_the_nearest_store_comes_first() {
        let (told, blocks) = told(3, 2);
        assert_eq!(blocks, 3);
        assert_eq!(told.matches("Memory types:").count(), 1, "{told}");
        let at = |name: &str| told.find(&format!("(store {name})")).expect("told");
        assert!(at("s2") < at("s1") && at("s1") < at("s0"), "{told}");
        assert!(!told.contains("left out"), "{told}");
    }

    #[test]
    fn a_limit_is_kept_by_leaving_out_the_farthest() {
        let (told, blocks) = told(60, 3);
        assert!(told.encode_utf16().count() <= MOST, "{}", told.len());
        assert!(blocks > 5, "{blocks}");
        assert!(told.contains("(store s59)") && !told.contains("(store s0)"));
        let last = told.lines().last().expect("a line");
        assert!(
            last.starts_with(&format!(
                "{} stores farther away are left out: s",
                60 - blocks
            )),
            "{last}"
        );
    }

    #[test]
    fn a_long_store_is_cut_between_lines_and_says_so() {
        let (told, blocks) = told(2, 190);
        assert_eq!(blocks, 1);
        assert!(told.encode_utf16().count() <= MOST, "{}", told.len());
        assert!(told.contains("lines truncated; memory_view and memory_list show all)"));
        assert!(told.ends_with("1 store farther away is left out: s0. memory_list with a store's name lists its memories, recall_memory searches all."), "{told}");
    }
}
