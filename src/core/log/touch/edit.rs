//! What a call that writes a file does to its text.

use super::{argument, is_shell, patch_in, plain_name, shell, shell_input};
use crate::core::text::file_name;

/// What a call does to the text of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextEdit {
    /// The text is this from now on.
    Whole(String),
    /// Texts in it are replaced, one after the other.
    Replaced(Vec<ReplacedText>),
    /// A text is put behind this many lines, or at the end.
    Added(Option<usize>, String),
    /// The call does not tell it.
    Unknown,
}

/// A text that is replaced by another.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReplacedText {
    /// The text that was there.
    pub old: String,
    /// The text that stands there now.
    pub new: String,
    /// Whether this is done wherever the old text is.
    pub is_everywhere: bool,
}

/// The arguments with a whole text.
const WHOLE: [&str; 5] = ["content", "contents", "file_text", "CodeContent", "entry"];
/// The arguments with a text that is replaced.
const OLD: [&str; 6] = [
    "old_string",
    "old_str",
    "oldString",
    "oldText",
    "old_text",
    "old",
];
/// The arguments with the text that replaces it.
const NEW: [&str; 8] = [
    "new_string",
    "new_str",
    "newString",
    "newText",
    "new_text",
    "new",
    "insert_text",
    "new_source",
];
/// Stands between the items of a list.
const ITEM: &str = "-";
/// The arguments with a patch.
const PATCH: [&str; 3] = ["diff", "patch", "input"];
/// The arguments that end a text before them.
const OTHERS: [&str; 22] = [
    "file_path",
    "filePath",
    "absolute_path",
    "path",
    "filename",
    "target_file",
    "TargetFile",
    "command",
    "replace_all",
    "replaceAll",
    "allow_multiple",
    "expected_replacements",
    "expected_revision",
    "insert_line",
    "view_range",
    "instruction",
    "instructions",
    "explanation",
    "summary",
    "edits",
    "patches",
    "task_progress",
];

/// What a call of `tool` with this input does to the text of the file that it names `path`.
pub fn text_edit(tool: &str, input: &str, path: &str) -> TextEdit {
    if let Some(patch) = patch_in(input) {
        return of_patch(&patch, path);
    }
    let name = plain_name(tool);
    if is_shell(&name) {
        return of_script(&shell_input(input), path);
    }
    let arguments = arguments(input);
    let value = |names: &[&str]| {
        let mut named = arguments.iter().filter(|(name, _)| names.contains(name));
        named.next().map(|(_, value)| value.as_str())
    };
    let command = argument(input, &["command"]);
    if command == Some("insert") || name == "insert" || name == "memory_append" {
        let line = value(&["insert_line"]).and_then(|line| line.trim().parse().ok());
        return match value(&NEW).or(value(&WHOLE)) {
            Some(text) => TextEdit::Added(line, text.to_owned()),
            None => TextEdit::Unknown,
        };
    }
    if let Some(diff) = value(&PATCH) {
        let blocks = search_blocks(diff);
        return TextEdit::Replaced(if blocks.is_empty() {
            hunks(diff.lines())
        } else {
            blocks
        });
    }
    // Of a list, each item has its own.
    let items = arguments.split(|(name, _)| *name == ITEM);
    let mut replaced: Vec<ReplacedText> = items.filter_map(replaced_text).collect();
    match value(&WHOLE) {
        // An empty old text makes a new file.
        _ if matches!(replaced.as_slice(), [one] if one.old.is_empty()) => {
            TextEdit::Whole(replaced.remove(0).new)
        }
        _ if !replaced.is_empty() => TextEdit::Replaced(replaced),
        Some(text) => TextEdit::Whole(text.to_owned()),
        None => TextEdit::Unknown,
    }
}

/// The text that some arguments replace.
fn replaced_text(arguments: &[(&str, String)]) -> Option<ReplacedText> {
    const EVERYWHERE: [&str; 3] = ["replace_all", "replaceAll", "allow_multiple"];
    let value = |names: &[&str]| {
        let mut named = arguments.iter().filter(|(name, _)| names.contains(name));
        named.next().map(|(_, value)| value.clone())
    };
    Some(ReplacedText {
        old: value(&OLD)?,
        new: value(&NEW).unwrap_or_default(),
        is_everywhere: value(&EVERYWHERE).is_some_and(|value| value == "true"),
    })
}

/// The arguments of a call, with all lines of their values. Those in a list are indented. A line of a
/// text may look like an argument: one that was already given, or belongs to another kind of call,
/// is none.
fn arguments(input: &str) -> Vec<(&'static str, String)> {
    let all = [&WHOLE[..], &OLD, &NEW, &PATCH, &OTHERS];
    let mut found: Vec<(&'static str, String)> = Vec::new();
    let mut is_listed = false;
    let has = |found: &[(&str, String)], names: &[&str]| {
        found.iter().any(|(name, _)| names.contains(name))
    };
    let mut lines = input.lines().peekable();
    while let Some(line) = lines.next() {
        let inner = line.strip_prefix("    ").filter(|_| is_listed);
        let start = inner.unwrap_or(line);
        let named = start.split_once(':').and_then(|(name, value)| {
            let mut names = all.iter().flat_map(|names| names.iter());
            Some((*names.find(|known| **known == name)?, value))
        });
        let is_next = |(name, _): &(&'static str, &str)| {
            let is_text = WHOLE.contains(name) || PATCH.contains(name);
            let is_part = OLD.contains(name) || NEW.contains(name);
            let is_path = OTHERS[..7].contains(name);
            !(is_path && has(&found, &OTHERS[..7])
                || is_text && (has(&found, &OLD) || has(&found, &NEW))
                || is_part && (has(&found, &WHOLE) || has(&found, &PATCH))
                || inner.is_none() && has(&found, &[name]))
        };
        if let Some((name, value)) = named.filter(is_next) {
            is_listed |= matches!(name, "edits" | "patches");
            let value = value.strip_prefix(' ').unwrap_or(value);
            found.push((name, value.to_owned()));
        } else if is_listed
            && line == "  -"
            && lines.peek().is_some_and(|next| next.starts_with("    "))
        {
            found.push((ITEM, String::new()));
        } else if let Some((_, value)) = found.last_mut() {
            value.push('\n');
            value.push_str(line);
        }
    }
    found
}

/// What a patch in the form of Codex does to a file.
fn of_patch(patch: &str, path: &str) -> TextEdit {
    let is_head = |line: &&str| line.starts_with("*** ") && !line.starts_with("*** End of File");
    let mut lines = patch.lines();
    let named = |line: &str, mark: &str| line.strip_prefix(mark).map(str::trim) == Some(path);
    while let Some(line) = lines.next() {
        let own = lines.clone().take_while(|line| !is_head(line));
        if named(line, "*** Add File: ") {
            let added = own.filter_map(|line| line.strip_prefix('+'));
            return TextEdit::Whole(joined(added));
        }
        if named(line, "*** Update File: ") || named(line, "*** Move to: ") {
            return TextEdit::Replaced(hunks(own));
        }
    }
    TextEdit::Unknown
}

/// The hunks of a patch.
fn hunks<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<ReplacedText> {
    let mut found: Vec<(Vec<&str>, Vec<&str>)> = vec![Default::default()];
    for line in lines {
        let Some((old, new)) = found.last_mut() else {
            break;
        };
        // The names of the files stand before the first hunk.
        let is_name = old.is_empty() && new.is_empty();
        match line.split_at_checked(1) {
            _ if is_name && (line.starts_with("--- ") || line.starts_with("+++ ")) => {}
            _ if line.starts_with("@@") => found.push(Default::default()),
            Some(("+", text)) => new.push(text),
            Some(("-", text)) => old.push(text),
            Some((" ", text)) => {
                old.push(text);
                new.push(text);
            }
            // Some models leave out the space before an empty line.
            None => {
                old.push("");
                new.push("");
            }
            _ => {}
        }
    }
    let replaced = found.into_iter().map(|(old, new)| ReplacedText {
        old: joined(old.into_iter()),
        new: joined(new.into_iter()),
        is_everywhere: false,
    });
    replaced.filter(|one| one.old != one.new).collect()
}

/// The blocks of `<<<<<<< SEARCH`, `=======` and `>>>>>>> REPLACE`.
fn search_blocks(diff: &str) -> Vec<ReplacedText> {
    let mut found = Vec::new();
    let (mut old, mut new): (Option<Vec<&str>>, Option<Vec<&str>>) = (None, None);
    for line in diff.lines() {
        let word = line.trim_start_matches(['<', '>', '-', '+', ' ']);
        if word.starts_with("SEARCH") && line != word {
            old = Some(Vec::new());
        } else if line.starts_with("=======") && old.is_some() && new.is_none() {
            new = Some(Vec::new());
        } else if word.starts_with("REPLACE") && line != word {
            if let (Some(old), Some(new)) = (old.take(), new.take()) {
                found.push(ReplacedText {
                    old: joined(old.into_iter()),
                    new: joined(new.into_iter()),
                    is_everywhere: false,
                });
            }
        } else if let Some(lines) = new.as_mut().or(old.as_mut()) {
            lines.push(line);
        }
    }
    found
}

fn joined<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// What a script does to the text of a file: a here document or the words of `echo` that go into it.
fn of_script(script: &str, path: &str) -> TextEdit {
    let name = file_name(path);
    let mut edits = Vec::new();
    for command in shell::commands(script) {
        let is_tee = matches!(command.words.first(), Some(first) if first == "tee");
        let words = command.words.iter().skip(1).filter(|_| is_tee);
        let mut targets = command.targets.iter().chain(words);
        if !targets.any(|target| target.ends_with(name)) {
            continue;
        }
        let text = match (&command.document, command.words.as_slice()) {
            (Some(text), _) => text.clone(),
            (None, [echo, words @ ..]) if echo == "echo" => {
                format!("{}\n", words.join(" "))
            }
            _ => return TextEdit::Unknown,
        };
        let appends = command.appends || is_tee && command.words.iter().any(|word| word == "-a");
        edits.push((appends, text));
    }
    match edits.as_slice() {
        [] => TextEdit::Unknown,
        [(true, _), ..] if edits.iter().all(|(appends, _)| *appends) => {
            TextEdit::Added(None, edits.into_iter().map(|(_, text)| text).collect())
        }
        _ => {
            let mut whole = String::new();
            for (appends, text) in edits {
                whole = if appends { whole + &text } else { text };
            }
            TextEdit::Whole(whole)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced(parts: &[(&str, &str)]) -> TextEdit {
        let parts = parts.iter().map(|(old, new)| ReplacedText {
            old: (*old).to_owned(),
            new: (*new).to_owned(),
            is_everywhere: false,
        });
        TextEdit::Replaced(parts.collect())
    }

    #[test]
    fn what_a_call_does_to_the_text_is_told_in_every_form() {
        let whole = |text: &str| TextEdit::Whole(text.to_owned());
        for (tool, input, wanted) in [
            (
                "Write",
                "file_path: /m/a.md\ncontent: ---\npath: x\nold_string: y\ncontent: z",
                whole("---\npath: x\nold_string: y\ncontent: z"),
            ),
            (
                "Edit",
                "replace_all: false\nfile_path: /m/a.md\nold_string: a\nb\nnew_string: a\ncontent: c",
                replaced(&[("a\nb", "a\ncontent: c")]),
            ),
            (
                "MultiEdit",
                "file_path: /m/a.md\nedits:\n  -\n    old_string: a\n    new_string: b\nc\n  -\n    old_string: d\n    new_string: e",
                replaced(&[("a", "b\nc"), ("d", "e")]),
            ),
            (
                "apply_patch",
                "*** Begin Patch\n*** Update File: /m/a.md\n@@\n x\n-y\n+z\n@@\n-q\n*** Add File: b.md\n+n\n*** End Patch",
                replaced(&[("x\ny\n", "x\nz\n"), ("q\n", "")]),
            ),
            (
                "exec",
                "const patch = \"*** Begin Patch\\n*** Add File: /m/a.md\\n+one\\n+\\\"two\\\"\\n*** End Patch\";\ncall(patch)",
                whole("one\n\"two\"\n"),
            ),
            (
                "replace_in_file",
                "path: /m/a.md\ndiff: <<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE",
                replaced(&[("x\n", "y\n")]),
            ),
            (
                "memory",
                "command: insert\npath: /m/a.md\ninsert_line: 2\ninsert_text: x",
                TextEdit::Added(Some(2), "x".to_owned()),
            ),
            (
                "Bash",
                "command: mkdir -p /m && cat > /m/a.md <<'EOF'\none\ntwo\nEOF\necho three >> /m/a.md",
                whole("one\ntwo\nthree\n"),
            ),
            (
                "Bash",
                "command: echo \"- a fact\" >> /m/a.md",
                TextEdit::Added(None, "- a fact\n".to_owned()),
            ),
            ("Bash", "command: sed -i s/a/b/ /m/a.md", TextEdit::Unknown),
        ] {
            assert_eq!(text_edit(tool, input, "/m/a.md"), wanted, "{tool} {input}");
        }
    }
}
