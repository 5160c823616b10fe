//! Finds memories and bullets of the timeline that are near a question by their meaning.

use super::Timeline;
use super::grip::Grip;
use super::summarize::Point;
use crate::core::search::query::SearchArea;
use crate::core::search::recall::{RecallRequest, Scope};
use crate::core::search::semantic::{NearHit, Passage, Semantic, passages, question};
use crate::core::search::{Sources, allowed_logs, allows_memory};

/// What a text is of.
enum Place<'a> {
    /// A memory, by its index.
    Memory(usize, Passage),
    /// A bullet, with the index of its log.
    Bullet(usize, &'a Point, &'a Grip),
}

impl Place<'_> {
    fn text(&self) -> &str {
        match self {
            Self::Memory(_, passage) => &passage.text,
            Self::Bullet(_, point, _) => &point.text,
        }
    }
}

/// Returns the memories, and the lines of logs with a bullet, that are near the query of a recall, the
/// nearest first. The timeline is that of the logs of the sources.
pub fn near(
    sources: Sources<'_>,
    timeline: Option<&Timeline>,
    request: RecallRequest<'_>,
    semantic: &Semantic,
) -> Vec<NearHit> {
    let filters = &request.query.filters;
    let Some(question) = question(request.query) else {
        return Vec::new();
    };
    let mut places: Vec<Place<'_>> = Vec::new();
    let texts = sources.memories.texts.iter().enumerate();
    for (number, memory_text) in texts.filter(|_| request.scope != Scope::Messages) {
        if !memory_text.is_in_context() && allows_memory(filters, memory_text) {
            let passages = passages(memory_text).into_iter();
            places.extend(passages.map(|passage| Place::Memory(number, passage)));
        }
    }
    let is_about_logs = request.scope != Scope::Detail
        && filters.wants(SearchArea::Logs)
        && filters.roles.is_empty();
    let allowed = allowed_logs(filters, sources);
    for log in timeline.iter().flat_map(|timeline| &timeline.logs) {
        let record = log.record.as_ref().filter(|record| {
            is_about_logs && allowed[log.number] && request.without != Some(&record.id)
        });
        let points = record.iter().flat_map(|record| &record.segments);
        let points = points.flat_map(|segment| &segment.points);
        let points = points.filter(|(_, grip)| filters.allows_time(Some(grip.timestamp)));
        places.extend(points.map(|(point, grip)| Place::Bullet(log.number, point, grip)));
    }
    let texts: Vec<&str> = places.iter().map(Place::text).collect();
    let near = semantic.near(&question, &texts).into_iter();
    let hits = near.filter_map(|(at, _)| match &places[at] {
        Place::Memory(number, passage) => {
            Some(sources.near_lines(&sources.memories.texts[*number], passage))
        }
        Place::Bullet(number, point, grip) => {
            let log = sources.corpus?.log(*number)?;
            let mut near = sources.near_log(log, grip.first_line..=grip.last_line, &point.text);
            near.hit.time = Some(grip.timestamp);
            if let Some(session) = &grip.session {
                near.hit.session = Some(session.clone());
            }
            Some(near)
        }
    });
    hits.collect()
}
