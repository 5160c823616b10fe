//! Secrets, and addresses with credentials. They are shown masked.

use std::ops::Range;

use super::{Collection, CuratedStore, Evidence, Found, Report, Rule, Severity};
use crate::core::text::secret::{self, Secret};

pub(super) const RULE: Rule = Rule {
    id: "secret",
    severity: Severity::Error,
    about: "a password, key or token",
    check,
};

fn check(collection: &Collection<'_>, report: &mut Report<'_>) {
    for (number, store) in collection.stores.iter().enumerate() {
        for document in &store.documents {
            let all = secret::find(&document.text);
            let real = all.iter().filter(|found| {
                let value = &document.text[found.span.clone()];
                let is_id = found.rule == "named secret"
                    && (value.len() < SHORTEST || is_in_path(&document.text, value, &all));
                !is_id && !is_default(&document.text, &found.span) && !is_example(store, value)
            });
            for (count, found) in real.enumerate() {
                let line = document.line_at(found.span.start);
                let evidence = Evidence::line(store, document, line);
                let message = format!(
                    "holds a secret ({}); whatever reads the memory sees it. Take it out and \
                     change it where it is used",
                    found.rule
                );
                let said = Found {
                    line: Some(line),
                    subject: format!("{} {}", found.rule, count + 1),
                    message,
                    evidence: vec![evidence],
                    fix: None,
                };
                report.add(number, &document.memory.path, said);
            }
        }
    }
}

/// A token is longer: a shorter one is an id, a pin or an example.
const SHORTEST: usize = 16;

/// Whether a value also stands in the path of an address, where none of the secrets is: it is an id.
fn is_in_path(text: &str, value: &str, secrets: &[Secret]) -> bool {
    text.match_indices(value).any(|(at, _)| {
        let word = text[..at].rsplit(char::is_whitespace).next();
        let is_path = word.is_some_and(|word| word.contains("://") && word.ends_with('/'));
        is_path && !secrets.iter().any(|secret| secret.span.contains(&at))
    })
}

/// Whether a text has a secret, without what its project could tell about it.
pub(super) fn has_secret(text: &str) -> bool {
    let mut all = secret::find(text).into_iter();
    all.any(|found| !is_default(text, &found.span) && !is_placeholder(&text[found.span.clone()]))
}

/// Whether a value is one to be changed, or stands in an example that the project tracks.
fn is_example(store: &CuratedStore<'_>, value: &str) -> bool {
    is_placeholder(value)
        || store.project.as_ref().is_some_and(|project| {
            project.examples().any(|path| {
                let text = project.text_of(path, LARGEST_EXAMPLE);
                text.is_some_and(|text| text.contains(value))
            })
        })
}

/// Whether a value is one to be changed.
fn is_placeholder(value: &str) -> bool {
    let bare: String = value.chars().filter(|c| c.is_alphanumeric()).collect();
    let bare = bare.to_lowercase();
    bare.starts_with("changeme") || bare.starts_with("password")
}

/// The largest example that is read.
const LARGEST_EXAMPLE: u64 = 256 << 10;

/// Whether a password in an address is the default of a server on this machine, which is no
/// secret: the name of the user, or a word such as `guest`.
fn is_default(text: &str, span: &Range<usize>) -> bool {
    let after = text[span.end..].strip_prefix('@').unwrap_or_default();
    let is_local = ["localhost", "127.0.0.1", "[::1]", "0.0.0.0"]
        .iter()
        .any(|host| after.starts_with(host));
    let before = text[..span.start].trim_end_matches(':');
    let user = before.rsplit('/').next().unwrap_or_default();
    let password = &text[span.clone()];
    is_local && (password == user || DEFAULTS.contains(&password))
}

/// Passwords that every installation has at first.
const DEFAULTS: [&str; 8] = [
    "password", "postgres", "guest", "root", "admin", "secret", "changeme", "test",
];
