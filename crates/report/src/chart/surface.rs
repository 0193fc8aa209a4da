//! What charts are drawn on: an SVG document, in points from the upper left corner.

use std::fmt::{Debug, Write};

use super::palette::{Ink, PAPER, hex};

/// Width of a chart in points.
pub(crate) const WIDE: f64 = 1000.0;
/// Width of a chart for a phone.
pub(crate) const NARROW: f64 = 400.0;
/// Space at both sides.
pub const EDGE: f64 = 20.0;
/// A browser's own font may be wider than ours.
pub const WIDER: f64 = 1.12;
/// Fonts with widths like [`ADVANCES`].
const FONTS: &str = "Helvetica, Arial, Liberation Sans, sans-serif";
/// Distance from the middle of digits down to their baseline, as a share of their size.
const HALF_DIGIT: f64 = 0.35;

/// Where a text is held.
#[derive(Clone, Copy)]
pub enum Hold {
    /// At its beginning.
    Left,
    /// In its middle.
    Middle,
    /// At its end.
    Right,
}

/// A place on the chart, in points from the upper left corner.
pub type At = (f64, f64);

/// Something to draw on.
pub struct Surface {
    svg: String,
    /// How wide it is.
    pub width: f64,
    /// Where zero is, from the top.
    pub top: f64,
}

impl Surface {
    /// For a phone?
    pub fn is_narrow(&self) -> bool {
        is_narrow(self.width)
    }

    /// Adds everything that `draw` adds as one thing, of which `tip` is shown under the pointer.
    pub fn tipped(&mut self, tip: &str, draw: impl FnOnce(&mut Self)) {
        self.svg += "<g><title>";
        self.escaped(tip);
        self.svg += "</title>\n";
        draw(self);
        self.svg += "</g>\n";
    }

    /// Adds a line through `points`.
    pub fn line(&mut self, points: &[At], ink: Ink, width: f64) {
        self.svg += "<polyline points=\"";
        for (at, (x, y)) in points.iter().enumerate() {
            let space = if at == 0 { "" } else { " " };
            self.add(format_args!("{space}{},{}", short(*x), short(*y + self.top)));
        }
        let (colour, width) = (hex(ink.light), short(width));
        self.add(format_args!(
            "\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\" \
             stroke-linejoin=\"round\"/>\n"
        ));
    }

    /// Adds a filled circle.
    pub fn dot(&mut self, (x, y): At, radius: f64, ink: Ink, strength: f64) {
        let (x, y, radius) = (short(x), short(y + self.top), short(radius));
        self.add(format_args!("<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\""));
        self.fill(ink, strength);
    }

    /// Adds a filled rectangle.
    pub fn block(&mut self, from: At, to: At, ink: Ink, strength: f64) {
        let (x, y) = (short(from.0), short(from.1 + self.top));
        let (width, height) = (short((to.0 - from.0).max(0.0)), short((to.1 - from.1).max(0.0)));
        self.add(format_args!("<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\""));
        self.fill(ink, strength);
    }

    fn fill(&mut self, ink: Ink, strength: f64) {
        self.add(format_args!(" fill=\"{}\"", hex(ink.light)));
        if strength < 1.0 {
            self.add(format_args!(" fill-opacity=\"{}\"", short(strength)));
        }
        self.svg += "/>\n";
    }

    /// Adds `text`, centred on the height of `at`.
    pub fn text(&mut self, text: &str, at: At, size: f64, ink: Ink, hold: Hold) {
        let anchor = match hold {
            Hold::Left => "start",
            Hold::Middle => "middle",
            Hold::Right => "end",
        };
        let (x, y) = (short(at.0), short(at.1 + self.top + HALF_DIGIT * size));
        let (size, colour) = (short(size), hex(ink.light));
        self.add(format_args!(
            "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\" fill=\"{colour}\" \
             text-anchor=\"{anchor}\">"
        ));
        self.escaped(text);
        self.svg += "</text>\n";
    }

    fn escaped(&mut self, text: &str) {
        for character in text.chars() {
            match character {
                '&' => self.svg += "&amp;",
                '<' => self.svg += "&lt;",
                '>' => self.svg += "&gt;",
                '"' => self.svg += "&quot;",
                '\'' => self.svg += "&#39;",
                other => self.svg.push(other),
            }
        }
    }

    fn add(&mut self, text: std::fmt::Arguments<'_>) {
        // a string takes everything
        let _ = self.svg.write_fmt(text);
    }
}

/// A number with at most two digits after the point: a hundredth of a point is not seen.
fn short(number: f64) -> f64 {
    let rounded = (number * 100.0).round() / 100.0;
    // no sign before zero, and nothing that is no number
    if rounded.is_finite() && rounded != 0.0 { rounded } else { 0.0 }
}

/// Widths of the characters from the space to the tilde, in thousandths of the size, as in
/// Helvetica, by Adobe's metrics.
const ADVANCES: [u16; 95] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667,
    611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667,
    667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500,
    222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
];
/// Width assumed for all other characters.
const OTHER: u16 = 600;

/// As much of a text of a size as there is room for.
pub fn fitted(text: &str, size: f64, room: f64) -> String {
    let width = |text: &str| text_width(text, size) * WIDER;
    let mut cut = text.to_owned();
    while width(&cut) > room && cut.pop().is_some() {}
    if cut.len() < text.len() {
        cut.pop();
        cut.push('…');
    }
    cut
}

/// About how wide `text` will be; a browser may have a wider font.
pub fn text_width(text: &str, size: f64) -> f64 {
    let advance = |character: char| {
        let place = (character as usize).checked_sub(' ' as usize);
        place.and_then(|place| ADVANCES.get(place)).copied().unwrap_or(OTHER)
    };
    text.chars().map(|character| f64::from(advance(character))).sum::<f64>() / 1000.0 * size
}

/// Something that can be drawn.
pub trait Draw: Debug {
    /// Its height in points on a chart of this width.
    fn height(&self, width: f64) -> f64;
    /// Draws it.
    fn draw(&self, on: &mut Surface);
}

/// Is a chart of this width for a phone?
pub fn is_narrow(width: f64) -> bool {
    width < (WIDE + NARROW) / 2.0
}

/// `drawing` as an SVG document of the given width; `head` is drawn
/// above it, and takes so much room.
pub(crate) fn svg(drawing: &dyn Draw, width: f64, head: (f64, &dyn Fn(&mut Surface))) -> String {
    let height = short(head.0 + drawing.height(width));
    let mut on = Surface { svg: String::new(), width, top: 0.0 };
    on.add(format_args!(
        "<svg width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         xmlns=\"http://www.w3.org/2000/svg\" font-family=\"{FONTS}\">\n"
    ));
    on.block((0.0, 0.0), (width, height), PAPER, 1.0);
    head.1(&mut on);
    on.top = head.0;
    drawing.draw(&mut on);
    on.svg += "</svg>\n";
    on.svg
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::palette::TEXT;

    #[test]
    fn numbers_are_short_and_numbers() {
        let texts = [1.0, 0.125, -0.001, f64::NAN, 1e9].map(|number| short(number).to_string());
        assert_eq!(texts, ["1", "0.13", "0", "0", "1000000000"]);
    }

    #[test]
    fn texts_are_as_wide_as_their_characters() {
        assert!((text_width("0123456789", 10.0) - 55.6).abs() < 1e-9);
        assert!(text_width("WWW", 10.0) > 3.0 * text_width("i", 10.0));
        assert!((text_width("é…", 10.0) - 12.0).abs() < 1e-9);
    }

    #[test]
    fn shapes_are_elements_with_their_colour() {
        let mut on = Surface { svg: String::new(), width: WIDE, top: 0.0 };
        on.line(&[(0.0, 1.5), (2.0, 3.0)], TEXT, 1.0);
        on.dot((1.0, 2.0), 3.0, TEXT, 0.4);
        on.block((1.0, 2.0), (4.0, 1.0), TEXT, 1.0);
        on.text("a<b", (0.0, 10.0), 10.0, TEXT, Hold::Right);
        let lines: Vec<&str> = on.svg.lines().collect();
        assert!(lines[0].starts_with("<polyline points=\"0,1.5 2,3\" fill=\"none\""), "{lines:?}");
        assert_eq!(
            lines[1],
            "<circle cx=\"1\" cy=\"2\" r=\"3\" fill=\"#1F2328\" fill-opacity=\"0.4\"/>"
        );
        assert_eq!(lines[2], "<rect x=\"1\" y=\"2\" width=\"3\" height=\"0\" fill=\"#1F2328\"/>");
        assert!(lines[3].ends_with("text-anchor=\"end\">a&lt;b</text>"), "{lines:?}");
        on.top = 20.0;
        on.tipped("a<b", |on| on.line(&[(0.0, 1.5)], TEXT, 1.0));
        let expected = "<g><title>a&lt;b</title>\n<polyline points=\"0,21.5\"";
        assert!(on.svg.contains(expected), "{}", on.svg);
    }
}
