//! What things look like: roles, and the styles that a theme gives them.
//!
//! Widgets name a [`Role`], never a colour. The theme is read from `assets/theme.toml` and a
//! user's file over it; what the terminal can do is handed in by the door.

mod style;

use std::path::Path;

use ratatui::style::Style;
use toml::de::{DeTable, DeValue};

use crate::core::config::Warning;

/// The file that documents every role at its default.
pub const DOCUMENTED: &str = include_str!("../../assets/theme.toml");

/// Whether the terminal's background is dark or light.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Background {
    /// Light letters on dark.
    #[default]
    Dark,
    /// Dark letters on light.
    Light,
}

/// How many colours the terminal shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ColorDepth {
    /// None, as `NO_COLOR` asks: bold, dim and their kin only.
    Plain,
    /// The 16 that the terminal's own palette decides.
    #[default]
    Ansi,
    /// All of them.
    True,
}

/// What a door knows of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Terminal {
    /// Its background.
    pub background: Background,
    /// Its colours.
    pub depth: ColorDepth,
}

/// A user's theme file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThemeFile<'a> {
    /// Where it is, for warnings.
    pub path: &'a Path,
    /// What it says.
    pub text: &'a str,
}

macro_rules! roles {
    ($($(#[$doc:meta])* $role:ident = $name:literal,)*) => {
        /// What a piece of the screen is, and so how it looks.
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
    /// Counts, ages, paths: there when looked for.
    Muted = "muted",
    /// Where you are.
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
    /// A key in the line that says what can be done.
    KeyHint = "key-hint",
    /// The note of what just happened.
    Toast = "toast",
    /// A heading of the first two levels.
    Heading = "heading",
    /// A heading below those.
    HeadingMinor = "heading-minor",
    /// Bold text.
    Strong = "strong",
    /// Italic text.
    Emphasis = "emphasis",
    /// Struck out text.
    Strike = "strike",
    /// Something to follow.
    Link = "link",
    /// Code inside a line.
    Code = "code",
    /// A block of code, under the colours of its language.
    CodeBlock = "code-block",
    /// A quotation.
    Quote = "quote",
    /// A line across, the lines of a table.
    Rule = "rule",
    /// Bullets, and in the source the marks of Markdown.
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
    /// The part of a removed line that is gone.
    RemovedWord = "removed-word",
    /// The head of a part of a diff.
    Hunk = "hunk",
    /// Look at this.
    Warn = "warn",
    /// Something failed.
    Error = "error",
    /// Letters of a list row that match what was typed.
    Match = "match",
    /// A match of a search in a text.
    MatchLine = "match-line",
    /// The match of a search at which the cursor is.
    MatchCurrent = "match-current",
    /// A word of a programming language.
    Keyword = "syntax-keyword",
    /// A literal text.
    String = "syntax-string",
    /// A number or another constant.
    Constant = "syntax-constant",
    /// The name of a function.
    Function = "syntax-function",
    /// The name of a type.
    Type = "syntax-type",
    /// The key of a value.
    Key = "syntax-key",
    /// Brackets and their kin.
    Punctuation = "syntax-punctuation",
    /// What a person said in a log.
    You = "role-you",
    /// What an agent said in a log.
    Agent = "role-agent",
    /// What a tool said in a log.
    Tool = "role-tool",
}

/// A style for every role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Theme {
    /// One a role, in the order of [`Role::ALL`].
    styles: Vec<Style>,
}

impl Default for Theme {
    fn default() -> Self {
        Self::new(Terminal::default())
    }
}

impl Theme {
    /// The theme that comes with tome.
    pub fn new(terminal: Terminal) -> Self {
        Self::load(terminal, None).0
    }

    /// The theme with a user's file over it; what the file has wrong is told and passed over.
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

    /// How `role` looks.
    pub fn style(&self, role: Role) -> Style {
        self.styles[role as usize]
    }

    /// How several roles look, each over the ones before it.
    pub fn over(&self, roles: &[Role]) -> Style {
        roles
            .iter()
            .fold(Style::new(), |style, role| style.patch(self.style(*role)))
    }

    /// How the badge of a memory's type looks.
    pub fn badge(&self, category: Option<&str>) -> Style {
        self.style(badge(category))
    }

    fn read(&mut self, terminal: Terminal, file: ThemeFile<'_>) -> Vec<Warning> {
        let mut reading = ThemeReader {
            theme: self,
            terminal,
            text: file.text,
            warnings: Vec::new(),
        };
        match DeTable::parse(file.text) {
            Ok(table) => reading.tables(table.get_ref()),
            Err(error) => {
                let at = error.span().map_or(0, |span| span.start);
                let message = error.message().lines().next().unwrap_or("not TOML");
                reading.warn(at, format!("{message}; the file is not used"));
            }
        }
        let mut warnings = reading.warnings;
        warnings.sort();
        warnings
            .into_iter()
            .map(|(line, message)| Warning {
                place: format!("{}:{line}", file.path.display()),
                message,
            })
            .collect()
    }
}

/// The role of a memory's type.
pub fn badge(category: Option<&str>) -> Role {
    match category.map(str::trim) {
        Some(c) if c.eq_ignore_ascii_case("user") => Role::BadgeUser,
        Some(c) if c.eq_ignore_ascii_case("feedback") => Role::BadgeFeedback,
        Some(c) if c.eq_ignore_ascii_case("project") => Role::BadgeProject,
        Some(c) if c.eq_ignore_ascii_case("reference") => Role::BadgeReference,
        _ => Role::BadgeOther,
    }
}

/// The names of the tables of a theme file.
const TABLES: [&str; 3] = ["dark", "light", "plain"];

struct ThemeReader<'a> {
    theme: &'a mut Theme,
    terminal: Terminal,
    text: &'a str,
    /// Each with the line that it is about.
    warnings: Vec<(usize, String)>,
}

impl ThemeReader<'_> {
    fn warn(&mut self, at: usize, message: String) {
        let before = self.text.get(..at).unwrap_or(self.text);
        self.warnings
            .push((before.matches('\n').count() + 1, message));
    }

    /// Roles of every background first, so that the tables win over them.
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

/// What becomes of a table's roles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    Apply,
    /// The table is for another background; its mistakes are told all the same.
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
