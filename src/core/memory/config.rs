//! Settings: the defaults, and the values of files and the environment.
//!
//! An unknown key or an invalid value is a warning that names its line; the rest of the file
//! is used.

mod warnings;

use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

pub use warnings::{FileWarnings, Warning};

use jiff::tz::TimeZone;

use crate::core::memory::citation::is_store_name;
use crate::core::memory::layout::Layout;
use crate::core::text::toml_text;

/// The default settings file, which documents every setting.
pub const DOCUMENTED: &str = include_str!("../../../assets/config.toml");

/// All settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// When output is coloured.
    pub color: Color,
    /// The author of changes in the history.
    pub author: String,
    /// Whether stores are discovered in the current project.
    pub discover_project: bool,
    /// Whether the stores of agents in the home directory are discovered.
    pub discover_home: bool,
    /// The key bindings of the editor of the terminal UI.
    pub editor_keys: EditorKeys,
    /// The settings of hooks.
    pub hook: HookSettings,
    /// The rules that are off, and the limits of others.
    pub curate: CurateSettings,
    /// How the logs are summarized.
    pub timeline: TimelineSettings,
    /// How many results a recall has where nobody says.
    pub recall_limit: usize,
    /// How many bytes agents may keep in `facts/`; 0 is any number.
    pub facts_budget: u64,
    /// The path of the coder's lessons.
    pub coder_path: String,
    /// Stores that are listed explicitly.
    pub stores: Vec<StoreSetting>,
    /// Agents whose stores are shared with other machines.
    pub agents: Vec<AgentSetting>,
    /// Paths outside a project that its links and settings may lead to.
    pub trusted: Vec<String>,
}

/// The settings of hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HookSettings {
    /// Whether events of sessions are captured.
    pub capture: bool,
    /// Whether a session starts with context from the stores.
    pub context: bool,
    /// Whether the agent is reminded to recall and store lessons for long plans.
    pub reminders: bool,
}

/// The settings of the rules of [`curate`](crate::core::insight::curate).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CurateSettings {
    /// The ids of rules that are off.
    pub off: Vec<String>,
    /// After how many days something that was in progress is expected to be finished.
    pub pending_days: i64,
}

/// The settings of the [`timeline`](crate::core::insight::timeline).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimelineSettings {
    /// The program that summarizes, and its arguments; empty to do it offline.
    pub command: Vec<String>,
    /// How long it may take, in seconds.
    pub timeout: u64,
    /// The directory of an embedding model; empty to search by words only.
    pub model: PathBuf,
    /// The zone in which days begin; the caller sets it to the user's.
    pub zone: TimeZone,
}

impl Default for TimelineSettings {
    fn default() -> Self {
        Self {
            command: Vec::new(),
            timeout: 60,
            model: PathBuf::new(),
            zone: TimeZone::UTC,
        }
    }
}

impl Default for CurateSettings {
    fn default() -> Self {
        Self {
            off: Vec::new(),
            pending_days: 90,
        }
    }
}

/// The key bindings of the editor of the terminal UI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditorKeys {
    /// Those of shells and common editors.
    Readline,
    /// Those of vi.
    Vi,
}

/// When output is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Color {
    /// On a terminal, unless `NO_COLOR` is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// A store that is listed in the settings.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StoreSetting {
    /// The store's name.
    pub name: String,
    /// The store's root; `~/` is the home directory.
    pub path: String,
    /// The layout, if it cannot be detected from the files.
    pub layout: Option<Layout>,
    /// Whether and how it is shared.
    pub sharing: Sharing,
}

/// How the stores of an agent are shared with other machines.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentSetting {
    /// The agent's name, as the names of its stores begin.
    pub name: String,
    /// Whether and how they are shared.
    pub sharing: Sharing,
}

/// Whether and how a store is shared with other machines; `None` where nobody said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sharing {
    /// Whether it is.
    pub sync: Option<bool>,
    /// What is done with what others sent.
    pub incoming: Option<IncomingMode>,
    /// Where changes of this machine go.
    pub outgoing: Option<OutgoingMode>,
}

/// What is done with what other machines sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IncomingMode {
    /// It waits for review.
    #[default]
    Review,
    /// It is written at once.
    Accept,
}

/// Where changes of this machine go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OutgoingMode {
    /// Into the shared branch.
    #[default]
    Push,
    /// Into a branch of this machine, which others merge.
    Branch,
}

impl Sharing {
    /// Sets one of its keys, if it has one of that name.
    fn set(&mut self, key: &str, value: &DeValue<'_>) -> Option<Result<(), String>> {
        let text = value.as_str();
        let takes = |words: &str| Some(Err(format!("'{key}' takes {words}")));
        match (key, text, value.as_bool()) {
            ("sync", _, Some(flag)) => self.sync = Some(flag),
            ("sync", ..) => return takes("true or false"),
            ("incoming", Some("review"), _) => self.incoming = Some(IncomingMode::Review),
            ("incoming", Some("accept"), _) => self.incoming = Some(IncomingMode::Accept),
            ("incoming", ..) => return takes("\"review\" or \"accept\""),
            ("outgoing", Some("push"), _) => self.outgoing = Some(OutgoingMode::Push),
            ("outgoing", Some("branch"), _) => self.outgoing = Some(OutgoingMode::Branch),
            ("outgoing", ..) => return takes("\"push\" or \"branch\""),
            _ => return None,
        }
        Some(Ok(()))
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            color: Color::Auto,
            author: "you".to_owned(),
            discover_project: true,
            discover_home: true,
            editor_keys: EditorKeys::Readline,
            hook: HookSettings {
                capture: true,
                context: true,
                reminders: true,
            },
            curate: CurateSettings::default(),
            timeline: TimelineSettings::default(),
            recall_limit: 5,
            facts_budget: 0,
            coder_path: "~/.sonph-code-memory".to_owned(),
            stores: Vec::new(),
            agents: Vec::new(),
            trusted: Vec::new(),
        }
    }
}

/// The most results that a recall may have by default.
const MOST_RECALLED: usize = 50;

/// Every key with a single value.
pub const KEYS: [&str; 15] = [
    "color",
    "author",
    "discover.project",
    "discover.home",
    "editor.keys",
    "hook.capture",
    "hook.context",
    "hook.reminders",
    "curate.off",
    "curate.pending_days",
    "timeline.timeout",
    "timeline.model",
    "recall.limit",
    "facts.budget",
    "coder.path",
];

impl Settings {
    /// Applies the values of a settings file.
    pub fn read_file(&mut self, path: &Path, text: &str) -> Vec<Warning> {
        let mut reading = SettingsReader {
            settings: self,
            warnings: FileWarnings::new(path, text),
        };
        match toml_text::values(text) {
            Ok(table) => reading.table("", &table),
            Err(error) => reading.warnings.warn_unreadable(&error),
        }
        reading.warnings.finish()
    }

    /// Applies the values of variables such as `TOME_DISCOVER_HOME`.
    pub fn read_variables<'a>(
        &mut self,
        variables: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Vec<Warning> {
        let mut warnings = Vec::new();
        for (name, value) in variables {
            let key = KEYS.iter().find(|key| variable(key) == name);
            let problem = match key {
                Some(key) => self.set(key, value).err(),
                None => Some("no setting of that name".to_owned()),
            };
            warnings.extend(problem.map(|message| Warning {
                place: name.to_owned(),
                message,
            }));
        }
        warnings
    }

    /// Sets one key from the text of its value.
    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        let flag = || match value {
            "true" | "1" => Ok(true),
            "false" | "0" => Ok(false),
            other => Err(format!("'{other}' is neither true nor false")),
        };
        match key {
            "color" => {
                self.color = match value {
                    "auto" => Color::Auto,
                    "always" => Color::Always,
                    "never" => Color::Never,
                    other => return Err(format!("'{other}' is not auto, always or never")),
                }
            }
            "author" if value.trim().is_empty() => return Err("a name cannot be empty".to_owned()),
            "author" => value.trim().clone_into(&mut self.author),
            "discover.project" => self.discover_project = flag()?,
            "discover.home" => self.discover_home = flag()?,
            "editor.keys" => {
                self.editor_keys = match value {
                    "readline" => EditorKeys::Readline,
                    "vi" => EditorKeys::Vi,
                    other => return Err(format!("'{other}' is not readline or vi")),
                }
            }
            "hook.capture" => self.hook.capture = flag()?,
            "hook.context" => self.hook.context = flag()?,
            "hook.reminders" => self.hook.reminders = flag()?,
            "curate.off" => {
                let ids = value.split(',').map(str::trim).filter(|id| !id.is_empty());
                self.curate.off = ids.map(str::to_owned).collect();
            }
            "curate.pending_days" => self.curate.pending_days = number(value)?,
            "timeline.timeout" => self.timeline.timeout = number(value)?,
            "timeline.model" => self.timeline.model = PathBuf::from(value),
            "recall.limit" => {
                let limit = number(value)?;
                if !(1..=MOST_RECALLED).contains(&limit) {
                    return Err(format!("'{value}' is not between 1 and {MOST_RECALLED}"));
                }
                self.recall_limit = limit;
            }
            "facts.budget" => self.facts_budget = number(value)?,
            "coder.path" => value.clone_into(&mut self.coder_path),
            other => return Err(unknown(other)),
        }
        Ok(())
    }

    /// Returns the value of one of [`KEYS`], as text.
    pub fn value(&self, key: &str) -> String {
        match key {
            "color" => match self.color {
                Color::Auto => "auto",
                Color::Always => "always",
                Color::Never => "never",
            }
            .to_owned(),
            "author" => self.author.clone(),
            "discover.project" => self.discover_project.to_string(),
            "discover.home" => self.discover_home.to_string(),
            "editor.keys" => match self.editor_keys {
                EditorKeys::Readline => "readline",
                EditorKeys::Vi => "vi",
            }
            .to_owned(),
            "hook.capture" => self.hook.capture.to_string(),
            "hook.context" => self.hook.context.to_string(),
            "hook.reminders" => self.hook.reminders.to_string(),
            "curate.off" => self.curate.off.join(", "),
            "curate.pending_days" => self.curate.pending_days.to_string(),
            "timeline.timeout" => self.timeline.timeout.to_string(),
            "timeline.model" => self.timeline.model.display().to_string(),
            "recall.limit" => self.recall_limit.to_string(),
            "facts.budget" => self.facts_budget.to_string(),
            "coder.path" => self.coder_path.clone(),
            _ => String::new(),
        }
    }
}

fn number<T: std::str::FromStr>(value: &str) -> Result<T, String> {
    let number = value.trim().parse();
    number.map_err(|_| format!("'{value}' is not a number"))
}

/// Returns the environment variable that sets `key`.
pub fn variable(key: &str) -> String {
    format!("TOME_{}", key.replace('.', "_").to_uppercase())
}

/// Expands a path of the settings: `~/` is `home`, relative paths are below `base`.
pub fn expand(path: &str, home: &Path, base: &Path) -> PathBuf {
    match path.strip_prefix("~/") {
        Some(rest) => home.join(rest),
        None if path == "~" => home.to_owned(),
        None => base.join(path),
    }
}

/// Returns the paths outside a project that the user's own settings allow: trusted paths and
/// the roots of listed stores. Relative paths are ignored.
pub fn allowed_by(settings: &Settings, home: &Path) -> Vec<PathBuf> {
    let stores = settings.stores.iter().map(|store| &store.path);
    settings
        .trusted
        .iter()
        .chain(stores)
        .map(|path| expand(path, home, Path::new("")))
        .filter(|path| path.is_absolute())
        .collect()
}

fn unknown(key: &str) -> String {
    let near = KEYS
        .iter()
        .filter(|known| {
            let (a, b) = (known.rsplit('.').next(), key.rsplit('.').next());
            a.zip(b).is_some_and(|(a, b)| alike(a, b))
        })
        .min_by_key(|known| known.len());
    match near {
        Some(near) => format!("no setting '{key}'; '{near}' may be meant"),
        None => format!("no setting '{key}'"),
    }
}

/// Whether two words differ by at most two letters in one place.
fn alike(a: &str, b: &str) -> bool {
    let shared = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let tail = a
        .chars()
        .rev()
        .zip(b.chars().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let longer = a.chars().count().max(b.chars().count());
    shared + tail + 2 >= longer
}

struct SettingsReader<'a> {
    settings: &'a mut Settings,
    warnings: FileWarnings<'a>,
}

impl SettingsReader<'_> {
    fn warn(&mut self, at: usize, message: String) {
        self.warnings.warn(at, message);
    }

    fn table(&mut self, prefix: &str, table: &DeTable<'_>) {
        for (key, value) in table {
            let name = format!("{prefix}{}", key.get_ref());
            let at = key.span().start;
            match value.get_ref() {
                DeValue::Table(inner) => {
                    let known = KEYS.iter().any(|k| k.starts_with(&format!("{name}.")));
                    if known {
                        self.table(&format!("{name}."), inner);
                    } else {
                        self.warn(at, unknown(&name));
                    }
                }
                DeValue::Array(list) if name == "store" => {
                    for store in list {
                        self.store(store);
                    }
                }
                DeValue::Array(list) if name == "agent" => {
                    for agent in list {
                        self.agent(agent);
                    }
                }
                DeValue::Array(list) if name == "trusted" => {
                    for path in list {
                        match path.get_ref() {
                            DeValue::String(path) => {
                                self.settings.trusted.push(path.to_string());
                            }
                            _ => self.warn(at, "'trusted' takes a list of paths".to_owned()),
                        }
                    }
                }
                // A program is run only if a file of the user names it, so no variable does.
                DeValue::Array(list) if name == "timeline.command" => {
                    let words = list.iter().map(|word| match word.get_ref() {
                        DeValue::String(word) => Some(word.to_string()),
                        _ => None,
                    });
                    match words.collect() {
                        Some(argv) => self.settings.timeline.command = argv,
                        None => self.warn(at, format!("'{name}' takes a list of texts")),
                    }
                }
                DeValue::String(text) => self.scalar(at, &name, text),
                DeValue::Integer(number)
                    if ["curate.", "timeline.", "recall.", "facts."]
                        .iter()
                        .any(|table| name.starts_with(table)) =>
                {
                    self.scalar(at, &name, number.as_str());
                }
                DeValue::Boolean(flag) => self.scalar(at, &name, &flag.to_string()),
                _ => self.warn(at, format!("'{name}' takes a text, true or false")),
            }
        }
    }

    fn scalar(&mut self, at: usize, name: &str, value: &str) {
        if let Err(message) = self.settings.set(name, value) {
            self.warn(at, message);
        }
    }

    fn store(&mut self, value: &Spanned<DeValue<'_>>) {
        let at = value.span().start;
        let DeValue::Table(table) = value.get_ref() else {
            return self.warn(at, "a store is a table with name and path".to_owned());
        };
        let mut store = StoreSetting::default();
        for (key, value) in table {
            let at = key.span().start;
            if let Some(set) = store.sharing.set(key.get_ref(), value.get_ref()) {
                if let Err(message) = set {
                    self.warn(at, message);
                }
                continue;
            }
            let DeValue::String(text) = value.get_ref() else {
                self.warn(at, format!("'{}' takes a text", key.get_ref()));
                continue;
            };
            match key.get_ref().as_ref() {
                "name" => store.name = text.to_string(),
                "path" => store.path = text.to_string(),
                "layout" => match text.parse() {
                    Ok(layout) => store.layout = Some(layout),
                    Err(error) => self.warn(at, format!("{error}")),
                },
                other => self.warn(
                    at,
                    format!(
                        "a store has name, path, layout, sync, incoming and outgoing, not '{other}'"
                    ),
                ),
            }
        }
        if store.name.is_empty() || store.path.is_empty() {
            return self.warn(at, "a store needs a name and a path".to_owned());
        }
        if !is_store_name(&store.name) {
            return self.warn(
                at,
                "a store's name is two or more letters, digits, dots or dashes".to_owned(),
            );
        }
        self.settings.stores.push(store);
    }

    fn agent(&mut self, value: &Spanned<DeValue<'_>>) {
        let at = value.span().start;
        let DeValue::Table(table) = value.get_ref() else {
            return self.warn(at, "an agent is a table with a name".to_owned());
        };
        let mut agent = AgentSetting::default();
        for (key, value) in table {
            let at = key.span().start;
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("name", DeValue::String(text)) => agent.name = text.to_string(),
                (key, value) => match agent.sharing.set(key, value) {
                    Some(Ok(())) => {}
                    Some(Err(message)) => self.warn(at, message),
                    None => self.warn(
                        at,
                        format!("an agent has name, sync, incoming and outgoing, not '{key}'"),
                    ),
                },
            }
        }
        if agent.name.is_empty() {
            return self.warn(at, "an agent needs a name, such as \"claude\"".to_owned());
        }
        self.settings.agents.push(agent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_allow_what_they_name_and_nothing_relative() {
        let mut settings = Settings::default();
        let text = "trusted = [\"~/Documents\", \"notes\"]\n[[store]]\nname = \"team\"\npath = \"/team\"\n[[store]]\nname = \"here\"\npath = \"memory\"\n";
        assert_eq!(settings.read_file(Path::new("config.toml"), text), []);
        assert_eq!(
            allowed_by(&settings, Path::new("/home/kim")),
            [PathBuf::from("/home/kim/Documents"), PathBuf::from("/team")]
        );
    }

    fn read(text: &str) -> (Settings, Vec<String>) {
        let mut settings = Settings::default();
        let warnings = settings.read_file(Path::new("config.toml"), text);
        (settings, warnings.iter().map(Warning::to_string).collect())
    }

    #[test]
    fn the_documented_file_is_the_defaults_and_names_every_key() {
        let (settings, warnings) = read(DOCUMENTED);
        assert_eq!(warnings, [""; 0]);
        assert_eq!(settings, Settings::default());
        let table: toml::Table = DOCUMENTED.parse().expect("TOML");
        for key in KEYS {
            let mut at = toml::Value::Table(table.clone());
            for part in key.split('.') {
                at = at.get(part).expect(key).clone();
            }
        }
    }

    #[test]
    fn a_file_changes_what_it_names() {
        let (settings, warnings) = read(
            "author = \"kim\"\n[discover]\nhome = false\n[[store]]\nname = \"team\"\npath = \"~/t\"\nlayout = \"facts\"\n",
        );
        assert_eq!(warnings, [""; 0]);
        assert_eq!(settings.author, "kim");
        assert!(!settings.discover_home);
        assert_eq!(settings.stores[0].layout, Some(Layout::Facts));
    }

    #[test]
    fn a_wrong_value_is_told_with_what_the_setting_takes() {
        let (settings, warnings) = read(
            "color = \"blue\"\ntrusted = [1, \"/srv\"]\n[editor]\nkeys = \"emacs\"\n[timeline]\ncommand = [\"sum\", 3]\n\
             [[store]]\nname = \"team\"\npath = 4\n[[store]]\nname = \"team\"\npath = \"/t\"\nlayout = \"heap\"\ncolour = \"red\"\n\
             [[store]]\nname = \"x\"\npath = \"/t\"\n",
        );
        let told = [
            (1, "'blue' is not auto, always or never"),
            (2, "'trusted' takes a list of paths"),
            (4, "'emacs' is not readline or vi"),
            (6, "'timeline.command' takes a list of texts"),
            (7, "a store needs a name and a path"),
            (9, "'path' takes a text"),
            (13, "heap"),
            (
                14,
                "a store has name, path, layout, sync, incoming and outgoing, not 'colour'",
            ),
            (15, "a store's name is two or more letters"),
        ];
        for (line, words) in told {
            let place = format!("config.toml:{line}: ");
            let is_it = |warning: &&String| warning.starts_with(&place) && warning.contains(words);
            assert!(warnings.iter().any(|w| is_it(&w)), "{line}: {warnings:#?}");
        }
        assert_eq!(warnings.len(), told.len(), "{warnings:#?}");
        assert_eq!(settings.color, Color::Auto);
        assert_eq!(settings.trusted, ["/srv"]);
        assert_eq!(settings.timeline.command, [""; 0]);
        // A store whose layout is not known is opened by what is there.
        let stores: Vec<_> = settings
            .stores
            .iter()
            .map(|s| (&*s.path, s.layout))
            .collect();
        assert_eq!(stores, [("/t", None)]);
        let (_, warnings) = read("store = [1]\n");
        assert!(
            warnings[0].contains("a store is a table with name and path"),
            "{warnings:?}"
        );
    }

    #[test]
    fn every_colour_every_kind_of_keys_and_a_command_are_read() {
        for (word, color) in [("always", Color::Always), ("never", Color::Never)] {
            let (settings, warnings) = read(&format!("color = \"{word}\"\n"));
            assert_eq!((settings.color, warnings), (color, Vec::new()));
        }
        let (settings, warnings) =
            read("[editor]\nkeys = \"vi\"\n[timeline]\ncommand = [\"sum\", \"--short\"]\n");
        assert_eq!(warnings, [""; 0]);
        assert_eq!(settings.editor_keys, EditorKeys::Vi);
        assert_eq!(settings.timeline.command, ["sum", "--short"]);
    }

    #[test]
    fn what_is_wrong_is_a_warning_with_its_line_and_the_rest_counts() {
        let (settings, warnings) = read(
            "colour = \"auto\"\ncolor = 3\nauthor = \"kim\"\n\n[discover]\nhome = \"maybe\"\nhoem = true\n[nothing]\nx = 1\n[[store]]\nname = \"a\"\n",
        );
        assert_eq!(settings.author, "kim");
        assert_eq!(
            warnings,
            [
                "config.toml:1: no setting 'colour'; 'color' may be meant",
                "config.toml:2: 'color' takes a text, true or false",
                "config.toml:6: 'maybe' is neither true nor false",
                "config.toml:7: no setting 'discover.hoem'; 'discover.home' may be meant",
                "config.toml:8: no setting 'nothing'",
                "config.toml:10: a store needs a name and a path",
            ]
        );
        let (settings, warnings) = read("author = \"kim\"\nbroken = [\n");
        assert_eq!(settings, Settings::default());
        assert!(warnings[0].starts_with("config.toml:2:"), "{warnings:?}");
    }

    #[test]
    fn every_key_is_set_and_told() {
        for key in KEYS {
            let mut settings = Settings::default();
            let other = match settings.value(key).as_str() {
                "true" => "false",
                "auto" => "never",
                "readline" => "vi",
                value if value.parse::<u64>().is_ok() => "7",
                _ => "other",
            };
            settings.set(key, other).expect(key);
            assert_eq!(settings.value(key), other, "{key}");
        }
        assert!(Settings::default().set("recall.limit", "0").is_err());
    }

    #[test]
    fn variables_win_and_unknown_ones_are_told() {
        let mut settings = Settings::default();
        let warnings = settings.read_variables(
            [
                ("TOME_AUTHOR", "kim"),
                ("TOME_DISCOVER_HOME", "0"),
                ("TOME_COLR", "x"),
            ]
            .into_iter(),
        );
        assert_eq!(settings.author, "kim");
        assert!(!settings.discover_home);
        assert_eq!(warnings.len(), 1);
        assert_eq!(warnings[0].place, "TOME_COLR");
    }
}
