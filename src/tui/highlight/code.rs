//! Highlights code: loads grammars and maps their scopes to roles of the theme.

use std::fmt;
use std::sync::Arc;

use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxSet};

use super::Paint;
use crate::tui::theme::Role;

/// The grammars of every language, loaded once and shared.
pub struct Syntaxes {
    set: SyntaxSet,
    /// Roles by scope prefix; the first match applies, `None` defers to the enclosing scope.
    roles: Vec<(Scope, Option<Role>)>,
}

impl fmt::Debug for Syntaxes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Syntaxes({})", self.set.syntaxes().len())
    }
}

/// The roles of scopes, by prefix.
const SCOPES: [(&str, Option<Role>); 32] = [
    ("punctuation.definition.comment", None),
    ("punctuation.definition.string", None),
    ("punctuation.definition.heading", None),
    ("punctuation.definition.constant", None),
    ("punctuation.definition.inserted", None),
    ("punctuation.definition.deleted", None),
    ("comment", Some(Role::Comment)),
    ("constant.character.escape", Some(Role::Constant)),
    ("meta.mapping.key", Some(Role::Key)),
    ("entity.name.tag", Some(Role::Key)),
    ("entity.other.attribute-name", Some(Role::Key)),
    ("support.type.property-name", Some(Role::Key)),
    ("string", Some(Role::String)),
    ("markup.inserted", Some(Role::Added)),
    ("markup.deleted", Some(Role::Removed)),
    ("markup.heading", Some(Role::Heading)),
    ("constant", Some(Role::Constant)),
    ("storage.type.function", Some(Role::Keyword)),
    ("keyword.operator", Some(Role::Punctuation)),
    ("keyword", Some(Role::Keyword)),
    ("storage", Some(Role::Keyword)),
    ("variable.language", Some(Role::Keyword)),
    ("variable.other.key", Some(Role::Key)),
    ("entity.name.function", Some(Role::Function)),
    ("support.function", Some(Role::Function)),
    ("support.macro", Some(Role::Function)),
    ("variable.function", Some(Role::Function)),
    ("entity.name", Some(Role::Type)),
    ("support.type", Some(Role::Type)),
    ("support.class", Some(Role::Type)),
    ("punctuation", Some(Role::Punctuation)),
    ("meta.separator", Some(Role::Punctuation)),
];

/// The maximum number of scopes that are open at the same time.
const MOST_SCOPES: usize = 100;

/// The state of the parser after a line of code.
#[derive(Clone, PartialEq, Eq)]
pub struct Code {
    parse: ParseState,
    stack: ScopeStack,
    /// Whether every line is parsed by itself, as in JSON Lines.
    per_line: bool,
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Code({} scopes)", self.stack.len())
    }
}

impl Syntaxes {
    /// Loads the grammars, which takes a few milliseconds.
    pub fn load() -> Arc<Self> {
        let roles = SCOPES
            .into_iter()
            .filter_map(|(name, role)| Some((Scope::new(name).ok()?, role)))
            .collect();
        Arc::new(Self {
            set: two_face::syntax::extra_newlines(),
            roles,
        })
    }

    /// Returns the instance that all tests share.
    #[cfg(test)]
    pub(crate) fn shared() -> Arc<Self> {
        static SHARED: std::sync::LazyLock<Arc<Syntaxes>> =
            std::sync::LazyLock::new(Syntaxes::load);
        Arc::clone(&SHARED)
    }

    /// Returns the initial state for the language that a fence or a file extension names.
    pub fn start(&self, name: &str) -> Option<Code> {
        let name = name.trim().to_ascii_lowercase();
        let token = match name.as_str() {
            "" | "text" | "txt" | "plain" => return None,
            "jsonl" | "ndjson" | "json5" | "jsonc" => "json",
            "shell" | "console" | "zsh" => "sh",
            other => other,
        };
        let syntax = self.set.find_syntax_by_token(token)?;
        Some(Code {
            parse: ParseState::new(syntax),
            stack: ScopeStack::new(),
            per_line: matches!(name.as_str(), "jsonl" | "ndjson"),
        })
    }

    /// Returns the highlighted parts of a line, and the state after it. A line that the grammar
    /// cannot parse has none. The state is `None` where code is nested so deeply that the rest is
    /// not highlighted: every line takes time for all that is open at its start.
    pub fn line(&self, code: &Code, line: &str) -> (Vec<Paint>, Option<Code>) {
        let mut after = code.clone();
        let mut paints: Vec<Paint> = Vec::new();
        let Ok(ops) = after.parse.parse_line(&format!("{line}\n"), &self.set) else {
            return (paints, Some(code.clone()));
        };
        let mut at = 0;
        let mut role = self.role(&after.stack);
        let end = (line.len(), None);
        for (offset, op) in ops.iter().map(|(at, op)| (*at, Some(op))).chain([end]) {
            let offset = offset.min(line.len());
            if let Some(role) = role.filter(|_| offset > at) {
                match paints.last_mut() {
                    Some(last) if last.role == role && last.range.end == at => {
                        last.range.end = offset;
                    }
                    _ => paints.push(Paint::new(at..offset, role)),
                }
            }
            at = at.max(offset);
            if let Some(op) = op {
                if after.stack.apply(op).is_err() {
                    return (paints, Some(code.clone()));
                }
                if after.stack.len() > MOST_SCOPES {
                    return (paints, None);
                }
                role = self.role(&after.stack);
            }
        }
        if code.per_line {
            return (paints, Some(code.clone()));
        }
        (paints, Some(after))
    }

    fn role(&self, stack: &ScopeStack) -> Option<Role> {
        let mut roles = stack.as_slice().iter().rev().filter_map(|scope| {
            self.roles
                .iter()
                .find(|(prefix, _)| prefix.is_prefix_of(*scope))
                .and_then(|(_, role)| *role)
        });
        match roles.next() {
            // The key of a JSON object has the scope of a string inside that of a key.
            Some(Role::String) if roles.any(|role| role == Role::Key) => Some(Role::Key),
            role => role,
        }
    }
}
