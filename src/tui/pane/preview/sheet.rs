//! What a text is shown with: its title and facts, made of a file, a store or a log.

use std::sync::Arc;

use super::Wanted;
use crate::core::citation::Part;
use crate::core::layout::Layout;
use crate::core::library::{Library, Listed};
use crate::core::memory::{Kind, Memory};
use crate::core::shown::{age, size};
use crate::core::store::{Document, StoreId};
use crate::tui::chrome::count;
use crate::tui::effect::Target;
use crate::tui::pane::Scene;

/// A text with what is said above it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Sheet {
    /// The title on the border.
    pub(crate) title: String,
    /// The type, for the badge.
    pub(crate) category: Option<String>,
    /// One line about it.
    pub(crate) summary: String,
    /// When, how large, which file.
    pub(crate) facts: String,
    /// Something to look at, such as a header that cannot be read.
    pub(crate) problem: Option<String>,
    /// The Markdown.
    pub(crate) text: String,
    /// The line of the file at which the text starts, from 1.
    pub(crate) first_line: usize,
    /// The whole file, for the source view.
    pub(crate) source: String,
}

/// What is said of a log while it is read, and on the border of its conversation.
pub(super) fn log_sheet(log: &Listed, scene: &Scene<'_>) -> Sheet {
    let ago = match age(log.time, scene.now).as_str() {
        "" => String::new(),
        "now" => " · just now".to_owned(),
        ago => format!(" · {ago} ago"),
    };
    let turns = usize::try_from(log.turns).unwrap_or(usize::MAX);
    Sheet {
        title: log.title.clone(),
        facts: format!(
            "{} · {}{ago}",
            log.file.agent.name(),
            count(turns, "turn", "turns")
        ),
        ..Sheet::default()
    }
}

/// The sheet of a file or of a part of it.
pub(super) fn sheet(wanted: &Wanted, document: &Document, scene: &Scene<'_>) -> Sheet {
    let text = document.lossy().into_owned();
    match &wanted.target {
        Target::Context { store } => context(scene.library, store, &text),
        Target::File { store, path } => {
            let shelf = scene.library.shelf_by_id(store);
            let layout = shelf.map_or(Layout::Index, |shelf| shelf.store.layout());
            let rules = layout.rules();
            let memory = rules.read(&rules.place(path), &text);
            let listed = shelf.and_then(|shelf| shelf.memory(path));
            let mut sheet = of_memory(&memory, &text);
            let modified = listed.map_or(0, |listed| listed.modified);
            sheet.facts = facts(&memory, modified, document.bytes.len(), scene.now);
            sheet.problem = listed.and_then(|listed| listed.problem.clone());
            if let Part::Entry(slug) = &wanted.part {
                narrow(&mut sheet, &memory, &text, slug);
            }
            sheet.source = text;
            sheet
        }
    }
}

fn of_memory(memory: &Memory, text: &str) -> Sheet {
    let body = text.get(memory.body.clone()).unwrap_or(text);
    let body = match memory.kind {
        // An overview's title is on the border already.
        Kind::Overview => body.trim_start_matches("# Working Memory\n"),
        _ => body,
    };
    let blank = body.len() - body.trim_start_matches(['\n', '\r']).len();
    let from = text.len() - body.len() + blank;
    // A summary that only repeats how the body begins says nothing.
    let begins = body[blank..].lines().take(6).any(|line| {
        let line = line.trim_start_matches(['#', '-', ' ', '>']);
        !memory.summary.is_empty() && line.contains(memory.summary.as_str())
    });
    Sheet {
        title: memory.title.clone(),
        category: memory.category.clone(),
        summary: if begins {
            String::new()
        } else {
            memory.summary.clone()
        },
        text: body[blank..].to_owned(),
        first_line: text[..from].matches('\n').count() + 1,
        ..Sheet::default()
    }
}

/// Makes the sheet about one entry of the file.
fn narrow(sheet: &mut Sheet, memory: &Memory, text: &str, slug: &str) {
    let Some(entry) = memory.entries.iter().find(|entry| entry.slug() == slug) else {
        return;
    };
    sheet.title.clone_from(&entry.title);
    sheet.summary = String::new();
    sheet.first_line = entry.line;
    sheet.text = text.get(entry.span.clone()).unwrap_or_default().to_owned();
}

fn facts(memory: &Memory, modified: i64, bytes: usize, now: i64) -> String {
    let mut facts = Vec::new();
    match (&memory.updated, modified) {
        (Some(day), _) => facts.push(format!("updated {day}")),
        (None, 0) => {}
        (None, modified) => match age(modified, now).as_str() {
            "now" => facts.push("changed just now".to_owned()),
            ago => facts.push(format!("changed {ago} ago")),
        },
    }
    facts.push(size(bytes as u64));
    facts.push(memory.path.clone());
    if !memory.tags.is_empty() {
        let tags: Vec<String> = memory.tags.iter().map(|tag| format!("#{tag}")).collect();
        facts.push(tags.join(" "));
    }
    facts.join(" · ")
}

fn context(library: &Arc<Library>, store: &StoreId, text: &str) -> Sheet {
    let shelf = library.shelf_by_id(store);
    let name = shelf.map_or("", |shelf| shelf.store.name());
    let facts = shelf.map(|shelf| {
        let mut facts = vec![
            count(shelf.memories.len(), "memory", "memories"),
            format!("{} layout", shelf.store.layout()),
            shelf.store.root().path().display().to_string(),
        ];
        if shelf.broken() > 0 {
            facts.push(format!("{} with problems", shelf.broken()));
        }
        facts.join(" · ")
    });
    Sheet {
        title: format!("{name} · what the agent sees"),
        summary: shelf.map(|shelf| shelf.why.clone()).unwrap_or_default(),
        facts: facts.unwrap_or_default(),
        problem: shelf.and_then(|shelf| shelf.failure.clone()),
        text: if text.is_empty() {
            "*Nothing of this store is put before an agent unasked.*".to_owned()
        } else {
            text.to_owned()
        },
        first_line: 1,
        source: text.to_owned(),
        ..Sheet::default()
    }
}
