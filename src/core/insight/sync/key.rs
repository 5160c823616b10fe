//! What a store is on every machine: its key, by which the repository names it.
//!
//! The memories of a project are known by the project's first commit, wherever it lies; those of a
//! project without git by a name that the person gives; what an agent keeps for all projects by the
//! name of its store. Where an agent keeps its memories of a project is looked up on each machine.

use std::path::{Path, PathBuf};

use super::tree::is_key;
use crate::core::disk::trust::real_path;
use crate::core::insight::curate::git::Git;
use crate::core::memory::config::Settings;
use crate::core::memory::discover::{
    Environment, claude_slug, copilot_project, gemini_roots, project_folders,
};
use crate::core::memory::store::Store;
use crate::core::text::header::slug;

/// A key, and what it stands for in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StoreKey {
    pub(super) key: String,
    pub(super) about: String,
}

/// Finds the keys of stores.
pub(super) struct Keys<'a> {
    pub(super) git: &'a Git,
    pub(super) environment: &'a Environment,
    pub(super) settings: &'a Settings,
}

/// Where a store is kept.
enum Place {
    /// In a project, or by an agent for a project: under this name.
    Project { project: PathBuf, name: String },
    /// For all projects, or by a name of the settings.
    Global(String),
}

impl Keys<'_> {
    /// The key of a store, or why it has none. `given` is the name of a project without git, `known`
    /// the key that the store had before.
    pub(super) fn of(
        &self,
        store: &Store,
        given: Option<&str>,
        known: Option<&str>,
    ) -> Result<StoreKey, String> {
        let about_given =
            |given| format!("{} of the project that was named {given}\n", store.name());
        // What was named is the same wherever it is asked for.
        if let (Some(given), Some(known)) = (given, known) {
            return checked(known.to_owned(), about_given(given));
        }
        let place = self.place(store)?;
        let (project, name) = match place {
            Place::Global(name) => {
                let about = format!("{name}: the same for all projects\n");
                return checked(name, about);
            }
            Place::Project { project, name } => (project, name),
        };
        if let Some(given) = given {
            return checked(format!("{}-{name}", slug(given)), about_given(given));
        }
        let here = project.display();
        let first = self.first_commit(&project, known).map_err(|why| {
            format!(
                "{here}: {why}; `tome sync --add {} --project NAME` names it",
                store.name()
            )
        })?;
        // What it is was told by the first sync.
        let args = ["config", "--get", "remote.origin.url"];
        let remote = known.is_none().then(|| self.git.run(&project, &args));
        let remote = remote.flatten().map(|url| plain_address(&url));
        let remote = remote.unwrap_or_default();
        let folder = project
            .file_name()
            .map(|name| name.to_string_lossy().into_owned());
        let about = format!(
            "{name} of the project {} {remote}\nfirst commit {first}\n",
            folder.unwrap_or_default()
        );
        checked(format!("{}-{name}", &first[..12]), about)
    }

    fn place(&self, store: &Store) -> Result<Place, String> {
        let root = store.root().path();
        let environment = self.environment;
        if self
            .settings
            .stores
            .iter()
            .any(|listed| listed.name == store.name())
        {
            return Ok(Place::Global(store.name().to_owned()));
        }
        let claude = [("claude", environment.claude.clone())];
        let qwen = environment.qwen.iter().map(|home| ("qwen", home.clone()));
        for (agent, home) in claude.into_iter().chain(qwen) {
            let projects = real_path(&home.join("projects"));
            let Ok(below) = root.strip_prefix(&projects) else {
                continue;
            };
            let slug = below
                .iter()
                .next()
                .and_then(|slug| slug.to_str())
                .unwrap_or_default();
            return Ok(Place::Project {
                project: self.project_of_slug(slug)?,
                name: agent.to_owned(),
            });
        }
        for above in root
            .ancestors()
            .take_while(|above| *above != environment.home)
        {
            if above.join(".git").exists() {
                let below = root.strip_prefix(above).unwrap_or(Path::new(""));
                let parts = below.iter().map(|part| part.to_string_lossy().into_owned());
                let name = parts.collect::<Vec<_>>().join("-");
                let name = if name.is_empty() {
                    store.layout().name().to_owned()
                } else {
                    name
                };
                return Ok(Place::Project {
                    project: above.to_owned(),
                    name,
                });
            }
        }
        let folders = project_folders(&environment.cwd);
        if let Some(project) = folders.iter().find(|folder| root.starts_with(folder)) {
            let below = root.strip_prefix(project).unwrap_or(Path::new(""));
            let name = below.to_string_lossy().replace('/', "-");
            return Ok(Place::Project {
                project: project.clone(),
                name,
            });
        }
        // Memories that an agent keeps for the current project in a directory of its own.
        let is_of_copilot = || copilot_project(root).is_some_and(|own| folders.contains(&own));
        let of_gemini = gemini_roots(&environment.gemini, &folders).into_iter();
        let is_of_project =
            of_gemini.map(|own| real_path(&own)).any(|own| own == root) || is_of_copilot();
        match folders.last().filter(|_| is_of_project) {
            Some(project) => Ok(Place::Project {
                project: project.clone(),
                name: store.name().to_owned(),
            }),
            None if store.name().contains('@') && !store.name().starts_with("letta@") => {
                Err(format!("{}: sync it from inside its project", store.name()))
            }
            None => Ok(Place::Global(store.name().to_owned())),
        }
    }

    /// The directory that Claude Code names in this way.
    fn project_of_slug(&self, slug: &str) -> Result<PathBuf, String> {
        let own = project_folders(&self.environment.cwd);
        if let Some(project) = own.iter().find(|folder| claude_slug(folder) == slug) {
            return Ok(project.clone());
        }
        let mut found = Vec::new();
        paths_of_slug(Path::new("/"), slug, &mut found);
        match found.as_slice() {
            [one] => Ok(one.clone()),
            [] => Err(format!("{slug}: its project is not on this machine")),
            _ => Err(format!(
                "{slug}: several directories may be its project; sync it from inside"
            )),
        }
    }

    /// The commit with which the history of a project begins.
    fn first_commit(&self, project: &Path, known: Option<&str>) -> Result<String, &'static str> {
        let told = |args: &[&str]| self.git.run(project, args);
        let known = known
            .and_then(|key| key.split('-').next())
            .filter(|first| first.len() == 12);
        if let Some(known) = known
            && let Some(whole) = told(&[
                "rev-parse",
                "--verify",
                "--quiet",
                &format!("{known}^{{commit}}"),
            ])
        {
            return Ok(whole.trim().to_owned());
        }
        match told(&["rev-parse", "--is-shallow-repository"]) {
            Some(is_shallow) if is_shallow.trim() == "true" => {
                return Err("it is a shallow clone, so that its first commit is not known");
            }
            Some(_) => {}
            None => return Err("it has no git"),
        }
        let roots = told(&["rev-list", "--max-parents=0", "HEAD"]).ok_or("it has no commit")?;
        let first = roots.lines().next_back().filter(|first| first.len() >= 40);
        first.map(str::to_owned).ok_or("it has no commit")
    }
}

fn checked(key: String, about: String) -> Result<StoreKey, String> {
    if is_key(&key) {
        return Ok(StoreKey { key, about });
    }
    Err(format!(
        "{key}: a name of letters, digits, dots and dashes is needed"
    ))
}

/// The directories whose path has this name in Claude Code.
fn paths_of_slug(above: &Path, slug: &str, found: &mut Vec<PathBuf>) {
    const MOST: usize = 2;
    let entries = std::fs::read_dir(above).into_iter().flatten().flatten();
    for entry in entries {
        let path = entry.path();
        let name = claude_slug(&path);
        let is_on_the_way = slug == name
            || slug
                .strip_prefix(&name)
                .is_some_and(|rest| rest.starts_with('-'));
        // A link would lead to the same directory again.
        if found.len() >= MOST
            || !is_on_the_way
            || !entry.file_type().is_ok_and(|kind| kind.is_dir())
        {
            continue;
        }
        if slug == name {
            found.push(path);
        } else {
            paths_of_slug(&path, slug, found);
        }
    }
}

/// An address without what only its owner may know; empty if it is a path of this machine.
fn plain_address(url: &str) -> String {
    let plain = without_credentials(url.trim());
    let bare = match plain.split_once("://") {
        Some((_, rest)) => rest,
        None => plain
            .split_once('@')
            .map_or(plain.as_str(), |(_, host)| host),
    };
    if plain.starts_with("file:") || bare.starts_with(['/', '.', '~']) {
        return String::new();
    }
    bare.chars().filter(|c| !c.is_control()).take(200).collect()
}

/// An address without user and password.
pub(super) fn without_credentials(url: &str) -> String {
    match url.split_once("://") {
        Some((scheme, rest)) => {
            let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
            format!("{scheme}://{host}{path}")
        }
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::memory::layout::Layout;

    #[test]
    fn what_gemini_keeps_for_a_project_is_of_that_project_whatever_the_store_is_called() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let home = temp.path().canonicalize().expect("a path");
        let project = home.join("shop");
        let memory = home.join(".gemini/tmp/shop/memory");
        for folder in [&project, &memory] {
            std::fs::create_dir_all(folder).expect("folders");
        }
        let known =
            serde_json::json!({ "projects": { project.to_str().expect("a path"): "shop" } });
        std::fs::write(home.join(".gemini/projects.json"), known.to_string()).expect("writes");
        let keys = Keys {
            git: &Git::at("git"),
            environment: &Environment::of_home(&home, project, home.join("data")),
            settings: &Settings::default(),
        };
        let store = Store::open("gemini-2", &memory, Some(Layout::Index)).expect("opens");
        let key = keys.of(&store, Some("shop"), None).expect("a key").key;
        assert_eq!(key, "shop-gemini-2");
    }

    #[test]
    fn an_address_is_told_without_what_only_its_owner_may_know() {
        for (url, told, about) in [
            (
                "https://me:p@ss@host/@x/y.git",
                "https://host/@x/y.git",
                "host/@x/y.git",
            ),
            ("ssh://git@host:22/x", "ssh://host:22/x", "host:22/x"),
            ("git@host:x.git", "git@host:x.git", "host:x.git"),
            ("/home/me/x.git", "/home/me/x.git", ""),
            ("file:///home/me/x", "file:///home/me/x", ""),
        ] {
            assert_eq!(without_credentials(url), told);
            assert_eq!(plain_address(url), about, "{url}");
        }
    }
}
