//! Finds the fonts, and the font that has a given character.

use std::path::{Path, PathBuf};

use ab_glyph::{Font as _, FontVec, GlyphId};

use crate::Result;

/// The variable with a directory of a family's `.ttf` files, or with one such file.
const VARIABLE: &str = "TOME_PICTURE_FONT";

/// The usual directories of the families, in the order of preference.
const USUAL: [&str; 6] = [
    "/usr/share/fonts/truetype/jetbrains-mono",
    "/usr/share/fonts/jetbrains-mono-fonts",
    "/usr/share/fonts/TTF",
    "/Library/Fonts",
    "/usr/share/fonts/truetype/dejavu",
    "/usr/share/fonts/dejavu-sans-mono-fonts",
];

/// The files of a family: regular, bold, italic, both.
const FAMILIES: [[&str; 4]; 2] = [
    [
        "JetBrainsMono-Regular.ttf",
        "JetBrainsMono-Bold.ttf",
        "JetBrainsMono-Italic.ttf",
        "JetBrainsMono-BoldItalic.ttf",
    ],
    [
        "DejaVuSansMono.ttf",
        "DejaVuSansMono-Bold.ttf",
        "DejaVuSansMono-Oblique.ttf",
        "DejaVuSansMono-BoldOblique.ttf",
    ],
];

/// The style of a font in a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct FontStyle {
    pub(crate) bold: bool,
    pub(crate) italic: bool,
}

impl FontStyle {
    fn number(self) -> usize {
        usize::from(self.bold) + 2 * usize::from(self.italic)
    }
}

/// One family; a missing style is replaced by the regular one.
struct Family {
    cuts: Vec<FontVec>,
}

/// Families; a later one is used for characters that the earlier ones lack.
pub(crate) struct Fonts {
    families: Vec<Family>,
}

impl Fonts {
    /// Finds installed fonts; the error explains what to install.
    pub(crate) fn find() -> Result<Self> {
        let asked = std::env::var_os(VARIABLE).map(PathBuf::from);
        if let Some(asked) = &asked {
            let has = |names: &[&str; 4]| asked.join(names[0]).is_file();
            if !asked.is_file() && !FAMILIES.iter().any(has) {
                let known = FAMILIES.map(|names| names[0]).join(" or ");
                let there = asked.display();
                return Err(format!("{VARIABLE}: {there}: no font, and no {known} in it").into());
            }
        }
        let mut families = Vec::new();
        if let Some(file) = asked.as_deref().filter(|path| path.is_file()) {
            families.push(Family {
                cuts: vec![read(file)?],
            });
        }
        let folders: Vec<PathBuf> = asked
            .iter()
            .cloned()
            .chain(USUAL.map(PathBuf::from))
            .collect();
        for names in FAMILIES {
            if let Some(family) = folders.iter().find_map(|folder| family(folder, names)) {
                families.push(family?);
            }
        }
        if families.is_empty() {
            return Err(format!(
                "no font to draw with: install JetBrains Mono or DejaVu Sans Mono (Debian: \
                 apt-get install fonts-jetbrains-mono fonts-dejavu-core), or set {VARIABLE} to a \
                 .ttf file or a directory with one of these families"
            )
            .into());
        }
        Ok(Self { families })
    }

    /// Returns the regular font of the first family, which determines the size of cells.
    pub(crate) fn first(&self) -> &FontVec {
        &self.families[0].cuts[0]
    }

    /// Returns the first font that has the character.
    pub(crate) fn with(&self, letter: char, cut: FontStyle) -> Option<(&FontVec, GlyphId)> {
        self.families.iter().find_map(|family| {
            let font = family.cuts.get(cut.number()).unwrap_or(&family.cuts[0]);
            let glyph = font.glyph_id(letter);
            (glyph.0 != 0).then_some((font, glyph))
        })
    }
}

fn family(folder: &Path, names: [&str; 4]) -> Option<Result<Family>> {
    let files = names.map(|name| folder.join(name));
    if !files[0].is_file() {
        return None;
    }
    let cuts = files.iter().map(|file| {
        if file.is_file() {
            read(file)
        } else {
            read(&files[0])
        }
    });
    Some(cuts.collect::<Result<Vec<_>>>().map(|cuts| Family { cuts }))
}

fn read(file: &Path) -> Result<FontVec> {
    let bytes = std::fs::read(file).map_err(|e| format!("{}: {e}", file.display()))?;
    let font = FontVec::try_from_vec(bytes);
    font.map_err(|e| format!("{}: {e}", file.display()).into())
}
