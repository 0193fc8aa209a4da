//! Ratio charts: a dot with its interval for each gain, on a logarithmic scale around 1, and
//! the noise as a band.

use crate::report::gain::{Gain, Outcome};
use blockmill_report::chart::Key;
use blockmill_report::chart::axis::Axis;
use blockmill_report::chart::bars::Rows;
use blockmill_report::chart::palette::{
    AXIS, BETTER, FAINT, GRID, Ink, NEITHER, NOISE, TEXT, WORSE,
};
use blockmill_report::chart::surface::{Draw, Hold, Surface, is_narrow};
use blockmill_report::format::percent_of_noise;

/// Height of the scale below the rows, and of the space above them.
const FOOT: f64 = 46.0;
const TOP: f64 = 24.0;
const SMALL: f64 = 13.0;

/// One gain.
#[derive(Clone, Debug)]
pub(crate) struct Ratio {
    pub name: String,
    pub found: Gain,
}

/// Comparisons on one scale.
#[derive(Clone, Debug)]
pub(crate) struct RatioChart {
    pub rows: Vec<Ratio>,
    /// What is left of 1, and what is right of it.
    pub sides: (&'static str, &'static str),
    /// Are all of one comparison, so that one noise holds for them?
    pub one_comparison: bool,
}

impl RatioChart {
    fn axis(&self, width: f64) -> Axis {
        let bounds = self.rows.iter().filter_map(|row| row.found.bounds);
        let ends = bounds.flat_map(|all| [all.low, all.high]);
        let ends = ends.filter(|end| end.is_finite() && *end > 0.0);
        let (min, max) = ends.fold((1.0f64, 1.0f64), |(min, max), v| (min.min(v), max.max(v)));
        let noise = self.noise();
        Axis::of_ratios(
            min.min(1.0 / (1.0 + noise)),
            max.max(1.0 + noise),
            if is_narrow(width) { 4 } else { 8 },
        )
    }

    /// The largest noise of the rows; 0 where it is not known, and where each has its own.
    fn noise(&self) -> f64 {
        if !self.one_comparison {
            return 0.0;
        }
        let all = self.rows.iter().map(|row| row.found.noise);
        all.filter(|noise| noise.is_finite()).fold(0.0, f64::max)
    }

    /// What the colours mean, of those that occur.
    pub fn keys(&self) -> Vec<Key> {
        let (worse, better) = self.sides;
        let all = [
            (&[Outcome::Better][..], better, BETTER),
            (&[Outcome::Worse], worse, WORSE),
            (
                &[Outcome::Same, Outcome::Unknown],
                "no difference beyond the noise, or too few pairs",
                NEITHER,
            ),
        ];
        let occurs = |outcomes: &[Outcome]| {
            self.rows.iter().any(|row| outcomes.contains(&row.found.outcome))
        };
        let key = |name: &str, ink| Key { name: name.to_owned(), ink, strength: 1.0 };
        let found = all.into_iter().filter(|(outcomes, ..)| occurs(outcomes));
        found.map(|(_, name, ink)| key(name, ink)).collect()
    }

    /// What the band means.
    fn band(&self) -> String {
        match self.noise() {
            noise if noise > 0.0 => {
                format!("grey band: noise of this machine, {}", percent_of_noise(noise))
            }
            _ if !self.one_comparison => "each comparison has a noise of its own".to_owned(),
            _ => "the noise of this machine is not known".to_owned(),
        }
    }
}

impl Draw for RatioChart {
    fn height(&self, width: f64) -> f64 {
        TOP + Rows::height(width) * self.rows.len() as f64 + FOOT
    }

    fn draw(&self, on: &mut Surface) {
        let texts: Vec<String> = self.rows.iter().map(|row| brief(&row.found)).collect();
        let names = self.rows.iter().map(|row| row.name.as_str());
        let rows = Rows::of(on.width, names.zip(texts.iter().map(String::as_str)));
        let axis = self.axis(on.width);
        let place = |value: f64| rows.left + axis.place(value) * (rows.right - rows.left);
        on.top += TOP;
        let bottom = Rows::height(on.width) * self.rows.len() as f64;
        let noise = self.noise();
        let free = rows.free(self.rows.len());
        on.tipped(&self.band(), |on| {
            for (from, to) in &free {
                let (low, high) = (place(1.0 / (1.0 + noise)), place(1.0 + noise));
                on.block((low, *from), (high, *to), NOISE, 1.0);
            }
        });
        for (value, text) in &axis.ticks {
            upright(on, &free, place(*value), (GRID, 1.0));
            on.text(
                &format!("{text}x"),
                (place(*value), bottom + 15.0),
                SMALL,
                FAINT,
                Hold::Middle,
            );
        }
        upright(on, &free, place(1.0), (AXIS, 1.5));
        let (worse, better) = self.sides;
        on.text(&format!("\u{2190} {worse}"), (rows.left, -11.0), SMALL, FAINT, Hold::Left);
        on.text(&format!("{better} \u{2192}"), (rows.right, -11.0), SMALL, FAINT, Hold::Right);
        on.text(&self.band(), (rows.left, bottom + 34.0), SMALL, FAINT, Hold::Left);
        for (at, (row, text)) in self.rows.iter().zip(&texts).enumerate() {
            let is_noise = [Outcome::Same, Outcome::Unknown].contains(&row.found.outcome);
            let y = rows.begin(on, at, (&row.name, if is_noise { FAINT } else { TEXT }), text);
            row.draw(on, &place, y);
        }
        on.top -= TOP;
    }
}

/// A line from top to bottom at `x`, which leaves texts out.
fn upright(on: &mut Surface, free: &[(f64, f64)], x: f64, (ink, width): (Ink, f64)) {
    free.iter().for_each(|(from, to)| on.line(&[(x, *from), (x, *to)], ink, width));
}

/// A gain in a few words, or the verdict where there is none.
pub(super) fn brief(found: &Gain) -> String {
    match found.outcome {
        Outcome::Better | Outcome::Worse => found.words(),
        Outcome::Same => found.verdict().to_owned(),
        Outcome::Unknown => found.verdict().to_owned(),
    }
}

impl Ratio {
    fn draw(&self, on: &mut Surface, place: &impl Fn(f64) -> f64, y: f64) {
        let found = &self.found;
        // one pair bounds nothing
        let Some(bounds) = found.bounds else { return };
        let ink: Ink = match found.outcome {
            Outcome::Better => BETTER,
            Outcome::Worse => WORSE,
            Outcome::Same => NEITHER,
            Outcome::Unknown => NEITHER,
        };
        let tip =
            format!("{}: {} ({}): {}", self.name, found.words(), found.sure(), found.verdict());
        on.tipped(&tip, |on| {
            // a wide one without colour, for the pointer
            on.block(
                (place(found.gain) - 14.0, y - 14.0),
                (place(found.gain) + 14.0, y + 14.0),
                ink,
                0.0,
            );
            let (low, high) = (place(bounds.low), place(bounds.high));
            if found.ends().is_none() {
                // the range of few pairs, without a dot that looks like a result
                on.line(&[(low, y), (high, y)], ink, 1.5);
                return;
            }
            on.line(&[(low, y), (high, y)], ink, 3.0);
            for end in [low, high] {
                on.line(&[(end, y - 5.0), (end, y + 5.0)], ink, 2.0);
            }
            on.dot((place(found.gain), y), 5.5, ink, 1.0);
        });
    }
}
