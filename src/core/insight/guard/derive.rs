//! Which checks the words of a memory are: what stands in code behind a negation, and a few things
//! that are forbidden in plain words.
//!
//! A sentence is read from left to right: a negation forbids what follows until a word says what to
//! do instead. Where this finds nothing, the person says what to look for.

use std::sync::LazyLock;

use regex::Regex;

use super::check::Check;
use crate::core::insight::act::{self, file_name};

fn pattern(written: &str) -> Regex {
    act::pattern(written).expect("a valid pattern")
}

/// Words that forbid what follows.
static NEGATION: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:never|(?:do|must|should|may|can|shall|need) ?not|(?:don|mustn|shouldn|can|won)['’]?t|cannot|avoid|no|instead of|rather than|stop|forbid(?:s|den)?|refrain|nie|niemals|nicht|keine?|statt|jamais|ne|nunca|não|evita|evite)\b|[,(] ?not\b|никогда|(?:^|\s)не\s|нельзя|不要|禁止|切勿|请勿|しない|금지",
    )
});

/// Words that end it.
static TURN: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)[.!?](?:\s|$)|[;—–→]|\b(?:but|instead(?: use)?|unless|except|without|until|before|sondern|mais|sino)\b|[,:(]\s*(?:use|run|prefer|always|call|only)\b",
    )
});

/// Words behind code that forbid it.
static AFTER: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)^\s*(?:(?:is|are|ist|est)\s+)?(?:strictly |explicitly |always )?(?:forbidden|banned|prohibited|disallowed|off[- ]limits|not (?:allowed|permitted|ok)|never (?:allowed|ok|used?|to be)|verboten|interdit)",
    )
});

static READS: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)\b(?:read|open|print|show|cat|look (?:at|into))\b"));
static TOUCHES: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:edit|modif(?:y|ies)|change|touch|write|delete|remove|update|overwrite|alter|hand-edit)\w*\b",
    )
});
static COMMITS: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)\b(?:commit|stage|check in)(?:s|t?ed|t?ing)?\b"));
static ADDS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"(?i)\b(?:install|depend|dependenc(?:y|ies)|package|librar(?:y|ies)|crate)\w*\b")
});

static USES: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"(?i)\b(?:us(?:e|es|ing)|call|write|add|import|leave|put|have|introduce|allow|rely)\b")
});
/// The name of a line at the end of a commit's message.
static TRAILER: LazyLock<Regex> = LazyLock::new(|| pattern(r"^[A-Z][a-z]+(?:-[A-Za-z]+)+:?$"));

/// What is forbidden in plain words.
static PHRASES: LazyLock<[(Regex, Check); 5]> = LazyLock::new(|| {
    let command = |text: &str| Check::Command(text.to_owned());
    [
        (
            pattern(r"(?i)\bforce[- ]?push"),
            command("git push --force*"),
        ),
        (
            pattern(r"(?i)\bpush\w*(?: directly| straight)? to `?main\b"),
            command("git push * main"),
        ),
        (
            pattern(r"(?i)\bpush\w*(?: directly| straight)? to `?master\b"),
            command("git push * master"),
        ),
        (pattern(r"(?i)\bamend"), command("git commit --amend")),
        (
            pattern(r"(?i)\b(?:skip|bypass)\w* (?:the )?(?:git |commit |pre-commit )*hooks"),
            command("* --no-verify"),
        ),
    ]
});

/// Programs by which a code span is known to be a command.
#[rustfmt::skip] // Words beside each other.
const PROGRAMS: [&str; 50] = [
    "git", "gh", "npm", "npx", "pnpm", "yarn", "bun", "bunx", "node", "deno", "cargo", "rustup",
    "go", "pip", "pip3", "python", "python3", "uv", "poetry", "conda", "docker", "docker-compose",
    "podman", "kubectl", "helm", "terraform", "make", "cmake", "just", "task", "mise", "rm", "mv",
    "sudo", "curl", "wget", "brew", "apt", "apt-get", "gradle", "mvn", "dotnet", "rails", "rake",
    "bundle", "psql", "aws", "gcloud", "sed", "chmod",
];

/// The rules that a line of a memory is, in their order.
pub fn forbidden(line: &str) -> Vec<Check> {
    let mut found: Vec<Check> = Vec::new();
    let mut add = |check: Option<Check>| {
        if let Some(check) = check.filter(|check| !found.contains(check)) {
            found.push(check);
        }
    };
    // Code stands at the odd places.
    let parts: Vec<&str> = line.split('`').collect();
    let (mut is_forbidden, mut is_aside, mut said) = (false, false, String::new());
    for (at, part) in parts.iter().enumerate() {
        if at % 2 == 1 {
            let after = parts.get(at + 1).copied().unwrap_or_default();
            // An option in a parenthesis or behind a comma is said of one case, not forbidden for all.
            let is_one_case = is_aside && part.starts_with('-');
            if is_forbidden && !is_one_case || AFTER.is_match(after) {
                add(check_of(part.trim(), &said));
            }
            continue;
        }
        let mut rest = *part;
        while !rest.is_empty() {
            let (cue, is_next) = match (NEGATION.find(rest), TURN.find(rest)) {
                (Some(no), Some(turn)) if turn.start() < no.start() => (turn, false),
                (Some(no), _) => (no, true),
                (None, Some(turn)) => (turn, false),
                (None, None) => break,
            };
            if is_forbidden {
                plain(&rest[..cue.start()], &mut add);
            }
            (is_forbidden, said) = (is_next, String::new());
            is_aside = cue.as_str().starts_with([',', '(']);
            rest = &rest[cue.end()..];
        }
        if is_forbidden {
            plain(rest, &mut add);
        }
        said.push_str(rest);
    }
    found
}

/// What plain words behind a negation forbid.
fn plain(text: &str, add: &mut impl FnMut(Option<Check>)) {
    let mut left = text.to_owned();
    for (phrase, check) in PHRASES.iter() {
        if phrase.is_match(&left) {
            add(Some(check.clone()));
            // To force-push to main is not to push to main.
            left = phrase.replace_all(&left, "").into_owned();
        }
    }
    // The name of a package manager alone: use pnpm, not npm.
    let word = text.trim().trim_end_matches(['.', ',', ')']);
    let word = word.strip_prefix("use ").unwrap_or(word);
    let is_program = matches!(word, "npm" | "yarn" | "pnpm" | "pip" | "bun" | "poetry");
    add(is_program.then(|| Check::Command(word.to_owned())));
}

/// The check of a code span, by what it looks like and what is said before it.
fn check_of(code: &str, said: &str) -> Option<Check> {
    let first = code.split_whitespace().next()?;
    let is_word = !code.contains(char::is_whitespace);
    let command = |text: String| Some(Check::Command(text));
    if PROGRAMS.contains(&first) {
        return command(code.to_owned());
    }
    if first.starts_with("--") {
        return command(format!("* {first}"));
    }
    if is_word && is_path(code) {
        let glob = code.to_owned();
        return if COMMITS.is_match(said) {
            command(format!("git add *{}", file_name(code)))
        } else if READS.is_match(said) {
            Some(Check::Read(glob))
        } else if TOUCHES.is_match(said) {
            Some(Check::Path(glob))
        } else {
            None
        };
    }
    if is_word && ADDS.is_match(said) {
        return Some(Check::Package(code.to_owned()));
    }
    if TRAILER.is_match(code) {
        return command(format!("git commit *{code}*"));
    }
    // What is not to be used, and not what is not to be published or shown. A text that is no code
    // would be met anywhere.
    let is_used = USES.is_match(said) || !said.contains(|c: char| c.is_ascii_alphabetic());
    let is_code = code.contains(|c: char| "()._:!<>[]{}=@#".contains(c))
        || code.contains(|c: char| c.is_ascii_uppercase()) && code.len() > 2;
    let edge = |c: Option<char>| match c {
        Some(c) if c.is_alphanumeric() || c == '_' => r"\b",
        _ => "",
    };
    let (start, end) = (edge(code.chars().next()), edge(code.chars().last()));
    (is_code && is_used).then(|| Check::Edit(format!("{start}{}{end}", regex::escape(code))))
}

/// Whether code is the name of a file or a folder.
fn is_path(code: &str) -> bool {
    let name = file_name(code.trim_end_matches('/'));
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let has_ending = !ending.is_empty()
        && ending.len() <= 5
        && ending
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        && !code.contains('(');
    let is_file = has_ending && (code.contains('/') || is_known_ending(ending));
    is_file
        || code.starts_with("~/")
        || code.starts_with("$HOME/")
        || code.ends_with('/')
        || code.contains("/**")
        || code.starts_with(".env")
}

fn is_known_ending(ending: &str) -> bool {
    matches!(
        ending,
        "rs" | "go"
            | "py"
            | "js"
            | "ts"
            | "tsx"
            | "jsx"
            | "md"
            | "json"
            | "toml"
            | "yaml"
            | "yml"
            | "lock"
            | "sql"
            | "sh"
            | "env"
            | "txt"
            | "css"
            | "html"
            | "mod"
            | "sum"
            | "xml"
            | "proto"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_memory_forbids_is_a_rule_and_what_it_asks_for_is_none() {
        for (line, wanted) in [
            (
                "Never force-push to main.",
                &["command git push --force*"][..],
            ),
            (
                "- **Never** run `git push --force`; use `git push --force-with-lease`.",
                &["command git push --force"],
            ),
            ("Use pnpm, not npm.", &["command npm"]),
            (
                "Use `pnpm`, never `npm` or `yarn`.",
                &["command npm", "command yarn"],
            ),
            ("Use `pnpm` instead of `npm`", &["command npm"]),
            ("Don't use `npm`, use `pnpm`", &["command npm"]),
            (
                "NEVER skip hooks (`--no-verify`)",
                &["command * --no-verify"],
            ),
            ("Do not edit `dist/` by hand", &["path dist/"]),
            (
                "Don't edit files in `src/gen/**`: run `make gen` instead",
                &["path src/gen/**"],
            ),
            ("Never commit `.env`", &["command git add *.env"]),
            ("Do not read `.env` files", &["read .env"]),
            (
                "No new dependencies: do not install `lodash`",
                &["package lodash"],
            ),
            (
                "Never use `unwrap()` outside tests",
                &[r"edit \bunwrap\(\)"],
            ),
            (
                "No `console.log` in production code",
                &[r"edit \bconsole\.log\b"],
            ),
            ("`git add -A` is forbidden", &["command git add -A"]),
            (
                "Never push to main without asking",
                &["command git push * main"],
            ),
            ("Never commit without running `make lint`", &[]),
            ("Always run `cargo fmt` before you commit", &[]),
            ("Run `npm test`. It is not slow", &[]),
            ("Tests live in `tests/`", &[]),
            ("Never be rude", &[]),
            (
                "NEVER add `Co-Authored-By:` trailers",
                &["command git commit *Co-Authored-By:*"],
            ),
            (
                "Do not read or edit `~/.ssh/config`",
                &["read ~/.ssh/config"],
            ),
            ("Run it for real (not `--dry-run`)", &[]),
            ("never publish `node_modules`", &[]),
            (
                "Always use the root (not `os.Getwd()`) for paths.",
                &[r"edit \bos\.Getwd\(\)"],
            ),
            (
                "Niemals `git push --force` benutzen",
                &["command git push --force"],
            ),
            ("不要使用 `npm`", &["command npm"]),
        ] {
            let found: Vec<String> = forbidden(line).iter().map(ToString::to_string).collect();
            assert_eq!(found, wanted, "{line}");
        }
    }
}
