//! Proposals: changes of memories that an agent keeps as patch files until a person decides.
//!
//! Gemini CLI writes them into its private memory of a project: `.inbox/private/*.patch` for the
//! files of that directory, `.inbox/global/*.patch` for the user's own `GEMINI.md`. A proposal that
//! names any other file is left alone, as that agent leaves it alone. Skills that it drafts are in
//! `skills/NAME/` of the same memory, and patches of the user's skills in `skills/*.patch`; they are
//! for `skills/` beside that `GEMINI.md`. Accepting a proposal makes the change and takes it out of
//! the patch; rejecting one only takes it out.
//!
//! What tome itself proposes are drafts of new memories: files in `drafts` beside the history, in a
//! folder for each store. One that was decided stays as an empty file, so that it is not proposed
//! again.

mod part;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use self::part::{Part, Target};
use super::decide::Selection;
use super::patch::{self, FilePatch, NO_FILE};
use super::queue::Item;
use crate::core::change::history::History;
use crate::core::change::{Change, ChangeVerb, Edit, PlannedFiles};
use crate::core::disk::private;
use crate::core::disk::sandbox::{Attributes, Root};
use crate::core::memory::layout::Layout;
use crate::core::memory::layout::index::{SKILL_DRAFTS, is_skill_draft};
use crate::core::memory::store::Store;
use crate::core::text::time::Moment;
use crate::core::{Error, Result};

/// The folder of the patches, below a store's root.
const INBOX: &str = ".inbox";

/// The kinds of patches, each a folder.
const KINDS: [&str; 3] = [".inbox/private", ".inbox/global", SKILL_DRAFTS];

/// The file that patches of the kind `global` are about.
const GLOBAL: &str = "GEMINI.md";

/// How many folders deep patches are looked for.
const DEEPEST: usize = 3;

/// Whether a file below a store's root is a proposal, and no memory.
pub(super) fn is_proposal(root: &Path, path: &str) -> bool {
    let below = path.strip_prefix(INBOX);
    below.is_some_and(|below| below.starts_with('/')) || is_skill_draft(root, path)
}

/// Whether a store may have proposals. Most have no such folders.
fn has_proposals(root: &Root, layout: Layout) -> bool {
    let is_drafted = || {
        let draft = format!("{SKILL_DRAFTS}/x");
        is_skill_draft(root.path(), &draft) && root.is_dir(SKILL_DRAFTS)
    };
    layout == Layout::Index && (root.is_dir(INBOX) || is_drafted())
}

/// A patch file, or a draft.
struct Proposal {
    /// The directory of tome's own drafts; `None` for the root of the store.
    folder: Option<PathBuf>,
    /// The file below it.
    file: String,
    bytes: Vec<u8>,
    parts: Vec<Part>,
}

/// Proposes a new file of a store, unless that was done before. Whether it waits, and was not
/// rejected.
pub fn add_draft(history: &History, store: &Store, file: &str, text: &str) -> Result<bool> {
    let folder = history.drafts_of(store.root().path());
    let path = folder.join(file);
    let is_new = !store.root().has(file) && !path.exists();
    if is_new && !file.contains(['/', '\\']) {
        private::create_dir(&folder).map_err(|error| Error::io(&folder, error))?;
        private::replace_unflushed(&path, |new| new.write_all(text.as_bytes()))
            .map_err(|error| Error::io(&path, error))?;
    }
    // A draft that was decided on is left empty.
    Ok(path.metadata().is_ok_and(|known| known.len() > 0))
}

/// tome's own drafts for a store, each as a new file.
fn drafts(history: &History, store: &Store) -> Vec<Proposal> {
    let folder = history.drafts_of(store.root().path());
    let Ok(root) = Root::open(&folder) else {
        return Vec::new();
    };
    let files = root.files("", ".md", 1).unwrap_or_default().into_iter();
    let drafts = files.filter_map(|file| {
        let bytes = root.read(&file.path).ok()??;
        let text = std::str::from_utf8(&bytes).ok()?;
        let target = Target {
            root: store.root().path().to_owned(),
            layout: store.layout(),
            path: file.path.clone(),
        };
        let name = target.root.join(&file.path).display().to_string();
        let patch = (!text.is_empty()).then(|| patch::new_file(&name, text))??;
        let mut part = Part::new(store, (&file.path, file.modified), target, patch);
        part.item.author.who = "tome".to_owned();
        Some(Proposal {
            folder: Some(folder.clone()),
            file: file.path,
            bytes,
            parts: vec![part],
        })
    });
    drafts.collect()
}

/// The proposals in a store.
fn proposals(history: &History, store: &Store) -> Vec<Proposal> {
    let mut found = drafts(history, store);
    if !has_proposals(store.root(), store.layout()) {
        return found;
    }
    found.extend(proposed_by_agent(store).into_iter().filter_map(Result::ok));
    found
}

/// What is proposed in files of a store, and in a line each the files that are left alone.
fn proposed_by_agent(store: &Store) -> Vec<std::result::Result<Proposal, String>> {
    let left_alone = |file: &str, why: &str| {
        Err(format!(
            "{} is left alone: {why}; make the change by hand if you want it, and delete this file",
            store.root().absolute(file).display()
        ))
    };
    let mut found = skill_drafts(store, left_alone);
    for kind in KINDS {
        let files = store.root().files(kind, ".patch", DEEPEST);
        for file in files.unwrap_or_default() {
            let Ok(Some(bytes)) = store.root().read(&file.path) else {
                continue;
            };
            let parsed = std::str::from_utf8(&bytes).ok().and_then(patch::parse);
            let Some(patches) = parsed else {
                found.push(left_alone(&file.path, "it is no patch"));
                continue;
            };
            let parts = patches
                .into_iter()
                .map(|patch| match target(store, kind, &patch) {
                    Some(target) => {
                        let at = (file.path.as_str(), file.modified);
                        Ok(Part::new(store, at, target, patch))
                    }
                    None => Err(format!("{} is no file that it may change", patch.new)),
                });
            let parts: std::result::Result<Vec<Part>, String> = parts.collect();
            found.push(match parts {
                Ok(parts) => Ok(Proposal {
                    folder: None,
                    file: file.path,
                    bytes,
                    parts,
                }),
                Err(why) => left_alone(&file.path, &why),
            });
        }
    }
    found
}

/// The files of a store that propose something and are left alone, in a line each: why, and what to do.
pub fn left_alone(store: &Store) -> Vec<String> {
    if !has_proposals(store.root(), store.layout()) {
        return Vec::new();
    }
    let proposed = proposed_by_agent(store).into_iter();
    proposed.filter_map(|one| one.err()).collect()
}

/// The files of drafted skills, each as a new file among the user's own skills.
fn skill_drafts(
    store: &Store,
    left_alone: impl Fn(&str, &str) -> std::result::Result<Proposal, String>,
) -> Vec<std::result::Result<Proposal, String>> {
    let root = store.root();
    let (Some(skills), true) = (own_skills(root), is_skill_draft(root.path(), "skills/x")) else {
        return Vec::new();
    };
    let files = root.files(SKILL_DRAFTS, "", DEEPEST).unwrap_or_default();
    let drafts = files.into_iter().filter_map(|file| {
        let path = file.path.strip_prefix(SKILL_DRAFTS)?.strip_prefix('/')?;
        // What stands beside the folders are patches and notes of the agent.
        path.contains('/').then_some(())?;
        let bytes = root.read(&file.path).ok()??;
        let text = std::str::from_utf8(&bytes).unwrap_or_default();
        let Some(patch) = patch::new_file(&skills.join(path).display().to_string(), text) else {
            return Some(left_alone(&file.path, "there is no text in it"));
        };
        let target = Target {
            root: skills.clone(),
            layout: Layout::Instructions,
            path: path.to_owned(),
        };
        let mut part = Part::new(store, (&file.path, file.modified), target, patch);
        // The scripts of a skill are run.
        part.mode = root.attributes(&file.path).mode;
        Some(Ok(Proposal {
            folder: None,
            file: file.path,
            bytes,
            parts: vec![part],
        }))
    });
    drafts.collect()
}

/// The directory of the user's own skills, beside the `tmp` of the projects.
fn own_skills(root: &Root) -> Option<PathBuf> {
    let home = root.path().ancestors().nth(3)?;
    Some(home.join(SKILL_DRAFTS))
}

/// The file that a patch of this kind may change; `None` for any other.
fn target(store: &Store, kind: &str, patch: &FilePatch) -> Option<Target> {
    let is_one_file = patch.old == NO_FILE || patch.old == patch.new;
    let path = Path::new(&patch.new);
    if !is_one_file || !path.is_absolute() {
        return None;
    }
    let name = path.file_name()?.to_str()?;
    let folder = path.parent()?.canonicalize().ok()?;
    let root = store.root().path();
    if kind == SKILL_DRAFTS {
        let skills = own_skills(store.root())?.canonicalize().ok()?;
        let inside = folder.strip_prefix(&skills).ok()?;
        let is_skill = inside.components().next().is_some() && !name.starts_with('.');
        let path = inside.join(name).to_str()?.to_owned();
        return is_skill.then_some(Target {
            root: skills,
            layout: Layout::Instructions,
            path,
        });
    }
    if kind == KINDS[0] {
        let is_memory = !name.starts_with('.') && name.to_lowercase().ends_with(".md");
        return (is_memory && folder == root).then(|| Target {
            root: folder,
            layout: store.layout(),
            path: name.to_owned(),
        });
    }
    // The memory of a project is `tmp/PROJECT/memory` in the directory of that file.
    let home = root.parent()?.parent().filter(|tmp| tmp.ends_with("tmp"))?;
    let is_own = name == GLOBAL && Some(folder.as_path()) == home.parent();
    is_own.then(|| Target {
        root: folder,
        layout: Layout::Instructions,
        path: name.to_owned(),
    })
}

/// What is proposed for the files of a store, as items of its queue.
pub(super) fn proposed_items(history: &History, store: &Store) -> Vec<Item> {
    let parts = proposals(history, store)
        .into_iter()
        .flat_map(|one| one.parts);
    parts.map(|part| part.item).collect()
}

/// How many changes are proposed for the files of a store.
pub(super) fn proposal_count(history: &History, root: &Root, layout: Layout) -> usize {
    if !has_proposals(root, layout) && !history.drafts_of(root.path()).is_dir() {
        return 0;
    }
    let store = Store::open("", root.path(), Some(layout));
    store.map_or(0, |store| proposed_items(history, &store).len())
}

/// What is done with a proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Accept,
    Reject,
}

/// Plans accepting or rejecting the selected proposals of a store; `None` if nothing is to be done.
/// What does not fit waits: why is added to `left`.
pub(super) fn plan_proposals(
    history: &History,
    store: &Store,
    selection: &Selection,
    verdict: Verdict,
    moment: &Moment,
    left: &mut Vec<Error>,
) -> Result<Option<Change>> {
    left.clear();
    let mut planned = PlannedFiles::new(store, moment);
    let mut elsewhere: Vec<Edit> = Vec::new();
    let mut patches = Vec::new();
    let mut names = Vec::new();
    for proposal in proposals(history, store) {
        let mut rest = Vec::new();
        let before = names.len();
        for part in proposal.parts {
            let mut chosen = part.chosen(selection);
            if verdict == Verdict::Accept {
                let (made, why) = part.make(&chosen, &mut planned, &mut elsewhere);
                chosen = made;
                left.extend(why);
            }
            if chosen.contains(&true) {
                names.push(part.item.path.clone());
            }
            rest.extend(part.without(&chosen));
        }
        if names.len() > before {
            let is_draft = proposal.folder.is_some();
            let rest = (!rest.is_empty()).then(|| patch::print(&rest).into_bytes());
            let after = if is_draft { Some(Vec::new()) } else { rest };
            let root = proposal.folder;
            patches.push(Edit {
                root: root.unwrap_or_else(|| store.root().path().to_owned()),
                layout: store.layout(),
                path: proposal.file,
                before: Some(proposal.bytes),
                after,
                derived: false,
                emptied: Vec::new(),
                attributes: Attributes::default(),
            });
        }
    }
    if names.is_empty() {
        return Ok(None);
    }
    planned.finish()?;
    let (verb, word) = match verdict {
        Verdict::Accept => (ChangeVerb::Patch, "Accepted"),
        Verdict::Reject => (ChangeVerb::Restore, "Rejected"),
    };
    let message = format!("{word} what was proposed: {}", names.join(", "));
    let mut change = planned.into_change(verb, message);
    change.edits.extend(elsewhere);
    change.edits.extend(patches);
    change.edits.sort_by_key(|edit| edit.derived);
    Ok(Some(change))
}
