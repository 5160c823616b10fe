//! The files that a plain shell script touches: redirections, `tee`, `rm`, `mv`, `cp`, `sed`,
//! and what `git` stages. Words with patterns or variables other than the home directory name no file
//! that is known here.

use std::borrow::Cow;

use super::{CommitAct, FileTouch, FileUse};
use crate::core::text::file_name;

/// One command of a script, without its redirections.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Command {
    /// The program and its arguments, without quotes.
    pub(super) words: Vec<String>,
    /// The files that the output is written to.
    pub(super) targets: Vec<String>,
    /// Whether the output is added to what a file has.
    pub(super) appends: bool,
    /// The here document that it reads.
    pub(super) document: Option<String>,
}

/// The single commands of a script. The text of here documents is no command.
pub(super) fn commands(script: &str) -> Vec<Command> {
    let mut scanner = Scanner {
        rest: script,
        found: vec![Command::default()],
        marks: Vec::new(),
        has_open_document: false,
    };
    scanner.scan();
    let is_any = |command: &Command| !command.words.is_empty() || !command.targets.is_empty();
    scanner.found.into_iter().filter(is_any).collect()
}

struct Scanner<'a> {
    rest: &'a str,
    found: Vec<Command>,
    /// The ends of the here documents that begin on the next line, and the commands that read them.
    marks: Vec<(String, usize)>,
    /// Whether the end of an inner here document was not found: then none is looked for again.
    has_open_document: bool,
}

/// The characters that end a word.
const ENDS: [char; 10] = [' ', '\t', '\n', '\r', ';', '|', '&', '<', '>', '('];

impl Scanner<'_> {
    fn scan(&mut self) {
        while let Some(first) = self.rest.chars().next() {
            match first {
                ' ' | '\t' | '\r' => self.skip(1),
                '\n' => {
                    self.skip(1);
                    self.skip_documents();
                    self.next_command();
                }
                ';' | '|' | '&' | '(' | ')' => {
                    if self.rest.starts_with("&>") {
                        self.skip(1);
                        self.redirection();
                    } else {
                        self.skip(1);
                        self.next_command();
                    }
                }
                '#' => {
                    let end = self.rest.find('\n').unwrap_or(self.rest.len());
                    self.skip(end);
                }
                '<' | '>' => self.redirection(),
                _ => {
                    let word = self.word();
                    // A number before it says which output is redirected.
                    let is_number = !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
                    if !(is_number && self.rest.starts_with(['<', '>'])) {
                        self.command().words.push(word);
                    }
                }
            }
        }
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }

    fn command(&mut self) -> &mut Command {
        if self.found.is_empty() {
            self.found.push(Command::default());
        }
        let last = self.found.len() - 1;
        &mut self.found[last]
    }

    fn next_command(&mut self) {
        if *self.command() != Command::default() {
            self.found.push(Command::default());
        }
    }

    /// A redirection: of output into a file, from a file, or from a here document.
    fn redirection(&mut self) {
        let sign_end = self
            .rest
            .find(|c| !matches!(c, '<' | '>' | '|'))
            .unwrap_or(self.rest.len());
        let (sign, rest) = self.rest.split_at(sign_end);
        let rest = rest
            .strip_prefix('-')
            .filter(|_| sign == "<<")
            .unwrap_or(rest);
        // Another output, or that of a command, is no file.
        if rest.starts_with(['&', '(']) {
            self.rest = &rest[1..];
            if rest.starts_with('&') {
                drop(self.word());
            }
            return;
        }
        self.rest = rest.trim_start_matches([' ', '\t']);
        let word = self.word();
        // In a test, the sign compares.
        let compares = matches!(self.command().words.first(), Some(first) if first == "[[");
        match sign {
            "<<" => self.marks.push((word, self.found.len().saturating_sub(1))),
            _ if sign.starts_with('>') && !compares => {
                let command = self.command();
                command.appends |= sign == ">>";
                command.targets.push(word);
            }
            _ => {}
        }
    }

    /// Passes over the here documents that begin here.
    fn skip_documents(&mut self) {
        for (mark, reader) in std::mem::take(&mut self.marks) {
            let mut document = String::new();
            while !self.rest.is_empty() {
                let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
                self.rest = rest;
                if line.trim() == mark {
                    break;
                }
                document.push_str(line);
                document.push('\n');
            }
            if let Some(command) = self.found.get_mut(reader) {
                command.document = Some(document);
            }
        }
    }

    /// The next word, without quotes.
    fn word(&mut self) -> String {
        let mut word = String::new();
        while let Some(first) = self.rest.chars().next() {
            match first {
                '\'' | '"' => {
                    self.skip(1);
                    self.quoted(first, &mut word);
                }
                '\\' => {
                    self.skip(1);
                    let next = self.rest.chars().next();
                    // In a path of Windows it divides folders.
                    if next.is_some_and(char::is_alphanumeric) {
                        word.push('\\');
                    }
                    word.extend(next.filter(|next| *next != '\n'));
                    self.skip(next.map_or(0, char::len_utf8));
                }
                _ if ENDS.contains(&first) || first == ')' => break,
                _ => {
                    word.push(first);
                    self.skip(first.len_utf8());
                }
            }
        }
        word
    }

    /// The rest of a quoted text; in double quotes a backslash keeps the next character.
    fn quoted(&mut self, quote: char, word: &mut String) {
        while let Some(first) = self.rest.chars().next() {
            self.skip(first.len_utf8());
            match first {
                _ if first == quote => return,
                '\\' if quote == '"' => {
                    let next = self.rest.chars().next();
                    let is_special = matches!(next, Some('"' | '\\' | '$' | '`'));
                    if !is_special {
                        word.push('\\');
                    }
                    word.extend(next);
                    self.skip(next.map_or(0, char::len_utf8));
                }
                '$' if quote == '"' && self.rest.starts_with('(') => {
                    word.push('$');
                    self.inner_document(word);
                }
                _ => word.push(first),
            }
        }
    }

    /// Takes the here document of a command in quotes, as in `"$(cat <<EOF`.
    fn inner_document(&mut self, word: &mut String) {
        let line = self.rest.lines().next().unwrap_or_default();
        let after = line.split_once("<<").filter(|_| !self.has_open_document);
        let Some((_, after)) = after else {
            return;
        };
        let mark = after.trim_matches(['-', ' ', '\'', '"']);
        let mut at = 0;
        for line in self.rest.split_inclusive('\n') {
            at += line.len();
            if at > line.len() && line.trim() == mark {
                word.push_str(&self.rest[..at]);
                return self.skip(at);
            }
        }
        self.has_open_document = true;
    }
}

/// The files that a script touches.
pub(super) fn touches(script: &str) -> Vec<FileTouch> {
    let mut found = Vec::new();
    // Where the script has gone with `cd`.
    let mut folder = String::new();
    for command in commands(script) {
        let mut touch = |path: &str, usage: FileUse| {
            let path = home_as_tilde(path);
            if is_path(&path) {
                found.push(FileTouch::new(&joined(&folder, &path), usage));
            }
        };
        for target in &command.targets {
            touch(target, FileUse::Write);
        }
        let words = program(&command.words);
        let name = words.first().map_or("", |name| name.as_str());
        let name = file_name(name);
        match (name, words.get(1..).unwrap_or_default()) {
            ("cd", [to, ..]) if folder.len() + to.len() < LONGEST_PATH => {
                folder = joined(&folder, &home_as_tilde(to));
            }
            ("tee", rest) => operands(rest, &[]).for_each(|path| touch(path, FileUse::Write)),
            ("rm" | "unlink" | "trash", rest) => {
                operands(rest, &[]).for_each(|path| touch(path, FileUse::Delete));
            }
            ("truncate", rest) => {
                let valued = ["-s", "--size", "-r", "--reference"];
                operands(rest, &valued).for_each(|path| touch(path, FileUse::Write));
            }
            ("cat" | "head" | "tail" | "less" | "bat" | "nl", rest) => {
                let valued = ["-n", "-c", "--lines", "--bytes"];
                let is_line = |path: &&str| !path.starts_with('+');
                let files = operands(rest, &valued).filter(is_line);
                files.for_each(|path| touch(path, FileUse::Read));
            }
            ("mv" | "cp", rest) => moved(name, &operands(rest, &[]).collect::<Vec<_>>(), touch),
            ("sed" | "perl", rest) if is_in_place(rest) => {
                scripted(rest).for_each(|path| touch(path, FileUse::Write));
            }
            ("sed", rest) => scripted(rest).for_each(|path| touch(path, FileUse::Read)),
            ("git", rest) => match rest {
                [verb, rest @ ..] if verb == "rm" => {
                    operands(rest, &[]).for_each(|path| touch(path, FileUse::Delete));
                }
                [verb, rest @ ..] if verb == "mv" => {
                    moved("mv", &operands(rest, &[]).collect::<Vec<_>>(), touch);
                }
                _ => {}
            },
            _ => {}
        }
    }
    found
}

/// How deep scripts in the words of a command are looked into.
const DEEPEST: usize = 3;

/// The single commands of a script, each as its words from the program on. Those of a script that a
/// shell is given, and of a program that starts another, are among them.
pub(super) fn programs(script: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    add_programs(script, DEEPEST, &mut found);
    found
}

fn add_programs(script: &str, depth: usize, found: &mut Vec<Vec<String>>) {
    for command in commands(script) {
        let mut words = program(&command.words);
        // What these start stands after their options and, of one, after the time.
        while let [first, rest @ ..] = words
            && matches!(
                first.as_str(),
                "env" | "nohup" | "timeout" | "xargs" | "nice"
            )
        {
            let is_own = |word: &String| {
                word.starts_with('-') || word.starts_with(|c: char| c.is_ascii_digit())
            };
            let start = rest.iter().position(|word| !is_own(word));
            words = program(&rest[start.unwrap_or(rest.len())..]);
        }
        let Some((name, rest)) = words.split_first() else {
            continue;
        };
        let is_shell = matches!(file_name(name), "sh" | "bash" | "zsh" | "eval");
        let option = |word: &String| word.starts_with('-') && word.ends_with('c');
        let script = match rest.iter().position(option) {
            Some(at) => rest.get(at + 1),
            None => rest.first().filter(|_| name == "eval"),
        };
        match script.filter(|_| is_shell && depth > 0) {
            Some(script) => add_programs(script, depth - 1, found),
            None => found.push(words.to_vec()),
        }
    }
}

/// The words of a command from its program on.
fn program(words: &[String]) -> &[String] {
    let is_before = |word: &String| {
        let name = word.split('=').next().unwrap_or_default();
        let is_variable =
            word.contains('=') && name.chars().all(|c| c.is_alphanumeric() || c == '_');
        is_variable
            || matches!(
                word.as_str(),
                "sudo" | "command" | "exec" | "time" | "then" | "do" | "else" | "if" | "!" | "{"
            )
    };
    let start = words.iter().position(|word| !is_before(word));
    words
        .get(start.unwrap_or(words.len())..)
        .unwrap_or_default()
}

/// The arguments that are no options; the `valued` options have a value in the next word.
fn operands<'a>(rest: &'a [String], valued: &'a [&str]) -> impl Iterator<Item = &'a str> {
    let mut is_value = false;
    let mut is_file = move |word: &&str| {
        let was_value = std::mem::replace(&mut is_value, valued.contains(word));
        !was_value && !word.starts_with('-')
    };
    rest.iter()
        .map(String::as_str)
        .filter(move |word| is_file(word))
}

/// What moving or copying does to the first files and to the last one, or to files in it.
fn moved(name: &str, files: &[&str], mut touch: impl FnMut(&str, FileUse)) {
    let [from @ .., to] = files else { return };
    if to.len() > LONGEST_PATH {
        return;
    }
    let is_folder = from.len() > 1 || to.ends_with('/') || matches!(*to, "." | "..");
    for path in from {
        match name {
            "mv" => touch(path, FileUse::Delete),
            _ => touch(path, FileUse::Read),
        }
        if is_folder {
            let file = file_name(path);
            touch(&joined(to, file), FileUse::Write);
        }
    }
    if !is_folder && !from.is_empty() {
        touch(to, FileUse::Write);
    }
}

/// Whether `sed` or `perl` writes the files that it reads.
fn is_in_place(rest: &[String]) -> bool {
    let marks = ["-i", "--in-place", "-pi"];
    rest.iter()
        .any(|word| marks.iter().any(|mark| word.starts_with(mark)))
}

/// The files that `sed` or `perl` is given beside its script.
fn scripted(rest: &[String]) -> impl Iterator<Item = &str> {
    let is_script = |word: &String| matches!(word.as_str(), "-e" | "-f" | "-pie" | "-ie");
    let has_script = rest.iter().any(is_script);
    let files = operands(rest, &["-e", "-f", "-pie", "-ie"]);
    // BSD's `-i` has the ending of copies in the next word, mostly an empty one.
    let files = files.filter(|word| !word.is_empty());
    files.skip(usize::from(!has_script))
}

/// No path of a file is longer, so that many files in one folder stay linear in the script.
pub(super) const LONGEST_PATH: usize = 4096;

/// A path in a folder.
pub(super) fn joined(folder: &str, path: &str) -> String {
    match folder.trim_end_matches('/') {
        _ if path.starts_with(['/', '~']) => path.to_owned(),
        "" if folder.is_empty() => path.to_owned(),
        folder => format!("{folder}/{path}"),
    }
}

/// The words of `git` from its subcommand on. Options before it may have a value.
fn subcommand(mut rest: &[String]) -> &[String] {
    while let [first, others @ ..] = rest
        && first.starts_with('-')
    {
        let has_value = matches!(first.as_str(), "-C" | "-c") && !others.is_empty();
        rest = &others[usize::from(has_value)..];
    }
    rest
}

/// The paths that a script adds to the next commit.
pub(super) fn staged(script: &str) -> Vec<String> {
    let mut found = Vec::new();
    for command in commands(script) {
        if let [name, rest @ ..] = program(&command.words)
            && name == "git"
            && let [verb, paths @ ..] = subcommand(rest)
            && verb == "add"
        {
            let paths = operands(paths, &[]).filter(|path| is_path(path));
            found.extend(paths.map(str::to_owned));
        }
    }
    found
}

/// What a script does to the commits of a repository, in order. A repository or a folder that it made
/// itself to try something does not count, and neither does going back when a branch keeps what was.
pub(super) fn commit_acts(script: &str) -> Vec<CommitAct> {
    let mut found = Vec::new();
    let mut is_kept = false;
    if script.contains("mktemp") {
        return found;
    }
    for command in commands(script) {
        let document = command.document.as_deref();
        match program(&command.words) {
            [name, rest @ ..] if name == "git" => match subcommand(rest) {
                [verb, ..] if verb == "init" => return Vec::new(),
                [verb, rest @ ..] if verb == "commit" => {
                    let subject = message(rest, document);
                    found.push(if rest.iter().any(|word| word == "--amend") {
                        CommitAct::Amend(subject)
                    } else {
                        CommitAct::Commit(subject)
                    });
                }
                [verb, name, ..] if verb == "branch" && !name.starts_with('-') => is_kept = true,
                [verb, ..] if verb == "reset" && is_kept => {}
                [verb, rest @ ..] if verb == "reset" => {
                    let target = operands(rest, &[]).next();
                    let is_soft = rest.iter().any(|word| word == "--soft");
                    let act = target.and_then(|target| match steps_back(target) {
                        Some(steps) => Some(CommitAct::Drop(steps)),
                        None => is_soft.then(|| CommitAct::Squash(target.to_owned())),
                    });
                    found.extend(act);
                }
                [verb, rest @ ..] if verb == "rebase" => {
                    let out = value(rest, &["--onto"]).and_then(|onto| {
                        let mut others = operands(rest, &[]).filter(|word| *word != onto);
                        others.next().map(str::to_owned)
                    });
                    found.extend(out.map(CommitAct::Without));
                }
                [verb, ..] if matches!(verb.as_str(), "revert" | "merge" | "cherry-pick") => {
                    found.push(CommitAct::Commit(None));
                }
                _ => {}
            },
            [name, pr, verb, rest @ ..] if name == "gh" && pr == "pr" && verb == "create" => {
                let title = value(rest, &["--title", "-t"]);
                found.extend(title.and_then(subject).map(CommitAct::Request));
            }
            _ => {}
        }
    }
    found
}

/// The subject of the message that `git commit` is given.
fn message(rest: &[String], document: Option<&str>) -> Option<String> {
    let is_short = |word: &&String| {
        let letters = word.strip_prefix('-').unwrap_or_default();
        !letters.starts_with('-') && letters.ends_with('m')
    };
    let at = rest.iter().position(|word| is_short(&word));
    let given = at.and_then(|at| rest.get(at + 1)).map(String::as_str);
    let given = given.or_else(|| value(rest, &["--message"]));
    match (given, value(rest, &["-F", "--file"])) {
        (Some(given), _) => subject(given),
        (None, Some("-" | "/dev/stdin")) => subject(document?),
        (None, _) => None,
    }
}

/// The value of an option: in the next word, or behind `=`.
fn value<'a>(rest: &'a [String], names: &[&str]) -> Option<&'a str> {
    rest.iter()
        .zip(1..)
        .find_map(|(word, next)| match word.split_once('=') {
            _ if names.contains(&word.as_str()) => rest.get(next).map(String::as_str),
            Some((name, value)) if names.contains(&name) => Some(value),
            _ => None,
        })
}

/// The first line of a message, which may be in a here document or in a block of PowerShell.
/// `None` if a variable has it.
fn subject(message: &str) -> Option<String> {
    let mut lines = message.trim_start_matches('@').lines().map(str::trim);
    let mut first = lines.find(|line| !line.is_empty())?;
    if first.starts_with("$(cat") {
        first = lines.find(|line| !line.is_empty())?;
    }
    (!first.starts_with('$')).then(|| first.to_owned())
}

/// How many commits `git reset` goes back from the last one.
fn steps_back(target: &str) -> Option<usize> {
    let rest = target.strip_prefix("HEAD")?;
    match rest.strip_prefix('~') {
        Some("") => Some(1),
        Some(number) => number.parse().ok(),
        None if rest.bytes().all(|byte| byte == b'^') => Some(rest.len()),
        None => None,
    }
    .filter(|steps| *steps > 0)
}

/// A path with `~` for the home directory, where it was written as a variable.
pub fn home_as_tilde(path: &str) -> Cow<'_, str> {
    let below = path.strip_prefix("$HOME");
    let below = below.or_else(|| path.strip_prefix("${HOME}"));
    let below = below.filter(|below| below.is_empty() || below.starts_with('/'));
    below.map_or(Cow::Borrowed(path), |below| format!("~{below}").into())
}

/// Whether a word of a command is the path of a file, as far as it can be known here.
fn is_path(word: &str) -> bool {
    !word.is_empty()
        && !word.starts_with(['-', '<', '&'])
        && (!word.starts_with("/dev/") || word.starts_with("/dev/shm/"))
        && !word.contains(['*', '`', '\n', '$'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(script: &str) -> Vec<Vec<String>> {
        let commands = commands(script).into_iter();
        commands.map(|command| command.words).collect()
    }

    #[test]
    fn a_script_is_divided_as_the_shell_does() {
        assert_eq!(
            words("a 'b c' \"d \\\"e\\\"\" f\\ g"),
            [["a", "b c", "d \"e\"", "f g"]]
        );
        assert_eq!(
            words("a; b && c || d | e\nf & (g)"),
            [["a"], ["b"], ["c"], ["d"], ["e"], ["f"], ["g"]]
        );
        assert_eq!(
            words("cat <<'EOF' | b\nrm x\nEOF\nc"),
            [["cat"], ["b"], ["c"]]
        );
        assert_eq!(words("a <<< 'word' # and no more\nb"), [["a"], ["b"]]);
    }

    #[test]
    fn a_command_in_another_is_one_and_one_in_a_text_is_none() {
        for (script, wanted) in [
            ("cd x && git push -f", &["cd x", "git push -f"][..]),
            ("bash -lc 'cd y; sudo rm -rf z'", &["cd y", "rm -rf z"]),
            ("A=1 env B=2 timeout 60 npm i", &["npm i"]),
            (
                "if ! git push; then npm ci; fi",
                &["git push", "npm ci", "fi"],
            ),
            ("find . | xargs -n 1 rm", &["find .", "rm"]),
            (
                "git commit -m 'never git push -f'",
                &["git commit -m never git push -f"],
            ),
            ("cat <<EOF > a\ngit push -f\nEOF", &["cat"]),
            ("(git push -f)", &["git push -f"]),
        ] {
            let found = programs(script).into_iter();
            let found: Vec<String> = found.map(|words| words.join(" ")).collect();
            assert_eq!(found, wanted, "{script}");
        }
    }

    #[test]
    fn what_only_looks_like_a_file_is_none() {
        use FileUse::{Delete, Read, Write};
        let table: &[(&str, &[(&str, FileUse)])] = &[
            ("echo 'a > b.md' | grep \">\" c", &[]),
            ("[[ a > b ]] && x 2>&1 >&2 2>/dev/null", &[]),
            (
                "x 2> err.txt &> all.txt",
                &[("err.txt", Write), ("all.txt", Write)],
            ),
            (
                "head -n 40 a.md; tail -n +2 b.md",
                &[("a.md", Read), ("b.md", Read)],
            ),
            ("rm \"$TMP/a.md\" *.bak b.md", &[("b.md", Delete)]),
            (
                "sed -i '' 's|a; b|c.d|' x.go y.go",
                &[("x.go", Write), ("y.go", Write)],
            ),
            ("sed -i -e s/a/b/ -e s/c/d/ x", &[("x", Write)]),
            ("sed -n '1,140p' AGENTS.md", &[("AGENTS.md", Read)]),
            ("nl -ba a.md | sed -n 5p", &[("a.md", Read)]),
            ("perl -pi -e 's/a/b/' x.md", &[("x.md", Write)]),
            (
                "cd sub && echo x > a.md && cd .. && cat b.md",
                &[("sub/a.md", Write), ("sub/../b.md", Read)],
            ),
            (
                "mv a.md b.md old/",
                &[
                    ("a.md", Delete),
                    ("old/a.md", Write),
                    ("b.md", Delete),
                    ("old/b.md", Write),
                ],
            ),
            (
                "cp my\\ file.png assets/x.png",
                &[("my file.png", Read), ("assets/x.png", Write)],
            ),
            (
                "git rm a.md && git mv b.md c.md",
                &[("a.md", Delete), ("b.md", Delete), ("c.md", Write)],
            ),
            (
                "cp a.md b.md 2>&1 | tee log.md",
                &[("a.md", Read), ("b.md", Write), ("log.md", Write)],
            ),
            (
                "git commit -m \"$(cat <<'EOF'\nwhy \"a\" > b\nrm it\nEOF\n)\" && rm c.md",
                &[("c.md", Delete)],
            ),
            ("A=1 sudo rm /etc/a.md", &[("/etc/a.md", Delete)]),
        ];
        for (script, wanted) in table {
            let found = touches(script);
            let found: Vec<(&str, FileUse)> = found
                .iter()
                .map(|touch| (touch.path.as_str(), touch.usage))
                .collect();
            assert_eq!(found, *wanted, "{script}");
        }
    }
}
