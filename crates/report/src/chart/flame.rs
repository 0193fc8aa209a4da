//! Flame graphs: a bar for each function, as wide as the samples that had it there, under the one
//! that called it (Brendan Gregg, "The Flame Graph", 2016; the outermost on top).

use std::collections::HashMap;

use blockmill_pipeline::record::{Profile, RunRecord};

use super::palette::{FAINT, Ink, ON_BRIGHT, SERIES, TEXT};
use super::surface::{At, Draw, EDGE, Hold, Surface, fitted};
use super::{Body, Chart, Key, shortened};
use crate::format;
use crate::symbol;

/// Height of a function.
const ROW: f64 = 19.0;
const SIZE: f64 = 11.5;
/// A narrower bar is not drawn, nor are its callees.
const THIN: f64 = 1.5;
/// How many functions lie under each other at most.
const DEEPEST: usize = 48;
/// How many functions that all stacks have in common, and that are not drawn, are followed.
const COMMON: usize = 40;
/// Places of bright colours, because dark text is drawn on them.
const BRIGHT: [usize; 6] = [5, 4, 2, 3, 1, 8];
/// The colour of all other crates.
const FURTHER: Ink = SERIES[11];
const STRENGTH: f64 = 0.8;
/// A shorter text says nothing.
const SHORTEST: usize = 4;

/// A function at a call site: its samples and its callees.
#[derive(Clone, Debug, Default)]
pub(crate) struct Call {
    name: String,
    samples: u64,
    calls: Vec<Call>,
}

/// Every function that was seen, from the outermost.
#[derive(Clone, Debug)]
pub(crate) struct FlameChart {
    root: Call,
    crates: Crates,
}

/// The crates that took the most CPU time, the first first: each has a colour, all others one.
#[derive(Clone, Debug)]
struct Crates {
    names: Vec<String>,
    samples: u64,
}

impl Crates {
    /// Of functions that were innermost.
    fn of(profile: &Profile) -> Self {
        let mut found: HashMap<&str, u64> = HashMap::new();
        for stack in &profile.stacks {
            let names = stack.functions.iter().rev().map(|function| profile.name(*function));
            if let Some(name) = names.into_iter().find(|name| !symbol::is_plumbing(name)) {
                *found.entry(symbol::crate_name(name)).or_default() += stack.samples;
            }
        }
        found.remove("");
        let mut all: Vec<(&str, u64)> = found.into_iter().collect();
        all.sort_by(|a, b| (b.1, a.0).cmp(&(a.1, b.0)));
        let names = all.into_iter().map(|(name, _)| name.to_owned()).take(BRIGHT.len()).collect();
        Self { names, samples: profile.samples }
    }

    fn ink(&self, name: &str) -> Ink {
        let of = symbol::crate_name(name);
        let place = self.names.iter().position(|known| known == of);
        place.map_or(FURTHER, |place| SERIES[BRIGHT[place]])
    }

    fn keys(&self) -> Vec<Key> {
        let key = |name: &str, ink| Key { name: shortened(name), ink, strength: STRENGTH };
        let names = self.names.iter().zip(BRIGHT).map(|(name, place)| key(name, SERIES[place]));
        names.chain([key("other crates", FURTHER)]).collect()
    }
}

impl Chart {
    /// Where the CPU time of a run went, function by function. None when it was not sampled.
    pub fn flame(record: &RunRecord) -> Option<Self> {
        let profile = record.profile.as_ref().filter(|profile| profile.samples > 0)?;
        let samples = format::counted(profile.samples, "sample");
        let crates = Crates::of(profile);
        Some(Self {
            title: format!("Functions: {}", shortened(&record.label)),
            subtitle: format!(
                "{samples} of CPU time; each function under its caller; a colour is a crate"
            ),
            keys: crates.keys(),
            body: Body::drawn(FlameChart { root: calls(profile), crates }),
        })
    }
}

/// The stacks of a profile as one tree, without the plumbing between functions. What all of them
/// share above the first fork is left out.
fn calls(profile: &Profile) -> Call {
    let mut root = Call { name: "all".into(), samples: profile.samples, calls: vec![] };
    for stack in &profile.stacks {
        let mut at = &mut root;
        let names = stack.functions.iter().map(|function| profile.name(*function));
        for name in names.filter(|name| !symbol::is_plumbing(name)).take(COMMON + DEEPEST) {
            // a function inlined into one of its own name says nothing more
            if symbol::with_crate(&at.name) != symbol::with_crate(name) {
                at = at.called(name);
                at.samples += stack.samples;
            }
        }
    }
    while let [only] = &mut root.calls[..]
        && only.samples == root.samples
        && !only.calls.is_empty()
    {
        root.calls = std::mem::take(&mut only.calls);
    }
    root
}

impl Call {
    /// The callee of this name. Functions that differ in generic arguments alone are one.
    fn called(&mut self, name: &str) -> &mut Self {
        let shown = symbol::with_crate(name);
        let known = self.calls.iter().position(|call| symbol::with_crate(&call.name) == shown);
        let at = known.unwrap_or_else(|| {
            self.calls.push(Self { name: name.to_owned(), ..Self::default() });
            self.calls.len() - 1
        });
        &mut self.calls[at]
    }

    /// How many rows it takes when a sample is so many points wide.
    fn rows(&self, scale: f64) -> usize {
        let seen = self.calls.iter().filter(|call| call.samples as f64 * scale >= THIN);
        1 + seen.map(|call| call.rows(scale)).max().unwrap_or(0)
    }

    fn draw(&self, on: &mut Surface, at: At, scale: f64, row: usize, crates: &Crates) {
        let width = self.samples as f64 * scale;
        if width < THIN || row >= DEEPEST {
            return;
        }
        let (x, y) = at;
        let share = format::percent(self.samples as f64 / crates.samples.max(1) as f64);
        let samples = format::counted(self.samples, "sample");
        on.tipped(&format!("{}: {share}, {samples}", self.name), |on| {
            let is_root = row == 0;
            let (ink, strength) =
                if is_root { (FAINT, 0.25) } else { (crates.ink(&self.name), STRENGTH) };
            on.block((x, y), (x + width - 0.5, y + ROW - 1.0), ink, strength);
            let text_ink = if is_root { TEXT } else { ON_BRIGHT };
            let name = symbol::with_crate(&self.name);
            let text = fitted(&format!("{name} {share}"), SIZE, width - 8.0);
            if text.chars().count() >= SHORTEST {
                on.text(&text, (x + 4.0, y + ROW / 2.0 - 0.5), SIZE, text_ink, Hold::Left);
            }
        });
        let mut left = x;
        for call in &self.calls {
            call.draw(on, (left, y + ROW), scale, row + 1, crates);
            left += call.samples as f64 * scale;
        }
    }
}

impl Draw for FlameChart {
    fn height(&self, width: f64) -> f64 {
        self.root.rows(self.scale(width)).min(DEEPEST) as f64 * ROW + 10.0
    }

    fn draw(&self, on: &mut Surface) {
        let scale = self.scale(on.width);
        self.root.draw(on, (EDGE, 0.0), scale, 0, &self.crates);
    }
}

impl FlameChart {
    fn scale(&self, width: f64) -> f64 {
        (width - 2.0 * EDGE) / self.root.samples.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn profile() -> Profile {
        let names = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let stacks = [
            ("main std::rt::lang_start run {closure#0} blockmill_signatures::keccak::hash", 60),
            ("main run blockmill_rlp::decode", 30),
            ("main run blockmill_rlp::decode x", 1),
            ("main run y", 9),
        ];
        Profile::from_stacks(100, stacks.map(|(text, samples)| (names(text), samples)))
    }

    #[test]
    fn what_all_stacks_have_in_common_is_left_out() {
        let root = calls(&profile());
        let names: Vec<_> = root.calls.iter().map(|c| (c.name.as_str(), c.samples)).collect();
        assert_eq!(
            names,
            [("blockmill_signatures::keccak::hash", 60), ("blockmill_rlp::decode", 31), ("y", 9)]
        );
    }

    #[test]
    fn a_function_is_as_wide_as_its_samples() {
        let mut record = sample::full("x", 1.0);
        assert!(Chart::flame(&record).is_none());
        record.profile = Some(profile());
        let svg = Chart::flame(&record).unwrap().svg();
        assert!(
            svg.contains("<title>blockmill_signatures::keccak::hash: 60 %, 60 samples</title>"),
            "{svg}"
        );
        // 960 points for 100 samples, less the gap
        assert!(svg.contains("width=\"575.5\""), "{svg}");
        assert!(svg.contains("signatures: keccak::hash 60 %"), "{svg}");
        let keys: Vec<_> = Chart::flame(&record).unwrap().keys;
        let names: Vec<_> = keys.iter().map(|key| key.name.as_str()).collect();
        assert_eq!(names, ["signatures", "rlp", "other crates"]);
    }

    #[test]
    fn functions_of_one_name_are_one() {
        let names = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let stacks = [("main a::b::f<u8> z", 2), ("main a::b::f<u16> z", 3), ("main c::b::f", 1)];
        let profile = Profile::from_stacks(9, stacks.map(|(text, count)| (names(text), count)));
        let root = calls(&profile);
        let found: Vec<_> = root.calls.iter().map(|c| (c.samples, c.calls.len())).collect();
        assert_eq!(found, [(5, 1), (1, 0)], "of another crate it is another");
    }
}
