//! The hand-written index of a store: its text and the lines of its memories travel by themselves,
//! so that each machine has the lines of the memories that it has.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::Motion;
use super::decision::{Decision, Version, Versions};
use super::plan::{Step, StoreSides};
use super::repo::{FileOp, Ops, Told};
use super::tree::{DELETED, INDEX_TEXT, LINES, SharedStore, TEXT_DELETED};
use crate::core::change::history::Author;
use crate::core::disk::revision::Revision;
use crate::core::insight::review::{Arrival, Incoming, Sent};
use crate::core::memory::config::IncomingMode;
use crate::core::memory::layout::index::hand_written::{self, IndexPieces};
use crate::core::memory::layout::index::{INDEX, generate_index, is_generated, is_line_made};

/// The memories that are sent, and those that are deleted at the remote.
pub(super) type SentNames = HashMap<String, bool>;

impl StoreSides<'_> {
    /// The hand-written index of the remote, if it has the line of one of these memories: it says
    /// where that goes.
    pub(super) fn index_of_lines<'b>(
        &self,
        mut paths: impl Iterator<Item = &'b String>,
    ) -> Told<Option<String>> {
        if !paths.any(|path| self.there.lines.contains_key(path)) {
            return Ok(None);
        }
        self.composed(&self.there, |_| true)
    }

    /// Whether a memory is here and will be at the remote.
    fn is_shared(&self, name: &str, sent: &SentNames) -> bool {
        let is_there = || self.there.files.contains_key(name);
        self.files.contains_key(name) && sent.get(name).copied().unwrap_or_else(is_there)
    }

    /// The plan for the hand-written index, given what is sent of the memories.
    pub(super) fn index_step(&mut self, sent: &SentNames) -> Told<Option<Step>> {
        let is_of_index = |path: &String| {
            let folder = path.split_once('/').map(|(folder, _)| folder);
            path == INDEX_TEXT || path == TEXT_DELETED || folder == Some(LINES)
        };
        if !self.has_index() || self.there.refused.iter().any(is_of_index) {
            return Ok(None);
        }
        let on_disk = self.here.store.text(INDEX).map_err(|e| e.to_string())?;
        let hand_written = on_disk.clone().filter(|text| !is_generated(text));
        if hand_written.is_none() && self.there.index.is_none() && self.base.index.is_none() {
            return Ok(None);
        }
        let is_shared = |name: &str| self.is_shared(name, sent);
        let is_here = |name: &str| self.files.contains_key(name);
        let pieces = hand_written
            .as_deref()
            .map(|text| restricted(text, is_here, is_shared));
        if pieces.as_ref().is_some_and(|own| self.is_as_agreed(own)) {
            return Ok(None);
        }
        let theirs = self.composed(&self.there, is_shared)?;
        let agreed = self.composed(self.base, is_shared)?;
        // Without the lines of memories that are not here it may look like a generated one.
        if theirs.as_deref().is_some_and(is_generated) {
            return Ok(None);
        }
        let line = |pieces: &IndexPieces| {
            hand_written::joined(&pieces.text, |name| {
                pieces.lines.get(name).map(String::as_str)
            })
        };
        let ours = pieces.as_ref().map(line);
        // Lines that tome made for memories whose lines came later are nobody's words.
        let made = self.lines_made(pieces.as_ref());
        let without_made = pieces.as_ref().map(|pieces| {
            let own = |name: &str| pieces.lines.get(name).filter(|_| !made.contains_key(name));
            hand_written::joined(&pieces.text, |name| own(name).map(String::as_str))
        });
        let agreed = if made.is_empty() || without_made != agreed {
            agreed
        } else {
            ours.clone()
        };
        let decided = self.decided.get(INDEX);
        let revision = |text: &String| Version::Text(Revision::of(text.as_bytes()));
        let is_gone_there = self.there.deleted.contains_key(INDEX_TEXT);
        let base = match (decided, &agreed) {
            (Some(one), _) => one.remote.map_or(Version::Deleted, Version::Text),
            (None, Some(text)) => revision(text),
            (None, None) if self.base.deleted.contains_key(INDEX_TEXT) => Version::Deleted,
            (None, None) => Version::Absent,
        };
        let here = match &ours {
            Some(text) => revision(text),
            None if matches!(base, Version::Text(_)) && self.was_replaced_by_generated() => {
                Version::Deleted
            }
            None => Version::Absent,
        };
        let there = match &theirs {
            Some(text) => revision(text),
            None if is_gone_there => Version::Deleted,
            None => Version::Absent,
        };
        let versions = Versions {
            base,
            here,
            there,
            was: None,
        };
        let mut step = Step {
            path: INDEX.to_owned(),
            ..Step::default()
        };
        match versions.decide() {
            Decision::Nothing | Decision::Agreed => step.base = self.agreed_index(),
            Decision::Send => {
                let (Some(ours), Some(pieces)) = (ours, pieces) else {
                    return Ok(None);
                };
                if !self.border.stops(INDEX, ours.as_bytes(), true) {
                    step.ops = self.sending_index(&pieces)?;
                    step.base.clone_from(&step.ops);
                    step.motion = Some(Motion::Sent);
                }
            }
            Decision::SendDelete => {
                let lines = self.there.lines.keys();
                step.ops = self.deleting(INDEX_TEXT, Revision::of(b""), lines);
                step.base.clone_from(&step.ops);
                step.motion = Some(Motion::SentDelete);
            }
            Decision::Take | Decision::TakeDelete | Decision::Both => {
                let theirs = match theirs {
                    Some(text) => text,
                    None => generate_index(&self.here.store.list().map_err(|e| e.to_string())?),
                };
                let agreed = match base {
                    Version::Text(revision) => {
                        let kept = self.history.version(&revision).ok();
                        kept.and_then(|bytes| String::from_utf8(bytes).ok())
                            .or(agreed)
                    }
                    _ => None,
                };
                let texts = IndexTexts {
                    agreed,
                    on_disk,
                    theirs,
                };
                self.take_index(&mut step, texts, (&made, sent))?;
            }
        }
        let is_idle = step.motion.is_none() && step.base.is_empty();
        Ok((!is_idle).then_some(step))
    }

    /// Whether the index here is the one that was agreed on and that the remote has, as far as that
    /// is known without reading its lines.
    fn is_as_agreed(&self, own: &IndexPieces) -> bool {
        let (base, there) = (self.base, &self.there);
        let is = |text: &str, id: Option<&String>| {
            id.and_then(|id| self.blobs.revision(id)) == Some(Revision::of(text.as_bytes()))
        };
        !self.decided.contains_key(INDEX)
            && (&base.index, &base.lines) == (&there.index, &there.lines)
            && own.lines.len() == there.lines.len()
            && is(&own.text, there.index.as_ref())
            && own
                .lines
                .iter()
                .all(|(name, line)| is(line, there.lines.get(name)))
    }

    /// Whether the history says that the hand-written index was replaced by a generated one here. A
    /// generated one is also made while memories arrive in a directory that was moved or lost.
    fn was_replaced_by_generated(&self) -> bool {
        let root = self.here.store.root().path();
        let is_hand_written = |revision: &Revision| {
            let bytes = self.history.version(revision).ok()?;
            Some(!is_generated(&String::from_utf8_lossy(&bytes)))
        };
        let mut is_replaced = false;
        let records = self.history.records().unwrap_or_default().into_iter();
        // What was lost and made again outside of tome looks the same.
        for record in records.filter(|record| record.author != Author::outside()) {
            let mut files = record.files.iter();
            let Some(file) = files.find(|file| file.root == root && file.path == INDEX) else {
                continue;
            };
            let [before, after] =
                [&file.before, &file.after].map(|side| side.as_ref().and_then(is_hand_written));
            is_replaced = match (before, after) {
                (Some(true), Some(false)) => true,
                (Some(false), Some(false)) => is_replaced,
                _ => false,
            };
        }
        is_replaced
    }

    fn take_index(
        &mut self,
        step: &mut Step,
        IndexTexts {
            agreed,
            on_disk,
            theirs,
        }: IndexTexts,
        (made, sent_names): (&BTreeMap<String, String>, &SentNames),
    ) -> Told<()> {
        let is_gone_there = self.there.index.is_none();
        if self.border.stops(INDEX, theirs.as_bytes(), false) {
            return Ok(());
        }
        let hand_written = on_disk.clone().filter(|text| !is_generated(text));
        let made = match &hand_written {
            Some(ours) if !is_gone_there => {
                let ours = hand_written::reworded(ours, made);
                hand_written::merged(agreed.as_deref(), &ours, &theirs)
            }
            _ => Some(theirs.clone()),
        };
        if let Some(made) = made.as_ref().filter(|made| on_disk.as_ref() == Some(*made)) {
            // The index here has everything already.
            step.base = self.agreed_index();
            if let Some(ops) = self.sending_merged(made, &theirs, sent_names)? {
                step.base.extend(ops.clone());
                step.ops = ops;
                step.motion = Some(Motion::Sent);
            }
            return Ok(());
        }
        let (mut sent, time) = self.index_sender(is_gone_there);
        sent.is_conflict = made.is_none();
        let keep = |text: &str| self.keep(text.as_bytes());
        match made {
            Some(made) if self.here.incoming == IncomingMode::Accept => {
                step.motion = Some(Motion::Received);
                step.arrival = Some(Arrival {
                    path: INDEX.to_owned(),
                    before: on_disk.map(|text| Revision::of(text.as_bytes())),
                    after: Some(made.clone().into_bytes()),
                    sent,
                });
                step.base = self.agreed_index();
                if let Some(ops) = self.sending_merged(&made, &theirs, sent_names)? {
                    step.base.extend(ops.clone());
                    step.ops = ops;
                }
            }
            made => {
                step.motion = Some(if made.is_none() {
                    Motion::Conflict
                } else {
                    Motion::Offered
                });
                // Lines of memories that only this machine has are no part of a conflict.
                let ours = hand_written.as_deref().filter(|_| made.is_none());
                let both = ours.and_then(|ours| {
                    hand_written::merged_with_theirs(agreed.as_deref(), ours, &theirs)
                });
                // A generated index is replaced as a whole.
                let base = hand_written
                    .as_ref()
                    .and(agreed)
                    .or(on_disk.filter(|_| hand_written.is_none()));
                step.offer = Some(Incoming {
                    path: INDEX.to_owned(),
                    base: base.as_deref().map(keep).transpose()?,
                    theirs: Some(keep(both.as_ref().unwrap_or(&theirs))?),
                    index: None,
                    remote: (!is_gone_there).then(|| Revision::of(theirs.as_bytes())),
                    blob: None,
                    sent,
                    time,
                    is_rejected: false,
                });
            }
        }
        Ok(())
    }

    /// Who sent the last of what is new in the index of the remote: its text or a line.
    fn index_sender(&self, is_gone: bool) -> (Sent, i64) {
        let lines = self.there.lines.iter();
        let new = lines.filter(|(name, id)| self.base.lines.get(*name) != Some(*id));
        let new = new.map(|(name, id)| (format!("{LINES}/{name}"), Some(id.clone())));
        let text = self.there.index.clone();
        let is_new = text != self.base.index || is_gone;
        let text = is_new.then(|| (INDEX_TEXT.to_owned(), text));
        let all = new.chain(text);
        let all = all.map(|(path, blob)| self.sender(&path, &blob, is_gone && path == INDEX_TEXT));
        let last = all.max_by_key(|(_, time)| *time);
        last.unwrap_or_else(|| self.sender(INDEX_TEXT, &self.there.index, is_gone))
    }

    /// What is sent of an index that was merged, if that is more than the remote has.
    fn sending_merged(&mut self, made: &str, theirs: &str, sent: &SentNames) -> Told<Option<Ops>> {
        let is_here = |name: &str| self.files.contains_key(name);
        let pieces = restricted(made, is_here, |name| self.is_shared(name, sent));
        let text = hand_written::joined(&pieces.text, |name| {
            pieces.lines.get(name).map(String::as_str)
        });
        if text == theirs || is_generated(made) || self.border.stops(INDEX, text.as_bytes(), true) {
            return Ok(None);
        }
        self.sending_index(&pieces).map(Some)
    }

    /// The lines here that tome made of the memories, and that the remote has in other words: with
    /// those words.
    fn lines_made(&self, pieces: Option<&IndexPieces>) -> BTreeMap<String, String> {
        let mut made = BTreeMap::new();
        for (name, line) in pieces.into_iter().flat_map(|pieces| &pieces.lines) {
            let Some(id) = self
                .there
                .lines
                .get(name)
                .filter(|_| !self.base.lines.contains_key(name))
            else {
                continue;
            };
            let Ok(Some(text)) = self.here.store.text(name) else {
                continue;
            };
            let memory = self.here.store.rules().read(name, &text);
            if let Ok(theirs) = self.blobs.text(id)
                && theirs != *line
                && is_line_made(line, &memory)
            {
                made.insert(name.clone(), theirs);
            }
        }
        made
    }

    /// The hand-written index of one side, with the lines of these memories.
    fn composed(
        &self,
        side: &SharedStore,
        is_shared: impl Fn(&str) -> bool,
    ) -> Told<Option<String>> {
        let Some(index) = &side.index else {
            return Ok(None);
        };
        self.blobs.load(side.lines.values().chain(&side.index))?;
        let text = self.blobs.text(index)?;
        let mut lines = HashMap::new();
        for (name, id) in side.lines.iter().filter(|(name, _)| is_shared(name)) {
            lines.insert(name.as_str(), self.blobs.text(id)?);
        }
        Ok(Some(hand_written::joined(&text, |name| {
            lines.get(name).map(String::as_str)
        })))
    }

    /// The index of the remote becomes the one that is agreed on.
    fn agreed_index(&self) -> Ops {
        let lines = self.base.lines.keys().chain(self.there.lines.keys());
        let lines = lines.map(|name| format!("{LINES}/{name}"));
        let text = [INDEX_TEXT.to_owned(), format!("{DELETED}/{INDEX_TEXT}")];
        self.agreed(lines.chain(text))
    }

    /// What is sent of a hand-written index. The places of memories that are not here stay.
    fn sending_index(&self, pieces: &IndexPieces) -> Told<Ops> {
        let mut ops = Ops::new();
        let mut text = pieces.text.clone();
        if let Some(id) = &self.there.index {
            let there = self.blobs.text(id)?;
            let place = |line: &str| {
                line.strip_prefix("{{")
                    .and_then(|line| line.strip_suffix("}}"))
                    .map(str::to_owned)
            };
            let is_elsewhere = |line: &str| {
                place(line).is_some_and(|name| {
                    self.there.lines.contains_key(&name) && !self.files.contains_key(&name)
                })
            };
            if there.lines().any(is_elsewhere) {
                let known: Vec<&str> = there
                    .split_inclusive('\n')
                    .filter(|line| !is_elsewhere(line.trim_end()))
                    .collect();
                let both = hand_written::merged(Some(&known.concat()), &text, &there);
                text = both.unwrap_or_else(|| {
                    let missing: Vec<&str> = there
                        .split_inclusive('\n')
                        .filter(|line| is_elsewhere(line.trim_end()))
                        .collect();
                    format!("{text}{}", missing.concat())
                });
            }
        }
        ops.insert(
            self.path_in_repo(INDEX_TEXT),
            FileOp::Write(text.into_bytes()),
        );
        for (name, line) in &pieces.lines {
            let place = self.path_in_repo(&format!("{LINES}/{name}"));
            let id = self.there.lines.get(name);
            let known = id.and_then(|id| self.blobs.revision(id));
            if known != Some(Revision::of(line.as_bytes())) {
                ops.insert(place, FileOp::Write(line.clone().into_bytes()));
            }
        }
        let gone = self
            .there
            .lines
            .keys()
            .filter(|name| self.files.contains_key(*name) && !pieces.lines.contains_key(*name));
        for name in gone {
            ops.insert(
                self.path_in_repo(&format!("{LINES}/{name}")),
                FileOp::Remove,
            );
        }
        if self.there.deleted.contains_key(INDEX_TEXT) {
            let stone = self.path_in_repo(&format!("{DELETED}/{INDEX_TEXT}"));
            ops.insert(stone, FileOp::Remove);
        }
        Ok(ops)
    }
}

/// The versions of a hand-written index.
struct IndexTexts {
    agreed: Option<String>,
    on_disk: Option<String>,
    theirs: String,
}

/// The pieces of an index, with the lines of shared memories only.
fn restricted(
    text: &str,
    is_here: impl Fn(&str) -> bool,
    is_shared: impl Fn(&str) -> bool,
) -> IndexPieces {
    let mut pieces = hand_written::divided(text, is_here);
    let hidden = pieces.lines.keys().filter(|name| !is_shared(name));
    let places: HashSet<String> = hidden.map(|name| format!("{{{{{name}}}}}")).collect();
    if !places.is_empty() {
        let lines = pieces.text.split_inclusive('\n');
        let kept = lines.filter(|line| !places.contains(line.trim_end()));
        pieces.text = kept.collect();
        pieces.lines.retain(|name, _| is_shared(name));
    }
    pieces
}
