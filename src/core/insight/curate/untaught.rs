//! What the person said in several sessions and no memory says. A draft of a memory that would say
//! it is put before the person in Review; nothing is written by itself.

use super::{Collection, Evidence, Found, Report, Rule, Severity, is_chosen};
use crate::core::Result;
use crate::core::change::history::History;
use crate::core::change::{ChangeContext, ChangeRequest, plan};
use crate::core::insight::ledger::Untaught;
use crate::core::insight::review::add_draft;
use crate::core::memory::layout::{Layout, index};
use crate::core::memory::template::{TemplateInput, template};
use crate::core::text::time::Moment;

pub(super) const RULE: Rule = Rule {
    id: "untaught",
    severity: Severity::Note,
    about: "what the person said in two or more sessions and no memory says; drafts one in Review",
    check,
};

/// The type of the memories that are drafted.
const KIND: &str = "feedback";

fn check(collection: &Collection<'_>, report: &mut Report<'_>) {
    for (store, untaught) in by_store(collection) {
        let evidence = untaught.said.iter().map(|one| Evidence {
            text: one.text.lines().next().unwrap_or_default().to_owned(),
            citation: Some(one.citation.clone()),
            ..Evidence::default()
        });
        let found = Found {
            line: None,
            subject: untaught.proposal.name.clone(),
            message: format!(
                "you said it in {} sessions and no memory says it: {}; a draft waits in Review",
                untaught.said.len(),
                untaught.proposal.name
            ),
            evidence: evidence.collect(),
            fix: None,
        };
        report.add(store, index::INDEX, found);
    }
}

/// What is untaught, each with the number of the store that would have it: the agent's own of the
/// project.
fn by_store<'a>(collection: &'a Collection<'_>) -> Vec<(usize, &'a Untaught)> {
    let logs = collection.logs.iter();
    let all = logs.flat_map(|logs| &logs.ledger.untaught);
    let placed = all.filter_map(|untaught| {
        let stores = collection.stores.iter().enumerate();
        let fitting = stores.filter(|(_, store)| {
            let project = store.project_root.as_ref();
            store.store.layout() == Layout::Index
                && project.is_some_and(|project| untaught.cwd.starts_with(project))
        });
        let own = |store: usize| {
            let root = collection.stores[store].store.root().path();
            untaught.proposal.is_from_agent_of(root)
        };
        let (store, _) = fitting.max_by_key(|(number, _)| own(*number))?;
        Some((store, untaught))
    });
    placed.collect()
}

/// Puts a draft of each into Review, once. What the person rejected is not told again.
pub fn put_drafts(
    collection: &mut Collection<'_>,
    history: &History,
    only: &[String],
) -> Result<()> {
    if !is_chosen(RULE.id, &collection.settings, only) {
        return Ok(());
    }
    let midnight = collection.today.to_zoned(jiff::tz::TimeZone::UTC);
    let moment = Moment {
        time: midnight.map(|day| day.timestamp()).unwrap_or_default(),
        today: collection.today,
    };
    let mut waiting: Vec<Untaught> = Vec::new();
    for (number, untaught) in by_store(collection) {
        let store = collection.stores[number].store;
        let proposal = &untaught.proposal;
        let input = TemplateInput {
            name: &proposal.name,
            about: &proposal.description,
            text: Some(&proposal.text),
        };
        let made = template(store, KIND, input, collection.today);
        let file = store.rules().file_of(&made.path);
        let request = ChangeRequest::Write {
            path: made.path,
            content: made.content,
            fields: made.fields,
        };
        let context = ChangeContext {
            moment: moment.clone(),
            expected: None,
            history: None,
        };
        // A name that is taken says it already.
        let Ok(change) = plan(store, &request, &context) else {
            continue;
        };
        let edit = change.edits.iter().find(|edit| edit.path == file);
        let text = edit.and_then(|edit| String::from_utf8(edit.after.clone()?).ok());
        if let Some(text) = text
            && add_draft(history, store, &file, &text)?
        {
            waiting.push(untaught.clone());
        }
    }
    if let Some(logs) = &mut collection.logs {
        logs.ledger.untaught = waiting;
    }
    Ok(())
}
