//! Output: a verb's report on standard output, as text or as JSON, and messages on standard error.
//! Control characters in file content never reach a terminal.

use std::io::{self, BufWriter, IsTerminal as _, Write};

use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr as _;

use super::args::Common;
use super::{CommandResult, Failure, Outcome};
use crate::core::disk::error::Conflict;
use crate::core::memory::config::{Color, Settings};
pub(super) use crate::core::text::display::{escape_controls, format_age};
use crate::core::text::display::{visible_char, visible_json};

/// What a verb found or did: text for people, and one JSON object for `--json`.
pub(super) trait Report {
    /// Returns the JSON object.
    fn json(&self) -> Result<Json<'_>, Failure>;

    /// Prints the text.
    fn print(&self, printer: &mut Printer) -> io::Result<()>;

    /// How the verb ends.
    fn outcome(&self) -> Outcome {
        Outcome::Done
    }

    /// Takes the failure that ended the verb after some of its steps. People see what was done
    /// before; a JSON object is printed only of what is whole.
    fn failure(&mut self) -> Option<Failure> {
        None
    }
}

/// A verb's report, or why there is none.
pub(super) type Reported<'a> = Result<Box<dyn Report + 'a>, Failure>;

/// A JSON object, with one list of which one row at a time is in memory.
pub(super) struct Json<'a> {
    object: Value,
    list: Option<(&'static str, Box<dyn Iterator<Item = Value> + 'a>)>,
}

impl From<Value> for Json<'_> {
    fn from(object: Value) -> Self {
        Self { object, list: None }
    }
}

impl<'a> Json<'a> {
    /// Returns an object with this list only.
    pub(super) fn list(name: &'static str, rows: impl Iterator<Item = Value> + 'a) -> Self {
        Self::from(json!({})).with_list(name, rows)
    }

    /// Adds a list at the end.
    pub(super) fn with_list(
        self,
        name: &'static str,
        rows: impl Iterator<Item = Value> + 'a,
    ) -> Self {
        Self {
            list: Some((name, Box::new(rows))),
            ..self
        }
    }
}

/// A report of which both forms are small.
pub(super) struct Answer<'a> {
    json: Value,
    text: Text<'a>,
    outcome: Outcome,
    failure: Option<Failure>,
}

/// What people see of an [`Answer`].
pub(super) enum Text<'a> {
    Nothing,
    Line(String),
    Lines(Vec<String>),
    /// A unified diff.
    Diff(String),
    /// The content of a file.
    Content(Vec<u8>),
    Table(Vec<Vec<Cell>>),
    /// A message on standard error.
    Error(String),
    /// Whatever this prints.
    Printed(Box<Print<'a>>),
}

type Print<'a> = dyn Fn(&mut Printer) -> io::Result<()> + 'a;

impl<'a> Answer<'a> {
    /// Returns the answer of a verb that is done.
    pub(super) fn done(json: Value, text: Text<'a>) -> Reported<'a> {
        Self::ending(Outcome::Done, json, text)
    }

    /// Returns the answer of a verb that prints nothing, in either form.
    pub(super) fn silent(outcome: Outcome) -> Reported<'a> {
        Self::ending(outcome, Value::Null, Text::Nothing)
    }

    /// Returns the answer of a verb that looked for something.
    pub(super) fn found(
        is_found: bool,
        json: Value,
        print: impl Fn(&mut Printer) -> io::Result<()> + 'a,
    ) -> Reported<'a> {
        let text = Text::Printed(Box::new(print));
        Self::ending(Outcome::found(is_found), json, text)
    }

    pub(super) fn ending(outcome: Outcome, json: Value, text: Text<'a>) -> Reported<'a> {
        Ok(Box::new(Self {
            json,
            text,
            outcome,
            failure: None,
        }))
    }

    /// Returns the answer of a verb that failed after some of its steps.
    pub(super) fn failed(failure: Failure, text: Text<'a>) -> Reported<'a> {
        Ok(Box::new(Self {
            json: Value::Null,
            text,
            outcome: Outcome::Nothing,
            failure: Some(failure),
        }))
    }
}

impl Report for Answer<'_> {
    fn json(&self) -> Result<Json<'_>, Failure> {
        Ok(self.json.clone().into())
    }

    fn print(&self, printer: &mut Printer) -> io::Result<()> {
        match &self.text {
            Text::Nothing => Ok(()),
            Text::Line(line) => printer.line(line),
            Text::Lines(lines) => lines.iter().try_for_each(|line| printer.line(line)),
            Text::Diff(diff) => printer.diff(diff),
            Text::Content(bytes) => printer.content(bytes),
            Text::Table(rows) => printer.table(rows),
            Text::Error(text) => {
                print_error(text);
                Ok(())
            }
            Text::Printed(print) => print(printer),
        }
    }

    fn outcome(&self) -> Outcome {
        self.outcome
    }

    fn failure(&mut self) -> Option<Failure> {
        self.failure.take()
    }
}

/// Writes to standard output.
pub(super) struct Printer {
    out: Box<dyn Write>,
    json: bool,
    color: bool,
    terminal: bool,
}

/// The role of a piece of text, which determines its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextStyle {
    /// Ordinary text.
    Plain,
    /// A heading or a name.
    Strong,
    /// Secondary text.
    Quiet,
    /// Added text.
    Added,
    /// Removed text.
    Removed,
    /// Text that needs attention.
    Attention,
}

impl TextStyle {
    fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Strong => "1",
            Self::Quiet => "2",
            Self::Added => "32",
            Self::Removed => "31",
            Self::Attention => "33",
        }
    }
}

impl Printer {
    pub(super) fn from_process(common: &Common, settings: &Settings) -> Self {
        let terminal = io::stdout().is_terminal();
        let wanted = common.color.unwrap_or(settings.color);
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self {
            out: Box::new(BufWriter::new(io::stdout())),
            json: common.json,
            color: match wanted {
                Color::Always => true,
                Color::Never => false,
                Color::Auto => terminal && !no_color,
            },
            terminal,
        }
    }

    pub(super) fn is_json(&self) -> bool {
        self.json
    }

    /// Prints a line of text, made safe for a terminal.
    pub(super) fn line(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "{}", escape_controls(text))
    }

    /// Prints the content of a file: unchanged into a pipe, made safe for a terminal.
    pub(super) fn content(&mut self, bytes: &[u8]) -> io::Result<()> {
        if !self.terminal {
            return self.out.write_all(bytes);
        }
        let text = String::from_utf8_lossy(bytes);
        self.out.write_all(escape_controls(&text).as_bytes())?;
        if text.is_empty() || text.ends_with('\n') {
            return Ok(());
        }
        writeln!(self.out)
    }

    /// Prints a report in the form that was asked for.
    pub(super) fn report(&mut self, mut report: Box<dyn Report + '_>) -> CommandResult {
        if !self.json {
            report.print(self)?;
        }
        if let Some(failure) = report.failure() {
            return Err(failure);
        }
        if self.json {
            self.object(report.json()?)?;
        }
        Ok(report.outcome())
    }

    /// Prints a JSON object, with the schema number added.
    pub(super) fn object(&mut self, json: Json<'_>) -> io::Result<()> {
        let Json { mut object, list } = json;
        if object.is_null() {
            return Ok(());
        }
        object["schema"] = json!(1);
        let text = serde_json::to_string(&object)?;
        let Some((name, rows)) = list else {
            return writeln!(self.out, "{}", visible_json(&text));
        };
        let open = text.strip_suffix('}').unwrap_or(&text);
        write!(self.out, "{},\"{name}\":[", visible_json(open))?;
        for (at, row) in rows.enumerate() {
            let comma = if at == 0 { "" } else { "," };
            let row = serde_json::to_string(&row)?;
            write!(self.out, "{comma}{}", visible_json(&row))?;
        }
        writeln!(self.out, "]}}")
    }

    /// With `--json`, prints base and both sides of a conflict, so that a caller can merge them.
    pub(super) fn conflict(&mut self, conflict: &Conflict) -> io::Result<()> {
        if !self.json {
            return Ok(());
        }
        let text = |side: &Option<Vec<u8>>| {
            let bytes = side.as_deref();
            bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned())
        };
        let sides = json!({
            "success": false,
            "conflict": {
                "path": conflict.path,
                "base": text(&conflict.base),
                "mine": text(&conflict.mine),
                "theirs": text(&conflict.theirs),
            },
        });
        self.object(sides.into())?;
        self.flush()
    }

    /// Returns the text in the colour of its role.
    pub(super) fn paint(&self, role: TextStyle, text: &str) -> String {
        let text = escape_controls(text);
        match role.code() {
            "" => text,
            code if self.color => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            _ => text,
        }
    }

    /// Prints a line in the colour of its role.
    pub(super) fn painted_line(&mut self, role: TextStyle, text: &str) -> io::Result<()> {
        let line = self.paint(role, text);
        self.styled_line(&line)
    }

    /// Prints a line that [`paint`](Self::paint) has already made safe.
    pub(super) fn styled_line(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "{text}")
    }

    /// Prints a unified diff with its lines in colour. Where it is no terminal that reads it, other
    /// ends of lines stay as they are, so that the diff can be applied; a terminal gets marks.
    pub(super) fn diff(&mut self, diff: &str) -> io::Result<()> {
        const OTHER_ENDS: [char; 3] = ['\r', '\u{2028}', '\u{2029}'];
        for line in diff.split_terminator('\n') {
            let role = match line.as_bytes() {
                [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => TextStyle::Strong,
                [b'+', ..] => TextStyle::Added,
                [b'-', ..] => TextStyle::Removed,
                [b'@', ..] | [b'\\', ..] => TextStyle::Quiet,
                _ => TextStyle::Plain,
            };
            let mut shown = String::new();
            for part in line.split_inclusive(OTHER_ENDS) {
                let text = part.trim_end_matches(OTHER_ENDS);
                shown.push_str(&self.paint(role, text));
                let ends = part[text.len()..].chars();
                shown.extend(ends.map(|end| match visible_char(end) {
                    Some(mark) if self.terminal => mark,
                    _ => end,
                }));
            }
            self.styled_line(&shown)?;
        }
        Ok(())
    }

    /// Prints rows with aligned columns; the last column is not padded.
    pub(super) fn table(&mut self, rows: &[Vec<Cell>]) -> io::Result<()> {
        let own = |cell: &Cell| escape_controls(&cell.text).width();
        let own: Vec<Vec<usize>> = rows
            .iter()
            .map(|row| row.iter().map(own).collect())
            .collect();
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        let widest = |column: usize| own.iter().filter_map(|row| row.get(column)).max();
        let widths: Vec<usize> = (0..columns)
            .map(|column| widest(column).copied().unwrap_or(0))
            .collect();
        for (row, own) in rows.iter().zip(&own) {
            let mut line = String::new();
            for (at, cell) in row.iter().enumerate() {
                let gap = " ".repeat(widths[at] - own[at]);
                let painted = self.paint(cell.role, &cell.text);
                let last = at + 1 == row.len();
                match cell.side {
                    Side::Right => line.push_str(&format!("{gap}{painted}")),
                    Side::Left if last => line.push_str(&painted),
                    Side::Left => line.push_str(&format!("{painted}{gap}")),
                }
                if !last {
                    line.push_str("  ");
                }
            }
            self.styled_line(line.trim_end())?;
        }
        Ok(())
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// How a cell is aligned in its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

/// A cell of a table.
#[derive(Debug, Clone)]
pub(super) struct Cell {
    text: String,
    role: TextStyle,
    side: Side,
}

impl Cell {
    pub(super) fn new(role: TextStyle, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            role,
            side: Side::Left,
        }
    }

    pub(super) fn plain(text: impl Into<String>) -> Self {
        Self::new(TextStyle::Plain, text)
    }

    /// Returns the titles of columns.
    pub(super) fn titles<const N: usize>(titles: [&str; N]) -> Vec<Self> {
        titles
            .map(|title| Self::new(TextStyle::Quiet, title))
            .into()
    }

    pub(super) fn number(role: TextStyle, text: impl Into<String>) -> Self {
        Self {
            side: Side::Right,
            ..Self::new(role, text)
        }
    }
}

/// Formats a number of things, each of which has this name: `1 log`, `2 logs`.
pub(super) fn counted(count: impl TryInto<u64>, name: &str) -> String {
    match count.try_into().unwrap_or(u64::MAX) {
        1 => format!("1 {name}"),
        count => format!("{count} {name}s"),
    }
}

/// Shortens a text to so many characters.
pub(super) fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Formats a time as RFC 3339, with its fraction of a second and its zone.
pub(super) fn exact_time(ms: i64) -> Option<String> {
    let time = jiff::Timestamp::from_millisecond(ms).ok()?;
    Some(time.to_string())
}

/// Formats a time to the minute.
pub(super) fn short_time(ms: i64) -> Option<String> {
    let time = jiff::Timestamp::from_millisecond(ms).ok()?;
    Some(time.strftime("%Y-%m-%d %H:%M").to_string())
}

/// Prints a message on standard error.
pub(super) fn print_error(text: &str) {
    let text = escape_controls(text);
    let line = if text.starts_with("Error:") {
        format!("{text}\n")
    } else {
        format!("tome: {text}\n")
    };
    // A failure to write to standard error cannot be reported.
    drop(io::stderr().write_all(line.as_bytes()));
}

/// Prints a message only when standard error is a terminal.
pub(super) fn print_note(text: &str) {
    if io::stderr().is_terminal() {
        print_error(text);
    }
}
