//! Copilot CLI: instructions of the user, the git root, the working directory and the folders
//! between; then rules. Imports are put in where they are mentioned.
//!
//! Verified against Copilot CLI 1.0.102.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use super::glob::MOST_ENTRIES;
use super::{Found, MOST_IMPORTS, Piece, PieceKind, Source, Start, decoded, is_yaml_text};
use crate::core::disk::trust::{TrustBoundary, real_path};
use crate::core::text::header::frontmatter::Frontmatter;

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
            OTHERS.iter().for_each(|name| add(folder.join(name)));
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
        rules.extend(rules_in(
            &folder.join(".github/instructions"),
            ".instructions.md",
        ));
        rules.extend(rules_in(&folder.join(".claude/rules"), ".md"));
    }
    let project = own..rules.len();
    // Further folders are named by the user.
    let named = start.variable("COPILOT_CUSTOM_INSTRUCTIONS_DIRS");
    for folder in named.into_iter().flat_map(|list| list.split(',')) {
        let folder = cwd.join(folder.trim()).join(".github/instructions");
        rules.extend(rules_in(&folder, ".instructions.md"));
    }
    let mut later = Vec::new();
    for (at, file) in rules.iter().enumerate() {
        let source = if project.contains(&at) {
            Source::Project
        } else {
            Source::Own
        };
        if let Some(piece) = rule(start, file, source) {
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

fn rule(start: &Start<'_>, file: &Path, source: Source) -> Option<Piece> {
    let kind = PieceKind::Rule;
    let (text, bytes) = match read(start, file, source)? {
        Ok(read) => read,
        Err(why) => return Some(Piece::unsent(file, kind, 0, why)),
    };
    let header = Frontmatter::parse(&text);
    let header = header.as_ref();
    let written = header.and_then(|header| header.get("applyTo").or_else(|| header.get("paths")));
    if header.and_then(|header| header.get("excludeAgent")) == Some("coding-agent") {
        let why = "not loaded: excludeAgent is coding-agent";
        return Some(Piece::unsent(file, kind, bytes, why).with_rest(text));
    }
    // What is no text in YAML says nothing.
    let is_some = |paths: &&str| !matches!(*paths, "**" | "**/*" | "*") && is_yaml_text(paths);
    if let Some(paths) = written.filter(is_some) {
        let why = format!("named, to be read for files that match {paths}");
        return Some(Piece::unsent(file, kind, bytes, why).with_rest(text));
    }
    Some(Piece::whole(file.to_owned(), kind, bytes, text))
}

/// Reads a text without its byte order mark, and its size; a reason if it is not read.
fn read(start: &Start<'_>, file: &Path, source: Source) -> Option<Result<(String, u64), String>> {
    match start.read(file, source) {
        Found::Missing => None,
        Found::Unread(why) => Some(Err(why)),
        Found::Content(bytes) => {
            let size = bytes.len() as u64;
            Some(Ok((decoded(&bytes), size)))
        }
    }
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
    let (text, bytes) = match read(start, file, source) {
        None => return Vec::new(),
        Some(Ok(read)) => read,
        Some(Err(why)) => return vec![Piece::unsent(file, kind, 0, why)],
    };
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
    importer.read(first, &text, 0);
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
    /// Adds the text of a file to which `depth` imports lead.
    fn read(&mut self, mut piece: Piece, text: &str, depth: usize) {
        // Imports have their real path here; the names in a link are relative to the link.
        let folder = piece.path.parent().unwrap_or(&piece.path).to_owned();
        let mut copied = 0;
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
            let (imported, bytes) = (decoded(content.as_bytes()), content.len() as u64);
            self.loaded.push(file.clone());
            piece.text.push_str(">\n");
            let (path, kind) = (piece.path.clone(), piece.kind);
            self.pieces.push(piece);
            let import = Piece::whole(file, PieceKind::Import, bytes, String::new());
            self.read(import, imported.trim_end(), depth + 1);
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
}
