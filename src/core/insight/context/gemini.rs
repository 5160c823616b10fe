//! Gemini CLI: `GEMINI.md` of the user, the private memory of the project, `GEMINI.md` of extensions
//! and of each folder from the git root down to the working directory and to the directories that the
//! settings include; imports are put in where they are mentioned, or follow their file.
//!
//! Verified against Gemini CLI 0.61.0.

use std::collections::HashSet;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use jsonc_parser::{ParseOptions, parse_to_serde_value};
use regex::{Captures, Regex};
use serde_json::Value;

use super::{
    Found, MOST_IMPORTS, Piece, PieceKind, Source, Start, decoded, folders_between, is_inside,
    trimmed, unread,
};
use crate::core::disk::trust::{TrustBoundary, real_path, without_dots};
use crate::core::memory::config::expand;
use crate::core::memory::discover::gemini;

const FOLDER: &str = ".gemini";

/// How many files can lead to an import, the first one included.
const DEEPEST: usize = 5;

/// How many bytes of imports of one file are shown. A file can be imported any number of times.
const MOST_IMPORTED: usize = 8 << 20;

pub(super) fn pieces(start: &Start<'_>) -> Vec<Piece> {
    let environment = start.environment;
    let home = environment.gemini.clone();
    let settings = Settings::read(start, &home);
    let in_folder = |folder: &Path| -> Vec<PathBuf> {
        let names = settings.names.iter();
        names.map(|name| folder.join(name)).collect()
    };
    // One file under two names is loaded once.
    let mut seen = HashSet::new();
    let mut found = |mut files: Vec<PathBuf>| -> Vec<PathBuf> {
        files.retain(|file| file.is_file() && seen.insert(identity(file)));
        files
    };
    let user = found(in_folder(&home));
    let extensions = found(extensions(start, &home));
    let (roots, refused) = settings.roots(start);
    let folders = roots.iter().flat_map(|root| settings.folders_down(root));
    let folders = folders.filter(|folder| **folder != *home);
    let mut project = found(folders.flat_map(in_folder).collect());
    // Files of a folder that is not read would stand where its name does.
    project.extend(refused.iter().map(|folder| folder.path.clone()));
    project.sort_by(|one, other| one.as_os_str().cmp(other.as_os_str()));
    let memory = memory_folder(start, &home).map(|folder| {
        let index = folder.join("MEMORY.md");
        let has_index = index.is_file();
        found(if has_index {
            vec![index]
        } else {
            in_folder(&folder)
        })
    });
    let mut pieces = Vec::new();
    for (files, kind) in [
        (user, PieceKind::User),
        (memory.unwrap_or_default(), PieceKind::Memory),
        (extensions, PieceKind::Extension),
        (project, PieceKind::Project),
    ] {
        for file in files {
            let unread = refused.iter().find(|folder| folder.path == file);
            if let Some(folder) = unread {
                pieces.push(folder.clone());
                continue;
            }
            match refusal(start, &file, kind, settings.chosen_by) {
                Some(why) => pieces.push(Piece::unsent(&file, kind, 0, why)),
                None => pieces.extend(instructions(start, &file, kind, &settings)),
            }
        }
    }
    pieces
}

/// Why a file of the user's is not shown under a name that somebody else chose. An extension may
/// name its own files. A project may name texts in Gemini's directory, which also has the login.
fn refusal(start: &Start<'_>, file: &Path, kind: PieceKind, chosen_by: Source) -> Option<String> {
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
fn identity(file: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    let meta = fs::metadata(file).ok()?;
    Some((meta.dev(), meta.ino()))
}

/// What the settings say: the project's count before the user's.
struct Settings {
    /// The names of instruction files, and whose settings they are.
    names: Vec<String>,
    chosen_by: Source,
    /// The names that mark the root of a project.
    markers: Vec<String>,
    /// Directories whose files are loaded, too, and whose settings name them.
    included: Vec<(PathBuf, Source)>,
    /// Whether imports follow their file.
    is_flat: bool,
}

impl Settings {
    fn read(start: &Start<'_>, home: &Path) -> Self {
        let project = start.cwd().join(FOLDER).join("settings.json");
        let files = [
            (project, Source::Project),
            (home.join("settings.json"), Source::Own),
        ];
        let read = |(file, source): (PathBuf, Source)| {
            let Found::Content(bytes) = start.read(&file, source) else {
                return None;
            };
            // Gemini CLI takes comments out and reads the rest as JSON.
            let options = ParseOptions {
                allow_trailing_commas: false,
                ..ParseOptions::default()
            };
            let settings: Value = parse_to_serde_value(&decoded(&bytes), &options).ok()?;
            Some((settings["context"].clone(), source))
        };
        let contexts: Vec<(Value, Source)> = files.into_iter().filter_map(read).collect();
        let list = |key: &str| {
            let mut given = contexts.iter();
            given.find_map(|(context, source)| {
                let texts = strings(&context[key])?.into_iter();
                let texts = texts.map(|text| with_variables(&text, start));
                Some((texts.collect::<Vec<String>>(), *source))
            })
        };
        let (names, chosen_by) = list("fileName").unwrap_or((Vec::new(), Source::Own));
        let trimmed = names.iter().map(|name| name.trim().to_owned());
        let mut names: Vec<String> = trimmed.filter(|name| !name.is_empty()).collect();
        if !names.iter().any(|name| name == "GEMINI.md") {
            names.push("GEMINI.md".to_owned());
        }
        let mut included = Vec::new();
        for (context, source) in contexts.iter().rev() {
            for text in strings(&context["includeDirectories"]).unwrap_or_default() {
                let folder = with_variables(&text, start);
                let folder = expand(&folder, &start.environment.home, start.cwd());
                included.push((without_dots(&folder), *source));
            }
        }
        let mut formats = contexts.iter();
        let format = formats.find_map(|(context, _)| context["importFormat"].as_str());
        Self {
            names,
            chosen_by,
            markers: list("memoryBoundaryMarkers").map_or(vec![".git".to_owned()], |(all, _)| all),
            included,
            is_flat: format == Some("flat"),
        }
    }

    /// Returns the directories from which files are looked for upwards, and those that are not read.
    fn roots(&self, start: &Start<'_>) -> (Vec<PathBuf>, Vec<Piece>) {
        let (mut roots, mut refused) = (vec![start.cwd().to_owned()], Vec::new());
        for (folder, source) in &self.included {
            if !folder.is_dir() {
                continue;
            }
            match start.check_named(start.cwd(), folder, *source) {
                Ok(()) => roots.push(real_path(folder)),
                Err(refusal) => {
                    let why = unread(&refusal);
                    refused.push(Piece::unsent(folder, PieceKind::Project, 0, why));
                }
            }
        }
        (roots, refused)
    }

    /// Returns the nearest folder with a marker.
    fn marked<'f>(&self, folder: &'f Path) -> Option<&'f Path> {
        let markers = self.markers.iter();
        let markers: Vec<&String> = markers
            .filter(|marker| !marker.starts_with('/') && !marker.contains(".."))
            .collect();
        let is_marked = |above: &&Path| markers.iter().any(|marker| above.join(marker).exists());
        folder.ancestors().find(is_marked)
    }

    /// Returns the folders from the marked one down to this one; that alone if none is marked.
    fn folders_down<'f>(&self, folder: &'f Path) -> Vec<&'f Path> {
        folders_between(self.marked(folder).unwrap_or(folder), folder)
    }

    /// Returns whose content leads to a file.
    fn source_of(&self, file: &Path, kind: PieceKind, start: &Start<'_>) -> Source {
        let is_own = |(folder, source): &(PathBuf, Source)| {
            *source == Source::Own && file.starts_with(real_path(folder))
        };
        let folder = file.parent().unwrap_or(file);
        match kind {
            PieceKind::Project if !self.included.iter().any(is_own) => start.source_in(folder),
            _ => Source::Own,
        }
    }
}

/// Puts in the values of variables: `$NAME`, `${NAME}` and `${NAME:-default}`.
fn with_variables(text: &str, start: &Start<'_>) -> String {
    static VARIABLE: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"\$(?:(\w+)|\{([^}]+?)(?::-([^}]*))?\})").ok());
    let Some(variable) = VARIABLE.as_ref() else {
        return text.to_owned();
    };
    let value = |found: &Captures<'_>| {
        let name = found.get(1).or_else(|| found.get(2));
        let value = name.and_then(|name| start.variable(name.as_str()));
        let default = || found.get(3).map(|default| default.as_str());
        value.or_else(default).unwrap_or(&found[0]).to_owned()
    };
    variable.replace_all(text, value).into_owned()
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
    Some(strings)
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

/// Returns the pieces of a file and of its imports.
fn instructions(
    start: &Start<'_>,
    file: &Path,
    kind: PieceKind,
    settings: &Settings,
) -> Vec<Piece> {
    let source = settings.source_of(file, kind, start);
    let bytes = match start.load(file, kind, source) {
        Ok(bytes) => bytes,
        Err(told) => return told,
    };
    let folder = file.parent().unwrap_or(file);
    let mut reader = Importer {
        start,
        source,
        border: TrustBoundary::of_project(settings.marked(folder).unwrap_or(folder), []),
        pieces: Vec::new(),
        imported: 0,
        count: 0,
        refused: Vec::new(),
    };
    let first = Piece::whole(file.to_owned(), kind, bytes.len() as u64, String::new());
    // Decoding keeps a byte order mark; trimming removes it.
    let text = String::from_utf8_lossy(&bytes);
    if settings.is_flat {
        reader.read_flat(first, folder, &text, &mut HashSet::new());
    } else {
        reader.read(first, &text, &mut Vec::new());
    }
    let is_blank = |c: char| c.is_whitespace() || c == '\u{feff}';
    let mut pieces = reader.pieces;
    if let Some(first) = pieces.first_mut() {
        first.text = first.text.trim_start_matches(is_blank).to_owned();
    }
    if let Some(last) = pieces.last_mut() {
        last.text
            .truncate(last.text.trim_end_matches(is_blank).len());
    }
    pieces.retain(|piece| !piece.text.is_empty() || piece.bytes > 0);
    if pieces.iter().all(|piece| piece.text.is_empty()) {
        return Vec::new();
    }
    pieces.extend(reader.refused);
    pieces
}

/// Puts imports in where they are mentioned.
struct Importer<'a> {
    start: &'a Start<'a>,
    source: Source,
    /// The folder that imports may not leave.
    border: TrustBoundary,
    pieces: Vec<Piece>,
    /// The bytes of all imports so far, and how many there were.
    imported: usize,
    count: usize,
    refused: Vec<Piece>,
}

impl Importer<'_> {
    /// Adds the text of a file; `above` are the imports that lead to it.
    fn read(&mut self, mut piece: Piece, text: &str, above: &mut Vec<PathBuf>) {
        if above.len() >= DEEPEST {
            piece.text = text.to_owned();
            self.pieces.push(piece);
            return;
        }
        let folder = piece.path.parent().unwrap_or(&piece.path).to_owned();
        let code = code_spans(text);
        let mut copied = 0;
        for mention in mentions(text) {
            piece.text.push_str(&text[copied..mention.start]);
            copied = mention.end;
            let name = &text[mention.start + 1..mention.end];
            if is_inside(mention.start, &code) {
                piece.text.push('@');
                piece.text.push_str(name);
                continue;
            }
            let file = without_dots(&folder.join(name));
            match self.import(name, &file, above) {
                Err(comment) => piece.text.push_str(&comment),
                Ok(bytes) => {
                    piece
                        .text
                        .push_str(&format!("<!-- Imported from: {name} -->\n"));
                    let (path, kind) = (piece.path.clone(), piece.kind);
                    self.pieces.push(piece);
                    let import = imported(&file, &bytes);
                    above.push(file);
                    self.read(import, &String::from_utf8_lossy(&bytes), above);
                    above.pop();
                    let end = format!("\n<!-- End of import from: {name} -->");
                    piece = Piece::whole(path, kind, 0, end);
                }
            }
        }
        piece.text.push_str(&text[copied..]);
        self.pieces.push(piece);
    }

    /// Adds the text of a file, then those of its imports from the last to the first, each once. The
    /// first file is called by the name of its folder.
    fn read_flat(
        &mut self,
        mut piece: Piece,
        name: &Path,
        text: &str,
        known: &mut HashSet<PathBuf>,
    ) {
        if !known.insert(name.to_owned()) {
            return;
        }
        let gap = if self.pieces.is_empty() { "" } else { "\n\n" };
        let (shown, said) = (name.display(), trimmed(text));
        piece.text = format!("{gap}--- File: {shown} ---\n{said}\n--- End of File: {shown} ---");
        let folder = piece.path.parent().unwrap_or(&piece.path).to_owned();
        self.pieces.push(piece);
        let code = code_spans(text);
        for mention in mentions(text).into_iter().rev() {
            let name = &text[mention.start + 1..mention.end];
            let file = without_dots(&folder.join(name));
            if is_inside(mention.start, &code) || known.contains(&file) {
                continue;
            }
            if let Ok(bytes) = self.import(name, &file, &[]) {
                let import = imported(&file, &bytes);
                self.read_flat(import, &file, &String::from_utf8_lossy(&bytes), known);
            }
        }
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

/// The piece of an import, still without its text.
fn imported(file: &Path, bytes: &[u8]) -> Piece {
    let size = bytes.len() as u64;
    Piece::whole(file.to_owned(), PieceKind::Import, size, String::new())
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
