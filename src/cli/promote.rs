//! `tome promote`: makes a memory of lines of a log, with a grip that leads back to them.

use serde_json::json;

use super::Failure;
use super::args::PromoteArgs;
use super::change::{ChangeOptions, carry_out};
use super::print::Reported;
use super::world::World;
use crate::core::Error;
use crate::core::change::{ChangeRequest, plan};
use crate::core::insight::promote::{Proposal, grips_below, propose, quotes};
use crate::core::memory::discover::FoundStore;
use crate::core::memory::layout::Layout;
use crate::core::memory::store::Store;
use crate::core::memory::template::{self, TemplateInput, template};

pub(super) fn run(args: &PromoteArgs, world: &World) -> Reported<'static> {
    let stores = world.discovered()?.stores;
    let references = args.references.iter();
    let references: Vec<String> = references
        .map(|reference| with_directory(&stores, reference))
        .collect();
    let quoted = world.read_whole_corpus(|logs| {
        let find_grip = |id: &str| world.find_grip(logs, id);
        let marked = references.iter().map(|one| logs.catalog.marked(one));
        quotes(
            &logs.corpus,
            &find_grip,
            &marked.collect::<Result<Vec<_>, _>>()?,
        )
    })??;
    let grips: Vec<&str> = quoted.iter().map(|quote| quote.grip.id.as_str()).collect();
    let grips = json!(grips);
    let nothing = || Failure::Core(Error::not_found(args.references.join(" ")), None);
    let mut proposal = propose(&quoted).ok_or_else(nothing)?;
    if let Some(text) = &args.content {
        proposal.text = grips_below(text, &quoted);
    }
    if let Some(name) = &args.name {
        proposal.name.clone_from(name);
    }
    if let Some(description) = &args.description {
        proposal.description.clone_from(description);
    }
    let store = world.store_for_promotion(&proposal)?;
    let kind = kind(args, &proposal, &store)?;
    let input = TemplateInput {
        name: &proposal.name,
        about: &proposal.description,
        text: Some(&proposal.text),
    };
    let made = template(&store, &kind, input, world.moment.today);
    if store.holds(&made.path) {
        return Err(Failure::Core(
            Error::refused(&made.path, "exists already; give another --name"),
            Some(store.layout()),
        ));
    }
    let path = made.path.clone();
    let request = ChangeRequest::Write {
        path: made.path,
        content: made.content,
        fields: made.fields,
    };
    let context = world.change_context(None);
    let how = ChangeOptions {
        dry_run: args.dry_run,
        layout: Some(store.layout()),
        extra: json!({ "store": store.name(), "path": path, "grips": grips }),
        ..ChangeOptions::default()
    };
    carry_out(world, how, &[store.root().path()], || {
        plan(&store, &request, &context)
    })
}

/// Replaces the name of a store in a citation by the store's directory. Several stores can have a
/// log of the same name.
fn with_directory(stores: &[FoundStore], reference: &str) -> String {
    let mut stores = stores.iter().map(|found| &found.store);
    let named = reference.split_once(':').and_then(|(name, rest)| {
        let (file, _) = rest.split_once('#')?;
        let store = stores.find(|store| store.name() == name && store.holds(file))?;
        Some(store.root().path().join(rest))
    });
    named.map_or_else(
        || reference.to_owned(),
        |path| path.to_string_lossy().into_owned(),
    )
}

/// Returns the kind of the memory: as given, if the layout has it, or as proposed.
fn kind(args: &PromoteArgs, proposal: &Proposal, store: &Store) -> Result<String, Failure> {
    let kinds = template::kinds(store);
    let Some(given) = &args.category else {
        let own = Some(proposal.kind(store.layout())).filter(|own| !own.is_empty());
        let kind = own.or(kinds.first().copied());
        return Ok(kind.unwrap_or_default().to_owned());
    };
    if kinds.contains(&given.as_str()) {
        Ok(given.clone())
    } else {
        Err(Failure::Usage(format!(
            "'{given}' is no type of this store; use {}",
            kinds.join(", ")
        )))
    }
}

impl World {
    /// Returns the store that a promoted memory goes to: the one that is given, the only one, the
    /// agent's own, the only one with an index, or a new one.
    fn store_for_promotion(&self, proposal: &Proposal) -> Result<Store, Failure> {
        let mut stores = self.stores_or(|_| {})?;
        stores.retain(|store| !matches!(store.layout(), Layout::Instructions | Layout::Events));
        if stores.is_empty() {
            let kind = proposal.kind(Layout::Index);
            let path = template::path(Layout::Index, kind, &proposal.name);
            return Ok(self.store_for_new(&path)?.0);
        }
        let is_own = |store: &Store| proposal.is_from_agent_of(store.root().path());
        for is_preferred in [&is_own as &dyn Fn(&Store) -> bool, &is_index] {
            if stores.len() > 1 && stores.iter().filter(|store| is_preferred(store)).count() == 1 {
                stores.retain(is_preferred);
            }
        }
        match stores.len() {
            1 => Ok(stores.remove(0)),
            _ => {
                let names: Vec<&str> = stores.iter().map(Store::name).collect();
                Err(Failure::Usage(format!(
                    "there is more than one store; give one of them with --store: {}",
                    names.join(", ")
                )))
            }
        }
    }
}

fn is_index(store: &Store) -> bool {
    store.layout() == Layout::Index
}
