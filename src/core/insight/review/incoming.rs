//! Incoming changes: what another machine wrote, before it is written here.
//!
//! Each waits as a file in the history's directory, one folder a store, which names the versions of
//! both sides; they are kept with the history. It is an item of the queue like a proposal: accepting
//! it makes the change and marks it as decided, rejecting it only marks it. The next sync takes what
//! was decided away and sends what follows from it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::decide::{Selection, chosen, joined};
use super::queue::{Item, ItemChange, ReviewHunk, WaitingFile, begins, short_hash};
use crate::core::change::history::{History, INCOMING, Record};
use crate::core::change::{
    Author, Change, ChangeVerb, Edit, PlannedFiles, plan_and_commit, put_lines_back,
};
use crate::core::disk::foreign::read_capped;
use crate::core::disk::private;
use crate::core::disk::revision::Revision;
use crate::core::disk::sandbox::Attributes;
use crate::core::memory::layout::Layout;
use crate::core::memory::layout::index::{INDEX, hand_written};
use crate::core::memory::store::Store;
use crate::core::text::diff;
use crate::core::text::time::Moment;
use crate::core::{Error, Result};

/// A change that another machine made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Incoming {
    /// The file below the store's root.
    pub path: String,
    /// The version that both sides had last.
    pub base: Option<Revision>,
    /// The version of the other side; `None` if it is deleted there.
    pub theirs: Option<Revision>,
    /// The hand-written index of the other side, which has the line of a new memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<Revision>,
    /// Who sent it.
    #[serde(flatten)]
    pub sent: Sent,
    /// When it was sent, in milliseconds since 1970.
    pub time: i64,
    /// The version that the other side sent, and its blob: once it is decided about, both agree on
    /// it. A part of it that was rejected is missing in `theirs`.
    pub(crate) remote: Option<Revision>,
    pub(crate) blob: Option<String>,
    /// Whether the person rejected it; meaningful once it is decided.
    #[serde(default)]
    pub(crate) is_rejected: bool,
}

/// Who sent an incoming change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    /// The name of the machine.
    pub machine: String,
    /// The commit.
    pub commit: String,
    /// Whether the file was changed here, too, so that both texts cannot be had.
    pub is_conflict: bool,
}

impl Sent {
    /// The author of the change, once it is made.
    pub fn author(&self) -> Author {
        Author {
            who: self.machine.clone(),
            door: "sync".to_owned(),
        }
    }

    /// Where it comes from, in words.
    pub fn origin(&self) -> String {
        format!(
            "{} ({})",
            self.machine,
            self.commit.get(..8).unwrap_or(&self.commit)
        )
    }
}

/// Both texts of a conflict, and the one that both sides had last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConflictTexts {
    /// What both sides had; the lines that both have if they made the file by themselves.
    pub base: String,
    /// What is here.
    pub ours: String,
    /// What the other side has.
    pub theirs: String,
}

impl ConflictTexts {
    /// The texts, if there are two.
    fn of(texts: ThreeTexts<'_>) -> Option<Arc<Self>> {
        let text = |bytes: &[u8]| std::str::from_utf8(bytes).ok().map(str::to_owned);
        let (ours, theirs) = (text(texts.ours?)?, text(texts.theirs?)?);
        let base = match texts.base {
            Some(base) => text(base)?,
            None => diff::common(&ours, &theirs),
        };
        Some(Arc::new(Self { base, ours, theirs }))
    }
}

/// What a person made of both texts of a conflict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolution {
    /// The id of the item.
    pub id: String,
    /// The text that was here when the person saw it.
    pub ours: String,
    /// The text that is to be here.
    pub text: String,
}

/// The largest file of an incoming change.
const LARGEST: u64 = 64 << 10;

/// The ends of the names of changes that wait, and that are decided.
const WAITING: &str = "json";
const DECIDED: &str = "decided";

/// Up to how many changes that are accepted at once each is a change of its own.
const EACH_BY_ITSELF: usize = 64;

/// The folder of the incoming changes of all stores.
pub fn incoming_folder(history: &History) -> PathBuf {
    history.dir().join(INCOMING)
}

/// The folder of the incoming changes of a store.
fn folder(history: &History, root: &Path) -> PathBuf {
    let name = blake3::hash(root.as_os_str().as_encoded_bytes()).to_hex();
    incoming_folder(history).join(&name[..32])
}

fn name_of(path: &str, end: &str) -> String {
    format!("{}.{end}", short_hash(path.as_bytes(), 32))
}

/// The incoming changes of a store with this end, in the order of their paths.
fn read(history: &History, root: &Path, end: &str) -> Vec<Incoming> {
    let entries = fs::read_dir(folder(history, root)).into_iter().flatten();
    let paths = entries.flatten().map(|entry| entry.path());
    let named = paths.filter(|path| path.extension().is_some_and(|found| found == end));
    let mut found: Vec<Incoming> = named
        .filter_map(|path| serde_json::from_slice(&read_capped(&path, LARGEST).ok()?).ok())
        .collect();
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// How many changes wait for a store.
pub(super) fn incoming_count(history: &History, root: &Path) -> usize {
    let entries = fs::read_dir(folder(history, root)).into_iter().flatten();
    let is_waiting = |entry: &fs::DirEntry| {
        let path = entry.path();
        path.extension().is_some_and(|end| end == WAITING)
    };
    entries.flatten().filter(is_waiting).count()
}

/// What waits for a store.
pub fn waiting_incoming(history: &History, root: &Path) -> Vec<Incoming> {
    read(history, root, WAITING)
}

/// What the person decided about since the last sync.
pub fn decided_incoming(history: &History, root: &Path) -> Vec<Incoming> {
    read(history, root, DECIDED)
}

/// Makes exactly these changes wait for a store; what was decided stays.
pub fn offer(history: &History, root: &Path, incoming: &[Incoming]) -> Result<()> {
    let dir = folder(history, root);
    let known = read(history, root, WAITING);
    if known.is_empty() && incoming.is_empty() {
        return Ok(());
    }
    let io = |e: std::io::Error| Error::io(&dir, e);
    history.folder(INCOMING)?;
    private::create_dir(&dir).map_err(io)?;
    let mut known: HashMap<&str, &Incoming> =
        known.iter().map(|one| (one.path.as_str(), one)).collect();
    for one in incoming {
        if known.remove(one.path.as_str()) == Some(one) {
            continue;
        }
        let bytes = serde_json::to_vec(one).map_err(|e| io(e.into()))?;
        // The next sync can make it again.
        let path = dir.join(name_of(&one.path, WAITING));
        private::replace_unflushed(&path, |file| file.write_all(&bytes)).map_err(io)?;
    }
    for path in known.into_keys() {
        fs::remove_file(dir.join(name_of(path, WAITING))).map_err(io)?;
    }
    Ok(())
}

/// Forgets what was decided, once a sync has made it known to the others.
pub fn forget_decided<'a>(history: &History, root: &Path, paths: impl Iterator<Item = &'a String>) {
    let dir = folder(history, root);
    for path in paths {
        // One that stays is decided again in the same way.
        drop(fs::remove_file(dir.join(name_of(path, DECIDED))));
    }
}

/// The versions of a file; `None` where there is none.
#[derive(Debug, Clone, Copy)]
pub struct ThreeTexts<'a> {
    /// What both sides had last.
    pub base: Option<&'a [u8]>,
    /// What is here.
    pub ours: Option<&'a [u8]>,
    /// What the other side has.
    pub theirs: Option<&'a [u8]>,
}

/// What an incoming change makes of a file: its text, and whether both sides changed the same.
pub fn outcome(store: &Store, path: &str, texts: ThreeTexts<'_>) -> (Option<Vec<u8>>, bool) {
    let ThreeTexts { base, ours, theirs } = texts;
    let whole = |is_conflict: bool| (theirs.map(<[u8]>::to_vec), is_conflict);
    let (Some(our), Some(their)) = (ours, theirs) else {
        // A new file, one that is deleted there, or one that was deleted here.
        return whole(ours != base);
    };
    if ours == base || our == their {
        return whole(false);
    }
    let made = if store.layout() == Layout::Index && path == INDEX {
        let text = |bytes| std::str::from_utf8(bytes).ok();
        let base = base.and_then(text);
        let texts = text(our).zip(text(their));
        let made = texts.and_then(|(our, their)| hand_written::merged(base, our, their));
        made.map(String::into_bytes)
    } else {
        base.and_then(|base| diff::merge(base, our, their))
    };
    match made {
        Some(made) => (Some(made), false),
        None => whole(true),
    }
}

/// An incoming change with the texts that it is about.
struct Offered {
    incoming: Incoming,
    /// What is here, and what accepting it makes of it.
    file: WaitingFile,
}

impl Offered {
    fn read(history: &History, store: &Store, incoming: Incoming) -> Option<Self> {
        let version =
            |revision: Option<Revision>| revision.map(|revision| history.version(&revision).ok());
        let base = version(incoming.base).map_or(Some(None), |base| base.map(Some))?;
        let theirs = version(incoming.theirs).map_or(Some(None), |theirs| theirs.map(Some))?;
        let ours = store.root().read(&incoming.path).ok()?;
        let texts = ThreeTexts {
            base: base.as_deref(),
            ours: ours.as_deref(),
            theirs: theirs.as_deref(),
        };
        let (after, is_conflict) = outcome(store, &incoming.path, texts);
        let conflict = is_conflict.then(|| ConflictTexts::of(texts)).flatten();
        let mut file = WaitingFile {
            path: incoming.path.clone(),
            accepted: ours,
            current: after,
            renamed_from: None,
            items: Vec::new(),
        };
        let item = item(store, &file, &incoming, is_conflict);
        file.items = vec![Item { conflict, ..item }];
        Some(Self { incoming, file })
    }
}

fn item(store: &Store, file: &WaitingFile, incoming: &Incoming, is_conflict: bool) -> Item {
    let ours = file.accepted.as_deref().unwrap_or_default();
    let after = file.current.as_deref().unwrap_or_default();
    let root = store.root().path().to_string_lossy();
    let sent = &incoming.sent;
    let key = [&root, &*file.path, &sent.machine, &sent.commit].join("\0");
    let id = short_hash(key.as_bytes(), 8);
    let (old, new) = (diff::lines(ours), diff::lines(after));
    let hunks = diff::hunks(diff::line_replacements(ours, after), old.len());
    let hunks = hunks.into_iter().enumerate().map(|(number, hunk)| {
        let text = diff::hunk_text(&hunk, &old, &new);
        let key = format!("{number}\0{text}");
        ReviewHunk {
            id: format!("{id}.{}", short_hash(key.as_bytes(), 6)),
            old: hunk.old,
            new: hunk.new,
            text,
            entry: None,
            citation: None,
            begins: begins(&hunk.replacements),
            replacements: hunk.replacements,
        }
    });
    let mut item = Item {
        path: store.rules().reference_of(&file.path),
        change: match (&file.accepted, &file.current) {
            (_, None) => ItemChange::Deleted,
            (None, _) => ItemChange::Added,
            _ => ItemChange::Changed,
        },
        renamed_from: None,
        time: incoming.time,
        author: sent.author(),
        origin: None,
        deleted_before: None,
        notes: Vec::new(),
        hunks: hunks.collect(),
        file: file.path.clone(),
        current: Arc::from(after),
        proposal: None,
        misfit: None,
        conflict: None,
        sent: Some(Sent {
            is_conflict,
            ..sent.clone()
        }),
        id,
    };
    item.bind();
    item
}

fn offered(history: &History, store: &Store) -> Vec<Offered> {
    let waiting = waiting_incoming(history, store.root().path()).into_iter();
    let read = waiting.filter_map(|one| Offered::read(history, store, one));
    read.filter(|one| one.file.accepted != one.file.current)
        .collect()
}

/// What other machines sent for a store, as items of its queue.
pub(super) fn incoming_items(history: &History, store: &Store) -> Vec<Item> {
    let all = offered(history, store).into_iter();
    all.flat_map(|offered| offered.file.items).collect()
}

/// Accepts the selected incoming changes of stores: what one machine sent is one change in the
/// history, by that machine, so that one undo takes it back.
pub(super) fn accept_incoming(
    history: &History,
    stores: &[&Store],
    selection: &Selection,
    moment: &Moment,
) -> Result<Vec<Record>> {
    let mut senders: BTreeMap<String, Vec<(&Store, Vec<Incoming>)>> = BTreeMap::new();
    for store in stores {
        for Offered { incoming, file } in offered(history, store) {
            // Nobody looked at both texts of a conflict who did not name it.
            let waits = *selection == Selection::All && file.items.iter().any(Item::is_conflict);
            if waits || chosen(&file, selection).is_none() {
                continue;
            }
            let sent = senders.entry(incoming.sent.machine.clone()).or_default();
            match sent.last_mut() {
                Some((last, some)) if last.id() == store.id() => some.push(incoming),
                _ => sent.push((store, vec![incoming])),
            }
        }
    }
    let mut records = Vec::new();
    for sent in senders.values() {
        let Some(first) = sent.first().and_then(|(_, some)| some.first()) else {
            continue;
        };
        let roots = sent.iter().flat_map(|(store, _)| {
            let root = store.root().path();
            [root.to_owned(), folder(history, root)]
        });
        let roots: Vec<PathBuf> = roots.collect();
        let roots: Vec<&Path> = roots.iter().map(PathBuf::as_path).collect();
        let author = first.sent.author();
        let made = plan_and_commit::<Error>(history, &roots, &author, moment, || {
            let mut whole: Option<Change> = None;
            for (store, some) in sent {
                let change = plan_accept(history, store, some, selection, moment)?;
                whole = Some(match whole {
                    Some(before) => joined(before, change, ChangeVerb::Write),
                    None => change,
                });
            }
            whole.ok_or_else(|| Error::not_found("what was sent"))
        })?;
        records.extend(made.record);
    }
    Ok(records)
}

/// Few changes each by itself, many together by the one who sent them.
pub(crate) fn groups<T>(all: &[T], sent: impl Fn(&T) -> &Sent) -> Vec<&[T]> {
    if all.len() <= EACH_BY_ITSELF {
        all.chunks(1).collect()
    } else {
        let is_same = |a: &T, b: &T| sent(a).machine == sent(b).machine;
        all.chunk_by(is_same).collect()
    }
}

fn plan_accept(
    history: &History,
    store: &Store,
    some: &[Incoming],
    selection: &Selection,
    moment: &Moment,
) -> Result<Change> {
    let mut arrivals = Vec::new();
    let mut decided = Vec::new();
    for one in some {
        let Some(Offered { incoming, file }) = Offered::read(history, store, one.clone()) else {
            continue;
        };
        let Some(chosen) = chosen(&file, selection) else {
            continue;
        };
        let after = if chosen.is_whole {
            decided.push(incoming.clone());
            file.current
        } else {
            let old = file.accepted.as_deref().unwrap_or_default();
            let new = diff::lines(file.current.as_deref().unwrap_or_default());
            let with = chosen
                .replacements
                .into_iter()
                .map(|one| (one, new.as_slice()));
            Some(diff::apply(&diff::lines(old), with))
        };
        arrivals.push(Arrival {
            path: incoming.path,
            before: file.accepted.as_deref().map(Revision::of),
            after,
            sent: incoming.sent,
        });
    }
    let index = some.iter().rev().find_map(|one| one.index);
    let index = index.map(|index| history.version(&index)).transpose()?;
    let index = index.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let mut change = plan_arrivals(store, &arrivals, index.as_deref(), moment)?;
    for one in decided {
        change.edits.extend(decision(history, store, &one, false)?);
    }
    Ok(change)
}

/// Plans rejecting the selected incoming changes of a store; `None` if none is selected. Nothing
/// changes but what waits.
pub(super) fn plan_reject(
    history: &History,
    store: &Store,
    selection: &Selection,
) -> Result<Option<Change>> {
    let (mut edits, mut rejected) = (Vec::new(), Vec::new());
    let mut names = Vec::new();
    let mut machines = BTreeSet::new();
    for Offered { incoming, file } in offered(history, store) {
        let Some(chosen) = chosen(&file, selection) else {
            continue;
        };
        names.push(store.rules().reference_of(&file.path));
        machines.insert(incoming.sent.machine.clone());
        // The memory stays as it is; it is named, so that the history knows what this was about.
        let stays = Edit {
            root: store.root().path().to_owned(),
            layout: store.layout(),
            path: file.path.clone(),
            before: file.accepted.clone(),
            after: file.accepted.clone(),
            derived: false,
            emptied: Vec::new(),
            attributes: Attributes::default(),
        };
        edits.push(stays.clone());
        if chosen.is_whole {
            rejected.push(Edit {
                before: file.current,
                ..stays
            });
            edits.extend(decision(history, store, &incoming, true)?);
            continue;
        }
        // The rest of it still waits.
        let ours = file.accepted.unwrap_or_default();
        let after = file.current.unwrap_or_default();
        let (our_lines, lines) = (diff::lines(&ours), diff::lines(&after));
        let back = chosen.replacements.into_iter().map(|one| {
            let back = diff::Replacement {
                old: one.new,
                new: one.old,
            };
            (back, our_lines.as_slice())
        });
        let left = diff::apply(&lines, back);
        let rest = Incoming {
            base: Some(history.keep(&ours)?),
            theirs: Some(history.keep(&left)?),
            ..incoming.clone()
        };
        rejected.push(Edit {
            before: Some(after),
            after: Some(left),
            ..stays
        });
        edits.push(waiting_edit(history, store, &incoming, Some(&rest))?);
    }
    if names.is_empty() {
        return Ok(None);
    }
    edits.sort_by_key(|edit: &Edit| edit.derived);
    let machines = Vec::from_iter(machines).join(" and ");
    Ok(Some(Change {
        verb: ChangeVerb::Restore,
        message: format!("Rejected what {machines} sent: {}", names.join(", ")),
        edits,
        of: None,
        rejected,
    }))
}

/// Writes what the person made of both texts of a conflict, which is decided then. Nothing is done if
/// another text is here by now.
pub fn resolve(
    history: &History,
    store: &Store,
    resolution: &Resolution,
    author: &Author,
    moment: &Moment,
) -> Result<Option<Record>> {
    let Resolution { id, ours, text } = resolution;
    let root = store.root().path();
    let roots = [root, &folder(history, root)];
    let made = plan_and_commit::<Error>(history, &roots, author, moment, || {
        let is_meant = |one: &Offered| {
            let is_seen = one.file.accepted.as_deref() == Some(ours.as_bytes());
            is_seen && one.file.items.iter().any(|item| item.id == *id)
        };
        let found = offered(history, store).into_iter().find(is_meant);
        let Offered { incoming, .. } =
            found.ok_or_else(|| Error::refused(id, "was changed meanwhile; look at it again"))?;
        if text == ours {
            let selection = Selection::Ids(vec![id.clone()]);
            let rejected = plan_reject(history, store, &selection)?;
            return rejected.ok_or_else(|| Error::not_found(id));
        }
        let arrival = Arrival {
            path: incoming.path.clone(),
            before: Some(Revision::of(ours.as_bytes())),
            after: Some(text.clone().into_bytes()),
            sent: incoming.sent.clone(),
        };
        let mut change = plan_arrivals(store, &[arrival], None, moment)?;
        let path = store.rules().reference_of(&incoming.path);
        change.message = format!("Merged with {}: {path}", incoming.sent.origin());
        change
            .edits
            .extend(decision(history, store, &incoming, false)?);
        Ok(change)
    })?;
    Ok(made.record)
}

/// The edit of the file in which a change waits. It is derived, so that an undo of the change after
/// the next sync, which takes the file away, is about the memory alone.
fn waiting_edit(
    history: &History,
    store: &Store,
    incoming: &Incoming,
    after: Option<&Incoming>,
) -> Result<Edit> {
    let dir = folder(history, store.root().path());
    let path = name_of(&incoming.path, WAITING);
    let json = |one: &Incoming| serde_json::to_vec(one).map_err(|e| Error::io(&dir, e.into()));
    Ok(Edit {
        layout: Layout::Instructions,
        before: Some(json(incoming)?),
        after: after.map(json).transpose()?,
        derived: true,
        emptied: Vec::new(),
        attributes: Attributes::default(),
        root: dir,
        path,
    })
}

/// The edits that mark an incoming change as decided.
fn decision(
    history: &History,
    store: &Store,
    incoming: &Incoming,
    is_rejected: bool,
) -> Result<[Edit; 2]> {
    let taken = waiting_edit(history, store, incoming, None)?;
    let dir = &taken.root;
    let path = name_of(&incoming.path, DECIDED);
    let marked = Incoming {
        is_rejected,
        ..incoming.clone()
    };
    let marked = serde_json::to_vec(&marked).map_err(|e| Error::io(dir, e.into()))?;
    let mark = Edit {
        before: read_capped(&dir.join(&path), LARGEST).ok(),
        after: Some(marked),
        path,
        ..taken.clone()
    };
    Ok([taken, mark])
}

/// A file as it is to be, because another machine changed it.
#[derive(Debug, Clone)]
pub struct Arrival {
    /// The file below the root.
    pub path: String,
    /// What it had when that was decided.
    pub before: Option<Revision>,
    /// What it is to have; `None` to delete it.
    pub after: Option<Vec<u8>>,
    /// Who sent it.
    pub sent: Sent,
}

/// Plans taking in what other machines sent; `index` is the hand-written index of the other side,
/// which has lines of new memories. A file that was written to meanwhile is left out: the next sync
/// compares it again.
pub fn plan_arrivals(
    store: &Store,
    arrivals: &[Arrival],
    index: Option<&str>,
    moment: &Moment,
) -> Result<Change> {
    let mut planned = PlannedFiles::new(store, moment);
    let mut names = Vec::new();
    let mut origins: Vec<String> = Vec::new();
    let (mut deletes, mut is_index_alone) = (true, true);
    for arrival in arrivals {
        let now = planned.bytes(&arrival.path)?;
        if now.as_deref().map(Revision::of) != arrival.before {
            continue;
        }
        names.push(store.rules().reference_of(&arrival.path));
        let origin = arrival.sent.origin();
        if !origins.contains(&origin) {
            origins.push(origin);
        }
        deletes &= arrival.after.is_none();
        is_index_alone &= store.layout() == Layout::Index && arrival.path == INDEX;
        planned.set(&arrival.path, arrival.after.clone())?;
    }
    if !is_index_alone {
        if let Some(index) = index {
            put_lines_back(&mut planned, index)?;
        }
        planned.finish()?;
    }
    let verb = if deletes {
        ChangeVerb::Delete
    } else {
        ChangeVerb::Write
    };
    let from = origins.first().map_or("", String::as_str);
    let shown = match names.as_slice() {
        [first, second, third, rest @ ..] if !rest.is_empty() => {
            format!("{first}, {second}, {third} and {} more", rest.len())
        }
        all => all.join(", "),
    };
    Ok(planned.into_change(verb, format!("Received from {from}: {shown}")))
}
