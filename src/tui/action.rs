//! What a person can ask for: one closed list, whose names are the names in keymap files.
//!
//! What each action means is said once, in `assets/keymap.toml`, by its first row there.

use serde::Deserialize;

/// Something to do. Which pane or dialog does it depends on where the keys go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Action {
    Up,
    Down,
    PageUp,
    PageDown,
    HalfUp,
    HalfDown,
    Top,
    Bottom,
    Left,
    Right,
    Open,
    Back,
    NextPane,
    GoBack,
    FoldAll,
    UnfoldAll,
    Filter,
    Sort,
    ToggleSource,
    TogglePreview,
    NextLink,
    PreviousLink,
    Agent,
    Mark,
    MarkNone,
    Edit,
    EditOutside,
    Save,
    New,
    Rename,
    Duplicate,
    Move,
    Delete,
    Discard,
    Undo,
    Redo,
    History,
    UndoThis,
    Restore,
    TakeMine,
    TakeTheirs,
    TakeBoth,
    Copy,
    Reload,
    Palette,
    Help,
    Suspend,
    Quit,
}
