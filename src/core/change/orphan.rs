//! Finds dead links, and links that would be dead once memories are deleted.

use std::collections::HashSet;

use crate::core::link::{self, LinkSyntax};
use crate::core::memory::{Memory, stem};
use crate::core::store::Store;
use crate::core::{Error, Result};

/// The memories, other than those at `paths`, that link to one of `paths`; each once.
///
/// The index is not among them: it is regenerated with the change.
pub fn memories_linking_to(store: &Store, paths: &[String]) -> Result<Vec<String>> {
    let rules = store.rules();
    let memories = store.list()?;
    let going: Vec<&Memory> = memories
        .iter()
        .filter(|memory| paths.contains(&memory.path))
        .collect();
    let mut found = Vec::new();
    for memory in memories
        .iter()
        .filter(|memory| !paths.contains(&memory.path))
    {
        let file = rules.file_of(&memory.path);
        let text = match store.text(&file) {
            Ok(Some(text)) => text,
            // A file that is not text has no links.
            Ok(None) | Err(Error::NotText { .. }) => continue,
            Err(error) => return Err(error),
        };
        let links = link::links(&text);
        let leads = |link: &link::Link<'_>| {
            let target = &*link.target;
            going.iter().any(|memory| match link.form {
                LinkSyntax::Wiki => target == memory.title || target == stem(&memory.path),
                LinkSyntax::Inline => {
                    target == memory.path
                        || link::resolve_target(&file, target) == Some(rules.file_of(&memory.path))
                }
            })
        };
        if links.iter().any(leads) {
            found.push(memory.path.clone());
        }
    }
    Ok(found)
}

/// A memory with links to missing files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLinks {
    /// The memory that contains the links.
    pub path: String,
    /// The targets as written, each once.
    pub targets: Vec<String>,
}

/// The links of the store's memories to missing Markdown files. A `[[name]]` without a memory is
/// not reported: that memory may be yet to be written.
pub fn dead_links(store: &Store) -> Result<Vec<DeadLinks>> {
    let rules = store.rules();
    let mut found = Vec::new();
    for memory in store.list()? {
        let file = rules.file_of(&memory.path);
        // Files that cannot be read are reported by the listing.
        let Ok(Some(text)) = store.text(&file) else {
            continue;
        };
        let mut targets: Vec<String> = Vec::new();
        let mut seen: HashSet<String> = HashSet::new();
        for found in link::links(&text) {
            let target = &*found.target;
            let Some(meant) =
                link::resolve_target(&file, target).filter(|meant| meant.ends_with(".md"))
            else {
                continue;
            };
            let is_reference = || {
                store
                    .locate(target)
                    .is_ok_and(|file| store.root().has(&file))
            };
            let is_new = found.form == LinkSyntax::Inline && seen.insert(target.to_owned());
            if is_new && !store.root().has(&meant) && !is_reference() {
                targets.push(target.to_owned());
            }
        }
        if !targets.is_empty() {
            found.push(DeadLinks {
                path: memory.path,
                targets,
            });
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::core::layout::Layout;

    #[test]
    fn a_memory_is_linked_to_by_its_name_or_by_that_of_its_file() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        for (file, name, body) in [
            ("old", "The old one", "gone soon"),
            ("by_name", "n", "see [[The old one]]"),
            ("by_file", "f", "see [[old]]"),
            ("neither", "x", "see [[older]] and [[The old]]"),
        ] {
            let text = format!("---\nname: {name}\ntype: project\n---\n\n{body}\n");
            fs::write(temp.path().join(format!("{file}.md")), text).expect("writes");
        }
        let store = Store::open("s", temp.path(), Some(Layout::Index)).expect("opens");
        let found = memories_linking_to(&store, &["old.md".to_owned()]).expect("reads");
        assert_eq!(found, ["by_file.md", "by_name.md"]);
    }

    #[test]
    fn links_of_either_form_are_found_and_those_that_go_along_are_not() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let memory = |name: &str, body: &str| {
            let text = format!("---\nname: {name}\ntype: project\n---\n\n{body}\n");
            fs::write(temp.path().join(format!("{name}.md")), text).expect("writes");
        };
        memory("old", "gone soon");
        memory("older", "see [old](old.md)");
        memory("wiki", "see [[old]]");
        memory("inline", "see [that](./old.md#part)");
        memory("other", "see [that](other.md) and http://old.md");
        let store = Store::open("s", temp.path(), Some(Layout::Index)).expect("opens");
        let paths = ["old.md".to_owned(), "older.md".to_owned()];
        let found = memories_linking_to(&store, &paths).expect("reads");
        assert_eq!(found, ["inline.md", "wiki.md"]);
    }

    #[test]
    fn links_to_files_that_are_not_there_are_dead() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let root = temp.path().join("working-memory/detail");
        fs::create_dir_all(&root).expect("folders");
        let text = "[a](b.md) [gone](gone.md#L1) [again](gone.md) [r](detail/b.md) [w](https://x/y.md) [out](../../../z.md) [[maybe]] [src](main.rs)";
        fs::write(root.join("a.md"), text).expect("writes");
        fs::write(root.join("b.md"), "[self](b.md)").expect("writes");
        let store = Store::open("s", temp.path(), Some(Layout::Session)).expect("opens");
        let found = dead_links(&store).expect("reads");
        assert_eq!(
            found,
            [DeadLinks {
                path: "detail/a.md".to_owned(),
                targets: vec!["gone.md".to_owned()]
            }]
        );
    }
}
