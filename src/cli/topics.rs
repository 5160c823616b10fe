//! `tome topics`: what the sessions were about; and the embedding model of the settings.

use std::io;

use serde_json::json;

use super::Failure;
use super::args::TopicsArgs;
use super::print::{Answer, Printer, Reported, TextStyle, print_error};
use super::world::World;
use crate::core::insight::semantic::{NearHit, NoSemantic, Semantic};
use crate::core::insight::timeline::{Records, Topic, near};
use crate::core::memory::store::Store;
use crate::core::memory::texts::MemoryTexts;
use crate::core::search::Sources;
use crate::core::search::recall::{RecallRequest, Scope};

impl World {
    /// Opens the embedding model of the settings.
    pub(super) fn semantic(&self) -> Result<Semantic, NoSemantic> {
        Semantic::open(&self.settings.timeline.model, &self.cache)
    }

    /// Returns what is near a question.
    pub(super) fn near(
        &self,
        stores: &[Store],
        request: RecallRequest<'_>,
        semantic: &Semantic,
    ) -> Result<Vec<NearHit>, Failure> {
        let memories = MemoryTexts::read(stores)?;
        if request.scope == Scope::Detail {
            let sources = Sources {
                memories: &memories,
                corpus: None,
            };
            return Ok(near(sources, None, request, semantic));
        }
        self.read_corpus(|logs| {
            let sources = Sources {
                memories: &memories,
                corpus: Some(&logs.corpus),
            };
            let timeline = self.timeline(logs, Records::Use);
            near(sources, Some(&timeline), request, semantic)
        })
    }
}

/// Prints what there is to say about a model.
pub(super) fn told(found: Result<Semantic, NoSemantic>) -> Option<Semantic> {
    let note = match &found {
        Ok(semantic) => semantic.note(),
        Err(none) => none.note(),
    };
    if let Some(note) = note {
        print_error(&format!("warning: {note}"));
    }
    found.ok()
}

pub(super) fn run(args: &TopicsArgs, world: &World) -> Reported<'static> {
    let semantic = world.semantic();
    let semantic = semantic.map_err(|none| Failure::Usage(none.to_string()))?;
    let mut topics = world.read_corpus(|logs| {
        let timeline = world.timeline(logs, Records::Use);
        timeline.topics(&semantic)
    })?;
    topics.truncate(args.limit);
    Answer::found(
        !topics.is_empty(),
        json!({ "topics": topics }),
        move |printer| topics.iter().try_for_each(|topic| show(topic, printer)),
    )
}

fn show(topic: &Topic, printer: &mut Printer) -> io::Result<()> {
    const MOST_NODES: usize = 3;
    printer.painted_line(TextStyle::Strong, &topic.name)?;
    let months = topic.months.iter();
    let months: Vec<String> = months.map(|(month, n)| format!("{month}: {n}")).collect();
    let told = format!("  {} bullets · {}", topic.count, months.join(", "));
    printer.painted_line(TextStyle::Quiet, &told)?;
    printer.line(&format!("  {}", topic.line))?;
    let newest = topic.nodes.iter().rev().take(MOST_NODES);
    let newest: Vec<&str> = newest.map(String::as_str).collect();
    printer.painted_line(TextStyle::Quiet, &format!("  {}", newest.join(" ")))
}
