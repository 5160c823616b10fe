//! Memories of agents that keep them in directories of their own: Qwen Code, VS Code's Copilot,
//! Hermes, OpenClaw, Letta, and the further directories that Claude Code is told of.

use std::path::{Path, PathBuf};

use jsonc_parser::{ParseOptions, parse_to_serde_value};
use serde_json::Value;

use super::{
    Candidate, Discovery, DiscoveryScope, Environment, claude_slug, name_of, project_of_slug,
    subfolders,
};
use crate::core::disk::foreign::{LARGEST_SETTINGS, read_text};
use crate::core::disk::sandbox::Root;
use crate::core::log::folder_of_workspace;
use crate::core::memory::config::expand;
use crate::core::memory::layout::Layout;
use crate::core::memory::layout::entries::{WORKSPACE, copilot_workspace, is_workspace};
use crate::core::text::header::slug;

impl Discovery<'_> {
    /// Adds the memories of these agents.
    pub(super) fn memories_of_agents(&self, found: &mut Vec<Candidate>) {
        let mut add = |name: String, root: PathBuf, layout: Layout, why: &str| {
            // As for other agents, a linked directory is not followed here.
            if !root.is_symlink() {
                found.push(Candidate::new(name, root, Some(layout), why));
            }
        };
        let environment = self.environment;
        let is_all = self.scope == DiscoveryScope::Everything;
        for store in &environment.claude_stores {
            let why = if store.is_read_only {
                "a directory of CLAUDE_MEMORY_STORES, which Claude Code only reads"
            } else {
                "a directory of CLAUDE_MEMORY_STORES"
            };
            add(
                format!("claude@{}", name_of(&store.root)),
                store.root.clone(),
                Layout::Index,
                why,
            );
        }
        for home in &environment.qwen {
            let projects = home.join("projects");
            let why = "Qwen Code's memory of this project";
            // A linked work tree has a memory of its own, in older versions that of the main one.
            for root in [self.project.root(), &self.project.shared_root] {
                let root = projects.join(claude_slug(root)).join("memory");
                add("qwen".to_owned(), root, Layout::Index, why);
            }
            let why = "Qwen Code's memory for all projects";
            add(
                "qwen-user".to_owned(),
                home.join("memories"),
                Layout::Index,
                why,
            );
            for folder in subfolders(&projects).into_iter().filter(|_| is_all) {
                let project = project_of_slug(&environment.home, &name_of(&folder));
                let why = "Qwen Code's memory of another project";
                add(
                    format!("qwen@{project}"),
                    folder.join("memory"),
                    Layout::Index,
                    why,
                );
            }
        }
        for home in &environment.hermes {
            let why = "Hermes' memory";
            add(
                "hermes".to_owned(),
                home.join("memories"),
                Layout::Entries,
                why,
            );
            for profile in subfolders(&home.join("profiles")) {
                let name = format!("hermes@{}", name_of(&profile));
                let why = "the memory of a profile of Hermes";
                add(name, profile.join("memories"), Layout::Entries, why);
            }
        }
        for home in &environment.openclaw {
            for folder in subfolders(home) {
                let name = name_of(&folder);
                if let Some(agent) = name.strip_prefix(WORKSPACE) {
                    let name = format!("openclaw{agent}");
                    add(name, folder, Layout::Entries, "OpenClaw's memory");
                }
            }
            for (name, folder) in workspaces(home, environment) {
                let why = "OpenClaw's memory, where its settings say";
                add(name, folder, Layout::Entries, why);
            }
        }
        for home in &environment.letta {
            for agent in subfolders(&home.join("agents")) {
                let name: String = name_of(&agent).chars().take(14).collect();
                let why = "a Letta agent's memory: it sees what is committed in its git";
                add(
                    format!("letta@{name}"),
                    agent.join("memory"),
                    Layout::Entries,
                    why,
                );
            }
        }
        for user in &environment.editors {
            let of_copilot =
                |storage: &Path, name: &str| storage.join(name).join("memory-tool/memories");
            let global = of_copilot(&user.join("globalStorage"), "github.copilot-chat");
            let (editor, of_editor) = editor_of(user);
            let why = format!("Copilot's memory in {editor}, for all projects");
            let name = format!("copilot-user{of_editor}");
            add(name, global, Layout::Entries, &why);
            for workspace in subfolders(&user.join("workspaceStorage")) {
                let root = of_copilot(&workspace, "GitHub.copilot-chat");
                if !root.is_dir() {
                    continue;
                }
                let folder = folder_of_workspace(&workspace).map(PathBuf::from);
                let is_own = |folder: &PathBuf| self.project.folders.contains(folder);
                if folder.as_ref().is_some_and(is_own) {
                    let why = format!(
                        "Copilot's memory of this project in {editor}; sessions' notes go after 14 days"
                    );
                    add(format!("copilot{of_editor}"), root, Layout::Entries, &why);
                } else if is_all {
                    let name =
                        folder.map_or_else(|| name_of(&workspace), |folder| name_of(&folder));
                    let why = format!("Copilot's memory of another project in {editor}");
                    let name = format!("copilot{of_editor}@{name}");
                    add(name, root, Layout::Entries, &why);
                }
            }
        }
    }
}

/// The workspaces that OpenClaw's settings name, for all of its agents and for one.
pub(super) fn workspaces(home: &Path, environment: &Environment) -> Vec<(String, PathBuf)> {
    let text = read_text(&home.join("openclaw.json"), LARGEST_SETTINGS);
    let text = text.ok().flatten().unwrap_or_default();
    let settings: Option<Value> = parse_to_serde_value(&text, &ParseOptions::default()).ok();
    let agents = settings.unwrap_or_default()["agents"].take();
    let workspace = |name: String, agent: &Value| {
        let folder = expand(agent["workspace"].as_str()?, &environment.home, home);
        // Of a directory with something else in it, the agent reads other files.
        let is_one = Root::open(&folder).is_ok_and(|root| is_workspace(&root));
        is_one.then_some((name, folder))
    };
    let listed = agents["list"].as_array().into_iter().flatten();
    let of_agents = listed.filter_map(|agent| {
        let name = format!("openclaw@{}", agent["id"].as_str()?);
        workspace(name, agent)
    });
    let of_all = workspace("openclaw".to_owned(), &agents["defaults"]);
    of_all.into_iter().chain(of_agents).collect()
}

/// The name of the editor with this user directory, and what tells its stores from those of VS Code.
fn editor_of(user: &Path) -> (String, String) {
    // A server of an editor has the directory in `data`.
    let above = user.ancestors().skip(1).map(name_of);
    let name = above
        .into_iter()
        .find(|name| name != "data")
        .unwrap_or_default();
    match name.strip_prefix("Code") {
        Some("") => ("VS Code".to_owned(), String::new()),
        Some(rest) => (
            format!("VS Code{}", rest.replace(" - ", " ")),
            format!("-{}", slug(rest)),
        ),
        None => {
            let name = name.trim_start_matches('.');
            (name.to_owned(), format!("-{}", slug(name)))
        }
    }
}

/// The folder that an editor's memory of Copilot is about; `None` if it is for all projects or
/// unknown.
pub fn copilot_project(root: &Path) -> Option<PathBuf> {
    folder_of_workspace(copilot_workspace(root)?).map(PathBuf::from)
}
