//! The tools of the coder layout: coder_memory_recall and coder_memory_store.

use super::answer::{Answer, Failure, Told};
use super::call::Call;
use super::table::{EXPECTED, Effect, Field, Form, OFFSET, Tool};
use crate::core::change::Wish;
use crate::core::citation::{Citation, Part};
use crate::core::layout::Fields;
use crate::core::layout::coder::{self, Lesson};
use crate::core::memory::slug;
use crate::core::query::Query;
use crate::core::search::{Shelf, lesson};
use crate::core::told;

/// What can be done with a lesson that is like others.
const DECISIONS: [&str; 4] = ["create", "merge", "update", "generalize"];

pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "coder_memory_recall",
        about: "Recalls lessons from earlier work: the best three in full, with type, path and why they fit.",
        effect: Effect::Reads,
        fields: &[
            Field::must(
                "query",
                Form::Text,
                "What the task is about: technique, kind of failure, tool",
            ),
            OFFSET,
        ],
        run: recall,
    },
    Tool {
        name: "coder_memory_store",
        about: "Stores a lesson. Similar lessons are shown first, for you to decide: then call again with decision.",
        effect: Effect::Adds,
        fields: &[
            Field::must(
                "type",
                Form::OneOf(&coder::TYPES),
                "episodic: what happened; procedural: steps; semantic: principle",
            ),
            Field::must("title", Form::Text, "What it is about, in a few words"),
            Field::must("description", Form::Text, "One sentence"),
            Field::must("content", Form::Text, "Three to five sentences"),
            Field::may(
                "tags",
                Form::Texts,
                "Topics and tools, and success or failure",
            ),
            Field::may("topic", Form::Text, "The topic's folder"),
            Field::may(
                "decision",
                Form::OneOf(&DECISIONS),
                "After similar lessons were shown. create: a new file; merge: the same lesson, what is new is added to it; update: a related one, likewise, with your description; generalize: a principle made of episodes, linked both ways",
            ),
            Field::may(
                "into",
                Form::Text,
                "merge, update: the lesson, as PATH#ENTRY; merge with a PATH alone adds a further entry to that file",
            ),
            Field::may(
                "from",
                Form::Texts,
                "generalize: the episodes, each as PATH#ENTRY, two or more",
            ),
            EXPECTED,
        ],
        run: store,
    },
];

fn recall(call: &Call<'_>) -> Told {
    let query = call.text("query")?;
    if query.trim().is_empty() {
        return Err(Failure::Said("query parameter is required".to_owned()));
    }
    let store = call.store()?;
    let now = (call.serving.clock)().time;
    let query = Query::of_prose(query, &now.to_zoned(jiff::tz::TimeZone::system()));
    let shelf = Shelf::read([store])?;
    let lessons = lesson::lessons(&shelf, &query);
    if lessons.is_empty() {
        return Ok(Answer::text(lesson::NONE));
    }
    Ok(Answer::page(&told::lessons(&lessons), call.offset()?))
}

fn similar(call: &Call<'_>, query: &str) -> Result<Vec<Lesson>, Failure> {
    let store = call.store()?;
    let found = coder::similar(store, query);
    found.map_err(|error| Failure::Core(error, Some(store.layout())))
}

fn store(call: &Call<'_>) -> Told {
    let fields = Fields {
        name: Some(call.text("title")?.to_owned()),
        description: Some(call.text("description")?.to_owned()),
        tags: call.texts("tags")?,
        ..Fields::default()
    };
    let kind = call.text("type")?;
    if !coder::TYPES.contains(&kind) {
        let known = coder::TYPES.join(", ");
        return Err(Failure::Said(format!(
            "Invalid type '{kind}'. Must be one of: {known}"
        )));
    }
    let (title, content) = (call.text("title")?, call.text("content")?);
    let wish = match call.optional_text("decision")? {
        Some("create") => create(call, kind, fields)?,
        Some("merge") => {
            let Ok(lesson) = call.text("into")?.parse::<Citation>();
            match lesson.part {
                Part::Entry(_) => Wish::Extend {
                    lesson,
                    content: content.to_owned(),
                    fields: Fields {
                        description: None,
                        ..fields
                    },
                },
                _ => Wish::Append {
                    path: lesson.path,
                    entry: content.to_owned(),
                    fields,
                },
            }
        }
        Some("update") => {
            let Ok(lesson) = call.text("into")?.parse::<Citation>();
            Wish::Extend {
                lesson,
                content: content.to_owned(),
                fields,
            }
        }
        Some("generalize") => {
            if kind != "semantic" {
                return Err(Failure::Said(
                    "A principle is of type semantic; call again with type: \"semantic\""
                        .to_owned(),
                ));
            }
            let cited = |text: &String| {
                let Ok(citation) = text.parse::<Citation>();
                citation
            };
            Wish::Generalize {
                path: new_path(call, kind, title)?,
                content: content.to_owned(),
                fields,
                from: call.texts("from")?.iter().map(cited).collect(),
            }
        }
        Some(other) => {
            return Err(Failure::Said(format!(
                "Invalid decision '{other}'. Must be one of: {}",
                DECISIONS.join(", ")
            )));
        }
        None => {
            let known = similar(call, &format!("{title} {}", fields.tags.join(" ")))?;
            if !known.is_empty() {
                let proposed = proposal(&known, (kind, title, content));
                return Ok(Answer::text(proposed));
            }
            create(call, kind, fields)?
        }
    };
    call.change(&wish)
}

/// A lesson in a file of its own; where a file has that name already, a further one in it.
fn create(call: &Call<'_>, kind: &str, fields: Fields) -> Result<Wish, Failure> {
    Ok(Wish::Append {
        path: new_path(call, kind, call.text("title")?)?,
        entry: call.text("content")?.to_owned(),
        fields,
    })
}

fn new_path(call: &Call<'_>, kind: &str, title: &str) -> Result<String, Failure> {
    let name = match slug(title) {
        name if name.is_empty() => "lesson".to_owned(),
        name => name.chars().take(60).collect(),
    };
    let topic = call
        .optional_text("topic")?
        .map(slug)
        .filter(|topic| !topic.is_empty());
    Ok(match topic {
        Some(topic) => format!("{kind}/{topic}/{name}.md"),
        None => format!("{kind}/{name}.md"),
    })
}

/// What is there already, and what is proposed to be done about it.
fn proposal(known: &[Lesson], (kind, title, content): (&str, &str, &str)) -> String {
    const SHOWN: usize = 5;
    let rows: Vec<String> = known.iter().take(SHOWN).map(Lesson::in_brief).collect();
    let episodes: Vec<String> = known
        .iter()
        .filter(|lesson| lesson.category() == "episodic")
        .take(SHOWN)
        .map(|lesson| format!("\"{}\"", lesson.citation()))
        .collect();
    let same = known
        .iter()
        .find(|lesson| lesson.is_said_by(title, content));
    let proposed = match (same, known.first()) {
        (Some(lesson), _) => format!(
            "{0} says nearly the same. Proposed: decision: \"merge\", into: \"{0}\".",
            lesson.citation()
        ),
        _ if kind != "procedural" && episodes.len() > 1 => format!(
            "{} episodes are like it. Proposed, where they teach the same: the principle with type: \"semantic\", decision: \"generalize\", from: [{}].",
            episodes.len(),
            episodes.join(", ")
        ),
        (None, Some(lesson)) => format!(
            "Proposed, where it is about the same thing: decision: \"update\", into: \"{}\".",
            lesson.citation()
        ),
        (None, None) => String::new(),
    };
    format!(
        "Nothing is stored yet: similar lessons are here.\n{}\n\n{proposed} Where it is something else: decision: \"create\". In every case what is there stays, and the user can undo it.",
        rows.join("\n")
    )
}
