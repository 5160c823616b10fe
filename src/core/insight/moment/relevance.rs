//! How much a statement is about a call or a prompt: by the commands, files and names in both.
//!
//! A statement counts for what it adds: one that names a command only to say how it is run is silent
//! where the command is run in that way. Expressions are compiled when they are needed: the process
//! lives for one answer.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use super::unit::Unit;
use super::{Cue, MemoryLine};
use crate::core::insight::act::{self, Act, file_name};
use crate::core::insight::guard::check::Checker;
use crate::core::insight::guard::forbidden;
use crate::core::log::touch::{FileUse, script_commands};

/// The least score of a line that is said.
const LEAST: f32 = 4.0;

/// What scores: a statement that forbids the call, one about its kind, one that names its command, its
/// file, the ending of its file, or the folder of it; and one that tells more than names.
const FORBIDS: f32 = 6.0;
const IS_TOPIC: f32 = 4.0;
const NAMES_COMMAND: f32 = 2.5;
const NAMES_FILE: f32 = 4.0;
const NAMES_ENDING: f32 = 3.5;
const NAMES_DEEP_FOLDER: f32 = 3.5;
const NAMES_FOLDER: f32 = 3.0;
const NAMES_TOP_FOLDER: f32 = 2.0;
const TELLS: f32 = 0.5;
const LISTED: f32 = 4.0;

/// The weights of names: programs, variables, long options, and others.
const PROGRAM: f32 = 3.5;
const VARIABLE: f32 = 4.0;
const OPTION: f32 = 3.0;
const FILE: f32 = 2.5;
const OTHER: f32 = 2.0;

/// Weighs statements against a cue.
pub(super) struct Relevance<'a> {
    act: Cow<'a, Act>,
    keys: Keys,
    topics: Vec<Regex>,
    /// In how many statements each name of the cue is.
    counts: HashMap<String, usize>,
    /// Whether a command is run as a statement says.
    complies: bool,
    found: Vec<Candidate>,
}

struct Candidate {
    score: f32,
    /// What it scores for an option that a command lacks.
    lack: f32,
    names: Vec<(String, f32)>,
    line: MemoryLine,
}

/// What a cue names.
#[derive(Default)]
struct Keys {
    /// The commands that do more than read.
    commands: Vec<Vec<String>>,
    /// Where they run, in lower case with `/`.
    place: String,
    /// The files that are edited, in lower case with `/`.
    paths: Vec<String>,
    /// Names that are unlikely to be met by chance, in lower case, with their weights.
    names: HashMap<String, f32>,
}

impl<'a> Relevance<'a> {
    /// Reads what the cue names; `None` if nothing can be about it.
    pub(super) fn new(cue: &Cue<'a>, cwd: Option<&Path>) -> Option<Self> {
        let (act, keys) = match cue {
            Cue::Act(act) => (Cow::Borrowed(*act), Keys::of_act(act, cwd)),
            Cue::Prompt(text) => {
                let keys = Keys::of_prompt(text);
                let commands = keys.commands.clone();
                let act = Act {
                    commands,
                    ..Act::default()
                };
                (Cow::Owned(act), keys)
            }
        };
        if keys.commands.is_empty() && keys.paths.is_empty() && keys.names.is_empty() {
            return None;
        }
        Some(Self {
            act,
            topics: topics(&keys),
            keys,
            counts: HashMap::new(),
            complies: false,
            found: Vec::new(),
        })
    }

    /// Weighs a statement.
    pub(super) fn weigh(&mut self, unit: &Unit<'_>, line: impl FnOnce() -> MemoryLine) {
        let names = self.names_in(unit);
        let path = self.path_score(unit);
        let command = self.command_score(unit);
        let is_topic = self.topics.iter().any(|topic| topic.is_match(unit.text));
        let forbids =
            (is_topic || path > 0.0 || self.has_code_of_act(unit)) && self.is_forbidden(unit);
        let is_named = !names.is_empty() || path > 0.0 || is_topic || forbids;
        if !is_named && command == CommandScore::default() {
            return;
        }
        let is_edited = EDITING.is_match(unit.text);
        let tells = is_edited || DIRECTIVE.is_match(unit.text);
        let mut score = command.elsewhere;
        if tells {
            score += TELLS + command.named;
            score += if is_topic { IS_TOPIC } else { 0.0 };
            score += if is_edited && path > 0.0 { 1.0 } else { 0.0 };
        }
        // That a file is named as such is enough; a folder has many.
        if tells || path >= NAMES_FILE {
            score += path;
        }
        if forbids {
            score += FORBIDS;
        }
        if LISTING.is_match(unit.text) {
            score -= LISTED;
        }
        self.found.push(Candidate {
            score,
            lack: command.lack,
            names,
            line: line(),
        });
    }

    /// The best line that `is_new`, if it is good enough.
    pub(super) fn best(self, is_new: impl Fn(&MemoryLine) -> bool) -> Option<MemoryLine> {
        let total = |one: &Candidate| {
            let names = one.names.iter().map(|(name, weight)| {
                let count = self.counts.get(name).copied().unwrap_or(1) as f32;
                weight
                    / if *weight == PROGRAM {
                        count
                    } else {
                        count.sqrt()
                    }
            });
            let lack = if self.complies { 0.0 } else { one.lack };
            one.score + lack + names.sum::<f32>()
        };
        let scored = self.found.iter().map(|one| (total(one), one));
        let new = scored.filter(|(score, one)| *score >= LEAST && is_new(&one.line));
        // Of equal ones the first.
        let best = new.reduce(|best, one| if one.0 > best.0 { one } else { best });
        best.map(|(_, best)| best.line.clone())
    }

    /// The names of the cue in a statement.
    fn names_in(&mut self, unit: &Unit<'_>) -> Vec<(String, f32)> {
        let mut found: Vec<(String, f32)> = Vec::new();
        let mut lower = String::new();
        for word in words(unit.text) {
            lower.clear();
            lower.extend(word.chars().map(|c| c.to_ascii_lowercase()));
            let whole = self.keys.names.get_key_value(lower.as_str());
            let named = whole.or_else(|| self.keys.names.get_key_value(file_name(&lower)));
            let Some((name, weight)) = named else {
                continue;
            };
            // A program may be any word, and alone it says little: the statement must limit its use.
            let is_meant = *weight != PROGRAM
                || (unit.is_code || is_in_code(unit.text, word) || *word != *lower)
                    && NEGATIVE.is_match(unit.text);
            if is_meant && !found.iter().any(|(known, _)| known == name) {
                *self.counts.entry(name.clone()).or_default() += 1;
                found.push((name.clone(), *weight));
            }
        }
        found
    }

    /// Whether code of the statement is in the call, which may be what it forbids.
    fn has_code_of_act(&self, unit: &Unit<'_>) -> bool {
        let written = &self.act.written;
        spans(unit).any(|span| {
            let first = span.split_whitespace().next().unwrap_or_default();
            let mut words = self.keys.commands.iter().flatten();
            !first.is_empty() && words.any(|word| word == first)
                || span.len() > 3 && written.iter().any(|text| text.new.contains(span))
        })
    }

    /// Whether the call does what the statement forbids.
    fn is_forbidden(&self, unit: &Unit<'_>) -> bool {
        NEGATIVE.is_match(unit.text)
            && forbidden(unit.text)
                .iter()
                .filter_map(|check| Checker::new(check).ok())
                .any(|check| check.stopped(&self.act).is_some())
    }

    /// What a statement that names a command says about the one that is about to run.
    fn command_score(&mut self, unit: &Unit<'_>) -> CommandScore {
        let mut best = CommandScore::default();
        if self.keys.commands.is_empty() {
            return best;
        }
        let is_prose = !unit.is_code && prose_words(unit.text) >= 8;
        let mut place = None;
        for span in spans(unit) {
            let said: Vec<&str> = span.split_whitespace().take_while(|w| *w != "#").collect();
            let Some((program, said)) = said.split_first() else {
                continue;
            };
            for command in &self.keys.commands {
                let verb = command.get(1).map_or("", String::as_str);
                let is_other = said.first().is_some_and(|first| *first != verb);
                let is_short = said.is_empty() && COMMON.contains(&command[0].as_str());
                if program_name(program) != command[0] || is_other || is_short {
                    continue;
                }
                let given: HashSet<&str> = command.iter().map(String::as_str).collect();
                let (options, operands): (Vec<&str>, Vec<&str>) = said
                    .iter()
                    .partition(|word| word.starts_with('-') && word.len() > 2);
                let is_same = operands.iter().all(|word| given.contains(word));
                let lacks = options.iter().any(|word| !given.contains(word));
                self.complies |= !said.is_empty() && !lacks && is_same;
                let more = said
                    .iter()
                    .skip(1)
                    .filter(|word| given.contains(**word))
                    .count();
                let place = place.get_or_insert_with(|| PLACE.captures(unit.text));
                match place {
                    Some(place) if !self.keys.runs_in(&place[1], command) => {
                        best.elsewhere = IS_TOPIC;
                    }
                    Some(_) => {}
                    None if is_prose => {
                        best.named = best.named.max(NAMES_COMMAND + 1.5 * more as f32);
                    }
                    None if lacks && is_same && said.len() > 1 && !NEGATIVE.is_match(unit.text) => {
                        best.lack = IS_TOPIC;
                    }
                    None => {}
                }
            }
        }
        // All commands of a program in one folder.
        if let Some(all) = ALL_THERE.captures(unit.text) {
            let is_it = |command: &&Vec<String>| command[0] == all[2].to_ascii_lowercase();
            let mut own = self.keys.commands.iter().filter(is_it).peekable();
            let folder = all[1].replace('\\', "/");
            let folder = file_name(folder.trim_end_matches('/'));
            if own.peek().is_some() && own.all(|command| !self.keys.runs_in(folder, command)) {
                best.elsewhere = IS_TOPIC;
            }
        }
        best
    }

    fn path_score(&self, unit: &Unit<'_>) -> f32 {
        let mut best = 0.0_f32;
        if self.keys.paths.is_empty() {
            return best;
        }
        let spans = || spans(unit).filter(|span| !span.contains(char::is_whitespace));
        // An ending beside a path is a part of what is said about that.
        let has_path = spans().any(|span| span.contains(['/', '\\']));
        for span in spans().filter(|span| !has_path || !is_ending(span)) {
            let span = span.replace('\\', "/").to_ascii_lowercase();
            for path in &self.keys.paths {
                best = best.max(path_match(span.trim_start_matches("./"), path));
            }
        }
        best
    }
}

/// What a statement scores for the commands it names.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct CommandScore {
    /// It tells something about the command.
    named: f32,
    /// It names an option that the command lacks.
    lack: f32,
    /// It says where the command is to be run, which is elsewhere.
    elsewhere: f32,
}

impl Keys {
    fn of_act(act: &Act, cwd: Option<&Path>) -> Self {
        let mut keys = Self::default();
        if let Some(cwd) = cwd {
            keys.place = plain_path(&cwd.to_string_lossy());
        }
        for command in &act.commands {
            let mut words = command.clone();
            let Some(first) = words.first_mut() else {
                continue;
            };
            *first = program_name(first);
            while words[0] == "git" && words.len() > 2 && words[1] == "-C" {
                words.drain(1..3);
            }
            if let ("cd" | "set-location", Some(to)) = (words[0].as_str(), words.get(1)) {
                keys.place = format!("{}/{}", keys.place, plain_path(to));
            }
            if is_reading(&words) {
                continue;
            }
            if !COMMON.contains(&words[0].as_str()) && words[0].len() > 2 {
                keys.names.insert(words[0].clone(), PROGRAM);
            }
            for word in words.iter().skip(1).filter(|word| word.len() < 200) {
                keys.names.extend(weighed(word));
            }
            keys.commands.push(words);
        }
        // What a script writes is mostly for itself.
        let edited = act
            .touches
            .iter()
            .filter(|touch| touch.usage != FileUse::Read);
        for touch in edited.filter(|_| act.commands.is_empty()) {
            let path = plain_path(&touch.path);
            let mut passing = ["/tmp/", "/temp/", "scratch"].iter();
            if passing.any(|part| path.contains(part)) {
                continue;
            }
            if !USUAL.contains(&file_name(&path)) {
                keys.names.insert(file_name(&path).to_owned(), FILE);
            }
            keys.paths.push(path);
        }
        for text in act.written.iter().filter(|_| !keys.paths.is_empty()) {
            let old: HashSet<&str> = words(&text.old).collect();
            let new = words(&text.new).filter(|word| !old.contains(word));
            for (name, weight) in new.take(MOST_WORDS).filter_map(weight_of) {
                keys.names.entry(name).or_insert(weight * 0.5);
            }
        }
        keys
    }

    /// A prompt names commands in code and names; what it only speaks of is not about to happen.
    fn of_prompt(text: &str) -> Self {
        let spans = text.split('`').skip(1).step_by(2);
        let mut keys = Self {
            names: words(text).take(MOST_WORDS).filter_map(weight_of).collect(),
            ..Self::default()
        };
        for span in spans {
            let commands = script_commands(span).into_iter();
            keys.commands
                .extend(commands.filter(|words| words.len() > 1 && !is_reading(words)));
        }
        keys
    }

    /// Whether a command runs in a folder of this name, as far as it can be seen.
    fn runs_in(&self, folder: &str, command: &[String]) -> bool {
        let folder = folder.trim_matches(['/', '`']).to_ascii_lowercase();
        let place = format!("{}/", self.place);
        // A relative path exists where the command runs.
        let is_local = |word: &String| {
            let rest = word.strip_prefix("./");
            rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_alphanumeric()))
        };
        place.contains(&format!("/{folder}/")) || command.iter().any(is_local)
    }
}

/// How many words of a text are read.
const MOST_WORDS: usize = 4_000;

fn plain_path(path: &str) -> String {
    path.replace('\\', "/").to_lowercase()
}

fn program_name(word: &str) -> String {
    let name = file_name(word).to_lowercase();
    name.strip_suffix(".exe").unwrap_or(&name).to_owned()
}

/// Programs whose name alone says nothing about what is done.
#[rustfmt::skip] // Words beside each other.
const COMMON: [&str; 46] = [
    "cd", "ls", "cat", "grep", "rg", "find", "head", "tail", "echo", "sed", "awk", "mkdir", "cp",
    "mv", "rm", "wc", "sort", "sleep", "printf", "test", "which", "true", "export", "set", "pwd",
    "git", "go", "sh", "bash", "fi", "python", "python3", "node", "npm", "npx", "pnpm", "yarn",
    "bun", "uv", "pip", "make", "docker", "cargo", "gh", "curl", "mise",
];

/// Files that most projects have.
#[rustfmt::skip] // Words beside each other.
const USUAL: [&str; 8] = [
    "readme.md", "index.ts", "index.js", "main.go", "main.rs", "mod.rs", "lib.rs", "package.json",
];

/// Whether a command only reads.
fn is_reading(words: &[String]) -> bool {
    let verb = words.get(1).map_or("", String::as_str);
    match words[0].as_str() {
        "cd" | "ls" | "cat" | "grep" | "rg" | "find" | "head" | "tail" | "echo" | "wc" | "sort"
        | "which" | "pwd" | "printf" | "awk" | "sleep" | "true" | "test" | "[" | "[[" | "for"
        | "done" | "fi" | "while" | "set" | "jq" | "diff" | "tree" | "stat" | "du" => true,
        "sed" => !words.iter().any(|word| word.starts_with("-i")),
        "git" => matches!(
            verb,
            "status"
                | "diff"
                | "log"
                | "show"
                | "branch"
                | "rev-parse"
                | "remote"
                | "ls-files"
                | "blame"
                | "merge-base"
                | "fetch"
                | "grep"
                | "config"
                | "describe"
                | "reflog"
        ),
        _ => false,
    }
}

/// The words of a text that may be names.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_alphanumeric() || "_-./$".contains(c);
    let words = text.split(move |c: char| !is_part(c));
    let bare = words.map(|word| {
        let word = word.trim_end_matches(['.', '/', '-']);
        word.trim_start_matches(['.', '/', '$'])
    });
    bare.filter(|word| word.len() > 2)
}

fn weighed(text: &str) -> impl Iterator<Item = (String, f32)> {
    words(text).filter_map(weight_of)
}

/// A word that is unlikely to be met by chance, in lower case, with its weight.
fn weight_of(word: &str) -> Option<(String, f32)> {
    let inner = word.trim_start_matches('-');
    let is_loud = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let weight = if word.len() > 5 && word.contains('_') && word.chars().all(is_loud) {
        VARIABLE
    } else if word.starts_with("--") && inner.len() > 3 {
        OPTION
    } else if inner.len() > 4 && (inner.contains(['_', '.', '/', '-']) || is_camel(inner)) {
        OTHER
    } else {
        return None;
    };
    Some((word.to_lowercase(), weight))
}

/// Whether a word has humps.
fn is_camel(word: &str) -> bool {
    let letters = word.as_bytes();
    let is_hump = |pair: &[u8]| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase();
    word.len() > 7 && letters.windows(2).any(is_hump)
}

/// The code of a statement: its spans, or its lines in a code block.
fn spans<'a>(unit: &Unit<'a>) -> impl Iterator<Item = &'a str> {
    let (text, is_code) = (unit.text, unit.is_code);
    let lines = text.lines().filter(move |_| is_code);
    let lines = lines.filter(|line| !line.trim_start().starts_with('#'));
    let spans = text.split('`').skip(1).step_by(2);
    lines.chain(spans.filter(move |_| !is_code))
}

/// Whether a word of a text, a slice of it, stands in a code span.
fn is_in_code(text: &str, word: &str) -> bool {
    let at = word.as_ptr() as usize - text.as_ptr() as usize;
    text[..at].matches('`').count() % 2 == 1
}

/// How many words a text has outside of code.
fn prose_words(text: &str) -> usize {
    let parts = text.split('`').step_by(2);
    parts.map(|part| part.split_whitespace().count()).sum()
}

/// Whether code is the ending of files.
fn is_ending(span: &str) -> bool {
    let rest = span.trim_start_matches('*').strip_prefix('.');
    rest.is_some_and(|rest| rest.len() <= 5 && rest.chars().all(char::is_alphanumeric))
}

/// How well code names a file.
fn path_match(span: &str, path: &str) -> f32 {
    let bare = span
        .trim_end_matches('/')
        .trim_end_matches("/**")
        .trim_start_matches('*');
    let is_absolute = bare.starts_with('/') || bare.get(1..).is_some_and(|s| s.starts_with(":/"));
    if bare.len() < 2 || is_absolute {
        return 0.0;
    }
    if is_ending(bare) {
        // Files of an agent's own are not the project's.
        let is_own = path.ends_with(bare) && !path.contains("/.claude/projects/");
        return if is_own { NAMES_ENDING } else { 0.0 };
    }
    let before = path.strip_suffix(bare);
    if bare.contains('.') && before.is_some_and(|rest| rest.is_empty() || rest.ends_with('/')) {
        return NAMES_FILE;
    }
    let is_inside = format!("/{path}").contains(&format!("/{bare}/"));
    match bare.split('/').count() {
        _ if !is_inside => 0.0,
        1 if span.ends_with('/') => NAMES_TOP_FOLDER,
        1 => 0.0,
        2 => NAMES_FOLDER,
        _ => NAMES_DEEP_FOLDER,
    }
}

/// How statements speak of the kinds of acts that a call is.
fn topics(keys: &Keys) -> Vec<Regex> {
    let mut found: Vec<&str> = Vec::new();
    for command in &keys.commands {
        let has = |options: &[&str]| {
            let mut words = command.iter();
            words.any(|word| options.iter().any(|option| word.starts_with(option)))
        };
        let (program, verb) = (
            command[0].as_str(),
            command.get(1).map_or("", String::as_str),
        );
        let third = command.get(2).map_or("", String::as_str);
        match (program, verb) {
            ("git", "commit") => {
                found.push(COMMIT);
                found.extend(has(&["--amend", "--fixup"]).then_some(REWRITE));
            }
            ("git", "rebase") if !has(&["--continue", "--abort", "--skip"]) => {
                found.push(REWRITE);
            }
            ("git", "push") => {
                found.push(PUSH);
                found.extend(has(&["-f", "--force"]).then_some(FORCE));
            }
            ("git", "worktree") if third == "add" => found.push(r"(?i)\bworktrees?\b"),
            ("git", "stash") => found.push(r"(?i)\bstash"),
            ("git", "tag") if !has(&["-l", "--list", "--contains"]) => found.push(RELEASE),
            ("gh", "pr") if matches!(third, "create" | "edit") => found.push(REQUEST),
            ("gh", "pr") if third == "merge" => found.push(r"(?i)\bmerg(?:e|ing)\b"),
            (_, "publish") => found.push(RELEASE),
            (_, "add" | "install" | "i" | "get") if !third.is_empty() && program != "git" => {
                found.push(DEPENDENCY);
            }
            _ => {}
        }
    }
    let is_memory = |path: &String| path.contains("/memory/") && path.ends_with(".md");
    if keys.paths.iter().any(is_memory) {
        found.push(MEMORY);
    }
    found.sort_unstable();
    found.dedup();
    found.into_iter().map(pattern).collect()
}

const COMMIT: &str = r"(?i)\bcommit messages?\b|\bgit commits?\b|\b(?:create|make|making)\b[^.]{0,16} commits?\b|\bbefore (?:each |every |any |you |a )*commit|\bwhen(?:ever)? (?:you )?commit|\bconventional commit|\bauto-commit|\bco-authored-by\b|\bcommit (?:convention|format|style|title|subject|body)";
const REWRITE: &str = r"(?i)\bamend|\bfixup|\bsquash|\brewrit\w* (?:the )?(?:history|commits)";
const PUSH: &str = r"(?i)\bpush(?:ing|ed)? (?:to|directly)\b|\b(?:before|never|not|always)\b[^.`]{0,20} push(?:ing)?\b";
const FORCE: &str = r"(?i)\bforce[- ]?push";
const REQUEST: &str = r"(?i)\b(?:PR|pull request) (?:title|description|body)|\b(?:open|create|opening|creating)\b[^.]{0,16}(?:\bPRs?\b|pull request)";
const RELEASE: &str = r"(?i)\bpublish|\breleas(?:e|ing)\b";
const DEPENDENCY: &str = r"(?i)\b(?:new|add(?:ing)?|no)\b \w* ?dependenc|\bpackage manager\b";
const MEMORY: &str = r"(?i)\bmemories\b|\bmemory (?:file|dir|folder|entr)";

fn pattern(written: &str) -> Regex {
    act::pattern(written).expect("a valid pattern")
}

/// `run … from src/`.
static PLACE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"(?i)\brun(?:s|ning)?\b[^.`]{0,24}\b(?:from|in|inside) `?([\w.-]+/)")
});

/// A folder, and a program of which all commands run there.
static ALL_THERE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)`([^`]+)`[^`]{0,60}\brun (?:all )`?(\w+)`? commands"));

/// An item that says what is where, or where it is said.
static LISTING: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)^\s*[-*] (?:\*\*)?(?:`[^`]+`(?:\*\*)?\s*(?:[-–—:]|\()|\[[^\]]+\]\()|^\W*(?:see|refer to|read the)\b",
    )
});

/// What is to be done about a file that is edited.
static EDITING: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:when|after|before|while|if you|do not|don['’]t|never|always)\b[^.]{0,24}\b(?:edit|modif|chang|add|touch|writ|updat|renam|introduc)|\bleave\b[^.]{0,60}\balone\b",
    )
});

/// What tells more than how things are.
static DIRECTIVE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:must|never|always|do not|don['’]t|should|only|use|prefer|avoid|instead|ensure|make sure|run|keep|follow|require[sd]?|not)\b|^(?:\W|\d)*(?:register|update|create|add|write|put|set|check|call|include|stage|start|treat|document|place)\b",
    )
});

static NEGATIVE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)\b(?:never|not|don['’]t|avoid|no|instead|cannot)\b"));

#[cfg(test)]
mod tests {
    use super::super::unit::units;
    use super::*;

    /// The line of a memory that is said before a call, if any.
    fn said(memory: &str, tool: &str, input: &str) -> Option<usize> {
        let act = Act::of(tool, input);
        let cue = match tool {
            "" => Cue::Prompt(input),
            _ => Cue::Act(&act),
        };
        let mut relevance = Relevance::new(&cue, Some(Path::new("/p")))?;
        for unit in units(memory) {
            relevance.weigh(&unit, || MemoryLine {
                store: String::new(),
                path: String::new(),
                line: unit.line,
                text: unit.said(),
            });
        }
        relevance.best(|_| true).map(|line| line.line)
    }

    const MEMORY: &str = "# Rules
- Never run `git push --force` here.
- Commit messages must be in the imperative.
- `src/cli/` - the command line
- Follow the house style for `.mdx` files.
- When editing `src/shell/`, change the script in `src/shell/scripts/`, too.
- Register each type in `src/config/types.go`.
- The cache is written only with `--save-cache`; `OMP_CACHE_DIR` says where.
- Do not run Vale on the website.
- **Lint**: `ruff check --fix`
- Always use the root (not `os.Getwd()`) for paths.
- Run all tests with `npm test`.
- [Guide](guide.md) says how `src/cli/main.go` works.

```sh
# Go: run from src/
go test ./...
```
";

    #[test]
    fn a_line_is_said_where_it_is_about_the_call_and_adds_something() {
        for (tool, input, wanted) in [
            ("Bash", "command: cd x && git push -f", Some(2)),
            ("Bash", "command: git push", None),
            ("Bash", "command: git commit -m 'Do it'", Some(3)),
            ("Bash", "command: git status && git log | grep commit", None),
            ("Bash", "command: cat src/config/types.go", None),
            ("Bash", "command: app print --save-cache", None),
            ("Bash", "command: export OMP_CACHE_DIR=/x", Some(8)),
            ("Bash", "command: vale website/a.mdx", Some(9)),
            ("Bash", "command: ruff check src", Some(10)),
            ("Bash", "command: ruff check --fix src", None),
            ("Bash", "command: npm test", None),
            ("Bash", "command: go test ./...", Some(16)),
            ("Bash", "command: cd src && go test ./...", None),
            ("Bash", "command: go test ./shell/", None),
            (
                "Edit",
                "file_path: /p/docs/a.mdx\nold_string: a\nnew_string: b",
                Some(5),
            ),
            (
                "Edit",
                "file_path: /p/src/cli/a.go\nold_string: a\nnew_string: b",
                None,
            ),
            (
                "Edit",
                "file_path: /p/src/shell/a.go\nold_string: a\nnew_string: b",
                Some(6),
            ),
            (
                "Edit",
                "file_path: D:\\p\\src\\config\\types.go\nold_string: a\nnew_string: b",
                Some(7),
            ),
            (
                "Edit",
                "file_path: /p/b.go\nold_string: a\nnew_string: os.Getwd()",
                Some(11),
            ),
            (
                "Edit",
                "file_path: /p/b.go\nold_string: a\nnew_string: b",
                None,
            ),
            ("Write", "file_path: /tmp/x.mdx\ncontent: b", None),
            ("Read", "file_path: /p/src/config/types.go", None),
            ("", "please `git push --force` it", Some(2)),
            ("", "set OMP_CACHE_DIR to /x", Some(8)),
            ("", "why does git push fail?", None),
        ] {
            assert_eq!(said(MEMORY, tool, input), wanted, "{tool} {input}");
        }
    }
}
