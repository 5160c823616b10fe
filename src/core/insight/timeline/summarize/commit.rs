//! The subjects of the commits and pull requests that a session's own calls make.

use std::sync::LazyLock;

use regex::Regex;

/// `git … commit`, up to the end of a plain command.
static COMMIT: LazyLock<Regex> = LazyLock::new(|| pattern(r"\bgit\b[^\n|;&]*?\bcommit\b"));

/// The first line of the message that follows: in a here document, in quotes or bare.
static MESSAGE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"(?x)^[^\n|;&]*?\ (?:-[a-zA-Z]*m|--message)[=\ ]?\s*
        (?:"\$\(cat\ <<-?\s*\\?['"]?\w+['"]?\s*\n\s*(?P<document>[^\n]+)
          |@['"]\s*\n(?P<block>[^\n]+)
          |\$?"(?P<double>[^"\n]+)
          |\$?'(?P<single>[^'\n]+)
          |(?P<bare>[^\s"']+))"#,
    )
});

/// A message from standard input, in a here document.
static FROM_INPUT: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"^[^\n]*?-F\s*-\s*<<-?\s*['"]?\w+['"]?\s*\n\s*([^\n]+)"#));

/// A pull request with its title.
static PULL_REQUEST: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"\bgh pr (?:create|edit|merge)\b[^\n]*?(?:--title|-t|--subject)[= ]\s*(?:"([^"\n]+)|'([^'\n]+))"#,
    )
});

/// The kind of a change before its subject, such as `fix(api)!: `.
static CHANGE_KIND: LazyLock<Regex> = LazyLock::new(|| pattern(r"^[a-z]+(?:\([^)]*\))?!?:\s+"));

/// Compiles a pattern of this module; a pattern that is wrong fails the tests.
fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a valid pattern")
}

/// Returns the subjects in the input of a call, in order.
pub(super) fn subjects(input: &str) -> Vec<&str> {
    if !input.contains("commit") && !input.contains("gh pr") {
        return Vec::new();
    }
    let mut found = Vec::new();
    for commit in COMMIT.find_iter(input) {
        let rest = &input[commit.end()..];
        let message = MESSAGE.captures(rest).and_then(|message| {
            let forms = ["document", "block", "double", "single", "bare"];
            forms.iter().find_map(|form| message.name(form))
        });
        let message =
            message.or_else(|| FROM_INPUT.captures(rest).and_then(|message| message.get(1)));
        found.extend(message.map(|message| message.as_str().trim()));
    }
    for request in PULL_REQUEST.captures_iter(input) {
        let title = request.get(1).or_else(|| request.get(2));
        found.extend(title.map(|title| title.as_str().trim()));
    }
    found.retain(|subject| is_subject(subject));
    found
}

/// Whether it tells what was changed. Sessions also make commits in repositories of tests.
fn is_subject(subject: &str) -> bool {
    const EMPTY: [&str; 7] = [
        "initial", "init", "first", "second", "commit", "wip", "test",
    ];
    let words = subject.split_whitespace();
    let telling = words.filter(|word| !EMPTY.contains(&word.to_lowercase().as_str()));
    let is_draft = subject
        .get(..3)
        .is_some_and(|start| start.eq_ignore_ascii_case("wip"));
    telling.count() >= 2 && !is_draft && !subject.starts_with('$')
}

/// Returns a subject without the kind of the change before it.
pub(super) fn without_kind(subject: &str) -> &str {
    match CHANGE_KIND.find(subject) {
        Some(kind) => &subject[kind.end()..],
        None => subject,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_subjects_of_commits_and_pull_requests_are_found() {
        let table: &[(&str, &[&str])] = &[
            (
                "command: git commit -m \"fix: keep the lock\"",
                &["fix: keep the lock"],
            ),
            (
                "cmd: git add -A && git commit -am 'Add a retry'\nworkdir: /w",
                &["Add a retry"],
            ),
            (
                "command: git commit -m \"$(cat <<'EOF'\nAdd a cache\n\nIt is small.\nEOF\n)\"",
                &["Add a cache"],
            ),
            (
                "command: git -C a/b commit --message=\"Move the parser\"",
                &["Move the parser"],
            ),
            (
                "command: git commit -F - <<EOF\nMove the parser\nEOF",
                &["Move the parser"],
            ),
            (
                "command: git commit -m @'\nMove the parser\n'@",
                &["Move the parser"],
            ),
            (
                "command: git commit -m \"Add one thing\"; git commit -m \"Add another\"",
                &["Add one thing", "Add another"],
            ),
            (
                "command: gh pr create --title \"feat: a cache\" --body x",
                &["feat: a cache"],
            ),
            ("command: git commit --amend --no-edit", &[]),
            ("command: git commit -m \"initial commit\"", &[]),
            ("command: git commit -m \"$MESSAGE and more\"", &[]),
            ("command: git commit -m \"wip: half of the parser\"", &[]),
            ("command: git log | grep commit", &[]),
            ("command: ls", &[]),
        ];
        for (input, wanted) in table {
            assert_eq!(subjects(input), *wanted, "{input}");
        }
    }

    #[test]
    fn the_kind_of_a_change_is_no_part_of_what_it_does() {
        assert_eq!(without_kind("fix(api)!: keep it"), "keep it");
        assert_eq!(without_kind("Add: x"), "Add: x");
        assert_eq!(without_kind("keep it"), "keep it");
    }
}
