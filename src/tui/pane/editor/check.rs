//! The check of a memory's header while its text is edited.

use crate::core::memory::Memory;
use crate::core::memory::layout::{Layout, index};

/// The length in characters from which a description is too long for an agent's index.
const LONG_DESCRIPTION: usize = 160;

/// The result of checking the header.
#[derive(Debug, Default)]
pub(super) struct Check {
    pub(super) category: Option<String>,
    pub(super) trouble: Option<String>,
    /// The memory's line in the index.
    pub(super) index_line: Option<String>,
}

/// Checks the header of a memory.
pub(super) fn check(layout: Layout, memory: &Memory) -> Check {
    if layout != Layout::Index || memory.path == index::INDEX {
        return Check {
            category: memory.category.clone(),
            trouble: memory.problem.clone(),
            index_line: None,
        };
    }
    let category = memory.category.as_deref().unwrap_or_default();
    let known = index::TYPES.iter().any(|(name, _)| *name == category);
    let length = memory.summary.chars().count();
    let trouble = if let Some(problem) = &memory.problem {
        Some(problem.clone())
    } else if !known {
        let names: Vec<&str> = index::TYPES.iter().map(|(name, _)| *name).collect();
        Some(match category {
            "" => format!("no type: {}", names.join(", ")),
            other => format!("type '{other}' is none of {}", names.join(", ")),
        })
    } else if memory.summary.is_empty() {
        Some("no description: the index shows the file's name instead".to_owned())
    } else if length > LONG_DESCRIPTION {
        Some(format!(
            "the description has {length} letters; over {LONG_DESCRIPTION} it crowds the index"
        ))
    } else {
        None
    };
    let listed = index::generate_index(std::slice::from_ref(memory));
    Check {
        category: memory.category.clone(),
        trouble,
        index_line: listed
            .lines()
            .find(|line| line.starts_with("- ["))
            .map(str::to_owned),
    }
}
