//! Charts of comparisons as SVG.

use super::*;
use crate::report::sample;
use blockmill_report::chart::palette;

#[test]
fn ratios_have_their_intervals_and_the_noise() {
    let mut contest = sample::contest("revisions", &[("old", 1.0), ("slow", 1.3), ("same", 1.0)]);
    contest.contestants[2].against = 0;
    let [chart] = &ratios(&contest)[..] else { panic!("one chart") };
    let svg = chart.svg();
    assert!(svg.contains("<title>slow: 1.30 times as long (1.30..1.30, 16 pairs): slower</title>"));
    assert!(svg.contains(">1.30 times as long</text>"), "{svg}");
    assert!(svg.contains("<title>same: ") && svg.contains("no difference"), "{svg}");
    assert!(svg.contains("<title>grey band: noise of this machine, 0."), "{svg}");
    for ink in [palette::WORSE, palette::NEITHER, palette::NOISE] {
        assert!(svg.contains(&palette::hex(ink.light)), "{ink:?}");
    }
    assert!(ratios(&sample::contest("alone", &[("x", 1.0)])).is_empty());
}

#[test]
fn typical_runs_are_as_long_as_they_took() {
    let contest = sample::contest("revisions", &[("old", 2.0), ("new", 1.0)]);
    let svg = typical_runs(&contest).unwrap().svg();
    // of its stages' 0.9 s, by two threads
    for expected in ["<title>new: verify 200 ms</title>", "<title>new: waiting 550 ms</title>"] {
        assert!(svg.contains(expected), "{expected} is not in {svg}");
    }
    let mut contest = contest;
    contest.compare = vec!["peak_rss_bytes".into()];
    let svg = typical_runs(&contest).unwrap().svg();
    assert!(svg.contains(">How much each takes</text>") && svg.contains(">200 MB</text>"), "{svg}");
}

#[test]
fn growth_is_a_line_through_the_medians() {
    let mut contest = sample::contest("sweep n", &[("x", 1.0), ("10", 0.1), ("1000", 10.0)]);
    assert!(growth(&contest).is_none(), "the values are not known");
    for (at, value) in [(0, "100"), (1, "100"), (2, "10"), (3, "1000")] {
        contest.contestants[at].settings = [("n".to_owned(), value.to_owned())].into();
    }
    let chart = growth(&contest).unwrap();
    let svg = chart.svg();
    assert!(svg.contains(">grows to the power of 1.00 ± 0.0"), "{svg}");
    assert!(svg.contains(">1,000</text>") && svg.contains(">100 ms</text>"), "{svg}");
    assert_eq!(svg.matches("<circle").count(), 6, "two facts, three medians");
    assert_eq!(chart.hover().unwrap()["panels"][0]["unit"], "s");
    let ratios = |contest: &Contest| ratios(contest)[0].svg();
    assert!(ratios(&contest).contains("each against n 100"), "the default, wherever it stands");
    contest.shape = "peers".into();
    assert!(growth(&contest).is_none());
}

#[test]
fn the_growth_of_peers_is_drawn_beside_ours() {
    let all = [("x", 1.0), ("1000", 10.0), ("core", 2.0), ("core, 1000", 200.0)];
    let mut contest = sample::contest("sweep n", &all);
    for (at, value) in [(0, "100"), (1, "100"), (2, "1000"), (3, "100"), (4, "1000")] {
        contest.contestants[at].settings = [("n".to_owned(), value.to_owned())].into();
    }
    contest.contestants[3..].iter_mut().for_each(|one| one.peer = Some("core".into()));
    contest.contestants[4].against = 2;
    let svg = growth(&contest).unwrap().svg();
    assert!(svg.contains(">blockmill grows to the power of 1.00</text>"), "{svg}");
    assert!(svg.contains(">core ^2.00</text>"), "{svg}");
    assert_eq!(svg.matches("<circle").count(), 8, "two facts, two programs, two medians");
    let ratios = ratios(&contest)[0].svg();
    assert!(ratios.contains("blockmill against each of them at the same value"), "{ratios}");
}
