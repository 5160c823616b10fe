//! What is looked at while a text is edited: the header of the memory, and how the text changes
//! what an agent loads.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::core::disk::trust::real_path;
use crate::core::insight::context::{AgentContext, Draft, Piece};
use crate::core::memory::Memory;
use crate::core::memory::layout::{Layout, index};
use crate::core::memory::library::Library;
use crate::core::memory::unsaved::Unsaved;
use crate::core::text::header::frontmatter::Frontmatter;
use crate::tui::chrome::count;
use crate::tui::effect::{Effect, LibraryJob};
use crate::tui::pane::Step;

/// The length in characters from which a description is too long for an agent's index.
const LONG_DESCRIPTION: usize = 160;

#[derive(Debug, Default)]
pub(super) struct Check {
    pub(super) has_header: bool,
    pub(super) category: Option<String>,
    pub(super) trouble: Option<String>,
    /// The memory's line in the index.
    pub(super) index_line: Option<String>,
}

pub(super) fn check(layout: Layout, memory: &Memory, text: &str) -> Check {
    let header = Frontmatter::parse(text);
    let repeated = header.as_ref().and_then(Frontmatter::repeated);
    let repeated = repeated.map(|key| format!("{key} is there twice; the last one counts"));
    let problem = memory.problem.clone().or(repeated);
    if layout != Layout::Index || memory.path == index::INDEX {
        return Check {
            has_header: header.is_some(),
            category: memory.category.clone(),
            trouble: problem,
            index_line: None,
        };
    }
    let category = memory.category.as_deref().unwrap_or_default();
    let known = index::TYPES.iter().any(|(name, _)| *name == category);
    let length = memory.summary.chars().count();
    let trouble = if problem.is_some() {
        problem
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
    Check {
        has_header: header.is_some(),
        category: memory.category.clone(),
        trouble,
        index_line: None,
    }
}

/// The index of the store of a memory, and the memory, as they were when its text was opened.
#[derive(Debug)]
pub(super) struct Listed {
    index: Option<String>,
    before: Option<Memory>,
}

impl Listed {
    /// Reads the index; `None` if no such line is made for the file.
    pub(super) fn read(file: &Unsaved, library: &Library) -> Option<Self> {
        let is_listed = file.layout == Layout::Index && file.path != index::INDEX;
        let snapshot = library.store_by_id(&file.store()).filter(|_| is_listed)?;
        let rules = file.layout.rules();
        let before = file.base.as_ref();
        Some(Self {
            index: snapshot.store.text(index::INDEX).ok()?,
            before: before.map(|text| rules.read(&rules.file_of(&file.path), text)),
        })
    }

    /// The memory's line, as it will be with this content.
    pub(super) fn line(&self, memory: &Memory) -> Option<String> {
        index::line_after(self.index.as_deref(), self.before.as_ref(), memory)
    }
}

/// What an agent loads with the file as it is, and with the text as it is edited.
#[derive(Debug)]
pub(super) struct ContextMeter {
    file: PathBuf,
    before: Arc<AgentContext>,
    after: Option<Arc<AgentContext>>,
}

impl ContextMeter {
    pub(super) fn new(before: Arc<AgentContext>, file: PathBuf) -> Self {
        Self {
            file,
            before,
            after: None,
        }
    }

    /// Asks for what the agent would load with this text.
    pub(super) fn ask(&self, text: String) -> Step {
        let draft = Draft {
            file: self.file.clone(),
            text,
        };
        Step::Effect(Effect::Library(LibraryJob::Context {
            agent: self.before.agent,
            draft: Some(draft),
        }))
    }

    /// Takes an answer, if it is about this file.
    pub(super) fn take(&mut self, file: &Path, context: &Arc<AgentContext>) {
        if *file == self.file && context.agent == self.before.agent {
            self.after = Some(Arc::clone(context));
        }
    }

    /// Whether something of the file would not be loaded.
    pub(super) fn is_cut(&self) -> bool {
        let after = self.after.as_ref().unwrap_or(&self.before);
        self.piece(after).is_some_and(|piece| piece.cut.is_some())
    }

    /// Says what the agent loads, and what it will load.
    pub(super) fn text(&self) -> String {
        let after = self.after.as_ref().unwrap_or(&self.before);
        let mut said = format!(
            "{} {}",
            self.before.agent.name(),
            arrow(self.before.tokens(), after.tokens(), |tokens| {
                count(tokens, "token", "tokens")
            })
        );
        let limit = |context: &AgentContext| self.piece(context).and_then(|piece| piece.limit);
        if let Some(now) = limit(after) {
            let was = limit(&self.before).filter(|was| was.unit == now.unit);
            let used = arrow(was.map_or(now.used, |was| was.used), now.used, |used| {
                format!("{used} of {} {}", now.most, now.unit)
            });
            said.push_str(&format!(" · {used}"));
        }
        if let Some(cut) = self.piece(after).and_then(|piece| piece.cut.as_ref()) {
            said.push_str(&format!(" · ✂ {cut}"));
        }
        said
    }

    /// The first piece of the file.
    fn piece<'a>(&self, context: &'a AgentContext) -> Option<&'a Piece> {
        let mut pieces = context.pieces.iter();
        pieces.find(|piece| piece.path == self.file || real_path(&piece.path) == self.file)
    }
}

/// `1 → 2 things`, or `1 thing` if it stays the same.
fn arrow(before: usize, after: usize, named: impl Fn(usize) -> String) -> String {
    if before == after {
        named(after)
    } else {
        format!("{before} → {}", named(after))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_checked_if_there_is_one() {
        let fine = "---\nname: A\ndescription: d\ntype: user\n---\nx\n";
        let twice = fine.replace("type", "description: e\ntype");
        let list = "---\n# a: b\n# a: c\ntags:\n- k: 1\n- k: 2\n---\n";
        for (layout, path, text, has_header, trouble) in [
            (Layout::Index, "a.md", fine, true, None),
            (Layout::Index, "a.md", &twice, true, Some("description")),
            (Layout::Index, "MEMORY.md", "# Memory\n", false, None),
            (Layout::Entries, "MEMORY.md", "# Tasks\n", false, None),
            (Layout::Entries, "a.md", &twice, true, Some("description")),
            (Layout::Entries, "a.md", list, true, None),
        ] {
            let checked = check(layout, &layout.rules().read(path, text), text);
            let told = trouble.map(|key| format!("{key} is there twice; the last one counts"));
            assert_eq!(
                (checked.has_header, checked.trouble),
                (has_header, told),
                "{text}"
            );
        }
    }
}
