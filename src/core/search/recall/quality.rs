//! A guard of the ranking: questions about made-up sessions, of which nearly all are answered by the
//! right session. A change of a weight or of a step of the ranking that loses answers fails here.

use super::super::fixture::TestHome;
use super::*;
use crate::core::search::query::noon;

/// What was said in each session, a message a line. Many words are in several of them.
const SESSIONS: [&str; 12] = [
    "The deploy to staging fails since yesterday\nThe migration of the orders table takes a lock for ten minutes\nSplit it: add the column first, backfill in batches, then set it not null\nThat went through, staging is green again\nGood, the same for production on Monday",
    "Users are logged out after an hour\nThe refresh token is rotated but the old one is revoked at once\nTwo tabs refresh at the same time and the second loses\nKeep the old token valid for thirty seconds after the rotation\nNobody was logged out since",
    "Can you make the build faster?\nMost of the time is the linker\nmold links in two seconds instead of forty\nThe cache of the CI was keyed by the date, so it never hit\nThe whole pipeline is down to six minutes",
    "The dashboard shows yesterday twice\nDays are cut in UTC, but the chart labels are local time\nCut them in the zone of the account\nDaylight saving: the day of the change has twenty-five hours\nTests for both changes of the clock are in",
    "We need a rate limit for the public API\nA token bucket for each key, refilled every second\nRedis holds the buckets, a Lua script takes one atomically\nAnswer 429 with Retry-After\nThe limit is one hundred requests a minute",
    "The search finds nothing with an accent\nFold the text before it is indexed, and the query too\nMarkdown files were not indexed at all because of the glob\nReindexing took four minutes\nCafé is found by cafe now",
    "Invoices are rounded differently in the PDF\nThe total is rounded once for each line and once for the sum\nUse integers of cents everywhere and round at the end\nThe tax office wants half up, not banker's rounding\nAll two hundred old invoices are reproduced to the cent",
    "Webhooks arrive twice\nThe sender repeats after five seconds without an answer\nStore the id of each delivery and ignore one that is known\nAnswer first, do the work in a queue\nNo double orders this week",
    "The app crashes on old phones\nThe image decoder needs more memory than they have\nDecode at the size of the view, not of the file\nPeak memory fell from 600 to 90 megabytes\nThe crash rate is back to normal",
    "How do we store the passwords?\nargon2id with a salt for each user\nThe old ones are bcrypt, rehash them when somebody logs in\nA pepper is kept in the vault, not in the database\nThe audit had no complaint",
    "Flaky test again: checkout_total\nIt depends on the order of a hash map\nSort the lines before they are compared\nThe other one sleeps for a second and hopes\nWait for the condition instead of the clock",
    "Let us write down how releases are made\nA tag builds the archives, signs them and opens a draft\nThe changelog is checked by the script, a missing entry stops it\nHotfixes branch from the tag, not from main\nAfter the release the version is bumped by the bot",
];

/// Questions, each with the number of the session that answers it.
const QUESTIONS: [(&str, usize); 24] = [
    ("why did the staging deploy fail", 0),
    ("how was the orders migration split into batches", 0),
    ("what happens when two tabs refresh the token", 1),
    ("how long is a rotated token still valid", 1),
    ("which linker makes the build fast", 2),
    ("why did the CI cache never hit", 2),
    ("dashboard shows a day twice", 3),
    ("daylight saving in charts", 3),
    ("what is the rate limit of the API", 4),
    ("where are the token buckets kept", 4),
    ("search with accents", 5),
    ("why were markdown files missing in the index", 5),
    ("how do we round invoices", 6),
    ("what kind of rounding does the tax office want", 6),
    ("duplicate webhook deliveries", 7),
    ("do webhooks answer before the work is done", 7),
    ("crashes of old phones", 8),
    ("image memory peak", 8),
    ("how are passwords stored", 9),
    ("where is the pepper", 9),
    ("flaky checkout test", 10),
    ("hash map order in tests", 10),
    ("how is a release made", 11),
    ("where do hotfixes branch from", 11),
];

#[test]
fn questions_about_sessions_are_answered_by_the_right_one() {
    let sessions = SESSIONS.map(|said| said.lines().map(str::to_owned).collect());
    let home = TestHome::new(&[], &sessions);
    let (memories, corpus) = (home.memories(), home.corpus());
    let sources = Sources {
        memories: &memories,
        corpus: Some(&corpus),
    };
    let mut wrong = Vec::new();
    for (question, session) in QUESTIONS {
        let query = Query::of_prose(question, &noon());
        let request = RecallRequest {
            query: &query,
            scope: Scope::Messages,
            limit: 5,
            without: None,
        };
        let hits = recall(sources, request).hits;
        let expected = format!("s{session}");
        let first = hits.first().and_then(|hit| hit.session.clone());
        if first.as_deref() != Some(expected.as_str()) {
            wrong.push((question, first));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
