//! Reads every memory of a store, for listing and for searching.

use super::Store;
use crate::core::Result;
use crate::core::disk::parallel::all_cores;
use crate::core::disk::sandbox::{FoundFile, LARGEST_MEMORY, Root};
use crate::core::memory::Memory;
use crate::core::memory::layout::Layout;

impl Store {
    /// Reads every file of the store, in the layout's order, and calls `make` with the memory and
    /// its text, in which invalid UTF-8 is replaced. A file that cannot be read is passed with its
    /// problem and an empty text.
    ///
    /// A file for which `known` returns a value is not read. Many files are read on several
    /// threads.
    pub fn read_all<T: Send>(
        &self,
        known: impl Fn(&FoundFile) -> Option<T> + Sync,
        make: impl Fn(Memory, String) -> T + Sync,
    ) -> Result<Vec<T>> {
        const ENOUGH: usize = 500;
        const MOST_THREADS: usize = 4;
        let rules = self.rules();
        let mut found = self.files()?;
        found.sort_by_cached_key(|file| (rules.rank(&file.path), file.path.clone()));
        if found.is_empty() {
            return Ok(Vec::new());
        }
        let root = &self.root.clone().holding();
        let read = |files: &[FoundFile]| -> Vec<T> {
            let all = files.iter().map(|file| {
                known(file).unwrap_or_else(|| {
                    let (memory, text) = self.read_file(root, file);
                    make(memory, text)
                })
            });
            all.collect()
        };
        if found.len() < ENOUGH {
            return Ok(read(&found));
        }
        let threads = all_cores().min(MOST_THREADS);
        let read = &read;
        Ok(std::thread::scope(|scope| {
            let parts: Vec<_> = found
                .chunks(found.len().div_ceil(threads))
                .map(|part| scope.spawn(move || read(part)))
                .collect();
            let joined = parts.into_iter().map(|part| part.join());
            joined
                .flat_map(|part| part.expect("reading a memory does not panic"))
                .collect()
        }))
    }

    fn read_file(&self, root: &Root, file: &FoundFile) -> (Memory, String) {
        let (mut memory, text) = match self.content(root, file) {
            Ok(bytes) => {
                let size = bytes.len() as u64;
                let (text, problem) = match String::from_utf8(bytes) {
                    Ok(text) => (text, None),
                    Err(error) => {
                        let at = error.utf8_error().valid_up_to();
                        let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
                        (text, Some(format!("not UTF-8 text (byte {at})")))
                    }
                };
                let mut memory = self.rules().read(&file.path, &text);
                memory.size = size;
                if problem.is_some() {
                    memory.problem = problem;
                }
                (memory, text)
            }
            Err(error) => {
                let mut memory = Memory::bare(&self.rules().reference_of(&file.path), file.size);
                memory.kind = self.rules().kind(&file.path);
                memory.problem = Some(error.reason());
                (memory, String::new())
            }
        };
        memory.modified = file.modified;
        (memory, text)
    }

    fn content(&self, root: &Root, file: &FoundFile) -> Result<Vec<u8>> {
        if file.size > LARGEST_MEMORY && self.layout == Layout::Events {
            // An event log of any size is listed, without reading its content.
            return Ok(Vec::new());
        }
        root.read_found(file)
    }
}

#[cfg(test)]
mod tests {
    use crate::core::memory::layout::Layout;
    use crate::core::memory::store::Store;

    #[test]
    fn a_large_store_that_several_threads_read_has_every_memory_in_order() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let paths: Vec<String> = (0..1001).map(|n| format!("m{n:04}.md")).collect();
        for path in &paths {
            let text = format!("---\nname: {path}\ndescription: d\ntype: user\n---\n\nx\n");
            std::fs::write(temp.path().join(path), text).expect("writes");
        }
        let store = Store::open("s", temp.path(), Some(Layout::Index)).expect("opens");
        let listed = store.list().expect("listed");
        let found: Vec<&str> = listed.iter().map(|memory| memory.path.as_str()).collect();
        assert_eq!(found, paths);
        assert!(listed.iter().all(|memory| memory.title == memory.path));
    }
}
