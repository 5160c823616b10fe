//! What a guard looks for in a call.
//!
//! Commands are compared as words: a pattern's program, its subcommand and its operands in order, its
//! options anywhere. `*` stands for any letters of a word, and alone for any words.

use std::fmt;
use std::path::Path;

use regex::Regex;
use serde::{Deserialize, Serialize};

use crate::core::insight::act::{Act, WrittenText, file_name, pattern};
use crate::core::insight::context::expression;
use crate::core::log::touch::{FileUse, home_as_tilde, script_commands};
use crate::core::memory::config::expand;
use crate::core::text::{clip, one_line};
use crate::core::{Error, Result};

/// The most of a command that is shown.
const LONGEST: usize = 200;

/// What a guard looks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Check {
    /// A command, as words with `*`.
    Command(String),
    /// A file that is written or deleted, as a glob.
    Path(String),
    /// A file that is used in any way, as a glob.
    Read(String),
    /// A package that is added.
    Package(String),
    /// A text that an edit adds, as a regular expression.
    Edit(String),
}

impl Check {
    /// The name of its kind and what it looks for.
    pub fn parts(&self) -> (&'static str, &str) {
        match self {
            Self::Command(text) => ("command", text),
            Self::Path(text) => ("path", text),
            Self::Read(text) => ("read", text),
            Self::Package(text) => ("package", text),
            Self::Edit(text) => ("edit", text),
        }
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, text) = self.parts();
        write!(f, "{kind} {text}")
    }
}

/// A check that is ready to be compared with calls.
#[derive(Debug)]
pub struct Checker {
    check: Check,
    /// The words of a command.
    words: Vec<Word>,
    /// The expressions of a glob, a package or an edit.
    expressions: Vec<Regex>,
}

/// A word of a pattern.
#[derive(Debug)]
struct Word {
    text: String,
    expression: Option<Regex>,
}

impl Word {
    fn new(text: &str) -> Option<Self> {
        let written = regex::escape(text).replace(r"\*", ".*");
        let has_star = text.contains('*');
        let expression = has_star.then(|| Regex::new(&format!("^(?s:{written})$")));
        Some(Self {
            text: text.to_owned(),
            expression: expression.transpose().ok()?,
        })
    }

    fn is(&self, word: &str) -> bool {
        match &self.expression {
            Some(expression) => expression.is_match(word),
            None => self.text == word,
        }
    }
}

impl Checker {
    /// Reads what a check looks for; an error if it cannot be read. `home` is the user's.
    pub fn new(check: &Check, home: &Path) -> Result<Self> {
        let (kind, text) = check.parts();
        let wrong = |why: &str| Error::refused(format!("--{kind} {text}"), why);
        let (mut words, mut expressions) = (Vec::new(), Vec::new());
        match check {
            Check::Command(pattern) => {
                let commands = script_commands(pattern);
                let [command] = commands.as_slice() else {
                    return Err(wrong("one command is expected"));
                };
                words.extend(command.iter().filter_map(|word| Word::new(word)));
            }
            Check::Path(glob) | Check::Read(glob) => {
                let bare = glob.trim_start_matches("./").trim_end_matches('/');
                let bare = expand(&home_as_tilde(bare), home, Path::new(""));
                let bare = bare.to_string_lossy();
                let place = if bare.starts_with('/') { "" } else { "**/" };
                let both = [format!("{place}{bare}"), format!("{place}{bare}/**")];
                expressions.extend(both.iter().filter_map(|glob| expression(glob)));
                if bare.is_empty() || expressions.len() < both.len() {
                    return Err(wrong("a pattern of a path is expected"));
                }
            }
            Check::Package(name) => {
                let name = regex::escape(name);
                let edges = (r#"(?m)(?:^|["'\s/])"#, r#"(?:["'\s=@~^>:\[]|$)"#);
                let written = format!("{}{name}{}", edges.0, edges.1);
                expressions.extend(Regex::new(&written).ok());
            }
            Check::Edit(written) => {
                let read = pattern(&format!("(?m){written}"));
                expressions.push(read.map_err(|e| wrong(&e.to_string()))?);
            }
        }
        Ok(Self {
            check: check.clone(),
            words,
            expressions,
        })
    }

    /// Whether a call is of the kind that this looks at: one that runs commands, or touches files.
    pub fn looks_at(&self, act: &Act) -> bool {
        match self.check {
            Check::Command(_) => !act.commands.is_empty(),
            Check::Path(_) | Check::Read(_) => !act.touches.is_empty(),
            Check::Package(_) => !act.commands.is_empty() || !act.written.is_empty(),
            Check::Edit(_) => !act.written.is_empty(),
        }
    }

    /// What of a call this asks about, if anything.
    pub fn stopped(&self, act: &Act) -> Option<String> {
        let command = |is: &dyn Fn(&[String]) -> bool| {
            let mut commands = act.commands.iter();
            let found = commands.find(|words| is(words))?;
            Some(clip(&one_line(&found.join(" ")), LONGEST).to_owned())
        };
        let file = |is: &dyn Fn(&WrittenText) -> bool| {
            let mut written = act.written.iter();
            Some(written.find(|text| is(text))?.path.clone())
        };
        match &self.check {
            Check::Command(_) => command(&|words| is_command(&self.words, words)),
            Check::Path(_) | Check::Read(_) => {
                let reads = matches!(self.check, Check::Read(_));
                let mut touches = act.touches.iter();
                let found = touches.find(|touch| {
                    (reads || touch.usage != FileUse::Read)
                        && self
                            .expressions
                            .iter()
                            .any(|glob| glob.is_match(&touch.path))
                })?;
                Some(format!("{} {}", found.usage.name(), found.path))
            }
            Check::Package(name) => command(&|words| adds_package(words, name))
                .or_else(|| file(&|text| is_manifest(&text.path) && self.is_added(text))),
            Check::Edit(_) => file(&|text| !is_prose(&text.path) && self.is_added(text)),
        }
    }

    /// Whether a text has the expression more often than what it replaces.
    fn is_added(&self, text: &WrittenText) -> bool {
        let count = |of: &str| {
            let all = self.expressions.iter();
            all.map(|one| one.find_iter(of).count()).sum::<usize>()
        };
        count(&text.new) > count(&text.old)
    }
}

/// Texts in which a word that code must not have may well be written about.
fn is_prose(path: &str) -> bool {
    let name = file_name(path).to_ascii_lowercase();
    [".md", ".mdx", ".mdc", ".txt", ".rst", ".adoc"]
        .iter()
        .any(|ending| name.ends_with(ending))
}

fn is_manifest(path: &str) -> bool {
    let name = file_name(path);
    matches!(
        name,
        "package.json" | "Cargo.toml" | "pyproject.toml" | "go.mod" | "Gemfile" | "composer.json"
    ) || name.starts_with("requirements") && name.ends_with(".txt")
}

/// The programs that add packages, and their words for it.
const INSTALLERS: [(&str, &[&str]); 15] = [
    ("npm", &["i", "install", "add"]),
    ("pnpm", &["i", "install", "add"]),
    ("yarn", &["add"]),
    ("bun", &["i", "install", "add"]),
    ("deno", &["add"]),
    ("cargo", &["add", "install"]),
    ("pip", &["install"]),
    ("pip3", &["install"]),
    ("uv", &["add", "install"]),
    ("poetry", &["add"]),
    ("go", &["get", "install"]),
    ("gem", &["install"]),
    ("bundle", &["add"]),
    ("composer", &["require"]),
    ("brew", &["install"]),
];

fn adds_package(words: &[String], name: &str) -> bool {
    let Some((program, rest)) = words.split_first() else {
        return false;
    };
    let mut installers = INSTALLERS.iter();
    let Some((_, verbs)) = installers.find(|(known, _)| *known == file_name(program)) else {
        return false;
    };
    let adds = rest
        .iter()
        .take(2)
        .any(|word| verbs.contains(&word.as_str()));
    let is_it = |word: &String| {
        let rest = word.strip_prefix(name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['@', '=', '>', '<', '~', '[']))
    };
    adds && rest.iter().any(is_it)
}

/// Whether the words of a command are those of a pattern.
fn is_command(pattern: &[Word], words: &[String]) -> bool {
    let (Some((program, wanted)), Some((name, rest))) =
        (pattern.split_first(), words.split_first())
    else {
        return false;
    };
    if !program.is(name) && !program.is(file_name(name)) {
        return false;
    }
    let is_option = |text: &str| text.len() > 1 && text.starts_with('-');
    let rest = without_global(file_name(name), rest);
    let verb = rest.iter().find(|word| !is_option(word));
    let verb = verb.map_or("", String::as_str);
    let given: Vec<String> = rest
        .iter()
        .flat_map(|word| options(file_name(name), verb, word))
        .collect();
    let mut operands = rest.iter().filter(|word| !is_option(word)).peekable();
    let mut is_first = true;
    for word in wanted {
        let is_there = if word.text == "*" {
            is_first = false;
            true
        } else if is_option(&word.text) && word.expression.is_some() {
            given.iter().any(|option| word.is(option))
        } else if is_option(&word.text) {
            let mut all = options(file_name(name), verb, &word.text).into_iter();
            all.all(|option| given.contains(&option))
        } else if std::mem::take(&mut is_first) {
            // The subcommand is the first operand; the others may have more between them.
            operands.next_if(|operand| word.is(operand)).is_some()
        } else {
            operands.any(|operand| word.is(operand))
        };
        if !is_there {
            return false;
        }
    }
    true
}

/// The words of a command without the options that stand before a subcommand of git.
fn without_global<'a>(program: &str, mut rest: &'a [String]) -> &'a [String] {
    while program == "git"
        && let [first, others @ ..] = rest
        && first.starts_with('-')
    {
        let has_value = matches!(first.as_str(), "-C" | "-c") && !others.is_empty();
        rest = &others[usize::from(has_value)..];
    }
    rest
}

/// Short options and their long forms: program, subcommand or nothing, both.
const LONG: [(&str, &str, &str, &str); 12] = [
    ("git", "push", "-f", "--force"),
    ("git", "push", "-d", "--delete"),
    ("git", "commit", "-n", "--no-verify"),
    ("git", "commit", "-a", "--all"),
    ("git", "add", "-A", "--all"),
    ("git", "add", "-f", "--force"),
    ("git", "clean", "-f", "--force"),
    ("git", "checkout", "-f", "--force"),
    ("rm", "", "-f", "--force"),
    ("rm", "", "-r", "--recursive"),
    ("rm", "", "-R", "--recursive"),
    ("npm", "", "-g", "--global"),
];

/// The options that a word is: the letters of a cluster one by one, in the long form that is known,
/// without values. A refspec with a plus forces.
fn options(program: &str, verb: &str, word: &str) -> Vec<String> {
    let long = |option: String| {
        let mut all = LONG.iter();
        let known = all.find(|(of, sub, short, _)| {
            *of == program && (sub.is_empty() || *sub == verb) && *short == option
        });
        known.map_or(option, |(.., long)| (*long).to_owned())
    };
    match word.strip_prefix('-') {
        Some(name) if name.starts_with('-') => {
            vec![word.split('=').next().unwrap_or(word).to_owned()]
        }
        Some(letters) if letters.len() <= 4 && letters.chars().all(char::is_alphabetic) => {
            letters.chars().map(|c| long(format!("-{c}"))).collect()
        }
        Some(_) => vec![word.to_owned()],
        None if program == "git" && verb == "push" && word.starts_with('+') => {
            vec!["--force".to_owned()]
        }
        None => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::fixture::rows;

    fn stops(check: &Check, tool: &str, input: &str) -> bool {
        let (home, cwd) = (Path::new("/h"), Path::new("/p"));
        let checker = Checker::new(check, home).expect("a check");
        let act = Act::of(tool, input).made_in(cwd, home);
        checker.stopped(&act).is_some()
    }

    #[test]
    fn a_command_is_compared_as_words() {
        let table = r#"
git push --force* => git push --force origin main => stopped
git push --force* => git push --force-with-lease => stopped
git push --force* => cd x && git push -f => stopped
git push --force* => git -C /r push origin +main => stopped
git push --force* => bash -lc 'git push -uf origin x' => stopped
git push --force* => git push origin main =>
git push --force* => git commit -m "never git push --force" =>
git push --force* => echo 'git push --force' =>
git push --force* => grep -rn 'git push --force' docs =>
git push --force* => cat > a.md <<'EOF'\ngit push --force\nEOF =>
git push --force => git push --force-with-lease =>
git push -f => git push --force => stopped
rm -rf => rm -fr /x => stopped
rm -rf => rm -R --force /x => stopped
rm -rf => rm -f x =>
git commit --no-verify => git commit -anm x => stopped
git commit --no-verify => git push -n =>
* --no-verify => git commit --no-verify -m x => stopped
git push * main => git push -u origin main => stopped
git push * main => git push origin feature =>
npm => npm test => stopped
npm => /usr/bin/npm ci => stopped
npm => pnpm test =>
npm install => npm run install =>
terraform apply => timeout 60 terraform -chdir=x apply -auto-approve => stopped
git add *.env => git add -f config/.env => stopped
git add -A => git add --all => stopped"#;
        for [pattern, command, expected] in rows(table) {
            let input = format!("command: {command}\ndescription: x");
            let is_stopped = stops(&Check::Command(pattern), "Bash", &input);
            assert_eq!(is_stopped, expected == "stopped", "{command}");
        }
    }

    #[test]
    fn a_file_is_the_same_however_it_is_named() {
        let names = ["~/.ssh/config", "$HOME/.ssh/config", "${HOME}/.ssh/config"];
        for rule in names.iter().chain(&["/h/.ssh/config"]) {
            let check = Check::Read((*rule).to_owned());
            for command in [
                "cat ~/.ssh/config",
                "cat \"$HOME/.ssh/config\"",
                "cat ${HOME}/.ssh/config",
                "cat /h/.ssh/config",
                "cd ~/.ssh && cat config",
                "cd $HOME && cd .ssh; cat ./config",
            ] {
                let input = format!("command: {command}");
                assert!(stops(&check, "Bash", &input), "{rule}: {command}");
            }
            assert!(stops(&check, "Read", "file_path: /h/.ssh/config"), "{rule}");
            assert!(
                !stops(&check, "Read", "file_path: /p/.ssh/config"),
                "{rule}"
            );
        }
        let dist = Check::Path("/p/dist".to_owned());
        assert!(stops(&dist, "Bash", "command: truncate -s 0 dist/a.js"));
    }

    #[test]
    fn files_packages_and_texts_are_found_where_they_are_meant() {
        let table = r#"
path dist/ => Edit => file_path: /p/dist/a.js\nold_string: a\nnew_string: b => stopped
path dist/ => Read => file_path: /p/dist/a.js =>
path dist/ => Bash => command: cat dist/a.js =>
path dist/ => Bash => command: echo x > dist/a.js => stopped
path *.lock => Write => file_path: /p/sub/yarn.lock\ncontent: x => stopped
path *.lock => Write => file_path: /p/lock.rs\ncontent: x =>
path src/gen/** => apply_patch => *** Begin Patch\n*** Update File: src/gen/a.rs\n@@\n-x\n+y\n*** End Patch => stopped
read .env => Bash => command: cat .env => stopped
read .env => Read => file_path: /p/.env => stopped
read .env => Read => file_path: /p/.env.example =>
package lodash => Bash => command: npm i -D lodash@4 => stopped
package lodash => Bash => command: npm i lodash-es =>
package lodash => Bash => command: npm ls lodash =>
package lodash => Edit => file_path: package.json\nold_string: {\nnew_string: { "lodash": "4", => stopped
package lodash => Edit => file_path: package.json\nold_string: "lodash": "3"\nnew_string: "lodash": "4" =>
edit \bunwrap\(\) => Edit => file_path: a.rs\nold_string: a\nnew_string: a.unwrap() => stopped
edit \bunwrap\(\) => Edit => file_path: a.rs\nold_string: a.unwrap()\nnew_string: b.unwrap() =>
edit \bunwrap\(\) => Write => file_path: a.md\ncontent: no unwrap() =>"#;
        for [check, tool, input, expected] in rows(table) {
            let (kind, text) = check.split_once(' ').expect("a kind");
            let kind = match kind {
                "path" => Check::Path,
                "read" => Check::Read,
                "package" => Check::Package,
                _ => Check::Edit,
            };
            let is_stopped = stops(&kind(text.to_owned()), &tool, &input);
            assert_eq!(is_stopped, expected == "stopped", "{check}: {tool} {input}");
        }
        for wrong in [
            Check::Edit("(".into()),
            Check::Path("/".into()),
            Check::Command("a; b".into()),
        ] {
            assert!(Checker::new(&wrong, Path::new("/h")).is_err(), "{wrong}");
        }
    }
}
