//! Titles and keywords.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};
use std::sync::LazyLock;

use regex::Regex;

use super::analysis::names_of;
use super::choose::terms;
use super::clause::pattern;
use super::{commit, request};
use crate::core::insight::timeline::event::Event;
use crate::core::log::{MessageKind, Role, says_something};
use crate::core::text::display::safe_line;
use crate::core::text::{fold, is_common};

/// Addresses, blocks of code, and the tags of programs.
static LEFT_OUT: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?s)```.*?(?:```|$)|\w+://\S+|<[^>\n]*>"));

/// What may be a name.
static NAME: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?:--)?\p{L}[\w.-]*"));

/// The most words of a title.
const MOST_WORDS: usize = 10;

/// The most keywords.
pub(super) const MOST_KEYWORDS: usize = 7;

/// Returns the title of work: what was asked and what came of it, as far as it fits.
pub(super) fn of_work(asked: Option<&str>, committed: Option<&str>, done: Option<&str>) -> String {
    let plain = |text: &str| {
        // What a user agreed to has the words of the user behind it.
        let text = text.split_once(" (“").map_or(text, |(offer, _)| offer);
        let text = request::without_request(text);
        text.trim_end_matches(['.', '!', ',', ':', ';', ' '])
            .to_owned()
    };
    let request = asked.map(plain);
    // Without a commit, what was asked tells more than what was reported last.
    let request = request.and_then(|text| match committed {
        Some(_) => shortened(&text),
        None => Some(shortened(&text).unwrap_or_else(|| cut(&text))),
    });
    let outcome = committed.map(|subject| commit::without_kind(subject).to_owned());
    let outcome = outcome.or_else(|| done.map(plain));
    let title = match (request, outcome) {
        (Some(request), Some(outcome)) => {
            let both = format!("{request} → {outcome}");
            // A title that says one thing twice is no better than one that says it once.
            let (asked, came) = (terms(&request), terms(&outcome));
            let is_same = asked.iter().filter(|term| came.contains(term)).count() * 2 > asked.len();
            if count(&both) <= MOST_WORDS + 1 && !is_same {
                both
            } else if committed.is_some() {
                shortened(&outcome).unwrap_or_else(|| cut(&outcome))
            } else {
                request
            }
        }
        (Some(request), None) => request,
        (None, Some(outcome)) => shortened(&outcome).unwrap_or_else(|| cut(&outcome)),
        (None, None) => String::new(),
    };
    capitalized(&title)
}

/// Returns the title of events without words: the files that they changed, or the tools.
pub(super) fn of_calls(events: &[Event], files: &[String]) -> Option<String> {
    const SHOWN: usize = 3;
    let (verb, mut names): (&str, Vec<&str>) = match files {
        [] => {
            let tools = events.iter().filter_map(|event| event.tool.as_deref());
            ("Calls of", tools.collect())
        }
        files => {
            let name = |file: &'_ String| file.rsplit('/').next().map(str::len).unwrap_or(0);
            let names = files.iter().map(|file| &file[file.len() - name(file)..]);
            ("Changes of", names.collect())
        }
    };
    let mut seen = HashSet::new();
    names.retain(|name| seen.insert(*name));
    if names.is_empty() {
        return None;
    }
    let more = match names.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    names.truncate(SHOWN);
    Some(format!("{verb} {}{more}", names.join(", ")))
}

/// Returns the first words of the first prompt that says something, or else of the agent, or else of
/// any message that has some, as a session is called.
pub(super) fn of_words(events: &[Event]) -> String {
    let has_words = |event: &&Event| event.text.contains(char::is_alphanumeric);
    let mut texts = events
        .iter()
        .filter(has_words)
        .filter(|event| event.kind == MessageKind::Text);
    let asked = |event: &&Event| event.role == Role::User && says_something(&event.text);
    let first = texts.clone().find(asked);
    let first = first.or_else(|| texts.find(|event| event.role == Role::Assistant));
    let first = first.or_else(|| events.iter().find(has_words));
    capitalized(&first.map_or_else(String::new, |event| cut(&safe_line(&event.text))))
}

/// Returns a clause in at most so many words: the whole, or its first part up to a comma or a
/// conjunction; `None` if no part is short enough and says something.
fn shortened(text: &str) -> Option<String> {
    if (2..=MOST_WORDS).contains(&count(text)) {
        return Some(text.to_owned());
    }
    let ends = [
        ", ",
        " and ",
        " so ",
        " but ",
        " because ",
        " which ",
        " that ",
        " (",
        " - ",
    ];
    let mut cuts: Vec<usize> = ends
        .iter()
        .flat_map(|end| text.match_indices(end).map(|(at, _)| at))
        .collect();
    cuts.sort_unstable();
    let parts = cuts.into_iter().rev();
    let parts = parts.map(|at| text[..at].trim_end_matches([',', ' ']));
    let mut fitting = parts.filter(|part| (4..=MOST_WORDS).contains(&count(part)));
    fitting.next().map(str::to_owned)
}

fn cut(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    if words.len() > MOST_WORDS {
        format!("{}…", words[..MOST_WORDS].join(" "))
    } else {
        words.join(" ")
    }
}

fn count(text: &str) -> usize {
    text.split_whitespace().count()
}

fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}

/// Returns the names of the project in what was said and in the files that were changed, the most
/// frequent first; none if there are too few.
pub(super) fn keywords(events: &[Event], files: &[String]) -> Vec<String> {
    const FEWEST: usize = 3;
    const MOST_RANKED: usize = 60;
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let said = events
        .iter()
        .filter(|event| event.kind == MessageKind::Text);
    for (name, count) in said.flat_map(names_of) {
        let known = counts.entry(name).or_default();
        *known = (known.0 + 1, known.1 + count);
    }
    for file in files {
        let name = file.rsplit('/').next().unwrap_or(file);
        counts.entry(name).or_default().0 += 1;
    }
    let mut ranked: Vec<(&str, (usize, usize))> = counts.into_iter().collect();
    ranked.retain(|(_, (messages, count))| messages + count > 2);
    ranked.sort_by_key(|(_, counts)| Reverse(*counts));
    ranked.truncate(MOST_RANKED);
    // A word with a capital letter is a name of the project if a file has it.
    ranked.retain(|(name, _)| {
        let small = name.to_lowercase();
        let in_files = || {
            files
                .iter()
                .any(|file| file.to_lowercase().contains(&small))
        };
        small == *name || is_identifier(name) || in_files()
    });
    // Of names that differ in their ends only, the most frequent one.
    let mut found: Vec<String> = Vec::new();
    for (name, _) in ranked {
        let key = fold(name);
        let is_new = |known: &String| {
            let known = fold(known);
            !known.contains(key.as_ref()) && !key.contains(known.as_ref())
        };
        if found.len() < MOST_KEYWORDS && found.iter().all(is_new) {
            found.push(name.to_owned());
        }
    }
    if found.len() < FEWEST {
        Vec::new()
    } else {
        found
    }
}

/// Returns the words of a text that are names by how they are written, each with its count:
/// identifiers, files, options, and words in capitals where none is due.
pub(super) fn names(text: &str) -> Vec<(String, usize)> {
    let text = LEFT_OUT.replace_all(text, " ");
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for found in NAME.find_iter(&text) {
        let name = found.as_str().trim_end_matches(['.', '-', '_']);
        let (before, behind) = (&text[..found.start()], &text[found.end()..]);
        // A folder of a path.
        let is_folder = behind.starts_with(['/', '\\']);
        let is_code = before.ends_with('`') && behind.starts_with('`') && name.contains('-');
        if !is_folder
            && is_plain(name)
            && (is_code || is_identifier(name) || is_proper(before, name))
        {
            *counts.entry(name).or_default() += 1;
        }
    }
    let named = counts.into_iter();
    named
        .map(|(name, count)| (safe_line(name), count))
        .collect()
}

/// Whether a name is neither a number nor a hash.
fn is_plain(name: &str) -> bool {
    let is_hash = name.len() > 6 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    !is_hash && name.len() <= 40 && name.chars().filter(|c| c.is_alphabetic()).count() > 2
}

/// Whether a name is written as names in programs are.
fn is_identifier(name: &str) -> bool {
    let next = name.chars().skip(1);
    let is_camel = name
        .chars()
        .zip(next)
        .any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    let is_file = name.rsplit_once('.').is_some_and(|(stem, end)| {
        let is_end = (1..5).contains(&end.len()) && end.bytes().all(|b| b.is_ascii_lowercase());
        stem.len() > 1 && is_end
    });
    let is_option = name.starts_with("--") && name.len() > 4;
    is_camel || is_file || is_option || name.contains('_')
}

/// Whether a word begins with a capital letter in the middle of a sentence.
fn is_proper(before: &str, name: &str) -> bool {
    let before = before.strip_suffix(' ');
    let is_inside = |before: &str| before.ends_with(|c: char| c.is_lowercase() || c == ',');
    let mut chars = name.chars();
    before.is_some_and(is_inside)
        && chars.next().is_some_and(char::is_uppercase)
        && chars.next().is_some_and(char::is_lowercase)
        && name.chars().count() > 3
        && name.chars().all(char::is_alphabetic)
        && !is_common(&fold(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_says_what_was_asked_and_what_came_of_it() {
        let title = |asked: &[&str], committed: Option<&str>, done: Option<&str>| {
            of_work(asked.first().copied(), committed, done)
        };
        assert_eq!(
            title(
                &["can you look at the failing build?"],
                Some("fix(ci): pin the toolchain"),
                None
            ),
            "Look at the failing build? → pin the toolchain"
        );
        assert_eq!(
            title(
                &["fix the stale lock"],
                Some("fix: remove the stale lock"),
                None
            ),
            "Remove the stale lock"
        );
        assert_eq!(
            title(&["does it handle tags"], None, None),
            "Does it handle tags"
        );
        assert_eq!(title(&[], None, Some("Added a cache.")), "Added a cache");
        let long = "please rewrite the whole parser in one file, and then do many other things to it as well";
        assert_eq!(
            title(&[long], None, None),
            "Rewrite the whole parser in one file"
        );
        assert_eq!(title(&[], None, None), "");
    }

    #[test]
    fn events_without_words_are_titled_by_their_files_or_tools() {
        let events = [
            Event::call(1, "Bash", "command: ls"),
            Event::call(2, "Read", ""),
        ];
        let title =
            |events: &[Event], files: &[String]| of_calls(events, files).unwrap_or_default();
        assert_eq!(title(&events, &[]), "Calls of Bash, Read");
        let files = ["a/x.rs", "b/y.rs", "z.rs", "w.rs"].map(str::to_owned);
        assert_eq!(
            title(&events, &files),
            "Changes of x.rs, y.rs, z.rs and 1 more"
        );
        assert_eq!(of_calls(&[], &[]), None);
        let short = [
            Event::test(1, Role::User, "…"),
            Event::test(2, Role::User, "ok go"),
        ];
        assert_eq!(of_words(&short), "Ok go");
        let mut named = vec![
            Event::test(1, Role::User, "`y`"),
            Event::test(2, Role::Assistant, "ok sure"),
        ];
        assert_eq!(of_words(&named), "Ok sure");
        named.push(Event::test(3, Role::User, "[Image #1]"));
        named.push(Event::test(4, Role::User, "continue"));
        named.push(Event::test(5, Role::User, "a bug in login"));
        assert_eq!(of_words(&named), "A bug in login");
    }

    #[test]
    fn keywords_are_names() {
        let said = "The `what-not` waits for readAll in a_b.rs, since `--all-refs` of Codex is set. See 1a2b3c4d5e and https://a.example/b_c.";
        let found: Vec<String> = names(said).into_iter().map(|(name, _)| name).collect();
        assert_eq!(
            found,
            ["--all-refs", "Codex", "a_b.rs", "readAll", "what-not"]
        );
        let events = [
            Event::test(1, Role::User, said),
            Event::test(
                2,
                Role::Assistant,
                "The waiting Build: readAll, `what-not`, Codex",
            ),
            Event::test(3, Role::Assistant, "It is Codex"),
        ];
        let files = ["src/codex/lock.rs".to_owned()];
        assert_eq!(keywords(&events, &files), ["Codex", "readAll", "what-not"]);
        assert!(keywords(&events[1..2], &[]).is_empty());
    }
}
