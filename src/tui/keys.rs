//! Keys written as text, such as `i x <esc> <c-w>`, for tests.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// Parses `text` into keys: single characters, optionally separated by blanks, and names in `<…>`;
/// `<space>` is the blank.
pub(crate) fn keys(text: &str) -> Vec<KeyEvent> {
    let mut keys = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let named = rest
            .strip_prefix('<')
            .and_then(|inner| inner.split_once('>'))
            .and_then(|(name, after)| Some((named(name)?, after)));
        if let Some((key, after)) = named {
            keys.push(key);
            rest = after;
        } else {
            if c != ' ' {
                keys.push(KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE));
            }
            rest = &rest[c.len_utf8()..];
        }
    }
    keys
}

fn named(name: &str) -> Option<KeyEvent> {
    let mut modifiers = KeyModifiers::NONE;
    let mut name = name;
    while let Some((head, tail)) = name.split_once('-').filter(|(_, tail)| !tail.is_empty()) {
        modifiers |= match head {
            "c" => KeyModifiers::CONTROL,
            "a" => KeyModifiers::ALT,
            "s" => KeyModifiers::SHIFT,
            _ => return None,
        };
        name = tail;
    }
    let code = match name {
        "esc" => KeyCode::Esc,
        "cr" => KeyCode::Enter,
        "tab" => KeyCode::Tab,
        "backtab" => KeyCode::BackTab,
        "space" => KeyCode::Char(' '),
        "bs" => KeyCode::Backspace,
        "del" => KeyCode::Delete,
        "left" => KeyCode::Left,
        "right" => KeyCode::Right,
        "up" => KeyCode::Up,
        "down" => KeyCode::Down,
        "home" => KeyCode::Home,
        "end" => KeyCode::End,
        "f5" => KeyCode::F(5),
        "pageup" => KeyCode::PageUp,
        "pagedown" => KeyCode::PageDown,
        other => KeyCode::Char(
            other
                .chars()
                .next()
                .filter(|c| c.len_utf8() == other.len())?,
        ),
    };
    Some(KeyEvent::new(code, modifiers))
}
