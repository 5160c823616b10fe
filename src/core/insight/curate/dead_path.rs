//! Names that memories use and that the project had, but has no longer: paths and symbols.
//!
//! Git proves it: the name must be in the history and not in the tree. Without git only absolute
//! paths below the project are certain. A name is not reported where the memory makes no claim about
//! today, where its line was written after the name had gone, or where something else of that name
//! may be meant: an ignored or a built file, or a bare name that many folders had. What one commit
//! removed is one finding for a memory.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::claim::is_claim;
use super::dead_name::{self, Mention};
use super::document::Document;
use super::fix::Fix;
use super::git::{GonePath, ProjectHistory};
use super::probe::Probes;
use super::{Collection, CuratedStore, Evidence, Found, Report, Rule, Severity};

pub(super) const RULE: Rule = Rule {
    id: "dead-path",
    severity: Severity::Warning,
    about: "a path or symbol that the project had and has no longer",
    check,
};

fn check(collection: &Collection<'_>, report: &mut Report<'_>) {
    let mut projects: Vec<&Arc<ProjectHistory>> = Vec::new();
    for (number, store) in collection.stores.iter().enumerate() {
        for document in &store.documents {
            for found in dead_absolutes(&collection.probes, store, document) {
                report.add(number, &document.memory.path, found);
            }
        }
        if let Some(project) = &store.project
            && !projects.iter().any(|known| Arc::ptr_eq(known, project))
        {
            projects.push(project);
        }
    }
    for project in projects {
        for (number, path, found) in dead_names(collection, project) {
            report.add(number, path, found);
        }
    }
}

/// What the memories about a project name that it has no longer: the store, the memory and the
/// finding.
fn dead_names<'a>(
    collection: &'a Collection<'_>,
    project: &'a Arc<ProjectHistory>,
) -> Vec<(usize, &'a str, Found)> {
    let mut mentions = gone_paths(collection, project);
    mentions.extend(dead_name::uses(collection, project));
    // What is ignored now may be there, on another machine too.
    let paths = mentions.iter().map(|mention| mention.path.as_str());
    let ignored = project.ignored(&paths.collect());
    mentions.retain(|mention| !ignored.contains(&mention.path));
    mentions.retain(|mention| {
        let mut ranges = mention.ranges.iter();
        ranges.all(|range| is_claim(mention.document, range))
    });
    let file_of = |mention: &Mention<'_>| {
        let store = collection.stores[mention.store].store;
        let file = store.rules().file_of(&mention.document.memory.path);
        let below = store.root().path().strip_prefix(&project.root).ok()?;
        Some(below.join(file).to_string_lossy().into_owned())
    };
    // What git does not track was never written into it.
    let files = mentions.iter().filter_map(file_of);
    let files: BTreeSet<String> = files.filter(|file| project.tracks(file)).collect();
    let mut names: Vec<&str> = mentions.iter().map(Mention::written).collect();
    names.sort_unstable();
    names.dedup();
    let written = project.written_names(&files, &names);
    mentions.retain(|mention| {
        let number = names.binary_search(&mention.written()).ok();
        let key = file_of(mention).zip(number);
        let commit = key.and_then(|key| written.get(&key));
        // Whoever wrote a name when it was gone already knew; where a file has moved, it is told anyway.
        mention.now.is_some() || commit.is_none_or(|commit| *commit > mention.commit)
    });
    let mut groups: BTreeMap<(usize, &str, usize), Vec<Mention<'_>>> = BTreeMap::new();
    for mention in mentions {
        let path = mention.document.memory.path.as_str();
        let key = (mention.store, path, mention.commit);
        groups.entry(key).or_default().push(mention);
    }
    let found = groups.into_iter().map(|((number, path, _), mut group)| {
        group.sort_by_key(|mention| mention.ranges[0].start);
        let store = &collection.stores[number];
        (number, path, found_by_git(store, project, &group))
    });
    found.collect()
}

/// The paths in the memories about a project that it has no longer.
fn gone_paths<'a>(
    collection: &'a Collection<'_>,
    project: &Arc<ProjectHistory>,
) -> Vec<Mention<'a>> {
    let mut found: Vec<Mention<'a>> = Vec::new();
    for (number, store) in collection.stores.iter().enumerate() {
        let is_about = |own: &Arc<ProjectHistory>| Arc::ptr_eq(own, project);
        if !store.project.as_ref().is_some_and(is_about) {
            continue;
        }
        for document in &store.documents {
            let mut named: BTreeMap<&str, Mention<'a>> = BTreeMap::new();
            for token in tokens(&document.text) {
                let text = &document.text[token.clone()];
                let Some(gone) = gone_path(&collection.probes, project, store, text) else {
                    continue;
                };
                if !is_telling(project, document, &token) {
                    continue;
                }
                let mention = named.entry(gone.path.as_str()).or_insert_with(|| Mention {
                    store: number,
                    document,
                    ranges: Vec::new(),
                    name: text.to_owned(),
                    path: gone.path.clone(),
                    commit: gone.commit,
                    now: gone.now.clone(),
                    definition: None,
                });
                mention.ranges.push(token);
            }
            found.extend(named.into_values());
        }
    }
    found
}

/// Whether a path can only mean the one that is gone. A bare name may also be something that the
/// project writes, a part of a drawn tree, or a file of another folder.
fn is_telling(project: &ProjectHistory, document: &Document, token: &Range<usize>) -> bool {
    let text = document.text[token.clone()].trim_start_matches("./");
    let end = text.rsplit('.').next().unwrap_or_default();
    if text.contains('/') {
        // What an agent keeps beside its memories it makes itself.
        return !(text.starts_with("memory/") && WRITTEN.contains(&end));
    }
    let line = document.line_text(document.line_at(token.start));
    // Beside a template of a path, a name goes on with its folder.
    let is_of_template = line.contains("}/") || line.contains(">/");
    !WRITTEN.contains(&end)
        && !READ_BY_AGENTS.contains(&text)
        && !is_of_template
        && !line.contains(['├', '└', '│'])
        && project.gone_folders_of(text) < MANY_FOLDERS
        && !project.is_built(text)
}

/// Ends of files that programs write.
const WRITTEN: [&str; 17] = [
    "json", "jsonl", "csv", "tsv", "html", "htm", "log", "txt", "db", "sqlite", "pdf", "png",
    "jpg", "svg", "xlsx", "npy", "zip",
];

/// Names that agents give a meaning, in whatever folder.
const READ_BY_AGENTS: [&str; 8] = [
    "AGENTS.md",
    "CLAUDE.md",
    "GEMINI.md",
    "MEMORY.md",
    "README.md",
    "SKILL.md",
    "SOUL.md",
    "USER.md",
];

/// A bare name that so many folders had says nothing about one of them.
const MANY_FOLDERS: usize = 3;

/// How many names a message lists.
const SHOWN: usize = 3;

/// The finding about what one commit removed and a memory still names.
fn found_by_git(
    store: &CuratedStore<'_>,
    project: &ProjectHistory,
    group: &[Mention<'_>],
) -> Found {
    let document = group[0].document;
    let commit = project.commit(group[0].commit);
    let ranges = group.iter().flat_map(|mention| &mention.ranges);
    let mut places: BTreeMap<usize, Evidence> = BTreeMap::new();
    for range in ranges {
        let piece = Evidence::words_of(store, document, range);
        let place = places.entry(document.line_at(range.start));
        let marks = piece.marks.clone();
        place
            .and_modify(|known| known.marks.extend(marks))
            .or_insert(piece);
    }
    let lines: Vec<usize> = places.keys().copied().collect();
    let mut evidence: Vec<Evidence> = places.into_values().collect();
    evidence.push(removal(group, commit));
    let (subject, message) = match group {
        [one] => (one.name.clone(), message_of(one, commit)),
        several => {
            let names: Vec<&str> = several.iter().map(|one| one.name.as_str()).collect();
            let more = names.len().saturating_sub(SHOWN);
            let more = if more > 0 {
                format!(" and {more} more")
            } else {
                String::new()
            };
            let moved = several.iter().filter(|one| one.now.is_some()).count();
            let went = match moved {
                0 => "removed",
                all if all == several.len() => "moved",
                _ => "moved or removed",
            };
            let what = if several.iter().all(|one| one.definition.is_none()) {
                "paths"
            } else {
                "names"
            };
            let message = format!(
                "has {} {what} that {commit} {went}, on {}: {}{more}",
                names.len(),
                line_span(&lines),
                names[..names.len().min(SHOWN)].join(", "),
            );
            (format!("{} {}", commit.hash, commit.subject), message)
        }
    };
    Found {
        line: lines.first().copied(),
        subject,
        message,
        evidence,
        fix: moved_fix(document, group),
    }
}

/// The commit, and what it removed or moved.
fn removal(group: &[Mention<'_>], commit: &super::git::Commit) -> Evidence {
    let mut text = commit.subject.clone();
    for mention in group {
        let line = match (&mention.definition, &mention.now) {
            (Some(line), _) => format!("- {line}"),
            // The finding about one path says it all.
            (None, _) if group.len() == 1 => continue,
            (None, Some(now)) => format!("{} → {now}", mention.path),
            (None, None) => format!("- {}", mention.path),
        };
        text.push('\n');
        text.push_str(&line);
    }
    let piece = Evidence::commit(&group[0].path, commit);
    let path = piece.path.filter(|_| group.len() == 1);
    Evidence {
        text,
        path,
        ..piece
    }
}

fn line_span(lines: &[usize]) -> String {
    match lines {
        [one] => format!("line {one}"),
        [first, .., last] => format!("lines {first}–{last}"),
        [] => String::new(),
    }
}

fn message_of(mention: &Mention<'_>, commit: &super::git::Commit) -> String {
    let name = &mention.name;
    match (&mention.now, &mention.definition) {
        (Some(now), _) => format!("{name} is {now} since {commit}"),
        (None, Some(_)) => format!(
            "{name} is gone from the project since {commit}; it was in {}",
            mention.path
        ),
        (None, None) => format!("{name} is gone from the project since {commit}"),
    }
}

/// Writes the new paths of what was renamed, where the memory has the old one whole.
fn moved_fix(document: &Document, group: &[Mention<'_>]) -> Option<Fix> {
    let mut edits = Vec::new();
    let mut words = Vec::new();
    for mention in group {
        let now = mention.now.as_ref()?;
        for range in &mention.ranges {
            // A line number may be another in the renamed file.
            let is_whole = document.text[range.clone()] == mention.path
                && !document.text[range.end..].starts_with(':');
            if !is_whole {
                return None;
            }
            edits.push((range.clone(), now.clone()));
        }
        words.push(format!("{} by {now}", mention.path));
    }
    edits.sort_by_key(|(range, _)| range.start);
    let words = format!("replaces {}", words.join(", "));
    Some(Fix::replace(&document.memory.path, edits, words))
}

/// The absolute paths below the project that are not there.
fn dead_absolutes(probes: &Probes, store: &CuratedStore<'_>, document: &Document) -> Vec<Found> {
    let Some(root) = &store.project_root else {
        return Vec::new();
    };
    let tokens = tokens(&document.text).into_iter();
    tokens
        .filter(|token| document.text[token.clone()].starts_with('/'))
        .filter_map(|token| dead_absolute(probes, root, document, &token))
        .collect()
}

/// An absolute path below the project that is not there, although its folder is.
fn dead_absolute(
    probes: &Probes,
    root: &Path,
    document: &Document,
    token: &Range<usize>,
) -> Option<Found> {
    let text = &document.text[token.clone()];
    let path = Path::new(text);
    let below = path.strip_prefix(root).ok()?;
    let is_certain = below.components().count() > 0
        && !probes.exists(path)
        && path.symlink_metadata().is_err()
        && path
            .parent()
            .is_some_and(|folder| probes.exists(folder) && folder.is_dir())
        && text
            .rsplit('/')
            .next()
            .is_some_and(|name| name.contains('.'))
        && is_claim(document, token);
    is_certain.then(|| Found {
        line: Some(document.line_at(token.start)),
        subject: text.to_owned(),
        message: format!("{text} does not exist"),
        evidence: vec![Evidence::words(format!(
            "{} is there, {} is not",
            path.parent().unwrap_or(root).display(),
            below.display()
        ))],
        fix: None,
    })
}

/// The path that the token names, if the project had it and has no longer.
fn gone_path<'a>(
    probes: &Probes,
    project: &'a ProjectHistory,
    store: &CuratedStore<'_>,
    token: &str,
) -> Option<&'a GonePath> {
    let path = token.trim_start_matches("./").trim_end_matches('/');
    let gone = project.gone(path)?;
    let is_there = project.has(path)
        || probes.exists(&project.root.join(path))
        || probes.exists(&project.root.join(&gone.path))
        || store.store.root().has(path);
    (!is_there).then_some(gone)
}

/// Characters of paths. A path with other characters is not found.
fn is_path_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '/' | '-' | '+' | '@')
}

/// Characters that make a word a pattern, a template or an address instead of a path.
fn is_template_char(c: char) -> bool {
    matches!(
        c,
        '$' | '{' | '}' | '*' | '<' | '>' | '~' | '%' | '\\' | '='
    )
}

/// The words of a text that may be paths: with a folder, or with an extension.
pub(super) fn tokens(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let Some(start) = text[at..].find(is_path_char).map(|next| at + next) else {
            break;
        };
        let rest = &text[start..];
        let end = start + rest.find(|c: char| !is_path_char(c)).unwrap_or(rest.len());
        at = end;
        let before = text[..start].chars().next_back();
        let after = text[end..].chars().next();
        if before.is_some_and(is_template_char)
            || after.is_some_and(|c| is_template_char(c) && c != '~')
            || before == Some(':') && rest.starts_with("//")
        {
            continue;
        }
        let word = text[start..end].trim_end_matches(['.', '-', '+', '@']);
        let end = start + word.len();
        if is_path(word) {
            found.push(start..end);
        }
    }
    found
}

fn is_path(word: &str) -> bool {
    if word.len() < 4 || word.contains("//") || word.contains("..") || word.contains('@') {
        return false;
    }
    let bare = word.trim_start_matches("./").trim_matches('/');
    if bare.contains('/') {
        return true;
    }
    let Some((stem, extension)) = bare.rsplit_once('.') else {
        return false;
    };
    // A dot file such as `.docker-env-chain` has no extension.
    if stem.is_empty() {
        return extension.len() > 2 && extension.contains(['-', '_']);
    }
    (1..=5).contains(&extension.len())
        && extension.starts_with(|c: char| c.is_ascii_alphabetic())
        && extension.chars().all(|c| c.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_told_from_words_addresses_and_templates() {
        let text = "run `test/a.sh:12`, see lib/x.c. https://h/y.md ~/z.rs $D/q.sh {a}/b.c \
            v1.2 e.g. and/or ./run.py .docker-env-chain *.md a@b.com 3.14 /abs/p.txt internal/debug/";
        let found: Vec<&str> = tokens(text).into_iter().map(|t| &text[t]).collect();
        assert_eq!(
            found,
            [
                "test/a.sh",
                "lib/x.c",
                "and/or",
                "./run.py",
                ".docker-env-chain",
                "/abs/p.txt",
                "internal/debug/"
            ]
        );
    }
}
