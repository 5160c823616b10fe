//! Secrets, and addresses with credentials. They are shown masked.

use std::cell::LazyCell;
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
        let examples = LazyCell::new(|| examples(store));
        for document in &store.documents {
            let all = secret::find(&document.text);
            let real = all.iter().filter(|found| {
                let value = &document.text[found.span.clone()];
                let is_id = found.rule == "named secret"
                    && (is_short_token(&document.text, &found.span)
                        || is_in_path(&document.text, value, &all));
                !is_id
                    && !is_default(&document.text, &found.span)
                    && !is_placeholder(value)
                    && !is_cut(&document.text, &found.span)
                    && !examples.contains(value)
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

/// Whether a value is too short for a token or a key: an id, a pin or an example. A password may be
/// short.
fn is_short_token(text: &str, span: &Range<usize>) -> bool {
    const SHORTEST: usize = 16;
    let name = text[..span.start].lines().next_back().unwrap_or_default();
    let name = name.to_lowercase();
    let is_password = ["pass", "pwd", "secret"]
        .iter()
        .any(|word| name.contains(word));
    span.len() < SHORTEST && !is_password
}

/// Whether a value was cut short when it was noted: `sk-ant-api03-_9IYA92ZSN…`, `eyJhbGci…Ik...`.
fn is_cut(text: &str, span: &Range<usize>) -> bool {
    const LONGEST: usize = 40;
    const CUTS: [&str; 2] = ["...", "…"];
    let (value, after) = (&text[span.clone()], &text[span.end..]);
    span.len() < LONGEST
        && CUTS
            .iter()
            .any(|cut| after.starts_with(cut) || value.contains(cut))
}

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

/// The texts of the examples that the project of a store tracks.
fn examples(store: &CuratedStore<'_>) -> String {
    let mut all = String::new();
    let Some(project) = &store.project else {
        return all;
    };
    for path in project.examples() {
        if let Some(left) = LARGEST_EXAMPLES.checked_sub(all.len() as u64)
            && let Some(text) = project.text_of(path, left)
        {
            all.push_str(&text);
            all.push('\n');
        }
    }
    all
}

/// Whether a value is one to be changed.
fn is_placeholder(value: &str) -> bool {
    let bare: String = value.chars().filter(|c| c.is_alphanumeric()).collect();
    let bare = bare.to_lowercase();
    bare.starts_with("changeme") || bare.starts_with("password")
}

/// How many bytes of examples are read.
const LARGEST_EXAMPLES: u64 = 256 << 10;

/// Whether a password in an address is the default of a server on this machine, which is no
/// secret: the name of the user, or a word such as `guest`.
fn is_default(text: &str, span: &Range<usize>) -> bool {
    const LOCAL: [&str; 4] = ["localhost", "127.0.0.1", "[::1]", "0.0.0.0"];
    let after = text[span.end..].lines().next().unwrap_or_default();
    let is_local = match after.strip_prefix('@') {
        Some(address) => LOCAL.iter().any(|host| address.starts_with(host)),
        // `curl -u admin:admin http://localhost`
        None => LOCAL
            .iter()
            .any(|host| after.contains(&format!("//{host}"))),
    };
    let before = text[..span.start].trim_end_matches(':');
    let is_end = |c: char| c.is_whitespace() || "/'\"".contains(c);
    let user = before.rsplit(is_end).next().unwrap_or_default();
    let password = &text[span.clone()];
    is_local && (password == user || DEFAULTS.contains(&password))
}

/// Passwords that every installation has at first.
const DEFAULTS: [&str; 8] = [
    "password", "postgres", "guest", "root", "admin", "secret", "changeme", "test",
];
