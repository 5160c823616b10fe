//! Wraps styled text into lines, by display width.

use std::ops::Range;

use ratatui::style::Style;
use ratatui::text::Span;
use unicode_segmentation::UnicodeSegmentation;

use crate::tui::cells;

/// A run of text in one style.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) text: String,
    pub(super) style: Style,
    /// The index of the link that it belongs to.
    pub(super) link: Option<usize>,
    /// Its position in the source, in bytes.
    pub(super) at: usize,
}

impl Piece {
    pub(super) fn line_break() -> Self {
        Self {
            text: "\n".to_owned(),
            style: Style::new(),
            link: None,
            at: 0,
        }
    }
}

/// A part of a piece, on one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PiecePart {
    pub(super) piece: usize,
    range: Range<usize>,
    width: usize,
}

impl PiecePart {
    pub(super) fn span(&self, pieces: &[Piece]) -> Span<'static> {
        let piece = &pieces[self.piece];
        Span::styled(piece.text[self.range.clone()].to_owned(), piece.style)
    }
}

/// A grapheme: its piece, its bytes, its width in columns.
struct Glyph {
    piece: usize,
    range: Range<usize>,
    width: usize,
    kind: GlyphKind,
    /// Whether no line may start with it.
    closes: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum GlyphKind {
    Blank,
    /// A character of a script that can be wrapped anywhere.
    Wide,
    Letter,
    Break,
}

fn glyphs(pieces: &[Piece]) -> Vec<Glyph> {
    let mut glyphs: Vec<Glyph> = Vec::new();
    for (piece, Piece { text, .. }) in pieces.iter().enumerate() {
        for (at, letter) in text.grapheme_indices(true) {
            let width = cells::width(letter);
            let kind = match letter {
                "\n" => GlyphKind::Break,
                " " => GlyphKind::Blank,
                // Words of Hangul are separated by blanks, as those of Latin letters are.
                _ if width > 1 && !is_hangul(letter) => GlyphKind::Wide,
                _ => GlyphKind::Letter,
            };
            // Consecutive blanks count as one, as in Markdown, and no line starts with one.
            let before = glyphs.last().map_or(GlyphKind::Break, |glyph| glyph.kind);
            if kind == GlyphKind::Blank && matches!(before, GlyphKind::Blank | GlyphKind::Break) {
                continue;
            }
            glyphs.push(Glyph {
                piece,
                range: at..at + letter.len(),
                width,
                kind,
                closes: letter.chars().all(is_closing),
            });
        }
    }
    glyphs
}

fn is_hangul(letter: &str) -> bool {
    let mut chars = letter.chars();
    chars.all(|c| matches!(c, '\u{1100}'..='\u{11ff}' | '\u{3130}'..='\u{318f}' | '\u{ac00}'..='\u{d7af}'))
}

/// Whether a character belongs to what is before it: punctuation at the end of something.
fn is_closing(c: char) -> bool {
    ".,;:!?)]}’”»…、。〉》」』】〕）！，．：；？］｝".contains(c)
}

/// Wraps a paragraph into lines of `width` columns.
pub(super) fn wrap(pieces: &[Piece], width: usize) -> Vec<Vec<PiecePart>> {
    let glyphs = glyphs(pieces);
    let mut rows = Vec::new();
    let (mut start, mut taken) = (0, 0);
    // Where the row can end, and where the next one would start.
    let mut opportunity: Option<(usize, usize)> = None;
    for (n, glyph) in glyphs.iter().enumerate() {
        if glyph.kind == GlyphKind::Break {
            rows.push(start..n);
            (start, taken, opportunity) = (n + 1, 0, None);
            continue;
        }
        let after_wide = n > start && glyphs[n - 1].kind == GlyphKind::Wide;
        match glyph.kind {
            GlyphKind::Blank => opportunity = Some((n, n + 1)),
            _ if glyph.closes => {}
            GlyphKind::Wide if n > start && glyphs[n - 1].kind != GlyphKind::Blank => {
                opportunity = Some((n, n));
            }
            GlyphKind::Letter if after_wide => opportunity = Some((n, n)),
            _ => {}
        }
        while taken + glyph.width > width && n > start && glyph.kind != GlyphKind::Blank {
            let (end, next) = opportunity.take().unwrap_or((n, n));
            rows.push(start..end);
            start = next;
            taken = glyphs[start..n].iter().map(|glyph| glyph.width).sum();
        }
        taken += glyph.width;
    }
    rows.push(start..glyphs.len());
    rows.into_iter().map(|row| parts(&glyphs[row])).collect()
}

fn parts(glyphs: &[Glyph]) -> Vec<PiecePart> {
    let end = glyphs
        .iter()
        .rposition(|glyph| glyph.kind != GlyphKind::Blank)
        .map_or(0, |last| last + 1);
    let mut parts: Vec<PiecePart> = Vec::new();
    for glyph in &glyphs[..end] {
        match parts.last_mut() {
            Some(part) if part.piece == glyph.piece && part.range.end == glyph.range.start => {
                part.range.end = glyph.range.end;
                part.width += glyph.width;
            }
            _ => parts.push(PiecePart {
                piece: glyph.piece,
                range: glyph.range.clone(),
                width: glyph.width,
            }),
        }
    }
    parts
}

/// Returns the width of a row in columns.
pub(super) fn width(row: &[PiecePart]) -> usize {
    row.iter().map(|part| part.width).sum()
}

/// Returns the links of a row with their columns; the row starts at `column`.
pub(super) fn spots(
    row: &[PiecePart],
    pieces: &[Piece],
    column: usize,
) -> Vec<(usize, Range<usize>)> {
    let mut spots: Vec<(usize, Range<usize>)> = Vec::new();
    let mut column = column;
    for part in row {
        let columns = column..column + part.width;
        column = columns.end;
        let Some(link) = pieces[part.piece].link else {
            continue;
        };
        match spots.last_mut() {
            Some((last, before)) if *last == link && before.end == columns.start => {
                before.end = columns.end;
            }
            _ => spots.push((link, columns)),
        }
    }
    spots
}
