//! Stores and memories by URI: `tome://STORE` is what an agent reads when a session starts,
//! `tome://STORE/PATH` a file.

use super::ServerSetup;
use super::answer::{MOST, quotation};
use crate::core::memory::FileKind;
use crate::core::memory::layout::{Layout, coder, index, session};
use crate::core::memory::store::Store;
use crate::core::text::display::safe;
use crate::core::text::link::{percent_decode, percent_encode};
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
            uri: format!("{SCHEME}{}", percent_encode(store.name())),
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
        uri: format!(
            "{SCHEME}{}/{}",
            percent_encode(store.name()),
            percent_encode(path)
        ),
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
    let (name, path) = (percent_decode(name), percent_decode(path));
    let store = setup
        .stores
        .iter()
        .map(|served| &served.store)
        .find(|store| store.name() == name)
        .ok_or_else(none)?;
    Ok((store, path.into_owned()))
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
