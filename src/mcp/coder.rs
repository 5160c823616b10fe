//! The tools of the coder layout: coder_memory_recall and coder_memory_store.

use super::answer::{Failure, ToolAnswer, ToolResult};
use super::call::{Call, required};
use super::table::{Field, FieldType, OFFSET, Tool, ToolEffect};
use crate::core::change::ChangeRequest;
use crate::core::memory::layout::coder::{self, SimilarLesson};
use crate::core::memory::layout::{Fields, Layout};
use crate::core::memory::texts::MemoryTexts;
use crate::core::search::query::Query;
use crate::core::search::{format, lesson};
use crate::core::text::header::slug;

/// The decisions for a lesson that is similar to others.
const DECISIONS: [&str; 4] = ["create", "merge", "update", "generalize"];

pub(super) const RECALL: Tool = Tool {
    name: "coder_memory_recall",
    about: "The best three lessons from work on any project, in full.",
    effect: ToolEffect::Reads,
    layouts: &[Layout::Coder],
    fields: &[
        Field::must("query", FieldType::Text, "Technique, kind of failure, tool"),
        OFFSET,
    ],
    run: recall,
};

pub(super) const STORE: Tool = Tool {
    name: "coder_memory_store",
    about: "Stores a lesson for any project; similar ones are shown first.",
    effect: ToolEffect::Adds,
    layouts: &[Layout::Coder],
    fields: &[
        Field::must(
            "type",
            FieldType::OneOf(&coder::TYPES),
            "episodic: what happened; procedural: steps; semantic: principle",
        ),
        Field::must("title", FieldType::Text, ""),
        Field::must("description", FieldType::Text, "One sentence"),
        Field::must("content", FieldType::Text, "3 to 5 sentences"),
        Field::may("tags", FieldType::Texts, "Also success or failure"),
        Field::may("topic", FieldType::Text, "Folder"),
        // Without lessons there is none to decide about. The answer explains the decisions.
        Field::may("decision", FieldType::OneOf(&DECISIONS), "").only(Layout::Coder),
        Field::may("into", FieldType::Text, "PATH#ENTRY").only(Layout::Coder),
        Field::may("from", FieldType::Texts, "").only(Layout::Coder),
    ],
    run: store,
};

fn recall(call: &Call<'_>) -> ToolResult {
    let query = call.text("query")?;
    if query.trim().is_empty() {
        return Err(Failure::Message("query parameter is required".to_owned()));
    }
    let stores = match call.named_store()? {
        Some(store) => vec![store],
        None => {
            let mut stores = call.listed();
            stores.retain(|store| store.layout() == Layout::Coder);
            stores
        }
    };
    let now = (call.setup.clock)().time;
    let query = Query::of_prose(query, &now.to_zoned(jiff::tz::TimeZone::system()));
    let memories = MemoryTexts::read(stores)?;
    let lessons = lesson::lessons(&memories, &query);
    if lessons.is_empty() {
        return Ok(ToolAnswer::text(lesson::NONE));
    }
    Ok(ToolAnswer::page(
        &format::format_lessons(&lessons),
        call.offset()?,
    ))
}

fn similar(call: &Call<'_>, fields: &Fields) -> Result<Vec<SimilarLesson>, Failure> {
    let store = call.store()?;
    let title = fields.name.as_deref().unwrap_or_default();
    let found = coder::similar_lessons(store, title, &fields.tags);
    found.map_err(|error| Failure::Core(error, Some(store.layout())))
}

fn store(call: &Call<'_>) -> ToolResult {
    let fields = Fields {
        name: Some(call.text("title")?.to_owned()),
        description: Some(call.text("description")?.to_owned()),
        tags: call.texts("tags")?,
        ..Fields::default()
    };
    let kind = call.text("type")?;
    if !coder::TYPES.contains(&kind) {
        let known = coder::TYPES.join(", ");
        return Err(Failure::Message(format!(
            "Invalid type '{kind}'. Must be one of: {known}"
        )));
    }
    let (title, content) = (call.text("title")?, call.text("content")?);
    let blank = [("title", title), ("content", content)];
    let blank: Vec<&str> = blank
        .iter()
        .filter(|(_, text)| text.trim().is_empty())
        .map(|(name, _)| *name)
        .collect();
    if !blank.is_empty() {
        return Err(Failure::Message(required(&blank)));
    }
    let mut store = call.store()?;
    let decision = call.optional_text("decision")?;
    let request = match decision {
        Some("create") => create(call, kind, fields)?,
        Some("merge") => {
            let (holder, lesson) = call.find(call.text("into")?)?;
            store = holder;
            ChangeRequest::Extend {
                lesson,
                content: content.to_owned(),
                fields: Fields {
                    description: None,
                    ..fields
                },
            }
        }
        Some("update") => {
            let (holder, lesson) = call.find(call.text("into")?)?;
            store = holder;
            ChangeRequest::Extend {
                lesson,
                content: content.to_owned(),
                fields,
            }
        }
        Some("generalize") => {
            if kind != "semantic" {
                return Err(Failure::Message(
                    "A principle is of type semantic; call again with type: \"semantic\""
                        .to_owned(),
                ));
            }
            let mut from = Vec::new();
            for text in call.texts("from")? {
                let (holder, lesson) = call.find(&text)?;
                store = holder;
                from.push(lesson);
            }
            ChangeRequest::Generalize {
                path: new_path(call, kind, title)?,
                content: content.to_owned(),
                fields,
                from,
            }
        }
        Some(other) => {
            return Err(Failure::Message(format!(
                "Invalid decision '{other}'. Must be one of: {}",
                DECISIONS.join(", ")
            )));
        }
        None => {
            let known = similar(call, &fields)?;
            if !known.is_empty() {
                let proposed = proposal(&known, kind, title, content);
                return Ok(ToolAnswer::text(proposed));
            }
            create(call, kind, fields)?
        }
    };
    let answer = call.change(store, &request)?;
    let done = match decision {
        Some("merge" | "update") => "extended",
        _ => "stored",
    };
    let memories = store.list()?;
    let counts = coder::lesson_counts(&memories);
    let total: usize = counts.iter().map(|(_, lessons)| lessons).sum();
    let each: Vec<String> = counts
        .iter()
        .map(|(kind, lessons)| format!("{kind} {lessons}"))
        .collect();
    Ok(answer.with(format!(
        "1 lesson {done} in {}, which has {total} now: {}.",
        store.name(),
        each.join(", ")
    )))
}

/// Returns the request for a new lesson in its own file, or at the end of a file of that name.
fn create(call: &Call<'_>, kind: &str, fields: Fields) -> Result<ChangeRequest, Failure> {
    Ok(ChangeRequest::Append {
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

/// Formats the similar lessons, and the decision proposed for them.
fn proposal(known: &[SimilarLesson], kind: &str, title: &str, content: &str) -> String {
    const SHOWN: usize = 5;
    let rows: Vec<String> = known
        .iter()
        .take(SHOWN)
        .map(SimilarLesson::one_line)
        .collect();
    let episodes: Vec<String> = known
        .iter()
        .filter(|lesson| lesson.category() == "episodic")
        .take(SHOWN)
        .map(|lesson| format!("\"{}\"", lesson.citation()))
        .collect();
    let same = known.iter().find(|lesson| lesson.repeats(title, content));
    let proposed = match (same, known.first()) {
        (Some(lesson), _) => format!(
            "{0} says nearly the same. Proposed: decision: \"merge\", into: \"{0}\".",
            lesson.citation()
        ),
        _ if kind != "procedural" && episodes.len() > 1 => format!(
            "{} episodes are similar. Proposed, if they teach the same: the principle with type: \"semantic\", decision: \"generalize\", from: [{}].",
            episodes.len(),
            episodes.join(", ")
        ),
        (None, Some(lesson)) => format!(
            "Proposed, if it is about the same thing: decision: \"update\", into: \"{}\".",
            lesson.citation()
        ),
        (None, None) => String::new(),
    };
    format!(
        "Nothing is stored yet: there are similar lessons.\n{}\n\n{proposed} If it is something else: decision: \"create\". Existing lessons are kept in every case, and the user can undo the change.",
        rows.join("\n")
    )
}
