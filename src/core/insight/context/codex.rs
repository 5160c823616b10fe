//! Codex: the summary of its memories, `AGENTS.md` of the user, and one file of each folder from
//! the git root down to the working directory.
//!
//! Verified against Codex 0.169.0.

use std::path::Path;

use super::{Found, Limit, Piece, PieceKind, Source, Start, counted, folders_between};
use crate::core::memory::layout::entries::CODEX_SUMMARY;
use crate::core::text::toml_text;

/// The names that are looked for in each folder; the first one is used.
const NAMES: [&str; 2] = ["AGENTS.override.md", "AGENTS.md"];

/// How many bytes of the project's files are loaded.
const MOST_BYTES: usize = 32 << 10;

pub(super) fn pieces(start: &Start<'_>) -> Vec<Piece> {
    let home = &start.environment.codex;
    let options = Options::read(start);
    let mut pieces = if options.has_memory {
        memory(start)
    } else {
        Vec::new()
    };
    pieces.extend(NAMES.iter().find_map(|name| user(start, &home.join(name))));
    let mut left = options.most_bytes;
    for folder in options.folders(start) {
        let names = NAMES
            .into_iter()
            .chain(options.names.iter().map(String::as_str));
        let file = names
            .map(|name| folder.join(name))
            .find(|file| file.is_file());
        let Some(file) = file.filter(|_| options.most_bytes > 0) else {
            continue;
        };
        pieces.extend(if options.is_untrusted {
            let why = "not loaded: the project is untrusted in Codex's settings";
            Some(Piece::unsent(&file, PieceKind::Project, 0, why))
        } else {
            project(start, &file, &mut left, options.most_bytes)
        });
    }
    pieces
}

/// The parts of Codex's settings that matter here.
struct Options {
    has_memory: bool,
    /// Whether the user does not trust the project, so that its files are not loaded.
    is_untrusted: bool,
    most_bytes: usize,
    /// Further names of instruction files.
    names: Vec<String>,
    /// The names that mark the root of a project.
    markers: Vec<String>,
}

impl Options {
    fn read(start: &Start<'_>) -> Self {
        let read = |file: &Path, source: Source| -> toml::Table {
            let text = match start.read(file, source) {
                Found::Content(bytes) => String::from_utf8(bytes).unwrap_or_default(),
                _ => String::new(),
            };
            toml_text::typed(&text).unwrap_or_default()
        };
        let mut table = read(&start.environment.codex.join("config.toml"), Source::Own);
        let folders = start.folders_down();
        let level = |folder: &Path| -> Option<String> {
            let project = table.get("projects")?.get(folder.to_str()?)?;
            Some(project.get("trust_level")?.as_str()?.to_owned())
        };
        let root = folders.first().and_then(|root| level(root));
        let own = level(start.cwd()).or_else(|| root.clone());
        let is_untrusted = own.as_deref() == Some("untrusted");
        // The settings of a folder that the user trusts, by itself or with its root, count before
        // the user's own.
        let is_trusted = |folder: &&&Path| {
            let level = level(folder).or_else(|| root.clone());
            level.as_deref() == Some("trusted")
        };
        let trusted: Vec<&&Path> = folders.iter().filter(is_trusted).collect();
        for folder in trusted {
            table.extend(read(&folder.join(".codex/config.toml"), Source::Project));
        }
        let strings = |key: &str| -> Option<Vec<String>> {
            let list = table.get(key)?.as_array()?;
            let strings = list.iter().filter_map(toml::Value::as_str);
            Some(
                strings
                    .filter(|name| !name.is_empty())
                    .map(str::to_owned)
                    .collect(),
            )
        };
        let switch =
            |section: &str, key: &str| -> Option<bool> { table.get(section)?.get(key)?.as_bool() };
        Self {
            is_untrusted,
            has_memory: switch("features", "memories").unwrap_or(false)
                && switch("memories", "use_memories").unwrap_or(true),
            most_bytes: table
                .get("project_doc_max_bytes")
                .and_then(toml::Value::as_integer)
                .and_then(|most| usize::try_from(most).ok())
                .unwrap_or(MOST_BYTES),
            // A name that leads into another folder is none.
            names: strings("project_doc_fallback_filenames")
                .unwrap_or_default()
                .into_iter()
                .filter(|name| !name.contains('/'))
                .collect(),
            markers: strings("project_root_markers").unwrap_or_else(|| vec![".git".to_owned()]),
        }
    }

    /// Returns the folders from the project's root down to the working directory.
    fn folders<'s>(&self, start: &'s Start<'_>) -> Vec<&'s Path> {
        let cwd = start.cwd();
        let is_root = |folder: &&Path| {
            let mut markers = self.markers.iter();
            markers.any(|marker| folder.join(marker).exists())
        };
        folders_between(cwd.ancestors().find(is_root).unwrap_or(cwd), cwd)
    }
}

/// Returns the pieces of the summary of memories: its start and, if it is long, its end.
fn memory(start: &Start<'_>) -> Vec<Piece> {
    let [newer, older] = start.environment.codex_memories();
    let folder = if newer.is_dir() { newer } else { older };
    let file = folder.join("memory_summary.md");
    let bytes = match start.load(&file, PieceKind::Memory, Source::Own) {
        Ok(bytes) => bytes,
        Err(told) => return told,
    };
    let size = bytes.len() as u64;
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim();
    if text.is_empty() {
        return Vec::new();
    }
    let piece = |text: &str, bytes: u64| {
        Piece::whole(file.clone(), PieceKind::Memory, bytes, text.to_owned())
    };
    let limit = Limit {
        used: text.len(),
        most: CODEX_SUMMARY,
        unit: "bytes",
    };
    let first = |text: &str| Piece {
        limit: Some(limit),
        ..piece(text, size)
    };
    if text.len() <= CODEX_SUMMARY {
        return vec![first(text)];
    }
    let mut head = CODEX_SUMMARY / 2;
    while !text.is_char_boundary(head) {
        head -= 1;
    }
    let mut tail = text.len() - CODEX_SUMMARY / 2;
    while !text.is_char_boundary(tail) {
        tail += 1;
    }
    let cut = format!("{} in the middle", counted(tail - head, "byte"));
    vec![
        Piece {
            cut: Some(cut),
            rest: text[head..tail].to_owned(),
            ..first(&text[..head])
        },
        piece(&text[tail..], 0),
    ]
}

fn user(start: &Start<'_>, file: &Path) -> Option<Piece> {
    let kind = PieceKind::User;
    let bytes = match start.load(file, kind, Source::Own) {
        Ok(bytes) => bytes,
        Err(told) => return told.into_iter().next(),
    };
    let text = String::from_utf8_lossy(&bytes).trim().to_owned();
    let size = bytes.len() as u64;
    (!text.is_empty()).then(|| Piece::whole(file.to_owned(), kind, size, text))
}

/// Returns the piece of one of the project's files, of which at most `left` bytes are loaded; all
/// of them share the limit `most`.
fn project(start: &Start<'_>, file: &Path, left: &mut usize, most: usize) -> Option<Piece> {
    let kind = PieceKind::Project;
    // The marked root may be above the one of git.
    let source = start.source_in(file.parent().unwrap_or(file));
    let bytes = match start.load(file, kind, source) {
        Ok(bytes) => bytes,
        Err(told) => return told.into_iter().next(),
    };
    let loaded = &bytes[..bytes.len().min(*left)];
    let over = bytes.len() - loaded.len();
    let cut = (over > 0).then(|| {
        format!(
            "the last {}: the project's files are loaded up to a limit",
            counted(over, "byte")
        )
    });
    let text = String::from_utf8_lossy(loaded).into_owned();
    let piece = Piece {
        cut,
        rest: String::from_utf8_lossy(&bytes[loaded.len()..]).into_owned(),
        limit: Some(Limit {
            used: most - *left + bytes.len(),
            most,
            unit: "bytes",
        }),
        ..Piece::whole(file.to_owned(), kind, bytes.len() as u64, String::new())
    };
    if text.trim().is_empty() {
        let is_blank = bytes.iter().all(u8::is_ascii_whitespace);
        return (!is_blank).then_some(piece);
    }
    *left -= loaded.len();
    Some(Piece { text, ..piece })
}

#[cfg(test)]
mod tests {
    use crate::core::fixture::Home;
    use crate::core::log::Agent;

    #[test]
    fn a_long_summary_of_memories_loses_its_middle() {
        let summary = format!("v1\n{}end\n", "é".repeat(6_000));
        let files = [
            (".codex/config.toml", "[features]\nmemories = true\n"),
            (".codex/memories/memory_summary.md", &summary),
            ("shop/AGENTS.md", "project"),
        ];
        let pieces = Home::with(&files).pieces(Agent::Codex, "shop", None);
        let lengths: Vec<usize> = pieces.iter().map(|piece| piece.text.len()).collect();
        assert_eq!(lengths, [4_999, 4_999, 7]);
        assert_eq!(pieces[0].cut.as_deref(), Some("2008 bytes in the middle"));
        assert!(pieces[1].text.ends_with("éend"));
        // Without the feature, nothing of it is loaded.
        assert_eq!(
            Home::with(&files[1..])
                .pieces(Agent::Codex, "shop", None)
                .len(),
            1
        );
    }
}
