//! Charts of comparisons as SVG.

use super::*;
use crate::report::sample;
use blockmill_report::chart::palette;

#[test]
fn ratios_have_their_intervals_and_the_noise() {
    let mut comparison =
        sample::comparison("revisions", &[("old", 1.0), ("slow", 1.3), ("same", 1.0)]);
    comparison.variants[2].against = 0;
    let [chart] = &ratios(&comparison)[..] else { panic!("one chart") };
    let svg = chart.svg();
    assert!(svg.contains("<title>slow: 1.30 times as long (1.30..1.30, 16 pairs): slower</title>"));
    assert!(svg.contains(">1.30 times as long</text>"), "{svg}");
    assert!(svg.contains("<title>same: ") && svg.contains("no difference"), "{svg}");
    assert!(svg.contains("<title>grey band: noise of this machine, 0."), "{svg}");
    for ink in [palette::WORSE, palette::NEITHER, palette::NOISE] {
        assert!(svg.contains(&palette::hex(ink.light)), "{ink:?}");
    }
    assert!(ratios(&sample::comparison("alone", &[("x", 1.0)])).is_empty());
}

#[test]
fn a_history_has_the_ratios_of_pairs_and_their_intervals() {
    let all = [("v1", 2.0), ("v2", 1.0), ("this program", 1.5)];
    let mut comparison = sample::comparison("revisions", &all);
    let chart = history::of_revisions(&comparison).unwrap();
    let (svg, hover) = (chart.svg(), chart.hover().unwrap());
    assert_eq!(hover["panels"][0]["unit"], "s");
    let points = hover["panels"][0]["series"][0][2].as_array().unwrap();
    let values: Vec<f64> = points.iter().map(|point| point[2].as_f64().unwrap()).collect();
    let names: Vec<&str> = points.iter().map(|point| point[1].as_str().unwrap()).collect();
    assert_eq!(names, ["v1", "v2", "this program"]);
    let median = comparison.median(0, "wall_s").unwrap();
    let ratio = comparison.finding(2, 0, "wall_s").unwrap().estimate;
    assert_eq!(values[..2], [median, median * ratio.ratio]);
    assert_eq!(points[1][3], serde_json::json!(median * ratio.low));
    assert_eq!(points[0].as_array().unwrap().len(), 3, "the noise is the interval of the first");
    assert!(svg.contains(&palette::hex(palette::NOISE.light)), "{svg}");
    assert_eq!(svg.matches("<circle").count(), 6, "two facts, three programs");
    for text in [">whole run, s</text>", ">1.33 times as fast</text>", ">lower is better</text>"] {
        assert!(svg.contains(text), "{text} is not in {svg}");
    }
    let names: Vec<String> = findings(&comparison).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["headers-revisions-history", "headers-revisions"]);

    comparison.runs.retain(|run| run.block <= 1);
    assert!(history::of_revisions(&comparison).is_none(), "too few pairs for an interval");
    comparison.experiment = "peers".into();
    assert!(history::of_revisions(&comparison).is_none());
    let two = sample::comparison("revisions", &[("v1", 2.0), ("v2", 1.0)]);
    assert!(history::of_revisions(&two).is_none(), "one ratio says it");
}

#[test]
fn typical_runs_are_as_long_as_they_took() {
    let comparison = sample::comparison("revisions", &[("old", 2.0), ("new", 1.0)]);
    let svg = typical_runs(&comparison).unwrap().svg();
    // of its stages' 0.9 s, by two threads
    for expected in
        ["<title>new: check: verify 200 ms</title>", "<title>new: waiting 550 ms</title>"]
    {
        assert!(svg.contains(expected), "{expected} is not in {svg}");
    }
    let mut comparison = comparison;
    comparison.compare = vec!["peak_rss_bytes".into()];
    let svg = typical_runs(&comparison).unwrap().svg();
    assert!(svg.contains(">How much each takes</text>") && svg.contains(">200 MB</text>"), "{svg}");
}

#[test]
fn growth_is_a_line_through_the_medians() {
    let mut comparison = sample::comparison("sweep n", &[("x", 1.0), ("10", 0.1), ("1000", 10.0)]);
    assert!(growth(&comparison).is_none(), "the values are not known");
    for (at, value) in [(0, "100"), (1, "100"), (2, "10"), (3, "1000")] {
        comparison.variants[at].settings = [("n".to_owned(), value.to_owned())].into();
    }
    let chart = growth(&comparison).unwrap();
    let svg = chart.svg();
    assert!(svg.contains(">grows to the power of 1.00 ± 0.0"), "{svg}");
    assert!(svg.contains(">1,000</text>") && svg.contains(">100 ms</text>"), "{svg}");
    assert_eq!(svg.matches("<circle").count(), 6, "two facts, three medians");
    assert_eq!(chart.hover().unwrap()["panels"][0]["unit"], "s");
    let ratios = |comparison: &Comparison| ratios(comparison)[0].svg();
    assert!(ratios(&comparison).contains("each against n 100"), "the default, wherever it stands");
    comparison.experiment = "peers".into();
    assert!(growth(&comparison).is_none());
}

#[test]
fn the_growth_of_peers_is_drawn_with_ours() {
    let all = [("x", 1.0), ("1000", 10.0), ("core", 2.0), ("core, 1000", 200.0)];
    let mut comparison = sample::comparison("sweep n", &all);
    for (at, value) in [(0, "100"), (1, "100"), (2, "1000"), (3, "100"), (4, "1000")] {
        comparison.variants[at].settings = [("n".to_owned(), value.to_owned())].into();
    }
    comparison.variants[3..].iter_mut().for_each(|one| one.peer = Some("core".into()));
    comparison.variants[4].against = 2;
    let svg = growth(&comparison).unwrap().svg();
    assert!(svg.contains(">blockmill grows to the power of 1.00</text>"), "{svg}");
    assert!(svg.contains(">core ^2.00</text>"), "{svg}");
    assert_eq!(svg.matches("<circle").count(), 8, "two facts, two programs, two medians");
    let ratios = ratios(&comparison)[0].svg();
    assert!(ratios.contains("blockmill against each of them at the same value"), "{ratios}");
}
