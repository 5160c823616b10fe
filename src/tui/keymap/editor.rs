//! The editor's own keys, which no keymap file rebinds, for the help.

use crate::core::memory::config::EditorKeys;

/// A heading, and keys with what they do.
pub(crate) type KeyGroup = (&'static str, &'static [(&'static str, &'static str)]);

/// Returns the editor's own keys, those of the chosen kind first.
pub(crate) fn own_keys(chosen: EditorKeys) -> Vec<KeyGroup> {
    match chosen {
        EditorKeys::Readline => [COMMON, PLAIN, VI].concat(),
        EditorKeys::Vi => [COMMON, VI, PLAIN].concat(),
    }
}

/// Returns the most useful of the editor's own keys, for the bottom line.
pub(crate) fn editor_hints(chosen: EditorKeys) -> &'static [(&'static str, &'static str)] {
    match chosen {
        EditorKeys::Readline => &[("Ctrl-F", "find"), ("Ctrl-Z", "undo"), ("Ctrl-G", "line")],
        EditorKeys::Vi => &[("/", "find"), ("u", "undo"), (":w", "save")],
    }
}

/// In the prompts at the bottom of the editor, with both kinds of keys.
const COMMON: &[KeyGroup] = &[(
    "editor · in its find prompt",
    &[
        ("Enter", "go to the match"),
        ("Tab", "replace: type what to put in its place"),
        ("Enter Alt-Enter", "replace this one, or all"),
        ("Alt-R", "regular expression, or plain text"),
        ("Esc", "back to the text"),
    ],
)];

const PLAIN: &[KeyGroup] = &[
    (
        "editor · find and go",
        &[
            ("Ctrl-F", "find in the text; Tab there replaces"),
            ("F3 Shift-F3", "next match, match before"),
            ("Ctrl-G", "go to line"),
            ("Ctrl-← Ctrl-→ Alt-B Alt-F", "by words"),
            ("Home End Ctrl-A Ctrl-E", "ends of the line"),
            ("Ctrl-Home Ctrl-End Alt-< Alt->", "ends of the text"),
        ],
    ),
    (
        "editor · change",
        &[
            ("Ctrl-Z", "undo"),
            ("Ctrl-R", "redo"),
            ("Shift-arrows", "select"),
            ("Alt-A", "select all"),
            ("Ctrl-C", "copy"),
            ("Ctrl-X", "cut"),
            ("Ctrl-V Ctrl-Y", "paste"),
            ("Ctrl-W Alt-D", "delete the word before, behind"),
            (
                "Ctrl-U Ctrl-K",
                "delete to the start, to the end of the line",
            ),
            ("Tab Shift-Tab", "indent, or less; selected lines too"),
        ],
    ),
];

const VI: &[KeyGroup] = &[
    (
        "editor, vi · move",
        &[
            ("h j k l", "left, down, up, right; counts as in 3j"),
            ("w b e W B E", "by words"),
            ("0 ^ $", "in the line"),
            ("gg G 5G", "to the first, the last, a line"),
            ("{ }", "by paragraphs"),
            ("f t F T ; ,", "to a letter, again, back"),
            ("/ ? n N", "find, find back, next, before"),
            ("Ctrl-D Ctrl-U Ctrl-F Ctrl-B", "half a page, a page"),
        ],
    ),
    (
        "editor, vi · change",
        &[
            ("i a I A o O", "insert"),
            (
                "d c y > <",
                "delete, change, yank, indent: with a movement or an object",
            ),
            (
                "iw a\" i( ip",
                "text objects: inside or around a word, quotes, brackets, a paragraph",
            ),
            ("dd cc yy D C Y S", "lines"),
            ("x X s r ~ J", "letters and lines"),
            ("p P", "put"),
            ("v V o", "select; the other end"),
            ("u Ctrl-R .", "undo, redo, again"),
            (":w :q :wq :s :5", "write, leave, both, replace, go to line"),
        ],
    ),
];
