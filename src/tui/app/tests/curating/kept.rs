//! Tests of what is kept: waived findings, pinned memories, and the place in the list.

use super::*;

#[test]
fn a_finding_is_waived_with_words_shown_on_request_and_opened_again() {
    let mut curating = Curating::new();
    curating.select("gone.md");
    curating.ui.press("w");
    assert_eq!(curating.ui.place(), KeyContext::Prompt);
    assert_eq!(curating.ui.press("<cr>"), [], "it asks for words");
    let effects = curating.ui.press("soon <cr>");
    curating.waive(&effects);
    assert!(
        curating
            .ui
            .text()
            .contains("1 finding waived · u undoes it")
    );
    assert!(
        !curating.ui.text().contains("gone.md"),
        "{}",
        curating.ui.text()
    );
    assert!(curating.here().contains("lost.md"), "{}", curating.here());
    curating.ui.press("W");
    curating.select("gone.md");
    assert!(curating.here().ends_with("waived"), "{}", curating.here());
    let text = curating.ui.text();
    assert!(text.contains("waived on 2026-02-12 by kim: soon"), "{text}");
    // Again opens it; undo waives it again, undo of that opens it.
    let effects = curating.ui.press("w");
    curating.waive(&effects);
    assert!(!curating.here().contains("waived"), "{}", curating.here());
    let effects = curating.ui.press("u");
    curating.waive(&effects);
    assert!(curating.here().ends_with("waived"), "{}", curating.here());
    let effects = curating.ui.press("u");
    curating.waive(&effects);
    assert!(!curating.here().contains("waived"), "{}", curating.here());
    let effects = curating.ui.press("<c-r>");
    curating.waive(&effects);
    assert!(curating.here().ends_with("waived"), "{}", curating.here());
}

#[test]
fn a_pinned_memory_has_no_open_findings() {
    let mut curating = Curating::new();
    curating.select("gone.md");
    let effects = curating.ui.press("P");
    curating.waive(&effects);
    let text = curating.ui.text();
    assert!(
        !text.contains("gone.md") && !text.contains("lost.md"),
        "{text}"
    );
    let effects = curating.ui.press("u");
    curating.waive(&effects);
    assert!(curating.ui.text().contains("lost.md"), "one undo");
}

#[test]
fn a_change_outside_is_checked_and_keeps_the_cursor_the_marks_and_the_folds() {
    let mut curating = Curating::new();
    curating.select("empty");
    curating.ui.press("h");
    curating.select("lost.md");
    curating.ui.press("<space> k");
    assert!(curating.here().contains("lost.md"), "{}", curating.here());
    let index = curating
        .read("MEMORY.md")
        .replace("- [Gone](gone.md) - d\n", "");
    let effects = curating.write("MEMORY.md", &index);
    assert!(
        curating.ui.text().contains("gone.md"),
        "until the check is finished"
    );
    curating.check(&effects);
    let text = curating.ui.text();
    assert!(!text.contains("gone.md"), "{text}");
    assert!(curating.here().contains("✓ lost.md"), "{}", curating.here());
    assert!(text.contains("▸ empty"), "{text}");
    // The logs changed, the stores did not.
    let library = Arc::clone(&curating.ui.library);
    assert_eq!(curating.ui.tell(Event::Indexed(library)), []);
}

#[test]
fn escape_takes_the_marks_away_and_then_leaves() {
    let mut curating = Curating::new();
    curating.ui.press("<space> <esc>");
    assert_eq!(curating.ui.place(), KeyContext::Curate);
    assert!(!curating.ui.text().contains("marked"));
    curating.ui.press("<esc>");
    assert_eq!(curating.ui.place(), KeyContext::Tree);
}
