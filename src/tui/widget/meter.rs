//! A bar that shows how much of a budget is used: `81 % ▰▰▰▱`.

use ratatui::text::{Line, Span};

use crate::tui::theme::{Role, Theme};

/// A budget and its used part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Meter {
    /// The used part, in percent; more than 100 if it is exceeded.
    pub percent: usize,
    /// Width of the bar in cells.
    pub cells: usize,
}

impl Meter {
    /// From this part of the budget on, the meter has the colour of a warning.
    const WARN: usize = 90;

    /// Returns how many cells are full: none only at 0, all only when nothing is left.
    pub(crate) fn full(&self) -> usize {
        if self.percent >= 100 {
            return self.cells;
        }
        let cells = (self.percent * self.cells + 50) / 100;
        let most = self.cells.saturating_sub(1);
        cells.clamp(usize::from(self.percent > 0).min(most), most)
    }

    /// Returns the meter as text, numbers first.
    pub(crate) fn line(&self, theme: &Theme) -> Line<'static> {
        let near = self.percent >= Self::WARN;
        let role = if near { Role::Warn } else { Role::Muted };
        let number = theme.span(format!("{} % ", self.percent), role);
        let mut spans = vec![number];
        spans.extend(self.bar(theme, role));
        Line::from(spans)
    }

    /// Returns the bar alone.
    pub(crate) fn bar(&self, theme: &Theme, role: Role) -> [Span<'static>; 2] {
        let full = self.full();
        [
            theme.span("▰".repeat(full), role),
            theme.span("▱".repeat(self.cells - full), Role::Border),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::dump;

    #[test]
    fn the_first_and_the_last_cell_mean_something() {
        for (percent, full) in [
            (0, 0),
            (1, 1),
            (50, 2),
            (81, 3),
            (99, 3),
            (100, 4),
            (150, 4),
        ] {
            let meter = Meter { percent, cells: 4 };
            assert_eq!(meter.full(), full, "{percent}");
        }
    }

    #[test]
    fn a_nearly_full_budget_turns_amber() {
        let theme = Theme::default();
        let line = |percent| {
            let meter = Meter { percent, cells: 4 };
            dump::styled_lines(&[meter.line(&theme)], &theme)
        };
        insta::assert_snapshot!(line(81) + &line(95), @r##"
        ⟨muted⟩81 % ▰▰▰▱⟨/⟩
        ⟨warn⟩95 % ▰▰▰⟨/⟩⟨muted⟩▱⟨/⟩
        "##);
    }
}
