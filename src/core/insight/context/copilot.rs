//! Copilot CLI: instructions of the user, the git root, the working directory and the folders
//! between; then rules. Imports are put in where they are mentioned.
//!
//! Verified against Copilot CLI 1.0.102.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;
use walkdir::WalkDir;

use super::glob::MOST_ENTRIES;
use super::{Found, MOST_IMPORTS, Piece, PieceKind, Source, Start, yaml};
use crate::core::disk::trust::{TrustBoundary, real_path};

const GITHUB: &str = ".github/copilot-instructions.md";

/// Instruction files of other agents, which are loaded, too.
const OTHERS: [&str; 3] = ["AGENTS.md", "CLAUDE.md", "GEMINI.md"];

/// How many imports can lead to a file.
const DEEPEST: usize = 8;

pub(super) fn pieces(start: &Start<'_>) -> Vec<Piece> {
    let cwd = start.cwd();
    let folders = start.folders_down();
    let root = folders.first().copied().unwrap_or(cwd);
    let mut files = vec![(
        start.copilot.join("copilot-instructions.md"),
        PieceKind::User,
    )];
    let mut add = |file: PathBuf| files.push((file, PieceKind::Project));
    add(root.join(GITHUB));
    if cwd != root {
        add(cwd.join(GITHUB));
    }
    OTHERS.iter().for_each(|name| add(root.join(name)));
    if cwd != root {
        OTHERS.iter().for_each(|name| add(cwd.join(name)));
        // Then the folders between, the nearest first.
        for folder in folders[1..folders.len() - 1].iter().rev() {
            add(folder.join(GITHUB));
            for name in OTHERS {
                add(folder.join(name));
                if name == "CLAUDE.md" {
                    add(folder.join(".claude").join(name));
                }
            }
        }
    }
    let mut sent: HashMap<Vec<u8>, PathBuf> = HashMap::new();
    let mut pieces = Vec::new();
    for (file, kind) in files {
        let file = in_any_case(file);
        pieces.extend(instructions(start, &file, kind, root, &mut sent));
    }
    let mut rules = rules_in(&start.copilot.join("instructions"), ".instructions.md");
    let own = rules.len();
    for folder in [root, cwd]
        .into_iter()
        .take(if cwd == root { 1 } else { 2 })
    {
        rules.extend(rules_of(folder));
    }
    let project = own..rules.len();
    // Further folders are named by the user.
    let named = start.variable("COPILOT_CUSTOM_INSTRUCTIONS_DIRS");
    for folder in named.into_iter().flat_map(|list| list.split(',')) {
        rules.extend(rules_of(&cwd.join(folder.trim())));
    }
    let mut later = Vec::new();
    for (at, file) in rules.iter().enumerate() {
        let source = if project.contains(&at) {
            Source::Project
        } else {
            Source::Own
        };
        if let Some(piece) = rule(start, file, source, at < own) {
            // Rules for some files are listed after the others.
            match piece.cut {
                Some(_) => later.push(piece),
                None => pieces.push(piece),
            }
        }
    }
    pieces.extend(later);
    pieces
}

/// Returns the file under the name that it has in its folder, whatever the case of its letters.
fn in_any_case(file: PathBuf) -> PathBuf {
    if file.exists() {
        return file;
    }
    let entries = file.parent().map(fs::read_dir).and_then(Result::ok);
    let mut names = entries
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name());
    let is_it = |name: &OsString| {
        file.file_name()
            .is_some_and(|own| own.eq_ignore_ascii_case(name))
    };
    match names.find(is_it) {
        Some(name) => file.with_file_name(name),
        None => file,
    }
}

/// Returns the rules of a project's folder.
fn rules_of(folder: &Path) -> Vec<PathBuf> {
    let mut rules = rules_in(&folder.join(".github/instructions"), ".instructions.md");
    rules.extend(rules_in(&folder.join(".claude/rules"), ".md"));
    rules
}

/// Returns the files below a folder whose names end in `ending`, sorted.
fn rules_in(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let walk = WalkDir::new(folder).sort_by_file_name();
    let entries = walk.into_iter().take(MOST_ENTRIES).flatten();
    let files = entries.map(walkdir::DirEntry::into_path);
    let is_rule = |file: &PathBuf| {
        let name = file.file_name().map(|name| name.to_string_lossy());
        name.is_some_and(|name| name.to_lowercase().ends_with(ending)) && file.is_file()
    };
    files.filter(is_rule).collect()
}

fn rule(start: &Start<'_>, file: &Path, source: Source, is_of_user: bool) -> Option<Piece> {
    let kind = PieceKind::Rule;
    let (text, bytes) = match read(start, file, kind, source, is_of_user) {
        Ok((text, bytes)) => (without_mark(&text).to_owned(), bytes),
        Err(told) => return told.into_iter().next(),
    };
    let header = header(&text);
    let is_valid = yaml::is_valid(header);
    let is_excluded = |agent: &String| agent == "coding-agent";
    if is_valid && yaml::texts(header, "excludeAgent").iter().any(is_excluded) {
        let why = "not loaded: excludeAgent is coding-agent";
        return Some(Piece::unsent(file, kind, bytes, why).with_rest(text));
    }
    // In a header that is no YAML only the line counts.
    let mut keys = ["applyTo", "paths"].into_iter();
    let said = if is_valid {
        let key = keys.find(|key| yaml::has(header, key));
        key.map_or(Vec::new(), |key| yaml::texts(header, key))
    } else {
        let line = keys.find_map(|key| yaml::line(header, key));
        line.into_iter().collect()
    };
    let paths = yaml::paths(said);
    let is_all = |path: &String| matches!(path.as_str(), "**" | "**/*" | "*");
    if !paths.iter().all(is_all) {
        let paths = paths.join(", ");
        let why = format!("named, to be read for files that match {paths}");
        return Some(Piece::unsent(file, kind, bytes, why).with_rest(text));
    }
    Some(Piece::whole(file.to_owned(), kind, bytes, text))
}

/// Returns the lines between the fences at the start of a text.
fn header(text: &str) -> &str {
    static HEADER: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(?s)\A---[ \t]*\r?\n(.*?)\n---").ok());
    let found = HEADER.as_ref().and_then(|header| header.captures(text));
    found.map_or("", |found| found.extract::<1>().1[0])
}

/// Reads a text, and its size, or returns what is told in its place. One of the user's that is not
/// UTF-8 is left out, and one of a project is not.
fn read(
    start: &Start<'_>,
    file: &Path,
    kind: PieceKind,
    source: Source,
    is_of_user: bool,
) -> Result<(String, u64), Vec<Piece>> {
    let bytes = start.load(file, kind, source)?;
    if is_of_user && std::str::from_utf8(&bytes).is_err() {
        let why = "not loaded: it is not UTF-8";
        return Err(vec![Piece::unsent(file, kind, 0, why)]);
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok((text, bytes.len() as u64))
}

fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// Returns the pieces of a file and of its imports. The same text is sent once.
fn instructions(
    start: &Start<'_>,
    file: &Path,
    kind: PieceKind,
    root: &Path,
    sent: &mut HashMap<Vec<u8>, PathBuf>,
) -> Vec<Piece> {
    let (source, root) = match kind {
        PieceKind::User => (Source::Own, file.parent().unwrap_or(file)),
        _ => (Source::Project, root),
    };
    let (whole, bytes) = match read(start, file, kind, source, kind == PieceKind::User) {
        Ok(read) => read,
        Err(told) => return told,
    };
    let text = without_mark(&whole).to_owned();
    if let Some(other) = sent.get(text.as_bytes()) {
        let why = format!("the same text as {}, which is sent", other.display());
        return vec![Piece::unsent(file, kind, bytes, why).with_rest(text)];
    }
    sent.insert(text.clone().into_bytes(), file.to_owned());
    let first = Piece::whole(file.to_owned(), kind, bytes, String::new());
    if file.file_name().is_some_and(|name| name == "GEMINI.md") {
        // Its mentions of files are not imports here.
        return vec![Piece { text, ..first }];
    }
    let mut importer = Importer {
        start,
        source,
        border: TrustBoundary::of_project(root, []),
        loaded: vec![real_path(file)],
        count: 0,
        pieces: Vec::new(),
    };
    importer.read(first, &whole, 0);
    importer.pieces
}

/// Puts imports in where they are mentioned.
struct Importer<'a> {
    start: &'a Start<'a>,
    source: Source,
    /// The folder that imports may not leave.
    border: TrustBoundary,
    /// The real paths of files that are in the text already.
    loaded: Vec<PathBuf>,
    /// How many mentions there were.
    count: usize,
    pieces: Vec<Piece>,
}

impl Importer<'_> {
    /// Adds the text of a file to which `depth` imports lead. A byte order mark is not sent, but what
    /// stands behind it does not begin a line.
    fn read(&mut self, mut piece: Piece, text: &str, depth: usize) {
        // Imports have their real path here; the names in a link are relative to the link.
        let folder = piece.path.parent().unwrap_or(&piece.path).to_owned();
        let mut copied = text.len() - without_mark(text).len();
        let found = if depth < DEEPEST {
            mentions(text)
        } else {
            Vec::new()
        };
        for mention in found {
            self.count += 1;
            if self.count > MOST_IMPORTS {
                if self.count == MOST_IMPORTS + 1 {
                    let why = format!("not shown: only the first {MOST_IMPORTS} imports are");
                    self.pieces
                        .push(Piece::unsent(&piece.path, PieceKind::Import, 0, why));
                }
                break;
            }
            let name = &text[mention.start + 1..mention.end];
            let file = real_path(&folder.join(name));
            if name.starts_with('/') || self.border.check(&file).is_err() || !file.is_file() {
                continue;
            }
            piece.text.push_str(&text[copied..mention.end]);
            copied = mention.end;
            let tag = format!(
                "\n\n<imported_custom_instruction source=\"{}\"",
                file.display()
            );
            piece.text.push_str(&tag);
            if self.loaded.contains(&file) {
                piece.text.push_str(" skipped=\"already-loaded\" />");
                continue;
            }
            let content = match self.start.read(&file, self.source) {
                // A text that is not UTF-8 is left out.
                Found::Content(bytes) => String::from_utf8(bytes).ok(),
                Found::Missing => None,
                Found::Unread(why) => {
                    let unsent = Piece::unsent(&file, PieceKind::Import, 0, why);
                    self.pieces.push(unsent);
                    None
                }
            };
            let Some(content) = content else {
                piece.text.truncate(piece.text.len() - tag.len());
                continue;
            };
            self.loaded.push(file.clone());
            piece.text.push_str(">\n");
            let (path, kind) = (piece.path.clone(), piece.kind);
            self.pieces.push(piece);
            let bytes = content.len() as u64;
            let import = Piece::whole(file, PieceKind::Import, bytes, String::new());
            self.read(import, content.trim_end(), depth + 1);
            let end = "\n</imported_custom_instruction>".to_owned();
            piece = Piece::whole(path, kind, 0, end);
        }
        piece.text.push_str(&text[copied..]);
        self.pieces.push(piece);
    }
}

/// Returns where a text mentions `@path` outside of code. Code is what Copilot CLI takes for it: from
/// a line that begins with a fence to the next one of that kind, and in a line from a run of backticks
/// to the next that is as long, or to the end of the line.
fn mentions(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut fence = None;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let mut kinds = ["```", "~~~"].into_iter();
        let kind = kinds.find(|kind| line.trim_start().starts_with(kind));
        match kind {
            Some(_) if fence.is_none() => fence = kind,
            Some(_) if fence == kind => fence = None,
            None if fence.is_none() => {
                let inside = mentions_in_line(line).into_iter();
                found.extend(inside.map(|at| start + at.start..start + at.end));
            }
            _ => {}
        }
        start += line.len();
    }
    found
}

fn mentions_in_line(line: &str) -> Vec<Range<usize>> {
    let is_of_address = |c: char| c.is_ascii_alphanumeric() || "._%+-".contains(c);
    let is_end = |c: char| c.is_whitespace() || "()[]{}<>\"'`".contains(c);
    let mut found = Vec::new();
    // How long the run of backticks is that began the code.
    let mut code = 0;
    let mut at = 0;
    while let Some(c) = line[at..].chars().next() {
        let rest = &line[at..];
        let before = line[..at].chars().next_back();
        let mut length = c.len_utf8();
        if c == '`' {
            length = rest.len() - rest.trim_start_matches('`').len();
            code = match code {
                0 => length,
                open if open == length => 0,
                open => open,
            };
        } else if c == '@' && code == 0 && !before.is_some_and(is_of_address) {
            let name = &rest[1..];
            let name = &name[..name.find(is_end).unwrap_or(name.len())];
            let name = name.trim_end_matches(['.', ',', ':', ';', '!', '?']);
            if !name.is_empty() {
                found.push(at..at + 1 + name.len());
                length += name.len();
            }
        }
        at += length;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::fixture::Home;
    use crate::core::log::Agent;

    #[test]
    fn a_mention_outside_of_what_is_taken_for_code_is_an_import() {
        for (text, expected) in [
            ("    @a\n\t@b\n<!-- @c -->\n", vec!["a", "b", "c"]),
            (
                "@a, (@b) \"@c\" {@d} <@e> \\@f *@g é@h",
                vec!["a", "b", "c", "d", "e", "f", "g", "h"],
            ),
            ("kim@a 1@b .@c -@d +@e _@f %@g", vec![]),
            (
                "@a.:!? @b* @c—d @(e) @f] @g\u{a0}h",
                vec!["a", "b*", "c—d", "f", "g"],
            ),
            ("`@a` `x` @b ``c ` @d`` `e @f\n@g`", vec!["b", "g"]),
            ("``` @a\n~~~\n@b\n```\n@c\n", vec!["c"]),
            ("````\n```\n@a\n- ```\n@b\n    ```\n@c", vec!["a", "b"]),
        ] {
            let found = mentions(text).into_iter();
            let names: Vec<&str> = found.map(|at| &text[at.start + 1..at.end]).collect();
            assert_eq!(names, expected, "{text:?}");
        }
    }

    #[test]
    fn a_file_that_is_not_utf8_is_sent_with_marks_for_what_is_not() {
        let home = Home::new();
        home.write("shop/AGENTS.md", b"a \xff b");
        let told = home.told(Agent::Copilot, "shop");
        assert_eq!(told, ["project shop/AGENTS.md: \"a \u{fffd} b\""]);
    }

    #[test]
    fn a_file_of_the_users_that_is_not_utf8_is_not_sent() {
        let home = Home::new();
        home.write(".copilot/copilot-instructions.md", b"a \xff b");
        let told = home.told(Agent::Copilot, "shop");
        let user = "user .copilot/copilot-instructions.md: \"\" [not loaded: it is not UTF-8]";
        assert_eq!(told, [user]);
    }

    #[test]
    fn behind_a_byte_order_mark_is_no_fence() {
        let home = Home::with(&[
            ("shop/AGENTS.md", "\u{feff}```\n@one.md\n```\n@two.md\n"),
            ("shop/one.md", "one\n"),
            ("shop/two.md", "two\n"),
        ]);
        let pieces = home.pieces(Agent::Copilot, "shop", None).into_iter();
        let text: String = pieces.map(|piece| piece.text).collect();
        let root = home.path();
        let import = format!("{}/shop/one.md", root.display());
        let import = format!(
            "<imported_custom_instruction source=\"{import}\">\none\n</imported_custom_instruction>"
        );
        assert_eq!(text, format!("```\n@one.md\n\n{import}\n```\n@two.md\n"));
    }
}
