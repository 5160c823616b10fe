//! Draws the cells of a screen to a PNG.

use std::collections::HashMap;

use ab_glyph::{Font as _, FontVec, PxScale, ScaleFont as _, point};

use crate::font::{FontStyle, Fonts};
use crate::{Result, shape};

/// The size of a cell in pixels, for screens with two pixels per point.
const WIDTH: usize = 16;
const HEIGHT: usize = 36;
/// The margin around the screen, in pixels.
const MARGIN: usize = 28;
/// The radius of the window's corners, in pixels.
const CORNER: f32 = 20.0;
/// The thickness of a light line, in pixels.
const LINE: f32 = 2.0;

pub(crate) type Colour = [u8; 3];

/// The colours of a terminal.
pub(crate) struct Colours {
    /// The value of `COLORFGBG`.
    pub(crate) says: &'static str,
    pub(crate) text: Colour,
    pub(crate) ground: Colour,
    /// The border of the window.
    pub(crate) edge: Colour,
    /// The exponent of letters' coverage: below 1 makes light letters on dark heavier.
    weight: f32,
    /// The 16 colours.
    palette: [Colour; 16],
}

/// A dark terminal.
pub(crate) const DARK: Colours = Colours {
    says: "15;0",
    text: [0xd8, 0xdc, 0xe8],
    ground: [0x16, 0x18, 0x1d],
    edge: [0x33, 0x37, 0x42],
    weight: 0.85,
    palette: [
        [0x23, 0x26, 0x2f],
        [0xf0, 0x8a, 0x95],
        [0x8b, 0xd4, 0x9c],
        [0xee, 0xc0, 0x6a],
        [0x7a, 0xa8, 0xf5],
        [0xc2, 0xa5, 0xf5],
        [0x5f, 0xb8, 0xf0],
        [0xc4, 0xc9, 0xde],
        [0x56, 0x5c, 0x73],
        [0xff, 0xa3, 0xac],
        [0xa5, 0xe5, 0xb3],
        [0xff, 0xd4, 0x85],
        [0x94, 0xb6, 0xf7],
        [0xe0, 0xb3, 0xd6],
        [0x8c, 0xcb, 0xf5],
        [0xf0, 0xf2, 0xfa],
    ],
};

/// A light terminal.
pub(crate) const LIGHT: Colours = Colours {
    says: "0;15",
    text: [0x24, 0x28, 0x33],
    ground: [0xfa, 0xfa, 0xfb],
    edge: [0xd5, 0xd8, 0xe0],
    weight: 1.0,
    palette: [
        [0x24, 0x28, 0x33],
        [0xb4, 0x2a, 0x3a],
        [0x1c, 0x7a, 0x3a],
        [0x9a, 0x62, 0x00],
        [0x2f, 0x57, 0xb5],
        [0x7d, 0x3f, 0xb8],
        [0x0f, 0x7a, 0x70],
        [0xd9, 0xdc, 0xe4],
        [0x6a, 0x70, 0x83],
        [0xd0, 0x40, 0x50],
        [0x2c, 0x95, 0x50],
        [0xb8, 0x7a, 0x10],
        [0x3d, 0x6f, 0xd8],
        [0xa0, 0x3a, 0x86],
        [0x0b, 0x6f, 0xb8],
        [0xff, 0xff, 0xff],
    ],
};

impl Colours {
    /// The colours of a cell's text and ground.
    pub(crate) fn cell(&self, cell: &vt100::Cell) -> (Colour, Colour) {
        let mut text = self.of(cell.fgcolor(), self.text);
        let mut ground = self.of(cell.bgcolor(), self.ground);
        if cell.inverse() {
            std::mem::swap(&mut text, &mut ground);
        }
        if cell.dim() {
            text = between(text, ground, 0.45);
        }
        (text, ground)
    }

    fn of(&self, colour: vt100::Color, default: Colour) -> Colour {
        match colour {
            vt100::Color::Default => default,
            vt100::Color::Rgb(red, green, blue) => [red, green, blue],
            vt100::Color::Idx(number @ 0..16) => self.palette[usize::from(number)],
            vt100::Color::Idx(number @ 16..232) => {
                let step = |part: u8| if part == 0 { 0 } else { 55 + part * 40 };
                let cube = number - 16;
                [step(cube / 36), step(cube / 6 % 6), step(cube % 6)]
            }
            vt100::Color::Idx(number) => [8 + (number - 232) * 10; 3],
        }
    }
}

/// The image; the fourth number of a pixel is its alpha.
struct Canvas {
    width: usize,
    height: usize,
    points: Vec<[u8; 4]>,
}

impl Canvas {
    fn new(width: usize, height: usize, ground: Colour) -> Self {
        let [red, green, blue] = ground;
        Self {
            width,
            height,
            points: vec![[red, green, blue, 255]; width * height],
        }
    }

    fn blend(&mut self, x: usize, y: usize, colour: Colour, much: f32) {
        if x < self.width && y < self.height {
            let point = &mut self.points[y * self.width + x];
            for (old, new) in point.iter_mut().zip(colour) {
                *old = mixed(*old, new, much);
            }
        }
    }

    fn fill(&mut self, (left, top): (usize, usize), (width, height): (usize, usize), c: Colour) {
        for y in top..top + height {
            for x in left..left + width {
                self.blend(x, y, c, 1.0);
            }
        }
    }

    /// Makes the corners round, and draws the border.
    fn frame(&mut self, edge: Colour) {
        let (width, height) = (self.width as f32, self.height as f32);
        for y in 0..self.height {
            for x in 0..self.width {
                let (px, py) = (x as f32 + 0.5, y as f32 + 0.5);
                let dx = (CORNER - px).max(px - (width - CORNER)).max(0.0);
                let dy = (CORNER - py).max(py - (height - CORNER)).max(0.0);
                let corner = dx > 0.0 && dy > 0.0;
                let inwards = if corner {
                    CORNER - (dx * dx + dy * dy).sqrt()
                } else {
                    px.min(py).min(width - px).min(height - py)
                };
                let line = (LINE + 0.5 - inwards).clamp(0.0, 1.0);
                self.blend(x, y, edge, line);
                let there = (inwards + 0.5).clamp(0.0, 1.0);
                let point = &mut self.points[y * self.width + x];
                point[3] = (there * 255.0).round() as u8;
                if point[3] == 0 {
                    *point = [0; 4];
                }
            }
        }
    }
}

fn mixed(old: u8, new: u8, much: f32) -> u8 {
    let (old, new) = (f32::from(old), f32::from(new));
    (old + (new - old) * much).round().clamp(0.0, 255.0) as u8
}

pub(crate) fn between(one: Colour, other: Colour, much: f32) -> Colour {
    [0, 1, 2].map(|part| mixed(one[part], other[part], much))
}

/// Returns the PNG of a screen.
pub(crate) fn png(screen: &vt100::Screen, fonts: &Fonts, colours: &Colours) -> Result<Vec<u8>> {
    let (rows, columns) = screen.size();
    let (rows, columns) = (rows.get(), columns.get());
    let (width, height) = (
        usize::from(columns) * WIDTH + 2 * MARGIN,
        usize::from(rows) * HEIGHT + 2 * MARGIN,
    );
    let mut painter = Painter {
        canvas: Canvas::new(width, height, colours.ground),
        fonts,
        colours,
        baseline: baseline(fonts.first()),
    };
    for row in 0..rows {
        for column in 0..columns {
            if let Some(cell) = screen.cell(row, column) {
                painter.cell(cell, row, column);
            }
        }
    }
    if !screen.hide_cursor() {
        let (row, column) = screen.cursor_position();
        let at = corner(row, column);
        painter.canvas.fill(at, (4, HEIGHT), colours.text);
    }
    painter.canvas.frame(colours.edge);
    encoded(&painter.canvas)
}

fn corner(row: u16, column: u16) -> (usize, usize) {
    (
        MARGIN + usize::from(column) * WIDTH,
        MARGIN + usize::from(row) * HEIGHT,
    )
}

/// Returns the size at which a character of a font is as wide as a cell.
fn scale(font: &FontVec) -> PxScale {
    let advance = font.h_advance_unscaled(font.glyph_id('m')).max(1.0);
    PxScale::from(WIDTH as f32 * font.height_unscaled() / advance)
}

/// Returns the distance of the baseline from the top of a cell.
fn baseline(font: &FontVec) -> f32 {
    let scaled = font.as_scaled(scale(font));
    ((HEIGHT as f32 - scaled.height()) / 2.0 + scaled.ascent()).round()
}

struct Painter<'a> {
    canvas: Canvas,
    fonts: &'a Fonts,
    colours: &'a Colours,
    baseline: f32,
}

impl Painter<'_> {
    fn cell(&mut self, cell: &vt100::Cell, row: u16, column: u16) {
        let at = corner(row, column);
        let (text, ground) = self.colours.cell(cell);
        if cell.is_wide_continuation() {
            return;
        }
        let wide = if cell.is_wide() { 2 } else { 1 };
        if ground != self.colours.ground {
            self.canvas.fill(at, (wide * WIDTH, HEIGHT), ground);
        }
        let cut = FontStyle {
            bold: cell.bold(),
            italic: cell.italic(),
        };
        for letter in cell.contents().chars().filter(|c| !c.is_whitespace()) {
            self.letter(letter, cut, at, text);
        }
        if cell.underline() {
            let below = at.1 + self.baseline as usize + 4;
            self.canvas
                .fill((at.0, below), (wide * WIDTH, LINE as usize), text);
        }
    }

    fn letter(
        &mut self,
        letter: char,
        cut: FontStyle,
        (left, top): (usize, usize),
        colour: Colour,
    ) {
        let size = shape::Cell {
            width: WIDTH as f32,
            height: HEIGHT as f32,
            line: LINE,
        };
        if let Some(outlines) = shape::of(letter, size) {
            for y in 0..HEIGHT {
                for x in 0..WIDTH {
                    let much = shape::cover(&outlines, x, y);
                    self.canvas.blend(left + x, top + y, colour, much);
                }
            }
            return;
        }
        let Some((font, glyph)) = self.fonts.with(letter, cut) else {
            // A character that no font has becomes an empty box, as in terminals.
            let inner = (left + 3, top + 8);
            let ground = between(colour, self.colours.ground, 0.7);
            return self.canvas.fill(inner, (WIDTH - 6, HEIGHT - 16), ground);
        };
        let placed = glyph
            .with_scale_and_position(scale(font), point(left as f32, top as f32 + self.baseline));
        let Some(outline) = font.outline_glyph(placed) else {
            return;
        };
        let bounds = outline.px_bounds();
        let weight = self.colours.weight;
        outline.draw(|x, y, much| {
            let (x, y) = (x as f32 + bounds.min.x, y as f32 + bounds.min.y);
            if x >= 0.0 && y >= 0.0 {
                // In a few steps only: more are not visible, and the file is smaller.
                let much = (much.clamp(0.0, 1.0).powf(weight) * 12.0).round() / 12.0;
                self.canvas.blend(x as usize, y as usize, colour, much);
            }
        });
    }
}

/// Encodes a PNG of the 256 most frequent colours; others are replaced by the nearest.
fn encoded(canvas: &Canvas) -> Result<Vec<u8>> {
    let mut often: HashMap<[u8; 4], usize> = HashMap::new();
    for point in &canvas.points {
        *often.entry(*point).or_default() += 1;
    }
    let mut colours: Vec<([u8; 4], usize)> = often.into_iter().collect();
    colours.sort_by_key(|(colour, times)| (std::cmp::Reverse(*times), *colour));
    let palette: Vec<[u8; 4]> = colours
        .iter()
        .take(256)
        .map(|(colour, _)| *colour)
        .collect();
    let nearest = |colour: [u8; 4]| {
        let far = |other: &[u8; 4]| -> i32 {
            let parts = colour.iter().zip(other);
            parts
                .map(|(one, other)| (i32::from(*one) - i32::from(*other)).pow(2))
                .sum()
        };
        let places = palette.iter().enumerate();
        let place = places.min_by_key(|(_, other)| far(other));
        place.map_or(0, |(place, _)| place as u8)
    };
    let places: HashMap<[u8; 4], u8> = colours
        .iter()
        .map(|(colour, _)| (*colour, nearest(*colour)))
        .collect();
    let data: Vec<u8> = canvas.points.iter().map(|point| places[point]).collect();
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(
        &mut bytes,
        u32::try_from(canvas.width)?,
        u32::try_from(canvas.height)?,
    );
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::High);
    encoder.set_filter(png::Filter::NoFilter);
    encoder.set_palette(
        palette
            .iter()
            .flat_map(|colour| colour[..3].to_vec())
            .collect::<Vec<u8>>(),
    );
    encoder.set_trns(palette.iter().map(|colour| colour[3]).collect::<Vec<u8>>());
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&data)?;
    writer.finish()?;
    Ok(bytes)
}
