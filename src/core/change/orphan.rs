//! Which links lead nowhere once memories are gone.

use crate::core::link::{self, Form};
use crate::core::memory::{Memory, stem};
use crate::core::store::Store;
use crate::core::{Error, Result};

/// The memories of the store, beside those at `paths`, that link to one of these; each once.
///
/// The index is not among them: it is regenerated with the change.
pub fn linking(store: &Store, paths: &[String]) -> Result<Vec<String>> {
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
        let file = rules.place(&memory.path);
        let text = match store.text(&file) {
            Ok(Some(text)) => text,
            // What cannot be read as text has no links that could be followed.
            Ok(None) | Err(Error::NotText { .. }) => continue,
            Err(error) => return Err(error),
        };
        let links = link::links(&text);
        let leads = |link: &link::Link<'_>| {
            let target = &*link.target;
            going.iter().any(|memory| match link.form {
                Form::Wiki => target == memory.title || target == stem(&memory.path),
                Form::Inline => {
                    target == memory.path
                        || link::resolved(&file, target) == Some(rules.place(&memory.path))
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
    use crate::core::layout::Layout;

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
        let found = linking(&store, &paths).expect("reads");
        assert_eq!(found, ["inline.md", "wiki.md"]);
    }
}
