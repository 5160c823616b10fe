//! Finds links that would be dead once memories are deleted.

use crate::core::memory::store::Store;
use crate::core::memory::{Memory, stem};
use crate::core::text::link::{self, LinkSyntax};
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::core::memory::layout::Layout;

    #[test]
    fn links_of_either_form_are_found_and_those_that_go_along_are_not() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let memory = |stem: &str, body: &str| {
            let text = format!("---\nname: The {stem}\ntype: project\n---\n\n{body}\n");
            fs::write(temp.path().join(format!("{stem}.md")), text).expect("writes");
        };
        memory("old", "gone soon");
        memory("older", "see [old](old.md)");
        memory("wiki", "see [[old]]");
        memory("title", "see [[The old]]");
        memory("inline", "see [that](./old.md#part)");
        memory("other", "see [that](other.md), [[olde]] and http://old.md");
        let store = Store::open("s", temp.path(), Some(Layout::Index)).expect("opens");
        let paths = ["old.md".to_owned(), "older.md".to_owned()];
        let found = memories_linking_to(&store, &paths).expect("reads");
        assert_eq!(found, ["inline.md", "title.md", "wiki.md"]);
    }
}
