//! The initial content of a new memory, for each layout.

use super::layout::{Fields, Layout, coder, index, instructions};
use super::memory::slug;
use super::store::Store;

/// Returns the kinds of memory of a layout: types, folders or, for instructions, files.
pub fn kinds(layout: Layout) -> Vec<&'static str> {
    match layout {
        Layout::Index => index::TYPES.iter().map(|(name, _)| *name).collect(),
        Layout::Session => vec!["detail"],
        Layout::Facts => vec!["facts", "episodes"],
        Layout::Coder => coder::TYPES.to_vec(),
        Layout::Instructions => instructions::NAMES.to_vec(),
        Layout::Events => Vec::new(),
    }
}

/// A new memory before it is edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// The path in the store.
    pub path: String,
    /// The initial content.
    pub content: String,
    /// The fields of the header.
    pub fields: Fields,
}

/// Returns the path of a new memory called `name`.
pub fn path(layout: Layout, kind: &str, name: &str) -> String {
    let slug = match slug(name) {
        empty if empty.is_empty() => "untitled".to_owned(),
        slug => slug,
    };
    match layout {
        Layout::Index => format!("{}.md", slug.replace('-', "_")),
        Layout::Session | Layout::Facts | Layout::Coder => format!("{kind}/{slug}.md"),
        Layout::Instructions | Layout::Events => kind.to_owned(),
    }
}

/// Returns the template of a new memory in `store`.
pub fn template(store: &Store, kind: &str, name: &str, today: jiff::civil::Date) -> Template {
    let layout = store.layout();
    let mut fields = Fields {
        name: Some(name.to_owned()),
        ..Fields::default()
    };
    let content = match layout {
        Layout::Index => {
            fields.category = Some(kind.to_owned());
            fields.description = Some(name.to_owned());
            String::new()
        }
        Layout::Session => "## Decision\n\n## Why\n".to_owned(),
        Layout::Facts if kind == "episodes" => {
            format!("## {name}\n- Summary: \n- Date: {today}\n- Tags: \n\n")
        }
        Layout::Facts => format!("> Summary: {name}\n\n- \n"),
        Layout::Coder => {
            fields.description = Some(name.to_owned());
            "What happened, and what to do the next time.\n".to_owned()
        }
        Layout::Instructions => format!("# {}\n\n", store.name()),
        Layout::Events => String::new(),
    };
    Template {
        path: path(layout, kind, name),
        content,
        fields,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_becomes_a_file_that_the_layout_takes() {
        for (layout, kind, expected) in [
            (Layout::Index, "user", "release_day.md"),
            (Layout::Session, "detail", "detail/release-day.md"),
            (Layout::Facts, "episodes", "episodes/release-day.md"),
            (Layout::Coder, "semantic", "semantic/release-day.md"),
            (Layout::Instructions, "AGENTS.md", "AGENTS.md"),
        ] {
            assert_eq!(path(layout, kind, "Release day!"), expected);
        }
        assert_eq!(path(Layout::Index, "user", "…"), "untitled.md");
    }
}
