//! Selects the logs that are searched, all or the current project's, and opens the corpus of them.

mod captured;
mod listing;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use crate::core::disk::parallel::all_cores;
use crate::core::log::keep::kept;
use crate::core::log::{
    Agent, HashedProjects, LogFile, LogLocations, Message, NotUnderstood, Transcript, is_named,
    locate, marked_id, not_understood, read, read_each,
};
use crate::core::memory::citation::{Citation, CitedPart, text_mark};
use crate::core::memory::config::TimelineSettings;
use crate::core::memory::discover::session_slug;
use crate::core::memory::library::LogSummary;
use crate::core::search::index::{BuildOptions, Corpus, Log, Part, Progress, ReadResults};
use crate::core::text::display::safe_line;
use crate::core::{Error, Result};

pub use captured::{CapturedSession, captured_events, captured_sessions};
pub use listing::{Listing, listings};

/// The locations of logs, and which of them are in scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogCatalog {
    /// The locations of logs, including stores that contain one.
    pub locations: LogLocations,
    /// The folder of copies of deleted logs, if these are in scope.
    pub kept: Option<PathBuf>,
    /// The folder of the corpus's cache.
    pub cache: PathBuf,
    /// Which logs are in scope.
    pub scope: LogScope,
    /// How they are summarized.
    pub timeline: TimelineSettings,
}

/// Which logs are in scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogScope {
    /// All logs.
    All,
    /// Logs of the current project, whose folders are [`LogLocations::projects`], its root last.
    Project,
}

/// The corpus of the logs in scope.
#[derive(Debug)]
pub struct ScopedCorpus {
    /// The corpus.
    pub corpus: Corpus,
    /// The logs that could not be read or cached, and why.
    pub unread: Vec<String>,
    /// The number of logs that were not read, because the refresh was cancelled.
    pub left: usize,
}

impl LogCatalog {
    /// Returns what tells its scope from others.
    pub fn scope_name(&self) -> String {
        let path = |path: &PathBuf| path.display().to_string();
        match (self.scope, &self.kept) {
            (LogScope::Project, _) => self.locations.projects.last().map(path).unwrap_or_default(),
            (LogScope::All, Some(_)) => "all".to_owned(),
            (LogScope::All, None) => {
                let stores: Vec<String> = self.locations.stores.iter().map(path).collect();
                stores.join("\n")
            }
        }
    }

    /// Returns every log that is found, whether in scope or not.
    pub fn files(&self) -> Vec<LogFile> {
        let mut found = locate(&self.locations);
        // A session of this project is found in its own location and as a store. Logs are listed by
        // agent, path and id; most ids differ, and are compared faster than paths.
        found.dedup_by(|a, b| (&a.id, a.agent, &a.path) == (&b.id, b.agent, &b.path));
        if let Some(folder) = &self.kept {
            found.extend(kept(folder, &found));
        }
        found
    }

    /// Returns whether a log is in scope.
    pub fn contains(&self, log: &Log<'_>) -> bool {
        if self.scope == LogScope::All {
            return true;
        }
        let path = log.path();
        let hashed = || {
            let folders = self.locations.projects.iter();
            let folders: Vec<_> = folders.map(|folder| folder.to_string_lossy()).collect();
            let known = HashedProjects::new(folders.iter().map(AsRef::as_ref));
            known.project(log.agent()?, &path).map(str::to_owned)
        };
        match log.cwd() {
            Some(cwd) => self.is_in_scope(Some(cwd), &path),
            None => self.is_in_scope(hashed().as_deref(), &path),
        }
    }

    fn is_in_scope(&self, cwd: Option<&str>, path: &Path) -> bool {
        self.scope == LogScope::All || self.is_of_project(cwd, path)
    }

    /// Whether a log is of the current project; true without one.
    fn is_of_project(&self, cwd: Option<&str>, path: &Path) -> bool {
        let projects = &self.locations.projects;
        let Some(root) = projects.last() else {
            return true;
        };
        match cwd {
            Some(cwd) => {
                Path::new(cwd).starts_with(root)
                    || projects.iter().any(|folder| path.starts_with(folder))
            }
            // A session without a header belongs to the project whose session folder it is in; the
            // copy of one has that folder's name in its path.
            None => {
                let slugs = || projects.iter().map(|folder| session_slug(folder));
                let mut sessions = self
                    .locations
                    .sessions
                    .iter()
                    .flat_map(|sessions| slugs().map(|slug| sessions.join(slug)));
                let copy = self
                    .kept
                    .as_ref()
                    .and_then(|kept| path.strip_prefix(kept).ok());
                let is_copy = || {
                    copy.is_some_and(|copy| {
                        slugs().any(|slug| copy.iter().any(|name| name == slug.as_str()))
                    })
                };
                sessions.any(|folder| path.starts_with(folder))
                    || projects.iter().any(|folder| path.starts_with(folder))
                    || is_copy()
            }
        }
    }

    /// Returns the refreshed corpus of these logs, with all of their text.
    pub fn corpus(&self, files: &[LogFile], progress: &dyn Progress) -> Result<Corpus> {
        self.refreshed(files, ReadResults::Now, progress)
    }

    fn refreshed(
        &self,
        files: &[LogFile],
        results: ReadResults,
        progress: &dyn Progress,
    ) -> Result<Corpus> {
        let options = BuildOptions {
            threads: all_cores(),
            results,
        };
        Corpus::refresh(&self.cache, files, options, progress)
    }

    /// Returns the corpus of those of the logs that are in scope. Every log is refreshed,
    /// because only its text has the project.
    pub fn scoped_corpus(
        &self,
        files: &[LogFile],
        results: ReadResults,
        progress: &dyn Progress,
    ) -> Result<ScopedCorpus> {
        let mut corpus = self.refreshed(files, results, progress)?;
        let unread = corpus.problems();
        let left = match results {
            ReadResults::Now => corpus.left().max(corpus.logs_without_results()),
            ReadResults::Later => corpus.left(),
        };
        corpus.keep_logs(|log| self.contains(log));
        Ok(ScopedCorpus {
            corpus,
            unread,
            left,
        })
    }

    /// Returns the messages of a citation such as `codex:ID#L12`, in the order of the log;
    /// `None` if it cites no log in scope. A log that no longer has them is an error.
    pub fn cited_messages(&self, citation: &Citation) -> Result<Option<Vec<Message>>> {
        Ok(self.cited(citation)?.map(|(_, messages)| messages))
    }

    /// Returns them with their log.
    fn cited(&self, citation: &Citation) -> Result<Option<(LogFile, Vec<Message>)>> {
        let Some(agent) = citation.store.as_deref().and_then(Agent::named) else {
            return Ok(None);
        };
        let mut named = self.files();
        named.retain(|log| log.agent == agent && is_named(&citation.path, &log.id, &log.path));
        // A session that was copied to another project keeps its id: the mark tells which is meant.
        if named.len() > 1 && citation.mark.is_none() {
            named = vec![self.one_of(&citation.path, &Vec::from_iter(&named))?];
        }
        let mut is_known = false;
        for file in named {
            let transcript = read(&file)?;
            if self.is_in_scope(transcript.head.cwd.as_deref(), &file.path) {
                is_known = true;
                if let Some(messages) = cited(transcript, citation) {
                    return Ok(Some((file, messages)));
                }
            }
        }
        if is_known {
            let why = "the session does not have this message, or no longer: it was rewritten";
            return Err(Error::refused(citation.to_string(), why));
        }
        Ok(None)
    }

    /// Returns the log with this id, or the only one whose id starts with it; a mark may stand behind
    /// it, and the name of its agent and a colon before it, as in citations. Of several with one id,
    /// that of the current project is meant.
    pub fn log_named(&self, name: &str) -> Result<LogFile> {
        let agent = name.split_once(':');
        let agent = agent.and_then(|(agent, id)| Some((Agent::named(agent)?, id)));
        let (agent, id) = agent.map_or((None, name), |(agent, id)| (Some(agent), id));
        let mut files = self.files();
        files.retain(|log| agent.is_none_or(|agent| log.agent == agent));
        let is_exact = |log: &&LogFile| is_named(id, &log.id, &log.path);
        let begins = |log: &&LogFile| {
            let is_marked = |(id, mark): (&str, &str)| {
                log.id.starts_with(id)
                    && is_named(&format!("{}@{mark}", log.id), &log.id, &log.path)
            };
            log.id.starts_with(id) || id.rsplit_once('@').is_some_and(is_marked)
        };
        let mut found: Vec<&LogFile> = files.iter().filter(is_exact).collect();
        if found.is_empty() {
            found = files.iter().filter(begins).collect();
        }
        match found.as_slice() {
            [] => Err(Error::not_found(format!("log {name}"))),
            [only] => Ok((*only).clone()),
            [first, others @ ..] => match others.iter().find(|other| other.id != first.id) {
                None => self.one_of(name, &found),
                Some(other) => Err(Error::refused(
                    name,
                    format!(
                        "more than one log starts with it: {}, {}; give more of the id",
                        first.id, other.id
                    ),
                )),
            },
        }
    }

    /// Returns a citation of a log with the mark of the one that [`LogCatalog::log_named`] takes, and
    /// any other text as it is. In the scope of a project, its log is the only one. A message that the
    /// citation has a mark of is cited where it is now.
    pub fn marked(&self, reference: &str) -> Result<String> {
        let Ok(citation) = reference.parse::<Citation>();
        let agent = citation.store.as_deref().and_then(Agent::named);
        if citation.mark.is_some()
            && let Some((file, messages)) = self.cited(&citation)?
            && let Some(line) = messages
                .first()
                .and_then(|one| usize::try_from(one.line).ok())
        {
            let now = Citation {
                path: marked_id(&file.id, &file.path),
                part: CitedPart::Lines(line..=line),
                mark: None,
                ..citation
            };
            return Ok(now.to_string());
        }
        let (Some(agent), LogScope::All) = (agent, self.scope) else {
            return Ok(reference.to_owned());
        };
        match self.log_named(&format!("{}:{}", agent.name(), citation.path)) {
            Ok(file) => {
                let path = marked_id(&file.id, &file.path);
                Ok(Citation { path, ..citation }.to_string())
            }
            Err(Error::NotFound { .. }) => Ok(reference.to_owned()),
            Err(error) => Err(error),
        }
    }

    /// Returns the one of these logs with one id that is of the current project.
    fn one_of(&self, id: &str, logs: &[&LogFile]) -> Result<LogFile> {
        let mut own = Vec::new();
        let mut names = Vec::new();
        for log in logs {
            let (head, _) = read_each(log, &mut |_| {})?;
            if self.is_of_project(head.cwd.as_deref(), &log.path) {
                own.push(log);
            }
            let place = head.cwd.unwrap_or_else(|| log.path.display().to_string());
            names.push(format!("{} ({place})", marked_id(&log.id, &log.path)));
        }
        match own.as_slice() {
            [only] => Ok((**only).clone()),
            _ => Err(Error::refused(
                id,
                format!("several logs have this id: {}; name one", names.join(", ")),
            )),
        }
    }
}

/// A shorter text is that of many messages.
const TELLING: usize = 32;

/// Returns the messages of a log that a citation names; `None` if it has none of them.
fn cited(transcript: Transcript, citation: &Citation) -> Option<Vec<Message>> {
    let mut messages = transcript.messages;
    let line = |message: &Message| usize::try_from(message.line).unwrap_or(usize::MAX);
    match (&citation.part, &citation.mark) {
        (CitedPart::Whole, _) => {}
        (CitedPart::Lines(lines), None) => messages.retain(|one| lines.contains(&line(one))),
        (CitedPart::Lines(lines), Some(mark)) => {
            let mut same = messages.iter().filter(|one| text_mark(&one.text) == *mark);
            // One that stands elsewhere now must be the only one, and say something of its own.
            let found = match same.clone().find(|one| lines.contains(&line(one))) {
                Some(there) => there,
                None => {
                    let moved = same.next().filter(|one| one.text.len() >= TELLING)?;
                    same.next().is_none().then_some(moved)?
                }
            };
            let at = line(found);
            messages.retain(|one| line(one) == at);
        }
        (CitedPart::Entry(_), _) => messages.clear(),
    }
    (!messages.is_empty()).then_some(messages)
}

/// Provides the logs to read to a server, whose caller locates them.
pub trait LogProvider: Send + Sync {
    /// Returns the current catalog, because stores with logs can appear and disappear.
    fn log_catalog(&self) -> Result<LogCatalog>;
}

/// Opens a corpus with `open` and calls `read` with it. If the cache turns out to be damaged, both
/// are done once more, because the next refresh rebuilds it.
pub fn read_corpus<C: AsRef<Corpus>, T>(
    open: impl Fn() -> Result<C>,
    read: impl Fn(&C) -> T,
) -> Result<(C, T)> {
    let corpus = open()?;
    let answer = read(&corpus);
    if !corpus.as_ref().is_damaged() {
        return Ok((corpus, answer));
    }
    drop(corpus);
    let corpus = open()?;
    let answer = read(&corpus);
    Ok((corpus, answer))
}

impl AsRef<Corpus> for ScopedCorpus {
    fn as_ref(&self) -> &Corpus {
        &self.corpus
    }
}

/// Returns the time of the last message of a log, or else of the last change of its file.
pub fn last_activity(log: &Log<'_>) -> i64 {
    let last_message = log.span().map(|(_, last)| last);
    last_message.or(log.modified()).unwrap_or(0)
}

/// Returns the id of an agent's session that is running: the one that was continued last, if that
/// was since this time, in milliseconds since 1970 UTC.
pub fn running_session(corpus: &Corpus, agent: Agent, since: i64) -> Option<String> {
    let own = corpus.logs().filter(|log| log.agent() == Some(agent));
    let newest = own.max_by_key(last_activity);
    let running = newest.filter(|log| last_activity(log) >= since);
    running.map(|log| log.id().to_owned())
}

/// Returns what a log is called, with secrets masked; see [`Head::name`].
///
/// [`Head::name`]: crate::core::log::Head::name
pub fn log_title(log: &Log<'_>) -> String {
    if let Some(title) = log.title() {
        return safe_line(title);
    }
    let head = log.facts().map(|(head, _)| head).unwrap_or_default();
    safe_line(head.name(None).unwrap_or_default())
}

/// Returns the logs that are not understood: those of the corpus that have bytes and no text, and
/// databases that cannot be read.
pub fn logs_not_understood(
    catalog: &LogCatalog,
    corpus: &Corpus,
    files: &[LogFile],
) -> Vec<NotUnderstood> {
    let silent: HashSet<(PathBuf, &str)> = corpus
        .logs()
        .filter(|log| Part::ALL.iter().all(|part| log.text_bytes(*part) == 0))
        .map(|log| (log.path(), log.id()))
        .collect();
    let is_silent = |file: &&LogFile| silent.contains(&(file.path.clone(), file.id.as_str()));
    let silent_files = files
        .iter()
        .filter(|_| !silent.is_empty())
        .filter(is_silent);
    not_understood(&catalog.locations, silent_files)
}

/// Returns the logs of a corpus for a list, each with its project.
pub fn log_summaries(corpus: &Corpus, files: &[LogFile]) -> Vec<(String, LogSummary)> {
    let by_place: HashMap<(&Path, &str), &LogFile> = files
        .iter()
        .map(|file| ((file.path.as_path(), file.id.as_str()), file))
        .collect();
    corpus
        .logs()
        .zip(listings(corpus))
        .filter_map(|(log, listing)| {
            let path = log.path();
            let file = *by_place.get(&(path.as_path(), log.id()))?;
            let listed = LogSummary {
                file: file.clone(),
                below: listing.below,
                unlisted: listing.unlisted,
                title: match log_title(&log) {
                    title if title.is_empty() => log.id().to_owned(),
                    title => title,
                },
                time: last_activity(&log),
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;
    use crate::core::search::index::BuildProgress;

    /// Cancels the refresh after this many logs.
    struct After(usize, AtomicUsize);

    fn after(logs: usize) -> After {
        After(logs, AtomicUsize::new(0))
    }

    impl Progress for After {
        fn advance(&self, _: BuildProgress) {
            self.1.fetch_add(1, Ordering::Relaxed);
        }

        fn is_cancelled(&self) -> bool {
            self.1.load(Ordering::Relaxed) > self.0
        }
    }

    const OURS: &str = "11111111-1111-1111-1111-111111111111";
    const THEIRS: &str = "22222222-2222-2222-2222-222222222222";

    /// A home with a log of the project and a log of another.
    fn house() -> (tempfile::TempDir, LogCatalog) {
        let home = tempfile::tempdir().expect("a temporary directory");
        let log = |folder: &str, cwd: &str, (text, id): (&str, &str)| {
            let folder = home.path().join(".claude/projects").join(folder);
            fs::create_dir_all(&folder).expect("folders");
            let line = serde_json::json!({
                "type": "user", "uuid": text, "cwd": cwd, "sessionId": "s",
                "message": { "role": "user", "content": text },
            });
            fs::write(folder.join(id.to_owned() + ".jsonl"), format!("{line}\n")).expect("a log");
        };
        log("-p", "/p", ("ours", OURS));
        log("-elsewhere", "/elsewhere", ("theirs", THEIRS));
        let mut locations = LogLocations::of_home(home.path());
        locations.projects = vec![PathBuf::from("/p")];
        let catalog = LogCatalog {
            locations,
            kept: None,
            cache: home.path().join("cache"),
            scope: LogScope::Project,
            timeline: TimelineSettings::default(),
        };
        (home, catalog)
    }

    #[test]
    fn a_reading_that_was_called_off_has_the_newest_and_says_how_much_is_left() {
        let (_home, catalog) = house();
        let everybodys = LogCatalog {
            scope: LogScope::All,
            ..catalog.clone()
        };
        for file in catalog.files() {
            let time = UNIX_EPOCH + Duration::from_secs(1 + u64::from(file.id == OURS));
            let log = fs::File::options().append(true).open(&file.path);
            log.and_then(|log| log.set_modified(time)).expect("set");
        }
        let logs = |catalog: &LogCatalog, progress: &dyn Progress| {
            let scoped = catalog.scoped_corpus(&catalog.files(), ReadResults::Now, progress);
            let scoped = scoped.expect("readable");
            let ids: Vec<_> = scoped
                .corpus
                .logs()
                .map(|log| log.id().to_owned())
                .collect();
            (ids, scoped.left)
        };
        let ours = vec![OURS.to_owned()];
        let both = vec![THEIRS.to_owned(), OURS.to_owned()];
        assert_eq!(logs(&everybodys, &after(0)), (Vec::new(), 2));
        assert_eq!(logs(&everybodys, &after(1)), (ours.clone(), 1));
        assert_eq!(logs(&everybodys, &()), (both.clone(), 0));
        assert_eq!(logs(&catalog, &after(0)), (ours, 0));
        // A log that has grown is left, too.
        for file in catalog.files() {
            let text = fs::read_to_string(&file.path).expect("a log");
            fs::write(&file.path, text.clone() + &text).expect("written");
        }
        assert_eq!(logs(&everybodys, &after(1)), (both.clone(), 1));
        assert_eq!(logs(&everybodys, &()), (both, 0));
    }

    #[test]
    fn a_cited_message_is_read_where_its_log_is_in_scope() {
        let (_home, catalog) = house();
        let quote = |citation: &str| {
            let Ok(citation) = citation.parse::<Citation>();
            let quoted = catalog.cited_messages(&citation).ok()?;
            quoted.map(|messages| {
                messages
                    .iter()
                    .map(|one| one.text.clone())
                    .collect::<Vec<_>>()
            })
        };
        let [ours, theirs] = [OURS, THEIRS].map(|id| format!("claude-code:{id}"));
        assert_eq!(quote(&format!("{ours}#L1")), Some(vec!["ours".to_owned()]));
        assert_eq!(quote(&ours), Some(vec!["ours".to_owned()]));
        assert_eq!(quote(&format!("{ours}#L2")), None);
        assert_eq!(quote(&format!("{theirs}#L1")), None);
        assert_eq!(quote("some-store:a.md"), None);
    }
}
