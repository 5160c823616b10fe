//! The actions that keys run. The names are those of keymap files.
//!
//! The description of an action is its first row in `assets/keymap.toml`.

use serde::Deserialize;

/// An action. The pane or dialog that has the focus handles it.
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
    NextAgent,
    PreviousAgent,
    OneList,
    Mark,
    MarkRange,
    MarkDown,
    MarkUp,
    MarkInvert,
    MarkNone,
    Zoom,
    Edit,
    EditOutside,
    Save,
    New,
    Rename,
    Duplicate,
    Merge,
    Generalize,
    Move,
    Rehome,
    Share,
    Delete,
    Discard,
    Undo,
    Redo,
    History,
    UndoThis,
    Restore,
    AllChanges,
    Review,
    Curate,
    Fix,
    Waive,
    Pin,
    ShowWaived,
    Timeline,
    Promote,
    When,
    NextWeek,
    PreviousWeek,
    Accept,
    AcceptSession,
    Revert,
    RevertSession,
    Note,
    NextHunk,
    PreviousHunk,
    Why,
    Confirm,
    KeepLinks,
    TakeMine,
    TakeTheirs,
    TakeBoth,
    TakeNeither,
    Copy,
    CopyText,
    Resume,
    CopyResume,
    Keep,
    Subagent,
    Find,
    NextMatch,
    PreviousMatch,
    NextTurn,
    PreviousTurn,
    Tools,
    Thinking,
    Injected,
    ScrollDown,
    ScrollUp,
    Reload,
    Repaint,
    Scope,
    ListInIndex,
    Demo,
    Palette,
    Help,
    Suspend,
    Quit,
}

impl Action {
    /// Other words for the action, under which the palette and the help find it, too. Its own
    /// name is in `assets/keymap.toml`.
    pub(crate) fn also(self) -> &'static str {
        match self {
            Self::Find => "search grep look",
            Self::Filter => "narrow",
            Self::Sort => "order age size name",
            Self::Edit => "change write modify",
            Self::EditOutside => "external vim editor",
            Self::Save => "write commit",
            Self::New => "create add memory",
            Self::Rename => "mv name title",
            Self::Duplicate => "clone copy",
            Self::Merge => "join combine unite",
            Self::Generalize => "lesson derive semantic",
            Self::Move => "mv store transfer",
            Self::Rehome => "rehome moved project worktree gather former path",
            Self::Share => "sync machines git remote laptop",
            Self::Delete => "remove rm prune trash",
            Self::Discard => "abandon revert drop",
            Self::Undo | Self::UndoThis => "revert back",
            Self::Redo => "again repeat",
            Self::History => "changes log versions restore undo",
            Self::Restore => "recover version",
            Self::Review => "approve accept inbox outside pending wrote",
            Self::Curate => "findings stale dead doubled check lint prune clean",
            Self::Fix => "correct repair apply",
            Self::Waive => "ignore keep accept suppress",
            Self::Pin => "keep ignore",
            Self::Timeline => "calendar days weeks sessions happened toc",
            Self::Promote => "memory save keep quote grip",
            Self::When => "date day jump now today yesterday week month",
            Self::Accept | Self::AcceptSession => "approve keep",
            Self::Revert | Self::RevertSession => "reject undo back",
            Self::Note => "annotate comment remark",
            Self::Why => "blame who wrote session provenance origin memories",
            Self::Copy | Self::CopyText => "yank clipboard citation cite",
            Self::Resume => "continue session",
            Self::Keep => "archive copy save sweep deleted",
            Self::Mark => "select",
            Self::MarkNone => "clear deselect",
            Self::FoldAll => "collapse close",
            Self::UnfoldAll => "expand open",
            Self::ToggleSource => "markdown raw view",
            Self::TogglePreview => "hide pane view",
            Self::Agent => "agent prompt see tokens instructions",
            Self::NextAgent => "switch claude codex gemini opencode copilot",
            Self::Reload => "refresh rescan",
            Self::Repaint => "redraw refresh clear",
            Self::Scope => "all project everything",
            Self::ListInIndex => "MEMORY.md unlisted",
            Self::Help => "keys shortcuts ?",
            Self::Palette => "commands menu",
            Self::Suspend => "stop background shell",
            Self::Quit => "exit close leave",
            Self::Demo => "sample example",
            Self::NextPane => "focus switch",
            _ => "",
        }
    }

    /// The heading below which the help lists the action.
    pub(crate) fn group(self) -> &'static str {
        match self {
            Self::Up
            | Self::Down
            | Self::PageUp
            | Self::PageDown
            | Self::HalfUp
            | Self::HalfDown
            | Self::Top
            | Self::Bottom
            | Self::Left
            | Self::Right
            | Self::NextPane
            | Self::GoBack
            | Self::NextTurn
            | Self::PreviousTurn
            | Self::NextHunk
            | Self::PreviousHunk
            | Self::NextWeek
            | Self::PreviousWeek
            | Self::When
            | Self::ScrollDown
            | Self::ScrollUp => "move",
            Self::Find
            | Self::Filter
            | Self::NextMatch
            | Self::PreviousMatch
            | Self::Open
            | Self::NextLink
            | Self::PreviousLink
            | Self::Subagent => "find and open",
            Self::Edit
            | Self::EditOutside
            | Self::Save
            | Self::New
            | Self::Rename
            | Self::Duplicate
            | Self::Merge
            | Self::Generalize
            | Self::Move
            | Self::Rehome
            | Self::Share
            | Self::Delete
            | Self::Discard
            | Self::Undo
            | Self::Redo
            | Self::History
            | Self::UndoThis
            | Self::Restore
            | Self::Review
            | Self::Curate
            | Self::Fix
            | Self::Waive
            | Self::Pin
            | Self::Accept
            | Self::AcceptSession
            | Self::Revert
            | Self::RevertSession
            | Self::Note
            | Self::Promote
            | Self::TakeMine
            | Self::TakeTheirs
            | Self::TakeBoth
            | Self::TakeNeither
            | Self::ListInIndex => "change",
            Self::Mark
            | Self::MarkRange
            | Self::MarkDown
            | Self::MarkUp
            | Self::MarkInvert
            | Self::MarkNone
            | Self::Copy
            | Self::CopyText
            | Self::Resume
            | Self::CopyResume
            | Self::Keep => "mark and copy",
            Self::Back | Self::Palette | Self::Help | Self::Suspend | Self::Quit | Self::Demo => {
                "program"
            }
            _ => "show",
        }
    }
}
