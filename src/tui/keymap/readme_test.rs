//! The key table of the README, made from the keymap; a test checks that the README has it.

use std::fs;
use std::path::Path;

use super::{Binding, KeyContext, Keymap};
use crate::tui::action::Action;

/// The contexts in the table, and their headings.
const PLACES: [(KeyContext, &str); 9] = [
    (KeyContext::Browse, "Tree and preview"),
    (KeyContext::Tree, "Tree"),
    (KeyContext::Find, "Find"),
    (KeyContext::Log, "Log"),
    (KeyContext::History, "History"),
    (KeyContext::Queue, "Review"),
    (KeyContext::Curate, "Curate"),
    (KeyContext::Timeline, "Timeline"),
    (KeyContext::Context, "Context"),
];

/// Movements, which the README tells in a sentence because they are the same in all contexts.
const MOVES: [Action; 13] = [
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
    Action::ScrollDown,
    Action::ScrollUp,
    Action::PreviousAgent,
];

/// Actions that are the same in every context and are listed only in the first.
const EVERYWHERE: [Action; 13] = [
    Action::Help,
    Action::Palette,
    Action::Undo,
    Action::Redo,
    Action::Reload,
    Action::Suspend,
    Action::Back,
    Action::Zoom,
    Action::Repaint,
    Action::Quit,
    Action::Copy,
    Action::Resume,
    Action::CopyResume,
];

/// Actions that only the help lists.
const UNLISTED: [Action; 13] = [
    Action::Demo,
    Action::Suspend,
    Action::Repaint,
    Action::Reload,
    Action::ListInIndex,
    Action::FoldAll,
    Action::UnfoldAll,
    Action::MarkDown,
    Action::MarkUp,
    Action::PreviousTurn,
    Action::PreviousMatch,
    Action::PreviousHunk,
    Action::ShowWaived,
];

/// Returns the keys of the main contexts as the Markdown table of the README. A row that is the
/// same in a later context is listed once.
fn readme_table() -> String {
    let keymap = Keymap::new();
    let mut table = "| key | | key | | key | |\n| --- | --- | --- | --- | --- | --- |\n".to_owned();
    let own = |context: KeyContext| {
        let rows = keymap.rows.get(&context).map_or(&[][..], Vec::as_slice);
        rows.iter().filter(|row| !row.on.is_empty())
    };
    let mut listed: Vec<&Binding> = Vec::new();
    for (context, name) in PLACES {
        let rows: Vec<&Binding> = own(context)
            .filter(|row| !MOVES.contains(&row.run) && !UNLISTED.contains(&row.run))
            .filter(|row| context == KeyContext::Browse || !EVERYWHERE.contains(&row.run))
            .filter(|row| !listed.iter().any(|known| is_same(known, row)))
            .collect();
        push(&mut table, name, &rows);
        listed.extend(rows);
    }
    table
}

/// Whether two rows say the same; hints do not matter.
fn is_same(one: &Binding, other: &Binding) -> bool {
    (&one.on, one.run, &one.desc) == (&other.on, other.run, &other.desc)
}

/// The number of rows per line.
const PER_LINE: usize = 3;

/// Adds a heading and its rows, three per line.
fn push(table: &mut String, name: &str, rows: &[&Binding]) {
    table.push_str(&format!("| **{name}** | | | | | |\n"));
    for line in rows.chunks(PER_LINE) {
        let mut cells: Vec<String> = line.iter().map(|row| cell(row)).collect();
        cells.resize(PER_LINE, "|".to_owned());
        table.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
}

fn cell(row: &Binding) -> String {
    let keys: Vec<String> = row.on.iter().map(|key| format!("`{key}`")).collect();
    format!("{} | {}", keys.join(" "), row.desc.replace('|', "\\|"))
}

/// The variable that makes the test update the README.
const WRITE: &str = "TOME_WRITE_README";

#[test]
fn the_keys_of_the_readme_are_those_of_the_keymap() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let text = fs::read_to_string(&path).expect("text");
    let (start, end) = ("<!-- keys -->\n", "<!-- /keys -->");
    let (before, rest) = text
        .split_once(start)
        .expect("the README has <!-- keys -->");
    let (table, after) = rest.split_once(end).expect("and <!-- /keys -->");
    let keys = format!("\n{}\n", readme_table());
    if std::env::var_os(WRITE).is_some() {
        fs::write(&path, [before, start, &keys, end, after].concat()).expect("written");
        return;
    }
    assert_eq!(
        table, keys,
        "the keys have changed; {WRITE}=1 cargo test --lib the_keys_of_the_readme writes them"
    );
    assert!(keys.lines().count() <= 62, "it is a short table");
}
