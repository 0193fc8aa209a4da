//! Bar charts: one bar for each row, made of parts.

use super::palette::{FAINT, Ink, ON_BRIGHT, ON_DEEP, TEXT};
use super::surface::{Draw, Hold, Surface, WIDTH, text_width};

const EDGE: f64 = 24.0;
const LEGEND: f64 = 84.0;
const TOP: f64 = 106.0;
const ROW: f64 = 36.0;
const BAR: f64 = 22.0;
const SIZE: f64 = 13.5;

/// One part of a bar.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// Its length, in the unit of the chart.
    pub value: f64,
    pub ink: Ink,
    /// 1 for a full colour, less for a pale one.
    pub strength: f64,
    /// Written into the part where it fits.
    pub text: String,
}

/// One bar.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub name: String,
    pub parts: Vec<Part>,
    /// Written to the right of the bars.
    pub text: String,
}

/// A chart of bars on one scale: the longest takes all the room.
#[derive(Clone, Debug)]
pub(crate) struct BarChart {
    pub title: String,
    pub subtitle: String,
    /// Names of the colours.
    pub legend: Vec<(String, Ink, f64)>,
    pub rows: Vec<Row>,
}

impl Draw for BarChart {
    fn height(&self) -> f64 {
        TOP + ROW * self.rows.len() as f64 + 14.0
    }

    fn draw(&self, on: &mut Surface) {
        on.text(&self.title, (EDGE, 28.0), 20.0, TEXT, Hold::Left);
        on.text(&self.subtitle, (EDGE, 53.0), 14.0, FAINT, Hold::Left);
        self.draw_legend(on);
        let widest = |texts: &mut dyn Iterator<Item = &String>| {
            texts.map(|text| text_width(text, SIZE)).fold(0.0, f64::max) * 1.12
        };
        let left = EDGE + widest(&mut self.rows.iter().map(|row| &row.name)) + 12.0;
        let right = WIDTH - EDGE - widest(&mut self.rows.iter().map(|row| &row.text)) - 12.0;
        let longest = self.rows.iter().map(Row::length).fold(0.0, f64::max);
        for (at, row) in self.rows.iter().enumerate() {
            let y = TOP + ROW * (at as f64 + 0.5);
            on.text(&row.name, (left - 12.0, y), SIZE, TEXT, Hold::Right);
            on.text(&row.text, (right + 12.0, y), SIZE, FAINT, Hold::Left);
            let scale = if longest > 0.0 { (right - left) / longest } else { 0.0 };
            row.draw(on, left, y, scale);
        }
    }
}

impl BarChart {
    fn draw_legend(&self, on: &mut Surface) {
        let mut x = EDGE;
        for (name, ink, strength) in &self.legend {
            on.block((x, LEGEND - 6.0), (x + 12.0, LEGEND + 6.0), *ink, *strength);
            on.text(name, (x + 18.0, LEGEND), SIZE, FAINT, Hold::Left);
            x += 18.0 + text_width(name, SIZE) * 1.12 + 22.0;
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
            if shown > 0.0 {
                let (from, to) = ((x, y - BAR / 2.0), (x + shown, y + BAR / 2.0));
                on.block(from, to, part.ink, part.strength);
            }
            if text_width(&part.text, 12.5) * 1.12 + 10.0 < width {
                let ink = on_colour(part);
                on.text(&part.text, (x + width / 2.0, y), 12.5, ink, Hold::Middle);
            }
            x += width;
        }
    }
}

/// Dark or light text, whichever reads better on the part; pale parts let the paper through.
fn on_colour(part: &Part) -> Ink {
    if part.strength < 0.5 {
        return TEXT;
    }
    let [r, g, b] = part.ink.light.map(f64::from);
    let bright = 0.299 * r + 0.587 * g + 0.114 * b > 140.0;
    if bright { ON_BRIGHT } else { ON_DEEP }
}
