//! Claude Code: `CLAUDE.md` files of the machine, the user and every folder above the working
//! directory, with their imports; rules; the memory index; the memories of subagents.
//!
//! Verified against Claude Code 2.1.328.

mod markdown;
mod memory;

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::glob::expression;
use super::{Found, MOST_IMPORTS, Piece, PieceKind, Source, Start, trimmed, unread, yaml};
use crate::core::disk::foreign::{LARGEST_SETTINGS, read_text};
use crate::core::disk::trust::{real_path, without_dots};
use crate::core::memory::config::expand;
use crate::core::memory::discover::linked_to;

/// The size of the largest file that is loaded.
const LARGEST: usize = 4 << 20;

/// How many files can lead to an import, the first one included.
const DEEPEST: usize = 5;

/// Endings of files that are loaded; a name without an ending is loaded, too.
const ENDINGS: &str = ".md .txt .text .json .yaml .yml .toml .xml .csv .html .htm .css .scss .sass \
    .less .js .ts .tsx .jsx .mjs .cjs .mts .cts .py .pyi .pyw .rb .erb .rake .go .rs .java .kt .kts \
    .scala .c .cpp .cc .cxx .h .hpp .hxx .cs .swift .sh .bash .zsh .fish .ps1 .bat .cmd .env .ini \
    .cfg .conf .config .properties .sql .graphql .gql .proto .vue .svelte .astro .ejs .hbs .pug \
    .jade .php .pl .pm .lua .r .dart .ex .exs .erl .hrl .clj .cljs .cljc .edn .hs .lhs .elm .ml \
    .mli .f .f90 .f95 .for .cmake .make .makefile .gradle .sbt .rst .adoc .asciidoc .org .tex \
    .latex .lock .log .diff .patch";

/// Whose instructions a file belongs to; its imports belong to the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    Managed,
    User,
    Project,
    Local,
}

impl Scope {
    fn kind(self) -> PieceKind {
        match self {
            Self::Managed => PieceKind::Managed,
            Self::User => PieceKind::User,
            Self::Project => PieceKind::Project,
            Self::Local => PieceKind::Local,
        }
    }

    /// Returns whose content the files of a folder are.
    fn source_in(self, folder: &Path, start: &Start<'_>) -> Source {
        match self {
            Self::Managed | Self::User => Source::Own,
            Self::Project | Self::Local => start.source_in(folder),
        }
    }

    /// Returns whose content an import is.
    fn source_of_imports(self) -> Source {
        match self {
            Self::Managed | Self::User => Source::Own,
            Self::Project | Self::Local => Source::Project,
        }
    }
}

pub(super) fn pieces(start: &Start<'_>) -> Vec<Piece> {
    let environment = start.environment;
    if switch(start, "CLAUDE_CODE_DISABLE_CLAUDE_MDS") == Some(true) {
        return memory::of_subagents(start);
    }
    let options = Options::read(start);
    let mut walk = Walk {
        start,
        options: &options,
        seen: HashSet::new(),
        visited: HashSet::new(),
        pieces: Vec::new(),
    };
    walk.instructions(&start.managed.join("CLAUDE.md"), Scope::Managed);
    walk.rules(&start.managed.join(".claude/rules"), Scope::Managed);
    walk.instructions(&environment.claude.join("CLAUDE.md"), Scope::User);
    walk.rules(&environment.claude.join("rules"), Scope::User);
    let linked = linked_to(start.cwd());
    let mut folders: Vec<&Path> = start.cwd().ancestors().collect();
    // The root of the file system is not looked into.
    folders.pop();
    for folder in folders.into_iter().rev() {
        // A linked work tree inside the main one has its own copies of the main one's files.
        let is_main = linked.as_deref().is_some_and(|main| {
            folder.starts_with(main)
                && start
                    .git_root(start.cwd())
                    .is_some_and(|root| root.starts_with(main) && !folder.starts_with(root))
        });
        if !is_main {
            walk.instructions(&folder.join("CLAUDE.md"), Scope::Project);
            walk.instructions(&folder.join(".claude/CLAUDE.md"), Scope::Project);
            walk.rules(&folder.join(".claude/rules"), Scope::Project);
        }
        walk.instructions(&folder.join("CLAUDE.local.md"), Scope::Local);
    }
    let Walk {
        mut pieces, seen, ..
    } = walk;
    if options.has_memory {
        pieces.extend(memory::index(start, &seen));
    }
    pieces.extend(memory::of_subagents(start));
    pieces
}

/// What Claude Code takes a variable for, if for yes or no.
fn switch(start: &Start<'_>, name: &str) -> Option<bool> {
    match start.variable(name)?.trim().to_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Some(true),
        "0" | "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

/// What Claude Code's settings say about instructions.
struct Options {
    /// Patterns of files that are left out.
    excluded: Vec<Regex>,
    /// Whether the user has allowed the project's imports from outside the working directory.
    is_external_allowed: bool,
    /// Whether the memory is loaded.
    has_memory: bool,
}

impl Options {
    fn read(start: &Start<'_>) -> Self {
        let environment = start.environment;
        let root = start.git_root(start.cwd()).unwrap_or(start.cwd());
        let mut options = Self {
            excluded: Vec::new(),
            is_external_allowed: false,
            has_memory: true,
        };
        // The project's settings are those of the working directory. The root above it has only the
        // user's own for the project.
        let (project, above) = (start.cwd().join(".claude"), root.join(".claude"));
        for (file, source) in [
            (environment.claude.join("settings.json"), Source::Own),
            (project.join("settings.json"), Source::Project),
            (above.join("settings.local.json"), Source::Project),
            (project.join("settings.local.json"), Source::Project),
        ] {
            let Found::Content(bytes) = start.read(&file, source) else {
                continue;
            };
            let settings: Value = serde_json::from_slice(&bytes).unwrap_or_default();
            if let Some(is_on) = settings["autoMemoryEnabled"].as_bool() {
                options.has_memory = is_on;
            }
            let patterns = settings["claudeMdExcludes"]
                .as_array()
                .into_iter()
                .flatten();
            let patterns = patterns.filter_map(Value::as_str).filter_map(expression);
            options.excluded.extend(patterns);
        }
        if let Some(is_disabled) = switch(start, "CLAUDE_CODE_DISABLE_AUTO_MEMORY") {
            options.has_memory = !is_disabled;
        }
        let folder = match start.variable("CLAUDE_CONFIG_DIR") {
            Some(_) => &environment.claude,
            None => &environment.home,
        };
        let state = read_text(&folder.join(".claude.json"), LARGEST_SETTINGS);
        let state: Value = state
            .ok()
            .flatten()
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default();
        // A linked work tree is approved with the main one.
        let main = linked_to(start.cwd());
        let mut approved = [root, start.cwd()].into_iter().chain(main.as_deref());
        options.is_external_allowed = approved.any(|folder| {
            let project = &state["projects"][folder.to_string_lossy().as_ref()];
            project["hasClaudeMdExternalIncludesApproved"] == Value::Bool(true)
        });
        options
    }
}

/// Collects files in the order in which they are loaded.
struct Walk<'a> {
    start: &'a Start<'a>,
    options: &'a Options,
    /// Files that are loaded already, by name and by real path.
    seen: HashSet<PathBuf>,
    /// Folders of rules that have been read, since links can form circles.
    visited: HashSet<PathBuf>,
    pieces: Vec<Piece>,
}

impl Walk<'_> {
    fn instructions(&mut self, file: &Path, scope: Scope) {
        self.file(file, scope, scope.kind(), 0);
    }

    /// Adds a file and its imports; `depth` imports lead to it. A rule for some files waits for
    /// them, and its imports do not; an import of a rule is judged as a rule.
    fn file(&mut self, file: &Path, scope: Scope, of: PieceKind, depth: usize) {
        let kind = if depth > 0 { PieceKind::Import } else { of };
        if depth >= DEEPEST || self.seen.contains(file) || self.is_excluded(file, scope) {
            return;
        }
        let real = real_path(file);
        if depth > 0 && !self.may_import(&real, scope) {
            return;
        }
        let is_link = real != file;
        if is_link && self.seen.contains(&real) {
            return;
        }
        self.seen.insert(file.to_owned());
        if !has_known_ending(file) {
            return;
        }
        let source = match depth {
            0 => scope.source_in(file.parent().unwrap_or(file), self.start),
            _ => scope.source_of_imports(),
        };
        let bytes = match self.start.load(file, kind, source) {
            Ok(bytes) => bytes,
            Err(told) => {
                self.pieces.extend(told);
                return;
            }
        };
        if is_link {
            self.seen.insert(real.clone());
        }
        let size = bytes.len() as u64;
        if bytes.len() > LARGEST {
            let why = "larger than 4 MB, so nothing of it is loaded";
            self.pieces.push(Piece::unsent(file, kind, size, why));
            return;
        }
        let (paths, body) = header(&bytes);
        let read = markdown::read(&body);
        let sent = trimmed(&read.text);
        if sent.is_empty() {
            return;
        }
        self.pieces.push(match (of, paths) {
            (PieceKind::Rule, Some(paths)) => {
                let why = format!("loaded when a file is read that matches {paths}");
                Piece::unsent(file, kind, size, why).with_rest(body)
            }
            _ => Piece::whole(file.to_owned(), kind, size, sent.to_owned()),
        });
        let folder = real.parent().unwrap_or(&real).to_owned();
        let count = read.imports.len();
        if count > MOST_IMPORTS {
            let why = format!("not shown: {count} imports; only the first {MOST_IMPORTS} are");
            self.pieces
                .push(Piece::unsent(file, PieceKind::Import, 0, why));
        }
        for name in read.imports.into_iter().take(MOST_IMPORTS) {
            let import = without_dots(&expand(&name, &self.start.environment.home, &folder));
            if self.may_import(&import, scope) {
                self.file(&import, scope, of, depth + 1);
            }
        }
    }

    /// Whether a path can be imported: files outside the working directory only by the user's own
    /// instructions, or if the user has allowed it.
    fn may_import(&self, path: &Path, scope: Scope) -> bool {
        scope == Scope::User
            || self.options.is_external_allowed
            || path.starts_with(self.start.cwd())
            || path.starts_with(real_path(self.start.cwd()))
    }

    fn is_excluded(&self, file: &Path, scope: Scope) -> bool {
        let name = file.to_string_lossy();
        let mut excluded = self.options.excluded.iter();
        scope != Scope::Managed && excluded.any(|pattern| pattern.is_match(&name))
    }

    /// Tells of a link that leads out of the working directory, which needs the approval of
    /// imports from there.
    fn unapproved(&mut self, link: &Path) {
        if link.exists() {
            let why = "not loaded: leads out of the working directory, and imports from there are not approved";
            self.pieces
                .push(Piece::unsent(link, PieceKind::Rule, 0, why));
        }
    }

    /// Adds the rules of a folder and of the folders in it.
    fn rules(&mut self, folder: &Path, scope: Scope) {
        let real = real_path(folder);
        if !self.visited.insert(real.clone()) {
            return;
        }
        let above = (scope == Scope::Project).then(|| folder.parent()).flatten();
        let mut ways = [Some(folder), above].into_iter().flatten();
        if ways.any(Path::is_symlink) && !self.may_import(&real, scope) {
            self.unapproved(folder);
            return;
        }
        let source = scope.source_in(folder, self.start);
        // Claude Code does not sort them.
        let Ok(entries) = fs::read_dir(&real) else {
            return;
        };
        if let Err(refusal) = self.start.check(folder, source) {
            let why = unread(&refusal);
            let piece = Piece::unsent(folder, PieceKind::Rule, 0, why);
            self.pieces.push(piece);
            return;
        }
        for entry in entries.flatten() {
            let path = real_path(&entry.path());
            let is_rule = entry.file_name().to_string_lossy().ends_with(".md");
            if path != entry.path() && !self.may_import(&path, scope) {
                if is_rule || path.is_dir() {
                    self.unapproved(&entry.path());
                }
                continue;
            }
            // A link that may not be followed is told where it stands.
            let is_held = self.start.check(&entry.path(), source).is_err();
            let named = if is_held { entry.path() } else { path };
            if named.is_dir() {
                self.rules(&named, scope);
            } else if is_rule {
                self.file(&named, scope, PieceKind::Rule, 0);
            }
        }
    }
}

fn has_known_ending(file: &Path) -> bool {
    let ending = file.extension().map(|ending| ending.to_string_lossy());
    ending.is_none_or(|ending| {
        let ending = format!(".{}", ending.to_lowercase());
        ENDINGS.split_whitespace().any(|known| known == ending)
    })
}

/// Splits a text into the `paths` of its frontmatter and the body. Paths that match every file
/// are left out. A byte order mark goes with the frontmatter, and stays where there is none.
fn header(bytes: &[u8]) -> (Option<String>, String) {
    // The closing fence may be in the middle of a line.
    static HEADER: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(?s)^---\s*\n(.*?)---\s*\n?").ok());
    let text = String::from_utf8_lossy(bytes);
    let bare = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let found = HEADER.as_ref().and_then(|header| header.captures(bare));
    let Some(found) = found else {
        return (None, text.into_owned());
    };
    let body = bare[found[0].len()..].to_owned();
    let paths = yaml::paths(yaml::texts(&found[1], "paths"));
    let is_all = |path: &String| path == "**" || path == "/**" || path == "**/**";
    let is_for_all = paths.iter().all(is_all);
    ((!is_for_all).then(|| paths.join(", ")), body)
}

#[cfg(test)]
mod tests {
    use crate::core::fixture::Home;
    use crate::core::log::Agent;
    use crate::core::memory::discover::claude_slug;

    #[test]
    fn settings_leave_files_and_the_memory_out() {
        let home = |settings: &str| {
            let home = Home::with(&[
                ("shop/.git/HEAD", ""),
                ("shop/CLAUDE.md", "root"),
                ("shop/a/CLAUDE.md", "a"),
                (".claude/settings.json", settings),
            ]);
            let slug = claude_slug(&home.path().join("shop"));
            let index = format!(".claude/projects/{slug}/memory/MEMORY.md");
            home.write(&index, "---\nx: y\n---\n- index\r\n");
            let told = home.told(Agent::ClaudeCode, "shop/a").into_iter();
            let texts = told.map(|line| line.split(": ").nth(1).unwrap_or_default().to_owned());
            texts.collect::<Vec<String>>()
        };
        assert_eq!(home("{}"), ["\"root\"", "\"a\"", "\"- index\""]);
        assert_eq!(
            home(r#"{"claudeMdExcludes": ["**/a/CLAUDE.md"]}"#),
            ["\"root\"", "\"- index\""]
        );
        assert_eq!(
            home(r#"{"autoMemoryEnabled": false}"#),
            ["\"root\"", "\"a\""]
        );
    }
}
