//! The location of a store that does not exist yet and is created with its first memory.

use super::{Environment, FoundStore, Project, is_of_subagent, lessons_root};
use crate::core::Result;
use crate::core::memory::config::Settings;
use crate::core::memory::layout::Layout;
use crate::core::memory::store::Store;

/// Returns the store that the first memory of this layout creates, missing or empty; `None` if
/// the layout has no location of its own, or would not be discovered there.
///
/// A location that leads out of the project is an error.
pub fn first_store(
    environment: &Environment,
    settings: &Settings,
    layout: Layout,
) -> Result<Option<FoundStore>> {
    let project = Project::of(&environment.cwd);
    let below = |folder: &str| project.root().join(folder);
    let places = match layout {
        Layout::Index if settings.discover_project => vec![
            (".memory", below(".memory")),
            ("claude-memory", below(".claude/memory")),
        ],
        Layout::Facts if settings.discover_project => {
            vec![("data-memory", below("data/memory"))]
        }
        Layout::Coder if settings.discover_home => {
            vec![("lessons", lessons_root(environment, settings))]
        }
        _ => Vec::new(),
    };
    let border = project.border(environment, settings);
    for (name, root) in places {
        border.check(&root)?;
        let store = Store::open(name, &root, Some(layout))?;
        let is_other = |known: &Layout| *known != layout;
        // A directory of another layout stays what it is.
        if !Layout::detect(store.root()).iter().any(is_other) {
            return Ok(Some(FoundStore {
                store,
                why: "not there yet; the first memory makes it".to_owned(),
            }));
        }
    }
    Ok(None)
}

/// Whether a memory of this layout would be the first of its kind beside `stores`. There are
/// two kinds: lessons, and all other memories of a project. Stores of subagents do not count, since
/// new memories do not belong there.
pub fn is_first(layout: Layout, stores: &[&Store]) -> bool {
    let is_like = |store: &&&Store| match layout {
        Layout::Coder => store.layout() == Layout::Coder,
        _ => matches!(store.layout(), Layout::Index | Layout::Facts),
    };
    !stores
        .iter()
        .filter(is_like)
        .any(|store| !is_of_subagent(store))
}
