//! The keymap: the rows of `assets/keymap.toml`, overridden by the user's file.
//!
//! The same rows are used for the help, the palette and the key hints, so that these always
//! match the bindings.

mod editor;
#[cfg(test)]
mod readme_test;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::Path;
use std::str::FromStr;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde::Deserialize;
use serde::de::IntoDeserializer as _;
use toml::Spanned;

use super::action::Action;
use crate::core::memory::config::{FileWarnings, Warning};
use crate::core::text::toml_text;

pub(crate) use editor::{editor_hints, own_keys};

/// The default keymap.
pub(crate) const DOCUMENTED: &str = include_str!("../../assets/keymap.toml");

/// The pane or dialog that a binding applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum KeyContext {
    Tree,
    Preview,
    Browse,
    Editor,
    Find,
    Log,
    History,
    Queue,
    Why,
    Curate,
    Timeline,
    Context,
    Review,
    Deleting,
    Moving,
    Merge,
    Combine,
    Prompt,
    List,
    Reader,
    Help,
    Offer,
}

impl KeyContext {
    /// The context whose rows also apply here, after its own.
    fn outer(self) -> Option<Self> {
        match self {
            Self::Tree | Self::Preview => Some(Self::Browse),
            Self::Moving => Some(Self::Review),
            _ => None,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tree => "tree",
            Self::Preview => "preview",
            Self::Browse => "browse",
            Self::Editor => "editor",
            Self::Find => "find",
            Self::Log => "log",
            Self::History => "history",
            Self::Queue => "review",
            Self::Why => "why",
            Self::Curate => "curate",
            Self::Timeline => "timeline",
            Self::Context => "context",
            Self::Review => "planned change",
            Self::Deleting => "planned deletion",
            Self::Moving => "planned move",
            Self::Merge => "merge",
            Self::Combine => "merge memories",
            Self::Prompt => "prompt",
            Self::List => "list",
            Self::Reader => "reader",
            Self::Help => "help",
            Self::Offer => "unsaved text",
        }
    }
}

/// A key with its modifiers, as written in keymap files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Chord {
    code: KeyCode,
    modifiers: KeyModifiers,
}

impl From<KeyEvent> for Chord {
    fn from(key: KeyEvent) -> Self {
        let wanted = KeyModifiers::CONTROL | KeyModifiers::ALT | KeyModifiers::SHIFT;
        let mut modifiers = key.modifiers & wanted;
        let code = match key.code {
            KeyCode::BackTab => {
                modifiers |= KeyModifiers::SHIFT;
                KeyCode::Tab
            }
            // A letter carries its case; with Ctrl, terminals report the case differently.
            KeyCode::Char(c) if modifiers.contains(KeyModifiers::CONTROL) => {
                modifiers -= KeyModifiers::SHIFT;
                KeyCode::Char(c.to_ascii_lowercase())
            }
            KeyCode::Char(c) => {
                modifiers -= KeyModifiers::SHIFT;
                KeyCode::Char(c)
            }
            code => code,
        };
        Self { code, modifiers }
    }
}

/// The keys that are written by name.
const NAMES: [(&str, KeyCode); 15] = [
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
    ("enter", KeyCode::Enter),
    ("esc", KeyCode::Esc),
    ("tab", KeyCode::Tab),
    ("space", KeyCode::Char(' ')),
    ("backspace", KeyCode::Backspace),
    ("delete", KeyCode::Delete),
    ("insert", KeyCode::Insert),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("pageup", KeyCode::PageUp),
    ("pagedown", KeyCode::PageDown),
];

const MODIFIERS: [(&str, KeyModifiers); 3] = [
    ("ctrl-", KeyModifiers::CONTROL),
    ("alt-", KeyModifiers::ALT),
    ("shift-", KeyModifiers::SHIFT),
];

impl FromStr for Chord {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut modifiers = KeyModifiers::NONE;
        let mut rest = text;
        while let Some((name, modifier)) = MODIFIERS.iter().find(|(name, _)| rest.starts_with(name))
        {
            modifiers |= *modifier;
            rest = &rest[name.len()..];
        }
        let mut letters = rest.chars();
        let code = match (letters.next(), letters.next()) {
            (Some(c), None) => KeyCode::Char(c),
            _ => named(rest).ok_or_else(|| format!("no key '{text}'"))?,
        };
        Ok(Self { code, modifiers })
    }
}

fn named(name: &str) -> Option<KeyCode> {
    if let Some(number) = name.strip_prefix('f').and_then(|n| n.parse::<u8>().ok()) {
        return (1..=12).contains(&number).then_some(KeyCode::F(number));
    }
    let found = NAMES.iter().find(|(known, _)| *known == name);
    found.map(|(_, code)| *code)
}

impl fmt::Display for Chord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, modifier) in MODIFIERS {
            if self.modifiers.contains(modifier) {
                let mut letters = name.chars();
                let first = letters.next().map(|c| c.to_ascii_uppercase());
                write!(f, "{}{}", first.unwrap_or_default(), letters.as_str())?;
            }
        }
        match self.code {
            KeyCode::Char(' ') => f.write_str("Space"),
            KeyCode::Char(c) if self.modifiers.contains(KeyModifiers::CONTROL) => {
                write!(f, "{}", c.to_ascii_uppercase())
            }
            KeyCode::Char(c) => write!(f, "{c}"),
            KeyCode::F(number) => write!(f, "F{number}"),
            KeyCode::Up => f.write_str("↑"),
            KeyCode::Down => f.write_str("↓"),
            KeyCode::Left => f.write_str("←"),
            KeyCode::Right => f.write_str("→"),
            KeyCode::PageUp => f.write_str("PgUp"),
            KeyCode::PageDown => f.write_str("PgDn"),
            code => {
                let name = NAMES.iter().find(|(_, known)| *known == code);
                let name = name.map_or("?", |(name, _)| name);
                write!(f, "{}{}", name[..1].to_uppercase(), &name[1..])
            }
        }
    }
}

/// A row: the keys of an action in one context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Binding {
    pub(crate) on: Vec<Chord>,
    pub(crate) run: Action,
    pub(crate) desc: String,
    pub(crate) hint: Option<String>,
}

impl Binding {
    pub(crate) fn keys(&self) -> String {
        let keys: Vec<String> = self.on.iter().map(Chord::to_string).collect();
        keys.join(" ")
    }
}

/// All bindings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Keymap {
    rows: BTreeMap<KeyContext, Vec<Binding>>,
    bound: HashMap<(KeyContext, Chord), Action>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawBinding {
    on: OneOrMany,
    run: String,
    desc: Option<String>,
    hint: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Several(Vec<String>),
}

impl OneOrMany {
    fn chords(&self) -> Result<Vec<Chord>, String> {
        match self {
            Self::One(key) => Ok(vec![key.parse()?]),
            Self::Several(keys) => keys.iter().map(|key| key.parse()).collect(),
        }
    }
}

/// Returns the problems in a user's keymap file.
pub fn check(path: impl AsRef<Path>, text: &str) -> Vec<Warning> {
    Keymap::new().read(path, text)
}

type Tables = BTreeMap<Spanned<String>, Spanned<Vec<Spanned<toml::Value>>>>;

impl Keymap {
    pub(crate) fn new() -> Self {
        let mut keymap = Self {
            rows: BTreeMap::new(),
            bound: HashMap::new(),
        };
        let warnings = keymap.read("keymap.toml", DOCUMENTED);
        debug_assert_eq!(warnings, [], "the keymap that comes with tome is right");
        keymap
    }

    /// Overrides bindings by a user's file. Rows with errors are skipped and returned as warnings.
    pub(crate) fn read(&mut self, path: impl AsRef<Path>, text: &str) -> Vec<Warning> {
        let mut warnings = FileWarnings::new(path.as_ref(), text);
        let tables: Tables = match toml_text::typed(text) {
            Ok(tables) => tables,
            Err(error) => {
                warnings.warn_unreadable(&error);
                return warnings.finish();
            }
        };
        let mut taken = HashMap::new();
        for (context, rows) in &tables {
            let name = context.get_ref().as_str();
            let named: Result<KeyContext, toml::de::Error> =
                KeyContext::deserialize(name.into_deserializer());
            let Ok(named) = named else {
                warnings.warn(context.span().start, format!("no place '{name}'"));
                continue;
            };
            for row in rows.get_ref() {
                if let Err(message) = self.row(named, row.get_ref(), &mut taken) {
                    warnings.warn(row.span().start, message);
                }
            }
        }
        warnings.finish()
    }

    /// Adds one row; `taken` are the keys that this file has already bound.
    fn row(
        &mut self,
        context: KeyContext,
        row: &toml::Value,
        taken: &mut HashMap<(KeyContext, Chord), String>,
    ) -> Result<(), String> {
        let row: RawBinding = row
            .clone()
            .try_into()
            .map_err(|e: toml::de::Error| e.message().to_owned())?;
        let chords = row.on.chords()?;
        for chord in &chords {
            if let Some(other) = taken.insert((context, *chord), row.run.clone()) {
                return Err(format!("{chord} runs {other} already"));
            }
        }
        let run: Option<Action> = match row.run.as_str() {
            "none" => None,
            name => {
                let action: Result<Action, toml::de::Error> =
                    Action::deserialize(name.into_deserializer());
                Some(action.map_err(|_| format!("no action '{name}'"))?)
            }
        };
        for chord in &chords {
            self.unbind(context, *chord);
        }
        if let Some(run) = run {
            self.bind(context, run, &chords, row);
        }
        Ok(())
    }

    fn unbind(&mut self, context: KeyContext, chord: Chord) {
        self.bound.remove(&(context, chord));
        for row in self.rows.entry(context).or_default() {
            row.on.retain(|on| *on != chord);
        }
    }

    fn bind(&mut self, context: KeyContext, run: Action, chords: &[Chord], written: RawBinding) {
        for chord in chords {
            self.bound.insert((context, *chord), run);
        }
        // A row without a description has the words of the action's row around it or elsewhere.
        let same = |rows: &Vec<Binding>| rows.iter().find(|row| row.run == run).cloned();
        let outer = context.outer().and_then(|outer| self.rows.get(&outer));
        let known = outer
            .and_then(same)
            .or_else(|| self.rows.values().find_map(same))
            .filter(|_| written.desc.is_none());
        let rows = self.rows.entry(context).or_default();
        match rows.iter_mut().find(|row| row.run == run) {
            Some(row) => {
                row.on.extend(chords);
                row.desc = written.desc.unwrap_or_else(|| row.desc.clone());
                row.hint = written.hint.or_else(|| row.hint.clone());
            }
            None => rows.push(Binding {
                on: chords.to_vec(),
                run,
                desc: written
                    .desc
                    .or_else(|| known.as_ref().map(|known| known.desc.clone()))
                    .unwrap_or_default(),
                hint: written.hint.or_else(|| known.and_then(|known| known.hint)),
            }),
        }
    }

    pub(crate) fn action(&self, context: KeyContext, key: KeyEvent) -> Option<Action> {
        let chord = Chord::from(key);
        let here = self.bound.get(&(context, chord)).copied();
        here.or_else(|| self.action(context.outer()?, key))
    }

    /// Returns every row that applies in a context, its own first.
    pub(crate) fn rows(&self, context: KeyContext) -> Vec<&Binding> {
        let own = self.rows.get(&context).map_or(&[][..], Vec::as_slice);
        let around = context.outer().and_then(|context| self.rows.get(&context));
        let around = around.map_or(&[][..], Vec::as_slice);
        let mut rows: Vec<&Binding> = own.iter().collect();
        rows.extend(around.iter().filter(|row| {
            // A row for the same action in the inner context hides this one.
            own.iter().all(|near| near.run != row.run)
        }));
        rows
    }

    /// Returns the first key of an action in a context, for messages such as "u undoes".
    pub(crate) fn key(&self, context: KeyContext, action: Action) -> Option<String> {
        let rows = self.rows(context);
        let row = rows.iter().find(|row| row.run == action)?;
        row.on.first().map(Chord::to_string)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> KeyEvent {
        let chord: Chord = text.parse().expect("a key");
        KeyEvent::new(chord.code, chord.modifiers)
    }

    #[test]
    fn the_keymap_that_comes_with_tome_has_nothing_wrong() {
        let mut keymap = Keymap {
            rows: BTreeMap::new(),
            bound: HashMap::new(),
        };
        assert_eq!(keymap.read("keymap.toml", DOCUMENTED), []);
        for row in keymap.rows.values().flatten() {
            assert!(!row.desc.is_empty(), "{:?}", row.run);
        }
    }

    #[test]
    fn a_key_is_looked_up_close_by_first() {
        let keymap = Keymap::new();
        for (context, pressed, expected) in [
            (KeyContext::Tree, "j", Some(Action::Down)),
            (KeyContext::Tree, "e", Some(Action::Edit)),
            (KeyContext::Tree, "space", Some(Action::Mark)),
            (KeyContext::Preview, "space", Some(Action::PageDown)),
            (KeyContext::Prompt, "e", None),
        ] {
            assert_eq!(keymap.action(context, key(pressed)), expected, "{pressed}");
        }
    }

    #[test]
    fn a_user_takes_keys_over_and_sets_them_free() {
        let mut keymap = Keymap::new();
        let warnings = keymap.read(
            "mine.toml",
            "browse = [{ on = \"e\", run = \"none\" }, { on = \"ctrl-x\", run = \"edit\" }]\n",
        );
        assert_eq!(warnings, []);
        assert_eq!(keymap.action(KeyContext::Tree, key("e")), None);
        assert_eq!(
            keymap.action(KeyContext::Tree, key("ctrl-x")),
            Some(Action::Edit)
        );
        assert_eq!(
            keymap.key(KeyContext::Tree, Action::Edit).as_deref(),
            Some("Ctrl-X")
        );
    }

    #[test]
    fn a_rebound_key_keeps_its_words() {
        let mut keymap = Keymap::new();
        let text =
            "tree = [{ on = \"X\", run = \"edit\" }]\nbrowse = [{ on = \"e\", run = \"none\" }]\n";
        assert_eq!(keymap.read("mine.toml", text), []);
        let rows = keymap.rows(KeyContext::Tree);
        let row = rows.iter().find(|row| row.run == Action::Edit);
        let words = row.map(|row| (row.keys(), row.hint.as_deref(), row.desc.as_str()));
        assert_eq!(words, Some(("X".to_owned(), Some("edit"), "edit it here")));
    }

    #[test]
    fn the_bottom_line_and_the_help_use_the_same_words() {
        let keymap = Keymap::new();
        for row in keymap.rows.values().flatten() {
            let hint = row.hint.as_deref().unwrap_or_default();
            assert!(row.desc.starts_with(hint), "{hint}: {}", row.desc);
        }
    }

    #[test]
    fn bad_rows_are_told_with_their_lines_and_the_rest_counts() {
        let mut keymap = Keymap::new();
        let warnings = keymap.read(
            "mine.toml",
            "tree = [\n  { on = \"hyper-x\", run = \"edit\" },\n  { on = \"x\", run = \"dance\" },\n  { run = \"edit\" },\n  { on = \"X\", run = \"edit\" },\n  { on = \"X\", run = \"delete\" },\n]\nattic = []\n",
        );
        let mut messages: Vec<String> = warnings.iter().map(Warning::to_string).collect();
        messages.sort();
        assert_eq!(
            messages,
            [
                "mine.toml:2: no key 'hyper-x'",
                "mine.toml:3: no action 'dance'",
                "mine.toml:4: missing field `on`",
                "mine.toml:6: X runs edit already",
                "mine.toml:8: no place 'attic'",
            ]
        );
        assert_eq!(
            keymap.action(KeyContext::Tree, key("X")),
            Some(Action::Edit)
        );
    }

    #[test]
    fn keys_read_back_as_people_write_them() {
        for (written, shown) in [
            ("ctrl-s", "Ctrl-S"),
            ("shift-tab", "Shift-Tab"),
            ("G", "G"),
            ("pagedown", "PgDn"),
            ("f5", "F5"),
            ("space", "Space"),
        ] {
            let chord: Chord = written.parse().expect("a key");
            assert_eq!(chord.to_string(), shown);
        }
        let typed = KeyEvent::new(KeyCode::Char('G'), KeyModifiers::SHIFT);
        assert_eq!(Chord::from(typed), "G".parse().expect("a key"));
        let back = KeyEvent::new(KeyCode::BackTab, KeyModifiers::SHIFT);
        assert_eq!(Chord::from(back), "shift-tab".parse().expect("a key"));
    }
}
