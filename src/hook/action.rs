//! Before an action: asks the user about a call that a guard is about or that writes a memory. Each is
//! off unless it was set up.

use super::payload::Payload;
use super::{HookContext, reply};
use crate::core::disk::trust::real_path;
use crate::core::insight::act::Act;
use crate::core::insight::guard;
use crate::core::log::touch::{FileTouch, FileUse};
use crate::core::memory::layout::{Layout, Operation};
use crate::core::memory::store::Store;
use crate::core::text::secret::mask;

/// What the hook does before an action, as it was set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ActionOptions {
    /// Asks about calls that guards are about.
    pub guards: bool,
    /// Asks about calls that write memories.
    pub confirm: bool,
}

/// The reply to a call that is about to be made.
pub(super) fn answer(payload: &Payload, tool: &str, input: &str, hook: &HookContext<'_>) -> String {
    let nothing = || reply::empty_reply(Some(hook.agent));
    let Some(cwd) = payload.cwd.as_deref() else {
        return nothing();
    };
    let act = Act::of(tool, input);
    if act.is_empty() {
        return nothing();
    }
    let stores = std::cell::LazyCell::new(|| hook.memory.stores(cwd));
    if hook.actions.guards
        && let Ok(guards) = guard::load(hook.data)
        && let Some((guard, what)) = guard::asking(guards, &act, || stores.as_slice())
    {
        let what = mask(&what);
        let reason = format!(
            "{} ({}, asked by tome about: {what})",
            guard.words, guard.path
        );
        return reply::reply_asking(hook.agent, payload, &mask(&reason));
    }
    let writes = |touch: &&FileTouch| touch.usage != FileUse::Read && !touch.is_in_store;
    if hook.actions.confirm
        && let Some(memory) = act
            .touches
            .iter()
            .filter(writes)
            .find_map(|touch| memory_at(&stores, &real_path(&cwd.join(&touch.path))))
    {
        let reason = format!("{memory} is a memory: tome asks before an agent writes it");
        return reply::reply_asking(hook.agent, payload, &reason);
    }
    nothing()
}

/// The memory that a file is, named by its path in its store.
fn memory_at(stores: &[Store], file: &std::path::Path) -> Option<String> {
    stores.iter().find_map(|store| {
        let path = file.strip_prefix(store.root().path()).ok()?.to_str()?;
        let may = |operation| store.rules().allow(operation, path, store.root()).is_ok();
        let is_memory = store.layout() != Layout::Events
            && [Operation::Write, Operation::Patch, Operation::Delete]
                .into_iter()
                .any(may);
        is_memory.then(|| path.to_owned())
    })
}
