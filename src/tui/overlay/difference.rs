//! The lines of a change as they are shown before it is made and in the history.

use ratatui::text::{Line, Span};

use crate::core::change::{Edit, diff};
use crate::tui::cells::cut;
use crate::tui::chrome::two_ends;
use crate::tui::theme::{Role, Theme};

/// The difference of every file, each under its name.
pub(crate) fn lines(edits: &[Edit], theme: &Theme, width: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for (at, edit) in edits.iter().enumerate() {
        if at > 0 {
            lines.push(Line::default());
        }
        lines.push(head(edit, theme, width));
        // The first two lines of a unified diff name the files.
        for line in diff::unified(edit).lines().skip(2) {
            let role = match line.as_bytes().first() {
                Some(b'+') => Role::Added,
                Some(b'-') => Role::Removed,
                Some(b'@' | b'\\') => Role::Hunk,
                _ => Role::Muted,
            };
            let text = cut(line, width);
            lines.push(Line::from(Span::styled(text, theme.style(role))));
        }
    }
    if edits.is_empty() {
        let none = Span::styled("Nothing would be different.", theme.style(Role::Muted));
        lines.push(Line::from(none));
    }
    lines
}

fn head(edit: &Edit, theme: &Theme, width: usize) -> Line<'static> {
    let (added, removed) = diff::counts(
        edit.before.as_deref().unwrap_or_default(),
        edit.after.as_deref().unwrap_or_default(),
    );
    let note = match (&edit.before, &edit.after) {
        (None, _) => "  new",
        (_, None) => "  goes",
        _ if edit.derived => "  follows",
        _ => "",
    };
    two_ends(
        vec![
            Span::styled(edit.reference(), theme.style(Role::Strong)),
            Span::styled(note, theme.style(Role::Muted)),
        ],
        vec![
            Span::styled(format!("+{added}"), theme.style(Role::Added)),
            Span::raw(" "),
            Span::styled(format!("−{removed}"), theme.style(Role::Removed)),
        ],
        width,
        theme.style(Role::Text),
    )
}
