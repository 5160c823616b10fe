//! recall_memory: one search over the memories and the conversations.

use super::Serving;
use super::answer::{Answer, Failure, QUOTED, Told};
use super::call::Call;
use super::table::{Effect, Field, Form, Tool};
use crate::core::Result;
use crate::core::corpus::{Corpus, Message, Part};
use crate::core::layout::recalled::{Recalled, Source, told};
use crate::core::log::{Agent, Origin, clean, mask};
use crate::core::memory::{Kind, Memory};
use crate::core::store::Store;

pub(super) const TOOL: Tool = Tool {
    name: "recall_memory",
    about: "Searches the memories (detail) and the raw conversations (messages). Each result has a citation to open it by.",
    effect: Effect::Reads,
    fields: &[
        Field::must(
            "query",
            Form::Text,
            "What to look for: a word, a \"quoted phrase\", or several words",
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
    ],
    run,
};

/// Where to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    All,
    Detail,
    Messages,
}

/// What is looked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) query: &'a str,
    pub(super) scope: Scope,
    pub(super) limit: usize,
}

fn run(call: &Call<'_>) -> Told {
    const DEFAULT: i64 = 5;
    const MOST: usize = 50;
    let query = call.optional_text("query")?.unwrap_or_default().trim();
    if query.is_empty() {
        return Err(Failure::Said("query parameter is required".to_owned()));
    }
    let scope = match call.optional_text("scope")?.unwrap_or("all") {
        "all" | "" => Scope::All,
        "detail" => Scope::Detail,
        "messages" => Scope::Messages,
        other => {
            return Err(Failure::Said(format!(
                "invalid scope '{other}': must be one of all, detail, messages"
            )));
        }
    };
    let limit = match call.number("limit")?.unwrap_or(DEFAULT) {
        0 => DEFAULT,
        limit => limit,
    };
    let limit = usize::try_from(limit)
        .map_err(|_| Failure::Said(format!("invalid limit {limit}: must be 0 (for 5) or more")))?;
    let results = recall(
        call.serving,
        Asked {
            query,
            scope,
            limit: limit.min(MOST),
        },
    )?;
    let answer = Answer::text(told(query, &results));
    let quotes = results
        .iter()
        .any(|result| result.source == Source::Messages);
    Ok(if quotes { answer.with(QUOTED) } else { answer })
}

/// The lines that fit best, memories before messages of equal worth.
pub(super) fn recall(serving: &Serving, asked: Asked<'_>) -> Result<Vec<Recalled>> {
    let wanted = Wanted::of(asked.query);
    let mut detail = Vec::new();
    if asked.scope != Scope::Messages {
        for store in &serving.stores {
            in_memories(store, serving.stores.len(), &wanted, &mut detail)?;
        }
    }
    let mut messages = Vec::new();
    if asked.scope != Scope::Detail {
        let corpus = serving.logs.corpus()?;
        for part in Part::ALL {
            in_messages(&corpus, serving, (&wanted, part), &mut messages);
        }
    }
    for found in [&mut detail, &mut messages] {
        found.sort_by(|a, b| b.worth.cmp(&a.worth).then_with(|| a.place.cmp(&b.place)));
    }
    Ok(shared_out(detail, messages, asked.limit))
}

/// A line that fits.
struct Hit {
    worth: usize,
    place: (String, u64),
    line: Recalled,
}

/// The best of both; each source that has something gets a place where there are two.
fn shared_out(detail: Vec<Hit>, messages: Vec<Hit>, limit: usize) -> Vec<Recalled> {
    let reserved = usize::from(limit >= 2 && !messages.is_empty() && !detail.is_empty());
    let mut taken: Vec<Hit> = Vec::new();
    let (mut detail, mut messages) = (
        detail.into_iter().peekable(),
        messages.into_iter().peekable(),
    );
    while taken.len() + reserved < limit {
        let ahead = match (detail.peek(), messages.peek()) {
            (Some(memory), Some(message)) => memory.worth >= message.worth,
            (memory, _) => memory.is_some(),
        };
        let next = if ahead {
            detail.next()
        } else {
            messages.next()
        };
        match next {
            Some(hit) => taken.push(hit),
            None => break,
        }
    }
    let has = |source| taken.iter().any(|hit: &Hit| hit.line.source == source);
    let last = match (has(Source::Detail), has(Source::Messages)) {
        (true, false) => messages.next().or_else(|| detail.next()),
        _ => detail.next().or_else(|| messages.next()),
    };
    taken.extend(last.filter(|_| reserved == 1));
    taken.into_iter().map(|hit| hit.line).collect()
}

/// What a line must have: the phrase, or some of the words.
struct Wanted {
    phrase: String,
    words: Vec<String>,
}

impl Wanted {
    fn of(query: &str) -> Self {
        let quoted = query
            .strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'));
        let phrase = quoted.unwrap_or(query).to_lowercase();
        let words = match quoted {
            Some(_) => Vec::new(),
            None => phrase.split_whitespace().map(str::to_owned).collect(),
        };
        Self { phrase, words }
    }

    /// How well a text fits; 0 where it does not.
    fn worth(&self, text: &str) -> usize {
        let text = text.to_lowercase();
        if text.contains(&self.phrase) {
            return self.words.len() + 1;
        }
        let met = self
            .words
            .iter()
            .filter(|word| text.contains(*word))
            .count();
        if met * 2 > self.words.len() { met } else { 0 }
    }
}

fn in_memories(store: &Store, stores: usize, wanted: &Wanted, found: &mut Vec<Hit>) -> Result<()> {
    let prefix = match stores {
        1 => String::new(),
        _ => format!("{}:", store.name()),
    };
    // A log among the memories is searched as the conversation that it is.
    let is_memory = |memory: &Memory| memory.kind != Kind::Log;
    for memory in store.list()?.into_iter().filter(is_memory) {
        let Ok(document) = store.read(&memory.path) else {
            continue;
        };
        for (at, line) in document.lossy().lines().enumerate() {
            let worth = wanted.worth(line);
            if worth > 0 {
                let number = at as u64 + 1;
                let path = format!("{prefix}{}", memory.path);
                found.push(Hit {
                    worth,
                    place: (path.clone(), number),
                    line: Recalled {
                        source: Source::Detail,
                        citation: format!("{path}#L{number}"),
                        file_path: Some(path),
                        line_number: number,
                        text: mask(&clean(line)),
                    },
                });
            }
        }
    }
    Ok(())
}

fn in_messages(
    corpus: &Corpus,
    serving: &Serving,
    (wanted, part): (&Wanted, Part),
    found: &mut Vec<Hit>,
) {
    let served: Vec<bool> = corpus
        .logs()
        .map(|log| serving.logs.is_served(&log))
        .collect();
    for block in corpus.blocks(part) {
        let Some(content) = block
            .logs()
            .any(|log| served[log])
            .then(|| block.read())
            .flatten()
        else {
            continue;
        };
        for (_, message) in content.messages() {
            let meant = served[message.log] && message.origin == Origin::Written;
            let worth = if meant { wanted.worth(message.text) } else { 0 };
            if worth > 0 {
                found.extend(hit(corpus, &message, wanted, worth));
            }
        }
    }
}

fn hit(corpus: &Corpus, message: &Message<'_>, wanted: &Wanted, worth: usize) -> Option<Hit> {
    let log = corpus.log(message.log)?;
    let agent = log.agent()?;
    // Of a long message, the line that fits.
    let line = message.text.lines().find(|line| wanted.worth(line) > 0);
    let citation = match agent {
        Agent::Session => format!("messages.jsonl#L{}", message.line),
        agent => format!("{}:{}#L{}", agent.name(), log.id(), message.line),
    };
    Some(Hit {
        worth,
        place: (log.path().display().to_string(), message.line),
        line: Recalled {
            source: Source::Messages,
            file_path: None,
            line_number: message.line,
            text: mask(&clean(line.unwrap_or(message.text))),
            citation,
        },
    })
}
