//! Findings: what in the memories of some stores is stale, doubled, dead or dangerous, with the
//! evidence that proves it and, where one is certain, a fix.
//!
//! Each rule is a file with one function from a [`Collection`] to findings. [`RULES`] lists them.
//! Rules read only; [`fix::plan_fixes`] turns the fixes of findings into a change.

mod broken_link;
pub mod came_back;
mod claim;
pub mod collect;
mod conflict_copy;
mod count;
mod dead_name;
mod dead_path;
mod document;
mod doubled_name;
mod duplicate;
mod empty;
pub mod fix;
pub mod git;
mod hidden_text;
mod ignored;
mod index_bullet;
mod index_cut;
mod index_dangling;
mod index_orphan;
mod index_outdated;
pub mod logs;
mod orders;
mod passage;
mod probe;
pub mod run;
mod secret;
mod soft_limit;
mod superseded;
mod supersession;
mod swept_soon;
#[cfg(test)]
pub(crate) mod tests;
mod unreadable;
pub mod untaught;
pub mod waiver;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::{ControlFlow, Range};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde::{Deserialize, Serialize};

use crate::core::Result;
use crate::core::change::history::{DeletedMemory, History};
use crate::core::disk::parallel::on_all_cores;
use crate::core::disk::revision::Revision;
use crate::core::memory::citation::{Citation, CitedPart};
use crate::core::memory::config::CurateSettings;
use crate::core::memory::layout::{Layout, index};
use crate::core::memory::store::Store;
use crate::core::memory::{FileKind, Memory, stem};
use crate::core::text::clip;
use crate::core::text::secret::KnownSecrets;
pub use document::Document;
use fix::Fix;
use git::ProjectHistory;
use logs::SessionLogs;
use passage::Pieces;
use probe::Probes;
use waiver::Waiver;

/// How much a finding matters. The names are those of SARIF levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Should be corrected.
    Warning,
    /// Harms every session until it is corrected.
    Error,
}

impl Severity {
    /// Returns the name used in output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// One piece of what proves a finding.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Evidence {
    /// The words: a line of a memory, a commit's subject, or an explanation.
    pub text: String,
    /// The file, in a store or in the project.
    pub path: Option<String>,
    /// The line, from 1.
    pub line: Option<usize>,
    /// The commit, abbreviated, with its date.
    pub commit: Option<String>,
    /// The citation that opens it.
    pub citation: Option<String>,
    /// The parts of the words for which the rule spoke.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<String>,
}

impl Evidence {
    /// Evidence that is only words.
    fn words(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// A line of a memory, from 1.
    fn line(store: &CuratedStore<'_>, document: &Document, line: usize) -> Self {
        let citation = Citation {
            store: Some(store.store.name().to_owned()),
            path: document.memory.path.clone(),
            part: CitedPart::Lines(line..=line),
            mark: None,
        };
        Self {
            text: cut(document.line_text(line).trim()),
            path: Some(document.memory.path.clone()),
            line: Some(line),
            commit: None,
            citation: Some(citation.to_string()),
            marks: Vec::new(),
        }
    }

    /// The line of a memory that has some words, with the words marked.
    fn words_of(store: &CuratedStore<'_>, document: &Document, words: &Range<usize>) -> Self {
        let marked = document.text[words.clone()].lines().next().map(str::trim);
        Self {
            marks: marked.map(str::to_owned).into_iter().collect(),
            ..Self::line(store, document, document.line_at(words.start))
        }
    }

    /// A path of the project and the commit in which it went.
    fn commit(path: &str, commit: &git::Commit) -> Self {
        Self {
            text: commit.subject.clone(),
            path: Some(path.to_owned()),
            line: None,
            commit: Some(commit.to_string()),
            ..Self::default()
        }
    }
}

/// A line as evidence shows it.
fn cut(line: &str) -> String {
    let short = clip(line, LONGEST_EVIDENCE);
    let end = if short.len() < line.len() { "…" } else { "" };
    format!("{short}{end}")
}

/// The most bytes of a line that are shown: a memory can be one line of megabytes.
const LONGEST_EVIDENCE: usize = 4000;

/// Something to curate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Identifies the finding as long as rule, memory and subject are the same.
    pub id: String,
    /// The id of the rule.
    pub rule: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// The number of the store in the collection.
    pub store: usize,
    /// The memory's reference.
    pub path: String,
    /// The fragment of the entry that the line is in, in a file of several.
    pub entry: Option<String>,
    /// The line that it is about, from 1.
    pub line: Option<usize>,
    /// The token, path or other memory that it is about.
    pub subject: String,
    /// What is wrong, in a sentence.
    pub message: String,
    /// What proves it.
    pub evidence: Vec<Evidence>,
    /// A change that corrects it.
    pub fix: Option<Fix>,
    /// Why a person has waived it, if so.
    #[serde(skip)]
    pub waived: Option<Waiver>,
}

impl Finding {
    /// The old name and the new one, if it says that something was renamed.
    pub fn renaming(&self) -> Option<(&str, &str)> {
        let is_its = self.rule == superseded::RULE.id;
        superseded::told_names(&self.message).filter(|_| is_its)
    }

    /// The words of its memory for which the rule spoke.
    pub fn marks(&self) -> impl Iterator<Item = &str> {
        let own = self.evidence.iter();
        let own = own.filter(|piece| piece.path.as_ref() == Some(&self.path));
        let marks = own.flat_map(|piece| piece.marks.iter().map(String::as_str));
        marks.chain([self.subject.as_str()])
    }

    /// A hash of the evidence: a waiver holds only as long as it is the same.
    pub fn evidence_hash(&self) -> String {
        let mut all = String::new();
        for piece in &self.evidence {
            // Line numbers shift with edits elsewhere in the file.
            all.push_str(&piece.text);
            all.push('\0');
            all.push_str(piece.commit.as_deref().unwrap_or_default());
            all.push('\0');
        }
        Revision::of(all.as_bytes()).to_string()[..16].to_owned()
    }
}

/// A store whose memories are checked.
#[derive(Debug)]
pub struct CuratedStore<'a> {
    /// The store.
    pub store: &'a Store,
    /// Its memories, and last its index if that is a file with text of its own.
    pub documents: Vec<Document>,
    /// The git history of the project that the memories are about.
    pub project: Option<Arc<ProjectHistory>>,
    /// The directory of that project, with or without git.
    pub project_root: Option<PathBuf>,
    /// Whether its agent makes the index of all its memories again, after it wrote some.
    pub is_index_remade: bool,
    /// The numbers of the documents, by the paths of their memories.
    numbers: HashMap<String, usize>,
}

impl<'a> CuratedStore<'a> {
    /// Reads every memory of a store.
    pub fn read(store: &'a Store) -> Result<Self> {
        let make = |memory: Memory, text: String| Document::new(memory, text);
        let mut documents = store.read_all(|_| None, make)?;
        // The same things stand there again, and what is written there does not last.
        documents.retain(|document| document.memory.kind != FileKind::Source);
        if store.layout() == Layout::Index
            && let Ok(Some(text)) = store.text(index::INDEX)
        {
            let mut memory = store.rules().read(index::INDEX, &text);
            memory.modified = store
                .root()
                .find_file(index::INDEX)
                .map_or(0, |f| f.modified);
            documents.push(Document::new(memory, text));
        }
        let paths = documents
            .iter()
            .map(|document| document.memory.path.clone());
        Ok(Self {
            numbers: paths.zip(0..).collect(),
            documents,
            ..Self::empty(store)
        })
    }

    /// A store of which nothing could be read.
    fn empty(store: &'a Store) -> Self {
        Self {
            store,
            documents: Vec::new(),
            project: None,
            project_root: None,
            is_index_remade: false,
            numbers: HashMap::new(),
        }
    }

    /// The document of the memory with this path.
    fn document(&self, path: &str) -> Option<&Document> {
        self.documents.get(*self.numbers.get(path)?)
    }

    /// The first memory of each path, title and name of a file without its extension.
    fn by_name(&self) -> HashMap<&str, &Document> {
        let mut by_name = HashMap::new();
        for document in self.memories() {
            let memory = &document.memory;
            for name in [&*memory.path, &memory.title, stem(&memory.path)] {
                by_name.entry(name).or_insert(document);
            }
        }
        by_name
    }

    /// The memories, without the index.
    pub fn memories(&self) -> impl Iterator<Item = &Document> {
        self.documents
            .iter()
            .filter(|document| !document.is_index())
    }

    /// The index of an index store.
    pub fn index(&self) -> Option<&Document> {
        self.documents.iter().find(|document| document.is_index())
    }
}

/// What the rules read.
#[derive(Debug)]
pub struct Collection<'a> {
    /// The stores.
    pub stores: Vec<CuratedStore<'a>>,
    /// The memories that were deleted earlier.
    pub deleted: Vec<DeletedMemory>,
    /// The date in the user's time zone.
    pub today: jiff::civil::Date,
    /// The limits.
    pub settings: CurateSettings,
    /// The earlier changes, if they are known.
    history: Option<History>,
    /// What the logs of sessions say; `None` where they are not read.
    pub logs: Option<SessionLogs>,
    /// The files of the projects that the rules looked at.
    probes: Probes,
    /// How many findings of a rule were left out.
    left_out: Mutex<BTreeMap<&'static str, usize>>,
    /// What the memories share, computed for the first rule that asks.
    pieces: OnceLock<Pieces>,
}

impl<'a> Collection<'a> {
    /// The memories of some stores, to be checked at a date.
    pub fn new(
        stores: Vec<CuratedStore<'a>>,
        deleted: Vec<DeletedMemory>,
        today: jiff::civil::Date,
        settings: CurateSettings,
    ) -> Self {
        Self {
            stores,
            deleted,
            today,
            settings,
            history: None,
            logs: None,
            probes: Probes::default(),
            left_out: Mutex::default(),
            pieces: OnceLock::new(),
        }
    }

    /// Adds what the logs of sessions say.
    pub fn with_logs(mut self, logs: Option<SessionLogs>) -> Self {
        self.logs = logs;
        self
    }

    /// Adds what the memories share.
    fn with_pieces(self, pieces: Option<Pieces>) -> Self {
        let pieces = pieces.map_or_else(OnceLock::new, OnceLock::from);
        Self { pieces, ..self }
    }

    /// What the rules found and left out, in sentences.
    pub fn left_out(&self) -> Vec<String> {
        let left_out = self.left_out.lock().unwrap_or_else(PoisonError::into_inner);
        let tell = |(rule, count): (&&str, &usize)| {
            format!("{rule}: {count} more findings are left out; correct some of these first")
        };
        left_out.iter().map(tell).collect()
    }

    fn pieces(&self) -> &Pieces {
        self.pieces.get_or_init(|| Pieces::of(&self.stores))
    }
}

/// A rule.
pub struct Rule {
    /// The id, as used with `--rule` and in the settings.
    pub id: &'static str,
    /// How much its findings matter.
    pub severity: Severity,
    /// What it finds, in a few words.
    pub about: &'static str,
    check: fn(&Collection<'_>, &mut Report<'_>),
}

/// Every rule, in the order in which findings of the same severity are listed.
pub static RULES: &[Rule] = &[
    secret::RULE,
    orders::RULE,
    hidden_text::RULE,
    index_cut::RULE,
    unreadable::RULE,
    dead_path::RULE,
    superseded::RULE,
    duplicate::RULE,
    came_back::RULE,
    ignored::RULE,
    untaught::RULE,
    swept_soon::RULE,
    conflict_copy::RULE,
    index_dangling::RULE,
    index_orphan::RULE,
    index_bullet::RULE,
    index_outdated::RULE,
    broken_link::RULE,
    doubled_name::RULE,
    empty::RULE,
    soft_limit::RULE,
];

/// Returns the rule with this id.
pub fn rule(id: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.id == id)
}

/// Whether a rule runs: one of those asked for, or any that is not off.
fn is_chosen(rule: &str, settings: &CurateSettings, only: &[String]) -> bool {
    match only {
        [] => !settings.off.iter().any(|id| id == rule),
        ids => ids.iter().any(|id| id == rule),
    }
}

/// The rules that read the logs of sessions.
const OF_LOGS: [&str; 3] = [ignored::RULE.id, untaught::RULE.id, swept_soon::RULE.id];

/// Whether a rule runs that reads the logs of sessions.
pub fn reads_logs(settings: &CurateSettings, only: &[String]) -> bool {
    OF_LOGS.iter().any(|id| is_chosen(id, settings, only))
}

/// Collects the findings of one rule.
struct Report<'r> {
    rule: &'r Rule,
    stores: &'r [CuratedStore<'r>],
    /// The secrets in the memories, once a finding was made.
    secrets: &'r OnceLock<KnownSecrets>,
    findings: Vec<Finding>,
    ids: HashSet<String>,
}

/// The most findings of one rule.
const MOST_FINDINGS: usize = 10_000;

/// What a rule says about one memory; the rest of a finding follows from it.
struct Found {
    line: Option<usize>,
    subject: String,
    message: String,
    evidence: Vec<Evidence>,
    fix: Option<Fix>,
}

impl Report<'_> {
    /// Adds a finding about a memory of the store with this number. The same subject is reported
    /// once for a memory.
    fn add(&mut self, store: usize, path: &str, found: Found) {
        self.add_as(self.rule.severity, store, path, found);
    }

    /// Adds a finding that matters more or less than the others of its rule.
    fn add_as(&mut self, severity: Severity, store: usize, path: &str, mut found: Found) {
        // Nothing is written under such a name.
        if path.contains(char::is_control) && found.fix.take().is_some() {
            let why = "the name has a control character in it; once the file is renamed, --fix mends this";
            found.evidence.push(Evidence::words(why));
        }
        let curated = &self.stores[store];
        let key = format!(
            "{}\0{}\0{path}\0{}",
            self.rule.id,
            curated.store.root().path().display(),
            found.subject
        );
        let id = Revision::of(key.as_bytes()).to_string()[..10].to_owned();
        if !self.ids.insert(id.clone()) || self.ids.len() > MOST_FINDINGS {
            return;
        }
        let document = curated.document(path);
        let texts = self.stores.iter().flat_map(|store| &store.documents);
        let secrets = self
            .secrets
            .get_or_init(|| KnownSecrets::of(texts.map(|document| document.text.as_str())));
        // Findings are uploaded, logged and shared: no rule shows a secret.
        let mask = |text: &str| secrets.mask(text);
        // What is said of a secret has no words of the text, and a secret may be a word.
        let is_said_of_secret = self.rule.id == secret::RULE.id;
        let words = |text: &str| match is_said_of_secret {
            true => text.to_owned(),
            false => mask(text),
        };
        let entry = document
            .zip(found.line)
            .and_then(|(document, line)| document.entry_at(line))
            .filter(|entry| mask(&entry.title) == entry.title)
            .map(|entry| entry.slug.clone());
        let evidence = found.evidence.into_iter().map(|piece| Evidence {
            text: mask(&piece.text),
            path: piece.path.as_deref().map(mask),
            marks: piece.marks.iter().map(|mark| mask(mark)).collect(),
            ..piece
        });
        self.findings.push(Finding {
            id,
            rule: self.rule.id,
            severity,
            store,
            path: path.to_owned(),
            entry,
            line: found.line,
            subject: words(&found.subject),
            message: words(&found.message),
            evidence: evidence.collect(),
            fix: found.fix,
            waived: None,
        });
    }
}

/// Runs the rules with these ids, or all that are not off, and returns what they find, worst first.
pub fn check(collection: &Collection<'_>, only: &[String]) -> Vec<Finding> {
    let mut findings = Vec::new();
    check_each(collection, only, |found| {
        findings.extend(found);
        ControlFlow::Continue(())
    });
    // Stable: within a severity the order of the rules stays.
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    findings
}

/// What some rules find in one store, without a project, a history and logs.
pub fn check_store(store: &Store, only: &[&str], today: jiff::civil::Date) -> Result<Vec<Finding>> {
    let stores = vec![CuratedStore::read(store)?];
    let only: Vec<String> = only.iter().map(|id| (*id).to_owned()).collect();
    let collection = Collection::new(stores, Vec::new(), today, CurateSettings::default());
    Ok(check(&collection, &only))
}

/// Why the rules `secret` and `orders` would keep a text from leaving or entering a machine; `None`
/// if they find nothing in it.
pub fn held_text(text: &str) -> Option<&'static str> {
    if secret::has_secret(text) {
        return Some("it holds a secret");
    }
    orders::first_order(text)
}

/// Runs the same rules on all cores and passes what each finds to `each`, in the order of the rules,
/// until that breaks.
pub fn check_each(
    collection: &Collection<'_>,
    only: &[String],
    each: impl FnMut(Vec<Finding>) -> ControlFlow<()> + Send,
) {
    let rules: Vec<&Rule> = chosen(collection, only).collect();
    let secrets = OnceLock::new();
    let passed = Mutex::new(Passed {
        each,
        texts: TextRevisions::default(),
        waiting: BTreeMap::new(),
        next: 0,
        has_ended: false,
    });
    let lock = || passed.lock().unwrap_or_else(PoisonError::into_inner);
    on_all_cores(rules.len(), |number| {
        if lock().has_ended {
            return;
        }
        let mut report = Report {
            rule: rules[number],
            stores: &collection.stores,
            secrets: &secrets,
            findings: Vec::new(),
            ids: HashSet::new(),
        };
        (rules[number].check)(collection, &mut report);
        if let Some(more @ 1..) = report.ids.len().checked_sub(MOST_FINDINGS) {
            let left_out = collection.left_out.lock();
            let mut left_out = left_out.unwrap_or_else(PoisonError::into_inner);
            left_out.insert(rules[number].id, more);
        }
        lock().take(number, report.findings, collection);
    });
}

/// The findings of rules on their way to a caller.
struct Passed<'a, F> {
    each: F,
    texts: TextRevisions<'a>,
    /// What rules found that ended before one in front of them.
    waiting: BTreeMap<usize, Vec<Finding>>,
    /// The number of the rule whose findings come next.
    next: usize,
    has_ended: bool,
}

impl<'a, F: FnMut(Vec<Finding>) -> ControlFlow<()>> Passed<'a, F> {
    fn take(&mut self, rule: usize, findings: Vec<Finding>, collection: &'a Collection<'_>) {
        self.waiting.insert(rule, findings);
        while let Some(mut findings) = self.waiting.remove(&self.next)
            && !self.has_ended
        {
            for finding in &mut findings {
                self.texts.note(collection, finding);
            }
            self.has_ended = (self.each)(findings).is_break();
            self.next += 1;
        }
    }
}

/// The rules with these ids, or all that are not off.
pub fn chosen<'a>(
    collection: &'a Collection<'_>,
    only: &'a [String],
) -> impl Iterator<Item = &'static Rule> + 'a {
    let settings = &collection.settings;
    RULES
        .iter()
        .filter(|rule| is_chosen(rule.id, settings, only))
}

/// The revisions of the texts that fixes are about, each computed once.
#[derive(Default)]
struct TextRevisions<'a>(HashMap<(usize, &'a str), Revision>);

impl<'a> TextRevisions<'a> {
    /// Notes in the fix of a finding which text it was made for.
    fn note(&mut self, collection: &'a Collection<'_>, finding: &mut Finding) {
        let Some(fix) = &mut finding.fix else {
            return;
        };
        let store = finding.store;
        let mut revision_of = |path: &str| {
            let document = collection.stores[store].document(path)?;
            let revision = self.0.entry((store, &document.memory.path));
            let revision = revision.or_insert_with(|| Revision::of(document.text.as_bytes()));
            (!document.is_replaced()).then_some(*revision)
        };
        if !fix.note_revision(&mut revision_of) {
            finding.fix = None;
        }
    }
}
