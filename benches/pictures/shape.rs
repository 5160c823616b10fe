//! Characters that are drawn as geometry, so that lines join between cells: boxes, blocks, meters.

/// The corners of a closed outline, relative to the cell's corner. One that runs the other way round
/// inside of another is a hole.
pub(crate) type Outline = Vec<(f32, f32)>;

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
pub(crate) fn of(letter: char, cell: Cell) -> Option<Vec<Outline>> {
    let Cell {
        width,
        height,
        line,
    } = cell;
    let (middle_x, middle_y) = (width / 2.0, height / 2.0);
    if let Some((_, arms)) = ARMS.iter().find(|(known, _)| *known == letter) {
        return Some(lines(*arms, cell));
    }
    if let Some((_, x, y)) = ROUND.iter().find(|(known, ..)| *known == letter) {
        return Some(vec![corner(*x, *y, cell)]);
    }
    if let Some((_, is_upright, dashes)) = DASHED.iter().find(|(known, ..)| *known == letter) {
        let half = line / 2.0;
        let dash = |at: u8| {
            let (start, end) = (f32::from(at) / dashes, (f32::from(at) + 0.66) / dashes);
            if *is_upright {
                let (left, right) = (middle_x - half, middle_x + half);
                rectangle(left, start * height, right, end * height)
            } else {
                let (top, bottom) = (middle_y - half, middle_y + half);
                rectangle(start * width, top, end * width, bottom)
            }
        };
        return Some((0..*dashes as u8).map(dash).collect());
    }
    if let Some((left, top, right, bottom)) = block(letter) {
        let (left, right) = (left * width, right * width);
        return Some(vec![rectangle(left, top * height, right, bottom * height)]);
    }
    match letter {
        '▰' => Some(vec![slanted(cell, 0.0)]),
        '▱' => {
            let hole = slanted(cell, line * 0.75).into_iter().rev().collect();
            Some(vec![slanted(cell, 0.0), hole])
        }
        _ => None,
    }
}

/// Returns the shape of a character as the data of an SVG path, if it has one. `count` of it stand
/// side by side; the first one's corner is at `x`, 0.
pub(crate) fn path(letter: char, x: f32, count: usize, cell: Cell) -> Option<String> {
    let outlines = of(letter, cell)?;
    let ends = [0.0, cell.width];
    let is_through = |outline: &Outline| outline.iter().all(|(x, _)| ends.contains(x));
    // What goes from side to side is one piece.
    let (copies, stretch) = match outlines.as_slice() {
        [one] if is_through(one) => (1, count as f32),
        _ => (count, 1.0),
    };
    let mut path = String::new();
    for copy in 0..copies {
        let left = x + cell.width * copy as f32;
        for outline in &outlines {
            let corners = outline.iter().map(|(x, y)| (left + x * stretch, *y));
            let corners: Vec<String> = corners.map(|(x, y)| format!("{x} {y}")).collect();
            path.push_str(&format!("M{}z", corners.join(" ")));
        }
    }
    Some(path)
}

/// Returns how much of the pixel with this corner the outlines cover, 0 to 1.
pub(crate) fn cover(outlines: &[Outline], x: usize, y: usize) -> f32 {
    const SAMPLES: usize = 4;
    let offset = |at: usize| (at as f32 + 0.5) / SAMPLES as f32;
    let points = (0..SAMPLES * SAMPLES).map(|at| {
        let (across, down) = (offset(at % SAMPLES), offset(at / SAMPLES));
        (x as f32 + across, y as f32 + down)
    });
    let inside = points.filter(|point| {
        let turns: i32 = outlines.iter().map(|outline| turns(outline, *point)).sum();
        turns != 0
    });
    inside.count() as f32 / (SAMPLES * SAMPLES) as f32
}

/// Returns how often an outline goes round a point.
fn turns(outline: &Outline, (x, y): (f32, f32)) -> i32 {
    let next = outline.iter().cycle().skip(1);
    let edges = outline.iter().zip(next);
    edges
        .map(|((from_x, from_y), (to_x, to_y))| {
            let is_crossed = (*from_y <= y) != (*to_y <= y);
            let at = || from_x + (y - from_y) / (to_y - from_y) * (to_x - from_x);
            if !is_crossed || at() <= x {
                0
            } else if to_y > from_y {
                1
            } else {
                -1
            }
        })
        .sum()
}

fn rectangle(left: f32, top: f32, right: f32, bottom: f32) -> Outline {
    vec![(left, top), (right, top), (right, bottom), (left, bottom)]
}

fn lines(arms: [u8; 4], cell: Cell) -> Vec<Outline> {
    let Cell { width, height, .. } = cell;
    let (x, y) = (width / 2.0, height / 2.0);
    let half = |weight: u8| f32::from(weight) * cell.line / 2.0;
    let [up, right, down, left] = arms.map(half);
    if up + down == 0.0 && left == right {
        return vec![rectangle(0.0, y - left, width, y + left)];
    }
    // An arm extends over the middle as far as the thickest line that it meets.
    let thickest = half(arms.into_iter().max().unwrap_or(1));
    let arms = [
        (up, rectangle(x - up, 0.0, x + up, y + thickest)),
        (down, rectangle(x - down, y - thickest, x + down, height)),
        (left, rectangle(0.0, y - left, x + thickest, y + left)),
        (right, rectangle(x - thickest, y - right, width, y + right)),
    ];
    let there = arms.into_iter().filter(|(half, _)| *half > 0.0);
    there.map(|(_, outline)| outline).collect()
}

/// Returns an arc from the side to the middle, and the rest of the upright arm.
fn corner(towards_x: f32, towards_y: f32, cell: Cell) -> Outline {
    const STEPS: u8 = 12;
    let (middle_x, middle_y) = (cell.width / 2.0, cell.height / 2.0);
    let half = cell.line / 2.0;
    // As if it opened to the right and downwards; the centre of the arc is there.
    let arc = |radius: f32| {
        (0..=STEPS).map(move |step| {
            let angle = f32::from(step) / f32::from(STEPS) * std::f32::consts::FRAC_PI_2;
            (
                middle_x - radius * angle.cos(),
                middle_x - radius * angle.sin(),
            )
        })
    };
    let mut outline = vec![(-half, middle_y)];
    outline.extend(arc(middle_x + half));
    outline.extend(arc(middle_x - half).collect::<Vec<_>>().into_iter().rev());
    outline.push((half, middle_y));
    let turned = outline.into_iter();
    turned
        .map(|(x, y)| (middle_x + x * towards_x, middle_y + y * towards_y))
        .collect()
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

/// Returns one step of a meter, smaller by `inset`.
fn slanted(cell: Cell, inset: f32) -> Outline {
    let (middle_x, middle_y) = (cell.width / 2.0, cell.height / 2.0);
    let (tall, slant) = (cell.height * 0.16 - inset, cell.width * 0.14);
    let wide = middle_x - slant - inset;
    vec![
        (middle_x - wide + slant, middle_y - tall),
        (middle_x + wide + slant, middle_y - tall),
        (middle_x + wide - slant, middle_y + tall),
        (middle_x - wide - slant, middle_y + tall),
    ]
}
