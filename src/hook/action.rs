//! Before an action: asks the user about a call that a guard is about or that writes a memory. Each is
//! off unless it was set up.

use std::path::Path;

use super::payload::Payload;
use super::{HookContext, reply};
use crate::core::disk::trust::real_path;
use crate::core::insight::act::Act;
use crate::core::insight::guard;
use crate::core::log::touch::{FileTouch, FileUse};
use crate::core::memory::layout::{Layout, Operation};
use crate::core::memory::store::Store;
use crate::core::text::display::safe;

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
    let act = Act::of(tool, input).made_in(cwd, hook.home);
    if act.is_empty() {
        return nothing();
    }
    let stores = std::cell::LazyCell::new(|| hook.memory.stores(cwd));
    if hook.actions.guards
        && let Ok(guards) = guard::load(hook.data)
        && let Some((guard, what)) = guard::asking(guards, &act, hook.home, || stores.as_slice())
    {
        let what = safe(&what);
        let reason = format!(
            "{} ({}, asked by tome about: {what})",
            guard.words, guard.path
        );
        return reply::reply_asking(hook.agent, payload, &safe(&reason));
    }
    let writes = |touch: &&FileTouch| touch.usage != FileUse::Read && !touch.is_in_store;
    // Those of other projects take time to find, and are needed for few calls.
    let others = std::cell::LazyCell::new(|| hook.memory.all_stores());
    if hook.actions.confirm
        && let Some(memory) = act.touches.iter().filter(writes).find_map(|touch| {
            let file = real_path(Path::new(&touch.path));
            let elsewhere = || {
                let is_outside = !file.starts_with(cwd);
                is_outside.then(|| memory_at(&others, touch.usage, &file))?
            };
            memory_at(&stores, touch.usage, &file).or_else(elsewhere)
        })
    {
        let reason = format!("{memory} is a memory: tome asks before an agent writes it");
        return reply::reply_asking(hook.agent, payload, &reason);
    }
    nothing()
}

/// The memory that a file is, named by its path in its store; or the first one in a folder that is
/// deleted.
fn memory_at(stores: &[Store], usage: FileUse, file: &Path) -> Option<String> {
    stores.iter().find_map(|store| {
        if usage == FileUse::Delete && file.is_dir() {
            let files = store.files().unwrap_or_default();
            let inside = |path: &String| store.root().absolute(path).starts_with(file);
            return files.into_iter().map(|one| one.path).find(inside);
        }
        let path = file.strip_prefix(store.root().path()).ok()?.to_str()?;
        let may = |operation| store.rules().allow(operation, path, store.root()).is_ok();
        let is_memory = store.layout() != Layout::Events
            && [Operation::Write, Operation::Patch, Operation::Delete]
                .into_iter()
                .any(may);
        is_memory.then(|| path.to_owned())
    })
}
