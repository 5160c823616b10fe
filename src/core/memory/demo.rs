//! An embedded sample: a home directory with a project, every layout and the logs of three
//! agents, dated so that the newest memory is of this week. Only the commits of the project's
//! git history have fixed dates, since their ids depend on them.

use std::fs;
use std::path::{Path, PathBuf};

use include_dir::{Dir, DirEntry, include_dir};

use crate::core::memory::discover::{claude_slug, session_slug};
use crate::core::text::time::Moment;
use crate::core::{Error, Result};

static FILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/assets/demo");

/// The directories of the unpacked sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Demo {
    /// The home directory.
    pub home: PathBuf,
    /// The project, to be used as the working directory.
    pub project: PathBuf,
}

/// Writes the sample below `root`, with dates relative to `moment`.
pub fn unpack(root: &Path, moment: &Moment) -> Result<Demo> {
    let root = root.canonicalize().map_err(|e| Error::io(root, e))?;
    let demo = Demo {
        home: root.join("home"),
        project: root.join("home/shop"),
    };
    let filling = Filling {
        words: [
            ("@PROJECT@", demo.project.display().to_string()),
            ("@CLAUDE_SLUG@", claude_slug(&demo.project)),
            ("@SESSION_SLUG@", session_slug(&demo.project)),
            // A folder of that name cannot be committed to a repository.
            ("@GIT@", ".git".to_owned()),
        ],
        moment,
    };
    for file in files(&FILES) {
        let path = filling.filled(&file.path().to_string_lossy());
        let path = match path.strip_prefix("shop/") {
            Some(below) => demo.project.join(below),
            None => root.join(&path),
        };
        let folder = path.parent().unwrap_or(&root);
        fs::create_dir_all(folder).map_err(|e| Error::io(folder, e))?;
        // Files that are not text, such as a pack of git, have no placeholders.
        let template = file.contents_utf8().unwrap_or_default();
        let written = match template {
            "" => fs::write(&path, file.contents()),
            template => fs::write(&path, filling.filled(template)),
        };
        written.map_err(|e| Error::io(&path, e))?;
        let aged = fs::File::options().write(true).open(&path);
        let aged = aged.and_then(|opened| opened.set_modified(filling.age_of(template).into()));
        aged.map_err(|e| Error::io(&path, e))?;
    }
    Ok(demo)
}

fn files<'a>(dir: &'a Dir<'a>) -> Vec<&'a include_dir::File<'a>> {
    let entries = dir.entries().iter();
    entries
        .flat_map(|entry| match entry {
            DirEntry::Dir(dir) => files(dir),
            DirEntry::File(file) => vec![file],
        })
        .collect()
}

/// The values of the placeholders in the sample.
struct Filling<'a> {
    words: [(&'static str, String); 4],
    moment: &'a Moment,
}

impl Filling<'_> {
    fn filled(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (mark, word) in &self.words {
            text = text.replace(mark, word);
        }
        for mark in ["@DAY-", "@TIME-", "@MS-"] {
            text = self.dated(&text, mark);
        }
        text
    }

    /// Returns the modification time of a file: the latest day in its text, or else 40 days ago.
    fn age_of(&self, text: &str) -> jiff::Timestamp {
        let marks = ["@DAY-", "@TIME-", "@MS-"];
        let days = marks.iter().flat_map(|mark| text.split(mark).skip(1));
        let days = days.filter_map(|rest| rest.split(['@', ':']).next()?.parse::<i64>().ok());
        let hours = jiff::Span::new().hours(days.min().unwrap_or(40) * 24);
        self.moment
            .time
            .checked_sub(hours)
            .unwrap_or(self.moment.time)
    }

    /// Returns `text` with each `@MARK-days[:hour:minute]@` replaced by that time.
    fn dated(&self, text: &str, mark: &str) -> String {
        let mut parts = text.split(mark);
        let mut out = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            match part
                .split_once('@')
                .and_then(|(when, rest)| Some((self.time(mark, when)?, rest)))
            {
                Some((time, rest)) => {
                    out.push_str(&time);
                    out.push_str(rest);
                }
                None => {
                    out.push_str(mark);
                    out.push_str(part);
                }
            }
        }
        out
    }

    fn time(&self, mark: &str, when: &str) -> Option<String> {
        let mut numbers = when.split(':').map(|number| number.parse::<i64>().ok());
        let days = numbers.next()??;
        let hour = numbers.next().flatten().unwrap_or(12);
        let minute = numbers.next().flatten().unwrap_or(0);
        let today = self.moment.time.as_second().div_euclid(86_400) * 86_400;
        let second = today - days * 86_400 + hour * 3_600 + minute * 60;
        let time = jiff::Timestamp::from_second(second).ok()?;
        Some(match mark {
            "@DAY-" => time.strftime("%Y-%m-%d").to_string(),
            "@TIME-" => time.strftime("%Y-%m-%dT%H:%M:%S.000Z").to_string(),
            _ => time.as_millisecond().to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::log::{LogLocations, locate, read};
    use crate::core::memory::config::Settings;
    use crate::core::memory::discover::{DiscoveryScope, Environment, discover};
    use crate::core::memory::layout::Layout;

    fn unpacked() -> (tempfile::TempDir, Demo) {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let moment = Moment {
            time: jiff::Timestamp::from_second(1_790_000_000).expect("a time"),
            today: jiff::civil::date(2026, 9, 21),
        };
        let demo = unpack(temp.path(), &moment).expect("unpacks");
        (temp, demo)
    }

    #[test]
    fn every_layout_is_in_the_sample_and_sound() {
        let (_temp, demo) = unpacked();
        let data = demo.home.join("data");
        let around = Environment::of_home(&demo.home, demo.project.clone(), data);
        let found = discover(&around, &Settings::default(), DiscoveryScope::Project);
        assert!(found.problems.is_empty(), "{:?}", found.problems);
        let mut layouts: Vec<Layout> = found
            .stores
            .iter()
            .map(|found| found.store.layout())
            .collect();
        layouts.sort();
        layouts.dedup();
        assert_eq!(layouts.len(), Layout::ALL.len());
        for found in &found.stores {
            for memory in found.store.list().expect("lists") {
                assert_eq!(memory.problem, None, "{}", memory.path);
                assert!(!memory.summary.contains('@'), "{}", memory.summary);
            }
        }
    }

    #[test]
    fn three_agents_speak_in_the_sample() {
        let (_temp, demo) = unpacked();
        let logs = locate(&LogLocations::of_home(&demo.home));
        let mut agents: Vec<&str> = logs.iter().map(|log| log.agent.name()).collect();
        agents.dedup();
        assert_eq!(agents, ["claude-code", "codex", "gemini", "session"]);
        let project = demo.project.display().to_string();
        let mut times = Vec::new();
        for log in &logs {
            let head = read(log).map(|transcript| {
                assert_eq!(transcript.skipped.total(), 0, "{}", log.path.display());
                transcript.head
            });
            let head = head.expect("reads");
            assert!(head.turns > 0, "{}", log.path.display());
            assert_eq!(head.cwd.as_deref(), Some(project.as_str()));
            times.push(head.last.expect("a time"));
        }
        let span = times.iter().max().expect("logs") - times.iter().min().expect("logs");
        assert!(span > 90 * 86_400_000, "some months: {span} ms");
    }

    #[test]
    fn the_project_of_the_sample_has_a_git_history() {
        let (_temp, demo) = unpacked();
        let git = demo.project.join(".git");
        let head = fs::read_to_string(git.join("HEAD")).expect("HEAD");
        let branch = head.trim().strip_prefix("ref: ").expect("a branch");
        let commit = fs::read_to_string(git.join(branch)).expect("a commit");
        assert_eq!(commit.trim().len(), 40);
        let packs = fs::read_dir(git.join("objects/pack")).expect("packs");
        for pack in packs.flatten() {
            let bytes = fs::read(pack.path()).expect("bytes");
            let known: [&[u8]; 2] = [b"PACK", b"\xfftOc"];
            assert!(known.contains(&&bytes[..4]), "{}", pack.path().display());
        }
    }
}
