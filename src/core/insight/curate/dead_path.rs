//! Paths that memories name and that the project had, but has no longer.
//!
//! Git proves it: the path must be in the history and not in the tree. Without git only absolute
//! paths below the project are certain. A path is not reported where the memory itself says that
//! it is past, where the file is there although git does not track it, or where another file of
//! the same name is there.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use super::document::Document;
use super::fix::Fix;
use super::git::{GonePath, ProjectHistory};
use super::past::is_past;
use super::probe::Probes;
use super::{Collection, CuratedStore, Evidence, Found, Report, Rule, Severity};

pub(super) const RULE: Rule = Rule {
    id: "dead-path",
    severity: Severity::Warning,
    about: "a path, script, flag or symbol that the project had and has no longer",
    check,
};

fn check(collection: &Collection<'_>, report: &mut Report<'_>) {
    for (number, store) in collection.stores.iter().enumerate() {
        for document in &store.documents {
            for found in dead_paths(&collection.probes, store, document) {
                report.add(number, &document.memory.path, found);
            }
        }
    }
    super::dead_name::check(collection, report);
}

/// The places where a document names one gone path.
struct Mentions<'a> {
    gone: &'a GonePath,
    tokens: Vec<Range<usize>>,
    /// Whether one of the places says that the path is past.
    is_past: bool,
}

fn dead_paths(probes: &Probes, store: &CuratedStore<'_>, document: &Document) -> Vec<Found> {
    let mut found = Vec::new();
    let mut named: BTreeMap<&str, Mentions<'_>> = BTreeMap::new();
    for token in tokens(&document.text) {
        let text = &document.text[token.clone()];
        if let Some(root) = &store.project_root
            && text.starts_with('/')
        {
            found.extend(dead_absolute(probes, root, document, &token));
            continue;
        }
        let Some(project) = &store.project else {
            continue;
        };
        if let Some(gone) = gone_path(probes, project, store, text) {
            let mentions = named.entry(gone.path.as_str()).or_insert(Mentions {
                gone,
                tokens: Vec::new(),
                is_past: false,
            });
            mentions.is_past |= is_past(document, &token);
            mentions.tokens.push(token);
        }
    }
    if let Some(project) = &store.project {
        let told = named.into_values().filter(|mentions| !mentions.is_past);
        found.extend(told.map(|mentions| found_by_git(store, document, project, &mentions)));
    }
    found
}

fn found_by_git(
    store: &CuratedStore<'_>,
    document: &Document,
    project: &ProjectHistory,
    mentions: &Mentions<'_>,
) -> Found {
    let gone = mentions.gone;
    let commit = project.commit(gone.commit);
    let first = &mentions.tokens[0];
    let token = &document.text[first.clone()];
    let mut evidence = vec![Evidence::commit(&gone.path, commit)];
    let mut lines: Vec<usize> = mentions
        .tokens
        .iter()
        .map(|token| document.line_at(token.start))
        .collect();
    lines.dedup();
    evidence.extend(
        lines
            .iter()
            .map(|line| Evidence::line(store, document, *line)),
    );
    let message = match &gone.now {
        Some(now) => format!("{token} is {now} since {commit}"),
        None => format!("{token} is gone from the project since {commit}"),
    };
    let whole = |token: &&Range<usize>| document.text[(*token).clone()] == gone.path;
    let has_line = |token: &Range<usize>| document.text[token.end..].starts_with(':');
    let fix = gone.now.as_ref().and_then(|now| {
        let all: Vec<&Range<usize>> = mentions.tokens.iter().filter(whole).collect();
        // A line number may be another in the renamed file.
        let is_certain = all.len() == mentions.tokens.len() && !all.iter().any(|t| has_line(t));
        is_certain.then(|| {
            let edits = all.iter().map(|token| ((*token).clone(), now.clone()));
            let words = format!("replaces {} by {now}", gone.path);
            Fix::replace(&document.memory.path, edits.collect(), words)
        })
    });
    Found {
        line: Some(lines[0]),
        subject: token.to_owned(),
        message,
        evidence,
        fix,
    }
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
        && !is_past(document, token);
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
