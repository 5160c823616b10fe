//! `tome read`: prints a memory, or a part of it; or the messages that a citation refers to.

use serde_json::json;

use super::Failure;
use super::args::ReadArgs;
use super::print::{Answer, Reported, Text};
use super::world::World;
use crate::core::Error;
use crate::core::log::Agent;
use crate::core::memory::FileKind;
use crate::core::memory::citation::{Citation, CitedPart};
use crate::core::search::format;
use crate::core::text::display::safe;

pub(super) fn run(args: &ReadArgs, world: &World) -> Reported<'static> {
    let Ok(cited) = args.reference.parse::<Citation>();
    let is_of_agent = cited.store.as_deref().and_then(Agent::named).is_some();
    // A citation names its session, whichever project that is of.
    if is_of_agent && let Some(messages) = world.whole_log_catalog()?.cited_messages(&cited)? {
        let text = format::format_messages(&messages);
        let json = json!({ "store": cited.store, "path": cited.path, "text": text });
        return Answer::done(json, Text::Line(text));
    }
    let (store, citation) = match world.store_holding(&args.reference) {
        Err(Failure::Usage(_)) if is_of_agent => {
            return Err(Error::not_found(format!("log {}", cited.path)).into());
        }
        holding => holding?,
    };
    let worded = |error: Error| Failure::Core(error, Some(store.layout()));
    let file = store.locate(&citation.path).map_err(worded)?;
    if let (FileKind::Log, CitedPart::Lines(lines)) = (store.rules().kind(&file), &citation.part) {
        // A log can be large, so only the cited lines are read.
        let found = store.root().read_lines(&file, lines)?;
        let found = found.ok_or_else(|| Error::not_found(&args.reference))?;
        let text = safe(&String::from_utf8_lossy(&found));
        let json = json!({ "store": store.name(), "path": citation.path, "text": text });
        return Answer::done(json, Text::Content(text.into_bytes()));
    }
    let document = store.read(&citation.path).map_err(worded)?;
    let text = document.lossy();
    let memory = store.rules().read(&file, &text);
    let part = citation.part.of(&text, &memory, store.layout());
    let part = part.ok_or_else(|| Error::not_found(&args.reference))?;
    let json = json!({
        "store": store.name(),
        "path": document.path,
        "text": part,
        "size": document.bytes.len(),
        "revision": document.revision,
    });
    let content = if citation.part == CitedPart::Whole {
        document.bytes.clone()
    } else {
        part.as_bytes().to_vec()
    };
    Answer::done(json, Text::Content(content))
}
