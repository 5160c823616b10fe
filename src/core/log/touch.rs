//! Which files a tool call reads, writes or deletes, in every agent's form.
//!
//! A call is judged by the tool's name and the text of its input, as the decoders give it: a line
//! `key: value` for each argument. Shell commands count where they are plain (see [`shell`]), and
//! patches in a here document.

mod edit;
mod shell;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::json;
pub use edit::{ReplacedText, TextEdit, text_edit};
pub use shell::home_as_tilde;

/// What a call does to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum FileUse {
    /// It reads it.
    Read,
    /// It writes or changes it.
    Write,
    /// It deletes it, or moves it away.
    Delete,
}

impl FileUse {
    /// The name of the use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Delete => "delete",
        }
    }
}

/// A file that a call names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileTouch {
    /// The path as the call names it: absolute, or relative to the working directory.
    pub path: String,
    /// Whether the path is relative to a store, as those of memory tools are.
    pub is_in_store: bool,
    /// What happens to it.
    pub usage: FileUse,
}

impl FileTouch {
    fn new(path: &str, usage: FileUse) -> Self {
        Self {
            path: path.to_owned(),
            is_in_store: false,
            usage,
        }
    }
}

/// The files that a call of `tool` with this input names, in order.
pub fn file_touches(tool: &str, input: &str) -> Vec<FileTouch> {
    if let Some(patched) = patch(input) {
        return patched;
    }
    let name = plain_name(tool);
    match name.as_str() {
        name if is_shell(name) => return shell_touches(input),
        "memory"
        | "str_replace_editor"
        | "str_replace_based_edit_tool"
        | "text_editor"
        | "file_editor" => {
            return text_editor(input);
        }
        _ => {}
    }
    let usage = match name.as_str() {
        "read" | "read_file" | "view" | "view_file" | "memory_read" | "memory_citation" | "cat"
        | "notebookread" | "open_file" => FileUse::Read,
        "write"
        | "write_file"
        | "write_to_file"
        | "create"
        | "create_file"
        | "save_file"
        | "memory_write"
        | "edit"
        | "edit_file"
        | "multiedit"
        | "multi_edit"
        | "notebookedit"
        | "replace"
        | "replace_in_file"
        | "str_replace"
        | "strreplacefile"
        | "writefile"
        | "insert_edit_into_file"
        | "replace_string_in_file"
        | "apply_diff"
        | "apply_file_diffs"
        | "search_replace"
        | "memory_patch"
        | "memory_append"
        | "memory_update"
        | "insert"
        | "update_file" => FileUse::Write,
        "memory_delete" | "delete" | "delete_file" | "delete_path" | "remove_file" => {
            FileUse::Delete
        }
        _ => return Vec::new(),
    };
    let path = argument(
        input,
        &[
            "file_path",
            "filePath",
            "absolute_path",
            "path",
            "notebook_path",
            "TargetFile",
            "target_file",
            "file",
            "filename",
        ],
    );
    path.into_iter()
        .map(|path| FileTouch {
            is_in_store: name.starts_with("memory_"),
            ..FileTouch::new(path, usage)
        })
        .collect()
}

/// The paths that a call adds to the next commit with `git add`, in order.
pub fn staged_files(tool: &str, input: &str) -> Vec<String> {
    if is_shell(&plain_name(tool)) && input.contains("git") {
        shell::staged(&shell_input(input))
    } else {
        Vec::new()
    }
}

/// What a command does to the commits of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommitAct {
    /// It makes one with this subject, if the command tells it.
    Commit(Option<String>),
    /// It makes the last one anew.
    Amend(Option<String>),
    /// It drops so many of the last ones.
    Drop(usize),
    /// It goes back to this commit, to make one of those after it.
    Squash(String),
    /// It takes this commit out of the branch.
    Without(String),
    /// It opens a pull request with this title.
    Request(String),
}

/// What a call does to the commits of a repository, by commands that it runs and does not only write
/// into a file.
pub fn commit_acts(tool: &str, input: &str) -> Vec<CommitAct> {
    let has_word = ["git", "gh pr"].iter().any(|word| input.contains(word));
    if has_word && is_shell(&plain_name(tool)) {
        shell::commit_acts(&shell_input(input))
    } else {
        Vec::new()
    }
}

/// Whether a call runs a script, which may have written files before it failed. A patch that fails
/// changes nothing.
pub(super) fn is_script(tool: &str, input: &str) -> bool {
    is_shell(&plain_name(tool)) && patch(input).is_none()
}

/// Whether a tool with this plain name runs a shell command.
fn is_shell(name: &str) -> bool {
    matches!(
        name,
        "bash"
            | "shell"
            | "exec_command"
            | "run_shell_command"
            | "powershell"
            | "local_shell"
            | "execute"
            | "run_terminal_cmd"
            | "run_in_terminal"
            | "terminal"
            | "run_command"
            | "developer_shell"
            | "execute_command"
    )
}

/// The single commands that a call runs, each as its words from the program on; none for a tool that
/// runs no commands. What a text or a here document only mentions is not run.
pub fn shell_commands(tool: &str, input: &str) -> Vec<Vec<String>> {
    if is_shell(&plain_name(tool)) && patch(input).is_none() {
        shell::programs(&shell_input(input))
    } else {
        Vec::new()
    }
}

/// The single commands of a script, each as its words from the program on.
pub fn script_commands(script: &str) -> Vec<Vec<String>> {
    shell::programs(script)
}

/// The command in the input of a shell tool, with all its lines.
fn shell_input(input: &str) -> String {
    // Some tools take the program and its arguments as a list, mostly a shell and a script.
    let listed = input.strip_prefix("command:\n- ").and_then(|list| {
        let (shell, script) = list.split_once("\n- -lc\n- ")?;
        (!shell.contains('\n')).then_some(script)
    });
    if let Some(script) = listed {
        return own_lines(script);
    }
    let first = argument(input, &["command", "cmd", "CommandLine", "script"]);
    let Some(at) = first.and_then(|first| input.find(first)) else {
        return input.to_owned();
    };
    own_lines(&input[at..])
}

/// The value of an argument: as many lines as it has, up to the next argument.
fn own_lines(value: &str) -> String {
    let is_own = |line: &&str| !OTHERS.iter().any(|name| is_argument(line, name));
    value
        .lines()
        .take_while(is_own)
        .collect::<Vec<_>>()
        .join("\n")
}

/// Other arguments of shell tools.
const OTHERS: [&str; 12] = [
    "description",
    "workdir",
    "dir_path",
    "cwd",
    "timeout",
    "timeout_ms",
    "yield_time_ms",
    "max_output_tokens",
    "run_in_background",
    "justification",
    "sandbox_permissions",
    "login",
];

fn is_argument(line: &str, name: &str) -> bool {
    let rest = line.strip_prefix(name);
    rest.is_some_and(|rest| rest.starts_with(':'))
}

/// The files that a call of a shell tool touches. Relative ones are in the directory that it names.
fn shell_touches(input: &str) -> Vec<FileTouch> {
    let folder = argument(input, &["workdir", "dir_path", "cwd"]);
    let folder = folder.filter(|folder| folder.len() <= shell::LONGEST_PATH);
    let mut touches = shell::touches(&shell_input(input));
    for touch in &mut touches {
        touch.path = shell::joined(folder.unwrap_or_default(), &touch.path);
    }
    touches
}

/// The tool's own name in lower case, without the server that an agent puts before it.
fn plain_name(tool: &str) -> String {
    let tool = tool.rsplit("__").next().unwrap_or(tool);
    let tool = tool.rsplit(['.', '/', ':']).next().unwrap_or(tool);
    let name = tool.to_ascii_lowercase();
    // Some clients join server and tool with one underscore or a dash.
    match name.find("memory_") {
        Some(at) if at > 0 => name[at..].to_owned(),
        _ => name,
    }
}

/// The value of the first of these arguments that the input has.
fn argument<'a>(input: &'a str, names: &[&str]) -> Option<&'a str> {
    names.iter().find_map(|name| {
        input.lines().find_map(|line| {
            let value = line.strip_prefix(name)?.strip_prefix(": ")?.trim();
            (!value.is_empty()).then_some(value)
        })
    })
}

/// The patch in an input, which may be a string in a program.
fn patch_in(input: &str) -> Option<Cow<'_, str>> {
    const BEGINNING: &str = "*** Begin Patch";
    let at = input.find(BEGINNING)?;
    let is_string = input[at + BEGINNING.len()..].starts_with("\\n");
    let string = input
        .get(at.checked_sub(1).unwrap_or(at)..)
        .filter(|_| is_string);
    let decoded = string.and_then(|string| json::value(string.as_bytes()).ok()?.0.text());
    Some(decoded.map_or(Cow::Borrowed(&input[at..]), Cow::Owned))
}

/// The files of a patch in the form that Codex introduced; `None` if the input has no patch.
fn patch(input: &str) -> Option<Vec<FileTouch>> {
    let patch = patch_in(input)?;
    let mut touches: Vec<FileTouch> = Vec::new();
    for line in patch.lines() {
        let named = |mark: &str| line.strip_prefix(mark).map(str::trim);
        if let Some(path) = named("*** Update File: ").or_else(|| named("*** Add File: ")) {
            touches.push(FileTouch::new(path, FileUse::Write));
        } else if let Some(path) = named("*** Delete File: ") {
            touches.push(FileTouch::new(path, FileUse::Delete));
        } else if let Some(path) = named("*** Move to: ") {
            if let Some(last) = touches.last_mut() {
                last.usage = FileUse::Delete;
            }
            touches.push(FileTouch::new(path, FileUse::Write));
        }
    }
    Some(touches)
}

/// The file of a tool that takes a command and a path, as Anthropic's memory and editor tools do.
fn text_editor(input: &str) -> Vec<FileTouch> {
    let usage = match argument(input, &["command"]) {
        Some("create" | "str_replace" | "insert" | "undo_edit" | "rename") => FileUse::Write,
        Some("delete") => FileUse::Delete,
        _ => FileUse::Read,
    };
    let path = argument(input, &["path", "old_path", "file_path"]).map(|path| {
        // The memory tool names its directory `/memories`, wherever it is.
        path.strip_prefix("/memories/").unwrap_or(path)
    });
    path.into_iter()
        .map(|path| FileTouch {
            is_in_store: !path.starts_with('/'),
            ..FileTouch::new(path, usage)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::fixture::rows;

    #[test]
    fn every_agent_s_calls_name_their_files() {
        let table = r#"
Write => file_path: /m/a.md\ncontent: x => Write /m/a.md
Edit => replace_all: false\nfile_path: /m/a.md\nold_string: x => Write /m/a.md
MultiEdit => file_path: /m/a.md\nedits:\n- old_string: x => Write /m/a.md
NotebookEdit => notebook_path: /m/a.ipynb => Write /m/a.ipynb
Read => file_path: /m/a.md => Read /m/a.md
write_file => file_path: /m/a.md\ncontent: x => Write /m/a.md
replace => file_path: /m/a.md => Write /m/a.md
write => filePath: /m/a.md => Write /m/a.md
create => path: /m/a.md\nfile_text: x => Write /m/a.md
mcp__tome__memory_write => path: a.md\ncontent: x => Write a.md
tome_memory_patch => path: a.md => Write a.md
memory_delete => path: a.md => Delete a.md
memory => command: create\npath: /memories/a.md => Write a.md
memory => command: view\npath: /memories/a.md => Read a.md
file_editor => command: str_replace\npath: /m/a.md\nold_str: x => Write /m/a.md
apply_patch => input: *** Begin Patch\n*** Update File: a.md\n@@\n-x\n+y\n*** Delete File: b.md\n*** End Patch => Write a.md, Delete b.md
shell => command:\n- apply_patch\n- *** Begin Patch\n*** Update File: a.md\n*** Move to: b.md\n*** End Patch => Delete a.md, Write b.md
Bash => command: echo hi >> /m/a.md => Write /m/a.md
Bash => command: cat > "/m/a b.md" <<'EOF'\n> quoted.md\nrm x.md\nEOF => Write /m/a b.md
exec_command => cmd: echo x | tee -a a.md && rm b.md => Write a.md, Delete b.md
Bash => command: mv a.md b.md; sed -i s/x/y/ c.md => Delete a.md, Write b.md, Write c.md
Bash => command: cargo test 2>&1 > /dev/null =>
Bash => command: ls =>
exec_command => cmd: cd /m\nrm a.md\nworkdir: /w => Delete /m/a.md
exec_command => cmd: rm a.md\nworkdir: /w => Delete /w/a.md
Bash => command: ls\ndescription: Show what > means =>
Grep => path: /m =>"#;
        for [tool, input, wanted] in rows(table) {
            let found = file_touches(&tool, &input).into_iter();
            let found = found.map(|touch| format!("{:?} {}", touch.usage, touch.path));
            let found = found.collect::<Vec<_>>().join(", ");
            assert_eq!(found, wanted, "{tool} {input}");
        }
    }

    #[test]
    fn a_commit_is_one_that_is_run_and_not_one_in_a_text_or_a_repository_of_a_test() {
        let table = r#"
git add -A && git commit -am 'Add a retry'\nworkdir: /w => Commit(Some("Add a retry"))
git -C a/b commit -F - <<EOF\nMove it\nEOF => Commit(Some("Move it"))
git commit -m "$(cat <<'EOF'\nAdd "a" cache\n\nIt is small.\nEOF\n)" => Commit(Some("Add \"a\" cache"))
git --no-pager commit --message="Move it" => Commit(Some("Move it"))
git commit -m @'\nMove the parser\n'@ => Commit(Some("Move the parser"))
git commit -m 'one'; git commit -qm two => Commit(Some("one")), Commit(Some("two"))
git commit -m "$MESSAGE" => Commit(None)
git commit --amend --no-edit => Amend(None)
git commit --amend -m 'Keep it' => Amend(Some("Keep it"))
git reset --soft HEAD~2 && git commit -m Both => Drop(2), Commit(Some("Both"))
git reset --hard HEAD^ => Drop(1)
git branch topic && git reset --hard HEAD~2 =>
cd $(mktemp -d) && git commit -m 'a b' =>
git reset --hard origin/main; git reset HEAD =>
git reset --soft 4c0f1c24 => Squash("4c0f1c24")
git rebase --onto origin/main c2fe52e topic => Without("c2fe52e")
git rebase main =>
git revert --no-edit abc123 => Commit(None)
gh pr create --title 'feat: a cache' --body x => Request("feat: a cache")
gh pr view 12 =>
cat > t.sh <<'EOF'\ngit commit -m 'hello; world'\nEOF =>
cd /tmp/x && git init -q && git commit -qm 'a b' =>
git log | grep commit =>"#;
        for [input, wanted] in rows(table) {
            let call = format!("command: {input}");
            let found = format!("{:?}", commit_acts("Bash", &call));
            assert_eq!(found, format!("[{wanted}]"), "{input}");
        }
        let text = "file_path: t.sh\ncontent: git commit -m 'hello; world'";
        assert_eq!(commit_acts("Write", text), []);
    }

    #[test]
    fn what_a_call_stages_is_found() {
        for (tool, input, wanted) in [
            (
                "Bash",
                "command: git add a.rs b/ && git commit -m x",
                &["a.rs", "b/"][..],
            ),
            (
                "exec_command",
                "cmd: git -C /w add -A c.rs\nworkdir: /w",
                &["c.rs"][..],
            ),
            ("Bash", "command: git remote add origin x", &[][..]),
            ("Bash", "command: git status", &[][..]),
            ("Edit", "file_path: git add a.rs", &[][..]),
        ] {
            assert_eq!(staged_files(tool, input), wanted, "{input}");
        }
    }
}
