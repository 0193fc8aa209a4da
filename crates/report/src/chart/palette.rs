//! Colours that people with any common colour vision can distinguish, on light and dark pages.
//!
//! The first are the colours of Okabe and Ito ("Color Universal Design", 2008), with its black and
//! its yellow, which vanish on one of the two papers, replaced; the rest differ from them in
//! lightness.

/// A colour on light and on dark paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ink {
    /// Red, green and blue on light paper.
    pub light: [u8; 3],
    /// The same on dark paper.
    pub dark: [u8; 3],
}

const fn ink(light: u32, dark: u32) -> Ink {
    Ink { light: split(light), dark: split(dark) }
}

const fn split(rgb: u32) -> [u8; 3] {
    [(rgb >> 16) as u8, (rgb >> 8) as u8, rgb as u8]
}

/// The paper.
pub const PAPER: Ink = ink(0xFFFFFF, 0x161B22);
/// Text that is read first.
pub const TEXT: Ink = ink(0x1F2328, 0xE6EDF3);
/// Text that explains.
pub const FAINT: Ink = ink(0x59636E, 0x9198A1);
/// Lines at the marks of an axis.
pub const GRID: Ink = ink(0xE4E8EC, 0x2A313A);
/// The line that values are compared with.
pub const AXIS: Ink = ink(0x8C959F, 0x656C76);

/// What is better.
pub const BETTER: Ink = ink(0x1A7F37, 0x4AC26B);
/// What is worse.
pub const WORSE: Ink = ink(0xCF222E, 0xFF7B72);
/// What is neither better nor worse.
pub const NEITHER: Ink = ink(0x6E7781, 0x8B949E);
/// The band of the noise.
pub const NOISE: Ink = ink(0xDDE3E9, 0x333C47);

/// Text on bright parts of bars.
pub const ON_BRIGHT: Ink = ink(0x101418, 0x101418);
/// Text on deep parts of bars; on dark paper all parts are bright.
pub const ON_DEEP: Ink = ink(0xFEFEFE, 0x101418);

/// One colour for each label, in the order of the labels.
pub const SERIES: [Ink; 12] = [
    ink(0x0072B2, 0x4AA8E0),
    ink(0xD55E00, 0xF0813A),
    ink(0x009E73, 0x2FC99C),
    ink(0xCC79A7, 0xE29BC4),
    ink(0xE69F00, 0xF2B632),
    ink(0x56B4E9, 0x8FD0F7),
    ink(0x6E4BB5, 0xA88BEB),
    ink(0xB3124F, 0xF06292),
    ink(0x7F7F2A, 0xB9B95C),
    ink(0x3D5A6C, 0x8FB0C4),
    ink(0x8A5A36, 0xC79A77),
    ink(0x5C6670, 0xB4BDC7),
];

/// Work that is done once, before the phases.
pub const SET_UP: Ink = ink(0x75808B, 0x8C97A3);
/// Work and waiting of stages.
pub const WORK: Ink = PHASES[2];

/// One colour for each phase, in the order of the phases.
const PHASES: [Ink; 5] = [
    ink(0x57B5EA, 0x90D1F8),
    ink(0x009F74, 0x30CA9D),
    ink(0x0073B3, 0x4BA9E1),
    ink(0xD65F01, 0xF1823B),
    ink(0xCD7AA8, 0xE39CC5),
];

/// Every colour that a chart may use. Each light colour occurs once, so that a page can turn it
/// into its dark partner by its value.
pub fn all() -> impl Iterator<Item = Ink> {
    let paper = [PAPER, TEXT, FAINT, GRID, AXIS, ON_BRIGHT, ON_DEEP];
    let found = [BETTER, WORSE, NEITHER, NOISE];
    paper.into_iter().chain(found).chain([SET_UP]).chain(PHASES).chain(SERIES)
}

/// `#RRGGBB`.
pub fn hex([r, g, b]: [u8; 3]) -> String {
    format!("#{r:02X}{g:02X}{b:02X}")
}

/// The colour of the label at `place`; after the last one they begin again.
pub fn series(place: usize) -> Ink {
    SERIES[place % SERIES.len()]
}

/// Positions of label colours that differ most from the colours of phases.
const FURTHER: [usize; 7] = [4, 6, 7, 8, 9, 10, 11];

/// The colour of the phase at `place`, whatever its name; after the last phase colour come the
/// label colours.
pub fn phase(place: usize) -> Ink {
    let further = || series(FURTHER[(place - PHASES.len()) % FURTHER.len()]);
    PHASES.get(place).copied().unwrap_or_else(further)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_light_colours_are_the_same() {
        let mut seen: Vec<[u8; 3]> = all().map(|ink| ink.light).collect();
        let number = seen.len();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), number);
    }

    /// WCAG 2: relative luminance and contrast.
    fn contrast(a: [u8; 3], b: [u8; 3]) -> f64 {
        let linear = |c: u8| {
            let c = f64::from(c) / 255.0;
            if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        };
        let light =
            |[r, g, b]: [u8; 3]| 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
        let (a, b) = (light(a) + 0.05, light(b) + 0.05);
        a.max(b) / a.min(b)
    }

    #[test]
    fn every_line_stands_out_from_both_papers() {
        for ink in SERIES {
            assert!(contrast(ink.light, PAPER.light) > 2.0, "{}", hex(ink.light));
            assert!(contrast(ink.dark, PAPER.dark) > 4.5, "{}", hex(ink.dark));
        }
        for ink in [TEXT, FAINT, BETTER, WORSE, NEITHER] {
            assert!(contrast(ink.light, PAPER.light) > 4.5);
            assert!(contrast(ink.dark, PAPER.dark) > 4.5);
        }
    }

    #[test]
    fn the_live_page_has_the_same_colours() {
        let style = include_str!("../../../monitor/src/page.css");
        for (at, ink) in SERIES.iter().enumerate() {
            for colour in [ink.light, ink.dark] {
                let variable = format!("--series-{at}: {};", hex(colour).to_lowercase());
                assert!(style.contains(&variable), "no {variable}");
            }
        }
    }
}
