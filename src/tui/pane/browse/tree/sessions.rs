//! The rows of the logs: by agent, by project, subagents below the log that started them.

use std::collections::HashMap;

use super::{Fold, Node, TreeBuilder, contains};
use crate::core::memory::library::{LogGroup, LogSummary};

impl TreeBuilder<'_> {
    pub(super) fn sessions(&mut self) {
        let shown = |at: usize| -> Vec<usize> {
            let LogGroup {
                agent,
                project,
                logs,
            } = &self.library.logs[at];
            let has = |log: &LogSummary, word: &String| {
                [agent.name(), project, &log.title]
                    .iter()
                    .any(|text| contains(text, word))
            };
            let words = &self.options.filter;
            (0..logs.len())
                .filter(|log| logs[*log].has_row())
                .filter(|log| words.iter().all(|word| has(&logs[*log], word)))
                .collect()
        };
        let log_groups: Vec<(usize, Vec<usize>)> = (0..self.library.logs.len())
            .map(|at| (at, shown(at)))
            .filter(|(_, logs)| !logs.is_empty())
            .collect();
        // Only sessions are counted, not what hangs below them.
        let own = |(at, logs): &(usize, Vec<usize>)| -> usize {
            let all = &self.library.logs[*at].logs;
            let is_own = |log: &&usize| all[**log].unlisted.is_none();
            logs.iter().filter(is_own).count()
        };
        let count =
            |log_groups: &[(usize, Vec<usize>)]| -> usize { log_groups.iter().map(own).sum() };
        if log_groups.is_empty() {
            return;
        }
        // Open if the tree has no other rows.
        let fold = if self.tree.rows.is_empty() {
            Fold::Open
        } else {
            Fold::Closed
        };
        let row = self.push(Node::Sessions, 0);
        if !self.foldable(row, count(&log_groups), fold) {
            return;
        }
        let agent = |at: usize| self.library.logs[at].agent;
        for same in log_groups.chunk_by(|a, b| agent(a.0) == agent(b.0)) {
            let row = self.push(Node::Agent(same[0].0), 1);
            if !self.foldable(row, count(same), Fold::Closed) {
                continue;
            }
            for group in same {
                let (at, logs) = group;
                // A single project gets no row.
                if same.len() == 1 {
                    self.logs(*at, logs, 2);
                    continue;
                }
                let row = self.push(Node::LogGroup(*at), 2);
                if self.foldable(row, own(group), Fold::Closed) {
                    self.logs(*at, logs, 3);
                }
            }
        }
    }

    /// Adds the logs of a group, subagents below the log that started them.
    fn logs(&mut self, at: usize, shown: &[usize], depth: u16) {
        let all = &self.library.logs[at].logs;
        let is_shown = |log: &usize| shown.binary_search(log).is_ok();
        let mut children: HashMap<usize, usize> = HashMap::new();
        for parent in shown.iter().filter_map(|log| all[*log].parent) {
            *children.entry(parent).or_default() += 1;
        }
        // The depth of the subagent rows of each open log.
        let mut open: HashMap<usize, u16> = HashMap::new();
        for log in shown {
            let depth = match all[*log].parent.filter(is_shown) {
                None => depth,
                Some(parent) => match open.get(&parent) {
                    Some(depth) => *depth,
                    None => continue,
                },
            };
            let row = self.push(Node::Log(at, *log), depth);
            let children = children.get(log).copied().unwrap_or(0);
            if children > 0 && self.foldable(row, children, Fold::Closed) {
                open.insert(*log, depth + 1);
            }
        }
    }
}
