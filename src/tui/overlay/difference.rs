//! The lines of a change as they are shown before it is made and in the history.

use ratatui::text::{Line, Span};

use crate::core::change::{Edit, diff};
use crate::tui::cells::cut;
use crate::tui::chrome::two_ends;
use crate::tui::theme::{Role, Theme};

/// How many lines are shown of a file that goes: enough to know it again.
const MOST_OF_GONE: usize = 6;

/// The difference of every file, each under its name.
pub(crate) fn lines(edits: &[Edit], theme: &Theme, width: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for (at, edit) in edits.iter().enumerate() {
        if at > 0 {
            lines.push(Line::default());
        }
        lines.push(head(edit, theme, width));
        let unified = diff::unified(edit);
        // The first two lines of a unified diff name the files; of a file that goes, the third
        // says nothing either.
        let (skip, most) = match edit.after {
            None => (3, MOST_OF_GONE),
            Some(_) => (2, usize::MAX),
        };
        let shown = unified.lines().skip(skip);
        let more = shown.clone().count().saturating_sub(most);
        for line in shown.take(most) {
            let role = match line.as_bytes().first() {
                Some(b'+') => Role::Added,
                Some(b'-') => Role::Removed,
                Some(b'@' | b'\\') => Role::Hunk,
                _ => Role::Muted,
            };
            let text = cut(line, width);
            lines.push(Line::from(Span::styled(text, theme.style(role))));
        }
        if more > 0 {
            let told = format!(" … {more} more lines");
            lines.push(Line::from(Span::styled(told, theme.style(Role::Muted))));
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
