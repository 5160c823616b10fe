//! A store of one layout with a history, changed by the library itself.

use std::fs;
use std::path::PathBuf;

use tome::core::Error;
use tome::core::change::history::History;
use tome::core::change::{Author, ChangeContext, ChangeRequest, commit, plan};
use tome::core::memory::layout::{Fields, Layout, Matching, Patch};
use tome::core::memory::store::Store;
use tome::core::text::time::Moment;

/// The store and its history, in a temporary directory.
pub(crate) struct TestStore {
    pub(crate) dir: tempfile::TempDir,
    layout: Layout,
}

impl TestStore {
    pub(crate) fn new(layout: Layout) -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        fs::create_dir(dir.path().join("store")).expect("a folder");
        Self { dir, layout }
    }

    pub(crate) fn root(&self) -> PathBuf {
        let dir = self.dir.path().canonicalize();
        dir.expect("there").join("store")
    }

    pub(crate) fn store(&self) -> Store {
        Store::open("s", &self.root(), Some(self.layout)).expect("opens")
    }

    pub(crate) fn history(&self) -> History {
        History::open(&self.dir.path().join("history"))
    }

    /// Makes a change; `false` if it changes nothing.
    pub(crate) fn try_make(&self, request: &ChangeRequest) -> Result<bool, Error> {
        let context = ChangeContext {
            history: Some(self.history()),
            ..change_context()
        };
        let change = plan(&self.store(), request, &context)?;
        if change.is_empty() {
            return Ok(false);
        }
        commit(&self.history(), &change, &author(), &context.moment)?;
        Ok(true)
    }

    pub(crate) fn file(&self, name: &str, text: &str) {
        let path = self.root().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("a file");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.root().join(name)).expect("a text")
    }
}

pub(crate) fn write(path: &str, content: &str, fields: Fields) -> ChangeRequest {
    ChangeRequest::Write {
        path: path.to_owned(),
        content: content.to_owned(),
        fields,
    }
}

pub(crate) fn append(path: &str, entry: &str) -> ChangeRequest {
    ChangeRequest::Append {
        path: path.to_owned(),
        entry: entry.to_owned(),
        fields: Fields::default(),
    }
}

/// Replaces a text that is there once.
pub(crate) fn patch(path: &str, old: &str, new: &str) -> ChangeRequest {
    ChangeRequest::Patch {
        matching: Matching::Unique,
        path: path.to_owned(),
        patches: vec![Patch {
            old: old.to_owned(),
            new: new.to_owned(),
        }],
    }
}

pub(crate) fn rename(from: &str, to: &str) -> ChangeRequest {
    ChangeRequest::Rename {
        from: from.to_owned(),
        to: to.to_owned(),
    }
}

pub(crate) fn delete(paths: &[&str]) -> ChangeRequest {
    ChangeRequest::Delete {
        paths: paths.iter().map(|path| (*path).to_owned()).collect(),
    }
}

pub(crate) fn typed(category: &str) -> Fields {
    Fields {
        category: Some(category.to_owned()),
        ..Fields::default()
    }
}

pub(crate) fn named(name: &str) -> Fields {
    Fields {
        name: Some(name.to_owned()),
        ..Fields::default()
    }
}

pub(crate) fn author() -> Author {
    Author {
        who: "you".to_owned(),
        door: "test".to_owned(),
    }
}

pub(crate) fn change_context() -> ChangeContext {
    ChangeContext {
        moment: Moment {
            time: jiff::Timestamp::now(),
            today: jiff::civil::date(2026, 11, 15),
        },
        expected: None,
        history: None,
    }
}
