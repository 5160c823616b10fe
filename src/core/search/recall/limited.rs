//! Tests that a search with small limits holds little, and answers like one that holds everything.

use std::sync::atomic::Ordering;

use proptest::prelude::*;

use super::super::fixture::TestHome;
use super::*;
use crate::core::query::noon;

/// Writes a log of a session, each message with its record's id and its time in minutes.
fn write_log(home: &TestHome, number: usize, messages: &[(u32, i64, String)]) {
    let line = |(id, minute, text): &(u32, i64, String)| {
        let time = 1_700_000_000_000_i64 + 60_000 * minute;
        let message =
            serde_json::json!({"role": "user", "content": [{"type": "text", "text": text}]});
        let id = format!("id-{id}");
        serde_json::json!({"type": "message", "id": id, "timestamp": time, "message": message})
            .to_string()
            + "\n"
    };
    let text: String = messages.iter().map(line).collect();
    home.write(&format!("s{number}/messages.jsonl"), &text);
}

/// The answer of a recall and of a search for sessions.
fn answers(
    home: &TestHome,
    query: &str,
    (limit, limits): (usize, &Limits),
) -> (RecallResult, Vec<SessionHit>) {
    let (memories, corpus) = (home.memories(), home.corpus());
    let sources = Sources {
        memories: &memories,
        corpus: Some(&corpus),
    };
    let query = Query::of_prose(query, &noon());
    let search = |scope: Scope| {
        let request = RecallRequest {
            query: &query,
            scope,
            limit,
            without: None,
        };
        let mut search = Search::new(sources, request);
        search.limits = limits.clone();
        search
    };
    let found = match single_term(&query) {
        Some(text) => search(Scope::All).exact(&text),
        None => search(Scope::All).ranked(),
    };
    (found, search(Scope::Messages).sessions())
}

fn small(occurrences: usize, passages: usize) -> Limits {
    Limits {
        occurrences,
        passages,
        group: 0,
        candidates: 0,
        ..Limits::default()
    }
}

#[test]
fn a_search_does_not_hold_all_matches_of_a_log() {
    let home = TestHome::new(&[("a.md", "common\n")], &[]);
    let message = |at: u32| (at, i64::from(at), format!("common word {}", at % 7));
    let messages: Vec<(u32, i64, String)> = (0..3000).map(message).collect();
    write_log(&home, 1, &messages);
    for query in ["common", "common word"] {
        let limits = small(200, 200);
        let (found, sessions) = answers(&home, query, (5, &limits));
        let peak = limits.peak.load(Ordering::Relaxed);
        assert!(peak <= 200, "{query}: {peak}");
        assert!(found.total >= 3000, "{query}: {}", found.total);
        assert_eq!((found.hits.len(), sessions.len()), (5, 1));
        // Without limits they are held.
        let limits = Limits::default();
        let expected = answers(&home, query, (5, &limits));
        assert!(limits.peak.load(Ordering::Relaxed) >= 3000, "{query}");
        assert_eq!((found.hits, sessions), (expected.0.hits, expected.1));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn small_limits_change_no_hit(
        logs in proptest::collection::vec(
            proptest::collection::vec((0u32..40, 0i64..200, "(retry |token |deploys? |plain ){1,4}"), 1..50),
            1..5,
        ),
        memory in "((retry|token|plain)( deploy)?\n){0,6}",
        (limit, occurrences, passages) in (1usize..8, 0usize..60, 0usize..60),
    ) {
        let home = TestHome::new(&[("a.md", &memory)], &[]);
        for (number, messages) in logs.iter().enumerate() {
            let mut messages = messages.clone();
            messages.sort_by_key(|(_, minute, _)| *minute);
            write_log(&home, number + 1, &messages);
        }
        for query in ["retry", "token deploy", "retry token deploy", "\"plain retry\""] {
            let bounded = answers(&home, query, (limit, &small(occurrences, passages)));
            let whole = answers(&home, query, (limit, &Limits::default()));
            prop_assert_eq!(&bounded.0.hits, &whole.0.hits, "{}", query);
            prop_assert_eq!(&bounded.1, &whole.1, "{}", query);
            prop_assert!(bounded.0.total >= whole.0.total);
        }
    }
}
