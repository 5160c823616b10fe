//! Stores and memories by URI: `tome://STORE` is what an agent reads when a session starts,
//! `tome://STORE/PATH` a file.

use super::ServerSetup;
use super::answer::{MOST, quotation};
use crate::core::memory::FileKind;
use crate::core::memory::layout::{Layout, coder, index, session};
use crate::core::memory::store::Store;
use crate::core::text::display::safe;
use crate::core::{Error, Result};

/// A resource in the list.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ResourceEntry {
    pub(super) uri: String,
    pub(super) name: String,
    pub(super) about: String,
    pub(super) size: Option<u64>,
}

/// The URI template of a file.
pub(super) const TEMPLATE: &str = "tome://{store}/{+path}";

const SCHEME: &str = "tome://";

/// Lists every store, each followed by its files.
pub(super) fn list(setup: &ServerSetup) -> Result<Vec<ResourceEntry>> {
    let mut listed = Vec::new();
    for store in setup.present() {
        listed.push(ResourceEntry {
            uri: format!("{SCHEME}{}", encoded(store.name())),
            name: store.name().to_owned(),
            about: format!(
                "What an agent reads of this {} store when a session starts",
                store.layout()
            ),
            size: None,
        });
        let kept = match store.layout() {
            Layout::Index => &[index::INDEX][..],
            Layout::Session => &[session::OVERVIEW],
            Layout::Coder => &[coder::GUIDES[0].0, coder::GUIDES[1].0],
            Layout::Facts | Layout::Events | Layout::Entries | Layout::Instructions => &[],
        };
        for path in kept {
            if let Ok(document) = store.read(path) {
                listed.push(file(store, path, "", document.bytes.len() as u64));
            }
        }
        for memory in store.list()? {
            if !kept.contains(&memory.path.as_str()) {
                listed.push(file(store, &memory.path, &memory.summary, memory.size));
            }
        }
    }
    Ok(listed)
}

fn file(store: &Store, path: &str, about: &str, size: u64) -> ResourceEntry {
    ResourceEntry {
        uri: format!("{SCHEME}{}/{}", encoded(store.name()), encoded(path)),
        name: format!("{}:{path}", store.name()),
        about: about.to_owned(),
        size: Some(size),
    }
}

/// Returns the store of the resource at a URI, and the path in it, which is empty for the store
/// itself.
pub(super) fn locate<'a>(setup: &'a ServerSetup, uri: &str) -> Result<(&'a Store, String)> {
    let none = || Error::not_found(uri);
    let rest = uri.strip_prefix(SCHEME).ok_or_else(none)?;
    let (name, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (name, path) = (
        decoded(name).ok_or_else(none)?,
        decoded(path).ok_or_else(none)?,
    );
    let store = setup
        .stores
        .iter()
        .map(|served| &served.store)
        .find(|store| store.name() == name)
        .ok_or_else(none)?;
    Ok((store, path))
}

/// Returns the text of the resource at a URI.
pub(super) fn read(setup: &ServerSetup, uri: &str) -> Result<String> {
    let (store, path) = locate(setup, uri)?;
    if path.is_empty() {
        return store.rules().context(store);
    }
    let document = store.read(&path)?;
    let text = document.lossy();
    let kind = store.rules().kind(&store.locate(&path)?);
    let (text, is_log) = match kind {
        FileKind::Log => (safe(&text), true),
        _ => (text.into_owned(), false),
    };
    let end = text.char_indices().nth(MOST).map(|(end, _)| end);
    let shown = &text[..end.unwrap_or(text.len())];
    let shown = if is_log {
        quotation(shown)
    } else {
        shown.to_owned()
    };
    Ok(match end {
        Some(_) => {
            format!("{shown}\n\n(truncated; memory_read continues with offset: {MOST})")
        }
        None => shown,
    })
}

/// Percent-encodes a text for a URI.
fn encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' => {
                (byte as char).to_string()
            }
            other => format!("%{other:02X}"),
        })
        .collect()
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        match (first, tail) {
            (b'%', [high, low, after @ ..]) => {
                let digit = |c: &u8| (*c as char).to_digit(16);
                bytes.push(u8::try_from(digit(high)? * 16 + digit(low)?).ok()?);
                rest = after;
            }
            _ => bytes.push(*first),
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_any_script_go_through_a_uri() {
        for name in ["a/b c.md", "메모 #1.md", "100%.md", ".memory"] {
            assert_eq!(decoded(&encoded(name)).as_deref(), Some(name));
        }
        assert_eq!(decoded("%zz"), None);
        assert_eq!(decoded("%F"), Some("%F".to_owned()));
    }
}
