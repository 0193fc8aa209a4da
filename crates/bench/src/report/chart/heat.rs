//! Heat maps: a square for each two of many, the stronger the slower.

use blockmill_report::chart::palette::{FAINT, WORSE};
use blockmill_report::chart::surface::{Draw, EDGE, Hold, Surface, WIDER, fitted, text_width};
use blockmill_report::format;

/// How strong the colour of each class is, the slowest first.
pub(crate) const STRENGTHS: [f64; 7] = [1.0, 0.8, 0.62, 0.46, 0.31, 0.18, 0.07];
const SIZE: f64 = 9.5;
/// Least distance of two names.
const APART: f64 = 13.0;
/// Space above the first row for half of its name.
const HEAD: f64 = 6.0;
const FOOT: f64 = 44.0;

/// See the module's text.
#[derive(Clone, Debug)]
pub(crate) struct HeatChart {
    /// Names of the rows and of the columns.
    pub names: Vec<String>,
    /// Row by row; what is not a number was not measured.
    pub values: Vec<f64>,
    /// Where the classes end, ascending; the last one has no end.
    pub ends: [f64; STRENGTHS.len() - 1],
    /// What rows and columns are.
    pub axes: (&'static str, &'static str),
}

impl HeatChart {
    /// A chart whose classes have as many squares each.
    pub fn new(names: Vec<String>, values: Vec<f64>, axes: (&'static str, &'static str)) -> Self {
        let mut sorted: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        let mut ends = [f64::INFINITY; STRENGTHS.len() - 1];
        for (at, end) in ends.iter_mut().enumerate() {
            // the slowest classes are the smallest: 1 of 64, then twice as many each
            let share = 0.5f64.powi((STRENGTHS.len() - 1 - at) as i32);
            let last = (sorted.len() as f64 * share) as usize;
            *end = sorted.get(last).copied().unwrap_or(f64::INFINITY);
        }
        Self { names, values, ends, axes }
    }

    fn class(&self, row: usize, column: usize) -> Option<usize> {
        let value = *self.values.get(row * self.names.len() + column)?;
        let class = self.ends.iter().position(|end| value < *end);
        value.is_finite().then(|| class.unwrap_or(self.ends.len()))
    }

    /// What the class of each strength is called.
    pub fn classes(&self) -> Vec<String> {
        let text = |value: f64| format::rate(value);
        let (first, last) = (self.ends[0], self.ends[self.ends.len() - 1]);
        let mut all = vec![format!("below {}", text(first))];
        all.extend(self.ends.windows(2).map(|two| format!("to {}", text(two[1]))));
        all.push(format!("from {}", text(last)));
        all
    }

    fn left(&self) -> f64 {
        let longest = self.names.iter().map(|name| text_width(name, SIZE) * WIDER);
        EDGE + longest.fold(0.0, f64::max).min(110.0) + 6.0
    }

    fn cell(&self, width: f64) -> f64 {
        (width - EDGE - self.left()) / self.names.len().max(1) as f64
    }
}

impl Draw for HeatChart {
    fn height(&self, width: f64) -> f64 {
        HEAD + self.cell(width) * self.names.len() as f64 + FOOT
    }

    fn draw(&self, on: &mut Surface) {
        let (left, cell, count) = (self.left(), self.cell(on.width), self.names.len());
        let every = (APART / cell).ceil().max(1.0) as usize;
        for row in 0..count {
            let top = HEAD + cell * row as f64;
            if row % every == 0 {
                let name = fitted(&self.names[row], SIZE, left - EDGE - 6.0);
                on.text(&name, (left - 6.0, top + cell / 2.0), SIZE, FAINT, Hold::Right);
            }
            let mut column = 0;
            while column < count {
                let class = self.class(row, column);
                let same = (column..count).take_while(|at| self.class(row, *at) == class).count();
                if let Some(class) = class {
                    let (from, to) = (column, column + same);
                    let last = to - 1;
                    let tip = match same {
                        1 => format!("{}, {}", self.names[row], self.names[from]),
                        _ => format!(
                            "{}, {} to {}",
                            self.names[row], self.names[from], self.names[last]
                        ),
                    };
                    on.tipped(&format!("{tip}: {}", self.classes()[class]), |on| {
                        let (x, y) = (left + cell * from as f64, left + cell * to as f64);
                        on.block((x, top), (y, top + cell), WORSE, STRENGTHS[class]);
                    });
                }
                column += same;
            }
        }
        let (rows, columns) = self.axes;
        let lines = [format!("rows: {rows}"), format!("columns: {columns}, in the same order")];
        for (line, below) in lines.iter().zip([16.0, 32.0]) {
            let bottom = HEAD + cell * count as f64;
            on.text(line, (EDGE, bottom + below), 12.0, FAINT, Hold::Left);
        }
    }
}
