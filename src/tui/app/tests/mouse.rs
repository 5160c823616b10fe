//! The mouse in dialogs and panes, and what is pasted.

use ratatui::crossterm::event::{
    Event as Input, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};

use super::TestApp;
use crate::tui::effect::{Effect, LibraryJob};
use crate::tui::event::Event;
use crate::tui::keymap::KeyContext;
use crate::tui::theme::Background;

impl TestApp {
    /// The first cell of these words on the screen.
    pub(super) fn cell_of(&self, words: &str) -> (u16, u16) {
        let text = self.text();
        let found = text.lines().enumerate().find_map(|(y, line)| {
            let at = line.find(words)?;
            Some((line[..at].chars().count(), y))
        });
        let (x, y) = found.unwrap_or_else(|| panic!("no {words} in\n{text}"));
        let cell = |number: usize| u16::try_from(number).expect("on the screen");
        (cell(x), cell(y))
    }

    pub(super) fn click(&mut self, (column, row): (u16, u16)) -> Vec<Effect> {
        let mouse = MouseEvent {
            kind: MouseEventKind::Down(MouseButton::Left),
            column,
            row,
            modifiers: KeyModifiers::NONE,
        };
        self.tell(Event::Input(vec![Input::Mouse(mouse)]))
    }

    pub(super) fn click_on(&mut self, words: &str) -> Vec<Effect> {
        self.click(self.cell_of(words))
    }

    fn paste(&mut self, text: &str) -> Vec<Effect> {
        self.tell(Event::Input(vec![Input::Paste(text.to_owned())]))
    }
}

#[test]
fn the_hints_on_the_border_of_a_dialog_can_be_clicked() {
    let mut ui = TestApp::at_auth();
    ui.after("r").is_in(KeyContext::Prompt);
    ui.click_on("to    auth");
    assert_eq!(ui.place(), KeyContext::Prompt, "elsewhere, nothing happens");
    ui.press("<c-u> x");
    let effects = ui.click_on("Enter go on");
    let is_plan = |effect: &Effect| matches!(effect, Effect::Library(LibraryJob::Plan { .. }));
    assert!(effects.iter().any(is_plan), "{effects:?}");
    ui.click_on("Esc back");
    ui.is_in(KeyContext::Tree);

    let effects = ui.press("d");
    ui.planned(&effects);
    ui.is_in(KeyContext::Deleting);
    let effects = ui.click_on("y delete 1 memory");
    assert!(matches!(effects[..], [Effect::Write(_)]), "{effects:?}");
    ui.is_in(KeyContext::Tree);

    for (keys, hint) in [("?", "Esc back"), (":", "Esc back"), ("n", "Esc back")] {
        ui.press(keys);
        assert_ne!(ui.place(), KeyContext::Tree, "{keys}");
        ui.click_on(hint);
        assert_eq!(ui.place(), KeyContext::Tree, "{keys}");
    }
}

#[test]
fn a_field_of_the_form_is_gone_to_by_a_click_and_turned_by_another() {
    let mut ui = TestApp::at_auth();
    ui.press("n");
    ui.click_on("about ");
    ui.press("t e a");
    ui.row_has("about ", "tea");
    ui.click_on("kind ");
    let before = ui.row("kind ");
    ui.click_on("kind ");
    assert_ne!(ui.row("kind "), before, "{}", ui.text());
}

#[test]
fn what_is_pasted_into_one_line_has_no_control_characters() {
    let mut ui = TestApp::at_auth();
    ui.press("n");
    ui.paste("My\nnew \u{7}\u{1b}[31mname\u{0}\ttoo\r\n");
    ui.row_has("name ", "My new [31mname too");
    ui.row_has("file ", "my_new");
}

#[test]
fn a_folded_section_lists_its_memories_beside_it() {
    let mut ui = TestApp::sized(120, 28, Background::Dark);
    ui.after("j").shows(["User Preferences —"]);
    ui.after("h").is_at("▸ User").shows(["User Preferences —"]);
}

#[test]
fn a_history_without_changes_offers_nothing_to_undo() {
    let mut ui = TestApp::new();
    ui.press("g H");
    ui.tell(Event::HistoryLoaded(Vec::new()));
    let text = ui.text();
    let hints = text.lines().last().unwrap_or_default();
    ui.is_in(KeyContext::History);
    assert!(!hints.contains("undo this"), "{hints}");
    assert!(!hints.contains("restore"), "{hints}");
    assert!(hints.contains("Esc back"), "{hints}");
}

#[test]
fn a_pane_with_the_whole_screen_says_how_to_leave_it() {
    let mut ui = TestApp::new();
    let hints = |ui: &TestApp| ui.text().lines().last().unwrap_or_default().to_owned();
    assert!(!hints(&ui).contains("both panes"));
    ui.press("+");
    assert!(hints(&ui).contains("+ both panes"), "{}", hints(&ui));
    ui.click_on("+ both panes");
    assert!(!hints(&ui).contains("both panes"), "{}", hints(&ui));
}

#[test]
fn another_agent_is_chosen_by_a_click_on_its_name() {
    let mut ui = TestApp::sized(120, 28, Background::Dark);
    ui.after("i").shows(["context · claude-code"]);
    ui.click_on("codex ");
    ui.shows(["context · codex"]);
    ui.click_on("claude-code ");
    ui.shows(["context · claude-code"]);
}

#[test]
fn the_wheel_moves_in_a_list_to_choose_from() {
    let mut ui = TestApp::at_auth();
    ui.after("M").is_in(KeyContext::List);
    let first = ui.row("│ ▌");
    let (column, row) = ui.cell_of("│ ▌");
    let mut wheel = |kind| {
        let mouse = MouseEvent {
            kind,
            column: column + 4,
            row,
            modifiers: KeyModifiers::NONE,
        };
        ui.tell(Event::Input(vec![Input::Mouse(mouse)]));
        ui.row("│ ▌")
    };
    assert_ne!(wheel(MouseEventKind::ScrollDown), first);
    assert_eq!(wheel(MouseEventKind::ScrollUp), first);
}
