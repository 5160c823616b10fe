//! Former versions of nodes: what a node said before its session grew, another session joined it, or
//! another summarizer was chosen. Of each node the last few are kept, in a file of the cache.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::node::NodeId;
use super::record::{LogRecord, Record};
use super::{Node, Timeline, tree};
use crate::core::disk::foreign::{LARGEST_LOG, read_text};
use crate::core::disk::private;

/// The file of the cache: a version on each line, oldest first.
const FILE: &str = "versions.jsonl";

/// The most former versions of a node, and the most bytes of all of them.
const MOST: usize = 5;
const MOST_BYTES: usize = 16 << 20;

/// A former version.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Former {
    /// Which logs a day, week, month or year is about; empty for segments and sessions.
    scope: String,
    /// Its number, from 1.
    number: usize,
    node: Node,
}

/// A version of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VersionedNode {
    /// The node, as it is in this version.
    #[serde(flatten)]
    pub node: Node,
    /// The number of the version, from 1.
    pub version: usize,
    /// The numbers of the former versions that are kept.
    #[serde(rename = "former_versions")]
    pub kept: Vec<usize>,
}

impl Timeline {
    /// Returns some nodes with the numbers of their versions.
    pub fn versions(&self, nodes: Vec<Node>) -> Vec<VersionedNode> {
        let mut kept: HashMap<String, Vec<usize>> = HashMap::new();
        for former in self.former_versions() {
            kept.entry(former.node.id).or_default().push(former.number);
        }
        let versions = nodes.into_iter().map(|node| {
            let kept = kept.remove(&node.id).unwrap_or_default();
            VersionedNode {
                version: kept.last().map_or(1, |last| last + 1),
                node,
                kept,
            }
        });
        versions.collect()
    }

    /// Returns a former version of a node, if it is kept.
    pub fn former_version(&self, id: &str, number: usize) -> Option<Node> {
        let mut former = self.former_versions().into_iter();
        let found = former.find(|former| former.number == number && former.node.id == id);
        found.map(|former| former.node)
    }

    /// The former versions of the nodes in scope.
    pub(super) fn former_versions(&self) -> Vec<Former> {
        let text = self.version_lines();
        let former = text.lines().filter_map(private::of_cache_line);
        let former = former.filter(|one: &Former| one.scope == self.scope_of(&one.node.id));
        former.collect()
    }

    fn version_lines(&self) -> String {
        let text = read_text(&self.cache.join(FILE), LARGEST_LOG);
        text.ok().flatten().unwrap_or_default()
    }

    /// Segments and sessions are the same whatever else is in scope.
    fn scope_of(&self, id: &str) -> &str {
        let is_one_log = id.starts_with("log:") || id.starts_with("toc:segment:");
        if is_one_log { "" } else { &self.scope }
    }

    /// Keeps the nodes of an earlier state of this timeline that say something else now. Where they
    /// cannot be written, nothing is kept.
    pub fn keep_versions(&self, before: &Self) {
        let former = self.rewritten(before);
        if former.is_empty() {
            return;
        }
        let text = self.version_lines();
        let known = text.lines().filter_map(private::of_cache_line);
        let mut all: Vec<Former> = known.collect();
        for node in former {
            let scope = self.scope_of(&node.id).to_owned();
            let is_it = |one: &Former| one.node.id == node.id && one.scope == scope;
            let same: Vec<usize> = (0..all.len()).filter(|at| is_it(&all[*at])).collect();
            let number = same.last().map_or(1, |last| all[*last].number + 1);
            if same.len() >= MOST {
                all.remove(same[0]);
            }
            all.push(Former {
                scope,
                number,
                node,
            });
        }
        let lines: Vec<String> = all.iter().filter_map(private::to_cache_line).collect();
        let mut left = MOST_BYTES;
        let is_kept = |line: &&String| {
            left = left.saturating_sub(line.len() + 1);
            left > 0
        };
        let kept = lines.iter().rev().take_while(is_kept).count();
        let text = lines[lines.len() - kept..].join("\n") + "\n";
        private::replace_cache(&self.cache.join(FILE), &text);
    }

    /// The nodes of an earlier state that are not the same in this one.
    fn rewritten(&self, before: &Self) -> Vec<Node> {
        let mut found = Vec::new();
        let mut above: BTreeSet<NodeId> = BTreeSet::new();
        for (old, new) in before.logs.iter().zip(&self.logs) {
            let (old, new) = (old.record.as_ref(), new.record.as_ref());
            if let (Some(old), Some(new)) = (old, new)
                && !Arc::ptr_eq(old, new)
            {
                let whole = |log| tree::whole(log, &self.zone);
                found.extend(whole(old).filter(|old| differs(old, whole(new))));
                let others = by_id(new);
                for segment in &old.segments {
                    let id = segment.node(&self.zone).to_string();
                    let node = |log, one| tree::of_record(log, one, id.clone(), "segment");
                    let other = others.get(segment.id.as_str());
                    let other = other.map(|other| node(new, other));
                    found.extend(Some(node(old, segment)).filter(|old| differs(old, other)));
                }
            }
            let parts = old.map_or(0, |old| old.segments.len());
            let old = old.map(|old| by_id(old)).unwrap_or_default();
            let segments = new.iter().flat_map(|new| &new.segments);
            let changed = segments.filter(|one| old.get(one.id.as_str()) != Some(one));
            above.extend(
                changed
                    .flat_map(|one| one.node(&self.zone).above())
                    .map(|(id, _)| id),
            );
            if new.is_none_or(|new| new.segments.len() < parts) {
                let gone = old.values().flat_map(|one| one.node(&self.zone).above());
                above.extend(gone.map(|(id, _)| id));
            }
        }
        // A timeline of which less than half was known is built, not rewritten.
        let unknown = before.logs.iter().filter(|log| log.record.is_none());
        if 2 * unknown.count() > before.logs.len() {
            return found;
        }
        let (old, new) = (before.tree(), self.tree());
        let old = above.iter().filter_map(|id| Some((id, old.node(id)?)));
        let changed = old.filter(|(id, old)| differs(old, new.node(id)));
        found.extend(changed.map(|(_, old)| old));
        found
    }
}

/// Whether a node says something else than its successor.
fn differs(old: &Node, new: Option<Node>) -> bool {
    new.is_some_and(|new| new.revision != old.revision)
}

fn by_id(log: &LogRecord) -> HashMap<&str, &Record> {
    let segments = log.segments.iter();
    segments.map(|one| (one.id.as_str(), one)).collect()
}
