//! The path and the initial content of a new memory, for each layout; another path or title for an
//! existing one.

use crate::core::memory::layout::{Fields, Layout, coder, entries, index, instructions};
use crate::core::memory::stem;
use crate::core::memory::store::Store;
use crate::core::text::header::frontmatter::Frontmatter;
use crate::core::text::header::{self, slug};

/// Returns the kinds of memory of a store: types, folders or, for instructions, files.
pub fn kinds(store: &Store) -> Vec<&'static str> {
    match store.layout() {
        Layout::Index => index::TYPES.iter().map(|(name, _)| *name).collect(),
        Layout::Session => vec!["detail"],
        Layout::Facts => vec!["facts", "episodes"],
        Layout::Coder => coder::TYPES.to_vec(),
        Layout::Instructions => instructions::NAMES.to_vec(),
        Layout::Events => Vec::new(),
        Layout::Entries => entries::places(store.root()).to_vec(),
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
        Layout::Entries if kind.is_empty() => format!("{slug}.md"),
        Layout::Entries if !kind.ends_with(".md") => format!("{kind}/{slug}.md"),
        Layout::Entries | Layout::Instructions | Layout::Events => kind.to_owned(),
    }
}

/// What is known of a new memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TemplateInput<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it is about, for its description; may be empty.
    pub about: &'a str,
    /// The text; `None` for what the layout suggests.
    pub text: Option<&'a str>,
}

/// Returns the path of the memory at `path` under another name, in the same folder. A name with a
/// file extension is taken as the whole path.
pub fn renamed_path(layout: Layout, path: &str, name: &str) -> String {
    let name = name.trim();
    let (folder, last) = match name.rsplit_once('/') {
        Some((folder, last)) => (Some(folder), last),
        None => (path.rsplit_once('/').map(|(folder, _)| folder), name),
    };
    let is_file = last.rsplit_once('.').is_some_and(|(stem, ending)| {
        !stem.is_empty() && !ending.is_empty() && ending.chars().all(|c| c.is_ascii_alphanumeric())
    });
    if is_file {
        return name.to_owned();
    }
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    let made = match layout {
        _ if last.chars().all(is_plain) => last.to_owned(),
        Layout::Index => slug(last).replace('-', "_"),
        _ => slug(last),
    };
    if made.is_empty() {
        return name.to_owned();
    }
    match folder {
        Some(folder) => format!("{folder}/{made}.md"),
        None => format!("{made}.md"),
    }
}

/// Returns the name of a memory after its file is renamed, if it was made of the file's name.
pub fn name_following(name: &str, old: &str, new: &str) -> Option<String> {
    let (old, new) = (stem(old), stem(new));
    if name == old {
        return Some(new.to_owned());
    }
    (name == slug(old)).then(|| slug(new))
}

/// Returns the text of a memory with another title: in the field `name`, or else in the first line
/// that begins with `# ` or `**Title:** `.
pub fn with_title(text: &str, title: &str) -> String {
    let head = Frontmatter::parse(text).filter(|head| head.get("name").is_some());
    if let Some(head) = head {
        return head.set(text, "name", title);
    }
    for line in header::lines(text, 0) {
        let own = ["# ", "**Title:** "]
            .iter()
            .find_map(|mark| Some(mark.len()).filter(|_| line.text.starts_with(mark)));
        if let Some(mark) = own {
            let span = line.span.start + mark..line.span.start + line.text.trim_end().len();
            return header::splice(text, span, title);
        }
    }
    text.to_owned()
}

/// Returns the template of a new memory in `store`.
pub fn template(
    store: &Store,
    kind: &str,
    TemplateInput { name, about, text }: TemplateInput<'_>,
    today: jiff::civil::Date,
) -> Template {
    let layout = store.layout();
    let mut fields = Fields {
        name: Some(name.to_owned()),
        ..Fields::default()
    };
    let content = match layout {
        Layout::Index => {
            fields.category = Some(kind.to_owned());
            fields.description = Some(about.to_owned());
            text.unwrap_or_default().to_owned()
        }
        Layout::Session => text.unwrap_or("## Decision\n\n## Why\n").to_owned(),
        Layout::Facts if kind == "episodes" => {
            let text = text.unwrap_or_default();
            format!("## {name}\n- Summary: {about}\n- Date: {today}\n- Tags: \n\n{text}")
        }
        Layout::Facts => format!("> Summary: {about}\n\n{}", text.unwrap_or("- \n")),
        Layout::Coder => {
            fields.description = Some(about.to_owned()).filter(|about| !about.is_empty());
            let usual = "What happened, and what to do the next time.\n";
            text.unwrap_or(usual).to_owned()
        }
        Layout::Entries => format!("# {name}\n\n{}", text.unwrap_or_default()),
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

    #[test]
    fn another_name_is_a_file_or_becomes_one() {
        for (layout, old, name, expected) in [
            (Layout::Index, "auth.md", "prod hosts", "prod_hosts.md"),
            (Layout::Index, "auth.md", "prod hosts.md", "prod hosts.md"),
            (Layout::Index, "auth.md", "v1.8 notes", "v1_8_notes.md"),
            (Layout::Index, "stale-pid.md", "lock-pid", "lock-pid.md"),
            (Layout::Session, "a/b.md", "lock_pid", "a/lock_pid.md"),
            (
                Layout::Session,
                "detail/a.md",
                "Prod Hosts",
                "detail/prod-hosts.md",
            ),
            (
                Layout::Coder,
                "episodic/a.md",
                "semantic/b c",
                "semantic/b-c.md",
            ),
            (Layout::Facts, "facts/a.md", "facts/b.md", "facts/b.md"),
            (Layout::Index, "auth.md", "…", "…"),
        ] {
            assert_eq!(renamed_path(layout, old, name), expected, "{name}");
        }
    }

    #[test]
    fn a_title_is_changed_where_it_is_kept() {
        for (text, expected) in [
            (
                "---\nname: Auth\nextra: x\n---\n\n# Auth\n",
                "---\nname: New one\nextra: x\n---\n\n# Auth\n",
            ),
            ("# Auth\r\n\r\nbody\r\n", "# New one\r\n\r\nbody\r\n"),
            (
                "**Title:** A\n**Tags:** b\n",
                "**Title:** New one\n**Tags:** b\n",
            ),
            ("no title\n", "no title\n"),
        ] {
            assert_eq!(with_title(text, "New one"), expected);
        }
    }
}
