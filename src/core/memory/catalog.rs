//! Which logs are in scope, all or the current project's, and which of them a name or a citation
//! means.

use std::path::{Path, PathBuf};

use crate::core::log::keep::kept;
use crate::core::log::{
    Agent, HashedProjects, LogFile, LogLocations, Message, Transcript, is_named, locate, marked_id,
    read, read_each,
};
use crate::core::memory::citation::{Citation, CitedPart, text_mark};
use crate::core::memory::config::TimelineSettings;
use crate::core::memory::discover::session_slug;
use crate::core::{Error, Result};

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

    /// Returns whether a log is in scope, by its agent, its working directory and its file.
    pub fn admits(&self, agent: Option<Agent>, cwd: Option<&str>, path: &Path) -> bool {
        let hashed = || {
            let folders = self.locations.projects.iter();
            let folders: Vec<_> = folders.map(|folder| folder.to_string_lossy()).collect();
            let known = HashedProjects::new(folders.iter().map(AsRef::as_ref));
            known.project(agent?, path).map(str::to_owned)
        };
        self.scope == LogScope::All
            || match cwd {
                Some(cwd) => self.is_of_project(Some(cwd), path),
                None => self.is_of_project(hashed().as_deref(), path),
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
    /// that of the current project is meant. Where the log is named otherwise than its session, the
    /// session's own id means it, too.
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
        if found.is_empty() {
            found = files.iter().filter(|log| is_session(log, id)).collect();
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

/// Whether this is the id of the session of a log, or its beginning. Gemini CLI names a log by the
/// session's time and the first eight characters of its id.
fn is_session(log: &LogFile, id: &str) -> bool {
    let Some(start) = id.get(..8) else {
        return false;
    };
    log.parent.is_none()
        && log.id.ends_with(start)
        && read(log).is_ok_and(|transcript| {
            let session = transcript.head.session;
            session.is_some_and(|session| session.starts_with(id))
        })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

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

    #[test]
    fn the_id_of_a_session_means_its_log_of_another_name() {
        let (home, catalog) = house();
        let chats = home.path().join(".gemini/tmp/p/chats");
        let id = "39fb98c2-ae4b-4bef-8b9f-64b031a4e4b0";
        let head = format!("{{\"sessionId\":\"{id}\",\"kind\":\"main\"}}\n");
        fs::create_dir_all(chats.join(id)).expect("folders");
        let name = "session-2026-11-19T23-47-39fb98c2";
        fs::write(chats.join(name.to_owned() + ".jsonl"), head).expect("a log");
        let task = "{\"sessionId\":\"task\",\"kind\":\"subagent\"}\n";
        fs::write(chats.join(id).join("task.jsonl"), task).expect("a log");
        for given in [id, "39fb98c2-ae4b", "39fb98c2", &format!("gemini:{id}")] {
            let log = catalog.log_named(given).expect(given);
            assert_eq!(log.id, name);
        }
        assert!(catalog.log_named("39fb98c2-0000").is_err());
    }
}
