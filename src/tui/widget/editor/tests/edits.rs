//! What counts as an edit, what selects, text objects and repeats, and long lines.

use super::*;

/// Clicks on a cell of the text, counted from its first column and row.
fn click(editor: &mut Editor, (column, row): (u16, u16), time: u64) {
    let area = Rect::new(0, 0, 60, 12);
    let event = MouseEvent {
        kind: MouseEventKind::Down(MouseButton::Left),
        column: column + editor.gutter(),
        row,
        modifiers: KeyModifiers::NONE,
    };
    editor.mouse(event, area, Duration::from_millis(time));
}

fn selected(editor: &Editor) -> Option<String> {
    editor.selection().map(|range| editor.buffer.slice(&range))
}

#[test]
fn two_clicks_select_a_word_and_three_a_line() {
    for flavour in [EditorKeys::Readline, EditorKeys::Vi] {
        let mut some = editor(flavour, "|one two_2, three\nnext");
        click(&mut some, (6, 0), 1_000);
        assert_eq!(selected(&some), None);
        click(&mut some, (6, 0), 1_200);
        assert_eq!(selected(&some).as_deref(), Some("two_2"), "{flavour:?}");
        click(&mut some, (6, 0), 1_400);
        assert_eq!(selected(&some).as_deref(), Some("one two_2, three"));
        click(&mut some, (6, 0), 9_000);
        assert_eq!(selected(&some), None, "a later click is a single one");
        click(&mut some, (0, 0), 9_100);
        assert_eq!(selected(&some), None, "elsewhere, too");
    }
    let mut some = editor(EditorKeys::Readline, "|one two");
    click(&mut some, (5, 0), 1);
    click(&mut some, (5, 0), 2);
    press(&mut some, "x");
    assert_eq!(some.text(), "one x");
}

#[test]
fn text_objects() {
    vi("say |hello now", "c i w H I <esc>", "say H|I now");
    vi("say he|llo now", "d a w", "say |now");
    vi("say hel|lo", "d a w", "sa|y");
    vi("say| hello", "d i w", "say|hello");
    vi("a-b|c d", "d i W", "| d");
    vi(
        "x = \"a |b\" + \"c\"",
        "c i \" z <esc>",
        "x = \"|z\" + \"c\"",
    );
    vi("|x = \"ab\" + c", "d a \"", "x = |+ c");
    vi("x = '|a\\'b' c", "d i '", "x = '|' c");
    vi("f(a, (|b), c)", "d i (", "f(a, (|), c)");
    vi("f(a, |(b), c)", "d a b", "f(a, |, c)");
    vi("f(a,| (b), c) g", "c i ) x <esc>", "f(|x) g");
    vi("f[\n  |a,\n]", "d i [", "f[|]");
    vi("f {|}", "c i { x <esc>", "f {|x}");
    vi("a\n\none\nt|wo\n\nb", "d a p", "a\n\n|b");
    vi("a\n\none\nt|wo\n\nb", "d i p", "a\n\n|\nb");
    vi("say |hello now", "v i w d", "say | now");
    vi("f(a|b)", "v i ( c x <esc>", "f(|x)");
    vi("say |hello", "d i z x", "say |ello");
    vi("on|e two", "y i w $ p", "one twoon|e");
}

#[test]
fn the_last_change_is_repeated_whatever_it_was() {
    vi("|a\nb\nc\nd", "d d .", "|c\nd");
    vi("|one two", "c i w x <esc> w .", "x |x");
    vi("f(|a) g(b)", "c i ( z <esc> 5 l .", "f(z) g(|z)");
    vi("|aaaa", "x . .", "|a");
    vi("|a\nb", "A ! <esc> j .", "a!\nb|!");
    vi("|a b c", "d a w . u", "|b c");
}

#[test]
fn every_kind_of_edit_counts() {
    for (flavour, typed) in [
        (EditorKeys::Readline, "x"),
        (EditorKeys::Readline, "<c-f> a <tab> b <a-cr>"),
        (EditorKeys::Readline, "<c-f> a <tab> b <cr>"),
        (EditorKeys::Vi, "d d"),
        (EditorKeys::Vi, ": % s / a / b <cr>"),
        (EditorKeys::Vi, "~"),
    ] {
        let mut some = editor(flavour, "|a a\na a");
        let before = some.revision();
        press(&mut some, typed);
        assert_ne!(some.revision(), before, "{typed}");
        assert_ne!(some.text(), "a a\na a", "{typed}");
    }
    let mut some = editor(EditorKeys::Vi, "|a\nb\nc");
    press(&mut some, "d d");
    let before = some.revision();
    press(&mut some, ".");
    assert_ne!(some.revision(), before);
    assert_eq!(some.text(), "c");
    let before = some.revision();
    press(&mut some, "j k l h");
    assert_eq!(some.revision(), before, "a move is no edit");
}

#[test]
fn another_version_is_taken_as_one_edit() {
    let mut some = editor(EditorKeys::Readline, "a\nb|\nc\n");
    some.replace_text("a\nB\nnew\nc\n");
    assert_eq!(some.text(), "a\nB\nnew\nc\n");
    press(&mut some, "<c-z>");
    assert_eq!(some.text(), "a\nb\nc\n");
    press(&mut some, "<c-r>");
    for text in ["a\r\nb\r\n", "a", "", "a\nb\nc\nd\ne\n"] {
        let before = some.revision();
        some.replace_text(text);
        assert_eq!(some.text(), text);
        assert_ne!(some.revision(), before);
    }
}

#[test]
fn an_editor_that_is_opened_again_can_undo() {
    let mut some = editor(EditorKeys::Readline, "|b");
    press(&mut some, "a");
    let mut again = Editor::restore(some.state()).with_flavour(EditorKeys::Readline);
    assert_eq!(shown(&again), "a|b");
    press(&mut again, "<c-z>");
    assert_eq!(shown(&again), "|b");
}

/// Counts how often long lines were wrapped: once for each text and width.
#[test]
fn a_long_line_is_wrapped_once_for_all_uses() {
    let line = format!("|{}", "word 한글 ".repeat(2_000));
    let mut some = editor(EditorKeys::Readline, &line);
    press(&mut some, "<down> <down> <end> <up> <pagedown>");
    let width = some.screen.width;
    let rows = some.buffer.rows(0, width);
    let again = some.buffer.rows(0, width);
    assert!(Arc::ptr_eq(&rows, &again));
    assert_eq!(*rows, *crate::tui::cells::rows(&some.lines()[0], width));
    press(&mut some, "x");
    assert!(
        !Arc::ptr_eq(&rows, &some.buffer.rows(0, width)),
        "after an edit anew"
    );
    // A row in the middle is drawn as if the line were short.
    let seen = some.screen.visible_rows(&some.buffer);
    let text = &some.lines()[0];
    for row in &seen {
        let cells: usize = crate::tui::cells::cells_in(text, row.row.range.clone(), row.row.column)
            .map(|cell| cell.width)
            .sum();
        let next = rows
            .get(row.nth + 1)
            .map_or(cells, |next| next.column - row.row.column);
        assert!(cells.abs_diff(next) <= 1 || row.nth == 0, "row {}", row.nth);
    }
}
