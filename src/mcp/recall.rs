//! recall_memory: one ranked search over the memories and the conversations.

use super::answer::{Failure, ToolAnswer, ToolResult};
use super::call::Call;
use super::table::{ALL_LAYOUTS, Field, FieldType, OFFSET, Tool, ToolEffect};
use crate::core::memory::texts::MemoryTexts;
use crate::core::search::index::{Corpus, Deadline};
use crate::core::search::query::Query;
use crate::core::search::recall::{RecallRequest, Scope, recall};
use crate::core::search::{HitSource, SearchOutcome, format, search};
use crate::core::text::display::safe;

pub(super) const TOOL: Tool = Tool {
    name: "recall_memory",
    about: "Searches memories (detail) and earlier conversations (messages). Call it before planning or answering when earlier work, a decision, a preference or a failure may matter.",
    effect: ToolEffect::Reads,
    layouts: ALL_LAYOUTS,
    fields: &[
        Field::must("query", FieldType::Text, ""),
        Field::may(
            "scope",
            FieldType::OneOf(&["all", "detail", "messages"]),
            "",
        ),
        Field::may("limit", FieldType::Number, ""),
        OFFSET,
    ],
    run,
};

/// The maximum number of results of one answer.
const MOST: usize = 50;

/// The largest offset: more than the hits of any query that somebody reads to the end.
const FARTHEST: usize = 100_000;

fn run(call: &Call<'_>) -> ToolResult {
    let text = call.optional_text("query")?.unwrap_or_default().trim();
    if text.is_empty() {
        return Err(Failure::Message("query parameter is required".to_owned()));
    }
    let (scope, limit, offset) = (scope(call)?, limit(call)?, call.offset()?);
    if offset > FARTHEST {
        return Err(Failure::Message(format!(
            "offset must be {FARTHEST} or less; narrow the query"
        )));
    }
    let now = (call.setup.clock)().time;
    let now = now.to_zoned(jiff::tz::TimeZone::system());
    let query = Query::of_prose(text, &now);
    let catalog = match scope {
        Scope::Detail => None,
        Scope::All | Scope::Messages => Some(call.setup.logs.log_catalog()?),
    };
    let patience = Deadline::new(call.is_dropped);
    let SearchOutcome {
        answer: found,
        unread,
        left,
        searched: _,
    } = search(
        MemoryTexts::read(call.searched())?,
        catalog.as_ref(),
        &patience,
        |sources| {
            let session = call.client.session.clone();
            let running = session.or_else(|| running_session(sources.corpus?, call));
            let request = RecallRequest {
                query: &query,
                scope,
                limit: offset + limit,
                without: running.as_deref(),
            };
            let mut found = recall(sources, request);
            found.hits.drain(..offset.min(found.hits.len()));
            found
        },
    )?;
    let mut hits = found.hits;
    for hit in &mut hits {
        hit.text = mask_snippet(&hit.text);
    }
    let mut answer = ToolAnswer::text(match (hits.as_slice(), offset) {
        ([], 1..) => format!("No more results for: \"{text}\""),
        (hits, _) => format::format_hits(text, hits),
    });
    if hits.iter().any(|hit| hit.source == HitSource::Messages) {
        // The hits are quoted, and the line that counts them is not.
        let head = format::format_hits_head(text, hits.len()).len();
        answer = answer.quoted(head + "\n\n".len());
    }
    let end = offset + hits.len();
    if end < found.total && !hits.is_empty() {
        answer = answer.with(format!(
            "{} more match less well; continue with offset: {}",
            found.total - end,
            offset + limit
        ));
    }
    if left > 0 {
        answer = answer.with(format!(
            "{left} log(s) have not been read yet; call again to search them, too."
        ));
    }
    if let Some(first) = unread.first() {
        let count = unread.len();
        answer = answer.with(format!("Not everything was searched ({count}): {first}"));
    }
    Ok(answer)
}

/// How long before the server was started a running session may have its prompt, in milliseconds:
/// OpenCode starts its servers for a prompt, and after its plugins.
const STARTING: i64 = 2 * 60 * 1000;

/// Returns the session that calls, of a client that does not name it: its agent's newest one, if it
/// has a prompt since the server was started.
fn running_session(corpus: &Corpus, call: &Call<'_>) -> Option<String> {
    let since = call.setup.started.as_millisecond() - STARTING;
    corpus.running_session(call.client.agent?, since)
}

fn scope(call: &Call<'_>) -> Result<Scope, Failure> {
    match call.optional_text("scope")?.unwrap_or("all") {
        "all" | "" => Ok(Scope::All),
        "detail" => Ok(Scope::Detail),
        "messages" => Ok(Scope::Messages),
        other => Err(Failure::Message(format!(
            "invalid scope '{other}': must be one of all, detail, messages"
        ))),
    }
}

fn limit(call: &Call<'_>) -> Result<usize, Failure> {
    let limit = call.number("limit")?.unwrap_or(0);
    match usize::try_from(limit) {
        Ok(0) => Ok(call.setup.recall_limit),
        Ok(limit) => Ok(limit.min(MOST)),
        Err(_) => Err(Failure::Message(format!(
            "invalid limit {limit}: must be 0 (for {}) or more",
            call.setup.recall_limit
        ))),
    }
}

/// Masks secrets in a snippet, and drops a truncated word that could be part of one.
fn mask_snippet(snippet: &str) -> String {
    const DOTS: &str = "...";
    // A truncated word with digits could be a secret: most secrets have some.
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
            assert_eq!(mask_snippet(snippet), expected, "{snippet}");
        }
    }
}
