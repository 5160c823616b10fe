//! The keys as a table of the README, which a test compares with this.

use super::{Binding, KeyContext, Keymap};
use crate::tui::action::Action;

/// The places that the table tells of, and what they are called there.
const PLACES: [(KeyContext, &str); 7] = [
    (KeyContext::Browse, "Tree and preview"),
    (KeyContext::Tree, "Tree"),
    (KeyContext::Preview, "Preview"),
    (KeyContext::Find, "Find"),
    (KeyContext::Log, "Log"),
    (KeyContext::Editor, "Editor"),
    (KeyContext::History, "History"),
];

/// What moves is told once: it is the same wherever it is not typed.
const MOVES: [Action; 10] = [
    Action::Down,
    Action::Up,
    Action::Right,
    Action::Left,
    Action::HalfDown,
    Action::HalfUp,
    Action::PageDown,
    Action::PageUp,
    Action::Top,
    Action::Bottom,
];

/// What does the same in every place is told in the first.
const EVERYWHERE: [Action; 4] = [Action::Help, Action::Palette, Action::Suspend, Action::Back];

/// The keys of the main places in Markdown, as the README shows them.
pub fn markdown() -> String {
    let keymap = Keymap::new();
    let mut table = "| key | | key | |\n| --- | --- | --- | --- |\n".to_owned();
    let own = |context: KeyContext| {
        let rows = keymap.rows.get(&context).map_or(&[][..], Vec::as_slice);
        rows.iter().filter(|row| !row.on.is_empty())
    };
    let moves: Vec<&Binding> = own(KeyContext::Tree)
        .filter(|row| MOVES.contains(&row.run))
        .collect();
    push(&mut table, "Moving", &moves);
    for (context, name) in PLACES {
        let rows: Vec<&Binding> = own(context)
            .filter(|row| !MOVES.contains(&row.run))
            .filter(|row| context == KeyContext::Browse || !EVERYWHERE.contains(&row.run))
            .collect();
        push(&mut table, name, &rows);
    }
    table
}

/// A heading, and the rows below it two by two.
fn push(table: &mut String, name: &str, rows: &[&Binding]) {
    table.push_str(&format!("| **{name}** | | | |\n"));
    for pair in rows.chunks(2) {
        let cells: Vec<String> = pair.iter().map(|row| cell(row)).collect();
        let second = cells.get(1).map_or("|", String::as_str);
        table.push_str(&format!("| {} | {second} |\n", cells[0]));
    }
}

fn cell(row: &Binding) -> String {
    let keys: Vec<String> = row.on.iter().map(|key| format!("`{key}`")).collect();
    format!("{} | {}", keys.join(" "), row.desc.replace('|', "\\|"))
}
