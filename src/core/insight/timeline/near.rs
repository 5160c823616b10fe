//! Finds memories and bullets of the timeline that are near a question by their meaning.

use super::Timeline;
use super::grip::Grip;
use super::summarize::Point;
use crate::core::insight::semantic::{
    NearHit, Passage, Semantic, near_lines, near_log, passages, question,
};
use crate::core::search::query::SearchArea;
use crate::core::search::recall::{RecallRequest, Scope};
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
        if allows_memory(filters, memory_text) {
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
        Place::Memory(number, passage) => Some(near_lines(
            sources,
            &sources.memories.texts[*number],
            passage,
        )),
        Place::Bullet(number, point, grip) => {
            let log = sources.corpus?.log(*number)?;
            let mut near = near_log(sources, log, grip.first_line..=grip.last_line, &point.text);
            near.hit.time = Some(grip.timestamp);
            if let Some(session) = &grip.session {
                near.hit.session = Some(session.clone());
            }
            Some(near)
        }
    });
    hits.collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::core::insight::semantic::fixture::TestModel;
    use crate::core::insight::semantic::merge;
    use crate::core::insight::timeline::Records;
    use crate::core::insight::timeline::event::Texts;
    use crate::core::insight::timeline::summarize::{PointKind, Summarizer, Summary, SummaryInput};
    use crate::core::search::fixture::{TestHome, conversation};
    use crate::core::search::query::{Query, noon};
    use crate::core::search::recall::recall;

    /// Makes a bullet of everything that is said.
    #[derive(Debug)]
    struct Verbatim;

    impl Summarizer for Verbatim {
        fn name(&self) -> String {
            "verbatim".to_owned()
        }

        fn texts(&self) -> Texts {
            Texts::All
        }

        fn summarize(&self, input: SummaryInput<'_>) -> Summary {
            let events = input.events.iter().enumerate().skip(input.own);
            let points = events.map(|(at, event)| {
                let point = Point {
                    kind: PointKind::Said,
                    speaker: None,
                    text: event.text.to_string(),
                    line: 1,
                };
                (point, at)
            });
            Summary {
                title: "a talk".to_owned(),
                points: points.collect(),
                ..Summary::default()
            }
        }
    }

    const GROUPS: [&str; 3] = ["lock mutex", "fast quick speed", "cat feline"];

    struct Asked {
        home: TestHome,
        semantic: Semantic,
    }

    impl Asked {
        fn new(details: &[(&str, &str)], talks: &[Vec<String>]) -> Self {
            let home = TestHome::new(details, talks);
            let model = Box::new(TestModel::new(&GROUPS));
            let semantic = Semantic::new(model, &home.path("cache"));
            Self { home, semantic }
        }

        fn timeline(&self) -> Timeline {
            let empty = Timeline::empty(&self.home.path("timeline"), Arc::new(Verbatim));
            empty.refresh(&self.home.corpus(), |_| true, Records::Use)
        }

        /// The citations of a recall by words, and of one by meaning, too.
        fn cited(&self, query: &str, scope: Scope) -> (Vec<String>, Vec<String>) {
            let (memories, corpus) = (self.home.memories(), self.home.corpus());
            let sources = Sources {
                memories: &memories,
                corpus: Some(&corpus),
            };
            let query = Query::of_prose(query, &noon());
            let request = RecallRequest {
                query: &query,
                scope,
                limit: 50,
                without: None,
            };
            let by_words = recall(sources, request);
            let cited = |hits: &[crate::core::search::Hit]| {
                let cited = hits.iter().map(|hit| hit.citation.to_string());
                cited.collect::<Vec<String>>()
            };
            let first = cited(&by_words.hits);
            let near = near(sources, Some(&self.timeline()), request, &self.semantic);
            let merged = merge(by_words, near, 50);
            assert_eq!(merged.total, merged.hits.len());
            (first, cited(&merged.hits))
        }
    }

    #[test]
    fn a_memory_and_a_message_that_say_it_in_other_words_are_found() {
        let asked = Asked::new(
            &[
                ("a.md", "# Held\n\nThe mutex is held too long.\n"),
                ("b.md", "A feline.\n"),
            ],
            &[conversation(&[
                "hello",
                "we removed the mutex",
                "a feline came",
            ])],
        );
        let (by_words, all) = asked.cited("which lock", Scope::All);
        assert!(by_words.is_empty(), "{by_words:?}");
        assert_eq!(all, ["detail/a.md#L1", "messages.jsonl#L2"]);
        let only = |scope| asked.cited("which lock", scope).1;
        assert_eq!(only(Scope::Detail), ["detail/a.md#L1"]);
        assert_eq!(only(Scope::Messages), ["messages.jsonl#L2"]);
        for filtered in [
            "which lock role:user",
            "which lock agent:codex",
            "\"which lock\"",
        ] {
            assert!(asked.cited(filtered, Scope::All).1.is_empty(), "{filtered}");
        }
        let (_, all) = asked.cited("which lock before:2020-01-01", Scope::Messages);
        assert!(all.is_empty(), "{all:?}");
    }

    #[test]
    fn what_words_and_meaning_both_find_is_first_and_once() {
        let asked = Asked::new(
            &[
                ("a.md", "the tokens of kim\n"),
                ("b.md", "the mutex tokens\n"),
                ("c.md", "a mutex\n"),
            ],
            &[],
        );
        let (by_words, all) = asked.cited("lock tokens", Scope::Detail);
        assert_eq!(by_words.len(), 2, "{by_words:?}");
        assert_eq!(all.len(), 3, "{all:?}");
        assert_eq!(all[0], "detail/b.md#L1");
    }

    #[test]
    fn a_query_leads_to_a_node_that_says_it_in_other_words() {
        let asked = Asked::new(
            &[],
            &[
                conversation(&["hello", "we removed the mutex"]),
                conversation(&["a feline came", "it is quick"]),
            ],
        );
        let (timeline, corpus) = (asked.timeline(), asked.home.corpus());
        assert!(timeline.teleport(&corpus, "lock", 5, None).is_empty());
        let found = timeline.teleport(&corpus, "lock", 5, Some(&asked.semantic));
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].line.as_deref(), Some("we removed the mutex"));
        assert_eq!(found[0].grips.len(), 1);
        // The words still lead there where the model knows none of them.
        let found = timeline.teleport(&corpus, "removed", 5, Some(&asked.semantic));
        assert_eq!(found[0].line.as_deref(), Some("we removed the mutex"));
    }

    #[test]
    fn bullets_about_the_same_are_a_topic_with_its_months_and_nodes() {
        let asked = Asked::new(
            &[],
            &[
                conversation(&["the mutex is held", "a lock again", "hello there"]),
                conversation(&["which lock was it", "one feline", "a quick lock test"]),
                conversation(&["a cat", "the speed"]),
            ],
        );
        let timeline = asked.timeline();
        let topics = timeline.topics(&asked.semantic);
        assert_eq!(topics.len(), 1, "{topics:#?}");
        let topic = &topics[0];
        assert!(topic.name.contains("lock"), "{topic:?}");
        assert!(topic.line.contains("lock") || topic.line.contains("mutex"));
        assert_eq!(topic.months, [("2023-11".to_owned(), topic.count)].into());
        assert!(topic.count >= 3, "{topic:?}");
        assert_eq!(topic.nodes.len(), 2);
        assert!(topic.first < topic.last);
        assert_eq!(timeline.topics(&asked.semantic), topics);
        let none = Asked::new(&[], &[]);
        assert!(none.timeline().topics(&none.semantic).is_empty());
    }
}
