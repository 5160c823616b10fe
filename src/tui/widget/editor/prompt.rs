//! The prompts in the last row of the editor: a search, a replacement, a line number, a command.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::buffer::{EditKind, TextPosition};
use super::search::{SearchPattern, Syntax};
use super::{Editor, EditorOutcome, MoveDirection, Start};
use crate::tui::widget::input::{Input, InputOutcome};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Question {
    /// The text to find.
    Find(MoveDirection),
    /// The replacement of a match.
    Replace,
    Line,
    /// A command as in vi.
    Command,
}

#[derive(Debug, Clone)]
pub(super) struct EditorPrompt {
    pub(super) question: Question,
    pub(super) input: Input,
    pub(super) syntax: Syntax,
    /// Where the cursor was, to return to on Escape.
    origin: TextPosition,
}

impl EditorPrompt {
    /// Returns the label before the input, and the keys shown after it.
    pub(super) fn words(&self) -> (&'static str, &'static str) {
        match (&self.question, self.syntax) {
            (Question::Find(MoveDirection::Forward), Syntax::Literal) => {
                ("find ", "Enter go  Tab replace  Alt-R regex  Esc back")
            }
            (Question::Find(MoveDirection::Forward), Syntax::Regex) => {
                ("find regex ", "Enter go  Tab replace  Alt-R text  Esc back")
            }
            (Question::Find(MoveDirection::Backward), _) => ("find back ", "Enter go  Esc back"),
            (Question::Replace, _) => ("replace by ", "Enter this one  Alt-Enter all  Esc done"),
            (Question::Line, _) => ("line ", "Enter go  Esc back"),
            (Question::Command, _) => (":", ""),
        }
    }
}

impl Editor {
    pub(super) fn ask(&mut self, question: Question) -> EditorOutcome {
        self.anchor = None;
        let syntax = match &self.needle {
            Some(needle) => needle.syntax,
            None => Syntax::Literal,
        };
        self.prompt = Some(EditorPrompt {
            question,
            input: Input::default(),
            syntax,
            origin: self.cursor,
        });
        EditorOutcome::None
    }

    pub(super) fn prompt_key(&mut self, key: KeyEvent) -> EditorOutcome {
        let Some(mut prompt) = self.prompt.take() else {
            return EditorOutcome::Unused;
        };
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        let finds = matches!(prompt.question, Question::Find(_));
        match key.code {
            KeyCode::Tab if finds && self.needle.is_some() => {
                prompt.question = Question::Replace;
                prompt.input = Input::default();
                self.prompt = Some(prompt);
                return EditorOutcome::None;
            }
            KeyCode::Char('r') if alt && finds => {
                prompt.syntax = match prompt.syntax {
                    Syntax::Literal => Syntax::Regex,
                    Syntax::Regex => Syntax::Literal,
                };
                self.prompt = Some(prompt);
                return self.prompt_changed();
            }
            KeyCode::Enter if alt && prompt.question == Question::Replace => {
                return self.replace_every(prompt.input.text());
            }
            _ => {}
        }
        match prompt.input.key(key) {
            InputOutcome::Accepted => self.answer(prompt),
            InputOutcome::Cancelled => {
                if prompt.question != Question::Replace {
                    self.jump(prompt.origin);
                }
                if finds {
                    self.needle = None;
                }
                EditorOutcome::None
            }
            InputOutcome::Changed => {
                self.prompt = Some(prompt);
                self.prompt_changed()
            }
            // Backspace in an empty command closes the prompt, as in vi.
            InputOutcome::Moved
                if key.code == KeyCode::Backspace && prompt.question == Question::Command =>
            {
                EditorOutcome::None
            }
            InputOutcome::Moved | InputOutcome::Unused => {
                self.prompt = Some(prompt);
                EditorOutcome::None
            }
        }
    }

    /// Searches while the pattern is being typed.
    pub(super) fn prompt_changed(&mut self) -> EditorOutcome {
        let Some(prompt) = &self.prompt else {
            return EditorOutcome::None;
        };
        let Question::Find(direction) = prompt.question else {
            return EditorOutcome::None;
        };
        let origin = prompt.origin;
        self.needle = SearchPattern::new(prompt.input.text(), prompt.syntax);
        self.jump(origin);
        if self.needle.is_some() {
            // vi never matches at the cursor itself.
            let start = match self.vi {
                Some(_) => Start::Next,
                None => Start::Here,
            };
            self.find_next(direction, start);
        }
        EditorOutcome::None
    }

    fn answer(&mut self, prompt: EditorPrompt) -> EditorOutcome {
        let text = prompt.input.text().to_owned();
        match prompt.question {
            Question::Find(direction) => {
                if text.is_empty() {
                    return EditorOutcome::None;
                }
                if let Some(vi) = &mut self.vi {
                    vi.search_direction = direction;
                }
                match &self.needle {
                    Some(needle) if self.is_at(needle) => EditorOutcome::None,
                    Some(_) => EditorOutcome::Message(format!("no match for {text}")),
                    None => EditorOutcome::Message(format!("{text} is not an expression")),
                }
            }
            Question::Replace => {
                let outcome = self.replace_here(&text);
                self.prompt = Some(prompt);
                outcome
            }
            Question::Line => match text.trim().parse::<usize>() {
                Ok(number) => self.go_to_line(number),
                Err(_) => EditorOutcome::Message(format!("'{text}' is not a line number")),
            },
            Question::Command => self.command(text.trim()),
        }
    }

    /// Goes to a line, counted from 1.
    fn go_to_line(&mut self, number: usize) -> EditorOutcome {
        let row = number.clamp(1, self.lines().len()) - 1;
        self.jump(TextPosition::new(row, 0));
        EditorOutcome::None
    }

    fn is_at(&self, needle: &SearchPattern) -> bool {
        needle
            .matches(self.buffer.line(self.cursor.row))
            .any(|range| range.start == self.cursor.at)
    }

    /// Replaces the match at the cursor and goes to the next.
    fn replace_here(&mut self, with: &str) -> EditorOutcome {
        let Some(needle) = self.needle.clone() else {
            return EditorOutcome::None;
        };
        let row = self.cursor.row;
        let line = self.buffer.line(row).to_owned();
        let found = needle
            .matches(&line)
            .find(|range| range.start == self.cursor.at);
        let Some(found) = found else {
            return self.find_next(MoveDirection::Forward, Start::Here);
        };
        let new = needle.replaced(&line, &found, with);
        let outcome = self.edit(EditKind::Single, |editor| {
            let range = TextPosition::new(row, found.start)..TextPosition::new(row, found.end);
            editor.cursor = editor.buffer.replace(range, &new);
        });
        self.find_next(MoveDirection::Forward, Start::Here);
        outcome
    }

    fn replace_every(&mut self, with: &str) -> EditorOutcome {
        let Some(needle) = self.needle.clone() else {
            return EditorOutcome::None;
        };
        let count = self.replace_rows(&needle, with, 0..self.lines().len());
        EditorOutcome::Message(format!("{count} replaced"))
    }

    /// Runs a command typed after `:`.
    fn command(&mut self, text: &str) -> EditorOutcome {
        match text {
            "" => EditorOutcome::None,
            "w" | "write" => EditorOutcome::Save,
            "q" | "quit" => EditorOutcome::Leave,
            "wq" | "x" => EditorOutcome::SaveAndLeave,
            "q!" | "quit!" => EditorOutcome::Discard,
            "noh" | "nohlsearch" => {
                self.needle = None;
                EditorOutcome::None
            }
            _ => {
                if let Ok(number) = text.parse::<usize>() {
                    return self.go_to_line(number);
                }
                self.substitute(text)
                    .unwrap_or_else(|| EditorOutcome::Message(format!("no command :{text}")))
            }
        }
    }

    /// Runs `:s/this/that/` on the line, or `:%s/this/that/g` on the text. Replaces every match
    /// of a line, with or without `g`. `None` if the command is not a valid substitution.
    fn substitute(&mut self, text: &str) -> Option<EditorOutcome> {
        let (rows, rest) = match text.strip_prefix('%') {
            Some(rest) => (0..self.lines().len(), rest),
            None => (self.cursor.row..self.cursor.row + 1, text),
        };
        let rest = rest.strip_prefix('s')?;
        let mark = rest.chars().next().filter(|c| !c.is_alphanumeric())?;
        let mut parts = rest[mark.len_utf8()..].split(mark);
        let (this, that) = (parts.next()?, parts.next().unwrap_or_default());
        let needle = SearchPattern::new(this, Syntax::Regex)?;
        let count = self.replace_rows(&needle, that, rows);
        Some(EditorOutcome::Message(format!("{count} replaced")))
    }
}
