//! Gemini CLI: `GEMINI.md` of the user and of extensions, the private memory of the project, and
//! `GEMINI.md` of each folder from the git root down to the working directory; imports are put in
//! where they are mentioned.
//!
//! Verified against Gemini CLI 0.61.0. Settings that include further directories, other boundary
//! markers or the flat import format are not considered.

use std::collections::HashSet;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use jsonc_parser::{ParseOptions, parse_to_serde_value};
use serde_json::Value;

use super::{Found, MOST_IMPORTS, Piece, PieceKind, Source, Start, decoded, is_inside, unread};
use crate::core::disk::trust::{TrustBoundary, real_path, without_dots};
use crate::core::memory::discover::gemini;

const FOLDER: &str = ".gemini";

/// How many files can lead to an import, the first one included.
const DEEPEST: usize = 5;

/// How many bytes of imports of one file are shown. A file can be imported any number of times.
const MOST_IMPORTED: usize = 8 << 20;

pub(super) fn pieces(start: &Start<'_>) -> Vec<Piece> {
    let environment = start.environment;
    let home = environment.gemini.clone();
    let (names, chosen_by) = names(start, &home);
    let in_folder =
        |folder: &Path| -> Vec<PathBuf> { names.iter().map(|name| folder.join(name)).collect() };
    let mut files: Vec<(PathBuf, PieceKind)> = Vec::new();
    let mut add = |found: Vec<PathBuf>, kind: PieceKind| {
        files.extend(found.into_iter().map(|file| (file, kind)));
    };
    add(in_folder(&home), PieceKind::User);
    add(extensions(start, &home), PieceKind::Extension);
    if let Some(folder) = memory_folder(start, &home) {
        let index = folder.join("MEMORY.md");
        let found = if index.is_file() {
            vec![index]
        } else {
            in_folder(&folder)
        };
        add(found, PieceKind::Memory);
    }
    let mut project: Vec<PathBuf> = start
        .folders_down()
        .into_iter()
        .filter(|folder| **folder != *home)
        .flat_map(in_folder)
        .collect();
    project.sort();
    add(project, PieceKind::Project);
    let mut seen = HashSet::new();
    let mut pieces = Vec::new();
    for (file, kind) in files {
        // One file under two names is loaded once.
        if !file.is_file() || !seen.insert(identity(&file)) {
            continue;
        }
        match refused(start, &file, kind, chosen_by) {
            Some(why) => pieces.push(Piece::unsent(&file, kind, 0, why)),
            None => pieces.extend(instructions(start, &file, kind)),
        }
    }
    pieces
}

/// Why a file of the user's is not shown under a name that somebody else chose. An extension may
/// name its own files. A project may name texts in Gemini's directory, which also has the login.
fn refused(start: &Start<'_>, file: &Path, kind: PieceKind, chosen_by: Source) -> Option<String> {
    let home = &start.environment.gemini;
    if kind == PieceKind::Extension {
        let extensions = home.join("extensions");
        // An absolute name replaces the folder of the extension.
        let below = file.strip_prefix(&extensions).unwrap_or(Path::new(""));
        let own = extensions.join(below.iter().next().unwrap_or_default());
        let refusal = TrustBoundary::of_project(&own, []).check(file).err()?;
        let leads_to = refusal.target.display();
        return Some(format!(
            "not shown: leads to {leads_to}, outside the extension"
        ));
    }
    if kind == PieceKind::Project || chosen_by == Source::Own {
        return None;
    }
    let border = start.border(start.cwd()).with_texts_of(home);
    let settings = start.cwd().join(FOLDER).join("settings.json");
    Some(unread(&border.check_named(&settings, file).err()?))
}

/// Returns what is the same for all names of one file.
fn identity(file: &Path) -> (PathBuf, u64, u64) {
    if let Ok(meta) = fs::metadata(file) {
        use std::os::unix::fs::MetadataExt as _;
        return (PathBuf::new(), meta.dev(), meta.ino());
    }
    (real_path(file), 0, 0)
}

/// Returns the names of instruction files that the settings give, and whose settings they are.
fn names(start: &Start<'_>, home: &Path) -> (Vec<String>, Source) {
    let settings = [
        (
            start.cwd().join(FOLDER).join("settings.json"),
            Source::Project,
        ),
        (home.join("settings.json"), Source::Own),
    ];
    let given = settings.iter().find_map(|(file, source)| {
        let Found::Content(bytes) = start.read(file, *source) else {
            return None;
        };
        // Gemini CLI takes comments out and reads the rest as JSON.
        let options = ParseOptions {
            allow_trailing_commas: false,
            ..ParseOptions::default()
        };
        let settings: Value = parse_to_serde_value(&decoded(&bytes), &options).ok()?;
        Some((strings(&settings["context"]["fileName"])?, *source))
    });
    let (mut names, source) = given.unwrap_or((Vec::new(), Source::Own));
    for name in &mut names {
        // A name may be that of a variable.
        let variable = name
            .strip_prefix('$')
            .map(|name| name.trim_matches(['{', '}']));
        if let Some(value) = variable.and_then(|variable| start.variable(variable)) {
            *name = value.to_owned();
        }
    }
    if !names.iter().any(|name| name == "GEMINI.md") {
        names.push("GEMINI.md".to_owned());
    }
    (names, source)
}

/// Returns a string, or the strings of a list.
fn strings(value: &Value) -> Option<Vec<String>> {
    let strings = match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(list) => {
            let strings = list.iter().filter_map(Value::as_str);
            strings.map(str::to_owned).collect()
        }
        _ => return None,
    };
    (!strings.is_empty()).then_some(strings)
}

/// Returns the instruction files of extensions, sorted by path.
fn extensions(start: &Start<'_>, home: &Path) -> Vec<PathBuf> {
    let Ok(folders) = fs::read_dir(home.join("extensions")) else {
        return Vec::new();
    };
    let mut files = Vec::new();
    for folder in folders.flatten().map(|entry| entry.path()) {
        let manifest = folder.join("gemini-extension.json");
        let Found::Content(bytes) = start.read(&manifest, Source::Own) else {
            continue;
        };
        let manifest: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let names = strings(&manifest["contextFileName"]);
        let names = names.unwrap_or_else(|| vec!["GEMINI.md".to_owned()]);
        files.extend(names.iter().map(|name| folder.join(name)));
    }
    files.sort();
    files
}

/// Returns the folder of the private memory of the project, which has a name of its own.
fn memory_folder(start: &Start<'_>, home: &Path) -> Option<PathBuf> {
    let Found::Content(bytes) = start.read(&home.join(gemini::PROJECTS), Source::Own) else {
        return None;
    };
    gemini::memory_folder(home, &bytes, start.cwd())
}

/// A part of the text that is sent, and the file that it comes from.
struct Segment {
    path: PathBuf,
    kind: PieceKind,
    bytes: u64,
    text: String,
}

/// Returns the pieces of a file and of its imports.
fn instructions(start: &Start<'_>, file: &Path, kind: PieceKind) -> Vec<Piece> {
    let source = match kind {
        PieceKind::Project => Source::Project,
        _ => Source::Own,
    };
    let bytes = match start.read(file, source) {
        Found::Missing => return Vec::new(),
        Found::Unread(why) => return vec![Piece::unsent(file, kind, 0, why)],
        Found::Content(bytes) => bytes,
    };
    let folder = file.parent().unwrap_or(file);
    let mut reader = Importer {
        start,
        source,
        border: TrustBoundary::of_project(start.git_root(folder).unwrap_or(folder), []),
        segments: Vec::new(),
        imported: 0,
        count: 0,
        refused: Vec::new(),
    };
    let first = Segment {
        path: file.to_owned(),
        kind,
        bytes: bytes.len() as u64,
        text: String::new(),
    };
    // Decoding keeps a byte order mark; trimming removes it.
    reader.read(first, &String::from_utf8_lossy(&bytes), &mut Vec::new());
    let is_blank = |c: char| c.is_whitespace() || c == '\u{feff}';
    let mut segments = reader.segments;
    if let Some(first) = segments.first_mut() {
        first.text = first.text.trim_start_matches(is_blank).to_owned();
    }
    if let Some(last) = segments.last_mut() {
        last.text
            .truncate(last.text.trim_end_matches(is_blank).len());
    }
    segments.retain(|segment| !segment.text.is_empty() || segment.bytes > 0);
    if segments.iter().all(|segment| segment.text.is_empty()) {
        return Vec::new();
    }
    let pieces = segments
        .into_iter()
        .map(|segment| Piece::whole(segment.path, segment.kind, segment.bytes, segment.text));
    pieces.chain(reader.refused).collect()
}

/// Puts imports in where they are mentioned.
struct Importer<'a> {
    start: &'a Start<'a>,
    source: Source,
    /// The folder that imports may not leave.
    border: TrustBoundary,
    segments: Vec<Segment>,
    /// The bytes of all imports so far, and how many there were.
    imported: usize,
    count: usize,
    refused: Vec<Piece>,
}

impl Importer<'_> {
    /// Adds the text of a file; `above` are the imports that lead to it.
    fn read(&mut self, mut segment: Segment, text: &str, above: &mut Vec<PathBuf>) {
        if above.len() >= DEEPEST {
            segment.text = text.to_owned();
            self.segments.push(segment);
            return;
        }
        let folder = segment.path.parent().unwrap_or(&segment.path).to_owned();
        let code = code_spans(text);
        let mut copied = 0;
        for mention in mentions(text) {
            segment.text.push_str(&text[copied..mention.start]);
            copied = mention.end;
            let name = &text[mention.start + 1..mention.end];
            if is_inside(mention.start, &code) {
                segment.text.push('@');
                segment.text.push_str(name);
                continue;
            }
            let file = without_dots(&folder.join(name));
            match self.import(name, &file, above) {
                Err(comment) => segment.text.push_str(&comment),
                Ok(bytes) => {
                    segment
                        .text
                        .push_str(&format!("<!-- Imported from: {name} -->\n"));
                    let (path, kind) = (segment.path.clone(), segment.kind);
                    self.segments.push(segment);
                    let import = Segment {
                        path: file.clone(),
                        kind: PieceKind::Import,
                        bytes: bytes.len() as u64,
                        text: String::new(),
                    };
                    above.push(file);
                    self.read(import, &String::from_utf8_lossy(&bytes), above);
                    above.pop();
                    segment = Segment {
                        path,
                        kind,
                        bytes: 0,
                        text: format!("\n<!-- End of import from: {name} -->"),
                    };
                }
            }
        }
        segment.text.push_str(&text[copied..]);
        self.segments.push(segment);
    }

    /// Reads an import, or returns the comment that Gemini CLI puts in instead.
    fn import(&mut self, name: &str, file: &Path, above: &[PathBuf]) -> Result<Vec<u8>, String> {
        let failed = |why: &str| Err(format!("<!-- Import failed: {name} - {why} -->"));
        if self.count > MOST_IMPORTS {
            return Err(String::new());
        }
        let is_url = ["file://", "http://", "https://"]
            .iter()
            .any(|scheme| name.starts_with(scheme));
        if is_url || self.border.check(file).is_err() {
            return failed("Path traversal attempt");
        }
        if above.iter().any(|known| known == file) {
            return Err(format!("<!-- File already processed: {name} -->"));
        }
        self.count += 1;
        if self.count > MOST_IMPORTS {
            if self.count == MOST_IMPORTS + 1 {
                let why = format!("not shown: only the first {MOST_IMPORTS} imports are");
                self.refused
                    .push(Piece::unsent(file, PieceKind::Import, 0, why));
            }
            return Err(String::new());
        }
        if file.is_dir() {
            return failed("EISDIR: illegal operation on a directory, read");
        }
        match self.start.read(file, self.source) {
            Found::Content(bytes) if self.imported + bytes.len() > MOST_IMPORTED => {
                if !self.refused.iter().any(|piece| piece.path == file) {
                    let why = "not shown: the imports are larger than 8 MB";
                    let piece = Piece::unsent(file, PieceKind::Import, 0, why);
                    self.refused.push(piece);
                }
                Err(String::new())
            }
            Found::Content(bytes) => {
                // The comments around an empty import count, too.
                self.imported += bytes.len() + name.len();
                Ok(bytes)
            }
            Found::Missing => failed(&format!(
                "ENOENT: no such file or directory, access '{}'",
                file.display()
            )),
            Found::Unread(why) => {
                self.refused
                    .push(Piece::unsent(file, PieceKind::Import, 0, why));
                Err(String::new())
            }
        }
    }
}

/// Returns where a text mentions `@path`.
fn mentions(text: &str) -> Vec<Range<usize>> {
    let is_blank = |c: char| matches!(c, ' ' | '\t' | '\n' | '\r');
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find('@').map(|at| from + at) {
        if text[..at].chars().next_back().is_some_and(|c| !is_blank(c)) {
            from = at + 1;
            continue;
        }
        let rest = &text[at + 1..];
        let end = at + 1 + rest.find(is_blank).unwrap_or(rest.len());
        let is_path = |c: char| c == '.' || c == '/' || c.is_ascii_alphabetic();
        if rest.starts_with(is_path) {
            found.push(at..end);
        }
        // The blank after the name is passed over, too.
        from = match text[end..].chars().next() {
            Some(blank) => end + blank.len_utf8(),
            None => break,
        };
    }
    found
}

/// Returns the code spans of a text, sorted: a run of backticks up to the next run that is as long.
/// A run that is never closed counts as a shorter one.
fn code_spans(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut runs: Vec<Range<usize>> = Vec::new();
    for at in memchr::memchr_iter(b'`', bytes) {
        match runs.last_mut() {
            Some(run) if run.end == at => run.end = at + 1,
            _ => runs.push(at..at + 1),
        }
    }
    // The longest run after each one.
    let mut longest = vec![0; runs.len()];
    for at in (1..runs.len()).rev() {
        longest[at - 1] = longest[at].max(runs[at].len());
    }
    let mut spans = Vec::new();
    let (mut at, mut from) = (0, 0);
    while at < runs.len() {
        let run = runs[at].start.max(from)..runs[at].end;
        let length = run.len().min(longest[at]).max(run.len() / 2);
        if length == 0 {
            at += 1;
            continue;
        }
        if run.len() / 2 >= length {
            from = run.start + 2 * length;
        } else {
            at += 1;
            // There is one, since the longest is as long.
            while at + 1 < runs.len() && runs[at].len() < length {
                at += 1;
            }
            from = runs[at].start + length;
        }
        spans.push(run.start..from);
        if from >= runs[at].end {
            at += 1;
        }
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_spans_end_at_a_run_of_the_same_length() {
        let spans = |text: &str| -> Vec<String> {
            let spans = code_spans(text).into_iter();
            spans.map(|span| text[span].to_owned()).collect()
        };
        assert_eq!(spans("a `b` c ``d ` e`` f"), ["`b`", "``d ` e``"]);
        assert_eq!(spans("```\nx\n``` y"), ["```\nx\n```"]);
        assert_eq!(spans("`never"), [""; 0]);
        assert_eq!(spans("``never"), ["``"]);
        assert_eq!(spans("```a`` b"), ["```a``"]);
        assert_eq!(spans("`a``b` c"), ["`a`", "`b`"]);
    }
}
