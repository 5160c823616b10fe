//! A three-way merge: mine, theirs and their base side by side, with a choice for each hunk. Or two
//! memories side by side, which have no base.

mod hunks;

use std::ops::Range;

use ratatui::text::{Line, Span, Text};

pub(crate) use hunks::{ChangedBy, Choice, Hunk, MergePart, parts};

use super::diff::words;
use crate::core::change::combine::CombinedPart;
use crate::tui::cells;
use crate::tui::theme::{Role, Theme};

/// From this width on, the three texts are shown side by side.
const SIDE_BY_SIDE: usize = 90;

/// How many lines around a hunk are shown.
const CONTEXT: usize = 2;

/// A merge in progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Merge {
    parts: Vec<MergePart>,
    /// The names of two memories; `None` if mine and theirs are versions of one text.
    names: Option<[String; 2]>,
    /// The current hunk.
    at: usize,
    top: usize,
}

impl Merge {
    /// Creates the merge of two changed versions of `base`. Hunks that only one side changed are
    /// decided.
    pub(crate) fn new(base: &str, mine: &str, theirs: &str) -> Self {
        Self::of(parts(base, mine, theirs), None)
    }

    /// Creates the merge of two memories with these names. What only one of them says is taken.
    pub(crate) fn of_memories(combined: &[CombinedPart], names: [String; 2]) -> Self {
        Self::of(hunks::of_memories(combined), Some(names))
    }

    fn of(parts: Vec<MergePart>, names: Option<[String; 2]>) -> Self {
        let mut merge = Self {
            parts,
            names,
            at: 0,
            top: 0,
        };
        let open = merge.hunks().position(|hunk| hunk.choice.is_none());
        merge.at = open.unwrap_or(0);
        merge
    }

    pub(crate) fn hunks(&self) -> impl Iterator<Item = &Hunk> {
        self.parts.iter().filter_map(MergePart::hunk)
    }

    /// Returns how many hunks are undecided.
    pub(crate) fn open(&self) -> usize {
        self.hunks().filter(|hunk| hunk.choice.is_none()).count()
    }

    pub(crate) fn next(&mut self) {
        self.at = (self.at + 1).min(self.hunks().count().saturating_sub(1));
    }

    pub(crate) fn previous(&mut self) {
        self.at = self.at.saturating_sub(1);
    }

    /// Decides the current hunk and goes to the next undecided one.
    pub(crate) fn choose(&mut self, choice: Choice) {
        let at = self.at;
        let mut hunks = self.parts.iter_mut().filter_map(MergePart::hunk_mut);
        if let Some(hunk) = hunks.nth(at) {
            hunk.choice = Some(choice);
        }
        let open = |from: usize, to: usize| {
            self.hunks()
                .enumerate()
                .skip(from)
                .take(to - from)
                .find(|(_, hunk)| hunk.choice.is_none())
                .map(|(n, _)| n)
        };
        let count = self.hunks().count();
        self.at = open(at, count).or_else(|| open(0, at)).unwrap_or(at);
    }

    /// Returns what is chosen for each hunk; `None` while one is undecided.
    pub(crate) fn choices(&self) -> Option<Vec<Choice>> {
        self.hunks().map(|hunk| hunk.choice).collect()
    }

    /// Returns the merged text; `None` while a hunk is undecided.
    pub(crate) fn result(&self) -> Option<String> {
        hunks::result(&self.parts)
    }

    /// Scrolls to the current hunk.
    pub(crate) fn reveal(&mut self, width: u16, height: u16) {
        let (lines, at) = self.lines(&Theme::default(), width);
        let height = usize::from(height);
        self.top = at
            .saturating_sub(CONTEXT + 1)
            .min(lines.len().saturating_sub(height));
    }

    /// Scrolls by so many lines in an area of this size; the current hunk stays the same.
    pub(crate) fn scroll(&mut self, by: isize, (width, height): (u16, u16)) {
        let last = self.height(width).saturating_sub(height.into());
        self.top = self.top.saturating_add_signed(by).min(last);
    }

    /// Returns the number of lines below an area of this size.
    pub(crate) fn below(&self, (width, height): (u16, u16)) -> usize {
        self.height(width)
            .saturating_sub(self.top + usize::from(height))
    }

    pub(crate) fn height(&self, width: u16) -> usize {
        self.lines(&Theme::default(), width).0.len()
    }

    /// Returns the lines from the first visible one on.
    pub(crate) fn view(&self, theme: &Theme, width: u16) -> Text<'static> {
        let (lines, _) = self.lines(theme, width);
        lines.into_iter().skip(self.top).collect()
    }

    /// Returns every line, and the line at which the current hunk starts.
    fn lines(&self, theme: &Theme, width: u16) -> (Vec<Line<'static>>, usize) {
        let width = usize::from(width);
        let mut lines = Vec::new();
        let (mut nth, mut current) = (0, 0);
        let count = self.hunks().count();
        for (n, part) in self.parts.iter().enumerate() {
            match part {
                MergePart::Same(text) => {
                    let edges = (n > 0, n + 1 < self.parts.len());
                    lines.extend(same(text, edges, theme, width));
                }
                MergePart::Hunk(hunk) => {
                    if nth == self.at {
                        current = lines.len();
                    }
                    let place = format!("{}/{count}", nth + 1);
                    let drawn = HunkView {
                        hunk,
                        names: self.names.as_ref(),
                        theme,
                        width,
                        is_current: nth == self.at,
                    };
                    lines.push(drawn.head(&place));
                    lines.extend(drawn.body());
                    nth += 1;
                }
            }
        }
        (lines, current)
    }
}

/// Returns the shared lines next to a hunk, and the number of those in between.
fn same(
    text: &[String],
    (above, below): (bool, bool),
    theme: &Theme,
    width: usize,
) -> Vec<Line<'static>> {
    let muted = theme.style(Role::Muted);
    let line = |text: &String| {
        let shown = cells::cut(text.trim_end_matches(['\n', '\r']), width.saturating_sub(2));
        Line::from(Span::styled(format!("  {shown}"), muted))
    };
    let head = if above { CONTEXT.min(text.len()) } else { 0 };
    let rest = text.len() - head;
    let tail = if below { CONTEXT.min(rest) } else { 0 };
    let between = rest - tail;
    let mut lines: Vec<Line<'static>> = text[..head].iter().map(line).collect();
    match between {
        0 => {}
        1 => lines.push(line(&text[head])),
        count => lines.push(theme.line(format!("  ⋯ {count} lines"), Role::Hunk)),
    }
    lines.extend(text[text.len() - tail..].iter().map(line));
    lines
}

/// Says who changed a hunk of two versions, and what is chosen.
fn version_words(choice: Option<Choice>, who: ChangedBy) -> (String, Role) {
    match (choice, who) {
        (None, _) => ("both changed this: choose".to_owned(), Role::Warn),
        (Some(choice), ChangedBy::Mine) => (
            format!("only mine changed → {}", choice.name()),
            Role::Muted,
        ),
        (Some(choice), ChangedBy::Theirs) => (
            format!("only theirs changed → {}", choice.name()),
            Role::Muted,
        ),
        (Some(choice), ChangedBy::Alike) => (
            format!("both changed it alike → {}", choice.name()),
            Role::Muted,
        ),
        (Some(choice), ChangedBy::Both) => (format!("→ {}", choice.name()), Role::Accent),
    }
}

/// Says what two memories have here, and what is chosen.
fn memory_words(choice: Option<Choice>, who: ChangedBy, left: &str, right: &str) -> (String, Role) {
    let Some(choice) = choice else {
        return ("they differ: choose".to_owned(), Role::Warn);
    };
    let chosen = match choice {
        Choice::Mine => left.to_owned(),
        Choice::Theirs => right.to_owned(),
        Choice::Both => format!("{left}, then {right}"),
        Choice::Base => "neither".to_owned(),
    };
    match who {
        ChangedBy::Mine => (format!("only in {left} → {chosen}"), Role::Muted),
        ChangedBy::Theirs => (format!("only in {right} → {chosen}"), Role::Muted),
        ChangedBy::Alike | ChangedBy::Both => (format!("→ {chosen}"), Role::Accent),
    }
}

struct HunkView<'a> {
    hunk: &'a Hunk,
    names: Option<&'a [String; 2]>,
    theme: &'a Theme,
    width: usize,
    is_current: bool,
}

impl HunkView<'_> {
    fn head(&self, place: &str) -> Line<'static> {
        let theme = self.theme;
        let (choice, who) = (self.hunk.choice, self.hunk.who);
        let (what, role) = match self.names {
            Some([left, right]) => memory_words(choice, who, left, right),
            None => version_words(choice, who),
        };
        let bar = if self.is_current { "▌ " } else { "  " };
        let text = format!("{place}  {what} ");
        let fill = self.width.saturating_sub(cells::width(&text) + 2);
        Line::from(vec![
            theme.span(bar, Role::Accent),
            theme.span(text, role),
            theme.span("─".repeat(fill), Role::Border),
        ])
    }

    /// Returns for each side its name, whether it is chosen, its lines and its role in the theme.
    fn sides(&self) -> Vec<(&str, bool, &[String], Role)> {
        let chosen = |side: Choice| match self.hunk.choice {
            Some(Choice::Both) => side != Choice::Base,
            choice => choice == Some(side),
        };
        let hunk = self.hunk;
        let (mine, theirs) = match self.names {
            Some([left, right]) => (left.as_str(), right.as_str()),
            None => ("mine", "theirs"),
        };
        let mine = (mine, chosen(Choice::Mine), &*hunk.mine, Role::You);
        let base = ("base", chosen(Choice::Base), &*hunk.base, Role::Muted);
        let theirs = (theirs, chosen(Choice::Theirs), &*hunk.theirs, Role::Agent);
        match self.names {
            Some(_) => vec![mine, theirs],
            None => vec![mine, base, theirs],
        }
    }

    fn body(&self) -> Vec<Line<'static>> {
        if self.hunk.who != ChangedBy::Both && !self.is_current {
            return self.decided();
        }
        if self.width >= SIDE_BY_SIDE {
            self.side_by_side()
        } else {
            self.stacked()
        }
    }

    /// Returns only the chosen lines, for a hunk that needs no decision.
    fn decided(&self) -> Vec<Line<'static>> {
        let sides = self.sides();
        let chosen = sides.iter().filter(|(_, chosen, ..)| *chosen);
        chosen
            .flat_map(|(_, _, text, _)| self.barred(text, true))
            .collect()
    }

    fn barred(&self, text: &[String], chosen: bool) -> Vec<Line<'static>> {
        let border = self.theme.style(Role::Border);
        if text.is_empty() {
            return vec![Line::from(Span::styled("    │ (nothing)", border))];
        }
        let mut lines = Vec::new();
        for (at, line) in text.iter().enumerate() {
            for row in self.rows(text, (at, line), chosen, self.width.saturating_sub(6)) {
                let bar = Span::styled("    │ ", border);
                lines.push(Line::from_iter(std::iter::once(bar).chain(row)));
            }
        }
        lines
    }

    fn label(&self, name: &str, chosen: bool, role: Role) -> Span<'static> {
        let mark = if chosen { "✓ " } else { "  " };
        self.theme.span(format!("{mark}{name}"), role)
    }

    /// Wraps a line of a side, with the words marked in which it differs from the base; in the
    /// base, those in which it differs from mine or theirs.
    fn rows(
        &self,
        side: &[String],
        (at, line): (usize, &str),
        chosen: bool,
        width: usize,
    ) -> Vec<Vec<Span<'static>>> {
        let (line, role) = self.text(line, chosen);
        let style = self.theme.style(role);
        let is_base = std::ptr::eq(side, self.hunk.base.as_slice());
        let is_mine = std::ptr::eq(side, self.hunk.mine.as_slice());
        let others: &[&[String]] = match (is_base, self.names) {
            (true, _) => &[&self.hunk.mine, &self.hunk.theirs],
            (false, None) => &[&self.hunk.base],
            (false, Some(_)) if is_mine => &[&self.hunk.theirs],
            (false, Some(_)) => &[&self.hunk.mine],
        };
        let mut marked: Vec<Range<usize>> = Vec::new();
        for other in others {
            if let Some(other) = other.get(at) {
                let other = other.trim_end_matches(['\n', '\r']);
                marked.extend(words::changed(other, &line).1);
            }
        }
        let word = self.theme.style(if is_base {
            Role::RemovedWord
        } else {
            Role::AddedWord
        });
        cells::styled_rows(&line, width, |byte| {
            if marked.iter().any(|range| range.contains(&byte)) {
                style.patch(word)
            } else {
                style
            }
        })
    }

    fn text(&self, line: &str, chosen: bool) -> (String, Role) {
        let role = if chosen || self.hunk.choice.is_none() {
            Role::Text
        } else {
            Role::Muted
        };
        (line.trim_end_matches(['\n', '\r']).to_owned(), role)
    }

    fn stacked(&self) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        for (name, chosen, text, role) in self.sides() {
            lines.push(Line::from(vec![
                Span::raw("  "),
                self.label(name, chosen, role),
            ]));
            lines.extend(self.barred(text, chosen));
        }
        lines
    }

    fn side_by_side(&self) -> Vec<Line<'static>> {
        let number = self.sides().len();
        let column = (self.width.saturating_sub(2 + (number - 1) * 3)) / number;
        let bar = self.theme.span(" │ ", Role::Border);
        let mut columns: Vec<Vec<Vec<Span<'static>>>> = Vec::new();
        for (name, chosen, text, role) in self.sides() {
            let mut rows = vec![vec![self.label(name, chosen, role)]];
            for (at, line) in text.iter().enumerate() {
                rows.extend(self.rows(text, (at, line), chosen, column));
            }
            columns.push(rows);
        }
        let height = columns.iter().map(Vec::len).max().unwrap_or(0);
        (0..height)
            .map(|n| {
                let mut spans = vec![Span::raw("  ")];
                for (at, rows) in columns.iter().enumerate() {
                    if at > 0 {
                        spans.push(bar.clone());
                    }
                    let row = rows.get(n).cloned().unwrap_or_default();
                    let taken: usize = row.iter().map(Span::width).sum();
                    spans.extend(row);
                    spans.push(Span::raw(" ".repeat(column.saturating_sub(taken))));
                }
                Line::from(spans)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::dump;
    use crate::tui::theme::{Background, ColorDepth, Terminal};

    const BASE: &str = "a\nb\nc\nd\ne\nf\ng\nh\ni\n";
    const MINE: &str = "a\nB\nc\nd\ne\nf\ng\nh mine\ni\n";
    const THEIRS: &str = "a\nb\nc\nd\ne\nf\ng\nh theirs\ni\nj\n";

    #[test]
    fn looks_in_both_widths() {
        let mut merge = Merge::new(BASE, MINE, THEIRS);
        assert_eq!((merge.open(), merge.at), (1, 1));
        let dark = Theme::default();
        let narrow = dump::styled(&dump::draw(merge.view(&dark, 40), 40, 24), &dark);
        merge.choose(Choice::Theirs);
        let light = Theme::new(Terminal {
            background: Background::Light,
            depth: ColorDepth::True,
        });
        let wide = dump::styled(&dump::draw(merge.view(&light, 92), 92, 10), &light);
        insta::assert_snapshot!(narrow + &wide, @r##"
        ⟨muted⟩  a⟨/⟩
        ⟨accent⟩  ⟨/⟩⟨muted⟩1/3  only mine changed → mine ────────⟨/⟩
        ⟨muted⟩    │ ⟨/⟩B
        ⟨muted⟩  c⟨/⟩
        ⟨muted⟩  d⟨/⟩
        ⟨muted⟩  e⟨/⟩
        ⟨muted⟩  f⟨/⟩
        ⟨muted⟩  g⟨/⟩
        ⟨accent⟩▌ ⟨/⟩⟨warn⟩2/3  both changed this: choose ⟨/⟩⟨muted⟩───────⟨/⟩
          ⟨match⟩  mine⟨/⟩
        ⟨muted⟩    │ ⟨/⟩h mine
          ⟨muted⟩  base⟨/⟩
        ⟨muted⟩    │ ⟨/⟩h
          ⟨badge-user⟩  theirs⟨/⟩
        ⟨muted⟩    │ ⟨/⟩h theirs
        ⟨muted⟩  i⟨/⟩
        ⟨accent⟩  ⟨/⟩⟨muted⟩3/3  only theirs changed → theirs ────⟨/⟩
        ⟨muted⟩    │ ⟨/⟩j






        ⟨muted⟩  a⟨/⟩
        ⟨accent⟩  ⟨/⟩⟨muted⟩1/3  only mine changed → mine ⟨/⟩⟨border⟩────────────────────────────────────────────────────────────⟨/⟩
        ⟨border⟩    │ ⟨/⟩B
        ⟨muted⟩  c⟨/⟩
        ⟨muted⟩  d⟨/⟩
        ⟨muted⟩  e⟨/⟩
        ⟨muted⟩  f⟨/⟩
        ⟨muted⟩  g⟨/⟩
        ⟨accent⟩▌ 2/3  → theirs ⟨/⟩⟨border⟩────────────────────────────────────────────────────────────────────────────⟨/⟩
          ⟨match⟩  mine⟨/⟩                      ⟨border⟩ │ ⟨/⟩⟨muted⟩  base⟨/⟩                      ⟨border⟩ │ ⟨/⟩⟨badge-feedback⟩✓ theirs⟨/⟩
        "##);
    }

    #[test]
    fn every_line_of_long_texts_comes_into_sight() {
        let long = |name: &str| -> String { (0..30).map(|at| format!("{name}{at}\n")).collect() };
        let mut merge = Merge::new("one\n", &long("mine"), &long("theirs"));
        let (theme, size) = (Theme::default(), (40, 12));
        merge.reveal(size.0, size.1);
        let mut seen = String::new();
        while merge.below(size) > 0 {
            seen += &dump::styled(
                &dump::draw(merge.view(&theme, size.0), size.0, size.1),
                &theme,
            );
            merge.scroll(11, size);
        }
        seen += &dump::styled(
            &dump::draw(merge.view(&theme, size.0), size.0, size.1),
            &theme,
        );
        for line in ["mine0", "mine29", "one", "theirs0", "theirs29"] {
            assert!(seen.contains(line), "{line}");
        }
        merge.scroll(-100, size);
        assert_eq!(merge.below(size), merge.height(size.0) - 12);
    }

    #[test]
    fn a_choice_leads_to_the_next_open_hunk_and_to_a_text() {
        let mut merge = Merge::new("a\nb\nc\nd\ne\n", "A\nb\nc\nd\nE\n", "x\nb\nc\nd\ny\n");
        assert_eq!((merge.open(), merge.at, merge.result()), (2, 0, None));
        merge.choose(Choice::Both);
        assert_eq!((merge.open(), merge.at), (1, 1));
        merge.choose(Choice::Base);
        assert_eq!(merge.result().as_deref(), Some("A\nx\nb\nc\nd\ne\n"));
        merge.previous();
        merge.choose(Choice::Mine);
        assert_eq!(merge.result().as_deref(), Some("A\nb\nc\nd\ne\n"));
    }
}
