//! Tests of both flavours: a text, the keys typed, and the text after them.

mod edits;

use proptest::prelude::*;
use ratatui::crossterm::event::{KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Rect;

use super::*;
use crate::tui::dump;
use crate::tui::keys::keys;
use crate::tui::theme::{Background, ColorDepth, Role, Terminal, Theme};

/// Returns an editor with the cursor at `|`.
fn editor(flavour: EditorKeys, text: &str) -> Editor {
    let at = text.find('|').expect("a cursor in the text");
    let row = text[..at].matches('\n').count();
    let column = at - text[..at].rfind('\n').map_or(0, |line| line + 1);
    let mut editor = Editor::of(&text.replacen('|', "", 1)).with_flavour(flavour);
    editor.resize(60, 12);
    editor.go_to(TextPosition::new(row, column));
    editor
}

fn shown(editor: &Editor) -> String {
    let mut lines = editor.lines().to_vec();
    lines[editor.cursor.row].insert(editor.cursor.at, '|');
    lines.join("\n")
}

fn press_at(editor: &mut Editor, key: KeyEvent, time: Duration) -> EditorOutcome {
    let outcome = editor.press(key, time);
    editor.settle();
    outcome
}

fn press(editor: &mut Editor, typed: &str) -> EditorOutcome {
    let mut outcome = EditorOutcome::None;
    for (n, key) in keys(typed).into_iter().enumerate() {
        let time = editor.time + Duration::from_millis(n as u64 % 2);
        outcome = press_at(editor, key, time);
    }
    outcome
}

fn drawn(editor: &Editor, theme: &Theme, width: u16, height: u16) -> String {
    let mut cells = dump::draw(editor.view(theme), width, height);
    let caret = editor.caret(cells.area).expect("seen");
    cells[caret].set_style(theme.style(Role::Cursor));
    dump::styled(&cells, theme)
}

fn check_in(flavour: EditorKeys, before: &str, typed: &str, after: &str) {
    let mut editor = editor(flavour, before);
    press(&mut editor, typed);
    assert_eq!(shown(&editor), after, "{before:?} + {typed}");
}

fn check(before: &str, typed: &str, after: &str) {
    check_in(EditorKeys::Readline, before, typed, after);
}

fn vi(before: &str, typed: &str, after: &str) {
    check_in(EditorKeys::Vi, before, typed, after);
}

#[test]
fn typing_and_deleting() {
    check("a|b", "x", "ax|b");
    check("a|b", "<cr>", "a\n|b");
    check("  a|b", "<cr> x", "  a\n  x|b");
    check("a|b", "<bs> <del>", "|");
    check("a\n|b", "<bs>", "a|b");
    check("a|\nb", "<del>", "a|b");
    check("one two|", "<c-w>", "one |");
    check("one |two", "<a-d>", "one |");
    check("one| two", "<c-k> <c-k>", "one|");
    check("one|\ntwo", "<c-k>", "one|two");
    check("one two|", "<c-u> x <c-y>", "xone two|");
    check("a👩‍👩‍👧|b", "<bs>", "a|b");
    check("e\u{301}|x", "<bs>", "|x");
    check("|한글", "<right> <del>", "한|");
    check("|a", "<tab>", "  |a");
    check("    a|", "<backtab>", "  a|");
    check("|", "한 <space> 글", "한 글|");
}

#[test]
fn moving() {
    check("one |two", "<home> <end> <left>", "one tw|o");
    check("one two|", "<a-b>", "one |two");
    check("|one two", "<a-f>", "one| two");
    check("one|\ntwo", "<right>", "one\n|two");
    check("abc|\nd\nefg", "<down> <down>", "abc\nd\nefg|");
    check("ab|c\nd", "<down> <up>", "ab|c\nd");
    check("a|b\nc", "<up>", "|ab\nc");
    check("ab\n|c", "<down>", "ab\nc|");
    check("a\nb|\nc", "<c-home> <c-end>", "a\nb\nc|");
    check("한글|\nabcd", "<down>", "한글\nabcd|");
    check("a\nb\n|c", "<c-g> 2 <cr>", "a\n|b\nc");
}

#[test]
fn selecting_and_the_clipboard() {
    check("|abc", "<s-right> <s-right> x", "x|c");
    check("|abc", "<s-right> <c-x> <end> <c-v>", "bca|");
    check("|abc", "<s-end> <bs>", "|");
    check("|a\nb\nc", "<s-down> <tab>", "  a\n|b\nc");
    check("|a\nb", "<s-down> <s-end> <tab>", "  a\n  b|");
    check("a|\nb", "<a-a> x", "x|");
    check("on|e\ntwo", "<c-x>", "|two");
    let mut some = editor(EditorKeys::Readline, "|abc");
    press(&mut some, "<s-right>");
    assert_eq!(
        press(&mut some, "<c-c>"),
        EditorOutcome::Copied("a".to_owned())
    );
    assert_eq!(some.paste("x\r\ny", Duration::ZERO), EditorOutcome::Changed);
    assert_eq!(some.text(), "x\nybc");
}

#[test]
fn undo_takes_back_words_and_pauses() {
    check("|", "o n e <space> t w o <c-z>", "one |");
    check("|", "o n e <space> t w o <c-z> <c-z>", "|");
    check("|", "o n e <c-z> <c-r>", "one|");
    check("|", "a b <left> c <c-z>", "a|b");
    check("abc|", "<bs> <bs> <c-z>", "abc|");
    let mut some = editor(EditorKeys::Readline, "|");
    for (key, seconds) in keys("ab").into_iter().zip([0, 5]) {
        press_at(&mut some, key, Duration::from_secs(seconds));
    }
    press(&mut some, "<c-z>");
    assert_eq!(some.text(), "a", "a pause parts what is undone");
    press(&mut some, "<c-z>");
    assert_eq!(
        press(&mut some, "<c-z>"),
        EditorOutcome::Message("nothing to undo".to_owned())
    );
}

#[test]
fn saving_and_leaving_are_the_apps() {
    let mut some = editor(EditorKeys::Readline, "|abc abc");
    assert_eq!(press(&mut some, "x <c-s>"), EditorOutcome::Save);
    press(&mut some, "<c-f> a b c <cr>");
    assert_eq!(
        press(&mut some, "<esc>"),
        EditorOutcome::None,
        "the matches"
    );
    assert_eq!(press(&mut some, "<esc>"), EditorOutcome::Leave);
    assert_eq!(press(&mut some, "<c-o>"), EditorOutcome::Unused);
}

#[test]
fn finding_and_replacing() {
    check("|a b ab", "<c-f> a b <cr>", "a b |ab");
    check("|a b ab", "<c-f> z <cr>", "|a b ab");
    check("|a b ab", "<c-f> a b <esc>", "|a b ab");
    check("a |x\nA", "<c-f> a <cr>", "a x\n|A");
    check("|a b a", "<c-f> a <tab> x <cr> <cr> <esc>", "x b x|");
    check("|a b a", "<c-f> a <tab> x <a-cr>", "|x b x");
    check(
        "|a1 b2",
        "<c-f> <a-r> ( [ab] ) \\ d <tab> $ 1 ! <a-cr>",
        "|a! b!",
    );
    check("|a b a", "<c-f> a <tab> x <a-cr> <c-z>", "|a b a");
    vi("|a b ab", "/ a b <cr>", "a b |ab");
    vi("|a b a", "/ a <cr>", "a b |a");
    vi("|a b a", "/ a <cr> n", "|a b a");
    vi("a b |a", "? a <cr> N", "a b |a");
    vi("|a b a\na", ": s / a / x / <cr>", "|x b x\na");
    vi("|a\na", ": % s / a / x / g <cr>", "|x\nx");
    vi("|a\nb\nc", ": 3 <cr>", "a\nb\n|c");
}

#[test]
fn vi_moves() {
    vi("|one two, x", "w w", "one two|, x");
    vi("one two|", "b", "one |two");
    vi("|one two", "e", "on|e two");
    vi("|one two", "e e", "one tw|o");
    vi("|one\n\ntwo", "w w", "one\n\n|two");
    vi("one|\ntwo", "j k", "on|e\ntwo");
    vi("  ab|c", "0 ^", "  |abc");
    vi("|abc", "$", "ab|c");
    vi("|a\nb\nc", "G", "a\nb\n|c");
    vi("a\nb\n|c", "g g", "|a\nb\nc");
    vi("|a\nb\nc", "2 G", "a\n|b\nc");
    vi("|a b c d", "3 w", "a b c |d");
    vi("|abcabc", "f c ;", "abcab|c");
    vi("abcab|c", "F a", "abc|abc");
    vi("|abc", "t c", "a|bc");
    vi("|a\n\nb", "}", "a\n|\nb");
    vi("|abc", "l l l l h", "a|bc");
    vi("ab|c\nd\nefg", "j j", "ab\u{63}\nd\nef|g");
}

#[test]
fn vi_edits() {
    vi("a|b", "i x <esc>", "a|xb");
    vi("a|b", "a x <esc>", "ab|x");
    vi("a|b", "I x <esc>", "|xab");
    vi("|ab", "A x <esc>", "ab|x");
    vi("  |ab", "o x <esc>", "  ab\n  |x");
    vi("  |ab", "O x <esc>", "  |x\n  ab");
    vi("a|bc", "x", "a|c");
    vi("|abc", "2 x", "|c");
    vi("|a\nb\nc", "d d", "|b\nc");
    vi("a\nb\n|c", "d d", "a\n|b");
    vi("|a\nb\nc", "2 d d", "|c");
    vi("|one two", "d w", "|two");
    vi("one |two", "d w", "one| ");
    vi("|one\ntwo", "d w", "|\ntwo");
    vi("|one two", "c w x <esc>", "|x two");
    vi("|one two", "d e", "| two");
    vi("one tw|o", "d b", "one |o");
    vi("a|bc", "D", "|a");
    vi("a|bc", "C x <esc>", "a|x");
    vi("|abc", "d $", "|");
    vi("a\n|b\nc", "d g g", "|c");
    vi("|a\nb\nc", "d j", "|c");
    vi("|abc", "d f b", "|c");
    vi("|a\nb", "y y p", "a\n|a\nb");
    vi("a\n|b", "y y P", "a\n|b\nb");
    vi("|ab", "x p", "b|a");
    vi("|one two", "y w P", "one| one two");
    vi("|ab", "r x", "|xb");
    vi("|ab", "~ ~", "A|B");
    vi("|a\n  b", "J", "a| b");
    vi("|  a", "c c x <esc>", "  |x");
    vi("|a\nb", "> >", "  |a\nb");
    vi("|abc def", "v e d", "| def");
    vi("|a\nb\nc", "V j d", "|c");
    vi("a|bc", "v $ y P", "ab|cbc");
    vi("|ab cd", "v l c x <esc>", "|x cd");
}

#[test]
fn vi_takes_back_and_repeats() {
    vi("|", "i a <space> b <esc> u", "|");
    vi("|a\nb", "d d u", "|a\nb");
    vi("|a b c", "d w .", "|c");
    vi("|a", "A x <esc> . .", "axx|x");
    vi("|a\nb\nc", "d d . u", "|b\nc");
    vi("|", "i a <esc> u <c-r>", "|a");
    vi("|abc", "x u <c-r>", "|bc");
}

#[test]
fn vi_commands_are_outcomes() {
    let mut some = editor(EditorKeys::Vi, "|a");
    assert_eq!(press(&mut some, ": w <cr>"), EditorOutcome::Save);
    assert_eq!(press(&mut some, ": q <cr>"), EditorOutcome::Leave);
    assert_eq!(press(&mut some, ": w q <cr>"), EditorOutcome::SaveAndLeave);
    assert_eq!(press(&mut some, ": q ! <cr>"), EditorOutcome::Discard);
    assert_eq!(
        press(&mut some, ": z <cr>"),
        EditorOutcome::Message("no command :z".to_owned())
    );
    assert_eq!(
        press(&mut some, "y y"),
        EditorOutcome::Copied("a\n".to_owned())
    );
    assert_eq!(press(&mut some, "i"), EditorOutcome::None);
    assert_eq!(some.mode(), EditorMode::Insert);
    press(&mut some, "<esc>");
    assert_eq!(press(&mut some, "<esc>"), EditorOutcome::Leave);
}

#[test]
fn the_mouse_finds_its_place() {
    let mut some = editor(EditorKeys::Readline, "|한글 abc\nsecond");
    let area = Rect::new(2, 1, 60, 12);
    let mouse = |kind, column, row| MouseEvent {
        kind,
        column,
        row,
        modifiers: KeyModifiers::NONE,
    };
    let left = MouseButton::Left;
    let x = area.x + some.gutter();
    some.mouse(
        mouse(MouseEventKind::Down(left), x + 3, 1),
        area,
        Duration::ZERO,
    );
    assert_eq!(shown(&some), "한|글 abc\nsecond");
    some.mouse(
        mouse(MouseEventKind::Drag(left), x + 2, 2),
        area,
        Duration::ZERO,
    );
    assert_eq!(shown(&some), "한글 abc\nse|cond");
    let range = some.selection().expect("a selection");
    assert_eq!(some.buffer.slice(&range), "글 abc\nse");
    let caret = some.caret(area).expect("seen");
    assert_eq!((caret.x, caret.y), (x + 2, 2));
}

#[test]
fn broken_lines_are_walked_by_rows() {
    let mut some = editor(EditorKeys::Readline, "|one two three four");
    some.resize(5 + 1 + 10, 5);
    press(&mut some, "<down>");
    assert_eq!(shown(&some), "one two |three four");
    press(&mut some, "<end> <up>");
    assert_eq!(some.cursor().at, 7);
}

fn theme(background: Background) -> Theme {
    let depth = ColorDepth::True;
    Theme::new(Terminal { background, depth })
}

fn picture(background: Background) -> String {
    let text = "---\nname: Auth\n---\n## Decision\nUse **JWT** with `rotate` and a line that is long.\n```rust\nfn a() {}\n```\n|done \u{1b}[31m";
    let mut some =
        editor(EditorKeys::Readline, text).with_colours(Syntaxes::shared(), &Language::Markdown);
    some.resize(34, 12);
    press(&mut some, "<s-right> <s-right>");
    let theme = theme(background);
    drawn(&some, &theme, 34, 12)
}

#[test]
fn looks_in_the_dark() {
    insta::assert_snapshot!(picture(Background::Dark), @r##"
    ⟨gutter⟩  1⟨/⟩  ⟨marker⟩---⟨/⟩
    ⟨gutter⟩  2⟨/⟩  ⟨syntax-constant⟩name⟨/⟩⟨marker⟩:⟨/⟩ Auth
    ⟨gutter⟩  3⟨/⟩  ⟨marker⟩---⟨/⟩
    ⟨gutter⟩  4⟨/⟩  ⟨title+marker⟩##⟨/⟩⟨heading⟩ Decision⟨/⟩
    ⟨gutter⟩  5⟨/⟩  Use ⟨marker⟩**⟨/⟩⟨title⟩JWT⟨/⟩⟨marker⟩**⟨/⟩ with ⟨marker⟩`⟨/⟩⟨code⟩rotate⟨/⟩⟨marker⟩`⟨/⟩
    ⟨gutter⟩  ·⟨/⟩  and a line that is long.
    ⟨gutter⟩  6⟨/⟩  ⟨marker⟩```⟨/⟩⟨muted⟩rust⟨/⟩
    ⟨gutter+code-block⟩  7⟨/⟩⟨code-block⟩  ⟨/⟩⟨code-block+syntax-keyword⟩fn⟨/⟩⟨code-block⟩ ⟨/⟩⟨code-block+syntax-function⟩a⟨/⟩⟨muted+code-block⟩()⟨/⟩⟨code-block⟩ ⟨/⟩⟨muted+code-block⟩{}⟨/⟩⟨code-block⟩                    ⟨/⟩
    ⟨gutter⟩  8⟨/⟩  ⟨marker⟩```⟨/⟩
    ⟨accent+cursor-line⟩  9⟨/⟩⟨cursor-line⟩  ⟨/⟩⟨selection⟩do⟨/⟩⟨cursor+cursor-line⟩n⟨/⟩⟨cursor-line⟩e ␛[31m                   ⟨/⟩
    "##);
}

#[test]
fn looks_in_the_light() {
    insta::assert_snapshot!(picture(Background::Light), @r##"
    ⟨gutter⟩  1⟨/⟩  ⟨marker⟩---⟨/⟩
    ⟨gutter⟩  2⟨/⟩  ⟨syntax-constant⟩name⟨/⟩⟨marker⟩:⟨/⟩ Auth
    ⟨gutter⟩  3⟨/⟩  ⟨marker⟩---⟨/⟩
    ⟨gutter⟩  4⟨/⟩  ⟨title+marker⟩##⟨/⟩⟨heading⟩ Decision⟨/⟩
    ⟨gutter⟩  5⟨/⟩  Use ⟨marker⟩**⟨/⟩⟨title⟩JWT⟨/⟩⟨marker⟩**⟨/⟩ with ⟨marker⟩`⟨/⟩⟨code⟩rotate⟨/⟩⟨marker⟩`⟨/⟩
    ⟨gutter⟩  ·⟨/⟩  and a line that is long.
    ⟨gutter⟩  6⟨/⟩  ⟨marker⟩```⟨/⟩⟨muted⟩rust⟨/⟩
    ⟨gutter+code-block⟩  7⟨/⟩⟨code-block⟩  ⟨/⟩⟨code-block+syntax-keyword⟩fn⟨/⟩⟨code-block⟩ ⟨/⟩⟨accent+code-block⟩a⟨/⟩⟨muted+code-block⟩()⟨/⟩⟨code-block⟩ ⟨/⟩⟨muted+code-block⟩{}⟨/⟩⟨code-block⟩                    ⟨/⟩
    ⟨gutter⟩  8⟨/⟩  ⟨marker⟩```⟨/⟩
    ⟨accent+cursor-line⟩  9⟨/⟩⟨cursor-line⟩  ⟨/⟩⟨selection⟩do⟨/⟩⟨cursor+cursor-line⟩n⟨/⟩⟨cursor-line⟩e ␛[31m                   ⟨/⟩
    "##);
}

#[test]
fn the_prompt_stands_in_the_last_row() {
    let mut some = editor(EditorKeys::Readline, "|one\ntwo one");
    some.resize(60, 4);
    press(&mut some, "<c-f> o n e");
    let theme = Theme::default();
    insta::assert_snapshot!(drawn(&some, &theme, 60, 4), @r##"
    ⟨accent⟩  1⟨/⟩  ⟨match-current⟩one⟨/⟩
    ⟨muted⟩  2⟨/⟩  two ⟨match-line⟩one⟨/⟩

     ⟨accent⟩find ⟨/⟩one⟨selection⟩ ⟨/⟩     ⟨muted⟩Enter go  Tab replace  Alt-R regex  Esc back⟨/⟩
    "##);
}

fn any_key() -> impl Strategy<Value = KeyEvent> {
    let all = "a b d w c y p P u v V i o O x $ 0 ^ e G g j k h l 2 J ~ D C . / n : <cr> <esc> <bs> <del> <left> <right> <up> <down> <home> <end> <tab> <backtab> <c-z> <c-r> <c-k> <c-w> <c-u> <c-y> <c-x> <a-a> <s-right> <s-down> <c-f> <pagedown> 한 👩 <space>";
    prop::sample::select(keys(all))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn no_keys_break_the_editor_and_undo_finds_the_start(
        text in "[ab 한\\n]{0,30}",
        typed in prop::collection::vec(any_key(), 0..60),
        is_vi: bool,
    ) {
        let flavour = if is_vi { EditorKeys::Vi } else { EditorKeys::Readline };
        let mut editor = Editor::of(&text).with_flavour(flavour)
            .with_colours(Syntaxes::shared(), &Language::Markdown);
        editor.resize(20, 6);
        let theme = Theme::default();
        for key in typed {
            press_at(&mut editor, key, Duration::ZERO);
            let line = &editor.lines()[editor.cursor().row];
            prop_assert!(line.is_char_boundary(editor.cursor().at));
            drawn(&editor, &theme, 20, 6);
        }
        while editor.buffer.undo().is_some() {}
        prop_assert_eq!(editor.text(), text);
    }
}
