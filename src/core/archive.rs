//! The archive: which logs are meant where somebody stands, and the corpus over them.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::Result;
use super::corpus::{Busy, Corpus, Effort, Log, Progress};
use super::keep::kept;
use super::library::Listed;
use super::log::{LogFile, Places, clean, locate};
use super::memory::one_line;

/// Where logs are, and which of them are meant; a door fills it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Archive {
    /// Where agents keep their logs.
    pub places: Places,
    /// Where copies of logs are kept, where those count.
    pub kept: Option<PathBuf>,
    /// Where the text of the logs is cached.
    pub cache: PathBuf,
    /// The folders of the project that is meant, the outermost last; empty for every project.
    pub project: Vec<PathBuf>,
}

impl Archive {
    /// Every log that can be found, of whatever project, kept copies of swept ones included.
    pub fn locate(&self) -> Vec<LogFile> {
        let mut found = locate(&self.places);
        // A session of this project is found in its own place and as a store.
        found.sort_by(|a, b| (a.agent, &a.path, &a.id).cmp(&(b.agent, &b.path, &b.id)));
        found.dedup_by(|a, b| (a.agent, &a.path, &a.id) == (b.agent, &b.path, &b.id));
        if let Some(dir) = &self.kept {
            found.extend(kept(dir, &found));
        }
        found
    }

    /// The corpus of `logs`, brought up to date.
    pub fn corpus(&self, logs: &[LogFile], progress: &dyn Progress) -> Result<Corpus> {
        let effort = Effort {
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            busy: Busy::Wait,
        };
        Corpus::refresh(&self.cache, logs, effort, progress)
    }

    /// The corpus of those of the logs that are meant. Every log is brought up to date: only its
    /// text tells which project it is of.
    pub fn meant(&self, logs: &[LogFile], progress: &dyn Progress) -> Result<Corpus> {
        let all = self.corpus(logs, progress)?;
        let meant: HashSet<(PathBuf, String)> = all
            .logs()
            .filter(|log| self.is_meant(log))
            .map(|log| (log.path(), log.id().to_owned()))
            .collect();
        if meant.len() == all.logs().len() {
            return Ok(all);
        }
        let logs: Vec<LogFile> = logs
            .iter()
            .filter(|log| meant.contains(&(log.path.clone(), log.id.clone())))
            .cloned()
            .collect();
        let unread = all.into_unread();
        Ok(self.corpus(&logs, &())?.without(unread))
    }

    /// Whether a log belongs to the project that is meant.
    pub fn is_meant(&self, log: &Log<'_>) -> bool {
        let Some(root) = self.project.last() else {
            return true;
        };
        log.cwd()
            .is_some_and(|cwd| Path::new(cwd).starts_with(root))
            || self
                .project
                .iter()
                .any(|folder| log.path().starts_with(folder))
    }
}

/// When something was last said in a log, or else when its file was last changed.
pub fn last_change(log: &Log<'_>) -> i64 {
    let said = log.span().map(|(_, last)| last);
    said.or(log.stamp().1).unwrap_or(0)
}

/// What a log is called: its title, or how it began.
pub fn title(log: &Log<'_>) -> String {
    let title = log.title().map(str::to_owned);
    let title = title.or_else(|| log.facts()?.0.first_prompt);
    one_line(&clean(&title.unwrap_or_default()))
}

/// The logs of a corpus as a list shows them, each with its project.
pub fn listed(corpus: &Corpus, files: &[LogFile]) -> Vec<(String, Listed)> {
    let by_place: HashMap<(&Path, &str), &LogFile> = files
        .iter()
        .map(|file| ((file.path.as_path(), file.id.as_str()), file))
        .collect();
    corpus
        .logs()
        .filter_map(|log| {
            let path = log.path();
            let file = *by_place.get(&(path.as_path(), log.id()))?;
            let listed = Listed {
                file: file.clone(),
                title: match title(&log) {
                    title if title.is_empty() => log.id().to_owned(),
                    title => title,
                },
                time: last_change(&log),
                turns: log.turns(),
                cwd: log.cwd().map(str::to_owned),
                session: log.facts().and_then(|(head, _)| head.session),
                parent: None,
            };
            let project = log.cwd().unwrap_or_default().to_owned();
            Some((project, listed))
        })
        .collect()
}
