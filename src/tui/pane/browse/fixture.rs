//! A small library for tests of panes.

use std::fs;
use std::path::Path;

use crate::core::log::{Agent, LogFile};
use crate::core::memory::discover::{Discovered, FoundStore};
use crate::core::memory::layout::Layout;
use crate::core::memory::library::{Library, LogSummary};
use crate::core::memory::store::Store;

const FILES: &[(&str, &str)] = &[
    (
        "claude/MEMORY.md",
        "# Memory\n\n## User\n- [User Preferences](user_prefs.md) - tea, no coffee\n\n## Project\n- [Auth Refactor](auth.md) - Backend auth migration status\n- [Release Process](release.md) - how a release is made\n",
    ),
    (
        "claude/user_prefs.md",
        "---\nname: User Preferences\ndescription: tea, no coffee\ntype: user\n---\n\nLikes tea.\n",
    ),
    (
        "claude/auth.md",
        "---\nname: Auth Refactor\ndescription: Backend auth migration status\ntype: project\nupdated: 2026-02-11\n---\n\n## Decision\nUse JWT with refresh token rotation.\n\n- access token: 15 minutes\n- see [the release](release.md) and [[User Preferences]]\n",
    ),
    (
        "claude/release.md",
        "---\nname: Release Process\ndescription: how a release is made\ntype: project\n---\n\nTag, build, publish.\n",
    ),
    (
        "session/working-memory/overview.md",
        "# Working Memory\n\n## Current Task\nThe shop.\n",
    ),
    (
        "session/working-memory/detail/auth-design.md",
        "# Auth design\n\n<!-- META:\n- created: 2026-01-02T00:00:00Z\n- keywords: [\"jwt\"]\n-->\n\nUse JWT.\n",
    ),
    (
        "facts/facts/user.md",
        "# User\n\n> Summary: likes tea\n\n- tea\n",
    ),
    (
        "facts/episodes/2026-02.md",
        "# Episodes 2026-02\n\n> Summary: fix, move\n\n## Logger leak\n- Summary: fix\n- Date: 2026-02-03\n\n## Move\n- Summary: move\n- Date: 2026-02-09\n",
    ),
    ("instructions/CLAUDE.md", "# Shop\n\nBe kind.\n"),
];

/// A temporary directory whose path has the usual length, on which snapshots of the screen depend.
fn of_usual_length() -> tempfile::TempDir {
    const USUAL: usize = "/tmp/.tmp".len();
    let place = std::env::temp_dir();
    let length = USUAL.saturating_sub(place.as_os_str().len() + 1);
    let made = tempfile::Builder::new()
        .prefix(&".tmp"[..length.min(4)])
        .tempdir();
    made.expect("a temporary directory")
}

/// Creates a directory with stores of several layouts.
pub(crate) fn home() -> tempfile::TempDir {
    let home = of_usual_length();
    for (path, text) in FILES {
        let path = home.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        fs::write(&path, text).expect("a file");
    }
    home
}

/// Loads the library in it, with every file dated at the epoch of the tests.
pub(crate) fn library(home: &Path) -> Library {
    let stores = [
        ("claude", Layout::Index),
        ("session", Layout::Session),
        ("facts", Layout::Facts),
        ("instructions", Layout::Instructions),
    ];
    let mut library = Library::load(Discovered {
        stores: stores
            .into_iter()
            .map(|(name, layout)| FoundStore {
                store: Store::open(name, &home.join(name), Some(layout)).expect("opens"),
                why: "a test".to_owned(),
            })
            .collect(),
        ..Discovered::default()
    });
    for snapshot in &mut library.stores {
        let snapshot = std::sync::Arc::get_mut(snapshot).expect("not shared yet");
        for memory in &mut snapshot.memories {
            memory.modified = 1;
        }
    }
    library
}

/// A log of Claude Code that is listed under this title.
pub(crate) fn log_summary(id: &str, title: &str) -> LogSummary {
    LogSummary {
        file: LogFile::new(Agent::ClaudeCode, format!("/logs/{id}.jsonl"), id),
        title: title.to_owned(),
        time: 0,
        turns: 1,
        cwd: None,
        session: None,
        parent: None,
        below: None,
        unlisted: None,
    }
}
