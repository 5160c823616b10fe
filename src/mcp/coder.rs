//! The tools of the coder layout: coder_memory_recall and coder_memory_store.

use super::answer::{Answer, Failure, Told};
use super::call::Call;
use super::table::{EXPECTED, Effect, Field, Form, OFFSET, Tool};
use crate::core::change::Wish;
use crate::core::layout::Fields;
use crate::core::layout::coder::{self, Lesson};
use crate::core::memory::slug;

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
                Form::OneOf(&["create", "merge"]),
                "After similar lessons were shown: create a new file, or merge as a further entry into the file named by into",
            ),
            Field::may("into", Form::Text, "The file to merge into"),
            EXPECTED,
        ],
        run: store,
    },
];

fn recall(call: &Call<'_>) -> Told {
    const SHOWN: usize = 3;
    let query = call.text("query")?;
    if query.trim().is_empty() {
        return Err(Failure::Said("query parameter is required".to_owned()));
    }
    let lessons = similar(call, query)?;
    if lessons.is_empty() {
        return Ok(Answer::text(coder::NOTHING_MATCHED));
    }
    let parts: Vec<String> = lessons.iter().take(SHOWN).map(Lesson::in_full).collect();
    Ok(Answer::page(&parts.join("\n\n---\n\n"), call.offset()?))
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
        category: None,
        tags: call.texts("tags")?,
    };
    let kind = call.text("type")?;
    if !coder::TYPES.contains(&kind) {
        let known = coder::TYPES.join(", ");
        return Err(Failure::Said(format!(
            "Invalid type '{kind}'. Must be one of: {known}"
        )));
    }
    let title = call.text("title")?;
    let path = match call.optional_text("decision")? {
        Some("merge") => call.text("into")?.to_owned(),
        Some("create") => new_path(call, kind, title)?,
        Some(other) => {
            return Err(Failure::Said(format!(
                "Invalid decision '{other}'. Must be one of: create, merge"
            )));
        }
        None => {
            let known = similar(call, &format!("{title} {}", fields.tags.join(" ")))?;
            if !known.is_empty() {
                return Ok(Answer::text(proposal(&known)));
            }
            new_path(call, kind, title)?
        }
    };
    call.change(&Wish::Append {
        path,
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

/// What is there already, and what can be done about it.
fn proposal(known: &[Lesson]) -> String {
    const SHOWN: usize = 5;
    let rows: Vec<String> = known.iter().take(SHOWN).map(Lesson::in_brief).collect();
    format!(
        "Nothing is stored yet: similar lessons are here.\n{}\n\nThe same lesson or a related one: call again with decision: \"merge\" and into: its path. \
         Two or more episodes that teach the same: store the principle with type: \"semantic\" and decision: \"create\", and name them in its content. \
         Something else: decision: \"create\".",
        rows.join("\n")
    )
}
