//! Which stores are shared: what a person switched on or off here, else what the settings say.

use std::collections::HashMap;
use std::path::Path;

use super::state::{Chosen, SyncState};
use super::{NO_REMOTE, Sync};
use crate::core::disk::trust::real_path;
use crate::core::log::Agent;
use crate::core::memory::config::{IncomingMode, OutgoingMode, Settings, Sharing};
use crate::core::memory::discover::{DiscoveryScope, claude_memory_root, discover};
use crate::core::memory::layout::Layout;
use crate::core::memory::store::{Store, StoreId};
use crate::core::{Error, Result};

/// A store that is shared.
#[derive(Clone)]
pub(super) struct SharedHere {
    pub(super) store: Store,
    pub(super) incoming: IncomingMode,
    pub(super) outgoing: OutgoingMode,
    /// The name of a project without git.
    pub(super) project: Option<String>,
}

impl SharedHere {
    /// Gives it this layout, if it has no memory yet.
    pub(super) fn take_layout(&mut self, layout: Layout) {
        let (name, root) = (self.store.name(), self.store.root());
        if Layout::detect(root).is_empty()
            && self.store.list().is_ok_and(|all| all.is_empty())
            && let Ok(store) = Store::open(name, root.path(), Some(layout))
        {
            self.store = store;
        }
    }
}

impl Sync<'_> {
    /// The stores that are found on this machine.
    pub(super) fn discovered(&self) -> Vec<Store> {
        let found = discover(self.environment, self.settings, DiscoveryScope::Everything);
        found.stores.into_iter().map(|found| found.store).collect()
    }

    /// The stores that are shared.
    pub(super) fn shared(&self, state: &SyncState) -> Vec<SharedHere> {
        let mut stores = self.discovered();
        // A store that has no file yet comes into being with what arrives: Claude Code's memory of
        // this project, and what was chosen in a folder that is there. What was chosen in another
        // project and was synced from there is not found from here, and goes on.
        let claude = claude_memory_root(self.environment, self.settings);
        let claude = claude.map(|root| ("claude", root, Layout::Index));
        let chosen = state
            .stores
            .iter()
            .map(|(root, chosen)| (chosen.name.as_str(), root.clone(), chosen.layout));
        let chosen = chosen.filter(|(_, root, _)| !is_gone(root));
        for (name, root, layout) in claude.into_iter().chain(chosen) {
            let is_known = stores.iter().any(|store| store.root().path() == root);
            // A link that took its place since leads to what nobody chose.
            let is_elsewhere = || state.keys.contains_key(&root) && real_path(&root) == root;
            if !is_known && (!root.exists() || is_elsewhere()) {
                stores.extend(Store::open(name, &root, Some(layout)));
            }
        }
        let shared = stores.into_iter().filter_map(|store| {
            let sharing = sharing_of(self.dir, state, self.settings, &store)?;
            let chosen = state.stores.get(store.root().path());
            Some(SharedHere {
                incoming: sharing.incoming.unwrap_or_default(),
                outgoing: sharing.outgoing.unwrap_or_default(),
                project: chosen.and_then(|chosen| chosen.project.clone()),
                store,
            })
        });
        shared.collect()
    }
}

/// Whether the folder of a store is gone, and not only its files.
pub(super) fn is_gone(root: &Path) -> bool {
    !root.parent().is_some_and(Path::is_dir)
}

/// How a store is shared; `None` if it is not, as without a remote.
fn sharing_of(
    dir: &Path,
    state: &SyncState,
    settings: &Settings,
    store: &Store,
) -> Option<Sharing> {
    let root = store.root().path();
    // What tome itself keeps is about this machine.
    let is_own = dir.parent().is_some_and(|data| root.starts_with(data));
    if state.url.is_empty() || store.layout() == Layout::Events || is_own {
        return None;
    }
    let mut listed = settings.stores.iter();
    let listed = listed.find(|listed| listed.name == store.name());
    let mut agents = settings.agents.iter();
    let agent = agents.find(|agent| is_of_agent(store, &agent.name));
    let [first, second] = [listed.map(|one| one.sharing), agent.map(|one| one.sharing)]
        .map(Option::unwrap_or_default);
    let chosen = state.stores.get(root).map(|chosen| chosen.is_on);
    let sharing = Sharing {
        sync: chosen.or(first.sync).or(second.sync),
        incoming: first.incoming.or(second.incoming),
        outgoing: first.outgoing.or(second.outgoing),
    };
    (sharing.sync == Some(true)).then_some(sharing)
}

/// Of these stores, those that are shared, by the state in a directory, each with the number of its
/// files that the last sync held back.
pub fn shared_among<'a>(
    dir: &Path,
    settings: &Settings,
    stores: impl Iterator<Item = &'a Store>,
) -> Result<HashMap<StoreId, usize>> {
    let state = SyncState::load(dir)?;
    let shared = stores.filter(|store| sharing_of(dir, &state, settings, store).is_some());
    let held_back = |store: &Store| {
        let held_back = &state.last.as_ref()?.held_back;
        held_back.get(store.root().path()).copied()
    };
    let counted = shared.map(|store| (store.id().clone(), held_back(store).unwrap_or(0)));
    Ok(counted.collect())
}

/// Switches a store on or off in the state in a directory; `project` names a project without git.
pub fn choose(dir: &Path, store: &Store, is_on: bool, project: Option<&str>) -> Result<()> {
    let mut state = SyncState::load(dir)?;
    if is_on && state.url.is_empty() {
        return Err(Error::refused(store.name(), NO_REMOTE));
    }
    let chosen = Chosen {
        is_on,
        name: store.name().to_owned(),
        layout: store.layout(),
        project: project.map(str::to_owned),
    };
    // A project that moved is shared from its new place.
    state
        .stores
        .retain(|root, old| old.name != chosen.name || !is_gone(root));
    let root = store.root().path();
    let project = chosen.project.clone();
    let before = state.stores.insert(root.to_owned(), chosen);
    if project != before.and_then(|before| before.project) {
        state.keys.remove(root);
    }
    if let Some(last) = state.last.as_mut().filter(|_| !is_on) {
        last.held_back.remove(root);
    }
    state.save(dir)
}

/// Switches a store on, or off if it is on; returns which.
pub fn toggle(dir: &Path, settings: &Settings, store: &Store) -> Result<bool> {
    let state = SyncState::load(dir)?;
    let is_on = sharing_of(dir, &state, settings, store).is_none();
    let chosen = state.stores.get(store.root().path());
    let project = chosen.and_then(|chosen| chosen.project.as_deref());
    choose(dir, store, is_on, project)?;
    Ok(is_on)
}

/// Whether a store is one of an agent's: their names begin with the agent's.
fn is_of_agent(store: &Store, agent: &str) -> bool {
    let agent = if agent == Agent::ClaudeCode.name() {
        "claude"
    } else {
        agent
    };
    let rest = store.name().strip_prefix(agent);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['@', '-']))
        && store.layout() != Layout::Instructions
}
