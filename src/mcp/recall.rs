//! recall_memory: one ranked search over the memories and the conversations.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::answer::{Answer, Failure, QUOTED, Told};
use super::call::Call;
use super::table::{Effect, Field, Form, OFFSET, Tool};
use crate::core::corpus::{Progress, Tally};
use crate::core::query::Query;
use crate::core::search::recall::{Ask, Scope, recall};
use crate::core::search::{Hit, Searched, Source, search};
use crate::core::shown::safe;
use crate::core::told;

pub(super) const TOOL: Tool = Tool {
    name: "recall_memory",
    about: "Searches the memories (detail) and the raw conversations (messages), best first. Each result has a citation by which memory_read opens it.",
    effect: Effect::Reads,
    fields: &[
        Field::must(
            "query",
            Form::Text,
            "What to look for: a word, a \"quoted phrase\", or a question in several words",
        ),
        Field::may(
            "scope",
            Form::OneOf(&["all", "detail", "messages"]),
            "Where to look; default all",
        ),
        Field::may(
            "limit",
            Form::Number,
            "At most so many results; default 5, 50 at most",
        ),
        OFFSET,
    ],
    run,
};

/// How many results one answer holds at most.
const MOST: usize = 50;

/// How far into the results a client can go on; who needs more has not asked well.
const FARTHEST: usize = 1_000;

/// How long logs are read for one call. Where they are read for the first time it may take
/// longer; what was read is kept, and the next call goes on from there.
const PATIENCE: Duration = Duration::from_secs(20);

fn run(call: &Call<'_>) -> Told {
    let text = call.optional_text("query")?.unwrap_or_default().trim();
    if text.is_empty() {
        return Err(Failure::Said("query parameter is required".to_owned()));
    }
    let (scope, limit, offset) = (scope(call)?, limit(call)?, call.offset()?);
    if offset > FARTHEST {
        return Err(Failure::Said(format!(
            "offset must be {FARTHEST} or less; ask for something narrower"
        )));
    }
    let now = (call.serving.clock)().time;
    let now = now.to_zoned(jiff::tz::TimeZone::system());
    let query = Query::of_prose(text, &now);
    let archive = match scope {
        Scope::Detail => None,
        Scope::All | Scope::Messages => Some(call.serving.logs.archive()?),
    };
    let ask = |limit| Ask {
        query: &query,
        scope,
        limit,
    };
    let patience = Patience {
        until: Instant::now() + PATIENCE,
        is_dropped: call.is_dropped,
    };
    let Searched {
        answer: found,
        unread,
        left,
    } = search(
        call.serving.present(),
        archive.as_ref(),
        &patience,
        |sources| {
            let mut found = recall(sources, ask(offset + limit));
            // Both sources have a place among the first, so the first are not always a prefix.
            let before = match offset {
                0 => Vec::new(),
                _ => recall(sources, ask(offset)).hits,
            };
            let is_new = |hit: &Hit| !before.iter().any(|known| known.citation == hit.citation);
            found.hits.retain(is_new);
            found
        },
    )?;
    let mut hits = found.hits;
    for hit in &mut hits {
        hit.text = shown(&hit.text);
    }
    let mut answer = Answer::text(match (hits.as_slice(), offset) {
        ([], 1..) => format!("No more results for: \"{text}\""),
        (hits, _) => told::hits(text, hits),
    });
    if hits.iter().any(|hit| hit.source == Source::Messages) {
        answer = answer.with(QUOTED);
    }
    let end = offset + hits.len();
    if end < found.total && !hits.is_empty() {
        answer = answer.with(format!(
            "{} more fit less well; go on with offset: {}",
            found.total - end,
            offset + limit
        ));
    }
    if left > 0 {
        answer = answer.with(format!(
            "{left} log(s) have not been read yet; ask again to search them, too."
        ));
    }
    if let Some(first) = unread.first() {
        let count = unread.len();
        answer = answer.with(format!("{count} log(s) could not be read: {first}"));
    }
    Ok(answer)
}

fn scope(call: &Call<'_>) -> Result<Scope, Failure> {
    match call.optional_text("scope")?.unwrap_or("all") {
        "all" | "" => Ok(Scope::All),
        "detail" => Ok(Scope::Detail),
        "messages" => Ok(Scope::Messages),
        other => Err(Failure::Said(format!(
            "invalid scope '{other}': must be one of all, detail, messages"
        ))),
    }
}

fn limit(call: &Call<'_>) -> Result<usize, Failure> {
    const DEFAULT: usize = 5;
    let limit = call.number("limit")?.unwrap_or(0);
    match usize::try_from(limit) {
        Ok(0) => Ok(DEFAULT),
        Ok(limit) => Ok(limit.min(MOST)),
        Err(_) => Err(Failure::Said(format!(
            "invalid limit {limit}: must be 0 (for {DEFAULT}) or more"
        ))),
    }
}

/// Reads until it has taken too long, or nobody waits.
struct Patience<'a> {
    until: Instant,
    is_dropped: &'a AtomicBool,
}

impl Progress for Patience<'_> {
    fn advance(&self, _: Tally) {}

    fn is_cancelled(&self) -> bool {
        self.is_dropped.load(Ordering::Relaxed) || Instant::now() >= self.until
    }
}

/// What a client sees of a snippet: no secret, and no piece of one that was cut in two.
fn shown(snippet: &str) -> String {
    const DOTS: &str = "...";
    // A word that is cut is told from a secret by its digits: most secrets have some.
    let is_doubtful = |word: &str| word.len() >= 8 && word.contains(|c: char| c.is_ascii_digit());
    let text = safe(snippet);
    let mut rest = text.as_str();
    if let Some(cut) = rest.strip_prefix(DOTS)
        && let word = cut.split(' ').next().unwrap_or_default()
        && is_doubtful(word)
    {
        rest = &cut[word.len()..];
    }
    let before = if rest.len() < text.len() { DOTS } else { "" };
    match rest.strip_suffix(DOTS) {
        Some(cut) => {
            let word = cut.rsplit(' ').next().unwrap_or_default();
            let dropped = if is_doubtful(word) { word.len() } else { 0 };
            format!("{before}{}{DOTS}", &cut[..cut.len() - dropped])
        }
        None => format!("{before}{rest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_that_was_cut_in_two_is_not_shown_in_part() {
        for (snippet, expected) in [
            ("plain words", "plain words"),
            ("...cut words and more...", "...cut words and more..."),
            ("...f00ba4f00ba4 is the key", "... is the key"),
            ("the key is f00ba4f00ba4...", "the key is ..."),
            ("...f00ba4f00ba4...", "..."),
            ("version 1.2...", "version 1.2..."),
        ] {
            assert_eq!(shown(snippet), expected, "{snippet}");
        }
    }
}
