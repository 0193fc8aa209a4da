//! Bar charts: one bar for each row, made of parts.

use super::palette::{FAINT, Ink, ON_BRIGHT, ON_DEEP, TEXT};
use super::surface::{Draw, EDGE, Hold, Surface, WIDER, fitted, is_narrow, text_width};

/// Height of a row with the name next to its bar, and with the name above it.
const ROW: f64 = 34.0;
const HIGH_ROW: f64 = 50.0;
/// Height of a name above its bar.
const NAME: f64 = 20.0;
const BAR: f64 = 22.0;
/// Size of names and texts, in points.
pub const SIZE: f64 = 13.5;

/// One part of a bar.
#[derive(Clone, Debug)]
pub struct BarPart {
    /// Its length, in the unit of the chart.
    pub value: f64,
    /// Its colour.
    pub ink: Ink,
    /// 1 for a full colour, less for a pale one.
    pub strength: f64,
    /// Written into the part where it fits.
    pub text: String,
    /// Its name, shown with the text under the pointer.
    pub name: String,
}

/// One bar.
#[derive(Clone, Debug)]
pub struct Row {
    /// Written to the left of the bar.
    pub name: String,
    /// The parts of the bar, from the left.
    pub parts: Vec<BarPart>,
    /// Written to the right of the bars.
    pub text: String,
}

/// A chart of bars on one scale: the longest takes all the room.
#[derive(Clone, Debug)]
pub struct BarChart {
    /// From the top.
    pub rows: Vec<Row>,
}

/// Where rows have their middle, and what is between `left` and `right` of them: names and texts
/// are next to it, or above it on a narrow chart.
pub struct Rows {
    /// Where the room for bars begins, in points.
    pub left: f64,
    /// Where it ends.
    pub right: f64,
    narrow: bool,
}

impl Rows {
    /// For rows with these names and texts.
    pub fn of<'a>(width: f64, rows: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        if is_narrow(width) {
            return Self { left: EDGE, right: width - EDGE, narrow: true };
        }
        let room = |text: &str| text_width(text, SIZE) * WIDER + 12.0;
        let (names, texts) = rows.fold((0.0f64, 0.0f64), |widest, (name, text)| {
            (widest.0.max(room(name)), widest.1.max(room(text)))
        });
        Self { left: EDGE + names, right: width - EDGE - texts, narrow: false }
    }

    /// Height of a row on a chart of this width.
    pub fn height(width: f64) -> f64 {
        if is_narrow(width) { HIGH_ROW } else { ROW }
    }

    /// The stretches, from top to bottom, in which a line over `count` rows meets no text.
    #[must_use]
    pub fn free(&self, count: usize) -> Vec<(f64, f64)> {
        if !self.narrow {
            return vec![(0.0, ROW * count as f64)];
        }
        let top = |at: usize| HIGH_ROW * at as f64;
        (0..count).map(|at| (top(at) + NAME, top(at + 1))).collect()
    }

    /// The middle of the row at `at`, after its name and text were written.
    pub fn begin(&self, on: &mut Surface, at: usize, (name, ink): (&str, Ink), text: &str) -> f64 {
        let row = Self::height(on.width);
        let top = row * at as f64;
        if self.narrow {
            let room = self.right - self.left - (text_width(text, SIZE) * WIDER + 8.0);
            let name = &fitted(name, SIZE, room);
            on.text(name, (self.left, top + 11.0), SIZE, ink, Hold::Left);
            on.text(text, (self.right, top + 11.0), SIZE, FAINT, Hold::Right);
            return top + row - BAR / 2.0 - 6.0;
        }
        let middle = top + row / 2.0;
        on.text(name, (self.left - 12.0, middle), SIZE, ink, Hold::Right);
        on.text(text, (self.right + 12.0, middle), SIZE, FAINT, Hold::Left);
        middle
    }
}

impl Draw for BarChart {
    fn height(&self, width: f64) -> f64 {
        Rows::height(width) * self.rows.len() as f64 + 10.0
    }

    fn draw(&self, on: &mut Surface) {
        let names = self.rows.iter().map(|row| (row.name.as_str(), row.text.as_str()));
        let rows = Rows::of(on.width, names);
        let longest = self.rows.iter().map(Row::length).fold(0.0, f64::max);
        let scale = if longest > 0.0 { (rows.right - rows.left) / longest } else { 0.0 };
        for (at, row) in self.rows.iter().enumerate() {
            let y = rows.begin(on, at, (&row.name, TEXT), &row.text);
            row.draw(on, rows.left, y, scale);
        }
    }
}

impl Row {
    fn length(&self) -> f64 {
        self.parts.iter().map(|part| part.value.max(0.0)).sum()
    }

    fn draw(&self, on: &mut Surface, left: f64, y: f64, scale: f64) {
        let mut x = left;
        for part in &self.parts {
            let width = part.value.max(0.0) * scale;
            // A gap sets neighbours apart; a part thinner than it would vanish without the limit.
            let shown = (width - 1.0).max(width.min(0.5));
            let tip = format!("{}: {} {}", self.name, part.name, part.text);
            on.tipped(&tip, |on| {
                if shown > 0.0 {
                    let (from, to) = ((x, y - BAR / 2.0), (x + shown, y + BAR / 2.0));
                    on.block(from, to, part.ink, part.strength);
                }
                if text_width(&part.text, 12.5) * WIDER + 10.0 < width {
                    let ink = on_colour(part);
                    on.text(&part.text, (x + width / 2.0, y), 12.5, ink, Hold::Middle);
                }
            });
            x += width;
        }
    }
}

/// Dark or light text, whichever reads better on the part; pale parts let the paper through.
fn on_colour(part: &BarPart) -> Ink {
    if part.strength < 0.5 {
        return TEXT;
    }
    let [r, g, b] = part.ink.light.map(f64::from);
    let bright = 0.299 * r + 0.587 * g + 0.114 * b > 140.0;
    if bright { ON_BRIGHT } else { ON_DEEP }
}
