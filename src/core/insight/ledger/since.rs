//! Since when a memory exists: the earliest time that its header, the history, git, the logs or the
//! file itself tell. A session that began before could not have it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::core::change::history::History;
use crate::core::insight::curate::git::Git;
use crate::core::insight::timeline::record::{load, save};
use crate::core::memory::Memory;

/// When git first had files, as it was kept for a commit.
type KeptTimes = (String, Vec<PathBuf>, HashMap<PathBuf, i64>);

/// Returns when a memory was made, as its header says, or else when its file was last changed; in
/// milliseconds since 1970.
pub(super) fn written(memory: &Memory) -> i64 {
    let day = memory.created.as_deref().and_then(|text| {
        let day: jiff::civil::Date = text.trim().get(..10)?.parse().ok()?;
        let day = day.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
        Some(day.timestamp().as_millisecond())
    });
    let time = if memory.modified == 0 {
        i64::MAX
    } else {
        memory.modified
    };
    day.map_or(time, |day| day.min(time))
}

/// Returns when the history first has each file.
pub(super) fn recorded(history: &History) -> HashMap<PathBuf, i64> {
    let mut first = HashMap::new();
    // A history that cannot be read tells nothing.
    for record in history.records().unwrap_or_default() {
        for (file, _) in record.written() {
            let time = first.entry(file).or_insert(record.time);
            *time = record.time.min(*time);
        }
    }
    first
}

/// Returns when git first has those of these files that it tracks. Git is asked again when its work
/// tree is at another commit, or for other files.
pub(super) fn committed(git: &Git, files: &[PathBuf], cache: &Path) -> HashMap<PathBuf, i64> {
    let mut trees: HashMap<&Path, Vec<PathBuf>> = HashMap::new();
    for file in files {
        let tree = file
            .ancestors()
            .skip(1)
            .find(|above| above.join(".git").exists());
        if let Some(tree) = tree {
            trees.entry(tree).or_default().push(file.clone());
        }
    }
    let mut first = HashMap::new();
    for (tree, files) in trees {
        first.extend(of_tree(git, tree, files, cache).unwrap_or_default());
    }
    first
}

fn of_tree(
    git: &Git,
    tree: &Path,
    files: Vec<PathBuf>,
    cache: &Path,
) -> Option<HashMap<PathBuf, i64>> {
    let head = git.run(tree, &["rev-parse", "HEAD"])?;
    let name = blake3::hash(tree.as_os_str().as_encoded_bytes()).to_hex();
    let path = cache.join(format!("git-{}.json", &name[..24]));
    if let Some((known, of, times)) = load::<KeptTimes>(&path)
        && known == head
        && of == files
    {
        return Some(times);
    }
    let below = files
        .iter()
        .filter_map(|file| file.strip_prefix(tree).ok()?.to_str());
    let below: Vec<String> = below.map(|path| format!(":(literal){path}")).collect();
    let mut args = vec![
        "log",
        "--format=%x01%ct",
        "--diff-filter=A",
        "--name-only",
        "-z",
        "--",
    ];
    args.extend(below.iter().map(String::as_str));
    let told = git.run(tree, &args).unwrap_or_default();
    let mut times: HashMap<PathBuf, i64> = HashMap::new();
    for commit in told.split('\u{1}') {
        let mut parts = commit.split(['\0', '\n']).filter(|part| !part.is_empty());
        let Some(time) = parts.next().and_then(|time| time.parse::<i64>().ok()) else {
            continue;
        };
        // The oldest commit comes last.
        times.extend(parts.map(|path| (tree.join(path), time * 1000)));
    }
    let kept: KeptTimes = (head, files, times);
    save(&path, &kept);
    Some(kept.2)
}
