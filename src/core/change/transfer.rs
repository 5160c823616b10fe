//! Moves a memory from one store to another.

use super::plan::{ChangeContext, Planner};
use super::{Change, ChangeVerb, PlannedFiles};
use crate::core::layout::{Fields, Layout, Operation, WriteInput, index};
use crate::core::store::Store;
use crate::core::{Error, Result};

/// Plans moving a memory from one store to another. Between stores of one layout the bytes stay
/// the same; otherwise the body and the header's values are written in the new layout.
pub fn plan_move(
    from: (&Store, &str),
    to: (&Store, &str),
    context: &ChangeContext,
) -> Result<Change> {
    let (source, old) = from;
    let (target, new) = to;
    let leaving = Planner {
        store: source,
        context,
    };
    let arriving = Planner {
        store: target,
        context,
    };
    let old_file = leaving.target(Operation::Delete, old)?;
    let new_file = arriving.target(Operation::Write, new)?;
    if target.root().has(&new_file) {
        return Err(Error::refused(
            new,
            "there is a memory of that name already",
        ));
    }
    let mut gone = PlannedFiles::new(source, &context.moment);
    let mut come = PlannedFiles::new(target, &context.moment);
    leaving.check(&gone, &old_file)?;
    let bytes = gone.bytes(&old_file)?;
    let bytes = bytes.ok_or_else(|| Error::not_found(old))?;
    let bytes = match source.layout() == target.layout() {
        true => bytes,
        false => {
            let text = source.decoded(&old_file, bytes)?;
            rewritten((source, &old_file, &text), (target, &new_file), &come)?.into_bytes()
        }
    };
    gone.set(&old_file, None)?;
    come.set(&new_file, Some(bytes))?;
    come.keep_attributes(&new_file, source.root().attributes(&old_file));
    gone.update_index()?;
    come.update_index()?;
    let message = format!(
        "Memory moved: {} → {}:{}",
        leaving.reference_of(&old_file),
        target.name(),
        arriving.reference_of(&new_file)
    );
    let mut change = come.into_change(ChangeVerb::Move, message);
    change.edits.extend(gone.into_edits());
    change.edits.sort_by_key(|edit| edit.derived);
    Ok(change)
}

/// The text of a memory in another layout.
fn rewritten(
    (source, old_file, text): (&Store, &str, &str),
    (target, new_file): (&Store, &str),
    come: &PlannedFiles<'_>,
) -> Result<String> {
    let memory = source.rules().read(old_file, text);
    let fields = Fields {
        name: Some(memory.title.clone()),
        description: Some(memory.summary.clone()).filter(|summary| !summary.is_empty()),
        category: category(target, &memory.category),
        tags: memory.tags.clone(),
        ..Fields::default()
    };
    let input = WriteInput {
        file: new_file,
        content: &source.rules().body(text, &memory),
        fields: &fields,
        old: None,
    };
    target.rules().compose(come, &input)
}

/// The memory's type in its new store: its own if the layout has it.
fn category(target: &Store, own: &Option<String>) -> Option<String> {
    let known = |name: &String| index::TYPES.iter().any(|(known, _)| known == name);
    match target.layout() {
        Layout::Index => Some(
            own.clone()
                .filter(known)
                .unwrap_or_else(|| "project".to_owned()),
        ),
        _ => None,
    }
}
