//! The findings about some stores, from the cache where nothing has changed.
//!
//! A cached result is used if everything that it depends on is the same: the names, sizes and
//! times of the memories and logs, the commit and the index of each project's git, the history of
//! deletions, the settings, the date, the files of the projects that the rules looked at, and the
//! sources of the rules. An edit in a project that brings a removed name back is seen once git knows of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize};

use super::collect::{Sources, collect};
use super::fix::Fix;
use super::git::{Cut, ProjectHistory, head_of, removed};
use super::logs::SessionLogs;
use super::probe::Stamp;
use super::untaught::put_drafts;
use super::{Collection, Evidence, Finding, Severity, check, rule};
use crate::core::Result;
use crate::core::disk::foreign::read_text;
use crate::core::disk::private;
use crate::core::log::LogFile;
use crate::core::memory::layout::{Layout, index};
use crate::core::memory::store::Store;

/// Which findings are asked for, and from which logs.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The ids of the rules; all that are not off if there are none.
    pub only: &'a [String],
    /// The logs that the rules may read.
    pub logs: &'a [LogFile],
    /// The time, in milliseconds since 1970.
    pub now: i64,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Curated {
    /// The findings, worst first; waivers are not applied.
    pub findings: Vec<Finding>,
    /// What could not be read or was not looked at, in sentences.
    pub notes: Vec<String>,
}

/// A finding as it is saved: its rule is known by the id.
#[derive(Deserialize)]
struct SavedFinding {
    id: String,
    rule: String,
    severity: Severity,
    store: usize,
    path: String,
    entry: Option<String>,
    line: Option<usize>,
    subject: String,
    message: String,
    evidence: Vec<Evidence>,
    fix: Option<Fix>,
}

impl<'de> Deserialize<'de> for Finding {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        let saved = SavedFinding::deserialize(from)?;
        let unknown = || serde::de::Error::custom(format!("no rule {}", saved.rule));
        let known = rule(&saved.rule).ok_or_else(unknown)?;
        Ok(Self {
            id: saved.id,
            rule: known.id,
            severity: saved.severity,
            store: saved.store,
            path: saved.path,
            entry: saved.entry,
            line: saved.line,
            subject: saved.subject,
            message: saved.message,
            evidence: saved.evidence,
            fix: saved.fix,
            waived: None,
        })
    }
}

/// A result and what it depends on.
#[derive(Serialize, Deserialize)]
struct Saved {
    state: String,
    probes: BTreeMap<PathBuf, Option<Stamp>>,
    result: Curated,
}

/// The largest saved result that is read.
const LARGEST: u64 = 64 << 20;

/// The most results that are kept.
const MOST_RESULTS: usize = 32;

/// A file that was changed less than this many milliseconds ago may change again without a
/// different size or time.
const UNSETTLED: i64 = 2000;

/// The findings about the stores. `read_logs` is called only if nothing is cached.
pub fn findings(
    stores: &[Store],
    sources: &Sources<'_>,
    request: &Request<'_>,
    read_logs: impl FnOnce() -> Result<Option<SessionLogs>>,
) -> Result<Curated> {
    let path = sources
        .cache
        .map(|dir| dir.join(file_name(stores, request)));
    let state = State::of(stores, sources, request);
    if let Some(saved) = path.as_deref().and_then(load)
        && saved.state == state.hash
        && saved
            .probes
            .iter()
            .all(|(path, stamp)| Stamp::of(path) == *stamp)
    {
        return Ok(saved.result);
    }
    let (collection, errors) = collect(stores, sources)?;
    let mut collection = collection.with_logs(read_logs()?);
    put_drafts(&mut collection, sources.history, request.only)?;
    let mut notes: Vec<String> = errors.iter().map(ToString::to_string).collect();
    notes.extend(limits(&collection));
    let roots: BTreeSet<&PathBuf> = collection
        .stores
        .iter()
        .filter_map(|store| store.project_root.as_ref())
        .collect();
    let findings = check(&collection, request.only);
    notes.extend(collection.left_out());
    // Rules ask git, too.
    let late: Vec<String> = roots
        .into_iter()
        .filter_map(|root| sources.git.lateness(root))
        .collect();
    let is_late = !late.is_empty();
    notes.extend(late);
    let result = Curated { findings, notes };
    let probes = collection.probes.all();
    let times = probes.values().flatten().map(|stamp| stamp.time());
    let newest = times.chain([state.newest]).max().unwrap_or_default();
    // The memories were listed before they were read; a change in between shows in a new listing.
    let is_settled = newest + UNSETTLED < request.now
        && !is_late
        && State::of(stores, sources, request).hash == state.hash;
    if let Some(path) = path.filter(|_| is_settled) {
        save(
            &path,
            &Saved {
                state: state.hash,
                probes,
                result: result.clone(),
            },
        );
    }
    Ok(result)
}

/// What was not looked at because of its size.
fn limits(collection: &Collection<'_>) -> Vec<String> {
    let mut projects: Vec<&ProjectHistory> = collection
        .stores
        .iter()
        .filter_map(|store| store.project.as_deref())
        .collect();
    projects.sort_unstable_by_key(|project| &project.root);
    projects.dedup_by_key(|project| &project.root);
    projects.into_iter().flat_map(limits_of).collect()
}

/// What of one project was not looked at.
fn limits_of(project: &ProjectHistory) -> Vec<String> {
    let root = project.root.display();
    let commits = project.commits().len();
    let mut told = Vec::new();
    match project.cut() {
        Some(Cut::Files) => told.push(format!(
            "{root}: git tracks too many files; what the project has no longer is not looked for"
        )),
        Some(Cut::Log) => told.push(format!(
            "{root}: the git log is too large; only its newest {commits} commits are looked at, the \
            last of them in part"
        )),
        // The program tells why.
        Some(Cut::Late) | None => {}
    }
    if commits > removed::NEWEST {
        told.push(format!(
            "{root}: symbols are looked for in the newest {} of {commits} commits",
            removed::NEWEST
        ));
    }
    told
}

/// The state of everything that findings depend on, apart from what rules look at later.
struct State {
    hash: String,
    /// When something of it was last changed, in milliseconds since 1970.
    newest: i64,
}

impl State {
    fn of(stores: &[Store], sources: &Sources<'_>, request: &Request<'_>) -> Self {
        let mut all = Hasher::default();
        all.text(env!("TOME_CORE"));
        all.text(&sources.today.to_string());
        all.text(&format!("{:?} {:?}", sources.settings, request.only));
        all.file(&sources.history.dir().join("journal.jsonl"));
        for (store, project) in stores.iter().zip(sources.projects_of(stores)) {
            all.text(&format!("{} {:?}", store.name(), store.layout()));
            all.text(&store.root().path().to_string_lossy());
            let mut files = store.files().unwrap_or_default();
            if store.layout() == Layout::Index {
                files.extend(store.root().find_file(index::INDEX));
            }
            for file in files {
                all.text(&file.path);
                all.number(file.size);
                all.time(file.modified);
            }
            let Some(project) = project else { continue };
            all.text(&project.to_string_lossy());
            let head = head_of(sources.git, &project);
            if let Some((commit, index)) = head {
                all.text(&commit);
                all.file(&index);
            }
        }
        for log in request.logs {
            all.text(&log.path.to_string_lossy());
            all.text(&log.id);
            all.number(log.size);
            all.time(log.modified.unwrap_or_default());
        }
        all.file(&sources.environment.claude.join("settings.json"));
        Self {
            hash: all.hash.finalize().to_hex().to_string(),
            newest: all.newest,
        }
    }
}

#[derive(Default)]
struct Hasher {
    hash: blake3::Hasher,
    newest: i64,
}

impl Hasher {
    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.hash.update(text.as_bytes());
    }

    fn number(&mut self, number: u64) {
        self.hash.update(&number.to_le_bytes());
    }

    fn time(&mut self, time: i64) {
        self.newest = self.newest.max(time);
        self.hash.update(&time.to_le_bytes());
    }

    fn file(&mut self, path: &Path) {
        let stamp = Stamp::of(path);
        self.text(&format!("{stamp:?}"));
        self.newest = self.newest.max(stamp.map_or(0, Stamp::time));
    }
}

/// The name of the file for these stores and rules.
fn file_name(stores: &[Store], request: &Request<'_>) -> String {
    let mut all = Hasher::default();
    for store in stores {
        all.text(&store.root().path().to_string_lossy());
        all.text(store.name());
    }
    request.only.iter().for_each(|id| all.text(id));
    format!("{}.json", &all.hash.finalize().to_hex()[..16])
}

/// A saved result; `None` if there is none that can be read.
fn load(path: &Path) -> Option<Saved> {
    let text = read_text(path, LARGEST).ok()??;
    serde_json::from_str(&text).ok()
}

/// Saves a result. One that cannot be written is made again the next time.
fn save(path: &Path, saved: &Saved) {
    let (Some(dir), Ok(text)) = (path.parent(), serde_json::to_string(saved)) else {
        return;
    };
    if private::create_dir(dir).is_err() {
        return;
    }
    let others = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut others: Vec<_> = others
        .filter(|file| file.path().extension().is_some_and(|end| end == "json"))
        .filter_map(|file| Some((file.metadata().ok()?.modified().ok()?, file.path())))
        .collect();
    others.sort_unstable();
    let surplus = others.len().saturating_sub(MOST_RESULTS);
    for (_, old) in &others[..surplus] {
        // Another process may have removed it.
        drop(std::fs::remove_file(old));
    }
    private::replace_cache(path, &text);
}
