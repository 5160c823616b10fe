//! Claude Code's memory index, cut where Claude Code cuts it, and the memories of subagents.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use super::super::{Limit, Piece, PieceKind, Source, Start, counted, decoded, trimmed};
use super::{LARGEST, header, markdown};
use crate::core::memory::discover::claude_memory_root;
use crate::core::memory::layout::index::BUDGET_LINES;
use crate::core::memory::library::Budget;

const INDEX: &str = "MEMORY.md";

/// How many UTF-16 units of the index Claude Code reads.
const MOST_UNITS: usize = 25_000;

/// Returns the piece of the memory index.
pub(super) fn index(start: &Start<'_>, seen: &HashSet<PathBuf>) -> Option<Piece> {
    let root = claude_memory_root(start.environment, start.settings)?;
    let file = root.join(INDEX);
    if seen.contains(&file) {
        return None;
    }
    let kind = PieceKind::Memory;
    let bytes = match start.load(&file, kind, Source::Own) {
        Ok(bytes) if bytes.len() > LARGEST => return None,
        Ok(bytes) => bytes,
        Err(told) => return told.into_iter().next(),
    };
    let text = markdown::read(&header(&bytes).1).text;
    let whole = trimmed(&text);
    let (text, cut) = truncated(whole);
    let rest = whole[text.len()..].trim_start_matches('\n').to_owned();
    let warning = cut.as_ref().map(|_| warning(whole, text));
    let text = plain(&format!("{text}{}", warning.unwrap_or_default()));
    let text = trimmed(&text).to_owned();
    let size = bytes.len() as u64;
    (!text.is_empty()).then(|| Piece {
        cut,
        rest,
        limit: Some(limit(whole)),
        ..Piece::whole(file, kind, size, text)
    })
}

/// Returns what Claude Code says after an index of which it has kept the start.
fn warning(whole: &str, kept: &str) -> String {
    let (lines, units) = (whole.split('\n').count(), whole.encode_utf16().count());
    let loaded = match whole[kept.len()..].strip_prefix('\n') {
        None => {
            let kept = kept.encode_utf16().count();
            format!("everything after the first {kept} characters of line 1 was cut off")
        }
        Some(rest) => {
            let (kept, left) = (kept.split('\n').count(), rest.split('\n').count());
            let next = match rest.lines().next().map(trimmed).unwrap_or_default() {
                "" => String::new(),
                line => format!(" (\"{}\")", start_of(line)),
            };
            let first = kept + 1;
            format!("{left} of {lines} lines were cut off, starting at line {first}{next}")
        }
    };
    let size = kilobytes(units);
    let what = match (lines > BUDGET_LINES, units > MOST_UNITS) {
        (true, false) => format!("{lines} lines (limit: {BUDGET_LINES})"),
        (false, _) => {
            let limit = kilobytes(MOST_UNITS);
            format!("{size} (limit: {limit}) — index entries are too long")
        }
        (true, true) => format!("{lines} lines and {size}"),
    };
    format!(
        "\n\n> WARNING: {INDEX} is {what}. Only part of it was loaded: {loaded}. Keep index entries to one line under ~200 chars; move detail into topic files."
    )
}

/// A line, or its first words and `…`.
fn start_of(line: &str) -> String {
    const MOST: usize = 80;
    let units: Vec<u16> = line.encode_utf16().collect();
    if units.len() <= MOST {
        return line.to_owned();
    }
    let mut end = MOST - 1;
    // A character of two units stays whole.
    if (0xd800..0xdc00).contains(&units[end - 1]) {
        end -= 1;
    }
    let start = String::from_utf16_lossy(&units[..end]);
    let words = start
        .rfind(char::is_whitespace)
        .map(|at| start[..at].trim_end());
    let is_long = |words: &&str| words.encode_utf16().count() > MOST / 2;
    format!("{}…", words.filter(is_long).unwrap_or(start.trim_end()))
}

/// A size as Claude Code writes it, such as `24.4KB`.
fn kilobytes(units: usize) -> String {
    let size = format!("{:.1}", units as f64 / 1024.0);
    format!("{}KB", size.strip_suffix(".0").unwrap_or(&size))
}

/// Returns the limit that an index is nearest to, and how much of it is used.
fn limit(text: &str) -> Limit {
    let used = Budget::of(text);
    let lines = Limit {
        used: used.lines,
        most: Budget::MOST.lines,
        unit: "lines",
    };
    let units = Limit {
        used: used.characters,
        most: Budget::MOST.characters,
        unit: "characters",
    };
    if units.percent() > lines.percent() {
        units
    } else {
        lines
    }
}

/// Cuts an index after the last line that is within both limits.
fn truncated(text: &str) -> (&str, Option<String>) {
    let lines = text.split('\n').count();
    let units = |text: &str| text.encode_utf16().count();
    if lines <= BUDGET_LINES && units(text) <= MOST_UNITS {
        return (text, None);
    }
    let mut end = text
        .match_indices('\n')
        .nth(BUDGET_LINES - 1)
        .map_or(text.len(), |(at, _)| at);
    if units(&text[..end]) > MOST_UNITS {
        let mut length = 0;
        let within = text.char_indices().find(|(_, c)| {
            length += c.len_utf16();
            length > MOST_UNITS
        });
        let most = within.map_or(text.len(), |(at, _)| at);
        // A line break right after the limit is still found.
        let searched = if text[most..].starts_with('\n') {
            most + 1
        } else {
            most
        };
        end = text[..searched]
            .rfind('\n')
            .filter(|at| *at > 0)
            .unwrap_or(most);
    }
    let rest = &text[end..];
    let left = rest.strip_prefix('\n').unwrap_or(rest).split('\n').count();
    let cut = if text[..end].contains('\n') || lines > 1 {
        format!("the last {} of {lines}", counted(left, "line"))
    } else {
        format!("{} of its only line", counted(text.len() - end, "byte"))
    };
    (&text[..end], Some(cut))
}

/// Removes characters that Claude Code removes from the index: control characters and characters
/// that are not visible.
fn plain(text: &str) -> String {
    static HIDDEN: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"[\p{Cf}\p{Co}\p{Cn}\p{Default_Ignorable_Code_Point}\p{Cc}--[\t\n\u{200c}\u{200d}\u{fe0e}\u{fe0f}]]").ok()
    });
    let text = text
        .replace("\r\n", "\n")
        .replace(['\r', '\u{2028}', '\u{2029}'], "\n");
    match HIDDEN.as_ref() {
        Some(hidden) => hidden.replace_all(&text, "").into_owned(),
        None => text,
    }
}

/// Returns the memories of subagents, which are loaded when the subagent starts.
pub(super) fn of_subagents(start: &Start<'_>) -> Vec<Piece> {
    let root = start.git_root(start.cwd()).unwrap_or(start.cwd());
    let folders = [
        (start.environment.claude.join("agent-memory"), Source::Own),
        (root.join(".claude/agent-memory"), Source::Project),
        (root.join(".claude/agent-memory-local"), Source::Project),
    ];
    let mut pieces = Vec::new();
    for (folder, source) in folders {
        let Ok(agents) = fs::read_dir(&folder) else {
            continue;
        };
        let mut agents: Vec<PathBuf> = agents.flatten().map(|entry| entry.path()).collect();
        agents.sort();
        pieces.extend(
            agents
                .iter()
                .filter_map(|agent| of_subagent(start, agent, source)),
        );
    }
    pieces
}

fn of_subagent(start: &Start<'_>, agent: &Path, source: Source) -> Option<Piece> {
    let file = agent.join(INDEX);
    let kind = PieceKind::SubagentMemory;
    let bytes = match start.load(&file, kind, source) {
        Ok(bytes) => bytes,
        Err(told) => return told.into_iter().next(),
    };
    let name = agent.file_name()?.to_string_lossy();
    let why = format!("loaded when the subagent {name} starts");
    let piece = Piece::unsent(&file, kind, bytes.len() as u64, why);
    Some(piece.with_rest(decoded(&bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_is_cut_after_two_hundred_lines_or_before_twenty_five_thousand_characters() {
        let lines = |count: usize| -> String {
            let all: Vec<String> = (1..=count).map(|n| format!("line {n}")).collect();
            all.join("\n")
        };
        let long = lines(203);
        let (text, cut) = truncated(&long);
        assert!(text.ends_with("\nline 200"), "{text}");
        assert_eq!(cut.as_deref(), Some("the last 3 lines of 203"));
        assert_eq!(truncated(&lines(200)).1, None);
        // Two units of UTF-16 each, and a line break after every 100.
        let wide = vec!["🦓".repeat(50); 260].join("\n");
        let (text, cut) = truncated(&wide);
        assert_eq!(text.lines().count(), 200);
        assert!(cut.is_some());
        let wide = vec!["🦓".repeat(100); 150].join("\n");
        let (text, cut) = truncated(&wide);
        assert_eq!(text.encode_utf16().count(), 124 * 201 - 1);
        assert_eq!(cut.as_deref(), Some("the last 26 lines of 150"));
        let one = "x".repeat(30_000);
        let (text, cut) = truncated(&one);
        assert_eq!(text.len(), 25_000);
        assert_eq!(cut.as_deref(), Some("5000 bytes of its only line"));
    }

    #[test]
    fn the_warning_after_a_cut_says_what_is_too_long() {
        let lines = |count: usize, line: &str| vec![line; count].join("\n");
        let long = format!("{} {}", "y".repeat(60), "z".repeat(139));
        for (whole, what) in [
            (
                lines(259, "x"),
                "259 lines (limit: 200). Only part of it was loaded: 59 of 259 lines were cut off, starting at line 201 (\"x\").".to_owned(),
            ),
            (
                "z".repeat(30_000),
                "29.3KB (limit: 24.4KB) — index entries are too long. Only part of it was loaded: everything after the first 25000 characters of line 1 was cut off.".to_owned(),
            ),
            (
                lines(300, &long),
                format!("300 lines and 58.9KB. Only part of it was loaded: 176 of 300 lines were cut off, starting at line 125 (\"{}…\").", "y".repeat(60)),
            ),
        ] {
            let said = warning(&whole, truncated(&whole).0);
            let expected = format!("\n\n> WARNING: MEMORY.md is {what} Keep index");
            assert!(said.starts_with(&expected), "{said}");
        }
    }

    #[test]
    fn control_and_hidden_characters_of_an_index_are_removed() {
        assert_eq!(
            plain("a\r\nb\u{200b}c\u{200d}d\u{7}\te\n"),
            "a\nbc\u{200d}d\te\n"
        );
    }
}
