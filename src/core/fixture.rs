//! Home directories for tests, and cases: homes that are written as one file each.
//!
//! A case is a file of `tests/fixtures`, named like what it shows. `=== path` begins a file of the
//! home, `=== path -> target` is a link, and `=== sql path` a database that the statements below it
//! make; `$HOME` is the path of the home. A file ends without a line break unless a blank line stands
//! before the next `===`, and none of its lines can begin like that. Lines before the first of these are settings of the case,
//! `name: value`. What comes of a case is the snapshot beside it.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A home directory that is deleted when the test ends.
pub(crate) struct Home(TempDir);

impl Home {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary directory"))
    }

    /// Creates a home with these files; a text that starts with `-> ` is a link to a target.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let home = Self::new();
        for (path, text) in files {
            match text.strip_prefix("-> ") {
                Some(target) => home.link(path, target),
                None => home.write(path, text),
            }
        }
        home
    }

    /// Returns the path without links.
    pub(crate) fn path(&self) -> PathBuf {
        self.0.path().canonicalize().expect("canonical")
    }

    /// Writes a file and creates the folders above it.
    pub(crate) fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.place(path), bytes).expect("files can be written");
    }

    pub(crate) fn link(&self, path: &str, target: &str) {
        std::os::unix::fs::symlink(target, self.place(path)).expect("a link");
    }

    /// Makes a database, or adds to one.
    pub(crate) fn database(&self, path: &str, statements: &str) -> rusqlite::Connection {
        let connection = rusqlite::Connection::open(self.place(path)).expect("a database");
        connection.execute_batch(statements).expect("statements");
        connection
    }

    fn place(&self, path: &str) -> PathBuf {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders can be made");
        path
    }

    /// Returns the paths of all files, sorted.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let walk = walkdir::WalkDir::new(self.path()).sort_by_file_name();
        let files = walk.into_iter().flatten();
        let files = files.filter(|entry| !entry.file_type().is_dir());
        files.map(walkdir::DirEntry::into_path).collect()
    }
}

/// A case: a home and the settings above its files.
pub(crate) struct Case {
    pub(crate) home: Home,
    pub(crate) settings: Vec<(String, String)>,
}

impl Case {
    /// Reads the case with this name, its path in `tests/fixtures` without the ending.
    pub(crate) fn named(name: &str) -> Self {
        let file = fixtures().join(name).with_extension("txt");
        let text = fs::read_to_string(&file).expect("a case");
        let home = Home::new();
        let text = text.replace("$HOME", &home.path().display().to_string());
        let text = text.strip_suffix('\n').unwrap_or(&text);
        let mut sections = text.split("\n=== ");
        let first = sections.next().unwrap_or_default();
        let (above, first) = match first.strip_prefix("=== ") {
            Some(first) => ("", Some(first)),
            None => (first, None),
        };
        for section in first.into_iter().chain(sections) {
            let (title, text) = section.split_once('\n').unwrap_or((section, ""));
            if let Some((path, target)) = title.split_once(" -> ") {
                home.link(path, target);
            } else if let Some(path) = title.strip_prefix("sql ") {
                drop(home.database(path, text));
            } else {
                home.write(title, text);
            }
        }
        let settings = above.lines().filter_map(|line| line.split_once(": "));
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        Self {
            home,
            settings: settings.map(owned).collect(),
        }
    }

    /// Returns the value of a setting.
    pub(crate) fn setting(&self, name: &str) -> Option<&str> {
        let mut settings = self.settings.iter();
        let found = settings.find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// Compares what is told of each case in a folder of `tests/fixtures` with the snapshot beside it,
/// where `~` is the home. Returns all that is told.
pub(crate) fn check_cases(folder: &str, tell: impl Fn(Case) -> String) -> String {
    let mut all = String::new();
    for name in case_names(folder) {
        let case = Case::named(&name);
        let home = case.home.path().display().to_string();
        let told = tell(case).replace(&home, "~");
        all.push_str(&told);
        let (place, name) = name.rsplit_once('/').expect("a folder");
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(fixtures().join(place));
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.bind(|| insta::assert_snapshot!(name, told));
    }
    all
}

/// Returns the names of the cases in a folder of `tests/fixtures`.
pub(crate) fn case_names(folder: &str) -> Vec<String> {
    let walk = walkdir::WalkDir::new(fixtures().join(folder)).sort_by_file_name();
    let files = walk
        .into_iter()
        .map(|entry| entry.expect("readable").into_path());
    let cases = files.filter(|file| file.extension().is_some_and(|ending| ending == "txt"));
    let names = cases.map(|file| {
        let name = file.strip_prefix(fixtures()).expect("a fixture");
        name.with_extension("").to_string_lossy().into_owned()
    });
    let names: Vec<String> = names.collect();
    assert!(!names.is_empty(), "no cases in {folder}");
    names
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// Returns the columns of a table's lines, which `=>` divides; `\n` in them is a line break.
pub(crate) fn rows<const COLUMNS: usize>(table: &str) -> Vec<[String; COLUMNS]> {
    let columns = |line: &str| {
        let columns = line.split("=>");
        let mut columns = columns.map(|text| text.trim().replace("\\n", "\n"));
        std::array::from_fn(|_| columns.next().unwrap_or_default())
    };
    table.trim().lines().map(columns).collect()
}
