//! The command set of Anthropic's memory tool, with its documented messages, over any store.

use std::collections::BTreeMap;

use serde_json::Value;

use super::answer::{Failure, MOST, ToolAnswer, ToolResult};
use super::call::Call;
use super::file::refuse_deleting;
use super::table::{ALL_LAYOUTS, EXPECTED, Field, FieldType, Tool, ToolEffect};
use crate::core::change::{ChangeContext, ChangeRequest, plan};
use crate::core::memory::FileKind;
use crate::core::memory::layout::{Layout, Matching, Patch, events, session};
use crate::core::memory::store::{Document, Store};
use crate::core::text::display::safe;

/// The path under which clients see the store.
const ROOT: &str = "/memories";

const PATH: Field = Field::may("path", FieldType::Text, "/memories or /memories/…");

const RANGE: Field = Field::may(
    "view_range",
    FieldType::Lines,
    "view: first and last line; -1 is the end",
);

pub(super) const TOOL: Tool = Tool {
    name: "memory",
    about: "Views and edits a store as the directory /memories. Files end in .md. Subfolders: facts, one; lessons, type/topic; sessions, detail/…; index, no new ones. MEMORY.md and READMEs are generated, logs read-only; facts are not deleted. Shows 50,000 characters.",
    effect: ToolEffect::Replaces,
    layouts: ALL_LAYOUTS,
    fields: &[
        Field::must(
            "command",
            FieldType::OneOf(&[
                "view",
                "create",
                "str_replace",
                "insert",
                "delete",
                "rename",
            ]),
            "",
        ),
        PATH,
        RANGE,
        Field::may("file_text", FieldType::Text, ""),
        Field::may("old_str", FieldType::Text, "str_replace: must occur once"),
        Field::may("new_str", FieldType::Text, ""),
        Field::may(
            "insert_line",
            FieldType::Number,
            "insert: after this line; 0 is the beginning",
        ),
        Field::may("insert_text", FieldType::Text, ""),
        Field::may("old_path", FieldType::Text, ""),
        Field::may("new_path", FieldType::Text, ""),
        EXPECTED,
    ],
    run,
};

/// The memory tool for clients with read-only access.
pub(super) const VIEWER: Tool = Tool {
    name: "memory",
    about: "Views a store as the directory /memories, or a file of it.",
    effect: ToolEffect::Reads,
    layouts: ALL_LAYOUTS,
    fields: &[
        Field::must("command", FieldType::OneOf(&["view"]), ""),
        PATH,
        RANGE,
    ],
    run: |call| match call.text("command")? {
        "view" => view(call),
        other => Err(unknown(other, "view")),
    },
};

fn run(call: &Call<'_>) -> ToolResult {
    match call.text("command")? {
        "view" => view(call),
        "create" => create(call),
        "str_replace" => str_replace(call),
        "insert" => insert(call),
        "delete" => delete(call),
        "rename" => rename(call),
        other => Err(unknown(
            other,
            "view, create, str_replace, insert, delete, rename",
        )),
    }
}

fn unknown(command: &str, known: &str) -> Failure {
    Failure::Message(format!(
        "Unknown command '{command}'. Must be one of: {known}"
    ))
}

fn missing(path: &str) -> Failure {
    Failure::Message(format!("Error: The path {path} does not exist"))
}

/// A path as the client gave it, the store that it is in, and the path relative to that: `""` for
/// the store itself.
struct ClientPath<'a> {
    given: &'a str,
    inside: &'a str,
    store: &'a Store,
}

fn client_path<'a>(call: &Call<'a>, given: &'a str) -> Result<ClientPath<'a>, Failure> {
    let rest = given
        .strip_prefix(ROOT)
        .filter(|rest| rest.is_empty() || rest.starts_with('/'));
    let rest =
        rest.ok_or_else(|| Failure::Message(format!("Path must start with {ROOT}, got: {given}")))?;
    let inside = rest.trim_matches('/');
    Ok(ClientPath {
        given,
        inside,
        store: call.store_for(Some(inside))?,
    })
}

/// Reads the file; `None` if there is none, or a directory.
fn file(named: &ClientPath<'_>) -> Result<Option<Document>, Failure> {
    let store = named.store;
    if named.inside.is_empty() {
        return Ok(None);
    }
    let worded = |error| Failure::Core(error, Some(store.layout()));
    let located = store.locate(named.inside).map_err(worded)?;
    if !store.root().has(&located) || store.root().is_dir(&located) {
        return Ok(None);
    }
    store.read(named.inside).map(Some).map_err(worded)
}

fn view(call: &Call<'_>) -> ToolResult {
    let named = client_path(call, call.optional_text("path")?.unwrap_or(ROOT))?;
    if let Some(document) = file(&named)? {
        return view_file(call, &named, &document);
    }
    let files = if named.store.root().exists() {
        sizes(named.store)?
    } else {
        BTreeMap::new()
    };
    let prefix = match named.inside {
        "" => String::new(),
        inside => format!("{inside}/"),
    };
    let below: Vec<(&str, u64)> = files
        .iter()
        .filter_map(|(path, size)| Some((path.strip_prefix(&prefix)?, *size)))
        .collect();
    if below.is_empty() && !named.inside.is_empty() {
        return Err(Failure::Message(format!(
            "The path {} does not exist. Please provide a valid path.",
            named.given
        )));
    }
    Ok(ToolAnswer::text(listing(
        named.given.trim_end_matches('/'),
        &below,
    )))
}

/// Returns the size of every listed file, by its reference.
fn sizes(store: &Store) -> Result<BTreeMap<String, u64>, Failure> {
    const DEEPEST: usize = 8;
    let found = match store.layout() {
        // The directory of instruction files is a whole project.
        Layout::Instructions => store.rules().files(store.root()),
        _ => store.root().markdown("", DEEPEST),
    };
    let mut found = found.map_err(|error| Failure::Core(error, Some(store.layout())))?;
    let logs = [session::MESSAGES, events::EVENTS];
    found.extend(logs.iter().filter_map(|log| store.root().find_file(log)));
    Ok(found
        .iter()
        .filter(|file| !file.path.split('/').any(|part| part == "node_modules"))
        .map(|file| (store.rules().reference_of(&file.path), file.size))
        .collect())
}

/// Formats two levels of files and directories, each with its size.
fn listing(root: &str, files: &[(&str, u64)]) -> String {
    let mut rows: BTreeMap<String, u64> = BTreeMap::new();
    for (path, size) in files {
        *rows.entry(String::new()).or_default() += size;
        let ends = path
            .match_indices('/')
            .map(|(at, _)| at)
            .chain([path.len()]);
        for end in ends.take(2) {
            *rows.entry(format!("/{}", &path[..end])).or_default() += size;
        }
    }
    rows.entry(String::new()).or_default();
    let mut text = format!(
        "Here're the files and directories up to 2 levels deep in {root}, excluding hidden items and node_modules:"
    );
    for (path, size) in rows {
        text.push_str(&format!("\n{}\t{root}{path}", format_size(size)));
    }
    text
}

/// Formats a size as `500B`, `5.5K` or `1.2M`.
fn format_size(bytes: u64) -> String {
    const STEP: f64 = 1024.0;
    let size = bytes as f64;
    if size < STEP {
        format!("{bytes}B")
    } else if size < STEP * STEP {
        format!("{:.1}K", size / STEP)
    } else {
        format!("{:.1}M", size / STEP / STEP)
    }
}

fn view_file(call: &Call<'_>, named: &ClientPath<'_>, document: &Document) -> ToolResult {
    let store = named.store;
    let is_log = store.rules().kind(&store.locate(named.inside)?) == FileKind::Log;
    let text = document.lossy();
    let text = if is_log {
        safe(&text)
    } else {
        text.into_owned()
    };
    let lines: Vec<&str> = text.lines().collect();
    let (first, last) = range(call, lines.len())?;
    let mut out = format!("Here's the content of {} with line numbers:", named.given);
    let head = out.len() + 1;
    let mut cut = None;
    for (at, line) in lines.iter().enumerate().take(last).skip(first - 1) {
        if out.len() > MOST {
            cut = Some(at);
            break;
        }
        out.push_str(&format!("\n{:>6}\t{line}", at + 1));
    }
    let mut answer = if is_log && out.len() > head {
        ToolAnswer::text(out).quoted(head)
    } else {
        ToolAnswer::text(out)
    };
    answer.revision = Some(document.revision);
    if let Some(at) = cut {
        let more = format!(
            "{} of {} lines are left; view_range: [{}, -1] shows them",
            lines.len() - at,
            lines.len(),
            at + 1
        );
        answer = answer.with(more);
    }
    Ok(answer)
}

/// Returns the first and last line of `view_range`; by default, all lines.
fn range(call: &Call<'_>, lines: usize) -> Result<(usize, usize), Failure> {
    let Some(given) = call
        .arguments
        .get("view_range")
        .filter(|given| !given.is_null())
    else {
        return Ok((1, lines));
    };
    let wrong = || {
        Failure::Message(format!(
            "Error: Invalid `view_range`: {given}. It should be two lines within [1, {lines}]; -1 means the end."
        ))
    };
    let ends: Vec<Option<i64>> = given
        .as_array()
        .map_or_else(Vec::new, |ends| ends.iter().map(Value::as_i64).collect());
    let [Some(first), Some(last)] = ends.as_slice() else {
        return Err(wrong());
    };
    // Line 0 is taken for the first one.
    let first = usize::try_from(*first).ok().map(|first| first.max(1));
    let last = match *last {
        -1 => Some(lines),
        last => usize::try_from(last).ok().map(|last| last.min(lines)),
    };
    first.zip(last).ok_or_else(wrong)
}

fn create(call: &Call<'_>) -> ToolResult {
    let named = client_path(call, call.text("path")?)?;
    let text = call.text("file_text")?;
    let answer = edit(call, &named, |document| match document {
        Some(_) => Err(Failure::Message(format!(
            "Error: File {} already exists",
            named.given
        ))),
        None => Ok(text.to_owned()),
    })?;
    Ok(answer.worded(format!("File created successfully at: {}", named.given)))
}

fn str_replace(call: &Call<'_>) -> ToolResult {
    let named = client_path(call, call.text("path")?)?;
    let (old, new) = (
        call.text("old_str")?,
        call.optional_text("new_str")?.unwrap_or_default(),
    );
    let absent = format!(
        "Error: The path {} does not exist. Please provide a valid path.",
        named.given
    );
    let document = file(&named)?.ok_or(Failure::Message(absent))?;
    let text = document.lossy();
    let found: Vec<usize> = match old {
        "" => Vec::new(),
        old => text.match_indices(old).map(|(at, _)| at).collect(),
    };
    let line = |at: usize| text[..at].matches('\n').count() + 1;
    match found.as_slice() {
        [_] => {}
        [] => {
            return Err(Failure::Message(format!(
                "No replacement was performed, old_str `{old}` did not appear verbatim in {}.",
                named.given
            )));
        }
        several => {
            let lines: Vec<String> = several.iter().map(|at| line(*at).to_string()).collect();
            return Err(Failure::Message(format!(
                "No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {}. Please ensure it is unique",
                lines.join(", ")
            )));
        }
    }
    let request = ChangeRequest::Patch {
        path: named.inside.to_owned(),
        patches: vec![Patch {
            old: old.to_owned(),
            new: new.to_owned(),
        }],
        matching: Matching::Unique,
    };
    let answer = call.change(named.store, &request)?;
    let snippet = snippet(
        &text.replacen(old, new, 1),
        line(found[0]),
        new.matches('\n').count(),
    );
    Ok(answer.worded(format!("The memory file has been edited.\n{snippet}")))
}

/// Formats the lines around a change, with their numbers.
fn snippet(text: &str, first: usize, more: usize) -> String {
    const AROUND: usize = 2;
    let from = first.saturating_sub(AROUND + 1);
    let lines = text
        .lines()
        .enumerate()
        .skip(from)
        .take(first - from + more + AROUND);
    let lines: Vec<String> = lines
        .map(|(at, line)| format!("{:>6}\t{line}", at + 1))
        .collect();
    lines.join("\n")
}

fn insert(call: &Call<'_>) -> ToolResult {
    let named = client_path(call, call.text("path")?)?;
    let text = call.text("insert_text")?;
    let given = call.number("insert_line")?;
    let given =
        given.ok_or_else(|| Failure::Message("insert_line parameter is required".to_owned()))?;
    let answer = edit(call, &named, |document| {
        let document = document.ok_or_else(|| missing(named.given))?;
        let old = document.lossy();
        let ends: Vec<usize> = [0]
            .into_iter()
            .chain(old.match_indices('\n').map(|(at, _)| at + 1))
            .collect();
        let open = !old.is_empty() && !old.ends_with('\n');
        let lines = ends.len() - 1 + usize::from(open);
        let line = usize::try_from(given).ok().filter(|line| *line <= lines);
        let line = line.ok_or_else(|| {
            Failure::Message(format!(
                "Error: Invalid `insert_line` parameter: {given}. It should be within the range of lines of the file: [0, {lines}]"
            ))
        })?;
        let (head, tail) = old.split_at(ends.get(line).copied().unwrap_or(old.len()));
        let lead = if head.is_empty() || head.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        let body = text.strip_suffix('\n').unwrap_or(text);
        let end = if tail.is_empty() || tail.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        Ok(format!("{head}{lead}{body}\n{tail}{end}"))
    })?;
    Ok(answer.worded(format!("The file {} has been edited.", named.given)))
}

/// Commits the text that `make` returns for the current file.
fn edit(
    call: &Call<'_>,
    named: &ClientPath<'_>,
    make: impl Fn(Option<Document>) -> Result<String, Failure>,
) -> ToolResult {
    let store = named.store;
    call.carry_out(store, |moment| {
        let document = file(named)?;
        let seen = document.as_ref().map(|document| document.revision);
        let text = make(document)?;
        let request = ChangeRequest::Edit {
            path: named.inside.to_owned(),
            text,
        };
        let context = ChangeContext {
            moment: moment.clone(),
            expected: call.expected()?.or(seen),
        };
        plan(store, &request, &context).map_err(|error| Failure::Core(error, Some(store.layout())))
    })
}

fn delete(call: &Call<'_>) -> ToolResult {
    let named = client_path(call, call.text("path")?)?;
    if named.inside.is_empty() {
        return Err(Failure::Message(format!(
            "Cannot delete the {ROOT} directory itself"
        )));
    }
    let store = named.store;
    refuse_deleting(store.layout())?;
    let paths = match file(&named)? {
        Some(document) => vec![document.path],
        None => {
            let prefix = format!("{}/", named.inside);
            let memories = store
                .list()
                .map_err(|error| Failure::Core(error, Some(store.layout())))?;
            let below = memories.into_iter().map(|memory| memory.path);
            below.filter(|path| path.starts_with(&prefix)).collect()
        }
    };
    if paths.is_empty() {
        return Err(missing(named.given));
    }
    let answer = call.change(store, &ChangeRequest::Delete { paths })?;
    Ok(answer.worded(format!("Successfully deleted {}", named.given)))
}

fn rename(call: &Call<'_>) -> ToolResult {
    let (from, to) = (
        client_path(call, call.text("old_path")?)?,
        client_path(call, call.text("new_path")?)?,
    );
    let store = from.store;
    if file(&from)?.is_none() {
        let folder = store
            .locate(from.inside)
            .is_ok_and(|file| store.root().is_dir(&file));
        return Err(if folder && !from.inside.is_empty() {
            Failure::Message(format!(
                "Error: {} is a directory; rename the files in it one by one",
                from.given
            ))
        } else {
            missing(from.given)
        });
    }
    if store.holds(to.inside) {
        return Err(Failure::Message(format!(
            "Error: The destination {} already exists",
            to.given
        )));
    }
    let request = ChangeRequest::Rename {
        from: from.inside.to_owned(),
        to: to.inside.to_owned(),
    };
    let answer = call.change(store, &request)?;
    Ok(answer.worded(format!(
        "Successfully renamed {} to {}",
        from.given, to.given
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_is_two_levels_deep_and_sums_directories() {
        let files = [
            ("a.md", 512),
            ("d/b.md", 1024),
            ("d/e/c.md", 1024),
            ("d/e/f/g.md", 1024 * 1024),
        ];
        assert_eq!(
            listing("/memories", &files),
            "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n1.0M\t/memories\n512B\t/memories/a.md\n1.0M\t/memories/d\n1.0K\t/memories/d/b.md\n1.0M\t/memories/d/e"
        );
    }

    #[test]
    fn a_snippet_shows_two_lines_on_either_side() {
        assert_eq!(
            snippet("a\nb\nc\nd\ne\nf\n", 3, 0),
            "     1\ta\n     2\tb\n     3\tc\n     4\td\n     5\te"
        );
        assert_eq!(snippet("a\n", 1, 0), "     1\ta");
    }
}
