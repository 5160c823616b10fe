//! The ledger: what each memory is worth. For every memory and entry, the sessions that had it in
//! their context, that read it with a tool, that cited it, to which tome's hook showed it, and the
//! messages in which the person says again what it says.
//!
//! A session has a memory in its context if its agent loads it in the session's directory by the
//! rules of [`crate::core::insight::context`], and the memory existed when the session began (see
//! [`since`]). A memory of an index is there by its line in the index. What the logs say is kept for
//! each log (see [`facts`]) and read again only from logs that have changed. Nothing is written but
//! that cache.

mod facts;
mod similarity;
mod since;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::core::Result;
use crate::core::change::history::History;
use crate::core::disk::parallel::on_all_cores;
use crate::core::disk::private;
use crate::core::disk::trust::real_path;
use crate::core::insight::context::{Piece, PieceKind};
use crate::core::insight::correction::LEAST;
use crate::core::insight::curate::git::Git;
use crate::core::insight::promote::{Proposal, propose, quotes};
use crate::core::insight::review::KnownFiles;
use crate::core::insight::sessions::listings;
use crate::core::insight::timeline::{cited_line, record_name, stamp};
use crate::core::log::Agent;
use crate::core::log::touch::FileUse;
use crate::core::memory::FileKind;
use crate::core::memory::Memory;
use crate::core::memory::citation::Citation;
use crate::core::memory::layout::Layout;
use crate::core::memory::layout::index::INDEX;
use crate::core::memory::library::Unlisted;
use crate::core::memory::store::{Store, StoreId};
use crate::core::memory::texts::{MemoryText, MemoryTexts};
use crate::core::search::index::{Corpus, Log, Part};
use facts::{LogFacts, Said};
use similarity::{SharedWords, WordSet, WordSetIndex, WordWeights};
pub use since::date_by_git;

/// The fewest words that a correction shares with a memory that says the same, what they weigh at
/// least, and their least part of the shorter text.
const SHARED_WORDS: usize = 2;
const SHARED_WEIGHT: f32 = 1.1;
const SHARED_PART: f32 = 0.5;

/// The fewest words that two messages share which say the same, their least part, and the longest
/// of the messages, in bytes.
const REPEATED_WORDS: usize = 3;
const REPEATED_PART: f32 = 0.5;
const LONGEST_TAUGHT: usize = 300;

/// What an agent loads that starts in a directory; the caller knows what tome's hooks add.
pub trait Contexts: Sync {
    /// Returns the pieces; none if the agent's rules are not known.
    fn pieces(&self, agent: Agent, cwd: &Path) -> Vec<Piece>;
}

/// Where a ledger comes from.
#[derive(Clone, Copy)]
pub struct Sources<'a> {
    /// The logs of all projects.
    pub corpus: &'a Corpus,
    /// The ledger's own directory; see [`directory`].
    pub cache: &'a Path,
    /// The stores whose memories are judged.
    pub stores: &'a [Store],
    /// What agents load.
    pub contexts: &'a dyn Contexts,
    /// The history of changes.
    pub history: &'a History,
    /// The program that reads git histories.
    pub git: &'a Git,
}

/// What is known about the use of memories.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ledger {
    /// The memories, each followed by its entries.
    pub accounts: Vec<Account>,
    /// What the persons corrected, in the order of the logs.
    pub corrections: Vec<Correction>,
    /// What they said about the way of working in several sessions, and no memory says.
    pub untaught: Vec<Untaught>,
    /// The first account of each memory, by store and path.
    places: HashMap<StoreId, HashMap<String, usize>>,
    /// When the indexes of stores were last changed as git has them, as [`Account::committed`].
    indexes: HashMap<StoreId, i64>,
}

/// What a person said in several sessions of a project and no memory says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Untaught {
    /// The messages, one of each session, oldest first.
    pub said: Vec<Correction>,
    /// The directory in which the sessions ran.
    pub cwd: PathBuf,
    /// The memory that would say it.
    pub proposal: Proposal,
}

/// What is known about the use of a memory or an entry. Each list has citations that open the
/// messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Account {
    /// The store.
    #[serde(skip)]
    pub id: StoreId,
    /// The file.
    #[serde(skip)]
    pub file: PathBuf,
    /// The store's name.
    pub store: String,
    /// The memory's reference.
    pub path: String,
    /// The fragment of the entry.
    pub entry: Option<String>,
    /// The sessions that had it in their context.
    pub context: Vec<String>,
    /// The first calls of sessions that read it.
    pub read: Vec<String>,
    /// The first messages of sessions that cited it, or were told of it by tome.
    pub cited: Vec<String>,
    /// The messages that say again what it says.
    pub corrected: Vec<String>,
    /// When it was last read or cited, in milliseconds since 1970.
    pub last_use: Option<i64>,
    /// When the file was last changed as git has it, in milliseconds since 1970; `None` if git does
    /// not have it as it is.
    #[serde(skip)]
    pub committed: Option<i64>,
}

/// The person's words that correct the agent, or say how it is to work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Correction {
    /// The message.
    pub citation: String,
    /// When it was said, in milliseconds since 1970.
    pub time: Option<i64>,
    /// The words.
    pub text: String,
    /// The confidence that it is a correction, in percent.
    pub confidence: u8,
    /// The memory that says the same and was in the session's context: `STORE:PATH`.
    pub memory: Option<String>,
}

/// Returns the ledger's directory, which is beside that of the corpus.
pub fn directory(corpus_cache: &Path) -> PathBuf {
    corpus_cache.with_file_name("ledger")
}

impl Ledger {
    /// Returns the ledger of some stores.
    pub fn read(sources: &Sources<'_>) -> Result<Self> {
        let texts = MemoryTexts::read(sources.stores)?;
        Ok(Builder::new(sources, &texts).build())
    }

    /// A ledger of accounts in the order of [`Self::accounts`].
    pub fn new(
        accounts: Vec<Account>,
        corrections: Vec<Correction>,
        untaught: Vec<Untaught>,
    ) -> Self {
        let mut places: HashMap<StoreId, HashMap<String, usize>> = HashMap::new();
        for (at, account) in accounts.iter().enumerate() {
            let of_store = places.entry(account.id.clone()).or_default();
            of_store.entry(account.path.clone()).or_insert(at);
        }
        Self {
            accounts,
            corrections,
            untaught,
            places,
            indexes: HashMap::new(),
        }
    }

    /// Returns the account of a memory, or of one of its entries.
    pub fn account(&self, store: &StoreId, path: &str, entry: Option<&str>) -> Option<&Account> {
        let first = *self.places.get(store)?.get(path)?;
        let of_memory = self.accounts[first..]
            .iter()
            .take_while(|account| account.path == path);
        let mut of_memory = of_memory.filter(|account| account.entry.as_deref() == entry);
        of_memory.next()
    }

    /// When a memory was last changed, in milliseconds since 1970: as its header says, or as git
    /// says, which both survive copies and clones, or else as the file system says; 0 when unknown.
    pub fn last_change(&self, store: &StoreId, memory: &Memory) -> i64 {
        let committed = || match memory.kind {
            FileKind::Index => self.indexes.get(store).copied(),
            _ => self.account(store, &memory.path, None)?.committed,
        };
        let known = memory.stated_time().or_else(committed);
        known.unwrap_or(memory.modified)
    }

    /// Returns the account of the memory in a file.
    pub fn of_file(&self, file: &Path) -> Option<&Account> {
        let mut accounts = self.accounts.iter();
        accounts.find(|account| account.entry.is_none() && account.file == file)
    }
}

impl Account {
    /// Returns the account of a memory, or of one of its entries, of which nothing is known.
    pub fn new(store: &Store, path: &str, entry: Option<String>) -> Self {
        Self {
            id: store.id().clone(),
            file: store.root().absolute(&store.rules().file_of(path)),
            store: store.name().to_owned(),
            path: path.to_owned(),
            entry,
            context: Vec::new(),
            read: Vec::new(),
            cited: Vec::new(),
            corrected: Vec::new(),
            last_use: None,
            committed: None,
        }
    }

    /// The numbers in a few words, such as `in context 14 · read 3 · corrected 1`; nothing if nothing
    /// is known.
    pub fn summary(&self) -> String {
        let counts = [
            ("in context", self.context.len()),
            ("read", self.read.len()),
            ("cited", self.cited.len()),
            ("corrected", self.corrected.len()),
        ];
        let told = counts.iter().enumerate();
        // The first two are told also if they are 0: that is what a person prunes by.
        let told = told.filter(|(at, (_, count))| *at < 2 || *count > 0);
        let told = told.map(|(_, (name, count))| format!("{name} {count}"));
        told.collect::<Vec<_>>().join(" · ")
    }

    /// How many sessions read or cited it.
    pub fn uses(&self) -> usize {
        self.read.len() + self.cited.len()
    }

    /// The memory or entry: `STORE:PATH#ENTRY`.
    pub fn name(&self) -> String {
        let entry = self.entry.as_ref().map(|entry| format!("#{entry}"));
        format!("{}:{}{}", self.store, self.path, entry.unwrap_or_default())
    }
}

/// A log and what it says.
struct Session<'a> {
    log: Log<'a>,
    facts: LogFacts,
    unlisted: Option<Unlisted>,
}

impl Session<'_> {
    fn cite(&self, line: u64) -> String {
        let agent = self.log.agent().map_or("", Agent::name);
        format!("{agent}:{}#L{line}", self.log.cited_id())
    }
}

/// A memory or an entry whose account is made.
struct Unit<'a> {
    account: Account,
    text: &'a MemoryText,
    /// The store's number.
    store: usize,
    /// The number of its file.
    file: usize,
    span: Range<usize>,
    since: i64,
}

struct Builder<'a> {
    sources: &'a Sources<'a>,
    units: Vec<Unit<'a>>,
    files: Vec<PathBuf>,
    sessions: Vec<Session<'a>>,
}

impl<'a> Builder<'a> {
    fn new(sources: &'a Sources<'a>, texts: &'a MemoryTexts) -> Self {
        let mut building = Self {
            sources,
            units: Vec::new(),
            files: Vec::new(),
            sessions: sessions(sources),
        };
        for text in &texts.texts {
            building.add(text);
        }
        building
    }

    /// Adds a memory and its entries.
    fn add(&mut self, text: &'a MemoryText) {
        let memory = &text.memory;
        let is_judged = matches!(
            memory.kind,
            FileKind::Memory | FileKind::Source | FileKind::Overview | FileKind::Instructions
        );
        let mut stores = self.sources.stores.iter().enumerate();
        let Some((number, store)) = stores.find(|(_, store)| store.name() == text.store) else {
            return;
        };
        if !is_judged {
            return;
        }
        let file = store.rules().file_of(&memory.path);
        self.files.push(store.root().absolute(&file));
        let whole = [(None, 0..text.text.len())];
        let entries = memory.entries.iter();
        let entries = entries.map(|entry| (Some(entry.slug.clone()), entry.span.clone()));
        for (entry, span) in whole.into_iter().chain(entries) {
            self.units.push(Unit {
                account: Account::new(store, &memory.path, entry),
                text,
                store: number,
                file: self.files.len() - 1,
                span,
                since: since::written(memory),
            });
        }
    }

    fn build(mut self) -> Ledger {
        let indexes = self.find_since();
        let in_context = self.count_contexts();
        let had = self.count_reads(in_context);
        let lines = Lines::of(&self.units, self.sources.corpus);
        let corrections = self.count_corrections(&had, &lines);
        let untaught = self.untaught(&lines);
        let accounts = self.units.into_iter().map(|unit| unit.account).collect();
        Ledger {
            indexes,
            ..Ledger::new(accounts, corrections, untaught)
        }
    }

    /// Sets since when each memory exists; returns when git changed the indexes of the stores.
    fn find_since(&mut self) -> HashMap<StoreId, i64> {
        let recorded = since::recorded(self.sources.history);
        let stores = self.sources.stores.iter();
        let stores = stores.filter(|store| store.layout() == Layout::Index);
        let indexes: Vec<(&Store, PathBuf)> = stores
            .map(|store| (store, store.root().absolute(INDEX)))
            .collect();
        let mut files = self.files.clone();
        files.extend(indexes.iter().map(|(_, file)| file.clone()));
        let committed = since::committed(self.sources.git, &files, self.sources.cache);
        let mut first: HashMap<usize, i64> = HashMap::new();
        let mut note = |file: usize, time: i64| {
            let known = first.entry(file).or_insert(time);
            *known = time.min(*known);
        };
        for (number, file) in self.files.iter().enumerate() {
            let added = committed.get(file).map(|times| times.added);
            let times = [recorded.get(file).copied(), added];
            times
                .into_iter()
                .flatten()
                .for_each(|time| note(number, time));
        }
        let mut known = KnownFiles::of(&self.files);
        for session in &self.sessions {
            let touches = session.facts.touches.iter();
            for touch in touches.filter(|touch| touch.file.usage != FileUse::Delete) {
                let Some(time) = touch.time else { continue };
                let meant = known.meant(&touch.file, &session.log);
                meant.into_iter().for_each(|file| note(file, time));
            }
        }
        for unit in &mut self.units {
            let time = first.get(&unit.file).copied();
            unit.since = time.map_or(unit.since, |time| time.min(unit.since));
            let committed = committed.get(&self.files[unit.file]);
            unit.account.committed = committed.and_then(|times| times.changed);
        }
        let changed = |(store, file): (&Store, PathBuf)| {
            Some((store.id().clone(), committed.get(&file)?.changed?))
        };
        indexes.into_iter().filter_map(changed).collect()
    }

    /// Counts the sessions that had each unit in context; returns the units of each session.
    fn count_contexts(&mut self) -> Vec<Vec<Held>> {
        let mut places: Vec<(Agent, &str)> = Vec::new();
        let place = |session: &Session<'a>| Some((session.log.agent()?, session.log.cwd()?));
        for session in self.sessions.iter().filter(|one| one.unlisted.is_none()) {
            places.extend(place(session));
        }
        places.sort_unstable();
        places.dedup();
        let loaded = on_all_cores(places.len(), |at| {
            let (agent, cwd) = places[at];
            let pieces = self.sources.contexts.pieces(agent, Path::new(cwd));
            self.units_in(&pieces)
        });
        let mut found = vec![Vec::new(); self.sessions.len()];
        for (number, session) in self.sessions.iter().enumerate() {
            let at = place(session).and_then(|place| places.binary_search(&place).ok());
            let (Some(at), Some((start, _)), None) = (at, session.log.span(), session.unlisted)
            else {
                continue;
            };
            for unit in &loaded[at] {
                let held = &mut self.units[*unit];
                if held.since <= start {
                    let citation = session.cite(session.facts.first.unwrap_or(1));
                    held.account.context.push(citation);
                    let (unit, from) = (*unit, 0);
                    found[number].push(Held { unit, from });
                }
            }
        }
        found
    }

    /// Returns the units that pieces have: their files and entries, and the memories that an index
    /// has a line about.
    fn units_in(&self, pieces: &[Piece]) -> Vec<usize> {
        let sent = pieces.iter().filter(|piece| !piece.text.is_empty());
        let sent: Vec<(PathBuf, &Piece)> =
            sent.map(|piece| (real_path(&piece.path), piece)).collect();
        let has = |unit: &Unit<'_>| {
            let store = &self.sources.stores[unit.store];
            let file = &self.files[unit.file];
            let index = store.root().path().join(INDEX);
            let line = format!("({})", unit.account.path);
            let of_store = format!("(store {})", store.name());
            sent.iter().any(|(path, piece)| {
                let is_listed = unit.account.entry.is_none() && piece.text.contains(&line);
                if piece.kind == PieceKind::Hook {
                    return is_listed && piece.text.contains(&of_store);
                }
                let is_indexed = store.layout() == Layout::Index && is_listed && *path == index;
                is_indexed || path == file && unit.is_sent(&piece.text)
            })
        };
        let units = self.units.iter().enumerate();
        units
            .filter(|(_, unit)| has(unit))
            .map(|(at, _)| at)
            .collect()
    }

    /// Counts reads and citations; returns the units that each session had in any way.
    fn count_reads(&mut self, mut found: Vec<Vec<Held>>) -> Vec<Vec<Held>> {
        let mut of_file: Vec<Vec<usize>> = vec![Vec::new(); self.files.len()];
        for (at, unit) in self.units.iter().enumerate() {
            of_file[unit.file].push(at);
        }
        let mut known = KnownFiles::of(&self.files);
        for (session, found) in self.sessions.iter().zip(&mut found) {
            // What a copy has, its original has, too.
            if session.unlisted == Some(Unlisted::Copy) {
                continue;
            }
            let mut read: HashSet<usize> = HashSet::new();
            let mut cited: HashSet<usize> = HashSet::new();
            for touch in &session.facts.touches {
                if touch.file.usage != FileUse::Read {
                    continue;
                }
                let files = known.meant(&touch.file, &session.log);
                for unit in files.into_iter().flat_map(|file| &of_file[file]) {
                    let is_meant = touch.cited.is_none_or(|lines| self.units[*unit].has(lines));
                    let account = &mut self.units[*unit].account;
                    if !is_meant {
                        continue;
                    }
                    account.last_use = account.last_use.max(touch.time);
                    if touch.is_citation && cited.insert(*unit) {
                        account.cited.push(session.cite(touch.line));
                    } else if !touch.is_citation && read.insert(*unit) {
                        account.read.push(session.cite(touch.line));
                        let (unit, from) = (*unit, touch.line);
                        found.push(Held { unit, from });
                    }
                }
            }
            for named in &session.facts.named {
                let Ok(citation) = named.citation.parse::<Citation>();
                for (at, unit) in self.units.iter_mut().enumerate() {
                    let account = &mut unit.account;
                    let is_store = |name: &String| *name == account.store;
                    if account.path == citation.path
                        && account.entry.is_none()
                        && citation.store.as_ref().is_none_or(is_store)
                        && cited.insert(at)
                    {
                        account.last_use = account.last_use.max(session.log.modified());
                        account.cited.push(session.cite(named.line));
                    }
                }
            }
        }
        found
    }

    /// Counts the messages that say again what a memory says that their session had by then. Returns
    /// all corrections.
    fn count_corrections(&mut self, had: &[Vec<Held>], lines: &Lines<'_>) -> Vec<Correction> {
        let mut seen: HashSet<(String, Option<i64>)> = HashSet::new();
        let mut written: HashMap<usize, Vec<Option<i64>>> = HashMap::new();
        let mut corrections = Vec::new();
        for (session, had) in self.sessions.iter().zip(had) {
            if session.unlisted.is_some() {
                continue;
            }
            for said in &session.facts.said {
                // A fork has the messages of the session from which it was made.
                if !seen.insert((said.text.clone(), said.time)) {
                    continue;
                }
                let citation = session.cite(said.line);
                let words = WordSet::of(&said.text);
                let said_at = said.time.unwrap_or(i64::MAX);
                // The first known time of the lines of each unit that say the same.
                let mut same: BTreeMap<usize, Option<i64>> = BTreeMap::new();
                for line in lines.like(&words) {
                    let at = line.unit;
                    let is_held = |held: &Held| held.unit == at && held.from < said.line;
                    let unit = &self.units[at];
                    if unit.since > said_at || !had.iter().any(is_held) {
                        continue;
                    }
                    let times = written.entry(unit.file);
                    let times = times.or_insert_with(|| since::lines(self.sources, unit));
                    let time = times.get(line.number).copied().flatten();
                    let first = same.entry(at).or_insert(time);
                    *first = [*first, time].into_iter().flatten().min();
                }
                let mut memory = None;
                // What the message itself taught says nothing about the memory.
                same.retain(|_, first| first.is_none_or(|time| time <= said_at));
                for at in same.into_keys() {
                    let account = &mut self.units[at].account;
                    account.corrected.push(citation.clone());
                    memory = Some(account.name());
                }
                if said.confidence >= LEAST || memory.is_some() {
                    corrections.push(correction(said, citation, memory));
                }
            }
        }
        corrections
    }

    /// Finds what was said in several sessions of a directory and no memory says. Long messages are
    /// about more than the way of working.
    fn untaught(&self, lines: &Lines<'_>) -> Vec<Untaught> {
        let mut said: Vec<Repeatable<'_>> = Vec::new();
        let mut index = WordSetIndex::default();
        for session in self.sessions.iter().filter(|one| one.unlisted.is_none()) {
            let short = session.facts.said.iter();
            for one in short.filter(|said| said.text.len() <= LONGEST_TAUGHT) {
                said.push(Repeatable { session, said: one });
                index.push(WordSet::of(&one.text));
            }
        }
        let mut found = Vec::new();
        let mut used: HashSet<usize> = HashSet::new();
        for at in 0..said.len() {
            let words = index.get(at);
            let mut group = vec![at];
            for other in index.sharing(words, REPEATED_WORDS) {
                let is_apart = |one: &usize| said[*one].is_apart(&said[other]);
                if used.contains(&other) || !group.iter().all(is_apart) {
                    continue;
                }
                let shared = lines.weights.shared(words, index.get(other));
                if is_same(shared, REPEATED_PART) {
                    group.push(other);
                }
            }
            let is_known = |one: &usize| lines.like(index.get(*one)).next().is_some();
            if group.len() < 2 || used.contains(&at) || group.iter().any(is_known) {
                continue;
            }
            used.extend(&group);
            group.sort_by_key(|one| said[*one].said.time);
            let cited: Vec<Correction> = group.iter().map(|one| said[*one].cited()).collect();
            let references: Vec<String> = cited.iter().map(|one| one.citation.clone()).collect();
            let quoted = quotes(self.sources.corpus, &|_| None, &references);
            let proposal = quoted.ok().and_then(|quoted| propose(&quoted));
            if let Some((proposal, cwd)) = proposal.zip(said[at].session.log.cwd()) {
                found.push(Untaught {
                    said: cited,
                    cwd: PathBuf::from(cwd),
                    proposal,
                });
            }
        }
        found
    }
}

/// A unit that a session had, and the line from which on it had it.
#[derive(Debug, Clone, Copy)]
struct Held {
    unit: usize,
    from: u64,
}

/// Where a line stands: in which unit, and at which place of its file, from 0.
#[derive(Debug, Clone, Copy)]
struct LinePlace {
    unit: usize,
    number: usize,
}

/// The lines of all units.
struct Lines<'a> {
    index: WordSetIndex,
    places: Vec<LinePlace>,
    weights: WordWeights<'a>,
}

impl<'a> Lines<'a> {
    fn of(units: &[Unit<'_>], corpus: &'a Corpus) -> Self {
        let mut lines = Self {
            index: WordSetIndex::default(),
            places: Vec::new(),
            weights: WordWeights::of(corpus),
        };
        // What an agent makes its memories of repeats what was said.
        let is_source = |unit: &Unit<'_>| unit.text.memory.kind == FileKind::Source;
        for (at, unit) in units
            .iter()
            .enumerate()
            .filter(|(_, unit)| !is_source(unit))
        {
            let numbered = (unit.first_line()..).zip(unit.own_text().lines());
            for (number, line) in numbered.filter(|(_, line)| !line.is_empty()) {
                lines.index.push(WordSet::of(line));
                lines.places.push(LinePlace { unit: at, number });
            }
        }
        lines
    }

    /// Returns the lines that say the same.
    fn like(&self, words: &WordSet) -> impl Iterator<Item = LinePlace> {
        let candidates = self.index.sharing(words, SHARED_WORDS).into_iter();
        let same = candidates.filter(|line| {
            let shared = self.weights.shared(words, self.index.get(*line));
            is_same(shared, SHARED_PART)
        });
        same.map(|line| self.places[line])
    }
}

/// Something that may be said again in another session.
struct Repeatable<'a> {
    session: &'a Session<'a>,
    said: &'a Said,
}

impl Repeatable<'_> {
    /// Whether another one was said in another session of the same directory, and is no copy.
    fn is_apart(&self, other: &Self) -> bool {
        let (one, two) = (&self.session.log, &other.session.log);
        one.id() != two.id() && one.cwd() == two.cwd() && self.said.time != other.said.time
    }

    fn cited(&self) -> Correction {
        correction(self.said, self.session.cite(self.said.line), None)
    }
}

/// Whether two texts that share so much say the same.
fn is_same(shared: SharedWords, part: f32) -> bool {
    shared.words >= SHARED_WORDS && shared.weight >= SHARED_WEIGHT && shared.part >= part
}

/// Returns the words of a message that is cited, such as `codex:ID#L12`.
pub fn words_of(corpus: &Corpus, citation: &str) -> Option<String> {
    let (log, line) = cited_line(corpus, citation)?;
    let messages = corpus.messages(log, &[Part::Words, Part::Calls]);
    let at = messages.into_iter().find(|at| corpus.line(*at) == line)?;
    corpus.message(at, |message| message.text.to_owned())
}

fn correction(said: &Said, citation: String, memory: Option<String>) -> Correction {
    Correction {
        citation,
        time: said.time,
        text: said.text.clone(),
        confidence: said.confidence,
        memory,
    }
}

impl Unit<'_> {
    fn own_text(&self) -> &str {
        self.text.text.get(self.span.clone()).unwrap_or_default()
    }

    /// The place of its first line in its file, from 0.
    fn first_line(&self) -> usize {
        let before = self.text.text.get(..self.span.start).unwrap_or_default();
        before.matches('\n').count()
    }

    /// Whether it has one of these lines of its file.
    fn has(&self, (first, last): (usize, usize)) -> bool {
        let start = self.first_line() + 1;
        let end = start + self.own_text().lines().count();
        start <= last && first < end
    }

    /// Whether a piece of its file has it: of an entry, its first line.
    fn is_sent(&self, sent: &str) -> bool {
        let first = self
            .own_text()
            .lines()
            .map(str::trim)
            .find(|line| !line.is_empty());
        self.account.entry.is_none() || first.is_some_and(|line| sent.contains(line))
    }
}

/// Returns the logs with what they say, from the cache where they have not changed.
fn sessions<'a>(sources: &Sources<'a>) -> Vec<Session<'a>> {
    let corpus = sources.corpus;
    // Without the directory, nothing is kept.
    drop(private::create_dir(sources.cache));
    let listings = listings(corpus);
    let found = on_all_cores(listings.len(), |number| {
        let log = corpus.log(number)?;
        let path = sources.cache.join(record_name(&log));
        let known = LogFacts::load(&path, stamp(&log));
        let facts = match known {
            Some(facts) => facts,
            None => {
                let facts = LogFacts::of(corpus, number)?;
                facts.save(&path);
                facts
            }
        };
        Some(Session {
            log,
            facts,
            unlisted: listings[number].unlisted,
        })
    });
    found.into_iter().flatten().collect()
}
