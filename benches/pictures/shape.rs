//! Characters that are drawn as geometry, so that lines join between cells: boxes, blocks, meters.

/// How much of a pixel a shape covers, 0 to 1; x and y are relative to the cell's corner.
pub(crate) type Cover = Box<dyn Fn(f32, f32) -> f32>;

/// The size of a cell and the thickness of a light line, in pixels.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cell {
    pub(crate) width: f32,
    pub(crate) height: f32,
    pub(crate) line: f32,
}

/// The arms of box characters: up, right, down, left; each none, light or heavy.
const ARMS: [(char, [u8; 4]); 33] = [
    ('─', [0, 1, 0, 1]),
    ('│', [1, 0, 1, 0]),
    ('┌', [0, 1, 1, 0]),
    ('┐', [0, 0, 1, 1]),
    ('└', [1, 1, 0, 0]),
    ('┘', [1, 0, 0, 1]),
    ('├', [1, 1, 1, 0]),
    ('┤', [1, 0, 1, 1]),
    ('┬', [0, 1, 1, 1]),
    ('┴', [1, 1, 0, 1]),
    ('┼', [1, 1, 1, 1]),
    ('╴', [0, 0, 0, 1]),
    ('╵', [1, 0, 0, 0]),
    ('╶', [0, 1, 0, 0]),
    ('╷', [0, 0, 1, 0]),
    ('━', [0, 2, 0, 2]),
    ('┃', [2, 0, 2, 0]),
    ('┏', [0, 2, 2, 0]),
    ('┓', [0, 0, 2, 2]),
    ('┗', [2, 2, 0, 0]),
    ('┛', [2, 0, 0, 2]),
    ('┣', [2, 2, 2, 0]),
    ('┫', [2, 0, 2, 2]),
    ('┳', [0, 2, 2, 2]),
    ('┻', [2, 2, 0, 2]),
    ('╋', [2, 2, 2, 2]),
    ('┝', [1, 2, 1, 0]),
    ('┥', [1, 0, 1, 2]),
    ('┿', [1, 2, 1, 2]),
    ('╸', [0, 0, 0, 2]),
    ('╹', [2, 0, 0, 0]),
    ('╺', [0, 2, 0, 0]),
    ('╻', [0, 0, 2, 0]),
];

/// Round corners: the directions in which they open, as signs of x and y.
const ROUND: [(char, f32, f32); 4] = [
    ('╭', 1.0, 1.0),
    ('╮', -1.0, 1.0),
    ('╰', 1.0, -1.0),
    ('╯', -1.0, -1.0),
];

/// Dashed lines: whether vertical, and the number of dashes.
const DASHED: [(char, bool, f32); 6] = [
    ('┄', false, 3.0),
    ('┈', false, 4.0),
    ('╌', false, 2.0),
    ('┆', true, 3.0),
    ('┊', true, 4.0),
    ('╎', true, 2.0),
];

/// Returns the shape of a character, if it has one.
pub(crate) fn of(letter: char, cell: Cell) -> Option<Cover> {
    let Cell {
        width,
        height,
        line,
    } = cell;
    if let Some((_, arms)) = ARMS.iter().find(|(known, _)| *known == letter) {
        return Some(lines(*arms, cell));
    }
    if let Some((_, x, y)) = ROUND.iter().find(|(known, ..)| *known == letter) {
        return Some(corner(*x, *y, cell));
    }
    if let Some((_, upright, count)) = DASHED.iter().find(|(known, ..)| *known == letter) {
        let (upright, count) = (*upright, *count);
        return Some(Box::new(move |x, y| {
            let (along, across, middle) = if upright {
                (y / height, x, width / 2.0)
            } else {
                (x / width, y, height / 2.0)
            };
            let gap = (along * count).fract();
            within(across - middle, line / 2.0).min(f32::from(u8::from(gap < 0.66)))
        }));
    }
    if let Some((left, top, right, bottom)) = block(letter) {
        let (left, right) = ((left * width).round(), (right * width).round());
        let (top, bottom) = ((top * height).round(), (bottom * height).round());
        return Some(Box::new(move |x, y| {
            let inside = (left..right).contains(&x) && (top..bottom).contains(&y);
            f32::from(u8::from(inside))
        }));
    }
    match letter {
        '▰' | '▱' => Some(slanted(letter == '▰', cell)),
        _ => None,
    }
}

/// Returns the shape of a character as the data of an SVG path, if it has one. `count` of it stand
/// side by side; the first one's corner is at `x`, 0.
pub(crate) fn path(letter: char, x: f32, count: usize, cell: Cell) -> Option<String> {
    let Cell {
        width,
        height,
        line,
    } = cell;
    let across = (0..count).map(|at| x + width * at as f32);
    let rectangle = |left: f32, top: f32, right: f32, bottom: f32| {
        format!("M{left} {top}H{right}V{bottom}H{left}z")
    };
    let (middle_x, middle_y) = (width / 2.0, height / 2.0);
    if let Some((_, arms)) = ARMS.iter().find(|(known, _)| *known == letter) {
        let half = |weight: u8| f32::from(weight) * line / 2.0;
        let [up, right, down, left] = arms.map(half);
        if up + down == 0.0 && left == right {
            let right = x + width * count as f32;
            return Some(rectangle(x, middle_y - left, right, middle_y + left));
        }
        let thickest = half(arms.iter().copied().max().unwrap_or(1));
        let one = |x: f32| {
            let middle_x = x + middle_x;
            let upright = |half, top, bottom| {
                if half > 0.0 {
                    rectangle(middle_x - half, top, middle_x + half, bottom)
                } else {
                    String::new()
                }
            };
            let level = |half, left, right| {
                if half > 0.0 {
                    rectangle(left, middle_y - half, right, middle_y + half)
                } else {
                    String::new()
                }
            };
            [
                upright(up, 0.0, middle_y + thickest),
                upright(down, middle_y - thickest, height),
                level(left, x, middle_x + thickest),
                level(right, middle_x - thickest, x + width),
            ]
            .concat()
        };
        return Some(across.map(one).collect());
    }
    if let Some((_, towards_x, towards_y)) = ROUND.iter().find(|(known, ..)| *known == letter) {
        // The arc and the rest of the upright arm, as thick as a line.
        let half = line / 2.0;
        let end_y = if *towards_y > 0.0 { height } else { 0.0 };
        let turn_y = middle_y + middle_x * towards_y;
        let one = |x: f32| {
            let middle = x + middle_x;
            let end_x = if *towards_x > 0.0 { x + width } else { x };
            let (outer, inner) = (middle_x + half, middle_x - half);
            let (sweep, back) = if towards_x * towards_y > 0.0 {
                (1, 0)
            } else {
                (0, 1)
            };
            format!(
                "M{} {end_y}V{turn_y}A{outer} {outer} 0 0 {sweep} {end_x} {}V{}A{inner} {inner} 0 0 {back} {} {turn_y}V{end_y}z",
                middle - half * towards_x,
                middle_y - half * towards_y,
                middle_y + half * towards_y,
                middle + half * towards_x,
            )
        };
        return Some(across.map(one).collect());
    }
    if let Some((_, upright, dashes)) = DASHED.iter().find(|(known, ..)| *known == letter) {
        let half = line / 2.0;
        let one = |x: f32| -> String {
            let starts = (0..*dashes as usize).map(|at| at as f32 / dashes);
            let dash = |start: f32| {
                if *upright {
                    let (top, bottom) = (start * height, (start + 0.66 / dashes) * height);
                    rectangle(x + middle_x - half, top, x + middle_x + half, bottom)
                } else {
                    let (left, right) = (start * width, (start + 0.66 / dashes) * width);
                    rectangle(x + left, middle_y - half, x + right, middle_y + half)
                }
            };
            starts.map(dash).collect()
        };
        return Some(across.map(one).collect());
    }
    if let Some((left, top, right, bottom)) = block(letter) {
        let (top, bottom) = (top * height, bottom * height);
        if left == 0.0 && right == 1.0 {
            return Some(rectangle(x, top, x + width * count as f32, bottom));
        }
        let one = |x: f32| rectangle(x + left * width, top, x + right * width, bottom);
        return Some(across.map(one).collect());
    }
    match letter {
        '▰' | '▱' => {
            // An inner one that runs the other way round is left out of the outer one.
            let slanted = |x: f32, inset: f32, way: f32| {
                let (tall, slant) = (height * 0.16 - inset, width * 0.14);
                let wide = (width * 0.5 - slant - inset) * way;
                let middle = x + middle_x;
                format!(
                    "M{} {}H{}L{} {}H{}z",
                    middle - wide + slant,
                    middle_y - tall,
                    middle + wide + slant,
                    middle + wide - slant,
                    middle_y + tall,
                    middle - wide - slant,
                )
            };
            let one = |x: f32| match letter {
                '▰' => slanted(x, 0.0, 1.0),
                _ => slanted(x, 0.0, 1.0) + &slanted(x, line * 0.75, -1.0),
            };
            Some(across.map(one).collect())
        }
        _ => None,
    }
}

/// Returns 1 if `distance` is within `reach`, with a soft edge of one pixel.
fn within(distance: f32, reach: f32) -> f32 {
    (reach + 0.5 - distance.abs()).clamp(0.0, 1.0)
}

fn lines(arms: [u8; 4], cell: Cell) -> Cover {
    let (middle_x, middle_y) = (cell.width / 2.0, cell.height / 2.0);
    let half = move |weight: u8| match weight {
        0 => -1.0,
        1 => cell.line / 2.0,
        _ => cell.line,
    };
    Box::new(move |x, y| {
        let (dx, dy) = (x - middle_x, y - middle_y);
        // An arm extends over the middle as far as the thickest line that it meets.
        let thickest = half(arms.into_iter().max().unwrap_or(1));
        let [up, right, down, left] = arms.map(half);
        let upright = |half: f32, there: bool| {
            if there && half > 0.0 {
                within(dx, half)
            } else {
                0.0
            }
        };
        let level = |half: f32, there: bool| {
            if there && half > 0.0 {
                within(dy, half)
            } else {
                0.0
            }
        };
        upright(up, dy <= thickest)
            .max(upright(down, dy >= -thickest))
            .max(level(left, dx <= thickest))
            .max(level(right, dx >= -thickest))
    })
}

fn corner(towards_x: f32, towards_y: f32, cell: Cell) -> Cover {
    let (middle_x, middle_y) = (cell.width / 2.0, cell.height / 2.0);
    let half = cell.line / 2.0;
    let radius = middle_x;
    Box::new(move |x, y| {
        // Mirrored so that it opens to the right and downwards.
        let (dx, dy) = ((x - middle_x) * towards_x, (y - middle_y) * towards_y);
        if dy >= radius {
            return within(dx, half);
        }
        if dx > radius {
            return within(dy, half);
        }
        let distance = ((dx - radius).powi(2) + (dy - radius).powi(2)).sqrt();
        within(distance - radius, half)
    })
}

/// Returns the part of the cell that is filled: left, top, right, bottom.
fn block(letter: char) -> Option<(f32, f32, f32, f32)> {
    let eighths = |from: char| (u32::from(letter) - u32::from(from)) as f32;
    Some(match letter {
        '▀' => (0.0, 0.0, 1.0, 0.5),
        '▁'..='█' => (0.0, 1.0 - (eighths('▁') + 1.0) / 8.0, 1.0, 1.0),
        '▉'..='▏' => (0.0, 0.0, (7.0 - eighths('▉')) / 8.0, 1.0),
        '▐' => (0.5, 0.0, 1.0, 1.0),
        _ => return None,
    })
}

/// Returns the shape of one step of a meter.
fn slanted(full: bool, cell: Cell) -> Cover {
    let Cell {
        width,
        height,
        line,
    } = cell;
    let (tall, slant) = (height * 0.16, width * 0.14);
    Box::new(move |x, y| {
        let dy = y - height * 0.5;
        // Undoes the slant, which gives a rectangle.
        let dx = x - width * 0.5 + dy / tall * slant;
        let wide = width * 0.5 - slant - 0.5;
        let outside = (dx.abs() - wide).max(dy.abs() - tall);
        let filled = (0.5 - outside).clamp(0.0, 1.0);
        if full {
            filled
        } else {
            filled - (0.5 - outside - line * 0.75).clamp(0.0, 1.0)
        }
    })
}
