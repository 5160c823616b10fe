//! The command palette: every action of the current context, with its keys.

use super::chooser::{Chooser, ChooserOption};
use crate::tui::action::Action;
use crate::tui::keymap::{KeyContext, Keymap};
use crate::tui::pane::Step;

/// Actions that are left out of the palette.
const OBVIOUS: [Action; 10] = [
    Action::Left,
    Action::Right,
    Action::Up,
    Action::Down,
    Action::PageUp,
    Action::PageDown,
    Action::HalfUp,
    Action::HalfDown,
    Action::Palette,
    Action::Back,
];

pub(crate) fn palette(keymap: &Keymap, context: KeyContext) -> Chooser {
    let chooser = Chooser::new("do", options(keymap, context));
    chooser.with_width(80).with_search(rank)
}

fn options(keymap: &Keymap, context: KeyContext) -> Vec<ChooserOption> {
    let rows = keymap.rows(context).into_iter();
    rows.filter(|row| !OBVIOUS.contains(&row.run))
        .map(|row| ChooserOption {
            label: row.desc.clone(),
            detail: row.keys(),
            step: Step::Act(row.run),
        })
        .collect()
}

fn action_of(option: &ChooserOption) -> Option<Action> {
    match option.step {
        Step::Act(action) => Some(action),
        _ => None,
    }
}

/// Those that have all typed words, the ones first whose name begins with them.
fn rank(option: &ChooserOption, typed: &str) -> Option<u8> {
    let desc = option.label.to_lowercase();
    let also = action_of(option).map_or("", Action::also);
    let all = format!("{desc} {}", also.to_lowercase());
    let begins = |text: &str, word: &str| {
        let mut parts = text.split(|c: char| !c.is_alphanumeric() && c != '$' && c != '?');
        parts.any(|part| part.starts_with(word))
    };
    let mut rank = 0;
    for word in typed.split_whitespace() {
        let one = match () {
            () if desc.starts_with(word) => 0,
            () if begins(also, word) => 1,
            () if begins(&desc, word) => 2,
            () if all.contains(word) => 3,
            () => return None,
        };
        rank = rank.max(one);
    }
    Some(rank)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_action_is_found_by_its_common_names() {
        let keymap = Keymap::new();
        let best = |typed: &str| {
            let options = options(&keymap, KeyContext::Tree).into_iter();
            let ranked = options.filter_map(|one| Some((rank(&one, typed)?, one)));
            let (_, best) = ranked.min_by_key(|(rank, _)| *rank)?;
            assert!(!best.detail.is_empty(), "{typed} has no key");
            action_of(&best)
        };
        for (typed, expected) in [
            ("rename", Action::Rename),
            ("undo", Action::Undo),
            ("redo", Action::Redo),
            ("quit", Action::Quit),
            ("exit", Action::Quit),
            ("history", Action::History),
            ("review", Action::Review),
            ("accept", Action::Review),
            ("inbox", Action::Review),
            ("filter", Action::Filter),
            ("find", Action::Find),
            ("search", Action::Find),
            ("grep", Action::Find),
            ("narrow", Action::Filter),
            ("help", Action::Help),
            ("reload", Action::Reload),
            ("refresh", Action::Reload),
            ("resume", Action::Resume),
            ("continue", Action::Resume),
            ("duplicate", Action::Duplicate),
            ("clone", Action::Duplicate),
            ("delete", Action::Delete),
            ("remove", Action::Delete),
            ("new", Action::New),
            ("create", Action::New),
            ("edit", Action::Edit),
            ("move", Action::Move),
            ("mark", Action::Mark),
            ("sort", Action::Sort),
            ("copy", Action::Copy),
            ("scope", Action::Scope),
            ("fold", Action::FoldAll),
            ("expand", Action::UnfoldAll),
            ("repaint", Action::Repaint),
            ("suspend", Action::Suspend),
            ("agent", Action::Agent),
            ("preview", Action::TogglePreview),
            ("source", Action::ToggleSource),
            ("demo", Action::Demo),
        ] {
            assert_eq!(best(typed), Some(expected), "{typed}");
        }
        assert!(best("restore").is_some(), "by way of the history");
        assert_eq!(best("dance"), None);
    }
}
