//! The content of a preview: title, facts and text of a file, a store or a log.

use std::sync::Arc;

use super::PreviewRequest;
use crate::core::insight::ledger::Account;
use crate::core::memory::citation::CitedPart;
use crate::core::memory::layout::entries::put_before;
use crate::core::memory::layout::{Layout, index};
use crate::core::memory::library::{Library, LogSummary};
use crate::core::memory::store::{Document, StoreId};
use crate::core::memory::{FileKind, Memory};
use crate::core::text::display::{format_age, format_size};
use crate::core::text::header::frontmatter::Frontmatter;
use crate::tui::action::Action;
use crate::tui::chrome::count;
use crate::tui::effect::Target;
use crate::tui::keymap::KeyContext;
use crate::tui::model::PaneContext;

/// A text with its title and facts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct PreviewContent {
    /// The title on the border.
    pub(crate) title: String,
    /// The type, for the badge.
    pub(crate) category: Option<String>,
    /// The description in one line.
    pub(crate) summary: String,
    /// Age, size and file.
    pub(crate) facts: String,
    /// A problem, such as a header that cannot be parsed.
    pub(crate) problem: Option<String>,
    /// The Markdown text.
    pub(crate) text: String,
    /// The line of the file where the text starts, counted from 1.
    pub(crate) first_line: usize,
    /// The whole file, for the source view.
    pub(crate) source: String,
}

/// Returns the content displayed for a log while it loads, and the title of its conversation.
pub(super) fn log_content(log: &LogSummary, cx: &PaneContext<'_>) -> PreviewContent {
    let ago = match format_age(log.time, cx.now).as_str() {
        "" => String::new(),
        "now" => " · just now".to_owned(),
        ago => format!(" · {ago} ago"),
    };
    PreviewContent {
        title: log.title.clone(),
        facts: format!("{}{ago}", log.file.agent.name()),
        ..PreviewContent::default()
    }
}

pub(super) fn file_content(
    wanted: &PreviewRequest,
    document: &Document,
    cx: &PaneContext<'_>,
) -> PreviewContent {
    let text = document.lossy().into_owned();
    match &wanted.target {
        Target::Context { store } => context(cx.library, store, &text),
        Target::File { store, path } => {
            let snapshot = cx.library.store_by_id(store);
            let layout = snapshot.map_or(Layout::Index, |snapshot| snapshot.store.layout());
            let rules = layout.rules();
            let memory = rules.read(&rules.file_of(path), &text);
            let listed = snapshot.and_then(|snapshot| snapshot.memory(path));
            let mut content = memory_content(&memory, &text);
            let changed = listed.map_or(0, |listed| cx.ledger.last_change(store, listed));
            content.facts = facts(&memory, changed, document.bytes.len(), cx.now);
            let most = snapshot.and_then(|snapshot| {
                rules.most_characters(snapshot.store.root(), &rules.file_of(path))
            });
            if let Some(most) = most {
                let used = text.chars().count();
                let percent = (used * 100).div_ceil(most);
                let limit = format!(" · {used} of {most} characters, {percent} %");
                content.facts.push_str(&limit);
            }
            content.problem = listed.and_then(|listed| listed.problem.clone());
            if snapshot.is_some_and(|snapshot| snapshot.unlisted.contains(path)) {
                let key = cx.keymap.key(KeyContext::Tree, Action::ListInIndex);
                let lists = key.map_or_else(String::new, |key| format!("; {key} lists it"));
                let problem = format!(
                    "{} does not list it: agents do not see it{lists}",
                    index::INDEX
                );
                content.problem.get_or_insert(problem);
            }
            let mut entry = None;
            if let CitedPart::Entry(slug) = &wanted.part {
                narrow_to_entry(&mut content, &memory, &text, slug);
                entry = Some(slug.as_str());
            } else if let Some(origin) = origin(&text, cx.library) {
                content.text = format!("{}\n\n{origin}\n", content.text.trim_end());
            }
            if let Some(account) = cx.ledger.account(store, path, entry) {
                content.facts = format!("{} · {}", account.summary(), content.facts);
                content.text = format!("{}{}", content.text.trim_end(), uses(account, cx));
            }
            content.source = text;
            content
        }
    }
}

/// Returns a line about the session in which an agent wrote a memory, if its header names one:
/// with a link to its log, if there is one.
fn origin(text: &str, library: &Library) -> Option<String> {
    let header = Frontmatter::parse(text)?;
    let id = header.get_anywhere("originSessionId")?;
    let mut logs = library.logs.iter().flat_map(|group| &group.logs);
    Some(match logs.find(|log| log.file.id == id) {
        Some(log) => {
            let title = log.title.replace(['[', ']'], "");
            let agent = log.file.agent.name();
            format!("*Written in the session* [{title}]({agent}:{id})")
        }
        None => format!("*Written in a session whose log is not here:* `{id}`"),
    })
}

/// Returns lines with links to the messages in which a memory was corrected again, and was read.
fn uses(account: &Account, cx: &PaneContext<'_>) -> String {
    /// How many messages of each kind are linked, and how many characters of each are shown.
    const MOST: usize = 5;
    const SHOWN: usize = 60;
    let lists = [
        ("Corrected again", &account.corrected),
        ("Read", &account.read),
        ("Cited", &account.cited),
    ];
    let mut lines = String::from("\n");
    for (name, cited) in lists.into_iter().filter(|(_, cited)| !cited.is_empty()) {
        let newest = cited.iter().rev().take(MOST);
        let links = newest.map(|citation| {
            let words: String = words_of(citation, cx).chars().take(SHOWN).collect();
            format!("[{}]({citation})", words.replace(['[', ']', '\n'], " "))
        });
        let links: Vec<String> = links.collect();
        lines.push_str(&format!("\n*{name}:* {}\n", links.join(" · ")));
    }
    lines
}

/// Returns the words of a correction that is cited, or else the title of its session.
fn words_of<'a>(citation: &'a str, cx: &PaneContext<'a>) -> &'a str {
    let mut corrections = cx.ledger.corrections.iter();
    if let Some(one) = corrections.find(|one| one.citation == citation) {
        return &one.text;
    }
    let id = citation.split_once(':').map_or(citation, |(_, id)| id);
    let id = id.split_once('#').map_or(id, |(id, _)| id);
    let mut logs = cx.library.logs.iter().flat_map(|group| &group.logs);
    let log = logs.find(|log| log.file.id == id);
    log.map_or(citation, |log| &log.title)
}

fn memory_content(memory: &Memory, text: &str) -> PreviewContent {
    let body = text.get(memory.body.clone()).unwrap_or(text);
    let body = match memory.kind {
        // The title of an overview is on the border.
        FileKind::Overview => body.trim_start_matches("# Working Memory\n"),
        _ => body,
    };
    let blank = body.len() - body.trim_start_matches(['\n', '\r']).len();
    let from = text.len() - body.len() + blank;
    // Leave out a summary that repeats the start of the body.
    let begins = body[blank..].lines().take(6).any(|line| {
        let line = line.trim_start_matches(['#', '-', ' ', '>']);
        !memory.summary.is_empty() && line.contains(memory.summary.as_str())
    });
    PreviewContent {
        title: memory.title.clone(),
        category: memory.category.clone(),
        summary: if begins {
            String::new()
        } else {
            memory.summary.clone()
        },
        text: body[blank..].to_owned(),
        first_line: text[..from].matches('\n').count() + 1,
        ..PreviewContent::default()
    }
}

/// Restricts the content to one entry of the file.
fn narrow_to_entry(content: &mut PreviewContent, memory: &Memory, text: &str, slug: &str) {
    let Some(entry) = memory.entries.iter().find(|entry| entry.slug == slug) else {
        return;
    };
    content.title.clone_from(&entry.title);
    content.summary = String::new();
    content.first_line = entry.line;
    content.text = text.get(entry.span.clone()).unwrap_or_default().to_owned();
}

fn facts(memory: &Memory, changed: i64, bytes: usize, now: i64) -> String {
    let mut facts = Vec::new();
    match (&memory.updated, changed) {
        (Some(time), _) => {
            // A time of day tells nobody anything here.
            let day = time.split_once('T').map_or(time.as_str(), |(day, _)| day);
            facts.push(format!("updated {day}"));
        }
        (None, 0) => {}
        (None, changed) => match format_age(changed, now).as_str() {
            "now" => facts.push("changed just now".to_owned()),
            ago => facts.push(format!("changed {ago} ago")),
        },
    }
    facts.push(format_size(bytes as u64));
    facts.push(memory.path.clone());
    if !memory.tags.is_empty() {
        let tags: Vec<String> = memory.tags.iter().map(|tag| format!("#{tag}")).collect();
        facts.push(tags.join(" "));
    }
    facts.join(" · ")
}

fn context(library: &Arc<Library>, store: &StoreId, text: &str) -> PreviewContent {
    let snapshot = library.store_by_id(store);
    let name = snapshot.map_or("", |snapshot| snapshot.store.name());
    let facts = snapshot.map(|snapshot| {
        let mut facts = vec![count(snapshot.memories.len(), "memory", "memories")];
        if let Some(budget) = snapshot.budget() {
            let (used, most, unit) = budget.measured_as(budget);
            let percent = budget.percent();
            facts.push(format!(
                "index {used} of {most} {unit}, {percent} % of the limit"
            ));
        } else if let Some(budget) = snapshot.index {
            facts.push(format!("index {}", count(budget.lines, "line", "lines")));
        }
        facts.push(format!("{} layout", snapshot.store.layout()));
        facts.push(snapshot.store.root().path().display().to_string());
        if snapshot.broken() > 0 {
            facts.push(format!("{} with problems", snapshot.broken()));
        }
        facts.join(" · ")
    });
    PreviewContent {
        title: format!("{name} · what the agent sees"),
        summary: snapshot
            .map(|snapshot| snapshot.why.clone())
            .unwrap_or_default(),
        facts: facts.unwrap_or_default(),
        problem: snapshot.and_then(|snapshot| snapshot.failure.clone()),
        text: if text.is_empty() {
            let by_agent = snapshot
                .filter(|snapshot| snapshot.store.layout() == Layout::Entries)
                .map_or("", |snapshot| put_before(snapshot.store.root()));
            let said =
                format!("tome puts nothing of this store before an agent unasked. {by_agent}");
            format!("*{}*", said.trim_end())
        } else {
            text.to_owned()
        },
        first_line: 1,
        source: text.to_owned(),
        ..PreviewContent::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::memory::discover::{Discovered, FoundStore};
    use crate::core::memory::store::Store;

    #[test]
    fn a_share_is_told_only_of_an_index_that_is_read_in_part() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let told = |folder: &str| {
            let root = temp.path().join(folder);
            std::fs::create_dir_all(&root).expect("creates");
            std::fs::write(root.join("MEMORY.md"), "# M\n\n- x\n").expect("writes");
            let store = Store::open("shop", &root, Some(Layout::Index)).expect("opens");
            let id = store.id().clone();
            let found = FoundStore {
                store,
                why: String::new(),
            };
            let library = Library::load(Discovered {
                stores: vec![found],
                ..Discovered::default()
            });
            context(&Arc::new(library), &id, "x").facts
        };
        for folder in [".claude/projects/shop/memory", ".memory"] {
            let facts = told(folder);
            assert!(
                facts.contains("index 3 of 200 lines, 2 % of the limit"),
                "{facts}"
            );
        }
        let whole = told(".gemini/tmp/shop/memory");
        assert!(whole.contains("index 3 lines · "), "{whole}");
    }

    #[test]
    fn the_time_of_day_of_a_change_is_left_out() {
        let facts_of = |updated: &str| {
            let text = format!("---\nname: A\nupdated: {updated}\n---\n\nText.\n");
            let memory = Layout::Index.rules().read("a.md", &text);
            facts(&memory, 0, 612, 0)
        };
        let facts = facts_of("2026-07-30T00:09:16.281Z");
        assert_eq!(facts, "updated 2026-07-30 · 612 B · a.md");
        assert_eq!(facts_of("2026-07-30"), facts);
    }
}
