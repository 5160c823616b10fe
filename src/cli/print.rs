//! Output: data on standard output, messages on standard error. Control characters in file content
//! never reach a terminal.

use std::io::{self, BufWriter, IsTerminal as _, Write};

use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr as _;

use super::args::{ColorChoice, Common};
use crate::core::disk::error::Conflict;
use crate::core::memory::config::{Color, Settings};
use crate::core::text::display::visible_json;
pub(super) use crate::core::text::display::{escape_controls, format_age};

/// Writes a verb's data to standard output.
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
        let wanted = match common.color {
            Some(ColorChoice::Auto) => Color::Auto,
            Some(ColorChoice::Always) => Color::Always,
            Some(ColorChoice::Never) => Color::Never,
            None => settings.color,
        };
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

    /// Prints one JSON object, with the schema number added.
    pub(super) fn object(&mut self, mut value: Value) -> io::Result<()> {
        value["schema"] = json!(1);
        let text = serde_json::to_string(&value)?;
        writeln!(self.out, "{}", visible_json(&text))
    }

    /// Prints one JSON object as [`object`](Self::object) does, with one more member at its end: a
    /// list, of which one row at a time is in memory.
    pub(super) fn object_with_list(
        &mut self,
        mut value: Value,
        (name, rows): (&str, impl IntoIterator<Item = Value>),
    ) -> io::Result<()> {
        value["schema"] = json!(1);
        let text = serde_json::to_string(&value)?;
        let open = text.strip_suffix('}').unwrap_or(&text);
        write!(self.out, "{},\"{name}\":[", visible_json(open))?;
        for (at, row) in rows.into_iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            let row = serde_json::to_string(&row)?;
            write!(self.out, "{comma}{}", visible_json(&row))?;
        }
        writeln!(self.out, "]}}")
    }

    /// Prints one JSON object with a list.
    pub(super) fn list(
        &mut self,
        name: &str,
        rows: impl IntoIterator<Item = Value>,
    ) -> io::Result<()> {
        self.object_with_list(json!({}), (name, rows))
    }

    /// Prints a conflict as JSON, with base and both sides.
    pub(super) fn conflict(&mut self, conflict: &Conflict) -> io::Result<()> {
        let text = |side: &Option<Vec<u8>>| {
            let bytes = side.as_deref();
            bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned())
        };
        self.object(json!({
            "success": false,
            "conflict": {
                "path": conflict.path,
                "base": text(&conflict.base),
                "mine": text(&conflict.mine),
                "theirs": text(&conflict.theirs),
            },
        }))
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

    /// Prints a line that [`paint`](Self::paint) has already made safe.
    pub(super) fn styled_line(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "{text}")
    }

    /// Prints a unified diff with its lines in colour.
    pub(super) fn diff(&mut self, diff: &str) -> io::Result<()> {
        for line in diff.lines() {
            let role = match line.as_bytes() {
                [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => TextStyle::Strong,
                [b'+', ..] => TextStyle::Added,
                [b'-', ..] => TextStyle::Removed,
                [b'@', ..] | [b'\\', ..] => TextStyle::Quiet,
                _ => TextStyle::Plain,
            };
            let painted = self.paint(role, line);
            self.styled_line(&painted)?;
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

    pub(super) fn number(role: TextStyle, text: impl Into<String>) -> Self {
        Self {
            side: Side::Right,
            ..Self::new(role, text)
        }
    }
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
