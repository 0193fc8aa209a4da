//! Line charts, over the chain or over a number of objects: panels one below the other, each line
//! named at its end.

use crate::format;

use super::axis::Axis;
use super::palette::{AXIS, FAINT, GRID, NOISE, series as ink};
use super::series::Series;
use super::shortened;
use super::surface::{At, Draw, EDGE, Hold, Surface, WIDER, is_narrow, text_width};

/// Height of the caption above a panel, and of the space below it.
const CAPTION: f64 = 36.0;
const BELOW: f64 = 14.0;
/// Height of the numbers and the name of the lower axis.
const FOOT: f64 = 54.0;
/// Least distance of two names at line ends.
const NAME_STEP: f64 = 17.0;
const NAME_SIZE: f64 = 13.5;
const SMALL: f64 = 13.0;
/// Distance of two lines of a name on the lower axis.
const LINE: f64 = 15.0;
/// Half of the width of the mark at an end of an interval.
const CAP: f64 = 4.0;

/// One panel.
#[derive(Clone, Debug)]
pub struct Panel {
    /// What the values are.
    pub caption: String,
    /// Next to the caption, or below it on a narrow chart.
    pub detail: String,
    /// The axis of the values.
    pub y: Axis,
    /// The lines.
    pub series: Vec<Series>,
    /// The text at the end of each line.
    pub names: Vec<String>,
    /// Values between which a grey band is drawn.
    pub band: Option<(f64, f64)>,
    /// What the values are in, for the script of a page.
    pub unit: &'static str,
    /// In points.
    pub height: f64,
}

/// A chart of one or more panels over the same lower axis.
#[derive(Clone, Debug)]
pub struct LineChart {
    /// The lower axis.
    pub x: Axis,
    /// What the lower axis counts.
    pub x_name: String,
    /// From the top.
    pub panels: Vec<Panel>,
}

/// Where a panel lies, in points.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
}

impl Frame {
    pub(super) fn to_array(self) -> [f64; 4] {
        [self.left, self.top, self.right, self.bottom]
    }

    fn at(&self, x: &Axis, y: &Axis, point: (f64, f64)) -> At {
        (
            self.left + x.place(point.0) * (self.right - self.left),
            self.bottom - y.place(point.1) * (self.bottom - self.top),
        )
    }
}

impl LineChart {
    /// The frames of the panels; the widest texts decide the margins.
    pub(super) fn frames(&self, width: f64) -> Vec<Frame> {
        let widest = |texts: &mut dyn Iterator<Item = &String>, size: f64| {
            texts.map(|text| text_width(text, size)).fold(0.0, f64::max)
        };
        let numbers = &mut self.panels.iter().flat_map(|p| p.y.ticks.iter().map(|(_, t)| t));
        let names = &mut self.panels.iter().flat_map(|panel| &panel.names);
        let left = EDGE + widest(numbers, SMALL) + 12.0;
        let right = match is_narrow(width) {
            true => width - EDGE,
            false => width - EDGE - widest(names, NAME_SIZE) * WIDER - 22.0,
        };
        let mut top = 0.0;
        let mut frames = Vec::with_capacity(self.panels.len());
        for panel in &self.panels {
            let from = top + CAPTION;
            frames.push(Frame { left, right, top: from, bottom: from + panel.height });
            top = from + panel.height + BELOW;
        }
        frames
    }

    /// Height of the texts below the panels.
    fn foot(&self) -> f64 {
        let lines = self.x.ticks.iter().map(|(_, text)| text.lines().count()).max();
        FOOT + LINE * lines.unwrap_or(1).saturating_sub(1) as f64
    }

    /// Writes the texts of the lower axis. Where two would touch, only one of them is written; the
    /// last of names always is.
    fn lower_texts(&self, on: &mut Surface, frame: &Frame) {
        let room = |(value, text): &(f64, String)| {
            let widest = text.lines().map(|line| text_width(line, SMALL)).fold(0.0, f64::max);
            let half = widest * WIDER / 2.0;
            let x = frame.left + self.x.place(*value) * (frame.right - frame.left);
            // a browser's font may be wider still
            let edge = if self.x.named { 2.0 * CAP } else { 0.0 };
            let x = x.min(on.width - half - edge).max(half + edge);
            (x, x - half, x + half)
        };
        let gap = if self.x.named { 10.0 } else { 4.0 };
        let last = self.x.ticks.len().saturating_sub(1);
        let end = self.x.ticks.last().filter(|_| self.x.named).map(|tick| room(tick).1 - gap);
        let (mut free, mut shown) = (0.0, vec![]);
        for (at, tick) in self.x.ticks.iter().enumerate() {
            let (x, left, right) = room(tick);
            let is_free = left >= free && (at == last || end.is_none_or(|end| right <= end));
            if is_free {
                free = right + gap;
                shown.push((x, &tick.1));
            }
        }
        for (x, text) in shown {
            for (line, text) in text.lines().enumerate() {
                let at = (x, frame.bottom + 16.0 + LINE * line as f64);
                on.text(text, at, SMALL, FAINT, Hold::Middle);
            }
        }
    }
}

impl Draw for LineChart {
    fn height(&self, _: f64) -> f64 {
        let panels: f64 = self.panels.iter().map(|panel| CAPTION + panel.height).sum();
        panels + BELOW * self.panels.len().saturating_sub(1) as f64 + self.foot()
    }

    fn draw(&self, on: &mut Surface) {
        let frames = self.frames(on.width);
        for (panel, frame) in self.panels.iter().zip(&frames) {
            panel.grid(on, frame, &self.x);
            panel.lines(on, frame, &self.x);
            if !on.is_narrow() {
                panel.names(on, frame, &self.x);
            }
        }
        let Some(last) = frames.last() else { return };
        self.lower_texts(on, last);
        let at = ((last.left + last.right) / 2.0, last.bottom + self.foot() - FOOT + 37.0);
        on.text(&self.x_name, at, SMALL, FAINT, Hold::Middle);
    }
}

impl Panel {
    /// A panel of usual height whose lines have their own names.
    pub fn new(
        caption: impl Into<String>,
        y: Axis,
        unit: &'static str,
        series: Vec<Series>,
    ) -> Self {
        let names = series.iter().map(|series| shortened(&series.label)).collect();
        let (caption, detail) = (caption.into(), String::new());
        Self { caption, detail, y, series, names, band: None, unit, height: 210.0 }
    }

    fn grid(&self, on: &mut Surface, frame: &Frame, x: &Axis) {
        let (above, detail, hold) = match on.is_narrow() {
            true => (30.0, (EDGE, frame.top - 15.0), Hold::Left),
            false => (20.0, (frame.right, frame.top - 20.0), Hold::Right),
        };
        on.text(&self.caption, (EDGE, frame.top - above), SMALL, FAINT, Hold::Left);
        on.text(&self.detail, detail, SMALL, FAINT, hold);
        if let Some((low, high)) = self.band {
            let at =
                |share: f64, value| frame.at(x, &self.y, (x.min + share * (x.max - x.min), value));
            on.block(at(0.0, high), at(1.0, low), NOISE, 1.0);
        }
        for (value, text) in &self.y.ticks {
            let (_, y) = frame.at(x, &self.y, (x.min, *value));
            on.line(&[(frame.left, y), (frame.right, y)], GRID, 1.0);
            on.text(text, (frame.left - 8.0, y), SMALL, FAINT, Hold::Right);
        }
        for (value, _) in &x.ticks {
            let (x, _) = frame.at(x, &self.y, (*value, self.y.min));
            on.line(&[(x, frame.top), (x, frame.bottom)], GRID, 1.0);
        }
        on.line(&[(frame.left, frame.bottom), (frame.right, frame.bottom)], AXIS, 1.0);
        if let Some(text) = self.beyond() {
            on.text(&text, (frame.right, frame.top + 10.0), SMALL, FAINT, Hold::Right);
        }
    }

    /// What lies above the end of the axis, if anything does.
    fn beyond(&self) -> Option<String> {
        let all: Vec<f64> = self.series.iter().flat_map(|one| one.beyond(&self.y)).collect();
        let highest = all.iter().copied().filter(|value| value.is_finite()).reduce(f64::max)?;
        let (count, highest) = (format::count(all.len() as u64), format::figure(highest));
        Some(format!("\u{2191} {count} above the scale, up to {highest} {}", self.unit))
    }

    fn lines(&self, on: &mut Surface, frame: &Frame, x: &Axis) {
        for series in self.series.iter().filter(|series| series.line.is_some()) {
            let (radius, strength) = match series.points.len() {
                0..=12 => (4.5, 1.0),
                13..=40 => (3.0, 1.0),
                _ => (1.75, 0.4),
            };
            let intervals = series.points.iter().zip(&series.intervals);
            for (at, (low, high)) in intervals.filter_map(|((at, _), ends)| Some((*at, (*ends)?))) {
                let ends = [low, high].map(|value| frame.at(x, &self.y, (at, value)));
                on.line(&ends, ink(series.place), 1.5);
                for (x, y) in ends {
                    on.line(&[(x - CAP, y), (x + CAP, y)], ink(series.place), 1.5);
                }
            }
            for point in &series.points {
                let at = frame.at(x, &self.y, *point);
                match self.y.is_exceeded_by(point.1) {
                    true => on.line(&beyond(at), ink(series.place), 1.5),
                    false => on.dot(at, radius, ink(series.place), strength),
                }
            }
        }
        // The last label is the one that the others lead up to: it is drawn on top.
        for series in &self.series {
            let points = series.line().iter();
            let points: Vec<At> = points.map(|point| frame.at(x, &self.y, *point)).collect();
            on.line(&points, ink(series.place), 2.25);
        }
    }

    /// Writes the name of each line next to its end, moved apart if ends are close, with a thin
    /// line from the end to the name.
    fn names(&self, on: &mut Surface, frame: &Frame, x: &Axis) {
        let end = |series: &Series| series.line().last().map(|at| frame.at(x, &self.y, *at));
        let ends: Vec<At> =
            self.series.iter().map(|s| end(s).unwrap_or((frame.left, frame.bottom))).collect();
        let wanted: Vec<f64> = ends.iter().map(|(_, y)| *y).collect();
        let heights = spread_out(&wanted, NAME_STEP, frame.top, frame.bottom);
        for ((series, name), (end, y)) in
            self.series.iter().zip(&self.names).zip(ends.iter().zip(heights))
        {
            let colour = ink(series.place);
            // A line that ends early needs none: it would run across the others.
            if !name.is_empty() && end.0 > frame.right - 0.15 * (frame.right - frame.left) {
                on.line(&[(end.0 + 3.0, end.1), (frame.right + 16.0, y)], colour, 1.0);
            }
            on.text(name, (frame.right + 20.0, y), NAME_SIZE, colour, Hold::Left);
        }
    }
}

/// An arrow at the upper end of a panel, for a point above it.
fn beyond((x, y): At) -> [At; 4] {
    [(x - CAP, y + CAP), (x, y - CAP), (x + CAP, y + CAP), (x - CAP, y + CAP)]
}

/// Moves `wanted` places apart so that neighbours in order are at least `step` from each other and
/// all lie between `top` and `bottom` where there is room, each as near to its place as that
/// allows: places that collide become a block around their mean.
fn spread_out(wanted: &[f64], step: f64, top: f64, bottom: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|a, b| wanted[*a].total_cmp(&wanted[*b]));
    let room = step * wanted.len().saturating_sub(1) as f64;
    let step = if room > bottom - top { step * (bottom - top) / room } else { step };
    // A block is its first place and how many it holds.
    let mut blocks: Vec<(f64, usize)> = Vec::new();
    for at in &order {
        let mut block = (wanted[*at], 1);
        while let Some(before) = blocks.pop_if(|b| b.0 + b.1 as f64 * step > block.0) {
            let all = before.1 + block.1;
            // Mean of the first places that each half would want for the whole.
            let first = (before.0 * before.1 as f64
                + (block.0 - before.1 as f64 * step) * block.1 as f64)
                / all as f64;
            block = (first, all);
        }
        let most = bottom - (block.1 - 1) as f64 * step;
        block.0 = block.0.min(most).max(top);
        blocks.push(block);
    }
    let mut places = vec![0.0; wanted.len()];
    let sorted = blocks
        .iter()
        .flat_map(|(first, number)| (0..*number).map(move |at| first + at as f64 * step));
    for (at, place) in order.into_iter().zip(sorted) {
        places[at] = place;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_collide_move_apart_and_stay_in_order() {
        assert_eq!(spread_out(&[50.0, 10.0], 10.0, 0.0, 100.0), [50.0, 10.0]);
        assert_eq!(spread_out(&[50.0, 50.0], 10.0, 0.0, 100.0), [45.0, 55.0]);
        assert_eq!(spread_out(&[99.0, 100.0, 98.0], 10.0, 0.0, 100.0), [90.0, 100.0, 80.0]);
        assert_eq!(spread_out(&[0.0, 0.0], 10.0, 0.0, 100.0), [0.0, 10.0]);
    }

    #[test]
    fn many_names_keep_their_distance_within_the_panel() {
        let wanted: Vec<f64> = (0..12).map(|at| 300.0 + f64::from(at % 5)).collect();
        let mut places = spread_out(&wanted, 17.0, 0.0, 310.0);
        places.sort_by(f64::total_cmp);
        assert!(places.windows(2).all(|pair| pair[1] - pair[0] > 16.999), "{places:?}");
        assert!(places[0] >= 0.0 && places[11] <= 310.001, "{places:?}");
        let crowded = spread_out(&wanted, 17.0, 0.0, 100.0);
        assert!(crowded.iter().all(|place| (-0.001..=100.001).contains(place)), "{crowded:?}");
    }
}
