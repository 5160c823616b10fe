//! The theme: roles, and the style of each.
//!
//! Widgets use a [`Role`], never a colour. The theme is read from `assets/theme.toml`, overridden
//! by the user's file; the caller supplies what the terminal supports.

mod style;

use std::borrow::Cow;
use std::path::Path;

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use toml::de::{DeTable, DeValue};

use crate::core::memory::config::{FileWarnings, Warning};
use crate::core::text::toml_text;

/// The default theme file, which documents every role.
pub const DOCUMENTED: &str = include_str!("../../assets/theme.toml");

/// Whether the terminal's background is dark or light.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Background {
    /// Light text on a dark background.
    #[default]
    Dark,
    /// Dark text on a light background.
    Light,
}

/// How many colours the terminal supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ColorDepth {
    /// None, as `NO_COLOR` requests: only modifiers such as bold and dim.
    Plain,
    /// The 16 colours of the terminal's palette.
    #[default]
    Ansi,
    /// 24-bit colours.
    True,
}

/// The properties of the terminal that the theme depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Terminal {
    /// The background.
    pub background: Background,
    /// The supported colours.
    pub depth: ColorDepth,
}

/// A user's theme file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThemeFile<'a> {
    /// The path, for warnings.
    pub path: &'a Path,
    /// The content.
    pub text: &'a str,
}

macro_rules! roles {
    ($($(#[$doc:meta])* $role:ident = $name:literal,)*) => {
        /// What a part of the screen represents; the theme gives its style.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Role {
            $($(#[$doc])* $role,)*
        }

        impl Role {
            /// Every role, in the order of the theme file.
            pub const ALL: &'static [Self] = &[$(Self::$role,)*];

            /// The name in theme files.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$role => $name,)*
                }
            }
        }
    };
}

roles! {
    /// Plain text.
    Text = "text",
    /// Less important text: counts, ages, paths.
    Muted = "muted",
    /// The current position.
    Accent = "accent",
    /// A pane's title.
    Title = "title",
    /// The border of a pane.
    Border = "border",
    /// The border of the pane that gets the keys.
    BorderFocused = "border-focused",
    /// The row of a list under the cursor.
    Selected = "selected",
    /// Selected text in the editor.
    Selection = "selection",
    /// The cursor in a text.
    Cursor = "cursor",
    /// The line of the cursor in the editor.
    CursorLine = "cursor-line",
    /// Line numbers.
    Gutter = "gutter",
    /// The line number of the cursor.
    GutterCurrent = "gutter-current",
    /// A key in the key hints.
    KeyHint = "key-hint",
    /// A message about the last action.
    Toast = "toast",
    /// A heading of the first two levels.
    Heading = "heading",
    /// A heading of a lower level.
    HeadingMinor = "heading-minor",
    /// Bold text.
    Strong = "strong",
    /// Italic text.
    Emphasis = "emphasis",
    /// Struck out text.
    Strike = "strike",
    /// A link.
    Link = "link",
    /// Code inside a line.
    Code = "code",
    /// A block of code, under the colours of its language.
    CodeBlock = "code-block",
    /// A quotation.
    Quote = "quote",
    /// A horizontal rule, the lines of a table.
    Rule = "rule",
    /// Bullets, and the markup characters in Markdown source.
    Marker = "marker",
    /// A comment.
    Comment = "comment",
    /// The type `user`.
    BadgeUser = "badge-user",
    /// The type `feedback`.
    BadgeFeedback = "badge-feedback",
    /// The type `project`.
    BadgeProject = "badge-project",
    /// The type `reference`.
    BadgeReference = "badge-reference",
    /// Any other type.
    BadgeOther = "badge-other",
    /// A line that was added.
    Added = "added",
    /// A line that was removed.
    Removed = "removed",
    /// The part of an added line that is new.
    AddedWord = "added-word",
    /// The part of a removed line that was removed.
    RemovedWord = "removed-word",
    /// The header of a hunk.
    Hunk = "hunk",
    /// A warning.
    Warn = "warn",
    /// An error.
    Error = "error",
    /// The characters of a list row that match the query.
    Match = "match",
    /// A search match in a text.
    MatchLine = "match-line",
    /// The search match at the cursor.
    MatchCurrent = "match-current",
    /// A keyword.
    Keyword = "syntax-keyword",
    /// A string literal.
    String = "syntax-string",
    /// A number or another constant.
    Constant = "syntax-constant",
    /// The name of a function.
    Function = "syntax-function",
    /// The name of a type.
    Type = "syntax-type",
    /// A key, as in TOML or YAML.
    Key = "syntax-key",
    /// Brackets and other punctuation.
    Punctuation = "syntax-punctuation",
    /// A user's message in a log.
    You = "role-you",
    /// An agent's message in a log.
    Agent = "role-agent",
    /// A tool's message in a log.
    Tool = "role-tool",
}

/// A style for every role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Theme {
    /// One per role, in the order of [`Role::ALL`].
    styles: Vec<Style>,
}

impl Default for Theme {
    fn default() -> Self {
        Self::new(Terminal::default())
    }
}

impl Theme {
    /// Returns the default theme.
    pub fn new(terminal: Terminal) -> Self {
        Self::load(terminal, None).0
    }

    /// Returns the theme with a user's file over it, and the file's errors, which are skipped.
    pub fn load(terminal: Terminal, user: Option<ThemeFile<'_>>) -> (Self, Vec<Warning>) {
        let mut theme = Self {
            styles: vec![Style::new(); Role::ALL.len()],
        };
        let own = ThemeFile {
            path: Path::new("theme.toml"),
            text: DOCUMENTED,
        };
        theme.read(terminal, own);
        let warnings = user.map_or_else(Vec::new, |file| theme.read(terminal, file));
        (theme, warnings)
    }

    /// Returns the style of `role`.
    pub fn style(&self, role: Role) -> Style {
        self.styles[role as usize]
    }

    /// Returns a text in the style of `role`.
    pub fn span<'a>(&self, text: impl Into<Cow<'a, str>>, role: Role) -> Span<'a> {
        Span::styled(text, self.style(role))
    }

    /// Returns a line with a text in the style of `role`.
    pub fn line<'a>(&self, text: impl Into<Cow<'a, str>>, role: Role) -> Line<'a> {
        Line::from(self.span(text, role))
    }

    /// Returns the combined style of several roles, each over the ones before it.
    pub fn over(&self, roles: &[Role]) -> Style {
        roles
            .iter()
            .fold(Style::new(), |style, role| style.patch(self.style(*role)))
    }

    /// Returns the style of the badge of a memory's type.
    pub fn badge(&self, category: &str) -> Style {
        self.style(match category.trim().to_ascii_lowercase().as_str() {
            "user" => Role::BadgeUser,
            "feedback" => Role::BadgeFeedback,
            "project" => Role::BadgeProject,
            "reference" => Role::BadgeReference,
            _ => Role::BadgeOther,
        })
    }

    fn read(&mut self, terminal: Terminal, file: ThemeFile<'_>) -> Vec<Warning> {
        let mut reading = ThemeReader {
            theme: self,
            terminal,
            warnings: FileWarnings::new(file.path, file.text),
        };
        match toml_text::values(file.text) {
            Ok(table) => reading.tables(&table),
            Err(error) => reading.warnings.warn_unreadable(&error),
        }
        reading.warnings.finish()
    }
}

/// The names of the tables of a theme file.
const TABLES: [&str; 3] = ["dark", "light", "plain"];

struct ThemeReader<'a> {
    theme: &'a mut Theme,
    terminal: Terminal,
    warnings: FileWarnings<'a>,
}

impl ThemeReader<'_> {
    fn warn(&mut self, at: usize, message: String) {
        self.warnings.warn(at, message);
    }

    /// Applies the roles outside of tables first, so that the tables override them.
    fn tables(&mut self, table: &DeTable<'_>) {
        self.roles(table, Use::Apply);
        let active = match (self.terminal.depth, self.terminal.background) {
            (ColorDepth::Plain, _) => "plain",
            (_, Background::Dark) => "dark",
            (_, Background::Light) => "light",
        };
        for (key, value) in table {
            let (DeValue::Table(inner), name) = (value.get_ref(), key.get_ref().as_ref()) else {
                continue;
            };
            if !TABLES.contains(&name) {
                let message = format!("no table '{name}'; there are dark, light and plain");
                self.warn(key.span().start, message);
            } else if name == active {
                self.roles(inner, Use::Apply);
            } else {
                self.roles(inner, Use::Check);
            }
        }
    }

    fn roles(&mut self, table: &DeTable<'_>, use_: Use) {
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            let at = key.span().start;
            let text = match value.get_ref() {
                DeValue::String(text) => text,
                DeValue::Table(_) => continue,
                _ => {
                    self.warn(at, format!("'{name}' takes a text such as \"cyan bold\""));
                    continue;
                }
            };
            let Some(role) = Role::ALL.iter().find(|role| role.name() == name) else {
                self.warn(at, format!("no role '{name}'"));
                continue;
            };
            match style::parse(text, self.terminal.depth) {
                Ok(style) if use_ == Use::Apply => self.theme.styles[*role as usize] = style,
                Ok(_) => {}
                Err(message) => self.warn(at, message),
            }
        }
    }
}

/// What is done with a table's roles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    Apply,
    /// The table is for another background; it is only checked for errors.
    Check,
}

#[cfg(test)]
mod tests {
    use ratatui::style::{Color, Modifier};

    use super::*;

    fn read(depth: ColorDepth, text: &str) -> (Theme, Vec<String>) {
        let terminal = Terminal {
            background: Background::Dark,
            depth,
        };
        let path = Path::new("mine.toml");
        let (theme, warnings) = Theme::load(terminal, Some(ThemeFile { path, text }));
        (theme, warnings.iter().map(Warning::to_string).collect())
    }

    #[test]
    fn the_documented_file_gives_every_role_on_every_background() {
        let (_, warnings) = read(ColorDepth::Ansi, DOCUMENTED);
        assert_eq!(warnings, [""; 0]);
        let table: toml::Table = DOCUMENTED.parse().expect("TOML");
        for name in TABLES {
            let keys: Vec<&String> = table[name].as_table().expect("table").keys().collect();
            assert_eq!(keys.len(), Role::ALL.len(), "[{name}] lacks a role");
            for role in Role::ALL {
                assert!(table[name].get(role.name()).is_some(), "{}", role.name());
            }
        }
    }

    #[test]
    fn a_user_changes_single_roles() {
        let (theme, warnings) = read(
            ColorDepth::True,
            "accent = \"#010203\"\nlink = \"red\"\n[dark]\nlink = \"blue bold\"\n[light]\ntext = \"red\"\n",
        );
        assert_eq!(warnings, [""; 0]);
        let accent = Style::new().fg(Color::Rgb(1, 2, 3));
        assert_eq!(theme.style(Role::Accent), accent);
        let link = Style::new().fg(Color::Blue).add_modifier(Modifier::BOLD);
        assert_eq!(theme.style(Role::Link), link);
        assert_ne!(theme.style(Role::Text).fg, Some(Color::Red));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let (_, warnings) = read(
            ColorDepth::Ansi,
            "accent = 3\nacent = \"red\"\nlink = \"rad\"\n[dusk]\n[light]\ntext = \"#12\"\n",
        );
        assert_eq!(
            warnings,
            [
                "mine.toml:1: 'accent' takes a text such as \"cyan bold\"",
                "mine.toml:2: no role 'acent'",
                "mine.toml:3: 'rad' is neither a colour nor bold, dim, italic, underlined, reversed, crossed-out",
                "mine.toml:4: no table 'dusk'; there are dark, light and plain",
                "mine.toml:6: '#12' is not #rrggbb",
            ]
        );
        let (theme, warnings) = read(ColorDepth::Ansi, "accent = [\n");
        assert_eq!(warnings.len(), 1);
        assert_eq!(theme, Theme::default());
    }

    #[test]
    fn without_colours_there_are_only_modifiers() {
        let (theme, _) = read(ColorDepth::Plain, "accent = \"red on blue bold\"");
        for role in Role::ALL {
            let style = theme.style(*role);
            assert!(matches!(style.fg, None | Some(Color::Reset)), "{role:?}");
            assert!(matches!(style.bg, None | Some(Color::Reset)), "{role:?}");
        }
        assert!(
            theme
                .style(Role::Selected)
                .add_modifier
                .contains(Modifier::REVERSED)
        );
    }

    #[test]
    fn sixteen_colours_never_get_others() {
        for background in [Background::Dark, Background::Light] {
            let theme = Theme::new(Terminal {
                background,
                depth: ColorDepth::Ansi,
            });
            for role in Role::ALL {
                let style = theme.style(*role);
                for colour in [style.fg, style.bg].into_iter().flatten() {
                    assert!(!matches!(colour, Color::Rgb(..) | Color::Indexed(_)));
                }
            }
        }
    }

    /// The contrast of two colours, as the Web Content Accessibility Guidelines compute it.
    fn contrast(one: Color, other: Color) -> f64 {
        let luminance = |colour: Color| -> f64 {
            let Color::Rgb(red, green, blue) = colour else {
                panic!("{colour:?} is not of the full range");
            };
            let linear = |part: u8| {
                let part = f64::from(part) / 255.0;
                if part <= 0.03928 {
                    part / 12.92
                } else {
                    ((part + 0.055) / 1.055).powf(2.4)
                }
            };
            0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
        };
        let (one, other) = (luminance(one), luminance(other));
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    #[test]
    fn every_text_can_be_read_on_every_ground() {
        // Lines, not text.
        const LINES: [Role; 3] = [Role::Border, Role::BorderFocused, Role::Rule];
        let terminals = [
            (Background::Dark, [0x16, 0x18, 0x1d], [0xd8, 0xdc, 0xe8]),
            (Background::Light, [0xff, 0xff, 0xff], [0x20, 0x24, 0x2e]),
        ];
        for (background, ground, text) in terminals {
            let rgb = |[red, green, blue]: [u8; 3]| Color::Rgb(red, green, blue);
            let theme = Theme::new(Terminal {
                background,
                depth: ColorDepth::True,
            });
            let behind = [Role::Selected, Role::CodeBlock, Role::CursorLine];
            let behind = behind.iter().filter_map(|role| theme.style(*role).bg);
            let grounds: Vec<Color> = std::iter::once(rgb(ground)).chain(behind).collect();
            for role in Role::ALL.iter().filter(|role| !LINES.contains(role)) {
                let style = theme.style(*role);
                let colour = style
                    .fg
                    .filter(|fg| *fg != Color::Reset)
                    .unwrap_or(rgb(text));
                let own = style.bg.map(|own| vec![own]);
                for ground in own.unwrap_or_else(|| grounds.clone()) {
                    let found = contrast(colour, ground);
                    assert!(
                        found >= 4.5,
                        "{background:?} {role:?} on {ground:?}: {found:.2}"
                    );
                }
            }
        }
    }

    #[test]
    fn green_red_and_amber_keep_their_meaning() {
        let expected = [
            (Color::Green, &[Role::Added, Role::AddedWord][..]),
            (Color::Red, &[Role::Removed, Role::RemovedWord, Role::Error]),
            (Color::Yellow, &[Role::Warn]),
        ];
        let theme = Theme::default();
        for role in Role::ALL {
            let fg = theme.style(*role).fg;
            for (colour, roles) in expected {
                assert_eq!(fg == Some(colour), roles.contains(role), "{role:?}");
            }
        }
    }
}
