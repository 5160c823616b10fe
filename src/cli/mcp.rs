//! `tome mcp`: serves the selected stores to an agent.

use std::env;
use std::path::Path;

use super::args::McpArgs;
use super::print::print_error;
use super::world::{World, now};
use super::{CommandResult, Failure, Outcome};
use crate::core::disk::trust::real_path;
use crate::core::log::Agent;
use crate::core::memory::discover::{first_store, is_of_subagent};
use crate::core::memory::layout::Layout;
use crate::core::memory::store::Store;
use crate::mcp::{Access, ServedStore, ServerSetup, StorePurpose, serve};

pub(super) fn run(args: &McpArgs, world: &World) -> CommandResult {
    let access = if args.read_only {
        Access::ReadOnly
    } else {
        Access::Full
    };
    let stores = if world.common.store.is_empty() {
        world.project_stores(access)?
    } else {
        let shared = |store| ServedStore {
            store,
            purpose: StorePurpose::Shared,
        };
        world.memory_stores()?.into_iter().map(shared).collect()
    };
    let mut layouts: Vec<Layout> = stores.iter().map(|served| served.store.layout()).collect();
    if world.common.store.is_empty() {
        layouts.extend(world.possible_layouts());
    }
    layouts.sort();
    layouts.dedup();
    let setup = ServerSetup {
        stores,
        layouts,
        history: world.history.clone(),
        clock: now,
        access,
        logs: Box::new(world.clone()),
        recall_limit: world.settings.recall_limit,
        facts_budget: world.settings.facts_budget,
        session: ["CLAUDE_CODE_SESSION_ID", "COPILOT_AGENT_SESSION_ID"]
            .iter()
            .filter_map(|name| env::var(name).ok())
            .find(|id| !id.is_empty()),
        started: world.moment.time,
    };
    serve(setup)?;
    Ok(Outcome::Done)
}

impl World {
    /// Returns the stores of the project, and those that a first memory would create.
    fn project_stores(&self, access: Access) -> Result<Vec<ServedStore>, Failure> {
        let found = self.discovered()?;
        for problem in &found.problems {
            print_error(&problem.error.to_string());
        }
        let mut stores: Vec<ServedStore> = found
            .stores
            .into_iter()
            .map(|found| found.store)
            .filter(|store| store.layout() != Layout::Instructions)
            .map(|store| ServedStore {
                purpose: self.purpose(&store),
                store,
            })
            .collect();
        if access == Access::ReadOnly {
            return Ok(stores);
        }
        for layout in self.possible_layouts() {
            let first = first_store(&self.environment, &self.settings, layout);
            let Ok(Some(first)) = first else { continue };
            let is_there = |served: &ServedStore| served.store.id() == first.store.id();
            if stores.iter().any(is_there) {
                continue;
            }
            let name = first.store.name().to_owned();
            let mut unique = name.clone();
            let mut number = 2;
            while stores.iter().any(|served| served.store.name() == unique) {
                unique = format!("{name}-{number}");
                number += 1;
            }
            stores.push(ServedStore {
                store: first.store.with_name(unique),
                purpose: StorePurpose::First,
            });
        }
        Ok(stores)
    }

    /// Returns the layouts that memories of any project can have, whether or not a store exists.
    fn possible_layouts(&self) -> Vec<Layout> {
        let settings = &self.settings;
        let mut layouts = Vec::new();
        if settings.discover_project {
            layouts.extend([Layout::Index, Layout::Facts]);
        }
        if settings.discover_home {
            layouts.push(Layout::Coder);
        }
        if settings.hook.capture {
            layouts.push(Layout::Events);
        }
        layouts
    }

    fn purpose(&self, store: &Store) -> StorePurpose {
        let root = store.root().path();
        let is_below = |folder: &Path| root.starts_with(real_path(folder));
        let environment = &self.environment;
        let homes = [
            (Agent::Qwen, &environment.qwen),
            (Agent::Hermes, &environment.hermes),
            (Agent::CopilotChat, &environment.editors),
        ];
        let mut others = homes.iter();
        let other = others.find(|(_, homes)| homes.iter().any(|home| is_below(home)));
        if let Some((agent, _)) = other {
            return StorePurpose::Aside(*agent);
        }
        if environment.is_of_openclaw(root) {
            return StorePurpose::Aside(Agent::Openclaw);
        }
        match store.layout() {
            Layout::Session => StorePurpose::Session,
            // No agent loads lessons by itself, wherever they are kept.
            Layout::Coder => StorePurpose::Shared,
            _ if is_of_subagent(store) => StorePurpose::Aside(Agent::ClaudeCode),
            _ if is_below(&self.environment.codex) => StorePurpose::Aside(Agent::Codex),
            _ if is_below(&self.environment.claude) => StorePurpose::Own(Agent::ClaudeCode),
            _ => StorePurpose::Shared,
        }
    }
}
