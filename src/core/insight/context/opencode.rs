//! OpenCode: `AGENTS.md` of the user or of Claude Code, `AGENTS.md` of each folder from the
//! working directory up to the git root, and the files that the settings name.
//!
//! Verified against OpenCode 1.18.33. Instructions at web addresses are not fetched.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use jsonc_parser::{JsonValue, ParseOptions, parse_to_value};

use super::glob::{MOST_ENTRIES, base, files};
use super::{Found, Piece, PieceKind, Source, Start, decoded, unread};
use crate::core::disk::trust::without_dots;
use crate::core::memory::config::expand;

/// The names of instruction files; those of the first name that is found are loaded.
const NAMES: [&str; 3] = ["AGENTS.md", "CLAUDE.md", "CONTEXT.md"];

/// The names of the settings files of a project.
const SETTINGS: [&str; 2] = ["opencode.json", "opencode.jsonc"];

/// Names a further directory of settings and instructions.
const CONFIG_DIR: &str = "OPENCODE_CONFIG_DIR";

pub(super) fn pieces(start: &Start<'_>) -> Vec<Piece> {
    let is_on = |name: &str| matches!(start.variable(name), Some("1" | "true"));
    let environment = start.environment;
    let own = start.variable(CONFIG_DIR).map(Path::new);
    let own = own.unwrap_or(&environment.opencode);
    // Without the project, only the user's own directory counts.
    let is_without_project = is_on("OPENCODE_DISABLE_PROJECT_CONFIG");
    let folders = if is_without_project {
        Vec::new()
    } else {
        folders_up(start)
    };
    let mut found: Vec<(PathBuf, PieceKind, Allowed)> = Vec::new();
    let mut known = HashSet::new();
    let mut add = |file: PathBuf, kind: PieceKind, allowed: Allowed| {
        let file = without_dots(&file);
        if known.insert((file.clone(), allowed.is_ok())) {
            found.push((file, kind, allowed));
        }
    };
    let home = &environment.home;
    let without_claude =
        is_on("OPENCODE_DISABLE_CLAUDE_CODE_PROMPT") || is_on("OPENCODE_DISABLE_CLAUDE_CODE");
    let claude = (!without_claude).then(|| home.join(".claude/CLAUDE.md"));
    let mut users = [own.join("AGENTS.md")].into_iter().chain(claude);
    if let Some(file) = users.find(|file| file.exists()) {
        add(file, PieceKind::User, Ok(Source::Own));
    }
    let named = |name: &str| -> Vec<PathBuf> {
        let files = folders.iter().map(|folder| folder.join(name));
        files.filter(|file| file.exists()).collect()
    };
    let first = NAMES
        .iter()
        .filter(|name| !(without_claude && **name == "CLAUDE.md"))
        .map(|name| named(name))
        .find(|files| !files.is_empty());
    for file in first.into_iter().flatten() {
        let source = start.source_in(file.parent().unwrap_or(&file));
        add(file, PieceKind::Project, Ok(source));
    }
    let (mut left, mut cut) = (MOST_ENTRIES, Vec::new());
    let mut patterns = patterns(start, &folders);
    let is_cut = patterns.len() > MOST_PATTERNS;
    patterns.truncate(MOST_PATTERNS);
    for Pattern {
        text: pattern,
        folder: named_in,
        source,
    } in patterns
    {
        if pattern.starts_with("http://") || pattern.starts_with("https://") {
            continue;
        }
        let expanded = expand(&pattern, home, Path::new(""));
        let name = expanded.file_name().unwrap_or_default().to_string_lossy();
        let places: Vec<(&Path, &str)> = match expanded.parent() {
            Some(folder) if expanded.is_absolute() => vec![(folder, &name)],
            _ if is_without_project => vec![(own, pattern.as_str())],
            _ => folders
                .iter()
                .map(|folder| (*folder, pattern.as_str()))
                .collect(),
        };
        for (folder, pattern) in places {
            let base = base(folder, pattern);
            // A directory outside the project is not even listed.
            match start.check_named(&named_in, &base, source) {
                Ok(()) => {
                    for file in files(folder, pattern, &mut left) {
                        add(file, PieceKind::Rule, Ok(source));
                    }
                    if left == 0 {
                        cut.push(folder.join(pattern));
                    }
                }
                Err(refusal) if base.exists() => {
                    add(base, PieceKind::Rule, Err(unread(&refusal)));
                }
                Err(_) => {}
            }
        }
    }
    let mut loaded = 0;
    let (mut pieces, mut over) = (Vec::new(), Vec::new());
    for (file, kind, allowed) in found {
        match allowed {
            Err(why) => pieces.push(Piece::unsent(&file, kind, 0, why)),
            Ok(_) if loaded > MOST_LOADED => over.push(file),
            Ok(source) => {
                if let Some(piece) = piece(start, file, kind, source) {
                    loaded += piece.text.len();
                    pieces.push(piece);
                }
            }
        }
    }
    let why = "not shown: the files before it are larger than 8 MB";
    pieces.extend(left_out(&over, why));
    let why =
        format!("not all shown: only the first {MOST_ENTRIES} entries of folders are looked at");
    pieces.extend(left_out(&cut, &why));
    if is_cut {
        let why = format!("not shown: only the first {MOST_PATTERNS} patterns are looked at");
        pieces.push(Piece::unsent(start.cwd(), PieceKind::Rule, 0, why));
    }
    pieces
}

/// Tells of the first of the files or patterns that are left out, and how many more there are.
fn left_out(paths: &[PathBuf], why: &str) -> Option<Piece> {
    let more = match paths.len() {
        0 | 1 => String::new(),
        all => format!(" ({} more likewise)", all - 1),
    };
    let path = paths.first()?;
    let why = format!("{why}{more}");
    Some(Piece::unsent(path, PieceKind::Rule, 0, why))
}

/// Returns the working directory and the folders above it up to the git root; all of them if
/// there is none.
fn folders_up<'s>(start: &'s Start<'_>) -> Vec<&'s Path> {
    let cwd = start.cwd();
    let root = start.git_root(cwd).unwrap_or(Path::new("/"));
    let folders = cwd.ancestors();
    folders
        .take_while(|folder| folder.starts_with(root))
        .collect()
}

/// How many patterns are looked at; each may walk through a project.
const MOST_PATTERNS: usize = 200;

/// How many bytes of files are read. A pattern can find those of a whole disk.
const MOST_LOADED: usize = 8 << 20;

/// Whose content leads to a file, or why it is not shown.
type Allowed = Result<Source, String>;

/// A pattern of files in a settings file.
struct Pattern {
    text: String,
    /// The folder whose settings they are.
    folder: PathBuf,
    source: Source,
}

/// Returns the patterns of files in OpenCode's settings: the user's first, then those of the
/// project from its root down; one more than are looked at, if there are more.
fn patterns(start: &Start<'_>, folders: &[&Path]) -> Vec<Pattern> {
    let own = ["config.json"].into_iter().chain(SETTINGS);
    let home = start.environment.opencode.as_path();
    let own = own.map(|name| (home.join(name), home, Source::Own));
    let project = folders.iter().rev().flat_map(|folder| {
        SETTINGS.map(|name| (folder.join(name), *folder, start.source_in(folder)))
    });
    let hidden = folders.iter().rev().flat_map(|folder| {
        let file = |name| folder.join(".opencode").join(name);
        SETTINGS.map(|name| (file(name), *folder, start.source_in(folder)))
    });
    // The user's variables name a file, and a directory that counts last.
    let cwd = start.cwd();
    let named = start.variable("OPENCODE_CONFIG");
    let named = named.map(|file| (cwd.join(file), cwd, Source::Own));
    let last = start.variable(CONFIG_DIR).into_iter().flat_map(|folder| {
        let folder = Path::new(folder);
        SETTINGS.map(|name| (folder.join(name), folder, Source::Own))
    });
    let mut patterns: Vec<Pattern> = Vec::new();
    let mut known: HashSet<String> = HashSet::new();
    // Of the user's own settings, the last list is the only one.
    let mut own = own.filter_map(|place| Some((listed(start, &place.0, place.2)?, place)));
    let own = own.next_back();
    let others = named.into_iter().chain(project).chain(hidden).chain(last);
    let others = others.filter_map(|place| Some((listed(start, &place.0, place.2)?, place)));
    for (listed, (_, folder, source)) in own.into_iter().chain(others) {
        for text in listed {
            if patterns.len() <= MOST_PATTERNS && known.insert(text.clone()) {
                patterns.push(Pattern {
                    text,
                    folder: folder.to_owned(),
                    source,
                });
            }
        }
    }
    patterns
}

/// Returns the patterns that one file of settings lists, if it has a list.
fn listed(start: &Start<'_>, file: &Path, source: Source) -> Option<Vec<String>> {
    let Found::Content(bytes) = start.read(file, source) else {
        return None;
    };
    let text = decoded(&bytes);
    let settings = parse_to_value(&text, &ParseOptions::default());
    let JsonValue::Object(settings) = settings.ok()?? else {
        return None;
    };
    let listed = settings.get_array("instructions")?.iter();
    let texts = listed.filter_map(|pattern| match pattern {
        JsonValue::String(pattern) => Some(pattern.to_string()),
        _ => None,
    });
    Some(texts.collect())
}

fn piece(start: &Start<'_>, path: PathBuf, kind: PieceKind, source: Source) -> Option<Piece> {
    let bytes = match start.load(&path, kind, source) {
        Ok(bytes) => bytes,
        Err(told) => return told.into_iter().next(),
    };
    let text = decoded(&bytes);
    let size = bytes.len() as u64;
    (!text.is_empty()).then(|| Piece::whole(path, kind, size, text))
}

#[cfg(test)]
mod tests {
    use super::{MOST_ENTRIES, MOST_LOADED, MOST_PATTERNS};
    use crate::core::fixture::Home;
    use crate::core::log::Agent;

    #[test]
    fn only_patterns_that_are_left_out_are_told() {
        for (count, is_told) in [(MOST_PATTERNS, false), (MOST_PATTERNS + 1, true)] {
            let patterns: Vec<String> = (0..count).map(|at| format!("{at}.md")).collect();
            let settings = serde_json::json!({ "instructions": patterns }).to_string();
            let home = Home::with(&[("shop/.git/HEAD", ""), ("shop/opencode.json", &settings)]);
            let told = home.told(Agent::Opencode, "shop");
            assert_eq!(!told.is_empty(), is_told, "{count}: {told:?}");
        }
    }

    #[test]
    fn a_pattern_ends_after_many_entries_of_all_patterns_and_says_so() {
        let home = Home::with(&[
            ("shop/.git/HEAD", ""),
            (
                "shop/opencode.json",
                r#"{"instructions": ["docs/*.md", "more/*.md"]}"#,
            ),
        ]);
        let count = MOST_ENTRIES - 50;
        for at in 0..count {
            home.write(&format!("shop/docs/{at}.md"), "x");
            home.write(&format!("shop/more/{at}.md"), "x");
        }
        let told = home.told(Agent::Opencode, "shop");
        assert_eq!(told.len(), MOST_ENTRIES + 1);
        let cut = told.last().map(String::as_str).unwrap_or_default();
        let why = "not all shown: only the first 300 entries of folders are looked at";
        assert_eq!(cut, format!("rule shop/more/*.md: \"\" [{why}]"));
    }

    #[test]
    fn what_a_pattern_finds_is_read_up_to_a_size() {
        let home = Home::with(&[
            ("shop/.git/HEAD", ""),
            (
                "shop/opencode.json",
                r#"{"instructions": ["a.md", "b.md", "c.md"]}"#,
            ),
            ("shop/b.md", "x"),
            ("shop/c.md", "x"),
        ]);
        home.write("shop/a.md", "x".repeat(MOST_LOADED + 1));
        let told = home.told(Agent::Opencode, "shop");
        let why = "not shown: the files before it are larger than 8 MB (1 more likewise)";
        assert_eq!(told[1..], [format!("rule shop/b.md: \"\" [{why}]")]);
    }
}
