//! Parsing of styles in a theme file, such as `cyan bold | #5fb8f0 on #20242f bold`.

use ratatui::style::{Color, Modifier, Style};

use super::ColorDepth;

/// Parses `text` into a style for a terminal with `depth` colours, or returns what is wrong.
pub(super) fn parse(text: &str, depth: ColorDepth) -> Result<Style, String> {
    let (few, many) = text.split_once('|').unwrap_or((text, text));
    // Both are parsed, so that an error is reported on every terminal.
    let (few, many) = (words(few)?, words(many)?);
    Ok(match depth {
        ColorDepth::Plain => Style {
            fg: None,
            bg: None,
            underline_color: None,
            ..few
        },
        ColorDepth::Ansi => Style {
            fg: few.fg.map(nearest),
            bg: few.bg.map(nearest),
            ..few
        },
        ColorDepth::True => many,
    })
}

fn words(text: &str) -> Result<Style, String> {
    let mut style = Style::new();
    let mut words = text.split_whitespace();
    while let Some(word) = words.next() {
        if word == "on" {
            let name = words.next().ok_or("a colour is missing after 'on'")?;
            let background = colour(name)?.ok_or_else(|| format!("'{name}' is not a colour"))?;
            style = style.bg(background);
        } else if let Some(modifier) = modifier(word) {
            style = style.add_modifier(modifier);
        } else if let Some(foreground) = colour(word)? {
            // `default` keeps the colour below, so that a style can be combined with another.
            if foreground != Color::Reset {
                style = style.fg(foreground);
            }
        } else {
            return Err(format!(
                "'{word}' is neither a colour nor bold, dim, italic, underlined, reversed, crossed-out"
            ));
        }
    }
    Ok(style)
}

fn modifier(word: &str) -> Option<Modifier> {
    Some(match word {
        "bold" => Modifier::BOLD,
        "dim" => Modifier::DIM,
        "italic" => Modifier::ITALIC,
        "underlined" => Modifier::UNDERLINED,
        "reversed" => Modifier::REVERSED,
        "crossed-out" => Modifier::CROSSED_OUT,
        _ => return None,
    })
}

/// The colours of the terminal's palette in their order, with their usual RGB values.
const PALETTE: [(&str, Color, [u8; 3]); 16] = [
    ("black", Color::Black, [0, 0, 0]),
    ("red", Color::Red, [205, 49, 49]),
    ("green", Color::Green, [13, 188, 121]),
    ("yellow", Color::Yellow, [229, 190, 16]),
    ("blue", Color::Blue, [36, 114, 200]),
    ("magenta", Color::Magenta, [188, 63, 188]),
    ("cyan", Color::Cyan, [17, 168, 205]),
    ("white", Color::Gray, [200, 200, 200]),
    ("bright-black", Color::DarkGray, [102, 102, 102]),
    ("bright-red", Color::LightRed, [241, 76, 76]),
    ("bright-green", Color::LightGreen, [35, 209, 139]),
    ("bright-yellow", Color::LightYellow, [245, 245, 67]),
    ("bright-blue", Color::LightBlue, [59, 142, 234]),
    ("bright-magenta", Color::LightMagenta, [214, 112, 214]),
    ("bright-cyan", Color::LightCyan, [41, 184, 219]),
    ("bright-white", Color::White, [255, 255, 255]),
];

/// Parses a colour; `None` for a word that is not a colour.
fn colour(word: &str) -> Result<Option<Color>, String> {
    if let Some(digits) = word.strip_prefix('#') {
        let parsed = u32::from_str_radix(digits, 16).ok();
        return match parsed {
            Some(value) if digits.len() == 6 => Ok(Some(Color::from_u32(value))),
            _ => Err(format!("'{word}' is not #rrggbb")),
        };
    }
    if word == "default" {
        return Ok(Some(Color::Reset));
    }
    Ok(PALETTE
        .iter()
        .find(|(name, ..)| *name == word)
        .map(|(_, colour, _)| *colour))
}

/// Returns the nearest colour of the palette.
fn nearest(colour: Color) -> Color {
    let Color::Rgb(r, g, b) = colour else {
        return colour;
    };
    let distance = |other: [u8; 3]| {
        let part = |a: u8, b: u8| (i32::from(a) - i32::from(b)).pow(2);
        part(r, other[0]) + part(g, other[1]) + part(b, other[2])
    };
    PALETTE
        .iter()
        .min_by_key(|(_, _, rgb)| distance(*rgb))
        .map_or(colour, |(_, near, _)| *near)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_terminal_decides_which_side_counts() {
        let text = "cyan bold | #102030 on #ff0000";
        let bold = Style::new().add_modifier(Modifier::BOLD);
        assert_eq!(parse(text, ColorDepth::Ansi), Ok(bold.fg(Color::Cyan)));
        assert_eq!(parse(text, ColorDepth::Plain), Ok(bold));
        let full = Style::new()
            .fg(Color::Rgb(16, 32, 48))
            .bg(Color::Rgb(255, 0, 0));
        assert_eq!(parse(text, ColorDepth::True), Ok(full));
    }

    #[test]
    fn an_exact_colour_becomes_the_nearest_of_sixteen() {
        let red = Style::new().fg(Color::LightRed);
        assert_eq!(parse("#ff4040", ColorDepth::Ansi), Ok(red));
    }

    #[test]
    fn mistakes_are_told_on_either_side() {
        for (text, part) in [
            ("rad", "'rad'"),
            ("red | blu", "'blu'"),
            ("red on", "missing"),
            ("red on bold", "'bold' is not a colour"),
            ("#12345g", "#rrggbb"),
        ] {
            let message = parse(text, ColorDepth::Ansi).expect_err(text);
            assert!(message.contains(part), "{message}");
        }
    }
}
