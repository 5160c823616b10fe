//! The logs that are meant: what every door that lists or searches logs needs. Searching them is
//! [`crate::core::search`], which imports this module and not the other way round.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::Result;
use super::citation::{Citation, Part};
use super::corpus::{Busy, Corpus, Effort, Log, Progress};
use super::discover::session_slug;
use super::keep::kept;
use super::library::Listed;
use super::log::{Agent, LogFile, Message, Places, locate, read};
use super::shown::safe_line;

/// Where the logs are, and which of them are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Archive {
    /// Where logs are looked for, the roots of stores that hold one among them.
    pub places: Places,
    /// Where copies of swept logs are kept, where those are meant, too.
    pub kept: Option<PathBuf>,
    /// Where the text of the logs is cached.
    pub cache: PathBuf,
    /// Whose logs are meant.
    pub whose: Whose,
}

/// Whose logs are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// All that are found.
    Everybodys,
    /// Those of the project whose folders [`Places::projects`] names, its root last.
    Projects,
}

/// The corpus of the logs that are meant.
#[derive(Debug)]
pub struct Meant {
    /// Their text.
    pub corpus: Corpus,
    /// Which logs could not be read or kept, and why.
    pub unread: Vec<String>,
    /// How many logs were left for another time, because the reading was called off.
    pub left: usize,
}

impl Archive {
    /// Returns every log that can be found, meant or not.
    pub fn files(&self) -> Vec<LogFile> {
        let mut found = locate(&self.places);
        // A session of this project is found in its own place and as a store.
        found.sort_by(|a, b| (a.agent, &a.path, &a.id).cmp(&(b.agent, &b.path, &b.id)));
        found.dedup_by(|a, b| (a.agent, &a.path, &a.id) == (b.agent, &b.path, &b.id));
        if let Some(folder) = &self.kept {
            found.extend(kept(folder, &found));
        }
        found
    }

    /// Tells whether a log is one of those that are meant.
    pub fn holds(&self, log: &Log<'_>) -> bool {
        self.is_meant(log.cwd(), &log.path())
    }

    fn is_meant(&self, cwd: Option<&str>, path: &Path) -> bool {
        let projects = &self.places.projects;
        let (Whose::Projects, Some(root)) = (self.whose, projects.last()) else {
            return true;
        };
        match cwd {
            Some(cwd) => {
                Path::new(cwd).starts_with(root)
                    || projects.iter().any(|folder| path.starts_with(folder))
            }
            // A session without a header is where the sessions of its project are.
            None => {
                let mut sessions = self.places.sessions.iter().flat_map(|sessions| {
                    let slugs = projects.iter().map(|folder| session_slug(folder));
                    slugs.map(|slug| sessions.join(slug))
                });
                sessions.any(|folder| path.starts_with(folder))
                    || projects.iter().any(|folder| path.starts_with(folder))
            }
        }
    }

    /// Returns the corpus of these logs, brought up to date.
    pub fn corpus(&self, files: &[LogFile], progress: &dyn Progress) -> Result<Corpus> {
        let effort = Effort {
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            busy: Busy::Wait,
        };
        Corpus::refresh(&self.cache, files, effort, progress)
    }

    /// Returns the corpus of those of the logs that are meant. Every log is brought up to date:
    /// only its text tells which project it is of.
    pub fn meant(&self, files: &[LogFile], progress: &dyn Progress) -> Result<Meant> {
        let all = self.corpus(files, progress)?;
        let mut unread: Vec<String> = all.unread().iter().map(ToString::to_string).collect();
        let left = match progress.is_cancelled() {
            true => files.len().saturating_sub(all.logs().len() + unread.len()),
            false => 0,
        };
        if let Some(error) = all.unkept() {
            unread.push(format!("{error}: the logs are read anew every time"));
        }
        let meant: HashSet<(PathBuf, String)> = all
            .logs()
            .filter(|log| self.holds(log))
            .map(|log| (log.path(), log.id().to_owned()))
            .collect();
        let corpus = if meant.len() == all.logs().len() {
            all
        } else {
            let is_meant = |log: &&LogFile| meant.contains(&(log.path.clone(), log.id.clone()));
            let files: Vec<LogFile> = files.iter().filter(is_meant).cloned().collect();
            self.corpus(&files, progress)?
        };
        Ok(Meant {
            corpus,
            unread,
            left,
        })
    }

    /// Returns the messages that a citation such as `codex:ID#L12` means, in the order of the
    /// log; `None` where it means no log.
    pub fn quote(&self, citation: &Citation) -> Result<Option<Vec<Message>>> {
        let Some(agent) = citation.store.as_deref().and_then(Agent::named) else {
            return Ok(None);
        };
        let files = self.files();
        let is_it = |log: &&LogFile| log.agent == agent && log.id == citation.path;
        let Some(file) = files.iter().find(is_it) else {
            return Ok(None);
        };
        let transcript = read(file)?;
        if !self.is_meant(transcript.head.cwd.as_deref(), &file.path) {
            return Ok(None);
        }
        let is_cited = |message: &Message| match &citation.part {
            Part::Whole => true,
            Part::Lines(lines) => {
                usize::try_from(message.line).is_ok_and(|line| lines.contains(&line))
            }
            Part::Entry(_) => false,
        };
        let messages: Vec<Message> = transcript.messages.into_iter().filter(is_cited).collect();
        Ok((!messages.is_empty()).then_some(messages))
    }
}

/// When something was last said in a log, or else when its file was last changed.
pub fn last_change(log: &Log<'_>) -> i64 {
    let said = log.span().map(|(_, last)| last);
    said.or(log.stamp().1).unwrap_or(0)
}

/// What a log is called: its title, or how it began; secrets are masked there, too.
pub fn title(log: &Log<'_>) -> String {
    let title = log.title().map(str::to_owned);
    let title = title.or_else(|| log.facts()?.0.first_prompt);
    safe_line(&title.unwrap_or_default())
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::corpus::Tally;
    use super::*;

    /// Calls the reading off before it begins.
    struct Hurried;

    impl Progress for Hurried {
        fn advance(&self, _: Tally) {}

        fn is_cancelled(&self) -> bool {
            true
        }
    }

    const OURS: &str = "11111111-1111-1111-1111-111111111111";
    const THEIRS: &str = "22222222-2222-2222-2222-222222222222";

    /// A home with a log of the project and one of another.
    fn house() -> (tempfile::TempDir, Archive) {
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
        let mut places = Places::of_home(home.path());
        places.projects = vec![PathBuf::from("/p")];
        let archive = Archive {
            places,
            kept: None,
            cache: home.path().join("cache"),
            whose: Whose::Projects,
        };
        (home, archive)
    }

    fn logs(archive: &Archive, progress: &dyn Progress) -> (usize, usize) {
        let meant = archive.meant(&archive.files(), progress).expect("readable");
        (meant.corpus.logs().len(), meant.left)
    }

    #[test]
    fn a_reading_that_was_called_off_says_how_much_is_left() {
        let (_home, archive) = house();
        assert_eq!(logs(&archive, &Hurried), (0, 2));
        assert_eq!(logs(&archive, &()), (1, 0));
        assert_eq!(logs(&archive, &Hurried), (1, 0));
        let everybodys = Archive {
            whose: Whose::Everybodys,
            ..archive
        };
        assert_eq!(logs(&everybodys, &()), (2, 0));
    }

    #[test]
    fn a_message_is_quoted_where_its_log_is_meant() {
        let (_home, archive) = house();
        let quote = |citation: &str| {
            let Ok(citation) = citation.parse::<Citation>();
            let quoted = archive.quote(&citation).expect("readable");
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
