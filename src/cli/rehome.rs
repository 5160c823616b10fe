//! `tome rehome`: the memories of a project that moved, was renamed or has another worktree.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::args::RehomeArgs;
use super::change::{ChangeOptions, carry_out};
use super::print::{Answer, Cell, Reported, Text, TextStyle, print_error, print_note};
use super::world::World;
use super::{Failure, Outcome};
use crate::core::Error;
use crate::core::disk::trust::real_path;
use crate::core::insight::rehome::{
    FormerHome, Rehoming, claude_home_of, homes_of_project, plan_rehome,
};
use crate::core::memory::config::expand;
use crate::core::memory::discover::claude_memory_root;
use crate::core::memory::layout::Layout;
use crate::core::memory::store::Store;

pub(super) fn run(args: &RehomeArgs, world: &World) -> Reported<'static> {
    let Some(from) = &args.from else {
        return list(&world.former_homes(), world);
    };
    let source = world.former_store(from)?;
    let target = match &args.to {
        Some(to) => world.store_named(to, None)?,
        None => {
            let root = world.claude_root(&source)?;
            Store::open("claude", &root, Some(Layout::Index))?
        }
    };
    let context = world.change_context(None);
    let roots = [source.root().path(), target.root().path()];
    let Some(Rehoming { notes, .. }) = plan_rehome(&source, &target, &context)? else {
        let [there, here] = roots.map(|root| world.short_path(root));
        let words = format!("nothing to do: {there} has no memories that {here} has not");
        return Answer::ending(
            Outcome::Nothing,
            json!({ "notes": [words] }),
            Text::Error(words),
        );
    };
    let how = ChangeOptions {
        dry_run: args.dry_run,
        layout: Some(target.layout()),
        extra: json!({ "notes": notes }),
        notes,
    };
    carry_out(world, how, &roots, || {
        let rehoming = plan_rehome(&source, &target, &context)?;
        rehoming
            .map(|one| one.change)
            .ok_or_else(|| Error::refused(from, "nothing to do"))
    })
}

fn list(homes: &[FormerHome], world: &World) -> Reported<'static> {
    let former = homes.iter().map(|home| {
        json!({
            "root": home.root.to_string_lossy(),
            "project": home.project.to_string_lossy(),
            "there": home.is_there,
            "memories": home.memories,
            "proof": home.proof.to_string(),
        })
    });
    let rows = homes.iter().map(|home| {
        let state = if home.is_there {
            "another worktree or clone"
        } else {
            "moved"
        };
        vec![
            Cell::new(TextStyle::Strong, world.short_path(&home.project)),
            Cell::plain(home.content()),
            Cell::plain(state),
            Cell::new(TextStyle::Quiet, home.proof.to_string()),
        ]
    });
    let text = if homes.is_empty() {
        let projects = world.short_path(&world.environment.claude.join("projects"));
        Text::Error(format!(
            "nothing to do: none of {projects} has memories of this project below another path"
        ))
    } else {
        print_note("tome rehome PATH gathers them here");
        Text::Table(rows.collect())
    };
    Answer::ending(
        Outcome::found(!homes.is_empty()),
        json!({ "former": former.collect::<Vec<Value>>() }),
        text,
    )
}

impl World {
    /// Finds memories of this project below other paths.
    pub(super) fn former_homes(&self) -> Vec<FormerHome> {
        let homes = homes_of_project(&self.environment, &self.settings, self.git());
        let Some((_, homes)) = homes else {
            return Vec::new();
        };
        if let Some(project) = self.locations.projects.last()
            && let Some(why) = self.git().lateness(project)
        {
            print_error(&why);
        }
        homes
    }

    /// Where Claude Code reads the memories of the project, for a store of its own.
    fn claude_root(&self, source: &Store) -> Result<PathBuf, Failure> {
        let is_claude = source
            .root()
            .path()
            .starts_with(real_path(&self.environment.claude));
        let root = claude_memory_root(&self.environment, &self.settings).filter(|_| is_claude);
        root.ok_or_else(|| Failure::usage("say where the memories go: tome rehome FROM TO"))
    }

    /// Opens the store of a project that was at this path, or else the store at the path itself.
    fn former_store(&self, from: &str) -> Result<Store, Failure> {
        let path = expand(from, &self.environment.home, &self.environment.cwd);
        let projects = self.environment.claude.join("projects");
        let home = claude_home_of(&projects, &path);
        let root = [&home, &path].into_iter().find(|root| root.is_dir());
        match root {
            Some(root) => Ok(Store::open(from, root, Some(Layout::Index))?),
            None => Err(Error::not_found(format!(
                "memories of {} ({} is not there either)",
                self.short_path(&path),
                self.short_path(&home)
            ))
            .into()),
        }
    }
}
