//! Plans which files of each agent change, and how.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::json::{Kind, Node, parse, with_part, without_part};
use super::{
    FOREIGN_SERVER, FileStep, HOOK_SECONDS, KnownServer, Plan, START_SECONDS, SettingsDirs,
    SetupBorder, SetupMode, SetupRequest, SetupScope, calls_tome, file, hook_command, plugin, toml,
};
use crate::core::disk::foreign::{LARGEST_WHOLE, read_text};
use crate::core::log::Agent;
use crate::core::{Error, Result};

/// The name under which tome's server is registered.
const NAME: &str = "tome";

/// How many milliseconds Gemini CLI waits for each answer of the server, the first one included.
const GEMINI_LIMIT: u64 = 15_000;

pub(super) fn plan(dirs: &SettingsDirs, request: SetupRequest<'_>) -> Result<Plan> {
    let mut planning = SetupPlanner {
        dirs,
        request,
        plan: Plan {
            border: match request.scope {
                SetupScope::User => SetupBorder::User,
                SetupScope::Project => SetupBorder::Project(dirs.project.clone()),
            },
            ..Plan::default()
        },
    };
    match request.agent {
        Agent::ClaudeCode => planning.claude()?,
        Agent::Codex => planning.codex()?,
        Agent::Gemini => planning.gemini()?,
        Agent::Opencode => planning.opencode()?,
        Agent::Copilot => planning.copilot()?,
        other => {
            let known: Vec<&str> = super::AGENTS.iter().map(|agent| agent.name()).collect();
            return Err(Error::refused(
                other.name(),
                format!(
                    "tome cannot be registered with it; the agents are {}",
                    known.join(", ")
                ),
            ));
        }
    }
    let note = request.actions.note(request.agent);
    let note = note.filter(|_| request.mode == SetupMode::Install);
    planning.plan.notes.extend(note.map(str::to_owned));
    Ok(planning.plan)
}

/// The event before a call of a tool, for Claude Code and Codex.
pub(super) const BEFORE: (&str, Option<&str>) = ("PreToolUse", Some("*"));

/// The events for which Claude Code and Codex call the hook, each with its matcher.
pub(super) const EVENTS: [(&str, Option<&str>); 8] = [
    ("SessionStart", None),
    ("UserPromptSubmit", None),
    ("PostToolUse", Some("*")),
    ("Stop", None),
    ("SubagentStart", None),
    ("SubagentStop", None),
    ("PreCompact", None),
    ("SessionEnd", None),
];

/// The group that registers a hook.
pub(super) fn group(matcher: Option<&str>, handler: Value) -> Value {
    match matcher {
        Some(matcher) => json!({ "matcher": matcher, "hooks": [handler] }),
        None => json!({ "hooks": [handler] }),
    }
}

/// The handler for Claude Code and Codex.
pub(super) fn handler(command: &str) -> Value {
    json!({ "type": "command", "command": command, "timeout": HOOK_SECONDS })
}

struct SetupPlanner<'a> {
    dirs: &'a SettingsDirs,
    request: SetupRequest<'a>,
    plan: Plan,
}

impl SetupPlanner<'_> {
    fn command(&self) -> String {
        let verb = format!("hook {}", self.request.agent.name());
        let verb = self.request.actions.verb(&verb);
        hook_command(self.request.program, &verb)
    }

    fn claude(&mut self) -> Result<()> {
        let hooks = |folder: &Path| folder.join("settings.json");
        let project = &self.dirs.project;
        match self.request.scope {
            SetupScope::User => {
                let path = hooks(&self.dirs.claude);
                self.hooks(&path, &EVENTS, BEFORE, handler)?;
                self.claude_server()?;
            }
            SetupScope::Project => {
                let (settings, servers) =
                    (hooks(&project.join(".claude")), project.join(".mcp.json"));
                self.hooks(&settings, &EVENTS, BEFORE, handler)?;
                let server = json!({ "command": self.request.program, "args": ["mcp"] });
                self.server(&servers, "mcpServers", &server)?;
            }
        }
        Ok(())
    }

    /// Plans the command of Claude Code that registers the server for the user, or removes it.
    fn claude_server(&mut self) -> Result<()> {
        let state = &self.dirs.claude_state;
        // It has the state of every project, too. Where it cannot be read, the command itself says so.
        let text = read_text(state, LARGEST_WHOLE).ok().flatten();
        let text = text.unwrap_or_default();
        let known = parse(&text).ok().flatten();
        let known = known.and_then(|node| {
            let server = node.at(&["mcpServers", NAME])?;
            Some(known_server(server, self.request.program))
        });
        let words: &[&str] = match (self.request.mode, known) {
            (SetupMode::Install, None) => &[
                "add",
                "--scope",
                "user",
                NAME,
                "--",
                self.request.program,
                "mcp",
            ],
            (SetupMode::Install, Some(KnownServer::Foreign)) => {
                return Err(invalid(state, 1, FOREIGN_SERVER));
            }
            (SetupMode::Remove, Some(KnownServer::Registered | KnownServer::Customized)) => {
                &["remove", "--scope", "user", NAME]
            }
            (mode, _) => {
                self.note_state(state, "the server", mode);
                return Ok(());
            }
        };
        let command = ["claude", "mcp"].iter().chain(words);
        self.plan.command = Some(command.map(|word| (*word).to_owned()).collect());
        Ok(())
    }

    fn codex(&mut self) -> Result<()> {
        let home = match self.request.scope {
            SetupScope::User => self.dirs.codex.clone(),
            SetupScope::Project => self.dirs.project.join(".codex"),
        };
        let path = home.join("config.toml");
        let program = self.request.program;
        self.edit(&path, "the server", &|text, mode| {
            let edited = match mode {
                SetupMode::Install => toml::with_server(text, NAME, program),
                SetupMode::Remove => toml::without_server(text, NAME, program),
            };
            edited.map_err(|message| invalid(&path, 1, message))
        })?;
        self.hooks(&home.join("hooks.json"), &EVENTS, BEFORE, handler)?;
        if self.request.mode == SetupMode::Install {
            let note = "Codex runs new hooks once you have trusted them: /hooks in Codex";
            self.plan.notes.push(note.to_owned());
        }
        Ok(())
    }

    fn gemini(&mut self) -> Result<()> {
        let events = [
            ("SessionStart", None),
            ("BeforeAgent", None),
            ("AfterTool", Some("*")),
            ("AfterAgent", None),
            ("SessionEnd", None),
        ];
        let home = match self.request.scope {
            SetupScope::User => self.dirs.gemini.clone(),
            SetupScope::Project => self.dirs.project.join(".gemini"),
        };
        let path = home.join("settings.json");
        // This limits calls as well; without it, Gemini CLI waits ten minutes for a server.
        let server =
            json!({ "command": self.request.program, "args": ["mcp"], "timeout": GEMINI_LIMIT });
        self.server(&path, "mcpServers", &server)?;
        self.hooks(&path, &events, ("BeforeTool", Some("*")), |command| {
            json!({ "name": NAME, "type": "command", "command": command, "timeout": HOOK_SECONDS * 1000 })
        })
    }

    fn opencode(&mut self) -> Result<()> {
        let (home, plugins) = match self.request.scope {
            SetupScope::User => (
                self.dirs.opencode.clone(),
                self.dirs.opencode.join("plugins"),
            ),
            SetupScope::Project => {
                let project = self.dirs.project.clone();
                (project.clone(), project.join(".opencode/plugins"))
            }
        };
        let jsonc = home.join("opencode.jsonc");
        let path = if jsonc.is_file() {
            jsonc
        } else {
            home.join("opencode.json")
        };
        let server = json!({
            "type": "local", "command": [self.request.program, "mcp"], "enabled": true,
            "timeout": START_SECONDS * 1000,
        });
        self.server(&path, "mcp", &server)?;
        let text = plugin::opencode(self.request.program, self.request.actions);
        self.owned_file(&plugins.join("tome.js"), text, |known| {
            known.starts_with(plugin::OPENCODE_HEAD)
        })
    }

    fn copilot(&mut self) -> Result<()> {
        let hooks = match self.request.scope {
            SetupScope::User => self.dirs.copilot.join("hooks/tome.json"),
            SetupScope::Project => self.dirs.project.join(".github/hooks/tome.json"),
        };
        let servers = match self.request.scope {
            SetupScope::User => self.dirs.copilot.join("mcp-config.json"),
            SetupScope::Project => self.dirs.project.join(".github/mcp.json"),
        };
        let server = json!({ "type": "local", "command": self.request.program, "args": ["mcp"], "tools": ["*"] });
        self.server(&servers, "mcpServers", &server)?;
        let program = self.request.program;
        let text = plugin::copilot(program, self.request.actions);
        self.owned_file(&hooks, text, |known| plugin::is_of_copilot(known, program))
    }

    /// The text of a settings file. In project scope, a link that leads out of the project is an
    /// error.
    fn read(&self, path: &Path) -> Result<Option<String>> {
        self.plan.border.check_links(path)?;
        file::read(path)
    }

    /// Plans a file that belongs to tome alone; one that tome did not write is refused.
    fn owned_file(
        &mut self,
        path: &Path,
        text: String,
        is_own: impl Fn(&str) -> bool,
    ) -> Result<()> {
        let before = self.read(path)?;
        let original = file::original_text(&self.dirs.memory, path, before.as_deref());
        if let Some(known) = &before {
            let is_known = *known == text || original.is_some();
            if !is_known && !is_own(known) {
                return Err(not_written(path));
            }
        }
        let after = match self.request.mode {
            SetupMode::Install => Some(text),
            SetupMode::Remove => original.unwrap_or_default(),
        };
        self.push(path, before, after);
        Ok(())
    }

    /// Plans a server in the object `key` of a settings file.
    fn server(&mut self, path: &Path, key: &str, server: &Value) -> Result<()> {
        let program = self.request.program;
        self.edit(path, "the server", &|text, mode| {
            let node = read(path, text)?;
            let known = node.as_ref().and_then(|node| node.at(&[key, NAME]));
            match (mode, known.map(|known| known_server(known, program))) {
                (SetupMode::Install, Some(KnownServer::Foreign)) => {
                    Err(invalid(path, 1, FOREIGN_SERVER))
                }
                (SetupMode::Install, Some(KnownServer::Customized))
                | (SetupMode::Remove, None | Some(KnownServer::Foreign)) => Ok(None),
                (SetupMode::Install, _) => set(path, text, key, server),
                (SetupMode::Remove, _) => unset(path, text, &[key, NAME]),
            }
        })
    }

    /// Plans hooks for these events in a settings file.
    fn hooks(
        &mut self,
        path: &Path,
        events: &[(&str, Option<&str>)],
        before: (&str, Option<&str>),
        handler: impl Fn(&str) -> Value,
    ) -> Result<()> {
        let command = self.command();
        // What was set up before an action and is no longer asked for goes.
        let (wanted, unwanted) = if self.request.actions.is_any() {
            (Some(before), None)
        } else {
            (None, Some(before.0))
        };
        let program = self.request.program;
        let verb = format!("hook {}", self.request.agent.name());
        let is_own = |command: &str| calls_tome(command, &verb, program);
        self.edit(path, "the hooks", &|text, mode| {
            let mut text = text.to_owned();
            let start = text.clone();
            match mode {
                SetupMode::Install => {
                    if let Some(event) = unwanted {
                        text = without_hooks(path, text, Some(event), &is_own)?;
                    }
                    for (event, matcher) in events.iter().chain(&wanted) {
                        let group = group(*matcher, handler(&command));
                        text = with_hook(path, text, (event, &group), &is_own)?;
                    }
                }
                SetupMode::Remove => text = without_hooks(path, text, None, &is_own)?,
            }
            Ok((text != start).then_some(text))
        })
    }

    /// Plans one edit of a settings file, after the earlier ones. Removing restores the original if
    /// the file has not been changed since.
    fn edit(
        &mut self,
        path: &Path,
        what: &str,
        edit: &dyn Fn(&str, SetupMode) -> Result<Option<String>>,
    ) -> Result<()> {
        let planned = self.plan.steps.iter().position(|step| step.path == path);
        let on_disk = self.read(path)?;
        let now = match planned {
            Some(at) => self.plan.steps[at].after.clone(),
            None => on_disk.clone(),
        };
        if self.request.mode == SetupMode::Remove {
            if let Some(before) = file::original_text(&self.dirs.memory, path, on_disk.as_deref()) {
                self.push(path, on_disk, before);
                return Ok(());
            }
            if now.is_none() {
                return Ok(());
            }
        }
        let edited = edit(now.as_deref().unwrap_or_default(), self.request.mode)?;
        if let Some(text) = edited.as_deref().filter(|_| !is_toml(path)) {
            // The result must be valid JSON.
            read(path, text)?;
        }
        match edited {
            Some(text) => match planned {
                Some(at) => self.plan.steps[at].after = Some(text),
                None => self.push(path, on_disk, Some(text)),
            },
            None => self.note_state(path, what, self.request.mode),
        }
        Ok(())
    }

    fn note_state(&mut self, path: &Path, what: &str, mode: SetupMode) {
        let state = match mode {
            SetupMode::Install => "is there already",
            SetupMode::Remove => "is not there",
        };
        self.plan
            .notes
            .push(format!("{}: {what} {state}", path.display()));
    }

    fn push(&mut self, path: &Path, before: Option<String>, after: Option<String>) {
        let known = self.plan.steps.iter().any(|step| step.path == path);
        if before == after {
            let state = if after.is_some() {
                "is as it should be"
            } else {
                "is not there"
            };
            self.plan.notes.push(format!("{} {state}", path.display()));
        } else if !known {
            self.plan.steps.push(FileStep {
                path: path.to_owned(),
                before,
                after,
            });
        }
    }
}

fn is_toml(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "toml")
}

fn invalid(path: &Path, line: usize, message: impl Into<String>) -> Error {
    Error::Invalid {
        path: PathBuf::from(path),
        line,
        message: format!("{}; the file is left as it is", message.into()),
    }
}

/// The refusal of a file of tome's name that tome did not write.
pub(super) fn not_written(path: &Path) -> Error {
    Error::refused(
        path.display().to_string(),
        "refused: tome did not write this file; move it away, then run the command again",
    )
}

fn known_server(server: &Node, program: &str) -> KnownServer {
    let command = server.get("command");
    let words = command.and_then(Node::text).into_iter();
    // OpenCode has program and arguments in one list.
    let words = words.chain(
        command
            .map_or(&[][..], Node::items)
            .iter()
            .filter_map(Node::text),
    );
    let args = server.get("args").map_or(&[][..], Node::items);
    KnownServer::of(words.chain(args.iter().filter_map(Node::text)), program)
}

fn read(path: &Path, text: &str) -> Result<Option<Node>> {
    parse(text).map_err(|wrong| invalid(path, wrong.line, wrong.message))
}

/// The root object; an empty file becomes an empty object.
fn root(path: &Path, text: &str) -> Result<(String, Node)> {
    let text = match read(path, text)? {
        Some(_) => text.to_owned(),
        None => format!("{text}{{\n}}\n"),
    };
    match read(path, &text)? {
        Some(node) if matches!(node.kind, Kind::Object(_)) => Ok((text, node)),
        _ => Err(invalid(path, 1, "an object is expected")),
    }
}

/// `text` with the server in the object `key`; `None` if it is already there.
fn set(path: &Path, text: &str, key: &str, server: &Value) -> Result<Option<String>> {
    let (text, node) = root(path, text)?;
    let Some(servers) = node.get(key) else {
        return Ok(Some(with_part(
            &text,
            &node,
            Some(key),
            &json!({ NAME: server }),
        )));
    };
    if !matches!(servers.kind, Kind::Object(_)) {
        return Err(invalid(path, 1, format!("{key} is no object")));
    }
    let Some(known) = servers.get(NAME) else {
        return Ok(Some(with_part(&text, servers, Some(NAME), server)));
    };
    // What the user added to it stays.
    let differs = |(name, value): &(&String, &Value)| {
        let said = known.get(name).map(|known| &text[known.span.clone()]);
        said.and_then(|said| serde_json::from_str::<Value>(said).ok())
            .as_ref()
            != Some(*value)
    };
    let Some((name, value)) = server.as_object().into_iter().flatten().find(differs) else {
        return Ok(None);
    };
    let changed = match known.get(name) {
        Some(old) => {
            let mut text = text.clone();
            text.replace_range(old.span.clone(), &value.to_string());
            text
        }
        None => with_part(&text, known, Some(name), value),
    };
    Ok(Some(set(path, &changed, key, server)?.unwrap_or(changed)))
}

/// `text` without the value at a path, and without containers that are then empty.
fn unset(path: &Path, text: &str, at: &[&str]) -> Result<Option<String>> {
    let Some(node) = read(path, text)? else {
        return Ok(None);
    };
    let Some((name, above)) = at.split_last() else {
        return Ok(None);
    };
    let Some(holder) = node.at(above) else {
        return Ok(None);
    };
    let Kind::Object(members) = &holder.kind else {
        return Ok(None);
    };
    let Some(index) = members.iter().position(|member| member.name == *name) else {
        return Ok(None);
    };
    if members.len() == 1 && !above.is_empty() {
        return unset(path, text, above);
    }
    Ok(Some(without_part(text, holder, index)))
}

/// The positions of tome's handler: the group, and the handler in it.
fn find_handler(list: &Node, is_own: &dyn Fn(&str) -> bool) -> Option<(usize, usize)> {
    list.items().iter().enumerate().find_map(|(at, group)| {
        let handlers = group.get("hooks")?.items();
        let own = handlers.iter().position(|handler| {
            let command = handler.get("command").and_then(Node::text);
            command.is_some_and(is_own)
        });
        Some((at, own?))
    })
}

/// `text` with a hook: its event, and the group of its one handler. A handler of tome's that is there
/// gets the command and the limit of the new one.
fn with_hook(
    path: &Path,
    text: String,
    (event, group): (&str, &Value),
    is_own: &dyn Fn(&str) -> bool,
) -> Result<String> {
    let (mut text, node) = root(path, &text)?;
    let Some(hooks) = node.get("hooks") else {
        return Ok(with_part(
            &text,
            &node,
            Some("hooks"),
            &json!({ event: [group] }),
        ));
    };
    if !matches!(hooks.kind, Kind::Object(_)) {
        return Err(invalid(path, 1, "hooks is no object"));
    }
    let Some(list) = hooks.get(event) else {
        return Ok(with_part(&text, hooks, Some(event), &json!([group])));
    };
    if !matches!(list.kind, Kind::Array(_)) {
        return Err(invalid(path, 1, format!("hooks.{event} is no list")));
    }
    let Some((at, own)) = find_handler(list, is_own) else {
        return Ok(with_part(&text, list, None, group));
    };
    let handlers = list.items()[at].get("hooks").map_or(&[][..], Node::items);
    let mut values: Vec<_> = ["command", "timeout"]
        .into_iter()
        .filter_map(|name| {
            Some((
                handlers[own].get(name)?.span.clone(),
                &group["hooks"][0][name],
            ))
        })
        .collect();
    // From the end, so that the positions before it stay.
    values.sort_by_key(|(span, _)| std::cmp::Reverse(span.start));
    for (span, value) in values {
        if serde_json::from_str::<Value>(&text[span.clone()])
            .ok()
            .as_ref()
            != Some(value)
        {
            text.replace_range(span, &value.to_string());
        }
    }
    Ok(text)
}

/// `text` without tome's hooks, of one event or of all.
fn without_hooks(
    path: &Path,
    mut text: String,
    only: Option<&str>,
    is_own: &dyn Fn(&str) -> bool,
) -> Result<String> {
    loop {
        let Some(node) = read(path, &text)? else {
            return Ok(text);
        };
        let Some(Kind::Object(events)) = node.get("hooks").map(|hooks| &hooks.kind) else {
            return Ok(text);
        };
        let found = events
            .iter()
            .filter(|event| only.is_none_or(|only| event.name == only))
            .find_map(|event| Some((event, find_handler(&event.value, is_own)?)));
        let Some((event, (at, own))) = found else {
            return Ok(text);
        };
        let groups = event.value.items();
        let handlers = groups[at].get("hooks");
        let alone = handlers.is_none_or(|handlers| handlers.items().len() == 1);
        text = match (alone, groups.len(), handlers) {
            (false, _, Some(handlers)) => without_part(&text, handlers, own),
            (_, 1, _) => unset(path, &text, &["hooks", &event.name])?.unwrap_or(text),
            _ => without_part(&text, &event.value, at),
        };
    }
}
