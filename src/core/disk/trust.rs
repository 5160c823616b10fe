//! The trust boundary: the content of a project never extends what tome reads or writes.
//!
//! [`TrustBoundary`] decides about every path that a project, a log, an extension or an agent's
//! settings name: it is inside the project or what the user's own settings allow, it is in a place of
//! the agent's own, or it is a [`Refusal`], which is told. What is below a directory that it let
//! through is named by text alone, and found by handles: [`Root`] decides there, so that a link that
//! is swapped in between cannot lead out either.
//!
//! [`Root`]: crate::core::disk::sandbox::Root

use std::fmt;
use std::path::{Component, Path, PathBuf};

use crate::core::text::toml_text;
use crate::core::{Error, Result};

/// The paths that the content of one project may lead to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustBoundary {
    /// The project's root, as given.
    project: PathBuf,
    /// Real paths that are allowed, including the project's root.
    allowed: Vec<PathBuf>,
    /// Directories of the user below the project's root, which do not belong to the project.
    own: Vec<PathBuf>,
    /// Directories of an agent in which the project may name texts.
    texts: Vec<PathBuf>,
}

impl TrustBoundary {
    /// Returns the boundary of the project at `project`; `allowed` are paths outside of it that
    /// may be used.
    pub fn of_project(project: &Path, allowed: impl IntoIterator<Item = PathBuf>) -> Self {
        let allowed = [project.to_owned()].into_iter().chain(allowed);
        Self {
            project: project.to_owned(),
            allowed: allowed.map(|path| real_path(&path)).collect(),
            own: Vec::new(),
            texts: Vec::new(),
        }
    }

    /// Adds directories that belong to the user even if they are below the project: a home
    /// directory can be a project, too. Those that are elsewhere are not added, because a name in
    /// the project must not lead to the credentials that agents keep there.
    pub fn with_own_folders(mut self, own: impl IntoIterator<Item = PathBuf>) -> Self {
        let below = own
            .into_iter()
            .filter(|own| own.starts_with(&self.project) && *own != self.project);
        self.own.extend(below);
        self
    }

    /// Adds a directory of an agent in which the project may name texts, never the login that is kept
    /// there, too.
    pub fn with_texts_of(mut self, folder: &Path) -> Self {
        self.texts.push(folder.to_owned());
        self
    }

    /// Whether a real path may be used.
    pub fn allows(&self, real: &Path) -> bool {
        self.allowed.iter().any(|allowed| real.starts_with(allowed))
    }

    /// Returns a refusal if a path of the project leads out of it.
    pub fn check(&self, place: &Path) -> Result<(), Refusal> {
        self.checked(place, place, LinkKind::Link)
    }

    /// Like [`TrustBoundary::check`], but a missing path is allowed.
    pub fn check_present(&self, place: &Path) -> Result<(), Refusal> {
        match place.symlink_metadata() {
            Ok(_) => self.check(place),
            Err(_) => Ok(()),
        }
    }

    /// Returns a refusal if a path in a settings file of the project is outside the boundary.
    pub fn check_named(&self, settings: &Path, place: &Path) -> Result<(), Refusal> {
        self.checked(settings, place, LinkKind::Setting)
    }

    fn checked(&self, found_at: &Path, place: &Path, kind: LinkKind) -> Result<(), Refusal> {
        let real = real_path(place);
        // Behind a linked directory, `..` leads elsewhere than its letters say.
        let climbs = place.components().any(|part| part == Component::ParentDir);
        let is_in = |folders: &[PathBuf]| folders.iter().any(|folder| place.starts_with(folder));
        let ending = place.extension().unwrap_or_default();
        let is_text = ending.eq_ignore_ascii_case("md") || ending.eq_ignore_ascii_case("txt");
        let is_of_agent = !climbs && (is_in(&self.own) || is_text && is_in(&self.texts));
        if self.allows(&real) || is_of_agent {
            return Ok(());
        }
        let name = found_at.strip_prefix(&self.project).unwrap_or(found_at);
        Err(Refusal {
            place: found_at.to_owned(),
            name: name.display().to_string(),
            target: real,
            kind,
        })
    }
}

/// A path of a project that is not used, because it leads out of the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The path.
    pub place: PathBuf,
    /// The path relative to the project's root, for messages.
    name: String,
    /// The real path that it leads to.
    pub target: PathBuf,
    kind: LinkKind,
}

/// How a path leads out of the project: by a link, or as a value in a settings file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LinkKind {
    Link,
    Setting,
}

impl Refusal {
    /// Returns what is wrong, without the path.
    pub fn reason(&self) -> String {
        let verb = match self.kind {
            LinkKind::Link => "leads to",
            LinkKind::Setting => "names",
        };
        format!("{verb} {}, outside the project", self.target.display())
    }

    /// Returns how to allow the path.
    pub fn remedy(&self) -> String {
        format!("tome trust {} allows it", quoted(&self.target))
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, reason, remedy) = (&self.name, self.reason(), self.remedy());
        write!(f, "refused: {name} {reason}; {remedy}")
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        let reason = format!("{}; {}", refusal.reason(), refusal.remedy());
        Self::refused(refusal.name, reason)
    }
}

/// Returns a path quoted for a shell command.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+@:,=".contains(c);
    if text.chars().all(is_plain) {
        text
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// Returns the real path with every link followed; missing parts keep their names.
pub fn real_path(path: &Path) -> PathBuf {
    const MOST_LINKS: usize = 40;
    let mut path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for _ in 0..MOST_LINKS {
        if let Ok(real) = path.canonicalize() {
            return real;
        }
        let there = path
            .ancestors()
            .find(|part| part.symlink_metadata().is_ok());
        let Some(there) = there else { break };
        let rest = path.strip_prefix(there).unwrap_or(Path::new(""));
        match std::fs::read_link(there) {
            // The target of a link counts even if it is missing.
            Ok(target) => {
                let above = there.parent().unwrap_or(there);
                path = above.join(target).join(rest);
            }
            Err(_) => {
                let there = there.canonicalize().unwrap_or_else(|_| there.to_owned());
                path = there.join(rest);
                break;
            }
        }
    }
    without_dots(&path)
}

/// Returns a path without `.` and `..`; links are not followed.
pub fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// Returns the first program of this name in folders of a search path that are absolute, and outside
/// a project. One that the project has could do anything.
pub fn program_in(
    folders: impl IntoIterator<Item = PathBuf>,
    name: &str,
    project: Option<&Path>,
) -> Option<PathBuf> {
    let project = project.map(real_path);
    let is_outside = |file: &PathBuf| {
        let real = real_path(file);
        !project.as_ref().is_some_and(|root| real.starts_with(root))
    };
    let mut files = folders
        .into_iter()
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name));
    files.find(|file| file.is_file() && is_outside(file))
}

/// Whether a path is added to the trusted ones or removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// Add the path.
    Give,
    /// Remove the path.
    Take,
}

/// Returns the text of a settings file with `path` trusted or not, otherwise unchanged; `None`
/// if nothing needs to change.
pub fn with_trusted(text: &str, path: &str, trust: Trust) -> Result<Option<String>, String> {
    let mut document = toml_text::document(text).map_err(|unreadable| unreadable.why)?;
    let is_there = document.contains_key("trusted");
    if !is_there && trust == Trust::Take {
        return Ok(None);
    }
    if !is_there {
        document.insert("trusted", toml_edit::value(toml_edit::Array::new()));
    }
    let list = document
        .get_mut("trusted")
        .and_then(|item| item.as_array_mut());
    let Some(list) = list else {
        return Err("'trusted' is not a list; write it as trusted = [\"/a/path\"]".to_owned());
    };
    let at = list.iter().position(|known| known.as_str() == Some(path));
    match (trust, at) {
        (Trust::Give, Some(_)) | (Trust::Take, None) => return Ok(None),
        (Trust::Give, None) => list.push(path),
        (Trust::Take, Some(at)) => drop(list.remove(at)),
    }
    if list.is_empty() {
        document.remove("trusted");
    }
    let written = document.to_string();
    // The writer knows one kind of line end.
    let has_wide_ends = text.contains("\r\n");
    Ok(Some(if has_wide_ends {
        written.replace("\r\n", "\n").replace('\n', "\r\n")
    } else {
        written
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::memory::config::Settings;
    use std::fs;

    #[test]
    fn a_place_is_used_only_where_it_really_stays_inside() {
        use std::os::unix::fs::symlink;
        let temp = tempfile::tempdir().expect("a temporary directory");
        let home = temp.path().canonicalize().expect("canonical");
        let project = home.join("shop");
        for folder in ["shop/notes", "shop/.memory", "Documents/private", "team"] {
            fs::create_dir_all(home.join(folder)).expect("folders");
        }
        let link = |to: &str, at: &str| symlink(to, project.join(at)).expect("a link");
        link("notes", "inside");
        link("../Documents", "outside");
        link("../Documents/private/../../team", "team");
        link("../nothing/yet", "dangling");
        link("loop", "loop");
        let border = TrustBoundary::of_project(&project, [home.join("team")]);
        for place in [
            ".memory",
            "inside",
            "inside/new",
            "team",
            "missing/x",
            "loop",
        ] {
            assert_eq!(border.check(&project.join(place)), Ok(()), "{place}");
        }
        for (place, target) in [
            ("outside", "Documents"),
            ("outside/new/deep", "Documents/new/deep"),
            ("dangling", "nothing/yet"),
            ("../Documents", "Documents"),
        ] {
            let refusal = border.check(&project.join(place)).expect_err(place);
            assert_eq!(refusal.target, home.join(target), "{place}");
        }
        let refusal = border.check(&project.join("outside")).expect_err("outside");
        let target = home.join("Documents").display().to_string();
        assert_eq!(
            refusal.to_string(),
            format!(
                "refused: outside leads to {target}, outside the project; tome trust {target} allows it"
            )
        );
    }

    #[test]
    fn a_home_that_is_a_project_keeps_what_is_the_persons_own() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let home = temp.path().canonicalize().expect("canonical");
        fs::create_dir_all(home.join("kim/shop")).expect("folders");
        fs::create_dir(home.join("files")).expect("a folder");
        std::os::unix::fs::symlink(home.join("files"), home.join("kim/.claude")).expect("a link");
        let own = || [home.join("kim/.claude")];
        let border = TrustBoundary::of_project(&home.join("kim"), []).with_own_folders(own());
        let is_allowed = |place: &str| border.check(&home.join(place)).is_ok();
        assert!(is_allowed("kim/.claude/x") && is_allowed("kim/shop"));
        assert!(!is_allowed("kim/.claude/../../files/x") && !is_allowed("files/x"));
        // A project below the home has no part in it.
        let border = TrustBoundary::of_project(&home.join("kim/shop"), []).with_own_folders(own());
        assert!(border.check(&home.join("kim/.claude/x")).is_err());
    }

    #[test]
    fn trusting_a_path_and_no_longer_leaves_the_rest_of_the_file_alone() {
        let text = "# mine\nauthor = \"kim\"  # me\n\n[discover]\nhome = false\n";
        let given = with_trusted(text, "/d", Trust::Give).expect("TOML");
        let given = given.expect("something is different");
        assert!(given.contains("trusted = [\"/d\"]"), "{given}");
        let mut settings = Settings::default();
        assert_eq!(settings.read_file(Path::new("c"), &given), []);
        assert_eq!(settings.trusted, ["/d"]);
        assert_eq!(with_trusted(&given, "/d", Trust::Give), Ok(None));
        let taken = with_trusted(&given, "/d", Trust::Take).expect("TOML");
        assert_eq!(taken.as_deref(), Some(text));
        assert_eq!(with_trusted(text, "/d", Trust::Take), Ok(None));
        let wide = text.replace('\n', "\r\n");
        let given = with_trusted(&wide, "/d", Trust::Give).expect("TOML");
        let given = given.expect("something is different");
        assert_eq!(given.matches('\n').count(), given.matches("\r\n").count());
        let taken = with_trusted(&given, "/d", Trust::Take).expect("TOML");
        assert_eq!(taken.as_deref(), Some(wide.as_str()));
        assert!(with_trusted("trusted = 3\n", "/d", Trust::Give).is_err());
        assert!(with_trusted("broken = [\n", "/d", Trust::Give).is_err());
    }

    #[test]
    fn a_program_of_the_project_is_not_taken_for_another() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let folder = |name: &str| temp.path().join(name);
        for name in ["project/bin", "usr", "linked"] {
            fs::create_dir_all(folder(name)).expect("folders");
        }
        for name in ["project/git", "project/bin/git", "usr/git"] {
            fs::write(folder(name), "").expect("a file");
        }
        std::os::unix::fs::symlink(folder("project/git"), folder("linked/git")).expect("a link");
        let relative = ["", ".", "bin"].map(PathBuf::from).into_iter();
        let folders = relative.chain(["project", "project/bin", "linked", "usr"].map(folder));
        let found = program_in(folders, "git", Some(&folder("project")));
        assert_eq!(found, Some(folder("usr/git")));
    }

    #[test]
    fn a_path_can_be_copied_into_a_shell() {
        assert_eq!(quoted(Path::new("/a/b-c.d")), "/a/b-c.d");
        assert_eq!(quoted(Path::new("/my docs/it's")), r"'/my docs/it'\''s'");
    }
}
