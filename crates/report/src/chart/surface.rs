//! What charts are drawn on: an SVG text or a bitmap, in the same units.
//!
//! Charts are laid out in points, 1,000 across. Both back ends take whole numbers only, so a point
//! is [`SCALE`] of their units: lines stay smooth in SVG, and the bitmap is shrunk to half its
//! size afterwards, which smooths its edges.

use std::sync::OnceLock;

use plotters::backend::{BitMapBackend, DrawingBackend, SVGBackend};
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, IntoDrawingArea};
use plotters::element::{Circle, PathElement, Rectangle, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontStyle, IntoFont, RGBColor, TextStyle, register_font};

use super::ChartError;
use super::lines::{Frame, LineChart};
use super::palette::{Ink, PAPER};

/// Width of every chart in points.
pub(crate) const WIDTH: f64 = 1000.0;
/// Units of the back ends in a point.
const SCALE: f64 = 4.0;
/// Name under which the font is known; browsers take it for their own font of this kind.
const FONT: &str = "sans-serif";
/// plotters counts the height of a line, everyone else the size of the font.
const LINE_OF_FONT: f64 = 1.24;

/// How far below its place a text must be put for its digits to be centred on it, in parts of its
/// size: the back ends measure the height of a text differently.
const SVG_SINK: f64 = 0.09;
const BITMAP_SINK: f64 = 0.23;

/// Where a text is held.
#[derive(Clone, Copy)]
pub(crate) enum Hold {
    Left,
    Middle,
    Right,
}

/// A place on the chart, in points from the upper left corner.
pub(crate) type At = (f64, f64);

/// Something to draw on.
pub(crate) struct Surface<DB: DrawingBackend> {
    area: DrawingArea<DB, Shift>,
    /// [`SVG_SINK`] or [`BITMAP_SINK`].
    sink: f64,
}

fn units(points: f64) -> i32 {
    (points * SCALE).round() as i32
}

fn coordinates((x, y): At) -> (i32, i32) {
    (units(x), units(y))
}

fn rgb([r, g, b]: [u8; 3]) -> RGBColor {
    RGBColor(r, g, b)
}

fn failed(error: impl std::fmt::Display) -> ChartError {
    ChartError::Draw(error.to_string())
}

impl<DB: DrawingBackend> Surface<DB> {
    fn new(backend: DB, sink: f64) -> Result<Self, ChartError> {
        load_font()?;
        let area = backend.into_drawing_area();
        area.fill(&rgb(PAPER.light)).map_err(failed)?;
        Ok(Self { area, sink })
    }

    pub fn line(&self, points: &[At], ink: Ink, width: f64) -> Result<(), ChartError> {
        let style = rgb(ink.light).stroke_width(units(width) as u32);
        let points: Vec<(i32, i32)> = points.iter().map(|at| coordinates(*at)).collect();
        self.area.draw(&PathElement::new(points, style)).map_err(failed)
    }

    pub fn dot(&self, at: At, radius: f64, ink: Ink, strength: f64) -> Result<(), ChartError> {
        let style = rgb(ink.light).mix(strength).filled();
        self.area.draw(&Circle::new(coordinates(at), units(radius), style)).map_err(failed)
    }

    pub fn block(&self, from: At, to: At, ink: Ink, strength: f64) -> Result<(), ChartError> {
        let style = rgb(ink.light).mix(strength).filled();
        let corners = [coordinates(from), coordinates(to)];
        self.area.draw(&Rectangle::new(corners, style)).map_err(failed)
    }

    /// Draws `text`, centred on the height of `at`.
    pub fn text(
        &self,
        text: &str,
        at: At,
        size: f64,
        ink: Ink,
        hold: Hold,
    ) -> Result<(), ChartError> {
        let held = match hold {
            Hold::Left => HPos::Left,
            Hold::Middle => HPos::Center,
            Hold::Right => HPos::Right,
        };
        let colour = rgb(ink.light);
        let style = style(size).color(&colour).pos(Pos::new(held, VPos::Center));
        let at = coordinates((at.0, at.1 + self.sink * size));
        self.area.draw(&Text::new(text, at, style)).map_err(failed)
    }

    /// About how wide `text` will be; a browser may have a wider font.
    pub fn text_width(&self, text: &str, size: f64) -> f64 {
        let width = self.area.estimate_text_size(text, &style(size)).map_or(0, |(width, _)| width);
        f64::from(width) / SCALE
    }
}

fn style(size: f64) -> TextStyle<'static> {
    (FONT, size * SCALE * LINE_OF_FONT).into_font().into()
}

/// Makes the font known, once. It comes with the program: a machine without any font draws the
/// same charts.
fn load_font() -> Result<(), ChartError> {
    static LOADED: OnceLock<bool> = OnceLock::new();
    let font = epaint_default_fonts::UBUNTU_LIGHT;
    let load = || register_font(FONT, FontStyle::Normal, font).is_ok();
    match LOADED.get_or_init(load) {
        true => Ok(()),
        false => Err(ChartError::Draw("the font of the program is damaged".to_owned())),
    }
}

/// Something that can be drawn on either kind of surface.
pub(crate) trait Draw {
    fn height(&self) -> f64;
    fn draw<DB: DrawingBackend>(&self, on: &Surface<DB>) -> Result<(), ChartError>;
}

/// `drawing` as an SVG document that takes the width that it is given.
pub(crate) fn svg(drawing: &impl Draw) -> Result<String, ChartError> {
    let size = (units(WIDTH) as u32, units(drawing.height()) as u32);
    let mut text = String::new();
    let surface = Surface::new(SVGBackend::with_string(&mut text, size), SVG_SINK)?;
    drawing.draw(&surface)?;
    surface.area.present().map_err(failed)?;
    drop(surface);
    let fixed = format!("width=\"{}\" height=\"{}\"", size.0, size.1);
    Ok(text.replacen(&fixed, &format!("width=\"{WIDTH}\" height=\"{}\"", drawing.height()), 1))
}

/// `drawing` as pixels: width, height, and red, green and blue of each, two pixels a point.
pub(crate) fn bitmap(drawing: &impl Draw) -> Result<(u32, u32, Vec<u8>), ChartError> {
    let (width, height) = (units(WIDTH) as u32, units(drawing.height()) as u32);
    let mut pixels = vec![0; width as usize * height as usize * 3];
    let surface =
        Surface::new(BitMapBackend::with_buffer(&mut pixels, (width, height)), BITMAP_SINK)?;
    drawing.draw(&surface)?;
    surface.area.present().map_err(failed)?;
    drop(surface);
    Ok((width / 2, height / 2, halved(&pixels, width as usize * 3)))
}

/// The frames of the panels of `chart`, as they will be drawn.
pub(crate) fn frames(chart: &LineChart) -> Result<Vec<Frame>, ChartError> {
    let mut text = String::new();
    let surface = Surface::new(SVGBackend::with_string(&mut text, (1, 1)), SVG_SINK)?;
    Ok(chart.frames(|text, size| surface.text_width(text, size)))
}

/// Each two by two pixels become their mean. `row` is the length of a row in bytes.
fn halved(pixels: &[u8], row: usize) -> Vec<u8> {
    let mut small = Vec::with_capacity(pixels.len() / 4);
    for rows in pixels.chunks_exact(row * 2) {
        let (upper, lower) = rows.split_at(row);
        for (a, b) in upper.chunks_exact(6).zip(lower.chunks_exact(6)) {
            for c in 0..3 {
                let sum = [a[c], a[c + 3], b[c], b[c + 3]].into_iter().map(u16::from).sum::<u16>();
                small.push(((sum + 2) / 4) as u8);
            }
        }
    }
    small
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halving_takes_means() {
        let pixels = [0, 0, 0, 4, 8, 255, 0, 0, 0, 4, 8, 255];
        assert_eq!(halved(&pixels, 6), [2, 4, 128]);
    }
}
