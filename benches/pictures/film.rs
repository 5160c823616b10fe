//! A recording of the screen as an animated SVG and as an asciinema cast.
//!
//! The SVG is a strip of frames, one below the other, that a CSS animation moves past a window of
//! one frame. A row that is the same in several frames is written once. Text stands as text, with
//! its width given, so that any monospace font of the viewer fits the cells.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::Duration;

use crate::paint::{Colour, Colours, between};
use crate::shape;

/// The size of a cell, in the units of the SVG.
const WIDTH: usize = 8;
const HEIGHT: usize = 18;
const MARGIN: usize = 14;
/// The height of the line below the screen, which says what is done.
const CAPTION: usize = 34;

const CELL: shape::Cell = shape::Cell {
    width: WIDTH as f32,
    height: HEIGHT as f32,
    line: 1.0,
};

/// A screen that is shown for a while.
pub(crate) struct Frame {
    pub(crate) screen: vt100::Screen,
    /// The keys that were pressed, and what they do.
    pub(crate) caption: (&'static str, &'static str),
    pub(crate) hold: Duration,
}

/// Returns the recording as an asciicast of version 2. Captions are its markers.
pub(crate) fn cast(frames: &[Frame], title: &str) -> String {
    let Some(first) = frames.first() else {
        return String::new();
    };
    let (rows, columns) = first.screen.size();
    let header = serde_json::json!({
        "version": 2, "width": columns.get(), "height": rows.get(), "title": title,
        "env": {"TERM": "xterm-256color"},
    });
    let mut out = format!("{header}\n");
    let mut before: Option<&Frame> = None;
    let mut time = Duration::ZERO;
    for frame in frames {
        let seconds = time.as_millis() as f64 / 1000.0;
        let bytes = match before {
            Some(before) => frame.screen.state_diff(&before.screen),
            None => frame.screen.state_formatted(),
        };
        if before.is_none_or(|before| before.caption != frame.caption) {
            let (keys, what) = frame.caption;
            let marker = format!("{keys} {what}");
            let _ = writeln!(
                out,
                "{}",
                serde_json::json!([seconds, "m", marker.trim_start()])
            );
        }
        let _ = writeln!(out, "{}", serde_json::json!([seconds, "o", bytes]));
        time += frame.hold;
        before = Some(frame);
    }
    // The last screen stays for its time.
    let end = serde_json::json!([time.as_millis() as f64 / 1000.0, "o", ""]);
    let _ = writeln!(out, "{end}");
    out
}

/// Returns the recording as an animated SVG. `label` describes it to those who do not see it.
pub(crate) fn svg(frames: &[Frame], colours: &Colours, label: &str) -> String {
    let Some(first) = frames.first() else {
        return String::new();
    };
    let (rows, columns) = first.screen.size();
    let (rows, columns) = (usize::from(rows.get()), usize::from(columns.get()));
    let (width, height) = (columns * WIDTH, rows * HEIGHT + CAPTION);
    let mut drawn = Drawing {
        colours,
        rows: HashMap::new(),
        definitions: String::new(),
        classes: Vec::new(),
    };
    let mut strip = String::new();
    for (number, frame) in frames.iter().enumerate() {
        drawn.frame(frame, number * height, &mut strip);
    }
    let mut style = String::new();
    for (number, colour) in drawn.classes.iter().enumerate() {
        let _ = write!(style, ".c{number}{{fill:{}}}", hex(*colour));
    }
    let total: Duration = frames.iter().map(|frame| frame.hold).sum();
    let mut time = Duration::ZERO;
    let mut steps = String::new();
    for (number, frame) in frames.iter().enumerate() {
        let share = time.as_secs_f64() / total.as_secs_f64() * 100.0;
        let _ = write!(
            steps,
            "{share:.3}%{{transform:translateY(-{}px)}}",
            number * height
        );
        time += frame.hold;
    }
    let (ground, edge) = (hex(colours.ground), hex(colours.edge));
    let caption = hex(between(colours.text, colours.ground, 0.1));
    let (outer_width, outer_height) = (width + 2 * MARGIN, height + MARGIN + MARGIN / 2);
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {outer_width} {outer_height}" width="{outer_width}" height="{outer_height}" role="img" aria-label="{label}">
<style>text{{font:13.3px "JetBrains Mono","DejaVu Sans Mono",ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono",monospace;white-space:pre}}.b{{font-weight:700}}.i{{font-style:italic}}.k{{font-size:15px;font-weight:700;fill:{ground}}}.w{{font-size:15px;fill:{caption}}}
{style}
.film{{animation:film {seconds:.1}s step-end infinite}}@keyframes film{{{steps}}}@media (prefers-reduced-motion:reduce){{.film{{animation-play-state:paused}}}}</style>
<rect x=".5" y=".5" width="{}" height="{}" rx="10" fill="{ground}" stroke="{edge}"/>
<defs>
{definitions}</defs>
<svg x="{MARGIN}" y="{MARGIN}" width="{width}" height="{height}"><g class="film">
{strip}</g></svg>
</svg>
"##,
        outer_width - 1,
        outer_height - 1,
        seconds = total.as_secs_f64(),
        definitions = drawn.definitions,
    )
}

struct Drawing<'a> {
    colours: &'a Colours,
    /// The number of each row that was drawn, by its drawing.
    rows: HashMap<String, usize>,
    definitions: String,
    /// The colours that are used; the class of one is its place.
    classes: Vec<Colour>,
}

impl Drawing<'_> {
    fn frame(&mut self, frame: &Frame, top: usize, out: &mut String) {
        let (rows, _) = frame.screen.size();
        for row in 0..rows.get() {
            let drawing = self.row(&frame.screen, row);
            if drawing.is_empty() {
                continue;
            }
            let next = self.rows.len();
            let number = *self.rows.entry(drawing.clone()).or_insert(next);
            if number == next {
                let _ = writeln!(self.definitions, "<g id=\"r{number}\">{drawing}</g>");
            }
            let y = top + usize::from(row) * HEIGHT;
            let _ = write!(out, "<use href=\"#r{number}\" y=\"{y}\"/>");
        }
        if !frame.screen.hide_cursor() {
            let (row, column) = frame.screen.cursor_position();
            let (x, y) = (usize::from(column) * WIDTH, top + usize::from(row) * HEIGHT);
            let class = self.class(self.colours.text);
            let _ = write!(
                out,
                "<path class=\"c{class}\" d=\"M{x} {y}h2v{HEIGHT}h-2z\"/>"
            );
        }
        let (keys, what) = frame.caption;
        let baseline = top + usize::from(rows.get()) * HEIGHT + 22;
        let mut x = WIDTH;
        if !keys.is_empty() {
            let wide = keys.chars().count() * 9;
            let class = self.class(self.colours.text);
            let _ = write!(
                out,
                "<rect class=\"c{class}\" x=\"{x}\" y=\"{}\" width=\"{}\" height=\"24\" rx=\"5\"/><text class=\"k\" x=\"{}\" y=\"{baseline}\" textLength=\"{wide}\">{}</text>",
                baseline - 17,
                wide + 16,
                x + 8,
                escaped(keys)
            );
            x += wide + 28;
        }
        let wide = what.chars().count() * 9;
        let _ = writeln!(
            out,
            "<text class=\"w\" x=\"{x}\" y=\"{baseline}\" textLength=\"{wide}\">{}</text>",
            escaped(what)
        );
    }

    /// Draws one row, from its own top. An empty one has no drawing.
    fn row(&mut self, screen: &vt100::Screen, row: u16) -> String {
        let (_, columns) = screen.size();
        let cells: Vec<&vt100::Cell> = (0..columns.get())
            .filter_map(|column| screen.cell(row, column))
            .collect();
        let mut out = String::new();
        let mut at = 0;
        while at < cells.len() {
            let (_, ground) = self.colours.cell(cells[at]);
            let same = |cell: &&&vt100::Cell| self.colours.cell(cell).1 == ground;
            let count = cells[at..].iter().take_while(same).count();
            if ground != self.colours.ground {
                let class = self.class(ground);
                let (x, width) = (at * WIDTH, count * WIDTH);
                let _ = write!(
                    out,
                    "<path class=\"c{class}\" d=\"M{x} 0h{width}v{HEIGHT}h-{width}z\"/>"
                );
            }
            at += count;
        }
        let mut at = 0;
        while at < cells.len() {
            at += self.run(&cells[at..], at, &mut out);
        }
        out
    }

    /// Draws the cells of one style at the beginning of these; returns their number.
    fn run(&mut self, cells: &[&vt100::Cell], column: usize, out: &mut String) -> usize {
        let first = cells[0];
        let letter = first.contents().chars().next().unwrap_or(' ');
        let style = |cell: &vt100::Cell| {
            let (text, _) = self.colours.cell(cell);
            (text, cell.bold(), cell.italic(), cell.underline())
        };
        let (colour, bold, italic, underline) = style(first);
        if is_blank(first) {
            return cells.iter().take_while(|cell| is_blank(cell)).count();
        }
        let x = column * WIDTH;
        let repeated = |cell: &&&vt100::Cell| {
            cell.contents() == first.contents() && style(cell) == style(first)
        };
        let count = cells.iter().take_while(repeated).count();
        if let Some(path) = shape::path(letter, x as f32, count, CELL) {
            let class = self.class(colour);
            let _ = write!(out, "<path class=\"c{class}\" d=\"{path}\"/>");
            return count;
        }
        let is_text = |cell: &&&vt100::Cell| {
            let letter = cell.contents().chars().next().unwrap_or(' ');
            let is_shape = shape::path(letter, 0.0, 1, CELL).is_some();
            let fits = style(cell) == style(first) || is_blank(cell);
            fits && !is_shape && cell.underline() == underline
        };
        let mut count = cells.iter().take_while(is_text).count().max(1);
        // Viewers may make one blank of several, so these are left out.
        let mut pairs = cells[..count].windows(2);
        if let Some(at) = pairs.position(|pair| is_blank(pair[0]) && is_blank(pair[1])) {
            count = at;
        }
        while count > 1 && is_blank(cells[count - 1]) {
            count -= 1;
        }
        count = count.max(1);
        let text: String = cells[..count]
            .iter()
            .filter(|cell| !cell.is_wide_continuation())
            .map(|cell| match cell.contents() {
                "" => " ",
                text => text,
            })
            .collect();
        let class = self.class(colour);
        let bold = if bold { " b" } else { "" };
        let italic = if italic { " i" } else { "" };
        let width = count * WIDTH;
        if underline {
            let _ = write!(
                out,
                "<path class=\"c{class}\" d=\"M{x} 16h{width}v1h-{width}z\"/>"
            );
        }
        let _ = write!(
            out,
            "<text class=\"c{class}{bold}{italic}\" x=\"{x}\" y=\"13.5\" textLength=\"{width}\" lengthAdjust=\"spacingAndGlyphs\">{}</text>",
            escaped(&text)
        );
        count
    }

    fn class(&mut self, colour: Colour) -> usize {
        let known = self.classes.iter().position(|known| *known == colour);
        known.unwrap_or_else(|| {
            self.classes.push(colour);
            self.classes.len() - 1
        })
    }
}

fn is_blank(cell: &vt100::Cell) -> bool {
    matches!(cell.contents(), "" | " ") && !cell.is_wide_continuation()
}

fn hex([red, green, blue]: Colour) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}
