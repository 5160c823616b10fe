//! Typed files without a `MEMORY.md` beside them: an index store that has no index yet.

use super::{Index, TYPES};
use crate::core::disk::sandbox::Root;
use crate::core::memory::layout::Rules as _;

/// The maximum number of files that are checked for a type.
const MOST_FILES: usize = 32;

/// The largest file that is checked.
const LARGEST: u64 = 64 << 10;

/// Whether a file of the root has frontmatter with one of the known types.
pub(in crate::core::memory::layout) fn has_typed_file(root: &Root) -> bool {
    let Ok(found) = root.markdown("", 0) else {
        return false;
    };
    let small = found
        .iter()
        .filter(|file| file.size <= LARGEST)
        .take(MOST_FILES);
    small
        .filter_map(|file| Some((file, root.read_found(file).ok()?)))
        .any(|(file, bytes)| {
            let memory = Index.read(&file.path, &String::from_utf8_lossy(&bytes));
            let category = memory.category.as_deref().map(str::trim);
            category.is_some_and(|given| TYPES.iter().any(|(name, _)| *name == given))
        })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::core::memory::layout::Layout;

    #[test]
    fn typed_files_without_an_index_are_an_index_store_and_other_files_are_not() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let root = Root::open(temp.path()).expect("opens");
        let write = |name: &str, text: &str| {
            fs::write(temp.path().join(name), text).expect("a file");
        };
        write("README.md", "# Memory management\n");
        write("post.md", "---\ntitle: x\ntype: article\n---\n\ntext\n");
        assert_eq!(Layout::detect(&root), []);
        write("a.md", "---\nmetadata:\n  type: feedback\n---\n\ntext\n");
        assert_eq!(Layout::detect(&root), [Layout::Index]);
        fs::create_dir(temp.path().join("facts")).expect("a folder");
        assert_eq!(Layout::detect(&root), [Layout::Facts]);
    }
}
