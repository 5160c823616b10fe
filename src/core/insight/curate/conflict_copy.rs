//! Copies that programs which synchronise files leave beside a memory.

use std::sync::LazyLock;

use regex::Regex;

use super::fix::Fix;
use super::{Collection, Evidence, Found, Report, Rule, Severity};

pub(super) const RULE: Rule = Rule {
    id: "conflict-copy",
    severity: Severity::Warning,
    about: "a copy that a program for synchronising files left",
    check,
};

/// The name of the original is the first and the last group.
static COPY: LazyLock<Regex> = LazyLock::new(|| {
    let marks = [
        // Syncthing
        r"\.sync-conflict-\d{8}-\d{6}(?:-[A-Z0-9]+)?",
        // Dropbox, Nextcloud, Synology, Google Drive
        r" \([^()]*conflict[^()]*\)",
        r"_conflict-\d+[-\d]*",
        r"[ ._-]conflicted copy[^/.]*",
        // iCloud, Finder
        r" \(?\d\)?",
        r" copy(?: \d+)?",
    ];
    Regex::new(&format!(r"(?i)^(.+?)(?:{})(\.md)$", marks.join("|"))).expect("a valid pattern")
});

fn check(collection: &Collection<'_>, report: &mut Report<'_>) {
    for (number, store) in collection.stores.iter().enumerate() {
        for document in store.memories() {
            let path = &document.memory.path;
            let Some(parts) = COPY.captures(path) else {
                continue;
            };
            let original = format!("{}{}", &parts[1], &parts[2]);
            // Without the original, the name is only a name.
            let Some(other) = store.document(&original) else {
                continue;
            };
            let is_same = other.text == document.text;
            let fix = is_same.then(|| Fix::delete(path, format!("deletes {path}")));
            let how = if is_same {
                "the same text"
            } else {
                "another text"
            };
            let found = Found {
                line: None,
                subject: original.clone(),
                message: format!("is a copy of {original} with {how}"),
                evidence: vec![Evidence {
                    text: format!("{} and {} bytes", other.memory.size, document.memory.size),
                    path: Some(original),
                    ..Evidence::default()
                }],
                fix,
            };
            report.add(number, path, found);
        }
    }
}
