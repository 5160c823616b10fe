//! A bar that shows how much of a budget is used: `162/200 ▰▰▰▱`.

use ratatui::text::{Line, Span};

use crate::tui::theme::{Role, Theme};

/// A budget and its used part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Meter {
    /// The used amount.
    pub used: u64,
    /// The budget.
    pub limit: u64,
    /// Width of the bar in cells.
    pub cells: usize,
}

impl Meter {
    /// From this part of the budget on, the meter has the colour of a warning.
    const WARN: f64 = 0.9;

    /// Returns how many cells are full: none only at 0, all only when nothing is left.
    pub fn full(&self) -> usize {
        if self.used >= self.limit {
            return self.cells;
        }
        let cells = (self.part() * self.cells as f64).round() as usize;
        let most = self.cells.saturating_sub(1);
        cells.clamp(usize::from(self.used > 0).min(most), most)
    }

    /// Returns the meter as text, numbers first.
    pub fn line(&self, theme: &Theme) -> Line<'static> {
        let near = self.part() >= Self::WARN;
        let role = if near { Role::Warn } else { Role::Muted };
        let full = self.full();
        Line::from(vec![
            Span::styled(format!("{}/{} ", self.used, self.limit), theme.style(role)),
            Span::styled("▰".repeat(full), theme.style(role)),
            Span::styled("▱".repeat(self.cells - full), theme.style(Role::Border)),
        ])
    }

    fn part(&self) -> f64 {
        self.used as f64 / self.limit.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::dump;

    #[test]
    fn the_first_and_the_last_cell_mean_something() {
        for (used, full) in [
            (0, 0),
            (1, 1),
            (100, 2),
            (162, 3),
            (199, 3),
            (200, 4),
            (300, 4),
        ] {
            let meter = Meter {
                used,
                limit: 200,
                cells: 4,
            };
            assert_eq!(meter.full(), full, "{used}");
        }
    }

    #[test]
    fn a_nearly_full_budget_turns_amber() {
        let theme = Theme::default();
        let line = |used| {
            let meter = Meter {
                used,
                limit: 200,
                cells: 4,
            };
            dump::styled_lines(&[meter.line(&theme)], &theme)
        };
        insta::assert_snapshot!(line(162) + &line(190), @r##"
        ⟨muted⟩162/200 ▰▰▰▱⟨/⟩
        ⟨warn⟩190/200 ▰▰▰⟨/⟩⟨muted⟩▱⟨/⟩
        "##);
    }
}
