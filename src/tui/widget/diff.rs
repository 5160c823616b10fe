//! A change as a unified diff, file by file.

pub(crate) mod hunks;
pub(super) mod words;

use ratatui::style::Style;
use ratatui::text::{Line, Span, Text};

use crate::core::change::{Change, Edit};
use crate::core::text::diff;
use crate::tui::cells;
use crate::tui::chrome::short_path;
use crate::tui::theme::{Role, Theme};

/// Whether a line was added or removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    Same,
    Added,
    Removed,
}

/// The most that is laid out of a file or a hunk, in bytes; a row counts as [`LEAST`] or more.
const MOST_SHOWN: usize = 256 * 1024;
const LEAST: usize = 64;

/// A row of a file's diff.
#[derive(Debug, Clone, PartialEq, Eq)]
enum DiffRow {
    /// Unchanged lines that are left out.
    Gap,
    /// The number of lines at the end for which there is no room.
    More(usize),
    Line {
        sign: Sign,
        /// The line's number, in the new text unless it was removed.
        number: usize,
        text: String,
        /// The byte ranges that differ from the line that this one replaces, or is replaced by.
        changed: Vec<std::ops::Range<usize>>,
    },
}

/// One file of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
struct File {
    name: String,
    note: &'static str,
    added: usize,
    removed: usize,
    rows: Vec<DiffRow>,
    is_folded: bool,
}

/// A change as a diff that can be scrolled and folded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Diff {
    files: Vec<File>,
    top: usize,
}

impl Diff {
    /// Creates the diff of a change; generated files are folded. A file that goes elsewhere is one
    /// file, with what else changes in it.
    pub(crate) fn new(change: &Change) -> Self {
        let edits: Vec<&Edit> = change.shown().collect();
        let several = edits.windows(2).any(|edits| edits[0].root != edits[1].root);
        // The same name may stand in several stores.
        let name = |edit: &Edit| match several {
            true => format!("{}  {}", edit.reference(), short_path(&edit.root)),
            false => edit.reference(),
        };
        let sources: Vec<Option<&Edit>> = edits.iter().map(|to| source(to, &edits)).collect();
        let is_source = |edit: &&&Edit| {
            let mut sources = sources.iter().flatten();
            sources.any(|from| std::ptr::eq(*from, **edit))
        };
        let with_sources = edits.iter().zip(&sources);
        let files = with_sources.filter(|(edit, _)| !is_source(edit));
        let files = files.map(|(edit, from)| match from {
            Some(from) => File {
                name: format!("{} → {}", name(from), name(edit)),
                note: "",
                ..file(edit, from.before.as_deref())
            },
            None => File {
                name: name(edit),
                ..file(edit, edit.before.as_deref())
            },
        });
        Self {
            files: files.collect(),
            top: 0,
        }
    }

    /// The same with every file unfolded, except deleted ones if there are several.
    pub(crate) fn unfolded(mut self) -> Self {
        let is_gone = |file: &File| file.note == DELETED;
        let many = self.files.iter().filter(|file| is_gone(file)).count() > 1;
        for file in &mut self.files {
            file.is_folded = many && is_gone(file);
        }
        self
    }

    pub(crate) fn toggle(&mut self, file: usize) {
        if let Some(file) = self.files.get_mut(file) {
            file.is_folded = !file.is_folded;
        }
    }

    /// Unfolds every file, or folds them if all are unfolded.
    pub(crate) fn toggle_all(&mut self) {
        let fold = self.files.iter().all(|file| !file.is_folded);
        self.files.iter_mut().for_each(|file| file.is_folded = fold);
    }

    /// Returns the file whose heading is at `line` of the diff, if there is one.
    pub(crate) fn head_at(&self, line: usize, width: u16) -> Option<usize> {
        let theme = Theme::default();
        let mut at = 0;
        for (n, file) in self.files.iter().enumerate() {
            if at == line {
                return Some(n);
            }
            at += file.lines(&theme, width).len();
        }
        None
    }

    /// Returns the first visible line.
    pub(crate) fn top(&self) -> usize {
        self.top
    }

    /// Scrolls by lines in an area of this size.
    pub(crate) fn scroll(&mut self, lines: isize, width: u16, height: u16) {
        let count = self.lines(&Theme::default(), width).len();
        let last = count.saturating_sub(usize::from(height));
        self.top = self.top.saturating_add_signed(lines).min(last);
    }

    pub(crate) fn lines(&self, theme: &Theme, width: u16) -> Vec<Line<'static>> {
        self.files
            .iter()
            .flat_map(|file| file.lines(theme, width))
            .collect()
    }

    /// Returns the lines from the first visible one on.
    pub(crate) fn view(&self, theme: &Theme, width: u16) -> Text<'static> {
        let lines = self.lines(theme, width).into_iter();
        lines.skip(self.top).collect()
    }
}

/// What is said of a file that goes.
const DELETED: &str = "deleted";

/// The edit that takes away the file that another one puts elsewhere: of the same name or text, or the
/// only one that goes where only one comes with the most of its lines. `None` for other edits.
fn source<'a>(to: &Edit, edits: &[&'a Edit]) -> Option<&'a Edit> {
    let comes = |edit: &Edit| !edit.derived && edit.before.is_none() && edit.after.is_some();
    let goes = |edit: &Edit| !edit.derived && edit.before.is_some() && edit.after.is_none();
    if !comes(to) {
        return None;
    }
    let gone = || edits.iter().copied().filter(|edit| goes(edit));
    let name = |edit: &Edit| edit.path.rsplit('/').next().map(str::to_owned);
    let is_kept = |from: &Edit| {
        let before = from.before.as_deref().unwrap_or_default();
        let (_, removed) = diff::counts(before, to.after.as_deref().unwrap_or_default());
        2 * removed <= diff::lines(before).len()
    };
    let is_only = || gone().count() == 1 && edits.iter().filter(|edit| comes(edit)).count() == 1;
    gone()
        .find(|from| name(from) == name(to))
        .or_else(|| gone().find(|from| from.before == to.after))
        .or_else(|| gone().find(|from| is_only() && is_kept(from)))
}

fn file(edit: &Edit, before: Option<&[u8]>) -> File {
    let before = before.unwrap_or_default();
    let after = edit.after.as_deref().unwrap_or_default();
    let (added, removed) = diff::counts(before, after);
    let note = match (&edit.before, &edit.after) {
        (None, Some(_)) => "new",
        (Some(_), None) => DELETED,
        _ if before == after => "unchanged",
        _ => "",
    };
    File {
        name: String::new(),
        note,
        added,
        removed,
        rows: rows(before, after),
        is_folded: edit.derived,
    }
}

fn rows(before: &[u8], after: &[u8]) -> Vec<DiffRow> {
    let (old, new) = (diff::lines(before), diff::lines(after));
    let mut rows = Rows::default();
    for hunk in diff::hunks(diff::line_replacements(before, after), old.len()) {
        rows.gap();
        let mut push = |sign: Sign, first: usize, lines: &[&[u8]]| {
            for (n, line) in lines.iter().enumerate() {
                rows.push(sign, first + n + 1, line);
            }
        };
        let mut at = hunk.new.start;
        for replacement in &hunk.replacements {
            push(Sign::Same, at, &new[at..replacement.new.start]);
            push(
                Sign::Removed,
                replacement.old.start,
                &old[replacement.old.clone()],
            );
            push(
                Sign::Added,
                replacement.new.start,
                &new[replacement.new.clone()],
            );
            at = replacement.new.end;
        }
        push(Sign::Same, at, &new[at..hunk.new.end]);
    }
    rows.end()
}

/// Rows as long as there is room for them.
#[derive(Debug, Default)]
struct Rows {
    rows: Vec<DiffRow>,
    used: usize,
    left_out: usize,
}

impl Rows {
    /// Adds a gap between two hunks.
    fn gap(&mut self) {
        if !self.rows.is_empty() && self.left_out == 0 {
            self.rows.push(DiffRow::Gap);
        }
    }

    fn push(&mut self, sign: Sign, number: usize, line: &[u8]) {
        if self.used >= MOST_SHOWN {
            self.left_out += 1;
            return;
        }
        let shown = &line[..line.len().min(MOST_SHOWN - self.used)];
        self.used += shown.len().max(LEAST);
        let text = String::from_utf8_lossy(shown);
        let text = text.strip_suffix('\n').unwrap_or(&text);
        let mut text = text.strip_suffix('\r').unwrap_or(text).to_owned();
        if shown.len() < line.len() {
            text.push('…');
        }
        self.rows.push(DiffRow::Line {
            sign,
            number,
            text,
            changed: Vec::new(),
        });
    }

    /// The rows, with the words marked that differ.
    fn end(mut self) -> Vec<DiffRow> {
        emphasise(&mut self.rows);
        if self.left_out > 0 {
            self.rows.push(DiffRow::More(self.left_out));
        }
        self.rows
    }
}

/// Pairs removed lines with the added lines that follow them, and marks the words that differ.
fn emphasise(rows: &mut [DiffRow]) {
    let sign = |row: &DiffRow| match row {
        DiffRow::Line { sign, .. } => *sign,
        DiffRow::Gap | DiffRow::More(_) => Sign::Same,
    };
    let mut at = 0;
    while at < rows.len() {
        let run = |from: usize, wanted: Sign| {
            rows[from..]
                .iter()
                .take_while(|row| sign(row) == wanted)
                .count()
        };
        let removed = run(at, Sign::Removed);
        let added = run(at + removed, Sign::Added);
        for n in 0..removed.min(added) {
            let (head, tail) = rows.split_at_mut(at + removed);
            if let (
                DiffRow::Line {
                    text: old,
                    changed: gone,
                    ..
                },
                DiffRow::Line {
                    text: new,
                    changed: come,
                    ..
                },
            ) = (&mut head[at + n], &mut tail[n])
            {
                (*gone, *come) = words::changed(old, new);
            }
        }
        at += (removed + added).max(1);
    }
}

/// The width of the line numbers.
fn digits<'a>(rows: impl Iterator<Item = &'a DiffRow>) -> usize {
    let widths = rows.filter_map(|row| match row {
        DiffRow::Line { number, .. } => Some(number.to_string().len()),
        DiffRow::Gap | DiffRow::More(_) => None,
    });
    widths.max().unwrap_or(1).max(3)
}

impl File {
    fn lines(&self, theme: &Theme, width: u16) -> Vec<Line<'static>> {
        let width = usize::from(width);
        let mut lines = vec![self.head(theme, width)];
        if self.is_folded {
            return lines;
        }
        let digits = digits(self.rows.iter());
        for row in &self.rows {
            lines.extend(row.lines(theme, width, digits));
        }
        lines.push(Line::default());
        lines
    }

    fn head(&self, theme: &Theme, width: usize) -> Line<'static> {
        let mut right = Vec::new();
        if !self.note.is_empty() {
            right.push(theme.span(self.note, Role::Muted));
        }
        for (count, sign, role) in [
            (self.added, '+', Role::Added),
            (self.removed, '−', Role::Removed),
        ] {
            if count > 0 {
                let gap = if right.is_empty() { "" } else { " " };
                right.push(Span::raw(gap));
                right.push(theme.span(format!("{sign}{count}"), role));
            }
        }
        let taken: usize = right.iter().map(Span::width).sum();
        let arrow = match (self.rows.is_empty(), self.is_folded) {
            (true, _) => "  ",
            (false, true) => "▸ ",
            (false, false) => "▾ ",
        };
        let name = cells::cut(&self.name, width.saturating_sub(taken + 3));
        let gap = width.saturating_sub(cells::width(&name) + taken + 2);
        let mut spans = vec![
            theme.span(arrow, Role::Muted),
            theme.span(name, Role::Title),
            Span::raw(" ".repeat(gap)),
        ];
        spans.extend(right);
        Line::from(spans)
    }
}

impl DiffRow {
    fn lines(&self, theme: &Theme, width: usize, digits: usize) -> Vec<Line<'static>> {
        let (sign, number, text, changed) = match self {
            Self::Line {
                sign,
                number,
                text,
                changed,
            } => (sign, number, text, changed),
            Self::Gap => return vec![theme.line(format!("{:>digits$}", "⋯"), Role::Hunk)],
            Self::More(count) => {
                let more = format!("{:>digits$} {count} more lines", "⋯");
                return vec![theme.line(more, Role::Hunk)];
            }
        };
        let (mark, role, word) = match sign {
            Sign::Same => (" ", Role::Muted, Role::Muted),
            Sign::Added => ("+", Role::Added, Role::AddedWord),
            Sign::Removed => ("-", Role::Removed, Role::RemovedWord),
        };
        let style_at = |at: usize| -> Style {
            let next = changed.partition_point(|range| range.end <= at);
            if changed.get(next).is_some_and(|range| range.start <= at) {
                theme.style(word)
            } else {
                theme.style(role)
            }
        };
        cells::styled_rows(text, width.saturating_sub(digits + 3), style_at)
            .into_iter()
            .enumerate()
            .map(|(n, row)| {
                let number = if n == 0 {
                    number.to_string()
                } else {
                    String::new()
                };
                let mark = if n == 0 { mark } else { " " };
                let mut spans = vec![
                    theme.span(format!("{number:>digits$} "), Role::Gutter),
                    theme.span(format!("{mark} "), role),
                ];
                spans.extend(row);
                Line::from(spans)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::core::change::ChangeVerb;
    use crate::core::memory::layout::Layout;
    use crate::tui::dump;
    use crate::tui::theme::{Background, ColorDepth, Terminal};

    fn edit(path: &str, before: Option<&str>, after: Option<&str>) -> Edit {
        Edit {
            root: PathBuf::from("/r"),
            layout: Layout::Index,
            path: path.to_owned(),
            before: before.map(|text| text.as_bytes().to_vec()),
            after: after.map(|text| text.as_bytes().to_vec()),
            derived: path == "MEMORY.md",
            emptied: Vec::new(),
            attributes: crate::core::disk::sandbox::Attributes::default(),
        }
    }

    fn change() -> Diff {
        let long: String = (1..20).map(|n| format!("line {n}\n")).collect();
        let edited = long
            .replace("line 2\n", "line two, really\n")
            .replace("line 18\n", "");
        Diff::new(&Change {
            verb: ChangeVerb::Edit,
            message: String::new(),
            edits: vec![
                edit("auth.md", Some(&long), Some(&edited)),
                edit("new.md", None, Some("hello\u{1b}[31m\n")),
                edit("MEMORY.md", Some("a\n"), Some("b\n")),
            ],
            of: None,
            rejected: Vec::new(),
        })
    }

    #[test]
    fn looks_on_either_background() {
        let [dark, light] = [Background::Dark, Background::Light].map(|background| {
            let depth = ColorDepth::True;
            let theme = Theme::new(Terminal { background, depth });
            dump::styled(&dump::draw(change().view(&theme, 40), 40, 18), &theme)
        });
        assert_eq!(dark, light);
        insta::assert_snapshot!(dark, @r##"
        ⟨muted⟩▾ ⟨/⟩⟨title⟩auth.md⟨/⟩                          ⟨added⟩+1⟨/⟩ ⟨removed⟩−2⟨/⟩
        ⟨gutter⟩  1 ⟨/⟩⟨muted⟩  line 1⟨/⟩
        ⟨gutter⟩  2 ⟨/⟩⟨removed⟩- line 2⟨/⟩
        ⟨gutter⟩  2 ⟨/⟩⟨added⟩+ line two, really⟨/⟩
        ⟨gutter⟩  3 ⟨/⟩⟨muted⟩  line 3⟨/⟩
        ⟨gutter⟩  4 ⟨/⟩⟨muted⟩  line 4⟨/⟩
        ⟨gutter⟩  5 ⟨/⟩⟨muted⟩  line 5⟨/⟩
        ⟨marker⟩  ⋯⟨/⟩
        ⟨gutter⟩ 15 ⟨/⟩⟨muted⟩  line 15⟨/⟩
        ⟨gutter⟩ 16 ⟨/⟩⟨muted⟩  line 16⟨/⟩
        ⟨gutter⟩ 17 ⟨/⟩⟨muted⟩  line 17⟨/⟩
        ⟨gutter⟩ 18 ⟨/⟩⟨removed⟩- line 18⟨/⟩
        ⟨gutter⟩ 18 ⟨/⟩⟨muted⟩  line 19⟨/⟩

        ⟨muted⟩▾ ⟨/⟩⟨title⟩new.md⟨/⟩                          ⟨muted⟩new⟨/⟩ ⟨added⟩+1⟨/⟩
        ⟨gutter⟩  1 ⟨/⟩⟨added⟩+ hello␛[31m⟨/⟩

        ⟨muted⟩▸ ⟨/⟩⟨title⟩MEMORY.md⟨/⟩                        ⟨added⟩+1⟨/⟩ ⟨removed⟩−1⟨/⟩
        "##);
    }

    #[test]
    fn what_is_too_much_to_lay_out_is_counted() {
        let theme = Theme::default();
        let shown = |text: &str| {
            let diff = Diff::new(&Change {
                verb: ChangeVerb::Delete,
                message: String::new(),
                edits: vec![edit("a.md", Some(text), None)],
                of: None,
                rejected: Vec::new(),
            });
            diff.lines(&theme, 100)
        };
        let lines = shown(&"word\n".repeat(1_000_000));
        let rows = MOST_SHOWN / LEAST;
        assert_eq!(lines.len(), 1 + rows + 1 + 1);
        let more = lines[1 + rows].to_string();
        assert!(
            more.ends_with(&format!("{} more lines", 1_000_000 - rows)),
            "{more}"
        );
        let lines = shown(&"wörd ".repeat(1_000_000));
        let last = lines[lines.len() - 2].to_string();
        assert!(
            lines.len() < MOST_SHOWN / 50 && last.contains('…'),
            "{last}"
        );
    }

    #[test]
    fn a_file_that_goes_elsewhere_is_one_file_with_what_changes_in_it() {
        let theme = Theme::default();
        let shown = |edits: Vec<Edit>| {
            let diff = Diff::new(&Change {
                verb: ChangeVerb::Rename,
                message: String::new(),
                edits,
                of: None,
                rejected: Vec::new(),
            });
            let lines = diff.unfolded().lines(&theme, 40).into_iter();
            let lines = lines.map(|line| line.to_string().trim_end().to_owned());
            lines.collect::<Vec<_>>()
        };
        let text = "one\ntwo\nthree\n";
        let lines = shown(vec![
            edit("a.md", Some(text), None),
            edit("b.md", None, Some(text)),
            edit("c.md", Some("see a\n"), Some("see b\n")),
        ]);
        assert_eq!(lines[0], "  a.md → b.md");
        assert!(lines[2].starts_with("▾ c.md"), "{lines:?}");
        let lines = shown(vec![
            edit("a.md", Some(text), None),
            edit("b.md", None, Some("one\n2\nthree\n")),
        ]);
        assert!(lines[0].starts_with("▾ a.md → b.md"), "{lines:?}");
        assert_eq!(
            lines.iter().filter(|line| line.contains("- two")).count(),
            1
        );
        assert!(
            !lines.iter().any(|line| line.contains("- one")),
            "{lines:?}"
        );
        // What is merged comes from nowhere.
        let lines = shown(vec![
            edit("a.md", Some(text), None),
            edit("b.md", Some(text), None),
            edit("c.md", None, Some("all of it\n")),
        ]);
        assert!(!lines.iter().any(|line| line.contains('→')), "{lines:?}");
    }

    #[test]
    fn files_fold_and_the_rest_scrolls() {
        let mut diff = change();
        assert_eq!(diff.head_at(0, 40), Some(0));
        assert_eq!(diff.head_at(1, 40), None);
        diff.toggle(0);
        assert_eq!(diff.head_at(1, 40), Some(1));
        diff.scroll(99, 40, 3);
        assert_eq!(diff.top(), 2);
        diff.scroll(-99, 40, 3);
        assert_eq!(diff.top(), 0);
    }
}
