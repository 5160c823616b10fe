//! Maps keys to commands where text is typed: the keys of shells and of common editors.
//!
//! The one-line input and the editor share this, so that the same keys work in both.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// A movement of the cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Motion {
    Left,
    Right,
    /// To the start of the word, or of the previous one.
    WordLeft,
    /// To the end of the word, or of the next one.
    WordRight,
    LineStart,
    LineEnd,
    Up,
    Down,
    PageUp,
    PageDown,
    Start,
    End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Command {
    Insert(char),
    Newline,
    Indent,
    Dedent,
    Move(Motion),
    /// Move the cursor and extend the selection.
    Select(Motion),
    SelectAll,
    /// Delete up to the target of a motion.
    Delete(Motion),
    /// Delete likewise, for [`Command::Paste`] to insert again.
    Kill(Motion),
    Copy,
    /// Delete the selection, for [`Command::Paste`] to insert again.
    Cut,
    /// Insert the text that was copied or killed last.
    Paste,
    Undo,
    Redo,
}

pub(crate) fn command(key: KeyEvent) -> Option<Command> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let alt = key.modifiers.contains(KeyModifiers::ALT);
    match key.code {
        // AltGr arrives as control and alt together and types the character itself.
        KeyCode::Char(c) if control == alt => Some(Command::Insert(c)),
        KeyCode::Char(c) if control => control_key(c.to_ascii_lowercase()),
        KeyCode::Char(c) => alt_key(c),
        KeyCode::Enter => Some(Command::Newline),
        KeyCode::Tab => Some(Command::Indent),
        KeyCode::BackTab => Some(Command::Dedent),
        KeyCode::Backspace if control || alt => Some(Command::Kill(Motion::WordLeft)),
        KeyCode::Backspace => Some(Command::Delete(Motion::Left)),
        KeyCode::Delete if control || alt => Some(Command::Kill(Motion::WordRight)),
        KeyCode::Delete => Some(Command::Delete(Motion::Right)),
        code => {
            let motion = moving(code, control || alt)?;
            Some(if key.modifiers.contains(KeyModifiers::SHIFT) {
                Command::Select(motion)
            } else {
                Command::Move(motion)
            })
        }
    }
}

fn moving(code: KeyCode, far: bool) -> Option<Motion> {
    Some(match code {
        KeyCode::Left if far => Motion::WordLeft,
        KeyCode::Right if far => Motion::WordRight,
        KeyCode::Home if far => Motion::Start,
        KeyCode::End if far => Motion::End,
        KeyCode::Left => Motion::Left,
        KeyCode::Right => Motion::Right,
        KeyCode::Up => Motion::Up,
        KeyCode::Down => Motion::Down,
        KeyCode::Home => Motion::LineStart,
        KeyCode::End => Motion::LineEnd,
        KeyCode::PageUp => Motion::PageUp,
        KeyCode::PageDown => Motion::PageDown,
        _ => return None,
    })
}

fn control_key(c: char) -> Option<Command> {
    Some(match c {
        'a' => Command::Move(Motion::LineStart),
        'e' => Command::Move(Motion::LineEnd),
        'b' => Command::Move(Motion::Left),
        'f' => Command::Move(Motion::Right),
        'p' => Command::Move(Motion::Up),
        'n' => Command::Move(Motion::Down),
        'h' => Command::Delete(Motion::Left),
        'd' => Command::Delete(Motion::Right),
        'w' => Command::Kill(Motion::WordLeft),
        'u' => Command::Kill(Motion::LineStart),
        'k' => Command::Kill(Motion::LineEnd),
        'y' | 'v' => Command::Paste,
        'c' => Command::Copy,
        'x' => Command::Cut,
        'z' => Command::Undo,
        'r' => Command::Redo,
        'j' | 'm' => Command::Newline,
        _ => return None,
    })
}

fn alt_key(c: char) -> Option<Command> {
    Some(match c {
        'b' => Command::Move(Motion::WordLeft),
        'f' => Command::Move(Motion::WordRight),
        'd' => Command::Kill(Motion::WordRight),
        'a' => Command::SelectAll,
        '<' => Command::Move(Motion::Start),
        '>' => Command::Move(Motion::End),
        _ => return None,
    })
}
