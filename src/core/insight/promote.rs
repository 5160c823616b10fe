//! Promotes lines of a log to a memory: proposes a name, a description, a kind and a text, which
//! holds a grip on the lines.

use std::ops::RangeInclusive;
use std::path::Path;

use crate::core::insight::timeline::comment::{comment, grips_in};
use crate::core::insight::timeline::event::{Event, EventList as _, LogEvents, Texts};
use crate::core::insight::timeline::grip::{Grip, GripState};
use crate::core::insight::timeline::summarize::{is_wish, statement, without_request};
use crate::core::insight::timeline::{expand, log_named_by};
use crate::core::log::{Agent, MessageKind, Role};
use crate::core::memory::citation::{Citation, CitedPart};
use crate::core::memory::layout::Layout;
use crate::core::memory::store::Store;
use crate::core::memory::texts::MemoryTexts;
use crate::core::search::index::{Corpus, Log};
use crate::core::text::display::safe;
use crate::core::{Error, Result};

/// The most characters that are quoted of a message, and of what a bullet is about.
const LONGEST: usize = 4_000;
const LONGEST_PARAGRAPH: usize = 600;

/// The most characters of a description.
const LONGEST_DESCRIPTION: usize = 120;

/// Words of a log with a grip on them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quote {
    /// The link to the lines.
    pub grip: Grip,
    /// Who said it.
    pub role: Role,
    /// The words, without secrets.
    pub text: String,
}

/// A memory that is proposed for some lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// Its name.
    pub name: String,
    /// What it is about.
    pub description: String,
    /// The quotes and their grips.
    pub text: String,
    /// The agent whose log it is from.
    agent: Agent,
    /// The type of the index layout.
    category: &'static str,
}

impl Proposal {
    /// Returns the kind of memory in a layout, one of [`crate::core::memory::template::kinds`].
    pub fn kind(&self, layout: Layout) -> &'static str {
        match layout {
            Layout::Index => self.category,
            Layout::Session => "detail",
            Layout::Facts => "facts",
            Layout::Coder if self.category == "feedback" => "procedural",
            Layout::Coder => "semantic",
            Layout::Instructions | Layout::Events | Layout::Entries => "",
        }
    }

    /// Whether a store is one of the agent whose log it is from.
    pub fn is_from_agent_of(&self, root: &Path) -> bool {
        let folder = match self.agent {
            Agent::ClaudeCode => ".claude",
            Agent::Codex => ".codex",
            Agent::Gemini => ".gemini",
            _ => return false,
        };
        root.components().any(|part| part.as_os_str() == folder)
    }
}

/// Reads what references are about: `grip:…`, which `find_grip` finds, or lines such as
/// `codex:ID#L12-14`.
pub fn quotes(
    corpus: &Corpus,
    find_grip: &dyn Fn(&str) -> Option<Grip>,
    references: &[String],
) -> Result<Vec<Quote>> {
    let mut found = Vec::new();
    for reference in references {
        if reference.starts_with("grip:") {
            let grip = find_grip(reference);
            let grip = grip.ok_or_else(|| Error::not_found(reference))?;
            found.push(quote_of_grip(corpus, grip));
        } else {
            found.extend(quotes_of_lines(corpus, reference)?)
        }
    }
    Ok(found)
}

/// Quotes the paragraph that a grip is about, or what was kept of it.
fn quote_of_grip(corpus: &Corpus, grip: Grip) -> Quote {
    let expanded = expand(corpus, &grip, 0, 0);
    let own = expanded.excerpt.first().map(|shown| &shown.event);
    let own = own.filter(|_| expanded.state == GripState::Current);
    let kept = || (Role::Assistant, grip.excerpt.clone());
    let (role, text) = own.map_or_else(kept, |event| {
        (event.role, paragraph(grip.from_line(&event.text)))
    });
    Quote { grip, role, text }
}

/// Returns a text up to the end of its first paragraph.
fn paragraph(text: &str) -> String {
    let text = safe(text);
    let end = text.find("\n\n").unwrap_or(text.len());
    shortened(&text[..end], LONGEST_PARAGRAPH)
}

fn quotes_of_lines(corpus: &Corpus, reference: &str) -> Result<Vec<Quote>> {
    let Ok(citation) = reference.parse::<Citation>();
    let agent = citation.store.as_deref().and_then(Agent::named);
    let logs: Vec<usize> = match agent {
        Some(agent) => Vec::from_iter(log_named_by(corpus, agent, &citation.path)),
        None => logs_in_file(corpus, reference, &citation.path)?,
    };
    let CitedPart::Lines(lines) = &citation.part else {
        return Err(Error::refused(reference, "name its lines, such as #L12-14"));
    };
    let quotes = logs.into_iter().flat_map(|log| quoted(corpus, log, lines));
    let quotes: Vec<Quote> = quotes.collect();
    if quotes.is_empty() {
        return Err(Error::not_found(reference));
    }
    Ok(quotes)
}

/// The logs in the file of a store that a citation names, such as `events.jsonl`.
fn logs_in_file(corpus: &Corpus, reference: &str, file: &str) -> Result<Vec<usize>> {
    let is_it = |log: &Log<'_>| {
        matches!(log.agent(), Some(Agent::Events | Agent::Session)) && log.path().ends_with(file)
    };
    let logs = corpus.logs().enumerate();
    let found: Vec<(usize, Log<'_>)> = logs.filter(|(_, log)| is_it(log)).collect();
    let why = match found.first() {
        None => "promote takes grips and lines of a log, such as codex:ID#L12-14",
        Some((_, first)) if found.iter().any(|(_, log)| log.path() != first.path()) => {
            "several stores have such a file; name the session, such as session:ID#L12-14"
        }
        Some(_) => return Ok(found.iter().map(|(number, _)| *number).collect()),
    };
    Err(Error::refused(reference, why))
}

/// Quotes what these lines of a log say.
fn quoted(corpus: &Corpus, log: usize, lines: &RangeInclusive<usize>) -> Vec<Quote> {
    let Some((agent, id)) = corpus
        .log(log)
        .and_then(|log| Some((log.agent()?, log.cited_id())))
    else {
        return Vec::new();
    };
    let events = LogEvents::of(corpus, log);
    let is_cited =
        |at: &usize| usize::try_from(events.line(*at)).is_ok_and(|line| lines.contains(&line));
    let mut cited: Vec<Event> = (0..events.count())
        .filter(is_cited)
        .flat_map(|at| events.read(at..at + 1, Texts::All))
        .collect();
    // Of several lines, what tools were given and returned is left out.
    if cited.iter().any(|event| event.kind == MessageKind::Text) {
        cited.retain(|event| event.kind == MessageKind::Text);
    }
    let quote = |event: &Event| Quote {
        grip: Grip::new(agent, &id, event, 1),
        role: event.role,
        text: shortened(&safe(&event.text), LONGEST),
    };
    cited.iter().map(quote).collect()
}

fn shortened(text: &str, longest: usize) -> String {
    let text = text.trim();
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}

/// Proposes a memory for quotes; `None` if there are none. It is named by what they state.
pub fn propose(quotes: &[Quote]) -> Option<Proposal> {
    let first = quotes.first()?;
    let stated = quotes.iter().filter_map(|quote| {
        // A grip is about its line.
        let is_line = quote.grip.text_line > 1;
        let text = quote.text.lines().next().filter(|_| is_line);
        let stated = statement(quote.role, text.unwrap_or(&quote.text))?;
        Some((quote, stated))
    });
    // The first of those that say most.
    let stated = stated.rev().max_by_key(|(_, stated)| stated.rank);
    let quote = stated.as_ref().map_or(first, |(quote, _)| *quote);
    let said = stated
        .as_ref()
        .map_or(first.text.as_str(), |(_, stated)| &stated.text);
    Some(Proposal {
        name: name(said),
        description: one_line(said, LONGEST_DESCRIPTION),
        text: text_of(quotes),
        agent: first.grip.agent,
        category: category(quote),
    })
}

/// Returns a statement as a name: without the words before a request, and cut where a part ends.
fn name(statement: &str) -> String {
    const LONGEST: usize = 60;
    let plain = one_line(without_request(statement), 2 * LONGEST);
    let ends = [
        ", ",
        "; ",
        ": ",
        " — ",
        " (",
        " because ",
        " since ",
        " so ",
        ". ",
    ];
    let parts = ends.iter().filter_map(|end| plain.find(end));
    let part = parts.filter(|at| (20..LONGEST).contains(at)).max();
    let name = match part.filter(|_| plain.len() > LONGEST) {
        Some(at) => plain[..at].to_owned(),
        None => one_line(&plain, LONGEST),
    };
    name.trim_end_matches(['.', '!', ',', ';', ':', '…', ' '])
        .to_owned()
}

/// Returns the first line of a text, cut at a word.
fn one_line(text: &str, longest: usize) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    let line = line
        .trim_start_matches(['#', '>', '-', '*', ' '])
        .trim_end();
    if line.chars().count() <= longest {
        return line.to_owned();
    }
    let cut: String = line.chars().take(longest).collect();
    let end = cut.rfind(' ').unwrap_or(cut.len());
    cut[..end].trim_end_matches([',', ';', ':']).to_owned()
}

/// Quotes with who said them and when; then their grips.
fn text_of(quotes: &[Quote]) -> String {
    let mut text = String::new();
    for quote in quotes {
        for line in quote.text.lines() {
            text.push_str(format!("> {line}").trim_end());
            text.push('\n');
        }
        let who = match quote.role {
            Role::User => "you",
            Role::Tool => "a tool",
            Role::Assistant | Role::System => "the agent",
        };
        let time = jiff::Timestamp::from_millisecond(quote.grip.timestamp).unwrap_or_default();
        let agent = quote.grip.agent.name();
        let day = time.strftime("%Y-%m-%d");
        text.push_str(&format!(">\n> ({who}, {agent}, {day})\n\n"));
    }
    grips_below(&text, quotes)
}

/// Returns a text with the grips of quotes below it.
pub fn grips_below(text: &str, quotes: &[Quote]) -> String {
    let comments: Vec<String> = quotes.iter().map(|quote| comment(&quote.grip)).collect();
    format!("{}\n\n{}", text.trim_end(), comments.concat())
}

/// Returns the grip with this id from a memory of these stores that was promoted; `None` also if the
/// stores cannot be read.
pub fn grip_in_memories<'a>(stores: impl IntoIterator<Item = &'a Store>, id: &str) -> Option<Grip> {
    let memories = MemoryTexts::read(stores).ok()?;
    let texts = memories
        .texts
        .iter()
        .filter(|memory| memory.text.contains(id));
    let mut grips = texts.flat_map(|memory| grips_in(&memory.text));
    grips.find(|(grip, _)| grip.id == id).map(|(grip, _)| grip)
}

/// Guesses the type of a memory by how it is said.
fn category(quote: &Quote) -> &'static str {
    const OWN: [&str; 5] = ["i am a ", "i'm a ", "my name is", "i work ", "i live "];
    let text = quote.text.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let is_link = text.contains("://") && text.split_whitespace().count() < 30;
    match quote.role {
        Role::User if has(&OWN) => "user",
        Role::User if is_wish(&text) => "feedback",
        _ if is_link => "reference",
        _ => "project",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quote(role: Role, text: &str) -> Quote {
        let event = Event::test(12, role, text);
        Quote {
            grip: Grip::new(Agent::Codex, "abc", &event, 1),
            role,
            text: text.to_owned(),
        }
    }

    #[test]
    fn a_memory_is_proposed_with_its_words_and_where_they_are_from() {
        let quotes = [quote(
            Role::Assistant,
            "The root cause is a race in rotate(): both tabs present the same token.\nSee `a.rs`.",
        )];
        let proposed = propose(&quotes).expect("a proposal");
        assert!(!proposed.name.is_empty() && proposed.name.len() <= 60);
        assert!(proposed.description.contains("race in rotate()"));
        assert!(
            proposed.text.starts_with(
                "> The root cause is a race in rotate(): both tabs present the same token.\n> See `a.rs`.\n>\n> (the agent, codex, 1970-01-01)\n\n<!-- grip:"
            ),
            "{}",
            proposed.text
        );
        let grips = grips_in(&proposed.text);
        assert_eq!(grips.len(), 1);
        assert_eq!(grips[0].0.citation(), "codex:abc#L12");
        assert_eq!(propose(&[]), None);
    }

    #[test]
    fn the_type_is_guessed_by_how_it_is_said() {
        for (role, text, expected) in [
            (
                Role::User,
                "never push to main without a review",
                "feedback",
            ),
            (Role::User, "I'm a data scientist, new to Go", "user"),
            (Role::User, "I'm adding two of them here", "project"),
            (
                Role::Assistant,
                "see https://grafana.example/d/1",
                "reference",
            ),
            (Role::Assistant, "never do this", "project"),
            (Role::User, "we move the release to Thursday", "project"),
        ] {
            let proposed = propose(&[quote(role, text)]).expect("a proposal");
            assert_eq!(proposed.kind(Layout::Index), expected, "{text}");
        }
    }

    #[test]
    fn a_memory_is_named_by_what_is_stated() {
        for (role, text, expected) in [
            (
                Role::User,
                "Seems like CMD is now broken. From now on, please run the e2e suite before a release.",
                "run the e2e suite before a release",
            ),
            (
                Role::Assistant,
                "Let me check. The root cause is a stale lock, which nobody removes when the process ends early.",
                "The root cause is a stale lock",
            ),
            (Role::User, "go", "go"),
        ] {
            let proposed = propose(&[quote(role, text)]).expect("a proposal");
            assert_eq!(proposed.name, expected, "{text}");
        }
        let quotes = [
            quote(Role::Assistant, "Added a retry to the client of the queue."),
            quote(Role::User, "Never push to the branch of the release."),
        ];
        let proposed = propose(&quotes).expect("a proposal");
        assert_eq!(proposed.name, "Never push to the branch of the release");
        assert!(proposed.is_from_agent_of(Path::new("/h/.codex/memories")));
        assert!(!proposed.is_from_agent_of(Path::new("/h/.claude/projects/w/memory")));
        assert_eq!(proposed.kind(Layout::Coder), "procedural");
        let told = propose(&quotes[..1]).expect("a proposal");
        assert_eq!(told.kind(Layout::Coder), "semantic");
    }

    #[test]
    fn a_paragraph_is_quoted_to_its_end() {
        let text = "Keep the lock, since it\nis needed. Then more.\n\nLast.";
        assert_eq!(
            paragraph(text),
            "Keep the lock, since it\nis needed. Then more."
        );
        assert_eq!(shortened("aé bc", 2), "aé…");
    }
}
